/* The functions of CUDA expressions that are not CUDA's own.  Where CuPy has a function of that
   kind, it is the same text, so that the bits are the same. */
#include "cuda_emit.h"

static const struct {
    const char *name, *text;
} helpers[] = {
    {"floor_divide",
     "F int floor_divide(int x, int y) {\n"
     "    if (y == 0) return 0;\n"
     "    int q = x / y;\n"
     "    return q - (((x < 0) != (y < 0)) && q * y != x);\n"
     "}\n"
     "F long long floor_divide(long long x, long long y) {\n"
     "    if (y == 0) return 0;\n"
     "    long long q = x / y;\n"
     "    return q - (((x < 0) != (y < 0)) && q * y != x);\n"
     "}\n"
     "F unsigned floor_divide(unsigned x, unsigned y) { return y == 0 ? 0 : x / y; }\n"
     "F unsigned long long floor_divide(unsigned long long x, unsigned long long y) {\n"
     "    return y == 0 ? 0 : x / y;\n"
     "}\n"
     "F float floor_divide(float x, float y) { return floor(x / y); }\n"
     "F double floor_divide(double x, double y) { return floor(x / y); }\n"},
    {"modulo", /* CuPy's in0 - _floor_divide(in0, in1) * in1, which its compiler contracts */
     "template <class T> F T modulo(T x, T y) {\n"
     "    return (x - floor_divide(x, y) * y) * (y != 0);\n"
     "}\n"
     "F float modulo(float x, float y) { return fmaf(-floor(x / y), y, x); }\n"
     "F double modulo(double x, double y) { return fma(-floor(x / y), y, x); }\n"},
    {"absolute", "template <class T> F T absolute(T x) { return x > 0 ? x : -x; }\n"
                 "F bool absolute(bool x) { return x; }\n"
                 "F float absolute(float x) { return fabsf(x); }\n"
                 "F double absolute(double x) { return fabs(x); }\n"},
    {"sign", "template <class T> F T sign(T x) { return (x > 0) - (x < 0); }\n"
             "F float sign(float x) { return x < 0 || x > 0 ? copysign(1.0f, x) : x - x; }\n"
             "F double sign(double x) { return x < 0 || x > 0 ? copysign(1.0, x) : x - x; }\n"},
    {"maximum",
     "template <class T> F T maximum(T x, T y) { return x > y ? x : y; }\n"
     "F float maximum(float x, float y) {\n"
     "    return isnan(x) | isnan(y) ? __int_as_float(0x7fffffff) : fmaxf(x, y);\n"
     "}\n"
     "F double maximum(double x, double y) {\n"
     "    return isnan(x) | isnan(y) ? (double)__int_as_float(0x7fffffff) : fmax(x, y);\n"
     "}\n"},
    {"minimum",
     "template <class T> F T minimum(T x, T y) { return x < y ? x : y; }\n"
     "F float minimum(float x, float y) {\n"
     "    return isnan(x) | isnan(y) ? __int_as_float(0x7fffffff) : fminf(x, y);\n"
     "}\n"
     "F double minimum(double x, double y) {\n"
     "    return isnan(x) | isnan(y) ? (double)__int_as_float(0x7fffffff) : fmin(x, y);\n"
     "}\n"},
    {"clip", "template <class T> F T clip(T x, T low, T high) {\n"
             "    return low > high ? high : (x < low ? low : (x > high ? high : x));\n"
             "}\n"},
    {"heaviside",
     "template <class T> F T heaviside(T x, T y) { return isnan(x) ? x : x == 0 ? y : (T)(x > 0); "
     "}\n"},
    {"invert", "template <class T> F T invert(T x) { return ~x; }\n"
               "F bool invert(bool x) { return !x; }\n"},
    {"logaddexp", "template <class T> F T logaddexp(T x, T y) {\n"
                  "    if (x == y) return x + log(2.0);\n"
                  "    return fmax(x, y) + log1p(exp(-fabs(x - y)));\n"
                  "}\n"},
};
_Static_assert(COUNT_OF(helpers) <= 8 * sizeof(unsigned), "a bit per helper");

/* Helpers that others call. */
enum { FLOOR_DIVIDE = 0, MODULO = 1 };

static const char HEAD[] = "#define F static __device__ __forceinline__\n"
                           "#define PI 3.14159265358979323846\n"
                           "template <class T, int N> struct alignas(sizeof(T) * N) Pack {\n"
                           "    T at[N];\n"
                           "};\n";

void
cuda_helper(CudaEmit *e, const char *name, size_t length)
{
    for (int i = 0; i < COUNT_OF(helpers); i++)
        if (strlen(helpers[i].name) == length && strncmp(helpers[i].name, name, length) == 0)
            e->helpers |= 1u << i;
    if (e->helpers >> MODULO & 1) e->helpers |= 1u << FLOOR_DIVIDE;
}

void
cuda_prelude(unsigned used, Text *out)
{
    text_put(out, HEAD);
    for (int i = 0; i < COUNT_OF(helpers); i++)
        if (used >> i & 1) text_put(out, helpers[i].text);
}
