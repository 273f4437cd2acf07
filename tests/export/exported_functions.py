"""Functions that are exported, what stands for their arguments, and arguments for calls."""

import numpy as np

import pycompile
from pycompile import Array, Dim

WEIGHTS = np.random.default_rng(3).random((5, 3))[:, ::-1]


def pointwise(x, y, s):
    z = x * s / y + 1
    return z, np.where(z > 2, z, -z).astype(np.float32)


def statistics(x):
    return x.sum(), x.mean(axis=1), x.std(), x.max(axis=0), [x.argmax(axis=1), x.min()]


def sweep(a, b):
    out = np.zeros(len(a))
    s = 0.0
    for i in range(len(a)):
        s = 0.5 * s + a[i] * b[i]
        out[i] = s
    return out


def filtered_in_place(a):
    for i in range(1, len(a)):
        a[i] = a[i] + 0.5 * a[i - 1]


def csr_product(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(indptr) - 1):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s
    return y


def newton(x):
    root = x.copy()
    while True:
        better = 0.5 * (root + x / root)
        if np.abs(better - root).max() < 1e-12:
            return better
        root = better


def diffused(u, steps):
    for _ in range(steps):
        v = u.copy()
        v[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[2:] + u[:-2])
        u = v
    return u


def selected(x, y):
    return x[y > 0.5] * 2.0


def masked(x, y):
    m = x > 0.5
    x[m] = x[m] ** 2 + y[m]


def nearest(points, centers):
    return ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)


def swapped(x, y):
    x[:], y[:] = y * 1.0, x[::-1] * 1.0
    return y, y[1:]


def integers(a, k):
    return a * 3 + k, a.sum(), (a % 7 == 0).sum(), np.cumsum(a, axis=1)


def weighed(x):
    return (x[:, None, :] * WEIGHTS.T).sum(axis=2)


def weighed_loss(x, w, s):
    """A derivative of numbers, of arrays, and of what is broadcast."""
    z = (x * w).sum(axis=1) * s
    return (z**2).mean(), z[:2]


def settled_loss(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = 0.5 * y[i - 1] + x[i] * x[i]
    return y.sum()


def filtered(x, response):
    spectrum = np.fft.rfft(x) * response
    return np.fft.irfft(spectrum, n=len(x)), np.fft.rfft(x, 45)[1:]


def in_order(keys, found, k):
    each = np.searchsorted(keys, found), np.searchsorted(keys, found, side="right") + 1
    return each, np.searchsorted(keys, found[0]), np.sort(k), np.sort(k, axis=0) + 1


def interpolated(x, xs, ys):
    k = np.clip(np.searchsorted(xs, x) - 1, 0, len(xs) - 2)
    t = (x - xs[k]) / (xs[k + 1] - xs[k])
    return ys[k] + t * (ys[k + 1] - ys[k]), ys[np.abs(xs).argmax()]


def gathered(x, k):
    return x[k], x[k[:, None] - 1].sum(axis=2)


def rooted(x):
    if x.min() < 0:
        raise ValueError("negative")
    return np.sqrt(x)


def rows(*shape, dtype=float):
    return Array(shape, dtype)


def _random(*shapes):
    return lambda rng, n: tuple(
        rng.random([n if k == "n" else k for k in shape]) for shape in shapes
    )


N = ("n",)
LONG = (Dim("n", min=3),)
# name: function, what stands for its arguments, arguments of a call by a length
FUNCTIONS = {
    "pointwise": (
        pointwise,
        (rows("n"), rows("n"), float),
        lambda rng, n: (rng.random(n), rng.random(n) + 1, 2.5),
    ),
    "statistics": (statistics, (rows("n", 7),), _random(("n", 7))),
    "sweep": (sweep, (rows("n"), rows("n")), _random(N, N)),
    "filtered_in_place": (filtered_in_place, (rows("n"),), _random(N)),
    "csr_product": (
        csr_product,
        (rows("m", dtype=np.int64), rows("k", dtype=np.int64), rows("k"), rows("c")),
        lambda rng, n: (
            np.arange(n + 1) * 2,
            rng.integers(0, n, 2 * n),
            rng.random(2 * n),
            rng.random(n),
        ),
    ),
    "newton": (newton, (rows(64),), lambda rng, n: (rng.random(64) * n,)),
    "diffused": (diffused, (rows(64), int), lambda rng, n: (rng.random(64), n % 50)),
    "selected": (selected, (rows("n"), rows("n")), _random(N, N)),
    "masked": (masked, (rows("n"), rows("n")), _random(N, N)),
    "nearest": (nearest, (rows("n", 2), rows(4, 2)), _random(("n", 2), (4, 2))),
    "swapped": (swapped, (Array(LONG), Array(LONG)), _random(N, N)),
    "integers": (
        integers,
        (rows("n", 3, dtype=np.int32), int),
        lambda rng, n: (rng.integers(-99, 99, (n, 3)).astype(np.int32), 3),
    ),
    "weighed": (weighed, (rows("n", 5),), _random(("n", 5))),
    "interpolated": (
        interpolated,
        (rows("n"), Array((Dim("m", min=2),)), Array((Dim("m", min=2),))),
        lambda rng, n: (rng.random(n), np.sort(rng.random(n + 1)), rng.random(n + 1)),
    ),
    "gathered": (
        gathered,
        (rows("n", 3, dtype=np.float32), rows("m", dtype=np.int32)),
        lambda rng, n: (
            rng.random((n, 3)).astype(np.float32),
            rng.integers(1 - n, n, 2 * n).astype(np.int32),
        ),
    ),
    "rooted": (rooted, (rows("n"),), _random(N)),
    "filtered": (
        filtered,
        (rows(3, 60), rows(31, dtype=complex)),
        lambda rng, n: (rng.random((3, 60)), rng.random(62).view(complex)),
    ),
    "in_order": (
        in_order,
        (rows(9), rows(20), rows(7, 50, dtype=np.int32)),
        lambda rng, n: (
            np.sort(rng.integers(0, 9, 9) / 2),
            np.append(rng.integers(-1, 10, 19) / 2, np.nan),
            rng.integers(-9, 99, (7, 50)).astype(np.int32),
        ),
    ),
    "weighed_loss": (
        pycompile.value_and_grad(weighed_loss, (0, 1, 2), has_aux=True),
        (Array((Dim("n", min=2), 4)), rows(4), float),
        lambda rng, n: (rng.random((n, 4)), rng.random(4), 1.5),
    ),
    "settled": (pycompile.grad(settled_loss), (rows("n"),), _random(N)),
}


def export_all(folder):
    """A library `all` with all of them."""
    functions = {name: (function, given) for name, (function, given, _) in FUNCTIONS.items()}
    return pycompile.export(
        pointwise, str(folder / "all"), FUNCTIONS["pointwise"][1], functions=functions
    )
