/* The result of capture: a graph, the guards under which it holds, the objects to build, the
   effects to apply in program order, and how the frame is left.  All of it lives in the arena. */
#ifndef PYCOMPILE_CAPTURE_H
#define PYCOMPILE_CAPTURE_H

#include "../arrays/arrays.h"
#include "../base.h"
#include "../graph/graph.h"
#include "../python/python.h"

/* ---- sources: the path by which a value is reached again ---- */

typedef enum {
    SOURCE_SLOT,   /* index: localsplus slot, value stack included */
    SOURCE_CELL,   /* contents of the cell that source `base` is */
    SOURCE_GLOBAL, /* key in the dict `object`, else in the builtins that source `base` is (or
                      NO_SOURCE) */
    SOURCE_ATTR, /* key: attribute name.  What is stored, without running descriptors: of a type the
                    raw entry along its MRO, of a module its dict's, of an instance its own dict's
                    or its slot's, of a function or a bound method the member (__code__,
                    __defaults__, __kwdefaults__, __func__, __self__) */
    SOURCE_ITEM, /* key: constant subscript of a tuple, list or dict */
    SOURCE_CONST,   /* object: the same object for ever (kept alive) */
    SOURCE_TYPE,    /* type(base) */
    SOURCE_SIZE,    /* shape[index] of the array `base`, as an int */
    SOURCE_REST,    /* of the iterator `base`, which only the frame has, one of its ITERATOR_INTS */
    SOURCE_WALKED,  /* what the iterator `base` goes over: an array, or another iterator; of a zip
                       the one with number `index` */
    SOURCE_SERIES,  /* the numbers of the list, bytes or str `base` as an array of dtype `index` */
    SOURCE_HANDLED, /* the exception that is being handled where the plan begins, or None */
} SourceKind;

/* Its object, an int or an array, is made anew each time. */
static inline bool
source_is_made(SourceKind kind)
{
    return kind == SOURCE_SIZE || kind == SOURCE_REST || kind == SOURCE_SERIES;
}

typedef int32_t SourceId;
enum { NO_SOURCE = -1 };
/* `index` of a SOURCE_ATTR.  ATTR_OWN: of a class the entry of its own dict (or __mro__, __name__,
   __qualname__, __bases__), of an instance its __dict__ itself. */
enum { ATTR_OWN = 1, ATTR_COUNTED = 2 /* as 0, but its value is an input */ };

typedef struct {
    SourceKind kind;
    SourceId base;
    int32_t index;
    PyObject *key, *object; /* borrowed from the keep list */
    bool found;             /* the code found an object there, whatever it is */
} Source;

/* A fingerprint of the path: the same in every capture at an entry, never 0.  `base`: the
   fingerprint of the base. */
static inline uint64_t
source_path(uint64_t base, SourceKind kind, int32_t index, PyObject *key)
{
    Py_hash_t part = kind == SOURCE_SLOT ? index : key != NULL ? PyObject_Hash(key) : 0;
    if (part == -1) PyErr_Clear();
    uint64_t path = (base ^ (uint64_t)part) * 0x9E3779B97F4A7C15u + (uint64_t)kind + 1;
    return path | 1;
}

/* ---- guards: kinds and texts are rows of guards.def ---- */

typedef enum {
#define GUARD(name, ...) GUARD_##name,
#include "guards.def"
    GUARD_COUNT
} GuardKind;
/* Does it compare with a second source? */
bool guard_has_other(GuardKind kind);

/* An expression of sizes, its operands in front of each operation: a constant, the length along
   `axis` of one of the guard's arrays, one of its ints (axis OF_INT), or the operation on the last
   two values. */
typedef struct {
    SizeKind kind;
    int64_t value; /* SIZE_CONST; SIZE_DIM: index of the array */
    int axis;
} SizeTerm;
enum { OF_INT = -1 };
enum { SIZE_DEPTH = 32, MOST_SIZED = 16 }; /* values that wait for their operation; arrays */
int64_t size_terms_value(const SizeTerm *terms, int count, const int64_t *const *shapes);

typedef struct {
    GuardKind kind;
    SourceId source;
    SourceId other; /* where guard_has_other */
    /* DISJOINT: input arrays, the written ones first; no written one shares memory with another. */
    int ngroup, nwritten;
    SourceId *group;
    int nsizes;
    SizeTerm *sizes;
    PyObject *object;  /* TYPE, IS, VALUE, KEYS… : borrowed from the keep list */
    int64_t low, high; /* INT_RANGE (of a length: least_shape is set); LENGTH uses low */
    struct {
        DType dtype;
        uint8_t rank;
        uint8_t known_shape;  /* bit per axis: shape[axis] is part of the guard */
        uint8_t known_stride; /* bit per axis */
        uint8_t least_shape;  /* bit per axis: shape[axis] is a lower bound; and where there is one,
                                 all strides are those of a new array in the order of flags */
        unsigned flags;       /* ARRAY_* that must be set */
        uint8_t library;      /* Library */
        int device_number;    /* on a device */
        int64_t shape[MAX_RANK], stride[MAX_RANK];
    } array;
    int32_t file, line; /* the line that made capture rely on it */
} Guard;

/* ---- builds: objects and effects, one flat list run in order after all that is fallible ---- */

typedef int32_t BuildId;
enum { NO_BUILD = -1 };

typedef enum {
    BUILD_SOURCE,   /* the object that source `source` reached when the plan began */
    BUILD_CONST,    /* object */
    BUILD_BOX,      /* node as an object of the form its type says; once per plan (identity) */
    BUILD_NULL,     /* C NULL on the value stack */
    BUILD_TUPLE,    /* args */
    BUILD_LIST,     /* args */
    BUILD_SET,      /* args */
    BUILD_DICT,     /* args: key, value, key, value … */
    BUILD_SLICE,    /* args: start, stop, step */
    BUILD_CELL,     /* new cell holding args[0] (or empty) */
    BUILD_FUNCTION, /* object: code; args: globals source build, defaults, kwdefaults, annotations,
                       closure (NO_BUILD where absent) */
    BUILD_METHOD,   /* args: function, self */
    BUILD_ITER,  /* iter(args[0]) advanced by index items; with args[1], an array's at that position
                  */
    BUILD_RANGE, /* args: start, stop, step */
    BUILD_INSTANCE, /* object: class; made by object.__new__, attributes by STORE_ATTR */
    BUILD_CALL,   /* object: callable that is pure on exact builtins; args.  Cannot run user code */
    BUILD_CHOOSE, /* args: a bool, the object where it is true, the object where it is not */
    /* effects: `result` is nothing */
    EFFECT_STORE_ATTR, /* args: object, value; object: name.  The bare store: no setter is called */
    EFFECT_DELETE_ATTR,   /* args: object; object: name */
    EFFECT_STORE_ITEM,    /* args: container, key, value: exact list or dict */
    EFFECT_DELETE_ITEM,   /* args: container, key */
    EFFECT_STORE_GLOBAL,  /* args: value; object: name (globals of source `source`) */
    EFFECT_DELETE_GLOBAL, /* object: name (globals of source `source`) */
    EFFECT_STORE_CELL,    /* args: cell, value */
    EFFECT_POP_EXCEPT, /* args: what was handled before; ends a handler that was entered before */
    EFFECT_METHOD,     /* args: exact builtin container, arguments; object: method name */
    EFFECT_CALL,  /* args: callable, tuple, dict: called with the frame current at `number`.  With
                     fewer it is a check that a later one runs no code of the program's: of a log
                     call args: logger, object: the level; else object: "stdout", or where warnings
                     go, "stderr" or "list" */
    EFFECT_WRITE, /* node: last version of an input's storage; source: that array */
    EFFECT_STORE_PART, /* args: key, value; source: an array, which stores it itself.  It cannot
                          fail */
} BuildKind;

enum { CALL_ARGS = 3 };
static inline bool
build_is_check(BuildKind kind, int nargs)
{
    return kind == EFFECT_CALL && nargs < CALL_ARGS;
}

/* The object at its source is used after steps in which other code may run. */
static inline bool
build_holds_source(BuildKind kind)
{
    return kind == BUILD_SOURCE || kind == EFFECT_WRITE || kind == EFFECT_STORE_PART ||
           kind == EFFECT_STORE_GLOBAL || kind == EFFECT_DELETE_GLOBAL;
}

typedef struct {
    BuildKind kind;
    int nargs;
    BuildId *args;
    PyObject *object;
    NodeId node;
    int32_t output; /* BUILD_BOX, EFFECT_WRITE: the position of `node` in Graph.outputs */
    SourceId source;
    int32_t index;
    int32_t number; /* the Instr that it comes from, for lines */
    int32_t when;   /* of an effect: 1 + the bool under which it is done; 0: always */
} Build;

/* ---- breaks: codes, texts and hints are rows of breaks.def ---- */

typedef enum {
    BREAK_NONE,
#define BREAK(code, name, ...) BREAK_##name,
#include "breaks.def"
    BREAK_COUNT
} BreakCode;

typedef struct {
    const char *file, *function;
    int line;
    CodePlace code; /* tells functions of one name apart */
} BreakFrame;

/* A hint that fits some places of a code better than the code's own: rows HINT of breaks.def. */
typedef enum {
    HINT_OF_CODE,
#define HINT(code, name, ...) HINT_##name,
#include "breaks.def"
    HINT_COUNT
} BreakHint;

typedef struct {
    BreakCode code;
    BreakHint hint; /* HINT_OF_CODE: that of the code */
    char *detail;   /* "call of 'get_ident'" */
    /* The frames that were followed, innermost first; the last is the entry's own.  Frames of
       pycompile's own code, which stands for the library's, are left out. */
    int nframes;
    BreakFrame *frames;
    bool leaves;        /* the program raises an exception that none of these frames handles */
    const char *orders; /* the function of heapq or bisect in which it is; or NULL */
} Break;

/* ---- exits ---- */

typedef enum {
    EXIT_RETURN, /* slots[0] is the result */
    EXIT_BREAK,  /* frame placed at `number`; the runtime steps it, then looks for an entry there */
    EXIT_BRANCH, /* `condition` picks `number` (true) or `other`; slots are alike for both */
    EXIT_WAYS,   /* behind a loop: `condition` is the number of the way */
} ExitKind;

enum { MOST_AROUND = 3 };
typedef struct {
    int32_t number; /* of the Instr */
    int32_t depth;  /* what the value stack has above it is dropped */
    /* The loops around it, innermost first, whose turn is stepped until the next one begins at
       `again`, unless it is left for what is not between `first` and `last`. */
    int32_t nloops;
    struct {
        int32_t again, first, last;
    } loop[MOST_AROUND];
} ExitWay;

typedef struct {
    ExitKind kind;
    int32_t number, other; /* numbers of Instrs */
    int32_t at;            /* the Instr that broke or branched */
    BuildId condition;     /* a bool object; EXIT_WAYS: an int */
    BuildId turns;         /* EXIT_WAYS: how many the loop has made, an int */
    int32_t nways;
    ExitWay *way;
    /* New contents of every slot that changed, in slot order; the frame's other slots keep theirs.
       Slots from nlocalsplus on are the value stack, which has `depth` entries at the exit. */
    int nslots;
    int32_t *slot_index;
    BuildId *slot_value; /* NO_BUILD: the slot becomes unbound (NULL) */
    int32_t depth;
} Exit;

/* ---- the result ---- */

#define SEEN_NOTHING INT64_MIN /* in Capture.seen */

/* A loop that makes few turns, the lists that it makes longer and the generators it draws from. */
typedef struct {
    NodeId loop;
    int lists;
} FewTurns;

typedef struct Capture {
    Arena *arena;
    PyObject *keep; /* owned list */
    Graph *graph;
    VEC(Source) sources;
    VEC(Guard) guards;
    VEC(Build) builds;          /* in program order */
    VEC(SourceId) input_source; /* graph input i is read from this source */
    VEC(int64_t) seen;          /* graph input i in this call, an int, or SEEN_NOTHING */
    VEC(Break) breaks;          /* the one that ended capture last */
    Exit exit;
    int entry;          /* the Instr at which it begins */
    int32_t called;     /* the last Instr of the frame's own that called a function; -1: none */
    int ninstructions;  /* followed, inlined ones included */
    int library_calls;  /* of the array library's Python functions that nodes stand for */
    int library_code;   /* how long the Python code of these is, in code units */
    int gain;           /* what a plan of it saves per run, see worth.c */
    int saves;          /* the same by the model alone, even where a plan is made of everything */
    bool interrupted;   /* by a signal, before it came to anything: its handler has to run first */
    bool cut;           /* it ends where the request's effort or time did */
    int certain;        /* what of this its kept loops save in this call alone, at least */
    int64_t most_items; /* of each list or text that a run reads into an array */
    bool useful;        /* gain > 0: it is worth a plan */
    bool recurses;      /* calls of a function by itself were more than may be followed */
    const char *left;   /* not useful: why */
    const char *unkept; /* which loop was unrolled that would have stayed one, and why; or NULL */
    const char *fixed;  /* why lengths that might be symbols are known, and where; or NULL */
    VEC(FewTurns) few;  /* loops that make few turns under the guards */
    PyObject *globals, *builtins; /* borrowed: the request's */
} Capture;

/* A value or a length whose guard has failed. */
typedef struct {
    uint64_t path; /* source_path */
    int32_t failed;
    bool unsteady; /* it has failed so often that it is not guarded again */
    bool followed; /* a derivative depends on it: no plan may take its value for granted */
} VariedPath;

/* The path of a length of the array at this path, among those that have varied. */
uint64_t size_path(uint64_t array, int axis);

/* The state of the program that capture may read.  Capture changes nothing in it. */
typedef struct {
    const Decoded *decoded;
    PyObject *globals, *builtins;
    PyFunctionObject *function;
    PyObject *const *slots; /* localsplus and value stack as they are at the entry */
    int depth;
    int number;               /* the Instr to begin at */
    const VariedPath *varied; /* numbers, text, and lists and dicts by their lengths */
    int nvaried;
    int64_t turns;  /* that a loop of unknown length is expected to make */
    int64_t effort; /* instructions that all attempts together may follow; 0: the usual number */
    int64_t until;  /* by clock_ran_ns, when nothing more is followed; 0: as long as it takes */
    bool recurses;  /* Capture.recurses of an earlier one of this code */
    const struct Config *config;
    bool again; /* there is a plan of the place, which does not hold */
    bool known; /* all lengths of arrays are to be known */
} CaptureRequest;

/* Follows the bytecode until it returns or breaks.  NULL with the error set only for failures of
   pycompile itself (memory); an exception that the program might raise is a break or is left to a
   deopt. */
Capture *capture(const CaptureRequest *request);
void capture_free(Capture *capture);

/* What a plan of a backend's that was undone has asked for on this thread: that the program goes on
   before it by smaller plans, since it raised; at a line that was not noted before, or at one that
   was. */
typedef enum { AGAIN_NOT, AGAIN_NEW, AGAIN_SAME } Again;
Again again_take(void);
/* … or a tuple of the paths (source_path) of values that it must not take for granted; NULL: none.
 */
PyObject *again_followed(void);
bool again_is_asked(void);
/* Is the Instr a graph of its own? */
bool instr_is_alone(const Decoded *d, int number);

/* Writing to it runs no Python code: an exact StringIO, or an exact text file of exact parts. */
bool stream_is_plain(PyObject *stream);
/* Does a message of this level (an int) run no code of the program's: does none of the logger's
   handlers, filters and formatters?  Sets no error. */
bool logger_is_plain(PyObject *logger, PyObject *level);
/* Where warnings go now; *list (borrowed) is set where they are recorded. */
typedef enum { WARNINGS_TO_PROGRAM, WARNINGS_TO_STDERR, WARNINGS_TO_LIST } WarningsGo;
WarningsGo warnings_go(PyObject **list);

/* The first Instr of the first test of the `while` whose body begins at the Instr `head`; `head`
   itself where there is no such test. */
int loop_first_test(const Decoded *d, int head);

bool is_enum_member(PyObject *object);
bool typing_is_union(PyObject *object); /* int | float */

/* An object that draws.c made: its method `save` keeps the state that a call changes outside the
   plan. */
bool callable_draws(PyObject *callable);
/* Is it one of a device's library that passes turn into kernels (passes/scans.c, gathers.c)? */
bool device_has_kernel(PyObject *callable);
/* Does it only pick one of its arguments (module_capture.c)? */
bool callable_picks(PyObject *callable);

const char *break_code(BreakCode code); /* "PC0001" */
const char *break_text(BreakCode code);
const char *break_hint(const Break *item); /* what to do about it; "" where nothing helps */

/* How the part of a graph that is differentiated is simplified; 0, or -1 with the error set. */
void derivatives_simplify_by(int (*simplify)(Graph *graph));

/* ---- module_capture.c: adds what Python sees of this folder; 0 or -1 ---- */
int capture_module(PyObject *module);

#endif
