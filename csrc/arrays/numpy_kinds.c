/* Kinds of dtypes, for the break codes of arrays that are not compiled. */
#include "numpy_api.h"

/* The dtype of an array, an array scalar or a scalar type, or the dtype itself; a new reference. */
static PyArray_Descr *
descr_of(PyObject *object)
{
    if (PyArray_DescrCheck(object)) return (PyArray_Descr *)Py_NewRef(object);
    if (PyArray_Check(object))
        return (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)object));
    if (PyArray_IsScalar(object, Generic)) return PyArray_DescrFromScalar(object);
    PyArray_Descr *descr = NULL;
    bool named = PyType_Check(object) || PyUnicode_CheckExact(object);
    if (!named || !PyArray_DescrConverter(object, &descr)) PyErr_Clear();
    return descr;
}

bool
array_is_singleton_dtype(PyObject *object)
{
    if (!PyArray_DescrCheck(object)) return false;
    if (object == (PyObject *)numpy_bfloat16()) return true;
    int number = ((PyArray_Descr *)object)->type_num;
    if (!PyTypeNum_ISNUMBER(number) && number != NPY_BOOL && number != NPY_OBJECT) return false;
    PyArray_Descr *descr = PyArray_DescrFromType(number);
    bool same = (PyObject *)descr == object;
    Py_XDECREF(descr);
    return same;
}

bool
array_dtype_check(PyObject *object)
{
    if (!PyArray_DescrCheck(object)) return false;
    if (object == (PyObject *)numpy_bfloat16()) return true;
    int number = ((PyArray_Descr *)object)->type_num;
    return number >= 0 && number < NPY_NTYPES_LEGACY && Py_TYPE(object)->tp_dictoffset == 0;
}

bool
array_any_dtype_check(PyObject *object)
{
    return PyArray_DescrCheck(object);
}

ArrayKind
array_kind(PyObject *object)
{
    PyArray_Descr *descr = descr_of(object);
    if (descr == NULL) {
        PyErr_Clear();
        return KIND_NONE;
    }
    ArrayKind kind = KIND_NUMBER;
    int number = descr->type_num;
    if (PyDataType_HASFIELDS(descr)) /* numbers can have fields, too */
        kind = KIND_STRUCTURED;
    else if (number == NPY_OBJECT)
        kind = KIND_OBJECT;
    else if (number == NPY_STRING || number == NPY_UNICODE || number == NPY_VSTRING)
        kind = KIND_STRING;
    else if (number == NPY_DATETIME || number == NPY_TIMEDELTA)
        kind = KIND_DATE;
    else if (number == NPY_VOID)
        kind = KIND_OTHER;
    else if (number == NPY_LONGDOUBLE || number == NPY_CLONGDOUBLE)
        kind = KIND_LONG;
    else if ((number == NPY_LONGLONG && NPY_INT64 != NPY_LONGLONG) ||
             (number == NPY_ULONGLONG && NPY_UINT64 != NPY_ULONGLONG))
        kind = KIND_LONG_LONG;
    else if (!PyArray_ISNBO(descr->byteorder))
        kind = KIND_SWAPPED;
    else if (!PyTypeNum_ISNUMBER(number) && number != NPY_BOOL)
        kind = KIND_OTHER;
    Py_DECREF(descr);
    return kind;
}
