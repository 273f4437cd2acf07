/* Private to runtime/: whether plans are faster than the plain code, by the clock. */
#ifndef PYCOMPILE_RUNTIME_SAMPLE_H
#define PYCOMPILE_RUNTIME_SAMPLE_H

#include "../clock.h"
#include "runtime.h"

enum {
    FIRST_LOOK = 8, /* calls before the first timed one: the first ones fill caches */
    MOST_WAIT = 1 << 24,
    LONG_NS = 100000, /* shorter runs of one plan are not compared */
    UNIT_NS = 30,     /* the unit of capture/control/worth.c */
};

typedef enum {
    SAMPLE_NONE,         /* the plan, or plain code, without the clock */
    SAMPLE_PLAN,         /* the plan, timed */
    SAMPLE_WATCHED,      /* likewise, since runs were undone: balance.c */
    SAMPLE_PLAIN,        /* the plain code, timed */
    SAMPLE_LEFT,         /* the plain code, since it was faster */
    SAMPLE_PAUSED,       /* the plain code, since too much is lost with runs that are undone … */
    SAMPLE_PAUSED_TIMED, /* … and timed */
} SampleWay;             /* in this order: sample_is_plain, sample_is_paused */

/* Of the next timed call.  From STAGE_WARM on it is plain; that of STAGE_WARM does not count. */
typedef enum { STAGE_LENGTH, STAGE_PLAN, STAGE_WARM, STAGE_PLAIN } SampleStage;

typedef struct {
    int32_t wait;  /* calls until the next decision; 0: each call asks */
    int32_t look;  /* length of the last wait for a run that is long; 0: the plan has not run */
    int32_t rest;  /* length of the next wait after a comparison */
    int32_t until; /* while `slower`: calls until the next comparison */
    SampleStage stage;
    bool slower; /* what was found last: CPython runs these calls */
    int8_t won, lost;
    bool varies;     /* these calls differ in their work: means decide */
    bool mixed;      /* … which one says depends on the call */
    int64_t plan_ns; /* of the run that the next plain call is compared with */
    int64_t compared_plan_ns,
        compared_plain_ns; /* the least of this comparison; varies: the sums */
    double logs, squares;  /* varies: of the logarithms of the pairs' quotients */
} Sample;

/* The balance of a plan: balance.c.  In ns, where 0 is unknown. */
typedef struct {
    bool asks;           /* each call asks: its runs are timed, or it pauses */
    bool repeats;        /* it has run again in the frame that it was timed in */
    bool told;           /* the log was */
    int8_t timed;        /* so many runs are timed yet */
    int32_t sample_wait; /* Sample.wait, while each call asks */
    int32_t pause;       /* calls until the plan is tried again; 0: it does not pause */
    int32_t last_pause;  /* the last one's length */
    int64_t debt;        /* the plan's, when its runs were counted last */
    int64_t balance;
    int64_t lost_ns, run_ns, plain_ns; /* of a run that is undone, a good one, a plain one */
} Balance;

/* In a timed call no other is timed. */
extern _Thread_local bool call_is_timed;
/* How many timed runs of plans are under way, whose kept loops are timed. */
extern _Thread_local int loops_timed;

/* The options allow calls to be left to CPython. */
bool sample_allowed(const Config *config);
/* What the next call does; `may`: it may be left to CPython. */
SampleWay sample_choose(Sample *sample, bool may);
static inline SampleWay
sample_next(Sample *sample, bool may)
{
    if (--sample->wait > 0) return sample->slower ? SAMPLE_LEFT : SAMPLE_NONE;
    return sample_choose(sample, may);
}
/* Is it the plain code? */
static inline bool
sample_is_plain(SampleWay way)
{
    return way >= SAMPLE_PLAIN;
}
/* Is it that because the plan pauses? */
static inline bool
sample_is_paused(SampleWay way)
{
    return way >= SAMPLE_PAUSED;
}
/* What plans have done of a call that CPython goes on with, and `before` that. */
static inline Ran
sample_ran(SampleWay way, Ran before)
{
    if (way == SAMPLE_PLAIN) return RAN_WHOLE; /* the plan would have been as good */
    return sample_is_paused(way) && before == RAN_LEFT ? RAN_WAITS : before;
}
/* Before a run, whatever it is; sample_end comes after it. */
int64_t sample_begin(SampleWay way);
/* ns since then, of a run through plans, and of a plain one. */
int64_t sample_took(int64_t began);
int64_t sample_plain_took(int64_t began);
/* Tests pretend how long plans take. */
bool sample_is_pretended(void);
/* `least_ns`: shorter calls are not compared.  `saved`: ns that plans save in such a call,
   estimated.  `done`: it ended as such calls do, without an exception or a deopt.  `code`: for the
   message. */
void sample_judge(Sample *sample, PyCodeObject *code, SampleWay way, int64_t began,
                  int64_t least_ns, int64_t saved, bool done);

/* It is known which is faster, and none is timed. */
bool sample_is_settled(const Sample *sample);
/* They are compared again, now. */
void sample_again(Sample *sample);
/* Another look at how long such calls take, later. */
void sample_postpone(Sample *sample);

/* ---- sample_calls.c: calls that go through several plans ---- */
enum { KINDS_SAMPLED = 8 };
enum {
    LOOP_GAIN = 700, /* the most that a kept loop has been faster */
    FELT_NS = 250000000,
};
/* Calls with arguments of the same types; by_size: and of about the same sizes. */
typedef struct {
    uint64_t kind;
    int32_t smallest, largest; /* of the calls that the comparison has seen, in bits */
    Sample sample;
} CallKind;

typedef struct {
    int32_t wait, look; /* calls until the next one that is timed, while none was long */
    bool by_kind;   /* there are calls that are long, or faster without plans: each is looked up */
    bool by_size;   /* some sizes are faster with plans, others without */
    int32_t shorts; /* so many more short calls are compared */
    int8_t next;    /* the kind that is forgotten next */
    uint32_t dice;
    CallKind kinds[KINDS_SAMPLED];
} SampledCalls;

/* Kept loops of this thread's timed calls: ns spent in their turns, and what the model says that
   their plans have saved, which is a guess where it cannot know how many turns they make. */
typedef struct {
    int64_t ns, saved;
} TimedLoops;
extern _Thread_local TimedLoops timed_loops;

#endif
