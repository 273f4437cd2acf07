/* Twins: a plan whose lengths are symbols may be slower than one for known lengths, whose kernels
   are laid out for them.  Where it runs long at the same lengths, these get a plan of their own,
   its twin.

   1. One run in a few is timed, and counts for all since the last one: HotLengths.
   2. Lengths that have taken as long as the option `twin_after` says want a twin.  The next call
      with them gets a frame, in which the code is captured with known lengths, and then runs the
      plan as always: the C compiler runs in the background (waiting.c).
   3. A twin is a plan with guards of its own, which are checked instead of the plan's.  It lives as
      long as the plan, and is no recompile: no guard has failed.
   4. One that is no faster than the plan in a few runs of each is dropped.

   Under another stance than "default" none is made, since that takes a capture. */
#include "twins.h"

enum {
    LOOK_EVERY = 16,      /* runs: one is timed … */
    LONG_RUN = 500000,    /* … or each, if they take so many ns */
    RUNS_TIMED = 8,       /* of a twin, until it is judged */
    SLOWER_PERCENT = 103, /* of the plan's shortest run: a twin that takes more is slower */
    NS_PER_MS = 1000000,
};

/* Without memory there are none.  On a device a grid is laid out by the lengths of the call. */
void
twins_may_come(Plan *plan)
{
    if (!plan->uses_device && (plan->twins = mem_alloc(sizeof(Twins))) == NULL) PyErr_Clear();
}

void
twins_free(Twins *twins)
{
    if (twins == NULL) return;
    for (int i = 0; i < twins->count; i++) plan_release(twins->twin[i].plan);
    waiting_free(twins->waiting);
    mem_free(twins);
}

Plan *
twins_hold(const Twins *twins, const Roots *roots, PyObject **reached)
{
    int failed;
    for (int i = 0; i < twins->count; i++)
        if (guards_check(twins->twin[i].plan->guards, roots, reached, &failed))
            return twins->twin[i].plan;
    return NULL;
}

/* ---- lengths ---- */

/* Of the lengths and ints from outside that are symbols of the plan. */
static uint64_t
key_of(const Plan *plan, PyObject *const *reached)
{
    uint64_t hash = 1;
    for (int i = 0; i < plan->ndynamic; i++) {
        int64_t value;
        const PlanSize *size = &plan->dynamic[i];
        if (size->kind != SIZE_DIM) continue;
        if (plan_size_read(plan, size, reached, &value) != ANSWER_YES) return 0;
        hash = (hash ^ (uint64_t)value) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Those of the key.  Unless they are there, those at which the plan has run least give way. */
static HotLengths *
hot_lengths(Twins *twins, uint64_t key)
{
    HotLengths *least = &twins->hot[0];
    for (int i = 0; i < HOT_LENGTHS; i++) {
        HotLengths *hot = &twins->hot[i];
        if (hot->key == key) return hot;
        if (hot->key == 0 || (least->key != 0 && hot->ns < least->ns)) least = hot;
    }
    for (int i = 0; i < HOT_LENGTHS; i++) /* new ones come to stay where old ones are left */
        twins->hot[i].ns -= twins->hot[i].ns / (2 * HOT_LENGTHS);
    *least = (HotLengths){.key = key};
    return least;
}

static int
twin_number(const Twins *twins, const Plan *plan)
{
    for (int i = 0; i < twins->count; i++)
        if (twins->twin[i].plan == plan) return i;
    return -1;
}

/* ---- twins come and go ---- */

/* Ends a plan, which may run code of the program. */
static void
drop_twin(Twins *twins, int number)
{
    Plan *plan = twins->twin[number].plan;
    twins->twin[number] = twins->twin[--twins->count];
    plan_release(plan);
}

/* Does it end where the plan does, and need no more of a call? */
static bool
does_the_same(const Plan *plan, const Plan *twin)
{
    return twin->exit.kind == plan->exit.kind && twin->exit.number == plan->exit.number &&
           twin->whole == plan->whole &&
           guards_last_slot(twin->guards) <= guards_last_slot(plan->guards);
}

/* Takes the twin over. */
static void
add_twin(Plan *plan, Plan *twin, uint64_t key)
{
    Twins *twins = plan->twins;
    if (!does_the_same(plan, twin)) {
        plan_release(twin);
        return;
    }
    twin->sample = plan->sample;
    twin->debt = 0;
    Plan *before = NULL;
    int at = twins->count;
    if (at == MOST_TWINS) {
        at = twins->next++ % MOST_TWINS;
        before = twins->twin[at].plan;
    } else {
        twins->count++;
    }
    twins->twin[at] = (Twin){twin, key};
    plan_release(before);
}

int
twins_take(Plan *plan)
{
    Twins *twins = plan->twins;
    Plan *twin = NULL;
    CompileNote note = {0};
    if (background_runs(waiting_ticket(twins->waiting))) return 0;
    uint64_t key = twins->waits_for;
    plan_acquire(plan); /* a collection may run code that resets all */
    Answer answer = waiting_take(&twins->waiting, &twin, &note);
    guards_free(note.guards);
    if (twin != NULL) add_twin(plan, twin, key);
    plan_release(plan);
    return answer == ANSWER_ERROR ? -1 : 0;
}

/* ---- what runs take ---- */

/* Is it seen by now whether the twin is faster? */
static void
judge_twin(Twins *twins, int number, int64_t took)
{
    HotLengths *hot = hot_lengths(twins, twins->twin[number].key);
    bool first = hot->timed == 0;
    hot->done = true;
    if (hot->timed >= RUNS_TIMED || hot->least == 0)
        return; /* 0: other lengths were hotter since */
    if (first || took < hot->least_twin) hot->least_twin = took;
    hot->timed++;
    if (hot->timed == RUNS_TIMED && hot->least_twin * 100 > hot->least * SLOWER_PERCENT)
        drop_twin(twins, number);
}

TwinsLook
twins_time(Plan *plan, Plan *runs, PyObject *const *reached)
{
    Twins *twins = plan->twins;
    twins->wait = Py_MAX(twins->waited, 1);
    uint64_t key = runs == plan ? key_of(plan, reached) : 1;
    return (TwinsLook){key != 0 ? clock_ns() : 0, key};
}

void
twins_ran(CodeState *state, Plan *plan, const Plan *ran, TwinsLook look)
{
    Twins *twins = plan->twins;
    int64_t took = sample_took(look.began), after = state->config->twin_after;
    int32_t runs = Py_MAX(twins->waited, 1);
    twins->wait = twins->waited = took > LONG_RUN ? 1 : LOOK_EVERY;
    if (ran != plan) {
        int number = twin_number(twins, ran);
        if (number >= 0) judge_twin(twins, number, took);
        return;
    }
    HotLengths *hot = hot_lengths(twins, look.key);
    hot->ns += took * runs;
    if (hot->least == 0 || took < hot->least) hot->least = took;
    if (hot->done || hot->ns < after * NS_PER_MS) return;
    if (twins->waiting != NULL || !stance_is_default()) return;
    bool decides = account_decides(state->config);
    if (decides && !account_affords(&state->account, state->decoded->count)) return;
    if (!background_has_room()) return;
    twins->wanted = look.key;
    twins->asks = true;
}

/* ---- making one ---- */

bool
twins_wanted(Plan *plan, PyObject *const *reached)
{
    Twins *twins = plan->twins;
    if (twins == NULL || twins->wanted == 0 || key_of(plan, reached) != twins->wanted) return false;
    return stance_is_default();
}

Answer
twins_make(Plan *plan, CaptureRequest request)
{
    Twins *twins = plan->twins;
    Patience patience = {.later = true, .twin_of = plan->number};
    CompileNote note = {0};
    Plan *twin = NULL;
    uint64_t key = twins->wanted;
    twins->wanted = 0;
    twins->asks = false;
    hot_lengths(twins, key)->done = true;
    request.known = true;
    int64_t began = account_clock(CLOCK_THREAD_CPUTIME_ID);
    plan_acquire(plan); /* a collection may run code that resets all */
    Answer answer = compile_plan(&request, NULL, NULL, patience, &twin, &note);
    account_lost(account_clock(CLOCK_THREAD_CPUTIME_ID) - began);
    guards_free(note.guards);
    if (answer == ANSWER_ERROR && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear(); /* a graph break, say: the plan is there */
        answer = ANSWER_NO;
    }
    waiting_free(twins->waiting);
    twins->waiting = note.waiting;
    twins->waits_for = key;
    if (twin != NULL) add_twin(plan, twin, key);
    plan_release(plan);
    return answer;
}
