/* Loop nest to C.  One function per kernel:

     integers, pointers, values computed once
     the loops: rows (or blocks of one long row), row pointers r0, r1, …
       per stage: values of the row, then the loop over the row, vectors first, then the rest

   Names: n sizes and strides, q operands, r their current row (w: the first of four), t scratch
   rows, s scalars, v values of one element or vector, a accumulators.  */
#include "emit.h"

/* ---- loops ---- */

/* r0 = q0 + i0 * n3 … + at * 4: the indices of the loops [0, count), then the position in the
   row. */
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

void
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

void
emit_row_place(Emit *e)
{
    const Kernel *k = e->kernel;
    int outer = k->nloops - 1;
    if (outer > 1) emit_line(e, "int64_t rest = unit;");
    for (int i = outer - 1; i > 0; i--) {
        emit_line(e, "const int64_t i%d = rest %% n%d;", i, k->size[i]);
        emit_line(e, "rest /= n%d;", k->size[i]);
    }
    if (outer > 0) emit_line(e, "const int64_t i0 = %s;", outer > 1 ? "rest" : "unit");
}

/* Bytes of a row that are done for all units before the next ones, where the kernel's rows are read
   again: a row of a stencil, and those around it, stay in the first-level cache.  Measured on ten
   Jacobi steps of 2048 x 2048 f64 in a wave: 21.7 to 19.3 ms on two cores. */
enum { STRIP_BYTES = 4096 };

static bool
rows_in_strips(const Kernel *k)
{
    if (!k->waved || k->block != 0 || k->nstages != 1) return false;
    for (int i = 0; i < k->instrs.len; i++)
        if (k->instrs.at[i].level == LEVEL_ROW || k->instrs.at[i].kind == INSTR_REDUCE)
            return false;
    return true;
}

static int
widest_bytes(const Kernel *k)
{
    int widest = 1;
    for (int i = 0; i < k->operands.len; i++)
        widest = Py_MAX(widest, (int)dtype_size(k->operands.at[i].dtype));
    return widest;
}

/* Opens a loop over stretches of the row: `base` is where one begins, m its length. */
static void
open_stretches(Emit *e, int64_t length)
{
    int size = e->kernel->size[e->kernel->nloops - 1];
    emit_line(e, "for (int64_t base = 0; base < n%d; base += %d) {", size, (int)length);
    e->indent++;
    emit_line(e, "const int64_t m = n%d - base < %d ? n%d - base : %d;", size, (int)length, size,
              (int)length);
}

/* As one row, where it has some of the units. */
static void
emit_units(Emit *e)
{
    emit_line(e, "const int64_t base = begin, m = end - begin;");
    emit_row_pointers(e, 0, "base", false);
    emit_span(e);
    emit_line(e, "begin = end;");
}

static void
emit_rows(Emit *e)
{
    const Kernel *k = e->kernel;
    int outer = k->nloops - 1;
    if (k->parts) {
        emit_parts(e);
        return;
    }
    if (k->tile_rows > 0) {
        emit_tiles(e);
        return;
    }
    if (k->beside) {
        emit_beside(e);
        return;
    }
    if (twin_fits(e)) emit_twin(e, true, emit_units);
    bool strips = rows_in_strips(k);
    int64_t length = strips ? STRIP_BYTES / widest_bytes(k) : k->block;
    if (strips) open_stretches(e, length);
    open_block(e, "for (int64_t unit = begin; unit < end; unit++) ");
    emit_row_place(e);
    if (length == 0) emit_line(e, "const int64_t base = 0, m = n%d;", k->size[outer]);
    if (length > 0 && !strips) open_stretches(e, length);
    emit_row_pointers(e, outer, length > 0 ? "base" : NULL, false);
    emit_span(e);
    if (length > 0) close_block(e);
    close_block(e);
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
    if (k->parts && k->nparts >= nsizes) nsizes = k->nparts + 1;
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
        else if (k->beside)
            emit_line(e, "char *const t%d = t%d + %d;", t, t - 1, k->beside * 64 + SLOT_GAP);
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

/* The body of the kernel's function. */
static void
emit_kernel(Emit *e)
{
    e->indent = 1;
    if (e->kernel->kind == KERNEL_REGION) {
        emit_region(e);
        return;
    }
    emit_arguments(e);
    if (e->kernel->kind == KERNEL_CALL) {
        emit_bare(e);
        return;
    }
    emit_once(e);
    if (e->bounds) {
        emit_by_bounds(e);
        return;
    }
    Text body = {0}, *out = begin_divisors(e, &body);
    emit_stream_sizes(e);
    switch (e->kernel->kind) {
    case KERNEL_FLAT: emit_flat(e); break;
    case KERNEL_COLUMNS: emit_columns(e); break;
    default: emit_rows(e); break;
    }
    emit_stream_end(e);
    emit_line(e, "return 0;");
    end_divisors(e, out, true);
}

int
emit_kernel_text(Emit *e, int number, bool comments, Text *out)
{
    e->kernel = e->program->kernels.at[number];
    size_t n = (size_t)e->kernel->instrs.len + 1;
    e->mark = mem_alloc(n * sizeof(int32_t));
    e->mask_bytes = mem_alloc(n);
    e->needs = mem_alloc(n);
    e->divides = mem_alloc(n * sizeof(bool));
    e->streams = mem_alloc((size_t)e->kernel->operands.len + 1);
    e->body = 0;
    e->comments = comments;
    e->out = out;
    bool ready = e->mark != NULL && e->mask_bytes != NULL && e->needs != NULL &&
                 e->divides != NULL && e->streams != NULL;
    if ((ready = ready && find_streams(e) == 0)) {
        find_flags(e);
        find_needs(e);
        emit_kernel(e);
    }
    mem_free(e->mark);
    mem_free(e->mask_bytes);
    mem_free(e->needs);
    mem_free(e->divides);
    mem_free(e->streams);
    return ready ? text_finish(out) : -1;
}
