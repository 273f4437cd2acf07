/* Calls of NumPy's own code on bare memory: data, dimensions and strides as arrays/bare.c takes
 * them.
 */
#include "emit.h"

void
emit_bare(Emit *e)
{
    const Kernel *k = e->kernel;
    Text data = {0}, strides = {0};
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->kind == INSTR_CALL) continue;
        const Operand *operand = &k->operands.at[v->operand];
        text_printf(&data, "q%d, ", v->operand);
        for (int loop = 0; loop < k->nloops; loop++) {
            int stride = operand->stride[loop];
            if (stride >= 0)
                text_printf(&strides, "n%d, ", stride);
            else
                text_printf(&strides, "%d, ",
                            stride == STRIDE_UNIT ? (int)dtype_size(operand->dtype) : 0);
        }
    }
    if (k->partial >= 0) text_printf(&data, "args->ptr[%d]", k->partial);
    emit_line(e, "char *const data[] = {%s};", data.data);
    emit_line(e, "const int64_t strides[] = {%s0};", strides.data);
    text_free(&data);
    for (int loop = 0; loop < k->nloops; loop++) text_printf(&data, "n%d, ", k->size[loop]);
    emit_line(e, "const int64_t dimensions[] = {%s0};", data.data);
    emit_line(e, "const KernelLoop *const loop = &args->loop[0];");
    emit_line(e, "return loop->call(loop->context, data, dimensions, strides, loop->auxdata);");
    text_free(&data);
    text_free(&strides);
}
