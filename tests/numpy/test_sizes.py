"""What NumPy does differently from a size on: pieces of 128 in sums, of 8,192 where a buffer casts, SIMD
rests, BLAS beside loops of its own, einsum's pieces."""

from __future__ import annotations

import numpy as np
import pytest
from differential import check

LINE = (127, 128, 129, 8191, 8192, 8193, 16385)
PLANE = ((3, 129), (129, 3), (90, 91), (64, 129), (2, 8193), (8193, 2))
LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
}


def made(shape, dtype, layout, seed):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind in "iub":
        return LAYOUTS[layout](rng.integers(0, 2 if kind == "b" else 100, shape).astype(dtype))
    values = rng.normal(size=shape) + (1j * rng.normal(size=shape) if kind == "c" else 0)
    return LAYOUTS[layout](values.astype(dtype))


def sums(x, y):
    total = x.sum(), x.sum(dtype="f8"), np.sum(x, dtype="f4"), x.mean(), np.sum(x, where=y > 0)
    casts = (x * y.astype("f4")).sum(), x.astype("f4").sum(), (x + y).sum(axis=0)
    scans = x.cumsum(), x.cumsum(dtype="f8"), x.std(axis=0), (x > 0).sum(axis=-1)
    return *total, *casts, *scans


def elements(x, y):
    loops = np.clip(x, 1, 5), np.clip(x, y, y + 1), np.where(x > 0, x, y), x * y, x / (y + 3)
    powers = abs(x) ** 2, abs(x) ** 1.5, np.hypot(x.real, y.real), np.exp(x * 0.01)
    return *loops, *powers, x + y.astype("f4") * 2, np.minimum(x, y).max(axis=0), x.real.argmax()


def products(x, y):
    x, y = x.ravel(), y.ravel()
    return (
        np.dot(x, y),
        np.vdot(x, y),
        np.inner(x, y),
        np.einsum("i,i->", x, y),
        np.einsum("i->", x),
    )


def planes(x, y):
    return (
        x @ y.T,
        x @ y[0],
        x[:, 0] @ y,
        np.einsum("ij,ij->i", x, y),
        np.einsum("ij->j", x),
        x.sum(axis=0, keepdims=True) + x.mean(axis=1, keepdims=True),
        (x * y[0]).sum(axis=0),
        np.add.reduce(x, axis=(0, 1)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["C", "strided", "reversed"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "f2", "c16"])
@pytest.mark.parametrize("function", [sums, elements, products])
def test_lines(function, dtype, layout):
    pairs = [tuple(made(n, dtype, layout, seed) for seed in (1, 2)) for n in LINE]
    check(function, *pairs[0], also=tuple(pairs[1:]), captured=False)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "f2", "c16"])
@pytest.mark.parametrize("function", [sums, planes])
def test_planes(function, dtype, layout):
    shapes = PLANE if function is sums else PLANE[:4]
    pairs = [tuple(made(shape, dtype, layout, seed) for seed in (1, 2)) for shape in shapes]
    check(function, *pairs[0], also=tuple(pairs[1:]), captured=False)
