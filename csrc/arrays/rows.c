/* The list of what a kept loop has appended: Python's objects out of words.

   In: the array of two ints that element_append leaves (graph/graph.h): the address of the words,
   and their number.  A number has one word, in whose lowest bytes it is, a complex one two.  A
   RowsForm says what an item is: a number, or a tuple of several. */
#include "../python/python.h"
#include "library.h"

enum { WORD = 8, LOOK_AFTER = 1 << 16 /* items: a millisecond or two */ };
static const char FORM_NAME[] = "pycompile.RowsForm";

static int64_t
words_of(DType dtype)
{
    return ((int64_t)dtype_size(dtype) + WORD - 1) / WORD;
}

static PyObject *
item_of(const RowsForm *form, const char *words)
{
    if (!form->tuple) return array_box((DType)form->number[0].dtype, words, form->number[0].python);
    PyObject *item = PyTuple_New(form->numbers);
    for (int i = 0; item != NULL && i < form->numbers; i++) {
        DType dtype = (DType)form->number[i].dtype;
        PyObject *number = array_box(dtype, words, form->number[i].python);
        if (number == NULL)
            Py_CLEAR(item);
        else
            PyTuple_SET_ITEM(item, i, number);
        words += WORD * words_of(dtype);
    }
    return item;
}

PyObject *
array_rows_list(const RowsForm *form, const int64_t *rows)
{
    const char *words = (const char *)(intptr_t)rows[0];
    int64_t each = 0;
    for (int i = 0; i < form->numbers; i++) each += words_of((DType)form->number[i].dtype);
    Py_ssize_t count = (Py_ssize_t)(rows[1] / each);
    PyThreadState *thread = PyThreadState_Get();
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyObject *item = NULL;
        if (i % LOOK_AFTER == 0 && signal_is_pending(thread)) /* CPython then does the loop */
            PyErr_SetString(PyExc_InterruptedError, "a signal");
        else
            item = item_of(form, words + i * each * WORD);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* ---- as a callable ---- */

static PyObject *
rows_list(PyObject *self, PyObject *rows)
{
    ArrayHeader header;
    Answer answer = array_header(rows, &header);
    if (answer == ANSWER_ERROR) return NULL;
    if (answer == ANSWER_NO || header.dtype != DT_I64 || header.rank != 1 || header.shape[0] != 2)
        return PyErr_Format(PyExc_TypeError, "no rows that a loop has left");
    return array_rows_list(PyCapsule_GetPointer(self, FORM_NAME), (const int64_t *)header.data);
}

static void
free_form(PyObject *self)
{
    PyMem_Free(PyCapsule_GetPointer(self, FORM_NAME));
}

const RowsForm *
array_rows_form(PyObject *callable)
{
    if (!PyCFunction_CheckExact(callable) || PyCFunction_GET_FUNCTION(callable) != rows_list)
        return NULL;
    return PyCapsule_GetPointer(PyCFunction_GET_SELF(callable), FORM_NAME);
}

PyObject *
array_rows_callable(const RowsForm *form)
{
    static PyMethodDef method = {"appended", rows_list, METH_O, NULL};
    RowsForm *own = PyMem_Malloc(sizeof *form);
    if (own == NULL) return PyErr_NoMemory();
    *own = *form;
    PyObject *self = PyCapsule_New(own, FORM_NAME, free_form);
    if (self == NULL) PyMem_Free(own);
    PyObject *callable = self != NULL ? PyCFunction_New(&method, self) : NULL;
    Py_XDECREF(self);
    return callable;
}
