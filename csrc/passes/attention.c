/* Attention on a device: softmax(scores) @ v becomes one node, where the scores are any elementwise
   expression of q @ k^T.  In: the nodes as a program writes them,

       p = q @ k^T               a call of the array library
       s = an expression of p    scale, masks, biases, …: nodes of any number
       e = exp(s - max(s))       over the last axis
       e / sum(e) @ v            or (e @ v) / sum(e)

   with conversions between 16-bit floats and float32 anywhere.  Out: an `attention`, whose region
   has copies of the nodes of s, in float32 where they come from p: the kernel rounds to 16 bits
   only what the second product takes.  Indices that `arange` made are the region's params, and what
   the expression reads besides are arguments.  A gradient, which reads the weights too, becomes
   nodes of its own (attention_back.c).  Everything else stays as it is: other head sizes and
   dtypes, layouts that tiles cannot be copied from, values in between that have other uses.

   The idea is that of FlashAttention: Dao et al. 2022. */
#include "../arrays/arrays.h"
#include "attention.h"

enum { ALIGNED = 16, MOST_NODES = 200 };

/* ---- the softmax ---- */

static bool
is_float(const Graph *g, NodeId id)
{
    DType dtype = (DType)graph_node(g, id)->type.dtype;
    return dtype == DT_F32 || dtype_is_half(dtype);
}

/* `astype` to an array's own dtype is a call of the library, which copies. */
static bool
is_conversion(const Match *m, const Node *node)
{
    return node->op == OP_cast || (node->op == OP_extern && node->nargs == 2 && m->astype != NULL &&
                                   node->attrs.object == m->astype && node->attrs.kwnames == NULL &&
                                   node->type.form == FORM_ARRAY);
}

NodeId
attention_unrounded(const Match *m, NodeId id)
{
    const Graph *g = m->g;
    const Node *node = graph_node(g, id);
    while (is_conversion(m, node) && is_float(g, id) && is_float(g, node->args[0]) &&
           node->type.rank > 0) {
        id = node->args[0];
        node = graph_node(g, id);
    }
    return id;
}

/* Does `id` have one element for each row of `whole`, in its place? */
static bool
is_per_row(const Graph *g, NodeId id, const Type *whole)
{
    const Type *type = &graph_node(g, id)->type;
    if (type->rank != whole->rank || !size_is_one(g, type->shape[type->rank - 1]) ||
        !size_is_const(g, type->offset) || size_value(g, type->offset) != 0)
        return false;
    for (int axis = 0; axis < type->rank - 1; axis++)
        if (!size_same(g, type->shape[axis], whole->shape[axis])) return false;
    return type_is_contiguous(g, type);
}

NodeId
attention_reduced_row(const Match *m, NodeId id, Op op, const Type *whole)
{
    const Graph *g = m->g;
    if (!is_per_row(g, id, whole)) return NO_NODE;
    for (;;) {
        const Node *node = graph_node(g, id);
        if (op_info(node->op)->kind == KIND_VIEW)
            id = node->storage;
        else if (attention_unrounded(m, id) != id)
            id = attention_unrounded(m, id);
        else if (node->op == op && node->attrs.nints == 1 &&
                 node->attrs.ints[0] == graph_node(g, node->args[0])->type.rank - 1 &&
                 graph_node(g, node->args[0])->type.rank == whole->rank && is_float(g, id))
            return attention_unrounded(m, node->args[0]);
        else
            return NO_NODE;
    }
}

/* s, of e = exp(s - max(s)); NO_NODE for anything else. */
static NodeId
exponent(const Match *m, NodeId e)
{
    const Graph *g = m->g;
    const Node *node = graph_node(g, e);
    if (node->op != OP_exp || !is_float(g, e)) return NO_NODE;
    NodeId difference = attention_unrounded(m, node->args[0]);
    node = graph_node(g, difference);
    if (node->op != OP_subtract || !is_float(g, difference)) return NO_NODE;
    NodeId scores = attention_unrounded(m, node->args[0]);
    return attention_reduced_row(m, node->args[1], OP_max, &graph_node(g, node->args[0])->type) ==
                   scores
               ? scores
               : NO_NODE;
}

/* ---- products ---- */

bool
attention_is_product(const Match *m, NodeId id)
{
    return call_multiplies(&m->multiplying, m->g, graph_node(m->g, id)) && is_float(m->g, id);
}

bool
attention_has_aligned_rows(const Graph *g, NodeId id, int across)
{
    const Type *type = &graph_node(g, id)->type;
    if (graph_node(g, graph_node(g, id)->storage)->type.unaligned ||
        !size_divides(g, ALIGNED, type->offset) || !size_is_const(g, type->stride[across]) ||
        size_value(g, type->stride[across]) != (int64_t)dtype_size((DType)type->dtype))
        return false;
    for (int axis = 0; axis < type->rank; axis++)
        if (axis != across && !size_is_one(g, type->shape[axis]) &&
            !size_divides(g, ALIGNED, type->stride[axis]))
            return false;
    return true;
}

static SizeId
length_of(const Graph *g, NodeId id, int from_end)
{
    const Type *type = &graph_node(g, id)->type;
    return type->shape[type->rank - from_end];
}

/* q, k^T and v fit one another and the kernel: one dtype, one batch, axes of more than one element.
 */
static bool
factors_fit(const Match *m, NodeId out)
{
    const Graph *g = m->g;
    NodeId q = graph_node(g, m->first)->args[0], k = graph_node(g, m->first)->args[1], v = m->v;
    const Type *tq = &graph_node(g, q)->type, *tk = &graph_node(g, k)->type;
    const Type *tv = &graph_node(g, v)->type, *to = &graph_node(g, out)->type;
    int rank = tq->rank;
    if (rank < 2 || tk->rank != rank || tv->rank != rank || to->rank != rank) return false;
    if (!dtype_is_half((DType)tq->dtype) || tk->dtype != tq->dtype || tv->dtype != tq->dtype ||
        (to->dtype != tq->dtype && to->dtype != DT_F32))
        return false;
    for (int axis = 0; axis < rank - 2; axis++)
        if (!size_same(g, tq->shape[axis], tk->shape[axis]) ||
            !size_same(g, tq->shape[axis], tv->shape[axis]))
            return false;
    return size_value(g, length_of(g, q, 2)) > 1 && size_value(g, length_of(g, k, 1)) > 1 &&
           size_same(g, length_of(g, k, 1), length_of(g, v, 2)) && type_is_contiguous(g, to) &&
           attention_has_aligned_rows(g, q, rank - 1) &&
           attention_has_aligned_rows(g, k, rank - 2) &&
           attention_has_aligned_rows(g, v, rank - 1) && attention_has_head(g, tq, tk, tv);
}

/* ---- the scores ---- */

/* A node that is copied into the region; other values are read. */
static bool
is_copied(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    return op_info(node->op)->kind == KIND_POINTWISE && node->type.device != DEVICE_HOST &&
           node->type.rank > 0 && node_way(g, node) == WAY_EXPRESSION;
}

/* Does the value come from the first product?  Its copy is in float32 then. */
static bool
depends(Match *m, NodeId id)
{
    if (m->depends[id] >= 0) return m->depends[id] != 0;
    const Node *node = graph_node(m->g, id);
    bool found = id == m->first || id == m->back.ds;
    m->depends[id] = 0;
    for (int k = 0; k < node->nargs && !found && is_copied(m->g, id); k++)
        found = depends(m, node->args[k]);
    m->depends[id] = found;
    return found;
}

/* The product is read by copied nodes alone, and has the scores' shape; all operations that are
   now in float32 exist there. */
static bool
scores_fit(Match *m, NodeId id, int depth)
{
    const Graph *g = m->g;
    const Node *node = graph_node(g, id);
    if (depth > MOST_NODES || ++m->count > MOST_NODES) return false;
    if (id == m->first || id == m->back.ds) return true;
    if (!is_copied(g, id)) return !m->reached[id];
    if (!depends(m, id)) return true;
    if (!type_same_shape(&node->type, &m->domain)) return false;
    if (dtype_is_half((DType)node->type.dtype) && !op_is_on(node->op, DT_F32, DEVICE_CUDA))
        return false;
    for (int k = 0; k < node->nargs; k++)
        if (!scores_fit(m, node->args[k], depth + 1)) return false;
    return true;
}

static NodeId
add(Match *m, Op op, int nargs, const NodeId *args, DType dtype)
{
    Type type;
    if (type_contiguous(m->g, &type, dtype, m->domain.rank, m->domain.shape) < 0) return NO_NODE;
    type.device = m->domain.device;
    return graph_add(m->g, m->region, op, nargs, args, &type, NULL);
}

/* An `arange` of int64 whose step is 1, and which starts at a known number: which. */
static bool
counts_from(const Match *m, const Node *node, int64_t *start)
{
    if (node->op != OP_extern || node->attrs.object != m->arange || m->arange == NULL ||
        node->attrs.kwnames != NULL || node->type.dtype != DT_I64 || node->nargs > 2)
        return false;
    *start = 0;
    if (node->nargs < 2) return true;
    PyObject *first = graph_node(m->g, node->args[0])->attrs.object;
    if (first == NULL || !PyLong_CheckExact(first)) return false;
    *start = PyLong_AsLongLong(first);
    if (PyErr_Occurred()) PyErr_Clear();
    return true;
}

/* The param that a view of an `arange` repeats, and what is added to it; NO_NODE: none. */
static NodeId
index_of(const Match *m, NodeId id, int64_t *start)
{
    const Graph *g = m->g;
    const Type *type = &graph_node(g, id)->type;
    NodeId param = NO_NODE;
    if (type->form != FORM_ARRAY || type->rank == 0 || !size_is_const(g, type->offset) ||
        !counts_from(m, graph_node(g, graph_node(g, id)->storage), start))
        return NO_NODE;
    for (int axis = 0; axis < type->rank; axis++) {
        int from_end = type->rank - axis;
        int64_t stride = size_value(g, type->stride[axis]);
        if (!size_is_const(g, type->stride[axis])) return NO_NODE;
        if (size_is_one(g, type->shape[axis]) || stride == 0) continue;
        if (from_end > 2 || param != NO_NODE || stride != (int64_t)sizeof(int64_t)) return NO_NODE;
        param = g->regions.at[m->region].params.at[from_end == 2 ? 1 : 2];
    }
    *start += size_value(g, type->offset) / (int64_t)sizeof(int64_t);
    return param;
}

static NodeId
add_number(Match *m, int64_t number)
{
    Type type = type_scalar(DT_I64, FORM_PYTHON);
    PyObject *object = PyLong_FromLongLong(number);
    if (object == NULL) return NO_NODE;
    NodeId id = graph_const(m->g, m->region, object, &type);
    Py_DECREF(object); /* the keep list has it */
    return id;
}

/* A value that no node of the region makes. */
static NodeId
add_outer(Match *m, NodeId id)
{
    int64_t start;
    NodeId param = index_of(m, id, &start);
    if (param != NO_NODE) {
        NodeId both[2] = {param, start == 0 ? NO_NODE : add_number(m, start)};
        if (start != 0 && both[1] == NO_NODE) return NO_NODE;
        return start == 0 ? param : add(m, OP_add, 2, both, DT_I64);
    }
    return VEC_PUSH(m->g->arena, &m->args, id) < 0 ? NO_NODE : id;
}

/* The node's copy.  NO_NODE with the error set. */
static NodeId
add_copy(Match *m, NodeId id)
{
    NodeId args[3] = {NO_NODE, NO_NODE, NO_NODE};
    if (m->copy[id] != NO_NODE) return m->copy[id];
    if (!is_copied(m->g, id)) return m->copy[id] = add_outer(m, id);
    bool widens = depends(m, id);
    for (int k = 0; k < graph_node(m->g, id)->nargs; k++) {
        if ((args[k] = add_copy(m, graph_node(m->g, id)->args[k])) == NO_NODE) return NO_NODE;
        bool half = dtype_is_half((DType)graph_node(m->g, args[k])->type.dtype);
        if (widens && half && graph_node(m->g, id)->op != OP_cast &&
            (args[k] = add(m, OP_cast, 1, &args[k], DT_F32)) == NO_NODE)
            return NO_NODE;
    }
    const Node *node = graph_node(m->g, id);
    DType dtype = (DType)node->type.dtype;
    if (widens && dtype_is_half(dtype)) dtype = DT_F32;
    if (node->op == OP_cast && graph_node(m->g, args[0])->type.dtype == dtype)
        return m->copy[id] = args[0];
    graph_set_position(m->g, node->file, node->line);
    return m->copy[id] = add(m, node->op, node->nargs, args, dtype);
}

static int
add_param(Match *m, DType dtype)
{
    Type type;
    if (type_contiguous(m->g, &type, dtype, m->domain.rank, m->domain.shape) < 0) return -1;
    type.device = m->domain.device;
    return graph_input(m->g, m->region, &type) == NO_NODE ? -1 : 0;
}

static int
add_result(Match *m, NodeId of)
{
    NodeId result = add_copy(m, of);
    Region *region = &m->g->regions.at[m->region];
    return result == NO_NODE ? -1 : VEC_PUSH(m->g->arena, &region->results, result);
}

/* With the slopes' expression where there is a gradient. */
static int
add_region(Match *m)
{
    static const DType params[] = {DT_F32, DT_I64, DT_I64, DT_F32}; /* graph.h, `attention` */
    Graph *g = m->g;
    bool has_slopes = m->back.ds != NO_NODE;
    m->region = graph_region(g, NO_NODE);
    if (m->region == NO_REGION) return -1;
    for (int i = 0; i < 3 + has_slopes; i++)
        if (add_param(m, params[i]) < 0) return -1;
    for (int i = 0; i < m->len; i++) m->copy[i] = NO_NODE;
    m->copy[m->first] = g->regions.at[m->region].params.at[0];
    if (has_slopes) m->copy[m->back.ds] = g->regions.at[m->region].params.at[3];
    if (add_result(m, m->scores) < 0) return -1;
    return has_slopes ? add_result(m, m->back.dfirst) : 0;
}

/* ---- the whole ---- */

/* The results that stay: the attention's, and the gradients.  Returns how many. */
static int
find_outs(const Match *m, NodeId out, NodeId outs[MOST_OUTS])
{
    const NodeId all[MOST_OUTS] = {out, m->back.dv, m->back.dq, m->back.dk};
    int count = 0;
    for (int i = 0; i < MOST_OUTS; i++)
        if (all[i] != NO_NODE) outs[count++] = all[i];
    return count;
}

static bool
is_among(const NodeId *nodes, int count, NodeId id)
{
    for (int i = 0; i < count; i++)
        if (nodes[i] == id) return true;
    return false;
}

/* Marks what comes from the first product, and from the slopes of its weights, without the results
   that stay. */
static void
find_reached(Match *m, NodeId out)
{
    const Graph *g = m->g;
    const Region *top = &g->regions.at[0];
    NodeId outs[MOST_OUTS];
    int count = find_outs(m, out, outs);
    memset(m->reached, 0, (size_t)m->len * sizeof(bool));
    m->reached[m->first] = true;
    if (m->back.dp != NO_NODE) m->reached[m->back.dp] = true;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(g, id);
        for (int k = 0; k < node->nargs; k++)
            if (m->reached[node->args[k]] && !is_among(outs, count, id)) m->reached[id] = true;
    }
}

/* Are all uses of what comes from the first product on the way to results that stay?  Then nobody
   misses it. */
static bool
is_private(Match *m, NodeId out)
{
    const Graph *g = m->g;
    int32_t seen = 0, all = 0;
    NodeId outs[MOST_OUTS], last = out;
    int count = find_outs(m, out, outs);
    memset(m->wanted, 0, (size_t)m->len * sizeof(bool));
    for (int i = 0; i < count; i++) {
        m->wanted[outs[i]] = true;
        last = Py_MAX(last, outs[i]);
    }
    for (NodeId id = last; id >= 0; id--) {
        const Node *node = graph_node(g, id);
        if (!m->wanted[id]) continue;
        if (!is_among(outs, count, id)) all += m->uses[id];
        if (id == m->first || id == m->back.dp) continue;
        for (int k = 0; k < node->nargs; k++) {
            if (!m->reached[node->args[k]]) continue;
            m->wanted[node->args[k]] = true;
            seen++;
        }
    }
    return seen == all;
}

static const BackMatch no_back = {NO_NODE, NO_NODE, NO_NODE, NO_NODE, NO_NODE, NO_NODE, NO_NODE};

/* Is `out` an attention's result?  Fills in the match, without a gradient. */
static bool
find(Match *m, NodeId out)
{
    const Graph *g = m->g;
    const Node *node = graph_node(g, out);
    NodeId e = NO_NODE, second = out, sums = NO_NODE;
    m->weights = NO_NODE;
    m->back = no_back;
    if (node->op == OP_divide && is_float(g, out) && node->type.device != DEVICE_HOST) {
        second = attention_unrounded(m, node->args[0]);
        sums = node->args[1];
        if (!attention_is_product(m, second)) return false;
        e = attention_unrounded(m, graph_node(g, second)->args[0]);
    } else if (attention_is_product(m, out)) {
        NodeId quotient = attention_unrounded(m, node->args[0]);
        node = graph_node(g, quotient);
        if (node->op != OP_divide || !is_float(g, quotient)) return false;
        m->weights = quotient;
        e = attention_unrounded(m, node->args[0]);
        sums = node->args[1];
    } else
        return false;
    m->scores = exponent(m, e);
    if (m->scores == NO_NODE ||
        attention_reduced_row(m, sums, OP_sum, &graph_node(g, e)->type) != e)
        return false;
    m->v = graph_node(g, second)->args[1];
    return true;
}

/* Finds the first product among what the scores are made of: the only one. */
static NodeId
find_first(Match *m, NodeId id)
{
    const Node *node = graph_node(m->g, id);
    if (attention_is_product(m, id)) return id;
    if (++m->count > MOST_NODES) return NO_NODE;
    for (int k = 0; k < node->nargs && is_copied(m->g, id); k++) {
        NodeId found = find_first(m, node->args[k]);
        if (found != NO_NODE) return found;
    }
    return NO_NODE;
}

int
attention_become(Match *m, NodeId id, Op op, const NodeId *factors, int count, int64_t part)
{
    Graph *g = m->g;
    m->args.len = 0;
    for (int i = 0; i < count; i++)
        if (VEC_PUSH(g->arena, &m->args, factors[i]) < 0) return -1;
    if (add_region(m) < 0) return -1;
    NodeId *args = arena_copy(g->arena, m->args.at, sizeof(NodeId) * (size_t)m->args.len);
    if (args == NULL) return -1;
    Node *node = graph_node(g, id);
    node->op = op;
    node->args = args;
    node->nargs = m->args.len;
    node->attrs = (Attrs){.index = part};
    graph_own(g, id, m->region);
    return 0;
}

/* The nodes of `out` become an attention in its place.  0 or -1. */
static int
fuse(Match *m, NodeId out)
{
    const Node *first = graph_node(m->g, m->first);
    const NodeId factors[] = {first->args[0], first->args[1], m->v};
    return attention_become(m, out, OP_attention, factors, 3, 0);
}

/* Calls without effect that nothing reads any more; others are kept since they may fail. */
static void
drop_unused(Match *m)
{
    Region *top = &m->g->regions.at[0];
    for (int i = top->nodes.len; i-- > 0;) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(m->g, id);
        bool counts = node->op == OP_extern && node->attrs.object == m->arange && m->arange != NULL;
        bool plain = op_info(node->op)->kind == KIND_POINTWISE ||
                     op_info(node->op)->kind == KIND_VIEW ||
                     op_info(node->op)->kind == KIND_REDUCTION;
        plain = plain || is_conversion(m, node);
        if (m->uses[id] > 0 || !(counts || plain || attention_is_product(m, id))) continue;
        if (plain && node->type.device == DEVICE_HOST) continue;
        for (int k = 0; k < node->nargs; k++) m->uses[node->args[k]]--;
        for (int at = i; at + 1 < top->nodes.len; at++) top->nodes.at[at] = top->nodes.at[at + 1];
        top->nodes.len--;
    }
}

bool
attention_fits(Match *m, NodeId id)
{
    m->count = 0;
    return scores_fit(m, id, 0) && type_same_shape(&graph_node(m->g, id)->type, &m->domain);
}

static bool
is_whole(Match *m, NodeId out)
{
    memset(m->depends, -1, (size_t)m->len);
    find_reached(m, out);
    return !m->reached[m->v] && attention_fits(m, m->scores) && is_private(m, out);
}

/* What of the match `find` has not asked: without a gradient, or else with one. */
static bool
fits(Match *m, NodeId out)
{
    m->count = 0;
    m->first = find_first(m, m->scores);
    if (m->first == NO_NODE || !factors_fit(m, out)) return false;
    m->domain = graph_node(m->g, m->first)->type;
    if (is_whole(m, out)) return true;
    return m->weights != NO_NODE && attention_find_back(m, out) && is_whole(m, out) &&
           attention_fits(m, m->back.dfirst);
}

static int
allocate(Match *m)
{
    Arena *arena = m->g->arena;
    size_t n = (size_t)m->g->nodes.len + 1;
    m->len = m->g->nodes.len;
    m->uses = node_uses(m->g);
    m->copy = arena_alloc(arena, n * sizeof(NodeId));
    m->depends = arena_alloc(arena, n);
    m->reached = arena_alloc(arena, n * sizeof(bool));
    m->wanted = arena_alloc(arena, n * sizeof(bool));
    bool made = m->uses != NULL && m->copy != NULL && m->depends != NULL && m->reached != NULL &&
                m->wanted != NULL;
    return made ? 0 : -1;
}

/* Fuses one attention: ANSWER_NO when there is none. */
static Answer
fuse_next(Match *m)
{
    const Region *top = &m->g->regions.at[0];
    if (allocate(m) < 0) return ANSWER_ERROR;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId out = top->nodes.at[i];
        if (!find(m, out) || !fits(m, out)) continue;
        if (m->back.ds != NO_NODE && attention_fuse_back(m, out) < 0) return ANSWER_ERROR;
        m->back = no_back;
        if (fuse(m, out) < 0 || allocate(m) < 0) return ANSWER_ERROR;
        drop_unused(m);
        return ANSWER_YES;
    }
    return ANSWER_NO;
}

static bool
has_calls(const Graph *g)
{
    int found = 0;
    for (NodeId id = 0; id < g->nodes.len; id++)
        found +=
            graph_node(g, id)->op == OP_extern && graph_node(g, id)->type.device != DEVICE_HOST;
    return found >= 2;
}

int
pass_attention(Graph *g)
{
    Match m = {.g = g};
    if (!has_calls(g)) return 0;
    const ArrayLibrary *library = array_library_on(DEVICE_CUDA);
    if (multiplying_find(&m.multiplying) < 0) return -1;
    m.arange = array_library_function(library, "arange");
    m.astype = array_library_function(library, "ndarray.astype");
    Answer answer = PyErr_Occurred() ? ANSWER_ERROR : ANSWER_YES;
    while (answer == ANSWER_YES) answer = fuse_next(&m);
    multiplying_give_back(&m.multiplying);
    Py_XDECREF(m.arange);
    Py_XDECREF(m.astype);
    return answer == ANSWER_ERROR ? -1 : 0;
}
