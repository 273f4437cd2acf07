/* Two loops, one being all that is in the other, change places where the inner one then walks rows:

     for j: for k: c[i, j] += a[i, k] * b[k, j]        for j: for i: a[i, j] += 0.5 * a[i - 1, j]

   Of arrays that are written, all elements are at one place of the outer loop's variable: what one
   of its iterations writes no other one touches, so each element goes through the same operations
   in the same order.  That holds for elements that do not overlap in memory, which the quick
   variant checks; the careful one keeps the program's order (`with`). */
#include "region.h"

typedef struct {
    const Kernel *kernel;
    RegionLoop *region;
    RegionFor *outer, *inner;
} Pair;

/* The index is the variable, plus or minus a constant that comes second. */
static bool
is_variable(const Kernel *k, int32_t at, int32_t variable, int64_t *offset)
{
    const Instr *v = &k->instrs.at[at];
    *offset = 0;
    if (at == variable) return true;
    if (v->kind != INSTR_OP || (v->op != OP_py_add && v->op != OP_py_sub) || v->args[0] != variable)
        return false;
    const Instr *by = &k->instrs.at[v->args[1]];
    if (by->kind != INSTR_CONST || by->dtype != DT_I64) return false;
    memcpy(offset, by->bits, sizeof *offset);
    if (v->op == OP_py_sub) *offset = -(uint64_t)*offset;
    return true;
}

/* Does the element walk its array along the row, or stay, as the outer variable goes on?  `walks`:
   which; `across`: as the inner one goes on it goes from row to row. */
static bool
fits(const Pair *p, const RegionElement *e, bool *walks, int64_t *offset, bool *across)
{
    const RegionArray *array = &p->region->arrays.at[e->array];
    int last = array->rank - 1;
    for (int axis = 0; axis < last; axis++) {
        if (region_depends(p->kernel, p->region, e->index[axis], p->outer->index)) return false;
        *across = *across || region_depends(p->kernel, p->region, e->index[axis], p->inner->index);
    }
    *walks = region_depends(p->kernel, p->region, e->index[last], p->outer->index);
    return !*walks ||
           (array->unit && is_variable(p->kernel, e->index[last], p->outer->index, offset));
}

/* Does a product read elements that other iterations may store? */
static bool
product_reads_stored(const Pair *p, const RegionDot *dot)
{
    return p->region->arrays.at[dot->array[0]].stored || p->region->arrays.at[dot->array[1]].stored;
}

/* The elements of the inner loop's body, which has neither branches nor loops. */
static bool
elements_fit(const Pair *p)
{
    bool across = false, stores = false;
    int64_t at[LOG_ARRAYS + 1];
    int32_t seen[LOG_ARRAYS + 1];
    int nseen = 0;
    for (int i = 0; i < p->inner->body.len; i++) {
        int32_t instr = p->inner->body.at[i].instr;
        if (instr < 0) return false;
        const Instr *v = &p->kernel->instrs.at[instr];
        if (v->kind == INSTR_LIST || v->kind == INSTR_DRAW) return false;
        if (v->kind == INSTR_DOT && product_reads_stored(p, &p->region->dots.at[v->operand]))
            return false;
        if (v->kind != INSTR_LOAD && v->kind != INSTR_STORE) continue;
        const RegionElement *e = &p->region->elements.at[v->operand];
        int64_t offset = 0;
        bool walks;
        int k = 0;
        if (!fits(p, e, &walks, &offset, &across)) return false;
        if (!p->region->arrays.at[e->array].stored) continue;
        stores = stores || v->kind == INSTR_STORE;
        if (!walks) return false;
        while (k < nseen && seen[k] != e->array) k++;
        if (k == nseen) {
            seen[nseen] = e->array;
            at[nseen++] = offset;
        } else if (at[k] != offset)
            return false;
    }
    return across && stores;
}

/* Turns that are known to be few are no row. */
static bool
is_short(const Kernel *k, const RegionFor *loop)
{
    enum { FEW = 16 };
    const Instr *start = &k->instrs.at[loop->start], *stop = &k->instrs.at[loop->stop];
    if (start->kind != INSTR_CONST || stop->kind != INSTR_CONST) return false;
    return (int64_t)(stop->bits[0] - start->bits[0]) < FEW &&
           (int64_t)(start->bits[0] - stop->bits[0]) < FEW;
}

static bool
is_pair(const Pair *p)
{
    int32_t index = p->outer->index;
    return p->outer->leaves < 0 && p->inner->leaves < 0 && p->inner->folds == OP_input &&
           p->outer->carried.len == 0 && p->inner->carried.len == 0 && p->inner->start != index &&
           p->inner->stop != index && p->inner->step != index && !is_short(p->kernel, p->outer) &&
           elements_fit(p);
}

static void
change_places(RegionFor *a, RegionFor *b)
{
    RegionFor old = *a;
    a->start = b->start, a->stop = b->stop, a->step = b->step, a->index = b->index;
    b->start = old.start, b->stop = old.stop, b->step = old.step, b->index = old.index;
    a->body.at[0].instr = a->index;
    b->body.at[0].instr = b->index;
    a->with = b;
    b->with = a;
}

static void
order_block(const Kernel *k, RegionLoop *r, const RegionBlock *block)
{
    for (int i = 0; i < block->len; i++) {
        const RegionIf *branch = block->at[i].branch;
        if (block->at[i].loop != NULL) region_order(k, r, block->at[i].loop);
        for (int arm = 0; branch != NULL && arm < 2; arm++) order_block(k, r, &branch->arm[arm]);
    }
}

void
region_order(const Kernel *k, RegionLoop *r, RegionFor *loop)
{
    const RegionBlock *body = &loop->body;
    bool begins = body->len == 2 && body->at[0].instr == loop->index && body->at[1].loop != NULL;
    Pair p = {k, r, loop, begins ? body->at[1].loop : NULL};
    if (begins && p.inner->body.at[0].instr == p.inner->index && is_pair(&p))
        change_places(p.outer, p.inner);
    else
        order_block(k, r, body);
}
