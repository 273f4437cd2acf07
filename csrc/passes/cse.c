/* Common subexpressions: of two nodes that compute the same, later uses take the first.

   The nodes seen so far are in a table, scoped by region: what a loop's body computes is known in
   its inner regions, but not after the loop. Not merged are nodes that must run or may give another
   result each time (inputs, externs, regions), and fresh memory (copies, fills), which may be
   written.

   The hash covers nearly all that same_node compares, a constant's value and a view's place
   included, and only the first of equal nodes is in the table, so few comparisons fail. */
#include "rewrite.h"

typedef struct {
    NodeId node;
    uint32_t hash;
    int next;
} Entry;

typedef struct {
    Rewrite r;
    uint32_t mask; /* buckets - 1: a power of two above the number of nodes */
    int *bucket;   /* index of the newest entry + 1 */
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
    case KIND_JUMP: /* sizes name a `measure` itself */
    case KIND_COPY:
    case KIND_FILL: return false;
    case KIND_UFUNC: return node->type.dtype != DT_OBJECT;
    case KIND_ELEMENT:
        return node->op == OP_element_load || node->op == OP_element_item ||
               node->op == OP_element_length || node->op == OP_element_find ||
               node->op == OP_element_entry;
    default: return true;
    }
}

/* Swapping arguments keeps the bits, except for floats: of two NaNs x86 returns the first. */
static bool
commutes(const Node *node)
{
    return (op_info(node->op)->flags & OPF_COMMUTES) != 0 && node->type.dtype <= DT_U64;
}

static uint32_t
mix(uint32_t hash, uint64_t value)
{
    uint64_t mixed = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(mixed >> 32);
}

/* Views are compared by their place in the storage, not by how they were made. */
static bool
is_place(const Graph *g, const Node *node)
{
    return op_info(node->op)->kind == KIND_VIEW && graph_view_is_place(g, node);
}

/* Hashes what size_same compares: constants by value, with NO_SIZE as 0. */
static uint32_t
mix_size(uint32_t hash, const Graph *g, SizeId id)
{
    return mix(hash, size_is_const(g, id) ? (uint64_t)size_value(g, id) : ~(uint64_t)id);
}

static uint32_t
mix_layout(uint32_t hash, const Type *type)
{
    hash = mix(hash, (uint32_t)type->dtype << 8 | type->rank);
    for (int i = 0; i < type->rank; i++)
        hash = mix(hash, (uint64_t)(uint32_t)type->shape[i] << 32 | (uint32_t)type->stride[i]);
    return hash;
}

/* The bytes of a scalar constant in its dtype. False where there are none: such constants are
   compared by identity. */
static bool
constant_bytes(const Node *node, uint64_t bytes[2])
{
    DType dtype = (DType)node->type.dtype;
    bytes[0] = bytes[1] = 0;
    if (dtype == DT_OBJECT || node->type.rank > 0 || node->attrs.object == NULL) return false;
    if (constant_read(node->attrs.object, dtype, bytes) == 0) return true;
    PyErr_Clear();
    return false;
}

static uint32_t
hash_constant(uint32_t hash, const Node *node)
{
    uint64_t bytes[2];
    if (!constant_bytes(node, bytes)) return mix(hash, (uintptr_t)node->attrs.object);
    return mix(mix(hash, bytes[0]), bytes[1]);
}

static uint32_t
hash_attrs(uint32_t hash, const Graph *g, const Attrs *attrs)
{
    for (int i = 0; i < attrs->nints; i++) hash = mix(hash, (uint64_t)attrs->ints[i]);
    hash = mix(mix(hash, (uint64_t)attrs->index), (uintptr_t)attrs->object);
    return attrs->view == NULL ? hash
                               : mix_size(mix_layout(hash, attrs->view), g, attrs->view->offset);
}

static uint32_t
hash_node(const Graph *g, const Node *node)
{
    bool place = is_place(g, node);
    uint32_t hash = mix_layout(place ? OP_as_strided : node->op, &node->type);
    if (place) return mix_size(mix(hash, (uint32_t)node->storage), g, node->type.offset);
    if (node->op == OP_const) return hash_constant(hash, node);
    if (commutes(node)) {
        bool up = node->args[0] < node->args[1];
        hash = mix(hash, (uint32_t)node->args[!up]);
        hash = mix(hash, (uint32_t)node->args[up]);
    } else {
        for (int i = 0; i < node->nargs; i++) hash = mix(hash, (uint32_t)node->args[i]);
    }
    return hash_attrs(hash, g, &node->attrs);
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
same_constant(const Node *a, const Node *b)
{
    if (a->attrs.object == b->attrs.object) return true;
    uint64_t left[2], right[2];
    return constant_bytes(a, left) && constant_bytes(b, right) &&
           memcmp(left, right, sizeof left) == 0;
}

static bool
same_node(const Graph *g, NodeId x, NodeId y)
{
    const Node *a = graph_node(g, x), *b = graph_node(g, y);
    if (!type_same_layout(&a->type, &b->type)) return false;
    if (is_place(g, a) && is_place(g, b))
        return a->storage == b->storage && type_same_place(g, &a->type, &b->type);
    if (a->op != b->op) return false;
    if (a->errors != b->errors && node_may_report(g, a)) return false;
    if (a->current != b->current && op_info(a->op)->kind == KIND_EXTERN) return false;
    if (a->op == OP_const) return same_constant(a, b);
    return same_args(a, b) && attrs_same(g, &a->attrs, &b->attrs);
}

/* Replaces the node by an equal one seen before, or enters it into the table. A node that may not
   be replaced is not entered either: later equal nodes take the first. */
static int
meet(Table *t, NodeId id)
{
    uint32_t hash = hash_node(t->r.g, graph_node(t->r.g, id));
    int *bucket = &t->bucket[hash & t->mask];
    for (int i = *bucket; i != 0; i = t->entries.at[i - 1].next) {
        const Entry *entry = &t->entries.at[i - 1];
        if (entry->hash != hash || !same_node(t->r.g, entry->node, id)) continue;
        rewrite_node(&t->r, id, entry->node);
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
        t->bucket[entry->hash & t->mask] = entry->next;
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
    Table table = {.mask = 63};
    while (table.mask < (uint32_t)graph->nodes.len) table.mask = table.mask * 2 + 1;
    table.bucket = arena_alloc(graph->arena, ((size_t)table.mask + 1) * sizeof(int));
    if (table.bucket == NULL || rewrite_begin(&table.r, graph) < 0) return -1;
    return walk(&table, 0);
}
