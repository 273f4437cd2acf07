/* The shape that a node iterates over, and how its accesses walk a group's domain: address maps. */
#include "group.h"

const Type *
node_domain(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    switch (op_info(node->op)->kind) {
    case KIND_REDUCTION: return &graph_node(lw->graph, node->args[0])->type;
    case KIND_SCATTER: return node->attrs.view;
    default: return &node->type;
    }
}

int
domain_squeezed(const Graph *g, const Type *type, SizeId *size, int *axes)
{
    int n = 0;
    for (int axis = 0; axis < type->rank; axis++) {
        if (size_is_single(g, type->shape[axis])) continue;
        size[n] = type->shape[axis];
        axes[n++] = axis;
    }
    return n;
}

bool
domain_is_empty(const Lowering *lw, NodeId id)
{
    const Type *type = node_domain(lw, id);
    for (int axis = 0; axis < type->rank; axis++)
        if (size_is_zero(lw->graph, type->shape[axis])) return true;
    return false;
}

/* Axis of the member's own domain for each dimension of the group; -1: reduced away. */
static void
dimension_axes(const Lowering *lw, const Group *g, NodeId id, int *axis_of)
{
    SizeId size[MAX_RANK];
    int axes[MAX_RANK], at = 0;
    domain_squeezed(lw->graph, node_domain(lw, id), size, axes);
    for (int dim = 0; dim < g->ndims; dim++)
        axis_of[dim] = lw->row_level[id] && (g->reduced >> dim & 1) ? -1 : axes[at++];
}

void
access_of(const Lowering *lw, const Group *g, NodeId id, const Type *type, NodeId storage,
          Access *out)
{
    int axis_of[MAX_RANK];
    dimension_axes(lw, g, id, axis_of);
    int shift = node_domain(lw, id)->rank - type->rank;
    *out = (Access){.storage = storage, .offset = type->offset, .dtype = type->dtype};
    for (int dim = 0; dim < g->ndims; dim++) {
        int axis = axis_of[dim] - shift;
        bool walks =
            axis_of[dim] >= 0 && axis >= 0 && !size_is_single(lw->graph, type->shape[axis]);
        out->stride[dim] = walks ? size_walked(lw->graph, type->stride[axis]) : NO_SIZE;
    }
}

void
access_read(const Lowering *lw, const Group *g, NodeId id, NodeId arg, Access *out)
{
    const Node *node = graph_node(lw->graph, arg);
    NodeId from = stored_storage(lw, g, node->storage);
    const Type *type =
        from == node->storage ? &node->type : graph_node(lw->graph, from)->attrs.view;
    access_of(lw, g, id, type, from, out);
}

void
written_access(const Lowering *lw, const Group *g, NodeId scatter, Access *out)
{
    const Node *node = graph_node(lw->graph, scatter);
    NodeId input = graph_node(lw->graph, node->args[0])->storage;
    access_of(lw, g, scatter, node->attrs.view, input, out);
}

void
result_access(const Lowering *lw, const Group *g, NodeId id, Access *out)
{
    const Node *node = graph_node(lw->graph, id);
    OpKind kind = op_info(node->op)->kind;
    NodeId commit = lw->commit_of[id];
    if (commit != NO_NODE && commit != id) {
        written_access(lw, g, commit, out);
        return;
    }
    if (kind == KIND_SCATTER) {
        access_of(lw, g, id, node->attrs.view, id, out);
        return;
    }
    if (kind != KIND_REDUCTION) {
        access_of(lw, g, id, &node->type, id, out);
        return;
    }
    /* a reduction's result, walked over its argument's axes */
    unsigned reduced = 0;
    for (int i = 0; i < node->attrs.nints; i++) reduced |= 1u << node->attrs.ints[i];
    Type spread = *node_domain(lw, id);
    spread.offset = NO_SIZE;
    spread.dtype = node->type.dtype;
    int from = 0;
    for (int axis = 0; axis < spread.rank; axis++) {
        bool gone = reduced >> axis & 1;
        spread.stride[axis] = gone ? NO_SIZE : node->type.stride[from];
        if (!gone || node->attrs.keepdims) from++;
    }
    access_of(lw, g, id, &spread, id, out);
}

bool
access_equal(const Lowering *lw, const Group *g, const Access *a, const Access *b)
{
    if (a->storage != b->storage || a->dtype != b->dtype ||
        !size_same(lw->graph, a->offset, b->offset))
        return false;
    for (int dim = 0; dim < g->ndims; dim++)
        if (!size_same(lw->graph, a->stride[dim], b->stride[dim])) return false;
    return true;
}

bool
member_each_access(const Lowering *lw, const Group *g, NodeId id, SeeAccess see, void *context)
{
    Access access;
    const Node *node = graph_node(lw->graph, id);
    for (int k = op_info(node->op)->kind == KIND_SCATTER; k < node->nargs; k++) {
        const Node *arg = graph_node(lw->graph, node->args[k]);
        if (node_is_virtual(&lw->virtuals, arg->storage)) continue;
        access_read(lw, g, id, node->args[k], &access);
        if (!see(context, &access)) return false;
    }
    result_access(lw, g, id, &access);
    return see(context, &access);
}

bool
group_each_access(const Lowering *lw, const Group *g, SeeAccess see, void *context)
{
    for (int i = 0; i < g->nodes.len; i++)
        if (!member_each_access(lw, g, g->nodes.at[i], see, context)) return false;
    return true;
}
