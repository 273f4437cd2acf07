/* Names of NumPy, looked up once.  NumPy imports some of its submodules (random, fft, polynomial,
   ma) when the program first reads them, which takes longer than a capture: a name in a module that
   is not imported yet gives NULL, and is looked up again next time. */
#include "numpy.h"

/* `from`.`name`, a new reference.  NULL without an error where it does not exist; *later is set
   where it may exist later. */
static PyObject *
part_of(PyObject *from, const char *name, bool last, bool *later)
{
    PyObject *found;
    if (PyModule_CheckExact(from)) {
        found = Py_XNewRef(PyDict_GetItemString(PyModule_GetDict(from), name));
        /* a submodule that is not imported, or a name of one that is being imported */
        *later = found == NULL && (!last || from != numpy_object(""));
    } else {
        found = PyObject_GetAttrString(from, name);
    }
    PyErr_Clear();
    return found;
}

/* A new reference; NULL without an error. */
static PyObject *
walk(const char *path, bool *later)
{
    char name[64];
    PyObject *object = *path == '\0' ? module_import("numpy") : Py_XNewRef(numpy_object(""));
    PyErr_Clear();
    while (object != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");
        if (length >= sizeof name) {
            Py_CLEAR(object);
            break;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        path += length + (path[length] == '.');
        Py_SETREF(object, part_of(object, name, *path == '\0', later));
    }
    return object;
}

PyObject *
numpy_object(const char *path)
{
    static PyObject *cache; /* path -> object, for the life of the process */
    if (cache == NULL && (cache = PyDict_New()) == NULL) return PyErr_Clear(), NULL;
    PyObject *found = PyDict_GetItemString(cache, path);
    if (found != NULL) return found == Py_None ? NULL : found;
    bool later = false;
    PyObject *object = walk(path, &later);
    if (object == NULL && later) return NULL;
    PyDict_SetItemString(cache, path, object == NULL ? Py_None : object);
    PyErr_Clear();
    Py_XDECREF(object); /* the cache keeps it */
    return object;
}

int
numpy_load_submodule(PyObject *module, PyObject *name)
{
    if (module != numpy_object("")) return 0;
    PyObject *names = PyDict_GetItemString(PyModule_GetDict(module), "__numpy_submodules__");
    if (names == NULL || !PySet_CheckExact(names)) return 0;
    int known = PySet_Contains(names, name);
    if (known <= 0) return known;
    PyObject *path = PyUnicode_FromFormat("numpy.%U", name);
    const char *text = path != NULL ? PyUnicode_AsUTF8(path) : NULL;
    PyObject *loaded = text != NULL ? module_import(text) : NULL;
    Py_XDECREF(path);
    if (loaded == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Clear(); /* CPython will raise it */
    Py_XDECREF(loaded);
    return 0;
}
