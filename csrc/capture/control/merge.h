/* Private to merge*.c and choice.c: a branch whose arms are being put together. */
#ifndef PYCOMPILE_CAPTURE_MERGE_H
#define PYCOMPILE_CAPTURE_MERGE_H

#include "control.h"

typedef struct {
    Value *x, *y, *merged;
} Pair;

/* A value whose node is made once the results of the two arms have nodes. */
typedef struct {
    Value *value; /* gets the node */
    Op op; /* OP_result: of result `index`; a view of args[0]; OP_choose of args; OP_extern: a
              number of unknown class, of args; OP_scatter: the version args[1] of the storage
              `index` under the condition args[0] (merge_writes.c) */
    int index;
    Value *args[3];
    Type type;
    bool either;      /* its class depends on the arm … */
    bool ints;        /* … and it may be an int in place of a float */
    const char *name; /* Merge.name */
} Waiting;

/* A value of an arm, or the memory `storage` of one (with x NULL), and its value in the rest of the
   graph. */
typedef struct {
    int arm;
    const Value *value;
    int storage;
    Value *out;
} Left;

typedef struct {
    Interp *in;
    const Decoded *d;
    int number, join;
    Turn *turn; /* the iteration that the branch is in, or NULL */
    RegionId outer, arm[2];
    NodeId first[2], end; /* nodes of the arms: first[0] .. first[1] .. end */
    int made;             /* values numbered from here on were made in the arms */
    NodeId condition;
    Value *test; /* the same */
    int keep;    /* also merge locals that are not read any more */
    VEC(Pair) pairs;
    VEC(NodeId) result[2];
    VEC(Waiting) waiting; /* in the order in which they get their nodes, after the results */
    VEC(Left) left;
    const char *what; /* for the message: what does not come together */
    bool writes;      /* … an array that an arm writes */
    BreakHint hint;   /* … and what to do about it, or HINT_OF_CODE */
    const char *name; /* … and what is being merged: "'x'"; NULL: an expression's value */
} Merge;

/* ---- merge.c ---- */
/* ANSWER_NO, and notes what for, in static text. */
Answer merge_apart(Merge *m, const char *what);
/* `whose` arm changes an object from before the branch; `changed` is NULL where it is not known. */
Answer merge_changes(Merge *m, const char *whose, Value *changed);
/* As merge_apart, for what the arms left in the variable `name`. */
Answer merge_differ(Merge *m, const char *name, Value *x, Value *y);

/* ---- merge_values.c ---- */
/* ANSWER_NO: they cannot be merged. */
Answer merge_value(Merge *m, Value *x, Value *y, Value **out);
/* Value `out` becomes a result of the cond: nodes[0] of the one arm, nodes[1] of the other. */
Answer merge_result(Merge *m, const NodeId *nodes, Value **out);
/* The value as a node in `region`: an arm, or the region around them. */
Answer merge_node(Merge *m, RegionId region, Value *value, NodeId *out);
bool merge_is_outer(const Merge *m, const Value *value);
/* Of two numbers. */
Answer merge_scalars(Merge *m, Value *x, Value *y, Value **out);
/* Are the constants one for the program? */
bool merge_same_constant(const Value *x, const Value *y);
/* The items of two containers that are alike otherwise. */
Answer merge_items(Merge *m, const State *x, const State *y, Value **items);
/* A waiting number becomes the one that is chosen. */
Answer merge_finish_loose(Merge *m, const Waiting *waiting);

/* ---- merge_states.c ---- */
/* Containers and objects from before the fork that an arm changed.  ANSWER_NO: one of them cannot
   be merged, and is named in what keeps the arms apart. */
Answer merge_changed(Merge *m, const World *before, const World arms[2]);
/* The frame's slots, where the arms meet. */
Answer merge_slots(Merge *m, const World arms[2]);

/* ---- merge_writes.c ---- */
/* Arrays from before the fork that the arms wrote. */
Answer merge_writes(Merge *m, const World *before, const World arms[2]);
/* Makes the version that such an array has behind the branch. */
Answer writes_meet(Merge *m, const Waiting *waiting);

/* ---- choice.c: one of two objects ---- */
/* A value that arm `which` made, for the rest of the graph; if the other arm is taken it is empty.
   ANSWER_NO: it cannot leave the arm. */
Answer arm_leaves(Merge *m, int which, Value *value, Value **out);
/* x where the branch was taken, else y: an array to compute with where their types agree, else a
   value that can only be kept and passed on. */
Answer merge_choice(Merge *m, Value *x, Value *y, Value **out);
Answer merge_texts(Merge *m, Value *x, Value *y, Value **out);
bool choice_is_text(const Value *value);
/* The value, or the array's memory, has left the arm already, as `out`. */
bool arm_has_left(const Merge *m, int which, const Value *value);
Answer arm_left_as(Merge *m, int which, const Value *value, Value *out);
/* The condition `when` of arm `which`, and also `inner`, of a branch in the arm, unless it is NULL.
 */
Answer arm_condition(Merge *m, int which, Value *when, Value *inner, Value **out);
/* The visible effects of the arms, made conditional on the branch. */
Answer merge_effects(Merge *m, const World arms[2]);
/* Makes the node of a value that waited for results. */
Answer choice_finish(Merge *m, const Waiting *waiting);

#endif
