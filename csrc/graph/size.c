/* Sizes: integer expressions over the dimensions and strides of inputs.

   Hash-consed: expressions of one form have one id, so sizes are compared by id. Every expression
   is brought to a normal form:
   - a sum is (… (term + term) …) + constant, a product constant * (… (factor * factor) …);
   - terms and factors are in order of what they name; a sum's constant comes last, a product's
     first;
   - 0 and 1 vanish, constants are folded. A product with a sum is not multiplied out unless the
     other factor is a constant, and like terms are not collected: such equal sizes have different
     ids, but different sizes never have one id. */
#include "graph.h"

/* Hashes what is_same compares. */
static uint32_t
hash_of(const Size *size)
{
    uint64_t what = (uint64_t)size->value;
    if (size->kind == SIZE_DIM || size->kind == SIZE_STRIDE)
        what = (uint64_t)(uint32_t)size->node << 32 | (uint32_t)size->axis;
    else if (size->kind != SIZE_CONST)
        what = (uint64_t)(uint32_t)size->a << 32 | (uint32_t)size->b;
    return (uint32_t)((what * 8 + size->kind) * 0x9E3779B97F4A7C15u >> 32);
}

static bool
is_same(const Size *a, const Size *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case SIZE_CONST: return a->value == b->value;
    case SIZE_DIM:
    case SIZE_STRIDE: return a->node == b->node && a->axis == b->axis;
    case SIZE_ADD:
    case SIZE_MUL: return a->a == b->a && a->b == b->b;
    }
    return false;
}

/* The slot of the size, or the free one that it would take. Open addressing; the table is never
   full. */
static int32_t *
slot_of(const Graph *g, const Size *size)
{
    uint32_t mask = (uint32_t)g->size_slots - 1;
    for (uint32_t at = hash_of(size) & mask;; at = (at + 1) & mask)
        if (g->size_slot[at] == 0 || is_same(&g->sizes.at[g->size_slot[at] - 1], size))
            return &g->size_slot[at];
}

static int
grow_slots(Graph *g)
{
    int32_t slots = g->size_slots ? g->size_slots * 2 : 64;
    int32_t *table = arena_alloc(g->arena, sizeof(int32_t) * (size_t)slots);
    if (table == NULL) return -1;
    g->size_slot = table;
    g->size_slots = slots;
    for (int i = 0; i < g->sizes.len; i++) *slot_of(g, &g->sizes.at[i]) = i + 1;
    return 0;
}

static SizeId
intern(Graph *g, Size size)
{
    if (g->sizes.len * 2 >= g->size_slots && grow_slots(g) < 0) return NO_SIZE;
    int32_t *slot = slot_of(g, &size);
    if (*slot == 0) {
        if (VEC_PUSH(g->arena, &g->sizes, size) < 0) return NO_SIZE;
        *slot = g->sizes.len;
    }
    return *slot - 1;
}

SizeId
size_const(Graph *g, int64_t value)
{
    return intern(g, (Size){SIZE_CONST, value, NO_NODE, 0, NO_SIZE, NO_SIZE});
}

SizeId
size_dim(Graph *g, NodeId node, int axis, int64_t hint)
{
    return intern(g, (Size){SIZE_DIM, hint, node, axis, NO_SIZE, NO_SIZE});
}

SizeId
size_stride(Graph *g, NodeId node, int axis, int64_t hint)
{
    return intern(g, (Size){SIZE_STRIDE, hint, node, axis, NO_SIZE, NO_SIZE});
}

/* Wraps around on overflow, which is undefined for signed integers in C. */
static int64_t
wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t
wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* The interned node of this kind; the arguments are in normal form already. */
static SizeId
pair(Graph *g, SizeKind kind, SizeId a, SizeId b)
{
    if (a == NO_SIZE || b == NO_SIZE) return NO_SIZE;
    int64_t x = g->sizes.at[a].value, y = g->sizes.at[b].value;
    int64_t value = kind == SIZE_ADD ? wrap_add(x, y) : wrap_mul(x, y);
    return intern(g, (Size){kind, value, NO_NODE, 0, a, b});
}

/* Splits `id` into its symbolic part (NO_SIZE: none) and its constant. */
static SizeId
split_sum(const Graph *g, SizeId id, int64_t *constant)
{
    *constant = size_is_const(g, id) ? size_value(g, id) : 0;
    if (size_is_const(g, id)) return NO_SIZE;
    const Size *size = &g->sizes.at[id];
    if (size->kind != SIZE_ADD || g->sizes.at[size->b].kind != SIZE_CONST) return id;
    *constant = g->sizes.at[size->b].value;
    return size->a;
}

static SizeId
split_product(const Graph *g, SizeId id, int64_t *constant)
{
    *constant = size_is_const(g, id) ? size_value(g, id) : 1;
    if (size_is_const(g, id)) return NO_SIZE;
    const Size *size = &g->sizes.at[id];
    if (size->kind != SIZE_MUL || g->sizes.at[size->a].kind != SIZE_CONST) return id;
    *constant = g->sizes.at[size->a].value;
    return size->b;
}

/* An order of terms that does not depend on when they were made: symbols by node, kind and axis,
   then expressions. */
static int
compare(const Graph *g, SizeId x, SizeId y)
{
    const Size *a = &g->sizes.at[x], *b = &g->sizes.at[y];
    bool a_symbol = a->kind < SIZE_ADD, b_symbol = b->kind < SIZE_ADD;
    if (x == y) return 0;
    if (a_symbol != b_symbol) return a_symbol ? -1 : 1;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->kind == SIZE_CONST) return a->value < b->value ? -1 : 1;
    if (a_symbol) return a->axis < b->axis ? -1 : 1;
    int order = compare(g, a->a, b->a);
    return order != 0 ? order : compare(g, a->b, b->b);
}

/* Inserts one term (factor) into a left-leaning chain that is in order. */
static SizeId
chain_insert(Graph *g, SizeKind kind, SizeId chain, SizeId term)
{
    const Size *last = &g->sizes.at[chain];
    if (last->kind == kind) {
        SizeId a = last->a, b = last->b;
        if (compare(g, term, b) >= 0) return pair(g, kind, chain, term);
        SizeId rest = chain_insert(g, kind, a, term);
        return rest == NO_SIZE ? NO_SIZE : pair(g, kind, rest, b);
    }
    return compare(g, chain, term) <= 0 ? pair(g, kind, chain, term) : pair(g, kind, term, chain);
}

/* Inserts all terms (factors) of chain `b` into chain `a`. */
static SizeId
chain_merge(Graph *g, SizeKind kind, SizeId a, SizeId b)
{
    const Size *other = &g->sizes.at[b];
    if (other->kind != kind) return chain_insert(g, kind, a, b);
    SizeId rest = other->a, term = other->b;
    a = chain_merge(g, kind, a, rest);
    return a == NO_SIZE ? NO_SIZE : chain_insert(g, kind, a, term);
}

SizeId
size_add(Graph *g, SizeId a, SizeId b)
{
    int64_t x, y;
    SizeId left = split_sum(g, a, &x), right = split_sum(g, b, &y);
    int64_t constant = wrap_add(x, y);
    SizeId sum = left == NO_SIZE ? right : left;
    if (left != NO_SIZE && right != NO_SIZE) {
        sum = chain_merge(g, SIZE_ADD, left, right);
        if (sum == NO_SIZE) return NO_SIZE;
    }
    if (sum == NO_SIZE) return size_const(g, constant);
    return constant == 0 ? sum : pair(g, SIZE_ADD, sum, size_const(g, constant));
}

/* constant * (sum) is multiplied out, so that offsets computed in different orders become equal. */
static SizeId
scale(Graph *g, int64_t constant, SizeId id)
{
    if (constant == 0) return size_const(g, 0);
    if (constant == 1) return id;
    const Size *size = &g->sizes.at[id];
    if (size->kind == SIZE_ADD) {
        SizeId a = size->a, b = size->b;
        SizeId factor = size_const(g, constant);
        if (factor == NO_SIZE) return NO_SIZE;
        SizeId left = size_mul(g, factor, a), right = size_mul(g, factor, b);
        return left == NO_SIZE || right == NO_SIZE ? NO_SIZE : size_add(g, left, right);
    }
    return pair(g, SIZE_MUL, size_const(g, constant), id);
}

SizeId
size_mul(Graph *g, SizeId a, SizeId b)
{
    int64_t x, y;
    SizeId left = split_product(g, a, &x), right = split_product(g, b, &y);
    int64_t constant = wrap_mul(x, y);
    SizeId product = left == NO_SIZE ? right : left;
    if (left != NO_SIZE && right != NO_SIZE) {
        product = chain_merge(g, SIZE_MUL, left, right);
        if (product == NO_SIZE) return NO_SIZE;
    }
    return product == NO_SIZE ? size_const(g, constant) : scale(g, constant, product);
}

bool
size_same(const Graph *g, SizeId a, SizeId b)
{
    return a == b ||
           (size_is_const(g, a) && size_is_const(g, b) && size_value(g, a) == size_value(g, b));
}
