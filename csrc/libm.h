/* exp, log, sin and cos of float64 as glibc computes them in its variants for x86-64 with FMA: the
   algorithms of Arm's optimized routines, math/exp.c and math/log.c, and those of IBM's Accurate
   Mathematical Library, sysdeps/ieee754/dbl-64/s_sin.c, as gcc contracts them there.  NumPy's loops
   call them for each number, those for exp and log only without AVX-512.  The same operations in
   the same order give the same bits.

   Each body is compiled twice, which is why it is a macro: into the extension module, where it is
   compared with NumPy's loop (arrays/short.c), and as text into kernels (codegen/functions.c).  In
   it T is the vector type of doubles, B of signed integers of as many bits, and V(name) is NAME_32
   or NAME_64, by the vector's bytes.

   What is not plain, such as NaN, arguments whose results are no normal numbers and angles that
   need more digits of pi, is left to NumPy's loop itself. */
#ifndef PYCOMPILE_LIBM_H
#define PYCOMPILE_LIBM_H

#include "vectors.h"

/* The bits of 2**(k / 128), less those that k << 45 adds, and by how much of itself the number is
   larger than a double with them, for k = 0 … 127: arrays/libm_tables.c. */
#define EXP_TABLE of_pycompile_exp_table
#define EXP_TABLE_READS WEAK "const unsigned long long *of_pycompile_exp_table;\n"

/* exp(e) is scale + scale * t where |e| < 512. */
#define EXP_TERMS(V, e)                                                                            \
    T k = V(FUSED)(e, ALL(0x1.71547652b82fep7), ALL(0x1.8p52));                                    \
    B at = ((B)k & 127) * 2;                                                                       \
    V(LOOK_UP_TWO)(EXP_TABLE, at, tail, power) B scale = (B)power + ((B)k << 45);                  \
    k = k - 0x1.8p52;                                                                              \
    T r = V(FUSED)(k, ALL(-0x1.62e42fefa0000p-8), e);                                              \
    r = V(FUSED)(k, ALL(-0x1.cf79abc9e3b3ap-47), r);                                               \
    T rr = r * r;                                                                                  \
    T t = V(FUSED)(ALL(0x1.555555555543cp-3), r, ALL(0x1.ffffffffffdbdp-2));                       \
    t = V(FUSED)(rr, t, tail + r);                                                                 \
    T t4 = V(FUSED)(ALL(0x1.1111167a4d017p-7), r, ALL(0x1.55555cf172b91p-5));                      \
    t = V(FUSED)(rr * rr, t4, t);

#define EXP_F64_IS_PLAIN(V) (!V(OUTSIDE)(a, 0x3c90000000000000 /* of 2**-54 */, 512.0))
#define EXP_F64_PLAIN(V)                                                                           \
    EXP_TERMS(V, a)                                                                                \
    return V(FUSED)((T)scale, t, (T)scale);
#define EXP_F64_ODD(V) BY_LANES(of_pycompile_exp)
#define EXP_F64_READS EXP_TABLE_READS

/* 1 / c and log(c) for c near the middles of 128 intervals, as the C library has them:
   arrays/libm_tables.c. */
#define LOG_F64_READS WEAK "const double *of_pycompile_log_table;\n"

/* log(2) in two parts, and the coefficients of log(1 + r) from r * r on: for c * (1 + r), and from
   r for 1 + r itself.  The numbers before the table. */
#define LN2 0x1.62e42fefa3800p-1
#define LN2_REST 0x1.ef35793c76730p-45
#define LOG_FAR_0 -0x1.0000000000001p-1
#define LOG_FAR_1 0x1.555555551305bp-2
#define LOG_FAR_2 -0x1.fffffffeb4590p-3
#define LOG_FAR_3 0x1.999b324f10111p-3
#define LOG_FAR_4 -0x1.55575e506c89fp-3
#define LOG_NEAR_0 -0.5
#define LOG_NEAR_1 0x1.5555555555577p-2
#define LOG_NEAR_2 -0x1.ffffffffffdcbp-3
#define LOG_NEAR_3 0x1.999999995dd0cp-3
#define LOG_NEAR_4 -0x1.55555556745a7p-3
#define LOG_NEAR_5 0x1.24924a344de30p-3
#define LOG_NEAR_6 -0x1.fffffa4423d65p-4
#define LOG_NEAR_7 0x1.c7184282ad6cap-4
#define LOG_NEAR_8 -0x1.999eb43b068ffp-4
#define LOG_NEAR_9 0x1.78182f7afd085p-4
#define LOG_NEAR_10 -0x1.5521375d145cdp-4

/* y is log(a), which is z * 2**k, z from 0x1.6p-1 to 0x1.6p0. */
#define LOG_F64_FAR(V)                                                                             \
    B biased = (B)a + 0x000a000000000000; /* k is its exponent */                                  \
    T k = (T)((B)((U)biased >> 52) | 0x4330000000000000) - (0x1p52 + 1023);                        \
    T z = (T)((biased & 0x000fffffffffffff) + 0x3fe6000000000000);                                 \
    B at = (B)((U)biased >> 44) & 254;                                                             \
    V(LOOK_UP_TWO)(of_pycompile_log_table, at, inverse, logarithm) T r =                           \
        V(FUSED)(z, inverse, ALL(-1.0));                                                           \
    T w = V(FUSED)(k, ALL(LN2), logarithm);                                                        \
    T high = w + r, rr = r * r;                                                                    \
    T low = V(FUSED)(k, ALL(LN2_REST), w - high + r);                                              \
    low = V(FUSED)(rr, ALL(LOG_FAR_0), low);                                                       \
    T p = V(FUSED)(r, ALL(LOG_FAR_2), ALL(LOG_FAR_1));                                             \
    T q = V(FUSED)(r, ALL(LOG_FAR_4), ALL(LOG_FAR_3));                                             \
    T y = V(FUSED)(r * rr, V(FUSED)(q, rr, p), low) + high;

/* `near` is log(1 + e). */
#define LOG_F64_NEAR(V, e)                                                                         \
    T ee = e * e, eee = e * ee;                                                                    \
    T b1 = V(FUSED)(ee, ALL(LOG_NEAR_3), V(FUSED)(e, ALL(LOG_NEAR_2), ALL(LOG_NEAR_1)));           \
    T b4 = V(FUSED)(ee, ALL(LOG_NEAR_6), V(FUSED)(e, ALL(LOG_NEAR_5), ALL(LOG_NEAR_4)));           \
    T b7 = V(FUSED)(ee, ALL(LOG_NEAR_9), V(FUSED)(e, ALL(LOG_NEAR_8), ALL(LOG_NEAR_7)));           \
    b7 = V(FUSED)(eee, ALL(LOG_NEAR_10), b7);                                                      \
    b1 = V(FUSED)(V(FUSED)(b7, eee, b4), eee, b1);                                                 \
    T upper = V(FUSED)(e, ALL(-0x1p27), V(FUSED)(e, ALL(0x1p27), e));                              \
    T lower = e - upper, square = upper * upper;                                                   \
    T sum = V(FUSED)(square, ALL(LOG_NEAR_0), e);                                                  \
    T rest = V(FUSED)(square, ALL(LOG_NEAR_0), e - sum);                                           \
    rest = V(FUSED)(lower * LOG_NEAR_0, e + upper, rest);                                          \
    T near = sum + V(FUSED)(eee, b1, rest);

#define LOG_F64_IS_PLAIN(V) (!V(NOT_WITHIN)(a, 0x0010000000000000, 0x7ff0000000000000))
#define LOG_F64_PLAIN(V)                                                                           \
    LOG_F64_FAR(V)                                                                                 \
    T e = a - 1.0;                                                                                 \
    __auto_type from = V(LANES)(e, ALL(-0x1p-4), 29);                                              \
    __auto_type beyond = V(LANES)(e, ALL(0x1.09p-4), 29);                                          \
    if (V(BITS)(from) & ~V(BITS)(beyond)) {                                                        \
        e = V(PICK)(beyond, e, (T){}); /* whose powers might overflow */                           \
        LOG_F64_NEAR(V, e)                                                                         \
        near = V(PICK)(beyond, near, y);                                                           \
        y = V(PICK)(from, y, near);                                                                \
    }                                                                                              \
    return y;
#define LOG_F64_ODD(V) BY_LANES(of_pycompile_log)

/* For k = 0 … 109 the sine and the cosine of k / 128, each in two parts, as the C library has them:
   arrays/libm_tables.c. */
#define SINE_READS WEAK "const double *of_pycompile_sine_table;\n"

/* The magnitude m of `a` is n quarters of a turn and b, to which da adds what b cannot hold.  One
   below 0.855 is b itself, with n = small_n; one below 2.426 is measured from a quarter: half_n,
   half_b and half_da; beyond, n is the nearest quarter, and `more`: cos is sin a quarter further.
 */
#define SINE_REDUCED(V, more, small_n, half_n, half_b, half_da)                                    \
    __auto_type in_half = V(LANES)(m, ALL(0x1.368fdp1), 17);                                       \
    __auto_type is_small = V(LANES)(m, ALL(0x1.b6p-1), 17);                                        \
    T b = half_b, da = half_da;                                                                    \
    B n = (B){} + half_n;                                                                          \
    if (V(BITS)(in_half) != (1 << sizeof(T) / 8) - 1) {                                            \
        T k = V(FUSED)(m, ALL(0x1.45f306dc9c883p-1), ALL(0x1.8p52));                               \
        n = (B)V(PICK)(in_half, (T)((B)k + more), (T)n);                                           \
        k = k - 0x1.8p52;                                                                          \
        T far = V(FUSED)(k, ALL(-0x1.921fb58p0), m);                                               \
        far = V(FUSED)(k, ALL(0x1.dde973cp-27), far);                                              \
        T rest = V(FUSED)(k, ALL(0x1.cb3b398p-55), far);                                           \
        T low = V(FUSED)(k, ALL(0x1.cb3b398p-55), far - rest);                                     \
        far = V(FUSED)(k, ALL(0x1.d747f23e32ed7p-83), rest);                                       \
        low = low + V(FUSED)(k, ALL(0x1.d747f23e32ed7p-83), rest - far);                           \
        b = V(PICK)(in_half, far, b);                                                              \
        da = V(PICK)(in_half, low, da);                                                            \
    }                                                                                              \
    b = V(PICK)(is_small, b, m);                                                                   \
    da = V(PICK)(is_small, da, (T){});                                                             \
    n = (B)V(PICK)(is_small, (T)n, (T)((B){} + small_n));

/* `y` is the sine of n quarters of a turn and b.  Where n is odd, the tables' sine and cosine
   change places.  Near 0 it is a polynomial. */
#define SINE_TURNED(V)                                                                             \
    B is_odd = n & 1;                                                                              \
    __auto_type odd = V(LANES)((T)(is_odd << 62), (T){}, 30);                                      \
    B sign = (B)b & ~0x7fffffffffffffff;                                                           \
    b = (T)((B)b ^ sign);                                                                          \
    da = (T)((B)da ^ sign);                                                                        \
    T place = b + 0x1.8p45;                                                                        \
    T e = b - (place - 0x1.8p45);                                                                  \
    e = V(PICK)(odd, e, e + da);                                                                   \
    T ee = e * e;                                                                                  \
    T s = V(FUSED)(ee, ALL(0x1.11110e829872fp-7), ALL(-0x1.5555555555515p-3));                     \
    T first = V(PICK)(odd, da, e);                                                                 \
    s = V(FUSED)(e * ee, s, first);                                                                \
    s = V(PICK)(odd, e + s, s);                                                                    \
    T c = V(FUSED)(ALL(0x1.6c16bedd9e239p-10), ee, ALL(-0x1.5555555555535p-5));                    \
    c = ee * V(FUSED)(c, ee, ALL(0.5));                                                            \
    da = V(PICK)(odd, da, (T){});                                                                  \
    c = V(FUSED)(e, da, c);                                                                        \
    B at = ((B)place & 127) * 4;                                                                   \
    V(LOOK_UP_TWO)(of_pycompile_sine_table, at, sine, sine_rest)                                   \
        V(LOOK_UP_TWO)(of_pycompile_sine_table + 2, at, cosine, cosine_rest)                       \
            T own = V(PICK)(odd, sine, cosine),                                                    \
              own_rest = V(PICK)(odd, sine_rest, cosine_rest);                                     \
    B turn = is_odd << 63;                                                                         \
    T other = V(PICK)(odd, cosine, sine), other_rest = V(PICK)(odd, cosine_rest, sine_rest);       \
    other = (T)((B)other ^ turn);                                                                  \
    other_rest = (T)((B)other_rest ^ turn);                                                        \
    T y = V(FUSED)(-c, own, V(FUSED)(s, other_rest, own_rest));                                    \
    y = own + V(FUSED)(s, other, y);                                                               \
    __auto_type close = V(LANES)(b, ALL(0.126), 17);                                               \
    if (V(BITS)(close) & ~V(BITS)(odd)) {                                                          \
        T bb = b * b;                                                                              \
        T p = V(FUSED)(ALL(-0x1.addffc2fcdf59p-26), bb, ALL(0x1.71de27b9a7ed9p-19));               \
        p = V(FUSED)(p, bb, ALL(-0x1.a01a019db08b8p-13));                                          \
        p = V(FUSED)(p, bb, ALL(0x1.1111111110ecep-7));                                            \
        p = V(FUSED)(p, bb, ALL(-0x1.5555555555555p-3));                                           \
        p = V(FUSED)(bb, V(FUSED)(p, b, da * -0.5), da) + b;                                       \
        p = V(PICK)(close, y, p);                                                                  \
        y = V(PICK)(odd, p, y);                                                                    \
    }                                                                                              \
    y = (T)((B)y ^ (sign & (is_odd - 1)) ^ ((n & 2) << 62));

#define SIN_F64_IS_PLAIN(V) (!V(OUTSIDE)(a, 0x2d30000000000000 /* of 2**-300 */, 0x1.921fbp26))
#define SIN_F64_PLAIN(V)                                                                           \
    T m = (T)((B)a & 0x7fffffffffffffff);                                                          \
    SINE_REDUCED(V, 0, 0, 1, 0x1.921fb54442d18p0 - m, ALL(0x1.1a62633145c07p-54))                  \
    SINE_TURNED(V)                                                                                 \
    return (T)((B)y ^ ((B)a & ~0x7fffffffffffffff));
#define SIN_F64_ODD(V) BY_LANES(of_pycompile_sin)

#define COS_F64_IS_PLAIN(V) SIN_F64_IS_PLAIN(V)
#define COS_F64_PLAIN(V)                                                                           \
    T m = (T)((B)a & 0x7fffffffffffffff), left = 0x1.921fb54442d18p0 - m;                          \
    T half = left + 0x1.1a62633145c07p-54;                                                         \
    SINE_REDUCED(V, 1, 1, 0, half, left - half + 0x1.1a62633145c07p-54)                            \
    SINE_TURNED(V)                                                                                 \
    return y;
#define COS_F64_ODD(V) BY_LANES(of_pycompile_cos)

/* ---- odd arguments ---- */

#define BY_LANES(function)                                                                         \
    T r;                                                                                           \
    for (int lane = 0; lane < (int)(sizeof(T) / 8); lane++) r[lane] = function(a[lane]);           \
    return r;

#endif
