/* Python's own scalar arithmetic, in kernels and in kept loops.  Each helper does what CPython does
   and stores its result through a pointer, or returns 1 for a deopt where CPython would raise or
   the result is no int64 or float. Origins: CPython Objects/floatobject.c (float_floor_div,
   float_rem, float_pow), longobject.c. */
#include "emit.h"

typedef struct {
    const char *name;
    DType in; /* the arguments are converted to this */
    const char *text;
} PythonHelper;

#define INT2(name, body)                                                                           \
    {#name, DT_I64, "INLINE int " #name "_i64(i64 a, i64 b, i64 *r) { " body " }\n"}
#define UINT2(name, body)                                                                          \
    {#name, DT_U64, "INLINE int " #name "_u64(u64 a, u64 b, u64 *r) { " body " }\n"}
#define UINT1(name, result, body)                                                                  \
    {#name, DT_U64, "INLINE int " #name "_u64(u64 a, " result " *r) { " body " }\n"}
#define INT1(name, body) {#name, DT_I64, "INLINE int " #name "_i64(i64 a, i64 *r) { " body " }\n"}
#define FLOAT2(name, body)                                                                         \
    {#name, DT_F64, "INLINE int " #name "_f64(f64 a, f64 b, f64 *r) { " body " }\n"}
#define FLOAT1(name, body) {#name, DT_F64, "INLINE int " #name "_f64(f64 a, f64 *r) { " body " }\n"}
#define COMPLEX2(name, body)                                                                       \
    {#name, DT_C128, "INLINE int " #name "_c128(c128 a, c128 b, c128 *r) { " body " }\n"}
#define COMPLEX1(name, result, body)                                                               \
    {#name, DT_C128, "INLINE int " #name "_c128(c128 a, " result " *r) { " body " }\n"}
/* One part by itself: gcc would compute both with one instruction that does not round the products
   (may_be_contracted in region_number.c). */
static const char APART_TEXT[] =
    "#if defined(__x86_64__)\n"
    "#define APART(x) ({ f64 y = (x); __asm__(\"\" : \"+x\"(y)); y; })\n"
    "#elif defined(__aarch64__)\n"
    "#define APART(x) ({ f64 y = (x); __asm__(\"\" : \"+w\"(y)); y; })\n"
    "#else\n"
    "#define APART(x) ({ f64 y = (x); __asm__(\"\" : \"+m\"(y)); y; })\n"
    "#endif\n";
#define COMPLEX_PRODUCT(r, a, b)                                                                   \
    #r " = (c128){APART(" #a ".re * " #b ".re - " #a ".im * " #b ".im), " #a ".re * " #b           \
       ".im + " #a ".im * " #b ".re};"
/* pow(a, n) for a known n, as glibc's has it (sysdeps/ieee754/dbl-64/e_pow.c, from 2.28 on), whose
   error is at most 0.511 ulp and 1.5 * 2**-15 for each unit of log(pow): the number is computed to
   twice the digits, and where it is farther than that from the middle of two doubles, its rounding
   is the only double that glibc can give.  Others, one in sixteen, are left to pow.  It takes 5 to
   10 ns, pow 22, and what waits for it waits a third as long. */
static const char WHOLE_POWER_TEXT[] =
    "INLINE int whole_power(f64 a, int n, f64 *r)\n{\n"
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 28)
    "#if defined(__FMA__) || defined(__aarch64__)\n"
    "    const f64 most = n <= 2 ? 0x1p32 : n <= 4 ? 0x1p16 : n <= 8 ? 0x1p8 : 0x1p2;\n"
    "    if (!(__builtin_fabs(a) < most && __builtin_fabs(a) > 1 / most)) return 0;\n"
    "    f64 high = 1, low = 0, power = a, rest = 0, next;\n"
    "    #pragma GCC unroll 8\n"
    "    for (int left = n; left > 0; left >>= 1) {\n"
    "        if (left & 1) {\n"
    "            next = high * power;\n"
    "            low = __builtin_fma(high, power, -next) + (high * rest + low * power);\n"
    "            high = next;\n"
    "        }\n"
    "        if (left == 1) break;\n"
    "        next = power * power;\n"
    "        rest = __builtin_fma(power, power, -next) + 2 * (power * rest);\n"
    "        power = next;\n"
    "    }\n"
    "    union { f64 number; unsigned long long bits; } near = {.number = high + low}, ulp;\n"
    "    ulp.bits = (near.bits & 0x7ff0000000000000) - ((unsigned long long)52 << 52);\n"
    "    const f64 off = low - (near.number - high);\n"
    "    *r = near.number;\n"
    "    return near.bits << 12 != 0 && __builtin_fabs(off) < 0.47 * ulp.number;\n"
    "#endif\n"
#endif
    "    return 0;\n}\n";
/* a function of libm, as in math: a deopt where math would raise ValueError or OverflowError */
#define MATH(name, function)                                                                       \
    FLOAT1(name, "*r = __builtin_" function "(a); return (*r != *r && a == a) || "                 \
                 "(__builtin_isinf(*r) && __builtin_isfinite(a));")
#define COMPARE(name, int_body, float_body)                                                        \
    {#name, DT_I64,                                                                                \
     "INLINE int " #name "_i64(i64 a, i64 b, bool *r) { *r = " int_body "; return 0; }\n"},        \
        {#name, DT_U64,                                                                            \
         "INLINE int " #name "_u64(u64 a, u64 b, bool *r) { *r = " int_body "; return 0; }\n"},    \
        {#name, DT_F64,                                                                            \
         "INLINE int " #name "_f64(f64 a, f64 b, bool *r) { *r = " float_body "; return 0; }\n"}

static const PythonHelper helpers[] = {
    INT2(py_add, "return __builtin_add_overflow(a, b, r);"),
    FLOAT2(py_add, "*r = a + b; return 0;"),
    INT2(py_sub, "return __builtin_sub_overflow(a, b, r);"),
    FLOAT2(py_sub, "*r = a - b; return 0;"),
    INT2(py_mul, "return __builtin_mul_overflow(a, b, r);"),
    FLOAT2(py_mul, "*r = a * b; return 0;"),
    /* rounded once, since both are exact as doubles */
    {"py_div", DT_I64,
     "INLINE int py_div_i64(i64 a, i64 b, f64 *r) { const i64 top = (i64)1 << 53; "
     "if (b == 0 || a > top || a < -top || b > top || b < -top) return 1; "
     "*r = (f64)a / (f64)b; return 0; }\n"},
    FLOAT2(py_div, "if (b == 0) return 1; *r = a / b; return 0;"),
    INT2(py_floordiv, "if (b == 0 || (b == -1 && __builtin_sub_overflow(0, a, r))) return 1; "
                      "*r = a / b - (a % b != 0 && (a < 0) != (b < 0)); return 0;"),
    FLOAT2(py_floordiv,
           "if (b == 0) return 1; f64 mod = __builtin_fmod(a, b), div = (a - mod) / b; "
           "if (mod != 0) { if ((b < 0) != (mod < 0)) div -= 1; } "
           "if (div != 0) { *r = __builtin_floor(div); if (div - *r > 0.5) *r += 1; } "
           "else *r = __builtin_copysign(0, a / b); return 0;"),
    INT2(py_mod, "if (b == 0) return 1; if (b == -1) { *r = 0; return 0; } "
                 "*r = a % b; if (*r != 0 && (*r < 0) != (b < 0)) *r += b; return 0;"),
    FLOAT2(py_mod, "if (b == 0) return 1; f64 mod = __builtin_fmod(a, b); "
                   "if (mod != 0) { if ((b < 0) != (mod < 0)) mod += b; } "
                   "else mod = __builtin_copysign(0, b); *r = mod; return 0;"),
    INT2(py_pow, "if (b < 0) return 1; i64 x = 1; "
                 "while (b > 0) { if (b & 1 && __builtin_mul_overflow(x, a, &x)) return 1; "
                 "b >>= 1; if (b > 0 && __builtin_mul_overflow(a, a, &a)) return 1; } "
                 "*r = x; return 0;"),
    /* the C compiler must not see the exponent: it makes a * a of pow(a, 2.0), which is rounded
       otherwise */
    FLOAT2(py_pow,
           "if (__builtin_isnan(a)) { *r = b == 0 ? 1 : a; return 0; } "
           "if (__builtin_constant_p(b) && b >= 2 && b <= 32 && b == (int)b && "
           "whole_power(a, (int)b, r)) return 0; "
           "volatile f64 exponent = b; *r = __builtin_pow(a, exponent); "
           "return __builtin_isfinite(a) && __builtin_isfinite(b) && !__builtin_isfinite(*r);"),
    INT2(py_lshift, "if (b < 0 || (b > 63 && a != 0)) return 1; if (a == 0) { *r = 0; return 0; } "
                    "return __builtin_mul_overflow(a, (__int128)1 << b, r);"),
    INT2(py_rshift, "if (b < 0) return 1; *r = a >> (b > 63 ? 63 : b); return 0;"),
    INT1(py_neg, "return __builtin_sub_overflow(0, a, r);"),
    FLOAT1(py_neg, "*r = -a; return 0;"),
    INT1(py_abs, "if (a >= 0) { *r = a; return 0; } return __builtin_sub_overflow(0, a, r);"),
    FLOAT1(py_abs, "*r = __builtin_fabs(a); return 0;"),
    COMPARE(py_eq, "a == b", "a == b"),
    COMPARE(py_ne, "a != b", "a != b"),
    COMPARE(py_lt, "a < b", "__builtin_isless(a, b)"),
    COMPARE(py_le, "a <= b", "__builtin_islessequal(a, b)"),
    {"py_bool", DT_I64, "INLINE int py_bool_i64(i64 a, bool *r) { *r = a != 0; return 0; }\n"},
    {"py_bool", DT_F64, "INLINE int py_bool_f64(f64 a, bool *r) { *r = a != 0; return 0; }\n"},
    {"py_assert", DT_I64, "INLINE int py_assert_i64(i64 a, bool *r) { *r = 1; return a == 0; }\n"},
    MATH(py_sqrt, "sqrt"),
    MATH(py_exp, "exp"),
    MATH(py_sin, "sin"),
    MATH(py_cos, "cos"),
    MATH(py_tan, "tan"),
    MATH(py_atan, "atan"),
    MATH(py_tanh, "tanh"),
    MATH(py_asin, "asin"),
    MATH(py_acos, "acos"),
    MATH(py_sinh, "sinh"),
    MATH(py_cosh, "cosh"),
    MATH(py_asinh, "asinh"),
    MATH(py_acosh, "acosh"),
    MATH(py_atanh, "atanh"),
    MATH(py_log1p, "log1p"),
    MATH(py_expm1, "expm1"),
    MATH(py_cbrt, "cbrt"),
    FLOAT1(py_log2, "if (a <= 0) return 1; *r = __builtin_log2(a); return 0;"),
    FLOAT1(py_log10, "if (a <= 0) return 1; *r = __builtin_log10(a); return 0;"),
    /* of numbers that are not finite math has rules of its own */
    FLOAT2(py_atan2, "*r = __builtin_atan2(a, b); "
                     "return !__builtin_isfinite(a) || !__builtin_isfinite(b);"),
    FLOAT2(py_fmod, "if (b == 0 || !__builtin_isfinite(a) || !__builtin_isfinite(b)) return 1; "
                    "*r = __builtin_fmod(a, b); return 0;"),
    FLOAT2(py_copysign, "*r = __builtin_copysign(a, b); return 0;"),
    FLOAT1(py_log, "if (a <= 0) return 1; *r = __builtin_log(a); return 0;"),
    {"py_floor", DT_F64,
     "INLINE int py_floor_f64(f64 a, i64 *r) { if (!(__builtin_fabs(a) < 0x1p62)) return 1; "
     "*r = (i64)__builtin_floor(a); return 0; }\n"},
    {"py_ceil", DT_F64,
     "INLINE int py_ceil_f64(f64 a, i64 *r) { if (!(__builtin_fabs(a) < 0x1p62)) return 1; "
     "*r = (i64)__builtin_ceil(a); return 0; }\n"},
    {"py_round", DT_F64,
     "INLINE int py_round_f64(f64 a, i64 *r) { if (!(__builtin_fabs(a) < 0x1p62)) return 1; "
     "*r = (i64)__builtin_rint(a); return 0; }\n"},
    /* The decimal number nearest to `a`, of which CPython takes the nearest double: of n / 10**b
       that is the quotient, n and 10**b being doubles themselves.  Numbers of which b decimals are
       more than a double has stay what they are. */
    FLOAT2(
        py_round_to,
        "static const f64 tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, "
        "1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}; "
        "if (!(b >= 0 && b <= 22)) return 1; *r = a; "
        "if (!__builtin_isfinite(a) || __builtin_fabs(a) >= 0x1p52) return 0; "
        "const f64 ten = tens[(int)b], p = a * ten; "
        "if (__builtin_fabs(p) >= 0x1p55) return 0; "
        "if (__builtin_fabs(p) >= 0x1p52) return 1; "
        "f64 n = __builtin_rint(p); const f64 rest = p - n; "
        "if (rest == 0.5 && __builtin_fma(a, ten, -p) > 0) n += 1; "
        "if (rest == -0.5 && __builtin_fma(a, ten, -p) < 0) n -= 1; "
        "*r = n / ten; return 0;"),
    /* CPython 3.13 Modules/mathmodule.c, vector_norm, of two: squares and their sum with what is
       lost of each, and a step of Newton's. */
    FLOAT2(
        py_hypot,
        "if (!__builtin_isfinite(a) || !__builtin_isfinite(b)) return 1; "
        "a = __builtin_fabs(a), b = __builtin_fabs(b); const f64 most = a > b ? a : b; "
        "if (most == 0) { *r = most; return 0; } "
        "if (most < 0x1p-1000 || most >= 0x1p1022) return 1; "
        "i64 bits; __builtin_memcpy(&bits, &most, sizeof bits); "
        "bits = (2045 - (bits >> 52)) << 52; f64 scale; "
        "__builtin_memcpy(&scale, &bits, sizeof bits); "
        "f64 sum = 1, low = 0, lost = 0; const f64 part[] = {a * scale, b * scale}; "
        "for (int i = 0; i < 2; i++) { const f64 x = part[i], square = x * x, more = sum + square; "
        "low += __builtin_fma(x, x, -square), lost += (sum - more) + square, sum = more; } "
        "f64 h = __builtin_sqrt(sum - 1 + (low + lost)); "
        "const f64 square = -h * h, more = sum + square; "
        "low += __builtin_fma(-h, h, -square), lost += (sum - more) + square; "
        "h += (more - 1 + (low + lost)) / (2 * h); *r = h / scale; return 0;"),
    /* Stein 1967: shifts and differences instead of remainders, without branches within a turn */
    INT2(py_gcd,
         "__UINT64_TYPE__ x = a < 0 ? -(__UINT64_TYPE__)a : (__UINT64_TYPE__)a, y = b < 0 ? "
         "-(__UINT64_TYPE__)b : (__UINT64_TYPE__)b; if (x == 0 || y == 0) x |= y; else { "
         "const int twos = __builtin_ctzll(x | y); "
         "x >>= __builtin_ctzll(x), y >>= __builtin_ctzll(y); while (x != y) { "
         "const __UINT64_TYPE__ apart = x - y, less = -(__UINT64_TYPE__)(x < y); "
         "const int zeros = __builtin_ctzll(apart); "
         "x = y + (apart & less), y = ((apart ^ less) - less) >> zeros; } x <<= twos; } "
         "*r = (i64)x; return *r < 0;"),
    INT1(py_isqrt,
         "if (a < 0) return 1; __UINT64_TYPE__ x = (__UINT64_TYPE__)__builtin_sqrt((f64)a), n = "
         "(__UINT64_TYPE__)a; while (x * x > n) x--; while ((x + 1) * (x + 1) <= n) x++; "
         "*r = (i64)x; return 0;"),
    UINT2(py_add, "return __builtin_add_overflow(a, b, r);"),
    UINT2(py_sub, "return __builtin_sub_overflow(a, b, r);"),
    UINT2(py_mul, "return __builtin_mul_overflow(a, b, r);"),
    UINT2(py_floordiv, "if (b == 0) return 1; *r = a / b; return 0;"),
    UINT2(py_mod, "if (b == 0) return 1; *r = a % b; return 0;"),
    UINT2(py_lshift, "if (a == 0) { *r = 0; return 0; } if (b > 63) return 1; "
                     "*r = a << b; return *r >> b != a;"),
    UINT2(py_rshift, "*r = b > 63 ? 0 : a >> b; return 0;"),
    {"py_div", DT_U64,
     "INLINE int py_div_u64(u64 a, u64 b, f64 *r) { const u64 top = (u64)1 << 53; "
     "if (b == 0 || a > top || b > top) return 1; *r = (f64)a / (f64)b; return 0; }\n"},
    UINT1(py_neg, "u64", "*r = -a; return a != 0;"),
    UINT1(py_bool, "bool", "*r = a != 0; return 0;"),
    UINT1(py_int, "u64", "*r = a; return 0;"),
    UINT1(py_float, "f64", "*r = (f64)a; return 0;"),
    COMPLEX2(py_add, "*r = (c128){a.re + b.re, a.im + b.im}; return 0;"),
    COMPLEX2(py_sub, "*r = (c128){a.re - b.re, a.im - b.im}; return 0;"),
    COMPLEX2(py_mul, COMPLEX_PRODUCT(*r, a, b) " return 0;"),
    COMPLEX2(py_div,
             "const f64 re = b.re < 0 ? -b.re : b.re, im = b.im < 0 ? -b.im : b.im; "
             "if (re == 0 && im == 0) return 1; "
             "if (re >= im) { const f64 ratio = b.im / b.re, denom = b.re + b.im * ratio; "
             "*r = (c128){APART(a.re + a.im * ratio) / denom, (a.im - a.re * ratio) / denom}; } "
             "else if (im >= re) { const f64 ratio = b.re / b.im, denom = b.re * ratio + b.im; "
             "*r = (c128){APART(a.re * ratio + a.im) / denom, (a.im * ratio - a.re) / denom}; } "
             "else return 1; return 0;"),
    /* CPython c_powu */
    COMPLEX2(py_pow, "if (b.im != 0 || b.re < 1 || b.re > 100) return 1; "
                     "const int n = (int)b.re; c128 p = a, x = {1, 0}, t; "
                     "for (int mask = 1; mask <= n; mask <<= 1) { "
                     "if (n & mask) { " COMPLEX_PRODUCT(t, x, p) " x = t; } " COMPLEX_PRODUCT(
                         t, p, p) " p = t; } "
                                  "*r = x; return __builtin_isinf(x.re) || __builtin_isinf(x.im);"),
    COMPLEX1(py_neg, "c128", "*r = (c128){-a.re, -a.im}; return 0;"),
    COMPLEX1(py_abs, "f64",
             "*r = __builtin_hypot(a.re, a.im); return __builtin_isinf(*r) && "
             "__builtin_isfinite(a.re) && __builtin_isfinite(a.im);"),
    COMPLEX1(py_eq, "c128 b, bool", "*r = a.re == b.re && a.im == b.im; return 0;"),
    COMPLEX1(py_ne, "c128 b, bool", "*r = a.re != b.re || a.im != b.im; return 0;"),
    COMPLEX1(py_real, "f64", "*r = a.re; return 0;"),
    COMPLEX1(py_imag, "f64", "*r = a.im; return 0;"),
    {"py_complex", DT_F64,
     "INLINE int py_complex_f64(f64 a, f64 b, c128 *r) { *r = (c128){a, b}; return 0; }\n"},
    INT1(py_int, "*r = a; return 0;"),
    /* the instruction says itself that the number has no place in 64 bits */
    {"py_int", DT_F64,
     "INLINE int py_int_f64(f64 a, i64 *r) {\n"
     "#ifdef __x86_64__\n"
     "typedef f64 py_pair __attribute__((vector_size(16)));\n"
     "*r = __builtin_ia32_cvttsd2si64((py_pair){a, 0}); return *r == -__INT64_MAX__ - 1;\n"
     "#else\n"
     "if (!(__builtin_fabs(a) < 0x1p63)) return 1; *r = (i64)a; return 0;\n"
     "#endif\n"
     "}\n"},
    {"py_float", DT_I64, "INLINE int py_float_i64(i64 a, f64 *r) { *r = (f64)a; return 0; }\n"},
    FLOAT1(py_float, "*r = a; return 0;"),
    INT1(py_item, "*r = a; return 0;"),
    FLOAT1(py_item, "*r = a; return 0;"),
    {"py_item", DT_BOOL, "INLINE int py_item_bool(bool a, bool *r) { *r = a; return 0; }\n"},
};

static void
use_types(Emit *e)
{
    Text unused = {0};
    prelude_type(e->prelude, DT_I64, 1, &unused);
    prelude_type(e->prelude, DT_F64, 1, &unused);
    prelude_type(e->prelude, DT_BOOL, 1, &unused);
    text_free(&unused);
}

/* CPython warns of no flag that its arithmetic raises.  Where a plan would ask CPython again what
   it warns of, they may stay.  A quick variant that raises one is followed by the careful one. */
static bool
is_quiet(const Emit *e, const Instr *v, DType in)
{
    bool quick = e->kernel->kind == KERNEL_REGION && e->quick;
    return e->program->quiet && !quick && op_info(v->op)->flags & OPF_FALLIBLE &&
           (in == DT_F64 || dtype_is_complex(in));
}

/* The C compiler must not move what raises flags. */
static const char FLAGS_TEXT[] = "static __attribute__((noipa)) unsigned flags_now(void)\n"
                                 "{\n"
                                 "#if defined(__x86_64__)\n"
                                 "    return __builtin_ia32_stmxcsr();\n"
                                 "#elif defined(__aarch64__)\n"
                                 "    return __builtin_aarch64_get_fpsr();\n"
                                 "#else\n"
                                 "    return 0;\n"
                                 "#endif\n"
                                 "}\n"
                                 "static __attribute__((noipa)) void flags_again(unsigned flags)\n"
                                 "{\n"
                                 "#if defined(__x86_64__)\n"
                                 "    __builtin_ia32_ldmxcsr(flags);\n"
                                 "#elif defined(__aarch64__)\n"
                                 "    __builtin_aarch64_set_fpsr(flags);\n"
                                 "#endif\n"
                                 "}\n";

static const char *
helper_text(const char *name, DType in)
{
    for (int i = 0; i < COUNT_OF(helpers); i++)
        if (helpers[i].in == in && strcmp(helpers[i].name, name) == 0) return helpers[i].text;
    return NULL;
}

static void
define(Emit *e, const char *name, DType in, bool quiet)
{
    static const char begin[] = "INLINE int ";
    char key[40];
    snprintf(key, sizeof key, "%s%s_%s", quiet ? "quiet_" : "", name, dtype_name(in));
    if (quiet && prelude_first(e->prelude, "flags_now")) text_put(e->prelude->head, FLAGS_TEXT);
    if (!prelude_first(e->prelude, key)) return;
    const char *text = helper_text(name, in);
    if (text == NULL) {
        prelude_miss(e->prelude, name, in, 1);
        return;
    }
    if (quiet) text_put(e->prelude->head, "static __attribute__((noipa)) int quiet_");
    text_put(e->prelude->head, quiet ? text + strlen(begin) : text);
}

static DType
python_dtype(const Emit *e, const Instr *v)
{
    bool all_bool = true, all_unsigned = v->op != OP_py_int && v->op != OP_py_item;
    for (int k = 0; k < v->nargs; k++) {
        DType dtype = instr_at(e, v->args[k])->dtype;
        if (dtype_is_complex(dtype)) return dtype;
        if (dtype_is_float(dtype)) return DT_F64;
        all_bool &= dtype == DT_BOOL;
        all_unsigned &= dtype == DT_U64;
    }
    if (all_unsigned || v->dtype == DT_U64) return DT_U64;
    return all_bool && v->op == OP_py_item ? DT_BOOL : DT_I64;
}

static void
name_of(const Emit *e, int32_t at, char out[16])
{
    bool in_body = e->kernel->kind == KERNEL_REGION && instr_at(e, at)->level != LEVEL_ONCE;
    snprintf(out, 16, "%c%d", in_body ? 'v' : 's', at);
}

/* f64 s3; if (py_add_f64(s1, s2, &s3)) return 1;   An int that becomes a float must be exact as
 * one. */
void
python_value(Emit *e, int32_t at, const char *fail)
{
    const Instr *v = instr_at(e, at);
    const char *name = op_info(v->op)->name;
    DType in = python_dtype(e, v);
    char number[16];
    Text args = {0};
    use_types(e);
    if (dtype_is_complex(in) || dtype_is_complex(v->dtype))
        prelude_define_type(e->prelude, DT_C128, 1);
    if (dtype_is_complex(in) && prelude_first(e->prelude, "APART"))
        text_put(e->prelude->head, APART_TEXT);
    if (in == DT_U64) prelude_define_type(e->prelude, DT_U64, 1);
    if (v->op == OP_py_pow && in == DT_F64 && prelude_first(e->prelude, "whole_power"))
        text_put(e->prelude->head, WHOLE_POWER_TEXT);
    bool quiet = is_quiet(e, v, in);
    define(e, name, in, quiet);
    for (int k = 0; k < v->nargs; k++) {
        DType dtype = instr_at(e, v->args[k])->dtype;
        name_of(e, v->args[k], number);
        if (dtype_is_complex(in))
            text_printf(&args, "%s, ", number);
        else
            text_printf(&args, "(%s)%s, ", dtype_name(in), number);
        if (in == DT_F64 && dtype == DT_I64)
            emit_line(e, "if (%s > ((i64)1 << 53) || %s < -((i64)1 << 53)) %s", number, number,
                      fail);
        bool either = (in == DT_I64 && dtype == DT_U64) || (in == DT_U64 && dtype == DT_I64);
        if (either) emit_line(e, "if ((i64)%s < 0) %s", number, fail);
    }
    name_of(e, at, number);
    emit_line(e, "%s %s;", dtype_name(v->dtype), number);
    if (quiet) emit_line(e, "const unsigned flags%d = flags_now();", at);
    emit_line(e, "if (%s%s_%s(%s&%s)) %s", quiet ? "quiet_" : "", name, dtype_name(in), args.data,
              number, fail);
    if (quiet) emit_line(e, "flags_again(flags%d);", at);
    text_free(&args);
}
