/* The object that pycompile.compile returns for a function: a callable that behaves as the function
   does (a method descriptor, weak references, pickling by name, its attributes) and runs it through
   plans. */
#include "entry.h"
#include "hooks.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyFunctionObject *function;
    const Config *config;
    PyCodeObject *code; /* what `state` belongs to: the function's code may be assigned to */
    CodeState *state;   /* dies with the code */
    PyObject *dict, *weakrefs;
} CompiledFunction;

/* The state of the function's code as it is now; NULL with the error cleared: run it plain. */
static CodeState *
current_state(CompiledFunction *self)
{
    PyCodeObject *code = (PyCodeObject *)self->function->func_code;
    if (code == self->code) return self->state;
    CodeState *state = code_state(code, self->config);
    if (state == NULL) {
        PyErr_Clear();
        return NULL;
    }
    Py_XSETREF(self->code, (PyCodeObject *)Py_NewRef(code));
    self->state = state;
    return state;
}

static PyObject *
compiled_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    CompiledFunction *self = (CompiledFunction *)object;
    CodeState *state = current_state(self);
    PyFunctionObject *function = self->function;
    if (state == NULL) return function_call(function, args, nargsf, kwnames);
    Py_INCREF(function);
    PyObject *result = run_call(state, function, args, nargsf, kwnames, NULL);
    Py_DECREF(function);
    return result;
}

static PyObject *
compiled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *options;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "CompiledFunction takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!O!:CompiledFunction", &PyFunction_Type, &function, &PyDict_Type,
                          &options))
        return NULL;
    const Config *config = config_from_options(options);
    if (config == NULL) return NULL;
    CompiledFunction *self = (CompiledFunction *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = compiled_vectorcall;
    self->function = (PyFunctionObject *)Py_NewRef(function);
    self->config = config;
    return (PyObject *)self;
}

static int
compiled_traverse(PyObject *object, visitproc visit, void *arg)
{
    CompiledFunction *self = (CompiledFunction *)object;
    Py_VISIT(self->function);
    Py_VISIT(self->code);
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
    Py_XDECREF(self->code);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *
compiled_repr(PyObject *object)
{
    CompiledFunction *self = (CompiledFunction *)object;
    return PyUnicode_FromFormat("<compiled function %U at %p>", self->function->func_qualname,
                                object);
}

static PyObject *
compiled_get(PyObject *object, PyObject *instance, PyObject *type)
{
    (void)type;
    if (instance == NULL || instance == Py_None) return Py_NewRef(object);
    return PyMethod_New(object, instance);
}

/* What is not found here is the function's: its own attributes, __globals__, __annotations__ … */
static PyObject *
compiled_getattro(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(object, name);
    if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    return PyObject_GetAttr((PyObject *)((CompiledFunction *)object)->function, name);
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

/* By name, like a function: what the name leads to is the compiled function itself. */
static PyObject *
compiled_reduce(PyObject *object, PyObject *none)
{
    (void)none;
    return Py_NewRef(((CompiledFunction *)object)->function->func_qualname);
}

static void
count(PyObject *dict, const char *key, long long value)
{
    record_int(dict, key, value);
}

/* stats() -> dict: what this function's code has been through. */
static PyObject *
compiled_stats(PyObject *object, PyObject *none)
{
    (void)none;
    const CodeState *state = current_state((CompiledFunction *)object);
    PyObject *dict = PyDict_New();
    if (dict == NULL) return NULL;
    long long entries = 0, plans = 0, given_up = 0;
    for (int i = 0; state != NULL && i < state->decoded->count; i++) {
        if (state->entries[i] == NULL) continue;
        entries++;
        plans += state->entries[i]->nplans;
        given_up += state->entries[i]->given_up;
    }
    count(dict, "entries", entries);
    count(dict, "plans", plans);
    count(dict, "given_up", given_up);
    count(dict, "plan_runs", state ? state->plan_runs : 0);
    count(dict, "compiles", state ? state->compiles : 0);
    count(dict, "recompiles", state ? state->recompiles : 0);
    count(dict, "breaks", state ? state->breaks : 0);
    count(dict, "deopts", state ? state->deopts : 0);
    return dict;
}

static PyMethodDef compiled_methods[] = {
    {"__reduce__", compiled_reduce, METH_NOARGS, NULL},
    {"stats", compiled_stats, METH_NOARGS,
     "stats() -> dict\n\nCounts of plans, plan runs, compiles, breaks and deopts."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef compiled_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(CompiledFunction, function), READONLY, NULL},
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
    FORWARDED("__annotations__"),
    {NULL, NULL, NULL, NULL, NULL},
};
#undef FORWARDED

PyTypeObject CompiledFunction_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pycompile._C.CompiledFunction",
    .tp_basicsize = sizeof(CompiledFunction),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = compiled_new,
    .tp_dealloc = compiled_dealloc,
    .tp_traverse = compiled_traverse,
    .tp_clear = compiled_clear,
    .tp_repr = compiled_repr,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(CompiledFunction, vectorcall),
    .tp_getattro = compiled_getattro,
    .tp_setattro = PyObject_GenericSetAttr,
    .tp_descr_get = compiled_get,
    .tp_dictoffset = offsetof(CompiledFunction, dict),
    .tp_weaklistoffset = offsetof(CompiledFunction, weakrefs),
    .tp_methods = compiled_methods,
    .tp_members = compiled_members,
    .tp_getset = compiled_getset,
};

static PyObject *
hook_reset(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    entry_reset();
    Py_RETURN_NONE;
}

static PyObject *
hook_report_begin(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    if (report_begin() < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *
hook_report_end(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return report_end();
}

PyMethodDef function_methods[] = {
    {"reset", hook_reset, METH_NOARGS, "reset()\n\nForgets every plan."},
    {"report_begin", hook_report_begin, METH_NOARGS, "report_begin()\n\nCollects records."},
    {"report_end", hook_report_end, METH_NOARGS, "report_end() -> list of dict"},
    {NULL, NULL, 0, NULL},
};

int
function_init(PyObject *module)
{
    if (entry_init() < 0 || PyType_Ready(&CompiledFunction_Type) < 0) return -1;
    return PyModule_AddObjectRef(module, "CompiledFunction", (PyObject *)&CompiledFunction_Type);
}
