/* Attributes stored and deleted: object.__setattr__ and __delattr__ on what is stored.  Setters,
   descriptors and a __setattr__ in Python are followed like calls, so that the commit only does
   bare stores. */
#include "objects.h"

#include <structmember.h>

Answer
cannot_store(Interp *in, Value *object, PyObject *name)
{
    return interp_break(in, value_break(object, BREAK_STORE), "attribute '%s' of %s",
                        PyUnicode_AsUTF8(name), value_describe(in, object));
}

static Answer
property_store(Interp *in, PyObject *property, Value *object, Value *value)
{
    PyObject *member = PyObject_GetAttrString(property, value ? "fset" : "fdel");
    if (member == NULL) return ANSWER_ERROR;
    Value *function = value_of_const(in, member), *args[2] = {object, value}, *ignored;
    Py_DECREF(member); /* the property holds it */
    if (function == NULL) return ANSWER_ERROR;
    if (function->kind == V_CONST && function->object == Py_None)
        return raise_property(in, property, object->type, false, value ? Py_None : NULL);
    return call_value(in, function, value ? 2 : 1, args, NULL, &ignored);
}

/* A descriptor whose class is written in Python. */
static Answer
python_store(Interp *in, PyObject *found, Value *object, PyObject *name, Value *value)
{
    PyObject *method;
    Answer answer = type_lookup_text(in, Py_TYPE(found), value ? "__set__" : "__delete__", &method);
    if (answer != ANSWER_YES) return answer;
    Value *descriptor = value_of_const(in, found), *ignored;
    if (descriptor == NULL) return ANSWER_ERROR;
    if (method == NULL)
        return break_raised(in, "attribute '%s' cannot be %s", PyUnicode_AsUTF8(name),
                            value ? "set" : "deleted");
    if (!PyFunction_Check(method) || descriptor->kind != V_OBJECT)
        return cannot_store(in, object, name);
    if (value_guard_type(in, descriptor) < 0) return ANSWER_ERROR;
    Value *function = value_of_const(in, method), *args[3] = {descriptor, object, value};
    if (function == NULL) return ANSWER_ERROR;
    return call_value(in, function, value ? 3 : 2, args, NULL, &ignored);
}

/* object.__class__ = another plain class, for an instance made here. */
static Answer
store_class(Interp *in, Value *object, PyObject *name, Value *value)
{
    if (object->kind != V_INSTANCE || value == NULL || value->kind != V_CONST ||
        !PyType_Check(value->object))
        return cannot_store(in, object, name);
    PyTypeObject *to = (PyTypeObject *)value->object, *from = object->type;
    if (!type_is_heap(to) || to->tp_base != from->tp_base ||
        to->tp_basicsize != from->tp_basicsize || to->tp_flags != from->tp_flags ||
        object->nitems != 0 || to->tp_finalize != NULL)
        return cannot_store(in, object, name);
    object->type = to;
    return ANSWER_YES;
}

Answer
generic_store(Interp *in, Value *object, PyObject *name, Value *value)
{
    PyTypeObject *type = object->type;
    PyObject *found;
    bool data = false;
    Value *pending;
    Answer answer = class_pending(in, type, name, &pending);
    if (answer == ANSWER_YES) answer = type_lookup(in, type, name, &found);
    if (answer == ANSWER_YES && pending != NULL) found = NULL; /* it is no descriptor */
    if (answer == ANSWER_YES && found != NULL) answer = descriptor_is_data(in, found, &data);
    if (answer != ANSWER_YES) return answer;
    PyTypeObject *kind = found ? Py_TYPE(found) : NULL;
    bool slot = kind == &PyMemberDescr_Type && type_is_heap(PyDescr_TYPE(found)) &&
                !(((PyMemberDescrObject *)found)->d_member->flags & 1 /* read-only */) &&
                PyType_IsSubtype(type, PyDescr_TYPE(found));
    if (data && kind == &PyProperty_Type) return property_store(in, found, object, value);
    if (data && kind == &PyGetSetDescr_Type &&
        PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return store_class(in, object, name, value);
    if (data && type_is_heap(kind)) return python_store(in, found, object, name, value);
    if (data && !slot) return cannot_store(in, object, name);
    if (!slot && !type_has_dict(type))
        return raise_attribute(in, type, name, value ? Py_None : NULL);
    if (value == NULL) {
        Value *old;
        answer = own_find(in, object, name, slot, true, &old);
        if (answer != ANSWER_YES) return answer;
        if (old == NULL) return raise_attribute(in, type, name, NULL);
    }
    return own_store(in, object, name, slot, value);
}

static Answer
instance_store(Interp *in, Value *object, PyObject *name, Value *value)
{
    static const char *const names[2] = {"__delattr__", "__setattr__"};
    PyTypeObject *type = object->type;
    PyObject *method;
    if (object->exception != NULL && value != NULL) {
        bool done = false;
        Answer stored = exception_attribute_store(in, object, name, value, &done);
        if (done || stored != ANSWER_YES) return stored;
    }
    if (!type_is_heap(type) && object->exception == NULL) return cannot_store(in, object, name);
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    Answer answer = type_inherits(in, type, names[value != NULL], &PyBaseObject_Type);
    if (answer == ANSWER_YES) return generic_store(in, object, name, value);
    if (answer == ANSWER_NO) answer = type_lookup_text(in, type, names[value != NULL], &method);
    if (answer != ANSWER_YES) return answer;
    if (method == NULL || !PyFunction_Check(method)) return cannot_store(in, object, name);
    Value *function = value_of_const(in, method), *ignored;
    Value *args[3] = {object, value_const(in, name), value};
    if (function == NULL || args[1] == NULL) return ANSWER_ERROR;
    return call_value(in, function, value ? 3 : 2, args, NULL, &ignored);
}

/* module.name = value: a global of that module. */
static Answer
module_store(Interp *in, Value *module, PyObject *name, Value *value)
{
    PyObject *dict = PyModule_GetDict(module->object);
    if (value == NULL || dict == NULL || _PyType_Lookup(&PyModule_Type, name) != NULL)
        return cannot_store(in, module, name);
    return global_store(in, dict, name, value);
}

Answer
const_store(Interp *in, Value *object, PyObject *name, Value *value)
{
    if (PyType_Check(object->object)) return class_store(in, object, name, value);
    if (PyModule_CheckExact(object->object)) return module_store(in, object, name, value);
    if (PyFunction_Check(object->object)) return function_store(in, object, name, value);
    return cannot_store(in, object, name);
}

Answer
object_store(Interp *in, Value *object, PyObject *name, Value *value)
{
    if (object->type == &PyFunction_Type) return function_store(in, object, name, value);
    return instance_store(in, object, name, value);
}

Answer
made_instance_store(Interp *in, Value *object, PyObject *name, Value *value)
{
    Answer answer = model_stores(in, object, name);
    return answer == ANSWER_YES ? instance_store(in, object, name, value) : answer;
}

Answer
attribute_store(Interp *in, Value *object, PyObject *name, Value *value)
{
    if (value_is_array(in, object) || value_is_opaque(in, object))
        return array_set_attribute(in, object, PyUnicode_AsUTF8(name), value);
    return value_store(in, object, name, value);
}

Answer
attribute_delete(Interp *in, Value *object, PyObject *name)
{
    return value_store(in, object, name, NULL);
}
