"""Twelve functions of as many kinds, what stands for their arguments, and arguments for calls."""

import numpy as np

import pycompile
from pycompile import Array

N = ("n",)
RNG = np.random.default_rng(12)
W1, B1 = RNG.standard_normal((16, 32)) / 4, RNG.standard_normal(32)
W2, B2 = RNG.standard_normal((32, 4)) / 6, RNG.standard_normal(4)


def pointwise(spot, strike, rate):
    paid = np.maximum(spot * rate - strike, 0)
    return paid, np.where(paid > 1, np.sqrt(paid), -paid)


def reductions(x):
    centred = x - x.mean(axis=0)
    return x.sum(), centred.std(axis=0), x.max(axis=1), x.argmin(axis=1), x.var()


def sweep(x, decay):
    out = np.empty_like(x)
    s = 0.0
    for i in range(len(x)):
        s = decay * s + x[i]
        out[i] = s
    return out


def csr_product(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            y[i] += data[k] * x[indices[k]]
    return y


def mlp(x):
    hidden = np.tanh(x @ W1 + B1)
    return hidden @ W2 + B2


def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.dtype.type(q.shape[-1]))
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return scores / scores.sum(axis=-1, keepdims=True) @ v


def low_pass(signal, cutoff):
    spectrum = np.fft.rfft(signal)
    frequencies = np.fft.rfftfreq(signal.shape[-1])
    spectrum[..., frequencies > cutoff] = 0
    return np.fft.irfft(spectrum, signal.shape[-1])


def kmeans_step(points, centers):
    apart = points[:, None, :] - centers[None, :, :]
    labels = (apart**2).sum(axis=2).argmin(axis=1)
    sums = np.zeros_like(centers)
    counts = np.zeros(len(centers))
    for i in range(len(points)):
        sums[labels[i]] += points[i]
        counts[labels[i]] += 1
    return sums / np.maximum(counts, 1)[:, None], labels


def settled(grid, tolerance):
    u = grid.copy()
    while True:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        if np.abs(new - u).max() < tolerance:
            return new
        u = new


def loss(w, b, v, x, y):
    return ((np.tanh(x @ w + b) @ v - y) ** 2).mean()


def selected(x, low):
    return np.sqrt(x[x > low])


def quantized(x, scale, offset):
    """float32 and int."""
    steps = np.clip(np.rint(x / scale).astype(np.int32) + offset, -128, 127)
    return steps.astype(np.int8), (steps - offset) * scale


f32 = np.float32
TWELVE = {
    "pointwise": (
        pointwise,
        (Array(N), Array(N), float),
        lambda rng, n: (rng.random(n) * 3, rng.random(n), 1.5),
    ),
    "reductions": (reductions, (Array(("n", 7)),), lambda rng, n: (rng.random((n, 7)),)),
    "sweep": (sweep, (Array(N), float), lambda rng, n: (rng.random(n), 0.9)),
    "csr_product": (
        csr_product,
        (Array(("m",), np.int64), Array(("k",), np.int64), Array(("k",)), Array(("c",))),
        lambda rng, n: (
            np.arange(n + 1) * 2,
            rng.integers(0, n, 2 * n),
            rng.random(2 * n),
            rng.random(n),
        ),
    ),
    "mlp": (mlp, (Array(("n", 16)),), lambda rng, n: (rng.random((n, 16)),)),
    "attention": (
        attention,
        (Array((2, "n", 8), f32), Array((2, "m", 8), f32), Array((2, "m", 8), f32)),
        lambda rng, n: tuple(rng.random((2, k, 8)).astype(f32) for k in (n, n + 1, n + 1)),
    ),
    "low_pass": (
        low_pass,
        (Array(("n", 240)), float),
        lambda rng, n: (rng.random((n, 240)), 0.1),
    ),
    "kmeans_step": (
        kmeans_step,
        (Array(("n", 3)), Array(("k", 3))),
        lambda rng, n: (rng.random((n, 3)), rng.random((4, 3))),
    ),
    "settled": (
        settled,
        (Array(("n", "m")), float),
        lambda rng, n: (rng.random((n, 9)), 1e-3),
    ),
    "gradient": (
        pycompile.value_and_grad(loss, (0, 1, 2)),
        (Array((5, 8)), Array(8), Array(8), Array(("n", 5)), Array(N)),
        lambda rng, n: tuple(rng.random(k) for k in ((5, 8), 8, 8, (n, 5), n)),
    ),
    "selected": (selected, (Array(N), float), lambda rng, n: (rng.random(n), 0.5)),
    "quantized": (
        quantized,
        (Array(N, f32), f32, int),
        lambda rng, n: (rng.standard_normal(n).astype(f32), f32(0.02), 3),
    ),
}
