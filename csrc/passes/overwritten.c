/* Versions that nobody needs, since a later write replaces all that they wrote.

       %3 = scatter(%1, %2, view=V)
       %5 = scatter(%3, %4, view=W)

   1. Where W is the whole of a fresh array, %5 is a write into new memory: its elements do not
      depend on %3, which may be what %4 is computed from, in the same kernel.
   2. Where W covers V, and %5 alone uses %3, %5 is a version of %1.

   The pass runs behind the pipeline, whose graph says which array an output was at first. What
   nobody uses any more goes at once, since later passes need graphs without dead nodes. */
#include "versions.h"

typedef struct {
    Graph *g;
    int32_t *uses; /* per storage: arguments, results of regions and outputs in it */
    int len;       /* of `uses`; new arrays have none */
    bool changed;
} Overwritten;

static void
count_uses(const Overwritten *o)
{
    const Graph *g = o->g;
    for (int r = 0; r < g->regions.len; r++) {
        const Region *region = &g->regions.at[r];
        for (int i = 0; i < region->results.len; i++)
            o->uses[graph_node(g, region->results.at[i])->storage]++;
        for (int i = 0; i < region->nodes.len; i++) {
            const Node *node = graph_node(g, region->nodes.at[i]);
            for (int k = 0; k < node->nargs; k++) o->uses[graph_node(g, node->args[k])->storage]++;
        }
    }
    for (int i = 0; i < g->outputs.len; i++)
        o->uses[graph_node(g, g->outputs.at[i].node)->storage]++;
}

static int32_t *
uses_of(const Overwritten *o, NodeId value)
{
    NodeId storage = graph_node(o->g, value)->storage;
    return storage < o->len ? &o->uses[storage] : NULL;
}

/* Makes the scatter a version of `with`.  The arguments are copied, since the graph as it was
   before may share them. */
static int
replace_old(Overwritten *o, NodeId scatter, NodeId with)
{
    Node *node = graph_node(o->g, scatter);
    NodeId *args = arena_copy(o->g->arena, node->args, sizeof(NodeId) * (size_t)node->nargs);
    if (args == NULL) return -1;
    --*uses_of(o, args[0]);
    args[0] = with;
    node->args = args;
    int32_t *uses = uses_of(o, with);
    if (uses != NULL) ++*uses;
    o->changed = true;
    return 0;
}

/* Rule 1. Puts a new array, which the scatter fills, before it. */
static Answer
write_fresh(Overwritten *o, const Versions *versions, NodeId id, Region *out)
{
    Graph *g = o->g;
    const Node *node = graph_node(g, id);
    NodeId old = graph_node(g, node->args[0])->storage;
    OpKind made = op_info(graph_node(g, node->args[1])->op)->kind;
    if (made != KIND_POINTWISE && made != KIND_UFUNC) return ANSWER_NO; /* not by a kernel */
    if (graph_node(g, old)->op == OP_empty) return ANSWER_NO;
    NodeId root = versions_root(versions, old);
    if (!storage_is_fresh(g, root) || !type_is_known(g, &graph_node(g, root)->type))
        return ANSWER_NO;
    Type whole = graph_node(g, old)->type;
    if (!versions_covers(g, &whole, node->attrs.view, &whole)) return ANSWER_NO;
    whole.form = FORM_ARRAY;
    NodeId fresh = graph_make(g, OP_empty, 0, NULL, &whole, NULL);
    if (fresh == NO_NODE || VEC_PUSH(g->arena, &out->nodes, fresh) < 0) return ANSWER_ERROR;
    return replace_old(o, id, fresh) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Rule 2. */
static int
skip_covered(Overwritten *o, NodeId id)
{
    const Graph *g = o->g;
    for (;;) {
        const Node *node = graph_node(g, id);
        NodeId old = node->args[0];
        const Node *before = graph_node(g, old);
        if (before->op != OP_scatter || *uses_of(o, old) != 1) return 0;
        if (!versions_covers(g, &before->type, node->attrs.view, before->attrs.view)) return 0;
        if (replace_old(o, id, before->args[0]) < 0) return -1;
        for (int k = 0; k < before->nargs; k++) {
            int32_t *uses = uses_of(o, before->args[k]);
            if (uses != NULL) --*uses;
        }
    }
}

static int
visit(Overwritten *o, Versions *versions, NodeId id, Region *out)
{
    if (graph_node(o->g, id)->op == OP_scatter) {
        Answer fresh = write_fresh(o, versions, id, out);
        if (fresh == ANSWER_ERROR || (fresh == ANSWER_NO && skip_covered(o, id) < 0)) return -1;
        if (versions_add(versions, id) < 0) return -1;
    }
    return VEC_PUSH(o->g->arena, &out->nodes, id);
}

int
pass_overwritten(Graph *g)
{
    Overwritten o = {.g = g, .len = g->nodes.len};
    Versions versions;
    Region *top = &g->regions.at[0], out = *top;
    o.uses = arena_alloc(g->arena, sizeof(int32_t) * (size_t)g->nodes.len);
    if (o.uses == NULL || versions_begin(&versions, g) < 0) return -1;
    count_uses(&o);
    out.nodes.at = NULL;
    out.nodes.len = out.nodes.cap = 0;
    for (int i = 0; i < top->nodes.len; i++)
        if (visit(&o, &versions, top->nodes.at[i], &out) < 0) return -1;
    if (!o.changed) return 0;
    top->nodes.at = out.nodes.at;
    top->nodes.len = out.nodes.len;
    top->nodes.cap = out.nodes.cap;
    return pass_dce(g);
}
