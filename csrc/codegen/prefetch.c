/* Prefetches, of what a loop will read soon and of the row after the one that is processed.

   A softmax reads a row, computes with it in the first-level cache and writes another row.  Memory
   would have nothing to do in between; so the next row is fetched into the caches then.  Ordinary
   stores go better with this than those that bypass the caches (stream.c), since the caches write
   their lines to memory while the next row is processed.

   Measured on two cores with AVX-512, 4096 x 4096 in ms, without prefetches and bypassing; with
   prefetches and bypassing; with prefetches alone:

       softmax    float32 14.4, 12.2, 11.5      layernorm  float32 11.9, 10.6, 9.1
                  float64 29.7, 25.3, 22.5                 float64 22.9, 21.0, 17.2 */
#include "emit.h"

enum { LINE = 64 };

bool
reads_row(const Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    if (v->kind != INSTR_LOAD || v->level != LEVEL_ELEMENT) return false;
    const Operand *o = &e->kernel->operands.at[v->operand];
    return o->stride[e->kernel->nloops - 1] == STRIDE_UNIT && !o->turned;
}

/* For loops with a max or min, which are as fast as memory.  Measured, max of 131,072 f64 in the
   third-level cache: 18.3 to 15.6 us with AVX2.  With AVX-512 the machine needs no help: 12.2 and
   12.4 us, of 524,288 f64 49.5 us with prefetches and 43.8 without, of 16,777,216 7.3 and 5.2 ms.
 */
void
emit_prefetch_ahead(Emit *e, int stage, int lanes)
{
    enum { AHEAD = 2048 };
    bool extremes = false;
    if (e->vector_bytes == 64) return;
    for (int i = 0; i < e->kernel->instrs.len; i++)
        extremes |= reduces_in_loop(e, i, stage) && is_extreme(e, i);
    for (int i = 0; i < e->kernel->instrs.len && extremes; i++) {
        const Instr *v = instr_at(e, i);
        if (!reads_row(e, i) || v->stage != stage) continue;
        int bytes = (int)dtype_size(e->kernel->operands.at[v->operand].dtype);
        for (int line = 0; line < e->ways * lanes * bytes; line += LINE)
            emit_line(e, "__builtin_prefetch(r%d + j * %d + %d);", v->operand, bytes, AHEAD + line);
    }
}

/* Of which no output is stored, and the order of the elements makes no difference.  Measured with
   two threads, max of 16,777,216 elements: AVX2 f64 11.4 to 8.2 ms, f32 3.05 to 2.42; AVX-512 f64
   7.6 to 5.8, f32 1.8 in both ways. */
bool
reads_from_places(const Emit *e, int stage)
{
    enum { MOST_LOADS = 2 };
    int loads = 0;
    if (e->kernel->block || e->kernel->tile_rows) return false;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ELEMENT || v->stage != stage) continue;
        bool plain = v->kind == INSTR_CONST || v->kind == INSTR_OP ||
                     (v->kind == INSTR_REDUCE && is_extreme(e, i)) || reads_row(e, i);
        if (!plain) return false;
        loads += v->kind == INSTR_LOAD;
    }
    return loads > 0 && loads <= MOST_LOADS;
}

/* ---- the next row ---- */

/* The stage that computes with what an earlier one has read, and stores nothing: memory would have
   nothing to do.  -1: there is none. */
static int
idle_stage(const Emit *e)
{
    const Kernel *k = e->kernel;
    if (k->kind != KERNEL_ROWS || k->nloops < 2 || k->block || k->tile_rows || k->beside ||
        k->parts)
        return -1;
    for (int stage = 1; stage < k->nstages; stage++) {
        bool busy = !has_roots(e, stage) || pieces_wanted(e, stage) || pieces_wanted(e, stage - 1);
        for (int i = 0; i < k->instrs.len; i++) {
            const Instr *v = instr_at(e, i);
            if (v->level != LEVEL_ELEMENT || v->stage != stage) continue;
            busy |= v->kind == INSTR_LOAD || v->kind == INSTR_STORE || v->kind == INSTR_CALL;
        }
        if (!busy) return stage;
    }
    return -1;
}

/* Where the operand has its next row, as an index into KernelArgs.size of the distance; negative:
   nowhere else. */
static int
step_to_next(const Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    if (!reads_row(e, at) || v->stage >= stage) return -1;
    for (int i = 0; i < at; i++)
        if (reads_row(e, i) && instr_at(e, i)->operand == v->operand) return -1;
    return e->kernel->operands.at[v->operand].stride[e->kernel->nloops - 2];
}

bool
fetches_next_rows(const Emit *e)
{
    int stage = idle_stage(e);
    for (int i = 0; i < e->kernel->instrs.len && stage > 0; i++)
        if (step_to_next(e, i, stage) >= 0) return true;
    return false;
}

void
emit_next_rows(Emit *e, int stage)
{
    if (stage != idle_stage(e)) return;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        int step = step_to_next(e, i, stage), operand = instr_at(e, i)->operand;
        if (step < 0) continue;
        emit_line(e, "char *const next%d = m <= %d ? r%d + n%d : r%d;", operand,
                  NEXT_ROW_MOST / (int)dtype_size(e->kernel->operands.at[operand].dtype), operand,
                  step, operand);
    }
}

void
emit_prefetch_next(Emit *e, int stage, int elements)
{
    if (stage != idle_stage(e)) return;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (step_to_next(e, i, stage) < 0) continue;
        int operand = instr_at(e, i)->operand;
        int bytes = (int)dtype_size(e->kernel->operands.at[operand].dtype);
        for (int line = 0; line < elements * bytes; line += LINE)
            emit_line(e, "__builtin_prefetch(next%d + %s * %d + %d);", operand, e->position, bytes,
                      line);
    }
}
