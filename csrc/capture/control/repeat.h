/* Private to control/repeat*.c: a loop over whole arrays while it is captured. */
#ifndef PYCOMPILE_CAPTURE_REPEAT_H
#define PYCOMPILE_CAPTURE_REPEAT_H

#include "loop.h"

/* Memory from before the loop that turns write. */
typedef struct {
    int storage;
    NodeId first, last; /* the version before the loop, and the one that the turn leaves */
} TurnedStorage;

/* A local that has the same array before each turn, or one of a few that turns pass on, which turns
   write. */
typedef struct {
    int slot;
    Value *array;
    bool alone; /* nobody else has the array, or a view of it */
    int next;   /* the object that the local has behind a turn */
} KeptObject;

/* A local that has a view of one memory in each turn, at another place. */
typedef struct {
    int at;      /* in what is carried: the place */
    int storage; /* that it is a view of … */
    Type type;   /* … at some place */
} CarriedView;

/* In place of a slot: how many turns were made, modulo the number after which all is as before;
   what the array in a local has in it, by the local's place among the objects. */
enum { CARRIED_TURNS = -2, CARRIED_CONTENTS = -3 };

typedef struct {
    Scan scan;
    const Value *iterator; /* NULL: a `while` */
    Value *range;          /* it goes over, or that of its positions */
    RegionId region;
    VEC(NodeId) args; /* start, stop, step, and what is carried at first */
    VEC(NodeId) results;
    VEC(int) slots;            /* by what is carried; -1: the number of the exit */
    VEC(TurnedStorage) turned; /* carried as versions */
    VEC(TurnedStorage) moved;  /* as values, since turns pass the arrays on */
    VEC(KeptObject) objects;
    VEC(CarriedView) views;
    int made;        /* the first value that the turn made */
    int order;       /* after so many turns each of these is where it was */
    int nread;       /* of these, the locals that a turn reads first */
    int64_t step;    /* of that */
    const char *why; /* it is none, where that is known; or NULL */
    BreakHint hint;
} Repeat;

/* repeat_carry.c: a param of the type. */
NodeId repeat_param(Interp *in, const Repeat *r, NodeId like);
/* Can arrays of the type be carried? */
bool repeat_carries(const Graph *g, const Type *type);
Answer repeat_add_result(Interp *in, Repeat *r, NodeId node);

/* The array and, where branches have chosen it, those that it may be. */
typedef VEC(NodeId) Nodes;
int repeat_find_chosen(Interp *in, NodeId array, Nodes *out);

/* repeat_learn.c: what attempts have found out about the loop; NULL: it is not to be tried. */
LoopNote *repeat_note(const Interp *in, int number);
/* The loop is to be tried. */
int repeat_note_new(Interp *in, const LoopShape *shape);
/* The loop is not tried again; an empty `why`: for a reason that is not told. */
Answer repeat_refuse(Interp *in, const Repeat *r, const char *why);
/* What began as a number of Python's does not stay one of its class: it may have another one behind
   the first turn, which is followed by itself then. */
Answer repeat_begin_later(Interp *in, const Repeat *r, NodeId first);

/* An attempt has found that a turn writes the array of a local that would be carried: it is tried
   again with the local as one whose array stays.  Else nothing is learnt.  ANSWER_BREAK. */
Answer repeat_learn_object(Interp *in, const Repeat *r);
/* The same where a turn passes the array of a local that would be carried on to one whose array
   stays.  ANSWER_NO: it is another array. */
Answer repeat_learn_passed(Interp *in, const Repeat *r, const Value *array);
bool repeat_object_stays(const Interp *in, const Repeat *r, int slot);

/* repeat_objects.c: the local keeps its array, or gets that of another such local. */
Answer repeat_keep_object(Interp *in, Repeat *r, int slot);
void repeat_put_objects(Interp *in, const Repeat *r);
/* Behind the body: ANSWER_NO: another array is in one of them. */
Answer repeat_find_order(Interp *in, Repeat *r);
/* Where the arrays change places, what is in them is carried, and the number of turns. */
Answer repeat_carry_moved(Interp *in, Repeat *r);
/* Behind the loop: which array is in which local, and what is in it.  `repeat`: the node. */
Answer repeat_take_objects(Interp *in, const Repeat *r, NodeId repeat, Value *turns);
/* Is it the memory of an array that turns pass on? */
bool repeat_moves(Interp *in, const Repeat *r, int storage);

/* repeat_views.c: is the local's value a view that can be carried?  *place is where it begins. */
Answer repeat_carries_view(Interp *in, Repeat *r, Value *value, NodeId *place);
/* What is carried in place `at`; NULL: no view. */
const CarriedView *repeat_view(const Repeat *r, int at);
/* The views in the body, of the params that are their places. */
Answer repeat_make_views(Interp *in, const Repeat *r);
/* Where the view begins that the turn has left. */
Answer repeat_view_left(Interp *in, const Repeat *r, const CarriedView *view, NodeId *place);

/* repeat_written.c: is it, or may it be, memory that turns write? */
Answer repeat_is_turned(Interp *in, const Repeat *r, NodeId array);
/* Takes the writes of the turn back, and notes them as versions that are carried. */
Answer repeat_take_turned(Interp *in, Repeat *r, const World *before);
/* What in the body reads the version from before the loop reads the param instead. */
int repeat_redirect(Interp *in, RegionId body, NodeId before, NodeId param);
/* The versions are carried behind all else. */
Answer repeat_carry_turned(Interp *in, Repeat *r);
/* Behind the loop the memory is as the last turn has left it. */
Answer repeat_leave_turned(Interp *in, const Repeat *r, NodeId repeat);

#endif
