/* Operators on Python's scalars.  Operations on arrays go to the array semantics (ops.c); those on
   known scalars are computed while capturing, others stay symbolic as KIND_PYTHON nodes, which
   deopt where Python would raise or the result leaves 64 bits; sequences and strings are computed
   while capturing or put together from their items. */
#include "numbers.h"

/* ---- symbolic scalars ---- */

DType
scalar_dtype(Interp *in, Value *value)
{
    if (value->kind == V_NODE) return graph_node(in->graph, value->node)->type.dtype;
    if (PyBool_Check(value->object)) return DT_BOOL;
    if (PyLong_CheckExact(value->object))
        return value_is_wide(value) && int_is_unsigned(value->object) ? DT_U64 : DT_I64;
    return PyFloat_CheckExact(value->object) ? DT_F64 : DT_C128;
}

Value *
scalar_emit(Interp *in, Op op, DType dtype, int nargs, Value *const *operands, PyObject *seen)
{
    NodeId args[3];
    if (seen != NULL && keep(in, seen) == NULL) return NULL;
    for (int i = 0; i < nargs; i++) {
        Answer answer = value_as_node(in, operands[i], &args[i]);
        if (answer == ANSWER_ERROR) return NULL;
        if (answer == ANSWER_NO) {
            PyErr_SetString(PyExc_SystemError, "a scalar without a node");
            return NULL;
        }
    }
    Type type = {.dtype = (uint8_t)dtype, .form = FORM_PYTHON, .offset = NO_SIZE};
    NodeId node = graph_add(in->graph, in->region, op, nargs, args, &type, NULL);
    Value *value = node == NO_NODE ? NULL : value_node(in, node);
    if (value == NULL || seen == NULL) return value;
    value->object = seen;
    value->nitems = nargs;
    value->items = arena_copy(in->arena, operands, (size_t)nargs * sizeof(Value *));
    return value->items == NULL ? NULL : value;
}

Answer
scalar_assert(Interp *in, Op op, Value *left, Value *right)
{
    Value *both[2] = {left, right}, *test = scalar_emit(in, op, DT_BOOL, 2, both, NULL);
    return test == NULL || scalar_emit(in, OP_py_assert, DT_BOOL, 1, &test, NULL) == NULL
               ? ANSWER_ERROR
               : ANSWER_YES;
}

/* The scalar's value while capturing, or NULL. */
PyObject *
scalar_seen(const Value *value)
{
    return value->kind == V_CONST || value->kind == V_NODE ? value->object : NULL;
}

/* The scalar as the given dtype, so that an operation's arguments have one type; ANSWER_NO where
   the conversion could differ from what Python does with mixed operands. */
Answer
scalar_as(Interp *in, Value *value, DType dtype, bool exact, Value **out)
{
    *out = value;
    DType from = scalar_dtype(in, value);
    if (from == dtype) return ANSWER_YES;
    if (value->kind == V_CONST && dtype == DT_U64) {
        Type type = type_scalar(dtype, FORM_PYTHON);
        if (!PyLong_Check(value->object) || !int_is_unsigned(value->object)) return ANSWER_NO;
        PyObject *number = keep(in, PyNumber_Long(value->object));
        NodeId node = number ? graph_const(in->graph, in->region, number, &type) : NO_NODE;
        *out = node == NO_NODE ? NULL : value_node(in, node);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (value->kind == V_CONST) {
        PyObject *converted = NULL;
        if (dtype == DT_F64)
            converted = PyNumber_Float(value->object);
        else if (dtype == DT_I64)
            converted = PyNumber_Long(value->object);
        else if (dtype == DT_C128)
            converted = PyObject_CallOneArg((PyObject *)&PyComplex_Type, value->object);
        if (converted != NULL && exact) {
            int same = PyObject_RichCompareBool(converted, value->object, Py_EQ);
            if (same < 1) Py_CLEAR(converted);
        }
        if (converted == NULL) {
            PyErr_Clear();
            return ANSWER_NO;
        }
        *out = value_const_new(in, converted);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (dtype == DT_C128) return ANSWER_NO;
    if (dtype == DT_F64 && from == DT_U64 && exact) return ANSWER_NO;
    if (dtype == DT_F64 && from == DT_I64 && exact) {
        Answer answer = value_in_range(in, value, -(1LL << 53), 1LL << 53);
        if (answer != ANSWER_YES) return answer;
    }
    PyObject *seen = scalar_seen(value);
    if (seen != NULL) {
        seen = dtype == DT_F64 ? PyNumber_Float(seen) : PyNumber_Long(seen);
        if (seen == NULL) {
            PyErr_Clear();
            return ANSWER_NO;
        }
    }
    bool fits = seen == NULL || dtype != DT_U64 || int_is_unsigned(seen);
    if (!fits) Py_CLEAR(seen);
    *out = scalar_emit(in, dtype == DT_F64 ? OP_py_float : OP_py_int, dtype, 1, &value, seen);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The op and the result's dtype; false when the operator is not kept symbolic for these
   operands. */
static bool
scalar_rule(int operator_, DType *work, Value *right, Op *op, DType *dtype)
{
    bool is_int = *work == DT_BOOL || *work == DT_I64;
    if (*work == DT_C128) return false;
    *dtype = is_int ? DT_I64 : *work;
    switch (operator_) {
    case OPERATOR_ADD: *op = OP_py_add; break;
    case OPERATOR_SUB: *op = OP_py_sub; break;
    case OPERATOR_MUL: *op = OP_py_mul; break;
    case OPERATOR_DIV:
        *op = OP_py_div;
        if (is_int) *dtype = DT_F64;
        break;
    case OPERATOR_FLOORDIV:
    case OPERATOR_MOD: *op = operator_ == OPERATOR_MOD ? OP_py_mod : OP_py_floordiv; break;
    case OPERATOR_POW:
        /* int ** negative is a float, so it is kept symbolic for a constant exponent only; float **
           float may be complex, and deopts then. */
        if (is_int && (right->kind != V_CONST ||
                       PyObject_RichCompareBool(right->object, Py_False, Py_LT) != 0))
            return false;
        *op = OP_py_pow;
        break;
    case OPERATOR_LSHIFT:
    case OPERATOR_RSHIFT:
        if (!is_int) return false;
        *op = operator_ == OPERATOR_LSHIFT ? OP_py_lshift : OP_py_rshift;
        break;
    case OPERATOR_AND:
    case OPERATOR_OR:
    case OPERATOR_XOR:
        if (!is_int) return false;
        *op = operator_ == OPERATOR_AND  ? OP_bitwise_and
              : operator_ == OPERATOR_OR ? OP_bitwise_or
                                         : OP_bitwise_xor;
        *dtype = *work;
        return true;
    default: return false;
    }
    if (is_int) *work = DT_I64;
    return true;
}

/* ---- ints of 64 bits without a sign ----

   In kept loops Python's ints from 2**63 to 2**64 - 1 are nodes of DT_U64, and so is what is
   computed of such: where that is no such int the loop is left, unless its lowest 64 bits alone are
   used (lower/region_modulo.c). */

static bool
is_unsigned(Interp *in, Value *value)
{
    return value->kind == V_NODE && scalar_dtype(in, value) == DT_U64;
}

/* n - 1 of a constant n that is a power of two; NULL: it is none. */
static PyObject *
mask_below(const Value *value)
{
    if (value->kind != V_CONST || !PyLong_CheckExact(value->object)) return NULL;
    PyObject *one = PyLong_FromLong(1), *less = one ? PyNumber_Subtract(value->object, one) : NULL;
    PyObject *both = less ? PyNumber_And(less, value->object) : NULL;
    bool power = both != NULL && PyObject_Not(both) == 1 &&
                 PyObject_RichCompareBool(value->object, one, Py_GE) == 1;
    Py_XDECREF(one);
    Py_XDECREF(both);
    if (!power) Py_CLEAR(less);
    PyErr_Clear();
    return less;
}

/* The number's lowest 64 bits as an int of this dtype. */
static Answer
wrapped(Interp *in, Value *value, DType dtype, Value **out)
{
    *out = value;
    if (scalar_dtype(in, value) == dtype) return ANSWER_YES;
    *out = scalar_emit(in, OP_cast, dtype, 1, &value, NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* a & b: one may be a constant. */
static Answer
unsigned_and(Interp *in, Value *a, Value *b, Value **out)
{
    if (a->kind == V_CONST) {
        Value *constant = a;
        a = b;
        b = constant;
    }
    DType dtype = DT_U64;
    if (b->kind == V_CONST && !value_is_wide(b)) {
        if (!int_is_unsigned(b->object)) return ANSWER_NO;
        dtype = DT_I64;
    }
    Value *both[2];
    TRY(wrapped(in, a, dtype, &both[0]));
    TRY(wrapped(in, b, dtype, &both[1]));
    *out = scalar_emit(in, OP_bitwise_and, dtype, 2, both, NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* An int divided by a power of two: rounded once. */
static Answer
divided_by_power(Interp *in, Value *value, Value *power, Value **out)
{
    double divisor = PyLong_AsDouble(power->object);
    PyErr_Clear();
    if (!(divisor > 0 && divisor < 0x1p900)) return ANSWER_NO;
    Value *both[2];
    TRY(scalar_as(in, value, DT_F64, false, &both[0]));
    if ((both[1] = value_const_new(in, PyFloat_FromDouble(divisor))) == NULL) return ANSWER_ERROR;
    *out = scalar_emit(in, OP_py_div, DT_F64, 2, both, NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Is the result below 2**63 whatever the left operand is? */
static bool
fits_signed(Interp *in, int operator_, Value *right)
{
    int64_t number;
    if (operator_ == OPERATOR_MOD) return scalar_dtype(in, right) != DT_U64;
    bool divides = operator_ == OPERATOR_FLOORDIV || operator_ == OPERATOR_RSHIFT;
    return divides && right->kind == V_CONST && value_as_int(in, right, &number) == ANSWER_YES &&
           number >= (operator_ == OPERATOR_FLOORDIV ? 2 : 1);
}

static Op
unsigned_op(int operator_)
{
    switch (operator_) {
    case OPERATOR_ADD: return OP_py_add;
    case OPERATOR_SUB: return OP_py_sub;
    case OPERATOR_MUL: return OP_py_mul;
    case OPERATOR_DIV: return OP_py_div;
    case OPERATOR_FLOORDIV: return OP_py_floordiv;
    case OPERATOR_MOD: return OP_py_mod;
    case OPERATOR_LSHIFT: return OP_py_lshift;
    case OPERATOR_RSHIFT: return OP_py_rshift;
    case OPERATOR_OR: return OP_bitwise_or;
    case OPERATOR_XOR: return OP_bitwise_xor;
    default: return OP_COUNT;
    }
}

static Answer
unsigned_operation(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Op op = unsigned_op(operator_);
    Value *both[2];
    if (op == OP_COUNT) return ANSWER_NO;
    TRY(scalar_as(in, left, DT_U64, true, &both[0]));
    TRY(scalar_as(in, right, DT_U64, true, &both[1]));
    *out = scalar_emit(in, op, op == OP_py_div ? DT_F64 : DT_U64, 2, both, NULL);
    if (*out == NULL) return ANSWER_ERROR;
    return fits_signed(in, operator_, right) ? wrapped(in, *out, DT_I64, out) : ANSWER_YES;
}

/* Of ints, one of which is of 64 bits without a sign, or is brought to such.  ANSWER_NO: others. */
static Answer
unsigned_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    DType l = scalar_dtype(in, left), r = scalar_dtype(in, right);
    bool ints = (l == DT_BOOL || dtype_is_integer(l)) && (r == DT_BOOL || dtype_is_integer(r));
    bool wide = value_is_wide(left) || value_is_wide(right);
    if (!ints || !(is_unsigned(in, left) || is_unsigned(in, right) || wide)) return ANSWER_NO;
    bool grows = operator_ == OPERATOR_ADD || operator_ == OPERATOR_SUB ||
                 operator_ == OPERATOR_MUL || operator_ == OPERATOR_LSHIFT;
    if (in->loop == NULL && (wide || grows)) return ANSWER_NO;
    bool by_power = operator_ == OPERATOR_MOD || operator_ == OPERATOR_DIV;
    PyObject *mask = by_power ? mask_below(right) : NULL;
    if (mask != NULL && operator_ == OPERATOR_DIV) {
        Py_DECREF(mask);
        return divided_by_power(in, left, right, out);
    }
    if (mask != NULL) {
        if ((right = value_const_new(in, mask)) == NULL) return ANSWER_ERROR;
        operator_ = OPERATOR_AND;
    }
    Value *both[2] = {left, right};
    for (int k = 0; k < 2; k++)
        if (value_is_wide(both[k]) && !int_is_unsigned(both[k]->object)) return ANSWER_NO;
    return operator_ == OPERATOR_AND ? unsigned_and(in, left, right, out)
                                     : unsigned_operation(in, operator_, left, right, out);
}

/* ANSWER_NO: not kept symbolic. */
Answer
scalar_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Answer answer = unsigned_binary(in, operator_, left, right, out);
    if (answer != ANSWER_NO) return answer;
    DType l = scalar_dtype(in, left), r = scalar_dtype(in, right), work = l > r ? l : r, dtype;
    Op op;
    if (is_unsigned(in, left) || is_unsigned(in, right) || value_is_wide(left) ||
        value_is_wide(right) || !scalar_rule(operator_, &work, right, &op, &dtype))
        return ANSWER_NO;
    PyObject *seen = NULL, *a = scalar_seen(left), *b = scalar_seen(right);
    if (a != NULL && b != NULL) {
        seen = binary_function(operator_)(a, b);
        if (seen == NULL) {
            PyErr_Clear();
            return ANSWER_NO;
        }
        int overflow = 0;
        if (PyLong_CheckExact(seen)) (void)PyLong_AsLongLongAndOverflow(seen, &overflow);
        if (overflow && in->loop != NULL) {
            Py_CLEAR(seen); /* its lowest bits may do: lower/region_modulo.c */
        } else if (overflow || (dtype == DT_F64) != PyFloat_CheckExact(seen)) {
            Py_DECREF(seen);
            return ANSWER_NO;
        }
    }
    Value *operands[2];
    answer = scalar_as(in, left, work, false, &operands[0]);
    if (answer == ANSWER_YES) answer = scalar_as(in, right, work, false, &operands[1]);
    if (answer != ANSWER_YES) {
        Py_XDECREF(seen);
        return answer;
    }
    *out = scalar_emit(in, op, dtype, 2, operands, seen);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- comparison ---- */

/* The op for < <= == != > >=, with the arguments swapped where `swap`, since there are fewer
   ops. */
static Op
compare_op(int operator_, bool *swap)
{
    static const Op ops[6] = {OP_py_lt, OP_py_le, OP_py_eq, OP_py_ne, OP_py_lt, OP_py_le};
    *swap = operator_ >= 4;
    return ops[operator_];
}

/* A symbolic int has 64 bits: a constant that does not fit compares with it as with 0, and so does
   a negative one with an int without a sign. */
static Answer
compare_wide(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    PyObject *zero = PyLong_FromLong(0);
    if (zero == NULL) return ANSWER_ERROR;
    PyObject *a = left->kind == V_CONST ? left->object : zero,
             *b = right->kind == V_CONST ? right->object : zero;
    Answer answer = operator_result(in, PyObject_RichCompare(a, b, operator_), out);
    Py_DECREF(zero);
    return answer;
}

/* Is one a constant that no int of the other's type is? */
static bool
is_beyond(Interp *in, Value *left, Value *right)
{
    Value *both[2] = {left, right};
    for (int k = 0; k < 2; k++) {
        if (both[k]->kind != V_CONST) continue;
        bool is_signed = !is_unsigned(in, both[1 - k]);
        if (is_signed ? value_is_wide(both[k]) : !int_is_unsigned(both[k]->object)) return true;
    }
    return false;
}

Answer
scalar_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    DType l = scalar_dtype(in, left), r = scalar_dtype(in, right), work = l > r ? l : r;
    if (work == DT_C128) return ANSWER_NO;
    if (work != DT_F64 && is_beyond(in, left, right))
        return compare_wide(in, operator_, left, right, out);
    if (in->loop == NULL && (value_is_wide(left) || value_is_wide(right))) return ANSWER_NO;
    bool swap;
    Op op = compare_op(operator_, &swap);
    Value *operands[2];
    Answer answer = scalar_as(in, left, work, true, &operands[swap]);
    if (answer == ANSWER_YES) answer = scalar_as(in, right, work, true, &operands[!swap]);
    if (answer != ANSWER_YES) return answer;
    PyObject *a = scalar_seen(left), *b = scalar_seen(right), *seen = NULL;
    if (a != NULL && b != NULL && (seen = PyObject_RichCompare(a, b, operator_)) == NULL)
        return ANSWER_ERROR;
    *out = scalar_emit(in, op, DT_BOOL, 2, operands, seen);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- unary operators and conversions ---- */

Answer
scalar_convert(Interp *in, Value *value, DType dtype, Value **out)
{
    PyTypeObject *type = dtype == DT_BOOL  ? &PyBool_Type
                         : dtype == DT_I64 ? &PyLong_Type
                                           : &PyFloat_Type;
    if (value->kind == V_CONST) {
        if (!operand_is_plain(value->object)) return ANSWER_NO;
        return operator_result(in, PyObject_CallOneArg((PyObject *)type, value->object), out);
    }
    if (value->kind != V_NODE) return ANSWER_NO;
    if (value_is_loose(in, value)) return call_simple(in, (PyObject *)type, 1, &value, out);
    if (value_is_opaque(in, value))
        return interp_break(
            in, BREAK_SHAPE,
            "an array as a Python scalar, of a shape known only when the code runs");
    NodeId node;
    Answer answer = value_as_node(in, value, &node);
    if (answer != ANSWER_YES) return answer;
    Type from = graph_node(in->graph, node)->type;
    bool same = from.dtype == dtype || (from.dtype == DT_U64 && dtype == DT_I64);
    if (same && from.form == FORM_PYTHON) {
        *out = value;
        return ANSWER_YES;
    }
    if (dtype_is_complex(from.dtype))
        return interp_break(in, BREAK_EXCEPTION, "a complex number as a real one");
    if (from.dtype == DT_F16 && from.rank == 0) { /* exact in single precision */
        answer = node_cast(in, node, DT_F32, &node);
        Value *single = answer == ANSWER_YES ? value_node(in, node) : NULL;
        if (single == NULL) return answer == ANSWER_YES ? ANSWER_ERROR : answer;
        return scalar_convert(in, single, dtype, out);
    }
    if (from.dtype == DT_F16)
        return break_hinted(in, BREAK_DTYPE, HINT_CONVERT, "a float16 as a Python scalar");
    if (from.rank != 0) { /* Python raises for more than one element; NumPy warns for rank > 0 */
        int64_t elements = type_elements(in->graph, &from);
        if (dtype != DT_BOOL || elements != 1) {
            answer = interp_break(in, BREAK_SHAPE, "an array as a Python scalar");
            WholeCall call = {.callable = (PyObject *)type, .nargs = 1, .args = &value};
            return answer == ANSWER_BREAK && elements > 1 ? call_whole_instead(in, &call, out)
                                                          : answer;
        }
    }
    PyObject *seen = value->object;
    bool python = from.form == FORM_PYTHON;
    if (seen != NULL && python) {
        seen = PyObject_CallOneArg((PyObject *)type, seen);
        if (seen == NULL) return raise_error(in);
    } else {
        seen = NULL;
    }
    int overflow = 0;
    if (seen != NULL && PyLong_CheckExact(seen))
        (void)PyLong_AsLongLongAndOverflow(seen, &overflow);
    if (overflow) {
        Py_DECREF(seen);
        return interp_break(in, BREAK_OPERATOR, "an int that does not fit int64");
    }
    if (from.rank != 0) {
        Type flat = {.dtype = from.dtype, .form = FORM_ARRAY, .offset = from.offset};
        node = graph_add(in->graph, in->region, OP_reshape, 1, &node, &flat, NULL);
        value = node == NO_NODE ? NULL : value_node(in, node);
        if (value == NULL) return ANSWER_ERROR;
    }
    *out = scalar_emit(in, python_conversion(dtype), dtype, 1, &value, seen);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
