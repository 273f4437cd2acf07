/* Trials with symbols among the lengths: the call is tried for several values of them, and a
   result's lengths are the simplest expressions that agree with all trials.

   That is a guess, which the plan checks: a result of another shape is left to CPython. */
#include "trial.h"

enum { TRIALS = 3, MOST_KNOWN = 24, LARGE = 1000, MIDDLE = 400 };

typedef struct {
    SizeId size;
    int64_t at[TRIALS];
} KnownSize;

typedef struct {
    Interp *in;
    const Attempt *attempt;
    int n; /* lengths of the arguments, and how many elements these have */
    KnownSize known[MOST_KNOWN];
    PyObject *value[TRIALS];
    bool vary; /* lengths of a result do */
} Trials;

static void
know_size(Trials *t, SizeId size)
{
    for (int i = 0; i < t->n; i++)
        if (t->known[i].size == size) return;
    if (t->n < MOST_KNOWN && !size_is_const(t->in->graph, size)) t->known[t->n++].size = size;
}

static int
know_sizes(Trials *t)
{
    for (int i = 0; i < t->attempt->n; i++) {
        Type type = node_type(t->in, t->attempt->holes[i]);
        SizeId all = size_const(t->in->graph, 1);
        for (int axis = 0; type.form == FORM_ARRAY && axis < type.rank; axis++) {
            know_size(t, type.shape[axis]);
            all = size_mul(t->in->graph, all, type.shape[axis]);
        }
        if (all == NO_SIZE) return -1;
        know_size(t, all);
    }
    return 0;
}

/* Another length for symbol number `i`: near the one of this call, which what has been decided
   fits, but of no more elements than needed. */
static int64_t
another_length(const Graph *g, const Size *symbol, int64_t length, int i, int trial)
{
    int64_t least = size_value(g, symbol->a);
    if (length > LARGE && least < MIDDLE) length = MIDDLE;
    return length + (trial == 1 ? 2 * i + 1 : 5 * i + 2);
}

/* The graph's lengths are those of this trial; `kept` are those of the call. */
static void
set_lengths(Graph *g, const int64_t *kept, int nsizes, int trial)
{
    int symbols = 0;
    for (SizeId id = 0; id < nsizes; id++) {
        Size *size = &g->sizes.at[id];
        size->value = kept[id];
        if (trial == 0) continue;
        if (size->kind == SIZE_DIM && size->a != NO_SIZE)
            size->value = another_length(g, size, kept[id], symbols++, trial);
        else if (size->kind >= SIZE_ADD)
            size->value = size_apply(size->kind, size_value(g, size->a), size_value(g, size->b));
    }
}

/* ---- one length ---- */

static bool
is_at(const int64_t *wanted, const int64_t *found)
{
    return memcmp(wanted, found, sizeof(int64_t) * TRIALS) == 0;
}

/* One known length, with something added or multiplied. */
static bool
follows_one(Trials *t, const int64_t *wanted, const KnownSize *known, SizeId *out)
{
    Graph *g = t->in->graph;
    int64_t sum[TRIALS], product[TRIALS], half[TRIALS];
    int64_t more = wanted[0] - known->at[0];
    int64_t times = known->at[0] > 0 ? wanted[0] / known->at[0] : 0;
    int64_t rest = wanted[0] - known->at[0] / 2;
    for (int k = 0; k < TRIALS; k++) {
        sum[k] = known->at[k] + more;
        product[k] = known->at[k] * times;
        half[k] = known->at[k] / 2 + rest;
    }
    SizeId two = size_const(g, 2);
    if (is_at(wanted, sum))
        *out = size_add(g, known->size, size_const(g, more));
    else if (is_at(wanted, product))
        *out = size_mul(g, known->size, size_const(g, times));
    else if (is_at(wanted, half))
        *out = size_add(g, size_quotient(g, SIZE_FLOOR_DIV, known->size, two), size_const(g, rest));
    else
        return false;
    return true;
}

static bool
follows_two(Trials *t, const int64_t *wanted, const KnownSize *a, const KnownSize *b, SizeId *out)
{
    int64_t sum[TRIALS], product[TRIALS];
    for (int k = 0; k < TRIALS; k++) {
        sum[k] = a->at[k] + b->at[k];
        product[k] = a->at[k] * b->at[k];
    }
    if (is_at(wanted, sum)) *out = size_add(t->in->graph, a->size, b->size);
    if (is_at(wanted, product)) *out = size_mul(t->in->graph, a->size, b->size);
    return is_at(wanted, sum) || is_at(wanted, product);
}

/* ANSWER_NO: it follows from nothing that is known here. */
static Answer
length_follows(Trials *t, const int64_t *wanted, SizeId *out)
{
    const int64_t same[TRIALS] = {wanted[0], wanted[0], wanted[0]};
    bool found = is_at(wanted, same);
    if (found) *out = size_const(t->in->graph, wanted[0]);
    for (int i = 0; i < t->n && !found; i++) {
        found = is_at(wanted, t->known[i].at);
        if (found) *out = t->known[i].size;
    }
    for (int i = 0; i < t->n && !found; i++) found = follows_one(t, wanted, &t->known[i], out);
    for (int i = 0; i < t->n && !found; i++)
        for (int k = i; k < t->n && !found; k++)
            found = follows_two(t, wanted, &t->known[i], &t->known[k], out);
    return !found ? ANSWER_NO : *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- one result ---- */

static bool
lies_natural(PyObject *value, bool c_order, int64_t bytes)
{
    PyObject *shape = step_part(value, PART_shape), *strides = step_part(value, PART_strides);
    Py_ssize_t rank = PyTuple_GET_SIZE(shape);
    for (Py_ssize_t i = 0; i < rank; i++) {
        Py_ssize_t axis = c_order ? rank - 1 - i : i;
        if (PyLong_AsLongLong(PyTuple_GET_ITEM(strides, axis)) != bytes) return false;
        bytes *= PyLong_AsLongLong(PyTuple_GET_ITEM(shape, axis));
    }
    return true;
}

/* Lengths in tuples stand for sizes of the graph: see trial_array_type. */
static PyObject *
tuple_of_sizes(int rank, const SizeId *sizes)
{
    PyObject *tuple = PyTuple_New(rank);
    for (int i = 0; tuple != NULL && i < rank; i++) {
        PyObject *size = Py_BuildValue("(i)", (int)sizes[i]);
        if (size == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, size);
    }
    return tuple;
}

static Answer
array_follows(Trials *t, PyObject *const *values, PyObject **out)
{
    Type type;
    SizeId shape[MAX_RANK], turned[MAX_RANK];
    DType dtype;
    int rank = (int)PyTuple_GET_SIZE(step_part(values[0], PART_shape));
    bool c = true, fortran = true;
    if (array_dtype_from_object(step_part(values[0], PART_dtype), &dtype) != ANSWER_YES ||
        rank > MAX_RANK)
        return ANSWER_NO;
    for (int k = 0; k < TRIALS; k++) {
        if (PyTuple_GET_SIZE(step_part(values[k], PART_shape)) != rank) return ANSWER_NO;
        c = c && lies_natural(values[k], true, (int64_t)dtype_size(dtype));
        fortran = fortran && lies_natural(values[k], false, (int64_t)dtype_size(dtype));
    }
    if (!c && !fortran) return ANSWER_NO;
    for (int i = 0; i < rank; i++) {
        int64_t wanted[TRIALS];
        for (int k = 0; k < TRIALS; k++)
            wanted[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(step_part(values[k], PART_shape), i));
        TRY(length_follows(t, wanted, &shape[i]));
        t->vary = t->vary || !size_is_const(t->in->graph, shape[i]);
        turned[rank - 1 - i] = shape[i];
    }
    if (type_contiguous(t->in->graph, &type, dtype, rank, c ? shape : turned) < 0)
        return ANSWER_ERROR;
    for (int i = 0; i < rank; i++) turned[i] = type.stride[c ? i : rank - 1 - i];
    PyObject *sizes = tuple_of_sizes(rank, shape), *strides = tuple_of_sizes(rank, turned);
    *out = trial_value_with(t->in, values[0], PART_shape, sizes);
    if (*out != NULL) *out = trial_value_with(t->in, *out, PART_strides, strides);
    Py_XDECREF(sizes);
    Py_XDECREF(strides);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer value_follows(Trials *t, PyObject *const *values, PyObject **out);

static Answer
items_follow(Trials *t, PyObject *const *values, PyObject **out)
{
    PyObject *items = step_part(values[0], PART_items), *made = PyList_New(0);
    if (keep(t->in, made) == NULL) return ANSWER_ERROR;
    for (int k = 1; k < TRIALS; k++)
        if (PyList_GET_SIZE(step_part(values[k], PART_items)) != PyList_GET_SIZE(items))
            return ANSWER_NO;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++) {
        PyObject *each[TRIALS], *item;
        for (int k = 0; k < TRIALS; k++)
            each[k] = PyList_GET_ITEM(step_part(values[k], PART_items), i);
        TRY(value_follows(t, each, &item));
        if (PyList_Append(made, item) < 0) return ANSWER_ERROR;
    }
    *out = trial_value_with(t->in, values[0], PART_items, made);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Is this part the same in all trials? */
static Answer
part_is_steady(PyObject *const *values, StepPart part)
{
    for (int k = 1; k < TRIALS; k++) {
        int same =
            PyObject_RichCompareBool(step_part(values[0], part), step_part(values[k], part), Py_EQ);
        if (same <= 0) return same < 0 ? ANSWER_ERROR : ANSWER_NO;
    }
    return ANSWER_YES;
}

static Answer
value_follows(Trials *t, PyObject *const *values, PyObject **out)
{
    TRY(part_is_steady(values, PART_form));
    TRY(part_is_steady(values, PART_dtype));
    TRY(part_is_steady(values, PART_owns));
    TRY(part_is_steady(values, PART_hole));
    TRY(part_is_steady(values, PART_views));
    *out = values[0];
    switch (step_form(values[0])) {
    case STEP_ARRAY: return array_follows(t, values, out);
    case STEP_TUPLE:
    case STEP_LIST:
    case STEP_NAMED: return items_follow(t, values, out);
    case STEP_SCALAR:
    case STEP_PYTHON:
    case STEP_OPAQUE:
    case STEP_HOLE:
    case STEP_NONE: return ANSWER_YES;
    default: return ANSWER_NO;
    }
}

/* ---- all trials ---- */

static Answer
try_lengths(Trials *t, int trial, PyObject **callable)
{
    PyObject *pair;
    Answer answer = trial_ask(t->in, t->attempt, &pair);
    if (answer == ANSWER_NO && PyErr_ExceptionMatches(PyExc_Exception) &&
        PyErr_Occurred() != PyExc_MemoryError)
        PyErr_Clear();
    if (PyErr_Occurred()) return ANSWER_ERROR;
    TRY(answer);
    t->value[trial] = PyTuple_GET_ITEM(pair, 0);
    if (trial == 0) *callable = PyTuple_GET_ITEM(pair, 1);
    return ANSWER_YES;
}

Answer
trial_of_symbols(Interp *in, const Attempt *attempt, PyObject **value, PyObject **callable)
{
    Graph *g = in->graph;
    Trials t = {.in = in, .attempt = attempt};
    Answer answer = ANSWER_YES;
    if (PyTuple_GET_SIZE(attempt->changed) > 0) return ANSWER_NO;
    if (know_sizes(&t) < 0) return ANSWER_ERROR;
    int nsizes = g->sizes.len;
    int64_t *kept = arena_alloc(in->arena, sizeof(int64_t) * (size_t)nsizes);
    if (kept == NULL) return ANSWER_ERROR;
    for (SizeId id = 0; id < nsizes; id++) kept[id] = g->sizes.at[id].value;
    for (int k = 0; k < TRIALS && answer == ANSWER_YES; k++) {
        set_lengths(g, kept, nsizes, k);
        for (int i = 0; i < t.n; i++) t.known[i].at[k] = size_value(g, t.known[i].size);
        answer = try_lengths(&t, k, callable);
    }
    set_lengths(g, kept, nsizes, 0);
    TRY(answer);
    TRY(value_follows(&t, t.value, value));
    /* Another callable than the function checks the results itself, as they are in this call. */
    return t.vary && *callable != attempt->callable ? ANSWER_NO : ANSWER_YES;
}
