/* A kept loop, with the loops and branches in it, as C.  The function is, in order:

     arguments, values from outside
     the log's first room
     per loop: the number of its iterations
       indices that are linear in its variable: at the first, second and last iteration, with
         overflow checks; all of them in bounds, or fail (x first, d step of an index)
       segments: runs of iterations in which no index changes its sign, so that each access is
         base + t * w without a test (b base, w step in bytes); a segment ends after some time, so
         that signals are looked for
       the loop; f is what the iteration before stored where that is read again
     results
     fail: the caller undoes what is in the log

   Names as in c.c: n sizes, q operands, s values done once, v values of one iteration, u variables;
   t, count, step and stop with the loop's number. */
#include "emit.h"

static const char FAIL[] = "goto fail;";

/* Defines the type for memory, "f64m", and returns its name. */
static const char *
memory_type(Emit *e, DType dtype, Text *out)
{
    out->len = 0;
    prelude_memory(e->prelude, dtype, 1, out);
    return out->data ? out->data : "";
}

/* A value's name at either level. */
static void
name_of(const Emit *e, int32_t at, char *out, size_t size)
{
    snprintf(out, size, "%c%d", instr_at(e, at)->level == LEVEL_ONCE ? 's' : 'v', at);
}

/* ---- checked arithmetic ---- */

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
   follows. */
static bool
may_overflow(const Instr *v)
{
    bool negates = v->op == OP_negative || (v->op == OP_absolute && dtype_is_signed(v->dtype));
    return v->kind == INSTR_OP && dtype_is_integer(v->dtype) && v->dtype == v->from &&
           (overflow_builtin(v->op) != NULL || negates);
}

static void
emit_checked(Emit *e, int32_t at, const char *a, const char *b, const char *fail)
{
    const Instr *v = instr_at(e, at);
    char name[16];
    const char *builtin = overflow_builtin(v->op);
    name_of(e, at, name, sizeof name);
    emit_line(e, "%s %s;", dtype_name(v->dtype), name);
    if (builtin != NULL) {
        emit_line(e, "if (__builtin_expect(%s(%s, %s, &%s), 0)) %s", builtin, a,
                  v->op == OP_square ? a : b, name, fail);
        return;
    }
    bool absolute = v->op == OP_absolute;
    if (absolute) emit_line(e, "%s = %s;", name, a);
    emit_line(e, "if (__builtin_expect(__builtin_sub_overflow((%s)0, %s, &%s), 0)) %s",
              dtype_name(v->dtype), a, name, fail);
    if (absolute) emit_line(e, "if (!(%s < 0)) %s = %s;", a, name, a);
}

/* An index that is linear in the induction variable, in the loop's body: emit_ends has checked that
   it does not overflow. */
static void
emit_linear(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    char a[16] = "", b[16] = "";
    name_of(e, v->args[0], a, sizeof a);
    if (v->nargs > 1) name_of(e, v->args[1], b, sizeof b);
    const char *sign = v->op == OP_py_add ? "+" : v->op == OP_py_mul ? "*" : "-";
    emit_line(e, "const i64 v%d = %s%s%s%s%s;", at, v->nargs > 1 ? a : "", v->nargs > 1 ? " " : "",
              sign, v->nargs > 1 ? " " : "", v->nargs > 1 ? b : a);
    e->mark[at] = e->body;
}

/* An operation at either level.  `fail`: the statement that leaves the case to CPython. */
static void
emit_operation(Emit *e, int32_t at, const char *fail)
{
    const Instr *v = instr_at(e, at);
    char a[16] = "", b[16] = "";
    Text unused = {0};
    prelude_type(e->prelude, v->dtype, 1, &unused);
    text_free(&unused);
    if (v->nargs > 0) name_of(e, v->args[0], a, sizeof a);
    if (v->nargs > 1) name_of(e, v->args[1], b, sizeof b);
    if (may_overflow(v))
        emit_checked(e, at, a, b, fail);
    else if (op_info(v->op)->kind == KIND_PYTHON)
        python_value(e, at, fail);
    else if (v->level == LEVEL_ONCE)
        scalar_value(e, at);
    else
        body_value(e, at);
    e->mark[at] = e->body;
}

/* ---- before the loop ---- */

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
        emit_line(e, "char *const q%d = args->ptr[%d];", o, k->operands.at[o].pointer);
}

static void
emit_once(Emit *e)
{
    body_begin(e, 0, 1);
    for (int32_t i = 0; i < e->kernel->region->body; i++) {
        if (instr_at(e, i)->kind == INSTR_OP)
            emit_operation(e, i, "return 1;");
        else
            scalar_value(e, i);
    }
}

/* The number of iterations; a loop that CPython would end with an error fails. */
static void
emit_count(Emit *e, const RegionFor *loop, const char *fail)
{
    int k = loop->number;
    char start[16], stop[16], step[16];
    name_of(e, loop->start, start, sizeof start);
    name_of(e, loop->stop, stop, sizeof stop);
    name_of(e, loop->step, step, sizeof step);
    emit_line(e, "const int64_t step%d = %s;", k, step);
    emit_line(e, "int64_t count%d = 0, t%d = 0;", k, k);
    emit_line(e, "if (step%d == 0) %s", k, fail);
    emit_line(e, "if (step%d > 0 ? %s < %s : %s > %s) {", k, start, stop, start, stop);
    emit_line(e, "    const uint64_t span = step%d > 0 ? (uint64_t)%s - %s", k, stop, start);
    emit_line(e, "                                     : (uint64_t)%s - %s;", start, stop);
    emit_line(e, "    const uint64_t stride = step%d > 0 ? step%d : -(uint64_t)step%d;", k, k, k);
    emit_line(e, "    if ((span - 1) / stride >= 1ull << 40) %s", fail);
    emit_line(e, "    count%d = (span - 1) / stride + 1;", k);
    emit_line(e, "}");
}

/* Is the element in the loop's own body, with indices that are linear in its variable? */
static const RegionElement *
linear_element(const Emit *e, const RegionStmt *stmt)
{
    if (stmt->instr < 0) return NULL;
    const Instr *v = instr_at(e, stmt->instr);
    if (v->kind != INSTR_LOAD && v->kind != INSTR_STORE) return NULL;
    const RegionElement *element = &e->kernel->region->elements.at[v->operand];
    return element->affine ? element : NULL;
}

static bool
any_linear(const Emit *e, const RegionFor *loop)
{
    for (int i = 0; i < loop->body.len; i++) {
        const RegionStmt *stmt = &loop->body.at[i];
        if (linear_element(e, stmt) != NULL) return true;
        if (stmt->instr >= 0 && stmt->instr != loop->index && instr_at(e, stmt->instr)->affine)
            return true;
    }
    return false;
}

static void
emit_end_of(Emit *e, const RegionElement *element)
{
    int number = instr_at(e, element->instr)->operand;
    const RegionArray *array = &e->kernel->region->arrays.at[element->array];
    char index[16];
    for (int axis = 0; axis < array->rank; axis++) {
        name_of(e, element->index[axis], index, sizeof index);
        emit_line(e, "if (%s < -n%d || %s >= n%d) %s", index, array->length[axis], index,
                  array->length[axis], FAIL);
        emit_line(e, "if (end == 0) x%d_%d = %s;", number, axis, index);
        emit_line(e, "if (end == 1) d%d_%d = %s - x%d_%d;", number, axis, index, number, axis);
    }
}

/* Checks the bounds of all linear indices and finds their first values and steps. */
static void
emit_ends(Emit *e, const RegionFor *loop)
{
    int k = loop->number;
    int32_t body = e->body;
    char start[16];
    if (!any_linear(e, loop)) return;
    for (int i = 0; i < loop->body.len; i++) {
        const RegionElement *element = linear_element(e, &loop->body.at[i]);
        if (element == NULL) continue;
        int number = instr_at(e, element->instr)->operand;
        for (int axis = 0; axis < e->kernel->region->arrays.at[element->array].rank; axis++)
            emit_line(e, "int64_t x%d_%d = 0, d%d_%d = 0;", number, axis, number, axis);
    }
    emit_line(e, "for (int end = 0; end < 3 && count%d > 0; end++) {", k);
    e->indent++;
    body_begin(e, 0, 1);
    name_of(e, loop->start, start, sizeof start);
    emit_line(
        e, "const i64 v%d = %s + (end == 0 ? 0 : end == 2 ? count%d - 1 : count%d > 1) * step%d;",
        loop->index, start, k, k, k);
    for (int i = 0; i < loop->body.len; i++) {
        const RegionStmt *stmt = &loop->body.at[i];
        const RegionElement *element = linear_element(e, stmt);
        if (element != NULL)
            emit_end_of(e, element);
        else if (stmt->instr >= 0 && stmt->instr != loop->index && instr_at(e, stmt->instr)->affine)
            emit_operation(e, stmt->instr, FAIL);
    }
    close_block(e);
    e->body = body;
}

/* ---- the loop ---- */

/* One index of an element, whose sign ends the segment. */
static void
emit_turn(Emit *e, const RegionFor *loop, int number, int axis)
{
    int k = loop->number;
    char x[24], d[24];
    snprintf(x, sizeof x, "x%d_%d", number, axis);
    snprintf(d, sizeof d, "d%d_%d", number, axis);
    open_block(e, "");
    emit_line(e, "const int64_t now = %s + t%d * %s;", x, k, d);
    emit_line(e, "const int64_t turn = now < 0 && %s > 0    ? t%d + (-now + %s - 1) / %s", d, k, d,
              d);
    emit_line(e, "                     : now >= 0 && %s < 0 ? t%d + now / -%s + 1", d, k, d);
    emit_line(e, "                                          : stop%d;", k);
    emit_line(e, "if (turn < stop%d) stop%d = turn;", k, k);
    close_block(e);
}

/* The base pointers for the segment, and what a follower reads first. */
static void
emit_base(Emit *e, const RegionFor *loop, const RegionElement *element)
{
    int number = instr_at(e, element->instr)->operand, k = loop->number;
    const RegionArray *array = &e->kernel->region->arrays.at[element->array];
    Text base = {0}, step = {0}, type = {0};
    for (int axis = 0; axis < array->rank; axis++) {
        text_printf(&base, " + (x%d_%d + t%d * d%d_%d < 0 ? x%d_%d + n%d : x%d_%d) * n%d", number,
                    axis, k, number, axis, number, axis, array->length[axis], number, axis,
                    array->stride[axis]);
        text_printf(&step, "%sd%d_%d * n%d", axis ? " + " : "", number, axis, array->stride[axis]);
    }
    emit_line(e, "char *const b%d = q%d%s;", number, array->operand, base.data);
    emit_line(e, "const int64_t w%d = %s;", number, step.data);
    if (element->follows >= 0) {
        DType dtype = instr_at(e, element->instr)->dtype;
        emit_line(e, "%s f%d = *(const %s *)(b%d + t%d * w%d)%s;", dtype_name(dtype), number,
                  memory_type(e, dtype, &type), number, k, number, dtype == DT_BOOL ? " != 0" : "");
    }
    text_free(&base);
    text_free(&step);
    text_free(&type);
}

/* A look for a signal comes once in SEGMENTS segments, which are of SEGMENT iterations at most. */
enum { SEGMENT = 1 << 16, SEGMENTS = 64 };

static void
emit_segment(Emit *e, const RegionFor *loop)
{
    int k = loop->number;
    emit_line(e, "int64_t stop%d = count%d - t%d > %d ? t%d + %d : count%d;", k, k, k, SEGMENT, k,
              SEGMENT, k);
    for (int i = 0; i < loop->body.len; i++) {
        const RegionElement *element = linear_element(e, &loop->body.at[i]);
        if (element == NULL) continue;
        for (int axis = 0; axis < e->kernel->region->arrays.at[element->array].rank; axis++)
            emit_turn(e, loop, instr_at(e, element->instr)->operand, axis);
    }
    for (int i = 0; i < loop->body.len; i++) {
        const RegionElement *element = linear_element(e, &loop->body.at[i]);
        if (element != NULL) emit_base(e, loop, element);
    }
}

/* Puts the address of an element into `out`; indices that are not linear are checked here. */
static void
emit_address(Emit *e, int number, const RegionFor *loop, char *out, size_t size)
{
    const RegionElement *element = &e->kernel->region->elements.at[number];
    const RegionArray *array = &e->kernel->region->arrays.at[element->array];
    if (element->affine) {
        snprintf(out, size, "b%d + t%d * w%d", number, loop->number, number);
        return;
    }
    Text place = {0};
    char index[16];
    for (int axis = 0; axis < array->rank; axis++) {
        name_of(e, element->index[axis], index, sizeof index);
        emit_line(e, "const int64_t k%d_%d = %s < 0 ? %s + n%d : %s;", number, axis, index, index,
                  array->length[axis], index);
        emit_line(e, "if (__builtin_expect((uint64_t)k%d_%d >= (uint64_t)n%d, 0)) %s", number, axis,
                  array->length[axis], FAIL);
        text_printf(&place, " + k%d_%d * n%d", number, axis, array->stride[axis]);
    }
    emit_line(e, "char *const p%d = q%d%s;", number, array->operand, place.data);
    snprintf(out, size, "p%d", number);
    text_free(&place);
}

static void
emit_element(Emit *e, int32_t at, const RegionFor *loop)
{
    const Instr *v = instr_at(e, at);
    const RegionElement *element = &e->kernel->region->elements.at[v->operand];
    char address[64], value[16];
    Text type = {0};
    const char *t = memory_type(e, v->dtype, &type);
    if (v->kind == INSTR_LOAD && element->follows >= 0) {
        emit_line(e, "const %s v%d = f%d;", dtype_name(v->dtype), at, v->operand);
    } else {
        emit_address(e, v->operand, loop, address, sizeof address);
        if (v->kind == INSTR_LOAD) {
            emit_line(e, "const %s v%d = *(const %s *)(%s)%s;", dtype_name(v->dtype), at, t,
                      address, v->dtype == DT_BOOL ? " != 0" : "");
        } else {
            name_of(e, v->args[0], value, sizeof value);
            if (region_logs(e, element)) region_log_entry(e, v->dtype, address);
            emit_line(e, "*(%s *)(%s) = %s;", t, address, value);
        }
    }
    e->mark[at] = e->body;
    text_free(&type);
}

static void emit_block(Emit *e, const RegionBlock *block, const RegionFor *loop);

/* Does an instruction of the block itself compute with the value, whatever it may be? */
static bool
used_here(const Emit *e, const RegionBlock *block, int32_t at)
{
    for (int i = 0; i < block->len; i++) {
        if (block->at[i].instr < 0) continue;
        const Instr *v = instr_at(e, block->at[i].instr);
        for (int k = 0; k < v->nargs; k++)
            if (v->args[k] == at && (v->kind != INSTR_OP || v->op != OP_where || k == 0))
                return true;
    }
    return false;
}

/* The C compiler leaves out what nobody needs, and moves the rest to where it is needed: into an
   arm, or behind the loop.  What NumPy would warn of is computed all the same. */
static void
keep_flags(Emit *e, const RegionBlock *block, int32_t at)
{
    const Instr *v = instr_at(e, at);
    bool raises = v->kind == INSTR_OP && !(op_info(v->op)->flags & OPF_NO_FLAGS) &&
                  (dtype_is_float(v->dtype) || dtype_is_float(v->from));
    if (!e->flags || !raises || used_here(e, block, at)) return;
    emit_line(e, "__asm__ volatile(\"\" : : \"%s\"(v%d));", body_constraint(e, at), at);
}

static void
emit_instr(Emit *e, int32_t at, const RegionFor *loop)
{
    const Instr *v = instr_at(e, at);
    char start[16];
    switch (v->kind) {
    case INSTR_INDEX:
        name_of(e, loop->start, start, sizeof start);
        emit_line(e, "const i64 v%d = %s + t%d * step%d;", at, start, loop->number, loop->number);
        e->mark[at] = e->body;
        break;
    case INSTR_CARRIED:
        emit_line(e, "const %s v%d = u%d;", dtype_name(v->dtype), at, v->operand);
        e->mark[at] = e->body;
        break;
    case INSTR_OP:
        if (v->affine)
            emit_linear(e, at);
        else
            emit_operation(e, at, FAIL);
        break;
    default: emit_element(e, at, loop); break;
    }
    if (e->comments && v->kind != INSTR_OP && v->node != NO_NODE &&
        graph_node(e->graph, v->node)->line > 0)
        emit_line(e, "/* line %d: %s */", graph_node(e->graph, v->node)->line,
                  op_info(graph_node(e->graph, v->node)->op)->name);
}

static void
emit_if(Emit *e, const RegionIf *branch, const RegionFor *loop)
{
    char name[16];
    for (int i = 0; i < branch->merged.len; i++) {
        const RegionMerged *m = &branch->merged.at[i];
        emit_line(e, "%s u%d;", dtype_name(instr_at(e, m->arm[0])->dtype), m->variable);
    }
    for (int arm = 0; arm < 2; arm++) {
        name_of(e, branch->condition, name, sizeof name);
        emit_line(e, "%sif (%s%s) {", arm == 0 ? "" : "} else ", arm == 0 ? "" : "!", name);
        e->indent++;
        emit_block(e, &branch->arm[arm], loop);
        for (int i = 0; i < branch->merged.len; i++) {
            const RegionMerged *m = &branch->merged.at[i];
            name_of(e, m->arm[arm], name, sizeof name);
            emit_line(e, "u%d = %s;", m->variable, name);
        }
        e->indent--;
    }
    emit_line(e, "}");
}

/* What the next iteration starts from: followers first, since a variable may be one of them. */
static void
emit_next(Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    char name[16];
    for (int i = 0; i < loop->body.len; i++) {
        const RegionElement *element = linear_element(e, &loop->body.at[i]);
        if (element == NULL || element->follows < 0) continue;
        const RegionElement *store = &r->elements.at[element->follows];
        name_of(e, instr_at(e, store->instr)->args[0], name, sizeof name);
        emit_line(e, "f%d = %s;", instr_at(e, element->instr)->operand, name);
    }
    for (int i = 0; i < loop->carried.len; i++) {
        name_of(e, loop->carried.at[i].next, name, sizeof name);
        emit_line(e, "u%d = %s;", loop->carried.at[i].variable, name);
    }
}

static void
declare_variables(Emit *e, const RegionFor *loop)
{
    char name[16];
    for (int i = 0; i < loop->carried.len; i++) {
        const RegionCarried *c = &loop->carried.at[i];
        name_of(e, c->first, name, sizeof name);
        emit_line(e, "%s u%d = %s;", dtype_name(instr_at(e, c->first)->dtype), c->variable, name);
    }
}

/* The loop itself, whose iterations are counted. */
static void
emit_turns(Emit *e, const RegionFor *loop)
{
    int k = loop->number;
    char head[64];
    emit_ends(e, loop);
    snprintf(head, sizeof head, "while (t%d < count%d) ", k, k);
    open_block(e, head);
    emit_line(e, "if (++segments %% %d == 0 && log->stop(log)) %s", SEGMENTS, FAIL);
    emit_segment(e, loop);
    snprintf(head, sizeof head, "for (; t%d < stop%d; t%d++) ", k, k, k);
    open_block(e, head);
    emit_block(e, &loop->body, loop);
    emit_next(e, loop);
    close_block(e);
    close_block(e);
}

static void
emit_block(Emit *e, const RegionBlock *block, const RegionFor *loop)
{
    for (int i = 0; i < block->len; i++) {
        const RegionStmt *stmt = &block->at[i];
        if (stmt->instr >= 0) {
            emit_instr(e, stmt->instr, loop);
            keep_flags(e, block, stmt->instr);
        }
        if (stmt->branch != NULL) emit_if(e, stmt->branch, loop);
        if (stmt->loop == NULL) continue;
        declare_variables(e, stmt->loop);
        open_block(e, "");
        emit_count(e, stmt->loop, FAIL);
        emit_turns(e, stmt->loop);
        close_block(e);
    }
}

static void
emit_results(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    Text type = {0};
    for (int i = 0; i < r->top->carried.len; i++) {
        int32_t number = r->top->carried.at[i].variable;
        const RegionVariable *variable = &r->variables.at[number];
        if (variable->operand < 0) continue;
        emit_line(e, "*(%s *)q%d = u%d;", memory_type(e, variable->dtype, &type), variable->operand,
                  number);
    }
    text_free(&type);
}

void
emit_region(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    Text unused = {0};
    prelude_type(e->prelude, DT_I64, 1, &unused);
    for (int32_t i = 0; i < e->kernel->instrs.len; i++)
        prelude_type(e->prelude, instr_at(e, i)->dtype, 1, &unused);
    text_free(&unused);
    emit_arguments(e);
    emit_once(e);
    emit_count(e, r->top, "return 1;");
    region_log(e);
    declare_variables(e, r->top);
    emit_turns(e, r->top);
    emit_results(e);
    emit_line(e, "log->at = at;");
    emit_line(e, "return 0;");
    emit_line(e, "fail:");
    emit_line(e, "log->at = at;");
    emit_line(e, "return 1;");
}
