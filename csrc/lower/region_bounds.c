/* Where an index of a kept loop can be checked: once before a loop, for all its iterations, or
   where it is used.

   The bounds of an int are those of what it is computed from, by interval arithmetic when the
   kernel runs: a loop's variable lies between its range's ends, which are themselves ints with
   bounds.  Quotients have them where they become indices (`int(i * n / m)`): both roundings keep
   the order.  So `a[i, j + 1]` in two loops is checked before the outer one.  What is loaded or
   carried is known only where it is: an index made of it is checked before the loops inside, or
   where it is used.

   An access in a branch may be there because of the branch (`if i > 0: y[i - 1]`), and a check
   before the loop would always fail.  An index that is computed from something that the conditions
   around it compare is checked behind the branch: before a loop in the arm, or where it is used. */
#include "region.h"

typedef struct {
    Arena *arena;
    const Kernel *kernel;
    RegionLoop *out;
    RegionFor *around;       /* the loop whose body is walked */
    bool *indexes;           /* per instruction: an index is made of it */
    VEC(int32_t) conditions; /* of the branches around, in all loops … */
    VEC(int32_t) depths; /* … and the depths of the loops in whose bodies they stand; -1: none */
    int arms;            /* branches around, in this loop */
} Walk;

static const Instr *
instr_of(const Walk *w, int32_t at)
{
    return &w->kernel->instrs.at[at];
}

/* ---- bounds ---- */

static int32_t
deepest(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

bool
region_extreme(const Kernel *k, int32_t at, bool *largest)
{
    const Instr *v = &k->instrs.at[at];
    if (v->kind != INSTR_OP || v->op != OP_where || v->dtype != DT_I64) return false;
    const Instr *test = &k->instrs.at[v->args[0]];
    while (test->kind == INSTR_OP && test->op == OP_py_bool) test = &k->instrs.at[test->args[0]];
    bool less = test->kind == INSTR_OP && (test->op == OP_less || test->op == OP_py_lt);
    bool greater = test->kind == INSTR_OP && test->op == OP_greater;
    if (!less && !greater) return false;
    bool same = test->args[0] == v->args[1] && test->args[1] == v->args[2];
    bool turned = test->args[0] == v->args[2] && test->args[1] == v->args[1];
    *largest = less == turned;
    return same || turned;
}

static void
mark_indexes(const Walk *w, int32_t at)
{
    const Instr *v = instr_of(w, at);
    if (w->indexes[at]) return;
    w->indexes[at] = true;
    for (int k = 0; v->kind == INSTR_OP && k < v->nargs; k++) mark_indexes(w, v->args[k]);
}

/* Is it a number from before the outermost loop, or made of such? */
static bool
is_of_once(const Walk *w, int32_t at, int depth)
{
    enum { DEEPEST = 4 };
    const Instr *v = instr_of(w, at);
    if (v->level == LEVEL_ONCE || v->kind == INSTR_CONST) return true;
    if (v->kind != INSTR_OP || depth == DEEPEST) return false;
    for (int k = 0; k < v->nargs; k++)
        if (!is_of_once(w, v->args[k], depth + 1)) return false;
    return true;
}

/* A quotient that becomes an index, and numbers whose bounds follow from those of their arguments.
 */
static bool
is_bounded_operation(const Walk *w, int32_t at)
{
    const Instr *v = instr_of(w, at);
    bool largest;
    if (v->kind != INSTR_OP) return false;
    const Instr *first = instr_of(w, v->args[0]);
    if (v->op == OP_py_div)
        return w->indexes[at] && v->from == DT_I64 && first->dtype == DT_I64 &&
               instr_of(w, v->args[1])->dtype == DT_I64 && is_of_once(w, v->args[1], 0);
    if (v->op == OP_py_int && first->dtype == DT_F64)
        return first->kind == INSTR_OP && first->op == OP_py_div;
    if (region_extreme(w->kernel, at, &largest)) return true;
    if (v->dtype != DT_I64) return false;
    for (int k = 0; k < v->nargs; k++)
        if (instr_of(w, v->args[k])->dtype != DT_I64) return false;
    if (region_is_arithmetic(v->op)) return true;
    switch (v->op) {
    case OP_py_mod:
    case OP_py_floordiv:
    case OP_py_int:
    case OP_py_item: return true;
    default: return false;
    }
}

static void
find_ranged(const Walk *w, int32_t at)
{
    const Instr *v = instr_of(w, at);
    RegionLoop *r = w->out;
    int32_t unknown = w->around->depth + 1, depth = unknown;
    if (v->kind == INSTR_INDEX && !w->around->endless)
        depth = deepest(deepest(r->ranged[w->around->start], r->ranged[w->around->stop]),
                        r->ranged[w->around->step]);
    if (v->kind == INSTR_CONST) depth = 0;
    if (is_bounded_operation(w, at)) {
        depth = 0;
        for (int k = v->op == OP_where; k < v->nargs; k++)
            depth = deepest(depth, r->ranged[v->args[k]]);
    }
    r->ranged[at] = depth < unknown ? depth : unknown;
}

/* ---- conditions ---- */

static bool
is_constant(const Walk *w, int32_t at)
{
    return instr_of(w, at)->kind == INSTR_CONST;
}

enum { DEPENDS, SHARES, GUARDS };

/* Marks the value and all that it is made of. */
static void
mark(const Kernel *k, RegionLoop *r, int32_t at)
{
    const Instr *v = &k->instrs.at[at];
    if (r->asked[at].mark[DEPENDS] == r->questions) return;
    r->asked[at].mark[DEPENDS] = r->questions;
    bool made = v->kind == INSTR_OP || v->kind == INSTR_CALL;
    for (int i = 0; made && i < v->nargs; i++) mark(k, r, v->args[i]);
}

bool
region_depends(const Kernel *k, RegionLoop *r, int32_t at, int32_t on)
{
    r->questions++;
    mark(k, r, at);
    return r->asked[on].mark[DEPENDS] == r->questions;
}

/* Is the value made of one that is marked, and no constant? */
static bool
has_marked(const Walk *w, int32_t at)
{
    const Instr *v = instr_of(w, at);
    RegionAsked *asked = &w->out->asked[at];
    if (v->kind != INSTR_OP)
        return !is_constant(w, at) && asked->mark[DEPENDS] == w->out->questions;
    if (asked->mark[SHARES] == w->out->questions) return false;
    asked->mark[SHARES] = w->out->questions;
    for (int k = 0; k < v->nargs; k++)
        if (has_marked(w, v->args[k])) return true;
    return false;
}

/* Do both depend on a value that is no constant? */
static bool
share(const Walk *w, int32_t index, int32_t compared)
{
    w->out->questions++;
    mark(w->kernel, w->out, index);
    return has_marked(w, compared);
}

/* `i != 0` in range(0, n) is there for what must not be done at an end; `i != j` is not. */
static bool
excludes_an_end(const Walk *w, const Instr *test)
{
    for (int k = 0; k < 2; k++) {
        const Instr *variable = instr_of(w, test->args[k]), *with = instr_of(w, test->args[1 - k]);
        if (with->kind == INSTR_INDEX) return false;
        if (variable->kind != INSTR_INDEX || with->kind != INSTR_CONST) continue;
        const RegionFor *loop = w->out->loop[w->out->home[test->args[k]]];
        const Instr *start = instr_of(w, loop->start);
        if (start->kind == INSTR_CONST && with->bits[0] != start->bits[0]) return false;
    }
    return true;
}

static bool
guards(const Walk *w, int32_t condition, int32_t index, int32_t question)
{
    const Instr *v = instr_of(w, condition);
    if (v->kind != INSTR_OP || w->out->asked[condition].mark[GUARDS] == question) return false;
    w->out->asked[condition].mark[GUARDS] = question;
    bool equality =
        v->op == OP_py_eq || v->op == OP_py_ne || v->op == OP_equal || v->op == OP_not_equal;
    bool compares = equality || v->op == OP_py_lt || v->op == OP_py_le || v->op == OP_less ||
                    v->op == OP_less_equal || v->op == OP_greater || v->op == OP_greater_equal;
    if (compares && (!equality || excludes_an_end(w, v)) &&
        (share(w, index, v->args[0]) || share(w, index, v->args[1])))
        return true;
    for (int k = 0; k < v->nargs; k++)
        if (guards(w, v->args[k], index, question)) return true;
    return false;
}

enum { UNGUARDED = -2 };

/* The depth of the innermost loop in which a branch is there because of the index. */
static int32_t
guarded_in(const Walk *w, int32_t index)
{
    if (instr_of(w, index)->kind != INSTR_OP) return UNGUARDED;
    for (int i = w->conditions.len - 1; i >= 0; i--)
        if (guards(w, w->conditions.at[i], index, ++w->out->questions)) return w->depths.at[i];
    return UNGUARDED;
}

/* ---- the tree ---- */

/* Before the loop of which depth the index is checked; -1: where it is used.  Behind the branch
   that guards it it is checked as soon as it is known itself. */
static int32_t
place_of_check(const Walk *w, int32_t index)
{
    const RegionLoop *r = w->out;
    int32_t home = r->home[index], depth = r->ranged[index], guard = guarded_in(w, index);
    if (guard != UNGUARDED) {
        depth = guard + 1;
        if (home >= 0 && r->loop[home]->depth >= depth) return -1;
    }
    return depth > w->around->depth ? -1 : depth;
}

static void
place_checks(const Walk *w, RegionElement *e)
{
    e->in_arm = w->arms > 0;
    for (int axis = 0; axis < w->out->arrays.at[e->array].rank; axis++)
        e->checked[axis] = place_of_check(w, e->index[axis]);
}

/* Done where Python would not do it, may the operation raise flags in an ordinary program? */
static bool
is_risky(const Instr *v)
{
    if (v->kind != INSTR_OP || (op_info(v->op)->flags & OPF_NO_FLAGS)) return false;
    bool plain = v->op == OP_add || v->op == OP_subtract || v->op == OP_multiply ||
                 v->op == OP_negative || v->op == OP_absolute || v->op == OP_square ||
                 v->op == OP_py_add || v->op == OP_py_sub || v->op == OP_py_mul ||
                 v->op == OP_py_neg || v->op == OP_py_abs;
    return !plain && (dtype_is_float(v->dtype) || dtype_is_float(v->from));
}

static int walk_block(Walk *w, const RegionBlock *block);

static int
walk_loop(Walk *w, RegionFor *loop)
{
    RegionFor *around = w->around;
    int arms = w->arms;
    const Instr *step = instr_of(w, loop->step);
    loop->around = around;
    loop->depth = around != NULL ? around->depth + 1 : 0;
    loop->innermost = true;
    if (around != NULL && loop->bits < 0) around->innermost = false;
    if (step->kind == INSTR_CONST) memcpy(&loop->by, step->bits, sizeof loop->by);
    w->out->loop[loop->number] = loop;
    if (loop->instead.len > 0) return walk_block(w, &loop->instead);
    w->around = loop;
    w->arms = 0;
    if (walk_block(w, &loop->lanes) < 0 || walk_block(w, &loop->body) < 0) return -1;
    w->around = around;
    w->arms = arms;
    return 0;
}

static int
walk_branch(Walk *w, const RegionIf *branch)
{
    int32_t depth = w->around == NULL ? -1 : w->around->depth;
    if (VEC_PUSH(w->arena, &w->conditions, branch->condition) < 0 ||
        VEC_PUSH(w->arena, &w->depths, depth) < 0)
        return -1;
    w->arms++;
    if (walk_block(w, &branch->arm[0]) < 0 || walk_block(w, &branch->arm[1]) < 0) return -1;
    w->arms--;
    w->conditions.len--;
    w->depths.len--;
    return 0;
}

static int
walk_block(Walk *w, const RegionBlock *block)
{
    for (int i = 0; i < block->len; i++) {
        const RegionStmt *stmt = &block->at[i];
        if (stmt->loop != NULL && walk_loop(w, stmt->loop) < 0) return -1;
        if (stmt->branch != NULL && walk_branch(w, stmt->branch) < 0) return -1;
        if (stmt->instr < 0 || w->around == NULL) continue; /* NULL: before all loops */
        const Instr *v = instr_of(w, stmt->instr);
        w->out->home[stmt->instr] = w->around->number;
        if (v->kind == INSTR_DOT || v->kind == INSTR_LIST || v->kind == INSTR_DRAW)
            w->around->innermost = false; /* reads many elements; has an order */
        if (w->conditions.len > 0 && is_risky(v)) w->out->guesses = false;
        find_ranged(w, stmt->instr);
        if (v->kind == INSTR_LOAD || v->kind == INSTR_STORE)
            place_checks(w, &w->out->elements.at[v->operand]);
    }
    return 0;
}

int
region_bounds(Arena *arena, const Kernel *k, RegionLoop *r)
{
    Walk w = {.arena = arena, .kernel = k, .out = r};
    size_t bytes = sizeof(int32_t) * (size_t)(k->instrs.len + 1);
    r->loop = arena_alloc(arena, sizeof(RegionFor *) * (size_t)r->nloops);
    r->home = arena_alloc(arena, bytes);
    r->ranged = arena_alloc(arena, bytes);
    if (r->loop == NULL || r->home == NULL || r->ranged == NULL) return -1;
    for (int i = 0; i < k->instrs.len; i++) r->home[i] = -1;
    w.indexes = arena_alloc(arena, (size_t)k->instrs.len + 1);
    if (w.indexes == NULL) return -1;
    for (int i = 0; i < r->elements.len; i++)
        for (int axis = 0; axis < r->arrays.at[r->elements.at[i].array].rank; axis++)
            mark_indexes(&w, r->elements.at[i].index[axis]);
    r->guesses = true;
    return walk_loop(&w, r->top);
}
