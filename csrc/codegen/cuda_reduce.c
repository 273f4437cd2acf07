/* Reductions in CUDA.  Each thread accumulates elements of its row or column in their order;
   neighbours are combined by a tree of fixed shape, warps and parts in their order: the same bits
   in each run. */
#include "cuda_emit.h"

static bool
is_reduction(const CudaEmit *e, int32_t at, int stage)
{
    const Instr *v = cuda_instr(e, at);
    return v->kind == INSTR_REDUCE && v->stage == stage;
}

static bool
has_loop(const CudaEmit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        if (v->stage == stage && (v->kind == INSTR_REDUCE || v->level == LEVEL_ELEMENT) &&
            (v->kind == INSTR_REDUCE || v->kind == INSTR_STORE || e->held[i]))
            return true;
    }
    return false;
}

static void
declare_accumulators(CudaEmit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_reduction(e, i, stage)) continue;
        Text identity = {0};
        cuda_identity(cuda_instr(e, i), &identity);
        cuda_line(e, "%s a%d = %s;", cuda_type(cuda_instr(e, i)->dtype), i, identity.data);
        text_free(&identity);
    }
}

/* What the loop's body stores, holds and accumulates in the stage. */
static void
emit_roots(CudaEmit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        Text name = {0};
        char acc[16];
        if (v->stage != stage || (v->level != LEVEL_ELEMENT && v->kind != INSTR_REDUCE)) continue;
        if (v->kind == INSTR_STORE && cuda_instr(e, v->args[0])->kind != INSTR_REDUCE) {
            cuda_store(e, i);
        } else if (v->kind == INSTR_REDUCE) {
            cuda_value(e, v->args[0], &name);
            snprintf(acc, sizeof acc, "a%d", i);
            cuda_combine(e, i, acc, name.data);
        } else if (e->held[i]) {
            cuda_value(e, i, &name);
            cuda_line(e, "h%d[e] = %s;", i, name.data);
        }
        text_free(&name);
    }
}

/* What lanes exchange: small types as int. */
static const char *
shuffled(DType dtype)
{
    return dtype_size(dtype) < 4 ? "int" : cuda_type(dtype);
}

/* Combines a<at> over `lanes` neighbouring threads, each of which gets the result, as s<at>. */
static void
combine_lanes(CudaEmit *e, int32_t at, int lanes)
{
    DType dtype = cuda_instr(e, at)->dtype;
    const char *type = cuda_type(dtype);
    char acc[16], other[16];
    snprintf(acc, sizeof acc, "a%d", at);
    snprintf(other, sizeof other, "b%d", at);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int o = %d; o > 0; o /= 2)", (lanes < 32 ? lanes : 32) / 2);
    cuda_line(e, "const %s %s = (%s)__shfl_xor_sync(0xffffffffu, (%s)%s, o);", type, other, type,
              shuffled(dtype), acc);
    cuda_combine(e, at, acc, other);
    cuda_end(e);
    if (lanes > 32) {
        cuda_line(e, "__shared__ %s w%d[%d];", type, at, lanes / 32);
        cuda_line(e, "if (threadIdx.x %% 32 == 0) w%d[threadIdx.x / 32] = a%d;", at, at);
        cuda_line(e, "__syncthreads();");
        cuda_line(e, "a%d = w%d[0];", at, at);
        cuda_block(e, "for (int o = 1; o < %d; o++)", lanes / 32);
        snprintf(other, sizeof other, "w%d[o]", at);
        cuda_combine(e, at, acc, other);
        cuda_end(e);
    }
    cuda_line(e, "const %s s%d = a%d;", type, at, at);
}

static void
combine_stage(CudaEmit *e, int stage, int lanes)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_reduction(e, i, stage)) combine_lanes(e, i, lanes);
}

/* Stores of values that there are once per row, of all stages, under a condition. */
static void
store_rows(CudaEmit *e, const char *condition)
{
    bool any = false;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        bool column = v->kind == INSTR_STORE && cuda_instr(e, v->args[0])->kind == INSTR_REDUCE;
        if (v->kind != INSTR_STORE || (v->level == LEVEL_ELEMENT && !column)) continue;
        if (!any) cuda_block(e, "if (%s)", condition);
        any = true;
        cuda_store(e, i);
    }
    if (any) cuda_end(e);
}

/* Where the result of a part is: as many for each reduction as there are parts, one per unit. */
static void
put_partial(const CudaEmit *e, int32_t at, const char *part, Text *out)
{
    int before = 0;
    for (int i = 0; i < at; i++) before += cuda_instr(e, i)->kind == INSTR_REDUCE;
    text_printf(out, "*(%s *)(p%d + (((long long)%d * n%d + %s) * n%d + unit) * 8)",
                cuda_type(cuda_instr(e, at)->dtype), e->kernel->cuda.partial, before,
                e->kernel->cuda.parts, part, e->kernel->cuda.units);
}

static void
store_parts(CudaEmit *e, const char *condition)
{
    cuda_block(e, "if (%s)", condition);
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        Text place = {0};
        if (cuda_instr(e, i)->kind != INSTR_REDUCE) continue;
        put_partial(e, i, "part", &place);
        cuda_line(e, "%s = s%d;", place.data, i);
        text_free(&place);
    }
    cuda_end(e);
}

/* ---- rows ---- */

static void
declare_held(CudaEmit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (e->held[i])
            cuda_line(e, "%s h%d[%d];", cuda_type(cuda_instr(e, i)->dtype), i,
                      e->kernel->cuda.each);
}

static void
row_loop(CudaEmit *e, int stage)
{
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    int row = k->size[k->nloops - 1];
    if (!has_loop(e, stage)) return;
    if (c->each > 0) {
        cuda_line(e, "#pragma unroll");
        cuda_block(e, "for (int e = 0; e < %d; e++)", c->each);
        cuda_line(e, "const %s j = lane + e * %d;", cuda_index(e), c->lanes);
        cuda_block(e, "if (live && j < n%d)", row);
    } else if (c->parts >= 0) {
        cuda_line(e, "#pragma unroll 8");
        cuda_block(e, "for (%s j = begin + lane; j < end; j += %d)", cuda_index(e), c->lanes);
    } else {
        cuda_line(e, "#pragma unroll 4");
        cuda_block(e, "for (%s j = lane; live && j < n%d; j += %d)", cuda_index(e), row, c->lanes);
    }
    cuda_body(e, stage);
    emit_roots(e, stage);
    if (c->each > 0) cuda_end(e);
    cuda_end(e);
}

void
cuda_reduced_rows(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    const char *index = cuda_index(e);
    int row = k->nloops - 1;
    if (c->parts >= 0) {
        cuda_line(e, "const %s part = (%s)blockIdx.x %% n%d, unit = (%s)blockIdx.x / n%d;", index,
                  index, c->parts, index, c->parts);
        cuda_line(e, "const %s size = (n%d + n%d - 1) / n%d, begin = part * size;", index,
                  k->size[row], c->parts, c->parts);
        cuda_line(e, "const %s end = begin + size < n%d ? begin + size : n%d;", index, k->size[row],
                  k->size[row]);
        cuda_line(e, "const int lane = threadIdx.x;");
    } else {
        cuda_line(e, "const int lane = threadIdx.x %% %d;", c->lanes);
        cuda_line(e, "const %s wanted = (%s)blockIdx.x * %d + (int)threadIdx.x / %d;", index, index,
                  c->threads / c->lanes, c->lanes);
        cuda_line(e, "const bool live = wanted < n%d;", c->units);
        cuda_line(e, "const %s unit = live ? wanted : 0;", index);
    }
    cuda_outer(e, row);
    if (row > 0) cuda_pointers(e, row);
    declare_held(e);
    for (int stage = 0; stage < k->nstages; stage++) {
        if (c->parts >= 0 && stage > 0) break;
        cuda_scalars(e, LEVEL_ROW, stage);
        declare_accumulators(e, stage);
        row_loop(e, stage);
        combine_stage(e, stage, c->lanes);
    }
    if (c->parts >= 0)
        store_parts(e, "lane == 0");
    else
        store_rows(e, "live && lane == 0");
}

/* ---- columns ---- */

/* Eight threads share a column. */
void
cuda_columns(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    const char *index = cuda_index(e);
    int row = k->nloops - 1, down = row - 1, ways = c->threads / c->lanes;
    cuda_line(e, "const %s wide = (n%d + %d) / %d;", index, k->size[row], c->lanes - 1, c->lanes);
    cuda_line(e, "%s group = blockIdx.x;", index);
    if (c->parts >= 0) {
        cuda_line(e, "const %s part = group %% n%d;", index, c->parts);
        cuda_line(e, "group /= n%d;", c->parts);
        cuda_line(e, "const %s size = (n%d + n%d - 1) / n%d, begin = part * size;", index,
                  k->size[down], c->parts, c->parts);
        cuda_line(e, "const %s end = begin + size < n%d ? begin + size : n%d;", index,
                  k->size[down], k->size[down]);
    } else {
        cuda_line(e, "const %s begin = 0, end = n%d;", index, k->size[down]);
    }
    cuda_line(e, "const int lane = threadIdx.x %% %d, way = threadIdx.x / %d;", c->lanes, c->lanes);
    cuda_line(e, "const %s outer = group / wide;", index);
    cuda_line(e, "const %s j = (group - outer * wide) * %d + lane;", index, c->lanes);
    cuda_line(e, "const bool live = j < n%d;", k->size[row]);
    declare_accumulators(e, 0);
    cuda_line(e, "#pragma unroll 4");
    cuda_block(e, "for (%s i%d = begin + way; live && i%d < end; i%d += %d)", index, down, down,
               down, ways);
    cuda_line(e, "const %s unit = outer;", index);
    cuda_outer(e, down);
    cuda_pointers(e, row);
    cuda_scalars(e, LEVEL_ROW, 0);
    cuda_body(e, 0);
    emit_roots(e, 0);
    cuda_end(e);
    for (int i = 0; i < k->instrs.len; i++) {
        if (!is_reduction(e, i, 0)) continue;
        char acc[16], other[24];
        const char *type = cuda_type(cuda_instr(e, i)->dtype);
        snprintf(acc, sizeof acc, "a%d", i);
        snprintf(other, sizeof other, "w%d[o][lane]", i);
        cuda_line(e, "__shared__ %s w%d[%d][%d];", type, i, ways, c->lanes);
        cuda_line(e, "w%d[way][lane] = a%d;", i, i);
        cuda_line(e, "__syncthreads();");
        cuda_block(e, "for (int o = 1; way == 0 && o < %d; o++)", ways);
        cuda_combine(e, i, acc, other);
        cuda_end(e);
        cuda_line(e, "const %s s%d = a%d;", type, i, i);
    }
    if (c->parts >= 0) {
        cuda_line(e, "const %s unit = outer * n%d + j;", index, k->size[row]);
        store_parts(e, "live && way == 0");
        return;
    }
    cuda_line(e, "const %s unit = outer;", index);
    cuda_outer(e, down);
    cuda_line(e, "const %s i%d = 0;", index, down);
    cuda_pointers(e, row);
    store_rows(e, "live && way == 0");
}

/* ---- the parts' results ---- */

/* The accumulators take up what part `part` of each row or column has left. */
static void
combine_part(CudaEmit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        Text place = {0};
        char acc[16];
        if (!is_reduction(e, i, 0)) continue;
        put_partial(e, i, "part", &place);
        snprintf(acc, sizeof acc, "a%d", i);
        cuda_combine(e, i, acc, place.data);
        text_free(&place);
    }
}

static void
columns_done(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const char *index = cuda_index(e);
    int row = k->nloops - 1, down = row - 1;
    cuda_line(e, "const %s unit = (%s)blockIdx.x * %d + (int)threadIdx.x;", index, index,
              k->cuda.threads);
    cuda_line(e, "if (unit >= n%d) return;", k->cuda.units);
    declare_accumulators(e, 0);
    cuda_block(e, "for (%s part = 0; part < n%d; part++)", index, k->cuda.parts);
    combine_part(e);
    cuda_end(e);
    for (int i = 0; i < k->instrs.len; i++)
        if (is_reduction(e, i, 0))
            cuda_line(e, "const %s s%d = a%d;", cuda_type(cuda_instr(e, i)->dtype), i, i);
    cuda_line(e, "const %s j = unit %% n%d, column = unit / n%d;", index, k->size[row],
              k->size[row]);
    cuda_line(e, "{");
    e->indent++;
    cuda_line(e, "const %s unit = column;", index);
    cuda_outer(e, down);
    cuda_line(e, "const %s i%d = 0;", index, down);
    cuda_pointers(e, row);
    store_rows(e, "true");
    cuda_end(e);
}

static void
rows_done(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const char *index = cuda_index(e);
    int row = k->nloops - 1;
    cuda_line(e, "const %s unit = blockIdx.x;", index);
    cuda_line(e, "const int lane = threadIdx.x;");
    if (k->nloops == 1) cuda_pointers(e, 0);
    cuda_scalars(e, LEVEL_ONCE, 0);
    cuda_outer(e, row);
    if (row > 0) cuda_pointers(e, row);
    cuda_scalars(e, LEVEL_ROW, 0);
    declare_accumulators(e, 0);
    cuda_block(e, "for (%s part = lane; part < n%d; part += %d)", index, k->cuda.parts,
               k->cuda.threads);
    combine_part(e);
    cuda_end(e);
    combine_stage(e, 0, k->cuda.threads);
    for (int stage = 1; stage < k->nstages; stage++) cuda_scalars(e, LEVEL_ROW, stage);
    store_rows(e, "lane == 0");
}

void
cuda_done(CudaEmit *e)
{
    if (e->kernel->kind == KERNEL_COLUMNS)
        columns_done(e);
    else
        rows_done(e);
}
