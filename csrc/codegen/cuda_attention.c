/* The kernel of an attention: online softmax over tiles of keys, with the tensor cores' mma.sync
   (sm_80 and newer; the kernel for Hopper is in cuda_hopper.c and shares the scores).  A block has
   QUERY_TILE queries of one matrix, 32 a warp.  Tiles of keys and values are copied to shared
   memory, each while the one before it is computed with:

     for each tile of KEY_TILE keys that is not masked as a whole:
       p = q k^T                       float32, in registers
       p = the score of p              instructions of the kernel
       new maximum, p = exp2(p - it)   earlier sums are scaled to it
       o += p v                        p rounded to 16 bits

   A row of a tile is ATTENTION_HEAD elements in eight chunks of 16 bytes, whose order depends on
   the row so that eight rows of one chunk are in different banks.

   The maximum of a row is -inf as long as all its keys are masked: 0 is subtracted then.  Such a
   row ends as 0 / 0, NaN, as it does where it is written out. */
#include "cuda_emit.h"

#include <math.h>

const char cuda_attention_helpers[] =
    "#ifdef __CUDACC_RTC__\n"
    "F unsigned in_shared(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }\n"
    "F void copy_chunk(void *to, const void *from, bool there) {\n"
    "    int bytes = there ? 16 : 0;\n"
    "    asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" ::\"r\"(in_shared(to)), "
    "\"l\"(from), \"r\"(bytes));\n"
    "}\n"
    "F void end_copies() { asm volatile(\"cp.async.commit_group;\"); }\n"
    "F void wait_for_copies() { asm volatile(\"cp.async.wait_group 0;\" ::: \"memory\"); }\n"
    "F void load_matrices(unsigned *to, const void *at) {\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\"\n"
    "                 : \"=r\"(to[0]), \"=r\"(to[1]), \"=r\"(to[2]), \"=r\"(to[3]) : "
    "\"r\"(in_shared(at)) : \"memory\");\n"
    "}\n"
    "F void load_transposed(unsigned *to, const void *at) {\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\"\n"
    "                 : \"=r\"(to[0]), \"=r\"(to[1]), \"=r\"(to[2]), \"=r\"(to[3]) : "
    "\"r\"(in_shared(at)) : \"memory\");\n"
    "}\n"
    "F void multiply(float *to, const unsigned *a, unsigned b0, unsigned b1, Half) {\n"
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \"\n"
    "                 \"{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"\n"
    "                 : \"+f\"(to[0]), \"+f\"(to[1]), \"+f\"(to[2]), \"+f\"(to[3])\n"
    "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b0), "
    "\"r\"(b1));\n"
    "}\n"
    "F void multiply(float *to, const unsigned *a, unsigned b0, unsigned b1, BFloat) {\n"
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 \"\n"
    "                 \"{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"\n"
    "                 : \"+f\"(to[0]), \"+f\"(to[1]), \"+f\"(to[2]), \"+f\"(to[3])\n"
    "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b0), "
    "\"r\"(b1));\n"
    "}\n"
    "F unsigned both_of(float low, float high, Half) {\n"
    "    unsigned both;\n"
    "    asm(\"cvt.rn.f16x2.f32 %0, %1, %2;\" : \"=r\"(both) : \"f\"(high), \"f\"(low));\n"
    "    return both;\n"
    "}\n"
    "F unsigned both_of(float low, float high, BFloat) {\n"
    "    unsigned both;\n"
    "    asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(both) : \"f\"(high), \"f\"(low));\n"
    "    return both;\n"
    "}\n"
    "F float power_of_two(float x) {\n"
    "    float y;\n"
    "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n"
    "    return y;\n"
    "}\n"
    "#endif\n"
    "#define INFINITE __int_as_float(0x7f800000)\n"
    "template <class I> F I at_most(I x, I y) { return x < y ? x : y; }\n"
    "F char *chunk_of(char *tile, int row, int chunk) {\n"
    "    return tile + row * 128 + ((chunk ^ (row & 7)) << 4);\n"
    "}\n"
    "template <int ROWS, class I> F void copy_tile(char *to, const char *from, I stride, I first, "
    "I count) {\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < ROWS * 8 / 128; i++) {\n"
    "        int row = (int)(threadIdx.x >> 3) + i * 16, chunk = (int)threadIdx.x & 7;\n"
    "        bool there = first + row < count;\n"
    "        copy_chunk(chunk_of(to, row, chunk), from + (there ? (first + row) * stride : 0) + "
    "chunk * 16, there);\n"
    "    }\n"
    "}\n"
    "F void store_both(float *to, float low, float high) { to[0] = low, to[1] = high; }\n"
    "template <class T> F void store_both(T *to, float low, float high) { *(unsigned *)to = "
    "both_of(low, high, T()); }\n";

/* ---- which tiles are masked ---- */

/* The least, or with `high` the greatest, value of an integer in the tile of keys that begins at
   `keys`; false: not known. */
static bool
put_bound(const CudaEmit *e, int32_t at, bool high, Text *out)
{
    const Instr *v = cuda_instr(e, at);
    if (v->dtype != DT_I64) return false;
    if (v->kind == INSTR_INDEX) {
        int count = v->operand ? e->rows : e->columns;
        text_printf(out, "%s + %d", v->operand ? e->queries : "keys", high ? count - 1 : 0);
        return true;
    }
    if (v->kind == INSTR_CONST && v->argument == 0) {
        text_printf(out, "%lldLL", (long long)v->bits[0]);
        return llabs((long long)v->bits[0]) < INT32_MAX;
    }
    if (v->kind != INSTR_OP || (v->op != OP_add && v->op != OP_subtract)) return false;
    text_put(out, "(");
    if (!put_bound(e, v->args[0], high, out)) return false;
    text_put(out, v->op == OP_add ? ") + (" : ") - (");
    if (!put_bound(e, v->args[1], v->op == OP_add ? high : !high, out)) return false;
    text_put(out, ")");
    return true;
}

/* low(a) OP high(b), or high(a) OP low(b) with `high`; "true" where a bound is not known. */
static void
put_compared(const CudaEmit *e, int32_t a, bool high, const char *op, int32_t b, Text *out)
{
    Text left = {0}, right = {0};
    if (put_bound(e, a, high, &left) && put_bound(e, b, !high, &right))
        text_printf(out, "((long long)(%s) %s (long long)(%s))", left.data, op, right.data);
    else
        text_put(out, "true");
    text_free(&left);
    text_free(&right);
}

/* An expression that is true where the bool may be `wanted` for some element of the tile. */
static void
put_may(const CudaEmit *e, int32_t at, bool wanted, Text *out)
{
    const Instr *v = cuda_instr(e, at);
    Op op = v->kind == INSTR_OP ? v->op : OP_cast;
    bool both = op == OP_bitwise_and || op == OP_logical_and;
    switch (op) {
    case OP_less:
        put_compared(e, v->args[0], !wanted, wanted ? "<" : ">=", v->args[1], out);
        return;
    case OP_less_equal:
        put_compared(e, v->args[0], !wanted, wanted ? "<=" : ">", v->args[1], out);
        return;
    case OP_greater:
        put_compared(e, v->args[0], wanted, wanted ? ">" : "<=", v->args[1], out);
        return;
    case OP_greater_equal:
        put_compared(e, v->args[0], wanted, wanted ? ">=" : "<", v->args[1], out);
        return;
    case OP_logical_not:
    case OP_invert: put_may(e, v->args[0], !wanted, out); return;
    case OP_bitwise_and:
    case OP_logical_and:
    case OP_bitwise_or:
    case OP_logical_or:
        if (v->from != DT_BOOL) break;
        text_put(out, "(");
        put_may(e, v->args[0], wanted, out);
        text_put(out, both == wanted ? " && " : " || ");
        put_may(e, v->args[1], wanted, out);
        text_put(out, ")");
        return;
    default: break;
    }
    text_put(out, "true");
}

static bool
is_minus_infinity(const CudaEmit *e, int32_t at)
{
    const Instr *v = cuda_instr(e, at);
    while (v->kind == INSTR_OP && v->op == OP_cast) v = cuda_instr(e, v->args[0]);
    uint64_t bits = v->dtype == DT_F32   ? 0xff800000u
                    : v->dtype == DT_F64 ? 0xfff0000000000000u
                    : v->dtype == DT_F16 ? 0xfc00u
                                         : 0xff80u;
    return v->kind == INSTR_CONST && v->argument == 0 && dtype_is_float(v->dtype) &&
           v->bits[0] == bits;
}

/* where(condition, x, -inf) or where(condition, -inf, x): x, and for which condition it is taken.
 */
static int32_t
unmasked(const CudaEmit *e, int32_t at, bool *taken)
{
    const Instr *v = cuda_instr(e, at);
    if (v->kind != INSTR_OP || v->op != OP_where) return -1;
    *taken = is_minus_infinity(e, v->args[2]);
    if (!*taken && !is_minus_infinity(e, v->args[1])) return -1;
    return v->args[*taken ? 1 : 2];
}

void
cuda_attention_rows(CudaEmit *e, const char *queries, int rows, int columns)
{
    e->queries = queries;
    e->rows = rows;
    e->columns = columns;
}

bool
cuda_attention_some(const CudaEmit *e, Text *out)
{
    bool taken;
    int count = 0;
    for (int32_t at = e->kernel->cuda.score, inner; (inner = unmasked(e, at, &taken)) >= 0;
         at = inner) {
        if (count++ > 0) text_put(out, " && ");
        put_may(e, cuda_instr(e, at)->args[0], taken, out);
    }
    return count > 0;
}

/* ---- the factor ---- */

static int
count_users(const CudaEmit *e, int32_t at)
{
    int users = 0;
    for (int i = 0; i < e->kernel->instrs.len; i++)
        for (int a = 0; a < cuda_instr(e, i)->nargs; a++) users += cuda_instr(e, i)->args[a] == at;
    return users;
}

/* A number that is known here, behind conversions; NAN: none. */
static double
number_of(const CudaEmit *e, int32_t at)
{
    const Instr *v = cuda_instr(e, at);
    double wide;
    float single;
    while (v->kind == INSTR_OP && v->op == OP_cast) v = cuda_instr(e, v->args[0]);
    if (v->kind != INSTR_CONST || v->argument > 0) return NAN;
    uint32_t low = (uint32_t)v->bits[0];
    memcpy(&wide, &v->bits[0], sizeof wide);
    memcpy(&single, &low, sizeof single);
    switch (v->dtype) {
    case DT_F64: return wide;
    case DT_F32: return single;
    case DT_F16: {
        int exponent = (int)(low >> 10 & 31), digits = (int)(low & 1023);
        if (exponent == 0 || exponent == 31 || low >> 15) return NAN; /* no usual factor */
        return ldexp(digits + 1024, exponent - 25);
    }
    default: return NAN;
    }
}

/* The scores' largest one stays the largest when all are multiplied by a positive number: the
   exponential does that in passing.  Masks to -inf do not mind. */
static double
find_factor(CudaEmit *e)
{
    int32_t at = e->kernel->cuda.score, inner;
    bool taken;
    e->scaled = e->unscaled = -1;
    for (; (inner = unmasked(e, at, &taken)) >= 0; at = inner)
        if (count_users(e, inner) != 1) return 1;
    const Instr *v = cuda_instr(e, at);
    if (v->kind != INSTR_OP || v->dtype != DT_F32) return 1;
    if (v->op != OP_multiply && v->op != OP_divide) return 1;
    for (int a = 1; a >= (v->op == OP_divide); a--) {
        double number = number_of(e, v->args[a]);
        double factor = v->op == OP_divide ? 1 / number : number;
        if (!(factor > 1e-9 && factor < 1e9)) continue;
        e->scaled = at;
        e->unscaled = v->args[1 - a];
        return factor;
    }
    return 1;
}

/* Declares `factor`, by which scores are multiplied in the exponent. */
static void
declare_factor(CudaEmit *e)
{
    float factor = (float)(find_factor(e) * 1.4426950408889634); /* log2(e) */
    uint32_t bits;
    memcpy(&bits, &factor, sizeof bits);
    cuda_line(e, "const float factor = __int_as_float(0x%08x);", bits);
}

/* ---- the score ---- */

/* The product by the factor gets the name of what is multiplied. */
static void
leave_factor(CudaEmit *e)
{
    Text value = {0};
    if (e->scaled < 0) return;
    cuda_value(e, e->unscaled, &value);
    cuda_line(e, "const float v%d = %s;", e->scaled, value.data);
    e->mark[e->scaled] = e->body;
    text_free(&value);
}

void
cuda_attention_loads(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    for (int32_t at = 0; at < k->instrs.len; at++) {
        const Instr *v = cuda_instr(e, at);
        if (v->kind != INSTR_LOAD || k->operands.at[v->operand].by_value) continue;
        const Operand *o = &k->operands.at[v->operand];
        int32_t across = o->stride[k->nloops - 2], along = o->stride[k->nloops - 1];
        const char *type = v->dtype == DT_BOOL ? "unsigned char" : cuda_type(v->dtype);
        Text address = {0};
        text_printf(&address, "r%d", v->operand);
        if (across != STRIDE_ZERO) text_printf(&address, " + query * n%d", across);
        if (along == STRIDE_UNIT)
            text_printf(&address, " + key * %d", (int)dtype_size(v->dtype));
        else if (along != STRIDE_ZERO)
            text_printf(&address, " + key * n%d", along);
        cuda_line(e, "const %s x%d = *(const %s *)(%s);", type, v->operand, type, address.data);
        text_free(&address);
    }
}

/* Computes the score of every element of `p` that the thread has. */
static void
score_tile(CudaEmit *e, int32_t score, int rows)
{
    const Kernel *k = e->kernel;
    Text value = {0};
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int i = 0; i < %d; i++)", rows);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int j = 0; j < %d; j++)", KEY_TILE / 8);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int c = 0; c < 4; c++)");
    cuda_line(e, "const %s query = at_most<%s>(mine + i * 16 + (c >> 1) * 8, n%d - 1);",
              cuda_index(e), cuda_index(e), k->size[k->nloops - 2]);
    cuda_line(e, "const %s key = at_most<%s>(keys + j * 8 + (lane & 3) * 2 + (c & 1), n%d - 1);",
              cuda_index(e), cuda_index(e), k->size[k->nloops - 1]);
    cuda_line(e, "const float product = p[i][j][c];");
    cuda_body(e, 0);
    cuda_attention_loads(e);
    leave_factor(e);
    cuda_value(e, score, &value);
    cuda_line(e, "p[i][j][c] = %s;", value.data);
    text_free(&value);
    cuda_end(e);
    cuda_end(e);
    cuda_end(e);
}

/* Keys behind the last one have no score. */
static void
end_of_keys(CudaEmit *e, int rows)
{
    const Kernel *k = e->kernel;
    cuda_block(e, "if (keys + %d > n%d)", KEY_TILE, k->size[k->nloops - 1]);
    cuda_line(e, "#pragma unroll");
    cuda_line(e, "for (int i = 0; i < %d; i++)", rows);
    cuda_line(e, "#pragma unroll");
    cuda_line(e, "    for (int j = 0; j < %d; j++)", KEY_TILE / 2);
    cuda_line(e,
              "        if (keys + (j >> 2) * 8 + (lane & 3) * 2 + (j & 1) >= n%d) "
              "p[i][j >> 2][j & 3] = -INFINITE;",
              k->size[k->nloops - 1]);
    cuda_end(e);
}

void
cuda_attention_tile(CudaEmit *e, void (*put)(CudaEmit *e, int32_t score, int rows), int rows)
{
    Text masked = {0};
    bool taken;
    int32_t score = e->kernel->cuda.score;
    for (int32_t inner; (inner = unmasked(e, score, &taken)) >= 0; score = inner) {
        if (masked.data != NULL) text_put(&masked, " || ");
        put_may(e, cuda_instr(e, score)->args[0], !taken, &masked);
    }
    if (masked.data != NULL) {
        cuda_block(e, "if (%s)", masked.data);
        put(e, e->kernel->cuda.score, rows);
        e->indent--;
        cuda_block(e, "} else");
    }
    put(e, score, rows);
    if (masked.data != NULL) cuda_end(e);
    text_free(&masked);
}

void
cuda_attention_scores(CudaEmit *e, int rows)
{
    cuda_attention_tile(e, score_tile, rows);
    end_of_keys(e, rows);
}

/* ---- the kernel ---- */

void
cuda_put_lines(CudaEmit *e, const char *const *lines)
{
    for (; *lines != NULL; lines++) cuda_line(e, "%s", *lines);
}

void
cuda_attention_tiles(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    bool owns_keys = attention_owns_keys(k->cuda.part);
    const char *first = owns_keys ? "queries" : "keys";
    Text some = {0};
    cuda_line(e, "%s tile = 0, end = (n%d + %d) / %d;", cuda_index(e),
              k->size[k->nloops - (owns_keys ? 2 : 1)], KEY_TILE - 1, KEY_TILE);
    if (!cuda_attention_some(e, &some)) return;
    cuda_block(e, "for (; tile < end; tile++)");
    cuda_line(e, "const %s %s = tile * %d;", cuda_index(e), first, KEY_TILE);
    cuda_line(e, "if (%s) break;", some.data);
    cuda_end(e);
    cuda_block(e, "for (; end > tile; end--)");
    cuda_line(e, "const %s %s = (end - 1) * %d;", cuda_index(e), first, KEY_TILE);
    cuda_line(e, "if (%s) break;", some.data);
    cuda_end(e);
    text_free(&some);
}

static void
copy_tiles(CudaEmit *e, const char *tile)
{
    const Kernel *k = e->kernel;
    int last = k->nloops - 1;
    for (int i = 1; i < 3; i++) {
        int32_t o = k->cuda.factor[i];
        cuda_line(e, "copy_tile<%d, %s>(shared_%s[(%s) & 1], r%d, n%d, (%s) * %d, n%d);", KEY_TILE,
                  cuda_index(e), i == 1 ? "k" : "v", tile, o, k->operands.at[o].stride[last], tile,
                  KEY_TILE, k->size[last]);
    }
}

static const char *const product_lines[] = {
    "float p[2][8][4];",
    "#pragma unroll",
    "for (int i = 0; i < 2; i++)",
    "#pragma unroll",
    "    for (int j = 0; j < 32; j++) p[i][j >> 2][j & 3] = 0;",
    "#pragma unroll",
    "for (int s = 0; s < 4; s++) {",
    "#pragma unroll",
    "    for (int j = 0; j < 4; j++) {",
    "        unsigned b[4];",
    "        load_matrices(b, chunk_of(shared_k[tile & 1], j * 16 + (lane & 7) + ((lane >> 4) << "
    "3), "
    "s * 2 + ((lane >> 3) & 1)));",
    "#pragma unroll",
    "        for (int i = 0; i < 2; i++) {",
    "            multiply(p[i][2 * j], q[i][s], b[0], b[1], T());",
    "            multiply(p[i][2 * j + 1], q[i][s], b[2], b[3], T());",
    "        }",
    "    }",
    "}",
    NULL,
};

static const char *const softmax_lines[] = {
    "unsigned a[2][4][4];",
    "#pragma unroll",
    "for (int i = 0; i < 2; i++)",
    "#pragma unroll",
    "    for (int u = 0; u < 2; u++) {",
    "        float top = most[i][u], part = 0;",
    "#pragma unroll",
    "        for (int j = 0; j < 8; j++) top = fmaxf(top, fmaxf(p[i][j][2 * u], p[i][j][2 * u + "
    "1]));",
    "        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));",
    "        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));",
    "        const float from = top == -INFINITE ? 0 : top * factor;",
    "        const float scale = power_of_two(fmaf(most[i][u], factor, -from));",
    "        most[i][u] = top;",
    "#pragma unroll",
    "        for (int j = 0; j < 8; j++) {",
    "            p[i][j][2 * u] = power_of_two(fmaf(p[i][j][2 * u], factor, -from));",
    "            p[i][j][2 * u + 1] = power_of_two(fmaf(p[i][j][2 * u + 1], factor, -from));",
    "            part += p[i][j][2 * u] + p[i][j][2 * u + 1];",
    "            o[i][j][2 * u] *= scale;",
    "            o[i][j][2 * u + 1] *= scale;",
    "        }",
    "        sum[i][u] = sum[i][u] * scale + part;",
    "#pragma unroll",
    "        for (int j = 0; j < 4; j++) {",
    "            a[i][j][u] = both_of(p[i][2 * j][2 * u], p[i][2 * j][2 * u + 1], T());",
    "            a[i][j][2 + u] = both_of(p[i][2 * j + 1][2 * u], p[i][2 * j + 1][2 * u + 1], "
    "T());",
    "        }",
    "    }",
    "#pragma unroll",
    "for (int s = 0; s < 4; s++) {",
    "#pragma unroll",
    "    for (int j = 0; j < 4; j++) {",
    "        unsigned b[4];",
    "        load_transposed(b, chunk_of(shared_v[tile & 1], s * 16 + (lane & 15), j * 2 + (lane "
    ">> "
    "4)));",
    "#pragma unroll",
    "        for (int i = 0; i < 2; i++) {",
    "            multiply(o[i][2 * j], a[i][s], b[0], b[1], T());",
    "            multiply(o[i][2 * j + 1], a[i][s], b[2], b[3], T());",
    "        }",
    "    }",
    "}",
    NULL,
};

static const char *const begin_lines[] = {
    "float o[2][8][4], most[2][2], sum[2][2];",
    "unsigned q[2][4][4];",
    "#pragma unroll",
    "for (int i = 0; i < 2; i++) {",
    "#pragma unroll",
    "    for (int j = 0; j < 32; j++) o[i][j >> 2][j & 3] = 0;",
    "    most[i][0] = most[i][1] = -INFINITE;",
    "    sum[i][0] = sum[i][1] = 0;",
    "}",
    "wait_for_copies();",
    "__syncthreads();",
    "#pragma unroll",
    "for (int i = 0; i < 2; i++)",
    "#pragma unroll",
    "    for (int s = 0; s < 4; s++) load_matrices(q[i][s], chunk_of(shared_q, warp * 32 + i * 16 "
    "+ "
    "(lane & 15), s * 2 + (lane >> 4)));",
    NULL,
};

/* What the gradient makes the query's weights of again: of scores in the factor's unit. */
static void
store_sum(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    int32_t at = k->cuda.factor[5];
    if (at < 0) return;
    cuda_line(e, "const float top = most[i >> 1][u];");
    cuda_line(e,
              "if ((lane & 3) == 0) *(float *)(r%d + query * n%d) = (top == -INFINITE ? 0 : top * "
              "factor) + log2f(total);",
              at, k->operands.at[at].stride[k->nloops - 2]);
}

void
cuda_attention_store(CudaEmit *e, int rows)
{
    const Kernel *k = e->kernel;
    int32_t at = k->cuda.factor[3];
    const Operand *o = &k->operands.at[at];
    const char *type = cuda_type(o->dtype);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int i = 0; i < %d; i++)", 2 * rows);
    cuda_line(e, "const int u = i & 1;");
    cuda_line(e, "float total = sum[i >> 1][u];");
    cuda_line(e, "total += __shfl_xor_sync(0xffffffffu, total, 1);");
    cuda_line(e, "total += __shfl_xor_sync(0xffffffffu, total, 2);");
    cuda_line(e, "const float share = 1 / total;"); /* 0: no keys, so NaN */
    cuda_line(e, "const %s query = mine + (i >> 1) * 16 + u * 8;", cuda_index(e));
    cuda_line(e, "if (query >= n%d) continue;", k->size[k->nloops - 2]);
    cuda_line(e, "%s *const to = (%s *)(r%d + query * n%d) + (lane & 3) * 2;", type, type, at,
              o->stride[k->nloops - 2]);
    cuda_line(e, "#pragma unroll");
    cuda_line(e,
              "for (int j = 0; j < %d; j++) store_both(to + j * 8, o[i >> 1][j][2 * u] * share, "
              "o[i >> 1][j][2 * u + 1] * share);",
              k->cuda.head / 8);
    store_sum(e);
    cuda_end(e);
}

/* Where tiles are left out, the last ones of all matrices come first: under a causal mask these
   take longest, and what ends last is short (1.17 times as fast as a matrix after the other on an
   H200). Otherwise blocks of one matrix run together, since they share its keys. */
void
cuda_attention_block(CudaEmit *e, const char *first)
{
    const Kernel *k = e->kernel;
    const char *index = cuda_index(e);
    bool owns_keys = attention_owns_keys(k->cuda.part);
    int32_t count = k->size[k->nloops - (owns_keys ? 1 : 2)];
    Text some = {0};
    cuda_line(e, "typedef %s T;", cuda_type(k->operands.at[k->cuda.factor[0]].dtype));
    cuda_line(e, "const %s tall = (n%d + %d) / %d;", index, count, QUERY_TILE - 1, QUERY_TILE);
    if (cuda_attention_some(e, &some) && strpbrk(some.data, "<>") != NULL) { /* asks for an index */
        cuda_line(e, "const %s above = (%s)blockIdx.x / n%d;", index, index, k->cuda.units);
        cuda_line(e, "const %s unit = (%s)blockIdx.x - above * n%d;", index, index, k->cuda.units);
        cuda_line(e, "const %s %s = (%sabove) * %d;", index, first, owns_keys ? "" : "tall - 1 - ",
                  QUERY_TILE);
    } else {
        cuda_line(e, "const %s unit = (%s)blockIdx.x / tall;", index, index);
        cuda_line(e, "const %s %s = ((%s)blockIdx.x - unit * tall) * %d;", index, first, index,
                  QUERY_TILE);
    }
    text_free(&some);
    cuda_outer(e, k->nloops - 2);
    cuda_pointers(e, k->nloops - 2);
}

/* Declares where the block and the thread are, and copies the queries. */
static void
positions(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const Operand *q = &k->operands.at[k->cuda.factor[0]];
    int32_t count = k->size[k->nloops - 2];
    const char *index = cuda_index(e);
    cuda_line(e, "alignas(128) __shared__ char shared_q[%d], shared_k[2][%d], shared_v[2][%d];",
              QUERY_TILE * ATTENTION_HEAD * 2, KEY_TILE * ATTENTION_HEAD * 2,
              KEY_TILE * ATTENTION_HEAD * 2);
    cuda_attention_block(e, "queries");
    cuda_line(e, "const int warp = (int)threadIdx.x >> 5, lane = (int)threadIdx.x & 31;");
    cuda_line(e, "const %s mine = queries + warp * 32 + (lane >> 2);", index);
    cuda_line(e, "copy_tile<%d, %s>(shared_q, r%d, n%d, queries, n%d);", QUERY_TILE, cuda_index(e),
              k->cuda.factor[0], q->stride[k->nloops - 2], count);
}

void
cuda_attention(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    e->read = "";
    e->position = "key";
    if (k->cuda.part >= 0) {
        cuda_attention_back(e);
        return;
    }
    declare_factor(e);
    cuda_attention_rows(e, "queries", QUERY_TILE, KEY_TILE);
    if (k->cuda.stages > 0) {
        cuda_hopper_attention(e);
        return;
    }
    positions(e);
    cuda_attention_tiles(e);
    cuda_block(e, "if (tile < end)");
    copy_tiles(e, "tile");
    cuda_end(e);
    cuda_line(e, "end_copies();");
    cuda_put_lines(e, begin_lines);
    cuda_line(e, "#pragma unroll 1");
    cuda_block(e, "for (; tile < end; tile++)");
    cuda_line(e, "const %s keys = tile * %d;", cuda_index(e), KEY_TILE);
    cuda_line(e, "wait_for_copies();");
    cuda_line(e, "__syncthreads();");
    cuda_block(e, "if (tile + 1 < end)");
    copy_tiles(e, "tile + 1");
    cuda_end(e);
    cuda_line(e, "end_copies();");
    cuda_put_lines(e, product_lines);
    cuda_attention_scores(e, 2);
    cuda_put_lines(e, softmax_lines);
    cuda_end(e);
    cuda_attention_store(e, 2);
}
