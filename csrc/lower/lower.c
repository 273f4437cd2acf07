/* Graph to program: finds which nodes live and which storages must be memory, schedules, builds
   each group, plans memory.  The graph stays as it is. */
#include "schedule.h"

/* Allocates the arrays that have an entry per node. */
static int
make_arrays(Lowering *lw)
{
    size_t n = (size_t)lw->graph->nodes.len;
#define MAKE(field)                                                                                \
    if ((lw->field = arena_alloc(lw->arena, n * sizeof(*lw->field))) == NULL) return -1;
    MAKE(group_of)
    MAKE(row_level)
    MAKE(live)
    MAKE(needed)
    MAKE(late)
    MAKE(checked)
    MAKE(latest)
    MAKE(seen)
    MAKE(is_output)
    MAKE(same_as)
    MAKE(commit_of)
    MAKE(stored_in)
    MAKE(buffer)
    MAKE(part)
    MAKE(component)
    MAKE(by_library)
    MAKE(first_result)
    MAKE(next_result)
    MAKE(unread)
    MAKE(touched)
    MAKE(value_of)
    MAKE(value_in)
    MAKE(arm)
    MAKE(loop)
    MAKE(turned)
#undef MAKE
    for (size_t i = 0; i < n; i++) {
        lw->group_of[i] = -1;
        lw->latest[i] = lw->seen[i] = UNKNOWN_GROUP;
        lw->buffer[i] = NO_BUFFER;
        lw->commit_of[i] = lw->stored_in[i] = NO_NODE;
        lw->same_as[i] = (NodeId)i;
        lw->first_result[i] = lw->next_result[i] = NO_NODE;
        lw->touched[i] = -1;
    }
    lw->nnodes = (int)n;
    return 0;
}

/* Lists the result nodes of each node in the order of their ids. */
static void
find_results(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (NodeId id = g->nodes.len; id-- > 0;) {
        const Node *node = graph_node(g, id);
        if (op_info(node->op)->kind != KIND_RESULT) continue;
        lw->next_result[id] = lw->first_result[node->args[0]];
        lw->first_result[node->args[0]] = id;
    }
}

NodeId
live_result(const Lowering *lw, NodeId maker, int index)
{
    NodeId id = lw->first_result[maker];
    while (id != NO_NODE && (graph_node(lw->graph, id)->attrs.index != index || !lw->live[id]))
        id = lw->next_result[id];
    return id;
}

static void
mark_live(Lowering *lw, NodeId id)
{
    if (lw->live[id]) return;
    lw->live[id] = true;
    const Node *node = graph_node(lw->graph, id);
    for (int k = 0; k < node->nargs; k++) mark_live(lw, node->args[k]);
    for (int r = 0; r < 2; r++) {
        if (node->region[r] == NO_REGION) continue;
        const Region *region = &lw->graph->regions.at[node->region[r]];
        for (int i = 0; i < region->nodes.len; i++) mark_live(lw, region->nodes.at[i]);
        /* which may be of outside, and used by nothing else */
        for (int i = 0; i < region->results.len; i++) mark_live(lw, region->results.at[i]);
    }
}

/* Can a kernel compute the value for its reports without a place to store it? */
static bool
only_checked(const Graph *g, const Node *node)
{
    Way way = node_way(g, node);
    return node->type.rank > 0 && (way == WAY_EXPRESSION || way == WAY_BLOCKS);
}

/* Nodes that an output needs, and those whose failures and floating-point flags the program would
   see though it does not use their values. */
static void
find_live(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (int i = 0; i < g->outputs.len; i++) mark_live(lw, g->outputs.at[i].node);
    const Region *top = &g->regions.at[0];
    /* backwards, so that what is computed for another node's reports is not marked itself */
    for (int i = top->nodes.len; i-- > 0;) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(g, id);
        bool fails = (op_info(node->op)->flags & OPF_FALLIBLE) != 0;
        if (lw->live[id] || !(fails || node_may_report(g, node))) continue;
        mark_live(lw, id);
        if (only_checked(g, node))
            lw->checked[id] = true;
        else
            lw->needed[node->storage] = true;
    }
}

/* A number that may report; or else the numbers that may among those it is computed from. */
static void
need_reporting(Lowering *lw, NodeId id)
{
    const Graph *g = lw->graph;
    const Node *node = graph_node(g, id);
    if (node->type.rank > 0 || lw->needed[node->storage]) return;
    if (node_may_report(g, node)) {
        lw->needed[node->storage] = true;
        return;
    }
    for (int k = 0; k < node->nargs; k++) need_reporting(lw, node->args[k]);
}

/* For an array without elements nothing is computed, but its scalar operands still are, and may
   report. */
static void
need_scalars_of_empty(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!lw->live[id] || node->type.rank == 0 || type_elements(g, &node->type) != 0) continue;
        for (int k = 0; k < node->nargs; k++) need_reporting(lw, node->args[k]);
    }
}

/* Is it memory that turns of a repeat have written, and that a commit writes into an input?  In the
   arena it is there for the next call, too, while a new array begins with pages that are not. */
static bool
is_turned_memory(const Graph *g, const Output *output)
{
    const Node *node = graph_node(g, graph_node(g, output->node)->storage);
    return output->written && node->op == OP_result &&
           graph_node(g, node->args[0])->op == OP_again && node->type.device == DEVICE_HOST &&
           type_is_known(g, &node->type);
}

static void
mark_outputs(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (int i = 0; i < g->outputs.len; i++) {
        const Node *node = graph_node(g, g->outputs.at[i].node);
        if (!is_turned_memory(g, &g->outputs.at[i])) lw->is_output[node->storage] = true;
        lw->needed[node->storage] = true;
    }
}

/* The storage of an argument as a device reads it: it casts numbers of the host itself. */
static NodeId
read_by_device(const Graph *g, NodeId argument)
{
    NodeId storage = graph_node(g, argument)->storage;
    const Node *node = graph_node(g, storage);
    while (node->op == OP_cast && node->type.device == DEVICE_HOST) {
        storage = graph_node(g, node->args[0])->storage;
        node = graph_node(g, storage);
    }
    return storage;
}

/* Values written at commit must be in memory. */
static void
need_committed(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        if (!lw->live[id] || !node_commits(g, id)) continue;
        NodeId value = graph_node(g, id)->args[1];
        bool host = graph_node(g, id)->type.device == DEVICE_HOST;
        lw->needed[host ? graph_node(g, value)->storage : read_by_device(g, value)] = true;
    }
}

/* Numbers that the host computes and a device uses are computed on the host, and passed. */
static void
anchor_for_devices(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!lw->live[id] || node->type.device == DEVICE_HOST) continue;
        for (int k = 0; k < node->nargs; k++) {
            NodeId storage = read_by_device(g, node->args[k]);
            const Node *arg = graph_node(g, storage);
            if (arg->type.device == DEVICE_HOST && arg->op != OP_const)
                lw->virtuals.anchored[storage] = true;
        }
    }
}

/* ---- what leaves ---- */

/* Broadcasts the value's type to the view that is written. */
static void
spread_type(const Graph *g, const Type *view, Type *type)
{
    Type out = *view;
    int shift = view->rank - type->rank;
    out.offset = type->offset;
    for (int axis = 0; axis < view->rank; axis++) {
        int from = axis - shift;
        bool walks = from >= 0 && !size_is_single(g, type->shape[from]);
        out.stride[axis] = walks ? type->stride[from] : NO_SIZE;
    }
    *type = out;
}

/* An array of its own with the elements of all of its storage in another shape (passes/copies.c):
   the memory is taken for such an array. */
static void
reshape_buffer(Lowering *lw, const Output *output, BufferId buffer)
{
    Graph *g = lw->graph;
    const Node *node = graph_node(g, output->node);
    bool whole = node->storage != output->node && output->fresh && !output->view &&
                 node->type.device != DEVICE_HOST && node->type.form == FORM_ARRAY &&
                 type_is_contiguous(g, &node->type) &&
                 type_has_as_many(g, &node->type, &graph_node(g, node->storage)->type);
    for (int i = 0; i < g->outputs.len && whole; i++)
        whole = g->outputs.at[i].node != node->storage;
    if (!whole) return;
    lw->program->buffers.at[buffer].type = node->type;
    lw->program->buffers.at[buffer].type.offset = NO_SIZE;
}

/* Fills Program.located. */
static int
locate_outputs(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (int i = 0; i < g->outputs.len; i++) {
        Located at = {.node = g->outputs.at[i].node};
        NodeId value = at.node;
        if (node_commits(g, at.node)) {
            value = graph_node(g, at.node)->args[1];
            at.written = true;
            at.view = *graph_node(g, at.node)->attrs.view;
        }
        at.type = graph_node(g, value)->type;
        if (node_commits(g, at.node) &&
            (lw->commit_of[value] == at.node || lw->commit_of[at.node] == at.node)) {
            at.in_place = true;
            at.place.offset = at.view.offset;
            at.place.buffer =
                buffer_for(lw, graph_node(g, graph_node(g, at.node)->args[0])->storage);
            at.type = at.view;
            if (at.place.buffer == NO_BUFFER || VEC_PUSH(lw->arena, &lw->program->located, at) < 0)
                return -1;
            continue;
        }
        NodeId storage = graph_node(g, value)->storage;
        NodeId root = lw->same_as[storage];
        at.in_place = !at.written && root != storage && graph_node(g, root)->op == OP_input;
        if (place_for(lw, value, &at.place) < 0) return -1;
        if (at.written)
            spread_type(g, &at.view, &at.type);
        else
            reshape_buffer(lw, &g->outputs.at[i], at.place.buffer);
        if (VEC_PUSH(lw->arena, &lw->program->located, at) < 0) return -1;
    }
    return 0;
}

/* Marks the buffers into which later versions are written. */
static void
mark_written(Lowering *lw)
{
    for (NodeId id = 0; id < lw->graph->nodes.len; id++) {
        NodeId root = lw->same_as[id];
        if (root != id && lw->buffer[root] != NO_BUFFER)
            lw->program->buffers.at[lw->buffer[root]].written = true;
    }
}

/* Has the group no elements? Then no kernel is made, but its buffers are. */
static bool
group_is_empty(const Lowering *lw, const Group *g)
{
    for (int dim = 0; !g->external && dim < g->ndims; dim++)
        if (size_is_zero(lw->graph, g->size[dim])) return true;
    return false;
}

/* ---- groups that fit a kernel ---- */

/* Where to cut a group so that the fewest values go through memory: within its middle half, and as
   close to the middle as possible.  -1 with the error set. */
static int
best_cut(const Lowering *lw, const Group *g)
{
    int n = g->nodes.len, best = n / 2;
    int32_t *place = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)lw->nnodes);
    int32_t *crossing = arena_alloc(lw->arena, sizeof(int32_t) * ((size_t)n + 1));
    int32_t *last = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)n);
    if (place == NULL || crossing == NULL || last == NULL) return -1;
    for (int i = 0; i < n; i++) {
        const Node *node = graph_node(lw->graph, g->nodes.at[i]);
        place[g->nodes.at[i]] = i + 1;
        last[i] = i;
        for (int k = 0; k < node->nargs; k++) {
            int maker = place[graph_node(lw->graph, node->args[k])->storage] - 1;
            if (maker >= 0) last[maker] = i;
        }
    }
    /* a value crosses the cuts between its maker and its last reader */
    for (int i = 0; i < n; i++) {
        crossing[i + 1]++;
        crossing[last[i] + 1]--;
    }
    for (int cut = 1; cut <= n; cut++) crossing[cut] += crossing[cut - 1];
    for (int away = 1; away <= n / 4; away++)
        for (int side = -1; side <= 1; side += 2) {
            int cut = n / 2 + side * away;
            if (cut >= 1 && cut < n && crossing[cut] < crossing[best]) best = cut;
        }
    return best;
}

/* The group does not fit a kernel: it is cut in two, and a single member becomes a call of the
   library.  ANSWER_NO: nothing is left to try. */
static Answer
divide(Lowering *lw, const Group *g)
{
    NodeId first = g->nodes.at[0];
    if (g->nodes.len > 1) {
        int cut = best_cut(lw, g);
        if (cut < 0) return ANSWER_ERROR;
        for (int i = 0; i < g->nodes.len; i++)
            lw->part[g->nodes.at[i]] = lw->nparts + 1 + (i >= cut);
        lw->nparts += 2;
        return ANSWER_YES;
    }
    if (g->external || lw->by_library[first] || !library_has(lw->graph, first)) return ANSWER_NO;
    lw->by_library[first] = true;
    return ANSWER_YES;
}

static int
build_group(Lowering *lw, Group *g, bool *divided)
{
    if (group_is_empty(lw, g)) return 0;
    int failed = g->external                                     ? step_external(lw, g)
                 : g->commits > 0                                ? commit_build(lw, g)
                 : nest_build(lw, g, NEST_FIRST) == ANSWER_ERROR ? -1
                                                                 : 0;
    if (lw->why == NULL && failed < 0) return -1;
    if (lw->why == NULL) return 0;
    PyErr_Clear();
    Answer answer = divide(lw, g);
    if (answer != ANSWER_YES) return answer == ANSWER_NO ? 0 : -1;
    lw->why = NULL;
    *divided = true;
    return 0;
}

/* *divided: some group did not fit, and everything must be scheduled again. */
static int
build_groups(Lowering *lw, bool *divided)
{
    if (save_scattered(lw) < 0) return -1;
    for (int copies = 1; copies >= 0; copies--) /* the first kernels at commit run last */
        for (int i = 0; i < lw->groups.len; i++) {
            Group *g = &lw->groups.at[i];
            if (group_copies(g) != (copies == 1)) continue;
            if (build_group(lw, g, divided) < 0) return -1;
            if (lw->why != NULL) return 0;
        }
    return 0;
}

/* Back to the state before scheduling; parts and by_library stay. */
static void
forget_schedule(Lowering *lw, const bool *needed)
{
    Program *p = lw->program;
    for (int i = 0; i < lw->nnodes; i++) {
        lw->group_of[i] = -1;
        lw->row_level[i] = false;
        lw->latest[i] = lw->seen[i] = UNKNOWN_GROUP;
        lw->buffer[i] = NO_BUFFER;
        lw->commit_of[i] = lw->stored_in[i] = NO_NODE;
        lw->touched[i] = -1;
        lw->needed[i] = needed[i];
    }
    lw->groups.len = lw->open.len = lw->shelves.len = 0;
    if (lw->shelf_slots > 0) memset(lw->shelf_slot, 0, sizeof(int32_t) * (size_t)lw->shelf_slots);
    p->kernels.len = p->loops.len = p->buffers.len = p->steps.len = p->commits.len = 0;
}

/* Bytes of the values that the groups make and that must be in memory. */
static int64_t
stored_bytes(const Lowering *lw)
{
    int64_t bytes = 0;
    for (NodeId id = 0; id < lw->nnodes; id++) {
        const Type *type = &graph_node(lw->graph, id)->type;
        if (lw->group_of[id] < 0 || !lw->needed[id] || type->form != FORM_ARRAY) continue;
        bytes += type_elements(lw->graph, type) * (int64_t)dtype_size((DType)type->dtype);
    }
    return bytes;
}

/* Groups, with some nodes in a later group than their arguments' (late.c) where less is stored
   then. */
static int
schedule_late(Lowering *lw, const bool *needed)
{
    if (schedule(lw) < 0) return -1;
    if (lw->why != NULL) return 0;
    int64_t before = stored_bytes(lw);
    Answer late = late_find(lw);
    if (late != ANSWER_YES) return late == ANSWER_NO ? 0 : -1;
    forget_schedule(lw, needed);
    if (schedule(lw) < 0) return -1;
    if (stored_bytes(lw) < before) return 0;
    memset(lw->late, 0, sizeof(*lw->late) * (size_t)lw->nnodes);
    forget_schedule(lw, needed);
    return schedule(lw);
}

/* Repeats until every group fits a kernel. */
static int
schedule_and_build(Lowering *lw)
{
    bool *needed = arena_copy(lw->arena, lw->needed, (size_t)lw->nnodes * sizeof(bool));
    bool divided = true, first = true;
    if (needed == NULL) return -1;
    while (divided && lw->why == NULL) {
        divided = false;
        forget_schedule(lw, needed);
        if ((first ? schedule_late(lw, needed) : schedule(lw)) < 0) return -1;
        first = false;
        if (lw->why == NULL) {
            if (commit_choose(lw) < 0) return -1;
            if (lw->why != NULL) return 0;
        }
        if (build_groups(lw, &divided) < 0) return -1;
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
    if (lw.program == NULL || make_arrays(&lw) < 0) return NULL;
    if (sized_find(&lw) < 0) return NULL;
    find_results(&lw);
    find_live(&lw);
    if (virtuals_find(&lw.virtuals, graph, lw.live) < 0 || arms_find(&lw) < 0) return NULL;
    anchor_for_devices(&lw);
    need_scalars_of_empty(&lw);
    arms_need(&lw);
    mark_outputs(&lw);
    if (writes_place(&lw) < 0 || repeat_place(&lw) < 0) return NULL;
    need_committed(&lw);
    if (lw.why == NULL && (together_divide(&lw) < 0 || schedule_and_build(&lw) < 0)) return NULL;
    if (lw.why == NULL && together_join(&lw) < 0) return NULL;
    if (lw.why == NULL && locate_outputs(&lw) < 0) return NULL;
    mark_written(&lw);
    if (lw.why == NULL) release_arguments(&lw);
    if (lw.why == NULL && measure_buffers(&lw) < 0) return NULL;
    if (lw.why == NULL && (memory_plan(&lw) < 0 || release_plan(&lw) < 0 || waves_find(&lw) < 0 ||
                           drives_find(&lw) < 0))
        return NULL;
    if (lw.why != NULL) {
        PyErr_Clear();
        *why = lw.why;
        *answer = ANSWER_NO;
        return NULL;
    }
    *answer = ANSWER_YES;
    return lw.program;
}
