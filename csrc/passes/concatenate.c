/* A concatenate becomes an empty array whose parts are written one by one. */
#include "passes.h"

typedef struct {
    Graph *g;
    VEC(NodeId) order; /* the new top region */
} Split;

static NodeId
add(Split *s, Op op, int nargs, const NodeId *args, const Type *type, const Attrs *attrs)
{
    NodeId id = graph_make(s->g, op, nargs, args, type, attrs);
    if (id == NO_NODE || VEC_PUSH(s->g->arena, &s->order, id) < 0) return NO_NODE;
    return id;
}

static NodeId
split(Split *s, NodeId id)
{
    Graph *g = s->g;
    Node node = *graph_node(g, id);
    int axis = (int)node.attrs.index;
    SizeId offset = size_const(g, 0);
    NodeId whole = add(s, OP_empty, 0, NULL, &node.type, NULL);
    for (int k = 0; k < node.nargs && whole != NO_NODE; k++) {
        Type view = node.type;
        if (offset == NO_SIZE) return NO_NODE;
        view.shape[axis] = graph_node(g, node.args[k])->type.shape[axis];
        view.offset = offset;
        Attrs attrs = {.view = &view};
        SizeId bytes = size_mul(g, view.shape[axis], node.type.stride[axis]);
        if (bytes == NO_SIZE) return NO_NODE;
        offset = size_add(g, offset, bytes);
        whole = add(s, OP_scatter, 2, (NodeId[]){whole, node.args[k]}, &node.type, &attrs);
        if (whole != NO_NODE) {
            graph_node(g, whole)->line = node.line;
            graph_node(g, whole)->file = node.file;
        }
    }
    return whole;
}

int
pass_concatenate(Graph *g)
{
    Split s = {.g = g};
    NodeId *instead = NULL;
    int nodes = g->nodes.len;
    for (int i = 0; i < g->regions.at[0].nodes.len; i++) {
        NodeId id = g->regions.at[0].nodes.at[i];
        if (graph_node(g, id)->op != OP_concatenate) {
            if (VEC_PUSH(g->arena, &s.order, id) < 0) return -1;
            continue;
        }
        if (instead == NULL && (instead = graph_same(g)) == NULL) return -1;
        if ((instead[id] = split(&s, id)) == NO_NODE) return -1;
    }
    if (instead == NULL) return 0;
    graph_replace(g, instead, nodes);
    Region *top = &g->regions.at[0];
    top->nodes.at = s.order.at;
    top->nodes.len = s.order.len;
    top->nodes.cap = s.order.cap;
    return 0;
}
