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

static bool
is_dense(const Emit *e, int32_t number)
{
    return e->kernel->operands.at[number].stride[0] == STRIDE_UNIT;
}

static void
copy_arrays(Emit *e)
{
    const RegionLoop *loop = e->kernel->region;
    for (int i = 0; i < loop->narrays; i++) {
        if (is_dense(e, loop->from[i]) && is_dense(e, loop->to[i])) {
            emit_line(e, "__builtin_memcpy(q%d, q%d, n%d * %d);", loop->to[i], loop->from[i],
                      loop->length[loop->to[i]],
                      (int)dtype_size(e->kernel->operands.at[loop->to[i]].dtype));
            continue;
        }
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

/* ---- elements ---- */

static bool
is_element(const Instr *v)
{
    return v->kind == INSTR_ELEMENT_LOAD || v->kind == INSTR_ELEMENT_STORE;
}

/* An index that is the loop's variable, or that plus or minus a constant. */
static bool
index_offset(const Emit *e, int32_t at, int64_t *offset)
{
    const Instr *v = &e->kernel->instrs.at[at];
    *offset = 0;
    if (at == e->kernel->region->variable) return true;
    if (v->kind != INSTR_OP || (v->op != OP_py_add && v->op != OP_py_sub)) return false;
    int32_t variable = v->args[0], other = v->args[1];
    if (v->op == OP_py_add && other == e->kernel->region->variable) {
        variable = v->args[1];
        other = v->args[0];
    }
    const Instr *constant = &e->kernel->instrs.at[other];
    if (variable != e->kernel->region->variable || constant->kind != INSTR_CONST ||
        constant->dtype != DT_I64)
        return false;
    int64_t value = (int64_t)constant->bits[0];
    if (value > INT32_MAX || value < INT32_MIN) return false;
    *offset = v->op == OP_py_sub ? -value : value;
    return true;
}

static bool
all_affine(const Emit *e)
{
    int64_t offset;
    for (int32_t at = e->kernel->region->begin; at < e->kernel->region->end; at++) {
        const Instr *v = &e->kernel->instrs.at[at];
        if (is_element(v) && !index_offset(e, v->args[0], &offset)) return false;
    }
    return true;
}

/* const int inside = …: every index of every turn is in bounds, none is negative. */
static void
emit_inside(Emit *e)
{
    emit_line(e, "const int64_t last = start + (int64_t)(turns - 1) * step;");
    emit_line(
        e, "const int64_t low = start < last ? start : last, high = start < last ? last : start;");
    emit_line(e,
              "int inside = turns > 0 && low > -((int64_t)1 << 40) && high < ((int64_t)1 << 60);");
    for (int32_t at = e->kernel->region->begin; at < e->kernel->region->end; at++) {
        const Instr *v = &e->kernel->instrs.at[at];
        int64_t offset;
        if (is_element(v) && index_offset(e, v->args[0], &offset))
            emit_line(e, "inside &= low + %lld >= 0 && high + %lld < n%d;", (long long)offset,
                      (long long)offset, e->kernel->region->length[v->operand]);
    }
}

/* Python's index: from the end when negative, in bounds or a deopt. */
static void
emit_checked_index(Emit *e, int32_t at)
{
    const Instr *v = &e->kernel->instrs.at[at];
    int32_t length = e->kernel->region->length[v->operand];
    emit_line(e, "int64_t x%d = s%d;", at, v->args[0]);
    emit_line(e, "if (x%d < 0) x%d += n%d;", at, at, length);
    emit_line(e, "if ((unsigned long long)x%d >= (unsigned long long)n%d) return 1;", at, length);
}

static void
emit_element(Emit *e, int32_t at, bool inside)
{
    const Instr *v = &e->kernel->instrs.at[at];
    Text stride = {0};
    int64_t offset;
    use_type(e, v->dtype);
    put_stride(e, v->operand, &stride);
    if (inside && index_offset(e, v->args[0], &offset))
        emit_line(e, "const int64_t x%d = s%d + %lld;", at, e->kernel->region->variable,
                  (long long)offset);
    else
        emit_checked_index(e, at);
    if (v->kind == INSTR_ELEMENT_STORE)
        emit_line(e, "*(%sm *)(q%d + x%d * %s) = s%d;", name_of(v), v->operand, at, stride.data,
                  v->args[1]);
    else
        emit_line(e, "const %s s%d = *(const %sm *)(q%d + x%d * %s)%s;", name_of(v), at, name_of(v),
                  v->operand, at, stride.data, v->dtype == DT_BOOL ? " != 0" : "");
    text_free(&stride);
}

static void
emit_instr(Emit *e, int32_t at, bool inside)
{
    switch (e->kernel->instrs.at[at].kind) {
    case INSTR_PARAM: break;
    case INSTR_ELEMENT_LOAD:
    case INSTR_ELEMENT_STORE: emit_element(e, at, inside); break;
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

/* The loop: `inside`, no index needs a check, which lets the compiler see that one element is the
   one that was just stored. */
static void
emit_turns(Emit *e, bool inside)
{
    const RegionLoop *loop = e->kernel->region;
    emit_line(e, "int64_t s%d = start;", loop->variable);
    emit_line(e, "for (; turns > 0; turns--, s%d += step) {", loop->variable);
    e->indent++;
    for (int32_t at = loop->begin; at < loop->end; at++) {
        int64_t offset;
        bool index = e->kernel->instrs.at[at].kind == INSTR_OP && index_offset(e, at, &offset);
        if (inside && index)
            emit_line(e, "const int64_t s%d = s%d + %lld;", at, loop->variable, (long long)offset);
        else
            emit_instr(e, at, inside);
    }
    carry(e);
    e->indent--;
    emit_line(e, "}");
}

void
emit_region(Emit *e)
{
    const RegionLoop *loop = e->kernel->region;
    use_type(e, DT_I64);
    for (int32_t at = 0; at < loop->begin; at++) emit_instr(e, at, false);
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
    if (all_affine(e)) {
        emit_inside(e);
        emit_line(e, "if (inside) {");
        e->indent++;
        emit_turns(e, true);
        e->indent--;
        emit_line(e, "} else {");
        e->indent++;
        emit_turns(e, false);
        e->indent--;
        emit_line(e, "}");
    } else
        emit_turns(e, false);
    for (int32_t at = loop->end; at < e->kernel->instrs.len; at++) emit_instr(e, at, false);
}
