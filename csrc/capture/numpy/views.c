/* Views and copies of arrays as nodes; NumPy's rules decide which results are views.
   A view's type says where it lies in its storage; offsets are relative to the storage's data.
   CuPy's views are NumPy's but for the strides of axes of length 1, and that all may be written. */
#include "numpy.h"

Answer
node_view(Interp *in, Op op, NodeId array, const Type *type, int nints, const int64_t *ints,
          NodeId *out)
{
    Attrs attrs = {.ints = (int64_t *)ints, .nints = nints};
    TRY_NODE(*out, graph_add(in->graph, in->region, op, 1, &array, type, &attrs));
    return ANSWER_YES;
}

Answer
fresh_type(Interp *in, Type *out, DType dtype, const Type *like, char order)
{
    Graph *g = in->graph;
    if (order == 'K') {
        if (type_like(g, out, dtype, like) < 0) return ANSWER_ERROR;
        return layout_is_fixed(in, out);
    }
    if (like->form == FORM_ARRAY && order == 'A') TRY(layout_is_fixed(in, like));
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
        if (axis >= 0 && spread && node_extent(in, array, axis) != 1)
            return interp_break(in, BREAK_SHAPE, "a shape that cannot be broadcast");
        type.shape[i] = shape[i];
        if (host && !spread && !size_is_const(in->graph, shape[i]))
            TRY(length_is_some(in, shape[i], 2));
        if (host && size_value(in->graph, shape[i]) == 1) spread = true; /* an iterator's view */
        type.stride[i] = spread ? size_const(in->graph, 0) : from.stride[axis];
        if (type.stride[i] == NO_SIZE) return ANSWER_ERROR;
    }
    return node_view(in, host ? OP_broadcast : OP_as_strided, array, &type, 0, NULL, out);
}

/* The strides with which `from`'s memory has the new shape, as NumPy's _attempt_nocopy_reshape
   finds them for C order.  `fits` false: a copy is needed.  ANSWER_NO: lengths decide that which
   are not known. */
static Answer
reshape_strides(Interp *in, const Type *from, int rank, const SizeId *shape, SizeId *stride,
                bool *fits)
{
    Graph *g = in->graph;
    SizeId old_shape[MAX_RANK], old_stride[MAX_RANK];
    bool more;
    int old = 0;
    for (int i = 0; i < from->rank; i++) {
        if (size_value(g, from->shape[i]) == 1) {
            TRY(length_is_some(in, from->shape[i], 2)); /* known, where it is no number yet */
            continue;
        }
        old_shape[old] = from->shape[i];
        old_stride[old++] = from->stride[i];
    }
    *fits = false;
    int oi = 0, oj = 1, ni = 0, nj = 1;
    while (ni < rank && oi < old) {
        SizeId np = shape[ni], op = old_shape[oi];
        while (!size_same(g, np, op) && nj < rank && oj < old) {
            TRY(size_is_more(in, np, op, &more));
            if (more)
                op = size_mul(g, op, old_shape[oj++]);
            else
                np = size_mul(g, np, shape[nj++]);
        }
        if (!size_same(g, np, op)) { /* all that is left on both sides is as much */
            oj = old;
            nj = rank;
        }
        for (int k = oi; k < oj - 1; k++) {
            SizeId covered = size_mul(g, old_shape[k + 1], old_stride[k + 1]);
            if (size_same(g, old_stride[k], covered)) continue;
            TRY(length_is_some(in, old_shape[k], 2));
            TRY(length_is_some(in, old_shape[k + 1], 2));
            return size_is_more(in, old_stride[k], covered, &more);
        }
        stride[nj - 1] = old_stride[oj - 1];
        for (int k = nj - 1; k > ni; k--) stride[k - 1] = size_mul(g, stride[k], shape[k]);
        ni = nj++;
        oi = oj++;
    }
    SizeId last = ni >= 1 ? stride[ni - 1] : size_const(g, (int64_t)dtype_size((DType)from->dtype));
    for (int k = ni; k < rank; k++) stride[k] = last;
    *fits = true;
    return lengths_are_several(in, from); /* the strides of others follow other ones */
}

/* CuPy (_routines_manipulation.pyx, _get_strides_for_nocopy_reshape) gives an axis of length 1 the
   stride of the axis before it; to the first ones a step past all that the first longer axis
   covers. */
static void
lend_strides(Graph *g, int rank, const SizeId *shape, SizeId *stride)
{
    int first = 0;
    while (first < rank && size_value(g, shape[first]) == 1) first++;
    for (int i = 0; i < rank && first < rank; i++)
        if (size_value(g, shape[i]) == 1)
            stride[i] = i < first ? size_mul(g, shape[first], stride[first]) : stride[i - 1];
}

Answer
node_reshape(Interp *in, NodeId array, int rank, const SizeId *shape, NodeId *out)
{
    Graph *g = in->graph;
    Type from = node_type(in, array), type = from;
    SizeId stride[MAX_RANK];
    int64_t ints[MAX_RANK];
    for (int i = 0; i < rank; i++) ints[i] = size_value(g, shape[i]);
    TRY(lengths_are_some(in, rank, shape));
    bool contiguous, host = from.device == DEVICE_HOST;
    TRY(layout_has_order(in, &from, 'C', &contiguous));
    if (!host && rank == from.rank && memcmp(shape, from.shape, sizeof(SizeId) * (size_t)rank) == 0)
        return node_view(in, OP_reshape, array, &from, rank, ints, out);
    bool fits = contiguous;
    if (!fits) {
        static const char why[] = "a reshape of an array with gaps";
        Answer answer = reshape_strides(in, &from, rank, shape, stride, &fits);
        if (answer == ANSWER_NO) answer = sizes_specialise(in, &from, why);
        if (answer == ANSWER_NO) return interp_break(in, BREAK_SHAPE, "%s", why);
        TRY(answer);
    }
    if (!fits && !host) return interp_break(in, BREAK_DEVICE, "a reshape that makes a copy");
    if (!host && !contiguous) lend_strides(g, rank, shape, stride);
    if (!fits) {
        TRY(node_copy(in, array, 'C', &array));
        type = from = node_type(in, array); /* its first element is the first of its memory */
        contiguous = true;
    }
    type.form = FORM_ARRAY;
    type.rank = (uint8_t)rank;
    if (contiguous) {
        /* NumPy ctors.c, _array_fill_strides: unlike fresh arrays, also for a view without
           elements */
        SizeId step = size_const(g, (int64_t)dtype_size((DType)from.dtype));
        for (int i = rank - 1; i >= 0; i--) {
            type.shape[i] = shape[i];
            type.stride[i] = step;
            if (ints[i] != 0) step = size_mul(g, step, shape[i]);
            if (step == NO_SIZE) return ANSWER_ERROR;
        }
    } else {
        for (int i = 0; i < rank; i++) {
            type.shape[i] = shape[i];
            type.stride[i] = stride[i];
            if (stride[i] == NO_SIZE) return ANSWER_ERROR;
        }
    }
    return node_view(in, OP_reshape, array, &type, rank, ints, out);
}
