/* The functions of CUDA expressions that are not CUDA's own.  Where CuPy has a function of that
   kind, it is the same text, so that the bits are the same. */
#include "cuda_emit.h"

static const struct {
    const char *name;
    const char *calls; /* the helper that this one calls; NULL: none */
    const char *text;
} helpers[] = {
    /* As CuPy's float16: computed with as float, and rounded where it is stored in a variable.  The
       device has instructions for the conversions, which CUDA names in a header only. */
    {"Half", NULL,
     "#ifdef __CUDACC_RTC__\n"
     "F float half_value(unsigned short bits) {\n"
     "    float value;\n"
     "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(value) : \"h\"(bits));\n"
     "    return value;\n"
     "}\n"
     "F unsigned short half_bits(float value) {\n"
     "    unsigned short bits;\n"
     "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(value));\n"
     "    return bits;\n"
     "}\n"
     "F unsigned short half_bits(double value) {\n"
     "    unsigned short bits;\n"
     "    asm(\"cvt.rn.f16.f64 %0, %1;\" : \"=h\"(bits) : \"d\"(value));\n"
     "    return bits;\n"
     "}\n"
     "#endif\n"
     "struct Half {\n"
     "    unsigned short bits;\n"
     "    Half() = default;\n"
     "    __device__ Half(float value) : bits(half_bits(value)) {}\n"
     "    explicit __device__ Half(double value) : bits(half_bits(value)) {}\n"
     "    template <class T> explicit __device__ Half(T value) : Half((float)value) {}\n"
     "    __device__ operator float() const { return half_value(bits); }\n"
     "};\n"
     "F Half half_of(unsigned short bits) {\n"
     "    Half value;\n"
     "    value.bits = bits;\n"
     "    return value;\n"
     "}\n"
     "F Half absolute(Half x) { return fabsf(x); }\n"
     "F Half sign(Half x) { return x < 0 || x > 0 ? copysign(1.0f, (float)x) : x - x; }\n"
     "F float modulo(Half x, Half y) {\n"
     "    return fmaf(-floor((float)x / (float)y), (float)y, (float)x);\n"
     "}\n"
     "F Half maximum(Half x, Half y) {\n"
     "    return isnan((float)x) | isnan((float)y) ? half_of(0x7fff) : Half(fmaxf(x, y));\n"
     "}\n"
     "F Half minimum(Half x, Half y) {\n"
     "    return isnan((float)x) | isnan((float)y) ? half_of(0x7fff) : Half(fminf(x, y));\n"
     "}\n"},
    /* As CuPy's bfloat16.  Doubles are rounded twice, and so is the quotient of a remainder.
       Subnormal numbers are zeros, but to `and` as its second operand. */
    {"BFloat", NULL,
     "#ifdef __CUDACC_RTC__\n"
     "F unsigned short bfloat_bits(float value) {\n"
     "    unsigned short bits;\n"
     "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(value));\n"
     "    return bits;\n"
     "}\n"
     "#endif\n"
     "struct BFloat {\n"
     "    unsigned short bits;\n"
     "    BFloat() = default;\n"
     "    __device__ BFloat(float value) : bits(bfloat_bits(value)) {}\n"
     "    template <class T> explicit __device__ BFloat(T value) : BFloat((float)value) {}\n"
     "    __device__ operator float() const { return __int_as_float(bits << 16); }\n"
     "};\n"
     "F BFloat bfloat_of(unsigned short bits) {\n"
     "    BFloat value;\n"
     "    value.bits = bits;\n"
     "    return value;\n"
     "}\n"
     "F BFloat absolute(BFloat x) { return fabsf(x); }\n"
     "F BFloat sign(BFloat x) { return x < 0 || x > 0 ? copysign(1.0f, (float)x) : x - x; }\n"
     "F BFloat floor_divide(BFloat x, BFloat y) { return floor((float)x / (float)y); }\n"
     "F float modulo(BFloat x, BFloat y) { return fmaf(-(float)floor_divide(x, y), y, x); }\n"
     "F BFloat maximum(BFloat x, BFloat y) {\n"
     "    return isnan((float)x) | isnan((float)y) ? bfloat_of(0x7fff) : BFloat(fmaxf(x, y));\n"
     "}\n"
     "F BFloat minimum(BFloat x, BFloat y) {\n"
     "    return isnan((float)x) | isnan((float)y) ? bfloat_of(0x7fff) : BFloat(fminf(x, y));\n"
     "}\n"
     "F bool both(BFloat x, BFloat y) { return x && (y.bits & 0x7fff) != 0; }\n"},
    /* As CuPy's complex (cupy/complex/arithmetic.h), with what its compiler contracts. */
    {"Complex", NULL,
     "template <class T> struct Complex {\n"
     "    T re, im;\n"
     "    Complex() = default;\n"
     "    __device__ Complex(T re, T im) : re(re), im(im) {}\n"
     "    template <class U> explicit __device__ Complex(U re) : re((T)re), im(0) {}\n"
     "    template <class U> explicit __device__ Complex(Complex<U> x) : re((T)x.re), im((T)x.im) "
     "{}\n"
     "    explicit __device__ operator bool() const { return re != 0 || im != 0; }\n"
     "    __device__ Complex operator-() const { return {-re, -im}; }\n"
     "};\n"
     "#define BOTH template <class T> F\n"
     "BOTH bool operator==(Complex<T> x, Complex<T> y) { return x.re == y.re && x.im == y.im; }\n"
     "BOTH bool operator!=(Complex<T> x, Complex<T> y) { return !(x == y); }\n"
     "BOTH Complex<T> operator+(Complex<T> x, Complex<T> y) { return {x.re + y.re, x.im + y.im}; "
     "}\n"
     "BOTH Complex<T> operator-(Complex<T> x, Complex<T> y) { return {x.re - y.re, x.im - y.im}; "
     "}\n"
     "BOTH Complex<T> operator*(Complex<T> x, Complex<T> y) {\n"
     "    return {fma(x.re, y.re, -(x.im * y.im)), fma(x.re, y.im, x.im * y.re)};\n"
     "}\n"
     "BOTH Complex<T> operator/(Complex<T> x, Complex<T> y) {\n"
     "    T scale = 1 / (fabs(y.re) + fabs(y.im));\n"
     "    x = {x.re * scale, x.im * scale};\n"
     "    y = {y.re * scale, y.im * scale};\n"
     "    T norm = 1 / fma(y.re, y.re, y.im * y.im);\n"
     "    return {fma(x.re, y.re, x.im * y.im) * norm, fma(x.im, y.re, -(x.re * y.im)) * norm};\n"
     "}\n"
     "BOTH T absolute(Complex<T> x) { return hypot(x.re, x.im); }\n"
     "BOTH Complex<T> conjugate(Complex<T> x) { return {x.re, -x.im}; }\n"
     "BOTH Complex<T> __shfl_xor_sync(unsigned lanes, Complex<T> x, int bit) {\n"
     "    return {__shfl_xor_sync(lanes, x.re, bit), __shfl_xor_sync(lanes, x.im, bit)};\n"
     "}\n"
     "#undef BOTH\n"},
    {"Found", NULL,
     "template <class T, class I> struct Found {\n"
     "    T value;\n"
     "    I at;\n"
     "};\n"
     "template <class T, class I>\n"
     "F bool comes_first(Found<T, I> x, Found<T, I> y, bool better) {\n"
     "    bool none = x.value != x.value, other = y.value != y.value;\n"
     "    bool alike = x.value == y.value || (none && other);\n"
     "    return better || (none && !other) || (alike && x.at < y.at);\n"
     "}\n"},
    /* kN_done begins while kN is under way, where the graph says so (runtime/cuda_graph.c). */
    {"parts", NULL,
     "F void let_done_begin() {\n"
     "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n"
     "    asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n"
     "#endif\n"
     "}\n"
     "F void wait_for_parts() {\n"
     "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n"
     "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
     "#endif\n"
     "}\n"},
    /* Of memory that no thread reads again, and none writes. */
    {"streamed", NULL,
     "template <class P> F P streamed(const P *at) {\n"
     "#ifdef __CUDACC_RTC__\n"
     "    static_assert(sizeof(P) == 16, \"an access\");\n"
     "    union {\n"
     "        unsigned word[4];\n"
     "        P pack;\n"
     "    } to;\n"
     "    asm(\"ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];\"\n"
     "        : \"=r\"(to.word[0]), \"=r\"(to.word[1]), \"=r\"(to.word[2]), \"=r\"(to.word[3])\n"
     "        : \"l\"(at));\n"
     "    return to.pack;\n"
     "#else\n"
     "    return *at;\n"
     "#endif\n"
     "}\n"},
    {"attention", NULL, cuda_attention_helpers},
    {"hopper", "attention", cuda_hopper_helpers},
    {"attention_back", "attention", cuda_back_helpers},
    {"gathered", NULL, /* CuPy's take: an index beyond the axis is taken modulo its length */
     "F long long gathered(long long i, long long n) {\n"
     "    if (i >= 0 && i < n) return i;\n"
     "    i %= n;\n"
     "    return i < 0 ? i + n : i;\n"
     "}\n"},
    {"floor_divide", NULL,
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
    {"modulo",
     "floor_divide", /* CuPy's in0 - _floor_divide(in0, in1) * in1, which its compiler contracts */
     "template <class T> F T modulo(T x, T y) {\n"
     "    return (x - floor_divide(x, y) * y) * (y != 0);\n"
     "}\n"
     "F float modulo(float x, float y) { return fmaf(-floor(x / y), y, x); }\n"
     "F double modulo(double x, double y) { return fma(-floor(x / y), y, x); }\n"},
    /* Assemblers before CUDA 13.4 forget a minus before an operand of the larger or smaller of
       three 32- or 16-bit integers (sm_90 to sm_110).  They do not take this one for a minus. */
    {"negated", NULL,
     "template <class T> F T negated(T x) { return -x; }\n"
     "#ifdef __CUDACC_RTC__\n"
     "F unsigned turned(unsigned x) {\n    asm(\"not.b32 %0, %0;\" : \"+r\"(x));\n    return "
     "x;\n}\n"
     "F unsigned long long turned(unsigned long long x) {\n"
     "    asm(\"not.b64 %0, %0;\" : \"+l\"(x));\n    return x;\n}\n"
     "#define NEGATED(T, W) F T negated(T x) { return (T)(turned((W)x) + 1); }\n"
     "NEGATED(signed char, unsigned) NEGATED(unsigned char, unsigned) NEGATED(short, unsigned)\n"
     "NEGATED(unsigned short, unsigned) NEGATED(int, unsigned) NEGATED(unsigned, unsigned)\n"
     "NEGATED(long long, unsigned long long) NEGATED(unsigned long long, unsigned long long)\n"
     "#endif\n"},
    {"absolute", NULL,
     "template <class T> F T absolute(T x) { return x > 0 ? x : -x; }\n"
     "F bool absolute(bool x) { return x; }\n"
     "F float absolute(float x) { return fabsf(x); }\n"
     "F double absolute(double x) { return fabs(x); }\n"},
    {"sign", NULL,
     "template <class T> F T sign(T x) { return (x > 0) - (x < 0); }\n"
     "F float sign(float x) { return x < 0 || x > 0 ? copysign(1.0f, x) : x - x; }\n"
     "F double sign(double x) { return x < 0 || x > 0 ? copysign(1.0, x) : x - x; }\n"},
    {"maximum", NULL,
     "template <class T> F T maximum(T x, T y) { return x > y ? x : y; }\n"
     "F float maximum(float x, float y) {\n"
     "    return isnan(x) | isnan(y) ? __int_as_float(0x7fffffff) : fmaxf(x, y);\n"
     "}\n"
     "F double maximum(double x, double y) {\n"
     "    return isnan(x) | isnan(y) ? (double)__int_as_float(0x7fffffff) : fmax(x, y);\n"
     "}\n"},
    {"minimum", NULL,
     "template <class T> F T minimum(T x, T y) { return x < y ? x : y; }\n"
     "F float minimum(float x, float y) {\n"
     "    return isnan(x) | isnan(y) ? __int_as_float(0x7fffffff) : fminf(x, y);\n"
     "}\n"
     "F double minimum(double x, double y) {\n"
     "    return isnan(x) | isnan(y) ? (double)__int_as_float(0x7fffffff) : fmin(x, y);\n"
     "}\n"},
    /* An element and its place; of equal ones the first, and the first that is no number. */
    {"first_max", "Found",
     "template <class T, class I> F Found<T, I> first_max(Found<T, I> x, "
     "Found<T, I> y) {\n    return comes_first(y, x, y.value > x.value) ? y : x;\n}\n"},
    {"first_min", "Found",
     "template <class T, class I> F Found<T, I> first_min(Found<T, I> x, "
     "Found<T, I> y) {\n    return comes_first(y, x, y.value < x.value) ? y : x;\n}\n"},
    {"conjugate", NULL, "template <class T> F T conjugate(T x) { return x; }\n"},
    {"both", NULL, "template <class T> F bool both(T x, T y) { return x && y; }\n"},
    /* Of float in PTX, by bits: ptxas makes `x > 1 ? 1 : x` a minimum, which gives another NaN than
       x. */
    {"choose", NULL,
     "template <class T, class U> F auto choose(bool c, T x, U y) { return c ? x : y; }\n"
     "#ifdef __CUDACC_RTC__\n"
     "F float choose(bool c, float x, float y) {\n"
     "    float chosen;\n"
     "    asm(\"{ .reg .pred c; setp.ne.s32 c, %1, 0; selp.b32 %0, %2, %3, c; }\"\n"
     "        : \"=f\"(chosen) : \"r\"((int)c), \"f\"(x), \"f\"(y));\n"
     "    return chosen;\n"
     "}\n"
     "#endif\n"},
    /* A number that the compiler does not know: it would take x for x * 1 and x - 0, where CuPy,
       whose kernel has the number as an argument, makes subnormals zero and NaNs the same. */
    {"unknown", NULL,
     "template <class T> F T unknown(T x) { return x; }\n"
     "#ifdef __CUDACC_RTC__\n"
     "F float unknown(float x) { asm(\"\" : \"+f\"(x)); return x; }\n"
     "F double unknown(double x) { asm(\"\" : \"+d\"(x)); return x; }\n"
     "#endif\n"},
    {"clip", "choose",
     "template <class T> F T clip(T x, T low, T high) {\n"
     "    return low > high ? high : choose(x < low, low, choose(x > high, high, x));\n"
     "}\n"},
    {"heaviside", NULL,
     "template <class T> F T heaviside(T x, T y) { return isnan(x) ? x : x == 0 ? y : (T)(x > 0); "
     "}\n"},
    {"invert", NULL,
     "template <class T> F T invert(T x) { return ~x; }\n"
     "F bool invert(bool x) { return !x; }\n"},
    {"logaddexp", NULL,
     "template <class T> F T logaddexp(T x, T y) {\n"
     "    if (x == y) return x + log(2.0);\n"
     "    return fmax(x, y) + log1p(exp(-fabs(x - y)));\n"
     "}\n"},
};
_Static_assert(COUNT_OF(helpers) <= 8 * sizeof(unsigned), "a bit per helper");

static const char HEAD[] = "#define F static __device__ __forceinline__\n"
                           "#define PI 3.14159265358979323846\n"
                           "template <class T, int N> struct alignas(sizeof(T) * N) Pack {\n"
                           "    T at[N];\n"
                           "};\n";

void
cuda_helper(CudaEmit *e, const char *name, size_t length)
{
    for (int i = 0; i < COUNT_OF(helpers); i++) {
        const char *calls = helpers[i].calls;
        if (strlen(helpers[i].name) != length || strncmp(helpers[i].name, name, length) != 0)
            continue;
        e->helpers |= 1u << i;
        if (calls != NULL) cuda_helper(e, calls, strlen(calls));
    }
}

static const char TABLE[] = "template <int N> struct Table { long long at[N]; };\n";

void
cuda_prelude(unsigned used, bool tables, Text *out)
{
    text_put(out, HEAD);
    if (tables) text_put(out, TABLE);
    for (int i = 0; i < COUNT_OF(helpers); i++)
        if (used >> i & 1) text_put(out, helpers[i].text);
}
