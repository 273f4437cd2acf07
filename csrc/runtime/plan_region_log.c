/* The log of what a kept loop overwrites.

   The loop's kernel writes an input's memory in place before everything fallible is done, so it
   logs the old elements, and a later failure puts them back.  Small arrays are copied before the
   loop instead.  Nobody knows beforehand how much a nest of loops writes: the log grows until
   copies of the arrays would be shorter; these are made then, whole, and nothing more is logged (a
   loop that logs its stores itself may take twice as much).  To undo is to put the copies back, and
   then the entries, last one first.  Of an array that holds one number everywhere, as fresh ones
   do, the number is all that is copied.

   The items that a loop appends to lists are kept here, too, until the run ends: words, in memory
   that grows.  They are dropped with what is undone. */
#include "plan_region_log.h"

enum {
    FIRST_ENTRIES = 256,
    SMALL_BYTES = 4096,     /* arrays that are copied at once */
    MEDIUM_BYTES = 1 << 17, /* and those of COPIED_BYTES for each iteration, but no larger ones: */
    COPIED_BYTES = 8,       /* they may have rows of one number */
    DEARER = 4,             /* an entry takes longer than its bytes of a copy */
    LIST_WORD = 8,
    LIST_WORDS = 512, /* of a list, at first */
};

static const int64_t GIL_ITERATIONS = (int64_t)1 << 16; /* longer loops release the GIL */

static void
log_free(RegionLog *log)
{
    if (log == NULL) return;
    PyMem_RawFree(log->seen.from);
    PyMem_RawFree(log->copies);
    for (int i = 0; i < LOG_LISTS; i++) PyMem_RawFree(log->list[i].words);
    mem_free(log);
}

void
region_log_free(Plan *plan)
{
    log_free(plan->spare_log);
    plan->spare_log = NULL;
}

void
region_log_give(Plan *plan, RegionLog *log)
{
    int64_t bytes = log->room * (int64_t)sizeof(LogEntry) + log->bytes;
    for (int i = 0; i < LOG_LISTS; i++) bytes += log->list[i].room * LIST_WORD;
    bool small = bytes <= SPARE_LIMIT;
    if (plan->spare_log == NULL && small)
        plan->spare_log = log;
    else
        log_free(log);
}

/* ---- whole arrays ---- */

static int64_t
array_bytes(const LogArray *a)
{
    int64_t bytes = a->bytes;
    for (int k = 0; k < a->rank; k++) bytes *= a->length[k];
    return bytes;
}

static int64_t
all_bytes(const RegionLog *log)
{
    int64_t bytes = 0;
    for (int i = 0; i < log->seen.narrays; i++) bytes += array_bytes(&log->array[i]);
    return bytes;
}

/* `count` elements side by side that are all equal to `element`? */
static bool
is_row_even(const char *row, const char *element, int64_t count, size_t bytes)
{
    return count == 0 || (memcmp(row, element, bytes) == 0 &&
                          memcmp(row, row + bytes, (size_t)(count - 1) * bytes) == 0);
}

static bool
is_even(const LogArray *a, int axis, const char *data)
{
    int last = a->rank - 1;
    if (axis == last)
        return a->stride[last] == a->bytes &&
               is_row_even(data, a->data, a->length[last], (size_t)a->bytes);
    for (int64_t i = 0; i < a->length[axis]; i++)
        if (!is_even(a, axis + 1, data + i * a->stride[axis])) return false;
    return true;
}

static void
fill_axes(const LogArray *a, int axis, char *data, const char *element)
{
    if (axis == a->rank)
        memcpy(data, element, (size_t)a->bytes);
    else
        for (int64_t i = 0; i < a->length[axis]; i++)
            fill_axes(a, axis + 1, data + i * a->stride[axis], element);
}

typedef struct {
    char *to;
    const char *from;
} FlatCopy;

static void
copy_part(const void *context, int64_t begin, int64_t end)
{
    const FlatCopy *copy = context;
    memcpy(copy->to + begin, copy->from + begin, (size_t)(end - begin));
}

/* Large copies are divided among the threads: one takes a third of the time of a loop that does no
   more than two operations an element. */
static void
copy_flat(char *to, const char *from, int64_t bytes)
{
    enum { LARGE = 256 << 10 };
    const FlatCopy copy = {to, from};
    if (bytes >= LARGE)
        threads_share(copy_part, &copy, bytes, 1);
    else if (bytes > 0)
        memcpy(to, from, (size_t)bytes);
}

/* Do the elements of the axes from `axis` on follow one another in memory? */
static bool
is_flat_from(const LogArray *a, int axis)
{
    int64_t bytes = a->bytes;
    for (int i = a->rank - 1; i >= axis; i--) {
        if (a->stride[i] != bytes) return false;
        bytes *= a->length[i];
    }
    return true;
}

/* Copies the axes from `axis` on, to compact memory or back; the end of it. */
static char *
copy_axes(const LogArray *a, int axis, char *data, char *compact, bool back)
{
    if (is_flat_from(a, axis)) {
        int64_t bytes = a->bytes;
        for (int i = axis; i < a->rank; i++) bytes *= a->length[i];
        copy_flat(back ? data : compact, back ? compact : data, bytes);
        return compact + bytes;
    }
    for (int64_t i = 0; i < a->length[axis]; i++)
        compact = copy_axes(a, axis + 1, data + i * a->stride[axis], compact, back);
    return compact;
}

static void
copy_arrays(const RegionLog *log, bool back)
{
    char *at = log->copies;
    for (int i = 0; i < log->seen.narrays; i++) {
        const LogArray *a = &log->array[i];
        if (!log->even[i])
            at = copy_axes(a, 0, a->data, at, back);
        else {
            if (back)
                fill_axes(a, 0, a->data, at);
            else
                memcpy(at, a->data, (size_t)a->bytes);
            at += a->bytes;
        }
    }
}

/* Finds out which arrays are even; bytes of the copies. */
static int64_t
copied_bytes(RegionLog *log)
{
    int64_t bytes = 0;
    for (int i = 0; i < log->seen.narrays; i++) {
        const LogArray *a = &log->array[i];
        log->even[i] = array_bytes(a) > a->bytes && is_even(a, 0, a->data);
        bytes += log->even[i] ? a->bytes : array_bytes(a);
    }
    return bytes;
}

/* From here on entries go to one cell that nobody reads. */
static int
log_whole(RegionLog *log, int64_t used)
{
    int64_t bytes = copied_bytes(log);
    if (bytes > log->bytes) {
        PyMem_RawFree(log->copies);
        log->copies = PyMem_RawMalloc((size_t)bytes);
        log->bytes = log->copies != NULL ? bytes : 0;
        if (log->copies == NULL) return -1;
    }
    copy_arrays(log, false);
    log->copied = true;
    log->used = used;
    log->seen.at = log->seen.from + used;
    log->seen.end = log->seen.at + 1;
    log->seen.logs = 0;
    return 0;
}

/* ---- what the kernel calls, mostly without the GIL: no Python error is set ---- */

/* Room for `entries`, and the cell that is left when the arrays are copied. */
static int
log_room(RegionLog *log, int64_t entries)
{
    if (entries <= log->room) return 0;
    LogEntry *larger = PyMem_RawRealloc(log->seen.from, (size_t)(entries + 1) * sizeof(LogEntry));
    if (larger == NULL) return -1;
    log->seen.from = larger;
    log->room = entries;
    return 0;
}

static int
log_begin(RegionLog *log)
{
    KernelLog *seen = &log->seen;
    if (seen->narrays > 0)
        memcpy(log->array, seen->array, sizeof(LogArray) * (size_t)seen->narrays);
    log->all = all_bytes(log);
    if (seen->iterations >= GIL_ITERATIONS) {
        PyEval_SaveThread();
        log->released = true;
    }
    if (log_room(log, FIRST_ENTRIES) < 0) return -1;
    bool all_along = seen->alongs > 0 && seen->entries == 0; /* takes less time than copies */
    if (log->all <= SMALL_BYTES || seen->entries >= log->all / (int64_t)sizeof(LogEntry) ||
        (log->all <= MEDIUM_BYTES && seen->iterations >= log->all / COPIED_BYTES && !all_along))
        return log_whole(log, 0);
    if (log_room(log, seen->entries) < 0) return -1;
    seen->at = seen->from;
    seen->end = seen->from + log->room;
    seen->logs = 1;
    return 0;
}

static int
log_more(KernelLog *seen)
{
    RegionLog *log = (RegionLog *)seen;
    if (seen->at == NULL) return log_begin(log);
    int64_t used = seen->at - seen->from;
    if (used * DEARER >= log->all / (int64_t)sizeof(LogEntry)) return log_whole(log, used);
    if (log_room(log, used * 2) < 0) return -1;
    seen->at = seen->from + used;
    seen->end = seen->from + log->room;
    return 0;
}

/* The elements, the step and bytes of one, and their number at the place of the first: so they are
   found from behind. */
enum {
    RANGE_TAG = 0xff,
    EVEN_TAG = 0xfe,  /* of the same elements, the first being there */
    ALONG_TAG = 0xfd, /* of which the loop has logged so many as an entry before these says */
};

typedef struct {
    char *first;
    int64_t step, count, bytes;
    uint64_t tag;
} LogRange;

static int64_t
range_entries(int64_t count, int64_t bytes)
{
    return (count * bytes + (int64_t)sizeof(LogEntry) - 1) / (int64_t)sizeof(LogEntry);
}

/* `bytes` is a constant where this is called. */
static inline __attribute__((always_inline)) void
copy_apart(char *place, int64_t step, int64_t count, size_t bytes, char *compact, bool back)
{
    for (int64_t i = 0; i < count; i++, place += step, compact += bytes)
        memcpy(back ? place : compact, back ? compact : place, bytes);
}

static void
copy_range(char *place, int64_t step, int64_t count, int64_t bytes, char *compact, bool back)
{
    size_t all = (size_t)(count * bytes);
    if (step == bytes)
        memcpy(back ? place : compact, back ? compact : place, all);
    else if (bytes == 8)
        copy_apart(place, step, count, 8, compact, back);
    else if (bytes == 4)
        copy_apart(place, step, count, 4, compact, back);
    else if (bytes == 1)
        copy_apart(place, step, count, 1, compact, back);
    else
        copy_apart(place, step, count, (size_t)bytes, compact, back);
}

/* Appends a range, but for the elements: the number of the entry where they begin; -1: the arrays
   are copied instead; -2: no memory. */
static int64_t
add_range(RegionLog *log, const LogRange *range, int64_t most)
{
    KernelLog *seen = &log->seen;
    int64_t used = seen->at - seen->from, kept = range->tag == EVEN_TAG ? 1 : range->count;
    int64_t more = range_entries(kept, range->bytes) + 2 + (range->tag == ALONG_TAG);
    if (used + more > most) return log_whole(log, used) < 0 ? -2 : -1;
    if (used + more > log->room && log_room(log, Py_MAX(used * 2, used + more)) < 0) return -2;
    LogEntry *end = seen->from + used + more;
    end[-2] = (LogEntry){(uint64_t)range->step, (uint64_t)range->bytes};
    end[-1] =
        (LogEntry){(uint64_t)(uintptr_t)range->first | range->tag << 56, (uint64_t)range->count};
    seen->at = end;
    seen->end = seen->from + log->room;
    return used;
}

static bool
is_range_even(const LogRange *range)
{
    return range->step == range->bytes &&
           is_row_even(range->first, range->first, range->count, (size_t)range->bytes);
}

static int
log_range(KernelLog *seen, char *first, int64_t step, int64_t count, int64_t bytes)
{
    RegionLog *log = (RegionLog *)seen;
    LogRange range = {first, step, count, bytes, RANGE_TAG};
    int64_t most = log->all / (int64_t)sizeof(LogEntry);
    if (is_range_even(&range)) range.tag = EVEN_TAG;
    if (step != bytes) most /= 4; /* element by element it takes that much longer */
    int64_t at = add_range(log, &range, most);
    if (at >= 0)
        copy_range(first, step, range.tag == EVEN_TAG ? 1 : count, bytes, (char *)(seen->from + at),
                   false);
    return at == -2 ? -1 : 0;
}

/* It costs little time, so that the log may be longer than copies of the arrays. */
static int64_t
log_along(KernelLog *seen, char *first, int64_t step, int64_t count, int64_t bytes)
{
    RegionLog *log = (RegionLog *)seen;
    LogRange range = {first, step, count, bytes, ALONG_TAG};
    if (is_range_even(&range)) return log_range(seen, first, step, count, bytes) < 0 ? -2 : -1;
    int64_t at = add_range(log, &range, 2 * (log->all / (int64_t)sizeof(LogEntry)));
    if (at >= 0) seen->at[-3].place = 0;
    return at;
}

static char *
log_grow(KernelLog *seen, int64_t number, int64_t words, int64_t *room)
{
    RegionLog *log = (RegionLog *)seen;
    LogList *list = &log->list[number];
    log->appended = true;
    if (list->room < words) {
        int64_t larger = Py_MAX(Py_MAX(2 * list->room, words), LIST_WORDS);
        char *grown = PyMem_RawRealloc(list->words, (size_t)larger * LIST_WORD);
        if (grown == NULL) return NULL;
        *list = (LogList){grown, larger};
    }
    *room = list->room;
    return list->words;
}

static int
log_stop(KernelLog *seen)
{
    RegionLog *log = (RegionLog *)seen;
    if (!log->released) { /* it takes longer than was estimated */
        PyEval_SaveThread();
        log->released = true;
    }
    if (!log->sent && signal_is_pending(log->thread)) log->interrupted = true;
    return log->interrupted;
}

/* ---- for the runs ---- */

void
region_log_empty(RegionLog *log)
{
    log->seen = (KernelLog){.from = log->seen.from,
                            .more = log_more,
                            .stop = log_stop,
                            .range = log_range,
                            .along = log_along,
                            .grow = log_grow};
    log->copied = log->appended = false;
    log->used = 0;
}

int
region_log_save(RegionLog *log, int count, const LogArray *arrays)
{
    memcpy(log->array, arrays, sizeof(LogArray) * (size_t)count);
    log->seen.narrays = count;
    return log_room(log, 1) < 0 ? -1 : log_whole(log, 0);
}

bool
region_log_is_empty(const RegionLog *log)
{
    return log->seen.narrays == 0 && !log->appended;
}

RegionLog *
region_log_take(Plan *plan)
{
    RegionLog *log = plan->spare_log;
    plan->spare_log = NULL;
    if (log == NULL && (log = mem_alloc(sizeof(RegionLog))) == NULL) return NULL;
    log->thread = PyThreadState_Get();
    log->released = log->interrupted = false;
    region_log_empty(log);
    return log;
}

void
region_log_undo(const RegionLog *log)
{
    if (log->seen.at == NULL) return;
    if (log->copied) copy_arrays(log, true);
    const LogEntry *entry = log->copied ? log->seen.from + log->used : log->seen.at;
    while (entry > log->seen.from) {
        entry--;
        char *place = (char *)(uintptr_t)(entry->place & ~((uint64_t)0xff << 56));
        uint64_t tag = entry->place >> 56;
        if (tag < ALONG_TAG) {
            memcpy(place, &entry->old, tag);
            continue;
        }
        int64_t count = (int64_t)entry->old, done = count;
        entry--;
        int64_t step = (int64_t)entry->place, bytes = (int64_t)entry->old;
        if (tag == ALONG_TAG) done = (int64_t)(--entry)->place;
        entry -= range_entries(tag == EVEN_TAG ? 1 : count, bytes);
        for (int64_t i = 0; tag == EVEN_TAG && i < count; i++)
            memcpy(place + i * step, entry, (size_t)bytes);
        if (tag != EVEN_TAG) copy_range(place, step, done, bytes, (char *)(uintptr_t)entry, true);
    }
}
