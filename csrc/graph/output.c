/* Outputs, and what each is to the program: fresh, a view, frozen, an input itself.

   This is found when the output is added, and stays: passes may merge or fold arrays that the
   program can tell apart. */
#include "graph.h"

/* The previous version of `storage`, or NO_NODE. While a graph is parsed it is not verified yet:
   arguments may be missing. */
static NodeId
storage_before(const Graph *g, NodeId storage)
{
    const Node *n = graph_node(g, storage);
    if (n->nargs == 0) return NO_NODE;
    const Node *of = n->op == OP_result ? graph_node(g, n->args[0]) : NULL;
    if (op_info(n->op)->kind == KIND_SCATTER || op_writes_element(n->op))
        return graph_node(g, n->args[0])->storage;
    if (n->op == OP_choose && n->attrs.index != 0 && n->nargs == 3)
        return graph_node(g, n->args[2])->storage;
    int64_t carried = 3 + n->attrs.index; /* after start, stop, step */
    if (of != NULL && of->op == OP_loop && carried >= 3 && carried < of->nargs)
        return graph_node(g, of->args[carried])->storage;
    return NO_NODE;
}

/* The first version of `storage`. Chains of versions are long and outputs are many, so what was
   found is kept in g->roots. */
static NodeId
storage_root(Graph *g, NodeId storage)
{
    while (g->roots.len < g->nodes.len)
        if (VEC_PUSH(g->arena, &g->roots, NO_NODE) < 0) return NO_NODE;
    NodeId root = storage, *known = g->roots.at;
    while (known[root] == NO_NODE && storage_before(g, root) != NO_NODE)
        root = storage_before(g, root);
    if (known[root] != NO_NODE) root = known[root];
    for (NodeId at = storage; at != NO_NODE && known[at] == NO_NODE; at = storage_before(g, at))
        known[at] = root;
    return root;
}

static Output
as_it_stands(const Graph *g, NodeId id, NodeId root)
{
    OpKind kind = op_info(graph_node(g, id)->op)->kind;
    OpKind root_kind = op_info(graph_node(g, root)->op)->kind;
    return (Output){.node = id,
                    .root = root,
                    .fresh = root_kind != KIND_INPUT && root_kind != KIND_CONST,
                    .view = kind == KIND_VIEW,
                    .frozen = graph_view_is_readonly(g, id),
                    .input = kind == KIND_INPUT};
}

int
graph_output(Graph *g, NodeId id)
{
    NodeId root = storage_root(g, graph_node(g, id)->storage);
    if (root == NO_NODE) return -1;
    Output output = as_it_stands(g, id, root);
    return VEC_PUSH(g->arena, &g->outputs, output) < 0 ? -1 : g->outputs.len - 1;
}

NodeId
storage_first(const Graph *g, NodeId storage)
{
    while (storage_before(g, storage) != NO_NODE) storage = storage_before(g, storage);
    return storage;
}

bool
output_is_evident(const Graph *g, const Output *output)
{
    NodeId root = storage_first(g, graph_node(g, output->node)->storage);
    Output now = as_it_stands(g, output->node, root);
    return now.root == output->root && now.fresh == output->fresh && now.view == output->view &&
           now.frozen == output->frozen && now.input == output->input;
}
