/* Inside capture/, highest layer: following instructions, calls, loops, branches whose arms meet
   again, and how a capture ends. */
#ifndef PYCOMPILE_CAPTURE_CONTROL_H
#define PYCOMPILE_CAPTURE_CONTROL_H

#include "../objects/objects.h"

extern const KindOfValue value_kinds[]; /* by ValueKind; given to Interp.kinds */
extern const Above things_above;
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

/* ---- interp.c ---- */
/* Follows `activation` until it returns: its result in *out. */
Answer interp_run(Interp *in, Activation *activation, Value **out);
/* Follows the top activation until it is at the Instr `number`, or returns. */
Answer interp_until(Interp *in, int number);
Activation *activation_new(Interp *in, const Decoded *decoded);
const Decoded *decoded_for(Interp *in, PyCodeObject *code); /* NULL with the error set */

/* ---- stack.c: instructions that move values and make containers ---- */
Answer follow_stack(Interp *in, const Instr *instr);

/* ---- operators.c: operators on any two values ---- */
Answer operator_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer operator_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer operator_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer operator_is(Interp *in, Value *left, Value *right, bool *out);
Answer operator_contains(Interp *in, Value *item, Value *container, bool *out);
Answer operator_subscript(Interp *in, Value *object, Value *key, Value **out);
Answer operator_store_subscript(Interp *in, Value *object, Value *key, Value *value);
Answer operator_delete_subscript(Interp *in, Value *object, Value *key);

/* ---- jumps.c: jumps, truth, branches ---- */
Answer follow_jump(Interp *in, const Instr *instr);

/* ---- call.c: dispatch; call_inlined.c: argument binding, inlining ---- */
Answer follow_call(Interp *in, const Instr *instr);
Answer call_inlined(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out);
Answer call_const(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* Adds what this layer follows by identity to the table of core/callables.c. */
int control_callables(void);
Answer call_method(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);
Answer call_builtin_method(Interp *in, Value *method, int nargs, Value *const *args,
                           PyObject *kwnames, Value **out);
Answer call_object(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);
Answer call_node(Interp *in, Value *node, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out);

/* ---- loop.c: for over a range with element reads and writes, kept as a loop region ---- */
/* At a FOR_ITER whose iterator is a range: ANSWER_YES followed the whole loop as one region node
   and moved on to its exit; ANSWER_NO: not of that form, unroll it. */
Answer capture_loop(Interp *in, Value *iterator);
Answer loop_element_load(Interp *in, Value *array, Value *key, Value **out);
Answer loop_element_store(Interp *in, Value *array, Value *key, Value *value);

/* ---- loop_either.c: numbers whose type depends on whether an inner loop makes a turn ---- */
/* Before a division in a kept loop: a divisor that is Python's must not be zero, where Python's
   float would raise and NumPy's would warn. */
Answer loop_divides(Interp *in, Value *divisor);
/* `top`: the outermost loop's node.  ANSWER_NO: the type would matter. */
Answer either_is_harmless(Interp *in, Loop *loop, NodeId top);

/* ---- world.c: the state before the arms, and its changes by an arm ---- */
/* 0, or -1 with the error set. */
int world_save(Interp *in, World *world);
/* Has nothing changed that others can see, except for effects that can be made conditional, and
   nothing that cannot be restored? */
bool world_is_pure(Interp *in, const World *world);
/* Are all values from before unchanged: no list longer, no dict with another item? */
bool world_is_same(const World *world);
/* Records the values that changed since, and restores everything. */
int world_take_back(Interp *in, const World *world, World *changed);

/* ---- merge.c ---- */
/* At a branch whose condition depends on an array.  ANSWER_YES: both arms were followed, and
   capture continues where they meet; ANSWER_NO: they are not merged. */
Answer branch_merge(Interp *in, int on_true, int on_false, Value *condition, int depth_true,
                    int depth_false);
/* Why the current branch ends the graph: static text, or NULL. */
const char *branch_why(Interp *in);
/* ---- loop_why.c: why a loop of the bottom activation did not stay a loop ---- */
/* Notes it for the loop of the FOR_ITER `head`; NO, or ERROR. */
Answer loop_not_kept(Interp *in, int head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same: because of its Instr `number`. */
Answer loop_has(Interp *in, int head, int number);
/* What is known of the loop that begins at `head`. */
const char *loop_why(const Interp *in, int head);

/* ---- build.c: values as Builds ---- */
/* NO_BUILD: error set, or in->break_code set. */
BuildId build_value(Interp *in, Value *value);
/* Builds of `n` values, some of which may be NULL (absent); NULL when one fails. */
BuildId *build_all(Interp *in, int n, Value *const *values);
BuildId build_add(Interp *in, const Build *build);
BuildId build_of_kind(Interp *in, BuildKind kind, PyObject *object, int n, Value *const *values);
/* Breaks: the value has no object that the plan can make. */
BuildId cannot_build(Interp *in, Value *value);

/* ---- build_array.c ---- */
/* A V_NODE: a number or an array. */
BuildId build_node(Interp *in, Value *value);

/* ---- exit.c: how a graph ends ---- */
Answer exit_return(Interp *in, Value *result);
Answer exit_break(Interp *in, int number);
Answer exit_branch(Interp *in, Value *condition, int on_true, int on_false);

#endif
