/* Rows without a reduction: a thread takes a pack of columns in several rows, and loads of all
   before it stores.

   Tiles: a block takes `side` rows, along the loop `along`, by `side` columns.  Operands that are
   turned lie along that loop, not along the row: neighbouring threads read what lies side by side,
   which is part of a column, and put it down in shared memory, q; behind the barrier each finds
   there what its rows need. */
#include "cuda_emit.h"

/* What is done with the pack at `first` in row number `i` of the thread. */
static void
walked_body(CudaEmit *e)
{
    const CudaKernel *c = &e->kernel->cuda;
    cuda_scalars(e, LEVEL_ROW, 0);
    cuda_declare_packs(e, INSTR_STORE, 0, 0);
    if (cuda_has_packs(e, INSTR_STORE, 0)) {
        cuda_line(e, "#pragma unroll");
        cuda_block(e, "for (int e = 0; e < %d; e++)", c->pack);
        cuda_line(e, "const %s j = first + e;", cuda_index(e));
        e->read = "[i].at[e]";
        cuda_body(e, 0);
        cuda_store_elements(e, 0);
        cuda_end(e);
        cuda_move_packs(e, INSTR_STORE, 0, "", "first");
    }
    if (cuda_stores_level(e, LEVEL_ROW)) {
        cuda_block(e, "if (first == 0)");
        cuda_store_level(e, LEVEL_ROW);
        cuda_end(e);
    }
}

/* The row in which the thread takes its pack number `i`, and what there is once in it. */
static void
walked_row(CudaEmit *e, int row)
{
    const CudaKernel *c = &e->kernel->cuda;
    int across = c->threads / c->lanes;
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int i = 0; i < %d; i++)", c->each);
    cuda_line(e, "const %s unit = below * %d + i * %d + (int)threadIdx.x / %d;", cuda_index(e),
              across * c->each, across, c->lanes);
    cuda_block(e, "if (unit < n%d)", c->units);
    cuda_outer(e, row);
    cuda_pointers(e, row);
}

/* A thread walks `each` rows of the columns of its pack: it loads of all before it stores. */
void
cuda_rows(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    int row = k->nloops - 1;
    const char *index = cuda_index(e);
    e->walks = true;
    cuda_packs_begin(e, 0);
    cuda_line(e, "const %s wide = (n%d + %d) / %d;", index, k->size[row], c->lanes * c->pack - 1,
              c->lanes * c->pack);
    cuda_line(e, "const %s below = (%s)blockIdx.x / wide;", index, index);
    cuda_line(e, "const %s across = ((%s)blockIdx.x - below * wide) * %d + (int)threadIdx.x %% %d;",
              index, index, c->lanes, c->lanes);
    cuda_line(e, "const %s first = across * %d;", index, c->pack);
    cuda_line(e, "if (first >= n%d) return;", k->size[row]);
    cuda_declare_packs(e, INSTR_LOAD, 0, c->each);
    walked_row(e, row);
    cuda_move_packs(e, INSTR_LOAD, 0, "[i]", "first");
    cuda_end(e);
    cuda_end(e);
    walked_row(e, row);
    walked_body(e);
    cuda_end(e);
    cuda_end(e);
}

/* ---- tiles ---- */

static bool
is_turned(const CudaEmit *e, int operand)
{
    return e->kernel->operands.at[operand].turned;
}

/* In shared memory, from one row of a turned operand's tile to the next. */
static int
pitch(const CudaEmit *e, int operand)
{
    return (int)cuda_tile_pitch(e->kernel->operands.at[operand].dtype, e->kernel->cuda.side);
}

/* Where the block is: its first row `top` and column `left`, and the indices of the other loops. */
static void
place_of_tile(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const char *index = cuda_index(e);
    int side = k->cuda.side, along = k->cuda.along, row = k->nloops - 1;
    cuda_line(e, "const %s wide = (n%d + %d) / %d, high = (n%d + %d) / %d;", index, k->size[row],
              side - 1, side, k->size[along], side - 1, side);
    cuda_line(e, "const %s tile = (%s)blockIdx.x / wide, unit = tile / high;", index, index);
    cuda_line(e, "const %s left = ((%s)blockIdx.x - tile * wide) * %d;", index, index, side);
    cuda_line(e, "const %s top = (tile - unit * high) * %d;", index, side);
    if (row > 1) cuda_line(e, "%s rest = unit;", index);
    for (int i = row - 1; i >= 0; i--) {
        if (i == along) continue;
        cuda_line(e, "const %s i%d = rest %% n%d;", index, i, k->size[i]);
        cuda_line(e, "rest /= n%d;", k->size[i]);
    }
}

/* Begins the loop over the accesses of a thread to what is turned, each of part of a column. */
static void
turned_access(CudaEmit *e)
{
    const CudaKernel *c = &e->kernel->cuda;
    int lanes = c->side / c->turned_pack;
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int i = 0; i < %d; i++)",
               c->side * c->side / (c->turned_pack * c->threads));
    cuda_line(e, "const int at = i * %d + (int)threadIdx.x;", c->threads);
    cuda_line(e, "const int column = at / %d, row = at %% %d * %d;", lanes, lanes, c->turned_pack);
}

static void
load_turned(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    int row = k->nloops - 1, accesses = c->side * c->side / (c->turned_pack * c->threads);
    for (int o = 0; o < k->operands.len; o++) {
        if (!is_turned(e, o)) continue;
        const char *type = cuda_memory_type(k->operands.at[o].dtype);
        cuda_line(e, "__shared__ %s q%d[%d];", type, o, c->side * pitch(e, o));
        cuda_line(e, "Pack<%s, %d> z%d[%d];", type, c->turned_pack, o, accesses);
    }
    turned_access(e);
    cuda_line(e, "const %s i%d = top + row, j = left + column;", cuda_index(e), c->along);
    cuda_block(e, "if (i%d < n%d && j < n%d)", c->along, k->size[c->along], k->size[row]);
    for (int o = 0; o < k->operands.len; o++) {
        if (!is_turned(e, o)) continue;
        cuda_pointer(e, o, row);
        cuda_line(e, "z%d[i] = *(const Pack<%s, %d> *)(r%d + j * n%d);", o,
                  cuda_memory_type(k->operands.at[o].dtype), c->turned_pack, o,
                  k->operands.at[o].across);
    }
    cuda_end(e);
    cuda_end(e);
}

static void
put_turned_down(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    turned_access(e);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", k->cuda.turned_pack);
    for (int o = 0; o < k->operands.len; o++)
        if (is_turned(e, o))
            cuda_line(e, "q%d[(row + e) * %d + column] = z%d[i].at[e];", o, pitch(e, o), o);
    cuda_end(e);
    cuda_end(e);
    cuda_line(e, "__syncthreads();");
}

/* Begins the loop over the thread's rows of the tile. */
static void
tile_row(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    int row = k->nloops - 1;
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int i = 0; i < %d; i++)", c->each);
    cuda_line(e, "const int at = i * %d + (int)threadIdx.x / %d;", c->threads / c->lanes, c->lanes);
    cuda_line(e, "const %s i%d = top + at;", cuda_index(e), c->along);
    cuda_block(e, "if (i%d < n%d && first < n%d)", c->along, k->size[c->along], k->size[row]);
    cuda_pointers(e, row);
}

/* Where the thread's row begins in a turned operand's tile: the pitch depends on the size. */
static void
declare_places(CudaEmit *e)
{
    unsigned declared = 0;
    for (int o = 0; o < e->kernel->operands.len; o++) {
        unsigned size = (unsigned)dtype_size(e->kernel->operands.at[o].dtype);
        if (!is_turned(e, o) || declared & size) continue;
        declared |= size;
        cuda_line(e, "const int place%u = at * %d + (int)threadIdx.x %% %d * %d;", size,
                  pitch(e, o), e->kernel->cuda.lanes, e->kernel->cuda.pack);
    }
}

void
cuda_tiles(CudaEmit *e)
{
    const CudaKernel *c = &e->kernel->cuda;
    e->walks = true;
    cuda_packs_begin(e, 0);
    place_of_tile(e);
    load_turned(e);
    cuda_line(e, "const %s first = left + (int)threadIdx.x %% %d * %d;", cuda_index(e), c->lanes,
              c->pack);
    cuda_declare_packs(e, INSTR_LOAD, 0, c->each);
    if (cuda_has_packs(e, INSTR_LOAD, 0)) {
        tile_row(e);
        cuda_move_packs(e, INSTR_LOAD, 0, "[i]", "first");
        cuda_end(e);
        cuda_end(e);
    }
    put_turned_down(e);
    tile_row(e);
    declare_places(e);
    walked_body(e);
    cuda_end(e);
    cuda_end(e);
}
