/* Every Python function that a program makes, offered to the runtime.

   3.12 and later: a function watcher sees each function when it is made, and one that is wanted
   gets a `vectorcall` of ours.  The interpreter enters by itself only functions with its own
   vectorcall; a version of 0 keeps call sites from being specialised past that.  MAKE_FUNCTION
   gives the function its code's version after the watcher ran, so the code's own is 0 as well while
   functions of it are intercepted.  A call costs nothing once a function is let go.

   3.11 has no watcher and calls Python functions whatever their vectorcall says: there the frame
   hook stays installed (hook.c) for as long as somebody wants frames. */
#include "internal.h"

#include "python.h"
#include "step.h"

static const Interceptor *everything;

#if PY_VERSION_HEX >= 0x030C0000
static vectorcallfunc natural; /* the interpreter's own; known once a function was made */
static int recursion_units;    /* of C, that a thread starts with */

void
intercept(PyFunctionObject *function)
{
    if (natural == NULL) natural = function->vectorcall;
    if (function->vectorcall != natural) return; /* somebody else's, or ours already */
    ((PyCodeObject *)function->func_code)->co_version = 0;
    PyFunction_SetVectorcall(function, everything->called);
}

void
intercept_end(PyFunctionObject *function)
{
    if (function->vectorcall == everything->called) PyFunction_SetVectorcall(function, natural);
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

PyObject *
function_call(PyFunctionObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (natural != NULL && everything != NULL && function->vectorcall == everything->called)
        return natural((PyObject *)function, args, nargsf, kwnames);
    return PyObject_Vectorcall((PyObject *)function, args, nargsf, kwnames);
}

static int
on_function(PyFunction_WatchEvent event, PyFunctionObject *function, PyObject *Py_UNUSED(value))
{
    if (event == PyFunction_EVENT_CREATE && everything->made(function)) intercept(function);
    return 0;
}

/* ---- sys.monitoring ----

   It reports the return of a call that is not the interpreter's own as one of C, those that were
   intercepted too.  So who registers a callback there ends interception.  The function is looked
   into by its definition, which is swapped: the object stays. */

static PyMethodDef registering;
static _PyCFunctionFast natural_register;

static PyObject *
on_register(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    everything->end();
    return natural_register(module, args, nargs);
}

static void
watch_monitoring(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring");
    PyObject *function =
        monitoring ? PyObject_GetAttrString(monitoring, "register_callback") : NULL;
    if (function == NULL) PyErr_Clear();
    if (function != NULL && PyCFunction_CheckExact(function) &&
        PyCFunction_GET_FLAGS(function) == METH_FASTCALL) {
        PyCFunctionObject *object = (PyCFunctionObject *)function;
        registering = *object->m_ml;
        natural_register = (_PyCFunctionFast)(void (*)(void))registering.ml_meth;
        registering.ml_meth = (PyCFunction)(void (*)(void))on_register;
        object->m_ml = &registering;
    }
    Py_XDECREF(function);
}

int
intercept_start(const Interceptor *interceptor)
{
    if (everything != NULL) return 0;
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

PyObject *
function_call(PyFunctionObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
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
