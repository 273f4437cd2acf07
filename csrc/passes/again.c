/* Values that kernels far apart read are computed again, on a device, where that moves fewer bytes.

   Between kernels stand calls, products and attentions.  What is computed before one of them and
   read behind it has to be in memory; as a rule that is so for what a gradient reads of the forward
   pass: a gelu of 16-bit floats leaves nine arrays of float32, which all follow from the one that
   it is of. Here the nodes behind read copies of the elementwise operations instead, as long as
   these lead to values that are in memory anyway and have no more bytes.

   As the recomputation of torch.compile's partitioner (He and Yu 2022), after the fact. */
#include "rewrite.h"

/* SMALL: a value of so many times fewer bytes counts as none. */
enum { MOST_CONE = 24, LEAST_BYTES = 1 << 20, SMALL = 16 };

typedef struct {
    Graph *g;
    Region top;
    int len;
    int32_t at, now;        /* the position of the node that is visited; the calls before it … */
    int32_t *epoch;         /* … and before each node */
    NodeId **args;          /* of each node, as they were */
    bool *kept;             /* in memory anyway */
    int32_t *written;       /* per storage: the position of the first node that writes it */
    NodeId *clone;          /* the node's copy … */
    int32_t *cloned;        /* … in this epoch */
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
is_elementwise(const Again *a, NodeId id)
{
    const Node *node = graph_node(a->g, id);
    return op_info(node->op)->kind == KIND_POINTWISE && node->type.device != DEVICE_HOST &&
           node->type.form == FORM_ARRAY && node->type.rank > 0 &&
           node_way(a->g, node) == WAY_EXPRESSION;
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
    return is_elementwise(a, id) || op_info(graph_node(a->g, id)->op)->kind == KIND_REDUCTION;
}

/* Adds what `id` is made of to the cone.  False: it is too much, or has been overwritten. */
static bool
add_to_cone(Again *a, NodeId id, int64_t whole)
{
    for (int i = 0; i < a->count; i++)
        if (a->cone[i] == id) return true;
    if (graph_node(a->g, id)->op == OP_const) return true;
    if (a->count == MOST_CONE) return false;
    a->cone[a->count++] = id;
    if (a->kept[id] || !is_elementwise(a, id) || bytes_of(a, id) * SMALL < whole) {
        int64_t bytes = bytes_of(a, id);
        a->leaves += bytes * SMALL < whole ? 0 : bytes;
        return a->at < a->written[graph_node(a->g, id)->storage];
    }
    for (int k = 0; k < graph_node(a->g, id)->nargs; k++)
        if (!add_to_cone(a, a->args[id][k], whole)) return false;
    return true;
}

/* Is it worth computing the value again for a reader in this epoch? */
static bool
is_worth(Again *a, NodeId id)
{
    int64_t whole = bytes_of(a, id);
    if (a->kept[id] || !is_elementwise(a, id) || a->epoch[id] == a->now || whole < LEAST_BYTES)
        return false;
    a->count = 0;
    a->leaves = 0;
    return add_to_cone(a, id, whole) && a->leaves <= whole;
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
    int nargs = graph_node(g, id)->nargs;
    NodeId *args = arena_copy(g->arena, graph_node(g, id)->args, sizeof(NodeId) * (size_t)nargs);
    if (args == NULL) return -1;
    for (int k = 0; k < nargs; k++)
        if (is_worth(a, args[k]) && (args[k] = again(a, args[k], bytes_of(a, args[k]))) == NO_NODE)
            return -1;
    graph_node(g, id)->args = args;
    return 0;
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
        a->epoch[top->nodes.at[i]] = epoch;
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
    a->written = arena_alloc(arena, n * sizeof(int32_t));
    if (a->epoch == NULL || a->cloned == NULL || a->clone == NULL || a->args == NULL ||
        a->kept == NULL || a->written == NULL)
        return -1;
    memset(a->epoch, 0, n * sizeof(int32_t));
    memset(a->cloned, 0, n * sizeof(int32_t));
    memset(a->kept, 0, n);
    return 0;
}

int
pass_again(Graph *g)
{
    Again a = {.g = g, .len = g->nodes.len, .at = -1};
    if (!graph_calls_device(g)) return 0;
    if (allocate(&a) < 0) return -1;
    look(&a);
    return top_rebuild(g, &a.top, visit, &a);
}
