/* Locals of a repeat whose arrays its turns write: `x += step`, `new[1:-1] = …; old, new = new,
   old`.

   Such a local is not carried.  It has the same object in each turn, or turns pass a few objects on
   among a few locals, always alike: then what is carried is what the array *in the local* has in
   it, and how many turns were made tells behind the loop which object is in which local, and what
   is in which object.

       turn 1    old is A, new is B; B is written
       turn 2    old is B, new is A; A is written          order 2

   Found by attempts: one that would carry the local as a value meets the write, and starts again.
 */
#include "repeat.h"

enum { MOST_OBJECTS = 64, MOST_TURNS = 4 };

/* ---- before the loop ---- */

static int
root_of(Interp *in, NodeId node)
{
    return storage_find(in, graph_node(in->graph, node)->storage);
}

static Answer
is_held(Interp *in, const Value *value, int most, bool *out)
{
    int stacked, held;
    if (value_references(in, value, &stacked, &held) < 0) return ANSWER_ERROR;
    *out = stacked + held > most;
    return ANSWER_YES;
}

/* Is the array the whole of its memory, which is reached through this local alone? */
static Answer
is_alone(Interp *in, Value *array, bool *out)
{
    bool held;
    int storage = storage_of(in, array->node);
    if (storage < 0) return ANSWER_ERROR;
    *out = graph_node(in->graph, array->node)->storage == array->node;
    TRY(is_held(in, array, 1, &held));
    *out = *out && !held;
    for (int i = 0; i < in->attempt.values.len && *out; i++) {
        Value *other = in->attempt.values.at[i];
        if (other == array || other->kind != V_NODE || !value_is_array(in, other)) continue;
        if (root_of(in, other->node) != storage) continue;
        TRY(is_held(in, other, 0, &held));
        *out = !held;
    }
    return ANSWER_YES;
}

Answer
repeat_keep_object(Interp *in, Repeat *r, int slot)
{
    KeptObject kept = {.slot = slot, .array = slot_load(in, in->top, slot)};
    if (kept.array == NULL) return ANSWER_ERROR;
    if (kept.array->kind != V_NODE || !value_is_array(in, kept.array) ||
        value_is_opaque(in, kept.array) || r->objects.len == MOST_OBJECTS)
        return ANSWER_NO;
    TRY(is_alone(in, kept.array, &kept.alone));
    return VEC_PUSH(in->arena, &r->objects, kept) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

void
repeat_put_objects(Interp *in, const Repeat *r)
{
    for (int i = 0; i < r->objects.len; i++)
        in->top->slots[r->objects.at[i].slot] = r->objects.at[i].array;
}

bool
repeat_moves(Interp *in, const Repeat *r, int storage)
{
    for (int i = 0; i < r->objects.len; i++)
        if (r->objects.at[i].next != i && root_of(in, r->objects.at[i].array->node) == storage)
            return true;
    return false;
}

/* ---- behind the body ---- */

/* Which of the arrays the local has now; -1: another one. */
static int
object_in(Interp *in, const Repeat *r, int slot)
{
    for (int i = 0; i < r->objects.len; i++)
        if (in->top->slots[slot] == r->objects.at[i].array) return i;
    return -1;
}

static bool
may_move(Interp *in, const Repeat *r, int from, int to)
{
    const KeptObject *a = &r->objects.at[from], *b = &r->objects.at[to];
    const Type *type = &graph_node(in->graph, a->array->node)->type;
    return a->alone && b->alone && repeat_carries(in->graph, type) &&
           type_same_layout(type, &graph_node(in->graph, b->array->node)->type);
}

/* The object that the local has after so many turns. */
static int
after(const Repeat *r, int object, int turns)
{
    while (turns-- > 0) object = r->objects.at[object].next;
    return object;
}

Answer
repeat_find_order(Interp *in, Repeat *r)
{
    bool taken[MOST_OBJECTS] = {false}, stays = false;
    for (int i = 0; i < r->objects.len; i++) {
        int slot = r->objects.at[i].slot, next = r->objects.at[i].next = object_in(in, r, slot);
        if (next < 0) return repeat_learn_passed(in, r, in->top->slots[slot]);
        if (taken[next] || (next != i && !may_move(in, r, i, next))) return ANSWER_NO;
        taken[next] = true;
    }
    for (r->order = 0; !stays && r->order < MOST_TURNS;) {
        stays = true;
        r->order++;
        for (int i = 0; i < r->objects.len; i++) stays &= after(r, i, r->order) == i;
    }
    return stays ? ANSWER_YES : ANSWER_NO;
}

static Value *
small_int(Interp *in, int number)
{
    return value_const_new(in, PyLong_FromLong(number));
}

/* The next number of turns, modulo the order. */
static Answer
next_turn(Interp *in, const Repeat *r, NodeId param, NodeId *out)
{
    Value *turns = value_node(in, param), *one = small_int(in, 1), *zero = small_int(in, 0);
    Value *last = small_int(in, r->order - 1);
    if (turns == NULL || one == NULL || zero == NULL || last == NULL) return ANSWER_ERROR;
    Value *test = scalar_emit(in, OP_py_eq, DT_BOOL, 2, (Value *[]){turns, last}, NULL);
    Value *more = scalar_emit(in, OP_py_add, DT_I64, 2, (Value *[]){turns, one}, NULL);
    if (test == NULL || more == NULL) return ANSWER_ERROR;
    Value *next = scalar_emit(in, OP_where, DT_I64, 3, (Value *[]){test, zero, more}, NULL);
    return next == NULL ? ANSWER_ERROR : value_as_unpinned_node(in, next, out);
}

static int
carry(Interp *in, Repeat *r, NodeId first, int as, NodeId *param)
{
    if (VEC_PUSH(in->arena, &r->args, first) < 0 || VEC_PUSH(in->arena, &r->slots, as) < 0)
        return -1;
    return (*param = repeat_param(in, r, first)) == NO_NODE ? -1 : 0;
}

static Answer
carry_turns(Interp *in, Repeat *r)
{
    NodeId first, param, next;
    RegionId outer = in->region;
    Value *zero = small_int(in, 0);
    if (zero == NULL) return ANSWER_ERROR;
    TRY(value_as_unpinned_node(in, zero, &first));
    if (carry(in, r, first, CARRIED_TURNS, &param) < 0) return ANSWER_ERROR;
    in->region = r->region;
    Answer answer = next_turn(in, r, param, &next);
    in->region = outer;
    return answer == ANSWER_YES ? repeat_add_result(in, r, next) : answer;
}

/* What was found of the memory of the object. */
static const TurnedStorage *
moved_of(Interp *in, const Repeat *r, int object)
{
    int storage = root_of(in, r->objects.at[object].array->node), i = 0;
    while (r->moved.at[i].storage != storage) i++;
    return &r->moved.at[i];
}

Answer
repeat_carry_moved(Interp *in, Repeat *r)
{
    NodeId params[MOST_OBJECTS];
    if (r->order < 2) return ANSWER_YES;
    for (int i = 0; i < r->objects.len; i++) {
        if (r->objects.at[i].next == i) continue;
        NodeId first = moved_of(in, r, i)->first;
        if (carry(in, r, first, CARRIED_CONTENTS - i, &params[i]) < 0 ||
            repeat_redirect(in, r->region, first, params[i]) < 0)
            return ANSWER_ERROR;
    }
    for (int i = 0; i < r->objects.len; i++) {
        int next = r->objects.at[i].next;
        if (next == i) continue;
        const TurnedStorage *of = moved_of(in, r, next);
        TRY(repeat_add_result(in, r, of->last == of->first ? params[next] : of->last));
    }
    return carry_turns(in, r);
}

/* ---- behind the loop ---- */

static Answer
is_turn(Interp *in, Value *turns, int number, Value **out)
{
    Value *both[2] = {turns, small_int(in, number)};
    if (both[1] == NULL) return ANSWER_ERROR;
    *out = scalar_emit(in, OP_py_eq, DT_BOOL, 2, both, NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* if_so where the number of turns is that, else if_not. */
static Answer
choose(Interp *in, Value *turns, int number, NodeId if_so, NodeId if_not, int version, Value **test,
       NodeId *out)
{
    NodeId args[3] = {NO_NODE, if_so, if_not};
    Type type = graph_node(in->graph, if_so)->type;
    Attrs attrs = {.index = version};
    type.offset = NO_SIZE;
    TRY(is_turn(in, turns, number, test));
    TRY(value_as_node(in, *test, &args[0]));
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_choose, 3, args, &type, &attrs));
    return ANSWER_YES;
}

/* What the array in the local has in it behind the loop. */
static NodeId
contents_of(Interp *in, const Repeat *r, NodeId repeat, int object)
{
    int i = 0;
    while (r->slots.at[i] != CARRIED_CONTENTS - object) i++;
    Type type = graph_node(in->graph, r->args.at[3 + i])->type;
    Attrs attrs = {.index = i};
    type.offset = NO_SIZE;
    return graph_add(in->graph, in->region, OP_result, 1, &repeat, &type, &attrs);
}

static Answer
leave_contents(Interp *in, const Repeat *r, const NodeId *contents, Value *turns)
{
    for (int i = 0; i < r->objects.len; i++) {
        NodeId left = NO_NODE;
        if (r->objects.at[i].next == i) continue;
        for (int made = r->order; made-- > 0;) {
            int local = 0;
            Value *test;
            while (after(r, local, made) != i) local++;
            if (left == NO_NODE || left == contents[local])
                left = contents[local];
            else
                TRY(choose(in, turns, made, contents[local], left, CHOICE_VERSION, &test, &left));
        }
        if (storage_write(in, r->objects.at[i].array->node, left) < 0) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

static Answer
note(Interp *in, const Repeat *r, NodeId array)
{
    return branch_note(in, array, in->top->decoded->code, r->scan.shape->top) < 0 ? ANSWER_ERROR
                                                                                  : ANSWER_YES;
}

/* One of two arrays, by the number of turns. */
static Answer
choose_object(Interp *in, const Repeat *r, Value *turns, int number, Value *if_so, Value **out)
{
    NodeId nodes[2], node;
    Value *test, *if_not = *out;
    TRY(value_as_node(in, if_so, &nodes[0]));
    TRY(value_as_node(in, if_not, &nodes[1]));
    TRY(choose(in, turns, number, nodes[0], nodes[1], 0, &test, &node));
    if ((*out = value_node(in, node)) == NULL ||
        ((*out)->leaves_as = choice_new(in, test, if_so, if_not)) == NULL ||
        VEC_PUSH(in->arena, &in->memory.chosen, *out) < 0)
        return ANSWER_ERROR;
    (*out)->guarded = (*out)->pinned = true;
    TRY(note(in, r, node));
    TRY(note(in, r, if_so->node));
    return note(in, r, if_not->node);
}

Answer
repeat_take_objects(Interp *in, const Repeat *r, NodeId repeat, Value *turns)
{
    NodeId contents[MOST_OBJECTS];
    repeat_put_objects(in, r);
    if (r->order < 2) return ANSWER_YES;
    for (int i = 0; i < r->objects.len; i++)
        if (r->objects.at[i].next != i) TRY_NODE(contents[i], contents_of(in, r, repeat, i));
    TRY(leave_contents(in, r, contents, turns));
    for (int i = 0; i < r->objects.len; i++) {
        Value *left = NULL;
        for (int made = r->order; made-- > 0;) {
            Value *array = r->objects.at[after(r, i, made)].array;
            if (left == NULL || left == array)
                left = array;
            else
                TRY(choose_object(in, r, turns, made, array, &left));
        }
        in->top->slots[r->objects.at[i].slot] = left;
    }
    return ANSWER_YES;
}
