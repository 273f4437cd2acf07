/* Graph to program: which nodes share a kernel (schedule), the kernels as loop nests, extern calls,
   buffers and their lifetimes.  A Program is plain data: what a plan runs, and what could be
   written to disk.  Loop nests carry no C text. */
#ifndef PYCOMPILE_LOWER_H
#define PYCOMPILE_LOWER_H

#include "../arrays/arrays.h"
#include "../graph/graph.h"

typedef int32_t BufferId;
enum { NO_BUFFER = -1 };

typedef enum {
    BUFFER_INPUT,  /* memory of input `index`: an array's data, or the bytes of a scalar */
    BUFFER_CONST,  /* `object`: an array or scalar known while compiling */
    BUFFER_OUTPUT, /* a new array object: boxed as a result, or argument of an extern */
    BUFFER_EXTERN, /* the array or object that an extern step gave */
    BUFFER_TEMP,   /* arena memory: `arena_offset` */
    BUFFER_CHOSEN, /* memory of one of two others: a choose step tells */
    BUFFER_SCALAR, /* 16 bytes in the plan's scalar block: rank 0 */
} BufferKind;

typedef struct {
    BufferKind kind;
    Type type; /* of the whole buffer; offset 0 */
    int32_t index;
    PyObject *object; /* borrowed from the graph's keep list */
    SizeId bytes;
    int64_t arena_offset; /* of the first element */
    bool written;         /* in place, by steps that come later than the one that made it */
    /* OUTPUT, EXTERN, CHOSEN: release.c */
    int32_t born;     /* OUTPUT: the first step that needs it */
    int32_t released; /* how many steps are done when none needs it any more; 0: it is kept */
} Buffer;

typedef struct {
    BufferId buffer;
    SizeId offset; /* bytes */
} Place;

/* The kernel of a kept loop is called in phases, by its argument `begin`: see region.h. */
enum { REGION_PREPARE, REGION_RUN, REGION_UNDO };

/* A kernel in parts is called with this for `begin` when all of them are done. */
enum { PARTS_DONE = -1 };

/* One launch of a generated function; the ABI is in runtime/kernel_abi.h. */
typedef struct {
    int32_t kernel;  /* index into Program.kernels */
    int32_t nplaces; /* pointer arguments */
    Place *places;
    int32_t nsizes; /* integer arguments, evaluated once per run */
    SizeId *sizes;
    int32_t nloops; /* block calls: indices into Program.loops */
    int32_t *loops;
    SizeId units;          /* what threads share out: [0, units) */
    int64_t grain;         /* units below which another thread does not pay */
    int64_t unit_ps;       /* what a unit takes one thread, roughly: picoseconds */
    int64_t scratch_bytes; /* per thread */
    bool checks_flags;     /* may raise a floating-point flag that NumPy would report */
    uint8_t errors;        /* the ErrorState for it */
    bool fallible;         /* a nonzero return is a deopt */
    bool region;           /* a kept loop, called in phases: lower/region.h */
    bool parts;            /* called once more behind its units, which are parts of one row */
} KernelStep;

typedef struct {
    PyObject *callable; /* borrowed from the keep list */
    PyObject *backend;  /* whose call it is, for ever alive; or NULL */
    PyObject *kwnames;  /* tuple or NULL */
    int32_t nargs;
    Place *args; /* a view where the node is one: type in arg_types */
    Type *arg_types;
    BufferId *results;
    int32_t nresults;
    bool out;       /* the last positional argument is the preallocated result, results[0] */
    uint8_t errors; /* ErrorState in which it runs */
} ExternStep;

/* To the step `target` unless `condition`, a bool, holds; always without one (NO_BUFFER). */
typedef struct {
    Place condition;
    int32_t target;
} JumpStep;

/* The buffer `to` is the memory at `of[0]` where the condition holds, else at `of[1]`. */
typedef struct {
    Place condition, of[2];
    BufferId to;
    bool object; /* an array object is wanted of it, too */
} ChooseStep;

typedef enum { STEP_KERNEL, STEP_EXTERN, STEP_JUMP, STEP_CHOOSE } StepKind;

typedef struct {
    StepKind kind;
    int32_t file, line, last_line; /* the user's lines that may undo it; index into Graph.files */
    union {
        KernelStep kernel;
        ExternStep external;
        JumpStep jump;
        ChooseStep choose;
    };
} Step;

/* Where a node that the plan boxes or writes out is found.  For a write into an input (a scatter's
   version of an input's storage) `written` says which part of it changed: the value at (place,
   type), broadcast to `view` already, goes to `view` of the input's memory.  Without it, all of
   (place, type) is the new contents. */
typedef struct {
    NodeId node;
    Place place;
    Type type;
    bool written;
    Type view;
    bool in_place; /* the memory of an input, written there already by a kept loop */
} Located;

typedef struct Kernel Kernel; /* kernel.h: the loop nest */

typedef struct {
    VEC(Kernel *) kernels;
    VEC(UfuncLoop) loops; /* owners are in the keep list */
    VEC(Buffer) buffers;
    VEC(Step) steps;
    VEC(Step) commits;    /* kernels that write inputs, in front of the first effect that does */
    VEC(Located) located; /* one per Graph.outputs entry, same order */
    int64_t arena_bytes;
} Program;

/* NULL with the error set; ANSWER_NO in *answer (no error) when some node has no lowering, with the
   reason in *why (arena text). */
Program *lower(Graph *graph, Answer *answer, const char **why);

/* Adds the node's line to those that may undo the step, where it is of the same file. */
void step_blame(const Graph *graph, NodeId node, Step *step);

/* For tests: no graph is lowered, with this reason (static text) or NULL. */
void lower_refuse(const char *why);

/* PYCOMPILE_LOGS=schedule and golden files: kernels, what fused and why not, buffers and reuse. */
int program_print(const Graph *graph, const Program *program, Text *out);

#endif
