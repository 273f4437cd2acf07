/* Which programs need no optimising compiler.  Code generation has chosen the vectors, and what it
   prints of loops over them is as good from a compiler that does little more than to allocate
   registers, as long as it names no lane by a variable (prelude_fold).  The optimiser earns its
   time with loops over scalars, of which it makes vectors of its own, and with helpers that go
   through lanes.

   Measured with gcc 12: half of the compiler's time, and 60 kernels (elements, reductions along
   and across rows, short rows, strides, tiles) run between 0.7 and 1.2 times as long. */
#include "emit.h"

static bool
kernel_is_straight(Emit *e)
{
    const Kernel *k = e->kernel;
    if (k->kind == KERNEL_REGION) return false;
    for (int stage = 0; stage < k->nstages; stage++)
        if (has_roots(e, stage) && body_lanes(e, stage) == 1) return false;
    return true;
}

bool
is_straight(Emit *e)
{
    if (e->prelude->lane_by_lane) return false;
    for (int i = 0; i < e->program->kernels.len; i++) {
        e->kernel = e->program->kernels.at[i];
        if (e->kernel->device != DEVICE_HOST) continue;
        if (!kernel_is_straight(e)) return false;
    }
    return true;
}
