/* Python objects in a graph's text. An object is written, in this order of preference, as
   - a literal that ast.literal_eval reads back: None, bool, int, str, bytes, finite float, tuples;
   - a dotted name, when looking that up in the loaded modules gives this very object;
   - label@n: its place in Graph.keep, and a name for the reader. Strings that are long, or contain
     a value from the environment, are written as type@n too. Printing runs no code of the user's
     beyond attribute look-ups on modules and classes. */
#include "form.h"

static bool
is_literal(PyObject *object)
{
    if (object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object)) return true;
    if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object)) return true;
    if (PyFloat_CheckExact(object)) return Py_IS_FINITE(PyFloat_AS_DOUBLE(object));
    if (!PyTuple_CheckExact(object)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
        if (!is_literal(PyTuple_GET_ITEM(object, i))) return false;
    return true;
}

/* Follows a dotted name from its first part, importing only with `import`.  New reference, or NULL
   with the error set. */
static PyObject *
look_up(const char *dotted, bool import)
{
    PyObject *parts = NULL, *found = NULL, *path = NULL, *text = PyUnicode_FromString(dotted);
    PyObject *dot = PyUnicode_FromString(".");
    if (text == NULL || dot == NULL) goto done;
    if ((parts = PyUnicode_Split(text, dot, -1)) == NULL) goto done;
    path = Py_NewRef(PyList_GET_ITEM(parts, 0));
    found = import ? PyImport_Import(path) : PyImport_GetModule(path);
    for (Py_ssize_t i = 1; found != NULL && i < PyList_GET_SIZE(parts); i++) {
        PyObject *part = PyList_GET_ITEM(parts, i);
        Py_SETREF(path, PyUnicode_FromFormat("%U.%U", path, part));
        PyObject *next = path == NULL ? NULL : PyObject_GetAttr(found, part);
        if (next == NULL && path != NULL && import && PyModule_Check(found)) {
            PyErr_Clear();
            PyObject *module = PyImport_Import(path);
            if (module != NULL) next = PyObject_GetAttr(found, part);
            Py_XDECREF(module);
        }
        Py_SETREF(found, next);
    }
    if (found == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "'%s' names nothing", dotted);
done:
    Py_XDECREF(text);
    Py_XDECREF(dot);
    Py_XDECREF(parts);
    Py_XDECREF(path);
    return found;
}

/* The attribute as a str, or NULL without an error. */
static PyObject *
string_attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value == NULL) PyErr_Clear();
    if (value != NULL && !PyUnicode_Check(value)) Py_CLEAR(value);
    return value;
}

static bool
print_name(PyObject *object, Text *out)
{
    PyObject *module = string_attribute(object, "__module__");
    if (module == NULL &&
        (Py_TYPE(object) == &PyMethodDescr_Type || Py_TYPE(object) == &PyWrapperDescr_Type))
        module = string_attribute((PyObject *)PyDescr_TYPE(object), "__module__");
    PyObject *name = string_attribute(object, "__qualname__"), *dotted = NULL, *found = NULL;
    if (name == NULL) name = string_attribute(object, "__name__");
    if (PyModule_Check(object) && name != NULL)
        dotted = Py_NewRef(name);
    else if (name != NULL)
        dotted = module != NULL ? PyUnicode_FromFormat("%U.%U", module, name)
                                : PyUnicode_FromFormat("numpy.%U", name);
    const char *text = dotted == NULL ? NULL : PyUnicode_AsUTF8(dotted);
    if (text != NULL && strchr(text, '<') == NULL) found = look_up(text, false);
    PyErr_Clear();
    bool same = found == object;
    if (same) text_put(out, text);
    Py_XDECREF(module);
    Py_XDECREF(name);
    Py_XDECREF(dotted);
    Py_XDECREF(found);
    return same;
}

void
object_print_place(const Graph *g, PyObject *object, Text *out)
{
    Py_ssize_t i = 0, n = PyList_GET_SIZE(g->keep);
    while (i < n && PyList_GET_ITEM(g->keep, i) != object) i++;
    text_printf(out, "@%zd", i);
}

/* A name for the reader; the parser only uses the place after it. */
static void
print_label(PyObject *object, Text *out)
{
    PyObject *calls = module_loaded("pycompile._calls");
    PyObject *call = calls ? PyObject_GetAttrString(calls, "Call") : NULL, *called = NULL;
    if (call != NULL && PyType_Check(call) && PyObject_TypeCheck(object, (PyTypeObject *)call))
        called = PyObject_GetAttrString(object, "function");
    if (called == NULL) called = Py_NewRef(object);
    PyObject *name = NULL;
    if (PyFunction_Check(called) || PyCFunction_Check(called) || PyType_Check(called))
        name = string_attribute(called, "__qualname__");
    else if (call != NULL && called != object)
        name = string_attribute(called, "__name__"); /* NumPy's own function types */
    const char *text = name ? PyUnicode_AsUTF8(name) : Py_TYPE(called)->tp_name;
    PyErr_Clear();
    for (; text != NULL && *text != '\0'; text++)
        if (Py_ISALNUM(*text) || strchr("_.<>", *text) != NULL) text_printf(out, "%c", *text);
    Py_XDECREF(name);
    Py_DECREF(called);
    Py_XDECREF(call);
    Py_XDECREF(calls);
}

void
object_print(const Graph *g, PyObject *object, Text *out)
{
    if (is_literal(object)) {
        PyObject *repr = PyObject_ASCII(object);
        const char *text = repr == NULL ? NULL : PyUnicode_AsUTF8(repr);
        if (text == NULL) PyErr_Clear();
        bool quoted = text != NULL && strpbrk(text, "'\"") != NULL;
        if (quoted && (strlen(text) > LITERAL_PRINTED || environment_holds(text))) {
            text_put(out, Py_TYPE(object)->tp_name);
            object_print_place(g, object, out);
        } else {
            text_put(out, text == NULL ? "None" : text);
        }
        Py_XDECREF(repr);
    } else if (!print_name(object, out)) {
        print_label(object, out);
        object_print_place(g, object, out);
    }
}

static PyObject *
literal(const char *text)
{
    PyObject *ast = module_import("ast");
    PyObject *value = ast == NULL ? NULL : PyObject_CallMethod(ast, "literal_eval", "s", text);
    Py_XDECREF(ast);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_SyntaxError))
        PyErr_Format(PyExc_ValueError, "'%s' is no literal", text);
    return value;
}

PyObject *
object_parse(const Graph *g, const char *text)
{
    const char *place = strpbrk(text, "'\"") == NULL ? strrchr(text, '@') : NULL;
    if (place != NULL) { /* before it there is a label */
        char *end;
        long i = strtol(place + 1, &end, 10);
        if (end == place + 1 || *end != '\0' || i < 0 || i >= PyList_GET_SIZE(g->keep))
            return PyErr_Format(PyExc_ValueError, "no object '%s' was given", text);
        return Py_NewRef(PyList_GET_ITEM(g->keep, i));
    }
    bool word = Py_ISALPHA(text[0]) || text[0] == '_';
    if (!word || strpbrk(text, "'\"") != NULL || strcmp(text, "None") == 0 ||
        strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
        return literal(text);
    return look_up(text, true);
}
