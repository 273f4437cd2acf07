/* Private to the interpreter's own files (not for the array semantics, which need value.h only). */
#ifndef PYCOMPILE_CAPTURE_INTERP_H
#define PYCOMPILE_CAPTURE_INTERP_H

#include "value.h"

/* A local that a loop turns into this type, whatever it starts as. */
typedef struct {
    int number, slot;
    DType dtype;
    Form form;
} LoopType;

/* A branch on an array's value that is merged with the locals that nobody reads, or not at all. */
typedef struct {
    PyCodeObject *code;
    int number;
    enum { BRANCH_KEEPS = 1, BRANCH_APART = 2 } level;
    const char *why; /* static text, for BRANCH_APART; NULL: its sides do not come together */
} BranchMark;

/* What earlier attempts at the same entry found out; see capture.c. */
typedef struct Marks {
    VEC(int) no_inline; /* numbers of the bottom's Instrs at which nothing is inlined */
    int stop_at;        /* the step (bottom) at which to break with `stop`; -1: none */
    Break stop;
    VEC(Break) inner; /* the break inside the call of no_inline[i] */
    bool refuse_writes;
    VEC(int) no_loop;        /* FOR_ITERs whose loops are unrolled, */
    VEC(char *) no_loop_why; /* and what kept each from staying a loop */
    VEC(LoopType) loop_types;
    VEC(BranchMark) branches;
    bool by_value;  /* numbers that have varied once are guarded by value again */
    bool asked;     /* such a number was asked for, and not given */
    int64_t effort; /* instructions that may still be followed */
} Marks;

/* ---- interp.c ---- */
/* Follows `activation` until it returns: its result in *out. */
Answer interp_run(Interp *in, Activation *activation, Value **out);
/* Follows the top activation until it is at the Instr `number`, or returns. */
Answer interp_until(Interp *in, int number);
Activation *activation_new(Interp *in, const Decoded *decoded);
/* The stack of the top activation. */
static inline Value **
stack_at(Interp *in, int from_top)
{
    Activation *a = in->top;
    return &a->slots[a->decoded->nlocalsplus + a->depth - from_top];
}
int push(Interp *in, Value *value);
static inline Answer
pushed(Interp *in, Value *value)
{
    return push(in, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
}
static inline Value *
pop(Interp *in)
{
    Value *value = *stack_at(in, 1);
    in->top->depth--;
    return value;
}
/* Contents of a slot, looked at for the first time if need be; NULL with the error set. */
Value *slot_load(Interp *in, Activation *activation, int slot);
static inline Value *
top_value(Interp *in, int from_top)
{
    return slot_load(in, in->top, in->top->decoded->nlocalsplus + in->top->depth - from_top);
}
PyObject *code_const(Interp *in, int index); /* borrowed */
PyObject *code_name(Interp *in, int index);  /* borrowed */

/* ---- exceptions.c: exceptions as values ----
   An operation that raises in the program answers ANSWER_NO with BREAK_EXCEPTION and in->raised;
   the loop in interp.c looks for the handler.  What nobody handles is a break like any other, and
   CPython raises it itself. */
/* Raises the set Python error in the program; clears it. */
Answer raise_error(Interp *in);
/* PyErr_Format, then raise_error. */
Answer raise_new(Interp *in, PyObject *type, const char *format, ...);
/* As the statement `raise exception`: __context__ is what is being handled. */
Answer raise_value(Interp *in, Value *exception);
/* As RERAISE: __context__ stays. */
Answer raise_again(Interp *in, Value *exception);
/* After ANSWER_NO: takes back a raised exception of this type, so that following can go on
   (hasattr, next with a default); NULL when nothing of the kind was raised, and ANSWER_NO stands.
 */
Value *raised_take(Interp *in, PyObject *type);
/* One of which nothing has run; NULL with the error set. */
Value *exception_new(Interp *in, PyTypeObject *type, Value *args);
/* Class(…) for exception classes. */
Answer exception_make(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
                      Value **out);
Answer exception_attribute(Interp *in, Value *exception, PyObject *name, Value **out);
/* *done: it was one of BaseException's own attributes. */
Answer exception_attribute_store(Interp *in, Value *exception, PyObject *name, Value *value,
                                 bool *done);
Answer exception_method(Interp *in, Value *exception, const char *name, int nargs,
                        Value *const *args, PyObject *kwnames, Value **out);
/* str(e), or repr(e). */
Answer exception_text(Interp *in, Value *exception, bool repr, Value **out);
/* Earliest step at which something of it (and of its causes) was raised; INT_MAX: none was. */
int exception_step(const Value *exception);
/* What is handled where the plan begins is nothing: guarded; else breaks. */
Answer handled_nothing(Interp *in);
/* sys.exc_info() and sys.exception(); ANSWER_NO without a break: another function. */
Answer handled_call(Interp *in, PyObject *callable, int nargs, Value **out);
/* The exception's traceback: something that only is, and never leaves. */
Value *exception_traceback(Interp *in, Value *exception);
/* ---- refusals.c ---- */
/* The call of a Python function with arguments that its parameters do not take. */
Answer raise_arguments(Interp *in, Value *function, int nargs, PyObject *kwnames);
/* ---- errstate.c ---- */
/* The call of what makes NumPy's error states, and of methods of the variable that holds one. */
Answer errstate_make(Interp *in, int nargs, Value *const *args, PyObject *kwnames, Value **out);
Answer errstate_method(Interp *in, const char *name, int nargs, Value *const *args, Value **out);
bool value_is_error_state(const Value *value);
/* ---- with.c ---- */
Answer follow_with(Interp *in, const Instr *instr);
/* ---- groups.c: exception groups, except* ---- */
bool type_is_group(const PyTypeObject *type); /* exactly one of the two builtin classes */
Answer group_make(Interp *in, PyTypeObject *type, int nargs, Value *const *args, Value **out);
/* split and subgroup of a group made here; ANSWER_NO without a break: another method. */
Answer group_method(Interp *in, Value *group, const char *name, int nargs, Value *const *args,
                    Value **out);
PyObject *group_text(const Value *group); /* str() of it; NULL with the error set */
Answer group_match(Interp *in);           /* CHECK_EG_MATCH */
Answer group_raise_rest(Interp *in);      /* PREP_RERAISE_STAR */
/* ---- handlers.c: the exception table ---- */
/* Classes that an except clause names: borrowed; raises what CPython raises for others. */
Answer handler_classes(Interp *in, Value *classes, PyObject **out);
Answer follow_handler(Interp *in, const Instr *instr);
/* Goes on in the handler of in->raised; ANSWER_NO when the activation has none. */
Answer raised_unwind(Interp *in, Activation *activation);
/* Whether what is raised now is seen by a handler; else the break says why better than it. */
bool is_handled(const Interp *in);
/* A break at the bottom: the step before which capture must stop instead, since an exception that
   was raised here is alive in the frame; -1 where the break can stay. */
int handlers_alive_since(Interp *in);

/* ---- stack.c: instructions that move values and make containers ---- */
Answer follow_stack(Interp *in, const Instr *instr);
/* ---- match.c ---- */
Answer follow_match(Interp *in, const Instr *instr);
/* ---- globals.c: globals, cells ---- */
Answer follow_name(Interp *in, const Instr *instr);
Answer load_global(Interp *in, PyObject *dict, PyObject *builtins, PyObject *name, Value **out);
Answer cell_load(Interp *in, Value *cell, Value **out);
Answer cell_store(Interp *in, Value *cell, Value *value);
/* ---- jumps.c: jumps, truth, branches ---- */
Answer follow_jump(Interp *in, const Instr *instr);
/* Truth as a constant where it is known (*known 0 or 1), else -1 and a BOOL node of FORM_PYTHON. */
Answer value_truth(Interp *in, Value *value, int *known, Value **node);
/* A bool that depends on inputs only, guarded (by a range where it compares an int). */
Answer condition_known(Interp *in, Value *condition, bool *out);
/* ---- loop.c: elements of arrays while a loop's body is followed ---- */
Answer loop_element_load(Interp *in, Value *array, Value *key, Value **out);
Answer loop_element_store(Interp *in, Value *array, Value *key, Value *value);
/* ---- scalars.c: operators, Python's own scalars ---- */
Answer operate_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer operate_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer operate_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer operate_is(Interp *in, Value *left, Value *right, bool *out);
Answer operate_contains(Interp *in, Value *item, Value *container, bool *out);
/* A Python scalar computed by `op` of the operands; `seen` is its value now, or NULL (stolen). */
Value *scalar_emit(Interp *in, Op op, DType dtype, int nargs, Value *const *operands,
                   PyObject *seen);
/* float(v), int(v), bool(v) of a scalar that stays symbolic. */
Answer scalar_convert(Interp *in, Value *value, DType dtype, Value **out);
Answer fold_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* ---- collective.c: over numbers that come out of arrays; ANSWER_NO without a break: others ----
 */
Answer collective_sum(Interp *in, Value *items, Value *start, Value **out);
Answer collective_math(Interp *in, const char *name, Value *sequence, Value **out);
Answer collective_extreme(Interp *in, const char *name, Value *items, Value **out);
Answer collective_sorted(Interp *in, Value *items, bool backwards, Value **out);
Answer collective_of_array(Interp *in, const char *name, Value *array, Value **out);
/* ---- loose.c: objects of plain classes that only the run tells.  Each ANSWER_NO without a break
   where it is not concerned ---- */
bool value_is_loose(Interp *in, const Value *value);
/* Operands of an operator: a number of a class that is not known as a float, where that is all the
   same to the other one. */
Answer loose_operands(Interp *in, Value **left, Value **right);
/* A member of an enum of ints, beside an array, as its int; other values as they are.  Comparisons
   are numbered from 13 on. */
Answer loose_member(Interp *in, int operator_, Value *other, Value **value);
/* pair[test] */
Answer loose_choice(Interp *in, Value *pair, Value *test, Value **out);
Answer loose_extreme(Interp *in, const char *name, Value *items, Value **out);
/* Text that is not known before the run, as an object. */
Answer loose_text(Interp *in, Value *text, Value **out);
Answer loose_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* The same where the result's length is not known. */
Answer loose_collect(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
Answer loose_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);
/* table[key], or table.get(key, otherwise), of constants with a key out of an array. */
Answer loose_lookup(Interp *in, Value *table, Value *key, Value *otherwise, Value **out);
Answer loose_contains(Interp *in, Value *key, Value *table, Value **out);
/* set(items), Counter(items), dict(pairs) … of numbers out of arrays. */
Answer loose_gather(Interp *in, PyObject *type, int nargs, Value *const *args, Value **out);
/* ---- output.c: print, loggers, warnings ---- */
/* A copy of an array as it is now, for what shows it when the plan commits. */
Answer freeze_array(Interp *in, Value *value, Value **out);
Answer output_print(Interp *in, PyObject *print, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out);
/* ANSWER_NO without a break: no method of a logger. */
Answer output_log(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* write and flush of sys.stdout and sys.stderr; ANSWER_NO without a break: another method. */
Answer output_write(Interp *in, PyObject *method, int nargs, Value *const *args, Value **out);
/* ANSWER_NO without a break: not warnings.warn. */
Answer output_warn(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);
/* ---- sizes.c: sizes that stay symbols ---- */
/* An array from outside whose shape is not guarded; only then ask for its sizes. */
bool array_is_loose(Interp *in, const Value *array);
Answer array_size(Interp *in, Value *array, int axis, Value **out);
Answer array_sizes(Interp *in, Value *array, Value **out);    /* shape */
Answer array_elements(Interp *in, Value *array, Value **out); /* size */
/* At the end of all: sizes of arrays whose shape is guarded become constants. */
void sizes_settle(Interp *in);
/* ---- scalar_calls.c: numbers out of arrays; each ANSWER_NO without a break: not of that kind ----
 */
/* A number that depends on what is in arrays. */
bool value_is_unknown_scalar(Interp *in, const Value *value);
Answer scalar_call(Interp *in, PyObject *callable, const char *module, const char *name, int nargs,
                   Value *const *args, Value **out);
Answer scalar_type_call(Interp *in, PyTypeObject *type, int nargs, Value *const *args, Value **out);
Answer scalar_operator(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer scalar_comparison(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer scalar_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer scalar_method(Interp *in, Value *self, const char *name, int nargs, Value **out);
Answer scalar_attribute(Interp *in, Value *self, const char *name, Value **out);
/* ---- subscript.c ---- */
Answer operate_subscript(Interp *in, Value *object, Value *key, Value **out);
Answer operate_store_subscript(Interp *in, Value *object, Value *key, Value *value);
Answer operate_delete_subscript(Interp *in, Value *object, Value *key);
/* ---- shadow.c: real containers of stand-ins ---- */
/* What stands for the value in a real container, and what a stand-in stands for; new references,
   NULL with the error set. */
PyObject *shadow(Interp *in, Value *value);
PyObject *shadow_token(Interp *in, Value *value);    /* never the value's own object */
PyObject *shadow_items(Interp *in, Value *sequence); /* a new list */
Value *unshadow(Interp *in, PyObject *object);
int unshadow_into(Interp *in, PyObject *list, Value *sequence);
/* After a real operation on stand-ins, which gave `result` (stolen) or NULL with the error set:
   what that means.  `out` may be NULL. */
Answer shadow_done(Interp *in, PyObject *result, Value **out);
Answer shadow_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer shadow_contains(Interp *in, Value *sequence, Value *item, bool *out);
/* Operators and methods of it, and of what is in it, run no code of the program's. */
bool object_is_plain(PyObject *object);
/* Objects of the type are equal only to themselves and hash by address, guarded. */
Answer type_is_by_identity(Interp *in, PyTypeObject *type);
/* Guards that an object from outside is this very object. */
Answer guard_is(Interp *in, Value *value);
/* ---- lists.c ---- */
Answer sequence_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                       PyObject *kwnames, Value **out);
Answer list_sort(Interp *in, Value *items, int nargs, Value *const *args, PyObject *kwnames);
/* list[slice] = value, or del list[slice] where value is NULL. */
Answer list_store_slice(Interp *in, Value *list, Value *key, Value *value);
/* ---- dicts.c ---- */
/* Index of a constant key in a V_DICT's items (of the value), or -1; -2 with the error set. */
int dict_find(Interp *in, Value *dict, PyObject *key);
Answer dict_store(Interp *in, Value *dict, PyObject *key, Value *value);
/* The value as a key: known, and hashed without the program's code; breaks when it is not. */
Answer dict_key(Interp *in, Value *key, PyObject **out);
Answer key_is_plain(Interp *in, PyObject *key);
Answer raise_key_error(Interp *in, PyObject *key);
Answer dict_update(Interp *in, Value *dict, Value *from);
Answer dict_fromkeys(Interp *in, int nargs, Value *const *args, Value **out);
Answer dict_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                   PyObject *kwnames, Value **out);
Answer dict_or(Interp *in, Value *left, Value *right, bool in_place, Value **out);
Answer dict_equal(Interp *in, Value *left, Value *right, bool *out);
Answer view_entry(Interp *in, Value *view, int64_t position, Value **out);
Answer view_contains(Interp *in, Value *view, Value *item, bool *out);
/* ---- sets.c ---- */
Value *set_value(Interp *in, PyObject *real);
Answer set_walk(Interp *in, Value *set); /* breaks where the order of walking it is not known */
Answer set_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                  PyObject *kwnames, Value **out);
Answer set_make(Interp *in, PyTypeObject *type, Value *from, Value **out);
Answer set_add(Interp *in, Value *set, Value *item);
/* ANSWER_NO without a break: not of sets. */
Answer set_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer set_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer set_contains(Interp *in, Value *set, Value *item, bool *out);
PyObject *set_maker(Interp *in, Value *set, PyObject **template);
/* The entries in an order in which adding them makes the table, where one was found. */
Value **set_in_order(Interp *in, Value *set);
/* ---- strings.c ---- */
Answer text_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* What a V_PURE is, where it depends on arguments alone, which become known. */
Answer pure_known(Interp *in, Value *pure, PyObject **out);
Answer format_value(Interp *in, const Instr *instr);
Answer build_string(Interp *in, int n);
/* ANSWER_NO without a break: not of text that is not known yet. */
Answer text_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer text_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                   PyObject *kwnames, Value **out);
/* ---- folds.c ---- */
/* Calls a pure callable on known, plain arguments: positional, then those named by kwnames. */
Answer fold_named(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* Pure functions, types and methods of the library; ANSWER_NO without a break: none of them. */
Answer call_pure(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out);
/* The value's methods and operators run no code of the program's and change nothing. */
bool object_is_pattern(PyObject *object); /* of re */
bool object_is_pure(PyObject *object);
/* ---- containers.c: each ANSWER_NO without a break where it is not concerned ---- */
Answer container_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer container_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer container_contains(Interp *in, Value *item, Value *container, bool *out);
int64_t container_length(Interp *in, Value *value);
/* ---- attributes.c ---- */
Answer attribute_load(Interp *in, Value *object, PyObject *name, Value **out);
Answer attribute_store(Interp *in, Value *object, PyObject *name, Value *value);
/* What a class's MRO holds under the name, raw and guarded; *out NULL when nothing. */
Answer type_lookup(Interp *in, PyTypeObject *type, PyObject *name, PyObject **out);
/* An attribute of an instance of the program's class. */
Answer instance_attribute(Interp *in, Value *object, PyObject *name, Value **out);
/* The function of a special method, looked up on the type; *out NULL when there is none. */
Answer special_method(Interp *in, Value *object, const char *name, Value **out);
/* ---- iterate.c ---- */
bool type_is_no_iterable(const PyTypeObject *type);
Answer iterator_of(Interp *in, Value *iterable, Value **out);
/* reversed() of an object of the program's classes. */
Answer iterator_backwards(Interp *in, Value *object, Value **out);
/* __next__ of an object of the program's classes: *out is NULL when exhausted, and *returned the
   value that it ended with. */
Answer object_next_value(Interp *in, Value *object, Value **out, Value **returned);
/* *out is NULL when exhausted. */
Answer iterator_next(Interp *in, Value *iterator, Value **out);
/* All items that remain, into a new sequence. */
Answer iterate_all(Interp *in, Value *iterable, ValueKind kind, Value **out);
/* Number of items, or -1 when not known. */
int64_t range_length(Interp *in, Value *range);
/* The same items from the last to the first; ANSWER_NO without a break where they are not known. */
Answer range_backwards(Interp *in, Value *range, Value **out);
/* ---- generators.c ---- */
/* The activation that a generator resumes; NULL: no generator, or one that has none any more or is
   running. */
const Activation *generator_suspended(const Value *iterator);
Answer follow_generator(Interp *in, const Instr *instr);
bool value_is_generator(const Value *value);
/* *out is NULL when exhausted. */
Answer generator_next(Interp *in, Value *iterator, Value **out);
Answer generator_method(Interp *in, Value *iterator, const char *name, int nargs,
                        Value *const *args, Value **out);
Answer generator_close(Interp *in, Value *iterator);
/* Raises StopIteration; value: what a generator returned, or NULL. */
Answer raise_stop(Interp *in, Value *value);
/* It would have to be an object: starts again without making it. */
Answer generator_leaves(Interp *in, Value *iterator);
/* At the end: ANSWER_NO when one is left behind that would have code of the program to run. */
Answer generators_settle(Interp *in);
/* ---- call.c ---- */
Answer follow_call(Interp *in, const Instr *instr);
/* What Python code of ours is followed in its place, borrowed; NULL without an error: none. */
PyObject *decomposition_of(PyObject *callable);
/* Calls a function of pycompile.decompositions.iteration. */
Answer call_library(Interp *in, const char *name, int nargs, Value *const *args, Value **out);
Answer call_inlined(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out);
/* ---- effects.c ---- */
int effect_add(Interp *in, BuildKind kind, PyObject *object, SourceId source, int nargs,
               Value *const *args);
/* The container is about to change (and its items to change places); breaks when that cannot be
   followed. */
Answer container_changes(Interp *in, Value *container);
Answer container_moves(Interp *in, Value *container);
/* A dict or set gets or loses an entry; breaks where an iterator over it is alive. */
Answer container_resizes(Interp *in, Value *container);
/* ---- exit.c: values as Builds ---- */
BuildId build_value(Interp *in, Value *value); /* NO_BUILD: error set, or in->break_code set */
Answer exit_return(Interp *in, Value *result);
Answer exit_break(Interp *in, int number);
Answer exit_branch(Interp *in, Value *condition, int on_true, int on_false);
/* ---- print.c ---- */
int capture_print(const Capture *capture, Text *out);
/* ---- decoded.c: decoded code of functions that are inlined ---- */
const Decoded *decoded_for(Interp *in, PyCodeObject *code); /* NULL with the error set */

#endif
