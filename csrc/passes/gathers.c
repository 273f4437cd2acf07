/* Elements by arrays of integers, on a device.  In: calls of the array library's `take`, with the
   axis or without, as which capture also writes x[i] and x[:, i].  Out: a `gather`, which kernels
   compute for each element as they do any operation: what makes the integers, and what is done with
   the elements, is in the same kernel.

   The array is seen as one of the result's shape: along the axes of the integers it repeats its
   first element, and the integer moves on from there.  Arrays that the graph writes, and results of
   one element, stay calls: a kernel that writes may read nothing else of what it writes. */
#include "rewrite.h"

typedef struct {
    Graph *g;
    PyObject *take[2]; /* the function and the method; NULL: the library has none */
    Region top;        /* as it becomes */
} Gathers;

/* What a call takes; `axis` -1: of all elements in a row. */
typedef struct {
    NodeId array, index;
    int axis;
} Taken;

static bool
is_known_array(const Graph *g, NodeId id)
{
    const Type *type = &graph_node(g, id)->type;
    return type->form == FORM_ARRAY && type->device != DEVICE_HOST && type_is_known(g, type) &&
           size_is_const(g, type->offset) && type_elements(g, type) > 0;
}

static bool
is_written(const Graph *g, NodeId array)
{
    NodeId root = storage_first(g, graph_node(g, array)->storage);
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->op == OP_scatter && storage_first(g, node->args[0]) == root) return true;
    }
    return false;
}

static bool
read_call(const Gathers *s, const Node *node, Taken *out)
{
    const Graph *g = s->g;
    if (node->op != OP_extern || node->nargs < 2 || node->nargs > 3 ||
        node->attrs.kwnames != NULL || node->attrs.object == NULL ||
        (node->attrs.object != s->take[0] && node->attrs.object != s->take[1]))
        return false;
    *out = (Taken){node->args[0], node->args[1], -1};
    if (!is_known_array(g, out->array) || !is_known_array(g, out->index) ||
        node->type.form != FORM_ARRAY || !type_is_known(g, &node->type))
        return false;
    const Type *array = &graph_node(g, out->array)->type;
    const Type *index = &graph_node(g, out->index)->type;
    if (node->nargs == 3 && !call_axis(g, node->args[2], array->rank, &out->axis)) return false;
    if (out->axis < 0 && !type_is_contiguous(g, array)) return false;
    int rank = index->rank + (out->axis < 0 ? 0 : array->rank - 1);
    return array->rank > 0 && index->rank > 0 && rank == node->type.rank &&
           array->dtype == node->type.dtype && dtype_is_integer((DType)index->dtype) &&
           index->dtype != DT_U64 && op_is_on(OP_cast, (DType)index->dtype, DEVICE_CUDA) &&
           op_is_on(OP_cast, (DType)array->dtype, DEVICE_CUDA) &&
           type_is_contiguous(g, &node->type) && type_elements(g, &node->type) > 1 &&
           !is_written(g, out->array);
}

static NodeId
add_view(Gathers *s, NodeId of, const Type *type)
{
    NodeId view = graph_make(s->g, OP_as_strided, 1, &of, type, NULL);
    return view == NO_NODE || top_put(s->g, &s->top, view) < 0 ? NO_NODE : view;
}

/* The array with the result's axes: those of the integers do not move in it. */
static NodeId
spread_array(Gathers *s, const Taken *t, const Type *result, int index_rank)
{
    Graph *g = s->g;
    Type from = graph_node(g, t->array)->type, type = *result;
    SizeId none = size_const(g, 0);
    if (none == NO_SIZE) return NO_NODE;
    type.offset = from.offset;
    for (int axis = 0; axis < type.rank; axis++) {
        int before = t->axis < 0 ? 0 : t->axis;
        bool integers = axis >= before && axis < before + index_rank;
        type.stride[axis] =
            integers ? none : from.stride[axis < before ? axis : axis - index_rank + 1];
    }
    return add_view(s, t->array, &type);
}

/* The integers with an axis of one element for each axis behind theirs. */
static NodeId
spread_index(Gathers *s, const Taken *t, const Type *result)
{
    Graph *g = s->g;
    Type type = graph_node(g, t->index)->type;
    int behind = result->rank - (t->axis < 0 ? 0 : t->axis) - type.rank;
    SizeId one = size_const(g, 1), item = size_const(g, (int64_t)dtype_size((DType)type.dtype));
    if (behind == 0) return t->index;
    if (one == NO_SIZE || item == NO_SIZE) return NO_NODE;
    for (int i = 0; i < behind; i++) {
        type.shape[type.rank] = one;
        type.stride[type.rank++] = item;
    }
    return add_view(s, t->index, &type);
}

static int
replace(Gathers *s, NodeId id, const Taken *t)
{
    Graph *g = s->g;
    const Type result = graph_node(g, id)->type, array = graph_node(g, t->array)->type;
    int64_t item = (int64_t)dtype_size((DType)array.dtype);
    int64_t axis[2] = {type_elements(g, &array), item};
    if (t->axis >= 0) {
        axis[0] = size_value(g, array.shape[t->axis]);
        axis[1] = size_value(g, array.stride[t->axis]);
    }
    graph_set_position(g, graph_node(g, id)->file, graph_node(g, id)->line);
    NodeId both[2] = {spread_array(s, t, &result, graph_node(g, t->index)->type.rank), NO_NODE};
    if (both[0] == NO_NODE || (both[1] = spread_index(s, t, &result)) == NO_NODE) return -1;
    NodeId *args = arena_copy(g->arena, both, sizeof both);
    int64_t *ints = arena_copy(g->arena, axis, sizeof axis);
    if (args == NULL || ints == NULL) return -1;
    Node *node = graph_node(g, id);
    node->op = OP_gather;
    node->args = args;
    node->nargs = 2;
    node->attrs = (Attrs){.ints = ints, .nints = 2};
    return 0;
}

static int
visit(void *context, NodeId id)
{
    Gathers *s = context;
    Taken taken;
    return read_call(s, graph_node(s->g, id), &taken) ? replace(s, id, &taken) : 0;
}

int
pass_gathers(Graph *g)
{
    static const char *const names[] = {"take", "ndarray.take"};
    Gathers s = {.g = g};
    return calls_rebuild(g, names, 2, s.take, &s.top, visit, &s);
}
