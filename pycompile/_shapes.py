"""Lengths that a program declares: what `dynamic={...}` and `mark_dynamic` take (docs/shapes.md).

Capture reads them as rows (name, least, most, divisor): csrc/capture/core/dims.c.
"""

from __future__ import annotations

import itertools
import operator
import types
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

Row = tuple[str, int, int, int]
_NO_MOST = (1 << 63) - 1
_MOST_AXES = 64  # NumPy's


class Dim:
    """A length with a name: axes whose lengths have one name are as long as each other.

    min       the least length, 1 or more
    max       the largest one; None for any
    divisor   what divides it

    Raises TypeError for a name that is no str or bounds that are no ints, and ValueError for an
    empty name and bounds that no length is within.
    """

    def __init__(self, name: str, min: int = 1, max: int | None = None, divisor: int = 1) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a length is a str, not {name!r}")
        if not name:
            raise ValueError("the name of a length is not empty")
        self.name = name
        self.min = operator.index(min)
        self.max = None if max is None else operator.index(max)
        self.divisor = operator.index(divisor)
        if self.min < 1 or self.divisor < 1:
            raise ValueError(f"min and divisor are 1 or more: {self!r}")
        if self.max is not None and self.max // self.divisor * self.divisor < self.min:
            raise ValueError(f"no length is as {self!r} says")
        if self.row()[1] > _NO_MOST or self.row()[2] > _NO_MOST:
            raise ValueError(f"lengths fit 64 bits, and not those of {self!r}")

    def __repr__(self) -> str:
        said = [repr(self.name), f"min={self.min}"] if self.min > 1 else [repr(self.name)]
        if self.max is not None:
            said.append(f"max={self.max}")
        if self.divisor > 1:
            said.append(f"divisor={self.divisor}")
        return f"pycompile.Dim({', '.join(said)})"

    def row(self) -> Row:
        most = _NO_MOST if self.max is None else self.max
        least = -(-self.min // self.divisor) * self.divisor
        return self.name, least, most, self.divisor


def _dim(said: str | Dim) -> Dim:
    return said if isinstance(said, Dim) else Dim(said)


def declared(dynamic: Mapping[str, Mapping[int, str | Dim]]) -> dict[str, dict[int, Row]]:
    """The rows of `dynamic={"x": {0: "batch"}}`.  Raises TypeError and ValueError."""
    made: dict[str, dict[int, Row]] = {}
    for argument, axes in dynamic.items():
        if not isinstance(argument, str) or not isinstance(axes, Mapping):
            raise TypeError(
                f"dynamic is a mapping of arguments to {{axis: name}}, not {argument!r}: {axes!r}"
            )
    rows = _rows([said for axes in dynamic.values() for said in axes.values()])
    for argument, axes in dynamic.items():
        for axis, said in axes.items():
            if not 0 <= operator.index(axis) < _MOST_AXES:
                raise ValueError(f"axes of dynamic are 0 to {_MOST_AXES - 1}, not {axis}")
            row = rows[said.name if isinstance(said, Dim) else said]
            made.setdefault(argument, {})[operator.index(axis)] = row
    return made


def require_arguments(dims: Mapping[str, Any], function: types.FunctionType) -> None:
    """Raises TypeError where `dynamic` names what is no argument."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name in dims:
        if name not in known:
            raise TypeError(f"dynamic names {name!r}, which is no argument of {function.__name__}")


def _rows(all_said: list[str | Dim]) -> dict[str, Row]:
    """By name; a Dim tells the bounds of all that have its name, wherever it stands."""
    rows: dict[str, Row] = {}
    for said in all_said:
        if isinstance(said, Dim) and rows.setdefault(said.name, said.row()) != said.row():
            raise ValueError(f"dynamic has two lengths {said.name!r} with other bounds")
    for said in all_said:
        if not isinstance(said, Dim):
            rows.setdefault(said, Dim(said).row())
    return rows


_marks: dict[int, tuple[weakref.ref[Any], dict[int, Row]]] = {}
_numbers = itertools.count(1)


def mark_dynamic(array: np.ndarray[Any, Any], axis: int, dim: str | Dim | None = None) -> None:
    """Declares that the length of an axis of this array varies: plans that are made of calls with
    it hold for all its lengths.

    dim   a name or a Dim: axes of one name are as long as each other

    Raises TypeError where `array` is no NumPy array, and ValueError for an axis that it has not.
    """
    if type(array) is not np.ndarray:
        raise TypeError(f"mark_dynamic takes a NumPy array, not {type(array).__name__!r}")
    number = operator.index(axis)
    if not -array.ndim <= number < array.ndim:
        raise ValueError(f"axis {axis} of an array of {array.ndim} dimensions")
    said = _dim(f"length {next(_numbers)}" if dim is None else dim)
    key = id(array)
    if marked(array) is None:
        _marks[key] = weakref.ref(array, lambda _: _marks.pop(key, None)), {}
    _marks[key][1][number % array.ndim] = said.row()


def marked(array: Any) -> dict[int, Row] | None:
    """The rows of the array's axes; None: it has no marks."""
    found = _marks.get(id(array))
    return found[1] if found is not None and found[0]() is array else None
