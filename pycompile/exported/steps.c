/* The steps of a call, as csrc/runtime/ does them for Python. */
/* ---- kernels ---- */

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
region_variant(Run *run, KernelFn call, KernelArgs *args, Log *log, unsigned *raised)
{
    log_begin(log);
    if (run->drive.read()) flags_clear();
    int failed = call(args, 0, 1);
    *raised = run->drive.read();
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
    int failed = region_variant(run, kernel->call, args, log, raised);
    if (failed || (kernel->flagged && flags_told(flags_of(kernel, *raised)))) {
        log_undo(log);
        failed = region_variant(run, kernel->careful, args, log, raised);
    }
    if (!failed && log_is_known(log)) {
        run->spare = log;
        return 0;
    }
    log->next = run->logs;
    run->logs = log;
    return failed;
}

static __attribute__((noinline)) int
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

/* Bytes in front of the first element, negative, and behind them; `above` is far where it is more
   than memory can have. */
static ROW_KNOWN void
buffer_extent(const Run *run, const ExportedBuffer *b, int64_t *below, int64_t *above)
{
    int64_t bytes = b->dtype.bytes, low = 0, high = bytes;
    int far = 0, empty = 0;
#pragma GCC unroll 8
    for (int i = 0; i < b->rank; i++) {
        int64_t length = run_size(run, b->length[i]), reach;
        far |= __builtin_mul_overflow(bytes, length, &bytes);
        if (b->compact) continue;
        far |= __builtin_mul_overflow(length - 1, run_size(run, b->stride[i]), &reach) || is_far(reach);
        empty |= length == 0;
        *(reach < 0 ? &low : &high) += reach;
    }
    if (b->compact) high = bytes;
    if (empty) low = high = far = 0;
    *below = low;
    *above = far || is_far(low) ? INT64_MAX : high;
}

/* Memory for a buffer that no result has. */
static ROW_KNOWN int
buffer_begin(Run *run, const ExportedFunction *f, const ExportedBuffer *b, int32_t number)
{
    int64_t below, above;
    const char *frame = run->frame;
    buffer_extent(run, b, &below, &above);
    char *block = above > FAR ? block_allocate(run, above) : run_allocate(run, above - below);
    if (block == NULL) return -1;
    if (f->again && run->frame == frame) run->blocks->swept = 1;
    if (f->again) run->block[number] = block;
    run->data[number] = block - below;
    return 0;
}

/* The same again: what it had before may be another's now. */
static ROW_KNOWN int
buffer_make(Run *run, const ExportedFunction *f, int32_t number)
{
    if (run->block[number] != NULL) {
        run->data[number] = NULL;
        blocks_sweep(run);
    }
    return buffer_begin(run, f, &f->buffers[number], number);
}

/* Has another buffer the memory of this block? */
static ROW_KNOWN int
block_is_used(const Run *run, const ExportedFunction *f, int32_t block)
{
    const char *data = run->data[block];
    for (int i = 0; i < f->nbuffers; i++)
        if (run->data[i] == data && i != block &&
            (f->buffers[i].kind == OF_CHOICE || f->buffers[i].kind == OF_RESULT))
            return 1;
    return 0;
}

static ROW_KNOWN int
same_layout(const Run *run, const ExportedBuffer *a, const ExportedBuffer *b)
{
    int same = a->rank == b->rank && a->dtype.code == b->dtype.code && a->dtype.bits == b->dtype.bits;
    for (int i = 0; same && i < a->rank; i++)
        same = run->size[a->length[i]] == run->size[b->length[i]] &&
               run->size[a->stride[i]] == run->size[b->stride[i]];
    return same;
}

/* A block of the pool that nobody has, else a new one in the place of one. */
static ROW_KNOWN int
block_take(Run *run, const ExportedFunction *f, const ExportedStep *step, int32_t fresh)
{
    int32_t last = -1;
    int taken = 0;
    for (int i = 0; i < step->npool && !taken; i++) {
        int32_t block = step->pool[i];
        if (!step->alike && !same_layout(run, &f->buffers[block], &f->buffers[fresh])) continue;
        last = block;
        taken = run->block[block] != NULL && !block_is_used(run, f, block);
        if (run->block[block] == NULL) break;
    }
    if (last < 0 || (!taken && buffer_make(run, f, last) < 0)) return -1;
    run->data[fresh] = run->data[last];
    return 0;
}

static ROW_KNOWN int
carry_run(Run *run, const ExportedFunction *f, const ExportedStep *step)
{
    struct {
        char *data, number[NUMBER_BYTES];
    } moved[step->nmoves + 1];
#pragma GCC unroll 8
    for (int i = 0; i < step->nmoves; i++) {
        const ExportedBuffer *b = &f->buffers[step->to[i]];
        moved[i].data = run->data[step->from[i].buffer];
        if (b->kind == OF_NUMBER) memcpy(moved[i].number, run_place(run, step->from[i]), b->dtype.bytes);
    }
    for (int i = 0; i < step->nmoves; i++) {
        const ExportedBuffer *b = &f->buffers[step->to[i]];
        if (b->kind == OF_NUMBER)
            memcpy(run->data[step->to[i]], moved[i].number, b->dtype.bytes);
        else
            run->data[step->to[i]] = moved[i].data;
    }
    for (int i = 0; i < step->ndropped; i++) run->data[step->dropped[i]] = NULL;
    for (int i = 0; i < step->nfresh; i++) run->data[step->fresh[i]] = NULL;
    for (int i = 0; i < step->nfresh; i++)
        if (block_take(run, f, step, step->fresh[i]) < 0) return -1;
    return 0;
}

static ROW_KNOWN int
measure_run(Run *run, const ExportedFunction *f, const ExportedStep *step)
{
    for (int i = 0; i < step->nsizes; i++) {
        int32_t id = step->sizes[i];
        const ExportedSize *size = &f->sizes[id];
        if (size->kind == SIZE_NUMBER)
            memcpy(&run->size[id], run_place(run, step->from[0]), sizeof(int64_t));
        else
            run->size[id] = size_apply(size->kind, run->size[size->a], run->size[size->b]);
    }
    for (int i = 0; i < step->nfresh; i++)
        if (buffer_make(run, f, step->fresh[i]) < 0) return -1;
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

static int
flags_are_up(const Run *run)
{
    return ((run->drive.read() | run->drive.raised) & TOLD) != 0;
}

/* From here on flags are looked at behind each step.  1: one is up, the call is made again. */
static int
looks_now(Run *run)
{
    if (flags_are_up(run)) {
        run->status = CALL_AGAIN;
        return 1;
    }
    flags_clear();
    run->drive.told = TOLD_EACH;
    return 0;
}

/* Flags that nobody was told of yet. */
static int
warnings_take(KernelDrive *drive)
{
    Run *run = (Run *)drive;
    const ExportedStep *step = drive->step < 0 ? NULL : &run->f->steps[drive->step];
    if (drive->told == 0) return run->stops++ > 0 && looks_now(run);
    warning_note(run, flags_told(drive->raised), step ? step->kernel : NULL,
                 step ? step->call : NULL);
    drive->raised = 0;
    drive->step = -1;
    return 0;
}

static ROW_KNOWN int
call_run(Run *run, const ExportedCall *call, unsigned *flags)
{
    Environment before;
    if (run->drive.told == 0 && call->known) environment_read(&before);
    int failed = call->call(run, call);
    if (run->drive.told == 0) {
        if (call->known) environment_end(&before);
        return failed;
    }
    unsigned raised = kernel_flags();
    if (raised) flags_clear();
    *flags = (raised & ~(unsigned)call->known) | (raised & call->reported) << 4;
    return failed;
}

static ROW_KNOWN int
step_run(KernelDrive *drive, const ExportedFunction *f, int64_t number)
{
    Run *run = (Run *)drive;
    const ExportedStep *step = &f->steps[number];
    unsigned flags = 0; /* they are clear between steps */
    int failed = 0;
    if (drive->told == 0 && step->kind == STEP_KERNEL && looks_now(run)) return 1;
    switch (step->kind) {
    case STEP_KERNEL: failed = kernel_run(run, step->kernel, &flags); break;
    case STEP_CHOOSE:
        run->data[step->to[0]] = run_place(run, step->from[!*run_place(run, step->condition)]);
        break;
    case STEP_CARRY: failed = carry_run(run, f, step); break;
    case STEP_MEASURE: failed = measure_run(run, f, step); break;
    case STEP_CALL: failed = call_run(run, step->call, &flags); break;
    default: break;
    }
    drive->raised |= flags;
    if ((drive->raised & drive->told && drive->step < 0) || failed) drive->step = number;
    return failed;
}

_Static_assert(_Generic(&warnings_take, __typeof__(((KernelDrive *)0)->stop): 1, default: 0),
               "what generated functions call is of their types");
