/* The gradient of an attention, which would read its weights: nodes that make them again, a tile at
   a time.  In: what a derivative writes (attention.h).  Out, in the places of four products:

       g @ v^T         attention_back 0: of each query, what its weights follow from, and its sum
       p^T @ g         attention_back 3: dv
       dfirst @ k      attention_back 1: dq
       dfirst^T @ q    attention_back 2: dk

   No matrix of weights is left.  The region of each has the score of an element of q @ k^T, and
   dfirst by the slope of the score. */
#include "attention.h"

#include "../arrays/arrays.h"

/* Of what `id` is a view with its last two axes swapped, or NO_NODE. */
static NodeId
swapped(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    int rank = node->type.rank;
    if (node->op != OP_transpose || rank < 2) return NO_NODE;
    for (int axis = 0; axis < rank - 2; axis++)
        if (node->attrs.ints[axis] != axis) return NO_NODE;
    return node->attrs.ints[rank - 1] == rank - 2 ? node->args[0] : NO_NODE;
}

/* Do two nodes see the same elements, one with its last two axes swapped? */
static bool
are_swapped(const Graph *g, NodeId a, NodeId b)
{
    const Type *one = &graph_node(g, a)->type, *other = &graph_node(g, b)->type;
    int last = one->rank - 1;
    if (one->rank != other->rank || last < 1 || one->dtype != other->dtype ||
        graph_node(g, a)->storage != graph_node(g, b)->storage ||
        !size_same(g, one->offset, other->offset))
        return false;
    for (int axis = 0; axis <= last; axis++) {
        int at = axis == last ? last - 1 : axis == last - 1 ? last : axis;
        if (!size_same(g, one->shape[axis], other->shape[at]) ||
            !size_same(g, one->stride[axis], other->stride[at]))
            return false;
    }
    return true;
}

static bool
are_same(const Graph *g, NodeId a, NodeId b)
{
    const Type *one = &graph_node(g, a)->type, *other = &graph_node(g, b)->type;
    return a == b ||
           (graph_node(g, a)->storage == graph_node(g, b)->storage && one->dtype == other->dtype &&
            size_same(g, one->offset, other->offset) && type_same_layout(one, other));
}

/* x * y, in either order, behind conversions. */
static bool
multiplies(const Match *m, NodeId id, NodeId x, NodeId *y)
{
    const Node *node = graph_node(m->g, id);
    if (node->op != OP_multiply) return false;
    for (int i = 0; i < 2; i++) {
        *y = attention_unrounded(m, node->args[1 - i]);
        if (attention_unrounded(m, node->args[i]) == x) return true;
    }
    return false;
}

/* Is it p * (dp - sum(dp * p))? */
static bool
is_slope(const Match *m, NodeId id)
{
    const Graph *g = m->g;
    NodeId less, other;
    if (!multiplies(m, id, m->weights, &less)) return false;
    const Node *node = graph_node(g, less);
    if (node->op != OP_subtract || attention_unrounded(m, node->args[0]) != m->back.dp)
        return false;
    NodeId summed = attention_reduced_row(m, node->args[1], OP_sum, &graph_node(g, less)->type);
    return summed != NO_NODE && multiplies(m, summed, m->weights, &other) && other == m->back.dp;
}

/* The slope of the scores that an elementwise expression is of, or NO_NODE. */
static NodeId
find_slope(const Match *m, NodeId id, int depth)
{
    enum { DEEPEST = 50 };
    const Node *node = graph_node(m->g, id);
    if (is_slope(m, id)) return id;
    if (depth > DEEPEST || op_info(node->op)->kind != KIND_POINTWISE) return NO_NODE;
    for (int k = 0; k < node->nargs; k++) {
        NodeId found = find_slope(m, node->args[k], depth + 1);
        if (found != NO_NODE) return found;
    }
    return NO_NODE;
}

/* g @ v^T and p^T @ g. */
static bool
find_first_ones(Match *m)
{
    const Graph *g = m->g;
    const Region *top = &g->regions.at[0];
    NodeId of_values = NO_NODE;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (!attention_is_product(m, id)) continue;
        const Node *node = graph_node(g, id);
        NodeId turned = swapped(g, node->args[0]);
        if (turned != NO_NODE && attention_unrounded(m, turned) == m->weights) {
            m->back.dv = id;
            of_values = node->args[1];
        } else if (are_swapped(g, node->args[1], m->v) && m->back.dp == NO_NODE) {
            m->back.dp = id;
            m->back.g = node->args[0];
        }
    }
    return m->back.dp != NO_NODE && m->back.dv != NO_NODE && are_same(g, of_values, m->back.g);
}

/* dfirst @ k and dfirst^T @ q. */
static bool
find_last_ones(Match *m)
{
    const Graph *g = m->g;
    const Region *top = &g->regions.at[0];
    NodeId q = graph_node(g, m->first)->args[0], k = graph_node(g, m->first)->args[1];
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (!attention_is_product(m, id)) continue;
        const Node *node = graph_node(g, id);
        NodeId turned = swapped(g, node->args[0]);
        NodeId of = attention_unrounded(m, turned != NO_NODE ? turned : node->args[0]);
        bool fits =
            turned != NO_NODE ? are_same(g, node->args[1], q) : are_swapped(g, node->args[1], k);
        if (!fits || (m->back.dfirst != NO_NODE && of != m->back.dfirst)) continue;
        NodeId slope = find_slope(m, of, 0);
        if (slope == NO_NODE) continue;
        m->back.ds = slope;
        m->back.dfirst = of;
        *(turned != NO_NODE ? &m->back.dk : &m->back.dq) = id;
    }
    return m->back.ds != NO_NODE;
}

/* A gradient is stored row by row, in the factors' dtype. */
static bool
is_stored(const Match *m, NodeId id)
{
    if (id == NO_NODE) return true;
    const Type *type = &graph_node(m->g, id)->type;
    return type->dtype == graph_node(m->g, m->v)->type.dtype && type->rank == m->domain.rank &&
           type_is_contiguous(m->g, type);
}

bool
attention_find_back(Match *m, NodeId out)
{
    const Graph *g = m->g;
    const Type *result = &graph_node(g, out)->type, *v = &graph_node(g, m->v)->type;
    if (!find_first_ones(m) || !find_last_ones(m)) return false;
    const Type *type = &graph_node(g, m->back.g)->type;
    return type->dtype == v->dtype && type_same_shape(type, result) &&
           size_value(g, v->shape[v->rank - 1]) == ATTENTION_HEAD &&
           attention_has_aligned_rows(g, m->back.g, type->rank - 1) && is_stored(m, m->back.dv) &&
           is_stored(m, m->back.dq) && is_stored(m, m->back.dk);
}

/* The node `id` becomes this part; `rows`: what part 0 makes. */
static int
fuse_part(Match *m, NodeId id, AttentionPart part, NodeId rows)
{
    const Node *first = graph_node(m->g, m->first);
    const NodeId factors[] = {first->args[0], first->args[1], m->v, m->back.g, rows};
    return attention_become(m, id, OP_attention_back, factors, 4 + (part != ATTENTION_ROWS), part);
}

/* Two numbers for each query. */
static int
set_type_of_rows(Match *m)
{
    Graph *g = m->g;
    Type type;
    SizeId shape[MAX_RANK];
    for (int axis = 0; axis < m->domain.rank; axis++) shape[axis] = m->domain.shape[axis];
    shape[m->domain.rank - 1] = size_const(g, 2);
    if (type_contiguous(g, &type, DT_F32, m->domain.rank, shape) < 0) return -1;
    type.device = m->domain.device;
    graph_node(g, m->back.dp)->type = type;
    return 0;
}

int
attention_fuse_back(Match *m)
{
    const BackMatch *b = &m->back;
    if (set_type_of_rows(m) < 0 || fuse_part(m, b->dp, ATTENTION_ROWS, NO_NODE) < 0) return -1;
    if (b->dv != NO_NODE && fuse_part(m, b->dv, ATTENTION_DV, b->dp) < 0) return -1;
    if (b->dq != NO_NODE && fuse_part(m, b->dq, ATTENTION_DQ, b->dp) < 0) return -1;
    return b->dk != NO_NODE ? fuse_part(m, b->dk, ATTENTION_DK, b->dp) : 0;
}
