/* Loop nest to C.  One function per kernel:

     integers, pointers, values that are the same throughout
     the loops: rows (or blocks of one long row), row pointers r0, r1, …
       per stage: values of the row, then the loop over the row, vectors first, then what is left

   Names: n sizes and strides, q operands, r their current row (w: the first of four), t scratch
   rows, s scalars, v values of one element or vector, a accumulators.  */
#include "emit.h"

static const char KERNEL_ABI_TEXT[] =
    "typedef __INT64_TYPE__ int64_t;\n"
    "typedef struct {\n"
    "    int (*call)(void *context, char *const *data, const int64_t *dimensions,\n"
    "                const int64_t *strides, void *auxdata);\n"
    "    void *context, *auxdata;\n"
    "} KernelLoop;\n"
    "typedef struct {\n"
    "    char *const *ptr;       /* pointer arguments, offsets applied */\n"
    "    const int64_t *size;    /* integer arguments */\n"
    "    const KernelLoop *loop; /* block calls */\n"
    "    char *scratch;          /* this thread's, 64-byte aligned */\n"
    "} KernelArgs;\n";

/* A ufunc's loop may clear the floating-point flags that it finds (those of maximum and of the
   comparisons do): what was raised before is raised again. */
static const char CALL_LOOP_TEXT[] =
    "static int call_loop(const KernelLoop *loop, char *const *data, const int64_t *dimensions,\n"
    "                     const int64_t *strides)\n"
    "{\n"
    "#if defined(__x86_64__)\n"
    "    __asm__ volatile(\"\" ::: \"memory\");\n"
    "    unsigned raised = __builtin_ia32_stmxcsr() & 63;\n"
    "    int failed = loop->call(loop->context, data, dimensions, strides, loop->auxdata);\n"
    "    if (raised) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | raised);\n"
    "    return failed;\n"
    "#elif defined(__aarch64__)\n"
    "    __asm__ volatile(\"\" ::: \"memory\");\n"
    "    unsigned raised = (unsigned)__builtin_aarch64_get_fpsr() & 31;\n"
    "    int failed = loop->call(loop->context, data, dimensions, strides, loop->auxdata);\n"
    "    if (raised)\n"
    "        __builtin_aarch64_set_fpsr((unsigned)__builtin_aarch64_get_fpsr() | raised);\n"
    "    return failed;\n"
    "#else\n"
    "    return loop->call(loop->context, data, dimensions, strides, loop->auxdata);\n"
    "#endif\n"
    "}\n";

static const Instr *
instr_at(const Emit *e, int32_t at)
{
    return &e->kernel->instrs.at[at];
}

static bool
is_columns(const Emit *e)
{
    return e->kernel->kind == KERNEL_COLUMNS;
}

static void
open_block(Emit *e, const char *head)
{
    emit_line(e, "%s{", head);
    e->indent++;
}

static void
close_block(Emit *e)
{
    e->indent--;
    emit_line(e, "}");
}

/* ---- calls ---- */

static void
emit_call(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text pointers = {0}, strides = {0};
    for (int k = 0; k < v->nargs; k++) {
        memory_pointer(e, v->args[k], &pointers, &strides);
        text_put(&pointers, ", ");
        text_put(&strides, ", ");
    }
    bool row = is_row_value(e, at);
    memory_pointer(e, at, &pointers, &strides);
    if (row) {
        emit_line(e, "%s s%d;", dtype_name(v->dtype), at);
        Text unused = {0};
        prelude_type(e->prelude, v->dtype, 1, &unused);
        text_free(&unused);
    }
    open_block(e, "");
    if (e->comments && v->node != NO_NODE)
        emit_line(e, "/* line %d: %s */", graph_node(e->graph, v->node)->line,
                  op_info(v->op)->name);
    emit_line(e, "char *const data[] = {%s};", pointers.data);
    emit_line(e, "const int64_t dimensions[] = {%s}, strides[] = {%s};", row ? "1" : "m",
              strides.data);
    emit_line(e, "const KernelLoop *const loop = &args->loop[%d];", v->loop);
    emit_line(e, "if (call_loop(loop, data, dimensions, strides)) return 1;");
    close_block(e);
    text_free(&pointers);
    text_free(&strides);
}

/* The ufunc's own reduction: the first element is copied, its loop does the others. */
static void
emit_reduce_call(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text pointer = {0}, stride = {0}, memory = {0};
    memory_pointer(e, v->args[0], &pointer, &stride);
    prelude_memory(e->prelude, v->dtype, 1, &memory);
    emit_line(e, "%s s%d = *(const %s *)%s;", dtype_name(v->dtype), at, memory.data, pointer.data);
    open_block(e, "if (m > 1) ");
    emit_line(e, "char *const data[] = {(char *)&s%d, %s + %s, (char *)&s%d};", at, pointer.data,
              stride.data, at);
    emit_line(e, "const int64_t dimensions[] = {m - 1}, strides[] = {0, %s, 0};", stride.data);
    emit_line(e, "const KernelLoop *const loop = &args->loop[%d];", v->loop);
    emit_line(e, "if (call_loop(loop, data, dimensions, strides)) return 1;");
    close_block(e);
    text_free(&pointer);
    text_free(&stride);
    text_free(&memory);
}

/* ---- reductions ---- */

static const char *
combine_name(Op op)
{
    switch (op) {
    case OP_sum: return "add";
    case OP_prod: return "mul";
    case OP_max: return "maximum";
    case OP_min: return "minimum";
    case OP_all: return "logical_and";
    default: return "logical_or";
    }
}

static void
put_identity(const Instr *v, Text *out)
{
    DType t = v->dtype;
    int bits = 8 * (int)dtype_size(t);
    bool least = v->op == OP_max || v->op == OP_min;
    if (v->op == OP_all || v->op == OP_prod || (v->op == OP_min && t == DT_BOOL))
        text_put(out, "1");
    else if (!least || t == DT_BOOL || (v->op == OP_max && !dtype_is_signed(t)))
        text_put(out, "0");
    else if (!dtype_is_signed(t))
        text_printf(out, "(%s)-1", dtype_name(t));
    else
        text_printf(out, "(%s)(%s1ull << %d%s)", dtype_name(t), v->op == OP_min ? "(" : "",
                    bits - 1, v->op == OP_min ? ") - 1" : "");
}

/* acc = acc op value, in the current body; `acc` is a name. */
static void
emit_accumulate(Emit *e, int32_t at, const char *acc)
{
    const Instr *v = instr_at(e, at);
    Text line = {0};
    text_printf(&line, "%s%d = ", acc, at);
    if (v->dtype == DT_BOOL && e->lanes > 1) {
        bool both = v->op == OP_all || v->op == OP_min;
        text_printf(&line, "%s%d %s ", acc, at, both ? "&" : "|");
        body_mask(e, v->args[0], 1, &line);
    } else {
        prelude_use(e->prelude, combine_name(v->op), v->dtype, e->lanes, &line);
        text_printf(&line, "(%s%d, ", acc, at);
        body_name(e, v->args[0], &line);
        text_put(&line, ")");
    }
    emit_line(e, "%s;", line.data);
    text_free(&line);
}

static bool
reduces_in_loop(const Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    return v->kind == INSTR_REDUCE && v->stage == stage && !is_columns(e) &&
           v->order != REDUCE_CALL;
}

static bool
is_pairwise(const Emit *e, int32_t at, int stage)
{
    return reduces_in_loop(e, at, stage) && instr_at(e, at)->order == REDUCE_PAIRWISE;
}

static bool
stage_is_pairwise(const Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) return true;
    return false;
}

/* ---- the loop over a row ---- */

static bool
stores_here(const Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    if (v->kind != INSTR_STORE || v->level != LEVEL_ELEMENT || v->stage != stage) return false;
    const Instr *value = instr_at(e, v->args[0]);
    if (value->kind == INSTR_REDUCE && is_columns(e)) return false;
    /* a call has left its result there already */
    return !(value->kind == INSTR_CALL && value->home == HOME_OPERAND && value->slot == v->operand);
}

static bool
rests_here(const Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    return v->home == HOME_SCRATCH && v->stage == stage && v->kind != INSTR_CALL &&
           v->kind != INSTR_REDUCE && v->level == LEVEL_ELEMENT;
}

static bool
has_roots(const Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        bool column =
            is_columns(e) && instr_at(e, i)->kind == INSTR_REDUCE && instr_at(e, i)->stage == stage;
        if (stores_here(e, i, stage) || rests_here(e, i, stage) || reduces_in_loop(e, i, stage) ||
            column)
            return true;
    }
    return false;
}

static void
emit_rest(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    DType stored = v->dtype == DT_BOOL && e->lanes > 1 ? DT_I8 : v->dtype;
    Text line = {0};
    body_value(e, at);
    text_put(&line, "*(");
    prelude_memory(e->prelude, stored, e->lanes, &line);
    text_printf(&line, " *)(t%d + %s * %d) = %s", v->slot, e->position, (int)dtype_size(v->dtype),
                stored == v->dtype ? "" : "-");
    if (v->dtype == DT_BOOL)
        body_mask(e, at, 1, &line);
    else
        body_name(e, at, &line);
    emit_line(e, "%s;", line.data);
    text_free(&line);
}

/* Column accumulators are in scratch, in registers (a3) while one or four rows are added. */
static void
emit_columns_memory(Emit *e, int stage, bool store)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->kind != INSTR_REDUCE || v->stage != stage) continue;
        DType kept = v->dtype == DT_BOOL && e->lanes > 1 ? DT_I8 : v->dtype;
        int bytes = (int)dtype_size(v->dtype);
        Text memory = {0}, type = {0};
        prelude_memory(e->prelude, kept, e->lanes, &memory);
        prelude_type(e->prelude, kept, e->lanes, &type);
        if (store)
            emit_line(e, "*(%s *)(t%d + j * %d) = a%d;", memory.data, v->slot, bytes, i);
        else
            emit_line(e, "%s a%d = *(const %s *)(t%d + j * %d);", type.data, i, memory.data,
                      v->slot, bytes);
        text_free(&memory);
        text_free(&type);
    }
}

/* The first row is copied where there is no identity. */
static void
emit_column(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text value = {0};
    body_value(e, v->args[0]);
    if (v->dtype == DT_BOOL)
        body_mask(e, v->args[0], 1, &value);
    else
        body_name(e, v->args[0], &value);
    if (e->row == 0 && (v->op == OP_max || v->op == OP_min))
        emit_line(e, "if (first) a%d = %s;", at, value.data);
    emit_accumulate(e, at, "a");
    text_free(&value);
}

static void
emit_roots(Emit *e, int stage, const char *acc)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (stores_here(e, i, stage))
            body_store(e, i);
        else if (rests_here(e, i, stage))
            emit_rest(e, i);
        else if (is_columns(e) && v->kind == INSTR_REDUCE && v->stage == stage)
            emit_column(e, i);
        else if (reduces_in_loop(e, i, stage)) {
            body_value(e, v->args[0]);
            const char *name = e->lanes > 1 ? "a" : is_pairwise(e, i, stage) ? "p" : acc;
            emit_accumulate(e, i, name);
        }
    }
}

static void
emit_body(Emit *e, int stage, int lanes, const char *acc)
{
    body_begin(e, stage, lanes);
    if (is_columns(e)) emit_columns_memory(e, stage, false);
    emit_roots(e, stage, acc);
    if (is_columns(e)) emit_columns_memory(e, stage, true);
}

static void
declare_accumulators(Emit *e, int stage, int lanes)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!reduces_in_loop(e, i, stage)) continue;
        Text type = {0}, vector = {0}, identity = {0};
        prelude_type(e->prelude, v->dtype, 1, &type);
        put_identity(v, &identity);
        emit_line(e, "%s s%d = %s;", type.data, i, identity.data);
        if (lanes > 1 && v->order != REDUCE_PAIRWISE) {
            DType kept = v->dtype == DT_BOOL ? DT_I8 : v->dtype;
            prelude_type(e->prelude, kept, lanes, &vector);
            text_put(&vector, " ");
            emit_line(e, "%sa%d = (%.*s){} %s %s;", vector.data, i, (int)vector.len - 1,
                      vector.data, v->dtype == DT_BOOL ? "-" : "+", identity.data);
        }
        text_free(&type);
        text_free(&vector);
        text_free(&identity);
    }
}

static void
fold_lanes(Emit *e, int stage, int lanes)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!reduces_in_loop(e, i, stage) || v->order == REDUCE_PAIRWISE) continue;
        Text name = {0};
        prelude_use(e->prelude, combine_name(v->op), v->dtype, 1, &name);
        emit_line(e, "for (int i = 0; i < %d; i++) s%d = %s(s%d, a%d[i]%s);", lanes, i, name.data,
                  i, i, v->dtype == DT_BOOL ? " != 0" : "");
        text_free(&name);
    }
}

static void
emit_plain_loop(Emit *e, int stage)
{
    int lanes = body_lanes(e, stage);
    declare_accumulators(e, stage, lanes);
    open_block(e, "");
    emit_line(e, "int64_t j = 0;");
    if (lanes > 1) {
        emit_line(e, "for (; j + %d <= m; j += %d) {", lanes, lanes);
        e->indent++;
        emit_body(e, stage, lanes, "a");
        close_block(e);
        fold_lanes(e, stage, lanes);
    }
    open_block(e, "for (; j < m; j++) ");
    emit_body(e, stage, 1, "s");
    close_block(e);
    close_block(e);
}

/* NumPy's pairwise sum: halves (the left one a multiple of 8) down to 128 elements, eight
   accumulators there.  The tree is walked with a stack of right halves still to do.  A leaf of
   fewer than 8 elements is summed one by one from -0.0; x + -0.0 is x. */
static void
emit_pairwise_loop(Emit *e, int stage)
{
    Emit *const x = e;
    int lanes = body_lanes(e, stage);
    declare_accumulators(e, stage, lanes);
    open_block(x, "");
    emit_line(x, "int64_t j = 0, length = m, todo[64];");
    emit_line(x, "int top = 0, done[64];");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(x, "%s left%d[64];", dtype_name(instr_at(e, i)->dtype), i);
    open_block(x, "for (;;) ");
    open_block(x, "while (length > 128) ");
    emit_line(x, "int64_t half = length / 2;");
    emit_line(x, "half -= half %% 8;");
    emit_line(x, "todo[top] = length - half;");
    emit_line(x, "done[top++] = 0;");
    emit_line(x, "length = half;");
    close_block(x);
    emit_line(x, "const int64_t stop = j + length;");
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_pairwise(e, i, stage)) continue;
        const Instr *v = instr_at(e, i);
        Text vector = {0};
        emit_line(x, "%s p%d = -0.0;", dtype_name(v->dtype), i);
        if (lanes > 1) {
            prelude_type(e->prelude, v->dtype, lanes, &vector);
            emit_line(x, "%s a%d = (%s){} - 0;", vector.data, i, vector.data);
            emit_line(x, "a%d = -a%d;", i, i);
        }
        text_free(&vector);
    }
    if (lanes > 1) {
        open_block(x, "if (length >= 8) ");
        open_block(x, "for (; j + 8 <= stop; j += 8) ");
        emit_body(e, stage, lanes, "a");
        close_block(x);
        for (int i = 0; i < e->kernel->instrs.len; i++)
            if (is_pairwise(e, i, stage))
                emit_line(x,
                          "p%d = ((a%d[0] + a%d[1]) + (a%d[2] + a%d[3])) + ((a%d[4] + a%d[5]) + "
                          "(a%d[6] + a%d[7]));",
                          i, i, i, i, i, i, i, i, i);
        close_block(x);
    }
    open_block(x, "for (; j < stop; j++) ");
    emit_body(e, stage, 1, "s");
    close_block(x);
    open_block(x, "while (top > 0 && done[top - 1]) ");
    emit_line(x, "top--;");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) emit_line(x, "p%d = left%d[top] + p%d;", i, i, i);
    close_block(x);
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) {
            emit_line(x, "if (top == 0) s%d = 0 + p%d;", i, i);
            emit_line(x, "else left%d[top - 1] = p%d;", i, i);
        }
    emit_line(x, "if (top == 0) break;");
    emit_line(x, "done[top - 1] = 1;");
    emit_line(x, "length = todo[top - 1];");
    close_block(x);
    if (lanes > 1) fold_lanes(e, stage, lanes);
    close_block(x);
}

/* ---- stages ---- */

static void
emit_row_values(Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ROW || v->stage != stage || v->kind == INSTR_REDUCE) continue;
        if (v->kind == INSTR_CALL)
            emit_call(e, i);
        else
            scalar_value(e, i);
    }
}

void
emit_stage_loops(Emit *e, int stage)
{
    if (has_roots(e, stage)) {
        if (stage_is_pairwise(e, stage))
            emit_pairwise_loop(e, stage);
        else
            emit_plain_loop(e, stage);
    }
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ELEMENT || v->stage != stage) continue;
        if (v->kind == INSTR_CALL) emit_call(e, i);
        if (v->kind == INSTR_REDUCE && v->order == REDUCE_CALL && !is_columns(e))
            emit_reduce_call(e, i);
    }
}

/* One row, or one block of it: `m` elements from the r pointers on; `base` is its position. */
void
emit_span(Emit *e)
{
    emit_stream_flags(e);
    for (int stage = 0; stage < e->kernel->nstages; stage++) {
        emit_row_values(e, stage);
        if (pieces_wanted(e, stage)) {
            emit_row_values(e, stage + 1);
            emit_pieces(e, stage++);
        } else
            emit_stage_loops(e, stage);
    }
}

/* ---- loops ---- */

/* r0 = q0 + i0 * n3 + at * 4 … for the loops [0, count), then the block's start. */
void
emit_row_pointer(Emit *e, int number, int count, const char *at)
{
    const Kernel *k = e->kernel;
    const Operand *operand = &k->operands.at[number];
    Text line = {0};
    text_printf(&line, "char *const %c%d = q%d", e->pointer, number, number);
    for (int loop = 0; loop < count; loop++)
        if (operand->stride[loop] != STRIDE_ZERO)
            text_printf(&line, " + i%d * n%d", loop, operand->stride[loop]);
    int row = operand->stride[k->nloops - 1];
    if (at != NULL && row == STRIDE_UNIT)
        text_printf(&line, " + %s * %d", at, (int)dtype_size(operand->dtype));
    else if (at != NULL && row != STRIDE_ZERO)
        text_printf(&line, " + %s * n%d", at, row);
    emit_line(e, "%s;", line.data);
    text_free(&line);
}

static void
emit_row_pointers(Emit *e, int count, const char *at, bool stored_only)
{
    for (int o = 0; o < e->kernel->operands.len; o++)
        if (!stored_only || e->kernel->operands.at[o].stored) emit_row_pointer(e, o, count, at);
}

static void
emit_flat(Emit *e)
{
    if (e->kernel->block == 0) {
        emit_line(e, "const int64_t base = begin, m = end - begin;");
        emit_row_pointers(e, 0, "base", false);
        emit_span(e);
        return;
    }
    emit_line(e, "for (int64_t base = begin; base < end; base += %d) {", e->kernel->block);
    e->indent++;
    emit_line(e, "const int64_t m = end - base < %d ? end - base : %d;", e->kernel->block,
              e->kernel->block);
    emit_row_pointers(e, 0, "base", false);
    emit_span(e);
    close_block(e);
}

static void
emit_rows(Emit *e)
{
    const Kernel *k = e->kernel;
    int outer = k->nloops - 1;
    if (k->tile_rows > 0) {
        emit_tiles(e);
        return;
    }
    open_block(e, "for (int64_t unit = begin; unit < end; unit++) ");
    if (outer > 1) emit_line(e, "int64_t rest = unit;");
    for (int i = outer - 1; i > 0; i--) {
        emit_line(e, "const int64_t i%d = rest %% n%d;", i, k->size[i]);
        emit_line(e, "rest /= n%d;", k->size[i]);
    }
    if (outer > 0) emit_line(e, "const int64_t i0 = %s;", outer > 1 ? "rest" : "unit");
    if (k->block == 0) {
        emit_line(e, "const int64_t base = 0, m = n%d;", k->size[outer]);
        emit_row_pointers(e, outer, NULL, false);
        emit_span(e);
    } else {
        emit_line(e, "for (int64_t base = 0; base < n%d; base += %d) {", k->size[outer], k->block);
        e->indent++;
        emit_line(e, "const int64_t m = n%d - base < %d ? n%d - base : %d;", k->size[outer],
                  k->block, k->size[outer], k->block);
        emit_row_pointers(e, outer, "base", false);
        emit_span(e);
        close_block(e);
    }
    close_block(e);
}

static void
fill_columns(Emit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->kind != INSTR_REDUCE) continue;
        Text type = {0}, identity = {0};
        prelude_memory(e->prelude, v->dtype, 1, &type);
        put_identity(v, &identity);
        if ((v->op == OP_max || v->op == OP_min) && dtype_is_float(v->dtype)) {
            identity.len = 0;
            text_put(&identity, "0");
        }
        /* a mask while it accumulates */
        emit_line(e, "for (int64_t j = 0; j < m; j++) *(%s *)(t%d + j * %d) = %s;", type.data,
                  v->slot, (int)dtype_size(v->dtype), identity.data);
        text_free(&type);
        text_free(&identity);
    }
}

static void
finish_columns(Emit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->kind != INSTR_STORE) continue;
        const Instr *value = instr_at(e, v->args[0]);
        if (value->kind != INSTR_REDUCE) continue;
        const Operand *o = &e->kernel->operands.at[v->operand];
        int row = o->stride[e->kernel->nloops - 1], bytes = (int)dtype_size(v->dtype);
        Text memory = {0}, stride = {0};
        prelude_memory(e->prelude, v->dtype, 1, &memory);
        if (row == STRIDE_UNIT)
            text_printf(&stride, "%d", bytes);
        else if (row == STRIDE_ZERO)
            text_put(&stride, "0");
        else
            text_printf(&stride, "n%d", row);
        emit_line(e, "for (int64_t j = 0; j < m; j++)");
        emit_line(e, "    *(%s *)(r%d + j * %s) = *(const %s *)(t%d + j * %d)%s;", memory.data,
                  v->operand, stride.data, memory.data, value->slot, bytes,
                  v->dtype == DT_BOOL ? " != 0" : "");
        text_free(&memory);
        text_free(&stride);
    }
}

/* Rows can be taken four at a time when nothing is done once per row. */
static bool
rows_in_fours(const Emit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (instr_at(e, i)->level == LEVEL_ROW && instr_at(e, i)->kind != INSTR_REDUCE)
            return false;
    return e->kernel->nstages == 1;
}

static void
emit_four_bodies(Emit *e, int lanes)
{
    const Kernel *k = e->kernel;
    int down = k->nloops - 2;
    body_begin(e, 0, lanes);
    emit_columns_memory(e, 0, false);
    for (e->row = 0; e->row < 4; e->row++) {
        body_begin(e, 0, lanes);
        open_block(e, "");
        for (int o = 0; o < k->operands.len; o++)
            if (k->operands.at[o].stride[down] == STRIDE_ZERO)
                emit_line(e, "char *const r%d = w%d;", o, o);
            else
                emit_line(e, "char *const r%d = w%d + %d * n%d;", o, o, e->row,
                          k->operands.at[o].stride[down]);
        emit_roots(e, 0, "a");
        close_block(e);
    }
    e->row = 0;
    emit_columns_memory(e, 0, true);
}

/* Four rows at a time: a quarter of the traffic of the accumulators. */
static void
emit_four_rows(Emit *e)
{
    int down = e->kernel->nloops - 2, lanes = body_lanes(e, 0);
    Text head = {0};
    text_printf(&head, "for (; i%d + 4 <= n%d; i%d += 4) ", down, e->kernel->size[down], down);
    open_block(e, head.data);
    text_free(&head);
    emit_line(e, "const int first = i%d == 0;", down);
    e->pointer = 'w';
    emit_row_pointers(e, e->kernel->nloops - 1, "base", false);
    e->pointer = 'r';
    emit_line(e, "int64_t j = 0;");
    if (lanes > 1) {
        emit_line(e, "for (; j + %d <= m; j += %d) {", lanes, lanes);
        e->indent++;
        emit_four_bodies(e, lanes);
        close_block(e);
    }
    open_block(e, "for (; j < m; j++) ");
    emit_four_bodies(e, 1);
    close_block(e);
    emit_line(e, "(void)first;");
    close_block(e);
}

static void
emit_columns(Emit *e)
{
    const Kernel *k = e->kernel;
    int down = k->nloops - 2;
    for (int i = 0; i < down; i++) {
        emit_line(e, "for (int64_t i%d = 0; i%d < n%d; i%d++) {", i, i, k->size[i], i);
        e->indent++;
    }
    emit_line(e, "for (int64_t base = begin; base < end; base += %d) {", k->block);
    e->indent++;
    emit_line(e, "const int64_t m = end - base < %d ? end - base : %d;", k->block, k->block);
    fill_columns(e);
    emit_line(e, "int64_t i%d = 0;", down);
    if (rows_in_fours(e)) emit_four_rows(e);
    emit_line(e, "for (; i%d < n%d; i%d++) {", down, k->size[down], down);
    e->indent++;
    emit_line(e, "const int first = i%d == 0;", down);
    emit_row_pointers(e, k->nloops - 1, "base", false);
    emit_span(e);
    emit_line(e, "(void)first;");
    close_block(e);
    emit_row_pointers(e, down, "base", true);
    finish_columns(e);
    for (int i = 0; i <= down; i++) close_block(e);
}

/* ---- the file ---- */

static void
emit_arguments(Emit *e)
{
    const Kernel *k = e->kernel;
    int nsizes = 0;
    for (int i = 0; i < k->nloops; i++)
        if (k->size[i] >= nsizes) nsizes = k->size[i] + 1;
    for (int o = 0; o < k->operands.len; o++)
        for (int i = 0; i < k->nloops; i++)
            if (k->operands.at[o].stride[i] >= nsizes) nsizes = k->operands.at[o].stride[i] + 1;
    for (int o = 0; o < k->operands.len; o++)
        if (k->operands.at[o].turned && k->operands.at[o].across >= nsizes)
            nsizes = k->operands.at[o].across + 1;
    for (int i = 0; i < nsizes; i++) emit_line(e, "const int64_t n%d = args->size[%d];", i, i);
    for (int o = 0; o < k->operands.len; o++)
        emit_line(e, "char *const q%d = args->ptr[%d];", o, k->operands.at[o].pointer);
    for (int t = 0; t < k->nslots; t++) {
        int bytes = t > 0 ? k->slot_bytes[t - 1] : 0;
        if (t == 0)
            emit_line(e, "char *const t0 = args->scratch;");
        else if (k->block)
            emit_line(e, "char *const t%d = t%d + %d;", t, t - 1,
                      (k->block * bytes + 63) / 64 * 64 + SLOT_GAP);
        else
            emit_line(e, "char *const t%d = t%d + (n%d * %d + 63) / 64 * 64 + %d;", t, t - 1,
                      k->row_scratch, bytes, SLOT_GAP);
    }
}

static void
emit_once(Emit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ONCE || v->kind == INSTR_REDUCE) continue;
        if (v->kind == INSTR_CALL)
            emit_call(e, i);
        else
            scalar_value(e, i);
    }
}

static void
emit_kernel(Emit *e, int number)
{
    text_printf(e->out, "\nint\nk%d(const KernelArgs *args, int64_t begin, int64_t end)\n{\n",
                number);
    e->indent = 1;
    if (e->kernel->kind == KERNEL_REGION) {
        emit_region(e);
        text_put(e->out, "}\n");
        return;
    }
    emit_arguments(e);
    emit_once(e);
    emit_stream_sizes(e);
    switch (e->kernel->kind) {
    case KERNEL_FLAT: emit_flat(e); break;
    case KERNEL_COLUMNS: emit_columns(e); break;
    default: emit_rows(e); break;
    }
    emit_stream_end(e);
    emit_line(e, "return 0;");
    text_put(e->out, "}\n");
}

/* The vector width of the machine that we run on, which is the one that we compile for. */
static int
machine_vector_bytes(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return 64;
    if (__builtin_cpu_supports("avx2")) return 32;
#endif
    return 16;
}

int
codegen_c(const Graph *graph, const Program *program, bool comments, Text *out)
{
    return codegen_c_for(graph, program, comments, machine_vector_bytes(), out);
}

int
codegen_c_for(const Graph *graph, const Program *program, bool comments, int vector_bytes,
              Text *out)
{
    Text head = {0}, body = {0};
    Prelude prelude = {.head = &head, .vector_bytes = vector_bytes};
    int status = -1;
    Emit e = {.graph = graph,
              .program = program,
              .prelude = &prelude,
              .out = &body,
              .comments = comments,
              .vector_bytes = prelude.vector_bytes,
              .position = "j",
              .pointer = 'r'};
    prelude_begin(&prelude);
    for (int i = 0; i < program->kernels.len; i++) {
        e.kernel = program->kernels.at[i];
        size_t n = (size_t)e.kernel->instrs.len + 1;
        e.mark = mem_alloc(n * sizeof(int32_t));
        e.mask_bytes = mem_alloc(n);
        e.body = 0;
        if (e.mark != NULL && e.mask_bytes != NULL) emit_kernel(&e, i);
        mem_free(e.mark);
        mem_free(e.mask_bytes);
        if (e.mark == NULL || e.mask_bytes == NULL) goto done;
    }
    if (prelude.missing[0] != 0) {
        PyErr_Format(PyExc_SystemError, "code generation has no helper %s", prelude.missing);
        goto done;
    }
    text_printf(out, "/* vectors of %d bytes */\n", prelude.vector_bytes);
    text_put(out, KERNEL_ABI_TEXT);
    if (program->loops.len > 0) text_put(out, CALL_LOOP_TEXT);
    text_put(out, head.data ? head.data : "");
    text_put(out, body.data ? body.data : "");
    if (text_finish(&head) == 0 && text_finish(&body) == 0 && text_finish(&prelude.done) == 0)
        status = text_finish(out);
done:
    text_free(&head);
    text_free(&body);
    text_free(&prelude.done);
    return status;
}
