/* Warnings issued by library functions that a plan or capture calls.

   A plan must not issue a warning itself: there is no frame at the line that it belongs to.  So
   while such a function runs, a warning in this thread is raised as an error (the plan deopts, and
   CPython's rerun warns as the program would) or ignored (in a trial, of which only the results
   matter).

   For this a filter is inserted at the front of warnings.filters and removed again, in place.
   Nothing else is changed: `catch_warnings` would make every module forget which warnings it has
   issued.  The filter's category is a class that matches a warning only in a thread that asks for
   it, so other threads see no difference. */
#include "numpy_api.h"

static _Thread_local int modes[2]; /* how often each mode was begun in this thread: raise, ignore */
static PyObject *rows[2], *warnings_dict, *filters_name;

static int
prepare(void)
{
    PyObject *filters = module_import("pycompile._filters");
    PyObject *warnings = module_import("warnings");
    PyObject *made = filters ? PyObject_GetAttrString(filters, "FILTERS") : NULL;
    if (made != NULL && warnings != NULL && PyTuple_CheckExact(made) &&
        PyTuple_GET_SIZE(made) == 2) {
        for (int i = 0; i < 2; i++) rows[i] = Py_NewRef(PyTuple_GET_ITEM(made, i));
        filters_name = PyUnicode_InternFromString("filters");
        if (filters_name != NULL) warnings_dict = Py_NewRef(PyModule_GetDict(warnings));
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_SystemError, "pycompile._filters.FILTERS is not a pair");
    }
    Py_XDECREF(filters);
    Py_XDECREF(warnings);
    Py_XDECREF(made);
    return warnings_dict != NULL ? 0 : -1;
}

bool
array_warnings_active(ArrayWarnings mode)
{
    return modes[mode] > 0;
}

PyObject *
array_warnings_begin(ArrayWarnings mode)
{
    if (warnings_dict == NULL && prepare() < 0) return NULL;
    PyObject *filters = PyDict_GetItemWithError(warnings_dict, filters_name);
    if (filters == NULL || !PyList_CheckExact(filters)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "warnings.filters is no list");
        return NULL;
    }
    if (PyList_Insert(filters, 0, rows[mode]) < 0) return NULL;
    modes[mode]++;
    return Py_NewRef(filters);
}

void
array_warnings_end(ArrayWarnings mode, PyObject *filters)
{
    modes[mode]--;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); i++) {
        if (PyList_GET_ITEM(filters, i) != rows[mode]) continue;
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (PyList_SetSlice(filters, i, i + 1, NULL) < 0) PyErr_Clear(); /* it only shrinks */
        PyErr_Restore(type, value, traceback);
        break;
    }
    Py_DECREF(filters);
}
