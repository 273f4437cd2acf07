/* Lengths that are symbols where what is captured depends on them: those that must be equal become
   one symbol, those that decide what is done are guarded to decide as in this call.  What cannot be
   guarded is known from then on (symbols.c). */
#include "core.h"

static Symbol *
symbol_of_size(Interp *in, SizeId size)
{
    for (int i = 0; i < in->memory.symbols.len; i++)
        if (in->memory.symbols.at[i].size == size) return &in->memory.symbols.at[i];
    return NULL;
}

/* The first symbol is the other one, a declared one the one that stays. */
static Answer
unite_symbols(Interp *in, Symbol *a, Symbol *b)
{
    if (symbols_guard_same(in, a, b) < 0) return ANSWER_ERROR;
    bool first = a->dim.name != NULL || (b->dim.name == NULL && a < b);
    SizeId kept = first ? a->size : b->size, other = first ? b->size : a->size;
    int64_t least = size_value(in->graph, in->graph->sizes.at[other].a);
    if (least > size_value(in->graph, in->graph->sizes.at[kept].a))
        in->graph->sizes.at[kept].a = in->graph->sizes.at[other].a;
    for (int i = 0; i < in->memory.symbols.len; i++)
        if (in->memory.symbols.at[i].size == other) in->memory.symbols.at[i].size = kept;
    return size_unite(in->graph, other, kept) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static bool
is_declared(const Interp *in, SizeId id)
{
    const Size *size = &in->graph->sizes.at[id];
    if (size->kind >= SIZE_ADD) return is_declared(in, size->a) || is_declared(in, size->b);
    return symbol_dim(in, id) != NULL;
}

/* Extremes in the size are what they are in this call, where bounds of symbols say so. */
static void
decide_extremes(Interp *in, SizeId id)
{
    const Size size = in->graph->sizes.at[id];
    if (size.kind < SIZE_ADD) return;
    decide_extremes(in, size.a);
    decide_extremes(in, size.b);
    if (size.kind != SIZE_LEAST && size.kind != SIZE_MOST) return;
    SizeId more = size_sub(in->graph, size.a, size.b), less = size_sub(in->graph, size.b, size.a);
    if (more != NO_SIZE && less != NO_SIZE)
        (void)size_bound_raised(in, size_value(in->graph, more) >= 0 ? more : less, 0);
}

/* A symbol in what is guarded to be 0 becomes what it is then. */
static Answer
unite_solved(Interp *in, SizeId zero)
{
    SizeId symbol, is;
    if (is_declared(in, zero)) return ANSWER_YES;
    bool solved = size_solved(in->graph, zero, &symbol, &is);
    if (!solved) decide_extremes(in, zero);
    if (!solved && (zero = size_now(in->graph, zero)) != NO_SIZE)
        solved = size_solved(in->graph, zero, &symbol, &is);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    if (!solved) return ANSWER_YES;
    return size_unite(in->graph, symbol, is) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Divides both by the factors of `part`, one of them, that are never 0. */
static void
divide_common(Graph *g, SizeId part, SizeId *a, SizeId *b)
{
    const Size size = g->sizes.at[part];
    int64_t least;
    if (size.kind == SIZE_MUL) {
        divide_common(g, size.a, a, b);
        divide_common(g, size.b, a, b);
        return;
    }
    if (size_is_const(g, part) || !size_lower(g, part, &least) || least < 1) return;
    SizeId one = size_ratio(g, *a, part), other = size_ratio(g, *b, part);
    if (one == NO_SIZE || other == NO_SIZE || !size_is_times(g, *a, one, part) ||
        !size_is_times(g, *b, other, part))
        return;
    *a = one;
    *b = other;
}

Answer
symbols_unite(Interp *in, SizeId a, SizeId b)
{
    static const char why[] = "a length that must be equal to another";
    Graph *g = in->graph;
    a = size_now(g, a);
    b = size_now(g, b);
    if (a == NO_SIZE || b == NO_SIZE) return ANSWER_ERROR;
    divide_common(g, a, &a, &b);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    if (size_same(g, a, b)) return ANSWER_YES;
    Symbol *one = symbol_of_size(in, a), *other = symbol_of_size(in, b);
    bool found = false, known = size_is_const(g, a) || size_is_const(g, b);
    if (one != NULL && other != NULL && one->dim.name != NULL && other->dim.name != NULL)
        return dim_refuse(in, &one->dim, "has to be equal to", &other->dim);
    if (size_value(g, a) == size_value(g, b) && one != NULL && other != NULL)
        return unite_symbols(in, one, other);
    SizeId zero = size_sub(g, a, b);
    Answer answer = known ? ANSWER_NO : size_guard(in, zero, true);
    if (answer == ANSWER_YES) return unite_solved(in, zero);
    if (answer != ANSWER_NO) return answer;
    TRY(symbols_fix(in, a, why, &found));
    TRY(symbols_fix(in, b, why, &found));
    return found ? symbols_again(in, why) : ANSWER_NO;
}

/* ---- lengths that decide ---- */

Answer
size_decide(Interp *in, SizeId size, bool *negative)
{
    int64_t bound;
    *negative = false;
    if (size == NO_SIZE) return ANSWER_ERROR;
    if (size_lower(in->graph, size, &bound) && bound >= 0) return ANSWER_YES;
    *negative = size_value(in->graph, size) < 0;
    if (size_is_const(in->graph, size)) return ANSWER_YES;
    SizeId holds = size; /* … < 0: -1 - … >= 0 */
    if (*negative) holds = size_sub(in->graph, size_const(in->graph, -1), size);
    Answer answer = size_guard(in, holds, false);
    return answer != ANSWER_NO ? answer
                               : size_specialise(in, size, "a length that decides what is done");
}

Answer
length_is_some(Interp *in, SizeId size, int64_t least)
{
    bool less, outer = in->memory.numpys;
    in->memory.numpys = true;
    Answer decided =
        size_decide(in, size_sub(in->graph, size, size_const(in->graph, least)), &less);
    in->memory.numpys = outer;
    TRY(decided);
    if (!less) return ANSWER_YES;
    Answer answer = size_specialise(in, size, "an axis of no or one element");
    return answer == ANSWER_NO ? ANSWER_YES : answer;
}

Answer
lengths_are_some(Interp *in, int rank, const SizeId *shape)
{
    for (int i = 0; i < rank && rank > 1; i++)
        if (!size_is_const(in->graph, shape[i])) TRY(length_is_some(in, shape[i], 1));
    return ANSWER_YES;
}

Answer
lengths_are_several(Interp *in, const Type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (!size_is_const(in->graph, type->shape[i])) TRY(length_is_some(in, type->shape[i], 2));
    return ANSWER_YES;
}

Answer
layout_is_fixed(Interp *in, const Type *type)
{
    if (type->rank < 2 || !type_varies(in, type) || type_is_measured(in, type)) return ANSWER_YES;
    bool natural = type_is_contiguous(in->graph, type); /* no stride is made of its first length */
    for (int i = natural; i < type->rank; i++)
        if (!size_is_const(in->graph, type->shape[i])) TRY(length_is_some(in, type->shape[i], 1));
    for (int i = 0; i < type->rank && !natural; i++)
        if (size_may_be_single(in->graph, type->shape[i]) &&
            !single_is_told(in->graph, type->shape[i]))
            TRY(length_is_some(in, type->shape[i], 2));
    return ANSWER_YES;
}

/* What is left to know is that *ratio, if it is given, is two or more. */
static Answer
is_more(Interp *in, SizeId a, SizeId b, bool *more, SizeId *ratio)
{
    Graph *g = in->graph;
    *more = size_value(g, a) > size_value(g, b);
    SizeId most = *more ? a : b, least = *more ? b : a;
    int64_t bound;
    *ratio = NO_SIZE;
    if (size_lower(g, size_sub(g, most, least), &bound) && bound > 0) return ANSWER_YES;
    if ((*ratio = size_ratio(g, most, least)) == NO_SIZE) return ANSWER_ERROR;
    bool times = size_value(g, *ratio) >= 2 && size_is_times(g, most, *ratio, least);
    return times ? ANSWER_YES : ANSWER_NO;
}

Answer
size_is_more(Interp *in, SizeId a, SizeId b, bool *more)
{
    SizeId ratio;
    TRY(is_more(in, a, b, more, &ratio));
    return ratio == NO_SIZE ? ANSWER_YES : length_is_some(in, ratio, 2);
}

Answer
size_is_surely_more(Interp *in, SizeId a, SizeId b, bool *more)
{
    SizeId ratio;
    int64_t least;
    TRY(is_more(in, a, b, more, &ratio));
    if (ratio == NO_SIZE) return ANSWER_YES;
    return size_lower(in->graph, ratio, &least) && least > 1 ? ANSWER_YES : ANSWER_NO;
}

Answer
layout_has_order(Interp *in, const Type *type, char order, bool *has)
{
    Graph *g = in->graph;
    SizeId step = size_const(g, (int64_t)dtype_size((DType)type->dtype));
    *has = order == 'C' ? type_is_contiguous(g, type) : type_is_fortran(g, type);
    if (*has || type_is_measured(in, type)) return ANSWER_YES;
    for (int i = 0; i < type->rank; i++) {
        int axis = order == 'C' ? type->rank - 1 - i : i;
        SizeId length = type->shape[axis], stride = type->stride[axis];
        bool more;
        if (size_is_const(g, length) && size_value(g, length) == 1) continue;
        if (!size_same(g, stride, step)) {
            TRY(length_is_some(in, length, 2));
            Answer answer = size_is_more(in, stride, step, &more);
            return answer == ANSWER_NO ? lengths_are_several(in, type) : answer;
        }
        step = size_mul(g, step, length);
    }
    return ANSWER_YES;
}
