"""What stands for the arguments of a function that `pycompile.export` makes."""

from __future__ import annotations

import re
import types
from typing import Any

import numpy as np

from pycompile._errors import ExportError
from pycompile._precompile import Array, bind
from pycompile._shapes import Dim

_NUMBERS = (bool, int, float, complex)
_STAND_INS: dict[type, Any] = {bool: True, int: 3, float: 1.5, complex: 1 + 1j}


def of_text(said: str) -> tuple[Any, ...]:
    """What "f64[n, 3], f32, float" stands for."""
    return tuple(
        _of_word(word.strip()) for word in re.split(r",(?![^\[]*\])", said) if said.strip()
    )


def _of_word(said: str) -> Any:
    found = re.fullmatch(r"(\w+)(?:\[(.*)\])?", said)
    kind, axes = found.groups() if found else (said, None)
    width = re.fullmatch(r"([fiuc])(8|16|32|64|128)", kind)
    dtype = np.dtype(f"{width[1]}{int(width[2]) // 8}" if width else kind)
    if axes is None:
        return {each.__name__: each for each in _NUMBERS}.get(kind, dtype.type)
    lengths = [axis.strip() for axis in axes.split(",") if axis.strip()]
    return Array(tuple(int(n) if n.isdecimal() else n for n in lengths), dtype)


def _stand_in(said: Any) -> tuple[bool, Any]:
    """Is it an argument of the library, and what stands for it while capturing?"""
    if isinstance(said, type) and said in _NUMBERS:
        return True, _STAND_INS[said]
    if isinstance(said, type) and issubclass(said, np.generic):
        return True, said(_STAND_INS[float])
    if isinstance(said, np.ndarray):
        return True, said.copy("K")
    if isinstance(said, Array):  # given twice, it is two arguments
        return True, Array(said.shape, said.dtype, said.layout)
    return False, said


def _has_array(said: Any) -> bool:
    if isinstance(said, dict):
        said = list(said.values())
    return isinstance(said, Array) or (
        isinstance(said, (list, tuple)) and any(map(_has_array, said))
    )


def bound(function: types.FunctionType, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """By slot of the function: the name of what the caller passes or None; what was said; values."""
    code = function.__code__
    marks = tuple(object() for _ in args)
    places = bind(function, marks, None)
    at_mark = {id(mark): number for number, mark in enumerate(marks)}
    numbers = [at_mark.get(id(each), -1) for each in places]
    pairs = [_stand_in(said) for said in args]
    values = bind(function, tuple(value for _, value in pairs), None)
    for number, (passed, said) in enumerate(pairs):
        if (passed and number not in numbers) or (not passed and _has_array(said)):
            text = "arrays and numbers are arguments by themselves, not parts of others"
            raise ExportError(text, [(code.co_filename, code.co_firstlineno, text)])
    names = tuple(
        code.co_varnames[slot] if at >= 0 and pairs[at][0] else None
        for slot, at in enumerate(numbers)
    )
    said = tuple(args[at] if at >= 0 else None for at in numbers)
    return names, said, values


def has_names(args: tuple[Any, ...]) -> bool:
    """Has a length a name?"""
    return any(
        not isinstance(length, int)
        for said in args
        if isinstance(said, Array)
        for length in said.shape
    )


def shown(said: Any) -> str:
    if isinstance(said, (Array, np.ndarray)):
        axes = (length.name if isinstance(length, Dim) else str(length) for length in said.shape)
        return f"{said.dtype.name}[{', '.join(axes)}]"
    return f"{dtype_of(said)}, a number"


def dtype_of(said: Any) -> str:
    if isinstance(said, (Array, np.ndarray)):
        return str(said.dtype.name)
    return str(np.dtype(said).name)


def kind_of(said: Any, written: bool) -> str:
    if isinstance(said, (Array, np.ndarray)):
        return "written" if written else "array"
    return "number"


def lengths_said(arguments: list[tuple[str, Any]], bounds: list[tuple[int, ...]]) -> list[str]:
    """Of lengths with a name how much they are at least: what the library refuses otherwise."""
    least: dict[str, int] = {}
    for (_, said), own in zip(arguments, bounds):
        for length, bound in zip(said.shape if isinstance(said, Array) else (), own):
            name = getattr(length, "name", length)
            if isinstance(name, str):
                least[name] = max(bound, least.get(name, 0))
    told = ", ".join(f"{name} {n} or more" for name, n in least.items())
    return [f"Lengths: {told}"] if told else []
