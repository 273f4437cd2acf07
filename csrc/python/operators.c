/* Tables of the operators: operators.def. */
#include "python.h"

static PyObject *
power(PyObject *a, PyObject *b)
{
    return PyNumber_Power(a, b, Py_None);
}

static PyObject *
inplace_power(PyObject *a, PyObject *b)
{
    return PyNumber_InPlacePower(a, b, Py_None);
}

static const binaryfunc binary_operators[] = {
#define OPERATOR(name, symbol, method, function, in_place, call, call_in_place)                    \
    [OPERATOR_##name] = call, [IN_PLACE + OPERATOR_##name] = call_in_place,
#include "operators.def"
};

const Operator operators[IN_PLACE] = {
#define OPERATOR(name, symbol, method, function, in_place, ...)                                    \
    [OPERATOR_##name] = {symbol, method, function, in_place},
#include "operators.def"
};

const char *const comparison_names[6] = {[Py_LT] = "lt", [Py_LE] = "le", [Py_EQ] = "eq",
                                         [Py_NE] = "ne", [Py_GT] = "gt", [Py_GE] = "ge"};

const char *const comparison_symbols[6] = {
    [Py_LT] = "<", [Py_LE] = "<=", [Py_EQ] = "==", [Py_NE] = "!=", [Py_GT] = ">", [Py_GE] = ">="};

binaryfunc
binary_function(int operator_)
{
    return operator_ < COUNT_OF(binary_operators) ? binary_operators[operator_] : NULL;
}
