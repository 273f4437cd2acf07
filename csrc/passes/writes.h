/* Private to writes.c and arm_writes.c: what is known of a graph while it is decided where each
   write goes. */
#ifndef PYCOMPILE_PASSES_WRITES_H
#define PYCOMPILE_PASSES_WRITES_H

#include "versions.h"

typedef struct {
    int32_t order; /* position in the top region, from 1 on; 0: not there; an inserted node has that
                      of the node after it */
    int32_t within; /* of a node in a loop or branch, however deep: the position of the outermost */
    int32_t arm;    /* number of the arm of a cond that it is in, from 1 on; 0: none */
    int32_t loop;   /* the `enter` of the repeat that it is in; 0: none */
    int32_t ends;   /* of an `again`: the `enter` of its repeat */
    int32_t inserted; /* the first node inserted before it: index into `inserted` + 1 */
    bool live;        /* it has a place in a region */
    bool turned;      /* a version in a turn, all of whose versions are in one memory */
    NodeId first_result,
        next_result; /* a node's result nodes: its first, and this one's next; NO_NODE: no more */
    /* for a storage: */
    int32_t reads;    /* the newest read: index into `reads` + 1 */
    int32_t nreads;   /* arguments of live nodes, views included */
    int32_t noutputs; /* outputs that lie in it */
    bool committed;   /* read by a commit, after all nodes */
    NodeId root;      /* the storage in whose memory it is, perhaps itself */
    NodeId began;     /* of a version in a turn: the one that the turn began with; else NO_NODE */
    uint64_t made_by; /* of such a version: the turn's writes that it comes from, by number */
    int32_t level;    /* at least so many kernels come before that of the node */
    NodeId copied_by; /* of an input: the last scatter into a copy of it; of that: the one before */
} Fact;

/* A read of a storage by a node that is not a view. */
typedef struct {
    NodeId node;
    int32_t next; /* another read of the same storage, usually an earlier one: index + 1 */
} Read;

/* An arm of a cond, or the turns of a repeat. */
typedef struct {
    int32_t around; /* number of the arm that it is in; 0: none */
    int32_t number; /* of the cond or repeat, the same for both arms */
} Arm;

typedef struct {
    NodeId node;
    int32_t next; /* the next one inserted before the same node: index + 1 */
    int32_t last; /* valid in the first: the last of the list, index + 1 */
} Inserted;

typedef struct {
    Graph *g;
    Virtuals virtuals; /* of the graph as it was at first */
    VEC(Fact) facts;   /* per node */
    VEC(Arm) arms;     /* that of number 1 first */
    VEC(Read) reads;
    VEC(Inserted) inserted;
} Writes;

static inline Fact *
fact(const Writes *w, NodeId id)
{
    return &w->facts.at[id];
}

static inline NodeId
storage_of(const Writes *w, NodeId value)
{
    return graph_node(w->g, value)->storage;
}

/* Is it a version behind a branch that is in the memory of the one before it? */
static inline bool
choice_is_same(const Writes *w, NodeId id)
{
    const Node *node = graph_node(w->g, id);
    return node->op == OP_choose && node->attrs.index == CHOICE_SAME;
}

/* ---- writes.c ---- */
/* Iterates over the nodes other than views that read the storage; a node with two such arguments
   comes twice. *at is -1 at first. False: no more. */
bool next_read(const Writes *w, NodeId storage, int32_t *at, NodeId *id);
/* Is it one of the versions that turns of a repeat write one after the other? */
bool version_is_turned(const Writes *w, NodeId storage);
/* The result node number `index` of a node, or NO_NODE. */
NodeId result_of(const Writes *w, NodeId id, int index);
/* 0 or -1. */
int replace_argument(Writes *w, NodeId id, int k, NodeId value);

/* ---- arm_writes.c ---- */
/* Before it is decided where a write in an arm goes: may it go where the old version is?  Then the
   version behind the branch is there, too.  0 or -1. */
int arm_stays(Writes *w, NodeId scatter);
/* May the choice behind the branch be in the memory of the storage `old`, into which `scatter`
   writes in the arm?  Then it reads nothing of it. */
bool choice_stays(const Writes *w, NodeId choice, NodeId scatter, NodeId old);
/* Puts all versions that a turn makes of the memory that it began with, the result `began` of
   `enter`, into this memory, if each read finds there what it reads.  0 or -1. */
int turn_stays(Writes *w, NodeId enter, NodeId began);
/* Versions that are only copied into an arm's result are made there.  0 or -1. */
int arm_results(Writes *w, NodeId join);

#endif
