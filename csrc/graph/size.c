/* Sizes: integer expressions over the dimensions and strides of inputs, and over ints that the plan
   computes.

   Hash-consed: expressions of one form have one id, so sizes are compared by id. Every expression
   is brought to a normal form:
   - a sum is (… (term + term) …) + constant, a term constant * (… (factor * factor) …);
   - terms and factors are in order of what they name; a sum's constant comes last, a term's first;
   - 0 and 1 vanish, constants are folded, products of sums are multiplied out and like terms
     collected, but for expressions of very many terms: such equal sizes may have different ids,
     but different sizes never have one id;
   - a quotient whose division leaves nothing is divided, and a minimum or maximum of two sizes of
     which bounds show which one it is is that one. */
#include "size.h"

/* Hashes what is_same compares. */
static uint32_t
hash_of(const Size *size)
{
    uint64_t what = (uint64_t)size->value;
    if (size->kind != SIZE_CONST && size->kind < SIZE_ADD)
        what = (uint64_t)(uint32_t)size->node << 32 | (uint32_t)size->axis;
    else if (size->kind != SIZE_CONST)
        what = (uint64_t)(uint32_t)size->a << 32 | (uint32_t)size->b;
    return (uint32_t)((what * 16 + size->kind) * 0x9E3779B97F4A7C15u >> 32);
}

static bool
is_same(const Size *a, const Size *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == SIZE_CONST) return a->value == b->value;
    if (a->kind < SIZE_ADD) return a->node == b->node && a->axis == b->axis;
    return a->a == b->a && a->b == b->b;
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

int64_t
size_apply(SizeKind kind, int64_t a, int64_t b)
{
    switch (kind) {
    case SIZE_ADD: return wrap_add(a, b);
    case SIZE_MUL: return wrap_mul(a, b);
    case SIZE_LEAST: return a < b ? a : b;
    case SIZE_MOST: return a > b ? a : b;
    case SIZE_SAME: return a == b;
    default: break;
    }
    if (b == 0 || b == -1) return kind == SIZE_MOD || b == 0 ? 0 : wrap_mul(a, -1);
    int64_t quotient = a / b, rest = a % b;
    bool down = rest != 0 && (rest < 0) != (b < 0);
    return kind == SIZE_MOD ? rest + (down ? b : 0) : quotient - down;
}

/* The interned node of this kind; the arguments are in normal form already. */
static SizeId
pair(Graph *g, SizeKind kind, SizeId a, SizeId b)
{
    if (a == NO_SIZE || b == NO_SIZE) return NO_SIZE;
    int64_t value = size_apply(kind, g->sizes.at[a].value, g->sizes.at[b].value);
    return intern(g, (Size){kind, value, NO_NODE, 0, a, b});
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

/* ---- sums of products ---- */

/* Splits a term into its factor and what it is of. */
static Term
term_of(const Graph *g, SizeId id)
{
    const Size *size = &g->sizes.at[id];
    if (size->kind != SIZE_MUL || g->sizes.at[size->a].kind != SIZE_CONST) return (Term){1, id};
    return (Term){g->sizes.at[size->a].value, size->b};
}

static void
sum_add(Sum *sum, Term term)
{
    int at = 0;
    while (at < sum->n && sum->at[at].of != term.of) at++;
    if (at == MOST_TERMS) {
        sum->full = true;
        return;
    }
    if (at == sum->n) sum->at[sum->n++] = (Term){0, term.of};
    sum->at[at].factor = wrap_add(sum->at[at].factor, term.factor);
    if (sum->at[at].factor == 0) sum->at[at] = sum->at[--sum->n];
}

void
sum_size(const Graph *g, Sum *sum, int64_t factor, SizeId id)
{
    if (id == NO_SIZE) return;
    const Size *size = &g->sizes.at[id];
    if (size->kind == SIZE_ADD) {
        sum_size(g, sum, factor, size->a);
        sum_size(g, sum, factor, size->b);
    } else if (size->kind == SIZE_CONST) {
        sum->constant = wrap_add(sum->constant, wrap_mul(factor, size->value));
    } else {
        Term term = term_of(g, id);
        sum_add(sum, (Term){wrap_mul(factor, term.factor), term.of});
    }
}

/* The chain of things in order. */
static SizeId
chain(Graph *g, SizeKind kind, int n, SizeId *of)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && compare(g, of[k], of[k - 1]) < 0; k--) {
            SizeId other = of[k];
            of[k] = of[k - 1];
            of[k - 1] = other;
        }
    SizeId all = of[0];
    for (int i = 1; i < n && all != NO_SIZE; i++) all = pair(g, kind, all, of[i]);
    return all;
}

static SizeId
sum_made(Graph *g, const Sum *sum)
{
    SizeId of[MOST_TERMS];
    for (int i = 0; i < sum->n; i++) {
        of[i] = sum->at[i].of;
        if (sum->at[i].factor != 1)
            of[i] = pair(g, SIZE_MUL, size_const(g, sum->at[i].factor), of[i]);
        if (of[i] == NO_SIZE) return NO_SIZE;
    }
    if (sum->n == 0) return size_const(g, sum->constant);
    SizeId all = chain(g, SIZE_ADD, sum->n, of);
    return sum->constant == 0 ? all : pair(g, SIZE_ADD, all, size_const(g, sum->constant));
}

/* a - min(a, b) is max(0, a - b). */
static SizeId
without_least(Graph *g, Sum *sum)
{
    for (int i = 0; i < sum->n; i++) {
        const Size size = g->sizes.at[sum->at[i].of];
        if (size.kind != SIZE_LEAST || sum->at[i].factor != -1) continue;
        for (int k = 0; k < sum->n; k++) {
            bool first = sum->at[k].of == size.a;
            if (sum->at[k].factor < 1 || (!first && sum->at[k].of != size.b)) continue;
            SizeId left = sum->at[k].of, right = first ? size.b : size.a;
            sum_add(sum, (Term){1, sum->at[i].of});
            sum_add(sum, (Term){-1, left});
            SizeId more = size_extreme(g, SIZE_MOST, size_sub(g, left, right), size_const(g, 0));
            return more == NO_SIZE ? NO_SIZE : size_add(g, sum_made(g, sum), more);
        }
    }
    return sum_made(g, sum);
}

SizeId
size_add_times(Graph *g, SizeId a, int64_t factor, SizeId b)
{
    Sum sum = {0};
    sum_size(g, &sum, 1, a);
    sum_size(g, &sum, factor, b);
    if (!sum.full) return without_least(g, &sum);
    if (factor != 1) b = size_mul(g, size_const(g, factor), b);
    return pair(g, SIZE_ADD, a, b);
}

SizeId
size_add(Graph *g, SizeId a, SizeId b)
{
    return size_add_times(g, a, 1, b);
}

SizeId
size_sub(Graph *g, SizeId a, SizeId b)
{
    return size_add_times(g, a, -1, b);
}

static int
factors_of(const Graph *g, SizeId id, int n, SizeId *out)
{
    const Size *size = &g->sizes.at[id];
    if (n > MOST_TERMS) return n;
    if (size->kind == SIZE_MUL) return factors_of(g, size->b, factors_of(g, size->a, n, out), out);
    if (n < MOST_TERMS) out[n] = id;
    return n + 1;
}

/* Of what two terms are of. */
static SizeId
product(Graph *g, SizeId a, SizeId b)
{
    SizeId of[MOST_TERMS];
    int n = factors_of(g, b, factors_of(g, a, 0, of), of);
    return n > MOST_TERMS ? pair(g, SIZE_MUL, a, b) : chain(g, SIZE_MUL, n, of);
}

SizeId
size_mul(Graph *g, SizeId a, SizeId b)
{
    Sum left = {0}, right = {0}, all = {0};
    sum_size(g, &left, 1, a);
    sum_size(g, &right, 1, b);
    all.constant = wrap_mul(left.constant, right.constant);
    for (int i = 0; i < left.n; i++)
        sum_add(&all, (Term){wrap_mul(left.at[i].factor, right.constant), left.at[i].of});
    for (int i = 0; i < right.n; i++)
        sum_add(&all, (Term){wrap_mul(right.at[i].factor, left.constant), right.at[i].of});
    for (int i = 0; i < left.n; i++)
        for (int k = 0; k < right.n; k++) {
            SizeId of = product(g, left.at[i].of, right.at[k].of);
            if (of == NO_SIZE) return NO_SIZE;
            sum_add(&all, (Term){wrap_mul(left.at[i].factor, right.at[k].factor), of});
        }
    if (!left.full && !right.full && !all.full) return sum_made(g, &all);
    return pair(g, SIZE_MUL, a, b);
}

/* ---- symbols with bounds, quotients, extremes ---- */

SizeId
size_number(Graph *g, NodeId node, SizeId least, SizeId most, int64_t hint)
{
    return intern(g, (Size){SIZE_NUMBER, hint, node, 0, least, most});
}

/* Does the divisor divide each term? */
static bool
divides(const Sum *sum, int64_t divisor)
{
    bool all = sum->constant % divisor == 0;
    for (int i = 0; i < sum->n; i++) all = all && sum->at[i].factor % divisor == 0;
    return all;
}

SizeId
size_quotient(Graph *g, SizeKind kind, SizeId a, SizeId b)
{
    Sum sum = {0};
    int64_t by = size_is_const(g, b) ? size_value(g, b) : 0;
    sum_size(g, &sum, 1, a);
    if (by <= 0 || sum.full) return pair(g, kind, a, b);
    int64_t rest = size_apply(SIZE_MOD, sum.constant, by);
    sum.constant = wrap_add(sum.constant, -rest);
    if (divides(&sum, by)) {
        if (kind == SIZE_MOD) return size_const(g, rest);
        for (int i = 0; i < sum.n; i++) sum.at[i].factor /= by;
        sum.constant /= by;
        return sum_made(g, &sum);
    }
    if (kind == SIZE_MOD && size_at_most(g, size_const(g, 0), a) &&
        size_at_most(g, a, size_const(g, by - 1)))
        return a;
    return pair(g, kind, a, b);
}

bool
size_split(Graph *g, SizeId id, int64_t by, SizeId *quotient, SizeId *rest)
{
    Sum all = {0}, whole = {0}, left = {0};
    sum_size(g, &all, 1, id);
    if (all.full) return false;
    whole.constant = all.constant / by;
    left.constant = all.constant % by;
    for (int i = 0; i < all.n; i++) {
        sum_add(&whole, (Term){all.at[i].factor / by, all.at[i].of});
        sum_add(&left, (Term){all.at[i].factor % by, all.at[i].of});
    }
    *quotient = sum_made(g, &whole);
    *rest = sum_made(g, &left);
    return *quotient != NO_SIZE && *rest != NO_SIZE;
}

/* Of products that have factors in common, these go: (a * b) // a is b where a is not 0. */
SizeId
size_ratio(Graph *g, SizeId a, SizeId b)
{
    SizeId above[MOST_TERMS], below[MOST_TERMS];
    int n = factors_of(g, a, 0, above), m = factors_of(g, b, 0, below);
    if (n > MOST_TERMS || m > MOST_TERMS) return size_quotient(g, SIZE_FLOOR_DIV, a, b);
    for (int k = 0; k < m; k++)
        for (int i = 0; i < n; i++) {
            if (above[i] != below[k]) continue;
            above[i] = above[--n];
            below[k] = size_const(g, 1);
            break;
        }
    SizeId top = size_const(g, 1), bottom = size_const(g, 1);
    for (int i = 0; i < n; i++) top = size_mul(g, top, above[i]);
    for (int k = 0; k < m; k++) bottom = size_mul(g, bottom, below[k]);
    return size_is_one(g, bottom) ? top : size_quotient(g, SIZE_FLOOR_DIV, top, bottom);
}

/* How often 2 divides the size at least; 0 it does as often as one likes. */
static int
count_twos(const Graph *g, SizeId id)
{
    enum { MOST = 62 };
    const Size *size = &g->sizes.at[id];
    int a, b;
    if (size->kind == SIZE_CONST)
        return size->value == 0 ? MOST : __builtin_ctzll((uint64_t)size->value);
    if (size->kind != SIZE_ADD && size->kind != SIZE_MUL && size->kind != SIZE_LEAST &&
        size->kind != SIZE_MOST)
        return 0;
    a = count_twos(g, size->a);
    b = count_twos(g, size->b);
    return size->kind == SIZE_MUL ? Py_MIN(a + b, MOST) : Py_MIN(a, b);
}

bool
size_divides(const Graph *g, int64_t by, SizeId id)
{
    return id == NO_SIZE || by <= INT64_C(1) << count_twos(g, id);
}

SizeId
size_extreme(Graph *g, SizeKind kind, SizeId a, SizeId b)
{
    if (size_at_most(g, a, b)) return kind == SIZE_LEAST ? a : b;
    if (size_at_most(g, b, a)) return kind == SIZE_LEAST ? b : a;
    return compare(g, a, b) <= 0 ? pair(g, kind, a, b) : pair(g, kind, b, a);
}

SizeId
size_if_same(Graph *g, SizeId a, SizeId b)
{
    SizeId one = size_const(g, 1), more = size_add(g, a, one), less = size_sub(g, a, one);
    if (one == NO_SIZE || more == NO_SIZE || less == NO_SIZE) return NO_SIZE;
    if (size_same(g, a, b)) return one;
    if (size_at_most(g, more, b) || size_at_most(g, b, less)) return size_const(g, 0);
    g->loose = true;
    return pair(g, SIZE_SAME, a, b);
}

bool
size_same(const Graph *g, SizeId a, SizeId b)
{
    if (a == b) return true;
    if (size_is_const(g, a) && size_is_const(g, b)) return size_value(g, a) == size_value(g, b);
    if (!g->united) return false;
    Graph *entered = (Graph *)g; /* forms that nothing reads */
    SizeId now = size_now(entered, a), other = size_now(entered, b);
    if (now == NO_SIZE || other == NO_SIZE) PyErr_Clear();
    return now != NO_SIZE && now == other;
}
