/* NumPy's functions that an exported function may call: csrc/export/calls.c names them. */

/* A function for each line along an axis. */
typedef void (*LineFn)(const char *from, int64_t step, int64_t count, char *to, int64_t to_step);

/* The axes but the call's, outermost first. */
static void
lines(LineFn line, const ExportedCall *call, const Run *run, const char *from, char *to, int axis,
      int reduces)
{
    const ExportedOperand *a = &call->array, *r = &call->result;
    if (axis == call->axis) axis++;
    if (axis >= a->rank) {
        line(from, run_size(run, a->stride[call->axis]), run_size(run, a->length[call->axis]), to,
             reduces ? 0 : run_size(run, r->stride[call->axis]));
        return;
    }
    int at = reduces && axis > call->axis ? axis - 1 : axis;
    for (int64_t i = 0; i < run_size(run, a->length[axis]); i++)
        lines(line, call, run, from + i * run_size(run, a->stride[axis]),
              to + i * run_size(run, r->stride[at]), axis + 1, reduces);
}

/* The first of equal elements, and the first NaN. */
#define ARG(NAME, NAME_T, T, BETTER)                                                               \
    static void arg##NAME##_line_##NAME_T(const char *from, int64_t step, int64_t count, char *to, \
                                          int64_t to_step)                                         \
    {                                                                                              \
        int64_t best = 0;                                                                          \
        (void)to_step;                                                                             \
        T most = *(const T *)from;                                                                 \
        for (int64_t i = 1; i < count && most == most; i++) {                                      \
            T each = *(const T *)(from + i * step);                                                \
            if (each BETTER most || each != each) {                                                \
                best = i;                                                                          \
                most = each;                                                                       \
            }                                                                                      \
        }                                                                                          \
        memcpy(to, &best, sizeof best);                                                            \
    }                                                                                              \
    static __attribute__((unused)) int call_arg##NAME##_##NAME_T(Run *run,                         \
                                                                 const ExportedCall *call)         \
    {                                                                                              \
        if (run_size(run, call->array.length[call->axis]) == 0)                                    \
            return -1;                                                                             \
        lines(arg##NAME##_line_##NAME_T, call, run, run_place(run, call->array.place),             \
              run->data[call->to], 0, 1);                                                          \
        return 0;                                                                                  \
    }
#define ACCUMULATE(NAME, NAME_T, T, NEXT)                                                          \
    static void accumulate_##NAME##_line_##NAME_T(const char *from, int64_t step, int64_t count,   \
                                                  char *to, int64_t to_step)                       \
    {                                                                                              \
        if (count == 0) return;                                                                    \
        T a = *(const T *)from;                                                                    \
        *(T *)to = a;                                                                              \
        for (int64_t i = 1; i < count; i++) {                                                      \
            T b = *(const T *)(from + i * step);                                                   \
            a = NEXT;                                                                              \
            *(T *)(to + i * to_step) = a;                                                          \
        }                                                                                          \
    }                                                                                              \
    static __attribute__((unused)) int call_accumulate_##NAME##_##NAME_T(Run *run,                 \
                                                                         const ExportedCall *call) \
    {                                                                                              \
        lines(accumulate_##NAME##_line_##NAME_T, call, run, run_place(run, call->array.place),     \
              run->data[call->to], 0, 0);                                                          \
        return 0;                                                                                  \
    }
/* Where a key belongs in an array that is in order: before its equals, or behind them. */
#define SEARCH(SIDE, NAME_T, T, IS_BEFORE)                                                         \
    static void search_##SIDE##_##NAME_T(const Run *run, const ExportedCall *call,                 \
                                         const char *keys, char *to, int axis)                     \
    {                                                                                              \
        const ExportedOperand *keyed = &call->other, *r = &call->result;                           \
        if (axis < keyed->rank) {                                                                  \
            for (int64_t i = 0; i < run_size(run, keyed->length[axis]); i++)                       \
                search_##SIDE##_##NAME_T(run, call, keys + i * run_size(run, keyed->stride[axis]), \
                                         to + i * run_size(run, r->stride[axis]), axis + 1);       \
            return;                                                                                \
        }                                                                                          \
        const char *array = run_place(run, call->array.place);                                     \
        int64_t step = run_size(run, call->array.stride[0]), low = 0;                              \
        for (int64_t high = run_size(run, call->array.length[0]); low < high;) {                   \
            int64_t middle = low + (high - low) / 2;                                               \
            T a = *(const T *)(array + middle * step), b = *(const T *)keys;                       \
            if (IS_BEFORE)                                                                         \
                low = middle + 1;                                                                  \
            else                                                                                   \
                high = middle;                                                                     \
        }                                                                                          \
        memcpy(to, &low, sizeof low);                                                              \
    }                                                                                              \
    static __attribute__((unused)) int call_search_##SIDE##_##NAME_T(Run *run,                     \
                                                                     const ExportedCall *call)     \
    {                                                                                              \
        search_##SIDE##_##NAME_T(run, call, run_place(run, call->other.place),                     \
                                 run->data[call->to], 0);                                          \
        return 0;                                                                                  \
    }
/* Introsort (Musser 1997): a run that is split badly too often is made a heap, of the largest in
   front.  Ints that are equal are the same. */
#define SWAP(T, A, B)                                                                              \
    do {                                                                                           \
        T swapped = *(T *)(A);                                                                     \
        *(T *)(A) = *(T *)(B);                                                                     \
        *(T *)(B) = swapped;                                                                       \
    } while (0)
#define SORT(NAME_T, T)                                                                            \
    static void sift_##NAME_T(char *to, int64_t step, int64_t at, int64_t count)                   \
    {                                                                                              \
        T a = *(T *)(to + at * step);                                                              \
        for (int64_t below; (below = 2 * at + 1) < count; at = below) {                            \
            if (below + 1 < count &&                                                               \
                *(T *)(to + below * step) < *(T *)(to + (below + 1) * step))                       \
                below++;                                                                           \
            if (*(T *)(to + below * step) <= a) break;                                             \
            *(T *)(to + at * step) = *(T *)(to + below * step);                                    \
        }                                                                                          \
        *(T *)(to + at * step) = a;                                                                \
    }                                                                                              \
    static void heap_sort_##NAME_T(char *to, int64_t step, int64_t count)                          \
    {                                                                                              \
        for (int64_t i = count / 2; i-- > 0;) sift_##NAME_T(to, step, i, count);                   \
        for (int64_t left = count; left-- > 1;) {                                                  \
            SWAP(T, to, to + left * step);                                                         \
            sift_##NAME_T(to, step, 0, left);                                                      \
        }                                                                                          \
    }                                                                                              \
    static void insertion_sort_##NAME_T(char *first, char *last, int64_t step)                     \
    {                                                                                              \
        for (char *i = first + step; i <= last; i += step) {                                       \
            T a = *(T *)i;                                                                         \
            char *j = i;                                                                           \
            for (; j > first && a < *(T *)(j - step); j -= step) *(T *)j = *(T *)(j - step);       \
            *(T *)j = a;                                                                           \
        }                                                                                          \
    }                                                                                              \
    static char *split_##NAME_T(char *first, char *last, int64_t step)                             \
    {                                                                                              \
        char *middle = first + (last - first) / step / 2 * step, *i = first, *j = last - step;     \
        if (*(T *)middle < *(T *)first) SWAP(T, middle, first);                                    \
        if (*(T *)last < *(T *)middle) SWAP(T, last, middle);                                      \
        if (*(T *)middle < *(T *)first) SWAP(T, middle, first);                                    \
        T pivot = *(T *)middle;                                                                    \
        SWAP(T, middle, j);                                                                        \
        for (;;) {                                                                                 \
            do i += step; while (*(T *)i < pivot);                                                 \
            do j -= step; while (pivot < *(T *)j);                                                 \
            if (i >= j) break;                                                                     \
            SWAP(T, i, j);                                                                         \
        }                                                                                          \
        SWAP(T, i, last - step);                                                                   \
        return i;                                                                                  \
    }                                                                                              \
    static void sort_between_##NAME_T(char *first, char *last, int64_t step, int splits)           \
    {                                                                                              \
        while (last - first > 16 * step) {                                                         \
            if (splits-- == 0) {                                                                   \
                heap_sort_##NAME_T(first, step, (last - first) / step + 1);                        \
                return;                                                                            \
            }                                                                                      \
            char *pivot = split_##NAME_T(first, last, step);                                       \
            if (pivot - first < last - pivot) {                                                    \
                sort_between_##NAME_T(first, pivot - step, step, splits);                          \
                first = pivot + step;                                                              \
            } else {                                                                               \
                sort_between_##NAME_T(pivot + step, last, step, splits);                           \
                last = pivot - step;                                                               \
            }                                                                                      \
        }                                                                                          \
        insertion_sort_##NAME_T(first, last, step);                                                \
    }                                                                                              \
    static void sort_line_##NAME_T(const char *from, int64_t step, int64_t count, char *to,        \
                                   int64_t to_step)                                                \
    {                                                                                              \
        int splits = 2;                                                                            \
        for (int64_t i = 0; i < count; i++) *(T *)(to + i * to_step) = *(const T *)(from + i * step); \
        for (int64_t left = count; left > 1; left /= 2) splits += 2;                               \
        if (count > 1) sort_between_##NAME_T(to, to + (count - 1) * to_step, to_step, splits);     \
    }                                                                                              \
    static __attribute__((unused)) int call_sort_##NAME_T(Run *run, const ExportedCall *call)      \
    {                                                                                              \
        lines(sort_line_##NAME_T, call, run, run_place(run, call->array.place),                    \
              run->data[call->to], 0, 0);                                                          \
        return 0;                                                                                  \
    }
#define ARGS(NAME_T, T) ARG(max, NAME_T, T, >) ARG(min, NAME_T, T, <)
#define ALL(NAME_T, T)                                                                             \
    ARGS(NAME_T, T)                                                                                \
    SEARCH(left, NAME_T, T, a < b || (b != b && a == a))                                           \
    SEARCH(right, NAME_T, T, !(b < a || (a != a && b == b)))                                       \
    ACCUMULATE(add, NAME_T, T, (T)(a + b))                                                         \
    ACCUMULATE(multiply, NAME_T, T, (T)(a * b))
/* >= and <= would raise "invalid" for a NaN. */
#define FLOATS(NAME_T, T)                                                                          \
    ALL(NAME_T, T)                                                                                 \
    ACCUMULATE(maximum, NAME_T, T, __builtin_isgreaterequal(a, b) || a != a ? a : b)               \
    ACCUMULATE(minimum, NAME_T, T, __builtin_islessequal(a, b) || a != a ? a : b)
#define INTEGERS(NAME_T, T)                                                                        \
    ALL(NAME_T, T)                                                                                 \
    ACCUMULATE(maximum, NAME_T, T, a > b ? a : b)                                                  \
    ACCUMULATE(minimum, NAME_T, T, a < b ? a : b)                                                  \
    SORT(NAME_T, T)
FLOATS(f64, double)
FLOATS(f32, float)
INTEGERS(i8, int8_t)
INTEGERS(i16, int16_t)
INTEGERS(i32, int32_t)
INTEGERS(i64, int64_t)
INTEGERS(u8, uint8_t)
INTEGERS(u16, uint16_t)
INTEGERS(u32, uint32_t)
INTEGERS(u64, uint64_t)
ARGS(bool, uint8_t)
SORT(bool, uint8_t)

/* Of an array with one axis.  Each element is written where the next that is selected belongs: no
   branch is guessed. */
static ROW_KNOWN int64_t
select_each(char *to, const char *data, int64_t from, const char *chosen, int64_t step, int64_t n,
            size_t bytes)
{
    char *const begin = to;
    for (int64_t i = 0; i < n; i++, data += from, chosen += step) {
        memcpy(to, data, bytes);
        to += *chosen != 0 ? bytes : 0;
    }
    return (to - begin) / (int64_t)bytes;
}

/* array[mask], into the result's memory, which has room for all; what is selected is counted. */
static __attribute__((unused)) int
call_select(Run *run, const ExportedCall *call)
{
    const ExportedOperand *a = &call->array, *mask = &call->result;
    int64_t length[MOST_AXES], from[MOST_AXES], to[MOST_AXES], count = 0;
    for (int i = 0; i < a->rank; i++) {
        length[i] = run_size(run, a->length[i]);
        from[i] = run_size(run, a->stride[i]);
    }
    compact_strides(a->rank, length, a->dtype.bytes, to);
    const char *chosen = run_place(run, mask->place), *data = run_place(run, a->place);
    int64_t step = run_size(run, mask->stride[0]);
    char *begin = run->data[call->to];
    if (a->rank == 1 && a->dtype.bytes == 8)
        count = select_each(begin, data, from[0], chosen, step, length[0], 8);
    else if (a->rank == 1)
        count = select_each(begin, data, from[0], chosen, step, length[0], a->dtype.bytes);
    else
        for (int64_t i = 0; i < length[0]; i++)
            if (chosen[i * step])
                copy_axes(begin + count++ * to[0], to + 1, data + i * from[0], from + 1,
                          a->rank - 1, length + 1, a->dtype.bytes);
    run->size[call->number] = count;
    return 0;
}

static int64_t
int_at(const char *at, ExportedDType dtype)
{
    int64_t number = 0; /* the lower bytes come first */
    memcpy(&number, at, (size_t)dtype.bytes);
    int unused = 64 - 8 * dtype.bytes;
    return dtype.code == 0 ? (int64_t)((uint64_t)number << unused) >> unused : number;
}

/* array[index], from the index's axis `axis` on: rows of the array, which may count from its end. */
static int
take_rows(const Run *run, const ExportedCall *call, const char *index, char *to, int axis)
{
    const ExportedOperand *a = &call->array, *by = &call->other, *r = &call->result;
    if (axis < by->rank) {
        for (int64_t i = 0; i < run_size(run, by->length[axis]); i++)
            if (take_rows(run, call, index + i * run_size(run, by->stride[axis]),
                          to + i * run_size(run, r->stride[axis]), axis + 1) < 0)
                return -1;
        return 0;
    }
    int64_t at = int_at(index, by->dtype), count = run_size(run, a->length[0]);
    int64_t length[MOST_AXES], from[MOST_AXES], stride[MOST_AXES];
    if (at < -count || at >= count) return -1;
    for (int i = 1; i < a->rank; i++) {
        length[i] = run_size(run, a->length[i]);
        from[i] = run_size(run, a->stride[i]);
        stride[i] = run_size(run, r->stride[axis + i - 1]);
    }
    const char *row = run_place(run, a->place) + (at < 0 ? at + count : at) * run_size(run, a->stride[0]);
    copy_axes(to, stride + 1, row, from + 1, a->rank - 1, length + 1, a->dtype.bytes);
    return 0;
}

static __attribute__((unused)) int
call_take(Run *run, const ExportedCall *call)
{
    return take_rows(run, call, run_place(run, call->other.place), run->data[call->to], 0);
}
