"""The programs of derivatives.py: a function of one real number, of which the first argument is
differentiated, and its arguments.  The kinds are those of ADBench and GradBench as NumPy code (mixtures,
bundle adjustment, LSTM, k-means, an ODE, a particle, a saddle point), recurrences, filters, sweeps,
integrators, soft minima, and nets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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


# ---- of ADBench and GradBench ----


@program(
    weights((20, 9), (500, 3)),
    rng.integers(20, size=4000),
    rng.integers(500, size=4000),
    rng.normal(size=(4000, 2)),
)
def bundle_adjustment(p, camera, point, seen):
    """Cameras: a rotation by its axis, a place, focal length, distortion."""
    c, x = p[0][camera], p[1][point] + np.array([0.0, 0.0, 5.0])
    r = c[:, :3]
    angle = np.sqrt((r * r).sum(axis=1, keepdims=True) + 1e-12)
    axis = r / angle
    cos, sin = np.cos(angle), np.sin(angle)
    crossed = np.stack(
        (
            axis[:, 1] * x[:, 2] - axis[:, 2] * x[:, 1],
            axis[:, 2] * x[:, 0] - axis[:, 0] * x[:, 2],
            axis[:, 0] * x[:, 1] - axis[:, 1] * x[:, 0],
        ),
        axis=1,
    )
    dotted = (axis * x).sum(axis=1, keepdims=True)
    x = x * cos + crossed * sin + axis * dotted * (1.0 - cos) + c[:, 3:6]
    flat = x[:, :2] / x[:, 2:]
    square = (flat * flat).sum(axis=1, keepdims=True)
    projected = c[:, 6:7] * (1.0 + c[:, 7:8] * square + c[:, 8:9] * square * square) * flat
    return ((projected - seen) ** 2).sum()


@program(weights((40, 64), (64,), (16, 10)), rng.normal(size=(40, 4, 24)), rng.normal(size=(4, 10)))
def lstm(p, x, y):
    h, c = np.zeros((4, 16)), np.zeros((4, 16))
    for t in range(len(x)):
        gates = np.concatenate((x[t], h), axis=1) @ p[0] + p[1]
        i, f, o = (1.0 / (1.0 + np.exp(-gates[:, k : k + 16])) for k in (0, 16, 32))
        c = f * c + i * np.tanh(gates[:, 48:])
        h = o * np.tanh(c)
    return ((h @ p[2] - y) ** 2).mean()


@program(rng.normal(size=(16, 8)), rng.normal(size=(3000, 8)))
def k_means(centers, x):
    d = (x * x).sum(axis=1)[:, None] - 2.0 * (x @ centers.T) + (centers * centers).sum(axis=1)
    return d.min(axis=1).mean()


@program(np.array([0.8, 0.3]), 400)
def particle(p, n):
    """A charged particle between two that repel it, by Euler's steps."""
    x, y, vx, vy, h = 0.0, 1.0, 0.3, 0.0, 0.005
    for _ in range(n):
        a, b = x - p[0], y - p[1]
        c, d = x + p[0], y + p[1]
        one, other = (a * a + b * b) ** 1.5, (c * c + d * d) ** 1.5
        vx = vx + h * (a / one + c / other)
        vy = vy + h * (b / one + d / other)
        x = x + h * vx
        y = y + h * vy
    return x * x + y * y


@program(rng.normal(size=30), rng.normal(size=(30, 30)), rng.normal(size=30))
def saddle(x, a, y):
    """The other player answers by steps of gradient ascent."""
    for _ in range(40):
        y = y + 0.05 * (a.T @ x - y)
    return x @ (a @ y) + 0.5 * (x * x).sum() - 0.5 * (y * y).sum()


# ---- others ----


@program(weights((16, 32), (32,), (32, 16)), rng.normal(size=(32, 16)), 10)
def neural_ode(p, x, steps):
    def slope(x):
        return np.tanh(x @ p[0] + p[1]) @ p[2]

    for _ in range(steps):
        a = slope(x)
        b = slope(x + 0.05 * a)
        c = slope(x + 0.05 * b)
        d = slope(x + 0.1 * c)
        x = x + 0.1 / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    return (x * x).mean()


@program(rng.normal(size=(60, 3)), rng.random(60))
def bodies(x, mass):
    d = x[:, None, :] - x
    r = np.sqrt((d * d).sum(axis=2) + 0.01)
    return -(mass[:, None] * mass / r).sum()


@program(weights((64, 64), (64, 64), (64, 64)), rng.normal(size=(96, 64)))
def attention(p, x):
    q, k, v = x @ p[0], x @ p[1], x @ p[2]
    scores = q @ k.T / 8.0
    each = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (((each / each.sum(axis=1, keepdims=True)) @ v) ** 2).mean()


@program(weights((8, 8), (8, 6)), rng.integers(6, size=80))
def hidden_states(p, seen):
    """The likelihood of a hidden Markov model, forward in logarithms."""
    step = p[0] - np.log(np.exp(p[0]).sum(axis=1, keepdims=True))
    shown = p[1] - np.log(np.exp(p[1]).sum(axis=1, keepdims=True))
    a = shown[:, 0] - np.log(8.0)
    for t in range(len(seen)):
        top = a.max()
        a = np.log(np.exp(a - top) @ np.exp(step)) + top + shown[:, t % 6]
    return -np.log(np.exp(a - a.max()).sum()) - a.max()


@program(rng.normal(size=(9, 16)), rng.normal(size=(64, 500)))
def convolution(kernels, x):
    n = x.shape[1] - 8
    out = np.zeros((x.shape[0], n, 16))
    for k in range(9):
        out = out + x[:, k : k + n, None] * kernels[k]
    return (np.maximum(out, 0.0) ** 2).mean()


@program(rng.random(3000) + 3.0, rng.normal(size=3000))
def tridiagonal(diagonal, right):
    """Thomas' algorithm."""
    n = len(diagonal)
    c, d, x = np.zeros(n), np.zeros(n), np.zeros(n)
    c[0], d[0] = 1.0 / diagonal[0], right[0] / diagonal[0]
    for i in range(1, n):
        w = diagonal[i] - c[i - 1]
        c[i] = 1.0 / w
        d[i] = (right[i] - d[i - 1]) / w
    x[n - 1] = d[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return (x * x).sum()


@program(rng.random((120, 120)), 3)
def sweeps(f, times):
    """Gauss and Seidel's, in place."""
    n = f.shape[0]
    u = np.zeros((n, n))
    for _ in range(times):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + f[i, j])
    return (u * u).sum()


@program(rng.normal(size=30), rng.normal(size=(8000, 30)), rng.normal(size=8000))
def robust(w, x, y):
    r = np.abs(y - x @ w)
    return np.where(r < 1.0, 0.5 * r * r, r - 0.5).mean()


@program(weights((80, 6), (120, 6)), rng.normal(size=(80, 120)))
def factors(p, x):
    return ((p[0] @ p[1].T - x) ** 2).mean() + 0.01 * ((p[0] ** 2).sum() + (p[1] ** 2).sum())
