/* Operators on arrays and NumPy's scalars: arithmetic, comparisons, in-place operators.
   Operators on array scalars alone are NumPy's scalarmath: the same values as the ufunc's, but
   integer overflow warns and powers are computed by libm. */
#include "numpy.h"

/* An operand of an operator.  Beside numbers of uint64 a Python int is one of those, if it fits:
   it has no node of its own where it does not fit int64. */
static Answer
operand_beside(Interp *in, Value *value, const Value *other, bool product, NodeId *out)
{
    bool wide = value_is_wide(value) && other->kind == V_NODE && !value_is_opaque(in, other);
    if (wide && node_type(in, other->node).dtype == DT_U64) {
        (void)PyLong_AsUnsignedLongLong(value->object);
        if (!PyErr_Occurred()) return node_scalar(in, value->object, DT_U64, out);
        PyErr_Clear();
    }
    Answer read = place_read(in, value, product, out);
    return read != ANSWER_NO ? read : operand(in, value, out);
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
    TRY(ufunc_dtypes(in, ufunc, 2, args, -1, ins, &result));
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
    int op = ufunc_op(ufunc, ins[0]);
    if (ufunc_minds_target(in->graph, op, ins[0], nargs, args, &type))
        return node_extern(in, whole, nargs, args, &type, out);
    return node_typed_ufunc(in, ufunc, whole, nargs, args, -1, ins, type, out);
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
    if (*into < 0) return node_typed_ufunc(in, ufunc, ufunc, 2, args, -1, ins, type, out);
    NodeId order[2] = {args[*into], args[1 - *into]};
    DType loop[2] = {ins[*into], ins[1 - *into]};
    if (test == NO_NODE) return written_ufunc(in, ufunc, 2, order, loop, type, out);
    choice[0] = test;
    TRY(written_ufunc(in, ufunc, 2, order, loop, type, &choice[1]));
    TRY(node_typed_ufunc(in, ufunc, ufunc, 2, args, -1, ins, type, &choice[2]));
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
    return node_typed_ufunc(in, ufunc, ufunc, 1, &arg, -1, &dtype, type, out);
}

static Answer
binary_node(Interp *in, int operator_, Value *left, Value *right, int *into, Value **out)
{
    if (operator_ < 0 || operator_ >= IN_PLACE)
        return interp_break(in, BREAK_OPERATOR, "operator number %d", operator_);
    PyObject *ufunc = numpy_object(array_operators[operator_].ufunc);
    Value *operands[2] = {left, right};
    NodeId args[2], result;
    bool product = operator_ == OPERATOR_MATMUL;
    TRY(operand_beside(in, left, right, product, &args[0]));
    TRY(operand_beside(in, right, left, product, &args[1]));
    if (product) {
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
    else if (nodes_are_scalars(in, 2, args))
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
    TRY(operand_beside(in, left, right, false, &args[0]));
    TRY(operand_beside(in, right, left, false, &args[1]));
    if (in->loop != NULL) TRY(nodes_widen(in, args));
    DType dtype;
    bool orders = operator_ != Py_EQ && operator_ != Py_NE && nodes_are_scalars(in, 2, args);
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
