/* Python's own builtins.  Those of the running frame (PyEval_GetBuiltins) may be any dict, an empty
   one in eval(text, {"__builtins__": {}}), and the module's may have been written to.

   Layout: CPython 3.11 to 3.13 Include/internal/pycore_interp.h. */
#define Py_BUILD_CORE 1
#include "python.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wshadow"
#include "internal/pycore_interp.h"
#pragma GCC diagnostic pop

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "builtins_copy has not been checked for this CPython version"
#endif

PyObject *
python_builtin(const char *name)
{
    PyObject *found = PyDict_GetItemString(PyInterpreterState_Get()->builtins_copy, name);
    if (found == NULL) PyErr_Format(PyExc_SystemError, "no builtin %s", name);
    return found;
}
