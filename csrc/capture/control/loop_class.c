/* The class of a number behind a kept loop that has it as Python's or as NumPy's, according to the
   way that was taken (loop_either.c): the loop carries beside the number whether it is NumPy's, and
   behind it the one or the other is picked.

   In: the loop's nodes, which have been followed; loop->either.  Out: for each such number that is
   asked for a flag, added from the end: of a result of a loop or branch, a result; of what a loop
   carries, one more that it carries; of an operation with Python's numbers, the flag of its
   operand.  Python's number must be of one class itself. */
#include "control.h"

/* What has been met on the way to a flag. */
typedef struct {
    int python;    /* the dtype of Python's number; -1: not met yet */
    bool computes; /* with Python's numbers, or with others of unknown class */
    bool differs;
} Met;

typedef struct {
    NodeId flag; /* NO_NODE: not asked for yet */
    bool done;   /* it was found for a number that the loop carries in an earlier place … */
    Met met;     /* … with all this */
} Flag;

typedef struct {
    Interp *in;
    const Loop *loop;
    Graph *g;
    RegionId outer; /* the region that the loop is in */
    int known;      /* nodes that `flag` has entries for */
    Flag *flag;
    NodeId constant[2];
    Met met; /* for the number that is being looked at */
} Classes;

static const Type flag_type = {.dtype = DT_BOOL, .form = FORM_PYTHON, .offset = NO_SIZE};

/* Places a new node in the region of `anchor`, right behind it. */
static int
place_behind(Classes *c, NodeId anchor, NodeId made)
{
    Graph *g = c->g;
    for (int r = 0; r < g->regions.len; r++) {
        Region *region = &g->regions.at[r];
        for (int i = 0; i < region->nodes.len; i++) {
            if (region->nodes.at[i] != anchor) continue;
            if (VEC_PUSH(g->arena, &region->nodes, made) < 0) return -1;
            memmove(&region->nodes.at[i + 2], &region->nodes.at[i + 1],
                    (size_t)(region->nodes.len - i - 2) * sizeof(NodeId));
            region->nodes.at[i + 1] = made;
            return 0;
        }
    }
    return -1;
}

static NodeId
make_behind(Classes *c, NodeId anchor, Op op, int nargs, const NodeId *args, const Attrs *attrs)
{
    NodeId made = graph_make(c->g, op, nargs, args, &flag_type, attrs);
    return made == NO_NODE || place_behind(c, anchor, made) < 0 ? NO_NODE : made;
}

static void
meet(Classes *c, int python)
{
    if (python < 0) return;
    if (c->met.python >= 0 && c->met.python != python) c->met.differs = true;
    c->met.python = python;
}

/* The number with which the loop begins, of a class that an earlier loop has made. */
static NodeId
flag_of_start(Classes *c, NodeId id)
{
    for (int i = 0; i < c->loop->starts.len; i++) {
        const LoopPick *start = &c->loop->starts.at[i];
        if (start->number->node != id) continue;
        meet(c, start->python);
        return start->is_numpy->node;
    }
    return NO_NODE;
}

/* A number of one class. */
static NodeId
flag_of_known(Classes *c, NodeId id)
{
    const Node *node = graph_node(c->g, id);
    NodeId start = flag_of_start(c, id);
    if (start != NO_NODE) return start;
    for (int i = 0; i < c->loop->python.len; i++)
        if (c->loop->python.at[i] == id) node = graph_node(c->g, node->args[0]);
    if (node->type.form != FORM_PYTHON) return c->constant[1];
    DType own = (DType)graph_node(c->g, id)->type.dtype;
    bool exact =
        node->type.dtype == own || loop_const_fits(node, own) ||
        (node->type.dtype == DT_I64 && dtype_is_integer(own)); /* which it was seen to fit */
    if (!exact) c->met.differs = true;
    meet(c, node->type.dtype);
    return c->constant[0];
}

static NodeId flag_of(Classes *c, NodeId id);

static NodeId
either_flag(Classes *c, NodeId anchor, NodeId condition, NodeId yes, NodeId no)
{
    if (yes == NO_NODE || no == NO_NODE) return NO_NODE;
    NodeId args[3] = {condition != NO_NODE ? condition : yes, yes, no};
    return yes == no ? yes : make_behind(c, anchor, OP_where, 3, args, NULL);
}

/* The loop's `param` carries one more. */
static NodeId
flag_of_param(Classes *c, NodeId loop, NodeId param)
{
    Graph *g = c->g;
    RegionId region = graph_node(g, loop)->region[0];
    int64_t place = graph_node(g, param)->attrs.index;
    NodeId flag = graph_input(g, region, &flag_type);
    if (flag == NO_NODE) return NO_NODE;
    c->flag[param].flag = flag;
    NodeId start = flag_of(c, graph_node(g, loop)->args[place + 2]);
    if (start == NO_NODE) return NO_NODE;
    Node *node = graph_node(g, loop);
    NodeId *args = arena_alloc(g->arena, sizeof(NodeId) * (size_t)(node->nargs + 1));
    if (args == NULL) return NO_NODE;
    memcpy(args, node->args, sizeof(NodeId) * (size_t)node->nargs);
    args[node->nargs++] = start;
    node->args = args;
    int at = g->regions.at[region].results.len;
    if (VEC_PUSH(g->arena, &g->regions.at[region].results, start) < 0) return NO_NODE;
    NodeId next = flag_of(c, g->regions.at[region].results.at[place - 1]);
    g->regions.at[region].results.at[at] = next;
    return next == NO_NODE ? NO_NODE : flag;
}

static NodeId
flag_of_result(Classes *c, NodeId id)
{
    Graph *g = c->g;
    NodeId maker = graph_node(g, id)->args[0];
    const Node *node = graph_node(g, maker);
    int64_t place = graph_node(g, id)->attrs.index;
    Attrs attrs = {0};
    if (node->op == OP_loop) {
        NodeId param = flag_of(c, g->regions.at[node->region[0]].params.at[place + 1]);
        if (param == NO_NODE || graph_node(g, param)->op != OP_input) return param;
        attrs.index = graph_node(g, param)->attrs.index - 1;
    } else {
        NodeId flags[2];
        for (int arm = 0; arm < 2; arm++) {
            RegionId region = graph_node(g, maker)->region[arm];
            flags[arm] = flag_of(c, g->regions.at[region].results.at[place]);
            if (flags[arm] == NO_NODE) return NO_NODE;
        }
        attrs.index = g->regions.at[graph_node(g, maker)->region[0]].results.len;
        for (int arm = 0; arm < 2; arm++) {
            RegionId region = graph_node(g, maker)->region[arm];
            if (VEC_PUSH(g->arena, &g->regions.at[region].results, flags[arm]) < 0) return NO_NODE;
        }
    }
    return make_behind(c, id, OP_result, 1, &maker, &attrs);
}

/* The loop to whose body the param belongs. */
static NodeId
owner_of(const Graph *g, NodeId param)
{
    for (int r = 1; r < g->regions.len; r++)
        for (int i = 0; i < g->regions.at[r].params.len; i++)
            if (g->regions.at[r].params.at[i] == param) return g->regions.at[r].owner;
    return NO_NODE;
}

static NodeId
flag_of_either(Classes *c, NodeId id)
{
    const Node *node = graph_node(c->g, id);
    NodeId args[3] = {NO_NODE, NO_NODE, NO_NODE};
    for (int k = 0; k < node->nargs && k < 3; k++) args[k] = node->args[k];
    switch (op_info(node->op)->kind) {
    case KIND_INPUT: return flag_of_param(c, owner_of(c->g, id), id);
    case KIND_RESULT: return flag_of_result(c, id);
    case KIND_COPY: return flag_of(c, args[0]);
    case KIND_ELEMENT: return flag_of_start(c, id); /* an item of a list that changes */
    default: break;
    }
    if (node->op == OP_cast) return flag_of(c, args[0]);
    if (node->op == OP_where)
        return either_flag(c, id, args[0], flag_of(c, args[1]), flag_of(c, args[2]));
    c->met.computes = true;
    bool first = loop_is_either(c->loop, args[0]),
         second = args[1] != NO_NODE && loop_is_either(c->loop, args[1]);
    if (!first || !second) return flag_of(c, args[first ? 0 : 1]);
    return either_flag(c, id, NO_NODE, flag_of(c, args[0]), flag_of(c, args[1]));
}

/* NO_NODE with the error set. */
static NodeId
flag_of(Classes *c, NodeId id)
{
    if (id < c->known && c->flag[id].flag != NO_NODE) {
        const Flag *found = &c->flag[id];
        if (found->done) meet(c, found->met.python);
        c->met.computes |= found->done && found->met.computes;
        return found->flag;
    }
    if (!loop_is_either(c->loop, id)) return flag_of_known(c, id);
    NodeId flag = flag_of_either(c, id);
    if (id < c->known) c->flag[id].flag = flag;
    return flag;
}

static int
classes_begin(Classes *c)
{
    c->known = c->g->nodes.len;
    c->flag = arena_alloc(c->in->arena, sizeof(Flag) * (size_t)(c->known + 1));
    if (c->flag == NULL) return -1;
    for (int i = 0; i < c->known; i++) c->flag[i] = (Flag){.flag = NO_NODE};
    for (int i = 0; i < 2; i++) {
        Attrs attrs = {.object = i == 0 ? Py_False : Py_True};
        c->constant[i] = graph_add(c->g, c->outer, OP_const, 0, NULL, &flag_type, &attrs);
        if (c->constant[i] == NO_NODE) return -1;
    }
    return 0;
}

/* What was met applies to all numbers that were on the way: they are of one class, or the loop is
   not kept. */
static void
classes_remember(Classes *c)
{
    for (int i = 0; i < c->known; i++) {
        Flag *flag = &c->flag[i];
        if (flag->flag != NO_NODE && !flag->done) *flag = (Flag){flag->flag, true, c->met};
    }
}

/* The flag of what the loop carries in `place`.  ANSWER_NO: it may be more than two classes. */
static Answer
class_of(Classes *c, NodeId loop, LoopClass *out)
{
    const Region *body = &c->g->regions.at[graph_node(c->g, loop)->region[0]];
    NodeId param = body->params.at[out->place + 1];
    DType dtype = (DType)graph_node(c->g, param)->type.dtype;
    c->met = (Met){.python = -1};
    NodeId flag = flag_of(c, param);
    if (flag == NO_NODE) return ANSWER_ERROR;
    classes_remember(c);
    out->python = c->met.python < 0 ? dtype : (DType)c->met.python;
    out->flag = (int)graph_node(c->g, flag)->attrs.index - 1;
    bool same = out->python == dtype ||
                (out->python == DT_I64 && (dtype_is_integer(dtype) || !c->met.computes));
    return same && !c->met.differs ? ANSWER_YES : ANSWER_NO;
}

Answer
loop_classes(Interp *in, const Loop *loop, NodeId top, int n, LoopClass *classes)
{
    Classes c = {.in = in, .loop = loop, .g = in->graph, .outer = in->region};
    int wanted = 0;
    for (int i = 0; i < n; i++) {
        const Region *body = &c.g->regions.at[graph_node(c.g, top)->region[0]];
        classes[i].flag = -1;
        if (!classes[i].wanted || !loop_is_either(c.loop, body->results.at[classes[i].place]))
            continue;
        if (wanted++ == 0 && classes_begin(&c) < 0) return ANSWER_ERROR;
        Answer answer = class_of(&c, top, &classes[i]);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

Answer
loop_pick_class(Interp *in, Value *number, Value *is_numpy, DType python, Value **out)
{
    Value *both[2] = {NULL, number};
    Op op = python == DT_C128 ? OP_copy : python_conversion(python);
    both[0] = scalar_emit(in, op, python, 1, &number, NULL);
    Value *pair = both[0] != NULL ? value_sequence(in, V_TUPLE, 2, both) : NULL;
    return pair == NULL ? ANSWER_ERROR : loose_choice(in, pair, is_numpy, NULL, 0, out);
}
