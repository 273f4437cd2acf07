/* Inside runtime/: one compile as its files share it. */
#ifndef PYCOMPILE_RUNTIME_COMPILE_H
#define PYCOMPILE_RUNTIME_COMPILE_H

#include "plan.h"

#include "../codegen/codegen.h"

#include <time.h>

/* Why the toolchain gave no code, as of its last attempt: a literal. */
const char *toolchain_problem(void);

typedef struct {
    const CaptureRequest *request;
    const Config *config;
    const char *reason;
    Patience patience;
    bool postponed, on_disk; /* what patience said no to: the latter, even to loading it */
    uint64_t text;           /* a fingerprint of the source */
    Capture *capture;
    GuardProgram *guards;
    Program *program;
    Code *code;
    PyObject *record;  /* NULL: nobody collects */
    PyObject *seconds; /* stage -> seconds */
    Text where;        /* "f (file.py:12)" */
    Text dumped;       /* the graph as PYCOMPILE_LOGS=graph:… last showed it */
    struct timespec began;
} Job;

/* ---- compile_tell.c: logs, records, and how a compile ends that makes no plan ---- */
void begin_record(Job *job);
/* The time since the last stage was this one's. */
void stage_done(Job *job, const char *stage);
/* The time until now is no stage's: telling is not. */
void stage_begin(Job *job);
const char *where_of(const Job *job); /* "f (file.py:12)" */
void tell_breaks(Job *job);
void tell_exit(Job *job);
void tell_graph(Job *job);
void tell_guards(Job *job);
void tell_program(Job *job);
/* A graph without a lowering: a mistake of ours, told with the line where the graph begins. */
void tell_unlowered(Job *job, const char *why);
/* What run_passes calls after each pass; the context is the job. */
void dump_pass(void *context, const char *pass, const Graph *graph);
/* Sets GraphBreakError with the user's line. */
void raise_break(Job *job);
/* The same for a graph that was captured, and then met a limit or a mistake of ours. */
void raise_unlowered(Job *job, const char *stage, const char *why);
void note_break(const Job *job, CompileNote *note);
/* CPython runs it; the log and the record say why. */
void fail_softly(Job *job, const char *stage, const char *why);

/* ---- compile_backend.c ---- */
Answer stage_backend(Job *job);

#endif
