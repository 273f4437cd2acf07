/* Inside codegen/: the state of printing one kernel as CUDA. */
#ifndef PYCOMPILE_CUDA_EMIT_H
#define PYCOMPILE_CUDA_EMIT_H

#include "../lower/kernel.h"
#include "codegen.h"

typedef struct {
    const Graph *graph;
    const Kernel *kernel;
    Text *out;
    bool comments;
    int indent;
    unsigned helpers;         /* those that the text uses: bits by row of cuda_prelude.c */
    bool tables;              /* some kernels take a table of arguments */
    unsigned products;        /* those of cuda_hopper.c that have a function */
    const char *queries;      /* an attention: the variable of the tile's first query … */
    int rows, columns;        /* … how many there are, and how many keys … */
    int32_t scaled, unscaled; /* … a product by a constant that is part of `factor`, or -1 */
    Text functions; /* long operations that are called: [0] of float32, [1] of float64 … */
    bool called[2][OP_COUNT];  /* … which have one, and … */
    int32_t uses[2][OP_COUNT]; /* … how often the kernel has an operation */
    /* the loop body being printed */
    int32_t *mark;   /* per instruction: the body in which it has a name */
    bool *held;      /* per instruction: kept for a later stage, one for each of `each` */
    int32_t *needed; /* per instruction: the latest stage that needs it, + 1 */
    int32_t body;
    int stage;
    const char *position;       /* the element's index in the row: "j" */
    bool walks;                 /* a thread walks rows, number `i` of them at a time */
    int pack;                   /* elements of one access */
    const char *read, *written; /* the element of a pack "x0", "y0", or of an array of packs */
    const char *kept;           /* of the values "h3" that are held for a later stage */
    const char *sum; /* of the accumulator "a3": "", or "[e]" for the columns of a pack */
} CudaEmit;

static inline const Instr *
cuda_instr(const CudaEmit *e, int32_t at)
{
    return &e->kernel->instrs.at[at];
}

static inline bool
cuda_is_stored(const Instr *v)
{
    return v->kind == INSTR_STORE;
}

void cuda_line(CudaEmit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cuda_block(CudaEmit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cuda_end(CudaEmit *e);

/* ---- cuda_value.c ---- */
const char *cuda_type(DType dtype);
const char *cuda_memory_type(DType dtype); /* the same, but for a bool a byte */
/* The expression of a row of ops.def for arguments of these names. */
void cuda_expression(CudaEmit *e, const char *text, DType type, const char *const *args, Text *out);
/* To be called for each kernel, before any value: which operations it has often. */
void cuda_count_uses(CudaEmit *e);
/* A new body: no element's value has a name. */
void cuda_body(CudaEmit *e, int stage);
/* The C name of a value, which is computed first if it has none in this body. */
void cuda_value(CudaEmit *e, int32_t at, Text *name);
/* Values that there are once, or once per row: "s3". */
void cuda_scalars(CudaEmit *e, Level level, int stage);
void cuda_store(CudaEmit *e, int32_t at);
/* What a reduction accumulates in: "float", "Found<float, int>" for an arg-reduction. */
void cuda_accumulator(const CudaEmit *e, const Instr *v, Text *out);
/* The value that changes nothing in a reduction. */
void cuda_identity(const CudaEmit *e, const Instr *v, Text *out);
/* "acc = acc op value" */
void cuda_combine(CudaEmit *e, int32_t at, const char *acc, const char *value);

/* The address of an operand's element at the current position. */
void cuda_address(const CudaEmit *e, int32_t operand, Text *out);

/* ---- cuda_pack.c ---- */
/* To be called before the others, for each stage in turn: finds what it loads. */
void cuda_packs_begin(CudaEmit *e, int stage);
/* The thread walks rows, and the operand's elements are the same in each: read for the first. */
bool cuda_is_shared(const CudaEmit *e, int32_t operand);
/* Of the elements that the stage loads or stores; stage -1: of all that any loads. */
bool cuda_has_packs(const CudaEmit *e, InstrKind kind, int stage);
void cuda_declare_packs(CudaEmit *e, InstrKind kind, int stage, int count); /* 0: no arrays */
/* Between memory, from the position `first` on, and the packs with this subscript. */
void cuda_move_packs(CudaEmit *e, InstrKind kind, int stage, const char *subscript,
                     const char *first);
/* As cuda_move_packs, for one pack of stage 0 in a row that may end within it; elements behind are
 * read as 0.
 */
void cuda_move_within(CudaEmit *e, InstrKind kind, const char *first);
void cuda_store_elements(CudaEmit *e, int stage);

/* ---- cuda_rows.c ---- */
/* The kernel's loops, without a reduction: rows, and tiles of rows through which some operands are
   read. */
void cuda_rows(CudaEmit *e);
void cuda_tiles(CudaEmit *e);

/* ---- cuda_reduce.c ---- */
/* Where the result of a part is: as many for each reduction as there are parts, one per unit.
   `before`: how many reductions of the kernel come first. */
void cuda_partial(const CudaEmit *e, int before, const char *type, const char *part, Text *out);
/* Declares `unit` of a thread whose unit is done by some lanes of a block, and whether it is
   `live`: whether there is such a unit. */
void cuda_unit_of_lanes(CudaEmit *e);
/* The kernel's loops, for rows that are reduced and for columns; the second launch of kernels in
   parts. */
void cuda_reduced_rows(CudaEmit *e);
void cuda_columns(CudaEmit *e);
void cuda_done(CudaEmit *e);

/* ---- cuda_scan.c ---- */
/* `done`: the second launch of one in parts. */
void cuda_scan(CudaEmit *e, bool done);

/* ---- cuda_attention.c ---- */
void cuda_attention(CudaEmit *e);
extern const char cuda_attention_helpers[];
void cuda_put_lines(CudaEmit *e, const char *const *lines); /* up to NULL */
/* Declares where the block is: `unit`, and its first query or key, in a variable of this name. */
void cuda_attention_block(CudaEmit *e, const char *first);
/* The queries of the tiles that are looked at from now on: the first one's variable, how many; how
   many keys, of which `keys` is the first. */
void cuda_attention_rows(CudaEmit *e, const char *queries, int rows, int columns);
/* A condition that is true where some element of the tile at `keys` is not masked; false: always.
 */
bool cuda_attention_some(const CudaEmit *e, Text *out);
/* Declares `tile` and `end`, between which are all tiles with an element that is not masked. */
void cuda_attention_tiles(CudaEmit *e);
/* Reads what the score of the element at `query` and `key` needs. */
void cuda_attention_loads(CudaEmit *e);
/* Calls `put` for the tile at `keys`; where masks leave all of its elements, without the masks. */
void cuda_attention_tile(CudaEmit *e, void (*put)(CudaEmit *e, int32_t score, int rows), int rows);
/* Makes scores of the products p[i][j][c], i below `rows`, for the tile at `keys`. */
void cuda_attention_scores(CudaEmit *e, int rows);
/* Stores the rows o[i][j], i below `rows`, divided by their sums. */
void cuda_attention_store(CudaEmit *e, int rows);

/* ---- cuda_attention_back.c ---- */
/* The kernels of an attention's gradient. */
void cuda_attention_back(CudaEmit *e);
extern const char cuda_back_helpers[];

/* ---- cuda_hopper.c ---- */
/* The attention kernel for sm_90a: tiles by the copy engine, products by four warps together. */
void cuda_hopper_attention(CudaEmit *e);
extern const char cuda_hopper_helpers[];

/* cuda.c */
/* Declares i0 … from `unit`, for the loops [0, count), and the pointers of rows. */
void cuda_outer(CudaEmit *e, int count);
void cuda_pointer(CudaEmit *e, int operand, int count);
void cuda_pointers(CudaEmit *e, int count); /* but those of operands that are turned */
bool cuda_stores_level(const CudaEmit *e, Level level);
void cuda_store_level(CudaEmit *e, Level level);
const char *cuda_index(const CudaEmit *e); /* the type of positions */

/* ---- cuda_prelude.c ---- */
/* Notes that the text calls the function of this name; CUDA's own need nothing. */
void cuda_helper(CudaEmit *e, const char *name, size_t length);
void cuda_prelude(unsigned helpers, bool tables, Text *out);

#endif
