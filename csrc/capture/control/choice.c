/* One of two objects: which of them it is, the plan's own condition tells.

   Where the arms of a branch leave other objects, nothing is copied and nothing is made twice:

     a V_CHOICE    which object it is: made into BUILD_CHOOSE where it leaves, so that `f(x) is x`
                   where it is x, and so that a tuple, a list or an attribute gets the very object
     an OP_choose  of arrays of the same type: the memory of the one or of the other, to compute
   with

   An array that was chosen is a V_NODE of the second with the first in its `leaves_as`.  Other
   objects, arrays of other types among them, are a V_CHOICE alone, which can be kept and given
   away; where more is asked of it, the branch ends the graph instead.

   What an arm made has a way out of it (arm_leaves): numbers and memory are results of the cond
   whose other arm leaves a zero, or an `empty` that is never touched; views are made anew behind
   the branch; containers are made there with what they hold.

   Neither the choice nor what it is of is written afterwards, nor asked for its base or its flags:
   Interp.aliased lists their memory, and the branch ends the graph where it is touched so. */
#include "merge.h"

/* ---- values that leave an arm ---- */

static Value *
left_as(const Merge *m, int which, const Value *value, int storage)
{
    for (int i = 0; i < m->left.len; i++) {
        const Left *left = &m->left.at[i];
        if (left->arm == which && left->value == value && left->storage == storage)
            return left->out;
    }
    return NULL;
}

static Answer
leave_as(Merge *m, int which, const Value *value, int storage, Value *out)
{
    Left left = {.arm = which, .value = value, .storage = storage, .out = out};
    return VEC_PUSH(m->in->arena, &m->left, left) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static bool
is_array(const Merge *m, const Value *value)
{
    return value_is_array(m->in, value);
}

bool
arm_has_left(const Merge *m, int which, const Value *value)
{
    if (left_as(m, which, value, -1) != NULL) return true;
    if (!is_array(m, value)) return false;
    int storage = storage_find(m->in, graph_node(m->in->graph, value->node)->storage);
    return storage >= 0 && left_as(m, which, NULL, storage) != NULL;
}

Answer
arm_left_as(Merge *m, int which, const Value *value, Value *out)
{
    int storage = storage_of(m->in, value->node);
    if (storage < 0) return ANSWER_ERROR;
    Answer answer = leave_as(m, which, value, -1, out);
    return answer == ANSWER_YES ? leave_as(m, which, NULL, storage, out) : answer;
}

Value *
choice_zero(Interp *in, const Type *type)
{
    PyObject *zero = NULL;
    if (type->form == FORM_PYTHON) {
        switch ((DType)type->dtype) {
        case DT_BOOL: zero = Py_NewRef(Py_False); break;
        case DT_I64: zero = PyLong_FromLong(0); break;
        case DT_F64: zero = PyFloat_FromDouble(0); break;
        default: zero = PyComplex_FromDoubles(0, 0); break;
        }
        return value_const_new(in, zero);
    }
    PyObject *dtype = array_dtype_object((DType)type->dtype);
    zero = dtype != NULL ? PyObject_CallMethod(dtype, "type", "i", 0) : NULL;
    Py_XDECREF(dtype);
    return value_const_new(in, zero);
}

static Answer
leave_number(Merge *m, int which, Value *number, Value **out)
{
    Interp *in = m->in;
    const Type *type = &graph_node(in->graph, number->node)->type;
    if (type->form != FORM_PYTHON && type->form != FORM_SCALAR) return ANSWER_NO;
    Value *other = choice_zero(in, type);
    NodeId nodes[2];
    if (other == NULL) return ANSWER_ERROR;
    Answer answer = merge_node(m, m->arm[which], number, &nodes[which]);
    if (answer == ANSWER_YES) answer = merge_node(m, m->arm[1 - which], other, &nodes[1 - which]);
    if (answer == ANSWER_YES && !type_same_layout(&graph_node(in->graph, nodes[0])->type,
                                                  &graph_node(in->graph, nodes[1])->type))
        answer = ANSWER_NO;
    if (answer == ANSWER_YES) answer = merge_result(m, nodes, out);
    if (answer != ANSWER_YES || number->leaves_as == NULL || number->leaves_as->kind != V_CHOICE)
        return answer;
    return arm_leaves(m, which, number->leaves_as, &(*out)->leaves_as);
}

/* Memory that the arm made, with its contents at the arm's end. */
static Answer
leave_memory(Merge *m, int which, int storage, Value **out)
{
    Interp *in = m->in;
    if ((*out = left_as(m, which, NULL, storage)) != NULL) return ANSWER_YES;
    NodeId nodes[2];
    nodes[which] = in->memory.storages.at[storage].version;
    Type type = graph_node(in->graph, nodes[which])->type;
    if (type.form != FORM_ARRAY || !type_is_compact(in->graph, &type)) return ANSWER_NO;
    nodes[1 - which] = graph_add(in->graph, m->arm[1 - which], OP_empty, 0, NULL, &type, NULL);
    if (nodes[1 - which] == NO_NODE) return ANSWER_ERROR;
    Answer answer = merge_result(m, nodes, out);
    return answer == ANSWER_YES ? leave_as(m, which, NULL, storage, *out) : answer;
}

static Answer
wait_for(Merge *m, Op op, int nargs, Value *const *args, const Type *type, Value **out)
{
    Waiting waiting = {.op = op, .value = value_new(m->in, V_NODE), .type = *type};
    if (waiting.value == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nargs; i++) waiting.args[i] = args[i];
    *out = waiting.value;
    (*out)->guarded = (*out)->pinned = true;
    return VEC_PUSH(m->in->arena, &m->waiting, waiting) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer wait_for_choice(Merge *m, Value *test, Value *if_so, Value *if_not, const Type *type,
                              Value **out);

static bool
is_root(const Merge *m, NodeId node)
{
    return graph_node(m->in->graph, node)->storage == node;
}

/* The chosen array whose memory `array` shows; NULL: there is none. */
static Value *
chosen_root(const Interp *in, NodeId root)
{
    for (int i = 0; i < in->memory.chosen.len; i++)
        if (in->memory.chosen.at[i]->node == root) return in->memory.chosen.at[i];
    return NULL;
}

/* An array that the arm made: one with memory of its own, or a view. */
static Answer
leave_array(Merge *m, int which, Value *array, Value **out)
{
    Interp *in = m->in;
    if (window_of(in, array->node) != NULL) return ANSWER_NO;
    int storage = storage_of(in, array->node);
    if (storage < 0) return ANSWER_ERROR;
    NodeId root = in->memory.storages.at[storage].root;
    Type type = graph_node(in->graph, array->node)->type;
    Value *memory, *chosen = chosen_root(in, root);
    Answer answer = ANSWER_YES;
    if (array->leaves_as != NULL) {
        Value *choice;
        answer = arm_leaves(m, which, array->leaves_as, &choice);
        if (answer != ANSWER_YES) return answer;
        return wait_for_choice(m, choice->items[0], choice->items[1], choice->items[2], &type, out);
    }
    bool outer = root < m->first[0] || op_info(graph_node(in->graph, root)->op)->kind == KIND_INPUT;
    if (outer) {
        if ((memory = value_node(in, root)) == NULL) return ANSWER_ERROR;
    } else {
        answer = chosen != NULL ? arm_leaves(m, which, chosen, &memory)
                                : leave_memory(m, which, storage, &memory);
        if (answer != ANSWER_YES) return answer;
        if (is_root(m, array->node)) {
            *out = memory;
            return ANSWER_YES;
        }
    }
    Op op = graph_view_is_readonly(in->graph, array->node) ? OP_broadcast : OP_as_strided;
    return wait_for(m, op, 1, &memory, &type, out);
}

static Answer
leave_items(Merge *m, int which, Value *container, Value **out)
{
    if (container->core != NULL || container->box != NULL || container->attributes != NULL)
        return ANSWER_NO;
    for (int i = 0; i < m->pairs.len; i++) {
        const Pair *pair = &m->pairs.at[i];
        *out = pair->merged;
        if ((which == 0 ? pair->x : pair->y) == container) return ANSWER_YES;
    }
    *out = value_sequence(m->in, container->kind, container->nitems, container->items);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->type = container->type;
    bool keeps = container->kind == V_CHOICE || container->kind == V_PURE;
    (*out)->object = keeps ? container->object : NULL;
    (*out)->position = container->position;
    Answer answer = leave_as(m, which, container, -1, *out);
    for (int i = 0; i < container->nitems && answer == ANSWER_YES; i++) {
        Value *item = value_item(m->in, container, i);
        answer = item == NULL ? ANSWER_ERROR : arm_leaves(m, which, item, &(*out)->items[i]);
    }
    return answer;
}

/* ---- by kind: column `leave` of value_kinds.def ---- */

static bool
is_made_in_arm(const Merge *m, const Value *value)
{
    return value->source == NO_SOURCE && value->serial >= m->made;
}

static Answer
leave_itself(Merge *Py_UNUSED(m), int Py_UNUSED(which), Value *value, Value **out)
{
    *out = value;
    return ANSWER_YES;
}

static Answer
leave_node(Merge *m, int which, Value *value, Value **out)
{
    if (merge_is_outer(m, value)) return leave_itself(m, which, value, out);
    Answer answer =
        is_array(m, value) ? leave_array(m, which, value, out) : leave_number(m, which, value, out);
    return answer == ANSWER_YES ? leave_as(m, which, value, -1, *out) : answer;
}

static Answer
leave_parts(Merge *m, int which, Value *value, Value **out)
{
    return is_made_in_arm(m, value) ? leave_items(m, which, value, out)
                                    : leave_itself(m, which, value, out);
}

static Answer
leave_tuple(Merge *m, int which, Value *value, Value **out)
{
    return value->object != NULL ? leave_itself(m, which, value, out)
                                 : leave_parts(m, which, value, out);
}

static Answer
leave_if_outer(Merge *m, int which, Value *value, Value **out)
{
    return is_made_in_arm(m, value) ? ANSWER_NO : leave_itself(m, which, value, out);
}

static Answer (*const leavers[])(Merge *, int, Value *, Value **) = {
#define KIND(name, exact, type, describe, known, truth, iterate, next, length, contains,           \
             subscript, attribute, store, call, build, merges, leave, parts)                       \
    [V_##name] = leave,
#include "../core/value_kinds.def"
};

Answer
arm_leaves(Merge *m, int which, Value *value, Value **out)
{
    if ((*out = left_as(m, which, value, -1)) != NULL) return ANSWER_YES;
    return leavers[value->kind] ? leavers[value->kind](m, which, value, out) : ANSWER_NO;
}

/* ---- choosing ---- */

static Answer
wait_for_choice(Merge *m, Value *test, Value *if_so, Value *if_not, const Type *type, Value **out)
{
    Value *args[3] = {test, if_so, if_not};
    Type plain = *type;
    plain.offset = NO_SIZE;
    Answer answer = wait_for(m, OP_choose, 3, args, &plain, out);
    if (answer != ANSWER_YES) return answer;
    (*out)->leaves_as = choice_new(m->in, test, if_so, if_not);
    return (*out)->leaves_as == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Two arrays of one type, both writeable or both not; their type in *out. */
static Answer
alike(Merge *m, Value *const both[2], Type *type)
{
    Graph *g = m->in->graph;
    for (int arm = 0; arm < 2; arm++) {
        NodeId node;
        if (!is_array(m, both[arm])) return ANSWER_NO;
        Answer answer = merge_node(m, m->arm[arm], both[arm], &node);
        if (answer != ANSWER_YES) return answer;
        if (graph_view_is_readonly(g, node)) return ANSWER_NO;
        if (arm == 1 && !type_same_layout(type, &graph_node(g, node)->type)) return ANSWER_NO;
        *type = graph_node(g, node)->type;
        if (type_is_measured(m->in, type)) return ANSWER_NO;
    }
    return ANSWER_YES;
}

Answer
merge_choice(Merge *m, Value *x, Value *y, Value **out)
{
    Interp *in = m->in;
    Value *both[2] = {x, y};
    Type type;
    if (in->region != m->outer || in->loop != NULL) return ANSWER_NO;
    Answer same = alike(m, both, &type);
    if (same == ANSWER_ERROR) return same;
    for (int arm = 0; arm < 2; arm++) {
        Answer answer = arm_leaves(m, arm, both[arm], &both[arm]);
        if (answer != ANSWER_YES) return answer;
    }
    if (same == ANSWER_YES) return wait_for_choice(m, m->test, both[0], both[1], &type, out);
    if ((*out = choice_new(in, m->test, both[0], both[1])) == NULL) return ANSWER_ERROR;
    (*out)->object = (PyObject *)m->d->code;
    (*out)->position = m->number;
    return ANSWER_YES;
}

static int
note_chosen(Merge *m, NodeId node)
{
    int number = storage_of(m->in, node);
    if (number < 0) return -1;
    Aliased a = {
        .root = m->in->memory.storages.at[number].root, .code = m->d->code, .number = m->number};
    return VEC_PUSH(m->in->arena, &m->in->memory.aliased, a);
}

Answer
choice_finish(Merge *m, const Waiting *w)
{
    Interp *in = m->in;
    NodeId args[3];
    int nargs = w->op == OP_choose ? 3 : 1;
    for (int i = 0; i < nargs; i++) {
        Answer answer = value_as_sized_node(in, w->args[i], &args[i]);
        if (answer != ANSWER_YES) return answer;
    }
    w->value->node = graph_add(in->graph, in->region, w->op, nargs, args, &w->type, NULL);
    if (w->value->node == NO_NODE) return ANSWER_ERROR;
    if (w->op != OP_choose) return ANSWER_YES;
    return VEC_PUSH(in->arena, &in->memory.chosen, w->value) < 0 ||
                   note_chosen(m, w->value->node) < 0 || note_chosen(m, w->args[1]->node) < 0 ||
                   note_chosen(m, w->args[2]->node) < 0
               ? ANSWER_ERROR
               : ANSWER_YES;
}

/* ---- effects of the arms ---- */

Answer
arm_condition(Merge *m, int which, Value *when, Value *inner, Value **out)
{
    *out = when;
    if (inner == NULL) return ANSWER_YES;
    if (inner->kind != V_NODE) return arm_leaves(m, which, inner, out);
    return leave_number(m, which, inner, out);
}

/* Adds the effects of arm `which` under the condition `when`. */
static Answer
leave_effects(Merge *m, int which, const World *arm, Value *when)
{
    for (int i = 0; i < arm->neffects; i++) {
        Effect effect = arm->effects[i];
        Answer answer = ANSWER_YES;
        for (int k = 0; k < effect.nargs && answer == ANSWER_YES; k++)
            answer = arm_leaves(m, which, effect.args[k], &effect.args[k]);
        if (answer == ANSWER_YES) answer = arm_condition(m, which, when, effect.when, &effect.when);
        if (answer != ANSWER_YES) return answer;
        if (VEC_PUSH(m->in->arena, &m->in->writes.effects, effect) < 0) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

Answer
merge_effects(Merge *m, const World arms[2])
{
    Value *when[2] = {m->test, NULL};
    if (arms[1].neffects > 0) {
        when[1] = scalar_emit(m->in, OP_logical_not, DT_BOOL, 1, &m->test, NULL);
        if (when[1] == NULL) return ANSWER_ERROR;
    }
    Answer answer = leave_effects(m, 0, &arms[0], when[0]);
    return answer == ANSWER_YES ? leave_effects(m, 1, &arms[1], when[1]) : answer;
}

/* ---- text ---- */

/* (if_not, if_so)[test], when the plan commits: it cannot raise. */
static Value *
choose_object(Interp *in, Value *if_so, Value *if_not, Value *test)
{
    Value *both[2] = {if_not, if_so}, *args[2] = {value_sequence(in, V_TUPLE, 2, both), test};
    PyObject *getitem = module_kept(in, "operator", "getitem");
    Value *chosen = getitem && args[0] ? value_sequence(in, V_PURE, 2, args) : NULL;
    if (chosen != NULL) chosen->object = getitem;
    return chosen;
}

static bool
is_text(const Value *value)
{
    return value->kind == V_CONST && PyUnicode_CheckExact(value->object);
}

static Answer
choose_text(Merge *m, Value *if_so, Value *if_not, Value *test, Value **out)
{
    *out = choose_object(m->in, if_so, if_not, test);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->type = &PyUnicode_Type;
    return ANSWER_YES;
}

/* A text that is chosen inside arm `which`; its conditions become results of the branch. */
static Answer
text_of_arm(Merge *m, int which, Value *text, Value **out)
{
    Interp *in = m->in;
    *out = text;
    if (is_text(text)) return ANSWER_YES;
    PyObject *getitem = module_kept(in, "operator", "getitem");
    if (getitem == NULL) return ANSWER_ERROR;
    if (text->kind != V_PURE || text->object != getitem || text->nitems != 2 ||
        text->items[0]->kind != V_TUPLE || text->items[0]->nitems != 2)
        return ANSWER_NO;
    Value *const *texts = text->items[0]->items, *test = text->items[1], *chosen[2];
    Answer answer = ANSWER_YES;
    for (int i = 0; i < 2 && answer == ANSWER_YES; i++)
        answer = text_of_arm(m, which, texts[i], &chosen[i]);
    if (answer == ANSWER_YES && !merge_is_outer(m, test)) {
        Value *other = value_const(in, Py_False), *inner = test;
        if (other == NULL) return ANSWER_ERROR;
        answer = merge_value(m, which == 0 ? inner : other, which == 0 ? other : inner, &test);
    }
    return answer == ANSWER_YES ? choose_text(m, chosen[1], chosen[0], test, out) : answer;
}

Answer
merge_texts(Merge *m, Value *x, Value *y, Value **out)
{
    Value *if_so, *if_not;
    Answer answer = text_of_arm(m, 0, x, &if_so);
    if (answer == ANSWER_YES) answer = text_of_arm(m, 1, y, &if_not);
    return answer == ANSWER_YES ? choose_text(m, if_so, if_not, m->test, out) : answer;
}

bool
choice_is_text(const Value *value)
{
    return is_text(value) || (value->kind == V_PURE && value->items[0]->kind == V_TUPLE);
}
