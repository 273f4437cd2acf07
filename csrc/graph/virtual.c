/* Which values are virtual: constants, fills and rank-0 arithmetic. They need no memory, since
   every kernel that uses one computes it for itself, unless that would take many operations. */
#include "graph.h"

enum {
    MOST_REPEATED = 8, /* operations of a value that each of several readers computes for itself */
    MOST_INLINE = 400, /* operations of a value that a kernel computes for itself */
};

bool
node_is_virtual(const Virtuals *v, NodeId id)
{
    const Node *node = graph_node(v->graph, id);
    if (node->op == OP_const) return node->type.dtype != DT_OBJECT && node->type.rank == 0;
    if (node->op == OP_full) return true;
    if (node->type.rank != 0 || v->anchored[id]) return false;
    if (op_info(node->op)->kind == KIND_PYTHON) return true;
    if (node->op == OP_copy && node->type.form == FORM_SCALAR) return true; /* of another class */
    if (v->mixed && node_may_report(v->graph, node)) return false;
    return node_way(v->graph, node) == WAY_EXPRESSION;
}

static bool
is_mixed(const Graph *g)
{
    const Node *first = NULL;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!node_may_report(g, node)) continue;
        if (first == NULL) first = node;
        if (node->errors != first->errors) return true;
    }
    return false;
}

/* Per storage, the arguments of live nodes that are in it. */
static void
count_readers(const Graph *g, const bool *live, int32_t *readers)
{
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        for (int k = 0; live[id] && k < node->nargs; k++)
            readers[graph_node(g, node->args[k])->storage]++;
    }
}

/* Anchors the values that are too long to be virtual. Up to MOST_INLINE operations that holds for
   NumPy's scalars alone: Python's, whose overflow is checked, are computed where they are used. */
int
virtuals_find(Virtuals *v, const Graph *g, const bool *live)
{
    const Region *top = &g->regions.at[0];
    size_t n = (size_t)g->nodes.len;
    int32_t *readers = arena_alloc(g->arena, n * sizeof(int32_t));
    int32_t *size = arena_alloc(g->arena, n * sizeof(int32_t));
    *v = (Virtuals){.graph = g,
                    .mixed = is_mixed(g),
                    .anchored = arena_alloc(g->arena, n),
                    .count = g->nodes.len};
    if (readers == NULL || size == NULL || v->anchored == NULL) return -1;
    count_readers(g, live, readers);
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(g, id);
        OpKind kind = op_info(node->op)->kind;
        if (!live[id] || kind == KIND_CONST || !node_is_virtual(v, id)) continue;
        size[id] = node->op != OP_full;
        for (int k = 0; k < node->nargs; k++)
            size[id] += size[graph_node(g, node->args[k])->storage];
        bool repeated = size[id] > MOST_REPEATED && readers[id] > 1 && kind == KIND_POINTWISE &&
                        node->type.form == FORM_SCALAR;
        if (node->op == OP_full || (!repeated && size[id] <= MOST_INLINE)) continue;
        v->anchored[id] = true;
        size[id] = 0;
    }
    return 0;
}
