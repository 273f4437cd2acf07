/* A kept loop, with the loops and branches in it, as C, in two variants with the same statements.

   The quick variant checks indices before the loops where it can (lower/region_bounds.c), and takes
   for granted that no index is negative, that rows lie as in the array seen and that no int among
   indices overflows.  Where that does not hold it fails; the caller undoes what is in the log and
   calls the careful variant, which does what Python does with any index and in any layout, and is
   compiled when it is needed.  Where that fails, CPython does the loop.

   A function is, in order:

     arguments, values from outside
     the log's first room
     the loops (region_head.c), with statements in them (here) and elements (region_element.c)
     results
     fail: the caller undoes what is in the log

   Names as in c.c: n sizes, q operands, s values done once, v values of one iteration, u variables;
   t, count and step with the loop's number; rows, used and room with a list's; of values l and h,
   the lowest and highest; of elements f (what the iteration before had), g (kept in a register). */
#include "emit.h"

const char REGION_FAIL[] = "goto fail;";

void
region_name(const Emit *e, int32_t at, char *out, size_t size)
{
    snprintf(out, size, "%c%d", instr_at(e, at)->level == LEVEL_ONCE ? 's' : 'v', at);
}

const RegionFor *
region_head(const Emit *e, const RegionFor *loop)
{
    return !e->quick && loop->with != NULL ? loop->with : loop;
}

/* ---- before the loops ---- */

static void
emit_arguments(Emit *e)
{
    const Kernel *k = e->kernel;
    const RegionLoop *r = k->region;
    int nsizes = 0;
    for (int i = 0; i < r->arrays.len; i++) {
        const RegionArray *a = &r->arrays.at[i];
        for (int axis = 0; axis < a->rank; axis++) {
            if (a->length[axis] >= nsizes) nsizes = a->length[axis] + 1;
            if (a->stride[axis] >= nsizes) nsizes = a->stride[axis] + 1;
        }
    }
    for (int i = 0; i < nsizes; i++) emit_line(e, "const int64_t n%d = args->size[%d];", i, i);
    for (int o = 0; o < k->operands.len; o++)
        emit_line(e, "char *restrict const q%d = args->ptr[%d];", o, k->operands.at[o].pointer);
}

/* "n1 < n2 * n3 || …": where the elements of an array that is written may overlap, unless the axes
   lie within one another, the last one innermost or the first one (`turned`). */
static void
put_overlap(const RegionArray *a, bool turned, Text *out)
{
    for (int i = 0; i + 1 < a->rank; i++) {
        int outer = turned ? i + 1 : i, inner = turned ? i : i + 1;
        text_printf(out, "%sn%d < n%d * n%d", i > 0 ? " || " : "", a->stride[outer],
                    a->length[inner], a->stride[inner]);
    }
}

/* So the C compiler knows, too, that a number that has been an index is far from the ends of int64.
 */
static void
emit_lengths(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = 0; i < r->arrays.len; i++)
        for (int axis = 0; axis < r->arrays.at[i].rank; axis++)
            emit_line(e, "if ((uint64_t)n%d > 1ull << 60) return 1;", r->arrays.at[i].length[axis]);
}

/* What the quick variant takes for granted of layouts: rows as in the array seen; elements of an
   array that is written do not overlap. */
static void
emit_layouts(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    emit_lengths(e);
    for (int i = 0; i < r->arrays.len; i++) {
        const RegionArray *a = &r->arrays.at[i];
        int last = a->rank - 1, size = (int)dtype_size(e->kernel->operands.at[a->operand].dtype);
        Text rows = {0}, columns = {0};
        put_overlap(a, false, &rows);
        put_overlap(a, true, &columns);
        if (a->unit) emit_line(e, "if (n%d != %d) return 1;", a->stride[last], size);
        for (int axis = 0; axis < a->rank && a->stored; axis++) {
            int n = a->stride[axis];
            if (a->unit && axis == last) continue;
            if (a->rank == 1)
                emit_line(e, "if (n%d < %d && n%d > -%d) return 1;", n, size, n, size);
            else
                emit_line(e, "if (n%d < %d) return 1;", n, size);
        }
        if (a->stored && a->rank > 1 && a->unit)
            emit_line(e, "if (%s) return 1;", rows.data);
        else if (a->stored && a->rank > 1)
            emit_line(e, "if ((%s) && (%s)) return 1;", rows.data, columns.data);
        text_free(&rows);
        text_free(&columns);
    }
}

static void
emit_once(Emit *e)
{
    body_begin(e, 0, 1);
    for (int32_t i = 0; i < e->kernel->region->body; i++) {
        if (instr_at(e, i)->kind == INSTR_OP)
            region_operation(e, i, NULL, "return 1;");
        else
            scalar_value(e, i);
    }
}

/* ---- statements ---- */

static void emit_block(Emit *e, const RegionBlock *block, const RegionFor *loop);

/* A store that the C compiler cannot leave out; to a list, too. */
static bool
stores_each_time(const Emit *e, const RegionStmt *stmt)
{
    if (stmt->instr < 0) return false;
    InstrKind kind = instr_at(e, stmt->instr)->kind;
    if (kind == INSTR_APPEND || kind == INSTR_DRAW) return true;
    if (instr_at(e, stmt->instr)->kind != INSTR_STORE) return false;
    const Instr *v = instr_at(e, stmt->instr);
    Reuse reuse = e->kernel->region->elements.at[v->operand].reuse;
    return !e->quick || (reuse != REUSE_KEPT && reuse != REUSE_TURN);
}

static bool
any_store(const Emit *e, const RegionBlock *block)
{
    for (int i = 0; i < block->len; i++)
        if (stores_each_time(e, &block->at[i])) return true;
    return false;
}

static bool is_computed(const Emit *e, const RegionBlock *block, int32_t at, int depth);

/* Does what the branch in `block` leaves in the variable count as computed there? */
static bool
merged_is_computed(const Emit *e, const RegionBlock *block, int32_t variable, int depth)
{
    for (int i = 0; i < block->len; i++) {
        int32_t at = block->at[i].instr;
        if (at >= 0 && instr_at(e, at)->kind == INSTR_CARRIED &&
            instr_at(e, at)->operand == variable && is_computed(e, block, at, depth + 1))
            return true;
    }
    return false;
}

static bool leaves_computed(const Emit *e, const RegionBlock *in, const RegionBlock *block,
                            int32_t at, int depth);

static bool
loop_leaves_computed(const Emit *e, const RegionFor *loop, const RegionBlock *block, int32_t at,
                     int depth)
{
    if (e->quick && loop->instead.len > 0)
        return leaves_computed(e, &loop->instead, block, at, depth);
    return leaves_computed(e, &loop->lanes, block, at, depth) ||
           leaves_computed(e, &loop->body, block, at, depth);
}

/* The same for what the block leaves, if it is the arm of a branch somewhere in `in`. */
static bool
leaves_computed(const Emit *e, const RegionBlock *in, const RegionBlock *block, int32_t at,
                int depth)
{
    for (int i = 0; i < in->len; i++) {
        const RegionIf *branch = in->at[i].branch;
        const RegionFor *loop = in->at[i].loop;
        if (loop != NULL && loop_leaves_computed(e, loop, block, at, depth)) return true;
        for (int arm = 0; branch != NULL && arm < 2; arm++) {
            if (&branch->arm[arm] != block) {
                if (leaves_computed(e, &branch->arm[arm], block, at, depth)) return true;
                continue;
            }
            for (int k = 0; k < branch->merged.len; k++)
                if (branch->merged.at[k].arm[arm] == at &&
                    merged_is_computed(e, in, branch->merged.at[k].variable, depth))
                    return true;
        }
    }
    return false;
}

/* Does a loop that reduces keep the value for its sum? */
static bool
is_folded(const Emit *e, int32_t at)
{
    const RegionLoop *r = e->kernel->region;
    const RegionFor *loop = r->home[at] < 0 ? NULL : r->loop[r->home[at]];
    return loop != NULL && loop->folds != OP_input && loop->each == at;
}

/* Has the loop a division or a root?  Then it pays to do several iterations at once, though what is
   added up stays in order: 1.8 times as fast for pairs of bodies (benchmarks/loop_programs.py,
   nbody). */
static bool
has_long_operation(const Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    for (int32_t at = r->body; at < e->kernel->instrs.len; at++) {
        Op op = instr_at(e, at)->op;
        if (r->home[at] == loop->number && instr_at(e, at)->kind == INSTR_OP &&
            (op == OP_divide || op == OP_py_div || op == OP_sqrt || op == OP_py_sqrt))
            return true;
    }
    return false;
}

/* Is it a sum in a register, which the next iteration's sum needs, and memory in the end? */
static bool
is_kept_sum(const Emit *e, const RegionBlock *block, int32_t at)
{
    const RegionLoop *r = e->kernel->region;
    const Instr *v = instr_at(e, at);
    const RegionFor *loop = r->home[at] < 0 ? NULL : r->loop[r->home[at]];
    int32_t source = -1;
    if (!e->quick || loop == NULL || block != &loop->body || v->kind != INSTR_OP ||
        !has_long_operation(e, loop))
        return false;
    for (int k = 0; k < v->nargs; k++) {
        const Instr *arg = instr_at(e, v->args[k]);
        if (arg->kind == INSTR_LOAD && arg->level != LEVEL_ONCE && !may_ignore(e, v, k) &&
            r->elements.at[arg->operand].reuse == REUSE_KEPT)
            source = r->elements.at[arg->operand].source;
    }
    bool stored = false;
    for (int i = 0; i < r->elements.len && source >= 0; i++) {
        const RegionElement *other = &r->elements.at[i];
        if (other->reuse != REUSE_KEPT || other->source != source ||
            !region_is_store(e->kernel, other))
            continue;
        if (stored || other->in_arm || instr_at(e, other->instr)->args[0] != at) return false;
        stored = true;
    }
    return stored;
}

/* Is the value computed whenever the block is executed, since it goes to memory, decides about a
   store, or goes into something that may raise a flag itself? */
static bool
is_computed(const Emit *e, const RegionBlock *block, int32_t at, int depth)
{
    enum { DEEPEST = 8 };
    const RegionFor *top = e->kernel->region->top;
    if (is_folded(e, at) || is_kept_sum(e, block, at)) return true;
    if (depth < DEEPEST && loop_leaves_computed(e, top, block, at, depth)) return true;
    for (int i = 0; i < block->len && depth < DEEPEST; i++) {
        const RegionStmt *stmt = &block->at[i];
        if (stmt->branch != NULL && stmt->branch->condition == at &&
            (any_store(e, &stmt->branch->arm[0]) || any_store(e, &stmt->branch->arm[1])))
            return true;
        if (stmt->instr < 0) continue;
        const Instr *v = instr_at(e, stmt->instr);
        for (int k = 0; k < v->nargs; k++) {
            if (v->args[k] != at || may_ignore(e, v, k)) continue;
            if (stores_each_time(e, stmt) || may_raise_flags(v) ||
                (v->kind == INSTR_OP && is_computed(e, block, stmt->instr, depth + 1)))
                return true;
        }
    }
    return false;
}

/* The C compiler leaves out what nobody needs, and moves the rest to where it is needed: into an
   arm, or behind the loop.  What NumPy would warn of is computed all the same. */
void
region_keep_flags(Emit *e, const RegionBlock *block, int32_t at)
{
    if (!e->flags || !may_raise_flags(instr_at(e, at)) || is_computed(e, block, at, 0)) return;
    if (dtype_is_complex(instr_at(e, at)->dtype))
        emit_line(e, "__asm__ volatile(\"\" : : \"%s\"(v%d.re), \"%s\"(v%d.im));",
                  body_float_constraint, at, body_float_constraint, at);
    else
        emit_line(e, "__asm__ volatile(\"\" : : \"%s\"(v%d));", body_constraint(e, at), at);
}

static void
emit_instr(Emit *e, int32_t at, const RegionFor *loop)
{
    const Instr *v = instr_at(e, at);
    char start[16];
    switch (v->kind) {
    case INSTR_INDEX:
        if (v->operand < 0) at = region_head(e, loop)->index;
        region_name(e, region_head(e, loop)->start, start, sizeof start);
        if (v->operand > 0)
            emit_line(e, "const i64 v%d = %s + (t%d + %d) * step%d;", at, start, loop->number,
                      v->operand, loop->number);
        else
            emit_line(e, "const i64 v%d = %s + t%d * step%d;", at, start, loop->number,
                      loop->number);
        e->mark[at] = e->body;
        break;
    case INSTR_CARRIED:
        emit_line(e, "const %s v%d = x%d;", dtype_name(v->dtype), at, v->operand);
        e->mark[at] = e->body;
        break;
    case INSTR_OP: region_operation(e, at, loop, REGION_FAIL); break;
    case INSTR_CONST: /* the index of an unrolled loop */
        emit_line(e, "const i64 v%d = (i64)0x%llxull;", at, (unsigned long long)v->bits[0]);
        e->mark[at] = e->body;
        break;
    case INSTR_DOT: region_dot(e, at, loop); break;
    case INSTR_APPEND: region_append(e, at); break;
    case INSTR_DRAW: region_draw(e, at); break;
    case INSTR_CALL: region_call(e, at); break;
    default: region_element(e, at, loop); break;
    }
    if (e->comments && v->kind != INSTR_OP && v->node != NO_NODE &&
        graph_node(e->graph, v->node)->line > 0)
        emit_line(e, "/* line %d: %s */", graph_node(e->graph, v->node)->line,
                  op_info(graph_node(e->graph, v->node)->op)->name);
}

void
region_statement(Emit *e, const RegionBlock *block, int32_t at, const RegionFor *loop)
{
    emit_instr(e, at, loop);
    region_keep_flags(e, block, at);
}

/* A branch that replaces a running number by one that does not depend on it, as the search for a
   largest one does: rarely taken, and foreseen by the processor, while a choice without a jump
   would make each iteration wait for the one before. */
static bool
replaces_rarely(const Emit *e, const RegionIf *branch, int arm)
{
    for (int i = 0; i < branch->merged.len; i++) {
        const RegionMerged *m = &branch->merged.at[i];
        const Instr *kept = instr_at(e, m->arm[1 - arm]), *made = instr_at(e, m->arm[arm]);
        if (kept->kind == INSTR_CARRIED && dtype_is_float(kept->dtype) && made->kind != INSTR_OP &&
            made->kind != INSTR_CARRIED)
            return true;
    }
    return false;
}

static void
emit_if(Emit *e, const RegionIf *branch, const RegionFor *loop)
{
    char name[16];
    bool rare = replaces_rarely(e, branch, 0) || replaces_rarely(e, branch, 1);
    if (loop != NULL && !rare && region_chooses(e, branch, loop)) {
        region_choice(e, branch, loop);
        return;
    }
    for (int i = 0; i < branch->merged.len; i++) {
        const RegionMerged *m = &branch->merged.at[i];
        emit_line(e, "%s x%d;", dtype_name(instr_at(e, m->arm[0])->dtype), m->variable);
    }
    region_name(e, branch->condition, name, sizeof name);
    emit_line(e, "if (%s) {", name);
    for (int arm = 0; arm < 2; arm++) {
        if (arm == 1 && branch->arm[1].len == 0 && branch->merged.len == 0) break;
        if (arm == 1) emit_line(e, "} else {");
        e->indent++;
        if (loop != NULL && loop->innermost && replaces_rarely(e, branch, arm))
            emit_line(e, "__asm__ volatile(\"\");");
        emit_block(e, &branch->arm[arm], loop);
        for (int i = 0; i < branch->merged.len; i++) {
            const RegionMerged *m = &branch->merged.at[i];
            region_name(e, m->arm[arm], name, sizeof name);
            emit_line(e, "x%d = %s;", m->variable, name);
        }
        e->indent--;
    }
    emit_line(e, "}");
}

/* Some iterations, which carry nothing. */
void
region_lanes_body(Emit *e, const RegionFor *loop)
{
    emit_block(e, &loop->lanes, loop);
}

/* What the variable will be before its remainder, at the end of the iteration or of the next. */
void
region_look_ahead(Emit *e, const RegionCarried *c, bool next)
{
    uint64_t factor = next ? c->factor * c->factor : c->factor;
    uint64_t term = next ? c->factor * c->term + c->term : c->term;
    emit_line(e, "%sahead%d = (uint64_t)x%d * 0x%llxull + 0x%llxull;", next ? "" : "uint64_t ",
              c->variable, c->variable, (unsigned long long)factor, (unsigned long long)term);
}

/* What the next iteration starts from: elements first, since a variable may be one of them. */
void
region_body(Emit *e, const RegionFor *loop)
{
    char name[16];
    if (e->quick && loop->innermost) region_begin_turn(e, loop);
    emit_block(e, &loop->body, loop);
    if (e->quick && loop->innermost) region_end_turn(e, loop);
    if (e->quick) region_after_iteration(e, loop);
    for (int i = 0; i < loop->carried.len; i++) {
        const RegionCarried *c = &loop->carried.at[i];
        if (e->quick && c->ahead) region_look_ahead(e, c, true);
        region_name(e, c->next, name, sizeof name);
        emit_line(e, "x%d = %s;", c->variable, name);
    }
    if (loop->folds != OP_input) {
        region_name(e, loop->each, name, sizeof name);
        emit_line(e, "each%d[t%d - from%d] = %s;", loop->number, loop->number, loop->number, name);
    }
    if (loop->leaves >= 0) emit_line(e, "if (x%d) break;", loop->leaves);
}

static void
declare_variables(Emit *e, const RegionFor *loop)
{
    char name[16];
    for (int i = 0; i < loop->carried.len; i++) {
        const RegionCarried *c = &loop->carried.at[i];
        region_name(e, c->first, name, sizeof name);
        emit_line(e, "%s x%d = %s;", dtype_name(instr_at(e, c->first)->dtype), c->variable, name);
    }
    if (loop->folds != OP_input)
        emit_line(e, "%s x%d;", dtype_name(instr_at(e, loop->each)->dtype), loop->folded);
}

static void
emit_block(Emit *e, const RegionBlock *block, const RegionFor *loop)
{
    for (int i = 0; i < block->len; i++) {
        const RegionStmt *stmt = &block->at[i];
        int together = region_side_by_side(e, block, i);
        if (together > 0) {
            i += together - 1;
            continue;
        }
        if (stmt->instr >= 0) region_statement(e, block, stmt->instr, loop);
        if (stmt->branch != NULL) emit_if(e, stmt->branch, loop);
        if (stmt->loop == NULL) continue;
        if (e->quick && stmt->loop->instead.len > 0) {
            emit_block(e, &stmt->loop->instead, loop);
            continue;
        }
        declare_variables(e, stmt->loop);
        open_block(e, "");
        region_loop(e, stmt->loop);
        close_block(e);
    }
}

/* The outermost loop. */
static void
emit_top(Emit *e)
{
    const RegionFor *top = e->kernel->region->top;
    if (e->quick && top->instead.len > 0) {
        region_begin(e);
        emit_block(e, &top->instead, NULL);
    } else {
        declare_variables(e, top);
        region_loop(e, top);
    }
}

/* ---- the function ---- */

static void
emit_results(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    Text type = {0};
    for (int i = 0; i < r->top->carried.len; i++) {
        int32_t number = r->top->carried.at[i].variable;
        const RegionVariable *variable = &r->variables.at[number];
        if (variable->operand < 0) continue;
        emit_line(e, "*(%s *)q%d = x%d;", region_memory_type(e, variable->dtype, &type),
                  variable->operand, number);
    }
    text_free(&type);
    region_appended(e);
}

void
emit_region(Emit *e)
{
    Text unused = {0};
    prelude_type(e->prelude, DT_I64, 1, &unused);
    for (int32_t i = 0; i < e->kernel->instrs.len; i++)
        prelude_type(e->prelude, instr_at(e, i)->dtype, 1, &unused);
    text_free(&unused);
    emit_arguments(e);
    if (e->quick) emit_layouts(e);
    emit_once(e);
    emit_top(e);
    emit_results(e);
    emit_line(e, "return 0;");
    emit_line(e, "fail:");
    emit_line(e, "return 1;");
}
