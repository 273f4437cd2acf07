/* The cache of functools.lru_cache, read without calling the wrapper: a call would be counted, and
   would run the function on a miss.

   The wrapper's C struct is not in the public headers; it is the same since 3.8.  Before the first
   use a wrapper is made and called as a test: if its fields are not where they are expected, no
   cache is ever read. */
#include "python.h"

typedef struct Link {
    PyObject_HEAD struct Link *prev, *next;
    Py_hash_t hash;
    PyObject *key, *result;
} Link;

typedef struct {
    Link root;
    ternaryfunc wrapper;
    int typed;
    PyObject *cache;
    Py_ssize_t hits;
    PyObject *func;
    Py_ssize_t maxsize;
    Py_ssize_t misses;
    PyObject *mark; /* separates positional from keyword arguments in a key */
    PyTypeObject *link_type;
} Wrapper;

static PyTypeObject *wrapper_type;
static int usable; /* 0 not asked yet, 1 yes, -1 no */

static PyObject *
entry(PyObject *object, PyObject *key)
{
    const Wrapper *wrapper = (Wrapper *)object;
    PyObject *found = PyDict_GetItemWithError(wrapper->cache, key);
    if (found == NULL) PyErr_Clear();
    return found != NULL && Py_TYPE(found) == wrapper->link_type ? ((Link *)found)->result : found;
}

/* Tests the struct on functools.lru_cache(maxsize)(str), called with 7. */
static bool
reads_right(PyObject *functools, PyObject *maxsize)
{
    PyObject *decorator = PyObject_CallMethod(functools, "lru_cache", "O", maxsize);
    PyObject *made = decorator ? PyObject_CallOneArg(decorator, (PyObject *)&PyUnicode_Type) : NULL;
    PyObject *key = PyLong_FromLong(7);
    PyObject *text = made && key ? PyObject_CallOneArg(made, key) : NULL;
    bool right = false;
    if (text != NULL && Py_TYPE(made) == wrapper_type &&
        wrapper_type->tp_basicsize >= (Py_ssize_t)sizeof(Wrapper)) {
        const Wrapper *wrapper = (Wrapper *)made;
        PyObject *type = (PyObject *)wrapper->link_type;
        right = wrapper->func == (PyObject *)&PyUnicode_Type && wrapper->typed == 0 &&
                wrapper->misses == 1 && wrapper->hits == 0 && wrapper->mark != NULL &&
                wrapper->cache != NULL && PyDict_CheckExact(wrapper->cache) && type != NULL &&
                Py_TYPE(type) == &PyType_Type &&
                strcmp(wrapper->link_type->tp_name, "functools._lru_list_elem") == 0 &&
                entry(made, key) == text;
    }
    PyErr_Clear();
    Py_XDECREF(decorator);
    Py_XDECREF(made);
    Py_XDECREF(key);
    Py_XDECREF(text);
    return right;
}

static bool
is_usable(void)
{
    if (usable != 0) return usable > 0;
    PyObject *functools = module_import("functools"), *two = PyLong_FromLong(2);
    PyObject *type = functools ? PyObject_GetAttrString(functools, "_lru_cache_wrapper") : NULL;
    usable = -1;
    if (type != NULL && PyType_Check(type) && two != NULL) {
        wrapper_type = (PyTypeObject *)type; /* never freed */
        usable = reads_right(functools, Py_None) && reads_right(functools, two) ? 1 : -1;
    }
    PyErr_Clear();
    Py_XDECREF(functools);
    Py_XDECREF(two);
    return usable > 0;
}

bool
lru_check(PyObject *object)
{
    if (strcmp(Py_TYPE(object)->tp_name, "functools._lru_cache_wrapper") != 0) return false;
    return is_usable() && Py_TYPE(object) == wrapper_type;
}

PyObject *
lru_find(PyObject *wrapper, PyObject *key)
{
    return entry(wrapper, key);
}

PyObject *
lru_key(PyObject *object, PyObject *args, PyObject *kwnames)
{
    const Wrapper *wrapper = (Wrapper *)object;
    Py_ssize_t all = PyTuple_GET_SIZE(args), nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (!wrapper->typed && nkw == 0) {
        PyObject *only = all == 1 ? PyTuple_GET_ITEM(args, 0) : args;
        bool alone = PyUnicode_CheckExact(only) || PyLong_CheckExact(only);
        return Py_NewRef(alone ? only : args);
    }
    PyObject *key = PyTuple_New(all + (nkw ? nkw + 1 : 0) + (wrapper->typed ? all : 0));
    Py_ssize_t at = 0;
    if (key == NULL) return NULL;
    for (Py_ssize_t i = 0; i < all - nkw; i++)
        PyTuple_SET_ITEM(key, at++, Py_NewRef(PyTuple_GET_ITEM(args, i)));
    if (nkw) PyTuple_SET_ITEM(key, at++, Py_NewRef(wrapper->mark));
    for (Py_ssize_t i = 0; i < nkw; i++) {
        PyTuple_SET_ITEM(key, at++, Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
        PyTuple_SET_ITEM(key, at++, Py_NewRef(PyTuple_GET_ITEM(args, all - nkw + i)));
    }
    for (Py_ssize_t i = 0; wrapper->typed && i < all; i++)
        PyTuple_SET_ITEM(key, at++, Py_NewRef((PyObject *)Py_TYPE(PyTuple_GET_ITEM(args, i))));
    return key;
}
