/* exp and log of float32 as NumPy computes them on x86-64 with AVX2 and FMA, and with AVX-512:
   NumPy loops_exponent_log.dispatch.c.src, simd_exp_FLOAT and simd_log_FLOAT, constants of
   npy_simd_data.h.  The same operations in the same order give the same bits and flags.

   Each body is compiled twice, which is why it is a macro: into the extension module, where it is
   compared with NumPy's loop (arrays/short.c), and as text into kernels.  In it T is the vector
   type of floats, B of integers of as many bits, and V(name) is NAME_32 or NAME_64, by the vector's
   bytes: what needs AVX2 and FMA alone, and what needs AVX-512. */
#ifndef PYCOMPILE_ELEMENTARY_H
#define PYCOMPILE_ELEMENTARY_H

#include "vectors.h"

/* Arguments of which none is NaN, and none so large that the result is not a normal number. */
#define EXP_F32_CORE(V)                                                                            \
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

#define EXP_F32_IS_PLAIN(V) (!V(SOME)(V(MASK)((T)((B)a & 0x7fffffff), ALL(87.0f), 22)))
#define EXP_F32_PLAIN(V) EXP_F32_CORE(V) return V(SCALED)(n, k);

#define EXP_F32_ODD(V)                                                                             \
    __auto_type nan = V(MASK)(a, a, 3);                                                            \
    a = V(BLEND)(nan, a, ALL(0.0f));                                                               \
    __auto_type high = V(MASK)(a, ALL(88.72283935546875f), 29);                                    \
    __auto_type low = V(MASK)(a, ALL(-103.97208404541015625f), 18);                                \
    volatile float huge = 0x1p100f, tiny = 0x1p-100f, raised;                                      \
    if (V(SOME)(high & ~V(MASK)(a, ALL(__builtin_inff()), 0))) raised = huge * huge;               \
    if (V(SOME)(low & ~V(MASK)(a, ALL(-__builtin_inff()), 0))) raised = tiny * tiny;               \
    (void)raised;                                                                                  \
    a = V(BLEND)(high | low, a, ALL(0.0f));                                                        \
    EXP_F32_CORE(V)                                                                                \
    n = V(LOWERED)(n, k);                                                                          \
    n = V(BLEND)(nan, n, ALL(__builtin_nanf("")));                                                 \
    n = V(BLEND)(high, n, ALL(__builtin_inff()));                                                  \
    return V(BLEND)(low, n, ALL(0.0f));

/* Of a * 2**`less`, which is normal. */
#define LOG_F32_CORE(V, less)                                                                      \
    T e = V(EXPONENT)(a) - less;                                                                   \
    a = V(MANTISSA)(a);                                                                            \
    __auto_type below = V(MASK)(a, ALL(0.707106781186547524400844362104849039f), 18);              \
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

#define LOG_F32_IS_PLAIN(V)                                                                        \
    (!V(SOME)(V(MASK)(a, ALL(1.175494351e-38f), 25) | V(MASK)(a, ALL(3.402823466e+38f), 30)))
#define LOG_F32_PLAIN(V) LOG_F32_CORE(V, 0.0f) return n;

#define LOG_F32_ODD(V)                                                                             \
    __auto_type nan = V(MASK)(a, a, 3);                                                            \
    __auto_type negative = V(MASK)(a, ALL(0.0f), 17);                                              \
    __auto_type zero = V(MASK)(a, ALL(0.0f), 0);                                                   \
    __auto_type up = V(MASK)(a, ALL(__builtin_inff()), 0);                                         \
    volatile float nothing = 0, raised;                                                            \
    if (V(SOME)(zero)) raised = 1 / nothing;                                                       \
    if (V(SOME)(negative)) raised = nothing / nothing;                                             \
    (void)raised;                                                                                  \
    a = V(BLEND)(negative, a, ALL(0.0f));                                                          \
    __auto_type small = V(MASK)(a, ALL(1.175494351e-38f), 17);                                     \
    T enlarged = V(BLEND)(small, ALL(0.0f), a) * 0x1p100f;                                         \
    a = V(BLEND)(small, a, enlarged);                                                              \
    LOG_F32_CORE(V, V(BLEND)(small, ALL(0.0f), ALL(100.0f)))                                       \
    n = V(BLEND)(nan, n, ALL(__builtin_nanf("")));                                                 \
    n = V(BLEND)(negative, n, ALL(-__builtin_nanf("")));                                           \
    n = V(BLEND)(zero, n, ALL(-__builtin_inff()));                                                 \
    return V(BLEND)(up, n, ALL(__builtin_inff()));

#endif
