/* The values of a loop body, for one element or for a vector of them. */
#include "emit.h"

void
emit_line(Emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vline(e->out, e->indent, "\n", format, args);
    va_end(args);
}

void
open_block(Emit *e, const char *head)
{
    emit_line(e, "%s{", head);
    e->indent++;
}

void
close_block(Emit *e)
{
    e->indent--;
    emit_line(e, "}");
}

/* One value per row or per call, not one per element. */
bool
is_row_value(const Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    if (e->beside) return v->level == LEVEL_ONCE && v->kind != INSTR_REDUCE;
    if (v->kind == INSTR_REDUCE) return e->kernel->kind != KERNEL_COLUMNS;
    return v->level != LEVEL_ELEMENT;
}

static bool
vectorizes(DType dtype)
{
    return dtype != DT_F16 && !dtype_is_complex(dtype) && dtype != DT_OBJECT;
}

/* Takes an instruction's dtype into account: the widest, and whether vectors can hold it. */
static void
widen(const Emit *e, int32_t at, int *widest, bool *fits)
{
    const Instr *v = instr_at(e, at);
    int bytes = v->dtype == DT_BOOL ? 1 : (int)dtype_size(v->dtype);
    if (bytes > *widest) *widest = bytes;
    if (!vectorizes(v->dtype)) *fits = false;
}

static bool
is_python(const Instr *v)
{
    return v->kind == INSTR_OP && op_info(v->op)->kind == KIND_PYTHON;
}

/* Without regard to the accumulators of pairwise sums. */
static int
register_lanes(const Emit *e, int stage)
{
    int widest = 1;
    bool fits = true;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ELEMENT || v->stage != stage) continue;
        if (v->kind == INSTR_LOAD || v->kind == INSTR_CALL) continue;
        widen(e, i, &widest, &fits);
        if (is_python(v)) fits = false;
        for (int a = 0; a < v->nargs; a++) {
            widen(e, v->args[a], &widest, &fits);
            const Instr *arg = instr_at(e, v->args[a]);
            for (int b = 0; arg->level == LEVEL_ELEMENT && b < arg->nargs; b++)
                widen(e, arg->args[b], &widest, &fits);
        }
    }
    return fits ? e->vector_bytes / widest : 1;
}

int
body_lanes(const Emit *e, int stage)
{
    int lanes = register_lanes(e, stage);
    for (int i = 0; i < e->kernel->instrs.len && lanes > PAIRWISE_LANES; i++)
        if (instr_at(e, i)->order == REDUCE_PAIRWISE && reduces_in_loop(e, i, stage))
            lanes = PAIRWISE_LANES;
    return lanes;
}

int
body_pair_lanes(const Emit *e, int stage)
{
    enum { LONG = 4 };
    int operations = 0;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        char unused[OP_FUNCTION_NAME];
        if (reduces_in_loop(e, i, stage) && v->order != REDUCE_PAIRWISE) return 0;
        if (v->level != LEVEL_ELEMENT || v->stage != stage || v->kind != INSTR_OP) continue;
        operations += op_function(v->op, unused) ? LONG : 1;
    }
    bool pair = register_lanes(e, stage) == 2 * PAIRWISE_LANES;
    return pair && operations >= LONG ? 2 * PAIRWISE_LANES : 0;
}

void
body_begin(Emit *e, int stage, int lanes)
{
    e->stage = stage;
    e->lanes = lanes;
    e->body++;
}

/* ---- loads ---- */

/* The stride from lane to lane: along the row, or from row to row. */
static int
lane_stride(const Emit *e, const Operand *o)
{
    int row = e->kernel->nloops - 1;
    return !e->beside ? o->stride[row] : o->dense ? STRIDE_UNIT : o->stride[row - 1];
}

int
scratch_step(const Emit *e, const Instr *v)
{
    return (e->beside ? e->beside : 1) * (int)dtype_size(v->dtype);
}

static void
put_address(Emit *e, const Operand *o, int32_t number, Text *out)
{
    int row = e->kernel->nloops - 1;
    if (o->stride[row] == STRIDE_UNIT)
        text_printf(out, "r%d + %s * %d", number, e->position, (int)dtype_size(o->dtype));
    else if (o->stride[row] == STRIDE_ZERO)
        text_printf(out, "r%d", number);
    else
        text_printf(out, "r%d + %s * n%d", number, e->position, o->stride[row]);
}

/* A bool in memory may be any byte: not 0 is true. */
static void
put_from_memory(Emit *e, DType dtype, const Text *address, bool unit, int stride_size, Text *out)
{
    DType stored = dtype == DT_BOOL ? DT_U8 : dtype;
    if (e->lanes == 1) {
        text_put(out, "*(const ");
        prelude_memory(e->prelude, dtype, 1, out);
        text_printf(out, " *)(%s)%s", address->data, dtype == DT_BOOL ? " != 0" : "");
    } else if (stride_size == STRIDE_ZERO) { /* the same for all rows side by side */
        prelude_splat(e->prelude, stored, e->lanes, out);
        text_put(out, "(*(const ");
        prelude_memory(e->prelude, stored, 1, out);
        text_printf(out, " *)(%s))%s", address->data, dtype == DT_BOOL ? " != 0" : "");
    } else if (unit) {
        text_put(out, "*(const ");
        prelude_memory(e->prelude, stored, e->lanes, out);
        text_printf(out, " *)(%s)%s", address->data, dtype == DT_BOOL ? " != 0" : "");
    } else {
        prelude_gather(e->prelude, stored, e->lanes, out);
        text_printf(out, "(%s, n%d)%s", address->data, stride_size,
                    dtype == DT_BOOL ? " != 0" : "");
    }
}

static void
declare(Emit *e, int32_t at, Text *line)
{
    const Instr *v = instr_at(e, at);
    DType dtype = v->dtype;
    if (dtype == DT_BOOL && e->lanes > 1) dtype = mask_dtype(e->mask_bytes[at]);
    text_put(line, "const ");
    prelude_type(e->prelude, dtype, e->lanes, line);
    text_printf(line, " v%d%s = ", at, way_suffix(e));
}

static void
finish_line(Emit *e, int32_t at, Text *line)
{
    const Instr *v = instr_at(e, at);
    text_put(line, ";");
    if (e->comments && v->kind != INSTR_CONST && v->node != NO_NODE) {
        const Node *node = graph_node(e->graph, v->node);
        if (node->line > 0)
            text_printf(line, " /* %s:%d %s */",
                        node->file >= 0 && node->file < e->graph->files.len
                            ? e->graph->files.at[node->file]
                            : "",
                        node->line, op_info(node->op)->name);
    }
    emit_line(e, "%s", line->data ? line->data : "");
    text_free(line);
}

static void
load_operand(Emit *e, int32_t at, int32_t number)
{
    const Operand *o = &e->kernel->operands.at[number];
    int stride = lane_stride(e, o);
    Text line = {0}, address = {0};
    e->mask_bytes[at] = 1;
    put_address(e, o, number, &address);
    declare(e, at, &line);
    put_from_memory(e, instr_at(e, at)->dtype, &address, stride == STRIDE_UNIT, stride, &line);
    finish_line(e, at, &line);
    text_free(&address);
}

static void
load_scratch(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text line = {0}, address = {0};
    e->mask_bytes[at] = 1;
    text_printf(&address, "t%d + %s * %d", v->slot, e->position, scratch_step(e, v));
    declare(e, at, &line);
    put_from_memory(e, v->dtype, &address, true, 0, &line);
    finish_line(e, at, &line);
    text_free(&address);
}

/* ---- operations ---- */

void
body_name(Emit *e, int32_t at, Text *out)
{
    if (!is_row_value(e, at)) {
        text_printf(out, "v%d%s", at, way_suffix(e));
        return;
    }
    if (e->lanes == 1) {
        text_printf(out, "s%d", at);
        return;
    }
    const Instr *v = instr_at(e, at);
    if (v->dtype == DT_BOOL) {
        prelude_splat(e->prelude, DT_I8, e->lanes, out);
        text_printf(out, "(-(s%d != 0))", at);
        return;
    }
    prelude_splat(e->prelude, v->dtype, e->lanes, out);
    text_printf(out, "(s%d)", at);
}

static int
mask_width(const Emit *e, int32_t at)
{
    return is_row_value(e, at) ? 1 : e->mask_bytes[at];
}

void
body_mask(Emit *e, int32_t at, int bytes, Text *out)
{
    if (e->lanes == 1 || mask_width(e, at) == bytes) {
        body_name(e, at, out);
        return;
    }
    prelude_cast(e->prelude, mask_dtype(mask_width(e, at)), mask_dtype(bytes), e->lanes, out);
    text_put(out, "(");
    body_name(e, at, out);
    text_put(out, ")");
}

static void
put_argument(Emit *e, const Instr *v, int k, int mask, Text *out)
{
    if (instr_at(e, v->args[k])->dtype == DT_BOOL)
        body_mask(e, v->args[k], mask, out);
    else
        body_name(e, v->args[k], out);
}

/* The expression of ops.def: $0 $1 $2 are arguments, a name before '(' is a helper. */
static void
put_template(Emit *e, const Instr *v, const char *c, int mask, Text *out)
{
    for (const char *at = c; *at;) {
        size_t length = 0;
        while ((at[length] >= 'a' && at[length] <= 'z') || at[length] == '_' ||
               (length > 0 && at[length] >= '0' && at[length] <= '9'))
            length++;
        if (length > 0 && at[length] == '(') {
            char name[32];
            snprintf(name, sizeof name, "%.*s", (int)length, at);
            prelude_use(e->prelude, name, v->from, e->lanes, out);
            at += length;
        } else if (*at == '$' && at[1] >= '0' && at[1] <= '9') {
            put_argument(e, v, at[1] - '0', mask, out);
            at += 2;
        } else
            text_printf(out, "%c", *at++);
    }
}

/* Booleans in vectors are masks, so their operations are those of bits. */
static void
put_mask_operation(Emit *e, const Instr *v, int mask, Text *out)
{
    char name[32];
    const char *c = op_info(v->op)->c, *paren = strchr(c, '(');
    const char *text;
    if (paren != NULL) {
        snprintf(name, sizeof name, "%.*s", (int)(paren - c), c);
        text = prelude_mask_text(name);
    } else
        text = v->op == OP_bitwise_and   ? "a & b"
               : v->op == OP_bitwise_or  ? "a | b"
               : v->op == OP_bitwise_xor ? "a ^ b"
                                         : "a";
    if (v->op == OP_where) text = "(a & b) | (~a & c)";
    bool swapped = strstr(c, "$1, $0") != NULL;
    for (; text != NULL && *text; text++) {
        if (*text < 'a' || *text > 'c') {
            text_printf(out, "%c", *text);
            continue;
        }
        int k = *text - 'a';
        body_mask(e, v->args[swapped ? 1 - k : k], mask, out);
    }
    if (text == NULL) prelude_miss(e->prelude, op_info(v->op)->name, v->from, e->lanes);
}

/* Would compilers fold a cast of this number to an integer, to other bits than the machine's and
   without the flag? A constant whose cast was not folded raises one (passes/fold.c); and of an u32
   that became a f64 they would take the low bits. */
static bool
cast_is_foldable(const Instr *v)
{
    return v->kind == INSTR_CONST ||
           (v->kind == INSTR_OP && v->op == OP_cast && v->from == DT_U32 && v->dtype == DT_F64);
}

static void
put_cast_argument(Emit *e, int32_t arg, Text *out)
{
    const Instr *v = instr_at(e, arg);
    if (!cast_is_foldable(v) || e->lanes != 1) {
        body_name(e, arg, out);
        return;
    }
    text_put(out, "({ ");
    prelude_type(e->prelude, v->dtype, 1, out);
    text_put(out, " a = ");
    body_name(e, arg, out);
    text_put(out, "; __asm__ volatile(\"\" : \"+m\"(a)); a; })");
}

static void
put_cast(Emit *e, const Instr *v, Text *out)
{
    int32_t arg = v->args[0];
    if (e->lanes == 1 || (v->from != DT_BOOL && v->dtype != DT_BOOL)) {
        prelude_cast(e->prelude, v->from, v->dtype, e->lanes, out);
        text_put(out, "(");
        put_cast_argument(e, arg, out);
        text_put(out, ")");
    } else if (v->dtype == DT_BOOL) {
        text_put(out, "(");
        body_name(e, arg, out);
        text_put(out, " != 0)");
    } else { /* a mask's lanes are -1 and 0: negated they are 1 and 0 */
        text_put(out, "__builtin_convertvector(-");
        body_mask(e, arg, (int)dtype_size(v->dtype), out);
        text_put(out, ", ");
        prelude_type(e->prelude, v->dtype, e->lanes, out);
        text_put(out, ")");
    }
}

static void
put_operation(Emit *e, const Instr *v, int mask, Text *out)
{
    if (v->op == OP_cast)
        put_cast(e, v, out);
    else if (e->lanes > 1 && v->from == DT_BOOL)
        put_mask_operation(e, v, mask, out);
    else if (v->op == OP_where && e->lanes == 1) {
        text_put(out, "(");
        body_name(e, v->args[0], out);
        text_put(out, " ? ");
        body_name(e, v->args[1], out);
        text_put(out, " : ");
        body_name(e, v->args[2], out);
        text_put(out, ")");
    } else if (e->lanes == 1 || !put_quotient(e, v, out))
        put_template(e, v, op_info(v->op)->c, mask, out);
}

static void
put_float(Emit *e, DType dtype, double value, uint64_t bits, Text *out)
{
    const char *suffix = dtype == DT_F32 ? "f" : "";
    if (value == -1)
        text_put(out, prelude_minus_one(e->prelude, dtype));
    else if (value - value == 0)
        text_printf(out, "%a%s", value, suffix);
    else if (dtype == DT_F32)
        text_printf(out, "((union { unsigned u; float f; }){0x%xu}).f", (unsigned)bits);
    else
        text_printf(out, "((union { unsigned long long u; double f; }){0x%llxull}).f",
                    (unsigned long long)bits);
}

/* A constant whose bits are an integer argument of the kernel. */
static void
put_number(const Instr *v, Text *out)
{
    int number = v->argument - 1;
    if (v->dtype == DT_F32)
        text_printf(out, "((union { unsigned u; float f; }){(unsigned)args->size[%d]}).f", number);
    else if (v->dtype == DT_F64)
        text_printf(out, "((union { int64_t u; double f; }){args->size[%d]}).f", number);
    else
        text_printf(out, "(%s)args->size[%d]", dtype_name(v->dtype), number);
}

static void
put_constant(Emit *e, const Instr *v, Text *out)
{
    if (v->argument > 0) {
        put_number(v, out);
        return;
    }
    DType part = v->dtype == DT_C64 ? DT_F32 : v->dtype == DT_C128 ? DT_F64 : v->dtype;
    if (v->dtype == DT_F16) {
        text_printf(out, "{0x%x}", (unsigned)v->bits[0]);
    } else if (part == DT_F32 || part == DT_F64) {
        bool complex = part != v->dtype;
        size_t size = dtype_size(part);
        for (int i = 0; i <= complex; i++) {
            uint64_t bits = 0;
            float f;
            double d;
            memcpy(&bits, (const char *)v->bits + (size_t)i * size, size);
            memcpy(&f, &bits, sizeof f);
            memcpy(&d, &bits, sizeof d);
            if (complex) text_put(out, i ? ", " : "{");
            put_float(e, part, part == DT_F32 ? (double)f : d, bits, out);
        }
        if (complex) text_put(out, "}");
    } else {
        text_printf(out, "(%s)0x%llxull", dtype_name(v->dtype), (unsigned long long)v->bits[0]);
    }
}

/* The lane width of the operation's masks: that of its dtype, or of its widest argument if they are
   bools. */
static int
operation_mask(const Emit *e, const Instr *v)
{
    if (v->from != DT_BOOL) return (int)dtype_size(v->from);
    int width = 1;
    for (int k = 0; k < v->nargs; k++)
        if (mask_width(e, v->args[k]) > width) width = mask_width(e, v->args[k]);
    return width;
}

/* Is the value in memory when this stage reads it? */
static bool
rests_in_memory(const Emit *e, const Instr *v)
{
    return v->home != HOME_NONE && (v->stage < e->stage || v->kind == INSTR_CALL);
}

/* The C compiler may compute an argument only where it is needed.  The program computes it
   everywhere, and its floating-point flags count, so an asm statement reads it here.  In the
   loops of a region that is done where it is computed (region.c), if nothing else needs it. */
static void
keep_computed(Emit *e, const Instr *reader, bool scalar)
{
    if (!e->flags) return;
    if (e->kernel->kind == KERNEL_REGION && !scalar) return;
    for (int k = 0; k < reader->nargs; k++) {
        int32_t at = reader->args[k];
        const Instr *v = instr_at(e, at);
        /* an operation on elements may have values of the row as arguments */
        bool row = is_row_value(e, at);
        if (v->kind != INSTR_OP || (scalar && !row) || !may_ignore(e, reader, k)) continue;
        if (!row && rests_in_memory(e, v)) continue;
        int lanes = e->lanes;
        if (row) e->lanes = 1;
        emit_line(e, "__asm__ volatile(\"\" : : \"%s\"(%c%d));", body_constraint(e, at),
                  row ? 's' : 'v', at);
        e->lanes = lanes;
    }
}

/* ---- in which order ---- */

/* How many registers a value takes while it is computed, as if it were a tree (Sethi & Ullman
   1970): of its arguments the one that takes most comes first, and each that follows finds one more
   register occupied.  What is once per row is read from memory. */
void
find_needs(Emit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        int most = 1, alike = 0;
        for (int k = 0; k < v->nargs; k++) {
            int needs = e->needs[v->args[k]];
            bool twice = k > 0 && v->args[k] == v->args[k - 1];
            if (needs > most) alike = 0;
            if (needs >= most && !twice) alike++;
            most = Py_MAX(most, needs);
        }
        int needs = v->level != LEVEL_ELEMENT ? 0 : v->kind == INSTR_CALL ? 1 : most;
        if (needs > 0 && alike > 1) needs += alike - 1;
        e->needs[i] = (uint8_t)Py_MIN(needs, UINT8_MAX);
    }
}

/* Is there a name for the value, or is it made before the body? */
static bool
is_made(const Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    if (e->mark[at] == e->body || is_row_value(e, at)) return true;
    return e->beside && (v->level == LEVEL_ROW || v->kind == INSTR_REDUCE);
}

/* What takes most registers first, so that it finds them free, else in the program's order.
   Measured, 250 operations of which each adds to the one before: 80 vectors spilled if the newest
   comes first, and 1.2 times as long. */
static void
make_arguments(Emit *e, const Instr *v)
{
    for (;;) {
        int32_t next = -1;
        for (int k = 0; k < v->nargs; k++) {
            int32_t at = v->args[k];
            if (is_made(e, at)) continue;
            bool first = next < 0 || e->needs[at] > e->needs[next];
            if (first || (e->needs[at] == e->needs[next] && at < next)) next = at;
        }
        if (next < 0) return;
        body_value(e, next);
    }
}

/* Declares the value's name in the current body. */
static void
make_value(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    if (v->kind == INSTR_LOAD) {
        load_operand(e, at, v->operand);
        return;
    }
    if (rests_in_memory(e, v)) {
        if (v->home == HOME_OPERAND)
            load_operand(e, at, v->slot);
        else
            load_scratch(e, at);
        return;
    }
    make_arguments(e, v);
    keep_computed(e, v, false);
    int mask = v->kind == INSTR_OP ? operation_mask(e, v) : 1;
    e->mask_bytes[at] = (uint8_t)mask;
    Text line = {0};
    declare(e, at, &line);
    if (v->kind == INSTR_INDEX) {
        text_printf(&line, "base + %s", e->position);
        if (e->beside) {
            text_put(&line, " + (");
            prelude_type(e->prelude, DT_I64, e->lanes, &line);
            text_put(&line, "){}");
        } else if (e->lanes > 1) {
            text_put(&line, " + (");
            prelude_type(e->prelude, DT_I64, e->lanes, &line);
            text_put(&line, "){");
            for (int i = 0; i < e->lanes; i++) text_printf(&line, i ? ", %d" : "%d", i);
            text_put(&line, "}");
        }
    } else
        put_operation(e, v, mask, &line);
    finish_line(e, at, &line);
}

void
body_value(Emit *e, int32_t at)
{
    if (is_made(e, at)) return;
    e->mark[at] = e->body;
    make_value(e, at);
}

/* Makes the C compiler compute the value. */
static void
put_asked_for(Emit *e, int32_t at)
{
    emit_line(e, "__asm__ volatile(\"\" : : \"%s\"(%c%d));", body_constraint(e, at),
              is_row_value(e, at) ? 's' : 'v', at);
}

void
rows_value(Emit *e, int32_t at)
{
    if (instr_at(e, at)->kind == INSTR_STORE)
        body_store(e, at);
    else if (instr_at(e, at)->kind == INSTR_CHECK)
        put_asked_for(e, instr_at(e, at)->args[0]);
    else
        make_value(e, at);
}

/* ---- stores ---- */

/* Begins a store of a whole vector that bypasses the caches if the row allows it. */
static void
put_stream(Emit *e, int32_t value, const Text *address, int32_t operand)
{
    Text line = {0};
    text_printf(&line, "if (stream%d) ", operand);
    prelude_stream(e->prelude, instr_at(e, value)->dtype, e->lanes, &line);
    emit_line(e, "%s(%s, v%d%s);", line.data, address->data, value, way_suffix(e));
    emit_line(e, "else");
    text_free(&line);
}

/* Begins a store, up to the value: "*(…) = " or "scatter(…, ".  A row of one element may have no
   stride. */
static void
open_store(Emit *e, DType dtype, const Text *address, bool unit, int stride, Text *line)
{
    if (unit) {
        text_put(line, "*(");
        prelude_memory(e->prelude, dtype, e->lanes, line);
        text_printf(line, " *)(%s) = ", address->data);
        return;
    }
    prelude_scatter(e->prelude, dtype, e->lanes, line);
    if (stride == STRIDE_ZERO)
        text_printf(line, "(%s, 0, ", address->data);
    else
        text_printf(line, "(%s, n%d, ", address->data, stride);
}

static void
put_store(Emit *e, int32_t value, const Text *address, bool unit, int stride_size)
{
    DType dtype = instr_at(e, value)->dtype;
    DType stored = dtype == DT_BOOL && e->lanes > 1 ? DT_I8 : dtype;
    Text line = {0};
    open_store(e, stored, address, unit || e->lanes == 1, stride_size, &line);
    if (dtype == DT_BOOL && e->lanes > 1) {
        text_put(&line, "-");
        body_mask(e, value, 1, &line);
    } else
        body_name(e, value, &line);
    text_put(&line, unit || e->lanes == 1 ? ";" : ");");
    emit_line(e, "%s", line.data);
    text_free(&line);
}

/* Bools that are only moved keep their bytes, also other than 0 and 1. */
static void
move_bytes(Emit *e, int32_t from, int32_t to)
{
    const Operand *source = &e->kernel->operands.at[from], *target = &e->kernel->operands.at[to];
    int row = e->kernel->nloops - 1, stride = target->stride[row];
    bool unit = stride == STRIDE_UNIT || e->lanes == 1;
    Text line = {0}, read = {0}, written = {0};
    put_address(e, source, from, &read);
    put_address(e, target, to, &written);
    open_store(e, DT_U8, &written, unit, stride, &line);
    put_from_memory(e, DT_U8, &read, source->stride[row] == STRIDE_UNIT, source->stride[row],
                    &line);
    emit_line(e, "%s%s", line.data, unit ? ";" : ");");
    text_free(&line);
    text_free(&read);
    text_free(&written);
}

void
body_store(Emit *e, int32_t at)
{
    const Instr *moved = instr_at(e, instr_at(e, at)->args[0]);
    if (moved->kind == INSTR_LOAD && moved->dtype == DT_BOOL && moved->level == LEVEL_ELEMENT) {
        move_bytes(e, moved->operand, instr_at(e, at)->operand);
        return;
    }
    const Instr *v = instr_at(e, at);
    const Operand *o = &e->kernel->operands.at[v->operand];
    int stride = lane_stride(e, o);
    Text address = {0};
    body_value(e, v->args[0]);
    put_address(e, o, v->operand, &address);
    if (e->lanes * (int)dtype_size(v->dtype) == e->vector_bytes && v->dtype != DT_BOOL &&
        !is_row_value(e, v->args[0]) && e->streams[v->operand] && !e->beside)
        put_stream(e, v->args[0], &address, v->operand);
    put_store(e, v->args[0], &address, stride == STRIDE_UNIT, stride);
    text_free(&address);
}

void
body_check(Emit *e, int32_t at)
{
    body_value(e, instr_at(e, at)->args[0]);
    put_asked_for(e, instr_at(e, at)->args[0]);
}

/* ---- once and per row ---- */

/* Where the C compiler may take flags for nothing (a kept loop that guesses), it must not compute
   with constants itself. */
static bool
hides_constant(const Emit *e, const Instr *v)
{
    return e->kernel->kind == KERNEL_REGION && e->quick && e->kernel->region->guesses &&
           dtype_is_float(v->dtype);
}

void
scalar_value(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text line = {0};
    int lanes = e->lanes;
    if (is_python(v)) {
        python_value(e, at, "return 1;");
        return;
    }
    e->lanes = 1;
    keep_computed(e, v, true);
    if (v->kind == INSTR_CHECK) {
        put_asked_for(e, v->args[0]);
        e->lanes = lanes;
        return;
    }
    if (v->kind == INSTR_STORE) {
        text_put(&line, "*(");
        prelude_memory(e->prelude, v->dtype, 1, &line);
        char to = v->level == LEVEL_ONCE ? 'q' : 'r';
        const Instr *value = instr_at(e, v->args[0]);
        if (value->kind == INSTR_LOAD && value->dtype == DT_BOOL)
            text_printf(&line, " *)%c%d = *%c%d", to, v->operand,
                        value->level == LEVEL_ONCE ? 'q' : 'r', value->operand);
        else
            text_printf(&line, " *)%c%d = s%d", to, v->operand, v->args[0]);
    } else {
        text_put(&line, "const ");
        prelude_type(e->prelude, v->dtype, 1, &line);
        text_printf(&line, " s%d = ", at);
        if (v->kind == INSTR_LOAD) {
            text_put(&line, "*(const ");
            prelude_memory(e->prelude, v->dtype, 1, &line);
            text_printf(&line, " *)%c%d%s", v->level == LEVEL_ONCE ? 'q' : 'r', v->operand,
                        v->dtype == DT_BOOL ? " != 0" : "");
        } else if (v->kind == INSTR_CONST && hides_constant(e, v)) {
            text_printf(&line, "({ %s a = ", dtype_name(v->dtype));
            put_constant(e, v, &line);
            text_printf(&line, "; __asm__(\"\" : \"+%s\"(a)); a; })", body_constraint(e, at));
        } else if (v->kind == INSTR_CONST)
            put_constant(e, v, &line);
        else
            put_operation(e, v, 1, &line);
    }
    finish_line(e, at, &line);
    /* what a loop's variable starts with may be overwritten unread */
    if (e->kernel->kind == KERNEL_REGION && e->flags && may_raise_flags(v)) put_asked_for(e, at);
    e->lanes = lanes;
}

/* ---- for block calls ---- */

static void
operand_memory(Emit *e, int32_t number, Text *pointer, Text *stride)
{
    const Operand *o = &e->kernel->operands.at[number];
    int row = o->stride[e->kernel->nloops - 1];
    Text step = {0};
    if (row == STRIDE_UNIT)
        text_printf(&step, "%d", (int)dtype_size(o->dtype));
    else if (row == STRIDE_ZERO)
        text_put(&step, "0");
    else
        text_printf(&step, "n%d", row);
    text_printf(pointer, e->in_pieces ? "r%d + c * %s" : "r%d", number, step.data);
    text_put(stride, step.data);
    text_free(&step);
}

void
memory_pointer(Emit *e, int32_t at, Text *pointer, Text *stride)
{
    const Instr *v = instr_at(e, at);
    if (v->kind == INSTR_LOAD && v->level == LEVEL_ELEMENT)
        operand_memory(e, v->operand, pointer, stride);
    else if (is_row_value(e, at)) {
        text_printf(pointer, "(char *)&s%d", at);
        text_put(stride, "0");
    } else if (v->home == HOME_OPERAND)
        operand_memory(e, v->slot, pointer, stride);
    else {
        text_printf(pointer, e->in_pieces ? "t%d + c * %d" : "t%d", v->slot,
                    (int)dtype_size(v->dtype));
        text_printf(stride, "%d", (int)dtype_size(v->dtype));
    }
}
