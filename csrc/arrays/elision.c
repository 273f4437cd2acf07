/* Temporary elision: from a certain size on, operators of NumPy's arrays write into an operand
   instead of fresh memory if only the interpreter's value stack holds that operand.  The result is
   that array: it has the temporary's layout, not the one that follows from all operands.  If a
   commutative operator writes into its right operand, the operands are swapped, which changes the
   bits of complex products. NumPy temp_elide.c, number.c.

   NumPy examines its callers' return addresses to know that the interpreter called, which it cannot
   do on some platforms; so a probe shows whether it does so here. */
#include "../python/python.h"
#include "numpy_api.h"

int64_t
array_elision_bytes(void)
{
    static int64_t bytes; /* 0: not asked yet */
    if (bytes != 0) return bytes;
    PyObject *function = module_object("pycompile._elision", "elision_bytes");
    PyObject *answer = function ? PyObject_CallNoArgs(function) : NULL;
    int64_t found = answer ? PyLong_AsLongLong(answer) : -1;
    Py_XDECREF(answer);
    Py_XDECREF(function);
    if (PyErr_Occurred()) { /* out of memory: ask again next time */
        PyErr_Clear();
        return INT64_MAX;
    }
    return bytes = found > 0 ? found : INT64_MAX;
}

const ArrayOperator array_operators[IN_PLACE] = {
#define ARRAY_OPERATOR(name, ...) [OPERATOR_##name] = {__VA_ARGS__},
#include "operators.def"
};

bool
dtype_can_cast_safely(DType from, DType to)
{
    return PyArray_CanCastSafely(numpy_descr[from]->type_num, numpy_descr[to]->type_num);
}

bool
array_is_spare(PyObject *object)
{
    if (Py_REFCNT(object) != 1 || !PyArray_CheckExact(object)) return false;
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) && PyArray_ISWRITEABLE(array) &&
           !PyArray_CHKFLAGS(array, NPY_ARRAY_WRITEBACKIFCOPY);
}

/* Is it an exact array of a size that NumPy elides? */
static bool
is_large(PyObject *object)
{
    return PyArray_CheckExact(object) &&
           PyArray_NBYTES((PyArrayObject *)object) >= array_elision_bytes();
}

/* NumPy temp_elide.c, can_elide_temp, for an array that is a temporary. */
static bool
is_elided(PyObject *array, PyObject *other, bool inexact)
{
    PyArrayObject *target = (PyArrayObject *)array;
    if (!PyArray_ISNUMBER(target) || !is_large(array)) return false;
    if (inexact && !PyArray_ISFLOAT(target) && !PyArray_ISCOMPLEX(target)) return false;
    if (!PyArray_CheckExact(other) && !PyArray_CheckAnyScalar(other)) return false;
    PyArrayObject *value = (PyArrayObject *)PyArray_EnsureArray(Py_NewRef(other));
    bool fits = value != NULL && (PyArray_NDIM(value) == 0 || PyArray_SAMESHAPE(value, target)) &&
                PyArray_CanCastArrayTo(value, PyArray_DESCR(target), NPY_SAFE_CASTING);
    Py_XDECREF(value);
    PyErr_Clear();
    return fits;
}

/* Is it array ** 2 of a large spare array? NumPy calls np.square with the array as `out`, whatever
   its dtype: for bools that raises an error, since the result is int8. */
static bool
is_squared(PyObject *array, PyObject *exponent)
{
    if (!PyLong_CheckExact(exponent) || !array_is_spare(array)) return false;
    int overflow;
    return PyLong_AsLongAndOverflow(exponent, &overflow) == 2 && is_large(array);
}

int
array_elided_operand(int operator_, PyObject *left, PyObject *right)
{
    if (operator_ >= IN_PLACE && PyArray_Check(left)) return -1;
    OperatorElision elides = array_operators[operator_ % IN_PLACE].elides;
    if (operator_ == OPERATOR_POW && is_squared(left, right)) return 0;
    if (elides == ELIDES_NOTHING) return -1;
    if (array_is_spare(left) && is_elided(left, right, elides == ELIDES_INEXACT)) return 0;
    bool right_too = elides == ELIDES_EITHER && array_is_spare(right);
    return right_too && is_elided(right, left, false) ? 1 : -1;
}

bool
array_operand_fits(int operator_, PyObject *array, PyObject *other)
{
    return PyArray_CheckExact(array) &&
           is_elided(array, other, array_operators[operator_].elides == ELIDES_INEXACT);
}

static bool
calls_operators(PyObject *function)
{
    const char *name = ((PyCFunctionObject *)function)->m_ml->ml_name;
    PyObject *module = ((PyCFunctionObject *)function)->m_module;
    const char *text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    if (text == NULL) return PyErr_Clear(), false;
    return strcmp(text, "_operator") == 0 ||
           (strcmp(text, "builtins") == 0 && strcmp(name, "sum") == 0) ||
           (strcmp(text, "_functools") == 0 && strcmp(name, "reduce") == 0);
}

static bool
has_large(PyObject *const *objects, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_large(objects[i])) return true;
        if (!PyList_CheckExact(objects[i]) && !PyTuple_CheckExact(objects[i])) continue;
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(objects[i]); k++)
            if (is_large(PySequence_Fast_GET_ITEM(objects[i], k))) return true;
    }
    return false;
}

/* A functools.partial of such a function with such an argument. */
static bool
partial_elides(PyObject *callable)
{
    if (strcmp(Py_TYPE(callable)->tp_name, "functools.partial") != 0) return false;
    PyObject *function = PyObject_GetAttrString(callable, "func");
    PyObject *args = PyObject_GetAttrString(callable, "args");
    bool elides = function != NULL && args != NULL && PyCFunction_Check(function) &&
                  calls_operators(function) && has_large(&args, 1);
    Py_XDECREF(function);
    Py_XDECREF(args);
    PyErr_Clear();
    return elides;
}

bool
array_call_elides(PyObject *callable, PyObject *const *args, Py_ssize_t nargs)
{
    if (!PyCFunction_Check(callable)) return partial_elides(callable);
    return calls_operators(callable) && has_large(args, nargs);
}
