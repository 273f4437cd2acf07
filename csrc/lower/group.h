/* Inside lower/: what scheduling asks about groups.  schedule.c decides in what order nodes are
   offered to groups, fit.c whether a node may be in a group, and group.c adds it. */
#ifndef PYCOMPILE_GROUP_H
#define PYCOMPILE_GROUP_H

#include "schedule.h"

/* ---- access.c ---- */
/* The sizes and numbers of a domain's axes that are longer than 1; returns how many there are. */
int domain_squeezed(const Graph *g, const Type *type, SizeId *size, int *axes);
bool domain_is_empty(const Lowering *lw, NodeId id);
/* group_each_access for one member. */
bool member_each_access(const Lowering *lw, const Group *g, NodeId id, SeeAccess see,
                        void *context);

/* ---- fit.c ---- */
/* The latest group that computes the value or, for a virtual node, what it is computed from; -1:
   none. */
int latest_group(const Lowering *lw, NodeId value);
int argument_group(const Lowering *lw, NodeId id); /* the latest of all arguments */
bool has_many_rows(const Lowering *lw, const Group *g, unsigned reduced);
/* May a ufunc's loop be called once for each row? */
bool row_fits_call(const Lowering *lw, const Group *g, unsigned reduced, bool columns);
/* Is each argument that the group makes read at exactly the element that is being made? */
bool arguments_fit(const Lowering *lw, int number, NodeId id, bool row_level);
/* Is each row one run of memory in every access? `only`: the new member, if the others are known to
   fit; else NO_NODE. */
/* The same of what reductions read alone. */
bool sums_collapse(const Lowering *lw, const Group *g);
bool rows_collapse(const Lowering *lw, const Group *g, NodeId only);
bool domain_matches(const Lowering *lw, const Group *g, NodeId id, bool row_level);
/* The dimensions of its squeezed domain that a reduction reduces, one bit each. */
unsigned reduced_dimensions(const Lowering *lw, NodeId id);

/* ---- late.c ---- */
/* Does the node wait for its first reader? */
bool late_waits(const Lowering *lw, NodeId id);
/* group_join of the node with those of its arguments that wait for it. */
Answer late_join(Lowering *lw, int number, NodeId id);
/* Opens a group for the node and the arguments that wait for it; ANSWER_NO: none does any more, and
   the node has no group yet. */
Answer late_open(Lowering *lw, NodeId id);
/* Schedules the arguments that wait for the node without it. */
int late_arguments(Lowering *lw, NodeId id);

/* ---- group.c ---- */
/* Called before the first group: counts the nodes that will be members, and their reads. */
void groups_begin(Lowering *lw);
/* Adds the node to group `number`, or to the first group that it fits: of its domain, and not
   before its arguments' groups.  ANSWER_NO: it does not fit. */
Answer group_join(Lowering *lw, int number, NodeId id);
Answer group_join_any(Lowering *lw, NodeId id);
/* Removes the last members, until `count` are left. */
void group_drop_to(Lowering *lw, int number, int count);
/* A new group at the end, with its first member.  `fuses`: other nodes may join it. */
int group_open(Lowering *lw, NodeId id, bool external, bool fuses);

/* ---- apart.c ---- */
/* Have the two parts of a storage of type `whole` no element in common?  False: not known. */
bool parts_are_apart(Graph *g, const Type *whole, const Type *a, const Type *b);

#endif
