/* Numbers of kept loops as C: operations with the checks that are left of them.

   An int that does not fit its dtype, or 64 bits, ends the loop where it is made; or, where nothing
   else ends the loop before its last iteration, the sign of `over` is looked at behind it. */
#include "emit.h"

static const char *
overflow_builtin(Op op)
{
    switch (op) {
    case OP_add: return "__builtin_add_overflow";
    case OP_subtract: return "__builtin_sub_overflow";
    case OP_multiply:
    case OP_square: return "__builtin_mul_overflow";
    default: return NULL;
    }
}

/* NumPy warns when its integer scalars overflow, so such an operation is checked, and a deopt
   follows; but not where the program tells it to ignore that. */
static bool
may_overflow(const Instr *v)
{
    return !v->wraps && v->kind == INSTR_OP && v->dtype == v->from &&
           op_may_overflow(v->op, v->dtype);
}

static void
emit_checked(Emit *e, int32_t at, const char *a, const char *b, const char *fail)
{
    const Instr *v = instr_at(e, at);
    char name[16];
    const char *builtin = overflow_builtin(v->op);
    region_name(e, at, name, sizeof name);
    emit_line(e, "%s %s;", dtype_name(v->dtype), name);
    if (builtin != NULL) {
        emit_line(e, "if (RARELY(%s(%s, %s, &%s))) %s", builtin, a, v->op == OP_square ? a : b,
                  name, fail);
        return;
    }
    bool absolute = v->op == OP_absolute;
    if (absolute) emit_line(e, "%s = %s;", name, a);
    emit_line(e, "if (RARELY(__builtin_sub_overflow((%s)0, %s, &%s))) %s", dtype_name(v->dtype), a,
              name, fail);
    if (absolute) emit_line(e, "if (!(%s < 0)) %s = %s;", a, name, a);
}

/* round(x) of a float. */
static bool
is_rounded(const Emit *e, const Instr *v)
{
    return v->kind == INSTR_OP && v->op == OP_py_round && v->dtype == DT_I64 &&
           instr_at(e, v->args[0])->dtype == DT_F64;
}

/* A sum or difference of ints of 64 bits, or of numbers of a narrower dtype also a product, of
   which a few operations tell whether it fits; and what is rounded to 64 bits. */
static bool
is_notable(const Emit *e, const Instr *v)
{
    DType dtype = (DType)v->dtype;
    if (is_rounded(e, v)) return true;
    for (int k = 0; k < v->nargs; k++)
        if (instr_at(e, v->args[k])->dtype != dtype) return false;
    switch (v->op) {
    case OP_py_add:
    case OP_py_sub: return dtype == DT_I64;
    case OP_add:
    case OP_subtract: return dtype == DT_I64 || (may_overflow(v) && dtype_size(dtype) < 8);
    case OP_multiply: return may_overflow(v) && dtype_size(dtype) < 8;
    default: return false;
    }
}

/* Operations of Python's that cannot fail. */
static bool
never_fails(const Emit *e, const Instr *v)
{
    switch (v->op) {
    case OP_py_eq:
    case OP_py_ne:
    case OP_py_lt:
    case OP_py_le:
    case OP_py_bool:
    case OP_py_item: return true;
    case OP_py_int:
    case OP_py_float: return instr_at(e, v->args[0])->dtype == v->dtype;
    case OP_py_add:
    case OP_py_sub:
    case OP_py_mul:
    case OP_py_neg:
    case OP_py_abs: return v->dtype == DT_F64 && v->from == DT_F64;
    case OP_py_complex:
    case OP_py_real:
    case OP_py_imag: return true;
    default: return false;
    }
}

/* May the instruction end the loop where it stands, in spite of what is noted? */
static bool
fails_at_once(const Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    const RegionLoop *r = e->kernel->region;
    if (v->kind == INSTR_CALL || v->kind == INSTR_DRAW || v->kind == INSTR_LIST) return true;
    if (v->kind == INSTR_LOAD || v->kind == INSTR_STORE) {
        const RegionElement *element = &r->elements.at[v->operand];
        for (int axis = 0; axis < r->arrays.at[element->array].rank; axis++)
            if (element->checked[axis] < 0) return true;
        return v->kind == INSTR_STORE && !element->hoisted;
    }
    if (v->kind != INSTR_OP || region_fits(r, at) || r->small[at] || is_notable(e, v)) return false;
    return op_info(v->op)->kind == KIND_PYTHON ? !never_fails(e, v) : may_overflow(v);
}

/* In a loop that nothing else ends before its last iteration the sign of `over` is looked at behind
   it: so iterations can be done side by side, and the minimum of sums in any order. */
bool
region_notes(const Emit *e, const RegionFor *loop)
{
    if (!e->quick || loop == NULL || !loop->innermost || loop->endless || loop->leaves >= 0)
        return false;
    for (int32_t at = e->kernel->region->body; at < e->kernel->instrs.len && !loop->independent;
         at++)
        if (e->kernel->region->home[at] == loop->number && fails_at_once(e, at)) return false;
    return true;
}

static bool
notes_overflow(const Emit *e, const Instr *v, const RegionFor *loop)
{
    return is_notable(e, v) && region_notes(e, loop);
}

/* 1: the int is not negative, -1: it is not positive, 0: nobody knows. */
static int
known_sign(const Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    int64_t number;
    if (region_constant(e->kernel, at, &number)) return number < 0 ? -1 : 1;
    if (v->kind != INSTR_OP || v->op != OP_where) return 0;
    int sign = known_sign(e, v->args[1]);
    return known_sign(e, v->args[2]) == sign ? sign : 0;
}

/* Where 64 bits do not hold it, its float is not below 2**62, of which the bits tell, too. */
static void
emit_noted_round(Emit *e, int32_t at, const char *a, int over)
{
    emit_line(e, "i64 b%d;", at);
    emit_line(e, "__builtin_memcpy(&b%d, &%s, sizeof b%d);", at, a, at);
    emit_line(e, "over%d |= ~((b%d & __INT64_MAX__) - 0x43d0000000000000);", over, at);
    emit_line(e, "const f64 w%d = __builtin_rint(%s);", at, a);
    emit_line(e, "const i64 v%d = __builtin_fabs(%s) < 0x1p62 ? (i64)w%d : 0;", at, a, at);
}

/* The number as its dtype holds it, and whether that is another one. */
static void
emit_noted(Emit *e, int32_t at, const char *a, const char *b, const RegionFor *loop)
{
    const Instr *v = instr_at(e, at);
    int over = loop->number;
    if (v->op == OP_py_round) {
        emit_noted_round(e, at, a, over);
        return;
    }
    const char *t = dtype_name(v->dtype);
    bool sum = v->op == OP_add || v->op == OP_py_add;
    if (v->op == OP_multiply || !dtype_is_signed((DType)v->dtype)) {
        char operator = v->op == OP_multiply ? '*' : sum ? '+' : '-';
        emit_line(e, "const i64 w%d = (i64)%s %c (i64)%s;", at, a, operator, b);
        emit_line(e, "const %s v%d = (%s)w%d;", t, at, t, at);
        emit_line(e, "over%d |= -(i64)(w%d != v%d);", over, at, at);
        return;
    }
    emit_line(e, "const %s v%d = (%s)(%s %c %s);", t, at, t, a, sum ? '+' : '-', b);
    int sign = v->dtype == DT_I64 ? known_sign(e, v->args[1]) : 0;
    if (sign != 0)
        emit_line(e, (sign > 0) == sum ? "over%d |= ~%s & v%d;" : "over%d |= %s & ~v%d;", over, a,
                  at);
    else if (sum)
        emit_line(e, "over%d |= (%s ^ v%d) & (%s ^ v%d);", over, a, at, b, at);
    else
        emit_line(e, "over%d |= (%s ^ %s) & (%s ^ v%d);", over, a, b, a, at);
}

/* A test whether a dtype holds an int that is stored, or a float is zero by which another one is
   divided, in such a loop: what is stored is undone. */
static bool
notes_store(const Emit *e, const Instr *v, const RegionFor *loop)
{
    if (v->op != OP_py_assert || !region_notes(e, loop) || !loop->independent) return false;
    const Instr *test = instr_at(e, v->args[0]);
    if (test->kind != INSTR_OP) return false;
    if (test->op == OP_py_ne) return instr_at(e, test->args[0])->dtype == DT_F64;
    return test->op == OP_py_eq && instr_at(e, test->args[0])->kind == INSTR_OP &&
           instr_at(e, test->args[0])->op == OP_cast;
}

/* float(round(x)) needs no int: of 0 from below it is 0. */
static bool
emit_float_of_rounded(Emit *e, int32_t at, const RegionFor *loop)
{
    const Instr *v = instr_at(e, at);
    if (v->op != OP_py_float || !is_rounded(e, instr_at(e, v->args[0])) || !region_notes(e, loop) ||
        e->kernel->region->home[v->args[0]] != loop->number)
        return false;
    emit_line(e, "const f64 v%d = w%d + 0.0;", at, v->args[0]);
    return true;
}

/* What an iteration has computed of a number for the one after it: region_modulo.c. */
static const RegionCarried *
is_ahead(const Emit *e, int32_t at, const RegionFor *loop)
{
    for (int i = 0; e->quick && loop != NULL && i < loop->carried.len; i++)
        if (loop->carried.at[i].ahead && loop->carried.at[i].next == at)
            return &loop->carried.at[i];
    return NULL;
}

/* Of ints without a sign the lowest 64 bits. */
static bool
emit_modular(Emit *e, int32_t at, const char *a, const char *b)
{
    switch (instr_at(e, at)->op) {
    case OP_py_add: emit_line(e, "const u64 v%d = %s + %s;", at, a, b); return true;
    case OP_py_sub: emit_line(e, "const u64 v%d = %s - %s;", at, a, b); return true;
    case OP_py_mul: emit_line(e, "const u64 v%d = %s * %s;", at, a, b); return true;
    case OP_py_neg: emit_line(e, "const u64 v%d = -%s;", at, a); return true;
    case OP_py_lshift: emit_line(e, "const u64 v%d = %s << %s;", at, a, b); return true;
    case OP_py_int: emit_line(e, "const u64 v%d = (u64)%s;", at, a); return true;
    default: return false;
    }
}

/* A number of which it is known before a loop that it does not overflow, or is looked at otherwise.
 */
static bool
emit_bounded(Emit *e, int32_t at, const char *a, const char *b, const RegionFor *loop)
{
    const Instr *v = instr_at(e, at);
    const RegionLoop *r = e->kernel->region;
    bool small = r->small[at] && region_notes(e, loop);
    if (!r->modular[at] && !small && (!e->quick || !region_fits(r, at))) return false;
    if (v->op == OP_py_div) {
        emit_line(e, "const f64 v%d = (f64)%s / (f64)%s;", at, a, b);
        return true;
    }
    if (v->dtype == DT_U64) return emit_modular(e, at, a, b);
    if (v->dtype != DT_I64) return false;
    switch (v->op) {
    case OP_py_lshift:
        emit_line(e, "const i64 v%d = (i64)((uint64_t)%s << %s);", at, a, b);
        return true;
    case OP_add:
    case OP_py_add: emit_line(e, "const i64 v%d = %s + %s;", at, a, b); return true;
    case OP_subtract:
    case OP_py_sub: emit_line(e, "const i64 v%d = %s - %s;", at, a, b); return true;
    case OP_multiply:
    case OP_py_mul: emit_line(e, "const i64 v%d = %s * %s;", at, a, b); return true;
    case OP_negative:
    case OP_py_neg: emit_line(e, "const i64 v%d = -%s;", at, a); return true;
    case OP_py_int: emit_line(e, "const i64 v%d = (i64)%s;", at, a); return true;
    default: return false;
    }
}

/* Python's % and // by a power of two, whatever the sign of the other number. */
static bool
emit_by_power(Emit *e, int32_t at, const char *a)
{
    const Instr *v = instr_at(e, at);
    if ((v->op != OP_py_mod && v->op != OP_py_floordiv) || v->dtype != DT_I64 ||
        instr_at(e, v->args[0])->dtype != DT_I64)
        return false;
    const Instr *by = instr_at(e, v->args[1]);
    if (by->kind != INSTR_CONST || by->dtype != DT_I64 || (int64_t)by->bits[0] <= 0 ||
        (by->bits[0] & (by->bits[0] - 1)) != 0)
        return false;
    char name[16];
    region_name(e, at, name, sizeof name);
    if (v->op == OP_py_mod)
        emit_line(e, "const i64 %s = %s & 0x%llx;", name, a, (unsigned long long)by->bits[0] - 1);
    else
        emit_line(e, "const i64 %s = %s >> %d;", name, a, __builtin_ctzll(by->bits[0]));
    return true;
}

/* Does the number depend on what the iteration before made, as far as is easily seen? */
static bool
waits(const Emit *e, int32_t at, int depth)
{
    enum { DEEPEST = 3 };
    const Instr *v = instr_at(e, at);
    const RegionLoop *r = e->kernel->region;
    if (v->level == LEVEL_ONCE || depth == DEEPEST) return false;
    if (v->kind == INSTR_CARRIED) return true;
    if (v->kind == INSTR_LOAD) {
        const RegionElement *element = &r->elements.at[v->operand];
        return element->reuse == REUSE_KEPT ||
               (element->reuse == REUSE_BEFORE &&
                region_is_store(e->kernel, &r->elements.at[element->source]));
    }
    for (int k = 0; v->kind == INSTR_OP && k < v->nargs; k++)
        if (waits(e, v->args[k], depth + 1)) return true;
    return false;
}

/* Of the smallest of three ints, one of which waits for the iteration before, the other two are
   compared first. */
static bool
emit_extreme_int(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    bool largest, inner_largest;
    if (!e->quick || !region_extreme(e->kernel, at, &largest)) return false;
    for (int k = 1; k < 3; k++) {
        int32_t inner = v->args[k], other = v->args[3 - k];
        if (!region_extreme(e->kernel, inner, &inner_largest) || inner_largest != largest) continue;
        const int32_t *of = instr_at(e, inner)->args;
        int late = waits(e, of[1], 0) ? 1 : 2;
        if (!waits(e, of[late], 0) || waits(e, of[3 - late], 0) || waits(e, other, 0)) continue;
        char early[16], also[16], last[16];
        const char *than = largest ? ">" : "<";
        region_name(e, of[3 - late], early, sizeof early);
        region_name(e, other, also, sizeof also);
        region_name(e, of[late], last, sizeof last);
        emit_line(e, "i64 w%d = %s %s %s ? %s : %s;", at, early, than, also, early, also);
        emit_line(e, "__asm__(\"\" : \"+r\"(w%d));", at);
        emit_line(e, "const i64 v%d = %s %s w%d ? %s : w%d;", at, last, than, at, last, at);
        return true;
    }
    return false;
}

static bool
is_of_product(const Emit *e, const Instr *v)
{
    for (int k = 0; k < v->nargs; k++) {
        Op op = instr_at(e, v->args[k])->op;
        if (instr_at(e, v->args[k])->kind == INSTR_OP &&
            (op == OP_multiply || op == OP_py_mul || op == OP_square))
            return true;
    }
    return false;
}

/* a - b, as the C compiler is not to see it beside other operations. */
static void
emit_apart(Emit *e, int32_t at, const char *a, const char *b)
{
    const char *t = dtype_name(instr_at(e, at)->dtype);
    emit_line(e, "%s w%d = %s - %s;", t, at, a, b);
    emit_line(e, "__asm__(\"\" : \"+%s\"(w%d));", body_constraint(e, at), at);
    emit_line(e, "const %s v%d = w%d;", t, at, at);
}

/* gcc makes a * b - c of one element and a * b + c of the next one instruction for two lanes that
   does not round the products, though contraction is off (vfmaddsub; seen in gcc 12).  Where
   elements are stored side by side it must not see such a difference as one. */
static bool
may_be_contracted(const Emit *e, const Instr *v)
{
    bool difference = v->op == OP_subtract || v->op == OP_py_sub;
    return difference && (v->dtype == DT_F64 || v->dtype == DT_F32) &&
           e->kernel->region->side_by_side && is_of_product(e, v);
}

void
region_operation(Emit *e, int32_t at, const RegionFor *loop, const char *fail)
{
    const Instr *v = instr_at(e, at);
    char a[16] = "", b[16] = "";
    Text unused = {0};
    prelude_type(e->prelude, v->dtype, 1, &unused);
    text_free(&unused);
    if (v->nargs > 0) region_name(e, v->args[0], a, sizeof a);
    if (v->nargs > 1) region_name(e, v->args[1], b, sizeof b);
    const RegionCarried *ahead = is_ahead(e, at, loop);
    if (emit_float_of_rounded(e, at, loop)) {
        /* done */
    } else if (ahead != NULL)
        emit_line(e, "const %s v%d = ahead%d & 0x%llx;", dtype_name(v->dtype), at, ahead->variable,
                  (unsigned long long)ahead->mask);
    else if (emit_bounded(e, at, a, b, loop) || emit_by_power(e, at, a) ||
             emit_extreme_int(e, at)) {
        /* done */
    } else if (notes_overflow(e, v, loop))
        emit_noted(e, at, a, b, loop);
    else if (notes_store(e, v, loop))
        emit_line(e, "over%d |= (i64)%s - 1;", loop->number, a);
    else if (v->level != LEVEL_ONCE && may_be_contracted(e, v))
        emit_apart(e, at, a, b);
    else if (may_overflow(v))
        emit_checked(e, at, a, b, fail);
    else if (op_info(v->op)->kind == KIND_PYTHON)
        python_value(e, at, fail);
    else if (v->level == LEVEL_ONCE)
        scalar_value(e, at);
    else
        body_value(e, at);
    e->mark[at] = e->body;
}
