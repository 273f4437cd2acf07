/* Array creation: from a shape, from numbers, and conversions of objects to arrays. */
#include "numpy.h"

Answer
shape_sizes(Interp *in, Value *value, int *rank, SizeId *sizes)
{
    bool negative;
    TRY(value_as_shape(in, value, rank, sizes));
    for (int i = 0; i < *rank; i++) {
        TRY(size_decide(in, sizes[i], &negative));
        if (negative) return interp_break(in, BREAK_SHAPE, "a negative length");
    }
    return lengths_are_some(in, *rank, sizes);
}

/* A fresh array of this type, filled with `value` (a scalar node of its dtype), or uninitialised
   for NO_NODE. */
static Answer
filled(Interp *in, const Type *type, NodeId value, Value **out)
{
    NodeId node;
    if (value == NO_NODE)
        TRY_NODE(node, graph_add(in->graph, in->region, OP_empty, 0, NULL, type, NULL));
    else
        TRY_NODE(node, graph_add(in->graph, in->region, OP_full, 1, &value, type, NULL));
    return push_node(in, node, out);
}

/* The fill value that a row's `data` names: "0", "1", "empty" (none), "full" (the argument
   fill_value). */
static Answer
fill_value(Interp *in, const Rule *rule, Value *const *args, DType *dtype, bool given, NodeId *out)
{
    *out = NO_NODE;
    if (rule->data[0] == 'e') return ANSWER_YES;
    if (rule->data[0] != 'f') {
        TRY_NODE(*out, dtype_is_float(*dtype) || dtype_is_complex(*dtype)
                           ? node_float(in, rule->data[0] - '0', *dtype)
                           : node_int(in, rule->data[0] - '0', *dtype));
        return ANSWER_YES;
    }
    TRY(operand(in, rule_arg(rule, args, "fill_value"), out));
    Type type = node_type(in, *out);
    if (type.rank != 0) return interp_break(in, BREAK_NUMPY, "full of an array");
    if (!given) *dtype = (DType)type.dtype;
    if (dtype_is_complex((DType)type.dtype) && !dtype_is_complex(*dtype))
        return interp_break(in, BREAK_SHAPE, "a complex fill value");
    return node_cast(in, *out, *dtype, out);
}

/* zeros, ones, empty (shape, dtype, order), full (shape, fill_value, dtype, order) */
Answer
do_make(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    DType dtype = DT_F64;
    char order;
    Type like = {0}, type;
    NodeId value;
    int rank;
    TRY(shape_sizes(in, args[0], &rank, like.shape));
    like.rank = (uint8_t)rank;
    Value *given = rule_arg(rule, args, "dtype");
    TRY(value_as_dtype(in, given, &dtype));
    TRY(value_as_order(in, rule_arg(rule, args, "order"), 'C', &order));
    if (order == 'K' || order == 'A') return interp_break(in, BREAK_NUMPY, "this order");
    TRY(fill_value(in, rule, args, &dtype, !value_absent(given), &value));
    TRY(fresh_type(in, &type, dtype, &like, order));
    return filled(in, &type, value, out);
}

/* zeros_like, ones_like, empty_like, full_like */
Answer
do_make_like(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    char order;
    NodeId node, value;
    Type type;
    TRY(operand(in, args[0], &node));
    Type like = node_type(in, node);
    DType dtype = (DType)like.dtype;
    TRY(value_as_dtype(in, rule_arg(rule, args, "dtype"), &dtype));
    TRY(value_as_order(in, rule_arg(rule, args, "order"), 'K', &order));
    TRY(fill_value(in, rule, args, &dtype, true, &value));
    TRY(fresh_type(in, &type, dtype, &like, order));
    return filled(in, &type, value, out);
}

/* ---- conversions ---- */

/* What _steps.build takes: `hole` stands for those items of a list that a run computes. */
typedef struct {
    PyObject *hole;
    VEC(NodeId) args;
} Built;

/* A (nested) list of known numbers and scalar nodes, in the form that _steps.build takes: a new
   reference, or NULL with *answer set. */
static PyObject *
list_template(Interp *in, Value *value, int depth, Built *built, Answer *answer)
{
    enum { MOST_ITEMS = 4096 };
    PyObject *object = NULL;
    if (value_is_sequence(value)) {
        if (depth == MAX_RANK) { /* a list may contain itself */
            *answer = interp_break(in, BREAK_RANK, "lists nested more than 8 deep");
            return NULL;
        }
        PyObject *list = PyList_New(0);
        for (int i = 0; list != NULL && i < value->nitems; i++) {
            Value *each = value_item(in, value, i);
            PyObject *item =
                each == NULL ? NULL : list_template(in, each, depth + 1, built, answer);
            if (item == NULL || PyList_Append(list, item) < 0) Py_CLEAR(list);
            Py_XDECREF(item);
        }
        return list;
    }
    if (value->kind == V_NODE) {
        NodeId node;
        if (built->args.len >= MOST_ITEMS) {
            *answer = interp_break(in, BREAK_NUMPY, "an array of more than %d computed items",
                                   MOST_ITEMS);
            return NULL;
        }
        *answer = operand(in, value, &node);
        if (*answer == ANSWER_YES && VEC_PUSH(in->arena, &built->args, node) < 0)
            *answer = ANSWER_ERROR;
        return *answer == ANSWER_YES ? Py_NewRef(built->hole) : NULL;
    }
    *answer = value_known(in, value, &object);
    if (*answer == ANSWER_NO)
        *answer = interp_break(in, BREAK_NUMPY, "an array of something not known");
    return *answer == ANSWER_YES ? Py_NewRef(object) : NULL;
}

Answer
array_from_list(Interp *in, Value *value, const DType *dtype, NodeId *out)
{
    Built built = {.hole = numpy_step(in, "HOLE")};
    PyObject *build = numpy_step(in, "build");
    if (built.hole == NULL || build == NULL) return ANSWER_ERROR;
    Answer answer = ANSWER_ERROR;
    PyObject *descr = dtype == NULL ? Py_None : keep(in, array_dtype_object(*dtype));
    for (int i = 0; i < 2; i++) /* of the template and the dtype */
        if (VEC_PUSH(in->arena, &built.args, NO_NODE) < 0) return ANSWER_ERROR;
    PyObject *template = list_template(in, value, 0, &built, &answer);
    if (template == NULL) return answer == ANSWER_YES ? ANSWER_ERROR : answer;
    if (keep(in, template) == NULL || descr == NULL) return ANSWER_ERROR;
    TRY_NODE(built.args.at[0], node_object(in, template));
    TRY_NODE(built.args.at[1], node_object(in, descr));
    return node_trial(in, build, built.args.len, built.args.at, NULL, out);
}

/* asarray (`data` "as"), ascontiguousarray ("c"), asfortranarray ("f"), array ("a") */
Answer
do_array(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node, given;
    char order;
    bool copy = strcmp(rule->data, "a") == 0;
    Value *copy_arg = rule_arg(rule, args, "copy");
    TRY(value_as_order(in, rule_arg(rule, args, "order"), 'K', &order));
    bool copy_given = copy_arg != NULL && !value_is_none(copy_arg);
    if (copy_arg != NULL && value_is_none(copy_arg)) copy = false;
    if (copy_given) TRY(value_as_flag(in, copy_arg, copy, &copy));
    if (copy_given && !copy) return interp_break(in, BREAK_NUMPY, "array with copy=False");
    DType dtype = DT_OBJECT;
    TRY(value_as_dtype(in, rule_arg(rule, args, "dtype"), &dtype));
    if (value_is_sequence(args[0]))
        TRY(array_from_list(in, args[0], dtype == DT_OBJECT ? NULL : &dtype, &node));
    else
        TRY(operand(in, args[0], &node));
    given = node;
    bool fresh = value_is_sequence(args[0]);
    Type type = node_type(in, node);
    if (dtype == DT_OBJECT) dtype = (DType)type.dtype;
    if (type.form != FORM_ARRAY) {
        TRY(node_cast(in, node, dtype, &node));
        TRY(node_form(in, node, FORM_ARRAY, &node));
        fresh = true;
    }
    type = node_type(in, node);
    if (rule->data[0] == 'c' || rule->data[0] == 'f') {
        order = rule->data[0] == 'c' ? 'C' : 'F';
        if (type.rank == 0) return interp_break(in, BREAK_NUMPY, "%s of a scalar", rule->name);
    }
    bool right = order == 'K' || order == 'A';
    if (!right) TRY(layout_has_order(in, &type, order, &right));
    if (dtype == type.dtype && right && (!copy || fresh)) {
        if (node == given && !value_is_sequence(args[0])) {
            *out = args[0]; /* the argument itself */
            return ANSWER_YES;
        }
        return push_node(in, node, out);
    }
    if (dtype != type.dtype) {
        TRY(cast_fresh(in, node, dtype, order == 'A' ? 'K' : order, &node));
    } else {
        TRY(node_copy(in, node, order, &node));
    }
    return push_node(in, node, out);
}

/* ---- arange ---- */

/* `length` integers from `start` on. */
static Answer
push_arange(Interp *in, NodeId start, int64_t step, SizeId length, Value **out)
{
    NodeId nodes[2] = {start}, node;
    Type type;
    if (type_contiguous(in->graph, &type, DT_I64, 1, &length) < 0) return ANSWER_ERROR;
    TRY_NODE(nodes[1], node_int(in, step, DT_I64));
    TRY_NODE(node, graph_add(in->graph, in->region, OP_arange, 2, nodes, &type, NULL));
    return push_node(in, node, out);
}

/* How many integers there are from `start` to `stop`. */
static Answer
count_between(Interp *in, SizeId start, SizeId stop, int64_t step, SizeId *out)
{
    Graph *g = in->graph;
    SizeId span = step > 0 ? size_sub(g, stop, start) : size_sub(g, start, stop);
    bool none;
    TRY(size_decide(in, span, &none));
    *out = size_const(g, 0);
    if (!none) *out = size_add(g, span, size_const(g, llabs(step) - 1));
    if (!none) *out = size_quotient(g, SIZE_FLOOR_DIV, *out, size_const(g, llabs(step)));
    return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* Of integers of which some are lengths.  ANSWER_NO: other numbers are among them. */
static Answer
arange_of_sizes(Interp *in, Value *const *args, bool whole, Value **out)
{
    SizeId size[2] = {size_const(in->graph, 0), NO_SIZE}, length;
    Value *step = args[2], *start = value_absent(args[1]) ? NULL : args[0];
    Value *ends[2] = {start, start == NULL ? args[0] : args[1]};
    int64_t by = 1;
    NodeId first;
    if (!whole || value_absent(ends[1])) return ANSWER_NO;
    for (int i = start == NULL; i < 2; i++) TRY(int_as_length(in, ends[i], &size[i]));
    if (!value_absent(step) && step->kind != V_CONST) return ANSWER_NO;
    if (!value_absent(step)) TRY(value_as_int(in, step, &by));
    if (by == 0 || llabs(by) > INT32_MAX) return ANSWER_NO;
    TRY(count_between(in, size[0], size[1], by, &length));
    if (start == NULL || start->kind == V_CONST) {
        TRY_NODE(first, node_int(in, size_value(in->graph, size[0]), DT_I64));
    } else {
        TRY(value_as_node(in, start, &first));
        TRY(node_form(in, first, FORM_SCALAR, &first));
    }
    return push_arange(in, first, by, length, out);
}

/* Of numbers of which some are lengths. */
static Answer
arange_of_lengths(Interp *in, Value *const *args, Value *dtype, Value **out)
{
    Value *given[4];
    bool any = false;
    for (int i = 0; i < 3; i++) {
        SizeId size;
        Answer answer = value_absent(args[i]) ? ANSWER_NO : size_of_length(in, args[i], &size);
        if (answer_stops(answer)) return answer;
        any = any || (answer == ANSWER_YES && !size_is_const(in->graph, size));
    }
    if (!any) return ANSWER_NO;
    Answer answer = arange_of_sizes(in, args, value_absent(dtype), out);
    if (answer != ANSWER_NO) return answer;
    for (int i = 0; i < 4; i++) {
        given[i] = i < 3 ? args[i] : dtype;
        if (value_absent(given[i]) && (given[i] = value_const(in, Py_None)) == NULL)
            return ANSWER_ERROR;
    }
    return call_simple(in, numpy_object("arange"), COUNT_OF(given), given, out);
}

/* Integers are computed in the plan; floats by a call of NumPy's arange, whose rounding differs. */
Answer
do_arange(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    PyObject *known[3] = {NULL, NULL, NULL};
    Answer counted = arange_of_lengths(in, args, rule_arg(rule, args, "dtype"), out);
    if (counted != ANSWER_NO) return counted;
    DType dtype = DT_I64;
    bool ints = true;
    for (int i = 0; i < 3; i++) {
        if (value_absent(args[i])) continue;
        Answer answer = value_known(in, args[i], &known[i]);
        if (answer == ANSWER_NO)
            return break_unknown_number(in, BREAK_NUMPY, args[i], "an argument of arange");
        if (answer_stops(answer)) return answer;
        ints = ints && PyLong_CheckExact(known[i]);
    }
    Value *given = rule_arg(rule, args, "dtype");
    TRY(value_as_dtype(in, given, &dtype));
    NodeId node, nodes[4];
    if (!ints || dtype != DT_I64) {
        int n = 0;
        for (int i = 0; i < 3; i++)
            TRY_NODE(nodes[n++], node_object(in, known[i] == NULL ? Py_None : known[i]));
        PyObject *descr = Py_None;
        if (!value_absent(given) && (descr = keep(in, array_dtype_object(dtype))) == NULL)
            return ANSWER_ERROR;
        TRY_NODE(nodes[n++], node_object(in, descr));
        TRY(node_trial(in, numpy_object("arange"), n, nodes, NULL, &node));
        return push_node(in, node, out);
    }
    int64_t start = 0, stop, step = 1;
    if (known[0] == NULL) return interp_break(in, BREAK_SHAPE, "arange without a stop");
    stop = PyLong_AsLongLong(known[0]);
    if (known[1] != NULL) {
        start = stop;
        stop = PyLong_AsLongLong(known[1]);
    }
    if (known[2] != NULL) step = PyLong_AsLongLong(known[2]);
    if (PyErr_Occurred() || step == 0 || llabs(start) > INT32_MAX || llabs(stop) > INT64_MAX / 4) {
        PyErr_Clear();
        return interp_break(in, BREAK_SHAPE, "arange of such numbers");
    }
    int64_t length =
        step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    TRY_NODE(node, node_int(in, start, DT_I64));
    return push_arange(in, node, step, size_const(in->graph, Py_MAX(length, 0)), out);
}

/* ---- others ---- */

Answer
do_where(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId nodes[3], result;
    if (args[1] == NULL || args[2] == NULL)
        return interp_break(in, BREAK_INDEX, "np.where of one argument: its shape depends on data");
    for (int i = 0; i < 3; i++) TRY(operand(in, args[i], &nodes[i]));
    TRY(node_where(in, nodes[0], nodes[1], nodes[2], &result));
    return push_node(in, result, out);
}

Answer
do_matmul(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId a, b;
    TRY(array_operand(in, args[0], &a));
    TRY(array_operand(in, args[1], &b));
    TRY(node_matmul(in, a, b, &a));
    if (!value_absent(args[2])) return write_result(in, args[2], a, out);
    return push_node(in, a, out);
}

/* a.dot(b), np.dot(a, b) */
Answer
do_dot(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId nodes[2], node;
    TRY(operand(in, args[0], &nodes[0]));
    TRY(operand(in, args[1], &nodes[1]));
    Type a = node_type(in, nodes[0]), b = node_type(in, nodes[1]), type;
    if (a.rank == 0 || b.rank == 0) { /* BLAS adds the product to zero: -0.0 is lost */
        TRY(node_trial(in, numpy_object("dot"), 2, nodes, NULL, &node));
        return push_node(in, node, out);
    }
    DType dtype;
    TRY(result_dtype(in, 2, nodes, &dtype));
    int inner = b.rank == 1 ? 0 : b.rank - 2, rank = 0;
    SizeId inner_a = a.shape[a.rank - 1];
    if (!size_is_const(in->graph, inner_a) || !size_is_const(in->graph, b.shape[inner]))
        TRY(sizes_assert_same(in, inner_a, b.shape[inner]));
    else if (inner_a != b.shape[inner])
        return interp_break(in, BREAK_SHAPE, "dot of unequal inner sizes");
    SizeId shape[2 * MAX_RANK];
    for (int i = 0; i < a.rank - 1; i++) shape[rank++] = a.shape[i];
    for (int i = 0; i < b.rank; i++)
        if (i != inner) shape[rank++] = b.shape[i];
    if (rank > MAX_RANK) return interp_break(in, BREAK_RANK, "more than 8 dimensions");
    if (type_contiguous(in->graph, &type, dtype, rank, shape) < 0) return ANSWER_ERROR;
    if (rank == 0) type.form = FORM_SCALAR;
    TRY(node_extern(in, numpy_object("dot"), 2, nodes, &type, &node));
    return push_node(in, node, out);
}
