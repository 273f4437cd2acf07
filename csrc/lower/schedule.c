/* Which nodes share a kernel.  In: the top region in program order.  Out: groups in execution
   order.

   Greedy, one pass in program order:
   1. A node that needs no memory (constants, fills, rank-0 arithmetic) is virtual: it is computed
      again in every kernel that uses it, unless that would be long (find_anchors).
   2. Anything else joins the latest group that holds one of its arguments, or a later one with the
      same domain, if each argument that the group itself makes is read at exactly the element that
      is being made (equal address maps); otherwise it opens a new group at the end.
   3. A reduction of the innermost dimension turns its group into a row group: later members may use
      the reduced value, while the row stays in cache.  */
#include "schedule.h"

/* Rows longer than this do not stay in cache between passes. */
enum { ROW_BYTES = 512 * 1024 };

/* How large a group gets.  A value that crosses from one group to another is stored to memory and
   loaded again for each element; one that the compiler spills goes to the first-level cache.  So a
   group ends where few values are still to be read: as soon as it stores many arrays (100 products
   of 400,000 elements: 131 ms from one kernel, 73 with 64 stores, 25 with 16), and otherwise in the
   second half of what one kernel may hold, if it cannot hold all that is still to come. */
enum {
    MOST_STORES = 16,
    FEW_LIVE = 4,
    MOST_COLUMNS = 200, /* members of a group that sums up columns, which looks at all for each */
};

/* A ufunc's loop called for fewer elements than these is slower than one call for the whole array,
   from a kernel of its own. */
enum { CALL_ELEMENTS = 32 };

/* ---- nodes ---- */

/* What is out of range of u32 NumPy converts in two ways, by place; half and complex numbers are
   only moved by kernels. */
static bool
is_external_cast(const Graph *g, const Node *node)
{
    if (node->op != OP_cast) return false;
    DType from = (DType)graph_node(g, node->args[0])->type.dtype, to = (DType)node->type.dtype;
    return (to == DT_U32 && dtype_is_float(from)) || !op_is_exact(OP_cast, to) ||
           !op_is_exact(OP_cast, from);
}

bool
node_is_virtual(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (node->op == OP_const) return node->type.dtype != DT_OBJECT && node->type.rank == 0;
    if (node->op == OP_full) return true;
    if (node->type.rank != 0) return false;
    if (lw->anchored[id]) return false;
    if (kind == KIND_PYTHON) return true;
    if (lw->mixed && node_may_report(lw->graph, node)) return false;
    return kind == KIND_POINTWISE && !node_is_call(lw->graph, node) &&
           !is_external_cast(lw->graph, node);
}

/* ---- chains of scalars ---- */

enum {
    MOST_REPEATED = 8, /* operations of one value that each reader makes for itself */
    MOST_INLINE = 400, /* operations of one value, repeated or not, in one kernel */
};

static void
count_readers(const Lowering *lw, int32_t *readers)
{
    for (NodeId id = 0; id < lw->graph->nodes.len; id++) {
        const Node *node = graph_node(lw->graph, id);
        for (int k = 0; lw->live[id] && k < node->nargs; k++)
            readers[graph_node(lw->graph, node->args[k])->storage]++;
    }
}

/* Of those that are not long NumPy's own scalars only: Python's, whose overflow is looked at, are
   made where they are used. */
int
find_anchors(Lowering *lw)
{
    const Region *top = &lw->graph->regions.at[0];
    int32_t *readers = arena_alloc(lw->arena, (size_t)lw->nnodes * sizeof(int32_t));
    int32_t *size = arena_alloc(lw->arena, (size_t)lw->nnodes * sizeof(int32_t));
    if (readers == NULL || size == NULL) return -1;
    count_readers(lw, readers);
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(lw->graph, id);
        OpKind kind = op_info(node->op)->kind;
        if (!lw->live[id] || kind == KIND_CONST || !node_is_virtual(lw, id)) continue;
        size[id] = node->op != OP_full;
        for (int k = 0; k < node->nargs; k++)
            size[id] += size[graph_node(lw->graph, node->args[k])->storage];
        bool repeated = size[id] > MOST_REPEATED && readers[id] > 1 && kind == KIND_POINTWISE &&
                        node->type.form == FORM_SCALAR;
        if (node->op == OP_full || (!repeated && size[id] <= MOST_INLINE)) continue;
        lw->anchored[id] = true;
        size[id] = 0;
    }
    return 0;
}

const Type *
node_domain(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    switch (op_info(node->op)->kind) {
    case KIND_REDUCTION: return &graph_node(lw->graph, node->args[0])->type;
    case KIND_SCATTER: return node->attrs.view;
    default: return &node->type;
    }
}

static int
squeezed(const Graph *g, const Type *type, SizeId *size, int *axes)
{
    int n = 0;
    for (int axis = 0; axis < type->rank; axis++) {
        if (size_value(g, type->shape[axis]) == 1) continue;
        size[n] = type->shape[axis];
        axes[n++] = axis;
    }
    return n;
}

/* ---- address maps ---- */

/* Axis of the member's own domain for each dimension of the group; -1: reduced away. */
static void
dimension_axes(const Lowering *lw, const Group *g, NodeId id, int *axis_of)
{
    SizeId size[MAX_RANK];
    int axes[MAX_RANK], at = 0;
    squeezed(lw->graph, node_domain(lw, id), size, axes);
    for (int dim = 0; dim < g->ndims; dim++)
        axis_of[dim] = lw->row_level[id] && (g->reduced >> dim & 1) ? -1 : axes[at++];
}

void
access_of(const Lowering *lw, const Group *g, NodeId id, const Type *type, NodeId storage,
          Access *out)
{
    int axis_of[MAX_RANK];
    dimension_axes(lw, g, id, axis_of);
    int shift = node_domain(lw, id)->rank - type->rank;
    *out = (Access){.storage = storage, .offset = type->offset, .dtype = type->dtype};
    for (int dim = 0; dim < g->ndims; dim++) {
        int axis = axis_of[dim] - shift;
        bool walks =
            axis_of[dim] >= 0 && axis >= 0 && size_value(lw->graph, type->shape[axis]) != 1;
        out->stride[dim] = walks ? type->stride[axis] : NO_SIZE;
    }
}

/* Where a member leaves its result. */
static void
result_access(const Lowering *lw, const Group *g, NodeId id, Access *out)
{
    const Node *node = graph_node(lw->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_SCATTER) {
        access_of(lw, g, id, node->attrs.view, id, out);
        return;
    }
    if (kind != KIND_REDUCTION) {
        access_of(lw, g, id, &node->type, id, out);
        return;
    }
    /* a reduction's result, walked over its argument's axes */
    unsigned reduced = 0;
    for (int i = 0; i < node->attrs.nints; i++) reduced |= 1u << node->attrs.ints[i];
    Type spread = *node_domain(lw, id);
    spread.offset = NO_SIZE;
    spread.dtype = node->type.dtype;
    int from = 0;
    for (int axis = 0; axis < spread.rank; axis++) {
        bool gone = reduced >> axis & 1;
        spread.stride[axis] = gone ? NO_SIZE : node->type.stride[from];
        if (!gone || node->attrs.keepdims) from++;
    }
    access_of(lw, g, id, &spread, id, out);
}

bool
access_equal(const Lowering *lw, const Group *g, const Access *a, const Access *b)
{
    if (a->storage != b->storage || a->dtype != b->dtype ||
        !size_same(lw->graph, a->offset, b->offset))
        return false;
    for (int dim = 0; dim < g->ndims; dim++)
        if (!size_same(lw->graph, a->stride[dim], b->stride[dim])) return false;
    return true;
}

static bool
member_each_access(const Lowering *lw, const Group *g, NodeId id, SeeAccess see, void *context)
{
    Access access;
    const Node *node = graph_node(lw->graph, id);
    for (int k = op_info(node->op)->kind == KIND_SCATTER; k < node->nargs; k++) {
        const Node *arg = graph_node(lw->graph, node->args[k]);
        if (node_is_virtual(lw, arg->storage)) continue;
        access_of(lw, g, id, &arg->type, arg->storage, &access);
        if (!see(context, &access)) return false;
    }
    result_access(lw, g, id, &access);
    return see(context, &access);
}

bool
group_each_access(const Lowering *lw, const Group *g, SeeAccess see, void *context)
{
    for (int i = 0; i < g->nodes.len; i++)
        if (!member_each_access(lw, g, g->nodes.at[i], see, context)) return false;
    return true;
}

/* ---- may a node join a group? ---- */

static int
group_of_value(const Lowering *lw, NodeId value)
{
    return lw->group_of[graph_node(lw->graph, value)->storage];
}

/* The storages that a value is computed from, virtual nodes looked through: the latest group. */
static int
latest_group(const Lowering *lw, NodeId value)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    const Node *node = graph_node(lw->graph, storage);
    if (!node_is_virtual(lw, storage)) return lw->group_of[storage];
    if (lw->latest[storage] != UNKNOWN_GROUP) return lw->latest[storage];
    int latest = -1;
    for (int k = 0; k < node->nargs; k++) {
        int group = latest_group(lw, node->args[k]);
        if (group > latest) latest = group;
    }
    return lw->latest[storage] = latest;
}

static int
argument_group(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    int latest = -1;
    for (int k = 0; k < node->nargs; k++) {
        int group = latest_group(lw, node->args[k]);
        if (group > latest) latest = group;
    }
    return latest;
}

/* A virtual argument that is computed from what group `number` makes: not within the group. */
static bool
virtual_reaches(const Lowering *lw, NodeId value, int number)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    return node_is_virtual(lw, storage) && latest_group(lw, value) >= number;
}

static int64_t
row_bytes(const Lowering *lw, const Group *g, unsigned reduced)
{
    int64_t elements = 1;
    for (int dim = 0; dim < g->ndims; dim++)
        if (reduced >> dim & 1) elements *= size_value(lw->graph, g->size[dim]);
    return elements * 8;
}

static bool
has_many_rows(const Lowering *lw, const Group *g, unsigned reduced)
{
    for (int dim = 0; dim < g->ndims; dim++)
        if (!(reduced >> dim & 1) && size_value(lw->graph, g->size[dim]) > 1) return true;
    return false;
}

/* May a ufunc's loop be called once for each row? */
static bool
row_fits_call(const Lowering *lw, const Group *g, unsigned reduced, bool columns)
{
    int64_t bytes = row_bytes(lw, g, reduced);
    if (bytes > ROW_BYTES) return false;
    return columns || bytes >= CALL_ELEMENTS * 8 || !has_many_rows(lw, g, reduced);
}

/* Each argument made in the group is the very element that is being made. */
static bool
arguments_fit(const Lowering *lw, int number, NodeId id, bool row_level)
{
    const Group *g = &lw->groups.at[number];
    const Node *node = graph_node(lw->graph, id);
    bool scatter = op_info(node->op)->kind == KIND_SCATTER;
    for (int k = scatter; k < node->nargs; k++) {
        const Node *arg = graph_node(lw->graph, node->args[k]);
        if (virtual_reaches(lw, node->args[k], number)) return false;
        int of = group_of_value(lw, node->args[k]);
        if (of > number) return false;
        if (of < number || node_is_virtual(lw, arg->storage)) continue;
        const Node *maker = graph_node(lw->graph, arg->storage);
        OpKind kind = op_info(maker->op)->kind;
        if (kind == KIND_SCATTER) return false;
        if (kind == KIND_REDUCTION && g->columns) return false;
        bool per_row = kind == KIND_REDUCTION || lw->row_level[arg->storage];
        if (per_row && !row_level && row_bytes(lw, g, g->reduced) > ROW_BYTES) return false;
        Access made, read;
        result_access(lw, g, arg->storage, &made);
        access_of(lw, g, id, &arg->type, arg->storage, &read);
        if (!access_equal(lw, g, &made, &read)) return false;
    }
    return true;
}

typedef struct {
    const Lowering *lw;
    const Group *group;
} Collapse;

/* The reduced dimensions are one run in every access. */
static bool
collapses(void *context, const Access *access)
{
    const Collapse *c = context;
    const Graph *g = c->lw->graph;
    int outer = -1;
    for (int dim = 0; dim < c->group->ndims; dim++) {
        if (!(c->group->reduced >> dim & 1)) continue;
        if (outer >= 0 &&
            size_value(g, access->stride[outer]) !=
                size_value(g, access->stride[dim]) * size_value(g, c->group->size[dim]))
            return false;
        outer = dim;
    }
    return true;
}

/* Columns: the kept dimensions that lie deeper than the reduced ones must be one run, too. */
typedef struct {
    const Lowering *lw;
    const Group *group;
    unsigned inner; /* dimensions that some access walks in smaller steps than the reduced ones */
    int order[MAX_RANK], n; /* these, slowest first */
} Columns;

static int64_t
step_of(const Columns *c, const Access *access, int dim)
{
    return llabs(size_value(c->lw->graph, access->stride[dim]));
}

static bool
find_inner(void *context, const Access *access)
{
    Columns *c = context;
    int64_t least = INT64_MAX;
    for (int dim = 0; dim < c->group->ndims; dim++)
        if (c->group->reduced >> dim & 1 && step_of(c, access, dim) < least)
            least = step_of(c, access, dim);
    for (int dim = 0; dim < c->group->ndims; dim++) {
        int64_t step = step_of(c, access, dim);
        if (!(c->group->reduced >> dim & 1) && step > 0 && step < least) c->inner |= 1u << dim;
    }
    return true;
}

static bool
order_inner(void *context, const Access *access)
{
    Columns *c = context;
    if (c->n > 0) return true;
    for (int dim = 0; dim < c->group->ndims; dim++)
        if (c->inner >> dim & 1 && step_of(c, access, dim) == 0) return true;
    for (int dim = 0; dim < c->group->ndims; dim++) {
        if (!(c->inner >> dim & 1)) continue;
        int at = c->n++;
        for (; at > 0 && step_of(c, access, c->order[at - 1]) < step_of(c, access, dim); at--)
            c->order[at] = c->order[at - 1];
        c->order[at] = dim;
    }
    return true;
}

static bool
inner_collapses(void *context, const Access *access)
{
    const Columns *c = context;
    const Graph *g = c->lw->graph;
    for (int i = 0; i + 1 < c->n; i++) {
        int dim = c->order[i + 1];
        if (size_value(g, access->stride[c->order[i]]) !=
            size_value(g, access->stride[dim]) * size_value(g, c->group->size[dim]))
            return false;
    }
    return true;
}

static bool
columns_collapse(const Lowering *lw, const Group *g)
{
    Columns c = {.lw = lw, .group = g};
    group_each_access(lw, g, find_inner, &c);
    group_each_access(lw, g, order_inner, &c);
    return group_each_access(lw, g, inner_collapses, &c);
}

/* `only`: the new member, where the others are known to; else NO_NODE. */
static bool
rows_collapse(const Lowering *lw, const Group *g, NodeId only)
{
    int count = 0;
    for (int dim = 0; dim < g->ndims; dim++) count += g->reduced >> dim & 1;
    Collapse c = {lw, g};
    if (g->columns && !columns_collapse(lw, g)) return false;
    if (count < 2) return true;
    return only == NO_NODE ? group_each_access(lw, g, collapses, &c)
                           : member_each_access(lw, g, only, collapses, &c);
}

static bool
domain_matches(const Lowering *lw, const Group *g, NodeId id, bool row_level)
{
    SizeId size[MAX_RANK];
    int axes[MAX_RANK], at = 0;
    int n = squeezed(lw->graph, node_domain(lw, id), size, axes);
    for (int dim = 0; dim < g->ndims; dim++) {
        if (row_level && (g->reduced >> dim & 1)) continue;
        if (at >= n || !size_same(lw->graph, size[at], g->size[dim])) return false;
        at++;
    }
    return at == n;
}

static unsigned
reduced_dimensions(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    SizeId size[MAX_RANK];
    int axes[MAX_RANK];
    unsigned mask = 0;
    int n = squeezed(lw->graph, node_domain(lw, id), size, axes);
    for (int dim = 0; dim < n; dim++)
        for (int i = 0; i < node->attrs.nints; i++)
            if (node->attrs.ints[i] == axes[dim]) mask |= 1u << dim;
    return mask;
}

/* ---- members ---- */

/* The instructions that a member is likely to need: itself, a store, what is loaded or made for it.
 */
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

/* Its arguments are read once more (`by` is 1), or once less. */
static void
count_reads(Lowering *lw, NodeId id, int by)
{
    const Node *node = graph_node(lw->graph, id);
    for (int k = 0; k < node->nargs; k++) {
        NodeId storage = graph_node(lw->graph, node->args[k])->storage;
        bool was = lw->unread[storage] > 0, is = (lw->unread[storage] -= by) > 0;
        if (was != is && lw->group_of[storage] >= 0)
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
    if (node_is_call(lw->graph, node)) g->calls += by;
    if (lw->needed[id]) g->stores += by;
    count_reads(lw, id, by);
    if (lw->unread[id] > 0) g->live += by;
}

/* Reads of each storage by what is going to be a member of some group. */
static void
find_unread(Lowering *lw)
{
    const Region *top = &lw->graph->regions.at[0];
    memset(lw->unread, 0, sizeof(int32_t) * (size_t)lw->nnodes);
    lw->remaining = 0;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(lw->graph, id);
        OpKind kind = op_info(node->op)->kind;
        if (!lw->live[id] || kind == KIND_VIEW || kind == KIND_RESULT) continue;
        if (kind == KIND_SCATTER && lw->commits[id]) continue;
        if (node_is_virtual(lw, id) && !lw->needed[id]) continue;
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
        if (!node_is_virtual(lw, storage) && lw->touched[storage] < number)
            lw->touched[storage] = number;
    }
    lw->touched[id] = number;
    return VEC_PUSH(lw->arena, &g->nodes, id);
}

/* The newest one leaves again. */
static void
drop_member(Lowering *lw, Group *g, NodeId id)
{
    g->nodes.len--;
    count_member(lw, g, id, -1);
    lw->remaining++;
    lw->group_of[id] = -1;
}

/* ---- shelves ---- */

/* Most groups that a node tries to join before it opens one. */
enum { MOST_TRIED = 256 };

static bool
is_shelf(const Lowering *lw, const Shelf *shelf, const Shelf *wanted)
{
    if (shelf->arm != wanted->arm || shelf->part != wanted->part || shelf->ndims != wanted->ndims)
        return false;
    for (int dim = 0; dim < shelf->ndims; dim++)
        if (!size_same(lw->graph, shelf->size[dim], wanted->size[dim])) return false;
    return true;
}

static uint32_t
shelf_hash(const Lowering *lw, const Shelf *shelf)
{
    uint64_t hash = (uint64_t)shelf->arm << 32 | (uint32_t)shelf->part;
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

/* Members whose domain is the group's without the dimensions of `without` may join it. */
static int
put_on_shelf(Lowering *lw, int number, unsigned without)
{
    const Group *g = &lw->groups.at[number];
    Shelf wanted = {.arm = g->arm, .part = g->part};
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
    Shelf wanted = {.arm = arm_of(lw, id), .part = lw->part[id]};
    int axes[MAX_RANK];
    if (lw->shelf_slots == 0) return NULL;
    wanted.ndims = squeezed(lw->graph, node_domain(lw, id), wanted.size, axes);
    int32_t *slot = shelf_slot(lw, &wanted);
    return *slot == 0 ? NULL : &lw->shelves.at[*slot - 1];
}

static bool
is_full(const Lowering *lw, const Group *g)
{
    if (!g->fuses || g->instrs >= MAX_INSTRS) return true;
    if (g->columns && g->nodes.len >= MOST_COLUMNS) return true;
    if (g->stores >= MOST_STORES && g->live <= FEW_LIVE) return true;
    if (g->instrs + 2 * lw->remaining <= MAX_INSTRS) return false;
    /* half as many where there are several kernels: compilers take more than twice as long for two
     */
    return g->instrs >= MAX_INSTRS / (g->live <= FEW_LIVE ? 4 : 2);
}

/* The first of the shelf's groups from number `from` on; those that are full leave the shelf. */
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
    /* its values are positions in the row, not the row's own place */
    if (row_level && graph_node(lw->graph, id)->op == OP_arange) return ANSWER_NO;
    if (!domain_matches(lw, g, id, row_level)) return ANSWER_NO;
    bool call = node_is_call(lw->graph, graph_node(lw->graph, id));
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

static Answer
join(Lowering *lw, int number, NodeId id)
{
    Group *g = &lw->groups.at[number];
    if (g->arm != arm_of(lw, id) || g->part != lw->part[id]) return ANSWER_NO;
    if (is_full(lw, g)) return ANSWER_NO;
    const Node *node = graph_node(lw->graph, id);
    if (g->reports && g->errors != node->errors && node_may_report(lw->graph, node))
        return ANSWER_NO;
    if (op_info(graph_node(lw->graph, id)->op)->kind == KIND_REDUCTION)
        return join_reduction(lw, number, id);
    Answer answer = join_level(lw, number, id, false);
    return answer == ANSWER_NO ? join_level(lw, number, id, true) : answer;
}

/* ---- groups ---- */

static int
new_group(Lowering *lw, NodeId id, bool external, bool fuses)
{
    Group g = {.external = external, .arm = arm_of(lw, id), .part = lw->part[id], .fuses = fuses};
    int axes[MAX_RANK];
    if (!external) g.ndims = squeezed(lw->graph, node_domain(lw, id), g.size, axes);
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

static bool
domain_is_empty(const Lowering *lw, NodeId id)
{
    const Type *type = node_domain(lw, id);
    for (int axis = 0; axis < type->rank; axis++)
        if (size_value(lw->graph, type->shape[axis]) == 0) return true;
    return false;
}

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
    case KIND_REGION: return true;
    case KIND_REDUCTION:
        return domain_is_empty(lw, id) ||
               reduction_form(lw->graph, node, &order) == REDUCTION_EXTERN;
    case KIND_POINTWISE:
        if (node->op == OP_cast) return is_external_cast(lw->graph, node);
        if (!node_is_call(lw->graph, node)) return false;
        return op_info(node->op)->ufunc == NULL || call_minds_strides(lw->graph, node);
    case KIND_UFUNC: return call_minds_strides(lw->graph, node);
    case KIND_COPY: return node->op == OP_concatenate;
    default: return false;
    }
}

/* Reads of the old version that the last group makes forbid writing in place. */
static bool
last_touches(const Lowering *lw, NodeId storage)
{
    const Group *g = &lw->groups.at[lw->groups.len - 1];
    if (!g->external) return lw->touched[storage] == lw->groups.len - 1;
    const Node *node = graph_node(lw->graph, g->nodes.at[0]);
    if (node->region[0] != NO_REGION) return true;
    for (int k = 0; k < node->nargs; k++)
        if (graph_node(lw->graph, node->args[k])->storage == storage) return true;
    return false;
}

static int
schedule_scatter(Lowering *lw, NodeId id)
{
    /* a kernel of its own unless its value's kernel is the last one and leaves the storage alone */
    int last = lw->groups.len - 1;
    const Node *node = graph_node(lw->graph, id);
    NodeId old = graph_node(lw->graph, node->args[0])->storage;
    if (last >= 0 && lw->groups.at[last].arm == arm_of(lw, id) && !lw->commits[id] &&
        latest_group(lw, node->args[1]) == last && latest_group(lw, node->args[0]) < last &&
        lw->same_as[id] != id && !last_touches(lw, old)) {
        Answer answer = join(lw, last, id);
        if (answer != ANSWER_NO) return answer == ANSWER_YES ? 0 : -1;
    }
    return new_group(lw, id, false, false);
}

static int
schedule_node(Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_INPUT || kind == KIND_VIEW || kind == KIND_CONST || kind == KIND_RESULT)
        return 0;
    if (node->op == OP_empty) return 0;
    if (kind == KIND_SCATTER && lw->commits[id]) return 0;
    if (node_is_virtual(lw, id) && !lw->needed[id]) return 0;
    if (kind == KIND_SCATTER) return schedule_scatter(lw, id);
    if (is_external(lw, id)) return new_group(lw, id, true, false);
    if (!domain_is_empty(lw, id)) {
        Shelf *shelf = shelf_of(lw, id);
        int first = shelf == NULL ? 0 : first_on_shelf(lw, shelf, argument_group(lw, id));
        for (int i = first; shelf != NULL && i < shelf->groups.len && i < first + MOST_TRIED; i++) {
            Answer answer = join(lw, shelf->groups.at[i], id);
            if (answer != ANSWER_NO) return answer == ANSWER_YES ? 0 : -1;
        }
    }
    return new_group(lw, id, false, true);
}

/* What a choice is of is in memory; array objects where it is wanted as one. */
static void
need_choices(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (NodeId id = g->nodes.len; id-- > 0;) {
        const Node *node = graph_node(g, id);
        if (!lw->live[id] || node->op != OP_choose) continue;
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
        if (op_info(node->op)->kind == KIND_REGION || node->op == OP_choose)
            continue; /* takes them as kernels do */
        for (int k = 0; k < node->nargs; k++) {
            NodeId storage = graph_node(g, node->args[k])->storage;
            lw->needed[storage] = true;
            /* an array object, not arena memory: the callee may keep it */
            lw->is_output[lw->same_as[storage]] = true;
        }
    }
}

/* What a kernel takes from another one must be in memory; virtual arguments are looked through. */
static void
need_from(Lowering *lw, int number, NodeId value)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    const Node *node = graph_node(lw->graph, storage);
    if (node_is_virtual(lw, storage)) {
        if (lw->seen[storage] == number) return;
        lw->seen[storage] = number;
        for (int k = 0; k < node->nargs; k++) need_from(lw, number, node->args[k]);
        return;
    }
    if (lw->group_of[storage] != number) lw->needed[storage] = true;
}

/* What a region's node takes from outside the region. */
static void
need_outer(Lowering *lw, RegionId region, NodeId value)
{
    if (!region_has(&lw->graph->regions.at[region], value)) need_from(lw, -1, value);
}

static void
find_needed(Lowering *lw)
{
    for (int number = 0; number < lw->groups.len; number++) {
        const Group *g = &lw->groups.at[number];
        for (int i = 0; i < g->nodes.len; i++) {
            const Node *node = graph_node(lw->graph, g->nodes.at[i]);
            for (int k = 0; k < node->nargs; k++) need_from(lw, number, node->args[k]);
            if (node->region[0] == NO_REGION) continue;
            const Region *body = &lw->graph->regions.at[node->region[0]];
            for (int b = 0; b < body->nodes.len; b++) {
                const Node *inner = graph_node(lw->graph, body->nodes.at[b]);
                for (int k = 0; k < inner->nargs; k++)
                    need_outer(lw, node->region[0], inner->args[k]);
            }
        }
    }
}

int
schedule(Lowering *lw)
{
    Graph *g = lw->graph;
    need_extern_arguments(lw);
    need_choices(lw);
    find_unread(lw);
    for (int i = 0; i < g->regions.at[0].nodes.len; i++) {
        NodeId id = g->regions.at[0].nodes.at[i];
        if (!lw->live[id]) continue;
        if (schedule_node(lw, id) < 0) return -1;
        if (lw->why != NULL) return 0;
        /* Results live in the buffers of their maker: same group. */
        for (NodeId r = lw->first_result[id]; r != NO_NODE; r = lw->next_result[r])
            lw->group_of[r] = lw->group_of[id];
    }
    find_needed(lw);
    return 0;
}
