/* Reductions that are not along the row: there is one accumulator per element of the row, in
   scratch, to which the rows are added in order, four at a time where possible.  Names as in
   c.c. */
#include "emit.h"

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
        /* of a bool this is a mask until finish_columns */
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

/* Is it the first of the rows that are summed? */
static void
emit_first(Emit *e)
{
    const Kernel *k = e->kernel;
    Text test = {0};
    for (int i = k->nloops - 1 - k->downs; i < k->nloops - 1; i++)
        text_printf(&test, "%si%d == 0", test.len > 0 ? " && " : "", i);
    emit_line(e, "const int first = %s;", test.data);
    text_free(&test);
}

/* Four rows at a time, which moves the accumulators a quarter as often. */
static void
emit_four_rows(Emit *e, bool alone)
{
    int down = e->kernel->nloops - 2, lanes = body_lanes(e, 0);
    Text head = {0};
    text_printf(&head, "for (; %si%d + 4 <= n%d; i%d += 4) ", alone ? "!alone && " : "", down,
                e->kernel->size[down], down);
    open_block(e, head.data);
    text_free(&head);
    emit_first(e);
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

/* ---- one column ---- */

/* A tree of sums, whose leaves are filled from the left: NumPy loops_utils.h.src, pairwise_sum. */
static const char TREE[] =
    "typedef struct {\n"
    "    %s leaf[128] __attribute__((aligned(64)));\n"
    "    %s left[64], sum;\n"
    "    int64_t right[64], length, n;\n"
    "    int top;\n"
    "} tree_%s;\n"
    "INLINE void leaf_%s(tree_%s *t, int64_t length) {\n"
    "    for (; length > 128; t->top++) {\n"
    "        const int64_t half = length / 2 - length / 2 %% 8;\n"
    "        t->right[t->top] = length - half;\n"
    "        length = half;\n"
    "    }\n"
    "    t->length = length;\n"
    "    t->n = 0;\n"
    "}\n"
    "INLINE void filled_%s(tree_%s *t) {\n"
    "    %s sum = sum_%s(t->leaf, t->n);\n"
    "    while (t->top > 0 && t->right[t->top - 1] == 0) sum = t->left[--t->top] + sum;\n"
    "    t->sum = sum;\n"
    "    if (t->top == 0) return;\n"
    "    const int64_t right = t->right[t->top - 1];\n"
    "    t->left[t->top - 1] = sum;\n"
    "    t->right[t->top - 1] = 0;\n"
    "    leaf_%s(t, right);\n"
    "}\n";

static bool
is_alone(const Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    return e->kernel->lone && v->kind == INSTR_REDUCE && v->order == REDUCE_PAIRWISE;
}

/* How many of the reductions are such sums, and whether they are all. */
static int
count_alone(const Emit *e, bool *all)
{
    int count = 0;
    *all = true;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        count += is_alone(e, i);
        *all = *all && (instr_at(e, i)->kind != INSTR_REDUCE || is_alone(e, i));
    }
    return count;
}

static void
begin_alone(Emit *e)
{
    const Kernel *k = e->kernel;
    Text length = {0};
    emit_line(e, "const int alone = n%d == 1;", k->size[k->nloops - 1]);
    for (int i = k->nloops - 1 - k->downs; i < k->nloops - 1; i++)
        text_printf(&length, "%sn%d", length.len > 0 ? " * " : "", k->size[i]);
    for (int i = 0; i < k->instrs.len; i++) {
        if (!is_alone(e, i)) continue;
        const char *t = dtype_name(instr_at(e, i)->dtype);
        use_sum(e, instr_at(e, i)->dtype);
        char name[32];
        snprintf(name, sizeof name, "tree_%s", t);
        if (prelude_first(e->prelude, name))
            text_printf(e->prelude->head, TREE, t, t, t, t, t, t, t, t, t, t);
        emit_line(e, "tree_%s u%d;", t, i);
        emit_line(e, "u%d.top = 0, u%d.sum = 0;", i, i);
        emit_line(e, "if (alone) leaf_%s(&u%d, %s);", t, i, length.data);
    }
    text_free(&length);
}

/* Can one column be summed as a row is?  Nothing but its sums is done, along one loop. */
static bool
has_twins(const Emit *e)
{
    bool sums;
    return count_alone(e, &sums) > 0 && sums && e->kernel->downs == 1 && twin_fits(e);
}

static void
emit_as_row(Emit *e)
{
    const Kernel *k = e->kernel;
    emit_line(e, "const int64_t m = n%d;", k->size[k->nloops - 1]);
    emit_row_pointers(e, k->nloops - 1, NULL, false);
    emit_row_loop(e, 0);
    for (int i = 0; i < k->instrs.len; i++)
        if (is_alone(e, i))
            emit_line(e, "*(%s *)t%d = s%d;", dtype_name(instr_at(e, i)->dtype),
                      instr_at(e, i)->slot, i);
}

/* One by one, where more is done. */
static void
before_row_alone(Emit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_alone(e, i))
            emit_line(e, "if (alone) *(%s *)t%d = -0.0;", dtype_name(instr_at(e, i)->dtype),
                      instr_at(e, i)->slot);
}

static void
after_row_alone(Emit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_alone(e, i)) continue;
        const char *t = dtype_name(instr_at(e, i)->dtype);
        emit_line(e, "if (alone) u%d.leaf[u%d.n++] = *(const %s *)t%d;", i, i, t,
                  instr_at(e, i)->slot);
        emit_line(e, "if (alone && u%d.n == u%d.length) filled_%s(&u%d);", i, i, t, i);
    }
}

static void
end_alone(Emit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_alone(e, i))
            emit_line(e, "if (alone) *(%s *)t%d = 0 + u%d.sum;", dtype_name(instr_at(e, i)->dtype),
                      instr_at(e, i)->slot, i);
}

/* ---- the kernel ---- */

static void
open_loops(Emit *e, int from, int to)
{
    for (int i = from; i < to; i++) {
        emit_line(e, "for (int64_t i%d = 0; i%d < n%d; i%d++) {", i, i, e->kernel->size[i], i);
        e->indent++;
    }
}

void
emit_columns(Emit *e)
{
    const Kernel *k = e->kernel;
    int down = k->nloops - 2, top = k->nloops - 1 - k->downs;
    open_loops(e, 0, top);
    emit_line(e, "for (int64_t base = begin; base < end; base += %d) {", k->block);
    e->indent++;
    emit_line(e, "const int64_t m = end - base < %d ? end - base : %d;", k->block, k->block);
    bool all;
    const bool twins = has_twins(e), alone = count_alone(e, &all) > 0 && !twins;
    fill_columns(e);
    if (twins) {
        emit_twin(e, true, emit_as_row);
        emit_line(e, "else");
        emit_twin(e, false, emit_as_row);
    } else if (alone)
        begin_alone(e);
    if (twins) open_block(e, "else ");
    open_loops(e, top, down);
    emit_line(e, "int64_t i%d = 0;", down);
    if (rows_in_fours(e)) emit_four_rows(e, alone);
    emit_line(e, "for (; i%d < n%d; i%d++) {", down, k->size[down], down);
    e->indent++;
    emit_first(e);
    emit_row_pointers(e, k->nloops - 1, "base", false);
    if (alone) before_row_alone(e);
    emit_span(e);
    if (alone) after_row_alone(e);
    emit_line(e, "(void)first;");
    for (int i = top; i <= down; i++) close_block(e);
    if (twins) close_block(e);
    if (alone) end_alone(e);
    emit_row_pointers(e, top, "base", true);
    finish_columns(e);
    for (int i = 0; i <= top; i++) close_block(e);
}
