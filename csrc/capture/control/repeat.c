/* Loops over whole arrays: over a range, over the rows of arrays, or until a value of an array ends
   them.

   Such a loop is a `repeat`, whose body may hold what the top region may hold; the plan runs it
   turn by turn (lower/repeat.c).  When it is tried: repeat_learn.c.  What the body stores to locals
   is carried: numbers, arrays that keep their dtype and layout, places of views (repeat_views.c).
   Arrays are carried as objects.  So what leaves the loop is the very array that Python would
   leave, one from before the loop where no turn made another; therefore it is not written
   afterwards, nor asked for its identity (Interp.memory.aliased).  Locals whose arrays turns write
   keep them (repeat_objects.c).

   1. The body is followed once, with the params of its region in the locals that it reads first.
   2. What the locals then hold are the region's results.  A local that is only stored begins with
      anything of its type.

   A loop whose variable is a number of Python's before it and one of NumPy's after a turn
   (`r = 1.0`, then a norm) is a repeat from its second turn on.

   Whatever does not fit (an effect, a local that changes its type) is learnt: capture starts again,
   without. */
#include "repeat.h"

#include "worth.h"

/* ---- before the body ---- */

/* Is it an array with memory of its own, or one of such arrays?  A view is another object. */
static Answer
owns_memory(Interp *in, NodeId array)
{
    const Graph *g = in->graph;
    Nodes all = {0};
    if (repeat_find_chosen(in, array, &all) < 0) return ANSWER_ERROR;
    for (int i = 0; i < all.len; i++) {
        const Node *node = graph_node(g, all.at[i]);
        bool owns = node->storage == all.at[i] && !graph_view_is_readonly(g, all.at[i]);
        if (node->op != OP_choose && !owns) return ANSWER_NO;
    }
    return ANSWER_YES;
}

/* Can the array be carried?  *node is it. */
static Answer
carried_array(Interp *in, Value *value, NodeId *node)
{
    NodeId now;
    if (value->kind != V_NODE || value_is_opaque(in, value)) return ANSWER_NO;
    TRY(value_as_sized_node(in, value, &now));
    *node = value->node;
    const Node *array = graph_node(in->graph, *node);
    const Type *type = &array->type;
    if (!repeat_carries(in->graph, type)) return ANSWER_NO;
    for (int i = 0; i < type->rank; i++) TRY(length_is_some(in, type->shape[i], 1));
    TRY(owns_memory(in, *node));
    bool input = op_info(array->op)->kind == KIND_INPUT;
    if (now != *node && input) return ANSWER_NO; /* the object has not what is written yet */
    *node = now;
    return ANSWER_YES;
}

static Answer
carried_value(Interp *in, Value *value, NodeId *node)
{
    if (value == NULL || value->kind == V_UNBOUND || value->kind == V_LOST) return ANSWER_NO;
    if (value_is_array(in, value)) return carried_array(in, value, node);
    if (value_is_opaque(in, value)) return ANSWER_NO;
    Answer answer = value_as_unpinned_node(in, value, node);
    if (answer != ANSWER_YES) return answer;
    const Type *type = &graph_node(in->graph, *node)->type;
    return type->form == FORM_PYTHON || type->form == FORM_SCALAR ? ANSWER_YES : ANSWER_NO;
}

static int
carry(Interp *in, Repeat *r, int slot, NodeId first)
{
    return VEC_PUSH(in->arena, &r->args, first) < 0 || VEC_PUSH(in->arena, &r->slots, slot) < 0 ? -1
                                                                                                : 0;
}

static Answer
int_node(Interp *in, int64_t number, NodeId *out)
{
    Value *value = value_const_new(in, PyLong_FromLongLong(number));
    return value == NULL ? ANSWER_ERROR : value_as_unpinned_node(in, value, out);
}

/* Have turns been followed before it? */
static bool
is_under_way(Interp *in, const Repeat *r)
{
    return r->iterator != NULL && loop_is_begun(in, r->iterator);
}

/* What the loop has still to go over. */
static Answer
take_range(Interp *in, Repeat *r)
{
    if (r->iterator == NULL) return ANSWER_YES;
    TRY(loop_range(in, r->iterator, &r->range));
    return value_as_int(in, r->range->items[2], &r->step);
}

/* Start, stop and step; the step is a constant. */
static Answer
add_range(Interp *in, Repeat *r)
{
    static const int64_t endless[3] = {0, INT64_MAX, 1};
    int64_t step = 1;
    if (r->iterator != NULL) step = r->step;
    for (int i = 0; i < 3; i++) {
        NodeId node;
        if (r->iterator != NULL && i < 2)
            TRY(value_as_unpinned_node(in, r->range->items[i], &node));
        else
            TRY(int_node(in, i == 2 ? step : endless[i], &node));
        if (graph_node(in->graph, node)->type.dtype != DT_I64) return ANSWER_NO;
        if (VEC_PUSH(in->arena, &r->args, node) < 0) return ANSWER_ERROR;
    }
    return step != 0 ? ANSWER_YES : ANSWER_NO;
}

/* Is the local's value from before the loop read, in a turn or where there is none? */
static bool
is_read(Interp *in, const Repeat *r, int i)
{
    return r->scan.read_first[i] || (r->scan.read_end[i] && is_under_way(in, r));
}

/* Locals that a turn reads before it stores them. */
static Answer
add_read(Interp *in, Repeat *r)
{
    for (int i = 0; i < r->scan.nslots; i++) {
        NodeId first;
        if (!is_read(in, r, i)) continue;
        if (repeat_object_stays(in, r, r->scan.slot[i])) {
            TRY(repeat_keep_object(in, r, r->scan.slot[i]));
            continue;
        }
        Value *value = slot_load(in, in->top, r->scan.slot[i]);
        Answer view = r->scan.read_after[i] ? ANSWER_NO : repeat_carries_view(in, r, value, &first);
        if (answer_stops(view)) return view;
        if (view == ANSWER_NO) TRY(carried_value(in, value, &first));
        if (carry(in, r, r->scan.slot[i], first) < 0) return ANSWER_ERROR;
    }
    r->nread = r->slots.len;
    return ANSWER_YES;
}

/* A local that is read where the loop makes no turn, and stored in one, needs a turn. */
static Answer
makes_its_turn(Interp *in, const Repeat *r)
{
    bool needs = false, holds = true;
    for (int i = 0; i < r->scan.nslots; i++) needs |= r->scan.read_end[i] && !is_read(in, r, i);
    if (!needs) return ANSWER_YES;
    if (r->iterator == NULL) return ANSWER_NO;
    TRY(loop_makes_a_turn(in, r->iterator, &holds));
    return holds ? ANSWER_YES : ANSWER_NO;
}

/* ---- the body ---- */

/* Neither is to be written, nor is it to be asked which object it is. */
static Answer
note_aliased(Interp *in, const Repeat *r, NodeId array)
{
    const Graph *g = in->graph;
    Nodes all = {0};
    if (graph_node(g, array)->type.form != FORM_ARRAY) return ANSWER_YES;
    if (repeat_find_chosen(in, array, &all) < 0) return ANSWER_ERROR;
    for (int i = 0; i < all.len; i++)
        if (storage_of(in, all.at[i]) < 0 ||
            branch_note(in, graph_node(g, all.at[i])->storage, in->top->decoded->code,
                        r->scan.number) < 0)
            return ANSWER_ERROR;
    return ANSWER_YES;
}

/* What is carried, as a value: the layout of arrays is known. */
static Value *
value_of(Interp *in, NodeId node)
{
    Value *value = node == NO_NODE ? NULL : value_node(in, node);
    if (value != NULL) value->guarded = value->pinned = true;
    return value;
}

/* The params stand for what is carried. */
static Answer
make_params(Interp *in, Repeat *r)
{
    Activation *a = in->top;
    for (int i = 0; i < r->scan.nslots; i++) a->slots[r->scan.slot[i]] = in->unbound;
    for (int i = 0; i < r->nread; i++) {
        NodeId param = repeat_param(in, r, r->args.at[3 + i]);
        Value *value = value_of(in, param);
        if (value == NULL) return ANSWER_ERROR;
        if (repeat_view(r, i) == NULL) a->slots[r->slots.at[i]] = value;
        TRY(note_aliased(in, r, param));
        TRY(note_aliased(in, r, r->args.at[3 + i]));
    }
    repeat_put_objects(in, r);
    return ANSWER_YES;
}

static Answer
follow_turn(Interp *in, Repeat *r, Value *index, Value **leaves)
{
    const LoopShape *shape = r->scan.shape;
    Turn turn = {.shape = r->scan.shape,
                 .of = in->top,
                 .made = in->attempt.values.len,
                 .around = in->turn,
                 .region = r->region};
    RegionId outer = in->region;
    in->region = r->region;
    in->turn = &turn;
    in->top->number = shape->begin + shape->counts;
    r->made = turn.made;
    Answer answer = repeat_make_views(in, r);
    if (answer == ANSWER_YES && shape->counts) answer = loop_item(in, r->iterator, index, &index);
    if (answer == ANSWER_YES && shape->counts && push(in, index) < 0) answer = ANSWER_ERROR;
    if (answer == ANSWER_YES) answer = interp_turn(in);
    in->region = outer;
    in->turn = turn.around;
    *leaves = turn.leaves;
    return answer;
}

/* Does the plan run all of it in each turn alike? */
static bool
is_followed(const Graph *g, RegionId region)
{
    const Region *body = &g->regions.at[region];
    for (int i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->type.device != DEVICE_HOST) return false;
        if (node->op == OP_loop) continue; /* it is one kernel */
        for (int k = 0; k < 2; k++)
            if (node->region[k] != NO_REGION && !is_followed(g, node->region[k])) return false;
    }
    return true;
}

/* Does it compute elements of an array with axes? */
static bool
computes_array(const Graph *g, const Node *node)
{
    switch (op_info(node->op)->kind) {
    case KIND_REDUCTION: return graph_node(g, node->args[0])->type.rank > 0;
    case KIND_MATMUL: return true;
    case KIND_SCATTER: return node->attrs.view->rank > 0;
    case KIND_POINTWISE:
    case KIND_UFUNC:
    case KIND_SCAN:
    case KIND_COPY: return node->type.rank > 0;
    default: return node->op == OP_loop || node->op == OP_repeat || node_is_median(node);
    }
}

/* Steps of a plan cost more than CPython's instructions for a few numbers: arrays make a turn worth
   them, or many numbers, which are one kernel. */
static bool
computes_enough(const Graph *g, RegionId region)
{
    enum { MANY = 32 };
    const Region *body = &g->regions.at[region];
    bool found = body->nodes.len > MANY;
    for (int i = 0; i < body->nodes.len && !found; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        found = computes_array(g, node);
        for (int k = 0; k < 2; k++)
            found = found || (node->region[k] != NO_REGION && computes_enough(g, node->region[k]));
    }
    return found;
}

/* 1. */
static Answer
follow_body(Interp *in, Repeat *r, Value **leaves)
{
    Type index_type = {.dtype = DT_I64, .form = FORM_PYTHON, .offset = NO_SIZE};
    if ((r->region = graph_region(in->graph, NO_NODE)) == NO_REGION) return ANSWER_ERROR;
    NodeId param = graph_input(in->graph, r->region, &index_type);
    if (param != NO_NODE && r->iterator != NULL &&
        range_note(in, param, r->args.at[0], r->args.at[1], r->step) < 0)
        return ANSWER_ERROR;
    Value *index = param == NO_NODE ? NULL : value_node(in, param), *changed;
    World before;
    if (index == NULL || make_params(in, r) != ANSWER_YES || world_save(in, &before) < 0)
        return ANSWER_ERROR;
    TRY(follow_turn(in, r, index, leaves));
    TRY(repeat_find_order(in, r));
    TRY(repeat_take_turned(in, r, &before));
    bool pure = world_is_pure(in, &before, false, &changed) && !world_changed(&before) &&
                in->writes.effects.len == before.neffects;
    bool pays = r->iterator == NULL || computes_enough(in->graph, r->region);
    return pure && pays && is_followed(in->graph, r->region) ? ANSWER_YES : ANSWER_NO;
}

/* ---- behind it ---- */

/* What a carried local begins with that no turn reads: nobody sees it. */
static Answer
any_value(Interp *in, const Type *of, NodeId *out)
{
    Type type = *of;
    type.offset = NO_SIZE;
    if (type.form == FORM_ARRAY)
        *out = graph_add(in->graph, in->region, OP_empty, 0, NULL, &type, NULL);
    else {
        Value *zero = choice_zero(in, &type);
        return zero == NULL ? ANSWER_ERROR : value_as_unpinned_node(in, zero, out);
    }
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
value_in_body(Interp *in, const Repeat *r, Value *value, NodeId *out)
{
    RegionId outer = in->region;
    in->region = r->region;
    Answer answer = carried_value(in, value, out);
    in->region = outer;
    return answer;
}

static Answer
not_carried(Repeat *r, BreakHint hint, const char *why)
{
    r->why = why;
    r->hint = hint;
    return why == NULL ? ANSWER_ERROR : ANSWER_NO;
}

const char *
repeat_changes(Arena *arena, const char *name, const char *before, const char *behind)
{
    return arena_printf(arena, "%s is %s before the loop and %s behind a turn", name, before,
                        behind);
}

const char *
repeat_leaves_unset(Arena *arena, const char *name)
{
    return arena_printf(
        arena, "%s, which is read behind the loop, is not set on every way through a turn", name);
}

/* What the turn leaves in the local cannot take the place of what it began with. */
static Answer
tell_changed(Interp *in, Repeat *r, int slot, NodeId first)
{
    const char *name = arena_printf(in->arena, "'%s'", loop_slot_text(in, slot));
    Value *before = value_node(in, first), *after = in->top->slots[slot];
    if (before == NULL || name == NULL) return ANSWER_ERROR;
    if (after == NULL || after->kind == V_UNBOUND || after->kind == V_LOST) return ANSWER_NO;
    const char *one = value_describe(in, before);
    const char *other = value_is_loose(in, after) ? "of another class" : value_describe(in, after);
    if (strcmp(one, other) == 0) return ANSWER_NO;
    return not_carried(r, HINT_TURN_CHANGES, repeat_changes(in->arena, name, one, other));
}

/* The turn may end before it stores the local. */
static Answer
tell_unset(Interp *in, Repeat *r, int slot)
{
    const Value *left = in->top->slots[slot];
    if (left != NULL && left->kind != V_UNBOUND && left->kind != V_LOST) return ANSWER_NO;
    const char *name = arena_printf(in->arena, "'%s'", loop_slot_text(in, slot));
    if (name == NULL) return ANSWER_ERROR;
    return not_carried(r, HINT_LEFT_BEFORE, repeat_leaves_unset(in->arena, name));
}

/* A branch in the body has sides that do not come together: what keeps them apart. */
static void
tell_branch_inside(Interp *in, Repeat *r)
{
    if (in->break_code != BREAK_BRANCH || in->top != in->bottom) return;
    BreakHint hint = HINT_LOOP_TEST;
    r->why = branch_what(in, &hint);
    r->hint = hint;
}

/* 2.  Of the locals that a turn reads. */
static Answer
read_results(Interp *in, Repeat *r)
{
    for (int i = 0; i < r->nread; i++) {
        NodeId node, first = r->args.at[3 + i];
        const CarriedView *view = repeat_view(r, i);
        if (view != NULL) {
            TRY(repeat_view_left(in, r, view, &node));
            TRY(repeat_add_result(in, r, node));
            continue;
        }
        Answer answer = value_in_body(in, r, in->top->slots[r->slots.at[i]], &node);
        if (answer == ANSWER_YES && !type_same_layout(&graph_node(in->graph, node)->type,
                                                      &graph_node(in->graph, first)->type))
            answer = ANSWER_NO;
        if (answer == ANSWER_NO) {
            if (tell_changed(in, r, r->slots.at[i], first) == ANSWER_ERROR) return ANSWER_ERROR;
            return repeat_begin_later(in, r, first);
        }
        if (answer != ANSWER_YES) return answer;
        TRY(repeat_add_result(in, r, node));
    }
    return ANSWER_YES;
}

/* Of those that are read only behind the loop. */
static Answer
stored_results(Interp *in, Repeat *r)
{
    for (int i = 0; i < r->scan.nslots; i++) {
        NodeId node, first;
        if (is_read(in, r, i) || !r->scan.read_after[i]) continue;
        Answer answer = value_in_body(in, r, in->top->slots[r->scan.slot[i]], &node);
        if (answer == ANSWER_NO) return tell_unset(in, r, r->scan.slot[i]);
        if (answer != ANSWER_YES) return answer;
        TRY(any_value(in, &graph_node(in->graph, node)->type, &first));
        if (carry(in, r, r->scan.slot[i], first) < 0 || repeat_param(in, r, first) == NO_NODE)
            return ANSWER_ERROR;
        TRY(repeat_add_result(in, r, node));
    }
    return ANSWER_YES;
}

static Answer
exit_result(Interp *in, Repeat *r, Value *leaves)
{
    NodeId node, first;
    TRY(value_in_body(in, r, leaves, &node));
    TRY(int_node(in, 0, &first));
    if (carry(in, r, -1, first) < 0 || repeat_param(in, r, first) == NO_NODE) return ANSWER_ERROR;
    return repeat_add_result(in, r, node);
}

static Answer
add_repeat(Interp *in, Repeat *r, NodeId *out)
{
    Type none = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    int64_t last = r->results.len - 1;
    Attrs attrs = {.nints = 1, .ints = &last, .index = r->turned.len};
    if (repeat_carry_turned(in, r) != ANSWER_YES) return ANSWER_ERROR;
    *out = graph_add(in->graph, in->region, OP_repeat, r->args.len, r->args.at, &none, &attrs);
    if (*out == NO_NODE) return ANSWER_ERROR;
    graph_own(in->graph, *out, r->region);
    for (int i = 0; i < r->results.len; i++)
        if (VEC_PUSH(in->graph->arena, &in->graph->regions.at[r->region].results,
                     r->results.at[i]) < 0)
            return ANSWER_ERROR;
    return ANSWER_YES;
}

/* The locals behind the loop; *leaves: the number of the exit; *turns: CARRIED_TURNS. */
static Answer
take_results(Interp *in, Repeat *r, NodeId repeat, Value **leaves, Value **turns)
{
    Activation *a = in->top;
    for (int i = 0; i < r->scan.nslots; i++) a->slots[r->scan.slot[i]] = in->unbound;
    for (int i = 0; i < r->slots.len; i++) {
        if (r->slots.at[i] <= CARRIED_CONTENTS || repeat_view(r, i) != NULL) continue;
        Type type = graph_node(in->graph, r->args.at[3 + i])->type;
        Attrs attrs = {.index = i};
        type.offset = NO_SIZE;
        TRY(note_aliased(in, r, r->results.at[i]));
        NodeId node = graph_add(in->graph, in->region, OP_result, 1, &repeat, &type, &attrs);
        Value *value = value_of(in, node);
        if (value == NULL) return ANSWER_ERROR;
        *(r->slots.at[i] == CARRIED_TURNS ? turns
          : r->slots.at[i] < 0            ? leaves
                                          : &a->slots[r->slots.at[i]]) = value;
        TRY(note_aliased(in, r, node));
    }
    return ANSWER_YES;
}

static Answer
begin(Interp *in, Repeat *r)
{
    bool reached = false;
    int fits = loop_scan_stores(in, in->top->decoded, r->scan.shape, &r->scan);
    if (fits < 0) return ANSWER_ERROR;
    if (fits == 0) return ANSWER_NO;
    if (r->iterator != NULL) TRY(loop_iterator_is_reached(in, r->iterator, &reached));
    if (reached) return ANSWER_NO;
    TRY(take_range(in, r));
    TRY(locals_go(in, r->scan.slot, r->scan.nslots));
    TRY(add_range(in, r));
    TRY(add_read(in, r));
    return makes_its_turn(in, r);
}

/* An array that is carried is another one than memory that turns write. */
static Answer
are_apart(Interp *in, const Repeat *r)
{
    for (int i = 0; i < r->slots.len; i++) {
        if (r->slots.at[i] <= CARRIED_CONTENTS) continue;
        Answer first = repeat_is_turned(in, r, r->args.at[3 + i]);
        Answer last = first == ANSWER_NO ? repeat_is_turned(in, r, r->results.at[i]) : first;
        if (last != ANSWER_NO) return last == ANSWER_YES ? ANSWER_NO : last;
    }
    return ANSWER_YES;
}

static Answer
end(Interp *in, Repeat *r, Value *leaves, NodeId *repeat)
{
    TRY(read_results(in, r));
    TRY(stored_results(in, r));
    TRY(repeat_carry_moved(in, r));
    TRY(exit_result(in, r, leaves));
    TRY(are_apart(in, r));
    return add_repeat(in, r, repeat);
}

static bool
is_tried(Interp *in, const LoopShape *shape, const Value *iterator)
{
    const LoopNote *note = in->top == in->bottom ? repeat_note(in, shape->top) : NULL;
    bool here = in->region == (in->turn != NULL ? in->turn->region : 0);
    if (note == NULL || note->why != NULL || !here || in->loop != NULL) return false;
    if (note->later && iterator == NULL && in->top->number != shape->begin) return false;
    if (note->later && iterator != NULL && !loop_is_begun(in, iterator)) return false;
    if (shape->sides != 0) return false;
    if (shape->nexits < 2 - shape->counts) return false; /* none, or too many */
    const BranchMark *mark = branch_mark(in, in->top->decoded, shape->top);
    if (mark != NULL && mark->level == BRANCH_APART) return false; /* its arrays are aliased */
    return iterator == NULL || loop_goes_over(in, iterator) || loop_is_begun(in, iterator);
}

int
repeat_begins(Interp *in, LoopShape **out)
{
    const Marks *marks = in->attempt.learn;
    int number = in->top->number;
    *out = NULL;
    if (in->top != in->bottom || in->attempt.first_step[number] != in->attempt.steps) return 0;
    for (int i = 0; i < marks->repeats.len && *out == NULL; i++) {
        LoopShape *shape;
        int top = marks->repeats.at[i].loop.number;
        if (!marks->repeats.at[i].later || repeat_note(in, top) == NULL) continue;
        if (loop_shape(in, in->top->decoded, top, &shape) < 0) return -1;
        if (shape != NULL && shape->begin == number) *out = shape;
    }
    return 0;
}

/* A loop in a turn, over a range of which the turns are not known, cannot be unrolled. */
static Answer
learn_inner(Interp *in, const LoopShape *shape, const Value *iterator)
{
    if (in->turn == NULL || in->turn->region == 0 || in->turn->region != in->region)
        return ANSWER_YES;
    if (in->top != in->bottom || repeat_note(in, shape->top) != NULL) return ANSWER_YES;
    for (int i = 0; iterator != NULL && loop_is_range(iterator) && i < 3; i++) {
        int64_t known;
        Answer answer = value_as_int(in, iterator->walked->items[i], &known);
        if (answer == ANSWER_YES) continue;
        if (answer != ANSWER_NO) return answer;
        return repeat_note_new(in, shape) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    return ANSWER_YES;
}

Answer
repeat_keep_rest(Interp *in, const Value *iterator)
{
    LoopShape *shape;
    if (in->top != in->bottom || !loop_is_begun(in, iterator)) return ANSWER_NO;
    if (loop_shape(in, in->top->decoded, in->top->number, &shape) < 0) return ANSWER_ERROR;
    const LoopNote *note = shape != NULL ? repeat_note(in, shape->top) : NULL;
    return note != NULL && note->later ? repeat_keep(in, shape, iterator) : ANSWER_NO;
}

Answer
repeat_keep(Interp *in, LoopShape *shape, const Value *iterator)
{
    Repeat r = {.scan = {.shape = shape, .number = shape->top}, .iterator = iterator};
    Value *leaves = NULL;
    NodeId repeat = NO_NODE;
    TRY(learn_inner(in, shape, iterator));
    if (!is_tried(in, shape, iterator)) return ANSWER_NO;
    Answer answer = begin(in, &r);
    r.scan.number = shape->top;
    if (answer == ANSWER_YES) answer = follow_body(in, &r, &leaves);
    if (answer == ANSWER_YES) answer = end(in, &r, leaves, &repeat);
    if (answer == ANSWER_BREAK && in->attempt.again) answer = repeat_learn_object(in, &r);
    if (answer == ANSWER_ERROR || in->attempt.again) return answer;
    if (r.why == NULL) tell_branch_inside(in, &r);
    if (answer != ANSWER_YES) return repeat_refuse(in, &r, r.why != NULL ? r.why : "");
    Value *turns = NULL;
    TRY(take_results(in, &r, repeat, &leaves, &turns));
    TRY(repeat_leave_turned(in, &r, repeat));
    TRY(repeat_take_objects(in, &r, repeat, turns));
    Leaving leaving = {.shape = shape, .number = leaves};
    return loop_leave(in, &leaving);
}
