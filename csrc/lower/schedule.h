/* Inside lower/: the working state of one lowering. */
#ifndef PYCOMPILE_SCHEDULE_H
#define PYCOMPILE_SCHEDULE_H

#include "kernel.h"

/* Nodes that run together, in program order: one kernel, or one extern call.  The list of groups is
   in execution order; a node's arguments are in the same group or an earlier one, so no cycle can
   arise.

   `size` is the iteration domain without its axes of length 1.  A member is at element level (its
   domain is the group's) or at row level (its domain is the group's without the reduced
   dimensions). */
typedef struct {
    bool external;
    Device device;
    int arm;      /* the arm of a cond that its nodes are in, 0: none (arms.c) */
    int part;     /* only nodes of this part of a group that did not fit a kernel; 0: all others */
    bool columns; /* the reduction is not the innermost dimension: sequential, per column */
    int ndims;
    SizeId size[MAX_RANK];
    unsigned reduced;                /* bit per dimension */
    bool fuses;                      /* other nodes may join */
    bool in_place;                   /* stores to memory that it loads, at the same element */
    bool reports;                    /* a member may raise a floating-point flag */
    uint8_t errors;                  /* ErrorState of those members: one for the whole kernel */
    int reductions, scatters, calls; /* members of these kinds */
    int commits;                     /* members that are computed into an input at commit */
    int stores;                      /* members that must be in memory */
    int live;   /* members, but for reductions, that nodes not yet scheduled read */
    int instrs; /* roughly the number of its kernel's instructions */
    VEC(NodeId) nodes;
} Group;

/* Scratch for longer rows is as large as the run tells. */
enum { MOST_ROW = 1 << 27 };

/* Is it a kernel that copies a value into an input on a device, at commit (commit.c)? */
static inline bool
group_copies(const Group *g)
{
    return g->scatters > 0 && g->commits > 0;
}

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
    Device device;
    SizeId size[MAX_RANK];
    VEC(int) groups; /* ascending */
} Shelf;

/* An access, place or size of the kernel under construction: found.c. */
typedef struct {
    uint32_t nest; /* number of the kernel; slots of others are free */
    uint32_t hash;
    int32_t index;
} FoundSlot;

/* A repeat by its marks, and the number of the one around it. */
typedef struct {
    NodeId enter, again;
    int around;
} Repeat;

typedef struct {
    Graph *graph;
    Arena *arena;
    Program *program;
    const char *why; /* set: there is no lowering, for this reason (a literal) */
    Virtuals virtuals;
    VEC(Group) groups;
    int nnodes;        /* of the graph, and length of the arrays by node */
    int32_t *group_of; /* per node: its group; -1: none */
    bool *row_level;   /* per node: a row-level member */
    bool *live;        /* per node: an output needs it, or it may deopt or report */
    bool *needed;      /* per storage: must be in memory */
    bool *late;        /* per node: joins a group together with its first reader (late.c) */
    bool *checked;     /* per node: computed only for the flags that it raises */
    int32_t *latest;   /* per virtual storage: the latest group that it is computed from;
                          UNKNOWN_GROUP at first */
    int32_t *seen;     /* per virtual storage: the last group for which need_from has visited it */
    bool *is_output;   /* per storage: an array object, which leaves the plan or a call takes */
    VEC(int64_t) array_sizes; /* of inputs, from which other numbers follow (sized.c) */
    NodeId *same_as;   /* per storage: the one whose buffer it is in, for values written in place;
                          else itself */
    NodeId *commit_of; /* per value: the scatter for which a kernel at commit writes it; NO_NODE */
    NodeId *stored_in; /* per value: the scatter that stores it for other groups, too; NO_NODE */
    BufferId *buffer;  /* per storage */
    int *part;         /* per node: only nodes of one part share a group */
    int nparts;
    bool on_device; /* there are nodes on one */
    int *component; /* per node: see together.c; 0: none */
    int ncomponents;
    bool *by_library;                   /* per node: an extern call, since it fits no kernel */
    NodeId *first_result, *next_result; /* lists of a node's result nodes; NO_NODE: no more */
    int remaining;                      /* nodes that have no group yet */
    int32_t *unread;                    /* per storage: reads by nodes not yet scheduled */
    int32_t *touched;                   /* per storage: the latest group with an access to it */
    VEC(Shelf) shelves;
    int32_t *shelf_slot; /* a hash table: shelf + 1 */
    int32_t shelf_slots;
    int32_t *value_of; /* per node: its instruction in the kernel of number value_in (nest.h) */
    uint32_t *value_in, nest;
    FoundSlot *found;
    uint32_t found_slots, nfound;
    int *arm; /* per node: the arm of a cond that it is in, 0: none (arms.c) */
    int narms;
    int *loop;           /* per node: the repeat that it is in, 0: none (repeat.c) */
    int *turned;         /* per storage: the repeat that carries it to the next turn; 0: none */
    VEC(Repeat) repeats; /* number 1 and up */
    VEC(int) open;       /* jumps whose target is not known yet */
    int32_t *first_step, *last_step; /* per buffer, for lifetimes */
} Lowering;

/* Only its value is computed; it is written into the input at commit. */
static inline bool
node_commits(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    return op_info(node->op)->kind == KIND_SCATTER && node->attrs.index == WRITE_AT_COMMIT;
}

/* lower.c */
/* The node's result number `index` if it is live, else NO_NODE. */
NodeId live_result(const Lowering *lw, NodeId maker, int index);

/* writes.c */
/* Decides which storages share a buffer because one is written in place of the other.  0 or -1;
   lw->why may be set. */
int writes_place(Lowering *lw);
typedef VEC(SavedPart) SavedParts;
/* Adds a part, in the user's array, of an input that the plan writes.  0 or -1. */
int save_part(Lowering *lw, SavedParts *saved, NodeId input, const Type *part);
/* A step that saves the parts, if there are any; `of`: what it is for.  0 or -1. */
int save_step(Lowering *lw, const SavedParts *saved, const Node *of);
/* The step that saves what scatters write into inputs.  0 or -1. */
int save_scattered(Lowering *lw);

/* schedule.c */
enum { UNKNOWN_GROUP = -2 };
int schedule(Lowering *lw);

/* late.c */
/* Behind the groups: finds the nodes that should be in their readers' group; with ANSWER_YES
   everything is to be scheduled again. */
Answer late_find(Lowering *lw);

/* stored.c */
/* Behind the groups: which values other groups find where a write has put them.  0 or -1. */
int stored_find(Lowering *lw);
NodeId stored_storage(const Lowering *lw, const Group *g, NodeId storage);

/* access.c */
/* The shape that a node iterates over. */
const Type *node_domain(const Lowering *lw, NodeId id);
/* How member `id` of group `g` accesses a value of `type` in `storage`. */
void access_of(const Lowering *lw, const Group *g, NodeId id, const Type *type, NodeId storage,
               Access *out);
/* How the member reads the value `arg`. */
void access_read(const Lowering *lw, const Group *g, NodeId id, NodeId arg, Access *out);
bool access_equal(const Lowering *lw, const Group *g, const Access *a, const Access *b);
/* The access by which the value of `scatter` is written to the input. */
void written_access(const Lowering *lw, const Group *g, NodeId scatter, Access *out);
/* The access by which a member's result is written, or read by other members; of one that is
   computed into an input at commit, the one that writes there. */
void result_access(const Lowering *lw, const Group *g, NodeId id, Access *out);
/* Calls `see` for each access of the group's members, also to one another's results, until it
   returns false. */
typedef bool (*SeeAccess)(void *context, const Access *access);
bool group_each_access(const Lowering *lw, const Group *g, SeeAccess see, void *context);

/* reduction.c: which reductions have a known order */
typedef enum { REDUCTION_ROWS, REDUCTION_COLUMNS, REDUCTION_EXTERN } ReductionForm;
ReductionForm reduction_form(const Graph *g, const Node *node, ReduceOrder *order);

/* nest.c: a group as a loop nest and the step that launches it */
enum { MAX_INSTRS = 2000 }; /* of one kernel */
/* The time of an OPF_SPECIAL of either dtype: both are computed in float64; see element_ps. */
enum { SPECIAL_PS = 2000 };
/* The time per byte of finding bounds, in the caches and in memory; see element_ps. */
enum { BOUNDS_PS = 25, BOUNDS_MEMORY_PS = 80 };
enum { LAUNCH_WORDS = 500 }; /* arguments of a launch on a device, 8 bytes each */
typedef enum {
    NEST_FIRST, /* computes what is stored at commit only for its flags; stores the rest */
    NEST_COMMIT /* stores what is computed at commit */
} NestKind;
/* ANSWER_NO: lw->why is set, or the kernel cannot run at commit. */
Answer nest_build(Lowering *lw, Group *g, NestKind kind);

/* instrs.c: loops of ufuncs, which kernels call */
/* The index among the program's loops; -1 with the error set. */
int program_add_loop(Lowering *lw, const UfuncLoop *loop);
/* As program_add_loop, of the ufunc's loop for these dtypes, of `nin` arguments and a result;
   lw->why is set where it has none.  *flags: it may raise floating-point flags that are checked. */
int program_ufunc_loop(Lowering *lw, PyObject *ufunc, int nin, const DType *dtypes, bool *flags);
/* NumPy's ufunc of that name; borrowed from the keep list. */
PyObject *numpy_ufunc(Lowering *lw, const char *name);

/* commit.c: values that are computed into an input at commit */
int commit_choose(Lowering *lw);
int commit_build(Lowering *lw, Group *g);

/* flag_bounds.c: is the group's first kernel likely to be one of which bounds show that it raises
   no flag? */
bool bounds_suit_group(const Lowering *lw, const Group *g);

/* region.c: loops of the program that stay loops */
int region_build(Lowering *lw, NodeId loop);
/* Marks the region's nodes and params, and those of the regions in it. */
void region_mark(const Graph *g, RegionId id, bool *inside);
void region_print(const Graph *g, const KernelStep *step, const Kernel *k, Text *out);

/* attention.c: the kernel of an attention */
int attention_build(Lowering *lw, Group *g);

/* product.c: a product by a device's library */
int product_build(Lowering *lw, Group *g);
int scan_build(Lowering *lw, Group *g);

/* bare.c: small calls of NumPy in loops, as kernels */
bool bare_suits(const Lowering *lw, NodeId id); /* after arms_find */
int bare_build(Lowering *lw, Group *g);

/* arms.c: conditional regions */
int arms_find(Lowering *lw); /* which node is in which arm */
void arms_need(Lowering *lw);
int arms_step(Lowering *lw, NodeId mark);

/* repeat.c */
/* In the order of the top region: which repeat the node is in; *loop goes on. */
int repeat_find(Lowering *lw, NodeId id, int *loop);
void repeat_need(Lowering *lw);
int repeat_place(Lowering *lw); /* what turns make for the next; after writes_place.  0 or -1 */
int repeat_step(Lowering *lw, NodeId mark);
void repeat_extend(Lowering *lw); /* lifetimes */

/* together.c: launches of many kernels of one text */
/* Before scheduling: parts of the graph that have nothing to do with one another, and of which
   there are many that do the same, share no kernel.  After it: their kernels share launches.  0 or
   -1. */
int together_divide(Lowering *lw);
int together_join(Lowering *lw);

/* sized.c: numbers that follow from the sizes of arrays */
int sized_find(Lowering *lw); /* to be called first.  0 or -1 */
/* May the constant be one of them?  Then it is an argument, and not in the kernel's text. */
bool is_sized(const Lowering *lw, const Node *node);

/* measure.c: sizes that the run makes known */
/* Behind the steps: makes room for buffers of such sizes.  0 or -1; lw->why may be set. */
int measure_buffers(Lowering *lw);

/* steps.c: extern calls, copies */
int step_external(Lowering *lw, Group *g);
/* The array library has a call that does what the node does. */
bool library_has(const Graph *g, NodeId id);
/* The buffer of a storage, made at first use; NO_BUFFER with the error set. */
BufferId buffer_for(Lowering *lw, NodeId storage);
int place_for(Lowering *lw, NodeId value, Place *out);

/* memory.c: arena offsets from lifetimes */
int memory_plan(Lowering *lw);
/* Does the beginning of the run tell how large it can be, but nothing before? */
static inline bool
memory_is_slot(const Lowering *lw, const Buffer *b)
{
    int64_t most;
    return !size_is_const(lw->graph, b->bytes) && !size_upper(lw->graph, b->bytes, &most) &&
           size_ceiling(lw->graph, b->bytes) != NO_SIZE;
}

/* release.c: array objects, and when they are released */
/* Before memory_plan: arguments of calls become array objects, where possible. */
void release_arguments(Lowering *lw);
/* After it: when each array object is made and released. */
int release_plan(Lowering *lw);

/* wave.c: after memory_plan */
int waves_find(Lowering *lw);

/* drive.c: after waves_find; 0 or -1 */
int drives_find(Lowering *lw);

#endif
