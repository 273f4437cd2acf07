/* Operations that count though nobody may need their results: they raise the floating-point flags
   that NumPy reports.  The C compiler would leave them out; an asm statement that takes the value
   keeps them.  Here is which operations these are, and where such a statement finds a value. */
#include "emit.h"

void
find_flags(Emit *e)
{
    e->flags = false;
    for (int i = 0; i < e->kernel->instrs.len && !e->flags; i++) {
        const Instr *v = instr_at(e, i);
        e->flags = v->kind == INSTR_OP && !(op_info(v->op)->flags & OPF_NO_FLAGS) &&
                   (dtype_is_float(v->from) || dtype_is_complex(v->from));
    }
}

#if defined(__x86_64__)
#define FLOAT_CONSTRAINT "x" /* a register for floats and vectors */
#elif defined(__aarch64__)
#define FLOAT_CONSTRAINT "w"
#else
#define FLOAT_CONSTRAINT "m"
#endif

const char body_float_constraint[] = FLOAT_CONSTRAINT;

const char *
body_constraint(const Emit *e, int32_t at)
{
    DType dtype = instr_at(e, at)->dtype;
    bool plain = dtype == DT_F32 || dtype == DT_F64;
    if (dtype == DT_BOOL && e->lanes > 1) dtype = mask_dtype(e->mask_bytes[at]);
    if (e->lanes == 1 && plain) return body_float_constraint;
    int bytes = e->lanes * (int)dtype_size(dtype);
    bool one = bytes >= 16 && bytes <= e->vector_bytes; /* a wider one takes several registers */
    if (e->lanes > 1 && (plain || dtype_is_integer(dtype)) && one) return body_float_constraint;
    return e->lanes == 1 && (dtype == DT_BOOL || dtype_is_integer(dtype)) ? "r" : "m";
}

bool
may_raise_flags(const Instr *v)
{
    return v->kind == INSTR_OP && !(op_info(v->op)->flags & OPF_NO_FLAGS) &&
           (dtype_is_float(v->dtype) || dtype_is_float(v->from) || v->dtype == DT_C128);
}

/* 0, 1 or -1 of integers and bools, with which `and`, `or` and products are known. */
static bool
is_unit(const Instr *v)
{
    return v->kind == INSTR_CONST && v->argument == 0 && !dtype_is_float(v->dtype) &&
           v->bits[0] + 1 <= 2;
}

/* Of floats an infinity, beyond which nothing is, and zero on the right of <, below which no square
   is. */
static bool
bounds_all(const Instr *v, const Instr *reader, int k)
{
    if (v->kind != INSTR_CONST || v->argument != 0 || !dtype_is_float(v->dtype)) return false;
    double value;
    if (v->dtype == DT_F64) {
        memcpy(&value, v->bits, sizeof value);
    } else {
        float single;
        memcpy(&single, v->bits, sizeof single);
        value = (double)single;
    }
    return isinf(value) || (value == 0 && k == (reader->op == OP_less ? 0 : 1));
}

static bool
is_made_of(const Instr *v, int32_t at)
{
    return v->kind == INSTR_OP && v->nargs == 1 && v->args[0] == at;
}

bool
may_ignore(const Emit *e, const Instr *v, int k)
{
    if (v->kind != INSTR_OP) return false;
    if (v->op == OP_where) return k > 0 || v->args[1] == v->args[2];
    if (v->nargs != 2 || dtype_is_float(v->dtype) || dtype_is_complex(v->dtype)) return false;
    const Instr *by = instr_at(e, v->args[k]), *other = instr_at(e, v->args[1 - k]);
    return v->args[0] == v->args[1] || is_unit(other) || bounds_all(other, v, k) ||
           is_made_of(by, v->args[1 - k]) || is_made_of(other, v->args[k]);
}
