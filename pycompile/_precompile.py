"""What `f.precompile` takes: example arguments, or descriptions of the arrays among them."""

from __future__ import annotations

import inspect
import operator
import types
from typing import Any

import numpy as np

from pycompile._shapes import Dim, mark_dynamic


class Array:
    """Stands for an array among the arguments of `f.precompile`.

    shape   the lengths of its axes, or one length; a name or a `Dim` for one that varies
    dtype   what `numpy.dtype` takes; float64 by default
    layout  "C", "F", or a tuple with the bytes from one element to the next along each axis, as
            `strides` has them

    An `Array` that is given twice stands for one array, two equal ones for two.

    Raises TypeError for lengths and strides that are no ints or a dtype that is none, and ValueError
    for negative lengths, for another layout, and for more bytes than there can be.
    """

    def __init__(self, shape: Any, dtype: Any = float, layout: str | tuple[int, ...] = "C") -> None:
        lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
        self.shape = tuple(
            length if isinstance(length, (str, Dim)) else operator.index(length)
            for length in lengths
        )
        self.dtype = np.dtype(dtype)
        if layout not in ("C", "F") and not isinstance(layout, tuple):
            raise ValueError(f"layout must be 'C', 'F' or a tuple of strides, not {layout!r}")
        if isinstance(layout, tuple):
            layout = tuple(operator.index(stride) for stride in layout)
            if len(layout) != len(self.shape):
                raise ValueError(f"layout has {len(layout)} strides for {len(self.shape)} axes")
        self.layout = layout
        if any(not isinstance(length, (str, Dim)) and length < 0 for length in self.shape):
            raise ValueError(f"lengths must not be negative: {self.shape}")

    def __repr__(self) -> str:
        layout = "" if self.layout == "C" else f", layout={self.layout!r}"
        return f"pycompile.Array({self.shape}, {self.dtype.name!r}{layout})"

    def make(self, named: dict[str, int]) -> np.ndarray[Any, Any]:
        """An array of zeros of that kind, whose memory is only reserved.  `named`: the lengths that
        names stand for in this call."""
        shape = tuple(_likely(length, named) for length in self.shape)
        if isinstance(self.layout, str):
            array = np.zeros(shape, self.dtype, order=self.layout)  # type: ignore[call-overload]
        else:
            reach = [(n - 1) * step for n, step in zip(shape, self.layout) if n > 0]
            low, high = (sum(way(0, end) for end in reach) for way in (min, max))
            memory = np.zeros(high - low + self.dtype.itemsize, np.uint8)
            array = np.ndarray(shape, self.dtype, memory, -low, self.layout)
        for axis, length in enumerate(self.shape):
            if isinstance(length, (str, Dim)):
                mark_dynamic(array, axis, length)
        return array  # type: ignore[no-any-return]


def _likely(length: int | str | Dim, named: dict[str, int]) -> int:
    """The length, or one that a name may stand for: another for each name."""
    if isinstance(length, int):
        return length
    dim = length if isinstance(length, Dim) else Dim(length)
    fit = (64 + 8 * len(named) + dim.divisor - 1) // dim.divisor * dim.divisor
    least = -(-dim.min // dim.divisor) * dim.divisor
    most = fit if dim.max is None else dim.max // dim.divisor * dim.divisor
    return named.setdefault(dim.name, max(least, min(fit, most)))


class _Made:
    """Of one call: the arrays, by what stands for them, and the lengths that names stand for."""

    def __init__(self) -> None:
        self.arrays: dict[int, Any] = {}
        self.named: dict[str, int] = {}


def bind(
    function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> tuple[Any, ...]:
    """The values of the function's arguments in the order of its names, `*` and `**` ones last."""
    made = _Made()
    bare = types.FunctionType(
        function.__code__, {}, function.__name__, function.__defaults__, function.__closure__
    )  # without what signature() would follow
    bare.__kwdefaults__ = function.__kwdefaults__
    bound = inspect.signature(bare).bind(
        *(_filled(value, made) for value in args),
        **{name: _filled(value, made) for name, value in (kwargs or {}).items()},
    )
    bound.apply_defaults()
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return tuple(bound.arguments[name] for name in code.co_varnames[:count])


def _filled(value: Any, made: _Made) -> Any:
    """The value with arrays in place of what stands for them."""
    if isinstance(value, Array):
        if id(value) not in made.arrays:
            made.arrays[id(value)] = value.make(made.named)
        return made.arrays[id(value)]
    if type(value) in (list, tuple):
        items = [_filled(item, made) for item in value]
        changed = any(new is not old for new, old in zip(items, value))
        return type(value)(items) if changed else value
    if type(value) is dict:
        filled = {key: _filled(item, made) for key, item in value.items()}
        return filled if any(filled[key] is not value[key] for key in value) else value
    return value
