/* Stores that bypass the caches.

   An output larger than the last-level cache is not there any more when somebody reads it, and an
   ordinary store first reads the line that it fills.  Such outputs are written by non-temporal
   stores of whole aligned vectors.  The size and the alignment of a row are known at run time only:

       const int big1 = n0 * n1 * 4 >= 33554432;             once
       const int stream1 = big1 && (unsigned long)r1 % 64 == 0;   per row or block

   Measured, softmax of 4096 x 4096 f32 on one core: 0.96 to 0.86 ns per element. */
#include "emit.h"

enum { BIG = 32 << 20 };

static bool
is_written_by_value(const Emit *e, int32_t operand)
{
    int stores = 0;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = &e->kernel->instrs.at[i];
        if (v->home == HOME_OPERAND && v->slot == operand) return false;
        if (v->kind == INSTR_LOAD &&
            e->kernel->operands.at[v->operand].pointer == e->kernel->operands.at[operand].pointer)
            return false;
        if (v->kind != INSTR_STORE || v->operand != operand) continue;
        if (v->level != LEVEL_ELEMENT) return false;
        stores++;
    }
    return stores == 1;
}

bool
stream_operand(const Emit *e, int32_t operand)
{
#if defined(__x86_64__)
    const Operand *o = &e->kernel->operands.at[operand];
    if (e->kernel->kind != KERNEL_FLAT && e->kernel->kind != KERNEL_ROWS) return false;
    if (!o->stored || o->stride[e->kernel->nloops - 1] != STRIDE_UNIT) return false;
    if (dtype_size(o->dtype) < 4 || dtype_is_complex(o->dtype)) return false;
    return is_written_by_value(e, operand);
#else
    (void)e, (void)operand;
    return false;
#endif
}

void
emit_stream_sizes(Emit *e)
{
    for (int o = 0; o < e->kernel->operands.len; o++) {
        if (!stream_operand(e, o)) continue;
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
        if (stream_operand(e, o))
            emit_line(e, "const int stream%d = big%d && (unsigned long)r%d %% %d == 0;", o, o, o,
                      e->vector_bytes);
}

/* Before another thread is told. */
void
emit_stream_end(Emit *e)
{
    for (int o = 0; o < e->kernel->operands.len; o++)
        if (stream_operand(e, o)) {
            emit_line(e, "__builtin_ia32_sfence();");
            return;
        }
}
