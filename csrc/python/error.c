/* The error indicator, which became one object in 3.12. */
#include "python.h"

PyObject *
error_take(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyException_SetTraceback(value, traceback != NULL ? traceback : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}
