/* Making graphs. Nodes are appended in program order; they and what they refer to are copied into
   the arena. */
#include "graph.h"

Graph *
graph_new(Arena *arena, PyObject *keep)
{
    Graph *g = arena_alloc(arena, sizeof(Graph));
    if (g == NULL) return NULL;
    g->arena = arena;
    g->keep = keep;
    return graph_region(g, NO_NODE) < 0 || graph_file(g, "") < 0 ? NULL : g;
}

int
graph_file(Graph *g, const char *name)
{
    for (int i = 0; i < g->files.len; i++)
        if (strcmp(g->files.at[i], name) == 0) return i;
    const char *copy = arena_copy(g->arena, name, strlen(name) + 1);
    if (copy == NULL || VEC_PUSH(g->arena, &g->files, copy) < 0) return -1;
    return g->files.len - 1;
}

void
graph_set_position(Graph *g, int file, int line)
{
    g->file = file;
    g->line = line;
}

int
graph_device(Graph *g, int number)
{
    for (int i = 0; i < g->ndevices; i++)
        if (g->device[i] == number) return i;
    if (g->ndevices == MOST_DEVICES) return -1;
    g->device[g->ndevices] = number;
    return g->ndevices++;
}

RegionId
graph_region(Graph *g, NodeId owner)
{
    RegionId region = g->regions.len;
    if (VEC_PUSH(g->arena, &g->regions, (Region){.owner = NO_NODE}) < 0) return NO_REGION;
    if (owner != NO_NODE) graph_own(g, owner, region);
    return region;
}

void
graph_own(Graph *g, NodeId owner, RegionId region)
{
    Node *node = &g->nodes.at[owner];
    node->region[node->region[0] == NO_REGION ? 0 : 1] = region;
    g->regions.at[region].owner = owner;
}

static int
copy_attrs(Graph *g, Attrs *out, const Attrs *attrs)
{
    *out = attrs == NULL ? (Attrs){0} : *attrs;
    if (out->object != NULL && PyList_Append(g->keep, out->object) < 0) return -1;
    if (out->kwnames != NULL && PyList_Append(g->keep, out->kwnames) < 0) return -1;
    if (out->nints > 0) {
        out->ints = arena_copy(g->arena, out->ints, sizeof(int64_t) * (size_t)out->nints);
        if (out->ints == NULL) return -1;
    }
    if (out->view != NULL) {
        out->view = arena_copy(g->arena, out->view, sizeof(Type));
        if (out->view == NULL) return -1;
    }
    return 0;
}

NodeId
graph_make(Graph *g, Op op, int nargs, const NodeId *args, const Type *type, const Attrs *attrs)
{
    NodeId id = g->nodes.len;
    Node node = {
        .op = op,
        .nargs = nargs,
        .type = *type,
        .storage = id,
        .region = {NO_REGION, NO_REGION},
        .errors = g->errors,
        .current = g->current,
        .line = g->line,
        .file = g->file,
    };
    if (copy_attrs(g, &node.attrs, attrs) < 0 || node_sizes_now(g, &node) < 0) return NO_NODE;
    if (nargs > 0) {
        node.args = arena_copy(g->arena, args, sizeof(NodeId) * (size_t)nargs);
        if (node.args == NULL) return NO_NODE;
    }
    if (op_info(op)->kind == KIND_VIEW && nargs > 0) node.storage = g->nodes.at[args[0]].storage;
    return VEC_PUSH(g->arena, &g->nodes, node) < 0 ? NO_NODE : id;
}

NodeId
graph_add(Graph *g, RegionId region, Op op, int nargs, const NodeId *args, const Type *type,
          const Attrs *attrs)
{
    NodeId id = graph_make(g, op, nargs, args, type, attrs);
    if (id == NO_NODE) return NO_NODE;
    return VEC_PUSH(g->arena, &g->regions.at[region].nodes, id) < 0 ? NO_NODE : id;
}

NodeId
graph_input(Graph *g, RegionId region, const Type *type)
{
    bool top = region == 0;
    Attrs attrs = {.index = top ? g->inputs.len : g->regions.at[region].params.len};
    NodeId id = graph_make(g, OP_input, 0, NULL, type, &attrs);
    if (id == NO_NODE) return NO_NODE;
    Region *r = &g->regions.at[region];
    if (!top) return VEC_PUSH(g->arena, &r->params, id) < 0 ? NO_NODE : id;
    if (VEC_PUSH(g->arena, &g->inputs, id) < 0) return NO_NODE;
    return VEC_PUSH(g->arena, &r->nodes, id) < 0 ? NO_NODE : id;
}

NodeId
graph_const(Graph *g, RegionId region, PyObject *value, const Type *type)
{
    return graph_add(g, region, OP_const, 0, NULL, type, &(Attrs){.object = value});
}

NodeId *
graph_same(const Graph *g)
{
    NodeId *instead = arena_alloc(g->arena, sizeof(NodeId) * (size_t)g->nodes.len);
    for (NodeId id = 0; instead != NULL && id < g->nodes.len; id++) instead[id] = id;
    return instead;
}

/* The final replacement of the node. */
static NodeId
now(const NodeId *instead, int count, NodeId id)
{
    while (id < count && instead[id] != id) id = instead[id];
    return id;
}

void
graph_replace(Graph *g, const NodeId *instead, int count)
{
    for (NodeId id = 0; id < g->nodes.len; id++) {
        Node *node = graph_node(g, id);
        for (int k = 0; k < node->nargs; k++) node->args[k] = now(instead, count, node->args[k]);
        NodeId by;
        while (node->storage != id && (by = now(instead, count, node->storage)) != node->storage)
            node->storage = graph_node(g, by)->storage;
    }
    for (int r = 0; r < g->regions.len; r++)
        for (int i = 0; i < g->regions.at[r].results.len; i++)
            g->regions.at[r].results.at[i] = now(instead, count, g->regions.at[r].results.at[i]);
    for (int i = 0; i < g->outputs.len; i++) {
        Output *output = &g->outputs.at[i];
        NodeId root = now(instead, count, output->root);
        if (root != output->root) output->root = storage_first(g, graph_node(g, root)->storage);
        output->node = now(instead, count, output->node);
    }
}

bool
graph_view_is_readonly(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    for (; op_info(node->op)->kind == KIND_VIEW; node = graph_node(g, node->args[0])) {
        if (node->op == OP_broadcast) return true;
        if (node->nargs == 0) return false; /* parsed, and not verified yet */
    }
    return (node->op == OP_extern || node->op == OP_result) && node->type.frozen;
}

bool
graph_view_is_place(const Graph *g, const Node *view)
{
    const Node *whole = graph_node(g, view->storage);
    return whole->op != OP_input || !type_repeats(g, &whole->type);
}

bool
attrs_same(const Graph *g, const Attrs *a, const Attrs *b)
{
    if (a->object != b->object || a->kwnames != b->kwnames || a->nints != b->nints ||
        a->index != b->index || a->number != b->number || a->keepdims != b->keepdims ||
        (a->view == NULL) != (b->view == NULL))
        return false;
    if (a->nints > 0 && memcmp(a->ints, b->ints, sizeof(int64_t) * (size_t)a->nints) != 0)
        return false;
    return a->view == NULL || type_same_place(g, a->view, b->view);
}
