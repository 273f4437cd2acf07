/* Groups: their members, counts of these, and joining one.  Groups of one domain are on one shelf,
   where a node finds those that it may join. */
#include "group.h"

/* The size of a group.  A value that crosses from one group to another is stored to memory and
   loaded again for each element; one that the compiler spills only goes to the first-level cache.
   So a group ends where few of its values are still to be read: once it stores many arrays (100
   products of 400,000 elements: 131 ms in one kernel, 73 ms with 64 stores each, 25 ms with 16),
   and otherwise in the second half of a kernel's limit, if the kernel could not hold all remaining
   nodes.  Reductions of a group are accumulated side by side, each in a register: more than there
   are registers gain nothing, and compilers take a time that grows faster than their number (200
   sums of slices: 2.7 s in one kernel, 0.2 s with 16 each, which are alike). */
enum {
    MOST_STORES = 16,
    FEW_LIVE = 4,
    MOST_REDUCTIONS = 16,
    MOST_COLUMNS =
        200, /* members of a column group, which are all checked again for each new one */
};

/* ---- members ---- */

/* The instructions that a member is likely to need: its own, a store, loads of arguments. */
static int
member_instrs(const Lowering *lw, int number, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    int count = 1 + lw->needed[id];
    for (int k = op_info(node->op)->kind == KIND_SCATTER; k < node->nargs; k++) {
        NodeId storage = graph_node(lw->graph, node->args[k])->storage;
        count += lw->group_of[storage] != number && lw->touched[storage] != number;
    }
    return count;
}

/* Is it one value per row?  That costs little to pass to another kernel. */
static bool
is_reduced(const Lowering *lw, NodeId id)
{
    return op_info(graph_node(lw->graph, id)->op)->kind == KIND_REDUCTION;
}

/* Counts the node's reads of its arguments as done (`by` is 1) or as still to be done (-1). */
static void
count_reads(Lowering *lw, NodeId id, int by)
{
    const Node *node = graph_node(lw->graph, id);
    for (int k = 0; k < node->nargs; k++) {
        NodeId storage = graph_node(lw->graph, node->args[k])->storage;
        bool was = lw->unread[storage] > 0, is = (lw->unread[storage] -= by) > 0;
        if (was != is && lw->group_of[storage] >= 0 && !is_reduced(lw, storage))
            lw->groups.at[lw->group_of[storage]].live += is ? 1 : -1;
    }
}

static void
count_member(Lowering *lw, Group *g, NodeId id, int by)
{
    const Node *node = graph_node(lw->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_REDUCTION) g->reductions += by;
    if (kind == KIND_SCATTER) g->scatters += by;
    if (node_way(lw->graph, node) == WAY_BLOCKS) g->calls += by;
    if (lw->needed[id]) g->stores += by;
    count_reads(lw, id, by);
    if (lw->unread[id] > 0 && !is_reduced(lw, id)) g->live += by;
}

void
groups_begin(Lowering *lw)
{
    const Region *top = &lw->graph->regions.at[0];
    memset(lw->unread, 0, sizeof(int32_t) * (size_t)lw->nnodes);
    lw->remaining = 0;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(lw->graph, id);
        OpKind kind = op_info(node->op)->kind;
        if (!lw->live[id] || kind == KIND_VIEW || kind == KIND_RESULT) continue;
        if (kind == KIND_SCATTER && node_commits(lw->graph, id)) continue;
        if (node_is_virtual(&lw->virtuals, id) && !lw->needed[id]) continue;
        lw->remaining++;
        for (int k = 0; k < node->nargs; k++)
            lw->unread[graph_node(lw->graph, node->args[k])->storage]++;
    }
}

static int
add_member(Lowering *lw, int number, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    Group *g = &lw->groups.at[number];
    g->instrs += member_instrs(lw, number, id);
    lw->group_of[id] = number;
    if (node_may_report(lw->graph, node)) {
        g->reports = true;
        g->errors = node->errors;
    }
    count_member(lw, g, id, 1);
    lw->remaining--;
    for (int k = op_info(node->op)->kind == KIND_SCATTER; k < node->nargs; k++) {
        NodeId storage = graph_node(lw->graph, node->args[k])->storage;
        bool in_memory = !node_is_virtual(&lw->virtuals, storage) || lw->needed[storage];
        if (in_memory && lw->touched[storage] < number) lw->touched[storage] = number;
    }
    lw->touched[id] = number;
    return VEC_PUSH(lw->arena, &g->nodes, id);
}

/* Removes the member that was added last. */
static void
drop_member(Lowering *lw, Group *g, NodeId id)
{
    g->nodes.len--;
    count_member(lw, g, id, -1);
    lw->remaining++;
    lw->group_of[id] = -1;
}

void
group_drop_to(Lowering *lw, int number, int count)
{
    Group *g = &lw->groups.at[number];
    while (g->nodes.len > count) {
        NodeId id = g->nodes.at[g->nodes.len - 1];
        drop_member(lw, g, id);
        lw->row_level[id] = false;
    }
}

/* ---- shelves ---- */

/* Most groups that a node tries to join before it opens one. */
enum { MOST_TRIED = 256 };

static bool
is_shelf(const Lowering *lw, const Shelf *shelf, const Shelf *wanted)
{
    if (shelf->arm != wanted->arm || shelf->part != wanted->part || shelf->ndims != wanted->ndims ||
        shelf->device != wanted->device)
        return false;
    for (int dim = 0; dim < shelf->ndims; dim++)
        if (!size_same(lw->graph, shelf->size[dim], wanted->size[dim])) return false;
    return true;
}

static uint32_t
shelf_hash(const Lowering *lw, const Shelf *shelf)
{
    uint64_t hash = (uint64_t)shelf->arm << 32 | ((uint32_t)shelf->part << 1 ^ shelf->device);
    for (int dim = 0; dim < shelf->ndims; dim++)
        hash = (hash ^ (uint64_t)size_value(lw->graph, shelf->size[dim])) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32);
}

static int32_t *
shelf_slot(const Lowering *lw, const Shelf *wanted)
{
    uint32_t mask = (uint32_t)lw->shelf_slots - 1;
    for (uint32_t at = shelf_hash(lw, wanted) & mask;; at = (at + 1) & mask) {
        int32_t number = lw->shelf_slot[at];
        if (number == 0 || is_shelf(lw, &lw->shelves.at[number - 1], wanted))
            return &lw->shelf_slot[at];
    }
}

static int
grow_shelves(Lowering *lw)
{
    int32_t slots = lw->shelf_slots ? lw->shelf_slots * 2 : 64;
    if ((lw->shelf_slot = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)slots)) == NULL)
        return -1;
    lw->shelf_slots = slots;
    for (int i = 0; i < lw->shelves.len; i++) *shelf_slot(lw, &lw->shelves.at[i]) = i + 1;
    return 0;
}

/* Puts the group on the shelf for nodes whose domain is the group's without the dimensions in
   `without`. */
static int
put_on_shelf(Lowering *lw, int number, unsigned without)
{
    const Group *g = &lw->groups.at[number];
    Shelf wanted = {.arm = g->arm, .part = g->part, .device = g->device};
    for (int dim = 0; dim < g->ndims; dim++)
        if (!(without >> dim & 1)) wanted.size[wanted.ndims++] = g->size[dim];
    if (lw->shelves.len * 2 >= lw->shelf_slots && grow_shelves(lw) < 0) return -1;
    int32_t *slot = shelf_slot(lw, &wanted);
    if (*slot == 0) {
        if (VEC_PUSH(lw->arena, &lw->shelves, wanted) < 0) return -1;
        *slot = lw->shelves.len;
    }
    Shelf *shelf = &lw->shelves.at[*slot - 1];
    if (VEC_PUSH(lw->arena, &shelf->groups, number) < 0) return -1;
    int at = shelf->groups.len - 1;
    for (; at > 0 && shelf->groups.at[at - 1] > number; at--)
        shelf->groups.at[at] = shelf->groups.at[at - 1];
    shelf->groups.at[at] = number;
    return 0;
}

static Shelf *
shelf_of(const Lowering *lw, NodeId id)
{
    Shelf wanted = {.arm = lw->arm[id],
                    .part = lw->part[id],
                    .device = (Device)graph_node(lw->graph, id)->type.device};
    int axes[MAX_RANK];
    if (lw->shelf_slots == 0) return NULL;
    wanted.ndims = domain_squeezed(lw->graph, node_domain(lw, id), wanted.size, axes);
    int32_t *slot = shelf_slot(lw, &wanted);
    return *slot == 0 ? NULL : &lw->shelves.at[*slot - 1];
}

/* May no other node join the group? */
static bool
is_full(const Lowering *lw, const Group *g)
{
    if (!g->fuses || g->instrs >= MAX_INSTRS) return true;
    if (g->columns && g->nodes.len >= MOST_COLUMNS) return true;
    if ((g->stores >= MOST_STORES || g->reductions >= MOST_REDUCTIONS) && g->live <= FEW_LIVE)
        return true;
    if (g->instrs + 2 * lw->remaining <= MAX_INSTRS) return false;
    /* half as many where there are several kernels: compilers take more than twice as long for a
       kernel twice as long */
    return g->instrs >= MAX_INSTRS / (g->live <= FEW_LIVE ? 4 : 2);
}

/* The place on the shelf of the first group from number `from` on; full groups there are removed
   first. */
static int
first_on_shelf(const Lowering *lw, Shelf *shelf, int from)
{
    int low = 0, high = shelf->groups.len;
    while (low < high) {
        int middle = (low + high) / 2;
        if (shelf->groups.at[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    int kept = low;
    for (int i = low; i < shelf->groups.len && i < low + MOST_TRIED; i++) {
        if (!is_full(lw, &lw->groups.at[shelf->groups.at[i]])) break;
        kept = i + 1;
    }
    if (kept == low) return low;
    memmove(&shelf->groups.at[low], &shelf->groups.at[kept],
            sizeof(int) * (size_t)(shelf->groups.len - kept));
    shelf->groups.len -= kept - low;
    return low;
}

/* ---- joining ---- */

static Answer
join_reduction(Lowering *lw, int number, NodeId id)
{
    Group *g = &lw->groups.at[number];
    ReduceOrder order;
    ReductionForm form = reduction_form(lw->graph, graph_node(lw->graph, id), &order);
    if (!domain_matches(lw, g, id, false) || !arguments_fit(lw, number, id, false))
        return ANSWER_NO;
    unsigned mask = reduced_dimensions(lw, id);
    bool columns = form == REDUCTION_COLUMNS;
    bool reduces = g->reductions > 0;
    if (g->in_place) return ANSWER_NO; /* one pass, so that loads come before stores */
    if (g->calls > 0 && !row_fits_call(lw, g, mask, columns)) return ANSWER_NO;
    if (reduces && (g->reduced != mask || g->columns != columns)) return ANSWER_NO;
    if (mask == 0) return ANSWER_NO;
    if (columns && !reduces && g->scatters > 0) return ANSWER_NO;
    unsigned old_mask = g->reduced;
    bool old_columns = g->columns;
    g->reduced = mask;
    g->columns = columns;
    if (add_member(lw, number, id) < 0) return ANSWER_ERROR;
    if (rows_collapse(lw, g, reduces ? id : NO_NODE))
        return reduces || put_on_shelf(lw, number, mask) == 0 ? ANSWER_YES : ANSWER_ERROR;
    g->reduced = old_mask;
    g->columns = old_columns;
    drop_member(lw, g, id);
    return ANSWER_NO;
}

static Answer
join_level(Lowering *lw, int number, NodeId id, bool row_level)
{
    Group *g = &lw->groups.at[number];
    if (row_level && (g->reduced == 0 || g->columns)) return ANSWER_NO;
    /* its values are positions along a row, which a row-level value has none of */
    if (row_level && graph_node(lw->graph, id)->op == OP_arange) return ANSWER_NO;
    if (!domain_matches(lw, g, id, row_level)) return ANSWER_NO;
    bool call = node_way(lw->graph, graph_node(lw->graph, id)) == WAY_BLOCKS;
    if (call && g->in_place) return ANSWER_NO;
    if (call && row_level && has_many_rows(lw, g, g->reduced)) return ANSWER_NO;
    if (call && !row_level && g->reduced && !row_fits_call(lw, g, g->reduced, g->columns))
        return ANSWER_NO;
    lw->row_level[id] = row_level;
    if (!arguments_fit(lw, number, id, row_level)) {
        lw->row_level[id] = false;
        return ANSWER_NO;
    }
    if (add_member(lw, number, id) < 0) return ANSWER_ERROR;
    if (rows_collapse(lw, g, id)) return ANSWER_YES;
    drop_member(lw, g, id);
    lw->row_level[id] = false;
    return ANSWER_NO;
}

Answer
group_join(Lowering *lw, int number, NodeId id)
{
    Group *g = &lw->groups.at[number];
    if (g->arm != lw->arm[id] || g->part != lw->part[id]) return ANSWER_NO;
    if (g->device != (Device)graph_node(lw->graph, id)->type.device) return ANSWER_NO;
    if (is_full(lw, g)) return ANSWER_NO;
    const Node *node = graph_node(lw->graph, id);
    if (g->reports && g->errors != node->errors && node_may_report(lw->graph, node))
        return ANSWER_NO;
    if (op_info(graph_node(lw->graph, id)->op)->kind == KIND_REDUCTION)
        return join_reduction(lw, number, id);
    Answer answer = join_level(lw, number, id, false);
    return answer == ANSWER_NO ? join_level(lw, number, id, true) : answer;
}

Answer
group_join_any(Lowering *lw, NodeId id)
{
    Shelf *shelf = shelf_of(lw, id);
    int first = shelf == NULL ? 0 : first_on_shelf(lw, shelf, argument_group(lw, id));
    for (int i = first; shelf != NULL && i < shelf->groups.len && i < first + MOST_TRIED; i++) {
        Answer answer = late_join(lw, shelf->groups.at[i], id);
        if (answer != ANSWER_NO) return answer;
    }
    return ANSWER_NO;
}

/* ---- a new one ---- */

int
group_open(Lowering *lw, NodeId id, bool external, bool fuses)
{
    Group g = {.external = external,
               .device = (Device)graph_node(lw->graph, id)->type.device,
               .arm = lw->arm[id],
               .part = lw->part[id],
               .fuses = fuses};
    int axes[MAX_RANK];
    if (!external) g.ndims = domain_squeezed(lw->graph, node_domain(lw, id), g.size, axes);
    if (VEC_PUSH(lw->arena, &lw->groups, g) < 0) return -1;
    int number = lw->groups.len - 1;
    if (op_info(graph_node(lw->graph, id)->op)->kind == KIND_REDUCTION && !external) {
        ReduceOrder order;
        Group *made = &lw->groups.at[number];
        ReductionForm form = reduction_form(lw->graph, graph_node(lw->graph, id), &order);
        made->reduced = reduced_dimensions(lw, id);
        made->columns = form == REDUCTION_COLUMNS;
    }
    const Group *made = &lw->groups.at[number];
    if (made->fuses && put_on_shelf(lw, number, 0) < 0) return -1;
    if (made->reduced != 0 && put_on_shelf(lw, number, made->reduced) < 0) return -1;
    return add_member(lw, number, id);
}
