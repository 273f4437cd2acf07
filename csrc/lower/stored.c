/* Values that are stored once.

   A write stores its value into an array, and passes (passes/forward.c) made what is read of that
   array later read the value itself, so that it can stay in a register:

       %3 = add(...)
       %4 = scatter(%1, %3, view=V)
       %5 = multiply(%3, ...)

   Where %5 is in another kernel, %3 would be stored twice, to memory of its own and to V.  But what
   %5 wants is at V, until something else is written there. */
#include "schedule.h"

enum { NEVER = INT32_MAX };

/* Notes the group of the loop, + 1, for each array that it writes, whoever reads the last versions
   of them. */
static void
note_loop(const Lowering *lw, NodeId loop, int32_t *behind, NodeId *by)
{
    const Node *node = graph_node(lw->graph, loop);
    for (int k = 3; k < node->nargs; k++) {
        const Node *carried = graph_node(lw->graph, node->args[k]);
        if (carried->type.form != FORM_ARRAY) continue;
        behind[lw->same_as[carried->storage]] = lw->group_of[loop] + 1;
        by[lw->same_as[carried->storage]] = NO_NODE;
    }
}

/* The next write into the array that a scatter has written in place. */
typedef struct {
    int32_t group;  /* NEVER: there is none */
    NodeId scatter; /* NO_NODE: a loop */
} NextWrite;

/* Per scatter that writes in place. */
static NextWrite *
find_next_writes(const Lowering *lw)
{
    const Region *top = &lw->graph->regions.at[0];
    int32_t *behind = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)lw->nnodes);
    NodeId *by = arena_alloc(lw->arena, sizeof(NodeId) * (size_t)lw->nnodes);
    NextWrite *next = arena_alloc(lw->arena, sizeof(NextWrite) * (size_t)lw->nnodes);
    if (behind == NULL || by == NULL || next == NULL) return NULL;
    /* per root: the next write's group, + 1, and its scatter */
    for (int i = top->nodes.len; i-- > 0;) {
        NodeId id = top->nodes.at[i], root = lw->same_as[id];
        if (!lw->live[id]) continue;
        if (graph_node(lw->graph, id)->op == OP_loop) note_loop(lw, id, behind, by);
        if (root == id) continue;
        next[id] = (NextWrite){behind[root] == 0 ? NEVER : behind[root] - 1, by[root]};
        behind[root] = lw->group_of[id] + 1;
        by[root] = graph_node(lw->graph, id)->op == OP_scatter ? id : NO_NODE;
    }
    return next;
}

/* Elements lie in the order of a C-contiguous array, rows without gaps: a kernel, and a loop of the
   library's that it calls, goes through them as through such an array. */
static bool
is_ordered(const Graph *g, const Type *type)
{
    int64_t least = (int64_t)dtype_size((DType)type->dtype);
    bool inner = true;
    for (int axis = type->rank; axis-- > 0;) {
        int64_t size = size_value(g, type->shape[axis]), stride = size_value(g, type->stride[axis]);
        if (size == 1) continue;
        if (inner ? stride != least : stride < least) return false;
        inner = false;
        least = stride * size;
    }
    return !inner;
}

/* The write stores the value as it is, in the kernel that makes it. */
static bool
stores_value(const Lowering *lw, NodeId scatter)
{
    const Graph *g = lw->graph;
    const Node *node = graph_node(g, scatter), *value = graph_node(g, node->args[1]);
    NodeId id = node->args[1];
    const Type *view = node->attrs.view;
    OpKind kind = op_info(value->op)->kind;
    if (node_commits(g, scatter) || lw->same_as[scatter] == scatter || value->storage != id)
        return false;
    if (kind != KIND_POINTWISE && kind != KIND_UFUNC) return false;
    if (lw->group_of[id] < 0 || lw->group_of[id] != lw->group_of[scatter]) return false;
    return value->type.dtype == view->dtype && type_same_shape(&value->type, view) &&
           type_is_known(g, view) && type_is_known(g, &value->type) && is_ordered(g, view) &&
           type_is_contiguous(g, &value->type);
}

/* Can the node's group read what the scatter has stored where it writes itself, element by element?
   It then loads before it stores. */
static bool
writes_over(Lowering *lw, NodeId id, NodeId scatter, NodeId by)
{
    const Graph *g = lw->graph;
    Group *group = &lw->groups.at[lw->group_of[id]];
    const Type *view = graph_node(g, scatter)->attrs.view;
    if (by == NO_NODE || lw->group_of[by] != lw->group_of[id]) return false;
    if (group->columns || group->calls > 0 || group->device != DEVICE_HOST) return false;
    if (!type_same_place(g, graph_node(g, by)->attrs.view, view) ||
        !type_same_shape(node_domain(lw, id), view))
        return false;
    return group->in_place = true;
}

/* The node can take its argument from where the scatter has stored it. */
static bool
reads_there(Lowering *lw, NodeId id, NodeId arg, NodeId scatter, const NextWrite *next)
{
    NodeId value = graph_node(lw->graph, scatter)->args[1];
    int number = lw->group_of[id];
    if (number < 0) return false; /* no telling which kernel it is part of */
    if (number == lw->group_of[value]) return true;
    const Group *g = &lw->groups.at[number];
    if (arg != value || g->external || g->reduced != 0 || g->reductions > 0) return false;
    return number < next->group ||
           (number == next->group && writes_over(lw, id, scatter, next->scatter));
}

/* Values that leave, or that somebody wants in memory of their own, are not candidates. */
static void
find_candidates(Lowering *lw)
{
    const Graph *g = lw->graph;
    const Region *top = &g->regions.at[0];
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (!lw->live[id] || graph_node(g, id)->op != OP_scatter || !stores_value(lw, id)) continue;
        NodeId value = graph_node(g, id)->args[1];
        if (!lw->needed[value] && lw->stored_in[value] == NO_NODE) lw->stored_in[value] = id;
    }
    for (int i = 0; i < g->outputs.len; i++)
        lw->stored_in[graph_node(g, g->outputs.at[i].node)->storage] = NO_NODE;
    for (int r = 1; r < g->regions.len; r++)
        for (int i = 0; i < g->regions.at[r].results.len; i++)
            lw->stored_in[graph_node(g, g->regions.at[r].results.at[i])->storage] = NO_NODE;
}

int
stored_find(Lowering *lw)
{
    const Graph *g = lw->graph;
    if (lw->narms > 0) return 0;
    const NextWrite *next = find_next_writes(lw);
    if (next == NULL) return -1;
    find_candidates(lw);
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!lw->live[id] || op_info(node->op)->kind == KIND_VIEW) continue;
        for (int k = 0; k < node->nargs; k++) {
            NodeId storage = graph_node(g, node->args[k])->storage;
            NodeId scatter = lw->stored_in[storage];
            if (scatter == NO_NODE || id == scatter) continue;
            if (!reads_there(lw, id, node->args[k], scatter, &next[scatter]))
                lw->stored_in[storage] = NO_NODE;
        }
    }
    return 0;
}

/* What group `g` reads for a value: itself, or the scatter that has stored it. */
NodeId
stored_storage(const Lowering *lw, const Group *g, NodeId storage)
{
    NodeId scatter = lw->stored_in[storage];
    bool inside = scatter == NO_NODE || &lw->groups.at[lw->group_of[storage]] == g;
    return inside ? storage : scatter;
}
