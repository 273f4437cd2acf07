/* Arena offsets for temporaries, from their lifetimes in steps: in the order of first use each
   buffer takes the first gap that holds it.  A buffer last used in a step shares no memory with one
   first used in it, so kernels never see aliases. */
#include "schedule.h"

enum { ALIGN = 64 };

/* ---- the buffers of a step ---- */

static void
each_place(int count, const Place *places, BufferVisit visit, void *context)
{
    for (int i = 0; i < count; i++) visit(context, places[i].buffer);
}

static void
each_buffer(int count, const BufferId *buffers, BufferVisit visit, void *context)
{
    for (int i = 0; i < count; i++) visit(context, buffers[i]);
}

static void
each_carried(const CarryStep *step, BufferVisit visit, void *context)
{
    visit(context, step->condition.buffer);
    each_place(step->nmoves, step->from, visit, context);
    each_buffer(step->nmoves, step->to, visit, context);
    each_buffer(step->nfresh, step->fresh, visit, context);
    each_buffer(step->npool, step->pool, visit, context);
    each_buffer(step->ndropped, step->dropped, visit, context);
}

void
step_each_buffer(const Step *step, BufferVisit visit, void *context)
{
    switch (step->kind) {
    case STEP_KERNEL: each_place(step->kernel.nplaces, step->kernel.places, visit, context); break;
    case STEP_JUMP: visit(context, step->jump.condition.buffer); break;
    case STEP_CHOOSE:
        visit(context, step->choose.condition.buffer);
        each_place(2, step->choose.of, visit, context);
        visit(context, step->choose.to);
        break;
    case STEP_CARRY: each_carried(&step->carry, visit, context); break;
    case STEP_SAVE:
        for (int i = 0; i < step->save.nparts; i++) visit(context, step->save.parts[i].buffer);
        break;
    case STEP_MEASURE:
        visit(context, step->measure.from.buffer);
        each_buffer(step->measure.fresh.len, step->measure.fresh.at, visit, context);
        break;
    case STEP_EXTERN:
        each_place(step->external.nargs, step->external.args, visit, context);
        each_buffer(step->external.nresults, step->external.results, visit, context);
        break;
    }
}

/* ---- lifetimes ---- */

static void
touch(Lowering *lw, BufferId id, int step)
{
    if (id == NO_BUFFER) return;
    if (lw->first_step[id] < 0) lw->first_step[id] = step;
    lw->last_step[id] = step;
}

typedef struct {
    Lowering *lw;
    int step;
} Touching;

static void
touch_buffer(void *context, BufferId id)
{
    const Touching *t = context;
    touch(t->lw, id, t->step);
}

/* Both buffers of a choice live as long as the choice.  Backwards, for choices of choices. */
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
        Touching touching = {lw, s};
        step_each_buffer(&p->steps.at[s], touch_buffer, &touching);
    }
    for (int i = 0; i < p->commits.len; i++)
        for (int k = 0; k < p->commits.at[i].kernel.nplaces; k++)
            touch(lw, p->commits.at[i].kernel.places[k].buffer, p->steps.len);
    for (int i = 0; i < p->located.len; i++) touch(lw, p->located.at[i].place.buffer, p->steps.len);
    repeat_extend(lw);
    extend_choices(lw);
    return 0;
}

static int64_t
rounded(const Lowering *lw, const Buffer *b)
{
    return (size_most(lw->graph, b->bytes) + ALIGN - 1) / ALIGN * ALIGN;
}

/* A slot of this size that no buffer in use has; or a new one.  0, or -1 with the error set. */
static int
take_slot(Lowering *lw, Buffer *b, bool *used)
{
    Program *p = lw->program;
    Device device = (Device)b->type.device;
    SizeId bytes = size_ceiling(lw->graph, b->bytes);
    int at = 0;
    while (at < p->slots[device].len && (used[at] || p->slots[device].at[at] != bytes)) at++;
    if (at == p->slots[device].len && VEC_PUSH(lw->arena, &p->slots[device], bytes) < 0) return -1;
    used[at] = true;
    b->slot = at + 1;
    return 0;
}

/* Free bytes between buffers in use, by offset. */
typedef struct {
    int64_t at, end;
} Gap;

typedef struct {
    Lowering *lw;
    VEC(Gap) gaps;
    int64_t top; /* end of what was ever in use */
} Layout;

static int64_t
take(Layout *l, int64_t bytes)
{
    if (bytes == 0) return 0;
    for (int i = 0; i < l->gaps.len; i++) {
        Gap *gap = &l->gaps.at[i];
        if (gap->end - gap->at < bytes) continue;
        int64_t at = gap->at;
        gap->at += bytes;
        if (gap->at == gap->end) {
            memmove(gap, gap + 1, sizeof(Gap) * (size_t)(l->gaps.len - 1 - i));
            l->gaps.len--;
        }
        return at;
    }
    int64_t at = l->top;
    if (l->gaps.len > 0 && l->gaps.at[l->gaps.len - 1].end == l->top)
        at = l->gaps.at[--l->gaps.len].at; /* the last gap is extended */
    l->top = at + bytes;
    return at;
}

static int
give(Layout *l, int64_t at, int64_t bytes)
{
    int low = 0, high = l->gaps.len;
    if (bytes == 0) return 0;
    while (low < high) {
        int middle = (low + high) / 2;
        if (l->gaps.at[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    bool before = low > 0 && l->gaps.at[low - 1].end == at;
    bool after = low < l->gaps.len && l->gaps.at[low].at == at + bytes;
    if (before && after) {
        l->gaps.at[low - 1].end = l->gaps.at[low].end;
        memmove(&l->gaps.at[low], &l->gaps.at[low + 1],
                sizeof(Gap) * (size_t)(l->gaps.len - 1 - low));
        l->gaps.len--;
    } else if (before) {
        l->gaps.at[low - 1].end += bytes;
    } else if (after) {
        l->gaps.at[low].at = at;
    } else {
        if (VEC_PUSH(l->lw->arena, &l->gaps, (Gap){0, 0}) < 0) return -1;
        memmove(&l->gaps.at[low + 1], &l->gaps.at[low],
                sizeof(Gap) * (size_t)(l->gaps.len - 1 - low));
        l->gaps.at[low] = (Gap){at, at + bytes};
    }
    return 0;
}

/* A list of one device's temporaries for each step: those first used in it, or those last used in
   it. */
typedef struct {
    int32_t *first; /* per step: its first buffer + 1; ids ascend */
    int32_t *next;  /* per buffer: the next one + 1 */
} ByStep;

static int
by_step(const Lowering *lw, Device device, const int32_t *step_of, ByStep *out)
{
    const Program *p = lw->program;
    out->first = arena_alloc(lw->arena, sizeof(int32_t) * ((size_t)p->steps.len + 2));
    out->next = arena_alloc(lw->arena, sizeof(int32_t) * ((size_t)p->buffers.len + 1));
    if (out->first == NULL || out->next == NULL) return -1;
    for (BufferId id = p->buffers.len; id-- > 0;) {
        int step = step_of[id] < 0 ? 0 : step_of[id];
        const Buffer *b = &p->buffers.at[id];
        if (b->kind != BUFFER_TEMP || b->type.device != device) continue;
        out->next[id] = out->first[step];
        out->first[step] = id + 1;
    }
    return 0;
}

/* Bytes before the first element: of axes with negative strides. */
static int64_t
bytes_before(const Lowering *lw, const Type *type)
{
    int64_t bytes = 0;
    for (int axis = 0; axis < type->rank; axis++) {
        int64_t stride = size_value(lw->graph, type->stride[axis]);
        int64_t length = size_value(lw->graph, type->shape[axis]);
        if (stride < 0 && length > 0) bytes -= (length - 1) * stride;
    }
    return bytes;
}

static int
plan_device(Lowering *lw, Device device)
{
    Program *p = lw->program;
    Layout l = {.lw = lw};
    ByStep born, dead;
    bool *used = arena_alloc(lw->arena, (size_t)p->buffers.len + 1); /* slots */
    if (used == NULL) return -1;
    if (by_step(lw, device, lw->first_step, &born) < 0 ||
        by_step(lw, device, lw->last_step, &dead) < 0)
        return -1;
    for (int step = 0; step <= p->steps.len; step++) {
        for (int32_t i = born.first[step]; i != 0; i = born.next[i - 1]) {
            Buffer *b = &p->buffers.at[i - 1];
            if (!memory_is_slot(lw, b))
                b->arena_offset = take(&l, rounded(lw, b));
            else if (take_slot(lw, b, used) < 0)
                return -1;
        }
        for (int32_t i = dead.first[step]; i != 0; i = dead.next[i - 1]) {
            const Buffer *b = &p->buffers.at[i - 1];
            if (b->slot > 0)
                used[b->slot - 1] = false;
            else if (give(&l, b->arena_offset, rounded(lw, b)) < 0)
                return -1;
        }
    }
    p->arena_bytes[device] = l.top;
    return 0;
}

int
memory_plan(Lowering *lw)
{
    Program *p = lw->program;
    if (find_lifetimes(lw) < 0) return -1;
    for (int device = 0; device < DEVICE_COUNT; device++)
        if (plan_device(lw, (Device)device) < 0) return -1;
    for (BufferId id = 0; id < p->buffers.len; id++)
        if (p->buffers.at[id].kind == BUFFER_TEMP && p->buffers.at[id].slot == 0)
            p->buffers.at[id].arena_offset += bytes_before(lw, &p->buffers.at[id].type);
    return 0;
}
