/* Shapes and strides of fresh arrays, as NumPy lays them out. */
#include "form.h"

Type
type_scalar(DType dtype, Form form)
{
    Type type = {.dtype = (uint8_t)dtype, .form = (uint8_t)form, .offset = NO_SIZE};
    for (int i = 0; i < MAX_RANK; i++) type.shape[i] = type.stride[i] = NO_SIZE;
    return type;
}

static bool
is_zero(const Graph *g, SizeId size)
{
    return size_is_const(g, size) && size_value(g, size) == 0;
}

static bool
is_empty(const Graph *g, int rank, const SizeId *shape)
{
    for (int i = 0; i < rank; i++)
        if (is_zero(g, shape[i])) return true;
    return false;
}

/* Dense strides with the last axis of `order` innermost; `order` NULL is C order. An array without
   elements has strides 0, as in NumPy. */
static int
lay_out(Graph *g, Type *out, DType dtype, int rank, const SizeId *shape, const int *order)
{
    *out = type_scalar(dtype, FORM_ARRAY);
    out->rank = (uint8_t)rank;
    bool empty = is_empty(g, rank, shape);
    SizeId stride = size_const(g, empty ? 0 : (int64_t)dtype_size(dtype));
    for (int i = rank - 1; i >= 0 && stride != NO_SIZE; i--) {
        int axis = order == NULL ? i : order[i];
        out->shape[axis] = shape[axis];
        out->stride[axis] = stride;
        if (!empty) stride = size_mul(g, stride, shape[axis]);
    }
    return stride == NO_SIZE ? -1 : 0;
}

int
type_dense(Graph *g, Type *out, DType dtype, int rank, const SizeId *shape, bool c_order)
{
    int order[MAX_RANK];
    for (int i = 0; i < rank; i++) order[i] = rank - 1 - i;
    return lay_out(g, out, dtype, rank, shape, c_order ? NULL : order);
}

int
type_contiguous(Graph *g, Type *out, DType dtype, int rank, const SizeId *shape)
{
    return lay_out(g, out, dtype, rank, shape, NULL);
}

/* Dense in C order, or else in Fortran order; axes of length 1 do not count. */
static bool
is_dense(const Graph *g, const Type *type, bool c_order)
{
    if (is_empty(g, type->rank, type->shape)) return true;
    int inner = -1;
    for (int i = 0; i < type->rank; i++) {
        int axis = c_order ? type->rank - 1 - i : i;
        if (size_is_one(g, type->shape[axis])) continue;
        SizeId stride = type->stride[axis];
        if (inner < 0) {
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
        if (!size_is_one(g, a->shape[i]) && !size_same(g, a->stride[i], b->stride[i])) return false;
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
    bool empty = is_empty(g, type->rank, type->shape);
    int inner = -1;
    for (int i = 0; i < type->rank; i++) {
        int axis = c_order ? type->rank - 1 - i : i;
        SizeId stride = type->stride[axis];
        if (empty) {
            if (!is_zero(g, stride)) return false;
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
    if (is_empty(g, type->rank, type->shape)) return 'K';
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
    return size_is_times(g, type->stride[outer], type->stride[inner], type->shape[inner]);
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

/* ---- results of elementwise operations ---- */

Answer
type_common_shape(const Graph *g, int n, const Type *const *types, int *rank, SizeId *shape)
{
    *rank = 0;
    for (int k = 0; k < n; k++)
        if (types[k]->rank > *rank) *rank = types[k]->rank;
    for (int i = 0; i < *rank; i++) {
        shape[i] = NO_SIZE;
        for (int k = 0; k < n; k++) {
            int axis = i - (*rank - types[k]->rank);
            if (axis < 0) continue;
            SizeId size = types[k]->shape[axis];
            if (shape[i] == NO_SIZE || size_is_one(g, shape[i]))
                shape[i] = size;
            else if (!size_is_one(g, size) && size != shape[i])
                return ANSWER_NO;
        }
    }
    return ANSWER_YES;
}

enum { POINTWISE_ARGS = 4 }; /* no op takes more */

/* Stride of an argument along an axis of the common shape; 0 where it is broadcast. */
static int64_t
iterated_stride(const Graph *g, const Type *type, int rank, const SizeId *shape, int i)
{
    int axis = i - (rank - type->rank);
    if (axis < 0 || size_is_one(g, shape[i]) || size_is_one(g, type->shape[axis])) return 0;
    return size_value(g, type->stride[axis]);
}

/* Must axis `a` be nested deeper than axis `b`, which is the deeper one so far? 1: yes, 0: no, -1:
   no argument tells. */
static int
goes_deeper(const Graph *g, int nargs, const Type *const *types, int rank, const SizeId *shape,
            int a, int b)
{
    int answer = -1;
    for (int k = 0; k < nargs; k++) {
        int64_t outer = llabs(iterated_stride(g, types[k], rank, shape, a));
        int64_t inner = llabs(iterated_stride(g, types[k], rank, shape, b));
        if (outer == 0 || inner == 0) continue;
        if (inner <= outer)
            answer = 0; /* on conflict C order wins */
        else if (answer < 0)
            answer = 1;
    }
    return answer;
}

/* The axes from outermost to innermost, as NumPy nditer_constr.c, npyiter_find_best_axis_ordering,
   sorts them: a stable insertion sort that starts from C order. */
static void
sort_axes(const Graph *g, int nargs, const Type *const *types, int rank, const SizeId *shape,
          int *order)
{
    int perm[MAX_RANK]; /* fastest first */
    for (int i = 0; i < rank; i++) perm[i] = rank - 1 - i;
    for (int i = 1; i < rank; i++) {
        int place = i, axis = perm[i];
        for (int j = i - 1; j >= 0; j--) {
            int deeper = goes_deeper(g, nargs, types, rank, shape, axis, perm[j]);
            if (deeper == 1) place = j;
            if (deeper == 0) break;
        }
        for (int j = i; j > place; j--) perm[j] = perm[j - 1];
        perm[place] = axis;
    }
    for (int i = 0; i < rank; i++) order[i] = perm[rank - 1 - i];
}

int
type_reduced(Graph *g, Type *out, DType dtype, const Type *from, const bool *reduced, bool keepdims)
{
    int order[MAX_RANK], left[MAX_RANK], place[MAX_RANK], rank = 0, n = 0;
    SizeId shape[MAX_RANK];
    sort_axes(g, 1, &from, from->rank, from->shape, order);
    for (int i = 0; i < from->rank; i++) {
        if (reduced[i] && !keepdims) continue;
        place[i] = rank;
        shape[rank++] = reduced[i] ? size_const(g, 1) : from->shape[i];
    }
    for (int i = 0; i < from->rank; i++)
        if (!reduced[order[i]] || keepdims) left[n++] = place[order[i]];
    Device device = (Device)from->device;
    int made = lay_out(g, out, dtype, rank, shape, left);
    out->device = (uint8_t)device;
    return made;
}

Answer
type_iterated(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args)
{
    int rank, order[MAX_RANK];
    SizeId shape[MAX_RANK];
    const Type *types[POINTWISE_ARGS];
    assert(nargs <= POINTWISE_ARGS);
    for (int k = 0; k < nargs; k++) types[k] = &graph_node(g, args[k])->type;
    Answer answer = type_common_shape(g, nargs, types, &rank, shape);
    if (answer != ANSWER_YES) return answer;
    sort_axes(g, nargs, types, rank, shape, order);
    if (lay_out(g, out, dtype, rank, shape, order) < 0) return ANSWER_ERROR;
    out->device = (uint8_t)device_of(g, nargs, args);
    return ANSWER_YES;
}

/* NumPy ufunc_object.c, try_trivial_single_output_loop: when all arguments that are not 0-d have
   one shape and are all C or all F contiguous, the result is made in that order without an
   iterator.  Those of more than one axis must have the loop's dtype `ins` already.  ANSWER_NO when
   that does not apply. */
static Answer
trivial_layout(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args, const DType *ins)
{
    const Type *first = NULL;
    bool c_order = true, f_order = true;
    for (int k = 0; k < nargs; k++) {
        const Type *type = &graph_node(g, args[k])->type;
        if (type->rank == 0) continue;
        if (first == NULL) first = type;
        if (type->rank != first->rank ||
            memcmp(type->shape, first->shape, sizeof(SizeId) * type->rank) != 0)
            return ANSWER_NO;
        if (type->rank == 1) continue; /* any stride will do */
        if (ins != NULL && type->dtype != ins[k]) return ANSWER_NO;
        c_order = c_order && is_dense(g, type, true);
        f_order = f_order && is_dense(g, type, false);
    }
    if (first == NULL || (!c_order && !f_order)) return ANSWER_NO;
    int order[MAX_RANK], rank = first->rank;
    SizeId shape[MAX_RANK];
    memcpy(shape, first->shape, sizeof(shape));
    for (int i = 0; i < rank; i++) order[i] = c_order ? i : rank - 1 - i;
    return lay_out(g, out, dtype, rank, shape, order) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Device
device_of(const Graph *g, int nargs, const NodeId *args)
{
    for (int k = 0; k < nargs; k++)
        if (graph_node(g, args[k])->type.device != DEVICE_HOST)
            return (Device)graph_node(g, args[k])->type.device;
    return DEVICE_HOST;
}

Answer
type_broadcast(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args, const DType *ins)
{
    Answer answer = trivial_layout(g, out, dtype, nargs, args, ins);
    if (answer == ANSWER_NO) answer = type_iterated(g, out, dtype, nargs, args);
    if (answer == ANSWER_YES) out->device = (uint8_t)device_of(g, nargs, args);
    return answer;
}

/* NumPy ctors.c, PyArray_NewLikeArray with 'K': C or F order where `like` has it, else the axes of
   `like` by falling stride. */
int
type_like(Graph *g, Type *out, DType dtype, const Type *like)
{
    int order[MAX_RANK], rank = like->rank;
    SizeId shape[MAX_RANK];
    memcpy(shape, like->shape, sizeof(shape));
    for (int i = 0; i < rank; i++) order[i] = i;
    Device device = (Device)like->device;
    bool f_order = is_dense(g, like, false);
    bool c_order = is_dense(g, like, true);
    for (int i = 1; i < rank && !c_order; i++) /* insertion sort, stable */
        for (int j = i; j > 0; j--) {
            int64_t a = llabs(size_value(g, like->stride[order[j - 1]]));
            int64_t b = llabs(size_value(g, like->stride[order[j]]));
            if (!f_order && a >= b) break;
            int axis = order[j];
            order[j] = order[j - 1];
            order[j - 1] = axis;
        }
    int made = lay_out(g, out, dtype, rank, shape, order);
    out->device = (uint8_t)device;
    return made;
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
