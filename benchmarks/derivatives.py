"""Times of gradients: `value_and_grad` over the plain and the compiled primal, and JAX's where it is
installed and the program has a form for it.  `make bench` ends with it.

    python -m benchmarks.derivatives [NAME ...]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("PYCOMPILE_WAIT", "1")  # times of plans, not of what comes before them

import pycompile  # noqa: E402

JAX_MOST = 60  # seconds that it may take to compile a program and run it
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
rng = np.random.default_rng(0)


def program(*args: Any) -> Callable[..., Any]:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__] = f, args
        return f

    return add


def weights(*shapes: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(rng.normal(size=shape) / max(1, shape[0]) ** 0.5 for shape in shapes)


@program(
    weights((64, 128), (128,), (128, 10), (10,)),
    rng.normal(size=(512, 64)),
    rng.integers(10, size=512),
)
def mlp(p, x, labels):
    hidden = np.tanh(x @ p[0] + p[1])
    scores = hidden @ p[2] + p[3]
    scores = scores - scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return -logs[np.arange(len(x)), labels].mean()


@program(rng.normal(size=50), rng.normal(size=(20_000, 50)), rng.integers(2, size=20_000) * 1.0)
def logistic(w, x, y):
    z = x @ w
    return (np.logaddexp(0.0, z) - y * z).mean() + 0.01 * (w * w).sum()


@program(weights((8, 4), (8,), (8, 4)), rng.normal(size=(5000, 4)))
def mixture(p, x):
    means, logits, spreads = p
    d = (x[:, None, :] - means) * np.exp(-spreads)
    each = -0.5 * (d * d).sum(axis=2) - spreads.sum(axis=1) + logits - np.logaddexp.reduce(logits)
    top = each.max(axis=1, keepdims=True)
    return -(top[:, 0] + np.log(np.exp(each - top).sum(axis=1))).mean()


@program(np.array([0.9, 0.5, 0.3]), rng.normal(size=20_000))
def kalman(p, y):
    a, q, r = p[0], p[1], p[2]
    m, v, total = 0.0, 1.0, 0.0
    for t in range(len(y)):
        m = a * m
        v = a * a * v + q * q
        s = v + r * r
        e = y[t] - m
        total += 0.5 * (np.log(s) + e * e / s)
        k = v / s
        m = m + k * e
        v = (1.0 - k) * v
    return total / len(y)


@program(np.array([1.1, 0.4, 0.4, 0.1]), 20_000)
def lotka_volterra(p, n):
    x, y, h = 1.0, 1.0, 0.001
    for _ in range(n):
        dx = p[0] * x - p[1] * x * y
        dy = p[2] * x * y - p[3] * y
        x = x + h * dx
        y = y + h * dy
    return x + y


@program(weights((32, 32), (32, 8), (32,)), rng.normal(size=(60, 8)))
def rnn(p, x):
    h = np.zeros(32)
    total = 0.0
    for t in range(len(x)):
        h = np.tanh(p[0] @ h + p[1] @ x[t] + p[2])
        total = total + (h * h).sum()
    return total


@program(rng.random((200, 200)))
def soft_alignment(cost):
    n, m = cost.shape
    d = np.full((n + 1, m + 1), 1e3)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = d[i - 1, j], d[i, j - 1], d[i - 1, j - 1]
            low = min(a, b, c)
            soft = np.exp(low - a) + np.exp(low - b) + np.exp(low - c)
            d[i, j] = cost[i - 1, j - 1] + low - np.log(soft)
    return d[n, m]


@program(rng.normal(size=100_000), 0.2)
def smoothed(x, a):
    y = np.empty(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * x[i] + (1.0 - a) * y[i - 1]
    return (y * y).sum()


@program(rng.normal(size=(256, 256)), 20)
def heat(u, steps):
    for _ in range(steps):
        u = u + 0.1 * (
            np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        )
    return (u * u).mean()


@program(rng.normal(size=(60, 60)) / 8 + 2 * np.eye(60), rng.normal(size=60))
def gaussian_process(a, y):
    k = a @ a.T + np.eye(60)
    return 0.5 * (y @ np.linalg.solve(k, y) + np.linalg.slogdet(k)[1])


def best(call: Callable[[], Any], seconds: float = 0.6) -> float:
    call()
    least, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def jax_of(f: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """JAX's time on the same source with its own array library."""
    import types

    import jax

    jax.config.update("jax_enable_x64", True)
    other = types.FunctionType(f.__code__, {**f.__globals__, "np": jax.numpy})
    static = tuple(i for i, arg in enumerate(args) if isinstance(arg, int))
    compiled = jax.jit(jax.value_and_grad(other), static_argnums=static)
    return best(lambda: jax.block_until_ready(compiled(*args)))


def jax_time(name: str) -> float | None:
    """None where JAX is not installed, has no form for the source, or does not compile it in time."""
    words = [sys.executable, "-m", "benchmarks.derivatives", "--jax", name]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=JAX_MOST, check=False)
    except subprocess.TimeoutExpired:
        return None
    return float(done.stdout) if done.returncode == 0 else None


def main() -> None:
    if sys.argv[1:2] == ["--jax"]:
        print(jax_of(*PROGRAMS[sys.argv[2]]))
        return
    names = sys.argv[1:] or list(PROGRAMS)
    print(
        f"{'':18}{'plain':>10}{'compiled':>10}{'gradient':>10}{'/plain':>8}{'/compiled':>10}{'first':>8}{'JAX':>10}"
    )
    for name in names:
        f, args = PROGRAMS[name]
        plain = best(lambda: f(*args), 0.3)
        fast = pycompile.compile(f, mode="wait")
        compiled = best(lambda: fast(*args))
        gradient = pycompile.value_and_grad(f)
        start = time.perf_counter()
        gradient(*args)
        first = time.perf_counter() - start
        both = best(lambda: gradient(*args), 2.0)
        jax = jax_time(name)
        print(
            f"{name:18}{plain * 1e3:8.3f}ms{compiled * 1e3:8.3f}ms{both * 1e3:8.3f}ms"
            f"{both / plain:8.2f}{both / compiled:10.2f}{first:7.2f}s"
            + (f"{jax * 1e3:8.3f}ms" if jax is not None else f"{'-':>10}"),
            flush=True,
        )


if __name__ == "__main__":
    main()
