/* Facts about abstract classes and protocols, from the modules _abc and typing. */
#include "python.h"

static PyObject *
name_of(const char *module, const char *name)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *loaded = modules ? PyDict_GetItemString(modules, module) : NULL;
    PyObject *found = loaded ? PyDict_GetItemString(PyModule_GetDict(loaded), name) : NULL;
    if (found == NULL) PyErr_Format(PyExc_SystemError, "no %s.%s", module, name);
    return found;
}

int64_t
abstract_token(void)
{
    static PyObject *get;
    if (get == NULL && (get = Py_XNewRef(name_of("_abc", "get_cache_token"))) == NULL) return -1;
    PyObject *token = PyObject_CallNoArgs(get);
    int64_t number = token ? PyLong_AsLongLong(token) : -1;
    Py_XDECREF(token);
    return number;
}

PyObject *
protocol_names(PyObject *protocol)
{
#if PY_VERSION_HEX < 0x030C0000
    PyObject *names = name_of("typing", "_get_protocol_attrs");
    return names ? PyObject_CallOneArg(names, protocol) : NULL;
#else
    return PyObject_GetAttrString(protocol, "__protocol_attrs__");
#endif
}
