/* Stores that bypass the caches.

   An output larger than the last-level cache is no longer in it when it is read, and an ordinary
   store first reads the cache line that it fills.  Such outputs, unless a wave (lower/wave.c) reads
   them before that, are written by non-temporal stores of whole aligned vectors.  The size and the
   alignment of a row are known at run time only, and the elements up to the first whole vector are
   done one by one:

       const int big1 = n0 * n1 * 4 >= 25165824;                          once
       int64_t head = big1 ? (int64_t)(-(unsigned long)r1 % 64 / 4) : 0;   per row or block
       const int stream1 = big1 && (unsigned long)(r1 + head * 4) % 64 == 0;

   Where a loop has reasons of its own to begin at 0 there is no head, and rows that happen to be
   aligned are streamed.

   Measured, softmax of 4096 x 4096 f32 on one core: 0.96 to 0.86 ns per element; 2046 x 2046 f64,
   of whose rows one in four is aligned, on two: 2.1 to 1.7 ms.  Where the next row is fetched while
   one is processed (prefetch.c) rows are stored through the caches after all. */
#include "emit.h"

/* Can it be stored in whole vectors? */
static bool
fits(const Emit *e, const Operand *o)
{
#if defined(__x86_64__)
    if (e->kernel->kind != KERNEL_FLAT && e->kernel->kind != KERNEL_ROWS) return false;
    if (e->kernel->read_soon) return false;
    if (!o->stored || o->stride[e->kernel->nloops - 1] != STRIDE_UNIT) return false;
    return dtype_size(o->dtype) >= 4 && !dtype_is_complex(o->dtype);
#else
    (void)e, (void)o;
    return false;
#endif
}

/* Finds the operands that a single instruction stores, for each element, and none reads. */
int
find_streams(Emit *e)
{
    const Kernel *k = e->kernel;
    enum { STORED = 1, SPOILT = 2 }; /* per operand */
    enum { READ = 4 };               /* per pointer */
    uint8_t *seen = mem_alloc((size_t)k->operands.len + 1);
    if (seen == NULL) return -1;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        if (v->home == HOME_OPERAND) seen[v->slot] |= SPOILT;
        if (v->kind == INSTR_LOAD && k->kind != KERNEL_REGION)
            seen[k->operands.at[v->operand].pointer] |= READ;
        if (v->kind == INSTR_STORE && k->kind != KERNEL_REGION)
            seen[v->operand] |=
                seen[v->operand] & STORED || v->level != LEVEL_ELEMENT ? SPOILT : STORED;
    }
    for (int o = 0; o < k->operands.len; o++) {
        const Operand *operand = &k->operands.at[o];
        bool written = (seen[o] & (STORED | SPOILT)) == STORED && !(seen[operand->pointer] & READ);
        e->streams[o] = written && fits(e, operand);
    }
    mem_free(seen);
    return 0;
}

void
emit_stream_sizes(Emit *e)
{
    for (int o = 0; o < e->kernel->operands.len; o++) {
        if (!e->streams[o]) continue;
        const Operand *operand = &e->kernel->operands.at[o];
        Text line = {0};
        text_printf(&line, "const int big%d = ", o);
        for (int i = 0; i < e->kernel->nloops; i++)
            if (operand->stride[i] != STRIDE_ZERO) text_printf(&line, "n%d * ", e->kernel->size[i]);
        int bytes = (int)dtype_size(operand->dtype);
        text_printf(&line, "%d >= %d", bytes, BEYOND_CACHES);
        if (fetches_next_rows(e))
            text_printf(&line, " && n%d > %d", e->kernel->size[e->kernel->nloops - 1],
                        NEXT_ROW_MOST / bytes);
        emit_line(e, "%s;", line.data);
        text_free(&line);
    }
}

/* Does the loop of this stage do elements one by one until its first vector? */
static bool
may_peel(const Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (reduces_in_loop(e, i, stage)) return false;
    bool pieces = pieces_wanted(e, stage) || (stage > 0 && pieces_wanted(e, stage - 1));
    return body_lanes(e, stage) > 1 && !pieces;
}

/* Is it a store of whole vectors of the machine's that may bypass the caches? */
static bool
streams_vectors(const Emit *e, const Instr *v)
{
    return v->kind == INSTR_STORE && e->streams[v->operand] &&
           body_lanes(e, v->stage) * (int)dtype_size(v->dtype) == e->vector_bytes;
}

/* The operand from whose alignment rows have a head: the first that is streamed; -1: there is none.
   A head is shorter than a vector only if all vectors have as many lanes. */
static int
head_operand(const Emit *e)
{
    const Kernel *k = e->kernel;
    const Instr *first = NULL;
    if (k->tile_rows > 0 || k->beside || k->parts || skipped_operand(e) >= 0) return -1;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        if (!streams_vectors(e, v)) continue;
        if (first == NULL) first = v;
        if (!may_peel(e, v->stage) || dtype_size(v->dtype) != dtype_size(first->dtype)) return -1;
    }
    return first != NULL ? first->operand : -1;
}

bool
stage_has_head(const Emit *e, int stage)
{
    if (head_operand(e) < 0) return false;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->stage == stage && streams_vectors(e, v)) return true;
    }
    return false;
}

void
emit_stream_flags(Emit *e)
{
    int from = head_operand(e);
    if (from >= 0) {
        int bytes = (int)dtype_size(e->kernel->operands.at[from].dtype);
        emit_line(e, "int64_t head = big%d ? (int64_t)(-(unsigned long)r%d %% %d / %d) : 0;", from,
                  from, e->vector_bytes, bytes);
        emit_line(e, "if (head > m) head = m;");
    }
    for (int o = 0; o < e->kernel->operands.len; o++) {
        if (!e->streams[o]) continue;
        Text address = {0};
        int bytes = (int)dtype_size(e->kernel->operands.at[o].dtype);
        text_printf(&address, from >= 0 ? "(r%d + head * %d)" : "r%d", o, bytes);
        emit_line(e, "const int stream%d = big%d && (unsigned long)%s %% %d == 0;", o, o,
                  address.data ? address.data : "", e->vector_bytes);
        text_free(&address);
    }
}

/* Non-temporal stores must be complete before another thread learns that the kernel is done. */
void
emit_stream_end(Emit *e)
{
    for (int o = 0; o < e->kernel->operands.len; o++)
        if (e->streams[o]) {
            emit_line(e, "__builtin_ia32_sfence();");
            return;
        }
}
