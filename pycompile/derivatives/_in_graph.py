"""What is followed of a derivative in a graph: the function runs on leaves of its own, and what is asked of
the nodes that this has made is followed as text.

`mark`, `leaf`, `returned`, `pullback`, `batched` and `refused` are csrc/capture/control/derivative.c's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pycompile.derivatives import _trees


def mark(leaves: list[Any]) -> Any:
    """Where the program is now."""


def returned(since: Any, leaves: list[Any]) -> Any:
    """The function has returned: the graph ends where it did what a tape has to look at."""


def leaf(value: Any) -> Any:
    """The array or number as a value of its own."""


def pullback(since: Any, leaves: list[Any], outs: list[Any], ones: list[Any]) -> Any:
    """The cotangents of the leaves, None for 0, when those of `outs` are `ones`."""


def batched(since: Any, leaves: list[Any], columns: list[Any], outs: list[Any], how: Any) -> Any:
    """For each of `outs`, which were computed from the leaves, an array of what it is for each item of
    `columns`, which are in the leaves' place; `how`: see `text_for_items`."""


def refused(why: str) -> Any:
    """No graph has the gradient."""


def on_leaves(f: Any, argnums: Any, given: Any, kwargs: Any) -> Any:
    """The function's result for leaves of its own, with a mark of before, the containers, and the leaves."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    args = list(given)
    trees, copies, leaves = [], [], []
    for number in numbers:
        if not -len(args) <= number < len(args):
            refused("argnums names an argument that is not there")
        own = [leaf(value) for _, value in _trees.leaves(args[number])]
        trees.append(args[number])
        args[number] = _trees.with_leaves(args[number], own)
        copies.append(args[number])
        leaves += own
    since = mark(leaves)
    out = f(*args, **kwargs)
    returned(since, leaves)
    mine = iter(leaves)
    for tree, copy in zip(trees, copies, strict=True):
        if not is_same(tree, copy, mine):
            refused("the function changes a container of its arguments")
    return since, trees, leaves, out


def is_same(tree: Any, copy: Any, leaves: Iterator[Any]) -> bool:
    """Is the copy of the container what it was made as?"""
    if tree is None:
        return copy is None
    if _trees.is_leaf(tree):
        return copy is next(leaves)
    if isinstance(tree, (list, tuple)):
        if len(tree) != len(copy):
            return False
        for i in range(len(tree)):  # followed for each of many: generators and zip are longer
            if not is_same(tree[i], copy[i], leaves):
                return False
        return True
    if isinstance(tree, dict):
        return list(tree) == list(copy) and all(is_same(tree[k], copy[k], leaves) for k in tree)
    was, now = vars(tree), vars(copy)
    return list(was) == list(now) and all(
        is_same(was[name], now[name], leaves)
        if _trees.holds_numbers(was[name])
        else was[name] is now[name]
        for name in was
    )


def one_of(value: Any) -> Any:
    """The cotangent 1 of the function's result."""
    if isinstance(value, float) and not isinstance(value, np.generic):
        return 1.0
    if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0 and value.dtype.kind == "f":
        return np.ones((), value.dtype) if isinstance(value, np.ndarray) else value.dtype.type(1)
    if _trees.is_on_device(value) and value.ndim == 0 and value.dtype.kind in "fV":  # V: bfloat16
        return 1.0  # the text makes it an array there
    return refused("the function returns no real number")


def gradient(ct: Any, was: Any) -> Any:
    """A cotangent as the gradient of what it is of."""
    if isinstance(was, np.ndarray):
        return np.zeros(was.shape, was.dtype) if ct is None else np.array(ct, was.dtype)
    if _trees.is_on_device(was):
        return ct if ct.dtype == was.dtype else ct.astype(was.dtype)
    if ct is None:
        return type(was)(0)
    if isinstance(was, np.generic):
        return ct[()]
    return type(was)(ct)
