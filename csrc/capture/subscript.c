/* Subscripts of containers; those of arrays go to index.c. */
#include "objects.h"

/* ---- sequences ---- */

static Answer
sequence_slice(Interp *in, Value *sequence, Value *key, Value **out)
{
    PyObject *slice;
    Answer answer = value_known(in, key, &slice);
    if (answer == ANSWER_NO) return interp_break(in, BREAK_INDEX, "a slice that is not known");
    if (answer != ANSWER_YES) return answer;
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) return raise_error(in);
    Py_ssize_t length = PySlice_AdjustIndices(sequence->nitems, &start, &stop, step);
    if (sequence->kind == V_TUPLE && length == sequence->nitems && step == 1 &&
        (sequence->type == NULL || sequence->type == &PyTuple_Type)) {
        *out = sequence; /* the very same, as CPython has it */
        return ANSWER_YES;
    }
    Value *part = value_sequence(in, sequence->kind, (int)length, NULL);
    for (Py_ssize_t i = 0; part != NULL && i < length; i++)
        if ((part->items[i] = value_item(in, sequence, (int)(start + i * step))) == NULL)
            return ANSWER_ERROR;
    *out = part;
    return part == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Classes of the program's may be, or become so. */
static bool
type_is_index(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 ||
           (type->tp_as_number != NULL && type->tp_as_number->nb_index != NULL);
}

static Answer
sequence_position(Interp *in, Value *sequence, Value *key, bool store, int *out)
{
    int64_t index;
    Answer answer = value_as_int(in, key, &index);
    PyTypeObject *type = answer == ANSWER_NO ? value_type(in, key) : NULL;
    if (type != NULL && !type_is_index(type) && type != &PySlice_Type)
        return raise_new(in, PyExc_TypeError, "%s indices must be integers or slices, not %.200s",
                         sequence->kind == V_LIST ? "list" : "tuple", type->tp_name);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    if (answer == ANSWER_NO)
        return interp_break(in, BREAK_INDEX, "an index of %s that is not known",
                            value_describe(in, sequence));
    if (answer != ANSWER_YES) return answer;
    if (index < 0) index += sequence->nitems;
    if (index < 0 || index >= sequence->nitems)
        return raise_new(in, PyExc_IndexError, "%s %sindex out of range",
                         sequence->kind == V_LIST ? "list" : "tuple", store ? "assignment " : "");
    *out = (int)index;
    return ANSWER_YES;
}

static Answer
dict_position(Interp *in, Value *dict, Value *key, PyObject **object, int *out)
{
    Answer answer = dict_key(in, key, object);
    if (answer != ANSWER_YES) return answer;
    *out = dict_find(in, dict, *object);
    return *out < -1 ? raise_error(in) : ANSWER_YES;
}

/* object[key] through a method of the program's class. */
static Answer
by_method(Interp *in, const char *name, int nargs, Value *const *args, Value **out)
{
    Answer answer = special_call(in, args[0], name, nargs - 1, args + 1, out);
    if (answer == ANSWER_YES && *out == NULL)
        return interp_break(in, value_break(args[0], BREAK_INDEX), "a subscript of %s",
                            value_describe(in, args[0]));
    return answer;
}

/* Class[key]: of an enum a member; a generic class with its parameters. */
static Answer
class_subscript(Interp *in, Value *class_, Value *key, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object, *meta = Py_TYPE(type);
    PyObject *known, *found;
    bool members = is_enum_class((PyObject *)type);
    Answer answer = typing_known(in, key, &known);
    if (answer == ANSWER_YES && !members) {
        answer = type_lookup_text(in, type, "__class_getitem__", &found);
        PyObject *of_meta = NULL;
        if (answer == ANSWER_YES && type_is_heap(meta) && meta != &PyType_Type)
            answer = type_stored(in, meta, "__getitem__", &of_meta);
        if (answer == ANSWER_YES && (found == NULL || of_meta != NULL)) answer = ANSWER_NO;
        PyObject *inner = NULL;
        if (answer == ANSWER_YES && Py_TYPE(found) == &PyClassMethod_Type) {
            inner = PyObject_GetAttrString(found, "__func__");
            if (inner == NULL) return ANSWER_ERROR;
            PyObject *module = PyObject_GetAttrString(inner, "__module__");
            bool typing = module != NULL && PyUnicode_Check(module) &&
                          PyUnicode_CompareWithASCIIString(module, "typing") == 0;
            PyErr_Clear();
            Py_XDECREF(module);
            if (!typing && PyFunction_Check(inner)) {
                Value *function = value_of_const(in, inner), *args[2] = {class_, key};
                Py_DECREF(inner); /* the class holds it */
                return function ? call_value(in, function, 2, args, NULL, out) : ANSWER_ERROR;
            }
            Py_DECREF(inner);
        }
    }
    if (answer == ANSWER_YES && members) answer = enum_is_plain(in, meta, "__getitem__", NULL);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO)
        return interp_break(in, BREAK_INDEX, "a subscript of %s", value_describe(in, class_));
    PyObject *item = PyObject_GetItem((PyObject *)type, known);
    if (item == NULL) return raise_error(in);
    *out = value_const_new(in, item);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
subscript_of_sequence(Interp *in, Value *sequence, Value *key, Value **out)
{
    int position;
    if (key->kind == V_SLICE) return sequence_slice(in, sequence, key, out);
    Answer answer = sequence_position(in, sequence, key, false, &position);
    if (answer != ANSWER_YES) return answer;
    return given(out, value_item(in, sequence, position));
}

Answer
subscript_of_dict(Interp *in, Value *dict, Value *key, Value **out)
{
    int position;
    PyObject *name;
    Answer answer = dict_position(in, dict, key, &name, &position);
    if (answer != ANSWER_YES) return answer;
    if (position < 0) return raise_key_error(in, name);
    return given(out, value_item(in, dict, position));
}

/* Of what is known whole, by a key that is known. */
Answer
subscript_of_known(Interp *in, Value *object, Value *key, Value **out)
{
    PyObject *known, *index;
    Answer answer = value_known(in, object, &known);
    if (answer == ANSWER_YES) answer = value_known(in, key, &index);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO && object->kind == V_PURE) {
        Value *both[2] = {object, key};
        answer = loose_call(in, module_kept(in, "operator", "getitem"), 2, both, out);
        if (answer != ANSWER_NO || in->break_code != BREAK_NONE) return answer;
    }
    if (answer == ANSWER_NO || !object_is_pure(known) || !object_is_pure(index) ||
        PyType_Check(known))
        return interp_break(in, value_break(object, BREAK_INDEX), "a subscript of %s",
                            value_describe(in, object));
    PyObject *item = PyObject_GetItem(known, index);
    if (item == NULL) return raise_error(in);
    return given(out, value_const_new(in, item));
}

Answer
subscript_of_const(Interp *in, Value *object, Value *key, Value **out)
{
    return PyType_Check(object->object) ? class_subscript(in, object, key, out)
                                        : subscript_of_known(in, object, key, out);
}

Answer
subscript_by_method(Interp *in, Value *object, Value *key, Value **out)
{
    Value *args[2] = {object, key};
    return by_method(in, "__getitem__", 2, args, out);
}

Answer
subscript_of_object(Interp *in, Value *object, Value *key, Value **out)
{
    if (object->object == in->top->globals && key->kind == V_CONST &&
        PyUnicode_CheckExact(key->object)) /* globals()["name"] */
        return load_global(in, object->object, NULL, key->object, out);
    if (dict_is_apart(object)) return apart_subscript(in, object, key, out);
    return subscript_by_method(in, object, key, out);
}

Answer
operate_subscript(Interp *in, Value *object, Value *key, Value **out)
{
    if (in->loop != NULL) return loop_element_load(in, object, key, out);
    if (value_is_numpy(in, object)) return emit_subscript(in, object, key, out);
    if (value_is_opaque_object(in, object)) {
        Value *both[2] = {object, key};
        return call_simple(in, module_kept(in, "operator", "getitem"), 2, both, out);
    }
    if (value_is_flat(in, object)) return emit_flat_subscript(in, object, key, out);
    if (value_is_flags(in, object) && key->kind == V_CONST && PyUnicode_Check(key->object))
        return emit_flag(in, object, PyUnicode_AsUTF8(key->object), out);
    Answer alias = typing_subscript(in, object, key, out);
    if (alias != ANSWER_NO || in->break_code != BREAK_NONE) return alias;
    Answer picked = loose_lookup(in, object, key, NULL, out);
    if (picked != ANSWER_NO || in->break_code != BREAK_NONE) return picked;
    return value_subscript(in, object, key, out);
}

/* An object from outside that is replaced or taken out may run code of its own, before what
   follows. */
Answer
object_goes(Interp *in, SourceId source, PyObject *object)
{
    if (object != NULL && !object_is_quiet(object))
        return interp_break(in, BREAK_FINALIZER, "%s is dropped", Py_TYPE(object)->tp_name);
    if (source == NO_SOURCE) return ANSWER_YES;
    return guard_simple(in, GUARD_QUIET, source, NULL) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
item_goes(Interp *in, Value *container, int position)
{
    const Value *item = container->items[position];
    if (container->source == NO_SOURCE || container->object == NULL) return ANSWER_YES;
    PyObject *object = item != NULL ? item->object : NULL, *key = NULL;
    SourceId source = item != NULL ? item->source : NO_SOURCE;
    if (item != NULL && (item->kind == V_NODE || item->kind == V_CONST)) return ANSWER_YES;
    if (item == NULL && container->kind == V_DICT) {
        key = container->items[position - 1]->object;
        object = PyDict_GetItemWithError(container->object, key);
    } else if (item == NULL) {
        key = keep(in, PyLong_FromLong(position));
        object = key ? sequence_entry(container->object, position) : NULL;
    }
    if (object == NULL) return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_YES;
    if (key != NULL) {
        source = source_add(in, SOURCE_ITEM, container->source, position, key, NULL);
        if (source == NO_SOURCE) return ANSWER_ERROR;
    }
    return object_goes(in, source, object);
}

Answer
items_go(Interp *in, Value *container)
{
    Answer answer = ANSWER_YES;
    int width = container->kind == V_DICT ? 2 : 1;
    for (int i = width - 1; answer == ANSWER_YES && i < container->nitems; i += width)
        answer = item_goes(in, container, i);
    return answer;
}

Answer
operate_store_subscript(Interp *in, Value *object, Value *key, Value *value)
{
    if (in->loop != NULL) return loop_element_store(in, object, key, value);
    if (value_is_numpy(in, object)) return emit_store_subscript(in, object, key, value);
    if (value_is_flat(in, object)) return emit_store_flat_subscript(in, object, key, value);
    int position;
    PyObject *name;
    Answer answer;
    if (dict_is_apart(object)) return apart_store(in, object, key, value);
    if (object->kind == V_LIST && key->kind != V_SLICE) {
        answer = sequence_position(in, object, key, true, &position);
        if (answer == ANSWER_YES) answer = item_goes(in, object, position);
        if (answer == ANSWER_YES) answer = container_changes(in, object);
        if (answer != ANSWER_YES) return answer;
        object->items[position] = value;
    } else if (object->kind == V_LIST) {
        return list_store_slice(in, object, key, value);
    } else if (object->kind == V_DICT) {
        answer = dict_position(in, object, key, &name, &position);
        if (answer == ANSWER_YES && position >= 0) answer = item_goes(in, object, position);
        if (answer == ANSWER_YES) answer = container_changes(in, object);
        if (answer == ANSWER_YES) answer = dict_store(in, object, name, value);
        if (answer != ANSWER_YES) return answer;
    } else {
        Value *args[3] = {object, key, value}, *ignored;
        return by_method(in, "__setitem__", 3, args, &ignored);
    }
    if (object->source == NO_SOURCE) return ANSWER_YES;
    Value *constant = key;
    PyObject *known;
    if (key->kind != V_OBJECT) { /* which is guarded to be this one */
        if (value_known(in, key, &known) != ANSWER_YES) return ANSWER_ERROR;
        constant = value_const(in, known);
    }
    Value *args[3] = {object, constant, value};
    if (constant == NULL) return ANSWER_ERROR;
    return effect_add(in, EFFECT_STORE_ITEM, NULL, NO_SOURCE, 3, args) < 0 ? ANSWER_ERROR
                                                                           : ANSWER_YES;
}

Answer
operate_delete_subscript(Interp *in, Value *object, Value *key)
{
    int position, width = object->kind == V_DICT ? 2 : 1;
    PyObject *name;
    Answer answer;
    if (object->kind == V_LIST && key->kind != V_SLICE) {
        answer = sequence_position(in, object, key, true, &position);
        if (answer == ANSWER_YES) answer = item_goes(in, object, position);
    } else if (object->kind == V_LIST) {
        return list_store_slice(in, object, key, NULL);
    } else if (object->kind == V_DICT) {
        answer = dict_position(in, object, key, &name, &position);
        if (answer == ANSWER_YES && position < 0) return raise_key_error(in, name);
        if (answer == ANSWER_YES) answer = item_goes(in, object, position);
        position--; /* the key's */
        if (answer == ANSWER_YES) answer = container_resizes(in, object);
    } else if (value_is_object(object)) {
        Value *args[2] = {object, key}, *ignored;
        return by_method(in, "__delitem__", 2, args, &ignored);
    } else {
        return interp_break(in, BREAK_STORE, "del of an item of %s", value_describe(in, object));
    }
    if (answer == ANSWER_YES) answer = container_moves(in, object);
    if (answer != ANSWER_YES) return answer;
    for (int i = position; i + width < object->nitems; i++)
        object->items[i] = object->items[i + width];
    object->nitems -= width;
    if (object->source == NO_SOURCE) return ANSWER_YES;
    Value *args[2] = {object, key};
    return effect_add(in, EFFECT_DELETE_ITEM, NULL, NO_SOURCE, 2, args) < 0 ? ANSWER_ERROR
                                                                            : ANSWER_YES;
}
