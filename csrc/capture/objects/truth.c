/* Truth of values, by kind: column `truth` of value_kinds.def. */
#include "objects.h"

/* Objects of such a class are true. */
static bool
has_no_truth(const PyTypeObject *type)
{
    return (type->tp_as_number == NULL || type->tp_as_number->nb_bool == NULL) &&
           (type->tp_as_mapping == NULL || type->tp_as_mapping->mp_length == NULL) &&
           (type->tp_as_sequence == NULL || type->tp_as_sequence->sq_length == NULL);
}

/* Classes of this metaclass are true, guarded. */
static Answer
classes_are_true(Interp *in, PyTypeObject *meta, bool enums)
{
    if (meta == &PyType_Type) return ANSWER_YES;
    if (enums) return enum_is_plain(in, meta, "__bool__", "__len__");
    PyObject *ignored;
    if (!has_no_truth(meta)) return ANSWER_NO;
    Answer answer = type_lookup_text(in, meta, "__bool__", &ignored);
    return answer == ANSWER_YES ? type_lookup_text(in, meta, "__len__", &ignored) : answer;
}

/* A list or deque from outside, of which no length is guarded. */
static bool
fills(const Value *value)
{
    return value->kind == V_OBJECT && value->object != NULL &&
           (PyList_CheckExact(value->object) ||
            strcmp(Py_TYPE(value->object)->tp_name, "collections.deque") == 0);
}

Answer
truth_of_grown(Interp *in, Value *value, int *known, Value **node)
{
    ListUse use = {.does = LIST_LENGTH, .list = value};
    Value *length;
    Answer answer = in->above->list_in_loop(in, &use, &length);
    if (answer == ANSWER_NO)
        return interp_break(in, value_break(value, BREAK_OPERATOR), "truth of %s",
                            value_describe(in, value));
    return answer == ANSWER_YES ? value_truth(in, length, known, node) : answer;
}

Answer
truth_of_object(Interp *in, Value *value, int *known, Value **node)
{
    Value *result;
    PyTypeObject *type = value->type;
    if (fills(value) && in->loop != NULL) {
        Answer answer = truth_of_grown(in, value, known, node);
        if (in->attempt.again || answer != ANSWER_BREAK) return answer;
    }
    if (fills(value))
        return interp_break(in, BREAK_ITEMS, "whether a %s is empty",
                            Py_TYPE(value->object)->tp_name);
    if (type == NULL)
        return interp_break(in, value_break(value, BREAK_OPERATOR), "truth of %s",
                            value_describe(in, value));
    Answer answer = special_call(in, value, "__bool__", 0, NULL, &result);
    bool by_length = result == NULL;
    if (by_length && type->tp_as_number != NULL && type->tp_as_number->nb_bool != NULL)
        return answer == ANSWER_YES ? interp_break(in, value_break(value, BREAK_OPERATOR),
                                                   "truth of %s", value_describe(in, value))
                                    : answer;
    if (answer == ANSWER_YES && by_length)
        answer = special_call(in, value, "__len__", 0, NULL, &result);
    if (answer != ANSWER_YES) return answer;
    if (result == NULL) {
        if (!has_no_truth(type))
            return interp_break(in, value_break(value, BREAK_OPERATOR), "truth of %s",
                                value_describe(in, value));
        if (value_guard_type(in, value) < 0) return ANSWER_ERROR;
        *known = 1;
        return ANSWER_YES;
    }
    PyTypeObject *kind = value_type(in, result);
    if (!value_is_python_scalar(in, result) ||
        (by_length ? kind != &PyLong_Type : kind != &PyBool_Type))
        return by_length || kind == NULL
                   ? interp_break(in, BREAK_EXCEPTION, "truth of %s", value_describe(in, value))
                   : raise_new(in, PyExc_TypeError, "__bool__ should return bool, returned %s",
                               kind->tp_name);
    int64_t length = 0;
    if (by_length && answer_stops(answer = value_as_int(in, result, &length))) return answer;
    if (answer == ANSWER_NO) answer = value_in_range(in, result, 0, INT64_MAX);
    if (answer == ANSWER_NO || length < 0)
        return interp_break(in, BREAK_EXCEPTION, "truth of %s", value_describe(in, value));
    return answer == ANSWER_YES ? value_truth(in, result, known, node) : answer;
}

/* Classes, functions, modules, members of enums, and plain constants. */
Answer
truth_of_const(Interp *in, Value *value, int *known, Value **node)
{
    Answer plain = ANSWER_YES;
    if (PyType_Check(value->object) || PyFunction_Check(value->object) ||
        PyModule_CheckExact(value->object)) {
        if (PyType_Check(value->object))
            plain = classes_are_true(in, Py_TYPE(value->object), is_enum_class(value->object));
        if (plain == ANSWER_NO) return interp_break(in, BREAK_OPERATOR, "truth of a class");
        *known = 1;
        return plain;
    }
    if (is_enum_member(value->object))
        plain = enum_is_plain(in, value->type, "__bool__", "__len__");
    if (plain != ANSWER_YES)
        return plain == ANSWER_NO ? truth_of_object(in, value, known, node) : plain;
    *known = PyObject_IsTrue(value->object);
    return *known < 0 ? raise_error(in) : ANSWER_YES;
}

Answer
truth_of_node(Interp *in, Value *value, int *Py_UNUSED(known), Value **node)
{
    if (value_is_python_scalar(in, value) &&
        graph_node(in->graph, value->node)->type.dtype == DT_BOOL) {
        *node = value;
        return ANSWER_YES;
    }
    return scalar_convert(in, value, DT_BOOL, node);
}

Answer
truth_of_items(Interp *Py_UNUSED(in), Value *value, int *known, Value **Py_UNUSED(node))
{
    *known = value->nitems != 0;
    return ANSWER_YES;
}

Answer
truth_of_view(Interp *Py_UNUSED(in), Value *value, int *known, Value **Py_UNUSED(node))
{
    *known = value->dict->nitems != 0;
    return ANSWER_YES;
}

Answer
truth_of_pure(Interp *in, Value *value, int *known, Value **Py_UNUSED(node))
{
    PyObject *text;
    Answer answer = value_known(in, value, &text);
    if (answer == ANSWER_NO)
        return interp_break(in, BREAK_OPERATOR, "truth of a text that depends on an array");
    if (answer == ANSWER_YES) *known = PyObject_IsTrue(text);
    return answer;
}

Answer
truth_of_range(Interp *in, Value *value, int *known, Value **Py_UNUSED(node))
{
    int64_t length = range_length(in, value);
    if (length < 0) return interp_break(in, BREAK_OPERATOR, "truth of a range");
    *known = length != 0;
    return ANSWER_YES;
}

Answer
truth_always(Interp *Py_UNUSED(in), Value *Py_UNUSED(value), int *known, Value **Py_UNUSED(node))
{
    *known = 1;
    return ANSWER_YES;
}
