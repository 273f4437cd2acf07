/* Collectives overlap with what does not need them.  In: the top region in program order.  Out:
   each collective as early as its arguments allow, but behind those before it, since other
   processes send in the program's order.  A small one begins with the next one: on its way it holds
   a multiprocessor, for which a product of matrices needs one more round (1,040 -> 1,290 us).

   Its result, with views and writes of that, comes in front of the first node that reads it, and
   work of the device that needs it behind work that does not: what needs the last collective comes
   last.  One that is waited for at once is marked: it needs no stream of its own; where the arrays
   are of no other use, it writes there.

   Nothing moves beyond a jump or a kept loop.

   What has been sent cannot be taken back, while work of the host gives a run up where Python
   raises or NumPy warns.  It therefore comes first: from behind the first collective it moves in
   front of it, unless it needs what stays behind. */
#include "rewrite.h"

typedef struct {
    int32_t place;  /* where it is in `from` */
    int32_t number; /* of a collective, from 1 */
    int32_t waits;  /* the number of the last collective that it waits for; 0: for none */
    NodeId next;    /* that waits for the same; node 0 is an input, which waits for none */
    bool done;      /* it is in `to` */
    bool stays;     /* behind the first collective */
    bool read;      /* its storage is, by a node that stays */
} Facts;

typedef struct {
    NodeId id;
    int32_t behind;     /* the place behind which it begins */
    NodeId first, last; /* that wait for it: see Facts.next */
    bool arrived;       /* its `arrive` is in `to` */
} Sent;

typedef struct {
    Graph *g;
    const Region *from;
    Region to;
    Facts *of;  /* per node */
    Sent *sent; /* the collectives, in order; number 1 first */
    int nsent;
    bool overwrites; /* a write goes over what a node before it reads */
    NodeId worked;   /* the last node in `to` that takes time */
} Order;

/* Fewer are small; and how many collectives may be ahead of what needs them. */
enum { SMALL_BYTES = 256 << 10, MOST_UNDER_WAY = 2 };

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
    if (kind == KIND_SCATTER && o->of[node->storage].read) return true;
    for (int k = 0; k < node->nargs; k++) {
        const Node *arg = graph_node(o->g, node->args[k]);
        if (o->of[node->args[k]].stays || arg->type.device != DEVICE_HOST) return true;
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

/* What stays behind the first collective: all, behind a cond or a loop that does. */
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
            o->of[id].stays = true;
            all = all || is_edge(node);
            called = called || node->op == OP_extern;
            for (int k = 0; k < node->nargs; k++)
                o->of[graph_node(o->g, node->args[k])->storage].read = true;
        }
    }
}

static int
put_host_first(Order *o, Region *out)
{
    for (int stays = 0; stays < 2; stays++)
        for (int i = 0; i < o->from->nodes.len; i++) {
            NodeId id = o->from->nodes.at[i];
            if (o->of[id].stays == (stays != 0) && top_put(o->g, out, id) < 0) return -1;
        }
    return 0;
}

/* ---- as early as possible ---- */

static bool
is_small(const Order *o, NodeId collective)
{
    const Node *node = graph_node(o->g, collective);
    int64_t bytes = 0;
    for (int k = 1; k < node->nargs; k++) {
        const Type *type = &graph_node(o->g, node->args[k])->type;
        if (type->form == FORM_ARRAY)
            bytes = Py_MAX(bytes, type_elements(o->g, type) * (int64_t)dtype_size(type->dtype));
    }
    return bytes < SMALL_BYTES;
}

/* Can the collective begin as late as the one behind it? */
static bool
can_begin_with_next(const Order *o, const Sent *sent)
{
    if (!is_small(o, sent->id) || o->overwrites) return false;
    for (int i = sent->behind + 1; i <= sent[1].behind; i++) {
        const Node *node = graph_node(o->g, o->from->nodes.at[i]);
        if (is_edge(node)) return false;
        for (int k = 0; k < node->nargs; k++) {
            const Node *arg = graph_node(o->g, node->args[k]);
            if (arg->op == OP_arrive && arg->args[0] == sent->id) return false;
        }
    }
    return true;
}

static void
find_places(Order *o)
{
    const Region *from = o->from;
    int last = 0; /* the earliest place for the next one */
    for (int i = 0; i < from->nodes.len; i++) {
        NodeId id = from->nodes.at[i];
        const Node *node = graph_node(o->g, id);
        o->of[id].place = i;
        if (may_fail(o->g, node)) last = i;
        if (node->op != OP_collective) continue;
        for (int k = 0; k < node->nargs; k++)
            if (!is_constant(o, node->args[k])) last = Py_MAX(last, o->of[node->args[k]].place);
        o->sent[o->nsent] = (Sent){.id = id, .behind = last};
        o->of[id].number = ++o->nsent;
    }
    for (int n = o->nsent - 1; n-- > 0;)
        if (can_begin_with_next(o, &o->sent[n])) o->sent[n].behind = o->sent[n + 1].behind;
}

/* ---- as late as possible ---- */

/* Work of a device that nothing but its arguments ties to its place. */
static bool
is_free(const Order *o, const Node *node)
{
    if (node->type.device == DEVICE_HOST || o->overwrites) return false;
    switch (op_info(node->op)->kind) {
    case KIND_POINTWISE:
    case KIND_REDUCTION:
    case KIND_SCAN:
    case KIND_COPY:
    case KIND_GATHER:
    case KIND_PRODUCT: return true;
    default: return false;
    }
}

/* Views and writes at commit are no work, and wait with what they are of. */
static int32_t
waits_for(const Order *o, NodeId id)
{
    const Node *node = graph_node(o->g, id);
    int32_t last = 0;
    if (node->op == OP_arrive) return o->of[node->args[0]].number;
    if (op_info(node->op)->kind != KIND_VIEW && !is_commit(node) && !is_free(o, node)) return 0;
    for (int k = 0; k < node->nargs; k++) last = Py_MAX(last, o->of[node->args[k]].waits);
    return last;
}

/* NCCL's kernels of two communicators that are under way at once may wait for each other; on the
   stream of all collectives they are not. */
static bool
others_are_under_way(const Order *o, NodeId communicator)
{
    for (int n = 0; n < o->nsent; n++) {
        const Sent *sent = &o->sent[n];
        if (o->of[sent->id].done && !sent->arrived &&
            graph_node(o->g, sent->id)->args[0] != communicator)
            return true;
    }
    return false;
}

static void
note_arrival(Order *o, NodeId id)
{
    Node *collective = graph_node(o->g, id);
    if (id == o->worked && !others_are_under_way(o, collective->args[0]))
        collective->attrs.index |= COLLECTIVE_AWAITED;
    o->sent[o->of[id].number - 1].arrived = true;
}

static int
put(Order *o, NodeId id)
{
    const Node *node = graph_node(o->g, id);
    if (o->of[id].done) return 0;
    o->of[id].done = true;
    for (int k = 0; k < node->nargs; k++) {
        NodeId arg = node->args[k];
        if ((o->of[arg].waits || is_constant(o, arg)) && put(o, arg) < 0) return -1;
    }
    if (node->op == OP_arrive) note_arrival(o, node->args[0]);
    OpKind kind = op_info(node->op)->kind;
    if (kind != KIND_VIEW && kind != KIND_RESULT && !is_constant(o, id) && !is_commit(node))
        o->worked = id;
    return top_put(o->g, &o->to, id);
}

static void
let_wait(Order *o, NodeId id, int32_t number)
{
    Sent *sent = &o->sent[number - 1];
    o->of[id].waits = number;
    if (sent->first == 0)
        sent->first = id;
    else
        o->of[sent->last].next = id;
    sent->last = id;
}

/* The work that waits for the collective of this number, or all that does. */
static int
put_waiting(Order *o, int number, bool all)
{
    for (NodeId id = number < 1 ? 0 : o->sent[number - 1].first; id != 0; id = o->of[id].next)
        if ((all || is_free(o, graph_node(o->g, id))) && put(o, id) < 0) return -1;
    return 0;
}

static int
put_all_waiting(Order *o)
{
    for (int number = 1; number <= o->nsent; number++) {
        if (put_waiting(o, number, true) < 0) return -1;
        o->sent[number - 1].first = 0;
    }
    return 0;
}

/* Puts a node, or lets it wait, where `sent` collectives have begun. */
static int
take(Order *o, NodeId id, int sent)
{
    const Node *node = graph_node(o->g, id);
    int32_t number = waits_for(o, id);
    if (is_edge(node) && put_all_waiting(o) < 0) return -1;
    int32_t read = is_free(o, node) ? Py_MAX(sent - MOST_UNDER_WAY, 0) : 0; /* by now */
    if (number <= read) return node->op == OP_collective ? 0 : put(o, id);
    let_wait(o, id, number);
    return 0;
}

static int
reorder(Order *o)
{
    const Region *from = o->from;
    int n = 0;
    for (int i = 0; i < from->nodes.len; i++) {
        if (take(o, from->nodes.at[i], n) < 0) return -1;
        for (; n < o->nsent && o->sent[n].behind == i; n++)
            if (put_waiting(o, n + 1 - MOST_UNDER_WAY, false) < 0 || put(o, o->sent[n].id) < 0)
                return -1;
    }
    return put_all_waiting(o);
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
    int nsent = 0;
    bool overwrites = false;
    for (int i = 0; i < top->nodes.len; i++) {
        const Node *node = graph_node(g, top->nodes.at[i]);
        nsent += node->op == OP_collective;
        overwrites = overwrites || (op_info(node->op)->kind == KIND_SCATTER && !is_commit(node));
    }
    if (nsent == 0) return 0;
    Region first = *top;
    first.nodes.at = NULL;
    first.nodes.len = first.nodes.cap = 0;
    Order o = {.g = g, .from = top, .to = first, .worked = NO_NODE, .overwrites = overwrites};
    o.of = arena_alloc(g->arena, sizeof *o.of * (size_t)g->nodes.len);
    o.sent = arena_alloc(g->arena, sizeof *o.sent * (size_t)nsent);
    if (o.of == NULL || o.sent == NULL) return -1;
    find_what_stays(&o);
    if (put_host_first(&o, &first) < 0) return -1;
    o.from = &first;
    find_places(&o);
    if (find_in_place(&o) < 0 || reorder(&o) < 0) return -1;
    *top = o.to;
    return 0;
}
