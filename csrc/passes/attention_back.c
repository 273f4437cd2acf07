/* The gradient of an attention, which would read its weights: nodes that make them again, a tile at
   a time.  In: what a derivative writes (attention.h).  Out, in the places of four products:

       g @ v^T         sum(g * o): of each query the mean of its weights' slopes
       p^T @ g         attention_back 2: dv
       dfirst @ k      attention_back 0: dq
       dfirst^T @ q    attention_back 1: dk

   The attention leaves the sums from which weights are made again; no matrix of them is left.  The
   region of each has the score of an element of q @ k^T, and dfirst by the slope of the score. */
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

/* g @ v^T, behind the attention, and p^T @ g. */
static bool
find_first_ones(Match *m, NodeId out)
{
    bool behind = false;
    const Graph *g = m->g;
    const Region *top = &g->regions.at[0];
    NodeId of_values = NO_NODE;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        behind = behind || id == out;
        if (!attention_is_product(m, id)) continue;
        const Node *node = graph_node(g, id);
        NodeId turned = swapped(g, node->args[0]);
        if (turned != NO_NODE && attention_unrounded(m, turned) == m->weights) {
            m->back.dv = id;
            of_values = node->args[1];
        } else if (behind && are_swapped(g, node->args[1], m->v) && m->back.dp == NO_NODE) {
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
    if (!find_first_ones(m, out) || !find_last_ones(m)) return false;
    const Type *type = &graph_node(g, m->back.g)->type;
    return type->dtype == v->dtype && type_same_shape(type, result) &&
           size_value(g, v->shape[v->rank - 1]) == ATTENTION_HEAD &&
           attention_has_aligned_rows(g, m->back.g, type->rank - 1) && is_stored(m, m->back.dv) &&
           is_stored(m, m->back.dq) && is_stored(m, m->back.dk);
}

/* Puts a node in front of `place`.  NO_NODE with the error set. */
static NodeId
put_before(Graph *g, NodeId place, NodeId made)
{
    Region *top = &g->regions.at[0];
    if (made == NO_NODE || VEC_PUSH(g->arena, &top->nodes, made) < 0) return NO_NODE;
    int at = top->nodes.len - 1;
    for (; top->nodes.at[at] != place; at--) top->nodes.at[at] = top->nodes.at[at - 1];
    top->nodes.at[at] = made;
    return made;
}

/* An elementwise operation in float32, in front of `dp`. */
static NodeId
put_wide(Match *m, Op op, int nargs, const NodeId *args)
{
    Type type, from = graph_node(m->g, args[0])->type;
    if (type_contiguous(m->g, &type, DT_F32, from.rank, from.shape) < 0) return NO_NODE;
    type.device = from.device;
    return put_before(m->g, m->back.dp, graph_make(m->g, op, nargs, args, &type, NULL));
}

/* `dp` becomes the sum of each row of g * o. */
static int
make_means(Match *m, NodeId out, const Type *type)
{
    Graph *g = m->g;
    NodeId factors[2] = {m->back.g, out}, product;
    int64_t last = type->rank, *axis = arena_copy(g->arena, &last, sizeof last);
    for (int i = 0; i < 2; i++)
        if (graph_node(g, factors[i])->type.dtype != DT_F32 &&
            (factors[i] = put_wide(m, OP_cast, 1, &factors[i])) == NO_NODE)
            return -1;
    product = put_wide(m, OP_multiply, 2, factors);
    NodeId *args = arena_copy(g->arena, &product, sizeof product);
    if (product == NO_NODE || args == NULL || axis == NULL) return -1;
    Node *node = graph_node(g, m->back.dp);
    node->op = OP_sum;
    node->type = *type;
    node->args = args;
    node->nargs = 1;
    node->attrs = (Attrs){.ints = axis, .nints = 1};
    return 0;
}

/* The node `id`, if there is one, becomes this part. */
static int
fuse_part(Match *m, NodeId id, AttentionPart part, NodeId sums)
{
    const Node *first = graph_node(m->g, m->first);
    const NodeId factors[] = {first->args[0], first->args[1], m->v, m->back.g, sums, m->back.dp};
    if (id == NO_NODE) return 0;
    return attention_become(m, id, OP_attention_back, factors, COUNT_OF(factors), part);
}

int
attention_fuse_back(Match *m, NodeId out)
{
    const BackMatch *b = &m->back;
    Graph *g = m->g;
    Type type;
    if (type_contiguous(g, &type, DT_F32, m->domain.rank - 1, m->domain.shape) < 0) return -1;
    type.device = m->domain.device;
    graph_set_position(g, graph_node(g, b->dp)->file, graph_node(g, b->dp)->line);
    NodeId sums = put_before(g, b->dp, graph_make(g, OP_attention_sums, 1, &out, &type, NULL));
    if (sums == NO_NODE || make_means(m, out, &type) < 0) return -1;
    return fuse_part(m, b->dv, ATTENTION_DV, sums) < 0 ||
                   fuse_part(m, b->dq, ATTENTION_DQ, sums) < 0
               ? -1
               : fuse_part(m, b->dk, ATTENTION_DK, sums);
}
