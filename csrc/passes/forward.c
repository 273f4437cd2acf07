/* Store to load: reads of a storage that was just written.

       %3 = scatter(%1, %2, view=V)
       %4 = a view of %3

   1. Where %4 covers exactly V, operations that read %4 read %2 instead.
   2. Where neither V nor any earlier write back to an input of the graph overlaps %4, %4 becomes
      the same view of that input.  Only inputs: their memory is never written before commit, while
      a fresh storage would have to be copied to keep its older version.  Layouts must be constant.
      A view that is an output stays: the program may see which memory it shows.
   3. A write to exactly the place that the previous version wrote starts from the version before
      that one.  Only for inputs, for the same reason. */
#include "versions.h"

/* ---- the rules ---- */

/* The value that was written to exactly the place that `view` reads, or NO_NODE. */
static NodeId
written_value(const Graph *g, NodeId view)
{
    const Node *node = graph_node(g, view);
    const Type *type = &node->type;
    NodeId from = node->storage;
    if (op_info(node->op)->kind != KIND_VIEW) from = view;
    const Node *scatter = graph_node(g, from);
    if (scatter->op != OP_scatter || !type_same_place(g, type, scatter->attrs.view)) return NO_NODE;
    const Type *value = &graph_node(g, scatter->args[1])->type;
    /* Where elements of the view share a place, only the last one written is read. */
    bool whole = type_same_shape(value, type) && !type_repeats(g, type);
    return whole ? scatter->args[1] : NO_NODE;
}

/* Rule 1. The bits of elementwise operations do not depend on the layout of their arguments; other
   operations need a value of the same layout. */
static void
read_value(Rewrite *r, NodeId id)
{
    Node *node = graph_node(r->g, id);
    OpKind kind = op_info(node->op)->kind;
    bool any_layout = kind == KIND_POINTWISE || kind == KIND_UFUNC || kind == KIND_COPY;
    bool same_layout = kind == KIND_REDUCTION || kind == KIND_SCAN || kind == KIND_MATMUL;
    if (!any_layout && !same_layout && kind != KIND_SCATTER) return;
    if (kind == KIND_MATMUL && type_is_transpose(&graph_node(r->g, node->args[0])->type,
                                                 &graph_node(r->g, node->args[1])->type))
        return;
    for (int i = kind == KIND_SCATTER ? 1 : 0; i < node->nargs; i++) {
        NodeId value = written_value(r->g, node->args[i]);
        if (value == NO_NODE) continue;
        /* NumPy's loops may give other bits for a negative stride. */
        if (kind == KIND_UFUNC && type_runs_backwards(r->g, &graph_node(r->g, node->args[i])->type))
            continue;
        if (same_layout && !type_same_layout(&graph_node(r->g, value)->type,
                                             &graph_node(r->g, node->args[i])->type))
            continue;
        node->args[i] = value;
    }
}

static bool
is_graph_input(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    return node->op == OP_input && node->attrs.index < g->inputs.len &&
           g->inputs.at[node->attrs.index] == id;
}

/* Makes the view a view of `from`, at the place that its type says. */
static void
view_of(const Graph *g, NodeId id, NodeId from)
{
    Node *node = graph_node(g, id);
    node->op = graph_view_is_readonly(g, id) ? OP_broadcast : OP_as_strided;
    node->args[0] = node->storage = from;
    node->attrs.nints = 0;
}

/* Rule 2. Where no version since the input has written what the view reads, it reads the input. */
static void
read_past(Rewrite *r, const Versions *versions, NodeId id)
{
    const Graph *g = r->g;
    Node *node = graph_node(g, id);
    /* The view of which this is a view may have moved to another version. */
    if (graph_node(g, node->args[0])->storage != node->storage) view_of(g, id, node->storage);
    if (r->uses[id] & (USE_OUTPUT | USE_WRITTEN)) return;
    NodeId from = versions_root(versions, node->storage);
    if (from == node->storage || !is_graph_input(g, from)) return;
    if (!versions_pass_by(versions, node->storage, &node->type)) return;
    view_of(g, id, from);
}

/* Rule 3. `m *= a; m += b` writes m once. */
static void
write_past(Rewrite *r, const Versions *versions, NodeId id)
{
    const Graph *g = r->g;
    Node *node = graph_node(g, id);
    const Node *old = graph_node(g, node->args[0]);
    if (old->op != OP_scatter || !type_same_place(g, node->attrs.view, old->attrs.view)) return;
    if (!is_graph_input(g, versions_root(versions, node->args[0]))) return;
    node->args[0] = old->args[0];
}

static int
visit(Rewrite *r, NodeId id, void *context)
{
    Versions *versions = context;
    if (graph_node(r->g, id)->op == OP_scatter) {
        write_past(r, versions, id);
        if (versions_add(versions, id) < 0) return -1;
    }
    if (op_info(graph_node(r->g, id)->op)->kind == KIND_VIEW)
        read_past(r, versions, id);
    else
        read_value(r, id);
    return 0;
}

int
pass_forward(Graph *graph)
{
    Rewrite r;
    Versions versions;
    if (rewrite_begin(&r, graph) < 0 || versions_begin(&versions, graph) < 0) return -1;
    return rewrite_walk(&r, visit, &versions);
}
