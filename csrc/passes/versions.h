/* Private to passes/: the versions of a storage, and whether they have written what a view reads.

   Versions form a chain: each scatter names the version before it. Walking back over n of them for
   each view would make a pass quadratic. So each scatter has a jump to a version some way before it
   (skew-binary: E. Myers, An applicative random-access stack, 1983), and the hull of all that was
   written since: where the view lies outside the hull, one step skips all of these versions. */
#ifndef PYCOMPILE_PASSES_VERSIONS_H
#define PYCOMPILE_PASSES_VERSIONS_H

#include "rewrite.h"

/* A view as an index range per axis of its storage: first index, last index, step. */
typedef struct {
    int64_t low[MAX_RANK], high[MAX_RANK], step[MAX_RANK];
} Box;

typedef enum {
    SPAN_OTHER, /* not a box, or not of constant layout: it may lie anywhere in the storage */
    SPAN_EMPTY, /* no elements */
    SPAN_BOX,
} SpanKind;

typedef struct {
    SpanKind kind;
    Box box; /* in the axes of the storage by falling stride */
} Span;

typedef struct {
    NodeId root; /* the storage of which the first version was made */
    NodeId jump; /* an older version, or the root */
    int depth;   /* versions since the root, this one included */
    Span wrote;
    Span hull; /* of what was written by this version and those before it, up to but not including
                  `jump` */
} Version;

typedef struct {
    const Graph *g;
    VEC(Version) versions;
    int *number; /* per node: index into versions + 1; 0 for other nodes than the scatters seen so
                    far */
    int len;     /* of `number` */
} Versions;

/* Does the graph make the storage's memory? */
bool storage_is_fresh(const Graph *g, NodeId storage);

/* 0 or -1. */
int versions_begin(Versions *v, const Graph *g);
/* Adds a scatter; the version that it is made of must have been added before. 0 or -1. */
int versions_add(Versions *v, NodeId scatter);
/* The storage of which the first version was made; `storage` itself where it is not a version. */
NodeId versions_root(const Versions *v, NodeId storage);
/* Has nothing up to this version of the storage been written to the place where `type` lies? */
bool versions_pass_by(const Versions *v, NodeId storage, const Type *type);

/* Is each element of the view `inner` of a dense storage one of the view `outer`, as far as boxes
   tell? */
bool versions_covers(const Graph *g, const Type *whole, const Type *outer, const Type *inner);
/* The elements of a dense storage that a view of it leaves out, as at most 2 * MAX_RANK views that
   have none in common.  ANSWER_NO: the view does not cover a whole box, or layouts are not
   constant. */
Answer versions_around(Graph *g, const Type *whole, const Type *view, Type *part, int *count);

#endif
