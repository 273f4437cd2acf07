/* Facts about each op and dtype: the rows of ops.def, the dtype table, and look-ups by name. */
#include "graph.h"

/* ---- dtypes ---- */

enum { DTYPE_INTEGER = 1, DTYPE_SIGNED = 2, DTYPE_FLOAT = 4, DTYPE_COMPLEX = 8 };

typedef struct {
    const char *name, *long_name;
    uint8_t size;
    uint8_t traits;
} DTypeInfo;

static const DTypeInfo dtypes[] = {
    [DT_BOOL] = {"bool", "bool", 1, 0},
    [DT_I8] = {"i8", "int8", 1, DTYPE_INTEGER | DTYPE_SIGNED},
    [DT_I16] = {"i16", "int16", 2, DTYPE_INTEGER | DTYPE_SIGNED},
    [DT_I32] = {"i32", "int32", 4, DTYPE_INTEGER | DTYPE_SIGNED},
    [DT_I64] = {"i64", "int64", 8, DTYPE_INTEGER | DTYPE_SIGNED},
    [DT_U8] = {"u8", "uint8", 1, DTYPE_INTEGER},
    [DT_U16] = {"u16", "uint16", 2, DTYPE_INTEGER},
    [DT_U32] = {"u32", "uint32", 4, DTYPE_INTEGER},
    [DT_U64] = {"u64", "uint64", 8, DTYPE_INTEGER},
    [DT_F16] = {"f16", "float16", 2, DTYPE_FLOAT | DTYPE_SIGNED},
    [DT_BF16] = {"bf16", "bfloat16", 2, DTYPE_FLOAT | DTYPE_SIGNED},
    [DT_F32] = {"f32", "float32", 4, DTYPE_FLOAT | DTYPE_SIGNED},
    [DT_F64] = {"f64", "float64", 8, DTYPE_FLOAT | DTYPE_SIGNED},
    [DT_C64] = {"c64", "complex64", 8, DTYPE_COMPLEX | DTYPE_SIGNED},
    [DT_C128] = {"c128", "complex128", 16, DTYPE_COMPLEX | DTYPE_SIGNED},
    [DT_OBJECT] = {"object", "object", sizeof(void *), 0},
};
_Static_assert(COUNT_OF(dtypes) == DT_COUNT, "a row per dtype");

static const char *const device_names[] = {
#define TARGET(NAME, name, title) [DEVICE_##NAME] = name,
#include "targets.def"
};

const char *
device_name(Device device)
{
    return device_names[device_target(device)];
}

int
device_from_name(const char *name)
{
    for (int i = 0; i < TARGET_COUNT; i++)
        if (strcmp(device_names[i], name) == 0) return i;
    return -1;
}

size_t
dtype_size(DType dtype)
{
    return dtypes[dtype].size;
}

const char *
dtype_name(DType dtype)
{
    return dtypes[dtype].name;
}

const char *
dtype_long_name(DType dtype)
{
    return dtypes[dtype].long_name;
}

int
dtype_from_name(const char *name)
{
    for (int i = 0; i < DT_COUNT; i++)
        if (strcmp(dtypes[i].name, name) == 0) return i;
    return -1;
}

bool
dtype_is_float(DType dtype)
{
    return (dtypes[dtype].traits & DTYPE_FLOAT) != 0;
}

bool
dtype_is_half(DType dtype)
{
    return dtype == DT_F16 || dtype == DT_BF16;
}

bool
dtype_is_complex(DType dtype)
{
    return (dtypes[dtype].traits & DTYPE_COMPLEX) != 0;
}

bool
dtype_is_integer(DType dtype)
{
    return (dtypes[dtype].traits & DTYPE_INTEGER) != 0;
}

bool
dtype_is_signed(DType dtype)
{
    return (dtypes[dtype].traits & DTYPE_SIGNED) != 0;
}

/* ---- ops ---- */

#define OP(name, arity, kind, ufunc, c, exact, cuda, on, flags)                                    \
    {#name, arity, KIND_##kind, ufunc, c, exact, cuda, on, flags},
static const OpInfo ops[] = {
#include "ops.def"
};

/* What users of the table rely on. A pointwise op has a C expression exactly where `exact` names
   dtypes, but for those of fast graphs; other kinds may have either alone. */
_Static_assert(COUNT_OF(ops) == OP_COUNT, "a row per op");
_Static_assert(OP_COUNT >= 80, "at least 80 operations");
_Static_assert(OP_input == 0 && OP_const == 1, "input and const lead the table");
#define OP(name, arity, kind, ufunc, c, exact, cuda, on, flags)                                    \
    _Static_assert(((cuda) != NULL) == (sizeof(on) > 1),                                           \
                   #name ": a CUDA expression, and the dtypes that it is for");                    \
    _Static_assert(KIND_##kind != KIND_POINTWISE || ((flags) & OPF_DEVICE) != 0 ||                 \
                       ((c) != NULL) == (sizeof(exact) > 1),                                       \
                   #name ": a C expression, and the dtypes for which it is exact");                \
    _Static_assert((arity) >= -1 && (arity) <= 3, #name ": arity");
#include "ops.def"

const OpInfo *
op_info(Op op)
{
    return &ops[op];
}

bool
op_function(Op op, char name[OP_FUNCTION_NAME])
{
    const char *text = ops[op].flags & OPF_DEVICE ? ops[op].c : NULL;
    size_t length = text != NULL ? strcspn(text, "(") : 0;
    if (length == 0 || length >= OP_FUNCTION_NAME || text[length] == '\0') return false;
    memcpy(name, text, length);
    name[length] = '\0';
    return true;
}

static bool
has_dtype(const char *letters, DType dtype)
{
    if (dtype_is_half(dtype) && strchr(letters, 'h') != NULL) return true;
    if (dtype_is_complex(dtype) && strchr(letters, 'c') != NULL) return true;
    char kind = dtype == DT_BOOL                     ? 'b'
                : dtype_is_integer(dtype)            ? 'i'
                : dtype == DT_F32 || dtype == DT_F64 ? 'r'
                                                     : 'o';
    return strchr(letters, kind) != NULL;
}

bool
op_is_exact(Op op, DType dtype)
{
    return has_dtype(ops[op].exact, dtype);
}

bool
op_is_on(Op op, DType dtype, Device device)
{
    return has_dtype(device == DEVICE_HOST ? ops[op].exact : ops[op].on, dtype);
}

int
op_from_name(const char *name)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (strcmp(ops[i].name, name) == 0) return i;
    return -1;
}

/* Synonyms in NumPy are one ufunc under its first name (np.abs is absolute, np.divide is
   true_divide's name), so the ufunc's own __name__ decides. */
int
op_from_ufunc(const char *ufunc_name, Device device)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (ops[i].kind == KIND_POINTWISE && ops[i].ufunc != NULL &&
            (device != DEVICE_HOST || !(ops[i].flags & OPF_DEVICE)) &&
            strcmp(ops[i].ufunc, ufunc_name) == 0)
            return i;
    return -1;
}

/* ---- the expression of a node ---- */

DType
node_loop_dtype(const Graph *g, const Node *node)
{
    const OpInfo *info = op_info(node->op);
    if (node->nargs == 0) return node->type.dtype;
    if (node->op == OP_where) return node->type.dtype;
    if (node->op == OP_cast || node->op == OP_real || node->op == OP_imag ||
        node->op == OP_absolute || (info->flags & OPF_COMPARES))
        return graph_node(g, node->args[0])->type.dtype;
    return node->type.dtype;
}

/* ---- what a node may report ---- */

static bool
is_inexact(DType dtype)
{
    return dtype_is_float(dtype) || dtype_is_complex(dtype);
}

/* A cast that keeps every value, or wraps integers, reports nothing. */
static bool
cast_may_report(DType from, DType to)
{
    if (!is_inexact(from)) return to == DT_F16; /* 65520 overflows */
    if (!is_inexact(to)) return to != DT_BOOL;
    return dtype_size(to) < dtype_size(from) || dtype_is_complex(from) != dtype_is_complex(to);
}

bool
op_may_overflow(Op op, DType dtype)
{
    if (!dtype_is_integer(dtype)) return false;
    return op == OP_add || op == OP_subtract || op == OP_multiply || op == OP_square ||
           op == OP_negative || (op == OP_absolute && dtype_is_signed(dtype));
}

bool
node_may_report(const Graph *g, const Node *node)
{
    const OpInfo *info = op_info(node->op);
    if (info->flags & OPF_NO_FLAGS) return false;
    if (info->flags & OPF_SPECIAL && node->type.device == DEVICE_HOST) return true;
    if (node->type.form == FORM_SCALAR && op_may_overflow(node->op, (DType)node->type.dtype))
        return true;
    if (node->type.device != DEVICE_HOST) return false; /* devices raise no flags */
    if (g->fast) return false; /* the vector math library raises some that NumPy does not */
    bool inexact = is_inexact((DType)node->type.dtype);
    for (int i = 0; i < node->nargs; i++)
        inexact = inexact || is_inexact((DType)graph_node(g, node->args[i])->type.dtype);
    switch (info->kind) {
    case KIND_POINTWISE:
        if (node->op == OP_cast)
            return cast_may_report((DType)graph_node(g, node->args[0])->type.dtype,
                                   (DType)node->type.dtype);
        if (node->op == OP_negative || node->op == OP_absolute)
            return dtype_is_complex((DType)graph_node(g, node->args[0])->type.dtype);
        if (node->op == OP_floor_divide || node->op == OP_remainder || node->op == OP_reciprocal)
            return true; /* by zero, of integers too */
        return inexact;
    case KIND_UFUNC: return true;
    case KIND_REDUCTION:
    case KIND_SCAN:
    case KIND_MATMUL: return inexact;
    default: return false;
    }
}
