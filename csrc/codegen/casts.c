/* Conversions in generated code, printed where used, as the other helpers are. */
#include "prelude.h"

/* Converts as NumPy's casts do, out-of-range values included: to narrow integers through 32 bits;
   to unsigned ones by the machine's instruction.  Where it has none, to u32 and u64 as signed ones,
   of which those from 2^31 or 2^63 on are shifted down first and get their top bit back afterwards.
 */
static const char *
cast_scalar(DType from, DType to)
{
    bool narrow = dtype_size(to) < 4 && to != DT_BOOL;
    if (to == DT_BOOL) return "a != 0";
    if (!dtype_is_float(from) || dtype_is_float(to)) return "(T)a";
    if (machine_casts_unsigned() && !dtype_is_signed(to)) return narrow ? "(T)(unsigned)a" : "(T)a";
    if (to == DT_U64)
        return "(u64)(i64)(a >= (S)0x1p63 ? a - (S)0x1p63 : a) ^ ((u64)(a >= (S)0x1p63) << 63)";
    if (to == DT_U32)
        return "(u32)(i32)(a >= (S)0x1p31 ? a - (S)0x1p31 : a) ^ ((u32)(a >= (S)0x1p31) << 31)";
    return narrow ? "(T)(int)a" : "(T)a";
}

static void
put_scalar_cast(Prelude *p, Text *text, DType from, DType to)
{
    if (to == DT_U64 || to == DT_U32) prelude_define_type(p, to == DT_U64 ? DT_I64 : DT_I32, 1);
    for (const char *body = cast_scalar(from, to); *body; body++)
        if (*body == 'T')
            text_put(text, dtype_name(to));
        else if (*body == 'S')
            text_put(text, dtype_name(from));
        else
            text_printf(text, "%c", *body);
}

/* The conversion of `argument`, by way of 32 bits between floats and narrow integers. */
static void
put_vector_cast(Prelude *p, Text *text, const char *argument, DType from, DType to, int lanes)
{
    bool narrows = dtype_is_float(from) && dtype_is_integer(to) && dtype_size(to) < 4;
    bool widens = dtype_is_integer(from) && dtype_size(from) < 4 && dtype_is_float(to);
    if (narrows || widens) {
        Text middle = {0};
        DType through =
            machine_casts_unsigned() && narrows && !dtype_is_signed(to) ? DT_U32 : DT_I32;
        prelude_cast(p, from, through, lanes, &middle);
        text_printf(&middle, "(%s)", argument);
        prelude_cast(p, through, to, lanes, text);
        text_put(text, "(");
        text_add(text, &middle);
        text_put(text, ")");
        text_free(&middle);
        return;
    }
    size_t had = dtype_size(from), has = dtype_size(to);
    if (had > 2 * has || has > 2 * had) p->lane_by_lane = true;
    text_printf(text, "__builtin_convertvector(%s, ", argument);
    prelude_type(p, to, lanes, text);
    text_put(text, ")");
}

/* Both forms of a conversion that is one instruction: only GCC needs to be told. */
static void
put_cast_instruction(Text *text, const char *instruction, DType from, DType to, int lanes)
{
    text_printf(text,
                "\n#ifdef __clang__\n"
                "    return __builtin_convertvector(a, %sx%d);\n"
                "#else\n"
                "    %sx%d r;\n",
                dtype_name(to), lanes, dtype_name(to), lanes);
    if (lanes * dtype_size(from) > 4)
        text_printf(text, "    __asm__(\"%s %%1, %%0\" : \"=v\"(r) : \"v\"(a));\n", instruction);
    else /* before GCC 12 a vector of 4 bytes is in no vector register */
        text_printf(text,
                    "    typedef int W __attribute__((vector_size(16)));\n"
                    "    const union { %sx%d a; int word; } u = {a};\n"
                    "    __asm__(\"%s %%1, %%0\" : \"=v\"(r) : \"v\"((W){u.word}));\n",
                    dtype_name(from), lanes, instruction);
    text_put(text, "    return r;\n#endif\n}\n");
}

/* Of each element of a register, or of half of one, the low bytes.  GCC would take it apart. */
static void
put_narrowing_shuffle(Text *text, DType from, DType to, int lanes)
{
    size_t had = dtype_size(from), has = dtype_size(to);
    const char *name = dtype_name(to);
    text_printf(text,
                "\n#ifdef __clang__\n"
                "    return __builtin_convertvector(a, %sx%d);\n"
                "#else\n"
                "    typedef signed char B __attribute__((vector_size(%zu)));\n"
                "    typedef %s W __attribute__((vector_size(%zu)));\n"
                "    const B r = __builtin_shuffle((B)a, (B){",
                name, lanes, (size_t)lanes * had, (size_t)lanes * has == 8 ? "long long" : "int",
                (size_t)lanes * had);
    for (int i = 0; i < lanes; i++)
        for (size_t byte = 0; byte < has; byte++)
            text_printf(text, "%s%zu", i + byte > 0 ? ", " : "", (size_t)i * had + byte);
    text_put(text, "});\n");
    if ((size_t)lanes * has == 16)
        text_printf(text, "    return (%sx%d)__builtin_ia32_vextractf128_si256((W)r, 0);\n", name,
                    lanes);
    else
        text_printf(text, "    return (%sx%d)((W)r)[0];\n", name, lanes);
    text_put(text, "#endif\n}\n");
}

/* cast_scalar for vectors: the shift is selected before a single conversion.  Lane by lane the
   compiler might convert both forms, and the wrong one may raise a flag. */
static void
put_unsigned_cast(Prelude *p, Text *text, DType from, DType to, int lanes)
{
    DType whole = to == DT_U64 ? DT_I64 : DT_I32, mask = mask_dtype((int)dtype_size(from));
    const char *f = dtype_name(from), *m = dtype_name(mask), *t = dtype_name(to);
    int top = 8 * (int)dtype_size(to) - 1;
    prelude_define_type(p, whole, lanes);
    prelude_define_type(p, mask, lanes);
    text_printf(text, "const %sx%d m = a >= (%s)0x1p%d; ", m, lanes, f, top);
    text_printf(text, "const %sx%d h = (%sx%d)(((%sx%d)(a - (%s)0x1p%d) & m) | ((%sx%d)a & ~m)); ",
                f, lanes, f, lanes, m, lanes, f, top, m, lanes);
    text_printf(text, "return (%sx%d)__builtin_convertvector(h, %sx%d) ^ ", t, lanes,
                dtype_name(whole), lanes);
    text_printf(text, "(__builtin_convertvector(m & 1, %sx%d) << %d); }\n", t, lanes, top);
}

void
prelude_cast(Prelude *p, DType from, DType to, int lanes, Text *out)
{
    char key[64], width[16] = "";
    if (lanes > 1) snprintf(width, sizeof width, "x%d", lanes);
    snprintf(key, sizeof key, "cast_%s_%s%s", dtype_name(from), dtype_name(to), width);
    if (prelude_first(p, key)) {
        Text text = {0};
        text_put(&text, "INLINE ");
        prelude_type(p, to, lanes, &text);
        text_printf(&text, " %s(", key);
        prelude_type(p, from, lanes, &text);
        text_put(&text, " a) { ");
        char instruction[16];
        if (lanes > 1 && dtype_is_float(from) && (to == DT_U64 || to == DT_U32) &&
            !machine_casts_unsigned())
            put_unsigned_cast(p, &text, from, to, lanes);
        else if (lanes > 1 && machine_cast(p, from, to, lanes, instruction))
            put_cast_instruction(&text, instruction, from, to, lanes);
        else if (lanes > 1 && machine_narrows_by_shuffle(p, from, to, lanes))
            put_narrowing_shuffle(&text, from, to, lanes);
        else {
            text_put(&text, "return ");
            if (lanes > 1)
                put_vector_cast(p, &text, "a", from, to, lanes);
            else
                put_scalar_cast(p, &text, from, to);
            text_put(&text, "; }\n");
        }
        text_add(p->head, &text);
        text_free(&text);
    }
    text_put(out, key);
}
