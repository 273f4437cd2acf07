/* Iterations of an outer loop that are done together, some at a time:

     for i: s = 0.0; for j: s += a[i, j]; out[i] = s

   Each addition waits for the one before, and those of another row wait for nothing here.  So the
   body is there once more with some iterations in it, statement by statement, the loops inside
   being one loop for all of them (`lanes`); what is left over goes through the body itself.

   It is done where iterations touch different elements, carry nothing and have loops of the same
   ranges, one of which carries a float.  The careful variant keeps the program's order. */
#include "region.h"

/* Eight additions are under way at a time; where there is more than a sum, four rows are as fast.
 */
enum { MOST_LANES = 8, FEW_LANES = 4, FEW_STATEMENTS = 16, MOST_STATEMENTS = 40 };

/* ---- which loops ---- */

typedef struct {
    const Kernel *kernel;
    const RegionLoop *region;
    const RegionFor *loop;
    int statements;
    bool waits; /* an inner loop carries a float from iteration to iteration */
} Question;

/* Is the int the same in all iterations of the loop? */
static bool
is_fixed(const Question *q, int32_t at, int depth)
{
    enum { DEEPEST = 4 };
    const Instr *v = &q->kernel->instrs.at[at];
    if (!region_within(q->region, q->loop, at) || v->kind == INSTR_CONST) return true;
    if (v->kind != INSTR_OP || depth == DEEPEST) return false;
    for (int k = 0; k < v->nargs; k++)
        if (!is_fixed(q, v->args[k], depth + 1)) return false;
    return true;
}

static bool block_fits(Question *q, const RegionBlock *block, bool in_arm);

static bool
inner_fits(Question *q, const RegionFor *loop)
{
    if (loop->leaves >= 0 || loop->endless || loop->with != NULL || loop->together > 0 ||
        loop->folds != OP_input)
        return false;
    if (!is_fixed(q, loop->start, 0) || !is_fixed(q, loop->stop, 0) || !is_fixed(q, loop->step, 0))
        return false;
    for (int i = 0; loop->innermost && i < loop->carried.len; i++)
        q->waits |= dtype_is_float(q->region->variables.at[loop->carried.at[i].variable].dtype);
    return block_fits(q, &loop->body, false);
}

static bool
block_fits(Question *q, const RegionBlock *block, bool in_arm)
{
    for (int i = 0; i < block->len; i++) {
        const RegionStmt *stmt = &block->at[i];
        q->statements += stmt->instr >= 0;
        InstrKind kind = stmt->instr >= 0 ? q->kernel->instrs.at[stmt->instr].kind : INSTR_OP;
        if (kind == INSTR_DOT || kind == INSTR_CALL)
            return false; /* takes longer than a sum waits */
        if (stmt->loop != NULL && (in_arm || !inner_fits(q, stmt->loop))) return false;
        for (int arm = 0; stmt->branch != NULL && arm < 2; arm++)
            if (!block_fits(q, &stmt->branch->arm[arm], true)) return false;
    }
    return true;
}

/* Do the two never meet, unless in one iteration? */
static bool
are_apart(const Question *q, const RegionElement *a, const RegionElement *b)
{
    for (int axis = 0; axis < q->region->arrays.at[a->array].rank; axis++)
        if (region_apart(q->kernel, q->region, q->loop, a->index[axis], b->index[axis]))
            return true;
    return false;
}

static bool
iterations_are_apart(const Question *q)
{
    const RegionLoop *r = q->region;
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *store = &r->elements.at[i];
        if (!region_is_store(q->kernel, store) || !region_within(q->region, q->loop, store->instr))
            continue;
        for (int k = 0; k < r->elements.len; k++) {
            const RegionElement *other = &r->elements.at[k];
            if (other->array == store->array && region_within(q->region, q->loop, other->instr) &&
                !are_apart(q, store, other))
                return false;
        }
    }
    return true;
}

/* How many iterations are done together; 0: one after the other. */
static int32_t
count_lanes(const Kernel *k, const RegionLoop *r, const RegionFor *loop)
{
    Question q = {.kernel = k, .region = r, .loop = loop};
    bool plain = !loop->innermost && !loop->endless && loop->leaves < 0 && loop->with == NULL &&
                 loop->carried.len == 0 && (loop->by == 1 || loop->by == -1);
    if (!plain || !block_fits(&q, &loop->body, false) || !q.waits || !iterations_are_apart(&q))
        return 0;
    return q.statements <= FEW_STATEMENTS    ? MOST_LANES
           : q.statements <= MOST_STATEMENTS ? FEW_LANES
                                             : 0;
}

/* ---- copies ---- */

/* Of what is in the loop; `at` and `variable` say for each lane which one an instruction or a
   variable has become, -1: it is the same in all. */
typedef struct {
    Arena *arena;
    Kernel *kernel;
    RegionLoop *region;
    const RegionFor *loop;
    int lanes;
    int32_t *at[MOST_LANES], *variable[MOST_LANES];
    RegionBlock *block;
} Copy;

static int32_t
copy_of(const Copy *c, int32_t at, int lane)
{
    return c->at[lane][at] < 0 ? at : c->at[lane][at];
}

static int32_t
variable_of(const Copy *c, int32_t variable, int lane)
{
    return c->variable[lane][variable] < 0 ? variable : c->variable[lane][variable];
}

static int
new_variable(Copy *c, int32_t variable, int lane)
{
    RegionVariable same = {.dtype = c->region->variables.at[variable].dtype, .operand = -1};
    c->variable[lane][variable] = c->region->variables.len;
    return VEC_PUSH(c->arena, &c->region->variables, same);
}

static int
copy_instr(Copy *c, int32_t at, int lane)
{
    Instr v = c->kernel->instrs.at[at];
    RegionStmt stmt = {.instr = c->kernel->instrs.len};
    if (v.nargs > 0) {
        v.args = arena_copy(c->arena, v.args, sizeof(int32_t) * (size_t)v.nargs);
        if (v.args == NULL) return -1;
    }
    for (int k = 0; k < v.nargs; k++) v.args[k] = copy_of(c, v.args[k], lane);
    if (v.kind == INSTR_INDEX) v.operand = lane;
    if (v.kind == INSTR_CARRIED) v.operand = variable_of(c, v.operand, lane);
    if (v.kind == INSTR_LOAD || v.kind == INSTR_STORE) {
        RegionElement e = c->region->elements.at[v.operand];
        for (int k = 0; k < c->region->arrays.at[e.array].rank; k++)
            e.index[k] = copy_of(c, e.index[k], lane);
        e.instr = stmt.instr;
        v.operand = c->region->elements.len;
        if (VEC_PUSH(c->arena, &c->region->elements, e) < 0) return -1;
    }
    c->at[lane][at] = stmt.instr;
    if (VEC_PUSH(c->arena, &c->kernel->instrs, v) < 0) return -1;
    return VEC_PUSH(c->arena, c->block, stmt);
}

static int copy_block(Copy *c, const RegionBlock *block, int first, int end);

/* One loop for all lanes. */
static int
copy_loop(Copy *c, const RegionFor *loop)
{
    RegionFor *made = arena_alloc(c->arena, sizeof(RegionFor));
    RegionBlock *block = c->block;
    RegionStmt stmt = {.instr = -1, .loop = made};
    if (made == NULL || VEC_PUSH(c->arena, block, stmt) < 0) return -1;
    *made = (RegionFor){.number = c->region->nloops++,
                        .leaves = -1,
                        .bits = -1,
                        .start = copy_of(c, loop->start, 0),
                        .stop = copy_of(c, loop->stop, 0),
                        .step = copy_of(c, loop->step, 0)};
    for (int i = 0; i < loop->carried.len; i++)
        for (int lane = 0; lane < c->lanes; lane++) {
            RegionCarried carried = {.first = copy_of(c, loop->carried.at[i].first, lane)};
            if (new_variable(c, loop->carried.at[i].variable, lane) < 0) return -1;
            carried.variable = variable_of(c, loop->carried.at[i].variable, lane);
            if (VEC_PUSH(c->arena, &made->carried, carried) < 0) return -1;
        }
    c->block = &made->body;
    if (copy_block(c, &loop->body, 0, c->lanes) < 0) return -1;
    c->block = block;
    made->index = copy_of(c, loop->index, 0);
    for (int i = 0; i < made->carried.len; i++)
        made->carried.at[i].next = copy_of(c, loop->carried.at[i / c->lanes].next, i % c->lanes);
    return 0;
}

static int
copy_branch(Copy *c, const RegionIf *branch, int lane)
{
    RegionIf *made = arena_alloc(c->arena, sizeof(RegionIf));
    RegionBlock *block = c->block;
    RegionStmt stmt = {.instr = -1, .branch = made};
    if (made == NULL || VEC_PUSH(c->arena, block, stmt) < 0) return -1;
    *made = (RegionIf){.condition = copy_of(c, branch->condition, lane)};
    for (int arm = 0; arm < 2; arm++) {
        c->block = &made->arm[arm];
        if (copy_block(c, &branch->arm[arm], lane, lane + 1) < 0) return -1;
    }
    c->block = block;
    for (int i = 0; i < branch->merged.len; i++) {
        const RegionMerged *old = &branch->merged.at[i];
        if (new_variable(c, old->variable, lane) < 0) return -1;
        RegionMerged merged = {
            .variable = variable_of(c, old->variable, lane),
            .arm = {copy_of(c, old->arm[0], lane), copy_of(c, old->arm[1], lane)}};
        if (VEC_PUSH(c->arena, &made->merged, merged) < 0) return -1;
    }
    return 0;
}

/* An instruction for all lanes: a number, and the index of a loop inside. */
static bool
is_shared(const Copy *c, int32_t at)
{
    const Instr *v = &c->kernel->instrs.at[at];
    return v->kind == INSTR_CONST || (v->kind == INSTR_INDEX && at != c->loop->index);
}

static int
copy_block(Copy *c, const RegionBlock *block, int first, int end)
{
    for (int i = 0; i < block->len; i++) {
        const RegionStmt *stmt = &block->at[i];
        if (stmt->loop != NULL && copy_loop(c, stmt->loop) < 0) return -1;
        bool shared = stmt->instr >= 0 && is_shared(c, stmt->instr);
        for (int lane = first; lane < end; lane++) {
            if (stmt->branch != NULL && copy_branch(c, stmt->branch, lane) < 0) return -1;
            if (stmt->instr < 0) continue;
            if (shared && lane > first)
                c->at[lane][stmt->instr] = c->at[first][stmt->instr];
            else if (copy_instr(c, stmt->instr, lane) < 0)
                return -1;
        }
    }
    return 0;
}

static int
make_lanes(Arena *arena, Kernel *k, RegionLoop *r, RegionFor *loop)
{
    Copy c = {.arena = arena,
              .kernel = k,
              .region = r,
              .loop = loop,
              .lanes = loop->together,
              .block = &loop->lanes};
    size_t ninstrs = sizeof(int32_t) * (size_t)k->instrs.len,
           nvariables = sizeof(int32_t) * (size_t)(r->variables.len + 1);
    for (int lane = 0; lane < c.lanes; lane++) {
        c.at[lane] = arena_alloc(arena, ninstrs);
        c.variable[lane] = arena_alloc(arena, nvariables);
        if (c.at[lane] == NULL || c.variable[lane] == NULL) return -1;
        memset(c.at[lane], 0xff, ninstrs);
        memset(c.variable[lane], 0xff, nvariables);
    }
    return copy_block(&c, &loop->body, 0, c.lanes);
}

int
region_lanes(Arena *arena, Kernel *k, RegionLoop *r, bool *any)
{
    int nloops = r->nloops;
    *any = false;
    for (int number = nloops - 1; number >= 0; number--) /* inner ones first */
        r->loop[number]->together = count_lanes(k, r, r->loop[number]);
    for (int number = 0; number < nloops; number++) {
        if (r->loop[number]->together == 0) continue;
        *any = true;
        if (make_lanes(arena, k, r, r->loop[number]) < 0) return -1;
    }
    return 0;
}
