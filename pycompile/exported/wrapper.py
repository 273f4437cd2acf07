"""Calls an exported library with NumPy arrays: needs ctypes and NumPy, and no pycompile."""

import ctypes as _ctypes
import operator as _operator
import pathlib as _pathlib
import warnings as _warnings
from typing import Any as _Any

import numpy as _np


class _Tensor(_ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = [
        ("data", _ctypes.c_void_p),
        ("device_type", _ctypes.c_int32),
        ("device_id", _ctypes.c_int32),
        ("ndim", _ctypes.c_int32),
        ("code", _ctypes.c_uint8),
        ("bits", _ctypes.c_uint8),
        ("lanes", _ctypes.c_uint16),
        ("shape", _ctypes.POINTER(_ctypes.c_int64)),
        ("strides", _ctypes.POINTER(_ctypes.c_int64)),
        ("byte_offset", _ctypes.c_uint64),
    ]


_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


def _tensor(array: _np.ndarray[_Any, _Any]) -> _Tensor:
    """Describes the array, which the caller keeps alive."""
    if not array.dtype.isnative:
        raise ValueError("an array of another byte order")
    axes = _ctypes.c_int64 * max(array.ndim, 1)
    strides = [step // array.itemsize for step in array.strides]
    if any(step % array.itemsize for step in array.strides):
        raise ValueError("an array whose strides are no multiples of its elements")
    code = _CODES.get(array.dtype.kind, 3)
    made = _Tensor(array.ctypes.data, 1, 0, array.ndim, code, array.itemsize * 8, 1)
    made.shape, made.strides = axes(*array.shape), axes(*strides)
    return made


def _argument(value: _Any, name: str, dtype: str, kind: str) -> _np.ndarray[_Any, _Any]:
    """The array that is passed; what the function was not exported for is an error."""
    if kind != "number":
        if type(value) is not _np.ndarray:
            raise TypeError(f"{name} is an array of NumPy's, not {type(value).__name__}")
        if kind == "written" and not value.flags.writeable:
            raise ValueError(f"{name} is written, and is read-only")
        return value
    if dtype == "int64" and type(value) is not bool:
        return _np.array(_operator.index(value), dtype)
    plain = {"bool": bool, "float64": float, "complex128": complex}.get(dtype)
    if isinstance(value, _np.generic) and value.dtype == dtype or type(value) is plain:
        return _np.array(value, dtype)
    raise TypeError(f"{name} is a number of {dtype}, not {type(value).__name__}")


class _Function:
    """A function of the library."""

    def __init__(self, library: _Any, name: str, symbol: str, said: dict[str, _Any]) -> None:
        self.__name__ = name
        self._call = getattr(library, symbol)
        self._shapes = getattr(library, f"{symbol}_shapes")
        self._error = getattr(library, said["error"])
        self._error.restype = _ctypes.c_char_p
        self._arguments: list[tuple[str, str, str]] = said["arguments"]
        self._results: list[tuple[str, int]] = said["results"]
        self._value = said["value"]

    def __call__(self, *args: _Any) -> _Any:
        if len(args) != len(self._arguments):
            raise TypeError(f"{self.__name__} takes {len(self._arguments)} arguments")
        arrays = [_argument(value, *said) for value, said in zip(args, self._arguments)]
        count = len(self._results)
        inputs = (_Tensor * len(arrays))(*[_tensor(array) for array in arrays])
        rooms = [(_ctypes.c_int64 * max(rank, 1))() for _, rank in self._results]
        outputs = (_Tensor * count)(*[_Tensor(shape=room) for room in rooms])
        self._check(self._shapes(inputs, len(arrays), outputs, count))
        made = [
            _np.empty(tuple(room)[:rank], dtype)
            for (dtype, rank), room in zip(self._results, rooms)
        ]
        outputs = (_Tensor * count)(*[_tensor(array) for array in made])
        for each, room in zip(outputs, rooms):
            each.shape, each.strides = room, None
        self._check(self._call(inputs, len(arrays), outputs, count))
        for i, (room, (_, rank)) in enumerate(zip(rooms, self._results)):
            shape = tuple(room)[:rank]
            if shape != made[i].shape:  # lengths that only the call knows
                size = int(_np.prod(shape, dtype=_np.int64))
                made[i] = made[i].reshape(-1)[:size].reshape(shape).copy()
        return _build(self._value, args, made)

    def _check(self, status: int) -> None:
        if status == 0:
            return
        text = self._error().decode()
        if status > 0:
            _warnings.warn(text, RuntimeWarning, stacklevel=3)
        elif status == -2:
            raise MemoryError(text)
        else:
            raise (ValueError if status == -1 else RuntimeError)(text)


def _build(value: _Any, args: tuple[_Any, ...], made: list[_np.ndarray[_Any, _Any]]) -> _Any:
    """The object that the function returns, of what the library gave."""
    kind, what = value[:2]
    if kind == "result":
        form = value[2]  # 0: an array; 1: an array scalar; 2: a Python number
        return made[what] if form == 0 else made[what][()] if form == 1 else made[what].item()
    if kind == "argument":
        return args[what]
    if kind == "constant":
        return what
    if kind == "float":
        return float.fromhex(what)
    if kind == "complex":
        return complex(*map(float.fromhex, what))
    items = [_build(item, args, made) for item in what]
    return tuple(items) if kind == "tuple" else items


_functions: dict[str, _Function] = {}


def _load(
    file: str, abi: str, version: int, functions: dict[str, tuple[str, dict[str, _Any]]]
) -> None:
    """Makes the functions of the library that lies beside this file attributes of the module."""
    library = _ctypes.CDLL(str(_pathlib.Path(__file__).resolve().parent / file))
    found = getattr(library, abi)()
    if found != version:
        raise ImportError(f"{file} is of ABI {found}, and its wrapper of {version}")
    _functions.update((name, _Function(library, name, *of)) for name, of in functions.items())


def __getattr__(name: str) -> _Any:
    if name in _functions:
        return _functions[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_functions)
