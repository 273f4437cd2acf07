/* Writes into inputs without a copy.

   No write may be visible before everything that can fail is done, so the value of a write is
   normally computed into the plan's memory and copied at commit.  Where the group that makes the
   value is elementwise, it can instead be computed twice: a first kernel computes the value only
   for its floating-point flags and does not store it (it is left out where the flags are ignored),
   and at commit a second kernel computes it into the input.  Where bounds can tell that there are
   no flags (flag_bounds.c), the first kernel is a pass over what is read, at the speed of memory.
   Measured on two busy cores, CPU time: Adam on 60 arrays of 65,536 f64 from 22.0 to 16.2 ms, of
   4,096 from 1.08 to 0.97 ms; `p -= rate * g` on 300 arrays of 1,000 from 0.29 to 0.23 ms.

   Conditions, so that the kernels at commit read what the first ones read:
   - the group reads an input that it writes only at the element that is written;
   - no other of the commit's kernels reads that input;
   - what the group reads of the plan's own memory is not written in place by a later step;
   - no value that is written is read outside the group or leaves the plan, except by the write.
   And a kernel at commit must not fail: it calls nothing and needs no scratch.

   Memory of a device is written by kernels alone: where the value's own kernel may not run at
   commit, one that copies the value is added.  These run last, and read nothing that the commit
   writes (passes/writes.c). */
#include "group.h"
#include "nest.h"

/* What the copy at commit costs per byte, in picoseconds, in the caches and in memory. */
enum { CACHED_PS = 45, MEMORY_PS = 240, CACHE_BYTES = 512 << 10 };

/* Is some input written at once, in a plan without loops?  Nobody writes an object that may be
   chosen; versions behind a branch are written in its arms (passes/arm_writes.c). */
static bool
is_simple(const Lowering *lw)
{
    const Graph *g = lw->graph;
    bool any = false;
    for (int i = 0; i < g->outputs.len; i++) any = any || g->outputs.at[i].at_once;
    if (!any || lw->repeats.len > 0) return false;
    for (NodeId id = 0; id < g->nodes.len; id++)
        if (lw->live[id] && graph_node(g, id)->region[0] != NO_REGION) return false;
    return true;
}

static bool
group_is_plain(const Group *g)
{
    return !g->external && !g->columns && g->arm == 0 && g->reduced == 0 && g->reductions == 0 &&
           g->calls == 0 && g->scatters == 0;
}

/* Memory that a library call returned: it may be an input's. */
static bool
is_foreign(const Lowering *lw, NodeId storage)
{
    OpKind kind = op_info(graph_node(lw->graph, storage)->op)->kind;
    return kind == KIND_EXTERN || kind == KIND_RESULT;
}

/* Is every read of the input in the group one of the element that is written? */
static bool
reads_in_place(const Lowering *lw, const Group *g, NodeId scatter)
{
    NodeId input = graph_node(lw->graph, graph_node(lw->graph, scatter)->args[0])->storage;
    Access written, read;
    written_access(lw, g, scatter, &written);
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(lw->graph, g->nodes.at[i]);
        for (int k = 0; k < node->nargs; k++) {
            const Node *arg = graph_node(lw->graph, node->args[k]);
            if (is_foreign(lw, arg->storage)) return false;
            if (arg->storage != input) continue;
            access_of(lw, g, g->nodes.at[i], &arg->type, input, &read);
            if (!access_equal(lw, g, &written, &read)) return false;
        }
    }
    return true;
}

/* Per storage: the last group that writes into its memory in place; -1: none.  NULL with the error
   set. */
static int32_t *
find_last_writes(const Lowering *lw)
{
    const Region *top = &lw->graph->regions.at[0];
    int32_t *last = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)lw->nnodes);
    for (int i = 0; last != NULL && i < lw->nnodes; i++) last[i] = -1;
    for (int i = 0; last != NULL && i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i], root = lw->same_as[id];
        if (lw->live[id] && root != id && lw->group_of[id] > last[root])
            last[root] = lw->group_of[id];
    }
    return last;
}

/* Is none of the memory that the group reads written in place by a later group? Then it reads the
   same values at commit. */
static bool
reads_stay(const Lowering *lw, const int32_t *last_write, int number)
{
    const Group *g = &lw->groups.at[number];
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(lw->graph, g->nodes.at[i]);
        for (int k = 0; k < node->nargs; k++) {
            NodeId storage = graph_node(lw->graph, node->args[k])->storage;
            storage = stored_storage(lw, g, storage);
            if (last_write[lw->same_as[storage]] > number) return false;
        }
    }
    return true;
}

/* A read of a storage by a live node that is not a view. */
typedef struct {
    NodeId node;
    int32_t next; /* another read of the same storage: index + 1 */
} Read;

typedef struct {
    int32_t *first; /* per storage: index of a read + 1 */
    bool *leaves;   /* per storage: an output lies in it */
    VEC(Read) at;
} Reads;

static int
find_reads(const Lowering *lw, Reads *reads)
{
    const Graph *g = lw->graph;
    reads->first = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)lw->nnodes);
    reads->leaves = arena_alloc(lw->arena, (size_t)lw->nnodes);
    if (reads->first == NULL || reads->leaves == NULL) return -1;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!lw->live[id] || op_info(node->op)->kind == KIND_VIEW) continue;
        for (int k = 0; k < node->nargs; k++) {
            int32_t *first = &reads->first[graph_node(g, node->args[k])->storage];
            Read read = {id, *first};
            if (VEC_PUSH(lw->arena, &reads->at, read) < 0) return -1;
            *first = reads->at.len;
        }
    }
    for (int i = 0; i < g->outputs.len; i++)
        reads->leaves[graph_node(g, g->outputs.at[i].node)->storage] = true;
    return 0;
}

/* Is the write the only reader of the value outside its group? */
static bool
stays_in_group(const Lowering *lw, const Reads *reads, NodeId value, NodeId scatter)
{
    if (reads->leaves[value]) return false;
    for (int32_t i = reads->first[value]; i != 0; i = reads->at.at[i - 1].next) {
        NodeId reader = reads->at.at[i - 1].node;
        if (reader != scatter && lw->group_of[reader] != lw->group_of[value]) return false;
    }
    return true;
}

/* Does the kernel that walks the value's memory from end to end go through the rows of the view in
   their order? */
static bool
walked_alike(const Graph *g, const Type *value, const Type *view)
{
    if (!type_same_shape(value, view)) return false;
    for (int i = 0; i + 1 < value->rank; i++)
        if ((size_value(g, value->stride[i]) >= size_value(g, value->stride[i + 1])) !=
            (size_value(g, view->stride[i]) >= size_value(g, view->stride[i + 1])))
            return false;
    int last = value->rank - 1;
    return type_walks_alike(g, value, view) ||
           size_value(g, value->stride[last]) == size_value(g, view->stride[last]);
}

static bool
is_candidate(const Lowering *lw, const Reads *reads, const int32_t *last_write, NodeId scatter)
{
    const Graph *g = lw->graph;
    const Node *node = graph_node(g, scatter), *value = graph_node(g, node->args[1]);
    NodeId id = node->args[1];
    OpKind kind = op_info(value->op)->kind;
    if (value->storage != id || lw->group_of[id] < 0 || lw->row_level[id]) return false;
    if (kind != KIND_POINTWISE && kind != KIND_COPY) return false;
    const Group *group = &lw->groups.at[lw->group_of[id]];
    return group_is_plain(group) && reads_stay(lw, last_write, lw->group_of[id]) &&
           group->ndims > 0 && type_elements(g, &value->type) > 1 &&
           (group->device == DEVICE_HOST ? walked_alike(g, &value->type, node->attrs.view)
                                         : type_same_shape(&value->type, node->attrs.view)) &&
           stays_in_group(lw, reads, id, scatter) && reads_in_place(lw, group, scatter);
}

/* May a kernel at commit, other than the one that writes it, read the input? */
static bool
read_at_commit(const Lowering *lw, const Reads *reads, NodeId scatter)
{
    const Graph *g = lw->graph;
    NodeId input = graph_node(g, graph_node(g, scatter)->args[0])->storage;
    int own = lw->group_of[graph_node(g, scatter)->args[1]];
    for (int32_t i = reads->first[input]; i != 0; i = reads->at.at[i - 1].next) {
        NodeId reader = reads->at.at[i - 1].node;
        if (reader == scatter) continue;
        int group = lw->group_of[reader];
        if (group < 0) return true; /* a virtual node: any kernel may compute it */
        if (group != own && lw->groups.at[group].commits > 0) return true;
    }
    return false;
}

/* ---- cost ---- */

/* Is it a number, or does an earlier member of the group, or argument of the member, read the same
   array? */
static bool
is_cheap_read(const Lowering *lw, const Group *g, int member, int arg)
{
    const Graph *graph = lw->graph;
    NodeId storage = graph_node(graph, graph_node(graph, g->nodes.at[member])->args[arg])->storage;
    if (type_elements(graph, &graph_node(graph, storage)->type) <= 1) return true;
    for (int i = 0; i <= member; i++) {
        const Node *node = graph_node(graph, g->nodes.at[i]);
        for (int k = 0; k < (i < member ? node->nargs : arg); k++)
            if (graph_node(graph, node->args[k])->storage == storage) return true;
    }
    return false;
}

/* The cost of computing the group's values once more, per element, at the prices of element_ps; of
   looking only at the bounds of what it reads, where that is enough. */
static int64_t
group_ps(const Lowering *lw, const Group *g, bool in_caches)
{
    int64_t total = 0;
    bool bounded = bounds_suit_group(lw, g);
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(lw->graph, g->nodes.at[i]);
        int64_t bytes = (int64_t)dtype_size((DType)node->type.dtype);
        bool slow = node->op == OP_divide || node->op == OP_reciprocal || node->op == OP_sqrt ||
                    node->op == OP_floor_divide || node->op == OP_remainder ||
                    (op_info(node->op)->flags & OPF_DEVICE) != 0;
        bool special = (op_info(node->op)->flags & OPF_SPECIAL) != 0;
        if (!bounded) total += special ? SPECIAL_PS : (slow ? 80 : 10) * bytes;
        for (int k = 0; k < node->nargs; k++) {
            NodeId storage = graph_node(lw->graph, node->args[k])->storage;
            if (lw->group_of[storage] != lw->group_of[g->nodes.at[i]] &&
                !node_is_virtual(&lw->virtuals, storage) &&
                !(bounded && is_cheap_read(lw, g, i, k)))
                total += (!bounded ? 15 : in_caches ? BOUNDS_PS : BOUNDS_MEMORY_PS) * bytes;
        }
    }
    return total;
}

/* Per node: it is a number that kernels compute where they need it, and that or one of those that
   it is computed from may report.  NULL with the error set. */
static bool *
find_reporting_numbers(const Lowering *lw)
{
    bool *out = arena_alloc(lw->arena, (size_t)lw->nnodes);
    for (NodeId id = 0; out != NULL && id < lw->nnodes; id++) {
        const Node *node = graph_node(lw->graph, id);
        if (!node_is_virtual(&lw->virtuals, id)) continue;
        out[id] = node_may_report(lw->graph, node);
        for (int k = 0; k < node->nargs && !out[id]; k++) out[id] = out[node->args[k]];
    }
    return out;
}

/* The group reports what such numbers in it report.  False: not under one errstate. */
static bool
report_numbers(const Lowering *lw, const bool *reporting, Group *g)
{
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(lw->graph, g->nodes.at[i]);
        for (int k = 0; k < node->nargs; k++) {
            const Node *arg = graph_node(lw->graph, node->args[k]);
            if (!reporting[node->args[k]]) continue;
            if (g->reports && g->errors != arg->errors) return false;
            g->reports = true;
            g->errors = arg->errors;
        }
    }
    return true;
}

/* Are floating-point flags of the group reported? */
static bool
is_checked(const Group *g)
{
    return g->reports && !((g->errors >> 4) == 15 && (g->errors & 15) == 0);
}

static int64_t
written_bytes(const Lowering *lw, NodeId scatter)
{
    const Type *type = graph_node(lw->graph, scatter)->attrs.view;
    return type_elements(lw->graph, type) * (int64_t)dtype_size((DType)type->dtype);
}

static bool
pays(const Lowering *lw, const Group *g, int64_t all_bytes)
{
    int64_t elements = 1, bytes = 0;
    if (!is_checked(g)) return true;
    for (int dim = 0; dim < g->ndims; dim++) elements *= size_value(lw->graph, g->size[dim]);
    for (int i = 0; i < g->nodes.len; i++) {
        NodeId scatter = lw->commit_of[g->nodes.at[i]];
        if (scatter != NO_NODE) bytes += written_bytes(lw, scatter);
    }
    bool in_caches = all_bytes <= CACHE_BYTES;
    return elements * group_ps(lw, g, in_caches) < bytes * (in_caches ? CACHED_PS : MEMORY_PS);
}

/* ---- the choice ---- */

static void
mark(Lowering *lw, NodeId scatter, bool commits)
{
    NodeId value = graph_node(lw->graph, scatter)->args[1];
    lw->commit_of[value] = commits ? scatter : NO_NODE;
    lw->groups.at[lw->group_of[value]].commits += commits ? 1 : -1;
}

static void
forget(Lowering *lw, Group *g)
{
    for (int i = 0; i < g->nodes.len; i++) lw->commit_of[g->nodes.at[i]] = NO_NODE;
    g->commits = 0;
}

/* Opens a group for each write to an input on a device that no kernel of a value does. */
static int
copy_at_commit(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (int i = 0; i < g->outputs.len; i++) {
        NodeId id = g->outputs.at[i].node;
        const Node *node = graph_node(g, id);
        if (node->type.device == DEVICE_HOST || node->op != OP_scatter || g->outputs.at[i].fresh)
            continue;
        if (!node_commits(g, id) || !g->outputs.at[i].at_once || lw->narms > 0) {
            lw->why = "a write on a device that is not one of all writes at the end";
            return 0;
        }
        if (lw->commit_of[node->args[1]] == id) continue;
        if (group_open(lw, id, false, false) < 0) return -1;
        lw->groups.at[lw->groups.len - 1].commits = 1;
        lw->commit_of[id] = id;
        lw->needed[id] = true;
    }
    return 0;
}

static int
choose(Lowering *lw)
{
    const Graph *g = lw->graph;
    int64_t bytes = 0;
    Reads reads = {0};
    if (!is_simple(lw)) return 0;
    int32_t *last_write = find_last_writes(lw);
    const bool *reporting = find_reporting_numbers(lw);
    if (last_write == NULL || reporting == NULL || find_reads(lw, &reads) < 0) return -1;
    for (int i = 0; i < g->outputs.len; i++) {
        NodeId id = g->outputs.at[i].node;
        if (!g->outputs.at[i].at_once || !node_commits(g, id) ||
            graph_node(g, id)->op == OP_commit || !is_candidate(lw, &reads, last_write, id))
            continue;
        if (lw->commit_of[graph_node(g, id)->args[1]] != NO_NODE)
            continue; /* the value is written twice */
        mark(lw, id, true);
        bytes += written_bytes(lw, id);
    }
    for (int i = 0; i < g->outputs.len; i++) {
        NodeId id = g->outputs.at[i].node;
        if (!node_commits(g, id) || lw->commit_of[graph_node(g, id)->args[1]] != id) continue;
        if (read_at_commit(lw, &reads, id)) mark(lw, id, false);
    }
    for (int i = 0; i < lw->groups.len; i++)
        if (lw->groups.at[i].commits > 0 && (!report_numbers(lw, reporting, &lw->groups.at[i]) ||
                                             !pays(lw, &lw->groups.at[i], bytes)))
            forget(lw, &lw->groups.at[i]);
    return 0;
}

int
commit_choose(Lowering *lw)
{
    return choose(lw) < 0 || copy_at_commit(lw) < 0 ? -1 : 0;
}

/* ---- the kernels ---- */

/* Is every value that must be in memory written at commit? */
static bool
commits_all(const Lowering *lw, const Group *g)
{
    for (int i = 0; i < g->nodes.len; i++)
        if (lw->needed[g->nodes.at[i]] && lw->commit_of[g->nodes.at[i]] == NO_NODE) return false;
    return true;
}

int
commit_build(Lowering *lw, Group *g)
{
    Answer answer = nest_build(lw, g, NEST_COMMIT);
    if (answer == ANSWER_ERROR) return -1;
    if (answer == ANSWER_NO) {
        forget(lw, g);
        lw->why = NULL;
        PyErr_Clear();
    } else {
        /* Python's own arithmetic, done again at commit, cannot fail where it has not failed before
         */
        bool fallible = lw->program->commits.at[lw->program->commits.len - 1].kernel.fallible;
        if (commits_all(lw, g) && !is_checked(g) && !fallible) return 0;
    }
    return nest_build(lw, g, NEST_FIRST) == ANSWER_ERROR ? -1 : 0;
}
