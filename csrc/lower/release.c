/* Buffers that are array objects of their own, and how long a plan holds each.

   The argument of a call must be an object that the callee may keep.  A temporary that calls take
   is therefore made as an array object: in the arena it would have to be copied for each call.

   An array is made for the first step that needs it and released after the last, so that later
   arrays can use its memory.  Values that leave the plan (results, what a commit writes) are kept,
   and so is what a kept loop uses whose log may be played back at the very end. */
#include "schedule.h"

void
release_arguments(Lowering *lw)
{
    Program *p = lw->program;
    int axes[MAX_RANK];
    for (int s = 0; s < p->steps.len; s++) {
        const ExternStep *step = &p->steps.at[s].external;
        if (p->steps.at[s].kind != STEP_EXTERN || array_rows_form(step->callable) != NULL) continue;
        for (int i = 0; i < step->nargs; i++) {
            Buffer *b = &p->buffers.at[step->args[i].buffer];
            if (b->kind == BUFFER_TEMP && b->type.form == FORM_ARRAY && !b->written &&
                type_dense_axes(lw->graph, &b->type, axes) >= 0)
                b->kind = BUFFER_OUTPUT;
        }
    }
}

int
release_plan(Lowering *lw)
{
    Program *p = lw->program;
    bool *logged = arena_alloc(lw->arena, (size_t)p->buffers.len + 1);
    if (logged == NULL) return -1;
    for (int s = 0; s < p->steps.len; s++) {
        const KernelStep *step = &p->steps.at[s].kernel;
        if (p->steps.at[s].kind != STEP_KERNEL || !step->region || !step->keeps_log) continue;
        for (int i = 0; i < step->nplaces; i++)
            if (step->places[i].buffer != NO_BUFFER) logged[step->places[i].buffer] = true;
    }
    for (BufferId id = 0; id < p->buffers.len; id++) {
        Buffer *b = &p->buffers.at[id];
        if (b->kind != BUFFER_OUTPUT && b->kind != BUFFER_EXTERN && b->kind != BUFFER_CHOSEN)
            continue;
        int last = lw->last_step[id];
        b->born = b->pooled ? -1 : lw->first_step[id] < 0 ? 0 : lw->first_step[id];
        b->released = logged[id] || last < 0 || last == p->steps.len ? 0 : last + 1;
    }
    return 0;
}
