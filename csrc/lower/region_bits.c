/* Loops that count the bits of an int, and do no more:

     while v: v &= v - 1; n += 1

   Where the int is not negative the quick variant knows without the loop what it leaves: v is 0,
   and what moves by a constant has moved by as many as there are bits.  So the loop around it is an
   innermost one. */
#include "region.h"

typedef struct {
    const Kernel *kernel;
    RegionFor *loop;
    const RegionIf *branch;
} Match;

static const Instr *
instr_of(const Match *m, int32_t at)
{
    return &m->kernel->instrs.at[at];
}

static bool
is_number(const Match *m, int32_t at, int64_t wanted)
{
    int64_t number;
    return region_constant(m->kernel, at, &number) && number == wanted;
}

/* The variable's value at the beginning of an iteration. */
static bool
reads(const Match *m, int32_t at, int32_t variable)
{
    const Instr *v = instr_of(m, at);
    return v->kind == INSTR_CARRIED && v->operand == variable;
}

/* `by` is added to what the iteration began with, or taken from it. */
static bool
moves(const Match *m, int32_t at, int32_t variable, int64_t *by)
{
    const Instr *v = instr_of(m, at);
    bool sum = v->kind == INSTR_OP && (v->op == OP_py_add || v->op == OP_add);
    bool difference = v->kind == INSTR_OP && (v->op == OP_py_sub || v->op == OP_subtract);
    if (!sum && !difference) return false;
    int first = sum && reads(m, v->args[1], variable);
    if (v->dtype != DT_I64 || !reads(m, v->args[first], variable) ||
        !region_constant(m->kernel, v->args[1 - first], by))
        return false;
    if (difference) *by = -(uint64_t)*by;
    return *by > -REGION_STEP && *by < REGION_STEP;
}

/* v & (v - 1) */
static bool
loses_a_bit(const Match *m, int32_t at, int32_t variable)
{
    const Instr *v = instr_of(m, at);
    int64_t by;
    if (v->kind != INSTR_OP || v->op != OP_bitwise_and || v->dtype != DT_I64) return false;
    int first = reads(m, v->args[1], variable);
    return reads(m, v->args[first], variable) && moves(m, v->args[1 - first], variable, &by) &&
           by == -1;
}

/* v, or v != 0 */
static bool
asks_for_bits(const Match *m, int32_t condition, int32_t variable)
{
    const Instr *v = instr_of(m, condition);
    while (v->kind == INSTR_OP && v->op == OP_py_bool && !reads(m, v->args[0], variable))
        v = instr_of(m, v->args[0]);
    if (v->kind != INSTR_OP) return false;
    if (v->op == OP_py_bool) return true;
    return (v->op == OP_py_ne || v->op == OP_not_equal) &&
           ((reads(m, v->args[0], variable) && is_number(m, v->args[1], 0)) ||
            (reads(m, v->args[1], variable) && is_number(m, v->args[0], 0)));
}

/* What the branch leaves in the variable that is carried; NULL: nothing. */
static const RegionMerged *
merged_of(const Match *m, const RegionCarried *c)
{
    const Instr *next = instr_of(m, c->next);
    for (int i = 0; next->kind == INSTR_CARRIED && i < m->branch->merged.len; i++)
        if (m->branch->merged.at[i].variable == next->operand) return &m->branch->merged.at[i];
    return NULL;
}

/* Nothing is lost with the instruction but its value: it can neither fail nor warn. */
static bool
is_silent(const Match *m, int32_t at)
{
    const Instr *v = instr_of(m, at);
    int64_t by;
    if (v->kind != INSTR_OP)
        return v->kind == INSTR_CONST || v->kind == INSTR_CARRIED || v->kind == INSTR_INDEX;
    switch (v->op) {
    case OP_py_bool:
    case OP_py_ne:
    case OP_not_equal:
    case OP_bitwise_and: return v->from == DT_I64 || v->from == DT_BOOL;
    default: break;
    }
    for (int i = 0; i < m->loop->carried.len; i++)
        if (moves(m, at, m->loop->carried.at[i].variable, &by)) return true;
    return false;
}

static bool
is_all_silent(const Match *m, const RegionBlock *block)
{
    for (int i = 0; i < block->len; i++)
        if (block->at[i].instr < 0 || !is_silent(m, block->at[i].instr)) return false;
    return true;
}

/* The loop's only branch; everything else in it computes what is known beforehand. */
static bool
find_branch(Match *m)
{
    RegionBlock rest = {0};
    for (int i = 0; i < m->loop->body.len; i++) {
        const RegionStmt *stmt = &m->loop->body.at[i];
        rest = (RegionBlock){.at = m->loop->body.at + i, .len = 1};
        if (stmt->branch != NULL && m->branch == NULL)
            m->branch = stmt->branch;
        else if (!is_all_silent(m, &rest))
            return false;
    }
    return m->branch != NULL && is_all_silent(m, &m->branch->arm[0]) &&
           is_all_silent(m, &m->branch->arm[1]);
}

static bool
counts_bits_of(const Match *m, int32_t variable)
{
    if (!asks_for_bits(m, m->branch->condition, variable)) return false;
    for (int i = 0; i < m->loop->carried.len; i++) {
        RegionCarried *c = &m->loop->carried.at[i];
        const RegionMerged *left = merged_of(m, c);
        if (left == NULL) return false;
        c->each = 0;
        if (c->variable == m->loop->leaves) {
            if (!is_number(m, left->arm[0], 0) || !is_number(m, left->arm[1], 1)) return false;
        } else if (!reads(m, left->arm[1], c->variable))
            return false;
        else if (c->variable == variable ? !loses_a_bit(m, left->arm[0], variable)
                                         : !moves(m, left->arm[0], c->variable, &c->each))
            return false;
    }
    return true;
}

static void
find_in_loop(const Kernel *k, RegionFor *loop)
{
    Match m = {.kernel = k, .loop = loop};
    loop->bits = -1;
    if (!loop->endless || !find_branch(&m)) return;
    for (int i = 0; i < loop->carried.len && loop->bits < 0; i++)
        if (loop->carried.at[i].variable != loop->leaves &&
            counts_bits_of(&m, loop->carried.at[i].variable))
            loop->bits = loop->carried.at[i].variable;
}

static void
find_in_block(const Kernel *k, const RegionBlock *block)
{
    for (int i = 0; i < block->len; i++) {
        const RegionIf *branch = block->at[i].branch;
        if (block->at[i].loop != NULL) region_bits(k, block->at[i].loop);
        for (int arm = 0; branch != NULL && arm < 2; arm++) find_in_block(k, &branch->arm[arm]);
    }
}

void
region_bits(const Kernel *k, RegionFor *loop)
{
    find_in_loop(k, loop);
    find_in_block(k, &loop->body);
}
