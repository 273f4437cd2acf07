/* Ints that sizes have: a step where the int is known evaluates the sizes again, and makes the
   arrays of such sizes that are objects.  Memory of the arena is taken for the most that a size can
   be. */
#include "schedule.h"

/* The last step that measures what the size has, up to now number `last`. */
static int
measured_by(const Lowering *lw, SizeId id, int last)
{
    if (size_is_const(lw->graph, id)) return last;
    const Size *size = &lw->graph->sizes.at[id];
    if (size->kind >= SIZE_ADD) return measured_by(lw, size->b, measured_by(lw, size->a, last));
    for (int i = last + 1; i < lw->program->steps.len; i++) {
        const Step *step = &lw->program->steps.at[i];
        if (step->kind == STEP_MEASURE && step->measure.node == size->node) last = i;
    }
    return last;
}

static int
type_measured_by(const Lowering *lw, const Type *type)
{
    int last = -1;
    for (int i = 0; i < type->rank; i++)
        last = measured_by(lw, type->stride[i], measured_by(lw, type->shape[i], last));
    return last;
}

int
measure_buffers(Lowering *lw)
{
    Program *p = lw->program;
    for (BufferId id = 0; id < p->buffers.len; id++) {
        Buffer *b = &p->buffers.at[id];
        int64_t most;
        bool arena = b->kind == BUFFER_TEMP && !size_is_const(lw->graph, b->bytes);
        if (arena && !memory_is_slot(lw, b) && !size_upper(lw->graph, b->bytes, &most))
            lw->why = "memory of a size that has no bound";
        if (b->kind != BUFFER_OUTPUT) continue;
        int step = type_measured_by(lw, &b->type);
        if (step < 0) continue;
        b->pooled = true;
        if (VEC_PUSH(lw->arena, &p->steps.at[step].measure.fresh, id) < 0) return -1;
    }
    return 0;
}
