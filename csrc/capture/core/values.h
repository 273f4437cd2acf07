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
} ValueKind;

typedef struct Value Value;
typedef struct Generator Generator;
/* The parts of an exception made here (a V_INSTANCE) besides its attributes. */
typedef struct {
    Value *args;            /* V_TUPLE */
    Value *cause, *context; /* NULL: None; a context: or what the caller handles */
    Value *traceback;       /* stands for the real traceback; or NULL */
    bool suppress;          /* __suppress_context__ */
    int made, raised;       /* steps of the bottom activation; -1: not raised */
    int line;               /* where it was raised first */
    PyObject *real;         /* the object that it was made from, where C code made one; or NULL */
    /* of an exception group: */
    Value *message, *parts; /* text, V_TUPLE of exceptions; NULL of others */
    const Value *part_of;   /* the group it was split from, until it is raised; or NULL */
    bool wraps;             /* `except*` made it, around an exception that is not a group */
} Exception;

struct Value {
    /* For all kinds. */
    ValueKind kind;
    SourceId source;  /* NO_SOURCE when made by the program */
    PyObject *object; /* V_CONST, V_OBJECT: the object; V_FUNCTION: code; V_TUPLE: the tuple itself
                         when known; V_NODE of FORM_PYTHON: the value seen while capturing, or NULL
                         when it comes out of an array. Borrowed from the keep list. */
    PyTypeObject *type;
    int guard;    /* 1 + number of the guard that establishes type or header; 0: none yet */
    bool guarded; /* its type (and header, for arrays) is under guard already */
    bool mutated;
    int serial;    /* position in the attempt's values */
    int seen;      /* number of the last walk in temporaries.c that visited it */
    BuildId built; /* 1 + its build, once it was needed as an object; -1 while being built */

    int nitems, cap;
    Value **items; /* of a container from outside: NULL until value_item fetches them; of a
                      FORM_PYTHON node: the operands that it was computed from */
    /* One more value; its meaning depends on the kind. */
    union {
        Value *of; /* any of the others, for code that copies, compares or visits values of every
                      kind */
        Value *walked;     /* V_ITER: what it iterates over */
        Value *dict;       /* V_VIEW: its dict */
        Value *owner;      /* V_DICT: the instance made here whose __dict__ it is, or NULL */
        Value *attributes; /* objects: the V_DICT that is their __dict__, once there is one */
        Value *sized;      /* V_NODE of a SOURCE_SIZE: the array */
        Value *leaves_as; /* other V_NODEs: the V_PURE or V_CHOICE that leaves the graph instead, or
                             NULL */
        Value *made;      /* V_PURE of a text: the result of the call, once it was made */
    };
    Value *core, *box; /* of objects of classes derived from a builtin container: that container,
                          and of the container its object; see boxes.c */

    /* V_NODE */
    NodeId node; /* as first made; value_as_node gives the current version */
    bool pinned; /* shape and strides are constants and guarded */
    /* V_CONST */
    bool compared; /* a text of which only comparisons are guarded */
    /* V_FUNCTION */
    Value *globals_of;
    PyObject *builtins; /* of the frame that made it: its own where its globals name none */
    /* V_INSTANCE */
    Exception *exception; /* of an exception class, else NULL */
    /* V_ITER */
    Generator *generator; /* made here, or NULL */
    int64_t length;       /* number of items of its container when it was made */
    int64_t position;     /* items given so far; V_CHOICE: number of the branch's Instr */
    Value *at; /* over an array: the position of the next item; enumerate: its number; NULL: as
                  `position` says */
    /* V_BUILTIN_METHOD, V_VIEW */
    const char *name; /* of the method; V_ITER: its kind */
    bool paired;      /* LOAD_METHOD made it: CPython has function and object on the stack */
};

/* One activation: the frame itself or a function inlined into it. */
typedef struct Activation Activation;
struct Activation {
    Activation *caller;
    const Decoded *decoded;
    Value **slots;   /* localsplus, then the value stack; NULL: not read yet (bottom only) */
    Value **initial; /* bottom only: the value that each slot's source gave */
    int depth;
    int number; /* the Instr being followed */
    int file;
    PyObject *globals, *builtins;
    Value *function;
    Value *result; /* set by RETURN, RETURN_GENERATOR and YIELD */
    bool yielded;  /* it was YIELD */
    int back_jumps;
    uint64_t calls; /* which calls led here, as a digest: the same in each attempt */
};

/* A write to a storage, in program order. */
typedef struct {
    int storage;
    NodeId version; /* which it made; of a write with `value`, not known any more behind a branch */
    Value *value;   /* what was stored, its node as it is, into `place`; NULL: all of `version` */
    Type place;
    Value *key,
        *stored; /* `value` is what array[key] = stored makes of the array; NULL: it is not */
    Value *when; /* the bool under which an arm's write is done; NULL: always */
} ArrayWrite;

/* The storage of arrays, with its versions: one for each input or fresh array that is written. */
typedef struct {
    NodeId root;    /* the storage's first node: input or producer */
    NodeId version; /* what it holds now: root, or the last write */
    bool written;
    BreakCode shown; /* what to say of a write: an opaque array is a view of it; else BREAK_NONE */
    int commit; /* 0: committed last.  Else 1 + the number of the effect, a call of output.c, before
                   which it is committed; it is not written after that */
} Storage;

/* An array whose shape is known only when the plan runs (steps.c). */
typedef struct {
    NodeId node;
    PyObject *sample; /* an array of its dtype and rank; borrowed from keep */
    bool viewed;      /* it shares memory with others, so it must not be written */
    BreakCode why;    /* what to say of an operation that needs to know more of it */
    NodeId whole;     /* `node` is an OP_compress of this array … */
    NodeId mask;      /* … by this mask (masked.c); or NO_NODE */
    Value *selected; /* the same as an array whose length is a number of the turn; NULL: none yet */
    RegionId made_in; /* the region that has made that */
    Value *of, *key;  /* a view of this array at a place that only the run tells (places.c) … */
    NodeId version;   /* … of this version of its memory; or NULL */
    Type part;        /* its shape and dtype */
    int step;         /* the step of the bottom activation at which it was made */
} Opaque;

/* A view that a library function made over an object of its own (sliding_window_view), which views
   of it keep for their base. */
typedef struct {
    NodeId node;
    Value *array; /* its `leaves_as` makes it */
} Window;

/* A node that is or was the version of a storage, so that views taken of it are found. */
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

/* An effect in program order; becomes Builds when capture ends. */
typedef struct {
    BuildKind kind;
    int nargs;
    Value *args[4];
    PyObject *object;
    SourceId source;
    int number;
    const char *what; /* of an EFFECT_CALL: "print"; static, or in the arena */
    BreakFrame at;    /* and its line in the user's code */
    Value *when;      /* the bool under which an arm's effect is done; NULL: always */
} Effect;

/* A global or module attribute that the program stored; later loads read it from here. */
typedef struct {
    PyObject *dict, *name;
    Value *value;
} StoredGlobal;

/* Where a loop of a code begins, what is in it and where it is left: loop_shape.c. */
enum {
    LOOP_EXITS = 8,
    LOOP_ITEMS = 16,
    LOOP_DEEP = 2, /* loops inside of one, out of which side exits lead */
};
typedef struct {
    int head;     /* FOR_ITER, or the Instr of a `while` to which its last Instr jumps back */
    int top;      /* where the loop is entered: the head, or the test of a `while` before it */
    int begin;    /* where an iteration begins: the head, or the same test behind the body */
    int last;     /* the last Instr that jumps back */
    bool counts;  /* it begins with FOR_ITER, and leaves by exit[0] when that is done */
    int base;     /* entries of the value stack below the loop's own */
    bool *inside; /* per Instr */
    int nexits;   /* -1: too many */
    int exit[LOOP_EXITS]; /* Instrs behind it, which do different things; exit[0] is FOR_ITER's */
    int left[LOOP_EXITS]; /* the Instrs of the loop that lead there; of exit[0] it is the head */
    int breaks;           /* but this exit leads to where exit[0] does; 0: there is none */
    unsigned sides;       /* a bit for each exit that is a side exit: loop_side.c */
    int deep;             /* loops inside of it out of which these lead, at most */
    int *joins;           /* per Instr of it, where branches meet; made when it is needed */
} LoopShape;

/* The iterator of a loop inside, on the value stack where a side exit leads. */
enum { REST_NEXT, REST_NUMBER, REST_TURNS = 3, REST_PARTS };
typedef struct {
    const Value *over;       /* one that goes over the same; NULL: it is a range's */
    Value *part[REST_PARTS]; /* of a range start, stop and step of what is left; else the next
                                position, and enumerate's number; the turns made; NULL: none */
} Rest;

typedef struct {
    const Value *iterator, *turns;
} TurnsMade;

/* An iteration of a kept loop that is being followed.  It ends where the next one would begin, or
   where the loop is left. */
/* An attribute with a number that the body of a kept loop stores, of an object from before it. */
typedef struct {
    Value *object;
    PyObject *name; /* borrowed from Marks.keep */
    bool slot;      /* the object's class has a slot for it */
    int number;     /* in Marks.loop_attributes */
    Value *start;   /* what it is before the loop … */
    Value *now;     /* … and behind a turn */
} LoopAttribute;

typedef struct Turn {
    LoopShape *shape;
    const Activation *of;
    Value *leaves; /* the iteration has ended: the number of the exit, 0 to go on; else NULL */
    Rest rest[LOOP_DEEP];            /* of the loops inside, at a side exit out of them */
    int made;                        /* values that were made before it */
    unsigned writes;                 /* a bit for each of Loop.array that the loop carries */
    const LoopAttribute *attributes; /* that the loop carries */
    int nattributes;
    const char *change;  /* the first of an object from before it, in words: change_note */
    struct Turn *around; /* of the loop around this one; NULL: it is the outermost */
    RegionId region;     /* of a repeat's body; 0: of a kept loop's */
} Turn;

/* A loop as attempts know it. */
typedef struct {
    const PyCodeObject *code;
    uint64_t calls; /* of its activation */
    int number;     /* the Instr at which it is entered */
} LoopName;

/* A local as a param of a kept loop. */
typedef struct {
    NodeId node;
    LoopName loop;
    int slot;
    const char *name;
} LoopLocal;

/* A number behind a kept loop that is Python's or NumPy's according to the way that was taken. */
typedef struct {
    Value *picked; /* the number, of the one or the other class */
    Value *number, *is_numpy;
    DType python; /* of Python's number */
} LoopPick;

/* type(number) in a kept loop, and the like. */
typedef struct {
    NodeId number;
    int line;
} LoopAsked;

/* An item of a list that changes, as it was read, its tag, and the number of the list. */
typedef struct {
    const Value *item;
    NodeId tag;
    int list;
} LoopItem;

/* A nest of loops being kept as regions, and the arrays whose elements it writes. */
enum { LOOP_ARRAYS = 32, LOOP_RANK = MAX_RANK }; /* arrays: bits of Turn.writes */
typedef struct {
    int narrays;
    Value *array[LOOP_ARRAYS];
    NodeId version[LOOP_ARRAYS]; /* the version of each at this point of the body */
    Value *list[LOOP_ARRAYS];    /* NULL, or the list whose new items the array is of … */
    RowsForm form[LOOP_ARRAYS];  /* … which are such; no numbers: none has been appended yet;
                                    tagged: all of a list that changes … */
    NodeId opened[LOOP_ARRAYS];  /* … as it was before the loop: array_list_opened … */
    bool fresh[LOOP_ARRAYS];     /* … of which no item's identity is of interest */
    VEC(LoopItem) items;
    VEC(NodeId) moved;      /* element_append and element_put of items of their own list */
    VEC(NodeId) either;     /* numbers that may have kept another type: loop_either.c … */
    VEC(NodeId) either_int; /* … of these, an int in place of a float, or the reverse */
    VEC(NodeId)
    zeros; /* complex numbers of Python's that may be an int or float, which then is 0 */
    VEC(NodeId) python;   /* Python's numbers, made scalars to be alike with those */
    VEC(LoopAsked) asked; /* numbers whose class the body asks for */
    NodeId top;           /* the outermost loop's node: later ones are in it */
    bool parts;           /* there are V_PARTs, of which not all is known that arrays have:
                             what raises may not raise in Python */
    bool sections;        /* parts of arrays are stored … */
    bool long_rows;       /* … of many elements each, of larger arrays … */
    bool moves;           /* … with bounds or indices that change */
    bool repeats;         /* it has what only a repeat's body can have */
    int pending;          /* operations on parts whose results are not used yet */
    bool asks_zeros;      /* of `either`, whether it is seen that they are such */
    bool asks_ints;       /* of `either`, whether it is seen that they may be ints */
    VEC(LoopLocal) locals;
    VEC(LoopPick) starts; /* numbers with which it begins */
    NodeId wrong;         /* the number of `either` that is used where its type matters */
    int wrong_line;       /* the line of that use */
} Loop;

/* Memory that must neither be written nor leave as an object: a merged branch made it one of two
   arrays. */
typedef struct {
    NodeId root;        /* of its Storage */
    PyCodeObject *code; /* the branch */
    int number;
} Aliased;

/* A branch being merged: merge.c. */
typedef struct Fork {
    PyCodeObject *code;
    int number;
    int neffects; /* the arm's own effects follow these */
    struct Fork *outer;
} Fork;

struct Generator {
    Activation *activation;
    int born; /* the Instr of the bottom activation at which it was made */
    bool started, running, finished;
    Value *handled; /* the exception that it handled when it yielded, or NULL */
    bool library;   /* stands for an iterator of Python's library (pycompile.decompositions) */
};

typedef enum { PARTS_NONE, PARTS_ITEMS, PARTS_FIXED } ValueParts;

/* The operations on values of one kind: a row of value_kinds.def, where each column is described,
   also what NULL means in it. */
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

/* What is done with a list or dict in a kept loop, and with what. */
typedef enum {
    LIST_LENGTH,
    LIST_ITEM, /* of a dict, with `item` in place of one that it has not */
    LIST_STORE,
    LIST_POP,
    LIST_SHIFT,
    LIST_UNSHIFT,
    LIST_HAS, /* a dict the key */
} ListDoes;
typedef struct {
    ListDoes does;
    Value *list, *key, *item;
} ListUse;

/* The functions that a layer calls in the layers above it, besides those of value_kinds.def. */
typedef struct {
    Answer (*binary)(Interp *in, int operator_, Value *left, Value *right, Value **out);
    Answer (*compare)(Interp *in, int operator_, Value *left, Value *right, Value **out);
    Answer (*unary)(Interp *in, InstrKind operator_, Value *operand, Value **out);
    Answer (*is)(Interp *in, Value *left, Value *right, bool *out);
    /* By a method of the program's class; NO: there is none, or what it gives is not known. */
    Answer (*hash)(Interp *in, Value *object, Py_hash_t *out);
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
    /* Objects from outside that are represented by instances of models: collections.deque and
       similar. */
    bool (*model_holds)(PyObject *object);
    Value *(*model_from_source)(Interp *in, SourceId source, PyObject *object);
    Value *(*series_from_source)(Interp *in, SourceId source, PyObject *object);
    Value *(*dict_of)(Interp *in, Value *value);
    Answer (*part_length)(Interp *in, Value *part, Value **out); /* V_PART */
    Answer (*condition_of_lengths)(Interp *in, const Value *condition);
    BuildId (*build)(Interp *in, Value *value);
    /* In a kept loop, to a list from before it; NO: it is one that the loop has made. */
    Answer (*append_in_loop)(Interp *in, Value *list, Value *item);
    /* The same of other things that are done with a list; NO: it is none that the loop changes. */
    Answer (*list_in_loop)(Interp *in, const ListUse *use, Value **out);
    /* In a kept loop, or one that may be kept; NO: it is a step, or cannot be done. */
    Answer (*draw_in_loop)(Interp *in, Value *generator, const char *name, int nargs,
                           Value *const *args, PyObject *kwnames, Value **out);
    /* As draw_in_loop, by a method of random.Random that is C. */
    Answer (*draw_compiled)(Interp *in, Value *self, const char *name, int nargs,
                            Value *const *args, Value **out);
    /* In a kept loop a value is stored as an object's attribute, or deleted (NULL): YES: the loop
       carries it, so it is no effect. */
    Answer (*attribute_in_loop)(Interp *in, Value *object, PyObject *name, bool slot,
                                const Value *value);
} Above;

/* An int that sizes have; a param of a repeat's body that goes over a range: measured.c. */
typedef struct {
    NodeId number;
    SizeId size;
    RegionId region; /* where one of NumPy's became one of Python's; NO_REGION: it is one itself */
} Measured;
typedef struct {
    NodeId param, start, stop;
    int64_t step;
} Ranged;

/* A length as the program declares it: dims.c. */
typedef struct {
    PyObject *name; /* borrowed; NULL: it is not declared */
    int64_t least, most, divisor;
} Dim;

/* A length of an array from outside that is not known: symbols.c. */
typedef struct {
    uint64_t path; /* size_path */
    SourceId array;
    int axis;
    SizeId size; /* that of another array where the two are guarded to be equal */
    Dim dim;
} Symbol;

/* Only known ones; lengths of arrays from outside that are symbols, too; or those that change from
   turn to turn of a loop. */
typedef enum { VARIES_NOT, VARIES_SYMBOLS, VARIES_TURNS } Varies;

/* A copy that is a view of a storage for some lengths: copies_are_unseen. */
typedef struct {
    int of;         /* that storage, … */
    NodeId version; /* … and what it held */
    NodeId copy;
} LateCopy;

/* Arrays and their memory. */
typedef struct {
    VEC(Storage) storages;
    VEC(Version) versions;
    VEC(ArrayWrite) writes; /* to all storages */
    VEC(LateCopy) copies;
    VEC(Opaque) opaques;
    VEC(Window) windows;
    VEC(NodeId) borrowers; /* new arrays, made by steps, that do not own their memory */
    PointerMap objects;    /* a generator of np.random or a communicator -> its Value, for steps */
    Value *drawn;          /* the token of the last draw, or NULL; see draws.c */
    VEC(Value *) inputs;   /* by graph input index */
    VEC(Measured) measured;
    VEC(Ranged) ranged;
    VEC(Symbol) symbols;
    uint8_t varies; /* which sizes the rule that is followed takes: a Varies */
    bool numpys;    /* what is decided of lengths is NumPy's own matter, or declared: dims.c */
    VEC(Aliased) aliased;
    NodeId met;          /* the root of one of these that was touched */
    VEC(Value *) chosen; /* arrays whose nodes are OP_choose; `leaves_as` is the V_CHOICE of each */
    VEC(NodeId)
    leaves; /* what gradients differentiate: nodes that stand for the program's objects */
} InterpMemory;

/* Objects from outside, and facts read from code. */
typedef struct {
    VEC(Value *) outside; /* mutable objects from outside, in the order in which they were read */
    PointerMap by_object; /* real object -> its Value */
    PointerMap by_source; /* source -> its Value */
    PointerMap decoded;   /* code object -> Decoded, of inlined functions */
    PointerMap joins;     /* Decoded -> where its branches meet: join.c */
    PointerMap loops;     /* Decoded -> its loops: loop_shape.c */
} InterpSources;

typedef struct {
    SourceId a, b;
} SourcePair;

/* Two arrays from outside that share memory, for messages. */
typedef struct {
    const char *variable; /* through which it is reached; NULL: none that has a name */
    bool inside;          /* … it is an item or an attribute of what the variable holds */
} OverlapOf;
typedef struct {
    BreakHint hint; /* what to do about it */
    OverlapOf of[2];
} Overlap;

/* Effects of the program, to be applied at commit. */
typedef struct {
    VEC(Effect) effects;
    VEC(StoredGlobal) stored_globals;
    VEC(Value *) generators; /* made here */
    VEC(Value *) texts;      /* V_PUREs: the calls that make them may raise, used or not */
    VEC(SourcePair) apart;   /* arrays guarded not to interleave */
    bool prints;             /* there is a print among the effects */
    PyObject *recorded; /* the list in which warnings are recorded, borrowed; NULL: none is … */
    int recorded_step;  /* … and the step at which the first is put off */
    int counted_since;  /* the first value made since the last mark of a derivative … */
    int changes; /* … and how often other objects than arrays were changed that were there before */
    bool refuse_writes;
    Overlap overlap; /* of the write that is refused, or will be */
    bool dirty;      /* the current instruction has already changed values … */
    bool
        dirty_before; /* … or earlier ones have, of functions that the bottom's instruction calls */
} InterpWrites;

/* Exceptions as values. */
typedef struct {
    Value *raised;  /* with BREAK_EXCEPTION: the exception that the program raises; or NULL */
    Value *handled; /* the value of sys.exception(), where it was raised here; or NULL */
    int unbuilt;    /* 1 + the step at which an exception was made that cannot be built */
} InterpRaising;

/* A loop that did not stay one, and the reason. */
typedef struct {
    LoopName loop;
    char *why;
    BreakHint hint;   /* what to do about it; HINT_OF_CODE: that of other loops */
    bool later;       /* of Marks.repeats: it is one from its second turn on … */
    char *at_first;   /* … and why it is none from its first turn on */
    uint64_t objects; /* … and of which variables the array stays, and is written, by bit */
    bool pays;        /* … and unrolled it was worth a plan */
} LoopNote;

/* This attempt: its progress, what earlier attempts found out, and what it adds to that. */
typedef struct {
    int blame;   /* 1 + the bottom's Instr to be marked for a break inside it; 0: the current one */
    int budget;  /* instructions left */
    int unroll;  /* instructions that the loops of one activation may be unrolled to */
    int nesting; /* depth of nested comparisons and calls of objects */
    int line;
    int steps;        /* instructions that the bottom activation has followed so far */
    int *first_step;  /* by number of the bottom's Instrs: 1 + the step that followed it first */
    int *jumped_from; /* by number: the last Instr that jumped back to it, or 0 */
    VEC(LoopNote) unkept;      /* loops that are unrolled, as loop_why.c tells */
    const struct Marks *marks; /* what earlier attempts found out */
    struct Marks *learn;       /* the same, to be added to */
    Arena *learn_arena;        /* arena of `learn`, which outlives this attempt */
    int nobstacles;            /* that earlier attempts met */
    const char *apart;         /* what kept the arms of the last branch that was refused apart */
    BreakHint apart_hint;      /* … and what to do about it */
    BreakFrame apart_at;       /* … and where it is */
    bool again;                /* `learn` has changed: start again */
    bool was_alone;            /* the bottom's last Instr is a graph of its own … */
    bool parted;               /* … or the next one, or what comes behind it: the graph ends here */
    bool repeats;              /* … a loop is tried as a repeat then, or not any more */
    VEC(Value *) values;       /* all values, in the order in which they were made */
} InterpAttempt;

/* Real containers of stand-ins: shadow.c. */
typedef struct {
    PointerMap tokens;   /* Value -> its stand-in, see shadow.c */
    PointerMap shadowed; /* stand-in -> Value */
    int hashed;          /* how often a `__hash__` of the program's was followed */
    bool failed;         /* an operation on stand-ins was made to fail, with `answer` */
    Answer answer;
} InterpStandIns;

/* Changes of np.errstate that are in force: errstate.c. */
typedef struct {
    int depth; /* how many changes are in force; the first was made at … */
    int step;  /* … this step of the bottom activation */
} InterpErrstate;

/* `with` blocks of devices that have been entered: devices.c. */
enum { DEVICES_DEEP = 8 };
typedef struct {
    int depth;
    int step; /* of the bottom activation, at which the first was entered */
    const Value *entered[DEVICES_DEEP];
    uint8_t before[DEVICES_DEEP]; /* the Graph.current outside of it */
} InterpDevices;

/* Operands that NumPy writes into: temporaries.c. */
typedef struct {
    int walks;            /* walks so far, see temporaries.c */
    uint64_t spare_slots; /* bit per entry of the value stack: only the stack referred to its array
                             where capture began */
    uint64_t used_slots;  /* the same: it has been taken off */
    bool adds_up;         /* sum() has the operands of +, not the value stack */
} InterpTemporaries;

/* Behind a loop with several exits: loop_leave.c. */
typedef struct {
    const LoopShape *shape;
    const Value *iterator; /* NULL: a `while` */
    Value *number;         /* of the exit */
    Value *next;           /* item of its range, where it has side exits */
    Rest rest[LOOP_DEEP];  /* of the iterators of the loops inside */
} Leaving;

/* A number that was read of a V_SERIES, and the path of the list; or of a list that a loop changes.
 */
typedef struct {
    NodeId node;
    bool changes;
    uint64_t path;
} SeriesItem;

struct Interp {
    const KindOfValue *kinds; /* by ValueKind */
    const Above *above;
    Capture *out;
    Arena *arena;
    Graph *graph;
    RegionId region;
    const CaptureRequest *request;
    Activation *top, *bottom;
    int inlined;               /* activations above the bottom */
    VEC(NodeId) data_lengths;  /* sizes of opaque arrays */
    VEC(LoopPick) picks;       /* of the loops that were kept so far */
    VEC(SeriesItem) items;     /* that were read of lists */
    VEC(TurnsMade) turns_made; /* of loops that were left by side exits */
    BreakCode break_code;      /* set by interp_break: the code that following goes by */
    Break told;    /* the break that the user is told: for a break inside a call, the inner one */
    bool branched; /* the exit is a branch */
    bool break_inlined;     /* the break was in an inlined function */
    Fork *fork;             /* innermost branch one of whose arms is being followed */
    Loop *loop;             /* the loop whose body is being followed, or NULL */
    Turn *turn;             /* the iteration of the innermost one */
    const Leaving *leaving; /* a loop with several exits, one of which is being followed */
    Value *unbound, *null;
    InterpMemory memory;
    InterpSources sources;
    InterpWrites writes;
    InterpRaising raising;
    InterpAttempt attempt;
    InterpStandIns stand_ins;
    InterpErrstate errstate;
    InterpDevices devices;
    InterpTemporaries temporaries;
};

/* A recorded break that can be taken back. */
typedef struct {
    BreakCode code;
    Break told;
    bool inlined;
} BreakNote;

/* A local that a loop changes to this type, whatever its type before the loop. */
typedef struct {
    LoopName loop;
    int slot;
    DType dtype;
    Form form;
} LoopType;

/* An array that functions called in a loop's body write: an input, or the place where the array is
   when the loop begins. */
enum { LOOP_PARTS = 4 };
typedef struct {
    LoopName loop;
    PyObject *object;             /* the input, borrowed from Marks.keep … */
    SourceId path;                /* … and its path in Marks.paths */
    int up, slot;                 /* of the activation so many calls above the outermost loop's … */
    int nparts, part[LOOP_PARTS]; /* … and the way through its parts; -1: to the attributes */
    bool changes;  /* a list that the loop changes otherwise than by appending to it … */
    RowsForm form; /* … of such items, as far as is known */
} LoopWrite;

/* An attribute that the body stores. */
typedef struct {
    LoopWrite object;
    PyObject *name;
    bool slot;
} LoopStored;

/* A branch on an array's value that is merged including locals that nobody reads, or not merged. */
typedef struct {
    PyCodeObject *code;
    int number;
    enum { BRANCH_KEEPS = 1, BRANCH_APART = 2 } level;
    const char *why;  /* static text, for BRANCH_APART; NULL: its arms do not meet again … */
    const char *what; /* … and what keeps them apart; NULL: not known */
    BreakHint hint;   /* of the test inside an arm that ends a loop; HINT_OF_CODE: none */
    bool in_loop;     /* it was found in the body of a loop that was to stay one … */
    Break *broke;     /* … and this break kept its arms apart; NULL: none */
    bool in_turns;    /* found in turns that were followed one by one, as in an arm */
} BranchMark;

/* Where a branch in the body of a loop goes to what is not followed: loop_side.c. */
typedef struct {
    PyCodeObject *code;
    int number; /* the Instr */
    int top;    /* where the outermost loop around it is entered … */
    int last;   /* … and its last Instr */
    Break why;
    bool taken; /* the loops around it are left there; else they were not kept because of it */
} SideExit;

/* A fact about inputs for which an instruction is not followed: obstacles.c. */
typedef struct {
    GuardKind kind;       /* READONLY, OVERLAP */
    SourceId path, other; /* in Marks.paths; NO_SOURCE: it is about one input */
} Obstacle;

/* Facts that earlier attempts at the same entry found out; see capture.c. */
typedef struct Marks {
    VEC(int) no_inline; /* numbers of the bottom's Instrs at which no call is inlined */
    int stop_at;        /* the step of the bottom at which to break with `stop`; -1: none */
    Break stop;
    VEC(Break) inner; /* the break inside the call of no_inline[i] */
    bool refuse_writes;
    bool recurses; /* calls of a function by itself are not inlined */
    Overlap overlap;
    VEC(LoopNote) no_loop; /* loops that are unrolled */
    VEC(LoopNote) repeats; /* loops that end by the value of an array; `why`: that are not kept */
    VEC(LoopType) loop_types;
    VEC(LoopWrite) loop_writes;
    VEC(LoopStored) loop_attributes;
    VEC(LoopName) of_numbers; /* loops without elements that stay loops all the same */
    VEC(SideExit) sides;
    VEC(BranchMark) branches;
    bool interrupted;     /* a signal came: all attempts end */
    bool cut;             /* Capture.cut */
    bool by_value;        /* numbers that have varied once are guarded by value all the same */
    VEC(uint64_t) series; /* lists and bytes that are a V_SERIES, by source_path_of … */
    VEC(uint64_t) opened; /* … and lists that are none, since their items leave as objects */
    bool no_lists;        /* loops change no list: an item leaves as an object */
    bool no_series;       /* there are none … */
    bool had_series;      /* … there were some */
    bool asked;           /* such a number was needed and not known */
    bool declared;        /* there are lengths that the program declares: dims.c */
    bool left_open;       /* known lengths are not tried: derivative.c, symbols.c */
    int64_t effort;       /* instructions that the attempts may still follow */
    VEC(Source) paths;    /* to inputs of obstacles and loop_writes; `base` is an index in here */
    VEC(Obstacle) obstacles;
    PyObject *keep;        /* what the paths refer to */
    VEC(uint64_t) fixed;   /* lengths of arrays that have to be known, by size_path */
    const char *fixed_why; /* what has asked for the first of them, and where; or NULL */
    int symbol_tries;      /* attempts that ended with one of these: symbols.c */
    bool copies_seen;      /* whether a reshape is a view is decided: copies_are_unseen */
} Marks;

#define TRY(call)                                                                                  \
    do {                                                                                           \
        Answer answer_ = (call);                                                                   \
        if (answer_ != ANSWER_YES) return answer_;                                                 \
    } while (0)

/* `answer` is what the call gives, which takes arrays whose lengths change from turn to turn. */
#define VARYING(in, answer, call)                                                                  \
    uint8_t varied_ = (in)->memory.varies;                                                         \
    (in)->memory.varies = VARIES_TURNS;                                                            \
    Answer answer = (call);                                                                        \
    (in)->memory.varies = varied_

/* A step returns ANSWER_BREAK exactly where it has recorded why.  The exception are facts that only
   make capture start again (type_of_choice): following then stops at the end of the instruction. */
static inline bool
answer_agrees(const Interp *in, Answer answer)
{
    bool recorded = in->break_code != BREAK_NONE;
    return answer == ANSWER_ERROR || (answer == ANSWER_BREAK) == recorded ||
           (recorded && in->attempt.again);
}

/* No other rule is to be tried after this answer. */
static inline bool
answer_stops(Answer answer)
{
    return answer == ANSWER_BREAK || answer == ANSWER_ERROR;
}

#define TRY_NODE(target, call)                                                                     \
    do {                                                                                           \
        if (((target) = (call)) == NO_NODE) return ANSWER_ERROR;                                   \
    } while (0)

/* The number of Instrs (one past the last) is the exit.  JOIN_TURN: the end of the iteration. */
enum { JOIN_NONE = -1, JOIN_TURN = -2 };

#endif
