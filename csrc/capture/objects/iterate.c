/* Iterators over known containers: sequences, ranges, dict views, zip, enumerate, reversed, map.
   A V_ITER has `name` for its kind (NULL: plain), `walked` the value that it iterates over,
   `position` for its progress, and for zip and enumerate its sub-iterators in items. */
#include "objects.h"

/* The range's start, stop or step as a number, which a length may say. */
static Answer
range_number(Interp *in, Value *range, int i, int64_t *out)
{
    SizeId size;
    Answer answer = size_of_length(in, range->items[i], &size);
    if (answer == ANSWER_YES) return size_counted(in, size, out);
    return answer == ANSWER_NO ? value_as_int(in, range->items[i], out) : answer;
}

int64_t
range_length(Interp *in, Value *range)
{
    int64_t at[3];
    for (int i = 0; i < 3; i++)
        if (range_number(in, range, i, &at[i]) != ANSWER_YES) return -1;
    int64_t span;
    if (at[2] == 0 || __builtin_sub_overflow(at[1], at[0], &span) || span == INT64_MIN) return -1;
    if (at[2] > 0) return at[0] >= at[1] ? 0 : (at[1] - at[0] - 1) / at[2] + 1;
    return at[0] <= at[1] ? 0 : (at[0] - at[1] - 1) / -at[2] + 1;
}

/* Of a range whose ends are symbols, if its step is 1 or -1.  Where it is empty, so is the other.
 */
static Answer
symbols_backwards(Interp *in, Value *range, Value **out)
{
    int64_t step;
    Value *ends[3], *by = range->items[2];
    Answer answer = value_as_int(in, by, &step);
    if (answer != ANSWER_YES || (step != 1 && step != -1))
        return answer_stops(answer) ? answer : ANSWER_NO;
    if ((ends[2] = value_const_new(in, PyLong_FromLongLong(-step))) == NULL) return ANSWER_ERROR;
    answer = operate_binary(in, OPERATOR_SUB, range->items[1], by, &ends[0]);
    if (answer == ANSWER_YES)
        answer = operate_binary(in, OPERATOR_SUB, range->items[0], by, &ends[1]);
    if (answer != ANSWER_YES) return answer;
    *out = value_sequence(in, V_RANGE, 3, ends);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
range_backwards(Interp *in, Value *range, Value **out)
{
    bool symbols = range->items[0]->kind == V_NODE || range->items[1]->kind == V_NODE;
    Answer answer = symbols ? symbols_backwards(in, range, out) : ANSWER_NO;
    if (answer != ANSWER_NO) return answer;
    int64_t length = range_length(in, range), start, step, last, end, back;
    if (length < 0) return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    if (range_number(in, range, 0, &start) != ANSWER_YES ||
        range_number(in, range, 2, &step) != ANSWER_YES)
        return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    if (__builtin_mul_overflow(length - 1, step, &last) ||
        __builtin_add_overflow(start, last, &last) || __builtin_sub_overflow(start, step, &end) ||
        __builtin_sub_overflow(0, step, &back))
        return ANSWER_NO;
    Value *items[3] = {value_const_new(in, PyLong_FromLongLong(last)),
                       value_const_new(in, PyLong_FromLongLong(end)),
                       value_const_new(in, PyLong_FromLongLong(back))};
    if (items[0] == NULL || items[1] == NULL || items[2] == NULL) return ANSWER_ERROR;
    *out = value_sequence(in, V_RANGE, 3, items);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Calls a function of pycompile.decompositions.iteration. */
static Answer
call_library(Interp *in, const char *name, int nargs, Value *const *args, Value **out)
{
    PyObject *object = module_kept(in, "pycompile.decompositions.iteration", name);
    Value *function = object ? value_const(in, object) : NULL;
    return function ? in->above->inlined(in, function, nargs, args, NULL, out) : ANSWER_ERROR;
}

/* iter() of an object of the program's classes: the result of __iter__, or its items by index. */
Answer
object_iterator(Interp *in, Value *object, Value **out)
{
    Value *method, *next, *core;
    bool loop = in->top->decoded->instrs[in->top->number].kind == I_GET_ITER;
    Answer answer = loop ? series_learn(in, object) : ANSWER_NO;
    if (answer != ANSWER_NO) return answer;
    answer = special_method(in, object, "__iter__", &method);
    if (answer == ANSWER_YES) answer = box_inherits(in, object, "__iter__", &core);
    if (answer != ANSWER_YES) return answer;
    if (core != NULL) return iterator_of(in, core, out);
    if (method == NULL) {
        PyObject *stored;
        answer = type_stored(in, object->type, "__iter__", &stored);
        if (answer == ANSWER_YES) answer = special_method(in, object, "__getitem__", &method);
        if (answer != ANSWER_YES) return answer;
        if (method == NULL || stored != NULL) return break_iteration(in, object);
        return call_library(in, "by_index", 1, &object, out);
    }
    answer = call_value(in, method, 1, &object, NULL, out);
    if (answer != ANSWER_YES || (*out)->kind == V_ITER) return answer;
    answer = special_method(in, *out, "__next__", &next);
    if (answer == ANSWER_YES && next == NULL) return break_iteration(in, object);
    return answer;
}

Answer
object_next_value(Interp *in, Value *object, Value **out, Value **returned)
{
    Value *method, *stop;
    *returned = NULL;
    Answer answer = special_method(in, object, "__next__", &method);
    if (answer != ANSWER_YES) return answer;
    if (method == NULL) return break_iteration(in, object);
    answer = call_value(in, method, 1, &object, NULL, out);
    if (answer == ANSWER_BREAK && (stop = raised_take(in, PyExc_StopIteration)) != NULL) {
        Value *args = stop->exception->args;
        *out = NULL;
        *returned = args->nitems > 0 ? value_item(in, args, 0) : value_const(in, Py_None);
        answer = *returned != NULL ? ANSWER_YES : ANSWER_ERROR;
    }
    if (answer == ANSWER_YES) in->writes.dirty = true;
    return answer;
}

Answer
object_next(Interp *in, Value *object, Value **out)
{
    Value *returned;
    return object_next_value(in, object, out, &returned);
}

/* PyObject_LengthHint: a TypeError of __len__ is ignored.  A model's length is not asked for. */
static Answer
ask_length(Interp *in, Value *object)
{
    PyObject *hint;
    Value *length;
    if ((object->kind != V_OBJECT && object->kind != V_INSTANCE) || model_real(object) != NULL)
        return ANSWER_YES;
    TRY(type_lookup_text(in, object->type, "__length_hint__", &hint));
    if (hint != NULL)
        return interp_break(in, BREAK_ITERATION, "%s, which says how long it may be",
                            value_describe(in, object));
    Answer answer = special_call(in, object, "__len__", 0, NULL, &length);
    if (answer == ANSWER_BREAK && raised_take(in, PyExc_TypeError) != NULL) return ANSWER_YES;
    if (answer != ANSWER_YES || length == NULL) return answer;
    if (value_type(in, length) == &PyLong_Type &&
        value_in_range(in, length, 0, INT64_MAX) == ANSWER_YES)
        return ANSWER_YES;
    return PyErr_Occurred() ? ANSWER_ERROR
                            : interp_break(in, BREAK_ITERATION, "%s, whose length is no plain int",
                                           value_describe(in, object));
}

Answer
iterate_sized(Interp *in, Value *iterable, ValueKind kind, Value **out)
{
    Value *iterator;
    TRY(iterator_of(in, iterable, &iterator));
    TRY(ask_length(in, iterable));
    return iterate_rest(in, iterable, iterator, kind, out);
}

Answer
iterate_list(Interp *in, Value *iterable, Value *iterator, Value **out)
{
    if (iterator->kind == V_OBJECT || iterator->kind == V_INSTANCE)
        return iterate_sized(in, iterator, V_LIST, out);
    return iterate_rest(in, iterable, iterator, V_LIST, out);
}

Answer
iterator_backwards(Interp *in, Value *object, Value **out)
{
    Value *method;
    PyObject *stored = NULL;
    Answer answer = special_method(in, object, "__reversed__", &method);
    if (answer == ANSWER_YES && method != NULL)
        return call_value(in, method, 1, &object, NULL, out);
    Value *core = NULL;
    if (answer == ANSWER_YES) answer = box_inherits(in, object, "__reversed__", &core);
    if (answer == ANSWER_YES && core != NULL)
        return call_builtin(in, (PyObject *)&PyReversed_Type, 1, &core, NULL, out);
    BreakCode code = value_break(object, BREAK_ITERATION);
    if (answer == ANSWER_YES) answer = type_stored(in, object->type, "__reversed__", &stored);
    if (answer == ANSWER_YES && stored != NULL)
        return interp_break(in, code, "reversed of %s", value_describe(in, object));
    if (answer == ANSWER_YES) answer = special_method(in, object, "__getitem__", &method);
    if (answer != ANSWER_YES) return answer;
    if (method == NULL || PyType_IsSubtype(object->type, &PyDict_Type))
        return interp_break(in, code, "reversed of %s", value_describe(in, object));
    return call_library(in, "by_index_backwards", 1, &object, out);
}

/* A C class whose objects cannot be iterated over. */
bool
type_is_no_iterable(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 && type->tp_iter == NULL &&
           (type->tp_as_sequence == NULL || type->tp_as_sequence->sq_item == NULL);
}

static Answer
no_iterable(Interp *in, Value *value)
{
    PyTypeObject *type = value_type(in, value);
    if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    if (type == NULL || !type_is_no_iterable(type)) return break_iteration(in, value);
    return raise_new(in, PyExc_TypeError, "'%.200s' object is not iterable", type->tp_name);
}

Answer
iterate_itself(Interp *Py_UNUSED(in), Value *iterable, Value **out)
{
    *out = iterable;
    return ANSWER_YES;
}

Answer
iterate_items(Interp *in, Value *iterable, Value **out)
{
    Value *iterator = value_new(in, V_ITER);
    if (iterator == NULL) return ANSWER_ERROR;
    iterator->walked = iterable;
    iterator->guarded = true;
    if (iterable->kind != V_RANGE) iterator->length = container_length(in, iterable);
    if (iterable->kind == V_SET) iterator->items = iterable->items; /* for noticing changes */
    *out = iterator;
    return ANSWER_YES;
}

Answer
iterate_set(Interp *in, Value *set, Value **out)
{
    Answer answer = set_walk(in, set);
    return answer == ANSWER_YES ? iterate_items(in, set, out) : answer;
}

Answer
iterate_const(Interp *in, Value *iterable, Value **out)
{
    if (PyUnicode_CheckExact(iterable->object) || PyBytes_CheckExact(iterable->object))
        return iterate_items(in, iterable, out);
    if (PyFrozenSet_CheckExact(iterable->object)) {
        Value *set = set_value(in, set_clone(iterable->object));
        return set ? iterate_items(in, set, out) : ANSWER_ERROR;
    }
    if (is_enum_class(iterable->object)) {
        Value *members;
        Answer answer = enum_is_plain(in, Py_TYPE(iterable->object), "__iter__", NULL);
        if (answer == ANSWER_YES) answer = enum_members(in, iterable->object, &members);
        if (answer == ANSWER_YES) return iterate_items(in, members, out);
        if (answer_stops(answer)) return answer;
    }
    return no_iterable(in, iterable);
}

Answer
iterate_node(Interp *in, Value *iterable, Value **out)
{
    NodeId node;
    if (array_is_unpinned(in, iterable))
        return iterate_items(in, iterable, out); /* still of any length */
    Answer answer =
        value_is_array(in, iterable) ? value_as_unpinned_node(in, iterable, &node) : ANSWER_NO;
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_YES && graph_node(in->graph, node)->type.rank == 0)
        return raise_new(in, PyExc_TypeError, "iteration over a 0-d array");
    if (answer == ANSWER_YES) return iterate_items(in, iterable, out);
    if (value_is_opaque(in, iterable) && opaque_sample(in, iterable) != NULL) {
        BreakCode why = opaque_of(in, iterable->node)->why;
        return why == BREAK_DATA_SIZE
                   ? break_of_size(in, BREAK_ITERATION, iterable->node, "iteration over an array")
                   : interp_break_told(in, BREAK_ITERATION, why, "iteration over an array");
    }
    if (value_is_opaque_object(in, iterable))
        return break_hinted(in, BREAK_ITERATION, HINT_RETURNED,
                            "%s that a library function returns", value_describe(in, iterable));
    return no_iterable(in, iterable);
}

/* Where the text is known, it becomes a constant. */
Answer
iterate_pure(Interp *in, Value *iterable, Value **out)
{
    PyObject *text;
    Answer answer = value_known(in, iterable, &text);
    if (answer_stops(answer)) return answer;
    if (iterable->kind == V_CONST) return iterate_const(in, iterable, out);
    return break_iteration(in, iterable);
}

static Answer
break_range(Interp *in, Value *range)
{
    Value *unknown = range->items[1];
    for (int i = 0; i < 3; i++)
        if (value_is_unknown_scalar(in, range->items[i])) unknown = range->items[i];
    return break_unknown_number(in, BREAK_ITERATION, unknown, "the length of a range");
}

static Answer
range_next(Interp *in, Value *range, int64_t position, Value **out)
{
    int64_t length = range_length(in, range), start, step;
    *out = NULL;
    if (position >= length && length >= 0) return ANSWER_YES;
    if (length < 0 || range_number(in, range, 0, &start) != ANSWER_YES ||
        range_number(in, range, 2, &step) != ANSWER_YES)
        return PyErr_Occurred() ? ANSWER_ERROR : break_range(in, range);
    *out = value_const_new(in, PyLong_FromLongLong(start + position * step));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
array_next(Interp *in, Value *array, int64_t position, bool backwards, Value **out)
{
    NodeId node;
    Answer answer = value_as_sized_node(in, array, &node);
    if (answer != ANSWER_YES) return answer;
    SizeId count = graph_node(in->graph, node)->type.shape[0];
    int64_t length = size_value(in->graph, count);
    answer = in->memory.varies == VARIES_TURNS ? ANSWER_YES : size_counted(in, count, &length);
    if (answer == ANSWER_NO)
        return interp_break_told(in, BREAK_ITERATION, BREAK_ITEMS, "iteration over an array");
    if (answer != ANSWER_YES) return answer;
    *out = NULL;
    if (position >= length) return ANSWER_YES;
    if (backwards) position = length - 1 - position;
    Value *index = value_const_new(in, PyLong_FromLongLong(position));
    return index == NULL ? ANSWER_ERROR : emit_subscript(in, array, index, out);
}

/* zip and enumerate: a tuple of the sub-iterators' items, NULL when one is exhausted. */
static Answer
several_next(Interp *in, Value *iterator, Value **out)
{
    Value *items[64];
    if (iterator->nitems > 64) return interp_break(in, BREAK_ITERATION, "zip of more than 64");
    *out = NULL;
    for (int i = 0; i < iterator->nitems; i++) {
        Answer answer = iterator_next(in, iterator->items[i], &items[i]);
        if (answer != ANSWER_YES) return answer;
        if (items[i] == NULL) return ANSWER_YES;
        in->writes.dirty = true;
    }
    *out = value_sequence(in, V_TUPLE, iterator->nitems, items);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
enumerate_next(Interp *in, Value *iterator, Value **out)
{
    Value *item;
    *out = NULL;
    Answer answer = iterator_next(in, iterator->walked, &item);
    if (answer != ANSWER_YES || item == NULL) return answer;
    Value *pair[2] = {value_const_new(in, PyLong_FromLongLong(iterator->position)), item};
    if (pair[0] == NULL) return ANSWER_ERROR;
    *out = value_sequence(in, V_TUPLE, 2, pair);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ANSWER_YES: the dict or set is as it was when the iterator was made; else raises, or breaks. */
static Answer
unchanged(Interp *in, Value *iterator)
{
    Value *of = iterator->walked;
    bool dict = of->kind == V_DICT || of->kind == V_VIEW;
    if (!dict && of->kind != V_SET) return ANSWER_YES;
    if (container_length(in, of) != iterator->length) {
        PyErr_SetString(PyExc_RuntimeError, dict ? "dictionary changed size during iteration"
                                                 : "Set changed size during iteration");
        return raise_error(in);
    }
    if (!dict && iterator->items != of->items)
        return interp_break(in, BREAK_ITERATION, "a set that changes while it is walked");
    return ANSWER_YES;
}

static Answer
plain_next(Interp *in, Value *iterator, bool backwards, Value **out)
{
    Value *of = iterator->walked;
    int64_t position = iterator->position;
    *out = NULL;
    if (iterator->mutated) return ANSWER_YES; /* an exhausted iterator stays exhausted */
    Answer answer = unchanged(in, iterator);
    if (answer != ANSWER_YES) return answer;
    switch (of->kind) {
    case V_RANGE: return range_next(in, of, position, out);
    case V_NODE:
        answer = array_next(in, of, position, backwards, out);
        iterator->mutated = answer == ANSWER_YES && *out == NULL;
        return answer;
    case V_SERIES: return break_iteration(in, of);
    case V_CONST: {
        Py_ssize_t length = PySequence_Length(of->object);
        if (position >= length) return ANSWER_YES;
        *out = value_const_new(in, PySequence_GetItem(of->object, position));
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    default: {
        int width = of->kind == V_DICT ? 2 : 1;
        if (backwards) position = iterator->length - 1 - position;
        iterator->mutated = position < 0 || position >= container_length(in, of);
        if (iterator->mutated) return ANSWER_YES;
        if (of->kind == V_VIEW) return view_entry(in, of, position, out);
        *out = value_item(in, of, (int)position * width);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    }
}

/* A truth value that decides about the next item: becomes known, under guards. */
static Answer
truth_known(Interp *in, Value *value, bool *out)
{
    int known;
    Value *node;
    Answer answer = value_truth(in, value, &known, &node);
    if (answer == ANSWER_YES && known < 0) {
        answer = condition_known(in, node, out);
        if (answer == ANSWER_NO)
            return interp_break(in, BREAK_BRANCH, "an iterator that depends on an array's value");
    } else {
        *out = known > 0;
    }
    return answer;
}

/* filter(function, iterable): items are the function (or None) and the iterator. */
static Answer
filter_next(Interp *in, Value *iterator, Value **out)
{
    Value *function = iterator->items[0], *picked;
    bool by_itself = function->kind == V_CONST && function->object == Py_None;
    for (bool wanted = false; !wanted;) {
        Answer answer = iterator_next(in, iterator->items[1], out);
        if (answer != ANSWER_YES || *out == NULL) return answer;
        picked = *out;
        if (!by_itself) answer = call_value(in, function, 1, out, NULL, &picked);
        if (answer == ANSWER_YES) answer = truth_known(in, picked, &wanted);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* iter(function, sentinel) */
static Answer
call_next(Interp *in, Value *iterator, Value **out)
{
    Value *equal;
    bool ends = false;
    *out = NULL;
    if (iterator->mutated) return ANSWER_YES;
    in->writes.dirty = true;
    Answer answer = call_value(in, iterator->items[0], 0, iterator->items, NULL, out);
    if (answer == ANSWER_YES) answer = operate_compare(in, Py_EQ, iterator->items[1], *out, &equal);
    if (answer == ANSWER_YES) answer = truth_known(in, equal, &ends);
    if (answer != ANSWER_YES || !ends) return answer;
    iterator->mutated = true;
    *out = NULL;
    return ANSWER_YES;
}

/* Few items, each a value of its own. */
static bool
is_short(Interp *in, const Value *iterator)
{
    const char *name = iterator->name;
    Value *of = iterator->walked;
    bool all = name != NULL && strcmp(name, "zip") == 0;
    for (int i = 0; all && i < iterator->nitems; i++) all = is_short(in, iterator->items[i]);
    if (all || value_is_generator(iterator) || of == NULL) return all;
    if (name != NULL && strcmp(name, "enumerate") == 0) return is_short(in, of);
    if (name != NULL && strcmp(name, "reversed") != 0) return false;
    if (of->kind == V_RANGE) {
        bool known = true;
        for (int i = 0; i < 3; i++) known = known && !value_is_unknown_scalar(in, of->items[i]);
        if (!known) return false;
    }
    bool sequence = of->kind == V_TUPLE || of->kind == V_LIST || of->kind == V_RANGE;
    return sequence && container_length(in, of) <= LOOP_ITEMS;
}

/* A loop, or an instruction that takes all items (`f(*args)`, `[*items]`). */
static bool
takes_items(InstrKind kind)
{
    return kind == I_FOR_ITER || kind == I_CALL_EX || kind == I_LIST_EXTEND ||
           kind == I_LIST_TO_TUPLE;
}

bool
iterator_unrolls(Interp *in, const Value *iterator)
{
    return iterator->kind == V_ITER && iterator->serial >= in->turn->made &&
           takes_items(in->top->decoded->instrs[in->top->number].kind) && is_short(in, iterator);
}

Answer
next_of_iterator(Interp *in, Value *iterator, Value **out)
{
    Answer answer;
    const char *name = iterator->name;
    if (in->loop != NULL && !iterator_unrolls(in, iterator))
        return interp_break(in, BREAK_ITERATION, "a sequence that is gone through or unpacked");
    if (value_is_generator(iterator))
        answer = generator_next(in, iterator, out);
    else if (name == NULL)
        answer = plain_next(in, iterator, false, out);
    else if (strcmp(name, "reversed") == 0)
        answer = plain_next(in, iterator, true, out);
    else if (strcmp(name, "zip") == 0)
        answer = several_next(in, iterator, out);
    else if (strcmp(name, "filter") == 0)
        answer = filter_next(in, iterator, out);
    else if (strcmp(name, "calls") == 0)
        answer = call_next(in, iterator, out);
    else
        answer = enumerate_next(in, iterator, out);
    if (answer == ANSWER_YES && *out != NULL) {
        iterator->position++;
        in->writes.dirty = true;
    }
    return answer;
}
