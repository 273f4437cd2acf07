/* Private to runtime/: what undone runs of a plan cost against what the others save; balance.c. */
#ifndef PYCOMPILE_RUNTIME_BALANCE_H
#define PYCOMPILE_RUNTIME_BALANCE_H

#include "entry.h"

/* Counts a run that was undone, `took` ns after its beginning; 0: unknown. */
void balance_undone(CodeState *state, Plan *plan, int64_t took, bool interrupted);
/* CPython has run it, in `took` ns if that can be compared, else 0.  The plan may pause from now
   on. */
void balance_judge(const CodeState *state, Plan *plan, int64_t took);

#endif
