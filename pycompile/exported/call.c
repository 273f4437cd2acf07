/* A call of an exported function: checks, sizes, memory, steps, results, writes.  csrc/export/ writes
   the function that does them, in which the rows of its tables are constants.

   Nothing that the caller can see changes before all that can fail is done, but for the memory of
   results.  State of a call is on the stack or from the allocator, so that calls of several threads
   share the pool alone. */

/* Of the sizes a and b, or of the call.  Of an int that only the run tells: the most that it can be. */
static ROW_KNOWN int64_t
size_find(const Run *run, const ExportedSize *size, int64_t a, int64_t b)
{
    switch (size->kind) {
    case SIZE_CONST: return size->value;
    case SIZE_DIM: return size_from(size, run->in);
    case SIZE_STRIDE: return run->argument[size->a].stride[size->b];
    case SIZE_NUMBER: return size->b < 0 ? size->value : b;
    default: return size_apply(size->kind, a, b);
    }
}

/* All of them, by the table. */
static void
sizes_find(Run *run)
{
    int64_t *size = run->size;
    for (int i = 0; i < run->f->nsizes; i++) {
        const ExportedSize *row = &run->f->sizes[i];
        int of_sizes = row->kind >= SIZE_ADD, of_one = row->kind == SIZE_NUMBER && row->b >= 0;
        size[i] = size_find(run, row, of_sizes ? size[row->a] : 0,
                            of_sizes || of_one ? size[row->b] : 0);
    }
}

static ROW_KNOWN int
counts_differ(const ExportedFunction *f, const DLTensor *in, int32_t nin, const DLTensor *out,
              int32_t nout)
{
    error_clear();
    return nin != f->narguments || nout != f->nresults || (nin > 0 && in == NULL) ||
           (nout > 0 && out == NULL);
}

static ROW_KNOWN void
run_begin(Run *run, const ExportedFunction *f, const DLTensor *in, DLTensor *out,
          const Layout *layout, char **data, char **block, int64_t *size, char *numbers, char *frame)
{
    KernelDrive *drive = &run->drive;
    run->f = f;
    run->in = in, run->out = out;
    run->argument = layout, run->result = layout + f->narguments;
    run->data = data, run->block = block;
    run->size = size, run->numbers = numbers;
    run->frame = frame, run->frame_end = frame + FRAME_BYTES;
    run->blocks = NULL;
    run->logs = run->spare = NULL;
    run->warned = 0, run->warned_kernel = NULL, run->warned_call = NULL;
    run->status = CALL_DONE, run->stops = 0;
    drive->data = data, drive->size = size;
    drive->grain = f->grains, drive->loop = f->loops;
    drive->raised = 0, drive->told = TOLD_EACH, drive->step = -1;
    drive->clear = flags_clear, drive->read = USES_X87 ? flags_read : kernel_flags;
    drive->stop = warnings_take, drive->plan = f->plan;
}

/* Is the result's memory as the buffer's steps need it? */
static ROW_KNOWN int
result_is_place(const Run *run, const ExportedBuffer *b)
{
    const DLTensor *out = &run->out[b->placed - 1];
    const int64_t *stride = run->result[b->placed - 1].stride;
#pragma GCC unroll 8
    for (int i = 0; i < b->rank; i++)
        if (out->shape[i] > 1 && stride[i] != run_size(run, b->stride[i])) return 0;
    return 1;
}

static ROW_KNOWN int
buffer_place(Run *run, const ExportedFunction *f, const ExportedBuffer *b, int number)
{
    char **data = &run->data[number];
    if (f->again) run->block[number] = NULL;
    switch (b->kind) {
    case OF_ARGUMENT: *data = run->argument[b->index].data; break;
    case OF_CONSTANT: *data = (char *)(uintptr_t)b->constant + b->at; break;
    case OF_ARENA: *data = run->arena + (b->slot > 0 ? run->slot[b->slot - 1] : b->at); break;
    case OF_NUMBER: *data = run->numbers + b->index * NUMBER_BYTES; break;
    case OF_LENGTH: *data = (char *)&run->in[b->index].shape[b->at]; break; /* of the axis b->at */
    case OF_RESULT:
        if (b->placed && result_is_place(run, b))
            *data = run->result[b->placed - 1].data;
        else if (!b->pooled)
            return buffer_begin(run, f, b, number);
        else
            *data = NULL;
        break;
    default: *data = NULL; break;
    }
    return 0;
}

static __attribute__((noinline)) void
result_copy(Run *run, int number)
{
    const ExportedResult *r = &run->f->results[number];
    DLTensor *out = &run->out[number];
    const Layout *to = &run->result[number];
    const char *data = run_place(run, r->place);
    int64_t length[MOST_AXES], from[MOST_AXES];
    for (int i = 0; i < r->rank; i++) {
        length[i] = run_size(run, r->length[i]);
        from[i] = r->stride != NULL ? run_size(run, r->stride[i]) : 0;
    }
    if (r->stride == NULL) compact_strides(r->rank, length, r->dtype.bytes, from);
    int64_t stride[MOST_AXES];
    memcpy(stride, to->stride, sizeof stride);
    if (r->when) { /* it is compact, whatever the call made of its shape */
        compact_strides(r->rank, length, r->dtype.bytes, stride);
        memcpy(out->shape, length, (size_t)r->rank * sizeof *length);
    }
    if (data == to->data || elements(r->rank, length) == 0) return;
    copy_axes(to->data, stride, data, from, r->rank, length, r->dtype.bytes);
}

/* It may be where it has to be. */
static ROW_KNOWN void
result_put(Run *run, const ExportedResult *r, int number)
{
    const char *data = run_place(run, r->place);
    if (r->rank == 0)
        memcpy(run->result[number].data, data, r->dtype.bytes);
    else if (!r->when && data == run->result[number].data)
        return;
    else if (!r->when && r->compact && run->result[number].compact)
        memcpy(run->result[number].data, data,
               (size_t)(run->result[number].high - run->result[number].low));
    else
        result_copy(run, number);
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
    char *data = run->argument[w->argument].data + run_size(run, w->offset);
    if (kept != NULL) compact_strides(w->rank, length, w->dtype.bytes, from);
    copy_axes(data, to, kept != NULL ? kept : run_place(run, w->place), from, w->rank, length,
              w->dtype.bytes);
}

/* All that can fail is done when the first argument is written. */
static __attribute__((noinline)) int
arguments_write(Run *run)
{
    const ExportedFunction *f = run->f;
    char *kept[f->nwrites + 1];
    unsigned flags = 0;
    for (int i = 0; i < f->nwrites; i++)
        if (write_read(run, &f->writes[i], &kept[i]) < 0) return run->status;
    for (int i = 0; i < f->nresults; i++)
        if (!f->results[i].done) result_put(run, &f->results[i], i);
    for (int i = f->ncommits; i-- > 0; flags = 0) {
        if (kernel_run(run, f->commits[i], &flags))
            return fail(CALL_RAISED, "%s:%d: an operation failed when its argument was written",
                        f->commits[i]->file, (int)f->commits[i]->line);
        warning_note(run, flags_told(flags), f->commits[i], NULL);
    }
    for (int i = 0; i < f->nwrites; i++) write_put(run, &f->writes[i], kept[i]);
    return CALL_DONE;
}

static ROW_KNOWN int
commit(Run *run, const ExportedFunction *f)
{
    int writes = f->nwrites + f->ncommits > 0;
    int status = writes ? arguments_write(run) : CALL_DONE;
    if (status != CALL_DONE) return status;
#pragma GCC unroll 16
    for (int i = 0; i < f->nresults; i++)
        if (!writes || f->results[i].done) result_put(run, &f->results[i], i);
    return run->warned ? warn(run) : CALL_DONE;
}

/* Arena, slots and scratch. */
static ROW_KNOWN int
memory_begin(Run *run, const ExportedFunction *f, int64_t *slot)
{
    int64_t bytes = f->arena, scratch = f->scratch;
    for (int i = 0; i < f->nslots; i++) {
        int64_t own = run->size[f->slots[i]];
        if (own < 0 || own >= FAR)
            return run->status = fail(CALL_MEMORY, "an array of %lld bytes", (long long)own);
        slot[i] = bytes;
        bytes += (own + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    for (int i = 0; i < f->nrows; i++) {
        int64_t own = f->rows[i]->scratch +
                      f->rows[i]->scratch_each * run_size(run, f->rows[i]->scratch_row);
        if (own > scratch) scratch = own;
    }
    run->slot = slot;
    run->arena = run_allocate(run, bytes + scratch);
    if (run->arena == NULL) return run->status;
    run->drive.scratch = run->arena + bytes;
    return CALL_DONE;
}

/* So few bytes that the call is made again, where a flag is up, to find the step that raised it. */
static ROW_KNOWN int
is_small(const Run *run, const ExportedFunction *f)
{
    int64_t bytes = 0;
#pragma GCC unroll 16
    for (int i = 0; i < f->narguments + f->nresults; i++)
        bytes += run->argument[i].high - run->argument[i].low;
    return bytes <= 1 << 14;
}

/* All steps and what comes behind them; the call's end.  Where flags are not looked at behind `each`
   step, and one is up, nothing that the caller can see has changed. */
static ROW_KNOWN int
call_end(Run *run, const ExportedFunction *f, int each)
{
    Environment before;
    if (f->once && !each && is_small(run, f)) run->drive.told = 0;
    environment_begin(&before);
    int failed = f->drive(&run->drive), status;
    if (f->once && !failed && run->drive.told == 0 && flags_are_up(run)) run->status = CALL_AGAIN;
    if (f->once && run->status == CALL_AGAIN)
        status = CALL_AGAIN;
    else {
        if (!failed && run->drive.raised) warnings_take(&run->drive);
        status = failed ? raised(run) : commit(run, f);
    }
    if (status < 0)
        for (Log *log = run->logs; log != NULL; log = log->next) log_undo(log);
    environment_end(&before);
    if (run->blocks != NULL) run_release(run);
    return status;
}

/* There is no memory. */
static __attribute__((noinline)) int
call_give_up(Run *run)
{
    run_release(run);
    return run->status;
}

/* What is wrong with the call: all checks again, by their tables. */
static __attribute__((noinline)) int
call_refuse(const ExportedFunction *f, const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout)
{
    Layout layout[f->narguments + f->nresults + 1];
    int64_t size[f->nsizes + 1];
    Run run = {.f = f, .in = in, .out = out, .argument = layout, .size = size};
    int status = check_arguments(f, in, nin, layout);
    if (status != CALL_DONE) return status;
    sizes_find(&run);
    return check_results(&run, nout, layout);
}

int
exported_shapes(const ExportedFunction *f, const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout)
{
    Layout layout[f->narguments + f->nresults + 1];
    error_clear();
    int status = check_arguments(f, in, nin, layout);
    if (status != CALL_DONE) return status;
    if (nout != f->nresults)
        return fail(CALL_WRONG, "%s has %d results, not %d", f->name, (int)f->nresults, (int)nout);
    int64_t size[f->nsizes + 1];
    Run run = {.f = f, .in = in, .argument = layout, .size = size};
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

const char *
exported_error(void)
{
    return error_text;
}

void
exported_set_threads(int count)
{
    threads_set(count);
}

void
exported_set_allocator(void *(*take)(size_t, void *), void (*give)(void *, void *), void *context)
{
    allocate = take;
    release = give;
    allocator = context;
}
