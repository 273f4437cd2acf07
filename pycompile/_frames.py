"""Frames of inlined functions, for effects that may look at who calls them.

A plan has no frame for a function that was followed in place.  Where something in it prints, logs or
warns, it is called through functions that look like those frames: code name, file, line, columns and
globals are the program's, so that log records, warnings and tracebacks say what they would have said.
"""

from __future__ import annotations

from itertools import islice
from types import CodeType
from typing import Any

from pycompile._C import FrameCall


def _template(inner: Any) -> Any:
    return lambda *args, **kwargs: inner(*args, **kwargs)


_CODE = _template(None).__code__


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 64:
        out.append(64 | number & 63)
        number >>= 6
    out.append(number)
    return bytes(out)


def _line_table(units: int, line: int, position: tuple[int | None, ...]) -> bytes:
    """A location table (PEP 626, Objects/locations.md) that gives every code unit one position."""
    end_line, column, end_column = position[1:]
    if end_line is None or column is None or end_column is None:
        kind, rest = 13, b"\0"
    else:
        rest = b"\0" + _varint(end_line - line) + _varint(column + 1) + _varint(end_column + 1)
        kind = 14
    table = b""
    for start in range(0, units, 8):
        table += bytes([128 | kind << 3 | min(units - start, 8) - 1]) + rest
    return table


def stand_in(code: CodeType, scope: dict[str, Any], unit: int, inner: Any) -> Any:
    """What calls `inner` with what it is given, from a frame as of `code` at code unit `unit`."""
    position = next(islice(code.co_positions(), unit, None), (None,) * 4)
    line = position[0] or code.co_firstlineno
    made = _CODE.replace(
        co_filename=code.co_filename,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=line,
        co_linetable=_line_table(len(_CODE.co_code) // 2, line, position),
    )
    return FrameCall(made, scope, inner)
