/* What a kept loop goes over: a range; or arrays and their rows, also backwards, `enumerate` and
   `zip` of such and of ranges from 0.  A loop over the latter is one over positions, whose body
   begins with loads. */
#include "loop.h"

static bool
is_named(const Value *iterator, const char *name)
{
    return iterator->name != NULL && strcmp(iterator->name, name) == 0;
}

static bool
is_const_int(const Value *value, long number)
{
    int overflow;
    return value->kind == V_CONST && PyLong_CheckExact(value->object) &&
           PyLong_AsLongAndOverflow(value->object, &overflow) == number && overflow == 0;
}

/* The array, or part of one, that has the items. */
static Value *
array_of(const Value *walked)
{
    return walked->kind == V_SERIES ? walked->of : (Value *)walked;
}

/* How many of its items have been taken. */
static int64_t
items_taken(const Value *iterator)
{
    if (is_named(iterator, "enumerate")) return items_taken(iterator->walked);
    if (is_named(iterator, "zip")) return items_taken(iterator->items[0]);
    return iterator->position;
}

/* Has it taken so many, and is an item known by its position? */
static bool
has_known_items(Interp *in, const Value *iterator, int64_t taken)
{
    if (iterator->kind != V_ITER || value_is_generator(iterator)) return false;
    const Value *of = iterator->walked;
    bool ready = of != NULL && iterator->position == taken && !iterator->mutated;
    if (is_named(iterator, "reversed"))
        return ready && part_rank(in, array_of(iterator->walked)) > 0;
    if (iterator->name == NULL && ready)
        return part_rank(in, array_of(iterator->walked)) > 0 ||
               (of->kind == V_RANGE && is_const_int(of->items[0], 0) &&
                is_const_int(of->items[2], 1));
    if (is_named(iterator, "enumerate")) return has_known_items(in, of, taken);
    bool all = is_named(iterator, "zip") && iterator->nitems > 0;
    for (int i = 0; all && i < iterator->nitems; i++)
        all = has_known_items(in, iterator->items[i], taken);
    return all;
}

static bool
is_range(const Value *iterator)
{
    return iterator->kind == V_ITER && iterator->name == NULL && iterator->walked != NULL &&
           iterator->walked->kind == V_RANGE && iterator->position == 0 && iterator->at == NULL;
}

bool
loop_is_range(const Value *iterator)
{
    return is_range(iterator);
}

static bool
is_begun_range(const Value *iterator)
{
    return iterator->kind == V_ITER && iterator->name == NULL && iterator->walked != NULL &&
           iterator->walked->kind == V_RANGE && iterator->position > 0 && iterator->at == NULL &&
           !iterator->mutated;
}

bool
loop_is_begun(Interp *in, const Value *iterator)
{
    if (is_begun_range(iterator)) return true;
    if (iterator->kind != V_ITER || value_is_generator(iterator)) return false;
    if (is_named(iterator, "zip") && iterator->nitems == 0) return false;
    if (iterator->walked == NULL && !is_named(iterator, "zip")) return false;
    int64_t taken = items_taken(iterator);
    return taken > 0 && has_known_items(in, iterator, taken);
}

bool
loop_goes_over(Interp *in, const Value *iterator)
{
    return is_range(iterator) || has_known_items(in, iterator, 0);
}

bool
loop_reads_items(Interp *in, const Value *iterator)
{
    bool reads = false;
    if (is_named(iterator, "enumerate")) return loop_reads_items(in, iterator->walked);
    for (int i = 0; is_named(iterator, "zip") && i < iterator->nitems && !reads; i++)
        reads = loop_reads_items(in, iterator->items[i]);
    bool zip = is_named(iterator, "zip");
    return reads || (!zip && part_rank(in, array_of(iterator->walked)) == 1);
}

/* ---- iterators that the program can reach ---- */

/* Is it what a comprehension of 3.11 is given, in a variable that no program can name? */
static bool
is_given(Interp *in, const Value *iterator)
{
    const Activation *a = in->top;
    if (a->decoded->code->co_argcount == 0 || a->slots[0] != iterator) return false;
    PyObject *name = code_slot_name(a->decoded->code, 0);
    return PyUnicode_CompareWithASCIIString(name, ".0") == 0;
}

/* One that the program holds, or that is a part of two, would show how far the loop has come. */
static Answer
is_reached(Interp *in, const Value *iterator, bool top, bool *out)
{
    int stacked, held;
    if (value_references(in, iterator, &stacked, &held) < 0) return ANSWER_ERROR;
    int holders = top ? is_given(in, iterator) : 1;
    *out = iterator->source != NO_SOURCE || stacked != (top ? 1 : 0) || held != holders;
    if (!*out && is_named(iterator, "enumerate"))
        return is_reached(in, iterator->walked, false, out);
    for (int i = 0; !*out && is_named(iterator, "zip") && i < iterator->nitems; i++)
        TRY(is_reached(in, iterator->items[i], false, out));
    return ANSWER_YES;
}

Answer
loop_iterator_is_reached(Interp *in, const Value *iterator, bool *out)
{
    return is_reached(in, iterator, true, out);
}

/* ---- positions ---- */

/* The less of two ints that may be known only when the code runs. */
static Answer
less_of(Interp *in, Value *a, Value *b, Value **out)
{
    bool less;
    Value *both[2] = {b, a}, *test;
    if (a->kind != V_CONST || b->kind != V_CONST) {
        test = scalar_emit(in, OP_py_lt, DT_BOOL, 2, both, NULL);
        Value *all[3] = {test, b, a};
        *out = test == NULL ? NULL : scalar_emit(in, OP_where, DT_I64, 3, all, NULL);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    Answer answer = operate_compare(in, Py_LT, b, a, &test);
    if (answer == ANSWER_YES) answer = condition_known(in, test, &less);
    if (answer == ANSWER_YES) *out = less ? b : a;
    return answer;
}

/* The number that enumerate gives the item at the position. */
static Answer
number_of(Interp *in, const Value *iterator, Value *position, Value **out)
{
    Value *first, *by = iterator->at;
    int64_t ahead = iterator->position - items_taken(iterator);
    if (by == NULL && ahead == 0) {
        *out = position;
        return ANSWER_YES;
    }
    TRY(loop_first_position(in, iterator, &first));
    if (by == NULL) by = value_const_new(in, PyLong_FromLongLong(ahead));
    if (by == NULL) return ANSWER_ERROR;
    if (iterator->at != NULL) TRY(operate_binary(in, OPERATOR_SUB, by, first, &by));
    return operate_binary(in, OPERATOR_ADD, by, position, out);
}

static Answer
length_of(Interp *in, const Value *iterator, Value **out)
{
    Value *one;
    if (is_named(iterator, "enumerate")) return length_of(in, iterator->walked, out);
    if (!is_named(iterator, "zip")) {
        *out = iterator->walked->kind == V_RANGE ? iterator->walked->items[1] : NULL;
        return *out != NULL ? ANSWER_YES : part_length(in, array_of(iterator->walked), out);
    }
    Answer answer = length_of(in, iterator->items[0], out);
    for (int i = 1; answer == ANSWER_YES && i < iterator->nitems; i++) {
        answer = length_of(in, iterator->items[i], &one);
        if (answer == ANSWER_YES) answer = less_of(in, *out, one, out);
    }
    return answer;
}

/* A position counted from the other end. */
static Answer
from_the_end(Interp *in, Value *array, Value *position, Value **out)
{
    Value *one = value_const_new(in, PyLong_FromLong(1)), *last;
    if (one == NULL) return ANSWER_ERROR;
    TRY(part_length(in, array_of(array), &last));
    TRY(operate_binary(in, OPERATOR_SUB, last, one, &last));
    return operate_binary(in, OPERATOR_SUB, last, position, out);
}

Answer
loop_first_position(Interp *in, const Value *iterator, Value **out)
{
    if (is_named(iterator, "enumerate")) return loop_first_position(in, iterator->walked, out);
    if (is_named(iterator, "zip")) return loop_first_position(in, iterator->items[0], out);
    if (iterator->at != NULL && is_named(iterator, "reversed"))
        return from_the_end(in, iterator->walked, iterator->at, out);
    *out = iterator->at;
    if (*out == NULL) *out = value_const_new(in, PyLong_FromLongLong(iterator->position));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- iterators that are left, and gone on with ---- */

bool
loop_can_go_on(Interp *in, const Value *iterator)
{
    if (is_named(iterator, "enumerate")) return loop_can_go_on(in, iterator->walked);
    bool all = is_named(iterator, "zip");
    for (int i = 0; all && i < iterator->nitems; i++) all = loop_can_go_on(in, iterator->items[i]);
    return all || (!is_named(iterator, "zip") &&
                   (iterator->walked->kind == V_RANGE || value_is_array(in, iterator->walked)));
}

/* How many enumerates it is made of; *out: the last of them, NULL: none. */
static int
enumerates_in(const Value *iterator, const Value **out)
{
    int n = 0;
    for (int i = 0; is_named(iterator, "zip") && i < iterator->nitems; i++)
        n += enumerates_in(iterator->items[i], out);
    if (!is_named(iterator, "enumerate")) return n;
    n = enumerates_in(iterator->walked, out);
    *out = iterator;
    return n + 1;
}

static bool
is_from_before(const Interp *in, const Value *value)
{
    bool before = value->source != NO_SOURCE || value->node < in->loop->top;
    return value->kind == V_CONST || (value->kind == V_NODE && before);
}

/* Has an exit put it there, one over what is known to the graph around the outermost loop?  Of a
   loop that was unrolled the iterator is as far as that was. */
static bool
all_from_before(const Interp *in, const Value *iterator)
{
    for (int i = 0; is_named(iterator, "zip") && i < iterator->nitems; i++)
        if (!all_from_before(in, iterator->items[i])) return false;
    if (is_named(iterator, "zip")) return true;
    if (iterator->at == NULL) return false;
    if (is_named(iterator, "enumerate")) return all_from_before(in, iterator->walked);
    const Value *walked = iterator->walked;
    return is_from_before(in, walked->kind == V_RANGE ? walked->items[1] : walked);
}

Answer
loop_iterator_left(Interp *in, const Value *iterator, Rest *rest)
{
    const Value *numbered = NULL;
    if (!loop_can_go_on(in, iterator) || enumerates_in(iterator, &numbered) > 1 ||
        !all_from_before(in, iterator))
        return ANSWER_NO;
    rest->over = iterator;
    TRY(loop_first_position(in, iterator, &rest->part[REST_NEXT]));
    if (numbered != NULL)
        TRY(number_of(in, numbered, rest->part[REST_NEXT], &rest->part[REST_NUMBER]));
    return ANSWER_YES;
}

bool
loop_goes_over_same(const Value *a, const Value *b)
{
    if (a == NULL || b == NULL) return a == b;
    const char *one = a->name != NULL ? a->name : "", *other = b->name != NULL ? b->name : "";
    if (strcmp(one, other) != 0 || a->nitems != b->nitems) return false;
    if (is_named(a, "enumerate")) return loop_goes_over_same(a->walked, b->walked);
    for (int i = 0; i < a->nitems; i++)
        if (!loop_goes_over_same(a->items[i], b->items[i])) return false;
    bool ranges = !is_named(a, "zip") && a->walked->kind == V_RANGE && b->walked->kind == V_RANGE;
    return ranges ? a->walked->items[1] == b->walked->items[1] : a->walked == b->walked;
}

Answer
loop_iterator_at(Interp *in, const Value *iterator, Value *position, Value *number, Value **out)
{
    Value *copy = *out = value_new(in, V_ITER);
    if (copy == NULL) return ANSWER_ERROR;
    copy->name = iterator->name;
    copy->walked = iterator->walked;
    copy->guarded = true;
    copy->at = position;
    if (is_named(iterator, "reversed"))
        return from_the_end(in, iterator->walked, position, &copy->at);
    if (is_named(iterator, "zip")) {
        copy->at = NULL;
        copy->nitems = iterator->nitems;
        copy->items = arena_alloc(in->arena, (size_t)copy->nitems * sizeof(Value *));
        if (copy->items == NULL) return ANSWER_ERROR;
        for (int i = 0; i < copy->nitems; i++)
            TRY(loop_iterator_at(in, iterator->items[i], position, number, &copy->items[i]));
    }
    if (!is_named(iterator, "enumerate")) return ANSWER_YES;
    if (number == NULL) TRY(number_of(in, iterator, position, &number));
    copy->at = number;
    return loop_iterator_at(in, iterator->walked, position, number, &copy->walked);
}

/* The items that no turn has had. */
static Answer
rest_of_range(Interp *in, const Value *iterator, Value **out)
{
    Value *const *ends = iterator->walked->items;
    Value *taken = value_const_new(in, PyLong_FromLongLong(iterator->position)), *next;
    if (taken == NULL) return ANSWER_ERROR;
    TRY(operate_binary(in, OPERATOR_MUL, taken, ends[2], &taken));
    TRY(operate_binary(in, OPERATOR_ADD, ends[0], taken, &next));
    Value *rest[3] = {next, ends[1], ends[2]};
    *out = value_sequence(in, V_RANGE, 3, rest);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
loop_range(Interp *in, const Value *iterator, Value **out)
{
    *out = iterator->walked;
    if (is_range(iterator)) return ANSWER_YES;
    if (is_begun_range(iterator)) return rest_of_range(in, iterator, out);
    Value *ends[3] = {NULL, NULL, value_const_new(in, PyLong_FromLong(1))};
    if (ends[2] == NULL) return ANSWER_ERROR;
    TRY(loop_first_position(in, iterator, &ends[0]));
    Answer answer = length_of(in, iterator, &ends[1]);
    if (answer != ANSWER_YES) return answer;
    *out = value_sequence(in, V_RANGE, 3, ends);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Guards that an int is not 0 or less. */
static Answer
is_positive(Interp *in, Value *number, bool *out)
{
    Value *zero = value_const_new(in, PyLong_FromLong(0)), *test;
    if (zero == NULL) return ANSWER_ERROR;
    Answer answer = operate_compare(in, Py_LT, zero, number, &test);
    return answer == ANSWER_YES ? condition_known(in, test, out) : answer;
}

Answer
loop_makes_a_turn(Interp *in, const Value *iterator, bool *out)
{
    Value *length;
    int64_t step;
    if (is_range(iterator)) {
        Value *const *ends = iterator->walked->items, *test;
        Answer answer = value_as_int(in, ends[2], &step);
        if (answer == ANSWER_YES)
            answer = operate_compare(in, step > 0 ? Py_LT : Py_GT, ends[0], ends[1], &test);
        return answer == ANSWER_YES ? condition_known(in, test, out) : answer;
    }
    if (is_named(iterator, "enumerate")) return loop_makes_a_turn(in, iterator->walked, out);
    *out = iterator->at == NULL; /* else it is not asked for */
    if (!*out) return ANSWER_YES;
    for (int i = 0; is_named(iterator, "zip") && i < iterator->nitems && *out; i++) {
        Answer answer = loop_makes_a_turn(in, iterator->items[i], out);
        if (answer != ANSWER_YES) return answer;
    }
    if (is_named(iterator, "zip")) return ANSWER_YES;
    Answer answer = length_of(in, iterator, &length);
    return answer == ANSWER_YES ? is_positive(in, length, out) : answer;
}

/* ---- items ---- */

static Answer
pair_of(Interp *in, const Value *iterator, Value *position, Value **out)
{
    Value *pair[2] = {position, NULL};
    Answer answer = number_of(in, iterator, position, &pair[0]);
    if (answer == ANSWER_YES) answer = loop_item(in, iterator->walked, position, &pair[1]);
    if (answer != ANSWER_YES) return answer;
    *out = value_sequence(in, V_TUPLE, 2, pair);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
element_of(Interp *in, const Value *iterator, Value *position, Value **out)
{
    Value *array = iterator->walked;
    if (is_named(iterator, "reversed")) TRY(from_the_end(in, array, position, &position));
    if (array->kind == V_SERIES) return series_item(in, array, position, out);
    return in->loop == NULL ? operate_subscript(in, array, position, out)
                            : loop_item_at(in, array, position, out);
}

Answer
loop_item(Interp *in, const Value *iterator, Value *position, Value **out)
{
    *out = position;
    if (is_named(iterator, "enumerate")) return pair_of(in, iterator, position, out);
    if (!is_named(iterator, "zip"))
        return iterator->walked->kind == V_RANGE ? ANSWER_YES
                                                 : element_of(in, iterator, position, out);
    *out = value_sequence(in, V_TUPLE, iterator->nitems, NULL);
    if (*out == NULL) return ANSWER_ERROR;
    for (int i = 0; i < iterator->nitems; i++) {
        Answer answer = loop_item(in, iterator->items[i], position, &(*out)->items[i]);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}
