/* Inside lower/: the working state of one lowering. */
#ifndef PYCOMPILE_SCHEDULE_H
#define PYCOMPILE_SCHEDULE_H

#include "kernel.h"

/* Nodes that run together, in program order: one kernel, or one extern call.  The list of groups is
   in execution order; a node's arguments are in the same group or an earlier one, so no cycle can
   arise.

   `size` is the iteration domain without its axes of length 1.  A member is at element level (its
   own domain is the group's) or at row level (its domain is the group's without the reduced
   dimensions). */
typedef struct {
    bool external;
    int arm;      /* of a cond that its nodes are in, 0 for none: arms.c */
    int part;     /* of a group that did not fit a kernel */
    bool columns; /* the reduction is not the innermost dimension: sequential, per column */
    int ndims;
    SizeId size[MAX_RANK];
    unsigned reduced;                /* bit per dimension */
    bool fuses;                      /* more members are welcome */
    bool reports;                    /* a member may raise a floating-point flag */
    uint8_t errors;                  /* ErrorState of those that may: one for the whole kernel */
    int reductions, scatters, calls; /* members of these kinds */
    int commits;                     /* members that are computed into an input at commit */
    int stores;                      /* members that must be in memory */
    int live;                        /* members that nodes not yet scheduled read */
    int instrs;                      /* about as many as its kernel will have */
    VEC(NodeId) nodes;
} Group;

/* How an access walks a group's domain: bytes per dimension. */
typedef struct {
    NodeId storage;
    SizeId offset;
    DType dtype;
    SizeId stride[MAX_RANK];
} Access;

/* Groups that nodes of one domain may join. */
typedef struct {
    int arm, part, ndims;
    SizeId size[MAX_RANK];
    VEC(int) groups; /* ascending */
} Shelf;

/* Accesses, places and sizes of the kernel under construction: nest.c. */
typedef struct {
    uint32_t nest; /* slots of other kernels are free */
    uint32_t hash;
    int32_t index;
} FoundSlot;

typedef struct {
    Graph *graph;
    Arena *arena;
    Program *program;
    const char *why; /* set: no lowering */
    Virtuals virtuals;
    VEC(Group) groups;
    int nnodes;        /* of the graph, and length of the arrays by node */
    int32_t *group_of; /* per node: its group; -1: none */
    bool *row_level;   /* per node: a row-level member */
    bool *live;        /* per node: reaches an output */
    bool *needed;      /* per storage: must be in memory */
    int32_t *latest;   /* per virtual storage: the latest group that it is computed from; UNKNOWN */
    int32_t *seen;     /* per virtual storage: the group that has looked through it last */
    bool *is_output;   /* per storage: an array that leaves the plan */
    NodeId *same_as;   /* per scatter: the storage whose buffer it writes in place; else itself */
    NodeId *commit_of; /* per value: the scatter by which the commit's kernel writes it; NO_NODE */
    BufferId *buffer;  /* per storage */
    int *part;         /* per node: only nodes of one part share a group */
    int nparts;
    bool *by_library;                   /* per node: an extern call, since no kernel has it */
    NodeId *first_result, *next_result; /* of a node; NO_NODE: no more */
    int remaining;                      /* nodes that are still to be members of a group */
    int32_t *unread;                    /* per storage: reads by nodes not yet scheduled */
    int32_t *touched;                   /* per storage: the latest group with an access to it */
    VEC(Shelf) shelves;
    int32_t *shelf_slot; /* a hash table: shelf + 1 */
    int32_t shelf_slots;
    int32_t *value_of; /* per node: the instruction, in the kernel number value_in; nest.h */
    uint32_t *value_in, nest;
    FoundSlot *found;
    uint32_t found_slots, nfound;
    int *arm; /* per node: the arm of a cond that it is in, 0 for none: arms.c */
    int narms;
    VEC(int) open;                   /* jumps whose target is not known yet */
    int32_t *first_step, *last_step; /* per buffer, for lifetimes */
} Lowering;

static inline bool
node_commits(const Graph *g,
             NodeId id) /* only its value is made; the plan writes it into the input */
{
    const Node *node = graph_node(g, id);
    return node->op == OP_scatter && node->attrs.index == WRITE_AT_COMMIT;
}

/* lower.c */
/* The result of a node, if it is live; NO_NODE. */
NodeId live_result(const Lowering *lw, NodeId maker, int index);

/* writes.c */
/* Which storages share memory because one is written over the other; 0, -1, or lw->why is set. */
int writes_place(Lowering *lw);

/* schedule.c */
enum { UNKNOWN_GROUP = -2 };
int schedule(Lowering *lw);

/* access.c */
/* The shape that a node iterates over. */
const Type *node_domain(const Lowering *lw, NodeId id);
/* How `type` (of a value in `storage`) is walked by member `id` of group `g`. */
void access_of(const Lowering *lw, const Group *g, NodeId id, const Type *type, NodeId storage,
               Access *out);
bool access_equal(const Lowering *lw, const Group *g, const Access *a, const Access *b);
/* Calls `see` for each access of the group's members to memory or to one another. */
typedef bool (*SeeAccess)(void *context, const Access *access);
bool group_each_access(const Lowering *lw, const Group *g, SeeAccess see, void *context);

/* reduction.c: which reductions have a known order */
typedef enum { REDUCTION_ROWS, REDUCTION_COLUMNS, REDUCTION_EXTERN } ReductionForm;
ReductionForm reduction_form(const Graph *g, const Node *node, ReduceOrder *order);

/* nest.c: a group as a loop nest and the step that launches it */
enum { MAX_INSTRS = 2000 }; /* of one kernel */
typedef enum {
    NEST_FIRST, /* all but what is computed at commit, which is computed for its flags */
    NEST_COMMIT /* what is computed at commit */
} NestKind;
/* ANSWER_NO: lw->why is set, or the kernel cannot be one of the commit's. */
Answer nest_build(Lowering *lw, Group *g, NestKind kind);

/* commit.c: values that are computed into an input at commit */
int commit_choose(Lowering *lw);
void commit_forget(Lowering *lw, Group *g);
int commit_build(Lowering *lw, Group *g);

/* region.c: loops of the program that stay loops */
int region_build(Lowering *lw, NodeId loop);
/* A node or a parameter of the region. */
bool region_has(const Region *region, NodeId id);
void region_print(const Graph *g, const KernelStep *step, const Kernel *k, Text *out);

/* arms.c: conditional regions */
int arms_find(Lowering *lw); /* which node is in which arm */
void arms_need(Lowering *lw);
int arms_step(Lowering *lw, NodeId mark);

/* steps.c: extern calls, copies */
int step_external(Lowering *lw, Group *g);
/* The array library has a call that does what the node does. */
bool library_has(const Graph *g, NodeId id);
/* The buffer of a storage, made at first use; NO_BUFFER with the error set. */
BufferId buffer_for(Lowering *lw, NodeId storage);
int place_for(Lowering *lw, NodeId value, Place *out);

/* memory.c: arena offsets from lifetimes */
int memory_plan(Lowering *lw);

/* release.c: arrays of their own, and when they are let go */
/* Before memory_plan: what calls are given is made as an array, where it can be. */
void release_arguments(Lowering *lw);
/* Behind it. */
int release_plan(Lowering *lw);

#endif
