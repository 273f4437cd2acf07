/* Helpers for vectors that fill a register of the machine's (on x86-64 those of 16 bytes fill one,
   too), where it has an instruction for what C has no short form for, and its conversions.  In
   these texts a, b, T and M are those of prelude.c, and
     $  ps or pd: f32 or f64        #  d or q: masks of 32 or of 64 bits
     @  4s or 2d: the same on AArch64, ! for its scalars: s or d
   On x86-64 the numbers after two arguments of a comparison: 7 both are no NaN, 17 less, 18 less or
   equal, 30 greater; none of them signals on a quiet NaN.  The last argument of the instructions
   for 64 bytes: 4 rounds and signals as always, 8 never signals.

   Measured on one core, 64-byte vectors in the first-level cache: 250 operations with 30 of
   `maximum` 1.6 times as fast as with `select` of masks, `clip` between numbers 1.5 times. */
#include "prelude.h"

typedef struct {
    const char *name;
    const char *scalar;
    const char *of_16, *of_32, *of_64; /* by the vector's bytes; NULL: as everywhere */
    bool middle;                       /* is of_16 for machines with vectors of 32 bytes alone? */
} MachineText;

#if defined(__aarch64__)

#define ONE(name)                                                                                  \
    NULL, "({ T r; __asm__(\"" name " %0.@, %1.@\" : \"=w\"(r) : \"w\"(a)); r; })", NULL, NULL,    \
        false
#define TWO(name)                                                                                  \
    "({ T r; __asm__(\"" name " %!0, %!1, %!2\" : \"=w\"(r) : \"w\"(a), \"w\"(b)); r; })",         \
        "({ T r; __asm__(\"" name " %0.@, %1.@, %2.@\" : \"=w\"(r) : \"w\"(a), \"w\"(b)); r; })",  \
        NULL, NULL, false

/* fmax and fmin are NumPy's (loops_minmax.dispatch.c.src): -0.0 is below 0.0. */
static const MachineText texts[] = {
    {"sqrt", ONE("fsqrt")},   {"floor", ONE("frintm")}, {"ceil", ONE("frintp")},
    {"trunc", ONE("frintz")}, {"rint", ONE("frintn")},  {"maximum", TWO("fmax")},
    {"minimum", TWO("fmin")},
};

#else

#define COMPARISON(predicate)                                                                      \
    NULL, "(M)__builtin_ia32_cmp$(a, b, " #predicate ")",                                          \
        "(M)__builtin_ia32_cmp$256(a, b, " #predicate ")",                                         \
        "(M)__builtin_ia32_cvtmask2#512(__builtin_ia32_cmp$512_mask(a, b, " #predicate             \
        ", -1, 4))",                                                                               \
        true
#define ROUNDING(mode)                                                                             \
    NULL, "(T)__builtin_ia32_round$(a, " #mode ")", "(T)__builtin_ia32_round$256(a, " #mode ")",   \
        "(T)__builtin_ia32_rndscale$_mask(a, " #mode ", a, -1, 4)", true

/* of lanes where a is a NaN the mask keeps a */
#define UPPER                                                                                      \
    NULL, NULL, NULL,                                                                              \
        "(T)__builtin_ia32_max$512_mask(a, b, a, __builtin_ia32_cmp$512_mask(a, a, 7, -1, 4), 8)", \
        false
#define LOWER                                                                                      \
    NULL, NULL, NULL,                                                                              \
        "(T)__builtin_ia32_min$512_mask(a, b, a, __builtin_ia32_cmp$512_mask(a, a, 7, -1, 4), 8)", \
        false

static const MachineText texts[] = {
    {"sqrt", NULL, "(T)__builtin_ia32_sqrt$(a)", "(T)__builtin_ia32_sqrt$256(a)",
     "(T)__builtin_ia32_sqrt$512_mask(a, a, -1, 4)", false},
    {"floor", ROUNDING(9)},
    {"ceil", ROUNDING(10)},
    {"trunc", ROUNDING(11)},
    {"rint", ROUNDING(4)},
    {"less", COMPARISON(17)},
    {"less_equal", COMPARISON(18)},
    /* by masks of whole lanes, with AVX2: of the plain form GCC makes a blend where it sees the
       comparison, but not for those above; with AVX-512 any plain form is one instruction */
    {"select", NULL, "(T)__builtin_ia32_blendv$(b, a, (T)m)",
     "(T)__builtin_ia32_blendv$256(b, a, (T)m)", NULL, true},
    /* the machine's max(a, b) is exactly a > b ? a : b, and min likewise */
    {"most", NULL, "(T)__builtin_ia32_max$(a, b)", "(T)__builtin_ia32_max$256(a, b)",
     "(T)__builtin_ia32_max$512_mask(a, b, a, -1, 4)", false},
    {"least", NULL, "(T)__builtin_ia32_min$(a, b)", "(T)__builtin_ia32_min$256(a, b)",
     "(T)__builtin_ia32_min$512_mask(a, b, a, -1, 4)", false},
    {"larger", NULL, "(T)__builtin_ia32_blendv$(b, a, __builtin_ia32_cmp$(a, b, 30))",
     "(T)__builtin_ia32_blendv$256(b, a, __builtin_ia32_cmp$256(a, b, 30))",
     "(T)__builtin_ia32_max$512_mask(a, b, a, -1, 8)", true},
    {"smaller", NULL, "(T)__builtin_ia32_blendv$(b, a, __builtin_ia32_cmp$(a, b, 17))",
     "(T)__builtin_ia32_blendv$256(b, a, __builtin_ia32_cmp$256(a, b, 17))",
     "(T)__builtin_ia32_min$512_mask(a, b, a, -1, 8)", true},
    {"maximum", UPPER},
    {"minimum", LOWER},
    {"upper", UPPER},
    {"lower", LOWER},
};

#endif

static const char *
text_for(const MachineText *row, int lanes, int bytes, int vector_bytes)
{
    if (lanes == 1) return row->scalar;
    if (bytes == 64 && vector_bytes == 64) return row->of_64;
    if (bytes == 32 && vector_bytes >= 32) return row->of_32;
#if defined(__x86_64__) || defined(__aarch64__)
    if (bytes == 16 && (!row->middle || vector_bytes == 32)) return row->of_16;
#endif
    return NULL;
}

bool
machine_helper(const Prelude *p, const char *name, DType dtype, int lanes, Text *out)
{
    const char *text = NULL;
    for (int i = 0; i < COUNT_OF(texts) && text == NULL; i++)
        if (strcmp(texts[i].name, name) == 0)
            text = text_for(&texts[i], lanes, lanes * (int)dtype_size(dtype), p->vector_bytes);
    if (text == NULL) return false;
    for (; *text; text++)
        if (*text == '$')
            text_put(out, dtype == DT_F32 ? "ps" : "pd");
        else if (*text == '#')
            text_put(out, dtype == DT_F32 ? "d" : "q");
        else if (*text == '@')
            text_put(out, dtype == DT_F32 ? "4s" : "2d");
        else if (*text == '!')
            text_put(out, dtype == DT_F32 ? "s" : "d");
        else
            text_printf(out, "%c", *text);
    return true;
}

/* Compilers that do little see no maximum of integers in a choice by a mask. */
bool
machine_integer(const Prelude *p, const char *name, DType dtype, int lanes, Text *out)
{
#if defined(__x86_64__)
    bool larger = strcmp(name, "maximum") == 0;
    if ((!larger && strcmp(name, "minimum") != 0) || (dtype != DT_I32 && dtype != DT_I64) ||
        p->vector_bytes != 64 || lanes * (int)dtype_size(dtype) != 64)
        return false;
    bool wide = dtype == DT_I64; /* which may be a long, but for the machine's functions */
    text_printf(out,
                "    typedef %s W __attribute__((vector_size(64)));\n"
                "    return (%sx%d)__builtin_ia32_p%ss%c512_mask((W)a, (W)b, (W)a, -1);\n",
                wide ? "long long" : "int", dtype_name(dtype), lanes, larger ? "max" : "min",
                wide ? 'q' : 'd');
    return true;
#else
    (void)p, (void)name, (void)dtype, (void)lanes, (void)out;
    return false;
#endif
}

/* ---- conversions ---- */

bool
machine_casts_unsigned(void)
{
#if defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

bool
machine_cast(const Prelude *p, DType from, DType to, int lanes, char out[16])
{
    static const char letters[] = {[1] = 'b', [2] = 'w', [4] = 'd', [8] = 'q'};
    int had = (int)dtype_size(from), has = (int)dtype_size(to);
    int wide = lanes * Py_MAX(had, has), narrow = lanes * Py_MIN(had, has);
    /* As a result, 4 bytes are no vector register before GCC 12. */
    int least = had > has ? 8 : 4;
    if (p->vector_bytes < 32 || had == has || wide < 16 || wide > p->vector_bytes || narrow < least)
        return false;
    if (from == DT_I32 && to == DT_F64) return strcpy(out, "vcvtdq2pd"), true;
    if (dtype_is_float(from) || dtype_is_float(to)) return false;
    if (had > has && p->vector_bytes < 64) return false; /* not without AVX-512 */
    if (had > has)
        snprintf(out, 16, "vpmov%c%c", letters[had], letters[has]);
    else
        snprintf(out, 16, "vpmov%cx%c%c", dtype_is_signed(from) ? 's' : 'z', letters[had],
                 letters[has]);
    return true;
}

bool
machine_narrows_by_shuffle(const Prelude *p, DType from, DType to, int lanes)
{
    size_t had = dtype_size(from), has = dtype_size(to);
    size_t register_bytes = (size_t)lanes * had;
    return p->vector_bytes == 32 && had > has && (register_bytes == 32 || register_bytes == 16) &&
           (size_t)lanes * has >= 4 && dtype_is_integer(from) && dtype_is_integer(to);
}
