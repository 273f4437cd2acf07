/* What is checked before anything is done.

   A check is one function for two uses. Where a call begins it is inlined, with its row of a table
   as constants, and says only that the call is wrong. Then, and where only shapes are asked for, all
   checks are done by their tables, and `tell` what is wrong. */
#define WRONG(...) (tell ? fail(CALL_WRONG, __VA_ARGS__) : CALL_WRONG)

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

/* ---- how a tensor lies ---- */

/* Has it elements, in C order, and the lengths that are `known` (a bit per axis)?  Then its layout is
   set. If not, or if something is wrong, layout_read says more. */
static ROW_KNOWN int
layout_is_plain(Layout *layout, const DLTensor *tensor, ExportedDType dtype, int rank,
                unsigned known, const int64_t *lengths)
{
    const struct {
        int32_t ndim;
        DLDataType dtype;
    } wanted = {rank, {dtype.code, dtype.bits, 1}};
    const int64_t *stride = tensor->strides;
    int64_t count = 1;
    int aligned_to = dtype.code == 5 ? dtype.bytes / 2 : dtype.bytes; /* complex: as its parts */
    if (memcmp(&tensor->ndim, &wanted, sizeof wanted) != 0 || tensor->device.device_type != 1 ||
        (rank > 0 && tensor->shape == NULL) || tensor->data == NULL || tensor->byte_offset > FAR)
        return 0;
#pragma GCC unroll 8
    for (int i = rank; i-- > 0;) {
        int64_t length = known >> i & 1 ? lengths[i] : tensor->shape[i];
        if (known >> i & 1 ? tensor->shape[i] != length : (uint64_t)length > FAR) return 0;
        if (stride != NULL && stride[i] != count) return 0;
        layout->stride[i] = count * dtype.bytes;
        if (__builtin_mul_overflow(count, length, &count)) return 0;
    }
    layout->data = (char *)tensor->data + tensor->byte_offset;
    layout->low = layout->data;
    layout->high = layout->data + count * dtype.bytes;
    layout->compact = 1;
    return count > 0 && count <= FAR / dtype.bytes &&
           !((uintptr_t)layout->data & (uintptr_t)(aligned_to - 1));
}

/* Reads how it lies, and checks that it can be read. */
static __attribute__((noinline)) int
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
    if (tensor->byte_offset > FAR)
        return fail(CALL_WRONG, "%s has a byte_offset of %llu", told(name, number),
                    (unsigned long long)tensor->byte_offset);
    int64_t bytes = dtype.bytes, below = 0, above = dtype.bytes;
    layout->data = (char *)tensor->data + tensor->byte_offset;
    layout->compact = 1;
    int empty = 0;
    for (int i = rank; i-- > 0;) {
        int64_t length = tensor->shape[i], reach;
        int64_t step = tensor->strides != NULL ? tensor->strides[i] : 0;
        if (length < 0 || is_far(length))
            return fail(CALL_WRONG, "%s has a length of %lld", told(name, number), (long long)length);
        if (is_far(step))
            return fail(CALL_WRONG, "%s has a stride of %lld", told(name, number), (long long)step);
        layout->stride[i] = tensor->strides != NULL ? step * dtype.bytes : bytes;
        empty |= length == 0;
        if (length <= 1) continue;
        layout->compact &= layout->stride[i] == bytes;
        if (__builtin_mul_overflow(layout->stride[i], length - 1, &reach) || is_far(reach) ||
            __builtin_mul_overflow(bytes, length, &bytes) || is_far(bytes))
            return fail(CALL_WRONG, "%s has more elements than memory can have", told(name, number));
        *(reach < 0 ? &below : &above) += reach;
    }
    layout->low = layout->high = NULL; /* it shares memory with nothing */
    if (empty) return CALL_DONE;
    if (tensor->data == NULL) return fail(CALL_WRONG, "%s has no data: NULL", told(name, number));
    int aligned_to = dtype.code == 5 ? dtype.bytes / 2 : dtype.bytes; /* complex: as its parts */
    if ((uintptr_t)layout->data & (uintptr_t)(aligned_to - 1))
        return fail(CALL_WRONG, "%s is not aligned", told(name, number));
    layout->low = layout->data + below;
    layout->high = layout->data + above;
    return CALL_DONE;
}

/* Axes of one element lie anyhow, and arrays that have none. */
static __attribute__((noinline)) int
check_strides(const DLTensor *tensor, const ExportedArgument *a, const Layout *layout)
{
    static const char *const orders[] = {"as at export", "in C order", "in Fortran's order"};
    int64_t bytes = a->dtype.bytes;
    if (layout->low == layout->high) return CALL_DONE;
    for (int n = 0; n < a->rank; n++) {
        int i = a->order == ORDER_FORTRAN ? n : a->rank - 1 - n;
        int64_t wanted = a->order != ORDER_ANY        ? bytes
                         : a->strided >> i & 1 ? a->stride[i]
                                               : layout->stride[i];
        if (tensor->shape[i] > 1 && layout->stride[i] != wanted)
            return fail(CALL_WRONG, "argument %s is not %s: its stride along axis %d is %lld elements, "
                                    "not %lld",
                        a->name, orders[a->order], i, (long long)(layout->stride[i] / a->dtype.bytes),
                        (long long)(wanted / a->dtype.bytes));
        bytes *= tensor->shape[i];
    }
    return CALL_DONE;
}

/* Elements at one address would be written twice. */
static __attribute__((noinline)) int
meets_itself(const DLTensor *tensor, const Layout *layout)
{
    const int64_t *stride = layout->stride;
    int64_t reach = tensor->dtype.bits / 8;
    int done = 0;
    if (layout->low == layout->high) return 0;
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

static ROW_KNOWN int
share_memory(const Layout *a, const Layout *b)
{
    return (a->low < b->high) & (b->low < a->high);
}

/* ---- arguments ---- */

static ROW_KNOWN int
check_argument(const DLTensor *tensor, const ExportedArgument *a, Layout *layout, int tell)
{
    int plain = !a->strided && a->order != ORDER_FORTRAN &&
                layout_is_plain(layout, tensor, a->dtype, a->rank, a->fixed, a->length);
    if (!plain) {
        int status = layout_read(layout, tensor, a->name, 0, a->dtype, a->rank);
        if (status != CALL_DONE) return status;
    }
#pragma GCC unroll 8
    for (int i = 0; i < a->rank; i++) {
        if (!plain && a->fixed >> i & 1 && tensor->shape[i] != a->length[i])
            return WRONG("argument %s has the length %lld along axis %d, not %lld", a->name,
                         (long long)tensor->shape[i], i, (long long)a->length[i]);
        if (a->least >> i & 1 && tensor->shape[i] < a->length[i])
            return WRONG("argument %s has the length %lld along axis %d, not %lld at least", a->name,
                         (long long)tensor->shape[i], i, (long long)a->length[i]);
    }
    if (plain || !(a->strided || a->order == ORDER_FORTRAN || (a->order == ORDER_C && !layout->compact)))
        return CALL_DONE;
    return check_strides(tensor, a, layout);
}

static ROW_KNOWN int64_t
number_of(const DLTensor *tensor)
{
    const char *data = (const char *)tensor->data + tensor->byte_offset;
    int64_t number = 0;
    if (tensor->dtype.bits == 64)
        memcpy(&number, data, sizeof number);
    else
        memcpy(&number, data, tensor->dtype.bits / 8);
    return number;
}

/* The length, or the number. */
static ROW_KNOWN int64_t
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

static ROW_KNOWN int
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

/* A number and the range in which it is not. */
static int
tell_range(const char *what, const ExportedCheck *check, int64_t value)
{
    const int64_t open = INT64_MAX / 2; /* beyond is no bound */
    long long low = check->low, high = check->high;
    if (low == high) return fail(CALL_WRONG, "%s is %lld, not %lld", what, (long long)value, low);
    if (high >= open) return fail(CALL_WRONG, "%s is %lld, not %lld or more", what, (long long)value, low);
    if (low <= -open) return fail(CALL_WRONG, "%s is %lld, not %lld or less", what, (long long)value, high);
    return fail(CALL_WRONG, "%s is %lld, not one of %lld to %lld", what, (long long)value, low, high);
}

static __attribute__((noinline)) int
tell_relation(const ExportedFunction *f, const ExportedCheck *check, const DLTensor *in)
{
    const char *name = f->arguments[check->argument].name, *other = f->arguments[check->other].name;
    char what[120];
    switch (check->kind) {
    case CHECK_SAME_LENGTH:
        return fail(CALL_WRONG, "argument %s has the length %lld along axis %d, and %s %lld along axis %d: "
                                "these are equal",
                    name, (long long)in[check->argument].shape[check->axis], check->axis, other,
                    (long long)in[check->other].shape[check->other_axis], check->other_axis);
    case CHECK_LENGTH:
        snprintf(what, sizeof what, "the length of argument %s along axis %d", name, check->axis);
        return tell_range(what, check, in[check->argument].shape[check->axis]);
    case CHECK_NUMBER:
        snprintf(what, sizeof what, "argument %s", name);
        return tell_range(what, check, number_of(&in[check->argument]));
    case CHECK_APART: return fail(CALL_WRONG, "arguments %s and %s share memory", name, other);
    default: return fail(CALL_WRONG, "%s: the lengths of the arrays do not go together", f->name);
    }
}

static ROW_KNOWN int
check_relation(const ExportedFunction *f, const ExportedCheck *check, const DLTensor *in,
               const Layout *layout, int tell)
{
    if (check_holds(check, in, layout)) return CALL_DONE;
    return tell ? tell_relation(f, check, in) : CALL_WRONG;
}

static ROW_KNOWN int
check_written(const ExportedFunction *f, int written, const DLTensor *in, const Layout *layout,
              int tell)
{
    const char *name = f->arguments[written].name;
    if (!layout[written].compact && meets_itself(&in[written], &layout[written]))
        return WRONG("argument %s, which is written, has elements in the same place", name);
#pragma GCC unroll 16
    for (int i = 0; i < f->narguments; i++)
        if (i != written && share_memory(&layout[written], &layout[i]))
            return WRONG("argument %s, which is written, shares memory with %s", name,
                         f->arguments[i].name);
    return CALL_DONE;
}

/* All of them, by the tables. `layout` is set. */
static __attribute__((noinline)) int
check_arguments(const ExportedFunction *f, const DLTensor *in, int32_t nin, Layout *layout)
{
    int status = CALL_DONE;
    if (nin != f->narguments)
        return fail(CALL_WRONG, "%s takes %d arguments, not %d", f->name, (int)f->narguments,
                    (int)nin);
    if (in == NULL && nin > 0) return fail(CALL_WRONG, "the arguments of %s are NULL", f->name);
    for (int i = 0; i < nin && status == CALL_DONE; i++)
        status = check_argument(&in[i], &f->arguments[i], &layout[i], 1);
    for (int i = 0; i < f->nchecks && status == CALL_DONE; i++)
        status = check_relation(f, &f->checks[i], in, layout, 1);
    for (int i = 0; i < nin && status == CALL_DONE; i++)
        if (f->arguments[i].written) status = check_written(f, i, in, layout, 1);
    return status;
}

/* ---- results ---- */

/* `layout`: of the arguments, and of results behind them; that of this one is set. */
static ROW_KNOWN int
check_result(const Run *run, const ExportedFunction *f, int number, Layout *layout, int tell)
{
    const ExportedResult *r = &f->results[number];
    const DLTensor *out = &run->out[number];
    Layout *own = &layout[f->narguments + number];
    int64_t lengths[MOST_AXES];
#pragma GCC unroll 8
    for (int axis = 0; axis < r->rank; axis++) lengths[axis] = run_size(run, r->length[axis]);
    int plain = layout_is_plain(own, out, r->dtype, r->rank, (1u << r->rank) - 1, lengths);
    if (!plain) {
        int status = layout_read(own, out, NULL, number, r->dtype, r->rank);
        if (status != CALL_DONE) return status;
        if (!own->compact && meets_itself(out, own))
            return WRONG("result %d has elements in the same place", number);
    }
#pragma GCC unroll 8
    for (int axis = 0; axis < r->rank && !plain; axis++)
        if (out->shape[axis] != lengths[axis])
            return WRONG("result %d has the length %lld along axis %d, not %lld", number,
                         (long long)out->shape[axis], axis, (long long)lengths[axis]);
    if (r->when && out->strides != NULL)
        return WRONG("result %d, whose length the call tells, has strides", number);
#pragma GCC unroll 16
    for (int i = 0; i < f->narguments; i++)
        if (share_memory(own, &layout[i]))
            return WRONG("result %d shares memory with argument %s", number, f->arguments[i].name);
#pragma GCC unroll 16
    for (int i = 0; i < number; i++)
        if (share_memory(own, &layout[f->narguments + i]))
            return WRONG("results %d and %d share memory", i, number);
    return CALL_DONE;
}

/* All of them, by the tables. `layout` is set. */
static __attribute__((noinline)) int
check_results(const Run *run, int32_t nout, Layout *layout)
{
    const ExportedFunction *f = run->f;
    int status = CALL_DONE;
    if (nout != f->nresults)
        return fail(CALL_WRONG, "%s has %d results, not %d", f->name, (int)f->nresults, (int)nout);
    if (run->out == NULL && nout > 0) return fail(CALL_WRONG, "the results of %s are NULL", f->name);
    for (int i = 0; i < nout && status == CALL_DONE; i++)
        status = check_result(run, f, i, layout, 1);
    return status;
}
