/* Private to control/repeat*.c: a loop over whole arrays while it is captured. */
#ifndef PYCOMPILE_CAPTURE_REPEAT_H
#define PYCOMPILE_CAPTURE_REPEAT_H

#include "loop.h"

/* Memory from before the loop that turns write. */
typedef struct {
    int storage;
    NodeId first, last; /* the version before the loop, and the one that the turn leaves */
} TurnedStorage;

typedef struct {
    Scan scan;
    const Value *iterator; /* NULL: a `while` */
    Value *range;          /* it goes over, or that of its positions */
    RegionId region;
    VEC(NodeId) args; /* start, stop, step, and what is carried at first */
    VEC(NodeId) results;
    VEC(int) slots; /* by what is carried; -1: the number of the exit */
    VEC(TurnedStorage) turned;
    int nread;       /* of these, the locals that a turn reads first */
    int64_t step;    /* of that */
    const char *why; /* it is none, where that is known; or NULL */
    BreakHint hint;
} Repeat;

/* repeat.c: a param of the type. */
NodeId repeat_param(Interp *in, const Repeat *r, NodeId like);
Answer repeat_add_result(Interp *in, Repeat *r, NodeId node);

/* repeat_learn.c: what attempts have found out about the loop; NULL: it is not to be tried. */
LoopNote *repeat_note(const Interp *in, int number);
/* The loop is to be tried. */
int repeat_note_new(Interp *in, const LoopShape *shape);
/* The loop is not tried again; an empty `why`: for a reason that is not told. */
Answer repeat_refuse(Interp *in, const Repeat *r, const char *why);
/* What began as a number of Python's does not stay one of its class: it may have another one behind
   the first turn, which is followed by itself then. */
Answer repeat_begin_later(Interp *in, const Repeat *r, NodeId first);

/* repeat_written.c: takes the writes of the turn back, and notes them as versions that are carried.
 */
Answer repeat_take_turned(Interp *in, Repeat *r, const World *before);
/* The versions are carried behind all else. */
Answer repeat_carry_turned(Interp *in, Repeat *r);
/* Behind the loop the memory is as the last turn has left it. */
Answer repeat_leave_turned(Interp *in, const Repeat *r, NodeId repeat);

#endif
