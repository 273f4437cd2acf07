/* Which classes are enums, and whether all of their code is that of the module enum. */
#include "core.h"

/* A name of the module enum, borrowed; NULL without an error where the module is not loaded. */
PyObject *
enum_name(const char *name)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "enum") : NULL;
    bool loaded = module != NULL && PyModule_Check(module); /* sys.modules may hold any object */
    return loaded ? PyDict_GetItemString(PyModule_GetDict(module), name) : NULL;
}

bool
is_enum_class(PyObject *object)
{
    if (!PyType_Check(object) || Py_TYPE(object) == &PyType_Type) return false;
    static PyObject *meta;
    if (meta == NULL) {
        PyObject *found = enum_name("EnumType");
        meta = found != NULL && PyType_Check(found) ? Py_NewRef(found) : NULL;
    }
    return meta != NULL && PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)meta);
}

bool
is_enum_member(PyObject *object)
{
    return is_enum_class((PyObject *)Py_TYPE(object));
}

/* A function defined in enum, or one of C. */
bool
enum_code_is_plain(PyObject *found)
{
    if (found == NULL || Py_TYPE(found) == &PyWrapperDescr_Type ||
        Py_TYPE(found) == &PyMethodDescr_Type || found == Py_None)
        return true;
    if (Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type) {
        PyObject *inner = PyObject_GetAttrString(found, "__func__");
        bool plain = inner != NULL && enum_code_is_plain(inner);
        Py_XDECREF(inner);
        PyErr_Clear();
        return plain;
    }
    if (PyCFunction_Check(found)) return true;
    PyObject *own = enum_name("__name__");
    return PyFunction_Check(found) && own != NULL &&
           PyDict_GetItemString(PyFunction_GET_GLOBALS(found), "__name__") == own;
}

Answer
enum_is_plain(Interp *in, PyTypeObject *type, const char *name, const char *other)
{
    PyObject *found;
    Answer answer = type_lookup_text(in, type, name, &found);
    if (answer != ANSWER_YES) return answer;
    if (!enum_code_is_plain(found)) return ANSWER_NO;
    return other == NULL ? ANSWER_YES : enum_is_plain(in, type, other, NULL);
}
