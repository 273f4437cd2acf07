/* Conditions over lengths, as in `if len(x)` or `if n % 2`: what they decide is guarded, and the
   lengths stay symbols.

   Sizes are computed in 64 bits, Python's ints are not: what might not fit is asked as a value. */
#include <math.h>

#include "core.h"

/* No array that has elements has an axis of more; ints are guarded to be less. */
#define MOST_ELEMENTS 0x1p47
enum { INT_BITS = 40 };

static bool
has_factor(const Graph *g, SizeId product, SizeId factor)
{
    const Size *size = &g->sizes.at[product];
    if (product == factor) return true;
    return size->kind == SIZE_MUL &&
           (has_factor(g, size->a, factor) || has_factor(g, size->b, factor));
}

/* The array of which all symbols of a product are lengths, each once; or NO_SOURCE. */
static SourceId
array_of_product(const Interp *in, SizeId id)
{
    const Size *size = &in->graph->sizes.at[id];
    if (size->kind == SIZE_MUL) {
        SourceId one = array_of_product(in, size->a), other = array_of_product(in, size->b);
        bool once = in->graph->sizes.at[size->b].kind != SIZE_MUL &&
                    !has_factor(in->graph, size->a, size->b);
        return one == other && once ? one : NO_SOURCE;
    }
    for (int i = 0; i < in->memory.symbols.len; i++) {
        const Symbol *symbol = &in->memory.symbols.at[i];
        if (symbol->size == id && symbol->axis != OF_INT) return symbol->array;
    }
    return NO_SOURCE;
}

/* An int from outside is guarded to fit; what it is in this call may not. */
static Answer
ints_fit(Interp *in, SizeId id)
{
    for (int i = 0; i < in->memory.symbols.len; i++) {
        const Symbol *symbol = &in->memory.symbols.at[i];
        if (symbol->size != id || symbol->axis != OF_INT) continue;
        TRY(value_in_range(in, value_of_source(in, symbol->array), -(1LL << INT_BITS),
                           1LL << INT_BITS));
    }
    return ANSWER_YES;
}

/* Guards that `a` is more than `b`, or as much where `strict` is 0. */
static Answer
side_is_more(Interp *in, SizeId a, SizeId b, int strict)
{
    Graph *g = in->graph;
    SizeId more = size_sub(g, size_sub(g, a, b), size_const(g, strict));
    int64_t bound;
    if (more != NO_SIZE && size_lower(g, more, &bound) && bound >= 0) return ANSWER_YES;
    return size_guard(in, more, false);
}

static int
count_factors(const Graph *g, SizeId product)
{
    const Size *size = &g->sizes.at[product];
    return size->kind == SIZE_MUL ? count_factors(g, size->a) + count_factors(g, size->b) : 1;
}

/* Guards that no factor has more bits: what no program has whose arrays fit into memory. */
static Answer
factors_fit(Interp *in, SizeId product, int bits)
{
    const Size size = in->graph->sizes.at[product];
    int64_t least, most = (int64_t)1 << bits;
    if (size.kind == SIZE_MUL) {
        TRY(factors_fit(in, size.a, bits));
        return factors_fit(in, size.b, bits);
    }
    if (!size_lower(in->graph, product, &least) || least < -most) return ANSWER_NO;
    if (size_value(in->graph, product) > most) return ANSWER_NO;
    bool outer = in->memory.numpys;
    in->memory.numpys = true;
    Answer answer = side_is_more(in, size_const(in->graph, most), product, 0);
    in->memory.numpys = outer;
    return answer;
}

/* A bound of the size's magnitude. */
static Answer
size_magnitude(Interp *in, SizeId id, double *out)
{
    const Size size = in->graph->sizes.at[id];
    double other;
    *out = MOST_ELEMENTS;
    if (size_is_const(in->graph, id)) {
        *out = fabs((double)size_value(in->graph, id));
        return ANSWER_YES;
    }
    if (size.kind < SIZE_ADD) return ints_fit(in, id);
    if (size.kind == SIZE_MUL && array_of_product(in, id) != NO_SOURCE) return ANSWER_YES;
    bool quotient = size.kind == SIZE_FLOOR_DIV || size.kind == SIZE_MOD;
    if (quotient && !size_is_const(in->graph, size.b)) /* Python raises an error for 0 */
        TRY(side_is_more(in, size.b, size_const(in->graph, 0), 1));
    TRY(size_magnitude(in, size.a, out));
    TRY(size_magnitude(in, size.b, &other));
    *out = size.kind == SIZE_MUL ? *out * other : *out + other;
    if (size.kind != SIZE_MUL || *out < 0x1p61) return ANSWER_YES;
    *out = 0x1p60;
    return factors_fit(in, id, 60 / count_factors(in->graph, id));
}

/* A length that equals a number is that number. */
static Answer
sides_are_equal(Interp *in, SizeId a, SizeId b)
{
    Graph *g = in->graph;
    if (size_same(g, a, b)) return ANSWER_YES;
    if (!size_is_const(g, a) && !size_is_const(g, b)) return symbols_unite(in, a, b);
    if (g->sizes.at[a].kind < SIZE_ADD && g->sizes.at[b].kind < SIZE_ADD) return ANSWER_NO;
    return size_guard(in, size_sub(g, a, b), true);
}

static Answer
guard_order(Interp *in, Op op, bool holds, SizeId a, SizeId b)
{
    switch (op) {
    case OP_py_lt: return holds ? side_is_more(in, b, a, 1) : side_is_more(in, a, b, 0);
    case OP_py_le: return holds ? side_is_more(in, b, a, 0) : side_is_more(in, a, b, 1);
    default: break;
    }
    if ((op == OP_py_eq) == holds) return sides_are_equal(in, a, b);
    bool more = size_value(in->graph, a) > size_value(in->graph, b);
    return side_is_more(in, more ? a : b, more ? b : a, 1);
}

/* A product is 0 where one of its factors is, however large it is. */
static Answer
product_is_some(Interp *in, SizeId product, bool some)
{
    const Size size = in->graph->sizes.at[product];
    double most;
    if (size.kind != SIZE_MUL) {
        TRY(size_magnitude(in, product, &most));
        if (most >= 0x1p62) return ANSWER_NO;
        return guard_order(in, OP_py_ne, some, product, size_const(in->graph, 0));
    }
    if (!some)
        return product_is_some(in, size_value(in->graph, size.a) == 0 ? size.a : size.b, false);
    TRY(product_is_some(in, size.a, true));
    return product_is_some(in, size.b, true);
}

Answer
condition_of_lengths(Interp *in, const Value *condition)
{
    if (condition->kind != V_NODE) return ANSWER_NO;
    Op op = graph_node(in->graph, condition->node)->op;
    bool truth = op == OP_py_bool; /* as `!= 0` */
    SizeId a, b = size_const(in->graph, 0);
    double most, other;
    if (!truth && op != OP_py_lt && op != OP_py_le && op != OP_py_eq && op != OP_py_ne)
        return ANSWER_NO;
    if (condition->object == NULL || condition->nitems != (truth ? 1 : 2)) return ANSWER_NO;
    TRY(int_as_length(in, condition->items[0], &a));
    if (!truth) TRY(int_as_length(in, condition->items[1], &b));
    bool same = truth || op == OP_py_eq || op == OP_py_ne, holds = condition->object == Py_True;
    if (same && in->graph->sizes.at[a].kind == SIZE_MUL && size_is_const(in->graph, b) &&
        size_value(in->graph, b) == 0)
        return product_is_some(in, a, holds == (op != OP_py_eq));
    TRY(size_magnitude(in, a, &most));
    TRY(size_magnitude(in, b, &other));
    if (most + other >= 0x1p62) return ANSWER_NO;
    return guard_order(in, op, holds, a, b);
}
