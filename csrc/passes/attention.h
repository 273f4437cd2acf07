/* Private to passes/: what is matched of an attention, and of its gradient. */
#ifndef PYCOMPILE_ATTENTION_H
#define PYCOMPILE_ATTENTION_H

#include "rewrite.h"

/* Of g, the gradient with respect to the result o, and weights p:

       slopes of p    g @ v^T
       slopes of s    p * (slopes of p - sum(slopes of p * p))
       dfirst         an expression of the slopes of s: the gradient of q @ k^T
       dv, dq, dk     p^T @ g, dfirst @ k, dfirst^T @ q */
typedef struct {
    NodeId g, dp, ds, dfirst;
    NodeId dv, dq, dk; /* NO_NODE: there is no gradient */
} BackMatch;

typedef struct {
    Graph *g;
    Multiplying multiplying;
    PyObject *arange, *astype; /* the library's functions; NULL: it has none */
    int32_t *uses;             /* per node, outputs included */
    /* the match */
    NodeId first, v, scores; /* q @ k^T, v, s */
    NodeId weights;          /* e / sum(e); NO_NODE: the second product is divided */
    BackMatch back;          /* where a gradient reads the weights, too */
    Type domain;             /* float32 scores */
    RegionId region;
    NodeId *copy;           /* per node: its copy in the region, or NO_NODE */
    int8_t *depends;        /* per node: on `first`; -1: not known */
    bool *reached, *wanted; /* per node: see is_private */
    int len;                /* of the arrays by node */
    VEC(NodeId) args;
    int count; /* nodes of the region */
} Match;

enum { MOST_OUTS = 4 };

/* The value behind conversions that change at most its rounding. */
NodeId attention_unrounded(const Match *m, NodeId id);
/* Is it the reduction `op` over the last axis of a value, seen as a column beside `whole`?  Returns
   the value. */
NodeId attention_reduced_row(const Match *m, NodeId id, Op op, const Type *whole);
bool attention_is_product(const Match *m, NodeId id);
/* Can rows of `id`, along the axis that is not `across`, be copied 16 bytes at a time? */
bool attention_has_aligned_rows(const Graph *g, NodeId id, int across);
/* Can `id` be computed in the region, in float32 where it comes from the first product? */
bool attention_fits(Match *m, NodeId id);
/* The node becomes this op of the factors and what the region that it gets reads.  0 or -1. */
int attention_become(Match *m, NodeId id, Op op, const NodeId *factors, int count, int64_t part);

/* ---- attention_back.c ---- */
/* Is there the gradient of the attention whose result is `out`?  Fills in `back`. */
bool attention_find_back(Match *m, NodeId out);
/* The nodes of the gradient become kernels' in their places.  0 or -1. */
int attention_fuse_back(Match *m, NodeId out);

#endif
