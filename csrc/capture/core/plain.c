/* Plain objects, whose operators and methods run no code of the program, and pure calls on them. */
#include "core.h"

bool
object_is_plain(PyObject *object)
{
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
            if (!object_is_plain(PyTuple_GET_ITEM(object, i))) return false;
        return true;
    }
    if (PyFrozenSet_CheckExact(object)) {
        Py_ssize_t at = 0;
        PyObject *key;
        while (set_next(object, &at, &key))
            if (!object_is_plain(key)) return false;
        return true;
    }
    if (PySlice_Check(object)) {
        const PySliceObject *slice = (PySliceObject *)object;
        return object_is_plain(slice->start) && object_is_plain(slice->stop) &&
               object_is_plain(slice->step);
    }
    return PyUnicode_CheckExact(object) || PyLong_CheckExact(object) ||
           PyFloat_CheckExact(object) || PyBool_Check(object) || PyComplex_CheckExact(object) ||
           PyBytes_CheckExact(object) || object == Py_None || object == Py_Ellipsis ||
           object == Py_NotImplemented || Py_TYPE(object) == &PyRange_Type ||
           Py_TYPE(object) == &PyType_Type || PyCFunction_CheckExact(object) ||
           PyFunction_Check(object) || PyModule_CheckExact(object);
}

bool
object_is_pattern(PyObject *object)
{
    return strcmp(Py_TYPE(object)->tp_name, "re.Pattern") == 0;
}

bool
object_is_pure(PyObject *object)
{
    return object_is_plain(object) || object_is_pattern(object) ||
           strcmp(Py_TYPE(object)->tp_name, "re.Match") == 0;
}

/* NumPy's complex scalars: converting them to real numbers warns. */
static bool
warns_as_real(PyObject *object)
{
    char bytes[16];
    DType dtype;
    if (!array_scalar_check(object)) return false;
    return array_scalar_read(object, &dtype, bytes) != ANSWER_YES || dtype_is_complex(dtype);
}

/* The object, or all items of a tuple, list or dict, are such scalars. */
static bool
is_throughout(PyObject *object, bool (*is)(PyObject *))
{
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++)
            if (!is_throughout(PySequence_Fast_GET_ITEM(object, i), is)) return false;
        return true;
    }
    if (PyDict_CheckExact(object)) {
        Py_ssize_t at = 0;
        PyObject *key, *value;
        while (PyDict_Next(object, &at, &key, &value))
            if (!is_throughout(key, is) || !is_throughout(value, is)) return false;
        return true;
    }
    return is(object);
}

static bool
is_pure_argument(PyObject *object)
{
    if (array_scalar_check(object)) return !warns_as_real(object);
    return object_is_pure(object) || PySet_CheckExact(object) || PyType_Check(object);
}

/* All runs of a plan may share this result; of lists, dicts and tuples `unshadow` makes new
   ones. */
static bool
is_for_all_runs(PyObject *object)
{
    return object_is_pure(object) || array_scalar_check(object);
}

/* Calls with warnings as errors: a Python function may warn when the program calls it, not now. */
static PyObject *
call_with_warnings_raised(PyObject *callable, PyObject *const *args, int nargs, PyObject *kwnames)
{
    if (!PyFunction_Check(callable))
        return PyObject_Vectorcall(callable, args, (size_t)nargs, kwnames);
    PyObject *filters = array_warnings_begin(WARNINGS_RAISE);
    if (filters == NULL) return NULL;
    PyObject *result = PyObject_Vectorcall(callable, args, (size_t)nargs, kwnames);
    array_warnings_end(WARNINGS_RAISE, filters);
    return result;
}

Answer
fold_named(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *tuple = PyTuple_New(nargs + nkw), *result;
    Answer answer = tuple ? ANSWER_YES : ANSWER_ERROR;
    for (int i = 0; answer == ANSWER_YES && i < nargs + nkw; i++) {
        PyObject *object;
        answer = value_known(in, args[i], &object);
        if (answer == ANSWER_YES && !is_throughout(object, is_pure_argument)) answer = ANSWER_NO;
        if (answer == ANSWER_YES) PyTuple_SET_ITEM(tuple, i, Py_NewRef(object));
    }
    if (answer == ANSWER_YES) {
        result = call_with_warnings_raised(callable, PySequence_Fast_ITEMS(tuple), nargs, kwnames);
        if (result == NULL && PyErr_ExceptionMatches(PyExc_Warning)) {
            PyErr_Clear();
            answer = interp_break(in, BREAK_CALL_C, "a call that warns");
        } else if (result == NULL) {
            answer = raise_error(in);
        } else if (!is_throughout(result, is_for_all_runs)) {
            Py_DECREF(result);
            answer = interp_break(in, BREAK_CALL_C, "a call that makes an object");
        } else {
            *out = unshadow(in, result);
            Py_DECREF(result);
            if (*out == NULL) answer = ANSWER_ERROR;
        }
    } else if (answer == ANSWER_NO) {
        answer = interp_break(in, BREAK_CALL_C, "a call on values that are not known");
    }
    Py_XDECREF(tuple);
    return answer;
}

Answer
fold_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    return fold_named(in, callable, nargs, args, NULL, out);
}

bool
typing_is_union(PyObject *object)
{
    return strcmp(Py_TYPE(object)->tp_name, "types.UnionType") == 0;
}

/* Hashing and comparing it runs none of the program's code, guarded. */
Answer
key_is_plain(Interp *in, PyObject *key)
{
    Answer answer = ANSWER_YES;
    if (object_is_plain(key) || array_scalar_check(key) || array_dtype_check(key))
        return ANSWER_YES;
    if (PyTuple_Check(key)) { /* also a named one with tuple's hash and equality */
        PyTypeObject *type = Py_TYPE(key);
        if (type != &PyTuple_Type) answer = type_inherits(in, type, "__hash__", &PyTuple_Type);
        if (type != &PyTuple_Type && answer == ANSWER_YES)
            answer = type_inherits(in, type, "__eq__", &PyTuple_Type);
        for (Py_ssize_t i = 0; answer == ANSWER_YES && i < PyTuple_GET_SIZE(key); i++)
            answer = key_is_plain(in, PyTuple_GET_ITEM(key, i));
        return answer;
    }
    if (is_enum_member(key)) return enum_is_plain(in, Py_TYPE(key), "__hash__", "__eq__");
    return type_is_by_identity(in, Py_TYPE(key));
}

Answer
type_is_by_identity(Interp *in, PyTypeObject *type)
{
    if (type->tp_hash != PyBaseObject_Type.tp_hash ||
        type->tp_richcompare != PyBaseObject_Type.tp_richcompare)
        return ANSWER_NO;
    Answer answer = type_inherits(in, type, "__hash__", &PyBaseObject_Type);
    return answer == ANSWER_YES ? type_inherits(in, type, "__eq__", &PyBaseObject_Type) : answer;
}

Answer
operator_result(Interp *in, PyObject *object, Value **out)
{
    if (object == NULL) return raise_error(in);
    *out = unshadow(in, object); /* each run needs a list of its own */
    Py_DECREF(object);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Constants whose operators run no code of the program. */
bool
operand_is_plain(PyObject *object)
{
    return object_is_pure(object) || array_scalar_check(object);
}

bool
object_has_nan(PyObject *object)
{
    if (PyFloat_Check(object)) return isnan(PyFloat_AS_DOUBLE(object));
    if (PyComplex_Check(object))
        return isnan(PyComplex_RealAsDouble(object)) || isnan(PyComplex_ImagAsDouble(object));
    if (PyTuple_Check(object))
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
            if (object_has_nan(PyTuple_GET_ITEM(object, i))) return true;
    return false;
}
