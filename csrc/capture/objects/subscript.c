/* Subscripts of containers; those of arrays go to index.c. */
#include "objects.h"

/* ---- sequences ---- */

static Answer
sequence_slice(Interp *in, Value *sequence, Value *key, Value **out)
{
    PyObject *slice;
    Answer answer = value_known(in, key, &slice);
    if (answer == ANSWER_NO)
        return break_key(in, key,
                         sequence->kind == V_LIST ? "a slice of a list" : "a slice of a tuple");
    if (answer != ANSWER_YES) return answer;
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) return raise_error(in);
    Py_ssize_t length = PySlice_AdjustIndices(sequence->nitems, &start, &stop, step);
    if (sequence->kind == V_TUPLE && length == sequence->nitems && step == 1 &&
        (sequence->type == NULL || sequence->type == &PyTuple_Type)) {
        *out = sequence; /* the sequence itself, as in CPython */
        return ANSWER_YES;
    }
    Value *part = value_sequence(in, sequence->kind, (int)length, NULL);
    for (Py_ssize_t i = 0; part != NULL && i < length; i++)
        if ((part->items[i] = value_item(in, sequence, (int)(start + i * step))) == NULL)
            return ANSWER_ERROR;
    *out = part;
    return part == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Classes of the program may be generic, or become so. */
static bool
type_is_index(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 ||
           (type->tp_as_number != NULL && type->tp_as_number->nb_index != NULL);
}

/* An item, at an index that only the run tells, of a list that the graph has made: a kept loop has
   the list, and capture starts again.  Of one from outside that only is read it has the numbers
   (core/series.c). */
static Answer
list_learn(Interp *in, Value *list, Value *key)
{
    ListUse use = {.does = LIST_ITEM, .list = list, .key = key};
    Value *item;
    if (list->source != NO_SOURCE || list->kind != V_LIST) return ANSWER_NO;
    return in->above->list_in_loop(in, &use, &item);
}

Answer
subscript_of_grown(Interp *in, Value *list, Value *key, Value **out)
{
    ListUse use = {.does = LIST_ITEM, .list = list, .key = key};
    Answer answer = in->above->list_in_loop(in, &use, out);
    return answer == ANSWER_NO ? subscript_by_method(in, list, key, out) : answer;
}

Answer
sequence_position(Interp *in, Value *sequence, Value *key, bool store, int *out)
{
    int64_t index;
    Answer answer = value_as_int(in, key, &index);
    PyTypeObject *type = answer == ANSWER_NO ? value_type(in, key) : NULL;
    if (type != NULL && !type_is_index(type) && type != &PySlice_Type)
        return raise_new(in, PyExc_TypeError, "%s indices must be integers or slices, not %.200s",
                         sequence->kind == V_LIST ? "list" : "tuple", type->tp_name);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    if (answer == ANSWER_NO && !store) {
        Answer learnt = series_learn_index(in, sequence);
        if (learnt == ANSWER_NO) learnt = list_learn(in, sequence, key);
        if (learnt != ANSWER_NO) return learnt;
    }
    if (answer == ANSWER_NO)
        return break_key(in, key,
                         sequence->kind == V_LIST ? "an index of a list" : "an index of a tuple");
    if (answer != ANSWER_YES) return answer;
    if (index < 0) index += sequence->nitems;
    if (index < 0 || index >= sequence->nitems)
        return raise_new(in, PyExc_IndexError, "%s %sindex out of range",
                         sequence->kind == V_LIST ? "list" : "tuple", store ? "assignment " : "");
    *out = (int)index;
    return ANSWER_YES;
}

Answer
dict_position(Interp *in, Value *dict, Value *key, PyObject **object, int *out)
{
    Answer answer = dict_key(in, key, object);
    if (answer != ANSWER_YES) return answer;
    *out = dict_find(in, dict, *object);
    return *out < -1 ? raise_error(in) : ANSWER_YES;
}

/* object[key] by a method of the program's class. */
Answer
item_by_method(Interp *in, const char *name, int nargs, Value *const *args, Value **out)
{
    Answer answer = special_call(in, args[0], name, nargs - 1, args + 1, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    BreakCode code = value_break(args[0], BREAK_INDEX);
    BreakHint hint = code == BREAK_INDEX ? HINT_ITEM : HINT_OF_CODE;
    return break_hinted(in, code, hint, "a subscript of %s", value_describe(in, args[0]));
}

/* Class[key]: a member of an enum; a generic class with its parameters. */
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
    if (answer == ANSWER_YES && members && key_is_constant(known)) {
        answer = enum_entry(in, type, "_member_map_", known, &found);
        if (answer == ANSWER_YES && found != NULL) return given(out, value_const(in, found));
    }
    if (answer_stops(answer)) return answer;
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

/* A subscript of a known object with a known key. */
Answer
subscript_of_known(Interp *in, Value *object, Value *key, Value **out)
{
    PyObject *known, *index;
    Answer answer = value_known(in, object, &known);
    if (answer == ANSWER_YES) answer = value_known(in, key, &index);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO && object->kind == V_PURE) {
        Value *both[2] = {object, key};
        answer = loose_call(in, module_kept(in, "operator", "getitem"), 2, both, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (answer == ANSWER_NO) {
        Answer learnt = series_learn_index(in, object);
        if (learnt != ANSWER_NO) return learnt;
    }
    if (answer == ANSWER_NO && object->kind == V_CONST && PyUnicode_CheckExact(object->object))
        return break_hinted(in, BREAK_INDEX, HINT_LETTER,
                            "a subscript of a str by an index that is not known");
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
    return item_by_method(in, "__getitem__", 2, args, out);
}

Answer
subscript_of_object(Interp *in, Value *object, Value *key, Value **out)
{
    if (object->object == in->top->globals && key->kind == V_CONST &&
        PyUnicode_CheckExact(key->object)) /* globals()["name"] */
        return load_global(in, object->object, NULL, key->object, out);
    if (dict_is_apart(object)) return apart_subscript(in, object, key, out);
    if (in->loop != NULL && deque_check(object->object))
        return subscript_of_grown(in, object, key, out);
    Answer learnt = series_learn_index(in, object);
    if (learnt != ANSWER_NO) return learnt;
    return subscript_by_method(in, object, key, out);
}
