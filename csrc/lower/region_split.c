/* Loops whose iterations do one thing up to some number and another from there on:

     for c in range(n): t[c] = s[c]; if w <= c: t[c] += s[c - w]
     for j in range(n): if i != j: …          left = u[i - 1] if i > 0 else 0.0

   Where a condition compares the loop's variable with a number that is the same in all iterations,
   the loop becomes two or three, one behind the other, in each of which it is known what the
   condition says.  So indices in the arms are checked before the loops, by the bounds of these, and
   the C compiler sees no branch.

   Where a condition is itself the same in all iterations (`if i > 0` in a loop over j), it is asked
   before the loop, which is there twice, once in each arm.

   What is the same in all iterations, and cannot fail in an ordinary program, is computed before
   the loops.  All of it stands in `instead`, which the quick variant executes; the careful one has
   the loop itself. */
#include "region_copy.h"

enum {
    MOST_SPLIT = 40,  /* statements of a loop */
    MOST_ADDED = 360, /* and of all copies */
};

typedef struct {
    Arena *arena;
    Kernel *kernel;
    RegionLoop *region;
    int added; /* statements so far */
} Split;

/* ---- what is compared ---- */

/* The loop's variable with `offset`, and with what: variable + offset op number. */
typedef struct {
    int32_t at;     /* the comparison */
    int32_t number; /* an instruction */
    int64_t offset;
    bool equality;
    bool inclusive; /* of <: it is <= */
    bool turned;    /* … and the number stands on the left */
    bool negated;   /* of ==: it is != */
} Comparison;

static const Instr *
instr_of(const Split *s, int32_t at)
{
    return &s->kernel->instrs.at[at];
}

/* May it be computed though Python would not do it? */
static bool
is_harmless(const Split *s, const Instr *v)
{
    if (v->kind != INSTR_OP) return v->kind == INSTR_CONST;
    if ((op_info(v->op)->flags & OPF_COMPARES) != 0 && v->dtype == DT_BOOL) return true;
    for (int k = 0; k < v->nargs; k++) {
        DType dtype = instr_of(s, v->args[k])->dtype;
        if (dtype != DT_I64 && dtype != DT_BOOL) return false;
    }
    if (v->dtype != DT_I64 && v->dtype != DT_BOOL) return false;
    if (region_is_arithmetic(v->op)) return true;
    switch (v->op) {
    case OP_py_item:
    case OP_py_int:
    case OP_py_bool:
    case OP_py_eq:
    case OP_py_ne:
    case OP_py_lt:
    case OP_py_le: return true;
    default:
        return (op_info(v->op)->flags & OPF_NO_FLAGS) != 0 && !op_may_overflow(v->op, v->dtype) &&
               !(op_info(v->op)->flags & OPF_FALLIBLE) && op_info(v->op)->kind != KIND_PYTHON;
    }
}

/* Is an index a negative number?  Where it is used, the quick variant takes none. */
static bool
counts_from_end(const Split *s, const RegionElement *e)
{
    int64_t number;
    for (int axis = 0; axis < s->region->arrays.at[e->array].rank; axis++)
        if (region_constant(s->kernel, e->index[axis], &number) && number < 0) return true;
    return false;
}

/* Is the value the same in all iterations, as far as is easily seen? */
static bool
is_fixed(const Split *s, const RegionFor *loop, int32_t at, int depth)
{
    enum { DEEPEST = 4 };
    const Instr *v = instr_of(s, at);
    if (!region_within(s->region, loop, at) || v->kind == INSTR_CONST) return true;
    if (v->kind == INSTR_LOAD)
        return s->region->elements.at[v->operand].reuse == REUSE_FIXED &&
               (loop->around != NULL || !counts_from_end(s, &s->region->elements.at[v->operand]));
    if (!is_harmless(s, v) || depth == DEEPEST) return false;
    for (int k = 0; k < v->nargs; k++)
        if (!is_fixed(s, loop, v->args[k], depth + 1)) return false;
    return true;
}

static bool
is_variable(const Split *s, const RegionFor *loop, int32_t at, int64_t *offset)
{
    RegionLinear form;
    if (!region_linear(s->kernel, s->region, loop, at, &form) || form.slope != 1 ||
        form.base >= 0 || form.minus >= 0)
        return false;
    *offset = form.offset;
    return true;
}

static bool
read_comparison(const Split *s, const RegionFor *loop, int32_t at, Comparison *out)
{
    const Instr *v = instr_of(s, at);
    if (v->kind != INSTR_OP || v->nargs != 2 || instr_of(s, v->args[0])->dtype != DT_I64 ||
        instr_of(s, v->args[1])->dtype != DT_I64)
        return false;
    *out = (Comparison){.at = at};
    bool greater = false;
    switch (v->op) {
    case OP_py_eq:
    case OP_equal: out->equality = true; break;
    case OP_py_ne:
    case OP_not_equal: out->equality = out->negated = true; break;
    case OP_py_lt:
    case OP_less: break;
    case OP_py_le:
    case OP_less_equal: out->inclusive = true; break;
    case OP_greater: greater = true; break;
    case OP_greater_equal: greater = out->inclusive = true; break;
    default: return false;
    }
    for (int k = 0; k < 2; k++) {
        if (!is_variable(s, loop, v->args[k], &out->offset) ||
            !is_fixed(s, loop, v->args[1 - k], 0))
            continue;
        out->number = v->args[1 - k];
        out->turned = greater != (k == 1);
        return true;
    }
    return false;
}

/* Does the bool say what the comparison says, or the opposite? */
static bool
comes_from(const Split *s, int32_t at, int32_t comparison)
{
    const Instr *v = instr_of(s, at);
    while (at != comparison && v->kind == INSTR_OP &&
           (v->op == OP_py_bool || v->op == OP_py_item || v->op == OP_logical_not)) {
        at = v->args[0];
        v = instr_of(s, at);
    }
    return at == comparison;
}

/* Does a branch in the block, or a choice, depend on it? */
static bool
decides(const Split *s, const RegionBlock *block, int32_t comparison)
{
    for (int i = 0; i < block->len; i++) {
        const RegionIf *branch = block->at[i].branch;
        if (branch != NULL &&
            (comes_from(s, branch->condition, comparison) ||
             decides(s, &branch->arm[0], comparison) || decides(s, &branch->arm[1], comparison)))
            return true;
        if (block->at[i].instr < 0) continue;
        const Instr *v = instr_of(s, block->at[i].instr);
        if (v->kind == INSTR_OP && v->op == OP_where && comes_from(s, v->args[0], comparison))
            return true;
    }
    return false;
}

static int
count_statements(const RegionBlock *block)
{
    int count = block->len;
    for (int i = 0; i < block->len; i++)
        for (int arm = 0; block->at[i].branch != NULL && arm < 2; arm++)
            count += count_statements(&block->at[i].branch->arm[arm]);
    return count;
}

static bool
find_in_block(const Split *s, const RegionFor *loop, const RegionBlock *block, Comparison *out)
{
    for (int i = 0; i < block->len; i++) {
        const RegionIf *branch = block->at[i].branch;
        if (block->at[i].instr >= 0 && read_comparison(s, loop, block->at[i].instr, out) &&
            decides(s, &loop->body, out->at))
            return true;
        for (int arm = 0; branch != NULL && arm < 2; arm++)
            if (find_in_block(s, loop, &branch->arm[arm], out)) return true;
    }
    return false;
}

/* So few turns are as quick with a branch. */
enum { FEW = 16 };

/* Are the two numbers, from outside of the loop, at most so far apart in all calls? */
static bool
are_near(const Split *s, const RegionFor *loop, int32_t a, int32_t b)
{
    RegionLinear of_a, of_b;
    return region_linear(s->kernel, s->region, loop, a, &of_a) &&
           region_linear(s->kernel, s->region, loop, b, &of_b) && of_a.slope == 0 &&
           of_b.slope == 0 && of_a.base == of_b.base && of_a.minus == of_b.minus &&
           llabs(of_a.offset - of_b.offset) < FEW;
}

static bool
is_short(const Split *s, const RegionFor *loop)
{
    return loop->few || are_near(s, loop, loop->start, loop->stop);
}

static bool
can_be_split(const Split *s, const RegionFor *loop)
{
    for (const RegionFor *outer = loop; outer != NULL; outer = outer->around)
        if (outer->together > 0 || outer->with != NULL) return false;
    return loop->innermost && !loop->endless && loop->leaves < 0 && loop->folds == OP_input &&
           loop->instead.len == 0 && (loop->by == 1 || loop->by == -1) && !is_short(s, loop);
}

/* ---- instructions of its own ---- */

static int32_t
add_instr(Split *s, RegionBlock *block, Instr v, int nargs, const int32_t *args)
{
    RegionStmt stmt = {.instr = s->kernel->instrs.len};
    for (int k = 0; k < nargs; k++)
        if (args[k] < 0) return -1;
    v.level = LEVEL_ELEMENT;
    v.node = NO_NODE;
    v.nargs = nargs;
    v.args = nargs == 0 ? NULL : arena_copy(s->arena, args, sizeof(int32_t) * (size_t)nargs);
    if ((nargs > 0 && v.args == NULL) || VEC_PUSH(s->arena, &s->kernel->instrs, v) < 0) return -1;
    return VEC_PUSH(s->arena, block, stmt) < 0 ? -1 : stmt.instr;
}

static int32_t
add_sum(Split *s, RegionBlock *block, int32_t at, int64_t by)
{
    Instr number = {.kind = INSTR_CONST, .dtype = DT_I64, .operand = -1};
    Instr sum = {.kind = INSTR_OP, .op = OP_py_add, .dtype = DT_I64, .from = DT_I64, .operand = -1};
    if (by == 0) return at;
    memcpy(number.bits, &by, sizeof by);
    return add_instr(s, block, sum, 2, (int32_t[]){at, add_instr(s, block, number, 0, NULL)});
}

/* The smaller one, or the larger one. */
static int32_t
add_extreme(Split *s, RegionBlock *block, int32_t a, int32_t b, bool largest)
{
    Instr less = {
        .kind = INSTR_OP, .op = OP_py_lt, .dtype = DT_BOOL, .from = DT_I64, .operand = -1};
    Instr choice = {
        .kind = INSTR_OP, .op = OP_where, .dtype = DT_I64, .from = DT_I64, .operand = -1};
    int32_t first = largest ? b : a, second = largest ? a : b;
    int32_t test = add_instr(s, block, less, 2, (int32_t[]){a, b});
    return add_instr(s, block, choice, 3, (int32_t[]){test, first, second});
}

/* ---- the parts ---- */

typedef struct {
    int32_t start, stop;
    Known says; /* the comparison */
    bool few;   /* it turns a few times only */
} Part;

/* From where on the comparison says something else, in a range that goes up: below `first` the
   variable is too small, from `second` on too large. */
static int
find_parts(Split *s, RegionBlock *block, const RegionFor *loop, const Comparison *c, int32_t number,
           Part parts[3])
{
    bool up = loop->by > 0;
    Known below, behind;
    int32_t first, second = -1;
    int n = 0;
    if (c->equality) {
        below = behind = c->negated ? KNOWN_TRUE : KNOWN_FALSE;
        first = add_sum(s, block, number, -c->offset);
        second = add_sum(s, block, first, 1);
    } else {
        /* variable < number, variable <= number; turned: number < variable, number <= variable */
        below = c->turned ? KNOWN_FALSE : KNOWN_TRUE;
        behind = c->turned ? KNOWN_TRUE : KNOWN_FALSE;
        first = add_sum(s, block, number, (c->inclusive != c->turned ? 1 : 0) - c->offset);
    }
    if (first < 0 || (c->equality && second < 0)) return -1;
    Known here = below == KNOWN_TRUE ? KNOWN_FALSE : KNOWN_TRUE;
    int32_t last = c->equality ? second : first;
    if (up) {
        parts[n++] =
            (Part){loop->start, add_extreme(s, block, loop->stop, first, false), below, false};
        if (c->equality)
            parts[n++] = (Part){add_extreme(s, block, loop->start, first, true),
                                add_extreme(s, block, loop->stop, second, false), here, true};
        parts[n++] =
            (Part){add_extreme(s, block, loop->start, last, true), loop->stop, behind, false};
    } else {
        int32_t above = add_sum(s, block, last, -1), under = add_sum(s, block, first, -1);
        if (above < 0 || under < 0) return -1;
        parts[n++] =
            (Part){loop->start, add_extreme(s, block, loop->stop, above, true), behind, false};
        if (c->equality)
            parts[n++] = (Part){add_extreme(s, block, loop->start, above, false),
                                add_extreme(s, block, loop->stop, under, true), here, true};
        parts[n++] =
            (Part){add_extreme(s, block, loop->start, under, false), loop->stop, below, false};
    }
    for (int i = 0; i < n; i++)
        if (parts[i].start < 0 || parts[i].stop < 0) return -1;
    /* asked of the number itself: of its copy before the loop nothing is known yet */
    parts[0].few = are_near(s, loop, c->number, loop->start);
    parts[n - 1].few = are_near(s, loop, c->number, loop->stop);
    if (n == 3) parts[1].few = true;
    return n;
}

/* Is the value there before the parts? */
static bool
is_outside(const Split *s, const RegionCopy *c, const RegionFor *loop, int32_t at)
{
    return !region_within(s->region, loop, at) || c->at[0][at] >= 0;
}

/* A product in an arm may overflow where Python does not compute it; sums hardly do. */
static bool
can_be_hoisted(const Split *s, const RegionCopy *c, const RegionFor *loop, int32_t at, bool in_arm)
{
    const Instr *v = instr_of(s, at);
    bool product = v->kind == INSTR_OP && (v->op == OP_py_mul || v->op == OP_multiply);
    if (!is_fixed(s, loop, at, 0) || (product && in_arm)) return false;
    for (int k = 0; k < v->nargs; k++)
        if (!is_outside(s, c, loop, v->args[k])) return false;
    if (v->kind != INSTR_LOAD) return true;
    const RegionElement *e = &s->region->elements.at[v->operand];
    for (int axis = 0; axis < s->region->arrays.at[e->array].rank; axis++)
        if (!is_outside(s, c, loop, e->index[axis])) return false;
    return true;
}

/* Computes what is the same in all iterations before them. */
static int
hoist(const Split *s, RegionCopy *c, const RegionFor *loop, const RegionBlock *block, bool in_arm)
{
    for (int i = 0; i < block->len; i++) {
        const RegionIf *branch = block->at[i].branch;
        int32_t at = block->at[i].instr;
        for (int arm = 0; branch != NULL && arm < 2; arm++)
            if (hoist(s, c, loop, &branch->arm[arm], true) < 0) return -1;
        if (at >= 0 && can_be_hoisted(s, c, loop, at, in_arm) && region_copy_instr(c, at, 0) < 0)
            return -1;
    }
    return 0;
}

/* The value with which a part begins: that with which the part before has ended. */
static int32_t
read_left(Split *s, RegionBlock *block, const RegionFor *before, int i)
{
    int32_t variable = before->carried.at[i].variable;
    Instr read = {.kind = INSTR_CARRIED,
                  .dtype = s->region->variables.at[variable].dtype,
                  .operand = variable};
    return add_instr(s, block, read, 0, NULL);
}

/* The condition may be computed several times. */
static void
note_known(const Split *s, int32_t condition, Known says, uint8_t *known)
{
    const Instr *v = instr_of(s, condition);
    for (int32_t at = s->region->body; at < s->kernel->instrs.len; at++) {
        const Instr *other = instr_of(s, at);
        if (at == condition ||
            (v->kind == INSTR_OP && other->kind == INSTR_OP && other->op == v->op &&
             other->from == v->from && other->dtype == v->dtype && other->nargs == v->nargs &&
             memcmp(other->args, v->args, sizeof(int32_t) * (size_t)v->nargs) == 0))
            known[at] = (uint8_t)says;
    }
}

/* The loop once more, in the block, with what is known of one instruction.  `variables`: it leaves
   its values in the loop's own. */
static RegionFor *
make_loop(Split *s, const RegionFor *loop, const RegionCopy *hoisted, int32_t nhoisted,
          int32_t condition, const Part *part, RegionBlock *block, const RegionFor *before,
          bool variables)
{
    RegionCopy c = *hoisted;
    RegionFor *made = arena_alloc(s->arena, sizeof(RegionFor));
    if (made == NULL || region_copy_begin(&c) < 0 ||
        (c.known = arena_alloc(s->arena, (size_t)s->kernel->instrs.len + 1)) == NULL)
        return NULL;
    memcpy(c.at[0], hoisted->at[0], sizeof(int32_t) * (size_t)nhoisted);
    note_known(s, condition, part->says, c.known);
    *made = (RegionFor){.number = s->region->nloops++,
                        .start = part->start,
                        .stop = part->stop,
                        .step = loop->step,
                        .leaves = -1,
                        .bits = -1,
                        .few = part->few};
    for (int i = 0; variables && i < loop->carried.len; i++)
        if (VEC_PUSH(s->arena, &made->carried,
                     (RegionCarried){.variable = loop->carried.at[i].variable}) < 0)
            return NULL;
    if (!variables && region_copy_carried(&c, loop, made) < 0) return NULL;
    for (int i = 0; i < loop->carried.len; i++) {
        RegionCarried *carried = &made->carried.at[i];
        carried->first =
            before == NULL ? loop->carried.at[i].first : read_left(s, block, before, i);
        if (carried->first < 0) return NULL;
    }
    c.block = &made->body;
    if (region_copy_block(&c, &loop->body, 0, 1) < 0) return NULL;
    made->index = region_copy_of(&c, loop->index, 0);
    for (int i = 0; i < loop->carried.len; i++)
        made->carried.at[i].next = region_copy_of(&c, loop->carried.at[i].next, 0);
    RegionStmt stmt = {.instr = -1, .loop = made};
    return VEC_PUSH(s->arena, block, stmt) < 0 ? NULL : made;
}

static int
split_at(Split *s, RegionFor *loop, const RegionCopy *hoisted, int32_t nhoisted,
         const Comparison *comparison)
{
    Part parts[3];
    RegionFor *made = NULL;
    int n = find_parts(s, &loop->instead, loop, comparison,
                       region_copy_of(hoisted, comparison->number, 0), parts);
    for (int i = 0; i < n; i++)
        if ((made = make_loop(s, loop, hoisted, nhoisted, comparison->at, &parts[i], &loop->instead,
                              made, i == n - 1)) == NULL)
            return -1;
    return n;
}

/* The loop in each arm of a branch. */
static int
ask_before(Split *s, RegionFor *loop, const RegionCopy *hoisted, int32_t nhoisted,
           int32_t condition)
{
    RegionIf *branch = arena_alloc(s->arena, sizeof(RegionIf));
    RegionStmt stmt = {.instr = -1, .branch = branch};
    if (branch == NULL) return -1;
    branch->condition = region_copy_of(hoisted, condition, 0);
    for (int i = 0; i < loop->carried.len; i++)
        if (VEC_PUSH(s->arena, &branch->merged,
                     (RegionMerged){.variable = loop->carried.at[i].variable}) < 0)
            return -1;
    for (int arm = 0; arm < 2; arm++) {
        Part all = {loop->start, loop->stop, arm == 0 ? KNOWN_TRUE : KNOWN_FALSE, false};
        RegionFor *made =
            make_loop(s, loop, hoisted, nhoisted, condition, &all, &branch->arm[arm], NULL, false);
        if (made == NULL) return -1;
        for (int i = 0; i < loop->carried.len; i++)
            if ((branch->merged.at[i].arm[arm] = read_left(s, &branch->arm[arm], made, i)) < 0)
                return -1;
    }
    return VEC_PUSH(s->arena, &loop->instead, stmt) < 0 ? -1 : 2;
}

/* The condition of a branch in the loop that is the same in all iterations, or -1. */
static int32_t
find_fixed(const Split *s, const RegionFor *loop, const RegionBlock *block)
{
    int32_t found = -1;
    for (int i = 0; i < block->len && found < 0; i++) {
        const RegionIf *branch = block->at[i].branch;
        if (branch == NULL) continue;
        if (is_fixed(s, loop, branch->condition, 0) &&
            instr_of(s, branch->condition)->dtype == DT_BOOL)
            found = branch->condition;
        for (int arm = 0; arm < 2 && found < 0; arm++)
            found = find_fixed(s, loop, &branch->arm[arm]);
    }
    return found;
}

/* *done: false where nothing of the kind is found, or it cannot be computed before the loop. */
static int
split_loop(Split *s, RegionFor *loop, bool *done)
{
    RegionCopy c = {.arena = s->arena,
                    .kernel = s->kernel,
                    .region = s->region,
                    .loop = loop,
                    .lanes = 1,
                    .block = &loop->instead};
    Comparison comparison;
    int32_t ninstrs = s->kernel->instrs.len;
    bool compares = find_in_block(s, loop, &loop->body, &comparison);
    int32_t fixed = compares ? -1 : find_fixed(s, loop, &loop->body);
    if (fixed < 0 && !compares) return 0;
    if (region_copy_begin(&c) < 0 || hoist(s, &c, loop, &loop->body, false) < 0) return -1;
    if (!is_outside(s, &c, loop, compares ? comparison.number : fixed)) {
        loop->instead.len = 0;
        return 0;
    }
    int n = compares ? split_at(s, loop, &c, ninstrs, &comparison)
                     : ask_before(s, loop, &c, ninstrs, fixed);
    if (n < 0) return -1;
    s->added += n * count_statements(&loop->body);
    *done = true;
    return 0;
}

int
region_split(Arena *arena, Kernel *k, RegionLoop *r, bool *any)
{
    Split s = {.arena = arena, .kernel = k, .region = r, .added = r->split};
    int nloops = r->nloops;
    *any = false;
    for (int number = 0; number < nloops; number++) {
        RegionFor *loop = r->loop[number];
        int statements = count_statements(&loop->body);
        if (statements > MOST_SPLIT || s.added + 3 * statements > MOST_ADDED ||
            !can_be_split(&s, loop))
            continue;
        if (split_loop(&s, loop, any) < 0) return -1;
    }
    r->split = s.added;
    return 0;
}
