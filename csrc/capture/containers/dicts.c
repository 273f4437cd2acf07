/* Dicts: keys, methods, operators and views.
   A V_DICT has its keys as constants at even positions of items, in the dict's order, each followed
   by its value.  A V_VIEW is the result of keys(), values() or items(): `dict` is the dict, `name`
   says which. */
#include "methods.h"

/* ---- keys ---- */

/* A key as an object that hashes and compares without running code of the program; guarded. */
Answer
dict_key(Interp *in, Value *key, PyObject **out)
{
    if (key->kind == V_OBJECT || key->kind == V_LIST || key->kind == V_DICT || key->kind == V_SET) {
        PyTypeObject *type = value_type(in, key);
        if (type == NULL) return ANSWER_ERROR;
        if (type->tp_hash == PyObject_HashNotImplemented) {
            PyObject *ignored;
            Answer guarded = type_lookup_text(in, type, "__hash__", &ignored);
            if (guarded != ANSWER_YES) return guarded;
            PyErr_Format(PyExc_TypeError, "unhashable type: '%s'", type->tp_name);
            return raise_error(in);
        }
        Answer plain = key->kind == V_OBJECT ? type_is_by_identity(in, type) : ANSWER_NO;
        if (plain == ANSWER_NO) return interp_break(in, BREAK_INDEX, "a key with its own hash");
        *out = key->object;
        return plain == ANSWER_YES ? guard_is(in, key) : plain;
    }
    Answer answer = value_is_array(in, key) ? ANSWER_NO : value_known(in, key, out);
    if (answer == ANSWER_NO) return break_key(in, key, "a key of a dict or set");
    if (answer != ANSWER_YES) return answer;
    if (object_has_nan(*out)) return interp_break(in, BREAK_INDEX, "a NaN as a key");
    answer = key_is_plain(in, *out);
    return answer == ANSWER_NO ? interp_break(in, BREAK_INDEX, "a key with its own hash") : answer;
}

int
dict_find(Interp *in, Value *dict, PyObject *key)
{
    (void)in;
    Py_hash_t hash = PyObject_Hash(key);
    if (hash == -1) return -2;
    bool text = PyUnicode_CheckExact(key);
    for (int i = 0; i < dict->nitems; i += 2) {
        PyObject *other = dict->items[i]->object;
        if (other == key) return i + 1;
        if (text && PyUnicode_CheckExact(other)) {
            if (PyUnicode_Compare(other, key) == 0) return i + 1;
            continue;
        }
        if (PyObject_Hash(other) != hash) continue;
        int same = PyObject_RichCompareBool(other, key, Py_EQ);
        if (same < 0) return -2;
        if (same) return i + 1;
    }
    return -1;
}

Answer
dict_store(Interp *in, Value *dict, PyObject *key, Value *value)
{
    int found = dict_find(in, dict, key);
    if (found < -1) return raise_error(in);
    if (found >= 0) {
        dict->items[found] = value;
        return ANSWER_YES;
    }
    Value *name = value_const(in, key);
    if (name == NULL) return ANSWER_ERROR;
    name->object = key; /* a tuple as well */
    if (value_append(in, dict, name) < 0 || value_append(in, dict, value) < 0) return ANSWER_ERROR;
    return ANSWER_YES;
}

Answer
raise_key_error(Interp *in, PyObject *key)
{
    PyObject *args = PyTuple_Pack(1, key);
    if (args == NULL) return ANSWER_ERROR;
    PyErr_SetObject(PyExc_KeyError, args);
    Py_DECREF(args);
    return raise_error(in);
}

/* ---- storing, with the effect for others ---- */

static Answer
store(Interp *in, Value *dict, Value *key, Value *value)
{
    return operate_store_subscript(in, dict, key, value);
}

/* A copy of all entries, so that they can be iterated over while the dict changes. */
static Answer
dict_copy(Interp *in, Value *dict, Value **out)
{
    Value *copy = value_sequence(in, V_DICT, 0, NULL);
    for (int i = 0; copy != NULL && i < dict->nitems; i++) {
        Value *item = value_item(in, dict, i);
        if (item == NULL || value_append(in, copy, item) < 0) return ANSWER_ERROR;
    }
    *out = copy;
    return copy == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The entries of an object of the program's, as CPython dictobject.c, dict_merge, takes them: all
   of its keys first, then from[key] of each. */
static Answer
merge_mapping(Interp *in, Value *dict, Value *from)
{
    PyTypeObject *type = value_type(in, from);
    PyObject *found = NULL, *name = keep(in, PyUnicode_InternFromString("keys"));
    Value *method, *keys, *value;
    if (name == NULL) return ANSWER_ERROR;
    if (type != NULL && !PyType_IsSubtype(type, &PyDict_Type))
        TRY(type_stored(in, type, "keys", &found));
    if (found == NULL) return interp_break(in, BREAK_CALL_C, "a mapping that is not a known dict");
    TRY(value_attribute(in, from, name, &method));
    TRY(call_value(in, method, 0, NULL, NULL, &keys));
    TRY(iterate_all(in, keys, V_LIST, &keys));
    for (int i = 0; i < keys->nitems; i++) {
        Value *key = value_item(in, keys, i);
        if (key == NULL) return ANSWER_ERROR;
        TRY(operate_subscript(in, from, key, &value));
        in->writes.dirty = true;
        TRY(store(in, dict, key, value));
    }
    return ANSWER_YES;
}

/* dict.update(from) of a dict, a mapping or pairs. */
Answer
dict_update(Interp *in, Value *dict, Value *from)
{
    Value *all, *pair;
    Answer answer;
    from = in->above->dict_of(in, from);
    if (from->kind == V_DICT) {
        answer = dict_copy(in, from, &all);
        for (int i = 0; answer == ANSWER_YES && i < all->nitems; i += 2) {
            in->writes.dirty = true;
            answer = store(in, dict, all->items[i], all->items[i + 1]);
        }
        return answer;
    }
    if (from->kind == V_OBJECT || from->kind == V_INSTANCE) return merge_mapping(in, dict, from);
    answer = iterate_all(in, from, V_LIST, &all);
    for (int i = 0; answer == ANSWER_YES && i < all->nitems; i++) {
        in->writes.dirty = true;
        answer = iterate_all(in, all->items[i], V_LIST, &pair);
        if (answer != ANSWER_YES) break;
        if (pair->nitems != 2) {
            PyErr_Format(PyExc_ValueError,
                         "dictionary update sequence element #%d has length %d; 2 is required", i,
                         pair->nitems);
            return raise_error(in);
        }
        answer = store(in, dict, pair->items[0], pair->items[1]);
    }
    return answer;
}

/* ---- methods ---- */

/* The position of the first argument as a key; -1: absent. */
static Answer
look_up(const Method *m, int *at, PyObject **out)
{
    PyObject *key;
    Answer answer = dict_key(m->in, m->args[0], &key);
    if (answer != ANSWER_YES) return answer;
    if (out != NULL) *out = key;
    *at = dict_find(m->in, m->self, key);
    return *at < -1 ? raise_error(m->in) : ANSWER_YES;
}

static Answer
do_get(const Method *m)
{
    int at;
    Value *otherwise = m->nargs == 2 ? m->args[1] : value_const(m->in, Py_None);
    if (otherwise == NULL) return ANSWER_ERROR;
    Answer answer = loose_lookup(m->in, m->self, m->args[0], otherwise, m->out);
    if (answer != ANSWER_NO) return answer;
    answer = look_up(m, &at, NULL);
    if (answer != ANSWER_YES) return answer;
    return give(m, at >= 0 ? value_item(m->in, m->self, at) : otherwise);
}

static Answer
do_pop(const Method *m)
{
    PyObject *key;
    int at;
    Answer answer = look_up(m, &at, &key);
    if (answer != ANSWER_YES) return answer;
    if (at < 0 && m->nargs == 2) return give(m, m->args[1]);
    if (at < 0) return raise_key_error(m->in, key);
    Value *item = value_item(m->in, m->self, at);
    if (item == NULL) return ANSWER_ERROR;
    answer = operate_delete_subscript(m->in, m->self, m->args[0]);
    return answer == ANSWER_YES ? give(m, item) : answer;
}

static Answer
do_popitem(const Method *m)
{
    int last = m->self->nitems - 2;
    if (last < 0) {
        PyErr_SetString(PyExc_KeyError, "popitem(): dictionary is empty");
        return raise_error(m->in);
    }
    Value *pair[2] = {m->self->items[last], value_item(m->in, m->self, last + 1)};
    if (pair[1] == NULL) return ANSWER_ERROR;
    Answer answer = operate_delete_subscript(m->in, m->self, pair[0]);
    return answer == ANSWER_YES ? give(m, value_sequence(m->in, V_TUPLE, 2, pair)) : answer;
}

static Answer
do_setdefault(const Method *m)
{
    int at;
    Answer answer = look_up(m, &at, NULL);
    if (answer != ANSWER_YES) return answer;
    if (at >= 0) return give(m, value_item(m->in, m->self, at));
    Value *value = m->nargs == 2 ? m->args[1] : value_const(m->in, Py_None);
    answer = value ? store(m->in, m->self, m->args[0], value) : ANSWER_ERROR;
    return answer == ANSWER_YES ? give(m, value) : answer;
}

static Answer
do_update(const Method *m)
{
    Answer answer = m->nargs ? dict_update(m->in, m->self, m->args[0]) : ANSWER_YES;
    int n = m->kwnames ? (int)PyTuple_GET_SIZE(m->kwnames) : 0;
    for (int i = 0; answer == ANSWER_YES && i < n; i++) {
        Value *key = value_const(m->in, PyTuple_GET_ITEM(m->kwnames, i));
        if (key == NULL) return ANSWER_ERROR;
        m->in->writes.dirty = true;
        answer = store(m->in, m->self, key, m->args[m->nargs + i]);
    }
    return answer == ANSWER_YES ? give_none(m) : answer;
}

static Answer
do_clear(const Method *m)
{
    Answer answer = container_resizes(m->in, m->self);
    if (answer == ANSWER_YES) answer = items_go(m->in, m->self);
    if (answer == ANSWER_YES) answer = container_moves(m->in, m->self);
    if (answer == ANSWER_YES && m->self->source != NO_SOURCE) {
        PyObject *name = keep(m->in, PyUnicode_InternFromString("clear"));
        if (name == NULL || effect_add(m->in, EFFECT_METHOD, name, NO_SOURCE, 1, &m->self) < 0)
            return ANSWER_ERROR;
    }
    if (answer != ANSWER_YES) return answer;
    m->self->nitems = 0;
    return give_none(m);
}

static Answer
do_dict_copy(const Method *m)
{
    return dict_copy(m->in, m->self, m->out);
}

static Value *
view_new(Interp *in, Value *dict, const char *name)
{
    Value *view = value_new(in, V_VIEW);
    if (view == NULL) return NULL;
    view->dict = dict;
    view->name = name;
    view->guarded = true;
    return view;
}

static Answer
do_keys(const Method *m)
{
    return give(m, view_new(m->in, m->self, "keys"));
}

static Answer
do_values(const Method *m)
{
    return give(m, view_new(m->in, m->self, "values"));
}

static Answer
do_items(const Method *m)
{
    return give(m, view_new(m->in, m->self, "items"));
}

Answer
dict_fromkeys(Interp *in, int nargs, Value *const *args, Value **out)
{
    Value *keys, *dict = value_sequence(in, V_DICT, 0, NULL);
    Value *value = nargs == 2 ? args[1] : value_const(in, Py_None);
    if (dict == NULL || value == NULL) return ANSWER_ERROR;
    Answer answer = iterate_all(in, args[0], V_LIST, &keys);
    for (int i = 0; answer == ANSWER_YES && i < keys->nitems; i++) {
        PyObject *key;
        in->writes.dirty = true;
        answer = dict_key(in, keys->items[i], &key);
        if (answer == ANSWER_YES) answer = dict_store(in, dict, key, value);
    }
    *out = dict;
    return answer;
}

static Answer
do_fromkeys(const Method *m)
{
    return dict_fromkeys(m->in, m->nargs, m->args, m->out);
}

static Answer
do_contains(const Method *m)
{
    bool found;
    Answer answer = operate_contains(m->in, m->args[0], m->self, &found);
    return answer == ANSWER_YES ? give(m, value_const(m->in, found ? Py_True : Py_False)) : answer;
}

static const struct {
    const char *name;
    int least, most;
    Answer (*call)(const Method *);
} methods[] = {
    {"get", 1, 2, do_get},           {"pop", 1, 2, do_pop},
    {"popitem", 0, 0, do_popitem},   {"setdefault", 1, 2, do_setdefault},
    {"update", 0, 1, do_update},     {"clear", 0, 0, do_clear},
    {"copy", 0, 0, do_dict_copy},    {"keys", 0, 0, do_keys},
    {"values", 0, 0, do_values},     {"items", 0, 0, do_items},
    {"fromkeys", 1, 2, do_fromkeys}, {"__contains__", 1, 1, do_contains},
};

Answer
dict_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
            PyObject *kwnames, Value **out)
{
    Method m = {in, self, NULL, name, nargs, args, kwnames, out};
    for (int i = 0; i < COUNT_OF(methods); i++) {
        if (strcmp(name, methods[i].name) != 0) continue;
        if (nargs < methods[i].least || nargs > methods[i].most) break;
        if (kwnames != NULL && methods[i].call != do_update) break;
        return methods[i].call(&m);
    }
    return interp_break(in, BREAK_CALL_C, "method '%s' of a dict", name);
}

/* ---- operators ---- */

/* left | right and left |= right; ANSWER_NO: not of dicts. */
Answer
dict_or(Interp *in, Value *left, Value *right, bool in_place, Value **out)
{
    if (left->kind != V_DICT || (right->kind != V_DICT && !in_place)) return ANSWER_NO;
    *out = left;
    Answer answer = in_place ? ANSWER_YES : dict_copy(in, left, out);
    return answer == ANSWER_YES ? dict_update(in, *out, right) : answer;
}

enum { DEEPEST = 40 }; /* nesting of comparisons */

static Answer
entries_equal(Interp *in, Value *left, Value *right, bool *out)
{
    *out = left == right || left->nitems == right->nitems;
    for (int i = 0; left != right && *out && i < left->nitems; i += 2) {
        int at = dict_find(in, right, left->items[i]->object);
        if (at < -1) return raise_error(in);
        *out = at >= 0;
        if (!*out) break;
        Value *pair[2] = {value_item(in, left, i + 1), value_item(in, right, at)};
        if (pair[0] == NULL || pair[1] == NULL) return ANSWER_ERROR;
        Value *a = value_sequence(in, V_LIST, 1, &pair[0]), *result;
        Value *b = value_sequence(in, V_LIST, 1, &pair[1]);
        if (a == NULL || b == NULL) return ANSWER_ERROR;
        Answer answer = shadow_compare(in, Py_EQ, a, b, &result);
        if (answer != ANSWER_YES) return answer;
        *out = result->object == Py_True;
    }
    return ANSWER_YES;
}

Answer
dict_equal(Interp *in, Value *left, Value *right, bool *out)
{
    if (in->attempt.nesting > DEEPEST)
        return interp_break(in, BREAK_OPERATOR, "dicts nested deeply");
    in->attempt.nesting++;
    Answer answer = entries_equal(in, left, right, out);
    in->attempt.nesting--;
    return answer;
}

/* ---- views ---- */

/* The entry at `position` as the view gives it. */
Answer
view_entry(Interp *in, Value *view, int64_t position, Value **out)
{
    Value *dict = view->dict;
    int at = 2 * (int)position;
    if (view->name[0] == 'k') {
        *out = dict->items[at];
        return ANSWER_YES;
    }
    Value *pair[2] = {dict->items[at], value_item(in, dict, at + 1)};
    if (pair[1] == NULL) return ANSWER_ERROR;
    *out = view->name[0] == 'v' ? pair[1] : value_sequence(in, V_TUPLE, 2, pair);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The view's entries as a new list or tuple. */
static Answer
view_items(Interp *in, Value *view, ValueKind kind, Value **out)
{
    int n = view->dict->nitems / 2;
    Value *all = value_sequence(in, kind, n, NULL);
    if (all == NULL) return ANSWER_ERROR;
    for (int i = 0; i < n; i++) {
        Answer answer = view_entry(in, view, i, &all->items[i]);
        if (answer != ANSWER_YES) return answer;
    }
    *out = all;
    return ANSWER_YES;
}

PyTypeObject *
type_of_view(Interp *Py_UNUSED(in), Value *view)
{
    return view->name[0] == 'k'   ? &PyDictKeys_Type
           : view->name[0] == 'v' ? &PyDictValues_Type
                                  : &PyDictItems_Type;
}

Answer
view_contains(Interp *in, Value *view, Value *item, bool *out)
{
    if (view->name[0] == 'k') return operate_contains(in, item, view->dict, out);
    Value *all;
    Answer answer = view_items(in, view, V_LIST, &all);
    return answer == ANSWER_YES ? shadow_contains(in, all, item, out) : answer;
}
