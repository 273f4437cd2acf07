/* Views whose strides are given: as_strided, and windows that slide over an array.

   Their elements may share memory, and how axes are nested is read from strides as they are in this
   call.  So what other lengths would decide otherwise is guarded, or the lengths are known. */
#include "numpy.h"

Answer
strided_leaves(Interp *in, Value *of, PyObject *maker, Value *view)
{
    view->leaves_as = maker == NULL ? NULL : value_sequence(in, V_PURE, 1, &of);
    if (view->leaves_as == NULL) return ANSWER_ERROR;
    view->leaves_as->object = maker;
    return window_add(in, view->node, view) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Do no two elements share memory, whatever the lengths are? */
static bool
surely_apart(Graph *g, const Type *type)
{
    int order[MAX_RANK];
    SizeId reach = size_const(g, (int64_t)dtype_size((DType)type->dtype));
    for (int i = 0; i < type->rank; i++) {
        int at = i;
        for (; at > 0; at--) {
            if (size_value(g, type->stride[order[at - 1]]) <= size_value(g, type->stride[i])) break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (int i = 0; i < type->rank && reach != NO_SIZE; i++) {
        SizeId stride = type->stride[order[i]], length = type->shape[order[i]];
        if (!size_at_most(g, reach, stride)) return false;
        reach = size_add(g, reach, size_mul(g, stride, size_sub(g, length, size_const(g, 1))));
    }
    return reach != NO_SIZE;
}

static Answer
known_layout(Interp *in, const Type *type)
{
    Answer answer = sizes_specialise(in, type, "a view whose strides are given");
    return answer == ANSWER_NO ? break_length(in) : answer;
}

/* The stride has the sign that it has in this call, and elements are aligned. */
static Answer
stride_is_fixed(Interp *in, const Type *type, int axis)
{
    bool negative;
    SizeId stride = type->stride[axis];
    int64_t unit = (int64_t)dtype_size((DType)type->dtype);
    if (size_is_const(in->graph, stride))
        return size_value(in->graph, stride) % unit == 0
                   ? ANSWER_YES
                   : interp_break(in, BREAK_UNALIGNED, "a view whose elements are not aligned");
    if (!size_divides(in->graph, unit, stride)) return known_layout(in, type);
    TRY(size_decide(in, stride, &negative));
    return negative ? known_layout(in, type) : length_is_some(in, stride, 1);
}

/* The axes are nested as in this call, for all lengths. */
static Answer
strides_are_fixed(Interp *in, const Type *type)
{
    for (int i = 0; i < type->rank; i++) TRY(stride_is_fixed(in, type, i));
    for (int i = 0; i < type->rank; i++)
        for (int k = 0; k < i; k++) {
            SizeId a = type->stride[i], b = type->stride[k];
            bool more, known = size_is_const(in->graph, a) && size_is_const(in->graph, b);
            if (known || size_same(in->graph, a, b) || size_is_zero(in->graph, a) ||
                size_is_zero(in->graph, b))
                continue;
            bool down = size_value(in->graph, a) < 0 || size_value(in->graph, b) < 0;
            Answer answer = down ? ANSWER_NO : size_is_more(in, a, b, &more);
            if (answer == ANSWER_NO) answer = known_layout(in, type);
            if (answer != ANSWER_YES) return answer;
        }
    return ANSWER_YES;
}

/* The view of `array`, of which `node` is the graph's, that as_strided makes. */
static Answer
strided_view(Interp *in, Value *array, NodeId node, const Type *type, bool writeable, Value **out)
{
    if (writeable && type_varies(in, type) && !type_repeats(in->graph, type) &&
        !surely_apart(in->graph, type))
        TRY(known_layout(in, type));
    PyObject *maker = module_kept(in, "numpy.lib.stride_tricks", "as_strided");
    TRY(node_view(in, writeable ? OP_as_strided : OP_broadcast, node, type, 0, NULL, &node));
    TRY(push_node(in, node, out));
    return strided_leaves(in, array, maker, *out);
}

static Answer
strided_operand(Interp *in, Value *value, NodeId *out)
{
    if (in->loop != NULL || value_is_on_device(value))
        return interp_break(in, BREAK_NUMPY, "a view whose strides are given");
    TRY(array_operand(in, value, out));
    if (node_type(in, *out).form == FORM_ARRAY) return ANSWER_YES;
    return interp_break(in, BREAK_NUMPY, "an array scalar where an array is expected");
}

/* NumPy lib/_stride_tricks_impl.py, as_strided */
Answer
do_as_strided(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    bool writeable, negative;
    int rank = 0, strides;
    TRY(strided_operand(in, args[0], &node));
    Type type = node_type(in, node);
    if (value_absent(rule_arg(rule, args, "strides")))
        return interp_break(in, BREAK_NUMPY, "as_strided without strides");
    TRY(value_as_flag(in, rule_arg(rule, args, "writeable"), true, &writeable));
    TRY(value_as_shape(in, args[2], &strides, type.stride));
    if (value_absent(args[1]))
        rank = type.rank;
    else
        TRY(value_as_shape(in, args[1], &rank, type.shape));
    if (rank != strides || !value_is_sequence(args[2]))
        return interp_break(in, BREAK_SHAPE, "strides of other axes than the shape's");
    type.rank = (uint8_t)rank;
    for (int i = 0; i < rank; i++) {
        TRY(size_decide(in, type.shape[i], &negative));
        if (negative) return interp_break(in, BREAK_SHAPE, "a negative length");
    }
    TRY(strides_are_fixed(in, &type));
    return strided_view(in, args[0], node, &type, writeable, out);
}

/* The axis becomes as long as windows of this length have places in it.  Where one of the two axes
   counts, so does the array's own: their strides are nested as the array's are. */
static Answer
slide_over(Interp *in, Type *type, int axis, SizeId window)
{
    Graph *g = in->graph;
    bool less;
    SizeId one = size_const(g, 1), length = type->shape[axis];
    TRY(size_decide(in, size_sub(g, window, one), &less));
    if (less) return interp_break(in, BREAK_NUMPY, "windows of no elements");
    TRY(size_decide(in, size_sub(g, length, window), &less));
    if (less) return interp_break(in, BREAK_SHAPE, "a window that is larger than the array");
    type->shape[axis] = size_add(g, size_sub(g, length, window), one);
    type->shape[type->rank] = window;
    type->stride[type->rank++] = type->stride[axis];
    return type->shape[axis] == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

Answer
do_sliding_window_view(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    SizeId window[MAX_RANK];
    bool writeable;
    int count;
    TRY(strided_operand(in, args[0], &node));
    Type type = node_type(in, node);
    int rank = type.rank;
    TRY(value_as_flag(in, rule_arg(rule, args, "writeable"), false, &writeable));
    TRY(value_as_shape(in, args[1], &count, window));
    bool all = value_absent(args[2]), several = !all && value_is_sequence(args[2]);
    if (count != (all ? rank : several ? args[2]->nitems : 1))
        return interp_break(in, BREAK_SHAPE, "windows of other axes than the array's");
    if (rank + count > MAX_RANK) return interp_break(in, BREAK_RANK, "more than 8 dimensions");
    for (int i = 0; i < count; i++) { /* of one axis again, too */
        int axis = i;
        Value *given = several ? value_item(in, args[2], i) : args[2];
        if (several && given == NULL) return ANSWER_ERROR;
        if (!all) TRY(value_as_axis(in, given, rank, &axis));
        TRY(slide_over(in, &type, axis, window[i]));
    }
    return strided_view(in, args[0], node, &type, writeable, out);
}
