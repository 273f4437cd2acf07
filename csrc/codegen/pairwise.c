/* Sums of floats along a row in NumPy's order, the pairwise sum of loops_utils.h.src: halves (the
   left one a multiple of 8) down to leaves of at most 128 elements, which have eight accumulators.
 */
#include "emit.h"

bool
is_pairwise(const Emit *e, int32_t at, int stage)
{
    return reduces_in_loop(e, at, stage) && instr_at(e, at)->order == REDUCE_PAIRWISE;
}

bool
stage_is_pairwise(const Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) return true;
    return false;
}

/* Eight accumulators, one by one, where the body has no vectors since it has a half or complex
   value. */
static void
emit_eight(Emit *e, int stage)
{
    emit_line(e, "while (j + 8 <= stop)");
    e->indent++;
    open_block(e, "for (int lane = 0; lane < 8; lane++, j++) ");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(e, "%s p%d = a%d[lane];", dtype_name(instr_at(e, i)->dtype), i, i);
    emit_body(e, stage, 1, "s");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) emit_line(e, "a%d[lane] = p%d;", i, i);
    close_block(e);
    e->indent--;
}

/* Declares the vectors that hold NumPy's eight accumulators: several, since one vector wider than
   the machine's registers would be kept in memory. */
static void
declare_eight(Emit *e, int i, int lanes)
{
    DType dtype = instr_at(e, i)->dtype;
    Text vector = {0};
    prelude_type(e->prelude, dtype, lanes, &vector);
    for (int part = 0; part < PAIRWISE_LANES / lanes; part++) {
        const char *name = accumulators[part];
        emit_line(e, "%s %s%d = (%s){} - 0;", vector.data, name, i, vector.data);
        emit_line(e, "%s%d = -%s%d;", name, i, name, i);
    }
    text_free(&vector);
}

/* Adds the eight accumulators of a leaf in NumPy's order. */
static void
add_eight(Emit *e, int i, int lanes)
{
    char lane[PAIRWISE_LANES][32];
    for (int k = 0; k < PAIRWISE_LANES; k++)
        snprintf(lane[k], sizeof(lane[k]), "%s%d[%d]", lanes > 1 ? accumulators[k / lanes] : "a", i,
                 lanes > 1 ? k % lanes : k);
    emit_line(e, "p%d = ((%s + %s) + (%s + %s)) + ((%s + %s) + (%s + %s));", i, lane[0], lane[1],
              lane[2], lane[3], lane[4], lane[5], lane[6], lane[7]);
}

/* NumPy's pairwise sum: halves (the left one a multiple of 8) down to leaves of at most 128
   elements, which have eight accumulators.  The tree is walked with a stack of right halves that
   remain.  A leaf of fewer than 8 elements is summed one by one from -0.0; x + -0.0 is x.

   What is long to compute fills a register, of which first one half is added and then the other:
   sums of exp, 4096 rows of 1024 float32 on two cores with AVX-512, 3.6 to 2.9 ms. */
void
emit_pairwise_loop(Emit *e, int stage)
{
    int lanes = body_lanes(e, stage);
    declare_accumulators(e, stage, lanes);
    open_block(e, "");
    if (lanes > 1) emit_next_rows(e, stage);
    emit_line(e, "int64_t j = 0, length = m, todo[64];");
    emit_line(e, "int top = 0, done[64];");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(e, "%s left%d[64];", dtype_name(instr_at(e, i)->dtype), i);
    open_block(e, "for (;;) ");
    open_block(e, "while (length > 128) ");
    emit_line(e, "int64_t half = length / 2;");
    emit_line(e, "half -= half %% 8;");
    emit_line(e, "todo[top] = length - half;");
    emit_line(e, "done[top++] = 0;");
    emit_line(e, "length = half;");
    close_block(e);
    emit_line(e, "const int64_t stop = j + length;");
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_pairwise(e, i, stage)) continue;
        const Instr *v = instr_at(e, i);
        emit_line(e, "%s p%d = -0.0;", dtype_name(v->dtype), i);
        if (lanes > 1) {
            declare_eight(e, i, lanes);
        } else {
            emit_line(e, "%s a%d[8];", dtype_name(v->dtype), i);
            emit_line(e, "for (int lane = 0; lane < 8; lane++) a%d[lane] = -0.0;", i);
        }
    }
    open_block(e, "if (length >= 8) ");
    if (body_pair_lanes(e, stage) > 0) {
        open_block(e, "while (j + 16 <= stop) ");
        emit_prefetch_next(e, stage, 16);
        emit_body(e, stage, body_pair_lanes(e, stage), "a");
        emit_line(e, "j += 16;");
        close_block(e);
    }
    if (lanes > 1) {
        open_block(e, "while (j + 8 <= stop) ");
        emit_prefetch_next(e, stage, 8);
        for (e->part = 0; e->part < PAIRWISE_LANES / lanes; e->part++) {
            open_block(e, "");
            emit_body(e, stage, lanes, "a");
            close_block(e);
            emit_line(e, "j += %d;", lanes);
        }
        e->part = 0;
        close_block(e);
    } else {
        emit_eight(e, stage);
    }
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) add_eight(e, i, lanes);
    close_block(e);
    emit_line(e, "REST");
    open_block(e, "for (; j < stop; j++) ");
    emit_body(e, stage, 1, "s");
    close_block(e);
    open_block(e, "while (top > 0 && done[top - 1]) ");
    emit_line(e, "top--;");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) emit_line(e, "p%d = left%d[top] + p%d;", i, i, i);
    close_block(e);
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) {
            emit_line(e, "if (top == 0) s%d = %sp%d;", i, e->kernel->parts ? "" : "0 + ", i);
            emit_line(e, "else left%d[top - 1] = p%d;", i, i);
        }
    emit_line(e, "if (top == 0) break;");
    emit_line(e, "done[top - 1] = 1;");
    emit_line(e, "length = todo[top - 1];");
    close_block(e);
    if (lanes > 1) fold_lanes(e, stage, lanes);
    close_block(e);
}
