/* Arrays that a function writes which is called in the body of a kept loop, lists to which the body
   appends, and generators from which it draws.

   A loop carries a version of each array that its body writes, from its first turn on.  What is
   stored in the body itself is seen before the body is followed (loop_scan.c); what a function
   writes is found at the store, and learnt for each loop around that does not carry the array.  In
   the next attempt the array is found where the loop begins: an input by its source, an array that
   was made by its place in what the activations hold.

   An attribute with a number, of an object from before the loop, is carried as a local is:

     self.z1 = b1 * x - a1 * y + self.z2

   It, too, is found at the store, and its object at the next attempt; it is one more local from
   where the loop begins.  There it is stored once, outside of the loop, so that there is one
   effect, which has the number behind the loop in the end: others see that at each exit, and
   nothing of a run that is undone.  Only an attribute that the object has itself before the loop is
   carried: one that a turn makes would not be there where no turn is made. */
#include "loop.h"

enum { LOOK_AT = 1000 }; /* values, in search of an array */

/* ---- places of arrays ---- */

static Value *
part_of(const Value *value, int number)
{
    if (number < 0) return value->kind == V_INSTANCE ? value->attributes : NULL;
    return value->items != NULL && number < value->nitems ? value->items[number] : NULL;
}

static bool
has_parts(const Value *value)
{
    return value->kind == V_CELL || value->kind == V_INSTANCE || value->kind == V_OBJECT ||
           value->kind == V_TUPLE || value->kind == V_LIST || value->kind == V_DICT;
}

/* Is it the array, or has it the array among its parts?  Then the place's parts lead there. */
static bool
leads_to(const Value *value, const Value *array, LoopWrite *place, int *budget)
{
    if (value == NULL || --*budget < 0) return false;
    if (value == array) return true;
    if (!has_parts(value) || place->nparts == LOOP_PARTS) return false;
    int at = place->nparts++;
    for (int i = -1; i < value->nitems; i++) {
        place->part[at] = i;
        if (leads_to(part_of(value, i), array, place, budget)) return true;
    }
    place->nparts--;
    return false;
}

/* Of the variables and the stack, where a comprehension has its list. */
static int
nslots(const Activation *a)
{
    return a->decoded->nlocalsplus + a->depth;
}

/* The turn of the kept loop around it; NULL: there is none.  What a repeat's turns write is found
   behind them (repeat_written.c). */
static const Turn *
turn_around(const Turn *turn)
{
    return turn->around != NULL && turn->around->region == 0 ? turn->around : NULL;
}

static const Turn *
outermost_turn(const Interp *in)
{
    const Turn *turn = in->turn;
    while (turn_around(turn) != NULL) turn = turn_around(turn);
    return turn;
}

/* Looks for the array in the outermost loop's activation and those that called it. */
static bool
find_place(const Interp *in, const Value *array, LoopWrite *place)
{
    int budget = LOOK_AT;
    const Turn *turn = outermost_turn(in);
    place->up = 0;
    for (const Activation *a = turn->of; a != NULL; a = a->caller, place->up++)
        for (place->slot = 0; place->slot < nslots(a); place->slot++) {
            place->nparts = 0;
            if (leads_to(a->slots[place->slot], array, place, &budget)) return true;
        }
    return false;
}

/* The array that was learnt, where the loop begins; NULL: it is not there, or the error is set. */
static Value *
find_place_again(Interp *in, const LoopWrite *write)
{
    const Activation *a = in->top;
    if (write->object != NULL && write->path == NO_SOURCE) return value_const(in, write->object);
    if (write->object != NULL) {
        SourceId source = path_source(in, write->path);
        return source == NO_SOURCE ? NULL : value_from_source(in, source, write->object);
    }
    if (in->turn != NULL && in->turn->region == 0) a = outermost_turn(in)->of;
    for (int up = 0; up < write->up && a != NULL; up++) a = a->caller;
    Value *value = a != NULL && write->slot < nslots(a) ? a->slots[write->slot] : NULL;
    for (int i = 0; i < write->nparts && value != NULL; i++)
        value = has_parts(value) ? part_of(value, write->part[i]) : NULL;
    return value;
}

int
loop_written(Interp *in, int number, LoopWritten *out)
{
    const Marks *marks = in->attempt.marks;
    LoopName loop = loop_name(in->top, number);
    int n = 0;
    for (int i = 0; i < marks->loop_writes.len && n < MOST; i++) {
        if (!loop_is(&marks->loop_writes.at[i].loop, &loop)) continue;
        Value *array = find_place_again(in, &marks->loop_writes.at[i]);
        if (array != NULL) array = model_list(in, array);
        if (array == NULL && PyErr_Occurred()) return -1;
        bool there = array != NULL && array->kind != V_UNBOUND && array->kind != V_LOST;
        if (there) out[n++] = (LoopWritten){array, &marks->loop_writes.at[i]};
    }
    return n;
}

/* ---- learning ---- */

static bool
same_place(const LoopWrite *a, const LoopWrite *b)
{
    return a->object == b->object && a->up == b->up && a->slot == b->slot &&
           a->nparts == b->nparts &&
           memcmp(a->part, b->part, sizeof(a->part[0]) * (size_t)a->nparts) == 0;
}

/* ANSWER_NO: it was learnt, and the array was not found. */
static Answer
learn_write(Interp *in, const LoopWrite *write)
{
    Marks *marks = in->attempt.learn;
    for (int i = 0; i < marks->loop_writes.len; i++) {
        const LoopWrite *known = &marks->loop_writes.at[i];
        if (loop_is(&known->loop, &write->loop) && same_place(known, write)) return ANSWER_NO;
    }
    return VEC_PUSH(in->attempt.learn_arena, &marks->loop_writes, *write) < 0 ? ANSWER_ERROR
                                                                              : ANSWER_YES;
}

/* As learn_write, of a list that the loop changes. */
static Answer
learn_change(Interp *in, const LoopWrite *write)
{
    Marks *marks = in->attempt.learn;
    for (int i = 0; i < marks->loop_writes.len; i++) {
        LoopWrite *known = &marks->loop_writes.at[i];
        if (!loop_is(&known->loop, &write->loop) || !same_place(known, write)) continue;
        if (known->changes && memcmp(&known->form, &write->form, sizeof known->form) == 0)
            return ANSWER_NO;
        known->changes = true;
        known->form = write->form;
        return ANSWER_YES;
    }
    return learn_write(in, write);
}

/* The array is in none of the variables of the outermost loop's function and of those around it; a
   function that is called in a turn may have made it, and has it in a variable. */
static Answer
made_in_turn(Interp *in, const Value *array)
{
    const Turn *turn = outermost_turn(in);
    for (const Activation *a = in->top; a != NULL && a != turn->of; a = a->caller)
        for (int slot = 0; slot < a->decoded->nlocalsplus; slot++)
            if (a->slots[slot] == array)
                return interp_break(in, BREAK_UNROLL,
                                    "a store into '%s', an array that is made in the loop",
                                    text_of_str(code_slot_name(a->decoded->code, slot)));
    return interp_break(in, BREAK_UNROLL, "a store into an array that is in no variable");
}

static Answer
not_before(Interp *in, Value *array)
{
    const char *name = value_named(in, array);
    return name == NULL ? ANSWER_ERROR
                        : interp_break(in, BREAK_UNROLL,
                                       "a store into %s, which was not there before the loop (make "
                                       "it before the loop)",
                                       name);
}

bool
loop_is_same(const Value *a, const Value *b)
{
    bool objects =
        (a->kind == V_CONST || a->kind == V_OBJECT) && (b->kind == V_CONST || b->kind == V_OBJECT);
    return a == b || (objects && a->object == b->object);
}

static bool
is_number(const Loop *loop, int number, const Value *array)
{
    const Value *list = loop->list[number];
    return loop->array[number] == array || (list != NULL && loop_is_same(list, array));
}

/* How the array or object is found where the loop begins; ANSWER_NO: it is in no variable. */
static Answer
note_place(Interp *in, Value *object, LoopWrite *place)
{
    *place = (LoopWrite){.path = NO_SOURCE};
    if (object->source == NO_SOURCE && object->kind != V_CONST)
        return find_place(in, object, place) ? ANSWER_YES : ANSWER_NO;
    place->object = object->object;
    if (object->source != NO_SOURCE) place->path = path_note(in, object->source);
    bool failed = (place->path == NO_SOURCE) != (object->source == NO_SOURCE) ||
                  PyList_Append(in->attempt.learn->keep, object->object) < 0;
    return failed ? ANSWER_ERROR : ANSWER_YES;
}

/* The bit of Turn.writes; 0: the loop does not carry it at all. */
static unsigned
bit_of(const Loop *loop, const Value *array)
{
    for (int number = 0; number < loop->narrays; number++)
        if (is_number(loop, number, array)) return 1u << number;
    return 0;
}

bool
loop_carries(const Interp *in, const Value *array)
{
    unsigned bit = bit_of(in->loop, array);
    bool carried = true;
    for (const Turn *turn = in->turn; turn != NULL; turn = turn_around(turn))
        carried = carried && (turn->writes & bit) != 0;
    return carried;
}

Answer
loop_writes(Interp *in, Value *array)
{
    LoopWrite write;
    unsigned bit = bit_of(in->loop, array);
    if (loop_carries(in, array)) return ANSWER_YES;
    Answer noted = note_place(in, array, &write);
    if (noted != ANSWER_YES) return noted == ANSWER_NO ? made_in_turn(in, array) : noted;
    for (const Turn *turn = in->turn; turn != NULL; turn = turn_around(turn)) {
        if ((turn->writes & bit) != 0) continue;
        write.loop = loop_name(turn->of, turn->shape->top);
        Answer answer = learn_write(in, &write);
        if (answer == ANSWER_ERROR) return answer;
        if (answer == ANSWER_NO) return not_before(in, array);
    }
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

Answer
loop_learn_change(Interp *in, Value *list, const RowsForm *form)
{
    LoopWrite write;
    bool learnt = false;
    Answer noted = note_place(in, list, &write);
    if (noted != ANSWER_YES) return noted == ANSWER_NO ? made_in_turn(in, list) : noted;
    write.changes = true;
    write.form = *form;
    for (const Turn *turn = in->turn; turn != NULL; turn = turn_around(turn)) {
        write.loop = loop_name(turn->of, turn->shape->top);
        Answer answer = learn_change(in, &write);
        if (answer == ANSWER_ERROR) return answer;
        learnt = learnt || answer == ANSWER_YES;
    }
    if (!learnt) return not_before(in, list);
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

/* ---- attributes ---- */

static bool
is_from_before(const Turn *turn, const Value *object)
{
    return object->source != NO_SOURCE || object->serial < turn->made;
}

static bool
is_carried(const Turn *turn, const Value *object, PyObject *name)
{
    for (int i = 0; i < turn->nattributes; i++)
        if (turn->attributes[i].object == object && turn->attributes[i].name == name) return true;
    return false;
}

/* ANSWER_NO: it was learnt, and could not be carried. */
static Answer
learn_attribute(Interp *in, const LoopStored *stored)
{
    Marks *marks = in->attempt.learn;
    for (int i = 0; i < marks->loop_attributes.len; i++) {
        const LoopStored *known = &marks->loop_attributes.at[i];
        if (loop_is(&known->object.loop, &stored->object.loop) && known->name == stored->name &&
            same_place(&known->object, &stored->object))
            return ANSWER_NO;
    }
    bool failed = PyList_Append(marks->keep, stored->name) < 0 ||
                  VEC_PUSH(in->attempt.learn_arena, &marks->loop_attributes, *stored) < 0;
    return failed ? ANSWER_ERROR : ANSWER_YES;
}

/* What is not carried; where the body stores it by itself, that may be on a side that is seldom
   taken (loop_side.c). */
static Answer
not_carried(Interp *in, Value *object, PyObject *name)
{
    if (in->top != in->turn->of) return ANSWER_NO;
    return interp_break(in, BREAK_UNROLL, "a store to the attribute '%s' of %s", text_of_str(name),
                        value_named(in, object));
}

Answer
loop_attribute_stored(Interp *in, Value *object, PyObject *name, bool slot, const Value *value)
{
    bool before = false, carried = true;
    for (const Turn *turn = in->turn; turn != NULL; turn = turn_around(turn)) {
        if (!is_from_before(turn, object)) continue;
        before = true;
        carried = carried && is_carried(turn, object, name);
    }
    if (!before) return ANSWER_NO;
    bool number = value != NULL && value_is_number(in, value);
    if (carried && number) return ANSWER_YES;
    bool has_dict = object->kind == V_OBJECT && object->attributes != NULL;
    LoopStored stored = {.name = name, .slot = slot};
    Answer noted = number && !has_dict ? note_place(in, object, &stored.object) : ANSWER_NO;
    if (noted != ANSWER_YES) return noted == ANSWER_NO ? not_carried(in, object, name) : noted;
    bool learnt = false;
    for (const Turn *turn = in->turn; turn != NULL; turn = turn_around(turn)) {
        if (!is_from_before(turn, object) || is_carried(turn, object, name)) continue;
        stored.object.loop = loop_name(turn->of, turn->shape->top);
        Answer answer = learn_attribute(in, &stored);
        if (answer != ANSWER_YES)
            return answer == ANSWER_NO ? not_carried(in, object, name) : answer;
        learnt = true;
    }
    if (!learnt) return ANSWER_NO;
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

LoopAttribute *
loop_attribute(Body *b, int slot)
{
    for (int i = 0; i < b->nattributes; i++)
        if (LOOP_ATTRIBUTE + b->attribute[i].number == slot) return &b->attribute[i];
    return NULL;
}

static void
add_local(Body *b, const LoopAttribute *attribute)
{
    Scan *scan = &b->scan;
    int i = scan->nslots++;
    scan->slot[i] = LOOP_ATTRIBUTE + attribute->number;
    scan->read_first[i] = scan->read_end[i] = scan->read_after[i] = true;
    b->attribute[b->nattributes++] = *attribute;
}

Answer
loop_attributes_begin(Interp *in, Body *b)
{
    const Marks *marks = in->attempt.marks;
    LoopName loop = loop_name(in->top, b->scan.number);
    for (int i = 0; i < marks->loop_attributes.len && b->scan.nslots < LOCALS; i++) {
        const LoopStored *stored = &marks->loop_attributes.at[i];
        if (!loop_is(&stored->object.loop, &loop)) continue;
        LoopAttribute a = {.name = stored->name, .slot = stored->slot, .number = i};
        a.object = find_place_again(in, &stored->object);
        if (a.object == NULL && PyErr_Occurred()) return ANSWER_ERROR;
        if (a.object == NULL || (a.object->kind != V_OBJECT && a.object->kind != V_INSTANCE))
            continue;
        TRY(own_find(in, a.object, a.name, a.slot, false, &a.start));
        if (a.start == NULL || !value_is_number(in, a.start)) continue;
        if (in->loop == NULL) TRY(own_store(in, a.object, a.name, a.slot, a.start));
        add_local(b, &a);
    }
    return ANSWER_YES;
}

Answer
loop_attributes_end(Interp *in, Body *b)
{
    for (int i = 0; i < b->nattributes; i++) {
        LoopAttribute *a = &b->attribute[i];
        TRY(own_find(in, a->object, a->name, a->slot, false, &a->now));
        TRY(own_put(in, a->object, a->name, a->slot, a->start));
    }
    return ANSWER_YES;
}
