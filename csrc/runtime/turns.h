/* Inside runtime/: plans in the turns of a loop, against CPython's turns of the same loop. */
#ifndef PYCOMPILE_RUNTIME_TURNS_H
#define PYCOMPILE_RUNTIME_TURNS_H

#include "entry.h"

/* What a frame knows of it; all 0 at first. */
typedef struct {
    int32_t runs, next; /* of plans in this frame, and at which number it is looked again */
    bool times;         /* the turns are timed */
    bool leaves;        /* CPython runs the rest of the frame, timed */
    Entry *entry;       /* where the plan ran that was looked at first */
    PyObject *iterator; /* owned: it tells how many turns were made */
    int64_t left;       /* … by what was left of it when a window began; also of then: */
    int64_t began, saved;
    long long compiles;
    TimedLoops loops;
    int8_t windows;              /* that were timed, … */
    bool doubtful;               /* … and in one of them plans may have been slower */
    int64_t plan_ns, plan_turns; /* of the fastest */
} Turns;

enum { TURNS_FIRST = 64 };

/* After a run of a plan of `entry`, which begins at the Instr `number`: true if CPython is to run
   the rest of the frame.  The stack is as the plan has left it. */
bool turns_look(Turns *t, const CodeState *state, Entry *entry, int number, PyObject *const *stack,
                int depth);
static inline bool
turns_ran(Turns *t, const CodeState *state, Entry *entry, int number, PyObject *const *stack,
          int depth)
{
    return ++t->runs >= Py_MAX(t->next, TURNS_FIRST) &&
           turns_look(t, state, entry, number, stack, depth);
}
/* CPython has run the rest. */
void turns_judge(Turns *t, const CodeState *state);
/* The frame has ended. */
void turns_end(Turns *t);
/* Are turns that begin there left to CPython, since its own were faster? */
bool turns_left_plain(Entry *entry);

#endif
