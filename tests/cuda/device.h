// CUDA's words for the executor: what a kernel's text needs to be compiled as C++.
#ifndef EXECUTOR_DEVICE_H
#define EXECUTOR_DEVICE_H

#include <cmath>
#include <cstring>
#include <fstream> // before __noinline__ is a macro, which libstdc++ uses as an attribute
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std;

namespace executor {
struct Place {
    unsigned x, y;
};
} // namespace executor

extern executor::Place executor_thread, executor_block;
extern unsigned long long executor_lanes[1024];
extern "C" void executor_barrier();

#define threadIdx executor_thread
#define blockIdx executor_block
#define __grid_constant__
#define __global__ __attribute__((visibility("default")))
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ static
#define __syncthreads executor_barrier
#define __launch_bounds__(threads)

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

// All threads of a block take part.
template <class T> static inline T __shfl_xor_sync(unsigned, T value, int mask)
{
    unsigned me = threadIdx.x;
    memcpy(&executor_lanes[me], &value, sizeof value);
    executor_barrier();
    memcpy(&value, &executor_lanes[me ^ mask], sizeof value);
    executor_barrier();
    return value;
}

// What kernels of attentions do by instructions: asynchronous copies, and matrices of a warp.  All warps
// of a block take part at once.
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
    executor_barrier();
    for (int i = 0; i < 4; i++) memcpy(&to[i], matrix_row(i, lane >> 2) + (lane & 3) * 4, 4);
    executor_barrier();
}
static inline void load_transposed(unsigned *to, const void *at)
{
    int lane = threadIdx.x & 31;
    executor_lanes[threadIdx.x] = (unsigned long long)at;
    executor_barrier();
    for (int i = 0; i < 4; i++)
        for (int part = 0; part < 2; part++)
            memcpy((char *)&to[i] + part * 2, matrix_row(i, (lane & 3) * 2 + part) + (lane >> 2) * 2, 2);
    executor_barrier();
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
    executor_barrier();
    for (int c = 0; c < 4; c++) {
        int column = (lane & 3) * 2 + (c & 1);
        for (int k = 0; k < 16; k++) {
            const unsigned *from = warp_words[base + (lane & ~3) + (k >> 1 & 3)];
            const unsigned *other = warp_words[base + column * 4 + (k >> 1 & 3)];
            to[c] += element_of<T>(from[(k >> 3) * 2 + (c >> 1)], k & 1) * element_of<T>(other[4 + (k >> 3)], k & 1);
        }
    }
    executor_barrier();
}
template <class T> static unsigned both_of(float low, float high, T)
{
    T both[2] = {T(low), T(high)};
    unsigned word;
    memcpy(&word, (const void *)both, sizeof word);
    return word;
}
static inline float power_of_two(float x) { return exp2f(x); }

// A kernel called with its arguments as words of 8 bytes.
template <class... A, size_t... I>
static void call_indexed(void (*kernel)(A...), const unsigned long long *words, index_sequence<I...>)
{
    if constexpr (sizeof...(A) == 1 && (is_class_v<remove_cv_t<A>> && ...))
        (kernel(*(const A *)words), ...); // a table
    else
        kernel((A)words[I]...);
}
template <class... A> static void call_words(void (*kernel)(A...), const unsigned long long *words)
{
    call_indexed(kernel, words, index_sequence_for<A...>{});
}

#endif
