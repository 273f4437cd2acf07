/* Whether the runs of a plan that are undone cost more than its other runs save.

   A run that meets what only CPython reports (a floating-point warning, an overflow, an exception)
   is undone, and CPython does it again: what the plan has done until then is lost.  So each plan
   has a balance of time: what its runs save is added, what undone ones have lost is taken away.
   Where that falls below 0, the plan pauses: CPython runs the calls for which it holds.

     - Nothing is counted and no clock is read while no run is undone.  How many good runs there
       were since the last one is told by the plan's debt, which each of them lowers (credit.c).
     - After a run that was undone the next TIMED runs are timed, and so is CPython's run in its
       place.  A plan that covers a call is compared with that; so is one that does not, from its
       beginning to the end of the frame, if it runs once in a frame.  Else the model says what it
       saves, as it does for plans in running loops and for those on a device, whose runs return
       before their work is done.
     - The balance has a ceiling, so that a good past does not hide a bad present.  It begins next
       to empty: a plan that was not measured yet pauses at its first undone run.
     - A paused plan is tried again, since the data may be clean by then.  Each pause is twice as
       long as the one before, until retries that fail cost one part in MOST_SHARE of the time, and
       no shorter than makes them cost one part in LEAST_SHARE.  A retry ends with the first run
       that takes the balance below 0; one that takes the balance to the ceiling ends the doubling.

   A plan keeps its guards while it pauses, which say what calls these are.  Where the clock may
   decide nothing (sample_allowed), an undone run counts as much as a good one, and a plan may have
   CEILING_UNTIMED more of them. */
#include "balance.h"

#include "run.h"

enum {
    TIMED = 4,
    TIMED_FIRST = 64, /* until an undone run was timed */
    CEILING = 4,      /* undone runs */
    CEILING_UNTIMED = 8,
    FIRST_PAUSE = 4, /* calls */
    MOST_PAUSE = 1 << 16,
    MOST_UNTIMED = 256, /* where it is not known what a retry costs */
    LEAST_SHARE = 16,
    MOST_SHARE = 128,
};

/* The least of the times measured, which rises a little with each, since data and machine change;
   0: none was. */
static void
note_time(int64_t *least, int64_t took)
{
    int64_t now = *least + *least / 16;
    *least = *least == 0 || took < now ? Py_MAX(took, 1) : now;
}

/* Runs that were undone differ, in how far they come: the mean of the last ones. */
static void
note_lost(int64_t *mean, int64_t took)
{
    *mean = *mean == 0 ? Py_MAX(took, 1) : Py_MAX(*mean + (took - *mean) / 4, 1);
}

/* ---- what a call does ---- */

/* Each call asks from now on; the sampler waits. */
static void
start_asking(Plan *plan)
{
    Balance *b = &plan->balance;
    if (!b->asks) b->sample_wait = plan->sample.wait;
    b->asks = true;
    plan->sample.wait = 0;
}

SampleWay
balance_way(Plan *plan)
{
    Balance *b = &plan->balance;
    plan->sample.wait = 0;
    if (b->pause > 0) {
        if (report_wanted()) return SAMPLE_NONE;
        if (--b->pause > 0) return SAMPLE_PAUSED;
        return b->timed > 0 ? SAMPLE_PAUSED_TIMED : SAMPLE_PAUSED; /* the next is a retry */
    }
    if (b->timed > 0) {
        b->timed--;
        return SAMPLE_WATCHED;
    }
    b->asks = false;
    plan->sample.wait = b->sample_wait;
    return SAMPLE_NONE;
}

void
balance_plain(Plan *plan, int64_t took)
{
    note_time(&plan->balance.plain_ns, took);
}

void
balance_good(Plan *plan, int64_t took)
{
    note_time(&plan->balance.run_ns, took);
}

/* ---- a run was undone ---- */

void
balance_undone(CodeState *state, Plan *plan, int64_t took, bool interrupted)
{
    state->deopts++;
    thread_saved -= DEOPT_COST;
    if (took > 0) {
        state->deopts_timed++;
        state->undone_ns += took;
        account_lost(took);
        if (!interrupted) note_lost(&plan->balance.lost_ns, took);
    }
}

static void
tell_paused(const CodeState *state, const Balance *b, bool timed)
{
    const char *name = text_of_str(state->code->co_qualname);
    const char *what = "what only CPython reports (floating-point events, overflow, other results "
                       "than predicted); CPython runs such calls until it is tried again";
    if (timed && b->lost_ns > 0)
        log_emit(LOG_PERF_HINTS, "%s: a plan pauses: %.3f ms were lost with each run that met %s",
                 name, (double)b->lost_ns / 1e6, what);
    else
        log_emit(LOG_PERF_HINTS, "%s: a plan pauses: too many of its runs met %s", name, what);
}

/* The calls that CPython runs before the next retry. */
static int32_t
next_pause(const Balance *b)
{
    int64_t least = FIRST_PAUSE, most = MOST_UNTIMED;
    if (b->lost_ns > 0 && b->plain_ns > 0) {
        int64_t lost = Py_MIN(b->lost_ns, INT64_MAX / MOST_SHARE);
        least = Py_MAX(least, Py_MIN(LEAST_SHARE * lost / b->plain_ns, MOST_PAUSE));
        most = Py_MAX(least, Py_MIN(MOST_SHARE * lost / b->plain_ns, MOST_PAUSE));
    }
    return (int32_t)Py_MAX(least, Py_MIN(2 * (int64_t)b->last_pause, most));
}

/* ns that one good run saves. */
static int64_t
saving_of(const Plan *plan)
{
    const Balance *b = &plan->balance;
    if (b->run_ns > 0 && b->plain_ns > 0 && !b->repeats && !plan->uses_device)
        return b->plain_ns - b->run_ns;
    return (int64_t)plan->saves * UNIT_NS;
}

/* False: the plan does harm. */
static bool
enter_undone(Plan *plan, bool timed)
{
    Balance *b = &plan->balance;
    int64_t runs = (b->debt - plan->debt) / Py_MAX(plan->saves, LEAST_SAVED);
    int64_t measured = b->lost_ns > 0 ? b->lost_ns : b->run_ns;
    int64_t lost = timed ? measured : 1, saves = timed ? saving_of(plan) : 1;
    int64_t ceiling = lost * (timed ? CEILING : CEILING_UNTIMED);
    b->debt = plan->debt;
    if (lost == 0) return runs > 0; /* not known yet */
    if (saves > 0 && runs >= (ceiling - b->balance) / saves + 1) {
        b->balance = ceiling;
        b->last_pause = 0;
    } else {
        b->balance += Py_MAX(saves, -ceiling) * Py_MIN(runs, 1 << 16);
    }
    b->balance -= lost;
    return b->balance >= 0;
}

void
balance_judge(const CodeState *state, Plan *plan, int64_t took)
{
    Balance *b = &plan->balance;
    bool timed = sample_allowed(state->config);
    if (took > 0) balance_plain(plan, took);
    if (b->pause > 0) return; /* no retry: a report is collected, for which it runs */
    b->timed = !timed ? 0 : b->lost_ns > 0 ? TIMED : TIMED_FIRST;
    if (!enter_undone(plan, timed)) {
        b->balance = 0;
        b->pause = b->last_pause = next_pause(b);
        if (!b->told) tell_paused(state, b, timed);
        b->told = true;
    }
    if (timed || b->pause > 0) start_asking(plan);
}

void
balance_begin(Plan *plan)
{
    plan->balance.debt = plan->debt;
    plan->balance.balance = CEILING_UNTIMED; /* next to nothing, in ns */
}
