/* Private to passes/: what rewriting passes share, and which node may replace which.

   Graph.outputs never changes: builds name outputs by node, and two results of a program are two
   objects even when equal. A node whose storage is visible outside (an output lies in it) is
   therefore never replaced. The two values must agree in dtype, form, shape and strides: the order
   in which a reduction adds, and so its bits, depends on the strides. */
#ifndef PYCOMPILE_PASSES_REWRITE_H
#define PYCOMPILE_PASSES_REWRITE_H

#include "passes.h"

enum {
    USE_OUTPUT = 1,  /* it is an output */
    USE_ESCAPES = 2, /* an output, perhaps the node itself, lies in its storage */
    USE_BASE = 4,    /* its layout is relied on: a view or an element of it is taken */
    USE_WRITTEN = 8, /* it needs memory of its own: it is written or carried by a region, given to
                        an extern or a choice, or multiplied by what may be its transpose */
};

typedef struct {
    Graph *g;
    uint8_t *uses; /* USE_* by NodeId, as they were at rewrite_begin */
    NodeId *to;    /* the node's replacement; itself at first */
    int len;       /* of both; nodes made later have no entry */
} Rewrite;

/* 0 or -1. */
int rewrite_begin(Rewrite *r, Graph *g);
/* Replaces `node` by `with` if that is allowed; true when it did. */
bool rewrite_node(Rewrite *r, NodeId node, NodeId with);
/* Replaces the arguments of a node by their replacements; a walk in program order calls it first on
   each node. */
void rewrite_args(const Rewrite *r, NodeId node);
/* Replaces a region's results likewise and drops the nodes that were replaced: their replacements
   report what they would have reported. Called after the walk over the region's nodes. */
void rewrite_results(const Rewrite *r, RegionId region);

/* Calls `visit` on every node in program order, inner regions included, after rewrite_args. A pass
   of local rules consists of this and its `visit`. 0 or -1. */
int rewrite_walk(Rewrite *r, int (*visit)(Rewrite *r, NodeId node, void *context), void *context);

/* Calls `visit` on each node of the top region, which may put nodes in front of it with top_put.
   The region's nodes are copied on the way, into `top`.  0 or -1. */
int top_rebuild(Graph *g, Region *top, int (*visit)(void *context, NodeId node), void *context);
/* 0 or -1. */
int top_put(Graph *g, Region *top, NodeId node);
/* As top_rebuild, for a graph that calls the functions of a device's array library, of which `n`
   have these names (array_library_function); of another graph nothing changes.  `function` has them
   during the visits, with NULL for what the library has not. */
int calls_rebuild(Graph *g, const char *const *names, int n, PyObject **function, Region *top,
                  int (*visit)(void *context, NodeId node), void *context);
/* The functions that multiply matrices: the operator, and the library's; NULL: it has none. */
typedef struct {
    PyObject *matmul[2], *dot;
} Multiplying;

/* 0, or -1 and there is nothing to give back. */
int multiplying_find(Multiplying *out);
void multiplying_give_back(Multiplying *m);
/* A call of one of them for two arrays of a device; of `dot` for matrices alone. */
bool call_multiplies(const Multiplying *m, const Graph *g, const Node *node);
/* The axis of an array of `rank` axes that a call's argument names; -1 for None.  False: it is no
   constant, or there is no such axis. */
bool call_axis(const Graph *g, NodeId argument, int rank, int *axis);

/* By node: its uses as an argument, a region's result or an output. NULL with the error set. */
int32_t *node_uses(const Graph *g);
/* Does the graph call functions of a device's array library? */
bool graph_calls_device(const Graph *g);
/* A constant scalar of an integer dtype or bool whose value equals `value`. */
bool node_is_integer(const Graph *g, NodeId node, int64_t value);

#endif
