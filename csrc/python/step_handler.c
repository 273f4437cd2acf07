/* Steps: raising inside a try block of the frame, and the instructions of its handlers.

   The exception being handled is in the thread's exc_info and the previous one on the stack, as in
   the interpreter: a handler can be stepped in part and left to the interpreter at any
   instruction. */
#include "step.h"

/* Sets the exception as the error, unchanged. */
static StepResult
set_raised(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(Py_NewRef(exception));
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(exception)), Py_NewRef(exception),
                  PyException_GetTraceback(exception));
#endif
    return STEP_ERROR;
}

/* A new reference: the operand if it is an exception, or the exception that calling it makes.  NULL
   with the error set, or without one if it is neither. */
static PyObject *
exception_of(PyObject *operand)
{
    if (PyExceptionInstance_Check(operand)) return Py_NewRef(operand);
    if (!PyExceptionClass_Check(operand)) return NULL;
    PyObject *made = PyObject_CallNoArgs(operand);
    if (made == NULL || PyExceptionInstance_Check(made)) return made;
    PyErr_Format(PyExc_TypeError,
                 "calling %R should have returned an instance of BaseException, not %R", operand,
                 Py_TYPE(made));
    Py_DECREF(made);
    return NULL;
}

static StepResult
raise_again(void)
{
    PyObject *handled = PyErr_GetHandledException();
    if (handled == NULL || handled == Py_None) {
        Py_XDECREF(handled);
        return STEP_CANNOT;
    }
    set_raised(handled);
    Py_DECREF(handled);
    return STEP_ERROR;
}

static StepResult
raise_(Step *s)
{
    int operands = s->instr->arg;
    if (operands == 0) return raise_again();
    PyObject *cause = operands == 2 ? step_peek(s, 1) : NULL;
    PyObject *operand = step_peek(s, operands);
    bool good = PyExceptionInstance_Check(operand) || PyExceptionClass_Check(operand);
    if (cause != NULL && cause != Py_None && !PyExceptionInstance_Check(cause) &&
        !PyExceptionClass_Check(cause))
        good = false;
    if (!good) return STEP_CANNOT;
    PyObject *exception = exception_of(operand), *fixed = NULL;
    if (exception == NULL) return STEP_ERROR;
    if (cause != NULL) {
        if (cause != Py_None && (fixed = exception_of(cause)) == NULL) {
            Py_DECREF(exception);
            return STEP_ERROR;
        }
        PyException_SetCause(exception, fixed);
    }
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return STEP_ERROR;
}

static StepResult
push_info(Step *s)
{
    _PyErr_StackItem *info = s->ts->exc_info;
    PyObject *exception = step_pop(s);
    step_push(s, info->exc_value != NULL ? info->exc_value : Py_NewRef(Py_None));
    step_push(s, exception);
    info->exc_value = Py_NewRef(exception);
    return STEP_NEXT;
}

static StepResult
pop_info(Step *s)
{
    handled_put(s->ts, step_pop(s));
    return STEP_NEXT;
}

static StepResult
check_match(Step *s)
{
    PyObject *classes = step_peek(s, 1);
    Py_ssize_t n = PyTuple_Check(classes) ? PyTuple_GET_SIZE(classes) : 1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!PyExceptionClass_Check(PyTuple_Check(classes) ? PyTuple_GET_ITEM(classes, i)
                                                           : classes))
            return STEP_CANNOT;
    int match = PyErr_GivenExceptionMatches(step_peek(s, 2), classes);
    return step_put(s, 1, Py_NewRef(match ? Py_True : Py_False));
}

/* exit(type, value, traceback) on top of [exit, lasti, previous, exception]. */
static StepResult
with_except_start(Step *s)
{
    PyObject *exception = step_peek(s, 1), *traceback = PyException_GetTraceback(exception);
    PyObject *args[] = {NULL, (PyObject *)Py_TYPE(exception), exception,
                        traceback != NULL ? traceback : Py_None};
    PyObject *result =
        PyObject_Vectorcall(step_peek(s, 4), args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(traceback);
    return step_put(s, 0, result);
}

StepResult
step_handler(Step *s)
{
    switch (s->instr->kind) {
    case I_PUSH_EXC_INFO: return push_info(s);
    case I_POP_EXCEPT: return pop_info(s);
    case I_CHECK_EXC_MATCH: return check_match(s);
    case I_WITH_EXCEPT_START: return with_except_start(s);
    default: break;
    }
    /* Only if this frame has a handler; otherwise the interpreter can execute the instruction. */
    if (handler_at(s->decoded, s->instr->at) == NULL) return STEP_CANNOT;
    return s->instr->kind == I_RAISE ? raise_(s) : set_raised(step_peek(s, 1));
}
