/* Packs: elements that lie side by side in a row, read and written in one access.  A body of the
   loop over elements finds what was read at "x0" + CudaEmit.read and leaves what it stores at
   "y0" + CudaEmit.written; with a pack of 1 that is an element. */
#include "cuda_emit.h"

/* Marks the instructions from which the value is computed in this stage. */
static void
mark_needed(CudaEmit *e, int32_t at, int stage)
{
    const Instr *v = cuda_instr(e, at);
    if (v->level != LEVEL_ELEMENT || v->kind == INSTR_REDUCE || e->needed[at] == stage + 1) return;
    if (e->held[at] && v->stage < stage) return;
    e->needed[at] = stage + 1;
    for (int a = 0; a < v->nargs; a++) mark_needed(e, v->args[a], stage);
}

void
cuda_packs_begin(CudaEmit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        if (v->stage != stage || (v->kind != INSTR_STORE && v->kind != INSTR_REDUCE && !e->held[i]))
            continue;
        if (v->kind == INSTR_STORE && v->level != LEVEL_ELEMENT) continue;
        if (v->kind == INSTR_REDUCE)
            mark_needed(e, v->args[0], stage);
        else
            mark_needed(e, i, stage);
    }
}

static bool
is_packed(const CudaEmit *e, int32_t at, InstrKind kind, int stage)
{
    const Instr *v = cuda_instr(e, at);
    if (v->kind != kind || v->level != LEVEL_ELEMENT) return false;
    if (kind == INSTR_STORE)
        return v->stage == stage && cuda_instr(e, v->args[0])->kind != INSTR_REDUCE;
    if (e->kernel->operands.at[v->operand].turned) return false; /* cuda_rows.c */
    return !e->kernel->operands.at[v->operand].by_value &&
           (stage < 0 || e->needed[at] == stage + 1) &&
           !(stage >= 0 && e->kernel->cuda.each > 0 && v->stage < stage);
}

bool
cuda_is_shared(const CudaEmit *e, int32_t operand)
{
    const Kernel *k = e->kernel;
    for (int i = 0; i < k->nloops - 1; i++)
        if (k->operands.at[operand].stride[i] != STRIDE_ZERO) return false;
    return e->walks;
}

bool
cuda_has_packs(const CudaEmit *e, InstrKind kind, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_packed(e, i, kind, stage)) return true;
    return false;
}

void
cuda_declare_packs(CudaEmit *e, InstrKind kind, int stage, int count)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_packed(e, i, kind, stage)) continue;
        int operand = cuda_instr(e, i)->operand;
        char array[16] = "";
        if (count > 0 && !cuda_is_shared(e, operand)) snprintf(array, sizeof array, "[%d]", count);
        cuda_line(e, "Pack<%s, %d> %c%d%s;",
                  cuda_memory_type(e->kernel->operands.at[operand].dtype), e->pack,
                  kind == INSTR_LOAD ? 'x' : 'y', operand, array);
    }
}

/* Does a kernel that only reduces read each element of the operand once, in accesses of 16 bytes?
   Then they need not stay in any cache: column sums of 8192^2 floats on an H200 from 95.5 % of a
   copy's speed to 97.  With the stores of a softmax beside them such loads are slower. */
static bool
is_read_once(CudaEmit *e, int operand)
{
    const Kernel *k = e->kernel;
    const Operand *o = &k->operands.at[operand];
    bool reduces = false;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        reduces = reduces || v->kind == INSTR_REDUCE;
        if (v->stage > 0 && (v->kind == INSTR_REDUCE || v->level == LEVEL_ELEMENT) &&
            (v->kind != INSTR_STORE || cuda_instr(e, v->args[0])->kind != INSTR_REDUCE))
            return false;
        if (v->stage == 0 && v->kind == INSTR_STORE && v->level == LEVEL_ELEMENT) return false;
    }
    if (!reduces || k->in_place || o->stored || e->pack * (int)dtype_size(o->dtype) != 16)
        return false;
    for (int i = 0; i < k->nloops; i++)
        if (o->stride[i] == STRIDE_ZERO) return false;
    cuda_helper(e, "streamed", strlen("streamed"));
    return true;
}

void
cuda_move_packs(CudaEmit *e, InstrKind kind, int stage, const char *subscript, const char *first)
{
    const char *position = e->position;
    e->position = first;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_packed(e, i, kind, stage)) continue;
        int operand = cuda_instr(e, i)->operand, pack = e->pack;
        const char *type = cuda_memory_type(e->kernel->operands.at[operand].dtype);
        Text address = {0};
        cuda_address(e, operand, &address);
        if (kind == INSTR_LOAD && cuda_is_shared(e, operand))
            cuda_line(e, "if (i == 0) x%d = *(const Pack<%s, %d> *)(%s);", operand, type, pack,
                      address.data);
        else if (kind == INSTR_LOAD && is_read_once(e, operand))
            cuda_line(e, "x%d%s = streamed((const Pack<%s, %d> *)(%s));", operand, subscript, type,
                      pack, address.data);
        else if (kind == INSTR_LOAD)
            cuda_line(e, "x%d%s = *(const Pack<%s, %d> *)(%s);", operand, subscript, type, pack,
                      address.data);
        else
            cuda_line(e, "*(Pack<%s, %d> *)(%s) = y%d%s;", type, pack, address.data, operand,
                      subscript);
        text_free(&address);
    }
    e->position = position;
}

/* One by one, those before the row's end. */
static void
move_elements(CudaEmit *e, InstrKind kind, const char *first, const char *limit)
{
    const char *position = e->position;
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", e->pack);
    cuda_line(e, "const bool in = %s + e < %s;", first, limit);
    e->position = first;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_packed(e, i, kind, 0)) continue;
        int operand = cuda_instr(e, i)->operand;
        const char *type = cuda_memory_type(e->kernel->operands.at[operand].dtype);
        Text address = {0};
        cuda_address(e, operand, &address);
        if (kind == INSTR_LOAD)
            cuda_line(e, "x%d.at[e] = in ? ((const %s *)(%s))[e] : (%s)0;", operand, type,
                      address.data, type);
        else
            cuda_line(e, "if (in) ((%s *)(%s))[e] = y%d.at[e];", type, address.data, operand);
        text_free(&address);
    }
    e->position = position;
    cuda_end(e);
}

void
cuda_move_within(CudaEmit *e, InstrKind kind, const char *first)
{
    char limit[16];
    if (!cuda_has_packs(e, kind, 0)) return;
    if (e->pack == 1) {
        cuda_move_packs(e, kind, 0, "", first);
        return;
    }
    snprintf(limit, sizeof limit, "n%d", e->kernel->size[e->kernel->nloops - 1]);
    cuda_block(e, "if (%s + %d <= %s)", first, e->pack, limit);
    cuda_move_packs(e, kind, 0, "", first);
    e->indent--;
    cuda_block(e, "} else");
    move_elements(e, kind, first, limit);
    cuda_end(e);
}

void
cuda_store_elements(CudaEmit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_packed(e, i, INSTR_STORE, stage)) cuda_store(e, i);
}
