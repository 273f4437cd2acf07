/* Conditional regions, and repeats: both arms are laid out one after the other in the top region,
   between marks that become jumps of the program.

       branch(condition)     jump to `otherwise` unless it holds
       nodes of the arm, copies of its results
       otherwise()           jump to `join`
       nodes of the other arm, copies
       join(copies)          its results are those of the cond that somebody reads

   A repeat likewise, its results being carried from turn to turn:

       enter(first)          its results are what is carried: the region's params
       index < stop
       stay(condition)       jump behind `again` unless it holds
       nodes of the body
       again(not left, results of the body)
                             these become what is carried; jump behind `enter` if it holds.  Its
                             results are those of the repeat

   Values that are versions of memory made in the arm need no copy: passes/writes.c.

   A result that only one arm has is an `empty` in the other, which is not copied.  Dead code is
   removed before and after: an arm computes all its results, whether a result node reads them or
   not. */
#include "passes.h"

typedef struct {
    Graph *g;
    VEC(NodeId) order; /* the new top region */
    NodeId *instead;   /* replacements of the graph's `count` nodes: a parameter's is its argument,
                          or a mark's result */
    int count;
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

/* What stands for the node. */
static NodeId
now(const Layout *l, NodeId id)
{
    while (id < l->count && l->instead[id] != id) id = l->instead[id];
    return id;
}

typedef VEC(NodeId) Values;

/* A copy of the arm's value with the result's type, so that it can be made in the result's memory;
   an `empty` is returned as it is. */
static NodeId
copy_value(Layout *l, NodeId result, NodeId value)
{
    Graph *g = l->g;
    value = now(l, value);
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

/* ---- repeats ---- */

static NodeId
number(Layout *l, Op op, DType dtype, NodeId a, NodeId b)
{
    Type type = type_scalar(dtype, FORM_PYTHON);
    NodeId args[2] = {a, b}, id = graph_make(l->g, op, 2, args, &type, NULL);
    return place(l, id) < 0 ? NO_NODE : id;
}

static NodeId
constant(Layout *l, PyObject *object, DType dtype)
{
    Type type = type_scalar(dtype, FORM_PYTHON);
    if (object == NULL) return NO_NODE;
    int kept = PyList_Append(l->g->keep, object);
    Py_DECREF(object); /* the keep list has it */
    if (kept < 0) return NO_NODE;
    NodeId id = graph_make(l->g, OP_const, 0, NULL, &type, &(Attrs){.object = object});
    return place(l, id) < 0 ? NO_NODE : id;
}

/* The value carried in place `index` of a mark. */
static NodeId
carried(Layout *l, NodeId mark, int index, const Type *type)
{
    Attrs attrs = {.index = index};
    Type plain = *type;
    plain.offset = NO_SIZE;
    NodeId id = graph_make(l->g, OP_result, 1, &mark, &plain, &attrs);
    return place(l, id) < 0 ? NO_NODE : id;
}

/* enter(index, first): the params become its results. */
static int
enter(Layout *l, NodeId repeat, RegionId body)
{
    Graph *g = l->g;
    const Node *node = graph_node(g, repeat);
    Values first = {0};
    if (VEC_PUSH(g->arena, &first, node->args[0]) < 0) return -1;
    for (int i = 3; i < node->nargs; i++)
        if (VEC_PUSH(g->arena, &first, node->args[i]) < 0) return -1;
    NodeId begin = mark(l, OP_enter, first.len, first.at);
    if (begin != NO_NODE) graph_node(g, begin)->attrs.index = graph_node(g, repeat)->attrs.index;
    for (int i = 0; begin != NO_NODE && i < first.len; i++) {
        NodeId param = g->regions.at[body].params.at[i];
        Type type = graph_node(g, param)->type;
        if ((l->instead[param] = carried(l, begin, i, &type)) == NO_NODE) return -1;
    }
    return begin == NO_NODE ? -1 : 0;
}

static int64_t
known_int(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    return node->op == OP_const ? PyLong_AsLongLong(node->attrs.object) : 0;
}

/* A `while`: the range has no end, and nobody reads its items. */
static bool
is_endless(const Layout *l, NodeId repeat, NodeId item)
{
    const Graph *g = l->g;
    if (known_int(g, graph_node(g, repeat)->args[1]) != INT64_MAX) return false;
    for (NodeId id = 0; id < l->count; id++)
        for (int k = 0; k < graph_node(g, id)->nargs; k++)
            if (graph_node(g, id)->args[k] == item) return false;
    for (int r = 0; r < g->regions.len; r++)
        for (int i = 0; i < g->regions.at[r].results.len; i++)
            if (g->regions.at[r].results.at[i] == item) return false;
    return true;
}

/* Is the next item one of the range?  Its step is a constant. */
static int
stay(Layout *l, NodeId repeat, NodeId index, bool endless)
{
    const Node *node = graph_node(l->g, repeat);
    NodeId stop = node->args[1];
    bool down = known_int(l->g, node->args[2]) < 0;
    NodeId test = endless ? constant(l, Py_NewRef(Py_True), DT_BOOL)
                  : down  ? number(l, OP_py_lt, DT_BOOL, stop, index)
                          : number(l, OP_py_lt, DT_BOOL, index, stop);
    return test == NO_NODE || mark(l, OP_stay, 1, &test) == NO_NODE ? -1 : 0;
}

/* again(not left, next index, results); the repeat's results become its own. */
static int
again(Layout *l, NodeId repeat, RegionId body, NodeId index, bool endless)
{
    Graph *g = l->g;
    Values values = {0};
    const Node *node = graph_node(g, repeat);
    NodeId next = node->args[0], more;
    if (!endless) next = number(l, OP_py_add, DT_I64, index, node->args[2]);
    const NodeId *results = g->regions.at[body].results.at;
    if (node->attrs.nints > 0) {
        NodeId zero = constant(l, PyLong_FromLong(0), DT_I64);
        if (zero == NO_NODE) return -1;
        more = number(l, OP_py_eq, DT_BOOL, now(l, results[node->attrs.ints[0]]), zero);
    } else
        more = constant(l, Py_NewRef(Py_True), DT_BOOL);
    if (next == NO_NODE || more == NO_NODE || VEC_PUSH(g->arena, &values, more) < 0 ||
        VEC_PUSH(g->arena, &values, next) < 0)
        return -1;
    for (int i = 0; i < g->regions.at[body].results.len; i++)
        if (VEC_PUSH(g->arena, &values, now(l, results[i])) < 0) return -1;
    NodeId end = mark(l, OP_again, values.len, values.at);
    if (end == NO_NODE) return -1;
    graph_node(g, end)->attrs.index = graph_node(g, repeat)->attrs.index;
    for (NodeId id = l->first[repeat]; id != NO_NODE; id = l->next[id]) {
        Node *result = graph_node(g, id);
        if ((result->args = arena_copy(g->arena, &end, sizeof(NodeId))) == NULL) return -1;
        result->attrs.index++; /* behind the index */
    }
    return 0;
}

static int
lay_out_repeat(Layout *l, NodeId repeat)
{
    Graph *g = l->g;
    RegionId body = graph_node(g, repeat)->region[0];
    graph_set_position(g, graph_node(g, repeat)->file, graph_node(g, repeat)->line);
    if (enter(l, repeat, body) < 0) return -1;
    NodeId item = g->regions.at[body].params.at[0], index = l->instead[item];
    bool endless = is_endless(l, repeat, item);
    if (stay(l, repeat, index, endless) < 0 || lay_out(l, body) < 0 ||
        again(l, repeat, body, index, endless) < 0)
        return -1;
    g->regions.at[body].nodes.len = g->regions.at[body].results.len = 0;
    return 0;
}

static int
lay_out_node(Layout *l, NodeId id)
{
    switch (graph_node(l->g, id)->op) {
    case OP_cond: return lay_out_cond(l, id);
    case OP_repeat: return lay_out_repeat(l, id);
    default: return place(l, id);
    }
}

static int
lay_out(Layout *l, RegionId region)
{
    const Graph *g = l->g;
    for (int i = 0; i < g->regions.at[region].nodes.len; i++) {
        NodeId id = g->regions.at[region].nodes.at[i];
        if (lay_out_node(l, id) < 0) return -1;
    }
    return 0;
}

int
pass_arms(Graph *g)
{
    bool any = false;
    if (pass_dce(g) < 0) return -1;
    for (int i = 0; i < g->regions.at[0].nodes.len; i++) {
        Op op = graph_node(g, g->regions.at[0].nodes.at[i])->op;
        any |= op == OP_cond || op == OP_repeat;
    }
    if (!any) return 0;
    Layout l = {.g = g, .instead = graph_same(g), .count = g->nodes.len};
    if (l.instead == NULL || find_results(&l) < 0 || lay_out(&l, 0) < 0) return -1;
    graph_replace(g, l.instead, l.count);
    g->regions.at[0].nodes.len = 0;
    for (int i = 0; i < l.order.len; i++)
        if (VEC_PUSH(g->arena, &g->regions.at[0].nodes, l.order.at[i]) < 0) return -1;
    return pass_dce(g);
}
