/* Inside codegen/: the state of printing one kernel as C. */
#ifndef PYCOMPILE_EMIT_H
#define PYCOMPILE_EMIT_H

#include "../lower/region.h"
#include "codegen.h"
#include "prelude.h"

typedef struct {
    const Graph *graph;
    const Program *program;
    const Kernel *kernel;
    Prelude *prelude;
    Text *out;
    bool comments;
    int indent;
    int vector_bytes;
    /* the loop body being printed */
    int lanes;
    int part; /* number of the vector among `ways`, or among a pairwise sum's accumulators */
    int ways; /* vectors per iteration, each with accumulators of its own */
    int way;  /* number of the vector among those whose operations take turns: weave.c */
    int stage;
    int32_t *mark; /* per instruction: number of the body in which it has a name */
    int32_t body;
    bool *streams;       /* per operand: its stores bypass the caches if it is large (stream.c) */
    bool flags;          /* some instruction may raise a floating-point flag */
    uint8_t *mask_bytes; /* per instruction: lane width of a vector boolean in this body */
    uint8_t *needs;      /* per instruction: registers that computing it takes, about */
    bool *divides;       /* per instruction: its inverse is to be computed (divide.c) … */
    bool in_row_loop;    /* … here also if it is a value of the row */
    int row;             /* column kernels: which of four rows this body adds */
    char
        pointer; /* letter of the row pointers being declared: r, or w for the first of four rows */
    bool in_pieces;       /* the span is processed in pieces (pieces.c) */
    int beside;           /* rows in the lanes of a vector, or 0: beside.c */
    const char *position; /* C name of the element's index in the span: "j" */
    bool quick;           /* a kept loop's quick variant: region.c */
    bool bounds;          /* kN_bounded is printed, not kN: flag_bounds.c */
} Emit;

static inline const Instr *
instr_at(const Emit *e, int32_t at)
{
    return &e->kernel->instrs.at[at];
}

static inline bool
is_columns(const Emit *e)
{
    return e->kernel->kind == KERNEL_COLUMNS;
}

void emit_line(Emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "HEAD{" and one step in; one step out and "}". */
void open_block(Emit *e, const char *head);
void close_block(Emit *e);

/* expr.c: values of one loop body */
enum { PAIRWISE_LANES = 8 }; /* accumulators of NumPy's pairwise sum */
/* The lanes of the stage's vector loop; 1: scalars only. */
int body_lanes(const Emit *e, int stage);
/* Of a stage whose reductions all are pairwise sums: the lanes of a body that computes two vectors
   of their accumulators at once, since it is long and a register has room; 0: not so. */
int body_pair_lanes(const Emit *e, int stage);
void body_begin(Emit *e, int stage, int lanes);
/* Makes the instruction's value available as a local name: "v3". */
void body_value(Emit *e, int32_t at);
/* Prints the name (or splat) of a value in the current body. */
void body_name(Emit *e, int32_t at, Text *out);
/* As body_name, as a mask of `bytes` wide lanes (vector booleans). */
void body_mask(Emit *e, int32_t at, int bytes, Text *out);
void body_store(Emit *e, int32_t at);
/* Computes the value even if nothing reads it. */
void body_check(Emit *e, int32_t at);
/* For rows side by side: a value that there is once per row. */
void rows_value(Emit *e, int32_t at);
/* Bytes from one element to the next in scratch. */
int scratch_step(const Emit *e, const Instr *v);
/* Scalars at levels ONCE and ROW: "s3". */
void scalar_value(Emit *e, int32_t at);
/* Expressions for the pointer and stride of a value in memory, for block calls. */
void memory_pointer(Emit *e, int32_t at, Text *pointer, Text *stride);
bool is_row_value(const Emit *e, int32_t at);
void find_needs(Emit *e); /* sets e->needs */

/* flags.c: operations that the C compiler must not leave out */
void find_flags(Emit *e); /* sets e->flags */
/* May the operation raise a floating-point flag that NumPy reports? */
bool may_raise_flags(const Instr *v);
/* May the C compiler find the result, or some of it, without argument `k`?  It selects with
   `where`, and knows what a < a is, and a & 0. */
bool may_ignore(const Emit *e, const Instr *v, int k);
/* The constraint of an asm operand under which the value is not moved. */
const char *body_constraint(const Emit *e, int32_t at);
extern const char body_float_constraint[]; /* that of a float */

/* python_ops.c: declares "s3" ("v3" in the body of a kept loop) for an operation of Python's
   scalars; `fail` is the statement that gives up. */
void python_value(Emit *e, int32_t at, const char *fail);

/* bare.c: what a KERNEL_CALL does */
void emit_bare(Emit *e);

/* drive.c: the functions that drive loops of steps.  0, or -1 with the error set */
/* The inline function of a kernel's text, in which arguments are parameters: of the first kernel
   with the text; -1: there is none. */
typedef struct {
    int32_t kernel, places, sizes; /* parameters for so many places and sizes */
} Turned;
void drive_head(const Program *program, const Turned *turned, Text *out); /* before the kernels */
int drive_write(const Graph *graph, const Program *program, const Turned *turned, Text *out);
/* A kernel's function as an inline one and one that calls it. */
void turn_write(const Text *body, int number, Turned *turned, Text *out);

/* c.c */
/* The body of the function of kernel `number`.  0, or -1 with the error set. */
int emit_kernel_text(Emit *e, int number, bool comments, Text *out);
/* Declares the loop indices i0 … of row `unit`. */
void emit_row_place(Emit *e);
/* Declares the r pointer of one operand from the indices of loops [0, count), `at` elements into
   the row (NULL: 0). */
void emit_row_pointer(Emit *e, int operand, int count, const char *at);
/* As emit_row_pointer, for all operands, or for those that are stored. */
void emit_row_pointers(Emit *e, int count, const char *at, bool stored_only);

/* twin.c */
/* Can the kernel's rows, of one element each, be done as one row? */
bool twin_fits(const Emit *e);
/* That `emit` prints of the kernel without its last loop, behind a test whether each row has one
   element, and, if `dense`, whether these are a unit stride apart. */
void emit_twin(Emit *e, bool dense, void (*emit)(Emit *e));

/* row.c */
/* One row, or one block of it: `m` elements from the r pointers on; `base` is its position. */
void emit_span(Emit *e);
/* The loop over the row and the block calls of one stage. */
void emit_stage_loops(Emit *e, int stage);
/* A block call; for a value of level ROW or ONCE, of one element. */
void emit_call(Emit *e, int32_t at);
/* What the loop's body stores, keeps for a later stage or accumulates (into `acc`) in this
   stage. */
void emit_roots(Emit *e, int stage, const char *acc);
/* Moves column accumulators from scratch to registers, or back. */
void emit_columns_memory(Emit *e, int stage, bool store);
/* One body of the stage's loop. */
void emit_body(Emit *e, int stage, int lanes, const char *acc);
/* The loop alone; reductions leave their results in s, not yet finished (finish_extremes). */
void emit_row_loop(Emit *e, int stage);
/* The values of level ROW in this stage. */
void emit_row_values(Emit *e, int stage);

/* Is something stored, kept or accumulated in the loop of this stage? */
bool has_roots(const Emit *e, int stage);
/* Names of the accumulators of a pairwise sum, by Emit.part. */
extern const char *const accumulators[8];

/* Declares what the stage's loop stores, keeps or checks in one vector. */
void emit_values(Emit *e, int stage, int lanes);

/* weave.c */
/* In how many vectors the operations of the stage's body should take turns; 1: none. */
int weave_ways(const Emit *e, int stage);
void emit_woven(Emit *e, int stage, int lanes, int ways);
/* What is behind the names of values of Emit.way. */
const char *way_suffix(const Emit *e);

/* pairwise.c: sums of floats in NumPy's order */
bool is_pairwise(const Emit *e, int32_t at, int stage);
bool stage_is_pairwise(const Emit *e, int stage);
void emit_pairwise_loop(Emit *e, int stage);

/* beside.c: rows in the lanes of vectors */
void emit_beside(Emit *e);

/* accumulate.c */
/* The value from which a reduction starts. */
void put_identity(const Instr *v, Text *out);
/* Is it a reduction that accumulates in the loop of this stage? */
bool reduces_in_loop(const Emit *e, int32_t at, int stage);
bool is_extreme(const Emit *e, int32_t at);
void declare_accumulators(Emit *e, int stage, int lanes);
/* acc = acc op value, in the current body; `acc` is a name. */
void emit_accumulate(Emit *e, int32_t at, const char *acc);
/* Combines the lanes of vector accumulators into s. */
void fold_lanes(Emit *e, int stage, int lanes);
void finish_extremes(Emit *e, int stage);
/* A reduction by the ufunc's own loop. */
void emit_reduce_call(Emit *e, int32_t at);
/* For rows side by side: declares accumulators, adds the eight of a sum, declares the results. */
void declare_beside(Emit *e, int stage, int pairs);
void add_pairs(Emit *e, int stage);
void finish_beside(Emit *e, int stage);
/* Stores the results of one part of a row; combines those of all parts. */
void store_part(Emit *e);
void combine_parts(Emit *e);

/* parts.c: a row divided among threads */
void emit_parts(Emit *e);

/* columns.c */
void emit_columns(Emit *e);

/* pieces.c: a stage and the calls after it, a piece of the row at a time */
bool pieces_wanted(const Emit *e, int stage);
void emit_pieces(Emit *e, int stage);

/* flag_bounds.c: returns 0 where bounds of what is read show that no flag is raised */
void emit_by_bounds(Emit *e);

/* skip.c: stretches where nothing is selected */
/* The operand that is the mask by which alone results are taken; -1: there is none. */
int skipped_operand(const Emit *e);
/* Opens the loop over stretches, of which it gives the length, and skips those. */
int emit_skip(Emit *e, int operand, int lanes);

/* divide.c: division by what is the same in the whole loop */
/* Prints the quotient in its own form; false: it has none here. */
bool put_quotient(Emit *e, const Instr *v, Text *out);
/* What is printed next goes to `body`, up to end_divisors, which prints it behind the inverses that
   it needs: those of values that are the same in the whole kernel (`once`), or of values of the
   row. */
Text *begin_divisors(Emit *e, Text *body);
void end_divisors(Emit *e, Text *out, bool once);

/* tile.c: rows with turned operands */
void emit_tiles(Emit *e);

/* prefetch.c: called at the top of a vector loop's body */
void emit_prefetch_ahead(Emit *e, int stage, int lanes);
/* Machines look ahead within a page alone, of 4 KiB, so what is long is read from PLACES places in
   turn, STRETCH bytes from one another, or less down to LEAST_STRETCH.  Is a row of this stage? */
enum { PLACES = 4, STRETCH = 1 << 15, LEAST_STRETCH = 1 << 13 };
bool reads_from_places(const Emit *e, int stage);
/* Does the value load what is side by side in memory? */
bool reads_row(const Emit *e, int32_t at);
/* Bytes of a row: with scratch three of them are in the cache. */
enum { NEXT_ROW_MOST = 128 << 10 };
/* Does a stage fetch the rows after those that are processed, unless these are longer? */
bool fetches_next_rows(const Emit *e);
/* Where the rows after this one begin: declared before the loop. */
void emit_next_rows(Emit *e, int stage);
/* As much of the next rows as the iteration does of this one. */
void emit_prefetch_next(Emit *e, int stage, int elements);

/* stream.c: outputs too large for the caches */
int find_streams(Emit *e); /* sets e->streams; 0 or -1 */
void emit_stream_sizes(Emit *e);
void emit_stream_flags(Emit *e);
/* Does the loop of this stage first go to `head`, then to the row's end? */
bool stage_has_head(const Emit *e, int stage);
void emit_stream_end(Emit *e);

/* straight.c: of all kernels, when they are printed */
bool is_straight(Emit *e);

/* region.c */
void emit_region(Emit *e);
/* Whose range and variable the loop has in this variant. */
const RegionFor *region_head(const Emit *e, const RegionFor *loop);
/* What a kept loop does where it cannot go on. */
extern const char REGION_FAIL[];
/* A value's name at either level. */
void region_name(const Emit *e, int32_t at, char *out, size_t size);
/* The statements of a loop's body, and what the next iteration starts from. */
void region_body(Emit *e, const RegionFor *loop);
void region_look_ahead(Emit *e, const RegionCarried *c, bool next);
void region_lanes_body(Emit *e, const RegionFor *loop);

/* An instruction as a statement of the block, and what makes sure that its flags are raised. */
void region_statement(Emit *e, const RegionBlock *block, int32_t at, const RegionFor *loop);
void region_keep_flags(Emit *e, const RegionBlock *block, int32_t at);

/* region_number.c */
/* Are sums that overflow found out behind the loop, by the sign of `over` and its number? */
bool region_notes(const Emit *e, const RegionFor *loop);
/* An operation in the loop (NULL: before the loops). */
void region_operation(Emit *e, int32_t at, const RegionFor *loop, const char *fail);

/* region_choice.c: branches without a jump */
bool region_chooses(const Emit *e, const RegionIf *branch, const RegionFor *loop);
void region_choice(Emit *e, const RegionIf *branch, const RegionFor *loop);

/* region_head.c: counts, bounds and heads of loops */
/* The loop, with its body; `outermost`: the log begins before it. */
void region_loop(Emit *e, const RegionFor *loop);
/* What comes before the outermost loop where others stand in its place: the log begins. */
void region_begin(Emit *e);
/* Every so many iterations a look for a signal, and at the counters of the loops around; `at_once`:
   at whether there are too many, too. */
void region_look(Emit *e, const RegionFor *loop, const char *iterations, bool at_once);

/* region_fold.c: loops that reduce what their iterations leave */
enum {
    SUM_LEAF = 128
}; /* elements of NumPy's pairwise sum that are added with eight accumulators */
/* Declares sum_DTYPE, which adds so many, aligned. */
void use_sum(Emit *e, DType dtype);
void region_fold(Emit *e, const RegionFor *loop);
/* A product of two vectors. */
void region_dot(Emit *e, int32_t at, const RegionFor *loop);

/* region_call.c: the number that a ufunc's own loop gives. */
void region_call(Emit *e, int32_t at);

/* region_element.c */
/* Defines the type for memory, "f64m", and returns its name. */
const char *region_memory_type(Emit *e, DType dtype, Text *out);
void region_element(Emit *e, int32_t at, const RegionFor *loop);
/* Around the iterations of an innermost loop: what they need from memory, the log of what they will
   overwrite, and what goes back to memory. */
void region_before_iterations(Emit *e, const RegionFor *loop);
void region_begin_turn(Emit *e, const RegionFor *loop);
void region_end_turn(Emit *e, const RegionFor *loop);
void region_after_iteration(Emit *e, const RegionFor *loop);
void region_after_iterations(Emit *e, const RegionFor *loop);

/* region_list.c: the lists that a loop appends to or changes */
/* Before the loop, once the log has begun. */
void region_lists(Emit *e);
void region_list(Emit *e, int32_t at);
/* Behind the loop: where the items are, and how many words. */
void region_lists_end(Emit *e);

/* region_side.c: the statements from the i-th on that are one call of an elementary function for a
   vector; how many, or 0. */
int region_side_by_side(Emit *e, const RegionBlock *block, int i);

/* region_draw.c: what a loop draws from streams */
void region_streams(Emit *e);
void region_draw(Emit *e, int32_t at);

/* region_log.c: what a kept loop overwrites */
extern const char DICT_TEXT[];      /* … and one with such that change dicts */
extern const char LOG_ABI_TEXT[];   /* what a file with kept loops has at its top */
extern const char DRIVE_ABI_TEXT[]; /* … with drives */
/* Before the loop: asks for the log's first room.  The label `fail` ends a run that is undone. */
void region_log(Emit *e);
bool region_logs(const Emit *e, const RegionArray *array);
/* Appends what is at the C expression `address`. */
void region_log_entry(Emit *e, DType dtype, const char *address);
/* Appends `count` elements from there on, `step` bytes apart. */
void region_log_range(Emit *e, DType dtype, const char *address, const char *step,
                      const char *count);
/* Does each iteration log what the store overwrites, in the room that was asked for before? */
bool region_logs_along(const Emit *e, const RegionElement *element, const RegionFor *loop);
/* Asks for that room; NUMBER is the element's. */
void region_log_along(Emit *e, DType dtype, int number, const char *address, const char *step,
                      const char *count);
void region_log_along_begin(Emit *e, DType dtype, int number, const char *count);
void region_log_along_each(Emit *e, DType dtype, int number, const RegionFor *loop,
                           const char *address);

#endif
