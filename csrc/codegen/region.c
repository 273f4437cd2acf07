/* A kept loop as C.  The phases of a call are in lower/region.h; the function is, in order:

     arguments, values from outside
     indices that are linear in the induction variable: at the first, second and last iteration,
       with overflow checks; all of them in bounds, or return 1 (x first, d step of an index)
     layout of the log (o offset, g bytes per iteration; a whole array is copied instead when that
       is shorter: then g is 0 and all its entries go to one cell)
     segments: runs of iterations in which no index changes its sign, so that each access is
       base + (x + t * d) * stride without a test (b base)
       the loop; f is what the iteration before stored where that is read again
     results
     fail, undo: the log is walked backwards

   Names as in c.c: n sizes, q operands, s values done once, v values of one iteration, u carried.
 */
#include "../lower/region.h"
#include "emit.h"

static bool
is_store(const Emit *e, const RegionElement *element)
{
    return instr_at(e, element->instr)->kind == INSTR_STORE;
}

static bool
is_logged(const Emit *e, const RegionElement *element)
{
    return is_store(e, element) && e->kernel->region->arrays.at[element->array].logged;
}

static void
open_phase(Emit *e, int phase)
{
    emit_line(e, "if (begin == %d) {", phase);
    e->indent++;
}

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
        if (r->arrays.at[i].length >= nsizes) nsizes = r->arrays.at[i].length + 1;
        if (r->arrays.at[i].stride >= nsizes) nsizes = r->arrays.at[i].stride + 1;
    }
    for (int i = 0; i < nsizes; i++) emit_line(e, "const int64_t n%d = args->size[%d];", i, i);
    for (int o = 0; o < k->operands.len; o++)
        emit_line(e, "char *const q%d = args->ptr[%d];", o, k->operands.at[o].pointer);
    emit_line(e, "int64_t count = 0, t = 0, sites = 0, bytes = 0;");
    for (int i = 0; i < r->elements.len; i++)
        if (r->elements.at[i].affine) emit_line(e, "int64_t x%d = 0, d%d = 0;", i, i);
}

/* The head of the log holds what the undo phase needs to know about the run. */
static void
emit_header(Emit *e, bool writes)
{
    const RegionLoop *r = e->kernel->region;
    int at = 0;
    emit_line(e,
              writes ? "((int64_t *)args->scratch)[%d] = count;"
                     : "count = ((const int64_t *)args->scratch)[%d];",
              at++);
    for (int i = 0; i < r->elements.len; i++) {
        if (!r->elements.at[i].affine || !is_logged(e, &r->elements.at[i])) continue;
        for (int part = 0; part < 2; part++, at++) {
            char name = part ? 'd' : 'x';
            if (writes)
                emit_line(e, "((int64_t *)args->scratch)[%d] = %c%d;", at, name, i);
            else
                emit_line(e, "%c%d = ((const int64_t *)args->scratch)[%d];", name, i, at);
        }
    }
}

/* The most bytes that emit_header needs, rounded to a cache line. */
static int
header_bytes(const Emit *e)
{
    int words = 1;
    for (int i = 0; i < e->kernel->region->elements.len; i++)
        words += 2 * is_logged(e, &e->kernel->region->elements.at[i]);
    return (words * 8 + 63) / 64 * 64;
}

static void
emit_once(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    body_begin(e, 0, 1);
    for (int32_t i = 0; i < r->body; i++) {
        const Instr *v = instr_at(e, i);
        if (v->kind == INSTR_OP)
            emit_operation(e, i, "return 1;");
        else
            scalar_value(e, i);
    }
    emit_line(e, "const int64_t step = s%d;", r->step);
    emit_line(e, "if (step == 0) return 1;");
    emit_line(e, "if (step > 0 ? s%d < s%d : s%d > s%d) {", r->start, r->stop, r->start, r->stop);
    emit_line(e, "    const __UINT64_TYPE__ span = step > 0 ? (__UINT64_TYPE__)s%d - s%d", r->stop,
              r->start);
    emit_line(e, "                                          : (__UINT64_TYPE__)s%d - s%d;",
              r->start, r->stop);
    emit_line(e, "    const __UINT64_TYPE__ stride = step > 0 ? step : -(__UINT64_TYPE__)step;");
    emit_line(e, "    if ((span - 1) / stride >= 1ull << 56) return 1;");
    emit_line(e, "    count = (span - 1) / stride + 1;");
    emit_line(e, "}");
}

/* Checks the bounds of all linear indices and finds their first values and steps. */
static void
emit_ends(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    char index[16];
    bool any = false;
    for (int i = 0; i < r->elements.len; i++) any |= r->elements.at[i].affine;
    for (int32_t i = r->body; i < e->kernel->instrs.len; i++) any |= e->kernel->instrs.at[i].affine;
    if (!any) return;
    open_block(e, "for (int end = 0; end < 3 && count > 0; end++) ");
    body_begin(e, 0, 1);
    for (int32_t i = r->body; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!e->kernel->instrs.at[i].affine) continue;
        if (v->kind == INSTR_INDEX)
            emit_line(e,
                      "const i64 v%d = s%d + (end == 0 ? 0 : end == 2 ? count - 1 : count > 1) * "
                      "step;",
                      i, r->start);
        else
            emit_operation(e, i, "return 1;");
    }
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *element = &r->elements.at[i];
        if (!element->affine) continue;
        int length = r->arrays.at[element->array].length;
        name_of(e, element->index, index, sizeof index);
        emit_line(e, "if (%s < -n%d || %s >= n%d) return 1;", index, length, index, length);
        emit_line(e, "if (end == 0) x%d = %s;", i, index);
        emit_line(e, "if (end == 1) d%d = %s - x%d;", i, index, i);
    }
    close_block(e);
}

/* Lays out the log: per array, either entries for each store or a whole copy. */
static void
emit_layout(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    emit_line(e, "bytes = %d;", header_bytes(e));
    for (int a = 0; a < r->arrays.len; a++) {
        if (!r->arrays.at[a].logged) continue;
        int size = (int)dtype_size(e->kernel->operands.at[r->arrays.at[a].operand].dtype),
            entry = 0;
        int length = r->arrays.at[a].length;
        for (int i = 0; i < r->elements.len; i++)
            if (r->elements.at[i].array == a && is_store(e, &r->elements.at[i]))
                entry += size + (r->elements.at[i].affine ? 0 : 8);
        emit_line(e, "const int whole%d = count * %d > n%d * %d;", a, entry, length, size);
        emit_line(e, "const int64_t c%d = bytes;", a);
        emit_line(e, "if (whole%d) bytes += (n%d * %d + 63) / 64 * 64;", a, length, size);
        for (int i = 0; i < r->elements.len; i++) {
            const RegionElement *element = &r->elements.at[i];
            if (element->array != a || !is_store(e, element)) continue;
            emit_line(e, "const int64_t o%d = bytes, g%d = whole%d ? 0 : %d;", i, i, a, size);
            emit_line(e, "bytes += whole%d ? 64 : (count * %d + 63) / 64 * 64;", a, size);
            if (element->affine) continue;
            emit_line(e, "const int64_t p%d = bytes, h%d = whole%d ? 0 : 8;", i, i, a);
            emit_line(e, "bytes += whole%d ? 64 : (count * 8 + 63) / 64 * 64;", a);
        }
    }
}

/* Copies arrays that are logged as a whole to the log, or back. */
static void
emit_copies(Emit *e, bool back)
{
    const RegionLoop *r = e->kernel->region;
    Text type = {0};
    for (int a = 0; a < r->arrays.len; a++) {
        const RegionArray *array = &r->arrays.at[a];
        if (!array->logged) continue;
        DType dtype = e->kernel->operands.at[array->operand].dtype;
        const char *t = memory_type(e, dtype, &type);
        emit_line(e, "for (int64_t j = 0; whole%d && j < n%d; j++)", a, array->length);
        if (back)
            emit_line(e,
                      "    *(%s *)(q%d + j * n%d) = *(const %s *)(args->scratch + c%d + j * %d);",
                      t, array->operand, array->stride, t, a, (int)dtype_size(dtype));
        else
            emit_line(e,
                      "    *(%s *)(args->scratch + c%d + j * %d) = *(const %s *)(q%d + j * n%d);",
                      t, a, (int)dtype_size(dtype), t, array->operand, array->stride);
    }
    text_free(&type);
}

/* ---- the loop ---- */

/* Finds where the next segment ends, and the base pointers for it. */
static void
emit_segment(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    Text type = {0};
    emit_line(e, "int64_t stop = count;");
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *element = &r->elements.at[i];
        const RegionArray *array = &r->arrays.at[element->array];
        if (!element->affine) continue;
        open_block(e, "");
        emit_line(e, "const int64_t at = x%d + t * d%d;", i, i);
        emit_line(e, "const int64_t turn = at < 0 && d%d > 0    ? t + (-at + d%d - 1) / d%d", i, i,
                  i);
        emit_line(e, "                     : at >= 0 && d%d < 0 ? t + at / -d%d + 1", i, i);
        emit_line(e, "                                          : count;");
        emit_line(e, "if (turn < stop) stop = turn;");
        close_block(e);
        emit_line(e, "char *const b%d = q%d + (x%d + t * d%d < 0 ? x%d + n%d : x%d) * n%d;", i,
                  array->operand, i, i, i, array->length, i, array->stride);
        emit_line(e, "const int64_t w%d = d%d * n%d;", i, i, array->stride);
        if (element->follows < 0) continue;
        DType dtype = instr_at(e, element->instr)->dtype;
        emit_line(e, "%s f%d = *(const %s *)(b%d + t * w%d)%s;", dtype_name(dtype), i,
                  memory_type(e, dtype, &type), i, i, dtype == DT_BOOL ? " != 0" : "");
    }
    text_free(&type);
}

/* Puts the address of an element into `out`; an index that is not linear is checked here. */
static void
emit_address(Emit *e, int number, const char *fail, char *out, size_t size)
{
    const RegionElement *element = &e->kernel->region->elements.at[number];
    const RegionArray *array = &e->kernel->region->arrays.at[element->array];
    if (element->affine) {
        snprintf(out, size, "b%d + t * w%d", number, number);
        return;
    }
    char index[16];
    name_of(e, element->index, index, sizeof index);
    emit_line(e, "const int64_t k%d = %s < 0 ? %s + n%d : %s;", number, index, index, array->length,
              index);
    emit_line(e, "if (__builtin_expect((__UINT64_TYPE__)k%d >= (__UINT64_TYPE__)n%d, 0)) %s",
              number, array->length, fail);
    snprintf(out, size, "q%d + k%d * n%d", array->operand, number, array->stride);
}

static void
emit_element(Emit *e, int32_t at, const char *fail)
{
    const Instr *v = instr_at(e, at);
    const RegionElement *element = &e->kernel->region->elements.at[v->operand];
    char address[64], value[16];
    Text type = {0};
    const char *t = memory_type(e, v->dtype, &type);
    if (v->kind == INSTR_LOAD && element->follows >= 0) {
        emit_line(e, "const %s v%d = f%d;", dtype_name(v->dtype), at, v->operand);
    } else {
        emit_address(e, v->operand, fail, address, sizeof address);
        if (v->kind == INSTR_LOAD) {
            emit_line(e, "const %s v%d = *(const %s *)(%s)%s;", dtype_name(v->dtype), at, t,
                      address, v->dtype == DT_BOOL ? " != 0" : "");
        } else {
            name_of(e, v->args[0], value, sizeof value);
            if (is_logged(e, element)) {
                emit_line(e, "*(%s *)(args_log + o%d + t * g%d) = *(const %s *)(%s);", t,
                          v->operand, v->operand, t, address);
                if (!element->affine)
                    emit_line(e, "*(int64_t *)(args_log + p%d + t * h%d) = k%d;", v->operand,
                              v->operand, v->operand);
            }
            emit_line(e, "*(%s *)(%s) = %s;", t, address, value);
        }
    }
    e->mark[at] = e->body;
    text_free(&type);
}

static void
emit_body(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    char name[16], fail[64];
    int sites = 0;
    body_begin(e, 0, 1);
    for (int32_t i = r->body; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        snprintf(fail, sizeof fail, "{ sites = %d; goto fail; }", sites);
        if (v->kind == INSTR_INDEX) {
            emit_line(e, "const i64 v%d = s%d + t * step;", i, r->start);
            e->mark[i] = e->body;
        } else if (v->kind == INSTR_CARRIED) {
            emit_line(e, "const %s v%d = u%d;", dtype_name(v->dtype), i, v->operand);
            e->mark[i] = e->body;
        } else if (v->kind == INSTR_OP && v->affine)
            emit_linear(e, i);
        else if (v->kind == INSTR_OP)
            emit_operation(e, i, fail);
        else {
            emit_element(e, i, fail);
            sites += is_logged(e, &r->elements.at[v->operand]);
        }
        if (e->comments && v->kind != INSTR_OP && v->node != NO_NODE &&
            graph_node(e->graph, v->node)->line > 0)
            emit_line(e, "/* line %d: %s */", graph_node(e->graph, v->node)->line,
                      op_info(graph_node(e->graph, v->node)->op)->name);
    }
    for (int i = 0; i < r->elements.len; i++) {
        if (r->elements.at[i].follows < 0) continue;
        const RegionElement *store = &r->elements.at[r->elements.at[i].follows];
        name_of(e, instr_at(e, store->instr)->args[0], name, sizeof name);
        emit_line(e, "f%d = %s;", i, name);
    }
    for (int i = 0; i < r->carried.len; i++) {
        name_of(e, r->carried.at[i].result, name, sizeof name);
        emit_line(e, "u%d = %s;", i, name);
    }
}

static void
emit_results(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    Text type = {0};
    for (int i = 0; i < r->carried.len; i++) {
        const RegionCarried *c = &r->carried.at[i];
        if (c->operand < 0) continue;
        emit_line(e, "*(%s *)q%d = u%d;", memory_type(e, instr_at(e, c->start)->dtype, &type),
                  c->operand, i);
    }
    text_free(&type);
}

/* Undoes iteration t, of which `sites` stores were done, and all before it. */
static void
emit_undo(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    Text type = {0};
    int all = 0, site;
    for (int i = 0; i < r->elements.len; i++) all += is_logged(e, &r->elements.at[i]);
    if (all > 0) {
        emit_line(e, "fail:");
        emit_line(e, "for (; t >= 0; t--, sites = %d) {", all);
        e->indent++;
        site = all;
        for (int i = r->elements.len - 1; i >= 0; i--) {
            const RegionElement *element = &r->elements.at[i];
            if (!is_logged(e, element)) continue;
            const RegionArray *array = &r->arrays.at[element->array];
            const char *t = memory_type(e, instr_at(e, element->instr)->dtype, &type);
            emit_line(e, "if (g%d && sites >= %d) {", i, site--);
            if (element->affine)
                emit_line(e, "    const int64_t k = x%d + t * d%d;", i, i);
            else
                emit_line(e, "    const int64_t k = *(const int64_t *)(args_log + p%d + t * h%d);",
                          i, i);
            emit_line(e, "    *(%s *)(q%d + (k < 0 ? k + n%d : k) * n%d) =", t, array->operand,
                      array->length, array->stride);
            emit_line(e, "        *(const %s *)(args_log + o%d + t * g%d);", t, i, i);
            emit_line(e, "}");
        }
        close_block(e);
        emit_copies(e, true);
    } else
        emit_line(e, "fail: (void)sites;");
    emit_line(e, "return 1;");
    text_free(&type);
}

void
emit_region(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    int all = 0;
    for (int i = 0; i < r->elements.len; i++) all += is_logged(e, &r->elements.at[i]);
    Text unused = {0};
    prelude_type(e->prelude, DT_I64, 1, &unused);
    for (int32_t i = 0; i < e->kernel->instrs.len; i++)
        prelude_type(e->prelude, instr_at(e, i)->dtype, 1, &unused);
    text_free(&unused);
    emit_arguments(e);
    open_phase(e, REGION_UNDO);
    emit_header(e, false);
    emit_line(e, "goto layout;");
    close_block(e);
    emit_once(e);
    emit_ends(e);
    emit_line(e, "layout:;");
    emit_layout(e);
    open_phase(e, REGION_PREPARE);
    emit_line(e, "((int64_t *)args->scratch)[0] = bytes;");
    emit_line(e, "((int64_t *)args->scratch)[1] = count;");
    emit_line(e, "return 0;");
    close_block(e);
    emit_line(e, "char *const args_log = args->scratch;");
    open_phase(e, REGION_UNDO);
    emit_line(e, "t = count - 1;");
    emit_line(e, "sites = %d;", all);
    emit_line(e, "goto fail;");
    close_block(e);
    emit_header(e, true);
    emit_copies(e, false);
    for (int i = 0; i < r->carried.len; i++)
        emit_line(e, "%s u%d = s%d;", dtype_name(instr_at(e, r->carried.at[i].start)->dtype), i,
                  r->carried.at[i].start);
    open_block(e, "while (t < count) ");
    emit_segment(e);
    open_block(e, "for (; t < stop; t++) ");
    emit_body(e);
    close_block(e);
    close_block(e);
    emit_results(e);
    emit_line(e, "return 0;");
    emit_undo(e);
}
