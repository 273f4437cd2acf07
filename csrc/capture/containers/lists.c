/* Methods of lists and tuples, and slices of lists stored: done by CPython on stand-ins (shadow.c),
   except for the few that nearly all programs use.
   A list from outside that was changed other than by append, extend, insert, pop or a store of
   one item gets its new contents at commit by one slice assignment, so that it stays the same
   object. */
#include "containers.h"

/* At commit: list[:] = its present contents. */
static Answer
list_replace(Interp *in, Value *list)
{
    if (list->source == NO_SOURCE) return ANSWER_YES;
    Value *none = value_const(in, Py_None);
    Value *bounds[3] = {none, none, none};
    Value *args[3] = {list, none ? value_sequence(in, V_SLICE, 3, bounds) : NULL,
                      value_sequence(in, V_LIST, list->nitems, list->items)};
    if (args[1] == NULL || args[2] == NULL) return ANSWER_ERROR;
    int failed = effect_add(in, EFFECT_STORE_ITEM, NULL, NO_SOURCE, 3, args);
    return failed < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* The list gets the entries of the real list. */
static Answer
list_becomes(Interp *in, Value *list, PyObject *real)
{
    if (unshadow_into(in, real, list) < 0) return ANSWER_ERROR;
    return list_replace(in, list);
}

/* ---- methods ---- */

/* The stand-in of an argument: numbers as themselves, callables as a Token. */
static Answer
method_argument(Interp *in, const char *method, const char *keyword, int i, Value *arg,
                PyObject **out)
{
    bool sort = strcmp(method, "sort") == 0;
    bool number = strcmp(method, "pop") == 0 || strcmp(method, "__imul__") == 0 ||
                  (strcmp(method, "insert") == 0 && i == 0) ||
                  (strcmp(method, "index") == 0 && i > 0);
    if (sort && keyword != NULL && strcmp(keyword, "reverse") == 0) number = true;
    if (number) {
        PyObject *known;
        Answer answer = value_known(in, arg, &known);
        if (answer == ANSWER_NO) return break_key(in, arg, "an argument of a list's method");
        if (answer == ANSWER_YES) *out = Py_NewRef(known);
        return answer;
    }
    if (sort && !(arg->kind == V_CONST && arg->object == Py_None))
        *out = shadow_token(in, arg);
    else
        *out = shadow(in, arg);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
method_arguments(Interp *in, const char *method, int nargs, Value *const *args, PyObject *kwnames,
                 PyObject **positional, PyObject **named)
{
    Answer answer = ANSWER_YES;
    PyObject *object;
    *positional = PyTuple_New(nargs);
    *named = kwnames ? PyDict_New() : NULL;
    if (*positional == NULL || (kwnames && *named == NULL)) answer = ANSWER_ERROR;
    for (int i = 0; answer == ANSWER_YES && i < nargs; i++) {
        answer = method_argument(in, method, NULL, i, args[i], &object);
        if (answer == ANSWER_YES) PyTuple_SET_ITEM(*positional, i, object);
    }
    for (int i = 0; answer == ANSWER_YES && kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        answer = method_argument(in, method, PyUnicode_AsUTF8(name), i, args[nargs + i], &object);
        if (answer != ANSWER_YES) break;
        if (PyDict_SetItem(*named, name, object) < 0) answer = ANSWER_ERROR;
        Py_DECREF(object);
    }
    if (answer != ANSWER_YES) {
        Py_CLEAR(*positional);
        Py_CLEAR(*named);
    }
    return answer;
}

static bool
is_change(const char *name)
{
    return strcmp(name, "sort") == 0 || strcmp(name, "remove") == 0 ||
           strcmp(name, "reverse") == 0 || strcmp(name, "clear") == 0 ||
           strcmp(name, "insert") == 0 || strcmp(name, "pop") == 0 || strcmp(name, "__imul__") == 0;
}

Answer
sequence_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                PyObject *kwnames, Value **out)
{
    static const char *const pure[] = {"index",       "count",    "copy",         "__len__",
                                       "__getitem__", "__eq__",   "__ne__",       "__lt__",
                                       "__le__",      "__gt__",   "__ge__",       "__add__",
                                       "__mul__",     "__rmul__", "__contains__", "__hash__"};
    bool change = is_change(name), known = change;
    for (int i = 0; i < COUNT_OF(pure); i++) known = known || strcmp(name, pure[i]) == 0;
    if (!known || (change && deque_check(self->object)))
        return interp_break(in, BREAK_CALL_C, "method '%s' of %s", name, value_describe(in, self));
    PyObject *positional, *named;
    bool keeps = !change || strcmp(name, "sort") == 0 || strcmp(name, "insert") == 0 ||
                 strcmp(name, "reverse") == 0;
    Answer answer = keeps ? ANSWER_YES : items_go(in, self);
    if (answer == ANSWER_YES && change) answer = container_moves(in, self);
    if (answer == ANSWER_YES)
        answer = method_arguments(in, name, nargs, args, kwnames, &positional, &named);
    if (answer != ANSWER_YES) return answer;
    PyObject *real = shadow_items(in, self), *method = NULL, *result = NULL;
    if (real != NULL && self->kind == V_TUPLE) Py_SETREF(real, PyList_AsTuple(real));
    if (real != NULL) method = PyObject_GetAttrString(real, name);
    if (method != NULL) {
        in->writes.dirty = true;
        result = PyObject_Call(method, positional, named);
        answer = shadow_done(in, result, out);
        if (answer == ANSWER_YES && change) answer = list_becomes(in, self, real);
        if (answer == ANSWER_YES && strcmp(name, "__imul__") == 0) *out = self;
    } else {
        answer = ANSWER_ERROR;
    }
    Py_XDECREF(method);
    Py_XDECREF(real);
    Py_DECREF(positional);
    Py_XDECREF(named);
    return answer;
}

/* sorted(items, …): `items` is a new list. */
Answer
list_sort(Interp *in, Value *items, int nargs, Value *const *args, PyObject *kwnames)
{
    Value *ignored;
    return sequence_method(in, items, "sort", nargs, args, kwnames, &ignored);
}

/* ---- slices ---- */

Answer
list_store_slice(Interp *in, Value *list, Value *key, Value *items)
{
    PyObject *slice, *real, *part = NULL;
    if (deque_check(list->object))
        return interp_break(in, BREAK_STORE, "a slice of %s", value_describe(in, list));
    Answer answer = value_known(in, key, &slice);
    if (answer == ANSWER_NO) return break_key(in, key, "a slice of a list");
    if (answer == ANSWER_YES) answer = items_go(in, list);
    if (answer == ANSWER_YES) answer = container_moves(in, list);
    if (answer != ANSWER_YES) return answer;
    if ((real = shadow_items(in, list)) == NULL) return ANSWER_ERROR;
    if (items != NULL && (part = shadow_items(in, items)) == NULL) {
        Py_DECREF(real);
        return ANSWER_ERROR;
    }
    int failed = part ? PyObject_SetItem(real, slice, part) : PyObject_DelItem(real, slice);
    answer = shadow_done(in, failed < 0 ? NULL : Py_NewRef(Py_None), NULL);
    if (answer == ANSWER_YES) answer = list_becomes(in, list, real);
    Py_XDECREF(part);
    Py_DECREF(real);
    return answer;
}
