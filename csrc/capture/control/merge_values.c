/* Two values that the arms of a branch left in one place, as one value behind it.

   A value that is the same stays; scalars that were there before the fork are chosen by a `where`;
   other numbers and arrays become results of a `cond`; containers made or changed in the arms are
   merged item by item.  Numbers of different classes are a number whose class only the run tells
   (numbers/loose.c), or in a kept loop carry a flag (loop_either.c). */
#include "merge.h"

static Answer merge_loose(Merge *m, Value *x, Value *y, Value **out);

bool
merge_is_outer(const Merge *m, const Value *value)
{
    if (value->kind == V_CONST) return true;
    return value->node < m->first[0] ||
           op_info(graph_node(m->in->graph, value->node)->op)->kind == KIND_INPUT;
}

bool
merge_same_constant(const Value *x, const Value *y)
{
    if (x->object == y->object) return true;
    if (Py_TYPE(x->object) != Py_TYPE(y->object)) return false;
    if (PyFloat_CheckExact(x->object)) {
        double a = PyFloat_AS_DOUBLE(x->object), b = PyFloat_AS_DOUBLE(y->object);
        return memcmp(&a, &b, sizeof(a)) == 0;
    }
    if (!PyLong_CheckExact(x->object) && !PyUnicode_CheckExact(x->object)) return false;
    return PyObject_RichCompareBool(x->object, y->object, Py_EQ) == 1;
}

Answer
merge_node(Merge *m, RegionId region, Value *value, NodeId *out)
{
    Interp *in = m->in;
    in->region = region;
    /* A symbolic scalar that has become known may have its node in an arm. */
    Value *fresh = value;
    if (value->kind == V_CONST && (fresh = value_const(in, value->object)) == NULL)
        return ANSWER_ERROR;
    Answer answer = value_as_sized_node(in, fresh, out);
    in->region = m->outer;
    return answer;
}

Answer
merge_result(Merge *m, const NodeId *nodes, Value **out)
{
    Arena *arena = m->in->arena;
    Waiting waiting = {.op = OP_result, .index = m->result[0].len};
    *out = waiting.value = value_new(m->in, V_NODE);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->guarded = (*out)->pinned = true;
    return VEC_PUSH(arena, &m->result[0], nodes[0]) < 0 ||
                   VEC_PUSH(arena, &m->result[1], nodes[1]) < 0 ||
                   VEC_PUSH(arena, &m->waiting, waiting) < 0
               ? ANSWER_ERROR
               : ANSWER_YES;
}

/* A number that one arm made, where the other arm's number exists as an object already. */
static Answer
keep_held(Merge *m, Value *number, Value *x, Value *y)
{
    Value *both[2] = {x, y};
    if (branch_holds(x) == branch_holds(y) && !branch_holds(x)) return ANSWER_YES;
    for (int arm = 0; arm < 2; arm++) {
        Answer answer = arm_leaves(m, arm, both[arm], &both[arm]);
        if (answer != ANSWER_YES) return answer;
    }
    number->leaves_as = choice_new(m->in, m->test, both[0], both[1]);
    return number->leaves_as == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* An int in the code, such as the 0 that a sum begins with, and NumPy's float. */
static bool
int_and_float(const Graph *g, NodeId number, NodeId other)
{
    const Node *node = graph_node(g, number);
    const Type *type = &graph_node(g, other)->type;
    return type->dtype == DT_F64 && type->form == FORM_SCALAR && loop_const_fits(node, DT_F64);
}

/* Python's int, and NumPy's of whatever dtype. */
static bool
int_and_int(const Graph *g, NodeId number, NodeId other)
{
    const Node *node = graph_node(g, number);
    const Type *type = &graph_node(g, other)->type;
    DType dtype = (DType)type->dtype;
    return node->type.dtype == DT_I64 && node->type.form == FORM_PYTHON &&
           type->form == FORM_SCALAR && dtype_is_integer(dtype) &&
           (node->op != OP_const || loop_const_fits(node, dtype));
}

/* The same number as Python's and as NumPy's: loop_either.c. */
static bool
only_classes_differ(const Graph *g, const NodeId *nodes)
{
    const Type *a = &graph_node(g, nodes[0])->type, *b = &graph_node(g, nodes[1])->type;
    for (int k = 0; k < 2; k++)
        if (int_and_float(g, nodes[k], nodes[1 - k]) || int_and_int(g, nodes[k], nodes[1 - k]))
            return true;
    return a->dtype == b->dtype && (a->dtype == DT_F64 || a->dtype == DT_BOOL) &&
           a->form != b->form && (a->form == FORM_PYTHON || a->form == FORM_SCALAR) &&
           (b->form == FORM_PYTHON || b->form == FORM_SCALAR);
}

static Answer
as_scalars(Merge *m, bool outer, NodeId *nodes)
{
    Graph *g = m->in->graph;
    for (int arm = 0; arm < 2; arm++) {
        Type type = graph_node(g, nodes[arm])->type;
        if (type.form == FORM_SCALAR) continue;
        if (int_and_int(g, nodes[arm], nodes[1 - arm])) {
            DType dtype = (DType)graph_node(g, nodes[1 - arm])->type.dtype;
            m->in->region = outer ? m->outer : m->arm[arm];
            Answer answer = node_weak(m->in, nodes[arm], dtype, &nodes[arm]);
            m->in->region = m->outer;
            if (answer != ANSWER_YES) return answer;
            continue;
        }
        Op op = type.dtype == graph_node(g, nodes[1 - arm])->type.dtype ? OP_copy : OP_cast;
        type.form = FORM_SCALAR;
        type.dtype = graph_node(g, nodes[1 - arm])->type.dtype;
        nodes[arm] = graph_add(g, outer ? m->outer : m->arm[arm], op, 1, &nodes[arm], &type, NULL);
        if (nodes[arm] == NO_NODE || VEC_PUSH(m->in->arena, &m->in->loop->python, nodes[arm]) < 0)
            return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* Of two of Python's ints, one of which is without a sign, the other as such: it leaves the loop if
   it is negative. */
static int
widen_arm(Merge *m, bool outer, NodeId *nodes)
{
    Graph *g = m->in->graph;
    for (int arm = 0; arm < 2; arm++) {
        Type type = graph_node(g, nodes[arm])->type, wide = graph_node(g, nodes[1 - arm])->type;
        bool ints = type.form == FORM_PYTHON && wide.form == FORM_PYTHON;
        if (!ints || type.dtype != DT_I64 || wide.dtype != DT_U64) continue;
        RegionId region = outer ? m->outer : m->arm[arm];
        nodes[arm] = graph_add(g, region, OP_py_int, 1, &nodes[arm], &wide, NULL);
        if (nodes[arm] == NO_NODE) return -1;
    }
    return 0;
}

Answer
merge_scalars(Merge *m, Value *x, Value *y, Value **out)
{
    Interp *in = m->in;
    bool outer = merge_is_outer(m, x) && merge_is_outer(m, y);
    NodeId nodes[2];
    Answer answer = merge_node(m, outer ? m->outer : m->arm[0], x, &nodes[0]);
    if (answer == ANSWER_YES) answer = merge_node(m, outer ? m->outer : m->arm[1], y, &nodes[1]);
    if (answer != ANSWER_YES) return answer;
    if (in->loop != NULL && widen_arm(m, outer, nodes) < 0) return ANSWER_ERROR;
    bool either = in->loop != NULL && only_classes_differ(in->graph, nodes);
    bool ints = either && (int_and_float(in->graph, nodes[0], nodes[1]) ||
                           int_and_float(in->graph, nodes[1], nodes[0]));
    if (either && (answer = as_scalars(m, outer, nodes)) != ANSWER_YES) return answer;
    Type type = graph_node(in->graph, nodes[0])->type;
    if (!type_same_layout(&type, &graph_node(in->graph, nodes[1])->type))
        return merge_loose(m, x, y, out);
    if (!outer) {
        answer = merge_result(m, nodes, out);
        if (answer == ANSWER_YES) {
            m->waiting.at[m->waiting.len - 1].either = either;
            m->waiting.at[m->waiting.len - 1].ints = ints;
        }
        return answer == ANSWER_YES ? keep_held(m, *out, x, y) : answer;
    }
    NodeId args[3] = {m->condition, nodes[0], nodes[1]};
    NodeId node = graph_add(in->graph, m->outer, OP_where, 3, args, &type, NULL);
    if (node == NO_NODE || branch_note(in, node, m->d->code, m->number) < 0) return ANSWER_ERROR;
    if (either && loop_note_either(in, in->loop, node, ints) < 0) return ANSWER_ERROR;
    *out = value_node(in, node);
    if (*out == NULL) return ANSWER_ERROR;
    return branch_keeps(in, *out, x, y, m->test);
}

/* Two arrays, each made in its arm and not shared: one result with memory of its own. */
static Answer
merge_made(Merge *m, Value *x, Value *y, Value **out)
{
    Interp *in = m->in;
    Value *both[2] = {x, y};
    NodeId nodes[2];
    for (int arm = 0; arm < 2; arm++) {
        Answer answer = merge_node(m, m->arm[arm], both[arm], &nodes[arm]);
        if (answer != ANSWER_YES) return answer;
        NodeId root = graph_node(in->graph, both[arm]->node)->storage;
        if (merge_is_outer(m, both[arm]) ||
            graph_node(in->graph, nodes[arm])->storage != nodes[arm] ||
            op_info(graph_node(in->graph, root)->op)->kind == KIND_CHOICE ||
            branch_find_aliased(in, nodes[arm]) != NULL || arm_has_left(m, arm, both[arm]))
            return ANSWER_NO;
    }
    const Type *type = &graph_node(in->graph, nodes[0])->type;
    if (!type_same_layout(type, &graph_node(in->graph, nodes[1])->type) ||
        !type_is_compact(in->graph, type))
        return ANSWER_NO;
    Answer answer = merge_result(m, nodes, out);
    for (int arm = 0; arm < 2 && answer == ANSWER_YES; arm++)
        answer = arm_left_as(m, arm, both[arm], *out);
    return answer;
}

static Answer
merge_arrays(Merge *m, Value *x, Value *y, Value **out)
{
    Answer answer = merge_made(m, x, y, out);
    return answer == ANSWER_NO ? merge_choice(m, x, y, out) : answer;
}

/* Was it made in an arm, and does it share no memory with anything else? */
static bool
is_made(const Merge *m, const Value *value)
{
    return value->source == NO_SOURCE && value->serial >= m->made;
}

/* The items of such values are objects of the program; those of others are parts that capture
   reads. */
static bool
takes_any(ValueKind kind)
{
    return kind == V_TUPLE || kind == V_LIST || kind == V_DICT || kind == V_CELL ||
           kind == V_INSTANCE || kind == V_OBJECT;
}

Answer
merge_items(Merge *m, const State *x, const State *y, Value **items)
{
    if (x->nitems != y->nitems || x->kind != y->kind || x->position != y->position ||
        x->kind == V_SET || (x->kind == V_ITER && x->of != y->of))
        return ANSWER_NO;
    bool pairs = x->kind == V_DICT || x->kind == V_INSTANCE || x->kind == V_OBJECT;
    for (int i = 0; i < x->nitems; i++) {
        Value *a = x->items ? x->items[i] : NULL, *b = y->items ? y->items[i] : NULL;
        items[i] = a;
        if (a == b) continue;
        if (a == NULL || b == NULL) return ANSWER_NO;
        if (pairs && i % 2 == 0 && a->object != b->object) return ANSWER_NO;
        Answer answer = merge_value(m, a, b, &items[i]);
        if (answer != ANSWER_YES) return answer;
        if (items[i]->kind == V_CHOICE && !takes_any(x->kind)) return ANSWER_NO;
    }
    return ANSWER_YES;
}

static bool
same_kind_of_object(const Merge *m, const Value *x, const Value *y)
{
    if (x->kind != y->kind || x->type != y->type || x->nitems != y->nitems) return false;
    if ((x->of == NULL) != (y->of == NULL) || x->core != NULL || y->core != NULL || x->box ||
        y->box || x->exception != NULL || y->exception != NULL)
        return false;
    if (x->kind == V_PURE && PyObject_RichCompareBool(x->object, y->object, Py_EQ) != 1)
        return false;
    if (x->name != y->name && (x->name == NULL || y->name == NULL || strcmp(x->name, y->name) != 0))
        return false;
    if (x->kind == V_FUNCTION)
        return x->object == y->object && x->globals_of == y->globals_of &&
               x->builtins == y->builtins;
    return m->in->kinds[x->kind].merges;
}

/* Is it a tuple that a kept loop has read of a list?  It is numbers, whichever object it was. */
static bool
is_loop_item(const Merge *m, const Value *value)
{
    const Loop *loop = m->in->loop;
    for (int i = 0; loop != NULL && value->kind == V_TUPLE && i < loop->items.len; i++)
        if (loop->items.at[i].item == value) return true;
    return false;
}

static Answer
merge_containers(Merge *m, Value *x, Value *y, Value **out)
{
    Interp *in = m->in;
    bool tuple = x->kind == V_TUPLE && y->kind == V_TUPLE;
    bool apart = (is_made(m, x) || is_loop_item(m, x)) && (is_made(m, y) || is_loop_item(m, y));
    if (!apart || !same_kind_of_object(m, x, y)) return ANSWER_NO;
    for (int i = 0; i < m->pairs.len; i++)
        if (m->pairs.at[i].x == x || m->pairs.at[i].y == y) return ANSWER_NO;
    if (arm_has_left(m, 0, x) || arm_has_left(m, 1, y)) return ANSWER_NO;
    for (int i = 0; i < x->nitems && tuple; i++)
        if (value_item(in, x, i) == NULL || value_item(in, y, i) == NULL) return ANSWER_ERROR;
    Value *merged = value_sequence(in, x->kind, x->nitems, x->items);
    if (merged == NULL) return ANSWER_ERROR;
    merged->type = x->type;
    merged->name = x->name;
    merged->globals_of = x->globals_of;
    merged->builtins = x->builtins;
    merged->object = x->kind == V_FUNCTION || x->kind == V_PURE ? x->object : NULL;
    Pair pair = {x, y, merged};
    if (VEC_PUSH(in->arena, &m->pairs, pair) < 0) return ANSWER_ERROR;
    *out = merged;
    if (x->of != NULL && y->of != NULL) { /* an instance's __dict__ */
        Answer answer = merge_value(m, x->of, y->of, &merged->of);
        if (answer == ANSWER_YES && merged->of->kind != x->of->kind) answer = ANSWER_NO;
        if (answer != ANSWER_YES) return answer;
    }
    State a = {.kind = x->kind, .nitems = x->nitems, .items = x->items};
    State b = {.kind = y->kind, .nitems = y->nitems, .items = y->items};
    return merge_items(m, &a, &b, merged->items);
}

/* Numbers of different classes, or one and None, from before the branch: only the run tells which
   it is. */
static bool
is_simple(Merge *m, const Value *value)
{
    if (value->kind == V_CONST && value->object == Py_None) return true;
    return (value_is_number(m->in, value) || value_is_loose(m->in, value)) &&
           merge_is_outer(m, value);
}

/* The same for numbers that the arms made. */
static Answer
merge_left_loose(Merge *m, Value *x, Value *y, Value **out)
{
    Value *both[2] = {x, y};
    for (int arm = 0; arm < 2; arm++) {
        if (!is_simple(m, both[arm]) && !value_is_number(m->in, both[arm])) return ANSWER_NO;
        Answer answer = arm_leaves(m, arm, both[arm], &both[arm]);
        if (answer != ANSWER_YES) return answer;
    }
    Waiting waiting = {.op = OP_extern, .args = {m->test, both[0], both[1]}, .name = m->name};
    *out = waiting.value = value_new(m->in, V_NODE);
    return *out == NULL || VEC_PUSH(m->in->arena, &m->waiting, waiting) < 0 ? ANSWER_ERROR
                                                                            : ANSWER_YES;
}

static Answer
choose_loose(Merge *m, Value *pair, Value *test, const char *name, Value **out)
{
    return loose_choice(m->in, pair, test, name, line_at(m->d, m->number), out);
}

Answer
merge_finish_loose(Merge *m, const Waiting *w)
{
    Interp *in = m->in;
    Value *both[2] = {w->args[2], w->args[1]}, *pair = value_sequence(in, V_TUPLE, 2, both), *made;
    Answer answer = pair == NULL ? ANSWER_ERROR : choose_loose(m, pair, w->args[0], w->name, &made);
    if (answer != ANSWER_YES) return answer;
    if (made->kind == V_NODE && branch_note(in, made->node, m->d->code, m->number) < 0)
        return ANSWER_ERROR;
    int serial = w->value->serial;
    *w->value = *made;
    w->value->serial = serial;
    return ANSWER_YES;
}

static Answer
merge_loose(Merge *m, Value *x, Value *y, Value **out)
{
    Interp *in = m->in;
    Value *both[2] = {y, x};
    if (in->region != m->outer) return ANSWER_NO;
    if (!is_simple(m, x) || !is_simple(m, y)) return merge_left_loose(m, x, y, out);
    Value *pair = value_sequence(in, V_TUPLE, 2, both);
    Answer answer = pair == NULL ? ANSWER_ERROR : choose_loose(m, pair, m->test, m->name, out);
    if (answer == ANSWER_YES && (*out)->kind == V_NODE &&
        branch_note(in, (*out)->node, m->d->code, m->number) < 0)
        return ANSWER_ERROR;
    return answer;
}

Answer
merge_value(Merge *m, Value *x, Value *y, Value **out)
{
    Interp *in = m->in;
    *out = x;
    if (x == y) return ANSWER_YES;
    for (int i = 0; i < m->pairs.len; i++)
        if (m->pairs.at[i].x == x && m->pairs.at[i].y == y) {
            *out = m->pairs.at[i].merged;
            return ANSWER_YES;
        }
    if (x->kind == V_CONST && y->kind == V_CONST && merge_same_constant(x, y)) {
        *out = value_const(in, x->object);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    Answer answer;
    bool none = x->object == Py_None || y->object == Py_None;
    if (value_is_number(in, x) && value_is_number(in, y))
        answer = merge_scalars(m, x, y, out);
    else if (value_is_array(in, x) && value_is_array(in, y))
        answer = merge_arrays(m, x, y, out);
    else if (choice_is_text(x) && choice_is_text(y))
        answer = merge_texts(m, x, y, out);
    else if (none || value_is_loose(in, x) || value_is_loose(in, y))
        answer = merge_loose(m, x, y, out);
    else {
        int before = m->pairs.len;
        if ((answer = merge_containers(m, x, y, out)) != ANSWER_NO) return answer;
        m->pairs.len = before; /* nothing leaves as what was begun */
    }
    if (answer == ANSWER_NO) answer = merge_choice(m, x, y, out);
    if (answer != ANSWER_YES) return answer;
    Pair pair = {x, y, *out};
    return VEC_PUSH(in->arena, &m->pairs, pair) < 0 ? ANSWER_ERROR : ANSWER_YES;
}
