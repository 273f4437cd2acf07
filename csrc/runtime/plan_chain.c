/* Chains: kernels of a device that follow one another with nothing of the host between them, so
   that they can be launched at once.  Memory of arrays that die inside a chain is given back behind
   it, since another thread could get it, and use it on the same stream, before the chain is
   launched; a chain ends where that would be much. */
#include "plan.h"

#include <stddef.h>

enum { MUCH = 8 << 20 }; /* bytes: a kernel that reads them takes longer than a launch */

/* ---- made with the plan ---- */

static int64_t
buffer_bytes(const Plan *plan, const PlanBuffer *buffer)
{
    int64_t bytes = (int64_t)dtype_size((DType)buffer->type.dtype);
    for (int i = 0; i < buffer->type.rank; i++) bytes *= plan->size_values[buffer->type.shape[i]];
    return bytes;
}

/* Marks the steps in front of which a chain ends. */
static void
mark_ends(const Plan *plan, bool *ends)
{
    for (int i = 0; i < plan->nsteps; i++)
        if (plan->steps[i].kind == STEP_JUMP) ends[plan->steps[i].jump.target] = true;
    for (int i = 0; i < plan->nreleased; i++) {
        const PlanBuffer *buffer = &plan->buffers[plan->released[i]];
        if (buffer->type.form == FORM_ARRAY && buffer->type.device != DEVICE_HOST &&
            buffer_bytes(plan, buffer) >= MUCH)
            ends[buffer->released] = true;
    }
}

static bool
is_launched(const PlanStep *step)
{
    return step->kind == STEP_KERNEL && step->kernel.device != DEVICE_HOST;
}

static int
launch_words(const PlanKernel *kernel)
{
    int places = kernel->nplaces, sizes = kernel->nsizes;
    if (kernel->members == 0) return places + sizes;
    return kernel->table.shared + kernel->table.own * kernel->members;
}

static int
make_launch(Plan *plan, const PlanKernel *kernel, Launch *out)
{
    enum { ALIGNED = 64 }; /* what the driver asks of a map */
    size_t nwords = (size_t)launch_words(kernel), nmaps = (size_t)kernel->nmaps;
    out->kernel = kernel;
    out->words = arena_alloc(plan->memory, sizeof(uint64_t) * (nwords + 1));
    out->arguments = arena_alloc(plan->memory, sizeof(void *) * (nmaps + nwords + 1));
    out->maps = arena_alloc(plan->memory, MAP_BYTES * nmaps + ALIGNED);
    if (out->words == NULL || out->arguments == NULL || out->maps == NULL) return -1;
    out->maps += -(uintptr_t)out->maps % ALIGNED;
    for (size_t i = 0; i < nmaps; i++) out->arguments[i] = out->maps + i * MAP_BYTES;
    for (size_t i = 0; i < nwords; i++) out->arguments[nmaps + i] = &out->words[i];
    return 0; /* a table is the first argument */
}

/* The kernels in the order of their launches, `step` apart in an array that begins at `first`. */
static Chain *
make_chain(Plan *plan, const PlanKernel *first, ptrdiff_t step, int count)
{
    Chain *chain = arena_alloc(plan->memory, sizeof(Chain));
    Launch *launches = arena_alloc(plan->memory, sizeof(Launch) * (size_t)count);
    if (chain == NULL || launches == NULL) return NULL;
    *chain = (Chain){.device = first->device, .nlaunches = count, .launches = launches};
    chain->next = plan->chains; /* also one that fails: it is the plan's to end */
    plan->chains = chain;
    for (int i = 0; i < count; i++) {
        const char *kernel = (const char *)first + step * i;
        if (make_launch(plan, (const PlanKernel *)(const void *)kernel, &launches[i]) < 0)
            return NULL;
    }
    return chain;
}

static int
chain_steps(Plan *plan)
{
    bool *ends = arena_alloc(plan->memory, (size_t)plan->nsteps + 1);
    if (ends == NULL) return -1;
    mark_ends(plan, ends);
    for (int first = 0, end; first < plan->nsteps; first = end) {
        PlanStep *step = &plan->steps[first];
        end = first + 1;
        if (!is_launched(step)) continue;
        while (end < plan->nsteps && !ends[end] && is_launched(&plan->steps[end]) &&
               plan->steps[end].kernel.device == step->kernel.device)
            end++;
        step->chain = make_chain(plan, &step->kernel, sizeof(PlanStep), end - first);
        if (step->chain == NULL) return -1;
        for (int i = first; i < end; i++) step->chain->launches[i - first].step = &plan->steps[i];
    }
    return 0;
}

/* The newest comes first, see run_commits. */
static int
chain_commits(Plan *plan)
{
    plan->commit_chains = arena_alloc(plan->memory, sizeof(Chain *) * (size_t)(plan->ncommits + 1));
    if (plan->commit_chains == NULL) return -1;
    for (int first = plan->ncommits - 1, end; first >= 0; first = end) {
        const PlanKernel *kernel = &plan->commits[first];
        end = first - 1;
        if (kernel->device == DEVICE_HOST) continue;
        while (end >= 0 && plan->commits[end].device == kernel->device) end--;
        Chain *chain = make_chain(plan, kernel, -(ptrdiff_t)sizeof(PlanKernel), first - end);
        if (chain == NULL) return -1;
        plan->commit_chains[first] = chain;
    }
    return 0;
}

int
plan_chains(Plan *plan)
{
    return chain_steps(plan) < 0 || chain_commits(plan) < 0 ? -1 : 0;
}

/* ---- arguments of a run ---- */

static void
put_word(Launch *launch, int at, uint64_t word)
{
    launch->changed = launch->changed || launch->words[at] != word;
    launch->words[at] = word;
}

/* A pointer, or the bytes of a number of the host. */
static uint64_t
place_word(const Run *run, const PlanPlace *place)
{
    const PlanBuffer *buffer = &run->plan->buffers[place->buffer];
    const char *at = run->data[place->buffer] + run_size(run, place->offset);
    uint64_t word = 0;
    if (buffer->type.device != DEVICE_HOST) return (uint64_t)(uintptr_t)at;
    memcpy(&word, at, dtype_size((DType)buffer->type.dtype));
    return word;
}

/* Of one kernel: places, then integers. */
static void
fill_arguments(const Run *run, Launch *launch)
{
    const PlanKernel *kernel = launch->kernel;
    for (int i = 0; i < kernel->nplaces; i++)
        put_word(launch, i, place_word(run, &kernel->places[i]));
    for (int i = 0; i < kernel->nsizes; i++)
        put_word(launch, kernel->nplaces + i, (uint64_t)run->size[kernel->sizes[i]]);
}

/* Of kernels that are launched together. */
static void
fill_table(const Run *run, Launch *launch)
{
    const PlanKernel *kernel = launch->kernel;
    const LaunchTable *table = &kernel->table;
    int places = kernel->nplaces / kernel->members, sizes = kernel->nsizes / kernel->members;
    for (int m = 0, base = 0; m < kernel->members; m++, base += table->own) {
        for (int i = 0; i < places; i++)
            if (m == 0 || !table_shares(table, i))
                put_word(launch, base + table->at[i],
                         place_word(run, &kernel->places[m * places + i]));
        for (int i = 0; i < sizes; i++)
            if (m == 0 || !table_shares(table, places + i))
                put_word(launch, base + table->at[places + i],
                         (uint64_t)run->size[kernel->sizes[m * sizes + i]]);
    }
}

static void
fill_grid(const Run *run, Launch *launch)
{
    const PlanKernel *kernel = launch->kernel;
    for (int part = 0; part < 2 && kernel->function[part] != NULL; part++) {
        unsigned blocks = (unsigned)run_size(run, kernel->blocks[part]);
        launch->changed = launch->changed || launch->blocks[part] != blocks;
        launch->blocks[part] = blocks;
    }
}

void
chain_fill(const Run *run, Chain *chain)
{
    for (int i = 0; i < chain->nlaunches; i++) {
        Launch *launch = &chain->launches[i];
        if (launch->kernel->members > 0)
            fill_table(run, launch);
        else
            fill_arguments(run, launch);
        fill_grid(run, launch);
    }
}
