/* Private to capture/: branches on the value of an array whose arms meet again (join.c, merge.c,
   world.c). */
#ifndef PYCOMPILE_CAPTURE_BRANCH_H
#define PYCOMPILE_CAPTURE_BRANCH_H

#include "interp.h"

enum { JOIN_NONE = -1 }; /* the number of Instrs (one past the last) is the exit */

/* ---- join.c ---- */
/* The Instr at which the ways out of `number` meet, Decoded.count for the function's return,
   JOIN_NONE.  0, or -1 with the error set. */
int branch_join(Interp *in, const Decoded *d, int number, int *out);
/* Every way from `at` raises, and before long. */
bool branch_raises(const Decoded *d, int at);
bool branch_in_try(const Decoded *d, int at);
/* May the slot be read from `at` on before it is stored?  -1 with the error set. */
int branch_reads(Interp *in, const Decoded *d, int at, int slot);

/* ---- world.c: the state that an arm starts from and what it made of it ---- */

typedef struct {
    Value *value;
    ValueKind kind;
    NodeId node;
    int nitems;
    Value **items; /* a copy */
    Value *of;
    int64_t position;
    bool mutated;               /* of an iterator: it has ended */
    const Exception *exception; /* a copy */
} State;

typedef struct {
    int nvalues, nslots, neffects, nglobals, nstorages, depth;
    State *states; /* of all values */
    Value **slots;
    Effect *effects; /* all of them; of what an arm changed, its own */
    StoredGlobal *globals;
    Storage *storages;
    NodeId nodes; /* the graph's next node */
} World;

/* 0, or -1 with the error set. */
int world_save(Interp *in, World *world);
/* Did anything change that others can see, but for effects that can be left out, or that cannot be
   put back? */
bool world_is_pure(Interp *in, const World *world);
/* Are all values from then as they were: no list longer, no dict with another item? */
bool world_is_same(const World *world);
/* The values that changed since, as they are now, and everything back to what it was. */
int world_take_back(Interp *in, const World *world, World *changed);

/* ---- merge.c ---- */
/* At a branch whose condition depends on an array.  ANSWER_YES: both arms were followed, and this
   is where they meet; ANSWER_NO with BREAK_NONE: they are not merged. */
Answer branch_merge(Interp *in, int on_true, int on_false, Value *condition, int depth_true,
                    int depth_false);
/* The local was left behind by a branch and is wanted after all: start again. */
Answer branch_wants(Interp *in, const Value *lost);
/* Where the array is one of two that a merged branch chooses from, or the number one of others, the
   branch ends the graph: `why` is static text. */
Answer branch_aliased(Interp *in, NodeId node, const char *why);
/* The same of what two values are, numbers or arrays, whose identity is asked for. */
Answer branch_identity(Interp *in, const Value *left, const Value *right);
/* The number is one of others, by a call followed now: which of them, the run tells. */
int branch_chosen(Interp *in, NodeId number);
/* The branch ends the graph, the next time.  Always ANSWER_NO, or the error. */
Answer branch_learn_apart(Interp *in, PyCodeObject *code, int number, const char *why);
/* Why the branch at which capture is ends the graph: static text, or NULL. */
const char *branch_why(Interp *in);
/* ---- choice.c ---- */
/* A V_CHOICE; NULL with the error set. */
Value *choice_new(Interp *in, Value *test, Value *if_so, Value *if_not);
/* More is asked of the value than to be kept and given away. */
Answer choice_asked(Interp *in, const Value *value);
/* The V_CHOICE of the memory that the array lies in, or NULL. */
Value *choice_of(const Interp *in, NodeId node);
/* ---- merge.c ---- */
/* When the number leaves it is that one of the two, as an object. */
Answer branch_keeps(Interp *in, Value *number, Value *if_so, Value *if_not, Value *test);
/* The identity of what the call followed now chose is asked for: it must not be one number. */
bool branch_apart(Interp *in);
static inline Answer
break_choice(Interp *in, const char *name)
{
    return interp_break(in, BREAK_OPERATOR, "identity of what %s() chose", name);
}

#endif
