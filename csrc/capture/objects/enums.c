/* Enumerations.  Members are constants, and the results of enum's own methods on them depend on
   nothing else, so they are computed while capturing.  Which members a class has is in its maps and
   in the list of their names, which the program may change: what is read of them is guarded. */
#include "objects.h"

/* A map of the class or the list of its names, and where it is found.  What is read of it is
   guarded, so that it may be another one. */
static Answer
enum_part(Interp *in, PyTypeObject *type, const char *name, SourceId *source, PyObject **out)
{
    PyObject *key = interned(in, name);
    *source = key != NULL ? source_of_const(in, (PyObject *)type) : NO_SOURCE;
    if (*source != NO_SOURCE) *source = source_add(in, SOURCE_ATTR, *source, 0, key, NULL);
    if (*source == NO_SOURCE) return ANSWER_ERROR;
    *out = _PyType_Lookup(type, key);
    if (*out == NULL) return interp_break(in, BREAK_ATTRIBUTE, "an enum without %s", name);
    return guard_simple(in, GUARD_TYPE, *source, (PyObject *)Py_TYPE(*out)) < 0 ? ANSWER_ERROR
                                                                                : ANSWER_YES;
}

Answer
enum_entry(Interp *in, PyTypeObject *type, const char *map, PyObject *key, PyObject **out)
{
    SourceId source;
    PyObject *entries;
    Answer answer = enum_part(in, type, map, &source, &entries);
    if (answer != ANSWER_YES) return answer;
    const Value *known = map_get(&in->sources.by_object, entries);
    if (!PyDict_CheckExact(entries) || (known != NULL && known->mutated))
        return interp_break(in, BREAK_ATTRIBUTE, "%s of an enum, which was changed", map);
    answer = entry_stored(in, entries, key, out);
    if (answer != ANSWER_YES) return answer;
    source = source_add(in, SOURCE_ITEM, source, 0, key, NULL);
    return guard_found(in, source, GUARD_UNBOUND, source, NULL, *out);
}

/* The names of the class's members in their order, a list. */
static Answer
enum_names(Interp *in, PyTypeObject *type, Value **out)
{
    SourceId source;
    PyObject *names;
    Answer answer = enum_part(in, type, "_member_names_", &source, &names);
    if (answer != ANSWER_YES) return answer;
    *out = value_from_source(in, source, names);
    if (*out == NULL || (*out)->kind == V_LIST) return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    return interp_break(in, BREAK_ATTRIBUTE, "names of an enum, which change");
}

Answer
enum_count(Interp *in, PyTypeObject *type, int *out)
{
    Value *names;
    Answer answer = enum_names(in, type, &names);
    if (answer == ANSWER_YES) *out = names->nitems;
    return answer;
}

static Answer
folded(Interp *in, PyObject *result, Value **out)
{
    if (result == NULL) return raise_error(in);
    *out = value_const_new(in, result);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Colour(2) */
Answer
enum_call(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    PyObject *value, *missing;
    if (nargs != 1 || kwnames != NULL || Py_TYPE(type) != (PyTypeObject *)enum_name("EnumType"))
        return break_hinted(in, BREAK_CALL_PYTHON, HINT_MADE, "a call of the enum '%s'",
                            type->tp_name);
    Answer answer = value_known(in, args[0], &value);
    if (answer == ANSWER_YES) answer = type_lookup_text(in, type, "_missing_", &missing);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO || !enum_code_is_plain(missing) || PyObject_CheckBuffer(value) ||
        (type_is_heap(Py_TYPE(value)) && !is_enum_member(value)))
        return break_hinted(in, BREAK_CALL_PYTHON, HINT_MADE, "a call of the enum '%s'",
                            type->tp_name);
    if (key_is_constant(value)) {
        PyObject *member;
        answer = enum_entry(in, type, "_value2member_map_", value, &member);
        if (answer != ANSWER_YES) return answer;
        if (member != NULL) return folded(in, Py_NewRef(member), out);
    }
    return folded(in, PyObject_CallOneArg((PyObject *)type, value), out);
}

Answer
enum_members(Interp *in, PyObject *class_, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_;
    Value *names;
    Answer answer = enum_names(in, type, &names);
    if (answer != ANSWER_YES) return answer;
    Value *members = value_sequence(in, V_TUPLE, names->nitems, NULL);
    for (int i = 0; members != NULL && i < names->nitems; i++) {
        PyObject *name, *member;
        Value *item = value_item(in, names, i);
        answer = item == NULL ? ANSWER_ERROR : value_known(in, item, &name);
        if (answer == ANSWER_YES) answer = enum_entry(in, type, "_member_map_", name, &member);
        if (answer == ANSWER_NO || (answer == ANSWER_YES && member == NULL))
            return interp_break(in, BREAK_ATTRIBUTE, "an enum whose maps were changed");
        if (answer != ANSWER_YES) return answer;
        if ((members->items[i] = value_const(in, member)) == NULL) return ANSWER_ERROR;
    }
    return given(out, members);
}

Answer
enum_contains(Interp *in, Value *class_, PyObject *member, bool *out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    PyObject *key = interned(in, "_name_"), *named;
    if (key == NULL) return ANSWER_ERROR;
    PyObject *name = attribute_stored(member, key);
    Answer answer = enum_is_plain(in, Py_TYPE(type), "__contains__", NULL);
    if (answer == ANSWER_YES) answer = enum_is_plain(in, Py_TYPE(member), "__hash__", "__eq__");
    /* On 3.11 the name has to be in the map. */
    if (answer == ANSWER_YES && name != NULL && PyObject_TypeCheck(member, type))
        answer = enum_entry(in, type, "_member_map_", name, &named);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO)
        return interp_break(in, BREAK_OPERATOR, "membership in %s", value_describe(in, class_));
    int found = PySequence_Contains(class_->object, member);
    if (found < 0) return raise_error(in);
    *out = found;
    return ANSWER_YES;
}
