/* Private to runtime/: what a plan holds, and one run of it.

   A plan is plain data, made once by plan_new.c out of a capture and a program, run by plan.c.
   It owns its code and its guards, which keep every Python object that it mentions.
   Plans are reference counted under the GIL: a reset in the middle of a run must not free one. */
#ifndef PYCOMPILE_RUNTIME_PLAN_H
#define PYCOMPILE_RUNTIME_PLAN_H

#include "drive_abi.h"
#include "runtime.h"
#include "sample.h"

enum { BOX_BYTES = 16 }; /* room of one scalar */

typedef struct {
    SizeKind kind; /* constants are in the template */
    int32_t id;
    int32_t node, input, axis; /* of an array or int from outside: its node, and which input */
    int32_t a, b;
} PlanSize;

typedef struct {
    BufferKind kind;
    Type type;
    int32_t index;          /* INPUT: of the input */
    int32_t scalar;         /* index into the run's scalar block, or -1 */
    PyObject *object;       /* CONST */
    char *data;             /* CONST: array data, or `constant` */
    int64_t arena_offset;   /* TEMP */
    int32_t slot;           /* TEMP: 1 + which of the run's; 0: at `arena_offset` */
    bool is_whole_array;    /* INPUT, CONST, OUTPUT, EXTERN: form is FORM_ARRAY */
    bool written;           /* EXTERN: later steps write it in place */
    int32_t born, released; /* OUTPUT, EXTERN, CHOSEN: Buffer.born, Buffer.released */
    _Alignas(16) char constant[BOX_BYTES];
} PlanBuffer;

typedef struct {
    int32_t buffer;
    SizeId offset;
} PlanPlace;

/* Runs of a kept loop that start with the careful variant: these, and as many after the next
   failure of the quick one. */
struct Careful {
    int calls, next;
};

typedef struct {
    KernelFn call;    /* on the host … */
    KernelFn bounded; /* … instead of it where underflow is ignored, if not NULL */
    Device device;
    int32_t nplaces, nsizes, nloops;
    PlanPlace *places;
    SizeId *sizes;
    KernelLoop *loops;
    SizeId units;
    int64_t grain, unit_ps, scratch_bytes, scratch_each;
    SizeId scratch_row;
    bool checks_flags;
    ErrorState errors;       /* the state under which its flags are checked */
    bool region;             /* a kept loop: plan_region.c */
    bool keeps_log;          /* KernelStep.keeps_log */
    bool numpy_ints;         /* KernelStep.numpy_ints */
    struct Careful *careful; /* of a kept loop */
    int32_t number;          /* its symbol's */
    bool parts;              /* called once more after its units */
    bool foreign;            /* has loops of other libraries, which may report errors */
    bool silent;             /* runs only while these libraries would report none to anybody */
    /* on a device: the kernel, and what combines its parts or NULL */
    void *function[2];
    SizeId blocks[2]; /* NO_SIZE: no such launch */
    unsigned threads, shared;
    int32_t nmaps;
    TensorMap *maps;             /* arguments in front of the others */
    struct CudaProduct *product; /* cuda_product.c; NULL: a kernel */
    int32_t members;             /* of a launch of several kernels, else 0: see KernelStep */
    LaunchTable table;
} PlanKernel;

typedef struct {
    PyObject *callable, *kwnames;
    PyObject *save; /* its method that keeps what the call changes, for a deopt; or NULL */
    int32_t nargs, nresults;
    ErrorState errors; /* in which it is called */
    PlanPlace *args;
    Type *arg_types;
    int32_t *results;
    const RowsForm *appended; /* it makes a list of what a loop has appended; else NULL */
    bool numbers;      /* takes and returns Python's own numbers only: no floating-point flags */
    bool sequence;     /* the results come in a sequence, even a single one */
    bool large;        /* arrays among arguments or results are large: it allocates from the pool */
    PyObject *backend; /* the backend that made it, or NULL */
    bool sends;        /* to other processes: cannot be taken back */
    int current;       /* index of the device that is current then */
} PlanExtern;

typedef struct {
    PlanPlace condition;
    int32_t target;
} PlanJump;

typedef struct {
    PlanPlace condition, of[2];
    int32_t to;
    bool object;
} PlanChoice;

/* A CarryStep.  plan_carry.c runs it. */
typedef struct {
    int32_t nmoves, nfresh, npool, ndropped;
    PlanPlace *from;
    int32_t *to, *fresh, *pool, *dropped;
    PlanPlace condition;
    int32_t target;
} PlanCarry;

/* A SaveStep.  plan_region.c runs it. */
typedef struct {
    int32_t nparts;
    SavedPart *parts;
} PlanSave;

/* A MeasureStep: the int, sizes that have it (index into Plan.dynamic), and arrays that are made.
 */
typedef struct {
    PlanPlace from;
    int32_t id, nsizes, nfresh;
    int32_t *sizes, *fresh;
} PlanMeasure;

/* ---- plan_chain.c ---- */

/* Where and how large an array was when its tensor map was made. */
typedef struct {
    uint64_t address;
    int64_t size[MAP_RANK], stride[MAP_RANK];
} MappedPlace;

/* One of a chain's kernels.  The words are the arguments of its last launch, 8 bytes each. */
typedef struct {
    const PlanKernel *kernel;
    const struct PlanStep *step; /* whose kernel it is; NULL: a commit's */
    uint64_t *words;
    unsigned blocks[2];            /* of the last launch, as kernel->function */
    char *maps;                    /* as the driver made them, MAP_BYTES each … */
    MappedPlace mapped[MOST_MAPS]; /* … of these; address 0: not yet */
    void **arguments;              /* to each map and each word */
    bool changed;                  /* since the graph was told */
    void *node[2], *function[2];   /* of the graph, as kernel->function */
} Launch;

/* Kernels of a device that are launched one after the other.  Changed under the GIL, during which
   no other code runs, by the launch. */
typedef struct Chain {
    Device device;
    int32_t nlaunches;
    Launch *launches;
    struct CudaGraph *graph; /* cuda_graph.c; NULL: none yet */
    bool launched, no_graph; /* at least once; making or launching one has failed */
    bool allowed;            /* kernels may have the shared memory that they need */
    struct Chain *next;
} Chain;

/* A Drive: plan_drive.c runs it. */
typedef struct {
    int (*call)(KernelDrive *drive);
    const KernelLoop *loops;
    const int64_t *grains; /* by step */
    int32_t last;
} PlanDrive;

typedef struct PlanStep {
    StepKind kind;
    Chain *chain;            /* which begins here, or NULL */
    const Wave *wave;        /* the same */
    const PlanDrive *drive;  /* the same */
    int32_t line, last_line; /* lines of the user's code that may undo the run; 0: unknown */
    const char *file;        /* in the plan's memory, or NULL */
    union {
        PlanJump jump;
        PlanChoice choose;
        PlanCarry carry;
        PlanSave save;
        PlanMeasure measure;
        PlanKernel kernel;
        PlanExtern external;
    };
} PlanStep;

/* How an output of the graph becomes an object. */
typedef enum {
    BOX_WHOLE,  /* the buffer's own object */
    BOX_VIEW,   /* the library's view of the buffer's object */
    BOX_COPY,   /* a fresh array: the program's array was its own, the buffer is shared */
    BOX_SCALAR, /* an array scalar or a Python number, from the bytes */
} BoxKind;

typedef struct {
    BoxKind kind;
    PlanPlace place;
    Type type;
    bool partial; /* the write changes only the part `view` of the array's memory */
    Type view;
    bool in_place; /* the written array has it already */
    bool frozen;   /* BOX_VIEW: read-only */
} PlanBox;

typedef struct {
    BuildKind kind;
    int32_t nargs;
    int32_t *args;
    PyObject *object;
    int32_t box; /* index into boxes; BUILD_BOX, EFFECT_WRITE */
    int32_t source;
    int32_t index;
    int32_t number;
    int32_t when;     /* of an effect: 1 + the bool under which it is done, or 0 */
    int32_t snapshot; /* EFFECT_WRITE: extra slot for a copy of the written data, or -1 */
} PlanBuild;

/* ---- spare.c: an arena kept for the plan's next run ---- */
typedef struct Spare {
    char *block;         /* NULL: none */
    int64_t bytes, used; /* its size; the second of its last use */
    struct Spare *newer, *older;
} Spare;

/* The arena kept for this plan, if it has so many bytes, or a new one; *bytes: what it has.  NULL
   with MemoryError set. */
char *spare_take(Spare *spare, int64_t *bytes);
/* Puts the arena back; may return it, or others, to the system. */
void spare_give(Spare *spare, char *block, int64_t bytes);
void spare_drop(Spare *spare);

/* Runs that the trace has not told of yet: trace.c. */
typedef struct {
    int64_t first, from, due; /* clock_ns: the plan's first run, of these the first, when to tell */
    int64_t runs, undone, ns;
    int64_t met, *length; /* runs that were begun; of each of Plan.dynamic the least, the most, the
                             sum of them, or NULL */
    int32_t process;
} TraceRuns;

/* What a run takes of memory. */
typedef struct {
    int64_t bytes;                      /* the arena, slots and scratch behind it */
    int64_t scratch_at;                 /* behind the beginning of the arena */
    int64_t device_bytes[MOST_DEVICES]; /* the devices' arenas, and slots behind them */
} RunRoom;

/* The sizes of the last run, and what follows from them: the next one's, at the same lengths. */
typedef struct {
    int64_t *values; /* in the plan's memory, with slots behind them; NULL: none are kept */
    bool taken;      /* by a run */
    bool known;      /* all that follows from the lengths is, too */
    RunRoom room;
} KeptSizes;

typedef struct Twins Twins; /* twins.h */
void twins_free(Twins *twins);

struct Plan {
    Py_ssize_t references;
    int64_t number; /* in the order in which plans were made; 0: it was made by a test */
    TraceRuns traced;
    Sample sample;
    Balance balance;
    Twins *twins; /* owned; NULL: its lengths are known */
    GuardProgram *guards;
    Codes codes;
    PlanDrive *drives;
    int ndrives;
    bool uses_device;                   /* it has kernels of a device, … */
    int ndevices, device[MOST_DEVICES]; /* … of these by number, as Graph.device */
    int multiplies[2]; /* 1 + how the array library multiplies float16 and float32; 0: nothing does
                        */
    int nsizes, ndynamic;
    int64_t *size_values; /* template: constants, and the values seen while capturing */
    PlanSize *dynamic;    /* all that are not known */
    int nneeded, nread;   /* of these: what a run evaluates, of which nread come from outside */
    PlanSize *needed;
    KeptSizes kept;
    int32_t *input_source;
    int nbuffers, nsteps, nboxes, nbuilds, neffects, nscalars, nsnapshots;
    PlanBuffer *buffers;
    int nborn, nreleased;
    int32_t *born;     /* OUTPUT buffers by `born` */
    int32_t *released; /* buffers that are released during the run, by `released` */
    PlanStep *steps;
    int ncommits;
    PlanKernel *commits;   /* in front of the first effect that writes an array */
    Chain **commit_chains; /* by the commit with which it begins, or NULL */
    Chain *chains;         /* all of them */
    PlanBox *boxes;
    PlanBuild *builds; /* objects, in program order */
    int32_t *effects;  /* positions in builds of the EFFECT_* ones, in program order */
    Exit exit;
    int gain, saves;    /* Capture.gain, Capture.saves */
    int64_t debt;       /* cost of making it minus the savings of its runs, see credit.c */
    const char *unkept; /* Capture.unkept */
    int64_t used_at;    /* a debt from which on it has saved what making it again would cost */
    bool whole, holds_sources;
    int64_t scratch_bytes;
    RunRoom room; /* without slots, and rows of scratch */
    int nslots[DEVICE_COUNT], nrows, nreaches;
    SizeId *slots[DEVICE_COUNT]; /* Program.slots; in a run one after the other */
    SizeId *reaches;             /* Program.reaches */
    const PlanKernel **rows;     /* kernels with a scratch_row */
    size_t state_bytes;
    Spare spare_arena;           /* taken and put back under the GIL */
    char *spare_state;           /* a run's state, where it is large; likewise */
    struct RegionLog *spare_log; /* the same for the log of a kept loop */
    const char *careful_source;  /* of the careful variants of kept loops; NULL: there are none */
    CodeOrigin careful_origin;   /* the function that has the loops */
    bool compiles_later;         /* these are compiled in the background */
    Code *careful;               /* that, once it was needed */
    Arena *memory;               /* where the arrays above live */
    VEC(PyObject *) weak;        /* borrowed: objects that are held during a run */
    PyObject *owners;            /* a list: keeps the ufuncs' loops alive */
    int turns_saved;             /* of loops that are left and entered again; 0: none yet */
};

/* The overwritten elements of a kept loop in memory of an input: plan_region_log.c. */
typedef struct RegionLog RegionLog;

/* One run. */
typedef struct {
    Plan *plan;
    PyObject *const *reached;
    const int64_t *size;
    int64_t *measured; /* the same, where sizes change during the run */
    bool keeps_sizes;  /* they are the plan's */
    char **data;       /* by buffer */
    PyObject **object; /* by buffer, owned; NULL until asked for */
    PyObject **memory; /* by buffer, owned: an output's on a device until there is its object */
    PyObject **built;  /* by build, owned */
    char *scalars;
    char *arena, *scratch;
    const int64_t *slot; /* where each begins, from its arena's beginning */
    int current;         /* index of the device that is current now */
    RunRoom room;
    char *device_arena[MOST_DEVICES];
    PyObject *device_memory[MOST_DEVICES]; /* which owns that, or NULL */
    RegionLog *logs;                       /* newest first */
    PyObject *saved; /* restores what steps changed outside, or NULL: see plan_extern.c */
    const Roots *roots;
    bool sent;        /* a step has sent to other processes: a failure raises */
    bool committed;   /* a write to an array has been made; it is not undone */
    bool interrupted; /* a signal came between two steps */
    bool yielded;     /* other threads may have run since the guards were checked */
    const char *why;  /* of a deopt, for logs */
    int step;         /* the step that ran last; nsteps after the last */
    int met[8];       /* by bit of the flags (see FLAGS_REPORTED): the step that raised it first */
    int born, released; /* how many entries of the plan's lists of that name are done */
} Run;

static inline int64_t
run_size(const Run *run, SizeId id)
{
    return id == NO_SIZE ? 0 : run->size[id];
}

/* As plan_size_read, of what is no length of a NumPy array. */
Answer plan_size_elsewhere(const PlanSize *size, PyObject *object, int64_t *out);
/* A length, stride or int from outside, as it is in a call; ANSWER_NO: there is none. */
static inline Answer
plan_size_read(const Plan *plan, const PlanSize *size, PyObject *const *reached, int64_t *out)
{
    PyObject *object = reached[plan->input_source[size->input]];
    if (object == NULL) return ANSWER_NO;
    if (size->kind == SIZE_DIM && array_is_exact(object) &&
        size->axis < ((NumpyArray *)object)->rank) {
        *out = ((NumpyArray *)object)->shape[size->axis];
        return ANSWER_YES;
    }
    return plan_size_elsewhere(size, object, out);
}

/* Bytes of a thread's scratch. */
static inline int64_t
kernel_scratch(const Run *run, const PlanKernel *kernel)
{
    return kernel->scratch_bytes + kernel->scratch_each * run_size(run, kernel->scratch_row);
}

/* ---- plan_sizes.c ---- */
/* Takes the graph's sizes over; once the plan is made, finds those that its runs need.  0 or -1. */
int plan_sizes(Plan *plan, const Graph *g);
int plan_need_sizes(Plan *plan);
/* How many a run has, with its slots. */
int plan_run_sizes(const Plan *plan);
/* The sizes of this run, the plan's or else in `own`, and its room.  ANSWER_NO: they are none. */
Answer run_sizes(Run *run, int64_t *own);

enum { SPARE_LIMIT = 256 << 20 }; /* bytes; larger logs are not kept */

/* A Python number or array scalar as the bytes of `type`.  ANSWER_NO: it is of another type. */
Answer run_read_scalar(PyObject *object, const Type *type, char *out);
/* Runs the kernels that write inputs in place.  They fail only through a defect: 0, or -1 with the
   error set. */
int run_commits(Run *run);
/* A new array with these elements; NULL with the error set. */
PyObject *run_new_array(DType dtype, int rank, const int64_t *shape, const int64_t *stride,
                        const char *data);
/* Shape and strides of a type in this run. */
void run_type(const Run *run, const Type *type, int64_t *shape, int64_t *stride);
/* Makes the device of this index the current one.  ANSWER_ERROR: the library has raised. */
Answer run_use(Run *run, int index);
/* The array object of a whole buffer; borrowed.  NULL with the error set. */
PyObject *run_buffer_object(Run *run, int buffer);
/* A new array as the buffer's object. */
Answer run_make_array(Run *run, int buffer);
/* The elements of an output in a fresh array. */
PyObject *run_copy(Run *run, int box);
/* An output of the graph as a new object. */
PyObject *run_box(Run *run, int box);

/* ---- plan_chain.c ---- */
/* Needs steps, commits and lifetimes. */
int plan_chains(Plan *plan);
/* Sets words and grids of all launches of a run. */
void chain_fill(const Run *run, Chain *chain);

/* ---- plan.c ---- */
/* Does one step that is no jump; the flags that it raises are added. */
Answer run_step(Run *run, int number, unsigned *flags);
/* The step run->step is the first to raise these flags. */
void note_flags(Run *run, unsigned flags);
/* ANSWER_NO where NumPy would report a flag. */
Answer report_flags(Run *run, unsigned flags);
/* Is there a signal for which the run ends?  Behind a collective it waits for the plan's end. */
bool run_is_interrupted(Run *run, PyThreadState *thread);

/* ---- plan_drive.c ---- */
/* Needs the steps.  0 or -1 */
int plan_drives(Plan *plan, const Program *program);
/* Finds their functions; 0, or -1 with the error set. */
int link_drives(Plan *plan, Code *code);
/* Runs the loop of steps; flags as for run_step. */
Answer run_drive(Run *run, const PlanDrive *drive, unsigned *flags);

/* ---- plan_wave.c ---- */
/* Should its kernels run as a wave, with so many threads? */
bool wave_pays(const Wave *wave);
/* Runs them all.  The flags that each raised are in *raised; ANSWER_NO: run->step has failed. */
Answer run_wave(Run *run, const Wave *wave, unsigned *raised);

/* ---- sample.c ---- */
/* What the next call for which this plan holds does. */
SampleWay sample_decide(Plan *plan, const Config *config);
static inline SampleWay
sample_way(Plan *plan, const Config *config)
{
    return --plan->sample.wait > 0 ? SAMPLE_NONE : sample_decide(plan, config);
}
/* Returns ns since `began`, or 0 if the run was not timed. */
int64_t sample_end(Plan *plan, PyCodeObject *code, SampleWay way, int64_t began, bool done);

/* ---- balance.c ---- */
/* What a call does while each one asks (Balance.asks), which this may end. */
SampleWay balance_way(Plan *plan);
/* The plan has run in so many ns, and the plain code of such a call. */
void balance_good(Plan *plan, int64_t took);
void balance_plain(Plan *plan, int64_t took);
/* Its debt is known. */
void balance_begin(Plan *plan);

/* ---- plan_build.c ---- */
/* Makes all objects.  0, or -1 with the error set; nothing visible has happened then. */
int run_builds(Run *run);
/* Applies the effects in program order.  0, or -1 with the error set and outcome->number the
   instruction. */
int run_effects(Run *run, PlanOutcome *outcome);

/* ---- plan_region.c ---- */
/* The flags that a kernel raised: those whose mode is known and not 'ignore' (FLAGS_REPORTED), and
   those for which the caller's errstate is asked. */
enum { FLAGS_REPORTED = 0xf0 };
static inline unsigned
flags_of(const PlanKernel *kernel, unsigned raised)
{
    unsigned known = kernel->errors >> 4, reported = kernel->errors & 15u;
    return (raised & ~known) | (raised & reported) << 4;
}
/* Those of the flags that the program would be told of; -1 with the error set. */
int flags_told(unsigned flags, unsigned *told);
/* Runs the kernel of a kept loop.  ANSWER_NO: it had no effect. */
Answer run_region(Run *run, const PlanKernel *kernel, unsigned *flags);
/* Saves what later steps write in place.  ANSWER_YES or ANSWER_ERROR. */
Answer run_save(Run *run, const PlanSave *save);
/* Restores the memory that loops wrote in place (when the run has failed), and drops the logs. */
void run_regions_end(Run *run, bool undo);
/* Drops the log that the plan keeps for its next run. */
void region_log_free(Plan *plan);
/* A ufunc loop from outside NumPy left an error behind: it is cleared, and `why` set. */
bool loops_failed(Run *run, const PlanKernel *kernel);
/* Pointers and sizes of a kernel's call. */
void kernel_arguments(const Run *run, const PlanKernel *kernel, char **pointers, int64_t *sizes);

/* ---- plan_undone.c ---- */
/* Reports a run that is left to CPython; keeps a set exception. */
void run_undone(const Run *run);

/* ---- plan_extern.c ---- */
/* ANSWER_NO: an exception or an unexpected result: deopt. */
Answer run_extern(Run *run, const PlanExtern *step);
void run_saved_restore(Run *run);

/* ---- plan_batch.c ---- */
/* Kernels without effects on one another, as one job; each one's flags, if `raised` is given.  The
   number of the first that has failed, or -1. */
enum { MOST_BATCHED = 64, FEW_BATCHED = 2 };
int batch_run(Run *run, const PlanKernel *const *kernels, int count, unsigned *raised);
/* Can the kernel be one more of them?  *words is 0 for the first. */
bool batch_takes(const PlanKernel *kernel, int *words);
/* plan.c: the function that does the kernel's units now. */
KernelFn kernel_call(const PlanKernel *kernel);
/* Why a run ends where a kernel returns a failure that is not a library's. */
extern const char fails_by_itself[];

/* ---- plan_carry.c ---- */
/* Goes from one turn of a loop to the next; where to is condition and target.  Never ANSWER_NO. */
Answer run_carry(Run *run, const PlanCarry *step);

#endif
