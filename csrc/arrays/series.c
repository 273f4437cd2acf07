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
    return *out == DT_F64 || PyLong_CheckExact(PyList_GET_ITEM(object, 0));
}

bool
series_is_even(PyObject *object, DType dtype)
{
    enum { MOST = 1 << 16 }; /* what comes behind, a run looks at */
    int64_t word;
    Py_ssize_t length = PyList_CheckExact(object) ? PyList_GET_SIZE(object) : 0;
    for (Py_ssize_t i = 0; i < Py_MIN(length, MOST); i++)
        if (!item_word(PyList_GET_ITEM(object, i), dtype, &word)) return false;
    return true;
}

int64_t
series_length(PyObject *object, DType dtype)
{
    DType now = dtype;
    bool empty = PyList_CheckExact(object) && PyList_GET_SIZE(object) == 0;
    if (empty) return dtype == DT_F64 || dtype == DT_I64 ? 0 : -1;
    if (!series_dtype(object, &now) || now != dtype) return -1;
    return PyBytes_CheckExact(object)     ? PyBytes_GET_SIZE(object)
           : PyUnicode_CheckExact(object) ? PyUnicode_GET_LENGTH(object)
                                          : PyList_GET_SIZE(object);
}

PyObject *
series_array(DType dtype, int64_t length)
{
    int64_t size = (int64_t)dtype_size(dtype);
    return array_new(dtype, 1, &length, &size);
}

/* The header of the array where the object may be in it still. */
static bool
fits(PyObject *object, PyObject *array, DType *dtype, ArrayHeader *header)
{
    if (array_header(array, header) != ANSWER_YES || header->rank != 1) return false;
    *dtype = header->dtype;
    return series_length(object, *dtype) == header->shape[0];
}

bool
series_fill(PyObject *object, PyObject *array)
{
    DType dtype;
    ArrayHeader header;
    if (!fits(object, array, &dtype, &header)) return false;
    int64_t length = header.shape[0];
    if (dtype == DT_U8) {
        memcpy(header.data, PyBytes_AS_STRING(object), (size_t)length);
        return true;
    }
    if (dtype == DT_U32) {
        bool filled = PyUnicode_AsUCS4(object, (Py_UCS4 *)(void *)header.data, length, 0) != NULL;
        PyErr_Clear();
        return filled;
    }
    for (int64_t i = 0; i < length; i++) {
        int64_t word;
        if (!item_word(PyList_GET_ITEM(object, i), dtype, &word)) return false;
        memcpy(header.data + i * 8, &word, sizeof word);
    }
    return true;
}

bool
series_is(PyObject *object, PyObject *array)
{
    DType dtype;
    ArrayHeader header;
    if (!fits(object, array, &dtype, &header)) return false;
    int64_t length = header.shape[0], i = 0, word;
    const uint32_t *letters = (const uint32_t *)(const void *)header.data;
    if (dtype == DT_U8) return memcmp(header.data, PyBytes_AS_STRING(object), (size_t)length) == 0;
    if (dtype == DT_U32)
        while (i < length && letters[i] == PyUnicode_READ_CHAR(object, i)) i++;
    else
        while (i < length && item_word(PyList_GET_ITEM(object, i), dtype, &word) &&
               memcmp(header.data + i * 8, &word, sizeof word) == 0)
            i++;
    return i == length;
}
