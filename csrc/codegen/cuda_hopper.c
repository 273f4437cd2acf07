/* The kernel of an attention for Hopper (sm_90a).  What it computes is said in cuda_attention.c;
   here tiles come by the copy engine (TMA) and products are those of four warps together (wgmma).

   A block has two such groups, each with 64 queries, whose factor lies in shared memory, as keys
   and values do: `stages` tiles of them are under way at once.  Of each stage there are two
   barriers: `full` when its tile is there, `empty` when all warps are done with it, for the
   block's first thread, which then asks for a later tile.

     p = q k^T of the first tile, its softmax
     for each further tile t:
       p = q k^T of t              both products are begun …
       o += weights v of t - 1
       scores and softmax of t     … and this runs beside the second one
       o is scaled to the new maximum
     o += weights v of the last tile

   What of a tile is masked as a whole for one of the groups only is left out at the end, a single
   tile at most: so nobody waits for that group.  Products stand in no branch: the assembler would
   wait for each.

   Tiles lie in shared memory as they are copied: a row has up to 128 bytes, in chunks of 16 that
   change places from row to row; of wider heads there are two halves, one behind the other. */
#include "cuda_emit.h"

const char cuda_hopper_helpers[] =
    "struct alignas(64) TensorMap { unsigned long long word[16]; };\n"
    "template <int N> struct Columns {};\n"
    "#ifdef __CUDACC_RTC__\n"
    "typedef unsigned Shared;\n"
    "F Shared dynamic_shared() {\n"
    "    extern __shared__ __align__(1024) char memory[];\n"
    "    return in_shared(memory);\n"
    "}\n"
    "F void barrier_begin(Shared at, int count) {\n"
    "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" ::\"r\"(at), \"r\"(count));\n"
    "}\n"
    "F void barriers_begun() {\n"
    "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "}\n"
    "F void barrier_expect(Shared at, int bytes) {\n"
    "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" ::\"r\"(at), "
    "\"r\"(bytes) : \"memory\");\n"
    "}\n"
    "F void barrier_arrive(Shared at) {\n"
    "    asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" ::\"r\"(at) : \"memory\");\n"
    "}\n"
    "F void barrier_wait(Shared at, int phase) {\n"
    "    asm volatile(\"{.reg .pred done;\\n\"\n"
    "                 \"again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\\n\"\n"
    "                 \"@done bra.uni over;\\n\"\n"
    "                 \"bra.uni again;\\n\"\n"
    "                 \"over: }\" ::\"r\"(at), \"r\"(phase) : \"memory\");\n"
    "}\n"
    "F void copy_box(Shared to, const TensorMap *map, Shared barrier, int column, int row, int i, "
    "int j, int k) {\n"
    "    "
    "asm volatile(\"cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::"
    "bytes \"\n"
    "                 \"[%0], [%1, {%3, %4, %5, %6, %7}], [%2];\"\n"
    "                 ::\"r\"(to), \"l\"(map), \"r\"(barrier), \"r\"(column), \"r\"(row), "
    "\"r\"(i), \"r\"(j), \"r\"(k) : \"memory\");\n"
    "}\n"
    "/* How a product finds a matrix of rows of PITCH bytes; `next` is between its halves. */\n"
    "template <int PITCH> F unsigned long long matrix_at(Shared at, int next) {\n"
    "    return (unsigned long long)((at & 0x3ffff) >> 4) |\n"
    "           (unsigned long long)(next ? next >> 4 : 1) << 16 |\n"
    "           (unsigned long long)(PITCH * 8 >> 4) << 32 |\n"
    "           (unsigned long long)(PITCH == 128 ? 1 : 2) << 62;\n"
    "}\n"
    "F void products_begin() { asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\"); }\n"
    "F void products_end() { asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\"); }\n"
    "template <int N> F void wait_for_products() {\n"
    "    asm volatile(\"wgmma.wait_group.sync.aligned %0;\" ::\"n\"(N) : \"memory\");\n"
    "}\n"
    "#endif\n"
    "/* Of a tile of rows of HEAD elements. */\n"
    "template <int HEAD, int ROWS> F void copy_rows(Shared to, const TensorMap *map, Shared "
    "barrier, int row, int i, int j, int k) {\n"
    "#pragma unroll\n"
    "    for (int h = 0; h < HEAD; h += 64) copy_box(to + h * ROWS * 2, map, barrier, h, row, i, "
    "j, "
    "k);\n"
    "}\n"
    "template <class T, int HEAD, int ROWS, int KEYS> F void multiply_keys(float *p, Shared q, "
    "Shared k) {\n"
    "    const int PITCH = HEAD < 64 ? HEAD * 2 : 128;\n"
    "    products_begin();\n"
    "#pragma unroll\n"
    "    for (int s = 0; s < HEAD / 16; s++)\n"
    "        multiply(p, matrix_at<PITCH>(q + (s >> 2) * ROWS * 128 + (s & 3) * 32, 0),\n"
    "                 matrix_at<PITCH>(k + (s >> 2) * KEYS * 128 + (s & 3) * 32, 0), s > 0, "
    "Columns<KEYS>(), T());\n"
    "    products_end();\n"
    "}\n"
    "template <class T, int HEAD, int KEYS> F void multiply_values(float *o, const unsigned "
    "(*a)[4], Shared v) {\n"
    "    const int PITCH = HEAD < 64 ? HEAD * 2 : 128;\n"
    "    products_begin();\n"
    "#pragma unroll\n"
    "    for (int s = 0; s < KEYS / 16; s++)\n"
    "        multiply(o, a[s], matrix_at<PITCH>(v + s * 16 * PITCH, HEAD > 64 ? KEYS * 128 : 0), "
    "Columns<HEAD>(), T());\n"
    "    products_end();\n"
    "}\n"
    "/* Scores become weights; `scale` is for what was computed with the maximum before. */\n"
    "template <int N> F void soften(float (*p)[4], float *most, float *sum, float *scale, float "
    "factor) {\n"
    "#pragma unroll\n"
    "    for (int u = 0; u < 2; u++) {\n"
    "        float top = most[u], part = 0;\n"
    "#pragma unroll\n"
    "        for (int j = 0; j < N; j++) top = fmaxf(top, fmaxf(p[j][2 * u], p[j][2 * u + 1]));\n"
    "        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));\n"
    "        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));\n"
    "        const float from = top == -INFINITE ? 0 : top * factor;\n"
    "        scale[u] = power_of_two(fmaf(most[u], factor, -from));\n"
    "        most[u] = top;\n"
    "#pragma unroll\n"
    "        for (int j = 0; j < N; j++) {\n"
    "            p[j][2 * u] = power_of_two(fmaf(p[j][2 * u], factor, -from));\n"
    "            p[j][2 * u + 1] = power_of_two(fmaf(p[j][2 * u + 1], factor, -from));\n"
    "            part += p[j][2 * u] + p[j][2 * u + 1];\n"
    "        }\n"
    "        sum[u] = fmaf(sum[u], scale[u], part);\n"
    "    }\n"
    "}\n"
    "template <class T, int N> F void round_weights(unsigned (*a)[4], const float (*p)[4]) {\n"
    "#pragma unroll\n"
    "    for (int j = 0; j < N; j++)\n"
    "#pragma unroll\n"
    "        for (int u = 0; u < 4; u++)\n"
    "            a[j][u] = both_of(p[2 * j + (u >> 1)][2 * (u & 1)], p[2 * j + (u >> 1)][2 * (u & "
    "1) + 1], T());\n"
    "}\n";

/* ---- products ---- */

enum { WIDTHS = 3 };
static const int widths[WIDTHS] = {32, 64, 128};

static int
width_of(int columns)
{
    return columns == 32 ? 0 : columns == 64 ? 1 : 2;
}

/* "%0, %1, …": what the instruction takes from the registers of c, `count` of them. */
static void
put_numbers(Text *out, int first, int count)
{
    for (int i = 0; i < count; i++) text_printf(out, "%s%%%d", i ? ", " : "", first + i);
}

/* multiply(c, a, b): 64 rows, 16 columns of a.  `weights`: a is in registers, and b has a key in
   each row, which gives a row of the sum; else b's rows are columns of the product. */
static void
put_product(Text *out, int columns, DType dtype, bool weights)
{
    const char *name = dtype == DT_F16 ? "f16" : "bf16";
    int count = columns / 2, behind = count + (weights ? 4 : 1);
    text_put(out, "#ifdef __CUDACC_RTC__\n");
    if (weights)
        text_printf(out,
                    "F void multiply(float *c, const unsigned *a, unsigned long long b, "
                    "Columns<%d>, %s) {\n",
                    columns, cuda_type(dtype));
    else
        text_printf(out,
                    "F void multiply(float *c, unsigned long long a, unsigned long long b, int "
                    "add, Columns<%d>, %s) {\n",
                    columns, cuda_type(dtype));
    text_printf(out,
                "    asm volatile(\"{.reg .pred add; setp.ne.b32 add, %%%d, 0;\\n\"\n"
                "                 \"wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {",
                behind + 1, columns, name, name);
    put_numbers(out, 0, count);
    text_put(out, "}, ");
    if (weights) text_put(out, "{");
    put_numbers(out, count, weights ? 4 : 1);
    text_printf(out, "%s, %%%d, add, 1, 1%s;}\"\n                 : ", weights ? "}" : "", behind,
                weights ? ", 1" : ", 0, 0");
    for (int i = 0; i < count; i++) text_printf(out, "%s\"+f\"(c[%d])", i ? ", " : "", i);
    text_printf(out, "\n                 : %s, \"l\"(b), \"r\"(%s));\n}\n#endif\n",
                weights ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])" : "\"l\"(a)",
                weights ? "1" : "add");
}

static void
add_product(CudaEmit *e, int columns, bool weights)
{
    DType dtype = e->kernel->operands.at[e->kernel->cuda.factor[0]].dtype;
    int bit = width_of(columns) + WIDTHS * (weights + 2 * (dtype == DT_F16));
    if (e->products >> bit & 1) return;
    e->products |= 1u << bit;
    put_product(&e->functions, widths[width_of(columns)], dtype, weights);
}

/* ---- the kernel ---- */

static const char *const shared_lines[] = {
    "enum { ROWS = 128, TILE = KEYS * HEAD * 2, WHOLE = ROWS * HEAD * 2 };",
    "const Shared shared_q = dynamic_shared(), shared_k = shared_q + WHOLE;",
    "const Shared shared_v = shared_k + STAGES * TILE, full = shared_v + STAGES * TILE;",
    "const Shared empty = full + 8 * STAGES, ready = empty + 8 * STAGES;",
    /* the same for the whole warp, which the compiler does not know of threadIdx.x */
    "const int warp = __shfl_sync(0xffffffffu, (int)threadIdx.x >> 5, 0), lane = (int)threadIdx.x "
    "& "
    "31;",
    NULL,
};

static const char *const begin_lines[] = {
    "float o[1][HEAD / 8][4], p[1][KEYS / 8][4], most[1][2], sum[1][2], scale[2];",
    "unsigned a[KEYS / 16][4];",
    "#pragma unroll",
    "for (int j = 0; j < HEAD / 2; j++) o[0][j >> 2][j & 3] = 0;",
    "most[0][0] = most[0][1] = -INFINITE;",
    "sum[0][0] = sum[0][1] = 0;",
    "const Shared own_q = shared_q + (warp >> 2) * (64 * (HEAD < 64 ? HEAD * 2 : 128));",
    "__syncthreads();",
    "barrier_wait(ready, 0);",
    "barrier_wait(full, 0);",
    "multiply_keys<T, HEAD, ROWS, KEYS>(p[0][0], own_q, shared_k);",
    "wait_for_products<0>();",
    NULL,
};

static const char *const products_lines[] = {
    "const int stage = t % STAGES, before = (t - 1) % STAGES;",
    "barrier_wait(full + 8 * stage, t / STAGES & 1);",
    "multiply_keys<T, HEAD, ROWS, KEYS>(p[0][0], own_q, shared_k + stage * TILE);",
    "multiply_values<T, HEAD, KEYS>(o[0][0], a, shared_v + before * TILE);",
    "wait_for_products<1>();",
    NULL,
};

static const char *const weights_lines[] = {
    "soften<KEYS / 8>(p[0], most[0], sum[0], scale, factor);",
    "wait_for_products<0>();",
    "if (lane == 0) barrier_arrive(empty + 8 * before);",
    "#pragma unroll",
    "for (int j = 0; j < HEAD / 2; j++) o[0][j >> 2][j & 3] *= scale[j >> 1 & 1];",
    "round_weights<T, KEYS / 16>(a, p[0]);",
    NULL,
};

/* The box of rows from `row` on: coordinates are those of the batch axes that the map has. */
static void
copy_rows(CudaEmit *e, int factor, int rows, const char *to, const char *barrier, const char *row)
{
    const Kernel *k = e->kernel;
    const Operand *o = &k->operands.at[k->cuda.factor[factor]];
    Text at = {0};
    int count = 0;
    for (int i = 0; i < k->nloops - 2; i++)
        if (o->stride[i] != STRIDE_ZERO) text_printf(&at, ", (int)i%d", i), count++;
    for (; count < MAP_RANK - 2; count++) text_put(&at, ", 0");
    cuda_line(e, "copy_rows<HEAD, %d>(%s, &map%d, %s, (int)(%s)%s);", rows, to, factor, barrier,
              row, at.data);
    text_free(&at);
}

/* Asks for the tile number `tile` of the block's, for its stage. */
static void
ask_for(CudaEmit *e, const char *tile, const char *stage)
{
    Text k = {0}, v = {0}, barrier = {0}, row = {0};
    text_printf(&k, "shared_k + %s * TILE", stage);
    text_printf(&v, "shared_v + %s * TILE", stage);
    text_printf(&barrier, "full + 8 * %s", stage);
    text_printf(&row, "(tile + %s) * KEYS", tile);
    cuda_line(e, "barrier_expect(%s, 2 * TILE);", barrier.data);
    copy_rows(e, 1, KEY_TILE, k.data, barrier.data, row.data);
    copy_rows(e, 2, KEY_TILE, v.data, barrier.data, row.data);
    text_free(&k);
    text_free(&v);
    text_free(&barrier);
    text_free(&row);
}

static void
first_copies(CudaEmit *e)
{
    cuda_block(e, "if (threadIdx.x == 0)");
    cuda_block(e, "for (int s = 0; s < STAGES; s++)");
    cuda_line(e, "barrier_begin(full + 8 * s, 1);");
    cuda_line(e, "barrier_begin(empty + 8 * s, %d);", e->kernel->cuda.threads / 32);
    cuda_end(e);
    cuda_line(e, "barrier_begin(ready, 1);");
    cuda_line(e, "barriers_begun();");
    cuda_line(e, "barrier_expect(ready, WHOLE);");
    copy_rows(e, 0, QUERY_TILE, "shared_q", "ready", "first");
    cuda_block(e, "for (int s = 0; s < STAGES && s < count; s++)");
    ask_for(e, "s", "s");
    cuda_end(e);
    cuda_end(e);
}

/* Declares `count`, the block's tiles, and `own`, those of the group.  A block without any has one
   that is masked as a whole. */
static void
count_tiles(CudaEmit *e)
{
    Text some = {0};
    cuda_attention_rows(e, "first", QUERY_TILE, KEY_TILE);
    cuda_attention_tiles(e);
    cuda_line(e, "if (tile >= end) tile = 0, end = 1;");
    cuda_line(e, "const int count = (int)(end - tile);");
    cuda_line(e, "int own = count;");
    cuda_attention_rows(e, "queries", GROUP_QUERIES, KEY_TILE);
    cuda_line(e, "const %s queries = first + (warp >> 2) * %d;", cuda_index(e), GROUP_QUERIES);
    cuda_line(e, "const %s mine = queries + (warp & 3) * 16 + (lane >> 2);", cuda_index(e));
    if (cuda_attention_some(e, &some)) {
        cuda_block(e, "if (own > 1)");
        cuda_line(e, "const %s keys = (end - 1) * KEYS;", cuda_index(e));
        cuda_line(e, "if (!(%s)) own--;", some.data);
        cuda_end(e);
    }
    text_free(&some);
}

void
cuda_hopper_attention(CudaEmit *e)
{
    const CudaKernel *c = &e->kernel->cuda;
    add_product(e, KEY_TILE, false);
    add_product(e, c->head, true);
    cuda_line(e, "enum { HEAD = %d, KEYS = %d, STAGES = %d };", c->head, KEY_TILE, c->stages);
    cuda_attention_block(e, "first");
    cuda_put_lines(e, shared_lines);
    count_tiles(e);
    first_copies(e);
    cuda_put_lines(e, begin_lines);
    cuda_line(e, "{");
    e->indent++;
    cuda_line(e, "const %s keys = tile * KEYS;", cuda_index(e));
    cuda_attention_scores(e, 1);
    cuda_end(e);
    cuda_line(e, "soften<KEYS / 8>(p[0], most[0], sum[0], scale, factor);");
    cuda_line(e, "round_weights<T, KEYS / 16>(a, p[0]);");
    cuda_line(e, "#pragma unroll 1");
    cuda_block(e, "for (int t = 1; t < own; t++)");
    cuda_line(e, "const %s keys = (tile + t) * KEYS;", cuda_index(e));
    cuda_put_lines(e, products_lines);
    cuda_attention_scores(e, 1);
    cuda_put_lines(e, weights_lines);
    cuda_line(e, "const int next = t - 1 + STAGES;");
    cuda_block(e, "if (threadIdx.x == 0 && next < count)");
    cuda_line(e, "barrier_wait(empty + 8 * before, (t - 1) / STAGES & 1);");
    ask_for(e, "next", "before");
    cuda_end(e);
    cuda_end(e);
    cuda_line(e,
              "multiply_values<T, HEAD, KEYS>(o[0][0], a, shared_v + (own - 1) %% STAGES * TILE);");
    cuda_line(e, "wait_for_products<0>();");
    cuda_attention_store(e, 1);
}
