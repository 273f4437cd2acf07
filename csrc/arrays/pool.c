/* Memory of large outputs: mappings kept warm between arrays, since the first write to fresh pages
   costs as much as the write itself or more.

   A block is one mapping: a page with the header, then the data.  Freed blocks of the size classes
   (four per octave) are kept on a list per class, newest first, and serve the two classes below,
   too. Kept is at most what the program itself has held lately, within the limit: beyond that the
   blocks freed longest ago are unmapped.  All of it goes back when nothing has been taken or given
   for a second (pool_rests).  NumPy reaches all this through a data-memory handler that is set in
   each array, so its own code frees and resizes the data.

       mapping: | ... Block: size, list links | data ...                         |
                                              ^ page boundary, of a huge page where that pays

   Fresh pages are requested at once: measured on a virtual machine, filling 1 MB took 450 us with a
   fault for each page and 260 us after MADV_POPULATE_WRITE; 8 MB took 4.1 ms with small pages and
   0.25 ms with huge ones, which need aligned data.

   The lock is taken around fork, so that a child finds consistent lists. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "numpy_api.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Block {
    size_t size; /* of the data's pages */
    struct Block *newer, *older;
    uint64_t freed_at;
} Block;

enum {
    HUGE_PAGE = 2 << 20,
    CLASSES = 4 * 48,
    LARGER =
        2, /* classes that serve a smaller size, too: a third of such a block is unused at most */
    LEAST_KEPT = 16 << 20,
    FORGETS = 64, /* blocks given back until two thirds of a peak are forgotten */
};
#ifndef MADV_POPULATE_WRITE /* Linux 5.14; older ones refuse it, which is harmless */
#define MADV_POPULATE_WRITE 23
#endif

static size_t page = 4096; /* 64 KiB on some AArch64 systems, a step of the smallest class */
static struct {
    pthread_mutex_t lock;
    Block *newest[CLASSES], *oldest[CLASSES];
    size_t held, limit;
    size_t live, peak; /* what the program has, and has had lately */
    uint64_t clock;    /* of takes and gives */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = (size_t)1 << 30};

/* The class for `size` bytes, and its blocks' size in *rounded; -1, and whole pages, for sizes that
   are not kept. */
static int
class_of(size_t size, size_t *rounded)
{
    if (size < POOL_SMALLEST) {
        *rounded = size > 0 ? (size + page - 1) / page * page : page;
        return -1;
    }
    int octave = 63 - __builtin_clzl(size);
    size_t step = (size_t)1 << (octave - 2);
    *rounded = (size + step - 1) / step * step;
    int class = (octave - 18) * 4 + (int)((*rounded - ((size_t)1 << octave)) / step);
    return class < CLASSES ? class : -1;
}

static Block *
block_of(void *data)
{
    return (Block *)data - 1;
}

static void *
block_data(Block *block)
{
    return block + 1;
}

static void
block_unmap(Block *block)
{
    munmap((char *)block_data(block) - page, page + block->size);
}

/* Maps a page and, after it, `size` bytes that begin at a multiple of `align`; returns the address
   of the latter, or NULL. */
static char *
map_aligned(size_t size, size_t align)
{
    size_t spare = align - page;
    char *memory =
        mmap(NULL, page + size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    char *data = (char *)(((uintptr_t)memory + page + align - 1) / align * align);
    size_t before = (size_t)(data - page - memory);
    if (before > 0) munmap(memory, before);
    if (before < spare) munmap(data + size, spare - before);
    return data;
}

/* A fresh block of `size`, in which the small pages of the first `bytes` bytes are populated. */
static Block *
block_map(size_t size, size_t bytes)
{
    bool huge = size >= HUGE_PAGE;
    char *data = map_aligned(size, huge ? HUGE_PAGE : page);
    if (data == NULL) return NULL;
    if (huge) madvise(data, size, MADV_HUGEPAGE);
    size_t small = huge ? size / HUGE_PAGE * HUGE_PAGE : 0;
    if (small < bytes)
        madvise(data + small, (bytes - small + page - 1) / page * page, MADV_POPULATE_WRITE);
    Block *block = block_of(data);
    block->size = size;
    return block;
}

static void
list_remove(Block *block, int class)
{
    *(block->newer ? &block->newer->older : &pool.newest[class]) = block->older;
    *(block->older ? &block->older->newer : &pool.oldest[class]) = block->newer;
    pool.held -= block->size;
}

static void
list_add(Block *block, int class)
{
    block->newer = NULL;
    block->older = pool.newest[class];
    *(block->older ? &block->older->newer : &pool.oldest[class]) = block;
    pool.newest[class] = block;
    block->freed_at = pool.clock;
    pool.held += block->size;
}

/* Takes the blocks freed longest ago off their lists until at most `most` bytes are held; returns
   them linked through `older`, to be unmapped outside the lock. */
static Block *
shrink_to(size_t most)
{
    Block *out = NULL;
    while (pool.held > most) {
        int oldest = -1;
        for (int i = 0; i < CLASSES; i++)
            if (pool.oldest[i] &&
                (oldest < 0 || pool.oldest[i]->freed_at < pool.oldest[oldest]->freed_at))
                oldest = i;
        if (oldest < 0) break;
        Block *block = pool.oldest[oldest];
        list_remove(block, oldest);
        block->older = out;
        out = block;
    }
    return out;
}

static void
unmap_all(Block *block)
{
    while (block != NULL) {
        Block *next = block->older;
        block_unmap(block);
        block = next;
    }
}

/* Under the lock, as long as the program has the block. */
static void
count_live(size_t more, size_t less)
{
    pool.clock++;
    pool.live += more - less;
    if (pool.live > pool.peak) pool.peak = pool.live;
}

static size_t
most_kept(void)
{
    size_t most = pool.peak + pool.peak / 8; /* the peak is forgotten a little with each block */
    if (most < LEAST_KEPT) most = LEAST_KEPT;
    return most < pool.limit ? most : pool.limit;
}

/* A kept block of this class or a little larger, or NULL. */
static Block *
take_kept(int class)
{
    for (int c = class; c <= class + LARGER && c < CLASSES; c++) {
        Block *block = pool.newest[c];
        if (block == NULL) continue;
        list_remove(block, c);
        return block;
    }
    return NULL;
}

void *
pool_take(size_t bytes)
{
    size_t size;
    if (bytes > PTRDIFF_MAX - ((size_t)1 << 32)) return NULL;
    int class = class_of(bytes, &size);
    Block *block = NULL;
    if (class >= 0) {
        pthread_mutex_lock(&pool.lock);
        if ((block = take_kept(class)) != NULL) size = block->size;
        count_live(size, 0);
        pthread_mutex_unlock(&pool.lock);
    }
    if (block == NULL) block = block_map(size, bytes);
    if (block == NULL) { /* the kept blocks may be the memory that is missing */
        pool_clear();
        block = block_map(size, bytes);
    }
    if (block == NULL && class >= 0) {
        pthread_mutex_lock(&pool.lock);
        count_live(0, size);
        pthread_mutex_unlock(&pool.lock);
    }
    return block != NULL ? block_data(block) : NULL;
}

void
pool_give(void *data)
{
    Block *block = block_of(data), *out = block;
    size_t size;
    int class = class_of(block->size, &size);
    block->older = NULL;
    if (class >= 0) {
        pthread_mutex_lock(&pool.lock);
        count_live(0, block->size);
        size_t most = most_kept();
        pool.peak -= (pool.peak - pool.live) / FORGETS;
        if (block->size <= most) {
            out = shrink_to(most - block->size);
            list_add(block, class);
        }
        pthread_mutex_unlock(&pool.lock);
    }
    unmap_all(out);
}

void
pool_set_limit(size_t bytes)
{
    pthread_mutex_lock(&pool.lock);
    pool.limit = bytes;
    Block *out = shrink_to(bytes);
    pthread_mutex_unlock(&pool.lock);
    unmap_all(out);
}

bool
pool_rests(uint64_t *seen)
{
    Block *out = NULL;
    pthread_mutex_lock(&pool.lock);
    if (*seen == pool.clock) {
        out = shrink_to(0);
        pool.peak = pool.live;
    }
    *seen = pool.clock;
    bool used = pool.held + pool.live > 0;
    pthread_mutex_unlock(&pool.lock);
    unmap_all(out);
    return !used;
}

size_t
pool_held(void)
{
    return pool.held;
}

void
pool_clear(void)
{
    pthread_mutex_lock(&pool.lock);
    Block *out = shrink_to(0);
    pthread_mutex_unlock(&pool.lock);
    unmap_all(out);
}

/* ---- NumPy's data-memory handler (NEP 49) ---- */

/* Precedes data that is too small for the pool: small arrays are also made while the pool serves
   NumPy.  Unlike that of blocks, this data never begins at a page boundary. */
typedef struct {
    size_t size;
    char *memory;
} Small;

static bool
is_block(const void *data)
{
    return (uintptr_t)data % page == 0;
}

static void *
small_take(size_t bytes)
{
    char *memory = PyMem_RawMalloc(2 * sizeof(Small) + bytes);
    if (memory == NULL) return NULL;
    Small *small = (Small *)memory;
    if (is_block(small + 1)) small++;
    *small = (Small){bytes, memory};
    return small + 1;
}

static void *
handler_malloc(void *Py_UNUSED(context), size_t size)
{
    return size < POOL_SMALLEST ? small_take(size) : pool_take(size);
}

static void *
handler_calloc(void *context, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *data = handler_malloc(context, bytes);
    if (data != NULL) memset(data, 0, bytes);
    return data;
}

static void
handler_free(void *Py_UNUSED(context), void *data, size_t Py_UNUSED(size))
{
    if (data == NULL) return;
    if (is_block(data))
        pool_give(data);
    else
        PyMem_RawFree(((Small *)data)[-1].memory);
}

/* The operating system moves the pages, so a resize of a block copies nothing. */
static void *
handler_realloc(void *context, void *data, size_t bytes)
{
    if (data == NULL) return handler_malloc(context, bytes);
    if (bytes > PTRDIFF_MAX - ((size_t)1 << 32)) return NULL;
    if (!is_block(data)) {
        size_t before = ((Small *)data)[-1].size;
        void *moved = handler_malloc(context, bytes);
        if (moved == NULL) return NULL;
        memcpy(moved, data, before < bytes ? before : bytes);
        handler_free(context, data, before);
        return moved;
    }
    size_t size, before = block_of(data)->size, unused;
    int class = class_of(bytes, &size), class_before = class_of(before, &unused);
    if (size == before) return data;
    char *memory = mremap((char *)data - page, page + before, page + size, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return NULL;
    block_of(memory + page)->size = size;
    pthread_mutex_lock(&pool.lock);
    count_live(class >= 0 ? size : 0, class_before >= 0 ? before : 0);
    pthread_mutex_unlock(&pool.lock);
    return memory + page;
}

static PyDataMem_Handler functions = {
    .name = "pycompile_pool",
    .version = 1,
    .allocator = {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free},
};
static PyObject *handler_capsule;

PyObject *
pool_handler(void)
{
    return handler_capsule;
}

bool
pool_is_welcome(void)
{
    PyObject *handler = PyDataMem_GetHandler();
    if (handler == NULL) {
        PyErr_Clear();
        return false;
    }
    Py_DECREF(handler);
    return handler == PyDataMem_DefaultHandler;
}

PyObject *
pool_serve_begin(void)
{
    PyObject *handler = pool_is_welcome() ? PyDataMem_SetHandler(handler_capsule) : NULL;
    if (handler == NULL) PyErr_Clear();
    return handler;
}

void
pool_serve_end(PyObject *handler)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *ours = PyDataMem_SetHandler(handler);
    if (ours == NULL) PyErr_Clear();
    Py_XDECREF(ours);
    Py_DECREF(handler);
    PyErr_Restore(type, value, trace);
}

static void
fork_prepare(void)
{
    pthread_mutex_lock(&pool.lock);
}

static void
fork_done(void)
{
    pthread_mutex_unlock(&pool.lock);
}

int
pool_init(void)
{
    if (sysconf(_SC_PAGESIZE) > 0) page = (size_t)sysconf(_SC_PAGESIZE);
    if (pthread_atfork(fork_prepare, fork_done, fork_done) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    handler_capsule = PyCapsule_New(&functions, "mem_handler", NULL);
    return handler_capsule != NULL ? 0 : -1;
}
