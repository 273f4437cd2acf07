/* Conditional regions: both arms are laid out one after the other in the top region, between marks
   that become jumps of the program.

       branch(condition)     jump to `otherwise` unless it holds
       nodes of the arm, copies of its results
       otherwise()           jump to `join`
       nodes of the other arm, copies
       join(copies)          its results are those of the cond that somebody reads

   A result that only one arm has is an `empty` in the other, which is not copied.  Dead code is
   removed before and after: an arm computes all its results, whether a result node reads them or
   not. */
#include "passes.h"

typedef struct {
    Graph *g;
    VEC(NodeId) order;    /* the new top region */
    NodeId *instead;      /* replacements: a parameter's is its argument */
    NodeId *first, *next; /* lists of a node's result nodes: its first, and by result node the next;
                             NO_NODE: no more */
} Layout;

/* Collects each node's result nodes, those that have a place in a region. */
static int
find_results(Layout *l)
{
    Graph *g = l->g;
    size_t n = (size_t)g->nodes.len;
    bool *placed = arena_alloc(g->arena, n);
    l->first = arena_alloc(g->arena, n * sizeof(NodeId));
    l->next = arena_alloc(g->arena, n * sizeof(NodeId));
    if (placed == NULL || l->first == NULL || l->next == NULL) return -1;
    for (int r = 0; r < g->regions.len; r++)
        for (int i = 0; i < g->regions.at[r].nodes.len; i++)
            placed[g->regions.at[r].nodes.at[i]] = true;
    for (size_t i = 0; i < n; i++) l->first[i] = l->next[i] = NO_NODE;
    for (NodeId id = g->nodes.len; id-- > 0;) {
        const Node *node = graph_node(g, id);
        if (!placed[id] || node->op != OP_result) continue;
        l->next[id] = l->first[node->args[0]];
        l->first[node->args[0]] = id;
    }
    return 0;
}

static int
place(Layout *l, NodeId id)
{
    return id == NO_NODE ? -1 : VEC_PUSH(l->g->arena, &l->order, id);
}

/* Places a mark: branch, otherwise or join. */
static NodeId
mark(Layout *l, Op op, int nargs, const NodeId *args)
{
    Type none = type_scalar(DT_OBJECT, FORM_OBJECT);
    NodeId id = graph_make(l->g, op, nargs, args, &none, NULL);
    return place(l, id) < 0 ? NO_NODE : id;
}

typedef VEC(NodeId) Values;

/* A copy of the arm's value with the result's type, so that it can be made in the result's memory;
   an `empty` is returned as it is. */
static NodeId
copy_value(Layout *l, NodeId result, NodeId value)
{
    Graph *g = l->g;
    while (l->instead[value] != value) value = l->instead[value];
    const Node *node = graph_node(g, value);
    if (node->op == OP_empty) return value;
    Type type = graph_node(g, result)->type;
    graph_set_position(g, node->file, node->line);
    NodeId copy = graph_make(g, OP_copy, 1, &value, &type, NULL);
    return place(l, copy) < 0 ? NO_NODE : copy;
}

static int lay_out(Layout *l, RegionId region);

/* `values` gets one for each result node, in the order of the region's results. */
static int
lay_out_arm(Layout *l, NodeId cond, int which, Values *values)
{
    Graph *g = l->g;
    RegionId region = graph_node(g, cond)->region[which];
    for (int i = 0; i < g->regions.at[region].params.len; i++) {
        NodeId param = g->regions.at[region].params.at[i];
        l->instead[param] = graph_node(g, cond)->args[1 + i];
    }
    if (lay_out(l, region) < 0) return -1;
    for (int i = 0; i < g->regions.at[region].results.len; i++)
        for (NodeId result = l->first[cond]; result != NO_NODE; result = l->next[result]) {
            if (graph_node(g, result)->attrs.index != i) continue;
            NodeId value = copy_value(l, result, g->regions.at[region].results.at[i]);
            if (value == NO_NODE || VEC_PUSH(g->arena, values, value) < 0) return -1;
        }
    g->regions.at[region].nodes.len = g->regions.at[region].results.len = 0;
    return 0;
}

/* The cond's results become the join's: the i-th is args[2 * i] or args[2 * i + 1]. */
static int
join(Layout *l, NodeId cond, int nresults, const Values *yes, const Values *no)
{
    Graph *g = l->g;
    Values pairs = {0};
    for (int i = 0; i < yes->len; i++)
        if (VEC_PUSH(g->arena, &pairs, yes->at[i]) < 0 || VEC_PUSH(g->arena, &pairs, no->at[i]) < 0)
            return -1;
    NodeId end = mark(l, OP_join, pairs.len, pairs.at);
    if (end == NO_NODE) return -1;
    int number = 0;
    for (int i = 0; i < nresults; i++)
        for (NodeId id = l->first[cond]; id != NO_NODE; id = l->next[id]) {
            Node *node = graph_node(g, id);
            if (node->args[0] != cond || node->attrs.index != i) continue;
            if ((node->args = arena_copy(g->arena, &end, sizeof(NodeId))) == NULL) return -1;
            node->attrs.index = number++;
        }
    return 0;
}

static int
lay_out_cond(Layout *l, NodeId cond)
{
    Graph *g = l->g;
    Values yes = {0}, no = {0};
    int nresults = g->regions.at[graph_node(g, cond)->region[0]].results.len;
    graph_set_position(g, graph_node(g, cond)->file, graph_node(g, cond)->line);
    NodeId condition = graph_node(g, cond)->args[0];
    if (mark(l, OP_branch, 1, &condition) == NO_NODE || lay_out_arm(l, cond, 0, &yes) < 0 ||
        mark(l, OP_otherwise, 0, NULL) == NO_NODE || lay_out_arm(l, cond, 1, &no) < 0)
        return -1;
    return join(l, cond, nresults, &yes, &no);
}

static int
lay_out(Layout *l, RegionId region)
{
    const Graph *g = l->g;
    for (int i = 0; i < g->regions.at[region].nodes.len; i++) {
        NodeId id = g->regions.at[region].nodes.at[i];
        if ((graph_node(g, id)->op == OP_cond ? lay_out_cond(l, id) : place(l, id)) < 0) return -1;
    }
    return 0;
}

int
pass_arms(Graph *g)
{
    bool any = false;
    if (pass_dce(g) < 0) return -1;
    for (int i = 0; i < g->regions.at[0].nodes.len; i++)
        any |= graph_node(g, g->regions.at[0].nodes.at[i])->op == OP_cond;
    if (!any) return 0;
    Layout l = {.g = g, .instead = graph_same(g)};
    int nodes = g->nodes.len;
    if (l.instead == NULL || find_results(&l) < 0 || lay_out(&l, 0) < 0) return -1;
    graph_replace(g, l.instead, nodes);
    g->regions.at[0].nodes.len = 0;
    for (int i = 0; i < l.order.len; i++)
        if (VEC_PUSH(g->arena, &g->regions.at[0].nodes, l.order.at[i]) < 0) return -1;
    return pass_dce(g);
}
