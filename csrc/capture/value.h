/* Private to capture/: symbolic values and the interpreter that holds them.

   Values live in the capture's arena and are compared by pointer: aliasing in the program is
   aliasing of Value pointers, so a list bound to two names and mutated through one is seen through
   the other.  A Value made by the program (tuple, list, function…) has no source until it leaves;
   a Value that came from outside has one. */
#ifndef PYCOMPILE_CAPTURE_VALUE_H
#define PYCOMPILE_CAPTURE_VALUE_H

#include "capture.h"

typedef struct Interp Interp;

typedef enum {
#define KIND(name, ...) V_##name,
#include "value_kinds.def"
#undef KIND
} ValueKind;

typedef struct Value Value;
typedef struct Generator Generator; /* generators.c */

/* What an exception made here, a V_INSTANCE, has besides its attributes. */
typedef struct {
    Value *args;            /* V_TUPLE */
    Value *cause, *context; /* NULL: None; a context of NULL may also be what the caller handles */
    Value *traceback;       /* stands for the one that there would be; or NULL */
    bool suppress;          /* __suppress_context__ */
    int made, raised;       /* steps of the bottom activation: when; -1 not raised */
    PyObject *real;         /* the object that it stands for, where C code made it; or NULL */
    /* of a group: */
    Value *message, *parts; /* text, V_TUPLE of exceptions; NULL of others */
    const Value *part_of;   /* split off that group, and not raised since; or NULL */
    bool wraps;             /* it came to be around what `except*` met */
} Exception;

struct Value {
    ValueKind kind;
    SourceId source;  /* NO_SOURCE when made by the program */
    PyObject *object; /* V_CONST, V_OBJECT: the object; V_FUNCTION: code; V_TUPLE: the tuple itself
                         when known; V_NODE of FORM_PYTHON: the value seen while capturing, or NULL
                         when it comes out of an array; borrowed from keep */
    PyTypeObject *type;
    NodeId node; /* V_NODE: as it was made; value_as_node gives its current version */
    int nitems, cap;
    Value **items; /* of a container from outside: NULL until value_item; of a FORM_PYTHON node:
                      the operands it was computed from */
    Value *of;     /* V_ITER: what is iterated; V_NODE of a SOURCE_SIZE: the array; a V_NODE with a
                      V_PURE here is made by that when it leaves; objects: the V_DICT that is their
                      __dict__, once there is one; a V_DICT that is the __dict__ of an instance made
                      here: that instance */
    Value *core, *box;    /* objects of classes derived from a builtin container: that container,
                             and back; see boxes.c */
    Generator *generator; /* V_ITER: of a generator made here */
    Value *globals_of;    /* V_FUNCTION */
    int64_t position;
    Exception *exception; /* V_INSTANCE of an exception class, else NULL */
    int64_t length;       /* V_ITER: what it walks had as many items when it was made */
    const char *name;     /* V_BUILTIN_METHOD, V_VIEW; V_ITER: its kind */
    int guard;            /* 1 + number of the guard that establishes type or header; 0 none yet */
    bool mutated;
    bool guarded;  /* its type (and header, for arrays) is under guard already */
    int serial;    /* position in Interp.values */
    bool compared; /* V_CONST: text of which comparisons are guarded, and not its value */
    int seen;      /* the last of Interp.walks that met it */
    bool pinned;   /* V_NODE: shape and strides are constants and guarded */
    bool paired;   /* V_BUILTIN_METHOD: LOAD_METHOD gave it, and CPython has function and object */
    BuildId built; /* 1 + build, once it has been asked for as an object; -1 while being built */
};

/* One activation: the frame itself or a function inlined into it. */
typedef struct Activation Activation;
struct Activation {
    Activation *caller;
    const Decoded *decoded;
    Value **slots;   /* localsplus, then the value stack; NULL: not looked at yet (bottom only) */
    Value **initial; /* bottom only: what each slot's source gave */
    int depth;
    int number; /* the Instr being followed */
    int file;
    PyObject *globals, *builtins;
    Value *function;
    Value *result; /* set by RETURN, RETURN_GENERATOR and YIELD */
    bool yielded;  /* it was YIELD */
    int back_jumps;
};

/* The storage behind arrays: its versions.  One per input array or fresh array that is written. */
typedef struct {
    NodeId root;    /* the storage's first node: input or producer */
    NodeId version; /* what it holds now: root, or the last scatter */
    bool written;
    bool shown; /* an opaque array is a view of it: it is not written */
    int commit; /* 1 + effects that come before it is committed, and it is not written any more; 0:
                   it is committed last */
} Storage;

/* An array whose shape is known at run time only (steps.c). */
typedef struct {
    NodeId node;
    PyObject *sample; /* has its dtype and rank; borrowed from keep */
    bool viewed;      /* others show its memory, or it shows theirs: it is not written */
} Opaque;

/* A node that was once the version of a storage, so that views taken then are found again. */
typedef struct {
    NodeId node;
    int storage; /* index into Interp.storages */
} Version;

/* Pointer -> pointer, in the arena. */
typedef struct {
    const void **keys;
    void **values;
    int len, cap;
} PointerMap;
void *map_get(const PointerMap *map, const void *key);
int map_put(Interp *in, PointerMap *map, const void *key, void *value);

/* An effect as it was met; made into Builds when capture ends. */
typedef struct {
    BuildKind kind;
    int nargs;
    Value *args[4];
    PyObject *object;
    SourceId source;
    int number;
    Value *when; /* only where this bool holds: it is an arm's; NULL: always */
} Effect;

/* A global or module attribute that the program stored: read back from here. */
typedef struct {
    PyObject *dict, *name;
    Value *value;
} StoredGlobal;

/* A for loop being kept as a region: the arrays whose elements it writes. */
typedef struct {
    int narrays;
    Value *array[16];
    NodeId version[16]; /* as the body left it so far */
} Loop;

/* Memory that must not be written, nor leave as an object: after a merged branch it is one array or
   another. */
typedef struct {
    NodeId root;        /* of its Storage */
    PyCodeObject *code; /* of the branch */
    int number;
} Aliased;

/* A branch being merged: merge.c. */
typedef struct Fork {
    PyCodeObject *code;
    int number;
    int neffects; /* the arm's own come behind these */
    struct Fork *outer;
} Fork;

/* What an operation on a value of a kind does: a row of value_kinds.def, which says what each
   column is and what NULL means in it. */
typedef struct {
    PyTypeObject *exact;
    PyTypeObject *(*type)(Interp *in, Value *value);
    const char *(*describe)(Interp *in, Value *value);
    Answer (*known)(Interp *in, Value *value, PyObject **out);
    Answer (*truth)(Interp *in, Value *value, int *known, Value **node);
    Answer (*iterate)(Interp *in, Value *value, Value **out);
    Answer (*next)(Interp *in, Value *iterator, Value **out);
    int64_t (*length)(Interp *in, Value *value);
    Answer (*contains)(Interp *in, Value *item, Value *container, bool *out);
    Answer (*subscript)(Interp *in, Value *value, Value *key, Value **out);
    Answer (*attribute)(Interp *in, Value *value, PyObject *name, Value **out);
    Answer (*store)(Interp *in, Value *value, PyObject *name, Value *stored);
    Answer (*call)(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);
    bool merges;
} KindOfValue;

extern const KindOfValue value_kinds[]; /* by ValueKind; given to Interp.kinds */

struct Interp {
    const KindOfValue *kinds; /* by ValueKind */
    Capture *out;
    Arena *arena;
    Graph *graph;
    RegionId region;
    const CaptureRequest *request;
    Activation *top, *bottom;
    int inlined; /* activations above the bottom */
    VEC(Storage) storages;
    VEC(Version) versions;
    VEC(Opaque) opaques;
    VEC(NodeId) borrowers; /* new arrays of a step that do not own their memory */
    int walks;             /* see temporaries.c */
    uint64_t spare_slots;  /* bit per entry of the value stack: nothing else held its array where
                              capture began */
    bool adds_up;          /* sum() has the operands of +, and the stack has not */
    PointerMap randoms;    /* generator of np.random -> its Value as an argument of steps */
    Value *drawn;          /* the token of the last draw, or NULL; see draws.c */
    VEC(Value *) inputs;   /* by graph input index */
    VEC(Value *) outside;  /* mutable objects met from outside, in order */
    VEC(Effect) effects;
    VEC(StoredGlobal) stored_globals;
    VEC(Value *) generators; /* made here */
    VEC(Value *) texts;      /* V_PUREs: what makes them may raise, used or not */
    int blame; /* 1 + the bottom's Instr to be learnt from a break inside, when not the current */
    PointerMap by_object; /* real object -> its Value */
    PointerMap by_source; /* source -> its Value */
    PointerMap decoded;   /* code object -> Decoded, of inlined functions */
    Value *raised;        /* with BREAK_EXCEPTION: the exception that the program raises, or NULL */
    Value *handled;       /* what sys.exception() is, where it was raised here; or NULL */
    int unbuilt;         /* 1 + step before which an exception that cannot be built was not there */
    PointerMap tokens;   /* Value -> the object that stands for it, see shadow.c */
    PointerMap shadowed; /* and back */
    bool shadow_failed;  /* an operation on stand-ins was made to fail, with this answer */
    Answer shadow_answer;
    int errstate_depth;   /* changes of np.errstate that are in force, the first since … */
    int errstate_step;    /* … this step of the bottom activation */
    BreakCode break_code; /* set by interp_break: what following goes by */
    Break told;           /* and what the user is told: of a break inside a call, the inner one */
    bool branched;        /* the exit is made: a branch */
    bool break_inlined;   /* it was inside an inlined function */
    int budget;           /* instructions left */
    int unroll;           /* instructions that the loops of one activation may be unrolled to */
    int nesting;          /* of comparisons, and of calls of objects, within one another */
    int line;
    int steps;        /* of the bottom activation, so far */
    int *first_step;  /* by number of the bottom's Instrs: 1 + the step that first met it */
    int *jumped_from; /* by number: the last Instr that jumped back to it, or 0 */
    const struct Marks *marks; /* what earlier attempts found out */
    struct Marks *learn;       /* the same, to add to */
    Arena *learn_arena;        /* which outlives this attempt */
    bool again;                /* something was learnt: start again */
    VEC(Value *) values;       /* all, as they were made */
    VEC(Aliased) aliased;
    VEC(Value *) chosen; /* arrays whose nodes are OP_choose, their V_CHOICEs in `of` */
    PointerMap joins;    /* Decoded -> where its branches meet: join.c */
    bool prints;         /* there is a print among the effects */
    Fork *fork;          /* innermost branch one of whose arms is being followed */
    Loop *loop;          /* the loop whose body is being followed, or NULL */
    bool refuse_writes;
    bool dirty; /* the instruction being followed has changed values already */
    Value *unbound, *null;
};

/* What a handler of an instruction or of a call says: ANSWER_YES went on (result pushed or in
 *out), ANSWER_NO break (interp_break was called), ANSWER_ERROR error set. */

/* Records why capture stops here and returns ANSWER_NO. */
Answer interp_break(Interp *in, BreakCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same where the user is told of another code than following goes by. */
Answer interp_break_told(Interp *in, BreakCode code, BreakCode told, const char *detail);
/* A number that would have to be known, `what` of it: one that comes out of an array, or an
   argument that is guarded by value no more. */
Answer break_unknown_number(Interp *in, BreakCode code, Value *number, const char *what);
/* The same where an earlier attempt found the reason. */
Answer interp_break_as(Interp *in, BreakCode code, const Break *told);
/* The line of an Instr as a frame; 0, or -1 with the error set. */
int break_frame(Arena *arena, const Decoded *decoded, int number, BreakFrame *out);
/* Into another arena; 0, or -1 with the error set. */
int break_copy(Arena *arena, const Break *from, Break *out);

/* ---- value.c: making values; NULL with the error set ---- */
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
/* A value as a result. */
static inline Answer
given(Value **out, Value *value)
{
    *out = value;
    return value == NULL ? ANSWER_ERROR : ANSWER_YES;
}
/* Is the name in this list?  NULL ends it. */
bool is_one_of(const char *name, const char *const *names);
/* MODULE.NAME, kept; NULL with the error set. */
PyObject *module_kept(Interp *in, const char *module, const char *name);
/* The i-th entry of items, of a container from outside fetched and guarded at first use.  Always
   go through this: items[i] may be NULL. */
Value *value_item(Interp *in, Value *container, int i);
/* The exact type its object has or would have; NULL when not known.  Guards it. */
PyTypeObject *value_type(Interp *in, Value *value);
/* What a break is about when it is about the kind of an operand: an array that is not compiled has
   codes of its own. */
BreakCode value_break(const Value *value, BreakCode otherwise);
/* The same of an array, a dtype or what names one. */
BreakCode dtype_break(PyObject *object, BreakCode otherwise);
Answer break_dtype(Interp *in, PyObject *object); /* the break that names it; may be NULL */
bool break_is_of_array(BreakCode code);
const char *value_describe(Interp *in, Value *value); /* for breaks; never NULL */
bool value_is_array(Interp *in, const Value *value);  /* V_NODE of FORM_ARRAY */
bool value_is_numpy(Interp *in, const Value *value);  /* array, or array scalar, constant or node */
bool value_is_python_scalar(Interp *in, const Value *value); /* bool, int, float, complex */

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

/* The Python object of a value that is known: a constant, or a symbolic scalar that is an input (it
   becomes a guard on the value), or tuples, slices … of those.  Borrowed.  ANSWER_NO when it
   depends on array contents (no break recorded). */
Answer value_known(Interp *in, Value *value, PyObject **out);
/* As a graph node with constant, guarded shape, in the current version of its storage; constants
   become const nodes.  Read an array's type only after this.  ANSWER_NO when it is no array or
   scalar (no break recorded). */
Answer value_as_node(Interp *in, Value *value, NodeId *out);
/* The same without the shape becoming known: sizes may be SIZE_DIM and SIZE_STRIDE. */
Answer value_as_loose_node(Interp *in, Value *value, NodeId *out);
/* Makes shape and strides constants, guarded. */
int value_pin(Interp *in, Value *value);
/* Known integer (index, axis, size), guarded; ANSWER_NO for anything else (no break recorded). */
Answer value_as_int(Interp *in, Value *value, int64_t *out);
/* What has been seen of the source's guards; NULL: none has failed. */
const VariedPath *source_varied(Interp *in, SourceId id);
/* outcomes.c: text from outside that varies, and is only compared with constants: its value needs
   no guard. */
bool text_is_compared(Interp *in, SourceId source);
/* == and != of such text and a constant, the outcome under guard; ANSWER_NO without a break: it is
   none. */
Answer outcome_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
/* A condition that says whether an int that varies equals a constant, under guard; ANSWER_NO: it is
   none. */
Answer outcome_condition(Interp *in, const Value *condition, bool *out);
/* The int stays symbolic but lies in [low, high], guarded; ANSWER_NO when that cannot be had. */
Answer value_in_range(Interp *in, Value *value, int64_t low, int64_t high);

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

/* ---- writes.c: in-place writes to arrays from outside ---- */
/* May the array be written?  Breaks when its memory is read-only or overlaps itself; guards that it
   is writeable.  Ask before each storage_write. */
Answer write_allowed(Interp *in, Value *array);
/* The input whose memory `node` lies in; NULL when the memory was made here. */
Value *input_of(Interp *in, NodeId node);
/* EFFECT_WRITE of what is committed at this place (Storage.commit). */
int writes_commit(Interp *in, int place);
/* At the end: NO_OVERLAP guards and the other EFFECT_WRITEs.  ANSWER_NO: inputs overlap now. */
Answer writes_finish(Interp *in);

/* ---- sets.c: the set or frozenset at `source`; an opaque object where its entries are not plain
 * ---- */
Value *set_from_source(Interp *in, SourceId source, PyObject *object);

/* ---- ops.c: array semantics on values ---- */
/* Ufunc application with NumPy's dtype resolution, broadcasting, scalar results; nodes or weak
   Python scalars as arguments. `dtype` -1: as NumPy decides. */
Answer emit_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, int dtype,
                  Value **out);
Answer emit_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer emit_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer emit_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer emit_absolute(Interp *in, Value *value, Value **out);
/* ---- index.c ---- */
Answer emit_subscript(Interp *in, Value *array, Value *key, Value **out);
Answer emit_store_subscript(Interp *in, Value *array, Value *key, Value *value);
/* array op= value: writes through to the storage. */
Answer emit_inplace(Interp *in, int operator_, Value *array, Value *value, Value **out);
/* ---- steps.c ---- */
/* A call at run time of `callable`, which is pure and never NULL but with the error set. */
Answer call_simple(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* ---- opaque.c: arrays whose shape is known at run time only ---- */
bool value_is_opaque(const Interp *in, const Value *value); /* V_NODE of FORM_OBJECT */
bool any_opaque(const Interp *in, int n, Value *const *values);
/* An array of its dtype and rank, borrowed; NULL when it is another object. */
PyObject *opaque_sample(Interp *in, const Value *value);
/* An object of NumPy's or Python's own classes that a step gave, and its attributes and methods. */
bool value_is_opaque_object(Interp *in, const Value *value);
Answer object_attribute(Interp *in, Value *object, const char *name, Value **out);
Answer object_method(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
                     PyObject *kwnames, Value **out);
/* What the object was in a trial, borrowed; a value of a node that is an object. */
PyObject *object_sample(Interp *in, const Value *value);
Answer object_value(Interp *in, NodeId node, PyObject *sample, Value **out);
/* ---- draws.c: np.random ---- */
bool value_is_random(Interp *in, const Value *value);
Answer draw_attribute(Interp *in, Value *generator, const char *name, Value **out);
Answer draw_method(Interp *in, Value *generator, const char *name, int nargs, Value *const *args,
                   PyObject *kwnames, Value **out);
Answer draw_bound(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* ANSWER_NO with BREAK_NONE: no function that draws. */
Answer draw_function(Interp *in, PyObject *callable, int nargs, Value *const *args,
                     PyObject *kwnames, Value **out);
/* x.flat and x.flags are V_BUILTIN_METHODs of these names. */
bool value_is_flags(Interp *in, const Value *value);
Answer emit_flag(Interp *in, Value *flags, const char *name, Value **out);
bool value_is_flat(const Interp *in, const Value *value);
Answer emit_flat_subscript(Interp *in, Value *flat, Value *key, Value **out);
Answer emit_store_flat_subscript(Interp *in, Value *flat, Value *key, Value *value);
/* ---- strings.c ---- */
/* np.array2string and the like; ANSWER_NO without a break: none of them. */
Answer text_numpy(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* ---- numpy_functions.c: np.sum, np.where …, ndarray methods and attributes ---- */
/* `callable` is the real object; ANSWER_NO with break_code BREAK_NONE: not ours to handle.  In
   calls `nargs` counts positional arguments; those by keyword follow them, named by `kwnames` (or
   NULL). */
Answer call_numpy(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
Answer array_method(Interp *in, Value *array, const char *name, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);
bool array_has_method(const char *name);
Answer array_attribute(Interp *in, Value *array, const char *name, Value **out);
Answer array_set_attribute(Interp *in, Value *array, const char *name, Value *value);
/* ---- builtins.c: len, range, isinstance, float …; methods of list, dict, str, tuple ---- */
Answer call_builtin(Interp *in, PyObject *callable, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);
Answer builtin_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                      PyObject *kwnames, Value **out);
/* ---- call.c: dispatch, argument binding, inlining ---- */
Answer call_value(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* ---- loop.c: for over a range with element reads and writes, kept as a loop region ---- */
/* At a FOR_ITER whose iterator is a range: ANSWER_YES followed the whole loop as one region node
   and moved on to its exit; ANSWER_NO with BREAK_NONE: not of that form, unroll it. */
Answer capture_loop(Interp *in, Value *iterator);

#endif
