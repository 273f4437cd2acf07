/* The instructions of `match` statements: sequences, mappings and classes. */
#include "objects.h"

static Answer
unknown(Interp *in, Value *subject)
{
    return PyErr_Occurred() ? ANSWER_ERROR
                            : interp_break(in, value_break(subject, BREAK_INSTRUCTION),
                                           "matching %s", value_describe(in, subject));
}

/* Is it a sequence or mapping?  A flag of the type. */
static Answer
match_flag(Interp *in, unsigned long flag)
{
    Value *subject = top_value(in, 1);
    PyTypeObject *type = subject ? value_type(in, subject) : NULL;
    if (subject == NULL) return ANSWER_ERROR;
    if (type == NULL) return unknown(in, subject);
    return pushed(in, value_const(in, type->tp_flags & flag ? Py_True : Py_False));
}

static Answer
length(Interp *in)
{
    Value *subject = top_value(in, 1), *result;
    Value *len = value_const(in, python_builtin("len"));
    if (subject == NULL || len == NULL) return ANSWER_ERROR;
    Answer answer = call_value(in, len, 1, &subject, NULL, &result);
    return answer == ANSWER_YES ? pushed(in, result) : answer;
}

/* subject keys -> subject keys values, or None where one is missing. */
static Answer
match_keys(Interp *in)
{
    Value *keys = top_value(in, 1), *subject = top_value(in, 2);
    if (keys == NULL || subject == NULL) return ANSWER_ERROR;
    if (subject->kind != V_DICT || keys->kind != V_TUPLE) return unknown(in, subject);
    Value *values = value_sequence(in, V_TUPLE, keys->nitems, NULL);
    Value *none = value_const(in, Py_None);
    if (values == NULL || none == NULL) return ANSWER_ERROR;
    for (int i = 0; i < keys->nitems; i++) {
        PyObject *key;
        Value *name = value_item(in, keys, i);
        Answer answer = name ? dict_key(in, name, &key) : ANSWER_ERROR;
        if (answer != ANSWER_YES) return answer;
        for (int k = 0; k < i; k++) { /* the other keys are known by now */
            PyObject *other;
            if (value_known(in, value_item(in, keys, k), &other) != ANSWER_YES) return ANSWER_ERROR;
            int same = PyObject_RichCompareBool(key, other, Py_EQ);
            if (same < 0) return raise_error(in);
            if (same)
                return raise_new(in, PyExc_ValueError, "mapping pattern checks duplicate key (%R)",
                                 key);
        }
        int at = dict_find(in, subject, key);
        if (at < -1) return raise_error(in);
        if (at < 0) return pushed(in, none);
        if ((values->items[i] = value_item(in, subject, at)) == NULL) return ANSWER_ERROR;
    }
    return pushed(in, values);
}

/* ---- classes ---- */

/* The attribute for a pattern; *out NULL: the subject has none, and the pattern does not match. */
static Answer
pattern_attribute(Interp *in, Value *subject, PyObject *name, Value **out)
{
    Answer answer = attribute_load(in, subject, name, out);
    if (answer == ANSWER_BREAK && raised_take(in, PyExc_AttributeError) != NULL) {
        *out = NULL;
        return ANSWER_YES;
    }
    return answer;
}

/* The attribute names of the positional patterns. */
static Answer
match_args(Interp *in, Value *class_, PyTypeObject *type, int npositional, Value **out)
{
    static PyObject *key;
    if (key == NULL && (key = PyUnicode_InternFromString("__match_args__")) == NULL)
        return ANSWER_ERROR;
    *out = value_sequence(in, V_TUPLE, 0, NULL);
    if (*out == NULL) return ANSWER_ERROR;
    if (npositional == 0) return ANSWER_YES;
    Answer answer = pattern_attribute(in, class_, key, out);
    if (answer != ANSWER_YES) return answer;
    int allowed = *out != NULL ? (*out)->nitems : 0;
    if (*out != NULL && (*out)->kind != V_TUPLE) return unknown(in, class_);
    if (allowed < npositional)
        return raise_new(in, PyExc_TypeError, "%s() accepts %d positional sub-pattern%s (%d given)",
                         type->tp_name, allowed, allowed == 1 ? "" : "s", npositional);
    return ANSWER_YES;
}

/* Is the name one of those of the patterns before it? */
static bool
is_again(PyObject *const *seen, int count, PyObject *name)
{
    for (int i = 0; i < count; i++)
        if (PyUnicode_Compare(seen[i], name) == 0) return true;
    return false;
}

/* ANSWER_YES; *out: the values in order, NULL where the subject does not match. */
static Answer
class_values(Interp *in, Value *subject, Value *class_, Value *names, int npositional, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    Value *values = value_sequence(in, V_TUPLE, 0, NULL), *positional, *value;
    PyObject **seen =
        arena_alloc(in->arena, (npositional + names->nitems + 1) * sizeof(PyObject *));
    int count = 0;
    if (values == NULL || seen == NULL) return ANSWER_ERROR;
    *out = NULL;
    bool itself = npositional == 1 && (type->tp_flags & _Py_TPFLAGS_MATCH_SELF);
    Answer answer = match_args(in, class_, type, itself ? 0 : npositional, &positional);
    if (answer != ANSWER_YES) return answer;
    if (itself && value_append(in, values, subject) < 0) return ANSWER_ERROR;
    for (int i = 0; i < (itself ? 0 : npositional) + names->nitems; i++) {
        bool by_place = !itself && i < npositional;
        PyObject *name;
        Value *of =
            value_item(in, by_place ? positional : names, by_place || itself ? i : i - npositional);
        answer = of ? value_known(in, of, &name) : ANSWER_ERROR;
        if (answer == ANSWER_YES && PyUnicode_CheckExact(name) && is_again(seen, count, name))
            return raise_new(in, PyExc_TypeError, "%s() got multiple sub-patterns for attribute %R",
                             type->tp_name, name);
        if (answer == ANSWER_YES) seen[count++] = name;
        if (answer == ANSWER_YES && PyUnicode_CheckExact(name))
            answer = pattern_attribute(in, subject, name, &value);
        else if (answer == ANSWER_YES)
            return unknown(in, class_);
        if (answer != ANSWER_YES) return answer;
        if (value == NULL) return ANSWER_YES;
        if (value_append(in, values, value) < 0) return ANSWER_ERROR;
    }
    *out = values;
    return ANSWER_YES;
}

static Answer
match_class(Interp *in, int npositional)
{
    Value *names = top_value(in, 1), *class_ = top_value(in, 2), *subject = top_value(in, 3);
    Value *args[2] = {subject, class_}, *is, *values = NULL;
    if (names == NULL || class_ == NULL || subject == NULL) return ANSWER_ERROR;
    if (class_->kind != V_CONST || !PyType_Check(class_->object)) return unknown(in, class_);
    Value *isinstance = value_const(in, python_builtin("isinstance"));
    if (isinstance == NULL) return ANSWER_ERROR;
    Answer answer = call_value(in, isinstance, 2, args, NULL, &is);
    if (answer == ANSWER_YES && is->kind == V_CONST && is->object == Py_True)
        answer = class_values(in, subject, class_, names, npositional, &values);
    if (answer != ANSWER_YES) return answer;
    if (values == NULL && (values = value_const(in, Py_None)) == NULL) return ANSWER_ERROR;
    in->top->depth -= 3;
    return pushed(in, values);
}

Answer
follow_match(Interp *in, const Instr *instr)
{
    switch (instr->kind) {
    case I_MATCH_SEQUENCE: return match_flag(in, Py_TPFLAGS_SEQUENCE);
    case I_MATCH_MAPPING: return match_flag(in, Py_TPFLAGS_MAPPING);
    case I_MATCH_KEYS: return match_keys(in);
    case I_MATCH_CLASS: return match_class(in, instr->arg);
    default: return length(in);
    }
}
