/* Calls of objects that pycompile.compile and pycompile.disable made (runtime/function.c): the
   function of a compiled one is followed like any other; at a disabled one capture breaks, unless
   it says what is followed in its place. */
#include "objects.h"

Decorated
decorated_kind(PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;
    if (strncmp(name, "pycompile._C.", 13) != 0) return DECORATED_NOT;
    if (strcmp(name + 13, "CompiledFunction") == 0) return DECORATED_COMPILED;
    return strcmp(name + 13, "DisabledFunction") == 0 ? DECORATED_DISABLED : DECORATED_NOT;
}

static Answer
disabled_call(Interp *in, Value *callable)
{
    if (value_guard_type(in, callable) < 0) return ANSWER_ERROR;
    PyObject *name = PyObject_GetAttrString(callable->object, "__qualname__");
    if (keep(in, name) == NULL) return ANSWER_ERROR;
    const char *text = PyUnicode_AsUTF8(name);
    return text ? interp_break(in, BREAK_DISABLED, "call of '%s'", text) : ANSWER_ERROR;
}

int
tape_runs(void)
{
    PyObject *tape = module_loaded("pycompile.derivatives._tape");
    PyObject *tapes = tape ? PyObject_CallMethod(tape, "tapes", NULL) : NULL;
    int runs = tapes ? PyObject_IsTrue(tapes) : PyErr_Occurred() ? -1 : 0;
    Py_XDECREF(tapes);
    Py_XDECREF(tape);
    return runs;
}

/* The function that is followed, kept; NULL where there is none, or with the error set. */
static PyObject *
followed_of(Interp *in, PyObject *object)
{
    bool disabled = decorated_kind(object) == DECORATED_DISABLED;
    if (disabled && tape_runs() != 0) return NULL;
    PyObject *found = PyObject_GetAttrString(object, disabled ? "__followed__" : "__wrapped__");
    if (found == NULL && disabled) PyErr_Clear();
    return keep(in, found);
}

Answer
decorated_call(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
               Value **out)
{
    PyObject *function = followed_of(in, callable->object);
    if (function == NULL) return PyErr_Occurred() ? ANSWER_ERROR : disabled_call(in, callable);
    if (guard_is(in, callable) != ANSWER_YES) return ANSWER_ERROR;
    Value *inner = value_of_const(in, function);
    return inner ? call_value(in, inner, nargs, args, kwnames, out) : ANSWER_ERROR;
}
