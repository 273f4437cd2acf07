/* Ints that a loop carries and that cannot overflow, found before the loop is emitted.

   - A counter moves by constants: `k += 1` in some of the arms, `i -= 1; j += 2`.  Its sums and
     differences with constants fit 64 bits if it is far from the ends of int64 where the iterations
     begin, and at each look for a signal, between which there are 2**26 at most
     (codegen/region_head.c).  What an inner loop has made of it is the counter still.
   - An int that shrinks loses at least one bit in each iteration, until it is 0, and that ends the
     loop: `while v: v &= v - 1`, `while n > 0: n //= 2`.  If it is not negative before the loop,
     or that ends it, too, there are at most 63 iterations, so that the loop needs no strips.
   - A number that has just been an index is no larger than an array.

   Values are walked forwards, each once.  What is known of a value is the variable that it is made
   of, and the least and the most that it is away from it. */
#include "region.h"

typedef struct {
    int32_t of; /* the variable, or one of the two below */
    int64_t low, high;
} Away;

typedef struct {
    const Kernel *kernel;
    RegionLoop *out;
    Away *away;         /* per instruction */
    Away *merged;       /* per variable: of one that arms of a branch leave */
    VEC(int32_t) noted; /* instructions that are INDEX in the blocks around */
    Arena *arena;
    RegionFor **loop; /* per variable: the loop that carries it */
    int32_t *root;    /* per variable that counts: the counter as which it begins; itself */
    bool again;
} Walk;

static const Instr *
instr_of(const Walk *w, int32_t at)
{
    return &w->kernel->instrs.at[at];
}

enum { UNKNOWN = -1, INDEX = -2 /* no variable, but a number that has been checked as an index */ };
static const Away NOWHERE = {.of = UNKNOWN};

static RegionCarried *
carried_of(const RegionFor *loop, int32_t variable)
{
    for (int i = 0; i < loop->carried.len; i++)
        if (loop->carried.at[i].variable == variable) return &loop->carried.at[i];
    return NULL;
}

/* ---- how far from a counter ---- */

static Away
either(Away a, Away b)
{
    if (a.of == UNKNOWN || a.of != b.of) return NOWHERE;
    if (b.low < a.low) a.low = b.low;
    if (b.high > a.high) a.high = b.high;
    return a;
}

static Away
moved(Away a, int64_t by)
{
    if (a.of == UNKNOWN || by > REGION_STEP || by < -REGION_STEP) return NOWHERE;
    a.low += by;
    a.high += by;
    return a.low < -REGION_STEP || a.high > REGION_STEP ? NOWHERE : a;
}

static Away
away_of_operation(const Walk *w, const Instr *v)
{
    int64_t by;
    if (v->dtype != DT_I64) return NOWHERE;
    switch (v->op) {
    case OP_py_add:
    case OP_add:
        if (region_constant(w->kernel, v->args[1], &by)) return moved(w->away[v->args[0]], by);
        return region_constant(w->kernel, v->args[0], &by) ? moved(w->away[v->args[1]], by)
                                                           : NOWHERE;
    case OP_py_sub:
    case OP_subtract:
        return region_constant(w->kernel, v->args[1], &by) && by > INT64_MIN
                   ? moved(w->away[v->args[0]], -by)
                   : NOWHERE;
    case OP_py_int:
    case OP_py_item: return w->away[v->args[0]];
    case OP_where: return either(w->away[v->args[1]], w->away[v->args[2]]);
    default: return NOWHERE;
    }
}

static void
walk_instr(const Walk *w, int32_t at)
{
    const Instr *v = instr_of(w, at);
    w->away[at] = NOWHERE;
    if (v->kind == INSTR_OP) w->away[at] = away_of_operation(w, v);
    if (v->kind != INSTR_CARRIED || v->dtype != DT_I64) return;
    const RegionFor *loop = w->loop[v->operand];
    if (loop == NULL)
        w->away[at] = w->merged[v->operand];
    else if (carried_of(loop, v->operand)->counts) /* in the loop or behind it */
        w->away[at] = (Away){.of = w->root[v->operand]};
}

/* Behind the access its indices are known, to the end of the block. */
static int
note_indices(Walk *w, const RegionElement *e)
{
    for (int axis = 0; axis < w->out->arrays.at[e->array].rank; axis++) {
        int32_t at = e->index[axis];
        if (e->checked[axis] >= 0 || w->away[at].of != UNKNOWN) continue;
        w->away[at] = (Away){.of = INDEX};
        if (VEC_PUSH(w->arena, &w->noted, at) < 0) return -1;
    }
    return 0;
}

static int walk_block(Walk *w, const RegionBlock *block);

static int
walk_loop(Walk *w, const RegionFor *loop)
{
    for (int i = 0; i < loop->carried.len; i++) {
        const RegionCarried *c = &loop->carried.at[i];
        int32_t of = c->first < w->out->body ? -1 : w->away[c->first].of;
        w->root[c->variable] = of >= 0 ? of : c->variable;
    }
    if (loop->instead.len > 0) return walk_block(w, &loop->instead);
    return walk_block(w, &loop->lanes) < 0 ? -1 : walk_block(w, &loop->body);
}

static int
walk_block(Walk *w, const RegionBlock *block)
{
    int before = w->noted.len;
    for (int i = 0; i < block->len; i++) {
        const RegionStmt *stmt = &block->at[i];
        if (stmt->instr >= 0) {
            const Instr *v = instr_of(w, stmt->instr);
            bool element = v->kind == INSTR_LOAD || v->kind == INSTR_STORE;
            walk_instr(w, stmt->instr);
            if (element && note_indices(w, &w->out->elements.at[v->operand]) < 0) return -1;
        }
        if (stmt->loop != NULL && walk_loop(w, stmt->loop) < 0) return -1;
        if (stmt->branch == NULL) continue;
        if (walk_block(w, &stmt->branch->arm[0]) < 0 || walk_block(w, &stmt->branch->arm[1]) < 0)
            return -1;
        for (int k = 0; k < stmt->branch->merged.len; k++) {
            const RegionMerged *m = &stmt->branch->merged.at[k];
            w->merged[m->variable] = either(w->away[m->arm[0]], w->away[m->arm[1]]);
        }
    }
    while (w->noted.len > before) w->away[w->noted.at[--w->noted.len]] = NOWHERE;
    return 0;
}

/* Variables that are no counters after all; `again`: there was one. */
static void
drop_others(Walk *w)
{
    w->again = false;
    for (int number = 0; number < w->out->nloops; number++) {
        RegionFor *loop = w->out->loop[number];
        for (int i = 0; i < loop->carried.len; i++) {
            RegionCarried *c = &loop->carried.at[i];
            if (!c->counts || w->away[c->next].of == w->root[c->variable]) continue;
            c->counts = false;
            w->again = true;
        }
    }
}

/* ---- what shrinks ---- */

/* Is it the variable's number with fewer bits, if that is positive? */
static bool
is_shrunk(const Walk *w, int32_t at, int32_t read)
{
    const Instr *v = instr_of(w, at);
    int64_t by;
    if (v->kind != INSTR_OP || v->nargs != 2 || v->dtype != DT_I64) return false;
    if (v->op == OP_py_floordiv || v->op == OP_py_rshift || v->op == OP_right_shift)
        return v->args[0] == read && region_constant(w->kernel, v->args[1], &by) &&
               by >= (v->op == OP_py_floordiv ? 2 : 1) && by <= 63;
    if (v->op != OP_bitwise_and) return false;
    for (int k = 0; k < 2; k++) {
        const Instr *less = instr_of(w, v->args[1 - k]);
        bool difference = less->kind == INSTR_OP && less->dtype == DT_I64 &&
                          (less->op == OP_py_sub || less->op == OP_subtract);
        if (v->args[k] == read && difference && less->args[0] == read &&
            region_constant(w->kernel, less->args[1], &by) && by == 1)
            return true;
    }
    return false;
}

/* Is the condition false where the number is 0?  *below: where it is negative, too. */
static bool
asks_for_more(const Walk *w, int32_t condition, int32_t read, bool *below)
{
    const Instr *v = instr_of(w, condition);
    int64_t zero = 1;
    while (v->kind == INSTR_OP && v->op == OP_py_bool && v->args[0] != read)
        v = instr_of(w, v->args[0]);
    if (v->kind != INSTR_OP) return false;
    *below = v->op == OP_py_lt || v->op == OP_less || v->op == OP_greater;
    switch (v->op) {
    case OP_py_bool: return true;
    case OP_py_ne:
    case OP_not_equal:
        return (v->args[0] == read && region_constant(w->kernel, v->args[1], &zero) && zero == 0) ||
               (v->args[1] == read && region_constant(w->kernel, v->args[0], &zero) && zero == 0);
    case OP_py_lt:
    case OP_less:
        return v->args[1] == read && region_constant(w->kernel, v->args[0], &zero) && zero >= 0;
    case OP_greater:
        return v->args[0] == read && region_constant(w->kernel, v->args[1], &zero) && zero >= 0;
    default: return false;
    }
}

/* The instruction that reads the carried variable at the beginning of the body. */
static int32_t
read_of(const Walk *w, const RegionFor *loop, int32_t variable)
{
    for (int i = 0; i < loop->body.len; i++) {
        int32_t at = loop->body.at[i].instr;
        if (at >= 0 && instr_of(w, at)->kind == INSTR_CARRIED &&
            instr_of(w, at)->operand == variable)
            return at;
    }
    return -1;
}

/* The place of the merged value among those of the branch; -1. */
static int
merged_at(const Walk *w, const RegionIf *branch, int32_t at)
{
    const Instr *v = instr_of(w, at);
    for (int i = 0; v->kind == INSTR_CARRIED && i < branch->merged.len; i++)
        if (branch->merged.at[i].variable == v->operand) return i;
    return -1;
}

/* Does the branch leave the loop where its condition is false, and shrink the variable where not?
 */
static bool
branch_shrinks(const Walk *w, RegionFor *loop, const RegionIf *branch, const RegionCarried *c)
{
    int32_t read = read_of(w, loop, c->variable);
    int shrunk = merged_at(w, branch, c->next);
    int leaves = merged_at(w, branch, carried_of(loop, loop->leaves)->next);
    int64_t exit;
    return read >= 0 && shrunk >= 0 && leaves >= 0 &&
           region_constant(w->kernel, branch->merged.at[leaves].arm[1], &exit) && exit != 0 &&
           asks_for_more(w, branch->condition, read, &loop->ends_below) &&
           is_shrunk(w, branch->merged.at[shrunk].arm[0], read);
}

static void
find_shrinking(const Walk *w, RegionFor *loop)
{
    loop->shrinks = -1;
    if (!loop->innermost || !loop->endless) return;
    for (int i = 0; i < loop->body.len && loop->shrinks < 0; i++)
        for (int k = 0; loop->body.at[i].branch != NULL && k < loop->carried.len; k++)
            if (branch_shrinks(w, loop, loop->body.at[i].branch, &loop->carried.at[k]))
                loop->shrinks = loop->carried.at[k].variable;
}

/* ---- all of it ---- */

/* A number that is far from the lower end of int64, less a constant. */
static bool
is_less_than_shrinking(const Walk *w, const Instr *v)
{
    int64_t by;
    const Instr *from = v->nargs == 2 ? instr_of(w, v->args[0]) : v;
    return (v->op == OP_py_sub || v->op == OP_subtract) && v->dtype == DT_I64 &&
           from->kind == INSTR_CARRIED && w->loop[from->operand] != NULL &&
           w->loop[from->operand]->shrinks == from->operand &&
           w->out->home[v->args[0]] == w->loop[from->operand]->number &&
           region_constant(w->kernel, v->args[1], &by) && by >= 0 && by <= REGION_STEP;
}

/* A counter that nobody adds to needs no check. */
static void
drop_idle(const Walk *w)
{
    for (int number = 0; number < w->out->nloops; number++) {
        RegionFor *loop = w->out->loop[number];
        for (int i = 0; i < loop->carried.len; i++) {
            RegionCarried *c = &loop->carried.at[i];
            bool used = false;
            for (int32_t at = w->out->body; at < w->kernel->instrs.len && !used; at++)
                used = w->out->steady[at] && w->away[at].of == w->root[c->variable];
            c->counts &= used;
            c->continues = c->counts && w->root[c->variable] != c->variable;
        }
    }
}

int
region_carried(Arena *arena, const Kernel *k, RegionLoop *r)
{
    size_t ninstrs = (size_t)k->instrs.len + 1, nvariables = (size_t)r->variables.len + 1;
    Walk w = {.arena = arena, .kernel = k, .out = r, .again = true};
    w.away = arena_alloc(arena, sizeof(Away) * ninstrs);
    w.merged = arena_alloc(arena, sizeof(Away) * nvariables);
    w.loop = arena_alloc(arena, sizeof(RegionFor *) * nvariables);
    w.root = arena_alloc(arena, sizeof(int32_t) * nvariables);
    r->steady = arena_alloc(arena, ninstrs);
    if (w.away == NULL || w.merged == NULL || w.loop == NULL || w.root == NULL || r->steady == NULL)
        return -1;
    for (int32_t i = 0; i < k->instrs.len; i++) w.away[i] = NOWHERE;
    for (int number = 0; number < r->nloops; number++) {
        RegionFor *loop = r->loop[number];
        for (int i = 0; i < loop->carried.len; i++) {
            RegionCarried *c = &loop->carried.at[i];
            w.loop[c->variable] = loop;
            c->counts = r->variables.at[c->variable].dtype == DT_I64;
        }
        find_shrinking(&w, loop);
    }
    while (w.again) {
        if (walk_loop(&w, r->top) < 0) return -1;
        drop_others(&w);
    }
    for (int32_t i = r->body; i < k->instrs.len; i++)
        r->steady[i] = instr_of(&w, i)->kind == INSTR_OP &&
                       (w.away[i].of != UNKNOWN || is_less_than_shrinking(&w, instr_of(&w, i)));
    drop_idle(&w);
    return 0;
}
