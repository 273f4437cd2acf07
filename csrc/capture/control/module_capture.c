/* Capture's functions for Python: a hook for tests and for inspection. */
#include "control.h"

/* The slots of a fresh frame with these positional arguments. */
static PyObject *
capture_slots(PyFunctionObject *function, const Decoded *decoded, PyObject *const *args,
              Py_ssize_t nargs)
{
    if (nargs != decoded->argcount || decoded->kwonly || decoded->varargs || decoded->varkeywords)
        return PyErr_Format(PyExc_TypeError, "_capture takes all positional arguments, %d of them",
                            decoded->argcount);
    PyCodeObject *code = decoded->code;
    PyObject *slots = PyTuple_New(decoded->nlocalsplus);
    PyObject *closure = function->func_closure;
    Py_ssize_t nfree = closure ? PyTuple_GET_SIZE(closure) : 0;
    for (int i = 0; slots != NULL && i < decoded->nlocalsplus; i++) {
        PyObject *value = i < nargs ? Py_NewRef(args[i]) : NULL;
        int kind = code_slot_kind(code, i);
        if (kind & SLOT_FREE)
            value = Py_NewRef(PyTuple_GET_ITEM(closure, i - (decoded->nlocalsplus - nfree)));
        else if (kind & SLOT_CELL)
            Py_XSETREF(value, PyCell_New(value));
        PyTuple_SET_ITEM(slots, i, value);
    }
    return slots;
}

static PyObject *
py_capture(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)self;
    if (nargs < 1 || !PyFunction_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "_capture takes a function and its arguments");
        return NULL;
    }
    PyFunctionObject *function = (PyFunctionObject *)args[0];
    Decoded *decoded = decode((PyCodeObject *)function->func_code);
    if (decoded == NULL) return NULL;
    PyObject *slots = capture_slots(function, decoded, args + 1, nargs - 1), *result = NULL;
    Capture *captured = NULL;
    if (slots != NULL) {
        CaptureRequest request = {.decoded = decoded,
                                  .globals = function->func_globals,
                                  .builtins = function->func_builtins,
                                  .function = function,
                                  .slots = ((PyTupleObject *)slots)->ob_item,
                                  .number = decoded->first_traceable};
        captured = capture(&request);
    }
    if (captured != NULL) {
        Text text = {0};
        if (capture_print(captured, &text) == 0) result = text_to_str(&text);
        text_free(&text);
    }
    capture_free(captured);
    Py_XDECREF(slots);
    decoded_free(decoded);
    return result;
}

static PyObject *
py_pick(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)self;
    if (nargs == 3 && PyBool_Check(args[2])) return Py_NewRef(args[args[2] == Py_True]);
    PyErr_SetString(PyExc_TypeError, "_pick takes two objects and a bool");
    return NULL;
}

bool
callable_picks(PyObject *callable)
{
    return PyCFunction_CheckExact(callable) &&
           PyCFunction_GET_FUNCTION(callable) == (PyCFunction)(void (*)(void))py_pick;
}

static PyObject *
py_decomposition(PyObject *self, PyObject *original)
{
    (void)self;
    PyObject *found = decompositions_add(original) < 0 ? NULL : decomposition_of(original);
    if (found == NULL && PyErr_Occurred()) return NULL;
    return Py_NewRef(found ? found : Py_None);
}

static PyMethodDef methods[] = {
    {"_decomposition", py_decomposition, METH_O,
     "The function of pycompile.decompositions that is followed in place of this one, or None."},
    {"_pick", (PyCFunction)(void (*)(void))py_pick, METH_FASTCALL,
     "_pick(a, b, test): (a, b)[test], in a plan: of numbers of two classes."},
    {"_capture", (PyCFunction)(void (*)(void))py_capture, METH_FASTCALL,
     "Graph, guards, breaks, builds and exit of a call that is followed but not run, as text."},
    {NULL, NULL, 0, NULL},
};

int
capture_module(PyObject *module)
{
    callables_filled_by(numpy_callables);
    callables_filled_by(device_callables);
    callables_filled_by(collective_callables);
    callables_filled_by(object_callables);
    callables_filled_by(control_callables);
    callables_filled_by(derivative_callables);
    if (function_table_module(module) < 0 || trial_module(module) < 0) return -1;
    if (PyModule_AddFunctions(module, alone_methods) < 0) return -1;
    return PyModule_AddFunctions(module, methods);
}
