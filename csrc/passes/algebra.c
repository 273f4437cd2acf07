/* Algebraic identities that keep every bit and every floating-point report.

   Signed zeros and NaN payloads stay, and arithmetic still makes a signaling NaN quiet. So `x * 1`
   and `x - 0` are removed for integers and bools only: for floats they change a signaling NaN, and
   `x + 0` changes -0.0. Operations that only move or flip bits (negative, conjugate, absolute) are
   simplified for floats too. A view of a whole storage becomes the storage, and a copy that nobody
   can tell from its argument becomes the argument. */
#include "rewrite.h"

typedef struct {
    Op op;
    int64_t neutral;
    bool left; /* the neutral element may also be the left argument */
} Neutral;

static const Neutral neutrals[] = {
    {OP_add, 0, true},           {OP_subtract, 0, false},   {OP_multiply, 1, true},
    {OP_floor_divide, 1, false}, {OP_bitwise_or, 0, true},  {OP_bitwise_xor, 0, true},
    {OP_bitwise_and, -1, true},  {OP_left_shift, 0, false}, {OP_right_shift, 0, false},
};

static bool
is_exact(const Node *node)
{
    return node->type.dtype <= DT_U64;
}

/* The argument that is the result because the other one is neutral; NO_NODE when neither is. */
static NodeId
neutral_argument(const Graph *g, const Node *node)
{
    if (!is_exact(node)) return NO_NODE;
    for (int i = 0; i < COUNT_OF(neutrals); i++) {
        const Neutral *rule = &neutrals[i];
        if (rule->op != node->op) continue;
        int64_t value = rule->neutral;
        if (node->type.dtype == DT_BOOL && value == -1) value = 1;
        if (node_is_integer(g, node->args[1], value)) return node->args[0];
        if (rule->left && node_is_integer(g, node->args[0], value)) return node->args[1];
    }
    return NO_NODE;
}

/* op(op(x)) is x. */
static bool
is_involution(const Node *node)
{
    switch (node->op) {
    case OP_negative: /* of a device's floats it makes subnormals zero */
        return node->type.device == DEVICE_HOST || is_exact(node);
    case OP_conjugate: return true;
    case OP_invert: return true;
    case OP_logical_not: return true; /* of a bool only: rewrite_node compares dtypes */
    default: return false;
    }
}

/* op(op(x)) is op(x). */
static bool
is_idempotent(const Node *node)
{
    switch (node->op) {
    case OP_absolute:
    case OP_floor:
    case OP_ceil:
    case OP_trunc:
    case OP_rint: return !dtype_is_complex((DType)node->type.dtype);
    default: return false;
    }
}

/* Every value of `from` is a value of `to`, both integers or bool. */
static bool
is_wider(DType from, DType to)
{
    if (from > DT_U64 || to > DT_U64) return false;
    if (from == DT_BOOL) return true;
    if (to == DT_BOOL) return false;
    if (dtype_is_signed(from) == dtype_is_signed(to)) return dtype_size(to) >= dtype_size(from);
    return dtype_is_signed(to) && dtype_size(to) > dtype_size(from);
}

/* cast(cast(x)) skips the inner cast when that keeps every value of x. */
static void
simplify_cast(Rewrite *r, NodeId id)
{
    Node *node = graph_node(r->g, id);
    const Node *inner = graph_node(r->g, node->args[0]);
    if (inner->op != OP_cast) return;
    const Node *from = graph_node(r->g, inner->args[0]);
    if (!is_wider((DType)from->type.dtype, (DType)inner->type.dtype)) return;
    if (from->type.rank != inner->type.rank) return;
    node->args[0] = inner->args[0];
}

static NodeId
pointwise_identity(const Graph *g, const Node *node)
{
    const Node *first = graph_node(g, node->args[0]);
    if (node->op == OP_positive || node->op == OP_cast) return node->args[0];
    if (node->op == OP_conjugate && !dtype_is_complex((DType)node->type.dtype))
        return node->args[0];
    if (node->op == first->op && is_involution(node)) return first->args[0];
    if (node->op == first->op && is_idempotent(node)) return node->args[0];
    if (node->op == OP_where && node->args[1] == node->args[2]) return node->args[1];
    if (node->op == OP_where && node_is_integer(g, node->args[0], 1)) return node->args[1];
    if (node->op == OP_where && node_is_integer(g, node->args[0], 0)) return node->args[2];
    bool same = node->nargs == 2 && node->args[0] == node->args[1];
    if (same && (node->op == OP_bitwise_and || node->op == OP_bitwise_or)) return node->args[0];
    /* The mask says that upper bits do not matter: lower/region_modulo.c. */
    bool of_python = node->type.form == FORM_PYTHON && node->type.dtype == DT_U64;
    return of_python && node->op == OP_bitwise_and ? NO_NODE : neutral_argument(g, node);
}

/* The value that a view covers exactly: its argument, or the storage that a chain of views leads
   back to. NO_NODE when it covers neither. */
static NodeId
whole_view(const Graph *g, const Node *node)
{
    if (!graph_view_is_place(g, node)) return NO_NODE;
    if (type_same_place(g, &node->type, &graph_node(g, node->args[0])->type)) return node->args[0];
    if (type_same_place(g, &node->type, &graph_node(g, node->storage)->type)) return node->storage;
    return NO_NODE;
}

static int
visit(Rewrite *r, NodeId id, void *context)
{
    const Graph *g = r->g;
    const Node *node = graph_node(g, id);
    NodeId with = NO_NODE;
    (void)context;
    switch (op_info(node->op)->kind) {
    case KIND_POINTWISE:
        if (node->op == OP_cast) simplify_cast(r, id);
        with = pointwise_identity(g, node);
        break;
    case KIND_VIEW: with = whole_view(g, node); break;
    case KIND_COPY:
        if (node->op == OP_copy && !(r->uses[id] & USE_BASE)) with = node->args[0];
        break;
    default: break;
    }
    if (with != NO_NODE) rewrite_node(r, id, with);
    return 0;
}

int
pass_algebra(Graph *graph)
{
    Rewrite r;
    return rewrite_begin(&r, graph) < 0 ? -1 : rewrite_walk(&r, visit, NULL);
}
