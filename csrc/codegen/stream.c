/* Stores that bypass the caches.

   An output larger than the last-level cache is no longer in it when it is read, and an ordinary
   store first reads the cache line that it fills.  Such outputs are written by non-temporal stores
   of whole aligned vectors.  The size and the alignment of a row are known at run time only:

       const int big1 = n0 * n1 * 4 >= 33554432;             once
       const int stream1 = big1 && (unsigned long)r1 % 64 == 0;   per row or block

   Measured, softmax of 4096 x 4096 f32 on one core: 0.96 to 0.86 ns per element. */
#include "emit.h"

enum { BIG = 32 << 20 };

/* Can it be stored in whole vectors? */
static bool
fits(const Emit *e, const Operand *o)
{
#if defined(__x86_64__)
    if (e->kernel->kind != KERNEL_FLAT && e->kernel->kind != KERNEL_ROWS) return false;
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
        emit_line(e, "%s%d >= %d;", line.data, (int)dtype_size(operand->dtype), BIG);
        text_free(&line);
    }
}

void
emit_stream_flags(Emit *e)
{
    for (int o = 0; o < e->kernel->operands.len; o++)
        if (e->streams[o])
            emit_line(e, "const int stream%d = big%d && (unsigned long)r%d %% %d == 0;", o, o, o,
                      e->vector_bytes);
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
