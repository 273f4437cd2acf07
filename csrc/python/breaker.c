/* The eval breaker: what the interpreter does at RESUME, at back edges and after calls; and how
   many threads it has, and whether it ends.

   3.13 exports the function that does it.  On 3.11 and 3.12 an empty Python function is called: its
   RESUME drops the GIL, runs pending calls and the collector, and raises asynchronous exceptions.
   Signals are handled before that, so that their handlers see the user's frame. */
#include "internal.h"

#include "step.h"

bool
breaker_is_set(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (ts->eval_breaker & _PY_EVAL_EVENTS_MASK) != 0;
#else
    return _Py_atomic_load_relaxed(&ts->interp->ceval.eval_breaker) != 0;
#endif
}

bool
signal_is_pending(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (ts->eval_breaker & _PY_SIGNALS_PENDING_BIT) != 0; /* set only for the main thread */
#else
    /* Not the breaker: while this thread has not the GIL, others that take it compute the breaker
       anew, each for itself (CPython 3.12 Python/ceval_gil.c, COMPUTE_EVAL_BREAKER). */
    return _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) != 0 &&
           _Py_ThreadCanHandleSignals(ts->interp);
#endif
}

bool
gil_is_wanted(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (ts->eval_breaker & _PY_GIL_DROP_REQUEST_BIT) != 0;
#else
    return _Py_atomic_load_relaxed(&ts->interp->ceval.gil_drop_request) != 0;
#endif
}

bool
interpreter_ends(void)
{
    return _PyRuntimeState_GetFinalizing(&_PyRuntime) != NULL;
}

bool
thread_is_alone(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);
    return PyThreadState_Next(first) == NULL;
}

uint64_t
thread_states_made(void)
{
    PyThreadState *state = PyThreadState_New(PyThreadState_Get()->interp);
    if (state == NULL) return 0;
    uint64_t id = PyThreadState_GetID(state);
    PyThreadState_Clear(state);
    PyThreadState_Delete(state);
    return id;
}

#if PY_VERSION_HEX >= 0x030D0000
int
breaker_serve(PyThreadState *ts)
{
    return _Py_HandlePending(ts);
}

int
breaker_init(void)
{
    return 0;
}
#else
static PyObject *empty_function; /* lives as long as the process */

int
breaker_init(void)
{
    if (empty_function != NULL) return 0;
    PyObject *globals = PyDict_New();
    if (globals == NULL) return -1;
    if (PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0)
        empty_function = PyRun_String("lambda: None", Py_eval_input, globals, globals);
    Py_DECREF(globals);
    return empty_function != NULL ? 0 : -1;
}

/* Removes the empty function's entry, which is no part of the user's traceback. */
static void
drop_first_traceback(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (traceback != NULL) {
        PyObject *next = (PyObject *)((PyTracebackObject *)traceback)->tb_next;
        Py_XINCREF(next);
        Py_SETREF(traceback, next);
        PyErr_NormalizeException(&type, &value, &traceback);
        if (traceback != NULL)
            PyException_SetTraceback(value, traceback);
        else
            PyException_SetTraceback(value, Py_None);
    }
    PyErr_Restore(type, value, traceback);
}

int
breaker_serve(PyThreadState *ts)
{
    if (PyErr_CheckSignals() < 0) return -1;
    if (!breaker_is_set(ts)) return 0;
    PyObject *result = PyObject_CallNoArgs(empty_function);
    if (result == NULL) drop_first_traceback();
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}
#endif

int
frame_serve_breaker(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number)
{
    FrameLink link;
    frame_link(ts, frame, decoded->instrs[number].at, &link);
    int result = breaker_serve(ts);
    frame_unlink(ts, frame, &link);
    return result;
}
