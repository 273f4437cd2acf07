/* Methods of list, dict, tuple, str and of other builtin types. */
#include "../containers/methods.h"
#include "objects.h"

static Answer
unknown(const Method *m)
{
    return interp_break(m->in, value_break(m->self, BREAK_CALL_C), "method '%s' of %s", m->name,
                        value_describe(m->in, m->self));
}

/* Records that the method is called with these arguments on the object from outside, at commit. */
static Answer
outside(const Method *m, int nargs, Value *const *args)
{
    if (m->self->source == NO_SOURCE) return ANSWER_YES;
    Value *all[4] = {m->self};
    if (nargs > 3) return unknown(m);
    for (int i = 0; i < nargs; i++) all[i + 1] = args[i];
    bool first = nargs == 1 && strcmp(m->name, "pop") == 0 && deque_check(m->self->object);
    PyObject *name = keep(m->in, PyUnicode_InternFromString(first ? "popleft" : m->name));
    if (name == NULL) return ANSWER_ERROR;
    if (first) nargs = 0; /* the model of a deque only pops at its ends */
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
    if (answer == ANSWER_NO) return break_key(m->in, m->args[0], "where a list is changed");
    if (answer == ANSWER_YES) answer = container_moves(m->in, self);
    if (answer != ANSWER_YES) return answer;
    if (at < 0) at += self->nitems;
    bool there = at >= 0 && at < self->nitems;
    if (there && (answer = item_goes(m->in, self, (int)at)) != ANSWER_YES) return answer;
    if (!there)
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
    Answer answer = iterate_sized(m->in, m->args[0], V_LIST, &items);
    if (answer == ANSWER_YES) answer = container_changes(m->in, m->self);
    if (answer == ANSWER_YES) answer = outside(m, 1, &items);
    for (int i = 0; answer == ANSWER_YES && i < items->nitems; i++)
        if (value_append(m->in, m->self, items->items[i]) < 0) answer = ANSWER_ERROR;
    return answer == ANSWER_YES ? give_none(m) : answer;
}

/* A deque that is not opened and is full loses its first item at each append. */
static Answer
first_goes(const Method *m)
{
    Interp *in = m->in;
    const Value *self = m->self;
    if (self->kind != V_OBJECT || self->source == NO_SOURCE || !deque_check(self->object))
        return ANSWER_YES;
    int at = 0;
    for (int i = 0; i < in->writes.effects.len; i++) {
        const Effect *effect = &in->writes.effects.at[i];
        if (effect->kind == EFFECT_METHOD && effect->args[0] == self) at++;
    }
    int64_t most = deque_most(self->object);
    if (at == 0 && most < 0) {
        Guard guard = {.kind = GUARD_MOST, .source = self->source, .other = NO_SOURCE, .low = most};
        return guard_add(in, &guard) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    if (most < 0) return ANSWER_YES;
    PyObject *object = sequence_entry(self->object, at), *key = keep(in, PyLong_FromLong(at));
    SourceId source = key ? source_add(in, SOURCE_ITEM, self->source, at, key, NULL) : NO_SOURCE;
    return source == NO_SOURCE ? ANSWER_ERROR : object_goes(in, source, object);
}

/* To a list to which a kept loop has appended: an effect, behind that. */
static Answer
grown_append(const Method *m)
{
    Value *all[2] = {model_holder(m->in, m->self), m->args[0]};
    PyObject *name = keep(m->in, PyUnicode_InternFromString("append"));
    if (name == NULL || effect_add(m->in, EFFECT_METHOD, name, NO_SOURCE, 2, all) < 0)
        return ANSWER_ERROR;
    return give_none(m);
}

/* The last item of a list that a kept loop changes, or the first. */
static Answer
pop_in_loop(const Method *m, bool first)
{
    int64_t at = first ? 0 : -1;
    Answer answer = m->nargs == 1 ? value_as_int(m->in, m->args[0], &at) : ANSWER_YES;
    if (answer != ANSWER_YES || at < -1 || at > 0)
        return answer == ANSWER_ERROR ? answer : ANSWER_NO;
    ListUse use = {.does = at == 0 ? LIST_SHIFT : LIST_POP, .list = m->self};
    return m->in->above->list_in_loop(m->in, &use, m->out);
}

/* An item before the first one of a list that a kept loop changes. */
static Answer
unshift_in_loop(const Method *m)
{
    int64_t at = 0;
    bool left = strcmp(m->name, "appendleft") == 0 && m->nargs == 1;
    if (!left && !(strcmp(m->name, "insert") == 0 && m->nargs == 2)) return ANSWER_NO;
    Answer answer = left ? ANSWER_YES : value_as_int(m->in, m->args[0], &at);
    if (answer != ANSWER_YES || at != 0) return answer == ANSWER_ERROR ? answer : ANSWER_NO;
    ListUse use = {.does = LIST_UNSHIFT, .list = m->self, .item = m->args[m->nargs - 1]};
    answer = m->in->above->list_in_loop(m->in, &use, m->out);
    return answer == ANSWER_YES ? give_none(m) : answer;
}

/* d.get(k, x) of a dict that a kept loop changes. */
static Answer
get_in_loop(const Method *m)
{
    if (strcmp(m->name, "get") != 0 || m->nargs != 2) return unknown(m);
    ListUse use = {.does = LIST_ITEM, .list = m->self, .key = m->args[0], .item = m->args[1]};
    Answer answer = m->in->above->list_in_loop(m->in, &use, m->out);
    return answer == ANSWER_NO ? unknown(m) : answer;
}

static Answer
list_method(const Method *m)
{
    Value *self = m->self;
    Answer answer;
    bool append = strcmp(m->name, "append") == 0 && m->nargs == 1;
    if (append && m->in->loop != NULL) {
        answer = m->in->above->append_in_loop(m->in, self, m->args[0]);
        if (answer != ANSWER_NO) return answer == ANSWER_YES ? give_none(m) : answer;
    }
    bool first = strcmp(m->name, "popleft") == 0 && m->nargs == 0;
    if (first || (strcmp(m->name, "pop") == 0 && m->nargs <= 1)) {
        answer = pop_in_loop(m, first);
        if (answer != ANSWER_NO) return answer;
    }
    if ((answer = unshift_in_loop(m)) != ANSWER_NO) return answer;
    if (self->kind == V_GROWN) return append ? grown_append(m) : unknown(m);
    if (append) {
        answer = container_changes(m->in, self);
        if (answer == ANSWER_YES) answer = first_goes(m);
        if (answer == ANSWER_YES) answer = outside(m, 1, m->args);
        if (answer != ANSWER_YES) return answer;
        if (self->kind == V_OBJECT) return give_none(m);
        return value_append(m->in, self, m->args[0]) < 0 ? ANSWER_ERROR : give_none(m);
    }
    if (self->kind == V_OBJECT) return unknown(m);
    if (strcmp(m->name, "extend") == 0 && m->nargs == 1) return list_extend(m);
    if (strcmp(m->name, "pop") == 0 && m->nargs <= 1) return list_pop(m);
    if (strcmp(m->name, "copy") == 0 && m->nargs == 0) {
        Value *items;
        answer = iterate_all(m->in, self, V_LIST, &items);
        return answer == ANSWER_YES ? give(m, items) : answer;
    }
    if (strcmp(m->name, "insert") == 0 && m->nargs == 2) {
        int64_t at;
        answer = value_as_int(m->in, m->args[0], &at);
        if (answer == ANSWER_NO) return break_key(m->in, m->args[0], "where a list is changed");
        if (answer == ANSWER_YES) answer = container_moves(m->in, self);
        if (answer == ANSWER_YES) answer = outside(m, 2, m->args);
        if (answer != ANSWER_YES) return answer;
        if (at < 0) at = at + self->nitems < 0 ? 0 : at + self->nitems;
        if (at > self->nitems) at = self->nitems;
        answer = list_insert(m, (int)at, m->args[1]);
        return answer == ANSWER_YES ? give_none(m) : answer;
    }
    if ((strcmp(m->name, "reverse") == 0 || strcmp(m->name, "clear") == 0) && m->nargs == 0) {
        answer = m->name[0] == 'c' ? items_go(m->in, self) : ANSWER_YES;
        if (answer == ANSWER_YES) answer = container_moves(m->in, self);
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
    return sequence_method(m->in, self, m->name, m->nargs, m->args, m->kwnames, m->out);
}

/* ---- others: computed while capturing if all is known and no other code runs ---- */

/* What a method of it gives, or does, may depend on attributes that the program changes. */
static bool
has_attributes(PyObject *self)
{
    return PyModule_Check(self) || PyFunction_Check(self) ||
           (PyType_Check(self) && type_is_heap((PyTypeObject *)self));
}

static Answer
known_method(const Method *m)
{
    Interp *in = m->in;
    PyObject *self;
    Answer answer = text_method(in, m->self, m->name, m->nargs, m->args, m->kwnames, m->out);
    if (answer != ANSWER_NO) return answer;
    answer = value_known(in, m->self, &self);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO) {
        answer = loose_method(in, m->self, m->name, m->nargs, m->args, m->kwnames, m->out);
        if (answer != ANSWER_NO) return answer;
        return unknown(m);
    }
    if (!object_is_pure(self) || has_attributes(self)) return unknown(m);
    PyObject *bound = keep(in, PyObject_GetAttrString(self, m->name));
    if (bound == NULL) return raise_error(in);
    return fold_named(in, bound, m->nargs, m->args, m->kwnames, m->out);
}

static Answer
iterator_method(const Method *m)
{
    bool generator = value_is_generator(m->self);
    if (strcmp(m->name, "__iter__") == 0 && m->nargs == 0) return give(m, m->self);
    if (strcmp(m->name, "__next__") == 0 && m->nargs == 0) {
        Value *item, *none = value_const(m->in, Py_None);
        if (none == NULL) return ANSWER_ERROR;
        if (generator) return generator_method(m->in, m->self, "send", 1, &none, m->out);
        Answer answer = iterator_next(m->in, m->self, &item);
        if (answer != ANSWER_YES) return answer;
        return item != NULL ? give(m, item) : raise_stop(m->in, NULL);
    }
    if (generator) return generator_method(m->in, m->self, m->name, m->nargs, m->args, m->out);
    return unknown(m);
}

Answer
builtin_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
               PyObject *kwnames, Value **out)
{
    Method m = {in, self, NULL, name, nargs, args, kwnames, out};
    if (nargs == 0 && kwnames == NULL && in->loop != NULL &&
        (strcmp(name, "conjugate") == 0 || strcmp(name, "conj") == 0)) {
        Answer answer = complex_conjugate(in, self, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (kwnames == NULL) {
        Answer answer = scalar_method(in, self, name, nargs, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (dict_is_apart(self) && kwnames == NULL)
        return apart_method(in, self, name, nargs, args, out);
    if (self->kind == V_ITER) return iterator_method(&m);
    if (self->kind == V_DICT) return dict_method(in, self, name, nargs, args, kwnames, out);
    if (self->kind == V_GROWN_DICT) return get_in_loop(&m);
    if (self->kind == V_SET || (self->kind == V_CONST && PyFrozenSet_CheckExact(self->object)))
        return set_method(in, self, name, nargs, args, kwnames, out);
    bool list =
        self->kind == V_LIST || self->kind == V_GROWN ||
        (self->kind == V_OBJECT && (self->type == &PyList_Type || deque_check(self->object)));
    if (list) return list_method(&m);
    if (self->kind == V_TUPLE) return sequence_method(in, self, name, nargs, args, kwnames, out);
    return known_method(&m);
}
