/* What the tables of an exported function are made of; csrc/export/ writes them.

   A call is a function of its own, with rows of the tables as constants.  Sizes are evaluated once,
   in their order; a buffer's address is found before the first step, or by the step that makes it;
   steps are done by the generated function drive, which leaves those that it does not know to
   step_run (csrc/runtime/plan.c does the same for Python).  The types that generated functions have
   are in front of this text (codegen_abi). */
#include <stdint.h>

/* Of what is done for a row of a table, with the row's fields as constants. */
#define ROW_KNOWN inline __attribute__((always_inline))

typedef int (*KernelFn)(const KernelArgs *args, int64_t begin, int64_t end);

enum { MOST_AXES = 8, NUMBER_BYTES = 16, PARTS_DONE = -1 };
enum { SIZE_CONST, SIZE_DIM, SIZE_STRIDE, SIZE_NUMBER, SIZE_ADD, SIZE_MUL, SIZE_FLOOR_DIV, SIZE_MOD,
       SIZE_LEAST, SIZE_MOST, SIZE_SAME };
enum { OF_ARGUMENT, OF_LENGTH, OF_CONSTANT, OF_RESULT, OF_ARENA, OF_CHOICE, OF_NUMBER };
enum { STEP_DRIVEN, STEP_KERNEL, STEP_CHOOSE, STEP_CARRY, STEP_MEASURE, STEP_CALL };
enum { FLAG_DIVIDE = 1, FLAG_OVERFLOW = 2, FLAG_UNDERFLOW = 4, FLAG_INVALID = 8 };

typedef struct {
    int32_t kind, a, b; /* a, b: sizes; of SIZE_DIM and SIZE_STRIDE argument and axis, which
                         is -1 where it is the value of a number */
    int64_t value;
} ExportedSize;

typedef struct {
    uint8_t code, bits; /* as DLDataType has them */
    uint8_t bytes;
} ExportedDType;

enum { ORDER_ANY, ORDER_C, ORDER_FORTRAN };
/* An array or a number that the caller passes.  Numbers have no axes. */
typedef struct {
    const char *name;
    ExportedDType dtype;
    int32_t rank;
    uint8_t fixed, least, strided; /* a bit per axis: of that length; of that at least; of that
                                      distance in bytes */
    uint8_t order, written;        /* of its axes; the function writes it */
    int64_t length[MOST_AXES], stride[MOST_AXES];
} ExportedArgument;

enum { CHECK_SAME_LENGTH, CHECK_SIZES, CHECK_LENGTH, CHECK_NUMBER, CHECK_APART };
/* What capture relied on besides: of two axes, of an expression, of a number. */
typedef struct {
    int32_t kind, argument, axis, other, other_axis;
    int32_t nterms;
    const ExportedSize *terms; /* operands before their operation */
    int64_t low, high;
} ExportedCheck;

typedef struct {
    int32_t buffer, offset; /* offset: a size, or -1 */
} ExportedPlace;

typedef struct {
    int32_t kind, index; /* of the argument, of the number's bytes */
    int32_t slot;
    int32_t pooled; /* made by a step */
    int64_t at; /* in the arena, of the first element */
    const void *constant;
    ExportedDType dtype;
    int32_t rank;
    const int32_t *length, *stride; /* sizes */
    int32_t compact;                /* in C order */
    int32_t placed;                 /* 1 + the result whose memory it is; 0: the library's own */
} ExportedBuffer;

typedef struct {
    const char *operation;
    int32_t line;
} ExportedOrigin;

typedef struct {
    KernelFn call, bounded, careful;
    int32_t nplaces, nsizes;
    const ExportedPlace *places;
    const int32_t *sizes;
    const KernelLoop *loops;
    int32_t units;
    int64_t grain, unit_ps, scratch, scratch_each;
    int32_t scratch_row;
    uint8_t flagged, known, reported, region, parts;
    const char *file;
    int32_t line;
    const ExportedOrigin *origins; /* up to one without a name */
} ExportedKernel;

struct Run;
typedef struct {
    ExportedPlace place;
    ExportedDType dtype;
    int32_t rank;
    const int32_t *length, *stride;
} ExportedOperand;

/* Of a function in calls.c. */
typedef struct ExportedCall {
    int (*call)(struct Run *run, const struct ExportedCall *call);
    ExportedOperand array, other, result; /* result: or the mask that selects */
    int32_t to, axis;              /* to: a buffer */
    int32_t number;                /* the size that is how many are selected; an FFT's points */
    int32_t known, reported;
    const char *operation, *file;
    int32_t line;
} ExportedCall;

typedef struct {
    int32_t kind;
    const ExportedKernel *kernel;
    /* STEP_CHOOSE: condition, of[0], of[1] -> to[0].  STEP_CARRY: from -> to, all at once */
    ExportedPlace condition;
    int32_t nmoves, nfresh, npool, ndropped;
    int32_t alike; /* all of the pool have the layout of those that are fresh */
    const ExportedPlace *from;
    const int32_t *to, *fresh, *pool, *dropped;
    int32_t nsizes; /* STEP_MEASURE: the size that is known now at `from`, and those of it */
    const int32_t *sizes;
    const ExportedCall *call;
} ExportedStep;

typedef struct {
    ExportedPlace place;
    ExportedDType dtype;
    int32_t rank;
    const int32_t *length, *stride; /* stride: 0 of a result that is compact */
    int32_t offset; /* a size, or -1: within the argument that is written */
    const int32_t *to_stride;
    int32_t argument; /* that is written; -1: it is a result */
    int32_t done;     /* of a write: it is there already.  Of a result: it is in an argument, and is
                         read when that is written */
    int32_t compact;  /* in C order */
    int32_t when;     /* of a write: 1 + the buffer of the bool under which it is done, or 0.  Of a
                         result: the call tells its length */
} ExportedResult;

typedef struct ExportedFunction {
    const char *name;
    int32_t narguments, nchecks, nsizes, nbuffers, nsteps, nresults, nwrites, ncommits, nslots,
        nnumbers;
    const ExportedArgument *arguments;
    const ExportedCheck *checks;
    const ExportedSize *sizes;
    const ExportedBuffer *buffers;
    const ExportedStep *steps;
    const ExportedResult *results, *writes;
    const ExportedKernel *const *commits;
    const int32_t *slots;
    const int64_t *grains;
    const KernelLoop *loops;
    int64_t arena, scratch;
    int32_t nrows; /* kernels whose scratch grows with a size: */
    const ExportedKernel *const *rows;
    int32_t once;  /* flags of all steps mean the same: they may be looked at behind the last */
    int32_t again; /* steps may make a buffer more than once */
    int (*drive)(KernelDrive *drive);
    int (*plan)(KernelDrive *drive, int64_t step); /* does a step */
} ExportedFunction;
