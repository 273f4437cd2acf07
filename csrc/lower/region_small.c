/* Sums of ints that cannot overflow since the numbers that they are made of are small.

   In a loop whose overflows are looked at behind it (codegen/region_number.c, region_notes) each
   sum costs two to four operations more than the sum.  A sum of a few elements needs none if the
   elements are far from the ends of int64, and to see that takes two operations for each element;
   one that an iteration before has read needs not be looked at again (a[i - 1, j - 1] behind a[i -
   1, j + 1]). So in a loop where that is less, the elements are looked at instead of the sums.

   A width w stands for the numbers from -2**w to 2**w - 1. */
#include "region.h"

enum {
    WIDEST = 63,
    NARROWEST = 40, /* what elements are taken to be at least */
    UNKNOWN = 64,
    MOST_EARLY = 4, /* elements before the first that are looked at before the loop */
    OF_A_SUM = 3,   /* operations, about, that looking at a sum takes … */
    OF_A_NUMBER = 2 /* … and at an element */
};

typedef struct {
    const Kernel *kernel;
    RegionLoop *region;
    RegionFor *loop;
    int of_elements; /* their width */
    uint8_t *width;  /* per instruction */
    uint8_t *used;   /* per instruction: a sum is made of it that is small for that */
} Scope;

static const Instr *
instr_of(const Scope *s, int32_t at)
{
    return &s->kernel->instrs.at[at];
}

static bool
is_here(const Scope *s, int32_t at)
{
    return s->region->home[at] == s->loop->number;
}

static int
wider(int a, int b)
{
    return a > b ? a : b;
}

static int
width_of_constant(int64_t number)
{
    uint64_t bits = number < 0 ? ~(uint64_t)number : (uint64_t)number;
    return bits == 0 ? 0 : 64 - __builtin_clzll(bits);
}

static int
width_of_dtype(DType dtype)
{
    int bits = 8 * (int)dtype_size(dtype);
    if (dtype == DT_BOOL) return 1;
    return dtype_is_float(dtype) || dtype_is_complex(dtype) ? UNKNOWN
           : dtype_is_signed(dtype)                         ? bits - 1
                                                            : bits;
}

/* ---- widths ---- */

/* An element that is read from memory as it was before the loop. */
static bool
is_leaf(const Scope *s, const RegionElement *e)
{
    for (int i = 0; i < s->region->elements.len; i++) {
        const RegionElement *other = &s->region->elements.at[i];
        if (other->array == e->array && is_here(s, other->instr) &&
            region_is_store(s->kernel, other))
            return false;
    }
    return true;
}

static int
width_of_operation(const Scope *s, const Instr *v)
{
    int first = v->nargs > 0 ? s->width[v->args[0]] : UNKNOWN;
    int second = v->nargs > 1 ? s->width[v->args[1]] : UNKNOWN;
    int64_t number;
    switch (v->op) {
    case OP_cast: return width_of_dtype(v->from);
    case OP_add:
    case OP_subtract:
    case OP_py_add:
    case OP_py_sub: return wider(first, second) + 1;
    case OP_multiply:
    case OP_py_mul: return first + second + 1;
    case OP_negative:
    case OP_py_neg: return first + 1;
    case OP_where: return wider(second, s->width[v->args[2]]);
    case OP_py_int:
    case OP_py_item: return first;
    case OP_bitwise_and:
        for (int k = 0; k < 2; k++)
            if (region_constant(s->kernel, v->args[k], &number) && number >= 0)
                return width_of_constant(number);
        return UNKNOWN;
    case OP_py_mod:
        return region_constant(s->kernel, v->args[1], &number) && number > 0
                   ? width_of_constant(number)
                   : UNKNOWN;
    default: return UNKNOWN;
    }
}

static int
width_of(const Scope *s, int32_t at)
{
    const Instr *v = instr_of(s, at);
    int64_t number;
    if (v->dtype == DT_BOOL) return 1;
    if (v->dtype != DT_I64) return width_of_dtype(v->dtype);
    if (region_constant(s->kernel, at, &number)) return width_of_constant(number);
    if (!is_here(s, at)) return s->of_elements;
    if (v->kind == INSTR_LOAD)
        return is_leaf(s, &s->region->elements.at[v->operand]) ? s->of_elements : UNKNOWN;
    if (v->kind != INSTR_OP) return UNKNOWN;
    int width = width_of_operation(s, v);
    return width > WIDEST ? UNKNOWN : width;
}

/* An operation that is looked at otherwise. */
static bool
is_looked_at(const Scope *s, int32_t at)
{
    const Instr *v = instr_of(s, at);
    if (!is_here(s, at) || v->kind != INSTR_OP || v->dtype != DT_I64 || region_fits(s->region, at))
        return false;
    for (int k = 0; k < v->nargs; k++)
        if (instr_of(s, v->args[k])->dtype != DT_I64) return false;
    return region_is_arithmetic(v->op);
}

/* How many operations need not be looked at. */
static int
find_widths(Scope *s, int of_elements)
{
    int small = 0;
    s->of_elements = of_elements;
    for (int32_t at = 0; at < s->kernel->instrs.len; at++) {
        s->width[at] = (uint8_t)width_of(s, at);
        small += s->width[at] != UNKNOWN && is_looked_at(s, at);
    }
    return small;
}

/* ---- elements ---- */

static void
mark_used(const Scope *s, int32_t at)
{
    const Instr *v = instr_of(s, at);
    int64_t number;
    if (s->used[at] || v->dtype != DT_I64 || region_constant(s->kernel, at, &number)) return;
    s->used[at] = true;
    if (!is_here(s, at) || v->kind != INSTR_OP || v->op == OP_cast || v->op == OP_bitwise_and ||
        v->op == OP_py_mod)
        return;
    for (int k = v->op == OP_where; k < v->nargs; k++) mark_used(s, v->args[k]);
}

/* How many iterations before the other element reads what `e` reads; false: nobody knows. */
static bool
follows(const Scope *s, const RegionElement *e, const RegionElement *other, int64_t *distance)
{
    RegionLinear a, b;
    bool moves = false;
    *distance = 0;
    if (e->array != other->array) return false;
    for (int axis = 0; axis < s->region->arrays.at[e->array].rank; axis++) {
        if (!region_linear(s->kernel, s->region, s->loop, e->index[axis], &a) ||
            !region_linear(s->kernel, s->region, s->loop, other->index[axis], &b) ||
            a.slope != b.slope || a.base != b.base || a.minus != b.minus)
            return false;
        int64_t apart = b.offset - a.offset;
        if (a.slope == 0 ? apart != 0 : a.slope != 1 || moves) return false;
        if (a.slope == 0) continue;
        moves = true;
        *distance = apart * s->loop->by;
    }
    return moves;
}

/* The element is looked at in each iteration, or some of them before the loop.  What it costs. */
static int
look_at_element(const Scope *s, RegionElement *e)
{
    if (e->reuse == REUSE_FIXED) {
        e->looked = LOOKED_ONCE;
        return 0;
    }
    e->looked = LOOKED_EACH;
    if (!e->hoisted || (s->loop->by != 1 && s->loop->by != -1)) return OF_A_NUMBER;
    for (int i = 0; i < s->region->elements.len; i++) {
        RegionElement *other = &s->region->elements.at[i];
        int64_t distance;
        if (other == e || !is_here(s, other->instr) || region_is_store(s->kernel, other) ||
            !s->used[other->instr] || !other->hoisted || other->in_arm ||
            !follows(s, e, other, &distance) || distance < 0 || distance > MOST_EARLY)
            continue;
        if (distance == 0 && other->instr > e->instr) continue; /* the first one */
        if (e->looked == LOOKED_EACH || distance < e->early) e->early = (int32_t)distance;
        e->looked = LOOKED_EARLY;
    }
    return e->looked == LOOKED_EARLY ? 0 : OF_A_NUMBER;
}

static int
look_at_elements(const Scope *s)
{
    int cost = 0;
    for (int i = 0; i < s->region->elements.len; i++) {
        RegionElement *e = &s->region->elements.at[i];
        if (is_here(s, e->instr) && !region_is_store(s->kernel, e) && s->used[e->instr])
            cost += look_at_element(s, e);
    }
    return cost;
}

static void
look_at_none(const Scope *s)
{
    for (int i = 0; i < s->region->elements.len; i++) {
        RegionElement *e = &s->region->elements.at[i];
        if (is_here(s, e->instr)) e->looked = LOOKED_NOT;
    }
}

/* What is from outside of the loop is looked at before it. */
static int
note_outside(Arena *arena, const Scope *s)
{
    for (int32_t at = 0; at < s->kernel->instrs.len; at++)
        if (s->used[at] && !is_here(s, at) && VEC_PUSH(arena, &s->loop->looked, at) < 0) return -1;
    return 0;
}

static int
find_in_loop(Arena *arena, Scope *s)
{
    int ninstrs = s->kernel->instrs.len, small = find_widths(s, NARROWEST), width = WIDEST - 1;
    if (small == 0) return 0;
    while (width > NARROWEST && find_widths(s, width) < small) width--;
    if (width == NARROWEST) find_widths(s, width);
    memset(s->used, 0, (size_t)ninstrs);
    for (int32_t at = 0; at < ninstrs; at++)
        if (s->width[at] != UNKNOWN && is_looked_at(s, at)) mark_used(s, at);
    if (look_at_elements(s) >= OF_A_SUM * small) {
        look_at_none(s);
        return 0;
    }
    for (int32_t at = 0; at < ninstrs; at++)
        s->region->small[at] |= s->width[at] != UNKNOWN && is_looked_at(s, at);
    s->loop->width = width;
    return note_outside(arena, s);
}

int
region_small(Arena *arena, const Kernel *k, RegionLoop *r)
{
    size_t ninstrs = (size_t)k->instrs.len + 1;
    Scope s = {.kernel = k, .region = r};
    r->small = arena_alloc(arena, ninstrs);
    s.width = arena_alloc(arena, ninstrs);
    s.used = arena_alloc(arena, ninstrs);
    if (r->small == NULL || s.width == NULL || s.used == NULL) return -1;
    for (int i = 0; i < r->elements.len; i++) {
        r->elements.at[i].looked = LOOKED_NOT;
        r->elements.at[i].early = 0;
    }
    for (int number = 0; number < r->nloops; number++) {
        RegionFor *loop = s.loop = r->loop[number];
        loop->width = 0;
        loop->looked.len = 0;
        if (loop->innermost && !loop->endless && loop->leaves < 0 && loop->instead.len == 0 &&
            find_in_loop(arena, &s) < 0)
            return -1;
    }
    return 0;
}
