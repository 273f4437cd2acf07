/* Private to size*.c: a size as a sum. */
#ifndef PYCOMPILE_GRAPH_SIZE_H
#define PYCOMPILE_GRAPH_SIZE_H

#include "graph.h"

enum { MOST_TERMS = 24 };

typedef struct {
    int64_t factor;
    SizeId of; /* no constant, no sum, and no product with a constant */
} Term;

typedef struct {
    int n;
    bool full; /* there were more terms */
    int64_t constant;
    Term at[MOST_TERMS];
} Sum;

/* Adds `factor` times the size. */
void sum_size(const Graph *g, Sum *sum, int64_t factor, SizeId id);
/* a + factor * b */
SizeId size_add_times(Graph *g, SizeId a, int64_t factor, SizeId b);

#endif
