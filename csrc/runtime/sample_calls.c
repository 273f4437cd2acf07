/* Whether calls that go through several plans are faster than plain ones.

   CPython cannot be timed between two instructions, so such a call is compared as a whole: with
   what the plans cost, what is looked for between them, and what was made anew.  One call of two
   goes through the plans, the other one is plain, as in sample.c.  Which of them runs makes no
   difference to the program, but calls differ in their work: compared are those with arguments of
   the same types, whose arrays, sequences and numbers are about as large.

   Short calls are compared, too, since what leads from plan to plan takes longer than such a call
   may take in CPython, which the model knows by the order of magnitude only.  To look up a call's
   kind each time would cost more than that is worth, so that comparisons of SHORTS calls come at
   growing intervals, until one finds calls that are faster without plans.

   Calls of the same function inside a plain one that is compared are plain: recursion through plans
   would be compared with itself.

   How long a plain call would take is estimated from the time that the call has spent in kept
   loops, too, as in sample.c. */
#include "run.h"

#include <math.h>

enum {
    SHORT_LOOK = 1024, /* calls before the look that begins a comparison of short ones */
    SHORTS = 4096,
    SHORTS_REST = 8 * SHORTS, /* least calls between two comparisons */
};

_Thread_local TimedLoops timed_loops;

static int
bits(uint64_t number)
{
    return number > 0 ? 64 - __builtin_clzll(number) : 0;
}

/* Its type, and how large it is within a factor of two. */
static uint64_t
kind_of(PyObject *object)
{
    int64_t elements = credit_elements(object), length = sequence_length(object);
    uint64_t size = (uint64_t)bits((uint64_t)Py_MAX(elements, length));
    int overflow, exponent;
    if (PyFloat_CheckExact(object)) {
        frexp(PyFloat_AS_DOUBLE(object), &exponent);
        size = (uint64_t)exponent;
    } else if (PyLong_CheckExact(object)) {
        int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
        size = (uint64_t)bits(value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    }
    return (uint64_t)(uintptr_t)Py_TYPE(object) ^ size << 56;
}

static uint64_t
kind_of_call(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t all = nargs + (kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0);
    uint64_t kind = (uint64_t)(uintptr_t)kwnames + (uint64_t)all + 1;
    for (Py_ssize_t i = 0; i < all; i++) kind = kind * 0x100000001b3u ^ kind_of(args[i]);
    return kind;
}

/* Not to be kept across a call, in which other calls may forget the kind. */
static Sample *
sample_of(SampledCalls *calls, uint64_t kind)
{
    for (int i = 0; i < KINDS_SAMPLED; i++)
        if (calls->kinds[i].kind == kind) return &calls->kinds[i].sample;
    CallKind *made = &calls->kinds[calls->next];
    calls->next = (int8_t)((calls->next + 1) % KINDS_SAMPLED);
    *made = (CallKind){.kind = kind};
    return &made->sample;
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
    calls->by_kind = sample_took(began) >= LONG_NS;
    calls->shorts = tries ? SHORTS : 0;
    return result;
}

static PyObject *
call_through(Held *held, uint64_t kind, SampleWay way, PyFunctionObject *function,
             PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (way == SAMPLE_NONE) return hook_call(function, args, nargsf, kwnames, run_frame, held);
    int64_t before = thread_saved;
    TimedLoops loops = timed_loops;
    call_is_timed = true;
    int64_t began = clock_ns();
    PyObject *result = hook_call(function, args, nargsf, kwnames, run_frame, held);
    call_is_timed = false;
    int64_t elsewhere = thread_saved - before - (timed_loops.saved - loops.saved);
    int64_t saved = Py_MAX(elsewhere, 0) * UNIT_NS + (timed_loops.ns - loops.ns) * LOOP_GAIN;
    Sample *sample = sample_of(&held->state->calls, kind);
    if (sample->look == 0) return result; /* forgotten meanwhile */
    /* one plan for all of the call is compared by itself */
    if (held->covered || saved > FELT_NS)
        sample_postpone(sample);
    else
        sample_judge(sample, held->state->code, way, began, 0, saved, result != NULL);
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
    Sample *sample = sample_of(&state->calls, kind);
    if (sample->look == 0) /* forgotten meanwhile */
        call_is_timed = false;
    else
        sample_judge(sample, state->code, way, began, 0, 0, result != NULL);
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
    uint64_t kind = kind_of_call(args, PyVectorcall_NARGS(nargsf), kwnames);
    SampleWay way = sample_next(sample_of(calls, kind), sample_allowed(held->state->config));
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
