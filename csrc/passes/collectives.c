/* Collectives overlap with what does not need them.  In: the top region in program order.  Out:
   each collective as early as its arguments allow, but behind those before it, since other
   processes send in the program's order; its result, with views and writes of that, in front of the
   first node that reads it.  One that is waited for at once is marked: it needs no stream of its
   own; where the arrays are of no other use, it writes there.

   Neither moves beyond a jump or a kept loop. */
#include "rewrite.h"

typedef struct {
    Graph *g;
    const Region *from;
    Region to;
    int32_t *place; /* per node: where it is in `to`, from 1; 0: not yet */
    bool *late;     /* per node: waits for its first reader */
    NodeId
        *behind;   /* per place in `from`: the first collective that follows it there, or NO_NODE */
    NodeId *next;  /* per collective: the next one of the same place */
    NodeId worked; /* the last node in `to` that takes time */
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

/* ---- as early as possible ---- */

/* For each collective, behind which node it comes. */
static void
find_places(Order *o)
{
    const Region *from = o->from;
    int last = -1;      /* the earliest place for the next one */
    NodeId *end = NULL; /* of the list at that place */
    for (int i = 0; i < from->nodes.len; i++) {
        NodeId id = from->nodes.at[i];
        const Node *node = graph_node(o->g, id);
        o->place[id] = i;
        o->behind[i] = NO_NODE;
        if (is_edge(node)) last = i, end = NULL;
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
    if (op_info(node->op)->kind != KIND_VIEW && !is_constant(o, id) && !is_commit(node))
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
    Order o = {.g = g, .from = top, .to = *top, .worked = NO_NODE};
    o.to.nodes.at = NULL;
    o.to.nodes.len = o.to.nodes.cap = 0;
    o.place = arena_alloc(g->arena, n * sizeof *o.place);
    o.late = arena_alloc(g->arena, n * sizeof *o.late);
    o.behind = arena_alloc(g->arena, n * sizeof *o.behind);
    o.next = arena_alloc(g->arena, n * sizeof *o.next);
    if (!o.place || !o.late || !o.behind || !o.next) return -1;
    find_places(&o);
    if (find_in_place(&o) < 0) return -1;
    if (reorder(&o) < 0) return -1;
    *top = o.to;
    return 0;
}
