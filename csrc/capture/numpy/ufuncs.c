/* Ufuncs as nodes.
   NumPy resolves the dtypes (ufunc_resolve).  Cast nodes convert operands to the loop's dtypes; a
   ufunc becomes the op that has its bits, or else a block call.  Results of rank 0 are array
   scalars, as in NumPy. */
#include "numpy.h"

/* Whether the op stands for the ufunc's loop of this dtype, or a `ufunc` node has to.  How either
   is done is graph/way.c's business. */
static bool
op_fuses(Op op, DType dtype)
{
    if (dtype_is_complex(dtype))
        return op == OP_add || op == OP_subtract || op == OP_negative || op == OP_positive ||
               op == OP_conjugate || op == OP_equal || op == OP_not_equal;
    if (dtype == DT_BOOL)
        return op_info(op)->flags & OPF_COMPARES || op == OP_bitwise_and || op == OP_bitwise_or ||
               op == OP_bitwise_xor;
    if (dtype == DT_F16)
        return op != OP_clip && op != OP_floor_divide && op != OP_remainder && op != OP_degrees &&
               op != OP_radians && op != OP_deg2rad && op != OP_rad2deg && op != OP_heaviside;
    if (dtype_is_float(dtype)) return true;
    switch (op) {
    case OP_reciprocal:
    case OP_floor:
    case OP_ceil:
    case OP_trunc:
    case OP_rint:
    case OP_isnan:
    case OP_isinf:
    case OP_isfinite:
    case OP_positive:
    case OP_conjugate: return false;
    default: return true;
    }
}

int
ufunc_op(PyObject *ufunc, DType dtype)
{
    const char *name = ufunc_name(ufunc);
    if (numpy_object(name) != ufunc && ufunc != numpy_object("_core.umath.clip")) return -1;
    if (dtype == DT_BOOL) {
        if (strcmp(name, "add") == 0 || strcmp(name, "maximum") == 0) return OP_logical_or;
        if (strcmp(name, "multiply") == 0 || strcmp(name, "minimum") == 0) return OP_logical_and;
        if (strcmp(name, "invert") == 0) return OP_logical_not;
    }
    int op = op_from_ufunc(name, DEVICE_HOST);
    if (op < 0) return -1;
    OpKind kind = op_info((Op)op)->kind;
    if (kind == KIND_REDUCTION || kind == KIND_SCAN || kind == KIND_MATMUL) return -1;
    return op_fuses((Op)op, dtype) ? op : -1;
}

/* The dtypes of the loop when dtype= was given: only loops of one dtype throughout. */
static Answer
resolve_forced(Interp *in, PyObject *ufunc, int nargs, const NodeId *args, DType dtype, DType *ins,
               DType *out)
{
    Type forced = type_scalar(dtype, FORM_ARRAY);
    const Type *types[MAX_ARGS];
    for (int i = 0; i < nargs; i++) {
        Type type = node_type(in, args[i]);
        bool weak = type.form == FORM_PYTHON && dtype_is_integer((DType)type.dtype) &&
                    dtype_is_integer(dtype);
        if (!weak && !dtype_can_cast_same_kind(type.dtype, dtype))
            return interp_break(in, BREAK_SHAPE, "%s cannot be cast to dtype %s",
                                dtype_long_name(type.dtype), dtype_long_name(dtype));
        types[i] = &forced;
    }
    Answer answer = ufunc_resolve(ufunc, nargs, types, 1, ins, out);
    if (answer == ANSWER_ERROR) return answer;
    bool uniform = answer == ANSWER_YES && *out == dtype;
    for (int i = 0; i < nargs && uniform; i++) uniform = ins[i] == dtype;
    if (uniform) return ANSWER_YES;
    return interp_break(in, BREAK_NUMPY, "dtype=%s for this ufunc", dtype_long_name(dtype));
}

Answer
ufunc_dtypes(Interp *in, PyObject *ufunc, int nargs, const NodeId *args, int dtype, DType *ins,
             DType *out)
{
    if (dtype >= 0) return resolve_forced(in, ufunc, nargs, args, (DType)dtype, ins, out);
    Type copies[MAX_ARGS];
    const Type *types[MAX_ARGS];
    bool weak = true;
    for (int i = 0; i < nargs; i++) {
        copies[i] = node_type(in, args[i]);
        types[i] = &copies[i];
        weak = weak && copies[i].form == FORM_PYTHON;
    }
    for (int i = 0; i < nargs && weak; i++) /* Python numbers alone are taken as int64, float64 … */
        copies[i].form = FORM_SCALAR;
    Answer answer = ufunc_resolve(ufunc, nargs, types, 1, ins, out);
    if (answer != ANSWER_NO) return answer;
    return interp_break(in, BREAK_SHAPE, "ufunc '%s' for these dtypes", ufunc_name(ufunc));
}

static Answer
elementwise_type(Interp *in, DType dtype, int nargs, const NodeId *args, const DType *ins,
                 Type *out)
{
    Answer answer = type_broadcast(in->graph, out, dtype, nargs, args, ins);
    if (answer == ANSWER_NO)
        return interp_break(in, BREAK_SHAPE, "operands whose shapes do not broadcast");
    Type types[MAX_ARGS];
    for (int i = 0; i < nargs; i++) types[i] = node_type(in, args[i]);
    if (answer == ANSWER_YES) TRY(order_is_seen(in, out, nargs, types));
    if (answer == ANSWER_YES) TRY(layout_is_fixed(in, out));
    if (answer == ANSWER_YES) out->form = out->rank == 0 ? FORM_SCALAR : FORM_ARRAY;
    return answer;
}

/* The exponent where it is one known number, else NULL. */
static Answer
power_exponent(Interp *in, DType dtype, NodeId exponent, PyObject **out)
{
    *out = NULL;
    if (node_type(in, exponent).rank != 0) return ANSWER_YES;
    Answer answer = node_known(in, exponent, out);
    if (answer != ANSWER_YES) return answer == ANSWER_NO ? ANSWER_YES : answer;
    if (!dtype_is_integer(dtype) || PyComplex_Check(*out)) return ANSWER_YES;
    double number = PyFloat_AsDouble(*out);
    PyErr_Clear();
    return number < 0 ? interp_break(in, BREAK_SHAPE, "an integer to a negative integer power")
                      : ANSWER_YES;
}

/* 1 when the ufunc is an elementwise one of `nargs` inputs and one output. */
static int
ufunc_is_plain(PyObject *ufunc, int nargs)
{
    PyObject *nin = PyObject_GetAttrString(ufunc, "nin");
    PyObject *nout = PyObject_GetAttrString(ufunc, "nout");
    PyObject *signature = PyObject_GetAttrString(ufunc, "signature");
    int plain = nin != NULL && nout != NULL && PyLong_AsLong(nin) == nargs &&
                PyLong_AsLong(nout) == 1 && signature == Py_None;
    Py_XDECREF(nin);
    Py_XDECREF(nout);
    Py_XDECREF(signature);
    PyErr_Clear();
    return plain;
}

Answer
ufunc_types(Interp *in, PyObject *ufunc, int nargs, NodeId *args, int dtype, DType *ins, Type *type)
{
    DType result;
    if (nargs > MAX_ARGS || !ufunc_is_plain(ufunc, nargs))
        return interp_break(in, BREAK_NUMPY, "ufunc '%s' called this way", ufunc_name(ufunc));
    if (in->memory.varies) TRY(lengths_agree(in, nargs, args));
    TRY(ufunc_dtypes(in, ufunc, nargs, args, dtype, ins, &result));
    return elementwise_type(in, result, nargs, args, ins, type);
}

/* May the operation be done whatever the lengths are?  Of one element, or backwards, NumPy's own
   loops may take other paths, with other bits. */
static bool
varies_well(Interp *in, int op, DType loop, int nargs, const NodeId *args, const Type *result)
{
    bool varies = type_is_measured(in, result), backwards = false;
    for (int i = 0; i < nargs; i++) {
        Type type = node_type(in, args[i]);
        varies = varies || type_is_measured(in, &type);
        backwards = backwards || type_has_negative_stride(in->graph, &type);
    }
    if (!varies || ufunc_has_expression(op, loop)) return true;
    bool real = loop == DT_F32 || loop == DT_F64;
    return real && !backwards && op != OP_fmax && op != OP_fmin;
}

Answer
node_typed_ufunc(Interp *in, PyObject *ufunc, PyObject *whole, int nargs, const NodeId *args,
                 int dtype, const DType *ins, Type type, NodeId *out)
{
    NodeId cast[MAX_ARGS];
    for (int i = 0; i < nargs; i++) TRY(node_cast(in, args[i], ins[i], &cast[i]));
    int op = ufunc_op(ufunc, ins[0]);
    Way way = WAY_NONE;
    if (ufunc == numpy_object("power")) {
        PyObject *exponent;
        TRY(power_exponent(in, ins[0], args[1], &exponent));
        way = power_way(ins[0], exponent, &op);
        if (way == WAY_EXPRESSION) nargs = 1;
    } else if (op == OP_clip) {
        way = clip_way(in->graph, ins[0], cast[1], cast[2], &op);
    }
    if (!varies_well(in, op, ins[0], nargs, args, &type))
        return interp_break(in, BREAK_NUMPY, "ufunc '%s' of arrays whose lengths change",
                            ufunc_name(ufunc));
    if (way == WAY_CALL) return node_extern(in, whole, nargs, dtype < 0 ? args : cast, &type, out);
    if (dtype < 0 && ufunc_minds_casts(in->graph, op, nargs, args, cast))
        return node_extern(in, whole, nargs, args, &type, out);
    Attrs attrs = {.object = ufunc};
    TRY_NODE(*out, graph_add(in->graph, in->region, op < 0 ? OP_ufunc : (Op)op, nargs, cast, &type,
                             op < 0 ? &attrs : NULL));
    return ANSWER_YES;
}

Answer
node_ufunc(Interp *in, PyObject *ufunc, int nargs, const NodeId *given, int dtype, NodeId *out)
{
    DType ins[MAX_ARGS];
    NodeId args[MAX_ARGS];
    Type type;
    for (int i = 0; i < nargs && i < MAX_ARGS; i++) args[i] = given[i];
    TRY(ufunc_types(in, ufunc, nargs, args, dtype, ins, &type));
    return node_typed_ufunc(in, ufunc, ufunc, nargs, args, dtype, ins, type, out);
}

Answer
node_named(Interp *in, const char *ufunc, int nargs, const NodeId *args, NodeId *out)
{
    PyObject *object = numpy_object(ufunc);
    if (object == NULL) return interp_break(in, BREAK_NUMPY, "numpy.%s is missing", ufunc);
    return node_ufunc(in, object, nargs, args, -1, out);
}

/* The op of ints that wraps round where `op` does not, on numbers; or `op` itself. */
static Op
wrapping_op(int op)
{
    switch (op) {
    case OP_add: return OP_wrap_add;
    case OP_subtract: return OP_wrap_subtract;
    case OP_multiply: return OP_wrap_multiply;
    case OP_negative: return OP_wrap_negative;
    default: return (Op)op;
    }
}

Answer
node_of_rows(Interp *in, const char *ufunc, int nargs, const NodeId *given, NodeId *out)
{
    DType ins[MAX_ARGS];
    Type type;
    NodeId cast[MAX_ARGS], args[MAX_ARGS];
    for (int i = 0; i < nargs && i < MAX_ARGS; i++) args[i] = given[i];
    PyObject *object = numpy_object(ufunc);
    if (object == NULL) return interp_break(in, BREAK_NUMPY, "numpy.%s is missing", ufunc);
    TRY(ufunc_types(in, object, nargs, args, -1, ins, &type));
    int op = ufunc_op(object, ins[0]);
    if (op < 0 || wrapping_op(op) == (Op)op || !dtype_is_integer((DType)type.dtype))
        return node_typed_ufunc(in, object, object, nargs, args, -1, ins, type, out);
    for (int i = 0; i < nargs; i++) TRY(node_cast(in, args[i], ins[i], &cast[i]));
    TRY_NODE(*out, graph_add(in->graph, in->region, wrapping_op(op), nargs, cast, &type, NULL));
    return ANSWER_YES;
}

bool
nodes_are_scalars(const Interp *in, int n, const NodeId *args)
{
    for (int i = 0; i < n; i++)
        if (node_type(in, args[i]).form == FORM_ARRAY) return false;
    return true;
}

/* Products of complex scalars, which the ufunc's loop contracts (NumPy loops_arithm_fp.dispatch),
   and the operator, which a node of the ufunc on scalars stands for, does not. */
static bool
is_contracted(Interp *in, PyObject *ufunc, int nargs, const NodeId *args)
{
    bool complex = false;
    for (int i = 0; i < nargs; i++)
        complex = complex || dtype_is_complex((DType)node_type(in, args[i]).dtype);
    return ufunc == numpy_object("multiply") && complex && nodes_are_scalars(in, nargs, args);
}

static Answer
whole_ufunc(Interp *in, PyObject *ufunc, int nargs, NodeId *args, int dtype, NodeId *out)
{
    DType ins[MAX_ARGS];
    Type type;
    TRY(ufunc_types(in, ufunc, nargs, args, dtype, ins, &type));
    return node_extern(in, ufunc, nargs, args, &type, out);
}

static Answer
ufunc_node(Interp *in, PyObject *ufunc, int nargs, Value *const *args, int dtype, Value **out)
{
    NodeId nodes[MAX_ARGS], result;
    if (nargs > MAX_ARGS) return interp_break(in, BREAK_NUMPY, "a ufunc of many arguments");
    if (any_opaque(in, nargs, args)) {
        Answer answer = masked_ufunc(in, ufunc, nargs, args, dtype, out);
        if (answer != ANSWER_NO) return answer;
    }
    for (int i = 0; i < nargs; i++) TRY(operand(in, args[i], &nodes[i]));
    if (dtype < 0 && is_contracted(in, ufunc, nargs, nodes))
        TRY(whole_ufunc(in, ufunc, nargs, nodes, dtype, &result));
    else
        TRY(node_ufunc(in, ufunc, nargs, nodes, dtype, &result));
    return push_node(in, result, out);
}

Answer
emit_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, int dtype, Value **out)
{
    VARYING(in, answer, ufunc_node(in, ufunc, nargs, args, dtype, out));
    return answer;
}

/* ---- choice ---- */

/* np.result_type of operands, weak Python scalars included. */
Answer
result_dtype(Interp *in, int n, const NodeId *args, DType *out)
{
    /* A ufunc with a loop of one dtype for every dtype, since maximum resolves to the common
       dtype. */
    PyObject *ufunc = numpy_object("maximum");
    Type types[2] = {node_type(in, args[0]), node_type(in, args[0])};
    *out = (DType)types[0].dtype;
    for (int i = 1; i < n; i++) {
        types[1] = node_type(in, args[i]);
        const Type *both[2] = {&types[0], &types[1]};
        DType ins[2];
        Answer answer = ufunc_resolve(ufunc, 2, both, 1, ins, out);
        if (answer == ANSWER_NO)
            return break_hinted(in, BREAK_DTYPE, HINT_CONVERT, "dtypes without a common one");
        if (answer != ANSWER_YES) return answer;
        bool weak = types[0].form == FORM_PYTHON && types[1].form == FORM_PYTHON;
        types[0] = type_scalar(*out, weak ? FORM_PYTHON : FORM_ARRAY);
    }
    return ANSWER_YES;
}

Answer
node_where(Interp *in, NodeId condition, NodeId yes, NodeId no, NodeId *out)
{
    /* or the C compiler would drop the value not chosen, with the floating-point flags of its
       cast */
    if (graph_node(in->graph, condition)->op == OP_const)
        return interp_break(in, BREAK_NUMPY, "np.where of a constant condition");
    /* np.where(c, x, y) computes in result_type(x, y), which is what a ufunc of one dtype gives. */
    NodeId pair[2] = {yes, no};
    DType dtype;
    TRY(result_dtype(in, 2, pair, &dtype));
    NodeId args[3];
    TRY(node_cast(in, condition, DT_BOOL, &args[0]));
    TRY(node_cast(in, yes, dtype, &args[1]));
    TRY(node_cast(in, no, dtype, &args[2]));
    NodeId layout[3] = {condition, yes, no};
    if (in->memory.varies) TRY(lengths_agree(in, 3, layout));
    for (int i = 0; i < 3; i++) {
        Type agreed = node_type(in, layout[i]), cast = node_type(in, args[i]);
        if (type_same_shape(&agreed, &cast)) continue;
        memcpy(cast.shape, agreed.shape, sizeof(cast.shape));
        TRY(node_view(in, OP_as_strided, args[i], &cast, 0, NULL, &args[i]));
    }
    Type type;
    Answer answer = type_iterated(in->graph, &type, dtype, 3, layout);
    if (answer == ANSWER_NO)
        return interp_break(in, BREAK_SHAPE, "np.where of shapes that do not broadcast");
    if (answer == ANSWER_ERROR) return answer;
    Type types[3];
    for (int i = 0; i < 3; i++) types[i] = node_type(in, layout[i]);
    TRY(order_is_seen(in, &type, 3, types));
    type.form = FORM_ARRAY; /* an array even of rank 0, not a scalar */
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_where, 3, args, &type, NULL));
    return ANSWER_YES;
}
