/* Arrays of a library whose memory is a device's: the operators, functions and methods that are
   followed. The library's functions are asked for by NumPy's names, through its row of
   arrays/library.c; the operations are the rows of graph/ops.def that have an expression for the
   device.

   Such a value is of a kind of its own (V_DEVICE), so that no rule of NumPy's applies to it: what
   is not here, or in device_views.c, is a break.  Results of rank 0 stay arrays on the device.
   Operands are arrays of one library and Python's numbers; dtypes are NumPy's, which CuPy's are for
   the dtypes of `on`.  CuPy makes each result in C order, whatever the layout of the operands. */
#include "numpy.h"

const ArrayLibrary *
device_library(const Interp *in, const Value *value)
{
    return array_library_on((Device)node_type(in, value->node).device);
}

Answer
device_break(Interp *in, const Value *value, const char *what)
{
    return interp_break(in, BREAK_DEVICE, "%s of %s", what, device_library(in, value)->array);
}

PyTypeObject *
type_of_device(Interp *in, Value *value)
{
    PyObject *type = keep(in, array_library_function(device_library(in, value), "ndarray"));
    return type != NULL && PyType_Check(type) ? (PyTypeObject *)type : NULL;
}

const char *
describe_device(Interp *in, Value *value)
{
    return device_library(in, value)->array;
}

bool
value_is_on_device(const Value *value)
{
    return value->kind == V_DEVICE;
}

/* ---- elementwise ---- */

Answer
device_operand(Interp *in, Value *value, NodeId *out)
{
    if (value->kind == V_DEVICE) return device_contents(in, value, out);
    if (!value_is_python_scalar(in, value))
        return interp_break(in, BREAK_DEVICE, "an operand that is no array of the device: %s",
                            value_describe(in, value));
    Answer answer = value_as_node(in, value, out);
    if (answer == ANSWER_YES && dtype_is_complex((DType)node_type(in, *out).dtype) &&
        graph_node(in->graph, *out)->op != OP_const)
        return interp_break(in, BREAK_DEVICE, "a complex number that is not known");
    return answer == ANSWER_NO
               ? interp_break(in, BREAK_DEVICE, "a number that is too large for an array")
               : answer;
}

/* Loop dtypes, by the library's own ufunc of that name. */
static Answer
resolve_by_library(Interp *in, const char *ufunc, int nargs, const NodeId *args, DType *ins,
                   DType *out)
{
    const ArrayLibrary *library = array_library_on(device_of(in->graph, nargs, args));
    PyObject *object = array_library_function(library, ufunc);
    Type copies[MAX_ARGS];
    const Type *types[MAX_ARGS];
    Answer answer = ANSWER_NO;
    for (int i = 0; i < nargs; i++) {
        copies[i] = node_type(in, args[i]);
        types[i] = &copies[i];
    }
    if (object != NULL && array_library_ufunc_check(object))
        answer = library->resolve(object, nargs, types, ins, out);
    Py_XDECREF(object);
    return answer == ANSWER_NO ? interp_break(in, BREAK_DEVICE, "%s for these dtypes", ufunc)
                               : answer;
}

static bool
any_bfloat(Interp *in, int nargs, const NodeId *args)
{
    for (int i = 0; i < nargs; i++)
        if (node_type(in, args[i]).dtype == DT_BF16) return true;
    return false;
}

/* Loop dtypes, by NumPy's ufunc of that name; NumPy's own know no bfloat16. */
static Answer
resolve_dtypes(Interp *in, const char *ufunc, int nargs, const NodeId *args, DType *ins, DType *out)
{
    Type copies[MAX_ARGS];
    const Type *types[MAX_ARGS];
    if (any_bfloat(in, nargs, args)) return resolve_by_library(in, ufunc, nargs, args, ins, out);
    PyObject *object = numpy_object(ufunc);
    if (object == NULL) return interp_break(in, BREAK_DEVICE, "%s", ufunc);
    for (int i = 0; i < nargs; i++) {
        copies[i] = node_type(in, args[i]);
        copies[i].device = DEVICE_HOST;
        types[i] = &copies[i];
    }
    Answer answer = ufunc_resolve(object, nargs, types, 1, ins, out);
    return answer == ANSWER_NO ? interp_break(in, BREAK_SHAPE, "%s for these dtypes", ufunc)
                               : answer;
}

static Answer
result_type(Interp *in, Type *out, DType dtype, int nargs, const NodeId *args)
{
    const Type *types[MAX_ARGS];
    SizeId shape[MAX_RANK];
    int rank;
    for (int i = 0; i < nargs; i++) types[i] = &graph_node(in->graph, args[i])->type;
    if (type_common_shape(in->graph, nargs, types, &rank, shape) != ANSWER_YES)
        return interp_break(in, BREAK_SHAPE, "operands whose shapes do not broadcast");
    Device device = device_of(in->graph, nargs, args);
    if (type_contiguous(in->graph, out, dtype, rank, shape) < 0) return ANSWER_ERROR;
    out->device = (uint8_t)device;
    if (type_elements(in->graph, out) == 0)
        return interp_break(in, BREAK_DEVICE, "an array without elements");
    return ANSWER_YES;
}

Answer
device_cast(Interp *in, NodeId node, DType dtype, Device device, NodeId *out)
{
    Type type = node_type(in, node);
    if (dtype != DT_BF16 || type.device != DEVICE_HOST ||
        graph_node(in->graph, node)->op == OP_const)
        return node_cast(in, node, dtype, out);
    TRY(node_cast(in, node, DT_F64, &node));
    if (type_contiguous(in->graph, &type, dtype, 0, NULL) < 0) return ANSWER_ERROR;
    type.device = (uint8_t)device;
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_cast, 1, &node, &type, NULL));
    return ANSWER_YES;
}

/* The op on operands that are cast to the dtypes `ins`. */
static Answer
device_node(Interp *in, Op op, int nargs, const NodeId *given, const DType *ins, DType dtype,
            NodeId *out)
{
    NodeId args[MAX_ARGS], cast[MAX_ARGS];
    Type type;
    memcpy(args, given, sizeof(NodeId) * (size_t)nargs);
    TRY(lengths_agree(in, nargs, args));
    Device device = device_of(in->graph, nargs, args);
    DType loop = ins[nargs - 1];
    for (int i = op == OP_where; i < nargs; i++)
        if (ins[i] != loop || !op_is_on(op, ins[i], device) ||
            !op_is_on(OP_cast, (DType)node_type(in, args[i]).dtype, device))
            return interp_break(in, BREAK_DEVICE, "%s of %s on %s", op_info(op)->name,
                                dtype_long_name((DType)node_type(in, args[i]).dtype),
                                device_name(device));
    if (!op_is_on(OP_cast, dtype, device))
        return interp_break(in, BREAK_DEVICE, "a result of %s on %s", dtype_long_name(dtype),
                            device_name(device));
    for (int i = 0; i < nargs; i++) TRY(device_cast(in, args[i], ins[i], device, &cast[i]));
    TRY(result_type(in, &type, dtype, nargs, cast));
    TRY_NODE(*out, graph_add(in->graph, in->region, op, nargs, cast, &type, NULL));
    return ANSWER_YES;
}

Answer
device_named(Interp *in, const char *ufunc, int nargs, const NodeId *args, NodeId *out)
{
    DType ins[MAX_ARGS], dtype;
    TRY(resolve_dtypes(in, ufunc, nargs, args, ins, &dtype));
    int op = op_from_ufunc(ufunc, device_of(in->graph, nargs, args));
    if (op < 0) return interp_break(in, BREAK_DEVICE, "%s", ufunc);
    if (ins[0] == DT_BOOL && op == OP_add) op = OP_logical_or;
    if (ins[0] == DT_BOOL && op == OP_multiply) op = OP_logical_and;
    if (op == OP_power && !dtype_is_float(dtype))
        return interp_break(in, BREAK_DEVICE, "a power of integers");
    return device_node(in, (Op)op, nargs, args, ins, dtype, out);
}

Answer
device_ufunc(Interp *in, const char *ufunc, int nargs, Value *const *args, Value **out)
{
    NodeId nodes[MAX_ARGS], node;
    for (int i = 0; i < nargs; i++) TRY(device_operand(in, args[i], &nodes[i]));
    TRY(device_named(in, ufunc, nargs, nodes, &node));
    return push_node(in, node, out);
}

/* ---- operators ---- */

/* array ** 2 and array ** 0.5 are CuPy's square and sqrt; *ufunc stays NULL for other exponents. */
static Answer
power_shortcut(Interp *in, Value *exponent, const char **ufunc)
{
    PyObject *known;
    if (!value_is_python_scalar(in, exponent)) return ANSWER_YES;
    Answer answer = value_known(in, exponent, &known);
    if (answer != ANSWER_YES) return answer == ANSWER_NO ? ANSWER_YES : answer;
    double number =
        PyLong_CheckExact(known) || PyFloat_CheckExact(known) ? PyFloat_AsDouble(known) : 0;
    PyErr_Clear();
    if (PyLong_CheckExact(known) && number == 2) *ufunc = "square";
    if (PyFloat_CheckExact(known) && number == 2) *ufunc = "square";
    if (PyFloat_CheckExact(known) && number == 0.5) *ufunc = "sqrt";
    return ANSWER_YES;
}

/* array op= value.  Of `**=` it is not known which of CuPy's kernels it takes. */
static Answer
inplace(Interp *in, int operator_, Value *array, Value *value, Value **out)
{
    NodeId nodes[2], result;
    if (operator_ >= IN_PLACE || operator_ == OPERATOR_MATMUL || operator_ == OPERATOR_POW)
        return device_break(in, array, "this operator in place");
    TRY(device_operand(in, array, &nodes[0]));
    TRY(device_operand(in, value, &nodes[1]));
    TRY(device_named(in, array_operators[operator_].ufunc, 2, nodes, &result));
    return device_write_result(in, array, result, out);
}

Answer
device_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *both[2] = {left, right};
    const char *shortcut = NULL;
    if (operator_ >= IN_PLACE && left->kind == V_DEVICE)
        return inplace(in, operator_ - IN_PLACE, left, right, out);
    operator_ %= IN_PLACE;
    if (operator_ == OPERATOR_MATMUL)
        return device_break(in, left->kind == V_DEVICE ? left : right, "a matrix product");
    if (operator_ == OPERATOR_POW && left->kind == V_DEVICE)
        TRY(power_shortcut(in, right, &shortcut));
    if (shortcut != NULL) {
        DType dtype = (DType)node_type(in, left->node).dtype;
        if (dtype_is_float(dtype)) return device_ufunc(in, shortcut, 1, both, out);
    }
    return device_ufunc(in, array_operators[operator_].ufunc, 2, both, out);
}

Answer
device_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    static const char *const names[] = {"less",      "less_equal", "equal",
                                        "not_equal", "greater",    "greater_equal"};
    Value *both[2] = {left, right};
    return device_ufunc(in, names[operator_], 2, both, out);
}

Answer
device_unary(Interp *in, int operator_, Value *operand, Value **out)
{
    const char *name = operator_ == I_UNARY_NEGATIVE   ? "negative"
                       : operator_ == I_UNARY_POSITIVE ? "positive"
                                                       : "invert";
    return device_ufunc(in, name, 1, &operand, out);
}

/* ---- functions and methods ---- */

static Answer
device_astype(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    DType dtype = DT_F64;
    NodeId node;
    (void)rule;
    if (args[0]->kind != V_DEVICE) return interp_break(in, BREAK_DEVICE, "astype");
    TRY(value_as_device_dtype(in, args[1], &dtype));
    TRY(device_operand(in, args[0], &node));
    Type from = node_type(in, node), type;
    Device device = (Device)from.device;
    if ((DType)from.dtype == dtype || type_elements(in->graph, &from) == 0 ||
        !op_is_on(OP_cast, dtype, device) || !op_is_on(OP_cast, (DType)from.dtype, device) ||
        (dtype_is_complex((DType)from.dtype) && !dtype_is_complex(dtype))) /* CuPy warns */
        return device_break(in, args[0], "astype to this dtype");
    /* the array's own layout: what was written into it may have another */
    Type layout = node_type(in, args[0]->node);
    if (type_like(in->graph, &type, dtype, &layout) < 0) return ANSWER_ERROR;
    TRY_NODE(node, graph_add(in->graph, in->region, OP_cast, 1, &node, &type, NULL));
    return push_node(in, node, out);
}

static Answer
device_where(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId nodes[3], node;
    DType ins[3], dtype;
    (void)rule;
    for (int i = 0; i < 3; i++) TRY(device_operand(in, args[i], &nodes[i]));
    if (any_bfloat(in, 2, &nodes[1])) /* cupy.where is a function; this is its ufunc */
        TRY(resolve_by_library(in, "_sorting.search._where_ufunc", 3, nodes, ins, &dtype));
    else
        TRY(resolve_dtypes(in, "maximum", 2, &nodes[1], &ins[1], &dtype));
    ins[0] = DT_BOOL;
    if (!op_is_on(OP_cast, (DType)node_type(in, nodes[0]).dtype, device_of(in->graph, 3, nodes)))
        return interp_break(in, BREAK_DEVICE, "a condition of this dtype");
    TRY(device_node(in, OP_where, 3, nodes, ins, dtype, &node));
    return push_node(in, node, out);
}

Answer
device_chosen(Interp *in, NodeId mask, NodeId number, NodeId array, NodeId *out)
{
    DType dtype = (DType)node_type(in, array).dtype;
    const NodeId nodes[3] = {mask, number, array};
    const DType ins[3] = {DT_BOOL, dtype, dtype};
    return device_node(in, OP_where, 3, nodes, ins, dtype, out);
}

/* Of real numbers the array itself (core.pyx). */
static Answer
device_conjugate(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    (void)rule;
    *out = args[0];
    if (args[0]->kind != V_DEVICE) return interp_break(in, BREAK_DEVICE, "conj");
    bool complex_ = dtype_is_complex((DType)node_type(in, args[0]->node).dtype);
    return complex_ ? device_ufunc(in, "conjugate", 1, args, out) : ANSWER_YES;
}

static Answer
device_clip(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId nodes[3], node;
    DType ins[3], dtype;
    (void)rule;
    if (value_absent(args[1]) || value_absent(args[2]))
        return interp_break(in, BREAK_DEVICE, "clip with one bound");
    for (int i = 0; i < 3; i++) TRY(device_operand(in, args[i], &nodes[i]));
    if (any_bfloat(in, 3, nodes))
        TRY(resolve_by_library(in, "_core._routines_math.clip", 3, nodes, ins, &dtype));
    else
        TRY(resolve_dtypes(in, "_core.umath.clip", 3, nodes, ins, &dtype));
    TRY(device_node(in, OP_clip, 3, nodes, ins, dtype, &node));
    return push_node(in, node, out);
}

/* node[1:] or node[:-1] along the axis. */
static Answer
all_but_one(Interp *in, NodeId node, int axis, bool first, NodeId *out)
{
    Value *items[MAX_RANK], *bound = value_const_new(in, PyLong_FromLong(first ? -1 : 1));
    Value *none = value_const(in, Py_None), *ends[3] = {none, none, none};
    bool element;
    if (bound == NULL || none == NULL) return ANSWER_ERROR;
    for (int i = 0; i < axis; i++)
        if ((items[i] = value_sequence(in, V_SLICE, 3, ends)) == NULL) return ANSWER_ERROR;
    ends[first] = bound;
    if ((items[axis] = value_sequence(in, V_SLICE, 3, ends)) == NULL) return ANSWER_ERROR;
    Value *key = value_sequence(in, V_TUPLE, axis + 1, items);
    if (key == NULL) return ANSWER_ERROR;
    Answer answer = node_index(in, node, key, &element, out);
    return answer == ANSWER_NO ? interp_break(in, BREAK_DEVICE, "diff called this way") : answer;
}

static Answer
device_diff(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    Value *order = rule_arg(rule, args, "n"), *along = rule_arg(rule, args, "axis");
    NodeId node, pair[2];
    int64_t n = 1;
    if (args[0]->kind != V_DEVICE || (order != NULL && value_as_int(in, order, &n) != ANSWER_YES))
        return interp_break(in, BREAK_DEVICE, "diff called this way");
    TRY(device_operand(in, args[0], &node)); /* what was written, not the memory of before */
    Type type = node_type(in, node);
    int axis = type.rank - 1;
    if (type.rank == 0 || n < 1 || n > MAX_RANK)
        return device_break(in, args[0], "no difference, or one of such an order,");
    if (along != NULL) TRY(value_as_axis(in, along, type.rank, &axis));
    for (; n > 0; n--) {
        TRY(all_but_one(in, node, axis, false, &pair[0]));
        TRY(all_but_one(in, node, axis, true, &pair[1]));
        type = node_type(in, pair[0]);
        if (type_elements(in->graph, &type) == 0)
            return device_break(in, args[0], "a difference without elements");
        TRY(device_named(in, type.dtype == DT_BOOL ? "not_equal" : "subtract", 2, pair, &node));
    }
    return push_node(in, node, out);
}

#define REDUCE(name, kinds, data)                                                                  \
    {name, kinds, DONE_BY_RULE, device_reduce, 1, "a axis dtype! out! keepdims", data, FN_SYMBOLS}
static const Rule rules[] = {
    REDUCE("sum", "fm", "sum"),
    REDUCE("prod", "fm", "prod"),
    REDUCE("mean", "fm", "mean"),
    {"var", "fm", DONE_BY_RULE, device_var, 1, "a axis dtype! out! ddof keepdims", "v", FN_SYMBOLS},
    {"std", "fm", DONE_BY_RULE, device_var, 1, "a axis dtype! out! ddof keepdims", "s", FN_SYMBOLS},
    {"ptp", "fm", DONE_BY_RULE, device_ptp, 1, "a axis out! keepdims", "", FN_SYMBOLS},
    {"max", "fm", DONE_BY_RULE, device_reduce, 1, "a axis out! keepdims", "max", FN_SYMBOLS},
    {"min", "fm", DONE_BY_RULE, device_reduce, 1, "a axis out! keepdims", "min", FN_SYMBOLS},
    {"amax", "f", DONE_BY_RULE, device_reduce, 1, "a axis out! keepdims", "max", FN_SYMBOLS},
    {"amin", "f", DONE_BY_RULE, device_reduce, 1, "a axis out! keepdims", "min", FN_SYMBOLS},
    {"all", "fm", DONE_BY_RULE, device_reduce, 1, "a axis out! keepdims", "all", FN_SYMBOLS},
    {"any", "fm", DONE_BY_RULE, device_reduce, 1, "a axis out! keepdims", "any", FN_SYMBOLS},
    {"argmax", "f", DONE_BY_RULE, device_arg_reduce, 1, "a axis dtype! out! keepdims", "argmax",
     FN_SYMBOLS},
    {"argmin", "f", DONE_BY_RULE, device_arg_reduce, 1, "a axis dtype! out! keepdims", "argmin",
     FN_SYMBOLS},
    {"argmax", "m", DONE_BY_RULE, device_arg_reduce, 1, "a axis out! dtype! keepdims", "argmax",
     FN_SYMBOLS},
    {"argmin", "m", DONE_BY_RULE, device_arg_reduce, 1, "a axis out! dtype! keepdims", "argmin",
     FN_SYMBOLS},
    {"astype", "m", DONE_BY_RULE, device_astype, 2, "self dtype order! casting! subok! copy!", "",
     FN_SYMBOLS},
    {"where", "f", DONE_BY_RULE, device_where, 3, "condition x y", "", FN_SYMBOLS},
    {"clip", "f", DONE_BY_RULE, device_clip, 3, "a a_min a_max out!", "", FN_SYMBOLS},
    {"clip", "m", DONE_BY_RULE, device_clip, 3, "self min max out!", "", FN_SYMBOLS},
    {"diff", "f", DONE_BY_RULE, device_diff, 1, "a n axis prepend! append!", "", FN_SYMBOLS},
    {"fill", "m", DONE_BY_RULE, device_fill, 2, "self value", "", FN_SYMBOLS},
    {"conj", "m", DONE_BY_RULE, device_conjugate, 1, "self", "", FN_SYMBOLS},
    {"conjugate", "m", DONE_BY_RULE, device_conjugate, 1, "self", "", FN_SYMBOLS},
    {"transpose", "m", DONE_BY_RULE, do_transpose, 1, "self *axes", "", FN_SYMBOLS},
    {"transpose", "f", DONE_BY_RULE, do_transpose, 1, "a axes", "", FN_SYMBOLS},
    {"swapaxes", "fm", DONE_BY_RULE, do_swapaxes, 3, "a axis1 axis2", "", FN_SYMBOLS},
    {"moveaxis", "f", DONE_BY_RULE, do_moveaxis, 3, "a source destination", "", FN_SYMBOLS},
    {"reshape", "m", DONE_BY_RULE, do_reshape, 1, "self *shape order | copy!", "", FN_SYMBOLS},
    {"reshape", "f", DONE_BY_RULE, do_reshape, 2, "a newshape order | copy!", "", FN_SYMBOLS},
    {"ravel", "fm", DONE_BY_RULE, do_ravel, 1, "a order", "", FN_SYMBOLS},
    {"squeeze", "fm", DONE_BY_RULE, do_squeeze, 1, "a axis", "", FN_SYMBOLS},
    {"expand_dims", "f", DONE_BY_RULE, do_expand_dims, 2, "a axis", "", FN_SYMBOLS},
    {"broadcast_to", "f", DONE_BY_RULE, do_broadcast_to, 2, "array shape", "", FN_SYMBOLS},
    {"flip", "f", DONE_BY_RULE, do_flip, 1, "a axis", "", FN_SYMBOLS},
    {"flipud", "f", DONE_BY_RULE, do_flip, 1, "a", "0", FN_SYMBOLS},
    {"fliplr", "f", DONE_BY_RULE, do_flip, 1, "a", "1", FN_SYMBOLS},
};
#undef REDUCE

/* Cython's functions take tuples for axes, and lists only for shapes and orders of axes. */
Answer
device_rule(Interp *in, const Rule *rule, int nargs, Value *const *args, PyObject *kwnames,
            Value **out)
{
    int n = nargs + (kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames));
    bool lists = rule->handler == do_reshape || rule->handler == do_transpose ||
                 rule->handler == do_broadcast_to;
    for (int i = 0; i < n && !lists; i++)
        if (args[i]->kind == V_LIST)
            return interp_break(in, BREAK_DEVICE, "%s of a list", rule->name);
    return rule_call(in, rule, NULL, nargs, args, kwnames, out);
}

/* A call of a function of the library that has a row above. */
static Answer
follow_device(const Call *call, const void *row)
{
    return device_rule_or_call(call->in, row, call->object, call->nargs, call->args, call->kwnames,
                               call->out);
}

/* A call of the library's ufunc for an op. */
static Answer
ufunc_rule(const Call *call, const OpInfo *op)
{
    Interp *in = call->in;
    NodeId nodes[MAX_ARGS], result;
    bool on_device = false;
    int nkw = call->kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(call->kwnames);
    bool named = nkw == 1 &&
                 PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call->kwnames, 0), "out") == 0;
    int given = call->nargs + nkw;
    Value *target = given == op->arity + 1 ? call->args[op->arity] : NULL;
    for (int i = 0; i < given; i++) on_device = on_device || call->args[i]->kind == V_DEVICE;
    bool plain = (nkw == 0 || (named && call->nargs == op->arity)) && on_device &&
                 (given == op->arity || (target != NULL && target->kind == V_DEVICE));
    if (!plain) return interp_break(in, BREAK_DEVICE, "%s called this way", op->ufunc);
    for (int i = 0; i < op->arity; i++) TRY(device_operand(in, call->args[i], &nodes[i]));
    TRY(device_named(in, op->ufunc, op->arity, nodes, &result));
    if (target != NULL) return device_write_result(in, target, result, call->out);
    return push_node(in, result, call->out);
}

static Answer
follow_device_ufunc(const Call *call, const void *row)
{
    const OpInfo *op = row;
    return device_or_call(call->in, ufunc_rule(call, op), op->ufunc, op->arity, call->object,
                          call->nargs, call->args, call->kwnames, call->out);
}

/* ---- functions of cupyx.scipy.special ---- */

static const struct {
    const char *name;
    Op op;
} special[] = {{"erf", OP_erf}, {"erfc", OP_erfc}};

static Answer
special_rule(const Call *call, Op op)
{
    Interp *in = call->in;
    NodeId node;
    DType from, to;
    if (call->nargs != 1 || call->kwnames != NULL || call->args[0]->kind != V_DEVICE)
        return interp_break(in, BREAK_DEVICE, "%s called this way", op_info(op)->name);
    TRY(device_operand(in, call->args[0], &node));
    Type type = node_type(in, node);
    const Type *types[1] = {&type};
    const ArrayLibrary *library = array_library_on((Device)type.device);
    if (dtype_is_half((DType)type.dtype)) /* computed with as float32, and of float64 */
        return interp_break(in, BREAK_DEVICE, "%s of halves", op_info(op)->name);
    Answer answer = library->resolve(call->object, 1, types, &from, &to);
    if (answer == ANSWER_NO)
        return interp_break(in, BREAK_DEVICE, "%s for this dtype", op_info(op)->name);
    TRY(answer);
    TRY(device_node(in, op, 1, &node, &from, to, &node));
    return push_node(in, node, call->out);
}

static Answer
follow_special(const Call *call, const void *row)
{
    const OpInfo *op = row;
    return device_or_call(call->in, special_rule(call, (Op)op_from_name(op->name)), op->name, 1,
                          call->object, call->nargs, call->args, call->kwnames, call->out);
}

static int
add_special(void)
{
    PyObject *module = module_loaded("cupyx.scipy.special");
    int failed = 0;
    for (int i = 0; i < COUNT_OF(special) && module != NULL && !failed; i++) {
        PyObject *found = PyObject_GetAttrString(module, special[i].name);
        if (found != NULL && array_library_ufunc_check(found))
            failed = callable_add(found, RANK_NUMPY, follow_special, op_info(special[i].op));
        if (found == NULL) PyErr_Clear();
        Py_XDECREF(found);
    }
    Py_XDECREF(module);
    return failed;
}

static int
add_callable(const ArrayLibrary *library, const char *name, Follow follow, const void *row)
{
    PyObject *callable = array_library_function(library, name);
    if (callable == NULL) return 0;
    int failed = callable_add(callable, RANK_NUMPY, follow, row);
    Py_DECREF(callable);
    return failed;
}

int
device_callables(void)
{
    for (int l = 0; l < LIBRARY_COUNT; l++) {
        const ArrayLibrary *library = &array_libraries[l];
        if (library->device == DEVICE_HOST) continue;
        for (int op = 0; op < OP_COUNT; op++) {
            const OpInfo *info = op_info((Op)op);
            if (info->kind != KIND_POINTWISE || info->ufunc == NULL || info->on[0] == '\0')
                continue;
            if (strcmp(info->name, "clip") == 0) continue; /* a function, above */
            if (add_callable(library, info->ufunc, follow_device_ufunc, info) < 0) return -1;
        }
        for (int i = 0; i < COUNT_OF(rules); i++)
            if (rules[i].kinds[0] == 'f' &&
                add_callable(library, rules[i].name, follow_device, &rules[i]) < 0)
                return -1;
    }
    return add_special() < 0 ? -1 : device_call_callables();
}

const Rule *
device_method_rule(const char *name)
{
    for (int i = 0; i < COUNT_OF(rules); i++)
        if (strchr(rules[i].kinds, 'm') != NULL && strcmp(rules[i].name, name) == 0)
            return &rules[i];
    return NULL;
}

Answer
device_method(Interp *in, Value *array, const char *name, int nargs, Value *const *args,
              PyObject *kwnames, Value **out)
{
    Value *all[MAX_ARGS + 1];
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames);
    const Rule *rule = device_method_rule(name);
    bool called = rule == NULL && device_calls_method(name);
    if ((rule == NULL && !called) || nargs + nkw > MAX_ARGS) return device_break(in, array, name);
    all[0] = array;
    for (int i = 0; i < nargs + nkw; i++) all[i + 1] = args[i];
    if (called) return device_call_method(in, name, nargs + 1, all, kwnames, out);
    PyTypeObject *type = type_of_device(in, array);
    PyObject *method =
        type == NULL ? NULL : keep(in, PyObject_GetAttrString((PyObject *)type, name));
    if (method == NULL) return ANSWER_ERROR;
    return device_rule_or_call(in, rule, method, nargs + 1, all, kwnames, out);
}
