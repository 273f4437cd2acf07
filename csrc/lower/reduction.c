/* Which reductions have an order that is known to be NumPy's.  All others are extern calls: slower,
   and right by construction. */
#include "schedule.h"

static bool
real_float(DType dtype)
{
    return dtype == DT_F32 || dtype == DT_F64;
}

/* Is the result the same in any order? */
static bool
order_free(Op op, DType dtype)
{
    if (op == OP_all || op == OP_any) return dtype != DT_F16 && !dtype_is_complex(dtype);
    bool integer = dtype == DT_BOOL || dtype_is_integer(dtype);
    return integer && (op == OP_sum || op == OP_prod || op == OP_max || op == OP_min);
}

/* A sum or product of floats that a fast graph may compute in any order: in vectors, with several
   accumulators. */
static bool
is_reassociated(const Graph *g, const Node *node, DType dtype)
{
    return g->fast && real_float(dtype) && node->type.dtype == dtype &&
           (node->op == OP_sum || node->op == OP_prod);
}

/* Are these axes of more than one element together, as far as bounds show?  NumPy leaves axes of
   one element out, and where none is left behind the reduced ones, reduces along these. */
static bool
has_columns(const Graph *g, const Type *type, int n, const int *axes)
{
    int64_t least;
    for (int i = 0; i < n; i++)
        if (size_lower((Graph *)g, type->shape[axes[i]], &least) && least > 1) return true;
    return false;
}

/* NumPy's reduction loops see the argument with axes sorted by stride and coalesced where memory
   allows (nditer); where strides do not tell the order, nothing is claimed.  One reduced run
   innermost: a row.  One reduced run further out: columns, sequential.  Anything else: extern. */
ReductionForm
reduction_form(const Graph *g, const Node *node, ReduceOrder *order)
{
    const Node *arg = graph_node(g, node->args[0]);
    const Type *type = &arg->type;
    DType dtype = type->dtype;
    int axes[MAX_RANK];
    bool host = node->type.device == DEVICE_HOST;
    if (op_info(node->op)->kind != KIND_REDUCTION) return REDUCTION_EXTERN;
    bool finds = op_finds(node->op);
    if (finds && host) return REDUCTION_EXTERN;
    if (shape_is_empty(g, type->rank, type->shape)) return REDUCTION_EXTERN;
    if (!host &&
        !op_is_on(node->op, finds ? dtype : (DType)node->type.dtype, (Device)node->type.device))
        return REDUCTION_EXTERN;
    bool free = !host || order_free(node->op, dtype); /* devices have an order of their own */
    free = free || is_reassociated(g, node, dtype);
    bool integer = dtype == DT_BOOL || dtype_is_integer(dtype);
    if (!free && (node->type.dtype != dtype || !real_float(dtype))) return REDUCTION_EXTERN;
    if (host && free && !(node->op == OP_all || node->op == OP_any) && integer &&
        node->type.dtype == DT_BOOL && node->op != OP_max && node->op != OP_min)
        return REDUCTION_EXTERN;
    if (host && free && node->type.dtype != dtype && !(node->op == OP_all || node->op == OP_any) &&
        !dtype_is_integer(node->type.dtype))
        return REDUCTION_EXTERN;
    *order = free                  ? REDUCE_ANY_ORDER
             : node->op == OP_sum  ? REDUCE_PAIRWISE
             : node->op == OP_prod ? REDUCE_CALL
                                   : REDUCE_EXTREME;

    unsigned reduced = 0;
    for (int i = 0; i < node->attrs.nints; i++) reduced |= 1u << node->attrs.ints[i];
    int n = type_axes(g, type, axes);
    if (n < 0) return REDUCTION_EXTERN;
    int first = 0;
    while (first < n && !(reduced >> axes[first] & 1)) first++;
    if (first == n) { /* every reduced axis has length 1 */
        return n == 0 ? REDUCTION_ROWS : REDUCTION_EXTERN;
    }
    int last = first;
    while (last + 1 < n && (reduced >> axes[last + 1] & 1)) {
        if (!type_axis_follows(g, type, axes[last], axes[last + 1])) return REDUCTION_EXTERN;
        last++;
    }
    for (int i = last + 1; i < n; i++)
        if (reduced >> axes[i] & 1) return REDUCTION_EXTERN;
    if (last == n - 1) return REDUCTION_ROWS;
    for (int i = last + 1; i + 1 < n; i++)
        if (!type_axis_follows(g, type, axes[i], axes[i + 1])) return REDUCTION_EXTERN;
    /* products of floats are left to NumPy, which may copy the first row or multiply it by the
       identity */
    if (node->op == OP_prod && !free) return REDUCTION_EXTERN;
    if (!free && node->op != OP_sum && !has_columns(g, type, n - 1 - last, axes + last + 1))
        return REDUCTION_EXTERN;
    return REDUCTION_COLUMNS;
}
