/* Importing Python modules without the __import__ of the running frame's builtins, which
   PyImport_ImportModule would call: the builtins may be any dict, such as an empty one in
   eval(text, {"__builtins__": {}}).  See base.h. */
#include "base.h"

/* Not PyImport_GetModule: for a module that is being imported it takes the module's lock in Python
   code of importlib, which in 3.11 a thread must not enter twice.  It would if this were called for
   a frame of that code. */
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
    if (first != NULL) found = PyImport_GetModule(name); /* `first` is the top-level package */
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
