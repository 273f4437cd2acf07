/* Errors in CPython's own words: the rejected operation is executed on stand-ins, which have no
   code that could run.
   In: an operation that capture found to raise.  Out: the exception, as in->raising.raised. */
#include "objects.h"

/* Takes the error with which the operation on the stand-in failed; `result` (stolen) is NULL unless
   it did not fail. */
static Answer
told(Interp *in, PyObject *result, const char *what)
{
    if (result == NULL && PyErr_Occurred()) return raise_error(in);
    Py_XDECREF(result);
    return break_raised(in, "%s", what);
}

/* ---- arguments that do not fit ---- */

/* As many defaults for the same parameters, since their values do not matter. */
static PyObject *
function_defaults(const Value *function)
{
    if (function->kind != V_FUNCTION) return Py_XNewRef(PyFunction_GET_DEFAULTS(function->object));
    const Value *defaults = function->items[0];
    PyObject *tuple = defaults ? PyTuple_New(defaults->nitems) : NULL;
    for (int i = 0; tuple != NULL && i < defaults->nitems; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(Py_None));
    return tuple;
}

static PyObject *
function_kwdefaults(const Value *function)
{
    if (function->kind != V_FUNCTION)
        return Py_XNewRef(PyFunction_GET_KW_DEFAULTS(function->object));
    const Value *defaults = function->items[1];
    PyObject *dict = defaults ? PyDict_New() : NULL;
    for (int i = 0; dict != NULL && i < defaults->nitems; i += 2)
        if (PyDict_SetItem(dict, defaults->items[i]->object, Py_None) < 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *
empty_cells(int n)
{
    PyObject *cells = PyTuple_New(n);
    for (int i = 0; cells != NULL && i < n; i++) {
        PyObject *cell = PyCell_New(NULL);
        if (cell == NULL)
            Py_CLEAR(cells);
        else
            PyTuple_SET_ITEM(cells, i, cell);
    }
    return cells;
}

/* May the function be called something else than its code? */
static bool
is_renamed(const Value *function, PyObject *code)
{
    if (function->kind == V_FUNCTION) return function->attributes != NULL;
    return PyUnicode_Compare(((PyFunctionObject *)function->object)->func_qualname,
                             ((PyCodeObject *)code)->co_qualname) != 0;
}

/* A function with the parameters of `function`, for arguments that do not fit them: the body, which
   has nothing in its closure, is never run. */
static PyObject *
function_like(const Value *function, PyObject *code)
{
    PyObject *globals = PyDict_New();
    PyObject *like = globals ? PyFunction_New(code, globals) : NULL;
    PyObject *defaults = like ? function_defaults(function) : NULL;
    PyObject *named = like ? function_kwdefaults(function) : NULL;
    PyObject *cells = like ? empty_cells(((PyCodeObject *)code)->co_nfreevars) : NULL;
    Py_XDECREF(globals);
    if (like != NULL && (cells == NULL || PyFunction_SetClosure(like, cells) < 0 ||
                         (defaults != NULL && PyFunction_SetDefaults(like, defaults) < 0) ||
                         (named != NULL && PyFunction_SetKwDefaults(like, named) < 0)))
        Py_CLEAR(like);
    Py_XDECREF(cells);
    Py_XDECREF(defaults);
    Py_XDECREF(named);
    return PyErr_Occurred() ? NULL : like;
}

Answer
raise_arguments(Interp *in, Value *function, int nargs, PyObject *kwnames)
{
    static const char what[] = "TypeError is raised here: the arguments do not fit";
    bool made = function->kind == V_FUNCTION;
    PyObject *code = made ? function->object : PyFunction_GET_CODE(function->object);
    if (is_renamed(function, code)) return break_raised(in, what);
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    PyObject **args = arena_alloc(in->arena, (size_t)(nargs + nkw + 1) * sizeof(PyObject *));
    PyObject *like = args ? keep(in, function_like(function, code)) : NULL;
    if (like == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nargs + nkw; i++) args[i] = Py_None;
    return told(in, PyObject_Vectorcall(like, args, (size_t)nargs, kwnames), what);
}

/* ---- instances ---- */

/* An instance without __init__ having run; NULL without an error where there cannot be one. */
static PyObject *
instance_like(PyTypeObject *type)
{
    for (const PyTypeObject *t = type; t != &PyBaseObject_Type; t = t->tp_base)
        if (!type_is_heap(t) || t->tp_itemsize != 0) return NULL;
    if (type->tp_finalize != NULL || type->tp_del != NULL) return NULL;
    PyObject *none = PyTuple_New(0);
    PyObject *like = none ? PyBaseObject_Type.tp_new(type, none, NULL) : NULL;
    Py_XDECREF(none);
    PyErr_Clear();
    return like;
}

Answer
raise_abstract(Interp *in, PyTypeObject *type)
{
    PyObject *found, *none = PyTuple_New(0);
    Answer answer = none ? type_lookup_text(in, type, "__abstractmethods__", &found) : ANSWER_ERROR;
    PyObject *made = answer == ANSWER_YES ? PyBaseObject_Type.tp_new(type, none, NULL) : NULL;
    Py_XDECREF(none);
    return answer == ANSWER_YES ? told(in, made, "an instance of an abstract class") : answer;
}

Answer
raise_property(Interp *in, PyObject *property, PyTypeObject *type, bool get, PyObject *value)
{
    PyObject *like = instance_like(type), *result = NULL;
    if (like != NULL && get)
        result = Py_TYPE(property)->tp_descr_get(property, like, (PyObject *)type);
    else if (like != NULL)
        (void)Py_TYPE(property)->tp_descr_set(property, like, value);
    Py_XDECREF(like);
    return told(in, result, "a property without this accessor");
}

Answer
raise_attribute(Interp *in, PyTypeObject *type, PyObject *name, PyObject *value)
{
    PyObject *like = instance_like(type);
    if (like != NULL) (void)PyObject_GenericSetAttr(like, name, value);
    Py_XDECREF(like);
    return told(in, NULL, "an attribute that cannot be stored or deleted");
}

Answer
raise_empty_slot(Interp *in, PyTypeObject *type, PyObject *name)
{
    PyObject *found = _PyType_Lookup(type, name), *like = NULL, *result = NULL;
    if (Py_TYPE(found) == &PyMemberDescr_Type && (like = instance_like(type)) != NULL)
        result = Py_TYPE(found)->tp_descr_get(found, like, (PyObject *)type);
    Py_XDECREF(like);
    return told(in, result, "an attribute that is not there");
}
