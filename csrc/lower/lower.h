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
    BUFFER_OUTPUT, /* a new array object: a result, or the argument of an extern call */
    BUFFER_EXTERN, /* the array or object that an extern step returned */
    BUFFER_TEMP,   /* memory of its device's arena: `arena_offset` */
    BUFFER_CHOSEN, /* memory of another buffer, by a choose or carry step */
    BUFFER_SCALAR, /* 16 bytes in the plan's scalar block: rank 0 */
} BufferKind;

typedef struct {
    BufferKind kind;
    Type type; /* of the whole buffer; offset 0 */
    int32_t index;
    PyObject *object; /* borrowed from the graph's keep list */
    SizeId bytes;
    int64_t arena_offset; /* of the first element */
    int32_t slot;         /* TEMP of a size that only the run tells: 1 + its number in its device's
                             Program.slots */
    bool written;         /* in place, by later steps than the one that made it */
    bool pooled;          /* OUTPUT: made when a carry step needs it */
    /* OUTPUT, EXTERN, CHOSEN: release.c */
    int32_t born;     /* OUTPUT: the first step that needs it; -1: it is pooled */
    int32_t released; /* released once this many steps are done; 0: kept to the end */
} Buffer;

/* A grid may go so far beyond the end. */
enum { GRID_MARGIN = 1 << 20, MOST_REACH = INT32_MAX - GRID_MARGIN };

typedef struct {
    BufferId buffer;
    SizeId offset; /* bytes */
} Place;

/* The most arrays whose old elements a kept loop logs. */
enum { LOG_ARRAYS = 32 };
/* Lists, and behind them the indices of those that are dicts. */
enum { LOG_LISTS = 2 * LOG_ARRAYS };

/* A kernel in parts is called once more with this as `begin` when all parts are done. */
enum { PARTS_DONE = -1 };

/* The arguments of kernels that share a launch, 8 bytes each: those that are the same for all, then
   for each kernel its own.  By argument, places before sizes: the word at[i] is its place, and that
   of the first kernel's where it is not the same for all. */
typedef struct {
    int32_t shared, own; /* how many there are of each, of one kernel */
    int32_t *at;
} LaunchTable;

/* A tensor map: how the copy engine of a device (TMA) finds tiles of an array.  Dimensions begin
   with the innermost one, and there are always MAP_RANK, unused ones of length 1. */
enum { MAP_RANK = 5 };
typedef struct {
    int32_t place; /* of the array's beginning: index into KernelStep.places */
    DType dtype;
    SizeId size[MAP_RANK], stride[MAP_RANK]; /* elements; bytes, of which [0] is not used */
    int32_t box[MAP_RANK];                   /* the elements of a tile */
} TensorMap;
enum { MAP_BYTES = 128, MOST_MAPS = 3 };

static inline bool
table_shares(const LaunchTable *table, int i)
{
    return table->at[i] < table->shared;
}

/* One launch of a generated function; the ABI is in runtime/kernel_abi.h. */
typedef struct {
    int32_t kernel;  /* index into Program.kernels */
    int32_t nplaces; /* pointer arguments */
    Place *places;
    int32_t nsizes; /* integer arguments, evaluated once per run */
    SizeId *sizes;
    int32_t nloops; /* block calls: indices into Program.loops */
    int32_t *loops;
    SizeId units;          /* what threads divide among them: [0, units) */
    int64_t grain;         /* fewer units are not worth another thread */
    int64_t unit_ps;       /* roughly the time of a unit in one thread, in picoseconds */
    int64_t scratch_bytes; /* per thread; and `scratch_each` for each element of a row of … */
    int64_t scratch_each;  /* … `scratch_row` elements, which only the run tells */
    SizeId scratch_row;
    bool checks_flags; /* may raise a floating-point flag that NumPy would report */
    uint8_t errors;    /* the ErrorState for it */
    bool bounded;      /* Kernel.bounded: unless underflow counts, kN_bounded is called */
    bool fallible;     /* a nonzero return is a deopt */
    bool silent;       /* it may run only while libraries of ufuncs report no errors: OPF_SPECIAL */
    bool region;       /* a kept loop, called in phases: lower/region.h */
    bool keeps_log;    /* … whose log is needed until the run ends */
    bool numpy_ints;   /* … that looks whether integers of NumPy's wrap round */
    bool parts; /* its units are parts of one row; called once more after them (PARTS_DONE) */
    Device device;
    int32_t threads;  /* on a device: of a block */
    SizeId blocks[2]; /* of the kernel, and of kN_done; NO_SIZE: there is none */
    int32_t shared;   /* bytes of a block's dynamic memory */
    int32_t nmaps;    /* arguments in front of the others */
    TensorMap *maps;
    Product *product;  /* KERNEL_PRODUCT; NULL: another kernel.  Its places are … */
    int64_t workspace; /* … as product_place says; the bytes of the last */
    int32_t component; /* lower/together.c; 0: none */
    /* Kernels of one text, launched together: `places` and `sizes` are those of
       the first, of the second, …; 0: one kernel. */
    int32_t members;
    LaunchTable table;
} KernelStep;

/* The places of a product: the factors and the result, then the row and the matrix that are added
   and the memory that the library needs besides, where it has them. */
enum { PRODUCT_FIXED = 3, MOST_PRODUCT_PLACES = 6 };
static inline int
product_places(const Product *product, int64_t workspace)
{
    return PRODUCT_FIXED + !!(product->flags & PRODUCT_BIAS) +
           !!(product->flags & PRODUCT_RESIDUAL) + (workspace > 0);
}

/* How many arguments one kernel of the step has. */
static inline int
step_places(const KernelStep *step)
{
    return step->members > 0 ? step->nplaces / step->members : step->nplaces;
}
static inline int
step_sizes(const KernelStep *step)
{
    return step->members > 0 ? step->nsizes / step->members : step->nsizes;
}

typedef struct {
    PyObject *callable; /* borrowed from the keep list */
    PyObject *backend;  /* the backend that is called, immortal; NULL: none */
    PyObject *kwnames;  /* tuple or NULL */
    int32_t nargs;
    Place *args; /* a view's type is in arg_types */
    Type *arg_types;
    BufferId *results;
    int32_t nresults;
    bool out;        /* the last positional argument is the preallocated result, results[0] */
    uint8_t errors;  /* ErrorState in which it runs */
    uint8_t current; /* index of the device that is current then */
    bool sends;      /* it begins a collective; … */
    uint8_t how;     /* … COLLECTIVE_ bits */
} ExternStep;

/* A jump to step `target` unless `condition`, a bool, holds; unconditional when that is
   NO_BUFFER. */
typedef struct {
    Place condition;
    int32_t target;
} JumpStep;

/* Makes the buffer `to` the memory at `of[0]` if the condition holds, else that at `of[1]`. */
typedef struct {
    Place condition, of[2];
    BufferId to;
    bool object; /* an array object of it is needed, too */
} ChooseStep;

/* Begins a loop of steps, or ends a turn of it.  All at once the buffers `to` become what is at
   `from`: numbers are copied, arrays become the same objects.  Then the buffers `fresh`, which the
   next turn makes, get the arrays of `pool` that nobody else has, and the run goes on at step
   `target` if `condition` holds. */
typedef struct {
    int32_t nmoves;
    Place *from;
    BufferId *to;
    int32_t nfresh, npool;
    BufferId *fresh, *pool;
    int32_t ndropped; /* made in a turn, and not used in the next */
    BufferId *dropped;
    Place condition; /* NO_BUFFER: the loop begins */
    int32_t target;
} CarryStep;

/* Parts of inputs that later steps write: an undo puts back what is in them now. */
typedef struct {
    BufferId buffer;
    Type type; /* of the part */
} SavedPart;

typedef struct {
    int32_t nparts;
    SavedPart *parts;
} SaveStep;

/* The int at `from` is known from here on: sizes with the `measure` node are evaluated, and the
   buffers `fresh` are new arrays of such sizes. */
typedef struct {
    Place from;
    NodeId node;
    VEC(BufferId) fresh;
} MeasureStep;

typedef enum {
    STEP_KERNEL,
    STEP_EXTERN,
    STEP_JUMP,
    STEP_CHOOSE,
    STEP_CARRY,
    STEP_SAVE,
    STEP_MEASURE
} StepKind;

typedef struct {
    StepKind kind;
    int32_t file, line, last_line; /* the user's file (index into Graph.files) and lines that a
                                      deopt here is due to */
    union {
        KernelStep kernel;
        ExternStep external;
        JumpStep jump;
        ChooseStep choose;
        CarryStep carry;
        SaveStep save;
        MeasureStep measure;
    };
} Step;

/* Kernels that are run tile by tile, one behind the other (wave.c).  A kernel does `pace` units in
   a strip; in tile t its strips [t * tile - lag, (t + 1) * tile - lag). */
typedef struct {
    int64_t pace, lag;
} WaveMember;

typedef struct {
    int32_t first, count; /* steps */
    int64_t tile, tiles;  /* strips in a tile; tiles in which all members are done */
    bool apart;           /* tiles have nothing to do with one another */
    WaveMember *members;
} Wave;

/* A loop of steps, from `first`, to which `last` goes back, that the function driveN of the
   compiled code does (drive.c). */
typedef struct {
    int32_t first, last;
    bool exact; /* a flag is noted of the step that raised it */
} Drive;

/* Where the value of an output is.  For a write into an input at commit `written` is true: the
   value at (place, type), whose type is broadcast to `view` already, goes to `view` of the input's
   memory. Otherwise (place, type) is the whole value. */
typedef struct {
    NodeId node;
    Place place;
    Type type;
    bool written;
    Type view;
    bool in_place; /* in the input's memory already: a kept loop or a kernel at commit wrote it */
} Located;

typedef struct Kernel Kernel; /* kernel.h: the loop nest */
Device kernel_device(const Kernel *kernel);
/* Has it a text of ours?  A product is the library's. */
bool kernel_has_text(const Kernel *kernel);

typedef struct {
    VEC(Kernel *) kernels;
    VEC(UfuncLoop) loops; /* owners are in the keep list */
    VEC(Buffer) buffers;
    VEC(Step) steps;
    VEC(Wave) waves;      /* in the order of their steps */
    VEC(Drive) drives;    /* by their number */
    VEC(Step) commits;    /* kernels that compute into inputs, before the first such effect */
    VEC(Located) located; /* one per Graph.outputs entry, same order */
    int64_t arena_bytes[DEVICE_COUNT];
    VEC(SizeId)
    slots[DEVICE_COUNT]; /* bytes of memory behind the arena, each for several buffers */
    VEC(SizeId)
    reaches;    /* bytes and positions that kernels of devices reach with 32 bits: no run
                   may have more than MOST_REACH */
    bool quiet; /* nobody asks CPython again: its arithmetic and KernelDrive.plan leave no flags */
} Program;

/* All buffers of the step, some of them more than once, and NO_BUFFER. */
typedef void (*BufferVisit)(void *context, BufferId id);
void step_each_buffer(const Step *step, BufferVisit visit, void *context);

/* Is the step of a drive done there?  Else the plan does it. */
bool step_is_driven(const Program *program, const Step *step);

/* NULL with the error set; NULL with ANSWER_NO in *answer (no error) when some node has no
   lowering: the reason is in *why (a literal). */
Program *lower(Graph *graph, Answer *answer, const char **why);

/* Adds the node's line to those that a deopt of the step is due to, if it is in the same file. */
void step_blame(const Graph *graph, NodeId node, Step *step);

/* For tests: from now on no graph is lowered, for this reason (a literal); NULL ends that. */
void lower_refuse(const char *why);
/* For tests: the least bytes stored by the first kernel of a wave, and the cache's; 0: as usual. */
void waves_set_sizes(int64_t stored, int64_t cache);

/* For PYCOMPILE_LOGS=schedule and golden files: buffers, steps with their kernels, outputs. */
int program_print(const Graph *graph, const Program *program, Text *out);

#endif
