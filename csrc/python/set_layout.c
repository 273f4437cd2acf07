/* Sets with the layout of their table.  The order of iteration depends on a set's history, so a
   copy made by adding the entries again could have another order.  PySetObject is in the public
   headers of all versions; a dummy (a deleted entry) is a key with hash -1. */
#include "python.h"

static bool
is_entry(const setentry *entry)
{
    return entry->key != NULL && entry->hash != -1;
}

PyObject *
set_clone(PyObject *set)
{
    const PySetObject *from = (PySetObject *)set;
    /* Not PyFrozenSet_New(NULL), which returns a shared object. */
    PyObject *made = Py_TYPE(set)->tp_alloc(Py_TYPE(set), 0);
    PySetObject *to = (PySetObject *)made;
    if (made == NULL) return NULL;
    size_t size = ((size_t)from->mask + 1) * sizeof(setentry);
    to->table = to->smalltable;
    to->hash = -1;
    if (from->table != from->smalltable) {
        setentry *table = PyMem_Malloc(size);
        if (table == NULL) {
            Py_DECREF(made);
            PyErr_NoMemory();
            return NULL;
        }
        to->table = table;
    }
    to->mask = from->mask;
    to->fill = from->fill;
    to->used = from->used;
    to->finger = from->finger;
    memcpy(to->table, from->table, size);
    for (Py_ssize_t i = 0; i <= to->mask; i++) Py_XINCREF(to->table[i].key);
    return made;
}

void
set_lend(PyObject *set)
{
    const PySetObject *of = (PySetObject *)set;
    PyObject_GC_UnTrack(set);
    for (Py_ssize_t i = 0; i <= of->mask; i++) Py_XDECREF(of->table[i].key);
}

void
set_forget(PyObject *set)
{
    PySetObject *of = (PySetObject *)set;
    memset(of->table, 0, ((size_t)of->mask + 1) * sizeof(setentry));
    of->fill = of->used = 0;
}

bool
set_same_layout(PyObject *a, PyObject *b, bool (*equal)(PyObject *, PyObject *))
{
    const PySetObject *x = (PySetObject *)a, *y = (PySetObject *)b;
    if (x->mask != y->mask || x->used != y->used || x->fill != y->fill || x->finger != y->finger)
        return false;
    for (Py_ssize_t i = 0; i <= x->mask; i++) {
        const setentry *p = &x->table[i], *q = &y->table[i];
        if ((p->key == NULL) != (q->key == NULL) || is_entry(p) != is_entry(q)) return false;
        if (is_entry(p) && (p->hash != q->hash || !equal(p->key, q->key))) return false;
    }
    return true;
}

bool
set_next(PyObject *set, Py_ssize_t *at, PyObject **key)
{
    const PySetObject *of = (PySetObject *)set;
    for (; *at <= of->mask; ++*at) {
        if (!is_entry(&of->table[*at])) continue;
        *key = of->table[(*at)++].key;
        return true;
    }
    return false;
}
