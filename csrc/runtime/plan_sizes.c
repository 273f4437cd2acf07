/* The sizes of a plan: lengths, strides and ints from outside, and what is computed of them.

   Capture, the passes and lowering make many more sizes than a run needs.  Those that nothing in
   the plan names are not evaluated, and have a value at which whoever uses them by mistake fails.
   Of the others those from outside come first: all else is computed of them, in order. */
#include "plan.h"

enum {
    ALIGNMENT = 64, /* of an arena's parts */
    MOST_BITS = 46, /* of a size in bytes */
};
static const int64_t unneeded = INT64_C(1) << 60;

/* ---- making ---- */

/* Is the size known while compiling?  For an array whose shape and strides are guarded, every
   dimension and stride is, and so are sizes computed from them. */
static bool
size_is_fixed(const Graph *g, const Size *size, const bool *fixed)
{
    if (size->kind == SIZE_CONST) return true;
    if (size->kind == SIZE_NUMBER) return false;
    if (size->kind >= SIZE_ADD) return fixed[size->a] && fixed[size->b];
    const Type *type = &graph_node(g, size->node)->type;
    return type->form == FORM_ARRAY &&
           size_is_const(g, (size->kind == SIZE_DIM ? type->shape : type->stride)[size->axis]);
}

int
plan_sizes(Plan *plan, const Graph *g)
{
    plan->nsizes = g->sizes.len;
    plan->size_values = arena_alloc(plan->memory, sizeof(int64_t) * (size_t)(g->sizes.len + 1));
    plan->dynamic = arena_alloc(plan->memory, sizeof(PlanSize) * (size_t)(g->sizes.len + 1));
    bool *fixed = arena_alloc(plan->memory, (size_t)(g->sizes.len + 1));
    if (plan->size_values == NULL || plan->dynamic == NULL || fixed == NULL) return -1;
    for (int i = 0; i < g->sizes.len; i++) {
        const Size *size = &g->sizes.at[i];
        plan->size_values[i] = size->value;
        if ((fixed[i] = size_is_fixed(g, size, fixed))) continue;
        PlanSize *out = &plan->dynamic[plan->ndynamic++];
        *out =
            (PlanSize){.kind = size->kind, .id = i, .axis = size->axis, .a = size->a, .b = size->b};
        out->node = size->node;
        if (size->kind == SIZE_DIM || size->kind == SIZE_STRIDE)
            out->input = (int32_t)graph_node(g, size->node)->attrs.index;
    }
    return 0;
}

/* ---- which of them a run needs ---- */

static void
need(bool *needed, SizeId id)
{
    if (id != NO_SIZE) needed[id] = true;
}

static void
need_type(bool *needed, const Type *type)
{
    for (int i = 0; i < type->rank; i++) {
        need(needed, type->shape[i]);
        need(needed, type->stride[i]);
    }
    need(needed, type->offset);
}

static void
need_places(bool *needed, const PlanPlace *places, int count)
{
    for (int i = 0; i < count; i++) need(needed, places[i].offset);
}

static void
need_kernel(bool *needed, const PlanKernel *kernel)
{
    need_places(needed, kernel->places, kernel->nplaces);
    for (int i = 0; i < kernel->nsizes; i++) need(needed, kernel->sizes[i]);
    need(needed, kernel->units);
    need(needed, kernel->scratch_row);
}

static void
need_step(bool *needed, const PlanStep *step)
{
    switch (step->kind) {
    case STEP_KERNEL: need_kernel(needed, &step->kernel); break;
    case STEP_JUMP: need_places(needed, &step->jump.condition, 1); break;
    case STEP_CHOOSE:
        need_places(needed, &step->choose.condition, 1);
        need_places(needed, step->choose.of, COUNT_OF(step->choose.of));
        break;
    case STEP_CARRY:
        need_places(needed, step->carry.from, step->carry.nmoves);
        need_places(needed, &step->carry.condition, 1);
        break;
    case STEP_SAVE:
        for (int i = 0; i < step->save.nparts; i++) need_type(needed, &step->save.parts[i].type);
        break;
    case STEP_EXTERN:
        need_places(needed, step->external.args, step->external.nargs);
        for (int i = 0; i < step->external.nargs; i++)
            need_type(needed, &step->external.arg_types[i]);
        break;
    case STEP_MEASURE: break; /* see all_needed */
    }
}

static void
need_all_of(const Plan *plan, bool *needed)
{
    for (int i = 0; i < plan->nbuffers; i++) need_type(needed, &plan->buffers[i].type);
    for (int i = 0; i < plan->nsteps; i++) need_step(needed, &plan->steps[i]);
    for (int i = 0; i < plan->ncommits; i++) need_kernel(needed, &plan->commits[i]);
    for (int i = 0; i < plan->nboxes; i++) {
        need_places(needed, &plan->boxes[i].place, 1);
        need_type(needed, &plan->boxes[i].type);
        if (plan->boxes[i].partial) need_type(needed, &plan->boxes[i].view);
    }
    for (int i = 0; i < plan->nslots[DEVICE_HOST]; i++) need(needed, plan->slots[DEVICE_HOST][i]);
    for (int i = 0; i < plan->nreaches; i++) need(needed, plan->reaches[i]);
}

/* Does it have parts that name sizes in ways of their own?  Code of driven steps, launches on a
   device, and sizes that steps make known. */
static bool
all_needed(const Plan *plan)
{
    for (int i = 0; i < plan->ndynamic; i++)
        if (plan->dynamic[i].kind == SIZE_NUMBER) return true;
    return plan->uses_device || plan->ndrives > 0;
}

/* And what those are computed of. */
static void
need_operands(const Plan *plan, bool *needed)
{
    for (bool more = true; more;) {
        more = false;
        for (int i = plan->ndynamic; i-- > 0;) {
            const PlanSize *size = &plan->dynamic[i];
            if (size->kind < SIZE_ADD || !needed[size->id]) continue;
            more |= !needed[size->a] || !needed[size->b];
            needed[size->a] = needed[size->b] = true;
        }
    }
}

int
plan_need_sizes(Plan *plan)
{
    size_t room = sizeof(PlanSize) * (size_t)(plan->ndynamic + 1);
    bool *needed = arena_alloc(plan->memory, (size_t)(plan->nsizes + 1));
    plan->needed = arena_alloc(plan->memory, room);
    if (needed == NULL || plan->needed == NULL) return -1;
    if (all_needed(plan)) {
        memset(needed, true, (size_t)plan->nsizes);
    } else {
        need_all_of(plan, needed);
        need_operands(plan, needed);
    }
    for (int computed = 0; computed < 2; computed++) {
        for (int i = 0; i < plan->ndynamic; i++) {
            const PlanSize *size = &plan->dynamic[i];
            if ((size->kind >= SIZE_ADD) != computed || size->kind == SIZE_NUMBER) continue;
            if (needed[size->id])
                plan->needed[plan->nneeded++] = *size;
            else
                plan->size_values[size->id] = unneeded;
        }
        if (!computed) plan->nread = plan->nneeded;
    }
    return 0;
}

/* ---- in a run ---- */

/* ANSWER_NO where it is no int of 64 bits: the program's ints may be that large. */
static Answer
compute_size(const PlanSize *size, int64_t *value)
{
    int64_t a = value[size->a], b = value[size->b], *out = &value[size->id];
    bool large = false;
    switch (size->kind) {
    case SIZE_ADD: large = __builtin_add_overflow(a, b, out); break;
    case SIZE_MUL: large = __builtin_mul_overflow(a, b, out); break;
    default: *out = size_apply(size->kind, a, b);
    }
    return large ? ANSWER_NO : ANSWER_YES;
}

static Answer
read_sizes(const Run *run, int64_t *value)
{
    const Plan *plan = run->plan;
    const PlanSize *size = plan->needed, *computed = size + plan->nread;
    const PlanSize *end = size + plan->nneeded;
    memcpy(value, plan->size_values, sizeof(int64_t) * (size_t)plan->nsizes);
    for (; size < computed; size++)
        if (plan_size_read(plan, size, run->reached, &value[size->id]) != ANSWER_YES)
            return ANSWER_NO;
    for (; size < end; size++)
        if (compute_size(size, value) != ANSWER_YES) return ANSWER_NO;
    return ANSWER_YES;
}

int64_t
run_sizes(Run *run, int64_t *sizes)
{
    const Plan *plan = run->plan;
    int64_t *slot = sizes + plan->nsizes, scratch = plan->scratch_bytes;
    int64_t end[DEVICE_COUNT] = {[DEVICE_HOST] = plan->arena_bytes};
    memcpy(&end[DEVICE_CUDA], plan->device_bytes, sizeof plan->device_bytes);
    if (read_sizes(run, sizes) != ANSWER_YES) return -1;
    run->size = run->measured = sizes;
    for (int on = 0; on < DEVICE_COUNT; on++) {
        run->slot[on] = slot;
        for (int i = 0; i < plan->nslots[on]; i++) {
            int64_t own = sizes[plan->slots[on][i]];
            if (own < 0 || own >> MOST_BITS != 0) return -1;
            *slot++ = end[on];
            end[on] += (own + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    for (int i = 0; i < plan->nreaches; i++)
        if (sizes[plan->reaches[i]] > MOST_REACH) return -1;
    for (int i = 0; i < plan->nrows; i++)
        scratch = Py_MAX(scratch, kernel_scratch(run, plan->rows[i]));
    memcpy(run->device_bytes, &end[DEVICE_CUDA], sizeof run->device_bytes);
    run->scratch_at = end[DEVICE_HOST];
    return end[DEVICE_HOST] + scratch;
}
