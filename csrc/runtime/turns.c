/* Plans in the turns of a loop that CPython runs, against CPython's own turns.

   To get into a plan and out of it in each turn may take longer than the plan saves, which the cost
   model knows by the order of magnitude only; whole calls are compared, too (sample_calls.c), but
   one call may make 100,000 turns.  So the turns are compared within a call:

     1. After TURNS_FIRST runs of plans in a frame, turns of the outermost `for` loop around are
        timed, WINDOWS times TURNS of them or more; the fastest count.  Of another loop a turn is
        what lies between two runs of the plan that was looked at first.
     2. Where it is doubtful whether they save anything, CPython runs the rest of the call, timed,
        and the loop's iterator tells afterwards how many turns that were.  It is not doubtful where
        kept loops take a noticeable part of a turn, since they are many times as fast, nor where
        the model says that more is saved than a turn takes.  Not compared are loops before others,
        which CPython would run, too.
     3. A loop without such an iterator, or whose kept loops may save much, makes STEPPED turns by
        steps instead, or as many as take the time of so many with plans.  A step takes STEP_NS
        longer than CPython's instruction, at least.
     4. If CPython's turns took less time, such turns are left to it from the next call on, as soon
        as one begins; after steps also in the rest of this call.  What was found is looked at again
        after a number of calls, which doubles.

   Timed is what this thread ran: few turns are compared with many, in which other threads and
   processes may have had the processor.  CPython's turns are no slower than plain ones, so a
   comparison loses nothing but what the plans would have saved in that one call. */
#include "turns.h"

#include "earn.h"

#include "run.h"

#include "live.h"

enum {
    TURNS = 32,
    WINDOWS = 4,
    MOST_RUNS = 64 * TURNS_FIRST, /* until there were so many turns */
    LOOP_NOTICED = 100,           /* ns of a turn; and from here on it is no short one, … */
    LONG_TURN = 1000000,          /* … in which other threads may have done a part */
    LONG_LOOP = 2000,             /* ns of a turn, which by steps would be felt */
    STEPPED = 64,
    STEP_NS = 30,
    FIRST_REST = 16, /* calls */
    MOST_REST = 1 << 16,
    SLOWER_PERCENT = 103,
};

/* Does a loop begin behind those around the Instr? */
static bool
has_loops_behind(const Decoded *d, int number)
{
    int end = number;
    for (int i = number; i < d->count; i++)
        if (d->instrs[i].target >= 0 && d->instrs[i].target <= number) end = i;
    for (int i = end + 1; i < d->count; i++)
        if (d->instrs[i].target > end && d->instrs[i].target <= i) return true;
    return false;
}

static void
rest(Entry *entry)
{
    TurnsNote *note = &entry->turns;
    note->length = note->length == 0 ? FIRST_REST : Py_MIN(2 * note->length, MOST_REST);
    note->rest = note->length;
}

/* Turns that are left; of those that nothing tells the number of, after those so far. */
static int64_t
left_of(const Turns *t)
{
    return t->iterator != NULL ? earn_turns_left(t->iterator) : (int64_t)INT32_MAX - t->passes;
}

static bool
never_again(Turns *t)
{
    t->next = INT32_MAX;
    return false;
}

static void
begin_window(Turns *t, const CodeState *state)
{
    t->next = t->runs + TURNS_FIRST;
    t->left = left_of(t);
    t->loops = timed_loops;
    t->saved = thread_saved;
    t->compiles = state->compiles;
    t->began = clock_ran_ns();
}

static bool
begin(Turns *t, const CodeState *state, Entry *entry, int number, PyObject *const *stack, int depth)
{
    PyObject *iterator = NULL;
    for (int i = depth; i-- > 0;)
        if (earn_turns_left(stack[i]) >= 4 * TURNS) iterator = stack[i];
    if (entry->turns.rest > 0) {
        entry->turns.rest--;
        return never_again(t);
    }
    if (!sample_allowed(state->config) || report_wanted() || call_is_timed ||
        has_loops_behind(state->decoded, number))
        return never_again(t);
    t->iterator = Py_XNewRef(iterator);
    t->entry = entry;
    t->times = true;
    loops_timed++;
    begin_window(t, state);
    return false;
}

/* What may be lost where CPython makes the turns?  Of kept loops the most that they can have saved.
 */
static Doubt
doubt_of(const Turns *t, int64_t took, int64_t turns)
{
    int64_t loops = sample_is_pretended() ? 0 : timed_loops.ns - t->loops.ns;
    int64_t elsewhere = thread_saved - t->saved - (timed_loops.saved - t->loops.saved);
    if (took >= LONG_TURN * turns || loops >= LONG_LOOP * turns) return DOUBT_NONE;
    bool little = loops < LOOP_NOTICED * turns && elsewhere * UNIT_NS < took;
    return little && t->iterator != NULL ? DOUBT_REST : DOUBT_SOME;
}

/* The window has ended: the fastest of some counts, without what was compiled in one. */
static void
end_window(Turns *t, const CodeState *state, int64_t turns)
{
    int64_t took = sample_took(clock_ns() - (clock_ran_ns() - t->began));
    if (state->compiles == t->compiles) {
        t->doubt = Py_MAX(t->doubt, doubt_of(t, took, turns));
        if (t->windows++ == 0 || took * t->plan_turns < t->plan_ns * turns) {
            t->plan_ns = took;
            t->plan_turns = turns;
        }
    }
    begin_window(t, state);
}

/* CPython's turns, so many, took so long. */
static void
settle(Turns *t, const CodeState *state, int64_t took, int64_t made)
{
    TurnsNote *note = &t->entry->turns;
    bool slower = t->plan_ns * made * 100 > took * t->plan_turns * SLOWER_PERCENT;
    if (slower && !note->slower)
        log_emit(LOG_PERF_HINTS,
                 "%s: a turn of a loop took %lld ns with plans and %lld ns in CPython, which runs "
                 "the loop until they are compared again",
                 text_of_str(state->code->co_qualname), (long long)(t->plan_ns / t->plan_turns),
                 (long long)(took / made));
    if (slower) account_lost((t->plan_ns / t->plan_turns - took / made) * t->runs);
    if (slower != note->slower) note->length = 0;
    note->slower = slower;
    rest(t->entry);
}

bool
turns_look(Turns *t, const CodeState *state, Entry *entry, int number, PyObject *const *stack,
           int depth)
{
    if (!t->times) return begin(t, state, entry, number, stack, depth);
    int64_t left = left_of(t), turns = t->left - left;
    t->next = t->runs + TURNS_FIRST;
    if (turns >= TURNS) end_window(t, state, turns);
    bool done = t->windows == WINDOWS;
    if (!done && t->runs < MOST_RUNS && left >= 2 * TURNS) return false;
    t->times = false;
    loops_timed--;
    bool asks = done && left >= 2 * TURNS;
    t->leaves = asks && t->doubt == DOUBT_REST;
    t->steps = asks && t->doubt == DOUBT_SOME;
    if (t->steps) begin_window(t, state);
    if (done && !t->leaves && !t->steps) rest(t->entry);
    return t->leaves || never_again(t);
}

/* ns that this thread has run since the window began, by the test's clock of plain turns. */
static int64_t
plain_time(const Turns *t)
{
    return sample_plain_took(clock_ns() - (clock_ran_ns() - t->began));
}

bool
turns_stepped(Turns *t, const CodeState *state, int instrs)
{
    t->passes++;
    t->stepped += instrs;
    int64_t made = t->left - left_of(t), took = plain_time(t);
    if (made < STEPPED && took < t->plan_ns / t->plan_turns * STEPPED) return false;
    t->steps = false;
    settle(t, state, Py_MAX(took - t->stepped * STEP_NS, took / 4), Py_MAX(made, 1));
    return t->entry->turns.slower;
}

void
turns_judge(Turns *t, const CodeState *state)
{
    int64_t took = plain_time(t);
    int64_t made = t->left - left_of(t);
    if (made >= TURNS) settle(t, state, took, made);
}

void
turns_end(Turns *t)
{
    if (t->times) loops_timed--;
    t->times = false;
    Py_CLEAR(t->iterator);
}

bool
turns_left_plain(Entry *entry)
{
    TurnsNote *note = &entry->turns;
    if (!note->slower || report_wanted()) return false;
    if (note->rest > 0) note->rest--;
    note->slower = note->rest > 0;
    return note->slower;
}

int32_t
turns_take_rest(Entry *entry)
{
    int32_t calls = entry->turns.rest;
    entry->turns.rest = 1;
    return calls;
}
