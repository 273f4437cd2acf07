/* dst[...] = src for equal shapes and dtypes, with which in-place writes are committed.

   1. Axes of size 1 are dropped, the others sorted by the destination's stride, and neighbours that
      are one run in both arrays are merged.
   2. Where the two memory ranges overlap (and are not the same elements), the source is first
      copied into a temporary.
   3. Rows are moved by memcpy, or element by element with a constant size. */
#include "numpy_api.h"

typedef struct {
    int rank;
    int64_t shape[MAX_RANK], dst[MAX_RANK], src[MAX_RANK]; /* outermost first; strides in bytes */
} Moves;

/* False: nothing to copy. */
static bool
moves_make(Moves *moves, const int64_t *dst, const int64_t *src, int rank, const int64_t *shape)
{
    moves->rank = 0;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0) return false;
        if (shape[i] == 1) continue;
        int at = moves->rank++;
        for (; at > 0 && Py_ABS(moves->dst[at - 1]) < Py_ABS(dst[i]); at--) {
            moves->shape[at] = moves->shape[at - 1];
            moves->dst[at] = moves->dst[at - 1];
            moves->src[at] = moves->src[at - 1];
        }
        moves->shape[at] = shape[i];
        moves->dst[at] = dst[i];
        moves->src[at] = src[i];
    }
    return true;
}

static void
moves_merge(Moves *moves)
{
    int last = 0;
    for (int i = 1; i < moves->rank; i++) {
        int64_t inner = moves->shape[i];
        if (moves->dst[last] == moves->dst[i] * inner &&
            moves->src[last] == moves->src[i] * inner) {
            moves->shape[last] *= inner;
        } else {
            last++;
            moves->shape[last] = inner;
        }
        moves->dst[last] = moves->dst[i];
        moves->src[last] = moves->src[i];
    }
    if (moves->rank > 0) moves->rank = last + 1;
}

#define ROW_OF(T)                                                                                  \
    for (int64_t i = 0; i < n; i++) memcpy(dst + i * ds, src + i * ss, sizeof(T));                 \
    break

static void
move_row(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n, size_t item)
{
    if (ds == (int64_t)item && ss == ds) {
        memcpy(dst, src, (size_t)n * item);
        return;
    }
    switch (item) {
    case 1: ROW_OF(uint8_t);
    case 2: ROW_OF(uint16_t);
    case 4: ROW_OF(uint32_t);
    case 8: ROW_OF(uint64_t);
    default: ROW_OF(char[16]);
    }
}

static void
move_axis(const Moves *moves, int axis, char *dst, const char *src, size_t item)
{
    if (axis >= moves->rank - 1) {
        if (moves->rank == 0)
            memcpy(dst, src, item);
        else
            move_row(dst, moves->dst[axis], src, moves->src[axis], moves->shape[axis], item);
        return;
    }
    for (int64_t i = 0; i < moves->shape[axis]; i++)
        move_axis(moves, axis + 1, dst + i * moves->dst[axis], src + i * moves->src[axis], item);
}

/* The first byte that the strides reach, and one past the last. */
static void
reach(const char *data, const int64_t *stride, const Moves *moves, size_t item, uintptr_t *low,
      uintptr_t *high)
{
    int64_t below = 0, above = 0;
    for (int i = 0; i < moves->rank; i++) {
        int64_t span = stride[i] * (moves->shape[i] - 1);
        *(span < 0 ? &below : &above) += span;
    }
    *low = (uintptr_t)(data + below);
    *high = (uintptr_t)(data + above) + item;
}

static bool
overlaps(const char *dst, const char *src, const Moves *moves, size_t item)
{
    uintptr_t dst_low, dst_high, src_low, src_high;
    reach(dst, moves->dst, moves, item, &dst_low, &dst_high);
    reach(src, moves->src, moves, item, &src_low, &src_high);
    return dst_low < src_high && src_low < dst_high;
}

/* Copies through a dense temporary with the order of the moves' axes. */
static int
move_by_temporary(const Moves *moves, char *dst, const char *src, size_t item)
{
    Moves in = *moves, out = *moves;
    int64_t run = (int64_t)item;
    for (int i = moves->rank - 1; i >= 0; i--) {
        in.dst[i] = out.src[i] = run;
        run *= moves->shape[i];
    }
    char *temporary = mem_alloc((size_t)run);
    if (temporary == NULL) return -1;
    move_axis(&in, 0, temporary, src, item);
    move_axis(&out, 0, dst, temporary, item);
    mem_free(temporary);
    return 0;
}

int
array_copy_strided(char *dst, const int64_t *dst_stride, const char *src, const int64_t *src_stride,
                   int rank, const int64_t *shape, DType dtype)
{
    Moves moves;
    size_t item = numpy_itemsize(dtype);
    if (!moves_make(&moves, dst_stride, src_stride, rank, shape)) return 0;
    moves_merge(&moves);
    if (overlaps(dst, src, &moves, item)) {
        size_t strides = (size_t)moves.rank * sizeof(int64_t);
        if (dst == src && memcmp(moves.dst, moves.src, strides) == 0) return 0;
        return move_by_temporary(&moves, dst, src, item);
    }
    move_axis(&moves, 0, dst, src, item);
    return 0;
}
