/* A loop of the program as a C loop: see lower/region.c for what it relies on. */
#include "emit.h"

static const char *
name_of(const Instr *v)
{
    return dtype_name(v->dtype);
}

static void
use_type(Emit *e, DType dtype)
{
    Text unused = {0};
    prelude_memory(e->prelude, dtype, 1, &unused);
    text_free(&unused);
}

static void
put_stride(const Emit *e, int32_t number, Text *out)
{
    const Operand *o = &e->kernel->operands.at[number];
    if (o->stride[0] == STRIDE_UNIT)
        text_printf(out, "%d", (int)dtype_size(o->dtype));
    else if (o->stride[0] == STRIDE_ZERO)
        text_put(out, "0");
    else
        text_printf(out, "n%d", o->stride[0]);
}

static void
copy_arrays(Emit *e)
{
    const RegionLoop *loop = e->kernel->region;
    for (int i = 0; i < loop->narrays; i++) {
        const char *type = dtype_name(e->kernel->operands.at[loop->to[i]].dtype);
        Text from = {0}, to = {0};
        use_type(e, e->kernel->operands.at[loop->to[i]].dtype);
        put_stride(e, loop->from[i], &from);
        put_stride(e, loop->to[i], &to);
        emit_line(e, "for (int64_t j = 0; j < n%d; j++)", loop->length[loop->to[i]]);
        emit_line(e, "    *(%sm *)(q%d + j * %s) = *(const %sm *)(q%d + j * %s);", type,
                  loop->to[i], to.data, type, loop->from[i], from.data);
        text_free(&from);
        text_free(&to);
    }
}

/* Python's index: from the end when negative, in bounds or a deopt. */
static void
emit_element(Emit *e, int32_t at)
{
    const Instr *v = &e->kernel->instrs.at[at];
    int32_t length = e->kernel->region->length[v->operand];
    Text stride = {0};
    use_type(e, v->dtype);
    put_stride(e, v->operand, &stride);
    emit_line(e, "int64_t x%d = s%d;", at, v->args[0]);
    emit_line(e, "if (x%d < 0) x%d += n%d;", at, at, length);
    emit_line(e, "if ((unsigned long long)x%d >= (unsigned long long)n%d) return 1;", at, length);
    if (v->kind == INSTR_ELEMENT_STORE)
        emit_line(e, "*(%sm *)(q%d + x%d * %s) = s%d;", name_of(v), v->operand, at, stride.data,
                  v->args[1]);
    else
        emit_line(e, "const %s s%d = *(const %sm *)(q%d + x%d * %s)%s;", name_of(v), at, name_of(v),
                  v->operand, at, stride.data, v->dtype == DT_BOOL ? " != 0" : "");
    text_free(&stride);
}

static void
emit_instr(Emit *e, int32_t at)
{
    switch (e->kernel->instrs.at[at].kind) {
    case INSTR_PARAM: break;
    case INSTR_ELEMENT_LOAD:
    case INSTR_ELEMENT_STORE: emit_element(e, at); break;
    default: scalar_value(e, at);
    }
}

static void
declare_params(Emit *e)
{
    const RegionLoop *loop = e->kernel->region;
    for (int i = 0; i < loop->ncarried; i++) {
        if (loop->param[i] < 0) continue;
        const Instr *v = &e->kernel->instrs.at[loop->param[i]];
        use_type(e, v->dtype);
        emit_line(e, "%s s%d = s%d;", name_of(v), loop->param[i], loop->first[i]);
    }
}

/* The carried values change at once. */
static void
carry(Emit *e)
{
    const RegionLoop *loop = e->kernel->region;
    for (int i = 0; i < loop->ncarried; i++)
        if (loop->param[i] >= 0)
            emit_line(e, "const %s c%d = s%d;", name_of(&e->kernel->instrs.at[loop->param[i]]), i,
                      loop->next[i]);
    for (int i = 0; i < loop->ncarried; i++)
        if (loop->param[i] >= 0) emit_line(e, "s%d = c%d;", loop->param[i], i);
}

void
emit_region(Emit *e)
{
    const RegionLoop *loop = e->kernel->region;
    use_type(e, DT_I64);
    for (int32_t at = 0; at < loop->begin; at++) emit_instr(e, at);
    copy_arrays(e);
    declare_params(e);
    emit_line(e, "const int64_t start = s%d, stop = s%d, step = s%d;", loop->start, loop->stop,
              loop->step);
    emit_line(e, "if (step == 0) return 1;");
    emit_line(e, "unsigned long long turns = 0;");
    emit_line(e, "if (step > 0 && start < stop)");
    emit_line(e, "    turns = ((unsigned long long)stop - start - 1) / step + 1;");
    emit_line(e, "if (step < 0 && start > stop)");
    emit_line(
        e, "    turns = ((unsigned long long)start - stop - 1) / -(unsigned long long)step + 1;");
    emit_line(e, "int64_t s%d = start;", loop->variable);
    emit_line(e, "for (; turns > 0; turns--, s%d += step) {", loop->variable);
    e->indent++;
    for (int32_t at = loop->begin; at < loop->end; at++) emit_instr(e, at);
    carry(e);
    e->indent--;
    emit_line(e, "}");
    for (int32_t at = loop->end; at < e->kernel->instrs.len; at++) emit_instr(e, at);
}
