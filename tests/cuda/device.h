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
