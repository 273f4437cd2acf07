/* Functions and methods that give the same elements another shape: views where NumPy makes
   views.  Those that rows of device.c name also follow arrays on a device. */
#include "numpy.h"

/* The argument, an array: shapes of scalars are left to NumPy. */
static Answer
shaped_operand(Interp *in, Value *value, NodeId *out)
{
    if (value_is_on_device(value)) return device_array(in, value, out);
    TRY(array_operand(in, value, out));
    if (node_type(in, *out).form == FORM_ARRAY) return ANSWER_YES;
    return interp_break(in, BREAK_NUMPY, "an array scalar where an array is expected");
}

/* The same for a result of `rank` axes: where it has some, NumPy makes an array of a scalar. */
static Answer
spread_operand(Interp *in, Value *value, int rank, NodeId *out)
{
    if (rank == 0 || value_is_on_device(value)) return shaped_operand(in, value, out);
    TRY(array_operand(in, value, out));
    return node_type(in, *out).form == FORM_SCALAR ? node_form(in, *out, FORM_ARRAY, out)
                                                   : shaped_operand(in, value, out);
}

Answer
value_as_shape(Interp *in, Value *value, int *rank, SizeId *shape)
{
    Value *const *items = value_is_sequence(value) ? value->items : &value;
    *rank = value_is_sequence(value) ? value->nitems : 1;
    if (*rank > MAX_RANK) return interp_break(in, BREAK_RANK, "more than 8 dimensions");
    for (int i = 0; i < *rank; i++) {
        Value *item = value_is_sequence(value) ? value_item(in, value, i) : items[i];
        if (item == NULL) return ANSWER_ERROR;
        if (value_type(in, item) == &PyBool_Type)
            return interp_break(in, BREAK_NUMPY, "a bool as a length");
        int64_t length;
        Answer answer = size_of_length(in, item, &shape[i]);
        if (answer == ANSWER_YES) continue;
        if (answer == ANSWER_NO) answer = value_as_int(in, item, &length);
        if (answer == ANSWER_NO)
            return break_unknown_number(in, BREAK_NUMPY, item, "a length of a shape");
        if (answer_stops(answer)) return answer;
        if ((shape[i] = size_const(in->graph, length)) == NO_SIZE) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* That there are so many elements is guarded, where the sizes do not show it. */
static Answer
shape_fits(Interp *in, SizeId product, SizeId count)
{
    if (size_same(in->graph, product, count)) return ANSWER_YES;
    if (!size_is_const(in->graph, product) || !size_is_const(in->graph, count))
        if (size_value(in->graph, product) == size_value(in->graph, count))
            return sizes_assert_same(in, product, count);
    return interp_break(in, BREAK_SHAPE, "a reshape that does not fit");
}

/* Fills in the -1 of a shape for `count` elements. */
static Answer
complete_shape(Interp *in, SizeId count, int rank, SizeId *sizes)
{
    Graph *g = in->graph;
    int unknown = -1;
    SizeId product = size_const(g, 1);
    for (int i = 0; i < rank; i++) {
        bool negative = false;
        TRY(size_decide(in, sizes[i], &negative));
        if (!negative)
            product = size_mul(g, product, sizes[i]);
        else if (size_is_const(g, sizes[i]) && size_value(g, sizes[i]) == -1 && unknown < 0)
            unknown = i;
        else
            return interp_break(in, BREAK_SHAPE, "a shape with two unknown lengths");
    }
    if (unknown >= 0) {
        if (size_value(g, product) == 0 || size_value(g, count) % size_value(g, product) != 0)
            return interp_break(in, BREAK_SHAPE, "a reshape that does not fit");
        if (!size_is_const(g, product)) TRY(length_is_some(in, product, 1));
        sizes[unknown] = size_ratio(g, count, product);
        product = size_mul(g, product, sizes[unknown]);
    }
    return product == NO_SIZE ? ANSWER_ERROR : shape_fits(in, product, count);
}

static Answer
reshape_in(Interp *in, NodeId node, int rank, const SizeId *sizes, char order, NodeId *out)
{
    Type type = node_type(in, node);
    if (order == 'A')
        order =
            type_is_fortran(in->graph, &type) && !type_is_contiguous(in->graph, &type) ? 'F' : 'C';
    if (order == 'C') return node_reshape(in, node, rank, sizes, out);
    if (order != 'F') return interp_break(in, BREAK_NUMPY, "reshape in order K");
    /* Fortran order: reverse the axes, reshape in C order, reverse them back. */
    int turn[MAX_RANK];
    SizeId turned[MAX_RANK];
    for (int i = 0; i < type.rank; i++) turn[i] = type.rank - 1 - i;
    for (int i = 0; i < rank; i++) turned[i] = sizes[rank - 1 - i];
    TRY(node_transpose(in, node, turn, &node));
    TRY(node_reshape(in, node, rank, turned, &node));
    for (int i = 0; i < rank; i++) turn[i] = rank - 1 - i;
    return node_transpose(in, node, turn, out);
}

/* a.reshape(*shape, order='C'), np.reshape(a, shape, order='C') */
Answer
do_reshape(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    char order;
    int rank;
    int64_t shape[MAX_RANK];
    SizeId sizes[MAX_RANK];
    TRY(value_as_order(in, rule_arg(rule, args, "order"), 'C', &order));
    Value *wanted = args[1];
    if (wanted == NULL) return interp_break(in, BREAK_SHAPE, "reshape without a shape");
    if (rule->kinds[0] == 'm' && wanted->nitems == 1 && value_is_sequence(wanted->items[0]))
        wanted = wanted->items[0];
    TRY(value_as_shape(in, wanted, &rank, sizes));
    TRY(spread_operand(in, args[0], rank, &node));
    Type type = node_type(in, node);
    bool same = rank == type.rank; /* NumPy: as given, before -1 is replaced */
    for (int i = 0; i < rank; i++) {
        shape[i] = size_value(in->graph, sizes[i]);
        same = same && size_same(in->graph, sizes[i], type.shape[i]);
    }
    TRY(complete_shape(in, type_count(in->graph, &type), rank, sizes));
    if (same) /* NumPy's shortcut, which keeps the strides of axes of length 1 */
        TRY(node_view(in, OP_reshape, node, &type, rank, shape, &node));
    else
        TRY(reshape_in(in, node, rank, sizes, order, &node));
    return push_node(in, node, out);
}

/* CuPy's ravel is a reshape, and a copy of what has gaps. */
static Answer
ravel_on_device(Interp *in, NodeId node, char order, Value **out)
{
    Type type = node_type(in, node);
    SizeId flat = type_count(in->graph, &type);
    if (order == 'K') return interp_break(in, BREAK_DEVICE, "ravel in order K");
    TRY(reshape_in(in, node, 1, &flat, order, &node));
    type = node_type(in, node);
    return type_is_contiguous(in->graph, &type)
               ? push_node(in, node, out)
               : interp_break(in, BREAK_DEVICE, "a ravel that makes a copy");
}

/* ravel (a view where it can be) and flatten (`data` "copy") */
Answer
do_ravel(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    char order;
    TRY(shaped_operand(in, args[0], &node));
    TRY(value_as_order(in, args[1], 'C', &order));
    Type type = node_type(in, node);
    if (type.device != DEVICE_HOST) return ravel_on_device(in, node, order, out);
    bool c = type_is_contiguous(in->graph, &type), f = type_is_fortran(in->graph, &type);
    if (order == 'K') {
        if (!c && !f) return interp_break(in, BREAK_NUMPY, "ravel in order K");
        order = c ? 'C' : 'F';
    }
    if (type_is_measured(in, &type) && type.rank > 1) return break_length(in);
    SizeId flat = type_count(in->graph, &type);
    if (rule->data[0] == 'c' && type.rank == 1) {
        TRY(node_copy(in, node, 'C', &node));
    } else {
        /* A result that is not a view of the argument is an array of its own, not a view of a
           copy. */
        NodeId storage = graph_node(in->graph, node)->storage;
        TRY(reshape_in(in, node, 1, &flat, order, &node));
        const Node *made = graph_node(in->graph, node);
        NodeId copy = made->storage;
        bool view = copy == storage;
        if (rule->data[0] != 'c' && view && type_elements(in->graph, &type) == 0)
            return interp_break(in, BREAK_NUMPY, "ravel of an array without elements");
        if (rule->data[0] == 'c' || !view || !type_is_contiguous(in->graph, &made->type)) {
            TRY(node_copy(in, node, 'C', &node));
            copy_is_copied(in, copy, node);
        }
    }
    return push_node(in, node, out);
}

/* a.transpose(*axes), np.transpose(a, axes=None) */
Answer
do_transpose(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    TRY(shaped_operand(in, args[0], &node));
    int rank = node_type(in, node).rank, n, permutation[MAX_RANK];
    Value *axes = args[1];
    if (rule->kinds[0] == 'm' && axes != NULL) {
        if (axes->nitems == 0)
            axes = NULL;
        else if (axes->nitems == 1 &&
                 (value_is_sequence(axes->items[0]) || value_is_none(axes->items[0])))
            axes = axes->items[0];
    }
    TRY(value_as_axes(in, axes, rank, &n, permutation));
    if (n >= 0 && n != rank) return interp_break(in, BREAK_SHAPE, "axes that do not match");
    for (int i = 0; n < 0 && i < rank; i++) permutation[i] = rank - 1 - i;
    TRY(node_transpose(in, node, permutation, &node));
    return push_node(in, node, out);
}

Answer
do_swapaxes(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId node;
    int a, b, permutation[MAX_RANK];
    TRY(shaped_operand(in, args[0], &node));
    int rank = node_type(in, node).rank;
    TRY(value_as_axis(in, args[1], rank, &a));
    TRY(value_as_axis(in, args[2], rank, &b));
    for (int i = 0; i < rank; i++) permutation[i] = i;
    permutation[a] = b;
    permutation[b] = a;
    TRY(node_transpose(in, node, permutation, &node));
    return push_node(in, node, out);
}

/* NumPy item_selection.c, PyArray_Diagonal: a view that must not be written. */
Answer
do_diagonal(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    Graph *g = in->graph;
    NodeId node;
    int64_t first = 0;
    int axis[2] = {0, 1};
    TRY(shaped_operand(in, args[0], &node));
    Type type = node_type(in, node), from = type;
    if (from.rank < 2 || from.device != DEVICE_HOST)
        return interp_break(in, BREAK_NUMPY, "a diagonal of less than two axes");
    if (args[1] != NULL && value_as_int(in, args[1], &first) != ANSWER_YES)
        return interp_break(in, BREAK_NUMPY, "a diagonal that is not a known one");
    for (int i = 0; i < 2; i++)
        if (args[2 + i] != NULL) TRY(value_as_axis(in, args[2 + i], from.rank, &axis[i]));
    if (axis[0] == axis[1]) return interp_break(in, BREAK_SHAPE, "a diagonal of one axis");
    SizeId length[2] = {from.shape[axis[0]], from.shape[axis[1]]}, zero = size_const(g, 0);
    int along = first >= 0; /* it begins in the first row, else in the first column */
    SizeId skipped = size_const(g, along ? first : -first);
    bool none;
    length[along] = size_sub(g, length[along], skipped);
    SizeId count = size_extreme(g, SIZE_LEAST, length[0], length[1]);
    TRY(size_decide(in, count, &none));
    if (!none) {
        SizeId begin = type.offset == NO_SIZE ? zero : type.offset;
        type.offset = size_add(g, begin, size_mul(g, skipped, from.stride[axis[along]]));
    }
    type.rank = 0;
    for (int i = 0; i < from.rank; i++) {
        if (i == axis[0] || i == axis[1]) continue;
        type.shape[type.rank] = from.shape[i];
        type.stride[type.rank++] = from.stride[i];
    }
    type.shape[type.rank] = none ? zero : count;
    type.stride[type.rank++] = size_add(g, from.stride[axis[0]], from.stride[axis[1]]);
    const int64_t which[] = {first, axis[0], axis[1]};
    TRY(node_view(in, OP_broadcast, node, &type, COUNT_OF(which), which, &node));
    return push_node(in, node, out);
}

Answer
do_moveaxis(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId node;
    int nfrom, nto, from[MAX_RANK], to[MAX_RANK], permutation[MAX_RANK];
    TRY(shaped_operand(in, args[0], &node));
    int rank = node_type(in, node).rank;
    TRY(value_as_axes(in, args[1], rank, &nfrom, from));
    TRY(value_as_axes(in, args[2], rank, &nto, to));
    if (nfrom < 0 || nfrom != nto) return interp_break(in, BREAK_SHAPE, "axes that do not match");
    bool numbers = !value_is_sequence(args[1]) && !value_is_sequence(args[2]);
    if (value_is_on_device(args[0]) && numbers && from[0] == to[0]) { /* CuPy: the array itself */
        *out = args[0];
        return ANSWER_YES;
    }
    for (int i = 0; i < rank; i++) permutation[i] = -1;
    for (int i = 0; i < nto; i++) permutation[to[i]] = from[i];
    for (int axis = 0, place = 0; axis < rank; axis++) {
        bool moved = false;
        for (int i = 0; i < nfrom; i++) moved = moved || from[i] == axis;
        if (moved) continue;
        while (permutation[place] >= 0) place++;
        permutation[place] = axis;
    }
    TRY(node_transpose(in, node, permutation, &node));
    return push_node(in, node, out);
}

Answer
do_squeeze(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId node;
    int n, axes[MAX_RANK];
    TRY(shaped_operand(in, args[0], &node));
    Type from = node_type(in, node), type = from;
    TRY(value_as_axes(in, args[1], from.rank, &n, axes));
    type.rank = 0;
    for (int i = 0; i < from.rank; i++) {
        if (!size_is_const(in->graph, from.shape[i])) TRY(length_is_some(in, from.shape[i], 2));
        bool named = n < 0, one = size_value(in->graph, from.shape[i]) == 1;
        for (int k = 0; k < n; k++) named = named || axes[k] == i;
        if (n >= 0 && named && !one)
            return interp_break(in, BREAK_SHAPE, "squeeze of an axis that is not of length 1");
        if (named && one) continue;
        type.shape[type.rank] = from.shape[i];
        type.stride[type.rank++] = from.stride[i];
    }
    bool array = args[0]->kind == V_NODE || value_is_on_device(args[0]);
    if (type.rank == from.rank && array) { /* it is the array itself */
        *out = args[0];
        return ANSWER_YES;
    }
    TRY(node_view(in, OP_squeeze, node, &type, 0, NULL, &node));
    return push_node(in, node, out);
}

Answer
do_expand_dims(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId node;
    int n, axes[MAX_RANK];
    TRY(shaped_operand(in, args[0], &node));
    int more = value_is_sequence(args[1]) ? args[1]->nitems : 1;
    Type from = node_type(in, node), type = from;
    if (from.rank + more > MAX_RANK) return interp_break(in, BREAK_RANK, "more than 8 dimensions");
    TRY(value_as_axes(in, args[1], from.rank + more, &n, axes));
    if (n < 0) return interp_break(in, BREAK_SHAPE, "expand_dims without an axis");
    type.rank = (uint8_t)(from.rank + more);
    type.form = FORM_ARRAY;
    /* As a reshape: a new axis has the stride that NumPy's reshape would give it. */
    SizeId shape[MAX_RANK];
    for (int i = 0, k = 0; i < type.rank; i++) {
        bool fresh = false;
        for (int j = 0; j < n; j++) fresh = fresh || axes[j] == i;
        shape[i] = fresh ? size_const(in->graph, 1) : from.shape[k++];
    }
    TRY(node_reshape(in, node, type.rank, shape, &node));
    return push_node(in, node, out);
}

Answer
do_broadcast_to(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId node;
    int rank;
    SizeId sizes[MAX_RANK];
    TRY(value_as_shape(in, args[1], &rank, sizes));
    TRY(spread_operand(in, args[0], rank, &node));
    if (rank < node_type(in, node).rank || node_type(in, node).form != FORM_ARRAY)
        return interp_break(in, BREAK_SHAPE, "broadcast_to fewer dimensions");
    for (int i = 0; i < rank; i++) {
        bool negative;
        TRY(size_decide(in, sizes[i], &negative));
        if (negative) return interp_break(in, BREAK_SHAPE, "a negative length");
    }
    TRY(node_broadcast(in, node, rank, sizes, &node));
    return push_node(in, node, out);
}

/* flip(m, axis); `data` names the axis of flipud and fliplr */
Answer
do_flip(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    int n = 1, axes[MAX_RANK] = {rule->data[0] - '0'};
    TRY(shaped_operand(in, args[0], &node));
    Type type = node_type(in, node);
    if (type.rank == 0) return interp_break(in, BREAK_NUMPY, "flip of no axes");
    if (rule->data[0] == '\0')
        TRY(value_as_axes(in, args[1], type.rank, &n, axes));
    else if (axes[0] >= type.rank)
        return interp_break(in, BREAK_SHAPE, "flip of too few axes");
    Graph *g = in->graph;
    int64_t turned[MAX_RANK];
    int count = 0;
    for (int i = 0; i < type.rank; i++) {
        bool named = n < 0;
        for (int k = 0; k < n; k++) named = named || axes[k] == i;
        if (!named) continue;
        turned[count++] = i;
        if (size_is_zero(g, type.shape[i]))
            continue; /* an axis without elements keeps its stride */
        SizeId last = size_add(g, type.shape[i], size_const(g, -1));
        type.offset = size_add(g, type.offset, size_mul(g, last, type.stride[i]));
        type.stride[i] = size_mul(g, size_const(g, -1), type.stride[i]);
        if (type.offset == NO_SIZE || type.stride[i] == NO_SIZE) return ANSWER_ERROR;
    }
    TRY(node_view(in, OP_flip, node, &type, count, turned, &node));
    return push_node(in, node, out);
}

/* ---- joining ---- */

/* The arrays of a known sequence; Python numbers are not taken. */
static Answer
sequence_nodes(Interp *in, Value *value, int *n, NodeId **out)
{
    if (!value_is_sequence(value))
        return interp_break(in, BREAK_NUMPY, "arrays that are not in a known list or tuple");
    *n = value->nitems;
    if (*n == 0) return interp_break(in, BREAK_SHAPE, "no arrays to join");
    *out = arena_alloc(in->arena, (size_t)*n * sizeof **out);
    if (*out == NULL) return ANSWER_ERROR;
    for (int i = 0; i < *n; i++) {
        Value *item = value_item(in, value, i);
        if (item == NULL) return ANSWER_ERROR;
        TRY(shaped_operand(in, item, &(*out)[i]));
    }
    return ANSWER_YES;
}

/* Where not all arrays are C contiguous, the result's layout follows theirs, so NumPy is called. */
static Answer
join_by_call(Interp *in, int axis, int n, const NodeId *nodes, NodeId *out)
{
    PyObject *function = numpy_step(in, "concatenate");
    PyObject *number = keep(in, PyLong_FromLong(axis));
    NodeId *args = arena_alloc(in->arena, (size_t)(n + 1) * sizeof *args);
    if (function == NULL || number == NULL || args == NULL) return ANSWER_ERROR;
    TRY_NODE(args[0], node_object(in, number));
    memcpy(args + 1, nodes, (size_t)n * sizeof *args);
    return node_trial(in, function, n + 1, args, NULL, out);
}

/* ANSWER_NO: as the call lays it out. */
static Answer
joined_type(Interp *in, int axis, int n, const NodeId *nodes, DType dtype, SizeId length, Type *out)
{
    Type each = node_type(in, nodes[0]);
    SizeId shape[MAX_RANK];
    bool plain = true, some = true, host = true;
    memcpy(shape, each.shape, sizeof shape);
    shape[axis] = length;
    for (int i = 0; i < n; i++) {
        each = node_type(in, nodes[i]);
        plain = plain && axes_are_nested(in->graph, &each);
        some = some && type_elements(in->graph, &each) > 0; /* else strides still count */
        host = host && each.device == DEVICE_HOST;
    }
    if ((plain && some) || each.rank < 2)
        return type_contiguous(in->graph, out, dtype, each.rank, shape) < 0 ? ANSWER_ERROR
                                                                            : ANSWER_YES;
    if (!some || !host) return ANSWER_NO;
    for (int i = 0; i < n; i++) { /* axes of one element do not tell the order of longer ones */
        each = node_type(in, nodes[i]);
        TRY(lengths_are_several(in, &each));
    }
    return type_joined(in->graph, out, dtype, n, nodes, axis, length);
}

static Answer
join(Interp *in, int axis, int n, NodeId *nodes, NodeId *out)
{
    Type first = node_type(in, nodes[0]), type;
    SizeId length = size_const(in->graph, 0);
    for (int i = 0; i < n; i++) {
        Type each = node_type(in, nodes[i]);
        bool fits = each.rank == first.rank && first.rank > 0;
        for (int k = 0; fits && k < first.rank; k++) {
            if (k != axis && (!size_is_const(in->graph, each.shape[k]) ||
                              !size_is_const(in->graph, first.shape[k])))
                TRY(sizes_assert_same(in, each.shape[k], first.shape[k]));
            else
                fits = k == axis || each.shape[k] == first.shape[k];
        }
        if (!fits) return interp_break(in, BREAK_SHAPE, "arrays that cannot be joined");
        length = size_add(in->graph, length, each.shape[axis]);
        TRY(lengths_are_some(in, each.rank, each.shape));
    }
    DType dtype;
    TRY(result_dtype(in, n, nodes, &dtype));
    Answer laid = joined_type(in, axis, n, nodes, dtype, length, &type);
    if (laid == ANSWER_NO) return join_by_call(in, axis, n, nodes, out);
    if (laid != ANSWER_YES) return laid;
    for (int i = 0; i < n; i++) TRY(node_cast(in, nodes[i], dtype, &nodes[i]));
    Attrs attrs = {.index = axis};
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_concatenate, n, nodes, &type, &attrs));
    return ANSWER_YES;
}

/* Inserts an axis of length 1 before axis `axis`. */
static Answer
with_axis(Interp *in, NodeId node, int axis, NodeId *out)
{
    Type from = node_type(in, node), type = from;
    if (from.rank == MAX_RANK) return interp_break(in, BREAK_RANK, "more than 8 dimensions");
    type.rank++;
    for (int i = 0; i < type.rank; i++) {
        int k = i < axis ? i : i - 1;
        type.shape[i] = i == axis ? size_const(in->graph, 1) : from.shape[k];
        type.stride[i] = i == axis ? size_const(in->graph, 0) : from.stride[k];
    }
    return node_view(in, OP_expand_dims, node, &type, 0, NULL, out);
}

Answer
do_concatenate(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    int n, axis = 0;
    NodeId *nodes, node;
    TRY(sequence_nodes(in, args[0], &n, &nodes));
    Value *given = rule_arg(rule, args, "axis");
    if (given != NULL && value_is_none(given))
        return interp_break(in, BREAK_NUMPY, "concatenate with axis=None");
    if (given != NULL) TRY(value_as_axis(in, given, node_type(in, nodes[0]).rank, &axis));
    TRY(join(in, axis, n, nodes, &node));
    return push_node(in, node, out);
}

Answer
nodes_stack(Interp *in, int axis, int n, NodeId *nodes, NodeId *out)
{
    for (int i = 0; i < n; i++) {
        Type a = node_type(in, nodes[0]), b = node_type(in, nodes[i]);
        if (i > 0) { /* the first has its new axis already */
            if (a.rank != b.rank + 1)
                return interp_break(in, BREAK_SHAPE, "stack of unequal ranks");
        }
        TRY(with_axis(in, nodes[i], axis, &nodes[i]));
    }
    return join(in, axis, n, nodes, out);
}

Answer
do_stack(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    int n, axis = 0;
    NodeId *nodes, node;
    TRY(sequence_nodes(in, args[0], &n, &nodes));
    Value *given = rule_arg(rule, args, "axis");
    if (given != NULL) TRY(value_as_axis(in, given, node_type(in, nodes[0]).rank + 1, &axis));
    TRY(nodes_stack(in, axis, n, nodes, &node));
    return push_node(in, node, out);
}

/* hstack and vstack (`data` "h", "v"): at least one or two axes, then joined */
Answer
do_hvstack(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    int n;
    NodeId *nodes, node;
    TRY(sequence_nodes(in, args[0], &n, &nodes));
    bool vertical = rule->data[0] == 'v';
    for (int i = 0; i < n; i++) {
        if (node_type(in, nodes[i]).rank == 0) TRY(with_axis(in, nodes[i], 0, &nodes[i]));
        if (vertical && node_type(in, nodes[i]).rank == 1)
            TRY(with_axis(in, nodes[i], 0, &nodes[i]));
    }
    int axis = vertical || node_type(in, nodes[0]).rank == 1 ? 0 : 1;
    TRY(join(in, axis, n, nodes, &node));
    return push_node(in, node, out);
}

/* The shape, rank or size of a number, Python's or NumPy's; ANSWER_NO: another attribute. */
static Answer
attribute_of_number(Interp *in, const char *name, Value **out)
{
    if (strcmp(name, "shape") == 0) return given(out, value_const_new(in, PyTuple_New(0)));
    bool is_rank = strcmp(name, "ndim") == 0;
    if (!is_rank && strcmp(name, "size") != 0) return ANSWER_NO;
    return given(out, value_const_new(in, PyLong_FromLong(is_rank ? 0 : 1)));
}

/* np.shape, np.ndim, np.size, np.real, ...: `data` is the attribute */
Answer
do_attribute(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    if (value_is_number(in, args[0])) {
        Answer answer = attribute_of_number(in, rule->data, out);
        if (answer != ANSWER_NO) return answer;
    }
    TRY(shaped_operand(in, args[0], &node));
    return array_attribute(in, args[0], rule->data, out);
}
