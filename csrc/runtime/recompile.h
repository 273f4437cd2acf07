/* Inside runtime/: places for whose values no plan holds. */
#ifndef PYCOMPILE_RUNTIME_RECOMPILE_H
#define PYCOMPILE_RUNTIME_RECOMPILE_H

#include "entry.h"

typedef struct {
    CodeState *state;
    Entry *entry;
    int number; /* its Instr */
    Roots roots;
    Plan *failed; /* borrowed: whose guard failed last, or NULL */
    int failed_guard;
} Miss;

/* "f (file.py:12)" */
void state_describe(const CodeState *state, int number, Text *out);
/* The guard that failed.  Zeros: no plan was there. */
typedef struct {
    Text text; /* "x.shape[0] == 32, now 64 (file.py:12)" */
    Varied varied;
} Reason;
/* Finds it, tells it, and notes it for the next capture.  `types`: of the values. */
void reason_find(const Miss *miss, uint64_t types, Reason *out);
/* A compile was made for it. */
void reason_count(const Reason *reason, CodeState *state);
void reason_free(Reason *reason);
/* The place gets what a capture came to: a plan (taken over), or, with NULL, a refusal. */
void recompile_take(const Miss *miss, uint64_t types, const CompileNote *note, Plan *plan);
/* Has the function been compiled again as often as it may, whatever it would gain? */
bool recompile_is_spent(const Miss *miss);
/* Once per entry, or per function that has spent its recompiles: a log line, and a warning where
   giving up loses much. */
void recompile_given_up(const Miss *miss);
/* Sets GraphBreakError.  fullgraph: running in plain Python would be an error.  Existing plans are
   kept. */
void recompile_limit(const Miss *miss);

/* ---- precompile.c ---- */
/* Makes the plan of a call with these values: a tuple in the order of the code's names, those of
   `*` and `**` last.  1: it is one plan; 0: Python runs the call, or what is behind a break; -1:
   the error is set. */
int precompile(CodeState *state, PyFunctionObject *function, PyObject *values);

/* ---- exported.c ---- */
/* What pycompile/_export.py makes a library of: the dict of export_program for a call with these
   values, or why there is none, a str.  `name`: what names in its C begin with; `told`: its own, in
   messages; `names`: by value, of what the library is passed, the name; None: the value is part of
   it.  A new reference; NULL with the error set. */
PyObject *export_function(CodeState *state, PyFunctionObject *function, const char *name,
                          const char *told, PyObject *names, PyObject *values, int vector_bytes);
/* The frame's slots at its first instruction, owned: -1 with the error set, some of them filled. */
int precompile_slots(PyCodeObject *code, PyFunctionObject *function, PyObject *values,
                     PyObject **slots);

/* May a plan be made here now?  `asked`: the user asked for plans at the first call.  ANSWER_NO:
   CPython runs it.  ANSWER_ERROR: RecompileError is set. */
Answer recompile_allowed(const Miss *miss, bool asked);

#endif
