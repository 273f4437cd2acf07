/* Inside runtime/: what whole programs capture, load and compile has to be earned; see earn.c. */
#ifndef PYCOMPILE_RUNTIME_EARN_H
#define PYCOMPILE_RUNTIME_EARN_H

#include "entry.h"

/* Code of an installed package, which is not the program's own. */
bool earn_is_installed(PyFunctionObject *function);
/* Finds out about its loops; once. */
void earn_learn_code(CodeState *state);

/* A call of a candidate, whose state may be NULL if its code is installed.  Runs no Python code. */
void earn_by_call(CodeNote *note, const CodeState *state, PyFunctionObject *function,
                  PyObject *const *args, Py_ssize_t nargs);
/* Whether it may be captured. */
bool earn_is_hot(const CodeNote *note);
/* So many captures came to nothing that there will be none. */
bool earn_is_hopeless(const CodeNote *note);
/* Instructions that a capture may follow. */
int64_t earn_effort(const CodeNote *note);
/* It has been captured; fruitful: something was worth a plan. */
void earn_by_capture(CodeNote *note, bool fruitful);

/* For a plan that begins at the Instr `number`, the value stack being as it is there. */
Patience earn_patience(const CodeNote *note, const CodeState *state, int number,
                       PyObject *const *stack, int depth);
/* The number of calls at which a plan that saves `gain` per run pays for being loaded from disk, or
   compiled. */
int64_t earn_calls_wanted(const Patience *patience, bool on_disk, int gain);

#endif
