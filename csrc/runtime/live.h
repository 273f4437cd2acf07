/* Inside runtime/: loops of frames that CPython runs; see live.c. */
#ifndef PYCOMPILE_RUNTIME_LIVE_H
#define PYCOMPILE_RUNTIME_LIVE_H

#include "entry.h"

/* Before interception starts. */
void live_start(const Config *config);
/* The loops of this function's code, or of a module that is about to run or running, are counted
   from now on, if it has any and is the program's own.  Runs no Python code, sets no exception. */
void live_watch(PyFunctionObject *function);
/* As live_watch, for all functions and modules that this thread is running. */
void live_watch_running(void);
/* While plain calls are timed, no loop in them is entered. */
extern _Thread_local int live_rests;
extern const BackEdges live_edges;
/* The code dies. */
void live_free(LiveCode *live);

#endif
