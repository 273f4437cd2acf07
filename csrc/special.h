/* erf, erfc and ndtr as SciPy computes them on x86-64: xsf/cephes/ndtr.h and polevl.h (S. L.
   Moshier's Cephes library), without contraction, with exp of glibc
   (libm.h).  The loops of float32 are those of float64 between two conversions.

   Each body is compiled twice, which is why it is a macro: into the extension module, where it is
   compared with SciPy's loop (arrays/elementary.c), and as text into kernels (codegen/functions.c).
   In it T is the vector type of doubles, B of signed integers of as many bits,
   S of floats, K of integers of as many bits as these, and V(name) is NAME_32 or NAME_64, by the
   bytes of T.

   No flag that NumPy reports is left raised, since SciPy's loops clear what they raise.  Plain
   arguments raise none; what is computed for others stands between FLAGS_KEPT and FLAGS_AGAIN. */
#ifndef PYCOMPILE_SPECIAL_H
#define PYCOMPILE_SPECIAL_H

#include "libm.h"

/* ---- which arguments are plain ---- */

#define SMALL_BITS 0x20b0000000000000 /* of 2**-500, whose square would underflow */
#define IS_ODD_64(a, limit) OUTSIDE_64(a, SMALL_BITS, limit)
#define IS_ODD_32(a, limit) OUTSIDE_32(a, SMALL_BITS, limit)
/* The same of floats, by the bytes of S; erf of a small one would be a subnormal float. */
#define SMALL_FLOAT 0x01000000 /* the bits of 2**-125 */
#define IS_ODD_F32_64(a, limit)                                                                    \
    ({                                                                                             \
        K bits = (K)a & 0x7fffffff;                                                                \
        S top = (S){} + (float)limit;                                                              \
        __builtin_ia32_ucmpd512_mask(bits - SMALL_FLOAT, (K)top - SMALL_FLOAT, 5, -1) &            \
            __builtin_ia32_ucmpd512_mask(bits, (K){}, 4, -1);                                      \
    })
#define ODD_FLOATS(a, limit)                                                                       \
    (S)(((a) >= (K)((S){} + (float)limit)) | (((a) < SMALL_FLOAT) & ((a) != 0)))
#define IS_ODD_F32_32(a, limit) __builtin_ia32_movmskps256(ODD_FLOATS((K)a & 0x7fffffff, limit))
#define IS_ODD_F32_16(a, limit) __builtin_ia32_movmskps(ODD_FLOATS((K)a & 0x7fffffff, limit))

/* ---- what the functions are made of ---- */

/* n / d is erf(x) for |x| up to 1. */
#define NEAR_FRACTION(x)                                                                           \
    T s = x * x;                                                                                   \
    T n = s * 9.60497373987051638749e0 + 9.00260197203842689217e1;                                 \
    T d = s + 3.35617141647503099647e1;                                                            \
    n = n * s + 2.23200534594684319226e3;                                                          \
    d = d * s + 5.21357949780152679795e2;                                                          \
    n = n * s + 7.00332514112805075473e3;                                                          \
    d = d * s + 4.59432382970980127987e3;                                                          \
    n = n * s + 5.55923013010394962768e4;                                                          \
    d = d * s + 2.26290000613890934246e4;                                                          \
    d = d * s + 4.92673942608635921086e4;                                                          \
    n = x * n;

/* exp(-w * w) * p / q is erfc(w) for w from 1 to 8 … */
#define FAR_FRACTION(w)                                                                            \
    T p = w * 2.46196981473530512524e-10 + 5.64189564831068821977e-1;                              \
    T q = w + 1.32281951154744992508e1;                                                            \
    p = p * w + 7.46321056442269912687e0;                                                          \
    q = q * w + 8.67072140885989742329e1;                                                          \
    p = p * w + 4.86371970985681366614e1;                                                          \
    q = q * w + 3.54937778887819891062e2;                                                          \
    p = p * w + 1.96520832956077098242e2;                                                          \
    q = q * w + 9.75708501743205489753e2;                                                          \
    p = p * w + 5.26445194995477358631e2;                                                          \
    q = q * w + 1.82390916687909736289e3;                                                          \
    p = p * w + 9.34528527171957607540e2;                                                          \
    q = q * w + 2.24633760818710981792e3;                                                          \
    p = p * w + 1.02755188689515710272e3;                                                          \
    q = q * w + 1.65666309194161350182e3;                                                          \
    p = p * w + 5.57535335369399327526e2;                                                          \
    q = q * w + 5.57535340817727675546e2;

/* … and beyond. */
#define FARTHER_FRACTION(w)                                                                        \
    T p8 = w * 5.64189583547755073984e-1 + 1.27536670759978104416e0;                               \
    T q8 = w + 2.26052863220117276590e0;                                                           \
    p8 = p8 * w + 5.01905042251180477414e0;                                                        \
    q8 = q8 * w + 9.39603524938001434673e0;                                                        \
    p8 = p8 * w + 6.16021097993053585195e0;                                                        \
    q8 = q8 * w + 1.20489539808096656605e1;                                                        \
    p8 = p8 * w + 7.40974269950448939160e0;                                                        \
    q8 = q8 * w + 1.70814450747565897222e1;                                                        \
    p8 = p8 * w + 2.97886665372100240670e0;                                                        \
    q8 = q8 * w + 9.60896809063285878198e0;                                                        \
    q8 = q8 * w + 3.36907645100081516050e0;

/* ---- the functions ---- */

/* Of lanes: x is the argument of erf, `far` tells those for which erfc(|x|) is computed; f is
   erf(x) of the others, and erfc(|x|) of these. */
#define ERF_NEAR(V) f
#define ERF_FAR(V) (T)((B)(1.0 - f) | ((B)x & (-0x7fffffffffffffff - 1)))
#define ERFC_NEAR(V) 1.0 - f
#define ERFC_FAR(V) V(PICK)(V(LANES)(x, ALL(0.0), 17), f, 2.0 - f)
#define NDTR_NEAR(V) 0.5 + 0.5 * f
#define NDTR_FAR(V) V(PICK)(V(LANES)(x, ALL(0.0), 30), 0.5 * f, 1.0 - 0.5 * f)

#define BY_ERF_PLAIN(V, IS_FAR, NEAR, FAR)                                                         \
    T z = (T)((B)x & 0x7fffffffffffffff), f;                                                       \
    NEAR_FRACTION(x)                                                                               \
    __auto_type far = V(LANES)(z, ALL(1.0), IS_FAR);                                               \
    if (V(ANY)(far)) {                                                                             \
        T w = V(LARGER)(z, ALL(1.0));                                                              \
        FAR_FRACTION(w)                                                                            \
        T e = -(w * w);                                                                            \
        EXP_TERMS(V, e)                                                                            \
        e = V(FUSED)((T)scale, t, (T)scale);                                                       \
        f = V(PICK)(far, n, e * p) / V(PICK)(far, d, q);                                           \
        T y = FAR(V);                                                                              \
        return V(PICK)(far, NEAR(V), y);                                                           \
    }                                                                                              \
    f = n / d;                                                                                     \
    return NEAR(V);

/* For all arguments.  exp from -512 down: glibc's specialcase, which rounds where the result will
   be subnormal before it is. */
#define BY_ERF_ANY(V, IS_FAR, NEAR, FAR)                                                           \
    T z = (T)((B)x & 0x7fffffffffffffff), f;                                                       \
    __auto_type nan = V(LANES)(x, x, 3);                                                           \
    __auto_type far = V(LANES)(z, ALL(1.0), IS_FAR);                                               \
    NEAR_FRACTION(x)                                                                               \
    T w = V(LARGER)(z, ALL(1.0));                                                                  \
    FAR_FRACTION(w)                                                                                \
    FARTHER_FRACTION(w)                                                                            \
    __auto_type farther = V(LANES)(w, ALL(8.0), 29);                                               \
    p = V(PICK)(farther, p, p8);                                                                   \
    q = V(PICK)(farther, q, q8);                                                                   \
    T e = -(w * w);                                                                                \
    __auto_type none = V(LANES)(e, ALL(-7.09782712893383996843e2), 17);                            \
    __auto_type low = V(LANES)(e, ALL(-512.0), 18);                                                \
    EXP_TERMS(V, e)                                                                                \
    T high = (T)(scale + ((B){} + (1022ll << 52)));                                                \
    T y = high + high * t;                                                                         \
    T over = 1.0 + y;                                                                              \
    T rest = 1.0 - over + y + (high - y + high * t);                                               \
    y = V(PICK)(V(LANES)(y, ALL(1.0), 17), y, over + rest - 1.0);                                  \
    e = V(PICK)(low, V(FUSED)((T)scale, t, (T)scale), 0x1p-1022 * y);                              \
    f = V(PICK)(far, n, e * p) / V(PICK)(far, d, q);                                               \
    f = V(PICK)(none, f, ALL(0.0));                                                                \
    y = FAR(V);                                                                                    \
    f = V(PICK)(far, NEAR(V), y);                                                                  \
    return V(PICK)(nan, f, ALL(__builtin_nan("")));

/* NAME_PLAIN for arguments up to NAME_LIMIT, NAME_ANY for all. */
#define ERF_LIMIT 8.0
#define ERF_PLAIN(V)                                                                               \
    T x = a;                                                                                       \
    BY_ERF_PLAIN(V, 30, ERF_NEAR, ERF_FAR)
#define ERF_ANY(V)                                                                                 \
    T x = a;                                                                                       \
    BY_ERF_ANY(V, 30, ERF_NEAR, ERF_FAR)
#define ERFC_LIMIT 8.0
#define ERFC_PLAIN(V)                                                                              \
    T x = a;                                                                                       \
    BY_ERF_PLAIN(V, 29, ERFC_NEAR, ERFC_FAR)
#define ERFC_ANY(V)                                                                                \
    T x = a;                                                                                       \
    BY_ERF_ANY(V, 29, ERFC_NEAR, ERFC_FAR)
#define NDTR_LIMIT 11.25
#define NDTR_PLAIN(V)                                                                              \
    T x = a * 0x1.6a09e667f3bcdp-1;                                                                \
    BY_ERF_PLAIN(V, 29, NDTR_NEAR, NDTR_FAR)
#define NDTR_ANY(V)                                                                                \
    T x = a * 0x1.6a09e667f3bcdp-1;                                                                \
    BY_ERF_ANY(V, 29, NDTR_NEAR, NDTR_FAR)

#endif
