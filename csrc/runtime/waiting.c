/* Plans that wait for their code.

   A capture is paid for once: its plan is made at once, without its code, and waits at its entry.
   The first look at the entry after the compiler's end (background.c) loads the code.  Whether the
   plan is for the values of that call its guards say, as of any plan: what has varied since is seen
   there. */
#include "compile.h"
#include "target.h"

struct Waiting {
    Plan *plan;
    CompileNote note;
    const Config *config;
    LaterCode later;
};

Waiting *
waiting_new(Job *job, Plan *plan, const CompileNote *note)
{
    Waiting *w = mem_alloc(sizeof(Waiting));
    if (w == NULL) {
        plan_release(plan);
        return NULL;
    }
    *w = (Waiting){.plan = plan, .note = *note, .config = job->config, .later = job->later};
    job->later = (LaterCode){0};
    return w;
}

void
waiting_free(Waiting *w)
{
    if (w == NULL) return;
    text_free(&w->later.source);
    text_free(&w->later.shapes);
    if (w->plan != NULL) plan_release(w->plan);
    mem_free(w);
}

void
entry_waits(Entry *entry, Waiting *waiting)
{
    Waiting *before = entry->waiting;
    if (waiting == NULL) return;
    entry->waiting = waiting;
    waiting_free(before);
}

CodeTicket
waiting_ticket(const Waiting *w)
{
    return w != NULL ? w->later.ticket : 0;
}

static Answer
load_waiting(Waiting *w)
{
    LaterCode *later = &w->later;
    Code *code = NULL;
    CodeOrigin origin = later->origin;
    origin.shapes = later->shapes.data;
    Answer answer = code_load(DEVICE_HOST, later->source.data, later->straight, w->config, &origin,
                              CODE_LATER, &later->ticket, &code);
    if (answer == ANSWER_YES && plan_link(w->plan, code) < 0) answer = ANSWER_ERROR;
    if (answer == ANSWER_ERROR && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        answer = ANSWER_NO;
    }
    return answer;
}

/* There will be no code: what was captured is refused. */
static void
refuse_waiting(Waiting *w)
{
    log_emit(LOG_PERF_HINTS, "%s (%s:%d): left to CPython: compile: %s", w->later.origin.function,
             w->later.origin.file, w->later.origin.line, targets[DEVICE_HOST].problem());
    w->note.guards = w->plan->guards;
    w->plan->guards = NULL;
}

Answer
waiting_take(Waiting **at, Plan **plan, CompileNote *note)
{
    Waiting *w = *at;
    int64_t began = account_clock(CLOCK_THREAD_CPUTIME_ID);
    *at = NULL; /* other threads may run meanwhile */
    Answer answer = load_waiting(w);
    if (answer == ANSWER_NO && w->later.ticket != 0) {
        if (*at == NULL)
            *at = w;
        else /* another thread's waits there now */
            waiting_free(w);
        return ANSWER_NO;
    }
    if (answer == ANSWER_YES) {
        *plan = w->plan;
        w->plan = NULL;
    } else if (answer == ANSWER_NO) {
        refuse_waiting(w);
    }
    *note = w->note;
    waiting_free(w);
    account_lost(account_clock(CLOCK_THREAD_CPUTIME_ID) - began);
    return answer == ANSWER_ERROR ? ANSWER_ERROR : ANSWER_YES;
}
