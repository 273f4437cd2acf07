/* Names of Python modules.  Not by the __import__ of the running frame's builtins, as
   PyImport_ImportModule does it: those may be any dict, an empty one in
   eval(text, {"__builtins__": {}}).  See base.h. */
#include "base.h"

/* PyImport_GetModule waits for a module that is being imported by taking its lock, in Python code
   of importlib's which in 3.11 must not be entered twice by a thread, as it is when this is called
   for a frame of that very code. */
PyObject *
module_loaded(const char *module)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *found = PyDict_CheckExact(modules) ? PyDict_GetItemString(modules, module) : NULL;
    return found != Py_None ? Py_XNewRef(found) : NULL;
}

PyObject *
module_import(const char *module)
{
    PyObject *name = PyUnicode_FromString(module), *found = NULL;
    PyObject *first = name ? PyImport_ImportModuleLevelObject(name, NULL, NULL, NULL, 0) : NULL;
    if (first != NULL) found = PyImport_GetModule(name); /* first: what stands before the dot */
    if (found == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_ModuleNotFoundError, "no module named '%s'", module);
    Py_XDECREF(first);
    Py_XDECREF(name);
    return found;
}

PyObject *
module_object(const char *module, const char *name)
{
    PyObject *from = module_import(module);
    PyObject *found = from == NULL ? NULL : PyObject_GetAttrString(from, name);
    Py_XDECREF(from);
    return found;
}
