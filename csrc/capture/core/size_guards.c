/* Guards of what an expression of lengths is: 0, or not negative.

   Where the bound of a symbol says the same, the guard of the array or int that has the symbol is
   raised; else the guard has the expression, as code for a stack of numbers (GUARD_SIZES).  What is
   declared (dims.c) may not be narrowed so. */
#include "core.h"

int64_t
size_terms_value(const SizeTerm *terms, int count, const int64_t *const *shapes)
{
    int64_t values[SIZE_DEPTH];
    int n = 0;
    for (int i = 0; i < count; i++) {
        const SizeTerm *term = &terms[i];
        if (term->kind < SIZE_ADD) {
            values[n++] =
                term->kind == SIZE_CONST ? term->value : shapes[term->value][Py_MAX(term->axis, 0)];
        } else {
            n--;
            values[n - 1] = size_apply(term->kind, values[n - 1], values[n]);
        }
    }
    return values[0];
}

typedef struct {
    VEC(SizeTerm) terms;
    VEC(SourceId) arrays;
    int waiting;
} SizeCode;

static Answer
put_symbol(Interp *in, SizeId id, SizeCode *code)
{
    const Symbol *symbol = NULL;
    for (int i = 0; i < in->memory.symbols.len && symbol == NULL; i++)
        if (in->memory.symbols.at[i].size == id) symbol = &in->memory.symbols.at[i];
    if (symbol == NULL) return ANSWER_NO;
    int at = 0;
    while (at < code->arrays.len && code->arrays.at[at] != symbol->array) at++;
    if (at == MOST_SIZED) return ANSWER_NO;
    SizeTerm term = {.kind = SIZE_DIM, .value = at, .axis = symbol->axis};
    if ((at == code->arrays.len && VEC_PUSH(in->arena, &code->arrays, symbol->array) < 0) ||
        VEC_PUSH(in->arena, &code->terms, term) < 0)
        return ANSWER_ERROR;
    return ANSWER_YES;
}

static Answer
put_size(Interp *in, SizeId id, SizeCode *code)
{
    Size size = in->graph->sizes.at[id];
    SizeTerm term = {.kind = size.kind, .value = size.value};
    if (size.kind >= SIZE_ADD) {
        TRY(put_size(in, size.a, code));
        TRY(put_size(in, size.b, code));
        code->waiting -= 2;
    }
    if (++code->waiting > SIZE_DEPTH) return ANSWER_NO;
    if (size.kind == SIZE_DIM) return put_symbol(in, id, code);
    if (size.kind == SIZE_NUMBER || size.kind == SIZE_STRIDE) return ANSWER_NO;
    return VEC_PUSH(in->arena, &code->terms, term) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Does what is declared say that the number divides the symbol, or the product of symbols? */
static bool
is_multiple(const Interp *in, SizeId id, int64_t by)
{
    const Size *size = &in->graph->sizes.at[id];
    if (size->kind == SIZE_MUL) return is_multiple(in, size->a, by) || is_multiple(in, size->b, by);
    const Dim *dim = symbol_dim(in, id);
    return dim != NULL && by > 0 && dim->divisor % by == 0;
}

/* Adds how often the size, or where that leaves nothing a part of it, is in a sum.  False: other
   things are in it. */
static bool
add_multiples(Interp *in, SizeId id, int64_t factor, SizeId *of, int64_t *times)
{
    const Size *size = &in->graph->sizes.at[id];
    if (size->kind == SIZE_ADD)
        return add_multiples(in, size->a, factor, of, times) &&
               add_multiples(in, size->b, factor, of, times);
    if (size->kind == SIZE_MUL && size_is_const(in->graph, size->a))
        return add_multiples(in, size->b, factor * size_value(in->graph, size->a), of, times);
    bool divided = size->kind == SIZE_FLOOR_DIV && size_is_const(in->graph, size->b);
    SizeId whole = divided ? size->a : id;
    int64_t by = divided ? size_value(in->graph, size->b) : 1;
    if ((*of != NO_SIZE && *of != whole) || !is_multiple(in, whole, by) || factor % by != 0)
        return false;
    *of = whole;
    *times += factor / by;
    return true;
}

static bool
is_declared_zero(Interp *in, SizeId size)
{
    SizeId of = NO_SIZE;
    int64_t times = 0;
    return add_multiples(in, size, 1, &of, &times) && times == 0;
}

/* The code may not decide by a declared length, but by what is declared. */
static Answer
dims_allow(Interp *in, SizeId part, SizeId whole, bool zero)
{
    Size size = in->graph->sizes.at[part];
    if (size_is_const(in->graph, part)) return ANSWER_YES;
    const Dim *dim = symbol_dim(in, size.kind == SIZE_MOD ? size.a : part);
    if (size.kind == SIZE_MOD && part == whole && zero && dim != NULL &&
        size_is_const(in->graph, size.b) && dim->divisor % size_value(in->graph, size.b) == 0)
        return ANSWER_YES;
    if (size.kind >= SIZE_ADD) {
        TRY(dims_allow(in, size.a, whole, zero));
        return dims_allow(in, size.b, whole, zero);
    }
    if (dim == NULL) return ANSWER_YES;
    size = in->graph->sizes.at[whole];
    char what[96] = "has to be related to others";
    if (!zero && size.kind == SIZE_ADD && size.a == part && size_is_const(in->graph, size.b))
        snprintf(what, sizeof(what), "has to be %lld or more (a `Dim` says so)",
                 -(long long)size_value(in->graph, size.b));
    return dim_refuse(in, dim, what, NULL);
}

/* The guard of what has the symbol has this bound from now on. */
static bool
symbol_is_raised(Interp *in, SizeId symbol, int64_t least)
{
    for (int i = 0; i < in->memory.symbols.len; i++) {
        const Symbol *at = &in->memory.symbols.at[i];
        if (at->size != symbol) continue;
        Value *array = value_of_source(in, at->array);
        if (array == NULL || array->guard == 0) return false;
        Guard *guard = &in->out->guards.at[array->guard - 1];
        int64_t *guarded = at->axis == OF_INT ? &guard->low : &guard->array.shape[at->axis];
        SizeId bound = size_const(in->graph, Py_MAX(least, *guarded));
        if (bound == NO_SIZE) return false;
        in->graph->sizes.at[symbol].a = bound;
        *guarded = Py_MAX(least, *guarded);
        return sizes_refresh(in->graph) == 0;
    }
    return false;
}

bool
size_bound_raised(Interp *in, SizeId id, int64_t least)
{
    const Size size = in->graph->sizes.at[id];
    if (size.kind < SIZE_ADD) return symbol_is_raised(in, id, least);
    bool known[2] = {size_is_const(in->graph, size.a), size_is_const(in->graph, size.b)};
    int64_t a = size_value(in->graph, size.a), b = size_value(in->graph, size.b);
    switch (size.kind) {
    case SIZE_ADD: return known[1] && size_bound_raised(in, size.a, least - b);
    case SIZE_MOST:
        if (known[0] && a < least) return size_bound_raised(in, size.b, least);
        return known[1] && b < least && size_bound_raised(in, size.a, least);
    case SIZE_FLOOR_DIV:
        return known[1] && b > 0 && b < INT32_MAX && least > 0 && least < INT32_MAX &&
               size_bound_raised(in, size.a, least * b);
    case SIZE_MUL:
        if (known[0] && a > 0 && least > 0)
            return size_bound_raised(in, size.b, (least - 1) / a + 1);
        return least == 1 && size_lower(in->graph, size.a, &a) && a >= 0 &&
               size_lower(in->graph, size.b, &b) && b >= 0 && size_bound_raised(in, size.a, 1) &&
               size_bound_raised(in, size.b, 1);
    default: return false;
    }
}

/* Is the same guarded already? */
static bool
is_guarded(const Interp *in, const SizeCode *code, bool zero)
{
    for (int i = 0; i < in->out->guards.len; i++) {
        const Guard *guard = &in->out->guards.at[i];
        bool same = guard->kind == GUARD_SIZES && guard->low == zero &&
                    guard->nsizes == code->terms.len && guard->ngroup == code->arrays.len;
        for (int k = 0; same && k < code->arrays.len; k++)
            same = guard->group[k] == code->arrays.at[k];
        for (int k = 0; same && k < code->terms.len; k++) {
            const SizeTerm *a = &guard->sizes[k], *b = &code->terms.at[k];
            same = a->kind == b->kind && a->value == b->value && a->axis == b->axis;
        }
        if (same) return true;
    }
    return false;
}

Answer
size_guard(Interp *in, SizeId size, bool zero)
{
    SizeCode code = {.waiting = 0};
    if ((size = size_now(in->graph, size)) == NO_SIZE) return ANSWER_ERROR;
    int64_t hint = size_value(in->graph, size);
    if (zero ? hint != 0 : hint < 0) return ANSWER_NO;
    if (zero && is_declared_zero(in, size)) return ANSWER_YES;
    if (!in->memory.numpys) TRY(dims_allow(in, size, size, zero));
    if (!zero && size_bound_raised(in, size, 0)) return ANSWER_YES;
    if (PyErr_Occurred()) return ANSWER_ERROR;
    TRY(put_size(in, size, &code));
    if (code.arrays.len == 0) return ANSWER_NO;
    if (is_guarded(in, &code, zero)) return ANSWER_YES;
    Guard guard = {.kind = GUARD_SIZES,
                   .source = code.arrays.at[0],
                   .other = NO_SOURCE,
                   .low = zero,
                   .ngroup = code.arrays.len,
                   .group = code.arrays.at,
                   .nsizes = code.terms.len,
                   .sizes = code.terms.at};
    return guard_add(in, &guard) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

int
symbols_guard_same(Interp *in, const Symbol *symbol, const Symbol *with)
{
    Guard guard = {.kind = GUARD_SAME_SIZE,
                   .source = symbol->array,
                   .other = with->array,
                   .low = symbol->axis,
                   .high = with->axis};
    SizeTerm terms[] = {{SIZE_DIM, 0, symbol->axis},
                        {SIZE_CONST, -1, 0},
                        {SIZE_DIM, 1, with->axis},
                        {SIZE_MUL, 0, 0},
                        {SIZE_ADD, 0, 0}};
    SourceId sources[] = {symbol->array, with->array};
    if (symbol->axis != OF_INT && with->axis != OF_INT) return guard_add(in, &guard) < 0 ? -1 : 0;
    guard = (Guard){.kind = GUARD_SIZES,
                    .source = symbol->array,
                    .other = NO_SOURCE,
                    .low = 1,
                    .ngroup = COUNT_OF(sources),
                    .group = arena_copy(in->arena, sources, sizeof sources),
                    .nsizes = COUNT_OF(terms),
                    .sizes = arena_copy(in->arena, terms, sizeof terms)};
    if (guard.group == NULL || guard.sizes == NULL) return -1;
    return guard_add(in, &guard) < 0 ? -1 : 0;
}
