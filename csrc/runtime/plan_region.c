/* Kernels of kept loops, which may write an input's memory in place.
   Such a write comes before everything fallible is done, so the kernel logs the overwritten
   elements, and a later failure (a floating-point flag, another kernel, an allocation) restores
   them.  The log grows with the iterations, whose number is known only at run time, so the kernel
   first returns its size. */
#include "plan.h"

#include <alloca.h>

static const int64_t GIL_ITERATIONS = (int64_t)1 << 16; /* longer loops release the GIL */

struct RegionLog {
    RegionLog *next;
    const PlanKernel *kernel;
    int64_t bytes;
    _Alignas(16) char data[];
};

static RegionLog *
take_log(Plan *plan, int64_t bytes)
{
    RegionLog *log = plan->spare_log;
    plan->spare_log = NULL;
    if (log != NULL && log->bytes >= bytes) return log;
    mem_free(log);
    log = mem_alloc(sizeof(RegionLog) + (size_t)bytes);
    if (log != NULL) log->bytes = bytes;
    return log;
}

static void
give_log(Plan *plan, RegionLog *log)
{
    if (plan->spare_log == NULL && log->bytes <= SPARE_LIMIT)
        plan->spare_log = log;
    else
        mem_free(log);
}

Answer
run_region(Run *run, const PlanKernel *kernel, unsigned *flags)
{
    char **pointers = alloca(sizeof(char *) * (size_t)(kernel->nplaces + 1));
    int64_t *sizes = alloca(sizeof(int64_t) * (size_t)(kernel->nsizes + 1));
    int64_t wanted[2] = {0, 0}; /* bytes of the log, iterations */
    kernel_arguments(run, kernel, pointers, sizes);
    KernelArgs args = {.ptr = pointers, .size = sizes, .loop = kernel->loops};
    args.scratch = (char *)wanted;
    run->why = "a loop that Python would not run to its end, or in other numbers";
    if (kernel->checks_flags) fp_flags_clear();
    if (kernel->call(&args, REGION_PREPARE, 0)) return ANSWER_NO;
    RegionLog *log = take_log(run->plan, wanted[0]);
    if (log == NULL) return ANSWER_ERROR;
    args.scratch = log->data;
    PyThreadState *thread = wanted[1] >= GIL_ITERATIONS ? PyEval_SaveThread() : NULL;
    int failed = kernel->call(&args, REGION_RUN, 0);
    if (kernel->checks_flags) *flags |= flags_of(kernel, fp_flags_read());
    if (thread != NULL) PyEval_RestoreThread(thread);
    if (failed) {
        give_log(run->plan, log);
        return ANSWER_NO;
    }
    run->why = NULL;
    log->kernel = kernel;
    log->next = run->logs;
    run->logs = log;
    return loops_failed(run, kernel) ? ANSWER_NO : ANSWER_YES;
}

static void
undo(const Run *run, RegionLog *log)
{
    char **pointers = alloca(sizeof(char *) * (size_t)(log->kernel->nplaces + 1));
    int64_t *sizes = alloca(sizeof(int64_t) * (size_t)(log->kernel->nsizes + 1));
    kernel_arguments(run, log->kernel, pointers, sizes);
    KernelArgs args = {.ptr = pointers, .size = sizes, .scratch = log->data};
    log->kernel->call(&args, REGION_UNDO, 0);
}

void
run_regions_end(Run *run, bool undone)
{
    for (RegionLog *log = run->logs, *next; log != NULL; log = next) {
        next = log->next;
        if (undone) undo(run, log);
        give_log(run->plan, log);
    }
    run->logs = NULL;
}
