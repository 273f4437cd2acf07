/* Methods of list, dict, tuple, str and of other builtin types. */
#include "interp.h"

typedef struct {
    Interp *in;
    Value *self;
    const char *name;
    int nargs;
    Value *const *args;
    PyObject *kwnames;
    Value **out;
} Method;

static Answer
unknown(const Method *m)
{
    return interp_break(m->in, BREAK_CALL_C, "method '%s' of %s", m->name,
                        value_describe(m->in, m->self));
}

static Answer
give(const Method *m, Value *value)
{
    *m->out = value;
    return value == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
give_none(const Method *m)
{
    return give(m, value_const(m->in, Py_None));
}

/* Records that the method is called on the object from outside, with these arguments. */
static Answer
outside(const Method *m, int nargs, Value *const *args)
{
    if (m->self->source == NO_SOURCE) return ANSWER_YES;
    Value *all[4] = {m->self};
    if (nargs > 3) return unknown(m);
    for (int i = 0; i < nargs; i++) all[i + 1] = args[i];
    PyObject *name = keep(m->in, PyUnicode_InternFromString(m->name));
    if (name == NULL) return ANSWER_ERROR;
    int failed = effect_add(m->in, EFFECT_METHOD, name, NO_SOURCE, nargs + 1, all);
    return failed < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- list ---- */

static Answer
list_insert(const Method *m, int at, Value *item)
{
    Value *self = m->self;
    if (value_append(m->in, self, item) < 0) return ANSWER_ERROR;
    for (int i = self->nitems - 1; i > at; i--) self->items[i] = self->items[i - 1];
    self->items[at] = item;
    return ANSWER_YES;
}

static Answer
list_pop(const Method *m)
{
    Value *self = m->self;
    int64_t at = -1;
    Answer answer = m->nargs == 1 ? value_as_int(m->in, m->args[0], &at) : ANSWER_YES;
    if (answer == ANSWER_NO) return unknown(m);
    if (answer == ANSWER_YES) answer = container_moves(m->in, self);
    if (answer != ANSWER_YES) return answer;
    if (at < 0) at += self->nitems;
    if (at < 0 || at >= self->nitems)
        return raise_new(m->in, PyExc_IndexError,
                         self->nitems == 0 ? "pop from empty list" : "pop index out of range");
    answer = outside(m, m->nargs, m->args);
    if (answer != ANSWER_YES) return answer;
    Value *item = self->items[at];
    for (int i = (int)at; i + 1 < self->nitems; i++) self->items[i] = self->items[i + 1];
    self->nitems--;
    return give(m, item);
}

static Answer
list_extend(const Method *m)
{
    Value *items;
    Answer answer = iterate_all(m->in, m->args[0], V_LIST, &items);
    if (answer == ANSWER_YES) answer = container_changes(m->in, m->self);
    if (answer == ANSWER_YES) answer = outside(m, 1, &items);
    for (int i = 0; answer == ANSWER_YES && i < items->nitems; i++)
        if (value_append(m->in, m->self, items->items[i]) < 0) answer = ANSWER_ERROR;
    return answer == ANSWER_YES ? give_none(m) : answer;
}

static Answer
list_search(const Method *m, bool count)
{
    int found = -1, n = 0;
    if (m->nargs != 1) return unknown(m);
    for (int i = 0; i < m->self->nitems; i++) {
        Value *item = value_item(m->in, m->self, i);
        bool same;
        if (item == NULL) return ANSWER_ERROR;
        Value *one = value_sequence(m->in, V_TUPLE, 1, &item);
        Answer answer = one ? operate_contains(m->in, m->args[0], one, &same) : ANSWER_ERROR;
        if (answer != ANSWER_YES) return answer;
        n += same;
        if (same && found < 0) found = i;
    }
    if (!count && found < 0)
        return interp_break(m->in, BREAK_EXCEPTION, "ValueError is raised here");
    return give(m, value_const_new(m->in, PyLong_FromLong(count ? n : found)));
}

static Answer
list_method(const Method *m)
{
    Value *self = m->self;
    Answer answer;
    if (strcmp(m->name, "append") == 0 && m->nargs == 1) {
        answer = container_changes(m->in, self);
        if (answer == ANSWER_YES) answer = outside(m, 1, m->args);
        if (answer != ANSWER_YES) return answer;
        if (self->kind == V_OBJECT) return give_none(m);
        return value_append(m->in, self, m->args[0]) < 0 ? ANSWER_ERROR : give_none(m);
    }
    if (self->kind == V_OBJECT) return unknown(m);
    if (strcmp(m->name, "extend") == 0 && m->nargs == 1) return list_extend(m);
    if (strcmp(m->name, "pop") == 0 && m->nargs <= 1) return list_pop(m);
    if (strcmp(m->name, "index") == 0) return list_search(m, false);
    if (strcmp(m->name, "count") == 0) return list_search(m, true);
    if (strcmp(m->name, "copy") == 0 && m->nargs == 0) {
        Value *items;
        answer = iterate_all(m->in, self, V_LIST, &items);
        return answer == ANSWER_YES ? give(m, items) : answer;
    }
    if (strcmp(m->name, "insert") == 0 && m->nargs == 2) {
        int64_t at;
        answer = value_as_int(m->in, m->args[0], &at);
        if (answer == ANSWER_NO) return unknown(m);
        if (answer == ANSWER_YES) answer = container_moves(m->in, self);
        if (answer == ANSWER_YES) answer = outside(m, 2, m->args);
        if (answer != ANSWER_YES) return answer;
        if (at < 0) at = at + self->nitems < 0 ? 0 : at + self->nitems;
        if (at > self->nitems) at = self->nitems;
        answer = list_insert(m, (int)at, m->args[1]);
        return answer == ANSWER_YES ? give_none(m) : answer;
    }
    if ((strcmp(m->name, "reverse") == 0 || strcmp(m->name, "clear") == 0) && m->nargs == 0) {
        answer = container_moves(m->in, self);
        if (answer == ANSWER_YES) answer = outside(m, 0, NULL);
        if (answer != ANSWER_YES) return answer;
        if (m->name[0] == 'c') self->nitems = 0;
        for (int i = 0, k = self->nitems - 1; i < k; i++, k--) {
            Value *item = self->items[i];
            self->items[i] = self->items[k];
            self->items[k] = item;
        }
        return give_none(m);
    }
    return unknown(m);
}

/* ---- dict ---- */

static Answer
dict_view(const Method *m)
{
    Interp *in = m->in;
    bool keys = m->name[0] == 'k', pairs = m->name[0] == 'i';
    Value *list = value_sequence(in, V_TUPLE, m->self->nitems / 2, NULL);
    for (int i = 0; list != NULL && i < m->self->nitems; i += 2) {
        Value *pair[2] = {m->self->items[i], keys ? NULL : value_item(in, m->self, i + 1)};
        if (!keys && pair[1] == NULL) return ANSWER_ERROR;
        Value *entry = keys ? pair[0] : pairs ? value_sequence(in, V_TUPLE, 2, pair) : pair[1];
        if (entry == NULL) return ANSWER_ERROR;
        list->items[i / 2] = entry;
    }
    if (list == NULL) return ANSWER_ERROR;
    /* Not a view of the dict, so it must not outlive this use: only iteration takes it. */
    Value *iterator;
    Answer answer = iterator_of(in, list, &iterator);
    return answer == ANSWER_YES ? give(m, iterator) : answer;
}

static Answer
dict_get(const Method *m, bool pop)
{
    Interp *in = m->in;
    PyObject *key;
    Answer answer = value_known(in, m->args[0], &key);
    if (answer == ANSWER_NO || (answer == ANSWER_YES && m->args[0]->kind != V_CONST))
        return unknown(m);
    if (answer != ANSWER_YES) return answer;
    int at = dict_find(in, m->self, key);
    if (at < -1) return break_raises(in);
    if (at >= 0 && !pop) return give(m, value_item(in, m->self, at));
    if (at >= 0) {
        Value *item = value_item(in, m->self, at);
        if (item == NULL) return ANSWER_ERROR;
        answer = operate_delete_subscript(in, m->self, m->args[0]);
        return answer == ANSWER_YES ? give(m, item) : answer;
    }
    if (m->nargs == 2) return give(m, m->args[1]);
    if (pop) return interp_break(in, BREAK_EXCEPTION, "KeyError is raised here");
    return give_none(m);
}

static Answer
dict_method(const Method *m)
{
    Interp *in = m->in;
    bool none = m->nargs == 0;
    if (none && (strcmp(m->name, "keys") == 0 || strcmp(m->name, "values") == 0 ||
                 strcmp(m->name, "items") == 0))
        return dict_view(m);
    if (strcmp(m->name, "get") == 0 && m->nargs >= 1 && m->nargs <= 2) return dict_get(m, false);
    if (strcmp(m->name, "pop") == 0 && m->nargs >= 1 && m->nargs <= 2) return dict_get(m, true);
    if (strcmp(m->name, "copy") == 0 && none) {
        Value *copy = value_sequence(in, V_DICT, 0, NULL);
        for (int i = 0; copy != NULL && i < m->self->nitems; i++) {
            Value *item = value_item(in, m->self, i);
            if (item == NULL || value_append(in, copy, item) < 0) return ANSWER_ERROR;
        }
        return give(m, copy);
    }
    if (strcmp(m->name, "setdefault") == 0 && m->nargs == 2) {
        PyObject *key;
        Answer answer = value_known(in, m->args[0], &key);
        if (answer == ANSWER_NO) return unknown(m);
        if (answer != ANSWER_YES) return answer;
        int at = dict_find(in, m->self, key);
        if (at >= 0) return give(m, value_item(in, m->self, at));
        answer = operate_store_subscript(in, m->self, m->args[0], m->args[1]);
        return answer == ANSWER_YES ? give(m, m->args[1]) : answer;
    }
    if (strcmp(m->name, "update") == 0 && (m->nargs == 1 || m->kwnames != NULL)) {
        Value *from = m->nargs == 1 ? m->args[0] : NULL;
        Answer answer = ANSWER_YES;
        if (from != NULL && from->kind != V_DICT) return unknown(m);
        for (int i = 0; from != NULL && i < from->nitems && answer == ANSWER_YES; i += 2) {
            Value *item = value_item(in, from, i + 1);
            if (item == NULL) return ANSWER_ERROR;
            in->dirty = i > 0;
            answer = operate_store_subscript(in, m->self, from->items[i], item);
        }
        for (int i = 0; m->kwnames && i < PyTuple_GET_SIZE(m->kwnames) && answer == ANSWER_YES;
             i++) {
            Value *key = value_const(in, PyTuple_GET_ITEM(m->kwnames, i));
            if (key == NULL) return ANSWER_ERROR;
            in->dirty = true;
            answer = operate_store_subscript(in, m->self, key, m->args[m->nargs + i]);
        }
        return answer == ANSWER_YES ? give_none(m) : answer;
    }
    return unknown(m);
}

/* ---- the rest: folded when everything is known and the method runs no other code ---- */

static Answer
known_method(const Method *m)
{
    Interp *in = m->in;
    PyObject *self;
    Answer answer = value_known(in, m->self, &self);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO ||
        !(PyUnicode_CheckExact(self) || PyBytes_CheckExact(self) || PyLong_CheckExact(self) ||
          PyFloat_CheckExact(self) || PyComplex_CheckExact(self) || PyBool_Check(self) ||
          PyRange_Check(self) || PyFrozenSet_CheckExact(self) || PySlice_Check(self)))
        return unknown(m);
    if (m->kwnames != NULL) return unknown(m);
    Value *parts;
    if (m->nargs == 1 && m->args[0]->kind == V_ITER && strcmp(m->name, "join") == 0) {
        answer = iterate_all(in, m->args[0], V_LIST, &parts);
        if (answer != ANSWER_YES) return answer;
        Method joined = *m;
        joined.args = &parts;
        return known_method(&joined);
    }
    for (int i = 0; i < m->nargs; i++)
        if (m->args[i]->kind == V_OBJECT || m->args[i]->kind == V_INSTANCE) return unknown(m);
    PyObject *bound = keep(in, PyObject_GetAttrString(self, m->name));
    if (bound == NULL) return break_raises(in);
    return fold_call(in, bound, m->nargs, m->args, m->out);
}

static Answer
iterator_method(const Method *m)
{
    bool generator = value_is_generator(m->self);
    if (strcmp(m->name, "__iter__") == 0 && m->nargs == 0) return give(m, m->self);
    if (strcmp(m->name, "__next__") == 0 && m->nargs == 0) {
        Value *item;
        Answer answer = iterator_next(m->in, m->self, &item);
        if (answer != ANSWER_YES) return answer;
        if (item != NULL) return give(m, item);
        return interp_break(m->in, BREAK_EXCEPTION, "StopIteration is raised here");
    }
    if (generator) return generator_method(m->in, m->self, m->name, m->nargs, m->args, m->out);
    return unknown(m);
}

Answer
builtin_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
               PyObject *kwnames, Value **out)
{
    Method m = {in, self, name, nargs, args, kwnames, out};
    if (self->kind == V_DICT) return dict_method(&m);
    if (self->kind == V_ITER) return iterator_method(&m);
    bool list = self->kind == V_LIST || (self->kind == V_OBJECT && self->type == &PyList_Type);
    if (list && kwnames == NULL) return list_method(&m);
    if (self->kind == V_TUPLE && strcmp(name, "index") == 0) return list_search(&m, false);
    if (self->kind == V_TUPLE && strcmp(name, "count") == 0) return list_search(&m, true);
    return known_method(&m);
}
