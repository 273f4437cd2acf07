/* Copies on a device.  In: calls of the array library's functions that give the elements of an
   array, in their order, as a fresh array in C order: a reshape that no strides allow, `copy`,
   `ascontiguousarray`.  Out: a `copy` by a kernel of ours, of which the result is a view.  An array
   that is written afterwards stays the library's: a scatter is into no view.

   An attention of which nothing but such a copy is read, with its axes in another order, is stored
   in that order at once, and there is no copy. */
#include "rewrite.h"

/* The most arguments with which they copy in C order; further ones give another order.  The method
   `reshape` takes that by name alone. */
static const struct {
    const char *name;
    int most;
} functions[] = {
    {"ndarray.reshape", MAX_RANK + 1},
    {"reshape", 2},
    {"ndarray.ravel", 1},
    {"ravel", 1},
    {"ndarray.flatten", 1},
    {"ndarray.copy", 1},
    {"copy", 1},
    {"ascontiguousarray", 1},
};

typedef struct {
    Graph *g;
    PyObject *function[COUNT_OF(functions)]; /* NULL: the library has none */
    int32_t *uses;                           /* per node, outputs included */
    bool *written;                           /* per node: a scatter makes a version of it */
    int len;                                 /* of `uses` */
    Region top;                              /* as it becomes */
} Copies;

static int
find_written(Copies *c)
{
    size_t bytes = sizeof(bool) * ((size_t)c->len + 1);
    c->written = arena_alloc(c->g->arena, bytes);
    if (c->written == NULL) return -1;
    memset(c->written, 0, bytes);
    for (NodeId id = 0; id < c->len; id++) {
        const Node *node = graph_node(c->g, id);
        if (op_info(node->op)->kind == KIND_SCATTER) c->written[node->args[0]] = true;
    }
    return 0;
}

static bool
is_copying_call(const Copies *c, const Node *node)
{
    if (node->op != OP_extern || node->nargs == 0 || node->attrs.kwnames != NULL) return false;
    for (int k = 1; k < node->nargs; k++)
        if (graph_node(c->g, node->args[k])->op != OP_const) return false;
    for (int i = 0; i < COUNT_OF(functions); i++)
        if (c->function[i] != NULL && node->attrs.object == c->function[i])
            return node->nargs <= functions[i].most;
    return false;
}

static Answer
same_count(Graph *g, const Type *a, const Type *b)
{
    SizeId one = type_count(g, a), other = type_count(g, b);
    if (one == NO_SIZE || other == NO_SIZE) return ANSWER_ERROR;
    return size_same(g, one, other) ? ANSWER_YES : ANSWER_NO;
}

/* Is the call's result the argument's elements in C order, for which there is a kernel? */
static Answer
is_copy(const Copies *c, const Node *node)
{
    Graph *g = c->g;
    if (node->type.device == DEVICE_HOST || node->type.form != FORM_ARRAY ||
        !is_copying_call(c, node))
        return ANSWER_NO;
    const Type *from = &graph_node(g, node->args[0])->type;
    bool fits = from->form == FORM_ARRAY && from->device == node->type.device &&
                from->dtype == node->type.dtype && type_is_contiguous(g, &node->type) &&
                type_elements(g, from) > 0 &&
                op_is_on(OP_cast, (DType)from->dtype, (Device)from->device);
    return fits ? same_count(g, from, &node->type) : ANSWER_NO;
}

/* How many nodes read the attention however it is stored. */
static int32_t
readers_in_any_order(const Copies *c, NodeId attention)
{
    const Region *top = &c->g->regions.at[0];
    int32_t count = 0;
    for (int i = 0; i < top->nodes.len; i++) {
        const Node *node = graph_node(c->g, top->nodes.at[i]);
        bool reads = node->op == OP_cast || node->op == OP_attention_sums;
        count += reads && node->args[0] == attention;
    }
    return count;
}

/* The attention of which `value` has all elements, with its axes in another order, and of which
   nothing else reads a view; NO_NODE for other values. */
static NodeId
attention_behind(const Copies *c, NodeId value)
{
    const Node *node = graph_node(c->g, value);
    while (value < c->len && c->uses[value] == 1 && node->op == OP_transpose) {
        value = node->args[0];
        node = graph_node(c->g, value);
    }
    if (value >= c->len || node->op != OP_attention) return NO_NODE;
    return c->uses[value] == 1 + readers_in_any_order(c, value) ? value : NO_NODE;
}

/* The kernel stores rows of elements that lie side by side. */
static bool
keeps_rows(const Graph *g, NodeId value)
{
    for (const Node *node = graph_node(g, value); node->op == OP_transpose;
         node = graph_node(g, node->args[0]))
        if (node->attrs.ints[node->type.rank - 1] != node->type.rank - 1) return false;
    return true;
}

/* The attention is stored so that `value` has the strides of `type`. */
static void
store_as(Graph *g, NodeId value, const Type *type)
{
    Type now = *type;
    for (;;) {
        Node *node = graph_node(g, value);
        memcpy(node->type.stride, now.stride, sizeof now.stride);
        if (node->op != OP_transpose) return;
        for (int i = 0; i < now.rank; i++) now.stride[node->attrs.ints[i]] = node->type.stride[i];
        value = node->args[0];
    }
}

/* A copy of the value in C order, or what it is itself stored in as such. */
static NodeId
in_order(Copies *c, NodeId value, const Node *call)
{
    Graph *g = c->g;
    Type from = graph_node(g, value)->type, type;
    if (type_contiguous(g, &type, (DType)from.dtype, from.rank, from.shape) < 0) return NO_NODE;
    type.device = from.device;
    if (attention_behind(c, value) != NO_NODE && keeps_rows(g, value)) {
        store_as(g, value, &type);
        return value;
    }
    graph_set_position(g, call->file, call->line);
    NodeId copy = graph_make(g, OP_copy, 1, &value, &type, NULL);
    return copy == NO_NODE || top_put(g, &c->top, copy) < 0 ? NO_NODE : copy;
}

/* The call becomes a view of the copy, and its views are the copy's. */
static int
replace(Copies *c, NodeId id)
{
    Graph *g = c->g;
    Node call = *graph_node(g, id);
    Attrs attrs = {.nints = call.type.rank};
    int64_t shape[MAX_RANK];
    for (int i = 0; i < call.type.rank; i++) shape[i] = size_value(g, call.type.shape[i]);
    attrs.ints = arena_copy(g->arena, shape, sizeof(int64_t) * (size_t)(call.type.rank + 1));
    NodeId of = in_order(c, call.args[0], &call);
    NodeId *args = arena_copy(g->arena, &of, sizeof of);
    if (of == NO_NODE || attrs.ints == NULL || args == NULL) return -1;
    Node *node = graph_node(g, id);
    node->op = OP_reshape;
    node->args = args;
    node->nargs = 1;
    node->attrs = attrs;
    NodeId storage = graph_node(g, of)->storage;
    for (NodeId i = 0; i < g->nodes.len; i++)
        if (graph_node(g, i)->storage == id) graph_node(g, i)->storage = storage;
    return 0;
}

static int
visit(void *context, NodeId id)
{
    Copies *c = context;
    if (c->written[id]) return 0;
    Answer copies = is_copy(c, graph_node(c->g, id));
    return copies == ANSWER_YES ? replace(c, id) : copies == ANSWER_ERROR ? -1 : 0;
}

int
pass_copies(Graph *g)
{
    Copies c = {.g = g, .len = g->nodes.len};
    const char *names[COUNT_OF(functions)];
    if (!graph_calls_device(g)) return 0;
    if ((c.uses = node_uses(g)) == NULL || find_written(&c) < 0) return -1;
    for (int i = 0; i < COUNT_OF(functions); i++) names[i] = functions[i].name;
    return calls_rebuild(g, names, COUNT_OF(functions), c.function, &c.top, visit, &c);
}
