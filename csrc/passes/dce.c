/* Dead code: drops nodes that nobody needs (graph/live.c), and what arms of branches leave that
   nobody takes.  Such a result would keep what it is made of: an array as an arm leaves it is a
   copy of all of its memory. */
#include "rewrite.h"

static void
sweep_region(Graph *g, const uint8_t *live, RegionId id)
{
    Region *region = &g->regions.at[id];
    int kept = 0;
    for (int i = 0; i < region->nodes.len; i++)
        if (live[region->nodes.at[i]]) region->nodes.at[kept++] = region->nodes.at[i];
    region->nodes.len = kept;
}

/* ---- results of arms ---- */

/* What becomes of the results of a cond: `to[first[cond] + i]`. */
typedef struct {
    Graph *g;
    int32_t *first;
    VEC(int32_t) to;
} Results;

typedef int (*Visit)(Results *r, NodeId id);

static int
each_node(Results *r, Visit visit)
{
    for (int k = 0; k < r->g->regions.len; k++)
        for (int i = 0; i < r->g->regions.at[k].nodes.len; i++)
            if (visit(r, r->g->regions.at[k].nodes.at[i]) < 0) return -1;
    return 0;
}

/* The number of the result that the node takes; NULL: it takes none of a cond. */
static int32_t *
taken_by(const Results *r, NodeId id)
{
    const Node *node = graph_node(r->g, id);
    if (node->op != OP_result || graph_node(r->g, node->args[0])->op != OP_cond) return NULL;
    return &r->to.at[r->first[node->args[0]] + node->attrs.index];
}

static int
make_room(Results *r, NodeId id)
{
    const Node *node = graph_node(r->g, id);
    if (node->op != OP_cond) return 0;
    r->first[id] = r->to.len;
    for (int i = 0; i < r->g->regions.at[node->region[0]].results.len; i++)
        if (VEC_PUSH(r->g->arena, &r->to, 0) < 0) return -1;
    return 0;
}

static int
note_taken(Results *r, NodeId id)
{
    int32_t *taken = taken_by(r, id);
    if (taken != NULL) *taken = 1;
    return 0;
}

static int
sweep_results(Results *r, NodeId id)
{
    const Node *node = graph_node(r->g, id);
    if (node->op != OP_cond) return 0;
    Region *arm[2];
    for (int k = 0; k < 2; k++) arm[k] = &r->g->regions.at[node->region[k]];
    int kept = 0, count = arm[0]->results.len;
    for (int i = 0; i < count; i++) {
        int32_t *to = &r->to.at[r->first[id] + i];
        if (*to == 0) continue;
        for (int k = 0; k < 2; k++) arm[k]->results.at[kept] = arm[k]->results.at[i];
        *to = kept++;
    }
    for (int k = 0; k < 2; k++) arm[k]->results.len = kept;
    return 0;
}

static int
renumber(Results *r, NodeId id)
{
    const int32_t *to = taken_by(r, id);
    if (to != NULL) graph_node(r->g, id)->attrs.index = *to;
    return 0;
}

int
pass_dce(Graph *graph)
{
    uint8_t *live = graph_live(graph);
    Results results = {.g = graph};
    results.first = arena_alloc(graph->arena, sizeof(int32_t) * ((size_t)graph->nodes.len + 1));
    if (live == NULL || results.first == NULL) return -1;
    for (int i = 0; i < graph->regions.len; i++) sweep_region(graph, live, i);
    return each_node(&results, make_room) < 0 || each_node(&results, note_taken) < 0 ||
                   each_node(&results, sweep_results) < 0 || each_node(&results, renumber) < 0
               ? -1
               : 0;
}
