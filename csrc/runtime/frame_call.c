/* Calls from frames that look like the program's (pycompile/_frames.py).  A plan has such an object
   for a function that it followed in place: the code that is to be seen, and what it calls.

   The namespace is borrowed, since a plan keeps none alive (guards_weak.c): it lives while the plan
   runs, which guards the namespaces of all functions that it followed. */
#include "runtime.h"

#include <stddef.h>

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *code, *inner;
    PyObject *globals; /* borrowed */
} FrameCall;

/* A new function of the code, which calls `inner` by its one free variable. */
static PyObject *
function_of(const FrameCall *self)
{
    PyObject *function = PyFunction_New(self->code, self->globals);
    PyObject *cell = PyCell_New(self->inner);
    PyObject *closure = cell != NULL ? PyTuple_Pack(1, cell) : NULL;
    Py_XDECREF(cell);
    if (function != NULL && (closure == NULL || PyFunction_SetClosure(function, closure) < 0))
        Py_CLEAR(function);
    Py_XDECREF(closure);
    return function;
}

static PyObject *
frame_call_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    FrameCall *self = (FrameCall *)object;
    if (program_is_running()) program_dismiss((PyCodeObject *)self->code);
    PyObject *function = function_of(self);
    if (function == NULL) return NULL;
    PyObject *result = function_call((PyFunctionObject *)function, args, nargsf, kwnames);
    Py_DECREF(function);
    return result;
}

/* FrameCall(code, globals, inner, /) */
static PyObject *
frame_call_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *code, *globals, *inner;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!O:FrameCall", &PyCode_Type, &code, &PyDict_Type, &globals,
                          &inner))
        return NULL;
    if (PyCode_GetNumFree((PyCodeObject *)code) != 1) {
        PyErr_SetString(PyExc_ValueError, "the code of a FrameCall has one free variable");
        return NULL;
    }
    FrameCall *self = (FrameCall *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = frame_call_vectorcall;
    self->code = Py_NewRef(code);
    self->inner = Py_NewRef(inner);
    self->globals = globals;
    return (PyObject *)self;
}

static int
frame_call_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((FrameCall *)object)->inner);
    return 0;
}

static int
frame_call_clear(PyObject *object)
{
    Py_CLEAR(((FrameCall *)object)->inner);
    return 0;
}

static void
frame_call_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    (void)frame_call_clear(object);
    Py_DECREF(((FrameCall *)object)->code);
    Py_TYPE(object)->tp_free(object);
}

PyTypeObject FrameCall_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pycompile._C.FrameCall",
    .tp_basicsize = sizeof(FrameCall),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = frame_call_new,
    .tp_dealloc = frame_call_dealloc,
    .tp_traverse = frame_call_traverse,
    .tp_clear = frame_call_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(FrameCall, vectorcall),
};
