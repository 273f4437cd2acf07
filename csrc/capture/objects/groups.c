/* Exception groups and except*: splitting groups, and raising what no clause handled.
   In: calls of ExceptionGroup with exceptions made here, and exceptions that reach an except*
   clause. Out: groups as values like other exceptions, with message and parts.  A part that was
   split off has the traceback of its group, so it cannot leave the graph either. */
#include "objects.h"

#include <stdio.h>

enum { MAX_NESTED = 20 };

/* The condition of a split: classes, or given exceptions. */
typedef struct {
    PyObject *classes;
    Value *leaves; /* V_LIST */
} Wanted;

bool
type_is_group(const PyTypeObject *type)
{
    return type == (PyTypeObject *)PyExc_BaseExceptionGroup ||
           (PyObject *)type == python_builtin("ExceptionGroup");
}

static bool
is_group(const Value *value)
{
    return value->exception->parts != NULL;
}

static bool
is_none(const Value *value)
{
    return value->kind == V_CONST && value->object == Py_None;
}

/* ---- making ---- */

static bool
are_ordinary(Value *const *parts, int n)
{
    for (int i = 0; i < n; i++)
        if (!PyType_IsSubtype(parts[i]->type, (PyTypeObject *)PyExc_Exception)) return false;
    return true;
}

/* BaseExceptionGroup(message, list). */
static Value *
group_new(Interp *in, Value *message, Value *list)
{
    PyObject *class_ = are_ordinary(list->items, list->nitems) ? python_builtin("ExceptionGroup")
                                                               : PyExc_BaseExceptionGroup;
    Value *args[2] = {message, list};
    Value *tuple = class_ ? value_sequence(in, V_TUPLE, 2, args) : NULL;
    Value *group = tuple ? exception_new(in, (PyTypeObject *)class_, tuple) : NULL;
    if (group == NULL) return NULL;
    group->exception->message = message;
    group->exception->parts = value_sequence(in, V_TUPLE, list->nitems, list->items);
    return group->exception->parts != NULL ? group : NULL;
}

static int
nesting(const Value *exception)
{
    int deepest = 0;
    const Value *parts = exception->exception->parts;
    for (int i = 0; parts != NULL && i < parts->nitems; i++) {
        int depth = 1 + nesting(parts->items[i]);
        if (depth > deepest) deepest = depth;
    }
    return deepest;
}

Answer
group_make(Interp *in, PyTypeObject *type, int nargs, Value *const *args, Value **out)
{
    bool good = nargs == 2 && value_is_sequence(args[1]) && args[1]->nitems > 0 &&
                args[0]->kind == V_CONST && PyUnicode_CheckExact(args[0]->object);
    for (int i = 0; good && i < args[1]->nitems; i++) {
        const Value *part = value_item(in, args[1], i);
        if (part == NULL) return ANSWER_ERROR;
        good = part->exception != NULL && nesting(part) < MAX_NESTED;
    }
    if (good && type != (PyTypeObject *)PyExc_BaseExceptionGroup)
        good = are_ordinary(args[1]->items, args[1]->nitems);
    if (!good) return interp_break(in, BREAK_CALL_C, "a group of what is no exception made here");
    *out = group_new(in, args[0], args[1]);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

PyObject *
group_text(const Value *group)
{
    const Exception *e = group->exception;
    return PyUnicode_FromFormat("%S (%d sub-exception%s)", e->message->object, e->parts->nitems,
                                e->parts->nitems > 1 ? "s" : "");
}

/* ---- splitting ---- */

static bool
is_wanted(const Wanted *wanted, const Value *exception)
{
    if (wanted->classes != NULL)
        return PyErr_GivenExceptionMatches((PyObject *)exception->type, wanted->classes);
    for (int i = 0; i < wanted->leaves->nitems; i++)
        if (wanted->leaves->items[i] == exception) return true;
    return false;
}

static Answer
copy_notes(Interp *in, Value *from, Value *to)
{
    PyObject *name = interned(in, "__notes__");
    Value *notes = NULL;
    if (name == NULL) return ANSWER_ERROR;
    TRY(own_find(in, from, name, false, false, &notes));
    if (notes == NULL || !value_is_sequence(notes)) return ANSWER_YES;
    Value *copy = value_sequence(in, V_LIST, 0, NULL);
    for (int i = 0; copy != NULL && i < notes->nitems; i++) {
        Value *note = value_item(in, notes, i);
        if (note == NULL || value_append(in, copy, note) < 0) return ANSWER_ERROR;
    }
    return copy != NULL ? attribute_store(in, to, name, copy) : ANSWER_ERROR;
}

/* A group like `group` with the exceptions in `list`; *out NULL where there are none. */
static Answer
subset(Interp *in, Value *group, Value *list, Value **out)
{
    const Exception *e = group->exception;
    *out = NULL;
    if (list->nitems == 0) return ANSWER_YES;
    Value *made = group_new(in, e->message, list);
    if (made == NULL) return ANSWER_ERROR;
    Exception *part = made->exception;
    part->context = e->context;
    part->cause = e->cause;
    part->suppress = true;
    part->raised = e->raised;
    part->part_of = e->part_of != NULL ? e->part_of : group;
    *out = made;
    return copy_notes(in, group, made);
}

static Answer
split(Interp *in, Value *exception, const Wanted *wanted, Value **match, Value **rest)
{
    *match = *rest = NULL;
    if (is_wanted(wanted, exception)) {
        *match = exception;
        return ANSWER_YES;
    }
    if (!is_group(exception)) {
        *rest = exception;
        return ANSWER_YES;
    }
    Value *yes = value_sequence(in, V_LIST, 0, NULL), *no = value_sequence(in, V_LIST, 0, NULL);
    const Value *parts = exception->exception->parts;
    if (yes == NULL || no == NULL) return ANSWER_ERROR;
    for (int i = 0; i < parts->nitems; i++) {
        Value *in_match, *in_rest;
        TRY(split(in, parts->items[i], wanted, &in_match, &in_rest));
        if (in_match != NULL && value_append(in, yes, in_match) < 0) return ANSWER_ERROR;
        if (in_rest != NULL && value_append(in, no, in_rest) < 0) return ANSWER_ERROR;
    }
    TRY(subset(in, exception, yes, match));
    return subset(in, exception, no, rest);
}

static Value *
or_none(Interp *in, Value *value)
{
    return value != NULL ? value : value_const(in, Py_None);
}

/* The class, or classes, that split() takes; breaks for other arguments. */
static Answer
classes_wanted(Interp *in, Value *value, Wanted *out)
{
    Answer answer = value_known(in, value, &out->classes);
    if (answer_stops(answer)) return answer;
    PyObject *known = out->classes;
    bool good = answer == ANSWER_YES && (PyTuple_Check(known) || PyExceptionClass_Check(known));
    for (Py_ssize_t i = 0; good && PyTuple_Check(known) && i < PyTuple_GET_SIZE(known); i++)
        good = PyExceptionClass_Check(PyTuple_GET_ITEM(known, i));
    return good ? ANSWER_YES
                : interp_break(in, BREAK_CALL_C, "a group split by what is no class of exceptions");
}

Answer
group_method(Interp *in, Value *group, const char *name, int nargs, Value *const *args, Value **out)
{
    bool both = strcmp(name, "split") == 0;
    if (!is_group(group) || nargs != 1 || !(both || strcmp(name, "subgroup") == 0))
        return ANSWER_NO;
    Wanted wanted = {0};
    Value *halves[2];
    Answer answer = classes_wanted(in, args[0], &wanted);
    if (answer != ANSWER_YES) return answer;
    TRY(split(in, group, &wanted, &halves[0], &halves[1]));
    for (int i = 0; i < 2; i++)
        if ((halves[i] = or_none(in, halves[i])) == NULL) return ANSWER_ERROR;
    *out = both ? value_sequence(in, V_TUPLE, 2, halves) : halves[0];
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- except* ---- */

/* What a clause binds for an exception that is not a group: a group around it. */
static Value *
wrap(Interp *in, Value *exception)
{
    Value *message = value_const_new(in, PyUnicode_FromString(""));
    Value *list = message ? value_sequence(in, V_LIST, 1, &exception) : NULL;
    Value *group = list ? group_new(in, message, list) : NULL;
    if (group == NULL) return NULL;
    group->exception->raised = exception->exception->raised;
    group->exception->wraps = true;
    return group;
}

/* Raises the error for a group class in except*. */
static Answer
clause_classes(Interp *in, Value *value, PyObject **out)
{
    Answer answer = handler_classes(in, value, out);
    if (answer != ANSWER_YES) return answer;
    Py_ssize_t n = PyTuple_Check(*out) ? PyTuple_GET_SIZE(*out) : 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *class_ = PyTuple_Check(*out) ? PyTuple_GET_ITEM(*out, i) : *out;
        if (PyType_IsSubtype((PyTypeObject *)class_, (PyTypeObject *)PyExc_BaseExceptionGroup))
            return raise_new(in, PyExc_TypeError,
                             "catching ExceptionGroup with except* is not allowed. "
                             "Use except instead.");
    }
    return ANSWER_YES;
}

Answer
group_match(Interp *in)
{
    Value *classes = top_value(in, 1), *exception = top_value(in, 2);
    Value *match = NULL, *rest = NULL;
    Wanted wanted = {0};
    if (classes == NULL || exception == NULL) return ANSWER_ERROR;
    if (exception->exception == NULL && !is_none(exception))
        return break_hinted(in, BREAK_EXCEPTION, HINT_HANDLER,
                            "an exception that was raised before");
    Answer answer = clause_classes(in, classes, &wanted.classes);
    if (answer != ANSWER_YES) return answer;
    if (!is_none(exception)) TRY(split(in, exception, &wanted, &match, &rest));
    if (match != NULL && !is_group(match) && (match = wrap(in, match)) == NULL) return ANSWER_ERROR;
    if (match != NULL) in->raising.handled = match;
    in->top->depth -= 2;
    if (push(in, or_none(in, rest)) < 0) return ANSWER_ERROR;
    return push(in, or_none(in, match)) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static int
add_leaves(Interp *in, Value *exception, Value *list)
{
    const Value *parts = exception->exception->parts;
    if (parts == NULL) return value_append(in, list, exception);
    for (int i = 0; i < parts->nitems; i++)
        if (add_leaves(in, parts->items[i], list) < 0) return -1;
    return 0;
}

/* *out: the exception to raise for the group `exception`, after its clauses left those in `list`;
   NULL for none. */
static Answer
left_over(Interp *in, Value *exception, const Value *list, Value **out)
{
    Value *raised = value_sequence(in, V_LIST, 0, NULL), *rest;
    Wanted kept = {.leaves = value_sequence(in, V_LIST, 0, NULL)};
    if (raised == NULL || kept.leaves == NULL) return ANSWER_ERROR;
    for (int i = 0; i < list->nitems; i++) {
        Value *item = list->items[i];
        if (is_none(item)) continue;
        bool again = item == exception || item->exception->part_of == exception;
        if (again ? add_leaves(in, item, kept.leaves) < 0 : value_append(in, raised, item) < 0)
            return ANSWER_ERROR;
    }
    *out = NULL;
    if (kept.leaves->nitems > 0) {
        TRY(split(in, exception, &kept, out, &rest));
        if (raised->nitems == 0) return ANSWER_YES;
        if (value_append(in, raised, *out) < 0) return ANSWER_ERROR;
    }
    if (raised->nitems <= 1) {
        *out = raised->nitems == 1 ? raised->items[0] : NULL;
        return ANSWER_YES;
    }
    Value *message = value_const_new(in, PyUnicode_FromString(""));
    *out = message ? group_new(in, message, raised) : NULL;
    return *out != NULL ? ANSWER_YES : ANSWER_ERROR;
}

Answer
group_raise_rest(Interp *in)
{
    Value *list = top_value(in, 1), *exception = top_value(in, 2), *left = NULL;
    if (list == NULL || exception == NULL) return ANSWER_ERROR;
    bool known = list->kind == V_LIST && exception->exception != NULL;
    for (int i = 0; known && i < list->nitems; i++) {
        const Value *item = value_item(in, list, i);
        if (item == NULL) return ANSWER_ERROR;
        known = is_none(item) || item->exception != NULL;
    }
    if (!known)
        return break_hinted(in, BREAK_EXCEPTION, HINT_HANDLER,
                            "an exception that was raised before");
    if (is_group(exception)) {
        TRY(left_over(in, exception, list, &left));
    } else if (list->nitems > 0) { /* at most one clause has matched it */
        left = list->items[0];
    }
    in->top->depth -= 2;
    return push(in, or_none(in, left)) < 0 ? ANSWER_ERROR : ANSWER_YES;
}
