/* Calls that plans divide among threads: of gufuncs (pycompile/_divided.py says which,
   arrays/gufunc.c how), and selections by masks (arrays/select.c). */
#include "hooks.h"
#include "runtime.h"

static int
run_part(const KernelArgs *args, int64_t begin, int64_t end)
{
    gufunc_part((const Gufunc *)args->ptr[0], args->scratch, begin, end);
    return 0;
}

/* A loop makes tables of its own at each call, so that a thread gets few parts. */
static int
share(const Gufunc *call, int64_t units, int64_t unit_ps, int64_t scratch_bytes)
{
    enum { PARTS = 2 };
    unsigned flags = 0;
    char *pointers[] = {(char *)call};
    const KernelArgs kernel = {.ptr = pointers};
    uint64_t before = thread_states_made();
    int64_t grain = units / ((int64_t)threads_count() * PARTS);
    PyThreadState *thread = PyEval_SaveThread();
    int failed = threads_run(run_part, &kernel, scratch_bytes, units, grain, unit_ps, &flags);
    PyEval_RestoreThread(thread);
    if (before == 0 || thread_states_made() != before + 1) failed = 1;
    return failed ? -1 : (int)flags;
}

/* (gufunc, args, kwargs or None) -> gufunc(*args, **kwargs) */
static PyObject *
py_gufunc_call(PyObject *Py_UNUSED(self), PyObject *given)
{
    PyObject *gufunc, *args, *kwargs;
    if (!PyArg_ParseTuple(given, "OO!O!", &gufunc, &PyTuple_Type, &args, &PyDict_Type, &kwargs))
        return NULL;
    if (ufunc_check(gufunc)) return gufunc_call(gufunc, args, kwargs, share);
    PyErr_SetString(PyExc_TypeError, "gufunc_call of an object that is no ufunc");
    return NULL;
}

static PyObject *
py_array_select(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs == 2) return array_select(args[0], args[1], threads_share);
    PyErr_SetString(PyExc_TypeError, "array_select(array, by)");
    return NULL;
}

PyMethodDef divided_methods[] = {
    {"array_select", (PyCFunction)(void (*)(void))py_array_select, METH_FASTCALL, "array[by]."},
    {"gufunc_call", py_gufunc_call, METH_VARARGS,
     "gufunc(*args, **kwargs), its rows divided among threads where that pays."},
    {NULL, NULL, 0, NULL},
};
