"""vmap of the programs of derivative_programs.py and generated_derivatives.py, against a loop over the
items, and Jacobians against pullbacks one by one: derivatives/test_fuzz.py."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import derivative_programs
import generated_derivatives as generated
import numpy as np

import pycompile
from pycompile.derivatives import _trees

COUNT = 3


def program(number: int) -> tuple[str, list[Any]]:
    if number % 2:
        text, args = generated.program(number // 2)
    else:
        text = derivative_programs.Program(number // 2).text
        args = derivative_programs.arguments(number // 2)
    return (text if number % 8 > 5 else whole(text, args)), args


def whole(text: str, args: Sequence[Any]) -> str:
    """Without graph breaks and writes into arguments, which no batch has."""
    head, _, body = text.partition("\n")
    names = head[head.index("(") + 1 : head.rindex(")")].split(", ")
    copies = [
        f"    {name} = {name}.copy()\n"
        for name, arg in zip(names, args, strict=True)
        if isinstance(arg, np.ndarray)
    ]
    return "\n".join([head, "".join(copies) + body.replace("    eval('1')\n", "")])


def of_items(args: Sequence[Any], seed: int) -> tuple[list[Any], tuple[Any, ...]]:
    """Arguments for some items, along axes of their own, and the axes; some are the same for all."""
    rng = np.random.default_rng(seed)
    out, axes = [], []
    for arg in args:
        if not isinstance(arg, np.ndarray) or rng.random() < 0.2:
            out.append(arg)
            axes.append(None)
            continue
        axis = int(rng.integers(arg.ndim + 1))
        items = [arg, *(varied(arg, rng) for _ in range(COUNT - 1))]
        out.append(np.stack(items, axis=axis))
        axes.append(axis)
    if not any(axis is not None for axis in axes):
        return [], ()
    return out, tuple(axes)


def varied(arg: Any, rng: np.random.Generator) -> Any:
    if arg.dtype.kind == "f":
        return (arg * rng.uniform(0.9, 1.1, arg.shape)).astype(arg.dtype)
    return rng.permuted(arg) if arg.ndim else arg.copy()


def item(value: Any, axis: int | None, number: int) -> Any:
    return value if axis is None else np.moveaxis(value, axis, 0)[number, ...]


def in_a_loop(f: Any, args: Sequence[Any], axes: Sequence[Any]) -> Any:
    rows = [
        f(*(item(arg, axis, i) for arg, axis in zip(args, axes, strict=True))) for i in range(COUNT)
    ]
    leaves = [[leaf for _, leaf in _trees.leaves(row)] for row in rows]
    return [np.stack(column) for column in zip(*leaves, strict=True)]


def alike(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return np.array_equal(one, other)
    tolerance = 1e-9 if one.dtype.itemsize >= 8 else 1e-4
    return np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


def differ(f: Any, args: Sequence[Any], seed: int) -> str:
    """What is wrong; "" where nothing is, "unknown" where there is nothing to compare."""
    given, axes = of_items(args, seed)
    if not axes:
        return "unknown"
    plain, ours = copy.deepcopy(given), copy.deepcopy(given)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = in_a_loop(f, plain, axes)
        except Exception:
            return "unknown"
        found = [leaf for _, leaf in _trees.leaves(pycompile.vmap(f, in_axes=axes)(*ours))]
    if len(found) != len(expected):
        return f"{len(found)} results for {len(expected)}"
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not alike(one, other):
            return f"result {i} is {one}, and in a loop {other}"
    for i, (one, other) in enumerate(zip(ours, plain, strict=True)):
        if isinstance(one, np.ndarray) and not alike(one, other):
            return f"argument {i} is left as {one}, and by a loop as {other}"
    return ""


def jacobians_differ(f: Any, args: Sequence[Any]) -> str:
    """As `differ`, of jacrev and jacfwd by the first array of floats against pullbacks one by one."""
    active = [i for i, arg in enumerate(args) if generated.is_active(arg) and arg.size]
    if not active or args[active[0]].dtype != np.float64:
        return "unknown"
    number = active[0]

    def part(value: Any) -> Any:
        given = copy.deepcopy(list(args))
        given[number] = value
        results = [leaf for _, leaf in _trees.leaves(f(*given))]
        return [x for x in results if getattr(x, "dtype", None) == np.float64]

    x = args[number]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            out, pullback = pycompile.vjp(part, x.copy(order="K"))
        except Exception:
            return "unknown"
        rows = [rows_of(pullback, out, i) for i in range(len(out))]
        for jacobian in (pycompile.jacrev, pycompile.jacfwd):
            try:
                found = jacobian(part)(x.copy(order="K"))
            except pycompile.DerivativeError:
                continue
            for one, other, value in zip(found, rows, out, strict=True):
                other = other.reshape(np.shape(value) + x.shape)
                unknown = np.isnan(one + other)  # zero times an infinity
                if not alike(np.where(unknown, 0.0, one), np.where(unknown, 0.0, other)):
                    return f"{jacobian.__name__} is {one}, and row by row {other}"
    return ""


def rows_of(pullback: Any, out: Sequence[Any], number: int) -> Any:
    size = np.size(out[number])
    rows = []
    for i in range(size):
        given = [np.zeros(np.shape(x)) for x in out]
        given[number].flat[i] = 1
        rows.append(pullback([np.asarray(g)[()] if np.ndim(g) == 0 else g for g in given])[0])
    return np.array(rows)
