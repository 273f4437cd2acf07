"""`pycompile.export`: functions as a library that needs neither Python nor NumPy (docs/export.md).

Capture, passes and lowering are those of every compiled function; csrc/export/ writes tables of what
a call checks and does, and this file makes the library of them: sources, the C compiler, a header,
files for pkg-config and CMake, and a wrapper for ctypes.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib
import importlib.resources
import operator
import re
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pycompile import _C
from pycompile import _export_functions as _functions
from pycompile import _export_loops as _loops
from pycompile import _export_reasons as _reasons
from pycompile import _export_texts as _texts
from pycompile._api import compile as _compile
from pycompile._errors import DerivativeError, DimensionError, ExportError, GraphBreakError
from pycompile._precompile import Array, bind
from pycompile._shapes import Dim
from pycompile.derivatives._whole import Asked
from pycompile.derivatives._whole import whole as _whole

ABI = 1  # of the functions in the header
_NUMBERS = (bool, int, float, complex)
_STAND_INS: dict[type, Any] = {bool: True, int: 3, float: 1.5, complex: 1 + 1j}


def export(
    function: Any,
    name: str,
    args: tuple[Any, ...],
    *,
    functions: Mapping[str, Any] | None = None,
    cpu: str | None = None,
    elementary: str | None = None,
    blas: str | None = None,
) -> Path:
    """Makes a C library of functions, which runs without Python and NumPy: docs/export.md.

    name        of the library, with the folder in front of it: "build/pricer" writes libpricer.so,
                pricer.h, pricer.pc, pricer-config.cmake and pricer.py there
    args        what stands for the arguments: `pycompile.Array(("n", 3), dtype)` for an array whose
                lengths may have names, an array for one of its shape, `float`, `int`, `bool`,
                `complex` or a class of NumPy's scalars for a number. Anything else is the value
                itself, which the library then has in it.
    functions   more functions by name, which the library calls NAME_name: each a function that
                takes the same `args`, or a tuple of a function and its own
    cpu         what the C compiler's -march takes, such as "x86-64-v3"; None: this machine's
    elementary  "libm": functions such as `np.exp` are the C library's where NumPy has code of its
                own for this CPU; the last bits may then be others than NumPy's. None: such a
                function is a reason.
    blas        the library with the cblas interface that products of matrices are of: its path, or
                its name for the linker ("openblas"). None: a product is a reason.

    Returns the path of the library. Raises ExportError with all reasons why it cannot be made.
    """
    if elementary not in (None, "libm"):
        raise ValueError(f"elementary is None or 'libm', not {elementary!r}")
    path = Path(name)
    wanted = _all_functions(function, args, functions)
    _check_names(path.name, list(wanted))
    library = _Library(path.name, cpu, elementary, blas, inlines=cpu is None)
    library.add_all(wanted)
    if library.lacking and elementary == "libm":
        library = _Library(path.name, cpu, elementary, blas, inlines=False)
        library.add_all(wanted)
    if library.reasons:
        reasons = list(dict.fromkeys(library.reasons))
        raise ExportError(_told(reasons), reasons)
    return library.write(path.parent)


def _all_functions(
    function: Any, args: tuple[Any, ...], functions: Mapping[str, Any] | None
) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    found = {"": (function, args)}
    for key, each in (functions or {}).items():
        found[key] = each if isinstance(each, tuple) else (each, args)
    for key, pair in found.items():
        if len(pair) != 2 or not isinstance(pair[1], tuple):
            what = f"functions[{key!r}]" if key else "args"
            raise TypeError(f"{what}: what stands for the arguments is a tuple, (Array(8), float)")
    return found


def _check_names(library: str, keys: list[str]) -> None:
    """What the library has in C, and the wrapper in Python, is of different names."""
    for name in (library, *keys[1:]):
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
            raise ValueError(f"the name of a library or of a function is one in C: {name!r}")
    functions = [_symbol(library, key) for key in keys]
    known = next(
        (name for name in functions if name in _texts.KEYWORDS or _texts.is_in_libc(name)), None
    )
    if known is not None:
        what = "a word of C or C++" if known in _texts.KEYWORDS else "a function of the C library's"
        raise ValueError(f"{known!r} is {what}: a library needs another name")
    taken = [f"{library}_{rest}" for rest in ("error", "abi", "set_threads", "set_allocator")]
    taken += functions + [f"{name}_shapes" for name in functions]
    twice = sorted({name for name in taken if taken.count(name) > 1})
    if twice or library in keys:
        raise ValueError(f"two functions of the library are called {(twice or [library])[0]}")


def _symbol(library: str, key: str) -> str:
    return f"{library}_{key}" if key else library


def _told(reasons: list[_reasons.Reason]) -> str:
    lines = [f"  {file}:{line}: {text}" if line else f"  {text}" for file, line, text in reasons]
    return "it cannot be exported:\n" + "\n".join(lines)


# ---- the command line ----


def _argument(said: str) -> Any:
    """What "f64[n, 3]" or "float" stands for."""
    numbers = {each.__name__: each for each in _NUMBERS}
    found = re.fullmatch(r"(\w+)\[(.*)\]", said)
    if found is None:
        return numbers[said] if said in numbers else np.dtype(said).type
    kind, axes = found.groups()
    width = re.fullmatch(r"([fiuc])(8|16|32|64|128)", kind)
    dtype = np.dtype(f"{width[1]}{int(width[2]) // 8}" if width else kind)
    lengths = [axis.strip() for axis in axes.split(",") if axis.strip()]
    return Array(tuple(int(n) if n.isdecimal() else n for n in lengths), dtype)


def command(place: str, args: str, output: str, cpu: str | None, elementary: str | None) -> int:
    """`python -m pycompile export`.  Returns the exit status."""
    module, _, function = place.partition(":")
    sys.path.insert(0, "")
    found = operator.attrgetter(function)(importlib.import_module(module))
    given = tuple(_argument(said.strip()) for said in re.split(r",(?![^\[]*\])", args))
    try:
        print(export(found, output, given, cpu=cpu, elementary=elementary))
    except ExportError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


# ---- one function ----


class _Exported:
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
        self.results = list(_results(self.value))


def _results(value: Any) -> Any:
    """(dtype, axes) of each result, in the order of the library's."""
    if value[0] == "result":
        yield value[3], value[4]
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
    return value


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


def _bound(function: types.FunctionType, args: tuple[Any, ...]) -> tuple[Any, ...]:
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


class _Library:
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
        self.exported: dict[str, _Exported] = {}
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
            if _has_names(args) and self.captured(asked.function, args, "", "") is None:
                return  # a length decides
            plain = self.tried(lambda: _whole(asked, args), *_place(asked.function))
            if plain is None:
                return
        symbol, own = _symbol(self.name, key), f"exported{len(self.exported)}"
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
        for pointer in _functions.pointers(made.get("kernels", "")):
            self.pointers.setdefault(pointer, first)
        if self.reasons:
            return
        passed = [(name, of) for name, of in zip(names, said) if name is not None]
        self.exported[key] = _Exported(symbol, own, made, passed)

    def captured(self, plain: Any, args: tuple[Any, ...], own: str, symbol: str) -> Any:
        """What capture makes of the function, names and what was said by slot; None: a reason."""
        if not isinstance(plain, types.FunctionType):
            raise TypeError(f"{plain!r} is no function of Python")
        names, said, _ = _bound(plain, args)

        def capture(function: types.FunctionType) -> Any:
            values, vectors = _bound(function, args)[2], _vector_bytes(self.cpu)
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
        pointer = self.inlines and (
            _functions.pointer_of(_loops.LIBM.get(name, name), getattr(np, name, None), taken)
            or _tried_pair(name, taken)
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

    # ---- files ----

    def write(self, folder: Path) -> Path:
        """The library and what belongs to it."""
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            made = self._compiled(Path(work))
            out = folder / f"lib{self.name}.so"  # NAME.so would hide NAME.py
            shutil.copyfile(made, out.with_suffix(".new"))
        out.with_suffix(".new").replace(out)  # a process may have the older one loaded
        out.chmod(0o755)
        for end, text in self._texts(folder).items():
            (folder / f"{self.name}{end}").write_text(text, encoding="utf-8")
        return out

    def _compiled(self, work: Path) -> Path:
        files = {"public.c": self._public_text(), "library.c": self._main_text()}
        files["functions.c"] = self.functions
        for each in self.exported.values():
            files[f"{each.own}_kernels.c"] = _renamed(each.kernels, each.own)
            if each.careful is not None:
                careful = f"{each.own}_careful"
                files[f"{careful}.c"] = _renamed(each.careful, careful)
        for file, text in files.items():
            (work / file).write_text(text, encoding="utf-8")
        out = work / f"lib{self.name}.so"
        command = [
            *_compiler(self.cpu),
            "-o",
            str(out),
            f"-Wl,-soname,{out.name}",
            *files,
            "-lm",
            "-pthread",
        ]
        if self.needs_blas():
            command += ["-x", "none", *_blas_flags(str(self.blas))]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=work)
        if ran.returncode != 0:
            text = f"the C compiler failed: {' '.join(command)}\n{ran.stderr[-2000:]}"
            raise ExportError(text, [("", 0, text)])
        return out

    def needs_blas(self) -> bool:
        return any("fft" not in name for name in self.calls)

    def _main_text(self) -> str:
        abi = next(iter(self.exported.values())).abi
        unit = f"enum {{ USES_X87 = {int(self.libm)} }}; /* functions of the C library's may */\n"
        parts = [abi, unit, *(_source(name) for name in _SOURCES)]
        if self.needs_blas():
            parts += [_blas_names(str(self.blas)), _source("products.c")]
        if self.calls & {"call_solve", "call_inv", "call_cholesky"}:
            parts.append(_source("linalg.c"))
        if self.calls & {"call_rfft", "call_irfft"}:
            parts.append(_source("fft.c"))
        parts += [text for text in self.loops.values() if text]
        parts += [each.tables for each in self.exported.values()]
        return "\n".join(parts)

    def _public_text(self) -> str:
        parts = [_texts.filled(_texts.PUBLIC_HEAD, DLPACK=_source("dlpack.h"))]
        for each in self.exported.values():
            parts.append(_texts.filled(_texts.PUBLIC_FUNCTION, NAME=each.symbol, OWN=each.own))
        parts.append(_texts.filled(_texts.PUBLIC_REST, NAME=self.name, VERSION=str(ABI)))
        return "".join(parts)

    def _texts(self, folder: Path) -> dict[str, str]:
        where = folder.resolve()
        said = {
            name or self.name: (
                each.symbol,
                {
                    "error": f"{self.name}_error",
                    "arguments": [
                        (arg, _dtype_of(of), _kind_of(of, written))
                        for (arg, of), written in zip(each.arguments, each.written)
                    ],
                    "results": each.results,
                    "value": each.value,
                },
            )
            for name, each in self.exported.items()
        }
        loaded = f"{f'lib{self.name}.so'!r}, {f'{self.name}_abi'!r}, {ABI}, {said!r}"
        wrapper = f"{_source('wrapper.py')}\n\n_load({loaded})\n"
        return {
            ".h": self._header(),
            ".pc": _texts.filled(
                _texts.PKG_CONFIG, NAME=self.name, WHERE=_texts.pkg_config_path(str(where))
            ),
            "-config.cmake": _texts.filled(_texts.CMAKE, NAME=self.name),
            ".py": wrapper,
        }

    def _header(self) -> str:
        cpu = self.cpu or "the CPU on which it was exported"
        said = f"/* {self.name}: numbers have the bits of NumPy {np.__version__} on {_texts.comment(cpu)}.\n"
        if "__asm__" in self.functions:
            said += "   Functions of Intel's SVML are in it, as in NumPy (BSD 3-Clause).\n"
        if self.differs:
            said += f"   The last bits may be others for: {', '.join(sorted(self.differs))}.\n"
        names = {"NAME": self.name, "UPPER": self.name.upper(), "VERSION": str(ABI)}
        text = [f"{said}*/\n", _texts.filled(_texts.HEAD, DLPACK=_source("dlpack.h"), **names)]
        for each in self.exported.values():
            lines = [f"{i}  {key}: {_shown(of)}" for i, (key, of) in enumerate(each.arguments)]
            lines += _lengths_said(each)
            lines.append("Results:")
            lines += [f"{i}  {dtype}, {rank} axes" for i, (dtype, rank) in enumerate(each.results)]
            shown = "\n".join(f"   {_texts.comment(line)}" for line in lines)
            text.append(f"/* Arguments:\n{shown}  */\n")
            text.append(_texts.filled(_texts.DECLARED, NAME=each.symbol))
        text.append(_texts.filled(_texts.TAIL, **names))
        return "".join(text)


def _has_names(args: tuple[Any, ...]) -> bool:
    """Has a length a name?"""
    return any(
        not isinstance(length, int)
        for said in args
        if isinstance(said, Array)
        for length in said.shape
    )


def _place(function: Any) -> tuple[str, int]:
    code = getattr(function, "__code__", None)
    return ("", 0) if code is None else (code.co_filename, code.co_firstlineno)


_SOURCES = (
    "library.h",
    "dlpack.h",
    "threads.c",
    "memory.c",
    "steps.c",
    "told.c",
    "checks.c",
    "call.c",
    "calls.c",
)


def _source(name: str) -> str:
    return importlib.resources.files("pycompile.exported").joinpath(name).read_text()


def _shown(said: Any) -> str:
    if isinstance(said, (Array, np.ndarray)):
        axes = (length.name if isinstance(length, Dim) else str(length) for length in said.shape)
        return f"{said.dtype.name}[{', '.join(axes)}]"
    return f"{_dtype_of(said)}, a number"


def _lengths_said(exported: _Exported) -> list[str]:
    """Of lengths with a name how much they are at least: what the library refuses otherwise."""
    least: dict[str, int] = {}
    for (_, said), bounds in zip(exported.arguments, exported.least):
        for length, bound in zip(said.shape if isinstance(said, Array) else (), bounds):
            name = getattr(length, "name", length)
            if isinstance(name, str):
                least[name] = max(bound, least.get(name, 0))
    return (
        [f"Lengths: {', '.join(f'{name} {n} or more' for name, n in least.items())}"]
        if least
        else []
    )


def _dtype_of(said: Any) -> str:
    if isinstance(said, (Array, np.ndarray)):
        return str(said.dtype.name)
    return str(np.dtype(said).name)


def _kind_of(said: Any, written: bool) -> str:
    if isinstance(said, (Array, np.ndarray)):
        return "written" if written else "array"
    return "number"


def _vector_bytes(cpu: str | None) -> int:
    """Of the vectors in the C text; 0: this machine's."""
    known = {"x86-64": 16, "x86-64-v2": 16, "x86-64-v3": 32, "x86-64-v4": 64}
    return 0 if cpu in (None, "native") else known.get(str(cpu), 16)


def _compiler(cpu: str | None) -> list[str]:
    info = _C.toolchain_info()
    leave = ("-nostdlib", "-fvisibility", "-march", "-mcpu")
    flags = [flag for flag in info["flags"] if not flag.startswith(leave)]
    return [str(info["compiler"]), *flags, f"-march={cpu or 'native'}", "-fvisibility=hidden"]


@functools.cache
def _tried_pair(name: str, dtype: str) -> tuple[str, int] | None:
    """The pointer of a function of two vectors that has NumPy's bits, and its vectors' bytes."""
    pointers = _functions.pair_pointers(name, dtype)
    return next(((each, 64) for each in pointers if _has_bits(each, name, dtype)), None)


def _has_bits(pointer: str, name: str, dtype: str) -> bool:
    defined, lacking = _functions.definitions([pointer])
    if lacking:
        return False
    loop = _loops.vector_loop_text("tried", name, dtype, pointer, 64).replace("static int", "int")
    with tempfile.TemporaryDirectory() as work:
        for file, text in ("loop.c", f"#include <stdint.h>\n{loop}"), ("functions.c", defined):
            (Path(work) / file).write_text(text, encoding="utf-8")
        command = [*_compiler(None), "-fvisibility=default", "-o", "tried.so"]
        command += ["loop.c", "functions.c", "-lm"]
        if subprocess.run(command, capture_output=True, cwd=work).returncode != 0:
            return False
        tried = ctypes.CDLL(f"{work}/tried.so").tried
        return _loops.pair_has_numpys_bits(tried, name, dtype)


def _renamed(text: str, prefix: str) -> str:
    """The kernels' text with names that no other file of the library has."""
    text = re.sub(r"\bk(\d+(?:_bounded)?)\b", rf"{prefix}_k\1", text)
    return re.sub(r"\bdrive0\b", f"{prefix}_drive", text)


# ---- products ----


def _blas_flags(blas: str) -> list[str]:
    if "/" not in blas:
        return [f"-l{blas}"]
    return [blas, f"-Wl,-rpath,{Path(blas).resolve().parent}"]


def _blas_names(blas: str) -> str:
    """What the functions of the cblas interface are called there."""
    found = blas if "/" in blas else ctypes.util.find_library(blas)
    for form, integer in _BLAS_FORMS:
        try:
            getattr(ctypes.CDLL(found), form.format("dgemm"))
        except (AttributeError, OSError):
            continue
        before, after = form.split("{}")
        parts = {
            "INT": integer,
            "BEFORE": before,
            "AFTER": after,
        }
        defined = "".join(f"#define BLAS_{name} {text}\n" for name, text in parts.items())
        ends = f"#define LAPACK_BEFORE {before.removesuffix('cblas_')}\n#define LAPACK_AFTER _{after}\n"
        return defined + ends
    text = f"{blas!r} is no library with cblas_dgemm"
    raise ExportError(text, [("", 0, text)])


_BLAS_FORMS = (
    ("cblas_{}", "int"),
    ("cblas_{}64_", "int64_t"),
    ("scipy_cblas_{}64_", "int64_t"),
    ("scipy_cblas_{}", "int"),
)
