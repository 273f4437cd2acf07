"""Calls an exported library with NumPy arrays: needs ctypes and NumPy, and no pycompile."""

from __future__ import annotations

import ctypes
import pathlib
import warnings
from typing import Any

import numpy as np


class Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


def tensor(array: np.ndarray[Any, Any]) -> Tensor:
    """Describes the array, which the caller keeps alive."""
    axes = ctypes.c_int64 * max(array.ndim, 1)
    strides = [step // array.itemsize for step in array.strides]
    if any(step % array.itemsize for step in array.strides):
        raise ValueError("an array whose strides are no multiples of its elements")
    code = _CODES.get(array.dtype.kind, 3)
    made = Tensor(array.ctypes.data, 1, 0, array.ndim, code, array.itemsize * 8, 1)
    made.shape, made.strides = axes(*array.shape), axes(*strides)
    return made


class Function:
    """A function of the library."""

    def __init__(self, library: Any, name: str, symbol: str, said: dict[str, Any]) -> None:
        self.__name__ = name
        self._call = getattr(library, symbol)
        self._shapes = getattr(library, f"{symbol}_shapes")
        self._error = getattr(library, said["error"])
        self._error.restype = ctypes.c_char_p
        self._arguments: list[tuple[str, str]] = said["arguments"]
        self._results: list[tuple[str, int]] = said["results"]
        self._value = said["value"]

    def __call__(self, *args: Any) -> Any:
        if len(args) != len(self._arguments):
            raise TypeError(f"{self.__name__} takes {len(self._arguments)} arguments")
        arrays = [
            value if isinstance(value, np.ndarray) else np.array(value, dtype)
            for value, (_, dtype) in zip(args, self._arguments)
        ]
        count = len(self._results)
        inputs = (Tensor * len(arrays))(*[tensor(array) for array in arrays])
        rooms = [(ctypes.c_int64 * max(rank, 1))() for _, rank in self._results]
        outputs = (Tensor * count)(*[Tensor(shape=room) for room in rooms])
        self._check(self._shapes(inputs, len(arrays), outputs, count))
        made = [
            np.empty(tuple(room)[:rank], dtype) for (dtype, rank), room in zip(self._results, rooms)
        ]
        outputs = (Tensor * count)(*[tensor(array) for array in made])
        for each, room in zip(outputs, rooms):
            each.shape, each.strides = room, None
        self._check(self._call(inputs, len(arrays), outputs, count))
        for i, (room, (_, rank)) in enumerate(zip(rooms, self._results)):
            shape = tuple(room)[:rank]
            if shape != made[i].shape:  # lengths that only the call knows
                size = int(np.prod(shape, dtype=np.int64))
                made[i] = made[i].reshape(-1)[:size].reshape(shape).copy()
        return _build(self._value, args, made)

    def _check(self, status: int) -> None:
        if status == 0:
            return
        text = self._error().decode()
        if status > 0:
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        elif status == -2:
            raise MemoryError(text)
        else:
            raise (ValueError if status == -1 else RuntimeError)(text)


def _build(value: Any, args: tuple[Any, ...], made: list[np.ndarray[Any, Any]]) -> Any:
    """The object that the function returns, of what the library gave."""
    kind, what = value[:2]
    if kind == "result":
        form = value[2]  # 0: an array; 1: an array scalar; 2: a Python number
        return made[what] if form == 0 else made[what][()] if form == 1 else made[what].item()
    if kind == "argument":
        return args[what]
    if kind == "constant":
        return what
    items = [_build(item, args, made) for item in what]
    return tuple(items) if kind == "tuple" else items


def load(file: str, functions: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, Function]:
    """By name the functions of the library that lies beside this file."""
    library = ctypes.CDLL(str(pathlib.Path(__file__).resolve().parent / file))
    return {name: Function(library, name, *of) for name, of in functions.items()}
