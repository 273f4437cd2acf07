/* Dicts from outside that are not opened, since their keys change from call to call (or are too
   many): each entry that is looked up is guarded by itself, to be present or to be absent.  Stored
   entries are in the value's items, as pairs, until commit. */
#include "containers.h"

bool
dict_is_apart(const Value *value)
{
    return value->kind == V_OBJECT && value->source != NO_SOURCE && value->object != NULL &&
           PyDict_CheckExact(value->object);
}

static Answer
known_key(Interp *in, Value *key, PyObject **out)
{
    Answer answer = dict_key(in, key, out);
    if (answer == ANSWER_YES && !key_is_constant(*out))
        return interp_break(in, BREAK_ITEMS, "a key of class %s, of a dict",
                            Py_TYPE(*out)->tp_name);
    return answer;
}

/* *out NULL: there is no such entry. */
static Answer
find(Interp *in, Value *dict, Value *key, PyObject **name, Value **out)
{
    Answer answer = known_key(in, key, name);
    if (answer != ANSWER_YES) return answer;
    int at = dict_find(in, dict, *name);
    if (at < -1) return raise_error(in);
    *out = at >= 0                       ? dict->items[at]
           : PyUnicode_CheckExact(*name) ? pending_find(in, dict->object, *name)
                                         : NULL;
    if (*out != NULL) {
        if ((*out)->kind == V_UNBOUND) *out = NULL;
        return ANSWER_YES;
    }
    if (value_guard_type(in, dict) < 0) return ANSWER_ERROR;
    PyObject *real;
    SourceId source = source_add(in, SOURCE_ITEM, dict->source, 0, *name, NULL);
    answer = source == NO_SOURCE ? ANSWER_ERROR : entry_stored(in, dict->object, *name, &real);
    if (answer != ANSWER_YES) return answer;
    Value *found = value_from_source(in, source, real);
    *out = real != NULL ? found : NULL;
    return found == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
apart_subscript(Interp *in, Value *dict, Value *key, Value **out)
{
    PyObject *name;
    Answer answer = find(in, dict, key, &name, out);
    return answer == ANSWER_YES && *out == NULL ? raise_key_error(in, name) : answer;
}

Answer
apart_contains(Interp *in, Value *dict, Value *key, bool *out)
{
    PyObject *name;
    Value *found;
    Answer answer = find(in, dict, key, &name, &found);
    *out = answer == ANSWER_YES && found != NULL;
    return answer;
}

Answer
apart_store(Interp *in, Value *dict, Value *key, Value *value)
{
    PyObject *name;
    Value *before;
    Answer answer = find(in, dict, key, &name, &before);
    if (answer != ANSWER_YES) return answer;
    PyObject *real;
    answer = entry_stored(in, dict->object, name, &real);
    if (answer != ANSWER_YES) return answer;
    if (real != NULL) {
        SourceId source = source_add(in, SOURCE_ITEM, dict->source, 0, name, NULL);
        answer = source == NO_SOURCE ? ANSWER_ERROR : object_goes(in, source, real);
        if (answer != ANSWER_YES) return answer;
    }
    if (dict_named(dict->object, "__builtins__") != NULL)
        return interp_break(in, BREAK_STORE, "a change of a module's namespace by its dict");
    answer = container_changes(in, dict);
    if (answer == ANSWER_YES) answer = dict_store(in, dict, name, value);
    if (answer != ANSWER_YES) return answer;
    Value *args[3] = {dict, value_const(in, name), value};
    if (args[1] == NULL) return ANSWER_ERROR;
    return effect_add(in, EFFECT_STORE_ITEM, NULL, NO_SOURCE, 3, args) < 0 ? ANSWER_ERROR
                                                                           : ANSWER_YES;
}

/* get and setdefault. */
Answer
apart_method(Interp *in, Value *dict, const char *name, int nargs, Value *const *args, Value **out)
{
    PyObject *key;
    bool get = strcmp(name, "get") == 0;
    if ((!get && strcmp(name, "setdefault") != 0) || nargs < 1 || nargs > 2)
        return interp_break(in, BREAK_ITEMS, "method '%s' of a dict", name);
    Answer answer = find(in, dict, args[0], &key, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    *out = nargs == 2 ? args[1] : value_const(in, Py_None);
    if (*out == NULL) return ANSWER_ERROR;
    return get ? ANSWER_YES : apart_store(in, dict, args[0], *out);
}
