/* What a driven loop has in C variables: sizes, places of buffers, and numbers that only steps have
   which it does itself.  The kernels of its turns are inline functions, so that a turn that is
   short is computed in registers.

   The plan's memory is not current meanwhile: what a step needs that the plan does is put there
   before it, and all of it behind the loop. */
#include "drive.h"

static const char *
number_text(DType dtype)
{
    switch (dtype) {
    case DT_F64: return "double";
    case DT_F32: return "float";
    case DT_I64: return "int64_t";
    case DT_BOOL: return "unsigned char";
    default: return NULL;
    }
}

/* ---- which there are ---- */

static void
note_left(void *context, BufferId id)
{
    const DriveText *d = context;
    if (id != NO_BUFFER) d->left[id] = true;
}

static void
note_local(void *context, BufferId id)
{
    const DriveText *d = context;
    if (id == NO_BUFFER) return;
    const Buffer *b = &d->program->buffers.at[id];
    bool number = b->kind == BUFFER_SCALAR && number_text((DType)b->type.dtype) != NULL;
    bool stays = b->kind == BUFFER_INPUT || b->kind == BUFFER_CONST || b->kind == BUFFER_SCALAR ||
                 (b->kind == BUFFER_TEMP && b->slot == 0);
    if (number && !d->left[id])
        d->local[id] = true;
    else if (stays || !d->by_plan)
        d->fixed[id] = true;
}

static void
use_place(const DriveText *d, Place place)
{
    if (place.buffer != NO_BUFFER && place.offset != NO_SIZE) d->used[place.offset] = true;
}

static void
use_sizes(const DriveText *d, const Step *step)
{
    const KernelStep *s = &step->kernel;
    if (step->kind == STEP_JUMP) use_place(d, step->jump.condition);
    if (step->kind == STEP_MEASURE) use_place(d, step->measure.from);
    if (step->kind == STEP_CARRY) {
        use_place(d, step->carry.condition);
        for (int i = 0; i < step->carry.nmoves; i++) use_place(d, step->carry.from[i]);
    }
    if (step->kind != STEP_KERNEL) return;
    d->used[s->units] = true;
    for (int i = 0; i < s->nplaces; i++) use_place(d, s->places[i]);
    for (int i = 0; i < s->nsizes; i++) d->used[s->sizes[i]] = true;
}

static void
find_measured(const DriveText *d)
{
    const Graph *g = d->graph;
    for (SizeId id = 0; id < g->sizes.len; id++) {
        const Size *size = &g->sizes.at[id];
        if (size->kind >= SIZE_ADD) d->measured[id] = d->measured[size->a] || d->measured[size->b];
        for (int i = d->first; i <= d->last && size->kind == SIZE_NUMBER; i++) {
            const Step *step = &d->program->steps.at[i];
            d->measured[id] |= step->kind == STEP_MEASURE && step->measure.node == size->node;
        }
    }
    for (SizeId id = g->sizes.len; id-- > 0;) {
        const Size *size = &g->sizes.at[id];
        if (size->kind == SIZE_NUMBER) d->used[id] |= d->measured[id];
        if (size->kind < SIZE_ADD || !d->measured[id] || !d->used[id]) continue;
        d->used[size->a] = d->used[size->b] = true;
    }
}

void
drive_locals_find(DriveText *d)
{
    const Program *p = d->program;
    for (int i = d->first; i <= d->last; i++)
        if (!step_is_driven(p, &p->steps.at[i])) d->by_plan = true;
    for (int i = d->first; i <= d->last; i++)
        if (!step_is_driven(p, &p->steps.at[i])) step_each_buffer(&p->steps.at[i], note_left, d);
    for (int i = d->first; i <= d->last; i++) {
        if (!step_is_driven(p, &p->steps.at[i])) continue;
        step_each_buffer(&p->steps.at[i], note_local, d);
        use_sizes(d, &p->steps.at[i]);
    }
    find_measured(d);
}

bool
drive_measures(const DriveText *d)
{
    bool any = false;
    for (SizeId id = 0; id < d->graph->sizes.len; id++) any |= d->measured[id];
    return any;
}

/* ---- their text ---- */

void
drive_put_buffer(const DriveText *d, BufferId id)
{
    text_printf(d->out,
                d->local[id]   ? "(char *)&b%d"
                : d->fixed[id] ? "d%d"
                               : "drive->data[%d]",
                id);
}

void
drive_put_place(const DriveText *d, Place place)
{
    drive_put_buffer(d, place.buffer);
    bool none = size_is_const(d->graph, place.offset) && size_value(d->graph, place.offset) == 0;
    if (!none) text_printf(d->out, " + s%d", place.offset);
}

static void
put_copy(const DriveText *d, BufferId id, bool back)
{
    if (back)
        text_printf(d->out, "    __builtin_memcpy(&b%d, drive->data[%d], sizeof b%d);\n", id, id,
                    id);
    else
        text_printf(d->out, "    __builtin_memcpy(drive->data[%d], &b%d, sizeof b%d);\n", id, id,
                    id);
}

void
drive_locals_begin(const DriveText *d)
{
    const Program *p = d->program;
    for (BufferId id = 0; id < p->buffers.len; id++) {
        if (d->fixed[id]) text_printf(d->out, "    char *const d%d = drive->data[%d];\n", id, id);
        if (!d->local[id]) continue;
        text_printf(d->out, "    %s b%d;\n", number_text((DType)p->buffers.at[id].type.dtype), id);
        put_copy(d, id, true);
    }
    for (SizeId id = 0; id < d->graph->sizes.len; id++)
        if (d->used[id])
            text_printf(d->out, "    %sint64_t s%d = drive->size[%d];\n",
                        d->measured[id] ? "" : "const ", id, id);
}

void
drive_locals_end(const DriveText *d)
{
    for (BufferId id = 0; id < d->program->buffers.len; id++)
        if (d->local[id]) put_copy(d, id, false);
}

typedef struct {
    const DriveText *d;
    bool back;
} Sharing;

static void
share_buffer(void *context, BufferId id)
{
    const Sharing *s = context;
    if (id != NO_BUFFER && s->d->local[id]) put_copy(s->d, id, s->back);
}

void
drive_put_shared(const DriveText *d, const Step *step, bool back)
{
    Sharing sharing = {d, back};
    step_each_buffer(step, share_buffer, &sharing);
}

static void
anchor_buffer(void *context, BufferId id)
{
    const DriveText *d = context;
    if (id == NO_BUFFER || !d->local[id]) return;
    DType dtype = (DType)d->program->buffers.at[id].type.dtype;
    text_printf(d->out, "    __asm__ volatile(\"\" : \"+%s\"(b%d));\n",
                dtype_is_float(dtype) ? body_float_constraint : "r", id);
}

void
drive_put_anchor(DriveText *d, const Step *step)
{
    step_each_buffer(step, anchor_buffer, d);
}

void
drive_put_anchors(DriveText *d)
{
    for (BufferId id = 0; id < d->program->buffers.len; id++)
        if (dtype_is_float((DType)d->program->buffers.at[id].type.dtype)) anchor_buffer(d, id);
}
