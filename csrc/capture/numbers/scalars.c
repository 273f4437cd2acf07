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
    if (PyLong_CheckExact(value->object)) return DT_I64;
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

/* The scalar's value while capturing, or NULL. */
PyObject *
scalar_seen(const Value *value)
{
    return value->kind == V_CONST || value->kind == V_NODE ? value->object : NULL;
}

/* The scalar as the given dtype, so that an operation's arguments have one type; ANSWER_NO where
   the conversion could differ from what Python does with mixed operands. */
static Answer
as_dtype(Interp *in, Value *value, DType dtype, bool exact, Value **out)
{
    *out = value;
    DType from = scalar_dtype(in, value);
    if (from == dtype) return ANSWER_YES;
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

/* ANSWER_NO: not kept symbolic. */
Answer
scalar_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    DType l = scalar_dtype(in, left), r = scalar_dtype(in, right), work = l > r ? l : r, dtype;
    Op op;
    if (value_is_wide(left) || value_is_wide(right) ||
        !scalar_rule(operator_, &work, right, &op, &dtype))
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
        if (overflow || (dtype == DT_F64) != PyFloat_CheckExact(seen)) {
            Py_DECREF(seen);
            return ANSWER_NO;
        }
    }
    Value *operands[2];
    Answer answer = as_dtype(in, left, work, false, &operands[0]);
    if (answer == ANSWER_YES) answer = as_dtype(in, right, work, false, &operands[1]);
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

/* A symbolic int has 64 bits: a constant that does not fit compares with it as with 0. */
static Answer
compare_wide(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    PyObject *zero = PyLong_FromLong(0);
    if (zero == NULL) return ANSWER_ERROR;
    PyObject *a = value_is_wide(left) ? left->object : zero,
             *b = value_is_wide(right) ? right->object : zero;
    Answer answer = operator_result(in, PyObject_RichCompare(a, b, operator_), out);
    Py_DECREF(zero);
    return answer;
}

Answer
scalar_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    DType l = scalar_dtype(in, left), r = scalar_dtype(in, right), work = l > r ? l : r;
    if (work == DT_C128) return ANSWER_NO;
    if (work != DT_F64 && (value_is_wide(left) || value_is_wide(right)))
        return compare_wide(in, operator_, left, right, out);
    bool swap;
    Op op = compare_op(operator_, &swap);
    Value *operands[2];
    Answer answer = as_dtype(in, left, work, true, &operands[swap]);
    if (answer == ANSWER_YES) answer = as_dtype(in, right, work, true, &operands[!swap]);
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
    if (from.dtype == dtype && from.form == FORM_PYTHON) {
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
