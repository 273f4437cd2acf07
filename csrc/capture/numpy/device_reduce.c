/* Reductions and arg-reductions of a device's arrays, along axes that a kernel can walk: one run of
   memory is reduced, and another lies inside of it or around it. */
#include "numpy.h"

typedef struct {
    int n, axes[MAX_RANK]; /* ascending */
    bool keepdims;
    SizeId count; /* elements that become one */
} Reduced;

static Answer
parse_reduced(Interp *in, const Rule *rule, Value *const *args, Value *array, Reduced *r)
{
    Type type = node_type(in, array->node);
    bool reduced[MAX_RANK] = {false};
    if (type.rank == 0 || type_elements(in->graph, &type) == 0)
        return device_break(in, array, "a reduction of no axis or without elements");
    TRY(value_as_axes(in, rule_arg(rule, args, "axis"), type.rank, &r->n, r->axes));
    TRY(value_as_flag(in, rule_arg(rule, args, "keepdims"), false, &r->keepdims));
    for (int i = 0; i < (r->n < 0 ? type.rank : r->n); i++)
        reduced[r->n < 0 ? i : r->axes[i]] = true;
    r->n = 0;
    r->count = size_const(in->graph, 1);
    for (int axis = 0; axis < type.rank; axis++) {
        if (!reduced[axis]) continue;
        r->axes[r->n++] = axis;
        r->count = size_mul(in->graph, r->count, type.shape[axis]);
    }
    return r->count == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* CUB, with which CuPy reduces the first axes of an array in Fortran order (cub.pyx,
   device_segmented_reduce), gives the result that order; CuPy's own kernels give C order.  Does
   that make a difference? */
static bool
may_be_fortran(const Graph *g, const Type *from, const Reduced *r, const Type *result)
{
    int64_t stride = (int64_t)dtype_size((DType)result->dtype);
    bool differs = false;
    for (int i = 0; i < r->n; i++)
        if (r->axes[i] != i) return false;
    for (int axis = 0; axis < result->rank; axis++) {
        differs = differs || size_value(g, result->stride[axis]) != stride;
        stride *= size_value(g, result->shape[axis]);
    }
    return differs && type_is_fortran(g, from) && !type_is_contiguous(g, from);
}

/* Are the reduced axes one run of memory, and what lies inside of it another, in C order as the
   result is?  That is what a kernel walks. */
static bool
is_one_run(const Graph *g, const Type *type, const Reduced *r)
{
    int axes[MAX_RANK], n = type_axes(g, type, axes), runs = 0;
    bool was = false;
    for (int i = 0; i < n; i++) {
        bool is = false;
        for (int k = 0; k < r->n; k++) is = is || r->axes[k] == axes[i];
        bool follows = i > 0 && type_axis_follows(g, type, axes[i - 1], axes[i]);
        if (is == was && (is || runs > 0) && !follows) return false;
        if (!is && !was && runs > 0 && axes[i - 1] > axes[i]) return false;
        runs += is && !was;
        was = is;
    }
    return n == 0 || (n > 0 && runs == 1);
}

/* The array in a layout of which a kernel can reduce the axes: a copy in C order is no memory, but
   the order in which the kernel reads. */
static Answer
reducible(Interp *in, NodeId node, const Reduced *r, NodeId *out)
{
    *out = node;
    if (is_one_run(in->graph, &graph_node(in->graph, node)->type, r)) return ANSWER_YES;
    TRY(node_copy(in, node, 'C', out));
    if (is_one_run(in->graph, &graph_node(in->graph, *out)->type, r)) return ANSWER_YES;
    return interp_break(in, BREAK_DEVICE, "a reduction over axes that are apart");
}

/* `dtype`: that of the result, and what elements are converted to; of an arg-reduction elements
   stay as they are.  `given`: the array's own type, since what was written into it may have another
   layout; NULL where CuPy's result is in C order whatever the layout, or where nobody sees it. */
static Answer
reduce_node(Interp *in, Op op, NodeId node, const Type *given, DType dtype, const Reduced *r,
            NodeId *out)
{
    Type type;
    SizeId shape[MAX_RANK];
    int64_t ints[MAX_RANK];
    int rank = 0;
    Device device = (Device)node_type(in, node).device;
    DType loop = op_finds(op) ? (DType)node_type(in, node).dtype : dtype;
    if (!op_is_on(op, loop, device) || !op_is_on(OP_cast, (DType)node_type(in, node).dtype, device))
        return interp_break(in, BREAK_DEVICE, "%s of %s on %s", op_info(op)->name,
                            dtype_long_name((DType)node_type(in, node).dtype), device_name(device));
    TRY(reducible(in, node, r, &node));
    TRY(node_cast(in, node, loop, &node));
    Type from = node_type(in, node);
    for (int i = 0; i < r->n; i++) ints[i] = r->axes[i];
    for (int axis = 0, k = 0; axis < from.rank; axis++) {
        bool reduced = k < r->n && r->axes[k] == axis;
        k += reduced;
        if (!reduced)
            shape[rank++] = from.shape[axis];
        else if (r->keepdims && (shape[rank++] = size_const(in->graph, 1)) == NO_SIZE)
            return ANSWER_ERROR;
    }
    if (type_contiguous(in->graph, &type, dtype, rank, shape) < 0) return ANSWER_ERROR;
    type.device = (uint8_t)device;
    if (given != NULL && may_be_fortran(in->graph, given, r, &type))
        return interp_break(in, BREAK_DEVICE, "a reduction whose result may be in Fortran order");
    Attrs attrs = {.ints = ints, .nints = r->n, .keepdims = r->keepdims};
    TRY_NODE(*out, graph_add(in->graph, in->region, op, 1, &node, &type, &attrs));
    return ANSWER_YES;
}

/* As NumPy, and CuPy: small integers are summed as 64-bit ones. */
static DType
summed_as(DType dtype)
{
    if (dtype == DT_BOOL) return DT_I64;
    if (!dtype_is_integer(dtype)) return dtype;
    return dtype_is_signed(dtype) ? DT_I64 : DT_U64;
}

/* The ufunc of the node and a number of Python's. */
static Answer
with_number(Interp *in, const char *ufunc, NodeId node, Value *number, NodeId *out)
{
    NodeId both[2] = {node};
    TRY(device_operand(in, number, &both[1]));
    return device_named(in, ufunc, 2, both, out);
}

static Answer
divide_by(Interp *in, NodeId node, SizeId count, NodeId *out)
{
    Value *number;
    TRY(number_of_size(in, count, &number));
    return with_number(in, "divide", node, number, out);
}

/* 1 / (count - ddof), or NaN where that is not positive. */
static Answer
scale_of(Interp *in, SizeId count, int64_t ddof, Value **out)
{
    bool none;
    Graph *g = in->graph;
    SizeId rest = size_sub(g, count, size_const(g, ddof));
    TRY(size_decide(in, size_sub(g, rest, size_const(g, 1)), &none));
    if ((*out = value_const_new(in, PyFloat_FromDouble(none ? Py_NAN : 1))) == NULL)
        return ANSWER_ERROR;
    if (none) return ANSWER_YES;
    Value *number;
    TRY(number_of_size(in, rest, &number));
    return operate_binary(in, OPERATOR_DIV, *out, number, out);
}

/* The rule's array, and what of it is reduced. */
static Answer
operand_of(Interp *in, const Rule *rule, Value *const *args, Reduced *r, NodeId *node)
{
    if (args[0]->kind != V_DEVICE)
        return interp_break(in, BREAK_DEVICE, "%s of something else than the device's array",
                            rule->name);
    TRY(parse_reduced(in, rule, args, args[0], r));
    return device_operand(in, args[0], node);
}

/* sum, prod, max, min, all, any: `data` is the op's name; mean. */
Answer
device_reduce(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node = NO_NODE;
    Reduced r;
    TRY(operand_of(in, rule, args, &r, &node));
    bool mean = strcmp(rule->data, "mean") == 0;
    Op op = mean ? OP_sum : (Op)op_from_name(rule->data);
    DType dtype = (DType)node_type(in, node).dtype;
    DType given = dtype;
    if (mean && dtype == DT_BF16) return device_break(in, args[0], "a mean of bfloat16");
    bool half = dtype_is_half(dtype); /* reduced as float32; the result is rounded */
    if (op == OP_sum || op == OP_prod) dtype = summed_as(dtype);
    if (mean && !dtype_is_float(dtype) && !dtype_is_complex(dtype)) dtype = DT_F64;
    if (op == OP_all || op == OP_any) dtype = DT_BOOL;
    if (dtype == DT_BOOL && op == OP_max) op = OP_any;
    if (dtype == DT_BOOL && op == OP_min) op = OP_all;
    if (half && dtype == given) dtype = DT_F32;
    Type own = node_type(in, args[0]->node);
    TRY(reduce_node(in, op, node, &own, dtype, &r, &node));
    if (mean) TRY(divide_by(in, node, r.count, &node));
    if (half && op != OP_all && op != OP_any) TRY(node_cast(in, node, given, &node));
    return push_node(in, node, out);
}

/* As _routines_statistics.pyx, _var: the mean is that of the same dtype, and the squares' sum is
   multiplied by 1 / (count - ddof), which is NaN where that is not positive.  CuPy computes with
   halves and complex numbers in its own ways. */
Answer
device_var(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node = NO_NODE, pair[2];
    Reduced r;
    int64_t ddof = 0;
    Value *given_ddof = rule_arg(rule, args, "ddof");
    if (given_ddof != NULL && value_as_int(in, given_ddof, &ddof) != ANSWER_YES)
        return interp_break(in, BREAK_DEVICE, "a ddof that is not a known int");
    TRY(operand_of(in, rule, args, &r, &node));
    DType dtype = (DType)node_type(in, node).dtype;
    if (dtype_is_half(dtype) || dtype_is_complex(dtype))
        return device_break(in, args[0], "a variance of such numbers");
    if (!dtype_is_float(dtype)) dtype = DT_F64;
    TRY(node_cast(in, node, dtype, &pair[0]));
    Reduced kept = r;
    kept.keepdims = true;
    TRY(reduce_node(in, OP_sum, pair[0], NULL, dtype, &kept, &pair[1]));
    TRY(divide_by(in, pair[1], r.count, &pair[1]));
    TRY(device_named(in, "subtract", 2, pair, &pair[0]));
    TRY(device_named(in, "square", 1, pair, &node));
    TRY(reduce_node(in, OP_sum, node, NULL, dtype, &r, &node));
    Value *scale;
    TRY(scale_of(in, r.count, ddof, &scale));
    TRY(with_number(in, "multiply", node, scale, &node));
    if (rule->data[0] == 's') TRY(device_named(in, "sqrt", 1, &node, &node));
    return push_node(in, node, out);
}

Answer
device_ptp(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node = NO_NODE, pair[2];
    Reduced r;
    TRY(operand_of(in, rule, args, &r, &node));
    Type own = node_type(in, args[0]->node);
    DType dtype = (DType)own.dtype;
    if (dtype == DT_BOOL || dtype_is_half(dtype))
        return device_break(in, args[0], "the range of such numbers");
    TRY(reduce_node(in, OP_max, node, &own, dtype, &r, &pair[0]));
    TRY(reduce_node(in, OP_min, node, &own, dtype, &r, &pair[1]));
    TRY(device_named(in, "subtract", 2, pair, &node));
    return push_node(in, node, out);
}

/* ---- arg-reductions ---- */

/* Does CuPy leave an arg-reduction of all elements to CUB (_routines_statistics.pyx,
   _ndarray_argmax)? CUB has none of bools, of which CuPy makes int8 in one case. */
static bool
is_cubs(Interp *in, Op op, const Type *type)
{
    bool fortran = type_is_fortran(in->graph, type);
    if (type->dtype == DT_BOOL) return op == OP_argmax && fortran;
    return fortran || type_is_contiguous(in->graph, type);
}

/* The first element of those that are equal, and the first that is no number, as NumPy's; which one
   CuPy finds of several that are no number depends on its launch. */
Answer
device_arg_reduce(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node = NO_NODE;
    Reduced r;
    Value *axis = rule_arg(rule, args, "axis");
    if (axis != NULL && value_is_sequence(axis))
        return interp_break(in, BREAK_DEVICE, "an arg-reduction along several axes");
    TRY(operand_of(in, rule, args, &r, &node));
    Type type = node_type(in, node), own = node_type(in, args[0]->node);
    if (type.dtype == DT_BF16) return device_break(in, args[0], "an arg-reduction of bfloat16");
    bool by_cub = r.n == type.rank && is_cubs(in, (Op)op_from_name(rule->data), &own);
    if (dtype_is_half((DType)type.dtype)) TRY(node_cast(in, node, DT_F32, &node));
    if (r.n > 1 && !type_is_contiguous(in->graph, &type)) /* indices count in C order */
        TRY(node_copy(in, node, 'C', &node));
    TRY(reduce_node(in, (Op)op_from_name(rule->data), node, &own, DT_I64, &r, &node));
    graph_node(in->graph, node)->type.long_long = !by_cub; /* whose results are of `long` */
    return push_node(in, node, out);
}
