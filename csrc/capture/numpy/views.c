/* Views and copies of arrays as nodes; NumPy's rules decide which results are views.
   A view's type says where it lies in its storage; offsets are relative to the storage's data.
   CuPy's views are NumPy's but for the strides of axes of length 1, and that all may be written. */
#include "trial.h"

Answer
node_view(Interp *in, Op op, NodeId array, const Type *type, int nints, const int64_t *ints,
          NodeId *out)
{
    Attrs attrs = {.ints = (int64_t *)ints, .nints = nints};
    TRY_NODE(*out, graph_add(in->graph, in->region, op, 1, &array, type, &attrs));
    return ANSWER_YES;
}

/* Are the axes that are no single element nested as they come? */
static bool
strides_fall(const Graph *g, const Type *type)
{
    int64_t outer = INT64_MAX;
    for (int i = 0; i < type->rank; i++) {
        int64_t stride = llabs(size_value(g, type->stride[i]));
        if (stride == 0 || size_is_one(g, type->shape[i])) continue;
        if (stride > outer) return false;
        outer = stride;
    }
    return true;
}

static bool
is_spread(const Graph *g, const Type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (size_is_zero(g, type->stride[i]) && !size_is_one(g, type->shape[i])) return true;
    return false;
}

/* Is there an axis along which all are spread?  Where it is nested depends on which of the others
   have one element. */
static bool
is_untold(const Graph *g, const Type *type, int nargs, const Type *args)
{
    for (int i = 0; i < type->rank; i++) {
        bool told = size_is_one(g, type->shape[i]);
        for (int k = 0; k < nargs; k++) {
            int axis = i - (type->rank - args[k].rank);
            told = told || (axis >= 0 && !size_is_one(g, args[k].shape[axis]) &&
                            !size_is_zero(g, args[k].stride[axis]));
        }
        if (!told) return true;
    }
    return false;
}

bool
axes_are_nested(const Graph *g, const Type *type)
{
    return strides_fall(g, type) && !is_spread(g, type);
}

/* Strides for larger lengths tell it. */
Answer
order_is_seen(Interp *in, const Type *type, int nargs, const Type *args)
{
    Graph *g = in->graph;
    bool falls = true, single[MAX_RANK] = {false}, any = false;
    if (type->rank > 2 && !type_is_contiguous(g, type) && is_untold(g, type, nargs, args))
        TRY(lengths_are_several(in, type));
    for (int i = 0; i < type->rank && type->rank > 1; i++) {
        const Size *size = &g->sizes.at[type->shape[i]];
        single[i] = size->kind >= SIZE_ADD && size->value == 1;
        any = any || single[i];
    }
    if (!any) return ANSWER_YES;
    int nsizes = g->sizes.len;
    int64_t *kept = arena_alloc(in->arena, sizeof(int64_t) * (size_t)nsizes);
    if (kept == NULL) return ANSWER_ERROR;
    for (SizeId id = 0; id < nsizes; id++) kept[id] = g->sizes.at[id].value;
    lengths_set(g, kept, nsizes, TRIALS - 1, NULL);
    for (int i = 0; i < nargs; i++) falls = falls && strides_fall(g, &args[i]);
    lengths_set(g, kept, nsizes, 0, NULL);
    for (int i = 0; i < type->rank && !falls; i++)
        if (single[i]) TRY(length_is_some(in, type->shape[i], 2));
    return ANSWER_YES;
}

Answer
fresh_type(Interp *in, Type *out, DType dtype, const Type *like, char order)
{
    Graph *g = in->graph;
    if (order == 'K') {
        if (type_like(g, out, dtype, like) < 0) return ANSWER_ERROR;
        TRY(order_is_seen(in, like, 1, like));
        return layout_is_fixed(in, out);
    }
    if (like->form == FORM_ARRAY && order == 'A' && !type_is_contiguous(g, like))
        TRY(lengths_are_several(in, like));
    if (like->form == FORM_ARRAY && !type_is_measured(in, like))
        TRY(lengths_are_some(in, like->rank, like->shape));
    bool fortran =
        order == 'F' || (order == 'A' && type_is_fortran(g, like) && !type_is_contiguous(g, like));
    if (!fortran || like->rank < 2) {
        if (type_contiguous(g, out, dtype, like->rank, like->shape) < 0) return ANSWER_ERROR;
        out->device = like->device;
        return ANSWER_YES;
    }
    SizeId turned[MAX_RANK];
    int rank = like->rank;
    for (int i = 0; i < rank; i++) turned[i] = like->shape[rank - 1 - i];
    Type c;
    if (type_contiguous(g, &c, dtype, rank, turned) < 0) return ANSWER_ERROR;
    *out = c;
    out->device = like->device;
    for (int i = 0; i < rank; i++) {
        out->shape[i] = c.shape[rank - 1 - i];
        out->stride[i] = c.stride[rank - 1 - i];
    }
    return ANSWER_YES;
}

Answer
node_copy(Interp *in, NodeId array, char order, NodeId *out)
{
    Type like = node_type(in, array), type;
    TRY(fresh_type(in, &type, (DType)like.dtype, &like, order));
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_copy, 1, &array, &type, NULL));
    return ANSWER_YES;
}

Answer
node_transpose(Interp *in, NodeId array, const int *permutation, NodeId *out)
{
    Type from = node_type(in, array), type = from;
    int64_t ints[MAX_RANK];
    for (int i = 0; i < from.rank; i++) {
        type.shape[i] = from.shape[permutation[i]];
        type.stride[i] = from.stride[permutation[i]];
        ints[i] = permutation[i];
    }
    return node_view(in, OP_transpose, array, &type, from.rank, ints, out);
}

/* That of a view that an iterator makes: 0 for one element. */
static SizeId
spread_stride(Graph *g, SizeId length, SizeId stride)
{
    SizeId single = size_if_same(g, length, size_const(g, 1));
    return single == NO_SIZE ? NO_SIZE : size_sub(g, stride, size_mul(g, single, stride));
}

Answer
node_broadcast(Interp *in, NodeId array, int rank, const SizeId *shape, NodeId *out)
{
    Type from = node_type(in, array), type = from;
    bool host = from.device == DEVICE_HOST;
    type.rank = (uint8_t)rank;
    type.form = FORM_ARRAY;
    for (int i = 0; i < rank; i++) {
        int axis = i - (rank - from.rank);
        bool spread = axis < 0 || from.shape[axis] != shape[i];
        int64_t length = size_value(in->graph, shape[i]);
        if (axis >= 0 && spread && length != 1 && node_extent(in, array, axis) == length) {
            TRY(sizes_assert_same(in, from.shape[axis], shape[i]));
            spread = false;
        }
        if (axis >= 0 && spread && node_extent(in, array, axis) != 1)
            return interp_break(in, BREAK_SHAPE, "a shape that cannot be broadcast");
        type.shape[i] = shape[i];
        if (host && size_value(in->graph, shape[i]) == 1) spread = true; /* an iterator's view */
        type.stride[i] = spread ? size_const(in->graph, 0)
                         : host ? spread_stride(in->graph, shape[i], from.stride[axis])
                                : from.stride[axis];
        if (type.stride[i] == NO_SIZE) return ANSWER_ERROR;
    }
    return node_view(in, host ? OP_broadcast : OP_as_strided, array, &type, 0, NULL, out);
}
