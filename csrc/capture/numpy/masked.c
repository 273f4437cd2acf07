/* What a mask selects of an array: x[mask], and what is computed of that.
   `x[mask] = x[mask] ** 2 + y[mask]` needs no array of the selected elements: it is computed for
   all elements, and chosen by the mask where it is stored.  So the value of x[mask] is an opaque
   array (opaque.c), made by an OP_compress of which `whole` and `mask` are known, and an
   elementwise operation on such arrays is one on their wholes and an OP_compress of the result.  An
   OP_compress that nothing reads disappears; the others are calls like any other.

   NumPy reports floating-point errors of selected elements only: operands of what may report one
   are 1 where nothing is selected.  A report that is one too many would be a deopt, no more.

   Operations that cost more than reading the mask twice are left to steps, which are called for
   what is selected. */
#include "numpy.h"

/* ---- the same mask ---- */

/* Both nodes have the same elements, as far as can be told at once: capture merges no nodes, and a
   program often writes `x[x > 0] = f(x[x > 0])`. */
static bool
same_elements(const Graph *g, NodeId a, NodeId b, int depth)
{
    const Node *x = graph_node(g, a), *y = graph_node(g, b);
    if (a == b) return true;
    if (depth == 0 || x->op != y->op || x->nargs != y->nargs) return false;
    OpKind kind = op_info(x->op)->kind;
    if (x->op == OP_const)
        return x->attrs.object == y->attrs.object && type_same_kind(&x->type, &y->type);
    if (kind != KIND_POINTWISE && kind != KIND_VIEW && kind != KIND_UFUNC) return false;
    if (x->type.dtype == DT_OBJECT) return false;
    if (!type_same_place(g, &x->type, &y->type) || !attrs_same(g, &x->attrs, &y->attrs))
        return false;
    for (int i = 0; i < x->nargs; i++)
        if (!same_elements(g, x->args[i], y->args[i], depth - 1)) return false;
    return true;
}

static bool
same_mask(const Interp *in, NodeId a, NodeId b)
{
    enum { DEPTH = 6 };
    return same_elements(in->graph, a, b, DEPTH);
}

Answer
mask_widened(Interp *in, NodeId mask, int rank, NodeId *out)
{
    Type type = node_type(in, mask);
    *out = mask;
    if (type.rank == rank) return ANSWER_YES;
    for (; type.rank < rank; type.rank++) {
        type.shape[type.rank] = size_const(in->graph, 1);
        type.stride[type.rank] = size_const(in->graph, 0);
    }
    return node_view(in, OP_expand_dims, mask, &type, 0, NULL, out);
}

/* ---- values read through a mask ---- */

static const Opaque *
masked_of(Interp *in, const Value *value)
{
    if (!value_is_opaque(in, value)) return NULL;
    const Opaque *opaque = opaque_of(in, value->node);
    return opaque == NULL || opaque->whole == NO_NODE ? NULL : opaque;
}

NodeId
masked_whole(Interp *in, const Value *value)
{
    const Opaque *opaque = masked_of(in, value);
    return opaque == NULL ? NO_NODE : opaque->whole;
}

/* An array like those that the mask selects; kept.  In trials all is selected: a store by the mask
   takes such an array, and functions such as squeeze treat a single row as another case. */
static PyObject *
sample_of(Interp *in, const Type *whole, const Type *mask)
{
    int mask_rank = mask->rank;
    int64_t rows = Py_MAX(1, type_elements(in->graph, mask));
    DType dtype = (DType)whole->dtype;
    PyObject *make = numpy_object(dtype_is_integer(dtype) ? "zeros" : "ones");
    PyObject *type = keep(in, array_dtype_object(dtype));
    SizeId shape[MAX_RANK + 1] = {size_const(in->graph, rows)}; /* without symbols */
    int rank = whole->rank - mask_rank;
    for (int i = 0; i < rank; i++)
        shape[i + 1] = size_const(in->graph, size_value(in->graph, whole->shape[mask_rank + i]));
    PyObject *sizes = keep(in, graph_view_sizes(in->graph, rank + 1, shape));
    if (make == NULL || type == NULL || sizes == NULL) return NULL;
    return keep(in, PyObject_CallFunctionObjArgs(make, sizes, type, NULL));
}

static Answer
compress_node(Interp *in, NodeId whole, NodeId mask, NodeId *out)
{
    NodeId args[2] = {whole, mask};
    Type type = type_scalar(DT_OBJECT, FORM_OBJECT);
    Attrs attrs = {.object = module_kept(in, "pycompile._C", "array_select")};
    if (attrs.object == NULL) return ANSWER_ERROR;
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_compress, 2, args, &type, &attrs));
    return ANSWER_YES;
}

static Answer
masked_value(Interp *in, NodeId whole, NodeId mask, Value **out)
{
    NodeId node;
    Type type = node_type(in, whole), by = node_type(in, mask);
    PyObject *sample = sample_of(in, &type, &by);
    if (sample == NULL) return ANSWER_ERROR;
    TRY(compress_node(in, whole, mask, &node));
    TRY(opaque_value(in, node, sample, false, out));
    Opaque *opaque = opaque_of(in, node);
    opaque->whole = whole;
    opaque->mask = mask;
    return ANSWER_YES;
}

Answer
masked_read(Interp *in, NodeId array, NodeId mask, Value **out)
{
    enum { MOST = 1 << 24 }; /* elements of a sample */
    Type type = node_type(in, array), by = node_type(in, mask);
    if (in->loop != NULL || type.form != FORM_ARRAY || by.form != FORM_ARRAY) return ANSWER_NO;
    if (by.rank == 0 || by.rank > type.rank || type.rank - by.rank == MAX_RANK) return ANSWER_NO;
    for (int i = 0; i < by.rank; i++)
        if (by.shape[i] != type.shape[i]) return ANSWER_NO;
    int64_t elements = type_elements(in->graph, &type);
    if (elements == 0 || elements > MOST) return ANSWER_NO;
    return masked_value(in, array, mask, out);
}

/* How many elements the mask selects, as a size. */
static Answer
selected_count(Interp *in, NodeId mask, SizeId *out)
{
    Type by = node_type(in, mask), number = type_scalar(DT_I64, FORM_SCALAR);
    int64_t axes[MAX_RANK], most = type_elements(in->graph, &by);
    for (int i = 0; i < by.rank; i++) axes[i] = i;
    Attrs attrs = {.ints = axes, .nints = by.rank};
    NodeId ends[2];
    TRY(node_cast(in, mask, DT_I64, &mask));
    TRY_NODE(mask, graph_add(in->graph, in->region, OP_sum, 1, &mask, &number, &attrs));
    TRY(node_form(in, mask, FORM_PYTHON, &mask));
    number.form = FORM_PYTHON;
    for (int i = 0; i < 2; i++) {
        PyObject *end = keep(in, PyLong_FromLongLong(i == 0 ? 0 : most + 1));
        if (end == NULL) return ANSWER_ERROR;
        TRY_NODE(ends[i], graph_const(in->graph, in->region, end, &number));
    }
    Value *count = value_node(in, mask);
    if (count == NULL || range_note(in, mask, ends[0], ends[1], 1) < 0) return ANSWER_ERROR;
    return size_of_number(in, count, out);
}

Answer
masked_selected(Interp *in, Value *value, Value **out)
{
    const Opaque *opaque = masked_of(in, value);
    if (opaque == NULL || !sizes_may_vary(in) || opaque->viewed) return ANSWER_NO;
    if (opaque->selected != NULL && opaque->made_in == in->region) {
        *out = opaque->selected;
        return ANSWER_YES;
    }
    NodeId args[2] = {opaque->whole, opaque->mask}, node;
    Type whole = node_type(in, args[0]), by = node_type(in, args[1]), type;
    if (!type_is_known(in->graph, &by) || !type_is_known(in->graph, &whole)) return ANSWER_NO;
    SizeId shape[MAX_RANK + 1];
    int rank = whole.rank - by.rank + 1;
    TRY(selected_count(in, args[1], &shape[0]));
    for (int i = 1; i < rank; i++) shape[i] = whole.shape[by.rank + i - 1];
    if (type_contiguous(in->graph, &type, (DType)whole.dtype, rank, shape) < 0) return ANSWER_ERROR;
    Attrs attrs = {.object = module_kept(in, "pycompile._C", "array_select")};
    if (attrs.object == NULL) return ANSWER_ERROR;
    TRY_NODE(node, graph_add(in->graph, in->region, OP_compress, 2, args, &type, &attrs));
    if ((*out = value_node(in, node)) == NULL) return ANSWER_ERROR;
    Opaque *made = opaque_of(in, value->node);
    made->selected = *out;
    made->made_in = in->region;
    return ANSWER_YES;
}

/* ---- operations under a mask ---- */

typedef struct {
    NodeId mask;
    int rank; /* of what the mask selects, the selected axis not counted */
    NodeId nodes[MAX_ARGS];
    bool masked[MAX_ARGS];
} Masked;

/* ANSWER_NO: none of the operands is read through a mask, or they are by several, or another
   operand has an element for each that is selected. */
static Answer
masked_operands(Interp *in, int n, Value *const *values, Masked *m)
{
    *m = (Masked){.mask = NO_NODE};
    if (n > MAX_ARGS) return ANSWER_NO;
    for (int i = 0; i < n; i++) {
        const Opaque *opaque = masked_of(in, values[i]);
        if (opaque == NULL) continue;
        int rank = node_type(in, opaque->whole).rank - node_type(in, opaque->mask).rank;
        if (m->mask != NO_NODE && (rank != m->rank || !same_mask(in, m->mask, opaque->mask)))
            return ANSWER_NO;
        if (m->mask == NO_NODE) m->mask = opaque->mask;
        m->rank = rank;
        m->nodes[i] = opaque->whole;
        m->masked[i] = true;
    }
    if (m->mask == NO_NODE) return ANSWER_NO;
    for (int i = 0; i < n; i++) {
        if (m->masked[i]) continue;
        if (value_is_opaque(in, values[i])) return ANSWER_NO;
        TRY(operand(in, values[i], &m->nodes[i]));
        if (node_type(in, m->nodes[i]).rank > m->rank) return ANSWER_NO;
    }
    return ANSWER_YES;
}

/* Which of NumPy's own ufuncs it is, -1 for none, where it is cheap for these operands: an
   expression in registers, or a complex number's sum or product.  *reports: it may report an error.
 */
static Answer
cheap_op(Interp *in, PyObject *ufunc, int nargs, const Masked *m, int *op, bool *reports)
{
    const char *name = ufunc_name(ufunc);
    DType ins[MAX_ARGS], out;
    Type types[MAX_ARGS];
    const Type *pointers[MAX_ARGS];
    *op = -1;
    if (numpy_object(name) != ufunc) return ANSWER_YES;
    for (int i = 0; i < nargs; i++) {
        types[i] = node_type(in, m->nodes[i]);
        pointers[i] = &types[i];
    }
    Answer answer = ufunc_resolve(ufunc, nargs, pointers, 1, ins, &out);
    if (answer != ANSWER_YES) return answer == ANSWER_NO ? ANSWER_YES : answer;
    int found = op_from_ufunc(name, DEVICE_HOST);
    if (found < 0 || !op_is_exact((Op)found, ins[0])) return ANSWER_YES;
    for (int i = 0; i < nargs; i++) {
        DType from = (DType)types[i].dtype;
        bool exact = op_is_exact(OP_cast, from) && op_is_exact(OP_cast, ins[i]);
        if (types[i].rank > 0 && from != ins[i] && !exact) return ANSWER_YES;
        /* NumPy fails to write what it computes of bools into them where they are a temporary */
        if (m->masked[i] && from == DT_BOOL && out != DT_BOOL) return ANSWER_YES;
    }
    Node probe = {.op = (Op)found, .nargs = nargs, .args = (NodeId *)m->nodes};
    probe.type.dtype = out;
    *reports = node_may_report(in->graph, &probe);
    *op = found;
    return ANSWER_YES;
}

/* The node with 1 where the mask selects nothing. */
static Answer
safe_node(Interp *in, NodeId node, NodeId mask, NodeId *out)
{
    Type type = node_type(in, node);
    DType dtype = (DType)type.dtype;
    bool exact = dtype == DT_BOOL || dtype_is_integer(dtype);
    NodeId one = exact ? node_int(in, 1, dtype) : node_float(in, 1, dtype), wide;
    if (one == NO_NODE) return ANSWER_ERROR;
    TRY(mask_widened(in, mask, type.rank, &wide));
    TRY(node_where(in, wide, node, one, out));
    graph_node(in->graph, *out)->attrs.index = WHERE_GUARDS;
    return ANSWER_YES;
}

static Answer
whole_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, int dtype, Masked *m,
            NodeId *out)
{
    int op;
    bool reports;
    TRY(masked_operands(in, nargs, args, m));
    TRY(cheap_op(in, ufunc, nargs, m, &op, &reports));
    if (op < 0 || dtype >= 0) return ANSWER_NO;
    for (int i = 0; i < nargs; i++)
        if (m->masked[i] && reports) TRY(safe_node(in, m->nodes[i], m->mask, &m->nodes[i]));
    return node_ufunc(in, ufunc, nargs, m->nodes, -1, out);
}

/* A break becomes ANSWER_NO: a step does it. */
static Answer
no_break(Interp *in, Answer answer)
{
    if (answer != ANSWER_BREAK || in->raising.raised != NULL) return answer;
    break_take(in);
    return ANSWER_NO;
}

Answer
masked_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, int dtype, Value **out)
{
    Masked m;
    NodeId result;
    Answer answer = no_break(in, whole_ufunc(in, ufunc, nargs, args, dtype, &m, &result));
    return answer != ANSWER_YES ? answer : masked_value(in, result, m.mask, out);
}

Answer
masked_elements(Interp *in, const Value *value, NodeId mask, DType dtype, NodeId *out)
{
    const Opaque *opaque = masked_of(in, value);
    if (opaque == NULL || !same_mask(in, opaque->mask, mask)) return ANSWER_NO;
    *out = opaque->whole;
    Node probe = {.op = OP_cast, .nargs = 1, .args = out, .type = {.dtype = dtype}};
    if (node_type(in, *out).dtype != dtype && node_may_report(in->graph, &probe))
        return safe_node(in, *out, mask, out);
    return ANSWER_YES;
}

Answer
masked_inplace(Interp *in, PyObject *ufunc, int nargs, Value *const *args, Value *target,
               Value **out)
{
    const Opaque *opaque = masked_of(in, target);
    if (opaque == NULL || opaque->viewed) return ANSWER_NO;
    Type held = node_type(in, opaque->whole);
    Masked m;
    NodeId result;
    Answer answer = no_break(in, whole_ufunc(in, ufunc, nargs, args, -1, &m, &result));
    if (answer != ANSWER_YES) return answer;
    Type made = node_type(in, result);
    if (made.dtype != held.dtype || !type_same_shape(&made, &held)) return ANSWER_NO;
    Value *changed;
    TRY(masked_value(in, result, m.mask, &changed));
    target->node = changed->node;
    in->writes.dirty = true;
    *out = target;
    return ANSWER_YES;
}
