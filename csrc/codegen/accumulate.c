/* What the loop over a row keeps for a reduction, and how the result is made of it after the loop.
   Names: s is the result, a are vector accumulators, and

   - for any and all the accumulator is a mask as wide as the value's, narrowed once at the end;
   - for a max or min of floats (REDUCE_EXTREME) s and a ignore NaNs; nan (scalar) and nans (vector)
     say whether there was one, and the top bits of sign and signs whether all values were negative
     (max) or any was (min), -0.0 included.  The order matters for two results only: a NaN, since
     there are many, and a zero, whose sign depends on the positions of 0.0 and -0.0.  For these the
     ufunc's own loop does the whole reduction again.

   A short body processes up to four vectors per iteration, each with its own accumulators (a, ab
   …), so that they do not wait for one another. */
#include "emit.h"

/* ---- the ufunc's own loop ---- */

/* s is the first element; the loop combines the others with it. */
static void
emit_own_loop(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text pointer = {0}, stride = {0}, memory = {0};
    if (v->home == HOME_SCRATCH) {
        text_printf(&pointer, "t%d", v->slot);
        text_printf(&stride, "%d", (int)dtype_size(v->dtype));
    } else
        memory_pointer(e, v->args[0], &pointer, &stride);
    prelude_memory(e->prelude, v->dtype, 1, &memory);
    emit_line(e, "s%d = *(const %s *)%s;", at, memory.data, pointer.data);
    open_block(e, "if (m > 1) ");
    emit_line(e, "char *const data[] = {(char *)&s%d, %s + %s, (char *)&s%d};", at, pointer.data,
              stride.data, at);
    emit_line(e, "const int64_t dimensions[] = {m - 1}, strides[] = {0, %s, 0};", stride.data);
    emit_line(e, "const KernelLoop *const loop = &args->loop[%d];", v->loop);
    emit_line(e, "if (call_loop(loop, data, dimensions, strides)) return 1;");
    close_block(e);
    text_free(&pointer);
    text_free(&stride);
    text_free(&memory);
}

void
emit_reduce_call(Emit *e, int32_t at)
{
    Text type = {0};
    prelude_type(e->prelude, instr_at(e, at)->dtype, 1, &type);
    emit_line(e, "%s s%d = 1;", type.data, at); /* of a product, the only one */
    open_block(e, "if (m > 0) ");
    emit_own_loop(e, at);
    close_block(e);
    text_free(&type);
}

/* ---- facts about a reduction ---- */

static const char *
combine_name(Op op)
{
    switch (op) {
    case OP_sum: return "add";
    case OP_prod: return "mul";
    case OP_max: return "maximum";
    case OP_min: return "minimum";
    case OP_all: return "logical_and";
    default: return "logical_or";
    }
}

void
put_identity(const Instr *v, Text *out)
{
    DType t = v->dtype;
    int bits = 8 * (int)dtype_size(t);
    bool least = v->op == OP_max || v->op == OP_min;
    if (v->op == OP_all || v->op == OP_prod || (v->op == OP_min && t == DT_BOOL))
        text_put(out, "1");
    else if (!least || t == DT_BOOL || (v->op == OP_max && !dtype_is_signed(t)))
        text_put(out, "0");
    else if (!dtype_is_signed(t))
        text_printf(out, "(%s)-1", dtype_name(t));
    else
        text_printf(out, "(%s)(%s1ull << %d%s)", dtype_name(t), v->op == OP_min ? "(" : "",
                    bits - 1, v->op == OP_min ? ") - 1" : "");
}

bool
reduces_in_loop(const Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    return v->kind == INSTR_REDUCE && v->stage == stage && !is_columns(e) &&
           v->order != REDUCE_CALL;
}

bool
is_extreme(const Emit *e, int32_t at)
{
    return instr_at(e, at)->order == REDUCE_EXTREME && !is_columns(e);
}

/* The integer dtype as wide as the values of a max or min. */
static DType
bits_dtype(const Instr *v)
{
    return mask_dtype((int)dtype_size(v->dtype));
}

/* The helper that takes the greater (max) or less of two numbers; the second if one is a NaN. */
static const char *
extreme_name(const Instr *v)
{
    return v->op == OP_max ? "most" : "least";
}

static const char *
sign_operator(const Instr *v)
{
    return v->op == OP_max ? "&" : "|";
}

/* The infinity from which a max or min starts. */
static void
put_infinity(const Instr *v, Text *out)
{
    text_printf(out, "%s__builtin_inf%s()", v->op == OP_max ? "-" : "",
                v->dtype == DT_F32 ? "f" : "");
}

/* May comparisons with a NaN raise "invalid"? Yes if the flag can be cleared when a NaN was found,
   since nothing else in the kernel raises a flag that is checked. */
static bool
forgets_invalid(const Emit *e)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return !e->kernel->flags;
#else
    (void)e;
    return false;
#endif
}

/* The lane width of the mask that body_value will make for a bool value in the stage's body; sets
   e->mask_bytes up to it. */
static int
mask_of_value(Emit *e, int stage, int32_t value)
{
    for (int32_t i = 0; i <= value; i++) {
        const Instr *v = instr_at(e, i);
        int width = 1;
        if (e->beside && v->kind == INSTR_REDUCE) continue; /* finish_beside has set it */
        bool made = v->kind == INSTR_OP && !is_row_value(e, i) &&
                    !(v->home != HOME_NONE && v->stage < stage);
        if (made && v->from != DT_BOOL) width = (int)dtype_size(v->from);
        for (int k = 0; made && v->from == DT_BOOL && k < v->nargs; k++)
            if (!is_row_value(e, v->args[k]) && e->mask_bytes[v->args[k]] > width)
                width = e->mask_bytes[v->args[k]];
        e->mask_bytes[i] = (uint8_t)width;
    }
    return is_row_value(e, value) ? 1 : e->mask_bytes[value];
}

/* Does a reduction of bools combine by `and`? */
static bool
takes_all(const Instr *v)
{
    return v->op == OP_all || v->op == OP_min;
}

/* ---- in the loop ---- */

/* Suffixes of the accumulators of the vectors of one iteration, by Emit.part. */
static const char *const ways[] = {"", "b", "c", "d"};

/* s = most(x, s), or least, with nan and sign, for a value of the name x. */
static void
accumulate_one(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text name = {0}, bits = {0};
    prelude_use(e->prelude, extreme_name(v), v->dtype, 1, &name);
    prelude_memory(e->prelude, bits_dtype(v), 1, &bits);
    emit_line(e, "s%d = %s(x%d, s%d);", at, name.data, at, at);
    emit_line(e, "nan%d |= x%d != x%d;", at, at, at);
    emit_line(e, "sign%d %s= *(const %s *)&x%d;", at, sign_operator(v), bits.data, at);
    text_free(&name);
    text_free(&bits);
}

/* The same for vectors.  The masks are combined faster than the values, so two of each are
   enough. */
static void
accumulate_many(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    const char *way = e->ways > 1 ? ways[e->part] : "",
               *half = e->ways > 1 ? ways[e->part % 2] : "";
    Text name = {0}, bits = {0}, type = {0}, number = {0};
    prelude_use(e->prelude, extreme_name(v), v->dtype, e->lanes, &name);
    prelude_type(e->prelude, bits_dtype(v), e->lanes, &bits);
    prelude_type(e->prelude, v->dtype, e->lanes, &type);
    if (forgets_invalid(e))
        text_printf(&number, "x%d", at);
    else
        text_printf(&number, "(%s)((%s)x%d & (x%d == x%d))", type.data, bits.data, at, at, at);
    emit_line(e, "a%s%d = %s(%s, a%s%d);", way, at, name.data, number.data, way, at);
    emit_line(e, "nans%s%d |= x%d != x%d;", half, at, at, at);
    emit_line(e, "signs%s%d %s= (%s)x%d;", half, at, sign_operator(v), bits.data, at);
    text_free(&name);
    text_free(&bits);
    text_free(&type);
    text_free(&number);
}

/* GCC would load a value from memory again for each use. */
static void
keep_in_register(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    const char *where = body_constraint(e, v->args[0]);
    if (instr_at(e, v->args[0])->kind == INSTR_LOAD && *where != 'm')
        emit_line(e, "__asm__(\"\" : \"+%s\"(x%d));", where, at);
}

static void
accumulate_extreme(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text value = {0}, type = {0};
    prelude_type(e->prelude, v->dtype, e->lanes, &type);
    body_name(e, v->args[0], &value);
    emit_line(e, "%s x%d = %s;", type.data, at, value.data);
    if (e->lanes > 1) {
        keep_in_register(e, at);
        accumulate_many(e, at);
    } else
        accumulate_one(e, at);
    text_free(&value);
    text_free(&type);
}

/* Adds the halves of a vector of 16 floats, one after the other. */
static void
accumulate_pair(Emit *e, int32_t at)
{
    Text add = {0}, value = {0};
    prelude_use(e->prelude, "add", DT_F32, PAIRWISE_LANES, &add);
    body_name(e, instr_at(e, at)->args[0], &value);
    for (int half = 0; half < 2; half++) {
        Text name = {0};
        prelude_half(e->prelude, half, &name);
        emit_line(e, "a%d = %s(a%d, %s(%s));", at, add.data, at, name.data, value.data);
        text_free(&name);
    }
    text_free(&add);
    text_free(&value);
}

void
emit_accumulate(Emit *e, int32_t at, const char *acc)
{
    const Instr *v = instr_at(e, at);
    if (is_extreme(e, at)) {
        accumulate_extreme(e, at);
        return;
    }
    if (v->order == REDUCE_PAIRWISE && !e->beside && !is_columns(e) && e->lanes > PAIRWISE_LANES) {
        accumulate_pair(e, at);
        return;
    }
    Text line = {0};
    text_printf(&line, "%s%d = ", acc, at);
    if (v->dtype == DT_BOOL && e->lanes > 1) {
        text_printf(&line, "%s%d %s ", acc, at, takes_all(v) ? "&" : "|");
        int32_t value = v->args[0];
        body_mask(e, value, is_columns(e) || is_row_value(e, value) ? 1 : e->mask_bytes[value],
                  &line);
    } else {
        prelude_use(e->prelude, combine_name(v->op), v->dtype, e->lanes, &line);
        text_printf(&line, "(%s%d, ", acc, at);
        body_name(e, v->args[0], &line);
        text_put(&line, ")");
    }
    emit_line(e, "%s;", line.data);
    text_free(&line);
}

/* ---- before the loop ---- */

static void
declare_extreme_vectors(Emit *e, int32_t at, int lanes, int count)
{
    const Instr *v = instr_at(e, at);
    const char *none = v->op == OP_max ? " - 1" : "";
    Text type = {0}, bits = {0}, first = {0};
    prelude_type(e->prelude, v->dtype, lanes, &type);
    prelude_type(e->prelude, bits_dtype(v), lanes, &bits);
    put_infinity(v, &first);
    for (int way = 0; way < count; way++)
        emit_line(e, "%s a%s%d = (%s){} + %s;", type.data, ways[way], at, type.data, first.data);
    for (int way = 0; way < count && way < 2; way++)
        emit_line(e, "%s nans%s%d = {}, signs%s%d = (%s){}%s;", bits.data, ways[way], at, ways[way],
                  at, bits.data, none);
    text_free(&type);
    text_free(&bits);
    text_free(&first);
}

static void
declare_extreme(Emit *e, int32_t at, int lanes)
{
    const Instr *v = instr_at(e, at);
    Text type = {0}, bits = {0}, first = {0};
    prelude_type(e->prelude, v->dtype, 1, &type);
    prelude_type(e->prelude, bits_dtype(v), 1, &bits);
    put_infinity(v, &first);
    emit_line(e, "%s s%d = %s;", type.data, at, first.data);
    emit_line(e, "%s nan%d = 0, sign%d = %d;", bits.data, at, at, v->op == OP_max ? -1 : 0);
    if (lanes > 1) declare_extreme_vectors(e, at, lanes, e->ways);
    text_free(&type);
    text_free(&bits);
    text_free(&first);
}

void
declare_accumulators(Emit *e, int stage, int lanes)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!reduces_in_loop(e, i, stage)) continue;
        if (is_extreme(e, i)) {
            declare_extreme(e, i, lanes);
            continue;
        }
        Text type = {0}, vector = {0}, identity = {0};
        prelude_type(e->prelude, v->dtype, 1, &type);
        put_identity(v, &identity);
        emit_line(e, "%s s%d = %s;", type.data, i, identity.data);
        bool vectors = lanes > 1 && v->order != REDUCE_PAIRWISE;
        if (vectors) {
            DType kept =
                v->dtype != DT_BOOL ? v->dtype : mask_dtype(mask_of_value(e, stage, v->args[0]));
            prelude_type(e->prelude, kept, lanes, &vector);
        }
        for (int way = 0; vectors && way < e->ways; way++)
            emit_line(e, "%s a%s%d = (%s){} %s %s;", vector.data, ways[way], i, vector.data,
                      v->dtype == DT_BOOL ? "-" : "+", identity.data);
        text_free(&type);
        text_free(&vector);
        text_free(&identity);
    }
}

/* ---- after the loop ---- */

/* Combines the accumulators of all vectors, then s with the lanes. */
static void
fold(Emit *e, int32_t at, int stage, const char *name)
{
    const Instr *v = instr_at(e, at);
    bool mask = v->dtype == DT_BOOL;
    Text one = {0}, many = {0}, lanes = {0};
    DType kept = mask ? mask_dtype(mask_of_value(e, stage, v->args[0])) : v->dtype;
    prelude_use(e->prelude, name, v->dtype, 1, &one);
    prelude_fold(e->prelude, !mask ? name : takes_all(v) ? "and" : "or", kept, e->lanes, &lanes);
    if (!mask && e->ways > 1) prelude_use(e->prelude, name, v->dtype, e->lanes, &many);
    for (int way = 1; way < e->ways; way++)
        if (mask)
            emit_line(e, "a%d %s= a%s%d;", at, takes_all(v) ? "&" : "|", ways[way], at);
        else
            emit_line(e, "a%d = %s(a%d, a%s%d);", at, many.data, at, ways[way], at);
    emit_line(e, "s%d = %s(s%d, %s(a%d)%s);", at, one.data, at, lanes.data, at,
              mask ? " != 0" : "");
    text_free(&one);
    text_free(&many);
    text_free(&lanes);
}

static void
fold_bits(Emit *e, int32_t at, const char *name, const char *operator_)
{
    Text lanes = {0};
    prelude_fold(e->prelude, *operator_ == '&' ? "and" : "or", bits_dtype(instr_at(e, at)),
                 e->lanes, &lanes);
    if (e->ways > 1) emit_line(e, "%ss%d %s= %ssb%d;", name, at, operator_, name, at);
    emit_line(e, "%s%d %s= %s(%ss%d);", name, at, operator_, lanes.data, name, at);
    text_free(&lanes);
}

void
fold_lanes(Emit *e, int stage, int lanes)
{
    e->lanes = lanes;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!reduces_in_loop(e, i, stage) || v->order == REDUCE_PAIRWISE) continue;
        if (!is_extreme(e, i)) {
            fold(e, i, stage, combine_name(v->op));
            continue;
        }
        fold(e, i, stage, extreme_name(v));
        fold_bits(e, i, "nan", "|");
        fold_bits(e, i, "sign", sign_operator(v));
    }
}

/* Writes the value, if it is not in memory, to scratch, where the ufunc's loop reads it. */
static void
write_extreme(Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    Text memory = {0};
    if (v->home != HOME_SCRATCH) return;
    prelude_memory(e->prelude, v->dtype, 1, &memory);
    open_block(e, "for (int64_t j = 0; j < m; j++) ");
    body_begin(e, stage, 1);
    body_value(e, v->args[0]);
    emit_line(e, "*(%s *)(t%d + j * %d) = v%d;", memory.data, v->slot, (int)dtype_size(v->dtype),
              v->args[0]);
    close_block(e);
    text_free(&memory);
}

/* Puts nan and sign into s: a NaN where there was one, and a zero of the right sign.  A max of -0.0
   is certain (all values are negative), and so is a min of 0.0 (no value is).  The other zero is
   doubtful: there may have been one of either sign. */
static void
settle_extreme(Emit *e, int32_t at)
{
    if (forgets_invalid(e)) {
        prelude_forget_invalid(e->prelude);
        emit_line(e, "if (nan%d) forget_invalid();", at);
    }
    emit_line(e, "if (nan%d) s%d = __builtin_nan(\"\");", at, at);
    emit_line(e, "else if (s%d == 0) s%d = sign%d < 0 ? -0.0 : 0.0;", at, at, at);
}

/* Keeps s, or has the ufunc's loop compute it: for a NaN and a doubtful zero. */
static void
finish_extreme(Emit *e, int32_t at, int stage)
{
    Text head = {0};
    settle_extreme(e, at);
    text_printf(&head, "if (s%d != s%d || (s%d == 0 && %s__builtin_signbit(s%d))) ", at, at, at,
                instr_at(e, at)->op == OP_max ? "!" : "", at);
    open_block(e, head.data);
    write_extreme(e, at, stage);
    emit_own_loop(e, at);
    close_block(e);
    text_free(&head);
}

void
finish_extremes(Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (reduces_in_loop(e, i, stage) && is_extreme(e, i)) finish_extreme(e, i, stage);
}

/* ---- rows side by side ---- */

/* Declares the accumulators of a vector of rows; `pairs` of them for a sum in NumPy's order. */
void
declare_beside(Emit *e, int stage, int pairs)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!reduces_in_loop(e, i, stage)) continue;
        if (is_extreme(e, i)) {
            declare_extreme_vectors(e, i, e->beside, 1);
            continue;
        }
        bool sum = v->order == REDUCE_PAIRWISE;
        DType kept =
            v->dtype != DT_BOOL ? v->dtype : mask_dtype(mask_of_value(e, stage, v->args[0]));
        Text type = {0}, first = {0};
        prelude_type(e->prelude, kept, e->beside, &type);
        if (sum)
            text_put(&first, "0"); /* -(0.0 + 0) is -0.0; 0.0 - 0 would not be */
        else
            put_identity(v, &first);
        for (int k = 0; k < (sum ? pairs : 1); k++)
            emit_line(e, "%s %s%d = %s(%s){} %s %s%s;", type.data, accumulators[k], i,
                      sum ? "-(" : "", type.data, v->dtype == DT_BOOL ? "-" : "+", first.data,
                      sum ? ")" : "");
        text_free(&type);
        text_free(&first);
    }
}

/* Adds the eight accumulators of a sum as NumPy does. */
void
add_pairs(Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (reduces_in_loop(e, i, stage) && instr_at(e, i)->order == REDUCE_PAIRWISE)
            emit_line(e, "a%d = ((a%d + ab%d) + (ac%d + ad%d)) + ((ae%d + af%d) + (ag%d + ah%d));",
                      i, i, i, i, i, i, i, i, i);
}

/* Rows of which one has a NaN or a doubtful zero are done one by one, which calls the ufunc's loop
   where needed: until `unit` reaches `single`. */
static void
finish_extreme_beside(Emit *e, int32_t at, const char *type)
{
    const Instr *v = instr_at(e, at);
    Text bits = {0}, any = {0};
    prelude_type(e->prelude, bits_dtype(v), e->beside, &bits);
    prelude_fold(e->prelude, "or", bits_dtype(v), e->beside, &any);
    emit_line(e, "const %s doubt%d = nans%d | ((a%d == 0) & (signs%d %s 0));", bits.data, at, at,
              at, at, v->op == OP_max ? ">=" : "<");
    emit_line(e, "const %s any%d = %s(doubt%d);", dtype_name(bits_dtype(v)), at, any.data, at);
    if (forgets_invalid(e)) {
        prelude_forget_invalid(e->prelude);
        emit_line(e, "if (any%d) forget_invalid();", at);
    }
    emit_line(e, "if (any%d) single = unit + %d;", at, e->beside);
    emit_line(e, "if (any%d) continue;", at);
    emit_line(e, "const %s v%d = a%d;", type, at, at);
    text_free(&bits);
    text_free(&any);
}

/* Declares v, the reduction's value for each row. */
void
finish_beside(Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!reduces_in_loop(e, i, stage)) continue;
        Text type = {0};
        int width = v->dtype == DT_BOOL ? mask_of_value(e, stage, v->args[0]) : 1;
        e->mask_bytes[i] = (uint8_t)width;
        prelude_type(e->prelude, v->dtype == DT_BOOL ? mask_dtype(width) : v->dtype, e->beside,
                     &type);
        if (is_extreme(e, i))
            finish_extreme_beside(e, i, type.data);
        else
            emit_line(e, "const %s v%d = %sa%d;", type.data, i,
                      v->order == REDUCE_PAIRWISE ? "0 + " : "", i);
        text_free(&type);
    }
}

/* ---- parts of a row ---- */

void
store_part(Emit *e)
{
    int number = 0;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!reduces_in_loop(e, i, 0)) continue;
        Text type = {0};
        prelude_memory(e->prelude, instr_at(e, i)->dtype, 1, &type);
        if (is_extreme(e, i)) settle_extreme(e, i);
        emit_line(e, "*(%s *)(partial + 8 * (%d * parts + unit)) = s%d;", type.data, number++, i);
        text_free(&type);
    }
}

/* The parts' results are combined like the values of a row. */
static void
combine_extreme(Emit *e, int32_t at, int number, const char *memory)
{
    declare_extreme(e, at, 1);
    open_block(e, "for (int64_t unit = 0; unit < parts; unit++) ");
    emit_line(e, "const %s x%d = *(%s *)(partial + 8 * (%d * parts + unit));",
              dtype_name(instr_at(e, at)->dtype), at, memory, number);
    accumulate_one(e, at);
    close_block(e);
    finish_extreme(e, at, 0);
}

/* Combines the parts' results two by two, in the order of a pairwise sum's tree. */
static void
combine_pairs(Emit *e, int32_t at, int number, const char *memory)
{
    const Instr *v = instr_at(e, at);
    Text combine = {0};
    prelude_use(e->prelude, combine_name(v->op), v->dtype, 1, &combine);
    emit_line(e, "for (int64_t half = 1; half < parts; half *= 2)");
    e->indent++;
    open_block(e, "for (int64_t unit = 0; unit < parts; unit += 2 * half) ");
    emit_line(e, "char *const p = partial + 8 * (%d * parts + unit);", number);
    emit_line(e, "*(%s *)p = %s(*(%s *)p, *(%s *)(p + 8 * half));", memory, combine.data, memory,
              memory);
    close_block(e);
    e->indent--;
    emit_line(e, "%s s%d = %s*(%s *)(partial + 8 * (%d * parts));", dtype_name(v->dtype), at,
              v->order == REDUCE_PAIRWISE ? "0 + " : "", memory, number);
    text_free(&combine);
}

void
combine_parts(Emit *e)
{
    int number = 0;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!reduces_in_loop(e, i, 0)) continue;
        Text memory = {0};
        prelude_memory(e->prelude, instr_at(e, i)->dtype, 1, &memory);
        if (is_extreme(e, i))
            combine_extreme(e, i, number++, memory.data);
        else
            combine_pairs(e, i, number++, memory.data);
        text_free(&memory);
    }
}
