/* print, and calls of loggers: effects that are called in program order when the plan commits.

   What they are given is fixed at the call: arrays are copied, containers too, so that nothing that
   the rest of the plan does can be seen in them.  They run with the program's frame current at the
   call's line.  Not here: within an inlined function (its frame would be missing), in a try block
   (its handler would find the frame as it was at the entry), after a write to an array from outside
   (which commits last). */
#include "branch.h"
#include "numpy_rules.h"

static Answer
quiet_place(Interp *in, const char *name)
{
    const Activation *a = in->top;
    if (a != in->bottom) return interp_break(in, BREAK_OUTPUT, "%s in an inlined function", name);
    if (branch_in_try(a->decoded, a->number))
        return interp_break(in, BREAK_OUTPUT, "%s in a try or with block", name);
    for (int i = 0; i < in->storages.len; i++)
        if (in->storages.at[i].written && input_of(in, in->storages.at[i].root) != NULL)
            return interp_break(in, BREAK_OUTPUT, "%s after a write to an argument", name);
    return ANSWER_YES;
}

/* ---- arguments as they are now ---- */

static bool
is_plain(PyObject *object)
{
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) || object == Py_None ||
           PyBytes_CheckExact(object) || object == Py_Ellipsis || array_scalar_check(object) ||
           PyRange_Check(object);
}

static Answer freeze(Interp *in, Value *value, int deep, Value **out);

static Answer
freeze_items(Interp *in, Value *value, int deep, Value **out)
{
    if (value->type != NULL && value->type != &PyTuple_Type && value->type != &PyList_Type &&
        value->type != &PyDict_Type)
        return ANSWER_NO;
    Value *frozen = value_sequence(in, value->kind, value->nitems, NULL);
    if (frozen == NULL) return ANSWER_ERROR;
    for (int i = 0; i < value->nitems; i++) {
        Value *item = value_item(in, value, i);
        if (item == NULL) return ANSWER_ERROR;
        Answer answer = freeze(in, item, deep - 1, &frozen->items[i]);
        if (answer != ANSWER_YES) return answer;
    }
    *out = frozen;
    return ANSWER_YES;
}

static Answer
freeze_array(Interp *in, Value *value, Value **out)
{
    NodeId node;
    Answer answer = value_as_node(in, value, &node);
    if (answer != ANSWER_YES) return answer;
    Type from = graph_node(in->graph, node)->type, type;
    if (type_like(in->graph, &type, (DType)from.dtype, &from) < 0) return ANSWER_ERROR;
    NodeId copy = graph_add(in->graph, in->region, OP_copy, 1, &node, &type, NULL);
    *out = copy == NO_NODE ? NULL : value_node(in, copy);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ANSWER_NO: showing it may run code of the program's, or it may change. */
static Answer
freeze(Interp *in, Value *value, int deep, Value **out)
{
    *out = value;
    if (deep < 0) return ANSWER_NO;
    switch (value->kind) {
    case V_CONST: return is_plain(value->object) ? ANSWER_YES : ANSWER_NO;
    case V_PURE: return ANSWER_YES;
    case V_NODE:
        if (value_is_array(in, value)) return freeze_array(in, value, out);
        return value_is_python_scalar(in, value) || value_is_numpy(in, value) ? ANSWER_YES
                                                                              : ANSWER_NO;
    case V_TUPLE:
    case V_LIST:
    case V_DICT: return freeze_items(in, value, deep, out);
    default: return ANSWER_NO;
    }
}

/* ---- the effect ---- */

/* callable(*first, *args, **kwargs) when the plan commits. */
static Answer
call_later(Interp *in, const char *name, PyObject *callable, Value *self, int nargs,
           Value *const *args, PyObject *kwnames, Value **out)
{
    enum { MOST = 3 };
    Value *parts[MOST], *dict = value_sequence(in, V_DICT, 0, NULL);
    Value *tuple = value_sequence(in, V_TUPLE, 0, NULL);
    int all = nargs + (kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0);
    if (dict == NULL || tuple == NULL) return ANSWER_ERROR;
    if (self != NULL && value_append(in, tuple, self) < 0) return ANSWER_ERROR;
    for (int i = 0; i < all; i++) {
        Value *frozen;
        Answer answer = freeze(in, args[i], 4, &frozen);
        if (answer == ANSWER_NO && in->break_code == BREAK_NONE)
            return interp_break(in, BREAK_OUTPUT, "%s of %s", name, value_describe(in, args[i]));
        if (answer != ANSWER_YES) return answer;
        if (i >= nargs) {
            Value *key = value_const(in, PyTuple_GET_ITEM(kwnames, i - nargs));
            if (key == NULL || value_append(in, dict, key) < 0) return ANSWER_ERROR;
        }
        if (value_append(in, i < nargs ? tuple : dict, frozen) < 0) return ANSWER_ERROR;
    }
    if ((parts[0] = value_const(in, callable)) == NULL) return ANSWER_ERROR;
    parts[1] = tuple;
    parts[2] = dict;
    if (effect_add(in, EFFECT_CALL, NULL, NO_SOURCE, MOST, parts) < 0) return ANSWER_ERROR;
    in->dirty = true;
    *out = value_const(in, Py_None);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static bool
has_keyword(PyObject *kwnames, const char *name)
{
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), name) == 0) return true;
    return false;
}

Answer
output_print(Interp *in, PyObject *print, int nargs, Value *const *args, PyObject *kwnames,
             Value **out)
{
    Answer answer = quiet_place(in, "print");
    if (answer != ANSWER_YES) return answer;
    PyObject *stream = PySys_GetObject("stdout");
    if (has_keyword(kwnames, "file") || stream == NULL || !stream_is_plain(stream))
        return interp_break(in, BREAK_OUTPUT, "print to an object that may run code");
    if (!in->prints) { /* sys.stdout is looked at again in each run, before anything is written */
        PyObject *name = keep(in, PyUnicode_InternFromString("stdout"));
        if (name == NULL || effect_add(in, EFFECT_CALL, name, NO_SOURCE, 0, NULL) < 0)
            return ANSWER_ERROR;
        in->prints = true;
    }
    return call_later(in, "print", print, NULL, nargs, args, kwnames, out);
}

/* ---- loggers ---- */

static PyTypeObject *
logger_class(Interp *in)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = PyDict_GetItemString(modules, "logging");
    PyObject *class_ = module ? PyObject_GetAttrString(module, "Logger") : NULL;
    PyErr_Clear();
    return (PyTypeObject *)keep(in, class_);
}

Answer
output_log(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    static const char *const names[] = {"debug", "info", "warning", "error", "critical", "log"};
    if (function->kind == V_FUNCTION || nargs < 2 || args[0]->kind != V_OBJECT) return ANSWER_NO;
    PyTypeObject *class_ = logger_class(in);
    if (class_ == NULL || Py_TYPE(args[0]->object) != class_) return ANSWER_NO;
    bool logs = false;
    for (int i = 0; i < COUNT_OF(names); i++) {
        PyObject *name = PyUnicode_InternFromString(names[i]);
        if (name == NULL) return ANSWER_ERROR;
        logs |= _PyType_Lookup(class_, name) == function->object;
        Py_DECREF(name);
    }
    if (!logs || kwnames != NULL) return ANSWER_NO;
    Answer answer = quiet_place(in, "a log call");
    if (answer == ANSWER_YES && value_guard_type(in, args[0]) < 0) return ANSWER_ERROR;
    if (answer != ANSWER_YES) return answer;
    return call_later(in, "a log call", function->object, args[0], nargs - 1, args + 1, NULL, out);
}
