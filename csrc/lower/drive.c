/* Loops of steps that a C function drives, in the place of the plan: it evaluates the sizes that a
   turn makes known, calls the kernels, copies the numbers that are carried, and jumps.  A turn that
   is short is mostly that.  Steps that need Python or threads are done by the plan, which the
   function calls.

   It is what the plan would do with each step (runtime/plan.c), and in that order.  Any step can be
   left to the plan: what only the function knows by then is written back before. */
#include "region.h"
#include "schedule.h"

/* Arrays are carried as objects. */
static bool
carries_numbers(const Program *p, const CarryStep *carry)
{
    for (int i = 0; i < carry->nmoves; i++)
        if (p->buffers.at[carry->to[i]].type.form == FORM_ARRAY) return false;
    return carry->nfresh == 0 && carry->ndropped == 0;
}

/* Does the kept loop no more than read elements?  Then it can be done again, from the start. */
static bool
reads_only(const RegionLoop *region)
{
    for (int i = 0; i < region->arrays.len; i++) {
        const RegionArray *a = &region->arrays.at[i];
        if (a->stored || a->grows || a->draws) return false;
    }
    return true;
}

bool
step_is_driven(const Program *p, const Step *step)
{
    if (step->kind == STEP_CARRY) return carries_numbers(p, &step->carry);
    if (step->kind == STEP_MEASURE) return step->measure.fresh.len == 0;
    if (step->kind == STEP_JUMP) return true;
    if (step->kind != STEP_KERNEL) return false;
    const KernelStep *s = &step->kernel;
    if (s->region && !reads_only(p->kernels.at[s->kernel]->region)) return false;
    if (s->bounded || s->parts || s->silent) return false;
    for (int i = 0; i < s->nloops; i++)
        if (p->loops.at[s->loops[i]].foreign) return false;
    return true;
}

/* Kernels of devices, and waves, are launched together. */
static bool
is_drivable(const Program *p, int first, int last)
{
    for (int i = first; i <= last; i++) {
        const Step *step = &p->steps.at[i];
        if (step->kind == STEP_KERNEL &&
            (step->kernel.device != DEVICE_HOST || step->kernel.members > 0))
            return false;
        if (step->kind == STEP_JUMP && (step->jump.target < first || step->jump.target > last + 1))
            return false;
    }
    for (int i = 0; i < p->waves.len; i++)
        if (p->waves.at[i].first <= last && p->waves.at[i].first + p->waves.at[i].count > first)
            return false;
    return true;
}

/* Outer loops first: one within another that is driven is a part of it. */
int
drives_find(Lowering *lw)
{
    Program *p = lw->program;
    int behind = 0;
    for (int again = p->steps.len; again-- > 0;) {
        const Step *step = &p->steps.at[again];
        if (step->kind != STEP_CARRY || step->carry.condition.buffer == NO_BUFFER) continue;
        int first = step->carry.target;
        if (behind != 0 && again >= behind) continue;
        if (!is_drivable(p, first, again)) continue;
        Drive drive = {.first = first, .last = again};
        if (VEC_PUSH(lw->arena, &p->drives, drive) < 0) return -1;
        behind = first;
    }
    return 0;
}
