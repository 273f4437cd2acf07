/* Whether dropping a reference runs code of the program's. */
#include "../python/python.h"
#include "numpy_api.h"

enum { MAX_DEPTH = 8 };

/* Python's and NumPy's own numbers and strings, which hold no references. */
static bool
is_plain(PyObject *object)
{
    if (PyArray_IsScalar(object, Void) || PyArray_IsScalar(object, Object)) return false;
    bool is_heap_class = Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE;
    return !is_heap_class &&
           (PyArray_IsScalar(object, Generic) || PyLong_Check(object) || PyFloat_Check(object) ||
            PyComplex_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object));
}

static bool
ends_quietly(PyObject *object, int depth)
{
    if (depth == 0 && Py_REFCNT(object) > 1) return true; /* others hold it, too */
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        PyObject **items = PySequence_Fast_ITEMS(object);
        for (Py_ssize_t i = PySequence_Fast_GET_SIZE(object); i-- > 0;)
            if (depth == MAX_DEPTH || !ends_quietly(items[i], depth + 1)) return false;
        return true;
    }
    if (!PyArray_CheckExact(object)) return is_plain(object);
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyDataType_REFCHK(PyArray_DESCR(array)) || object_end_is_told(object) ||
        PyArray_CHKFLAGS(array, NPY_ARRAY_WRITEBACKIFCOPY))
        return false;
    PyObject *base = PyArray_BASE(array);
    return base == NULL || (depth < MAX_DEPTH && ends_quietly(base, depth + 1));
}

bool
array_ends_quietly(PyObject *object)
{
    return ends_quietly(object, 0);
}
