/* Kernels that have nothing to do with one another, as one job of the threads: those that only look
   for flags (lower/flag_bounds.c) and follow one another, and all that write inputs at commit, of
   which none reads what another writes (lower/commit.c).  A wake-up takes longer than many a kernel
   of an optimiser does, and a kernel of few elements is not worth dividing; many together are.

       kernels:  k1 (1 piece)   k3 (3 pieces)            k5 (1 piece)
       pieces:   0              1 2 3                    4

   Each piece reads the flags that it has raised, so that they are told of their kernel. */
#include "plan.h"

#include <alloca.h>
#include <stdatomic.h>

enum {
    PIECES = 32,          /* about: of a whole job */
    LEAST_YIELDED = 3000, /* ns: a shorter job keeps the GIL */
    MOST_WORDS = 4096,    /* arguments, which are on the stack */
};

typedef struct {
    KernelArgs args;
    KernelFn call;
    int64_t units, chunk;
    int32_t first; /* its first piece */
    _Atomic unsigned raised;
    _Atomic int failed;
} Member;

typedef struct {
    KernelArgs args; /* first: this is what run_pieces gets */
    Member *members;
    int count;
    bool reads_flags;
} Batch;

bool
batch_takes(const PlanKernel *kernel, int *words)
{
    *words += kernel->nplaces + kernel->nsizes;
    return *words <= MOST_WORDS && kernel->device == DEVICE_HOST && !kernel->region &&
           !kernel->parts && !kernel->foreign && !kernel->silent && kernel->nloops == 0 &&
           kernel->scratch_bytes == 0;
}

/* The member that has the piece. */
static Member *
member_of(const Batch *batch, int64_t piece)
{
    int low = 0, high = batch->count - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (batch->members[middle].first <= piece)
            low = middle;
        else
            high = middle - 1;
    }
    return &batch->members[low];
}

static int
run_pieces(const KernelArgs *args, int64_t begin, int64_t end)
{
    const Batch *batch = (const Batch *)args;
    for (int64_t piece = begin; piece < end; piece++) {
        Member *m = member_of(batch, piece);
        int64_t from = (piece - m->first) * m->chunk, to = Py_MIN(from + m->chunk, m->units);
        if (batch->reads_flags) fp_flags_clear();
        int failed = m->call(&m->args, from, to);
        unsigned raised = batch->reads_flags ? fp_flags_read() : 0;
        if (raised != 0) atomic_fetch_or_explicit(&m->raised, raised, memory_order_relaxed);
        if (failed != 0) atomic_store_explicit(&m->failed, failed, memory_order_relaxed);
    }
    return 0;
}

/* Divides the kernels into pieces of about the same price; returns how many. */
static int32_t
cut_pieces(Batch *batch, const PlanKernel *const *kernels, double all_ps)
{
    int32_t pieces = 0;
    for (int i = 0; i < batch->count; i++) {
        Member *m = &batch->members[i];
        double ps = (double)m->units * (double)kernels[i]->unit_ps;
        int64_t most = m->units / kernels[i]->grain;
        int64_t parts = all_ps > 0 ? (int64_t)(ps * PIECES / all_ps) : 1;
        parts = Py_MAX(Py_MIN(parts, most), 1);
        m->chunk = Py_MAX((m->units + parts - 1) / parts, 1);
        if (parts > 1 && m->chunk > 4096) m->chunk = (m->chunk + 63) / 64 * 64; /* cache lines */
        m->first = pieces;
        pieces += (int32_t)((m->units + m->chunk - 1) / m->chunk);
    }
    return pieces;
}

static void
run_batch(Run *run, Batch *batch, const PlanKernel *const *kernels)
{
    double all_ps = 0;
    for (int i = 0; i < batch->count; i++)
        all_ps += (double)batch->members[i].units * (double)kernels[i]->unit_ps;
    int32_t pieces = cut_pieces(batch, kernels, all_ps);
    if (pieces == 0) return;
    if (all_ps < LEAST_YIELDED * 1e3) {
        run_pieces(&batch->args, 0, pieces);
        return;
    }
    run->yielded = run->yielded || !thread_is_alone();
    PyThreadState *thread = PyEval_SaveThread();
    threads_run(run_pieces, &batch->args, 0, pieces, 1, (int64_t)(all_ps / pieces), NULL);
    PyEval_RestoreThread(thread);
}

int
batch_run(Run *run, const PlanKernel *const *kernels, int count, unsigned *raised)
{
    Batch batch = {.count = count, .reads_flags = raised != NULL};
    batch.members = alloca(sizeof(Member) * (size_t)count);
    for (int i = 0; i < count; i++) {
        const PlanKernel *kernel = kernels[i];
        char **pointers = alloca(sizeof(char *) * (size_t)(kernel->nplaces + 1));
        int64_t *sizes = alloca(sizeof(int64_t) * (size_t)(kernel->nsizes + 1));
        kernel_arguments(run, kernel, pointers, sizes);
        batch.members[i] = (Member){.args = {.ptr = pointers, .size = sizes},
                                    .call = kernel_call(kernel),
                                    .units = run_size(run, kernel->units)};
    }
    run_batch(run, &batch, kernels);
    int failed = -1;
    for (int i = count; i-- > 0;) {
        if (raised != NULL) raised[i] = batch.members[i].raised;
        if (batch.members[i].failed != 0) failed = i;
    }
    return failed;
}
