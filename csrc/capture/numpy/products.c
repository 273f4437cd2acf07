/* Matrix products: the BLAS that NumPy loaded for float matrices, NumPy's own call for the rest. */
#include "numpy.h"

/* The shape of a @ b for operands whose last two axes are matrices, and for 1-D operands. */
static Answer
matmul_shape(Interp *in, const Type *a, const Type *b, int *rank, SizeId *shape)
{
    if (a->rank == 0 || b->rank == 0) return interp_break(in, BREAK_SHAPE, "matmul of a scalar");
    SizeId inner_a = a->shape[a->rank - 1], inner_b = b->shape[b->rank == 1 ? 0 : b->rank - 2];
    if (!size_is_const(in->graph, inner_a) || !size_is_const(in->graph, inner_b))
        TRY(sizes_assert_same(in, inner_a, inner_b));
    else if (inner_a != inner_b)
        return interp_break(in, BREAK_SHAPE, "matmul of unequal inner sizes");
    Type outer_a = *a, outer_b = *b;
    outer_a.rank = (uint8_t)(a->rank > 2 ? a->rank - 2 : 0);
    outer_b.rank = (uint8_t)(b->rank > 2 ? b->rank - 2 : 0);
    for (int i = 1; i <= outer_a.rank && i <= outer_b.rank; i++) {
        SizeId to = outer_a.shape[outer_a.rank - i], *own = &outer_b.shape[outer_b.rank - i];
        if (*own == to || size_is_one(in->graph, *own) || size_is_one(in->graph, to) ||
            (size_is_const(in->graph, *own) && size_is_const(in->graph, to)))
            continue;
        TRY(sizes_assert_same(in, *own, to));
        *own = to;
    }
    const Type *outer[2] = {&outer_a, &outer_b};
    if (type_common_shape(in->graph, 2, outer, rank, shape) != ANSWER_YES)
        return interp_break(in, BREAK_SHAPE, "matmul of shapes that do not broadcast");
    if (*rank + 2 > MAX_RANK) return interp_break(in, BREAK_RANK, "more than 8 dimensions");
    if (a->rank > 1) shape[(*rank)++] = a->shape[a->rank - 2];
    if (b->rank > 1) shape[(*rank)++] = b->shape[b->rank - 1];
    return ANSWER_YES;
}

/* Operands of more than two axes, laid out so that the result is certainly in C order. */
static bool
layout_is_plain(const Interp *in, const Type *a, const Type *b)
{
    return (a->rank <= 2 || type_is_contiguous(in->graph, a)) &&
           (b->rank <= 2 || type_is_contiguous(in->graph, b));
}

Answer
node_matmul(Interp *in, NodeId a, NodeId b, NodeId *out)
{
    NodeId args[2] = {a, b};
    Type ta = node_type(in, a), tb = node_type(in, b);
    int rank;
    SizeId shape[MAX_RANK + 2];
    DType dtype;
    if (ta.form == FORM_PYTHON || tb.form == FORM_PYTHON)
        return interp_break(in, BREAK_SHAPE, "matmul of a Python number");
    TRY(matmul_shape(in, &ta, &tb, &rank, shape));
    TRY(result_dtype(in, 2, args, &dtype));
    PyObject *matmul = numpy_object("matmul");
    if (dtype != ta.dtype || dtype != tb.dtype || (dtype != DT_F32 && dtype != DT_F64) ||
        !layout_is_plain(in, &ta, &tb))
        return node_trial(in, matmul, 2, args, NULL, out);
    Type type;
    if (type_contiguous(in->graph, &type, dtype, rank, shape) < 0) return ANSWER_ERROR;
    if (rank == 0) type.form = FORM_SCALAR;
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_matmul, 2, args, &type, NULL));
    return ANSWER_YES;
}
