/* Contents of classes: look-ups along the MRO with their guards, descriptors, attributes of
   classes.
   A class's attribute is guarded to be the object that was found, which costs nothing while the
   class is unchanged (it is watched).  Descriptors in Python are followed like any call. */
#include "objects.h"

/* ---- lookups ---- */

Answer
type_own_lookup(Interp *in, PyTypeObject *type, PyObject *name, PyObject **out)
{
    *out = type_own_stored(type, name);
    Answer told = stored_told(in, *out, name);
    if (told != ANSWER_YES || !type_is_heap(type)) return told;
    SourceId base = source_of_const(in, (PyObject *)type);
    if (base == NO_SOURCE) return ANSWER_ERROR;
    SourceId source = source_add(in, SOURCE_ATTR, base, ATTR_OWN, name, NULL);
    return guard_found(in, source, GUARD_UNBOUND, source, NULL, *out);
}

Answer
type_derives(Interp *in, PyTypeObject *type, PyTypeObject *from, bool *out)
{
    *out = PyType_IsSubtype(type, from);
    if (type == from || !type_is_heap(type)) return ANSWER_YES;
    PyObject *ignored, *name = interned(in, "__mro__");
    return name == NULL ? ANSWER_ERROR : type_own_lookup(in, type, name, &ignored);
}

int
guard_class(Interp *in, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (!type_is_heap(type) && type != &PyModule_Type) return 0;
    SourceId source = source_of_const(in, object);
    if (source == NO_SOURCE) return -1;
    const void *key = (const void *)((((uintptr_t)source + 1) << 4) | 1);
    if (map_get(&in->sources.by_source, key) != NULL) return 0; /* already guarded */
    if (map_put(in, &in->sources.by_source, key, in->null) < 0) return -1;
    return guard_simple(in, GUARD_TYPE, source, (PyObject *)type) < 0 ? -1 : 0;
}

Value *
value_of_const(Interp *in, PyObject *object)
{
    SourceId source = source_of_const(in, object);
    return source == NO_SOURCE ? NULL : value_from_source(in, source, object);
}

Value *
bound_method(Interp *in, Value *function, Value *self)
{
    Value *items[2] = {function, self};
    return value_sequence(in, V_METHOD, 2, items);
}

/* ---- descriptors ---- */

/* `object` may be NULL: an attribute of the class. */
static Answer
cannot_read(Interp *in, PyObject *found, Value *object, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    BreakCode code = object != NULL ? value_break(object, BREAK_ATTRIBUTE) : BREAK_ATTRIBUTE;
    if (object != NULL && !type_is_heap(Py_TYPE(found)))
        return interp_break(in, code, "attribute '%s' of %s, which C code reads", text,
                            value_describe(in, object));
    return interp_break(in, code, "attribute '%s', which is a %s", text, Py_TYPE(found)->tp_name);
}

/* A member of a C object, read by Python code: a new reference; NULL with the error set. */
static Value *
member_value(Interp *in, PyObject *object, const char *name)
{
    PyObject *member = PyObject_GetAttrString(object, name);
    Value *value = member ? value_of_const(in, member) : NULL;
    Py_XDECREF(member); /* the object holds it */
    return value;
}

static Answer
property_get(Interp *in, PyObject *property, Value *self, Value **out)
{
    Value *get = member_value(in, property, "fget");
    if (get == NULL) return ANSWER_ERROR;
    if (get->kind == V_CONST && get->object == Py_None)
        return raise_property(in, property, self->type, true, NULL);
    return call_value(in, get, 1, &self, NULL, out);
}

/* A member of a class with slots; those of C types are read by capture itself. */
static Answer
member_get(Interp *in, PyObject *found, Value *object, PyObject *name, Value **out)
{
    if (!type_is_heap(PyDescr_TYPE(found))) return cannot_read(in, found, object, name);
    return own_find(in, object, name, true, true, out);
}

/* __class__, __dict__, and attributes that C types keep for instances of their subclasses. */
static Answer
getset_get(Interp *in, PyObject *found, Value *object, PyObject *name, Value **out)
{
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) return ANSWER_ERROR;
    if (strcmp(text, "__class__") == 0) {
        PyTypeObject *type = value_type(in, object);
        if (type == NULL)
            return PyErr_Occurred() ? ANSWER_ERROR : cannot_read(in, found, object, name);
        return given(out, value_const(in, (PyObject *)type));
    }
    if (strcmp(text, "__dict__") == 0) return own_dict(in, object, out);
    return cannot_read(in, found, object, name);
}

/* A descriptor whose class is written in Python: type(found).__get__(found, object, owner). */
static Answer
python_get(Interp *in, PyObject *found, Value *object, Value *owner, PyObject *name, Value **out)
{
    PyObject *get;
    Answer answer = type_lookup_text(in, Py_TYPE(found), "__get__", &get);
    if (answer != ANSWER_YES) return answer;
    Value *descriptor = value_of_const(in, found);
    if (descriptor == NULL) return ANSWER_ERROR;
    if (get == NULL) return given(out, descriptor);
    if (!PyFunction_Check(get) || descriptor->kind != V_OBJECT)
        return cannot_read(in, found, object, name);
    if (value_guard_type(in, descriptor) < 0) return ANSWER_ERROR;
    Value *function = value_of_const(in, get);
    Value *args[3] = {descriptor, object ? object : value_const(in, Py_None), owner};
    if (function == NULL || args[1] == NULL) return ANSWER_ERROR;
    return call_value(in, function, 3, args, NULL, out);
}

Answer
descriptor_get(Interp *in, PyObject *found, Value *object, Value *owner, PyObject *name,
               Value **out)
{
    PyTypeObject *kind = Py_TYPE(found);
    if (kind == &PyFunction_Type || kind == &PyMethodDescr_Type || kind == &PyWrapperDescr_Type ||
        lru_check(found) || decorated_kind(found) != DECORATED_NOT) {
        Value *function = value_of_const(in, found);
        if (function == NULL || object == NULL) return given(out, function);
        return given(out, bound_method(in, function, object));
    }
    if (kind == &PyStaticMethod_Type) return given(out, member_value(in, found, "__func__"));
    if (kind == &PyClassMethod_Type) {
        Value *function = member_value(in, found, "__func__");
        if (function == NULL) return ANSWER_ERROR;
        if (function->object == NULL || (!PyFunction_Check(function->object) &&
                                         decorated_kind(function->object) == DECORATED_NOT))
            return cannot_read(in, found, object, name);
        return given(out, bound_method(in, function, owner));
    }
    if (kind == &PyClassMethodDescr_Type) {
        PyObject *bound = kind->tp_descr_get(found, NULL, owner->object);
        return bound == NULL ? raise_error(in) : given(out, value_const_new(in, bound));
    }
    if (kind == &PyProperty_Type && object != NULL) return property_get(in, found, object, out);
    if (kind == &PyMemberDescr_Type && object != NULL)
        return PyType_IsSubtype(object->type, PyDescr_TYPE(found))
                   ? member_get(in, found, object, name, out)
                   : cannot_read(in, found, object, name);
    if (kind == &PyGetSetDescr_Type && object != NULL)
        return getset_get(in, found, object, name, out);
    if (kind == &PyProperty_Type || kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type)
        return given(out, value_of_const(in, found));
    if (type_is_heap(kind)) return python_get(in, found, object, owner, name, out);
    if (kind->tp_descr_get != NULL) return cannot_read(in, found, object, name);
    return given(out, value_of_const(in, found));
}

Answer
descriptor_is_data(Interp *in, PyObject *found, bool *out)
{
    static const char *const names[2] = {"__set__", "__delete__"};
    PyTypeObject *kind = Py_TYPE(found);
    *out = kind->tp_descr_set != NULL;
    for (int i = 0; type_is_heap(kind) && i < 2; i++) {
        PyObject *ignored;
        Answer answer = type_lookup_text(in, kind, names[i], &ignored);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* ---- attributes of classes ---- */

/* The code being followed stores to this attribute, so its value changes from call to call. */
static bool
is_stored_here(Interp *in, PyObject *name)
{
    for (const Activation *a = in->top; a != NULL; a = a->caller)
        for (int i = 0; i < a->decoded->count; i++) {
            const Instr *instr = &a->decoded->instrs[i];
            if (instr->kind == I_STORE_ATTR &&
                PyTuple_GET_ITEM(a->decoded->code->co_names, instr->arg) == name)
                return true;
        }
    return false;
}

/* A number on a class that the program counts up: read anew in each run. */
Answer
class_counted(Interp *in, PyTypeObject *type, PyObject *name, Value **out)
{
    PyObject *found = _PyType_Lookup(type, name);
    *out = NULL;
    if (found == NULL || !(PyLong_CheckExact(found) || PyFloat_CheckExact(found)) ||
        !type_is_heap(type) || !is_stored_here(in, name))
        return ANSWER_YES;
    SourceId source = source_of_const(in, (PyObject *)type);
    if (source != NO_SOURCE) source = source_add(in, SOURCE_ATTR, source, ATTR_COUNTED, name, NULL);
    return source == NO_SOURCE ? ANSWER_ERROR : given(out, value_from_source(in, source, found));
}

/* Guards that the classes before this one in the MRO, which stays, have nothing under the name. */
static Answer
guard_first(Interp *in, PyTypeObject *type, PyObject *class_, PyObject *name)
{
    PyObject *mro_name = interned(in, "__mro__"), *ignored;
    if ((PyObject *)type == class_) return ANSWER_YES;
    Answer answer = mro_name ? type_own_lookup(in, type, mro_name, &ignored) : ANSWER_ERROR;
    for (Py_ssize_t k = 0; answer == ANSWER_YES; k++) {
        PyObject *before = PyTuple_GET_ITEM(type->tp_mro, k);
        if (before == class_) break;
        answer = type_own_lookup(in, (PyTypeObject *)before, name, &ignored);
    }
    return answer;
}

Answer
class_pending(Interp *in, PyTypeObject *type, PyObject *name, Value **out)
{
    *out = NULL;
    if (in->writes.stored_globals.len == 0) return ANSWER_YES;
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t k = 0; mro != NULL && k < PyTuple_GET_SIZE(mro); k++) {
        PyObject *class_ = PyTuple_GET_ITEM(mro, k);
        *out = pending_find(in, class_, name);
        if (*out != NULL) return guard_first(in, type, class_, name);
        if (type_own_stored((PyTypeObject *)class_, name) != NULL) return ANSWER_YES;
    }
    return ANSWER_YES;
}

/* __name__, __mro__ and the like, which are kept in the class object itself. */
static Answer
class_member(Interp *in, Value *class_, PyObject *name, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    const char *text = PyUnicode_AsUTF8(name);
    PyObject *found;
    if (text == NULL) return ANSWER_ERROR;
    if (strcmp(text, "__class__") == 0)
        return given(out, value_const(in, (PyObject *)Py_TYPE(type)));
    if (!type_is_heap(type)) {
        PyObject *read = PyObject_GetAttr((PyObject *)type, name);
        return read == NULL ? raise_error(in) : given(out, value_const_new(in, read));
    }
    if (strcmp(text, "__name__") == 0 || strcmp(text, "__qualname__") == 0 ||
        strcmp(text, "__mro__") == 0 || strcmp(text, "__bases__") == 0) {
        Answer answer = type_own_lookup(in, type, name, &found);
        if (answer != ANSWER_YES) return answer;
        if (found == NULL) return no_attribute(in, class_, name); /* an incomplete MRO */
        return given(out, value_const(in, found));
    }
    if (strcmp(text, "__module__") == 0 || strcmp(text, "__doc__") == 0) {
        Answer answer = type_lookup(in, type, name, &found);
        if (answer != ANSWER_YES) return answer;
        if (found != NULL && (PyUnicode_CheckExact(found) || found == Py_None))
            return given(out, value_const(in, found));
    }
    return no_attribute(in, class_, name);
}

/* meta.__getattr__(class, name) */
static Answer
meta_getattr(Interp *in, Value *class_, PyObject *name, Value **out)
{
    PyTypeObject *meta = Py_TYPE(class_->object);
    PyObject *getattr;
    *out = NULL;
    if (!type_is_heap(meta)) return ANSWER_YES;
    Answer answer = type_lookup_text(in, meta, "__getattr__", &getattr);
    if (answer != ANSWER_YES || getattr == NULL) return answer;
    if (!PyFunction_Check(getattr)) return no_attribute(in, class_, name);
    Value *function = value_of_const(in, getattr), *args[2] = {class_, value_const(in, name)};
    if (function == NULL || args[1] == NULL) return ANSWER_ERROR;
    return call_value(in, function, 2, args, NULL, out);
}

Answer
class_find(Interp *in, Value *class_, PyObject *name, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object, *meta = Py_TYPE(type);
    PyObject *found, *on_meta = NULL;
    Value *stored;
    bool data = false;
    Answer answer;
    if (guard_class(in, class_->object) < 0) return ANSWER_ERROR;
    if (meta != &PyType_Type &&
        (answer = type_inherits(in, meta, "__getattribute__", &PyType_Type)) != ANSWER_YES)
        return answer == ANSWER_NO ? no_attribute(in, class_, name) : answer;
    answer = class_pending(in, type, name, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    answer =
        class_pending(in, meta, name, &stored); /* a plain value: the class's own comes first */
    if (answer == ANSWER_YES && stored == NULL) answer = type_lookup(in, meta, name, &on_meta);
    if (answer == ANSWER_YES && on_meta != NULL) answer = descriptor_is_data(in, on_meta, &data);
    if (answer != ANSWER_YES) return answer;
    if (data && Py_TYPE(on_meta) == &PyGetSetDescr_Type && !type_is_heap(PyDescr_TYPE(on_meta)))
        return class_member(in, class_, name, out);
    if (data && Py_TYPE(on_meta) == &PyMemberDescr_Type && !type_is_heap(PyDescr_TYPE(on_meta)))
        return class_member(in, class_, name, out);
    if (data)
        return descriptor_get(in, on_meta, class_, value_const(in, (PyObject *)meta), name, out);
    answer = class_counted(in, type, name, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    answer = type_lookup(in, type, name, &found);
    if (answer != ANSWER_YES) return answer;
    if (is_enum_class((PyObject *)type)) {
        PyObject *member = found;
        if (found == NULL || Py_TYPE(found) != type) /* one behind a property, or 3.11 */
            answer = enum_entry(in, type, "_member_map_", name, &member);
        if (answer != ANSWER_YES) return answer;
        if (member != NULL) return given(out, value_const(in, member));
    }
    if (found != NULL) return descriptor_get(in, found, NULL, class_, name, out);
    if (stored != NULL) return given(out, stored);
    if (on_meta != NULL)
        return descriptor_get(in, on_meta, class_, value_const(in, (PyObject *)meta), name, out);
    return meta_getattr(in, class_, name, out);
}

Answer
class_store(Interp *in, Value *class_, PyObject *name, Value *value)
{
    PyTypeObject *type = (PyTypeObject *)class_->object, *meta = Py_TYPE(type);
    const char *text = PyUnicode_AsUTF8(name);
    PyObject *on_meta;
    if (text == NULL) return ANSWER_ERROR;
    bool plain = type_is_heap(type) && strncmp(text, "__", 2) != 0 && value != NULL &&
                 value->kind != V_FUNCTION && !is_enum_class((PyObject *)type);
    if (!plain || (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE))
        return interp_break(in, BREAK_STORE, "attribute '%s' of class '%s'", text, type->tp_name);
    if (meta != &PyType_Type) {
        Answer answer = type_inherits(in, meta, "__setattr__", &PyType_Type);
        if (answer == ANSWER_YES) answer = type_lookup(in, meta, name, &on_meta);
        if (answer == ANSWER_ERROR) return answer;
        if (answer == ANSWER_NO || on_meta != NULL)
            return interp_break(in, BREAK_STORE, "attribute '%s' of class '%s'", text,
                                type->tp_name);
    }
    if (value->kind == V_OBJECT || value->kind == V_INSTANCE || value->kind == V_CONST) {
        PyTypeObject *kind = value_type(in, value);
        if (kind == NULL && PyErr_Occurred()) return ANSWER_ERROR;
        if (kind == NULL || kind->tp_descr_get != NULL) /* it would bind when read back */
            return interp_break(in, BREAK_STORE, "attribute '%s' of class '%s'", text,
                                type->tp_name);
    }
    if (in->writes.refuse_writes) return break_of_overlap(in);
    if (pending_find(in, (PyObject *)type, name) == NULL) TRY(attribute_goes(in, class_, name));
    Value *args[2] = {class_, value};
    if (effect_add(in, EFFECT_STORE_ATTR, name, NO_SOURCE, 2, args) < 0) return ANSWER_ERROR;
    return pending_store(in, (PyObject *)type, name, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
}
