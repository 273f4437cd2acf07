"""What stands for the arguments of a function that `pycompile.export` makes."""

from __future__ import annotations

import ast
import re
import types
from typing import Any

import numpy as np

from pycompile._errors import ExportError
from pycompile._precompile import Array, bind

_NUMBERS = (bool, int, float, complex)
_STAND_INS: dict[type, Any] = {bool: True, int: 3, float: 1.5, complex: 1 + 1j}


def of_text(said: str) -> tuple[Any, ...]:
    """What "f64[n, 3], f32, float, 2.5" stands for."""
    return tuple(
        _of_word(word.strip()) for word in re.split(r",(?![^\[]*\])", said) if said.strip()
    )


def _of_word(said: str) -> Any:
    try:
        return ast.literal_eval(said)
    except (SyntaxError, ValueError):  # it is no value
        pass
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
    for each in args:
        _check_layout(each)
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


def known_lengths(passed: list[tuple[str, Any]], found: list[tuple[bool, tuple[int, ...]]]) -> Any:
    """Of lengths that have a name, and are numbers in what was captured: why there is no library."""
    for (argument, said), (_, least) in zip(passed, found):
        names = said.shape if isinstance(said, Array) else ()
        for name, length in zip(names, least):
            if not isinstance(name, int) and length < 0:
                name = getattr(name, "name", name)
                yield f"the length {name!r} of argument {argument!r} has to be a number: give it"


def _check_layout(said: Any) -> None:
    """Strides are of one length alone; orders are of all."""
    if isinstance(said, Array) and has_names((said,)) and not isinstance(said.layout, str):
        text = f"the layout {said.layout} with lengths that have names: 'C' and 'F' go with these"
        raise ExportError(text, [("", 0, text)])


def shown(said: Any, written: bool) -> str:
    """For the header."""
    if isinstance(said, (Array, np.ndarray)):
        axes = ", ".join(str(getattr(length, "name", length)) for length in said.shape)
        return f"{said.dtype.name}[{axes}], {_order_of(said)}{', written' if written else ''}"
    return f"{dtype_of(said)}, a number"


def _order_of(said: Any) -> str:
    array = said if isinstance(said, np.ndarray) else said.make({})
    if array.flags.c_contiguous:
        return "C order"
    if array.flags.f_contiguous:
        return "Fortran order"
    return f"strides {', '.join(str(step // array.itemsize) for step in array.strides)}"


def named_shape(text: str, arguments: list[tuple[str, Any]], inputs: dict[int, int]) -> str:
    """The lengths of a result: those of arguments by their names, or as x.shape[0]."""

    def name(found: re.Match[str]) -> str:
        number = inputs.get(int(found[1]), -1)
        if number < 0:
            return "?"
        argument, said = arguments[number]
        if not isinstance(said, (Array, np.ndarray)):
            return argument
        length = said.shape[int(found[2])]
        named = getattr(length, "name", length)
        return str(named) if isinstance(said, Array) else f"{argument}.shape[{found[2]}]"

    text = re.sub(r"\bn\d+\b", "?", re.sub(r"\bd(\d+)_(\d+)\b", name, text))
    text = text.replace(" + -", " - ")
    return re.sub(r"(^|, )\(([^()]*)\)(?=, |$)", r"\1\2", text)


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
