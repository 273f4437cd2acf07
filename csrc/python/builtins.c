/* Python's own builtins.  Those of the running frame (PyEval_GetBuiltins) may be any dict, such as
   an empty one in eval(text, {"__builtins__": {}}), and the module builtins may have been
   changed. */
#include "internal.h"

#include "python.h"

PyObject *
python_builtin(const char *name)
{
    PyObject *found = PyDict_GetItemString(PyInterpreterState_Get()->builtins_copy, name);
    if (found == NULL) PyErr_Format(PyExc_SystemError, "no builtin %s", name);
    return found;
}
