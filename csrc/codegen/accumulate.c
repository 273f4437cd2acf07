/* What the loop over a row keeps of a reduction, and what becomes of it behind the loop.  Names: s
   the result, a the accumulators of a vector, and

   - of any and all the accumulator is a mask as wide as the value's own, narrowed once at the end;
   - of a float's max or min (REDUCE_EXTREME) the accumulators k (one) and a (a vector) are integers
     that are ordered as the floats are, and z and y are the other extreme.  An order in which all
     bits differ needs no care but for two results: a NaN, which is beyond the infinities on either
     side, since there are many, and a zero, of which NumPy takes the one or the other by where it
     stands.  For these the ufunc's own loop does it all again.

   A short body is done for four vectors at a time, each with its accumulators (a, ab …), so that
   they do not wait for one another. */
#include "emit.h"

/* ---- the ufunc's own loop ---- */

/* The first element is copied, the loop does the others. */
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
    emit_line(e, "%s s%d;", type.data, at);
    emit_own_loop(e, at);
    text_free(&type);
}

/* ---- what there is to know ---- */

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

static bool
is_extreme(const Emit *e, int32_t at)
{
    return instr_at(e, at)->order == REDUCE_EXTREME && !is_columns(e);
}

/* The integers that an extreme's keys are. */
static DType
key_dtype(const Instr *v)
{
    return mask_dtype((int)dtype_size(v->dtype));
}

/* The key beyond all others on the side that the reduction looks for, which stands for a NaN, or on
   the other side, from where it begins. */
static void
put_key_end(const Instr *v, bool looked_for, Text *out)
{
    int bits = 8 * (int)dtype_size(v->dtype);
    bool most = (v->op == OP_max) == looked_for;
    text_printf(out, "(%s)(%s1ull << %d%s)", dtype_name(key_dtype(v)), most ? "(" : "", bits - 1,
                most ? ") - 1" : "");
}

/* The width of the masks that a vector of bools is made of in the stage's body, which body_value
   will choose: sets e->mask_bytes. */
static int
mask_of_value(Emit *e, int stage, int32_t value)
{
    for (int32_t i = 0; i <= value; i++) {
        const Instr *v = instr_at(e, i);
        int width = 1;
        if (e->beside && v->kind == INSTR_REDUCE) continue; /* known, where it is made */
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

static bool
takes_all(const Instr *v)
{
    return v->op == OP_all || v->op == OP_min;
}

/* ---- in the loop ---- */

static const char *
other_name(Op op)
{
    return combine_name(op == OP_max ? OP_min : OP_max);
}

/* Of vectors, by the number of the one in hand; "a" and "y" are the first's. */
static const char *const ways[] = {"", "b", "c", "d"};

/* k = max(k, key of the value); z = min(z, key of the value). */
static void
accumulate_extreme(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    bool vector = e->lanes > 1;
    Text best = {0}, worst = {0}, key = {0}, type = {0};
    prelude_type(e->prelude, key_dtype(v), e->lanes, &type);
    prelude_use(e->prelude, combine_name(v->op), key_dtype(v), e->lanes, &best);
    prelude_use(e->prelude, other_name(v->op), key_dtype(v), e->lanes, &worst);
    prelude_key(e->prelude, v->dtype, e->lanes, &key);
    text_put(&key, "(");
    body_name(e, v->args[0], &key);
    emit_line(e, "const %s key%d = %s);", type.data, at, key.data);
    for (int other = 0; other < 2; other++) {
        char acc[8];
        snprintf(acc, sizeof acc, "%c%s",
                 vector  ? other ? 'y' : 'a'
                 : other ? 'z'
                         : 'k',
                 vector && e->ways > 1 ? ways[e->part] : "");
        emit_line(e, "%s%d = %s(%s%d, key%d);", acc, at, other ? worst.data : best.data, acc, at,
                  at);
    }
    text_free(&best);
    text_free(&worst);
    text_free(&key);
    text_free(&type);
}

void
emit_accumulate(Emit *e, int32_t at, const char *acc)
{
    const Instr *v = instr_at(e, at);
    if (is_extreme(e, at)) {
        accumulate_extreme(e, at);
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
declare_extreme(Emit *e, int32_t at, int lanes)
{
    const Instr *v = instr_at(e, at);
    Text type = {0}, vector = {0};
    prelude_type(e->prelude, key_dtype(v), 1, &type);
    if (lanes > 1) prelude_type(e->prelude, key_dtype(v), lanes, &vector);
    for (int other = 0; other < 2; other++) {
        Text first = {0};
        put_key_end(v, other, &first);
        emit_line(e, "%s %c%d = %s;", type.data, other ? 'z' : 'k', at, first.data);
        for (int way = 0; lanes > 1 && way < e->ways; way++)
            emit_line(e, "%s %c%s%d = (%s){} + %s;", vector.data, other ? 'y' : 'a', ways[way], at,
                      vector.data, first.data);
        text_free(&first);
    }
    text_free(&type);
    text_free(&vector);
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

/* ---- behind the loop ---- */

/* acc = combine(acc, lane) for each lane of the vectors, which are put together first. */
static void
fold(Emit *e, int32_t at, DType dtype, Op op, const char *acc, const char *vector)
{
    bool mask = dtype == DT_BOOL;
    Text one = {0}, many = {0};
    prelude_use(e->prelude, combine_name(op), dtype, 1, &one);
    if (!mask && e->ways > 1) prelude_use(e->prelude, combine_name(op), dtype, e->lanes, &many);
    for (int way = 1; way < e->ways; way++)
        if (mask)
            emit_line(e, "%s%d %s= %s%s%d;", vector, at, takes_all(instr_at(e, at)) ? "&" : "|",
                      vector, ways[way], at);
        else
            emit_line(e, "%s%d = %s(%s%d, %s%s%d);", vector, at, many.data, vector, at, vector,
                      ways[way], at);
    emit_line(e, "for (int i = 0; i < %d; i++) %s%d = %s(%s%d, %s%d[i]%s);", e->lanes, acc, at,
              one.data, acc, at, vector, at, mask ? " != 0" : "");
    text_free(&one);
    text_free(&many);
}

void
fold_lanes(Emit *e, int stage, int lanes)
{
    e->lanes = lanes;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!reduces_in_loop(e, i, stage) || v->order == REDUCE_PAIRWISE) continue;
        if (!is_extreme(e, i)) {
            fold(e, i, v->dtype, v->op, "s", "a");
            continue;
        }
        fold(e, i, key_dtype(v), v->op, "k", "a");
        fold(e, i, key_dtype(v), v->op == OP_max ? OP_min : OP_max, "z", "y");
    }
}

/* What the ufunc's loop reads, where it rests nowhere. */
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

/* Keys of what is beyond the infinity on the one side, or on the other, are NaNs'. */
static void
put_is_nan(const Instr *v, bool above, Text *out)
{
    text_printf(out, "%s%s", above ? "> " : "< ~",
                v->dtype == DT_F32 ? "0x7f800000" : "0x7ff0000000000000");
}

/* s from k: the float, or what the ufunc's loop says. */
static void
finish_extreme(Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    bool most = v->op == OP_max;
    Text type = {0}, name = {0}, head = {0};
    prelude_type(e->prelude, v->dtype, 1, &type);
    prelude_float_of_key(e->prelude, v->dtype, &name);
    emit_line(e, "%s s%d = %s(k%d);", type.data, at, name.data, at);
    text_printf(&head, "if (k%d == %d || k%d ", at, most ? 0 : -1, at);
    put_is_nan(v, most, &head);
    text_put(&head, ") ");
    open_block(e, head.data);
    write_extreme(e, at, stage);
    emit_own_loop(e, at);
    close_block(e);
    text_free(&type);
    text_free(&name);
    text_free(&head);
}

/* A NaN on the other side becomes one on this. */
static void
note_nan(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text test = {0}, end = {0};
    put_is_nan(v, v->op != OP_max, &test);
    put_key_end(v, true, &end);
    emit_line(e, "if (z%d %s) k%d = %s;", at, test.data, at, end.data);
    text_free(&test);
    text_free(&end);
}

void
finish_extremes(Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!reduces_in_loop(e, i, stage) || !is_extreme(e, i)) continue;
        note_nan(e, i);
        finish_extreme(e, i, stage);
    }
}

/* ---- rows side by side ---- */

/* Accumulators of a vector of rows; `pairs` of them for a sum in NumPy's order. */
void
declare_beside(Emit *e, int stage, int pairs)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!reduces_in_loop(e, i, stage)) continue;
        bool sum = v->order == REDUCE_PAIRWISE;
        DType kept = is_extreme(e, i)      ? key_dtype(v)
                     : v->dtype != DT_BOOL ? v->dtype
                                           : mask_dtype(mask_of_value(e, stage, v->args[0]));
        Text type = {0}, first = {0}, other = {0};
        prelude_type(e->prelude, kept, e->beside, &type);
        if (is_extreme(e, i)) {
            put_key_end(v, false, &first);
            put_key_end(v, true, &other);
            emit_line(e, "%s y%d = (%s){} + %s;", type.data, i, type.data, other.data);
        } else if (sum)
            text_put(&first, "0"); /* -0.0: 0.0 - 0 would be none */
        else
            put_identity(v, &first);
        for (int k = 0; k < (sum ? pairs : 1); k++)
            emit_line(e, "%s %s%d = %s(%s){} %s %s%s;", type.data, accumulators[k], i,
                      sum ? "-(" : "", type.data, v->dtype == DT_BOOL ? "-" : "+", first.data,
                      sum ? ")" : "");
        text_free(&type);
        text_free(&first);
        text_free(&other);
    }
}

/* The eight accumulators of a sum, as NumPy adds them. */
void
add_pairs(Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (reduces_in_loop(e, i, stage) && instr_at(e, i)->order == REDUCE_PAIRWISE)
            emit_line(e, "a%d = ((a%d + ab%d) + (ac%d + ad%d)) + ((ae%d + af%d) + (ag%d + ah%d));",
                      i, i, i, i, i, i, i, i, i);
}

static void
finish_extreme_beside(Emit *e, int32_t at, const char *type)
{
    const Instr *v = instr_at(e, at);
    bool most = v->op == OP_max;
    Text mine = {0}, others = {0}, key = {0}, mask = {0};
    put_is_nan(v, most, &mine);
    put_is_nan(v, !most, &others);
    prelude_type(e->prelude, key_dtype(v), e->beside, &mask);
    prelude_key(e->prelude, v->dtype, e->beside, &key);
    emit_line(e, "const %s doubt%d = (a%d == %d) | (a%d %s) | (y%d %s);", mask.data, at, at,
              most ? 0 : -1, at, mine.data, at, others.data);
    emit_line(e, "%s any%d = 0;", dtype_name(key_dtype(v)), at);
    emit_line(e, "for (int i = 0; i < %d; i++) any%d |= doubt%d[i];", e->beside, at, at);
    open_block(e, "");
    emit_line(e, "if (any%d) single = unit + %d;", at, e->beside);
    emit_line(e, "if (any%d) continue;", at);
    close_block(e);
    emit_line(e, "const %s v%d = (%s)%s((%s)a%d);", type, at, type, key.data, type, at);
    text_free(&mine);
    text_free(&others);
    text_free(&key);
    text_free(&mask);
}

/* v of each row's reduction. */
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

/* What a part keeps of a reduction: "s3" of this type, or an extreme's key. */
static void
put_kept(Emit *e, int32_t at, Text *type, char *name)
{
    const Instr *v = instr_at(e, at);
    *name = is_extreme(e, at) ? 'k' : 's';
    prelude_memory(e->prelude, is_extreme(e, at) ? key_dtype(v) : v->dtype, 1, type);
}

void
store_part(Emit *e)
{
    int number = 0;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!reduces_in_loop(e, i, 0)) continue;
        Text type = {0};
        char name;
        put_kept(e, i, &type, &name);
        if (name == 'k') note_nan(e, i);
        emit_line(e, "*(%s *)(partial + 8 * (%d * parts + unit)) = %c%d;", type.data, number++,
                  name, i);
        text_free(&type);
    }
}

/* The parts' results two by two, as the tree of a pairwise sum has them. */
void
combine_parts(Emit *e)
{
    int number = 0;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!reduces_in_loop(e, i, 0)) continue;
        Text type = {0}, combine = {0};
        char name;
        put_kept(e, i, &type, &name);
        prelude_use(e->prelude, combine_name(v->op), name == 'k' ? key_dtype(v) : v->dtype, 1,
                    &combine);
        emit_line(e, "for (int64_t half = 1; half < parts; half *= 2)");
        e->indent++;
        open_block(e, "for (int64_t unit = 0; unit < parts; unit += 2 * half) ");
        emit_line(e, "char *const p = partial + 8 * (%d * parts + unit);", number);
        emit_line(e, "*(%s *)p = %s(*(%s *)p, *(%s *)(p + 8 * half));", type.data, combine.data,
                  type.data, type.data);
        close_block(e);
        e->indent--;
        emit_line(e, "%.*s %c%d = %s*(%s *)(partial + 8 * (%d * parts));", (int)type.len - 1,
                  type.data, name, i, v->order == REDUCE_PAIRWISE ? "0 + " : "", type.data,
                  number++);
        if (name == 'k') finish_extreme(e, i, 0);
        text_free(&type);
        text_free(&combine);
    }
}
