/* Inside runtime/: the state of one compile, which its files share. */
#ifndef PYCOMPILE_RUNTIME_COMPILE_H
#define PYCOMPILE_RUNTIME_COMPILE_H

#include "entry.h"

#include "../codegen/codegen.h"

/* Code on the host that is compiled in the background. */
typedef struct {
    CodeTicket ticket; /* 0: none is */
    Text source, shapes;
    bool straight;
    CodeOrigin origin; /* texts of the code object; the shapes are above */
} LaterCode;

typedef struct {
    const CaptureRequest *request;
    const Config *config;
    const char *reason;
    PyObject *cause;
    Patience patience;
    bool postponed, on_disk; /* it has to be earned; on_disk: even loading it */
    int64_t waited_ns;       /* for the C compiler */
    LaterCode later;
    uint64_t text; /* a fingerprint of the source */
    Capture *capture;
    GuardProgram *guards;
    Program *program;
    const char *refused; /* why it was not lowered */
    Codes codes;
    PyObject *record;  /* NULL: nobody wants one */
    PyObject *seconds; /* stage -> seconds */
    Text where;        /* "f (file.py:12)" */
    Text dumped;       /* the graph as PYCOMPILE_LOGS=graph:… last showed it */
    double began;      /* seconds */
    int64_t started;   /* clock_ns */
} Job;

/* ---- compile_tell.c: logs, records, and the end of a compile without a plan ---- */
void begin_record(Job *job);
/* The time since the last stage_begin or stage_done belongs to this stage. */
void stage_done(Job *job, const char *stage);
/* Starts a stage's time: the time until now, spent on logging, belongs to none. */
void stage_begin(Job *job);
void tell_breaks(Job *job);
void tell_exit(Job *job);
void tell_graph(Job *job);
void tell_guards(Job *job);
void tell_program(Job *job);
/* Reports a graph that has no lowering, which is an internal error, at the line where it begins. */
void tell_unlowered(Job *job, const char *why);
/* There is no lowering for lengths that are symbols: the plan is for those of this call. */
void tell_known_sizes(const Job *job);
/* What run_passes calls after each pass; the context is the job. */
void dump_pass(void *context, const char *pass, const Graph *graph);
/* Sets GraphBreakError with the user's line, and note->raised. */
void raise_break(Job *job, CompileNote *note);
/* As raise_break, for a graph that was captured and then met a limit or an internal error. */
void raise_unlowered(Job *job, const char *stage, const char *why);
void note_break(const Job *job, CompileNote *note);
/* The capture is not worth a plan. */
void tell_left(Job *job);
/* Leaves the code to CPython; the log and the record say why. */
void fail_softly(Job *job, const char *stage, const char *why);

/* ---- background.c ---- */
/* The plan, which it takes over also on failure, waits for its code.  NULL with the error set. */
Waiting *waiting_new(Job *job, Plan *plan, const CompileNote *note);

/* ---- compile_export.c ---- */
/* Gives the program to whoever exports it.  There is no plan then: ANSWER_NO. */
Answer stage_export(Job *job);

/* ---- compile_backend.c ---- */
Answer stage_backend(Job *job);

#endif
