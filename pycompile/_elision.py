"""Operators that write into temporaries: whether NumPy's do, and steps that do as they do.  See
csrc/arrays/elision.c, which asks this at the first capture."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycompile import _C


def _elides(size: int) -> bool:
    """Whether the sum of a temporary of so many bytes lies where the temporary lay."""
    made = []

    def fresh() -> Any:
        array = np.zeros(size // 8)
        made.append(array.__array_interface__["data"][0])
        return array

    result = fresh() + 1.0
    return bool(result.__array_interface__["data"][0] == made[0])


def elision_bytes() -> int:
    """The least power of two from which NumPy's operators write into a temporary operand, in bytes; 0
    where they never do."""
    usual = 1 << 18  # of every NumPy so far; another one is found below
    if _elides(usual) and not _elides(usual // 2):
        return usual
    return next((size for size in (1 << n for n in range(5, 21)) if _elides(size)), 0)


def _like(target: Any) -> Any:
    """New memory for an array laid out like `target`, axes of one element included (np.empty_like gives
    those other strides)."""
    return np.ndarray(target.shape, target.dtype, strides=target.strides)


class Into:
    """A ufunc whose result is laid out like its first argument, as though it were written there."""

    __slots__ = ("ufunc",)

    def __init__(self, ufunc: Any) -> None:
        self.ufunc = ufunc

    def __call__(self, target: Any, *others: Any) -> Any:
        return self.ufunc(target, *others, out=_like(target))

    def __repr__(self) -> str:
        return f"Into({self.ufunc.__name__})"


class Operator:
    """An operator of two operands; `spare`: which of them are temporaries of arrays that own their
    memory.  Their shapes, on which it depends whether NumPy writes into one, are known only now."""

    __slots__ = ("function", "number", "spare", "ufunc")

    def __init__(self, number: int, function: Any, ufunc: Any, left: bool, right: bool) -> None:
        self.number, self.function, self.ufunc = number, function, ufunc
        self.spare = (left, right)

    def __call__(self, left: Any, right: Any) -> Any:
        if self.spare[0] and _C._operand_fits(self.number, left, right):
            return self.ufunc(left, right, out=_like(left))
        if self.spare[1] and _C._operand_fits(self.number, right, left):
            return self.ufunc(right, left, out=_like(right))
        return self.function(left, right)

    def __repr__(self) -> str:
        return f"Operator({self.function.__name__})"
