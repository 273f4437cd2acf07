/* What shapes and strides say of an array. */
#include "form.h"

Type
type_scalar(DType dtype, Form form)
{
    Type type = {.dtype = (uint8_t)dtype, .form = (uint8_t)form, .offset = NO_SIZE};
    for (int i = 0; i < MAX_RANK; i++) type.shape[i] = type.stride[i] = NO_SIZE;
    return type;
}

bool
shape_is_empty(const Graph *g, int rank, const SizeId *shape)
{
    for (int i = 0; i < rank; i++)
        if (size_is_zero(g, shape[i])) return true;
    return false;
}

/* Dense in C order, or else in Fortran order; axes of length 1 do not count. */
static bool
is_dense(const Graph *g, const Type *type, bool c_order)
{
    if (shape_is_empty(g, type->rank, type->shape)) return true;
    int inner = -1;
    for (int i = 0; i < type->rank; i++) {
        int axis = c_order ? type->rank - 1 - i : i;
        if (size_is_one(g, type->shape[axis])) continue;
        SizeId stride = size_walked(g, type->stride[axis]);
        if (inner < 0) {
            if (!size_is_const(g, stride) ||
                size_value(g, stride) != (int64_t)dtype_size((DType)type->dtype))
                return false;
        } else if (!size_is_times(g, stride, size_walked(g, type->stride[inner]),
                                  type->shape[inner])) {
            return false;
        }
        inner = axis;
    }
    return true;
}

bool
type_same_shape(const Type *a, const Type *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, sizeof(SizeId) * a->rank) == 0;
}

bool
type_same_kind(const Type *a, const Type *b)
{
    return a->dtype == b->dtype && a->form == b->form && a->device == b->device &&
           type_same_shape(a, b);
}

bool
type_same_layout(const Type *a, const Type *b)
{
    return type_same_kind(a, b) && memcmp(a->stride, b->stride, sizeof(SizeId) * a->rank) == 0;
}

bool
type_same_array(const Type *a, const Type *b)
{
    return type_same_layout(a, b) && a->offset == b->offset;
}

bool
type_same_place(const Graph *g, const Type *a, const Type *b)
{
    return a->dtype == b->dtype && a->device == b->device && type_same_shape(a, b) &&
           memcmp(a->stride, b->stride, sizeof(SizeId) * a->rank) == 0 &&
           size_same(g, a->offset, b->offset);
}

bool
type_walks_alike(const Graph *g, const Type *a, const Type *b)
{
    if (!type_same_shape(a, b)) return false;
    for (int i = 0; i < a->rank; i++)
        if (!size_is_one(g, a->shape[i]) &&
            !size_same(g, size_walked(g, a->stride[i]), size_walked(g, b->stride[i])))
            return false;
    return true;
}

bool
type_broadcasts(const Graph *g, const Type *from, const Type *to)
{
    int lead = to->rank - from->rank;
    if (lead < 0) return false;
    for (int i = 0; i < from->rank; i++)
        if (!size_is_one(g, from->shape[i]) && from->shape[i] != to->shape[lead + i]) return false;
    return true;
}

bool
type_has_negative_stride(const Graph *g, const Type *type)
{
    for (int axis = 0; axis < type->rank; axis++)
        if (size_value(g, type->stride[axis]) < 0) return true;
    return false;
}

bool
type_is_known(const Graph *g, const Type *type)
{
    for (int axis = 0; axis < type->rank; axis++)
        if (!size_is_const(g, type->shape[axis]) || !size_is_const(g, type->stride[axis]))
            return false;
    return true;
}

/* When a run begins: it has no length that a step tells. */
static bool
is_known_in_run(const Graph *g, const Type *type)
{
    for (int axis = 0; axis < type->rank; axis++)
        if (size_varies_in_run(g, type->shape[axis]) || size_varies_in_run(g, type->stride[axis]))
            return false;
    return true;
}

bool
type_is_copyable(const Graph *g, const Type *type)
{
    return is_known_in_run(g, type) && !type_has_negative_stride(g, type);
}

bool
type_is_contiguous(const Graph *g, const Type *type)
{
    return is_dense(g, type, true);
}

bool
type_is_fortran(const Graph *g, const Type *type)
{
    return is_dense(g, type, false);
}

/* The strides that NumPy gives a fresh array of this order, axes of one element included. */
static bool
is_natural(const Graph *g, const Type *type, bool c_order)
{
    bool empty = shape_is_empty(g, type->rank, type->shape);
    int inner = -1;
    for (int i = 0; i < type->rank; i++) {
        int axis = c_order ? type->rank - 1 - i : i;
        SizeId stride = type->stride[axis];
        if (empty) {
            if (!size_is_zero(g, stride)) return false;
        } else if (inner < 0) {
            if (!size_is_const(g, stride) ||
                size_value(g, stride) != (int64_t)dtype_size((DType)type->dtype))
                return false;
        } else if (!size_is_times(g, stride, type->stride[inner], type->shape[inner])) {
            return false;
        }
        inner = axis;
    }
    return true;
}

bool
type_is_natural(const Graph *g, const Type *type)
{
    return is_natural(g, type, true);
}

char
type_order(const Graph *g, const Type *type)
{
    if (shape_is_empty(g, type->rank, type->shape)) return 'K';
    return is_natural(g, type, true) ? 'C' : is_natural(g, type, false) ? 'F' : 'K';
}

int
type_axes(const Graph *g, const Type *type, int *axes)
{
    int n = 0;
    for (int axis = 0; axis < type->rank; axis++) {
        if (size_is_single(g, type->shape[axis])) continue;
        int64_t stride = size_value(g, type->stride[axis]);
        if (stride <= 0) return -1;
        int at = n++;
        for (; at > 0; at--) {
            int64_t before = size_value(g, type->stride[axes[at - 1]]);
            if (before == stride) return -1;
            if (before > stride) break;
            axes[at] = axes[at - 1];
        }
        axes[at] = axis;
    }
    return n;
}

bool
type_axis_follows(const Graph *g, const Type *type, int outer, int inner)
{
    return size_is_times(g, size_walked(g, type->stride[outer]),
                         size_walked(g, type->stride[inner]), type->shape[inner]);
}

int
type_dense_axes(const Graph *g, const Type *type, int *axes)
{
    int n = type_elements(g, type) == 0 ? -1 : type_axes(g, type, axes);
    if (n > 0 &&
        size_value(g, type->stride[axes[n - 1]]) != (int64_t)dtype_size((DType)type->dtype))
        return -1;
    for (int i = 0; i + 1 < n; i++)
        if (!type_axis_follows(g, type, axes[i], axes[i + 1])) return -1;
    return n;
}

bool
type_is_compact(const Graph *g, const Type *type)
{
    int axes[MAX_RANK];
    return type_is_copyable(g, type) &&
           (type_elements(g, type) == 0 || type_dense_axes(g, type, axes) >= 0);
}

bool
axes_repeat(int n, const int64_t *length, const int64_t *stride, DType dtype)
{
    int64_t reach = (int64_t)dtype_size(dtype); /* of the axes so far, from the inside */
    for (unsigned done = 0; done != (1u << n) - 1;) {
        int next = -1;
        for (int i = 0; i < n; i++)
            if (!(done >> i & 1) && (next < 0 || llabs(stride[i]) < llabs(stride[next]))) next = i;
        if (llabs(stride[next]) < reach) return true;
        reach += (length[next] - 1) * llabs(stride[next]);
        done |= 1u << next;
    }
    return false;
}

bool
type_repeats(const Graph *g, const Type *type)
{
    int64_t length[MAX_RANK], stride[MAX_RANK];
    int n = 0;
    if (type_elements(g, type) == 0) return false;
    for (int i = 0; i < type->rank; i++) {
        if (size_is_single(g, type->shape[i])) continue;
        length[n] = size_value(g, type->shape[i]);
        stride[n++] = size_value(g, type->stride[i]);
    }
    return axes_repeat(n, length, stride, (DType)type->dtype);
}

bool
type_is_spread(const Graph *g, const Type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (size_value(g, type->stride[i]) != 0 && !size_is_single(g, type->shape[i])) return false;
    return true;
}

bool
type_runs_backwards(const Graph *g, const Type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (size_value(g, type->stride[i]) < 0 && !size_is_single(g, type->shape[i])) return true;
    return false;
}

bool
type_is_transpose(const Type *a, const Type *b)
{
    if (a->rank < 2 || b->rank < 2) return false;
    for (int i = 1; i <= 2; i++) {
        int x = a->rank - i, y = b->rank - 3 + i;
        if (a->shape[x] != b->shape[y] || a->stride[x] != b->stride[y]) return false;
    }
    return true;
}

int64_t
type_elements(const Graph *g, const Type *type)
{
    int64_t n = 1;
    for (int i = 0; i < type->rank; i++) n *= size_value(g, type->shape[i]);
    return n;
}

SizeId
type_count(Graph *g, const Type *type)
{
    SizeId all = size_const(g, 1);
    for (int i = 0; i < type->rank; i++) all = size_mul(g, all, type->shape[i]);
    return all;
}

bool
type_is_single(const Graph *g, const Type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (!size_is_single(g, type->shape[i])) return false;
    return true;
}

bool
type_has_as_many(Graph *g, const Type *a, const Type *b)
{
    SizeId one = type_count(g, a), other = type_count(g, b);
    return one != NO_SIZE && other != NO_SIZE && size_same(g, one, other);
}

/* ---- what is written of a storage ---- */

bool
write_is_saved(const Graph *g, const Type *whole, const Type *part)
{
    enum { SMALL = 1024, SHARE = 8 }; /* bytes; a small array is copied in less time */
    int64_t elements = type_elements(g, whole);
    return whole->device == DEVICE_HOST && whole->rank <= SAVED_AXES && part->rank <= SAVED_AXES &&
           elements * (int64_t)dtype_size((DType)whole->dtype) > SMALL &&
           type_elements(g, part) <= elements / SHARE;
}
