/* What functions of NumPy that go through elements do on bare memory (bare.c), where that gives
   NumPy's bits in any order: medians, largest and smallest ones, running sums.  Where it would not,
   since zeros of both signs or several kinds of NaN are there, the call fails, and NumPy does it.
 */
#include "bare.h"

#include <float.h>
#include <math.h>

/* ---- the smallest but k ---- */

static void
swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

static void
sort_few(double *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        double value = x[i];
        int64_t at = i;
        for (; at > 0 && x[at - 1] > value; at--) x[at] = x[at - 1];
        x[at] = value;
    }
}

/* A Shell sort, with steps that Tokuda measured. */
static void
sort_many(double *x, int64_t n)
{
    static const int steps[] = {16001, 7112, 3161, 1405, 624, 277, 123, 55, 24, 10, 4, 1};
    for (int s = 0; s < COUNT_OF(steps); s++) {
        for (int64_t i = steps[s]; i < n; i++) {
            double value = x[i];
            int64_t at = i;
            for (; at >= steps[s] && x[at - steps[s]] > value; at -= steps[s])
                x[at] = x[at - steps[s]];
            x[at] = value;
        }
    }
}

/* Of three: the middle one goes to the beginning. */
static void
put_pivot(double *x, int64_t n)
{
    double *middle = x + n / 2, *last = x + n - 1;
    if (*middle > *last) swap(middle, last);
    if (*x > *last) swap(x, last);
    if (*x < *middle) swap(x, middle);
}

/* Afterwards x[k] is what it would be in order, and none before it is larger. */
static void
select_kth(double *x, int64_t n, int64_t k)
{
    enum { FEW = 12, ROUNDS = 64 };
    for (int round = 0; n > FEW && round < ROUNDS; round++) {
        int64_t low = 0, high = n;
        put_pivot(x, n);
        for (;;) {
            do low++;
            while (low < n && x[low] < x[0]);
            do high--;
            while (x[high] > x[0]);
            if (low >= high) break;
            swap(&x[low], &x[high]);
        }
        swap(&x[0], &x[high]);
        if (k == high) return;
        if (k < high) {
            n = high;
        } else {
            x += high + 1;
            k -= high + 1;
            n -= high + 1;
        }
    }
    (n > FEW ? sort_many : sort_few)(x, n);
}

/* ---- elements ---- */

static inline double
element(const char *at, DType dtype)
{
    double wide;
    float narrow;
    if (dtype == DT_F64) return memcpy(&wide, at, sizeof wide), wide;
    return memcpy(&narrow, at, sizeof narrow), (double)narrow;
}

typedef struct {
    const char *data;
    int64_t n[2], step[2];
    DType dtype;
} Elements;

static inline const char *
element_at(const Elements *e, int64_t i, int64_t j)
{
    return e->data + i * e->step[0] + j * e->step[1];
}

/* Gives the first one that is `like`, if all that are have its bits. */
static int
give_only(const Elements *e, bool (*like)(double), char *out)
{
    size_t item = dtype_size(e->dtype);
    const char *first = NULL;
    for (int64_t i = 0; i < e->n[0]; i++)
        for (int64_t j = 0; j < e->n[1]; j++) {
            const char *at = element_at(e, i, j);
            if (!like(element(at, e->dtype))) continue;
            if (first == NULL) first = at;
            if (memcmp(at, first, item) != 0) return 1;
        }
    if (first != NULL) memcpy(out, first, item);
    return first == NULL;
}

static bool
is_nan(double x)
{
    return x != x;
}

static bool
is_zero(double x)
{
    return x == 0;
}

static bool
has_sign(const char *at, DType dtype)
{
    return signbit(element(at, dtype)) != 0;
}

static void
put_float(double value, DType dtype, char *out)
{
    float narrow = dtype == DT_F32 ? (float)value : 0;
    if (dtype == DT_F64)
        memcpy(out, &value, sizeof value);
    else
        memcpy(out, &narrow, sizeof narrow);
}

/* ---- median ---- */

/* Copies them; is a NaN among them? */
static inline bool
copy_elements(const Elements *e, DType dtype, double *to)
{
    bool nan = false;
    for (int64_t i = 0; i < e->n[0]; i++)
        for (int64_t j = 0; j < e->n[1]; j++) {
            double x = element(element_at(e, i, j), dtype);
            nan |= is_nan(x);
            *to++ = x;
        }
    return nan;
}

static double
largest(const double *x, int64_t n)
{
    double found = x[0];
    for (int64_t i = 1; i < n; i++) found = x[i] > found ? x[i] : found;
    return found;
}

/* Half of a sum as small as this may be rounded, which NumPy tells of by other flags. */
static bool
is_tiny(double x, DType dtype)
{
    return fabs(x) < 4 * (dtype == DT_F64 ? DBL_MIN : (double)FLT_MIN) && x != 0;
}

/* NumPy lib/_function_base_impl.py, _median, of all elements. */
static int
call_median(void *Py_UNUSED(context), char *const *data, const int64_t *dimensions,
            const int64_t *strides, void *auxdata)
{
    DType dtype = (DType)(uintptr_t)auxdata;
    const Elements e = {data[0], {dimensions[0], dimensions[1]}, {strides[0], strides[1]}, dtype};
    double *x = (double *)(void *)data[2];
    int64_t n = e.n[0] * e.n[1];
    if (n == 0) return 1;
    bool nan = dtype == DT_F64 ? copy_elements(&e, DT_F64, x) : copy_elements(&e, DT_F32, x);
    if (nan) return give_only(&e, is_nan, data[1]);
    select_kth(x, n, n / 2);
    double high = x[n / 2], low = n % 2 == 0 ? largest(x, n / 2) : high, sum = high;
    if ((low == 0 || high == 0) && (give_only(&e, is_zero, data[1]) || has_sign(data[1], dtype)))
        return 1;
    if (n % 2 == 0 && is_tiny(low + high, dtype)) return 1;
    if (n % 2 == 0) sum = dtype == DT_F64 ? low + high : (double)(float)(low + high);
    put_float(n % 2 == 0 ? sum / 2 : sum, dtype, data[1]);
    return 0;
}

/* ---- largest and smallest ---- */

/* What makes max of min. */
static inline int
call_extreme(const Elements *e, DType dtype, double sign, char *out)
{
    double best = -INFINITY;
    bool nan = false;
    if (e->n[0] == 0 || e->n[1] == 0) return 1;
    for (int64_t i = 0; i < e->n[0]; i++)
        for (int64_t j = 0; j < e->n[1]; j++) {
            double x = sign * element(element_at(e, i, j), dtype);
            nan |= is_nan(x);
            best = x > best ? x : best;
        }
    if (nan) return 1; /* its sign depends on where it lies */
    if (best == 0) return give_only(e, is_zero, out);
    put_float(sign * best, dtype, out);
    return 0;
}

static int
call_max(void *Py_UNUSED(context), char *const *data, const int64_t *dimensions,
         const int64_t *strides, void *auxdata)
{
    DType dtype = (DType)(uintptr_t)auxdata;
    const Elements e = {data[0], {dimensions[0], dimensions[1]}, {strides[0], strides[1]}, dtype};
    return dtype == DT_F64 ? call_extreme(&e, DT_F64, 1, data[1])
                           : call_extreme(&e, DT_F32, 1, data[1]);
}

static int
call_min(void *Py_UNUSED(context), char *const *data, const int64_t *dimensions,
         const int64_t *strides, void *auxdata)
{
    DType dtype = (DType)(uintptr_t)auxdata;
    const Elements e = {data[0], {dimensions[0], dimensions[1]}, {strides[0], strides[1]}, dtype};
    return dtype == DT_F64 ? call_extreme(&e, DT_F64, -1, data[1])
                           : call_extreme(&e, DT_F32, -1, data[1]);
}

/* ---- running sums ---- */

#define SCAN(type)                                                                                 \
    do {                                                                                           \
        type sum = 0, x;                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            memcpy(&x, data[0] + i * step, sizeof x);                                              \
            sum = i == 0 ? x : (type)(sum + x);                                                    \
            memcpy(data[1] + i * out, &sum, sizeof sum);                                           \
        }                                                                                          \
    } while (0)

static int
call_scan(void *Py_UNUSED(context), char *const *data, const int64_t *dimensions,
          const int64_t *strides, void *auxdata)
{
    int64_t n = dimensions[0], step = strides[0], out = strides[1];
    switch ((DType)(uintptr_t)auxdata) {
    case DT_F64: SCAN(double); break;
    case DT_F32: SCAN(float); break;
    default: SCAN(uint64_t); break;
    }
    return 0;
}

Answer
bare_number_loop(BareNumber bare, DType dtype, UfuncLoop *out)
{
    bool real = dtype == DT_F64 || dtype == DT_F32;
    *out = (UfuncLoop){.auxdata = (void *)(uintptr_t)dtype};
    switch (bare) {
    case BARE_MEDIAN: out->call = call_median; break;
    case BARE_MAX: out->call = call_max; break;
    case BARE_MIN: out->call = call_min; break;
    case BARE_SCAN: out->call = call_scan; break;
    }
    return real || (bare == BARE_SCAN && dtype == DT_I64) ? ANSWER_YES : ANSWER_NO;
}
