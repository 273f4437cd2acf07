/* Attributes that the body of a kept loop stores, in methods that it calls or by itself:

     self.z1 = b1 * x - a1 * y + self.z2

   An attribute with a number, of an object from before the loop, is carried as a local is.  It is
   found at the store, and learnt for each loop around that does not carry it; in the next attempt
   it is one more local from where the loop begins.  There it is stored once, outside of the loop,
   so that there is one effect, which has the number behind the loop in the end: others see that
   at each exit, and nothing of a run that is undone.

   Only an attribute that the object has itself before the loop is carried: one that a turn makes
   would not be there where no turn is made. */
#include "loop.h"

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
learn(Interp *in, const LoopStored *stored)
{
    Marks *marks = in->attempt.learn;
    for (int i = 0; i < marks->loop_attributes.len; i++) {
        const LoopStored *known = &marks->loop_attributes.at[i];
        if (loop_is(&known->object.loop, &stored->object.loop) && known->name == stored->name &&
            loop_same_place(&known->object, &stored->object))
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
    for (const Turn *turn = in->turn; turn != NULL; turn = turn->around) {
        if (!is_from_before(turn, object)) continue;
        before = true;
        carried = carried && is_carried(turn, object, name);
    }
    if (!before) return ANSWER_NO;
    bool number = value != NULL && value_is_number(in, value);
    if (carried && number) return ANSWER_YES;
    bool has_dict = object->kind == V_OBJECT && object->attributes != NULL;
    LoopStored stored = {.name = name, .slot = slot};
    Answer noted = number && !has_dict ? loop_place_note(in, object, &stored.object) : ANSWER_NO;
    if (noted != ANSWER_YES) return noted == ANSWER_NO ? not_carried(in, object, name) : noted;
    bool learnt = false;
    for (const Turn *turn = in->turn; turn != NULL; turn = turn->around) {
        if (!is_from_before(turn, object) || is_carried(turn, object, name)) continue;
        stored.object.loop = loop_name(turn->of, turn->shape->top);
        Answer answer = learn(in, &stored);
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
    for (int i = 0; i < marks->loop_attributes.len && b->scan.nslots < MOST; i++) {
        const LoopStored *stored = &marks->loop_attributes.at[i];
        if (!loop_is(&stored->object.loop, &loop)) continue;
        LoopAttribute a = {.name = stored->name, .slot = stored->slot, .number = i};
        a.object = loop_place_find(in, &stored->object);
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
