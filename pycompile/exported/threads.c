/* Statuses, memory, floating-point flags and the pool of threads. */
#include <fenv.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, FRAME_BYTES = 24576, MOST_LOGGED = 32, MOST_THREADS = 64 };
enum { CALL_DONE = 0, CALL_WARNED = 1, CALL_WRONG = -1, CALL_MEMORY = -2, CALL_RAISED = -3 };
enum { CALL_AGAIN = 2 }; /* within the library */
/* As NumPy warns by default; and those of known modes, which are four bits higher. */
enum { TOLD = FLAG_DIVIDE | FLAG_OVERFLOW | FLAG_INVALID, TOLD_EACH = TOLD | 0xf0 };

static _Thread_local char error_text[512];
static _Atomic int error_told; /* has any thread's text been set? */

/* Nothing is wrong yet.  Mostly no text was ever set, and the thread's need not be looked for. */
static ROW_KNOWN void
error_clear(void)
{
    if (atomic_load_explicit(&error_told, memory_order_relaxed)) error_text[0] = 0;
}

static int __attribute__((format(printf, 2, 3)))
fail(int status, const char *format, ...)
{
    va_list args;
    error_told = 1;
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
    int64_t bytes;
    int swept; /* it may be freed before the call ends */
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
enum { CSR_FLAGS = 0x3f, CSR_TOLD = 0x1d, CSR_MASKS = 0x1f80 };

static unsigned
x87_flags(void)
{
    unsigned short status;
    __asm__ volatile("fnstsw %0" : "=a"(status));
    return status & CSR_FLAGS;
}

static unsigned
flags_from(unsigned flags)
{
    if (!(flags & CSR_TOLD)) return 0;
    return (flags & 4 ? FLAG_DIVIDE : 0) | (flags & 8 ? FLAG_OVERFLOW : 0) |
           (flags & 16 ? FLAG_UNDERFLOW : 0) | (flags & 1 ? FLAG_INVALID : 0);
}

static unsigned
flags_read(void)
{
    return flags_from(__builtin_ia32_stmxcsr() | x87_flags());
}

/* Of what does not use the x87 unit. */
static unsigned
kernel_flags(void)
{
    return flags_from(__builtin_ia32_stmxcsr());
}

static void
flags_clear(void)
{
    unsigned csr = __builtin_ia32_stmxcsr();
    if (csr & CSR_FLAGS) __builtin_ia32_ldmxcsr(csr & ~(unsigned)CSR_FLAGS);
    if (x87_flags()) __asm__ volatile("fnclex");
}

static void
environment_read(Environment *before)
{
    *before = __builtin_ia32_stmxcsr();
}

/* No flag is raised, and none traps; what the caller has comes back at the end. */
static ROW_KNOWN void
environment_begin(Environment *before)
{
    environment_read(before);
    __builtin_ia32_ldmxcsr((*before | CSR_MASKS) & ~(unsigned)CSR_FLAGS);
    if (USES_X87 && x87_flags()) __asm__ volatile("fnclex");
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

static unsigned
kernel_flags(void)
{
    return flags_read();
}

static void
flags_clear(void)
{
    feclearexcept(FE_ALL_EXCEPT);
}

static void
environment_read(Environment *before)
{
    fegetenv(before);
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

static void
pool_end(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.end = 1;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < pool.count; i++) pthread_join(pool.thread[i], NULL);
    pool.count = pool.end = 0;
}

static void
pool_begin(void)
{
    while (pool.count < pool.wanted - 1 &&
           pthread_create(&pool.thread[pool.count], NULL, worker, NULL) == 0)
        pool.count++;
}

/* A forked process has none of the threads, and locks as they were. */
static void
pool_forked(void)
{
    int wanted = pool.wanted;
    memset(&pool, 0, sizeof pool);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_mutex_init(&pool.user, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.wanted = wanted;
}

__attribute__((constructor)) static void
library_begin(void)
{
    pthread_atfork(NULL, NULL, pool_forked);
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
    int threads = pool.wanted;
    int64_t chunk = threads == 1 ? units : (units + 4 * threads - 1) / (4 * threads);
    if (chunk < grain) chunk = grain;
    if (chunk >= units || pthread_mutex_trylock(&pool.user) != 0) {
        flags_clear();
        int failed = call(args, 0, units);
        *flags |= flags_read();
        return failed;
    }
    Job job = {.call = call, .args = args, .units = units, .scratch = scratch, .chunk = chunk};
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
    *flags |= job.flags;
    return job.failed;
}
