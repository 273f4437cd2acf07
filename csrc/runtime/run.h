/* Inside runtime/: calls through plans, with a frame (run.c) and without (run_call.c). */
#ifndef PYCOMPILE_RUNTIME_RUN_H
#define PYCOMPILE_RUNTIME_RUN_H

#include "twins.h"

enum { DEOPT_COST = 10 }; /* in the units of capture/control/worth.c */

/* The savings of plans on this thread, minus the cost of the work between them. */
extern _Thread_local int64_t thread_saved;

/* The state of a call for its hook handler. */
typedef struct {
    CodeState *state;
    Ran ran;
    bool program;  /* a whole program's: nobody asked for plans */
    bool covered;  /* by one plan, which is compared with plain calls by itself */
    bool accounts; /* captures have to be earned by the account of the code */
} Held;

/* For hook_call: `context` is a Held. */
PyObject *run_frame(PyThreadState *ts, Frame *frame, void *context);
/* As run_frame, for a call whose plan a signal ended: runs the signal's handler, then CPython. */
PyObject *run_interrupted(PyThreadState *ts, Frame *frame, void *context);
/* A call with a frame; now and then, or for good, plain: sample_calls.c. */
PyObject *call_sampled(Held *held, PyFunctionObject *function, PyObject *const *args, size_t nargsf,
                       PyObject *kwnames);
/* Room for the objects that the guards of any of its plans reach. */
static inline int
most_sources(const Entry *entry)
{
    int most = 0;
    for (int i = 0; i < entry->nplans; i++) {
        int sources = plan_sources(entry->plans[i]);
        if (sources > most) most = sources;
    }
    return most;
}

#endif
