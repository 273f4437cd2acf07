/* Backends that are Python callables: reporting that one fails.
   The program then continues in CPython, and a warning, once per backend, is the only sign. The
   "eager" backend is not reported: an exception in its calls is the program's own. */
#include "hooks.h"

static bool
is_ours(PyObject *backend)
{
    PyObject *module = PyObject_GetAttrString(backend, "__module__");
    bool ours = module != NULL && PyUnicode_Check(module) &&
                PyUnicode_CompareWithASCIIString(module, "pycompile._eager") == 0;
    Py_XDECREF(module);
    PyErr_Clear();
    return ours;
}

/* Compared by address: configurations, and so their backends, live for ever. */
static bool
is_news(PyObject *backend)
{
    static PyObject *told;
    PyObject *key = PyLong_FromVoidPtr(backend);
    if (told == NULL) told = PySet_New(NULL);
    bool news =
        key != NULL && told != NULL && PySet_Contains(told, key) == 0 && PySet_Add(told, key) == 0;
    Py_XDECREF(key);
    PyErr_Clear();
    return news;
}

static void
warn(PyObject *backend, const char *format, PyObject *error)
{
    PyObject *name = PyObject_GetAttrString(backend, "__qualname__");
    PyErr_Clear();
    PyObject *text = error == NULL ? PyUnicode_FromFormat(format, name ? name : backend)
                                   : PyUnicode_FromFormat(format, name ? name : backend,
                                                          Py_TYPE(error)->tp_name, error);
    const char *bytes = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    if (bytes != NULL) log_warn("%s", bytes);
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(name);
}

/* Floating-point events and warnings are not a backend's failure: CPython reports them in its
   rerun. */
static bool
is_failure(PyObject *type)
{
    return PyErr_GivenExceptionMatches(type, PyExc_Exception) &&
           !PyErr_GivenExceptionMatches(type, PyExc_FloatingPointError) &&
           !PyErr_GivenExceptionMatches(type, PyExc_Warning);
}

static void
tell(PyObject *backend, const char *format)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (is_failure(type) && !is_ours(backend) && is_news(backend)) {
        PyErr_NormalizeException(&type, &value, &trace);
        warn(backend, format, value);
    }
    PyErr_Restore(type, value, trace);
}

void
backend_raised(PyObject *backend)
{
    PyObject *asked = NULL, *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    asked = errors_class("PycompileError");
    bool goes_out = asked == NULL || PyErr_GivenExceptionMatches(type, asked);
    PyErr_Clear();
    Py_XDECREF(asked);
    PyErr_Restore(type, value, trace);
    if (!goes_out) tell(backend, "backend %S raised %s: %S; the function runs in plain Python");
}

void
backend_call_failed(PyObject *backend)
{
    if (PyErr_Occurred())
        tell(backend, "what backend %S made raised %s: %S; such calls run in plain Python");
    else if (!is_ours(backend) && is_news(backend))
        warn(backend,
             "what backend %S made gave other results than the graph's (as many, of the same "
             "dtypes, shapes and strides); such calls run in plain Python",
             NULL);
}
