/* Inside runtime/: plans in the turns of a loop, against CPython's turns of the same loop. */
#ifndef PYCOMPILE_RUNTIME_TURNS_H
#define PYCOMPILE_RUNTIME_TURNS_H

#include "entry.h"

/* Plans may have been slower: then some turns are stepped, or the rest of the frame is plain. */
typedef enum { DOUBT_NONE, DOUBT_SOME, DOUBT_REST } Doubt;

/* What a frame knows of it; all 0 at first. */
typedef struct {
    int32_t runs, next; /* of plans in this frame, and at which number it is looked again */
    bool times;         /* the turns are timed */
    bool leaves;        /* CPython runs the rest of the frame, timed */
    bool steps;         /* a turn that begins at `entry` is stepped */
    Entry *entry;       /* where the plan ran that was looked at first */
    PyObject *iterator; /* owned: it tells how many turns were made; NULL: `passes` do */
    int32_t passes;     /* of `entry`, with a plan or by steps */
    int64_t left;       /* turns, when a window began; also of then: */
    int64_t began, saved;
    int64_t stepped; /* instructions of the turns that are stepped */
    long long compiles;
    TimedLoops loops;
    int8_t windows;              /* that were timed */
    Doubt doubt;                 /* at most in one of them */
    int64_t plan_ns, plan_turns; /* of the fastest */
} Turns;

enum { TURNS_FIRST = 64, TURNS_STEPS = 1 << 16 /* of a turn, at most */ };

/* After a run of a plan of `entry`, which begins at the Instr `number`: true if CPython is to run
   the rest of the frame, timed.  The stack is as the plan has left it. */
bool turns_look(Turns *t, const CodeState *state, Entry *entry, int number, PyObject *const *stack,
                int depth);
static inline bool
turns_ran(Turns *t, const CodeState *state, Entry *entry, int number, PyObject *const *stack,
          int depth)
{
    t->passes += entry == t->entry;
    return ++t->runs >= Py_MAX(t->next, TURNS_FIRST) &&
           turns_look(t, state, entry, number, stack, depth);
}
/* A turn that began at the entry was stepped, in so many instructions: true if CPython is to run
   the rest of the frame. */
bool turns_stepped(Turns *t, const CodeState *state, int instrs);
/* CPython has run the rest. */
void turns_judge(Turns *t, const CodeState *state);
/* The frame has ended. */
void turns_end(Turns *t);
/* Are turns that begin there left to CPython, since its own were faster? */
bool turns_left_plain(Entry *entry);
/* For how many calls?  Who takes them counts them: at the next one the turns are compared. */
int32_t turns_take_rest(Entry *entry);

#endif
