/* Attributes of modules (globals of another dict), instances, values of builtin types and arrays.
   Reading follows object.__getattribute__ on what is stored, guarding each place that is read.
   Properties, descriptors, __getattr__ and __getattribute__ written in Python are followed like
   calls. */
#include "objects.h"

Answer
no_attribute(Interp *in, Value *object, PyObject *name)
{
    if (object->kind == V_CONST && PyModule_Check(object->object)) {
        const char *module = PyModule_GetName(object->object);
        if (module == NULL) PyErr_Clear();
        if (PyModule_CheckExact(object->object) &&
            dict_named(PyModule_GetDict(object->object), "__getattr__") == NULL)
            return break_raised(in,
                                "AttributeError is raised here: module '%s' has no attribute '%s'",
                                module ? module : "?", PyUnicode_AsUTF8(name));
        return break_hinted(in, BREAK_ATTRIBUTE, HINT_OF_MODULE,
                            "module '%s' has no '%s' of its own", module ? module : "?",
                            PyUnicode_AsUTF8(name));
    }
    bool generator = value_type(in, object) == &PyGen_Type;
    PyErr_Clear();
    return break_hinted(in, value_break(object, BREAK_ATTRIBUTE),
                        generator ? HINT_GENERATOR : HINT_OF_CODE, "attribute '%s' of %s",
                        PyUnicode_AsUTF8(name), value_describe(in, object));
}

Answer
attribute_missing(Interp *in, Value *object, PyObject *name)
{
    if (model_asks(in, name)) return no_attribute(in, object, name);
    if (object->kind == V_CONST && PyType_Check(object->object))
        PyErr_Format(PyExc_AttributeError, "type object '%.50s' has no attribute '%U'",
                     ((PyTypeObject *)object->object)->tp_name, name);
    else if (object->kind == V_CONST && PyModule_Check(object->object))
        return no_attribute(in, object, name);
    else {
        PyTypeObject *type = value_type(in, object);
        if (type == NULL) return PyErr_Occurred() ? ANSWER_ERROR : no_attribute(in, object, name);
        if (type_is_heap(type) && _PyType_Lookup(type, name) != NULL) /* an empty slot */
            return raise_empty_slot(in, type, name);
        PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", type->tp_name,
                     name);
    }
    return raise_error(in);
}

/* ---- instances ---- */

Answer
generic_find(Interp *in, Value *object, PyObject *name, Value **out)
{
    PyTypeObject *type = object->type;
    PyObject *found;
    bool data = false, reads = true;
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    Value *owner = value_const(in, (PyObject *)type);
    if (owner == NULL) return ANSWER_ERROR;
    Answer answer = class_pending(in, type, name, out);
    if (answer != ANSWER_YES) return answer;
    if (*out != NULL) { /* a plain value: the instance's own comes first */
        Value *own;
        answer = own_find(in, object, name, false, true, &own);
        if (answer == ANSWER_YES && own != NULL) *out = own;
        return answer;
    }
    Value *count;
    answer = class_counted(in, type, name, &count);
    if (answer != ANSWER_YES) return answer;
    if (count != NULL) {
        answer = own_find(in, object, name, false, true, out);
        if (answer == ANSWER_YES && *out == NULL) *out = count;
        return answer;
    }
    answer = type_lookup(in, type, name, &found);
    if (answer == ANSWER_YES && found != NULL) {
        answer = descriptor_is_data(in, found, &data);
        reads = Py_TYPE(found)->tp_descr_get != NULL; /* else the instance's own comes first */
    }
    if (answer != ANSWER_YES) return answer;
    if (data && reads) return descriptor_get(in, found, object, owner, name, out);
    answer = own_find(in, object, name, false, true, out);
    if (answer != ANSWER_YES || *out != NULL || found == NULL) return answer;
    return descriptor_get(in, found, object, owner, name, out);
}

/* type.__getattr__(object, name), where the class has one. */
static Answer
fallback(Interp *in, Value *object, PyObject *name, Value **out)
{
    PyObject *getattr;
    Answer answer = type_lookup_text(in, object->type, "__getattr__", &getattr);
    if (answer != ANSWER_YES || getattr == NULL) return answer;
    if (!PyFunction_Check(getattr)) return no_attribute(in, object, name);
    Value *function = value_of_const(in, getattr), *args[2] = {object, value_const(in, name)};
    if (function == NULL || args[1] == NULL) return ANSWER_ERROR;
    return call_value(in, function, 2, args, NULL, out);
}

/* type.__getattribute__(object, name) in Python; *out NULL where it raises AttributeError and there
   is a __getattr__. */
static Answer
own_getattribute(Interp *in, Value *object, PyObject *name, Value **out)
{
    PyObject *found, *getattr;
    Answer answer = type_lookup_text(in, object->type, "__getattribute__", &found);
    if (answer == ANSWER_YES) answer = type_lookup_text(in, object->type, "__getattr__", &getattr);
    if (answer != ANSWER_YES) return answer;
    if (found == NULL || !PyFunction_Check(found) || in->attempt.nesting > 40)
        return no_attribute(in, object, name);
    Value *function = value_of_const(in, found), *args[2] = {object, value_const(in, name)};
    if (function == NULL || args[1] == NULL) return ANSWER_ERROR;
    in->attempt.nesting++;
    answer = call_value(in, function, 2, args, NULL, out);
    in->attempt.nesting--;
    if (answer == ANSWER_BREAK && getattr != NULL &&
        raised_take(in, PyExc_AttributeError) != NULL) {
        *out = NULL;
        answer = ANSWER_YES;
    }
    return answer;
}

static Answer
instance_find(Interp *in, Value *object, PyObject *name, Value **out)
{
    PyTypeObject *type = object->type;
    *out = NULL;
    if (!type_is_heap(type) && object->exception == NULL &&
        !(object->object != NULL && stream_is_plain(object->object)))
        return no_attribute(in, object, name);
    bool shown;
    Answer answer = model_shows(in, object, name, &shown);
    if (answer != ANSWER_YES || !shown) return answer;
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    answer = type_inherits(in, type, "__getattribute__", &PyBaseObject_Type);
    if (answer == ANSWER_NO)
        answer = own_getattribute(in, object, name, out);
    else if (answer == ANSWER_YES)
        answer = generic_find(in, object, name, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    return fallback(in, object, name, out);
}

Answer
instance_attribute(Interp *in, Value *object, PyObject *name, Value **out)
{
    Answer answer = instance_find(in, object, name, out);
    return answer == ANSWER_YES && *out == NULL ? attribute_missing(in, object, name) : answer;
}

/* ---- values of builtin types ---- */

/* The position of a named tuple's field, or -1. */
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

/* What a C object has under a name, a new reference.  It is the object's for ever, but what is the
   program's may change in itself, and is guarded where the code looks into it. */
static Value *
value_of_member(Interp *in, PyObject *read)
{
    bool changes = PyFunction_Check(read) || (type_is_heap(Py_TYPE(read)) && !PyType_Check(read));
    if (!changes) return value_const_new(in, read);
    return keep(in, read) == NULL ? NULL : value_of_const(in, read);
}

Answer
builtin_find(Interp *in, Value *object, PyObject *name, Value **out)
{
    const char *text = PyUnicode_AsUTF8(name);
    PyTypeObject *type = value_type(in, object);
    *out = NULL;
    if (text == NULL) return ANSWER_ERROR;
    if (type == NULL) return PyErr_Occurred() ? ANSWER_ERROR : no_attribute(in, object, name);
    if (strcmp(text, "__class__") == 0) {
        *out = value_const(in, (PyObject *)type);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (value_is_named(object) && type_is_named(type)) return named_find(in, object, name, out);
    PyObject *found = _PyType_Lookup(type, name);
    if (found == NULL)
        return type->tp_dictoffset == 0 && type->tp_getattro == PyObject_GenericGetAttr
                   ? ANSWER_YES
                   : no_attribute(in, object, name);
    if (object->kind == V_SLICE && Py_TYPE(found) == &PyMemberDescr_Type) {
        int part = strcmp(text, "start") == 0 ? 0 : strcmp(text, "stop") == 0 ? 1 : 2;
        *out = object->items[part];
        return ANSWER_YES;
    }
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
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO) return no_attribute(in, object, name);
    PyObject *read = PyObject_GetAttr(known, name);
    if (read == NULL) return raise_error(in);
    *out = value_of_member(in, read);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
method_find(Interp *in, Value *object, PyObject *name, Value **out)
{
    if (PyUnicode_CompareWithASCIIString(name, "__self__") == 0) {
        *out = object->items[1];
        return ANSWER_YES;
    }
    if (PyUnicode_CompareWithASCIIString(name, "__func__") == 0) {
        *out = object->items[0];
        return ANSWER_YES;
    }
    if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0) {
        *out = value_const(in, (PyObject *)&PyMethod_Type);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    return attribute_find(in, object->items[0], name, out); /* bound as a method is */
}

static Answer
array_find(Interp *in, Value *object, PyObject *name, Value **out)
{
    const char *text = PyUnicode_AsUTF8(name);
    *out = NULL;
    if (text == NULL) return ANSWER_ERROR;
    if (array_has_method(text)) {
        Value *method = value_sequence(in, V_BUILTIN_METHOD, 1, &object);
        if (method == NULL) return ANSWER_ERROR;
        method->name = text;
        *out = method;
        return ANSWER_YES;
    }
    PyTypeObject *type = value_type(in, object);
    if (type != NULL && _PyType_Lookup(type, name) == NULL) return ANSWER_YES;
    if (type != NULL && strcmp(text, "__class__") == 0) {
        *out = value_const(in, (PyObject *)type);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    return array_attribute(in, object, text, out);
}

/* A module's name that is there once it is asked for: NumPy's submodules, and our own package's
   names (pycompile/__init__.py). */
static int
load_late_name(PyObject *module, PyObject *name)
{
    const char *of = PyModule_GetName(module);
    if (of == NULL || strcmp(of, "pycompile") != 0) {
        PyErr_Clear();
        return numpy_load_submodule(module, name);
    }
    PyObject *found = PyObject_GetAttr(module, name);
    if (found == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    Py_XDECREF(found);
    return 0;
}

Answer
const_find(Interp *in, Value *object, PyObject *name, Value **out)
{
    *out = NULL;
    if (PyModule_CheckExact(object->object)) {
        if (guard_class(in, object->object) < 0) return ANSWER_ERROR;
        PyObject *dict = PyModule_GetDict(object->object);
        if (dict_stored(dict, name) == NULL && load_late_name(object->object, name) < 0)
            return ANSWER_ERROR;
        if (dict_stored(dict, name) == NULL) return no_attribute(in, object, name);
        return load_global(in, dict, NULL, name, out);
    }
    if (PyType_Check(object->object)) return class_find(in, object, name, out);
    if (PyFunction_Check(object->object)) return function_find(in, object, name, out);
    if (is_enum_member(object->object)) return instance_find(in, object, name, out);
    if (type_is_heap(Py_TYPE(object->object)) && !object_is_pure(object->object))
        return no_attribute(in, object, name);
    return builtin_find(in, object, name, out);
}

/* The name of what a kept loop does with a list or deque that is not opened. */
static bool
is_of_queue(PyObject *name)
{
    static const char *const all[] = {"pop", "popleft", "appendleft", NULL};
    return is_one_of(text_of_str(name), all);
}

Answer
object_find(Interp *in, Value *object, PyObject *name, Value **out)
{
    if (object->type == &PyFunction_Type) return function_find(in, object, name, out);
    bool list = object->type == &PyList_Type || deque_check(object->object);
    if (list && (PyUnicode_CompareWithASCIIString(name, "append") == 0 ||
                 (in->loop != NULL && is_of_queue(name))))
        return builtin_find(in, object, name, out);
    if (dict_is_apart(object)) return builtin_find(in, object, name, out);
    return instance_find(in, object, name, out);
}

Answer
made_instance_find(Interp *in, Value *object, PyObject *name, Value **out)
{
    if (object->exception != NULL) return exception_attribute(in, object, name, out);
    return instance_find(in, object, name, out);
}

/* Of an iinfo, which is never shared: computed from the one made here.  Of a finfo, which all
   callers share: as stored, under guard, once its class has computed it. */
static Answer
limits_attribute(Interp *in, Value *limits, PyObject *name, Value **out)
{
    static const char *const integers[] = {"min", "max", "bits", "dtype", "kind", "key"};
    const char *text = PyUnicode_AsUTF8(name);
    PyObject *object = limits->object, *found;
    if (text == NULL) return ANSWER_ERROR;
    if (limits->kind == V_CONST) {
        found = PyObject_GetAttr(object, name);
        if (found == NULL) PyErr_Clear();
        Py_XDECREF(found);
        return instance_attribute(in, limits, name, out);
    }
    bool known = false;
    for (int i = 0; i < COUNT_OF(integers); i++) known = known || strcmp(text, integers[i]) == 0;
    if (!known) return no_attribute(in, limits, name);
    Answer answer = limits_made(in, limits->object, limits->items[0]->object, &object);
    if (answer != ANSWER_YES) return answer;
    found = object == NULL ? NULL : PyObject_GetAttr(object, name);
    if (found == NULL) return raise_error(in);
    *out = value_const_new(in, found);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
attribute_find(Interp *in, Value *object, PyObject *name, Value **out)
{
    if (note_class_asked(in, object) < 0) return ANSWER_ERROR;
    if (value_is_on_device(object)) return device_find(in, object, name, out);
    if (in->loop != NULL && object->kind == V_NODE) {
        Answer answer = complex_attribute(in, object, text_of_str(name), out);
        if (answer != ANSWER_NO) return answer;
    }
    if (value_is_array(in, object) || (object->kind == V_NODE && value_is_numpy(in, object)))
        return array_find(in, object, name, out);
    if (value_is_random(in, object)) {
        const char *text = PyUnicode_AsUTF8(name);
        return text == NULL ? ANSWER_ERROR : draw_attribute(in, object, text, out);
    }
    if (value_is_opaque_object(in, object)) {
        const char *text = PyUnicode_AsUTF8(name);
        return text == NULL ? ANSWER_ERROR : object_attribute(in, object, text, out);
    }
    if (object->object != NULL && object->object == array_errors_variable()) {
        *out = value_sequence(in, V_BUILTIN_METHOD, 1, &object);
        if (*out != NULL) (*out)->name = PyUnicode_AsUTF8(name);
        return *out == NULL || (*out)->name == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (value_is_limits(object)) return limits_attribute(in, object, name, out);
    if (value_is_flags(in, object)) return emit_flag(in, object, name, false, out);
    if (object->kind == V_NODE) {
        const char *text = PyUnicode_AsUTF8(name);
        Answer answer = text ? scalar_attribute(in, object, text, out) : ANSWER_ERROR;
        if (answer != ANSWER_NO) return answer;
    }
    return value_attribute(in, object, name, out);
}

Answer
attribute_load(Interp *in, Value *object, PyObject *name, Value **out)
{
    Answer answer = attribute_find(in, object, name, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    return attribute_missing(in, object, name);
}

/* ---- special methods ---- */

Answer
special_method(Interp *in, Value *object, const char *name, Value **out)
{
    *out = NULL;
    if (!value_is_object(object) || !type_is_heap(object->type)) return ANSWER_YES;
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    PyObject *found;
    Answer answer = type_lookup_text(in, object->type, name, &found);
    if (answer != ANSWER_YES || found == NULL || !PyFunction_Check(found)) return answer;
    *out = value_of_const(in, found);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
