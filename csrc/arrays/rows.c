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

int64_t
array_rows_words(const RowsForm *form)
{
    int64_t each = form->tagged;
    for (int i = 0; i < form->numbers; i++) each += words_of((DType)form->number[i].dtype);
    return each;
}

/* `classes`: a bit for each number that is NumPy's where it may be either. */
static PyObject *
number_of(const RowsForm *form, int i, int64_t classes, const char *words)
{
    bool numpy = form->number[i].either ? (classes >> i & 1) != 0 : !form->number[i].python;
    return array_box((DType)form->number[i].dtype, words, !numpy);
}

static PyObject *
item_of(const RowsForm *form, int64_t classes, const char *words)
{
    if (!form->tuple) return number_of(form, 0, classes, words);
    PyObject *item = PyTuple_New(form->numbers);
    for (int i = 0; item != NULL && i < form->numbers; i++) {
        DType dtype = (DType)form->number[i].dtype;
        PyObject *number = number_of(form, i, classes, words);
        if (number == NULL)
            Py_CLEAR(item);
        else
            PyTuple_SET_ITEM(item, i, number);
        words += WORD * words_of(dtype);
    }
    return item;
}

/* Item number `i`; of a tagged one that was there before, the object itself. */
static PyObject *
rows_item(const RowsForm *form, const char *words, PyObject *before)
{
    int64_t tag = 0;
    if (!form->tagged) return item_of(form, 0, words);
    memcpy(&tag, words, sizeof tag);
    if (tag >> TAG_CLASSES > 0)
        return Py_NewRef(PyTuple_GET_ITEM(before, (tag >> TAG_CLASSES) - 1));
    return item_of(form, tag, words + WORD);
}

/* `before`: the items of before, where they are tagged. */
static PyObject *
list_of_rows(const RowsForm *form, const int64_t *rows, PyObject *before)
{
    const char *words = (const char *)(intptr_t)rows[0];
    int64_t each = array_rows_words(form);
    Py_ssize_t count = (Py_ssize_t)(rows[1] / each);
    PyThreadState *thread = PyThreadState_Get();
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyObject *item = NULL;
        if (i % LOOK_AFTER == 0 && signal_is_pending(thread)) /* CPython then does the loop */
            PyErr_SetString(PyExc_InterruptedError, "a signal");
        else
            item = rows_item(form, words + i * each * WORD, before);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* As list_of_rows; keys that were there before stay the objects that they are. */
static PyObject *
dict_of_rows(const RowsForm *form, const int64_t *rows, PyObject *before)
{
    PyObject *items = list_of_rows(form, rows, before), *dict = items ? PyDict_New() : NULL;
    int failed = dict == NULL || PyDict_MergeFromSeq2(dict, before, 1) < 0 ||
                 PyDict_MergeFromSeq2(dict, items, 1) < 0;
    Py_XDECREF(items);
    if (failed) Py_CLEAR(dict);
    return dict;
}

PyObject *
array_rows_list(const RowsForm *form, const int64_t *rows)
{
    return list_of_rows(form, rows, NULL);
}

/* ---- as a callable ---- */

/* The array's two ints; NULL with the error set. */
static const int64_t *
two_ints(PyObject *rows)
{
    ArrayHeader header;
    Answer answer = array_header(rows, &header);
    bool fits = answer == ANSWER_YES && header.dtype == DT_I64 && header.rank == 1;
    if (fits && header.shape[0] == 2) return (const int64_t *)header.data;
    if (answer != ANSWER_ERROR) PyErr_SetString(PyExc_TypeError, "no rows that a loop has left");
    return NULL;
}

static PyObject *
rows_list(PyObject *self, PyObject *rows)
{
    const int64_t *ints = two_ints(rows);
    return ints == NULL ? NULL : array_rows_list(PyCapsule_GetPointer(self, FORM_NAME), ints);
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

static PyObject *
callable_of_form(PyMethodDef *method, const RowsForm *form)
{
    RowsForm *own = PyMem_Malloc(sizeof *form);
    if (own == NULL) return PyErr_NoMemory();
    *own = *form;
    PyObject *self = PyCapsule_New(own, FORM_NAME, free_form);
    if (self == NULL) PyMem_Free(own);
    PyObject *callable = self != NULL ? PyCFunction_New(method, self) : NULL;
    Py_XDECREF(self);
    return callable;
}

PyObject *
array_rows_callable(const RowsForm *form)
{
    static PyMethodDef method = {"appended", rows_list, METH_O, NULL};
    return callable_of_form(&method, form);
}

/* ---- a list that a loop changes ---- */

static const char OPENED_NAME[] = "pycompile.ListOpened";

typedef struct {
    PyObject *list;  /* of the program, or a deque, or NULL */
    PyObject *items; /* a tuple: what was in it */
    int64_t words;
    int64_t word[];
} ListOpened;

static void
free_opened(PyObject *capsule)
{
    ListOpened *opened = PyCapsule_GetPointer(capsule, OPENED_NAME);
    Py_XDECREF(opened->list);
    Py_DECREF(opened->items);
    PyMem_Free(opened);
}

/* What is Python's and has the dtype; no code of Python's runs. */
static bool
python_word(PyObject *object, DType dtype, int64_t *word)
{
    int overflow = 0;
    if (dtype == DT_F64 && PyFloat_CheckExact(object)) {
        double number = PyFloat_AS_DOUBLE(object);
        memcpy(word, &number, sizeof number);
        return true;
    }
    if (dtype != DT_I64 || !PyLong_CheckExact(object)) return false;
    *word = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

/* The word of number `i` of an item, and its bit of the tag; false: it has not the form. */
static bool
word_of(const RowsForm *form, int i, PyObject *object, int64_t *word, int64_t *tag)
{
    DType own = (DType)form->number[i].dtype, dtype;
    char bytes[16];
    if (form->number[i].python && python_word(object, own, word)) return true;
    if (form->number[i].python && !form->number[i].either) return false;
    if (array_scalar_read(object, &dtype, bytes) != ANSWER_YES || dtype != own) return false;
    *word = 0;
    memcpy(word, bytes, dtype_size(own));
    *tag |= INT64_C(1) << i;
    return true;
}

static bool
words_of_item(const RowsForm *form, PyObject *item, int64_t number, int64_t *words)
{
    words[0] = (number + 1) << TAG_CLASSES;
    if (!form->tuple) return word_of(form, 0, item, words + 1, words);
    if (!PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) != form->numbers) return false;
    for (int i = 0; i < form->numbers; i++)
        if (!word_of(form, i, PyTuple_GET_ITEM(item, i), words + 1 + i, words)) return false;
    return true;
}

static bool
number_form(PyObject *object, RowsForm *form, int i)
{
    DType dtype = PyFloat_CheckExact(object) ? DT_F64 : DT_I64;
    char bytes[16];
    int64_t word;
    bool python = python_word(object, dtype, &word);
    if (!python && array_scalar_read(object, &dtype, bytes) != ANSWER_YES) return false;
    form->number[i].dtype = (uint8_t)dtype;
    form->number[i].python = python;
    return dtype_size(dtype) <= WORD && !dtype_is_complex(dtype);
}

bool
array_rows_form_of(PyObject *item, RowsForm *out)
{
    memset(out, 0, sizeof *out);
    out->tagged = true;
    out->numbers = 1;
    out->tuple = PyTuple_CheckExact(item);
    if (!out->tuple) return number_form(item, out, 0);
    if (PyTuple_GET_SIZE(item) < 1 || PyTuple_GET_SIZE(item) > ROWS_NUMBERS) return false;
    out->numbers = (uint8_t)PyTuple_GET_SIZE(item);
    for (int i = 0; i < out->numbers; i++)
        if (!number_form(PyTuple_GET_ITEM(item, i), out, i)) return false;
    return true;
}

static PyObject *
open_items(const RowsForm *form, PyObject *items, PyObject *list)
{
    int64_t each = array_rows_words(form), count = PyTuple_GET_SIZE(items);
    ListOpened *opened = PyMem_Malloc(sizeof *opened + (size_t)(count * each * WORD));
    if (opened == NULL) return PyErr_NoMemory();
    *opened = (ListOpened){.words = count * each};
    for (int64_t i = 0; i < count; i++)
        if (!words_of_item(form, PyTuple_GET_ITEM(items, i), i, opened->word + i * each)) {
            PyMem_Free(opened);
            return PyErr_Format(PyExc_TypeError, "an item of another class");
        }
    PyObject *capsule = PyCapsule_New(opened, OPENED_NAME, free_opened);
    if (capsule == NULL) {
        PyMem_Free(opened);
        return NULL;
    }
    opened->list = Py_XNewRef(list);
    opened->items = Py_NewRef(items);
    return capsule;
}

PyObject *
array_list_opened(const RowsForm *form, PyObject *items)
{
    return open_items(form, items, NULL);
}

static PyObject *
list_open(PyObject *self, PyObject *list)
{
    if (!PyList_CheckExact(list) && !deque_check(list))
        return PyErr_Format(PyExc_TypeError, "no list");
    PyObject *items = PySequence_Tuple(list);
    PyObject *opened =
        items ? open_items(PyCapsule_GetPointer(self, FORM_NAME), items, list) : NULL;
    Py_XDECREF(items);
    return opened;
}

/* The numbers of each item follow one another. */
static PyObject *
tuples_of(PyObject *numbers, int each)
{
    Py_ssize_t count = PyTuple_GET_SIZE(numbers) / each;
    PyObject *items = PyTuple_New(count);
    for (Py_ssize_t i = 0; items != NULL && i < count; i++) {
        PyObject *item = PyTuple_GetSlice(numbers, i * each, (i + 1) * each);
        if (item == NULL)
            Py_CLEAR(items);
        else
            PyTuple_SET_ITEM(items, i, item);
    }
    return items;
}

static PyObject *
list_gather(PyObject *self, PyObject *numbers)
{
    const RowsForm *form = PyCapsule_GetPointer(self, FORM_NAME);
    bool tuples = form->tuple && form->numbers > 0; /* of a dict that stays empty nobody knows */
    PyObject *items = tuples ? tuples_of(numbers, form->numbers) : Py_NewRef(numbers);
    PyObject *opened = items != NULL ? open_items(form, items, NULL) : NULL;
    Py_XDECREF(items);
    return opened;
}

static PyObject *
list_begin(PyObject *Py_UNUSED(self), PyObject *capsule)
{
    const int64_t two = 2, size = 8;
    const ListOpened *opened = PyCapsule_GetPointer(capsule, OPENED_NAME);
    PyObject *rows = opened != NULL ? array_new(DT_I64, 1, &two, &size) : NULL;
    if (rows == NULL) return NULL;
    int64_t ints[2] = {(int64_t)(intptr_t)opened->word, opened->words};
    memcpy(array_data(rows), ints, sizeof ints);
    return rows;
}

/* Another thread may have changed it while the loop ran. */
static bool
is_as_opened(const ListOpened *opened)
{
    PyObject *items = opened->items;
    if (opened->list == NULL) return true;
    PyObject *now = PySequence_Fast(opened->list, ""); /* a list is not copied */
    bool same = now != NULL && PySequence_Fast_GET_SIZE(now) == PyTuple_GET_SIZE(items);
    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(items); i++)
        same = PySequence_Fast_GET_ITEM(now, i) == PyTuple_GET_ITEM(items, i);
    Py_XDECREF(now);
    PyErr_Clear();
    return same;
}

static PyObject *
list_close(PyObject *self, PyObject *args)
{
    PyObject *capsule, *rows;
    if (!PyArg_ParseTuple(args, "OO", &capsule, &rows)) return NULL;
    const ListOpened *opened = PyCapsule_GetPointer(capsule, OPENED_NAME);
    const int64_t *ints = opened != NULL ? two_ints(rows) : NULL;
    if (ints == NULL) return NULL;
    if (!is_as_opened(opened)) return PyErr_Format(PyExc_RuntimeError, "the list has changed");
    const RowsForm *form = PyCapsule_GetPointer(self, FORM_NAME);
    return (form->keyed ? dict_of_rows : list_of_rows)(form, ints, opened->items);
}

PyObject *
array_list_open_callable(const RowsForm *form)
{
    static PyMethodDef method = {"opened", list_open, METH_O, NULL};
    return callable_of_form(&method, form);
}

PyObject *
array_list_gather_callable(const RowsForm *form)
{
    static PyMethodDef method = {"gathered", list_gather, METH_VARARGS, NULL};
    return callable_of_form(&method, form);
}

PyObject *
array_list_begin_callable(void)
{
    static PyMethodDef method = {"begun", list_begin, METH_O, NULL};
    return PyCFunction_New(&method, NULL);
}

PyObject *
array_list_close_callable(const RowsForm *form)
{
    static PyMethodDef method = {"closed", list_close, METH_VARARGS, NULL};
    return callable_of_form(&method, form);
}
