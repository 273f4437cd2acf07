/* Conditional regions: both arms are laid out one behind the other in the top region, between marks
   that become jumps of the program.

     mark (condition)      jump to `else` unless it holds
     nodes of the arm, copies of its results into the cond's result buffers
     mark (else)           jump to `end`
     nodes of the other arm, copies
     mark (end)            the cond's results live in its group

   A result that only one arm has is an `empty` in the other, which copies nothing.

   Invariants: groups hold nodes of one arm only, so that what an arm does happens when it is taken
   and not otherwise, floating-point flags and deopts included; what an arm uses of a scalar from
   outside was computed outside. */
#include "schedule.h"

typedef struct {
    Lowering *lw;
    VEC(NodeId) order; /* the top region as it will be */
    NodeId *instead;   /* what stands for a node: an argument for a parameter */
    int arm;           /* of the nodes that are being laid out */
} Layout;

static int
place(Layout *l, NodeId id)
{
    if (id == NO_NODE) return -1;
    while (l->lw->arm.len <= id)
        if (VEC_PUSH(l->lw->arena, &l->lw->arm, 0) < 0) return -1;
    l->lw->arm.at[id] = l->arm;
    return VEC_PUSH(l->lw->arena, &l->order, id);
}

static NodeId
mark_make(Layout *l, Mark kind, int nargs, const NodeId *args)
{
    Graph *g = l->lw->graph;
    Type none = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    Attrs attrs = {.index = kind};
    NodeId id = graph_make(g, OP_cond, nargs, args, &none, &attrs);
    return place(l, id) < 0 ? NO_NODE : id;
}

static int lay_out(Layout *l, RegionId region);

static int
lay_out_arm(Layout *l, NodeId cond, int which)
{
    Graph *g = l->lw->graph;
    RegionId region = graph_node(g, cond)->region[which];
    int outer = l->arm;
    for (int i = 0; i < g->regions.at[region].params.len; i++) {
        NodeId param = g->regions.at[region].params.at[i];
        l->instead[param] = graph_node(g, cond)->args[1 + i];
    }
    l->arm = ++l->lw->narms;
    if (lay_out(l, region) < 0) return -1;
    for (int i = 0; i < g->regions.at[region].results.len; i++) {
        NodeId result = result_of(l->lw, cond, i), value = g->regions.at[region].results.at[i];
        while (l->instead[value] != value) value = l->instead[value];
        if (result == NO_NODE || graph_node(g, value)->op == OP_empty) continue;
        Type type = graph_node(g, result)->type;
        graph_set_position(g, graph_node(g, value)->file, graph_node(g, value)->line);
        NodeId copy = graph_make(g, OP_copy, 1, &value, &type, NULL);
        Into into = {copy, result, l->lw->first_into[result]};
        if (place(l, copy) < 0 || VEC_PUSH(l->lw->arena, &l->lw->into, into) < 0) return -1;
        l->lw->first_into[result] = l->lw->into.len;
    }
    l->arm = outer;
    return 0;
}

static int
lay_out_cond(Layout *l, NodeId cond)
{
    Graph *g = l->lw->graph;
    graph_set_position(g, graph_node(g, cond)->file, graph_node(g, cond)->line);
    NodeId condition = graph_node(g, cond)->args[0];
    if (mark_make(l, MARK_IF, 1, &condition) == NO_NODE || lay_out_arm(l, cond, 0) < 0 ||
        mark_make(l, MARK_ELSE, 0, NULL) == NO_NODE || lay_out_arm(l, cond, 1) < 0)
        return -1;
    NodeId end = mark_make(l, MARK_END, 0, NULL);
    if (end == NO_NODE || lowering_room(l->lw) < 0) return -1;
    for (NodeId id = l->lw->first_result[cond]; id != NO_NODE; id = l->lw->next_result[id]) {
        Node *node = graph_node(g, id);
        node->args = arena_copy(l->lw->arena, &end, sizeof(NodeId));
        if (node->args == NULL) return -1;
    }
    l->lw->first_result[end] = l->lw->first_result[cond];
    l->lw->first_result[cond] = NO_NODE;
    return 0;
}

static int
lay_out(Layout *l, RegionId region)
{
    Graph *g = l->lw->graph;
    for (int i = 0; i < g->regions.at[region].nodes.len; i++) {
        NodeId id = g->regions.at[region].nodes.at[i];
        if ((graph_node(g, id)->op == OP_cond ? lay_out_cond(l, id) : place(l, id)) < 0) return -1;
    }
    return 0;
}

int
arms_lay_out(Lowering *lw)
{
    Graph *g = lw->graph;
    bool any = false;
    for (int i = 0; i < g->regions.at[0].nodes.len; i++)
        any |= graph_node(g, g->regions.at[0].nodes.at[i])->op == OP_cond;
    if (!any) return 0;
    Layout l = {.lw = lw, .instead = graph_same(g)};
    int nodes = g->nodes.len;
    if (l.instead == NULL || lay_out(&l, 0) < 0) return -1;
    graph_replace(g, l.instead, nodes);
    g->regions.at[0].nodes.len = 0;
    for (int i = 0; i < l.order.len; i++)
        if (VEC_PUSH(g->arena, &g->regions.at[0].nodes, l.order.at[i]) < 0) return -1;
    return 0;
}

int
arms_insert(Lowering *lw, NodeId id, NodeId before)
{
    if (lw->narms == 0) return 0;
    int arm = arm_of(lw, before);
    while (lw->arm.len <= id)
        if (VEC_PUSH(lw->arena, &lw->arm, 0) < 0) return -1;
    lw->arm.at[id] = arm;
    return 0;
}

int
arm_of(const Lowering *lw, NodeId id)
{
    return id < lw->arm.len ? lw->arm.at[id] : 0;
}

/* ---- what arms need of memory ---- */

void
arms_live(Lowering *lw, NodeId id, void (*mark)(Lowering *, NodeId))
{
    for (int32_t i = lw->first_into[id]; i != 0; i = lw->into.at[i - 1].next)
        mark(lw, lw->into.at[i - 1].copy);
}

/* A scalar computed outside the arm that uses it is computed there and nowhere else. */
static void
need_crossing(Lowering *lw, int arm, NodeId value)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    const Node *node = graph_node(lw->graph, storage);
    if (!node_is_virtual(lw, storage) || node->op == OP_const || node->op == OP_full) return;
    if (arm_of(lw, storage) != arm) {
        lw->needed[storage] = true;
        return;
    }
    for (int k = 0; k < node->nargs; k++) need_crossing(lw, arm, node->args[k]);
}

void
arms_need(Lowering *lw)
{
    const Graph *g = lw->graph;
    if (lw->narms == 0) return;
    for (int i = 0; i < lw->into.len; i++) {
        NodeId copy = lw->into.at[i].copy, result = lw->into.at[i].result;
        if (!lw->live[result]) continue;
        lw->live[copy] = true;
        lw->same_as[copy] = result;
        lw->needed[copy] = lw->needed[result] = true;
    }
    for (int i = 0; i < g->regions.at[0].nodes.len; i++) {
        NodeId id = g->regions.at[0].nodes.at[i];
        const Node *node = graph_node(g, id);
        if (!lw->live[id]) continue;
        for (int k = 0; k < node->nargs; k++) need_crossing(lw, arm_of(lw, id), node->args[k]);
        if (node->op == OP_cond && node->nargs > 0)
            lw->needed[graph_node(g, node->args[0])->storage] = true;
    }
}

/* ---- marks as steps ---- */

int
arms_step(Lowering *lw, NodeId mark)
{
    const Node *node = graph_node(lw->graph, mark);
    Program *p = lw->program;
    Step step = {.kind = STEP_JUMP, .line = node->line};
    if (node->attrs.index != MARK_IF) { /* the jump to here was made before */
        int from = lw->open.at[--lw->open.len];
        bool jumps = node->attrs.index == MARK_ELSE;
        p->steps.at[from].jump.target = p->steps.len + jumps;
        if (!jumps) return 0;
        step.jump.condition.buffer = NO_BUFFER;
    } else if (place_for(lw, node->args[0], &step.jump.condition) < 0) {
        return -1;
    }
    if (VEC_PUSH(lw->arena, &p->steps, step) < 0) return -1;
    return VEC_PUSH(lw->arena, &lw->open, p->steps.len - 1);
}
