/* Whether a plan is faster than the plain code that it replaced.

   The cost model (capture/control/worth.c) knows orders of magnitude only, and its errors hurt in
   long runs and in short ones of which there are many.  So a plan that covers a whole call and
   takes LONG_NS, or SHORT_NS after MANY_CALLS, is compared with CPython now and then: one call runs
   the plan, the next one the plain function, and both are timed.  Which of the two runs makes no
   difference to the program.  A plain call of less than LONG_NS would be found slow because it is
   the first for some time (its code is not in the caches, nor specialised, that of the plan is): it
   is the one after that which is timed.  Calls that go through several plans, with CPython's
   instructions between them, are compared likewise, as a whole (sample_calls.c).

     - The first comparison comes when the plan has run as long as SHARE plain calls are estimated
       to take, later ones SHARE measured calls after the last.  A comparison of a plan that is much
       faster therefore costs at most one part in SHARE of the time.
     - PAIRS_WON pairs in which the plan is not slower settle that it stays; PAIRS_LOST in which it
       is slower settle that CPython runs such calls, if the shortest run of each says the same.
       Where the machine is busy pairs are won and lost by chance: then more are run, and after
       MOST_PAIRS the shortest runs alone decide.  The plan that is left keeps its place and its
       guards, which say what calls these are.
     - What was found is looked at again later, since the machine may have been busy; the waits
       double.
     - Calls through several plans differ in their work, which what is seen of their arguments does
       not tell: their shortest runs say nothing of the others.  There the logarithms of the pairs'
       quotients decide, by their sum over the root of the sum of their squares, which is
       sqrt(n) where n pairs say the same, and the sums of times, which must not say otherwise.

   A kept loop may be so much faster than CPython's that a plain call would be felt: where the time
   spent in kept loops allows a plain call longer than FELT_NS, nothing is compared.

   Where the user insists on plans (fullgraph, plan_always, a backend) none is sampled, and none
   while reports are collected. */
#include "entry.h"
#include "hooks.h"

#include <math.h>

enum {
    FIRST_REST = 512,
    MANY_CALLS = 1024,
    SHORT_NS = 1000, /* for less the clock is too coarse */
    SHARE = 16,
    PAIRS_WON = 3,
    PAIRS_LOST = 5,
    MOST_PAIRS = 16,
    VARYING_WON = 6, /* calls whose work varies say by chance, too, that a plan is faster */
    MOST_VARYING = 48,
    LIKELY = 3, /* the square of what the logarithms say */
    EVEN_PERCENT = 125,
    SOON = 64,            /* calls until even ones are compared again */
    SLOWER_PERCENT = 103, /* a plan is slower if it takes more than so much of the plain call … */
    LEFT_NS = 150,        /* … and what calls cost that CPython runs in its place */
};

static const double MOST_LOG = 1.5;

_Thread_local bool call_is_timed;
_Thread_local int loops_timed;
static _Thread_local int64_t loops_before; /* timed_loops.ns when the outermost of these began */

/* For tests: how long a plan and a plain call take, and a run that is undone; 0: the clock decides.
 */
static int64_t pretended_plan_ns, pretended_plain_ns, pretended_undone_ns;

static int32_t
doubled(int32_t wait)
{
    return wait < MOST_WAIT / 2 ? 2 * wait : MOST_WAIT;
}

/* How many runs of the plan take SHARE times as long as the plain calls of a comparison. */
static int32_t
runs_worth(int64_t plain_ns, int64_t plan_ns)
{
    int calls = plan_ns < LONG_NS ? 2 : 1;
    int64_t runs = SHARE * calls * plain_ns / Py_MAX(plan_ns, 1);
    return (int32_t)Py_MAX(1, Py_MIN(runs, MOST_WAIT));
}

bool
sample_allowed(const Config *config)
{
    return config->sample && !config->fullgraph && !config->plan_always && !config->capture_all &&
           config->backend_call == NULL;
}

static bool
may_sample(const Plan *plan, const Config *config)
{
    return sample_allowed(config) && plan_is_whole(plan) &&
           !plan->uses_device; /* whose calls return before their work is done */
}

SampleWay
sample_choose(Sample *sample, bool may)
{
    if (sample->look == 0) {
        sample->look = sample->wait = FIRST_LOOK;
        sample->rest = FIRST_REST;
        if (!may) sample->wait = MOST_WAIT;
        return SAMPLE_NONE;
    }
    sample->wait = 0;
    bool rests = sample->slower && sample->until > 0;
    if (rests) sample->until--;
    if (rests || call_is_timed || report_wanted())
        return sample->slower ? SAMPLE_LEFT : SAMPLE_NONE;
    if (may) return sample->stage >= STAGE_WARM ? SAMPLE_PLAIN : SAMPLE_PLAN;
    sample->wait = MOST_WAIT;
    return SAMPLE_NONE;
}

SampleWay
sample_decide(Plan *plan, const Config *config)
{
    if (plan->balance.asks) {
        SampleWay way = balance_way(plan);
        if (plan->balance.asks || --plan->sample.wait > 0) return way;
    }
    return sample_choose(&plan->sample, may_sample(plan, config));
}

/* ---- what is found ---- */

static void
put_time(int64_t ns, char *out, size_t size)
{
    bool long_ = ns >= 1000000;
    snprintf(out, size, "%.3f %s", (double)ns / (long_ ? 1e6 : 1e3), long_ ? "ms" : "us");
}

static void
tell_slower(const Sample *sample, PyCodeObject *code)
{
    char compiled[32], plain[32];
    int pairs = sample->won + sample->lost, share = sample->varies ? pairs : 1;
    put_time(sample->compared_plan_ns / share, compiled, sizeof compiled);
    put_time(sample->compared_plain_ns / share, plain, sizeof plain);
    log_emit(LOG_PERF_HINTS,
             "%s (%s:%d): calls like the last one took %s compiled and %s plain (%s of %d each); "
             "CPython runs them until they are compared again",
             text_of_str(code->co_qualname), text_of_str(code->co_filename), code->co_firstlineno,
             compiled, plain, sample->varies ? "mean" : "best", pairs);
}

/* Calls through plans that gain next to nothing: to compare them costs nothing either, and further
   plans may lose more. */
static bool
is_even(const Sample *sample)
{
    return sample->varies &&
           sample->compared_plain_ns * 100 < sample->compared_plan_ns * EVEN_PERCENT;
}

static void
settle(Sample *sample, PyCodeObject *code, bool slower)
{
    bool soon = !slower && is_even(sample);
    if (slower && !sample->slower) tell_slower(sample, code);
    sample->slower = slower;
    sample->until = sample->rest;
    sample->wait = slower ? 0 : soon ? SOON : sample->rest;
    if (!soon) sample->rest = doubled(sample->rest);
    sample->won = sample->lost = 0;
    sample->stage = slower ? STAGE_PLAN : STAGE_LENGTH;
}

bool
sample_is_settled(const Sample *sample)
{
    return sample->rest > FIRST_REST && sample->won + sample->lost == 0;
}

void
sample_again(Sample *sample)
{
    sample->until = sample->wait = 0;
    sample->rest = FIRST_REST;
}

void
sample_postpone(Sample *sample)
{
    sample->wait = sample->look = doubled(sample->look);
}

static void
judge_length(Sample *sample, int64_t plan_ns, int64_t least_ns, int64_t estimate)
{
    if (plan_ns < least_ns) {
        sample_postpone(sample);
        return;
    }
    sample->stage = STAGE_PLAN;
    sample->wait = runs_worth(estimate, plan_ns);
}

static bool
is_slower(int64_t plan_ns, int64_t plain_ns)
{
    return (plan_ns - LEFT_NS) * 100 > plain_ns * SLOWER_PERCENT;
}

/* Of calls that do the same: is the plan slower?  -1: not known yet. */
static int
judge_alike(Sample *sample, int64_t plan_ns, int64_t plain_ns)
{
    bool first = sample->won + sample->lost == 1;
    if (first || plan_ns < sample->compared_plan_ns) sample->compared_plan_ns = plan_ns;
    if (first || plain_ns < sample->compared_plain_ns) sample->compared_plain_ns = plain_ns;
    bool slower = is_slower(sample->compared_plan_ns, sample->compared_plain_ns);
    bool known = sample->won + sample->lost >= MOST_PAIRS ||
                 (slower ? sample->lost >= PAIRS_LOST : sample->won >= PAIRS_WON);
    return known ? slower : -1;
}

/* Likewise of calls whose work varies. */
static int
judge_varying(Sample *sample, int64_t plan_ns, int64_t plain_ns)
{
    int pairs = sample->won + sample->lost;
    if (pairs == 1) sample->compared_plan_ns = sample->compared_plain_ns = 0;
    if (pairs == 1) sample->logs = sample->squares = 0;
    double more = log((double)Py_MAX(plan_ns - LEFT_NS, 1) / (double)Py_MAX(plain_ns, 1));
    more = fmax(-MOST_LOG, fmin(more, MOST_LOG)); /* one that had next to nothing to do */
    sample->logs += more;
    sample->squares += more * more;
    sample->compared_plan_ns += plan_ns;
    sample->compared_plain_ns += plain_ns;
    bool slower = is_slower(sample->compared_plan_ns / pairs, sample->compared_plain_ns / pairs);
    int least = sample->logs > 0 ? PAIRS_LOST : VARYING_WON;
    /* a little less than the root of `least`, since equal pairs are rounded */
    bool clear = pairs >= least && sample->logs * sample->logs >= (least - 0.01) * sample->squares;
    if (clear && slower == (sample->logs > 0)) return slower;
    int64_t plans = sample->compared_plan_ns, plains = sample->compared_plain_ns;
    bool against = sample->logs > 0 ? plans * EVEN_PERCENT < plains * 100
                                    : plains * EVEN_PERCENT < plans * 100;
    bool likely = sample->logs * sample->logs >= LIKELY * sample->squares;
    sample->mixed = against && likely && pairs >= MOST_PAIRS;
    return pairs >= MOST_VARYING ? slower : -1;
}

/* The calls until the next pair: what plain ones take longer is to cost one part in SHARE of the
 * time. */
static int32_t
varying_wait(const Sample *sample)
{
    int64_t plan_ns = sample->compared_plan_ns;
    int64_t more = Py_MAX(sample->compared_plain_ns - plan_ns, 0);
    int calls = plan_ns / (sample->won + sample->lost) < LONG_NS ? 2 : 1;
    return (int32_t)Py_MIN(SHARE * calls * more / Py_MAX(plan_ns, 1), MOST_WAIT);
}

static void
judge_pair(Sample *sample, PyCodeObject *code, int64_t plain_ns)
{
    int64_t plan_ns = sample->plan_ns;
    if (is_slower(plan_ns, plain_ns))
        sample->lost++;
    else
        sample->won++;
    sample->stage = STAGE_PLAN;
    int slower = sample->varies ? judge_varying(sample, plan_ns, plain_ns)
                                : judge_alike(sample, plan_ns, plain_ns);
    if (slower >= 0)
        settle(sample, code, slower);
    else if (!sample->slower && sample->varies)
        sample->wait = varying_wait(sample);
    else if (!sample->slower && !is_slower(plan_ns, plain_ns))
        sample->wait = runs_worth(plain_ns, plan_ns); /* else the next pair costs nothing */
}

int64_t
sample_begin(SampleWay way)
{
    if (way == SAMPLE_NONE || way == SAMPLE_LEFT || way == SAMPLE_PAUSED) return 0;
    if (way == SAMPLE_PLAIN) call_is_timed = true;
    if (way == SAMPLE_PLAN && loops_timed++ == 0) loops_before = timed_loops.ns;
    return clock_ns();
}

int64_t
sample_took(int64_t began)
{
    return pretended_plan_ns > 0 ? pretended_plan_ns : clock_ns() - began;
}

int64_t
sample_plain_took(int64_t began)
{
    return pretended_plain_ns > 0 ? pretended_plain_ns : clock_ns() - began;
}

bool
sample_is_pretended(void)
{
    return pretended_plan_ns > 0;
}

void
sample_judge(Sample *sample, PyCodeObject *code, SampleWay way, int64_t began, int64_t least_ns,
             int64_t saved, bool done)
{
    if (way == SAMPLE_NONE || way == SAMPLE_LEFT) return;
    int64_t took = way == SAMPLE_PLAIN ? sample_plain_took(began) : sample_took(began);
    if (way == SAMPLE_PLAIN) call_is_timed = false;
    if (!done) { /* the pair is lost */
        if (sample->stage >= STAGE_WARM) sample->stage = STAGE_PLAN;
        if (!sample->slower) sample->wait = FIRST_LOOK;
    } else if (sample->stage == STAGE_WARM) {
        sample->stage = STAGE_PLAIN;
    } else if (way == SAMPLE_PLAIN) {
        judge_pair(sample, code, took);
    } else if (sample->stage == STAGE_LENGTH) {
        judge_length(sample, took, least_ns, took + saved);
    } else {
        sample->plan_ns = took;
        sample->stage = took < LONG_NS ? STAGE_WARM : STAGE_PLAIN;
    }
}

/* Runs that are shorter are not compared. */
static int64_t
least_compared(const Sample *sample)
{
    return sample->look >= MANY_CALLS ? SHORT_NS : LONG_NS;
}

int64_t
sample_end(Plan *plan, PyCodeObject *code, SampleWay way, int64_t began, bool done)
{
    if (way == SAMPLE_NONE) return 0;
    int64_t saved = (int64_t)plan->saves * UNIT_NS, in_loops = 0, took = 0;
    if (began != 0) took = sample_is_plain(way) ? sample_plain_took(began) : sample_took(began);
    if (!done && !sample_is_plain(way) && pretended_undone_ns > 0) took = pretended_undone_ns;
    if (way == SAMPLE_WATCHED || sample_is_paused(way)) {
        if (done && way == SAMPLE_WATCHED && plan_is_whole(plan)) balance_good(plan, took);
        if (done && way == SAMPLE_PAUSED_TIMED) balance_plain(plan, took);
        return took;
    }
    if (way == SAMPLE_PLAN) {
        loops_timed--;
        in_loops = (timed_loops.ns - loops_before) * LOOP_GAIN;
    }
    if (in_loops > FELT_NS)
        sample_postpone(&plan->sample);
    else
        sample_judge(&plan->sample, code, way, began, least_compared(&plan->sample),
                     Py_MAX(saved, in_loops), done);
    if (way == SAMPLE_PLAIN && plan->sample.slower) plan_trim(plan);
    return took;
}

/* ---- what Python sees ---- */

/* test_sample(plan_ns, plain_ns, undone_ns=0): what runs take as timed; 0: what the clock says. */
static PyObject *
hook_sample(PyObject *self, PyObject *args)
{
    (void)self;
    long long plan_ns, plain_ns, undone_ns = 0;
    if (!PyArg_ParseTuple(args, "LL|L", &plan_ns, &plain_ns, &undone_ns)) return NULL;
    pretended_plan_ns = plan_ns;
    pretended_plain_ns = plain_ns;
    pretended_undone_ns = undone_ns;
    Py_RETURN_NONE;
}

PyMethodDef sample_methods[] = {
    {"test_sample", hook_sample, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
