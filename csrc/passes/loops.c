/* Loops that do again what a loop before them did, and store some of it: they are done with it.

       %5 = loop(0, %n, 1, %a)              for x = a: x = f(x)
       %9 = loop(0, %n, 1, %a, %stack)      for x = a: stack[i] = x; x = f(x)

   So is the second run of a loop, in which a gradient saves what its turns need.

   1. All that both loops carry and compute is numbered: equal numbers, equal values.  Of what they
      carry those are held to be equal at first that begin equal; those whose next values got other
      numbers are told apart, and the bodies are numbered anew, until that changes nothing.
   2. Where the second loop computes nothing that the first one does not, but for integers, its
      stores go into the first one's body, and what it carries besides.
   3. What it begins with is made before the first loop: constants, fills, Python's integers.

   As value numbering by partition (Alpern, Wegman and Zadeck 1988), of two loops at once. */
#include "rewrite.h"

/* Comparisons of nodes in one graph. */
enum { MOST_COMPARED = 1 << 20 };

typedef struct {
    Graph *g;
    NodeId *number;   /* by node; of constants: see number_of */
    int32_t *place;   /* in the top region, from 1 on; 0: not there, or before the first loop */
    VEC(NodeId) seen; /* of the bodies: nodes of numbers of their own */
    VEC(NodeId) consts;
    VEC(NodeId) early; /* what is put before the first loop */
    int len, compared;
} Loops;

static Region *
body_of(const Loops *l, NodeId loop)
{
    return &l->g->regions.at[graph_node(l->g, loop)->region[0]];
}

static bool
same_constant(const Node *a, const Node *b)
{
    uint64_t left[2] = {0}, right[2] = {0};
    if (!type_same_kind(&a->type, &b->type) || a->type.dtype == DT_OBJECT || a->type.rank > 0)
        return false;
    if (a->attrs.object == b->attrs.object) return true;
    if (constant_read(a->attrs.object, (DType)a->type.dtype, left) == 0 &&
        constant_read(b->attrs.object, (DType)b->type.dtype, right) == 0)
        return memcmp(left, right, sizeof left) == 0;
    PyErr_Clear();
    return false;
}

/* NO_NODE with the error set. */
static NodeId
number_of(Loops *l, NodeId id)
{
    const Node *node = graph_node(l->g, id);
    if (node->op != OP_const || l->number[id] != id) return l->number[id];
    for (int i = 0; i < l->consts.len; i++)
        if (same_constant(graph_node(l->g, l->consts.at[i]), node))
            return l->number[id] = l->consts.at[i];
    return VEC_PUSH(l->g->arena, &l->consts, id) < 0 ? NO_NODE : id;
}

/* Is what it gives told by its operation, attributes and arguments? */
static bool
is_told(const Node *node)
{
    switch (op_info(node->op)->kind) {
    case KIND_POINTWISE:
    case KIND_PYTHON: return true;
    case KIND_UFUNC: return node->type.dtype != DT_OBJECT;
    case KIND_COPY: return node->type.form != FORM_ARRAY;
    case KIND_ELEMENT:
        return node->op == OP_element_load || node->op == OP_element_item ||
               node->op == OP_element_length || node->op == OP_element_find ||
               node->op == OP_element_entry || node->op == OP_element_store;
    default: return false;
    }
}

static bool
is_equal(Loops *l, const Node *a, const Node *b)
{
    l->compared++;
    if (a->op != b->op || a->nargs != b->nargs || !type_same_layout(&a->type, &b->type) ||
        a->type.form != b->type.form || !attrs_same(l->g, &a->attrs, &b->attrs))
        return false;
    for (int k = 0; k < a->nargs; k++)
        if (l->number[a->args[k]] != l->number[b->args[k]]) return false;
    return true;
}

static int
number_node(Loops *l, NodeId id)
{
    const Node *node = graph_node(l->g, id);
    for (int k = 0; k < node->nargs; k++)
        if (number_of(l, node->args[k]) == NO_NODE) return -1;
    if (node->op == OP_const) return number_of(l, id) == NO_NODE ? -1 : 0;
    l->number[id] = id;
    for (int i = 0; i < l->seen.len && is_told(node); i++)
        if (is_equal(l, graph_node(l->g, l->seen.at[i]), node)) {
            l->number[id] = l->seen.at[i];
            return 0;
        }
    return VEC_PUSH(l->g->arena, &l->seen, id);
}

/* What loop number `i / MAX` of the two carries, as the i-th of both. */
typedef struct {
    NodeId param, first, next;
} Carried;

static Carried
carried_at(const Loops *l, const NodeId loops[2], int i)
{
    int of_first = graph_node(l->g, loops[0])->nargs - 3, k = i < of_first ? i : i - of_first;
    NodeId loop = loops[i >= of_first];
    const Region *body = body_of(l, loop);
    return (Carried){body->params.at[1 + k], graph_node(l->g, loop)->args[3 + k],
                     body->results.at[k]};
}

/* Gives the i-th what is carried a number: that of the first one that is equal in `class` and, by
   number, in what it begins with or goes on with. */
static int
classify(Loops *l, const NodeId loops[2], int count, const NodeId *class, NodeId *out)
{
    for (int i = 0; i < count; i++) {
        Carried one = carried_at(l, loops, i);
        NodeId value = number_of(l, class == NULL ? one.first : one.next);
        if (value == NO_NODE) return -1;
        out[i] = one.param;
        for (int k = 0; k < i && out[i] == one.param; k++) {
            Carried other = carried_at(l, loops, k);
            const Type *type = &graph_node(l->g, other.param)->type;
            if (class == NULL ? type_same_layout(type, &graph_node(l->g, one.param)->type) &&
                                    type->form == graph_node(l->g, one.param)->type.form
                              : class[k] == class[i])
                if (number_of(l, class == NULL ? other.first : other.next) == value)
                    out[i] = out[k];
        }
    }
    return 0;
}

static int
number_bodies(Loops *l, const NodeId loops[2], int count, const NodeId *class)
{
    l->seen.len = 0;
    for (int i = 0; i < count; i++) l->number[carried_at(l, loops, i).param] = class[i];
    NodeId turn = body_of(l, loops[0])->params.at[0];
    l->number[body_of(l, loops[1])->params.at[0]] = turn;
    for (int k = 0; k < 2; k++) {
        const Region *body = body_of(l, loops[k]);
        for (int i = 0; i < body->nodes.len; i++)
            if (number_node(l, body->nodes.at[i]) < 0) return -1;
    }
    return 0;
}

/* Step 1. */
static int
number_loops(Loops *l, const NodeId loops[2])
{
    int count = graph_node(l->g, loops[0])->nargs + graph_node(l->g, loops[1])->nargs - 6;
    NodeId *class = arena_alloc(l->g->arena, sizeof(NodeId) * (size_t)(count + 1)), *before;
    if (class == NULL || classify(l, loops, count, NULL, class) < 0) return -1;
    do {
        before = arena_copy(l->g->arena, class, sizeof(NodeId) * (size_t)(count + 1));
        if (before == NULL || number_bodies(l, loops, count, class) < 0 ||
            classify(l, loops, count, before, class) < 0)
            return -1;
    } while (memcmp(before, class, sizeof(NodeId) * (size_t)count) != 0);
    return 0;
}

/* ---- is the second loop one that repeats the first one? ---- */

static bool
same_bounds(Loops *l, const Node *a, const Node *b)
{
    if (a->attrs.nints != 0 || b->attrs.nints != 0) return false; /* left before the end */
    for (int k = 0; k < 3; k++) {
        NodeId one = number_of(l, a->args[k]), other = number_of(l, b->args[k]);
        if (one == NO_NODE || one != other) return false;
    }
    return true;
}

static bool
has_regions(const Loops *l, const Region *body)
{
    for (int i = 0; i < body->nodes.len; i++)
        if (graph_node(l->g, body->nodes.at[i])->region[0] != NO_REGION) return true;
    return false;
}

/* Is it of the second loop alone, by number? */
static bool
is_new(const Loops *l, NodeId id)
{
    return l->number[id] == id;
}

static bool
repeats(const Loops *l, const Region *second)
{
    int again = 0;
    for (int i = 0; i < second->nodes.len; i++) {
        const Node *node = graph_node(l->g, second->nodes.at[i]);
        OpKind kind = op_info(node->op)->kind;
        bool is_int = kind == KIND_PYTHON && node->type.dtype == DT_I64;
        if (node->op == OP_const) continue;
        if (!is_new(l, second->nodes.at[i]))
            again += kind == KIND_POINTWISE || kind == KIND_UFUNC;
        else if (node->op != OP_element_store && !is_int)
            return false;
    }
    return again > 0;
}

/* Notes that the value has to be there before the first loop, at this place.  ANSWER_NO: that
   cannot be. */
static Answer
need_early(Loops *l, NodeId id, int32_t place)
{
    const Node *node = graph_node(l->g, id);
    OpKind kind = op_info(node->op)->kind;
    if (l->place[id] < place) return ANSWER_YES;
    if (kind != KIND_CONST && kind != KIND_FILL && kind != KIND_PYTHON) return ANSWER_NO;
    for (int i = 0; i < node->type.rank; i++)
        if (size_varies_in_run(l->g, node->type.shape[i])) return ANSWER_NO;
    for (int k = 0; k < node->nargs; k++) {
        Answer answer = need_early(l, graph_node(l->g, id)->args[k], place);
        if (answer != ANSWER_YES) return answer;
    }
    l->place[id] = 0;
    return VEC_PUSH(l->g->arena, &l->early, id) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Step 3. */
static Answer
all_early(Loops *l, NodeId second, int32_t place)
{
    const Node *loop = graph_node(l->g, second);
    const Region *body = body_of(l, second);
    l->early.len = 0;
    for (int k = 3; k < loop->nargs; k++) {
        if (!is_new(l, body->params.at[k - 2])) continue;
        Answer answer = need_early(l, loop->args[k], place);
        if (answer != ANSWER_YES) return answer;
    }
    for (int i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(l->g, body->nodes.at[i]);
        if (!is_new(l, body->nodes.at[i])) continue;
        for (int k = 0; k < node->nargs; k++) {
            Answer answer = need_early(l, node->args[k], place);
            if (answer != ANSWER_YES) return answer;
        }
    }
    return ANSWER_YES;
}

/* ---- the loops become one ---- */

/* What a number stands for.  Constants may not be visible where an equal one is. */
static NodeId
stands_for(const Loops *l, NodeId id)
{
    return graph_node(l->g, id)->op == OP_const ? id : l->number[id];
}

/* The index at which a region carries the param. */
static int
index_of(const Region *body, NodeId param)
{
    int i = 1;
    while (body->params.at[i] != param) i++;
    return i - 1;
}

/* The result node of a loop with this index; NO_NODE: there is none. */
static NodeId
result_of_loop(const Graph *g, NodeId loop, int64_t index)
{
    const Region *top = &g->regions.at[0];
    for (int i = 0; i < top->nodes.len; i++) {
        const Node *node = graph_node(g, top->nodes.at[i]);
        if (node->op == OP_result && node->args[0] == loop && node->attrs.index == index)
            return top->nodes.at[i];
    }
    return NO_NODE;
}

/* An array that both loops make would be one array: the program may tell two apart. */
static bool
are_numbers(const Loops *l, NodeId second)
{
    const Region *body = body_of(l, second);
    for (int i = 1; i < body->params.len; i++) {
        bool array = graph_node(l->g, body->params.at[i])->type.form == FORM_ARRAY;
        NodeId result = result_of_loop(l->g, second, i - 1);
        if (is_new(l, body->params.at[i]) || result == NO_NODE) continue;
        for (int k = 0; k < l->g->outputs.len; k++)
            if (array || l->g->outputs.at[k].node == result) return false;
    }
    return true;
}

/* The body with what is new of the second one's. */
static int
join_bodies(Loops *l, Region *body, const Region *second)
{
    Arena *arena = l->g->arena;
    Region out = {.owner = body->owner};
    for (int i = 0; i < body->params.len; i++)
        if (VEC_PUSH(arena, &out.params, body->params.at[i]) < 0) return -1;
    for (int i = 0; i < body->nodes.len; i++)
        if (VEC_PUSH(arena, &out.nodes, body->nodes.at[i]) < 0) return -1;
    for (int i = 0; i < body->results.len; i++)
        if (VEC_PUSH(arena, &out.results, body->results.at[i]) < 0) return -1;
    for (int i = 1; i < second->params.len; i++) {
        NodeId param = second->params.at[i];
        if (!is_new(l, param)) continue;
        graph_node(l->g, param)->attrs.index = out.params.len;
        if (VEC_PUSH(arena, &out.params, param) < 0 ||
            VEC_PUSH(arena, &out.results, stands_for(l, second->results.at[i - 1])) < 0)
            return -1;
    }
    for (int i = 0; i < second->nodes.len; i++) {
        NodeId id = second->nodes.at[i];
        Node *node = graph_node(l->g, id);
        if (stands_for(l, id) != id) continue;
        for (int k = 0; k < node->nargs; k++) node->args[k] = stands_for(l, node->args[k]);
        if (VEC_PUSH(arena, &out.nodes, id) < 0) return -1;
    }
    *body = out;
    return 0;
}

static int
join_args(Loops *l, NodeId first, NodeId second)
{
    Node *into = graph_node(l->g, first);
    const Node *from = graph_node(l->g, second);
    const Region *body = body_of(l, second);
    size_t room = sizeof(NodeId) * (size_t)(into->nargs + from->nargs);
    NodeId *args = arena_alloc(l->g->arena, room);
    if (args == NULL) return -1;
    memcpy(args, into->args, sizeof(NodeId) * (size_t)into->nargs);
    for (int k = 3; k < from->nargs; k++)
        if (is_new(l, body->params.at[k - 2])) args[into->nargs++] = from->args[k];
    into->args = args;
    return 0;
}

/* The results of the second loop are those of the one that has become of both. */
static void
join_results(Loops *l, NodeId first, NodeId second, NodeId *instead)
{
    const Region *body = body_of(l, first), *before = body_of(l, second);
    for (int i = 1; i < before->params.len; i++) {
        NodeId result = result_of_loop(l->g, second, i - 1);
        if (result == NO_NODE) continue;
        int index = index_of(body, l->number[before->params.at[i]]);
        NodeId known = result_of_loop(l->g, first, index);
        if (known != NO_NODE) {
            instead[result] = known;
            continue;
        }
        graph_node(l->g, result)->args[0] = first;
        graph_node(l->g, result)->attrs.index = index;
    }
}

/* Puts what is needed early before the first loop, and takes the second one away. */
static int
place(Loops *l, NodeId first, NodeId second)
{
    Region *top = &l->g->regions.at[0], out = *top;
    memset(&out.nodes, 0, sizeof out.nodes);
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        bool moved = id == second;
        for (int k = 0; k < l->early.len; k++) {
            moved |= l->early.at[k] == id;
            if (id == first && VEC_PUSH(l->g->arena, &out.nodes, l->early.at[k]) < 0) return -1;
        }
        if (!moved && VEC_PUSH(l->g->arena, &out.nodes, id) < 0) return -1;
    }
    *top = out;
    for (int i = 0; i < top->nodes.len; i++) l->place[top->nodes.at[i]] = i + 1;
    return 0;
}

/* ANSWER_YES: the second loop is done with the first one. */
static Answer
join(Loops *l, NodeId first, NodeId second, NodeId *instead)
{
    NodeId loops[2] = {first, second};
    const Region *body = body_of(l, first), *other = body_of(l, second);
    if (!same_bounds(l, graph_node(l->g, first), graph_node(l->g, second)))
        return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    if (has_regions(l, body) || has_regions(l, other)) return ANSWER_NO;
    if (number_loops(l, loops) < 0) return ANSWER_ERROR;
    if (!repeats(l, other) || !are_numbers(l, second)) return ANSWER_NO;
    Answer early = all_early(l, second, l->place[first]);
    if (early != ANSWER_YES) {
        for (int i = 0; i < l->g->regions.at[0].nodes.len; i++)
            l->place[l->g->regions.at[0].nodes.at[i]] = i + 1;
        return early;
    }
    if (join_args(l, first, second) < 0 ||
        join_bodies(l, &l->g->regions.at[graph_node(l->g, first)->region[0]], other) < 0)
        return ANSWER_ERROR;
    join_results(l, first, second, instead);
    return place(l, first, second) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

int
pass_loops(Graph *g)
{
    Loops l = {.g = g, .number = graph_same(g)};
    NodeId *instead = graph_same(g);
    VEC(NodeId) loops = {0};
    bool changed = false;
    l.place = arena_alloc(g->arena, sizeof(int32_t) * (size_t)(g->nodes.len + 1));
    if (l.number == NULL || instead == NULL || l.place == NULL) return -1;
    memset(l.place, 0, sizeof(int32_t) * (size_t)g->nodes.len);
    for (int i = 0; i < g->regions.at[0].nodes.len; i++) {
        NodeId id = g->regions.at[0].nodes.at[i];
        l.place[id] = i + 1;
        if (graph_node(g, id)->op == OP_loop && VEC_PUSH(g->arena, &loops, id) < 0) return -1;
    }
    for (int i = 1; i < loops.len; i++)
        for (int k = 0; k < i && l.compared < MOST_COMPARED; k++) {
            Answer answer = join(&l, loops.at[k], loops.at[i], instead);
            if (answer == ANSWER_ERROR) return -1;
            if (answer == ANSWER_NO) continue;
            changed = true;
            memmove(&loops.at[i], &loops.at[i + 1], sizeof(NodeId) * (size_t)(--loops.len - i));
            i--;
            break;
        }
    if (!changed) return 0;
    graph_replace(g, instead, l.g->nodes.len);
    return pass_dce(g);
}
