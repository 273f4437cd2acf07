/* Calls of functions that functools.lru_cache wrapped outside.  The cached result for these
   arguments is read through a source that looks it up without a call; the guards on the result
   imply that it is there, and the real call, which counts a hit, is an effect.  Where nothing is
   cached, which is guarded too, capture breaks and CPython makes the call. */
#include "objects.h"

static Answer
key_of(Interp *in, PyObject *wrapper, int all, Value *const *args, PyObject *kwnames,
       PyObject **out)
{
    PyObject *known = keep(in, PyTuple_New(all));
    if (known == NULL) return ANSWER_ERROR;
    for (int i = 0; i < all; i++) {
        PyObject *object;
        Answer answer = dict_key(in, args[i], &object);
        if (answer != ANSWER_YES) return answer;
        PyTuple_SET_ITEM(known, i, Py_NewRef(object));
    }
    *out = keep(in, lru_key(wrapper, known, kwnames));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The effect that counts a hit. */
static Answer
count_hit(Interp *in, PyObject *wrapper, int nargs, Value *const *args, PyObject *kwnames)
{
    Value *parts[4] = {value_const(in, wrapper)};
    if (parts[0] == NULL) return ANSWER_ERROR;
    if (kwnames == NULL && nargs < 4) {
        PyObject *name = interned(in, "__call__");
        for (int i = 0; i < nargs; i++) parts[i + 1] = args[i];
        return name == NULL || effect_add(in, EFFECT_METHOD, name, NO_SOURCE, nargs + 1, parts) < 0
                   ? ANSWER_ERROR
                   : ANSWER_YES;
    }
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    parts[1] = value_sequence(in, V_TUPLE, nargs, args);
    parts[2] = value_sequence(in, V_DICT, 0, NULL);
    if (parts[1] == NULL || parts[2] == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nkw; i++) {
        Answer answer = dict_store(in, parts[2], PyTuple_GET_ITEM(kwnames, i), args[nargs + i]);
        if (answer != ANSWER_YES) return answer;
    }
    return effect_add(in, EFFECT_CALL, NULL, NO_SOURCE, 3, parts) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
lru_call(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    PyObject *wrapper = callable->object, *key;
    int all = nargs + (kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0);
    Answer answer = guard_is(in, callable);
    if (answer == ANSWER_YES) answer = key_of(in, wrapper, all, args, kwnames, &key);
    if (answer != ANSWER_YES) return answer;
    SourceId base = source_of_const(in, wrapper), source;
    if (base == NO_SOURCE) return ANSWER_ERROR;
    source = source_add(in, SOURCE_ITEM, base, 0, key, NULL);
    if (source == NO_SOURCE) return ANSWER_ERROR;
    PyObject *found = lru_find(wrapper, key);
    if (found == NULL) {
        if (guard_simple(in, GUARD_UNBOUND, source, NULL) < 0) return ANSWER_ERROR;
        return interp_break(in, BREAK_CALL_C, "call of %s, which keeps nothing for it yet",
                            value_describe(in, callable));
    }
    answer = count_hit(in, wrapper, nargs, args, kwnames);
    if (answer != ANSWER_YES) return answer;
    in->writes.dirty = true;
    *out = value_from_source(in, source, found);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
