/* Control at the back edges of loops that the interpreter runs (3.12 and later).

   A tool of sys.monitoring gets the event JUMP of single code objects.  The event comes after the
   jump, with the frame's stack pointer and instruction written into the frame; when the callback
   has returned, the interpreter goes on where the frame says then.  So the callback may run a part
   of the frame, as a debugger's jump to another line does.  A jump for which the callback gives
   DISABLE costs nothing from then on.

   A jump that is told costs as much as a short turn of a loop, so that who counts them rests now
   and then: with DISABLE, until a thread that sleeps meanwhile has the interpreter make a pending
   call.

   The program does not share the tool: it is given back for good once the program takes a tool or
   asks for one, or registers a callback. */
#include "internal.h"

#include <opcode.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "step.h"

#if PY_VERSION_HEX >= 0x030C0000
static const BackEdges *edges;
enum { TOOL = 5 }; /* sys.monitoring.OPTIMIZER_ID */

static PyObject *set_events, *disable, *jump_events, *no_events; /* owned; NULL: no tool */
static bool calling; /* sys.monitoring, to give the tool back */

static void
set_current_frame(PyThreadState *ts, Frame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    ts->current_frame = frame;
#else
    ts->cframe->current_frame = frame;
#endif
}

/* The interpreter calls no tool while one is called.  Here the program's own code may run, for as
   long as it likes, and what observes that must be told. */
static EdgeResult
offer(PyThreadState *ts, Frame *frame, int from, int to)
{
    int tracing = ts->tracing;
    ts->tracing = 0;
    EdgeResult result = edges->taken(ts, frame, from, to);
    ts->tracing = tracing;
    return result;
}

static PyObject *
on_jump(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs)
{
    PyThreadState *ts = PyThreadState_Get();
    Frame *frame = thread_frame(ts);
    if (nargs != 3 || edges == NULL || disable == NULL || frame == NULL ||
        frame->owner != FRAME_OWNED_BY_THREAD || (PyObject *)frame_code(frame) != args[0])
        Py_RETURN_NONE;
    int from = (int)PyLong_AsLong(args[1]) / (int)sizeof(_Py_CODEUNIT);
    int to = (int)PyLong_AsLong(args[2]) / (int)sizeof(_Py_CODEUNIT);
    if (to > from) return Py_NewRef(disable);
    switch (offer(ts, frame, from, to)) {
    case EDGE_ERROR: return NULL;
    case EDGE_DONE: return Py_NewRef(disable);
    default: Py_RETURN_NONE;
    }
}

static PyMethodDef jump_method = {"loop", (PyCFunction)(void (*)(void))on_jump, METH_FASTCALL,
                                  NULL};

static int
set_code_events(PyCodeObject *code, PyObject *events)
{
    PyObject *tool = set_events != NULL ? PyLong_FromLong(TOOL) : NULL;
    PyObject *args[3] = {tool, (PyObject *)code, events};
    PyObject *result = tool != NULL ? PyObject_Vectorcall(set_events, args, 3, NULL) : NULL;
    Py_XDECREF(tool);
    Py_XDECREF(result);
    if (result == NULL) PyErr_Clear();
    return result != NULL ? 0 : -1;
}

static PyObject *
event_set(PyObject *monitoring, const char *name)
{
    PyObject *events = PyObject_GetAttrString(monitoring, "events");
    PyObject *event = events ? PyObject_GetAttrString(events, name) : NULL;
    Py_XDECREF(events);
    return event;
}

/* Without a tool of that number, or without memory, loops are left to the interpreter. */
void
backedge_start(const BackEdges *wanted)
{
    PyObject *monitoring = PySys_GetObject("monitoring"), *made = NULL;
    PyObject *callback = monitoring ? PyCFunction_New(&jump_method, NULL) : NULL;
    if (callback != NULL && edges == NULL &&
        (made = PyObject_CallMethod(monitoring, "use_tool_id", "is", TOOL, "pycompile")) != NULL) {
        edges = wanted;
        set_events = PyObject_GetAttrString(monitoring, "set_local_events");
        disable = PyObject_GetAttrString(monitoring, "DISABLE");
        jump_events = event_set(monitoring, "JUMP");
        no_events = PyLong_FromLong(0);
        PyObject *before = NULL;
        if (set_events != NULL && disable != NULL && jump_events != NULL && no_events != NULL)
            before = PyObject_CallMethod(monitoring, "register_callback", "iOO", TOOL, jump_events,
                                         callback);
        if (before == NULL) Py_CLEAR(set_events);
        Py_XDECREF(before);
    }
    PyErr_Clear();
    Py_XDECREF(callback);
    Py_XDECREF(made);
}

bool
backedge_watch(PyCodeObject *code)
{
    return set_events != NULL && set_code_events(code, jump_events) == 0;
}

void
backedge_end(PyCodeObject *code)
{
    set_code_events(code, no_events);
}

/* ---- rests ---- */

static atomic_bool sleeps; /* a thread does, or its pending call is to come */
static pid_t sleeper;      /* the process that it is in */

static int
end_rest(void *Py_UNUSED(none))
{
    atomic_store(&sleeps, false);
    if (set_events != NULL) edges->rested();
    return 0;
}

static void *
sleep_for(void *ms)
{
    struct timespec time = {(time_t)((intptr_t)ms / 1000), (long)((intptr_t)ms % 1000) * 1000000};
    nanosleep(&time, NULL);
    if (interpreter_ends() || Py_AddPendingCall(end_rest, NULL) < 0) atomic_store(&sleeps, false);
    return NULL;
}

void
backedge_rest(int ms)
{
    pthread_t thread;
    sigset_t all, before;
    if (sleeper != getpid()) atomic_store(&sleeps, false); /* the thread is the parent's */
    sleeper = getpid();
    if (atomic_exchange(&sleeps, true)) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, sleep_for, (void *)(intptr_t)ms) == 0)
        pthread_detach(thread);
    else
        atomic_store(&sleeps, false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void
backedge_stop(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"), *type, *value, *trace;
    if (set_events == NULL || monitoring == NULL) return;
    PyErr_Fetch(&type, &value, &trace);
    calling = true;
    edges->ended();
    Py_CLEAR(set_events);
    PyObject *freed =
        PyObject_CallMethod(monitoring, "register_callback", "iOO", TOOL, jump_events, Py_None);
    Py_XDECREF(freed);
    PyErr_Clear();
    freed = PyObject_CallMethod(monitoring, "free_tool_id", "i", TOOL);
    Py_XDECREF(freed);
    calling = false;
    PyErr_Restore(type, value, trace);
}

bool
backedge_is_calling(void)
{
    return calling;
}

uint64_t
backedge_tools(void)
{
    return set_events != NULL ? 0x0101010101010101u << TOOL : 0;
}

/* What looks like a jump may be the contents of a cache: then there will be no event. */
bool
code_has_loop(PyCodeObject *code)
{
    const _Py_CODEUNIT *units = _PyCode_CODE(code);
    for (Py_ssize_t i = 0; i < Py_SIZE(code); i++)
        if (units[i].op.code == JUMP_BACKWARD || units[i].op.code == INSTRUMENTED_JUMP_BACKWARD)
            return true;
    return false;
}

/* ---- the frame, which is current ---- */

bool
frame_is_of_module(Frame *frame)
{
    return frame->f_locals != NULL && frame->f_locals == frame->f_globals &&
           PyDict_CheckExact(frame->f_locals);
}

int
frame_unwind_running(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number)
{
    set_current_frame(ts, frame->previous);
    int handler = frame_unwind(ts, frame, decoded, number);
    set_current_frame(ts, frame);
    return handler;
}

void
frames_visit(void (*visit)(PyFunctionObject *function))
{
    for (Frame *frame = thread_frame(PyThreadState_Get()); frame != NULL; frame = frame->previous)
        if (frame->owner == FRAME_OWNED_BY_THREAD && PyFunction_Check(frame->f_funcobj))
            visit(frame_function(frame));
}
#else
/* 3.11 has no sys.monitoring. */
void
backedge_start(const BackEdges *wanted)
{
    (void)wanted;
}

bool
backedge_watch(PyCodeObject *code)
{
    (void)code;
    return false;
}

void
backedge_end(PyCodeObject *code)
{
    (void)code;
}

void
backedge_rest(int ms)
{
    (void)ms;
}

void
backedge_stop(void)
{
}

bool
code_has_loop(PyCodeObject *code)
{
    (void)code;
    return false;
}

bool
frame_is_of_module(Frame *frame)
{
    (void)frame;
    return false;
}

int
frame_unwind_running(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number)
{
    (void)ts;
    (void)frame;
    (void)decoded;
    (void)number;
    return -1;
}

void
frames_visit(void (*visit)(PyFunctionObject *function))
{
    (void)visit;
}
#endif
