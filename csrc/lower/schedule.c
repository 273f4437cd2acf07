/* Which nodes share a kernel.  In: the top region in program order.  Out: groups in execution
   order.

   Greedy, one pass in program order:
   1. A node that needs no memory (constants, fills, rank-0 arithmetic) is virtual: it is computed
      again in every kernel that uses it, unless that would be long (graph/virtual.c).
   2. Any other node joins the latest group that makes one of its arguments, or a later one, if it
      has the same domain and each argument that the group makes is read at exactly the element that
      is being made (equal address maps); otherwise it opens a new group at the end.
   3. A reduction of the innermost dimension turns its group into a row group: later members may use
      the reduced value, while the row stays in cache. */
#include "group.h"

static bool
is_external(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    ReduceOrder order;
    if (lw->by_library[id]) return true;
    switch (op_info(node->op)->kind) {
    case KIND_EXTERN:
    case KIND_MATMUL:
    case KIND_SCAN:
    case KIND_CHOICE:
    case KIND_ATTENTION:
    case KIND_PRODUCT:
    case KIND_REGION:
    case KIND_JUMP: return true;
    case KIND_REDUCTION:
        return domain_is_empty(lw, id) ||
               reduction_form(lw->graph, node, &order) == REDUCTION_EXTERN;
    case KIND_POINTWISE:
    case KIND_UFUNC: return node_way(lw->graph, node) == WAY_CALL;
    default: return false;
    }
}

/* Does an external group access the storage? */
static bool
call_touches(const Lowering *lw, const Group *g, NodeId storage)
{
    const Node *node = graph_node(lw->graph, g->nodes.at[0]);
    if (node->region[0] != NO_REGION) return true;
    for (int k = 0; k < node->nargs; k++)
        if (graph_node(lw->graph, node->args[k])->storage == storage) return true;
    return false;
}

/* Does group number `at` access the storage, which no later one does? Then a scatter in it cannot
   write it in place. */
static bool
group_touches(const Lowering *lw, int at, NodeId storage)
{
    const Group *g = &lw->groups.at[at];
    return g->external ? call_touches(lw, g, storage) : lw->touched[storage] == at;
}

/* Has what the scatter writes nothing to do with the groups behind number `at`: do they access the
   storage, or make known where in it that is? */
static bool
is_free_since(const Lowering *lw, NodeId storage, int at)
{
    if (lw->touched[storage] > at) return false;
    for (int i = at + 1; i < lw->groups.len; i++) {
        const Group *g = &lw->groups.at[i];
        bool measures = graph_node(lw->graph, g->nodes.at[0])->op == OP_measure;
        if (g->external && (measures || call_touches(lw, g, storage))) return false;
    }
    return true;
}

/* Does the group read the old version only at the element that the scatter writes, and apart from
   all of these? Then it can load and store there. */
static bool
reads_same(const Lowering *lw, const Group *g, NodeId scatter, NodeId old)
{
    const Graph *graph = lw->graph;
    const Type *whole = &graph_node(graph, old)->type;
    Access written, read;
    if (g->external || g->columns || g->reduced != 0 || g->reductions > 0 || g->calls > 0 ||
        g->device != DEVICE_HOST || !domain_matches(lw, g, scatter, false))
        return false;
    access_of(lw, g, scatter, graph_node(graph, scatter)->attrs.view, old, &written);
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(graph, g->nodes.at[i]);
        for (int k = 0; k < node->nargs; k++) {
            const Node *arg = graph_node(graph, node->args[k]);
            if (arg->storage != old) continue;
            access_of(lw, g, g->nodes.at[i], &arg->type, old, &read);
            if (!access_equal(lw, g, &written, &read) &&
                !parts_are_apart(lw->graph, whole, graph_node(graph, scatter)->attrs.view,
                                 &arg->type))
                return false;
        }
    }
    return true;
}

/* Is what the scatter writes into made by an earlier group, or by this one, a fill whose every
   element is replaced where it is stored? */
static bool
old_is_made(const Lowering *lw, int at, NodeId scatter, NodeId old)
{
    const Group *g = &lw->groups.at[at];
    Access made, written;
    if (lw->group_of[old] < at) return latest_group(lw, old) < at;
    if (!node_is_virtual(&lw->virtuals, old) || !domain_matches(lw, g, scatter, false))
        return false;
    result_access(lw, g, old, &made);
    written_access(lw, g, scatter, &written);
    return access_equal(lw, g, &made, &written);
}

static int
schedule_scatter(Lowering *lw, NodeId id)
{
    /* a kernel of its own unless the last kernel that has to do with it makes its value and does
       not access the storage, or at the same element only */
    const Node *node = graph_node(lw->graph, id);
    NodeId old = graph_node(lw->graph, node->args[0])->storage;
    int last = latest_group(lw, node->args[1]);
    if (last >= 0 && last < lw->groups.len && lw->groups.at[last].arm == lw->arm[id] &&
        !node_commits(lw->graph, id) && old_is_made(lw, last, id, old) && lw->same_as[id] != id &&
        is_free_since(lw, old, last) &&
        (!group_touches(lw, last, old) || reads_same(lw, &lw->groups.at[last], id, old))) {
        bool in_place = group_touches(lw, last, old);
        Answer answer = group_join(lw, last, id);
        if (answer == ANSWER_YES) lw->groups.at[last].in_place |= in_place;
        if (answer != ANSWER_NO) return answer == ANSWER_YES ? 0 : -1;
    }
    return group_open(lw, id, false, false);
}

/* Is it a device's copy of elements that lie along another axis than its own? */
static bool
is_turned_copy(const Lowering *lw, const Node *node)
{
    if (node->op != OP_copy || node->type.device == DEVICE_HOST) return false;
    const Type *from = &graph_node(lw->graph, node->args[0])->type;
    int64_t item = (int64_t)dtype_size((DType)from->dtype);
    return from->rank > 1 && size_value(lw->graph, from->stride[from->rank - 1]) != item;
}

/* Such a copy joins a kernel that reads the same; in any other it would save nothing, hold its
   memory for longer and leave less room for tiles. */
static int
schedule_turned(Lowering *lw, NodeId id)
{
    int at = lw->touched[graph_node(lw->graph, graph_node(lw->graph, id)->args[0])->storage];
    Answer answer = at < 0 || lw->groups.at[at].external ? ANSWER_NO : group_join(lw, at, id);
    if (answer != ANSWER_NO) return answer == ANSWER_YES ? 0 : -1;
    return group_open(lw, id, false, true);
}

static int
schedule_node(Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_INPUT || kind == KIND_VIEW || kind == KIND_CONST || kind == KIND_RESULT)
        return 0;
    if (node->op == OP_empty) return 0;
    if (kind == KIND_SCATTER && node_commits(lw->graph, id)) return 0;
    if (node_is_virtual(&lw->virtuals, id) && !lw->needed[id]) return 0;
    if (lw->late[id]) return 0;
    bool joins = kind != KIND_SCATTER && !is_external(lw, id);
    if (!joins && late_arguments(lw, id) < 0) return -1;
    if (kind == KIND_SCATTER) return schedule_scatter(lw, id);
    if (!joins) return group_open(lw, id, true, false);
    if (is_turned_copy(lw, node) && !domain_is_empty(lw, id)) return schedule_turned(lw, id);
    Answer joined = domain_is_empty(lw, id) ? ANSWER_NO : group_join_any(lw, id);
    if (joined != ANSWER_NO) return joined == ANSWER_YES ? 0 : -1;
    Answer opened = late_open(lw, id);
    if (opened != ANSWER_NO) return opened == ANSWER_YES ? 0 : -1;
    return group_open(lw, id, false, true);
}

/* The arguments of a choice must be in memory; as array objects where the choice must be one. */
static void
need_choices(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (NodeId id = g->nodes.len; id-- > 0;) {
        const Node *node = graph_node(g, id);
        if (!lw->live[id] || node->op != OP_choose || node->attrs.index == CHOICE_SAME) continue;
        for (int k = 0; k < node->nargs; k++) {
            NodeId storage = graph_node(g, node->args[k])->storage;
            lw->needed[storage] = true;
            if (k > 0 && lw->is_output[id]) lw->is_output[lw->same_as[storage]] = true;
        }
    }
}

/* Arguments of extern calls are arrays in memory, even those that are virtual elsewhere. */
static void
need_extern_arguments(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!lw->live[id] || !is_external(lw, id)) continue;
        OpKind kind = op_info(node->op)->kind;
        bool bare = kind == KIND_PRODUCT || bare_suits(lw, id);
        if (kind == KIND_ATTENTION || kind == KIND_REGION || kind == KIND_JUMP ||
            node->op == OP_choose)
            continue; /* reads memory, as kernels do */
        for (int k = 0; k < node->nargs; k++) {
            NodeId storage = graph_node(g, node->args[k])->storage;
            lw->needed[storage] = true;
            if (bare) continue;
            /* an array object, not arena memory: the callee may keep it */
            lw->is_output[lw->same_as[storage]] = true;
        }
    }
}

/* Elements are read from memory, even those of a fill, which other kernels compute for themselves.
 */
static void
need_element_arrays(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (lw->live[id] && node->op == OP_gather)
            lw->needed[graph_node(g, node->args[0])->storage] = true;
        if (!lw->live[id] || op_info(node->op)->kind != KIND_ELEMENT) continue;
        for (int k = 0; k < node->nargs; k++) {
            NodeId storage = graph_node(g, node->args[k])->storage;
            if (graph_node(g, node->args[k])->type.form == FORM_ARRAY &&
                graph_node(g, storage)->op == OP_full)
                lw->needed[storage] = true;
        }
    }
}

/* A value that a kernel takes from another must be in memory; of a virtual one, its arguments. */
static void
need_from(Lowering *lw, int number, NodeId value)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    const Node *node = graph_node(lw->graph, storage);
    if (node_is_virtual(&lw->virtuals, storage)) {
        if (lw->seen[storage] == number) return;
        lw->seen[storage] = number;
        for (int k = 0; k < node->nargs; k++) need_from(lw, number, node->args[k]);
        return;
    }
    if (lw->group_of[storage] != number && lw->stored_in[storage] == NO_NODE)
        lw->needed[storage] = true;
}

/* The same for what a region, and those in it, take from outside, for nodes or as results. */
static void
need_outer(Lowering *lw, RegionId number, const bool *inside)
{
    const Region *region = &lw->graph->regions.at[number];
    for (int i = 0; i < region->nodes.len; i++) {
        const Node *node = graph_node(lw->graph, region->nodes.at[i]);
        for (int k = 0; k < node->nargs; k++)
            if (!inside[node->args[k]]) need_from(lw, -1, node->args[k]);
        for (int r = 0; r < 2; r++)
            if (node->region[r] != NO_REGION) need_outer(lw, node->region[r], inside);
    }
    for (int i = 0; i < region->results.len; i++)
        if (!inside[region->results.at[i]]) need_from(lw, -1, region->results.at[i]);
}

static int
find_needed(Lowering *lw)
{
    for (int number = 0; number < lw->groups.len; number++) {
        const Group *g = &lw->groups.at[number];
        for (int i = 0; i < g->nodes.len; i++) {
            const Node *node = graph_node(lw->graph, g->nodes.at[i]);
            for (int k = 0; k < node->nargs; k++) need_from(lw, number, node->args[k]);
            if (node->region[0] == NO_REGION) continue;
            bool *inside = arena_alloc(lw->arena, (size_t)lw->nnodes);
            if (inside == NULL) return -1;
            region_mark(lw->graph, node->region[0], inside);
            need_outer(lw, node->region[0], inside);
        }
    }
    return 0;
}

/* Does the host compute it from numbers alone?  `number` says so of its arguments. */
static bool
is_number(const Lowering *lw, NodeId id, const bool *number)
{
    const Node *node = graph_node(lw->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (node->type.device != DEVICE_HOST || node->type.form == FORM_ARRAY ||
        node->type.form == FORM_OBJECT)
        return false;
    if (kind == KIND_INPUT || kind == KIND_CONST) return true;
    if (kind != KIND_PYTHON && kind != KIND_POINTWISE) return false;
    if (lw->arm[id] != 0 || is_external(lw, id)) return false;
    for (int k = 0; k < node->nargs; k++)
        if (!number[node->args[k]]) return false;
    return true;
}

static int
schedule_top(Lowering *lw, const bool *only)
{
    const Region *top = &lw->graph->regions.at[0];
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (!lw->live[id] || lw->group_of[id] >= 0 || (only != NULL && !only[id])) continue;
        if (schedule_node(lw, id) < 0) return -1;
        if (lw->why != NULL) return 0;
        /* A result node is made by its maker's step: same group. */
        for (NodeId r = lw->first_result[id]; r != NO_NODE; r = lw->next_result[r])
            lw->group_of[r] = lw->group_of[id];
    }
    return 0;
}

/* A kernel of a device takes all numbers of the host when it begins: where these come first, none
   comes between two operations. */
static int
schedule_numbers(Lowering *lw)
{
    const Region *top = &lw->graph->regions.at[0];
    bool *number = arena_alloc(lw->arena, (size_t)lw->nnodes + 1);
    if (number == NULL) return -1;
    for (int i = 0; i < top->nodes.len; i++)
        number[top->nodes.at[i]] = is_number(lw, top->nodes.at[i], number);
    return schedule_top(lw, number);
}

int
schedule(Lowering *lw)
{
    need_extern_arguments(lw);
    need_element_arrays(lw);
    need_choices(lw);
    groups_begin(lw);
    if (lw->on_device && schedule_numbers(lw) < 0) return -1;
    if (schedule_top(lw, NULL) < 0) return -1;
    if (lw->why != NULL) return 0;
    if (stored_find(lw) < 0) return -1;
    return find_needed(lw);
}
