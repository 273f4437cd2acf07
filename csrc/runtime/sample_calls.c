/* Whether calls that go through several plans are faster than plain ones.

   CPython cannot be timed between two instructions, so such a call is compared as a whole: with
   what the plans cost, what is looked for between them, and what was made anew.  One call of two
   goes through the plans, the other one is plain, as in sample.c.  Which of them runs makes no
   difference to the program, but calls differ in their work.  Compared are those with arguments of
   the same types, whatever their sizes; dice say which call of a few is the plain one, since sizes
   may come in turns.  Where plans gain time in some calls and lose it in more of them, those are
   compared whose arrays, sequences and numbers are about as large.  Calls that are much larger than
   those that were slower with plans, or much smaller than those that were faster, are compared
   anew.

   Short calls are compared, too, since what leads from plan to plan takes longer than such a call
   may take in CPython, which the model knows by the order of magnitude only.  To look up a call's
   kind each time would cost more than that is worth, so that comparisons of SHORTS calls come at
   growing intervals, until one finds calls that are faster without plans.

   Calls of the same function inside a plain one that is compared are plain: recursion through plans
   would be compared with itself.

   How long a plain call would take is estimated from the time that the call has spent in kept
   loops, too, as in sample.c, and from what plain calls took before there were plans. */
#include "run.h"

#include <math.h>

enum {
    SHORT_LOOK = 1024, /* calls before the look that begins a comparison of short ones */
    SHORTS = 4096,
    SHORTS_REST = 8 * SHORTS, /* least calls between two comparisons */
    LOOKED_UP_NS = 20000,     /* a call for which it is not felt that its kind is looked up */
    DICE = 8,                 /* what is timed comes so many calls later, at most */
    KNOWN_TIMES = 4, /* calls that take so many times as long as plain ones did are others */
};

_Thread_local TimedLoops timed_loops;

static int
bits(uint64_t number)
{
    return number > 0 ? 64 - __builtin_clzll(number) : 0;
}

/* How large it is, within a factor of two. */
static int
size_of(PyObject *object)
{
    int64_t elements = credit_elements(object), length = sequence_length(object);
    int overflow, exponent;
    if (PyFloat_CheckExact(object)) {
        frexp(PyFloat_AS_DOUBLE(object), &exponent);
        return exponent;
    }
    if (PyLong_CheckExact(object)) {
        int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
        return bits(value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    }
    return bits((uint64_t)Py_MAX(elements, length));
}

/* `size` becomes the sum of the arguments' sizes. */
static uint64_t
kind_of_call(bool by_size, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, int *size)
{
    Py_ssize_t all = nargs + (kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0);
    uint64_t kind = (uint64_t)(uintptr_t)kwnames + (uint64_t)all + 1;
    *size = 0;
    for (Py_ssize_t i = 0; i < all; i++) {
        int one = size_of(args[i]);
        *size += one;
        uint64_t own = by_size ? (uint64_t)one << 56 : 0;
        kind = kind * 0x100000001b3u ^ ((uint64_t)(uintptr_t)Py_TYPE(args[i]) ^ own);
    }
    return kind;
}

/* Not to be kept across a call, in which other calls may forget the kind. */
static CallKind *
kind_find(SampledCalls *calls, uint64_t kind)
{
    for (int i = 0; i < KINDS_SAMPLED; i++)
        if (calls->kinds[i].kind == kind) return &calls->kinds[i];
    CallKind *made = &calls->kinds[calls->next];
    calls->next = (int8_t)((calls->next + 1) % KINDS_SAMPLED);
    *made = (CallKind){.kind = kind, .smallest = INT32_MAX, .largest = INT32_MIN};
    made->sample.varies = true;
    return made;
}

/* What is known says nothing of a call four times as large, or small, as those compared. */
static void
kind_meets(CallKind *kind, int size)
{
    Sample *sample = &kind->sample;
    bool settled = sample_is_settled(sample);
    if (settled && (sample->slower ? size > kind->largest + 1 : size < kind->smallest - 1))
        sample_again(sample);
    else if (settled)
        return;
    kind->smallest = Py_MIN(kind->smallest, size);
    kind->largest = Py_MAX(kind->largest, size);
}

/* What became of a timed call of the kind, if that is not forgotten. */
static void
kind_judge(Held *held, uint64_t kind, SampleWay way, int64_t began, int64_t saved, bool done)
{
    SampledCalls *calls = &held->state->calls;
    Sample *sample = &kind_find(calls, kind)->sample;
    if (sample->look == 0) {
        call_is_timed = false;
        return;
    }
    sample_judge(sample, held->state->code, way, began, 0, saved, done);
    if (sample->stage != STAGE_PLAIN || way == SAMPLE_PLAN) { /* else the plain code is warm now */
        calls->dice = calls->dice * 1664525u + 1013904223u;   /* Numerical Recipes, ranqd1 */
        sample->wait += 1 + (int32_t)(calls->dice >> 16) % DICE;
    }
    if (!sample->mixed || calls->by_size) return;
    calls->by_size = true;
    memset(calls->kinds, 0, sizeof(calls->kinds));
}

/* The calls until one is long, or a comparison begins.  Most functions never get farther. */
static PyObject *
call_looking(Held *held, PyFunctionObject *function, PyObject *const *args, size_t nargsf,
             PyObject *kwnames)
{
    SampledCalls *calls = &held->state->calls;
    if (--calls->wait > 0 || calls->look == 0) {
        if (calls->look == 0) calls->wait = calls->look = FIRST_LOOK;
        return hook_call(function, args, nargsf, kwnames, run_frame, held);
    }
    bool tries = calls->look >= SHORT_LOOK, allowed = sample_allowed(held->state->config);
    calls->look = Py_MIN(2 * calls->look, MOST_WAIT);
    if (tries) calls->look = Py_MAX(calls->look, SHORTS_REST);
    calls->wait = allowed ? calls->look : MOST_WAIT;
    int64_t began = clock_ns();
    PyObject *result = hook_call(function, args, nargsf, kwnames, run_frame, held);
    if (!allowed || held->covered) return result; /* one plan for all is compared by itself */
    calls->by_kind = sample_took(began) >= LOOKED_UP_NS;
    calls->shorts = tries ? SHORTS : 0;
    return result;
}

/* No more than KNOWN_TIMES plain calls take, if the call that began then is like those. */
static int64_t
at_most_known(const CodeState *state, int64_t began, int64_t saved)
{
    int64_t known = KNOWN_TIMES * account_mean(&state->account), took = sample_took(began);
    return took <= known ? Py_MIN(saved, known - took) : saved;
}

static PyObject *
call_through(Held *held, uint64_t kind, SampleWay way, PyFunctionObject *function,
             PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (way == SAMPLE_NONE) return hook_call(function, args, nargsf, kwnames, run_frame, held);
    int64_t before = thread_saved, spent = account_spent();
    TimedLoops loops = timed_loops;
    call_is_timed = true;
    int64_t began = clock_ns();
    PyObject *result = hook_call(function, args, nargsf, kwnames, run_frame, held);
    call_is_timed = false;
    began += account_spent() - spent; /* captures are weighed there */
    int64_t elsewhere = thread_saved - before - (timed_loops.saved - loops.saved);
    int64_t saved = Py_MAX(elsewhere, 0) * UNIT_NS + (timed_loops.ns - loops.ns) * LOOP_GAIN;
    Sample *sample = &kind_find(&held->state->calls, kind)->sample;
    /* one plan for all of the call is compared by itself; but where other calls go through several,
       the plain calls of pairs are like this one, too */
    bool alone = held->covered && sample->stage == STAGE_LENGTH;
    if (!alone && saved <= FELT_NS)
        kind_judge(held, kind, way, began, at_most_known(held->state, began, saved),
                   result != NULL);
    else if (sample->look > 0)
        sample_postpone(sample);
    return result;
}

static PyObject *
call_plain(Held *held, uint64_t kind, SampleWay way, PyFunctionObject *function,
           PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (way == SAMPLE_LEFT) return function_call(function, args, nargsf, kwnames);
    CodeState *state = held->state;
    bool before = state->plain_timed;
    state->plain_timed = true;
    int64_t began = sample_begin(way);
    PyObject *result = function_call(function, args, nargsf, kwnames);
    state->plain_timed = before;
    kind_judge(held, kind, way, began, 0, result != NULL);
    return result;
}

PyObject *
call_sampled(Held *held, PyFunctionObject *function, PyObject *const *args, size_t nargsf,
             PyObject *kwnames)
{
    SampledCalls *calls = &held->state->calls;
    if (calls->shorts > 0 && --calls->shorts == 0)
        calls->by_kind = calls->by_kind || calls_slower(held->state) > 0;
    if (!calls->by_kind && calls->shorts == 0)
        return call_looking(held, function, args, nargsf, kwnames);
    int size;
    uint64_t kind = kind_of_call(calls->by_size, args, PyVectorcall_NARGS(nargsf), kwnames, &size);
    CallKind *found = kind_find(calls, kind);
    kind_meets(found, size);
    SampleWay way = sample_next(&found->sample, sample_allowed(held->state->config));
    return way >= SAMPLE_PLAIN ? call_plain(held, kind, way, function, args, nargsf, kwnames)
                               : call_through(held, kind, way, function, args, nargsf, kwnames);
}

int
calls_slower(const CodeState *state)
{
    int slower = 0;
    for (int i = 0; i < KINDS_SAMPLED; i++) slower += state->calls.kinds[i].sample.slower;
    return slower;
}
