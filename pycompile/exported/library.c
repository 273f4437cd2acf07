/* A call of an exported function: checks, sizes, memory, steps, results, writes.

   Nothing that the caller can see changes before all that can fail is done, but for the memory of
   results.  State of a call is on the stack or from the allocator, so that calls of several threads
   share the pool alone. */
#include <fenv.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 64, STACK_BYTES = 8192, MOST_LOGGED = 32, MOST_THREADS = 64 };
enum { CALL_DONE = 0, CALL_WARNED = 1, CALL_WRONG = -1, CALL_MEMORY = -2, CALL_RAISED = -3 };
enum { TOLD = FLAG_DIVIDE | FLAG_OVERFLOW | FLAG_INVALID }; /* as NumPy warns by default */

static _Thread_local char error_text[512];

static int __attribute__((format(printf, 2, 3)))
fail(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error_text, sizeof error_text, format, args);
    va_end(args);
    return status;
}

/* ---- memory ---- */

static void *(*allocate)(size_t bytes, void *context);
static void (*release)(void *block, void *context);
static void *allocator;

typedef struct Block {
    struct Block *next;
    alignas(ALIGNMENT) char data[];
} Block;

/* ---- threads ---- */

typedef struct {
    KernelFn call;
    const KernelArgs *args;
    int64_t units, chunk, scratch;
    _Atomic int64_t next;
    _Atomic int failed, left;
    _Atomic unsigned flags;
} Job;

static struct {
    pthread_mutex_t lock, user; /* user: whose job it is */
    pthread_cond_t wake, done;
    pthread_t thread[MOST_THREADS];
    int wanted, count, end;
    pid_t process; /* which the threads are of */
    Job *job;
    long number; /* of the job */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .user = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER,
          .wanted = 1};

/* As csrc/arrays/errors.c: the functions of fenv.h take longer than a small call. */
#if defined(__x86_64__)
typedef unsigned Environment;
enum { CSR_FLAGS = 0x3f, CSR_MASKS = 0x1f80 };

static unsigned
x87_flags(void)
{
    unsigned short status;
    __asm__ volatile("fnstsw %0" : "=a"(status));
    return status & CSR_FLAGS;
}

static unsigned
flags_read(void)
{
    unsigned flags = __builtin_ia32_stmxcsr() | x87_flags();
    return (flags & 4 ? FLAG_DIVIDE : 0) | (flags & 8 ? FLAG_OVERFLOW : 0) |
           (flags & 16 ? FLAG_UNDERFLOW : 0) | (flags & 1 ? FLAG_INVALID : 0);
}

static void
flags_clear(void)
{
    unsigned csr = __builtin_ia32_stmxcsr();
    if (csr & CSR_FLAGS) __builtin_ia32_ldmxcsr(csr & ~(unsigned)CSR_FLAGS);
    if (x87_flags()) __asm__ volatile("fnclex");
}

/* No flag is raised, and none traps; what the caller has comes back at the end. */
static void
environment_begin(Environment *before)
{
    *before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((*before | CSR_MASKS) & ~(unsigned)CSR_FLAGS);
    if (x87_flags()) __asm__ volatile("fnclex");
}

static void
environment_end(const Environment *before)
{
    __builtin_ia32_ldmxcsr(*before);
}
#else
typedef fenv_t Environment;

static unsigned
flags_read(void)
{
    int flags = fetestexcept(FE_ALL_EXCEPT);
    return (flags & FE_DIVBYZERO ? FLAG_DIVIDE : 0) | (flags & FE_OVERFLOW ? FLAG_OVERFLOW : 0) |
           (flags & FE_UNDERFLOW ? FLAG_UNDERFLOW : 0) | (flags & FE_INVALID ? FLAG_INVALID : 0);
}

static void
flags_clear(void)
{
    feclearexcept(FE_ALL_EXCEPT);
}

static void
environment_begin(Environment *before)
{
    feholdexcept(before);
}

static void
environment_end(const Environment *before)
{
    fesetenv(before);
}
#endif

static void
job_share(Job *job, char *scratch)
{
    KernelArgs args = *job->args;
    args.scratch = scratch;
    flags_clear();
    for (;;) {
        int64_t begin = atomic_fetch_add(&job->next, job->chunk);
        if (begin >= job->units || job->failed) break;
        int64_t end = begin + job->chunk < job->units ? begin + job->chunk : job->units;
        if (job->call(&args, begin, end)) job->failed = 1;
    }
    atomic_fetch_or(&job->flags, flags_read());
}

static void *
worker(void *unused)
{
    (void)unused;
    long seen = 0;
    pthread_mutex_lock(&pool.lock);
    while (!pool.end) {
        Job *job = pool.job;
        if (job == NULL || pool.number == seen) {
            pthread_cond_wait(&pool.wake, &pool.lock);
            continue;
        }
        seen = pool.number;
        job->left++;
        pthread_mutex_unlock(&pool.lock);
        char *scratch = aligned_alloc(ALIGNMENT, (size_t)(job->scratch + ALIGNMENT));
        if (scratch != NULL) job_share(job, scratch); /* else the others do its share */
        free(scratch);
        pthread_mutex_lock(&pool.lock);
        if (--job->left == 0) pthread_cond_signal(&pool.done);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* Ends the threads.  After a fork there are none. */
static void
pool_end(void)
{
    int count = pool.process == getpid() ? pool.count : 0;
    pthread_mutex_lock(&pool.lock);
    pool.end = 1;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < count; i++) pthread_join(pool.thread[i], NULL);
    pool.count = pool.end = 0;
}

static void
pool_begin(void)
{
    if (pool.process != getpid()) pool.count = 0;
    pool.process = getpid();
    while (pool.count < pool.wanted - 1 &&
           pthread_create(&pool.thread[pool.count], NULL, worker, NULL) == 0)
        pool.count++;
}

__attribute__((destructor)) static void
library_end(void)
{
    pool_end();
}

static void
threads_set(int count)
{
    pthread_mutex_lock(&pool.user);
    pool_end();
    pool.wanted = count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : count;
    pthread_mutex_unlock(&pool.user);
}

/* Does all units; others take part unless they are busy. */
static int
job_run(KernelFn call, const KernelArgs *args, int64_t units, int64_t grain, int64_t scratch,
        unsigned *flags)
{
    Job job = {.call = call, .args = args, .units = units, .scratch = scratch};
    int threads = pool.wanted;
    job.chunk = (units + 4 * threads - 1) / (4 * threads);
    if (job.chunk < grain) job.chunk = grain;
    if (threads == 1 || job.chunk >= units || pthread_mutex_trylock(&pool.user) != 0) {
        job.chunk = units;
        job_share(&job, args->scratch);
    } else {
        pool_begin();
        pthread_mutex_lock(&pool.lock);
        pool.job = &job;
        pool.number++;
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
        job_share(&job, args->scratch);
        pthread_mutex_lock(&pool.lock);
        pool.job = NULL;
        while (job.left > 0) pthread_cond_wait(&pool.done, &pool.lock);
        pthread_mutex_unlock(&pool.lock);
        pthread_mutex_unlock(&pool.user);
    }
    *flags |= job.flags;
    return job.failed;
}

/* ---- a call ---- */

/* The log of a kept loop: csrc/runtime/log_abi.h has its first part.  Here the arrays are always
   copied as a whole. */
typedef struct {
    char *data;
    int64_t bytes, rank, length[4], stride[4];
} LogArray;
typedef struct {
    uint64_t place, old;
} LogEntry;
typedef struct Log {
    LogEntry *at, *end, *from;
    int64_t logs;
    const LogArray *array;
    int64_t narrays, iterations, entries, alongs;
    int (*more)(struct Log *log);
    int (*stop)(struct Log *log);
    int (*range)(struct Log *log, char *first, int64_t step, int64_t count, int64_t bytes);
    int64_t (*along)(struct Log *log, char *first, int64_t step, int64_t count, int64_t bytes);
    char *(*grow)(struct Log *log, int64_t list, int64_t words, int64_t *room);
    struct Run *run;
    struct Log *next;
    LogArray copied[MOST_LOGGED];
    int64_t ncopied;
    char *copies;
    LogEntry cell[2];
} Log;

typedef struct Run {
    KernelDrive drive;
    const ExportedFunction *f;
    const DLTensor *in;
    DLTensor *out;
    char **data;    /* by buffer */
    char **block;   /* by buffer: memory of the library's own */
    int64_t *size;
    char *numbers, *arena;
    const int64_t *slot;
    Block *blocks;
    Log *logs;
    unsigned warned; /* flags */
    int64_t where;   /* the step that raised them */
    int status;
} Run;

static char *
run_allocate(Run *run, int64_t bytes)
{
    if (bytes < 0 || bytes >> 46 != 0) {
        run->status = fail(CALL_MEMORY, "an array of %lld bytes", (long long)bytes);
        return NULL;
    }
    size_t all = sizeof(Block) + (size_t)bytes + ALIGNMENT;
    all += (ALIGNMENT - all % ALIGNMENT) % ALIGNMENT;
    Block *block = allocate != NULL ? allocate(all, allocator) : aligned_alloc(ALIGNMENT, all);
    if (block == NULL) {
        run->status = fail(CALL_MEMORY, "no memory for %lld bytes", (long long)bytes);
        return NULL;
    }
    block->next = run->blocks;
    run->blocks = block;
    return block->data;
}

static void
run_release(Run *run)
{
    for (Block *block = run->blocks, *next; block != NULL; block = next) {
        next = block->next;
        if (release != NULL)
            release(block, allocator);
        else
            free(block);
    }
}

/* ---- copies ---- */

static void
copy_axes(char *to, const int64_t *to_stride, const char *from, const int64_t *from_stride, int rank,
          const int64_t *length, int64_t bytes)
{
    if (rank == 0)
        memcpy(to, from, (size_t)bytes);
    else if (rank == 1 && to_stride[0] == bytes && from_stride[0] == bytes)
        memmove(to, from, (size_t)(length[0] * bytes));
    else
        for (int64_t i = 0; i < length[0]; i++)
            copy_axes(to + i * to_stride[0], to_stride + 1, from + i * from_stride[0],
                      from_stride + 1, rank - 1, length + 1, bytes);
}

/* Is it more than memory can be?  Then nothing is computed with it. */
static int
is_far(int64_t number)
{
    return number < -((int64_t)1 << 46) || number > (int64_t)1 << 46;
}

static int64_t
elements(int rank, const int64_t *length)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= length[i];
    return count;
}

static void
compact_strides(int rank, const int64_t *length, int64_t bytes, int64_t *stride)
{
    for (int i = rank; i-- > 0; bytes *= length[i] > 0 ? length[i] : 1) stride[i] = bytes;
}

/* The bytes in which the elements lie: [low, high). */
static void
extent(const char *data, int rank, const int64_t *length, const int64_t *stride, int64_t bytes,
       const char **low, const char **high)
{
    *low = data;
    *high = data + bytes;
    if (elements(rank, length) == 0) *high = data;
    for (int i = 0; i < rank && *high != *low; i++)
        *(stride[i] < 0 ? low : high) += (length[i] - 1) * stride[i];
}

/* ---- the log of kept loops ---- */

static void
log_copy(const LogArray *a, char *compact, int back)
{
    int64_t stride[4];
    compact_strides((int)a->rank, a->length, a->bytes, stride);
    if (back)
        copy_axes(a->data, a->stride, compact, stride, (int)a->rank, a->length, a->bytes);
    else
        copy_axes(compact, stride, a->data, a->stride, (int)a->rank, a->length, a->bytes);
}

static int
log_more(Log *log)
{
    log->from = log->at = log->cell;
    log->end = log->cell + 1;
    log->logs = 0;
    if (log->ncopied > 0 || log->narrays > MOST_LOGGED) return log->narrays > MOST_LOGGED;
    int64_t bytes = 0;
    for (int64_t i = 0; i < log->narrays; i++)
        bytes += log->array[i].bytes * elements((int)log->array[i].rank, log->array[i].length);
    char *at = log->copies = run_allocate(log->run, bytes);
    if (at == NULL) return -1;
    for (; log->ncopied < log->narrays; log->ncopied++) {
        const LogArray *a = &log->copied[log->ncopied];
        log->copied[log->ncopied] = log->array[log->ncopied];
        log_copy(a, at, 0);
        at += a->bytes * elements((int)a->rank, a->length);
    }
    return 0;
}

static void
log_undo(Log *log)
{
    char *at = log->copies;
    for (int64_t i = 0; i < log->ncopied; i++) {
        log_copy(&log->copied[i], at, 1);
        at += log->copied[i].bytes * elements((int)log->copied[i].rank, log->copied[i].length);
    }
}

static int
log_stop(Log *log)
{
    (void)log;
    return 0;
}

static int
log_range(Log *log, char *first, int64_t step, int64_t count, int64_t bytes)
{
    (void)log, (void)first, (void)step, (void)count, (void)bytes;
    return 0;
}

static int64_t
log_along(Log *log, char *first, int64_t step, int64_t count, int64_t bytes)
{
    (void)log, (void)first, (void)step, (void)count, (void)bytes;
    return -1;
}

static char *
log_grow(Log *log, int64_t list, int64_t words, int64_t *room)
{
    (void)log, (void)list, (void)words, (void)room;
    return NULL;
}

static void
log_begin(Log *log, Run *run)
{
    log->at = log->end = log->from = NULL;
    log->logs = log->narrays = log->ncopied = 0;
    log->iterations = log->entries = log->alongs = 0;
    log->more = log_more;
    log->stop = log_stop;
    log->range = log_range;
    log->along = log_along;
    log->grow = log_grow;
    log->run = run;
}

/* ---- kernels ---- */

static int64_t
run_size(const Run *run, int32_t size)
{
    return size < 0 ? 0 : run->size[size];
}

static char *
run_place(const Run *run, ExportedPlace place)
{
    return run->data[place.buffer] + run_size(run, place.offset);
}

/* Flags of known modes are four bits higher, as in the generated function. */
static unsigned
flags_of(const ExportedKernel *kernel, unsigned raised)
{
    return (raised & ~(unsigned)kernel->known) | (raised & kernel->reported) << 4;
}

static unsigned
flags_told(unsigned flags)
{
    return (flags & TOLD) | flags >> 4;
}

static int
region_variant(KernelFn call, KernelArgs *args, Log *log, Run *run, unsigned *raised)
{
    log_begin(log, run);
    flags_clear();
    int failed = call(args, 0, 1);
    *raised = flags_read();
    return failed;
}

/* The quick variant may fail, or raise a flag, for nothing. */
static int
region_run(Run *run, const ExportedKernel *kernel, KernelArgs *args, unsigned *raised)
{
    Log *log = (Log *)run_allocate(run, sizeof *log);
    if (log == NULL) return -1;
    args->scratch = (char *)log;
    int failed = region_variant(kernel->call, args, log, run, raised);
    if (failed || (kernel->flagged && flags_told(flags_of(kernel, *raised)))) {
        log_undo(log);
        failed = region_variant(kernel->careful, args, log, run, raised);
    }
    log->next = run->logs;
    run->logs = log;
    return failed;
}

static int
kernel_run(Run *run, const ExportedKernel *kernel, unsigned *flags)
{
    char *ptr[kernel->nplaces + 1];
    int64_t size[kernel->nsizes + 1];
    for (int i = 0; i < kernel->nplaces; i++) ptr[i] = run_place(run, kernel->places[i]);
    for (int i = 0; i < kernel->nsizes; i++) size[i] = run->size[kernel->sizes[i]];
    int64_t units = run_size(run, kernel->units);
    int64_t scratch = kernel->scratch + kernel->scratch_each * run_size(run, kernel->scratch_row);
    KernelArgs args = {ptr, size, kernel->loops, run->drive.scratch};
    unsigned raised = 0;
    int failed, underflow = (FLAG_UNDERFLOW & kernel->reported) != 0;
    if (units == 0) return 0;
    if (kernel->region)
        failed = region_run(run, kernel, &args, &raised);
    else
        failed = job_run(kernel->bounded != NULL && !underflow ? kernel->bounded : kernel->call,
                         &args, units, kernel->grain, scratch, &raised);
    if (kernel->parts && !failed) {
        flags_clear();
        failed = kernel->call(&args, PARTS_DONE, 0);
        raised |= flags_read();
    }
    if (kernel->flagged) *flags |= flags_of(kernel, raised);
    return failed;
}

/* ---- steps that the generated function leaves to us ---- */

/* Memory for a buffer that no result has. */
static int
buffer_make(Run *run, int32_t buffer)
{
    const ExportedBuffer *b = &run->f->buffers[buffer];
    int64_t length[MOST_AXES], stride[MOST_AXES];
    const char *low, *high;
    for (int i = 0; i < b->rank; i++) {
        length[i] = run_size(run, b->length[i]);
        stride[i] = run_size(run, b->stride[i]);
    }
    extent(NULL, b->rank, length, stride, b->dtype.bytes, &low, &high);
    run->block[buffer] = run_allocate(run, high - low);
    if (run->block[buffer] == NULL) return -1;
    run->data[buffer] = run->block[buffer] - (intptr_t)low;
    return 0;
}

/* Has another buffer the memory of this block? */
static int
block_is_used(const Run *run, int32_t block)
{
    for (int i = 0; i < run->f->nbuffers; i++)
        if (i != block && run->data[i] != NULL && run->data[i] == run->data[block] &&
            (run->f->buffers[i].kind == OF_CHOICE || run->f->buffers[i].kind == OF_RESULT))
            return 1;
    return 0;
}

static int
same_layout(const Run *run, int32_t one, int32_t other)
{
    const ExportedBuffer *a = &run->f->buffers[one], *b = &run->f->buffers[other];
    int same = a->rank == b->rank && a->dtype.code == b->dtype.code && a->dtype.bits == b->dtype.bits;
    for (int i = 0; same && i < a->rank; i++)
        same = run_size(run, a->length[i]) == run_size(run, b->length[i]) &&
               run_size(run, a->stride[i]) == run_size(run, b->stride[i]);
    return same;
}

/* A block of the pool that nobody has, else a new one in the place of one. */
static int
block_take(Run *run, const ExportedStep *step, int32_t fresh)
{
    int32_t last = -1;
    for (int i = 0; i < step->npool; i++) {
        int32_t block = step->pool[i];
        if (!same_layout(run, block, fresh)) continue;
        last = block;
        if (run->block[block] == NULL || !block_is_used(run, block)) break;
    }
    if (last < 0) return -1;
    if ((run->block[last] == NULL || block_is_used(run, last)) && buffer_make(run, last) < 0)
        return -1;
    run->data[fresh] = run->data[last];
    return 0;
}

static int
carry_run(Run *run, const ExportedStep *step)
{
    struct {
        char *data, number[NUMBER_BYTES];
    } moved[step->nmoves + 1];
    for (int i = 0; i < step->nmoves; i++) {
        const ExportedBuffer *b = &run->f->buffers[step->to[i]];
        moved[i].data = run->data[step->from[i].buffer];
        if (b->kind == OF_NUMBER) memcpy(moved[i].number, run_place(run, step->from[i]), b->dtype.bytes);
    }
    for (int i = 0; i < step->nmoves; i++) {
        const ExportedBuffer *b = &run->f->buffers[step->to[i]];
        if (b->kind == OF_NUMBER)
            memcpy(run->data[step->to[i]], moved[i].number, b->dtype.bytes);
        else
            run->data[step->to[i]] = moved[i].data;
    }
    for (int i = 0; i < step->ndropped; i++) run->data[step->dropped[i]] = NULL;
    for (int i = 0; i < step->nfresh; i++) run->data[step->fresh[i]] = NULL;
    for (int i = 0; i < step->nfresh; i++)
        if (block_take(run, step, step->fresh[i]) < 0) return -1;
    return 0;
}

static int64_t
size_apply(int kind, int64_t a, int64_t b)
{
    switch (kind) {
    case SIZE_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case SIZE_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case SIZE_LEAST: return a < b ? a : b;
    case SIZE_MOST: return a > b ? a : b;
    default: break;
    }
    if (b == 0 || b == -1) return kind == SIZE_MOD || b == 0 ? 0 : (int64_t)(0 - (uint64_t)a);
    int64_t quotient = a / b, rest = a % b;
    int down = rest != 0 && (rest < 0) != (b < 0);
    return kind == SIZE_MOD ? rest + (down ? b : 0) : quotient - down;
}

static int
measure_run(Run *run, const ExportedStep *step)
{
    for (int i = 0; i < step->nsizes; i++) {
        int32_t id = step->sizes[i];
        const ExportedSize *size = &run->f->sizes[id];
        if (size->kind == SIZE_NUMBER)
            memcpy(&run->size[id], run_place(run, step->from[0]), sizeof(int64_t));
        else
            run->size[id] = size_apply(size->kind, run->size[size->a], run->size[size->b]);
    }
    for (int i = 0; i < step->nfresh; i++)
        if (buffer_make(run, step->fresh[i]) < 0) return -1;
    return 0;
}

/* Flags that nobody was told of yet: those of the first step are kept. */
static int
warnings_take(KernelDrive *drive)
{
    Run *run = (Run *)drive;
    unsigned told = flags_told(drive->raised);
    if (told && !run->warned) {
        run->warned = told;
        run->where = drive->step;
    }
    drive->raised = 0;
    drive->step = -1;
    return 0;
}

static int
step_run(KernelDrive *drive, int64_t number)
{
    Run *run = (Run *)drive;
    const ExportedStep *step = &run->f->steps[number];
    unsigned flags = 0;
    int failed = 0;
    switch (step->kind) {
    case STEP_KERNEL: failed = kernel_run(run, step->kernel, &flags); break;
    case STEP_CHOOSE:
        run->data[step->to[0]] = run_place(run, step->from[!*run_place(run, step->condition)]);
        break;
    case STEP_CARRY: failed = carry_run(run, step); break;
    case STEP_MEASURE: failed = measure_run(run, step); break;
    case STEP_CALL:
        flags_clear();
        failed = step->call->call(run, step->call);
        flags = (flags_read() & ~(unsigned)step->call->known) |
                (flags_read() & (unsigned)step->call->reported) << 4;
        break;
    default: break;
    }
    drive->raised |= flags;
    if ((drive->raised & drive->told && drive->step < 0) || failed) drive->step = number;
    return failed;
}

/* ---- what a status says ---- */

static const struct {
    unsigned flag;
    const char *text;
} flag_texts[] = {{FLAG_DIVIDE, "divide by zero"},
                  {FLAG_OVERFLOW, "overflow"},
                  {FLAG_UNDERFLOW, "underflow"},
                  {FLAG_INVALID, "invalid value"}};

static int
may_divide(const char *operation)
{
    static const char *const names[] = {"divide", "floor_divide", "reciprocal", "power",
                                        "float_power", "log", "log2", "log10", "log1p", "arctanh",
                                        "remainder", "fmod", NULL};
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], operation) == 0) return 1;
    return 0;
}

/* "divide by zero encountered in divide (file.py:12)": where several operations of the kernel may
   have raised it, all are named. */
static int
warn(const Run *run)
{
    const ExportedStep *step = &run->f->steps[run->where < 0 ? 0 : run->where];
    const ExportedKernel *kernel = run->where < 0 ? NULL : step->kernel;
    size_t at = 0, room = sizeof error_text;
    const char *file = run->where >= 0 && step->call ? step->call->file : NULL;
    int line = file != NULL ? step->call->line : 0;
    for (int i = 0; i < 4; i++) {
        if (!(run->warned & flag_texts[i].flag) || at >= room) continue;
        at += (size_t)snprintf(error_text + at, room - at, "%s%s encountered",
                               at > 0 ? "; " : "", flag_texts[i].text);
        const char *before = " in ";
        int lines[2] = {0, 0};
        for (const ExportedOrigin *o = kernel ? kernel->origins : NULL; o && o->operation; o++) {
            int named = 0;
            if (flag_texts[i].flag == FLAG_DIVIDE && !may_divide(o->operation)) continue;
            for (const ExportedOrigin *p = kernel->origins; p < o; p++)
                named |= strcmp(p->operation, o->operation) == 0;
            if (lines[0] == 0 || o->line < lines[0]) lines[0] = o->line;
            if (o->line > lines[1]) lines[1] = o->line;
            if (named || at >= room) continue;
            at += (size_t)snprintf(error_text + at, room - at, "%s%s", before, o->operation);
            before = " or ";
        }
        if (at < room && file != NULL)
            at += (size_t)snprintf(error_text + at, room - at, " in accumulate (%s:%d)", file, line);
        if (at < room && lines[0] > 0)
            at += (size_t)snprintf(error_text + at, room - at,
                                   lines[0] == lines[1] ? " (%s:%d)" : " (%s:%d-%d)", kernel->file,
                                   lines[0], lines[1]);
    }
    return CALL_WARNED;
}

static int
raised(const Run *run)
{
    if (run->status != CALL_DONE) return run->status; /* of memory */
    const ExportedStep *step = run->drive.step < 0 ? NULL : &run->f->steps[run->drive.step];
    const ExportedKernel *kernel = step != NULL ? step->kernel : NULL;
    if (step != NULL && step->call != NULL)
        return fail(CALL_RAISED, "%s:%d: what NumPy raises here, of an array without elements",
                    step->call->file, (int)step->call->line);
    return fail(CALL_RAISED,
                "%s:%d: what the program raises here: an exception, an index out of bounds, a "
                "division by zero or an int beyond 64 bits",
                kernel != NULL ? kernel->file : "?", kernel != NULL ? (int)kernel->line : 0);
}

/* ---- checks ---- */

static const char *
tensor_data(const DLTensor *tensor)
{
    return (const char *)tensor->data + tensor->byte_offset;
}

/* In bytes.  Those of a NULL are of C order. */
static void
tensor_strides(const DLTensor *tensor, int64_t bytes, int64_t *stride)
{
    if (tensor->strides == NULL)
        compact_strides(tensor->ndim, tensor->shape, bytes, stride);
    else
        for (int i = 0; i < tensor->ndim; i++) stride[i] = tensor->strides[i] * bytes;
}

/* "argument x", or where it has no name "result 3". */
static const char *
told(const char *argument, int result)
{
    static _Thread_local char text[80];
    if (argument != NULL)
        snprintf(text, sizeof text, "argument %s", argument);
    else
        snprintf(text, sizeof text, "result %d", result);
    return text;
}

static int
check_tensor(const DLTensor *tensor, const char *name, int number, ExportedDType dtype, int rank)
{
    if (tensor->ndim != rank)
        return fail(CALL_WRONG, "%s has %d axes, not %d", told(name, number), (int)tensor->ndim, rank);
    if (tensor->dtype.code != dtype.code || tensor->dtype.bits != dtype.bits ||
        tensor->dtype.lanes != 1)
        return fail(CALL_WRONG, "%s is of dtype (%d, %d, %d), not (%d, %d, 1)", told(name, number),
                    tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes, dtype.code,
                    dtype.bits);
    if (tensor->device.device_type != 1)
        return fail(CALL_WRONG, "%s is not in the host's memory", told(name, number));
    if (rank > 0 && tensor->shape == NULL)
        return fail(CALL_WRONG, "%s has no shape: NULL", told(name, number));
    int64_t bytes = dtype.bytes;
    for (int i = 0; i < rank; i++) {
        if (tensor->shape[i] < 0 || is_far(tensor->shape[i]))
            return fail(CALL_WRONG, "%s has a length of %lld", told(name, number),
                        (long long)tensor->shape[i]);
        if (tensor->strides != NULL && is_far(tensor->strides[i]))
            return fail(CALL_WRONG, "%s has a stride of %lld", told(name, number),
                        (long long)tensor->strides[i]);
        int64_t step = tensor->strides != NULL ? llabs(tensor->strides[i]) : 1;
        if (__builtin_mul_overflow(bytes, tensor->shape[i] > 0 ? tensor->shape[i] : 1, &bytes) ||
            is_far(bytes) ||
            (tensor->shape[i] > 1 && step > ((int64_t)1 << 46) / tensor->shape[i]))
            return fail(CALL_WRONG, "%s has more elements than memory can have", told(name, number));
    }
    if (elements(rank, tensor->shape) == 0) return CALL_DONE;
    if (tensor->data == NULL) return fail(CALL_WRONG, "%s has no data: NULL", told(name, number));
    if ((uintptr_t)tensor_data(tensor) % (dtype.bytes > 8 ? 8 : dtype.bytes) != 0)
        return fail(CALL_WRONG, "%s is not aligned", told(name, number));
    return CALL_DONE;
}

static int
check_argument(const DLTensor *tensor, const ExportedArgument *a)
{
    int64_t stride[MOST_AXES], compact[MOST_AXES];
    int status = check_tensor(tensor, a->name, 0, a->dtype, a->rank);
    if (status != CALL_DONE) return status;
    for (int i = 0; i < a->rank; i++) {
        if (a->fixed >> i & 1 && tensor->shape[i] != a->length[i])
            return fail(CALL_WRONG, "argument %s has the length %lld along axis %d, not %lld",
                        a->name, (long long)tensor->shape[i], i, (long long)a->length[i]);
        if (a->least >> i & 1 && tensor->shape[i] < a->length[i])
            return fail(CALL_WRONG, "argument %s has the length %lld along axis %d, not %lld at least",
                        a->name, (long long)tensor->shape[i], i, (long long)a->length[i]);
    }
    tensor_strides(tensor, a->dtype.bytes, stride);
    compact_strides(a->rank, tensor->shape, a->dtype.bytes, compact);
    for (int i = 0; i < a->rank; i++) {
        if (tensor->shape[i] <= 1) continue;
        if ((a->compact && stride[i] != compact[i]) ||
            (a->strided >> i & 1 && stride[i] != a->stride[i]))
            return fail(CALL_WRONG, "argument %s lies in another way along axis %d: %lld bytes from "
                                    "one element to the next",
                        a->name, i, (long long)stride[i]);
    }
    return CALL_DONE;
}

static int64_t
number_of(const DLTensor *tensor)
{
    int64_t number = 0;
    memcpy(&number, tensor_data(tensor), tensor->dtype.bits / 8);
    return number;
}

static int64_t
terms_value(const ExportedCheck *check, const DLTensor *in)
{
    int64_t stack[40];
    int at = 0;
    for (int i = 0; i < check->nterms; i++) {
        const ExportedSize *term = &check->terms[i];
        if (term->kind == SIZE_CONST)
            stack[at++] = term->value;
        else if (term->kind == SIZE_DIM)
            stack[at++] = in[term->a].shape[term->b];
        else {
            at--;
            stack[at - 1] = size_apply(term->kind, stack[at - 1], stack[at]);
        }
    }
    return stack[0];
}

/* The bytes of a tensor, [low, high). */
typedef struct {
    const char *low, *high;
} Range;

static Range
tensor_range(const DLTensor *tensor)
{
    Range range;
    int64_t stride[MOST_AXES], bytes = tensor->dtype.bits / 8;
    tensor_strides(tensor, bytes, stride);
    extent(tensor_data(tensor), tensor->ndim, tensor->shape, stride, bytes, &range.low, &range.high);
    return range;
}

static int
ranges_meet(Range a, Range b)
{
    return a.low < b.high && b.low < a.high && a.low != a.high && b.low != b.high;
}

static int
tensors_overlap(const DLTensor *a, const DLTensor *b)
{
    return ranges_meet(tensor_range(a), tensor_range(b));
}

static int
check_holds(const ExportedCheck *check, const DLTensor *in)
{
    int64_t value;
    switch (check->kind) {
    case CHECK_SAME_LENGTH:
        return in[check->argument].shape[check->axis] == in[check->other].shape[check->other_axis];
    case CHECK_SIZES:
        value = terms_value(check, in);
        return check->low ? value == 0 : value >= 0;
    case CHECK_LENGTH:
        value = in[check->argument].shape[check->axis];
        return value >= check->low && value <= check->high;
    case CHECK_NUMBER:
        value = number_of(&in[check->argument]);
        return value >= check->low && value <= check->high;
    case CHECK_APART: return !tensors_overlap(&in[check->argument], &in[check->other]);
    }
    return 0;
}

static int
check_arguments(const ExportedFunction *f, const DLTensor *in, int32_t nin)
{
    if (nin != f->narguments)
        return fail(CALL_WRONG, "%s takes %d arguments, not %d", f->name, (int)f->narguments,
                    (int)nin);
    if (in == NULL && nin > 0) return fail(CALL_WRONG, "the arguments of %s are NULL", f->name);
    for (int i = 0; i < nin; i++) {
        int status = check_argument(&in[i], &f->arguments[i]);
        if (status != CALL_DONE) return status;
    }
    for (int i = 0; i < f->nchecks; i++) {
        const ExportedCheck *check = &f->checks[i];
        if (check_holds(check, in)) continue;
        const char *name = f->arguments[check->argument].name;
        if (check->kind == CHECK_SAME_LENGTH || check->kind == CHECK_APART)
            return fail(CALL_WRONG, "%s and %s: %s", name, f->arguments[check->other].name,
                        check->text);
        return fail(CALL_WRONG, "%s: %s", check->kind == CHECK_SIZES ? f->name : name, check->text);
    }
    for (int i = 0; i < nin; i++)
        for (int k = 0; f->arguments[i].written && k < nin; k++)
            if (k != i && tensors_overlap(&in[i], &in[k]))
                return fail(CALL_WRONG, "argument %s, which is written, shares memory with %s",
                            f->arguments[i].name, f->arguments[k].name);
    return CALL_DONE;
}

/* Elements at one address would be written twice. */
static int
meets_itself(const DLTensor *out, const int64_t *stride, int64_t bytes)
{
    int64_t reach = bytes;
    int done = 0;
    for (int n = 0; n < out->ndim; n++) { /* axes by their strides */
        int next = -1;
        for (int i = 0; i < out->ndim; i++)
            if (!(done >> i & 1) && (next < 0 || llabs(stride[i]) < llabs(stride[next]))) next = i;
        done |= 1 << next;
        if (out->shape[next] <= 1) continue;
        if (llabs(stride[next]) < reach) return 1;
        reach += (out->shape[next] - 1) * llabs(stride[next]);
    }
    return 0;
}

static int
check_results(const Run *run, int32_t nout)
{
    const ExportedFunction *f = run->f;
    Range taken[f->narguments + f->nresults + 1];
    if (nout != f->nresults)
        return fail(CALL_WRONG, "%s has %d results, not %d", f->name, (int)f->nresults, (int)nout);
    for (int i = 0; i < f->narguments; i++) taken[i] = tensor_range(&run->in[i]);
    if (run->out == NULL && nout > 0) return fail(CALL_WRONG, "the results of %s are NULL", f->name);
    for (int i = 0; i < nout; i++) {
        const ExportedResult *r = &f->results[i];
        DLTensor *out = &run->out[i];
        int64_t stride[MOST_AXES];
        int status = check_tensor(out, NULL, i, r->dtype, r->rank);
        if (status != CALL_DONE) return status;
        for (int axis = 0; axis < r->rank; axis++)
            if (out->shape[axis] != run_size(run, r->length[axis]))
                return fail(CALL_WRONG, "result %d has the length %lld along axis %d, not %lld", i,
                            (long long)out->shape[axis], axis,
                            (long long)run_size(run, r->length[axis]));
        tensor_strides(out, r->dtype.bytes, stride);
        if (elements(r->rank, out->shape) > 0 && meets_itself(out, stride, r->dtype.bytes))
            return fail(CALL_WRONG, "result %d has elements in the same place", i);
        if (r->when && out->strides != NULL)
            return fail(CALL_WRONG, "result %d, whose length the call tells, has strides", i);
        Range *own = &taken[f->narguments + i];
        *own = tensor_range(out);
        for (int k = 0; k < f->narguments; k++)
            if (ranges_meet(*own, taken[k]))
                return fail(CALL_WRONG, "result %d shares memory with argument %s", i,
                            f->arguments[k].name);
        for (int k = 0; k < i; k++)
            if (ranges_meet(*own, taken[f->narguments + k]))
                return fail(CALL_WRONG, "results %d and %d share memory", k, i);
    }
    return CALL_DONE;
}

/* ---- the whole ---- */

/* Of an int that only the run tells: the most that it can be. */
static void
sizes_find(Run *run)
{
    for (int i = 0; i < run->f->nsizes; i++) {
        const ExportedSize *size = &run->f->sizes[i];
        int64_t stride[MOST_AXES];
        switch (size->kind) {
        case SIZE_CONST: run->size[i] = size->value; break;
        case SIZE_DIM: run->size[i] = run->in[size->a].shape[size->b]; break;
        case SIZE_STRIDE:
            tensor_strides(&run->in[size->a], run->in[size->a].dtype.bits / 8, stride);
            run->size[i] = stride[size->b];
            break;
        case SIZE_NUMBER: run->size[i] = size->b < 0 ? size->value : run->size[size->b]; break;
        default: run->size[i] = size_apply(size->kind, run->size[size->a], run->size[size->b]);
        }
    }
}

/* Is the result's memory as the buffer's steps need it? */
static int
result_is_place(const Run *run, const ExportedBuffer *b)
{
    const DLTensor *out = &run->out[b->placed - 1];
    int64_t stride[MOST_AXES];
    tensor_strides(out, b->dtype.bytes, stride);
    for (int i = 0; i < b->rank; i++)
        if (out->shape[i] > 1 && stride[i] != run_size(run, b->stride[i])) return 0;
    return 1;
}

static int
buffers_place(Run *run)
{
    for (int i = 0; i < run->f->nbuffers; i++) {
        const ExportedBuffer *b = &run->f->buffers[i];
        run->data[i] = run->block[i] = NULL;
        switch (b->kind) {
        case OF_ARGUMENT: run->data[i] = (char *)(uintptr_t)tensor_data(&run->in[b->index]); break;
        case OF_CONSTANT: run->data[i] = (char *)(uintptr_t)b->constant + b->at; break;
        case OF_ARENA:
            run->data[i] = run->arena + (b->slot > 0 ? run->slot[b->slot - 1] : b->at);
            break;
        case OF_NUMBER: run->data[i] = run->numbers + b->index * NUMBER_BYTES; break;
        case OF_LENGTH: /* its axis is b->at */
            run->data[i] = (char *)&run->in[b->index].shape[b->at];
            break;
        case OF_RESULT:
            if (b->placed && result_is_place(run, b))
                run->data[i] = (char *)(uintptr_t)tensor_data(&run->out[b->placed - 1]);
            else if (!b->pooled && buffer_make(run, i) < 0)
                return -1;
            break;
        default: break;
        }
    }
    return 0;
}

static void
result_copy(Run *run, int number)
{
    const ExportedResult *r = &run->f->results[number];
    DLTensor *out = &run->out[number];
    int64_t length[MOST_AXES], from[MOST_AXES], to[MOST_AXES];
    for (int i = 0; i < r->rank; i++) {
        length[i] = run_size(run, r->length[i]);
        from[i] = run_size(run, r->stride[i]);
        out->shape[i] = length[i];
    }
    char *data = run_place(run, r->place);
    if (data == tensor_data(out) || elements(r->rank, length) == 0) return;
    tensor_strides(out, r->dtype.bytes, to);
    copy_axes((char *)(uintptr_t)tensor_data(out), to, data, from, r->rank, length, r->dtype.bytes);
}

/* A written value may be in the memory that another write changes: it is copied before the first. */
static int
write_read(Run *run, const ExportedResult *w, char **kept)
{
    int64_t length[MOST_AXES], from[MOST_AXES], stride[MOST_AXES];
    *kept = NULL;
    if (w->done || run->f->buffers[w->place.buffer].kind != OF_ARGUMENT) return 0;
    for (int i = 0; i < w->rank; i++) {
        length[i] = run_size(run, w->length[i]);
        from[i] = run_size(run, w->stride[i]);
    }
    if ((*kept = run_allocate(run, elements(w->rank, length) * w->dtype.bytes)) == NULL) return -1;
    if (elements(w->rank, length) == 0) return 0;
    compact_strides(w->rank, length, w->dtype.bytes, stride);
    copy_axes(*kept, stride, run_place(run, w->place), from, w->rank, length, w->dtype.bytes);
    return 0;
}

static void
write_put(Run *run, const ExportedResult *w, const char *kept)
{
    int64_t length[MOST_AXES], from[MOST_AXES], to[MOST_AXES];
    if (w->done || (w->when > 0 && !*run->data[w->when - 1])) return;
    for (int i = 0; i < w->rank; i++) {
        length[i] = run_size(run, w->length[i]);
        from[i] = run_size(run, w->stride[i]);
        to[i] = run_size(run, w->to_stride[i]);
    }
    if (elements(w->rank, length) == 0) return;
    char *data = (char *)(uintptr_t)tensor_data(&run->in[w->argument]) + run_size(run, w->offset);
    if (kept != NULL) compact_strides(w->rank, length, w->dtype.bytes, from);
    copy_axes(data, to, kept != NULL ? kept : run_place(run, w->place), from, w->rank, length,
              w->dtype.bytes);
}

/* All that can fail is done when the first argument is written. */
static int
commit(Run *run)
{
    const ExportedFunction *f = run->f;
    char *kept[f->nwrites + 1];
    unsigned flags = 0;
    for (int i = 0; i < f->nwrites; i++)
        if (write_read(run, &f->writes[i], &kept[i]) < 0) return run->status;
    for (int i = 0; i < f->nresults; i++)
        if (!f->results[i].done) result_copy(run, i);
    for (int i = f->ncommits; i-- > 0;) kernel_run(run, f->commits[i], &flags);
    for (int i = 0; i < f->nwrites; i++) write_put(run, &f->writes[i], kept[i]);
    for (int i = 0; i < f->nresults; i++)
        if (f->results[i].done) result_copy(run, i);
    return run->warned ? warn(run) : CALL_DONE;
}

static int
run_steps(Run *run)
{
    const ExportedFunction *f = run->f;
    Environment before;
    if (buffers_place(run) < 0) return run->status;
    environment_begin(&before);
    int failed = f->drive(&run->drive);
    if (!failed) warnings_take(&run->drive);
    int status = failed ? raised(run) : commit(run);
    if (status < 0)
        for (Log *log = run->logs; log != NULL; log = log->next) log_undo(log);
    environment_end(&before);
    return status;
}

static char *
aligned(char *block)
{
    return (char *)(((uintptr_t)block + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

/* Arena, slots and scratch, on the stack where they are small. */
static int
run_memory(Run *run)
{
    const ExportedFunction *f = run->f;
    int64_t slot[f->nslots + 1], bytes = f->arena, scratch = f->scratch;
    for (int i = 0; i < f->nslots; i++) {
        int64_t own = run->size[f->slots[i]];
        if (own < 0 || own >> 46 != 0) return fail(CALL_MEMORY, "an array of %lld bytes", (long long)own);
        slot[i] = bytes;
        bytes += (own + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    for (int i = 0; i < f->nrows; i++) {
        int64_t own = f->rows[i]->scratch +
                      f->rows[i]->scratch_each * run_size(run, f->rows[i]->scratch_row);
        if (own > scratch) scratch = own;
    }
    run->slot = slot;
    int64_t all = bytes + scratch + ALIGNMENT;
    char small[all <= STACK_BYTES ? all : 1];
    char *block = all <= STACK_BYTES ? small : run_allocate(run, all);
    if (block == NULL) return run->status;
    run->arena = aligned(block);
    run->drive.scratch = run->arena + bytes;
    return run_steps(run);
}

/* `out` NULL: only the shapes of the results are asked for. */
static int
call_function(const ExportedFunction *f, const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout)
{
    error_text[0] = 0;
    int status = check_arguments(f, in, nin);
    if (status != CALL_DONE) return status;
    char *data[2 * f->nbuffers + 1];
    int64_t size[f->nsizes + 1];
    alignas(NUMBER_BYTES) char numbers[f->nnumbers * NUMBER_BYTES + 1];
    memset(numbers, 0, sizeof numbers);
    Run run = {.f = f,
               .in = in,
               .out = out,
               .data = data,
               .block = data + f->nbuffers,
               .size = size,
               .numbers = numbers,
               .where = -1,
               .drive = {.data = data,
                         .size = size,
                         .grain = f->grains,
                         .loop = f->loops,
                         .told = TOLD | 0xf0,
                         .step = -1,
                         .clear = flags_clear,
                         .read = flags_read,
                         .stop = warnings_take,
                         .plan = step_run}};
    sizes_find(&run);
    status = check_results(&run, nout);
    if (status == CALL_DONE) status = run_memory(&run);
    run_release(&run);
    return status;
}

static int
call_shapes(const ExportedFunction *f, const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout)
{
    error_text[0] = 0;
    int status = check_arguments(f, in, nin);
    if (status != CALL_DONE) return status;
    if (nout != f->nresults)
        return fail(CALL_WRONG, "%s has %d results, not %d", f->name, (int)f->nresults, (int)nout);
    int64_t size[f->nsizes + 1];
    Run run = {.f = f, .in = in, .size = size};
    sizes_find(&run);
    for (int i = 0; i < nout; i++) {
        const ExportedResult *r = &f->results[i];
        if (out == NULL || (r->rank > 0 && out[i].shape == NULL))
            return fail(CALL_WRONG, "result %d has no room for its shape: NULL", i);
        out[i].ndim = r->rank;
        out[i].dtype = (DLDataType){r->dtype.code, r->dtype.bits, 1};
        for (int axis = 0; axis < r->rank; axis++)
            out[i].shape[axis] = run_size(&run, r->length[axis]);
    }
    return CALL_DONE;
}
