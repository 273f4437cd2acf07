/* exp and log of float32 as NumPy computes them on x86-64 with AVX-512: NumPy
   loops_exponent_log.dispatch.c.src, simd_exp_FLOAT and simd_log_FLOAT, constants of
   npy_simd_data.h.  The same operations in the same order give the same bits and flags.

   Each body is compiled twice, which is why it is a macro: into the extension module, where it is
   compared with NumPy's loop (arrays/elementary.c), and as text into kernels.  In it T is the
   vector type of floats and V(name) is NAME_32 or NAME_64, by the vector's bytes. */
#ifndef PYCOMPILE_ELEMENTARY_H
#define PYCOMPILE_ELEMENTARY_H

#define FMA_64(a, b, c) (T) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)
#define FMA_32(a, b, c) (T) __builtin_ia32_vfmaddps256(a, b, c)
#define SCALEF_64(a, b) (T) __builtin_ia32_scalefps512_mask(a, b, a, -1, 4)
#define SCALEF_32(a, b) (T) __builtin_ia32_scalefps256_mask(a, b, a, -1)
#define GETEXP_64(a) (T) __builtin_ia32_getexpps512_mask(a, a, -1, 4)
#define GETEXP_32(a) (T) __builtin_ia32_getexpps256_mask(a, a, -1)
/* mantissas in [0.5, 1) with the sign of the argument */
#define GETMANT_64(a) (T) __builtin_ia32_getmantps512_mask(a, 2, a, -1, 4)
#define GETMANT_32(a) (T) __builtin_ia32_getmantps256_mask(a, 2, a, -1)
/* Lanes of `a` where the comparison holds are those of `b`.  The predicates are those of
   codegen/machine.c, quiet: 3 unordered, 0 equal, 17 less, 18 less or equal, 29 greater or equal,
   22 not less or equal, 25 not greater or equal, 30 greater. */
#define MASK_64(a, b, predicate) __builtin_ia32_cmpps512_mask(a, b, predicate, -1, 4)
#define MASK_32(a, b, predicate) __builtin_ia32_cmpps256_mask(a, b, predicate, -1)
#define BLEND_64(mask, a, b)                                                                       \
    ({                                                                                             \
        T blend;                                                                                   \
        __asm__("vblendmps %2, %1, %0%{%3%}"                                                       \
                : "=v"(blend)                                                                      \
                : "v"(a), "v"(b), "Yk"((unsigned short)(mask)));                                   \
        blend;                                                                                     \
    })
#define BLEND_32(mask, a, b) BLEND_64(mask, a, b)
#define ALL(x) ((T){} + (x))

/* Arguments of which none is NaN, and none so large that the result is not a normal number. */
#define EXP_CORE(V)                                                                                \
    T k = a * 1.442695040888963407359924681001892137f;                                             \
    k = (k + 0x1.8p23f) - 0x1.8p23f;                                                               \
    T r = V(FMA)(k, ALL(-6.93145752e-1f), a);                                                      \
    r = V(FMA)(k, ALL(-1.42860677e-6f), r);                                                        \
    T n = V(FMA)(ALL(5.082762527590693718096e-04f), r, ALL(6.757896990527504603057e-03f));         \
    T d = V(FMA)(ALL(2.159509375685829852307e-02f), r, ALL(-2.742335390411667452936e-01f));        \
    n = V(FMA)(n, r, ALL(5.114512081637298353406e-02f));                                           \
    d = V(FMA)(d, r, ALL(1.0f));                                                                   \
    n = V(FMA)(n, r, ALL(2.473615434895520810817e-01f));                                           \
    n = V(FMA)(n, r, ALL(7.257664613233124478488e-01f));                                           \
    n = V(FMA)(n, r, ALL(9.999999999980870924916e-01f));                                           \
    n = n / d;

#define EXP_IS_PLAIN(V) (V(MASK)((T)((U)a & 0x7fffffff), ALL(87.0f), 22) == 0)
#define EXP_PLAIN(V) EXP_CORE(V) return V(SCALEF)(n, k);

/* Of lanes beyond the limits the power of two overflows or underflows, which raises the flags that
   NumPy raises. */
#define EXP_ODD(V)                                                                                 \
    unsigned nan = V(MASK)(a, a, 3);                                                               \
    a = V(BLEND)(nan, a, ALL(0.0f));                                                               \
    unsigned high = V(MASK)(a, ALL(88.72283935546875f), 29);                                       \
    unsigned low = V(MASK)(a, ALL(-103.97208404541015625f), 18);                                   \
    unsigned up = V(MASK)(a, ALL(__builtin_inff()), 0);                                            \
    unsigned down = V(MASK)(a, ALL(-__builtin_inff()), 0);                                         \
    a = V(BLEND)(high | low, a, ALL(0.0f));                                                        \
    EXP_CORE(V)                                                                                    \
    k = V(BLEND)(high & ~up, k, ALL(1000.0f));                                                     \
    k = V(BLEND)(low & ~down, k, ALL(-1000.0f));                                                   \
    n = V(SCALEF)(n, k);                                                                           \
    n = V(BLEND)(nan, n, ALL(__builtin_nanf("")));                                                 \
    n = V(BLEND)(up, n, ALL(__builtin_inff()));                                                    \
    return V(BLEND)(down, n, ALL(0.0f));

#define LOG_CORE(V)                                                                                \
    T e = V(GETEXP)(a) + 1.0f;                                                                     \
    a = V(GETMANT)(a);                                                                             \
    unsigned below = V(MASK)(a, ALL(0.707106781186547524400844362104849039f), 18);                 \
    a = V(BLEND)(below, a, a + a);                                                                 \
    e = V(BLEND)(below, e, e - 1.0f);                                                              \
    a = a - 1.0f;                                                                                  \
    T n = V(FMA)(ALL(2.589979117907922693523e-02f), a, ALL(3.808837741388407920751e-01f));         \
    T d = V(FMA)(ALL(5.875095403124574342950e-03f), a, ALL(1.546476374983906719538e-01f));         \
    n = V(FMA)(n, a, ALL(1.480000633576506585156e+00f));                                           \
    d = V(FMA)(d, a, ALL(9.864942958519418960339e-01f));                                           \
    n = V(FMA)(n, a, ALL(2.112677543073053063722e+00f));                                           \
    d = V(FMA)(d, a, ALL(2.453006071784736363091e+00f));                                           \
    n = V(FMA)(n, a, ALL(9.999999999999998702752e-01f));                                           \
    d = V(FMA)(d, a, ALL(2.612677543073109236779e+00f));                                           \
    n = V(FMA)(n, a, ALL(0.0f));                                                                   \
    d = V(FMA)(d, a, ALL(1.0f));                                                                   \
    n = V(FMA)(e, ALL(0.693147180559945309417232121458176568f), n / d);

#define LOG_IS_PLAIN(V)                                                                            \
    ((V(MASK)(a, ALL(1.175494351e-38f), 25) | V(MASK)(a, ALL(3.402823466e+38f), 30)) == 0)
#define LOG_PLAIN(V) LOG_CORE(V) return n;

#define LOG_ODD(V)                                                                                 \
    unsigned nan = V(MASK)(a, a, 3), negative = V(MASK)(a, ALL(0.0f), 17);                         \
    unsigned zero = V(MASK)(a, ALL(0.0f), 0), up = V(MASK)(a, ALL(__builtin_inff()), 0);           \
    volatile float nothing = 0, raised;                                                            \
    if (zero) raised = 1 / nothing;                                                                \
    if (negative) raised = nothing / nothing;                                                      \
    (void)raised;                                                                                  \
    a = V(BLEND)(negative, a, ALL(0.0f));                                                          \
    LOG_CORE(V)                                                                                    \
    n = V(BLEND)(nan, n, ALL(__builtin_nanf("")));                                                 \
    n = V(BLEND)(negative, n, ALL(-__builtin_nanf("")));                                           \
    n = V(BLEND)(zero, n, ALL(-__builtin_inff()));                                                 \
    return V(BLEND)(up, n, ALL(__builtin_inff()));

#endif
