/* Graph to program: prepares the graph (which nodes live, which storages must be memory, where a
   write needs a copy first), schedules, builds each group, plans memory. */
#include "schedule.h"

/* `count` more entries of `size` bytes behind the `have` of *array, all of them zero. */
static int
widen(Lowering *lw, void *array, size_t have, size_t count, size_t size)
{
    void **at = array;
    char *wider = arena_alloc(lw->arena, (have + count) * size);
    if (wider == NULL) return -1;
    if (have > 0) memcpy(wider, *at, have * size);
    *at = wider;
    return 0;
}

int
lowering_room(Lowering *lw)
{
    size_t have = (size_t)lw->nnodes, count = (size_t)lw->graph->nodes.len + 16;
    if (lw->graph->nodes.len <= lw->nnodes && lw->nnodes > 0) return 0;
#define WIDEN(field)                                                                               \
    if (widen(lw, &lw->field, have, count, sizeof(*lw->field)) < 0) return -1;
    WIDEN(group_of)
    WIDEN(row_level)
    WIDEN(live)
    WIDEN(needed)
    WIDEN(anchored)
    WIDEN(latest)
    WIDEN(seen)
    WIDEN(is_output)
    WIDEN(same_as)
    WIDEN(commits)
    WIDEN(buffer)
    WIDEN(part)
    WIDEN(by_library)
#undef WIDEN
    for (size_t i = have; i < have + count; i++) {
        lw->group_of[i] = -1;
        lw->latest[i] = lw->seen[i] = UNKNOWN_GROUP;
        lw->buffer[i] = NO_BUFFER;
        lw->same_as[i] = (NodeId)i;
    }
    lw->nnodes = (int)(have + count);
    return 0;
}

static void
mark_live(Lowering *lw, NodeId id)
{
    if (lw->live[id]) return;
    lw->live[id] = true;
    const Node *node = graph_node(lw->graph, id);
    for (int k = 0; k < node->nargs; k++) mark_live(lw, node->args[k]);
    if (node->op == OP_result) arms_live(lw, id, mark_live);
    for (int r = 0; r < 2; r++) {
        if (op_info(node->op)->kind != KIND_REGION || node->region[r] == NO_REGION) continue;
        const Region *region = &lw->graph->regions.at[node->region[r]];
        for (int i = 0; i < region->nodes.len; i++) mark_live(lw, region->nodes.at[i]);
    }
}

static void
find_mixed(Lowering *lw)
{
    const Node *first = NULL;
    for (NodeId id = 0; id < lw->graph->nodes.len; id++) {
        const Node *node = graph_node(lw->graph, id);
        if (!node_may_report(lw->graph, node)) continue;
        if (first == NULL) first = node;
        if (node->errors != first->errors) lw->mixed = true;
    }
}

static void
find_live(Lowering *lw)
{
    find_mixed(lw);
    const Graph *g = lw->graph;
    for (int i = 0; i < g->outputs.len; i++) mark_live(lw, g->outputs.at[i]);
    const Region *top = &g->regions.at[0];
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(g, id);
        bool fails = (op_info(node->op)->flags & OPF_FALLIBLE) != 0;
        if (lw->live[id] || !(fails || node_may_report(g, node))) continue;
        mark_live(lw, id); /* for what it may report: computed only if it is stored */
        lw->needed[node->storage] = true;
    }
}

/* Nothing is computed for an array without elements, but its scalar operands are cast. */
static void
need_scalars_of_empty(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!lw->live[id] || node->type.rank == 0 || type_elements(g, &node->type) != 0) continue;
        for (int k = 0; k < node->nargs; k++) {
            const Node *arg = graph_node(g, node->args[k]);
            if (arg->type.rank == 0 && node_may_report(g, arg)) lw->needed[arg->storage] = true;
        }
    }
}

/* ---- writes ---- */

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

/* By a commit, at the end of all. */
static bool
is_committed(const Lowering *lw, NodeId storage)
{
    const Region *top = &lw->graph->regions.at[0];
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (!lw->commits[id]) continue;
        NodeId value = graph_node(lw->graph, id)->args[1];
        if (graph_node(lw->graph, value)->storage == storage) return true;
    }
    return false;
}

static bool
is_output(const Lowering *lw, NodeId storage)
{
    const Graph *g = lw->graph;
    for (int i = 0; i < g->outputs.len; i++)
        if (graph_node(g, g->outputs.at[i])->storage == storage) return true;
    return false;
}

static bool
used_after(const Lowering *lw, NodeId storage, int position)
{
    const Graph *g = lw->graph;
    const Region *top = &g->regions.at[0];
    if (is_committed(lw, storage) || is_output(lw, storage)) return true;
    for (int i = position + 1; i < top->nodes.len; i++) {
        const Node *node = graph_node(g, top->nodes.at[i]);
        if (!lw->live[top->nodes.at[i]] || op_info(node->op)->kind == KIND_VIEW) continue;
        for (int k = 0; k < node->nargs; k++)
            if (graph_node(g, node->args[k])->storage == storage) return true;
        if (node->region[0] != NO_REGION) return true;
    }
    return false;
}

static bool
read_by_nodes(const Lowering *lw, NodeId storage)
{
    const Graph *g = lw->graph;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!lw->live[id]) continue;
        for (int k = 0; k < node->nargs; k++)
            if (graph_node(g, node->args[k])->storage == storage) return true;
    }
    int outputs = 0;
    for (int i = 0; i < g->outputs.len; i++)
        if (graph_node(g, g->outputs.at[i])->storage == storage) outputs++;
    return outputs > 1;
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

/* A new node in front of position `at` of the top region. */
static NodeId
insert_node(Lowering *lw, int at, Op op, int nargs, const NodeId *args, const Type *type,
            const Attrs *attrs)
{
    Graph *g = lw->graph;
    NodeId id = graph_add(g, 0, op, nargs, args, type, attrs);
    if (id == NO_NODE || lowering_room(lw) < 0) return NO_NODE;
    Region *top = &g->regions.at[0];
    memmove(&top->nodes.at[at + 1], &top->nodes.at[at],
            sizeof(NodeId) * (size_t)(top->nodes.len - 1 - at));
    top->nodes.at[at] = id;
    lw->live[id] = true;
    return arms_insert(lw, id, at) < 0 ? NO_NODE : id;
}

/* A version of the storage is written further on. */
static bool
written_after(const Lowering *lw, NodeId storage, int position)
{
    const Graph *g = lw->graph;
    const Region *top = &g->regions.at[0];
    for (int i = position + 1; i < top->nodes.len; i++) {
        const Node *node = graph_node(g, top->nodes.at[i]);
        if (!lw->live[top->nodes.at[i]] || node->op != OP_scatter) continue;
        if (graph_node(g, node->args[0])->storage == storage) return true;
    }
    return false;
}

/* The value that the scatter at `*position` writes, in memory of its own. */
static NodeId
copy_value(Lowering *lw, int *position)
{
    Graph *g = lw->graph;
    NodeId id = g->regions.at[0].nodes.at[*position];
    NodeId value = graph_node(g, id)->args[1];
    Type from = graph_node(g, value)->type, type;
    if (type_like(g, &type, (DType)from.dtype, &from) < 0) return NO_NODE;
    type.form = from.form;
    NodeId copy = insert_node(lw, (*position)++, OP_copy, 1, &value, &type, NULL);
    NodeId both[2] = {graph_node(g, id)->args[0], copy};
    NodeId *args = copy == NO_NODE ? NULL : arena_copy(lw->arena, both, sizeof both);
    if (args == NULL) return NO_NODE;
    graph_node(g, id)->args = args;
    lw->needed[copy] = true;
    return copy;
}

/* What is computed again in every kernel that uses it, and reads memory that is about to be
   written, is computed once, now. */
static void
keep_readers(Lowering *lw, NodeId storage, int position)
{
    const Region *top = &lw->graph->regions.at[0];
    for (int i = 0; i < position; i++) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(lw->graph, id);
        if (!lw->live[id] || op_info(node->op)->kind == KIND_VIEW || !node_is_virtual(lw, id))
            continue;
        for (int k = 0; k < node->nargs; k++)
            if (graph_node(lw->graph, node->args[k])->storage == storage) lw->needed[id] = true;
    }
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

/* Argument `k` of the node at `*position` becomes the same of the copy. */
static int
read_copy(Lowering *lw, int *position, int k, NodeId copy)
{
    Graph *g = lw->graph;
    NodeId id = g->regions.at[0].nodes.at[*position], arg = graph_node(g, id)->args[k];
    NodeId instead = copy;
    if (op_info(graph_node(g, arg)->op)->kind == KIND_VIEW) {
        Type type = graph_node(g, arg)->type;
        instead = insert_node(lw, (*position)++, OP_as_strided, 1, &copy, &type, NULL);
    }
    Node *node = graph_node(g, id);
    NodeId *args = arena_copy(lw->arena, node->args, sizeof(NodeId) * (size_t)node->nargs);
    if (instead == NO_NODE || args == NULL) return -1;
    args[k] = instead;
    node->args = args;
    return 0;
}

/* Passes may read memory later than the program does: behind the write at `*position`.  What they
   read is copied there, since the library's object is to be written itself: a copy would not be a
   view as that may be.  ANSWER_NO: there is no telling who reads. */
static Answer
detach_readers(Lowering *lw, NodeId storage, int *position)
{
    Graph *g = lw->graph;
    if (is_committed(lw, storage) || is_output(lw, storage) || read_in_regions(g, storage))
        return ANSWER_NO;
    Type type = graph_node(g, storage)->type;
    type.form = FORM_ARRAY;
    NodeId copy = insert_node(lw, (*position)++, OP_copy, 1, &storage, &type, NULL);
    if (copy == NO_NODE) return ANSWER_ERROR;
    lw->needed[copy] = true;
    const Region *top = &g->regions.at[0];
    for (int i = *position + 1; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (!lw->live[id] || op_info(graph_node(g, id)->op)->kind == KIND_VIEW) continue;
        for (int k = 0; k < graph_node(g, id)->nargs; k++)
            if (graph_node(g, graph_node(g, id)->args[k])->storage == storage &&
                read_copy(lw, &i, k, copy) < 0)
                return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* The storage at the root of a version: as laid out, offset 0. */
static int
prepare_scatter(Lowering *lw, int *position)
{
    Graph *g = lw->graph;
    NodeId id = g->regions.at[0].nodes.at[*position];
    NodeId old = graph_node(g, graph_node(g, id)->args[0])->storage;
    NodeId value = graph_node(g, id)->args[1];
    Type whole = graph_node(g, old)->type;
    bool from_input = op_info(graph_node(g, old)->op)->kind == KIND_INPUT;
    if (from_input && !read_by_nodes(lw, id) && graph_node(g, value)->type.dtype == whole.dtype &&
        lw->is_output[id] &&
        !(is_library(lw, lw->same_as[graph_node(g, value)->storage]) &&
          written_after(lw, graph_node(g, value)->storage, *position))) {
        lw->commits[id] = true;
        return 0;
    }
    NodeId value_storage = graph_node(g, value)->storage;
    bool library = is_library(lw, lw->same_as[old]);
    bool in_place = (is_fresh(lw, old) || library) && !used_after(lw, old, *position);
    if (library && !in_place) {
        Answer detached = detach_readers(lw, old, position);
        if (detached == ANSWER_ERROR) return -1;
        in_place = detached == ANSWER_YES;
    }
    if (in_place && library && value_storage == old) {
        if ((value = copy_value(lw, position)) == NO_NODE) return -1;
        value_storage = value;
    }
    in_place = in_place && value_storage != old;
    /* Nothing is written, and a new array of no elements would have other strides. */
    in_place = in_place || type_elements(g, &whole) == 0;
    if (!in_place) {
        bool all = covers(g, graph_node(g, id)->attrs.view, &whole);
        whole.form = FORM_ARRAY;
        NodeId copy =
            insert_node(lw, *position, all ? OP_empty : OP_copy, all ? 0 : 1, &old, &whole, NULL);
        if (copy == NO_NODE) return -1;
        ++*position;
        NodeId *args = arena_copy(lw->arena, (NodeId[]){copy, value}, sizeof(NodeId) * 2);
        if (args == NULL) return -1;
        graph_node(g, id)->args = args;
        old = copy;
    } else {
        keep_readers(lw, old, *position);
    }
    lw->same_as[id] = lw->same_as[old];
    lw->needed[old] = true;
    lw->needed[id] = true;
    if (lw->is_output[id]) lw->is_output[lw->same_as[id]] = true;
    return 0;
}

static int
prepare_writes(Lowering *lw)
{
    for (int i = 0; i < lw->graph->regions.at[0].nodes.len; i++) {
        NodeId id = lw->graph->regions.at[0].nodes.at[i];
        OpKind kind = op_info(graph_node(lw->graph, id)->op)->kind;
        if (!lw->live[id] || (kind != KIND_SCATTER && kind != KIND_REGION)) continue;
        if ((kind == KIND_SCATTER ? prepare_scatter(lw, &i) : region_prepare(lw, &i)) < 0)
            return -1;
        if (lw->why != NULL) return 0;
    }
    return 0;
}

/* concatenate: an empty array whose parts are written one by one. */
static int
split_concatenate(Lowering *lw, int *position)
{
    Graph *g = lw->graph;
    NodeId id = g->regions.at[0].nodes.at[*position];
    Node node = *graph_node(g, id);
    int axis = (int)node.attrs.index;
    SizeId offset = size_const(g, 0);
    NodeId whole = insert_node(lw, (*position)++, OP_empty, 0, NULL, &node.type, NULL);
    for (int k = 0; k < node.nargs && whole != NO_NODE; k++) {
        Type *view = arena_copy(lw->arena, &node.type, sizeof(Type));
        if (view == NULL || offset == NO_SIZE) return -1;
        view->shape[axis] = graph_node(g, node.args[k])->type.shape[axis];
        view->offset = offset;
        Attrs attrs = {.view = view};
        SizeId bytes = size_mul(g, view->shape[axis], node.type.stride[axis]);
        if (bytes == NO_SIZE) return -1;
        offset = size_add(g, offset, bytes);
        whole = insert_node(lw, (*position)++, OP_scatter, 2, (NodeId[]){whole, node.args[k]},
                            &node.type, &attrs);
        if (whole != NO_NODE) {
            graph_node(g, whole)->line = node.line;
            graph_node(g, whole)->file = node.file;
        }
    }
    if (whole == NO_NODE) return -1;
    graph_replace(g, id, whole);
    lw->live[id] = false;
    return 0;
}

static int
prepare_copies(Lowering *lw)
{
    for (int i = 0; i < lw->graph->regions.at[0].nodes.len; i++) {
        NodeId id = lw->graph->regions.at[0].nodes.at[i];
        if (lw->live[id] && graph_node(lw->graph, id)->op == OP_concatenate &&
            split_concatenate(lw, &i) < 0)
            return -1;
    }
    return 0;
}

static void
mark_outputs(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (int i = 0; i < g->outputs.len; i++) {
        const Node *node = graph_node(g, g->outputs.at[i]);
        lw->is_output[node->storage] = true;
        lw->needed[node->storage] = true;
    }
    for (NodeId id = 0; id < g->nodes.len; id++)
        if (lw->commits[id]) lw->needed[graph_node(g, graph_node(g, id)->args[1])->storage] = true;
}

/* ---- what leaves ---- */

/* A value as the written view sees it: broadcast. */
static void
spread_type(const Graph *g, const Type *view, Type *type)
{
    Type out = *view;
    int shift = view->rank - type->rank;
    out.offset = type->offset;
    for (int axis = 0; axis < view->rank; axis++) {
        int from = axis - shift;
        bool walks = from >= 0 && size_value(g, type->shape[from]) != 1;
        out.stride[axis] = walks ? type->stride[from] : NO_SIZE;
    }
    *type = out;
}

static int
locate_outputs(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (int i = 0; i < g->outputs.len; i++) {
        Located at = {.node = g->outputs.at[i]};
        NodeId value = at.node;
        if (lw->commits[at.node]) {
            value = graph_node(g, at.node)->args[1];
            at.written = true;
            at.view = *graph_node(g, at.node)->attrs.view;
        }
        at.type = graph_node(g, value)->type;
        NodeId storage = graph_node(g, value)->storage;
        at.in_place =
            lw->same_as[storage] != storage && graph_node(g, lw->same_as[storage])->op == OP_input;
        if (place_for(lw, value, &at.place) < 0) return -1;
        if (at.written) spread_type(g, &at.view, &at.type);
        if (VEC_PUSH(lw->arena, &lw->program->located, at) < 0) return -1;
    }
    return 0;
}

static void
mark_written(Lowering *lw)
{
    for (NodeId id = 0; id < lw->graph->nodes.len; id++) {
        NodeId root = lw->same_as[id];
        if (root != id && lw->buffer[root] != NO_BUFFER)
            lw->program->buffers.at[lw->buffer[root]].written = true;
    }
}

/* Nothing to compute; its buffers are made all the same. */
static bool
group_is_empty(const Lowering *lw, const Group *g)
{
    for (int dim = 0; !g->external && dim < g->ndims; dim++)
        if (size_value(lw->graph, g->size[dim]) == 0) return true;
    return false;
}

/* ---- groups that fit a kernel ---- */

/* The number of members in front of `cut` whose values are read behind it. */
static int
crossing(const Lowering *lw, const Group *g, int cut)
{
    int count = 0;
    for (int i = 0; i < cut; i++) {
        bool read = false;
        for (int j = cut; j < g->nodes.len && !read; j++) {
            const Node *reader = graph_node(lw->graph, g->nodes.at[j]);
            for (int k = 0; k < reader->nargs; k++)
                read |= graph_node(lw->graph, reader->args[k])->storage == g->nodes.at[i];
        }
        count += read;
    }
    return count;
}

/* Where as few values as possible go through memory: in the middle half, the middle if all are
   alike. */
static int
best_cut(const Lowering *lw, const Group *g)
{
    int n = g->nodes.len, best = n / 2, least = crossing(lw, g, best);
    for (int away = 1; away <= n / 4; away++)
        for (int side = -1; side <= 1; side += 2) {
            int cut = n / 2 + side * away;
            if (cut < 1 || cut >= n) continue;
            int count = crossing(lw, g, cut);
            if (count >= least) continue;
            least = count;
            best = cut;
        }
    return best;
}

/* The group does not fit a kernel: its members become two groups, and one member alone the
   library's own.  False: nothing is left to try. */
static bool
divide(Lowering *lw, const Group *g)
{
    NodeId first = g->nodes.at[0];
    if (g->nodes.len > 1) {
        int cut = best_cut(lw, g);
        for (int i = 0; i < g->nodes.len; i++)
            lw->part[g->nodes.at[i]] = lw->nparts + 1 + (i >= cut);
        lw->nparts += 2;
        return true;
    }
    if (g->external || lw->by_library[first] || !library_has(lw->graph, first)) return false;
    return lw->by_library[first] = true;
}

/* `divided`: some group did not fit, and all is to be scheduled again. */
static int
build_groups(Lowering *lw, bool *divided)
{
    for (int i = 0; i < lw->groups.len; i++) {
        Group *g = &lw->groups.at[i];
        if (group_is_empty(lw, g)) continue;
        int failed = g->external ? step_external(lw, g) : nest_build(lw, g);
        if (lw->why == NULL && failed < 0) return -1;
        if (lw->why == NULL) continue;
        if (!divide(lw, g)) return 0;
        PyErr_Clear();
        lw->why = NULL;
        *divided = true;
    }
    return 0;
}

static void
forget_schedule(Lowering *lw, const bool *needed)
{
    Program *p = lw->program;
    for (int i = 0; i < lw->nnodes; i++) {
        lw->group_of[i] = -1;
        lw->row_level[i] = false;
        lw->latest[i] = lw->seen[i] = UNKNOWN_GROUP;
        lw->buffer[i] = NO_BUFFER;
        lw->needed[i] = needed[i];
    }
    lw->groups.len = lw->open.len = 0;
    p->kernels.len = p->loops.len = p->buffers.len = p->steps.len = 0;
}

static int
schedule_and_build(Lowering *lw)
{
    bool *needed = arena_copy(lw->arena, lw->needed, (size_t)lw->nnodes * sizeof(bool));
    bool divided = true;
    if (needed == NULL) return -1;
    while (divided && lw->why == NULL) {
        divided = false;
        forget_schedule(lw, needed);
        if (schedule(lw) < 0 || build_groups(lw, &divided) < 0) return -1;
    }
    return 0;
}

static const char *refused;

void
lower_refuse(const char *why)
{
    refused = why;
}

Program *
lower(Graph *graph, Answer *answer, const char **why)
{
    Lowering lw = {.graph = graph, .arena = graph->arena, .why = refused};
    *answer = ANSWER_ERROR;
    *why = NULL;
    lw.program = arena_alloc(lw.arena, sizeof(Program));
    if (lw.program == NULL || arms_lay_out(&lw) < 0 || lowering_room(&lw) < 0) return NULL;
    find_live(&lw);
    if (find_anchors(&lw) < 0) return NULL;
    need_scalars_of_empty(&lw);
    arms_need(&lw);
    if (prepare_copies(&lw) < 0) return NULL;
    mark_outputs(&lw);
    if (prepare_writes(&lw) < 0) return NULL;
    mark_outputs(&lw);
    if (lw.why == NULL && schedule_and_build(&lw) < 0) return NULL;
    if (lw.why == NULL && locate_outputs(&lw) < 0) return NULL;
    mark_written(&lw);
    if (lw.why == NULL && memory_plan(&lw) < 0) return NULL;
    if (lw.why != NULL) {
        PyErr_Clear();
        *why = lw.why;
        *answer = ANSWER_NO;
        return NULL;
    }
    *answer = ANSWER_YES;
    return lw.program;
}
