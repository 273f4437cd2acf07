/* Methods that make another array or a number from an array: astype, copy, item, round, clip … */
#include "numpy.h"

Answer
value_as_order(Interp *in, Value *value, char fallback, char *out)
{
    *out = fallback;
    if (value_absent(value)) return ANSWER_YES;
    const char *text = value->kind == V_CONST && PyUnicode_Check(value->object)
                           ? PyUnicode_AsUTF8(value->object)
                           : NULL;
    if (text == NULL || strlen(text) != 1 || strchr("CFAK", text[0]) == NULL)
        return interp_break(in, BREAK_NUMPY, "an order that is not known");
    *out = text[0];
    return ANSWER_YES;
}

/* a.copy(order='C'), np.copy(a, order='K'): `data` is the default order. */
Answer
do_copy(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    char order;
    TRY(array_operand(in, args[0], &node));
    bool scalar = node_type(in, node).form == FORM_SCALAR;
    TRY(value_as_order(in, rule_arg(rule, args, "order"), rule->data[0], &order));
    if (scalar && rule->data[0] == 'C') return push_node(in, node, out); /* a new object */
    TRY(node_copy(in, node, order, &node));
    return push_node(in, node, out);
}

Answer
cast_fresh(Interp *in, NodeId node, DType dtype, char order, NodeId *out)
{
    Type like = node_type(in, node), type;
    if (like.rank == 0) {
        Form form = (Form)like.form;
        TRY(node_cast(in, node, dtype, out));
        if (*out == node && form == FORM_ARRAY) return node_copy(in, node, 'C', out);
        return ANSWER_YES;
    }
    if (like.dtype == dtype) return node_copy(in, node, order, out);
    TRY(node_cast(in, node, dtype, out));
    if (*out == NO_NODE) return ANSWER_ERROR;
    TRY(fresh_type(in, &type, dtype, &like, order));
    Node *made = graph_node(in->graph, *out);
    made->type = type; /* the cast itself writes in that order */
    return ANSWER_YES;
}

Answer
do_astype(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node, result;
    char order;
    bool copy;
    TRY(array_operand(in, args[0], &node));
    DType dtype = DT_F64; /* the dtype of None */
    TRY(value_as_dtype(in, args[1], &dtype));
    TRY(value_as_order(in, rule_arg(rule, args, "order"), 'K', &order));
    TRY(value_as_flag(in, rule_arg(rule, args, "copy"), true, &copy));
    Type type = node_type(in, node);
    bool right = order == 'K';
    if (!right) TRY(layout_has_order(in, &type, order == 'F' ? 'F' : 'C', &right));
    if (!right && order == 'A') TRY(layout_has_order(in, &type, 'F', &right));
    if (!copy && right && type.dtype == dtype) {
        *out = args[0];
        return ANSWER_YES;
    }
    TRY(cast_fresh(in, node, dtype, order, &result));
    return push_node(in, result, out);
}

/* item(), float(x), int(x) of one element: the number as Python's own type. */
static Answer
node_item(Interp *in, NodeId node, NodeId *out)
{
    Type type = node_type(in, node);
    DType dtype = (DType)type.dtype;
    if (type_elements(in->graph, &type) != 1)
        return interp_break(in, BREAK_SHAPE, "item() of an array of more than one element");
    if (dtype == DT_U64) return break_hinted(in, BREAK_DTYPE, HINT_CONVERT, "item() of uint64");
    if (type.rank > 0) TRY(node_reshape(in, node, 0, NULL, &node));
    DType python = dtype_is_complex(dtype) ? DT_C128
                   : dtype_is_float(dtype) ? DT_F64
                   : dtype == DT_BOOL      ? DT_BOOL
                                           : DT_I64;
    TRY(node_cast(in, node, python, &node));
    return node_form(in, node, FORM_PYTHON, out);
}

/* Numbers that item() takes as indices: ints, but not bools. */
static bool
is_index(Interp *in, const Value *value)
{
    if (value->kind == V_CONST) {
        if (!PyLong_CheckExact(value->object))
            return array_scalar_check(value->object) && PyIndex_Check(value->object);
        int overflow;
        (void)PyLong_AsLongLongAndOverflow(value->object, &overflow);
        return overflow == 0;
    }
    if (value->kind != V_NODE) return false;
    const Type *type = &graph_node(in->graph, value->node)->type;
    return type->form != FORM_ARRAY && dtype_is_integer((DType)type->dtype);
}

/* The elements in C order, where they lie so. */
static Answer
flat_view(Interp *in, Value **array, NodeId node)
{
    Type type = node_type(in, node);
    if (!type_is_contiguous(in->graph, &type))
        return interp_break(in, BREAK_NUMPY, "item() with a flat index");
    SizeId flat = type_count(in->graph, &type);
    TRY(node_reshape(in, node, 1, &flat, &node));
    return push_node(in, node, array);
}

/* array.item(i, j) and array.item((i, j)): the element, with an index for every axis, or one for
   all. */
static Answer
item_at(Interp *in, Value *array, Value *key, Value **out)
{
    NodeId node;
    Value *items[MAX_RANK];
    TRY(array_operand(in, array, &node));
    int rank = node_type(in, node).rank;
    if (key->nitems == 1) {
        if ((items[0] = value_item(in, key, 0)) == NULL) return ANSWER_ERROR;
        if (items[0]->kind == V_TUPLE) key = items[0];
    }
    if (key->nitems == 1 && rank > 1) {
        TRY(flat_view(in, &array, node));
        rank = 1;
    }
    if (key->nitems != rank || rank == 0)
        return interp_break(in, BREAK_NUMPY, "item() with another number of indices");
    for (int i = 0; i < rank; i++) {
        if ((items[i] = value_item(in, key, i)) == NULL) return ANSWER_ERROR;
        if (!is_index(in, items[i]))
            return interp_break(in, BREAK_NUMPY, "item() with an index that is no int");
    }
    Value *whole = rank == 1 ? items[0] : value_sequence(in, V_TUPLE, rank, items);
    return whole == NULL ? ANSWER_ERROR : emit_subscript(in, array, whole, out);
}

Answer
do_item(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId node;
    if (args[1] != NULL && args[1]->nitems > 0) {
        Value *element;
        TRY(item_at(in, args[0], args[1], &element));
        if (value_as_node(in, element, &node) != ANSWER_YES) return ANSWER_ERROR;
    } else {
        in->memory.varies = VARIES_NOT; /* of one element: rule_apply sets it back */
        TRY(array_operand(in, args[0], &node));
    }
    TRY(node_item(in, node, &node));
    return push_node(in, node, out);
}

Answer
do_fill(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId value;
    TRY(operand(in, args[1], &value));
    if (node_type(in, value).rank != 0) return interp_break(in, BREAK_SHAPE, "fill with an array");
    TRY(node_write(in, args[0], value));
    *out = value_const(in, Py_None);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
do_conjugate(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    NodeId node;
    TRY(array_operand(in, args[0], &node));
    if (!dtype_is_complex((DType)node_type(in, node).dtype)) {
        if (!value_is_array(in, args[0])) return push_node(in, node, out); /* a new object */
        *out = args[0]; /* ndarray.conj of real numbers is the array itself */
        return ANSWER_YES;
    }
    TRY(node_named(in, "conjugate", 1, &node, &node));
    return push_node(in, node, out);
}

/* As NumPy does it: multiply by a power of ten, round to even, divide (for negative decimals
   divide, round, multiply). */
static Answer
round_decimals(Interp *in, NodeId node, int64_t decimals, NodeId *out)
{
    if (decimals > 22 || decimals < -22)
        return interp_break(in, BREAK_NUMPY, "round to so many decimals");
    double power = 1.0;
    for (int64_t i = 0; i < llabs(decimals); i++) power *= 10.0;
    PyObject *number = keep(in, PyFloat_FromDouble(power));
    if (number == NULL) return ANSWER_ERROR;
    Type weak = type_scalar(DT_F64, FORM_PYTHON);
    NodeId args[2] = {node, graph_const(in->graph, in->region, number, &weak)};
    if (args[1] == NO_NODE) return ANSWER_ERROR;
    TRY(node_named(in, decimals > 0 ? "multiply" : "divide", 2, args, &args[0]));
    TRY(node_named(in, "rint", 1, args, &args[0]));
    return node_named(in, decimals > 0 ? "divide" : "multiply", 2, args, out);
}

Answer
do_round(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node, result;
    int64_t decimals = 0;
    TRY(array_operand(in, args[0], &node));
    Value *given = rule_arg(rule, args, "decimals");
    if (given != NULL && value_as_int(in, given, &decimals) != ANSWER_YES)
        return interp_break(in, BREAK_NUMPY, "round to decimals that are not known");
    DType dtype = (DType)node_type(in, node).dtype;
    if (dtype != DT_F32 && dtype != DT_F64) {
        NodeId nodes[2] = {node};
        PyObject *number = keep(in, PyLong_FromLongLong(decimals));
        if (number == NULL) return ANSWER_ERROR;
        TRY_NODE(nodes[1], node_object(in, number));
        TRY(node_trial(in, numpy_object("round"), 2, nodes, NULL, &result));
    } else if (decimals == 0)
        TRY(node_named(in, "rint", 1, &node, &result));
    else
        TRY(round_decimals(in, node, decimals, &result));
    Value *target = rule_arg(rule, args, "out");
    if (!value_absent(target)) return write_result(in, target, result, out);
    /* With decimals NumPy fills a new array, in Fortran order where the argument is, else in C
       order (PyArray_Round). */
    Type type = node_type(in, node);
    bool as_it_is =
        decimals == 0 || type_is_contiguous(in->graph, &type) || type_is_fortran(in->graph, &type);
    if (!as_it_is && dtype_is_float(dtype)) TRY(cast_fresh(in, result, dtype, 'C', &result));
    return push_node(in, result, out);
}

/* A bound of clip without effect: a Python int beyond the range of an integer dtype. */
static bool
beyond(const Value *bound, DType dtype, bool upper)
{
    if (!dtype_is_integer(dtype) || bound->kind != V_CONST || !PyLong_CheckExact(bound->object))
        return false;
    int overflow, bits = 8 * (int)dtype_size(dtype);
    long long number = PyLong_AsLongLongAndOverflow(bound->object, &overflow);
    if (overflow) return upper ? overflow > 0 && dtype != DT_U64 : overflow < 0;
    bool is_signed = dtype_is_signed(dtype);
    if (!upper && !is_signed) return number <= 0;
    if (dtype == DT_U64) return false;
    int64_t high = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - is_signed)) - 1;
    return upper ? number >= high : number <= -high - 1;
}

Answer
do_clip(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    Value *low = args[1], *high = args[2], *result;
    bool named = rule_arg(rule, args, "min") != NULL || rule_arg(rule, args, "max") != NULL;
    bool function = rule->kinds[0] == 'f';
    if (function && ((low == NULL) != (high == NULL) || (low != NULL && named)))
        return interp_break(in, BREAK_NUMPY, "clip with one bound, or both ways of giving one");
    if (value_absent(low)) low = rule_arg(rule, args, "min");
    if (value_absent(high)) high = rule_arg(rule, args, "max");
    NodeId node;
    TRY(array_operand(in, args[0], &node));
    DType dtype = (DType)node_type(in, node).dtype;
    if (value_absent(low) || beyond(low, dtype, false)) low = NULL;
    if (value_absent(high) || beyond(high, dtype, true)) high = NULL;
    Value *operands[3] = {args[0], low != NULL ? low : high, high};
    const char *name = low && high ? "_core.umath.clip"
                       : low       ? "maximum"
                       : high      ? "minimum"
                                   : "positive";
    int count = 1 + (low != NULL) + (high != NULL);
    PyObject *ufunc = numpy_object(name);
    if (ufunc == NULL) return interp_break(in, BREAK_NUMPY, "clip");
    TRY(emit_ufunc(in, ufunc, count, operands, -1, &result));
    Value *target = rule_arg(rule, args, "out");
    if (!value_absent(target)) return write_result(in, target, result->node, out);
    *out = result;
    return ANSWER_YES;
}

/* a.sort(axis=-1): NumPy's own np.sort, written back */
Answer
do_sort(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    int axis = -1;
    NodeId node, nodes[2];
    TRY(array_operand(in, args[0], &node));
    int rank = node_type(in, node).rank;
    if (rank == 0) return interp_break(in, BREAK_NUMPY, "%s of a scalar", rule->name);
    if (args[1] != NULL)
        TRY(value_as_axis(in, args[1], rank, &axis));
    else
        axis = rank - 1;
    PyObject *number = keep(in, PyLong_FromLong(axis));
    if (number == NULL) return ANSWER_ERROR;
    nodes[0] = node;
    TRY_NODE(nodes[1], node_object(in, number));
    TRY(node_trial(in, numpy_object("sort"), 2, nodes, NULL, &node));
    TRY(node_write(in, args[0], node));
    *out = value_const(in, Py_None);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
