/* Store to load: reads of a storage that was just written.

       %3 = scatter(%1, %2, view=V)
       %4 = a view of %3

   1. Where %4 covers exactly V, what elementwise operations read from it is %2.
   2. Where %4 and V have no byte in common, and so back to an input of the graph, %4 is the same
   view of that input.  Only of inputs: their memory is never written before commit, while keeping
   an older version of a fresh storage alive would cost a copy of it. Layouts must be constant.  A
   view that is an output stays: the program may see which memory it is.
   3. A write to exactly where the version before it was written needs the one before that.  Only of
   inputs, likewise. */
#include "rewrite.h"

/* ---- do two views of one storage overlap? ---- */

/* A view as index ranges per axis of its storage: first, last, and step between. */
typedef struct {
    int64_t low[MAX_RANK], high[MAX_RANK], step[MAX_RANK];
} Box;

static bool
is_constant(const Graph *g, const Type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (!size_is_const(g, type->shape[i]) || !size_is_const(g, type->stride[i])) return false;
    return size_is_const(g, type->offset);
}

/* The axes of a dense storage by falling stride; false when it is not dense, or has an axis that
   the stride does not tell apart (length 1, kept out of `order`). */
static bool
dense_axes(const Graph *g, const Type *root, int *order, int *n)
{
    *n = 0;
    for (int i = 0; i < root->rank; i++) {
        if (size_value(g, root->shape[i]) == 1) continue;
        if (size_value(g, root->shape[i]) == 0 || size_value(g, root->stride[i]) <= 0) return false;
        int at = (*n)++;
        while (at > 0 &&
               size_value(g, root->stride[order[at - 1]]) < size_value(g, root->stride[i])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    int64_t expected = (int64_t)dtype_size((DType)root->dtype);
    for (int k = *n - 1; k >= 0; k--) {
        if (size_value(g, root->stride[order[k]]) != expected) return false;
        expected *= size_value(g, root->shape[order[k]]);
    }
    return true;
}

/* Spreads the offset over the axes: the index of the view's first element. */
static bool
first_index(const Graph *g, const Type *root, const int *order, int n, int64_t offset, Box *box)
{
    if (offset < 0) return false;
    for (int k = 0; k < n; k++) {
        int64_t stride = size_value(g, root->stride[order[k]]);
        box->low[k] = box->high[k] = offset / stride;
        box->step[k] = 0;
        offset %= stride;
        if (box->low[k] >= size_value(g, root->shape[order[k]])) return false;
    }
    return offset == 0;
}

/* False when the view is no box in its storage's axes. */
static bool
to_box(const Graph *g, const Type *root, const int *order, int n, const Type *view, Box *box)
{
    if (!first_index(g, root, order, n, size_value(g, view->offset), box)) return false;
    for (int i = 0; i < view->rank; i++) {
        int64_t length = size_value(g, view->shape[i]), stride = size_value(g, view->stride[i]);
        if (length <= 1 || stride == 0) continue;
        int k = 0;
        while (k < n && llabs(stride) < size_value(g, root->stride[order[k]])) k++;
        if (k == n || stride % size_value(g, root->stride[order[k]]) != 0) return false;
        if (box->step[k] != 0) return false; /* two axes of the view on one of the storage */
        int64_t step = stride / size_value(g, root->stride[order[k]]);
        int64_t last = box->low[k] + step * (length - 1);
        if (last < 0 || last >= size_value(g, root->shape[order[k]])) return false;
        box->high[k] = step > 0 ? last : box->low[k];
        box->low[k] = step > 0 ? box->low[k] : last;
        box->step[k] = llabs(step);
    }
    return true;
}

static int64_t
common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool
apart_on(const Box *a, const Box *b, int k)
{
    if (a->high[k] < b->low[k] || b->high[k] < a->low[k]) return true;
    int64_t step = common_divisor(a->step[k], b->step[k]);
    return step > 1 && (a->low[k] - b->low[k]) % step != 0;
}

static bool
is_empty(const Graph *g, const Type *type)
{
    return type_elements(g, type) == 0;
}

static bool
are_disjoint(const Graph *g, const Type *root, const Type *x, const Type *y)
{
    int order[MAX_RANK], n;
    Box a, b;
    if (!is_constant(g, root) || !is_constant(g, x) || !is_constant(g, y)) return false;
    if (is_empty(g, x) || is_empty(g, y)) return true;
    if (x->dtype != root->dtype || y->dtype != root->dtype) return false;
    if (!dense_axes(g, root, order, &n)) return false;
    if (!to_box(g, root, order, n, x, &a) || !to_box(g, root, order, n, y, &b)) return false;
    for (int k = 0; k < n; k++)
        if (apart_on(&a, &b, k)) return true;
    return false;
}

/* ---- the rules ---- */

/* The value written to exactly where `view` reads, or NO_NODE. */
static NodeId
written_value(const Graph *g, NodeId view)
{
    const Node *node = graph_node(g, view);
    const Type *type = &node->type;
    NodeId from = node->storage;
    if (op_info(node->op)->kind != KIND_VIEW) from = view;
    const Node *scatter = graph_node(g, from);
    if (scatter->op != OP_scatter || !type_same_place(g, type, scatter->attrs.view)) return NO_NODE;
    const Type *value = &graph_node(g, scatter->args[1])->type;
    bool whole = value->rank == type->rank &&
                 memcmp(value->shape, type->shape, sizeof(SizeId) * type->rank) == 0;
    /* What is read is what was written only where no two elements share their place. */
    for (int i = 0; i < type->rank; i++)
        whole =
            whole && (size_value(g, type->stride[i]) != 0 || size_value(g, type->shape[i]) <= 1);
    return whole ? scatter->args[1] : NO_NODE;
}

/* Elementwise operations do not care how their arguments are laid out. */
static void
read_value(Rewrite *r, NodeId id)
{
    Node *node = graph_node(r->g, id);
    OpKind kind = op_info(node->op)->kind;
    bool any_layout = kind == KIND_POINTWISE || kind == KIND_UFUNC || kind == KIND_COPY;
    bool same_layout = kind == KIND_REDUCTION || kind == KIND_SCAN || kind == KIND_MATMUL;
    if (!any_layout && !same_layout && kind != KIND_SCATTER) return;
    if (kind == KIND_MATMUL && type_is_transpose(&graph_node(r->g, node->args[0])->type,
                                                 &graph_node(r->g, node->args[1])->type))
        return;
    for (int i = kind == KIND_SCATTER ? 1 : 0; i < node->nargs; i++) {
        NodeId value = written_value(r->g, node->args[i]);
        if (value == NO_NODE) continue;
        /* NumPy's loops may give other bits then. */
        if (kind == KIND_UFUNC && type_runs_backwards(r->g, &graph_node(r->g, node->args[i])->type))
            continue;
        if (same_layout && !type_same_layout(&graph_node(r->g, value)->type,
                                             &graph_node(r->g, node->args[i])->type))
            continue;
        node->args[i] = value;
    }
}

static bool
is_graph_input(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    return node->op == OP_input && node->attrs.index < g->inputs.len &&
           g->inputs.at[node->attrs.index] == id;
}

/* The view becomes one of `from`, at the place that its type says. */
static void
view_of(const Graph *g, NodeId id, NodeId from)
{
    Node *node = graph_node(g, id);
    node->op = graph_view_is_readonly(g, id) ? OP_broadcast : OP_as_strided;
    node->args[0] = node->storage = from;
    node->attrs.nints = 0;
}

/* Looks for the oldest version of the storage that has what the view reads. */
static void
read_past(Rewrite *r, NodeId id)
{
    const Graph *g = r->g;
    Node *node = graph_node(g, id);
    /* An earlier view may have moved to another version. */
    if (graph_node(g, node->args[0])->storage != node->storage) view_of(g, id, node->storage);
    if (r->uses[id] & (USE_OUTPUT | USE_WRITTEN)) return;
    NodeId from = node->storage;
    for (;;) {
        const Node *scatter = graph_node(g, from);
        if (scatter->op != OP_scatter) break;
        if (!are_disjoint(g, &scatter->type, &node->type, scatter->attrs.view)) break;
        from = scatter->args[0];
    }
    if (from == node->storage || !is_graph_input(g, from)) return;
    view_of(g, id, from);
}

/* m *= a; m += b; writes m once. */
static void
write_past(Rewrite *r, NodeId id)
{
    const Graph *g = r->g;
    Node *node = graph_node(g, id);
    const Node *old = graph_node(g, node->args[0]);
    if (old->op != OP_scatter || !type_same_place(g, node->attrs.view, old->attrs.view)) return;
    NodeId root = old->args[0];
    while (graph_node(g, root)->op == OP_scatter) root = graph_node(g, root)->args[0];
    if (!is_graph_input(g, root)) return;
    node->args[0] = old->args[0];
}

static int
visit(Rewrite *r, NodeId id, void *context)
{
    (void)context;
    if (graph_node(r->g, id)->op == OP_scatter) write_past(r, id);
    if (op_info(graph_node(r->g, id)->op)->kind == KIND_VIEW)
        read_past(r, id);
    else
        read_value(r, id);
    return 0;
}

int
pass_forward(Graph *graph)
{
    Rewrite r;
    return rewrite_begin(&r, graph) < 0 ? -1 : rewrite_walk(&r, visit, NULL);
}
