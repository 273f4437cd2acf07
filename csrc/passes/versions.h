/* Private to passes/: the versions of a storage, and which of them have what a view reads.

   Versions are a chain: each scatter names the version before it.  A walk back over n of them for
   each view would make a pass quadratic, so each scatter has a jump, to a version some way before
   it (skew-binary: E. Myers, An applicative random-access stack, 1983), and the hull of all that
   was written since: where the view lies outside the hull, one step passes over them all. */
#ifndef PYCOMPILE_PASSES_VERSIONS_H
#define PYCOMPILE_PASSES_VERSIONS_H

#include "rewrite.h"

/* A view as index ranges per axis of its storage: first, last, and step between. */
typedef struct {
    int64_t low[MAX_RANK], high[MAX_RANK], step[MAX_RANK];
} Box;

typedef enum {
    SPAN_OTHER, /* no box, or layouts that are not constant: may be anywhere in the storage */
    SPAN_EMPTY, /* no element */
    SPAN_BOX,
} SpanKind;

typedef struct {
    SpanKind kind;
    Box box; /* in the axes of the storage by falling stride */
} Span;

typedef struct {
    NodeId root; /* what the first version was made of */
    NodeId jump; /* an older version, or the root */
    int depth;   /* versions since the root, this one included */
    Span wrote;
    Span hull; /* of what this version and those back to the jump, without it, have written */
} Version;

typedef struct {
    const Graph *g;
    VEC(Version) versions;
    int *number; /* per node: its version + 1; 0 for what is no scatter seen so far */
    int len;     /* of `number` */
} Versions;

/* 0 or -1. */
int versions_begin(Versions *v, const Graph *g);
/* Takes in a scatter, which comes after the version that it is made of.  0 or -1. */
int versions_add(Versions *v, NodeId scatter);
/* What the first version of the storage was made of; `storage` itself where it is no version. */
NodeId versions_root(const Versions *v, NodeId storage);
/* All that was written to the storage up to this version is apart from where `type` lies. */
bool versions_pass_by(const Versions *v, NodeId storage, const Type *type);

/* The elements of a dense storage that a view of it leaves out, as at most 2 * MAX_RANK views that
   have none in common.  ANSWER_NO: the view does not cover a whole box, or layouts are not
   constant. */
Answer versions_around(Graph *g, const Type *whole, const Type *view, Type *part, int *count);

#endif
