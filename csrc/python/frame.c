/* The interpreter's own frame: reading it, placing it, leaving through it.

   In: a frame that the hook was given (owned by the thread, not linked).  Its stacktop is always
   valid here, since no evaluator runs it: slots [0, nlocalsplus + depth) are owned or NULL.  Every
   way to leave a frame goes through _PyEval_EvalFrameDefault, which clears it on every version. */
#include "internal.h"

#include <opcode.h>

#include "decode_flow.h"
#include "step.h"

/* Lets execution continue at `idx`: 3.13's instr_ptr is the next instruction, prev_instr of 3.11
   and 3.12 the one before it. */
static void
set_resume_point(Frame *frame, int idx)
{
    _Py_CODEUNIT *code = _PyCode_CODE(frame_code(frame));
#if PY_VERSION_HEX >= 0x030D0000
    frame->instr_ptr = code + idx;
#else
    frame->prev_instr = code + idx - 1;
#endif
}

/* Sets the instruction pointer as it is while the instruction at `at` runs. */
void
frame_set_running(Frame *frame, int at)
{
    _Py_CODEUNIT *code = _PyCode_CODE(frame_code(frame));
#if PY_VERSION_HEX >= 0x030D0000
    frame->instr_ptr = code + at;
#else
    frame->prev_instr = code + at;
#endif
}

/* Has the frame executed any instruction? */
static bool
has_begun(Frame *frame)
{
    _Py_CODEUNIT *code = _PyCode_CODE(frame_code(frame));
#if PY_VERSION_HEX >= 0x030D0000
    return frame->instr_ptr > code;
#else
    return frame->prev_instr >= code;
#endif
}

PyCodeObject *
frame_code(Frame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (PyCodeObject *)frame->f_executable;
#else
    return frame->f_code;
#endif
}

PyFunctionObject *
frame_function(Frame *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    return (PyFunctionObject *)frame->f_funcobj;
#else
    return frame->f_func;
#endif
}

PyObject *
frame_globals(Frame *frame)
{
    return frame->f_globals;
}

PyObject *
frame_builtins(Frame *frame)
{
    return frame->f_builtins;
}

PyObject **
frame_slots(Frame *frame)
{
    return frame->localsplus;
}

int
frame_depth(Frame *frame)
{
    return frame->stacktop - frame_code(frame)->co_nlocalsplus;
}

void
frame_set_depth(Frame *frame, int depth)
{
    frame->stacktop = frame_code(frame)->co_nlocalsplus + depth;
}

static int
make_cell(PyObject **slot)
{
    PyObject *cell = PyCell_New(*slot);
    if (cell == NULL) return -1;
    Py_XSETREF(*slot, cell);
    return 0;
}

static void
copy_free_vars(Frame *frame, int count)
{
    PyObject *closure = frame_function(frame)->func_closure;
    PyObject **slots = frame->localsplus + frame_code(frame)->co_nlocalsplus - count;
    for (int i = 0; i < count; i++) slots[i] = Py_NewRef(PyTuple_GET_ITEM(closure, i));
}

/* The instruction pointer moves past each instruction once it is done, so that after a failure
   (memory) the frame can continue from there, and a second call does nothing. */
int
frame_prologue(Frame *frame, const Decoded *decoded)
{
    if (has_begun(frame)) return 0;
    for (int i = 0; i < decoded->first_traceable; i++) {
        const Instr *instr = &decoded->instrs[i];
        if (instr->kind == I_COPY_FREE_VARS)
            copy_free_vars(frame, instr->arg);
        else if (instr->kind == I_MAKE_CELL && make_cell(&frame->localsplus[instr->arg]) < 0)
            return -1;
        set_resume_point(frame, instr->next);
    }
    return 0;
}

PyObject *
frame_resume(PyThreadState *ts, Frame *frame, int idx)
{
    int first = frame_code(frame)->_co_firsttraceable;
    if (idx >= first)
        set_resume_point(frame, idx);
    else if (has_begun(frame))
        set_resume_point(frame, first);
    return _PyEval_EvalFrameDefault(ts, frame, 0);
}

void
frame_drop(Frame *frame, int depth)
{
    int floor = frame_code(frame)->co_nlocalsplus + depth;
    while (frame->stacktop > floor) {
        PyObject *top = frame->localsplus[--frame->stacktop];
        Py_XDECREF(top);
    }
}

/* For a function with RETURN_CONST only: lets it return its constant, and returns `result`
   instead. */
static PyObject *
return_through_const(PyThreadState *ts, Frame *frame, const Decoded *decoded, PyObject *result)
{
    for (int i = 0; i < decoded->count; i++) {
        if (decoded->instrs[i].kind != I_RETURN) continue;
        PyObject *constant = frame_resume(ts, frame, decoded->instrs[i].idx);
        if (constant == NULL) {
            Py_DECREF(result);
            return NULL;
        }
        Py_DECREF(constant);
        return result;
    }
    /* The code never returns, so no plan can have a result. */
    Py_DECREF(result);
    PyErr_SetString(PyExc_SystemError, "pycompile: a result for code that never returns");
    return frame_raise(ts, frame, decoded, decoded->first_traceable);
}

PyObject *
frame_return(PyThreadState *ts, Frame *frame, const Decoded *decoded, PyObject *result)
{
    frame_drop(frame, 0);
    if (decoded->return_number < 0) return return_through_const(ts, frame, decoded, result);
    frame->localsplus[frame->stacktop++] = result;
    return frame_resume(ts, frame, decoded->instrs[decoded->return_number].idx);
}

/* A linked frame counts as a level of recursion, as under the evaluator.  In C it takes about this
   many of the version's units of stack. */
enum { C_UNITS = PY_VERSION_HEX >= 0x030D0000 ? 4 : 1 };

static void
count_recursion(PyThreadState *ts, int levels)
{
#if PY_VERSION_HEX >= 0x030C0000
    ts->py_recursion_remaining -= levels;
    ts->c_recursion_remaining -= levels * C_UNITS;
#else
    ts->recursion_remaining -= levels;
#endif
}

void
frame_link(PyThreadState *ts, Frame *frame, int at, FrameLink *link)
{
    frame_set_running(frame, at);
    count_recursion(ts, 1);
#if PY_VERSION_HEX >= 0x030D0000
    link->saved[0] = ts->current_frame;
    frame->previous = ts->current_frame;
    ts->current_frame = frame;
#else
    link->saved[0] = ts->cframe->current_frame;
    frame->previous = ts->cframe->current_frame;
    ts->cframe->current_frame = frame;
#endif
}

void
frame_unlink(PyThreadState *ts, Frame *frame, FrameLink *link)
{
    (void)frame;
    count_recursion(ts, -1);
#if PY_VERSION_HEX >= 0x030D0000
    ts->current_frame = link->saved[0];
#else
    ts->cframe->current_frame = link->saved[0];
#endif
}

/* Unwinding by hand, which is correct on every version. */

static void
add_traceback(PyThreadState *ts)
{
    PyFrameObject *object = PyThreadState_GetFrame(ts);
    if (object == NULL) return;
    PyTraceBack_Here(object);
    Py_DECREF(object);
}

/* Does the instruction raise an exception again? Then the traceback has its entry for this frame
   already, and `lasti` says where it was raised. */
static bool
is_raised_again(const Instr *instr)
{
    return instr->kind == I_RERAISE || (instr->kind == I_RAISE && instr->arg == 0);
}

int
frame_unwind(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number)
{
    const Instr *instr = &decoded->instrs[number];
    const Handler *handler = handler_at(decoded, instr->at);
    if (handler == NULL) return -1;
    FrameLink link;
    long lasti = instr->at;
    if (instr->kind == I_RERAISE && instr->arg > 0)
        lasti = PyLong_AsLong(frame->localsplus[frame->stacktop - 1 - instr->arg]);
    frame_link(ts, frame, instr->at, &link);
    if (!is_raised_again(instr)) add_traceback(ts);
    PyObject *exception = error_take();
    frame_drop(frame, handler->depth);
    frame_unlink(ts, frame, &link);
    if (handler->lasti) {
        PyObject *at = PyLong_FromLong(lasti);
        if (at == NULL) { /* out of memory, for a large int */
            PyErr_Clear();
            at = Py_NewRef(Py_None);
        }
        frame->localsplus[frame->stacktop++] = at;
    }
    frame->localsplus[frame->stacktop++] = exception;
    return handler->target;
}

PyObject *
handled_exception(void)
{
    PyObject *exception = PyErr_GetHandledException();
    if (exception == NULL) return Py_None;
    Py_DECREF(exception); /* the thread holds it */
    return exception;
}

void
handled_put(PyThreadState *ts, PyObject *before)
{
    PyObject *handled = ts->exc_info->exc_value;
    ts->exc_info->exc_value = before;
    Py_XDECREF(handled);
}

/* The exception leaves the frame, whatever handlers there are. */
static PyObject *
leave_by_hand(PyThreadState *ts, Frame *frame, const Instr *instr)
{
    FrameLink link;
    frame_link(ts, frame, instr->at, &link);
    add_traceback(ts);
    frame_unlink(ts, frame, &link);
    /* "incomplete": no second traceback entry, no handler */
    set_resume_point(frame, -1);
    return _PyEval_EvalFrameDefault(ts, frame, 1);
}

#if PY_VERSION_HEX >= 0x030D0000
/* 3.13 looks up the handler at instr_ptr - 1 but takes the traceback's line from instr_ptr.  Where
   the two have different handlers, the traceback entry and the jump are made by hand. */
static PyObject *
raise_by_hand(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number)
{
    int handler = frame_unwind(ts, frame, decoded, number);
    if (handler >= 0) return frame_resume(ts, frame, decoded->instrs[handler].idx);
    return leave_by_hand(ts, frame, &decoded->instrs[number]);
}
#endif

PyObject *
frame_raise(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number)
{
    const Instr *instr = &decoded->instrs[number];
#if PY_VERSION_HEX >= 0x030D0000
    if (handler_at(decoded, instr->at) != handler_at(decoded, instr->at - 1))
        return raise_by_hand(ts, frame, decoded, number);
#endif
    frame_set_running(frame, instr->at);
    return _PyEval_EvalFrameDefault(ts, frame, 1);
}

PyObject *
frame_raise_out(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number)
{
    const Instr *instr = &decoded->instrs[number];
    if (handler_at(decoded, instr->at) == NULL) return frame_raise(ts, frame, decoded, number);
    return leave_by_hand(ts, frame, instr);
}

/* ---- generators ---- */

/* 3.12 and later put all of a generator's code into a handler that turns StopIteration into
   RuntimeError. */
static bool
is_of_the_program(PyCodeObject *code, int handler)
{
#if PY_VERSION_HEX >= 0x030C0000
    const _Py_CODEUNIT *at = _PyCode_CODE(code) + handler;
    return at->op.code != CALL_INTRINSIC_1 || at->op.arg != INTRINSIC_STOPITERATION_ERROR;
#else
    return code != NULL && handler >= 0;
#endif
}

bool
generator_end_runs(PyObject *object)
{
    if (!PyGen_CheckExact(object) && !PyCoro_CheckExact(object)) return true;
    PyGenObject *generator = (PyGenObject *)object;
    Frame *frame = (Frame *)generator->gi_iframe;
    if (generator->gi_frame_state == FRAME_CREATED || generator->gi_frame_state > FRAME_EXECUTING)
        return PyCoro_CheckExact(object) && generator->gi_frame_state == FRAME_CREATED;
    PyCodeObject *code = frame_code(frame);
#if PY_VERSION_HEX >= 0x030D0000
    int waits = (int)(frame->instr_ptr - _PyCode_CODE(code)) - 1;
#else
    int waits = (int)(frame->prev_instr - _PyCode_CODE(code));
#endif
#if PY_VERSION_HEX < 0x030C0000
    if ((_Py_OPARG(_PyCode_CODE(code)[waits + 1]) & 3) >= 2) return true; /* yield from, await */
#endif
    int handler = code_handler(code, waits);
    return handler >= 0 && is_of_the_program(code, handler);
}
