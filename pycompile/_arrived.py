"""Compiled functions that came by value, as cloudpickle sends them.

Such a function comes anew with each task: another code object, another namespace.  Plans belong to
both, so that each would be compiled for one call.  One that came before is taken in its place where
only `is` can tell them apart: equal code that writes nothing outside itself, and the same values in
all names that it reads: constants, or objects that there is only one of (modules, what is sent by
name, classes, which cloudpickle keeps apart itself).  An array is no constant: functions whose
globals have one stay as they come.
"""

from __future__ import annotations

import builtins
import collections
import dis
import functools
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pycompile._api import _compile_function


class _Kept(NamedTuple):
    function: Any  # a types.FunctionType
    options: dict[str, Any]
    compiled: Any


_MOST_CODES, _MOST_OF_A_CODE = 256, 4
_kept: collections.OrderedDict[types.CodeType, list[_Kept]] = collections.OrderedDict()


def arrive(function: types.FunctionType, options: dict[str, Any]) -> Any:
    """The compiled function for one that has been unpickled."""
    code = function.__code__
    of_code = _kept.setdefault(code, [])
    _kept.move_to_end(code)
    for kept in of_code:
        if _same_function(function, kept.function, []) and _same_items(options, kept.options, []):
            if not vars(kept.compiled):
                return kept.compiled
    compiled = _compile_function(function, options)
    of_code[:] = [*of_code[1 - _MOST_OF_A_CODE :], _Kept(function, options, compiled)]
    if len(_kept) > _MOST_CODES:
        _kept.popitem(last=False)
    return compiled


_Pairs = list[
    tuple[types.FunctionType, types.FunctionType]
]  # being compared: assumed to be the same


def _same(one: Any, other: Any, pairs: _Pairs) -> bool:
    kind = type(one)
    if one is other:
        return True
    if kind is not type(other):
        return False
    if kind in (int, float, complex, str, bytes):
        return repr(one) == repr(other)  # 0.0 is not -0.0
    if isinstance(one, np.generic):
        return not one.dtype.hasobject and one.tobytes() == other.tobytes()
    if isinstance(one, np.dtype):
        return not one.hasobject and bool(one == other)
    if kind is tuple:
        return len(one) == len(other) and all(_same(a, b, pairs) for a, b in zip(one, other))
    return kind is types.FunctionType and _same_function(one, other, pairs)


def _same_items(one: dict[str, Any], other: dict[str, Any], pairs: _Pairs) -> bool:
    return one.keys() == other.keys() and all(_same(one[key], other[key], pairs) for key in one)


_PARTS = ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__type_params__")


def _same_function(one: types.FunctionType, other: types.FunctionType, pairs: _Pairs) -> bool:
    if any(one is first and other is second for first, second in pairs):
        return True
    code = one.__code__
    pairs.append((one, other))
    return (
        code == other.__code__
        and code.co_filename == other.__code__.co_filename
        and not (vars(one) or vars(other))
        and all(_same(getattr(one, part, ()), getattr(other, part, ()), pairs) for part in _PARTS)
        and _same_items(one.__annotations__, other.__annotations__, pairs)
        and _same_items(one.__kwdefaults__ or {}, other.__kwdefaults__ or {}, pairs)
        and _reads_the_same(one, other, pairs)
    )


def _reads_the_same(one: types.FunctionType, other: types.FunctionType, pairs: _Pairs) -> bool:
    names = _names(one.__code__)
    if names is None:
        return False
    for name in names:
        for function in (one, other):  # not there yet: functions that call each other
            if name not in function.__globals__ and not hasattr(builtins, name):
                return False
        if not _same(one.__globals__.get(name), other.__globals__.get(name), pairs):
            return False
    try:
        cells = [[cell.cell_contents for cell in f.__closure__ or ()] for f in (one, other)]
    except ValueError:  # an empty one, likewise
        return False
    return all(_same(a, b, pairs) for a, b in zip(*cells))


_OPEN = {"globals", "locals", "vars", "eval", "exec", "_getframe", "currentframe"}


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)


@functools.lru_cache(_MOST_CODES)
def _names(code: types.CodeType) -> frozenset[str] | None:
    """The globals that the code reads; None where it may do more with its namespace or its cells."""
    found = set()
    for instruction in _instructions(code):
        name, action = instruction.argval, instruction.opname
        if action in ("STORE_GLOBAL", "DELETE_GLOBAL") or name in _OPEN:
            return None
        if action in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars:
            return None
        if action in ("LOAD_GLOBAL", "LOAD_NAME"):
            found.add(name)
    return frozenset(found)
