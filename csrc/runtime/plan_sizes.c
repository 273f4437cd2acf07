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

/* Do steps make some of them known? */
static bool
has_measured(const Plan *plan)
{
    for (int i = 0; i < plan->ndynamic; i++)
        if (plan->dynamic[i].kind == SIZE_NUMBER) return true;
    return false;
}

/* Does it have parts that name sizes in ways of their own?  Code of driven steps, launches on a
   device, and sizes that steps make known. */
static bool
all_needed(const Plan *plan)
{
    return plan->uses_device || plan->ndrives > 0 || has_measured(plan);
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
plan_run_sizes(const Plan *plan)
{
    int count = plan->nsizes;
    for (int on = 0; on < DEVICE_COUNT; on++) count += plan->nslots[on];
    return count;
}

/* Room for those of the last run.  Measured ones change during a run, and are not kept. */
static int
keep_sizes(Plan *plan)
{
    if (plan->ndynamic == 0 || has_measured(plan)) return 0;
    size_t bytes = sizeof(int64_t) * (size_t)plan->nsizes;
    plan->kept.values = arena_alloc(plan->memory, sizeof(int64_t) * (size_t)plan_run_sizes(plan));
    if (plan->kept.values == NULL) return -1;
    memcpy(plan->kept.values, plan->size_values, bytes);
    return 0;
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
    return keep_sizes(plan);
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

Answer
plan_size_elsewhere(const PlanSize *size, PyObject *object, int64_t *out)
{
    ArrayHeader header;
    if (PyLong_CheckExact(object)) { /* guarded to be of 64 bits */
        *out = PyLong_AsLongLong(object);
        return ANSWER_YES;
    }
    if (array_header(object, &header) != ANSWER_YES || size->axis >= header.rank) return ANSWER_NO;
    *out = (size->kind == SIZE_DIM ? header.shape : header.stride)[size->axis];
    return ANSWER_YES;
}

/* Those from outside; *same becomes false where one is another than was there. */
static Answer
read_sizes(const Plan *plan, PyObject *const *reached, int64_t *value, bool *same)
{
    for (int i = 0; i < plan->nread; i++) {
        int64_t now, *out = &value[plan->needed[i].id];
        if (plan_size_read(plan, &plan->needed[i], reached, &now) != ANSWER_YES) return ANSWER_NO;
        *same = *same && *out == now;
        *out = now;
    }
    return ANSWER_YES;
}

static Answer
compute_sizes(const Plan *plan, int64_t *value)
{
    for (int i = plan->nread; i < plan->nneeded; i++)
        if (compute_size(&plan->needed[i], value) != ANSWER_YES) return ANSWER_NO;
    return ANSWER_YES;
}

/* What follows from the sizes: where slots are, and what arenas need. */
static Answer
lay_out(Run *run, const int64_t *sizes, int64_t *slot)
{
    const Plan *plan = run->plan;
    RunRoom *room = &run->room;
    int64_t scratch = plan->scratch_bytes;
    for (int on = 0; on < DEVICE_COUNT; on++) {
        int64_t *end =
            on == DEVICE_HOST ? &room->scratch_at : &room->device_bytes[on - DEVICE_CUDA];
        for (int i = 0; i < plan->nslots[on]; i++) {
            int64_t own = sizes[plan->slots[on][i]];
            if (own < 0 || own >> MOST_BITS != 0) return ANSWER_NO;
            *slot++ = *end;
            *end += (own + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    for (int i = 0; i < plan->nreaches; i++)
        if (sizes[plan->reaches[i]] > MOST_REACH) return ANSWER_NO;
    for (int i = 0; i < plan->nrows; i++)
        scratch = Py_MAX(scratch, kernel_scratch(run, plan->rows[i]));
    room->bytes = room->scratch_at + scratch;
    return ANSWER_YES;
}

Answer
run_sizes(Run *run, int64_t *own)
{
    Plan *plan = run->plan;
    KeptSizes *kept = &plan->kept;
    bool keeps = kept->values != NULL && !kept->taken; /* a recursive call, say, has them else */
    bool same = keeps && kept->known;
    int64_t *sizes = keeps ? kept->values : own;
    if (!keeps) memcpy(own, plan->size_values, sizeof(int64_t) * (size_t)plan->nsizes);
    run->size = run->measured = sizes;
    run->slot = sizes + plan->nsizes;
    if (keeps) kept->known = false;
    if (read_sizes(plan, run->reached, sizes, &same) != ANSWER_YES) return ANSWER_NO;
    if (same)
        run->room = kept->room;
    else if (compute_sizes(plan, sizes) != ANSWER_YES ||
             lay_out(run, sizes, sizes + plan->nsizes) != ANSWER_YES)
        return ANSWER_NO;
    if (!keeps) return ANSWER_YES;
    kept->room = run->room;
    kept->known = kept->taken = run->keeps_sizes = true;
    return ANSWER_YES;
}
