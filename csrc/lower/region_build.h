/* Inside lower/: the state of making a kernel of a kept loop, region.c. */
#ifndef PYCOMPILE_REGION_BUILD_H
#define PYCOMPILE_REGION_BUILD_H

#include "region.h"
#include "schedule.h"

/* A loop or branch inside, and its statement; of an unrolled loop the values that it leaves. */
typedef struct {
    NodeId node;
    RegionStmt stmt;
    int32_t *values; /* instructions, or NULL */
    int arm;         /* of a branch, the one that is taken, where that is known */
} Maker;

typedef struct {
    Lowering *lw;
    Graph *graph;
    NodeId loop;
    Kernel *kernel;
    RegionLoop *out;
    bool *inside;       /* per node: it is in the loop's region, or in one in that */
    int32_t *value;     /* per node: its instruction + 1 */
    int32_t *array;     /* per node: its array + 1 */
    NodeId *newest;     /* per array: the version that its memory holds */
    RegionBlock *block; /* where instructions go; NULL: before the loop */
    VEC(Maker) makers;
    bool flags;
    VEC(Place) places;
    VEC(SizeId) sizes;
    VEC(int32_t) loops;
} Build;

static inline bool
region_is_array(const Build *b, NodeId id)
{
    return graph_node(b->graph, id)->type.form == FORM_ARRAY;
}

/* Is the result of a region an array?  If it is not the array's last version, there is no kernel.
 */
static inline bool
region_leaves_array(const Build *b, NodeId result, const char *why)
{
    if (!region_is_array(b, result)) return false;
    if (b->newest[b->array[result] - 1] != result) b->lw->why = why;
    return true;
}

/* region_value.c: numbers, and elements of arrays.  An instruction, or -1 with the error or
   Lowering.why set. */
int32_t region_emit(Build *b, Instr instr, int nargs, const int32_t *args);
int32_t region_value(Build *b, NodeId id);
int32_t region_operation_value(Build *b, NodeId id, Level level);
/* The number of the kernel's operand for the value in memory. */
int32_t region_operand(Build *b, NodeId value, bool stored);
/* The number of the array that a node's value lives in, added at first use. */
int32_t region_array(Build *b, NodeId id, bool stored);
int region_add_element(Build *b, NodeId id);
int region_add_list(Build *b, NodeId id);
int region_add_draw(Build *b, NodeId id);
int region_add_dot(Build *b, NodeId id);
/* A new variable; its value from here on. */
int32_t region_variable(Build *b, DType dtype);
int32_t region_read(Build *b, int32_t variable, NodeId node);

/* region_tree.c: the statements of a region; a loop, in the block (NULL: the outermost one). */
int region_nodes(Build *b, RegionId number);
int region_loop_of(Build *b, NodeId id, RegionBlock *block, RegionFor **out);

/* region_unroll.c: how many turns the loop makes, if it is to be unrolled; else -1. */
int region_turns(Build *b, NodeId id, int64_t *start, int64_t *step);
int region_unrolled(Build *b, NodeId id, int turns, int64_t start, int64_t step);

#endif
