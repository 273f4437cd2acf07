/* The steps of a call, as csrc/runtime/ does them for Python. */
/* ---- a call ---- */

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
    int compact, empty;     /* in C order; without elements */
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
    int own = (int64_t)all > run->frame_end - run->frame;
    Block *block = (Block *)run->frame;
    if (!own)
        run->frame += all;
    else
        block = allocate != NULL ? allocate(all, allocator) : aligned_alloc(ALIGNMENT, all);
    if (block == NULL) {
        run->status = fail(CALL_MEMORY, "no memory for %lld bytes", (long long)bytes);
        return NULL;
    }
    block->next = run->blocks;
    block->bytes = bytes;
    block->swept = 0;
    block->own = own;
    run->blocks = block;
    return block->data;
}

static void
block_free(Block *block)
{
    if (!block->own) return;
    if (release != NULL)
        release(block, allocator);
    else
        free(block);
}

/* The last block; `frame`: where the call's frame was before it. */
static __attribute__((unused)) void
run_give_back(Run *run, char *frame)
{
    Block *block = run->blocks;
    run->blocks = block->next;
    block_free(block);
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
    return (uint64_t)number + ((uint64_t)1 << 46) > (uint64_t)1 << 47;
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
region_variant(KernelFn call, KernelArgs *args, Log *log, unsigned *raised)
{
    log_begin(log);
    flags_clear();
    int failed = call(args, 0, 1);
    *raised = flags_read();
    return failed;
}

static Log *
log_take(Run *run)
{
    Log *log = run->spare;
    run->spare = NULL;
    if (log == NULL && (log = (Log *)run_allocate(run, sizeof *log)) != NULL) {
        log->next = NULL;
        log->copies = NULL;
        log->room = 0;
    }
    if (log != NULL) log->run = run;
    return log;
}

/* The quick variant may fail, or raise a flag, for nothing. */
static int
region_run(Run *run, const ExportedKernel *kernel, KernelArgs *args, unsigned *raised)
{
    Log *log = log_take(run);
    if (log == NULL) return -1;
    args->scratch = (char *)log;
    int failed = region_variant(kernel->call, args, log, raised);
    if (failed || (kernel->flagged && flags_told(flags_of(kernel, *raised)))) {
        log_undo(log);
        failed = region_variant(kernel->careful, args, log, raised);
    }
    if (!failed && log_is_known(log)) {
        run->spare = log;
        return 0;
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
    if (raised) flags_clear();
    return failed;
}

/* ---- steps that the generated function leaves to us ---- */

/* Frees what was made for buffers and no buffer is in. */
static void
blocks_sweep(Run *run)
{
    for (Block **at = &run->blocks; *at != NULL;) {
        Block *block = *at;
        int used = !block->swept;
        for (int i = 0; i < run->f->nbuffers && !used; i++)
            used = run->data[i] != NULL && run->data[i] >= block->data &&
                   run->data[i] <= block->data + block->bytes;
        if (used) {
            at = &block->next;
            continue;
        }
        for (int i = 0; i < run->f->nbuffers; i++)
            if (run->block[i] == block->data) run->block[i] = NULL;
        *at = block->next;
        block_free(block);
    }
}

/* Memory for a buffer that no result has.  What it had before may be another's now. */
static int
buffer_allocate(Run *run, int32_t buffer, int64_t below, int64_t above)
{
    if (is_far(below) || is_far(above)) {
        run->status = fail(CALL_MEMORY, "an array of more than memory can have");
        return -1;
    }
    if (run->block[buffer] != NULL) {
        run->data[buffer] = NULL;
        blocks_sweep(run);
    }
    run->block[buffer] = run_allocate(run, above - below);
    if (run->block[buffer] == NULL) return -1;
    run->blocks->swept = 1;
    run->data[buffer] = run->block[buffer] - below;
    return 0;
}

static ROW_KNOWN int
buffer_make(Run *run, const ExportedBuffer *b, int32_t buffer)
{
    int64_t below = 0, above = b->dtype.bytes;
#pragma GCC unroll 8
    for (int i = 0; i < b->rank; i++) {
        int64_t length = run_size(run, b->length[i]), reach;
        if (length == 0) return buffer_allocate(run, buffer, 0, 0);
        if (__builtin_mul_overflow(length - 1, run_size(run, b->stride[i]), &reach) || is_far(reach))
            return buffer_allocate(run, buffer, 0, INT64_MAX);
        *(reach < 0 ? &below : &above) += reach;
    }
    return buffer_allocate(run, buffer, below, above);
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
    if ((run->block[last] == NULL || block_is_used(run, last)) && buffer_make(run, &run->f->buffers[last], last) < 0)
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

static ROW_KNOWN int64_t
size_apply(int kind, int64_t a, int64_t b)
{
    int64_t c; /* what is too much stays so */
    switch (kind) {
    case SIZE_ADD: return __builtin_add_overflow(a, b, &c) ? INT64_MAX : c;
    case SIZE_MUL: return __builtin_mul_overflow(a, b, &c) ? INT64_MAX : c;
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
        if (buffer_make(run, &run->f->buffers[step->fresh[i]], step->fresh[i]) < 0) return -1;
    return 0;
}

/* Those that were first are told. */
static void
warning_note(Run *run, unsigned flags, const ExportedKernel *kernel, const ExportedCall *call)
{
    if (!flags || run->warned) return;
    run->warned = flags;
    run->warned_kernel = kernel;
    run->warned_call = call;
}

/* Flags that nobody was told of yet. */
static int
warnings_take(KernelDrive *drive, int turns)
{
    Run *run = (Run *)drive;
    const ExportedStep *step = drive->step < 0 ? NULL : &run->f->steps[drive->step];
    (void)turns;
    warning_note(run, flags_told(drive->raised), step ? step->kernel : NULL,
                 step ? step->call : NULL);
    drive->raised = 0;
    drive->step = -1;
    return 0;
}

static int
step_run(KernelDrive *drive, int64_t number)
{
    Run *run = (Run *)drive;
    const ExportedStep *step = &run->f->steps[number];
    unsigned flags = 0, raised; /* they are clear between steps */
    int failed = 0;
    switch (step->kind) {
    case STEP_KERNEL: failed = kernel_run(run, step->kernel, &flags); break;
    case STEP_CHOOSE:
        run->data[step->to[0]] = run_place(run, step->from[!*run_place(run, step->condition)]);
        break;
    case STEP_CARRY: failed = carry_run(run, step); break;
    case STEP_MEASURE: failed = measure_run(run, step); break;
    case STEP_CALL:
        failed = step->call->call(run, step->call);
        raised = kernel_flags();
        if (raised) flags_clear();
        flags = (raised & ~(unsigned)step->call->known) | (raised & step->call->reported) << 4;
        break;
    default: break;
    }
    drive->raised |= flags;
    if ((drive->raised & drive->told && drive->step < 0) || failed) drive->step = number;
    return failed;
}

_Static_assert(_Generic(&warnings_take, __typeof__(((KernelDrive *)0)->stop): 1, default: 0) &&
                   _Generic(&step_run, __typeof__(((KernelDrive *)0)->plan): 1, default: 0),
               "what generated functions call is of their types");
