/* Values of a CUDA kernel: those of one element ("v3", or "h3[e]" where it is held in registers
   from an earlier stage), and those that there are once or once per row ("s3"). */
#include "cuda_emit.h"

static const char *const types[DT_COUNT] = {
    [DT_BOOL] = "bool",
    [DT_I8] = "signed char",
    [DT_I16] = "short",
    [DT_I32] = "int",
    [DT_I64] = "long long",
    [DT_U8] = "unsigned char",
    [DT_U16] = "unsigned short",
    [DT_U32] = "unsigned int",
    [DT_U64] = "unsigned long long",
    [DT_F16] = "Half", /* of the prelude */
    [DT_BF16] = "BFloat",
    [DT_F32] = "float",
    [DT_F64] = "double",
    [DT_C64] = "Complex<float>", /* of the prelude */
    [DT_C128] = "Complex<double>",
};

const char *
cuda_type(DType dtype)
{
    return types[dtype];
}

/* A bool in memory may be any byte. */
const char *
cuda_memory_type(DType dtype)
{
    return dtype == DT_BOOL ? "unsigned char" : types[dtype];
}

void
cuda_line(CudaEmit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vline(e->out, e->indent, "\n", format, args);
    va_end(args);
}

void
cuda_block(CudaEmit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vline(e->out, e->indent, " {\n", format, args);
    va_end(args);
    e->indent++;
}

void
cuda_end(CudaEmit *e)
{
    e->indent--;
    cuda_line(e, "}");
}

void
cuda_body(CudaEmit *e, int stage)
{
    e->body++;
    e->stage = stage;
}

/* ---- expressions ---- */

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9');
}

void
cuda_expression(CudaEmit *e, const char *text, DType type, const char *const *args, Text *out)
{
    for (const char *at = text; *at;) {
        size_t length = 0;
        while (is_letter(at[length])) length++;
        if (length > 0) {
            if (at[length] == '(') cuda_helper(e, at, length);
            text_printf(out, "%.*s", (int)length, at);
            at += length;
        } else if (*at == '$') {
            text_put(out, at[1] == 'T' ? types[type] : args[at[1] - '0']);
            at += 2;
        } else
            text_printf(out, "%c", *at++);
    }
}

/* ---- long operations ---- */

/* A long operation that a kernel has more than a few times is a function, called. Written out each
   time, 60 cosines take NVRTC 1.4 s and 100 KB of code, which no instruction cache holds; called,
   0.2 s and 20 KB. */
enum { MOST_WRITTEN = 2 };

void
cuda_count_uses(CudaEmit *e)
{
    memset(e->uses, 0, sizeof e->uses);
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        if (v->kind == INSTR_OP && (v->dtype == DT_F32 || v->dtype == DT_F64))
            e->uses[v->dtype == DT_F64][v->op]++;
    }
}

static bool
is_called(const CudaEmit *e, const Instr *v)
{
    const OpInfo *op = op_info(v->op);
    bool wide = v->dtype == DT_F64;
    if ((v->dtype != DT_F32 && !wide) || e->uses[wide][v->op] <= MOST_WRITTEN) return false;
    return op->flags & (wide ? OPF_LONG | OPF_DEVICE : OPF_LONG);
}

/* "sin_of_float(v3)" */
static void
put_call(CudaEmit *e, const Instr *v, const char *const *args, Text *out)
{
    static const char *const names[] = {"a", "b", "c"};
    bool wide = v->dtype == DT_F64;
    const char *name = op_info(v->op)->name, *type = types[v->dtype];
    text_printf(out, "%s_of_%s(", name, type);
    for (int a = 0; a < v->nargs; a++) text_printf(out, "%s%s", a ? ", " : "", args[a]);
    text_put(out, ")");
    if (e->called[wide][v->op]) return;
    e->called[wide][v->op] = true;
    text_printf(&e->functions, "static __device__ __noinline__ %s %s_of_%s(", type, name, type);
    for (int a = 0; a < v->nargs; a++)
        text_printf(&e->functions, "%s%s %s", a ? ", " : "", type, names[a]);
    text_put(&e->functions, ") { return ");
    cuda_expression(e, op_info(v->op)->cuda, v->dtype, names, &e->functions);
    text_put(&e->functions, "; }\n");
}

static void
put_bits(DType dtype, uint64_t bits, Text *out)
{
    switch (dtype) {
    case DT_C64:
        text_put(out, "{");
        put_bits(DT_F32, bits, out);
        text_put(out, ", ");
        put_bits(DT_F32, bits >> 32, out);
        text_put(out, "}");
        break;
    case DT_F16: text_printf(out, "half_of(0x%x)", (unsigned)(uint16_t)bits); break;
    case DT_BF16: text_printf(out, "bfloat_of(0x%x)", (unsigned)(uint16_t)bits); break;
    case DT_F32:
        text_printf(out, "__int_as_float(0x%llx)", (unsigned long long)(uint32_t)bits);
        break;
    case DT_F64:
        text_printf(out, "__longlong_as_double(0x%llxll)", (unsigned long long)bits);
        break;
    default: text_printf(out, "(%s)0x%llxull", types[dtype], (unsigned long long)bits);
    }
}

/* The number in an argument of 8 bytes. */
static void
put_argument(DType dtype, const char *name, Text *out)
{
    switch (dtype) {
    case DT_F16: text_printf(out, "half_of((unsigned short)%s)", name); break;
    case DT_BF16: text_printf(out, "bfloat_of((unsigned short)%s)", name); break;
    case DT_F32: text_printf(out, "__int_as_float((int)%s)", name); break;
    case DT_F64: text_printf(out, "__longlong_as_double(%s)", name); break;
    case DT_BOOL: text_printf(out, "(signed char)%s != 0", name); break;
    default: text_printf(out, "(%s)%s", types[dtype], name);
    }
}

void
cuda_accumulator(const CudaEmit *e, const Instr *v, Text *out)
{
    if (op_finds(v->op))
        text_printf(out, "Found<%s, %s>", types[v->from], cuda_index(e));
    else
        text_put(out, types[v->dtype]);
}

/* A place behind all others. */
static void
put_found_identity(const CudaEmit *e, const Instr *v, Text *out)
{
    const Instr value = {.op = v->op == OP_argmax ? OP_max : OP_min, .dtype = v->from};
    text_put(out, "{");
    cuda_identity(e, &value, out);
    text_printf(out, ", %s}", e->kernel->cuda.wide ? "0x7fffffffffffffffll" : "0x7fffffff");
}

void
cuda_identity(const CudaEmit *e, const Instr *v, Text *out)
{
    int bits = 8 * (int)dtype_size(v->dtype);
    bool largest = v->op == OP_min;
    uint64_t top = UINT64_C(1) << (bits - 1);
    switch (v->op) {
    case OP_argmax:
    case OP_argmin: put_found_identity(e, v, out); return;
    case OP_prod:
    case OP_all: text_printf(out, "(%s)1", types[v->dtype]); return;
    case OP_max:
    case OP_min: break;
    default: text_printf(out, "(%s)0", types[v->dtype]); return;
    }
    if (v->dtype == DT_BOOL)
        text_put(out, largest ? "true" : "false");
    else if (v->dtype == DT_F32)
        put_bits(DT_F32, largest ? 0x7f800000 : 0xff800000, out);
    else if (v->dtype == DT_F64)
        put_bits(DT_F64, largest ? 0x7ff0000000000000 : 0xfff0000000000000, out);
    else if (dtype_is_signed(v->dtype))
        put_bits(v->dtype, largest ? top - 1 : top, out);
    else
        put_bits(v->dtype, largest ? top | (top - 1) : 0, out);
}

void
cuda_combine(CudaEmit *e, int32_t at, const char *acc, const char *value)
{
    const Instr *v = cuda_instr(e, at);
    const char *args[2] = {acc, value};
    Text text = {0};
    cuda_expression(e, op_info(v->op)->cuda, v->dtype, args, &text);
    cuda_line(e, "%s = %s;", acc, text.data);
    text_free(&text);
}

/* ---- memory ---- */

/* The address of an operand's element: in the row whose pointer is r0. */
void
cuda_address(const CudaEmit *e, int32_t number, Text *out)
{
    const Operand *o = &e->kernel->operands.at[number];
    int32_t stride = o->stride[e->kernel->nloops - 1];
    bool once = true; /* needs no row */
    for (int i = 0; i < e->kernel->nloops; i++) once = once && o->stride[i] == STRIDE_ZERO;
    if (once)
        text_printf(out, "p%d", o->pointer);
    else if (stride == STRIDE_UNIT)
        text_printf(out, "r%d + %s * %d", number, e->position, (int)dtype_size(o->dtype));
    else if (stride == STRIDE_ZERO)
        text_printf(out, "r%d", number);
    else
        text_printf(out, "r%d + %s * n%d", number, e->position, stride);
}

static void
put_load(CudaEmit *e, const Instr *v, Text *out)
{
    const Operand *o = &e->kernel->operands.at[v->operand];
    const char *nonzero = v->dtype == DT_BOOL ? " != 0" : "";
    if (o->by_value) {
        char name[24];
        snprintf(name, sizeof name, "p%d", o->pointer);
        put_argument(v->dtype, name, out);
    } else if (v->level == LEVEL_ELEMENT && o->turned) {
        text_printf(out, "q%d[place%d + e]%s", v->operand, (int)dtype_size(o->dtype), nonzero);
    } else if (v->level == LEVEL_ELEMENT) {
        text_printf(out, "x%d%s%s", v->operand, cuda_is_shared(e, v->operand) ? ".at[e]" : e->read,
                    nonzero);
    } else {
        text_printf(out, "*(const %s *)(", cuda_memory_type(v->dtype));
        cuda_address(e, v->operand, out);
        text_printf(out, ")%s", nonzero);
    }
}

/* What is read by an index, one element at a time. */
static void
put_gather(CudaEmit *e, const Instr *v, Text *out)
{
    Text index = {0};
    cuda_value(e, v->args[0], &index);
    cuda_helper(e, "gathered", strlen("gathered"));
    text_printf(out, "*(const %s *)(", cuda_memory_type(v->dtype));
    cuda_address(e, v->operand, out);
    text_printf(out, " + gathered(%s, m%d) * m%d)%s", index.data != NULL ? index.data : "",
                (int)v->bits[0], (int)v->bits[1], v->dtype == DT_BOOL ? " != 0" : "");
    text_free(&index);
}

static void
put_comment(const CudaEmit *e, const Instr *v, Text *out)
{
    if (!e->comments || v->node == NO_NODE) return;
    const Node *node = graph_node(e->graph, v->node);
    if (node->line > 0) text_printf(out, " /* line %d %s */", node->line, op_info(node->op)->name);
}

void
cuda_store(CudaEmit *e, int32_t at)
{
    const Instr *v = cuda_instr(e, at);
    Text name = {0}, address = {0};
    cuda_value(e, v->args[0], &name);
    if (v->level == LEVEL_ELEMENT && cuda_instr(e, v->args[0])->kind != INSTR_REDUCE) {
        cuda_line(e, "y%d%s = %s;", v->operand, e->written, name.data);
    } else {
        cuda_address(e, v->operand, &address);
        cuda_line(e, "*(%s *)(%s) = %s;", cuda_memory_type(v->dtype), address.data, name.data);
    }
    text_free(&name);
    text_free(&address);
}

/* ---- values ---- */

/* Is the argument a number with which the operation gives the other argument, but for subnormals
   and NaNs? */
static bool
is_neutral(const CudaEmit *e, const Instr *v, int argument)
{
    const Instr *number = cuda_instr(e, v->args[argument]);
    bool wide = number->dtype == DT_F64;
    if (number->kind != INSTR_CONST || number->argument > 0 || (number->dtype != DT_F32 && !wide))
        return false;
    uint64_t one = wide ? 0x3ff0000000000000 : 0x3f800000, minus = wide ? 1ull << 63 : 1ull << 31;
    switch (v->op) {
    case OP_multiply: return number->bits[0] == one;
    case OP_divide: return argument == 1 && number->bits[0] == one;
    case OP_subtract: return argument == 1 && number->bits[0] == 0;
    case OP_add: return number->bits[0] == minus;
    default: return false;
    }
}

static void
put_argument_of(CudaEmit *e, const Instr *v, int argument, Text *out)
{
    static const char unknown[] = "unknown";
    bool neutral = is_neutral(e, v, argument);
    if (neutral) cuda_helper(e, unknown, strlen(unknown));
    if (neutral) text_printf(out, "%s(", unknown);
    cuda_value(e, v->args[argument], out);
    if (neutral) text_put(out, ")");
}

static void
put_value(CudaEmit *e, const Instr *v, Text *out)
{
    Text names[3] = {{0}};
    const char *args[3];
    char number[24];
    switch (v->kind) {
    case INSTR_LOAD: put_load(e, v, out); return;
    case INSTR_GATHER: put_gather(e, v, out); return;
    case INSTR_INDEX:
        text_printf(out, "(long long)%s", v->operand > 0 ? "query" : e->position);
        return;
    case INSTR_PRODUCT: text_put(out, v->operand > 0 ? "slope" : "product"); return;
    case INSTR_CONST:
        if (v->argument > 0) {
            snprintf(number, sizeof number, "m%d", v->argument - 1);
            put_argument(v->dtype, number, out);
        } else if (v->dtype == DT_C128) {
            text_put(out, "{");
            put_bits(DT_F64, v->bits[0], out);
            text_put(out, ", ");
            put_bits(DT_F64, v->bits[1], out);
            text_put(out, "}");
        } else
            put_bits(v->dtype, v->bits[0], out);
        return;
    default: break;
    }
    for (int a = 0; a < v->nargs && a < 3; a++) {
        put_argument_of(e, v, a, &names[a]);
        args[a] = names[a].data != NULL ? names[a].data : "";
    }
    if (is_called(e, v))
        put_call(e, v, args, out);
    else
        cuda_expression(e, op_info(v->op)->cuda, v->dtype, args, out);
    for (int a = 0; a < 3; a++) text_free(&names[a]);
}

static bool
is_scalar(const Instr *v)
{
    return v->kind == INSTR_REDUCE || v->level != LEVEL_ELEMENT;
}

static void
declare(CudaEmit *e, int32_t at, char letter)
{
    const Instr *v = cuda_instr(e, at);
    Text value = {0}, comment = {0};
    put_value(e, v, &value);
    put_comment(e, v, &comment);
    cuda_line(e, "const %s %c%d = %s;%s", types[v->dtype], letter, at, value.data,
              comment.data ? comment.data : "");
    text_free(&value);
    text_free(&comment);
}

void
cuda_value(CudaEmit *e, int32_t at, Text *name)
{
    const Instr *v = cuda_instr(e, at);
    if (is_scalar(v)) {
        text_printf(name, "s%d", at);
        return;
    }
    if (e->held[at] && v->stage < e->stage) {
        text_printf(name, "h%d%s", at, e->kept);
        return;
    }
    if (e->mark[at] != e->body) {
        declare(e, at, 'v');
        e->mark[at] = e->body;
    }
    text_printf(name, "v%d", at);
}

void
cuda_scalars(CudaEmit *e, Level level, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        if (v->level != level || v->stage != stage || v->kind == INSTR_REDUCE ||
            v->kind == INSTR_STORE)
            continue;
        declare(e, i, 's');
    }
}
