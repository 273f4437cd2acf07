/* `for` over ranges and arrays (loop_items.c) and `while`, with element reads and writes, kept as a
   loop region instead of unrolled.

   The body may hold branches, and loops of the same kind.  What it stores to locals is carried from
   iteration to iteration, and so is the version of each array that it writes.  Sizes stay symbols
   and nothing about shapes is guarded, so one plan serves every length.  A loop that can be left
   from inside carries the number of the exit, too (attrs.ints[0] of the node), and ends when that
   is not 0; a `while` goes over a range without end.

   1. loop_scan looks at the instructions: which locals and which arrays are stored.
   2. The loop node is made with the values so far; its region's params stand for them.
   3. The body is followed once with the region as the current one.
   4. What the stored locals hold then are the region's results.  A local that changes its type
      (s = 0.0, then an np.float64) is learnt and the whole capture starts again with it converted
      beforehand; anything else that does not fit is learnt too, and the loop is unrolled.

   In the first turn, and where an inner loop makes none, such a local has the type that it had
   before.  The value is the same number in both types, and may be used where the type makes no
   difference (Loop.either). */
#include "repeat.h"

/* ---- 2. before the body ---- */

/* Guards that the loop runs at least once. */
static Answer
runs_once(Interp *in, const Body *b)
{
    bool holds = false;
    Answer answer = loop_makes_a_turn(in, b->iterator, &holds);
    if (answer != ANSWER_YES) return answer;
    return holds ? ANSWER_YES : loop_not_kept(in, b->scan.number, "it makes no turn");
}

/* The same of an inner loop when it runs: else the outermost one is left. */
static Answer
asserts_a_turn(Interp *in, const Body *b, Value *range)
{
    int64_t step;
    if (value_as_int(in, range->items[2], &step) != ANSWER_YES)
        return loop_not_kept(in, b->scan.number,
                             "a variable of it is read behind it, and its "
                             "step is not a constant");
    Value *ends[2] = {range->items[step < 0], range->items[step > 0]};
    for (int i = 0; i < 2; i++) {
        NodeId node;
        TRY(value_as_unpinned_node(in, ends[i], &node));
        if ((ends[i] = value_node(in, node)) == NULL) return ANSWER_ERROR;
    }
    return scalar_assert(in, OP_py_lt, ends[0], ends[1]);
}

/* A constant int as a node. */
static Answer
int_node(Interp *in, long long number, NodeId *out)
{
    Value *value = value_const_new(in, PyLong_FromLongLong(number));
    return value == NULL ? ANSWER_ERROR : value_as_unpinned_node(in, value, out);
}

/* `range` is NULL for a loop without end. */
static Answer
bounds(Interp *in, Value *range, NodeId *args)
{
    const long long endless[3] = {0, INT64_MAX, 1};
    for (int i = 0; i < 3 && range == NULL; i++)
        if (int_node(in, endless[i], &args[i]) != ANSWER_YES) return ANSWER_ERROR;
    if (range == NULL) return ANSWER_YES;
    for (int i = 0; i < 3; i++) {
        Answer answer = value_as_unpinned_node(in, range->items[i], &args[i]);
        if (answer != ANSWER_YES) return answer;
        if (graph_node(in->graph, args[i])->type.dtype != DT_I64) return ANSWER_NO;
    }
    int64_t step;
    Answer answer = value_as_int(in, range->items[2], &step);
    if (answer == ANSWER_NO && in->loop != NULL) return ANSWER_YES; /* checked when it runs */
    return answer == ANSWER_YES && step == 0 ? ANSWER_NO : answer;
}

const char *
loop_unfit_array(Interp *in, const Scan *scan, int slot, Value *array)
{
    if (value_is_opaque(in, array)) return "has a shape that is only known when the code runs";
    if (array->kind == V_UNBOUND || array->kind == V_LOST) return "has no value before it";
    if (!value_is_array(in, array))
        return arena_printf(in->arena, "is no array before it (%s)", value_describe(in, array));
    const Node *node = graph_node(in->graph, array->node);
    if (node->type.rank < 1) return "has no axes";
    if (node->type.rank > LOOP_RANK) return "has too many axes";
    if (node->storage != array->node) return "is a view";
    return find(scan->slot, scan->nslots, slot) >= 0 ? "becomes another object in it" : NULL;
}

/* ANSWER_YES: it cannot begin a graph of its own, to which the array's shape would be no matter. */
static Answer
may_begin_graph(Interp *in, const LoopShape *shape, Value *array, int slot)
{
    if (opaque_sample(in, array) == NULL) return ANSWER_YES;
    const char *name = slot < 0 ? value_describe(in, array)
                                : arena_printf(in->arena, "'%s'", loop_slot_text(in, slot));
    Answer answer = name == NULL ? ANSWER_ERROR : loop_begins_graph(in, shape, name);
    return answer == ANSWER_NO ? ANSWER_YES : answer;
}

static Answer
cannot_carry(Interp *in, const Body *b, int slot, const char *why)
{
    const Scan *scan = &b->scan;
    int i = find(scan->array_slot, scan->narrays, slot);
    why = arena_printf(in->arena, "it writes elements of '%s', which %s", loop_slot_text(in, slot),
                       why);
    if (why == NULL || (i >= 0 && loop_note_side_of(in, scan->shape, scan->array_at[i], why) < 0))
        return ANSWER_ERROR;
    return loop_not_kept(in, scan->number, "%s", why);
}

/* The loop carries the array.  `slot`: the variable that has it, or -1. */
static Answer
carry_array(Interp *in, Body *b, Value *array, int slot)
{
    Loop *loop = b->loop;
    const char *why = loop_unfit_array(in, &b->scan, slot, array);
    if (value_is_opaque(in, array)) TRY(may_begin_graph(in, b->scan.shape, array, slot));
    if (why != NULL && slot < 0)
        return loop_not_kept(in, b->scan.number, "it writes elements of %s, which %s",
                             value_describe(in, array), why);
    if (why != NULL) return cannot_carry(in, b, slot, why);
    TRY(write_allowed(in, array));
    if (in->loop != NULL) TRY(loop_writes(in, array));
    int number = 0;
    while (number < loop->narrays && loop->array[number] != array) number++;
    if (find(b->array, b->narrays, number) >= 0) return ANSWER_YES;
    if (b->narrays == MOST) return loop_not_kept(in, b->scan.number, "it writes too many arrays");
    if (number == loop->narrays) { /* an inner loop's arrays are the outer one's */
        loop->array[loop->narrays] = array;
        loop->version[loop->narrays] = array_current(in, array->node);
        if (loop->version[loop->narrays++] == NO_NODE) return ANSWER_ERROR;
    }
    b->args[3 + b->ncarried + b->narrays] = loop->version[number];
    b->array[b->narrays++] = number;
    return ANSWER_YES;
}

/* What earlier attempts found the loop to write. */
static Answer
carry_learnt(Interp *in, Body *b)
{
    LoopWritten learnt[MOST];
    int n = loop_written(in, b->scan.number, learnt);
    if (n < 0) return ANSWER_ERROR;
    for (int i = 0; i < n; i++)
        TRY(value_can_draw(in, learnt[i].array) ? loop_carry_stream(in, b, learnt[i].array)
            : loop_is_list(in, learnt[i].array) || loop_is_dict(learnt[i].array)
                ? loop_carry_list(in, b, learnt[i].array, learnt[i].learnt)
                : carry_array(in, b, learnt[i].array, -1));
    return ANSWER_YES;
}

static Answer
arrays_ready(Interp *in, Body *b)
{
    static const LoopWrite changes = {.changes = true};
    TRY(carry_learnt(in, b));
    for (int i = 0; i < b->scan.narrays; i++) {
        int slot = b->scan.array_slot[i], stored = find(b->scan.slot, b->scan.nslots, slot);
        if (stored >= 0 && !b->scan.read_first[stored]) continue; /* learnt at the store */
        Value *array = slot_load(in, in->top, slot);
        if (array != NULL && array->kind == V_CELL) TRY(cell_load(in, array, &array));
        if (array == NULL) return ANSWER_ERROR;
        array = part_whole(array);
        bool list = (loop_is_list(in, array) || loop_is_dict(array)) && stored < 0 &&
                    !in->attempt.marks->no_lists;
        TRY(list ? loop_carry_list(in, b, array, &changes) : carry_array(in, b, array, slot));
    }
    return ANSWER_YES;
}

/* ---- 3 and 4. the body and what comes out ---- */

void
loop_to_end(Graph *g, RegionId region, NodeId loop)
{
    Region *outer = &g->regions.at[region];
    int at = 0;
    while (outer->nodes.at[at] != loop) at++;
    memmove(&outer->nodes.at[at], &outer->nodes.at[at + 1],
            (size_t)(outer->nodes.len - at - 1) * sizeof(NodeId));
    outer->nodes.at[outer->nodes.len - 1] = loop;
}

/* What is carried to the next turn cannot be. */
static Answer
no_number(Interp *in, const Body *b, int i, Value *value)
{
    const char *what = value != NULL ? value_describe(in, value) : "nothing";
    if (b->carried[i] < 0) return loop_unkept(in, b->scan.number, "it stores what is no number");
    return loop_unkept(in, b->scan.number,
                       arena_printf(in->arena, "'%s' is no number after a turn, but %s",
                                    loop_slot_text(in, b->carried[i]), what));
}

static Answer
body_results(Interp *in, Body *b, Value *leaves)
{
    Graph *g = in->graph;
    for (int i = 0; i < b->ncarried; i++) {
        int carried = b->carried[i];
        const LoopAttribute *attribute = loop_attribute(b, carried);
        Value *value = attribute != NULL ? attribute->now
                       : carried >= 0    ? in->top->slots[carried]
                                         : leaves;
        NodeId node;
        if (carried < CARRIED_EXIT) TRY(loop_beside(in, b, carried, &value));
        Answer answer = value ? value_as_unpinned_node(in, value, &node) : ANSWER_NO;
        if (answer == ANSWER_ERROR) return answer;
        if (answer == ANSWER_NO) return no_number(in, b, i, value);
        TRY(loop_widened(in, b->args[3 + i], &node));
        const Type *type = &graph_node(g, node)->type;
        if (b->unset[i] && type->rank > 0) return no_number(in, b, i, value);
        if (!loop_same_scalar(type, &graph_node(g, b->args[3 + i])->type))
            return loop_changes_type(in, b->scan.number, b->carried[i],
                                     &graph_node(g, b->args[3 + i])->type, type);
        if (VEC_PUSH(g->arena, &g->regions.at[b->region].results, node) < 0) return ANSWER_ERROR;
    }
    TRY(loop_meets_narrow(in, b));
    for (int i = 0; i < b->narrays; i++)
        if (VEC_PUSH(g->arena, &g->regions.at[b->region].results, b->loop->version[b->array[i]]) <
            0)
            return ANSWER_ERROR;
    return ANSWER_YES;
}

static int
note_local(Interp *in, const Body *b, int i, NodeId node)
{
    LoopLocal local = {.node = node,
                       .loop = loop_name(in->top, b->scan.number),
                       .slot = b->carried[i],
                       .name = loop_slot_text(in, b->carried[i])};
    return VEC_PUSH(in->arena, &b->loop->locals, local);
}

static int
note_either(Interp *in, const Body *b, int i, NodeId node)
{
    return loop_note_either(in, b->loop, node, b->keeps_int[i]);
}

static int
note_zero(Interp *in, const Body *b, NodeId node)
{
    return VEC_PUSH(in->arena, &b->loop->zeros, node);
}

/* The local, or the attribute in its place, is what the node says. */
static Answer
set_local(Interp *in, Body *b, int slot, NodeId node)
{
    const LoopAttribute *attribute = loop_attribute(b, slot);
    Value *value = value_node(in, node);
    if (value == NULL) return ANSWER_ERROR;
    if (attribute != NULL)
        return own_put(in, attribute->object, attribute->name, attribute->slot, value);
    in->top->slots[slot] = value;
    return ANSWER_YES;
}

/* Makes the params that stand for what is carried. */
static Answer
make_params(Interp *in, Body *b, Value **item)
{
    Graph *g = in->graph;
    Activation *a = in->top;
    Type index_type = {.dtype = DT_I64, .form = FORM_PYTHON, .offset = NO_SIZE};
    NodeId index = graph_input(g, b->region, &index_type);
    *item = index == NO_NODE ? NULL : value_node(in, index);
    if (*item == NULL) return ANSWER_ERROR;
    for (int i = 0; i < b->ncarried + b->narrays; i++) {
        Type type = graph_node(g, b->args[3 + i])->type;
        NodeId param = graph_input(g, b->region, &type);
        if (param == NO_NODE) return ANSWER_ERROR;
        if (i >= b->ncarried)
            b->loop->version[b->array[i - b->ncarried]] = param;
        else if (b->carried[i] >= 0 && (set_local(in, b, b->carried[i], param) != ANSWER_YES ||
                                        note_local(in, b, i, param) < 0 ||
                                        (b->is_zero[i] && note_zero(in, b, param) < 0) ||
                                        (b->keeps_type[i] && note_either(in, b, i, param) < 0)))
            return ANSWER_ERROR;
        if (i < b->ncarried && b->hides[i]) a->slots[b->carried[i]] = in->unbound;
    }
    for (int i = 0; i < b->scan.nslots; i++) /* stored before read: none from outside */
        if (find(b->carried, b->ncarried, b->scan.slot[i]) < 0)
            a->slots[b->scan.slot[i]] = in->unbound;
    return ANSWER_YES;
}

/* Follows the body; the locals then hold the values of one iteration, in terms of the params, and
 *leaves the number of the exit. */
static Answer
follow_body(Interp *in, Body *b, Value **leaves)
{
    Value *item;
    if ((b->region = graph_region(in->graph, b->node)) == NO_REGION) return ANSWER_ERROR;
    graph_node(in->graph, b->node)->region[0] = b->region;
    Answer answer = make_params(in, b, &item);
    if (answer != ANSWER_YES) return answer;
    b->position = item;
    Loop *outer = in->loop;
    const LoopShape *shape = b->scan.shape;
    Turn turn = {.shape = b->scan.shape,
                 .of = in->top,
                 .made = in->attempt.values.len,
                 .attributes = b->attribute,
                 .nattributes = b->nattributes,
                 .around = in->turn};
    for (int i = 0; i < b->narrays; i++) turn.writes |= 1u << b->array[i];
    in->region = b->region;
    in->loop = b->loop;
    in->turn = &turn;
    in->top->number = shape->begin + shape->counts;
    if (shape->counts) answer = loop_item(in, b->iterator, item, &item);
    if (answer == ANSWER_YES && shape->counts && push(in, item) < 0) answer = ANSWER_ERROR;
    if (answer == ANSWER_YES) answer = interp_turn(in);
    in->region = b->outer;
    in->loop = outer;
    in->turn = turn.around;
    *leaves = turn.leaves;
    if (b->turn != NULL) *b->turn = turn;
    return answer;
}

static Answer
loop_result(Interp *in, const Body *b, int index, NodeId *out)
{
    Type type = graph_node(in->graph, b->args[3 + index])->type;
    Attrs attrs = {.index = index};
    *out = graph_add(in->graph, b->outer, OP_result, 1, &b->node, &type, &attrs);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* The number that the outermost loop carried in place `i`, of the class that it has. */
static Answer
take_class(Interp *in, const Body *b, int i, Value **number)
{
    const LoopClass *class = &b->class[i];
    if (b->carried[i] < 0 || !class->wanted || class->flag < 0) return ANSWER_YES;
    Type type = {.dtype = DT_BOOL, .form = FORM_PYTHON, .offset = NO_SIZE};
    Attrs attrs = {.index = class->flag};
    NodeId flag = graph_add(in->graph, b->outer, OP_result, 1, &b->node, &type, &attrs);
    Value *is_numpy = flag == NO_NODE ? NULL : value_node(in, flag);
    LoopPick pick = {.number = *number, .is_numpy = is_numpy, .python = class->python};
    if (is_numpy == NULL) return ANSWER_ERROR;
    Answer answer = loop_pick_class(in, *number, is_numpy, class->python, &pick.picked);
    *number = pick.picked;
    return answer == ANSWER_YES && VEC_PUSH(in->arena, &in->picks, pick) < 0 ? ANSWER_ERROR
                                                                             : answer;
}

/* What is carried, after the loop, and what is needed to leave it. */
static Answer
take_results(Interp *in, Body *b, Leaving *leaving)
{
    Activation *a = in->top;
    Loop *loop = b->loop;
    for (int i = 0; i < b->scan.nslots; i++)
        if (loop_attribute(b, b->scan.slot[i]) == NULL)
            a->slots[b->scan.slot[i]] = in->unbound; /* temporaries are not kept */
    for (int i = 0; i < b->ncarried + b->narrays; i++) {
        NodeId result;
        if (loop_result(in, b, i, &result) != ANSWER_YES) return ANSWER_ERROR;
        if (i < b->ncarried) {
            LoopAttribute *attribute = loop_attribute(b, b->carried[i]);
            Value **to = attribute != NULL   ? &attribute->now
                         : b->carried[i] < 0 ? &leaving->number
                                             : &a->slots[b->carried[i]];
            Value *beside = b->carried[i] < CARRIED_EXIT ? value_node(in, result) : NULL;
            if (beside != NULL) {
                loop_take_beside(b->carried[i], beside, leaving);
                continue;
            }
            if ((*to = value_node(in, result)) == NULL) return ANSWER_ERROR;
            Answer answer = in->loop == NULL ? take_class(in, b, i, to) : ANSWER_YES;
            if (answer != ANSWER_YES) return answer;
            if (attribute != NULL)
                TRY(own_store(in, attribute->object, attribute->name, attribute->slot, *to));
            if (b->is_zero[i] && in->loop != NULL && note_zero(in, b, result) < 0)
                return ANSWER_ERROR;
            if (b->keeps_type[i] && in->loop != NULL && note_either(in, b, i, result) < 0)
                return ANSWER_ERROR;
            continue;
        }
        int number = b->array[i - b->ncarried];
        loop->version[number] = result;
        if (in->loop == NULL && storage_write(in, loop->array[number]->node, result) < 0)
            return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* The loop node with what comes before the body. */
static Answer
begin_loop(Interp *in, Body *b)
{
    Value *range = NULL;
    Answer answer = b->iterator != NULL ? loop_range(in, b->iterator, &range) : ANSWER_YES;
    if (answer == ANSWER_YES) answer = bounds(in, range, b->args);
    if (answer == ANSWER_NO)
        return loop_not_kept(in, b->scan.number, "its range is none of plain ints");
    if (answer == ANSWER_YES) answer = loop_attributes_begin(in, b);
    for (int i = 0; answer == ANSWER_YES && i < b->scan.nslots; i++)
        if (b->scan.read_first[i] || b->scan.read_after[i]) answer = loop_carried_start(in, b, i);
    b->leaves = b->scan.shape->nexits > 1;
    if (answer == ANSWER_YES && b->scan.shape->sides != 0) answer = loop_carry_beside(in, b);
    if (answer == ANSWER_YES && b->leaves) {
        b->carried[b->ncarried] = CARRIED_EXIT;
        answer = int_node(in, 0, &b->args[3 + b->ncarried++]);
    }
    if (answer == ANSWER_YES) answer = arrays_ready(in, b);
    if (answer == ANSWER_YES && b->needs_a_turn) answer = runs_once(in, b);
    if (answer == ANSWER_YES && b->asserts_a_turn) answer = asserts_a_turn(in, b, range);
    if (answer != ANSWER_YES) return answer;
    Type none = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    int nargs = 3 + b->ncarried + b->narrays;
    Attrs attrs = {.nints = b->leaves};
    int64_t last = b->ncarried - 1;
    if (b->leaves && (attrs.ints = arena_copy(in->arena, &last, sizeof last)) == NULL)
        return ANSWER_ERROR;
    b->node = graph_add(in->graph, b->outer, OP_loop, nargs, b->args, &none, &attrs);
    if (in->loop == NULL) b->loop->top = b->node;
    loop_lists_grow(b);
    return b->node == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* A loop of many turns over slices that move, in which something has no native form, is tried as a
   repeat: unrolled, it would have the kernels of each turn.  One with what only a repeat can have
   is tried at once, before the arm that has it is left to CPython. */
static Answer
learn_repeat(Interp *in, const Body *b)
{
    bool outermost = in->loop == NULL && in->top == in->bottom;
    if (outermost && b->loop->repeats) {
        Answer learnt = repeat_learn_kept(in, b->scan.shape);
        if (learnt != ANSWER_NO) return learnt;
    }
    if (!outermost || in->attempt.again || !b->loop->moves || section_few_turns(in, b->args))
        return ANSWER_YES;
    if (repeat_note(in, b->scan.number) != NULL) return ANSWER_YES;
    return repeat_note_new(in, b->scan.shape) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Follows the body and closes the region. */
static Answer
end_loop(Interp *in, Body *b)
{
    int number = b->scan.number, effects = in->writes.effects.len;
    World before;
    Value *leaves = NULL;
    Turn turn = {0};
    Leaving leaving = {.shape = b->scan.shape, .iterator = b->iterator};
    b->turn = &turn;
    if (world_save(in, &before) < 0) return ANSWER_ERROR;
    Answer answer = follow_body(in, b, &leaves);
    if (answer == ANSWER_YES) answer = loop_attributes_end(in, b);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_BREAK) TRY(learn_repeat(in, b));
    if (answer != ANSWER_YES || in->writes.effects.len != effects || world_changed(&before))
        return loop_learn_effect(in, number, effects, &turn);
    NodeId odd = loop_odd_node(in->graph, b->region);
    if (odd != NO_NODE) return loop_learn_odd(in, number, odd);
    in->region = b->region;
    answer = body_results(in, b, leaves);
    in->region = b->outer;
    if (answer != ANSWER_YES) return answer;
    const char *apart = in->loop == NULL ? section_turns_apart(in, b->loop, b->args) : NULL;
    if (apart != NULL) return loop_unkept(in, number, apart);
    if (in->loop == NULL) answer = either_is_harmless(in, b->loop, b->node);
    if (in->loop == NULL && answer == ANSWER_YES)
        answer = loop_classes(in, b->loop, b->node, b->ncarried, b->class);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO) return loop_unkept(in, number, loop_either_why(in, b->loop));
    loop_to_end(in->graph, b->outer, b->node);
    for (int i = 0; i < LOOP_DEEP; i++) leaving.rest[i].over = turn.rest[i].over;
    answer = take_results(in, b, &leaving);
    StreamsClosed closed = {0};
    if (answer == ANSWER_YES && in->loop == NULL) answer = loop_close_streams(in, b->loop, &closed);
    if (answer == ANSWER_YES && in->loop == NULL) answer = loop_extend_lists(in, b, &closed);
    return answer == ANSWER_YES ? loop_leave(in, &leaving) : answer;
}

/* `iterator` is NULL for a `while`. */
static Answer
keep_loop(Interp *in, LoopShape *shape, const Value *iterator)
{
    Loop loop = {0};
    Body b = {.loop = in->loop != NULL ? in->loop : &loop, .outer = in->region};
    bool reads_items = iterator != NULL && loop_reads_items(in, iterator);
    b.iterator = iterator;
    bool in_turn = in->turn != NULL && in->turn->region != 0 && in->turn->region == in->region;
    if (in->region != 0 && in->loop == NULL && !in_turn) return ANSWER_NO;
    if (loop_refused(in, shape->top) != NULL) return ANSWER_NO;
    bool reached = false;
    if (iterator != NULL) TRY(loop_iterator_is_reached(in, iterator, &reached));
    if (reached) return loop_not_kept(in, shape->top, "its iterator is in a variable");
    int fits = loop_scan(in, in->top->decoded, shape, reads_items, &b.scan);
    if (fits < 0) return ANSWER_ERROR;
    if (!fits) return loop_has(in, &b.scan);
    TRY(locals_go(in, b.scan.slot, b.scan.nslots));
    Answer answer = begin_loop(in, &b);
    return answer == ANSWER_YES ? end_loop(in, &b) : answer;
}

/* Loops of pycompile's own code that stands for library functions are unrolled, but in turns of a
   kept loop: heapq.heappush there. */
static bool
may_stay(const Interp *in)
{
    return in->top == in->bottom ||
           (!in->top->decoded->generator && (in->loop != NULL || !code_is_model(in->top)));
}

Answer
capture_loop(Interp *in, Value *iterator)
{
    LoopShape *shape;
    if (!may_stay(in)) return ANSWER_NO;
    if (loop_shape(in, in->top->decoded, in->top->number, &shape) < 0) return ANSWER_ERROR;
    if (shape == NULL) return ANSWER_NO;
    Answer answer = repeat_keep(in, shape, iterator);
    return answer == ANSWER_NO ? keep_loop(in, shape, iterator) : answer;
}

Answer
follow_while(Interp *in, bool *whole)
{
    LoopShape *shape;
    *whole = false;
    if (loop_shape(in, in->top->decoded, in->top->number, &shape) < 0) return ANSWER_ERROR;
    if (shape == NULL && loop_begins_turn(in, &shape) < 0) return ANSWER_ERROR;
    if (shape == NULL) {
        if (repeat_begins(in, &shape) < 0) return ANSWER_ERROR;
        if (shape == NULL) return ANSWER_YES;
        Answer answer = repeat_keep(in, shape, NULL);
        *whole = answer == ANSWER_YES;
        return answer == ANSWER_NO ? ANSWER_YES : answer;
    }
    bool begun = in->turn != NULL && in->turn->shape == shape && in->turn->of == in->top;
    if (shape == NULL || shape->counts || begun || !may_stay(in)) return ANSWER_YES;
    Answer answer = repeat_keep(in, shape, NULL);
    if (answer == ANSWER_NO) answer = keep_loop(in, shape, NULL);
    *whole = answer == ANSWER_YES;
    if (answer == ANSWER_NO && in->loop != NULL && !code_is_model(in->top))
        return inner_loop_unkept(in, shape->head);
    return answer == ANSWER_NO ? ANSWER_YES : answer;
}
