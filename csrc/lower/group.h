/* Inside lower/: what scheduling asks about groups.  schedule.c decides who is offered a group and
   in what order; fit.c says whether one may be in it, group.c takes it in. */
#ifndef PYCOMPILE_GROUP_H
#define PYCOMPILE_GROUP_H

#include "schedule.h"

/* ---- access.c ---- */
/* The axes of a domain that are longer than 1: their sizes and numbers.  How many there are. */
int domain_squeezed(const Graph *g, const Type *type, SizeId *size, int *axes);
bool domain_is_empty(const Lowering *lw, NodeId id);
/* Where a member leaves its result. */
void result_access(const Lowering *lw, const Group *g, NodeId id, Access *out);
/* As group_each_access, for one member. */
bool member_each_access(const Lowering *lw, const Group *g, NodeId id, SeeAccess see,
                        void *context);

/* ---- fit.c ---- */
/* The latest group that a value is computed in, virtual nodes looked through; -1: none. */
int latest_group(const Lowering *lw, NodeId value);
int argument_group(const Lowering *lw, NodeId id); /* of all arguments of the node */
bool has_many_rows(const Lowering *lw, const Group *g, unsigned reduced);
/* May a ufunc's loop be called once for each row? */
bool row_fits_call(const Lowering *lw, const Group *g, unsigned reduced, bool columns);
/* Each argument made in the group is the very element that is being made. */
bool arguments_fit(const Lowering *lw, int number, NodeId id, bool row_level);
/* Rows are one run of memory in every access.  `only`: the new member, where the others are known
   to; else NO_NODE. */
bool rows_collapse(const Lowering *lw, const Group *g, NodeId only);
bool domain_matches(const Lowering *lw, const Group *g, NodeId id, bool row_level);
/* The dimensions of its squeezed domain that a reduction reduces, a bit each. */
unsigned reduced_dimensions(const Lowering *lw, NodeId id);

/* ---- group.c ---- */
/* Before the first group: counts what is going to be read by members of groups. */
void groups_begin(Lowering *lw);
/* Into a group that is there, or into the first that it fits of those of its domain, from that of
   its arguments on.  ANSWER_NO: it does not fit. */
Answer group_join(Lowering *lw, int number, NodeId id);
Answer group_join_any(Lowering *lw, NodeId id);
/* A new group at the end, with its first member.  `fuses`: more are welcome. */
int group_open(Lowering *lw, NodeId id, bool external, bool fuses);

#endif
