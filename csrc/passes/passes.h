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
/* The name of the i-th pass, or NULL past the end: the pipeline's passes, then those of the
   preparation. pass_count counts the pipeline's. */
const char *pass_name(int i);
int pass_count(void);

/* As pass_count, for the passes that prepare a graph for lowering, which run after the pipeline.
   Their result is for lowering alone: backends and reports see the graph before them. */
int run_preparation(Graph *graph, Dump dump, void *context);
int pass_fold(Graph *graph);
int pass_algebra(Graph *graph);
int pass_forward(Graph *graph); /* reads of what was just written */
int pass_cse(Graph *graph);
int pass_dce(Graph *graph);

int pass_functions(Graph *graph);   /* elementary functions in registers */
int pass_loops(Graph *graph);       /* what a loop before them did is done there */
int pass_moves(Graph *graph);       /* a copy of what nobody else has is that array */
int pass_overwritten(Graph *graph); /* drops versions that later writes replace */
int pass_arms(Graph *graph);        /* conditional regions become jumps in the top region */
int pass_attention(Graph *graph);   /* softmax(q k^T) v on a device becomes one node */
int pass_products(Graph *graph);    /* products on a device, with what is done with each element */
int pass_gathers(Graph *graph);     /* elements by arrays of integers, on a device */
int pass_scans(Graph *graph);       /* cumulative sums and products on a device */
int pass_copies(Graph *graph);      /* copies that an array library would make, on a device */
int pass_again(Graph *graph);       /* values are made again where that moves less, on a device */
int pass_again_here(Graph *graph);  /* … and on the host */
int pass_k_major(Graph *graph);     /* factors of products in the order that the device takes */
int pass_collectives(Graph *graph); /* begun early, waited for late */
int pass_concatenate(Graph *graph); /* becomes an empty array and writes of its parts */
int pass_writes(Graph *graph);      /* decides where each write goes, and makes copies */

/* ---- module_passes.c: adds this folder's functions to the module; 0 or -1 ---- */
int passes_module(PyObject *module);

#endif
