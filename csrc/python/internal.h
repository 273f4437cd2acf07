/* Private to python/: CPython's internal headers.  Include it before anything else, since
   Py_BUILD_CORE must be defined before Python.h is read. */
#ifndef PYCOMPILE_INTERNAL_H
#define PYCOMPILE_INTERNAL_H

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include <Python.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wundef"
/* pycore_asdl.h defines types with these two common names. */
#define object pycore_asdl_object
#define constant pycore_asdl_constant
#include <internal/pycore_ceval.h>
#include <internal/pycore_code.h>
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_function.h>
#include <internal/pycore_interp.h>
#if PY_VERSION_HEX >= 0x030C0000
#include <internal/pycore_intrinsics.h>
#endif
#include <internal/pycore_object.h>
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_setobject.h>
#endif
#undef object
#undef constant
#pragma GCC diagnostic pop

/* The frame that the thread runs. */
static inline struct _PyInterpreterFrame *
thread_frame(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030D0000
    return ts->current_frame;
#else
    return ts->cframe->current_frame;
#endif
}

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "python/ knows 3.11, 3.12 and 3.13"
#endif

#endif
