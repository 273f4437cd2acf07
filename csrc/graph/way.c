/* How an elementwise operation is done. This is the one place that decides it, from the row of
   ops.def, the dtype and the operands' layout. Capture asks before there is a node (ufunc_*);
   passes and lowering ask about the node. */
#include "graph.h"

/* ---- before there is a node ---- */

bool
ufunc_has_expression(int op, DType loop)
{
    return op >= 0 && op_is_exact((Op)op, loop);
}

/* NumPy's loops look at the stride of one element, too. */
static bool
is_one_backwards(const Graph *g, const Type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (size_value(g, type->shape[i]) == 1 && size_value(g, type->stride[i]) < 0) return true;
    return false;
}

static bool
reads_backwards(const Graph *g, NodeId id)
{
    while (graph_node(g, id)->op == OP_cast) id = graph_node(g, id)->args[0];
    const Type *type = &graph_node(g, id)->type;
    if (type->form != FORM_ARRAY) return false;
    return type_runs_backwards(g, type) || is_one_backwards(g, type);
}

/* Which of two zeros of different sign fmax and fmin return depends on the position in NumPy's
   loop: its vector part and its remainder differ. */
static bool
is_by_position(int op, DType loop)
{
    return (op == OP_fmax || op == OP_fmin) && dtype_is_float(loop);
}

/* NumPy's loops take other code paths, with other bits, for negative strides; for half floats and
   complex numbers wherever the target is not contiguous. With a target at hand its iterator turns
   no axis round, as it does where all operands run backwards and the result is a new array. */
bool
ufunc_minds_target(const Graph *g, int op, DType loop, int nargs, const NodeId *args,
                   const Type *target)
{
    if (ufunc_has_expression(op, loop)) return false;
    for (int i = 0; i < nargs; i++)
        if (reads_backwards(g, args[i])) return true;
    bool dense = loop == DT_F16 || dtype_is_complex(loop);
    if (is_by_position(op, loop))
        return target->rank != 1 || target->dtype != loop || !type_is_contiguous(g, target);
    return dense ? !type_is_contiguous(g, target) : type_has_negative_stride(g, target);
}

/* NumPy casts operands in a buffered iterator, which also reverses axes of negative stride. Its
   loops, whose bits may depend on strides, then get other strides than after a separate cast. */
static bool
is_cast_backwards(const Graph *g, int nargs, const NodeId *args, const NodeId *cast)
{
    bool casts = false, minds = false;
    for (int i = 0; i < nargs; i++) {
        const Type *type = &graph_node(g, args[i])->type;
        if (type->form != FORM_ARRAY) continue;
        casts = casts || cast[i] != args[i];
        minds = minds || type_runs_backwards(g, type);
    }
    return casts && minds;
}

/* A kernel's block calls have the positions of NumPy's loop only where all operands are dense, have
   one axis of one length, and need no cast. */
static bool
is_uneven(const Graph *g, int op, int nargs, const NodeId *args, const NodeId *cast)
{
    if (!is_by_position(op, (DType)graph_node(g, cast[0])->type.dtype)) return false;
    SizeId size = NO_SIZE;
    for (int i = 0; i < nargs; i++) {
        const Type *type = &graph_node(g, args[i])->type;
        if (type->form != FORM_ARRAY) continue;
        if (cast[i] != args[i] || type->rank != 1 || !type_is_contiguous(g, type)) return true;
        if (size == NO_SIZE) size = type->shape[0];
        if (size_value(g, type->shape[0]) != size_value(g, size)) return true;
    }
    return false;
}

bool
ufunc_minds_casts(const Graph *g, int op, int nargs, const NodeId *args, const NodeId *cast)
{
    DType loop = (DType)graph_node(g, cast[0])->type.dtype;
    return !ufunc_has_expression(op, loop) &&
           (is_cast_backwards(g, nargs, args, cast) || is_uneven(g, op, nargs, args, cast));
}

/* Where the exponent is one number, NumPy uses the loops of square, sqrt and so on for those that
   have one, and pow for the others; for an array of exponents always pow. */
Way
power_way(DType loop, PyObject *exponent, int *op)
{
    static const struct {
        double exponent;
        Op op;
    } shortcuts[] = {{2.0, OP_square}, {1.0, OP_positive}, {0.5, OP_sqrt}, {-1.0, OP_reciprocal}};
    if (exponent == NULL) return WAY_CALL;
    if (PyComplex_Check(exponent) || (loop != DT_F32 && loop != DT_F64)) return WAY_BLOCKS;
    double number = PyFloat_AsDouble(exponent);
    PyErr_Clear();
    for (int i = 0; i < COUNT_OF(shortcuts); i++) {
        if (number != shortcuts[i].exponent) continue;
        *op = shortcuts[i].op;
        return WAY_EXPRESSION;
    }
    return WAY_BLOCKS;
}

/* NumPy has another loop for bounds that are one number for all elements; it keeps the sign of a
   zero element where the bound is the other zero. */
Way
clip_way(const Graph *g, DType loop, NodeId low, NodeId high, int *op)
{
    const Type *from = &graph_node(g, low)->type, *to = &graph_node(g, high)->type;
    bool numbers = type_is_spread(g, from) && type_is_spread(g, to);
    if (!numbers || (loop != DT_F32 && loop != DT_F64)) return WAY_EXPRESSION;
    if (from->rank > 0 || to->rank > 0) return WAY_CALL;
    *op = OP_clamp;
    return WAY_EXPRESSION;
}

/* ---- of a node ---- */

/* NumPy converts floats out of u32's range in two ways, depending on their position; half and
   complex numbers kernels can only move. */
static bool
cast_has_expression(const Graph *g, const Node *node)
{
    DType from = (DType)graph_node(g, node->args[0])->type.dtype, to = (DType)node->type.dtype;
    return !(to == DT_U32 && dtype_is_float(from)) && op_is_exact(OP_cast, to) &&
           op_is_exact(OP_cast, from);
}

/* NumPy divides an array of integers by one integer with vectorised multiplications (Granlund and
   Montgomery, Division by invariant integers, 1994), up to twenty times as fast as divisions. */
static bool
divides_by_one_integer(const Graph *g, const Node *node)
{
    return dtype_is_integer(node->type.dtype) && graph_node(g, node->args[0])->type.rank > 0 &&
           graph_node(g, node->args[1])->type.rank == 0;
}

/* NumPy's loops take other code paths, with other bits, for negative strides, for half floats that
   are not contiguous, and for complex numbers of stride 0. A kernel has stride 0 for an operand of
   one element. */
static bool
minds_operands(const Graph *g, const Node *node)
{
    for (int k = 0; k < node->nargs; k++) {
        const Type *type = &graph_node(g, node->args[k])->type;
        if (type->form != FORM_ARRAY) continue;
        bool one = type_is_single(g, type);
        if (type->dtype == DT_F16 && (one || !type_is_contiguous(g, type))) return true;
        if (dtype_is_complex((DType)type->dtype) && one) return true;
        if (type_runs_backwards(g, type) || (one && is_one_backwards(g, type))) return true;
    }
    return false;
}

/* A device has its expressions and nothing else. */
static Way
way_on_device(const Graph *g, const Node *node)
{
    Device device = (Device)node->type.device;
    if (op_info(node->op)->kind != KIND_POINTWISE) return WAY_NONE;
    bool on = op_is_on(node->op, node_loop_dtype(g, node), device) &&
              (node->op != OP_cast || op_is_on(OP_cast, (DType)node->type.dtype, device));
    return on ? WAY_EXPRESSION : WAY_CALL;
}

Way
node_way(const Graph *g, const Node *node)
{
    OpKind kind = op_info(node->op)->kind;
    if (node->type.device != DEVICE_HOST) return way_on_device(g, node);
    if (op_info(node->op)->flags & OPF_DEVICE) return WAY_EXPRESSION; /* passes/functions.c */
    if (node->op == OP_cast) return cast_has_expression(g, node) ? WAY_EXPRESSION : WAY_CALL;
    if (kind == KIND_POINTWISE && op_is_exact(node->op, node_loop_dtype(g, node)) &&
        !(node->op == OP_floor_divide && divides_by_one_integer(g, node)))
        return WAY_EXPRESSION;
    if (kind != KIND_POINTWISE && kind != KIND_UFUNC) return WAY_NONE;
    bool loop = kind == KIND_UFUNC || op_info(node->op)->ufunc != NULL;
    return loop && !minds_operands(g, node) ? WAY_BLOCKS : WAY_CALL;
}

/* ---- as a number ---- */

static bool
converts_exactly(DType from, DType to)
{
    return from == to || (op_is_exact(OP_cast, from) && op_is_exact(OP_cast, to));
}

bool
node_is_expression(const Graph *g, const Node *node)
{
    OpKind kind = op_info(node->op)->kind;
    if (node->type.rank != 0 || (kind != KIND_POINTWISE && kind != KIND_PYTHON)) return false;
    DType dtype = node_loop_dtype(g, node);
    if (kind == KIND_POINTWISE && node->op != OP_cast && !op_is_exact(node->op, dtype))
        return false;
    for (int i = 0; i < node->nargs; i++) {
        DType from = (DType)graph_node(g, node->args[i])->type.dtype;
        DType to = kind == KIND_PYTHON || (node->op == OP_where && i == 0) ? from : dtype;
        if (node->op == OP_cast) to = (DType)node->type.dtype;
        if (graph_node(g, node->args[i])->type.rank != 0 || !converts_exactly(from, to))
            return false;
        if (kind == KIND_PYTHON && !op_is_exact(OP_cast, from) && from != DT_C128) return false;
    }
    return true;
}

bool
node_is_called(const Graph *g, const Node *node)
{
    if (node_is_expression(g, node) || node_way(g, node) != WAY_BLOCKS) return false;
    for (int i = -1; i < node->nargs; i++) {
        const Type *type = i < 0 ? &node->type : &graph_node(g, node->args[i])->type;
        bool moves = dtype_is_half((DType)type->dtype) || type->dtype == DT_C64;
        if (type->rank != 0 || type->form == FORM_ARRAY || type->dtype == DT_OBJECT || moves)
            return false;
    }
    return node->nargs > 0 && node->nargs <= MAX_CALLED;
}
