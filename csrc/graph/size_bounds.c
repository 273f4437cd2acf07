/* Between which values a size is, whatever its symbols are, and what is the most that it can be.

   A sum is bounded term by term, after numbers whose bounds are sizes have been replaced by them.
 */
#include "size.h"

enum { DEEPEST = 12 };

static bool bound(Graph *g, SizeId id, bool upper, int depth, int64_t *out);

/* The bound of what a term is of; a product's factors must not be negative. */
static bool
bound_of(Graph *g, SizeId id, bool upper, int depth, int64_t *out)
{
    const Size size = g->sizes.at[id];
    int64_t a, b;
    switch (size.kind) {
    case SIZE_CONST: *out = size.value; return true;
    case SIZE_DIM:
        if (upper && size.b == NO_SIZE) return false;
        *out = upper               ? g->sizes.at[size.b].value
               : size.a == NO_SIZE ? 0
                                   : g->sizes.at[size.a].value;
        return true;
    case SIZE_NUMBER:
        return (upper ? size.b : size.a) != NO_SIZE &&
               bound(g, upper ? size.b : size.a, upper, depth + 1, out);
    case SIZE_MUL:
        if (!bound_of(g, size.a, false, depth + 1, &a) || a < 0 ||
            !bound_of(g, size.b, false, depth + 1, &b) || b < 0)
            return false;
        if (upper && (!bound_of(g, size.a, true, depth + 1, &a) ||
                      !bound_of(g, size.b, true, depth + 1, &b)))
            return false;
        return !__builtin_mul_overflow(a, b, out);
    case SIZE_LEAST:
    case SIZE_MOST: {
        bool one = bound(g, size.a, upper, depth + 1, &a);
        bool other = bound(g, size.b, upper, depth + 1, &b);
        bool either = upper == (size.kind == SIZE_LEAST); /* each of them is a bound */
        if (!either && !(one && other)) return false;
        *out = !other ? a : !one ? b : size_apply(size.kind, a, b);
        return one || other;
    }
    case SIZE_FLOOR_DIV:
        if (!size_is_const(g, size.b) || size_value(g, size.b) <= 0) return false;
        if (!bound(g, size.a, upper, depth + 1, &a)) return false;
        *out = size_apply(SIZE_FLOOR_DIV, a, size_value(g, size.b));
        return true;
    case SIZE_MOD:
        if (!bound(g, size.b, false, depth + 1, &b) || b <= 0) return false;
        if (upper && !bound(g, size.b, true, depth + 1, &b)) return false;
        *out = upper ? b - 1 : 0;
        return true;
    case SIZE_SAME: *out = upper; return true;
    default: return false;
    }
}

/* The term that was made last of those that are a number with such a bound; -1: none. */
static int
youngest(const Graph *g, const Sum *sum, bool upper)
{
    int found = -1;
    for (int i = 0; i < sum->n; i++) {
        const Size *size = &g->sizes.at[sum->at[i].of];
        if (size->kind != SIZE_NUMBER) continue;
        SizeId to = (sum->at[i].factor > 0) == upper ? size->b : size->a;
        if (to == NO_SIZE || size_is_const(g, to)) continue;
        if (found < 0 || g->sizes.at[sum->at[found].of].node < size->node) found = i;
    }
    return found;
}

/* What times a term is at most, where that is no number: a quotient a // k is a for k of them, and
   for each of the rest; a remainder a % b is less than b.  Both are of a sum. */
static bool
term_at_most(Graph *g, Term term, int depth, Term *most, int64_t *rest)
{
    const Size size = g->sizes.at[term.of];
    int64_t least, times = term.factor < 0 ? -term.factor : term.factor;
    *most = (Term){term.factor, size.b};
    *rest = -term.factor;
    if (size.kind == SIZE_MOD) return bound(g, size.b, false, depth + 1, &least) && least > 0;
    if (size.kind != SIZE_FLOOR_DIV || !size_is_const(g, size.b) || size_value(g, size.b) < 1 ||
        !bound(g, size.a, false, depth + 1, &least) || least < 0)
        return false;
    int64_t by = size_value(g, size.b), whole = times / by + times % by;
    *most = (Term){term.factor < 0 ? -whole : whole, size.a};
    *rest = 0;
    return true;
}

/* Quotients and remainders of which an upper bound is wanted and no number is known are replaced by
   what they are at most. */
static void
quotients_at_most(Graph *g, Sum *sum, bool upper, int depth)
{
    for (int i = 0; i < sum->n && !sum->full; i++) {
        Term term = sum->at[i], by;
        int64_t most, rest;
        if ((term.factor > 0) != upper || bound_of(g, term.of, true, depth + 1, &most) ||
            !term_at_most(g, term, depth, &by, &rest))
            continue;
        sum->at[i--] = sum->at[--sum->n];
        sum->constant += rest;
        sum_size(g, sum, by.factor, by.of);
    }
}

/* Numbers whose bounds are expressions are replaced by them, the last made ones before those that
   these are of, so that what is the same in a number and its bound cancels out.  false: the terms
   are too many. */
static bool
replace_numbers(Graph *g, Sum *sum, bool upper)
{
    for (int at, steps = 0; !sum->full && (at = youngest(g, sum, upper)) >= 0; steps++) {
        Term term = sum->at[at];
        const Size *size = &g->sizes.at[term.of];
        SizeId to = (term.factor > 0) == upper ? size->b : size->a;
        sum->at[at] = sum->at[--sum->n];
        sum_size(g, sum, term.factor, to);
        if (steps > MOST_TERMS) return false;
    }
    return !sum->full;
}

/* What is left without numbers is bounded term by term. */
static bool
bound(Graph *g, SizeId id, bool upper, int depth, int64_t *out)
{
    Sum sum = {0};
    if (depth > DEEPEST) return false;
    sum_size(g, &sum, 1, id);
    if (!replace_numbers(g, &sum, upper)) return false;
    quotients_at_most(g, &sum, upper, depth);
    *out = sum.constant;
    for (int i = 0; i < sum.n; i++) {
        int64_t each, times;
        if (!bound_of(g, sum.at[i].of, (sum.at[i].factor > 0) == upper, depth, &each) ||
            __builtin_mul_overflow(each, sum.at[i].factor, &times) ||
            __builtin_add_overflow(*out, times, out))
            return false;
    }
    return true;
}

bool
size_lower(Graph *g, SizeId id, int64_t *out)
{
    return bound(g, id, false, 0, out);
}

bool
size_upper(Graph *g, SizeId id, int64_t *out)
{
    return bound(g, id, true, 0, out);
}

/* ---- what only the run tells ---- */

/* Has it a number that only the run tells? */
static bool
varies(const Graph *g, SizeId id)
{
    if (size_is_const(g, id)) return false;
    const Size *size = &g->sizes.at[id];
    if (size->kind < SIZE_ADD) return size->kind == SIZE_NUMBER || size->a != NO_SIZE;
    return varies(g, size->a) || varies(g, size->b);
}

bool
size_varies_in_run(const Graph *g, SizeId id)
{
    if (size_is_const(g, id)) return false;
    const Size *size = &g->sizes.at[id];
    if (size->kind < SIZE_ADD) return size->kind == SIZE_NUMBER;
    return size_varies_in_run(g, size->a) || size_varies_in_run(g, size->b);
}

static SizeId ceiling(Graph *g, SizeId id, int depth);

/* The ceiling of what a term is of. */
static SizeId
ceiling_of(Graph *g, SizeId id, int depth)
{
    const Size size = g->sizes.at[id];
    int64_t known, least;
    if (!size_varies_in_run(g, id)) return id;
    if (bound_of(g, id, true, depth, &known)) return size_const(g, known);
    if (size.kind < SIZE_ADD || size.kind == SIZE_MOD) return NO_SIZE;
    SizeId a = ceiling(g, size.a, depth + 1), b = ceiling(g, size.b, depth + 1);
    switch (size.kind) {
    case SIZE_LEAST: return a == NO_SIZE ? b : b == NO_SIZE ? a : size_extreme(g, SIZE_LEAST, a, b);
    case SIZE_MOST:
        return a == NO_SIZE || b == NO_SIZE ? NO_SIZE : size_extreme(g, SIZE_MOST, a, b);
    case SIZE_MUL:
        if (!size_lower(g, size.a, &least) || least < 0) return NO_SIZE;
        if (!size_lower(g, size.b, &least) || least < 0) return NO_SIZE;
        return a == NO_SIZE || b == NO_SIZE ? NO_SIZE : size_mul(g, a, b);
    case SIZE_FLOOR_DIV:
        if (!size_is_const(g, size.b) || size_value(g, size.b) <= 0) return NO_SIZE;
        return a == NO_SIZE ? NO_SIZE : size_quotient(g, SIZE_FLOOR_DIV, a, size.b);
    default: return NO_SIZE;
    }
}

static SizeId
ceiling(Graph *g, SizeId id, int depth)
{
    Sum sum = {0};
    if (depth > DEEPEST) return NO_SIZE;
    sum_size(g, &sum, 1, id);
    if (!replace_numbers(g, &sum, true)) return NO_SIZE;
    SizeId all = size_const(g, sum.constant);
    for (int i = 0; i < sum.n && all != NO_SIZE; i++) {
        Term term = sum.at[i];
        SizeId each = NO_SIZE;
        int64_t least;
        if (term.factor > 0 || !size_varies_in_run(g, term.of))
            each = ceiling_of(g, term.of, depth);
        else if (bound_of(g, term.of, false, depth, &least))
            each = size_const(g, least);
        if (each == NO_SIZE) return NO_SIZE;
        all = size_add_times(g, all, term.factor, each);
    }
    return all;
}

SizeId
size_ceiling(Graph *g, SizeId id)
{
    if (!size_varies_in_run(g, id)) return id;
    SizeId most = ceiling(g, id, 0);
    if (most != NO_SIZE) most = size_extreme(g, SIZE_MOST, most, size_const(g, 0));
    if (most == NO_SIZE) PyErr_Clear();
    return most;
}

bool
graph_has_symbols(const Graph *g)
{
    for (int i = 0; i < g->sizes.len; i++)
        if (g->sizes.at[i].kind == SIZE_DIM && g->sizes.at[i].a != NO_SIZE) return true;
    return false;
}

bool
size_is_single(const Graph *g, SizeId id)
{
    return size_value(g, id) == 1 && !varies(g, id);
}

bool
size_may_be_single(Graph *g, SizeId id)
{
    int64_t least;
    return size_value(g, id) > 1 && varies(g, id) && !size_varies_in_run(g, id) &&
           (!size_lower(g, id, &least) || least < 2);
}

/* ---- comparing ---- */

int64_t
size_most(Graph *g, SizeId id)
{
    int64_t most;
    return size_upper(g, id, &most) ? most : INT64_MAX;
}

bool
size_is_times(const Graph *g, SizeId id, SizeId a, SizeId b)
{
    if (size_is_const(g, id) && size_is_const(g, a) && size_is_const(g, b))
        return size_value(g, id) == size_apply(SIZE_MUL, size_value(g, a), size_value(g, b));
    if (size_is_const(g, id) && size_value(g, id) != 0) return false;
    SizeId times =
        size_mul((Graph *)g, a, b); /* which is entered among the sizes, and read by none */
    if (times == NO_SIZE) PyErr_Clear();
    return times != NO_SIZE && size_same(g, id, times);
}

bool
size_at_most(Graph *g, SizeId a, SizeId b)
{
    int64_t least;
    SizeId between = size_sub(g, b, a);
    if (between == NO_SIZE) PyErr_Clear();
    return between != NO_SIZE && size_lower(g, between, &least) && least >= 0;
}
