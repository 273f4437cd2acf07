"""What the generated tests of ufuncs run over: dtypes, values at the edges, layouts."""

from __future__ import annotations

import functools

import numpy as np

ComplexWarning = np.exceptions.ComplexWarning
DTYPES = "? b h i q B H I Q e f d F D".split()

UFUNCS = sorted(
    {
        name
        for name in dir(np)
        if isinstance(getattr(np, name), np.ufunc)
        and getattr(np, name).__name__ == name
        and getattr(np, name).signature is None
    }
)


def edge_values(dtype, size, seed=0):
    """Extremes, zeros of both signs, NaNs, infinities and subnormals among random numbers."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = [info.min, info.max, 0, 1, info.max - 1, info.min + 1, 2, 7]
        values = rng.integers(info.min, info.max, size, dtype, endpoint=True)
        values[: size // 2] = rng.integers(0, 20, size // 2)
        values[rng.permutation(size)[: len(edges)]] = edges
        return values
    if dtype.kind == "c":
        real = dtype.type(0).real.dtype
        both = np.empty(size, dtype)
        both.real, both.imag = edge_values(real, size, seed), edge_values(real, size, seed + 100)
        return both
    info = np.finfo(dtype)
    edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, info.max, info.min, info.tiny]
    edges += [info.smallest_subnormal, -info.smallest_subnormal, 1.0, -1.0, 0.5, info.eps]
    values = rng.normal(0, 3, size).astype(dtype)
    values[rng.permutation(size)[: len(edges)]] = np.array(edges, dtype)
    return values


def _unaligned(values):
    memory = np.zeros(values.nbytes + 1, np.uint8)
    array = memory[1:].view(values.dtype)
    array[...] = values
    return array


# name -> a pair of arrays made out of two flat arrays of 72 values
LAYOUTS = {
    "contiguous": lambda a, b: (a, b),
    "two-dimensional": lambda a, b: (a.reshape(6, 12), b.reshape(6, 12)),
    "strided": lambda a, b: (a[::2], b[1::2]),
    "reversed": lambda a, b: (a[::-1], b),
    "Fortran order": lambda a, b: (a.reshape(12, 6).T, b.reshape(6, 12)),
    "both Fortran order": lambda a, b: (a.reshape(12, 6).T, b.reshape(12, 6).T),
    "row and column": lambda a, b: (a[:9].reshape(9, 1), b[:8]),
    "broadcast number": lambda a, b: (a, b[3:4]),
    "zero-dimensional": lambda a, b: (a.reshape(6, 12), np.array(b[5])),
    "no elements": lambda a, b: (a[:0].reshape(0, 3), b[:3]),
    "one element": lambda a, b: (a[:1], b[:1]),
    "gaps": lambda a, b: (a.reshape(6, 12)[::2, 1:7], b.reshape(12, 6)[::4, :]),
    "unaligned": lambda a, b: (_unaligned(a), b),
    "read-only": lambda a, b: (_frozen(a), b),
    "one array twice": lambda a, b: (a, a),
    "overlapping": lambda a, b: (a[1:], a[:-1]),
}


def _frozen(array):
    array.flags.writeable = False
    return array


def operands(dtype, layout, other=None):
    """Two arrays of the layout."""
    first = edge_values(dtype, 72, 1)
    return LAYOUTS[layout](first, edge_values(other or dtype, 72, 2))


@functools.cache
def calls(dtype, other=None):
    """Lines that call each ufunc that takes arrays of this dtype."""
    lines = []
    for name in UFUNCS:
        ufunc = getattr(np, name)
        args = [np.ones(2, dtype), np.ones(2, other or dtype)][: ufunc.nin]
        if ufunc.nin > 2:
            continue
        try:
            with np.errstate(all="ignore"):
                ufunc(*args)
        except TypeError:
            continue
        lines.append(f"np.{name}({', '.join('xy'[: ufunc.nin])})")
    return lines


def fits(lines, x, y):
    """The lines that NumPy does not refuse these very arrays for (an integer's negative power)."""
    found = []
    for line in lines:
        try:
            eval(line, {"np": np, "x": x, "y": y})
        except (TypeError, ValueError, IndexError, ZeroDivisionError, RuntimeWarning):
            continue
        found.append(line)
    return found


def fits_together(lines, x, y, size):
    """The runs of `size` statements that NumPy does not refuse, each by itself."""
    found = []
    for i in range(0, len(lines), size):
        names = {"np": np, "x": x.copy(), "y": y.copy()}
        names["x"].flags.writeable, names["y"].flags.writeable = (
            x.flags.writeable,
            y.flags.writeable,
        )
        try:
            exec("\n".join(lines[i : i + size]), names)
        except (TypeError, ValueError, IndexError):
            continue
        found += lines[i : i + size]
    return found


def batches(lines, size=12):
    return [lines[i : i + size] for i in range(0, len(lines), size)]
