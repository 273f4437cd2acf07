"""The files of a library that `pycompile.export` makes: sources, what builds ask for, a wrapper."""

from __future__ import annotations

import importlib.resources
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from pycompile import _export_arguments as _arguments
from pycompile import _export_compiler as _compiler
from pycompile import _export_texts as _texts
from pycompile._errors import ExportError
from pycompile._export_library import Library

ABI = 1  # of the functions in the header

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


def write(library: Library, folder: Path) -> Path:
    """The library and what belongs to it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        made = _compiled(library, Path(work))
        out = folder / f"lib{library.name}.so"  # NAME.so would hide NAME.py
        shutil.copyfile(made, out.with_suffix(".new"))
    out.with_suffix(".new").replace(out)  # a process may have the older one loaded
    out.chmod(0o755)
    for end, text in _texts_beside(library, folder).items():
        (folder / f"{library.name}{end}").write_text(text, encoding="utf-8")
    return out


def _compiled(library: Library, work: Path) -> Path:
    files = {"public.c": _public_text(library), "library.c": _main_text(library)}
    files["functions.c"] = library.functions
    for each in library.exported.values():
        files[f"{each.own}_kernels.c"] = _renamed(each.kernels, each.own)
        if each.careful is not None:
            careful = f"{each.own}_careful"
            files[f"{careful}.c"] = _renamed(each.careful, careful)
    for file, text in files.items():
        (work / file).write_text(text, encoding="utf-8")
    out = work / f"lib{library.name}.so"
    command = [
        *_compiler.flags(library.cpu),
        "-o",
        str(out),
        f"-Wl,-soname,{out.name}",
        *files,
        "-lm",
        "-pthread",
    ]
    if library.needs_blas():
        command += ["-x", "none", *_compiler.blas_flags(str(library.blas))]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=work)
    if ran.returncode != 0:
        text = f"the C compiler failed: {' '.join(command)}\n{ran.stderr[-2000:]}"
        raise ExportError(text, [("", 0, text)])
    return out


def _main_text(library: Library) -> str:
    abi = next(iter(library.exported.values())).abi
    unit = f"enum {{ USES_X87 = {int(library.libm)} }}; /* functions of the C library's may */\n"
    parts = [abi, unit, *(_source(name) for name in _SOURCES)]
    if library.needs_blas():
        parts += [_compiler.blas_names(str(library.blas)), _source("products.c")]
    if library.calls & {"call_solve", "call_inv", "call_cholesky"}:
        parts.append(_source("linalg.c"))
    if library.calls & {"call_rfft", "call_irfft"}:
        parts.append(_source("fft.c"))
    parts += [text for text in library.loops.values() if text]
    parts += [each.tables for each in library.exported.values()]
    return "\n".join(parts)


def _public_text(library: Library) -> str:
    parts = [_texts.filled(_texts.PUBLIC_HEAD, DLPACK=_source("dlpack.h"))]
    for each in library.exported.values():
        parts.append(_texts.filled(_texts.PUBLIC_FUNCTION, NAME=each.symbol, OWN=each.own))
    parts.append(_texts.filled(_texts.PUBLIC_REST, NAME=library.name, VERSION=str(ABI)))
    return "".join(parts)


def _texts_beside(library: Library, folder: Path) -> dict[str, str]:
    where = folder.resolve()
    said = {
        name or library.name: (
            each.symbol,
            {
                "error": f"{library.name}_error",
                "arguments": [
                    (arg, _arguments.dtype_of(of), _arguments.kind_of(of, written))
                    for (arg, of), written in zip(each.arguments, each.written)
                ],
                "results": each.results,
                "value": each.value,
            },
        )
        for name, each in library.exported.items()
    }
    loaded = f"{f'lib{library.name}.so'!r}, {f'{library.name}_abi'!r}, {ABI}, {said!r}"
    wrapper = f"{_source('wrapper.py')}\n\n_load({loaded})\n"
    return {
        ".h": _header(library),
        ".pc": _texts.filled(
            _texts.PKG_CONFIG, NAME=library.name, WHERE=_texts.pkg_config_path(str(where))
        ),
        "-config.cmake": _texts.filled(_texts.CMAKE, NAME=library.name),
        ".py": wrapper,
    }


def _header(library: Library) -> str:
    cpu = library.cpu or "the CPU on which it was exported"
    said = f"/* {library.name}: numbers have the bits of NumPy {np.__version__} on {_texts.comment(cpu)}.\n"
    if "__asm__" in library.functions:
        said += "   Functions of Intel's SVML are in it, as in NumPy (BSD 3-Clause).\n"
    if library.differs:
        said += f"   The last bits may be others for: {', '.join(sorted(library.differs))}.\n"
    names = {"NAME": library.name, "UPPER": library.name.upper(), "VERSION": str(ABI)}
    text = [f"{said}*/\n", _texts.filled(_texts.HEAD, DLPACK=_source("dlpack.h"), **names)]
    for each in library.exported.values():
        lines = [
            f"{i}  {key}: {_arguments.shown(of, written)}"
            for i, ((key, of), written) in enumerate(zip(each.arguments, each.written))
        ]
        lines += _arguments.lengths_said(each.arguments, each.least)
        lines.append("Results:")
        shaped = zip(each.results, each.shapes)
        lines += [
            f"{i}  {dtype}[{shape}]" if rank else f"{i}  {dtype}, a number"
            for i, ((dtype, rank), shape) in enumerate(shaped)
        ]
        shown = "\n".join(f"   {_texts.comment(line)}" for line in lines)
        text.append(f"/* Arguments:\n{shown}  */\n")
        text.append(_texts.filled(_texts.DECLARED, NAME=each.symbol))
    text.append(_texts.filled(_texts.TAIL, **names))
    return "".join(text)


def _source(name: str) -> str:
    return importlib.resources.files("pycompile.exported").joinpath(name).read_text()


def _renamed(text: str, prefix: str) -> str:
    """The kernels' text with names that no other file of the library has."""
    text = re.sub(r"\bk(\d+(?:_bounded)?)\b", rf"{prefix}_k\1", text)
    return re.sub(r"\bdrive0\b", f"{prefix}_drive", text)
