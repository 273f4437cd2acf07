/* Values that kernels far apart read are computed again where that moves fewer bytes.

   Between kernels stand calls, products and attentions.  What is computed before one of them and
   read behind it has to be in memory; as a rule that is so for what a gradient reads of the forward
   pass: a gelu of 16-bit floats leaves nine arrays of float32, which all follow from the one that
   it is of. Here the nodes behind read copies of the elementwise operations instead, as long as
   these lead to values that are in memory anyway and have no more bytes.

   On the host kernels are far apart where one needs all of what another one makes (level_of), and
   only what a few sums and products make of much smaller arrays is computed again: differences of
   all pairs, x[:, None] - y, which a gradient reads once more.  Where the reader alone would go
   over memory in one row, short rows take longer than that memory.

   As the recomputation of torch.compile's partitioner (He and Yu 2022), after the fact. */
#include "rewrite.h"

/* SMALL: a value of so many times fewer bytes counts as none.  On the host: LEAST_HOST bytes do not
   stay in a core's first cache, and what a value is made of has FEWER times fewer bytes. */
enum { MOST_CONE = 24, LEAST_BYTES = 1 << 20, SMALL = 16 };
enum { IGNORED = 0xf0 }; /* the ErrorState of np.errstate(all="ignore") */
enum { CONE_HOST = 8, LEAST_HOST = 1 << 16, FEWER = 4, LONG_ROW = 64 };

typedef struct {
    Rewrite r;
    Graph *g;
    Region top;
    bool host;
    int len;
    int32_t at, now;        /* the position of the node that is visited; the calls before it … */
    int32_t *epoch;         /* … and before each node */
    NodeId **args;          /* of each node, as they were */
    bool *kept;             /* in memory anyway */
    int32_t *written;       /* per storage: the position of the first node that writes it */
    NodeId *clone;          /* the node's copy … */
    int32_t *cloned;        /* … in this epoch */
    bool *reported;         /* a copy looks for the node's flags */
    bool silent;            /* the reader ignores flags */
    NodeId cone[MOST_CONE]; /* what one value is made of again */
    int count;
    int64_t leaves; /* bytes that this reads */
} Again;

static int64_t
bytes_of(const Again *a, NodeId id)
{
    const Type *type = &graph_node(a->g, id)->type;
    return type_elements(a->g, type) * (int64_t)dtype_size((DType)type->dtype);
}

static bool
is_cheap(Op op)
{
    return op == OP_add || op == OP_subtract || op == OP_multiply || op == OP_negative;
}

static bool
is_elementwise(const Again *a, NodeId id)
{
    const Node *node = graph_node(a->g, id);
    if ((node->type.device == DEVICE_HOST) != a->host || (a->host && !is_cheap(node->op)))
        return false;
    return op_info(node->op)->kind == KIND_POINTWISE && node->type.form == FORM_ARRAY &&
           node->type.rank > 0 && node_way(a->g, node) == WAY_EXPRESSION;
}

/* Does it stand between kernels? */
static bool
is_between(const Node *node)
{
    OpKind kind = op_info(node->op)->kind;
    return node->type.device != DEVICE_HOST &&
           (kind == KIND_EXTERN || kind == KIND_MATMUL || kind == KIND_PRODUCT ||
            kind == KIND_ATTENTION || kind == KIND_SCAN);
}

/* Can the reader do with the copy of an argument? */
static bool
takes_copies(const Again *a, NodeId id)
{
    OpKind kind = op_info(graph_node(a->g, id)->op)->kind;
    bool any = a->host && (kind == KIND_POINTWISE || kind == KIND_UFUNC);
    return any || is_elementwise(a, id) || kind == KIND_REDUCTION;
}

/* Adds what `id` is made of to the cone.  False: it is too much, or has been overwritten. */
static bool
add_to_cone(Again *a, NodeId id, int64_t whole)
{
    for (int i = 0; i < a->count; i++)
        if (a->cone[i] == id) return true;
    if (graph_node(a->g, id)->op == OP_const) return true;
    if (a->count == (a->host ? CONE_HOST : MOST_CONE)) return false;
    a->cone[a->count++] = id;
    if (a->kept[id] || !is_elementwise(a, id) || bytes_of(a, id) * SMALL < whole) {
        NodeId storage = graph_node(a->g, id)->storage;
        int64_t bytes = bytes_of(a, id);
        a->leaves += bytes * SMALL < whole ? 0 : bytes;
        if (a->host) return ((a->r.uses[storage] | a->r.uses[id]) & USE_WRITTEN) == 0;
        return a->at < a->written[storage];
    }
    for (int k = 0; k < graph_node(a->g, id)->nargs; k++)
        if (!add_to_cone(a, a->args[id][k], whole)) return false;
    return true;
}

/* Is it done row by row in any case, since an argument is the same along an axis, or in long rows?
 */
static bool
has_rows(const Again *a, NodeId id)
{
    const Node *node = graph_node(a->g, id);
    const Type *type = &graph_node(a->g, node->args[0])->type;
    for (int k = 0; k < node->nargs; k++) {
        const Type *arg = &graph_node(a->g, node->args[k])->type;
        int same = 0; /* axes along which it is the same */
        for (int i = 0; i < arg->rank; i++)
            same += size_is_const(a->g, arg->stride[i]) && size_value(a->g, arg->stride[i]) == 0;
        bool spread = op_info(node->op)->kind != KIND_REDUCTION && type_elements(a->g, arg) > 1 &&
                      !type_same_shape(arg, &node->type);
        if (spread || (same > 0 && same < arg->rank)) return true;
    }
    SizeId row = type->rank > 0 ? type->shape[type->rank - 1] : NO_SIZE;
    return row != NO_SIZE && size_is_const(a->g, row) && size_value(a->g, row) >= LONG_ROW;
}

/* Is it worth computing the value again for a reader in this epoch? */
static bool
is_worth(Again *a, NodeId id, NodeId reader)
{
    int64_t whole = bytes_of(a, id);
    if (a->kept[id] || !is_elementwise(a, id) || a->epoch[id] == a->now ||
        whole < (a->host ? LEAST_HOST : LEAST_BYTES))
        return false;
    if (a->cloned[id] == a->now) return true;
    if (a->host && !has_rows(a, reader)) return false;
    a->count = 0;
    a->leaves = 0;
    return add_to_cone(a, id, whole) && a->leaves <= (a->host ? whole / FEWER : whole);
}

/* The copy of a value of an earlier epoch; NO_NODE with the error set. */
static NodeId
again(Again *a, NodeId id, int64_t whole)
{
    Graph *g = a->g;
    NodeId args[3] = {NO_NODE, NO_NODE, NO_NODE};
    if (a->kept[id] || !is_elementwise(a, id) || a->epoch[id] == a->now ||
        bytes_of(a, id) * SMALL < whole)
        return id;
    if (a->cloned[id] == a->now) return a->clone[id];
    Node node = *graph_node(g, id);
    for (int k = 0; k < node.nargs; k++)
        if ((args[k] = again(a, a->args[id][k], whole)) == NO_NODE) return NO_NODE;
    graph_set_position(g, node.file, node.line);
    g->errors = a->silent ? IGNORED : node.errors;
    a->reported[id] |= !a->silent || node.errors == IGNORED;
    NodeId copy = graph_make(g, node.op, node.nargs, args, &node.type, &node.attrs);
    if (copy == NO_NODE || top_put(g, &a->top, copy) < 0) return NO_NODE;
    a->cloned[id] = a->now;
    return a->clone[id] = copy;
}

static int
visit(void *context, NodeId id)
{
    Again *a = context;
    Graph *g = a->g;
    a->now = a->epoch[id];
    a->at++;
    if (!takes_copies(a, id)) return 0;
    a->silent = graph_node(g, id)->errors == IGNORED;
    int nargs = graph_node(g, id)->nargs;
    NodeId *args = arena_copy(g->arena, graph_node(g, id)->args, sizeof(NodeId) * (size_t)nargs);
    if (args == NULL) return -1;
    for (int k = 0; k < nargs; k++)
        if (is_worth(a, args[k], id) &&
            (args[k] = again(a, args[k], bytes_of(a, args[k]))) == NO_NODE)
            return -1;
    graph_node(g, id)->args = args;
    return 0;
}

/* On the host, how many kernels come before the one that makes the value, at least: one that needs
   other elements of an argument than it makes is in a later kernel. */
static int32_t
level_of(const Again *a, const Node *node)
{
    OpKind kind = op_info(node->op)->kind;
    int32_t level = 1;
    for (int k = 0; k < node->nargs; k++) {
        const Node *arg = graph_node(a->g, node->args[k]);
        OpKind of = op_info(graph_node(a->g, arg->storage)->op)->kind;
        bool element = of == KIND_POINTWISE || of == KIND_UFUNC;
        bool memory = of == KIND_INPUT || of == KIND_CONST || of == KIND_FILL;
        bool same = element && arg->storage == node->args[k] &&
                    (kind == KIND_REDUCTION || ((kind == KIND_POINTWISE || kind == KIND_UFUNC) &&
                                                type_same_shape(&arg->type, &node->type)));
        level = Py_MAX(level, a->epoch[arg->storage] + !(same || memory));
    }
    return level;
}

/* Notes what is in memory anyway, what is written, and where each node stands. */
static void
look(Again *a)
{
    Graph *g = a->g;
    const Region *top = &g->regions.at[0];
    int32_t epoch = 1;
    for (NodeId id = 0; id < a->len; id++) {
        const Node *node = graph_node(g, id);
        a->args[id] = node->args;
        a->written[id] = INT32_MAX;
        for (int k = 0; k < node->nargs; k++)
            if (!takes_copies(a, id)) a->kept[node->args[k]] = true;
    }
    for (int i = 0; i < g->outputs.len; i++) a->kept[g->outputs.at[i].node] = true;
    for (int i = 0; i < top->nodes.len; i++) {
        const Node *node = graph_node(g, top->nodes.at[i]);
        bool writes = op_info(node->op)->kind == KIND_SCATTER || node->op == OP_collective;
        a->epoch[top->nodes.at[i]] = a->host ? level_of(a, node) : epoch;
        epoch += is_between(node);
        for (int k = 0; k < node->nargs && writes; k++) {
            int32_t *first = &a->written[graph_node(g, node->args[k])->storage];
            *first = Py_MIN(*first, i);
        }
    }
}

static int
allocate(Again *a)
{
    Arena *arena = a->g->arena;
    size_t n = (size_t)a->len + 1;
    a->epoch = arena_alloc(arena, n * sizeof(int32_t));
    a->cloned = arena_alloc(arena, n * sizeof(int32_t));
    a->clone = arena_alloc(arena, n * sizeof(NodeId));
    a->args = arena_alloc(arena, n * sizeof(NodeId *));
    a->kept = arena_alloc(arena, n);
    a->reported = arena_alloc(arena, n);
    a->written = arena_alloc(arena, n * sizeof(int32_t));
    if (a->epoch == NULL || a->cloned == NULL || a->clone == NULL || a->args == NULL ||
        a->kept == NULL || a->written == NULL || a->reported == NULL)
        return -1;
    memset(a->epoch, 0, n * sizeof(int32_t));
    memset(a->cloned, 0, n * sizeof(int32_t));
    memset(a->kept, 0, n);
    memset(a->reported, 0, n);
    return 0;
}

/* Drops what only looks for flags, which a copy looks for, too. */
static int
drop_reported(Again *a)
{
    Region *top = &a->g->regions.at[0];
    int32_t *uses = node_uses(a->g);
    if (uses == NULL) return -1;
    int first = top->nodes.len;
    for (int i = top->nodes.len - 1; i >= 0; i--) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(a->g, id);
        if (id < a->len && a->reported[id] && uses[id] == 0)
            for (int k = 0; k < node->nargs; k++) uses[node->args[k]]--;
        else
            top->nodes.at[--first] = id;
    }
    top->nodes.len -= first;
    memmove(top->nodes.at, top->nodes.at + first, sizeof(NodeId) * (size_t)top->nodes.len);
    return 0;
}

static int
compute_again(Graph *g, bool host)
{
    Again a = {.g = g, .len = g->nodes.len, .at = -1, .host = host};
    uint8_t errors = g->errors;
    if (allocate(&a) < 0 || rewrite_begin(&a.r, g) < 0) return -1;
    look(&a);
    int failed = top_rebuild(g, &a.top, visit, &a);
    g->errors = errors;
    return failed < 0 || (host && drop_reported(&a) < 0) ? -1 : 0;
}

int
pass_again(Graph *g)
{
    return graph_calls_device(g) ? compute_again(g, false) : 0;
}

int
pass_again_here(Graph *g)
{
    int before = g->nodes.len;
    if (compute_again(g, true) < 0) return -1;
    return g->nodes.len == before ? 0 : pass_dce(g);
}
