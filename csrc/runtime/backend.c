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

/* Its qualified name, or itself: a new reference. */
static PyObject *
name_of(PyObject *backend)
{
    PyObject *name = PyObject_GetAttrString(backend, "__qualname__");
    PyErr_Clear();
    return name != NULL ? name : Py_NewRef(backend);
}

/* Takes `text`, which may be NULL, over. */
static void
warn(PyObject *text)
{
    const char *bytes = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    if (bytes != NULL) log_warn("%s", bytes);
    PyErr_Clear();
    Py_XDECREF(text);
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
        PyObject *name = name_of(backend);
        warn(PyUnicode_FromFormat(format, name, Py_TYPE(value)->tp_name, value));
        Py_DECREF(name);
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
backend_gave_no_callable(PyObject *backend, PyObject *made)
{
    PyObject *category = errors_class("BackendError"), *name = name_of(backend);
    if (category != NULL)
        PyErr_Format(category,
                     "backend %S must return a callable, or None to decline the graph, not %s",
                     name, Py_TYPE(made)->tp_name);
    Py_XDECREF(category);
    Py_DECREF(name);
}

void
backend_declined(PyObject *backend)
{
    PyObject *category = errors_class("BackendError"), *name = name_of(backend);
    if (category != NULL)
        PyErr_Format(category,
                     "backend %S declined the graph (it returned None), and "
                     "fullgraph=True asks for a plan",
                     name);
    Py_XDECREF(category);
    Py_DECREF(name);
}

void
backend_call_raised(PyObject *backend)
{
    tell(backend, "the function that backend %S made raised %s: %S; such calls run in plain "
                  "Python");
}

void
backend_gave_other(PyObject *backend, const char *what)
{
    if (is_ours(backend) || !is_news(backend)) return;
    PyObject *name = name_of(backend), *text = NULL;
    if (name != NULL)
        text = PyUnicode_FromFormat("the function that backend %S made %s; such calls run in "
                                    "plain Python",
                                    name, what);
    warn(text);
    Py_XDECREF(name);
}
