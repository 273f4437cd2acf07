/* Inside capture/, lowest layer, what every rule needs: making and asking symbolic values, sources,
   guards, breaks. */
#ifndef PYCOMPILE_CAPTURE_CORE_H
#define PYCOMPILE_CAPTURE_CORE_H

#include "values.h"

static inline bool
type_is_heap(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

/* ---- kinds.c: operations by the kind of a value, and by the layers above ---- */
/* The exact type of the value's object, guarded; NULL when not known. */
PyTypeObject *value_type(Interp *in, Value *value);
/* A known int that does not fit int64: it has no node. */
bool value_is_wide(const Value *value);
/* Does the int fit 64 bits without a sign?  In kept loops it has a node then, of dtype DT_U64. */
bool int_is_unsigned(PyObject *number);
const char *value_describe(Interp *in, Value *value); /* for breaks; never NULL */
/* "'found' (list)" where a local of the function that is followed holds it, else "list"; NULL with
   the error set. */
const char *value_named(Interp *in, Value *value);
/* The break at the iteration over a value that is not followed. */
Answer break_iteration(Interp *in, Value *value);
/* The Python object of a value that is known: a constant, or a symbolic scalar that is an input (it
   becomes a guard on the value), or tuples, slices … of those.  Borrowed.  ANSWER_NO when it
   depends on array contents. */
Answer value_known(Interp *in, Value *value, PyObject **out);
Answer call_value(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* Truth as a constant where it is known (*known is 0 or 1); else *known is -1 and *node a BOOL node
   of FORM_PYTHON. */
Answer value_truth(Interp *in, Value *value, int *known, Value **node);
/* Through Interp.above: control/operators.c does it. */
Answer operate_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer operate_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer operate_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer operate_is(Interp *in, Value *left, Value *right, bool *out);
Answer operate_hash(Interp *in, Value *object, Py_hash_t *out);
Answer operate_contains(Interp *in, Value *item, Value *container, bool *out);
Answer operate_subscript(Interp *in, Value *object, Value *key, Value **out);
Answer operate_store_subscript(Interp *in, Value *object, Value *key, Value *value);
Answer operate_delete_subscript(Interp *in, Value *object, Value *key);
Answer container_contains(Interp *in, Value *item, Value *container, bool *out);
int64_t container_length(Interp *in, Value *value);
Answer iterator_of(Interp *in, Value *iterable, Value **out);
/* *out is NULL when exhausted. */
Answer iterator_next(Interp *in, Value *iterator, Value **out);
/* All remaining items, in a new sequence.  iterate_sized of objects/ also asks for the length
   first, as CPython does in some places. */
Answer iterate_all(Interp *in, Value *iterable, ValueKind kind, Value **out);
/* At most `most` items of `iterator`, and all that remain; `iterable` is what it was made from. */
Answer iterate_some(Interp *in, Value *iterable, Value *iterator, int most, ValueKind kind,
                    Value **out);
Answer iterate_rest(Interp *in, Value *iterable, Value *iterator, ValueKind kind, Value **out);
Answer value_subscript(Interp *in, Value *object, Value *key, Value **out);
Answer value_attribute(Interp *in, Value *object, PyObject *name, Value **out);
Answer value_store(Interp *in, Value *object, PyObject *name, Value *stored);

/* ---- callables.c: calls by the callable's identity ---- */
typedef struct {
    Interp *in;
    Value *callable;
    PyObject *object; /* the callable itself */
    int nargs;        /* positional; those by keyword follow */
    Value *const *args;
    PyObject *kwnames;
    Value **out;
} Call;
/* Follows the call; ANSWER_NO: the next follower is asked.  `row` is what was added with the
   callable. */
typedef Answer (*Follow)(const Call *call, const void *row);
/* The order in which the followers of one callable are asked. */
typedef enum { RANK_OWN, RANK_BUILTIN, RANK_NUMPY, RANK_DECOMPOSED, RANK_PYTHON } FollowRank;
typedef struct Follower {
    Follow follow;
    const void *row;
    FollowRank rank;
    struct Follower *next;
} Follower;
/* A callable by its module's name and its own. */
typedef struct {
    const char *module, *name;
    FollowRank rank;
    Follow follow;
    bool added;
} NamedCallable;
/* `fill` adds callables that exist and were not added before; it returns 0, or -1 with the error
   set. */
void callables_filled_by(int (*fill)(void));
/* 0, or -1 with the error set.  Adding a follower again replaces its row. */
int callable_add(PyObject *object, FollowRank rank, Follow follow, const void *row);
/* Adds the callables whose modules are loaded and marks them as added. */
int callables_add_named(int n, NamedCallable *named);
/* The first follower; NULL where there is none, or with the error set. */
const Follower *callable_followers(PyObject *object);
const Follower *callable_follower(PyObject *object, Follow follow);
/* Follows the call by its followers of rank `least` and later. */
Answer call_followed(const Call *call, FollowRank least);

/* ---- inputs.c ---- */
/* The index in Graph.device of the device with this number.  ANSWER_NO: there are too many. */
Answer device_met(Interp *in, int number, int *index);

/* ---- behind.c: what comes after the Instr at which capture stops ---- */
/* Is there an Instr behind it that may have work for a graph, in any frame that is followed? */
bool work_is_behind(const Interp *in);

/* ---- breaks.c: why capture stops ---- */
/* Records why capture stops here and returns ANSWER_BREAK. */
Answer interp_break(Interp *in, BreakCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As interp_break, with another code in the message to the user. */
Answer interp_break_told(Interp *in, BreakCode code, BreakCode told, const char *detail);
/* A break at a place that the code's own hint does not fit. */
Answer break_hinted(Interp *in, BreakCode code, BreakHint hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A break where the program raises an exception that capture has no value for. */
Answer break_raised(Interp *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Breaks at a number that has to be known and is not: it comes out of an array, or its guard by
   value has failed too often.  `what` is its role in the message. */
Answer break_unknown_number(Interp *in, BreakCode code, Value *number, const char *what);
/* As break_unknown_number, where the shape of `node`, an array or a number that depends on one, is
   not known. */
Answer break_of_size(Interp *in, BreakCode code, NodeId node, const char *what);
/* What to say of an index that is such a number. */
BreakCode break_of_index(Interp *in, const Value *number);
/* Breaks at a key or an index of a container that is not known: "a key of a dict". */
Answer break_key(Interp *in, Value *key, const char *what);
/* Breaks with the reason that an earlier attempt found. */
Answer interp_break_as(Interp *in, BreakCode code, const Break *told);
/* Takes back the recorded break, so that another rule can be tried. */
BreakNote break_take(Interp *in);
/* Records the break again and returns its answer. */
Answer break_put(Interp *in, const BreakNote *note);
/* The answer of the rule that was tried after break_take.  Where that broke too, the first break is
   recorded again, unless the program raises there. */
Answer break_unless(Interp *in, Answer answer, const BreakNote *note);
/* The frame of a break at this Instr; 0, or -1 with the error set. */
int break_frame(Arena *arena, const Decoded *decoded, int number, BreakFrame *out);
/* The innermost line being followed that is not in a model; 0, or -1 with the error set. */
int user_line(Interp *in, BreakFrame *out);
/* The innermost of its frames that is in the file of the code being captured: its line can be told
   without the file's name. */
const BreakFrame *break_at(const Break *told);
/* Does the text name a line already? */
bool names_line(const char *text);
/* Copies a break into another arena; 0, or -1 with the error set. */
int break_copy(Arena *arena, const Break *from, Break *out);

/* ---- raising.c: what the program raises ---- */
/* Raises the set Python error in the followed program, and clears it here. */
Answer raise_error(Interp *in);
/* PyErr_Format, then raise_error. */
Answer raise_new(Interp *in, PyObject *type, const char *format, ...);
/* As the statement `raise exception`: __context__ is what is being handled. */
Answer raise_value(Interp *in, Value *exception);
/* As RERAISE: __context__ stays. */
Answer raise_again(Interp *in, Value *exception);
/* After ANSWER_BREAK: takes back a raised exception of this type, so that following can go on
   (hasattr, next with a default); NULL when nothing of the kind was raised, and the break stands.
 */
Value *raised_take(Interp *in, PyObject *type);
/* An exception whose __init__ has not run; NULL with the error set. */
Value *exception_new(Interp *in, PyTypeObject *type, Value *args);
/* The value of an exception that C code made; NULL with the error set. */
Value *exception_of_object(Interp *in, PyObject *real);

/* ---- slots.c: locals and the value stack ---- */
int push(Interp *in, Value *value);
/* Contents of a slot, looked at for the first time if need be; NULL with the error set. */
Value *slot_load(Interp *in, Activation *activation, int slot);
PyObject *code_const(Interp *in, int index); /* borrowed */
PyObject *code_name(Interp *in, int index);  /* borrowed */
/* The stack of the top activation. */
static inline Value **
stack_at(Interp *in, int from_top)
{
    Activation *a = in->top;
    return &a->slots[a->decoded->nlocalsplus + a->depth - from_top];
}
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
static inline Value *
top_value(Interp *in, int from_top)
{
    return slot_load(in, in->top, in->top->decoded->nlocalsplus + in->top->depth - from_top);
}

/* ---- value.c: making values, NULL with the error set, and asking what they are ---- */
/* The type of a V_NODE in the graph; valid until the next node is made. */
static inline const Type *
value_node_type(const Interp *in, const Value *value)
{
    return &graph_node(in->graph, value->node)->type;
}
void *map_get(const PointerMap *map, const void *key);
int map_add(Arena *arena, PointerMap *map, const void *key, void *value);
int map_put(Interp *in, PointerMap *map, const void *key, void *value); /* in the capture's arena */
Value *value_new(Interp *in, ValueKind kind);
/* Keeps the object alive.  Exact tuples become V_TUPLE. */
Value *value_const(Interp *in, PyObject *object);
/* Like value_const, but steals a new reference; NULL in, NULL out. */
Value *value_const_new(Interp *in, PyObject *object);
Value *value_node(Interp *in, NodeId node);
Value *value_sequence(Interp *in, ValueKind kind, int n, Value *const *items);
int value_append(Interp *in, Value *sequence, Value *item);
Value *value_object(Interp *in, PyObject *object, SourceId source);
/* Keeps `object` (stolen) alive as long as the capture; returns it borrowed; NULL in, NULL out. */
PyObject *keep(Interp *in, PyObject *object);
/* Is the name in this list, which NULL ends? */
bool is_one_of(const char *name, const char *const *names);
/* MODULE.NAME, kept; NULL with the error set. */
PyObject *module_kept(Interp *in, const char *module, const char *name);
bool value_is_array(Interp *in, const Value *value); /* V_NODE of FORM_ARRAY */
bool value_is_numpy(Interp *in, const Value *value); /* array, or array scalar, constant or node */
bool value_is_python_scalar(Interp *in, const Value *value); /* bool, int, float, complex */
bool value_is_opaque(const Interp *in, const Value *value);  /* V_NODE of FORM_OBJECT */
/* An array of the same dtype and rank, borrowed; NULL when the value is another object. */
PyObject *opaque_sample(Interp *in, const Value *value);
/* An object of a class of NumPy or Python that a step returned: neither array nor number. */
bool value_is_opaque_object(Interp *in, const Value *value);
/* The object that the trial returned for this value, borrowed.  The value is a node of
   FORM_OBJECT. */
PyObject *object_sample(Interp *in, const Value *value);
/* A number that depends on the contents of arrays. */
bool value_is_unknown_scalar(Interp *in, const Value *value);
/* The activation that a generator resumes; NULL: not a generator, or one that has ended or is
   running. */
const Activation *generator_suspended(const Value *iterator);
bool value_is_generator(const Value *value);
/* Is it code of pycompile.decompositions: of a model, or of a function that stands for NumPy's? */
bool code_is_model(const Activation *a);
/* Is it code of any module of pycompile? */
bool code_is_ours(const Activation *a);
/* A scalar of Python or NumPy. */
bool value_is_number(Interp *in, const Value *value);
/* The record of an opaque node, valid until another is added; or NULL. */
Opaque *opaque_of(Interp *in, NodeId node);
/* A value as a result. */
static inline Answer
given(Value **out, Value *value)
{
    *out = value;
    return value == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- known.c: what is known of values, and their nodes ---- */
Answer known_const(Interp *in, Value *value, PyObject **out);
Answer known_scalar(Interp *in, Value *value, PyObject **out);
Answer known_tuple(Interp *in, Value *value, PyObject **out);
Answer known_container(Interp *in, Value *value, PyObject **out);
/* The object of a V_PURE that depends on arguments alone; guards them by value. */
Answer pure_known(Interp *in, Value *pure, PyObject **out);
/* The value as a graph node with constant, guarded shape, in the current version of its storage;
   constants become const nodes.  Read an array's type only after this call. ANSWER_NO when it is no
   array or scalar. */
Answer value_as_node(Interp *in, Value *value, NodeId *out);
/* The same, but lengths that arrays from outside have may be symbols. */
Answer value_as_sized_node(Interp *in, Value *value, NodeId *out);
/* As value_as_node, without making the shape known: sizes may be SIZE_DIM and SIZE_STRIDE. */
Answer value_as_unpinned_node(Interp *in, Value *value, NodeId *out);
/* A known int of 64 bits without a sign as a node, also outside of loops; ANSWER_NO: others. */
Answer value_wide_node(Interp *in, Value *value, NodeId *out);
/* Known integer (index, axis, size), guarded; ANSWER_NO for anything else. */
Answer value_as_int(Interp *in, Value *value, int64_t *out);

/* ---- described.c: types and names of values ---- */
PyTypeObject *type_of_const(Interp *in, Value *value);
PyTypeObject *type_of_object(Interp *in, Value *value);
PyTypeObject *type_of_node(Interp *in, Value *value);
PyTypeObject *type_of_tuple(Interp *in, Value *value);
PyTypeObject *type_of_iterator(Interp *in, Value *value);
PyTypeObject *type_recorded(Interp *in, Value *value);
PyTypeObject *type_of_choice(Interp *in, Value *value);
const char *describe_nothing(Interp *in, Value *value);
const char *describe_iterator(Interp *in, Value *value);
const char *describe_name(Interp *in, Value *value);
const char *describe_grown(Interp *in, Value *value);
const char *describe_object(Interp *in, Value *value);
const char *describe_const(Interp *in, Value *value);
/* Is it an object whose operators are looked up on its class? */
bool value_is_object(const Value *value);

/* ---- plain.c: objects without code of the program's, and pure calls on them ---- */
Answer fold_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* The operators and methods of the object, and of the objects in it, run no code of the program. */
bool object_is_plain(PyObject *object);
/* Objects of the type are equal only to themselves and hash by address, guarded. */
Answer type_is_by_identity(Interp *in, PyTypeObject *type);
Answer key_is_plain(Interp *in, PyObject *key);
/* Calls a pure callable on known, plain arguments: positional ones, then those named by kwnames. */
Answer fold_named(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* A compiled pattern of re: its methods run no code of the program and change nothing. */
bool object_is_pattern(PyObject *object);
bool object_is_pure(PyObject *object);
bool object_has_nan(PyObject *object); /* a NaN equals itself only by identity */
/* The value of the result of an operation on known operands (`object`, stolen); where it is NULL,
   raises the set error in the program. */
Answer operator_result(Interp *in, PyObject *object, Value **out);
/* Constants whose operators run no code of the program. */
bool operand_is_plain(PyObject *object);

/* ---- shadow.c: real containers of stand-ins ---- */
/* The stand-in of a value in a real container, and the value of a stand-in; new references, NULL
   with the error set. */
PyObject *shadow(Interp *in, Value *value);
PyObject *shadow_token(Interp *in, Value *value);    /* never the value's own object */
PyObject *shadow_items(Interp *in, Value *sequence); /* a new list */
Value *unshadow(Interp *in, PyObject *object);
int unshadow_into(Interp *in, PyObject *list, Value *sequence);
/* 1 + the bottom's step at which a `__hash__` of the program's was followed for the stand-in first;
   0: never. */
int shadow_hashed(PyObject *object);
/* Ends a real operation on stand-ins, which returned `result` (stolen), or NULL with the error set.
   `out` may be NULL. */
Answer shadow_done(Interp *in, PyObject *result, Value **out);
Answer shadow_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer shadow_contains(Interp *in, Value *sequence, Value *item, bool *out);

/* ---- strange.c ---- */
/* The break code for an operand of this kind: arrays that are not compiled have codes of their own,
   other values get `otherwise`. */
BreakCode value_break(const Value *value, BreakCode otherwise);
/* As value_break, for an array, a dtype or an object that names one. */
BreakCode dtype_break(PyObject *object, BreakCode otherwise);
Answer break_dtype(Interp *in, PyObject *object); /* breaks with that code; may be NULL */
bool break_is_of_array(BreakCode code);

/* ---- type_lookup.c: what a class has under a name, guarded ---- */
/* The raw entry for the name along the class's MRO, guarded; *out is NULL when there is none. */
Answer type_lookup(Interp *in, PyTypeObject *type, PyObject *name, PyObject **out);
/* type_lookup with the name as C text. */
Answer type_lookup_text(Interp *in, PyTypeObject *type, const char *name, PyObject **out);
/* ANSWER_YES: the class has the same entry for the name as `from`, which is C code. */
Answer type_inherits(Interp *in, PyTypeObject *type, const char *name, PyTypeObject *from);
PyObject *interned(Interp *in, const char *text); /* borrowed */
/* What the class or a base stores under the name; *out is NULL where nothing.  Emits no guard. */
Answer type_stored(Interp *in, PyTypeObject *type, const char *name, PyObject **out);
/* Breaks where what is stored under the name, a str, is untold (python.h). */
Answer stored_told(Interp *in, PyObject *stored, PyObject *name);
/* The entry of a dict, which may be NULL, under a str; *out NULL where there is none. */
Answer entry_stored(Interp *in, PyObject *dict, PyObject *key, PyObject **out);
/* Guards, once, that the source is the object found; or, where `found` is NULL, emits the guard
   `absent`. */
Answer guard_found(Interp *in, SourceId source, GuardKind absent, SourceId absent_source,
                   PyObject *absent_name, PyObject *found);

/* ---- enum_types.c: enums ---- */
bool is_enum_class(PyObject *object);
/* The class's methods of these names (`other` may be NULL) are enum's own or in C, guarded: calling
   them while capturing runs no code of the program. */
Answer enum_is_plain(Interp *in, PyTypeObject *type, const char *name, const char *other);
/* A name of the module enum, borrowed; NULL while it is not imported. */
PyObject *enum_name(const char *name);
/* A function defined in the module enum, or one in C. */
bool enum_code_is_plain(PyObject *found);

/* ---- named_types.c: named tuples ---- */
bool value_is_named(const Value *value);
bool type_is_named(PyTypeObject *type);
bool named_opens(Interp *in, PyTypeObject *type);
/* Guards that the class overrides nothing of tuple except what namedtuple() defines. */
Answer named_behaves(Interp *in, PyTypeObject *type);

/* ---- set_values.c: sets ---- */
Value *set_from_source(Interp *in, SourceId source, PyObject *object);
Value *set_value(Interp *in, PyObject *real);
int set_refresh(Interp *in, Value *set);

/* ---- guards.c: guards, and the sources of what they ask ---- */
/* Number of the guard, or -1 with the error set. */
int guard_add(Interp *in, const Guard *guard);
int guard_simple(Interp *in, GuardKind kind, SourceId source, PyObject *object);
/* Its place is the innermost line outside pycompile: for code of pycompile that stands for a
   library function, the line of the call. */
void guard_place(const Interp *in, Guard *guard);
/* Guards that an object from outside is this very object. */
Answer guard_is(Interp *in, Value *value);
/* Guards that a V_OBJECT's type is what it is. */
int value_guard_type(Interp *in, Value *value);
SourceId source_add(Interp *in, SourceKind kind, SourceId base, int index, PyObject *key,
                    PyObject *object);
/* The frame's value stack held the object where capture began. */
bool source_is_stacked(const Interp *in, SourceId id);
/* The source is an array that nothing else referred to where capture began. */
bool source_is_spare(const Interp *in, SourceId id);
SourceId source_of_const(Interp *in, PyObject *object);
static inline SourceKind
source_kind(const Interp *in, SourceId source)
{
    return in->out->sources.at[source].kind;
}
Value *value_of_source(const Interp *in, SourceId source); /* NULL: none was made of it */
int source_has_value(Interp *in, SourceId source, Value *value);
uint64_t source_path_of(Interp *in, SourceId id);
/* The record of failed guards of what is at this path; NULL: none has failed. */
const VariedPath *varied_at(const Interp *in, uint64_t path);
const VariedPath *source_varied(Interp *in, SourceId id);
/* Is a value that varies guarded all the same, for a plan of its own? */
bool varied_is_planned(const Interp *in, const VariedPath *varied);

/* ---- inputs.c: arrays and numbers from outside; NULL with the error set ---- */
Value *array_from_source(Interp *in, SourceId source, PyObject *object, const ArrayHeader *header);
Value *device_from_source(Interp *in, SourceId source, PyObject *object,
                          const ArrayLibrary *library, const ArrayHeader *header, int device);
Value *scalar_from_source(Interp *in, SourceId source, PyObject *object, DType dtype, Form form);
/* Makes shape and strides constants, guarded. */
int value_pin(Interp *in, Value *value);
/* Guards that the int, which stays symbolic, lies in [low, high]; ANSWER_NO where that is
   impossible. */
Answer value_in_range(Interp *in, Value *value, int64_t low, int64_t high);

/* ---- source.c: from source to value, emitting guards as facts are used ---- */
/* The value of a source whose object is `object` now: an array becomes an input; an int, float,
   bool or complex a symbolic scalar; tuples and lists are opened; the rest is a V_OBJECT. */
Value *value_from_source(Interp *in, SourceId source, PyObject *object);
/* The contents of an object of a class derived from dict, list or tuple, or of a deque, as a
   container of the builtin kind; a V_OBJECT where it is not opened. */
Value *native_from_source(Interp *in, SourceId source, PyObject *object);
/* The i-th entry of items; that of a container from outside is fetched and guarded at first use.
   Always use this function: items[i] may be NULL. */
Value *value_item(Interp *in, Value *container, int i);
int guard_there(Interp *in, SourceId source, PyObject *object); /* it is this object; once */

/* ---- paths.c: paths to inputs, from one attempt to the next ---- */
/* Copies the source into Marks.paths; NO_SOURCE with the error set. */
SourceId path_note(Interp *in, SourceId id);
/* The source of this attempt; NO_SOURCE for NO_SOURCE, or with the error set. */
SourceId path_source(Interp *in, SourceId path);

/* ---- obstacles.c: facts about inputs for which an instruction is not followed ---- */
/* Notes a READONLY or OVERLAP for the guards of this attempt and of later ones. */
int obstacle_note(Interp *in, GuardKind kind, SourceId source, SourceId other);
/* Guards what earlier attempts noted. */
int obstacles_guard(Interp *in);

/* ---- series.c: lists of numbers and bytes as arrays ---- */
/* Is a V_SERIES to be in place of what the source gives? */
bool series_is_noted(Interp *in, SourceId source);
/* Starts capture again with a V_SERIES in place of the value; ANSWER_NO: it can be none. */
Answer series_learn(Interp *in, const Value *value);
/* The same where a loop reads it at an index that is not known, or is to go over its items. */
Answer series_learn_index(Interp *in, const Value *value);
Answer series_learn_walk(Interp *in, const Value *iterator);
/* The number leaves the graph as an object.  Where it may be an item of a V_SERIES, capture starts
   again without that one: it would be another object than the list's. */
Answer series_item_leaves(Interp *in, NodeId id);
/* From the next attempt on the list is opened.  0 or -1. */
int series_open(Interp *in, const Value *series);

/* ---- outcomes.c: values of which only outcomes of comparisons are guarded ---- */
/* Text from outside that varies and is only compared with constants: its value is not guarded. */
bool text_is_compared(Interp *in, SourceId source);
/* == and != of such text and a constant, guarding the outcome; ANSWER_NO: not of that form. */
Answer outcome_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
/* A condition that compares a varying int with a constant for equality, guarding the outcome;
   ANSWER_NO: not of that form. */
Answer outcome_condition(Interp *in, const Value *condition, bool *out);
/* A bool that depends on inputs only, guarded (by a range where it compares an int). */
Answer condition_known(Interp *in, Value *condition, bool *out);

/* ---- chosen.c: values chosen among others ---- */
/* What earlier attempts learnt of the branch at this Instr, or NULL. */
BranchMark *branch_mark(Interp *in, const Decoded *d, int number);
/* Starts capture again, with the branch handled at this BRANCH_ level. */
Answer branch_learn(Interp *in, PyCodeObject *code, int number, int level, const char *why);
/* The record of the chosen memory that `node` lies in, or NULL. */
const Aliased *branch_find_aliased(const Interp *in, NodeId node);
/* Records that the memory, or the number, is one of several from here on; 0 or -1. */
int branch_note(Interp *in, NodeId node, PyCodeObject *code, int number);
/* The number exists as an object, so that the program can see which one a branch chose. */
bool branch_holds(const Value *number);
/* A local that a branch left out (V_LOST) is read after all: starts capture again. */
Answer branch_wants(Interp *in, const Value *lost);
/* Where the array is one of two that a merged branch chooses from, or the number one of several,
   starts capture again so that the branch ends the graph; `why` is static text. */
Answer branch_aliased(Interp *in, NodeId node, const char *why);
/* As branch_aliased, for two values whose identity is compared. */
Answer branch_identity(Interp *in, const Value *left, const Value *right);
/* Records that the number was chosen by the call followed now. */
int branch_chosen(Interp *in, NodeId number);
/* A V_CHOICE; NULL with the error set. */
Value *choice_new(Interp *in, Value *test, Value *if_so, Value *if_not);
/* Ends the graph at the branch where the value is a V_CHOICE: one can only be kept and passed
   on. */
Answer choice_asked(Interp *in, const Value *value);
/* The V_CHOICE of the memory in which the array lies, or NULL. */
Value *choice_of(const Interp *in, NodeId node);
/* The number leaves the graph as one of two objects. */
Answer branch_keeps(Interp *in, Value *number, Value *if_so, Value *if_not, Value *test);
/* An earlier attempt found that the identity of this call's result is asked for: it must stay a
   choice. */
bool branch_apart(Interp *in);
static inline Answer
break_choice(Interp *in, const char *name)
{
    return interp_break(in, BREAK_OPERATOR, "identity of what %s() chose", name);
}

/* ---- join.c ---- */
/* *out: the Instr at which the two paths of the branch `number` meet; Decoded.count for the
   function's return, JOIN_TURN for the end of the iteration that is followed, or JOIN_NONE.  0, or
   -1 with the error set. */
int branch_join(Interp *in, const Decoded *d, int number, int *out);
/* The Instrs that may follow, exceptions aside: how many, at most 2; Decoded.count for a return. */
int instr_successors(const Decoded *d, int at, int out[2]);
/* Every path from `at` raises after a few instructions. */
bool branch_raises(const Decoded *d, int at);
/* What a branch is to the innermost loop around it. */
typedef enum {
    TEST_NONE,
    TEST_ENDS,  /* one side goes on with the loop, the other one leaves it */
    TEST_SKIPS, /* the sides meet at the next turn, and one goes there at once, or nearly so */
} LoopTest;
/* 0, or -1 with the error set. */
int branch_loop(Interp *in, const Decoded *d, int number, LoopTest *out);
bool branch_in_try(const Decoded *d, int at);
/* Is what handles an exception there a comprehension, which puts its variable back? */
bool branch_in_comprehension(const Decoded *d, int at);
/* May the slot be read on a path from `at` before it is stored?  -1 with the error set. */
int branch_reads(Interp *in, const Decoded *d, int at, int slot);

/* ---- loop_shape.c ---- */
/* The loop that is entered at the Instr: a FOR_ITER, or the test of a `while`; *out is NULL where
   there is none, or the Instrs have another form.  0, or -1 with the error set. */
int loop_shape(Interp *in, const Decoded *d, int number, LoopShape **out);
/* The loop that is entered nearest before the Instr, which *number becomes; *out is NULL where
   there is none.  0, or -1 with the error set. */
int loop_before(Interp *in, const Decoded *d, int *number, LoopShape **out);
/* The number of the exit, 1 and up, by which the Instr, which is not inside, is reached; -1: none.
 */
int loop_exit_number(const LoopShape *shape, const Decoded *d, int number);
/* Is the Instr a side exit of it? */
bool loop_is_side(const LoopShape *shape, int number);
/* May the slot be read after an iteration that ends, before it is stored?  -1 with the error set.
 */
int loop_reads(Interp *in, const LoopShape *shape, const Decoded *d, int slot);

/* ---- storage.c: which version of its memory an array reads ---- */
/* The node for what the memory of array `node` holds now: `node` itself, or a view of the storage's
   last version.  Every reader of an array asks this first, boxing included. NO_NODE with the error
   set. */
NodeId array_current(Interp *in, NodeId node);
/* The storage in which `node` lies, recorded at the first call; -1 with the error set. */
int storage_of(Interp *in, NodeId node);
/* The recorded storage that has this version; -1: none. */
int storage_find(const Interp *in, NodeId version);
/* Makes `version` (a scatter, a result of a loop) the storage's contents from here on. */
int storage_write(Interp *in, NodeId node, NodeId version);
/* As storage_write, for a version in which `value` was written to `place`. */
int storage_write_part(Interp *in, NodeId node, NodeId version, NodeId value, const Type *place);
/* The last write is array[key] = stored, both in their present state. */
void storage_note_key(Interp *in, Value *key, Value *stored);
/* Makes `version` the contents of the storage of this number, which nobody has written by it. */
int storage_becomes(Interp *in, int storage, NodeId version);
/* Notes a copy that NumPy makes for some lengths only; for others it is a view of `of`. */
int copy_note(Interp *in, NodeId of, NodeId copy);
/* Such a copy is only read by this copy of it. */
void copy_is_copied(Interp *in, NodeId copy, NodeId to);
/* At the end: nobody can tell such copies from views.  ANSWER_NO: capture starts again. */
Answer copies_are_unseen(Interp *in);

/* Notes that `array`, a view of its own kind, reads its memory as `node`; -1 with the error set. */
int window_add(Interp *in, NodeId node, Value *array);
/* The view of its own kind that `node` is, or is a view of; NULL: none. */
Value *window_of(const Interp *in, NodeId node);
bool node_is_leaf(const Interp *in, NodeId node);
bool node_shows_leaf(const Interp *in, NodeId node); /* that, or a view of one */

/* ---- sizes.c: sizes that stay symbols ---- */
/* An array from outside whose shape is not guarded; array_sizes and array_elements are for
   these. */
bool array_is_unpinned(Interp *in, const Value *array);
SizeId array_length(const Interp *in, const Value *array, int axis);
Answer array_size(Interp *in, Value *array, int axis, Value **out);
Answer array_sizes(Interp *in, Value *array, Value **out);    /* shape */
Answer array_elements(Interp *in, Value *array, Value **out); /* size */
/* Records that the program asks for the class of what may be a number of a kept loop. */
int note_class_asked(Interp *in, const Value *value);
/* Records that a number, or the numbers of a tuple, are lengths of an opaque array. */
int note_data_length(Interp *in, const Value *value);
/* Does a number or truth value depend on lengths that come out of array data (len(x[mask])), and on
   nothing else that is known only when the plan runs? */
bool value_is_data_length(Interp *in, const Value *value);
/* At the end of capture: sizes of arrays whose shape is guarded become constants. */
void sizes_settle(Interp *in);

/* ---- dims.c: lengths that the program declares ---- */
bool dim_of(const Interp *in, const Value *array, int axis, Dim *out);
bool dim_allows(const Dim *dim, int64_t length);
bool dim_is_same(const Dim *a, const Dim *b);
/* "'batch' (1 or more)" */
void dim_put(Text *out, const Dim *dim);
/* What is declared of the symbol; NULL: nothing. */
const Dim *symbol_dim(const Interp *in, SizeId size);
/* Sets DimensionError; `what` completes "the length 'batch' (1 or more) ...". ANSWER_ERROR. */
Answer dim_refuse(Interp *in, const Dim *dim, const char *what, const Dim *other);
/* That an array from outside has the axes that are declared of it: 0, or -1 with DimensionError. */
int dims_require(Interp *in, const Value *array, int rank);

/* ---- symbols.c: lengths of arrays from outside that are not known ---- */
enum { LEAST_SYMBOL = 1 }; /* no such length is less: without elements, strides are others */
enum { MOST_TRIES = 12 };  /* attempts with symbols */
bool symbols_in_use(const Interp *in);
/* The axes of the array whose lengths stay symbols, a bit each. */
unsigned symbols_of(Interp *in, const Value *array, const ArrayHeader *header);
/* May the value, an int from outside, be a symbol? */
bool int_is_open(Interp *in, const Value *value);
/* Its symbol; ANSWER_NO: it has none. */
Answer symbol_of_int(Interp *in, Value *value, SizeId *out);
/* The symbol of a length; 0 or -1. */
int symbol_make(Interp *in, const Value *array, int axis, int64_t hint, SizeId *out);
/* How many turns of a loop are unrolled where a length says it.  ANSWER_NO: the loop is CPython's.
 */
Answer size_counted(Interp *in, SizeId size, int64_t *out);
/* The symbols in it are known from now on: capture starts again.  ANSWER_NO: there are none. */
Answer size_specialise(Interp *in, SizeId size, const char *why);
Answer sizes_specialise(Interp *in, const Type *type, const char *why);
/* The same in two steps: *found becomes true where one was in the size, and the break that starts
   capture again. */
Answer symbols_fix(Interp *in, SizeId size, const char *why, bool *found);
Answer symbols_again(Interp *in, const char *why);
/* Has the array a length or stride that a turn of a loop tells? */
bool type_is_measured(const Interp *in, const Type *type);
/* Does it depend on nothing but lengths of arrays from outside? */
bool size_of_symbols(const Graph *g, SizeId id);

/* ---- size_guards.c ---- */
/* Guards that the size is 0, or not negative; ANSWER_NO where it is not so, or no such guard can be
   written. */
Answer size_guard(Interp *in, SizeId size, bool zero);
/* Where that the size is `least` or more says the same of symbols alone, their guards say it. */
bool size_bound_raised(Interp *in, SizeId size, int64_t least);
/* Guards that the symbol is the other one: 0 or -1. */
int symbols_guard_same(Interp *in, const Symbol *symbol, const Symbol *with);

/* ---- lengths.c: lengths that must be equal, and those that decide what is done ---- */
/* Two lengths that must be equal become one symbol, or known: capture starts again. ANSWER_NO:
   neither has a symbol. */
Answer symbols_unite(Interp *in, SizeId a, SizeId b);
/* Is it negative?  It is guarded to be as in this call, where bounds do not show it. */
Answer size_decide(Interp *in, SizeId size, bool *negative);
/* Guards that the length is `least` or more, or makes it known. */
Answer length_is_some(Interp *in, SizeId size, int64_t least);
/* None of them is 0, where there are several: the strides of an array that lies as a new one are
   products of its lengths. */
Answer lengths_are_some(Interp *in, int rank, const SizeId *shape);
/* New arrays of such lengths have these strides: guards that none is of an axis that does not
 * count.
 */
Answer layout_is_fixed(Interp *in, const Type *type);
/* Which of two sizes is more, for all lengths that the plan serves; ANSWER_NO: that is not known.
 */
Answer size_is_more(Interp *in, SizeId a, SizeId b, bool *more);
/* The same without a guard. */
Answer size_is_surely_more(Interp *in, SizeId a, SizeId b, bool *more);
/* Guards that each of its lengths is two or more. */
Answer lengths_are_several(Interp *in, const Type *type);
/* Does it lie in C or Fortran order, 'C' or 'F'? Guards that all lengths decide alike: with axes of
   one element more does. */
Answer layout_has_order(Interp *in, const Type *type, char order, bool *has);

/* ---- decided.c ---- */
/* Guards that a condition over lengths holds, or does not, as in this call; ANSWER_NO where it is
   none, or no such guard can be written. */
Answer condition_of_lengths(Interp *in, const Value *condition);

/* ---- measured.c: ints that change from turn to turn, as sizes ---- */
/* May sizes depend on such ints where capture is now? */
bool sizes_may_vary(const Interp *in);
/* Has the array a length or stride that depends on one? */
static inline bool
type_varies(const Interp *in, const Type *type)
{
    return type->form == FORM_ARRAY && !type_is_known(in->graph, type);
}
/* The param of a repeat's body goes over a range, of which the step is known.  0 or -1. */
int range_note(Interp *in, NodeId param, NodeId start, NodeId stop, int64_t step);
/* ANSWER_NO: it is none that sizes may have. */
Answer size_of_number(Interp *in, Value *value, SizeId *out);
/* As size_of_number, of lengths of arrays from outside and what Python computes from them. */
Answer size_of_length(Interp *in, Value *value, SizeId *out);
/* The same, of an int that is known, too. */
Answer int_as_length(Interp *in, Value *value, SizeId *out);
Answer number_of_size(Interp *in, SizeId size, Value **out);
/* A comparison of Python's ints as a node. */
Answer sizes_compare(Interp *in, Op op, SizeId a, SizeId b, NodeId *out);
/* The plan goes on only where it is so. */
Answer sizes_assert_at_most(Interp *in, SizeId a, SizeId b);
Answer sizes_assert_same(Interp *in, SizeId a, SizeId b);

/* ---- effects.c ---- */
int effect_add(Interp *in, BuildKind kind, PyObject *object, SourceId source, int nargs,
               Value *const *args);
/* What the program stored under the name (a str) in a namespace, on a class or a function; NULL:
   nothing.  An unbound value: it deleted that. */
Value *pending_find(Interp *in, PyObject *holder, PyObject *name);
int pending_store(Interp *in, PyObject *holder, PyObject *name, Value *value);
/* The break at a change where writes are refused (Writes.refuse_writes). */
Answer break_of_overlap(Interp *in);
/* The container is about to change, and its items may change places; breaks when that cannot be
   followed. */
Answer container_changes(Interp *in, Value *container);

/* The object (NULL: a namespace) is about to be changed. */
void change_count(Interp *in, const Value *object);
/* In kept loops: the object (NULL: a namespace) is about to be changed.  What is changed is a text
   for the message of a loop that is not kept for that; the line is added. */
int change_note(Interp *in, const Value *object, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
Answer container_moves(Interp *in, Value *container);
/* A dict or set is about to gain or lose an entry; breaks where an iterator over it is live. */
Answer container_resizes(Interp *in, Value *container);

/* ---- print.c ---- */
int capture_print(const Capture *capture, Text *out);
static inline bool
value_is_sequence(const Value *value)
{
    return value->kind == V_TUPLE || value->kind == V_LIST;
}

#endif
