/* Inside capture/, lowest layer: making and asking symbolic values, where they come from, what is
   guarded, why capture stops; what every rule needs. */
#ifndef PYCOMPILE_CAPTURE_CORE_H
#define PYCOMPILE_CAPTURE_CORE_H

#include "values.h"

static inline bool
type_is_heap(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

/* ---- kinds.c: operations by the kind of a value, and by the layers above ---- */
/* The exact type its object has or would have; NULL when not known.  Guards it. */
PyTypeObject *value_type(Interp *in, Value *value);
const char *value_describe(Interp *in, Value *value); /* for breaks; never NULL */
/* The Python object of a value that is known: a constant, or a symbolic scalar that is an input (it
   becomes a guard on the value), or tuples, slices … of those.  Borrowed.  ANSWER_NO when it
   depends on array contents. */
Answer value_known(Interp *in, Value *value, PyObject **out);
Answer call_value(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* Truth as a constant where it is known (*known 0 or 1), else -1 and a BOOL node of FORM_PYTHON. */
Answer value_truth(Interp *in, Value *value, int *known, Value **node);
Answer operate_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer operate_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer operate_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer operate_is(Interp *in, Value *left, Value *right, bool *out);
Answer operate_contains(Interp *in, Value *item, Value *container, bool *out);
Answer operate_subscript(Interp *in, Value *object, Value *key, Value **out);
Answer operate_store_subscript(Interp *in, Value *object, Value *key, Value *value);
Answer operate_delete_subscript(Interp *in, Value *object, Value *key);
Answer container_contains(Interp *in, Value *item, Value *container, bool *out);
int64_t container_length(Interp *in, Value *value);
Answer iterator_of(Interp *in, Value *iterable, Value **out);
/* *out is NULL when exhausted. */
Answer iterator_next(Interp *in, Value *iterator, Value **out);
/* All items that remain, into a new sequence.  Where CPython asks first how many there may be:
   iterate_sized of objects/. */
Answer iterate_all(Interp *in, Value *iterable, ValueKind kind, Value **out);
/* At most so many items, of an iterator that the iterable has given; and all that remain of it. */
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
/* Follows the call; ANSWER_NO: another may.  `row` is what was added with the callable. */
typedef Answer (*Follow)(const Call *call, const void *row);
/* In this order they are asked. */
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
/* `fill` adds what is there and was not before; 0, or -1 with the error set. */
void callables_filled_by(int (*fill)(void));
/* 0, or -1 with the error set.  A follower that the callable has already gets another row. */
int callable_add(PyObject *object, FollowRank rank, Follow follow, const void *row);
/* Those whose modules are loaded; marks them. */
int callables_add_named(int n, NamedCallable *named);
/* NULL, perhaps with the error set: there are none. */
const Follower *callable_followers(PyObject *object);
const Follower *callable_follower(PyObject *object, Follow follow);
/* By the followers of this rank and later ones. */
Answer call_followed(const Call *call, FollowRank least);

/* ---- breaks.c: why capture stops ---- */
/* Records why capture stops here and returns ANSWER_BREAK. */
Answer interp_break(Interp *in, BreakCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same where the user is told of another code than following goes by. */
Answer interp_break_told(Interp *in, BreakCode code, BreakCode told, const char *detail);
/* A number that would have to be known, `what` of it: one that comes out of an array, or an
   argument that is guarded by value no more. */
Answer break_unknown_number(Interp *in, BreakCode code, Value *number, const char *what);
/* The same where an earlier attempt found the reason. */
Answer interp_break_as(Interp *in, BreakCode code, const Break *told);
/* The Instr's line, or that of the last one before it that has one. */
int line_at(const Decoded *decoded, int number);
/* Takes back what is recorded, so that something else can be tried. */
BreakNote break_take(Interp *in);
/* Records it again; what to answer. */
Answer break_put(Interp *in, const BreakNote *note);
/* The answer of what was tried instead; where that came to nothing, the break that was taken back
   stands, unless the program raises there. */
Answer break_unless(Interp *in, Answer answer, const BreakNote *note);
/* The line of an Instr as a frame; 0, or -1 with the error set. */
int break_frame(Arena *arena, const Decoded *decoded, int number, BreakFrame *out);
/* The innermost line that is being followed and is no model's; 0, or -1 with the error set. */
int user_line(Interp *in, BreakFrame *out);
/* Into another arena; 0, or -1 with the error set. */
int break_copy(Arena *arena, const Break *from, Break *out);

/* ---- raising.c: what the program raises ---- */
/* Raises the set Python error in the program; clears it. */
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
/* One of which nothing has run; NULL with the error set. */
Value *exception_new(Interp *in, PyTypeObject *type, Value *args);
/* Whether what is raised now is seen by a handler; else the break says why better than it. */
bool is_handled(const Interp *in);
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

/* ---- value.c: making values; NULL with the error set ---- */
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
/* A borrowed reference to `object` (stolen) kept as long as the capture; NULL in, NULL out. */
PyObject *keep(Interp *in, PyObject *object);
/* Is the name in this list?  NULL ends it. */
bool is_one_of(const char *name, const char *const *names);
/* MODULE.NAME, kept; NULL with the error set. */
PyObject *module_kept(Interp *in, const char *module, const char *name);
/* The i-th entry of items, of a container from outside fetched and guarded at first use.  Always
   go through this: items[i] may be NULL. */
Value *value_item(Interp *in, Value *container, int i);
bool value_is_array(Interp *in, const Value *value); /* V_NODE of FORM_ARRAY */
bool value_is_numpy(Interp *in, const Value *value); /* array, or array scalar, constant or node */
bool value_is_python_scalar(Interp *in, const Value *value); /* bool, int, float, complex */
/* As a graph node with constant, guarded shape, in the current version of its storage; constants
   become const nodes.  Read an array's type only after this.  ANSWER_NO when it is no array or
   scalar. */
Answer value_as_node(Interp *in, Value *value, NodeId *out);
/* The same without the shape becoming known: sizes may be SIZE_DIM and SIZE_STRIDE. */
Answer value_as_loose_node(Interp *in, Value *value, NodeId *out);
/* Known integer (index, axis, size), guarded; ANSWER_NO for anything else. */
Answer value_as_int(Interp *in, Value *value, int64_t *out);
bool value_is_opaque(const Interp *in, const Value *value); /* V_NODE of FORM_OBJECT */
/* An array of its dtype and rank, borrowed; NULL when it is another object. */
PyObject *opaque_sample(Interp *in, const Value *value);
/* An object of NumPy's or Python's own classes that a step gave, and its attributes and methods. */
bool value_is_opaque_object(Interp *in, const Value *value);
/* What the object was in a trial, borrowed; a value of a node that is an object. */
PyObject *object_sample(Interp *in, const Value *value);
/* A number that depends on what is in arrays. */
bool value_is_unknown_scalar(Interp *in, const Value *value);
/* What a V_PURE is, where it depends on arguments alone, which become known. */
Answer pure_known(Interp *in, Value *pure, PyObject **out);
/* The activation that a generator resumes; NULL: no generator, or one that has none any more or is
   running. */
const Activation *generator_suspended(const Value *iterator);
bool value_is_generator(const Value *value);
/* Is it an object whose operators are looked up on its class? */
bool value_is_object(const Value *value);
/* Is it code of pycompile.decompositions: a model's, or of a function that stands for NumPy's? */
bool code_is_model(const Activation *a);
/* Is it code of any module of pycompile's? */
bool code_is_ours(const Activation *a);
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
const char *describe_object(Interp *in, Value *value);
const char *describe_const(Interp *in, Value *value);
Answer known_const(Interp *in, Value *value, PyObject **out);
Answer known_scalar(Interp *in, Value *value, PyObject **out);
Answer known_tuple(Interp *in, Value *value, PyObject **out);
Answer known_container(Interp *in, Value *value, PyObject **out);
/* A scalar of Python or NumPy. */
bool value_is_number(Interp *in, const Value *value);
/* What is known of an opaque node, in the arena until another is added; or NULL. */
Opaque *opaque_of(Interp *in, NodeId node);
/* A value as a result. */
static inline Answer
given(Value **out, Value *value)
{
    *out = value;
    return value == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- plain.c: objects without code of the program's, and pure calls on them ---- */
Answer fold_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* Operators and methods of it, and of what is in it, run no code of the program's. */
bool object_is_plain(PyObject *object);
/* Objects of the type are equal only to themselves and hash by address, guarded. */
Answer type_is_by_identity(Interp *in, PyTypeObject *type);
Answer key_is_plain(Interp *in, PyObject *key);
/* Calls a pure callable on known, plain arguments: positional, then those named by kwnames. */
Answer fold_named(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* The value's methods and operators run no code of the program's and change nothing. */
bool object_is_pattern(PyObject *object); /* of re */
bool object_is_pure(PyObject *object);
bool object_has_nan(PyObject *object);  /* which equals itself by identity only */
bool typing_is_union(PyObject *object); /* int | float */
/* The value of what an operation on known operands gave (stolen), or what it raised. */
Answer operator_result(Interp *in, PyObject *object, Value **out);
/* Constants whose operators run no code of the program's. */
bool operand_is_plain(PyObject *object);

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

/* ---- strange.c ---- */
/* What a break is about when it is about the kind of an operand: an array that is not compiled has
   codes of its own. */
BreakCode value_break(const Value *value, BreakCode otherwise);
/* The same of an array, a dtype or what names one. */
BreakCode dtype_break(PyObject *object, BreakCode otherwise);
Answer break_dtype(Interp *in, PyObject *object); /* the break that names it; may be NULL */
bool break_is_of_array(BreakCode code);

/* ---- type_lookup.c: what a class has under a name, guarded ---- */
/* What a class's MRO holds under the name, raw and guarded; *out NULL when nothing. */
Answer type_lookup(Interp *in, PyTypeObject *type, PyObject *name, PyObject **out);
/* type_lookup by text: what the class's MRO holds, raw and guarded; *out NULL when nothing. */
Answer type_lookup_text(Interp *in, PyTypeObject *type, const char *name, PyObject **out);
/* ANSWER_YES: what the class has under the name is what `object` has there, C code therefore. */
Answer type_inherits(Interp *in, PyTypeObject *type, const char *name, PyTypeObject *from);
PyObject *interned(Interp *in, const char *text); /* borrowed */
/* What the class or a base stores under the name, NULL where nothing; no guard. */
Answer type_stored(Interp *in, PyTypeObject *type, const char *name, PyObject **out);
/* Guards, once, that the source is what was found there; or, of NULL, `absent`. */
Answer guard_found(Interp *in, SourceId source, GuardKind absent, SourceId absent_source,
                   PyObject *absent_name, PyObject *found);

/* ---- enum_types.c: enums ---- */
bool is_enum_class(PyObject *object);
bool is_enum_member(PyObject *object);
/* The class's methods of these names (`other` may be NULL) are enum's own or of C, guarded: folding
   runs none of the program's. */
Answer enum_is_plain(Interp *in, PyTypeObject *type, const char *name, const char *other);
/* A name of the module enum, borrowed; NULL while it is not imported. */
PyObject *enum_name(const char *name);
/* A function defined in enum, or one of C. */
bool enum_code_is_plain(PyObject *found);

/* ---- named_types.c: named tuples ---- */
bool value_is_named(const Value *value);
bool type_is_named(PyTypeObject *type);
bool named_opens(Interp *in, PyTypeObject *type);
/* Guards that nothing of a tuple is overridden but what namedtuple() defines. */
Answer named_behaves(Interp *in, PyTypeObject *type);

/* ---- set_values.c: sets ---- */
Value *set_from_source(Interp *in, SourceId source, PyObject *object);
Value *set_value(Interp *in, PyObject *real);
int set_refresh(Interp *in, Value *set);

/* ---- source.c: from source to value, emitting guards as facts are used ---- */
/* The value behind a source whose object is `object` now: arrays become inputs, int, float, bool,
   complex become symbolic scalars, tuples and lists open up, the rest is V_OBJECT. */
Value *value_from_source(Interp *in, SourceId source, PyObject *object);
SourceId source_add(Interp *in, SourceKind kind, SourceId base, int index, PyObject *key,
                    PyObject *object);
/* The frame's value stack held it where capture began. */
bool source_is_stacked(const Interp *in, SourceId id);
/* It is an array that nothing else held then. */
bool source_is_spare(const Interp *in, SourceId id);
SourceId source_of_const(Interp *in, PyObject *object);
/* What an object of a class derived from dict, list or tuple, or a deque, holds, as a container of
   the builtin kind; a V_OBJECT where it is not opened. */
Value *native_from_source(Interp *in, SourceId source, PyObject *object);
/* Number of the guard, or -1 with the error set. */
int guard_add(Interp *in, const Guard *guard);
int guard_simple(Interp *in, GuardKind kind, SourceId source, PyObject *object);
/* Guards that a V_OBJECT's type is what it is. */
int value_guard_type(Interp *in, Value *value);
/* Makes shape and strides constants, guarded. */
int value_pin(Interp *in, Value *value);
/* What has been seen of the source's guards; NULL: none has failed. */
const VariedPath *source_varied(Interp *in, SourceId id);
/* The int stays symbolic but lies in [low, high], guarded; ANSWER_NO when that cannot be had. */
Answer value_in_range(Interp *in, Value *value, int64_t low, int64_t high);
/* A bool that depends on inputs only, guarded (by a range where it compares an int). */
Answer condition_known(Interp *in, Value *condition, bool *out);
/* Guards that an object from outside is this very object. */
Answer guard_is(Interp *in, Value *value);
int guard_there(Interp *in, SourceId source, PyObject *object); /* it is this object; once */

/* ---- outcomes.c: values of which only outcomes of comparisons are guarded ---- */
/* Text from outside that varies, and is only compared with constants: its value needs
   no guard. */
bool text_is_compared(Interp *in, SourceId source);
/* == and != of such text and a constant, the outcome under guard; ANSWER_NO: it is none. */
Answer outcome_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
/* A condition that says whether an int that varies equals a constant, under guard; ANSWER_NO: it is
   none. */
Answer outcome_condition(Interp *in, const Value *condition, bool *out);

/* ---- chosen.c: values chosen among others ---- */
/* What earlier attempts learnt of the branch at this Instr, or NULL. */
BranchMark *branch_mark(Interp *in, const Decoded *d, int number);
/* Capture starts again, knowing that the branch is to be taken at this level. */
Answer branch_learn(Interp *in, PyCodeObject *code, int number, int level, const char *why);
/* What is recorded of the memory of `node`, or NULL. */
const Aliased *branch_find_aliased(const Interp *in, NodeId node);
/* The memory, or the number, is one of several from here on; 0 or -1. */
int branch_note(Interp *in, NodeId node, PyCodeObject *code, int number);
/* The number is an object that the program has: which one a branch chose is seen. */
bool branch_holds(const Value *number);
/* The local was left behind by a branch and is wanted after all: start again. */
Answer branch_wants(Interp *in, const Value *lost);
/* Where the array is one of two that a merged branch chooses from, or the number one of others, the
   branch ends the graph: `why` is static text. */
Answer branch_aliased(Interp *in, NodeId node, const char *why);
/* The same of what two values are, numbers or arrays, whose identity is asked for. */
Answer branch_identity(Interp *in, const Value *left, const Value *right);
/* The number is one of others, by a call followed now: which of them, the run tells. */
int branch_chosen(Interp *in, NodeId number);
/* A V_CHOICE; NULL with the error set. */
Value *choice_new(Interp *in, Value *test, Value *if_so, Value *if_not);
/* More is asked of the value than to be kept and given away. */
Answer choice_asked(Interp *in, const Value *value);
/* The V_CHOICE of the memory that the array lies in, or NULL. */
Value *choice_of(const Interp *in, NodeId node);
/* When the number leaves it is that one of the two, as an object. */
Answer branch_keeps(Interp *in, Value *number, Value *if_so, Value *if_not, Value *test);
/* The identity of what the call followed now chose is asked for: it must not be one number. */
bool branch_apart(Interp *in);
static inline Answer
break_choice(Interp *in, const char *name)
{
    return interp_break(in, BREAK_OPERATOR, "identity of what %s() chose", name);
}

/* ---- join.c ---- */
/* The Instr at which the ways out of `number` meet, Decoded.count for the function's return,
   JOIN_NONE.  0, or -1 with the error set. */
int branch_join(Interp *in, const Decoded *d, int number, int *out);
/* Every way from `at` raises, and before long. */
bool branch_raises(const Decoded *d, int at);
bool branch_in_try(const Decoded *d, int at);
/* May the slot be read from `at` on before it is stored?  -1 with the error set. */
int branch_reads(Interp *in, const Decoded *d, int at, int slot);

/* ---- storage.c: which version of its memory an array reads ---- */
/* The node that gives what the memory of array `node` holds now: `node` itself, or a view of the
   storage's last version.  Everything that reads an array, boxing included, asks this first.
   NO_NODE with the error set. */
NodeId array_current(Interp *in, NodeId node);
/* The storage that `node` lies in, recorded at first asking; -1 with the error set. */
int storage_of(Interp *in, NodeId node);
/* The one recorded that has this version; -1: none. */
int storage_find(const Interp *in, NodeId version);
/* `version` (a scatter, a result of a loop) is what the storage of `node` holds from here on. */
int storage_write(Interp *in, NodeId node, NodeId version);

/* ---- sizes.c: sizes that stay symbols ---- */
/* An array from outside whose shape is not guarded; only then ask for its sizes. */
bool array_is_loose(Interp *in, const Value *array);
Answer array_size(Interp *in, Value *array, int axis, Value **out);
Answer array_sizes(Interp *in, Value *array, Value **out);    /* shape */
Answer array_elements(Interp *in, Value *array, Value **out); /* size */
/* That a number, or those of a tuple, are lengths of an array whose shape only the run tells. */
int note_data_length(Interp *in, const Value *value);
/* Whether a number or a truth depends on lengths that come out of the data of arrays (len(x[mask]))
   and on nothing else that only the run tells. */
bool value_is_data_length(Interp *in, const Value *value);
/* At the end of all: sizes of arrays whose shape is guarded become constants. */
void sizes_settle(Interp *in);

/* ---- effects.c ---- */
int effect_add(Interp *in, BuildKind kind, PyObject *object, SourceId source, int nargs,
               Value *const *args);
/* The container is about to change (and its items to change places); breaks when that cannot be
   followed. */
Answer container_changes(Interp *in, Value *container);
Answer container_moves(Interp *in, Value *container);
/* A dict or set gets or loses an entry; breaks where an iterator over it is alive. */
Answer container_resizes(Interp *in, Value *container);

/* ---- print.c ---- */
int capture_print(const Capture *capture, Text *out);
static inline bool
value_is_sequence(const Value *value)
{
    return value->kind == V_TUPLE || value->kind == V_LIST;
}

#endif
