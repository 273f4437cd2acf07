/* Rows of one element that are done as one row.

   Where a length varies, it may be 1: then there is one column, and each row would be a loop of its
   own.  A kernel with such lengths has a twin without the loop over the row.  The loop before it is
   the twin's row, whose elements are one after the other in memory, as is found at the call:

       if (n1 == 1 && n2 == 8 && n3 == 8) {
           the twin
       } else …

   Measured, 100,000 rows of one f64: their sum 205 to 20 us, x - m 390 to 35 us. */
#include "emit.h"

static bool
stores_sum(const Kernel *k, const Instr *v)
{
    return v->kind == INSTR_STORE && k->instrs.at[v->args[0]].kind == INSTR_REDUCE;
}

bool
twin_fits(const Emit *e)
{
    const Kernel *k = e->kernel;
    if (!k->lone || k->nstages != 1) return false;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        bool stores = v->kind == INSTR_STORE && !stores_sum(k, v);
        if (v->kind == INSTR_INDEX || v->kind == INSTR_GATHER || v->kind == INSTR_CALL)
            return false;
        if (v->level == LEVEL_ROW && (stores || v->kind == INSTR_CHECK || v->home != HOME_NONE))
            return false;
    }
    return true;
}

static void
change(const Kernel *k, bool dense, Kernel *twin)
{
    int row = k->nloops - 2;
    twin->kind = KERNEL_ROWS;
    twin->nloops = k->nloops - 1;
    twin->block = 0;
    for (int o = 0; o < k->operands.len && dense; o++) {
        int32_t *stride = &twin->operands.at[o].stride[row];
        if (*stride != STRIDE_ZERO) *stride = STRIDE_UNIT;
    }
    for (int i = 0; i < k->instrs.len; i++) {
        Instr *v = &twin->instrs.at[i];
        if (v->level != LEVEL_ONCE) v->level = stores_sum(twin, v) ? LEVEL_ROW : LEVEL_ELEMENT;
    }
}

static void
put_test(const Kernel *k, bool dense, Text *out)
{
    text_printf(out, "if (n%d == 1", k->size[k->nloops - 1]);
    for (int o = 0; o < k->operands.len && dense; o++) {
        int stride = k->operands.at[o].stride[k->nloops - 2];
        if (stride != STRIDE_ZERO)
            text_printf(out, " && n%d == %d", stride, (int)dtype_size(k->operands.at[o].dtype));
    }
    text_put(out, ") ");
}

/* `twin` is a copy of the kernel, and so are its operands and instructions. */
static void
emit_changed(Emit *e, bool dense, Kernel *twin, void (*emit)(Emit *e))
{
    const Kernel *whole = e->kernel;
    Text head = {0};
    put_test(whole, dense, &head);
    open_block(e, head.data);
    change(whole, dense, twin);
    e->kernel = twin;
    find_needs(e);
    emit(e);
    e->kernel = whole;
    find_needs(e);
    close_block(e);
    text_free(&head);
}

static void *
copied(const void *data, size_t size)
{
    void *copy = mem_alloc(size + 1);
    if (copy != NULL && size > 0) memcpy(copy, data, size);
    return copy;
}

void
emit_twin(Emit *e, bool dense, void (*emit)(Emit *e))
{
    const Kernel *k = e->kernel;
    Kernel twin = *k;
    twin.operands.at = copied(k->operands.at, (size_t)k->operands.len * sizeof(Operand));
    twin.instrs.at = copied(k->instrs.at, (size_t)k->instrs.len * sizeof(Instr));
    if (twin.operands.at != NULL && twin.instrs.at != NULL)
        emit_changed(e, dense, &twin, emit);
    else
        e->out->failed = true;
    mem_free(twin.operands.at);
    mem_free(twin.instrs.at);
}
