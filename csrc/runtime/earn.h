/* Inside runtime/: earning captures, loads and compiles in whole programs; see earn.c. */
#ifndef PYCOMPILE_RUNTIME_EARN_H
#define PYCOMPILE_RUNTIME_EARN_H

#include "entry.h"

/* How many of a code object's names, constants and globals, and of a call's arguments, are looked
   at. */
enum { LOOKED_NAMES = 48, LOOKED_ARGS = 16 };

/* Code of an installed package, which is not the program's own. */
bool earn_is_installed(PyFunctionObject *function);
/* Analyses its loops; once. */
void earn_learn_code(CodeState *state);

/* Counts a call of a candidate; `state` may be NULL if the code is installed.  Runs no Python
   code. */
void earn_by_call(CodeNote *note, CodeState *state, PyFunctionObject *function,
                  PyObject *const *args, Py_ssize_t nargs);
/* A call that nobody has looked at. */
void earn_by_skipped(CodeNote *note, CodeState *state);
/* The ns that the loops of this call are expected to take in CPython, by the arrays, counts and
   lengths in sight; 0: it has no loops. */
int64_t earn_promise(CodeState *state, PyFunctionObject *function, PyObject *const *args,
                     Py_ssize_t nargs);
/* Whether it may be captured; `state` as above. */
bool earn_is_hot(const CodeNote *note, const CodeState *state);
/* Calls so far: of the code in this namespace, or, installed, of the code. */
int64_t earn_calls(const CodeNote *note, const CodeState *state);
/* Has the code had so many captures without a plan that there will be no more? */
bool earn_is_hopeless(const CodeNote *note);
/* Instructions that a capture may follow. */
int64_t earn_effort(const CodeNote *note);
/* Notes a capture; fruitful: a graph of it was worth a plan. */
void earn_by_capture(CodeNote *note, CodeState *state, bool fruitful);

/* The patience for a plan that begins at the Instr `number` with the present value stack. */
Patience earn_patience(const CodeNote *note, const CodeState *state, int number,
                       PyObject *const *stack, int depth);
/* The number of calls at which a plan that saves `gain` per run pays for being loaded from disk, or
   compiled. */
int64_t earn_calls_wanted(const Patience *patience, bool on_disk, int gain);

/* The remaining iterations of one of the interpreter's own iterators; -1: unknown. */
int64_t earn_turns_left(PyObject *iterator);
/* What can be seen of a running loop, whose header is the Instr `number`. */
typedef struct {
    int end;        /* the Instr of the last jump to the header */
    int64_t own;    /* iterations that are left; `otherwise` where nothing tells … */
    bool told;      /* … which this says */
    int64_t around; /* how often the loops around come to it, this time included */
} LoopSight;
LoopSight earn_loop(const CodeState *state, int number, PyObject *const *stack, int depth,
                    int64_t otherwise);
/* The headers of the loops around the one at `number`, at most `most`. */
int earn_loops_around(const CodeState *state, int number, int *heads, int most);
/* For a plan that runs so often. */
Patience earn_live_patience(int64_t runs);

#endif
