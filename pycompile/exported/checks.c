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

static const char *
tensor_data(const DLTensor *tensor)
{
    return (const char *)tensor->data + tensor->byte_offset;
}

/* In bytes.  Those of a NULL are of C order. */
static void
tensor_strides(const DLTensor *tensor, int64_t bytes, int64_t *stride)
{
    if (tensor->strides == NULL)
        compact_strides(tensor->ndim, tensor->shape, bytes, stride);
    else
        for (int i = 0; i < tensor->ndim; i++) stride[i] = tensor->strides[i] * bytes;
}

static int64_t
tensor_stride(const DLTensor *tensor, int axis)
{
    int64_t bytes = tensor->dtype.bits / 8;
    if (tensor->strides != NULL) return tensor->strides[axis] * bytes;
    for (int i = tensor->ndim; --i > axis;) bytes *= tensor->shape[i] > 0 ? tensor->shape[i] : 1;
    return bytes;
}

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

static int
check_tensor(const DLTensor *tensor, const char *name, int number, ExportedDType dtype, int rank)
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
    int64_t bytes = dtype.bytes;
    for (int i = 0; i < rank; i++) {
        if (tensor->shape[i] < 0 || is_far(tensor->shape[i]))
            return fail(CALL_WRONG, "%s has a length of %lld", told(name, number),
                        (long long)tensor->shape[i]);
        if (tensor->strides != NULL && is_far(tensor->strides[i]))
            return fail(CALL_WRONG, "%s has a stride of %lld", told(name, number),
                        (long long)tensor->strides[i]);
        int64_t step = tensor->strides != NULL ? tensor->strides[i] : 1, reach;
        if (__builtin_mul_overflow(bytes, tensor->shape[i] > 0 ? tensor->shape[i] : 1, &bytes) ||
            is_far(bytes) ||
            (tensor->shape[i] > 1 &&
             (__builtin_mul_overflow(step, tensor->shape[i], &reach) || is_far(reach))))
            return fail(CALL_WRONG, "%s has more elements than memory can have", told(name, number));
    }
    if (elements(rank, tensor->shape) == 0) return CALL_DONE;
    if (tensor->data == NULL) return fail(CALL_WRONG, "%s has no data: NULL", told(name, number));
    int aligned_to = dtype.code == 5 ? dtype.bytes / 2 : dtype.bytes; /* complex: as its parts */
    if ((uintptr_t)tensor_data(tensor) % aligned_to != 0)
        return fail(CALL_WRONG, "%s is not aligned", told(name, number));
    return CALL_DONE;
}

static int
check_argument(const DLTensor *tensor, const ExportedArgument *a)
{
    int64_t stride[MOST_AXES], compact[MOST_AXES];
    int status = check_tensor(tensor, a->name, 0, a->dtype, a->rank);
    if (status != CALL_DONE) return status;
    for (int i = 0; i < a->rank; i++) {
        if (a->fixed >> i & 1 && tensor->shape[i] != a->length[i])
            return fail(CALL_WRONG, "argument %s has the length %lld along axis %d, not %lld",
                        a->name, (long long)tensor->shape[i], i, (long long)a->length[i]);
        if (a->least >> i & 1 && tensor->shape[i] < a->length[i])
            return fail(CALL_WRONG, "argument %s has the length %lld along axis %d, not %lld at least",
                        a->name, (long long)tensor->shape[i], i, (long long)a->length[i]);
    }
    if (tensor->strides == NULL && a->strided == 0) return CALL_DONE;
    tensor_strides(tensor, a->dtype.bytes, stride);
    compact_strides(a->rank, tensor->shape, a->dtype.bytes, compact);
    for (int i = 0; i < a->rank; i++) {
        if (tensor->shape[i] <= 1) continue;
        if ((a->compact && stride[i] != compact[i]) ||
            (a->strided >> i & 1 && stride[i] != a->stride[i]))
            return fail(CALL_WRONG, "argument %s lies in another way along axis %d: %lld bytes from "
                                    "one element to the next",
                        a->name, i, (long long)stride[i]);
    }
    return CALL_DONE;
}

static int64_t
number_of(const DLTensor *tensor)
{
    int64_t number = 0;
    memcpy(&number, tensor_data(tensor), tensor->dtype.bits / 8);
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

/* The bytes of a tensor, [low, high). */
typedef struct {
    const char *low, *high;
} Range;

static Range
tensor_range(const DLTensor *tensor)
{
    Range range;
    int64_t stride[MOST_AXES], bytes = tensor->dtype.bits / 8;
    tensor_strides(tensor, bytes, stride);
    extent(tensor_data(tensor), tensor->ndim, tensor->shape, stride, bytes, &range.low, &range.high);
    return range;
}

static int
ranges_meet(Range a, Range b)
{
    return a.low < b.high && b.low < a.high && a.low != a.high && b.low != b.high;
}

static int
tensors_overlap(const DLTensor *a, const DLTensor *b)
{
    return ranges_meet(tensor_range(a), tensor_range(b));
}

static int
check_holds(const ExportedCheck *check, const DLTensor *in)
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
    case CHECK_APART: return !tensors_overlap(&in[check->argument], &in[check->other]);
    }
    return 0;
}

/* Elements at one address would be written twice. */
static int
meets_itself(const DLTensor *tensor)
{
    int64_t stride[MOST_AXES], bytes = tensor->dtype.bits / 8, reach = bytes;
    int done = 0;
    tensor_strides(tensor, bytes, stride);
    if (elements(tensor->ndim, tensor->shape) == 0) return 0;
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
check_arguments(const ExportedFunction *f, const DLTensor *in, int32_t nin)
{
    if (nin != f->narguments)
        return fail(CALL_WRONG, "%s takes %d arguments, not %d", f->name, (int)f->narguments,
                    (int)nin);
    if (in == NULL && nin > 0) return fail(CALL_WRONG, "the arguments of %s are NULL", f->name);
    for (int i = 0; i < nin; i++) {
        int status = check_argument(&in[i], &f->arguments[i]);
        if (status != CALL_DONE) return status;
    }
    for (int i = 0; i < f->nchecks; i++) {
        const ExportedCheck *check = &f->checks[i];
        if (check_holds(check, in)) continue;
        const char *name = f->arguments[check->argument].name;
        if (check->kind == CHECK_SAME_LENGTH || check->kind == CHECK_APART)
            return fail(CALL_WRONG, "%s and %s: %s", name, f->arguments[check->other].name,
                        check->text);
        return fail(CALL_WRONG, "%s: %s", check->kind == CHECK_SIZES ? f->name : name, check->text);
    }
    for (int i = 0; i < nin; i++) {
        if (f->arguments[i].written && meets_itself(&in[i]))
            return fail(CALL_WRONG, "argument %s, which is written, has elements in the same place",
                        f->arguments[i].name);
        for (int k = 0; f->arguments[i].written && k < nin; k++)
            if (k != i && tensors_overlap(&in[i], &in[k]))
                return fail(CALL_WRONG, "argument %s, which is written, shares memory with %s",
                            f->arguments[i].name, f->arguments[k].name);
    }
    return CALL_DONE;
}

static int
check_results(const Run *run, int32_t nout)
{
    const ExportedFunction *f = run->f;
    Range taken[f->narguments + f->nresults + 1];
    if (nout != f->nresults)
        return fail(CALL_WRONG, "%s has %d results, not %d", f->name, (int)f->nresults, (int)nout);
    for (int i = 0; i < f->narguments; i++) taken[i] = tensor_range(&run->in[i]);
    if (run->out == NULL && nout > 0) return fail(CALL_WRONG, "the results of %s are NULL", f->name);
    for (int i = 0; i < nout; i++) {
        const ExportedResult *r = &f->results[i];
        DLTensor *out = &run->out[i];
        int status = check_tensor(out, NULL, i, r->dtype, r->rank);
        if (status != CALL_DONE) return status;
        for (int axis = 0; axis < r->rank; axis++)
            if (out->shape[axis] != run_size(run, r->length[axis]))
                return fail(CALL_WRONG, "result %d has the length %lld along axis %d, not %lld", i,
                            (long long)out->shape[axis], axis,
                            (long long)run_size(run, r->length[axis]));
        if (meets_itself(out))
            return fail(CALL_WRONG, "result %d has elements in the same place", i);
        if (r->when && out->strides != NULL)
            return fail(CALL_WRONG, "result %d, whose length the call tells, has strides", i);
        Range *own = &taken[f->narguments + i];
        *own = tensor_range(out);
        for (int k = 0; k < f->narguments; k++)
            if (ranges_meet(*own, taken[k]))
                return fail(CALL_WRONG, "result %d shares memory with argument %s", i,
                            f->arguments[k].name);
        for (int k = 0; k < i; k++)
            if (ranges_meet(*own, taken[f->narguments + k]))
                return fail(CALL_WRONG, "results %d and %d share memory", k, i);
    }
    return CALL_DONE;
}
