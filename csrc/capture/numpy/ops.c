/* Elementwise operations: ufuncs, operators, comparisons, in-place operators.
   NumPy resolves the dtypes (ufunc_resolve).  Cast nodes convert operands to the loop's dtypes; a
   ufunc becomes the op that has its bits, or else a block call.  Results of rank 0 are array
   scalars, as in NumPy.  Operators on array scalars alone are NumPy's scalarmath: the same values,
   but integer overflow warns and powers are computed by libm. */
#include "numpy.h"

/* ---- operands ---- */

static Answer
break_operand(Interp *in, Value *value)
{
    BreakCode code = value_break(value, BREAK_OPERATOR);
    const char *what = value_describe(in, value);
    PyTypeObject *type = value_type(in, value);
    if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    PyObject *method = NULL;
    if (type != NULL && code == BREAK_OPERATOR)
        TRY(type_lookup_text(in, type, "__array__", &method));
    if (method != NULL)
        return break_hinted(in, code, HINT_AS_ARRAY, "%s, which NumPy makes an array of", what);
    if (value_is_wide(value)) return break_hinted(in, code, HINT_WIDE, "an operand: %s", what);
    return code == BREAK_OPERATOR
               ? interp_break(in, code, "an operand that is neither array nor number: %s", what)
               : interp_break(in, code, "an operand: %s", what);
}

bool
value_is_loose_number(Interp *in, const Value *value)
{
    PyObject *number = value_is_opaque_object(in, value) ? object_sample(in, value) : NULL;
    return number != NULL && (PyLong_Check(number) || PyFloat_Check(number) ||
                              PyComplex_Check(number) || array_scalar_check(number));
}

/* Is the object that the node gives one of two between which a branch decides (loose_choice)?
   `depth` bounds the walk. */
static bool
is_of_branch(Interp *in, NodeId id, int depth)
{
    const Node *node = graph_node(in->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_REGION) return true;
    if (kind == KIND_EXTERN && node->attrs.object == module_kept(in, "pycompile._C", "_pick"))
        return true;
    bool walks = (kind == KIND_EXTERN || kind == KIND_RESULT) && depth > 0;
    for (int i = 0; walks && i < node->nargs; i++)
        if (graph_node(in->graph, node->args[i])->type.form == FORM_OBJECT &&
            is_of_branch(in, node->args[i], depth - 1))
            return true;
    return false;
}

/* A number of a class that is known only when the plan runs. */
static Answer
break_loose(Interp *in, NodeId node)
{
    if (is_of_branch(in, node, 8))
        return break_hinted(
            in, BREAK_OPERATOR, HINT_EITHER,
            "a number that is Python's or NumPy's, according to the branches that were taken");
    return break_hinted(in, BREAK_OPERATOR, HINT_LOOSE,
                        "a number whose class is only known when the code runs");
}

Answer
operand(Interp *in, Value *value, NodeId *out)
{
    Answer answer = value_as_node(in, value, out);
    if (answer == ANSWER_NO) return break_operand(in, value);
    if (answer != ANSWER_YES) return answer;
    if (node_type(in, *out).dtype == DT_OBJECT) {
        const Opaque *opaque = opaque_of(in, *out);
        PyObject *sample = opaque_sample(in, value);
        if (value_is_loose_number(in, value)) return break_loose(in, *out);
        BreakCode told = dtype_break(sample, opaque ? opaque->why : BREAK_DATA_SIZE);
        BreakCode code = dtype_break(sample, BREAK_DTYPE);
        if (told == BREAK_DATA_SIZE) return break_of_size(in, code, *out, "an operand");
        bool part = told == BREAK_VARIES || told == BREAK_DATA_INDEX;
        answer = interp_break_told(in, code, told,
                                   part ? "an operand, a part of an array" : "an operand");
        if (told == BREAK_VARIES) in->told.hint = HINT_PLACE;
        return answer;
    }
    TRY_NODE(*out, array_current(in, *out));
    return ANSWER_YES;
}

/* An operand of an operator.  Beside numbers of uint64 a Python int is one of those, if it fits:
   it has no node of its own where it does not fit int64. */
static Answer
operand_beside(Interp *in, Value *value, const Value *other, NodeId *out)
{
    bool wide = value_is_wide(value) && other->kind == V_NODE && !value_is_opaque(in, other);
    if (wide && node_type(in, other->node).dtype == DT_U64) {
        (void)PyLong_AsUnsignedLongLong(value->object);
        if (!PyErr_Occurred()) return node_scalar(in, value->object, DT_U64, out);
        PyErr_Clear();
    }
    Answer read = place_read(in, value, out);
    return read != ANSWER_NO ? read : operand(in, value, out);
}

Answer
array_operand(Interp *in, Value *value, NodeId *out)
{
    TRY(operand(in, value, out));
    if (node_type(in, *out).form == FORM_PYTHON)
        return interp_break(in, BREAK_NUMPY, "a Python number where an array is expected");
    return ANSWER_YES;
}

/* NumPy raises MemoryError at once, so a break is needed: a node that nobody reads is never
   made. */
static bool
is_too_large(const Interp *in, NodeId node)
{
    const Node *n = graph_node(in->graph, node);
    if (n->type.form != FORM_ARRAY || op_info(n->op)->kind == KIND_VIEW || n->op == OP_input)
        return false;
    double bytes = (double)dtype_size((DType)n->type.dtype);
    for (int i = 0; i < n->type.rank; i++) bytes *= (double)node_extent(in, node, i);
    return bytes > 0x1p40;
}

Answer
push_node(Interp *in, NodeId node, Value **out)
{
    if (is_too_large(in, node)) return interp_break(in, BREAK_TOO_LARGE, "more than 1 TiB");
    *out = value_node(in, node);
    if (*out == NULL) return ANSWER_ERROR;
    if (node_type(in, node).device == DEVICE_HOST) return ANSWER_YES;
    (*out)->kind = V_DEVICE;
    return device_lengths_hold(in, node);
}

/* ---- arrays whose lengths change from turn to turn ---- */

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
lengths_fit(Interp *in, NodeId *node, Type *with)
{
    Graph *g = in->graph;
    Type type = node_type(in, *node);
    bool changed = false;
    for (int i = 1; i <= type.rank && i <= with->rank; i++) {
        SizeId *own = &type.shape[type.rank - i], to = with->shape[with->rank - i];
        if (*own == to || size_is_one(g, *own) || size_is_one(g, to)) continue;
        if (size_is_const(g, *own) && size_is_const(g, to)) continue;
        TRY(sizes_assert_same(in, *own, to));
        if (type_now(g, &type) < 0 || type_now(g, with) < 0) return ANSWER_ERROR;
        to = with->shape[with->rank - i];
        changed = changed || *own != to;
        *own = to;
    }
    return changed ? node_view(in, OP_as_strided, *node, &type, 0, NULL, node) : ANSWER_YES;
}

Answer
lengths_agree(Interp *in, int nargs, NodeId *args)
{
    for (int k = 1; k < nargs; k++)
        for (int m = 0; m < k; m++) {
            Type with = node_type(in, args[m]);
            TRY(lengths_fit(in, &args[k], &with));
        }
    return ANSWER_YES;
}

/* ---- ufuncs as nodes ---- */

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

/* The op that has the bits of NumPy's own ufunc, or -1. */
static int
op_of_ufunc(PyObject *ufunc, DType dtype)
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

static Answer
resolve(Interp *in, PyObject *ufunc, int nargs, const NodeId *args, int dtype, DType *ins,
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

/* Both operands' loop dtypes, and the type of the result as a new array. */
static Answer
ufunc_types(Interp *in, PyObject *ufunc, int nargs, NodeId *args, int dtype, DType *ins, Type *type)
{
    DType result;
    if (nargs > MAX_ARGS || !ufunc_is_plain(ufunc, nargs))
        return interp_break(in, BREAK_NUMPY, "ufunc '%s' called this way", ufunc_name(ufunc));
    if (in->memory.varies) TRY(lengths_agree(in, nargs, args));
    TRY(resolve(in, ufunc, nargs, args, dtype, ins, &result));
    return elementwise_type(in, result, nargs, args, ins, type);
}

/* The ufunc with these loop dtypes and this result; `whole` is called by the plan where neither a
   kernel nor a block call has its bits. */
static Answer
typed_ufunc(Interp *in, PyObject *ufunc, PyObject *whole, int nargs, const NodeId *args, int dtype,
            const DType *ins, Type type, NodeId *out)
{
    NodeId cast[MAX_ARGS];
    for (int i = 0; i < nargs; i++) TRY(node_cast(in, args[i], ins[i], &cast[i]));
    int op = op_of_ufunc(ufunc, ins[0]);
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
    return typed_ufunc(in, ufunc, ufunc, nargs, args, dtype, ins, type, out);
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
    int op = op_of_ufunc(object, ins[0]);
    if (op < 0 || wrapping_op(op) == (Op)op || !dtype_is_integer((DType)type.dtype))
        return typed_ufunc(in, object, object, nargs, args, -1, ins, type, out);
    for (int i = 0; i < nargs; i++) TRY(node_cast(in, args[i], ins[i], &cast[i]));
    TRY_NODE(*out, graph_add(in->graph, in->region, wrapping_op(op), nargs, cast, &type, NULL));
    return ANSWER_YES;
}

static bool
all_scalars(const Interp *in, int n, const NodeId *args)
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
    return ufunc == numpy_object("multiply") && complex && all_scalars(in, nargs, args);
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

/* ---- scalarmath: operators whose operands are all scalars, one of them NumPy's ---- */

/* operator.NAME called when the plan runs, where scalarmath has rules of its own. */
static Answer
scalar_extern(Interp *in, const char *name, int n, const NodeId *args, DType dtype, NodeId *out)
{
    PyObject *callable = module_object("operator", name);
    if (callable == NULL) return ANSWER_ERROR;
    Type type = type_scalar(dtype, FORM_SCALAR);
    Answer answer = node_extern(in, callable, n, args, &type, out);
    Py_DECREF(callable);
    return answer;
}

/* Python's own operators deopt on overflow of i64, where NumPy has to warn. */
static Answer
scalar_i64(Interp *in, Op op, int n, const NodeId *args, NodeId *out)
{
    NodeId cast[2];
    for (int i = 0; i < n; i++) TRY(node_cast(in, args[i], DT_I64, &cast[i]));
    Type type = type_scalar(DT_I64, FORM_PYTHON);
    TRY_NODE(*out, graph_add(in->graph, in->region, op, n, cast, &type, NULL));
    return node_form(in, *out, FORM_SCALAR, out);
}

/* The op that detects overflow of int64, or 0. */
static const int checked_ops[IN_PLACE] = {
    [OPERATOR_ADD] = OP_py_add, [OPERATOR_MUL] = OP_py_mul, [OPERATOR_SUB] = OP_py_sub};

/* In a kept loop: libm's pow, with a deopt where NumPy might warn. */
static Answer
scalar_pow(Interp *in, const NodeId *args, NodeId *out)
{
    NodeId cast[2];
    for (int i = 0; i < 2; i++) TRY(node_cast(in, args[i], DT_F64, &cast[i]));
    Type type = type_scalar(DT_F64, FORM_PYTHON);
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_py_pow, 2, cast, &type, NULL));
    return node_form(in, *out, FORM_SCALAR, out);
}

static Answer
scalar_binary(Interp *in, int operator_, PyObject *ufunc, const NodeId *args, NodeId *out)
{
    DType ins[2], result;
    TRY(resolve(in, ufunc, 2, args, -1, ins, &result));
    bool power = operator_ == OPERATOR_POW;
    if (in->loop != NULL && power && result == DT_F64) return scalar_pow(in, args, out);
    /* A kept loop checks NumPy's integers for overflow: codegen/region_number.c. */
    if (in->loop != NULL && !power && dtype_is_integer(result) && result != DT_I64)
        return node_ufunc(in, ufunc, 2, args, -1, out);
    if (in->loop != NULL && (operator_ == OPERATOR_FLOORDIV || operator_ == OPERATOR_MOD))
        return node_ufunc(in, ufunc, 2, args, -1, out);
    if ((dtype_is_integer(result) && array_operators[operator_].overflows) || power) {
        if (checked_ops[operator_] && result == DT_I64)
            return scalar_i64(in, (Op)checked_ops[operator_], 2, args, out);
        return scalar_extern(in, operators[operator_].function, 2, args, result, out);
    }
    return node_ufunc(in, ufunc, 2, args, -1, out);
}

/* ---- operators ---- */

/* `array ** number` has shortcuts: another ufunc when the exponent is this very Python number. */
static Answer
power_shortcut(Interp *in, NodeId base, NodeId exponent, const char **ufunc)
{
    Type type = node_type(in, base);
    Type other = node_type(in, exponent);
    bool inexact = dtype_is_float(type.dtype) || dtype_is_complex(type.dtype);
    if (type.form != FORM_ARRAY || other.form != FORM_PYTHON) return ANSWER_YES;
    PyObject *known;
    Answer answer = node_known(in, exponent, &known);
    if (answer == ANSWER_NO) return interp_break(in, BREAK_OPERATOR, "a power that is not known");
    if (answer != ANSWER_YES) return answer;
    if (PyLong_CheckExact(known)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(known, &overflow);
        if (overflow) return ANSWER_YES;
        if (number == 2) *ufunc = "square";
        if (number == -1 && inexact) *ufunc = "reciprocal";
    } else if (PyFloat_CheckExact(known) && inexact && PyFloat_AS_DOUBLE(known) == 0.5) {
        *ufunc = "sqrt";
    }
    return ANSWER_YES;
}

/* The ufunc with its result written into the first operand, a temporary whose layout it has. */
static Answer
written_ufunc(Interp *in, PyObject *ufunc, int nargs, const NodeId *args, const DType *ins,
              Type type, NodeId *out)
{
    Type target = node_type(in, args[0]);
    if (target.dtype != type.dtype)
        return interp_break(in, BREAK_OPERATOR, "NumPy cannot write %s into a temporary of %s",
                            dtype_long_name((DType)type.dtype),
                            dtype_long_name((DType)target.dtype));
    memcpy(type.stride, target.stride, sizeof(type.stride));
    PyObject *class_ = module_kept(in, "pycompile._elision", "Into");
    PyObject *whole = class_ ? keep(in, PyObject_CallOneArg(class_, ufunc)) : NULL;
    if (whole == NULL) return ANSWER_ERROR;
    int op = op_of_ufunc(ufunc, ins[0]);
    if (ufunc_minds_target(in->graph, op, ins[0], nargs, args, &type))
        return node_extern(in, whole, nargs, args, &type, out);
    return typed_ufunc(in, ufunc, whole, nargs, args, -1, ins, type, out);
}

/* The ufunc of an operator: its result has the layout of the operand into which NumPy writes it
   (*into, or -1 for none). */
static Answer
operator_ufunc(Interp *in, int operator_, PyObject *ufunc, Value *const *operands, NodeId *args,
               int *into, NodeId *out)
{
    DType ins[2];
    Type type;
    TRY(ufunc_types(in, ufunc, 2, args, -1, ins, &type));
    NodeId test, choice[3];
    TRY(operand_elided(in, operator_, operands, args, &type, into, &test));
    if (*into < 0) return typed_ufunc(in, ufunc, ufunc, 2, args, -1, ins, type, out);
    NodeId order[2] = {args[*into], args[1 - *into]};
    DType loop[2] = {ins[*into], ins[1 - *into]};
    if (test == NO_NODE) return written_ufunc(in, ufunc, 2, order, loop, type, out);
    choice[0] = test;
    TRY(written_ufunc(in, ufunc, 2, order, loop, type, &choice[1]));
    TRY(typed_ufunc(in, ufunc, ufunc, 2, args, -1, ins, type, &choice[2]));
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_where, 3, choice, &type, NULL));
    return ANSWER_YES;
}

/* The ufunc of an operator with one operand. */
static Answer
unary_ufunc(Interp *in, const char *name, const Value *operand, NodeId arg, NodeId *out)
{
    PyObject *ufunc = numpy_object(name);
    if (ufunc == NULL) return interp_break(in, BREAK_NUMPY, "numpy.%s is missing", name);
    DType dtype;
    Type type;
    bool into;
    TRY(ufunc_types(in, ufunc, 1, &arg, -1, &dtype, &type));
    TRY(sole_operand_elided(in, operand, arg, &type, &into));
    if (into) return written_ufunc(in, ufunc, 1, &arg, &dtype, type, out);
    return typed_ufunc(in, ufunc, ufunc, 1, &arg, -1, &dtype, type, out);
}

static Answer
binary_node(Interp *in, int operator_, Value *left, Value *right, int *into, Value **out)
{
    if (operator_ < 0 || operator_ >= IN_PLACE)
        return interp_break(in, BREAK_OPERATOR, "operator number %d", operator_);
    PyObject *ufunc = numpy_object(array_operators[operator_].ufunc);
    Value *operands[2] = {left, right};
    NodeId args[2], result;
    TRY(operand_beside(in, left, right, &args[0]));
    TRY(operand_beside(in, right, left, &args[1]));
    if (operator_ == OPERATOR_MATMUL) {
        TRY(node_matmul(in, args[0], args[1], &result));
        return push_node(in, result, out);
    }
    const char *shortcut = NULL;
    if (operator_ == OPERATOR_POW) TRY(power_shortcut(in, args[0], args[1], &shortcut));
    if (shortcut != NULL && into != NULL && node_type(in, args[0]).dtype == DT_BOOL) {
        bool spare;
        TRY(operand_spare(in, left, &spare));
        *into = spare ? 0 : -1;
        if (spare)
            return interp_break(in, BREAK_OPERATOR,
                                "NumPy cannot write int8 into a temporary of bool");
    }
    if (shortcut != NULL && into != NULL)
        TRY(unary_ufunc(in, shortcut, left, args[0], &result));
    else if (shortcut != NULL)
        TRY(node_named(in, shortcut, 1, args, &result));
    else if (all_scalars(in, 2, args))
        TRY(scalar_binary(in, operator_, ufunc, args, &result));
    else if (into != NULL)
        TRY(operator_ufunc(in, operator_, ufunc, operands, args, into, &result));
    else
        TRY(node_ufunc(in, ufunc, 2, args, -1, &result));
    return push_node(in, result, out);
}

/* The ufunc that an operator calls on values read through a mask; *out is NULL where there is none
   that takes part in that. */
static Answer
masked_operator(Interp *in, int operator_, Value *const *both, int *nargs, PyObject **out)
{
    NodeId whole = masked_whole(in, both[0]), exponent;
    const char *shortcut = NULL;
    *nargs = 2;
    *out = NULL;
    if (operator_ < 0 || operator_ >= IN_PLACE || operator_ == OPERATOR_MATMUL) return ANSWER_YES;
    if (operator_ != OPERATOR_POW) {
        *out = numpy_object(array_operators[operator_].ufunc);
        return ANSWER_YES;
    }
    if (whole == NO_NODE || both[1]->kind != V_CONST) return ANSWER_YES;
    TRY(operand(in, both[1], &exponent));
    TRY(power_shortcut(in, whole, exponent, &shortcut));
    *nargs = 1;
    *out = shortcut == NULL ? NULL : numpy_object(shortcut);
    return ANSWER_YES;
}

static Answer
masked_binary(Interp *in, int operator_, Value *const *both, Value **out)
{
    PyObject *ufunc;
    int nargs;
    if (!any_opaque(in, 2, both)) return ANSWER_NO;
    TRY(masked_operator(in, operator_, both, &nargs, &ufunc));
    return ufunc == NULL ? ANSWER_NO : masked_ufunc(in, ufunc, nargs, both, -1, out);
}

/* Calls Python's operator as a step, after the rule for it broke. */
static Answer
operator_instead(Interp *in, const char *name, int nargs, Value *const *args, bool changes,
                 Value **out)
{
    PyObject *callable = module_kept(in, "operator", name);
    if (callable == NULL) return ANSWER_ERROR;
    WholeCall call = {.callable = callable, .nargs = nargs, .args = args, .changes = changes};
    return call_whole_instead(in, &call, out);
}

/* The operator where only the plan's run shows whether NumPy writes into an operand; *out is NULL
   where no operand is a temporary. */
static Answer
elided_operator(Interp *in, int operator_, Value *const *both, PyObject **out)
{
    OperatorElision elides = array_operators[operator_].elides;
    bool spare[2] = {false, false};
    *out = NULL;
    for (int i = 0; i < (elides == ELIDES_EITHER ? 2 : elides != ELIDES_NOTHING); i++)
        TRY(operand_spare(in, both[i], &spare[i]));
    if (!spare[0] && !spare[1]) return ANSWER_YES;
    PyObject *class_ = module_kept(in, "pycompile._elision", "Operator");
    PyObject *plain = module_kept(in, "operator", operators[operator_].function);
    PyObject *ufunc = numpy_object(array_operators[operator_].ufunc);
    if (class_ == NULL || plain == NULL || ufunc == NULL) return ANSWER_ERROR;
    *out = keep(in, PyObject_CallFunction(class_, "iOOOO", operator_, plain, ufunc,
                                          spare[0] ? Py_True : Py_False,
                                          spare[1] ? Py_True : Py_False));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* `into`: the operand found by operand_elided; NULL: none is ever written. */
static Answer
operator_or_step(Interp *in, int operator_, Value *left, Value *right, int *into, Value **out)
{
    Value *both[2] = {left, right};
    Answer answer = masked_binary(in, operator_, both, out);
    if (answer != ANSWER_NO) return answer;
    VARYING(in, made, binary_node(in, operator_, left, right, into, out));
    answer = made;
    if (answer != ANSWER_BREAK || operator_ < 0 || operator_ >= IN_PLACE ||
        (into != NULL && *into >= 0))
        return answer;
    if (into != NULL && any_opaque(in, 2, both) && !in->writes.dirty &&
        in->raising.raised == NULL) {
        BreakNote note = break_take(in);
        PyObject *callable;
        TRY(elided_operator(in, operator_, both, &callable));
        break_put(in, &note);
        WholeCall call = {.callable = callable, .nargs = 2, .args = both};
        if (callable != NULL) return call_whole_instead(in, &call, out);
    }
    return operator_instead(in, operators[operator_].function, 2, both, false, out);
}

Answer
emit_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    int into = -1;
    return operator_or_step(in, operator_, left, right, &into, out);
}

static Answer
compare_node(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    static const char *const names[] = {"less",      "less_equal", "equal",
                                        "not_equal", "greater",    "greater_equal"};
    NodeId args[2], result;
    Value *both[2] = {left, right};
    if (any_opaque(in, 2, both)) {
        Answer answer = masked_ufunc(in, numpy_object(names[operator_]), 2, both, -1, out);
        if (answer != ANSWER_NO) return answer;
        return call_simple(in, module_kept(in, "operator", comparison_names[operator_]), 2, both,
                           out);
    }
    TRY(operand_beside(in, left, right, &args[0]));
    TRY(operand_beside(in, right, left, &args[1]));
    if (in->loop != NULL) TRY(nodes_widen(in, args));
    DType dtype;
    bool orders = operator_ != Py_EQ && operator_ != Py_NE && all_scalars(in, 2, args);
    if (orders) TRY(result_dtype(in, 2, args, &dtype));
    if (orders && dtype_is_complex(dtype)) /* the op has no rule for NaNs, unlike the ufunc */
        TRY(scalar_extern(in, comparison_names[operator_], 2, args, DT_BOOL, &result));
    else
        TRY(node_named(in, names[operator_], 2, args, &result));
    return push_node(in, result, out);
}

Answer
emit_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    if (operator_ < 0 || operator_ >= COUNT_OF(comparison_names))
        return interp_break(in, BREAK_OPERATOR, "comparison number %d", operator_);
    VARYING(in, answer, compare_node(in, operator_, left, right, out));
    if (answer != ANSWER_BREAK) return answer;
    Value *both[2] = {left, right};
    return operator_instead(in, comparison_names[operator_], 2, both, false, out);
}

static Answer
opaque_unary(Interp *in, PyObject *ufunc, Value *value, Value **out)
{
    Answer answer = masked_ufunc(in, ufunc, 1, &value, -1, out);
    return answer == ANSWER_NO ? call_simple(in, ufunc, 1, &value, out) : answer;
}

static Answer
unary_node(Interp *in, InstrKind operator_, Value *value, Value **out)
{
    const char *name = operator_ == I_UNARY_NEGATIVE   ? "negative"
                       : operator_ == I_UNARY_POSITIVE ? "positive"
                       : operator_ == I_UNARY_INVERT   ? "invert"
                                                       : NULL;
    if (name == NULL) return interp_break(in, BREAK_OPERATOR, "this unary operator");
    NodeId arg, result;
    if (value_is_opaque(in, value)) return opaque_unary(in, numpy_object(name), value, out);
    TRY(operand(in, value, &arg));
    Type type = node_type(in, arg);
    if (operator_ == I_UNARY_NEGATIVE && type.form == FORM_SCALAR && dtype_is_integer(type.dtype)) {
        if (type.dtype == DT_I64)
            TRY(scalar_i64(in, OP_py_neg, 1, &arg, &result));
        else if (in->loop != NULL) /* an overflow leaves the loop */
            TRY(unary_ufunc(in, name, value, arg, &result));
        else
            TRY(scalar_extern(in, "neg", 1, &arg, type.dtype, &result));
    } else
        TRY(unary_ufunc(in, name, value, arg, &result));
    return push_node(in, result, out);
}

Answer
emit_unary(Interp *in, InstrKind operator_, Value *value, Value **out)
{
    VARYING(in, answer, unary_node(in, operator_, value, out));
    const char *name = operator_ == I_UNARY_NEGATIVE   ? "neg"
                       : operator_ == I_UNARY_POSITIVE ? "pos"
                                                       : "invert";
    return answer == ANSWER_BREAK ? operator_instead(in, name, 1, &value, false, out) : answer;
}

/* abs(x): of an integer scalar, the smallest number warns; of a complex one it is libm's hypot,
   which the ufunc's loop is not everywhere. */
static Answer
absolute_node(Interp *in, Value *value, Value **out)
{
    NodeId node;
    PyObject *ufunc = numpy_object("absolute");
    if (value_is_opaque(in, value)) return opaque_unary(in, ufunc, value, out);
    TRY(operand(in, value, &node));
    Type type = node_type(in, node);
    DType dtype = (DType)type.dtype, real = dtype == DT_C64 ? DT_F32 : DT_F64;
    if (type.form == FORM_SCALAR && dtype_is_complex(dtype))
        TRY(scalar_extern(in, "abs", 1, &node, real, &node));
    else if (type.form != FORM_SCALAR || !dtype_is_integer(dtype) || !dtype_is_signed(dtype))
        TRY(unary_ufunc(in, "absolute", value, node, &node));
    else if (dtype == DT_I64)
        TRY(scalar_i64(in, OP_py_abs, 1, &node, &node));
    else if (in->loop != NULL)
        TRY(unary_ufunc(in, "absolute", value, node, &node));
    else
        TRY(scalar_extern(in, "abs", 1, &node, dtype, &node));
    return push_node(in, node, out);
}

Answer
emit_absolute(Interp *in, Value *value, Value **out)
{
    VARYING(in, answer, absolute_node(in, value, out));
    return answer;
}

/* ---- in place ---- */

/* `node`: what gives the elements that are written.  Where only the library's call has the bits of
   a ufunc without a target, only its call with the target has those. */
static bool
loop_minds_target(const Interp *in, const Node *node, const Type *target)
{
    OpKind kind = op_info(node->op)->kind;
    if (kind != KIND_UFUNC && kind != KIND_POINTWISE && kind != KIND_EXTERN) return false;
    if (kind == KIND_EXTERN && node->attrs.object != NULL && ufunc_check(node->attrs.object))
        return true;
    int op = kind == KIND_POINTWISE ? (int)node->op : -1;
    DType loop = node_loop_dtype(in->graph, node);
    return ufunc_minds_target(in->graph, op, loop, node->nargs, node->args, target);
}

/* NumPy's loops also take other paths where the memory of an operand reaches into that of the
   output (is_mem_overlap in its loops_utils.h), unless the two are one view. */
static Answer
operands_apart(Interp *in, const Node *node, NodeId target)
{
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_POINTWISE && ufunc_has_expression((int)node->op, (DType)node->type.dtype))
        return ANSWER_YES;
    if (kind != KIND_POINTWISE && kind != KIND_UFUNC && kind != KIND_EXTERN) return ANSWER_YES;
    for (int i = 0; i < node->nargs; i++) TRY(write_beside(in, target, node->args[i]));
    return ANSWER_YES;
}

Answer
write_result(Interp *in, Value *target, NodeId result, Value **out)
{
    NodeId node;
    VARYING(in, answer, array_operand(in, target, &node));
    if (answer != ANSWER_YES) return answer;
    Type have = node_type(in, result), want = node_type(in, node);
    if (have.form == FORM_OBJECT)
        return interp_break(in, BREAK_NUMPY, "a result whose shape is not known");
    if (want.form != FORM_ARRAY) return interp_break(in, BREAK_NUMPY, "an output that is no array");
    if (!dtype_can_cast_same_kind(have.dtype, want.dtype))
        return interp_break(in, BREAK_SHAPE, "%s written in place into %s",
                            dtype_long_name(have.dtype), dtype_long_name(want.dtype));
    const Node *loop = graph_node(in->graph, result);
    while (loop->op == OP_cast) loop = graph_node(in->graph, loop->args[0]);
    if (loop_minds_target(in, loop, &want))
        return interp_break(
            in, BREAK_NUMPY,
            "a ufunc into an array whose layout, or that of an operand, decides its bits");
    TRY(operands_apart(in, loop, node));
    TRY(node_write(in, target, result));
    *out = target;
    return ANSWER_YES;
}

static Answer
inplace_node(Interp *in, int operator_, Value *array, Value *value, Value **out)
{
    NodeId node;
    TRY(operand(in, array, &node));
    if (node_type(in, node).form != FORM_ARRAY)
        return emit_binary(in, operator_, array, value, out);
    if (operator_ >= IN_PLACE || operator_ == OPERATOR_MATMUL)
        return interp_break(in, BREAK_OPERATOR, "this operator in place");
    Value *result, *both[2] = {array, value};
    if (any_opaque(in, 2, both))
        return interp_break(in, BREAK_OPERATOR, "an operand whose shape is not known");
    TRY(operator_or_step(in, operator_, array, value, NULL, &result));
    return write_result(in, array, result->node, out);
}

Answer
emit_inplace(Interp *in, int operator_, Value *array, Value *value, Value **out)
{
    operator_ %= IN_PLACE;
    Value *both[2] = {array, value};
    PyObject *ufunc;
    int nargs;
    TRY(masked_operator(in, operator_, both, &nargs, &ufunc));
    Answer answer = ufunc == NULL ? ANSWER_NO : masked_inplace(in, ufunc, nargs, both, array, out);
    if (answer != ANSWER_NO) return answer;
    VARYING(in, made, inplace_node(in, operator_, array, value, out));
    answer = made;
    if (answer != ANSWER_BREAK || operator_ >= IN_PLACE) return answer;
    in->raising.raised = NULL; /* the in-place operator has another message */
    return operator_instead(in, operators[operator_].in_place, 2, both, true, out);
}

/* ---- choice, products ---- */

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
    type.form = FORM_ARRAY; /* an array even of rank 0, not a scalar */
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_where, 3, args, &type, NULL));
    return ANSWER_YES;
}
