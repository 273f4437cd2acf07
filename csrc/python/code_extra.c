/* One pointer per code object, in CPython's code extra slot. */
#include "python.h"

#if PY_VERSION_HEX < 0x030C0000
#define REQUEST_INDEX _PyEval_RequestCodeExtraIndex
#define GET_EXTRA _PyCode_GetExtra
#define SET_EXTRA _PyCode_SetExtra
#else
#define REQUEST_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define GET_EXTRA PyUnstable_Code_GetExtra
#define SET_EXTRA PyUnstable_Code_SetExtra
#endif

static Py_ssize_t extra_index = -1;

int
code_extra_init(void (*free_extra)(void *))
{
    if (extra_index >= 0) return 0;
    extra_index = REQUEST_INDEX(free_extra);
    if (extra_index >= 0) return 0;
    PyErr_SetString(PyExc_ImportError, "no code extra slot is left");
    return -1;
}

void *
code_extra_get(PyCodeObject *code)
{
    void *extra = NULL;
    if (GET_EXTRA((PyObject *)code, extra_index, &extra) < 0) PyErr_Clear();
    return extra;
}

int
code_extra_set(PyCodeObject *code, void *extra)
{
    return SET_EXTRA((PyObject *)code, extra_index, extra);
}
