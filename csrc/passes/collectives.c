/* Collectives overlap with what does not need them.  In: the top region in program order.  Out:
   each collective as early as its arguments allow, but behind those before it, since other
   processes send in the program's order; its result, with views and writes of that, in front of the
   first node that reads it.  One that is waited for at once is marked: it needs no stream of its
   own; where the arrays are of no other use, it writes there.

   Neither moves beyond a jump or a kept loop.

   What has been sent cannot be taken back, while work of the host gives a run up where Python
   raises or NumPy warns.  It therefore comes first: from behind the first collective it moves in
   front of it, unless it needs what stays behind. */
#include "rewrite.h"

typedef struct {
    Graph *g;
    const Region *from;
    Region to;
    int32_t *place; /* per node: where it is in `to`, from 1; 0: not yet */
    bool *late;     /* per node: waits for its first reader */
    NodeId *behind; /* per place in `from`: the first collective that is moved there, or NO_NODE */
    NodeId *next;   /* per collective: the next one of the same place */
    NodeId worked;  /* the last node in `to` that takes time */
    bool *stays;    /* per node: behind the first collective */
    bool *read;     /* per storage: by a node that stays */
} Order;

static bool
is_edge(const Node *node)
{
    OpKind kind = op_info(node->op)->kind;
    return kind == KIND_JUMP || kind == KIND_REGION || kind == KIND_CHOICE;
}

static bool
is_constant(const Order *o, NodeId id)
{
    return graph_node(o->g, id)->op == OP_const;
}

static bool
is_commit(const Node *node)
{
    return op_info(node->op)->kind == KIND_SCATTER && node->attrs.index == WRITE_AT_COMMIT;
}

/* ---- the host's work first ---- */

static bool
may_fail(const Graph *g, const Node *node)
{
    OpKind kind = op_info(node->op)->kind;
    return is_edge(node) || node_may_report(g, node) ||
           (kind == KIND_PYTHON && op_info(node->op)->flags & OPF_FALLIBLE);
}

/* What runs with node number `first`: it, or all of a cond or repeat that was laid out. */
static int
unit_end(const Order *o, int first)
{
    int depth = 0, i = first;
    do {
        Op op = graph_node(o->g, o->from->nodes.at[i++])->op;
        depth += (op == OP_branch || op == OP_enter) - (op == OP_join || op == OP_again);
    } while (depth > 0 && i < o->from->nodes.len);
    return i;
}

static bool region_has_to_stay(const Order *o, RegionId region, bool called);

/* `called`: a call that is no collective stays. */
static bool
has_to_stay(const Order *o, const Node *node, bool called)
{
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_INPUT || kind == KIND_CONST) return false;
    if (node->type.device != DEVICE_HOST || node->op == OP_collective) return true;
    if (kind == KIND_EXTERN && called) return true; /* calls keep their order */
    if (kind == KIND_SCATTER && o->read[node->storage]) return true;
    for (int k = 0; k < node->nargs; k++) {
        const Node *arg = graph_node(o->g, node->args[k]);
        if (o->stays[node->args[k]] || arg->type.device != DEVICE_HOST) return true;
    }
    for (int k = 0; kind == KIND_REGION && k < COUNT_OF(node->region); k++)
        if (node->region[k] != NO_REGION && region_has_to_stay(o, node->region[k], called))
            return true;
    return false;
}

static bool
region_has_to_stay(const Order *o, RegionId region, bool called)
{
    const Region *inner = &o->g->regions.at[region];
    for (int i = 0; i < inner->nodes.len; i++)
        if (has_to_stay(o, graph_node(o->g, inner->nodes.at[i]), called)) return true;
    return false;
}

static bool
unit_has_to_stay(const Order *o, int first, int end, bool called)
{
    for (int i = first; i < end; i++)
        if (has_to_stay(o, graph_node(o->g, o->from->nodes.at[i]), called)) return true;
    return false;
}

/* What of the top region stays behind the first collective; behind a cond or a loop that does, all.
 */
static void
find_what_stays(Order *o)
{
    const Region *from = o->from;
    bool called = false, all = false;
    int first = 0;
    while (graph_node(o->g, from->nodes.at[first])->op != OP_collective) first++;
    for (int i = first, end; i < from->nodes.len; i = end) {
        end = unit_end(o, i);
        if (!all && !unit_has_to_stay(o, i, end, called)) continue;
        for (int m = i; m < end; m++) {
            NodeId id = from->nodes.at[m];
            const Node *node = graph_node(o->g, id);
            o->stays[id] = true;
            all = all || is_edge(node);
            called = called || node->op == OP_extern;
            for (int k = 0; k < node->nargs; k++)
                o->read[graph_node(o->g, node->args[k])->storage] = true;
        }
    }
}

static int
put_host_first(Order *o, Region *out)
{
    for (int stays = 0; stays < 2; stays++)
        for (int i = 0; i < o->from->nodes.len; i++) {
            NodeId id = o->from->nodes.at[i];
            if (o->stays[id] == (stays != 0) && top_put(o->g, out, id) < 0) return -1;
        }
    return 0;
}

/* ---- as early as possible ---- */

/* For each collective, behind which node it comes. */
static void
find_places(Order *o)
{
    const Region *from = o->from;
    int last = 0;       /* the earliest place for the next one */
    NodeId *end = NULL; /* of the list at that place */
    for (int i = 0; i < from->nodes.len; i++) {
        NodeId id = from->nodes.at[i];
        const Node *node = graph_node(o->g, id);
        o->place[id] = i;
        o->behind[i] = NO_NODE;
        if (may_fail(o->g, node)) last = i, end = NULL;
        if (node->op != OP_collective) continue;
        int at = last;
        for (int k = 0; k < node->nargs; k++)
            if (!is_constant(o, node->args[k])) at = Py_MAX(at, o->place[node->args[k]]);
        if (at != last || end == NULL) end = &o->behind[at];
        last = at;
        o->next[id] = NO_NODE;
        *end = id;
        end = &o->next[id];
        o->place[id] = at;
    }
}

/* ---- as late as possible ---- */

/* What waits with the result: views and writes at commit are no work. */
static bool
is_late(const Order *o, NodeId id)
{
    const Node *node = graph_node(o->g, id);
    bool follows = op_info(node->op)->kind == KIND_VIEW || is_commit(node);
    if (node->op == OP_arrive) return true;
    for (int k = 0; follows && k < node->nargs; k++)
        if (o->late[node->args[k]]) return true;
    return false;
}

static int
put(Order *o, NodeId id)
{
    const Node *node = graph_node(o->g, id);
    if (o->place[id] != 0) return 0;
    o->place[id] = 1;
    for (int k = 0; k < node->nargs; k++)
        if ((o->late[node->args[k]] || is_constant(o, node->args[k])) && put(o, node->args[k]) < 0)
            return -1;
    if (node->op == OP_arrive && node->args[0] == o->worked)
        graph_node(o->g, o->worked)->attrs.index |= COLLECTIVE_AWAITED;
    OpKind kind = op_info(node->op)->kind;
    if (kind != KIND_VIEW && kind != KIND_RESULT && !is_constant(o, id) && !is_commit(node))
        o->worked = id;
    return top_put(o->g, &o->to, id);
}

static int
put_all_late(Order *o, int end)
{
    for (int i = 0; i < end; i++)
        if (o->late[o->from->nodes.at[i]] && put(o, o->from->nodes.at[i]) < 0) return -1;
    return 0;
}

static int
reorder(Order *o)
{
    const Region *from = o->from;
    memset(o->place, 0, sizeof(int32_t) * (size_t)o->g->nodes.len);
    for (int i = 0; i < from->nodes.len; i++) {
        NodeId id = from->nodes.at[i];
        const Node *node = graph_node(o->g, id);
        if (is_edge(node) && put_all_late(o, i) < 0) return -1;
        o->late[id] = is_late(o, id);
        if (!o->late[id] && node->op != OP_collective && put(o, id) < 0) return -1;
        for (NodeId c = o->behind[i]; c != NO_NODE; c = o->next[c])
            if (put(o, c) < 0) return -1;
    }
    return put_all_late(o, from->nodes.len);
}

/* ---- in place ---- */

/* By storage: how many reads there are, by views too, and outputs. */
static void
count_uses(Order *o, int32_t *uses)
{
    const Graph *g = o->g;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        for (int k = 0; k < node->nargs; k++) uses[graph_node(g, node->args[k])->storage]++;
    }
    for (int i = 0; i < g->outputs.len; i++) uses[graph_node(g, g->outputs.at[i].node)->storage]++;
}

/* Memory that a kernel or the device's library of products makes for this value alone. */
static bool
is_made(const Node *node)
{
    switch (op_info(node->op)->kind) {
    case KIND_POINTWISE:
    case KIND_UFUNC:
    case KIND_REDUCTION:
    case KIND_SCAN:
    case KIND_PRODUCT: return true;
    default: return false;
    }
}

/* How often the node has the storage as an argument. */
static int
reads_of(const Node *node, NodeId storage)
{
    int count = 0;
    for (int k = 0; k < node->nargs; k++) count += node->args[k] == storage;
    return count;
}

/* Is the memory of all arrays that arrive's collective has its own? */
static bool
is_private(const Order *o, const Node *arrive, const int32_t *uses)
{
    const Node *collective = graph_node(o->g, arrive->args[0]);
    for (int k = 1; k < arrive->nargs; k++) {
        NodeId array = arrive->args[k];
        const Node *node = graph_node(o->g, array);
        int own = reads_of(arrive, array) + reads_of(collective, array);
        if (node->storage != array || !is_made(node) || uses[array] != own) return false;
    }
    return arrive->nargs > 1 && arrive->type.form == FORM_ARRAY;
}

static int
find_in_place(Order *o)
{
    int32_t *uses = arena_alloc(o->g->arena, sizeof(int32_t) * (size_t)o->g->nodes.len);
    if (uses == NULL) return -1;
    count_uses(o, uses);
    for (int i = 0; i < o->from->nodes.len; i++) {
        Node *node = graph_node(o->g, o->from->nodes.at[i]);
        if (node->op != OP_arrive || !is_private(o, node, uses)) continue;
        graph_node(o->g, node->args[0])->attrs.index |= COLLECTIVE_IN_PLACE;
        node->nargs = 1; /* the result is this memory */
    }
    return 0;
}

int
pass_collectives(Graph *g)
{
    Region *top = &g->regions.at[0];
    size_t n = (size_t)g->nodes.len;
    bool any = false;
    for (int i = 0; i < top->nodes.len; i++)
        any = any || graph_node(g, top->nodes.at[i])->op == OP_collective;
    if (!any) return 0;
    Region first = *top;
    first.nodes.at = NULL;
    first.nodes.len = first.nodes.cap = 0;
    Order o = {.g = g, .from = top, .to = first, .worked = NO_NODE};
    o.place = arena_alloc(g->arena, n * sizeof *o.place);
    o.late = arena_alloc(g->arena, n * sizeof *o.late);
    o.behind = arena_alloc(g->arena, n * sizeof *o.behind);
    o.next = arena_alloc(g->arena, n * sizeof *o.next);
    o.stays = arena_alloc(g->arena, n * sizeof *o.stays);
    o.read = arena_alloc(g->arena, n * sizeof *o.read);
    if (!o.place || !o.late || !o.behind || !o.next || !o.stays || !o.read) return -1;
    find_what_stays(&o);
    if (put_host_first(&o, &first) < 0) return -1;
    o.from = &first;
    find_places(&o);
    if (find_in_place(&o) < 0) return -1;
    if (reorder(&o) < 0) return -1;
    *top = o.to;
    return 0;
}
