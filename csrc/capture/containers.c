/* Operators on lists, tuples, dicts, sets and views, and their truth and length.

   Each answers ANSWER_NO without a break for operands that are none of these. */
#include "objects.h"

static bool
is_sequence(const Value *value)
{
    return value->kind == V_TUPLE || value->kind == V_LIST;
}

Answer
container_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Answer answer = text_binary(in, operator_ % IN_PLACE, left, right, out);
    if (answer != ANSWER_NO || in->break_code != BREAK_NONE) return answer;
    if (operator_ % IN_PLACE == OPERATOR_OR)
        answer = dict_or(in, left, right, operator_ >= IN_PLACE, out);
    if (answer == ANSWER_NO && in->break_code == BREAK_NONE)
        answer = set_binary(in, operator_, left, right, out);
    if (operator_ == IN_PLACE + OPERATOR_MUL && left->kind == V_LIST &&
        (value_is_python_scalar(in, right)))
        answer = sequence_method(in, left, "__imul__", 1, &right, NULL, out);
    return answer;
}

Answer
container_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    if (is_sequence(left) && left->kind == right->kind)
        return shadow_compare(in, operator_, left, right, out);
    bool equality = operator_ == Py_EQ || operator_ == Py_NE;
    if (left->kind == V_DICT && right->kind == V_DICT && equality) {
        bool equal;
        in->dirty = true;
        Answer answer = dict_equal(in, left, right, &equal);
        if (answer != ANSWER_YES) return answer;
        *out = value_const(in, equal == (operator_ == Py_EQ) ? Py_True : Py_False);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    Answer answer = set_compare(in, operator_, left, right, out);
    if (answer != ANSWER_NO || in->break_code != BREAK_NONE) return answer;
    /* Containers of different builtin types, and numbers and strings: never equal. */
    bool one = is_sequence(left) || left->kind == V_DICT || left->kind == V_SET;
    bool other = is_sequence(right) || right->kind == V_DICT || right->kind == V_SET;
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
    in->dirty = true;
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
    return value->of->nitems / 2;
}

Answer
contained_in_object(Interp *in, Value *item, Value *object, bool *out)
{
    return dict_is_apart(object) ? apart_contains(in, object, item, out) : ANSWER_NO;
}
