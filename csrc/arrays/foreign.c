/* Ufuncs of other libraries: which of them several threads may run at once, and when.

   A loop reports an error with the Python C API, in the thread that runs it: a thread of the pool
   has no Python state, no errstate of the library's and no filters of warnings.  So a loop is
   shared only while its library reports nothing, as its own function says; running out of memory,
   which every library reports, is noticed by the caller (thread_states_made). */
#include "numpy_api.h"

static const struct {
    const char *module, *states;
} libraries[] = {
#define LIBRARY(module, states) {module, states},
#define FOREIGN(module, name)
#include "foreign.def"
};

static const struct {
    const char *module, *name;
} shared[] = {
#define LIBRARY(module, states)
#define FOREIGN(module, name) {module, name},
#include "foreign.def"
};

bool
foreign_is_shared(PyObject *ufunc)
{
    for (int i = 0; i < COUNT_OF(shared); i++) {
        if (strcmp(shared[i].name, ufunc_name(ufunc)) != 0) continue;
        PyObject *module = module_loaded(shared[i].module);
        PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, shared[i].name);
        PyErr_Clear();
        Py_XDECREF(module);
        Py_XDECREF(found); /* the module has it */
        if (found == ufunc) return true;
    }
    return false;
}

/* Does the dict say "ignore" for all but want of memory? */
static bool
ignores_all(PyObject *states)
{
    PyObject *name, *state;
    Py_ssize_t at = 0;
    if (!PyDict_CheckExact(states)) return false;
    while (PyDict_Next(states, &at, &name, &state))
        if (!PyUnicode_Check(name) || !PyUnicode_Check(state) ||
            (PyUnicode_CompareWithASCIIString(state, "ignore") != 0 &&
             PyUnicode_CompareWithASCIIString(name, "memory") != 0))
            return false;
    return true;
}

bool
foreign_is_silent(void)
{
    for (int i = 0; i < COUNT_OF(libraries); i++) {
        PyObject *module = module_loaded(libraries[i].module);
        if (module == NULL) continue;
        PyObject *states = PyObject_CallMethod(module, libraries[i].states, NULL);
        bool silent = states != NULL && ignores_all(states);
        PyErr_Clear();
        Py_XDECREF(states);
        Py_DECREF(module);
        if (!silent) return false;
    }
    return true;
}
