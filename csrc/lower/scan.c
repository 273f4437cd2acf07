/* A cumulative sum or product of a device's array as a kernel.  The last loop is the scanned axis,
   the others, longest strides first, are its units, so that neighbouring units lie side by side.
   Three instructions: a load, the operation, a store. */
#include "group.h"
#include "nest.h"

static int64_t
magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* The axes as loops: those that are longer than 1, by their strides in the argument, then the
   scanned one. */
static int
order_axes(const Graph *g, const Type *from, int scanned, int *axes)
{
    int n = 0;
    for (int axis = 0; axis < from->rank; axis++) {
        if (axis == scanned || size_is_single(g, from->shape[axis])) continue;
        int at = n++;
        int64_t stride = magnitude(size_value(g, from->stride[axis]));
        for (; at > 0 && magnitude(size_value(g, from->stride[axes[at - 1]])) < stride; at--)
            axes[at] = axes[at - 1];
        axes[at] = axis;
    }
    axes[n++] = scanned;
    return n;
}

static int32_t
add_array(Nest *n, NodeId value, const int *axes, bool stored)
{
    const Type *type = &graph_node(n->lw->graph, value)->type;
    Access access = {.storage = graph_node(n->lw->graph, value)->storage,
                     .offset = type->offset,
                     .dtype = (DType)type->dtype};
    for (int i = 0; i < MAX_RANK; i++) access.stride[i] = NO_SIZE;
    for (int i = 0; i < n->nloops; i++) access.stride[i] = type->stride[axes[i]];
    return instr_operand(n, &access, stored);
}

static int
add_instrs(Nest *n, NodeId id, int32_t from, int32_t to)
{
    const Node *node = graph_node(n->lw->graph, id);
    Instr load = {.kind = INSTR_LOAD, .operand = from, .level = LEVEL_ELEMENT, .node = id};
    Instr scan = {.kind = INSTR_OP, .op = node->op, .level = LEVEL_ELEMENT, .node = id};
    Instr store = {.kind = INSTR_STORE, .operand = to, .level = LEVEL_ELEMENT, .node = id};
    load.dtype = n->kernel->operands.at[from].dtype;
    store.dtype = (DType)node->type.dtype;
    scan.dtype = dtype_is_half(store.dtype) ? DT_F32 : store.dtype; /* rounded when it is stored */
    scan.from = load.dtype;
    int32_t value = instr_emit(n, load);
    if ((value = instr_args(n, scan, 1, &value)) < 0) return -1;
    return instr_args(n, store, 1, &value) < 0 ? -1 : 0;
}

int
scan_build(Lowering *lw, Group *g)
{
    Nest n;
    Step step = {0};
    NodeId id = g->nodes.at[0];
    const Node *node = graph_node(lw->graph, id);
    const Type *from = &graph_node(lw->graph, node->args[0])->type;
    int axes[MAX_RANK];
    if (nest_init(&n, lw, g) < 0) return -1;
    n.kernel->kind = KERNEL_SCAN;
    n.kernel->nstages = 1;
    g->ndims = n.nloops = n.kernel->nloops =
        order_axes(lw->graph, from, (int)node->attrs.index, axes);
    for (int i = 0; i < n.nloops; i++) {
        n.first[i] = i;
        n.size[i] = g->size[i] = from->shape[axes[i]];
        if ((n.kernel->size[i] = nest_size(&n, n.size[i])) < 0) return -1;
    }
    int32_t array = add_array(&n, node->args[0], axes, false);
    int32_t result = array < 0 ? -1 : add_array(&n, id, axes, true);
    if (result < 0 || add_instrs(&n, id, array, result) < 0) return -1;
    if (cuda_schedule_scan(&n, &step.kernel) < 0) return -1;
    if (lw->why != NULL) return 0;
    step_blame(lw->graph, id, &step);
    return nest_step(&n, &step);
}
