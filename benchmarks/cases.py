"""What is measured: plain NumPy functions and their arguments, by dtype and size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

try:
    from scipy.special import ndtr
except ImportError:  # then the case that uses it is left out
    ndtr = None


def chain(x, bias, residual):
    """tanh-GELU of x + bias, plus a residual."""
    y = x + bias
    return 0.5 * y * (1 + np.tanh(0.7978845608 * (y + 0.044715 * y * y * y))) + residual


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layernorm(x, gain, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def sum_all(x):
    return x.sum()


def max_all(x):
    return x.max()


def mean_all(x):
    return x.mean()


def masked_sums(x):
    """Of the elements that a mask selects."""
    low = x < 0
    return x[low].sum(), (x[~low] ** 2).mean()


def column_sum(x):
    return x.sum(axis=0)


def transpose_add(x):
    return x + x.T


def mlp(x, w1, b1, w2, b2):
    return np.maximum(x @ w1 + b1, 0) @ w2 + b2


def small_150(x, a, b, c):
    for _ in range(50):
        x = np.maximum(x * a + b, c)
    return x


def tiny(x, y):
    return x + y


def black_scholes(spot, strike, years, rate, sigma):
    root = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + sigma * sigma / 2) * years) / root
    discount = strike * np.exp(-rate * years)
    call = spot * ndtr(d1) - discount * ndtr(d1 - root)
    return call, call - spot + discount


def jacobi(u):
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def jacobi_ten(u):
    for _ in range(10):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def wave_ten(u, before, speed):
    """Ten steps of the wave equation, the grids taking turns."""
    for _ in range(10):
        bend = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        before[1:-1, 1:-1] = 2 * u[1:-1, 1:-1] - before[1:-1, 1:-1] + speed * bend
        u, before = before, u


def state(density, energy):
    """An equation of state: terms of a series, some 250 operations."""
    pressure = 0.4 * density * energy
    for k in range(1, 31):
        x = density * (1 / k) + energy * 0.01
        pressure = pressure + (x * x * (k % 3 + 1) - x / (k + 1.0)) * 0.5
        pressure = np.maximum(pressure, x * 0.001)
    return pressure


def spectral(u, k2, steps):
    """Heat by Fourier steps, with a forcing in real space."""
    for _ in range(steps):
        v = np.fft.fft2(u)
        v = v * np.exp(-0.001 * k2)
        u = np.fft.ifft2(v).real
        u = u + 0.01 * np.sin(u) * (1 - u * u)
    return u


def pairwise(a, b):
    difference = a[:, None, :] - b[None, :, :]
    return np.sqrt((difference * difference).sum(axis=-1))


def adam(params, grads, means, squares, rate, step):
    one, two = 1 - 0.9**step, 1 - 0.999**step
    for p, g, m, v in zip(params, grads, means, squares):
        m *= 0.9
        m += 0.1 * g
        v *= 0.999
        v += 0.001 * g * g
        p -= rate * (m / one) / (np.sqrt(v / two) + 1e-8)


def escape(a, b):
    x, y = np.zeros_like(a), np.zeros_like(b)
    n = np.zeros(a.shape, np.int64)
    for _ in range(20):
        inside = x * x + y * y <= 4
        t = x[inside] ** 2 - y[inside] ** 2 + a[inside]
        y[inside] = 2 * x[inside] * y[inside] + b[inside]
        x[inside] = t
        n[inside] += 1
    return n


def recurrence(x, y, a, n):
    for i in range(1, n):
        y[i] = a * y[i - 1] + x[i]


# Written by hand, one thread: what a C programmer would have, with NumPy's bits.  T is the dtype.
C_SOURCE = """
#include <math.h>
#include <stdlib.h>
#include <string.h>

void recurrence(const T *x, T *y, T a, long n) {
    for (long i = 1; i < n; i++) y[i] = a * y[i - 1] + x[i];
}

static void jacobi_into(T *v, const T *u, long n, long m) {
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < m - 1; j++)
            v[i * m + j] = (T)0.25 * (((u[(i - 1) * m + j] + u[(i + 1) * m + j])
                                       + u[i * m + j - 1]) + u[i * m + j + 1]);
}

void jacobi_ten(T *u, T *v, long n, long m) {
    memcpy(v, u, (size_t)(n * m) * sizeof(T));
    for (int k = 0; k < 10; k += 2) {
        jacobi_into(v, u, n, m);
        jacobi_into(u, v, n, m);
    }
}

void wave_ten(T *u, T *before, T speed, long n, long m) {
    for (int k = 0; k < 10; k++) {
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < m - 1; j++) {
                T *b = before + i * m + j;
                const T *c = u + i * m + j;
                T bend = (((c[-m] + c[m]) + c[-1]) + c[1]) - 4 * *c;
                *b = (2 * *c - *b) + speed * bend;
            }
        T *other = u;
        u = before;
        before = other;
    }
}

void pairwise(const T *a, const T *b, T *out, long n, long length) {
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            T sum = 0;
            for (long k = 0; k < length; k++) {
                T d = a[i * length + k] - b[j * length + k];
                sum += d * d;
            }
            out[i * n + j] = SQRT(sum);
        }
}

void state(const T *density, const T *energy, T *out, long n) {
    for (long i = 0; i < n; i++) {
        T d = density[i], e = energy[i], p = (T)0.4 * d * e;
        for (int k = 1; k < 31; k++) {
            T x = d * (T)(1.0 / k) + e * (T)0.01;
            p = p + (x * x * (T)(k % 3 + 1) - x / (T)(k + 1.0)) * (T)0.5;
            T least = x * (T)0.001;
            p = p > least ? p : least;
        }
        out[i] = p;
    }
}
"""

Arguments = Callable[[np.random.Generator, type, bool], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """A function, its arguments (random, dtype, quick), and for numexpr its expression."""

    name: str
    function: Callable[..., Any]
    arguments: Arguments
    numexpr: str | None = None


def _matrix(rows: int, columns: int, extra: tuple[Any, ...] = ()) -> Arguments:
    """A random matrix (rows / 8 when quick), then row vectors of ones."""

    def make(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
        n = rows // 8 if quick else rows
        m = n if rows == columns and quick else columns
        return (
            random.standard_normal((n, m)).astype(dtype),
            *(np.full(m, e, dtype) for e in extra),
        )

    return make


def _chain(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
    n = 512 if quick else 4096
    x, residual = random.standard_normal((2, n, n)).astype(dtype)
    return x, np.full(n, 0.1, dtype), residual


def _mlp(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
    rows = 64 if quick else 512
    x, w1, w2 = (
        random.standard_normal(s).astype(dtype) for s in ((rows, 256), (256, 512), (512, 64))
    )
    return x, w1, np.zeros(512, dtype), w2, np.zeros(64, dtype)


def _vectors(count: int, size: int) -> Arguments:
    return lambda random, dtype, quick: tuple(random.standard_normal((count, size)).astype(dtype))


def _options(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
    n = 20_000 if quick else 1_000_000
    spot, strike = random.uniform(50, 150, (2, n)).astype(dtype)
    years, sigma = random.uniform(0.1, 1, (2, n)).astype(dtype)
    return spot, strike, years, 0.03, sigma


def _pairwise(length: int) -> Arguments:
    def make(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
        n = 200 if quick else 1000
        return tuple(random.standard_normal((2, n, length)).astype(dtype))

    return make


def _adam(shapes: list[tuple[int, ...]]) -> Arguments:
    """Parameters of these shapes, a tenth as many when quick."""

    def make(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
        few = shapes[: len(shapes) // 10] if quick else shapes
        some = lambda: [random.standard_normal(s).astype(dtype) for s in few]
        return some(), some(), some(), [abs(v) for v in some()], 1e-3, 10

    return make


def _square(random: np.random.Generator, dtype: type) -> Any:
    return random.standard_normal((64, 64)).astype(dtype)


def _small_chain(random: np.random.Generator, dtype: type) -> tuple[Any, ...]:
    return _square(random, dtype), np.full(64, 0.1, dtype), _square(random, dtype)


def _plane(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
    """Points of the complex plane around the Mandelbrot set: real parts, imaginary parts."""
    n = 100 if quick else 1000
    a, b = np.meshgrid(np.linspace(-2, 0.6, n), np.linspace(-1.3, 1.3, n))
    return a.astype(dtype), b.astype(dtype)


def _grids(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
    n = 128 if quick else 2048
    u, before = random.standard_normal((2, n, n)).astype(dtype)
    return u, before, dtype(0.1)


def _waves(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
    n = 64 if quick else 512
    k = np.fft.fftfreq(n) * n
    return (
        random.standard_normal((n, n)).astype(dtype),
        (k[:, None] ** 2 + k**2).astype(dtype),
        10,
    )


def _recurrence(random: np.random.Generator, dtype: type, quick: bool) -> tuple[Any, ...]:
    n = 20_000 if quick else 1_000_000
    return random.standard_normal(n).astype(dtype), np.zeros(n, dtype), 0.99, n


CASES = [
    Case(
        "chain 4096x4096",
        chain,
        _chain,
        "0.5*(x+bias)*(1+tanh(0.7978845608*((x+bias)+0.044715*(x+bias)**3)))+residual",
    ),
    Case("softmax 4096x4096", softmax, _matrix(4096, 4096)),
    Case("softmax 4096x1024", softmax, _matrix(4096, 1024)),
    Case("layernorm 4096x4096", layernorm, _matrix(4096, 4096, (1.5, 0.1))),
    Case("layernorm 4096x1024", layernorm, _matrix(4096, 1024, (1.5, 0.1))),
    Case("softmax 100000x10", softmax, _matrix(100_000, 10)),
    Case("layernorm 100000x10", layernorm, _matrix(100_000, 10, (1.5, 0.1))),
    Case("sum of all 4096x4096", sum_all, _matrix(4096, 4096), "sum(x)"),
    Case("max of all 4096x4096", max_all, _matrix(4096, 4096)),
    Case("mean of all 4096x4096", mean_all, _matrix(4096, 4096)),
    Case("masked sums 2048x2048", masked_sums, _matrix(2048, 2048)),
    Case("column sum 4096x4096", column_sum, _matrix(4096, 4096)),
    Case("x + x.T 4096x4096", transpose_add, _matrix(4096, 4096)),
    Case("MLP 512x256x512x64", mlp, _mlp),
    Case("150 small ops", small_150, _vectors(4, 1000)),
    Case("one tiny op", tiny, _vectors(2, 8), "x + y"),
    Case("softmax 64x64", softmax, lambda random, dtype, quick: (_square(random, dtype),)),
    Case("chain 64x64", chain, lambda random, dtype, quick: _small_chain(random, dtype)),
    Case("Jacobi 2048x2048", jacobi, _matrix(2048, 2048)),
    Case("Jacobi, ten steps", jacobi_ten, _matrix(2048, 2048)),
    Case("wave, ten steps", wave_ten, _grids),
    Case("250 operations 65536", state, _vectors(2, 65_536)),
    Case("250 operations 1e6", state, _vectors(2, 1_048_576)),
    Case("spectral 512x512", spectral, _waves),
    Case("pairwise 1000x1000x3", pairwise, _pairwise(3)),
    Case("pairwise 1000x1000x16", pairwise, _pairwise(16)),
    Case("Adam, 60 arrays", adam, _adam([(64, 64), (64,), (128, 64)] * 20)),
    Case("Adam, 60 of 128x512", adam, _adam([(128, 512)] * 60)),
    Case("Adam, 300 of 1000", adam, _adam([(1000,)] * 300)),
    Case("Adam, 300 of 128x128", adam, _adam([(128, 128)] * 300)),
    Case("escape times 1000x1000", escape, _plane),
    Case("recurrence 1e6", recurrence, _recurrence),
]
if ndtr is not None:
    CASES.insert(-9, Case("Black-Scholes 1e6", black_scholes, _options))
