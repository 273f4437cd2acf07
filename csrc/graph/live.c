/* Which nodes anybody needs.

   Needed without a use: inputs, nodes that may deopt (Python would have raised there), and nodes
   that may raise a floating-point flag (NumPy would have warned).  Of the results of a branch's
   arms those are needed that a `result` node takes which is needed itself. */
#include "graph.h"

typedef struct {
    const Graph *g;
    uint8_t *live;
    NodeId *first, *next; /* the `result` nodes of a cond, and the next one of the same */
} Walk;

static bool
is_root(const Graph *g, const Node *node)
{
    const OpInfo *info = op_info(node->op);
    if (info->kind == KIND_INPUT) return true;
    return (info->flags & OPF_FALLIBLE) != 0 || node_may_report(g, node);
}

static void
mark(Walk *w, NodeId id)
{
    w->live[id] = 1;
    w->live[graph_node(w->g, id)->storage] = 1;
}

static void mark_region(Walk *w, RegionId id);

static void
mark_cond(Walk *w, NodeId cond)
{
    const Node *node = graph_node(w->g, cond);
    for (NodeId id = w->first[cond]; id != NO_NODE; id = w->next[id]) {
        int64_t index = graph_node(w->g, id)->attrs.index;
        for (int arm = 0; w->live[id] && arm < 2; arm++)
            mark(w, w->g->regions.at[node->region[arm]].results.at[index]);
    }
    for (int arm = 0; arm < 2; arm++) mark_region(w, node->region[arm]);
}

/* Nodes come before their uses, so one walk backwards finds everything. */
static void
mark_region(Walk *w, RegionId id)
{
    const Region *region = &w->g->regions.at[id];
    for (int i = region->nodes.len - 1; i >= 0; i--) {
        NodeId at = region->nodes.at[i];
        const Node *node = graph_node(w->g, at);
        if (!w->live[at] && !is_root(w->g, node)) continue;
        mark(w, at);
        for (int k = 0; k < node->nargs; k++) mark(w, node->args[k]);
        if (node->op == OP_cond) {
            mark_cond(w, at);
            continue;
        }
        for (int k = 0; k < 2 && node->region[k] != NO_REGION; k++) {
            const Region *body = &w->g->regions.at[node->region[k]];
            for (int r = 0; r < body->results.len; r++) mark(w, body->results.at[r]);
            mark_region(w, node->region[k]);
        }
    }
}

static void
find_results(Walk *w)
{
    const Graph *g = w->g;
    for (NodeId id = 0; id < g->nodes.len; id++) w->first[id] = w->next[id] = NO_NODE;
    for (int r = 0; r < g->regions.len; r++) {
        const Region *region = &g->regions.at[r];
        for (int i = 0; i < region->nodes.len; i++) {
            const Node *node = graph_node(g, region->nodes.at[i]);
            if (node->op != OP_result || graph_node(g, node->args[0])->op != OP_cond) continue;
            w->next[region->nodes.at[i]] = w->first[node->args[0]];
            w->first[node->args[0]] = region->nodes.at[i];
        }
    }
}

uint8_t *
graph_live(const Graph *g)
{
    size_t count = (size_t)g->nodes.len + 1;
    Walk w = {.g = g,
              .live = arena_alloc(g->arena, count),
              .first = arena_alloc(g->arena, count * sizeof(NodeId)),
              .next = arena_alloc(g->arena, count * sizeof(NodeId))};
    if (w.live == NULL || w.first == NULL || w.next == NULL) return NULL;
    find_results(&w);
    for (int i = 0; i < g->outputs.len; i++) mark(&w, g->outputs.at[i].node);
    mark_region(&w, 0);
    return w.live;
}
