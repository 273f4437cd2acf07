/* The kernels of an attention's gradient: a block has QUERY_TILE rows, 32 a warp, of queries or of
   keys, and goes through the others in tiles of KEY_TILE, half a tile at a time:

     of queries                              of keys
     p = q k^T, d = g v^T                    p = k q^T, d = v g^T
     p = weights of p
     p = the product's slope by p * (d - mean)
     ATTENTION_DQ: o += p k                  ATTENTION_DK: o += p q; ATTENTION_DV: o += weights g

   The attention has left the sum of each query's exponentials, and mean, of the sum of its weights
   times d, is that of g * o.  So weights are made again, by each kernel, and nothing is added to
   memory that another block writes: results are the same each time.

   Dao et al. 2022 (FlashAttention), with a kernel for each gradient. */
#include "cuda_emit.h"

const char cuda_back_helpers[] =
    "#ifdef __CUDACC_RTC__\n"
    "F void copy_number(float *to, const void *from, bool there) {\n"
    "    int bytes = there ? 4 : 0;\n"
    "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4, %2;\" ::\"r\"(in_shared(to)), "
    "\"l\"(from), \"r\"(bytes));\n"
    "}\n"
    "#endif\n"
    "/* 32 rows of a tile, as the first factor. */\n"
    "F void take_rows(unsigned (*a)[4][4], char *tile, int row, int lane) {\n"
    "#pragma unroll\n"
    "    for (int s = 0; s < 8; s++) load_matrices(a[s >> 2][s & 3], chunk_of(tile, row + (s >> 2) "
    "* "
    "16 + (lane & 15), (s & 3) * 2 + (lane >> 4)));\n"
    "}\n"
    "/* p = a b^T, of N * 8 rows of b. */\n"
    "template <class T, int N> F void multiply_rows(float (*p)[N][4], unsigned (*a)[4][4], "
    "char *b, int row, int lane) {\n"
    "#pragma unroll\n"
    "    for (int j = 0; j < N * 8; j++) p[j / (N * 4)][j / 4 % N][j & 3] = 0;\n"
    "#pragma unroll\n"
    "    for (int s = 0; s < 4; s++)\n"
    "#pragma unroll\n"
    "        for (int j = 0; j < N / 2; j++) {\n"
    "            unsigned c[4];\n"
    "            load_matrices(c, chunk_of(b, row + j * 16 + (lane & 7) + ((lane >> 4) << 3), s * "
    "2 "
    "+ ((lane >> 3) & 1)));\n"
    "#pragma unroll\n"
    "            for (int i = 0; i < 2; i++) {\n"
    "                multiply(p[i][2 * j], a[i][s], c[0], c[1], T());\n"
    "                multiply(p[i][2 * j + 1], a[i][s], c[2], c[3], T());\n"
    "            }\n"
    "        }\n"
    "}\n"
    "/* o += p b. */\n"
    "template <class T, int N> F void add_rows(float (*o)[8][4], float (*p)[N][4], char *b, int "
    "row, int lane) {\n"
    "#pragma unroll\n"
    "    for (int s = 0; s < N / 2; s++) {\n"
    "        unsigned a[2][4];\n"
    "#pragma unroll\n"
    "        for (int u = 0; u < 8; u++) {\n"
    "            const float *of = p[u >> 2][2 * s + (u >> 1 & 1)] + 2 * (u & 1);\n"
    "            a[u >> 2][u & 3] = both_of(of[0], of[1], T());\n"
    "        }\n"
    "#pragma unroll\n"
    "        for (int j = 0; j < 4; j++) {\n"
    "            unsigned c[4];\n"
    "            load_transposed(c, chunk_of(b, row + s * 16 + (lane & 15), j * 2 + (lane >> "
    "4)));\n"
    "#pragma unroll\n"
    "            for (int i = 0; i < 2; i++) {\n"
    "                multiply(o[i][2 * j], a[i], c[0], c[1], T());\n"
    "                multiply(o[i][2 * j + 1], a[i], c[2], c[3], T());\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "}\n";

enum { HALF = KEY_TILE / 2 };

/* What a block has, and what it goes through: an operand's number and the loop along its rows. */
typedef struct {
    int32_t first, second; /* q and g, or k and v */
    int loop;
    const char *name; /* of the first row's index */
} Side;

static Side
side_of(const CudaEmit *e, bool keys)
{
    const Kernel *k = e->kernel;
    const int32_t *factor = k->cuda.factor;
    Side queries = {factor[0], factor[4], k->nloops - 2, "queries"};
    Side others = {factor[1], factor[2], k->nloops - 1, "keys"};
    return keys ? others : queries;
}

static bool
owns_keys(const CudaEmit *e)
{
    return attention_owns_keys(e->kernel->cuda.part);
}

/* Copies rows of an operand. */
static void
copy_rows(CudaEmit *e, const Side *side, int32_t operand, int rows, const char *to,
          const char *first)
{
    const Kernel *k = e->kernel;
    cuda_line(e, "copy_tile<%d, %s>(%s, r%d, n%d, %s, n%d);", rows, cuda_index(e), to, operand,
              k->operands.at[operand].stride[side->loop], first, k->size[side->loop]);
}

/* The sums and means of the queries of a tile. */
static void
copy_sums(CudaEmit *e, const char *tile)
{
    const Kernel *k = e->kernel;
    int32_t count = k->size[k->nloops - 2];
    cuda_block(e, "if (threadIdx.x < %d)", KEY_TILE);
    cuda_line(e, "const %s query = (%s) * %d + (int)threadIdx.x;", cuda_index(e), tile, KEY_TILE);
    for (int i = 0; i < 2; i++) {
        int32_t o = k->cuda.factor[5 + i];
        cuda_line(e,
                  "copy_number(&sums[(%s) & 1][%d][threadIdx.x], r%d + (query < n%d ? query : 0) * "
                  "n%d, query < n%d);",
                  tile, i, o, count, k->operands.at[o].stride[k->nloops - 2], count);
    }
    cuda_end(e);
}

/* The tile number `tile` of the others. */
static void
copy_tiles(CudaEmit *e, const char *tile)
{
    Side others = side_of(e, !owns_keys(e));
    for (int i = 0; i < 2; i++) {
        Text to = {0}, first = {0};
        text_printf(&to, "shared[(%s) & 1][%d]", tile, i);
        text_printf(&first, "(%s) * %d", tile, KEY_TILE);
        copy_rows(e, &others, i == 0 ? others.first : others.second, KEY_TILE, to.data, first.data);
        text_free(&to);
        text_free(&first);
    }
    if (owns_keys(e)) copy_sums(e, tile);
}

/* Declares where the block is, and takes its rows. */
static void
take_own(CudaEmit *e)
{
    Side own = side_of(e, owns_keys(e));
    cuda_line(e, "alignas(128) __shared__ char shared[2][2][%d];", KEY_TILE * ATTENTION_HEAD * 2);
    if (owns_keys(e)) cuda_line(e, "alignas(16) __shared__ float sums[2][2][%d];", KEY_TILE);
    cuda_attention_block(e, own.name);
    cuda_line(e, "const int warp = (int)threadIdx.x >> 5, lane = (int)threadIdx.x & 31;");
    cuda_line(e, "const %s mine = %s + warp * 32 + (lane >> 2);", cuda_index(e), own.name);
    copy_rows(e, &own, own.first, QUERY_TILE, "shared[0][0]", own.name);
    copy_rows(e, &own, own.second, QUERY_TILE, "shared[1][0]", own.name);
    cuda_line(e, "end_copies();");
    cuda_line(e, "wait_for_copies();");
    cuda_line(e, "__syncthreads();");
    cuda_line(e, "unsigned a[2][4][4], b[2][4][4];");
    cuda_line(e, "take_rows(a, shared[0][0], warp * 32, lane);");
    cuda_line(e, "take_rows(b, shared[1][0], warp * 32, lane);");
    cuda_line(e, "__syncthreads();");
}

static void
declare_sums(CudaEmit *e)
{
    cuda_line(e, "float o[2][8][4];");
    cuda_line(e, "#pragma unroll");
    cuda_line(e, "for (int j = 0; j < 64; j++) o[j >> 5][j >> 2 & 7][j & 3] = 0;");
    if (owns_keys(e)) return;
    const Kernel *k = e->kernel;
    cuda_line(e, "float base[2][2], mean[2][2];");
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int u = 0; u < 4; u++)");
    cuda_line(e, "const %s row = at_most<%s>(mine + u * 8, n%d - 1);", cuda_index(e), cuda_index(e),
              k->size[k->nloops - 2]);
    for (int i = 0; i < 2; i++) {
        int32_t at = k->cuda.factor[5 + i];
        cuda_line(e, "%s[u >> 1][u & 1] = *(const float *)(r%d + row * n%d);",
                  i == 0 ? "base" : "mean", at, k->operands.at[at].stride[k->nloops - 2]);
    }
    cuda_end(e);
}

/* Of the queries of half a tile. */
static void
declare_half_sums(CudaEmit *e)
{
    cuda_line(e, "float base[%d][2], mean[%d][2];", HALF / 8, HALF / 8);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int j = 0; j < %d; j++)", HALF / 4);
    cuda_line(e, "const int at = h * %d + (j >> 1) * 8 + (lane & 3) * 2 + (j & 1);", HALF);
    cuda_line(e, "base[j >> 1][j & 1] = sums[tile & 1][0][at];");
    cuda_line(e, "mean[j >> 1][j & 1] = sums[tile & 1][1][at];");
    cuda_end(e);
}

/* p of every element that the thread has: its weight or the slope of the product. */
static void
put_elements(CudaEmit *e, int32_t score, int rows)
{
    const Kernel *k = e->kernel;
    const char *index = cuda_index(e), *at = owns_keys(e) ? "[j][c & 1]" : "[i][c >> 1]";
    Side own = side_of(e, owns_keys(e)), others = side_of(e, !owns_keys(e));
    Text value = {0}, slope = {0};
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int i = 0; i < %d; i++)", rows);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int j = 0; j < %d; j++)", HALF / 8);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int c = 0; c < 4; c++)");
    cuda_line(e, "const %s %s = at_most<%s>(mine + i * 16 + (c >> 1) * 8, n%d - 1);", index,
              owns_keys(e) ? "key" : "query", index, k->size[own.loop]);
    cuda_line(e, "const %s %s = at_most<%s>(%s + j * 8 + (lane & 3) * 2 + (c & 1), n%d - 1);",
              index, owns_keys(e) ? "query" : "key", index, others.name, k->size[others.loop]);
    cuda_line(e, "const float product = p[i][j][c];");
    cuda_body(e, 0);
    cuda_attention_loads(e);
    cuda_value(e, score, &value);
    cuda_line(e, "const float weight = power_of_two(fmaf(%s, factor, -base%s));", value.data, at);
    cuda_line(e, "const float slope = weight * (d[i][j][c] - mean%s);", at);
    cuda_value(e, k->cuda.slope, &slope);
    cuda_line(e, "p[i][j][c] = %s;", k->cuda.part == ATTENTION_DV ? "weight" : slope.data);
    cuda_end(e);
    cuda_end(e);
    cuda_end(e);
    text_free(&value);
    text_free(&slope);
}

/* Rows behind the others' last one have no weight. */
static void
end_of_others(CudaEmit *e)
{
    Side others = side_of(e, !owns_keys(e));
    int32_t count = e->kernel->size[others.loop];
    cuda_block(e, "if (%s + %d > n%d)", others.name, HALF, count);
    cuda_line(e, "#pragma unroll");
    cuda_line(e, "for (int j = 0; j < %d; j++)", HALF / 2);
    cuda_line(e,
              "    if (%s + (j >> 2) * 8 + (lane & 3) * 2 + (j & 1) >= n%d) p[0][j >> 2][j & 3] = "
              "p[1][j >> 2][j & 3] = 0;",
              others.name, count);
    cuda_end(e);
}

static void
half_tile(CudaEmit *e)
{
    int part = e->kernel->cuda.part;
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int h = 0; h < 2; h++)");
    cuda_line(e, "const %s %s = tile * %d + h * %d;", cuda_index(e), side_of(e, !owns_keys(e)).name,
              KEY_TILE, HALF);
    cuda_line(e, "float p[2][%d][4], d[2][%d][4];", HALF / 8, HALF / 8);
    if (owns_keys(e)) declare_half_sums(e);
    cuda_line(e, "multiply_rows<T, %d>(p, a, shared[tile & 1][0], h * %d, lane);", HALF / 8, HALF);
    if (part != ATTENTION_DV)
        cuda_line(e, "multiply_rows<T, %d>(d, b, shared[tile & 1][1], h * %d, lane);", HALF / 8,
                  HALF);
    else
        cuda_line(e, "for (int j = 0; j < %d; j++) d[0][j >> 2][j & 3] = d[1][j >> 2][j & 3] = 0;",
                  HALF / 2);
    cuda_attention_tile(e, put_elements, 2);
    end_of_others(e);
    cuda_line(e, "add_rows<T, %d>(o, p, shared[tile & 1][%d], h * %d, lane);", HALF / 8,
              part == ATTENTION_DV, HALF);
    cuda_end(e);
}

/* Of each of the thread's four rows. */
static void
store(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    Side own = side_of(e, owns_keys(e));
    int32_t at = k->cuda.factor[3];
    const char *type = cuda_type(k->operands.at[at].dtype);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int i = 0; i < 4; i++)");
    cuda_line(e, "const int u = i & 1;");
    cuda_line(e, "const %s row = mine + i * 8;", cuda_index(e));
    cuda_line(e, "if (row >= n%d) continue;", k->size[own.loop]);
    cuda_line(e, "%s *const to = (%s *)(r%d + row * n%d);", type, type, at,
              k->operands.at[at].stride[own.loop]);
    cuda_line(e, "#pragma unroll");
    cuda_line(e, "for (int j = 0; j < 8; j++) store_both(to + j * 8 + (lane & 3) * 2, "
                 "o[i >> 1][j][2 * u], o[i >> 1][j][2 * u + 1]);");
    cuda_end(e);
}

void
cuda_attention_back(CudaEmit *e)
{
    bool keys = owns_keys(e);
    e->scaled = e->unscaled = -1;
    cuda_line(e, "const float factor = 1.44269504f;"); /* log2(e) */
    cuda_attention_rows(e, "queries", keys ? KEY_TILE : QUERY_TILE, keys ? QUERY_TILE : KEY_TILE);
    take_own(e);
    cuda_attention_tiles(e);
    cuda_block(e, "if (tile < end)");
    copy_tiles(e, "tile");
    cuda_end(e);
    cuda_line(e, "end_copies();");
    declare_sums(e);
    cuda_attention_rows(e, "queries", keys ? HALF : QUERY_TILE, keys ? QUERY_TILE : HALF);
    cuda_line(e, "#pragma unroll 1");
    cuda_block(e, "for (; tile < end; tile++)");
    cuda_line(e, "wait_for_copies();");
    cuda_line(e, "__syncthreads();");
    cuda_block(e, "if (tile + 1 < end)");
    copy_tiles(e, "tile + 1");
    cuda_end(e);
    cuda_line(e, "end_copies();");
    half_tile(e);
    cuda_end(e);
    store(e);
}
