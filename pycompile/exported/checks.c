/* What a status says, and what is checked before anything is done. */
/* ---- what a status says ---- */

static const struct {
    unsigned flag;
    const char *text;
} flag_texts[] = {{FLAG_DIVIDE, "divide by zero"},
                  {FLAG_OVERFLOW, "overflow"},
                  {FLAG_UNDERFLOW, "underflow"},
                  {FLAG_INVALID, "invalid value"}};

static int
may_divide(const char *operation)
{
    static const char *const names[] = {"divide", "floor_divide", "reciprocal", "power",
                                        "float_power", "log", "log2", "log10", "log1p", "arctanh",
                                        "remainder", "fmod", NULL};
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], operation) == 0) return 1;
    return 0;
}

/* "divide by zero encountered in divide (file.py:12)": where several operations of the kernel may
   have raised it, all are named. */
static int
warn(const Run *run)
{
    const ExportedKernel *kernel = run->warned_kernel;
    size_t at = 0, room = sizeof error_text;
    const char *file = run->warned_call ? run->warned_call->file : NULL;
    int line = file != NULL ? run->warned_call->line : 0;
    for (int i = 0; i < 4; i++) {
        if (!(run->warned & flag_texts[i].flag) || at >= room) continue;
        at += (size_t)snprintf(error_text + at, room - at, "%s%s encountered",
                               at > 0 ? "; " : "", flag_texts[i].text);
        const char *before = " in ";
        int lines[2] = {0, 0};
        for (const ExportedOrigin *o = kernel ? kernel->origins : NULL; o && o->operation; o++) {
            int named = 0;
            if (flag_texts[i].flag == FLAG_DIVIDE && !may_divide(o->operation)) continue;
            for (const ExportedOrigin *p = kernel->origins; p < o; p++)
                named |= strcmp(p->operation, o->operation) == 0;
            if (lines[0] == 0 || o->line < lines[0]) lines[0] = o->line;
            if (o->line > lines[1]) lines[1] = o->line;
            if (named || at >= room) continue;
            at += (size_t)snprintf(error_text + at, room - at, "%s%s", before, o->operation);
            before = " or ";
        }
        if (at < room && file != NULL)
            at += (size_t)snprintf(error_text + at, room - at, " in %s (%s:%d)",
                                   run->warned_call->operation, file, line);
        if (at < room && lines[0] > 0)
            at += (size_t)snprintf(error_text + at, room - at,
                                   lines[0] == lines[1] ? " (%s:%d)" : " (%s:%d-%d)", kernel->file,
                                   lines[0], lines[1]);
    }
    return CALL_WARNED;
}

static int
raised(const Run *run)
{
    if (run->status != CALL_DONE) return run->status; /* of memory */
    const ExportedStep *step = run->drive.step < 0 ? NULL : &run->f->steps[run->drive.step];
    const ExportedKernel *kernel = step != NULL ? step->kernel : NULL;
    if (step != NULL && step->call != NULL)
        return fail(CALL_RAISED, "%s:%d: what NumPy raises here, of an index out of bounds, an array without "
                                 "elements, or a matrix that is singular or not positive",
                    step->call->file, (int)step->call->line);
    return fail(CALL_RAISED,
                "%s:%d: what the program raises here: an exception, an index out of bounds, a "
                "division by zero or an int beyond 64 bits",
                kernel != NULL ? kernel->file : "?", kernel != NULL ? (int)kernel->line : 0);
}

/* ---- checks ---- */

/* "argument x", or where it has no name "result 3". */
static const char *
told(const char *argument, int result)
{
    static _Thread_local char text[80];
    if (argument != NULL)
        snprintf(text, sizeof text, "argument %s", argument);
    else
        snprintf(text, sizeof text, "result %d", result);
    return text;
}

/* Reads how the tensor lies, and checks that it can be read. */
static int
layout_read(Layout *layout, const DLTensor *tensor, const char *name, int number, ExportedDType dtype,
            int rank)
{
    if (tensor->ndim != rank)
        return fail(CALL_WRONG, "%s has %d axes, not %d", told(name, number), (int)tensor->ndim, rank);
    if (tensor->dtype.code != dtype.code || tensor->dtype.bits != dtype.bits ||
        tensor->dtype.lanes != 1)
        return fail(CALL_WRONG, "%s is of dtype (%d, %d, %d), not (%d, %d, 1)", told(name, number),
                    tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes, dtype.code,
                    dtype.bits);
    if (tensor->device.device_type != 1)
        return fail(CALL_WRONG, "%s is not in the host's memory", told(name, number));
    if (rank > 0 && tensor->shape == NULL)
        return fail(CALL_WRONG, "%s has no shape: NULL", told(name, number));
    int64_t bytes = dtype.bytes, below = 0, above = dtype.bytes;
    layout->data = (char *)tensor->data + tensor->byte_offset;
    layout->compact = 1;
    layout->empty = 0;
    for (int i = rank; i-- > 0;) {
        int64_t length = tensor->shape[i], reach;
        int64_t step = tensor->strides != NULL ? tensor->strides[i] : 0;
        if (length < 0 || is_far(length))
            return fail(CALL_WRONG, "%s has a length of %lld", told(name, number), (long long)length);
        if (is_far(step))
            return fail(CALL_WRONG, "%s has a stride of %lld", told(name, number), (long long)step);
        layout->stride[i] = tensor->strides != NULL ? step * dtype.bytes : bytes;
        layout->empty |= length == 0;
        if (length <= 1) continue;
        layout->compact &= layout->stride[i] == bytes;
        if (__builtin_mul_overflow(layout->stride[i], length - 1, &reach) || is_far(reach) ||
            __builtin_mul_overflow(bytes, length, &bytes) || is_far(bytes))
            return fail(CALL_WRONG, "%s has more elements than memory can have", told(name, number));
        *(reach < 0 ? &below : &above) += reach;
    }
    layout->low = layout->high = layout->data;
    if (layout->empty) return CALL_DONE;
    if (tensor->data == NULL) return fail(CALL_WRONG, "%s has no data: NULL", told(name, number));
    int aligned_to = dtype.code == 5 ? dtype.bytes / 2 : dtype.bytes; /* complex: as its parts */
    if ((uintptr_t)layout->data & (uintptr_t)(aligned_to - 1))
        return fail(CALL_WRONG, "%s is not aligned", told(name, number));
    layout->low += below;
    layout->high += above;
    return CALL_DONE;
}

/* Axes of one element lie anyhow. */
static int
check_strides(const DLTensor *tensor, const ExportedArgument *a, const Layout *layout)
{
    int64_t bytes = a->dtype.bytes;
    for (int i = a->rank; i-- > 0; bytes *= tensor->shape[i] > 0 ? tensor->shape[i] : 1)
        if (tensor->shape[i] > 1 &&
            ((a->compact && layout->stride[i] != bytes) ||
             (a->strided >> i & 1 && layout->stride[i] != a->stride[i])))
            return fail(CALL_WRONG, "argument %s lies in another way along axis %d: %lld bytes from "
                                    "one element to the next",
                        a->name, i, (long long)layout->stride[i]);
    return CALL_DONE;
}

static int
check_argument(const DLTensor *tensor, const ExportedArgument *a, Layout *layout)
{
    int status = layout_read(layout, tensor, a->name, 0, a->dtype, a->rank);
    if (status != CALL_DONE) return status;
    for (int i = 0; (a->fixed | a->least) >> i; i++) {
        if (a->fixed >> i & 1 && tensor->shape[i] != a->length[i])
            return fail(CALL_WRONG, "argument %s has the length %lld along axis %d, not %lld",
                        a->name, (long long)tensor->shape[i], i, (long long)a->length[i]);
        if (a->least >> i & 1 && tensor->shape[i] < a->length[i])
            return fail(CALL_WRONG, "argument %s has the length %lld along axis %d, not %lld at least",
                        a->name, (long long)tensor->shape[i], i, (long long)a->length[i]);
    }
    int lies = (!a->compact || layout->compact) && a->strided == 0;
    return lies ? CALL_DONE : check_strides(tensor, a, layout);
}

static int64_t
number_of(const DLTensor *tensor)
{
    int64_t number = 0;
    memcpy(&number, (const char *)tensor->data + tensor->byte_offset, tensor->dtype.bits / 8);
    return number;
}

/* The length, or the number. */
static int64_t
size_from(const ExportedSize *size, const DLTensor *in)
{
    return size->b < 0 ? number_of(&in[size->a]) : in[size->a].shape[size->b];
}

static int64_t
terms_value(const ExportedCheck *check, const DLTensor *in)
{
    int64_t stack[40];
    int at = 0;
    for (int i = 0; i < check->nterms; i++) {
        const ExportedSize *term = &check->terms[i];
        if (term->kind == SIZE_CONST)
            stack[at++] = term->value;
        else if (term->kind == SIZE_DIM)
            stack[at++] = size_from(term, in);
        else {
            at--;
            stack[at - 1] = size_apply(term->kind, stack[at - 1], stack[at]);
        }
    }
    return stack[0];
}

static int
share_memory(const Layout *a, const Layout *b)
{
    return a->low < b->high && b->low < a->high && !a->empty && !b->empty;
}

static int
check_holds(const ExportedCheck *check, const DLTensor *in, const Layout *layout)
{
    int64_t value;
    switch (check->kind) {
    case CHECK_SAME_LENGTH:
        return in[check->argument].shape[check->axis] == in[check->other].shape[check->other_axis];
    case CHECK_SIZES:
        value = terms_value(check, in);
        return check->low ? value == 0 : value >= 0;
    case CHECK_LENGTH:
        value = in[check->argument].shape[check->axis];
        return value >= check->low && value <= check->high;
    case CHECK_NUMBER:
        value = number_of(&in[check->argument]);
        return value >= check->low && value <= check->high;
    case CHECK_APART: return !share_memory(&layout[check->argument], &layout[check->other]);
    }
    return 0;
}

/* Elements at one address would be written twice. */
static int
meets_itself(const DLTensor *tensor, const Layout *layout)
{
    const int64_t *stride = layout->stride;
    int64_t reach = tensor->dtype.bits / 8;
    int done = 0;
    if (layout->compact || layout->empty) return 0;
    for (int n = 0; n < tensor->ndim; n++) { /* axes by their strides */
        int next = -1;
        for (int i = 0; i < tensor->ndim; i++)
            if (!(done >> i & 1) && (next < 0 || llabs(stride[i]) < llabs(stride[next]))) next = i;
        done |= 1 << next;
        if (tensor->shape[next] <= 1) continue;
        if (llabs(stride[next]) < reach) return 1;
        reach += (tensor->shape[next] - 1) * llabs(stride[next]);
    }
    return 0;
}

static int
check_written(const ExportedFunction *f, const DLTensor *in, const Layout *layout, int written)
{
    const char *name = f->arguments[written].name;
    if (meets_itself(&in[written], &layout[written]))
        return fail(CALL_WRONG, "argument %s, which is written, has elements in the same place", name);
    for (int i = 0; i < f->narguments; i++)
        if (i != written && share_memory(&layout[written], &layout[i]))
            return fail(CALL_WRONG, "argument %s, which is written, shares memory with %s", name,
                        f->arguments[i].name);
    return CALL_DONE;
}

/* `layout` is set. */
static int
check_arguments(const ExportedFunction *f, const DLTensor *in, int32_t nin, Layout *layout)
{
    if (nin != f->narguments)
        return fail(CALL_WRONG, "%s takes %d arguments, not %d", f->name, (int)f->narguments,
                    (int)nin);
    if (in == NULL && nin > 0) return fail(CALL_WRONG, "the arguments of %s are NULL", f->name);
    for (int i = 0; i < nin; i++) {
        int status = check_argument(&in[i], &f->arguments[i], &layout[i]);
        if (status != CALL_DONE) return status;
    }
    for (int i = 0; i < f->nchecks; i++) {
        const ExportedCheck *check = &f->checks[i];
        if (check_holds(check, in, layout)) continue;
        const char *name = f->arguments[check->argument].name;
        if (check->kind == CHECK_SAME_LENGTH || check->kind == CHECK_APART)
            return fail(CALL_WRONG, "%s and %s: %s", name, f->arguments[check->other].name,
                        check->text);
        return fail(CALL_WRONG, "%s: %s", check->kind == CHECK_SIZES ? f->name : name, check->text);
    }
    for (int i = 0; i < nin; i++) {
        int status = f->arguments[i].written ? check_written(f, in, layout, i) : CALL_DONE;
        if (status != CALL_DONE) return status;
    }
    return CALL_DONE;
}

static int
check_result(const Run *run, int number, Layout *layout)
{
    const ExportedFunction *f = run->f;
    const ExportedResult *r = &f->results[number];
    DLTensor *out = &run->out[number];
    int status = layout_read(layout, out, NULL, number, r->dtype, r->rank);
    if (status != CALL_DONE) return status;
    for (int axis = 0; axis < r->rank; axis++)
        if (out->shape[axis] != run_size(run, r->length[axis]))
            return fail(CALL_WRONG, "result %d has the length %lld along axis %d, not %lld", number,
                        (long long)out->shape[axis], axis,
                        (long long)run_size(run, r->length[axis]));
    if (meets_itself(out, layout))
        return fail(CALL_WRONG, "result %d has elements in the same place", number);
    if (r->when && out->strides != NULL)
        return fail(CALL_WRONG, "result %d, whose length the call tells, has strides", number);
    for (int i = 0; i < f->narguments; i++)
        if (share_memory(layout, &run->argument[i]))
            return fail(CALL_WRONG, "result %d shares memory with argument %s", number,
                        f->arguments[i].name);
    for (int i = 0; i < number; i++)
        if (share_memory(layout, &run->result[i]))
            return fail(CALL_WRONG, "results %d and %d share memory", i, number);
    return CALL_DONE;
}

/* `layout` is set. */
static int
check_results(const Run *run, int32_t nout, Layout *layout)
{
    const ExportedFunction *f = run->f;
    if (nout != f->nresults)
        return fail(CALL_WRONG, "%s has %d results, not %d", f->name, (int)f->nresults, (int)nout);
    if (run->out == NULL && nout > 0) return fail(CALL_WRONG, "the results of %s are NULL", f->name);
    for (int i = 0; i < nout; i++) {
        int status = check_result(run, i, &layout[i]);
        if (status != CALL_DONE) return status;
    }
    return CALL_DONE;
}
