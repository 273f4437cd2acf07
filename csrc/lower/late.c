/* Values that wait for their readers.

   Nodes are scheduled in program order, each in the earliest kernel that has its arguments. Where a
   value's readers are all in one later kernel, for they need other values too, it would cross
   memory to get there:

       first kernel    %3 = …, stored;  %4 = multiply(2, %3), stored
       second kernel   %8 = subtract(%7, %4), where %7 is computed from views of what holds %3

   Where its arguments are in memory anyway, the value is better computed in the readers' kernel. So
   once the groups are known, such nodes are found, and everything is scheduled again: a late node
   is offered to a group together with its first reader. (In ten steps of a wave equation two of
   three stored arrays were of this kind.) */
#include "group.h"

enum {
    MOST_LEAVES = 2,
    SMALL = 16, /* an array with so many times fewer elements counts as none */
    ROUNDS = 4,
};

/* Arrays that the readers' kernel loads instead of a value; more than MOST_LEAVES: too many. */
typedef struct {
    int32_t count;
    NodeId storage[MOST_LEAVES];
} Leaves;

typedef struct {
    Lowering *lw;
    bool *written; /* per storage: something is written into its memory before the commit */
    bool *tied;    /* per node: a reader wants it where it is */
    int32_t *home; /* per node: the group of all its readers; -1: none seen yet */
    Leaves *leaves;
    const Region *top;
} Late;

/* ---- which memory changes ---- */

static void
note_written(const Late *l, NodeId value)
{
    l->written[l->lw->same_as[graph_node(l->lw->graph, value)->storage]] = true;
}

static void
find_written(const Late *l)
{
    const Graph *g = l->lw->graph;
    for (int i = 0; i < l->top->nodes.len; i++) {
        NodeId id = l->top->nodes.at[i];
        const Node *node = graph_node(g, id);
        if (!l->lw->live[id]) continue;
        if (node->op == OP_scatter && !node_commits(g, id)) note_written(l, node->args[0]);
        if (op_info(node->op)->kind == KIND_REGION || node->op == OP_collective)
            for (int k = 0; k < node->nargs; k++) note_written(l, node->args[k]);
    }
}

/* Will a later kernel find the argument in memory, as it is now? */
static bool
stays_in_memory(const Late *l, NodeId value)
{
    const Lowering *lw = l->lw;
    NodeId storage = graph_node(lw->graph, value)->storage;
    if (l->written[lw->same_as[storage]]) return false;
    switch (op_info(graph_node(lw->graph, storage)->op)->kind) {
    case KIND_INPUT: return true;
    case KIND_EXTERN:
    case KIND_PRODUCT:
    case KIND_ATTENTION: return graph_node(lw->graph, storage)->type.device != DEVICE_HOST;
    case KIND_POINTWISE:
    case KIND_UFUNC:
    case KIND_REDUCTION: return lw->needed[storage] || lw->stored_in[storage] != NO_NODE;
    default: return false;
    }
}

/* ---- which nodes ---- */

static bool
is_elementwise(const Lowering *lw, NodeId id)
{
    OpKind kind = op_info(graph_node(lw->graph, id)->op)->kind;
    int number = lw->group_of[id];
    return (kind == KIND_POINTWISE || kind == KIND_UFUNC) && number >= 0 && !lw->row_level[id] &&
           !lw->groups.at[number].external;
}

static bool
may_wait(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    return is_elementwise(lw, id) && node->type.rank > 0 &&
           node_way(lw->graph, node) == WAY_EXPRESSION && !lw->is_output[id] && !lw->checked[id];
}

/* The reader `id` wants its arguments in its own group, or where it waits for that of its readers,
   in theirs. */
static void
ask_arguments(const Late *l, NodeId id)
{
    const Lowering *lw = l->lw;
    const Node *node = graph_node(lw->graph, id);
    if (op_info(node->op)->kind == KIND_VIEW) return;
    int32_t group = lw->late[id] ? l->home[id] : lw->group_of[id];
    for (int k = 0; k < node->nargs; k++) {
        const Node *arg = graph_node(lw->graph, node->args[k]);
        NodeId storage = arg->storage;
        bool fits = storage == node->args[k] && is_elementwise(lw, id) &&
                    type_same_shape(&arg->type, &node->type);
        if (!fits || (l->home[storage] >= 0 && l->home[storage] != group)) l->tied[storage] = true;
        l->home[storage] = group;
    }
}

/* Backwards, so that the readers of a node come before it.  `first`: any node may wait, later only
   those that still do. */
static bool
choose_late(const Late *l, bool first)
{
    Lowering *lw = l->lw;
    bool changed = false;
    for (int i = 0; i < lw->nnodes; i++) {
        l->home[i] = -1;
        l->tied[i] = false;
    }
    for (int i = l->top->nodes.len; i-- > 0;) {
        NodeId id = l->top->nodes.at[i];
        if (!lw->live[id]) continue;
        bool late = (first || lw->late[id]) && !l->tied[id] && may_wait(lw, id) &&
                    l->home[id] > lw->group_of[id];
        changed |= late != lw->late[id];
        lw->late[id] = late;
        ask_arguments(l, id);
    }
    return changed;
}

static const Leaves too_many = {.count = MOST_LEAVES + 1};

static void
add_leaf(Leaves *leaves, NodeId storage)
{
    for (int i = 0; i < leaves->count && i < MOST_LEAVES; i++)
        if (leaves->storage[i] == storage) return;
    if (leaves->count < MOST_LEAVES) leaves->storage[leaves->count] = storage;
    if (leaves->count <= MOST_LEAVES) leaves->count++;
}

static bool
is_small(const Graph *g, NodeId value, NodeId beside)
{
    int64_t whole = type_elements(g, &graph_node(g, beside)->type);
    return type_elements(g, &graph_node(g, value)->type) * SMALL < whole;
}

/* What the readers' group loads for the node. */
static Leaves
leaves_of(const Late *l, NodeId id)
{
    const Lowering *lw = l->lw;
    const Node *node = graph_node(lw->graph, id);
    Leaves out = {0};
    for (int k = 0; k < node->nargs; k++) {
        NodeId storage = graph_node(lw->graph, node->args[k])->storage;
        if (node_is_virtual(&lw->virtuals, storage)) {
            if (lw->needed[storage]) return too_many;
        } else if (lw->late[storage]) {
            if (storage != node->args[k] || l->leaves[storage].count > MOST_LEAVES) return too_many;
            for (int i = 0; i < l->leaves[storage].count; i++)
                add_leaf(&out, l->leaves[storage].storage[i]);
        } else if (!stays_in_memory(l, node->args[k])) {
            return too_many;
        } else if (lw->touched[storage] != l->home[id] && !is_small(lw->graph, node->args[k], id)) {
            add_leaf(&out, storage);
        }
    }
    return out;
}

static bool
drop_dear(const Late *l)
{
    Lowering *lw = l->lw;
    bool changed = false;
    for (int i = 0; i < l->top->nodes.len; i++) {
        NodeId id = l->top->nodes.at[i];
        if (!lw->late[id]) continue;
        l->leaves[id] = leaves_of(l, id);
        if (l->leaves[id].count <= MOST_LEAVES) continue;
        lw->late[id] = false;
        changed = true;
    }
    return changed;
}

/* An attention's region reads what are its arguments, too. */
static bool
may_read_anything(const Graph *g, const Region *region)
{
    return region->nodes.len > 0 &&
           (region->owner == NO_NODE ||
            op_info(graph_node(g, region->owner)->op)->kind != KIND_ATTENTION);
}

Answer
late_find(Lowering *lw)
{
    size_t n = (size_t)lw->nnodes;
    Late l = {.lw = lw, .top = &lw->graph->regions.at[0]};
    if (lw->narms > 0 || lw->groups.len < 2) return ANSWER_NO;
    for (int r = 1; r < lw->graph->regions.len; r++)
        if (may_read_anything(lw->graph, &lw->graph->regions.at[r])) return ANSWER_NO;
    l.written = arena_alloc(lw->arena, n);
    l.tied = arena_alloc(lw->arena, n);
    l.home = arena_alloc(lw->arena, n * sizeof(int32_t));
    l.leaves = arena_alloc(lw->arena, n * sizeof(Leaves));
    if (l.written == NULL || l.tied == NULL || l.home == NULL || l.leaves == NULL)
        return ANSWER_ERROR;
    find_written(&l);
    choose_late(&l, true);
    bool settled = false;
    for (int round = 0; round < ROUNDS && !settled; round++) {
        bool dear = drop_dear(&l);
        settled = !choose_late(&l, false) && !dear;
    }
    bool any = false;
    for (NodeId id = 0; id < lw->nnodes; id++) {
        if (!settled) lw->late[id] = false;
        any |= lw->late[id];
    }
    return any ? ANSWER_YES : ANSWER_NO;
}

/* ---- scheduling them ---- */

bool
late_waits(const Lowering *lw, NodeId id)
{
    return lw->late[id] && lw->group_of[id] < 0;
}

static bool
has_waiting(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    for (int k = 0; k < node->nargs; k++)
        if (late_waits(lw, graph_node(lw->graph, node->args[k])->storage)) return true;
    return false;
}

/* The node joins the group, behind the arguments that have waited for it. */
static Answer
join_behind(Lowering *lw, int number, NodeId id)
{
    for (int k = 0; k < graph_node(lw->graph, id)->nargs; k++) {
        NodeId arg = graph_node(lw->graph, graph_node(lw->graph, id)->args[k])->storage;
        Answer answer = late_waits(lw, arg) ? join_behind(lw, number, arg) : ANSWER_YES;
        if (answer != ANSWER_YES) return answer;
    }
    return group_join(lw, number, id);
}

Answer
late_join(Lowering *lw, int number, NodeId id)
{
    if (!has_waiting(lw, id)) return group_join(lw, number, id);
    int before = lw->groups.at[number].nodes.len;
    Answer answer = join_behind(lw, number, id);
    if (answer == ANSWER_NO) group_drop_to(lw, number, before);
    return answer;
}

/* A waiting node that needs no other, and without which `id` cannot be computed. */
static NodeId
first_waiting(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    for (int k = 0; k < node->nargs; k++) {
        NodeId arg = graph_node(lw->graph, node->args[k])->storage;
        if (late_waits(lw, arg)) return first_waiting(lw, arg);
    }
    return id;
}

Answer
late_open(Lowering *lw, NodeId id)
{
    NodeId first = first_waiting(lw, id);
    if (first == id) return ANSWER_NO;
    if (group_open(lw, first, false, true) < 0) return ANSWER_ERROR;
    Answer answer = late_join(lw, lw->groups.len - 1, id);
    if (answer == ANSWER_NO && late_arguments(lw, id) < 0) return ANSWER_ERROR;
    return answer;
}

int
late_arguments(Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    for (int k = 0; k < node->nargs; k++) {
        NodeId arg = graph_node(lw->graph, node->args[k])->storage;
        if (!late_waits(lw, arg)) continue;
        if (late_arguments(lw, arg) < 0) return -1;
        Answer joined = group_join_any(lw, arg);
        if (joined == ANSWER_ERROR) return -1;
        if (joined == ANSWER_NO && group_open(lw, arg, false, true) < 0) return -1;
    }
    return 0;
}
