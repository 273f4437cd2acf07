/* Cumulative sums and products in CUDA.  The order of their additions follows from the shape, so
   that the bits are the same in each run.

   - Rows: neighbouring threads take neighbouring elements, a tile of them at a time.  Each scans
   its own, what they make is scanned over the lanes of a warp, then over the warps, and the whole
   is carried to the next tile, which is loaded meanwhile.
   - Columns: a thread walks down each.
   - Parts of either: kN leaves what each part makes, kN_done adds that of the parts before.

   Sums of floats begin with -0, which changes nothing. */
#include "cuda_emit.h"

enum { WARP = 32 };

typedef struct {
    CudaEmit *e;
    const Instr *scan;
    int32_t from, to;   /* operands */
    const char *type;   /* in which is computed */
    const char *memory; /* of an element of the argument */
    bool only;          /* nothing is stored but the part's result */
} Scan;

static void
put_identity(const Scan *s, Text *out)
{
    DType dtype = s->scan->dtype;
    const char *value = s->scan->op == OP_cumprod ? "1" : dtype_is_float(dtype) ? "-0.0" : "0";
    text_printf(out, "(%s)%s", s->type, value);
}

/* "to = left op right;" */
static void
combine(const Scan *s, const char *to, const char *left, const char *right)
{
    const char *args[2] = {left, right};
    Text text = {0};
    cuda_expression(s->e, op_info(s->scan->op)->cuda, s->scan->dtype, args, &text);
    cuda_line(s->e, "%s = %s;", to, text.data);
    text_free(&text);
}

static void
declare_identity(const Scan *s, const char *name)
{
    Text identity = {0};
    put_identity(s, &identity);
    cuda_line(s->e, "%s %s = %s;", s->type, name, identity.data);
    text_free(&identity);
}

/* "*(type *)(address of the operand's element `at`)" */
static void
put_element(const Scan *s, int32_t operand, const char *at, Text *out)
{
    const char *position = s->e->position;
    s->e->position = at;
    text_printf(out, "*(%s *)(", cuda_memory_type(s->e->kernel->operands.at[operand].dtype));
    cuda_address(s->e, operand, out);
    text_put(out, ")");
    s->e->position = position;
}

/* The element `of` of what was loaded, converted. */
static void
put_value(const Scan *s, const char *of, Text *out)
{
    bool logic = s->scan->from == DT_BOOL;
    text_printf(out, "(%s)%s%s%s", s->type, logic ? "(" : "", of, logic ? " != 0)" : "");
}

/* ---- rows ---- */

/* A function of the kernel: the thread's elements from `first` on, of which those behind `end` may
   be anything. */
static void
declare_load(const Scan *s)
{
    CudaEmit *e = s->e;
    const CudaKernel *c = &e->kernel->cuda;
    Text place = {0};
    cuda_block(e, "const auto load = [&](const %s first)", cuda_index(e));
    cuda_line(e, "Pack<%s, %d> x;", s->memory, c->each);
    if (c->pack > 1) {
        e->position = "first";
        cuda_address(e, s->from, &place);
        cuda_line(e, "if (first < end) x = *(const Pack<%s, %d> *)(%s);", s->memory, c->each,
                  place.data);
    } else {
        cuda_line(e, "#pragma unroll");
        cuda_block(e, "for (int e = 0; e < %d; e++)", c->each);
        cuda_line(e, "const %s at = first + e;", cuda_index(e));
        put_element(s, s->from, "at", &place);
        cuda_line(e, "if (at < end) x.at[e] = %s;", place.data);
        cuda_end(e);
    }
    cuda_line(e, "return x;");
    e->indent--;
    cuda_line(e, "};");
    text_free(&place);
}

/* `a` becomes what the threads of the block, which has one row, make of theirs together. */
static void
combine_block(const Scan *s, const char *a)
{
    CudaEmit *e = s->e;
    int warps = e->kernel->cuda.lanes / WARP;
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int o = %d; o > 0; o /= 2)", WARP / 2);
    cuda_line(e, "const %s other = __shfl_xor_sync(0xffffffffu, %s, o);", s->type, a);
    combine(s, a, a, "other");
    cuda_end(e);
    cuda_line(e, "__shared__ %s each[%d];", s->type, warps);
    cuda_line(e, "if (threadIdx.x %% %d == 0) each[threadIdx.x / %d] = %s;", WARP, WARP, a);
    cuda_line(e, "__syncthreads();");
    cuda_line(e, "%s = each[0];", a);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int o = 1; o < %d; o++)", warps);
    combine(s, a, a, "each[o]");
    cuda_end(e);
}

/* What the part makes. */
static void
reduce_part(const Scan *s)
{
    CudaEmit *e = s->e;
    const CudaKernel *c = &e->kernel->cuda;
    Text value = {0}, place = {0};
    put_value(s, "x.at[e]", &value);
    declare_identity(s, "sum");
    cuda_line(e, "#pragma unroll 4");
    cuda_block(e, "for (%s first = begin + lane * %d; first < end; first += %d)", cuda_index(e),
               c->each, c->lanes * c->each);
    cuda_line(e, "const Pack<%s, %d> x = load(first);", s->memory, c->each);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", c->each);
    if (c->pack == 1) cuda_line(e, "if (first + e >= end) break;");
    combine(s, "sum", "sum", value.data);
    cuda_end(e);
    cuda_end(e);
    combine_block(s, "sum");
    cuda_partial(e, 0, s->type, "part", &place);
    cuda_line(e, "if (lane == 0) %s = sum;", place.data);
    text_free(&value);
    text_free(&place);
}

/* Declares `before`: what the elements of the tile before the thread's make; and `whole`: what all
   of them make. */
static void
scan_lanes(const Scan *s)
{
    CudaEmit *e = s->e;
    int lanes = e->kernel->cuda.lanes, warps = lanes / WARP;
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int o = 1; o < %d; o *= 2)", WARP);
    cuda_line(e, "const %s other = __shfl_up_sync(0xffffffffu, sum, o);", s->type);
    cuda_block(e, "if (threadIdx.x %% %d >= o)", WARP);
    combine(s, "sum", "other", "sum");
    cuda_end(e);
    cuda_end(e);
    cuda_line(e, "%s before = __shfl_up_sync(0xffffffffu, sum, 1);", s->type);
    Text identity = {0};
    put_identity(s, &identity);
    cuda_line(e, "if (threadIdx.x %% %d == 0) before = %s;", WARP, identity.data);
    text_free(&identity);
    if (warps == 1) {
        cuda_line(e, "const %s whole = __shfl_sync(0xffffffffu, sum, %d);", s->type, WARP - 1);
        return;
    }
    cuda_line(e, "__shared__ %s warps[%d];", s->type, warps);
    cuda_line(e, "if (threadIdx.x %% %d == %d) warps[threadIdx.x / %d] = sum;", WARP, WARP - 1,
              WARP);
    cuda_line(e, "__syncthreads();");
    declare_identity(s, "whole");
    declare_identity(s, "earlier");
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int o = 0; o < %d; o++)", warps);
    cuda_line(e, "if (o == (int)threadIdx.x / %d) earlier = whole;", WARP);
    combine(s, "whole", "whole", "warps[o]");
    cuda_end(e);
    cuda_line(e, "__syncthreads();");
    combine(s, "before", "earlier", "before");
}

static void
store_tile(const Scan *s)
{
    CudaEmit *e = s->e;
    const CudaKernel *c = &e->kernel->cuda;
    const char *guard = c->lanes < c->threads ? "live && " : "";
    const char *memory = cuda_memory_type(e->kernel->operands.at[s->to].dtype);
    Text place = {0};
    if (c->pack > 1) {
        e->position = "first";
        cuda_address(e, s->to, &place);
        cuda_line(e, "Pack<%s, %d> y;", memory, c->each);
        cuda_line(e, "#pragma unroll");
        cuda_line(e, "for (int e = 0; e < %d; e++) y.at[e] = (%s)a[e];", c->each, memory);
        cuda_line(e, "if (%sfirst < end) *(Pack<%s, %d> *)(%s) = y;", guard, memory, c->each,
                  place.data);
    } else {
        cuda_line(e, "#pragma unroll");
        cuda_block(e, "for (int e = 0; e < %d; e++)", c->each);
        cuda_line(e, "const %s at = first + e;", cuda_index(e));
        put_element(s, s->to, "at", &place);
        cuda_line(e, "if (%sat < end) %s = (%s)a[e];", guard, place.data, memory);
        cuda_end(e);
    }
    text_free(&place);
}

static void
scan_tiles(const Scan *s)
{
    CudaEmit *e = s->e;
    const CudaKernel *c = &e->kernel->cuda;
    const char *index = cuda_index(e);
    int tile = c->lanes * c->each;
    Text value = {0}, identity = {0};
    put_value(s, "x.at[e]", &value);
    put_identity(s, &identity);
    cuda_line(e, "Pack<%s, %d> next = load(begin + lane * %d);", s->memory, c->each, c->each);
    cuda_block(e, "for (%s tile = begin; tile < end; tile += %d)", index, tile);
    cuda_line(e, "const %s first = tile + lane * %d;", index, c->each);
    cuda_line(e, "const Pack<%s, %d> x = next;", s->memory, c->each);
    cuda_line(e, "if (tile + %d < end) next = load(first + %d);", tile, tile);
    cuda_line(e, "%s a[%d];", s->type, c->each);
    cuda_line(e, "#pragma unroll");
    cuda_line(e, "for (int e = 0; e < %d; e++) a[e] = first + e < end ? %s : %s;", c->each,
              value.data, identity.data);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 1; e < %d; e++)", c->each);
    combine(s, "a[e]", "a[e - 1]", "a[e]");
    cuda_end(e);
    cuda_line(e, "%s sum = a[%d];", s->type, c->each - 1);
    scan_lanes(s);
    combine(s, "before", "carry", "before");
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", c->each);
    combine(s, "a[e]", "before", "a[e]");
    cuda_end(e);
    store_tile(s);
    combine(s, "carry", "carry", "whole");
    cuda_end(e);
    text_free(&value);
    text_free(&identity);
}

/* `begin` and `end` of the part, a multiple of `tile` long. */
static void
declare_part(CudaEmit *e, int tile)
{
    const Kernel *k = e->kernel;
    const char *index = cuda_index(e);
    int row = k->size[k->nloops - 1], parts = k->cuda.parts;
    if (parts < 0) {
        cuda_line(e, "const %s begin = 0, end = n%d;", index, row);
        return;
    }
    cuda_line(e, "const %s part = (%s)blockIdx.x %% n%d;", index, index, parts);
    cuda_line(e, "const %s size = ((n%d + n%d - 1) / n%d + %d) / %d * %d, begin = part * size;",
              index, row, parts, parts, tile - 1, tile, tile);
    cuda_line(e, "const %s end = begin + size < n%d ? begin + size : n%d;", index, row, row);
}

static void
scan_rows(const Scan *s)
{
    CudaEmit *e = s->e;
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    const char *index = cuda_index(e);
    int row = k->nloops - 1;
    cuda_line(e, "const int lane = threadIdx.x %% %d;", c->lanes);
    declare_part(e, c->lanes * c->each);
    if (c->parts >= 0) {
        cuda_line(e, "const %s unit = (%s)blockIdx.x / n%d;", index, index, c->parts);
    } else {
        cuda_unit_of_lanes(e);
    }
    cuda_outer(e, row);
    if (row > 0) cuda_pointers(e, row);
    declare_load(s);
    if (s->only) {
        reduce_part(s);
        return;
    }
    declare_identity(s, "carry");
    if (c->parts >= 0) {
        Text place = {0};
        cuda_partial(e, 0, s->type, "p", &place);
        cuda_line(e, "for (%s p = lane; p < part; p += %d)", index, c->lanes);
        e->indent++;
        combine(s, "carry", "carry", place.data);
        e->indent--;
        combine_block(s, "carry");
        text_free(&place);
    }
    scan_tiles(s);
}

/* ---- columns ---- */

static void
walk_down(const Scan *s)
{
    CudaEmit *e = s->e;
    const CudaKernel *c = &e->kernel->cuda;
    const char *index = cuda_index(e);
    Text from = {0}, to = {0}, value = {0};
    put_element(s, s->from, "at", &from);
    put_element(s, s->to, "at", &to);
    put_value(s, "x[e]", &value);
    cuda_block(e, "for (%s first = begin; first < end; first += %d)", index, c->each);
    cuda_line(e, "%s x[%d];", s->memory, c->each);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", c->each);
    cuda_line(e, "const %s at = first + e;", index);
    cuda_line(e, "if (at < end) x[e] = %s;", from.data);
    cuda_end(e);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", c->each);
    cuda_line(e, "const %s at = first + e;", index);
    cuda_line(e, "if (at >= end) break;");
    combine(s, "carry", "carry", value.data);
    if (!s->only)
        cuda_line(e, "%s = (%s)carry;", to.data,
                  cuda_memory_type(e->kernel->operands.at[s->to].dtype));
    cuda_end(e);
    cuda_end(e);
    text_free(&from);
    text_free(&to);
    text_free(&value);
}

static void
scan_columns(const Scan *s)
{
    CudaEmit *e = s->e;
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    const char *index = cuda_index(e);
    Text place = {0};
    declare_part(e, c->each);
    if (c->parts >= 0)
        cuda_line(e, "const %s unit = (%s)blockIdx.x / n%d * %d + (int)threadIdx.x;", index, index,
                  c->parts, c->threads);
    else
        cuda_line(e, "const %s unit = (%s)blockIdx.x * %d + (int)threadIdx.x;", index, index,
                  c->threads);
    cuda_line(e, "if (unit >= n%d) return;", c->units);
    cuda_outer(e, k->nloops - 1);
    cuda_pointers(e, k->nloops - 1);
    declare_identity(s, "carry");
    if (c->parts >= 0 && !s->only) {
        cuda_partial(e, 0, s->type, "p", &place);
        cuda_line(e, "#pragma unroll 8");
        cuda_line(e, "for (%s p = 0; p < part; p++)", index);
        e->indent++;
        combine(s, "carry", "carry", place.data);
        e->indent--;
        text_free(&place);
    }
    walk_down(s);
    if (s->only) {
        cuda_partial(e, 0, s->type, "part", &place);
        cuda_line(e, "%s = carry;", place.data);
        text_free(&place);
    }
}

void
cuda_scan(CudaEmit *e, bool done)
{
    Scan s = {.e = e, .only = e->kernel->cuda.parts >= 0 && !done};
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        if (v->kind == INSTR_OP) s.scan = v;
        if (v->kind == INSTR_LOAD) s.from = v->operand;
        if (v->kind == INSTR_STORE) s.to = v->operand;
    }
    s.type = cuda_type(s.scan->dtype);
    s.memory = cuda_memory_type(s.scan->from);
    if (e->kernel->cuda.lanes > 1)
        scan_rows(&s);
    else
        scan_columns(&s);
}
