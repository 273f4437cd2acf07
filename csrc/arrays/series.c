/* The numbers of a list, of bytes or of text as an array: Python's objects read into words.

   In: a list whose items are all exact ints of 64 bits, or all exact floats; bytes; a str.  Out: an
   array of int64, float64, uint8, or, with the numbers of its letters, uint32.  No code of Python's
   runs. */
#include "../python/python.h"
#include "arrays.h"
#include "library.h"

static bool
item_word(PyObject *item, DType dtype, int64_t *out)
{
    if (dtype == DT_F64) {
        double number = PyFloat_CheckExact(item) ? PyFloat_AS_DOUBLE(item) : 0;
        memcpy(out, &number, sizeof number);
        return PyFloat_CheckExact(item);
    }
    int overflow;
    if (!PyLong_CheckExact(item)) return false;
    *out = PyLong_AsLongLongAndOverflow(item, &overflow);
    return overflow == 0;
}

bool
series_dtype(PyObject *object, DType *out)
{
    if (PyBytes_CheckExact(object) || PyUnicode_CheckExact(object)) {
        *out = PyBytes_CheckExact(object) ? DT_U8 : DT_U32;
        return true;
    }
    if (!PyList_CheckExact(object) || PyList_GET_SIZE(object) == 0) return false;
    *out = PyFloat_CheckExact(PyList_GET_ITEM(object, 0)) ? DT_F64 : DT_I64;
    int64_t word;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); i++)
        if (!item_word(PyList_GET_ITEM(object, i), *out, &word)) return false;
    return true;
}

static int64_t
length_of(PyObject *object)
{
    return PyBytes_CheckExact(object)     ? PyBytes_GET_SIZE(object)
           : PyUnicode_CheckExact(object) ? PyUnicode_GET_LENGTH(object)
                                          : PyList_GET_SIZE(object);
}

/* How many bytes at the front are the object's already; -1: it is no series of this dtype. */
static int64_t
same_bytes(PyObject *object, DType dtype, const char *data, int64_t length)
{
    if (dtype == DT_U8) return memcmp(data, PyBytes_AS_STRING(object), (size_t)length) ? 0 : length;
    int64_t i = 0, word;
    const uint32_t *letters = (const uint32_t *)data;
    if (dtype == DT_U32) {
        while (i < length && letters[i] == PyUnicode_READ_CHAR(object, i)) i++;
        return i * 4;
    }
    for (; i < length; i++) {
        if (!item_word(PyList_GET_ITEM(object, i), dtype, &word)) return -1;
        if (memcmp(data + i * 8, &word, sizeof word) != 0) break;
    }
    return i * 8;
}

static bool
read_items(PyObject *object, DType dtype, int64_t from, int64_t length, char *data)
{
    if (dtype == DT_U8) {
        memcpy(data, PyBytes_AS_STRING(object), (size_t)length);
        return true;
    }
    if (dtype == DT_U32) return PyUnicode_AsUCS4(object, (Py_UCS4 *)data, length, 0) != NULL;
    for (int64_t i = from; i < length; i++) {
        int64_t word;
        if (!item_word(PyList_GET_ITEM(object, i), dtype, &word)) return false;
        memcpy(data + i * 8, &word, sizeof word);
    }
    return true;
}

static bool
has_class(PyObject *object, DType dtype)
{
    return dtype == DT_U8    ? PyBytes_CheckExact(object)
           : dtype == DT_U32 ? PyUnicode_CheckExact(object)
                             : PyList_CheckExact(object);
}

PyObject *
series_array(PyObject *object, DType dtype, PyObject *last)
{
    if (!has_class(object, dtype)) return NULL;
    int64_t length = length_of(object), size = (int64_t)dtype_size(dtype), same = 0;
    ArrayHeader header;
    if (last != NULL && array_header(last, &header) == ANSWER_YES && header.shape[0] == length) {
        if ((same = same_bytes(object, dtype, header.data, length)) < 0) return NULL;
        if (same == length * size) return Py_NewRef(last);
        if (Py_REFCNT(last) == 1)
            return read_items(object, dtype, same / size, length, header.data) ? Py_NewRef(last)
                                                                               : NULL;
    }
    PyObject *array = array_new(dtype, 1, &length, &size);
    if (array != NULL && !read_items(object, dtype, 0, length, array_data(array))) Py_CLEAR(array);
    return array;
}
