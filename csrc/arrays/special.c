/* The functions of special.h in the extension module: compared with SciPy's loops, and called by
   kernels in which copies would be long. */
#include "../special.h"
#include "numpy_api.h"

#if defined(__x86_64__)

#include "vector_loops.h"

#define VECTORS(BYTES)                                                                             \
    typedef double F64_##BYTES __attribute__((vector_size(BYTES)));                                \
    typedef float F32_##BYTES __attribute__((vector_size(BYTES)));                                 \
    typedef long long I64_##BYTES __attribute__((vector_size(BYTES)));                             \
    typedef int I32_##BYTES __attribute__((vector_size(BYTES)));
VECTORS(32)
VECTORS(64)

/* y = f(x) for `n` elements, a multiple of the lanes, as kernels compute it (codegen/functions.c).
 */
#define LOOPS(NAME, name, BYTES)                                                                   \
    TARGET_##BYTES static F64_##BYTES name##_plain_##BYTES(F64_##BYTES a)                          \
    {                                                                                              \
        typedef F64_##BYTES T;                                                                     \
        typedef I64_##BYTES B;                                                                     \
        NAME##_PLAIN(V##BYTES)                                                                     \
    }                                                                                              \
    TARGET_##BYTES static F64_##BYTES name##_any_##BYTES(F64_##BYTES a)                            \
    {                                                                                              \
        typedef F64_##BYTES T;                                                                     \
        typedef I64_##BYTES B;                                                                     \
        NAME##_ANY(V##BYTES)                                                                       \
    }                                                                                              \
    TARGET_##BYTES static void name##_f64_##BYTES(const void *x, void *y, int n)                   \
    {                                                                                              \
        typedef F64_##BYTES T;                                                                     \
        typedef I64_##BYTES B;                                                                     \
        for (int i = 0; i < n * 8; i += BYTES) {                                                   \
            T a, r;                                                                                \
            memcpy(&a, (const char *)x + i, BYTES);                                                \
            if (IS_ODD_##BYTES(a, NAME##_LIMIT)) {                                                 \
                FLAGS_KEPT(a)                                                                      \
                r = name##_any_##BYTES(a);                                                         \
                FLAGS_AGAIN(r)                                                                     \
            } else {                                                                               \
                r = name##_plain_##BYTES(a);                                                       \
            }                                                                                      \
            memcpy((char *)y + i, &r, BYTES);                                                      \
        }                                                                                          \
    }                                                                                              \
    TARGET_##BYTES static void name##_f32_##BYTES(const void *x, void *y, int n)                   \
    {                                                                                              \
        typedef F64_##BYTES T;                                                                     \
        typedef F32_##BYTES S;                                                                     \
        typedef I32_##BYTES K;                                                                     \
        for (int i = 0; i < n * 4; i += BYTES) {                                                   \
            S a, r;                                                                                \
            memcpy(&a, (const char *)x + i, BYTES);                                                \
            if (IS_ODD_F32_##BYTES(a, NAME##_LIMIT)) {                                             \
                FLAGS_KEPT(a)                                                                      \
                T low = name##_any_##BYTES(LOWER_##BYTES(a));                                      \
                T high = name##_any_##BYTES(UPPER_##BYTES(a));                                     \
                r = JOINED_##BYTES(low, high);                                                     \
                FLAGS_AGAIN(r)                                                                     \
            } else {                                                                               \
                T low = name##_plain_##BYTES(LOWER_##BYTES(a));                                    \
                T high = name##_plain_##BYTES(UPPER_##BYTES(a));                                   \
                r = JOINED_##BYTES(low, high);                                                     \
            }                                                                                      \
            memcpy((char *)y + i, &r, BYTES);                                                      \
        }                                                                                          \
    }

LOOPS(ERF, erf, 32)
LOOPS(ERF, erf, 64)
LOOPS(ERFC, erfc, 32)
LOOPS(ERFC, erfc, 64)
LOOPS(NDTR, ndtr, 32)
LOOPS(NDTR, ndtr, 64)

/* ---- what kernels call ---- */

void
special_link(LinkPlace place, void *context)
{
    static const Link links[] = {
        {"of_pycompile_plain_erf_f64x4", (const void *)erf_plain_32},
        {"of_pycompile_plain_erf_f64x8", (const void *)erf_plain_64},
        {"of_pycompile_any_erf_f64x4", (const void *)erf_any_32},
        {"of_pycompile_any_erf_f64x8", (const void *)erf_any_64},
        {"of_pycompile_plain_erfc_f64x4", (const void *)erfc_plain_32},
        {"of_pycompile_plain_erfc_f64x8", (const void *)erfc_plain_64},
        {"of_pycompile_any_erfc_f64x4", (const void *)erfc_any_32},
        {"of_pycompile_any_erfc_f64x8", (const void *)erfc_any_64},
        {"of_pycompile_plain_ndtr_f64x4", (const void *)ndtr_plain_32},
        {"of_pycompile_plain_ndtr_f64x8", (const void *)ndtr_plain_64},
        {"of_pycompile_any_ndtr_f64x4", (const void *)ndtr_any_32},
        {"of_pycompile_any_ndtr_f64x8", (const void *)ndtr_any_64},
    };
    for (int i = 0; i < COUNT_OF(links); i++) {
        const void **pointer = (const void **)place(context, links[i].name);
        if (pointer != NULL) *pointer = links[i].there;
    }
}

/* ---- by their names ---- */

VectorLoop
special_loop(const char *function, DType dtype, int bytes)
{
    static const struct {
        const char *function;
        VectorLoop loop[2][2]; /* of float32 and float64, by vectors of 32 and 64 bytes */
    } functions[] = {
        {"erf", {{erf_f32_32, erf_f32_64}, {erf_f64_32, erf_f64_64}}},
        {"erfc", {{erfc_f32_32, erfc_f32_64}, {erfc_f64_32, erfc_f64_64}}},
        {"ndtr", {{ndtr_f32_32, ndtr_f32_64}, {ndtr_f64_32, ndtr_f64_64}}},
    };
    for (int i = 0; i < COUNT_OF(functions); i++)
        if (strcmp(functions[i].function, function) == 0)
            return functions[i].loop[dtype == DT_F64][bytes == 64];
    return NULL;
}

#else

void
special_link(LinkPlace place, void *context)
{
    (void)place, (void)context;
}

VectorLoop
special_loop(const char *function, DType dtype, int bytes)
{
    (void)function, (void)dtype, (void)bytes;
    return NULL;
}

#endif
