/* Cumulative sums and products on a device.  In: calls of the array library's `cumsum` and
   `cumprod`, with the axis or without.  Out: a `cumsum` or `cumprod` node over any layout, which a
   kernel computes.  The result's layout is that of the library's, which capture has seen: of some
   the scanned axis is the last in memory. */
#include "rewrite.h"

enum { FUNCTIONS = 4 }; /* `cumsum` and `cumprod`, and the methods */

typedef struct {
    Graph *g;
    PyObject *function[FUNCTIONS]; /* NULL: the library has none */
    Region top;                    /* as it becomes */
} Scans;

/* What a call scans; `axis` -1: all elements in a row. */
typedef struct {
    Op op;
    NodeId array;
    int axis;
} Scanned;

static Op
op_of_call(const Scans *s, const Node *node)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (s->function[i] != NULL && node->attrs.object == s->function[i])
            return i % 2 == 0 ? OP_cumsum : OP_cumprod;
    return OP_extern;
}

/* The axis alone may be given besides the array, with its name or without. */
static bool
read_axis(const Graph *g, const Node *node, int rank, int *axis)
{
    PyObject *names = node->attrs.kwnames;
    *axis = -1;
    if (node->nargs == 1) return names == NULL;
    if (node->nargs != 2 || (names != NULL && PyUnicode_CompareWithASCIIString(
                                                  PyTuple_GET_ITEM(names, 0), "axis") != 0))
        return false;
    return call_axis(g, node->args[1], rank, axis);
}

/* Do the elements lie in C order, or so with the scanned axis after all others? */
static bool
is_dense(const Graph *g, const Type *result, int scanned)
{
    int64_t step = (int64_t)dtype_size((DType)result->dtype);
    if (type_is_contiguous(g, result)) return true;
    for (int i = result->rank; i >= 0; i--) {
        int axis = i == result->rank ? scanned : i;
        if (axis < 0 || (axis == scanned && i < result->rank)) continue;
        if (size_value(g, result->stride[axis]) != step) return false;
        step *= size_value(g, result->shape[axis]);
    }
    return true;
}

static bool
read_call(const Scans *s, const Node *node, Scanned *out)
{
    const Graph *g = s->g;
    if (node->op != OP_extern || node->attrs.object == NULL || node->nargs == 0) return false;
    *out = (Scanned){.op = op_of_call(s, node), .array = node->args[0]};
    const Type *from = &graph_node(g, out->array)->type, *to = &node->type;
    if (out->op == OP_extern || from->form != FORM_ARRAY || from->device == DEVICE_HOST ||
        to->form != FORM_ARRAY || from->device != to->device || !type_is_known(g, from) ||
        !type_is_known(g, to) || from->rank == 0 || type_elements(g, from) == 0 ||
        !read_axis(g, node, from->rank, &out->axis))
        return false;
    DType sum = dtype_is_half((DType)to->dtype) ? DT_F32 : (DType)to->dtype;
    Device device = (Device)from->device;
    if (!op_is_on(out->op, sum, device) || !op_is_on(OP_cast, (DType)from->dtype, device))
        return false;
    return to->rank == (out->axis < 0 ? 1 : from->rank) && is_dense(g, to, out->axis);
}

static NodeId
put_node(Scans *s, Op op, NodeId of, const Type *type, const Attrs *attrs)
{
    NodeId node = graph_make(s->g, op, 1, &of, type, attrs);
    return node == NO_NODE || top_put(s->g, &s->top, node) < 0 ? NO_NODE : node;
}

/* All elements in a row: a view, of a copy where they do not lie so. */
static NodeId
flat(Scans *s, NodeId array)
{
    Graph *g = s->g;
    Type from = graph_node(g, array)->type, type;
    if (!type_is_contiguous(g, &from)) {
        if (type_contiguous(g, &type, (DType)from.dtype, from.rank, from.shape) < 0) return NO_NODE;
        type.device = from.device;
        if ((array = put_node(s, OP_copy, array, &type, NULL)) == NO_NODE) return NO_NODE;
        from = type;
    }
    if (from.rank == 1) return array;
    int64_t count[1] = {type_elements(g, &from)};
    SizeId shape = size_const(g, count[0]);
    if (shape == NO_SIZE || type_contiguous(g, &type, (DType)from.dtype, 1, &shape) < 0)
        return NO_NODE;
    type.device = from.device;
    type.offset = from.offset;
    Attrs attrs = {.ints = arena_copy(g->arena, count, sizeof count), .nints = 1};
    return attrs.ints == NULL ? NO_NODE : put_node(s, OP_reshape, array, &type, &attrs);
}

static int
replace(Scans *s, NodeId id, const Scanned *scanned)
{
    Graph *g = s->g;
    graph_set_position(g, graph_node(g, id)->file, graph_node(g, id)->line);
    NodeId from = scanned->axis < 0 ? flat(s, scanned->array) : scanned->array;
    NodeId *args = from == NO_NODE ? NULL : arena_copy(g->arena, &from, sizeof from);
    if (args == NULL) return -1;
    Node *node = graph_node(g, id);
    node->op = scanned->op;
    node->args = args;
    node->nargs = 1;
    node->attrs = (Attrs){.index = Py_MAX(scanned->axis, 0)};
    return 0;
}

static int
visit(void *context, NodeId id)
{
    Scans *s = context;
    Scanned scanned;
    return read_call(s, graph_node(s->g, id), &scanned) ? replace(s, id, &scanned) : 0;
}

int
pass_scans(Graph *g)
{
    static const char *const names[FUNCTIONS] = {"cumsum", "cumprod", "ndarray.cumsum",
                                                 "ndarray.cumprod"};
    Scans s = {.g = g};
    return calls_rebuild(g, names, FUNCTIONS, s.function, &s.top, visit, &s);
}
