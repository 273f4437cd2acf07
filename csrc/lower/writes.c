/* Where writes go: in place, into a copy, or out at commit.

   Who reads a storage, and where, is asked for each write, so it is found once, and kept as nodes
   are inserted and arguments change.  What is inserted is kept aside, and put into the top region
   at the end. */
#include "schedule.h"

/* ---- who reads what, and where ---- */

static bool
is_view(const Graph *g, NodeId id)
{
    return op_info(graph_node(g, id)->op)->kind == KIND_VIEW;
}

/* A live node's argument is of the storage. */
static int
add_read(Lowering *lw, NodeId id, NodeId value)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    lw->nreads[storage]++;
    if (is_view(lw->graph, id)) return 0;
    Read read = {id, lw->reads[storage]};
    if (VEC_PUSH(lw->arena, &lw->read, read) < 0) return -1;
    lw->reads[storage] = lw->read.len;
    return 0;
}

static int
add_reads(Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    for (int k = 0; lw->live[id] && k < node->nargs; k++)
        if (add_read(lw, id, node->args[k]) < 0) return -1;
    return 0;
}

static int
find_reads(Lowering *lw)
{
    const Graph *g = lw->graph;
    const Region *top = &g->regions.at[0];
    memset(lw->reads, 0, sizeof(int32_t) * (size_t)lw->nnodes);
    memset(lw->nreads, 0, sizeof(int32_t) * (size_t)lw->nnodes);
    lw->read.len = 0;
    for (int i = 0; i < top->nodes.len; i++) lw->order[top->nodes.at[i]] = i + 1;
    for (NodeId id = 0; id < g->nodes.len; id++)
        if (lw->order[id] == 0 && add_reads(lw, id) < 0) return -1;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (add_reads(lw, id) < 0) return -1;
        if (lw->live[id] && graph_node(g, id)->region[0] != NO_REGION) lw->last_region = i + 1;
    }
    for (int i = 0; i < g->outputs.len; i++)
        lw->noutputs[graph_node(g, g->outputs.at[i].node)->storage]++;
    return 0;
}

bool
next_read(const Lowering *lw, NodeId storage, int32_t *at, NodeId *id)
{
    for (int32_t i = *at < 0 ? lw->reads[storage] : *at; i != 0; i = lw->read.at[i - 1].next) {
        const Node *node = graph_node(lw->graph, lw->read.at[i - 1].node);
        bool still = false;
        for (int k = 0; k < node->nargs; k++)
            still |= graph_node(lw->graph, node->args[k])->storage == storage;
        if (!still) continue;
        *id = lw->read.at[i - 1].node;
        *at = lw->read.at[i - 1].next;
        return true;
    }
    return false;
}

int
replace_argument(Lowering *lw, NodeId id, int k, NodeId value)
{
    Node *node = graph_node(lw->graph, id);
    NodeId *args = arena_copy(lw->arena, node->args, sizeof(NodeId) * (size_t)node->nargs);
    if (args == NULL) return -1;
    lw->nreads[graph_node(lw->graph, args[k])->storage]--;
    args[k] = value;
    node->args = args;
    return add_read(lw, id, value);
}

/* ---- insertion ---- */

NodeId
insert_before(Lowering *lw, NodeId before, Op op, int nargs, const NodeId *args, const Type *type,
              const Attrs *attrs)
{
    NodeId id = graph_make(lw->graph, op, nargs, args, type, attrs);
    if (id == NO_NODE || lowering_room(lw) < 0) return NO_NODE;
    lw->live[id] = true;
    lw->order[id] = lw->order[before];
    Inserted inserted = {id, before};
    if (VEC_PUSH(lw->arena, &lw->inserted, inserted) < 0 || add_reads(lw, id) < 0) return NO_NODE;
    return arms_insert(lw, id, before) < 0 ? NO_NODE : id;
}

/* Puts what was inserted into the top region. */
static int
place_inserted(Lowering *lw)
{
    Region *top = &lw->graph->regions.at[0];
    int count = lw->inserted.len;
    if (count == 0) return 0;
    int32_t *first = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)lw->nnodes);
    int32_t *next = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)count);
    VEC(NodeId) order = {0};
    if (first == NULL || next == NULL) return -1;
    for (int i = count; i-- > 0;) {
        next[i] = first[lw->inserted.at[i].before];
        first[lw->inserted.at[i].before] = i + 1;
    }
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        for (int32_t k = first[id]; k != 0; k = next[k - 1])
            if (VEC_PUSH(lw->arena, &order, lw->inserted.at[k - 1].node) < 0) return -1;
        if (VEC_PUSH(lw->arena, &order, id) < 0) return -1;
    }
    top->nodes.at = order.at;
    top->nodes.len = order.len;
    top->nodes.cap = order.cap;
    lw->inserted.len = 0;
    return 0;
}

/* ---- facts ---- */

static bool
is_fresh(const Lowering *lw, NodeId storage)
{
    switch (op_info(graph_node(lw->graph, storage)->op)->kind) {
    case KIND_INPUT:
    case KIND_CONST:
    case KIND_EXTERN:
    case KIND_RESULT: return false;
    default: return true;
    }
}

/* Memory of the library's, which the program may see: what is written there stays there.  The run
   checks that it is nobody else's. */
static bool
is_library(const Lowering *lw, NodeId storage)
{
    const Node *node = graph_node(lw->graph, storage);
    if (node->op == OP_result) node = graph_node(lw->graph, node->args[0]);
    return node->op == OP_extern && node->type.form == FORM_ARRAY;
}

static bool
covers(const Graph *g, const Type *view, const Type *whole)
{
    if (view->rank != whole->rank || size_value(g, view->offset) != size_value(g, whole->offset))
        return false;
    for (int axis = 0; axis < view->rank; axis++)
        if (view->shape[axis] != whole->shape[axis] ||
            (size_value(g, view->stride[axis]) != size_value(g, whole->stride[axis]) &&
             size_value(g, view->shape[axis]) > 1))
            return false;
    return true;
}

static bool
used_after(const Lowering *lw, NodeId storage, NodeId after)
{
    int32_t at = -1;
    NodeId id;
    if (lw->committed[storage] || lw->noutputs[storage] > 0 || lw->last_region > lw->order[after])
        return true;
    while (next_read(lw, storage, &at, &id))
        if (lw->order[id] > lw->order[after]) return true;
    return false;
}

static bool
read_by_nodes(const Lowering *lw, NodeId storage)
{
    return lw->nreads[storage] > 0 || lw->noutputs[storage] > 1;
}

/* A version of the storage is written further on. */
static bool
written_after(const Lowering *lw, NodeId storage, NodeId after)
{
    const Graph *g = lw->graph;
    int32_t at = -1;
    NodeId id;
    while (next_read(lw, storage, &at, &id)) {
        const Node *node = graph_node(g, id);
        if (lw->order[id] > lw->order[after] && node->op == OP_scatter &&
            graph_node(g, node->args[0])->storage == storage)
            return true;
    }
    return false;
}

static bool
read_in_regions(const Graph *g, NodeId storage)
{
    for (int r = 1; r < g->regions.len; r++) {
        const Region *region = &g->regions.at[r];
        for (int i = 0; i < region->results.len; i++)
            if (graph_node(g, region->results.at[i])->storage == storage) return true;
        for (int i = 0; i < region->nodes.len; i++) {
            const Node *node = graph_node(g, region->nodes.at[i]);
            for (int k = 0; k < node->nargs; k++)
                if (graph_node(g, node->args[k])->storage == storage) return true;
        }
    }
    return false;
}

/* ---- scatters ---- */

/* The value that the scatter writes, in memory of its own. */
static NodeId
copy_value(Lowering *lw, NodeId scatter)
{
    Graph *g = lw->graph;
    NodeId value = graph_node(g, scatter)->args[1];
    Type from = graph_node(g, value)->type, type;
    if (type_like(g, &type, (DType)from.dtype, &from) < 0) return NO_NODE;
    type.form = from.form;
    NodeId copy = insert_before(lw, scatter, OP_copy, 1, &value, &type, NULL);
    if (copy == NO_NODE || replace_argument(lw, scatter, 1, copy) < 0) return NO_NODE;
    lw->needed[copy] = true;
    return copy;
}

/* What is computed again in every kernel that uses it, and reads memory that is about to be
   written, is computed once, now. */
static void
keep_readers(Lowering *lw, NodeId storage, NodeId scatter)
{
    int32_t at = -1;
    NodeId id;
    while (next_read(lw, storage, &at, &id))
        if (lw->order[id] > 0 && lw->order[id] < lw->order[scatter] && node_is_virtual(lw, id))
            lw->needed[id] = true;
}

/* Argument `k` of the node becomes the same of the copy. */
static int
read_copy(Lowering *lw, NodeId id, int k, NodeId copy)
{
    NodeId arg = graph_node(lw->graph, id)->args[k], instead = copy;
    if (is_view(lw->graph, arg)) {
        Type type = graph_node(lw->graph, arg)->type;
        instead = insert_before(lw, id, OP_as_strided, 1, &copy, &type, NULL);
    }
    return instead == NO_NODE ? -1 : replace_argument(lw, id, k, instead);
}

/* Passes may read memory later than the program does: behind the scatter.  What they read is copied
   in front of it, since the library's object is to be written itself: a copy would not be a view as
   that may be.  ANSWER_NO: there is no telling who reads. */
static Answer
detach_readers(Lowering *lw, NodeId storage, NodeId scatter)
{
    Graph *g = lw->graph;
    if (lw->committed[storage] || lw->noutputs[storage] > 0 || read_in_regions(g, storage))
        return ANSWER_NO;
    VEC(NodeId) readers = {0};
    int32_t at = -1;
    NodeId id;
    while (next_read(lw, storage, &at, &id))
        if (lw->order[id] > lw->order[scatter] && VEC_PUSH(lw->arena, &readers, id) < 0)
            return ANSWER_ERROR;
    Type type = graph_node(g, storage)->type;
    type.form = FORM_ARRAY;
    NodeId copy = insert_before(lw, scatter, OP_copy, 1, &storage, &type, NULL);
    if (copy == NO_NODE) return ANSWER_ERROR;
    lw->needed[copy] = true;
    for (int i = readers.len; i-- > 0;) /* the newest read is found first */
        for (int k = 0; k < graph_node(g, readers.at[i])->nargs; k++)
            if (graph_node(g, graph_node(g, readers.at[i])->args[k])->storage == storage &&
                read_copy(lw, readers.at[i], k, copy) < 0)
                return ANSWER_ERROR;
    return ANSWER_YES;
}

/* The storage at the root of a version: as laid out, offset 0. */
static int
prepare_scatter(Lowering *lw, NodeId id)
{
    Graph *g = lw->graph;
    NodeId old = graph_node(g, graph_node(g, id)->args[0])->storage;
    NodeId value = graph_node(g, id)->args[1];
    Type whole = graph_node(g, old)->type;
    bool from_input = op_info(graph_node(g, old)->op)->kind == KIND_INPUT;
    if (from_input && !read_by_nodes(lw, id) && graph_node(g, value)->type.dtype == whole.dtype &&
        lw->is_output[id] &&
        !(is_library(lw, lw->same_as[graph_node(g, value)->storage]) &&
          written_after(lw, graph_node(g, value)->storage, id))) {
        lw->commits[id] = true;
        lw->committed[graph_node(g, value)->storage] = true;
        return 0;
    }
    NodeId value_storage = graph_node(g, value)->storage;
    bool library = is_library(lw, lw->same_as[old]);
    bool in_place = (is_fresh(lw, old) || library) && !used_after(lw, old, id);
    if (library && !in_place) {
        Answer detached = detach_readers(lw, old, id);
        if (detached == ANSWER_ERROR) return -1;
        in_place = detached == ANSWER_YES;
    }
    if (in_place && library && value_storage == old) {
        if ((value = copy_value(lw, id)) == NO_NODE) return -1;
        value_storage = value;
    }
    in_place = in_place && value_storage != old;
    /* Nothing is written, and a new array of no elements would have other strides. */
    in_place = in_place || type_elements(g, &whole) == 0;
    if (!in_place) {
        bool all = covers(g, graph_node(g, id)->attrs.view, &whole);
        whole.form = FORM_ARRAY;
        NodeId copy =
            insert_before(lw, id, all ? OP_empty : OP_copy, all ? 0 : 1, &old, &whole, NULL);
        if (copy == NO_NODE || replace_argument(lw, id, 0, copy) < 0) return -1;
        old = copy;
    } else {
        keep_readers(lw, old, id);
    }
    lw->same_as[id] = lw->same_as[old];
    lw->needed[old] = true;
    lw->needed[id] = true;
    if (lw->is_output[id]) lw->is_output[lw->same_as[id]] = true;
    return 0;
}

int
writes_prepare(Lowering *lw)
{
    const Region *top = &lw->graph->regions.at[0];
    if (find_reads(lw) < 0) return -1;
    for (int i = 0; i < top->nodes.len && lw->why == NULL; i++) {
        NodeId id = top->nodes.at[i];
        OpKind kind = op_info(graph_node(lw->graph, id)->op)->kind;
        if (!lw->live[id] || (kind != KIND_SCATTER && kind != KIND_REGION)) continue;
        if ((kind == KIND_SCATTER ? prepare_scatter(lw, id) : region_prepare(lw, id)) < 0)
            return -1;
    }
    return place_inserted(lw);
}

/* ---- concatenate: an empty array whose parts are written one by one ---- */

static NodeId
split(Lowering *lw, NodeId id)
{
    Graph *g = lw->graph;
    Node node = *graph_node(g, id);
    int axis = (int)node.attrs.index;
    SizeId offset = size_const(g, 0);
    NodeId whole = insert_before(lw, id, OP_empty, 0, NULL, &node.type, NULL);
    for (int k = 0; k < node.nargs && whole != NO_NODE; k++) {
        Type *view = arena_copy(lw->arena, &node.type, sizeof(Type));
        if (view == NULL || offset == NO_SIZE) return NO_NODE;
        view->shape[axis] = graph_node(g, node.args[k])->type.shape[axis];
        view->offset = offset;
        Attrs attrs = {.view = view};
        SizeId bytes = size_mul(g, view->shape[axis], node.type.stride[axis]);
        if (bytes == NO_SIZE) return NO_NODE;
        offset = size_add(g, offset, bytes);
        whole = insert_before(lw, id, OP_scatter, 2, (NodeId[]){whole, node.args[k]}, &node.type,
                              &attrs);
        if (whole != NO_NODE) {
            graph_node(g, whole)->line = node.line;
            graph_node(g, whole)->file = node.file;
        }
    }
    return whole;
}

int
writes_split(Lowering *lw)
{
    Graph *g = lw->graph;
    const Region *top = &g->regions.at[0];
    NodeId *instead = NULL;
    int nodes = g->nodes.len;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (!lw->live[id] || graph_node(g, id)->op != OP_concatenate) continue;
        if (instead == NULL && (instead = graph_same(g)) == NULL) return -1;
        if ((instead[id] = split(lw, id)) == NO_NODE) return -1;
        lw->live[id] = false;
    }
    if (instead == NULL) return 0;
    graph_replace(g, instead, nodes);
    return place_inserted(lw);
}
