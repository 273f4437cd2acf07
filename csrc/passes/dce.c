/* Dead code: drops nodes that nobody uses.

   Kept even without a use: inputs, nodes that may deopt (Python would have raised there), and nodes
   that may raise a floating-point flag (NumPy would have warned). */
#include "rewrite.h"

static bool
is_root(const Graph *g, const Node *node)
{
    const OpInfo *info = op_info(node->op);
    if (info->kind == KIND_INPUT) return true;
    return (info->flags & OPF_FALLIBLE) != 0 || node_may_report(g, node);
}

static void
mark(const Graph *g, uint8_t *live, NodeId id)
{
    live[id] = 1;
    live[graph_node(g, id)->storage] = 1;
}

/* Nodes come before their uses, so one walk backwards finds everything. */
static void
mark_region(const Graph *g, uint8_t *live, RegionId id)
{
    const Region *region = &g->regions.at[id];
    for (int i = 0; i < region->results.len; i++) mark(g, live, region->results.at[i]);
    for (int i = region->nodes.len - 1; i >= 0; i--) {
        NodeId at = region->nodes.at[i];
        const Node *node = graph_node(g, at);
        if (!live[at] && !is_root(g, node)) continue;
        mark(g, live, at);
        for (int k = 0; k < node->nargs; k++) mark(g, live, node->args[k]);
        for (int k = 0; k < 2; k++)
            if (node->region[k] != NO_REGION) mark_region(g, live, node->region[k]);
    }
}

static void
sweep_region(Graph *g, const uint8_t *live, RegionId id)
{
    Region *region = &g->regions.at[id];
    int kept = 0;
    for (int i = 0; i < region->nodes.len; i++)
        if (live[region->nodes.at[i]]) region->nodes.at[kept++] = region->nodes.at[i];
    region->nodes.len = kept;
}

int
pass_dce(Graph *graph)
{
    uint8_t *live = arena_alloc(graph->arena, (size_t)graph->nodes.len);
    if (live == NULL) return -1;
    for (int i = 0; i < graph->outputs.len; i++) mark(graph, live, graph->outputs.at[i].node);
    mark_region(graph, live, 0);
    for (int i = 0; i < graph->regions.len; i++) sweep_region(graph, live, i);
    return 0;
}
