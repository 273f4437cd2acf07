/* Output: print, writes to sys.stdout, calls of loggers, warnings.  These are effects, called in
   program order when the plan commits.
   Their arguments are fixed at the call: arrays and containers are copied, so that later changes do
   not show.  They run with the program's frame current at the call's line; inside an inlined
   function they are called through functions that stand in for the missing frames
   (pycompile/_frames.py).  Arrays from outside that were written before are committed before them,
   and are not written again in the same plan.  Not in a try block, whose handler would find the
   frame as it was at the entry. */
#include "objects.h"

static Answer
outside_try(Interp *in, const char *name)
{
    for (const Activation *a = in->top; a != NULL; a = a->caller) {
        if (!branch_in_try(a->decoded, a->number)) continue;
        bool list = branch_in_comprehension(a->decoded, a->number);
        const char *what = list ? "a comprehension" : "a try or with block";
        const char *instead = list ? " (write it as a `for` loop)" : "";
        if (a == in->top) return interp_break(in, BREAK_OUTPUT, "%s in %s%s", name, what, instead);
        return interp_break(in, BREAK_OUTPUT, "%s in a call from %s of '%s', line %d%s", name, what,
                            text_of_str(a->decoded->code->co_name), line_at(a->decoded, a->number),
                            instead);
    }
    return ANSWER_YES;
}

/* The writes so far are in the program's arrays when the next effect runs. */
static void
commit_writes(Interp *in)
{
    for (int i = 0; i < in->memory.storages.len; i++) {
        Storage *storage = &in->memory.storages.at[i];
        if (storage->written && storage->commit == 0 && input_of(in, storage->root) != NULL)
            storage->commit = in->writes.effects.len + 1;
    }
}

/* A new reference to a callable that calls `callable` through stand-ins for the functions being
   followed. */
static PyObject *
within_frames(Interp *in, PyObject *callable)
{
    PyObject *module = in->top == in->bottom ? NULL : module_import("pycompile._frames");
    PyObject *made = Py_NewRef(callable);
    for (const Activation *a = in->top; a != in->bottom && made != NULL; a = a->caller) {
        PyObject *inner = made;
        made = module == NULL
                   ? NULL
                   : PyObject_CallMethod(module, "stand_in", "OOiO", a->decoded->code, a->globals,
                                         a->decoded->instrs[a->number].at, inner);
        Py_DECREF(inner);
    }
    Py_XDECREF(module);
    return made;
}

/* ---- arguments in their present state ---- */

/* sys.stdout or sys.stderr, guarded, where writing to it runs no code of the program. */
static Answer
is_stream(Interp *in, Value *value)
{
    if (value->kind != V_OBJECT || value->source == NO_SOURCE || !stream_is_plain(value->object) ||
        (value->object != PySys_GetObject("stdout") && value->object != PySys_GetObject("stderr")))
        return ANSWER_NO;
    /* A test's stream is a new object in each run. */
    if (strcmp(Py_TYPE(value->object)->tp_name, "_io.StringIO") == 0)
        return value_guard_type(in, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
    return guard_is(in, value);
}

static bool
is_plain(PyObject *object)
{
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) || object == Py_None ||
           (PyType_CheckExact(object) &&
            !(((PyTypeObject *)object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) ||
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

/* ANSWER_NO: printing it may run code of the program, or it may change before commit. */
static Answer
freeze(Interp *in, Value *value, int deep, Value **out)
{
    *out = value;
    if (deep < 0) return ANSWER_NO;
    if (in->kinds[value->kind].parts == PARTS_ITEMS) return freeze_items(in, value, deep, out);
    switch (value->kind) {
    case V_CONST: return is_plain(value->object) ? ANSWER_YES : ANSWER_NO;
    case V_PURE: return ANSWER_YES;
    case V_OBJECT: return is_stream(in, value);
    case V_NODE:
        if (value_is_array(in, value)) return freeze_array(in, value, out);
        return value_is_number(in, value) || value_is_loose(in, value) ? ANSWER_YES : ANSWER_NO;
    default: return ANSWER_NO;
    }
}

/* ---- the effect ---- */

/* callable(*first, *args, **kwargs) when the plan commits. */
static Answer
call_later(Interp *in, const char *name, PyObject *callable, Value *self, int nargs,
           Value *const *args, PyObject *kwnames, Value **out)
{
    Value *parts[CALL_ARGS], *dict = value_sequence(in, V_DICT, 0, NULL);
    if (code_stands_in(in->bottom->decoded->code)) /* it may read the module's variables */
        return interp_break(in, BREAK_OUTPUT, "%s", name);
    if (in->graph->current != 0) /* code of the program's may ask which device is current */
        return interp_break(in, BREAK_OUTPUT, "%s in a block of a device", name);
    Value *tuple = value_sequence(in, V_TUPLE, 0, NULL);
    int all = nargs + (kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0);
    if (dict == NULL || tuple == NULL) return ANSWER_ERROR;
    if (self != NULL && value_append(in, tuple, self) < 0) return ANSWER_ERROR;
    for (int i = 0; i < all; i++) {
        Value *frozen;
        Answer answer = freeze(in, args[i], 4, &frozen);
        if (answer == ANSWER_NO)
            return interp_break(in, BREAK_OUTPUT, "%s of %s", name, value_describe(in, args[i]));
        if (answer != ANSWER_YES) return answer;
        if (i >= nargs) {
            Value *key = value_const(in, PyTuple_GET_ITEM(kwnames, i - nargs));
            if (key == NULL || value_append(in, dict, key) < 0) return ANSWER_ERROR;
        }
        if (value_append(in, i < nargs ? tuple : dict, frozen) < 0) return ANSWER_ERROR;
    }
    if ((parts[0] = value_const_new(in, within_frames(in, callable))) == NULL) return ANSWER_ERROR;
    parts[1] = tuple;
    parts[2] = dict;
    commit_writes(in);
    if (effect_add(in, EFFECT_CALL, NULL, NO_SOURCE, CALL_ARGS, parts) < 0) return ANSWER_ERROR;
    Effect *added = &in->writes.effects.at[in->writes.effects.len - 1];
    added->what = name;
    if (user_line(in, &added->at) < 0) return ANSWER_ERROR;
    in->writes.dirty = true;
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
    Answer answer = outside_try(in, "print");
    if (answer != ANSWER_YES) return answer;
    PyObject *stream = PySys_GetObject("stdout");
    if (has_keyword(kwnames, "file"))
        return call_later(in, "print", print, NULL, nargs, args, kwnames, out);
    if (stream == NULL || !stream_is_plain(stream))
        return interp_break(in, BREAK_OUTPUT, "print to an object that may run code");
    if (!in->writes.prints) { /* every run checks sys.stdout again, before anything is written */
        PyObject *name = keep(in, PyUnicode_InternFromString("stdout"));
        if (name == NULL || effect_add(in, EFFECT_CALL, name, NO_SOURCE, 0, NULL) < 0)
            return ANSWER_ERROR;
        in->writes.prints = true;
    }
    return call_later(in, "print", print, NULL, nargs, args, kwnames, out);
}

/* ---- methods of streams ---- */

static bool
is_dropped(const Interp *in)
{
    const Activation *a = in->top;
    return a->number + 1 < a->decoded->count && a->decoded->instrs[a->number + 1].kind == I_POP;
}

Answer
output_write(Interp *in, PyObject *method, int nargs, Value *const *args, Value **out)
{
    if (Py_TYPE(method) != &PyMethodDescr_Type || nargs < 1 || args[0]->kind != V_OBJECT)
        return ANSWER_NO;
    const char *name = ((PyMethodDescrObject *)method)->d_method->ml_name;
    bool writes = strcmp(name, "write") == 0 && nargs == 2;
    if (!writes && (strcmp(name, "flush") != 0 || nargs != 1)) return ANSWER_NO;
    if (!stream_is_plain(args[0]->object)) return ANSWER_NO;
    bool known = writes && args[1]->kind == V_CONST && PyUnicode_CheckExact(args[1]->object);
    bool text = known || (writes && args[1]->kind == V_PURE && args[1]->type == &PyUnicode_Type);
    if (writes && (!text || (!known && !is_dropped(in)))) return ANSWER_NO;
    Answer answer = outside_try(in, "a write to a stream");
    if (answer != ANSWER_YES) return answer;
    answer = is_stream(in, args[0]);
    if (answer != ANSWER_YES) return answer;
    answer = call_later(in, "a write to a stream", method, args[0], nargs - 1, args + 1, NULL, out);
    if (answer != ANSWER_YES || !known) return answer;
    *out = value_const_new(in, PyLong_FromSsize_t(PyUnicode_GET_LENGTH(args[1]->object)));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- loggers and warnings ---- */

/* An attribute of a module that is there, borrowed; or NULL without an error. */
static PyObject *
attribute_of(const char *module_name, const char *name)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);
    PyObject *dict = module != NULL && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    return dict == NULL ? NULL : PyDict_GetItemString(dict, name);
}

static const char *const log_names[] = {"debug",    "info",      "warning", "error",
                                        "critical", "exception", "log"};

static bool
is_log_method(PyTypeObject *class_, PyObject *function)
{
    bool found = false;
    for (int i = 0; i < COUNT_OF(log_names) && !found; i++) {
        PyObject *name = PyUnicode_InternFromString(log_names[i]);
        found = name != NULL && type_own_stored(class_, name) == function;
        Py_XDECREF(name);
    }
    PyErr_Clear();
    return found;
}

static bool
is_log_function(PyObject *function)
{
    for (int i = 0; i < COUNT_OF(log_names); i++)
        if (attribute_of("logging", log_names[i]) == function) return true;
    return false;
}

/* The level of a call of this method or function, an int that is kept; NULL: it is not known, or
   the error is set. */
static PyObject *
log_level(Interp *in, PyObject *function, int nargs, Value *const *args)
{
    static const int levels[] = {10, 20, 30, 40, 50, 40};
    PyObject *name = ((PyFunctionObject *)function)->func_name, *level;
    for (int i = 0; i < COUNT_OF(levels); i++)
        if (PyUnicode_CompareWithASCIIString(name, log_names[i]) == 0)
            return keep(in, PyLong_FromLong(levels[i]));
    if (nargs < 1 || value_known(in, args[0], &level) != ANSWER_YES) return NULL;
    return PyLong_CheckExact(level) ? level : NULL;
}

/* Breaks where handlers of the program run; else each run looks again, before anything is written.
 */
static Answer
check_logger(Interp *in, Value *logger, PyObject *level)
{
    if (level == NULL)
        return PyErr_Occurred() ? ANSWER_ERROR
                                : interp_break(in, BREAK_OUTPUT, "a log call of unknown level");
    if (!logger_is_plain(logger->object, level))
        return interp_break(in, BREAK_OUTPUT, "a log call whose handlers run code of the program");
    int failed = effect_add(in, EFFECT_CALL, level, NO_SOURCE, 1, &logger);
    return failed < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
output_log(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    if (function->kind == V_FUNCTION || nargs < 1) return ANSWER_NO;
    PyTypeObject *class_ = (PyTypeObject *)attribute_of("logging", "Logger");
    if (class_ == NULL) return ANSWER_NO;
    bool method = args[0]->kind == V_OBJECT && Py_TYPE(args[0]->object) == class_ &&
                  is_log_method(class_, function->object);
    if (!method && !is_log_function(function->object)) return ANSWER_NO;
    Answer answer = outside_try(in, "a log call");
    if (answer == ANSWER_YES && method && value_guard_type(in, args[0]) < 0) return ANSWER_ERROR;
    if (answer != ANSWER_YES) return answer;
    Value *logger = method ? args[0] : value_const(in, attribute_of("logging", "root"));
    if (logger == NULL) return ANSWER_ERROR;
    PyObject *level = log_level(in, function->object, nargs - method, args + method);
    answer = check_logger(in, logger, level);
    if (answer != ANSWER_YES) return answer;
    return call_later(in, "a log call", function->object, method ? args[0] : NULL, nargs - method,
                      args + method, kwnames, out);
}

/* ANSWER_YES: a class of warnings whose instances run no code of the program's. */
static Answer
is_warning(Interp *in, const Value *value)
{
    static const char *const names[] = {"__new__", "__init__", "__str__"};
    if (value->kind != V_CONST || !PyExceptionClass_Check(value->object) ||
        PyObject_IsSubclass(value->object, PyExc_Warning) != 1)
        return ANSWER_NO;
    PyTypeObject *type = (PyTypeObject *)value->object, *own = type;
    PyObject *found;
    while (own->tp_flags & Py_TPFLAGS_HEAPTYPE) own = own->tp_base;
    if (own == type) return ANSWER_YES; /* Python's own: each has slots of its own */
    for (int i = 0; i < COUNT_OF(names); i++) TRY(type_inherits(in, type, names[i], own));
    Answer answer = type_lookup_text(in, type, "__del__", &found);
    return answer == ANSWER_YES && found != NULL ? ANSWER_NO : answer;
}

/* Breaks where warnings run code of the program; else each run looks again. */
static Answer
check_warnings(Interp *in)
{
    PyObject *list = NULL;
    WarningsGo go = warnings_go(&list);
    if (go == WARNINGS_TO_PROGRAM)
        return interp_break(in, BREAK_OUTPUT, "a warning that code of the program shows");
    PyObject *name =
        keep(in, PyUnicode_InternFromString(go == WARNINGS_TO_LIST ? "list" : "stderr"));
    if (name == NULL) return ANSWER_ERROR;
    if (list != NULL && in->writes.recorded == NULL) {
        in->writes.recorded = list;
        in->writes.recorded_step = in->attempt.steps - 1;
    }
    return effect_add(in, EFFECT_CALL, name, NO_SOURCE, 0, NULL) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
output_warn(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
            Value **out)
{
    if (nargs < 1) return ANSWER_NO;
    if (nargs > 1) TRY(is_warning(in, args[1]));
    Answer answer = outside_try(in, "a warning");
    if (answer == ANSWER_YES) answer = check_warnings(in);
    if (answer != ANSWER_YES) return answer;
    return call_later(in, "a warning", callable, NULL, nargs, args, kwnames, out);
}
