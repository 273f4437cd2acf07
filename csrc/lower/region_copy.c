/* Statements of a kept loop once more, for the quick variant: some iterations side by side
   (region_lanes.c), or the loop with some of its conditions known (region_split.c).

   A branch whose condition is known is the arm that is taken, and what it leaves are the numbers of
   that arm; likewise a choice between two numbers. */
#include "region_copy.h"

static int32_t
variable_of(const RegionCopy *c, int32_t variable, int lane)
{
    return variable < 0 || c->variable[lane][variable] < 0 ? variable : c->variable[lane][variable];
}

static int
new_variable(RegionCopy *c, int32_t variable, int lane)
{
    RegionVariable same = {.dtype = c->region->variables.at[variable].dtype, .operand = -1};
    c->variable[lane][variable] = c->region->variables.len;
    return VEC_PUSH(c->arena, &c->region->variables, same);
}

/* ---- what is known ---- */

static Known
known(const RegionCopy *c, int32_t at)
{
    return c->known == NULL ? KNOWN_NOT : (Known)c->known[at];
}

static Known
known_of_operation(const RegionCopy *c, const Instr *v)
{
    Known first = known(c, v->args[0]);
    if (v->op == OP_py_bool || v->op == OP_py_item) return first;
    if (v->op == OP_logical_not && first != KNOWN_NOT)
        return first == KNOWN_TRUE ? KNOWN_FALSE : KNOWN_TRUE;
    return KNOWN_NOT;
}

/* Does the instruction become another one, which is there already? */
static bool
becomes_another(RegionCopy *c, int32_t at, int lane)
{
    const Instr *v = &c->kernel->instrs.at[at];
    if (c->known == NULL || v->kind != INSTR_OP) return false;
    if (c->known[at] == KNOWN_NOT) c->known[at] = (uint8_t)known_of_operation(c, v);
    if (v->op != OP_where || known(c, v->args[0]) == KNOWN_NOT) return false;
    int32_t taken = v->args[known(c, v->args[0]) == KNOWN_TRUE ? 1 : 2];
    if (c->kernel->instrs.at[taken].dtype != v->dtype) return false;
    c->at[lane][at] = region_copy_of(c, taken, lane);
    c->known[at] = c->known[taken];
    return true;
}

/* ---- statements ---- */

static int
copy_dot(RegionCopy *c, Instr *v, int lane)
{
    RegionDot dot = c->region->dots.at[v->operand];
    for (int k = 0; k < 2; k++)
        for (int axis = 0; axis < c->region->arrays.at[dot.array[k]].rank; axis++)
            dot.index[k][axis] = region_copy_of(c, dot.index[k][axis], lane);
    dot.length = region_copy_of(c, dot.length, lane);
    v->operand = c->region->dots.len;
    return VEC_PUSH(c->arena, &c->region->dots, dot);
}

int
region_copy_instr(RegionCopy *c, int32_t at, int lane)
{
    if (becomes_another(c, at, lane)) return 0;
    Instr v = c->kernel->instrs.at[at];
    RegionStmt stmt = {.instr = c->kernel->instrs.len};
    if (v.nargs > 0) {
        v.args = arena_copy(c->arena, v.args, sizeof(int32_t) * (size_t)v.nargs);
        if (v.args == NULL) return -1;
    }
    for (int k = 0; k < v.nargs; k++) v.args[k] = region_copy_of(c, v.args[k], lane);
    if (v.kind == INSTR_INDEX && c->lanes > 1) v.operand = lane;
    if (v.kind == INSTR_CARRIED) v.operand = variable_of(c, v.operand, lane);
    if (v.kind == INSTR_DOT && copy_dot(c, &v, lane) < 0) return -1;
    if (v.kind == INSTR_LOAD || v.kind == INSTR_STORE) {
        const RegionElement *old = &c->region->elements.at[v.operand];
        RegionElement e = {.array = old->array, .source = -1};
        for (int k = 0; k < c->region->arrays.at[e.array].rank; k++)
            e.index[k] = region_copy_of(c, old->index[k], lane);
        for (int k = 0; k < ELEMENT_RANK; k++) e.checked[k] = -1;
        e.instr = stmt.instr;
        v.operand = c->region->elements.len;
        if (VEC_PUSH(c->arena, &c->region->elements, e) < 0) return -1;
    }
    c->at[lane][at] = stmt.instr;
    if (VEC_PUSH(c->arena, &c->kernel->instrs, v) < 0) return -1;
    return VEC_PUSH(c->arena, c->block, stmt);
}

int
region_copy_carried(RegionCopy *c, const RegionFor *loop, RegionFor *made)
{
    for (int i = 0; i < loop->carried.len; i++)
        for (int lane = 0; lane < c->lanes; lane++) {
            RegionCarried carried = {.first = region_copy_of(c, loop->carried.at[i].first, lane),
                                     .each = loop->carried.at[i].each};
            if (new_variable(c, loop->carried.at[i].variable, lane) < 0) return -1;
            carried.variable = variable_of(c, loop->carried.at[i].variable, lane);
            if (VEC_PUSH(c->arena, &made->carried, carried) < 0) return -1;
        }
    return 0;
}

/* One loop for all lanes. */
static int
copy_loop(RegionCopy *c, const RegionFor *loop)
{
    RegionFor *made = arena_alloc(c->arena, sizeof(RegionFor));
    RegionBlock *block = c->block;
    RegionStmt stmt = {.instr = -1, .loop = made};
    if (made == NULL || VEC_PUSH(c->arena, block, stmt) < 0) return -1;
    *made = (RegionFor){.number = c->region->nloops++,
                        .start = region_copy_of(c, loop->start, 0),
                        .stop = region_copy_of(c, loop->stop, 0),
                        .step = region_copy_of(c, loop->step, 0),
                        .endless = loop->endless,
                        .folds = loop->folds};
    if (region_copy_carried(c, loop, made) < 0) return -1;
    if (loop->folds != OP_input && new_variable(c, loop->folded, 0) < 0) return -1;
    made->leaves = variable_of(c, loop->leaves, 0);
    made->bits = variable_of(c, loop->bits, 0);
    made->folded = variable_of(c, loop->folded, 0);
    c->block = &made->body;
    if (region_copy_block(c, &loop->body, 0, c->lanes) < 0) return -1;
    c->block = block;
    made->index = region_copy_of(c, loop->index, 0);
    made->each = region_copy_of(c, loop->each, 0);
    for (int i = 0; i < made->carried.len; i++)
        made->carried.at[i].next =
            region_copy_of(c, loop->carried.at[i / c->lanes].next, i % c->lanes);
    return 0;
}

static int
copy_branch(RegionCopy *c, const RegionIf *branch, int lane)
{
    RegionIf *made = arena_alloc(c->arena, sizeof(RegionIf));
    RegionBlock *block = c->block;
    RegionStmt stmt = {.instr = -1, .branch = made};
    if (made == NULL || VEC_PUSH(c->arena, block, stmt) < 0) return -1;
    *made = (RegionIf){.condition = region_copy_of(c, branch->condition, lane)};
    for (int arm = 0; arm < 2; arm++) {
        c->block = &made->arm[arm];
        if (region_copy_block(c, &branch->arm[arm], lane, lane + 1) < 0) return -1;
    }
    c->block = block;
    for (int i = 0; i < branch->merged.len; i++) {
        const RegionMerged *old = &branch->merged.at[i];
        if (new_variable(c, old->variable, lane) < 0) return -1;
        RegionMerged merged = {
            .variable = variable_of(c, old->variable, lane),
            .arm = {region_copy_of(c, old->arm[0], lane), region_copy_of(c, old->arm[1], lane)}};
        if (VEC_PUSH(c->arena, &made->merged, merged) < 0) return -1;
    }
    return 0;
}

/* The arm alone; what reads a variable of the branch, which is behind it in `block`, takes the
   arm's number. */
static int
copy_arm(RegionCopy *c, const RegionBlock *block, int behind, const RegionIf *branch, int arm,
         int lane)
{
    if (region_copy_block(c, &branch->arm[arm], lane, lane + 1) < 0) return -1;
    for (int i = behind; i < block->len; i++) {
        int32_t at = block->at[i].instr;
        const Instr *v = at < 0 ? NULL : &c->kernel->instrs.at[at];
        if (v == NULL || v->kind != INSTR_CARRIED) continue;
        for (int k = 0; k < branch->merged.len; k++) {
            const RegionMerged *merged = &branch->merged.at[k];
            if (merged->variable != v->operand) continue;
            c->at[lane][at] = region_copy_of(c, merged->arm[arm], lane);
            c->known[at] = c->known[merged->arm[arm]];
        }
    }
    return 0;
}

/* An instruction for all lanes: a number, and the index of a loop inside. */
static bool
is_shared(const RegionCopy *c, int32_t at)
{
    const Instr *v = &c->kernel->instrs.at[at];
    return v->kind == INSTR_CONST || (v->kind == INSTR_INDEX && at != c->loop->index);
}

int
region_copy_block(RegionCopy *c, const RegionBlock *block, int first, int end)
{
    for (int i = 0; i < block->len; i++) {
        const RegionStmt *stmt = &block->at[i];
        if (stmt->loop != NULL && copy_loop(c, stmt->loop) < 0) return -1;
        bool shared = stmt->instr >= 0 && is_shared(c, stmt->instr);
        for (int lane = first; lane < end; lane++) {
            if (stmt->branch != NULL) {
                Known which = known(c, stmt->branch->condition);
                if (which == KNOWN_NOT
                        ? copy_branch(c, stmt->branch, lane) < 0
                        : copy_arm(c, block, i + 1, stmt->branch, which == KNOWN_FALSE, lane) < 0)
                    return -1;
            }
            if (stmt->instr < 0 || (c->lanes == 1 && c->at[lane][stmt->instr] >= 0)) continue;
            if (shared && lane > first)
                c->at[lane][stmt->instr] = c->at[first][stmt->instr];
            else if (region_copy_instr(c, stmt->instr, lane) < 0)
                return -1;
        }
    }
    return 0;
}

int
region_copy_begin(RegionCopy *c)
{
    size_t ninstrs = sizeof(int32_t) * (size_t)c->kernel->instrs.len,
           nvariables = sizeof(int32_t) * (size_t)(c->region->variables.len + 1);
    for (int lane = 0; lane < c->lanes; lane++) {
        c->at[lane] = arena_alloc(c->arena, ninstrs);
        c->variable[lane] = arena_alloc(c->arena, nvariables);
        if (c->at[lane] == NULL || c->variable[lane] == NULL) return -1;
        memset(c->at[lane], 0xff, ninstrs);
        memset(c->variable[lane], 0xff, nvariables);
    }
    return 0;
}
