/* Branches of a kept loop without a jump: both arms are computed, and what they leave is chosen.  A
   jump that depends on data is foreseen wrongly half of the time, which costs as much as dozens of
   additions.

   It is done in the quick variant of innermost loops, where the arms are a few operations that can
   neither fail nor raise flags in an ordinary program; flags that they raise for nothing are found
   out as those of the C compiler's own guesses are (RegionLoop.guesses).

   A running sum that only one arm adds to (`if x[i] > 0: s += x[i]`) is added to in each iteration:
   the number itself or the neutral one, -0.0 for a sum of floats.  So what waits for the iteration
   before is one addition, and no choice.  A signalling NaN would become a quiet one, with a flag.
 */
#include "emit.h"

#include <math.h>

/* In loops whose iterations are done side by side there are more, since a jump would prevent that.
 */
enum { MOST_OPERATIONS = 8, MOST_SIDE_BY_SIDE = 24 };

static bool
all_args_are(const Emit *e, const Instr *v, DType dtype)
{
    for (int k = 0; k < v->nargs; k++)
        if (instr_at(e, v->args[k])->dtype != dtype) return false;
    return true;
}

/* May the operation be done where Python would not do it? */
static bool
is_harmless(const Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    bool python = op_info(v->op)->kind == KIND_PYTHON;
    bool floats = all_args_are(e, v, v->dtype) && dtype_is_float(v->dtype);
    switch (v->op) {
    case OP_py_add:
    case OP_py_sub:
    case OP_py_mul:
    case OP_py_neg:
        return floats || (all_args_are(e, v, DT_I64) && region_fits(e->kernel->region, at));
    case OP_py_abs: return floats;
    case OP_py_bool: return true;
    case OP_py_eq:
    case OP_py_ne:
    case OP_py_lt:
    case OP_py_le: return all_args_are(e, v, DT_I64) || all_args_are(e, v, DT_F64);
    case OP_add:
    case OP_subtract:
    case OP_multiply:
    case OP_negative:
    case OP_absolute:
    case OP_square: return floats;
    default: break;
    }
    return !python && (op_info(v->op)->flags & OPF_NO_FLAGS) != 0 &&
           !op_may_overflow(v->op, v->dtype) && !(op_info(v->op)->flags & OPF_FALLIBLE);
}

static bool
is_checked(const Emit *e, const RegionElement *element)
{
    int rank = e->kernel->region->arrays.at[element->array].rank;
    for (int axis = 0; axis < rank; axis++)
        if (element->checked[axis] < 0) return false;
    return true;
}

/* What the arm alone makes of the number that the other arm leaves as it is: kept op other. */
typedef struct {
    int32_t made, kept, other;
    int place; /* of `kept` among the arguments */
} Running;

static bool
is_running(const Emit *e, const RegionMerged *m, int arm, Running *out)
{
    const Instr *v = instr_at(e, m->arm[arm]);
    *out = (Running){.made = m->arm[arm], .kept = m->arm[1 - arm]};
    if (v->kind != INSTR_OP || v->nargs != 2 || !all_args_are(e, v, v->dtype)) return false;
    bool commutes =
        v->op == OP_add || v->op == OP_py_add || v->op == OP_multiply || v->op == OP_py_mul;
    bool number = v->op == OP_subtract || v->op == OP_py_sub || commutes;
    bool integer = v->dtype == DT_I64 && op_info(v->op)->kind == KIND_PYTHON;
    bool floating = (v->dtype == DT_F64 || v->dtype == DT_F32) && e->flags;
    if (!number || !(integer || floating) || v->args[0] == v->args[1]) return false;
    out->place = v->args[0] != out->kept;
    out->other = v->args[1 - out->place];
    return v->args[out->place] == out->kept && (out->place == 0 || commutes);
}

static bool
running_in(const Emit *e, const RegionIf *branch, int arm, int32_t at, Running *out)
{
    for (int i = 0; i < branch->merged.len; i++)
        if (branch->merged.at[i].arm[arm] == at && is_running(e, &branch->merged.at[i], arm, out))
            return true;
    return false;
}

static bool arms_are_harmless(const Emit *e, const RegionIf *branch, int *operations);

/* Can the arm's statements be executed in each iteration? */
static bool
arm_is_harmless(const Emit *e, const RegionIf *branch, int arm, int *operations)
{
    const RegionBlock *block = &branch->arm[arm];
    for (int i = 0; i < block->len; i++) {
        Running running;
        if (block->at[i].loop != NULL) return false;
        if (block->at[i].branch != NULL) {
            if (!arms_are_harmless(e, block->at[i].branch, operations)) return false;
            continue;
        }
        int32_t at = block->at[i].instr;
        const Instr *v = instr_at(e, at);
        switch (v->kind) {
        case INSTR_CONST:
        case INSTR_CARRIED: break;
        case INSTR_LOAD:
            if (!is_checked(e, &e->kernel->region->elements.at[v->operand])) return false;
            ++*operations;
            break;
        case INSTR_OP:
            if (!is_harmless(e, at) && !running_in(e, branch, arm, at, &running)) return false;
            ++*operations;
            break;
        default: return false;
        }
    }
    return true;
}

static bool
arms_are_harmless(const Emit *e, const RegionIf *branch, int *operations)
{
    *operations += branch->merged.len;
    return branch->merged.len > 0 && arm_is_harmless(e, branch, 0, operations) &&
           arm_is_harmless(e, branch, 1, operations);
}

/* Is it a comparison of floats, of which the processor makes a mask? */
static bool
compares_floats(const Emit *e, int32_t condition)
{
    const Instr *v = instr_at(e, condition);
    while (v->kind == INSTR_OP && v->op == OP_py_bool) v = instr_at(e, v->args[0]);
    return v->kind == INSTR_OP && (op_info(v->op)->flags & OPF_COMPARES) != 0 &&
           instr_at(e, v->args[0])->dtype == DT_F64;
}

/* Can iterations be done side by side? */
static bool
is_apart(const RegionFor *loop)
{
    return loop->independent && loop->carried.len == 0;
}

/* The variable that a branch in the block makes of the value; -1. */
static int32_t
merged_into(const RegionBlock *block, int32_t at)
{
    int32_t found = -1;
    for (int i = 0; i < block->len && found < 0; i++) {
        const RegionIf *branch = block->at[i].branch;
        if (branch == NULL) continue;
        for (int k = 0; k < branch->merged.len && found < 0; k++)
            if (branch->merged.at[k].arm[0] == at || branch->merged.at[k].arm[1] == at)
                found = branch->merged.at[k].variable;
        for (int arm = 0; arm < 2 && found < 0; arm++) found = merged_into(&branch->arm[arm], at);
    }
    return found;
}

/* Does the variable say whether the loop is left? */
static bool
says_to_leave(const Emit *e, const RegionFor *loop, int32_t variable)
{
    for (int i = 0; i < loop->carried.len; i++)
        if (loop->carried.at[i].variable == loop->leaves) {
            int32_t next = loop->carried.at[i].next, read = -1;
            for (int32_t at = e->kernel->region->body; at < e->kernel->instrs.len && read < 0; at++)
                if (instr_at(e, at)->kind == INSTR_CARRIED && instr_at(e, at)->operand == variable)
                    read = at;
            if (read < 0 || read == next) return read >= 0;
            int32_t outer = merged_into(&loop->body, read);
            return outer >= 0 && says_to_leave(e, loop, outer);
        }
    return false;
}

/* Where one arm leaves the loop there is a jump anyway.  With it the next iteration need not wait
   for what the condition compares. */
static bool
arm_leaves(const Emit *e, const RegionIf *branch, const RegionFor *loop)
{
    for (int i = 0; i < branch->merged.len; i++)
        if (says_to_leave(e, loop, branch->merged.at[i].variable)) return true;
    return false;
}

bool
region_chooses(const Emit *e, const RegionIf *branch, const RegionFor *loop)
{
    int operations = 0, most = is_apart(loop) ? MOST_SIDE_BY_SIDE : MOST_OPERATIONS;
    return e->quick && e->kernel->region->guesses && loop->innermost &&
           arms_are_harmless(e, branch, &operations) && operations > branch->merged.len &&
           operations <= most && !arm_leaves(e, branch, loop);
}

/* The kinds of a choice between floats.  The C compiler makes a jump where it knows how the two are
   computed, or where an int decides; not of a choice between bits, which can be done for several
   iterations at once, but waits longer for the two.  Where the two are there before the loop an int
   chooses between their bits. */
static const char CHOICE_OF_BITS[] = "INLINE T choose_bits_T(bool c, T a, T b) {\n"
                                     "    union { T f; I i; } x = {a}, y = {b};\n"
                                     "    y.i ^= (x.i ^ y.i) & -(I)c;\n"
                                     "    return y.f;\n"
                                     "}\n";
static const char CHOICE_BY_INT[] = "INLINE T choose_int_T(bool c, T a, T b) {\n"
                                    "    T test = c;\n"
                                    "    __asm__(\"\" : \"+R\"(test), \"+R\"(a), \"+R\"(b));\n"
                                    "    return test > 0 ? a : b;\n"
                                    "}\n";
static const char CHOICE_OF_FIXED[] = "INLINE T choose_fixed_T(bool c, T a, T b) {\n"
                                      "    union { T f; I i; } x = {a}, y = {b};\n"
                                      "    __asm__(\"\" : \"+r\"(x.i), \"+r\"(y.i));\n"
                                      "    x.i = c ? x.i : y.i;\n"
                                      "    return x.f;\n"
                                      "}\n";
static const char CHOICE_BY_FLOAT[] = "INLINE T choose_float_T(bool c, T a, T b) {\n"
                                      "    __asm__(\"\" : \"+R\"(a), \"+R\"(b));\n"
                                      "    return c ? a : b;\n"
                                      "}\n";

/* Defines the function for the value's type, T in the text; I is the int of its size, R its
   register. */
static void
define_choice(Emit *e, const char *key, const char *text, int32_t at)
{
    DType dtype = instr_at(e, at)->dtype;
    if (!prelude_first(e->prelude, key)) return;
    for (; *text != '\0'; text++) {
        if (*text == 'T')
            text_put(e->prelude->head, dtype_name(dtype));
        else if (*text == 'R')
            text_put(e->prelude->head, body_constraint(e, at));
        else if (*text == 'I' && text[1] != 'N')
            text_printf(e->prelude->head, "__INT%d_TYPE__", (int)dtype_size(dtype) * 8);
        else
            text_printf(e->prelude->head, "%c", *text);
    }
}

/* Is it the name of a value that is computed once, its negative, or a number? */
static bool
is_fixed(const char *text)
{
    return *text == '(' || text[*text == '-'] == 's';
}

/* `yes` where the condition holds, else `no`, as an expression; `at` is one of the two. */
static void
put_choice(Emit *e, const RegionIf *branch, const RegionFor *loop, int32_t at, const char *yes,
           const char *no, Text *out)
{
    DType dtype = instr_at(e, at)->dtype;
    bool floats = dtype == DT_F64 || dtype == DT_F32,
         by_float = compares_floats(e, branch->condition);
    char test[16], key[32];
    region_name(e, branch->condition, test, sizeof test);
    if (dtype == DT_BOOL) {
        /* gcc 13 makes a jump of `test ? yes : no`, and of all that goes with it */
        text_printf(out, "(%s & %s) | (!%s & %s)", test, yes, test, no);
        return;
    }
    if (!floats || (by_float && is_apart(loop))) {
        text_printf(out, "%s ? %s : %s", test, yes, no);
        return;
    }
    bool fixed = !by_float && is_fixed(yes) && is_fixed(no);
    const char *how = is_apart(loop) ? "bits" : by_float ? "float" : fixed ? "fixed" : "int";
    snprintf(key, sizeof key, "choose_%s_%s", how, dtype_name(dtype));
    define_choice(e, key,
                  is_apart(loop) ? CHOICE_OF_BITS
                  : by_float     ? CHOICE_BY_FLOAT
                  : fixed        ? CHOICE_OF_FIXED
                                 : CHOICE_BY_INT,
                  at);
    text_printf(out, "%s(%s, %s, %s)", key, test, yes, no);
}

static const char *
neutral(const Instr *v)
{
    bool product = v->op == OP_multiply || v->op == OP_py_mul;
    if (v->dtype == DT_I64) return product ? "1" : "0";
    if (product) return "1.0";
    return v->op == OP_subtract || v->op == OP_py_sub ? "0.0" : "-0.0";
}

/* v7 = v4 + (test ? v6 : -0.0) */
static void
emit_running(Emit *e, const RegionIf *branch, const RegionFor *loop, int arm,
             const Running *running)
{
    const Instr *v = instr_at(e, running->made);
    const char *type = dtype_name(v->dtype);
    char name[2][16], other[16], neutral_text[24];
    Text choice = {0};
    region_name(e, running->other, other, sizeof other);
    snprintf(neutral_text, sizeof neutral_text, "(%s)%s", type, neutral(v));
    put_choice(e, branch, loop, running->made, arm == 0 ? other : neutral_text,
               arm == 0 ? neutral_text : other, &choice);
    emit_line(e, "const %s y%d = %s;", type, running->made, choice.data);
    region_name(e, running->kept, name[running->place], sizeof name[0]);
    snprintf(name[1 - running->place], sizeof name[0], "y%d", running->made);
    bool product = v->op == OP_multiply || v->op == OP_py_mul;
    bool sum = v->op == OP_add || v->op == OP_py_add;
    if (v->dtype == DT_I64 && !e->kernel->region->steady[running->made]) {
        emit_line(e, "i64 v%d;", running->made);
        emit_line(e, "if (__builtin_%s_overflow(%s, %s, &v%d)) %s",
                  product ? "mul"
                  : sum   ? "add"
                          : "sub",
                  name[0], name[1], running->made, REGION_FAIL);
    } else
        emit_line(e, "const %s v%d = (%s)(%s %c %s);", type, running->made, type, name[0],
                  product ? '*'
                  : sum   ? '+'
                          : '-',
                  name[1]);
    e->mark[running->made] = e->body;
    text_free(&choice);
}

/* Is what the arm makes already the other arm's number where the arm was not taken?  An instruction
   that several variables take is running for one of them. */
static bool
is_chosen(const Emit *e, const RegionIf *branch, const RegionMerged *m, int arm)
{
    Running running;
    return running_in(e, branch, arm, m->arm[arm], &running) && running.kept == m->arm[1 - arm];
}

/* Are they the same number in each iteration? */
static bool
is_same_number(const Emit *e, int32_t a, int32_t b)
{
    const Instr *v = instr_at(e, a), *w = instr_at(e, b);
    if (a == b) return true;
    if (v->kind != INSTR_LOAD || w->kind != INSTR_LOAD || v->level == LEVEL_ONCE ||
        w->level == LEVEL_ONCE)
        return false;
    const RegionElement *p = &e->kernel->region->elements.at[v->operand];
    const RegionElement *q = &e->kernel->region->elements.at[w->operand];
    return p->reuse == REUSE_BEFORE && q->reuse == REUSE_BEFORE && p->source == q->source;
}

static bool
is_sum_of_floats(const Emit *e, const Instr *v)
{
    bool sum = v->kind == INSTR_OP && (v->op == OP_add || v->op == OP_py_add ||
                                       v->op == OP_subtract || v->op == OP_py_sub);
    return sum && (v->dtype == DT_F64 || v->dtype == DT_F32) && all_args_are(e, v, v->dtype);
}

/* A constant whose negative is added for the same bits: of a NaN the sign would be another. */
static bool
can_be_negated(const Instr *v)
{
    double wide;
    float narrow;
    memcpy(&wide, v->bits, sizeof wide);
    memcpy(&narrow, v->bits, sizeof narrow);
    return v->kind == INSTR_CONST && (v->dtype == DT_F64 ? !isnan(wide) : !isnan(narrow));
}

/* Both arms add to one number: what is added is chosen, so that one addition waits for the number
   and no choice does.  A difference becomes a sum with the negative of a constant. */
static bool
emit_common(Emit *e, const RegionIf *branch, const RegionFor *loop, const RegionMerged *m)
{
    const Instr *v[2] = {instr_at(e, m->arm[0]), instr_at(e, m->arm[1])};
    char name[2][24], kept[16];
    bool minus[2];
    for (int arm = 0; arm < 2; arm++) {
        if (!is_sum_of_floats(e, v[arm]) || v[arm]->dtype != v[0]->dtype) return false;
        minus[arm] = v[arm]->op == OP_subtract || v[arm]->op == OP_py_sub;
    }
    if (!is_same_number(e, v[0]->args[0], v[1]->args[0])) return false;
    for (int arm = 0; arm < 2; arm++) {
        bool turned = minus[arm] && !minus[1 - arm];
        if (turned && !can_be_negated(instr_at(e, v[arm]->args[1]))) return false;
        name[arm][0] = '-';
        region_name(e, v[arm]->args[1], name[arm] + turned, sizeof kept);
    }
    Text choice = {0};
    const char *type = dtype_name(v[0]->dtype);
    region_name(e, v[0]->args[0], kept, sizeof kept);
    put_choice(e, branch, loop, m->arm[0], name[0], name[1], &choice);
    emit_line(e, "const %s z%d = %s;", type, m->variable, choice.data);
    emit_line(e, "const %s x%d = (%s)(%s %c z%d);", type, m->variable, type, kept,
              minus[0] && minus[1] ? '-' : '+', m->variable);
    text_free(&choice);
    return true;
}

static void
emit_merged(Emit *e, const RegionIf *branch, const RegionFor *loop, const RegionMerged *m)
{
    DType dtype = instr_at(e, m->arm[0])->dtype;
    char yes[16], no[16];
    Text choice = {0};
    if (m->arm[0] != m->arm[1] && emit_common(e, branch, loop, m)) return;
    region_name(e, m->arm[0], yes, sizeof yes);
    region_name(e, m->arm[1], no, sizeof no);
    if (m->arm[0] == m->arm[1] || is_chosen(e, branch, m, 0))
        text_put(&choice, yes);
    else if (is_chosen(e, branch, m, 1))
        text_put(&choice, no);
    else
        put_choice(e, branch, loop, m->arm[0], yes, no, &choice);
    emit_line(e, "const %s x%d = %s;", dtype_name(dtype), m->variable, choice.data);
    text_free(&choice);
}

void
region_choice(Emit *e, const RegionIf *branch, const RegionFor *loop)
{
    for (int arm = 0; arm < 2; arm++) {
        const RegionBlock *block = &branch->arm[arm];
        for (int i = 0; i < block->len; i++) {
            int32_t at = block->at[i].instr;
            Running running;
            if (block->at[i].branch != NULL)
                region_choice(e, block->at[i].branch, loop);
            else if (running_in(e, branch, arm, at, &running)) {
                emit_running(e, branch, loop, arm, &running);
                region_keep_flags(e, block, at);
            } else
                region_statement(e, block, at, loop);
        }
    }
    for (int i = 0; i < branch->merged.len; i++)
        emit_merged(e, branch, loop, &branch->merged.at[i]);
}
