/* Private to runtime/guards*.c: the flat guard program. */
#ifndef PYCOMPILE_RUNTIME_GUARDS_H
#define PYCOMPILE_RUNTIME_GUARDS_H

#include "runtime.h"

enum { MOST_MOVES = 4 }; /* as a global counter makes; to watch it anew takes half a microsecond */

typedef struct {
    SourceKind kind;
    int32_t base, index; /* ITEM of a sequence: the index; -1: look up `key` */
    PyObject *key, *object;
    PyObject *builtins; /* GLOBAL: searched when the globals lack the key */
    PyObject **made;    /* SIZE, SERIES: made last; owned, in the guard program's arena */
    int64_t most;       /* SERIES: to read more items takes longer than its loops save */
    bool used;          /* an input, a build or a guard needs it */
    bool taken;         /* an input or a build has its object, not only facts about it */
    bool steady;        /* its object stays `seen` while the watch holds */
    bool behind;        /* GLOBAL: it was in the builtins when it was watched */
    uint8_t moves;      /* how often it was another one, until it is watched no more */
    PyObject *seen;     /* its address alone, unless the watch holds: then borrowed */
} GuardSource;

struct MemoryRange {
    const char *low, *high;
    int32_t member; /* index into the group */
};

/* A length of a member of the group, or an int (axis 0), times a constant. */
typedef struct {
    int32_t member, axis;
    int64_t factor;
} SizeLength;

/* Two axes, of sources that earlier checks have found to be NumPy arrays with such an axis. */
typedef struct {
    bool known;
    int32_t array[2], axis[2];
} AxisPair;

typedef struct {
    GuardKind kind;
    int32_t source, other;
    int32_t last; /* of the sources that it looks at */
    PyObject *object;
    int64_t low, high;
    ArrayLike array;                  /* ARRAY; SCALAR: its dtype */
    int32_t ngroup, nwritten, *group; /* DISJOINT, DIFFERENT, SIZES */
    int32_t nsizes;
    const SizeTerm *sizes;      /* SIZES */
    int32_t nlengths;           /* the same as a sum … */
    const SizeLength *lengths;  /* … of these, or NULL: it is none … */
    int64_t constant;           /* … and of this */
    AxisPair equal;             /* SAME_SIZE, SIZES: of one length is all they are to be */
    struct MemoryRange *ranges; /* of them: buffer, with the order of the last check */
    const void **parts;         /* IS, or NULL: what identifies an object of the type `object` */
    int32_t nparts;
    int32_t file, line;
} GuardCheck;

typedef struct {
    int32_t source, slot;
} SlotRead;

/* A tuple or set that borrows what it holds: the guard program keeps that by itself, most weakly.
 */
typedef struct Hollow {
    PyObject *object;
    struct Hollow *next;
} Hollow;

/* An object that the guard program refers to weakly. */
typedef struct {
    PyObject *object, *reference; /* object: NULL once it is gone */
    bool watched;                 /* it is the watch's only, not the guards' */
} WeakHold;

struct GuardProgram {
    Arena *memory;
    PyCodeObject *code; /* borrowed: its entries own the guard program */
    int entry;          /* the Instr of the code before which it is checked */
    bool fills;         /* a run reads numbers into arrays: guards_fill */
    bool dead;          /* an object referred to weakly is gone: the guards never hold again */
    int nweak, weak_room;
    WeakHold *weak;
    PyObject *forget; /* the callback of the weak references, or NULL */
    PyObject *strong; /* a list: all other objects */
    Hollow *hollows;
    /* Borrowed: the namespace of the code.  Whoever has the guards checked runs in it. */
    PyObject *globals, *builtins;
    int nsources, nchecks, nfiles, last_slot;
    GuardSource *sources;
    GuardCheck *checks;
    char **files;
    /* The work of one check while the watch holds: fixed objects are filled in, slots are read,
       checks that the watch does not cover are made, and before each the other sources up to
       its last one are reached, in order: where the length of a list is another one, none of
       its items is. */
    int nfixed, nslots, nreach, nrun, nneeded;
    int32_t *fixed, *reach, *run, *needed;
    SlotRead *slots;
    Watch *watch; /* NULL: nothing is steady */
};

/* ---- guards_reach.c ---- */
/* The object at a source whose base has been reached.  Borrowed, NULL when there is none.  Runs no
   Python code, sets no error. */
PyObject *source_reach(const GuardSource *source, const Roots *roots, PyObject *const *reached);
bool guard_holds(const GuardCheck *check, PyObject *const *reached);
/* The object at the source of check `number`; NULL: none, or no memory.  A new reference, since
   making its text may run Python code.  Sets no error. */
PyObject *guard_reach(const GuardProgram *program, int number, const Roots *roots);

/* ---- guards_sizes.c ---- */
/* Of a check of sizes: finds whether they are a sum.  0 or -1. */
int guard_sum(GuardProgram *program, GuardCheck *check);
/* Finds AxisPair of all checks.  0 or -1. */
int guard_pairs(GuardProgram *program);
bool guard_same_size(const GuardCheck *check, PyObject *a, PyObject *b);
bool guard_sizes_agree(const GuardCheck *check, PyObject *const *reached);

/* ---- guards_value.c ---- */
enum { LONGEST_VALUE = 60 }; /* bytes of a text that are shown */
void guard_put_object(Text *out, PyObject *object);
/* An object other than `wanted`: how it differs, where both have the same text. */
void guard_put_other(Text *out, PyObject *wanted, PyObject *now);
/* Is it an array scalar of a supported dtype? */
bool guard_array_scalar(PyObject *object);
/* Is it what compile or disable returns? */
bool guard_of_wrapper(PyObject *object);

/* ---- guards_name.c ---- */
void guard_put_name(Text *out, PyObject *name); /* of a string, without quotes */
/* May run Python code, which is asked for the source text of a line. */
void guard_put_source(Text *out, const GuardProgram *program, int number);
/* Is it the dict of os.environ (or of os.environb), or something in it? */
bool guard_of_environment(const GuardProgram *program, int number);

/* ---- guards_remedy.c ---- */
/* One fact of an array, wanted and found, and the remedy where it varies. */
typedef struct {
    char name[32];
    char wanted[24], now[24]; /* `wanted`: empty for a flag */
    const char *remedy;
} ArrayFact;

enum { ARRAY_FACTS = MAX_RANK + 3 };
/* The facts of an array that differ, the first as guard_array_differs gives it; how many.  0: it is
   no array, or differs as a whole. */
int guard_array_facts(const GuardProgram *program, const GuardCheck *check, PyObject *now,
                      ArrayFact facts[ARRAY_FACTS]);
/* The first of them. */
bool guard_array_differs(const GuardProgram *program, const GuardCheck *check, PyObject *now,
                         ArrayFact *fact);
/* What a program may change that fails this guard too often; may be empty. */
const char *guard_remedy(const GuardProgram *program, const GuardCheck *check, PyObject *now);
/* The wanted type, where a number of another type was found; else NULL. */
PyTypeObject *guard_number_type(const GuardCheck *check, PyObject *now);

/* ---- guards_text.c ---- */
void guard_say(const GuardProgram *program, const GuardCheck *check, PyObject *now, GuardSaid *out);
/* As guard_say, of one fact of an array. */
void guard_say_array(const GuardProgram *program, const GuardCheck *check, const ArrayFact *fact,
                     GuardSaid *out);

/* ---- guards_weak.c ---- */
void guards_let_go(GuardProgram *program);
/* Frees the watch and lets go what only it refers to.  Runs no code of the program. */
void guards_unwatch(GuardProgram *program);
/* Refers weakly to what the watch borrows: a module, class or function. */
int guards_keep_watched(GuardProgram *program, PyObject *object);
/* Before any other object: those whose life others depend on. */
int guards_keep_mortal(GuardProgram *program, PyObject *keep, PyObject *object);
/* Refers weakly to what keeps the namespaces in which names are looked up. */
int guards_keep_namespaces(GuardProgram *program, const Capture *capture);
/* Is the object recognised by what it consists of? */
bool guards_knows_parts(PyObject *object);
/* As guards_keep, of what is compared by value: a tuple or set of others than plain values is
   replaced by a hollow copy.  -1 with the error set. */
int guards_keep_value(GuardProgram *program, PyObject *keep, PyObject **object);
/* Keeps the wanted object alive, or turns the check into one of its parts. */
int guards_keep_wanted(GuardProgram *program, PyObject *keep, GuardCheck *check);
bool guards_has_parts(const GuardCheck *check, PyObject *object);

/* ---- guards.c ---- */
/* Gives the check its sources, with their buffer.  0 or -1. */
int guard_group(GuardProgram *program, GuardCheck *check, const int32_t *members, int count);

/* ---- guards_path.c ---- */
/* Objects of the program that cannot be referred to weakly are found again, not remembered: their
   sources become those where capture has found them.  Adds a check for each at most, and one.
   0 or -1. */
int guards_find_again(GuardProgram *program);

/* ---- guards_watch.c ---- */
/* Is it a global that is found in the builtins? */
bool source_is_behind(const GuardSource *source);
/* Finds what can be watched, with `reached` as it is now, and lists the work that remains for each
   check.  0, or -1 with the error set and nothing watched. */
int guards_watch(GuardProgram *program, PyObject *const *reached);

#endif
