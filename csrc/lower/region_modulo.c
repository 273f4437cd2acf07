/* Python's ints of which only the lowest bits matter.

   `(state * 1103515245 + 12345) % 2**31` and `(h * 31 + x) & 0xFFFFFFFF` are the same whatever the
   upper bits of the product are: sums, differences and products that are used for nothing but such
   a remainder are those of 64 bits, and cannot overflow.  NumPy's own are not among them: NumPy
   warns.

   Of a number that a loop carries and that becomes (a * number + c) % 2**k, with constants, the one
   after the next is known, too: (a * a * number + a * c + c) % 2**k.  So an iteration need not wait
   for the product of the one before, but for that of the second before. */
#include "region.h"

static const Instr *
instr_of(const Kernel *k, int32_t at)
{
    return &k->instrs.at[at];
}

static bool
has_64_bits(DType dtype)
{
    return dtype == DT_I64 || dtype == DT_U64;
}

static bool
constant_bits(const Kernel *k, int32_t at, int64_t *out)
{
    const Instr *v = instr_of(k, at);
    if (v->kind != INSTR_CONST || !has_64_bits(v->dtype)) return false;
    memcpy(out, v->bits, sizeof *out);
    return true;
}

/* x & mask or x % 2**k, of ints: the constant as a mask, and x. */
static bool
is_remainder(const Kernel *k, int32_t at, int64_t *mask, int32_t *of)
{
    const Instr *v = instr_of(k, at);
    if (v->kind != INSTR_OP || !has_64_bits(v->dtype) || v->nargs != 2) return false;
    bool and = v->op == OP_bitwise_and, mod = v->op == OP_py_mod && v->dtype == DT_I64;
    for (int other = mod ? 1 : 0; (and || mod) && other < 2; other++) {
        if (!constant_bits(k, v->args[other], mask)) continue;
        *of = v->args[1 - other];
        if (and) return (*mask >= 0 || v->dtype == DT_U64) && instr_of(k, *of)->dtype == v->dtype;
        if (*mask <= 0 || (*mask & (*mask - 1)) != 0) return false;
        --*mask;
        return instr_of(k, *of)->dtype == DT_I64;
    }
    return false;
}

/* Are all operands Python's ints?  The operation with a check is NumPy's, too. */
static bool
is_python(const Graph *g, const Instr *v)
{
    if (v->kind != INSTR_OP || !has_64_bits(v->dtype) || v->node == NO_NODE) return false;
    const Node *node = graph_node(g, v->node);
    for (int i = 0; i < node->nargs; i++) {
        const Type *type = &graph_node(g, node->args[i])->type;
        if (type->form != FORM_PYTHON || !has_64_bits((DType)type->dtype)) return false;
    }
    return node->op == v->op && node->nargs == v->nargs;
}

/* Do the lowest bits of the result depend on nothing but the lowest bits of the operands? */
static bool
keeps_low_bits(const Graph *g, const Kernel *k, const Instr *v)
{
    int64_t by;
    if (!is_python(g, v)) return false;
    switch (v->op) {
    case OP_py_add:
    case OP_py_sub:
    case OP_py_mul:
    case OP_py_neg:
    case OP_bitwise_and:
    case OP_bitwise_or:
    case OP_cast:
    case OP_py_int:
    case OP_bitwise_xor: return true;
    case OP_py_lshift: return constant_bits(k, v->args[1], &by) && by >= 0 && by <= 63;
    default: return false;
    }
}

/* ---- who uses what ---- */

static void
needs(RegionLoop *r, int32_t at)
{
    if (at >= 0) r->modular[at] = false;
}

static void
mark_block(RegionLoop *r, const RegionBlock *block)
{
    for (int i = 0; i < block->len; i++) {
        const RegionFor *loop = block->at[i].loop;
        const RegionIf *branch = block->at[i].branch;
        if (loop != NULL) {
            needs(r, loop->start);
            needs(r, loop->stop);
            needs(r, loop->step);
            for (int k = 0; k < loop->carried.len; k++) {
                needs(r, loop->carried.at[k].first);
                needs(r, loop->carried.at[k].next);
            }
            mark_block(r, &loop->instead);
            mark_block(r, &loop->lanes);
            mark_block(r, &loop->body);
        }
        if (branch == NULL) continue;
        needs(r, branch->condition);
        for (int k = 0; k < branch->merged.len; k++)
            for (int arm = 0; arm < 2; arm++) needs(r, branch->merged.at[k].arm[arm]);
        mark_block(r, &branch->arm[0]);
        mark_block(r, &branch->arm[1]);
    }
}

/* Uses come behind what they use, so that each value is looked at once. */
static void
find_modular(const Graph *g, const Kernel *k, RegionLoop *r)
{
    int64_t mask;
    int32_t of;
    for (int32_t at = 0; at < k->instrs.len; at++)
        r->modular[at] = at >= r->body && keeps_low_bits(g, k, instr_of(k, at));
    RegionStmt top = {.instr = -1, .loop = r->top};
    mark_block(r, &(RegionBlock){.at = &top, .len = 1});
    for (int i = 0; i < r->elements.len; i++)
        for (int axis = 0; axis < r->arrays.at[r->elements.at[i].array].rank; axis++)
            needs(r, r->elements.at[i].index[axis]);
    for (int32_t at = k->instrs.len; at-- > 0;) {
        const Instr *v = instr_of(k, at);
        bool remainder = is_remainder(k, at, &mask, &of);
        for (int i = 0; i < v->nargs; i++)
            if ((!r->modular[at] || (v->op == OP_py_lshift && i == 1)) &&
                !(remainder && v->args[i] == of))
                needs(r, v->args[i]);
    }
}

/* ---- the one after the next ---- */

typedef struct {
    uint64_t factor, term;
} Affine;

/* What the int is made of the variable, in arithmetic of 64 bits. */
static bool
affine_in(const Kernel *k, int32_t at, int32_t variable, int depth, Affine *out)
{
    enum { DEEPEST = 6 };
    const Instr *v = instr_of(k, at);
    int64_t number;
    Affine a, b;
    if (!has_64_bits(v->dtype)) return false;
    if (constant_bits(k, at, &number)) {
        *out = (Affine){0, (uint64_t)number};
        return true;
    }
    if (v->kind == INSTR_CARRIED) {
        *out = (Affine){1, 0};
        return v->operand == variable;
    }
    bool sum = v->op == OP_py_add, difference = v->op == OP_py_sub, product = v->op == OP_py_mul;
    if (v->kind != INSTR_OP || depth == DEEPEST || !(sum || difference || product) ||
        !affine_in(k, v->args[0], variable, depth + 1, &a) ||
        !affine_in(k, v->args[1], variable, depth + 1, &b) ||
        (product && a.factor != 0 && b.factor != 0))
        return false;
    if (product)
        *out = (Affine){a.factor * b.term + b.factor * a.term, a.term * b.term};
    else if (difference)
        *out = (Affine){a.factor - b.factor, a.term - b.term};
    else
        *out = (Affine){a.factor + b.factor, a.term + b.term};
    return true;
}

static void
find_ahead(const Kernel *k, const RegionLoop *r, const RegionFor *loop)
{
    bool counted = loop->innermost && !loop->endless;
    for (int i = 0; i < loop->carried.len; i++) {
        RegionCarried *c = &loop->carried.at[i];
        int64_t mask;
        int32_t of;
        Affine next;
        c->ahead = counted && r->home[c->next] == loop->number &&
                   is_remainder(k, c->next, &mask, &of) && (mask & (mask + 1)) == 0 &&
                   affine_in(k, of, c->variable, 0, &next) && next.factor > 1;
        if (!c->ahead) continue;
        c->mask = (uint64_t)mask;
        c->factor = next.factor;
        c->term = next.term;
    }
}

int
region_modulo(Arena *arena, const Graph *g, const Kernel *k, RegionLoop *r)
{
    r->modular = arena_alloc(arena, (size_t)k->instrs.len + 1);
    if (r->modular == NULL) return -1;
    find_modular(g, k, r);
    for (int number = 0; number < r->nloops; number++) find_ahead(k, r, r->loop[number]);
    return 0;
}
