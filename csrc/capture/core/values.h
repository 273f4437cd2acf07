/* Inside capture/core: what a symbolic value and the symbolic interpreter are.

   Values live in the capture's arena and are compared by pointer: aliasing in the program is
   aliasing of Value pointers, so a list bound to two names and mutated through one is seen through
   the other.  A Value made by the program (tuple, list, function ...) has no source until it
   leaves; a Value that came from outside has one. */
#ifndef PYCOMPILE_CAPTURE_VALUES_H
#define PYCOMPILE_CAPTURE_VALUES_H

#include "../capture.h"

typedef struct Interp Interp;
typedef enum {
#define KIND(name, ...) V_##name,
#include "value_kinds.def"
#undef KIND
} ValueKind;

typedef struct Value Value;
typedef struct Generator Generator;
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
    /* All kinds. */
    ValueKind kind;
    SourceId source;  /* NO_SOURCE when made by the program */
    PyObject *object; /* V_CONST, V_OBJECT: the object; V_FUNCTION: code; V_TUPLE: the tuple itself
                         when known; V_NODE of FORM_PYTHON: the value seen while capturing, or NULL
                         when it comes out of an array; borrowed from keep */
    PyTypeObject *type;
    int guard;    /* 1 + number of the guard that establishes type or header; 0 none yet */
    bool guarded; /* its type (and header, for arrays) is under guard already */
    bool mutated;
    int serial;    /* position in the attempt's values */
    int seen;      /* the last of the walks through temporaries that met it */
    BuildId built; /* 1 + build, once it has been asked for as an object; -1 while being built */

    int nitems, cap;
    Value **items; /* of a container from outside: NULL until value_item; of a FORM_PYTHON node:
                      the operands it was computed from */
    /* One more value, by what it is to each kind. */
    union {
        Value *of;         /* any of them: to copy, compare or walk values of every kind */
        Value *walked;     /* V_ITER: what it goes through */
        Value *dict;       /* V_VIEW: the dict that it shows */
        Value *owner;      /* V_DICT: the instance made here whose __dict__ it is, or NULL */
        Value *attributes; /* objects: the V_DICT that is their __dict__, once there is one */
        Value *sized;      /* V_NODE of a SOURCE_SIZE: the array */
        Value *leaves_as;  /* other V_NODEs: the V_PURE or V_CHOICE that leaves instead, or NULL */
        Value *made;       /* V_PURE that is a text: what the call gave, once it was made */
    };
    Value *core, *box; /* objects of classes derived from a builtin container: that container,
                          and back; see boxes.c */

    /* V_NODE */
    NodeId node; /* as it was made; value_as_node gives its current version */
    bool pinned; /* shape and strides are constants and guarded */
    /* V_CONST */
    bool compared; /* text of which comparisons are guarded, and not its value */
    /* V_FUNCTION */
    Value *globals_of;
    /* V_INSTANCE */
    Exception *exception; /* of an exception class, else NULL */
    /* V_ITER */
    Generator *generator; /* made here, or NULL */
    int64_t length;       /* what it walks had as many items when it was made */
    int64_t position;     /* items that it has given; V_CHOICE: number of the branch's Instr */
    /* V_BUILTIN_METHOD, V_VIEW */
    const char *name; /* of the method; V_ITER: its kind */
    bool paired;      /* LOAD_METHOD gave it, and CPython has function and object */
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
    int commit; /* 1 + the number of the effect that it is committed before, a call of output.c's,
                   and it is not written any more; 0: it is committed last */
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

/* An effect as it was met; made into Builds when capture ends. */
typedef struct {
    BuildKind kind;
    int nargs;
    Value *args[4];
    PyObject *object;
    SourceId source;
    int number;
    const char *what; /* of an EFFECT_CALL: "print"; static, or in the arena */
    BreakFrame at;    /* and the user's line of it */
    Value *when;      /* only where this bool holds: it is an arm's; NULL: always */
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

struct Generator {
    Activation *activation;
    int born; /* the bottom's Instr in which it was made */
    bool started, running, finished;
    Value *handled; /* what it handled when it yielded, or NULL */
    bool library;   /* stands for an iterator of Python's library (pycompile.decompositions) */
};

typedef enum { PARTS_NONE, PARTS_ITEMS, PARTS_FIXED } ValueParts;

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
    ValueParts parts;
} KindOfValue;

/* What a layer asks of the layers above it, besides the functions in the rows of its values' kinds.
 */
typedef struct {
    Answer (*binary)(Interp *in, int operator_, Value *left, Value *right, Value **out);
    Answer (*compare)(Interp *in, int operator_, Value *left, Value *right, Value **out);
    Answer (*unary)(Interp *in, InstrKind operator_, Value *operand, Value **out);
    Answer (*is)(Interp *in, Value *left, Value *right, bool *out);
    Answer (*contains)(Interp *in, Value *item, Value *container, bool *out);
    Answer (*subscript)(Interp *in, Value *object, Value *key, Value **out);
    Answer (*store_subscript)(Interp *in, Value *object, Value *key, Value *value);
    Answer (*delete_subscript)(Interp *in, Value *object, Value *key);
    /* Raises AttributeError, or breaks. */
    Answer (*no_attribute)(Interp *in, Value *object, PyObject *name);
    Answer (*cannot_store)(Interp *in, Value *object, PyObject *name);
    /* Follows the activation until it returns. */
    Answer (*run)(Interp *in, Activation *activation, Value **out);
    Answer (*inlined)(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
                      Value **out);
    /* Objects from outside that instances of Python models stand for: collections.deque and kin. */
    bool (*model_holds)(PyObject *object);
    Value *(*model_from_source)(Interp *in, SourceId source, PyObject *object);
    Value *(*dict_of)(Interp *in, Value *value);
} Above;

/* Arrays and what lies behind them. */
typedef struct {
    VEC(Storage) storages;
    VEC(Version) versions;
    VEC(Opaque) opaques;
    VEC(NodeId) borrowers; /* new arrays of a step that do not own their memory */
    PointerMap randoms;    /* generator of np.random -> its Value as an argument of steps */
    Value *drawn;          /* the token of the last draw, or NULL; see draws.c */
    VEC(Value *) inputs;   /* by graph input index */
    VEC(Aliased) aliased;
    VEC(Value *) chosen; /* arrays whose nodes are OP_choose, their V_CHOICEs in `leaves_as` */
} InterpMemory;

/* Objects from outside, and what was found out of code. */
typedef struct {
    VEC(Value *) outside; /* mutable objects met from outside, in order */
    PointerMap by_object; /* real object -> its Value */
    PointerMap by_source; /* source -> its Value */
    PointerMap decoded;   /* code object -> Decoded, of inlined functions */
    PointerMap joins;     /* Decoded -> where its branches meet: join.c */
} InterpSources;

/* What the program has done that is seen outside, to be done at commit. */
typedef struct {
    VEC(Effect) effects;
    VEC(StoredGlobal) stored_globals;
    VEC(Value *) generators; /* made here */
    VEC(Value *) texts;      /* V_PUREs: what makes them may raise, used or not */
    bool prints;             /* there is a print among the effects */
    bool refuse_writes;
    bool dirty; /* the instruction being followed has changed values already */
} InterpWrites;

/* Exceptions as values. */
typedef struct {
    Value *raised;  /* with BREAK_EXCEPTION: the exception that the program raises, or NULL */
    Value *handled; /* what sys.exception() is, where it was raised here; or NULL */
    int unbuilt;    /* 1 + step before which an exception that cannot be built was not there */
} InterpRaising;

/* How far this attempt has come, what earlier ones found out, and what it adds. */
typedef struct {
    int blame;   /* 1 + the bottom's Instr to be learnt from a break inside, when not the current */
    int budget;  /* instructions left */
    int unroll;  /* instructions that the loops of one activation may be unrolled to */
    int nesting; /* of comparisons, and of calls of objects, within one another */
    int line;
    int steps;        /* of the bottom activation, so far */
    int *first_step;  /* by number of the bottom's Instrs: 1 + the step that first met it */
    int *jumped_from; /* by number: the last Instr that jumped back to it, or 0 */
    const struct Marks *marks; /* what earlier attempts found out */
    struct Marks *learn;       /* the same, to add to */
    Arena *learn_arena;        /* which outlives this attempt */
    bool again;                /* something was learnt: start again */
    VEC(Value *) values;       /* all, as they were made */
} InterpAttempt;

/* Real containers of stand-ins: shadow.c. */
typedef struct {
    PointerMap tokens;   /* Value -> the object that stands for it, see shadow.c */
    PointerMap shadowed; /* and back */
    bool failed;         /* an operation on stand-ins was made to fail, with this answer */
    Answer answer;
} InterpStandIns;

/* Changes of np.errstate that are in force: errstate.c. */
typedef struct {
    int depth; /* changes of np.errstate that are in force, the first since … */
    int step;  /* … this step of the bottom activation */
} InterpErrstate;

/* Operands that NumPy writes into: temporaries.c. */
typedef struct {
    int walks;            /* see temporaries.c */
    uint64_t spare_slots; /* bit per entry of the value stack: nothing else held its array where
                             capture began */
    bool adds_up;         /* sum() has the operands of +, and the stack has not */
} InterpTemporaries;

struct Interp {
    const KindOfValue *kinds; /* by ValueKind */
    const Above *above;
    Capture *out;
    Arena *arena;
    Graph *graph;
    RegionId region;
    const CaptureRequest *request;
    Activation *top, *bottom;
    int inlined;              /* activations above the bottom */
    VEC(NodeId) data_lengths; /* sizes of opaque arrays */
    BreakCode break_code;     /* set by interp_break: what following goes by */
    Break told;         /* and what the user is told: of a break inside a call, the inner one */
    bool branched;      /* the exit is made: a branch */
    bool break_inlined; /* it was inside an inlined function */
    Fork *fork;         /* innermost branch one of whose arms is being followed */
    Loop *loop;         /* the loop whose body is being followed, or NULL */
    Value *unbound, *null;
    InterpMemory memory;
    InterpSources sources;
    InterpWrites writes;
    InterpRaising raising;
    InterpAttempt attempt;
    InterpStandIns stand_ins;
    InterpErrstate errstate;
    InterpTemporaries temporaries;
};

/* A break that may yet be taken back. */
typedef struct {
    BreakCode code;
    Break told;
    bool inlined;
} BreakNote;

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

#define TRY(call)                                                                                  \
    do {                                                                                           \
        Answer answer_ = (call);                                                                   \
        if (answer_ != ANSWER_YES) return answer_;                                                 \
    } while (0)

/* A step breaks exactly where it has recorded why.  Only what starts capture again may be learnt in
   passing (type_of_choice); it then breaks at the end of the instruction. */
static inline bool
answer_agrees(const Interp *in, Answer answer)
{
    bool recorded = in->break_code != BREAK_NONE;
    return answer == ANSWER_ERROR || (answer == ANSWER_BREAK) == recorded ||
           (recorded && in->attempt.again);
}

/* Nothing else is to be tried. */
static inline bool
answer_stops(Answer answer)
{
    return answer == ANSWER_BREAK || answer == ANSWER_ERROR;
}

#define TRY_NODE(target, call)                                                                     \
    do {                                                                                           \
        if (((target) = (call)) == NO_NODE) return ANSWER_ERROR;                                   \
    } while (0)

enum { JOIN_NONE = -1 }; /* the number of Instrs (one past the last) is the exit */

#endif
