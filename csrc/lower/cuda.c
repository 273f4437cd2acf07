/* What CUDA makes of a kernel's loops.  In: loops and instructions.  Out: Kernel.cuda, the stage of
   each instruction, and the number of blocks.

   - Elements that lie side by side are read in packs of up to 16 bytes where the arrays allow it.
   The body is there once for each element of a thread: a long one gets one element, which is faster
   to compile and does not leave the instruction cache, and so does one on few elements, whose time
     is a thread's.
   - No reduction: KERNEL_FLAT with a pack per thread; KERNEL_ROWS with a thread per pack of
   columns, which walks a few rows, so that no index is divided for each element.
   - Operands that lie side by side along another loop than the row's are turned: a block reads
   their part of a tile of rows and columns along that loop, into shared memory.
   - Rows are reduced by as many neighbouring threads as keep each at some 16 elements: lanes of a
     warp, or a block.  A row of up to LONGEST_HELD elements stays in registers between stages.
   - Few long rows, and columns of many rows, are divided into parts: one more launch combines the
     parts' results in their order, so that sums are the same in each run.

   Lengths may be symbols.  What is laid out by a length is laid out by that of the call in which
   the plan was made, and right for all: the number of blocks and of parts are expressions, a row of
   no known length is not held in registers, accesses are packs only where divisors show that they
   fit, and indices take 32 bits where the plan looks, in each run, whether they reach
   (Program.reaches).

   Stages: a reduction's result is there from the next stage on. */
#include "nest.h"

enum {
    THREADS = 256,
    ACCESS = 16,         /* bytes of one access */
    MOST_PACK = 8,       /* elements of one access */
    SCALARS = 4,         /* elements of a thread that are not side by side */
    HELD = 16,           /* elements of a row per thread */
    MOST_HELD = 32,      /* where a block is not larger */
    HELD_VALUES = 96,    /* registers for them */
    MOST_THREADS = 1024, /* of a block */
    PART_ROW = 32768,    /* elements of a row that is worth several blocks */
    PROCESSORS = 132,    /* of a large device … */
    BLOCKS = 528,        /* … and the blocks that fill it */
    COLUMN_BLOCKS = 792, /* of columns, that run at once: more would be a second wave */
    /* Instructions of a thread, of which there is a copy for each of its elements. */
    MOST_CODE = 1024,
    FEW_CODE = 64, /* where all elements fit one block per multiprocessor */
    COLUMN_LANES = 32,
};

static int64_t
ceiling(int64_t value, int64_t by)
{
    return (value + by - 1) / by;
}

static void
assign_stages(Kernel *k)
{
    k->nstages = 1;
    for (int i = 0; i < k->instrs.len; i++) {
        Instr *v = &k->instrs.at[i];
        v->stage = 0;
        for (int a = 0; a < v->nargs; a++) {
            const Instr *arg = &k->instrs.at[v->args[a]];
            int from = arg->stage + (arg->kind == INSTR_REDUCE);
            if (from > v->stage) v->stage = from;
        }
        if (v->stage >= k->nstages) k->nstages = v->stage + 1;
    }
    /* What no instruction uses before a later stage is loaded and computed there: no register holds
       it until then. */
    for (int i = k->instrs.len - 1; i >= 0; i--) {
        Instr *v = &k->instrs.at[i];
        int first = k->nstages;
        if (v->kind == INSTR_REDUCE || v->kind == INSTR_STORE || v->level != LEVEL_ELEMENT)
            continue;
        for (int user = i + 1; user < k->instrs.len; user++)
            for (int a = 0; a < k->instrs.at[user].nargs; a++)
                if (k->instrs.at[user].args[a] == i && k->instrs.at[user].stage < first)
                    first = k->instrs.at[user].stage;
        if (first < k->nstages) v->stage = first;
    }
}

static int64_t
loop_size(const Nest *n, int loop)
{
    return nest_value(n, n->size[loop]);
}

static int64_t
row_length(const Nest *n)
{
    return loop_size(n, n->nloops - 1);
}

static SizeId
row_size(const Nest *n)
{
    return n->size[n->nloops - 1];
}

static bool
row_varies(const Nest *n)
{
    return !size_is_const(n->lw->graph, row_size(n));
}

/* A size rounded up, in units of `by`. */
static SizeId
ceiling_of(Nest *n, SizeId size, int64_t by)
{
    Graph *g = n->lw->graph;
    return size_quotient(g, SIZE_FLOOR_DIV, size_add(g, size, size_const(g, by - 1)),
                         size_const(g, by));
}

/* `most` divided by the size. */
static SizeId
shared_among(Nest *n, int64_t most, SizeId size)
{
    return size_quotient(n->lw->graph, SIZE_FLOOR_DIV, size_const(n->lw->graph, most), size);
}

/* The product of the first loops' lengths. */
static SizeId
outer_size(Nest *n, int loops)
{
    SizeId all = size_const(n->lw->graph, 1);
    for (int i = 0; i < loops; i++) all = size_mul(n->lw->graph, all, n->size[i]);
    return all;
}

/* In bytes from one turn of the loop to the next. */
static SizeId
step_size(const Nest *n, const Operand *o, int loop)
{
    int32_t stride = o->stride[loop];
    if (o->turned && loop == n->nloops - 1) stride = o->across;
    if (stride == STRIDE_ZERO) return size_const(n->lw->graph, 0);
    return stride == STRIDE_UNIT ? size_const(n->lw->graph, (int64_t)dtype_size(o->dtype))
                                 : n->sizes.at[stride];
}

static int64_t
step_of(const Nest *n, const Operand *o, int loop)
{
    return nest_value(n, step_size(n, o, loop));
}

/* The bytes from an operand's first element that the kernel reaches; of -1, its elements. */
static SizeId
reach_of(Nest *n, int operand)
{
    Graph *g = n->lw->graph;
    if (operand < 0) return outer_size(n, n->nloops);
    const Operand *o = &n->kernel->operands.at[operand];
    SizeId reach = size_const(g, 0);
    for (int i = 0; i < n->nloops; i++) {
        SizeId step = step_size(n, o, i);
        if (nest_value(n, step) < 0) step = size_mul(g, size_const(g, -1), step);
        reach = size_add(g, reach, size_mul(g, step, n->size[i]));
    }
    return reach;
}

static int
note_reach(Nest *n, SizeId reach)
{
    Program *p = n->lw->program;
    if (size_is_const(n->lw->graph, reach)) return 0;
    for (int i = 0; i < p->reaches.len; i++)
        if (p->reaches.at[i] == reach) return 0;
    return VEC_PUSH(n->lw->arena, &p->reaches, reach);
}

/* Do positions, or bytes from an operand's first element, exceed 31 bits?  Where they do not in
   this call, each run looks. */
static int
find_width(Nest *n)
{
    Kernel *k = n->kernel;
    for (int o = -1; o < k->operands.len; o++)
        if (nest_value(n, reach_of(n, o)) > MOST_REACH) k->cuda.wide = true;
    /* CuPy, which would do what the plan leaves, has all scores in memory. */
    if (k->kind == KERNEL_ATTENTION && !size_is_const(n->lw->graph, reach_of(n, -1)))
        k->cuda.wide = true;
    for (int o = -1; o < k->operands.len && !k->cuda.wide; o++) {
        SizeId reach = reach_of(n, o);
        if (reach == NO_SIZE || note_reach(n, reach) < 0) return -1;
    }
    return 0;
}

/* Are the element-level loads and stores of an operand in memory side by side along the loop, and
   each access of `count` of them a multiple of its size away from the memory's beginning? */
static bool
is_packed(const Nest *n, const Operand *o, int along, int count)
{
    const Graph *g = n->lw->graph;
    const Place *place = &n->places.at[o->pointer];
    const Buffer *buffer = &n->lw->program->buffers.at[place->buffer];
    int64_t size = (int64_t)dtype_size(o->dtype), bytes = count * size;
    SizeId step = step_size(n, o, along);
    if (!size_is_const(g, step) || size_value(g, step) != size || buffer->type.unaligned ||
        !size_divides(g, bytes, place->offset))
        return false;
    for (int i = 0; i < n->nloops; i++)
        if (i != along && !size_divides(g, bytes, step_size(n, o, i))) return false;
    return true;
}

/* Of a load or store of elements; NULL: the instruction is another, or needs no memory. */
static const Operand *
operand_of_elements(const Nest *n, const Instr *v)
{
    if (v->level != LEVEL_ELEMENT || (v->kind != INSTR_LOAD && v->kind != INSTR_STORE)) return NULL;
    const Operand *o = &n->kernel->operands.at[v->operand];
    return o->by_value ? NULL : o;
}

/* The elements of one access along the loop, if every operand of those that are turned, or of the
   others, allows that; else 1. */
static int
pack_size(const Nest *n, bool turned, int along)
{
    const Kernel *k = n->kernel;
    int widest = 1;
    for (int i = 0; i < k->instrs.len; i++) {
        const Operand *o = operand_of_elements(n, &k->instrs.at[i]);
        if (o != NULL && o->turned == turned && (int)dtype_size(o->dtype) > widest)
            widest = (int)dtype_size(o->dtype);
    }
    int count = Py_MIN(ACCESS / widest, MOST_PACK);
    for (int i = 0; i < k->instrs.len; i++) {
        const Operand *o = operand_of_elements(n, &k->instrs.at[i]);
        if (o != NULL && o->turned == turned && !is_packed(n, o, along, count)) return 1;
    }
    return k->kind == KERNEL_FLAT || size_divides(n->lw->graph, count, n->size[along]) ? count : 1;
}

/* ---- without a reduction ---- */

/* Roughly how many machine instructions a value takes. */
static int
code_of(const Instr *v)
{
    int wide = dtype_size(v->dtype) > 4 ? 2 : 1;
    if (v->kind != INSTR_OP) return 1;
    switch (v->op) {
    case OP_divide:
    case OP_reciprocal:
    case OP_sqrt:
    case OP_floor_divide:
    case OP_remainder: return 12 * wide;
    default:
        if (op_info(v->op)->flags & OPF_LONG) return 200;
        return (op_info(v->op)->flags & OPF_DEVICE ? 24 : 1) * wide;
    }
}

static int
body_code(const Kernel *k)
{
    int code = 1;
    for (int i = 0; i < k->instrs.len; i++)
        if (k->instrs.at[i].level == LEVEL_ELEMENT) code += code_of(&k->instrs.at[i]);
    return code;
}

/* How many elements of a thread may be computed side by side. */
static int
most_beside(const Nest *n, int64_t elements)
{
    int most = elements <= PROCESSORS * THREADS ? FEW_CODE : MOST_CODE;
    return Py_MAX(most / body_code(n->kernel), 1);
}

static void
lay_flat(Nest *n, KernelStep *step)
{
    CudaKernel *c = &n->kernel->cuda;
    int most = most_beside(n, row_length(n));
    if (c->pack > most) c->pack = 1;
    c->each = c->pack > 1 ? c->pack : Py_MIN(SCALARS, most);
    step->blocks[0] = ceiling_of(n, row_size(n), (int64_t)THREADS * c->each);
}

static void
lay_rows(Nest *n, KernelStep *step, SizeId units)
{
    CudaKernel *c = &n->kernel->cuda;
    int most = most_beside(n, row_length(n) * nest_value(n, units));
    if (c->pack > most) c->pack = 1;
    int64_t across = row_length(n) / c->pack;
    for (c->lanes = 1; c->lanes < THREADS && c->lanes < across;) c->lanes *= 2;
    for (c->each = c->pack > 1 ? 4 : 8; c->each > 1 && c->each * c->pack > most;) c->each /= 2;
    step->blocks[0] =
        size_mul(n->lw->graph, ceiling_of(n, row_size(n), (int64_t)c->lanes * c->pack),
                 ceiling_of(n, units, (int64_t)THREADS / c->lanes * c->each));
}

/* ---- tiles ---- */

/* Is an operand that is only loaded in memory side by side along the loop, and not along the row?
   What is read by an index is anywhere. */
static bool
lies_along(const Nest *n, int operand, int loop)
{
    const Kernel *k = n->kernel;
    const Operand *o = &k->operands.at[operand];
    int32_t row = o->stride[n->nloops - 1];
    if (o->by_value || o->stored || row == STRIDE_UNIT || row == STRIDE_ZERO) return false;
    for (int i = 0; i < k->instrs.len; i++)
        if (k->instrs.at[i].kind == INSTR_GATHER && k->instrs.at[i].operand == operand)
            return false;
    return step_of(n, o, loop) == (int64_t)dtype_size(o->dtype);
}

/* The loop along which the first operand lies that is not along the row; -1: none does. */
static int
turned_along(const Nest *n)
{
    for (int o = 0; o < n->kernel->operands.len; o++)
        for (int loop = n->nloops - 2; loop >= 0; loop--)
            if (lies_along(n, o, loop)) return loop;
    return -1;
}

/* Bytes of shared memory for the tiles of those that are turned; 0: none is. */
static int64_t
tile_bytes(const Nest *n, int loop, int side)
{
    int64_t bytes = 0;
    for (int o = 0; o < n->kernel->operands.len; o++) {
        DType dtype = n->kernel->operands.at[o].dtype;
        if (lies_along(n, o, loop))
            bytes += cuda_tile_pitch(dtype, side) * side * (int64_t)dtype_size(dtype);
    }
    return bytes;
}

/* Chooses the side of the tiles and marks what is read through them; returns false where tiles do
   not pay: they would be empty for the most part, or there is too much to compute for an element.
 */
static bool
turn(Nest *n)
{
    enum { SIDE = 64, LEAST_SIDE = 32, SHARED = 48 << 10 };
    Kernel *k = n->kernel;
    int along = n->reduces || k->kind != KERNEL_ROWS ? -1 : turned_along(n), row = n->nloops - 1;
    if (along < 0 || loop_size(n, along) < LEAST_SIDE || row_length(n) < LEAST_SIDE) return false;
    int64_t elements = 1;
    for (int i = 0; i < n->nloops; i++) elements *= loop_size(n, i);
    int side = SIDE, most = most_beside(n, elements);
    if (elements < (int64_t)PROCESSORS * SIDE * SIDE || SIDE * SIDE / THREADS > most ||
        tile_bytes(n, along, SIDE) > SHARED)
        side = LEAST_SIDE;
    if (side * side / THREADS > most || tile_bytes(n, along, side) > SHARED) return false;
    for (int i = 0; i < k->operands.len; i++) {
        Operand *o = &k->operands.at[i];
        if (!lies_along(n, i, along)) continue;
        o->turned = true;
        o->across = o->stride[row];
        o->stride[row] = STRIDE_UNIT;
    }
    k->cuda.side = side;
    k->cuda.along = along;
    return true;
}

/* A thread takes packs of `each` rows of the tile. */
static void
lay_tiles(Nest *n, KernelStep *step, SizeId outer)
{
    Graph *g = n->lw->graph;
    CudaKernel *c = &n->kernel->cuda;
    int most = c->side * c->side / THREADS; /* elements of a thread */
    c->pack = Py_MIN(c->pack, most);
    c->turned_pack = Py_MIN(pack_size(n, true, c->along), most);
    c->lanes = c->side / c->pack;
    c->each = most / c->pack;
    step->blocks[0] = size_mul(g, ceiling_of(n, n->size[c->along], c->side),
                               size_mul(g, ceiling_of(n, row_size(n), c->side), outer));
}

/* ---- reductions ---- */

/* Values that are kept from one stage to a later one, per element of a row. */
static int
values_held(const Kernel *k)
{
    int held = 0;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        bool later = false;
        for (int user = i + 1; user < k->instrs.len && !later; user++)
            for (int a = 0; a < k->instrs.at[user].nargs; a++)
                later = later ||
                        (k->instrs.at[user].args[a] == i && k->instrs.at[user].stage > v->stage);
        if (later && v->level == LEVEL_ELEMENT && v->kind != INSTR_REDUCE)
            held += dtype_size(v->dtype) > 4 ? 2 : 1;
    }
    return held;
}

static bool
reduces_once(const Kernel *k)
{
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        if (v->stage > 0 && (v->kind == INSTR_REDUCE || v->level == LEVEL_ELEMENT)) return false;
    }
    return true;
}

/* The bytes of a part's result: of an arg-reduction, an element and its place. */
static int32_t
slot_bytes(const Kernel *k)
{
    enum { LEAST = 4, FOUND = 16 };
    int32_t bytes = LEAST;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        if (v->kind != INSTR_REDUCE) continue;
        int32_t own = op_finds(v->op) ? FOUND : (int32_t)dtype_size(v->dtype);
        if (own > bytes) bytes = own;
    }
    return bytes;
}

/* A place for the parts' results, of which there are `results` for each. */
static int
add_parts(Nest *n, SizeId units, SizeId parts, int64_t results)
{
    Kernel *k = n->kernel;
    Graph *g = n->lw->graph;
    if (parts == NO_SIZE || (k->cuda.parts = nest_size(n, parts)) < 0) return -1;
    k->cuda.partial = n->places.len;
    SizeId bytes = size_mul(g, size_mul(g, units, parts), size_const(g, results * k->cuda.slot));
    return nest_add_memory(n, bytes, k->device);
}

/* As many parts as both allow. */
static SizeId
fewer_parts(Nest *n, SizeId a, SizeId b)
{
    Graph *g = n->lw->graph;
    return size_extreme(g, SIZE_MOST, size_const(g, 1), size_extreme(g, SIZE_LEAST, a, b));
}

static int64_t
count_reductions(const Kernel *k)
{
    int64_t count = 0;
    for (int i = 0; i < k->instrs.len; i++) count += k->instrs.at[i].kind == INSTR_REDUCE;
    return count;
}

/* A row of a length that varies may be any: the only one is divided, whatever its length is now. */
static bool
rows_have_parts(const Nest *n, SizeId units, SizeId parts)
{
    bool alone = size_is_one(n->lw->graph, units);
    if (!reduces_once(n->kernel)) return false;
    return (alone && row_varies(n)) || (row_length(n) >= PART_ROW && nest_value(n, parts) > 1);
}

static int
lay_reduced_rows(Nest *n, KernelStep *step, SizeId units)
{
    Kernel *k = n->kernel;
    Graph *g = n->lw->graph;
    CudaKernel *c = &k->cuda;
    int64_t length = row_length(n);
    SizeId all = size_add(g, size_const(g, BLOCKS - 1), units);
    SizeId parts = fewer_parts(
        n, size_quotient(g, SIZE_FLOOR_DIV, all, units),
        size_quotient(g, SIZE_FLOOR_DIV, row_size(n), size_const(g, (int64_t)8 * THREADS)));
    if (rows_have_parts(n, units, parts)) {
        c->lanes = c->threads = 2 * THREADS;
        step->blocks[0] = size_mul(g, units, parts);
        step->blocks[1] = units;
        return add_parts(n, units, parts, count_reductions(k));
    }
    for (c->lanes = length <= 64 ? 8 : 32; c->lanes * HELD < length && c->lanes < MOST_THREADS;)
        c->lanes *= 2;
    /* Two warps are faster where a thread has more accesses than of 16-bit elements alone. */
    if (c->lanes == 64 && length <= 32 * MOST_HELD && c->pack == MOST_PACK) c->lanes = 32;
    if (c->lanes > THREADS * 2 && length <= THREADS * 2 * MOST_HELD) c->lanes = THREADS * 2;
    c->threads = c->lanes > 32 ? c->lanes : THREADS;
    int64_t each = ceiling(length / c->pack, c->lanes) * c->pack;
    bool holds = !row_varies(n) && each <= MOST_HELD && each * values_held(k) <= HELD_VALUES;
    c->each = k->nstages > 1 && holds ? (int32_t)each : 0;
    c->exact = c->each * (int64_t)c->lanes == length;
    step->blocks[0] = ceiling_of(n, units, c->threads / c->lanes);
    return 0;
}

static int
lay_columns(Nest *n, KernelStep *step, SizeId units)
{
    enum { LEAST_ROWS = 8 * THREADS / COLUMN_LANES };
    Graph *g = n->lw->graph;
    CudaKernel *c = &n->kernel->cuda;
    SizeId rows = n->size[n->nloops - 2];
    SizeId blocks = size_mul(g, outer_size(n, n->nloops - 2),
                             ceiling_of(n, row_size(n), (int64_t)COLUMN_LANES * c->pack));
    SizeId most = shared_among(n, COLUMN_BLOCKS, blocks);
    SizeId parts =
        fewer_parts(n, most, size_quotient(g, SIZE_FLOOR_DIV, rows, size_const(g, LEAST_ROWS)));
    bool many = nest_value(n, most) > 1 && !size_is_const(g, rows); /* there may be */
    c->lanes = COLUMN_LANES;
    step->blocks[0] = blocks;
    if (nest_value(n, parts) <= 1 && !many) return 0;
    step->blocks[0] = size_mul(g, blocks, parts);
    step->blocks[1] = ceiling_of(n, units, DONE_COLUMNS);
    return add_parts(n, units, parts, count_reductions(n->kernel));
}

/* Sets what depends on how much there is to walk. */
static int
grid_fits(Nest *n, KernelStep *step)
{
    for (int i = 0; i < 2; i++)
        if (nest_value(n, step->blocks[i]) > INT32_MAX) n->lw->why = "a grid of too many blocks";
    step->threads = n->kernel->cuda.threads;
    return PyErr_Occurred() ? -1 : find_width(n);
}

int
cuda_schedule(Nest *n, KernelStep *step)
{
    Kernel *k = n->kernel;
    if (n->fallible || n->loops.len > 0) n->lw->why = "an operation that is not made for CUDA";
    if (n->lw->why != NULL) return 0;
    assign_stages(k);
    step->blocks[1] = NO_SIZE;
    k->cuda = (CudaKernel){.threads = THREADS, .lanes = 1, .parts = -1};
    bool tiles = turn(n);
    k->cuda.pack = pack_size(n, false, n->nloops - 1);
    k->cuda.slot = slot_bytes(k);
    SizeId units = size_const(n->lw->graph, 1);
    for (int i = 0; i < n->nloops; i++)
        if (i != (k->kind == KERNEL_COLUMNS ? n->nloops - 2 : n->nloops - 1) &&
            (!tiles || i != k->cuda.along))
            units = size_mul(n->lw->graph, units, n->size[i]);
    if (units == NO_SIZE || (k->cuda.units = nest_size(n, units)) < 0) return -1;
    step->units = units;
    int failed = 0;
    if (k->kind == KERNEL_FLAT)
        lay_flat(n, step);
    else if (k->kind == KERNEL_COLUMNS)
        failed = lay_columns(n, step, units);
    else if (n->reduces)
        failed = lay_reduced_rows(n, step, units);
    else if (tiles)
        lay_tiles(n, step, units);
    else
        lay_rows(n, step, units);
    if (n->places.len + n->sizes.len + n->numbers.len > LAUNCH_WORDS)
        n->lw->why = "a kernel of too many arguments";
    return failed < 0 ? -1 : grid_fits(n, step);
}

/* ---- attention ---- */

/* Two groups of four warps, each with 64 queries, and four tiles that are under way.  Of heads of
   64 and less two blocks fit a multiprocessor. */
static void
lay_on_hopper(CudaKernel *c, KernelStep *step)
{
    c->stages = 4;
    c->threads = 2 * QUERY_TILE;
    /* behind the tiles: a barrier for the queries, two for each stage */
    step->shared = (QUERY_TILE + 2 * c->stages * KEY_TILE) * c->head * 2 + 8 * (2 * c->stages + 1);
}

int
cuda_schedule_attention(Nest *n, bool hopper, KernelStep *step)
{
    CudaKernel *c = &n->kernel->cuda;
    Graph *g = n->lw->graph;
    SizeId batch = outer_size(n, n->nloops - 2);
    int own = n->nloops - (attention_owns_keys(c->part) ? 1 : 2);
    c->threads = QUERY_TILE;
    if (hopper) lay_on_hopper(c, step);
    c->lanes = c->pack = 1;
    c->parts = -1;
    step->units = batch;
    step->blocks[0] = size_mul(g, batch, ceiling_of(n, n->size[own], QUERY_TILE));
    step->blocks[1] = NO_SIZE;
    return (c->units = nest_size(n, batch)) < 0 ? -1 : grid_fits(n, step);
}

/* ---- scans ---- */

/* Rows go by warps or blocks, a tile after the other, columns by a thread each.  Where that would
   not fill the device they are divided into parts: a first launch has what each part makes, a
   second scans it from there. */
int
cuda_schedule_scan(Nest *n, KernelStep *step)
{
    enum { SHORT = 512, LEAST_ROWS = 64, TILES = 4 };
    Kernel *k = n->kernel;
    Graph *g = n->lw->graph;
    CudaKernel *c = &k->cuda;
    int64_t length = row_length(n), item = (int64_t)dtype_size(k->operands.at[0].dtype);
    SizeId units = outer_size(n, n->nloops - 1);
    int32_t across = k->nloops > 1 ? k->operands.at[0].stride[k->nloops - 2] : STRIDE_ZERO;
    bool columns = across >= 0 && nest_value(n, n->sizes.at[across]) == item &&
                   k->operands.at[0].stride[k->nloops - 1] != STRIDE_UNIT;
    *c = (CudaKernel){.threads = THREADS, .parts = -1, .pack = 1, .slot = sizeof(int64_t)};
    c->lanes = columns ? 1 : length <= SHORT ? 32 : THREADS;
    if (!columns) c->pack = pack_size(n, false, n->nloops - 1);
    c->each = columns ? 8 : c->pack > 1 ? c->pack : SCALARS;
    SizeId blocks = ceiling_of(n, units, THREADS / c->lanes);
    int64_t most = columns ? length / LEAST_ROWS : length / ((int64_t)TILES * THREADS * c->each);
    SizeId parts = fewer_parts(n, shared_among(n, BLOCKS, blocks), size_const(g, most));
    step->units = units;
    step->blocks[0] = blocks;
    step->blocks[1] = NO_SIZE;
    if ((c->units = nest_size(n, units)) < 0) return -1;
    if (nest_value(n, parts) > 1) {
        step->blocks[0] = step->blocks[1] = size_mul(g, blocks, parts);
        if (add_parts(n, units, parts, 1) < 0) return -1;
    }
    return grid_fits(n, step);
}
