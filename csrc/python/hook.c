/* PEP 523, armed only across one call.

   The hook is interpreter-wide while it is installed, so it does as little as possible: it compares
   the frame's function with the one that this thread is calling, and disarms itself first.
   Invariants: `pending` points into the C stack of the hook_call that waits for its frame, and is
   NULL otherwise; a foreign hook is never replaced. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_getattr_np */
#endif
#include "internal.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "step.h"

extern void *__libc_stack_end
    __attribute__((weak)); /* glibc: the main thread's stack begins here */

typedef struct {
    PyFunctionObject *function;
    FrameHandler handler;
    void *context;
} Pending;

static _Thread_local Pending *pending;

/* 3.11, whole programs: the function that gets every frame while the hook stays installed. */
static PyObject *(*resident)(PyThreadState *ts, Frame *frame);

/* The hook is removed when many frames in a row were of no use, and installed again after a number
   of new arrays, which doubles each time until a frame is of use. */
enum { IDLE_FRAMES = 4096, FIRST_WAIT = 8, LONGEST_WAIT = 1 << 16 };
static bool may_rest, resting;
static int idle_frames, arrays_to_come, wait_next = FIRST_WAIT;

static PyObject *on_frame(PyThreadState *ts, Frame *frame, int throwing);

bool
hook_is_armed(void)
{
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) == on_frame;
}

static void
disarm(PyInterpreterState *interp)
{
    if ((resident == NULL || resting) && _PyInterpreterState_GetEvalFrameFunc(interp) == on_frame)
        _PyInterpreterState_SetEvalFrameFunc(interp, _PyEval_EvalFrameDefault);
}

/* The end of what the main thread's stack may certainly grow to: its limit, for which Linux leaves
   at least 128 MiB of addresses.  NULL on other threads. */
static char *
main_stack_low(void)
{
    enum { CERTAIN = 8 * 1024 * 1024 };
    struct rlimit limit;
    bool is_main = getpid() == (pid_t)syscall(SYS_gettid);
    if (&__libc_stack_end == NULL || !is_main || getrlimit(RLIMIT_STACK, &limit) != 0) return NULL;
    return (char *)__libc_stack_end - Py_MIN(limit.rlim_cur, CERTAIN);
}

/* The C library's answer; on the main thread it reads the list of all mappings (2 ms). */
static void
stack_bounds(char **low, char **high)
{
    pthread_attr_t attributes;
    void *address = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &address, &size);
        pthread_attr_destroy(&attributes);
    }
    *low = address;
    *high = size != 0 ? *low + size : *low + 1;
}

/* Is less than `reserve` of the C stack left? 3.11 limits only the number of Python levels, which
   the user chooses, while each call through the hook takes C stack.  Never true on a foreign stack
   (of a greenlet) or a small one. */
static bool
stack_is_down_to(ptrdiff_t reserve)
{
    static _Thread_local char *low, *high, *main_low;
    static _Thread_local bool asked;
    char *here = (char *)__builtin_frame_address(0);
    if (!asked) {
        main_low = main_stack_low();
        asked = true;
    }
    if (main_low != NULL && here < (char *)__libc_stack_end && here - main_low >= reserve)
        return false;
    if (high == NULL) stack_bounds(&low, &high);
    return here > low && here < high && here - low < reserve && high - low > 2 * reserve;
}

enum { HALF_STACK = 3 * 1024 * 1024 };

/* Removes the resident hook until arrays_to_come arrays were made. */
static void
rest(PyInterpreterState *interp)
{
    resting = true;
    arrays_to_come = wait_next;
    if (wait_next < LONGEST_WAIT) wait_next *= 2;
    _PyInterpreterState_SetEvalFrameFunc(interp, _PyEval_EvalFrameDefault);
}

/* May the resident hook stay installed? Frames entered through it take C stack, which deep
   recursion must not exhaust earlier than without the hook. */
static bool
stays(PyThreadState *ts)
{
    if (!stack_is_down_to(HALF_STACK) && (!may_rest || ++idle_frames <= IDLE_FRAMES)) return true;
    rest(ts->interp);
    return false;
}

void
hook_is_of_use(void)
{
    idle_frames = 0;
    wait_next = FIRST_WAIT;
}

bool
hook_may_rest(void)
{
    return may_rest;
}

void
hook_wake(void)
{
    if (!resting || --arrays_to_come > 0) return;
    PyInterpreterState *interp = PyInterpreterState_Get();
    if (interp != PyInterpreterState_Main() || stack_is_down_to(HALF_STACK) ||
        _PyInterpreterState_GetEvalFrameFunc(interp) != _PyEval_EvalFrameDefault)
        return;
    resting = false;
    idle_frames = 0;
    _PyInterpreterState_SetEvalFrameFunc(interp, on_frame);
}

/* Frame handlers and the evaluators that they call take C stack and recursion units of their
   own. */
bool
recursion_is_nearly_spent(PyThreadState *ts)
{
    enum { MARGIN = 50 };
#if PY_VERSION_HEX >= 0x030C0000
    return ts->c_recursion_remaining < MARGIN || ts->py_recursion_remaining < MARGIN;
#else
    return ts->recursion_remaining < MARGIN;
#endif
}

/* ---- arguments that a call gives away ----

   CPython moves the arguments of a Python function from the caller's stack into its frame: what the
   function rebinds may die at once.  A call that goes through a vectorcall leaves them on that
   stack until it has returned.  So None takes their places before. */

static PyFunctionObject *(*function_behind)(PyObject *callable);
vectorcallfunc function_natural;

void
hook_knows(PyFunctionObject *(*behind)(PyObject *callable))
{
    function_behind = behind;
}

/* Is it the caller's frame that holds the arguments, for an instruction that calls just this
   function?  C code that passes on what it was called with, like Context.run, has its arguments
   there, too; the place in front of them is not its own to offer. */
static bool
caller_gives(PyThreadState *ts, PyFunctionObject *function, PyObject *const *args, size_t nargsf,
             Py_ssize_t n)
{
    Frame *caller = thread_frame(ts);
    if ((nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET) == 0) return false;
    if (n == 0 || caller == NULL || !PyCode_Check(frame_code(caller))) return false;
    PyObject *const *stack = caller->localsplus + frame_code(caller)->co_nlocalsplus;
    ptrdiff_t at = args - stack;
    if (at < 1 || at + n > frame_code(caller)->co_stacksize) return false;
    PyObject *callee = args[-1] != NULL || at == 1 ? args[-1] : args[-2];
    if (callee == NULL || thread_is_observed(ts, frame_code(caller))) return false;
    return callee == (PyObject *)function || function_behind(callee) == function;
}

static PyObject *
on_frame(PyThreadState *ts, Frame *frame, int throwing)
{
    Pending *mine = pending;
    if (throwing || mine == NULL || frame_function(frame) != mine->function) {
        PyObject *result = NULL;
        if (resident != NULL && !throwing && frame->owner == FRAME_OWNED_BY_THREAD && stays(ts) &&
            !recursion_is_nearly_spent(ts) &&
            ((result = resident(ts, frame)) != NULL || PyErr_Occurred()))
            return result;
        return _PyEval_EvalFrameDefault(ts, frame, throwing);
    }
    Pending taken = *mine;
    pending = NULL;
    disarm(ts->interp);
    if (thread_is_observed(ts, frame_code(frame))) return _PyEval_EvalFrameDefault(ts, frame, 0);
    return taken.handler(ts, frame, taken.context);
}

#if PY_VERSION_HEX >= 0x030C0000
/* Is any of the `count` bytes set, apart from the bits in `ours`? They are read as two words, which
   may overlap. */
static inline bool
any_tool(const uint8_t *tools, size_t count, uint64_t ours)
{
    uint64_t first, last;
    memcpy(&first, tools, sizeof(first));
    memcpy(&last, tools + count - sizeof(last), sizeof(last));
    return ((first | last) & ~ours) != 0;
}

_Static_assert(sizeof(((PyInterpreterState *)0)->monitors.tools) >= 8 &&
                   sizeof(((PyInterpreterState *)0)->monitors.tools) <= 16 &&
                   sizeof(((_PyCoMonitoringData *)0)->local_monitors.tools) >= 8 &&
                   sizeof(((_PyCoMonitoringData *)0)->local_monitors.tools) <= 16,
               "two words cover them");

bool
thread_is_observed(PyThreadState *ts, PyCodeObject *code)
{
    const uint8_t *tools = ts->interp->monitors.tools;
    if (any_tool(tools, sizeof(ts->interp->monitors.tools), 0)) return true;
    if (code == NULL || code->_co_monitoring == NULL) return false;
    tools = code->_co_monitoring->local_monitors.tools;
    return any_tool(tools, sizeof(code->_co_monitoring->local_monitors.tools), backedge_tools());
}
#else
bool
thread_is_observed(PyThreadState *ts, PyCodeObject *code)
{
    (void)code;
    return ts->cframe->use_tracing != 0;
}
#endif

bool
thread_is_plain(PyThreadState *ts, PyCodeObject *code)
{
    return !breaker_is_set(ts) && !thread_is_observed(ts, code);
}

/* May the hook be armed for a call of the function? */
static bool
may_arm(PyThreadState *ts, PyFunctionObject *function)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    const int never = CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR;
    const int always = CO_OPTIMIZED | CO_NEWLOCALS;
    _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(ts->interp);
    return (code->co_flags & never) == 0 && (code->co_flags & always) == always &&
           ts->interp == PyInterpreterState_Main() && !thread_is_observed(ts, code) &&
           !recursion_is_nearly_spent(ts) &&
           (now == _PyEval_EvalFrameDefault || (resident != NULL && now == on_frame));
}

/* Calls the function with `n` arguments whose only owner becomes its frame.  The interpreter's own
   vectorcall begins with references of the frame's to each of them, before anything can look; so
   those of the caller are not counted any more (CPython 3.11 to 3.13, Python/ceval.c,
   _PyEval_Vector).  Of another vectorcall the interpreter's calls leave them with the caller. */
static PyObject *
enter_giving(PyFunctionObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames,
             Py_ssize_t n)
{
    PyObject *few[16], **moved = few;
    bool natural = function->vectorcall == function_natural || is_intercepted(function);
    if (natural && n > COUNT_OF(few)) moved = PyMem_New(PyObject *, n);
    if (!natural || moved == NULL) return function_enter(function, args, nargsf, kwnames);
    for (Py_ssize_t i = 0; i < n; i++) {
        moved[i] = args[i];
        ((PyObject **)args)[i] = Py_NewRef(Py_None);
        Py_SET_REFCNT(moved[i], Py_REFCNT(moved[i]) - 1);
    }
    PyObject *result =
        function_natural((PyObject *)function, moved, (size_t)PyVectorcall_NARGS(nargsf), kwnames);
    if (moved != few) PyMem_Free(moved);
    return result;
}

static bool
stack_is_spent(void)
{
    if (!stack_is_down_to(512 * 1024)) return false;
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
    return true;
}

static PyObject *
enter(PyThreadState *ts, PyFunctionObject *function, PyObject *const *args, size_t nargsf,
      PyObject *kwnames)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (!caller_gives(ts, function, args, nargsf, n))
        return function_enter(function, args, nargsf, kwnames);
    return stack_is_spent() ? NULL : enter_giving(function, args, nargsf, kwnames, n);
}

PyObject *
hook_call(PyFunctionObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames,
          FrameHandler handler, void *context)
{
    PyThreadState *ts = PyThreadState_Get();
    if (stack_is_spent()) return NULL;
    if (!may_arm(ts, function)) return enter(ts, function, args, nargsf, kwnames);
    Pending mine = {function, handler, context};
    pending = &mine;
    _PyInterpreterState_SetEvalFrameFunc(ts->interp, on_frame);
    PyObject *result = enter(ts, function, args, nargsf, kwnames);
    if (pending == &mine) { /* the arguments did not match, or another thread disarmed the hook */
        pending = NULL;
        disarm(ts->interp);
    }
    return result;
}

PyObject *
function_call(PyFunctionObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return call_has_temporary(args, nargsf, kwnames)
               ? enter(PyThreadState_Get(), function, args, nargsf, kwnames)
               : function_enter(function, args, nargsf, kwnames);
}

void
hook_stay(PyObject *(*entered)(PyThreadState *ts, Frame *frame), bool rests)
{
    resident = entered;
    may_rest = rests;
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), on_frame);
}

/* The vectorcall that the interpreter gives to functions. */
static int
find_natural(void)
{
    PyObject *globals = PyDict_New(), *code = (PyObject *)PyCode_NewEmpty("", "", 1);
    PyObject *function = globals != NULL && code != NULL ? PyFunction_New(code, globals) : NULL;
    if (function != NULL) function_natural = ((PyFunctionObject *)function)->vectorcall;
    Py_XDECREF(globals);
    Py_XDECREF(code);
    Py_XDECREF(function);
    return function != NULL ? 0 : -1;
}

int
hook_init(void)
{
    if (Py_Version >> 16 != PY_VERSION_HEX >> 16) {
        PyErr_SetString(PyExc_ImportError, "pycompile was built for another Python version");
        return -1;
    }
#ifdef Py_GIL_DISABLED
    PyErr_SetString(PyExc_ImportError, "pycompile does not support free-threaded builds");
    return -1;
#endif
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "pycompile does not support subinterpreters");
        return -1;
    }
    return find_natural() < 0 ? -1 : breaker_init();
}
