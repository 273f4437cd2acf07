/* Private to passes/: what rewriting passes share.

   What may replace what.  Graph.outputs never changes: builds name outputs by node, and two results
   of a program are two objects even when equal.  A node whose storage can be seen from outside (an
   output lies in it) is therefore never replaced.  Values must agree in dtype, form, shape and
   strides: the order in which a reduction adds, and so its bits, follows the strides. */
#ifndef PYCOMPILE_PASSES_REWRITE_H
#define PYCOMPILE_PASSES_REWRITE_H

#include "passes.h"

enum {
    USE_OUTPUT = 1,  /* it is an output */
    USE_ESCAPES = 2, /* an output lies in its storage, itself included */
    USE_BASE = 4,    /* its layout is relied on: a view or an element is taken of it */
    USE_WRITTEN = 8, /* a new version of it is made, a region carries it, an extern gets it, or it
                        is multiplied by what may be its transpose: it wants memory of its own */
};

typedef struct {
    Graph *g;
    uint8_t *uses; /* USE_* by NodeId, as they were at rewrite_begin */
    NodeId *to;    /* what stands for the node now; itself at first */
    int len;       /* nodes made later have neither */
} Rewrite;

/* 0 or -1. */
int rewrite_begin(Rewrite *r, Graph *g);
/* Replaces it if it may; true when it did. */
bool rewrite_node(Rewrite *r, NodeId node, NodeId with);
/* Brings the arguments of a node up to date; walks in program order call it first on each node. */
void rewrite_args(const Rewrite *r, NodeId node);
/* Brings a region's results up to date and drops the nodes that were replaced: what stands for them
   reports what they would have reported.  After the walk over its nodes. */
void rewrite_results(const Rewrite *r, RegionId region);

/* Calls `visit` on every node in program order, inner regions included, arguments up to date.  A
   pass of local rules is this and its `visit`.  0 or -1. */
int rewrite_walk(Rewrite *r, int (*visit)(Rewrite *r, NodeId node, void *context), void *context);

/* A constant scalar whose value equals `value`, in whatever dtype. */
bool node_is_integer(const Graph *g, NodeId node, int64_t value);

#endif
