/* Private to control/loop*.c and repeat.c: what the instructions of a loop say, and a loop while it
   is captured. */
#ifndef PYCOMPILE_CAPTURE_LOOP_H
#define PYCOMPILE_CAPTURE_LOOP_H

#include "control.h"

enum {
    LOOP_ATTRIBUTE = 1
        << 20, /* an attribute in place of a local, by its number in Marks.loop_attributes */
    MOST = LOOP_ARRAYS,             /* arrays that a loop writes */
    LOCALS = 128,                   /* that it stores, and attributes */
    RESTS = REST_PARTS * LOOP_DEEP, /* of the iterators of the loops inside */
    CARRIED = LOCALS + 2 + RESTS,   /* all that a loop carries, but for arrays */
};
typedef struct {
    LoopShape *shape;
    int number; /* the Instr at which the loop is entered: its name in what is learnt */
    int nslots, slot[LOCALS];      /* locals that the body stores */
    int narrays, array_slot[MOST]; /* locals whose array the body writes elements of … */
    int array_at[MOST];            /* … and the first Instr that does */
    bool read_first[LOCALS];       /* an iteration may read it before it stores it */
    bool read_end[LOCALS];         /* after the loop, when no iteration was made */
    bool read_after[LOCALS];       /* it may be read after the loop */
    int subscripts;
    int refused;     /* the Instr that has not the form, or 0 … */
    const char *why; /* … and the reason, where that is not the Instr itself */
    int shared;      /* the Instr stores to this variable, or into it, which functions share; -1 */
} Scan;

/* What a loop carries beside locals: the number of the exit; where there are side exits, the next
   item of its range, and what is left of the ranges of the loops inside of it (Turn.rest). */
typedef enum { CARRIED_EXIT = -1, CARRIED_NEXT = -2, CARRIED_REST = -3 } CarriedBeside;

/* A loop while it is captured. */
typedef struct {
    Scan scan;
    const Value *iterator; /* NULL: a `while` */
    Loop *loop;            /* of the outermost loop */
    NodeId node;
    RegionId region, outer;
    Value *position;                 /* in the range, of the turn that is followed */
    Turn *turn;                      /* as that has ended */
    NodeId args[3 + CARRIED + MOST]; /* start, stop, step; what is carried; versions of arrays */
    int ncarried, carried[CARRIED];  /* locals; negative: a CarriedBeside */
    bool keeps_type[CARRIED];        /* without a turn the carried local has another type … */
    bool keeps_int[CARRIED];         /* … an int in place of a float, or the reverse */
    bool is_zero[CARRIED];           /* … an int or float that is 0 in place of a complex number */
    bool unset[CARRIED];             /* has no value before the loop */
    bool was_weak[CARRIED];          /* … and was Python's number */
    LoopClass class[CARRIED];
    bool leaves;
    int nattributes;
    LoopAttribute attribute[MOST];
    int narrays, array[MOST]; /* indices into loop->array */
    bool hides[CARRIED];      /* a turn does not see what the turn before left in the local */
    bool needs_a_turn;
    bool asserts_a_turn; /* an inner loop without one leaves the outermost */
} Body;

/* Place of `what` in the list, or -1. */
static inline int
find(const int *at, int n, int what)
{
    for (int i = 0; i < n; i++)
        if (at[i] == what) return i;
    return -1;
}

static inline const char *
loop_slot_text(Interp *in, int slot)
{
    if (slot >= LOOP_ATTRIBUTE)
        return text_of_str(in->attempt.marks->loop_attributes.at[slot - LOOP_ATTRIBUTE].name);
    return text_of_str(code_slot_name(in->top->decoded->code, slot));
}

/* loop_types.c: the types of what is carried. */
bool loop_same_scalar(const Type *a, const Type *b);
/* What a turn leaves of an int that is carried without a sign (DT_U64), as that. */
Answer loop_widened(Interp *in, NodeId carried, NodeId *number);
/* The initial value of the carried local scan.slot[i], as a node of the type that the local keeps.
 */
Answer loop_carried_start(Interp *in, Body *b, int i);
/* A carried local has another type after the body than before it: that is learnt, or refuses the
   loop. */
Answer loop_changes_type(Interp *in, int number, int slot, const Type *from, const Type *type);
/* Refuses a loop that carries what began as Python's number and meets numbers of fewer bits. */
Answer loop_meets_narrow(Interp *in, const Body *b);

/* loop.c: why elements of the local cannot be written in the loop, or NULL. */
const char *loop_unfit_array(Interp *in, const Scan *scan, int slot, Value *array);

/* loop_refuse.c: */
/* A node of the region that has no native form in a loop; NO_NODE: all have. */
NodeId loop_odd_node(const Graph *g, RegionId region);
/* Refuses the loop for such an operation. */
Answer loop_learn_odd(Interp *in, int number, NodeId odd);
/* As loop_learn_odd, because the body prints, stores an attribute (effects from number `first` on),
   or changes a list that was made before (Turn.change). */
Answer loop_learn_effect(Interp *in, int number, int first, const Turn *turn);

/* loop_marks.c: what attempts have found out about loops of the top activation. */
static inline LoopName
loop_name(const Activation *of, int number)
{
    return (LoopName){.code = of->decoded->code, .calls = of->calls, .number = number};
}

static inline bool
loop_is_of_code(const LoopName *name, const LoopName *loop)
{
    return name->code == loop->code && name->number == loop->number;
}

static inline bool
loop_is(const LoopName *name, const LoopName *loop)
{
    return loop_is_of_code(name, loop) && name->calls == loop->calls;
}
/* Why the loop is unrolled, as an attempt found; NULL: it is to stay one. */
const char *loop_refused(const Interp *in, int number);
/* As loop_refused, and else why it was not tried in this attempt. */
const char *loop_note(const Interp *in, int number);
/* 0, or -1 with the error set.  `why` is in the arena of what is learnt. */
int loop_learn_refusal(Interp *in, int number, char *why);
/* Does the loop stay one though it reads no element? */
bool loop_is_of_numbers(const Interp *in, int number);
/* The type to which the loop changes a local; NULL: none that is known. */
const LoopType *loop_learnt_type(const Interp *in, const LoopName *loop, int slot);
/* ANSWER_NO: another one is known. */
Answer loop_learn_type(Interp *in, const LoopName *loop, int slot, const Type *type);

/* loop_written.c: the arrays that the loop writes in functions that it calls, as attempts found, up
   to MOST; how many, or -1 with the error set. */
typedef struct {
    Value *array;
    const LoopWrite *learnt;
} LoopWritten;
int loop_written(Interp *in, int number, LoopWritten *out);
/* Do all loops that are followed carry it? */
bool loop_carries(const Interp *in, const Value *array);
/* Starts capture again, with a list of such items that the loops change. */
Answer loop_learn_change(Interp *in, Value *list, const RowsForm *form);
/* Are they one list, or one generator? */
bool loop_is_same(const Value *a, const Value *b);

/* The attributes that the loop carries, behind the locals that it stores. */
Answer loop_attributes_begin(Interp *in, Body *b);
/* What the body left in them, which have again what they had before it. */
Answer loop_attributes_end(Interp *in, Body *b);
/* NULL: it is a local. */
LoopAttribute *loop_attribute(Body *b, int slot);

/* loop_side.c: the value that the turn leaves in a place of what is carried beside locals, but for
   the number of the exit. */
Answer loop_beside(Interp *in, const Body *b, int carried, Value **out);
/* Begins to carry that. */
Answer loop_carry_beside(Interp *in, Body *b);
/* Takes what was carried so, behind the loop. */
void loop_take_beside(int carried, Value *value, Leaving *leaving);

/* The streams of a loop behind it: how many, and in how many turns CPython would draw in less time.
 */
typedef struct {
    int count, few;
} StreamsClosed;

/* loop_append.c: */
bool loop_is_list(Interp *in, Value *value);
/* The loop carries what it appends to the list, or the list itself; `learnt`: how it is used. */
Answer loop_carry_list(Interp *in, Body *b, Value *list, const LoopWrite *learnt);
/* The numbers of an item as nodes; NO: it is neither a number nor a tuple of a few. */
Answer loop_item_nodes(Interp *in, Value *item, RowsForm *form, NodeId *nodes);
/* The number of the list among those of the loop; -1: it has it not. */
int loop_list_number(const Loop *loop, const Value *list);
/* Was the list made before the outermost loop? */
bool loop_is_from_before(const Interp *in, const Value *list);

/* loop_list.c: what a list begins with that the loop changes, in places of Loop. */
Answer loop_open_list(Interp *in, Loop *loop, int number, Value *list, const LoopWrite *learnt);
/* An item of this form is added, or put in place: the words, the tag first.  *moved: it is an item
   of the list.  May start capture again. */
Answer loop_list_words(Interp *in, int number, Value *item, NodeId *words, bool *moved);
/* Makes the form one of items of both; false: there is none. */
bool loop_form_join(RowsForm *form, const RowsForm *other);
/* Has each number one word, and Python's a class that a word tells? */
bool loop_form_fits(const RowsForm *form);
/* A step that makes an object of the arguments. */
Answer loop_object_step(Interp *in, PyObject *callable, int nargs, const NodeId *args, NodeId *out);
/* Notes of a number that may be Python's or NumPy's how the tag tells which it is. */
Answer loop_note_class(Interp *in, Value *number, Value *tag, int place, DType dtype);
/* Behind the outermost loop: an effect gives it its new items. */
Answer loop_close_list(Interp *in, const Loop *loop, int number);

/* loop_dict.c: is it a dict that a loop may change? */
bool loop_is_dict(const Value *value);
/* As loop_open_list, the form and the object of which the steps are made. */
Answer loop_open_dict(Interp *in, Value *dict, RowsForm *form, NodeId *out);
/* Does that with the dict number `number` of the loop. */
Answer loop_dict(Interp *in, int number, const ListUse *use, Value **out);
/* At commit it gets these items, another dict. */
Answer loop_fill_dict(Interp *in, Value *dict, Value *items);

/* loop_append.c: from here on nothing is known of the lists' items. */
void loop_lists_grow(const Body *b);
/* Behind the outermost loop: its lists become longer at commit. */
Answer loop_extend_lists(Interp *in, const Body *b, const StreamsClosed *closed);

/* loop_draw.c: the loop carries the stream of a generator. */
Answer loop_carry_stream(Interp *in, Body *b, Value *generator);
/* The next number of it. */
Answer loop_draw_number(Interp *in, Value *generator, ArrayDraw function, int n,
                        const NodeId *numbers, Form form, Value **out);
/* Behind the outermost loop: the generators get the states that its draws have left. */
Answer loop_close_streams(Interp *in, const Loop *loop, StreamsClosed *closed);

/* loop_calls.c: 1 if the body of the top activation's loop may call functions that read or write
   elements, 0 if not; -1 with the error set. */
int loop_calls_use_elements(Interp *in, const LoopShape *shape);

/* loop_why.c: says that a local has one type before the loop or a turn, and another one after it;
   NULL with the error set. */
const char *loop_type_changes(Interp *in, int slot, const Type *from, const Type *to);

/* Notes for a loop that has not the form because of an Instr that it is not kept; NO, or ERROR. */
Answer loop_has(Interp *in, const Scan *scan);

/* loop_items.c: what a kept loop goes over. */
bool loop_is_range(const Value *iterator);
/* One that a loop can go over of which turns have been followed. */
bool loop_is_begun(Interp *in, const Value *iterator);
/* Does it read elements of arrays? */
bool loop_reads_items(Interp *in, const Value *iterator);
/* Can the program reach the iterator, or one that it is made of?  It would see how far that is. */
Answer loop_iterator_is_reached(Interp *in, const Value *iterator, bool *out);
/* The range itself, or that of the positions. */
Answer loop_range(Interp *in, const Value *iterator, Value **out);
/* Where it begins in an array. */
Answer loop_first_position(Interp *in, const Value *iterator, Value **out);
/* Can it be left and entered again?  It is over whole arrays and ranges. */
bool loop_can_go_on(Interp *in, const Value *iterator);
/* What one of a loop inside has left, for the graph around the outermost loop; NO: it is made of
   what is not known there. */
Answer loop_iterator_left(Interp *in, const Value *iterator, Rest *rest);
/* An iterator over the same, of which the item at the position is the next.  `number`: of that in
   its enumerate; NULL: as that counts. */
Answer loop_iterator_at(Interp *in, const Value *iterator, Value *position, Value *number,
                        Value **out);
/* Guards that it makes a turn, or none. */
Answer loop_makes_a_turn(Interp *in, const Value *iterator, bool *out);
/* The item at a position, in the body. */
Answer loop_item(Interp *in, const Value *iterator, Value *position, Value **out);

/* May the instruction stand in the body of a kept loop? */
bool loop_follows(const Instr *instr);
/* 1 when the loop has the form, 0 when not (then `refused` and `why` are set), -1. */
int loop_scan(Interp *in, const Decoded *d, LoopShape *shape, bool reads_items, Scan *scan);
/* As loop_scan, for what it stores alone, whatever its instructions are. */
int loop_scan_stores(Interp *in, const Decoded *d, LoopShape *shape, Scan *scan);

#endif
