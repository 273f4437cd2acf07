/* Arena offsets for temporaries, from their lifetimes in steps: first fit by offset.  A buffer that
   dies in a step does not share memory with one born in it, so kernels never see aliases. */
#include "schedule.h"

enum { ALIGN = 64 };

static void
touch(Lowering *lw, BufferId id, int step)
{
    if (id == NO_BUFFER) return;
    if (lw->first_step[id] < 0) lw->first_step[id] = step;
    lw->last_step[id] = step;
}

static void
touch_choice(Lowering *lw, const ChooseStep *step, int at)
{
    touch(lw, step->condition.buffer, at);
    touch(lw, step->of[0].buffer, at);
    touch(lw, step->of[1].buffer, at);
    touch(lw, step->to, at);
}

/* What is chosen lives as long as the choice: of choices, too. */
static void
extend_choices(Lowering *lw)
{
    const Program *p = lw->program;
    for (int s = p->steps.len; s-- > 0;) {
        const ChooseStep *step = &p->steps.at[s].choose;
        if (p->steps.at[s].kind != STEP_CHOOSE) continue;
        for (int k = 0; k < 2; k++)
            if (lw->last_step[step->of[k].buffer] < lw->last_step[step->to])
                lw->last_step[step->of[k].buffer] = lw->last_step[step->to];
    }
}

static int
find_lifetimes(Lowering *lw)
{
    Program *p = lw->program;
    size_t n = (size_t)p->buffers.len + 1;
    lw->first_step = arena_alloc(lw->arena, n * sizeof(int32_t));
    lw->last_step = arena_alloc(lw->arena, n * sizeof(int32_t));
    if (lw->first_step == NULL || lw->last_step == NULL) return -1;
    for (size_t i = 0; i < n; i++) lw->first_step[i] = lw->last_step[i] = -1;
    for (int s = 0; s < p->steps.len; s++) {
        const Step *step = &p->steps.at[s];
        if (step->kind == STEP_KERNEL)
            for (int i = 0; i < step->kernel.nplaces; i++)
                touch(lw, step->kernel.places[i].buffer, s);
        else if (step->kind == STEP_JUMP)
            touch(lw, step->jump.condition.buffer, s);
        else if (step->kind == STEP_CHOOSE)
            touch_choice(lw, &step->choose, s);
        else {
            for (int i = 0; i < step->external.nargs; i++)
                touch(lw, step->external.args[i].buffer, s);
            for (int i = 0; i < step->external.nresults; i++)
                touch(lw, step->external.results[i], s);
        }
    }
    for (int i = 0; i < p->located.len; i++) touch(lw, p->located.at[i].place.buffer, p->steps.len);
    extend_choices(lw);
    return 0;
}

static int64_t
rounded(const Lowering *lw, const Buffer *b)
{
    return (size_value(lw->graph, b->bytes) + ALIGN - 1) / ALIGN * ALIGN;
}

static bool
alive_together(const Lowering *lw, BufferId a, BufferId b)
{
    return lw->first_step[a] <= lw->last_step[b] && lw->first_step[b] <= lw->last_step[a];
}

/* The lowest offset at which `id` meets none of the buffers placed before it. */
static int64_t
first_fit(const Lowering *lw, BufferId id)
{
    const Program *p = lw->program;
    int64_t at = 0, bytes = rounded(lw, &p->buffers.at[id]);
    for (bool moved = true; moved;) {
        moved = false;
        for (BufferId other = 0; other < id; other++) {
            const Buffer *o = &p->buffers.at[other];
            if (o->kind != BUFFER_TEMP || !alive_together(lw, id, other)) continue;
            if (at < o->arena_offset + rounded(lw, o) && o->arena_offset < at + bytes) {
                at = o->arena_offset + rounded(lw, o);
                moved = true;
            }
        }
    }
    return at;
}

/* Bytes from the lowest element to the first one, of a reversed array. */
static int64_t
bytes_before(const Lowering *lw, const Type *type)
{
    int64_t bytes = 0;
    for (int axis = 0; axis < type->rank; axis++) {
        int64_t reach = (size_value(lw->graph, type->shape[axis]) - 1) *
                        size_value(lw->graph, type->stride[axis]);
        if (reach < 0) bytes -= reach;
    }
    return bytes;
}

int
memory_plan(Lowering *lw)
{
    Program *p = lw->program;
    if (find_lifetimes(lw) < 0) return -1;
    for (BufferId id = 0; id < p->buffers.len; id++) {
        Buffer *b = &p->buffers.at[id];
        if (b->kind != BUFFER_TEMP) continue;
        b->arena_offset = first_fit(lw, id);
        int64_t end = b->arena_offset + rounded(lw, b);
        if (end > p->arena_bytes) p->arena_bytes = end;
    }
    for (BufferId id = 0; id < p->buffers.len; id++)
        if (p->buffers.at[id].kind == BUFFER_TEMP)
            p->buffers.at[id].arena_offset += bytes_before(lw, &p->buffers.at[id].type);
    return 0;
}
