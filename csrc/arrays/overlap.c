/* Whether two arrays share memory, or the elements of one do.

   In general that is a bounded Diophantine problem, NP-hard in general (NumPy's
   common/mem_overlap.c).  Views that programs make of one array are mostly told apart by one
   period: x[::2] and x[1::2], the columns or blocks of a matrix, the channels of an image. */
#include "arrays.h"

#include <stdlib.h>

/* Modulo the period, the array's bytes lie in [0, width) from its lowest address on. */
static int64_t
width_within(const ArrayHeader *array, int64_t period)
{
    int64_t width = dtype_size(array->dtype);
    for (int axis = 0; axis < array->rank; axis++)
        if (array->stride[axis] % period != 0)
            width += (array->shape[axis] - 1) * llabs(array->stride[axis]);
    return width;
}

/* `ahead`: how far the lowest address of b is behind that of a. */
static bool
apart_by(const ArrayHeader *a, const ArrayHeader *b, int64_t ahead, int64_t period)
{
    int64_t gap = ahead % period;
    if (gap < 0) gap += period;
    return width_within(a, period) <= gap && width_within(b, period) <= period - gap;
}

bool
arrays_ranges_apart(const ArrayHeader *a, const ArrayHeader *b)
{
    const char *low_a, *high_a, *low_b, *high_b;
    array_extent(a, &low_a, &high_a);
    array_extent(b, &low_b, &high_b);
    return high_a <= low_b || high_b <= low_a || low_a == high_a || low_b == high_b;
}

bool
arrays_apart(const ArrayHeader *a, const ArrayHeader *b)
{
    const ArrayHeader *both[2] = {a, b};
    if (arrays_ranges_apart(a, b)) return true;
    const char *low_a, *low_b, *high;
    array_extent(a, &low_a, &high);
    array_extent(b, &low_b, &high);
    int64_t all = 0, ahead = low_b - low_a;
    for (int i = 0; i < 2; i++)
        for (int axis = 0; axis < both[i]->rank; axis++)
            if (both[i]->shape[axis] > 1) all = common_divisor(llabs(both[i]->stride[axis]), all);
    if (all > 1 && apart_by(a, b, ahead, all)) return true;
    for (int i = 0; i < 2; i++)
        for (int axis = 0; axis < both[i]->rank; axis++) {
            int64_t period = llabs(both[i]->stride[axis]);
            if (both[i]->shape[axis] > 1 && period > all && apart_by(a, b, ahead, period))
                return true;
        }
    return false;
}

bool
array_repeats(const ArrayHeader *array)
{
    int64_t length[MAX_RANK], stride[MAX_RANK];
    int n = 0;
    for (int axis = 0; axis < array->rank; axis++) {
        if (array->shape[axis] == 0) return false;
        if (array->shape[axis] == 1) continue;
        length[n] = array->shape[axis];
        stride[n++] = array->stride[axis];
    }
    return axes_repeat(n, length, stride, array->dtype);
}
