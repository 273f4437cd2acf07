"""Elementary functions that have NumPy's bits, for a library that `pycompile.export` makes.

Kernels call them by pointers (csrc/codegen/functions.c).  Some have a text of ours.  Others are
Intel's SVML, which NumPy contains: their instructions are copied from NumPy's library, with what
they call and read, as assembly for the C compiler.
"""

from __future__ import annotations

import bisect
import functools
import importlib
import re
import struct
import subprocess
from collections.abc import Iterable
from typing import Any

import numpy as np

from pycompile import _C

_POINTER = re.compile(r"\(?\*\s?(of_(?:pycompile|numpy)_\w+)\)?[(;]")


_READ = re.compile(r"^extern .*\*(of_pycompile_\w+);$", re.M)


def pointers(text: str) -> set[str]:
    """Those that the kernels' text declares."""
    return set(_POINTER.findall(text))


def pointer_of(name: str, ufunc: Any, dtype: str) -> tuple[str, int] | None:
    """The pointer of the function with the bits of a ufunc's loop, by C's name, and its vectors'
    bytes."""
    if type(ufunc) is not np.ufunc or ufunc.nin != 1:
        return None
    return _C.function_pointer(name, ufunc, dtype)


_PAIRS = {"power": "pow", "arctan2": "atan2"}


def pair_pointers(name: str, dtype: str) -> list[str]:
    """The same for functions of two vectors of 64 bytes: those that may have these bits."""
    features = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
    if name not in _PAIRS or not features.get("AVX512_SKX"):
        return []
    forms = {"f64": ("{}8_ha", "{}8"), "f32": ("{}f16",)}.get(dtype, ())
    return [f"of_numpy__svml_{form.format(_PAIRS[name])}" for form in forms]


def definitions(names: Iterable[str]) -> tuple[str, list[str]]:
    """C that defines these pointers; and those that it does not."""
    parts, missing, copied = [], [], []
    wanted = sorted(names)
    for name in wanted:
        symbol = name.removeprefix("of_numpy")
        if symbol != name:
            copied.append(symbol)
            continue
        text = _C.function_text(name)
        if text is None:
            missing.append(name)
        else:
            parts.append(text)
            wanted += sorted(set(_READ.findall(text)) - set(wanted))
    if copied:
        try:
            parts.append(_NumPy().assembly(copied))
        except (OSError, subprocess.CalledProcessError, _NotCopied):
            missing += [f"of_numpy{symbol}" for symbol in copied]
        for symbol in copied:
            parts.append(f"extern char copied{symbol}[];\nvoid *of_numpy{symbol} = copied{symbol};")
    return "\n".join(parts), missing


class _NotCopied(Exception):
    """An instruction that no text stands for, or a library without symbols."""


_LINE = re.compile(r" *([0-9a-f]+):\t(.*?)(?: *# ([0-9a-f]+) <.*>)?$")
_JUMP = re.compile(r"(call|j\w+) +([0-9a-f]+) <([^>]+)>$")
_RELOCATED = re.compile(r"([0-9a-f]+) R_")
_RELATIVE = re.compile(r"-?0x[0-9a-f]+\(%rip\)")


class _NumPy:
    """NumPy's library as a file: symbols, instructions, bytes."""

    def __init__(self) -> None:
        self.file = str(importlib.import_module("numpy._core._multiarray_umath").__file__)
        rows = [line.split() for line in _ran("nm", "-n", self.file).splitlines()]
        found = [(int(row[0], 16), row[2]) for row in rows if len(row) == 3]
        if not found:
            raise _NotCopied
        self.addresses = [address for address, _ in found]
        self.names = [name for _, name in found]

    def symbol_at(self, address: int) -> tuple[str, int, int]:
        """The symbol in front of the address: name, begin, end."""
        i = bisect.bisect_right(self.addresses, address) - 1
        begin = self.addresses[i]
        end = self.addresses[bisect.bisect_right(self.addresses, begin)]
        return self.names[self.addresses.index(begin)], begin, end

    def assembly(self, symbols: list[str]) -> str:
        """The functions as `copiedSYMBOL`, in C."""
        at = dict(zip(self.names, self.addresses))
        wanted = [at[symbol] for symbol in symbols]
        lines = [".text"]
        lines += [f".set copied{symbol}, .Lcopied{at[symbol]:x}" for symbol in symbols]
        lines += [f".globl copied{symbol}\n.hidden copied{symbol}" for symbol in symbols]
        seen: set[int] = set()
        data: set[tuple[int, int]] = set()
        for address in wanted:
            if address not in seen:
                seen.add(address)
                lines += self.function(address, wanted, data)
        lines.append(".section .rodata")
        for begin, end in sorted(data):
            lines.append(f".balign 64\n.Ldata{begin:x}:")
            lines += [f".byte {','.join(map(str, part))}" for part in self.parts(begin, end)]
        lines.append(".text")
        quoted = "\n".join(f'    "{line}\\n"' for text in lines for line in text.splitlines())
        return f"/* of Intel's SVML, as NumPy {np.__version__} contains it (BSD 3-Clause) */\n__asm__(\n{quoted});"

    def function(
        self, address: int, wanted: list[int], data: set[tuple[int, int]]
    ) -> Iterable[str]:
        """The lines of one; what it calls is wanted, too."""
        _, begin, end = self.symbol_at(address)
        shown = _ran(
            "objdump",
            "-d",
            "--no-show-raw-insn",
            f"--start-address={begin}",
            f"--stop-address={end}",
            self.file,
        )
        yield f".balign 16\n.Lcopied{begin:x}:"
        for line in shown.splitlines():
            found = _LINE.match(line)
            if found is None:
                continue
            text = found[2].strip()
            if "(bad)" in text or "*" in text:
                raise _NotCopied(line)
            yield f".Lat{found[1]}:"
            if "nop" in text or text.startswith(("data16", "xchg   %ax,%ax")):
                continue
            jump = _JUMP.match(text)
            if jump is not None:
                yield self.jump(jump, begin, end, wanted)
            elif _RELATIVE.search(text):
                yield _RELATIVE.sub(f"{self.place(int(found[3], 16), data)}(%rip)", text)
            else:
                yield text

    def jump(self, jump: re.Match[str], begin: int, end: int, wanted: list[int]) -> str:
        target = int(jump[2], 16)
        if begin <= target < end:
            return f"{jump[1]} .Lat{target:x}"
        if jump[3].endswith("@plt"):
            return f"{jump[1]} {jump[3].removesuffix('@plt')}@PLT"
        if self.symbol_at(target)[1] != target:
            raise _NotCopied(jump[0])
        wanted.append(target)
        return f"{jump[1]} .Lcopied{target:x}"

    def place(self, address: int, data: set[tuple[int, int]]) -> str:
        _, begin, end = self.symbol_at(address)
        if bisect.bisect_left(self.relocated, begin) < bisect.bisect_left(self.relocated, end):
            raise _NotCopied(f"data at {begin:x} are addresses")
        data.add((begin, end))
        return f".Ldata{begin:x}+{address - begin}"

    @functools.cached_property
    def loaded(self) -> list[tuple[int, int, int]]:
        """Of each part of the file that is loaded: address, place in the file, bytes."""
        content = self.content
        (table,) = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        rows = [struct.unpack_from("<IIQQQQ", content, table + size * i) for i in range(count)]
        return [(row[3], row[2], row[5]) for row in rows if row[0] == 1]

    @functools.cached_property
    def relocated(self) -> list[int]:
        """The addresses that the loader writes, in order."""
        rows = map(_RELOCATED.match, _ran("objdump", "-R", self.file).splitlines())
        return sorted(int(row[1], 16) for row in rows if row is not None)

    @functools.cached_property
    def content(self) -> bytes:
        with open(self.file, "rb") as file:
            return file.read()

    def parts(self, begin: int, end: int) -> Iterable[bytes]:
        """The bytes between two addresses, line by line."""
        for address, place, count in self.loaded:
            if address <= begin and end <= address + count:
                found = self.content[place + begin - address : place + end - address]
                return [found[i : i + 32] for i in range(0, len(found), 32)]
        raise _NotCopied


def _ran(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
