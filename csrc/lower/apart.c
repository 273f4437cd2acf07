/* Parts of one storage that have no element in common, whatever the sizes are: a kernel that writes
   one of them in place may read the other.

   Either one ends before the other begins; or, in a storage without gaps, indices differ:

     a[k + 1:, k + 1:] -= a[k + 1:, k, None] * a[k, k + 1:]

   A part's offset is split into an index for each axis of the storage.  That these are its indices,
   and none of them carries into the next axis, is shown by bounds. */
#include "group.h"

/* The first and the last index on each of the storage's axes. */
typedef struct {
    SizeId low[MAX_RANK], high[MAX_RANK];
} Indices;

/* Where a part of a storage begins, and behind which byte it ends.  False: that is not known. */
static bool
part_ends(Graph *g, const Type *part, SizeId *low, SizeId *high)
{
    *low = part->offset == NO_SIZE ? size_const(g, 0) : part->offset;
    *high = size_add(g, *low, size_const(g, (int64_t)dtype_size((DType)part->dtype)));
    for (int axis = 0; axis < part->rank; axis++) {
        SizeId stride = part->stride[axis];
        if (stride == NO_SIZE) continue;
        if (!size_is_const(g, stride) || size_value(g, stride) < 0) return false;
        SizeId last = size_add(g, part->shape[axis], size_const(g, -1));
        *high = size_add(g, *high, size_mul(g, last, stride));
    }
    return *low != NO_SIZE && *high != NO_SIZE;
}

/* The axis of the storage that the part's axis walks, and in which steps; -1: none. */
static int
walked_axis(const Graph *g, const Type *whole, const int *axes, int n, SizeId stride, int64_t *step)
{
    int64_t bytes = size_is_const(g, stride) ? size_value(g, stride) : -1;
    for (int k = 0; k < n && bytes > 0; k++) {
        int64_t of = size_value(g, whole->stride[axes[k]]);
        *step = bytes / of;
        if (bytes >= of) return bytes % of == 0 ? k : -1;
    }
    return -1;
}

/* Are the indices in the storage's bounds? */
static bool
are_inside(Graph *g, const Type *whole, const int *axes, int n, const Indices *at)
{
    SizeId zero = size_const(g, 0), one = size_const(g, 1);
    for (int k = 0; k < n; k++) {
        SizeId end = size_add(g, at->high[k], one);
        if (end == NO_SIZE || zero == NO_SIZE || !size_at_most(g, zero, at->low[k]) ||
            !size_at_most(g, end, whole->shape[axes[k]]))
            return false;
    }
    return true;
}

static bool
part_indices(Graph *g, const Type *whole, const int *axes, int n, const Type *part, Indices *at)
{
    SizeId rest = part->offset == NO_SIZE ? size_const(g, 0) : part->offset;
    bool walked[MAX_RANK] = {false};
    int64_t step;
    for (int k = 0; k < n; k++) {
        int64_t stride = size_value(g, whole->stride[axes[k]]);
        if (rest == NO_SIZE || !size_split(g, rest, stride, &at->low[k], &rest)) return false;
        at->high[k] = at->low[k];
    }
    if (rest == NO_SIZE || !size_is_zero(g, rest)) return false;
    for (int axis = 0; axis < part->rank; axis++) {
        SizeId stride = part->stride[axis];
        if (stride == NO_SIZE || size_is_zero(g, stride) || size_is_one(g, part->shape[axis]))
            continue;
        int k = walked_axis(g, whole, axes, n, stride, &step);
        if (k < 0 || walked[k]) return false;
        walked[k] = true;
        SizeId last = size_add(g, part->shape[axis], size_const(g, -1));
        at->high[k] = size_add(g, at->low[k], size_mul(g, last, size_const(g, step)));
        if (at->high[k] == NO_SIZE) return false;
    }
    return are_inside(g, whole, axes, n, at);
}

static bool
are_before(Graph *g, SizeId last, SizeId first)
{
    SizeId end = size_add(g, last, size_const(g, 1));
    return end != NO_SIZE && size_at_most(g, end, first);
}

static bool
indices_differ(Graph *g, const Type *whole, const Type *a, const Type *b)
{
    int axes[MAX_RANK], n = type_is_known(g, whole) ? type_dense_axes(g, whole, axes) : -1;
    Indices one, other;
    if (n < 2 || a->dtype != whole->dtype || b->dtype != whole->dtype ||
        !part_indices(g, whole, axes, n, a, &one) || !part_indices(g, whole, axes, n, b, &other))
        return false;
    for (int k = 0; k < n; k++)
        if (are_before(g, one.high[k], other.low[k]) || are_before(g, other.high[k], one.low[k]))
            return true;
    return false;
}

bool
parts_are_apart(Graph *g, const Type *whole, const Type *a, const Type *b)
{
    SizeId low[2], high[2];
    bool apart = (part_ends(g, a, &low[0], &high[0]) && part_ends(g, b, &low[1], &high[1]) &&
                  (size_at_most(g, high[0], low[1]) || size_at_most(g, high[1], low[0]))) ||
                 indices_differ(g, whole, a, b);
    PyErr_Clear(); /* of sizes for which there was no memory */
    return apart;
}
