"""A library that `pycompile.export` makes: what capture gives of its functions, and reasons against it."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from pycompile import _C
from pycompile import _export_arguments as _arguments
from pycompile import _export_compiler as _compiler
from pycompile import _export_functions as _functions
from pycompile import _export_loops as _loops
from pycompile import _export_reasons as _reasons
from pycompile._api import compile as _compile
from pycompile._errors import DerivativeError, DimensionError, GraphBreakError
from pycompile.derivatives._whole import Asked
from pycompile.derivatives._whole import whole as _whole


def symbol_of(library: str, key: str) -> str:
    return f"{library}_{key}" if key else library


class Exported:
    """A function of the library: its C, and what the header and the wrapper say of it."""

    def __init__(
        self, symbol: str, own: str, made: dict[str, Any], arguments: list[tuple[str, Any]]
    ) -> None:
        self.symbol, self.own = symbol, own  # own: what its names within the library begin with
        self.abi: str = made["abi"]
        self.written: list[bool] = [written for written, _ in made["arguments"]]
        self.least: list[tuple[int, ...]] = [least for _, least in made["arguments"]]
        self.tables: str = made["tables"]
        self.kernels: str = made["kernels"]
        self.careful: str | None = made.get("careful")
        self.value = _value_said(made["value"])
        self.arguments = arguments
        found = list(_results(made["value"]))
        self.results = [(dtype, rank) for dtype, rank, _ in found]
        self.shapes = [
            _arguments.named_shape(each, arguments, made["inputs"]) for *_, each in found
        ]


def _results(value: Any) -> Any:
    """(dtype, axes, lengths) of each result, in the order of the library's."""
    if value[0] == "result":
        yield value[3:6]
    elif value[0] in ("tuple", "list"):
        for item in value[1]:
            yield from _results(item)


_KEPT = (type(None), bool, int, float, complex, str, bytes)


def _odd_constants(value: Any) -> Any:
    """What is returned and has no text that stands for it."""
    kind, what = value[:2]
    if kind in ("tuple", "list"):
        for item in what:
            yield from _odd_constants(item)
    elif kind == "constant" and type(what) is tuple:
        for item in what:
            yield from _odd_constants(("constant", item))
    elif kind == "constant" and type(what) not in _KEPT:
        yield what


def _value_said(value: Any) -> Any:
    """The value as the wrapper's text has it, where repr() gives all back."""
    kind, what = value[:2]
    if kind in ("tuple", "list"):
        return kind, [_value_said(item) for item in what]
    if kind == "constant" and type(what) is tuple:
        return "tuple", [_value_said(("constant", item)) for item in what]
    if kind == "constant" and type(what) is float:
        return "float", what.hex()
    if kind == "constant" and type(what) is complex:
        return "complex", (what.real.hex(), what.imag.hex())
    return value[:5]


class Library:
    """A library that is being made."""

    def __init__(
        self,
        name: str,
        cpu: str | None,
        elementary: str | None,
        blas: str | None,
        inlines: bool,
    ) -> None:
        self.name, self.cpu, self.elementary, self.blas = name, cpu, elementary, blas
        self.calls: set[str] = set()  # of functions whose C is there for them alone
        self.inlines = inlines  # functions that have NumPy's bits on this CPU
        self.pointers: dict[str, tuple[str, int]] = {}  # to these, with a line that needs it
        self.functions = ""  # what defines them
        self.lacking = False  # has one no text?
        self.exported: dict[str, Exported] = {}
        self.reasons: list[_reasons.Reason] = []
        self.loops: dict[str, str] = {}  # C text by the name of a ufunc's loop
        self.libm = False  # is a loop the C library's function?
        self.differs: set[str] = set()  # functions that are not NumPy's to the bit

    def add_all(self, wanted: dict[str, tuple[Any, tuple[Any, ...]]]) -> None:
        for key, (function, args) in wanted.items():
            self.add(key, function, args)
        self.functions, lacking = _functions.definitions(self.pointers)
        self.lacking = bool(lacking)
        for name in lacking:
            why = f"no text has the code that {name} is; elementary='libm' takes the C library's"
            self.reasons.append((*self.pointers[name], why))

    def add(self, key: str, function: Any, args: tuple[Any, ...]) -> None:
        """Captures the function, and notes why it cannot be exported."""
        plain = function
        if isinstance(function, _C.CompiledFunction):
            plain = function.__wrapped__
        asked = getattr(function, "asked", None)
        if isinstance(asked, Asked):
            if _arguments.has_names(args) and self.captured(asked.function, args, "", "") is None:
                return  # a length decides
            plain = self.tried(lambda: _whole(asked, args), *_place(asked.function))
            if plain is None:
                return
        symbol, own = symbol_of(self.name, key), f"exported{len(self.exported)}"
        found = self.captured(plain, args, own, symbol)
        if found is None:
            return
        made, names, said = found
        first = _place(plain)
        if isinstance(made, str):
            self.reasons.append((*first, made))
            return
        self._add_reasons(made, first)
        for constant in _odd_constants(made["value"]):
            self.reasons.append((*first, f"it returns {constant!r}, which no text can stand for"))
        passed = [(name, of) for name, of in zip(names, said) if name is not None]
        for text in _arguments.known_lengths(passed, made["arguments"]):
            self.reasons.append((*first, text))
        for pointer in _functions.pointers(made.get("kernels", "")):
            self.pointers.setdefault(pointer, first)
        if self.reasons:
            return
        self.exported[key] = Exported(symbol, own, made, passed)

    def captured(self, plain: Any, args: tuple[Any, ...], own: str, symbol: str) -> Any:
        """What capture makes of the function, names and what was said by slot; None: a reason."""
        if not isinstance(plain, types.FunctionType):
            raise TypeError(f"{plain!r} is no function of Python")
        names, said, _ = _arguments.bound(plain, args)

        def capture(function: types.FunctionType) -> Any:
            values, vectors = _arguments.bound(function, args)[2], _compiler.vector_bytes(self.cpu)
            options = {"plan_always": True, "inline_functions": self.inlines}
            compiled: Any = _compile(function, fullgraph=True, mode="wait", options=options)
            return compiled._export(own, symbol, names, values, vectors)

        made = self.tried(lambda: capture(plain), *_place(plain))
        if made is None:
            more, rest = _reasons.after(plain, self.reasons[-1], capture)
            self.reasons += more
            self._add_reasons(rest, _place(plain))
        return None if made is None else (made, names, said)

    def _add_reasons(self, made: Any, first: tuple[str, int]) -> None:
        """Those of what was captured."""
        if not isinstance(made, dict):
            return
        for file, line, text in made["reasons"]:
            self.reasons.append((file, line, text) if line else (*first, text))
        for loop in made["loops"]:
            self._add_loop(*loop)

    def tried(self, capture: Callable[[], Any], file: str, line: int) -> Any:
        """What it gives; None where it cannot, which is a reason then."""
        try:
            return capture()
        except (GraphBreakError, DimensionError, DerivativeError) as error:
            self.reasons.append(_reasons.of_error(error, file, line))
            return None

    def _add_loop(
        self, name: str, taken: str, given: str, count: int, file: str, line: int
    ) -> None:
        """The C of a loop that stands for that of NumPy's ufunc."""
        if name.startswith("call_"):
            self.calls.add(name)
            if self.blas is None and "fft" not in name:
                why = "a product of matrices is the BLAS's: blas=... names the library"
                if not name.startswith("call_matmul"):
                    why = f"{name[5:]} is the LAPACK's beside a BLAS: blas=... names the library"
                self.reasons.append((file, line, why))
            return
        loop = f"loop_{name}_{taken}_{given}"
        if loop in self.loops:
            return
        pointer = (
            self.inlines
            and taken in _loops.CTYPES
            and (
                _functions.pointer_of(_loops.LIBM.get(name, name), getattr(np, name, None), taken)
                or _compiler.tried_pair(name, taken)
            )
        )
        if pointer:
            self.pointers.setdefault(pointer[0], (file, line))
            self.loops[loop] = _loops.vector_loop_text(loop, name, taken, *pointer)
            return
        text = _loops.loop_text(loop, name, taken, given)
        self.libm |= name in _loops.LIBM or text is None
        text = text or _loops.complex_text(loop, name, taken, given)
        if text is None:
            self.reasons.append((file, line, f"np.{name} of {taken} has no C form here"))
        elif name in _loops.LIBM and not _loops.has_numpys_bits(name, taken):
            self.differs.add(f"{name} of {taken}")
            if self.elementary is None:
                self.reasons.append(
                    (
                        file,
                        line,
                        f"np.{name} of {taken} is NumPy's own code for this CPU; "
                        "elementary='libm' takes the C library's, whose last bits may be others",
                    )
                )
        self.loops[loop] = text or ""

    def needs_blas(self) -> bool:
        return any("fft" not in name for name in self.calls)


def _place(function: Any) -> tuple[str, int]:
    code = getattr(function, "__code__", None)
    return ("", 0) if code is None else (code.co_filename, code.co_firstlineno)
