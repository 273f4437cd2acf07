/* Arenas kept between the runs of their plans, since the first write to fresh pages costs more than
   most kernels do: 563 MB are 137,000 page faults.

   A small one belongs to its plan for good.  Large ones are on a list, newest first, and go back to
   the system: the oldest when all of them would pass a share of the machine's memory, those whose
   plan has rested for a while, and all when memory is short.  Looked at when a large arena is put
   back; under the GIL. */
#include "hooks.h"
#include "plan.h"
#include "../clock.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LARGE = 16 << 20, /* bytes from which an arena is on the list */
    SHARE = 4,        /* the list holds at most one part in so many of the memory */
    SHORT = 16,       /* memory is short when less than one part in so many is left */
    RESTED = 60,      /* seconds after which an unused arena is freed */
    HUGE_PAGE = 2 << 20,
    POPULATED = 1 << 20,       /* bytes from which all pages are asked for at once … */
    POPULATED_MOST = 64 << 20, /* … and up to which: a plan need not touch all of a larger arena */
};

static struct {
    Spare *newest, *oldest;
    int64_t held, limit;    /* bytes; limit 0: not known yet */
    int64_t looked, rested; /* second in which free memory was looked at; seconds, for tests */
} spares = {.rested = RESTED};

/* The number behind `name` in a file, or -1. */
static long long
number_in(const char *path, const char *name)
{
    char line[128];
    long long found = -1;
    FILE *file = fopen(path, "re");
    if (file == NULL) return -1;
    while (found < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0 &&
            sscanf(line + strlen(name), "%lld", &found) != 1)
            break;
    fclose(file);
    return found;
}

/* The memory that this process may use: the machine's, or its control group's limit. */
static int64_t
memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t all = pages > 0 && page > 0 ? (int64_t)pages * page : (int64_t)1 << 30;
    long long group = number_in("/sys/fs/cgroup/memory.max", "");
    return group > 0 && group < all ? group : all;
}

static void
unlink_spare(Spare *s)
{
    *(s->newer ? &s->newer->older : &spares.newest) = s->older;
    *(s->older ? &s->older->newer : &spares.oldest) = s->newer;
    s->newer = s->older = NULL;
    spares.held -= s->bytes;
}

void
spare_drop(Spare *s)
{
    if (s->block == NULL) return;
    if (s->bytes >= LARGE) unlink_spare(s);
    mem_free(s->block);
    s->block = NULL;
}

static bool
memory_is_short(int64_t now)
{
    if (now == spares.looked) return false;
    spares.looked = now;
    long long available = number_in("/proc/meminfo", "MemAvailable:"); /* KiB */
    return available >= 0 && available * 1024 < memory_bytes() / SHORT;
}

typedef struct {
    uintptr_t begin, end; /* whole pages */
} Fresh;

/* Of the parts that begin at multiples of a huge page, the first of them earlier. */
static void
populate_part(const void *context, int64_t from, int64_t to)
{
    const Fresh *fresh = context;
    uintptr_t base = fresh->begin / HUGE_PAGE * HUGE_PAGE;
    uintptr_t begin = Py_MAX(base + (size_t)from * HUGE_PAGE, fresh->begin);
    uintptr_t end = Py_MIN(base + (size_t)to * HUGE_PAGE, fresh->end);
#ifdef MADV_POPULATE_WRITE /* Linux 5.14 */
    if (begin < end) madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#else
    (void)begin, (void)end;
#endif
}

/* Has the system map the pages of fresh memory together, huge ones where they fit, instead of one
   at each first write, and clear them on several threads.  What it does not do for us, the first
   writes do. */
static void
populate(char *block, int64_t bytes)
{
    uintptr_t begin = (uintptr_t)block, end = begin + (size_t)bytes;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (begin + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE,
              to = end / HUGE_PAGE * HUGE_PAGE;
    if (from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
    if (bytes > POPULATED_MOST) return;
    const Fresh fresh = {(begin + page - 1) / page * page, end / page * page};
    uintptr_t base = fresh.begin / HUGE_PAGE;
    int64_t parts = (int64_t)((fresh.end + HUGE_PAGE - 1) / HUGE_PAGE - base);
    threads_share(populate_part, &fresh, parts, HUGE_PAGE);
}

char *
spare_take(Spare *s, int64_t *of)
{
    int64_t bytes = *of;
    if (s->block != NULL && s->bytes < bytes) spare_drop(s);
    char *block = s->block;
    if (block != NULL) {
        *of = s->bytes;
        if (s->bytes >= LARGE) unlink_spare(s);
        s->block = NULL;
        return block;
    }
    block = mem_alloc((size_t)bytes);
    if (block == NULL && spares.oldest != NULL) {
        PyErr_Clear();
        while (spares.oldest != NULL) spare_drop(spares.oldest);
        block = mem_alloc((size_t)bytes);
    }
    if (block != NULL && bytes >= POPULATED) populate(block, bytes);
    return block;
}

void
spare_give(Spare *s, char *block, int64_t bytes)
{
    if (s->block != NULL) { /* another thread has put its arena back first */
        mem_free(block);
        return;
    }
    s->block = block;
    s->bytes = bytes;
    if (bytes < LARGE) return;
    s->used = (int64_t)clock_seconds();
    s->newer = NULL;
    s->older = spares.newest;
    *(s->older ? &s->older->newer : &spares.oldest) = s;
    spares.newest = s;
    spares.held += bytes;
    if (spares.limit == 0) spares.limit = memory_bytes() / SHARE;
    bool all = memory_is_short(s->used);
    while (spares.oldest != NULL &&
           (all || spares.held > spares.limit || spares.oldest->used + spares.rested < s->used))
        spare_drop(spares.oldest);
}

/* ---- for tests ---- */

/* spare_limits(bytes, seconds): bytes 0 for the machine's share.  Returns the bytes held. */
static PyObject *
py_spare_limits(PyObject *Py_UNUSED(self), PyObject *args)
{
    long long bytes, seconds;
    if (!PyArg_ParseTuple(args, "LL", &bytes, &seconds)) return NULL;
    spares.limit = bytes;
    spares.rested = seconds;
    return PyLong_FromLongLong(spares.held);
}

PyMethodDef spare_methods[] = {
    {"spare_limits", py_spare_limits, METH_VARARGS,
     "spare_limits(bytes, seconds) -> bytes held\n\nFor tests: how much of plans' large arenas is "
     "kept in all (0: a share of the memory), and for how long."},
    {NULL, NULL, 0, NULL},
};
