/* Common subexpressions: of two nodes that compute the same, later uses take the first.

   A table of the nodes seen on the way, scoped by region: what a loop's body computes is known to
   its inner regions, not after it.  Not merged: what must run or may give something new each time
   (inputs, externs, regions), and fresh memory that is going to be written. */
#include "rewrite.h"

enum { BUCKETS = 256 };

typedef struct {
    NodeId node;
    uint32_t hash;
    int next;
} Entry;

typedef struct {
    Rewrite r;
    int bucket[BUCKETS]; /* index of the newest entry + 1 */
    VEC(Entry) entries;
} Table;

static bool
is_candidate(const Node *node)
{
    const OpInfo *info = op_info(node->op);
    switch (info->kind) {
    case KIND_INPUT:
    case KIND_EXTERN:
    case KIND_REGION:
    case KIND_COPY:
    case KIND_FILL: return false;
    case KIND_UFUNC: return node->type.dtype != DT_OBJECT;
    case KIND_ELEMENT: return node->op == OP_element_load;
    default: return true;
    }
}

/* Swapping keeps the bits, except which of two NaNs an x86 sum is. */
static bool
commutes(const Node *node)
{
    return (op_info(node->op)->flags & OPF_COMMUTES) != 0 && node->type.dtype <= DT_U64;
}

static uint32_t
mix(uint32_t hash, uint32_t value)
{
    return (hash ^ value) * 16777619u;
}

/* A view is where it lies, however it was come by. */
static bool
is_view(const Node *node)
{
    return op_info(node->op)->kind == KIND_VIEW;
}

static uint32_t
hash_node(const Node *node)
{
    uint32_t hash = mix(2166136261u, is_view(node) ? (uint32_t)OP_as_strided : (uint32_t)node->op);
    if (is_view(node)) return mix(hash, (uint32_t)node->storage << 8 | node->type.rank);
    hash = mix(hash, (uint32_t)node->type.dtype << 8 | node->type.rank);
    if (node->op == OP_const) return hash;
    if (commutes(node)) return mix(hash, (uint32_t)(node->args[0] + node->args[1]));
    for (int i = 0; i < node->nargs; i++) hash = mix(hash, (uint32_t)node->args[i]);
    for (int i = 0; i < node->attrs.nints; i++) hash = mix(hash, (uint32_t)node->attrs.ints[i]);
    return mix(hash, (uint32_t)node->attrs.index);
}

static bool
same_args(const Node *a, const Node *b)
{
    if (a->nargs != b->nargs) return false;
    if (a->nargs == 0 || memcmp(a->args, b->args, sizeof(NodeId) * (size_t)a->nargs) == 0)
        return true;
    return commutes(a) && a->args[0] == b->args[1] && a->args[1] == b->args[0];
}

static bool
same_attrs(const Graph *g, const Attrs *a, const Attrs *b)
{
    if (a->object != b->object || a->kwnames != b->kwnames || a->nints != b->nints ||
        a->index != b->index || a->number != b->number || a->keepdims != b->keepdims ||
        (a->view == NULL) != (b->view == NULL))
        return false;
    if (a->nints > 0 && memcmp(a->ints, b->ints, sizeof(int64_t) * (size_t)a->nints) != 0)
        return false;
    return a->view == NULL || type_same_place(g, a->view, b->view);
}

static bool
same_constant(const Node *a, const Node *b)
{
    if (a->attrs.object == b->attrs.object) return true;
    char left[16], right[16];
    DType dtype = (DType)a->type.dtype;
    if (dtype == DT_OBJECT || a->type.rank > 0) return false;
    bool read = constant_read(a->attrs.object, dtype, left) == 0 &&
                constant_read(b->attrs.object, dtype, right) == 0;
    if (!read) PyErr_Clear();
    return read && memcmp(left, right, dtype_size(dtype)) == 0;
}

static bool
same_node(const Graph *g, NodeId x, NodeId y)
{
    const Node *a = graph_node(g, x), *b = graph_node(g, y);
    if (!type_same_layout(&a->type, &b->type)) return false;
    if (is_view(a) && is_view(b))
        return a->storage == b->storage && type_same_place(g, &a->type, &b->type);
    if (a->op != b->op) return false;
    if (a->errors != b->errors && node_may_report(g, a)) return false;
    if (a->op == OP_const) return same_constant(a, b);
    return same_args(a, b) && same_attrs(g, &a->attrs, &b->attrs);
}

/* Takes the place of an equal node seen before, or enters the table. */
static int
meet(Table *t, NodeId id)
{
    uint32_t hash = hash_node(graph_node(t->r.g, id));
    int *bucket = &t->bucket[hash % BUCKETS];
    for (int i = *bucket; i != 0; i = t->entries.at[i - 1].next) {
        const Entry *entry = &t->entries.at[i - 1];
        if (entry->hash == hash && same_node(t->r.g, entry->node, id) &&
            rewrite_node(&t->r, id, entry->node))
            return 0;
    }
    if (VEC_PUSH(t->r.g->arena, &t->entries, (Entry){id, hash, *bucket}) < 0) return -1;
    *bucket = t->entries.len;
    return 0;
}

static void
leave_scope(Table *t, int length)
{
    while (t->entries.len > length) {
        const Entry *entry = &t->entries.at[--t->entries.len];
        t->bucket[entry->hash % BUCKETS] = entry->next;
    }
}

static int
walk(Table *t, RegionId id)
{
    const Graph *g = t->r.g;
    int length = t->entries.len;
    for (int i = 0; i < g->regions.at[id].nodes.len; i++) {
        NodeId at = g->regions.at[id].nodes.at[i];
        rewrite_args(&t->r, at);
        const Node *node = graph_node(g, at);
        if (is_candidate(node) && meet(t, at) < 0) return -1;
        for (int k = 0; k < 2; k++)
            if (node->region[k] != NO_REGION && walk(t, node->region[k]) < 0) return -1;
    }
    rewrite_results(&t->r, id);
    leave_scope(t, length);
    return 0;
}

int
pass_cse(Graph *graph)
{
    Table table = {0};
    return rewrite_begin(&table.r, graph) < 0 ? -1 : walk(&table, 0);
}
