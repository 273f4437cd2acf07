/* Calls of Python functions that are followed: binding the arguments, and inlining. */
#include "../../config.h"
#include "control.h"

static SourceId
source_of_part(Interp *in, Value *function, const char *name)
{
    PyObject *key = keep(in, PyUnicode_InternFromString(name));
    return key == NULL ? NO_SOURCE : source_add(in, SOURCE_ATTR, function->source, 0, key, NULL);
}

/* A part of a function (its code, its defaults) that the program may replace: guarded to be this
   object, or None. */
int
call_guard_part(Interp *in, Value *function, const char *name, PyObject *part)
{
    if (function->source == NO_SOURCE) return 0; /* made by pycompile, or by the program */
    SourceId source = source_of_part(in, function, name);
    return source == NO_SOURCE ? -1 : guard_there(in, source, part ? part : Py_None);
}

/* Guards that the dict of a function's keyword defaults is this object, where an entry changes. */
static int
guard_keyword_default(Interp *in, Value *function, PyObject *name, PyObject *object)
{
    if (function->source == NO_SOURCE) return 0;
    SourceId source = source_of_part(in, function, "__kwdefaults__");
    if (source != NO_SOURCE) source = source_add(in, SOURCE_ITEM, source, 0, name, NULL);
    return source == NO_SOURCE ? -1 : guard_there(in, source, object);
}

static bool
is_plain(PyObject *object)
{
    return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
           PyFloat_CheckExact(object) || PyUnicode_CheckExact(object);
}

/* Guards, once, that the source is a tuple of this length. */
static int
guard_length_there(Interp *in, SourceId source, Py_ssize_t length)
{
    Guard guard = {.kind = GUARD_LENGTH, .source = source, .other = NO_SOURCE, .low = length};
    for (int i = 0; i < in->out->guards.len; i++)
        if (in->out->guards.at[i].kind == GUARD_LENGTH && in->out->guards.at[i].source == source)
            return 0;
    if (guard_simple(in, GUARD_TYPE, source, (PyObject *)&PyTuple_Type) < 0) return -1;
    return guard_add(in, &guard) < 0 ? -1 : 0;
}

/* The tuple of defaults is guarded by identity where that is cheap: the guard keeps it alive, so it
   may hold no object of the program.  Else the items that are used are guarded. */
static int
guard_defaults(Interp *in, Value *function, PyObject *defaults, Py_ssize_t at)
{
    bool plain = true;
    for (Py_ssize_t i = 0; defaults != NULL && i < PyTuple_GET_SIZE(defaults); i++)
        plain = plain && is_plain(PyTuple_GET_ITEM(defaults, i));
    if (plain) return call_guard_part(in, function, "__defaults__", defaults);
    if (function->source == NO_SOURCE) return 0;
    SourceId source = source_of_part(in, function, "__defaults__");
    if (source == NO_SOURCE || guard_length_there(in, source, PyTuple_GET_SIZE(defaults)) < 0)
        return -1;
    if (at < 0) return 0;
    source = source_add(in, SOURCE_ITEM, source, (int32_t)at, NULL, NULL);
    return source == NO_SOURCE ? -1 : guard_there(in, source, PyTuple_GET_ITEM(defaults, at));
}

/* The default of positional parameter `i` of `argcount`, counted from the end. */
static Answer
positional_default(Interp *in, Value *function, int i, int argcount, Value **out)
{
    *out = NULL;
    if (function->kind == V_FUNCTION) {
        Value *defaults = function->items[0];
        int at = defaults ? i - (argcount - defaults->nitems) : -1;
        if (at < 0) return ANSWER_YES;
        *out = value_item(in, defaults, at);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    PyObject *defaults = PyFunction_GET_DEFAULTS(function->object);
    Py_ssize_t at = defaults ? i - (argcount - PyTuple_GET_SIZE(defaults)) : -1;
    if (guard_defaults(in, function, defaults, at) < 0) return ANSWER_ERROR;
    if (at < 0) return ANSWER_YES;
    *out = value_of_const(in, PyTuple_GET_ITEM(defaults, at));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
keyword_default(Interp *in, Value *function, PyObject *name, Value **out)
{
    *out = NULL;
    if (function->kind == V_FUNCTION) {
        Value *defaults = function->items[1];
        int at = defaults ? dict_find(in, defaults, name) : -1;
        if (at < -1) return ANSWER_ERROR;
        if (at >= 0) *out = defaults->items[at];
        return ANSWER_YES;
    }
    PyObject *defaults = PyFunction_GET_KW_DEFAULTS(function->object);
    if (defaults == NULL)
        return call_guard_part(in, function, "__kwdefaults__", NULL) < 0 ? ANSWER_ERROR
                                                                         : ANSWER_YES;
    PyObject *object;
    Answer answer = entry_stored(in, defaults, name, &object);
    if (answer != ANSWER_YES) return answer;
    if (guard_keyword_default(in, function, name, object) < 0) return ANSWER_ERROR;
    if (object == NULL) return ANSWER_YES;
    *out = value_of_const(in, object);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
bind_keywords(Interp *in, Activation *a, Value *function, int nargs, Value *const *args,
              PyObject *kwnames)
{
    const Decoded *d = a->decoded;
    int named = d->argcount + d->kwonly, nkw = (int)PyTuple_GET_SIZE(kwnames);
    Value *rest = d->varkeywords ? a->slots[named + d->varargs] : NULL;
    for (int k = 0; k < nkw; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        Value *value = args[nargs + k];
        int at = named;
        for (int i = d->code->co_posonlyargcount; i < named; i++) {
            PyObject *parameter = code_slot_name(d->code, i);
            if (parameter == name || PyUnicode_Compare(parameter, name) == 0) at = i;
        }
        if (at < named) {
            if (a->slots[at] != NULL) return raise_arguments(in, function, nargs, kwnames);
            a->slots[at] = value;
        } else {
            if (rest == NULL) return raise_arguments(in, function, nargs, kwnames);
            Answer answer = dict_store(in, rest, name, value);
            if (answer != ANSWER_YES) return answer;
        }
    }
    return ANSWER_YES;
}

/* Fills the parameters; nargs positional, then one value per keyword name. */
static Answer
bind_arguments(Interp *in, Activation *a, Value *function, int nargs, Value *const *args,
               PyObject *kwnames)
{
    const Decoded *d = a->decoded;
    int named = d->argcount + d->kwonly, taken = nargs < d->argcount ? nargs : d->argcount;
    for (int i = 0; i < taken; i++) a->slots[i] = args[i];
    if (nargs > taken && !d->varargs) return raise_arguments(in, function, nargs, kwnames);
    if (d->varargs) {
        a->slots[named] = value_sequence(in, V_TUPLE, nargs - taken, args + taken);
        if (a->slots[named] == NULL) return ANSWER_ERROR;
    }
    if (d->varkeywords) {
        a->slots[named + d->varargs] = value_sequence(in, V_DICT, 0, NULL);
        if (a->slots[named + d->varargs] == NULL) return ANSWER_ERROR;
    }
    if (kwnames != NULL) {
        Answer answer = bind_keywords(in, a, function, nargs, args, kwnames);
        if (answer != ANSWER_YES) return answer;
    }
    for (int i = 0; i < named; i++) {
        if (a->slots[i] != NULL) continue;
        Answer answer =
            i < d->argcount
                ? positional_default(in, function, i, d->argcount, &a->slots[i])
                : keyword_default(in, function, code_slot_name(d->code, i), &a->slots[i]);
        if (answer != ANSWER_YES) return answer;
        if (a->slots[i] == NULL) return raise_arguments(in, function, nargs, kwnames);
    }
    for (int i = 0; i < d->nlocalsplus; i++)
        if (a->slots[i] == NULL) a->slots[i] = in->unbound;
    return ANSWER_YES;
}

/* Other functions may have the same code: those made by the same statement, where that is executed
   again.  Guarded once. */
static int
guard_namespace(Interp *in, Value *function)
{
    if (function->source == NO_SOURCE) return 0;
    const void *key = (const void *)((((uintptr_t)function->source + 1) << 4) | 4);
    if (map_get(&in->sources.by_source, key) != NULL) return 0;
    if (map_put(in, &in->sources.by_source, key, in->null) < 0) return -1;
    const PyFunctionObject *object = (PyFunctionObject *)function->object;
    Guard guard = {.kind = GUARD_NAMESPACE,
                   .source = function->source,
                   .other = source_of_const(in, object->func_builtins),
                   .object = function->object};
    return guard.other == NO_SOURCE ? -1 : guard_add(in, &guard);
}

/* The builtins of a function made here: those that its globals name, borrowed from there, else
   those of the frame that made it.  Code that names nothing has no use for them. */
static Answer
made_builtins(Interp *in, const Value *function, PyObject **out)
{
    PyObject *globals = function->globals_of->object, *name = interned(in, "__builtins__");
    *out = function->builtins;
    if (name == NULL) return ANSWER_ERROR;
    if (PyTuple_GET_SIZE(((PyCodeObject *)function->object)->co_names) == 0) return ANSWER_YES;
    if (pending_find(in, globals, name) != NULL)
        return interp_break(in, BREAK_CALL_PYTHON, "a function whose builtins the program stores");
    PyObject *found;
    Answer answer = entry_stored(in, globals, name, &found);
    if (answer != ANSWER_YES) return answer;
    SourceId source = source_add(in, SOURCE_GLOBAL, NO_SOURCE, 0, name, globals);
    if (source == NO_SOURCE || guard_there(in, source, found) < 0) return ANSWER_ERROR;
    if (found != NULL) *out = PyModule_Check(found) ? PyModule_GetDict(found) : found;
    return ANSWER_YES;
}

enum { DEEPEST = 150 }; /* nested inlined calls of a function by itself */

bool
is_recursion(const Activation *activation)
{
    for (const Activation *a = activation->caller; a != NULL; a = a->caller)
        if (a->decoded == activation->decoded) return true;
    return false;
}

/* The break that an earlier attempt found inside the call at this place, or NULL. */
static const Break *
marked(Interp *in)
{
    for (int i = 0; i < in->attempt.marks->no_inline.len; i++)
        if (in->attempt.marks->no_inline.at[i] == in->bottom->number)
            return &in->attempt.marks->inner.at[i];
    return NULL;
}

/* The function followed in place of functools.singledispatch's own, which keeps weak references to
   choose by class; it gets the other's closure.  NULL: another function. */
static PyObject *
dispatch_for(PyObject *function)
{
    static PyObject *ours;
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    if (PyUnicode_CompareWithASCIIString(code->co_qualname, "singledispatch.<locals>.dispatch") !=
        0)
        return NULL;
    PyObject *module = dict_named(PyFunction_GET_GLOBALS(function), "__name__");
    if (module == NULL || !PyUnicode_Check(module) ||
        PyUnicode_CompareWithASCIIString(module, "functools") != 0)
        return NULL;
    if (ours == NULL) ours = module_object("pycompile.decompositions.functions", "dispatch");
    PyObject *mine = ours ? PyCode_GetFreevars((PyCodeObject *)PyFunction_GET_CODE(ours)) : NULL;
    PyObject *theirs = mine ? PyCode_GetFreevars(code) : NULL;
    int same = theirs ? PyObject_RichCompareBool(mine, theirs, Py_EQ) : 0;
    Py_XDECREF(mine);
    Py_XDECREF(theirs);
    PyErr_Clear();
    return same == 1 ? ours : NULL;
}

/* The budget that was spent inside of the call is the caller's: called by itself, the function may
   well fit into one graph.  So the break is the call's, and that line is only named. */
static Answer
break_too_long(Interp *in, const char *name, const Break *inner)
{
    const BreakFrame *at = &inner->frames[0];
    return break_hinted(in, BREAK_CALL_PYTHON, HINT_LOOP_INSIDE,
                        "'%s', followed from here: %s (%s:%d)", name, inner->detail, at->file,
                        at->line);
}

Answer
call_inlined(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
             Value **out)
{
    Answer logged = output_log(in, function, nargs, args, kwnames, out);
    if (logged != ANSWER_NO) return logged;
    /* by a method of random.Random: no name, the function is told by itself */
    Answer drawn = in->above->draw_in_loop(in, function, NULL, nargs, args, kwnames, out);
    if (drawn != ANSWER_NO) return drawn;
    const Config *config = in->request->config;
    bool made = function->kind == V_FUNCTION;
    if (!made && config != NULL && config->backend_draws &&
        function_is_of_module(function->object, "random"))
        return interp_break(in, BREAK_NUMPY, "a draw, with another backend");
    PyObject *code = made ? function->object : PyFunction_GET_CODE(function->object);
    const char *name = PyUnicode_AsUTF8(((PyCodeObject *)code)->co_qualname);
    if (name == NULL) return ANSWER_ERROR;
    const Break *inner = in->region == 0 ? marked(in) : NULL;
    if (inner != NULL && (inner->code == BREAK_UNROLL || inner->code == BREAK_TOO_LONG))
        return break_too_long(in, name, inner);
    if (inner != NULL)
        return interp_break_as(
            in, inner->code == BREAK_GENERATOR ? BREAK_GENERATOR : BREAK_CALL_PYTHON, inner);
    PyObject *dispatch = made ? NULL : dispatch_for(function->object);
    PyObject *followed = dispatch ? PyFunction_GET_CODE(dispatch) : code;
    const Decoded *decoded = decoded_for(in, (PyCodeObject *)followed);
    if (decoded == NULL) return ANSWER_ERROR;
    int suspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    if (decoded->aside != NULL && !decoded->generator)
        return interp_break(
            in, decoded->code->co_flags & suspends ? BREAK_GENERATOR : BREAK_CALL_PYTHON,
            "call of '%s': %s", name, decoded->aside);
    bool refused = in->inlined > DEEPEST || in->attempt.marks->recurses;
    for (Activation *a = in->top; a != NULL; a = a->caller)
        if (a->decoded == decoded && refused)
            return interp_break(in, BREAK_CALL_PYTHON, "call of '%s' by itself", name);
    Activation *activation = activation_new(in, decoded);
    if (activation == NULL) return ANSWER_ERROR;
    if (!made &&
        (call_guard_part(in, function, "__code__", code) < 0 || guard_namespace(in, function) < 0))
        return ANSWER_ERROR;
    activation->function = function;
    activation->globals =
        made ? function->globals_of->object : PyFunction_GET_GLOBALS(function->object);
    if (dispatch != NULL) activation->globals = PyFunction_GET_GLOBALS(dispatch);
    Answer answer = ANSWER_YES;
    if (made)
        answer = made_builtins(in, function, &activation->builtins);
    else
        activation->builtins = ((PyFunctionObject *)function->object)->func_builtins;
    if (answer != ANSWER_YES) return answer;
    if (in->top == in->bottom && !made) in->out->called = in->bottom->number;
    answer = bind_arguments(in, activation, function, nargs, args, kwnames);
    return answer == ANSWER_YES ? interp_run(in, activation, out) : answer;
}
