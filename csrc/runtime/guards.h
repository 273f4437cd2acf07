/* Private to runtime/guards*.c: the flat guard program. */
#ifndef PYCOMPILE_RUNTIME_GUARDS_H
#define PYCOMPILE_RUNTIME_GUARDS_H

#include "runtime.h"

typedef struct {
    SourceKind kind;
    int32_t base, index; /* ITEM of a sequence: the index; -1 when the key is looked up */
    PyObject *key, *object;
    PyObject *builtins; /* GLOBAL: where to look when the globals have no such key */
    PyObject **made;    /* SIZE: the int that was reached last; owned, in the program's arena */
    bool used;          /* an input, a build or a guard needs it */
    bool steady;        /* while the watch holds it stays `seen` */
    PyObject *seen;     /* borrowed; only compared, unless the watch holds */
} GuardSource;

struct MemoryRange {
    const char *low, *high;
    int32_t member; /* index into the group */
};

typedef struct {
    GuardKind kind;
    int32_t source, other;
    PyObject *object;
    int64_t low, high;
    ArrayLike array;                  /* ARRAY; SCALAR: its dtype */
    int32_t ngroup, nwritten, *group; /* DISJOINT */
    struct MemoryRange *ranges;       /* DISJOINT: room, and the order of the last check */
    PyObject **parts; /* IS, or NULL: what an object of the type `object` is known by */
    int32_t nparts;
    int32_t file, line;
} GuardCheck;

typedef struct {
    int32_t source, slot;
} SlotRead;

/* An object that the program mentions without keeping it. */
typedef struct {
    PyObject *object, *reference;
} WeakHold;

struct GuardProgram {
    Arena *memory;
    PyCodeObject *code; /* borrowed: its entries own the program */
    int entry;          /* the Instr of the code before which it is checked */
    bool dead;          /* something that is held weakly is gone: it never holds again */
    int nweak, weak_room;
    WeakHold *weak;
    PyObject *forget; /* the callback of the weak references, or NULL */
    PyObject *strong; /* a list: all else that is mentioned */
    int nsources, nchecks, nfiles, last_slot;
    GuardSource *sources;
    GuardCheck *checks;
    char **files;
    /* What one check runs while the watch holds: fixed objects are filled in, slots are read, other
       sources are reached in order, then the checks that the watch does not cover are made. */
    int nfixed, nslots, nreach, nrun, nneeded;
    int32_t *fixed, *reach, *run, *needed;
    SlotRead *slots;
    Watch *watch;   /* NULL: nothing is steady */
    PyObject *kept; /* a list: what the watch borrows */
};

/* ---- guards_reach.c ---- */
/* The object behind a source; its base has been reached.  Borrowed, NULL when there is none.  Runs
   no Python code, sets no error. */
PyObject *source_reach(const GuardSource *source, const Roots *roots, PyObject *const *reached);
bool guard_holds(const GuardCheck *check, PyObject *const *reached);
/* What is behind the source of the check `number`; NULL: nothing, or no memory to look with.  A new
   reference: a text that is made of it may run Python code.  Sets no error. */
PyObject *guard_reach(const GuardProgram *program, int number, const Roots *roots);

/* ---- guards_name.c ---- */
void guard_put_object(Text *out, PyObject *object);
void guard_put_name(Text *out, PyObject *name); /* of a string, without quotes */
/* May run Python code, which asks for the source text of a value's line. */
void guard_put_source(Text *out, const GuardProgram *program, int number);
/* The dict of os.environ (or of os.environb), or something in it. */
bool guard_of_environment(const GuardProgram *program, int number);
/* An array scalar of a dtype that we know. */
bool guard_array_scalar(PyObject *object);

/* ---- guards_remedy.c ---- */
/* One fact of an array, as it was wanted and as it came, and what to do where it varies. */
typedef struct {
    char name[32];
    char wanted[24], now[24]; /* `wanted`: empty of a flag */
    const char *remedy;
} ArrayFact;

/* The first fact of an array that differs.  False: the array as a whole. */
bool guard_array_differs(const GuardProgram *program, const GuardCheck *check, PyObject *now,
                         ArrayFact *fact);
/* The type of the number that was wanted where a number of another type came; NULL otherwise. */
PyTypeObject *guard_number_type(const GuardCheck *check, PyObject *now);

/* ---- guards_weak.c ---- */
void guards_let_go(GuardProgram *program);
void guards_unwatch(GuardProgram *program);
/* Keeps what the check wants, or makes it a check of parts. */
int guards_keep_wanted(GuardProgram *program, PyObject *keep, GuardCheck *check);
bool guards_has_parts(const GuardCheck *check, PyObject *object);

/* ---- guards_watch.c ---- */
/* Finds what can be watched, with `reached` as it is now, and makes the lists of what remains to be
   done at each check.  0, or -1 with the error set. */
int guards_watch(GuardProgram *program, PyObject *const *reached);

#endif
