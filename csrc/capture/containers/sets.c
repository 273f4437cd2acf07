/* Sets: a V_SET holds a real set of stand-ins (`object`), which CPython changes and iterates over,
   so that the order is CPython's own; items are its entries in that order.
   Entries that hash by address (instances) are in an order that differs from run to run: iteration
   over such a set is captured only when it has one entry.
   The program's own `__hash__` is followed when CPython asks the stand-in for it.  Making such a
   set when the graph ends would call it again, perhaps with another answer: it does not leave the
   graph. */
#include "containers.h"

static bool
is_ordered(const Value *set)
{
    Py_ssize_t at = 0;
    PyObject *key;
    while (set_next(set->object, &at, &key))
        if (!object_is_plain(key)) return false;
    return true;
}

static bool
has_known_hashes(const Value *set)
{
    Py_ssize_t at = 0;
    PyObject *key;
    while (set_next(set->object, &at, &key))
        if (!object_is_plain(key) && shadow_hashed(key) == 0) return false;
    return true;
}

int
set_hashed(const Value *set)
{
    Py_ssize_t at = 0;
    PyObject *key;
    int first = 0;
    while (set_next(set->object, &at, &key)) {
        int step = shadow_hashed(key);
        if (step > 0 && (first == 0 || step < first)) first = step;
    }
    return first;
}

Answer
set_walk(Interp *in, Value *set)
{
    if (set->nitems < 2 || has_known_hashes(set)) return ANSWER_YES;
    return interp_break(in, BREAK_ITERATION, "a set of objects that hash by their address");
}

/* The stand-in of an entry; numbers become known. */
static Answer
entry(Interp *in, Value *value, PyObject **out)
{
    PyObject *known;
    if (value->kind == V_SET) {
        *out = Py_NewRef(value->object);
        return ANSWER_YES;
    }
    if (value->kind == V_PURE || (value->kind == V_NODE && !value_is_array(in, value))) {
        Answer answer = value_known(in, value, &known);
        if (answer == ANSWER_NO) answer = break_key(in, value, "an entry of a set");
        if (answer != ANSWER_YES) return answer;
    }
    *out = shadow(in, value);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A real operand for set algebra: set, frozenset, a view of keys or items; ANSWER_NO for anything
   else. */
static Answer
set_operand(Interp *in, Value *value, PyObject **out)
{
    *out = NULL;
    if (value->kind == V_SET || (value->kind == V_CONST && PyFrozenSet_CheckExact(value->object))) {
        *out = Py_NewRef(value->object);
        return ANSWER_YES;
    }
    if (value->kind != V_VIEW || value->name[0] == 'v') return ANSWER_NO;
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < value->dict->nitems; i += 2) {
        Value *item = value_item(in, value->dict, i + 1);
        PyObject *stand_in = item ? shadow(in, item) : NULL;
        if (stand_in == NULL || PyDict_SetItem(dict, value->dict->items[i]->object, stand_in) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(stand_in);
    }
    if (dict != NULL) *out = PyObject_CallMethod(dict, value->name, NULL);
    Py_XDECREF(dict);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Any iterable as a real one, of stand-ins. */
static Answer
iterable(Interp *in, Value *value, PyObject **out)
{
    Value *items;
    Answer answer = set_operand(in, value, out);
    if (answer != ANSWER_NO) return answer;
    if (value->kind == V_DICT) {
        Value view = {.kind = V_VIEW, .name = "keys", .dict = value};
        return set_operand(in, &view, out);
    }
    answer = iterate_all(in, value, V_LIST, &items);
    if (answer != ANSWER_YES) return answer;
    *out = PyList_New(items->nitems);
    for (int i = 0; *out != NULL && i < items->nitems; i++) {
        PyObject *object;
        answer = entry(in, items->items[i], &object);
        if (answer != ANSWER_YES) {
            Py_CLEAR(*out);
            return answer;
        }
        PyList_SET_ITEM(*out, i, object);
    }
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* An argument in its present state, for an effect. */
static Answer
frozen(Interp *in, Value *arg, Value **out)
{
    if (arg->kind == V_LIST || arg->kind == V_TUPLE) return iterate_all(in, arg, V_LIST, out);
    *out = arg->kind == V_SET ? set_value(in, set_clone(arg->object)) : arg;
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- methods ---- */

static const char *const on_entries[] = {"add", "discard", "remove", "__contains__", NULL};
static const char *const changing[] = {"add",
                                       "discard",
                                       "remove",
                                       "pop",
                                       "clear",
                                       "update",
                                       "intersection_update",
                                       "difference_update",
                                       "symmetric_difference_update",
                                       "__ior__",
                                       "__iand__",
                                       "__isub__",
                                       "__ixor__",
                                       NULL};

/* Records this change of a set from outside, for commit. */
static Answer
outside(Interp *in, Value *self, const char *name, int nargs, Value *const *args)
{
    if (self->source == NO_SOURCE) return ANSWER_YES;
    if (nargs > 3) return interp_break(in, BREAK_CALL_C, "method '%s' of a set", name);
    Value *all[4] = {self};
    PyObject *method = keep(in, PyUnicode_InternFromString(name));
    if (method == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nargs; i++) {
        all[i + 1] = args[i];
        if (!is_one_of(name, on_entries)) TRY(frozen(in, args[i], &all[i + 1]));
    }
    int failed = effect_add(in, EFFECT_METHOD, method, NO_SOURCE, nargs + 1, all);
    return failed < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
set_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
           PyObject *kwnames, Value **out)
{
    bool change = is_one_of(name, changing), one = is_one_of(name, on_entries);
    if (kwnames != NULL || (self->kind == V_CONST && change))
        return interp_break(in, BREAK_CALL_C, "method '%s' of a set", name);
    if (self->kind == V_CONST && strcmp(name, "copy") == 0 && nargs == 0) {
        *out = self; /* the set itself */
        return ANSWER_YES;
    }
    if (strcmp(name, "pop") == 0) {
        Answer answer = set_walk(in, self);
        if (answer != ANSWER_YES) return answer;
    }
    Value *before[3];
    for (int i = 0; change && nargs <= 3 && i < nargs; i++) { /* t -= t */
        before[i] = args[i];
        if (args[i] == self) TRY(frozen(in, self, &before[i]));
    }
    if (change && nargs <= 3) args = before;
    PyObject *tuple = PyTuple_New(nargs), *object, *method;
    int hashed = in->stand_ins.hashed;
    Answer answer = tuple ? ANSWER_YES : ANSWER_ERROR;
    in->writes.dirty = true;
    for (int i = 0; answer == ANSWER_YES && i < nargs; i++) {
        answer = one ? entry(in, args[i], &object) : iterable(in, args[i], &object);
        if (answer == ANSWER_YES) PyTuple_SET_ITEM(tuple, i, object);
    }
    if (answer == ANSWER_YES && change) answer = container_resizes(in, self);
    if (answer == ANSWER_YES && change) answer = container_changes(in, self);
    if (answer == ANSWER_YES) {
        method = PyObject_GetAttrString(self->object, name);
        answer = method ? shadow_done(in, PyObject_Call(method, tuple, NULL), out) : ANSWER_ERROR;
        Py_XDECREF(method);
    }
    Py_XDECREF(tuple);
    if (answer == ANSWER_BREAK && PySet_GET_SIZE(self->object) != self->nitems) {
        break_take(in); /* also an exception that is handled: part of it was done */
        return interp_break(in, BREAK_CALL_C, "method '%s' of a set, half done", name);
    }
    if (answer == ANSWER_YES && change && self->source != NO_SOURCE &&
        in->stand_ins.hashed != hashed)
        return interp_break(in, BREAK_CALL_C, "an entry with its own hash in a set from outside");
    if (answer == ANSWER_YES && change) {
        if (set_refresh(in, self) < 0) return ANSWER_ERROR;
        answer = outside(in, self, name, nargs, args);
    }
    return answer;
}

/* ---- making ---- */

/* set(iterable) or frozenset(iterable); `from` may be NULL. */
Answer
set_make(Interp *in, PyTypeObject *type, Value *from, Value **out)
{
    PyObject *items = NULL;
    if (from != NULL && type == &PyFrozenSet_Type && from->kind == V_CONST &&
        PyFrozenSet_CheckExact(from->object)) {
        *out = from;
        return ANSWER_YES;
    }
    in->writes.dirty = true;
    Answer answer = from ? iterable(in, from, &items) : ANSWER_YES;
    if (answer != ANSWER_YES) return answer;
    PyObject *made = type == &PySet_Type ? PySet_New(items) : PyFrozenSet_New(items);
    Py_XDECREF(items);
    if (made != NULL && type == &PyFrozenSet_Type && !object_is_plain(made)) {
        Py_DECREF(made);
        return interp_break(in, BREAK_CALL_C, "a frozenset of values that are not known");
    }
    return shadow_done(in, made, out);
}

Answer
set_add(Interp *in, Value *set, Value *item)
{
    Value *ignored;
    return set_method(in, set, "add", 1, &item, NULL, &ignored);
}

/* ---- operators ---- */

static bool
is_set_like(const Value *value)
{
    return value->kind == V_SET || (value->kind == V_VIEW && value->name[0] != 'v') ||
           (value->kind == V_CONST && PyFrozenSet_CheckExact(value->object));
}

/* New references. */
static Answer
both_operands(Interp *in, Value *left, Value *right, PyObject **a, PyObject **b)
{
    in->writes.dirty = true;
    Answer answer = set_operand(in, left, a);
    if (answer != ANSWER_YES) return answer;
    answer = set_operand(in, right, b);
    if (answer != ANSWER_YES) Py_DECREF(*a);
    return answer;
}

/* ANSWER_NO: not of sets. */
Answer
set_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    static const char *const in_place[IN_PLACE] = {[OPERATOR_AND] = "__iand__",
                                                   [OPERATOR_OR] = "__ior__",
                                                   [OPERATOR_SUB] = "__isub__",
                                                   [OPERATOR_XOR] = "__ixor__"};
    if (!is_set_like(left) || !is_set_like(right)) return ANSWER_NO;
    if (left->kind == V_SET && operator_ >= IN_PLACE && in_place[operator_ - IN_PLACE] != NULL &&
        right->kind != V_VIEW) {
        Value *ignored;
        Answer answer =
            set_method(in, left, in_place[operator_ - IN_PLACE], 1, &right, NULL, &ignored);
        *out = left;
        return answer;
    }
    binaryfunc function = binary_function(operator_ % IN_PLACE);
    PyObject *a, *b;
    Answer answer = both_operands(in, left, right, &a, &b);
    if (answer != ANSWER_YES) return answer;
    answer = shadow_done(in, function(a, b), out);
    Py_DECREF(a);
    Py_DECREF(b);
    return answer;
}

Answer
set_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    if (!is_set_like(left) || !is_set_like(right)) return ANSWER_NO;
    PyObject *a, *b;
    Answer answer = both_operands(in, left, right, &a, &b);
    if (answer != ANSWER_YES) return answer;
    answer = shadow_done(in, PyObject_RichCompare(a, b, operator_), out);
    Py_DECREF(a);
    Py_DECREF(b);
    return answer;
}

Answer
set_contains(Interp *in, Value *set, Value *item, bool *out)
{
    PyObject *key;
    Answer answer = entry(in, item, &key);
    if (answer != ANSWER_YES) return answer;
    int found = PySequence_Contains(set->object, key);
    Py_DECREF(key);
    *out = found > 0;
    return shadow_done(in, found < 0 ? NULL : Py_NewRef(Py_None), NULL);
}

/* ---- leaving ---- */

static PyObject *
clone_call(PyObject *self, PyObject *set)
{
    (void)self;
    return set_clone(set);
}

static bool
same_object(PyObject *a, PyObject *b)
{
    return a == b;
}

/* 1: adding the keys in this order builds the table of `set`; -1 with the error set. */
static int
makes_table(PyObject *set, PyObject *const *keys, int n)
{
    PyObject *fresh = PySet_New(NULL);
    for (int i = 0; fresh != NULL && i < n; i++)
        if (PySet_Add(fresh, keys[i]) < 0) Py_CLEAR(fresh);
    if (fresh == NULL) return -1;
    bool same = set_same_layout(fresh, set, same_object);
    Py_DECREF(fresh);
    return same;
}

/* Entries that collide are placed in the order in which they were added, which the table does
   not show: for a few entries all orders are tried (B. R. Heap, 1963).  Others keep the table's
   order. */
Value **
set_in_order(Interp *in, Value *set)
{
    enum { FEW = 6 };
    PyObject *keys[FEW], *key;
    int n = set->nitems, count[FEW] = {0};
    Py_ssize_t at = 0;
    if (n < 2 || n > FEW) return set->items;
    Value **items = arena_alloc(in->arena, (size_t)n * sizeof(Value *));
    if (items == NULL) return NULL;
    memcpy(items, set->items, (size_t)n * sizeof(Value *));
    for (int i = 0; i < n && set_next(set->object, &at, &key); i++) keys[i] = key;
    int done = makes_table(set->object, keys, n);
    for (int i = 1; done == 0 && i < n;) {
        if (count[i] == i) {
            count[i++] = 0;
            continue;
        }
        int other = i % 2 == 0 ? 0 : count[i];
        PyObject *moved = keys[i];
        Value *value = items[i];
        keys[i] = keys[other], items[i] = items[other];
        keys[other] = moved, items[other] = value;
        count[i]++;
        i = 1;
        done = makes_table(set->object, keys, n);
    }
    if (done == 0) return set->items; /* entries were deleted from it */
    return done < 0 ? NULL : items;
}

/* The callable that makes another set like the known one `*template`; NULL where adding the entries
   in order builds the same table. */
PyObject *
set_maker(Interp *in, Value *set, PyObject **template)
{
    static PyMethodDef definition = {"set_clone", clone_call, METH_O, NULL};
    static PyObject *function;
    if (!is_ordered(set)) return NULL;
    PyObject *fresh = PySet_New(NULL), *key;
    Py_ssize_t at = 0;
    while (fresh != NULL && set_next(set->object, &at, &key))
        if (PySet_Add(fresh, key) < 0) Py_CLEAR(fresh);
    if (fresh == NULL) return NULL;
    bool same = set_same_layout(fresh, set->object, same_object);
    Py_DECREF(fresh);
    if (same) return NULL;
    if (function == NULL) function = PyCFunction_New(&definition, NULL);
    *template = keep(in, set_clone(set->object));
    return *template == NULL ? NULL : function;
}

Answer
known_set(Interp *in, Value *set, PyObject **out)
{
    if (!is_ordered(set)) return ANSWER_NO;
    *out = keep(in, set_clone(set->object));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
