/* Inside lower/: statements of a kept loop once more, for the quick variant. */
#ifndef PYCOMPILE_REGION_COPY_H
#define PYCOMPILE_REGION_COPY_H

#include "region.h"

enum { MOST_LANES = 8 };

/* What is known of a bool in the copy. */
typedef enum { KNOWN_NOT, KNOWN_FALSE, KNOWN_TRUE } Known;

/* Of what is in the loop; `at` and `variable` say for each lane which one an instruction or a
   variable has become, -1: it is the same in all. */
typedef struct {
    Arena *arena;
    Kernel *kernel;
    RegionLoop *region;
    const RegionFor *loop;
    int lanes; /* iterations side by side; 1: the loop itself */
    int32_t *at[MOST_LANES], *variable[MOST_LANES];
    uint8_t *known;     /* per instruction, a Known; NULL: nothing is */
    RegionBlock *block; /* where the copies go */
} RegionCopy;

/* 0 or -1. */
int region_copy_begin(RegionCopy *c);
/* The block's statements, for the lanes from `first` on. */
int region_copy_block(RegionCopy *c, const RegionBlock *block, int first, int end);
/* An instruction, for a lane: a statement of c->block. */
int region_copy_instr(RegionCopy *c, int32_t at, int lane);
/* Variables of what the loop carries, with the copies' first and next values. */
int region_copy_carried(RegionCopy *c, const RegionFor *loop, RegionFor *made);

static inline int32_t
region_copy_of(const RegionCopy *c, int32_t at, int lane)
{
    return at < 0 || c->at[lane][at] < 0 ? at : c->at[lane][at];
}

#endif
