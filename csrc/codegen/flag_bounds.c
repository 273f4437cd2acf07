/* Kernels that only look for floating-point flags, first by bounds (lower/flag_bounds.c).  Of each
   array that is read the least and the largest element are found, in one pass; then the kernel's
   operations are done once, on bounds instead of elements:

       see_f64(&b0, r0, m);                                per operand
       const f64b x0 = bounds_f64(&b0, &lost);
       const f64b x2 = multiply_f64(x0, x1, &lost);        per operation
       if (!lost) return 0;
       return k1(args, begin, end);                        each element

   Operations on floats are monotone in each argument, rounded ones, too, in any rounding mode.  So
   the bounds of a result are results for bounds of the arguments, computed in the same type, and
   need no margin.  Bounds are *lost* where one is a NaN or beyond a limit, half of the type's range
   of exponents: no product or quotient of two that are not can overflow, here or of elements.  So
   that nothing here raises a flag but underflow, by which nobody calls this where it counts. */
#include "emit.h"

static const char *const op_texts[OP_COUNT] = {
#define BOUNDS(op, text) [OP_##op] = text,
#include "../lower/flag_bounds.def"
};

/* ---- helpers ----
   In these texts @ is f32 or f64, # the integer of its width, and words of capitals as below. */

static const struct {
    const char *word, *f32, *f64;
} words[] = {
    {"LIMIT", "0x1p60f", "0x1p500"},
    {"LEAST", "0x1p-60f", "0x1p-500"},
    {"BITS", "0x5d800000", "0x5f30000000000000"}, /* of LIMIT */
    {"TOP", "0x7fffffff", "0x7fffffffffffffff"},  /* all but the sign */
    {"SQRT", "__builtin_sqrtf", "__builtin_sqrt"},
};

#define HELPER "static __attribute__((noinline, unused)) "

static const char types_text[] =
    "typedef struct { # least, largest; } @s; /* of bits, and of bits without the sign */\n"
    "typedef struct { @ lo, hi; } @b;\n" HELPER "@b lost_@(int *lost) {\n"
    "    *lost = 1;\n"
    "    return (@b){1, 1};\n"
    "}\n" HELPER "@b bounds_@(const @s *s, int *lost) {\n"
    "    const union { # bits; @ value; } least = {s->least}, largest = {s->largest};\n"
    "    if (s->least <= BITS && s->largest <= BITS)\n"
    "        return (@b){s->least < 0 ? -largest.value : least.value, largest.value};\n"
    "    return lost_@(lost);\n"
    "}\n" HELPER "@b number_@(@ x, int *lost) {\n"
    "    const union { @ value; # bits; } of = {x};\n"
    "    const @s s = {of.bits, of.bits & TOP};\n"
    "    return bounds_@(&s, lost);\n"
    "}\n" HELPER "@b within_@(@ lo, @ hi, int *lost) {\n"
    "    if (lo >= -LIMIT && hi <= LIMIT) return (@b){lo, hi};\n"
    "    return lost_@(lost);\n"
    "}\n" HELPER "@b magnitude_@(@b a) {\n"
    "    const @ most = a.hi > -a.lo ? a.hi : -a.lo;\n"
    "    return (@b){a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, most};\n"
    "}\n" HELPER "@b around_@(@ p, @ q, @ r, @ s, int *lost) {\n"
    "    const @ a = p < q ? p : q, b = p < q ? q : p, c = r < s ? r : s, d = r < s ? s : r;\n"
    "    return within_@(a < c ? a : c, b > d ? b : d, lost);\n"
    "}\n";

static const struct {
    const char *name, *text;
} helpers[] = {
    {"add", "(@b a, @b b, int *lost) { return within_@(a.lo + b.lo, a.hi + b.hi, lost); }\n"},
    {"subtract", "(@b a, @b b, int *lost) { return within_@(a.lo - b.hi, a.hi - b.lo, lost); }\n"},
    {"multiply", "(@b a, @b b, int *lost) {\n"
                 "    return around_@(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi, lost);\n"
                 "}\n"},
    {"divide",
     "(@b a, @b b, int *lost) {\n"
     "    if (b.lo >= LEAST || b.hi <= -LEAST)\n"
     "        return around_@(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi, lost);\n"
     "    return lost_@(lost);\n"
     "}\n"},
    {"reciprocal", "(@b a, int *lost) {\n"
                   "    if (a.lo >= LEAST || a.hi <= -LEAST) return (@b){1 / a.hi, 1 / a.lo};\n"
                   "    return lost_@(lost);\n"
                   "}\n"},
    {"absolute", "(@b a) { return magnitude_@(a); }\n"},
    {"square", "(@b a, int *lost) {\n"
               "    const @b x = magnitude_@(a);\n"
               "    return within_@(x.lo * x.lo, x.hi * x.hi, lost);\n"
               "}\n"},
    {"root", "(@b a, int *lost) {\n"
             "    if (a.lo >= 0) return (@b){SQRT(a.lo), SQRT(a.hi)};\n"
             "    return lost_@(lost);\n"
             "}\n"},
    {"negative", "(@b a) { return (@b){-a.hi, -a.lo}; }\n"},
    {"maximum", "(@b a, @b b) {\n"
                "    return (@b){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};\n"
                "}\n"},
    {"minimum", "(@b a, @b b) {\n"
                "    return (@b){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};\n"
                "}\n"},
    {"either", "(@b a, @b b) {\n"
               "    return (@b){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};\n"
               "}\n"},
    /* x has the sign of a */
    {"signed",
     "(@b x, @b a) {\n"
     "    return (@b){a.lo >= 0 && x.lo < 0 ? 0 : x.lo, a.hi <= 0 && x.hi > 0 ? 0 : x.hi};\n"
     "}\n"},
    /* between float32 and float64 */
    {"cast_f64", "(f64b a, int *lost) {\n"
                 "    if (a.lo >= -0x1p60 && a.hi <= 0x1p60) return (f32b){(f32)a.lo, (f32)a.hi};\n"
                 "    return lost_f32(lost);\n"
                 "}\n"},
    {"cast_f32", "(f32b a, int *lost) { return (f64b){a.lo, a.hi}; }\n"},
};

static void
put_text(Text *out, const char *text, DType dtype)
{
    while (*text) {
        const char *word = NULL;
        size_t length = 1;
        for (int i = 0; i < COUNT_OF(words) && word == NULL; i++)
            if (strncmp(text, words[i].word, strlen(words[i].word)) == 0) {
                word = dtype == DT_F32 ? words[i].f32 : words[i].f64;
                length = strlen(words[i].word);
            }
        if (*text == '@') word = dtype_name(dtype);
        if (*text == '#') word = dtype_name(mask_dtype((int)dtype_size(dtype)));
        if (word != NULL)
            text_put(out, word);
        else
            text_printf(out, "%c", *text);
        text += length;
    }
}

/* The body of a loop of the pass: vectors from `streams` places, `apart` bytes from one another. */
static void
put_see_loop(Text *out, const char *vector, int bytes, int streams, int each, const char *apart,
             const char *less, const char *more)
{
    for (int i = 0; i < streams * each; i++) {
        int stream = i / each, way = i % 4;
        char name[24] = "p";
        if (stream > 0) snprintf(name, sizeof name, "p + %d * %s", stream, apart);
        text_printf(out, "        const %s a%d = *(const %sm *)(%s + %d);\n", vector, i, vector,
                    name, i % each * bytes);
        text_printf(out, "        l%d = %s(l%d, a%d);\n", way, less, way, i);
        text_printf(out, "        g%d = %s(g%d, a%d & top);\n", way, more, way, i);
    }
}

/* The pass over an operand: four vectors at a time, so that none waits for the one before.  Of
   float64 the upper halves are looked at, which are bounds of the whole, since AVX2 compares no
   wider integers at once.

   Measured with two threads on AMD Zen 3, arrays of 512 KiB in memory: 14.1 GB/s as a
   whole, with prefetches or without, 19.8 from four places; of 8,000 bytes in the third-level
   cache 42.1 and 51.3 GB/s with whole words and upper halves, 41.2 from four places. */
static void
put_see(Prelude *p, DType dtype)
{
    enum { EACH = 2, AHEAD = 1024 };
    int bytes = p->vector_bytes, lanes = bytes / (int)dtype_size(DT_I32);
    bool halves = dtype == DT_F64;
    Text out = {0}, vector = {0}, less = {0}, more = {0}, fold_less = {0}, fold_more = {0};
    Text splat = {0};
    prelude_type(p, DT_I32, lanes, &vector);
    prelude_use(p, "minimum", DT_I32, lanes, &less);
    prelude_use(p, "maximum", DT_I32, lanes, &more);
    prelude_fold(p, "minimum", DT_I32, lanes, &fold_less);
    prelude_fold(p, "maximum", DT_I32, lanes, &fold_more);
    prelude_splat(p, DT_I32, lanes, &splat);
    put_text(&out,
             HELPER "void see_apart_@(@s *s, const char *p, int64_t step, int64_t m) {\n"
                    "    # least = s->least, largest = s->largest;\n"
                    "    for (; m > 0; m--, p += step) {\n"
                    "        const # a = *(const #m *)p, b = a & TOP;\n"
                    "        least = a < least ? a : least;\n"
                    "        largest = b > largest ? b : largest;\n"
                    "    }\n"
                    "    *s = (@s){least, largest};\n"
                    "}\n" HELPER "void see_@(@s *s, const char *p, int64_t m) {\n",
             dtype);
    int size = (int)dtype_size(dtype);
    text_printf(&out, "    int64_t left = m * %d;\n", size);
    text_printf(&out, "    const %s top = %s(0x7fffffff);\n", vector.data, splat.data);
    for (int i = 0; i < 4; i++)
        text_printf(&out, "    %s l%d = top, g%d = {};\n", vector.data, i, i);
    text_printf(&out, "    while (left >= %d) {\n", PLACES * LEAST_STRETCH);
    text_printf(&out, "        const int64_t apart = left < %d ? left / %d * %d : %d;\n",
                PLACES * STRETCH, PLACES * EACH * bytes, EACH * bytes, STRETCH);
    text_printf(&out, "        const char *const end = p + apart;\n");
    text_printf(&out, "        for (; p < end; p += %d) {\n", EACH * bytes);
    put_see_loop(&out, vector.data, bytes, PLACES, EACH, "apart", less.data, more.data);
    text_printf(&out, "        }\n        p += %d * apart;\n        left -= %d * apart;\n    }\n",
                PLACES - 1, PLACES);
    for (int ways = 4; ways > 0; ways -= 3) {
        text_printf(&out, "    for (; left >= %d; left -= %d, p += %d) {\n", ways * bytes,
                    ways * bytes, ways * bytes);
        for (int at = 0; ways > 1 && at < ways * bytes; at += 64)
            text_printf(&out, "        __builtin_prefetch(p + %d);\n", AHEAD + at);
        put_see_loop(&out, vector.data, bytes, 1, ways, "", less.data, more.data);
        text_put(&out, "    }\n");
    }
    text_printf(&out, "    l0 = %s(%s(l0, l1), %s(l2, l3));\n", less.data, less.data, less.data);
    text_printf(&out, "    g0 = %s(%s(g0, g1), %s(g2, g3));\n", more.data, more.data, more.data);
    if (halves) { /* the lower ones do not count */
        text_printf(&out, "    const %s lower = (%s){", vector.data, vector.data);
        for (int i = 0; i < lanes; i++) text_put(&out, i % 2 ? "0, " : "-1, ");
        text_put(&out, "};\n    l0 = (l0 & ~lower) | (top & lower);\n    g0 &= ~lower;\n");
    }
    const char *scale = halves ? " * (1ll << 32)" : "", *rest = halves ? " + 0xffffffff" : "";
    put_text(&out, "    const # least = (#)", dtype);
    text_printf(&out, "%s(l0)", fold_less.data);
    put_text(&out, scale, dtype);
    put_text(&out, ";\n    const # largest = (#)", dtype);
    text_printf(&out, "%s(g0)", fold_more.data);
    put_text(&out, scale, dtype);
    text_printf(&out, "%s;\n", rest);
    text_put(&out, "    if (least < s->least) s->least = least;\n"
                   "    if (largest > s->largest) s->largest = largest;\n");
    text_printf(&out, "    if (left > 0) see_apart_%s(s, p, %d, left / %d);\n}\n",
                dtype_name(dtype), size, size);
    text_add(p->head, &out);
    text_free(&out);
    text_free(&vector);
    text_free(&less);
    text_free(&more);
    text_free(&fold_less);
    text_free(&fold_more);
    text_free(&splat);
}

static void
use_types(Prelude *p, DType dtype)
{
    char key[24];
    snprintf(key, sizeof key, "bounds_%s", dtype_name(dtype));
    if (!prelude_first(p, key)) return;
    prelude_define_type(p, dtype, 1);
    prelude_define_type(p, mask_dtype((int)dtype_size(dtype)), 1);
    prelude_define_type(p, DT_I32, 1);
    put_text(p->head, types_text, dtype);
    put_see(p, dtype);
}

/* Prints "bounds_NAME_f64", and defines it at first use. */
static void
use_helper(Prelude *p, const char *name, DType dtype, Text *out)
{
    char key[40];
    use_types(p, dtype);
    snprintf(key, sizeof key, "bounds_%s_%s", name, dtype_name(dtype));
    text_put(out, key);
    if (!prelude_first(p, key)) return;
    for (int i = 0; i < COUNT_OF(helpers); i++) {
        if (strcmp(helpers[i].name, name) != 0) continue;
        text_printf(p->head, HELPER "%sb %s", dtype_name(dtype), key);
        put_text(p->head, helpers[i].text, dtype);
        return;
    }
    prelude_miss(p, name, dtype, 1);
}

/* ---- the pass over what is read ---- */

static bool
has_bounds(const Instr *v)
{
    return v->dtype == DT_F32 || v->dtype == DT_F64;
}

static bool
is_read(const Instr *v)
{
    return v->kind == INSTR_LOAD && v->level != LEVEL_ONCE && has_bounds(v);
}

static void
emit_seeing(Emit *e)
{
    const Kernel *k = e->kernel;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!is_read(v)) continue;
        const char *type = dtype_name(v->dtype);
        int stride = k->operands.at[v->operand].stride[k->nloops - 1];
        if (stride >= 0)
            emit_line(e, "see_apart_%s(&b%d, r%d, n%d, m);", type, i, v->operand, stride);
        else
            emit_line(e, "see_%s(&b%d, r%d, %s);", type, i, v->operand,
                      stride == STRIDE_ZERO ? "1" : "m");
    }
}

static void
emit_pass(Emit *e)
{
    const Kernel *k = e->kernel;
    int outer = k->nloops - 1;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (!is_read(v)) continue;
        Text start = {0};
        use_types(e->prelude, v->dtype);
        put_text(&start, "{TOP, 0}", v->dtype);
        emit_line(e, "%ss b%d = %s;", dtype_name(v->dtype), i, start.data);
        text_free(&start);
    }
    if (k->kind == KERNEL_FLAT) {
        emit_line(e, "const int64_t m = end - begin;");
        emit_row_pointers(e, 0, "begin", false);
        emit_seeing(e);
        return;
    }
    open_block(e, "for (int64_t unit = begin; unit < end; unit++) ");
    emit_row_place(e);
    emit_line(e, "const int64_t m = n%d;", k->size[outer]);
    emit_row_pointers(e, outer, NULL, false);
    emit_seeing(e);
    close_block(e);
}

/* ---- operations ---- */

/* The bounds of a value: those of a number that is the same for all elements are made here. */
static void
put_bounds(Emit *e, int32_t at, Text *out)
{
    const Instr *v = instr_at(e, at);
    use_types(e->prelude, v->dtype);
    if (v->level == LEVEL_ONCE)
        text_printf(out, "number_%s(s%d, &lost)", dtype_name(v->dtype), at);
    else
        text_printf(out, "x%d", at);
}

static void
put_operation(Emit *e, const Instr *v, Text *out)
{
    if (v->op == OP_cast && v->from != v->dtype) {
        use_types(e->prelude, v->from);
        use_helper(e->prelude, v->from == DT_F64 ? "cast_f64" : "cast_f32", v->dtype, out);
        text_put(out, "(");
        put_bounds(e, v->args[0], out);
        text_put(out, ", &lost)");
        return;
    }
    for (const char *at = v->op == OP_cast ? "$0" : op_texts[v->op]; *at;) {
        char name[16];
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
        if (length > 0 && at[length] == '(') {
            snprintf(name, sizeof name, "%.*s", (int)length, at);
            use_helper(e->prelude, name, v->dtype, out);
            at += length;
        } else if (*at == '$') {
            put_bounds(e, v->args[at[1] - '0'], out);
            at += 2;
        } else
            text_printf(out, "%c", *at++);
    }
}

/* The factors of a product, of which those that occur twice are left out. */
typedef struct {
    int32_t at[8];
    int count, seen; /* `seen`: also those that are left out */
    bool twice, full;
} Factors;

static void
add_factor(const Emit *e, int32_t at, Factors *f)
{
    enum { MOST_SEEN = 32 };
    const Instr *v = instr_at(e, at);
    f->full = f->full || f->seen++ == MOST_SEEN;
    if (f->full) return;
    if (v->kind == INSTR_OP && v->op == OP_multiply && v->level != LEVEL_ONCE) {
        add_factor(e, v->args[0], f);
        add_factor(e, v->args[1], f);
        return;
    }
    for (int i = 0; i < f->count; i++)
        if (f->at[i] == at) {
            f->at[i] = f->at[--f->count];
            f->twice = true;
            return;
        }
    if (f->count == COUNT_OF(f->at))
        f->full = true;
    else
        f->at[f->count++] = at;
}

/* 0.1 * x * x is never negative, which bounds of the two products do not say. */
static void
emit_sign(Emit *e, int32_t at)
{
    Factors f = {0};
    DType dtype = instr_at(e, at)->dtype;
    add_factor(e, at, &f);
    if (!f.twice || f.full || f.count > 1) return;
    Text line = {0};
    text_printf(&line, "x%d = ", at);
    use_helper(e->prelude, "signed", dtype, &line);
    text_printf(&line, "(x%d, ", at);
    if (f.count == 1)
        put_bounds(e, f.at[0], &line);
    else
        text_printf(&line, "(%sb){1, 1}", dtype_name(dtype));
    emit_line(e, "%s);", line.data);
    text_free(&line);
}

static void
emit_bounds_of(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text line = {0};
    if (v->level == LEVEL_ONCE || !has_bounds(v)) return;
    if (v->kind != INSTR_LOAD && v->kind != INSTR_OP) return;
    text_printf(&line, "%sb x%d = ", dtype_name(v->dtype), at);
    if (v->kind == INSTR_LOAD)
        text_printf(&line, "bounds_%s(&b%d, &lost)", dtype_name(v->dtype), at);
    else
        put_operation(e, v, &line);
    emit_line(e, "%s;", line.data);
    text_free(&line);
    if (v->kind == INSTR_OP && v->op == OP_multiply) emit_sign(e, at);
}

void
emit_by_bounds(Emit *e)
{
    emit_pass(e);
    emit_line(e, "int lost = 0;");
    for (int i = 0; i < e->kernel->instrs.len; i++) emit_bounds_of(e, i);
    emit_line(e, "if (!lost) return 0;");
}
