"""Containers of arrays and numbers: taken apart into leaves, and put together again.

A container is a list, tuple, dict, named tuple, dataclass, or an instance whose attributes hold
arrays.  In an instance other attributes are left as they are; in the others each item must be a
container or a leaf.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pycompile._errors import DerivativeError

LEAVES = (np.ndarray, np.generic, float, complex)


def is_on_device(value: Any) -> bool:
    """Is it an array of CuPy's?  (Of what is captured csrc/capture/control/derivative.c tells.)"""
    return type(value).__name__ == "ndarray" and type(value).__module__.split(".")[0] == "cupy"


def is_leaf(value: Any) -> bool:
    if isinstance(value, LEAVES) or isinstance(value, (int, bool, str, bytes)):
        return True
    return is_on_device(value)


def has_attributes(value: Any) -> bool:
    return hasattr(value, "__dict__") and not isinstance(value, type) and not callable_only(value)


def callable_only(value: Any) -> bool:
    import types

    return isinstance(
        value, (types.FunctionType, types.ModuleType, types.BuiltinFunctionType, types.MethodType)
    )


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves with their paths."""
    if tree is None:
        return
    if is_leaf(tree):
        yield path, tree
    elif isinstance(tree, (list, tuple)):
        for i, item in enumerate(tree):
            yield from leaves(item, f"{path}[{i}]")
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif has_attributes(tree):
        for name, item in vars(tree).items():
            if holds_numbers(item):
                yield from leaves(item, f"{path}.{name}")
    else:
        yield path, tree


def holds_numbers(item: Any) -> bool:
    """Does an attribute take part?  Ints, texts and functions of an instance do not."""
    if isinstance(item, np.ndarray | np.generic):
        return item.dtype.kind in "fc"
    if isinstance(item, (float, complex)) or is_on_device(item):
        return True
    if isinstance(item, (list, tuple)):
        return any(map(holds_numbers, item))
    if isinstance(item, dict):
        return any(map(holds_numbers, item.values()))
    return has_attributes(item) and any(map(holds_numbers, vars(item).values()))


def rebuild(tree: Any, give: Callable[[], Any]) -> Any:
    """The container with what `give` gives for each leaf, in order."""
    if tree is None:
        return None
    if is_leaf(tree):
        return give()
    if isinstance(tree, tuple):
        items = [rebuild(item, give) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    if isinstance(tree, list):
        return [rebuild(item, give) for item in tree]
    if isinstance(tree, dict):
        return {key: rebuild(item, give) for key, item in tree.items()}
    if has_attributes(tree):
        out = copy.copy(tree)
        for name, item in vars(tree).items():
            if holds_numbers(item):
                object.__setattr__(out, name, rebuild(item, give))
        return out
    return give()


def with_leaves(tree: Any, values: list[Any]) -> Any:
    """The container with these for its leaves."""
    rest = iter(values)
    return rebuild(tree, lambda: next(rest))


def copied(tree: Any) -> Any:
    """The container anew, with the same leaves."""
    return rebuild(tree, iter([value for _, value in leaves(tree)]).__next__)


def other(value: Any) -> Any:
    """Another object for the same array or number of NumPy's; an integer itself."""
    if not isinstance(value, np.ndarray) and is_whole(value):
        return value
    return value.view() if isinstance(value, np.ndarray) else np.array(value)[()]


FLOAT0 = np.dtype([("float0", np.void, 0)])  # JAX's, of derivatives by integers


def is_whole(value: Any) -> bool:
    """Is it an int or bool, or an array of such, as no derivative is by?"""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biu"
    return isinstance(value, int)


def check_leaf(value: Any, path: str, what: str) -> None:
    """Raises for what has no derivative; `what` has a place for the path."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc":
        # Others no graph takes, nor any array in their place once a graph has ended at them.
        if value.dtype.isnative and value.dtype.char not in "gG" and value.flags.aligned:
            return
    elif isinstance(value, (float, complex)):
        return
    kind = f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__
    hint = "make it an array of float64, say, or leave it out: of argnums, or by a lambda that gives it"
    raise DerivativeError(
        f"{what.replace('{}', path, 1)} is of {kind}, which has no derivative: {hint}"
    )
