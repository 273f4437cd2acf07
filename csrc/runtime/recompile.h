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
/* To the log: another plan is made, since the failed plan's guard failed: `reason`. */
void recompile_tell(const Miss *miss, const char *reason, const Varied *varied);
/* Once per entry: a log line, and a warning where giving up loses much. */
void recompile_given_up(const Miss *miss);
/* Sets GraphBreakError.  fullgraph: running in plain Python would be an error.  Existing plans are
   kept. */
void recompile_limit(const Miss *miss);

typedef enum {
    STANCE_DEFAULT,
    STANCE_FORCE_EAGER,
    STANCE_EAGER_ON_RECOMPILE,
    STANCE_FAIL_ON_RECOMPILE,
    STANCE_EAGER_THEN_COMPILE,
} Stance;
/* May a plan be made here now?  `asked`: the user asked for plans at the first call.  ANSWER_NO:
   CPython runs it.  ANSWER_ERROR: RecompileError is set. */
Answer stance_allows(const Miss *miss, bool asked);
/* May plans be made that nobody has asked for? */
bool stance_is_default(void);

#endif
