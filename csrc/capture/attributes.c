/* Attributes: of modules (globals of another dict), classes, instances, functions and arrays.

   Reading follows object.__getattribute__ on what is stored, guarding each place looked at, and
   runs no descriptor but those known to be Python's own: functions bind, properties are inlined,
   slots are read.  Anything else breaks. */
#include "interp.h"

static Answer
no_attribute(Interp *in, Value *object, PyObject *name)
{
    return interp_break(in, BREAK_ATTRIBUTE, "attribute '%s' of %s", PyUnicode_AsUTF8(name),
                        value_describe(in, object));
}

/* ---- classes ---- */

Answer
type_lookup(Interp *in, PyTypeObject *type, PyObject *name, PyObject **out)
{
    *out = _PyType_Lookup(type, name);
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return ANSWER_YES; /* cannot change */
    SourceId base = source_of_const(in, (PyObject *)type);
    if (base == NO_SOURCE) return ANSWER_ERROR;
    SourceId source = source_add(in, SOURCE_ATTR, base, 0, name, NULL);
    if (source == NO_SOURCE) return ANSWER_ERROR;
    const void *key = (const void *)(((uintptr_t)source + 1) << 4);
    if (map_get(&in->by_source, key) != NULL) return ANSWER_YES; /* guarded before */
    if (map_put(in, &in->by_source, key, in->null) < 0) return ANSWER_ERROR;
    if (*out == NULL)
        return guard_simple(in, GUARD_ATTR_ABSENT, base, name) < 0 ? ANSWER_ERROR : ANSWER_YES;
    if (keep(in, Py_NewRef(*out)) == NULL) return ANSWER_ERROR;
    return guard_simple(in, GUARD_IS, source, *out) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* A value found on a class (its identity is guarded). */
static Value *
class_value(Interp *in, PyObject *object)
{
    SourceId source = source_of_const(in, object);
    return source == NO_SOURCE ? NULL : value_from_source(in, source, object);
}

static Answer
bind(Interp *in, Value *function, Value *self, Value **out)
{
    Value *items[2] = {function, self};
    *out = value_sequence(in, V_METHOD, 2, items);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* An attribute of the class `object` is. */
static Answer
class_attribute(Interp *in, Value *object, PyObject *name, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)object->object;
    PyTypeObject *meta = Py_TYPE(type);
    if (meta->tp_getattro != PyType_Type.tp_getattro) return no_attribute(in, object, name);
    PyObject *found, *on_meta = _PyType_Lookup(meta, name);
    if (on_meta != NULL && Py_TYPE(on_meta)->tp_descr_set != NULL) {
        /* __name__, __doc__, __mro__ …: of a class they seldom change, but they can. */
        if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) return no_attribute(in, object, name);
        PyObject *read = PyObject_GetAttr((PyObject *)type, name);
        if (read == NULL) return break_raises(in);
        *out = value_const_new(in, read);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    Answer answer = type_lookup(in, type, name, &found);
    if (answer != ANSWER_YES) return answer;
    if (found == NULL) return no_attribute(in, object, name);
    if (Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type) {
        PyObject *inner = PyObject_GetAttrString(found, "__func__");
        Value *function = inner ? class_value(in, inner) : NULL;
        Py_XDECREF(inner);
        if (function == NULL) return ANSWER_ERROR;
        if (Py_TYPE(found) == &PyClassMethod_Type) return bind(in, function, object, out);
        *out = function;
        return ANSWER_YES;
    }
    if (Py_TYPE(found) == &PyClassMethodDescr_Type) {
        PyObject *bound = PyObject_GetAttr((PyObject *)type, name);
        if (bound == NULL) return break_raises(in);
        *out = value_const_new(in, bound);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (Py_TYPE(found)->tp_descr_get != NULL && !PyFunction_Check(found) &&
        Py_TYPE(found) != &PyMethodDescr_Type && Py_TYPE(found) != &PyWrapperDescr_Type)
        return no_attribute(in, object, name);
    *out = class_value(in, found);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- instances ---- */

/* Attributes that the program stored, or that an instance made here has: name, value pairs. */
static Value **
stored_attribute(Value *object, PyObject *name)
{
    for (int i = 0; i + 1 < object->nitems; i += 2)
        if (object->items[i]->object == name) return &object->items[i + 1];
    return NULL;
}

/* The instance's own dict; *out NULL when it holds no such name. */
static Answer
own_attribute(Interp *in, Value *object, PyObject *name, bool must_guard_absence, Value **out)
{
    Value **stored = stored_attribute(object, name);
    *out = stored ? *stored : NULL;
    if (stored != NULL || object->kind == V_INSTANCE) return ANSWER_YES;
    PyObject *found = NULL;
    if (object->type->tp_dictoffset != 0 || (object->type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        PyObject *dict = PyObject_GenericGetDict(object->object, NULL);
        if (dict == NULL)
            PyErr_Clear();
        else
            found = PyDict_GetItemWithError(dict, name);
        Py_XDECREF(dict); /* the object holds it */
        if (found == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    }
    if (found == NULL) {
        if (!must_guard_absence) return ANSWER_YES;
        int guard = guard_simple(in, GUARD_ATTR_ABSENT, object->source, name);
        return guard < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    SourceId source = source_add(in, SOURCE_ATTR, object->source, 0, name, NULL);
    *out = source == NO_SOURCE ? NULL : value_from_source(in, source, found);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
property_get(Interp *in, PyObject *property, Value *self, Value **out)
{
    PyObject *fget = PyObject_GetAttrString(property, "fget");
    if (fget == NULL) return ANSWER_ERROR;
    Value *function = PyFunction_Check(fget) ? class_value(in, fget) : NULL;
    Py_DECREF(fget);
    if (function == NULL)
        return PyErr_Occurred() ? ANSWER_ERROR
                                : interp_break(in, BREAK_ATTRIBUTE, "a property of C code");
    return call_inlined(in, function, 1, &self, NULL, out);
}

static Answer
slot_get(Interp *in, Value *object, PyObject *member, PyObject *name, Value **out)
{
    Value **stored = stored_attribute(object, name);
    if (stored != NULL) {
        *out = *stored;
        return ANSWER_YES;
    }
    if (object->kind == V_INSTANCE) return no_attribute(in, object, name);
    PyObject *found =
        Py_TYPE(member)->tp_descr_get(member, object->object, (PyObject *)Py_TYPE(object->object));
    if (found == NULL) return break_raises(in);
    SourceId source = source_add(in, SOURCE_ATTR, object->source, 0, name, NULL);
    *out = source == NO_SOURCE ? NULL : value_from_source(in, source, found);
    Py_DECREF(found); /* the object's slot holds it */
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
instance_attribute(Interp *in, Value *object, PyObject *name, Value **out)
{
    PyTypeObject *type = object->type;
    if (type->tp_getattro != PyObject_GenericGetAttr ||
        (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && object->exception == NULL))
        return no_attribute(in, object, name);
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    PyObject *found;
    Answer answer = type_lookup(in, type, name, &found);
    if (answer != ANSWER_YES) return answer;
    PyTypeObject *kind = found ? Py_TYPE(found) : NULL;
    if (kind == &PyProperty_Type) return property_get(in, found, object, out);
    if (kind == &PyMemberDescr_Type) return slot_get(in, object, found, name, out);
    if (kind != NULL && kind->tp_descr_set != NULL) return no_attribute(in, object, name);
    answer = own_attribute(in, object, name, found != NULL, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    if (found == NULL) return no_attribute(in, object, name);
    if (PyFunction_Check(found)) {
        Value *function = class_value(in, found);
        return function ? bind(in, function, object, out) : ANSWER_ERROR;
    }
    if (kind == &PyStaticMethod_Type || kind == &PyClassMethod_Type) {
        Value *class_ = class_value(in, (PyObject *)type);
        return class_ ? class_attribute(in, class_, name, out) : ANSWER_ERROR;
    }
    if (kind->tp_descr_get != NULL) return no_attribute(in, object, name);
    *out = class_value(in, found);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* What super(cls, self).name is, for methods, when self's classes after cls are also the line of
   the next one by itself. */
Answer
super_attribute(Interp *in, PyTypeObject *cls, Value *self, PyObject *name, Value **out)
{
    PyObject *mro = self->type->tp_mro, *found;
    Py_ssize_t n = PyTuple_GET_SIZE(mro), at = 0;
    while (at < n && PyTuple_GET_ITEM(mro, at) != (PyObject *)cls) at++;
    PyTypeObject *next = at + 1 < n ? (PyTypeObject *)PyTuple_GET_ITEM(mro, at + 1) : NULL;
    if (next == NULL || PyTuple_GET_SIZE(next->tp_mro) != n - at - 1)
        return no_attribute(in, self, name);
    if (value_guard_type(in, self) < 0) return ANSWER_ERROR;
    Answer answer = type_lookup(in, next, name, &found);
    if (answer != ANSWER_YES) return answer;
    if (self->exception != NULL && found != NULL && Py_TYPE(found) == &PyWrapperDescr_Type) {
        *out = value_sequence(in, V_BUILTIN_METHOD, 1, &self);
        if (*out == NULL) return ANSWER_ERROR;
        (*out)->name = PyUnicode_AsUTF8(name);
        return (*out)->name == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (found == NULL || !PyFunction_Check(found)) return no_attribute(in, self, name);
    Value *function = class_value(in, found);
    return function ? bind(in, function, self, out) : ANSWER_ERROR;
}

/* ---- values of builtin types ---- */

/* The place of a named tuple's field, or -1. */
static int
named_field(PyTypeObject *type, PyObject *name)
{
    PyObject *fields = PyObject_GetAttrString((PyObject *)type, "_fields");
    int place = -1;
    for (int i = 0; fields != NULL && PyTuple_Check(fields) && i < PyTuple_GET_SIZE(fields); i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(fields, i), name) == 0) place = i;
    Py_XDECREF(fields);
    PyErr_Clear();
    return place;
}

static Answer
builtin_attribute(Interp *in, Value *object, PyObject *name, Value **out)
{
    const char *text = PyUnicode_AsUTF8(name);
    PyTypeObject *type = value_type(in, object);
    if (text == NULL) return ANSWER_ERROR;
    if (type == NULL) return PyErr_Occurred() ? ANSWER_ERROR : no_attribute(in, object, name);
    PyObject *found = _PyType_Lookup(type, name);
    if (found == NULL && type->tp_getattro == PyObject_GenericGetAttr && type->tp_dictoffset == 0)
        return raise_new(in, PyExc_AttributeError, "'%.100s' object has no attribute '%U'",
                         type->tp_name, name);
    if (found == NULL) return no_attribute(in, object, name);
    if (object->kind == V_TUPLE && type != &PyTuple_Type) {
        int field = named_field(type, name);
        if (field < 0) return no_attribute(in, object, name);
        *out = value_item(in, object, field);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (Py_TYPE(found) == &PyMethodDescr_Type || Py_TYPE(found) == &PyWrapperDescr_Type) {
        Value *method = value_sequence(in, V_BUILTIN_METHOD, 1, &object);
        if (method == NULL) return ANSWER_ERROR;
        method->name = text;
        *out = method;
        return ANSWER_YES;
    }
    PyObject *known;
    Answer answer = value_known(in, object, &known);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO) return no_attribute(in, object, name);
    PyObject *read = PyObject_GetAttr(known, name);
    if (read == NULL) return break_raises(in);
    *out = value_const_new(in, read);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
method_attribute(Interp *in, Value *object, PyObject *name, Value **out)
{
    if (PyUnicode_CompareWithASCIIString(name, "__self__") == 0)
        *out = object->items[1];
    else if (PyUnicode_CompareWithASCIIString(name, "__func__") == 0)
        *out = object->items[0];
    else
        return no_attribute(in, object, name);
    return ANSWER_YES;
}

Answer
attribute_load(Interp *in, Value *object, PyObject *name, Value **out)
{
    if (value_is_array(in, object) || (object->kind == V_NODE && value_is_numpy(in, object))) {
        const char *text = PyUnicode_AsUTF8(name);
        if (text == NULL) return ANSWER_ERROR;
        if (array_has_method(text)) {
            Value *method = value_sequence(in, V_BUILTIN_METHOD, 1, &object);
            if (method == NULL) return ANSWER_ERROR;
            method->name = text;
            *out = method;
            return ANSWER_YES;
        }
        return array_attribute(in, object, text, out);
    }
    if (value_is_opaque_object(in, object)) {
        const char *text = PyUnicode_AsUTF8(name);
        return text == NULL ? ANSWER_ERROR : object_attribute(in, object, text, out);
    }
    switch (object->kind) {
    case V_CONST:
        if (PyModule_CheckExact(object->object)) {
            PyObject *dict = PyModule_GetDict(object->object);
            PyObject *found = PyDict_GetItemWithError(dict, name);
            if (found == NULL) return no_attribute(in, object, name);
            return load_global(in, dict, NULL, name, out);
        }
        if (PyType_Check(object->object)) return class_attribute(in, object, name, out);
        if (PyFunction_Check(object->object)) return no_attribute(in, object, name);
        if ((Py_TYPE(object->object)->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
            !object_is_pure(object->object))
            return no_attribute(in, object, name);
        return builtin_attribute(in, object, name, out);
    case V_OBJECT:
        if (object->type == &PyList_Type && PyUnicode_CompareWithASCIIString(name, "append") == 0)
            return builtin_attribute(in, object, name, out);
        return instance_attribute(in, object, name, out);
    case V_INSTANCE:
        if (object->exception != NULL) return exception_attribute(in, object, name, out);
        return instance_attribute(in, object, name, out);
    case V_METHOD: return method_attribute(in, object, name, out);
    case V_ITER: return builtin_attribute(in, object, name, out);
    case V_NODE:
    case V_TUPLE:
    case V_LIST:
    case V_DICT:
    case V_SET:
    case V_SLICE:
    case V_VIEW:
    case V_PURE:
    case V_RANGE: return builtin_attribute(in, object, name, out);
    default: return no_attribute(in, object, name);
    }
}

/* ---- storing ---- */

Answer
attribute_store(Interp *in, Value *object, PyObject *name, Value *value)
{
    if (value_is_array(in, object) || value_is_opaque(in, object))
        return array_set_attribute(in, object, PyUnicode_AsUTF8(name), value);
    if (object->kind != V_OBJECT && object->kind != V_INSTANCE)
        return interp_break(in, BREAK_STORE, "attribute '%s' of %s", PyUnicode_AsUTF8(name),
                            value_describe(in, object));
    PyTypeObject *type = object->type;
    if (object->exception != NULL) {
        bool done = false;
        Answer stored = exception_attribute_store(in, object, name, value, &done);
        if (done || stored != ANSWER_YES) return stored;
    } else if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        return interp_break(in, BREAK_STORE, "attribute '%s' of %s", PyUnicode_AsUTF8(name),
                            type->tp_name);
    }
    if (type->tp_setattro != PyObject_GenericSetAttr)
        return interp_break(in, BREAK_STORE, "attribute '%s' of %s", PyUnicode_AsUTF8(name),
                            type->tp_name);
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    PyObject *found;
    Answer answer = type_lookup(in, type, name, &found);
    if (answer != ANSWER_YES) return answer;
    PyTypeObject *kind = found ? Py_TYPE(found) : NULL;
    if (kind != NULL && kind->tp_descr_set != NULL && kind != &PyMemberDescr_Type)
        return interp_break(in, BREAK_STORE, "attribute '%s' has a setter", PyUnicode_AsUTF8(name));
    Value **stored = stored_attribute(object, name);
    if (stored != NULL) {
        *stored = value;
    } else {
        Value *key = value_const(in, name);
        if (key == NULL || value_append(in, object, key) < 0 || value_append(in, object, value) < 0)
            return ANSWER_ERROR;
    }
    if (object->kind == V_INSTANCE) return ANSWER_YES; /* its attributes are part of its build */
    object->mutated = true;
    Value *args[2] = {object, value};
    return effect_add(in, EFFECT_STORE_ATTR, name, NO_SOURCE, 2, args) < 0 ? ANSWER_ERROR
                                                                           : ANSWER_YES;
}

Answer
special_method(Interp *in, Value *object, const char *name, Value **out)
{
    *out = NULL;
    if (object->kind != V_OBJECT && object->kind != V_INSTANCE) return ANSWER_YES;
    if (!(object->type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return ANSWER_YES;
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    PyObject *key = keep(in, PyUnicode_InternFromString(name)), *found;
    if (key == NULL) return ANSWER_ERROR;
    Answer answer = type_lookup(in, object->type, key, &found);
    if (answer != ANSWER_YES || found == NULL || !PyFunction_Check(found)) return answer;
    *out = class_value(in, found);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
