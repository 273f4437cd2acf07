/* Runs a wave (lower/wave.c): its kernels tile by tile, each as far behind the first as its lag
   says.

   Threads claim tiles in their order.  A member begins with its strips of a tile when it is done
   with those of the tile before, so that all strips of earlier members that lie in earlier tiles
   are done, too:

       tile 3   thread A    member 0   member 1   member 2
       tile 4   thread B               member 0   member 1   member 2

   Whoever waits does so for a thread that has claimed a tile, as at the end of every job.  More
   threads than members would wait for one another; then the kernels run as if there were no wave.
   Tiles that have nothing to do with one another need no order. */
#include "plan.h"

#include <alloca.h>
#include <sched.h>
#include <stdatomic.h>

enum { SPINS = 4000 }; /* until the thread waited for may need this one's core */

typedef struct {
    const PlanKernel *kernel;
    KernelArgs args;
    int64_t units, pace, lag;
    _Atomic unsigned raised;
} Part;

typedef struct {
    Part *parts;
    int count;
    int64_t tile, scratch_bytes;
    _Atomic int32_t *done; /* per tile: how many members are; NULL: nobody asks */
    _Atomic int failed;    /* 1 + the number of a member, or 0 */
} Tiles;

static void
wait_for(_Atomic int32_t *done, int32_t least)
{
    for (int spins = 0; atomic_load_explicit(done, memory_order_acquire) < least; spins++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        if (spins >= SPINS) sched_yield();
    }
}

/* The member's strips of the tile. */
static int
run_part(Part *part, char *scratch, int64_t begin, int64_t end)
{
    begin = Py_MAX(begin - part->lag, 0) * part->pace;
    end = Py_MIN((end - part->lag) * part->pace, part->units);
    if (begin >= end) return 0;
    KernelArgs args = part->args;
    args.scratch = scratch;
    if (!part->kernel->checks_flags) return part->kernel->call(&args, begin, end);
    fp_flags_clear();
    int failed = part->kernel->call(&args, begin, end);
    unsigned raised = fp_flags_read();
    if (raised) atomic_fetch_or_explicit(&part->raised, raised, memory_order_relaxed);
    return failed;
}

/* A KernelFn whose units are tiles.  Tiles of which nothing is done, for want of scratch or after a
   failure, are reported all the same, as others wait for them. */
static int
run_tiles(const KernelArgs *args, int64_t begin, int64_t end)
{
    Tiles *tiles = (Tiles *)(void *)args->ptr[0];
    char *scratch = tiles->scratch_bytes > 0 ? thread_scratch(tiles->scratch_bytes) : NULL;
    if (tiles->scratch_bytes > 0 && scratch == NULL)
        atomic_store_explicit(&tiles->failed, 1, memory_order_relaxed);
    for (int64_t t = begin; t < end; t++)
        for (int m = 0; m < tiles->count; m++) {
            if (tiles->done != NULL && t > 0) wait_for(&tiles->done[t - 1], m + 1);
            if (atomic_load_explicit(&tiles->failed, memory_order_relaxed) == 0 &&
                run_part(&tiles->parts[m], scratch, t * tiles->tile, (t + 1) * tiles->tile))
                atomic_store_explicit(&tiles->failed, m + 1, memory_order_relaxed);
            if (tiles->done != NULL)
                atomic_store_explicit(&tiles->done[t], m + 1, memory_order_release);
        }
    return 0;
}

static int64_t
tile_ps(const Wave *wave, const PlanStep *steps)
{
    int64_t ps = 0;
    for (int m = 0; m < wave->count; m++)
        ps += steps[m].kernel.unit_ps * wave->members[m].pace * wave->tile;
    return ps;
}

static bool
all_silent(const PlanStep *steps, int count)
{
    for (int m = 0; m < count; m++)
        if (steps[m].kernel.silent && !foreign_is_silent()) return false;
    return true;
}

bool
wave_pays(const Wave *wave)
{
    return wave->apart || threads_count() <= wave->count;
}

Answer
run_wave(Run *run, const Wave *wave, unsigned *raised)
{
    const PlanStep *steps = &run->plan->steps[wave->first];
    Tiles tiles = {.count = wave->count, .tile = wave->tile};
    tiles.parts = alloca(sizeof(Part) * (size_t)wave->count);
    if (!all_silent(steps, wave->count)) {
        run->why = "a library's loop that may warn";
        return ANSWER_NO;
    }
    for (int m = 0; m < wave->count; m++) {
        const PlanKernel *kernel = &steps[m].kernel;
        char **pointers = alloca(sizeof(char *) * (size_t)(kernel->nplaces + 1));
        int64_t *sizes = alloca(sizeof(int64_t) * (size_t)(kernel->nsizes + 1));
        kernel_arguments(run, kernel, pointers, sizes);
        tiles.parts[m] = (Part){
            .kernel = kernel,
            .args = {.ptr = pointers, .size = sizes, .loop = kernel->loops},
            .units = run_size(run, kernel->units),
            .pace = wave->members[m].pace,
            .lag = wave->members[m].lag,
        };
        tiles.scratch_bytes = Py_MAX(tiles.scratch_bytes, kernel_scratch(run, kernel));
    }
    if (!wave->apart && (tiles.done = mem_alloc(sizeof(*tiles.done) * (size_t)wave->tiles)) == NULL)
        return ANSWER_ERROR;
    char *context = (char *)&tiles;
    KernelArgs args = {.ptr = &context};
    run->yielded = run->yielded || !thread_is_alone();
    PyThreadState *thread = PyEval_SaveThread();
    threads_run_tiles(run_tiles, &args, wave->tiles, tile_ps(wave, steps));
    PyEval_RestoreThread(thread);
    mem_free(tiles.done);
    for (int m = 0; m < wave->count; m++) {
        raised[m] = tiles.parts[m].raised;
        if (loops_failed(run, &steps[m].kernel)) tiles.failed = m + 1;
    }
    if (tiles.failed == 0) return ANSWER_YES;
    run->step = wave->first + tiles.failed - 1;
    if (run->why == NULL) run->why = fails_by_itself;
    return ANSWER_NO;
}
