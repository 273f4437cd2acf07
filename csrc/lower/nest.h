/* Inside lower/: a kernel under construction.  nest.c makes its loops and its step, instrs.c its
   instructions; stages.c decides in which pass over the row each is executed.  region.c makes the
   kernel of a kept loop on its own. */
#ifndef PYCOMPILE_NEST_H
#define PYCOMPILE_NEST_H

#include "schedule.h"

enum { BLOCK = 2048, MAX_ARGS = 32 };

typedef struct {
    Lowering *lw;
    Group *group;
    int number;
    Kernel *kernel;
    int nloops;
    int first[MAX_RANK];   /* per loop: its innermost dimension of the group (strides) */
    SizeId size[MAX_RANK]; /* per loop */
    bool reduces;
    VEC(Access) accesses; /* per operand */
    VEC(int32_t) loads;   /* per operand: the instruction that loads it, or -1 */
    VEC(SizeId) sizes;
    VEC(int64_t) numbers; /* constants that are arguments, placed after the sizes */
    VEC(Place) places;
    VEC(int32_t) loops;
    bool flags, fallible, silent;
    NestKind kind;
} Nest;

static inline int64_t
nest_value(const Nest *n, SizeId id)
{
    return size_value(n->lw->graph, id);
}

/* The instruction that makes the value of a node, or -1. */
static inline int32_t
nest_instr(const Nest *n, NodeId id)
{
    return n->lw->value_in[id] == n->lw->nest ? n->lw->value_of[id] : -1;
}

static inline void
nest_made(Nest *n, NodeId id, int32_t instr)
{
    n->lw->value_in[id] = n->lw->nest;
    n->lw->value_of[id] = instr;
}

/* found.c: accesses, places and sizes of the kernel by their hash.  found_next returns the index of
   the next entry of this hash, which the caller compares, or -1; *at is the hash at first. */
int32_t found_next(const Nest *n, uint32_t hash, uint32_t *at);
int found_add(Nest *n, uint32_t hash, int32_t index);
static inline uint32_t
found_mix(uint32_t hash, uint64_t value)
{
    return (uint32_t)((hash ^ value) * 0x9E3779B97F4A7C15u >> 32);
}

/* nest.c */
/* The index of an integer argument; -1 with the error set. */
int32_t nest_size(Nest *n, SizeId id);
int nest_init(Nest *n, Lowering *lw, Group *g);
/* A place for so many bytes of memory of the plan's, which hold nothing before and behind the
   kernel. */
int nest_add_memory(Nest *n, SizeId bytes, Device device);
/* Appends the kernel and a step that launches it; units and grain are left to the caller. */
int nest_step(Nest *n, Step *step);

/* instrs.c: each returns the number of an instruction, or -1 with the error or lw->why set */
int32_t instr_emit(Nest *n, Instr instr);
int32_t instr_args(Nest *n, Instr instr, int nargs, const int32_t *args);
/* An operand for the access, made at first use. */
int32_t instr_operand(Nest *n, const Access *access, bool stored);
/* The value of a node that is no view, in the group or of its region. */
int32_t instr_member(Nest *n, NodeId id);
/* All members of the group, in order; 0 or -1. */
int instr_members(Nest *n);

/* stages.c */
int stages_assign(Nest *n); /* 0 or -1 */
int64_t stages_scratch_bytes(const Nest *n, KernelStep *step);

/* flag_bounds.c: may bounds of what the kernel reads show that it raises no flag? */
bool bounds_suit(const Nest *n);

/* cuda.c: what CUDA makes of the kernel; 0 or -1, lw->why may be set */
int cuda_schedule(Nest *n, KernelStep *step);
/* As cuda_schedule, for an attention whose operands, score and head are known: for Hopper, or any
   device. */
int cuda_schedule_attention(Nest *n, bool hopper, KernelStep *step);
/* As cuda_schedule, for a scan. */
int cuda_schedule_scan(Nest *n, KernelStep *step);

#endif
