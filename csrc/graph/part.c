/* A part of a graph as a graph of its own, in which nodes keep their numbers: capture takes the
   nodes of a function's forward pass out of a graph that is not done
   (capture/control/derivative.c). Passes may change the part, and the graph stays as it is. */
#include "graph.h"

#define COPY_VEC(arena, vec)                                                                       \
    copy_items((arena), (void **)&(vec)->at, sizeof *(vec)->at *(size_t)(vec)->cap)

static int
copy_items(Arena *arena, void **items, size_t size)
{
    if (size > 0) *items = arena_copy(arena, *items, size);
    return *items == NULL && size > 0 ? -1 : 0;
}

static int
copy_node(Arena *arena, Node *node)
{
    return copy_items(arena, (void **)&node->args, sizeof(NodeId) * (size_t)node->nargs);
}

static int
copy_region(Arena *arena, Region *region)
{
    return COPY_VEC(arena, &region->params) < 0 || COPY_VEC(arena, &region->nodes) < 0 ||
                   COPY_VEC(arena, &region->results) < 0
               ? -1
               : 0;
}

/* All of the graph but its outputs and inputs. */
static Graph *
copy_graph(const Graph *of)
{
    Arena *arena = of->arena;
    Graph *g = arena_copy(arena, of, sizeof *of);
    if (g == NULL || COPY_VEC(arena, &g->nodes) < 0 || COPY_VEC(arena, &g->sizes) < 0 ||
        COPY_VEC(arena, &g->regions) < 0 || COPY_VEC(arena, &g->equals) < 0 ||
        COPY_VEC(arena, &g->files) < 0)
        return NULL;
    size_t slots = sizeof *g->size_slot * (size_t)g->size_slots;
    if (copy_items(arena, (void **)&g->size_slot, slots) < 0) return NULL;
    for (NodeId id = 0; id < g->nodes.len; id++)
        if (copy_node(arena, graph_node(g, id)) < 0) return NULL;
    for (RegionId id = 0; id < g->regions.len; id++)
        if (copy_region(arena, &g->regions.at[id]) < 0) return NULL;
    memset(&g->inputs, 0, sizeof g->inputs);
    memset(&g->outputs, 0, sizeof g->outputs);
    memset(&g->roots, 0, sizeof g->roots);
    return g;
}

/* A node from outside, or one of those that the part is a function of, begins the part. */
static int
begin_with(Graph *g, NodeId id)
{
    Node *node = graph_node(g, id);
    node->storage = id;
    if (node->op != OP_const) {
        node->op = OP_input;
        node->nargs = 0;
        node->region[0] = node->region[1] = NO_REGION;
        node->attrs = (Attrs){.index = g->inputs.len};
        if (VEC_PUSH(g->arena, &g->inputs, id) < 0) return -1;
    }
    return VEC_PUSH(g->arena, &g->regions.at[0].nodes, id);
}

static int
meet(Graph *g, bool *inside, NodeId id)
{
    if (inside[id]) return 0;
    inside[id] = true;
    return begin_with(g, id);
}

static int part_region(Graph *g, bool *inside, RegionId region);

/* What the node reads from outside is met before the node has its place. */
static int
part_node(Graph *g, bool *inside, NodeId id)
{
    Node *node = graph_node(g, id);
    for (int i = 0; i < node->nargs; i++)
        if (meet(g, inside, node->args[i]) < 0) return -1;
    for (int i = 0; i < 2; i++)
        if (node->region[i] != NO_REGION && part_region(g, inside, node->region[i]) < 0) return -1;
    bool view = op_info(node->op)->kind == KIND_VIEW && node->nargs > 0;
    node->storage = view ? graph_node(g, node->args[0])->storage : id;
    inside[id] = true;
    return 0;
}

static int
part_region(Graph *g, bool *inside, RegionId region)
{
    const Region r = g->regions.at[region];
    for (int i = 0; i < r.params.len; i++) inside[r.params.at[i]] = true;
    for (int i = 0; i < r.nodes.len; i++)
        if (part_node(g, inside, r.nodes.at[i]) < 0) return -1;
    for (int i = 0; i < r.results.len; i++)
        if (meet(g, inside, r.results.at[i]) < 0) return -1;
    return 0;
}

Graph *
graph_part(const Graph *of, RegionId region, NodeId first, int ninputs, const NodeId *inputs,
           int noutputs, const NodeId *outputs)
{
    Graph *g = copy_graph(of);
    bool *inside = g ? arena_alloc(g->arena, (size_t)g->nodes.len) : NULL;
    if (inside == NULL) return NULL;
    const Region r = of->regions.at[region];
    g->regions.at[0] = (Region){.owner = NO_NODE};
    for (int i = 0; i < ninputs; i++)
        if (meet(g, inside, inputs[i]) < 0) return NULL;
    for (int i = 0; i < r.nodes.len; i++) {
        NodeId id = r.nodes.at[i];
        if (id < first || inside[id]) continue;
        if (part_node(g, inside, id) < 0 || VEC_PUSH(g->arena, &g->regions.at[0].nodes, id) < 0)
            return NULL;
    }
    for (int i = 0; i < noutputs; i++)
        if (meet(g, inside, outputs[i]) < 0 || graph_output(g, outputs[i]) < 0) return NULL;
    return g;
}
