/* Iterations of an outer loop that are done together, some at a time:

     for i: s = 0.0; for j: s += a[i, j]; out[i] = s

   Each addition waits for the one before, and those of another row wait for nothing here.  So the
   body is there once more with some iterations in it, statement by statement, the loops inside
   being one loop for all of them (`lanes`); what is left over goes through the body itself.

   It is done where iterations touch different elements, carry nothing and have loops of the same
   ranges, one of which carries a float.  The careful variant keeps the program's order. */
#include "region_copy.h"

/* Eight additions are under way at a time; where there is more than a sum, four rows are as fast.
 */
enum { FEW_LANES = 4, FEW_STATEMENTS = 16, MOST_STATEMENTS = 40 };

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
        if (kind == INSTR_LIST || kind == INSTR_DRAW) return false; /* one after the other */
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

static int
make_lanes(Arena *arena, Kernel *k, RegionLoop *r, RegionFor *loop)
{
    RegionCopy c = {.arena = arena,
                    .kernel = k,
                    .region = r,
                    .loop = loop,
                    .lanes = loop->together,
                    .block = &loop->lanes};
    return region_copy_begin(&c) < 0 ? -1 : region_copy_block(&c, &loop->body, 0, c.lanes);
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
