/* Elements that need not go through memory in an innermost loop, and loops whose iterations are
   independent: from how far apart, in iterations, two accesses of one array meet.

   - x[j] in a loop over k is read once, before the loop, if no store may touch it;
   - c[i, j] += … in a loop over k is kept in a register: all accesses that may touch it are to it;
   - an element that is also written in a branch is in a register during the iteration, so that the
     branch is a choice between numbers;
   - y[i - 1] is what the iteration before stored into y[i], t[i - 1, j - 1] what it loaded from
     t[i - 1, j].

   The C compiler finds none of these, as it cannot tell t[i - 1, j] from t[i, j].  All of it holds
   for indices that are not negative, which is what the checks before the loop make sure of. */
#include "region.h"

bool
region_is_store(const Kernel *k, const RegionElement *e)
{
    return k->instrs.at[e->instr].kind == INSTR_STORE;
}

static bool
constant_of(const Kernel *k, int32_t at, int64_t *out)
{
    int64_t constant;
    if (!region_constant(k, at, &constant)) return false;
    if (constant <= -(1 << 30) || constant >= 1 << 30) return false;
    *out = constant;
    return true;
}

/* Slopes, offsets and steps beyond this are not reasoned about: products of two fit 64 bits. */
static const int64_t MOST_LINEAR = INT64_C(1) << 30;

static const RegionLinear NO_LINEAR = {.base = -1, .minus = -1};

/* a + b, or a - b where `sign` is -1; false: it has no such form. */
static bool
add_linear(const RegionLinear *a, const RegionLinear *b, int sign, RegionLinear *out)
{
    int32_t plus = sign > 0 ? b->base : b->minus, minus = sign > 0 ? b->minus : b->base;
    if ((a->base >= 0 && plus >= 0) || (a->minus >= 0 && minus >= 0)) return false;
    *out = (RegionLinear){.slope = a->slope + sign * b->slope,
                          .offset = a->offset + sign * b->offset,
                          .base = a->base >= 0 ? a->base : plus,
                          .minus = a->minus >= 0 ? a->minus : minus};
    if (out->base == out->minus) out->base = out->minus = -1;
    return llabs(out->slope) <= MOST_LINEAR && llabs(out->offset) <= MOST_LINEAR;
}

static bool
find_linear(const Kernel *k, const RegionLoop *r, const RegionFor *loop, int32_t at,
            RegionLinear *out)
{
    const Instr *v = &k->instrs.at[at];
    RegionLinear arg[2];
    *out = NO_LINEAR;
    if (at == loop->index) {
        out->slope = 1;
        return true;
    }
    if (constant_of(k, at, &out->offset)) return true;
    if (v->kind == INSTR_INDEX && v->operand > 0) { /* of a lane */
        const RegionFor *of = r->loop[r->home[at]];
        out->base = of->lanes.at[0].instr;
        out->offset = v->operand * of->by;
        return true;
    }
    bool sum = v->kind == INSTR_OP && v->nargs == 2 && (v->op == OP_py_add || v->op == OP_py_sub) &&
               (r->home[at] < 0 || region_bounded(r, at));
    if (!sum || !region_linear(k, r, loop, v->args[0], &arg[0]) ||
        !region_linear(k, r, loop, v->args[1], &arg[1]) ||
        !add_linear(&arg[0], &arg[1], v->op == OP_py_add ? 1 : -1, out)) {
        *out = NO_LINEAR;
        out->base = at;
        return r->home[at] != loop->number;
    }
    return true;
}

bool
region_linear(const Kernel *k, const RegionLoop *r, const RegionFor *loop, int32_t at,
              RegionLinear *out)
{
    RegionAsked *asked = &r->asked[at];
    if (asked->linear_in != loop) {
        asked->is_linear = find_linear(k, r, loop, at, &asked->linear);
        asked->linear_in = loop;
    }
    *out = asked->linear;
    return asked->is_linear;
}

/* ---- how two accesses meet ---- */

typedef enum {
    MEET_NEVER,
    MEET_ALWAYS, /* the same element in all iterations */
    MEET_AT,     /* the element of one in an iteration is the other's `distance` iterations later */
    MEET_UNKNOWN,
} Meeting;

typedef struct {
    const Kernel *kernel;
    const RegionLoop *region;
    const RegionFor *loop;
} Scope;

/* An index; a negative constant counts from the array's end. */
static bool
linear(const Scope *s, int32_t at, RegionLinear *out)
{
    int64_t constant;
    if (constant_of(s->kernel, at, &constant) && constant < 0) return false;
    return region_linear(s->kernel, s->region, s->loop, at, out);
}

static bool
same_base(const RegionLinear *a, const RegionLinear *b)
{
    return a->base == b->base && a->minus == b->minus;
}

/* Is the second index, which is fixed in this loop, outside of the range of the loop's variable
   that the first one is made of?  That is this loop's or an outer one's. */
static bool
outside(const Scope *s, const RegionLinear *a, const RegionLinear *b)
{
    const RegionLoop *r = s->region;
    const RegionFor *of = NULL;
    RegionLinear start, stop;
    if (b->slope != 0 || a->minus >= 0 || b->minus >= 0) return false;
    if (a->slope == 1 && a->base < 0) of = s->loop;
    if (a->slope == 0 && a->base >= 0 && s->kernel->instrs.at[a->base].kind == INSTR_INDEX)
        of = r->loop[r->home[a->base]];
    if (of == NULL || of->by == 0) return false;
    int64_t at = b->offset - a->offset;
    bool up = of->by > 0;
    if (region_linear(s->kernel, r, of, of->start, &start) && same_base(&start, b) &&
        (up ? at < start.offset : at > start.offset))
        return true;
    return region_linear(s->kernel, r, of, of->stop, &stop) && same_base(&stop, b) &&
           (up ? at >= stop.offset : at <= stop.offset);
}

static Meeting
meet_on_axis(const Scope *s, const RegionLinear *a, const RegionLinear *b, int64_t *distance)
{
    if (a->slope != b->slope || !same_base(a, b))
        return outside(s, a, b) || outside(s, b, a) ? MEET_NEVER : MEET_UNKNOWN;
    int64_t apart = a->offset - b->offset;
    if (a->slope == 0) return apart == 0 ? MEET_ALWAYS : MEET_NEVER;
    if (s->loop->by == 0) {
        *distance = 0;
        return apart == 0 ? MEET_AT : MEET_UNKNOWN;
    }
    if (s->loop->by > MOST_LINEAR || s->loop->by < -MOST_LINEAR) return MEET_UNKNOWN;
    if (apart % (a->slope * s->loop->by) != 0) return MEET_NEVER;
    *distance = apart / (a->slope * s->loop->by);
    return MEET_AT;
}

/* The element that `a` accesses is accessed by `b` `distance` iterations later. */
static Meeting
meet(const Scope *s, const RegionElement *a, const RegionElement *b, int64_t *distance)
{
    Meeting all = MEET_ALWAYS;
    bool unknown = false;
    for (int axis = 0; axis < s->region->arrays.at[a->array].rank; axis++) {
        RegionLinear of_a, of_b;
        int64_t here = 0;
        Meeting one = MEET_UNKNOWN;
        if (linear(s, a->index[axis], &of_a) && linear(s, b->index[axis], &of_b))
            one = meet_on_axis(s, &of_a, &of_b, &here);
        if (one == MEET_NEVER) return MEET_NEVER;
        unknown = unknown || one == MEET_UNKNOWN;
        if (one != MEET_AT) continue;
        if (all == MEET_AT && *distance != here) return MEET_NEVER;
        all = MEET_AT;
        *distance = here;
    }
    return unknown ? MEET_UNKNOWN : all;
}

/* Are the numbers that the index has besides the variable the same in all iterations? */
static bool
is_from_outside(const Scope *s, const RegionLinear *form)
{
    return (form->base < 0 || !region_within(s->region, s->loop, form->base)) &&
           (form->minus < 0 || !region_within(s->region, s->loop, form->minus));
}

bool
region_apart(const Kernel *k, const RegionLoop *r, const RegionFor *loop, int32_t a, int32_t b)
{
    Scope s = {.kernel = k, .region = r, .loop = loop};
    RegionLinear of_a, of_b;
    if (!linear(&s, a, &of_a) || !linear(&s, b, &of_b) || !is_from_outside(&s, &of_a) ||
        !is_from_outside(&s, &of_b))
        return false;
    if (of_a.slope != of_b.slope || !same_base(&of_a, &of_b))
        return outside(&s, &of_a, &of_b) || outside(&s, &of_b, &of_a);
    return (of_a.slope == 0) == (of_a.offset != of_b.offset);
}

/* ---- what follows for an element ---- */

static bool
in_loop(const Scope *s, const RegionElement *e)
{
    return s->region->home[e->instr] == s->loop->number;
}

static bool
is_fixed(const Scope *s, const RegionElement *e)
{
    RegionLinear form;
    for (int axis = 0; axis < s->region->arrays.at[e->array].rank; axis++)
        if (!linear(s, e->index[axis], &form) || form.slope != 0) return false;
    return true;
}

static bool
is_hoisted(const Scope *s, const RegionElement *e)
{
    RegionLinear form;
    for (int axis = 0; axis < s->region->arrays.at[e->array].rank; axis++)
        if (e->checked[axis] < 0 || !linear(s, e->index[axis], &form)) return false;
    return true;
}

/* Does a store that meets a load there leave alone what the load reads of the iteration before?  It
   is two or more iterations before, in a later one, or behind the load. */
static bool
is_harmless(const RegionElement *store, const RegionElement *load, int64_t distance)
{
    return distance >= 2 || distance < 0 || (distance == 0 && store->instr > load->instr);
}

/* Is the element apart from all stores of the loop, but `except`?  `before`: see is_harmless. */
static bool
is_apart(const Scope *s, const RegionElement *e, const RegionElement *except, bool before)
{
    for (int i = 0; i < s->region->elements.len; i++) {
        const RegionElement *other = &s->region->elements.at[i];
        int64_t distance = 0;
        if (other == e || other == except || other->array != e->array || !in_loop(s, other) ||
            !region_is_store(s->kernel, other))
            continue;
        Meeting met = meet(s, other, e, &distance);
        bool harmless = before && met == MEET_AT && is_harmless(other, e, distance);
        if (met != MEET_NEVER && !harmless) return false;
    }
    return true;
}

/* Whether each other access to the array is to this very element in all iterations, or never to
   it.  `first`: the first access to the element. */
static bool
can_be_kept(const Scope *s, const RegionElement *e, int32_t *first)
{
    *first = -1;
    for (int i = 0; i < s->region->elements.len; i++) {
        const RegionElement *other = &s->region->elements.at[i];
        int64_t distance = 0;
        if (other->array != e->array || !in_loop(s, other)) continue;
        Meeting met = meet(s, other, e, &distance);
        if (met == MEET_ALWAYS && !other->hoisted) return false;
        if (met != MEET_ALWAYS && met != MEET_NEVER) return false;
        if (met == MEET_ALWAYS && *first < 0) *first = i;
    }
    return true;
}

/* The access whose value of the iteration before the load reads; -1. */
static int32_t
find_before(const Scope *s, const RegionElement *load)
{
    for (int i = 0; i < s->region->elements.len; i++) {
        const RegionElement *from = &s->region->elements.at[i];
        int64_t distance = 0;
        if (from == load || from->array != load->array || !in_loop(s, from) || from->in_arm ||
            !from->hoisted || meet(s, from, load, &distance) != MEET_AT || distance != 1)
            continue;
        bool store = region_is_store(s->kernel, from);
        if (is_apart(s, load, store ? from : NULL, true)) return i;
    }
    return -1;
}

/* ---- elements in a register for one iteration ---- */

/* Are both the same element in each iteration, which exists? */
static bool
is_same(const Scope *s, const RegionElement *a, const RegionElement *b)
{
    int64_t distance = 0;
    return a->array == b->array && in_loop(s, b) && a->hoisted && b->hoisted &&
           meet(s, a, b, &distance) == MEET_AT && distance == 0;
}

/* Does the block write the element in each iteration, whatever arms are taken? */
static bool
is_written_in(const Scope *s, const RegionBlock *block, const RegionElement *e)
{
    for (int i = 0; i < block->len; i++) {
        const RegionIf *branch = block->at[i].branch;
        if (branch != NULL && is_written_in(s, &branch->arm[0], e) &&
            is_written_in(s, &branch->arm[1], e))
            return true;
        if (block->at[i].instr < 0) continue;
        const Instr *v = &s->kernel->instrs.at[block->at[i].instr];
        if (v->kind == INSTR_STORE && is_same(s, e, &s->region->elements.at[v->operand]))
            return true;
    }
    return false;
}

/* Is the element written in a branch, and touched outside of branches or in all arms?  Then no
   iteration is told from another by a store at its end.  All other accesses must be known to be to
   other elements. */
static bool
is_for_a_turn(const Scope *s, const RegionElement *e, int32_t *first)
{
    bool branches = false, always = is_written_in(s, &s->loop->body, e);
    *first = -1;
    for (int i = 0; i < s->region->elements.len; i++) {
        const RegionElement *other = &s->region->elements.at[i];
        int64_t distance = 0;
        if (other->array != e->array || !in_loop(s, other)) continue;
        Meeting met = meet(s, e, other, &distance);
        if (met == MEET_NEVER || (met == MEET_AT && distance != 0)) continue;
        if (!is_same(s, e, other)) return false;
        if (*first < 0) *first = i;
        branches = branches || (other->in_arm && region_is_store(s->kernel, other));
        always = always || !other->in_arm;
    }
    return branches && always;
}

static void
find_reuse(const Scope *s, RegionElement *e)
{
    bool store = region_is_store(s->kernel, e);
    if (!e->hoisted) return;
    if (is_fixed(s, e)) {
        if (!store && is_apart(s, e, NULL, false))
            e->reuse = REUSE_FIXED;
        else if (can_be_kept(s, e, &e->source))
            e->reuse = REUSE_KEPT;
    } else if (is_for_a_turn(s, e, &e->source))
        e->reuse = REUSE_TURN;
    else if (!store && (e->source = find_before(s, e)) >= 0)
        e->reuse = REUSE_BEFORE;
}

static void
find_twin(const Scope *s, RegionElement *e)
{
    e->twin = -1;
    for (int i = 0; &s->region->elements.at[i] != e; i++) {
        const RegionElement *other = &s->region->elements.at[i];
        if (region_is_store(s->kernel, other) && is_same(s, e, other)) {
            e->twin = i;
            return;
        }
    }
}

/* ---- independence ---- */

/* May iterations be done side by side, loads first, as far as the store `e` is concerned? */
static bool
store_is_independent(const Scope *s, const RegionElement *e)
{
    if (!e->hoisted || is_fixed(s, e)) return false;
    for (int i = 0; i < s->region->elements.len; i++) {
        const RegionElement *other = &s->region->elements.at[i];
        int64_t distance = 0;
        if (other == e || other->array != e->array || !in_loop(s, other)) continue;
        Meeting met = meet(s, e, other, &distance);
        if (met == MEET_NEVER || (met == MEET_AT && distance == 0)) continue;
        bool later = met == MEET_AT && distance < 0 && !region_is_store(s->kernel, other) &&
                     other->instr < e->instr;
        if (!later) return false;
    }
    return true;
}

/* A load from an array that the loop does not write, of an element that is known to exist. */
static bool
is_only_read(const Scope *s, const RegionElement *e)
{
    for (int axis = 0; axis < s->region->arrays.at[e->array].rank; axis++)
        if (e->checked[axis] < 0) return false;
    for (int i = 0; i < s->region->elements.len; i++) {
        const RegionElement *other = &s->region->elements.at[i];
        if (other->array == e->array && in_loop(s, other) && region_is_store(s->kernel, other))
            return false;
    }
    return true;
}

static bool
is_independent(const Scope *s)
{
    for (int i = 0; i < s->region->elements.len; i++) {
        const RegionElement *e = &s->region->elements.at[i];
        if (!in_loop(s, e)) continue;
        if ((!e->hoisted && !is_only_read(s, e)) || e->reuse == REUSE_KEPT) return false;
        if (region_is_store(s->kernel, e) && !store_is_independent(s, e)) return false;
    }
    return true;
}

/* Does a body store two elements of one array? */
static bool
stores_several(const Kernel *k, const RegionLoop *r)
{
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *a = &r->elements.at[i];
        for (int j = 0; j < i && region_is_store(k, a); j++) {
            const RegionElement *b = &r->elements.at[j];
            if (region_is_store(k, b) && a->array == b->array &&
                r->home[a->instr] == r->home[b->instr] &&
                memcmp(a->index, b->index, sizeof a->index) != 0)
                return true;
        }
    }
    return false;
}

void
region_reuse(const Kernel *k, RegionLoop *r)
{
    r->side_by_side = stores_several(k, r);
    for (int number = 0; number < r->nloops; number++) {
        Scope s = {.kernel = k, .region = r, .loop = r->loop[number]};
        for (int i = 0; i < r->elements.len; i++)
            if (in_loop(&s, &r->elements.at[i])) r->elements.at[i].twin = -1;
        if (!s.loop->innermost || s.loop->leaves >= 0) continue; /* nobody knows its last turn */
        for (int i = 0; i < r->elements.len; i++)
            if (in_loop(&s, &r->elements.at[i]))
                r->elements.at[i].hoisted = is_hoisted(&s, &r->elements.at[i]);
        for (int i = 0; i < r->elements.len; i++)
            if (in_loop(&s, &r->elements.at[i])) find_reuse(&s, &r->elements.at[i]);
        for (int i = 0; i < r->elements.len; i++)
            if (in_loop(&s, &r->elements.at[i])) find_twin(&s, &r->elements.at[i]);
        if (!(r->loop[number]->independent = is_independent(&s))) continue;
        for (int i = 0; i < r->elements.len; i++) /* it would make an iteration wait for another */
            if (in_loop(&s, &r->elements.at[i]) && r->elements.at[i].reuse == REUSE_BEFORE)
                r->elements.at[i].reuse = REUSE_NONE;
    }
}
