/* Offers the runtime every Python function that a program makes.

   3.12 and later: a function watcher sees each function when it is made; a wanted one gets the
   runtime's `vectorcall`.  The interpreter enters a function directly only if it has the
   interpreter's own vectorcall, and version 0 keeps call sites from being specialised past that
   check. MAKE_FUNCTION gives the function its code's version after the watcher ran, so the code's
   version is 0 as well while functions of it are intercepted.  After a function is released, its
   calls cost nothing extra.

   3.11 has no watcher and ignores the vectorcall of Python functions: there the frame hook stays
   installed (hook.c) as long as frames are wanted. */
#include "internal.h"

#include "python.h"
#include "step.h"

static const Interceptor *everything;

#if PY_VERSION_HEX >= 0x030C0000
static int recursion_units; /* C recursion units that a thread starts with */

void
intercept(PyFunctionObject *function)
{
    if (function->vectorcall != function_natural)
        return; /* another library's, or intercepted already */
    ((PyCodeObject *)function->func_code)->co_version = 0;
    PyFunction_SetVectorcall(function, everything->called);
}

void
intercept_end(PyFunctionObject *function)
{
    if (function->vectorcall == everything->called)
        PyFunction_SetVectorcall(function, function_natural);
}

void
intercept_code_end(PyCodeObject *code)
{
    PyInterpreterState *interp = PyInterpreterState_Get();
    if (code->co_version != 0 || interp->func_state.next_version == 0) return;
    code->co_version = interp->func_state.next_version++;
}

bool
intercept_is_deep(void)
{
    return PyThreadState_Get()->c_recursion_remaining < recursion_units - recursion_units / 8;
}

bool
is_intercepted(PyFunctionObject *function)
{
    return everything != NULL && function->vectorcall == everything->called;
}

PyObject *
function_enter(PyFunctionObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (is_intercepted(function))
        return function_natural((PyObject *)function, args, nargsf, kwnames);
    return PyObject_Vectorcall((PyObject *)function, args, nargsf, kwnames);
}

static int
on_function(PyFunction_WatchEvent event, PyFunctionObject *function, PyObject *Py_UNUSED(value))
{
    if (event == PyFunction_EVENT_CREATE && everything->made(function)) intercept(function);
    return 0;
}

/* ---- sys.monitoring ----

   It reports the return from a function with another vectorcall as one from C, also for intercepted
   functions.  So registering a callback there ends interception; and asking for a tool gives back
   the one that watches loops (backedge.c).  This is noticed by replacing the method definitions of
   such functions of sys.monitoring; the function objects stay. */

typedef struct {
    const char *name;
    int flags;
    PyMethodDef now;
    PyCFunction natural;
} Watched;

static PyObject *on_register(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
static PyObject *on_use(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
static PyObject *on_get(PyObject *module, PyObject *tool);

enum { REGISTER, USE, GET };
static Watched watched[] = {
    [REGISTER] = {.name = "register_callback", .flags = METH_FASTCALL},
    [USE] = {.name = "use_tool_id", .flags = METH_FASTCALL},
    [GET] = {.name = "get_tool", .flags = METH_O},
};

static PyObject *
on_register(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (!backedge_is_calling()) everything->end();
    return ((_PyCFunctionFast)(void (*)(void))watched[REGISTER].natural)(module, args, nargs);
}

static PyObject *
on_use(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    backedge_stop();
    return ((_PyCFunctionFast)(void (*)(void))watched[USE].natural)(module, args, nargs);
}

static PyObject *
on_get(PyObject *module, PyObject *tool)
{
    backedge_stop();
    return watched[GET].natural(module, tool);
}

static void
watch_monitoring(void)
{
    static const PyCFunction instead[] = {
        [REGISTER] = (PyCFunction)(void (*)(void))on_register,
        [USE] = (PyCFunction)(void (*)(void))on_use,
        [GET] = on_get,
    };
    PyObject *monitoring = PySys_GetObject("monitoring");
    for (int i = 0; monitoring != NULL && i < COUNT_OF(watched); i++) {
        Watched *w = &watched[i];
        PyObject *function = PyObject_GetAttrString(monitoring, w->name);
        if (function == NULL) PyErr_Clear();
        if (function != NULL && PyCFunction_CheckExact(function) &&
            PyCFunction_GET_FLAGS(function) == w->flags) {
            PyCFunctionObject *object = (PyCFunctionObject *)function;
            w->now = *object->m_ml;
            w->natural = w->now.ml_meth;
            w->now.ml_meth = instead[i];
            object->m_ml = &w->now;
        }
        Py_XDECREF(function);
    }
}

int
intercept_start(const Interceptor *interceptor)
{
    if (everything != NULL) return 0;
    backedge_start(&interceptor->loops);
    watch_monitoring();
    recursion_units = PyThreadState_Get()->c_recursion_remaining;
    everything = interceptor;
    if (PyFunction_AddWatcher(on_function) >= 0) return 0;
    everything = NULL;
    return -1;
}
#else
void
intercept(PyFunctionObject *function)
{
    (void)function;
}

void
intercept_end(PyFunctionObject *function)
{
    (void)function;
}

void
intercept_code_end(PyCodeObject *code)
{
    (void)code;
}

bool
intercept_is_deep(void)
{
    return false;
}

bool
is_intercepted(PyFunctionObject *function)
{
    (void)function;
    return false;
}

PyObject *
function_enter(PyFunctionObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return PyObject_Vectorcall((PyObject *)function, args, nargsf, kwnames);
}

int
intercept_start(const Interceptor *interceptor)
{
    if (everything != NULL) return 0;
    everything = interceptor;
    hook_stay(interceptor->entered, interceptor->rests);
    return 0;
}
#endif
