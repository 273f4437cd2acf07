// CUDA's words for the executor: what a kernel's text needs to be compiled as C++.
#ifndef EXECUTOR_DEVICE_H
#define EXECUTOR_DEVICE_H

#ifdef EXECUTOR_HOST // the executor itself; kernels are compiled often, and C++'s headers take most of the time
#include <cmath>
#include <cstring>
using namespace std;
#else
typedef decltype(sizeof 0) size_t;
extern "C" void *memcpy(void *, const void *, size_t) noexcept, *memset(void *, int, size_t) noexcept;
#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
// C's functions of floats under the name for doubles, as in C++.
#define ONE(name)                                                                                                      \
    extern "C" double name(double) noexcept;                                                                           \
    extern "C" float name##f(float) noexcept;                                                                          \
    static inline float name(float x) { return name##f(x); }
#define TWO(name)                                                                                                      \
    extern "C" double name(double, double) noexcept;                                                                   \
    extern "C" float name##f(float, float) noexcept;                                                                   \
    static inline float name(float x, float y) { return name##f(x, y); }
#define TEST(name)                                                                                                     \
    static inline bool name(float x) { return __builtin_##name(x); }                                                   \
    static inline bool name(double x) { return __builtin_##name(x); }
ONE(acos) ONE(acosh) ONE(asin) ONE(asinh) ONE(atan) ONE(atanh) ONE(cbrt) ONE(ceil) ONE(cos) ONE(cosh) ONE(erf)
ONE(erfc) ONE(exp) ONE(exp2) ONE(expm1) ONE(fabs) ONE(floor) ONE(log) ONE(log10) ONE(log1p) ONE(log2) ONE(rint)
ONE(sin) ONE(sinh) ONE(sqrt) ONE(tan) ONE(tanh) ONE(trunc)
TWO(atan2) TWO(copysign) TWO(fmax) TWO(fmin) TWO(fmod) TWO(hypot) TWO(nextafter) TWO(pow)
TEST(isfinite) TEST(isinf) TEST(isnan) TEST(signbit)
extern "C" double fma(double, double, double) noexcept, ldexp(double, int) noexcept, frexp(double, int *) noexcept;
extern "C" float fmaf(float, float, float) noexcept, ldexpf(float, int) noexcept;
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline float ldexp(float x, int by) { return ldexpf(x, by); }
#endif

namespace executor {
struct Place {
    unsigned x, y;
};
} // namespace executor

extern executor::Place executor_thread, executor_block;
extern unsigned long long executor_lanes[1024];
extern char executor_shared[]; // a block's dynamic memory
extern "C" void executor_barrier(); // of all threads of the block
extern "C" void executor_meet(unsigned threads); // of the 32 or 128 neighbouring threads
extern "C" void executor_wait();                 // lets other threads go on
extern "C" void executor_moves();                // something has happened that others may wait for

#define threadIdx executor_thread
#define blockIdx executor_block
#define __grid_constant__
#define __global__ __attribute__((visibility("default")))
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ static
#define __syncthreads executor_barrier
#define __launch_bounds__(...)

static inline float __int_as_float(int bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline double __longlong_as_double(long long bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
// Half floats, which the device converts by instructions of its own.
static inline float half_value(unsigned short bits)
{
    int exponent = bits >> 10 & 31, digits = bits & 1023;
    float value = exponent == 0    ? ldexp((float)digits, -24)
                  : exponent == 31 ? (digits ? NAN : INFINITY)
                                   : ldexp((float)(digits + 1024), exponent - 25);
    return bits >> 15 ? -value : value;
}
static inline unsigned short half_bits(double value)
{
    unsigned short sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    value = fabs(value);
    if (isnan(value)) return 0x7fff;
    frexp(value, &exponent); // value < 2 ** exponent
    int unit = exponent < -13 ? -24 : exponent - 11;
    double digits = rint(ldexp(value, -unit)); // of the last digit; 2048 is the next power of two
    if (ldexp(digits, unit) >= 65536) return sign | 0x7c00;
    if (digits == 2048) digits = 1024, unit++;
    return sign | (digits < 1024 ? (int)digits : (unit + 25) << 10 | ((int)digits - 1024));
}
static inline unsigned short half_bits(float value) { return half_bits((double)value); }

static inline unsigned short bfloat_bits(float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// All threads of a warp take part.
template <class T> static inline T __shfl_xor_sync(unsigned, T value, int mask)
{
    unsigned me = threadIdx.x;
    memcpy(&executor_lanes[me], &value, sizeof value);
    executor_meet(32);
    memcpy(&value, &executor_lanes[me ^ mask], sizeof value);
    executor_meet(32);
    return value;
}

static inline int atomicMax(int *at, int value)
{
    int before = *at;
    if (value > before) *at = value;
    return before;
}

template <class T> static inline T __shfl_sync(unsigned, T value, int lane)
{
    unsigned me = threadIdx.x;
    memcpy(&executor_lanes[me], &value, sizeof value);
    executor_meet(32);
    memcpy(&value, &executor_lanes[(me & ~31u) + lane], sizeof value);
    executor_meet(32);
    return value;
}

template <class T> static inline T __shfl_up_sync(unsigned, T value, int by)
{
    unsigned me = threadIdx.x;
    memcpy(&executor_lanes[me], &value, sizeof value);
    executor_meet(32);
    if ((me & 31) >= (unsigned)by) memcpy(&value, &executor_lanes[me - by], sizeof value);
    executor_meet(32);
    return value;
}

// What kernels of attentions do by instructions: asynchronous copies, and matrices of a warp.
struct Half;
struct BFloat;
#define FLT_MAX 3.402823466e+38f
static unsigned warp_words[1024][6];
static inline void copy_chunk(void *to, const void *from, bool there)
{
    if (there)
        memcpy(to, from, 16);
    else
        memset(to, 0, 16);
}
static inline void copy_number(float *to, const void *from, bool there)
{
    if (there)
        memcpy(to, from, 4);
    else
        memset(to, 0, 4);
}
static inline void end_copies() {}
static inline void wait_for_copies() {}
static inline const char *matrix_row(int matrix, int row)
{
    return (const char *)executor_lanes[(threadIdx.x & ~31u) + matrix * 8 + row];
}
static inline void load_matrices(unsigned *to, const void *at)
{
    int lane = threadIdx.x & 31;
    executor_lanes[threadIdx.x] = (unsigned long long)at;
    executor_meet(32);
    for (int i = 0; i < 4; i++) memcpy(&to[i], matrix_row(i, lane >> 2) + (lane & 3) * 4, 4);
    executor_meet(32);
}
static inline void load_transposed(unsigned *to, const void *at)
{
    int lane = threadIdx.x & 31;
    executor_lanes[threadIdx.x] = (unsigned long long)at;
    executor_meet(32);
    for (int i = 0; i < 4; i++)
        for (int part = 0; part < 2; part++)
            memcpy((char *)&to[i] + part * 2, matrix_row(i, (lane & 3) * 2 + part) + (lane >> 2) * 2, 2);
    executor_meet(32);
}
template <class T> static float element_of(unsigned word, int part)
{
    unsigned short bits = word >> part * 16;
    T value;
    memcpy((void *)&value, &bits, sizeof bits);
    return (float)value;
}
// mma.m16n8k16: a lane has a[0] of row lane / 4, a[1] of eight rows below, a[2] and a[3] of eight columns
// on; b of column lane / 4; and to[0], to[1] of a row, to[2], to[3] of eight rows below.
template <class T> static void multiply(float *to, const unsigned *a, unsigned b0, unsigned b1, T)
{
    int lane = threadIdx.x & 31, base = threadIdx.x & ~31u;
    unsigned *mine = warp_words[threadIdx.x];
    for (int i = 0; i < 4; i++) mine[i] = a[i];
    mine[4] = b0, mine[5] = b1;
    executor_meet(32);
    for (int c = 0; c < 4; c++) {
        int column = (lane & 3) * 2 + (c & 1);
        for (int k = 0; k < 16; k++) {
            const unsigned *from = warp_words[base + (lane & ~3) + (k >> 1 & 3)];
            const unsigned *other = warp_words[base + column * 4 + (k >> 1 & 3)];
            to[c] += element_of<T>(from[(k >> 3) * 2 + (c >> 1)], k & 1) * element_of<T>(other[4 + (k >> 3)], k & 1);
        }
    }
    executor_meet(32);
}
template <class T> static unsigned both_of(float low, float high, T)
{
    T both[2] = {T(low), T(high)};
    unsigned word;
    memcpy(&word, (const void *)both, sizeof word);
    return word;
}
static inline float power_of_two(float x) { return exp2f(x); }

// Hopper's: barriers in shared memory, the copy engine, products of four warps.  A copy or a product is
// done where it is begun.
template <int N> struct Columns;
struct TensorMap;
typedef char *Shared;
struct Barrier {
    unsigned char count, pending, phase, unused;
    int bytes; // that are still to come
};
struct Tiles { // what the executor's driver makes of a tensor map
    const char *at;
    unsigned long long size[5], stride[5]; // of which stride[0] is not used
    unsigned box[5];
    unsigned swizzle; // of the bits 4 to 6 of an address, by bits 7 to 9: a mask
};
static inline Shared dynamic_shared() { return executor_shared; }
static inline void barrier_moves(Barrier *barrier)
{
    executor_moves();
    if (barrier->pending > 0 || barrier->bytes > 0) return;
    barrier->phase ^= 1;
    barrier->pending = barrier->count;
}
static inline void barrier_begin(Shared at, int count)
{
    *(Barrier *)at = {(unsigned char)count, (unsigned char)count, 0, 0, 0};
}
static inline void barriers_begun() {}
static inline void barrier_expect(Shared at, int bytes)
{
    Barrier *barrier = (Barrier *)at;
    barrier->bytes += bytes;
    barrier->pending--;
    barrier_moves(barrier);
}
static inline void barrier_arrive(Shared at)
{
    ((Barrier *)at)->pending--;
    barrier_moves((Barrier *)at);
}
static inline void barrier_wait(Shared at, int phase)
{
    while (((Barrier *)at)->phase == phase) executor_wait();
}
static inline char *swizzled(char *at, unsigned mask)
{
    return (char *)((size_t)at ^ (((size_t)at >> 7 & mask) << 4));
}
static inline void copy_box(Shared to, const TensorMap *map, Shared at, int column, int row, int i, int j, int k)
{
    const Tiles *tiles = (const Tiles *)map;
    const char *from = tiles->at + i * tiles->stride[2] + j * tiles->stride[3] + k * tiles->stride[4];
    for (unsigned r = 0; r < tiles->box[1]; r++)
        for (unsigned c = 0; c < tiles->box[0]; c++) {
            char *target = swizzled(to + (r * tiles->box[0] + c) * 2, tiles->swizzle);
            if (row + r < tiles->size[1] && column + c < tiles->size[0])
                memcpy(target, from + (row + r) * tiles->stride[1] + (column + c) * 2, 2);
            else
                memset(target, 0, 2);
        }
    ((Barrier *)at)->bytes -= tiles->box[0] * tiles->box[1] * 2;
    barrier_moves((Barrier *)at);
}
// A matrix: its address, what is between its halves, and whether its rows have 64 bytes.
template <int PITCH> static unsigned long long matrix_at(Shared at, int next)
{
    return (unsigned long long)at | (unsigned long long)(next >> 4) << 48 | (unsigned long long)(PITCH == 64) << 63;
}
template <class T> struct Floats { // by their bits
    float at[65536];
    Floats()
    {
        for (unsigned bits = 0; bits < 65536; bits++) at[bits] = element_of<T>(bits, 0);
    }
};
template <class T> static float matrix_element(unsigned long long matrix, int row, int column)
{
    int pitch = matrix >> 63 ? 64 : 128;
    char *at = (char *)(matrix & 0xffffffffffffull) + row * pitch + column % (pitch / 2) * 2;
    static const Floats<T> floats;
    unsigned short bits;
    memcpy(&bits, swizzled(at + column / (pitch / 2) * ((matrix >> 48 & 0x7fff) << 4), pitch == 64 ? 3 : 7), 2);
    return floats.at[bits];
}
static inline void products_begin() {}
static inline void products_end() {}
template <int N> static void wait_for_products() { executor_meet(128); }
// A thread has rows and columns of the sum as for a warp's product, 16 rows for each warp.
template <int N, class T>
static void multiply(float *c, unsigned long long a, unsigned long long b, int add, Columns<N>, T)
{
    int lane = threadIdx.x & 31, top = (threadIdx.x >> 5 & 3) * 16 + (lane >> 2);
    for (int i = 0; i < N / 2 && !add; i++) c[i] = 0;
    for (int k = 0; k < 16; k++) {
        float own[2] = {matrix_element<T>(a, top, k), matrix_element<T>(a, top + 8, k)};
        for (int j = 0; j < N / 4; j++) {
            float other = matrix_element<T>(b, (j >> 1) * 8 + (lane & 3) * 2 + (j & 1), k);
            for (int u = 0; u < 2; u++) c[(j >> 1) * 4 + u * 2 + (j & 1)] += own[u] * other;
        }
    }
}
template <int N, class T> static void multiply(float *c, const unsigned *a, unsigned long long b, Columns<N>, T)
{
    int lane = threadIdx.x & 31;
    for (int i = 0; i < 4; i++) warp_words[threadIdx.x][i] = a[i];
    executor_meet(32);
    for (int k = 0; k < 16; k++) {
        const unsigned *from = warp_words[(threadIdx.x & ~3u) + (k >> 1 & 3)] + (k >> 3) * 2;
        float own[2] = {element_of<T>(from[0], k & 1), element_of<T>(from[1], k & 1)};
        for (int j = 0; j < N / 4; j++) {
            float other = matrix_element<T>(b, k, (j >> 1) * 8 + (lane & 3) * 2 + (j & 1));
            for (int u = 0; u < 2; u++) c[(j >> 1) * 4 + u * 2 + (j & 1)] += own[u] * other;
        }
    }
    executor_meet(32);
}

// A kernel called with its arguments as words of 8 bytes: a class has as many as it needs.
template <class A> static A next_argument(const unsigned long long **words)
{
    if constexpr (__is_class(A)) {
        A value;
        memcpy((void *)&value, *words, sizeof value);
        *words += sizeof value / sizeof **words;
        return value;
    } else
        return (A) * (*words)++;
}
template <class... A> struct KernelCall {
    KernelCall(void (*kernel)(A...), A... all) { kernel(all...); }
};
template <class... A> static void call_words(void (*kernel)(A...), const unsigned long long *words)
{
    KernelCall<A...>{kernel, next_argument<A>(&words)...}; // within braces: in this order
}

#endif
