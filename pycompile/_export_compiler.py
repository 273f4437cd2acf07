"""The C compiler and the BLAS of a library that `pycompile.export` makes."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import subprocess
import tempfile
from pathlib import Path

from pycompile import _C
from pycompile import _export_functions as _functions
from pycompile import _export_loops as _loops
from pycompile._errors import ExportError


def vector_bytes(cpu: str | None) -> int:
    """Of the vectors in the C text; 0: this machine's."""
    known = {"x86-64": 16, "x86-64-v2": 16, "x86-64-v3": 32, "x86-64-v4": 64}
    return 0 if cpu in (None, "native") else known.get(str(cpu), 16)


def flags(cpu: str | None) -> list[str]:
    """What a library is made with, the compiler first."""
    info = _C.toolchain_info()
    leave = ("-nostdlib", "-fvisibility", "-march", "-mcpu")
    kept = [flag for flag in info["flags"] if not flag.startswith(leave)]
    return [str(info["compiler"]), *kept, f"-march={cpu or 'native'}", "-fvisibility=hidden"]


@functools.cache
def tried_pair(name: str, dtype: str) -> tuple[str, int] | None:
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
        command = [*flags(None), "-fvisibility=default", "-o", "tried.so"]
        command += ["loop.c", "functions.c", "-lm"]
        if subprocess.run(command, capture_output=True, cwd=work).returncode != 0:
            return False
        tried = ctypes.CDLL(f"{work}/tried.so").tried
        return _loops.pair_has_numpys_bits(tried, name, dtype)


# ---- a BLAS ----


def blas_flags(blas: str) -> list[str]:
    if "/" not in blas:
        return [f"-l{blas}"]
    return [str(Path(blas).absolute()), f"-Wl,-rpath,{Path(blas).resolve().parent}"]


def blas_names(blas: str) -> str:
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
