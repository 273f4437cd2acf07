/* The objects that pycompile.compile and pycompile.disable return for a function: callables that
   behave as the function does (a method descriptor, weak references, its attributes, copied as the
   thing itself) and run it through plans or leave it to CPython.

   A CompiledFunction that was made while PYCOMPILE_DISABLE is set has all that others have and
   calls its function.  A DisabledFunction does so always, and capture breaks where one is called.
 */
#include "twins.h"
#include "hooks.h"
#include "recompile.h"

#include <structmember.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyFunctionObject *function;
    PyObject *options; /* the argument of compile; NULL: disabled */
    const Config *config;
    PyCodeObject *code; /* the code of `state`; the program may assign another to the function */
    CodeState *state;   /* freed with the code */
    PyObject *followed; /* of a DisabledFunction: the function that capture follows in its place */
    PyObject *dict, *weakrefs;
} CompiledFunction;

/* The state of the function's present code; NULL with the error cleared: run it plain.  Freeing the
   former code may run code of the program, which may call the function or change its code again. */
static CodeState *
current_state(CompiledFunction *self)
{
    PyFunctionObject *function = self->function;
    PyCodeObject *code = (PyCodeObject *)function->func_code, *before = self->code;
    PyObject *globals = function->func_globals, *builtins = function->func_builtins;
    if (code == before && state_serves(self->state, globals, builtins)) return self->state;
    CodeState *state = code_state(code, globals, builtins, self->config);
    if (state == NULL) {
        PyErr_Clear();
        return NULL;
    }
    self->code = (PyCodeObject *)Py_NewRef(code);
    self->state = state;
    Py_XDECREF(before);
    return self->state;
}

static inline PyObject *
call_skipped(PyFunctionObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return call_has_temporary(args, nargsf, kwnames)
               ? function_call(function, args, nargsf, kwnames)
               : function->vectorcall((PyObject *)function, args, nargsf, kwnames);
}

static PyObject *skipping_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames);

static PyObject *
compiled_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    CompiledFunction *self = (CompiledFunction *)object;
    CodeState *state = current_state(self);
    PyFunctionObject *function = self->function;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (state == NULL) return function_call(function, args, nargsf, kwnames);
    if (state_skips(state, args, nargs)) { /* another function of this code has found that */
        self->vectorcall = skipping_vectorcall;
        return call_skipped(function, args, nargsf, kwnames);
    }
    state_looks(state);
    Py_INCREF(function);
    PyObject *result = run_call(state, function, args, nargsf, kwnames, NULL);
    Py_DECREF(function);
    if (self->state == state && state->skips > 0) self->vectorcall = skipping_vectorcall;
    return result;
}

/* Calls that nobody looks at cost one jump. */
static PyObject *
skipping_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    CompiledFunction *self = (CompiledFunction *)object;
    if (state_skips(self->state, args, PyVectorcall_NARGS(nargsf)))
        return call_skipped(self->function, args, nargsf, kwnames);
    self->vectorcall = compiled_vectorcall;
    return compiled_vectorcall(object, args, nargsf, kwnames);
}

/* A CompiledFunction while PYCOMPILE_DISABLE is set calls its function: nothing is captured. */
static PyObject *
plain_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *function = Py_NewRef(((CompiledFunction *)object)->function);
    PyObject *result = function_call((PyFunctionObject *)function, args, nargsf, kwnames);
    Py_DECREF(function);
    return result;
}

/* Calls of a DisabledFunction.  In whole programs the function itself was a candidate until now. */
static PyObject *
disabled_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (program_is_running())
        program_dismiss((PyCodeObject *)((CompiledFunction *)object)->function->func_code);
    return plain_vectorcall(object, args, nargsf, kwnames);
}

/* Generators and coroutines come back as they are. */
static bool
function_suspends(PyFunctionObject *function)
{
    const int suspends = CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR;
    return (((PyCodeObject *)function->func_code)->co_flags & suspends) != 0;
}

static bool
takes_no_keywords(PyTypeObject *type, PyObject *kwargs)
{
    if (kwargs == NULL || PyDict_GET_SIZE(kwargs) == 0) return true;
    PyErr_Format(PyExc_TypeError, "%s takes no keyword arguments", type->tp_name);
    return false;
}

static CompiledFunction *
make(PyTypeObject *type, PyObject *function, vectorcallfunc vectorcall)
{
    CompiledFunction *self = (CompiledFunction *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = vectorcall;
    self->function = (PyFunctionObject *)Py_NewRef(function);
    return self;
}

/* CompiledFunction(function, options, plain=False, /) */
static PyObject *
compiled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *options;
    int plain = 0;
    if (!takes_no_keywords(type, kwargs)) return NULL;
    if (!PyArg_ParseTuple(args, "O!O!|p:CompiledFunction", &PyFunction_Type, &function,
                          &PyDict_Type, &options, &plain))
        return NULL;
    const Config *config = config_from_options(options);
    if (config == NULL || (options = PyDict_Copy(options)) == NULL) return NULL;
    CompiledFunction *self = make(type, function, plain ? plain_vectorcall : compiled_vectorcall);
    if (self == NULL) {
        Py_DECREF(options);
        return NULL;
    }
    self->config = config;
    self->options = options;
    return (PyObject *)self;
}

/* compiled_by_default(function, options, /) -> CompiledFunction, or None where more is to be looked
   at: `function` may be anything, and PYCOMPILE_DISABLE may be set.  `options` are the same dict in
   each call, which nothing changes.  Closures are made, and decorated, in each turn of a loop. */
static PyObject *
compiled_by_default(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    static PyObject *options;
    static const Config *config;
    (void)module;
    if (nargs != 2 || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "compiled_by_default takes an object and a dict");
        return NULL;
    }
    if (!PyFunction_Check(args[0]) || function_suspends((PyFunctionObject *)args[0]))
        Py_RETURN_NONE;
    const char *disabled = getenv("PYCOMPILE_DISABLE");
    if (disabled != NULL && *disabled != '\0') Py_RETURN_NONE;
    if (options != args[1]) {
        if ((config = config_from_options(args[1])) == NULL) return NULL;
        Py_XSETREF(options, Py_NewRef(args[1]));
    }
    CompiledFunction *self = make(&CompiledFunction_Type, args[0], compiled_vectorcall);
    if (self == NULL) return NULL;
    self->config = config;
    self->options = Py_NewRef(options);
    return (PyObject *)self;
}

/* DisabledFunction(function, followed=None, /) */
static PyObject *
disabled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *followed = NULL;
    if (!takes_no_keywords(type, kwargs)) return NULL;
    if (!PyArg_ParseTuple(args, "O!|O:DisabledFunction", &PyFunction_Type, &function, &followed))
        return NULL;
    CompiledFunction *self = make(type, function, disabled_vectorcall);
    if (self != NULL) self->followed = Py_XNewRef(followed);
    return (PyObject *)self;
}

static int
compiled_traverse(PyObject *object, visitproc visit, void *arg)
{
    CompiledFunction *self = (CompiledFunction *)object;
    Py_VISIT(self->function);
    Py_VISIT(self->options);
    Py_VISIT(self->code);
    Py_VISIT(self->followed);
    Py_VISIT(self->dict);
    return 0;
}

static int
compiled_clear(PyObject *object)
{
    CompiledFunction *self = (CompiledFunction *)object;
    Py_CLEAR(self->dict);
    return 0;
}

static void
compiled_dealloc(PyObject *object)
{
    CompiledFunction *self = (CompiledFunction *)object;
    PyObject_GC_UnTrack(object);
    if (self->weakrefs != NULL) PyObject_ClearWeakRefs(object);
    Py_XDECREF(self->dict);
    Py_XDECREF(self->function);
    Py_XDECREF(self->options);
    Py_XDECREF(self->code);
    Py_XDECREF(self->followed);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *
compiled_repr(PyObject *object)
{
    CompiledFunction *self = (CompiledFunction *)object;
    return PyUnicode_FromFormat("<%s function %U at %p>",
                                self->options != NULL ? "compiled" : "disabled",
                                self->function->func_qualname, object);
}

static PyObject *
compiled_get(PyObject *object, PyObject *instance, PyObject *type)
{
    (void)type;
    if (instance == NULL || instance == Py_None) return Py_NewRef(object);
    return PyMethod_New(object, instance);
}

/* Attributes not found here are looked up on the function: __globals__, __annotations__ … */
static PyObject *
compiled_getattro(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(object, name);
    if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    return PyObject_GetAttr((PyObject *)((CompiledFunction *)object)->function, name);
}

/* What is not stored here is deleted where it is read. */
static int
compiled_setattro(PyObject *object, PyObject *name, PyObject *value)
{
    int failed = PyObject_GenericSetAttr(object, name, value);
    if (value != NULL || failed == 0 || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return failed;
    PyErr_Clear();
    return PyObject_SetAttr((PyObject *)((CompiledFunction *)object)->function, name, NULL);
}

static PyObject *
get_forwarded(PyObject *object, void *name)
{
    return PyObject_GetAttrString((PyObject *)((CompiledFunction *)object)->function, name);
}

static int
set_forwarded(PyObject *object, PyObject *value, void *name)
{
    PyObject *function = (PyObject *)((CompiledFunction *)object)->function;
    return value ? PyObject_SetAttrString(function, name, value)
                 : PyObject_DelAttrString(function, name);
}

/* Pickled by name, or as the plain function and the options: pycompile/_pickling.py decides. */
static PyObject *
compiled_reduce(PyObject *object, PyObject *protocol)
{
    (void)protocol;
    PyObject *options = ((CompiledFunction *)object)->options;
    PyObject *reduce = module_object("pycompile._pickling", "reduce");
    PyObject *result =
        reduce != NULL
            ? PyObject_CallFunctionObjArgs(reduce, object, options ? options : Py_None, NULL)
            : NULL;
    Py_XDECREF(reduce);
    return result;
}

/* copy.copy returns the function itself, as for plain functions. */
static PyObject *
compiled_copy(PyObject *object, PyObject *memo)
{
    (void)memo;
    return Py_NewRef(object);
}

/* stats() -> dict: the counts of this function's code under these options. */
static PyObject *
compiled_stats(PyObject *object, PyObject *none)
{
    (void)none;
    CompiledFunction *self = (CompiledFunction *)object;
    const CodeState *state =
        self->options != NULL && self->vectorcall != plain_vectorcall ? current_state(self) : NULL;
    PyObject *dict = PyDict_New();
    if (dict == NULL) return NULL;
    long long entries = 0, plans = 0, twins = 0;
    for (int i = 0; state != NULL && i < state->decoded->count; i++) {
        if (state->entries[i] == NULL) continue;
        entries++;
        plans += state->entries[i]->nplans;
        for (int k = 0; k < state->entries[i]->nplans; k++)
            twins += twins_count(state->entries[i]->plans[k]);
    }
    record_int(dict, "entries", entries);
    record_int(dict, "plans", plans);
    record_int(dict, "twins", twins);
    hints_record(state, dict);
    return dict;
}

/* precompile(*args, **kwargs) -> bool: pycompile/_precompile.py binds them. */
static PyObject *
compiled_precompile(PyObject *object, PyObject *args, PyObject *kwargs)
{
    CompiledFunction *self = (CompiledFunction *)object;
    if (self->options == NULL || self->vectorcall == plain_vectorcall) Py_RETURN_FALSE;
    PyObject *bind = module_object("pycompile._precompile", "bind");
    PyObject *bound = bind != NULL ? PyObject_CallFunction(bind, "OOO", (PyObject *)self->function,
                                                           args, kwargs != NULL ? kwargs : Py_None)
                                   : NULL;
    Py_XDECREF(bind);
    if (bound == NULL) return NULL;
    CodeState *state = current_state(self);
    PyFunctionObject *function = (PyFunctionObject *)Py_NewRef((PyObject *)self->function);
    int status = state != NULL ? precompile(state, function, bound) : 0;
    Py_DECREF(function);
    Py_DECREF(bound);
    return status < 0 ? NULL : PyBool_FromLong(status);
}

/* _compile(function): with the same options. */
static PyObject *
compiled_compile(PyObject *object, PyObject *function)
{
    CompiledFunction *self = (CompiledFunction *)object;
    PyObject *plain = self->vectorcall == plain_vectorcall ? Py_True : Py_False;
    return PyObject_CallFunctionObjArgs((PyObject *)Py_TYPE(object), function, self->options, plain,
                                        NULL);
}

/* _export(name, told, names, values, vector_bytes): see recompile.h. */
static PyObject *
compiled_export(PyObject *object, PyObject *args)
{
    CompiledFunction *self = (CompiledFunction *)object;
    const char *name, *told;
    PyObject *names, *values;
    int bytes;
    if (!PyArg_ParseTuple(args, "ssO!O!i", &name, &told, &PyTuple_Type, &names, &PyTuple_Type,
                          &values, &bytes))
        return NULL;
    CodeState *state = self->options != NULL ? current_state(self) : NULL;
    if (state == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "nothing is compiled in this process");
    if (state == NULL) return NULL;
    PyFunctionObject *function = (PyFunctionObject *)Py_NewRef((PyObject *)self->function);
    PyObject *made = export_function(state, function, name, told, names, values, bytes);
    Py_DECREF(function);
    return made;
}

static PyMethodDef compiled_methods[] = {
    {"_compile", compiled_compile, METH_O, NULL},
    {"_export", compiled_export, METH_VARARGS, NULL},
    {"__reduce__", compiled_reduce, METH_NOARGS, NULL},
    {"__reduce_ex__", compiled_reduce, METH_O, NULL},
    {"__copy__", compiled_copy, METH_NOARGS, NULL},
    {"__deepcopy__", compiled_copy, METH_O, NULL},
    {"precompile", (PyCFunction)(void (*)(void))compiled_precompile, METH_VARARGS | METH_KEYWORDS,
     "precompile(*args, **kwargs) -> bool\n\n"
     "Makes the plan of a call with such arguments, and waits for the C compiler.  Nothing of the "
     "function runs. A\n"
     "pycompile.Array(shape, dtype) may stand for each array, also in lists, tuples and dicts. Of "
     "a "
     "method, the\n"
     "instance is the first argument: Model.forward.precompile(model, x).\n\n"
     "True: such a call is one plan.  False: it is not: what is behind a graph break is compiled "
     "when a call comes\n"
     "there; what is not worth a plan, a disabled function, and what cannot be compiled is "
     "Python's.\n\n"
     "Raises TypeError where the arguments do not match, and GraphBreakError under fullgraph.\n"},
    {"stats", compiled_stats, METH_NOARGS,
     "stats() -> dict\n\n"
     "Counts of the function's code in its namespace with these options. What is compiled from the "
     "same function with\n"
     "the same options shares its plans, and so these counts, which pycompile.reset() sets to "
     "0.\n\n"
     "entries     places of the code at which a plan was looked for\n"
     "plans       plans that there are now, at all entries\n"
     "twins       those for the lengths at which another plan runs most, which plans leaves out\n"
     "given_up    entries that are Python's for now: recompile_limit\n"
     "slower      plans and kinds of calls left to Python for now: it was faster when both were "
     "timed\n"
     "paused      plans left to Python for a while: undone runs cost more than the others save\n"
     "plan_runs   runs of plans; a call with breaks runs more than one\n"
     "compiles    attempts to make a plan, those that came to none included\n"
     "recompiles  those of them that a failed guard made necessary\n"
     "breaks      runs of plans that ended at a graph break\n"
     "deopts      runs that were undone and left to CPython\n"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef compiled_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(CompiledFunction, function), READONLY, NULL},
    {"__followed__", T_OBJECT, offsetof(CompiledFunction, followed), READONLY, NULL},
    {"_options", T_OBJECT, offsetof(CompiledFunction, options), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define FORWARDED(name) {name, get_forwarded, set_forwarded, NULL, name}
static PyGetSetDef compiled_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    FORWARDED("__name__"),
    FORWARDED("__qualname__"),
    FORWARDED("__doc__"),
    FORWARDED("__module__"),
    FORWARDED("__defaults__"),
    FORWARDED("__kwdefaults__"),
    FORWARDED("__code__"),
    FORWARDED("__globals__"),
    FORWARDED("__builtins__"),
    FORWARDED("__closure__"),
    FORWARDED("__annotations__"),
    {NULL, NULL, NULL, NULL, NULL},
};
#undef FORWARDED

#define FUNCTION_TYPE(name, make_new)                                                              \
    {                                                                                              \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pycompile._C." name,                             \
        .tp_basicsize = sizeof(CompiledFunction),                                                  \
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |         \
                    Py_TPFLAGS_METHOD_DESCRIPTOR,                                                  \
        .tp_new = make_new,                                                                        \
        .tp_dealloc = compiled_dealloc,                                                            \
        .tp_traverse = compiled_traverse,                                                          \
        .tp_clear = compiled_clear,                                                                \
        .tp_repr = compiled_repr,                                                                  \
        .tp_call = PyVectorcall_Call,                                                              \
        .tp_vectorcall_offset = offsetof(CompiledFunction, vectorcall),                            \
        .tp_getattro = compiled_getattro,                                                          \
        .tp_setattro = compiled_setattro,                                                          \
        .tp_descr_get = compiled_get,                                                              \
        .tp_dictoffset = offsetof(CompiledFunction, dict),                                         \
        .tp_weaklistoffset = offsetof(CompiledFunction, weakrefs),                                 \
        .tp_methods = compiled_methods,                                                            \
        .tp_members = compiled_members,                                                            \
        .tp_getset = compiled_getset,                                                              \
    }

PyTypeObject CompiledFunction_Type = FUNCTION_TYPE("CompiledFunction", compiled_new);
PyTypeObject DisabledFunction_Type = FUNCTION_TYPE("DisabledFunction", disabled_new);

static PyObject *
hook_reset(PyObject *self, PyObject *args)
{
    int varied = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "|p", &varied)) return NULL;
    entry_reset(varied);
    log_forget_hints();
    pool_clear();
#ifdef __GLIBC__
    malloc_trim(0); /* returns memory of freed plans that lies between live blocks */
#endif
    Py_RETURN_NONE;
}

static PyObject *
hook_report_begin(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    Py_ssize_t begun = report_begin();
    return begun < 0 ? NULL : PyLong_FromSsize_t(begun);
}

static PyObject *
hook_report_end(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return report_end();
}

PyMethodDef function_methods[] = {
    {"compiled_by_default", (PyCFunction)(void (*)(void))compiled_by_default, METH_FASTCALL,
     "compiled_by_default(function, options, /) -> CompiledFunction | None"},
    {"reset", hook_reset, METH_VARARGS,
     "reset(varied=False, /)\n\nForgets every plan; memory kept goes back. With `varied`, the next "
     "plans are made for\nwhat has varied until now."},
    {"report_begin", hook_report_begin, METH_NOARGS,
     "report_begin() -> int\n\nCollects records; how many there are of those who asked before."},
    {"report_end", hook_report_end, METH_NOARGS, "report_end() -> list of dict"},
    {NULL, NULL, 0, NULL},
};

/* The function behind one of them. */
static PyFunctionObject *
function_of(PyObject *callable)
{
    bool stands = Py_IS_TYPE(callable, &CompiledFunction_Type) ||
                  Py_IS_TYPE(callable, &DisabledFunction_Type);
    return stands ? ((CompiledFunction *)callable)->function : NULL;
}

int
function_init(PyObject *module)
{
    hook_knows(function_of);
    if (entry_init() < 0 || PyType_Ready(&CompiledFunction_Type) < 0 ||
        PyType_Ready(&DisabledFunction_Type) < 0 || PyModule_AddType(module, &FrameCall_Type) < 0)
        return -1;
    guards_know_wrappers(&CompiledFunction_Type, &DisabledFunction_Type);
    if (PyModule_AddObjectRef(module, "CompiledFunction", (PyObject *)&CompiledFunction_Type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "DisabledFunction", (PyObject *)&DisabledFunction_Type);
}
