/* Operators on lists, tuples, dicts, sets and views, and their truth and length.

   Each answers ANSWER_NO without a break for operands that are none of these. */
#include "objects.h"

static bool
is_sequence(const Value *value)
{
    return value->kind == V_TUPLE || value->kind == V_LIST;
}

enum { OR = 7, MUL = 5 };

Answer
container_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Answer answer = text_binary(in, operator_ % IN_PLACE, left, right, out);
    if (answer != ANSWER_NO || in->break_code != BREAK_NONE) return answer;
    if (operator_ % IN_PLACE == OR) answer = dict_or(in, left, right, operator_ >= IN_PLACE, out);
    if (answer == ANSWER_NO && in->break_code == BREAK_NONE)
        answer = set_binary(in, operator_, left, right, out);
    if (operator_ == IN_PLACE + MUL && left->kind == V_LIST && (value_is_python_scalar(in, right)))
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
container_contains(Interp *in, Value *item, Value *container, bool *out)
{
    PyObject *key;
    Answer answer;
    int found;
    switch (container->kind) {
    case V_TUPLE:
    case V_LIST: in->dirty = true; return shadow_contains(in, container, item, out);
    case V_SET: return set_contains(in, container, item, out);
    case V_VIEW: return view_contains(in, container, item, out);
    case V_CONST:
        return PyFrozenSet_CheckExact(container->object) ? set_contains(in, container, item, out)
                                                         : ANSWER_NO;
    case V_DICT:
        answer = dict_key(in, item, &key);
        if (answer != ANSWER_YES) return answer;
        found = dict_find(in, container, key);
        *out = found >= 0;
        return found < -1 ? raise_error(in) : ANSWER_YES;
    case V_OBJECT:
        if (dict_is_apart(container)) return apart_contains(in, container, item, out);
        /* fall through */
    case V_INSTANCE: {
        Value *method, *args[2] = {container, item}, *result;
        answer = special_method(in, container, "__contains__", &method);
        if (answer == ANSWER_YES && method == NULL) return ANSWER_NO;
        if (answer == ANSWER_YES) answer = call_inlined(in, method, 2, args, NULL, &result);
        if (answer != ANSWER_YES) return answer;
        Value *node;
        answer = value_truth(in, result, &found, &node);
        if (answer != ANSWER_YES) return answer;
        if (found >= 0)
            *out = found;
        else
            answer = condition_known(in, node, out);
        return answer;
    }
    default: return ANSWER_NO;
    }
}

/* Number of items of a container, or -1. */
int64_t
container_length(Interp *in, Value *value)
{
    switch (value->kind) {
    case V_TUPLE:
    case V_LIST:
    case V_SET: return value->nitems;
    case V_DICT: return value->nitems / 2;
    case V_VIEW: return value->of->nitems / 2;
    case V_RANGE: return range_length(in, value);
    default: return -1;
    }
}
