/* Inside runtime/: plans for the lengths at which a plan whose lengths are symbols runs most. */
#ifndef PYCOMPILE_RUNTIME_TWINS_H
#define PYCOMPILE_RUNTIME_TWINS_H

#include "entry.h"

enum {
    MOST_TWINS = 3,
    HOT_LENGTHS = 4, /* watched at a time */
};

/* Lengths at which the plan has run. */
typedef struct {
    uint64_t key;              /* 0: unused */
    int64_t ns;                /* that it took, of all its runs */
    int64_t least, least_twin; /* of a run that was timed, of the plan's and its twin's; 0: none */
    int8_t timed;              /* how many of the twin's were */
    bool done;                 /* they have a twin, or get none */
} HotLengths;

typedef struct {
    Plan *plan; /* owned */
    uint64_t key;
} Twin;

struct Twins {
    int count, next; /* next: the one that gives way */
    Twin twin[MOST_TWINS];
    HotLengths hot[HOT_LENGTHS];
    int32_t wait,
        waited;         /* runs until the next that is timed, and how many there are between two */
    uint64_t wanted;    /* a twin is to be made in a call with these lengths; 0: none is */
    bool asks;          /* the next call is to have a frame, since that is done there */
    Waiting *waiting;   /* owned: a twin whose code is compiled, or NULL */
    uint64_t waits_for; /* its key */
};

/* The plan, whose lengths are symbols, was just made. */
void twins_may_come(Plan *plan);

/* The code of a twin that waits may be there: takes it.  Before guards are checked, since that may
   run code of the program.  0, or -1 with the error set. */
int twins_take(Plan *plan);
static inline int
twins_arrive(const Entry *entry)
{
    for (int i = 0; i < entry->nplans; i++)
        if (entry->plans[i]->twins != NULL && entry->plans[i]->twins->waiting != NULL)
            return twins_take(entry->plans[i]);
    return 0;
}
static inline int
twins_count(const Plan *plan)
{
    return plan->twins != NULL ? plan->twins->count : 0;
}
/* Room for the objects that the guards of the plan and of its twins reach. */
static inline int
plan_sources(const Plan *plan)
{
    int most = guards_sources(plan->guards);
    for (int i = 0; i < twins_count(plan); i++)
        most = Py_MAX(most, guards_sources(plan->twins->twin[i].plan->guards));
    return most;
}
/* The twin whose guards hold, or NULL.  Borrowed. */
Plan *twins_hold(const Twins *twins, const Roots *roots, PyObject **reached);
/* The plan or its twin, if it holds; else NULL, and the number of the plan's guard that failed. */
static inline Plan *
plan_that_holds(Plan *plan, const Roots *roots, PyObject **reached, int *failed)
{
    Plan *twin = twins_count(plan) > 0 ? twins_hold(plan->twins, roots, reached) : NULL;
    if (twin != NULL) return twin;
    return guards_check(plan->guards, roots, reached, failed) ? plan : NULL;
}

/* A run that is timed; began 0: it is not. */
typedef struct {
    int64_t began;
    uint64_t key;
} TwinsLook;

/* `plan` has twins, or might, and one of them or itself, `runs`, is about to run. */
TwinsLook twins_time(Plan *plan, Plan *runs, PyObject *const *reached);
static inline TwinsLook
twins_look(Plan *plan, Plan *runs, PyObject *const *reached)
{
    if (plan->twins == NULL || --plan->twins->wait > 0) return (TwinsLook){0};
    return twins_time(plan, runs, reached);
}
/* It has run. */
void twins_ran(CodeState *state, Plan *plan, const Plan *ran, TwinsLook look);

/* Is this call to have a frame, in which a twin may be made?  Once for each that is wanted. */
static inline bool
twins_asks(Plan *plan)
{
    if (plan->twins == NULL || !plan->twins->asks) return false;
    plan->twins->asks = false;
    return true;
}
/* Is a twin to be made in this call? */
bool twins_wanted(Plan *plan, PyObject *const *reached);
/* Makes it.  ANSWER_ERROR: an exception that is the program's is set. */
Answer twins_make(Plan *plan, CaptureRequest request);

#endif
