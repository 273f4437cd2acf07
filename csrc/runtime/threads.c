/* The pool that runs a kernel's units on several threads.

   A job lies in a slot: what to call, and one word that holds the next chunk and the number of
   chunks.  Whoever moves that word forward has claimed a chunk, and only then reads the rest of the
   slot: the caller cannot leave before a claimed chunk is done, so what a claimer reads is always
   the job that its chunk belongs to, even if the slot was used for another one in between.

       word:  chunks (32 bits) | next (32 bits)

   1. The caller fills a free slot, publishes the word and wakes sleepers, as many as pay.
   2. Caller and workers claim chunks one at a time, so that a thread whose core was taken away
      delays one chunk only.
   3. When none are left to claim, the caller waits for those claimed by others, never for a
      thread that has claimed nothing.

   A wake-up takes longer than many a kernel.  What one costs is measured, once a day, kept beside
   the disk cache, and a job whose price is below it is its caller's alone; workers that have not
   gone to sleep since the last job cost less.

   Workers take over the caller's rounding and subnormal modes for a chunk.  Before a fork they end,
   so that the program forks as it would without us (CPython 3.12 warns about threads), and are made
   again when a job wants them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cache.h"
#include "hooks.h"
#include "../clock.h"

#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SLOTS = 16,
    CHUNKS_PER_THREAD = 8,
    CALLER_SPINS = 2000, /* about 20 us of pauses before the caller sleeps */
    WORKER_SPINS = 1000,
    LEAST_SHARED = 3000, /* ns: no job below it is shared, on any machine */
    SAMPLES = 7,         /* wake-ups measured */
    SLOWEST = 200000,    /* ns: a wake-up is taken for no more, on a crowded machine */
};

typedef struct {
    _Alignas(64) _Atomic uint64_t word;
    _Atomic uint32_t taken;   /* a caller uses the slot */
    _Atomic uint32_t pending; /* chunks not done; the caller sleeps on it */
    _Atomic int result;
    _Atomic unsigned flags;
    KernelFn fn;
    const KernelArgs *args;
    int64_t units, chunk, scratch_bytes;
    bool reads_flags;
    unsigned modes; /* the caller's floating-point control */
} Slot;

static Slot slots[SLOTS];
static _Atomic uint32_t published;     /* grows with each job; idle workers sleep on it */
static _Atomic int sleeping, spinning; /* workers without work: asleep, and not yet */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t worker_threads[MAX_THREADS];
static _Atomic int workers; /* written under start_lock */
static _Atomic bool stopping;
static _Atomic int wanted; /* threads that a job may use, the caller included */

/* ---- small parts ---- */

static inline void
pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void
futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

/* At most a second.  False: nothing came. */
static bool
futex_wait_second(_Atomic uint32_t *word, uint32_t seen)
{
    const struct timespec second = {.tv_sec = 1};
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &second, NULL, 0) == 0 ||
           errno != ETIMEDOUT;
}

static void
futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

#if defined(__x86_64__)
static unsigned
modes_read(void)
{
    return __builtin_ia32_stmxcsr() & ~0x3fu;
}

static void
modes_write(unsigned modes)
{
    __builtin_ia32_ldmxcsr(modes);
}
#else
static unsigned
modes_read(void)
{
    return (unsigned)fegetround();
}

static void
modes_write(unsigned modes)
{
    fesetround((int)modes);
}
#endif

/* ---- scratch: one buffer per thread, kept until the thread ends ---- */

#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL char *scratch;
THREAD_LOCAL int64_t scratch_size;
static pthread_key_t scratch_key;

char *
thread_scratch(int64_t bytes)
{
    if (bytes <= scratch_size) return scratch;
    size_t size = ((size_t)bytes + 4095) / 4096 * 4096;
    char *fresh = mem_fault() ? NULL : aligned_alloc(64, size);
    if (fresh == NULL) return NULL;
    free(scratch);
    scratch = fresh;
    scratch_size = (int64_t)size;
    pthread_setspecific(scratch_key, fresh);
    return fresh;
}

/* ---- chunks ---- */

static int
run_units(KernelFn fn, const KernelArgs *args, int64_t scratch_bytes, int64_t begin, int64_t end)
{
    if (scratch_bytes <= 0) return fn(args, begin, end);
    KernelArgs own = *args;
    own.scratch = thread_scratch(scratch_bytes);
    return own.scratch != NULL ? fn(&own, begin, end) : 1;
}

static bool
claim(Slot *slot, uint32_t *chunk)
{
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
    while ((uint32_t)word < (uint32_t)(word >> 32))
        if (atomic_compare_exchange_weak_explicit(&slot->word, &word, word + 1,
                                                  memory_order_acquire, memory_order_relaxed)) {
            *chunk = (uint32_t)word;
            return true;
        }
    return false;
}

/* Runs one claimed chunk and reports it. */
static void
run_chunk(Slot *slot, uint32_t chunk, bool worker)
{
    int64_t begin = chunk * slot->chunk, end = begin + slot->chunk;
    if (end > slot->units) end = slot->units;
    if (worker) {
        modes_write(slot->modes);
        if (slot->reads_flags) fp_flags_clear();
    }
    int result = run_units(slot->fn, slot->args, slot->scratch_bytes, begin, end);
    if (result) atomic_fetch_or_explicit(&slot->result, result, memory_order_relaxed);
    if (worker && slot->reads_flags) {
        unsigned flags = fp_flags_read();
        if (flags) atomic_fetch_or_explicit(&slot->flags, flags, memory_order_relaxed);
    }
    uint32_t before = atomic_fetch_sub_explicit(&slot->pending, 1, memory_order_acq_rel);
    if (before == 1 && worker) futex_wake(&slot->pending, 1);
}

/* ---- the cost of a wake-up ---- */

/* The time from a job's publication until a worker starts it: a sleeping one, a spinning one. Until
   measured, the values of one development machine. */
static _Atomic int64_t asleep_ns = 20000, spinning_ns = 1000;
static _Atomic int measured;          /* 1: being measured, 2: done */
static _Atomic int64_t crowded_until; /* no worker came in time: no measurement until then */
static _Atomic bool ping;             /* a worker has to report when it sees this … */
static _Atomic int64_t pong;          /* … here */

static void
answer_ping(void)
{
    if (atomic_load_explicit(&ping, memory_order_relaxed) && atomic_exchange(&ping, false))
        atomic_store(&pong, clock_ns());
}

/* Wakes a worker in the way of job_publish, and times it. */
static int64_t
measure_one(void)
{
    int64_t began = clock_ns(), seen;
    atomic_store(&pong, 0);
    atomic_store(&ping, true);
    atomic_fetch_add(&published, 1);
    if (atomic_load(&sleeping) > 0) futex_wake(&published, 1);
    while ((seen = atomic_load(&pong)) == 0 && clock_ns() - began < SLOWEST) pause_briefly();
    atomic_store(&ping, false);
    return seen == 0 ? SLOWEST : seen - began;
}

static int
compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Takes medians, so that rare disturbances do not count; half a millisecond in all. */
static void
measure_wake_up(void)
{
    int expected = atomic_load(&measured);
    int64_t until = atomic_load(&crowded_until);
    if (expected == 1 || (expected == 2 && (until == 0 || clock_ns() < until)) ||
        !atomic_compare_exchange_strong(&measured, &expected, 1))
        return;
    int64_t asleep[SAMPLES], awake[SAMPLES];
    const struct timespec rest = {.tv_nsec = 50000};
    for (int i = 0; i < SAMPLES; i++) {
        for (int wait = 0; wait < 10 && atomic_load(&sleeping) < atomic_load(&workers); wait++)
            nanosleep(&rest, NULL);
        asleep[i] = measure_one();
        awake[i] = measure_one(); /* the worker that answered spins now */
    }
    qsort(asleep, SAMPLES, sizeof(asleep[0]), compare_ns);
    qsort(awake, SAMPLES, sizeof(awake[0]), compare_ns);
    atomic_store(&asleep_ns, Py_MAX(asleep[SAMPLES / 2], 1));
    atomic_store(&spinning_ns, Py_MAX(awake[SAMPLES / 2], 1));
    bool crowded = asleep[SAMPLES / 2] >= SLOWEST;
    atomic_store(&crowded_until, crowded ? clock_ns() + 1000000000 : 0);
    atomic_store(&measured, 2);
}

/* The note in the cache folder that keeps the measured times: "asleep spinning second". */
enum { NOTE_LASTS = 24 * 3600 };
static CacheNoteName note_name;
static bool note_is_old; /* there is none that is valid */

/* At the process's end, when no Python code runs any more. */
static void
keep_wake_up(void)
{
    char text[80];
    if (!note_is_old || atomic_load(&measured) != 2 || atomic_load(&crowded_until) != 0) return;
    snprintf(text, sizeof(text), "%lld %lld %lld", (long long)atomic_load(&asleep_ns),
             (long long)atomic_load(&spinning_ns), (long long)time(NULL));
    cache_write_note(note_name, text);
}

void
threads_recall(void)
{
    char cpu[128], hex[DIGEST_HEX], text[80];
    long long asleep, awake, when, now = time(NULL);
    static bool done;
    if (done) return;
    done = true;
    Hash hash;
    hash_begin(&hash);
    cpu_words(cpu, sizeof(cpu));
    hash_add_string(&hash, cpu);
    Digest digest = hash_end(&hash);
    digest_hex(&digest, hex);
    snprintf(note_name, sizeof(note_name), WAKE_UP_NOTES "%s", hex);
    note_is_old = true;
    Py_AtExit(keep_wake_up);
    if (cache_read_note(note_name, text, sizeof(text)) != ANSWER_YES ||
        sscanf(text, "%lld %lld %lld", &asleep, &awake, &when) != 3 || when > now ||
        now - when > NOTE_LASTS || asleep < 1 || awake < 1)
        return;
    int expected = 0;
    if (!atomic_compare_exchange_strong(&measured, &expected, 1)) return;
    atomic_store(&asleep_ns, Py_MIN(asleep, SLOWEST));
    atomic_store(&spinning_ns, Py_MIN(awake, SLOWEST));
    atomic_store(&measured, 2);
    note_is_old = false;
}

/* ---- workers ---- */

static bool
work_once(void)
{
    bool worked = false;
    uint32_t chunk;
    for (int i = 0; i < SLOTS; i++)
        while (claim(&slots[i], &chunk)) {
            run_chunk(&slots[i], chunk, true);
            worked = true;
        }
    return worked;
}

/* Sleeps until there is a job.  Meanwhile the pool's memory goes back where nobody uses it. */
static void
rest(uint32_t seen)
{
    uint64_t pool_seen = UINT64_MAX;
    while (!pool_rests(&pool_seen))
        if (futex_wait_second(&published, seen)) return;
    futex_wait(&published, seen);
}

static void *
worker_main(void *Py_UNUSED(argument))
{
    for (;;) {
        uint32_t seen = atomic_load(&published);
        if (atomic_load(&stopping)) return NULL;
        answer_ping();
        if (work_once()) continue;
        atomic_fetch_add(&spinning, 1);
        for (int i = 0; i < WORKER_SPINS && atomic_load(&published) == seen; i++) pause_briefly();
        atomic_fetch_sub(&spinning, 1);
        if (atomic_load(&published) != seen) continue;
        atomic_fetch_add(&sleeping, 1);
        rest(seen);
        atomic_fetch_sub(&sleeping, 1);
    }
}

/* Makes workers up to `count`; fewer if the system refuses.  They take no signals. */
static void
workers_start(int count)
{
    if (atomic_load_explicit(&workers, memory_order_relaxed) >= count) return;
    pthread_mutex_lock(&start_lock);
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (workers < count &&
           pthread_create(&worker_threads[workers], NULL, worker_main, NULL) == 0)
        workers++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_mutex_unlock(&start_lock);
}

/* Ends the workers, each after its chunk; under start_lock.  Callers finish their jobs alone. */
static void
workers_stop(void)
{
    atomic_store(&stopping, true);
    atomic_fetch_add(&published, 1);
    futex_wake(&published, INT_MAX);
    while (workers > 0) pthread_join(worker_threads[--workers], NULL);
    atomic_store(&stopping, false);
}

/* ---- jobs ---- */

static Slot *
slot_take(void)
{
    for (int i = 0; i < SLOTS; i++) {
        uint32_t no = 0;
        if (atomic_compare_exchange_strong(&slots[i].taken, &no, 1)) return &slots[i];
    }
    return NULL;
}

/* Waits for the chunks that others have claimed. */
static void
wait_for_claimed(Slot *slot)
{
    for (int i = 0; i < CALLER_SPINS; i++) {
        if (atomic_load_explicit(&slot->pending, memory_order_acquire) == 0) return;
        pause_briefly();
    }
    uint32_t left;
    while ((left = atomic_load_explicit(&slot->pending, memory_order_acquire)) != 0)
        futex_wait(&slot->pending, left);
}

static void
job_publish(Slot *slot, uint32_t chunks, int helpers)
{
    atomic_store_explicit(&slot->pending, chunks, memory_order_relaxed);
    atomic_store_explicit(&slot->word, (uint64_t)chunks << 32, memory_order_release);
    atomic_fetch_add(&published, 1);
    int wake = Py_MIN(helpers, (int)chunks - 1) - atomic_load(&spinning);
    if (wake > 0 && atomic_load(&sleeping) > 0) futex_wake(&published, wake);
}

static int
run_shared(Slot *slot, uint32_t chunks, int helpers)
{
    uint32_t chunk;
    job_publish(slot, chunks, helpers);
    while (claim(slot, &chunk)) run_chunk(slot, chunk, false);
    wait_for_claimed(slot);
    return atomic_load_explicit(&slot->result, memory_order_relaxed);
}

static int
run_alone(KernelFn fn, const KernelArgs *args, int64_t scratch_bytes, int64_t units,
          unsigned *flags)
{
    if (flags != NULL) fp_flags_clear();
    int result = run_units(fn, args, scratch_bytes, 0, units);
    if (flags != NULL) *flags |= fp_flags_read();
    return result;
}

static int
run_threaded(KernelFn fn, const KernelArgs *args, int64_t scratch_bytes, int64_t units,
             int64_t chunk, int helpers, unsigned *flags)
{
    Slot *slot = slot_take();
    if (slot == NULL) return run_alone(fn, args, scratch_bytes, units, flags);
    slot->fn = fn;
    slot->args = args;
    slot->units = units;
    slot->chunk = chunk;
    slot->scratch_bytes = scratch_bytes;
    slot->reads_flags = flags != NULL;
    slot->modes = modes_read();
    atomic_store_explicit(&slot->result, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->flags, 0, memory_order_relaxed);
    if (flags != NULL) fp_flags_clear();
    int result = run_shared(slot, (uint32_t)((units + chunk - 1) / chunk), helpers);
    if (flags != NULL)
        *flags |= fp_flags_read() | atomic_load_explicit(&slot->flags, memory_order_relaxed);
    atomic_store_explicit(&slot->taken, 0, memory_order_release);
    return result;
}

/* How many workers pay for a job that takes its caller alone `ns`.  Each of n workers starts after
   a wake-up time w, so that all together take (ns + n w) / (n + 1): a second thread pays from 2 w
   on, and the best n gives each w of work. */
static int
helpers_for(double ns)
{
    if (wanted <= 1 || ns < LEAST_SHARED) return 0;
    workers_start(wanted - 1);
    int most = Py_MIN(wanted - 1, atomic_load(&workers));
    if (most < 1) return 0;
    if (ns >= (double)SLOWEST * Py_MAX(most, 2)) return most; /* whatever a wake-up costs */
    measure_wake_up();
    double asleep = (double)atomic_load(&asleep_ns), awake = (double)atomic_load(&spinning_ns);
    double woken = ns < 2 * asleep ? 0 : ns / asleep;
    double ready = ns < 2 * awake ? 0 : Py_MIN(ns / awake, atomic_load(&spinning));
    return (int)Py_MIN(Py_MAX(woken, ready), most);
}

int
threads_run(KernelFn fn, const KernelArgs *args, int64_t scratch_bytes, int64_t units,
            int64_t grain, int64_t unit_ps, unsigned *flags)
{
    if (grain < 1) grain = 1;
    int helpers = units < 2 * grain ? 0 : helpers_for((double)units * (double)unit_ps * 1e-3);
    if (helpers == 0) return run_alone(fn, args, scratch_bytes, units, flags);
    int64_t chunk = units / (((int64_t)helpers + 1) * CHUNKS_PER_THREAD);
    if (chunk < grain) chunk = grain;
    if (chunk > 4096) chunk = (chunk + 63) / 64 * 64; /* elements: whole cache lines */
    return run_threaded(fn, args, scratch_bytes, units, chunk, helpers, flags);
}

int
threads_run_tiles(KernelFn fn, const KernelArgs *args, int64_t tiles, int64_t tile_ps)
{
    int helpers = tiles < 2 ? 0 : helpers_for((double)tiles * (double)tile_ps * 1e-3);
    if (helpers == 0) return run_alone(fn, args, 0, tiles, NULL);
    return run_threaded(fn, args, 0, tiles, 1, helpers, NULL);
}

typedef struct {
    KernelArgs args; /* first: this is what run_part gets */
    CopyPart part;
    const void *context;
} Sharing;

static int
run_part(const KernelArgs *args, int64_t begin, int64_t end)
{
    const Sharing *sharing = (const Sharing *)args;
    sharing->part(sharing->context, begin, end);
    return 0;
}

void
threads_share(CopyPart part, const void *context, int64_t units, int64_t unit_bytes)
{
    enum { BYTE_PS = 40, LEAST = 64 << 10 }; /* a byte read and written; bytes of a chunk */
    const Sharing sharing = {.part = part, .context = context};
    threads_run(run_part, &sharing.args, 0, units, LEAST / Py_MAX(unit_bytes, 1),
                unit_bytes * BYTE_PS, NULL);
}

int
threads_count(void)
{
    return wanted;
}

/* ---- how many ---- */

static bool said; /* their number was asked for: it is not this machine's */

/* A positive number from the environment, or 0.  OMP_NUM_THREADS may be a list: its first. */
static int
count_from(const char *variable)
{
    const char *text = getenv(variable);
    long count = text != NULL ? strtol(text, NULL, 10) : 0;
    return count > 0 && count <= MAX_THREADS ? (int)count : count > 0 ? MAX_THREADS : 0;
}

/* Whole CPUs that the control group's quota allows, or INT_MAX. */
static int
count_from_quota(void)
{
    long long quota = 0, period = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (file == NULL) return INT_MAX;
    int read = fscanf(file, "%lld %lld", &quota, &period);
    fclose(file);
    if (read != 2 || quota <= 0 || period <= 0) return INT_MAX;
    return (int)Py_MAX(1, (quota + period - 1) / period);
}

static int asked; /* the option's default, as set by the environment; 0: not set */

void
threads_ask(int64_t n)
{
    asked = (int)Py_MIN(n, MAX_THREADS);
}

static int
count_default(void)
{
    if (asked > 0) return asked;
    cpu_set_t set;
    int cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
                                                            : (int)sysconf(_SC_NPROCESSORS_ONLN);
    cpus = Py_MIN(cpus, count_from_quota());
    int omp = count_from("OMP_NUM_THREADS");
    if (omp > 0) cpus = Py_MIN(cpus, omp);
    return Py_MAX(1, Py_MIN(cpus, MAX_THREADS));
}

void
threads_set_count(int n)
{
    wanted = n > 0 ? Py_MIN(n, MAX_THREADS) : count_default();
    said = n > 0 || asked > 0;
}

int
threads_idle(void)
{
    int running = 1; /* of all processes, this one included */
    if (said) return wanted;
    FILE *file = fopen("/proc/loadavg", "re");
    if (file != NULL) {
        if (fscanf(file, "%*f %*f %*f %d", &running) != 1) running = 1;
        fclose(file);
    }
    int idle = (int)sysconf(_SC_NPROCESSORS_ONLN) - running + 1;
    return Py_MAX(1, Py_MIN(wanted, idle));
}

/* ---- fork ---- */

static void
fork_prepare(void)
{
    pthread_mutex_lock(&start_lock);
    workers_stop();
}

static void
fork_parent(void)
{
    pthread_mutex_unlock(&start_lock);
}

/* Only the forking thread lives on, and it is in no job. */
static void
fork_child(void)
{
    memset(slots, 0, sizeof(slots));
    int under_way = 1;
    atomic_compare_exchange_strong(&measured, &under_way, 0);
    pthread_mutex_unlock(&start_lock);
}

int
threads_init(void)
{
    static bool done;
    if (done) return 0;
    if (pthread_key_create(&scratch_key, free) != 0 ||
        pthread_atfork(fork_prepare, fork_parent, fork_child) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    done = true;
    threads_set_count(0);
    return 0;
}

/* ---- hooks ---- */

static PyObject *
py_threads_idle(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(threads_idle());
}

static PyObject *
py_threads_count(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(threads_count());
}

static PyObject *
py_threads_set_count(PyObject *Py_UNUSED(self), PyObject *count)
{
    long n = PyLong_AsLong(count);
    if (n == -1 && PyErr_Occurred()) return NULL;
    threads_set_count((int)n);
    Py_RETURN_NONE;
}

/* y[i] = x[i] / x[0] through scratch; x[i] < 0 makes the kernel return 2. */
static int
divide_kernel(const KernelArgs *args, int64_t begin, int64_t end)
{
    const double *x = (const double *)args->ptr[0];
    double *y = (double *)args->ptr[1];
    volatile double *kept = (volatile double *)args->scratch;
    int result = 0;
    if ((uintptr_t)args->scratch % 64 != 0) return 4;
    for (int64_t i = begin; i < end; i++) {
        kept[0] = x[i] / x[0];
        y[i] = kept[0];
        if (x[i] < 0) result = 2;
    }
    return result;
}

/* (x, y, grain, price of a unit in ps) -> (result, flags): runs the kernel above over two float64
   buffers.  Without a price it is worth all threads. */
static PyObject *
test_threads_run(PyObject *Py_UNUSED(self), PyObject *args)
{
    Py_buffer x, y;
    long long grain, price = 1ll << 40;
    if (!PyArg_ParseTuple(args, "y*w*L|L", &x, &y, &grain, &price)) return NULL;
    char *pointers[] = {x.buf, y.buf};
    KernelArgs kernel = {.ptr = pointers};
    unsigned flags = 0;
    int result;
    Py_BEGIN_ALLOW_THREADS result =
        threads_run(divide_kernel, &kernel, 1000, y.len / 8, grain, price, &flags);
    Py_END_ALLOW_THREADS PyBuffer_Release(&x);
    PyBuffer_Release(&y);
    return Py_BuildValue("(iI)", result, flags);
}

static PyObject *
py_threads_helpers(PyObject *Py_UNUSED(self), PyObject *ns)
{
    double price = PyFloat_AsDouble(ns);
    if (price == -1 && PyErr_Occurred()) return NULL;
    return PyLong_FromLong(helpers_for(price));
}

static PyObject *
py_threads_wake_ns(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    if (atomic_load(&measured) != 2) Py_RETURN_NONE;
    return Py_BuildValue("(LL)", (long long)atomic_load(&asleep_ns),
                         (long long)atomic_load(&spinning_ns));
}

PyMethodDef threads_methods[] = {
    {"threads_helpers", py_threads_helpers, METH_O,
     "Workers that a job of so many ns would get now, besides its caller."},
    {"threads_wake_ns", py_threads_wake_ns, METH_NOARGS,
     "What it costs until a worker has begun, asleep and spinning; None: not measured yet."},
    {"threads_count", py_threads_count, METH_NOARGS, "Threads that a kernel may use."},
    {"threads_idle", py_threads_idle, METH_NOARGS, "Of them those with an idle processor."},
    {"threads_set_count", py_threads_set_count, METH_O, "Sets that number; 0: as found."},
    {"test_threads_run", test_threads_run, METH_VARARGS, "y = x / x[0] on the pool."},
    {NULL, NULL, 0, NULL},
};
