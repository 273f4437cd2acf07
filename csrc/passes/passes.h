/* Graph to graph.  pipeline.c lists the passes in order; each is one file. */
#ifndef PYCOMPILE_PASSES_H
#define PYCOMPILE_PASSES_H

#include "../graph/graph.h"

typedef struct {
    const char *name;
    int (*run)(Graph *graph);
} Pass;

typedef void (*Dump)(void *context, const char *pass, const Graph *graph);

/* Runs the pipeline; `dump` (may be NULL) is called after each pass with its name, for
   PYCOMPILE_LOGS=graph:NAME.  Verifies after each pass in debug builds.  0 or -1. */
int run_passes(Graph *graph, Dump dump, void *context);
/* For tests: one pass by name.  -1 with ValueError for an unknown name. */
int run_pass(Graph *graph, const char *name);
/* The i-th pass's name, those of the preparation behind those of the pipeline, or NULL past the
   end; and how many the pipeline has. */
const char *pass_name(int i);
int pass_count(void);

/* The same for the passes that prepare a graph for lowering, behind those.  What they make is for
   lowering alone: backends and reports see the graph before. */
int run_preparation(Graph *graph, Dump dump, void *context);
int pass_fold(Graph *graph);
int pass_algebra(Graph *graph);
int pass_forward(Graph *graph); /* a view of what was just scattered is the value scattered */
int pass_cse(Graph *graph);
int pass_dce(Graph *graph);

int pass_arms(Graph *graph);        /* conditional regions become jumps in the top region */
int pass_concatenate(Graph *graph); /* an empty array whose parts are written */
int pass_writes(Graph *graph);      /* where each write goes, and the copies that it needs */

/* ---- module_passes.c: adds what Python sees of this folder; 0 or -1 ---- */
int passes_module(PyObject *module);

#endif
