/* Reductions in CUDA.  Each thread accumulates elements of its row or column in their order;
   neighbours and the threads of a column are combined by a tree of fixed shape, warps and the parts
   of a row in their order: the same bits in each run. */
#include "cuda_emit.h"

static bool
is_reduction(const CudaEmit *e, int32_t at, int stage)
{
    const Instr *v = cuda_instr(e, at);
    return v->kind == INSTR_REDUCE && v->stage == stage;
}

static bool
finds(const CudaEmit *e, int32_t at)
{
    return op_finds(cuda_instr(e, at)->op);
}

/* `a<at><element>` as the reduction's value. */
static void
declare_result(CudaEmit *e, int32_t at, const char *element)
{
    cuda_line(e, "const %s s%d = a%d%s%s;", cuda_type(cuda_instr(e, at)->dtype), at, at, element,
              finds(e, at) ? ".at" : "");
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
        Text identity = {0}, type = {0};
        cuda_accumulator(e, cuda_instr(e, i), &type);
        cuda_identity(e, cuda_instr(e, i), &identity);
        if (e->sum[0] == '\0') {
            cuda_line(e, "%s a%d = %s;", type.data, i, identity.data);
        } else {
            cuda_line(e, "%s a%d[%d];", type.data, i, e->pack);
            cuda_line(e, "#pragma unroll");
            cuda_line(e, "for (int e = 0; e < %d; e++) a%d[e] = %s;", e->pack, i, identity.data);
        }
        text_free(&identity);
        text_free(&type);
    }
}

/* What an arg-reduction takes up of an element: in a row its place there, in a column its row. */
static void
put_found(CudaEmit *e, int32_t at, Text *name)
{
    Text value = {0};
    const Kernel *k = e->kernel;
    cuda_value(e, cuda_instr(e, at)->args[0], &value);
    cuda_accumulator(e, cuda_instr(e, at), name);
    text_printf(name, "{%s, ", value.data != NULL ? value.data : "");
    if (k->kind == KERNEL_COLUMNS)
        text_printf(name, "i%d}", k->nloops - 2);
    else
        text_put(name, "j}");
    text_free(&value);
}

/* What the loop's body stores, holds and accumulates in the stage. */
static void
emit_roots(CudaEmit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        Text name = {0};
        char acc[24];
        if (v->stage != stage) continue;
        if (v->kind == INSTR_REDUCE) {
            if (finds(e, i))
                put_found(e, i, &name);
            else
                cuda_value(e, v->args[0], &name);
            snprintf(acc, sizeof acc, "a%d%s", i, e->sum);
            cuda_combine(e, i, acc, name.data);
        } else if (e->held[i]) {
            cuda_value(e, i, &name);
            cuda_line(e, "h%d%s = %s;", i, e->kept, name.data);
        }
        text_free(&name);
    }
    cuda_store_elements(e, stage);
}

/* What lanes exchange: small types as int. */
static const char *
shuffled(DType dtype)
{
    return dtype_size(dtype) < 4 ? "int" : cuda_type(dtype);
}

/* Declares b<at>: a<at> of the lane whose number differs in the bit `o`. */
static void
put_other_lane(CudaEmit *e, int32_t at, const char *type)
{
    const Instr *v = cuda_instr(e, at);
    if (finds(e, at))
        cuda_line(e,
                  "const %s b%d = {(%s)__shfl_xor_sync(0xffffffffu, (%s)a%d.value, o), "
                  "__shfl_xor_sync(0xffffffffu, a%d.at, o)};",
                  type, at, cuda_type(v->from), shuffled(v->from), at, at);
    else
        cuda_line(e, "const %s b%d = (%s)__shfl_xor_sync(0xffffffffu, (%s)a%d, o);", type, at, type,
                  shuffled(v->dtype), at);
}

/* Combines a<at> over `lanes` neighbouring threads, each of which gets the result, as s<at>. */
static void
combine_lanes(CudaEmit *e, int32_t at, int lanes)
{
    Text type = {0};
    char acc[16], other[16];
    cuda_accumulator(e, cuda_instr(e, at), &type);
    snprintf(acc, sizeof acc, "a%d", at);
    snprintf(other, sizeof other, "b%d", at);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int o = %d; o > 0; o /= 2)", (lanes < 32 ? lanes : 32) / 2);
    put_other_lane(e, at, type.data);
    cuda_combine(e, at, acc, other);
    cuda_end(e);
    if (lanes > 32) {
        cuda_line(e, "__shared__ %s w%d[%d];", type.data, at, lanes / 32);
        cuda_line(e, "if (threadIdx.x %% 32 == 0) w%d[threadIdx.x / 32] = a%d;", at, at);
        cuda_line(e, "__syncthreads();");
        cuda_line(e, "a%d = w%d[0];", at, at);
        cuda_block(e, "for (int o = 1; o < %d; o++)", lanes / 32);
        snprintf(other, sizeof other, "w%d[o]", at);
        cuda_combine(e, at, acc, other);
        cuda_end(e);
    }
    declare_result(e, at, "");
    text_free(&type);
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

void
cuda_partial(const CudaEmit *e, int before, const char *type, const char *part, Text *out)
{
    const CudaKernel *c = &e->kernel->cuda;
    text_printf(out, "*(%s *)(p%d + (((long long)%d * n%d + %s) * n%d + unit) * %d)", type,
                c->partial, before, c->parts, part, c->units, c->slot);
}

/* The part's result of the reduction `at`. */
static void
put_partial(const CudaEmit *e, int32_t at, Text *out)
{
    int before = 0;
    Text type = {0};
    for (int i = 0; i < at; i++) before += cuda_instr(e, i)->kind == INSTR_REDUCE;
    cuda_accumulator(e, cuda_instr(e, at), &type);
    cuda_partial(e, before, type.data, "part", out);
    text_free(&type);
}

static void
store_parts(CudaEmit *e, const char *condition)
{
    cuda_block(e, "if (%s)", condition);
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        Text place = {0};
        if (cuda_instr(e, i)->kind != INSTR_REDUCE) continue;
        put_partial(e, i, &place);
        cuda_line(e, "%s = a%d%s;", place.data, i, e->sum);
        text_free(&place);
    }
    cuda_end(e);
}

/* ---- rows ---- */

static void
declare_held(CudaEmit *e)
{
    const CudaKernel *c = &e->kernel->cuda;
    if (c->each == 0) return;
    cuda_declare_packs(e, INSTR_LOAD, -1, c->each / c->pack);
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (e->held[i]) cuda_line(e, "%s h%d[%d];", cuda_type(cuda_instr(e, i)->dtype), i, c->each);
}

/* Begins a loop over the packs of the row that the thread holds; returns how many blocks to end. */
static int
each_pack(CudaEmit *e, bool stores)
{
    const CudaKernel *c = &e->kernel->cuda;
    int row = e->kernel->size[e->kernel->nloops - 1];
    bool live = stores && c->lanes < c->threads; /* the block may hold rows beyond the last */
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int p = 0; p < %d; p++)", c->each / c->pack);
    cuda_line(e, "const %s first = (lane + p * %d) * %d;", cuda_index(e), c->lanes, c->pack);
    if (!live && c->exact) return 1;
    cuda_block(e, "if (%sfirst < n%d)", live ? "live && " : "", row);
    return 2;
}

static void
end_blocks(CudaEmit *e, int count)
{
    while (count-- > 0) cuda_end(e);
}

static void
move_held(CudaEmit *e, InstrKind kind, int stage)
{
    if (!cuda_has_packs(e, kind, stage)) return;
    int blocks = each_pack(e, kind == INSTR_STORE);
    cuda_move_packs(e, kind, stage, "[p]", "first");
    end_blocks(e, blocks);
}

/* All loads, then all computation, then all stores: as many accesses as there are packs are under
   way at once. */
static void
held_stage(CudaEmit *e, int stage)
{
    const CudaKernel *c = &e->kernel->cuda;
    char kept[32];
    snprintf(kept, sizeof kept, "[p * %d + e]", c->pack);
    e->read = e->written = "[p].at[e]";
    e->kept = kept;
    move_held(e, INSTR_LOAD, stage);
    cuda_declare_packs(e, INSTR_STORE, stage, c->each / c->pack);
    int blocks = each_pack(e, false);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", c->pack);
    cuda_line(e, "const %s j = first + e;", cuda_index(e));
    cuda_body(e, stage);
    emit_roots(e, stage);
    end_blocks(e, blocks + 1);
    move_held(e, INSTR_STORE, stage);
    e->read = e->written = ".at[e]";
}

/* Goes through the row from `first` on, a pack at a time. */
static void
walked_stage(CudaEmit *e, int stage, int unroll)
{
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    cuda_line(e, "#pragma unroll %d", unroll);
    if (c->parts >= 0)
        cuda_block(e, "for (%s first = begin + lane * %d; first < end; first += %d)", cuda_index(e),
                   c->pack, c->lanes * c->pack);
    else
        cuda_block(e, "for (%s first = lane * %d; first < n%d; first += %d)", cuda_index(e),
                   c->pack, k->size[k->nloops - 1], c->lanes * c->pack);
    cuda_declare_packs(e, INSTR_LOAD, stage, 0);
    cuda_move_packs(e, INSTR_LOAD, stage, "", "first");
    cuda_declare_packs(e, INSTR_STORE, stage, 0);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", c->pack);
    cuda_line(e, "const %s j = first + e;", cuda_index(e));
    cuda_body(e, stage);
    emit_roots(e, stage);
    cuda_end(e);
    if (cuda_has_packs(e, INSTR_STORE, stage)) {
        if (c->parts < 0) cuda_block(e, "if (live)");
        cuda_move_packs(e, INSTR_STORE, stage, "", "first");
        if (c->parts < 0) cuda_end(e);
    }
    cuda_end(e);
}

static void
row_loop(CudaEmit *e, int stage)
{
    enum { PACKS_AHEAD = 4 };
    cuda_packs_begin(e, stage);
    if (!has_loop(e, stage)) return;
    if (e->kernel->cuda.each > 0)
        held_stage(e, stage);
    else
        walked_stage(e, stage, e->pack > 1 ? PACKS_AHEAD : 2 * PACKS_AHEAD);
}

void
cuda_unit_of_lanes(CudaEmit *e)
{
    const CudaKernel *c = &e->kernel->cuda;
    const char *index = cuda_index(e);
    cuda_line(e, "const %s wanted = (%s)blockIdx.x * %d + (int)threadIdx.x / %d;", index, index,
              c->threads / c->lanes, c->lanes);
    cuda_line(e, "const bool live = wanted < n%d;", c->units);
    cuda_line(e, "const %s unit = live ? wanted : 0;", index);
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
        cuda_line(e, "const %s size = (n%d / %d + n%d - 1) / n%d * %d, begin = part * size;", index,
                  k->size[row], c->pack, c->parts, c->parts, c->pack);
        cuda_line(e, "const %s end = begin + size < n%d ? begin + size : n%d;", index, k->size[row],
                  k->size[row]);
        cuda_line(e, "const int lane = threadIdx.x;");
    } else {
        cuda_line(e, "const int lane = threadIdx.x %% %d;", c->lanes);
        cuda_unit_of_lanes(e);
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

/* The row of a column's loop in which the kernel is: its pointers. */
static void
column_row(CudaEmit *e, bool at_begin)
{
    int row = e->kernel->nloops - 1, down = row - 1;
    cuda_line(e, "const %s unit = outer;", cuda_index(e));
    cuda_outer(e, down);
    if (at_begin) cuda_line(e, "const %s i%d = 0;", cuda_index(e), down);
    cuda_pointers(e, row);
}

/* Combines what the `ways` threads of each of `lanes` columns have, by a tree: sums of as many
   addends are added up, so that few roundings are of the whole sum.  The reductions take turns in
   one piece of shared memory. */
static void
combine_ways(CudaEmit *e, int ways, int lanes)
{
    bool first = true;
    int bytes = Py_MAX(e->kernel->cuda.slot, (int)sizeof(int64_t));
    cuda_line(e, "__shared__ long long shared[%d];", ways * e->pack * lanes * bytes / 8);
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_reduction(e, i, 0)) continue;
        Text type = {0};
        cuda_accumulator(e, cuda_instr(e, i), &type);
        if (!first) cuda_line(e, "__syncthreads();");
        first = false;
        cuda_line(e, "%s *const w%d = (%s *)shared + lane;", type.data, i, type.data);
        cuda_line(e, "#pragma unroll");
        cuda_line(e, "for (int e = 0; e < %d; e++) w%d[(way * %d + e) * %d] = a%d[e];", e->pack, i,
                  e->pack, lanes, i);
        cuda_line(e, "__syncthreads();");
        cuda_line(e, "#pragma unroll");
        cuda_block(e, "for (int e = 0; e < %d && way == 0; e++)", e->pack);
        cuda_line(e, "%s t[%d];", type.data, ways);
        text_free(&type);
        cuda_line(e, "#pragma unroll");
        cuda_line(e, "for (int o = 0; o < %d; o++) t[o] = w%d[(o * %d + e) * %d];", ways, i,
                  e->pack, lanes);
        cuda_line(e, "#pragma unroll");
        cuda_line(e, "for (int half = %d; half > 0; half /= 2)", ways / 2);
        cuda_line(e, "#pragma unroll");
        cuda_block(e, "for (int o = 0; o < half; o++)");
        cuda_combine(e, i, "t[o]", "t[o + half]");
        cuda_end(e);
        cuda_line(e, "a%d[e] = t[0];", i);
        cuda_end(e);
    }
    cuda_line(e, "if (way != 0 || !live) return;");
}

/* Eight threads share the columns of a pack. */
void
cuda_columns(CudaEmit *e)
{
    enum { ROWS_AHEAD = 8 };
    const Kernel *k = e->kernel;
    const CudaKernel *c = &k->cuda;
    const char *index = cuda_index(e);
    int row = k->nloops - 1, down = row - 1, ways = c->threads / c->lanes;
    int strip = c->lanes * c->pack, turn = ways * ROWS_AHEAD;
    e->sum = "[e]";
    cuda_packs_begin(e, 0);
    cuda_line(e, "const %s wide = (n%d + %d) / %d;", index, k->size[row], strip - 1, strip);
    cuda_line(e, "%s group = blockIdx.x;", index);
    if (c->parts >= 0) {
        cuda_line(e, "const %s part = group %% n%d;", index, c->parts);
        cuda_line(e, "group /= n%d;", c->parts);
        cuda_line(e, "const %s size = ((n%d + n%d - 1) / n%d + %d) / %d * %d, begin = part * size;",
                  index, k->size[down], c->parts, c->parts, turn - 1, turn, turn);
        cuda_line(e, "const %s end = begin + size < n%d ? begin + size : n%d;", index,
                  k->size[down], k->size[down]);
    } else {
        cuda_line(e, "const %s begin = 0, end = n%d;", index, k->size[down]);
    }
    cuda_line(e, "const int lane = threadIdx.x %% %d, way = threadIdx.x / %d;", c->lanes, c->lanes);
    cuda_line(e, "const %s outer = group / wide;", index);
    cuda_line(e, "const %s first = (group - outer * wide) * %d + lane * %d;", index, strip,
              c->pack);
    cuda_line(e, "const bool live = first < n%d;", k->size[row]);
    declare_accumulators(e, 0);
    cuda_block(e, "if (live)");
    cuda_line(e, "#pragma unroll %d", ROWS_AHEAD);
    cuda_block(e, "for (%s i%d = begin + way; i%d < end; i%d += %d)", index, down, down, down,
               ways);
    column_row(e, false);
    cuda_scalars(e, LEVEL_ROW, 0);
    cuda_declare_packs(e, INSTR_LOAD, 0, 0);
    cuda_move_packs(e, INSTR_LOAD, 0, "", "first");
    cuda_declare_packs(e, INSTR_STORE, 0, 0);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", c->pack);
    cuda_line(e, "const %s j = first + e;", index);
    cuda_body(e, 0);
    emit_roots(e, 0);
    cuda_end(e);
    cuda_move_packs(e, INSTR_STORE, 0, "", "first");
    cuda_end(e);
    cuda_end(e);
    combine_ways(e, ways, c->lanes);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", c->pack);
    cuda_line(e, "const %s j = first + e;", index);
    for (int i = 0; i < k->instrs.len; i++)
        if (is_reduction(e, i, 0)) declare_result(e, i, "[e]");
    if (c->parts >= 0) {
        cuda_line(e, "const %s unit = outer * n%d + j;", index, k->size[row]);
        store_parts(e, "true");
    } else {
        column_row(e, true);
        store_rows(e, "true");
    }
    cuda_end(e);
    e->sum = "";
}

/* ---- the parts' results ---- */

/* The accumulators take up what part `part` of each row or column has left. */
static void
combine_part(CudaEmit *e, const char *element)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        Text place = {0};
        char acc[16];
        if (!is_reduction(e, i, 0)) continue;
        put_partial(e, i, &place);
        snprintf(acc, sizeof acc, "a%d%s", i, element);
        cuda_combine(e, i, acc, place.data);
        text_free(&place);
    }
}

static void
columns_done(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    const char *index = cuda_index(e);
    int row = k->nloops - 1, ways = k->cuda.threads / DONE_COLUMNS;
    e->sum = "[e]";
    e->pack = 1;
    cuda_line(e, "const int lane = threadIdx.x %% %d, way = threadIdx.x / %d;", DONE_COLUMNS,
              DONE_COLUMNS);
    cuda_line(e, "const %s unit = (%s)blockIdx.x * %d + lane;", index, index, DONE_COLUMNS);
    cuda_line(e, "const bool live = unit < n%d;", k->cuda.units);
    declare_accumulators(e, 0);
    cuda_block(e, "if (live)");
    cuda_line(e, "#pragma unroll 8");
    cuda_block(e, "for (%s part = way; part < n%d; part += %d)", index, k->cuda.parts, ways);
    combine_part(e, "[0]");
    cuda_end(e);
    cuda_end(e);
    combine_ways(e, ways, DONE_COLUMNS);
    for (int i = 0; i < k->instrs.len; i++)
        if (is_reduction(e, i, 0)) declare_result(e, i, "[0]");
    cuda_line(e, "const %s j = unit %% n%d, outer = unit / n%d;", index, k->size[row],
              k->size[row]);
    cuda_line(e, "{");
    e->indent++;
    column_row(e, true);
    store_rows(e, "true");
    cuda_end(e);
    e->sum = "";
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
    combine_part(e, "");
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
