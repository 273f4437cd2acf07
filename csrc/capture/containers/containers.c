/* Operators on lists, tuples, dicts, sets and views, and their truth and length.

   Each answers ANSWER_NO for operands that are none of these. */
#include "containers.h"

Answer
container_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    if (value_is_sequence(left) && left->kind == right->kind)
        return shadow_compare(in, operator_, left, right, out);
    bool equality = operator_ == Py_EQ || operator_ == Py_NE;
    if (left->kind == V_DICT && right->kind == V_DICT && equality) {
        bool equal;
        in->writes.dirty = true;
        Answer answer = dict_equal(in, left, right, &equal);
        if (answer != ANSWER_YES) return answer;
        *out = value_const(in, equal == (operator_ == Py_EQ) ? Py_True : Py_False);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    Answer answer = set_compare(in, operator_, left, right, out);
    if (answer != ANSWER_NO) return answer;
    /* Containers of different builtin types, and numbers and strings, are never equal to each
       other. */
    bool one = value_is_sequence(left) || left->kind == V_DICT || left->kind == V_SET;
    bool other = value_is_sequence(right) || right->kind == V_DICT || right->kind == V_SET;
    bool plain = (one || left->kind == V_CONST || left->kind == V_PURE) &&
                 (other || right->kind == V_CONST || right->kind == V_PURE);
    if (!equality || !(one || other) || !plain) return ANSWER_NO;
    if ((left->kind == V_CONST && !object_is_plain(left->object)) ||
        (right->kind == V_CONST && !object_is_plain(right->object)))
        return ANSWER_NO;
    if (one && other && left->kind == right->kind) return ANSWER_NO;
    *out = value_const(in, operator_ == Py_NE ? Py_True : Py_False);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
contained_in_sequence(Interp *in, Value *item, Value *sequence, bool *out)
{
    in->writes.dirty = true;
    return shadow_contains(in, sequence, item, out);
}

Answer
contained_in_set(Interp *in, Value *item, Value *set, bool *out)
{
    return set_contains(in, set, item, out);
}

Answer
contained_in_view(Interp *in, Value *item, Value *view, bool *out)
{
    return view_contains(in, view, item, out);
}

Answer
contained_in_const(Interp *in, Value *item, Value *container, bool *out)
{
    if (!PyFrozenSet_CheckExact(container->object)) return ANSWER_NO;
    return set_contains(in, container, item, out);
}

Answer
contained_in_dict(Interp *in, Value *item, Value *dict, bool *out)
{
    PyObject *key;
    Answer answer = dict_key(in, item, &key);
    if (answer != ANSWER_YES) return answer;
    int found = dict_find(in, dict, key);
    *out = found >= 0;
    return found < -1 ? raise_error(in) : ANSWER_YES;
}

int64_t
length_of_items(Interp *Py_UNUSED(in), Value *value)
{
    return value->nitems;
}

int64_t
length_of_dict(Interp *Py_UNUSED(in), Value *value)
{
    return value->nitems / 2;
}

int64_t
length_of_view(Interp *Py_UNUSED(in), Value *value)
{
    return value->dict->nitems / 2;
}

Answer
contained_in_object(Interp *in, Value *item, Value *object, bool *out)
{
    return dict_is_apart(object) ? apart_contains(in, object, item, out) : ANSWER_NO;
}

/* An object from outside that is replaced or removed may run code when it is destroyed, before the
   next instruction. */
Answer
object_goes(Interp *in, SourceId source, PyObject *object)
{
    if (object != NULL && !object_ends_quietly(object, PY_SSIZE_T_MAX, in->out->keep))
        return interp_break(in, BREAK_FINALIZER, "%s is dropped",
                            stored_is_untold(object) ? "an attribute whose key is no plain str"
                                                     : Py_TYPE(object)->tp_name);
    if (source == NO_SOURCE) return ANSWER_YES;
    for (int i = in->out->guards.len - 1, n = 0; i >= 0 && n < 64; i--, n++) {
        const Guard *guard = &in->out->guards.at[i];
        if (guard->kind == GUARD_QUIET && guard->source == source) return ANSWER_YES;
    }
    return guard_simple(in, GUARD_QUIET, source, NULL) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

void
quiet_settle(Interp *in)
{
    int64_t drops = 0;
    for (int i = 0; i < in->out->guards.len; i++)
        drops += in->out->guards.at[i].kind == GUARD_QUIET;
    for (int i = 0; i < in->out->guards.len; i++)
        if (in->out->guards.at[i].kind == GUARD_QUIET) in->out->guards.at[i].low = drops;
}

/* Its end runs no code, by the type that is guarded. */
static bool
value_is_quiet(Interp *in, const Value *value)
{
    if (value->kind == V_CONST) return !PyObject_IS_GC(value->object);
    return value->kind == V_DEVICE || (value->kind == V_NODE && !value_is_array(in, value));
}

Answer
place_goes(Interp *in, SourceId source, PyObject *object)
{
    const Value *value = value_of_source(in, source);
    if (value != NULL && value_is_quiet(in, value)) return ANSWER_YES;
    return object_goes(in, source, object);
}

Answer
item_goes(Interp *in, Value *container, int position)
{
    const Value *item = container->items[position];
    if (container->source == NO_SOURCE || container->object == NULL) return ANSWER_YES;
    PyObject *object = item != NULL ? item->object : NULL, *key = NULL;
    SourceId source = item != NULL ? item->source : NO_SOURCE;
    if (item != NULL && value_is_quiet(in, item)) return ANSWER_YES;
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
