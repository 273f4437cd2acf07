"""`pycompile.export`: functions as a library that needs neither Python nor NumPy (docs/export.md).

Capture, passes and lowering are those of every compiled function; csrc/export/ writes tables of what
a call checks and does, _export_library has what is known of the functions, and _export_files makes
sources of that, the library, a header, files for pkg-config and CMake, and a wrapper for ctypes.
"""

from __future__ import annotations

import importlib
import operator
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pycompile import _export_arguments as _arguments
from pycompile import _export_files as _files
from pycompile import _export_reasons as _reasons
from pycompile import _export_texts as _texts
from pycompile._errors import ExportError
from pycompile._export_library import Library, symbol_of


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
    library = Library(path.name, cpu, elementary, blas, inlines=cpu is None)
    library.add_all(wanted)
    if library.lacking and elementary == "libm":
        library = Library(path.name, cpu, elementary, blas, inlines=False)
        library.add_all(wanted)
    if library.reasons:
        reasons = list(dict.fromkeys(library.reasons))
        raise ExportError(_told(reasons), reasons)
    return _files.write(library, path.parent)


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
    functions = [symbol_of(library, key) for key in keys]
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


def _told(reasons: list[_reasons.Reason]) -> str:
    lines = [f"  {file}:{line}: {text}" if line else f"  {text}" for file, line, text in reasons]
    return "it cannot be exported:\n" + "\n".join(lines)


def command(place: str, args: str, output: str, also: list[str], **how: Any) -> int:
    """`python -m pycompile export`.  Returns the exit status."""
    sys.path.insert(0, "")
    try:
        found, given = _function_of(place), _arguments.of_text(args)
        functions = dict(_named_of(said, given) for said in also)
        print(export(found, output, given, functions=functions, **how))
    except (ExportError, OSError, TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _function_of(place: str) -> Any:
    """The function at "module:function"."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise ValueError(f"a function is named as module:function, not {place!r}")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"{place}: {error}") from None
    try:
        return operator.attrgetter(name)(found)
    except AttributeError as error:
        raise ValueError(f"{place}: {error}") from None


def _named_of(said: str, args: tuple[Any, ...]) -> tuple[str, Any]:
    """What "name=module:function" says, or "name=module:function(f64[n])" of its own arguments."""
    name, _, place = said.partition("=")
    if not name or not place:
        raise ValueError(f"another function is named as name=module:function, not {said!r}")
    place, own, given = place.partition("(")
    return name, (_function_of(place), _arguments.of_text(given[:-1]) if own else args)
