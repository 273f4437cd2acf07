/* May a node be in a group? Yes if its domain is the group's, it reads values of the group only at
   the element that is being made, and each row stays one run of memory. */
#include "group.h"

/* Rows longer than this do not stay in cache between passes. */
enum { ROW_BYTES = 512 * 1024, DEVICE_ROW_BYTES = 256 * 1024 };

/* A ufunc's loop called for rows of fewer elements is slower than one call for the whole array, in
   a kernel of its own. */
enum { CALL_ELEMENTS = 32 };

static int
group_of_value(const Lowering *lw, NodeId value)
{
    return lw->group_of[graph_node(lw->graph, value)->storage];
}

int
latest_group(const Lowering *lw, NodeId value)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    const Node *node = graph_node(lw->graph, storage);
    if (late_waits(lw, storage)) return argument_group(lw, storage);
    if (!node_is_virtual(&lw->virtuals, storage)) return lw->group_of[storage];
    if (lw->latest[storage] != UNKNOWN_GROUP) return lw->latest[storage];
    int latest = -1;
    for (int k = 0; k < node->nargs; k++) {
        int group = latest_group(lw, node->args[k]);
        if (group > latest) latest = group;
    }
    return lw->latest[storage] = latest;
}

int
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

/* Is the argument virtual and computed from values of group `number` or a later one? Then it cannot
   be used in the group. */
static bool
virtual_reaches(const Lowering *lw, NodeId value, int number)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    return node_is_virtual(&lw->virtuals, storage) && latest_group(lw, value) >= number;
}

bool
has_many_rows(const Lowering *lw, const Group *g, unsigned reduced)
{
    for (int dim = 0; dim < g->ndims; dim++)
        if (!(reduced >> dim & 1) && size_value(lw->graph, g->size[dim]) > 1) return true;
    return false;
}

/* How long a row may be.  Of several whose length only the beginning of a run tells: about as long
   as in this call; a single one may be all that there is, which threads share in kernels of their
   own. */
static int64_t
row_length(const Lowering *lw, const Group *g, unsigned reduced, SizeId size)
{
    int64_t most = size_most(lw->graph, size);
    if (most <= MOST_ROW || g->device != DEVICE_HOST || !has_many_rows(lw, g, reduced)) return most;
    SizeId ceiling = size_ceiling(lw->graph, size);
    return ceiling == NO_SIZE ? most : size_value(lw->graph, ceiling);
}

static int64_t
row_bytes(const Lowering *lw, const Group *g, unsigned reduced)
{
    int64_t elements = 1;
    for (int dim = 0; dim < g->ndims; dim++)
        if (reduced >> dim & 1 &&
            __builtin_mul_overflow(elements, row_length(lw, g, reduced, g->size[dim]), &elements))
            return INT64_MAX;
    return elements > INT64_MAX / 8 ? INT64_MAX : elements * 8;
}

bool
row_fits_call(const Lowering *lw, const Group *g, unsigned reduced, bool columns)
{
    int64_t bytes = row_bytes(lw, g, reduced);
    if (bytes > ROW_BYTES) return false;
    return columns || bytes >= CALL_ELEMENTS * 8 || !has_many_rows(lw, g, reduced);
}

bool
arguments_fit(const Lowering *lw, int number, NodeId id, bool row_level)
{
    const Group *g = &lw->groups.at[number];
    const Node *node = graph_node(lw->graph, id);
    bool scatter = op_info(node->op)->kind == KIND_SCATTER;
    if (op_info(node->op)->kind == KIND_GATHER && group_of_value(lw, node->args[0]) >= number)
        return false; /* it reads any element */
    for (int k = scatter; k < node->nargs; k++) {
        const Node *arg = graph_node(lw->graph, node->args[k]);
        if (virtual_reaches(lw, node->args[k], number)) return false;
        int of = group_of_value(lw, node->args[k]);
        if (of > number) return false;
        if (of < number || node_is_virtual(&lw->virtuals, arg->storage)) continue;
        const Node *maker = graph_node(lw->graph, arg->storage);
        OpKind kind = op_info(maker->op)->kind;
        if (kind == KIND_SCATTER) return false;
        if (kind == KIND_REDUCTION && g->columns) return false;
        bool per_row = kind == KIND_REDUCTION || lw->row_level[arg->storage];
        int64_t longest = g->device == DEVICE_HOST ? ROW_BYTES : DEVICE_ROW_BYTES;
        if (per_row && !row_level && row_bytes(lw, g, g->reduced) > longest) return false;
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

/* Do the reduced dimensions form one run of memory in the access? */
static bool
collapses(void *context, const Access *access)
{
    const Collapse *c = context;
    Graph *g = c->lw->graph;
    int outer = -1;
    for (int dim = 0; dim < c->group->ndims; dim++) {
        if (!(c->group->reduced >> dim & 1)) continue;
        if (outer >= 0 &&
            !size_is_times(g, access->stride[outer], access->stride[dim], c->group->size[dim]))
            return false;
        outer = dim;
    }
    return true;
}

/* Columns: the kept dimensions inside the reduced ones must form one run, too. */
typedef struct {
    const Lowering *lw;
    const Group *group;
    unsigned inner; /* dimensions that some access walks in smaller steps than the reduced ones */
    int order[MAX_RANK], n; /* these, outermost first */
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
    Graph *g = c->lw->graph;
    for (int i = 0; i + 1 < c->n; i++) {
        int dim = c->order[i + 1];
        if (!size_is_times(g, access->stride[c->order[i]], access->stride[dim],
                           c->group->size[dim]))
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

bool
sums_collapse(const Lowering *lw, const Group *g)
{
    Collapse c = {lw, g};
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(lw->graph, g->nodes.at[i]);
        if (op_info(node->op)->kind != KIND_REDUCTION) continue;
        const Node *arg = graph_node(lw->graph, node->args[0]);
        Access access;
        access_of(lw, g, g->nodes.at[i], &arg->type, arg->storage, &access);
        if (!collapses(&c, &access)) return false;
    }
    return true;
}

bool
rows_collapse(const Lowering *lw, const Group *g, NodeId only)
{
    int count = 0;
    for (int dim = 0; dim < g->ndims; dim++) count += g->reduced >> dim & 1;
    Collapse c = {lw, g};
    if (g->columns && !columns_collapse(lw, g)) return false;
    if (count < 2) return true;
    if (g->columns && g->device == DEVICE_HOST) return sums_collapse(lw, g);
    return only == NO_NODE ? group_each_access(lw, g, collapses, &c)
                           : member_each_access(lw, g, only, collapses, &c);
}

bool
domain_matches(const Lowering *lw, const Group *g, NodeId id, bool row_level)
{
    SizeId size[MAX_RANK];
    int axes[MAX_RANK], at = 0;
    int n = domain_squeezed(lw->graph, node_domain(lw, id), size, axes);
    for (int dim = 0; dim < g->ndims; dim++) {
        if (row_level && (g->reduced >> dim & 1)) continue;
        if (at >= n || !size_same(lw->graph, size[at], g->size[dim])) return false;
        at++;
    }
    return at == n;
}

unsigned
reduced_dimensions(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    SizeId size[MAX_RANK];
    int axes[MAX_RANK];
    unsigned mask = 0;
    int n = domain_squeezed(lw->graph, node_domain(lw, id), size, axes);
    for (int dim = 0; dim < n; dim++)
        for (int i = 0; i < node->attrs.nints; i++)
            if (node->attrs.ints[i] == axes[dim]) mask |= 1u << dim;
    return mask;
}
