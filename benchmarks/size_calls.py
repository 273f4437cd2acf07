"""One-line functions of arrays of any lengths for benchmarks.sizes: each call of tests/numpy_calls.py,
and what programs do with lengths.  `x` and `y` are of n by m, `p` of n by n, `t` of n by 3 by m, the
others of n; `n` and `m` are ints."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
import numpy_calls

WITH_LENGTHS = """
x[::n // 3 + 1]
x[:, ::m // 4 + 1] * 2
v[::-(n // 3 + 1)] + 1
v[n // 2::2] - v[n // 2::2].mean()
v * 2 if n & (n - 1) == 0 else v + 1
v * 2 if len(v) & 1 else v + 1
v * (n | 1) + (n ^ 3) + (n >> 1)
np.zeros(1 << (n.bit_length())) + 1
v[:n & ~3].reshape(-1, 4).sum(axis=1)
np.pad(v, (0, -n % 8)).reshape(-1, 8).sum(axis=0)
v * -n + w
v[-n // 2:] * 2
v[-(n // 2):] * 2
np.roll(v, -n // 2) + v
v * (n / 3) + 1 / (n + 1)
v * (0.5 * len(v)) + n ** 0.5
np.full(n, n / 2) * v
np.zeros((n, n)) + v
np.arange(n - m) * 2
np.arange(-n, m) * 2
np.add.reduce([v, w]) * 2
sum([v, w, v]) * n
(v if n > m else w) + 1
x.T * 2 + 1
x.T.copy() + 1
(x.T + 1).sum(axis=0)
x.sum(axis=0) + x.max(axis=0)
x.mean(axis=0, keepdims=True) - x
x.T.reshape(-1) * 2
x.T.ravel() * 2
x.reshape(m, n) @ x
x @ x.T
x.T @ x + 1
np.tril(p) + np.triu(p, 1)
np.trace(p) * 2
np.diag(v) + p
np.diag(p) * 2
np.diagonal(p) + v
p[np.arange(n), np.arange(n)] * 2
np.eye(n) * v + p
np.tri(n, m) + x
np.hsplit(x[:, :m // 2 * 2], 2)[0] * 2
np.array_split(v, 3)[1] * 2
np.array_split(v, 3)[2].sum()
[a * 2 for a in np.array_split(v, 4)][3]
np.sum([a.sum() for a in np.split(v[:n // 3 * 3], 3)])
np.lib.stride_tricks.sliding_window_view(v, 3).sum(axis=1) * 2
np.lib.stride_tricks.sliding_window_view(v, 3) @ np.ones(3)
np.lib.stride_tricks.sliding_window_view(x, (2, 2)).mean(axis=(2, 3))
np.lib.stride_tricks.as_strided(v, (max(n - 1, 0), 2), (8, 8)) * 2
v[i] * 2
v[np.minimum(i, n - 1)] + v[-1]
v[v > v.mean()] * 2
np.where(b)[0] * 2
np.outer(v, w) + p
v[:, None] * w[None, :] + p
v[:, None, None] * t
t.transpose(0, 2, 1).reshape(n * m, 3) * 2
t.transpose(2, 0, 1).reshape(m, -1) + 1
t.swapaxes(0, 2).sum(axis=1)
t.sum(axis=(0, 2)) * 2
t.sum(axis=(0, 1)) * 2
np.moveaxis(t, 1, 0)[0] + x
np.einsum("ij,ij->i", x, y) * 2
np.einsum("ij,kj->ik", x, y) * 2
np.cumsum(x, axis=0) * 2
np.diff(x, axis=0) * 2
np.linalg.norm(x, axis=1) * 2
np.concatenate([v, w, v[:1]]) * 2
np.stack([v, w]).T * 2
np.vstack([x, y])[::2] * 2
np.tile(v, (3, 1)) * 2
np.repeat(v, 3) * 2
np.kron(v, w) * 2
np.meshgrid(v, w)[0] * 2
np.flip(x, 0) * 2
np.rot90(x) * 2
x[:, 0] * 2 if m else v
x[0] * x[-1] if n else x.sum(axis=0)
x[n // 2] * 2 if n else x.sum(axis=0)
x[n // 2, m // 2] * x if n and m else x
x[:, m // 2:] * 2 + x[:, m - m // 2 - m % 2:m] if m % 2 == 0 else x
np.broadcast_to(v[:, None], (n, m)) * x
x.flatten()[::m + 1] * 2
p.ravel()[::n + 1] * 2
p.flat[::n + 1] * 2
np.bincount(i, minlength=n) * 2
np.histogram(v, n + 1)[0] * 2
np.interp(v, s, w) * 2
np.searchsorted(s, v) * 2
np.sort(v)[n // 2:] * 2
np.argsort(v)[:n // 2] * 2
np.partition(v, n // 2)[: n // 2 + 1] * 2 if n else v
np.percentile(v, 30) * v if n else v
np.convolve(v, [1, 2, 1], "same") * 2 if n else v
np.correlate(v, w, "full") * 2 if n else v
np.fft.rfft(v).real * 2 if n else v
np.fft.irfft(np.fft.rfft(v), n) * 2 if n > 1 else v
np.linalg.solve(p + n * np.eye(n), v) * 2
np.linalg.inv(p + n * np.eye(n)) @ v
"""


# Of a size that is a power of a length, or of objects.
LEFT_OUT = {"histogramdd", "frompyfunc"}


def arguments(rng: np.random.Generator, n: int, m: int) -> dict[str, Any]:
    x, p = rng.uniform(0.5, 4.0, (n, m)), rng.uniform(0.5, 4.0, (n, n))
    return {
        "x": x,
        "y": rng.uniform(0.5, 4.0, (n, m)),
        "v": rng.uniform(0.1, 0.9, n),
        "w": rng.uniform(0.1, 0.9, n),
        "s": np.sort(rng.uniform(0, 9, n)),
        "p": p @ p.T + 4 * np.eye(n),
        "i": rng.integers(0, max(n, 1), n),
        "j": rng.integers(1, 4, n),
        "b": rng.random(n) < 0.5,
        "d": rng.random((n, m)) < 0.5,
        "c": rng.uniform(0.5, 4.0, n) + 1j * rng.uniform(0.5, 4.0, n),
        "h": rng.integers(0, 256, n).astype(np.uint8),
        "t": rng.uniform(0.5, 4.0, (n, 3, m)),
        "e": np.float64(2.5),
        "k": np.int64(6),
        "q": np.complex128(1 + 2j),
        "rng": np.random.default_rng(11),
        "rs": np.random.RandomState(11),
        "n": n,
        "m": m,
    }


def function(call: str) -> Callable[..., Any]:
    names = ", ".join(arguments(np.random.default_rng(0), 2, 2))
    space: dict[str, Any] = {"np": np}
    exec(compile(f"def call({names}):\n    return {call}\n", "<call>", "exec"), space)
    return space["call"]


def make(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return tuple(arguments(rng, n, m).values())


def cases() -> dict[str, tuple[Callable[..., Any], Callable[..., tuple[Any, ...]]]]:
    calls = WITH_LENGTHS.strip().splitlines()
    for section in numpy_calls.SECTIONS.values():
        calls += [
            call
            for name, call in section.items()
            if numpy_calls.exists(name) and name not in LEFT_OUT
        ]
    return {call: (function(call), make) for call in dict.fromkeys(calls)}
