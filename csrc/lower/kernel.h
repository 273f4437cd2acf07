/* The loop nest: what lowering hands to code generation.  Plain data, no C text.

   A kernel walks a domain of at most MAX_RANK loops, the last of which is the *row*:

   - KERNEL_FLAT: no outer loops; units are the row's elements.
   - KERNEL_ROWS: units are the rows; each row goes through all stages before the next one.
   - KERNEL_COLUMNS: units are the row's elements; per outer index, the `downs` loops before the row
     are summed up sequentially into accumulators, one per element of the row.
   - KERNEL_REGION: a loop of the program, kept: see region.h.
   - KERNEL_ATTENTION: softmax(scores) @ v, on a device.  The domain is that of the scores, keys are
     its row, queries the loop before; the instructions make a score of an element of q @ k^T.
   - KERNEL_PRODUCT: a product of matrices by a device's library, with nothing but places.
   - KERNEL_SCAN: cumulative sums or products along the row, on a device.
   - KERNEL_CALL: a function of NumPy's on bare memory (arrays/bare.c), on the host.  Its
   instructions are the arguments' loads, a call and a store; `partial` is its scratch, or -1.

   The body is a list of instructions in order.  An instruction is executed once per kernel call,
   once per row or once per element (`level`).  A row is processed in stages: even stages are loops
   over the row, odd ones are block calls; a value that a later stage needs is kept in `home`. */
#ifndef PYCOMPILE_KERNEL_H
#define PYCOMPILE_KERNEL_H

#include "lower.h"

typedef enum { LEVEL_ONCE, LEVEL_ROW, LEVEL_ELEMENT } Level;

typedef enum {
    INSTR_LOAD,   /* operand */
    INSTR_CONST,  /* bits, or an argument */
    INSTR_INDEX,  /* i64: position in the row; with operand 1 in the loop before it */
    INSTR_GATHER, /* operand, args[0] strides further: bits are the indices into
                     KernelArgs.size of the axis' length and the stride */
    INSTR_OP,     /* the expression of ops.def; `from` is the dtype in which it computes */
    INSTR_CALL,   /* block call of `loop`; at level ONCE and ROW, and in a KERNEL_REGION, a call for
                     one element */
    INSTR_REDUCE, /* reduces args[0] over the row; the value is known after its stage */
    INSTR_STORE,  /* args[0] to operand */
    INSTR_CHECK,  /* computes args[0] for the flags that it raises */
    INSTR_PRODUCT, /* KERNEL_ATTENTION: an element of the first product; with operand 1 the slope of
                      its score */
    INSTR_DOT,     /* KERNEL_REGION: the product `operand` of `dots` */
    INSTR_LIST,    /* KERNEL_REGION: what its node does with the list of array `operand` */
    INSTR_DRAW, /* KERNEL_REGION: the next number, by its node's attrs.index, of array `operand` */
    INSTR_CARRIED, /* KERNEL_REGION: a value from the previous iteration */
} InstrKind;

typedef enum {
    HOME_NONE,    /* registers only */
    HOME_SCRATCH, /* the thread's scratch, slot `slot` */
    HOME_OPERAND, /* memory of operand `slot`, to which it is stored anyway */
} HomeKind;

typedef enum {
    REDUCE_ANY_ORDER, /* integers, logic: exact in any order */
    REDUCE_PAIRWISE,  /* NumPy loops_utils.h.src, pairwise_sum */
    REDUCE_CALL,      /* the ufunc's own reduction loop over the row, first element copied */
    REDUCE_EXTREME, /* max and min of floats: exact in any order, except that a NaN, or a zero that
                       may have met one of the other sign, is computed again as for REDUCE_CALL */
} ReduceOrder;

typedef struct {
    InstrKind kind;
    Op op;
    DType dtype, from;
    Level level;
    int32_t stage;
    int32_t nargs;
    int32_t *args; /* numbers of instructions */
    int32_t operand;
    int32_t loop; /* index into KernelArgs.loop */
    ReduceOrder order;
    uint64_t bits[2]; /* INSTR_CONST */
    int32_t argument; /* INSTR_CONST: 1 + the index into KernelArgs.size of its bits; 0: `bits` */
    HomeKind home;
    int32_t slot;
    bool guard;  /* a where whose third argument, the same for all elements, nobody is interested in
                  */
    bool wraps;  /* KERNEL_REGION: NumPy is told to ignore that the integer wraps round */
    NodeId node; /* for comments */
} Instr;

/* Bytes between scratch arrays, so that they are not a multiple of 4096 bytes apart: at such a
   distance a load waits for a store to the other array (softmax of rows of 4096 bytes: 1.6 times
   slower). */
enum { SLOT_GAP = 320, MAX_SLOTS = 64 };

/* A stride is an integer argument of the kernel, or one of these. */
enum { STRIDE_ZERO = -1, STRIDE_UNIT = -2 };

typedef struct {
    int32_t pointer; /* index into KernelArgs.ptr */
    DType dtype;
    bool stored;
    int32_t stride[MAX_RANK]; /* per loop, outermost first; the last is the row's */
    bool dense;               /* for rows side by side: they are a unit stride apart */
    bool by_value;            /* on a device: a number of the host, passed as an argument */
    bool turned;              /* read through a tile, in which the row is a unit stride … */
    int32_t across;           /* … while it is this one (index into KernelArgs.size) in memory */
} Operand;

/* Tiles of turned operands lie one after the other in scratch. */
enum {
    TILE_ROW_BYTES = 1024, /* of the widest operand, where it lies */
    TILE_COLUMNS = 128,
    TILE_BYTES = TILE_ROW_BYTES * TILE_COLUMNS + SLOT_GAP
};

typedef enum {
    KERNEL_FLAT,
    KERNEL_ROWS,
    KERNEL_COLUMNS,
    KERNEL_REGION,
    KERNEL_ATTENTION,
    KERNEL_PRODUCT,
    KERNEL_SCAN,
    KERNEL_CALL
} KernelKind;

struct RegionLoop; /* region.h */

/* What CUDA makes of the loops (lower/cuda.c).  A *unit* is a row; for KERNEL_COLUMNS, a column. */
typedef struct {
    int32_t threads; /* of a block */
    int32_t lanes;   /* neighbouring threads that share a row */
    int32_t pack;    /* elements of a row that lie side by side and are read in one access */
    int32_t each;    /* elements of a row that a thread holds in registers; 0: it goes through them
                        in each stage again.  Without a reduction: elements, or packs of rows, per
                        thread */
    bool exact;      /* the threads of a row hold all its elements and no more */
    bool wide;       /* index arithmetic takes 64 bits */
    int32_t units;   /* index into KernelArgs.size of their number */
    int32_t parts;   /* of the number of parts that each unit is divided into; -1: it is not … */
    int32_t partial; /* … and of the pointer to the parts' results, which kN_done combines, … */
    int32_t slot;    /* … of so many bytes each */
    int32_t factor[7];   /* KERNEL_ATTENTION: the operands q, k, v, the result, for a gradient also
                            that of the attention's result, its queries' sums (-1: nobody reads
                            them) and, for a gradient, their means … */
    int32_t score;       /* … the instruction that makes the score … */
    int32_t slope;       /* … and, of a gradient, the one that makes the slope of the product */
    int32_t part;        /* an AttentionPart; -1: no gradient */
    int32_t head;        /* elements of a row of q, k and v */
    int32_t side;        /* KERNEL_ROWS: a block takes a tile of so many rows and columns, through
                            which it reads the operands that are turned, in … */
    int32_t turned_pack; /* … accesses of so many elements along … */
    int32_t along;       /* … this loop; side 0: there are none */
    int32_t stages; /* tiles that are under way at once, by the copy engine; 0: it is not used */
} CudaKernel;

/* Elements from one row to the next of a tile in shared memory: threads that write its columns, or
   read its rows, are on different banks of 4 bytes. */
static inline int64_t
cuda_tile_pitch(DType dtype, int side)
{
    int size = (int)dtype_size(dtype);
    return side + (size < 4 ? 4 / size : 1);
}

/* KERNEL_ATTENTION: the queries of a block; with the copy engine, of its groups of four warps; the
   columns that the copy engine takes at once, and their bytes in shared memory. */
enum { QUERY_TILE = 128, KEY_TILE = 64, GROUP_QUERIES = 64, BOX_COLUMNS = 64 };

/* A gradient's blocks have QUERY_TILE queries, or as many keys. */
static inline bool
attention_owns_keys(int32_t part)
{
    return part == ATTENTION_DK || part == ATTENTION_DV;
}

/* Columns for a block of the kernel that combines columns' parts; its other threads share them. */
enum { DONE_COLUMNS = 8 };

struct Kernel {
    KernelKind kind;
    Device device;
    CudaKernel cuda; /* device CUDA; what follows `operands` and `instrs` is for the host */
    int32_t nloops;
    int32_t size[MAX_RANK]; /* per loop: index into KernelArgs.size */
    int32_t downs; /* KERNEL_COLUMNS: the loops before the row that are summed, some access walking
                      them as several */
    bool lone;     /* rows may have one element: they are done as one row, and columns' sums are
                      pairwise */
    VEC(Operand) operands;
    VEC(Instr) instrs;
    int32_t nstages;
    int32_t nslots; /* scratch arrays, each of `block` elements of at most 16 bytes … */
    int32_t slot_bytes[MAX_SLOTS]; /* … namely this many bytes per element */
    int32_t block;                 /* elements per pass through the stages; 0: the row as a whole */
    int32_t row_scratch; /* index into KernelArgs.size of the scratch arrays' length; -1: `block` */
    int32_t tile_rows;   /* rows taken together when operands are turned; 0: none is */
    bool mirrored;       /* of these, a square and its transpose: tiles are taken in pairs */
    bool in_place;       /* stores to memory that it loads: each body loads before it stores */
    int32_t beside; /* the length of rows that are computed side by side (codegen/beside.c), or 0 */
    bool upright; /* of these, the sums are made row by row, and their last steps for eight rows */
    bool waved;   /* in a wave: lower/wave.c … */
    bool read_soon; /* … in which what it stores is accessed again */
    bool flags;     /* may raise a floating-point flag that is checked */
    bool bounded; /* it only looks for flags, first by the bounds of what it reads: flag_bounds.c */
    bool short_rows; /* a row is a few vectors only */
    bool parts;      /* one row for several threads, codegen/parts.c: its integer argument … */
    int32_t nparts;  /* … number `nparts` says how many, a power of two, and … */
    int32_t partial; /* … the pointer `partial` is to their results */
    struct RegionLoop *region;
};

/* ---- alike.c ---- */
uint64_t kernel_hash(const Kernel *k);
/* Would the two have the same text? */
bool kernel_alike(const Kernel *a, const Kernel *b);

#endif
