/* Where an instance keeps its attributes.
   Made here: slots in items (name, value pairs), the others in `attributes`, a V_DICT that is its
   __dict__.  From outside: attributes stored now are read through its source; those that the
   program stored are in items (an unbound value for a deleted one) and are effects at commit.  Once
   its __dict__ has been read, `attributes` is that dict, and attributes are its entries. */
#include "objects.h"

/* The instance's __dict__; NULL with the error set. */
static Value *
made_dict(Interp *in, Value *object)
{
    if (object->attributes == NULL) object->attributes = value_sequence(in, V_DICT, 0, NULL);
    return object->attributes;
}

static Value **
pair_find(Value *object, PyObject *name)
{
    for (int i = 0; i + 1 < object->nitems; i += 2)
        if (object->items[i]->object == name) return &object->items[i + 1];
    return NULL;
}

static int
pair_store(Interp *in, Value *object, PyObject *name, Value *value)
{
    Value **stored = pair_find(object, name);
    if (stored != NULL) {
        *stored = value;
        return 0;
    }
    Value *key = value_const(in, name);
    if (key == NULL || value_append(in, object, key) < 0) return -1;
    return value_append(in, object, value);
}

static Answer
made_find(Interp *in, Value *object, PyObject *name, bool slot, Value **out)
{
    *out = NULL;
    if (slot) {
        Value **stored = pair_find(object, name);
        if (stored != NULL && (*stored)->kind != V_UNBOUND) *out = *stored;
        return ANSWER_YES;
    }
    if (object->attributes == NULL) return ANSWER_YES;
    int at = dict_find(in, object->attributes, name);
    if (at < -1) return ANSWER_ERROR;
    if (at < 0) return ANSWER_YES;
    *out = value_item(in, object->attributes, at);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Has the program changed its __dict__, which it has by another way? */
static bool
dict_is_changed(const Interp *in, const Value *object)
{
    if (object->kind != V_OBJECT || object->source == NO_SOURCE || object->nitems != 0 ||
        object->attributes != NULL || object->object == NULL || !type_has_dict(object->type))
        return false;
    PyObject *dict = instance_dict(object->object);
    const Value *known = dict == NULL ? NULL : map_get(&in->sources.by_object, dict);
    return known != NULL && known->mutated;
}

Answer
own_find(Interp *in, Value *object, PyObject *name, bool slot, bool guard_absence, Value **out)
{
    if (!slot && dict_is_changed(in, object)) {
        Answer answer = own_dict(in, object, out);
        if (answer != ANSWER_YES) return answer;
    }
    *out = NULL;
    if (object->kind == V_INSTANCE || (object->attributes != NULL && !slot))
        return made_find(in, object, name, slot, out);
    Value **stored = pair_find(object, name);
    if (stored != NULL) {
        if ((*stored)->kind != V_UNBOUND) *out = *stored;
        return ANSWER_YES;
    }
    if (!slot && object->object != NULL && !type_has_dict(object->type)) return ANSWER_YES;
    SourceId base = object->source;
    if (base == NO_SOURCE) base = source_of_const(in, object->object);
    if (base == NO_SOURCE) return ANSWER_ERROR;
    PyObject *found = attribute_stored(object->object, name);
    Answer told = stored_told(in, found, name);
    if (told != ANSWER_YES) return told;
    if (found == NULL) {
        if (!guard_absence) return ANSWER_YES;
        int guard = guard_simple(in, GUARD_ATTR_ABSENT, base, name);
        return guard < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    SourceId source = source_add(in, SOURCE_ATTR, base, 0, name, NULL);
    *out = source == NO_SOURCE ? NULL : value_from_source(in, source, found);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static void
dict_remove(Value *dict, int at)
{
    for (int i = at - 1; i + 2 < dict->nitems; i++) dict->items[i] = dict->items[i + 2];
    dict->nitems -= 2;
}

static Answer
made_store(Interp *in, Value *object, PyObject *name, bool slot, Value *value)
{
    if (object->source != NO_SOURCE && PyUnicode_CompareWithASCIIString(name, "_changes") != 0)
        return interp_break(in, BREAK_STORE, "attribute '%s' of %s", PyUnicode_AsUTF8(name),
                            value_describe(in, object));
    if (slot && value != NULL && value->kind == V_DICT && value->owner == NULL &&
        model_real(object) != NULL && PyUnicode_CompareWithASCIIString(name, "_data") == 0)
        value->owner = object; /* a model's __dict__ leaves as the model's */
    if (slot)
        return pair_store(in, object, name, value ? value : in->unbound) < 0 ? ANSWER_ERROR
                                                                             : ANSWER_YES;
    Value *dict = made_dict(in, object);
    if (dict == NULL) return ANSWER_ERROR;
    if (value != NULL) return dict_store(in, dict, name, value);
    int at = dict_find(in, dict, name);
    if (at < -1) return ANSWER_ERROR;
    if (at >= 0) dict_remove(dict, at);
    return ANSWER_YES;
}

Answer
attribute_goes(Interp *in, const Value *object, PyObject *name)
{
    PyObject *real = object->object;
    int own = PyType_Check(real) ? ATTR_OWN : 0;
    SourceId base = object->source;
    if (base == NO_SOURCE) base = source_of_const(in, real);
    if (base == NO_SOURCE) return ANSWER_ERROR;
    SourceId source = source_add(in, SOURCE_ATTR, base, own, name, NULL);
    if (source == NO_SOURCE) return ANSWER_ERROR;
    return place_goes(in, source, own ? attribute_own(real, name) : attribute_stored(real, name));
}

Answer
own_put(Interp *in, Value *object, PyObject *name, bool slot, Value *value)
{
    if (object->kind == V_INSTANCE) return made_store(in, object, name, slot, value);
    return pair_store(in, object, name, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
own_store(Interp *in, Value *object, PyObject *name, bool slot, Value *value)
{
    change_count(in, object);
    if (in->loop != NULL) {
        Answer carried = in->above->attribute_in_loop(in, object, name, slot, value);
        if (carried == ANSWER_YES) return own_put(in, object, name, slot, value);
        if (carried != ANSWER_NO) return carried;
    }
    if (in->loop != NULL && change_note(in, object, "the attribute '%s' of %s", text_of_str(name),
                                        value_named(in, object)) < 0)
        return ANSWER_ERROR;
    if (object->kind == V_INSTANCE) return made_store(in, object, name, slot, value);
    if (object->attributes != NULL && !slot) {
        Value *key = value_const(in, name);
        if (key == NULL) return ANSWER_ERROR;
        return value ? operate_store_subscript(in, object->attributes, key, value)
                     : operate_delete_subscript(in, object->attributes, key);
    }
    if (in->writes.refuse_writes) return break_of_overlap(in);
    if (pair_find(object, name) == NULL) TRY(attribute_goes(in, object, name));
    if (pair_store(in, object, name, value ? value : in->unbound) < 0) return ANSWER_ERROR;
    object->mutated = true;
    Value *args[2] = {object, value};
    BuildKind kind = value ? EFFECT_STORE_ATTR : EFFECT_DELETE_ATTR;
    return effect_add(in, kind, name, NO_SOURCE, value ? 2 : 1, args) < 0 ? ANSWER_ERROR
                                                                          : ANSWER_YES;
}

Answer
own_dict(Interp *in, Value *object, Value **out)
{
    *out = object->attributes;
    if (!type_has_dict(object->type)) {
        PyObject *name = interned(in, "__dict__");
        return name == NULL ? ANSWER_ERROR : no_attribute(in, object, name);
    }
    if (object->kind == V_INSTANCE) {
        *out = made_dict(in, object);
        if (*out != NULL) (*out)->owner = object; /* it is built as the instance's */
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (*out != NULL) return ANSWER_YES;
    if (object->kind != V_OBJECT || object->source == NO_SOURCE || object->nitems != 0)
        return interp_break(in, BREAK_ATTRIBUTE, "__dict__ of an object with stores put off");
    PyObject *dict = PyObject_GenericGetDict(object->object, NULL),
             *name = interned(in, "__dict__");
    if (dict == NULL || name == NULL) return ANSWER_ERROR;
    SourceId source = source_add(in, SOURCE_ATTR, object->source, ATTR_OWN, name, NULL);
    Value *value = source == NO_SOURCE ? NULL : value_from_source(in, source, dict);
    Py_DECREF(dict); /* the object holds it */
    if (value == NULL) return ANSWER_ERROR;
    if (value->kind != V_DICT)
        return interp_break(in, BREAK_ATTRIBUTE, "__dict__ of %s", value_describe(in, object));
    object->attributes = value;
    *out = value;
    return ANSWER_YES;
}
