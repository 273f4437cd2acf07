/* Finds kernels that would have the same text before it is written: an unrolled loop has the same
   few kernels over and over.  Kernels that differ only in nodes, places and sizes are alike. */
#include "kernel.h"

static uint64_t
mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

uint64_t
kernel_hash(const Kernel *k)
{
    uint64_t hash = mix((uint64_t)k->kind, (uint64_t)k->nloops << 32 | (uint32_t)k->nstages);
    for (int i = 0; i < k->nloops; i++) hash = mix(hash, (uint32_t)k->size[i]);
    for (int i = 0; i < k->operands.len; i++) {
        const Operand *o = &k->operands.at[i];
        hash = mix(hash, (uint64_t)o->pointer << 8 | o->dtype);
        for (int loop = 0; loop < k->nloops; loop++) hash = mix(hash, (uint32_t)o->stride[loop]);
    }
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        hash = mix(hash, (uint64_t)v->kind << 32 | (uint64_t)v->op << 8 | v->dtype);
        hash = mix(hash, (uint64_t)v->operand << 32 | v->bits[0]);
        hash = mix(hash, (uint32_t)v->argument);
        for (int a = 0; a < v->nargs; a++) hash = mix(hash, (uint32_t)v->args[a]);
    }
    return hash;
}

static bool
same_operand(const Operand *a, const Operand *b, int nloops)
{
    return a->pointer == b->pointer && a->dtype == b->dtype && a->stored == b->stored &&
           memcmp(a->stride, b->stride, sizeof(int32_t) * (size_t)nloops) == 0 &&
           a->dense == b->dense && a->by_value == b->by_value && a->turned == b->turned &&
           (!a->turned || a->across == b->across);
}

static bool
same_instr(const Instr *a, const Instr *b)
{
    return a->kind == b->kind && a->op == b->op && a->dtype == b->dtype && a->from == b->from &&
           a->level == b->level && a->stage == b->stage && a->nargs == b->nargs &&
           (a->nargs == 0 || memcmp(a->args, b->args, sizeof(int32_t) * (size_t)a->nargs) == 0) &&
           a->operand == b->operand && a->loop == b->loop && a->order == b->order &&
           a->argument == b->argument && a->bits[0] == b->bits[0] && a->bits[1] == b->bits[1] &&
           a->home == b->home && a->guard == b->guard && a->slot == b->slot && a->wraps == b->wraps;
}

static bool
same_layout(const CudaKernel *a, const CudaKernel *b)
{
    return a->threads == b->threads && a->lanes == b->lanes && a->pack == b->pack &&
           a->each == b->each && a->exact == b->exact && a->wide == b->wide &&
           a->units == b->units && a->parts == b->parts && a->partial == b->partial &&
           a->slot == b->slot && memcmp(a->factor, b->factor, sizeof a->factor) == 0 &&
           a->score == b->score && a->slope == b->slope && a->part == b->part &&
           a->head == b->head && a->stages == b->stages && a->side == b->side &&
           a->turned_pack == b->turned_pack && a->along == b->along;
}

bool
kernel_alike(const Kernel *a, const Kernel *b)
{
    if (a->kind == KERNEL_REGION || a->kind != b->kind || a->nloops != b->nloops ||
        a->downs != b->downs || a->lone != b->lone || a->operands.len != b->operands.len ||
        a->instrs.len != b->instrs.len || a->nstages != b->nstages || a->nslots != b->nslots ||
        a->block != b->block || a->row_scratch != b->row_scratch || a->tile_rows != b->tile_rows ||
        a->mirrored != b->mirrored || a->parts != b->parts || a->short_rows != b->short_rows ||
        a->in_place != b->in_place || a->beside != b->beside || a->upright != b->upright ||
        a->read_soon != b->read_soon || a->waved != b->waved || a->flags != b->flags ||
        a->bounded != b->bounded || a->nparts != b->nparts || a->partial != b->partial)
        return false;
    if (a->device != b->device || (a->device != DEVICE_HOST && !same_layout(&a->cuda, &b->cuda)))
        return false;
    if (memcmp(a->size, b->size, sizeof(int32_t) * (size_t)a->nloops) != 0 ||
        memcmp(a->slot_bytes, b->slot_bytes, sizeof(int32_t) * (size_t)a->nslots) != 0)
        return false;
    for (int i = 0; i < a->operands.len; i++)
        if (!same_operand(&a->operands.at[i], &b->operands.at[i], a->nloops)) return false;
    for (int i = 0; i < a->instrs.len; i++)
        if (!same_instr(&a->instrs.at[i], &b->instrs.at[i])) return false;
    return true;
}
