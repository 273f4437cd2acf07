"""The axes of batches, for containers of arrays."""

from __future__ import annotations

from typing import Any

from pycompile.derivatives import _trees


def axes_of(tree: Any, axes: Any, what: str) -> list[int | None]:
    """The axis for each leaf."""
    if axes is None or type(axes) is int:
        return [axes for _ in _trees.leaves(tree)]
    if isinstance(axes, dict) and isinstance(tree, dict) and axes.keys() == tree.keys():
        return [axis for key in tree for axis in axes_of(tree[key], axes[key], what)]
    if isinstance(axes, (list, tuple)) and isinstance(tree, (list, tuple)):
        if len(axes) == len(tree):
            pairs = zip(tree, axes, strict=True)
            return [axis for item, one in pairs for axis in axes_of(item, one, what)]
    raise TypeError(f"{what} has {axes!r} for {type(tree).__name__}")
