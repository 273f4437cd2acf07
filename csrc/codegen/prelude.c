/* Helper functions of generated code, printed only where used, so that a file stays small.

   A row defines a helper for some classes of dtypes by a C expression for scalars and one for
   vectors (NULL: lane by lane).  In these texts
     a b c   arguments              T  the type: f32 or f32x16     S  the scalar type
     M       signed integers of the same width: comparisons give lanes of -1 and 0
     U       unsigned ones          N( another helper of the same dtype: N(maximum)(a, b)
   Vector booleans are such masks; scalar ones are 0 or 1.  Comparisons never signal on quiet NaN:
   unordered lanes are zeroed before an ordered comparison.  machine.c has better forms of some, and
   `maximum` and `minimum` of floats are its own where those of NumPy are. */
#include "prelude.h"

typedef enum { C_BOOL = 1, C_SIGNED = 2, C_UNSIGNED = 4, C_FLOAT = 8 } Class;
enum { C_INTEGER = C_SIGNED | C_UNSIGNED, C_NUMBER = C_INTEGER | C_FLOAT };

typedef struct {
    const char *name;
    unsigned classes;
    int arity;
    bool compares; /* the result is a mask, or 0 and 1 */
    const char *scalar, *vector;
} Helper;

/* "select" where GCC sees the comparison: told to blend, it made `maximum` a tenth slower. */
#define PLAIN_CHOICE(m, a, b) "(T)(((M)(" m ") & (M)(" a ")) | (~(M)(" m ") & (M)(" b ")))"

/* The first NaN if there is one; of equal zeros the second. */
#define UPPER                                                                                      \
    "a != a ? a : __builtin_isgreater(a, b) ? a : b", PLAIN_CHOICE("a != a", "a", "N(larger)(a, b)")
#define LOWER                                                                                      \
    "a != a ? a : __builtin_isless(a, b) ? a : b", PLAIN_CHOICE("a != a", "a", "N(smaller)(a, b)")

static const Helper helpers[] = {
    {"add", C_NUMBER, 2, false, "(T)(a + b)", "a + b"},
    {"add", C_BOOL, 2, true, "a | b", "a | b"},
    {"sub", C_NUMBER, 2, false, "(T)(a - b)", "a - b"},
    {"mul", C_NUMBER, 2, false, "(T)(a * b)", "a * b"},
    {"mul", C_BOOL, 2, true, "a & b", "a & b"},
    {"div", C_FLOAT, 2, false, "a / b", "a / b"},
    {"neg", C_INTEGER, 1, false, "(T)-a", "-a"},
    /* flips the sign bit: a compiler would turn a - -b into a + b, and a NaN would have another
       sign */
    {"neg", C_FLOAT, 1, false, "((union { T f; U u; }){.u = ((union { T f; U u; }){a}).u ^ TOP}).f",
     "(T)((U)a ^ TOP)"},
    {"recip", C_FLOAT, 1, false, "1 / a", "1 / a"},
    /* clears the sign bit: otherwise |a| * |a| would become a * a */
    {"absolute", C_FLOAT, 1, false,
     "((union { T f; U u; }){.u = ((union { T f; U u; }){a}).u & ~TOP}).f", "(T)((U)a << 1 >> 1)"},
    {"absolute", C_SIGNED, 1, false, "(T)(a < 0 ? -a : a)", "N(select)(a < 0, -a, a)"},
    {"absolute", C_UNSIGNED | C_BOOL, 1, false, "a", "a"},
    {"sign", C_FLOAT, 1, false,
     "__builtin_isgreater(a, 0) ? 1 : __builtin_isless(a, 0) ? -1 : a == 0 ? 0 : a",
     "N(select)(a != a, a, N(select)(a == 0, (T){}, N(copysign)((T){} + 1, a)))"},
    {"sign", C_SIGNED, 1, false, "(T)((a > 0) - (a < 0))", "(T)((a < 0) - (a > 0))"},
    {"sign", C_UNSIGNED, 1, false, "a > 0", "(T)-(a > 0)"},
    {"sqrt", C_FLOAT, 1, false, "SQRT(a)", NULL},
    {"floor", C_FLOAT, 1, false, "FLOOR(a)", NULL},
    {"ceil", C_FLOAT, 1, false, "CEIL(a)", NULL},
    {"trunc", C_FLOAT, 1, false, "TRUNC(a)", NULL},
    {"rint", C_FLOAT, 1, false, "RINT(a)", NULL},
    {"copysign", C_FLOAT, 2, false,
     "((union { T f; U u; }){.u = (((union { T f; U u; }){a}).u & ~TOP) | "
     "(((union { T f; U u; }){b}).u & TOP)}).f",
     "(T)(((U)a << 1 >> 1) | ((U)b >> BITS << BITS))"},
    {"maximum", C_FLOAT, 2, false, UPPER},
    {"minimum", C_FLOAT, 2, false, LOWER},
    {"upper", C_FLOAT, 2, false, UPPER},
    {"lower", C_FLOAT, 2, false, LOWER},
    /* the second argument if one is a NaN */
    {"larger", C_FLOAT, 2, false, "__builtin_isgreater(a, b) ? a : b",
     "N(select)(N(less)(b, a), a, b)"},
    {"smaller", C_FLOAT, 2, false, "__builtin_isless(a, b) ? a : b",
     "N(select)(N(less)(a, b), a, b)"},
    /* the same; for a NaN the vector form may raise "invalid" */
    {"most", C_FLOAT, 2, false, "__builtin_isgreater(a, b) ? a : b", "N(select)((M)(a > b), a, b)"},
    {"least", C_FLOAT, 2, false, "__builtin_isless(a, b) ? a : b", "N(select)((M)(a < b), a, b)"},
    {"maximum", C_INTEGER, 2, false, "a > b ? a : b", "N(select)((M)(a > b), a, b)"},
    {"minimum", C_INTEGER, 2, false, "a < b ? a : b", "N(select)((M)(a < b), a, b)"},
    {"maximum", C_BOOL, 2, true, "a | b", "a | b"},
    {"minimum", C_BOOL, 2, true, "a & b", "a & b"},
    /* NumPy clip.cpp: min(max(x, lo), hi), a NaN on the left stays */
    {"clip", C_INTEGER, 3, false, "N(minimum)(N(maximum)(a, b), c)",
     "N(minimum)(N(maximum)(a, b), c)"},
    {"clip", C_FLOAT, 3, false, "N(lower)(N(upper)(a, b), c)", "N(lower)(N(upper)(a, b), c)"},
    /* the same with bounds that are one number for all elements: of equal zeros the first */
    {"clamp", C_FLOAT, 3, false,
     "b != b ? b : c != c ? c : __builtin_isless(a, b) ? (__builtin_isless(c, b) ? c : b) : "
     "__builtin_isless(c, a) ? c : a",
     PLAIN_CHOICE("b != b", "b", PLAIN_CHOICE("c != c", "c", "N(smaller)(c, N(larger)(b, a))"))},
    {"floordiv", C_SIGNED, 2, false,
     "b == 0 ? raise_divide() : b == -1 ? (T)(a == MIN ? raise_overflow(), a : -a) : "
     "(T)(a / b - (a % b != 0 && (a < 0) != (b < 0)))",
     NULL},
    {"floordiv", C_UNSIGNED, 2, false, "b == 0 ? raise_divide() : (T)(a / b)", NULL},
    {"floormod", C_SIGNED, 2, false,
     "b == 0 ? raise_divide() : b == -1 ? 0 : "
     "(T)(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0))",
     NULL},
    {"floormod", C_UNSIGNED, 2, false, "b == 0 ? raise_divide() : (T)(a % b)", NULL},
    {"invert", C_INTEGER, 1, false, "(T)~a", "~a"},
    {"invert", C_BOOL, 1, true, "!a", "~a"},
    {"shl", C_INTEGER, 2, false, "(U)b < WIDTH ? (T)((U)a << b) : 0",
     "(T)((M)((U)b < WIDTH) & (M)((U)a << ((U)b & (WIDTH - 1))))"},
    {"shr", C_UNSIGNED, 2, false, "b < WIDTH ? (T)(a >> b) : 0",
     "(T)((M)(b < WIDTH) & (M)(a >> (b & (WIDTH - 1))))"},
    {"shr", C_SIGNED, 2, false, "(T)(a >> ((U)b < WIDTH ? b : WIDTH - 1))",
     "a >> N(select)((M)((U)b < WIDTH), b, (T){} + (WIDTH - 1))"},
    {"signbit", C_FLOAT, 1, true, "SIGNBIT(a) != 0", "(M)a < 0"},
    {"isnan", C_FLOAT, 1, true, "a != a", "a != a"},
    {"isinf", C_FLOAT, 1, true, "ABS(a) == INFINITY", "(T)((U)a << 1 >> 1) == INFINITY"},
    {"isfinite", C_FLOAT, 1, true, "__builtin_isless(ABS(a), INFINITY)",
     "(a == a) & ((T)((U)a << 1 >> 1) != INFINITY)"},
    {"conjugate", C_NUMBER, 1, false, "a", "a"},
    {"equal", C_NUMBER, 2, true, "a == b", "(M)(a == b)"},
    {"not_equal", C_NUMBER, 2, true, "a != b", "(M)(a != b)"},
    {"less", C_INTEGER, 2, true, "a < b", "(M)(a < b)"},
    {"less_equal", C_INTEGER, 2, true, "a <= b", "(M)(a <= b)"},
    {"less", C_FLOAT, 2, true, "__builtin_isless(a, b)",
     "((T)((M)a & N(ordered)(a, b)) < (T)((M)b & N(ordered)(a, b))) & N(ordered)(a, b)"},
    {"less_equal", C_FLOAT, 2, true, "__builtin_islessequal(a, b)",
     "((T)((M)a & N(ordered)(a, b)) <= (T)((M)b & N(ordered)(a, b))) & N(ordered)(a, b)"},
    {"ordered", C_FLOAT, 2, true, "a == a && b == b", "(a == a) & (b == b)"},
    {"equal", C_BOOL, 2, true, "a == b", "~(a ^ b)"},
    {"not_equal", C_BOOL, 2, true, "a != b", "a ^ b"},
    {"less", C_BOOL, 2, true, "a < b", "~a & b"},
    {"less_equal", C_BOOL, 2, true, "a <= b", "~a | b"},
    {"logical_and", C_BOOL, 2, true, "a & b", "a & b"},
    {"logical_or", C_BOOL, 2, true, "a | b", "a | b"},
    {"logical_xor", C_BOOL, 2, true, "a ^ b", "a ^ b"},
    {"logical_not", C_BOOL, 1, true, "!a", "~a"},
    {"logical_and", C_NUMBER, 2, true, "a != 0 && b != 0", "(M)(a != 0) & (M)(b != 0)"},
    {"logical_or", C_NUMBER, 2, true, "a != 0 || b != 0", "(M)(a != 0) | (M)(b != 0)"},
    {"logical_xor", C_NUMBER, 2, true, "(a != 0) != (b != 0)", "(M)(a != 0) ^ (M)(b != 0)"},
    {"logical_not", C_NUMBER, 1, true, "a == 0", "(M)(a == 0)"},
};

/* ---- names ---- */

DType
mask_dtype(int bytes)
{
    return bytes == 1 ? DT_I8 : bytes == 2 ? DT_I16 : bytes == 4 ? DT_I32 : DT_I64;
}

static Class
class_of(DType dtype)
{
    if (dtype == DT_BOOL) return C_BOOL;
    if (dtype_is_integer(dtype)) return dtype_is_signed(dtype) ? C_SIGNED : C_UNSIGNED;
    return C_FLOAT;
}

static DType
unsigned_dtype(DType dtype)
{
    switch (dtype_size(dtype)) {
    case 1: return DT_U8;
    case 2: return DT_U16;
    case 4: return DT_U32;
    default: return DT_U64;
    }
}

static void
put_type(Text *out, DType dtype, int lanes)
{
    if (lanes == 1)
        text_put(out, dtype_name(dtype));
    else
        text_printf(out, "%sx%d", dtype_name(dtype), lanes);
}

/* ---- which helpers are printed ---- */

/* The slot of the key, or the free one that it would take. */
static uint32_t
key_slot(const Prelude *p, const char *key)
{
    uint32_t at = text_hash(key) & (p->slots - 1);
    while (p->slot[at] != 0 && strcmp(p->done.data + p->slot[at] - 1, key) != 0)
        at = (at + 1) & (p->slots - 1);
    return at;
}

static bool
grow_slots(Prelude *p)
{
    uint32_t had = p->slots, slots = had ? had * 2 : 128;
    uint32_t *old = p->slot, *table = mem_alloc(slots * sizeof(uint32_t));
    if (table == NULL) {
        PyErr_Clear(); /* text_finish of `done` raises it again */
        p->done.failed = true;
        return false;
    }
    p->slot = table;
    p->slots = slots;
    for (uint32_t i = 0; i < had; i++)
        if (old[i] != 0) p->slot[key_slot(p, p->done.data + old[i] - 1)] = old[i];
    mem_free(old);
    return true;
}

bool
prelude_first(Prelude *p, const char *key)
{
    if (p->done.failed || (2 * (p->used + 1) > p->slots && !grow_slots(p))) return false;
    uint32_t at = key_slot(p, key);
    if (p->slot[at] != 0) return false;
    p->slot[at] = (uint32_t)p->done.len + 1;
    text_printf(&p->done, "%s%c", key, '\0');
    p->used++;
    return true;
}

void
prelude_end(Prelude *p)
{
    mem_free(p->slot);
    text_free(&p->done);
}

typedef struct {
    char text[96];
} Key;

/* name_f64x8, or name_f64 for one lane. */
static Key
key_of(const char *name, DType dtype, int lanes)
{
    Key key;
    char *end = stpcpy(stpcpy(stpcpy(key.text, name), "_"), dtype_name(dtype));
    if (lanes > 1) {
        *end++ = 'x';
        if (lanes >= 10) *end++ = (char)('0' + lanes / 10);
        *end++ = (char)('0' + lanes % 10);
        *end = '\0';
    }
    return key;
}

static const char *
c_type(DType dtype)
{
    static const char *const names[] = {
        [DT_BOOL] = "unsigned char",
        [DT_I8] = "signed char",
        [DT_I16] = "short",
        [DT_I32] = "int",
        [DT_I64] = "__INT64_TYPE__",
        [DT_U8] = "unsigned char",
        [DT_U16] = "unsigned short",
        [DT_U32] = "unsigned",
        [DT_U64] = "__UINT64_TYPE__",
        [DT_F16] = "struct { unsigned short bits; }",
        [DT_F32] = "float",
        [DT_F64] = "double",
        [DT_C64] = "struct { float re, im; }",
        [DT_C128] = "struct { double re, im; }",
    };
    return names[dtype];
}

void
prelude_define_type(Prelude *p, DType dtype, int lanes)
{
    if (p->types[dtype] & (uint32_t)lanes) return; /* lanes are a power of two */
    p->types[dtype] |= (uint32_t)lanes;
    if (lanes == 1) {
        text_printf(p->head, "typedef %s %s;\n", c_type(dtype), dtype_name(dtype));
        text_printf(p->head, "typedef %s %sm __attribute__((aligned(1), may_alias));\n",
                    dtype_name(dtype), dtype_name(dtype));
        return;
    }
    prelude_define_type(p, dtype, 1);
    int bytes = lanes * (int)dtype_size(dtype);
    text_printf(p->head, "typedef %s %sx%d __attribute__((vector_size(%d)));\n", dtype_name(dtype),
                dtype_name(dtype), lanes, bytes);
    text_printf(p->head,
                "typedef %s %sx%dm __attribute__((vector_size(%d), aligned(1), may_alias));\n",
                dtype_name(dtype), dtype_name(dtype), lanes, bytes);
}

void
prelude_type(Prelude *p, DType dtype, int lanes, Text *out)
{
    prelude_define_type(p, dtype, lanes);
    put_type(out, dtype, lanes);
}

void
prelude_memory(Prelude *p, DType dtype, int lanes, Text *out)
{
    prelude_type(p, dtype, lanes, out);
    text_put(out, "m");
}

void
prelude_miss(Prelude *p, const char *name, DType dtype, int lanes)
{
    if (p->missing[0] != 0) return;
    snprintf(p->missing, sizeof p->missing, "%s for %sx%d", name, dtype_name(dtype), lanes);
}

void
prelude_begin(Prelude *p)
{
    text_put(p->head, "#define INLINE static inline __attribute__((always_inline))\n");
}

/* ---- helper definitions ---- */

static const Helper *
find_helper(const char *name, size_t length, DType dtype)
{
    for (int i = 0; i < COUNT_OF(helpers); i++)
        if (strlen(helpers[i].name) == length && strncmp(helpers[i].name, name, length) == 0 &&
            (helpers[i].classes & class_of(dtype)))
            return &helpers[i];
    return NULL;
}

static void define_helper(Prelude *p, const char *name, DType dtype, int lanes);

typedef struct {
    const char *word;
    const char *f32, *f64;
} Word;

static const Word words[] = {
    {"ABS", "__builtin_fabsf", "__builtin_fabs"},
    {"SQRT", "__builtin_sqrtf", "__builtin_sqrt"},
    {"FLOOR", "__builtin_floorf", "__builtin_floor"},
    {"CEIL", "__builtin_ceilf", "__builtin_ceil"},
    {"TRUNC", "__builtin_truncf", "__builtin_trunc"},
    {"RINT", "__builtin_rintf", "__builtin_rint"},
    {"SIGNBIT", "__builtin_signbitf", "__builtin_signbit"},
    {"INFINITY", "__builtin_inff()", "__builtin_inf()"},
    {"BITS", "31", "63"},
    {"TOP", "0x80000000u", "0x8000000000000000ull"},
};

static bool
put_word(Prelude *p, Text *out, const char *word, size_t length, DType dtype, int lanes)
{
    char text[24];
    if (length >= sizeof text) return false;
    memcpy(text, word, length);
    text[length] = 0;
    for (int i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i].word, text) == 0) {
            text_put(out, dtype == DT_F32 ? words[i].f32 : words[i].f64);
            return true;
        }
    if (strcmp(text, "T") == 0)
        prelude_type(p, dtype, lanes, out);
    else if (strcmp(text, "M") == 0)
        prelude_type(p, mask_dtype((int)dtype_size(dtype)), lanes, out);
    else if (strcmp(text, "U") == 0)
        prelude_type(p, unsigned_dtype(dtype), lanes, out);
    else if (strcmp(text, "WIDTH") == 0)
        text_printf(out, "%d", 8 * (int)dtype_size(dtype));
    else if (strcmp(text, "MIN") == 0)
        text_printf(out, "(%s)((u64)1 << %d)", dtype_name(dtype), 8 * (int)dtype_size(dtype) - 1);
    else
        return false;
    return true;
}

/* A text of the table, with its words replaced. */
static void
put_body(Prelude *p, Text *out, const char *body, DType dtype, int lanes)
{
    for (const char *at = body; *at;) {
        if (strncmp(at, "N(", 2) == 0) {
            const char *end = strchr(at, ')');
            char name[24];
            snprintf(name, sizeof name, "%.*s", (int)(end - at - 2), at + 2);
            prelude_use(p, name, dtype, lanes, out);
            at = end + 1;
            continue;
        }
        size_t length = 0;
        while ((at[length] >= 'A' && at[length] <= 'Z')) length++;
        bool inside = at > body && (at[-1] == '_' || (at[-1] >= 'a' && at[-1] <= 'z'));
        if (length > 0 && !inside && put_word(p, out, at, length, dtype, lanes)) {
            at += length;
            continue;
        }
        text_printf(out, "%c", *at++);
    }
}

const char *
prelude_mask_text(const char *name)
{
    const Helper *h = find_helper(name, strlen(name), DT_BOOL);
    return h == NULL ? NULL : h->vector;
}

void
prelude_signature(Prelude *p, Text *out, const char *name, int arity, bool compares, DType dtype,
                  int lanes)
{
    DType result = dtype;
    if (compares) result = lanes == 1 ? DT_BOOL : mask_dtype((int)dtype_size(dtype));
    Text line = {0};
    text_put(&line, "INLINE ");
    prelude_type(p, result, lanes, &line);
    text_printf(&line, " %s_", name);
    put_type(&line, dtype, lanes);
    for (int i = 0; i < arity; i++) {
        text_put(&line, i ? ", " : "(");
        prelude_type(p, dtype, lanes, &line);
        text_printf(&line, " %c", 'a' + i);
    }
    text_put(&line, ")");
    text_add(out, &line);
    text_free(&line);
}

static void
define_lanewise(Prelude *p, const Helper *h, DType dtype, int lanes)
{
    Text text = {0};
    p->lane_by_lane = true;
    prelude_signature(p, &text, h->name, h->arity, h->compares, dtype, lanes);
    text_put(&text, " { ");
    prelude_type(p, h->compares ? mask_dtype((int)dtype_size(dtype)) : dtype, lanes, &text);
    text_printf(&text, " r; for (int i = 0; i < %d; i++) r[i] = %s", lanes, h->compares ? "-" : "");
    prelude_use(p, h->name, dtype, 1, &text);
    for (int i = 0; i < h->arity; i++) text_printf(&text, "%s%c[i]", i ? ", " : "(", 'a' + i);
    text_put(&text, "); return r; }\n");
    text_add(p->head, &text);
    text_free(&text);
}

void
prelude_lanewise(Prelude *p, const char *name, int arity, DType dtype, int lanes)
{
    const Helper helper = {name, C_FLOAT, arity, false, NULL, NULL};
    define_lanewise(p, &helper, dtype, lanes);
}

static void
define_raise(Prelude *p)
{
    if (!prelude_first(p, "raise")) return;
    prelude_define_type(p, DT_U64, 1);
    text_put(p->head, "static __attribute__((noinline)) int raise_divide(void) "
                      "{ volatile double z = 0, r = 1 / z; (void)r; return 0; }\n"
                      "static __attribute__((noinline, unused)) int raise_overflow(void) "
                      "{ volatile double z = 1e300, r = z * z; (void)r; return 0; }\n");
}

/* Selects by bits: the condition is a mask of the same width (vectors), or 0 or 1. */
static void
define_select(Prelude *p, DType dtype, int lanes)
{
    Text text = {0}, machine = {0};
    text_put(&text, "INLINE ");
    prelude_type(p, dtype, lanes, &text);
    text_put(&text, " select_");
    put_type(&text, dtype, lanes);
    text_put(&text, "(");
    DType mask = lanes == 1 ? DT_BOOL : mask_dtype((int)dtype_size(dtype));
    prelude_type(p, mask, lanes, &text);
    text_put(&text, " m, ");
    put_body(p, &text, "T a, T b) { return ", dtype, lanes);
    bool blends = (dtype == DT_F32 || dtype == DT_F64) && p->vector_bytes == 32 &&
                  machine_helper(p, "select", dtype, lanes, &machine);
    put_body(p, &text,
             blends       ? machine.data
             : lanes == 1 ? "m ? a : b"
                          : "(T)((m & (M)a) | (~m & (M)b))",
             dtype, lanes);
    text_put(&text, "; }\n");
    text_add(p->head, &text);
    text_free(&text);
    text_free(&machine);
}

/* A body that clang has no functions for, and what clang gets. */
static void
put_of_gcc(Prelude *p, Text *out, const char *machine, const char *body, DType dtype, int lanes)
{
    text_put(out, "\n#ifdef __clang__\n    return ");
    put_body(p, out, body, dtype, lanes);
    text_printf(out, ";\n#else\n%s#endif\n}\n", machine != NULL ? machine : "");
}

static void
define_helper(Prelude *p, const char *name, DType dtype, int lanes)
{
    const Helper *h = find_helper(name, strlen(name), dtype);
    if (h == NULL && prelude_function(p, name, dtype, lanes)) return;
    if (h == NULL) {
        prelude_miss(p, name, dtype, lanes);
        return;
    }
    if (strstr(h->scalar, "raise_") != NULL) define_raise(p);
    Text text = {0}, machine = {0};
    const char *body = lanes == 1 ? h->scalar : h->vector;
    if (dtype_is_float(dtype) && machine_helper(p, name, dtype, lanes, &machine))
        body = machine.data != NULL ? machine.data : "";
    if (body == NULL)
        define_lanewise(p, h, dtype, lanes);
    else {
        prelude_signature(p, &text, name, h->arity, h->compares, dtype, lanes);
        text_put(&text, " {");
        if (machine_integer(p, name, dtype, lanes, &machine))
            put_of_gcc(p, &text, machine.data, body, dtype, lanes);
        else {
            text_put(&text, " return ");
            put_body(p, &text, body, dtype, lanes);
            text_put(&text, "; }\n");
        }
        text_add(p->head, &text);
    }
    text_free(&text);
    text_free(&machine);
}

void
prelude_use(Prelude *p, const char *name, DType dtype, int lanes, Text *out)
{
    const Key key = key_of(name, dtype, lanes);
    if (prelude_first(p, key.text)) {
        if (strcmp(name, "select") == 0)
            define_select(p, dtype, lanes);
        else
            define_helper(p, name, dtype, lanes);
    }
    text_put(out, key.text);
}

void
prelude_splat(Prelude *p, DType dtype, int lanes, Text *out)
{
    const Key key = key_of("splat", dtype, lanes);
    if (prelude_first(p, key.text)) {
        prelude_define_type(p, dtype, lanes);
        text_printf(p->head, "INLINE %sx%d %s(%s a) { return (%sx%d){", dtype_name(dtype), lanes,
                    key.text, dtype_name(dtype), dtype_name(dtype), lanes);
        for (int i = 0; i < lanes; i++) text_put(p->head, i ? ", a" : "a");
        text_put(p->head, "}; }\n");
    }
    text_put(out, key.text);
}

void
prelude_shuffle(Prelude *p)
{
    if (!prelude_first(p, "SHUFFLE")) return;
    text_put(p->head, "#ifdef __clang__\n"
                      "#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)\n"
                      "#else\n"
                      "#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (I){__VA_ARGS__})\n"
                      "#endif\n");
}

/* Halves the lanes that count until one does.  (A loop over lanes would hold the vector in memory
   where the compiler does not unroll it.) */
void
prelude_fold(Prelude *p, const char *name, DType dtype, int lanes, Text *out)
{
    char fold[32];
    snprintf(fold, sizeof fold, "fold_%s", name);
    const Key key = key_of(fold, dtype, lanes);
    bool bits = strcmp(name, "and") == 0 || strcmp(name, "or") == 0;
    if (prelude_first(p, key.text)) {
        Text text = {0};
        prelude_shuffle(p);
        text_printf(&text, "INLINE %s %s(", dtype_name(dtype), key.text);
        prelude_type(p, dtype, lanes, &text);
        text_put(&text, " a) {\n    typedef ");
        prelude_type(p, mask_dtype((int)dtype_size(dtype)), lanes, &text);
        text_put(&text, " I __attribute__((unused));\n");
        for (int half = lanes / 2; half > 0; half /= 2) {
            text_put(&text, "    a = ");
            if (bits) {
                text_put(&text, strcmp(name, "and") == 0 ? "a & " : "a | ");
            } else {
                prelude_use(p, name, dtype, lanes, &text);
                text_put(&text, "(a, ");
            }
            text_put(&text, "SHUFFLE(a, a");
            for (int i = 0; i < lanes; i++) text_printf(&text, ", %d", (i + half) % lanes);
            text_put(&text, bits ? ");\n" : "));\n");
        }
        text_put(&text, "    return a[0];\n}\n");
        text_add(p->head, &text);
        text_free(&text);
    }
    text_put(out, key.text);
}

void
prelude_gather(Prelude *p, DType dtype, int lanes, Text *out)
{
    const Key key = key_of("gather", dtype, lanes);
    const char *t = dtype_name(dtype);
    if (prelude_first(p, key.text)) {
        prelude_define_type(p, dtype, lanes);
        text_printf(p->head, "INLINE %sx%d %s(const char *p, int64_t s) { return (%sx%d){", t,
                    lanes, key.text, t, lanes);
        for (int i = 0; i < lanes; i++)
            text_printf(p->head, "%s*(const %sm *)(p + %d * s)", i ? ", " : "", t, i);
        text_put(p->head, "}; }\n");
    }
    text_put(out, key.text);
}

void
prelude_half(Prelude *p, int upper, Text *out)
{
    const char *name = upper ? "upper_half" : "lower_half";
    text_put(out, name);
    if (!prelude_first(p, name)) return;
    prelude_define_type(p, DT_F32, 8);
    prelude_define_type(p, DT_F32, 16);
    prelude_define_type(p, DT_F64, 4);
    prelude_define_type(p, DT_F64, 8);
    text_printf(p->head,
                "INLINE f32x8 %s(f32x16 a) { return (f32x8)"
                "__builtin_ia32_extractf64x4_mask((f64x8)a, %d, (f64x4){}, -1); }\n",
                name, upper);
}

void
prelude_forget_invalid(Prelude *p)
{
    if (!prelude_first(p, "forget_invalid")) return;
    text_put(p->head, "static __attribute__((noinline)) void forget_invalid(void)\n"
                      "{\n"
                      "#if defined(__x86_64__)\n"
                      "    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~1u);\n"
                      "#elif defined(__aarch64__)\n"
                      "    __builtin_aarch64_set_fpsr(__builtin_aarch64_get_fpsr() & ~1u);\n"
                      "#endif\n"
                      "}\n");
}

void
prelude_scatter(Prelude *p, DType dtype, int lanes, Text *out)
{
    const Key key = key_of("scatter", dtype, lanes);
    const char *t = dtype_name(dtype);
    if (prelude_first(p, key.text)) {
        prelude_define_type(p, dtype, lanes);
        text_printf(p->head, "INLINE void %s(char *p, int64_t s, %sx%d v) {", key.text, t, lanes);
        for (int i = 0; i < lanes; i++)
            text_printf(p->head, " *(%sm *)(p + %d * s) = v[%d];", t, i, i);
        text_put(p->head, " }\n");
    }
    text_put(out, key.text);
}

void
prelude_stream(Prelude *p, DType dtype, int lanes, Text *out)
{
    const Key key = key_of("stream", dtype, lanes);
    int bytes = lanes * (int)dtype_size(dtype);
    if (prelude_first(p, key.text)) {
        prelude_define_type(p, dtype, lanes);
        text_printf(p->head, "INLINE void %s(char *p, %sx%d v) {\n", key.text, dtype_name(dtype),
                    lanes);
        text_printf(p->head, "    typedef long long W __attribute__((vector_size(%d)));\n", bytes);
        text_put(p->head, "#ifdef __clang__\n"
                          "    __builtin_nontemporal_store((W)v, (W *)p);\n"
                          "#else\n");
        text_printf(p->head, "    __builtin_ia32_movntdq%s((W *)p, (W)v);\n#endif\n}\n",
                    bytes == 64   ? "512"
                    : bytes == 32 ? "256"
                                  : "");
    }
    text_put(out, key.text);
}

const char *
prelude_minus_one(Prelude *p, DType dtype)
{
    bool single = dtype == DT_F32;
    const char *name = single ? "minus_one_f32" : "minus_one_f64";
    if (prelude_first(p, name))
        text_printf(p->head, "__attribute__((visibility(\"hidden\"))) %s %s = -1;\n",
                    single ? "float" : "double", name);
    return name;
}
