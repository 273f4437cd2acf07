/* The state of a call: sizes, memory, copies, and what loops have changed. */

/* The log of a kept loop: here the arrays are always copied as a whole. */
typedef struct Log {
    KernelLog seen; /* by the loop */
    struct Run *run;
    struct Log *next;
    LogArray copied[MOST_LOGGED];
    int64_t ncopied, room;
    char *copies;
    LogEntry cell[2];
} Log;

/* How a tensor of the call lies. */
typedef struct {
    char *data;
    const char *low, *high; /* the bytes of its elements: [low, high) */
    int compact;            /* in C order */
    int64_t stride[MOST_AXES]; /* in bytes */
} Layout;

typedef struct Run {
    KernelDrive drive;
    const ExportedFunction *f;
    const DLTensor *in;
    DLTensor *out;
    const Layout *argument, *result;
    char **data;    /* by buffer */
    char **block;   /* by buffer: memory of the library's own */
    int64_t *size;
    char *numbers, *arena;
    char *frame, *frame_end; /* of the call's frame what is free: for the first small blocks */
    const int64_t *slot;
    Block *blocks;
    Log *logs;  /* what is put back where the call fails, newest first */
    Log *spare; /* has nothing to put back */
    unsigned warned; /* flags, and what raised them */
    const ExportedKernel *warned_kernel;
    const ExportedCall *warned_call;
    int status;
    int stops; /* of driven loops; a short one has no look for flags */
} Run;

/* ---- sizes ---- */

/* Is it more than memory can be?  Then nothing is computed with it. */
#define FAR ((int64_t)1 << 46)
static ROW_KNOWN int
is_far(int64_t number)
{
    return (uint64_t)number + FAR > 2 * (uint64_t)FAR;
}

static ROW_KNOWN int64_t
run_size(const Run *run, int32_t size)
{
    return size < 0 ? 0 : run->size[size];
}

static ROW_KNOWN char *
run_place(const Run *run, ExportedPlace place)
{
    return run->data[place.buffer] + run_size(run, place.offset);
}

static ROW_KNOWN int64_t
size_apply(int kind, int64_t a, int64_t b)
{
    int64_t c; /* what is too much stays so */
    switch (kind) {
    case SIZE_ADD: return __builtin_add_overflow(a, b, &c) ? INT64_MAX : c;
    case SIZE_MUL: return __builtin_mul_overflow(a, b, &c) ? INT64_MAX : c;
    case SIZE_LEAST: return a < b ? a : b;
    case SIZE_MOST: return a > b ? a : b;
    case SIZE_SAME: return a == b;
    default: break;
    }
    if (b == 0 || b == -1) return kind == SIZE_MOD || b == 0 ? 0 : (int64_t)(0 - (uint64_t)a);
    int64_t quotient = a / b, rest = a % b;
    int down = rest != 0 && (rest < 0) != (b < 0);
    return kind == SIZE_MOD ? rest + (down ? b : 0) : quotient - down;
}

/* ---- memory ---- */

/* A block from the allocator. */
static __attribute__((noinline)) char *
block_allocate(Run *run, int64_t bytes)
{
    if (bytes < 0 || bytes >= FAR) {
        run->status = fail(CALL_MEMORY, "an array of more than memory can have");
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
    block->bytes = bytes;
    block->swept = 0;
    run->blocks = block;
    return block->data;
}

static void
block_free(Block *block)
{
    if (release != NULL)
        release(block, allocator);
    else
        free(block);
}

/* Small ones are of the call's frame, which is free when the call ends: no two at one address. */
static ROW_KNOWN char *
run_allocate(Run *run, int64_t bytes)
{
    char *at = run->frame;
    if ((uint64_t)bytes >= (uint64_t)(run->frame_end - at)) return block_allocate(run, bytes);
    run->frame = at + ((uint64_t)bytes / ALIGNMENT + 1) * ALIGNMENT;
    return at;
}

/* The last one; `frame`: where the call's frame was before it. */
static __attribute__((unused)) void
run_give_back(Run *run, char *frame)
{
    if (run->frame == frame) {
        Block *block = run->blocks;
        run->blocks = block->next;
        block_free(block);
    }
    run->frame = frame;
}

static void
run_release(Run *run)
{
    for (Block *block = run->blocks, *next; block != NULL; block = next) {
        next = block->next;
        block_free(block);
    }
}

/* ---- copies ---- */

static void
copy_axes(char *to, const int64_t *to_stride, const char *from, const int64_t *from_stride, int rank,
          const int64_t *length, int64_t bytes)
{
    while (rank > 0 && to_stride[rank - 1] == bytes && from_stride[rank - 1] == bytes)
        bytes *= length[--rank];
    if (rank == 0)
        memmove(to, from, (size_t)bytes);
    else
        for (int64_t i = 0; i < length[0]; i++)
            copy_axes(to + i * to_stride[0], to_stride + 1, from + i * from_stride[0],
                      from_stride + 1, rank - 1, length + 1, bytes);
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
log_more(KernelLog *seen)
{
    Log *log = (Log *)seen;
    seen->from = seen->at = log->cell;
    seen->end = log->cell + 1;
    seen->logs = 0;
    if (log->ncopied > 0 || seen->narrays > MOST_LOGGED) return seen->narrays > MOST_LOGGED;
    int64_t bytes = 0;
    for (int64_t i = 0; i < seen->narrays; i++)
        bytes += seen->array[i].bytes * elements((int)seen->array[i].rank, seen->array[i].length);
    if (log->copies == NULL || bytes > log->room) log->copies = run_allocate(log->run, bytes);
    if (log->copies == NULL) return -1;
    log->room = bytes > log->room ? bytes : log->room;
    char *at = log->copies;
    for (; log->ncopied < seen->narrays; log->ncopied++) {
        const LogArray *a = &log->copied[log->ncopied];
        log->copied[log->ncopied] = seen->array[log->ncopied];
        log_copy(a, at, 0);
        at += a->bytes * elements((int)a->rank, a->length);
    }
    return 0;
}

/* Has an older log all arrays of this one, as they were before? */
static int
log_is_known(const Log *log)
{
    for (int64_t i = 0; i < log->ncopied; i++) {
        int known = 0;
        for (const Log *older = log->run->logs; older != NULL && !known; older = older->next)
            for (int64_t k = 0; k < older->ncopied && !known; k++)
                known = memcmp(&older->copied[k], &log->copied[i], sizeof(LogArray)) == 0;
        if (!known) return 0;
    }
    return 1;
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
log_stop(KernelLog *log)
{
    (void)log;
    return 0;
}

static int
log_range(KernelLog *log, char *first, int64_t step, int64_t count, int64_t bytes)
{
    (void)log, (void)first, (void)step, (void)count, (void)bytes;
    return 0;
}

static int64_t
log_along(KernelLog *log, char *first, int64_t step, int64_t count, int64_t bytes)
{
    (void)log, (void)first, (void)step, (void)count, (void)bytes;
    return -1;
}

static char *
log_grow(KernelLog *log, int64_t list, int64_t words, int64_t *room)
{
    (void)log, (void)list, (void)words, (void)room;
    return NULL;
}

static void
log_begin(Log *log)
{
    log->ncopied = 0;
    log->seen = (KernelLog){.more = log_more,
                            .stop = log_stop,
                            .range = log_range,
                            .along = log_along,
                            .grow = log_grow};
}
