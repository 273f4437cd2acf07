/* A copy of an array that nobody else has is that array.

       %4 = matmul(%1, %2)
       %7 = copy(%4)        an output, or written afterwards

   becomes %7 = matmul(%1, %2).  So what a plan makes and gives away, a gradient, is not copied for
   it.  The array is in memory of the plan's, and no output, call or branch has it or a version of
   it.  Of what is read of %4 when %7 has been written passes/writes.c makes a copy.

   The pass runs behind the pipeline, whose graph says which array an output was at first: the
   copy's node takes over what the array is, so that it stays that output. */
#include "versions.h"

static bool
is_version(const Graph *g, NodeId value, NodeId root)
{
    return storage_first(g, graph_node(g, value)->storage) == root;
}

/* Has an output, a call or a branch a version of the array? */
static bool
is_shared(const Graph *g, NodeId root)
{
    for (int i = 0; i < g->outputs.len; i++)
        if (g->outputs.at[i].root == root) return true;
    for (int r = 1; r < g->regions.len; r++)
        for (int i = 0; i < g->regions.at[r].results.len; i++)
            if (is_version(g, g->regions.at[r].results.at[i], root)) return true;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        OpKind kind = op_info(node->op)->kind;
        bool takes = kind == KIND_EXTERN || kind == KIND_CHOICE ||
                     (kind == KIND_REGION && node->op != OP_loop);
        for (int k = 0; takes && k < node->nargs; k++)
            if (is_version(g, node->args[k], root)) return true;
    }
    return false;
}

static bool
is_moved(const Rewrite *r, NodeId id)
{
    const Graph *g = r->g;
    const Node *copy = graph_node(g, id);
    if (copy->op != OP_copy || copy->attrs.index != 0) return false;
    NodeId of = copy->args[0];
    const Node *array = graph_node(g, of);
    return array->storage == of && r->to[of] == of && array->region[0] == NO_REGION &&
           array->type.form == FORM_ARRAY && copy->type.form == FORM_ARRAY &&
           array->type.device == DEVICE_HOST && !array->type.frozen &&
           type_same_layout(&array->type, &copy->type) &&
           (r->uses[of] & (USE_ESCAPES | USE_WRITTEN)) == 0 &&
           storage_is_fresh(g, storage_first(g, of)) && !is_shared(g, storage_first(g, of));
}

static void
take_over(Rewrite *r, NodeId id)
{
    Node *copy = graph_node(r->g, id);
    NodeId of = copy->args[0];
    *copy = *graph_node(r->g, of);
    copy->storage = id;
    r->to[of] = id;
    for (int i = 0; i < r->g->outputs.len; i++)
        if (r->g->outputs.at[i].root == id) r->g->outputs.at[i].root = storage_first(r->g, id);
}

int
pass_moves(Graph *g)
{
    Rewrite r;
    Region *top = &g->regions.at[0];
    NodeId *places = arena_copy(g->arena, top->nodes.at, sizeof(NodeId) * (size_t)top->nodes.len);
    bool changed = false;
    if (places == NULL || rewrite_begin(&r, g) < 0) return -1;
    for (int i = 0; i < top->nodes.len; i++)
        if (is_moved(&r, places[i])) {
            take_over(&r, places[i]);
            places[i] = NO_NODE;
            changed = true;
        }
    if (!changed) return 0;
    int kept = 0;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = places[i];
        while (id != NO_NODE && r.to[id] != id) id = r.to[id];
        if (id != NO_NODE) places[kept++] = id;
    }
    top->nodes.at = places;
    top->nodes.len = top->nodes.cap = kept;
    graph_replace(g, r.to, r.len);
    return 0;
}
