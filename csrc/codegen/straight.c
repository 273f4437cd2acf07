/* Which programs need no optimising compiler.  Code generation has chosen the vectors, and a body
   that computes and stores each vector by itself is as good from a compiler that does little more
   than to allocate registers.  The optimiser earns its time with reductions (accumulators,
   unrolling), tiles and strides (addresses), and loops over scalars (vectors of its own).

   Measured with gcc 12: half of the compiler's time, and the vector loops of 18 such kernels have
   2,695 instructions instead of 2,713; those of reductions, tiles and columns were up to twice as
   long. */
#include "emit.h"

static bool
operands_are_straight(const Kernel *k)
{
    for (int o = 0; o < k->operands.len; o++) {
        int32_t row = k->operands.at[o].stride[k->nloops - 1];
        if (row != STRIDE_UNIT && row != STRIDE_ZERO) return false;
    }
    return true;
}

static bool
kernel_is_straight(Emit *e)
{
    const Kernel *k = e->kernel;
    if (k->kind != KERNEL_FLAT && k->kind != KERNEL_ROWS) return false;
    if (k->parts || k->tile_rows > 0 || k->beside > 0 || !operands_are_straight(k)) return false;
    for (int i = 0; i < k->instrs.len; i++)
        if (k->instrs.at[i].kind == INSTR_REDUCE) return false;
    for (int stage = 0; stage < k->nstages; stage++)
        if (has_roots(e, stage) && body_lanes(e, stage) == 1) return false;
    return true;
}

bool
codegen_is_straight(const Graph *graph, const Program *program)
{
    Emit e = {.graph = graph, .program = program, .vector_bytes = machine_vector_bytes()};
    for (int i = 0; i < program->kernels.len; i++) {
        e.kernel = program->kernels.at[i];
        if (!kernel_is_straight(&e)) return false;
    }
    return true;
}
