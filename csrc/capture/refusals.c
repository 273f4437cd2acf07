/* Errors in CPython's own words: the refused operation is done on stand-ins, none of whose code
   runs.

   In: an operation of which capture has found that it raises.  Out: what it raised, as in->raised.
 */
#include "objects.h"

/* The stand-in's operation has failed with an error, as it must; what it gave otherwise is `result`
   (stolen). */
static Answer
told(Interp *in, PyObject *result, const char *what)
{
    if (result == NULL && PyErr_Occurred()) return raise_error(in);
    Py_XDECREF(result);
    return interp_break(in, BREAK_EXCEPTION, "%s", what);
}

/* ---- arguments that do not fit ---- */

/* As many defaults for the same parameters: their values do not matter. */
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

/* A function with the parameters of `function` which, should it run after all, does nothing. */
static PyObject *
function_like(const Value *function, PyObject *code)
{
    PyObject *globals = PyDict_New();
    PyObject *like = globals ? PyFunction_New(code, globals) : NULL;
    PyObject *defaults = like ? function_defaults(function) : NULL;
    PyObject *named = like ? function_kwdefaults(function) : NULL;
    Py_XDECREF(globals);
    if (like != NULL && ((defaults != NULL && PyFunction_SetDefaults(like, defaults) < 0) ||
                         (named != NULL && PyFunction_SetKwDefaults(like, named) < 0)))
        Py_CLEAR(like);
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
    PyCodeObject *co = (PyCodeObject *)code;
    if (co->co_nfreevars > 0 ||
        (!made && PyUnicode_Compare(((PyFunctionObject *)function->object)->func_qualname,
                                    co->co_qualname) != 0))
        return interp_break(in, BREAK_EXCEPTION, what);
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    PyObject **args = arena_alloc(in->arena, (size_t)(nargs + nkw + 1) * sizeof(PyObject *));
    PyObject *like = args ? keep(in, function_like(function, code)) : NULL;
    if (like == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nargs + nkw; i++) args[i] = Py_None;
    return told(in, PyObject_Vectorcall(like, args, (size_t)nargs, kwnames), what);
}

/* ---- instances ---- */

/* An instance of which nothing has run; NULL without an error where there cannot be one. */
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

/* ---- keywords ---- */

/* Whether the error that is set is that of a keyword which the callee does not know. */
static bool
is_unknown_keyword(PyObject *name)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *told = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    const char *key = PyUnicode_AsUTF8(name);
    const char *at = told != NULL ? strstr(told, "unexpected keyword argument '") : NULL;
    bool found = at != NULL && key != NULL && type == PyExc_TypeError;
    if (found) at = strchr(at, '\'') + 1;
    found = found && strncmp(at, key, strlen(key)) == 0 && at[strlen(key)] == '\'';
    Py_XDECREF(text);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return found;
}

/* Those that every ufunc has; on stand-ins some of them warn. */
static bool
is_keyword_of_ufuncs(PyObject *name)
{
    static const char *const names[] = {"out",   "where", "casting",   "order",
                                        "dtype", "subok", "signature", "sig"};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return true;
    return false;
}

Answer
raise_keyword(Interp *in, PyObject *ufunc, int nargs, PyObject *name)
{
    if (is_keyword_of_ufuncs(name)) return ANSWER_NO;
    PyObject *one = PyFloat_FromDouble(1), *args = one ? PyTuple_New(nargs) : NULL;
    PyObject *named = args ? Py_BuildValue("{OO}", name, Py_None) : NULL, *result = NULL;
    for (int i = 0; args != NULL && i < nargs; i++) PyTuple_SET_ITEM(args, i, Py_NewRef(one));
    if (named != NULL) result = PyObject_Call(ufunc, args, named);
    Py_XDECREF(named);
    Py_XDECREF(args);
    Py_XDECREF(one);
    Py_XDECREF(result);
    if (result == NULL && is_unknown_keyword(name)) return raise_error(in);
    PyErr_Clear();
    return ANSWER_NO;
}
