/* Enumerations.  Members are constants, and what enum's own code does with them depends on nothing
   else, so it is done while capturing. */
#include "objects.h"

/* A name of the module enum, once that is loaded; borrowed for ever. */
static PyObject *
enum_name(const char *name)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "enum") : NULL;
    return module ? PyDict_GetItemString(PyModule_GetDict(module), name) : NULL;
}

bool
is_enum_class(PyObject *object)
{
    static PyObject *meta;
    if (!PyType_Check(object) || Py_TYPE(object) == &PyType_Type) return false;
    if (meta == NULL) meta = enum_name("EnumType");
    return meta != NULL && PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)meta);
}

bool
is_enum_member(PyObject *object)
{
    return is_enum_class((PyObject *)Py_TYPE(object));
}

/* A function defined in enum, or one of C. */
static bool
is_plain(PyObject *found)
{
    if (found == NULL || Py_TYPE(found) == &PyWrapperDescr_Type ||
        Py_TYPE(found) == &PyMethodDescr_Type || found == Py_None)
        return true;
    if (Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type) {
        PyObject *inner = PyObject_GetAttrString(found, "__func__");
        bool plain = inner != NULL && is_plain(inner);
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
    if (!is_plain(found)) return ANSWER_NO;
    return other == NULL ? ANSWER_YES : enum_is_plain(in, type, other, NULL);
}

static Answer
folded(Interp *in, PyObject *result, Value **out)
{
    if (result == NULL) return raise_error(in);
    *out = value_const_new(in, result);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Colour(2) */
Answer
enum_call(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    PyObject *value, *missing;
    if (nargs != 1 || kwnames != NULL || Py_TYPE(type) != (PyTypeObject *)enum_name("EnumType"))
        return interp_break(in, BREAK_CALL_PYTHON, "a call of the enum '%s'", type->tp_name);
    Answer answer = value_known(in, args[0], &value);
    if (answer == ANSWER_YES) answer = type_lookup_text(in, type, "_missing_", &missing);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO || !is_plain(missing) || PyObject_CheckBuffer(value) ||
        (type_is_heap(Py_TYPE(value)) && !is_enum_member(value)))
        return interp_break(in, BREAK_CALL_PYTHON, "a call of the enum '%s'", type->tp_name);
    return folded(in, PyObject_CallOneArg((PyObject *)type, value), out);
}

Answer
enum_members(Interp *in, PyObject *class_, Value **out)
{
    PyObject *list = PySequence_List(class_);
    PyObject *members = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return folded(in, members, out);
}
