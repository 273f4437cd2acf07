"""What is compared: each peer makes a callable of a case, or says why it cannot.

A peer gets the NumPy function as it stands. JAX runs the same code with `np` meaning jax.numpy (its
arrays cannot be written, so cases that write are left out) on arrays that are its own already.
"""

from __future__ import annotations

import ctypes
import inspect
import subprocess
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.cases import Case

Call = Callable[[], Any]

WRITES = {cases.jacobi, cases.adam, cases.recurrence}


class Unsupported(Exception):
    """The peer has no way to run this case."""


def numpy_call(case: Case, args: tuple[Any, ...]) -> Call:
    return lambda: case.function(*args)


def pycompile_call(case: Case, args: tuple[Any, ...]) -> Call:
    import pycompile

    # What a plan takes is shown, even where it is so slow that CPython would get the calls.
    compiled = pycompile.compile(case.function, options={"sample": False})
    return lambda: compiled(*args)


def numba_call(case: Case, args: tuple[Any, ...]) -> Call:
    import numba

    if case.function is cases.adam:
        args = tuple(numba.typed.List(a) if isinstance(a, list) else a for a in args)
    compiled = numba.njit(case.function)
    return lambda: compiled(*args)


def jax_call(case: Case, args: tuple[Any, ...]) -> Call:
    import jax

    if case.function in WRITES:
        raise Unsupported("writes in place")
    jax.config.update("jax_enable_x64", True)
    names = {**case.function.__globals__, "np": jax.numpy, "ndtr": jax.scipy.special.ndtr}
    compiled = jax.jit(types.FunctionType(case.function.__code__, names))
    own = tuple(jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in args)
    return lambda: jax.block_until_ready(compiled(*own))


def torch_call(case: Case, args: tuple[Any, ...]) -> Call:
    import torch

    if case.function in (cases.recurrence, cases.black_scholes):
        raise Unsupported(
            "unrolls the loop" if case.function is cases.recurrence else "scipy.special"
        )
    compiled = torch.compile(case.function)
    return lambda: compiled(*args)


def numexpr_call(case: Case, args: tuple[Any, ...]) -> Call:
    import numexpr

    if case.numexpr is None:
        raise Unsupported("no expression")
    names = dict(zip(inspect.signature(case.function).parameters, args))
    return lambda: numexpr.evaluate(case.numexpr, local_dict=names, global_dict={})


def c_call(case: Case, args: tuple[Any, ...]) -> Call:
    """The recurrence as a C loop at -O2: not a peer but the bar."""
    if case.function is not cases.recurrence:
        raise Unsupported("only the recurrence")
    x, y, a, n = args
    real = "float" if x.dtype == np.float32 else "double"
    with tempfile.TemporaryDirectory() as folder:
        source, shared = Path(folder, "r.c"), Path(folder, "r.so")
        source.write_text(f"typedef {real} T;\n{cases.RECURRENCE_C}")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", shared, source], check=True)
        call = ctypes.CDLL(str(shared)).recurrence
    kind = ctypes.c_float if real == "float" else ctypes.c_double
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, kind, ctypes.c_long]
    return lambda: call(x.ctypes.data, y.ctypes.data, a, n)  # keeps the arrays alive


PEERS: dict[str, Callable[[Case, tuple[Any, ...]], Call]] = {
    "numpy": numpy_call,
    "pycompile": pycompile_call,
    "numba": numba_call,
    "jax": jax_call,
    "torch": torch_call,
    "numexpr": numexpr_call,
    "C -O2": c_call,
}
