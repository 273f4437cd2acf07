/* A call of an exported function: checks, sizes, memory, steps, results, writes.

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
buffer_place(Run *run, const ExportedBuffer *b, int number, char **data, char **block)
{
    data += number;
    *data = block[number] = NULL;
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
            return buffer_make(run, b, number);
        break;
    default: break;
    }
    return 0;
}

static void
result_copy(Run *run, int number)
{
    const ExportedResult *r = &run->f->results[number];
    DLTensor *out = &run->out[number];
    const Layout *to = &run->result[number];
    const char *data = run_place(run, r->place);
    int64_t length[MOST_AXES], from[MOST_AXES];
    if (data == to->data && !r->when) return;
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
    for (int i = f->ncommits; i-- > 0; flags = 0) {
        if (kernel_run(run, f->commits[i], &flags))
            return fail(CALL_RAISED, "%s:%d: an operation failed when its argument was written",
                        f->commits[i]->file, (int)f->commits[i]->line);
        warning_note(run, flags_told(flags), f->commits[i], NULL);
    }
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
    if (f->begin_buffers(run) < 0) return run->status;
    environment_begin(&before);
    int failed = f->drive(&run->drive);
    if (!failed) warnings_take(&run->drive, 0);
    int status = failed ? raised(run) : commit(run);
    if (status < 0)
        for (Log *log = run->logs; log != NULL; log = log->next) log_undo(log);
    environment_end(&before);
    return status;
}

/* Arena, slots and scratch. */
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
    run->arena = run_allocate(run, bytes + scratch);
    if (run->arena == NULL) return run->status;
    run->drive.scratch = run->arena + bytes;
    return run_steps(run);
}

int
exported_call(const ExportedFunction *f, const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout)
{
    Layout layout[f->narguments + f->nresults + 1];
    error_text[0] = 0;
    int status = check_arguments(f, in, nin, layout);
    if (status != CALL_DONE) return status;
    char *data[2 * f->nbuffers + 1];
    int64_t size[f->nsizes + 1];
    alignas(NUMBER_BYTES) char numbers[f->nnumbers * NUMBER_BYTES + 1];
    alignas(ALIGNMENT) char frame[FRAME_BYTES];
    memset(numbers, 0, sizeof numbers);
    Run run = {.f = f,
               .in = in,
               .out = out,
               .argument = layout,
               .result = layout + f->narguments,
               .data = data,
               .block = data + f->nbuffers,
               .size = size,
               .numbers = numbers,
               .frame = frame,
               .frame_end = frame + sizeof frame,
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
    f->begin_sizes(&run);
    status = check_results(&run, nout, layout + f->narguments);
    if (status == CALL_DONE) status = run_memory(&run);
    run_release(&run);
    return status;
}

int
exported_shapes(const ExportedFunction *f, const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout)
{
    Layout layout[f->narguments + f->nresults + 1];
    error_text[0] = 0;
    int status = check_arguments(f, in, nin, layout);
    if (status != CALL_DONE) return status;
    if (nout != f->nresults)
        return fail(CALL_WRONG, "%s has %d results, not %d", f->name, (int)f->nresults, (int)nout);
    int64_t size[f->nsizes + 1];
    Run run = {.f = f, .in = in, .argument = layout, .size = size};
    f->begin_sizes(&run);
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
