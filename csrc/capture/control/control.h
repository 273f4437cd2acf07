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
    Storage *storages; /* of what an arm changed, as it left them */
    int nwrites;
    ArrayWrite *writes; /* of what an arm changed: its own */
    NodeId nodes;       /* the graph's next node */
} World;

/* ---- alone.c: instructions that are graphs of their own ---- */
Answer end_alone(Interp *in, int number);
extern PyMethodDef alone_methods[];

/* ---- interp.c ---- */
/* Follows `activation` until it returns: its result in *out. */
Answer interp_run(Interp *in, Activation *activation, Value **out);
/* Follows the top activation until it is at the Instr `number`, or returns, or until the iteration
   of a kept loop has ended. */
Answer interp_until(Interp *in, int number);
/* Follows an iteration of a kept loop, from the Instr where the top activation is. */
Answer interp_turn(Interp *in);
Activation *activation_new(Interp *in, const Decoded *decoded);
const Decoded *decoded_for(Interp *in, PyCodeObject *code); /* NULL with the error set */

/* ---- stack.c: instructions that move values and make containers ---- */
Answer follow_stack(Interp *in, const Instr *instr);
/* The locals, which a loop stores, drop what they hold before it. */
Answer locals_go(Interp *in, const int *slots, int count);
/* What the value stack held where capture began and the bottom's Instr has taken off loses a
   reference: breaks where its end runs code, although the Instr has been followed. */
Answer stack_goes(Interp *in, const Instr *instr);

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
/* Goes on at to[0] where the condition is true, at to[1] where not, with so many entries on the
   stack.  A negative one is an exit of Interp.leaving. */
Answer follow_both(Interp *in, Value *condition, const int to[2], const int depth[2]);
/* The break where the instructions that an attempt may follow are spent. */
Answer instructions_spent(Interp *in);

/* ---- call.c: dispatch; call_inlined.c: argument binding, inlining ---- */
Answer follow_call(Interp *in, const Instr *instr);
Answer call_inlined(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out);
/* Guards what an attribute of the function is; NULL: None.  0, or -1 with the error set. */
int call_guard_part(Interp *in, Value *function, const char *name, PyObject *part);
Answer call_const(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* Adds what this layer follows by identity to the table of core/callables.c. */
int control_callables(void);
int derivative_callables(void); /* derivative.c */
/* decompositions.c: adds, where that is not done yet, what may decompose the original; what
   decomposes it, borrowed, or NULL. */
int decompositions_add(PyObject *original);
PyObject *decomposition_of(PyObject *original);
Answer call_method(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);
Answer call_builtin_method(Interp *in, Value *method, int nargs, Value *const *args,
                           PyObject *kwnames, Value **out);
Answer call_object(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);
Answer call_node(Interp *in, Value *node, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out);

/* ---- loop.c: loops with element reads and writes, kept as loop regions ---- */
/* Is it a range, or made of arrays, so that the loop may be kept? */
bool loop_goes_over(Interp *in, const Value *iterator);
/* At a FOR_ITER with such an iterator: ANSWER_YES followed the whole loop as one region node
   and moved on to its exit; ANSWER_NO: not of that form, unroll it. */
Answer capture_loop(Interp *in, Value *iterator);
/* *whole: a `while` is entered at the bottom's current Instr, and was followed in the same way. */
Answer follow_while(Interp *in, bool *whole);
/* Starts capture again, with the loop that is entered at `number` not kept; `why`: unless something
   broke, which then is the reason. */
Answer loop_unkept(Interp *in, int number, const char *why);

/* The loop's node was made before its body: moves it behind what the body added before it. */
void loop_to_end(Graph *g, RegionId region, NodeId loop);

/* loop_written.c: do all loops that are followed carry the array?  Else it is learnt that they do,
   and capture starts again. */
Answer loop_writes(Interp *in, Value *array);
/* The same of Above for attributes. */
Answer loop_attribute_stored(Interp *in, Value *object, PyObject *name, bool slot,
                             const Value *value);

/* loop_append.c: an append in its body to a list from before it; NO: it is no list. */
Answer loop_append(Interp *in, Value *list, Value *item);

/* loop_list.c: what else is done with one. */
Answer loop_list(Interp *in, const ListUse *use, Value **out);

/* loop_draw.c: a draw in its body; NO: it cannot be done there.  Outside, capture may start again
   with a loop that is kept for it. */
Answer loop_draw(Interp *in, Value *generator, const char *name, int nargs, Value *const *args,
                 PyObject *kwnames, Value **out);
/* loop_draw_python.c: the same by a method of random.Random, in Python or in C; NO: it is none. */
Answer loop_draw_python(Interp *in, Value *function, int nargs, Value *const *args,
                        PyObject *kwnames, Value **out);
Answer loop_draw_compiled(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                          Value **out);

/* loop_marks.c: the loops around the current Instr that have no elements are to stay loops, since
   they cannot be unrolled: capture starts again.  Until then a number that such a loop makes may be
   known, as the length or axis of an array has to be.  NO: there is none. */
Answer loop_learn_numbers(Interp *in);

/* Arms in its body leave these in the local.  An int that the loop carries and an np.float64: the
   int's type is learnt to be that, and capture starts again. */
Answer loop_slot_changes(Interp *in, int slot, const Value *x, const Value *y);

/* ---- loop_before.c ---- */
/* The loop, or one around it, uses elements of an array whose shape is not known: starts capture
   again, with a graph that ends before the outermost loop.  `what`: the array, in words.
   ANSWER_NO: no graph can. */
Answer loop_begins_graph(Interp *in, const LoopShape *shape, const char *what);

/* ---- choice.c ---- */
/* A zero of the number's type, as a constant; NULL with the error set. */
Value *choice_zero(Interp *in, const Type *type);

/* ---- repeat.c: loops over whole arrays ---- */
/* The branch, by which the bottom's loop goes on or ends, is on an array's value: the loop is to be
   tried as one.  ANSWER_BREAK: capture starts again with that; NO: it is none, or cannot be. */
Answer repeat_learn(Interp *in);
/* The same of a loop that was to be kept, whose body has what only a repeat's can have. */
Answer repeat_learn_kept(Interp *in, const LoopShape *shape);
/* The same where unrolling the loop around the Instr has come to an end. */
Answer repeat_learn_turns(Interp *in, int at);
/* Has it many steps, other operations than those of which one kernel does several turns? */
bool repeat_has_many_steps(const Graph *g);
/* The same where a plan of unrolled loops would gain nothing, or (`pays`) have many steps. */
Answer repeat_learn_unrolled(Interp *in, bool pays);
/* Capture broke at an Instr of the bottom activation, by a number that a turn of a loop around it
   may take as it comes. */
Answer repeat_learn_break(Interp *in);
/* Why a loop over whole arrays is not one plan, of a variable by its quoted name: its class changes
   in a turn, or a turn may end before it is set.  NULL with the error set. */
const char *repeat_changes(Arena *arena, const char *name, const char *before, const char *behind);
const char *repeat_leaves_unset(Arena *arena, const char *name);
/* Why the loop around the current Instr is none; NULL: it is not known, or there is no such loop.
   0, or -1 with the error set. */
int repeat_refusal(Interp *in, const LoopNote **out);
/* Follows the loop, if it is to be tried; NO: it is not.  `iterator` is NULL for a `while`. */
Answer repeat_keep(Interp *in, LoopShape *shape, const Value *iterator);
/* The same of what is left of a range after the first turn. */
Answer repeat_keep_rest(Interp *in, const Value *iterator);

/* The `while` of which the current Instr begins the second turn, where it is to be tried from there
   on; else *out is NULL.  -1: error set. */
int repeat_begins(Interp *in, LoopShape **out);

/* ---- loop_leave.c: behind a loop ---- */
/* Goes to where the loop was left. */
Answer loop_leave(Interp *in, const Leaving *leaving);
/* As loop_leave, if it is none of the exits before `first`. */
Answer loop_leave_from(Interp *in, int first);
/* The Instr of the loop that leads to the exit which is being followed. */
int loop_left_at(const Interp *in);

/* ---- loop_side.c: side exits of loops ---- */
/* One side of a branch in the body of a kept loop is not followed, and begins at the Instr `start`:
   it may become a side exit.  0, or -1 with the error set. */
int loop_note_side(Interp *in, int start, const Break *why);
/* As loop_note_side, of the side in whose midst the Instr is that keeps the loop from being kept.
 */
int loop_note_side_of(Interp *in, const LoopShape *shape, int number, const char *why);
/* The loops around the current Instr are to be left at the sides that kept them from staying loops:
   capture starts again.  NO: there are none. */
Answer loop_learn_sides(Interp *in);
/* The turn ends at a side exit: keeps what is left of the ranges of loops inside. */
Answer loop_at_side(Interp *in, Turn *turn, int number);
/* Are the iterators over the same things?  NULL: over a range. */
bool loop_goes_over_same(const Value *a, const Value *b);
/* A part of a Rest that is not looked at: of an empty range.  NULL with the error set. */
Value *loop_no_rest(Interp *in, int part);
/* Puts the iterators on the value stack that are there at a side exit. */
Answer loop_put_iterators(Interp *in, const Leaving *leaving, int number);
/* Iterators that have ended, for stack entries that will only be dropped. */
Answer loop_put_ended(Interp *in, int from, int depth);
/* The graph ends behind the outermost loop, which has side exits. */
Answer loop_exit_ways(Interp *in, const Leaving *leaving);
/* The `while` of which the current Instr begins a turn, but for the first, where capture began in
   its midst; else *out is NULL.  -1: error set. */
int loop_begins_turn(Interp *in, LoopShape **out);
/* The iterator of a loop in whose midst capture began; NO: it is none that is known. */
Answer loop_under_way(Interp *in, Value *iterator, Value **out);

/* ---- loop_element.c: elements of arrays in a kept loop's body ---- */
/* Of arrays and their parts; where the key leaves axes, a part. */
Answer loop_element_load(Interp *in, Value *array, Value *key, Value **out);
Answer loop_element_store(Interp *in, Value *array, Value *key, Value *value);
/* The array's version in the loop; NULL: the loop does not write it. */
NodeId *loop_array_version(Interp *in, Value *array);
/* The array as it is now. */
Answer loop_array_now(Interp *in, Value *array, NodeId *out);
/* An index as a node of int64. */
Answer loop_index(Interp *in, Value *key, NodeId *out);
/* The element, or part, at a position that is known to be in bounds. */
Answer loop_item_at(Interp *in, Value *array, Value *position, Value **out);

/* ---- loop_part.c: rows of arrays, in a kept loop's body ---- */
/* The array that the part is of, or the array itself; its first axis, its axes; its length. */
Value *part_whole(Value *array);
int part_axis(const Value *array);
int part_rank(Interp *in, Value *array); /* 0: it is no array */
Answer part_length(Interp *in, Value *array, Value **out);
/* What `n` indices leave of the array; `nodes`: the same as int64.  `checked`: they are in bounds.
 */
Answer part_take(Interp *in, Value *array, int n, Value *const *indices, const NodeId *nodes,
                 bool checked, Value **out);
/* The index of that axis is in bounds, or the loop is left to CPython. */
Answer part_index_checked(Interp *in, Value *array, int axis, NodeId index);
const char *describe_part(Interp *in, Value *part);
Answer part_find(Interp *in, Value *part, PyObject *name, Value **out);
Answer iterate_part(Interp *in, Value *part, Value **out);
/* Takes it from the stack, and puts its items there. */
Answer part_unpack(Interp *in, Value *part, int n);

/* ---- loop_series.c: what is read of a V_SERIES ---- */
/* The object as a V_SERIES; NULL: it is to be none, or the error is set. */
Value *series_from_source(Interp *in, SourceId source, PyObject *object);
Answer series_item(Interp *in, Value *series, Value *key, Value **out);
Answer series_find(Interp *in, Value *series, PyObject *name, Value **out);
const char *describe_letter(Interp *in, Value *letter);
/* Of a letter and another one, or text that is known; ANSWER_NO: neither is a letter. */
Answer letter_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);

/* ---- section.c: slices of arrays, in a kept loop's body ---- */
bool key_has_slice(const Value *key);
bool value_is_section(Interp *in, Value *value);
/* array[key], which has one axis; `key` is NULL for a row. */
Answer section_take(Interp *in, Value *array, Value *key, Value **out);
/* ANSWER_NO: no operand is a section. */
Answer section_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
/* Breaks at what a kept loop has no form for, and a repeat has: the loop is tried as one. */
Answer section_repeats(Interp *in, const char *what);
/* section_select.c: array[key], where the key is a section of ints. */
Answer section_gather(Interp *in, Value *array, Value *key, Value **out);
Answer section_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
/* Why the turns of an outermost loop over the range are better kernels of their own: they may be
   done by several threads, and fuse with what is around.  NULL: they are not. */
const char *section_turns_apart(Interp *in, const Loop *loop, const NodeId *range);
/* Is the range known to have a few items? */
bool section_few_turns(Interp *in, const NodeId *range);
const char *describe_section(Interp *in, Value *value);
/* section_reduce.c.  `at`: the operator, which raises what np.dot does not. */
Answer section_product(Interp *in, bool at, Value *left, Value *right, Value **out);
/* The elements of a row or slice, or of sums, products and the like of such, which must be `count`.
 */
Answer section_unpack(Interp *in, Value *row, int count, Value **items);
/* ANSWER_NO: no argument is a section, or the callable none that is followed. */
Answer section_call(Interp *in, PyObject *callable, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);
Answer section_method(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
                      Value **out);
Answer section_find(Interp *in, Value *value, PyObject *name, Value **out);
Answer subscript_of_section(Interp *in, Value *value, Value *key, Value **out);

/* ---- loop_tuples.c ---- */

/* An order or equality of two tuples of numbers in a kept loop.  ANSWER_NO: it is none. */
Answer loop_compare_tuples(Interp *in, int operator_, Value *left, Value *right, Value **out);

/* ---- loop_either.c: numbers whose type depends on whether an inner loop makes a turn ---- */
/* Before a division in a kept loop: a divisor that is Python's must not be zero, where Python's
   float would raise and NumPy's would warn. */
Answer loop_divides(Interp *in, Value *divisor);
/* Is it a constant of Python's that the dtype holds exactly? */
bool loop_const_fits(const Node *node, DType to);
/* Does the node put an item of a list into that list? */
bool loop_moves(const Loop *loop, NodeId id);
/* May the number be Python's or NumPy's? */
bool loop_is_either(const Loop *loop, NodeId id);
/* Such a number is in `id`; `ints`: it may be an int in place of a float.  0 or -1. */
int loop_note_either(Interp *in, Loop *loop, NodeId id, bool ints);
/* `top`: the outermost loop's node.  ANSWER_NO: the type would matter. */
Answer either_is_harmless(Interp *in, Loop *loop, NodeId top);
/* Why a loop with such numbers is not kept; NULL with the error set. */
const char *loop_either_why(Interp *in, const Loop *loop);

/* ---- loop_class.c: the class of such numbers behind the outermost loop ---- */
typedef struct {
    int place;    /* in what the loop carries */
    bool wanted;  /* it is asked for */
    int flag;     /* the place of what tells whether it is NumPy's; -1: it is of one class */
    DType python; /* of Python's number */
} LoopClass;
/* Finds the flags of those that are wanted.  ANSWER_NO: there are more than two classes. */
Answer loop_classes(Interp *in, const Loop *loop, NodeId top, int n, LoopClass *classes);
/* The number, or the same as Python's. */
Answer loop_pick_class(Interp *in, Value *number, Value *is_numpy, DType python, Value **out);

/* ---- world.c: the state before the arms, and its changes by an arm ---- */
/* 0, or -1 with the error set. */
int world_save(Interp *in, World *world);
/* Has nothing changed that others can see, except for effects that can be made conditional, and
   nothing that cannot be restored?  Else *changed is what did, or NULL where that is not known.
   `writes`: arrays may have been written. */
bool world_is_pure(Interp *in, const World *world, bool writes, Value **changed);
/* The storage's memory was there before. */
static inline bool
world_is_older(const Interp *in, const World *world, const Storage *storage)
{
    return storage->root < world->nodes ||
           op_info(graph_node(in->graph, storage->root)->op)->kind == KIND_INPUT;
}

/* Has a value from before changed: is a list longer, has a dict another item? */
bool world_changed(const World *world);
/* Records the values that changed since, and restores everything. */
int world_take_back(Interp *in, const World *world, World *changed);

/* ---- merge_writes.c ---- */
/* May the arm of a branch write it, so that its version behind the branch depends on that? */
bool storage_is_mergeable(const Interp *in, const Storage *storage);

/* ---- merge.c ---- */
/* At a branch whose condition depends on an array.  ANSWER_YES: both arms were followed, and
   capture continues where they meet; ANSWER_NO: they are not merged. */
Answer branch_merge(Interp *in, int on_true, int on_false, Value *condition, int depth_true,
                    int depth_false);
/* Why the current branch ends the graph: static text, or NULL. */
const char *branch_why(Interp *in);
/* What keeps its arms apart, or NULL; *hint is changed where that is a test that ends a loop. */
const char *branch_what(Interp *in, BreakHint *hint);
/* Is it a hint about the test of a loop that ends by the value of an array? */
bool branch_hint_ends_loop(BreakHint hint);
/* The break that keeps the arms of the current branch, in the body of a kept loop, apart, where it
   tells more than that they are: what the loop cannot have, or any break where the branch `ends` a
   loop; else NULL. */
const Break *branch_broke(Interp *in, bool ends);

/* Is the activation one of a function that has called itself? */
bool is_recursion(const Activation *activation);

/* ---- loop_why.c: why a loop of the bottom activation did not stay a loop ---- */
/* Notes it for the loop of the FOR_ITER `head`; NO, or ERROR. */
Answer loop_not_kept(Interp *in, int head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As loop_not_kept, of a loop that computes with whole arrays, about which nothing has to change.
   The hint: TURNS, or LOOP_ARRAYS where what the turns compute has to be seen first. */
Answer loop_of_arrays(Interp *in, int head, BreakHint hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* What to do about that. */
int loop_hint(Interp *in, int head, BreakHint otherwise, BreakHint *out);
/* What is known of the loop whose last Instr jumps back to `head`; NULL with the error set. */
const char *loop_why(Interp *in, int head);
/* As loop_why, of the loop that is entered or begins at `head`; *why is NULL where it was not
   tried. */
int loop_refusal(Interp *in, int head, const char **why);
/* What to do about a loop that did not stay one, if that is not what `otherwise` says. */
BreakHint loop_note_hint(const Interp *in, int number, BreakHint otherwise);
/* Breaks for that: it is in a loop that would stay one. */
Answer inner_loop_unkept(Interp *in, int head);
/* A reason: there is nothing to change about it where the loop computes with whole arrays. */
extern const char loop_without_elements[];
/* Of a branch that ends a loop, where there is no other reason; NULL with the error set. */
const char *loop_is_ended(Interp *in);
/* Does the loop compute with whole arrays, as far as the graph goes?  -1: error set. */
int loop_computes_arrays(Interp *in, int head);
/* Adds it to what is told of a break at a value of the loop's body. */
int tell_refused_loop(Interp *in);
/* As tell_refused_loop, for what is told of a whole graph: Capture.unkept. */
int tell_unrolled(Interp *in);

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
Answer exit_on(Interp *in, int number);
Answer exit_branch(Interp *in, Value *condition, int on_true, int on_false);
/* The ways behind a loop, by the number of its exit. */
Answer exit_ways(Interp *in, const Leaving *leaving, int nways, const ExitWay *ways, BuildId turns);

#endif
