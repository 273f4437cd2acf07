/* Complex numbers in the body of a kept loop: Python's and NumPy's complex128.

   Outside of loops an operation on two of them is a step that calls Python's operator.  In a loop
   it is one of Python's operations on C128: both compute products, sums and absolute values in the
   same way (CPython Objects/complexobject.c; NumPy scalarmath.c.src).  NumPy's quotient is that of
   its ufunc's loop, also for numbers.  A real operand becomes a complex number with 0 as imaginary
   part first, in both.

   Where an operand of NumPy's is real and the other one Python's complex number, NumPy calls the
   ufunc, whose product may have other bits; its sum has not. */
#include "numbers.h"

/* The type of a number; false: it is none. */
static bool
type_of(Interp *in, const Value *value, Type *out)
{
    if (!value_is_number(in, value)) return false;
    *out = (Type){.form = FORM_PYTHON, .offset = NO_SIZE};
    char bytes[16];
    DType dtype;
    if (value->kind == V_NODE)
        *out = graph_node(in->graph, value->node)->type;
    else if (value_is_python_scalar(in, value))
        out->dtype = (uint8_t)scalar_dtype(in, (Value *)value);
    else if (array_scalar_read(value->object, &dtype, bytes) == ANSWER_YES)
        *out = type_scalar(dtype, FORM_SCALAR);
    else
        return false;
    return out->rank == 0 && out->form != FORM_ARRAY;
}

static bool
is_complex(Interp *in, const Value *value, bool *numpy)
{
    Type type;
    if (in->loop == NULL || !type_of(in, value, &type) || type.dtype != DT_C128) return false;
    *numpy = type.form == FORM_SCALAR;
    return true;
}

/* np.float64, of which NumPy makes complex128 beside a complex number of Python's. */
static bool
is_double(Interp *in, const Value *value)
{
    Type type;
    return type_of(in, value, &type) && type.dtype == DT_F64 && type.form == FORM_SCALAR;
}

/* An operation of Python's, in NumPy's class where that is asked for. */
static Answer
emit(Interp *in, Op op, DType dtype, int nargs, const NodeId *args, bool numpy, Value **out)
{
    Type type = type_scalar(dtype, FORM_PYTHON), scalar = type_scalar(dtype, FORM_SCALAR);
    NodeId node = graph_add(in->graph, in->region, op, nargs, args, &type, NULL);
    if (node != NO_NODE && numpy)
        node = graph_add(in->graph, in->region, OP_copy, 1, &node, &scalar, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The number as a double.  ANSWER_NO: it is complex, or of a class that converts itself. */
static Answer
real_node(Interp *in, Value *value, NodeId *out)
{
    Type type;
    if (!type_of(in, value, &type) || dtype_is_complex((DType)type.dtype) || type.dtype == DT_F16 ||
        type.dtype == DT_U64)
        return ANSWER_NO;
    if (value->kind == V_CONST) {
        Value *number = value_const_new(in, PyNumber_Float(value->object));
        return number == NULL ? ANSWER_ERROR : value_as_node(in, number, out);
    }
    TRY(value_as_node(in, value, out));
    Type real = type_scalar(DT_F64, FORM_PYTHON);
    if (type.dtype == DT_F64) return ANSWER_YES;
    if (type.form == FORM_SCALAR) return node_cast(in, *out, DT_F64, out);
    *out = graph_add(in->graph, in->region, OP_py_float, 1, out, &real, NULL);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
of_parts(Interp *in, NodeId re, NodeId im, NodeId *out)
{
    NodeId parts[2] = {re, im};
    Type type = type_scalar(DT_C128, FORM_PYTHON);
    *out = graph_add(in->graph, in->region, OP_py_complex, 2, parts, &type, NULL);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

Answer
complex_node(Interp *in, Value *value, NodeId *out)
{
    bool numpy;
    NodeId re, im;
    if (is_complex(in, value, &numpy)) return value_as_node(in, value, out);
    TRY(real_node(in, value, &re));
    Value *zero = value_const_new(in, PyFloat_FromDouble(0.0));
    if (zero == NULL) return ANSWER_ERROR;
    TRY(value_as_node(in, zero, &im));
    return of_parts(in, re, im, out);
}

/* NumPy's square: a product, but of a zero it is 0j whatever the signs are (npy_cpow).  The product
   is of a copy, which no other number may take the place of (control/loop_either.c). */
static Answer
square(Interp *in, NodeId node, Value **out)
{
    Type type = type_scalar(DT_C128, FORM_PYTHON), test = type_scalar(DT_BOOL, FORM_PYTHON);
    Value *zero = value_const_new(in, PyComplex_FromDoubles(0, 0));
    NodeId args[3], copy = graph_add(in->graph, in->region, OP_copy, 1, &node, &type, NULL);
    if (zero == NULL || copy == NO_NODE) return ANSWER_ERROR;
    TRY(value_as_node(in, zero, &args[1]));
    NodeId both[2] = {copy, args[1]}, same[2] = {copy, copy};
    args[0] = graph_add(in->graph, in->region, OP_py_eq, 2, both, &test, NULL);
    args[2] = graph_add(in->graph, in->region, OP_py_mul, 2, same, &type, NULL);
    if (args[0] == NO_NODE || args[2] == NO_NODE) return ANSWER_ERROR;
    node = graph_add(in->graph, in->region, OP_where, 3, args, &type, NULL);
    type = type_scalar(DT_C128, FORM_SCALAR);
    if (node != NO_NODE) node = graph_add(in->graph, in->region, OP_copy, 1, &node, &type, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A power with a small whole exponent; NumPy's square is a product. */
static Answer
power(Interp *in, const NodeId *args, bool numpy, Value *exponent, Value **out)
{
    double number = -1.0;
    if (exponent->kind == V_CONST &&
        (PyLong_CheckExact(exponent->object) || PyFloat_CheckExact(exponent->object)))
        number = PyFloat_AsDouble(exponent->object);
    PyErr_Clear();
    if (number != 2.0 && (numpy || !(number >= 1.0 && number <= 100.0))) return ANSWER_NO;
    if (number != 2.0 || !numpy) return emit(in, OP_py_pow, DT_C128, 2, args, false, out);
    return square(in, args[0], out);
}

Answer
complex_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    static const Op ops[IN_PLACE] = {[OPERATOR_ADD] = OP_py_add,
                                     [OPERATOR_SUB] = OP_py_sub,
                                     [OPERATOR_MUL] = OP_py_mul,
                                     [OPERATOR_DIV] = OP_py_div};
    bool numpy[2] = {false, false}, is_pow = operator_ == OPERATOR_POW;
    bool complex[2] = {is_complex(in, left, &numpy[0]), is_complex(in, right, &numpy[1])};
    bool scalar = numpy[0] || numpy[1], any = value_is_numpy(in, left) || value_is_numpy(in, right);
    bool sum = operator_ == OPERATOR_ADD || operator_ == OPERATOR_SUB;
    NodeId args[2];
    if ((!complex[0] && !complex[1]) || (!ops[operator_] && !is_pow)) return ANSWER_NO;
    if (scalar != any && (is_pow || !is_double(in, complex[0] ? right : left))) return ANSWER_NO;
    TRY(complex_node(in, left, &args[0]));
    TRY(complex_node(in, right, &args[1]));
    if (is_pow) return power(in, args, scalar, right, out);
    bool calls = any && !sum && (operator_ == OPERATOR_DIV || !scalar);
    if (!calls) return emit(in, ops[operator_], DT_C128, 2, args, any, out);
    TRY(node_named(in, operator_ == OPERATOR_DIV ? "divide" : "multiply", 2, args, &args[0]));
    return push_node(in, args[0], out);
}

Answer
complex_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    bool numpy[2] = {false, false}, complex[2];
    NodeId args[2];
    complex[0] = is_complex(in, left, &numpy[0]);
    complex[1] = is_complex(in, right, &numpy[1]);
    if ((!complex[0] && !complex[1]) || (operator_ != Py_EQ && operator_ != Py_NE))
        return ANSWER_NO;
    bool any = value_is_numpy(in, left) || value_is_numpy(in, right);
    TRY(complex_node(in, left, &args[0]));
    TRY(complex_node(in, right, &args[1]));
    return emit(in, operator_ == Py_EQ ? OP_py_eq : OP_py_ne, DT_BOOL, 2, args, any, out);
}

static Answer
of_one(Interp *in, Op op, DType dtype, Value *value, Value **out)
{
    bool numpy;
    NodeId node;
    if (!is_complex(in, value, &numpy) || value->kind != V_NODE) return ANSWER_NO;
    TRY(value_as_node(in, value, &node));
    return emit(in, op, dtype, 1, &node, numpy, out);
}

Answer
complex_unary(Interp *in, InstrKind operator_, Value *operand, Value **out)
{
    bool numpy;
    if (operator_ == I_UNARY_NEGATIVE) return of_one(in, OP_py_neg, DT_C128, operand, out);
    *out = operand;
    return operator_ == I_UNARY_POSITIVE && operand->kind == V_NODE &&
                   is_complex(in, operand, &numpy)
               ? ANSWER_YES
               : ANSWER_NO;
}

Answer
complex_absolute(Interp *in, Value *value, Value **out)
{
    return of_one(in, OP_py_abs, DT_F64, value, out);
}

Answer
complex_attribute(Interp *in, Value *self, const char *name, Value **out)
{
    if (strcmp(name, "real") == 0) return of_one(in, OP_py_real, DT_F64, self, out);
    return strcmp(name, "imag") == 0 ? of_one(in, OP_py_imag, DT_F64, self, out) : ANSWER_NO;
}

Answer
complex_conjugate(Interp *in, Value *value, Value **out)
{
    Value *parts[2], *minus;
    NodeId nodes[2], node;
    bool numpy;
    if (!is_complex(in, value, &numpy)) return ANSWER_NO;
    TRY(complex_attribute(in, value, "real", &parts[0]));
    TRY(complex_attribute(in, value, "imag", &parts[1]));
    TRY(value_as_node(in, parts[0], &nodes[0]));
    TRY(value_as_node(in, parts[1], &nodes[1]));
    TRY(emit(in, OP_py_neg, DT_F64, 1, &nodes[1], false, &minus));
    TRY(of_parts(in, nodes[0], minus->node, &node));
    Type scalar = type_scalar(DT_C128, FORM_SCALAR);
    if (numpy) node = graph_add(in->graph, in->region, OP_copy, 1, &node, &scalar, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
complex_new(Interp *in, int nargs, Value *const *args, Value **out)
{
    NodeId re, im, node;
    bool numpy;
    if (in->loop == NULL || nargs < 1 || nargs > 2) return ANSWER_NO;
    *out = args[0];
    if (nargs == 1 && is_complex(in, args[0], &numpy) && !numpy) return ANSWER_YES;
    Value *zero = value_const_new(in, PyFloat_FromDouble(0.0));
    if (zero == NULL) return ANSWER_ERROR;
    TRY(real_node(in, args[0], &re));
    TRY(real_node(in, nargs == 2 ? args[1] : zero, &im));
    TRY(of_parts(in, re, im, &node));
    *out = value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
