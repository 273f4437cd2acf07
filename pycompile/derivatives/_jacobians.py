"""Jacobians, directions and batches in a graph: what is followed in place of `jacrev`, `jacfwd`, `jvp` and
`vmap`.

A direction is the transpose of the pullback, which is linear in its cotangents: of these nothing is left
in the graph.  A Jacobian is the pullback of one unit vector, or the direction of one, with an axis for
all of them; a batch is what the function does with the first item, with an axis for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pycompile.derivatives import _axes, _trees
from pycompile.derivatives._in_graph import (
    batched,
    gradient,
    leaf,
    mark,
    on_leaves,
    pullback,
    refused,
    returned,
)

_UNITS_BYTES = 1 << 26  # of unit vectors in a graph


def filled(value: Any, number: float) -> Any:
    """A number, or an array of such, of the kind of the value."""
    if isinstance(value, np.ndarray):
        return np.full(value.shape, number, value.dtype)
    return value.dtype.type(number) if isinstance(value, np.generic) else float(number)


def numbers(tree: Any) -> list[Any]:
    """The leaves, all of which have a derivative."""
    values = [value for _, value in _trees.leaves(tree)]
    for value in values:
        is_one = isinstance(value, float)
        if isinstance(value, (np.ndarray, np.generic)):
            is_one = value.dtype.kind in "fc"
        if not is_one:
            refused("a result that has no derivative, or is on a device")
    return values


def units(value: Any) -> Any:
    """All unit vectors of an array, each of its shape."""
    count = value.size
    if count * count * value.dtype.itemsize > _UNITS_BYTES:
        refused("a Jacobian that is made part by part")
    return np.eye(count, dtype=value.dtype).reshape((count, *value.shape))


def known(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def spread(values: list[Any], found: list[Any]) -> list[Any]:
    """`found` at the places of those that are not None."""
    rest = iter(found)
    return [None if value is None else next(rest) for value in values]


def block(part: Any, value: Any, of: Any) -> Any:
    """A part of a Jacobian, as an array that is nobody else's."""
    shape, dtype = np.shape(value) + np.shape(of), np.asarray(of).dtype
    return np.zeros(shape, dtype) if part is None else np.array(np.reshape(part, shape), dtype)


def in_trees(trees: list[Any], parts: list[Any], argnums: Any) -> Any:
    rest = iter(parts)
    out = []
    for tree in trees:
        out.append(_trees.with_leaves(tree, [next(rest) for _ in _trees.leaves(tree)]))
    return out[0] if isinstance(argnums, int) else tuple(out)


# No comprehension here reads a variable of the function: it would be a cell, which a mark has seen, on
# CPython 3.11, where a comprehension is a function.


def by_rows(f: Any, argnums: Any, args: Any, kwargs: Any) -> Any:
    since, trees, leaves, out = on_leaves(f, argnums, args, kwargs)
    with np.errstate(all="ignore"):
        blocks = []
        for value in numbers(out):
            parts = []
            for row, of in zip(rows_of(since, leaves, value), leaves, strict=True):
                parts.append(block(row, value, of))
            blocks.append(in_trees(trees, parts, argnums))
    return _trees.with_leaves(out, blocks)


def rows_of(since: Any, leaves: list[Any], value: Any) -> Any:
    if np.size(value) == 1:
        return pullback(since, leaves, [value], [filled(value, 1.0)])
    if np.size(value) == 0:
        refused("a Jacobian of nothing")
    all_units = units(value)
    unit = leaf(filled(value, 0.7))
    before = mark([unit])
    cts = pullback(since, leaves, [value], [unit])
    rows = batched(before, [unit], [all_units], known(cts), (np.size(value), False))
    return spread(cts, rows)


def transposable(since: Any, leaves: list[Any], outs: list[Any]) -> Any:
    """The pullback of cotangents that stand for any, with a mark of before."""
    seeds = [leaf(filled(value, 0.7)) for value in outs]
    before = mark(seeds)
    return before, seeds, pullback(since, leaves, outs, seeds)


def by_columns(f: Any, argnums: Any, args: Any, kwargs: Any) -> Any:
    since, trees, leaves, out = on_leaves(f, argnums, args, kwargs)
    with np.errstate(all="ignore"):
        outs = numbers(out)
        before, seeds, cts = transposable(since, leaves, outs)
        columns, blocks = [], []
        for ct in cts:
            columns.append(columns_of(before, seeds, ct))
        for i, value in enumerate(outs):
            parts = []
            for each, one in zip(columns, leaves, strict=True):
                parts.append(column_block(each[i], value, one))
            blocks.append(in_trees(trees, parts, argnums))
    return _trees.with_leaves(out, blocks)


def column_block(part: Any, value: Any, of: Any) -> Any:
    shape, dtype = np.shape(value) + np.shape(of), np.asarray(value).dtype
    if part is None:
        return np.zeros(shape, dtype)
    if np.size(of) > 1:
        part = np.moveaxis(part, 0, -1)
    return np.array(part, dtype, order="C").reshape(shape)


def columns_of(before: Any, seeds: list[Any], ct: Any) -> Any:
    """For each result its derivatives in the directions of a leaf's unit vectors."""
    return [None] * len(seeds) if ct is None else rows_of(before, seeds, ct)


def in_direction(f: Any, primals: Any, tangents: Any) -> Any:
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        refused("primals and tangents that are no tuples")
    if len(primals) != len(tangents):
        refused("as many tangents as primals are needed")
    since, _, leaves, out = on_leaves(f, tuple(range(len(primals))), primals, {})
    with np.errstate(all="ignore"):
        outs = numbers(out)
        before, seeds, cts = transposable(since, leaves, outs)
        given = [value for tangent in tangents for _, value in _trees.leaves(tangent)]
        if [np.shape(x) for x in given] != [np.shape(x) for x in leaves]:
            refused("tangents of other shapes than the primals")
        ones = [
            typed(tangent, ct) for tangent, ct in zip(given, cts, strict=True) if ct is not None
        ]
        found = pullback(before, seeds, known(cts), ones)
        values = [gradient(ct, value) for ct, value in zip(found, outs, strict=True)]
    return out, _trees.with_leaves(out, values)


def typed(tangent: Any, ct: Any) -> Any:
    """A tangent in the dtype of what it is of."""
    dtype = np.asarray(ct).dtype
    if isinstance(tangent, np.ndarray):
        return tangent if tangent.dtype == dtype else tangent.astype(dtype)
    return dtype.type(tangent)


def of_items(f: Any, in_axes: Any, out_axes: Any, args: Any) -> Any:
    """Of arguments that `_vmap.py` has found to be arrays of one length along their axes."""
    axes = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
    items, leaves, columns = [], [], []
    for arg, axis in zip(args, axes, strict=True):
        values = [value for _, value in _trees.leaves(arg)]
        own = []
        for value, at in zip(values, _axes.axes_of(arg, axis, "in_axes"), strict=True):
            if at is not None:
                column = np.moveaxis(value, at, 0)
                value = leaf(column[0, ...])
                leaves.append(value)
                columns.append(column)
            own.append(value)
        items.append(_trees.with_leaves(arg, own))
    if len({len(column) for column in columns}) != 1 or len(columns[0]) < 2:
        refused("a batch of one item, or of lengths that differ")
    since = mark(leaves)
    out = f(*items)
    returned(since, leaves)
    outs = numbers(out)
    found = batched(since, leaves, columns, outs, (len(columns[0]), True))
    out_axes = _axes.axes_of(out, out_axes, "out_axes")
    joined = [
        np.array(np.moveaxis(column, 0, axis), order="C")
        for column, axis in zip(found, out_axes, strict=True)
    ]
    return _trees.with_leaves(out, joined)
