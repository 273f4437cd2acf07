/* Division by a number that is the same in the whole loop, as a product.  With h = 1 / d, which is
   computed before the loop, the three lines

       q = x * h        r = fma(-q, d, x)        fma(r, h, q)

   round x / d correctly (Brisebarre, Muller & Raina 2004, "Accelerating correctly rounded
   floating-point division when the divisor is known in advance").  A proof: let u be 2^-p, with p
   bits of precision, and the significands of x and d be in [1, 2).  As h is the machine's quotient,
   |h - 1/d| <= u/2, for divisors of all ones, too, which Newton's iteration would miss.

   1. x >= d: q is less than u away from x/d before it is rounded, and one ulp is 2u, so q is one of
      the floats on either side of x/d.  Then r is exact, and the last line correct: Markstein 1990;
      Muller et al., Handbook of Floating-Point Arithmetic, "Newton-Raphson-based division".
   2. x < d: the ulp is u, and q is less than 1.5 ulp away.  Where it is one of these floats: as
      above.  Else r may be rounded, and what the last line rounds is less than 4u^2 away from x/d.
      It rounds to another float only if a midpoint of two floats is as near, of which q is then 1.5
      ulp away.  As |q - x/d| <= u/2 + x * u/2, that takes x >= 2 - 8u.  So x is 2 - 2ju and d is
      2 - 2ku, 1 <= k < j <= 4, and x/d = 1 - (j - k)u - O(u^2) is far from a midpoint.

   Of f32 all 2^46 pairs of significands were tried, too, and none was wrong.

   Nothing may overflow or underflow on the way, neither for the sake of the bits nor of the flags:
   x and d must be in windows in which q is normal, and r, a multiple of ulp(q) * ulp(d) >=
   2^(-2p) * |x|, is normal or zero.  The quotient of a zero is q, which has the right sign.  A
   vector with any other lane, and one by an odd divisor, is divided by the machine, as are the last
   elements of a row.  The machine's own division takes 16 cycles for 64 bytes of f64 and 10 of f32
   on Cascade Lake.  Measured there in the first-level cache: 6.7 to 2.0 ns for 8 f64, 4.2 to 1.9 ns
   for 16 f32.  Vectors of 32 bytes, 8 and 5 cycles, are left to the machine, whose divider works
   beside the other units: 4 f64 went from 3.0 to 2.2 ns, 8 f32 from 1.9 to 2.3 ns.  In short rows
   it works while the next row is summed: x / x.sum() went from 63 to 52 ns in rows of 64 f64 and
   from 206 to 172 ns in rows of 512 f32, but in rows of 128 f32 from 42 to 44 ns. */
#include "emit.h"

/* The windows: `shift` is added to the bits, which sets `top` where 2^-511 <= |x| < 2^513 (f64) or
   2^-78 <= |x| < 2^50 (f32). */
typedef struct {
    double least, most; /* |d| */
    const char *shift, *top;
    const char *suffix; /* of numbers and functions */
    const char *integer, *mask;
    const char *letters, *lane; /* of instructions */
    const char *all;            /* is every lane in one of two masks? */
    int row;                    /* from so many elements on, an inverse for each row pays */
} Windows;

static const Windows windows_f32 = {0x1p-76,          0x1p47, "79 << 23", "1 << 30",    "f", "int",
                                    "unsigned short", "ps",   "d",        "kortestchi", 256};
static const Windows windows_f64 = {
    0x1p-500,        0x1p500, "512ll << 52", "1ll << 62",  "", "long long",
    "unsigned char", "pd",    "q",           "kortestcqi", 40};

static const Windows *
windows_of(DType dtype)
{
    return dtype == DT_F32 ? &windows_f32 : &windows_f64;
}

/* ---- helpers ---- */

/* "inverse_f64(d)", or 0 where the divisor is not in its window.  The asm statement keeps compilers
   from dividing before they know. */
static void
define_inverse(Prelude *p, DType dtype)
{
    const Windows *w = windows_of(dtype);
    const char *t = dtype_name(dtype);
    char key[16];
    snprintf(key, sizeof key, "inverse_%s", t);
    if (!prelude_first(p, key)) return;
    prelude_define_type(p, dtype, 1);
    text_printf(p->head,
                "INLINE %s %s(%s a)\n"
                "{\n"
                "    const %s size = __builtin_fabs%s(a);\n"
                "    if (!__builtin_isgreaterequal(size, %a%s) ||\n"
                "        !__builtin_islessequal(size, %a%s))\n"
                "        return 0;\n"
                "    __asm__(\"\" : \"+x\"(a));\n"
                "    return 1 / a;\n"
                "}\n",
                t, key, t, t, w->suffix, w->least, w->suffix, w->most, w->suffix);
}

static void
define_quotient(Prelude *p, DType dtype, int lanes)
{
    const Windows *w = windows_of(dtype);
    const char *t = dtype_name(dtype);
    char key[24];
    snprintf(key, sizeof key, "quotient_%sx%d", t, lanes);
    if (!prelude_first(p, key)) return;
    Text splat = {0};
    prelude_splat(p, dtype, lanes, &splat);
    if (prelude_first(p, "TESTED"))
        text_put(
            p->head,
            "#ifdef __clang__\n"
            "#define TESTED(c, a, b) __builtin_ia32_cmp##c##512_mask((a) & (b), (L){}, 4, -1)\n"
            "#else\n"
            "#define TESTED(c, a, b) __builtin_ia32_ptestm##c##512(a, b, -1)\n"
            "#endif\n");
    text_printf(p->head,
                "INLINE %sx%d %s(%sx%d a, %s d, %s h, int plain)\n"
                "{\n"
                "    typedef %s L __attribute__((vector_size(64)));\n"
                "    typedef %sx%d T;\n",
                t, lanes, key, t, lanes, t, t, w->integer, t, lanes);
    text_printf(p->head,
                "    const T by = %s(d), inverse = %s(h);\n"
                "    if (__builtin_expect(!plain, 0)) return a / by;\n"
                "    const %s in = TESTED(%s, (L)a + (%s), (L){} + (%s));\n"
                "    const %s zero = __builtin_ia32_cmp%s512_mask(a, (T){}, 0, -1, 4);\n",
                splat.data, splat.data, w->mask, w->lane, w->shift, w->top, w->mask, w->letters);
    text_printf(p->head,
                "    if (__builtin_expect(!__builtin_ia32_%s(in, zero), 0)) return a / by;\n"
                "    __asm__(\"\" : \"+v\"(a));\n"
                "    const T q = a * inverse;\n"
                "    const T r = (T)__builtin_ia32_vfmadd%s512_mask(-q, by, a, -1, 4);\n"
                "    return (T)__builtin_ia32_vfmadd%s512_mask3(r, inverse, q, in, 4);\n"
                "}\n",
                w->all, w->letters, w->letters);
    text_free(&splat);
}

/* ---- what is divided so ---- */

/* A number in the text: is it one by which division gains from an inverse? Compilers multiply by
   that of a power of two. */
static bool
gains(const Instr *v)
{
    double value;
    float single;
    int exponent;
    memcpy(&single, v->bits, sizeof single);
    memcpy(&value, v->bits, sizeof value);
    if (v->dtype == DT_F32) value = (double)single;
    const Windows *w = windows_of(v->dtype);
    double size = fabs(value);
    return size >= w->least && size <= w->most && frexp(size, &exponent) != 0.5;
}

static bool
is_written(const Instr *v)
{
    return v->kind == INSTR_CONST && v->argument == 0;
}

/* Is the value the same in the whole kernel? Else it is in one row. */
static bool
is_once(const Instr *v)
{
    return v->level == LEVEL_ONCE && v->kind != INSTR_REDUCE;
}

/* May rows be long enough? Of f32 short rows are not. */
static bool
rows_gain(const Emit *e, DType dtype)
{
    return dtype == DT_F64 || !e->kernel->short_rows;
}

/* "h3", or of a value of the row "h3_1": each stage that divides by it has an inverse of its own.
 */
static void
put_inverse(const Emit *e, const char *name, int32_t at, Text *out)
{
    text_printf(out, "%s%d", name, at);
    if (!is_once(instr_at(e, at))) text_printf(out, "_%d", e->stage);
}

bool
put_quotient(Emit *e, const Instr *v, Text *out)
{
    if (v->op != OP_divide || e->vector_bytes != 64) return false;
    if (!dtype_is_float(v->from) || e->lanes * (int)dtype_size(v->from) != 64) return false;
    int32_t by = v->args[1];
    const Instr *divisor = instr_at(e, by);
    if (!is_row_value(e, by) || (is_written(divisor) && !gains(divisor))) return false;
    if (e->kernel->kind == KERNEL_REGION) return false;
    if (!is_once(divisor) && !(e->in_row_loop && rows_gain(e, v->from))) return false;
    e->divides[by] = true;
    define_quotient(e->prelude, v->from, e->lanes);
    text_printf(out, "quotient_%sx%d(", dtype_name(v->from), e->lanes);
    body_name(e, v->args[0], out);
    text_printf(out, ", s%d, ", by);
    put_inverse(e, "h", by, out);
    text_put(out, ", ");
    if (is_written(divisor))
        text_put(out, "1");
    else
        put_inverse(e, "plain", by, out);
    text_put(out, ")");
    return true;
}

/* ---- where inverses are computed ---- */

static void
declare_inverse(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    const char *t = dtype_name(v->dtype);
    Text inverse = {0}, plain = {0};
    put_inverse(e, "h", at, &inverse);
    put_inverse(e, "plain", at, &plain);
    if (is_written(v)) {
        emit_line(e, "const %s %s = 1 / s%d;", t, inverse.data, at);
    } else {
        define_inverse(e->prelude, v->dtype);
        if (is_once(v))
            emit_line(e, "const %s %s = inverse_%s(s%d);", t, inverse.data, t, at);
        else
            emit_line(e, "const %s %s = m >= %d ? inverse_%s(s%d) : 0;", t, inverse.data,
                      windows_of(v->dtype)->row, t, at);
        emit_line(e, "const int %s = %s != 0;", plain.data, inverse.data);
    }
    text_free(&inverse);
    text_free(&plain);
}

Text *
begin_divisors(Emit *e, Text *body)
{
    Text *out = e->out;
    e->out = body;
    return out;
}

void
end_divisors(Emit *e, Text *out, bool once)
{
    Text *body = e->out;
    e->out = out;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!e->divides[i] || is_once(instr_at(e, i)) != once) continue;
        declare_inverse(e, i);
        e->divides[i] = false;
    }
    text_add(out, body);
    text_free(body);
}
