"""The programs of loops.c and of derivatives.c, compiled and called on arrays."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_name("loops.c")
# Of the flags of pycompile's own kernels those that a C programmer gives who wants NumPy's bits.
FLAGS = "-O2 -march=native -ffp-contract=off -fno-math-errno".split()
RESULTS = {
    "checksum": ctypes.c_long,
    "local_alignment": ctypes.c_long,
    "crc_8": ctypes.c_long,
    "fnv_64": ctypes.c_ulong,
}


def compiled(source: Path = SOURCE) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        shared = str(Path(folder, "loops.so"))
        subprocess.run(["cc", *FLAGS, "-shared", "-fPIC", "-o", shared, source, "-lm"], check=True)
        return ctypes.CDLL(shared)


def prepared(argument: Any) -> list[Any]:
    """An argument of a program as its C function takes it."""
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return [ctypes.c_void_p(argument.ctypes.data), *map(ctypes.c_long, argument.shape)]
    return [ctypes.c_double(argument) if isinstance(argument, float) else ctypes.c_long(argument)]


def c_program(library: ctypes.CDLL, name: str) -> Callable[..., Callable[[], Any]] | None:
    """What makes a call on arguments, which have to live until it is done; None: not written in C."""
    function = getattr(library, name, None)
    if function is None:
        return None
    function.restype = RESULTS.get(name)
    return lambda *args: partial(function, *(part for a in args for part in prepared(a)))
