/* Lists of numbers, bytes and text from outside that a loop reads at indices that are known only
   when the code runs, or goes through.

     for i in range(1, len(a) + 1): ... a[i - 1] ...

   By itself a list is opened, under guards on its length and on each item that is read, and bytes
   and text are guarded by value.  Where a loop needs more, that is noted (Marks.series), and the
   next attempt has a V_SERIES in its place: an array that is made of the numbers when the plan
   begins (SOURCE_SERIES), of any length.  An item that leaves the graph as an object has to be the
   list's own: such a list is opened after all (Marks.opened).  What else the program does with it
   ends the graph; so an attempt without one is compared with that where it does not reach the end
   (capture.c). */
#include "core.h"

/* Shorter ones, gone through, are few items that differ: each turn may be another kernel. */
enum { LONG = 64 };

bool
series_is_noted(Interp *in, SourceId source)
{
    const Marks *marks = in->attempt.marks;
    if (marks->series.len == 0) return false;
    uint64_t path = source_path_of(in, source);
    bool noted = false;
    for (int i = 0; i < marks->series.len; i++) noted |= marks->series.at[i] == path;
    for (int i = 0; i < marks->opened.len; i++) noted &= marks->opened.at[i] != path;
    return noted;
}

Answer
series_learn(Interp *in, const Value *value)
{
    DType dtype;
    bool fits = value->source != NO_SOURCE && !value->mutated && value->object != NULL &&
                !in->attempt.marks->no_series && series_dtype(value->object, &dtype) &&
                series_is_even(value->object, dtype);
    if (!fits) return ANSWER_NO;
    Marks *marks = in->attempt.learn;
    uint64_t path = source_path_of(in, value->source);
    for (int i = 0; i < marks->series.len; i++)
        if (marks->series.at[i] == path) return ANSWER_NO;
    if (VEC_PUSH(in->attempt.learn_arena, &marks->series, path) < 0) return ANSWER_ERROR;
    marks->had_series = in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

Answer
series_learn_index(Interp *in, const Value *value)
{
    return in->turn != NULL ? series_learn(in, value) : ANSWER_NO;
}

Answer
series_learn_walk(Interp *in, const Value *iterator)
{
    if (iterator->kind != V_ITER || iterator->position != 0) return ANSWER_NO;
    for (int i = 0; i < iterator->nitems && iterator->items != NULL; i++) {
        Answer answer = series_learn_walk(in, iterator->items[i]);
        if (answer != ANSWER_NO) return answer;
    }
    const Value *walked = iterator->generator == NULL ? iterator->walked : NULL;
    if (walked == NULL || walked->kind == V_ITER)
        return walked == NULL ? ANSWER_NO : series_learn_walk(in, walked);
    bool bytes = walked->kind == V_CONST && PyBytes_CheckExact(walked->object);
    bool text = walked->kind == V_CONST && PyUnicode_CheckExact(walked->object) &&
                PyUnicode_GET_LENGTH(walked->object) >= LONG;
    bool list = walked->kind == V_LIST && walked->nitems >= LONG;
    return bytes || text || list ? series_learn(in, walked) : ANSWER_NO;
}

/* ---- items that leave ---- */

/* May it give one of the objects that it is given?  As CPython's long_mod does for a larger number,
   and round, floor and gcd do for some ints. */
static bool
passes_objects(const Node *node)
{
    static const Op ops[] = {OP_where,    OP_cast,     OP_py_int,  OP_py_float,
                             OP_py_item,  OP_py_abs,   OP_py_mod,  OP_py_round_to,
                             OP_py_round, OP_py_floor, OP_py_ceil, OP_py_gcd};
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_CHOICE || kind == KIND_COPY) return true;
    if (kind == KIND_EXTERN)
        return node->type.form == FORM_PYTHON || node->type.form == FORM_OBJECT;
    for (int i = 0; i < COUNT_OF(ops); i++)
        if (node->op == ops[i]) return true;
    return false;
}

typedef struct {
    const Graph *g;
    NodeId *from; /* where a number may come from, without arithmetic */
    bool *seen;   /* by node: it is among them */
    int count;
} Origins;

static void
origins_add(Origins *o, NodeId id)
{
    if (!o->seen[id]) o->from[o->count++] = id;
    o->seen[id] = true;
}

/* The number `carried` of a loop, or result of a branch: what was there before a loop, or what is
   there at an end of its regions, as far as they have been followed. */
static void
origins_add_carried(Origins *o, const Node *owner, int64_t carried)
{
    if (owner->op != OP_cond && 3 + carried < owner->nargs)
        origins_add(o, owner->args[3 + carried]);
    for (int i = 0; i < 2; i++) {
        if (owner->region[i] == NO_REGION || owner->region[i] == 0) continue;
        const Region *region = &o->g->regions.at[owner->region[i]];
        if (carried < region->results.len) origins_add(o, region->results.at[carried]);
    }
}

/* The same of a region's parameter: that of a loop is what it carries, behind the index. */
static void
origins_add_param(Origins *o, NodeId id)
{
    for (int r = 1; r < o->g->regions.len; r++) {
        const Region *region = &o->g->regions.at[r];
        for (int k = 1; k < region->params.len; k++)
            for (NodeId n = 0; region->params.at[k] == id && n < o->g->nodes.len; n++) {
                const Node *owner = graph_node(o->g, n);
                bool is_region = op_info(owner->op)->kind == KIND_REGION;
                if (is_region && owner->region[0] == r) origins_add_carried(o, owner, k - 1);
            }
    }
}

static void
origins_find(Origins *o, NodeId id)
{
    origins_add(o, id);
    for (int at = 0; at < o->count; at++) {
        const Node *node = graph_node(o->g, o->from[at]);
        const Node *of = node->op == OP_result ? graph_node(o->g, node->args[0]) : NULL;
        if (node->op == OP_input)
            origins_add_param(o, o->from[at]);
        else if (of != NULL && op_info(of->op)->kind == KIND_REGION)
            origins_add_carried(o, of, node->attrs.index);
        else if (passes_objects(of != NULL ? of : node))
            for (int k = 0; k < (of != NULL ? of : node)->nargs; k++)
                origins_add(o, (of != NULL ? of : node)->args[k]);
    }
}

int
series_open(Interp *in, const Value *series)
{
    uint64_t path = source_path_of(in, series->source);
    return VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->opened, path);
}

/* The list is opened by the next attempt, or left alone by loops. */
static Answer
open_series(Interp *in, const SeriesItem *item)
{
    Marks *marks = in->attempt.learn;
    if (item->changes)
        marks->no_lists = true;
    else if (VEC_PUSH(in->attempt.learn_arena, &marks->opened, item->path) < 0)
        return ANSWER_ERROR;
    in->attempt.again = true;
    return interp_break(in, BREAK_ITEMS, "an item of a list, as an object");
}

Answer
series_item_leaves(Interp *in, NodeId id)
{
    size_t nodes = (size_t)in->graph->nodes.len;
    if (in->items.len == 0 || graph_node(in->graph, id)->type.rank != 0) return ANSWER_YES;
    Origins o = {.g = in->graph,
                 .from = arena_alloc(in->arena, nodes * sizeof(NodeId)),
                 .seen = arena_alloc(in->arena, nodes)};
    if (o.from == NULL || o.seen == NULL) return ANSWER_ERROR;
    memset(o.seen, false, nodes);
    origins_find(&o, id);
    for (int i = 0; i < in->items.len; i++)
        if (o.seen[in->items.at[i].node]) return open_series(in, &in->items.at[i]);
    return ANSWER_YES;
}
