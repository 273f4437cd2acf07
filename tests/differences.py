"""`check(f, *args)`: a gradient against Richardson differences in random directions, and the value
against the plain function's bits."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pycompile
from pycompile.derivatives import _tape, _trees, _views


def moved(tree: Any, directions: Sequence[Any], h: float) -> Any:
    """The container with h times a direction added to each leaf; another one in all its parts."""
    values = [value for _, value in _trees.leaves(tree)]
    give = iter(
        [
            type(value)(value + h * d)
            if not isinstance(value, np.ndarray)
            else laid_like(value + np.asarray(h * d, value.dtype), value)
            for value, d in zip(values, directions, strict=True)
        ]
    )
    return _trees.rebuild(copy.deepcopy(tree), give.__next__)


def copied(args: Any) -> Any:
    """A deep copy, in which arrays whose elements share memory do so, too."""
    crowded = [x for _, x in _trees.leaves(list(args)) if is_crowded(x)]
    return copy.deepcopy(args, {id(x): alike(x) for x in crowded})


def is_crowded(value: Any) -> bool:
    return isinstance(value, np.ndarray) and _views.is_crowded(_tape.place(value))


def alike(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy with the same strides, none of which is negative."""
    size = value.itemsize
    steps = [(n - 1) * stride // size for n, stride in zip(value.shape, value.strides, strict=True)]
    memory = np.lib.stride_tricks.as_strided(value, (sum(steps) + 1,), (size,)).copy()
    return np.lib.stride_tricks.as_strided(memory, value.shape, value.strides)


def laid_like(new: Any, old: Any) -> Any:
    out = np.empty_like(old)
    out[...] = new
    return out


def randoms(rng: np.random.Generator, tree: Any) -> list[Any]:
    out = []
    for _, value in _trees.leaves(tree):
        d = rng.standard_normal(np.shape(value))
        if np.asarray(value).dtype.kind == "c":
            d = d + 1j * rng.standard_normal(np.shape(value))
        out.append(d if isinstance(value, np.ndarray) else d[()] if np.ndim(d) == 0 else d)
    return [d if np.ndim(d) else d.item() if hasattr(d, "item") else d for d in out]


def difference(f: Callable[[float], float], h: float = 0.05, levels: int = 9) -> float:
    """f'(0) by Ridders' extrapolation of central differences: the entry with the least error."""
    best, error = np.nan, np.inf
    rows: list[list[float]] = []
    for i in range(levels):
        row = [(f(h) - f(-h)) / (2 * h)]
        for k in range(i):
            row.append(row[k] + (row[k] - rows[-1][k]) / (2.0 ** (2 * (k + 1)) - 1))
            e = max(abs(row[-1] - row[k]), abs(row[-1] - rows[-1][k]))
            if e <= error:
                best, error = row[-1], e
        rows.append(row)
        h /= 2
    return best


def inner(gradient: Any, directions: Sequence[Any]) -> float:
    total = 0.0
    for (_, g), d in zip(_trees.leaves(gradient), directions, strict=True):
        total += float(np.sum(np.asarray(g) * d).real)
    return total


def scalar(out: Any, without: str = "") -> Any:
    """A real number that every leaf of a result has a part in, but those of these dtypes."""
    total = 0.0
    for i, (_, value) in enumerate(_trees.leaves(out)):
        value = np.asarray(value)
        if value.dtype.kind not in "fc" or value.dtype.char in without:
            continue
        weights = np.cos(1.0 + i + np.arange(value.size)).reshape(value.shape)
        if value.dtype.kind == "c":
            weights = weights * (1 - 0.5j)
        total += np.sum(value * weights).real
    return float(total)


def weights_of(out: Any, without: str = "") -> Any:
    """The cotangent with which `scalar` is the derivative of."""
    leaves = []
    for i, (_, value) in enumerate(_trees.leaves(out)):
        array = np.asarray(value)
        w = np.cos(1.0 + i + np.arange(array.size)).reshape(array.shape)
        if array.dtype.kind == "c":
            w = w * (1 - 0.5j)
        if array.dtype.char in without:
            w = np.zeros_like(w)
        leaves.append(w.astype(array.dtype) if array.dtype.kind in "fc" else value)
    return _trees.rebuild(out, iter(leaves).__next__)


def same(one: Any, other: Any) -> bool:
    a, b = list(_trees.leaves(one)), list(_trees.leaves(other))
    return len(a) == len(b) and all(
        type(x) is type(y)
        and np.asarray(x).dtype == np.asarray(y).dtype
        and np.shape(x) == np.shape(y)
        and np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for (_, x), (_, y) in zip(a, b, strict=True)
    )


def check(
    f: Callable[..., Any],
    *args: Any,
    argnums: tuple[int, ...] | None = None,
    tolerance: float = 1e-9,
    seed: int = 0,
    h: float = 0.05,
    complex_steps: bool = False,
) -> None:
    """f's vjp, with the cotangents that `scalar` weighs its results with."""
    if argnums is None:
        argnums = tuple(range(len(args)))
    rng = np.random.default_rng(seed)

    def with_(active: Sequence[Any]) -> list[Any]:
        rest = list(copied(args))
        for number, value in zip(argnums, active, strict=True):
            rest[number] = value
        return rest

    def part(*active: Any) -> Any:
        rest = list(others)
        for number, value in zip(argnums, active, strict=True):
            rest[number] = value
        return f(*rest)

    others = copied(args)
    expected = f(*copied(args))
    out, pullback = pycompile.vjp(part, *copied([args[n] for n in argnums]))
    assert same(out, expected), (out, expected)
    gradient = pullback(weights_of(out))
    for (_, g), (_, x) in zip(
        _trees.leaves(gradient), _trees.leaves(tuple(args[n] for n in argnums)), strict=True
    ):
        assert np.shape(g) == np.shape(x)
        assert np.asarray(g).dtype == np.asarray(x).dtype, (
            np.asarray(g).dtype,
            np.asarray(x).dtype,
        )
    active = tuple(copied([args[n] for n in argnums]))
    for _ in range(2):
        directions = randoms(rng, active)
        with np.errstate(all="ignore"):
            wanted = difference(lambda t: scalar(f(*with_(moved(active, directions, t)))), h)
        found = inner(gradient, directions)
        scale = max(1.0, abs(wanted))
        assert abs(found - wanted) <= tolerance * scale, (found, wanted)
