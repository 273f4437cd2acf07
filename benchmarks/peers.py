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

WRITES = {cases.jacobi, cases.jacobi_ten, cases.wave_ten, cases.adam, cases.recurrence}


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


def compiled_c(real: str) -> ctypes.CDLL:
    """The functions of cases.C_SOURCE for one dtype, as fast as a compiler makes them."""
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC"]
    with tempfile.TemporaryDirectory() as folder:
        source, shared = Path(folder, "c.c"), Path(folder, "c.so")
        root = "sqrtf" if real == "float" else "sqrt"
        source.write_text(f"typedef {real} T;\n#define SQRT {root}\n{cases.C_SOURCE}")
        subprocess.run(["cc", *flags, "-o", shared, source, "-lm"], check=True)
        return ctypes.CDLL(str(shared))


def c_call(case: Case, args: tuple[Any, ...]) -> Call:
    """A loop nest written by hand, one thread: not a peer but the bar."""
    first = args[0]
    function = case.function
    if function not in C_ROWS:
        raise Unsupported("not written by hand")
    real = "float" if first.dtype == np.float32 else "double"
    call = getattr(compiled_c(real), function.__name__)
    kind = ctypes.c_float if real == "float" else ctypes.c_double

    def pointers(*arrays: Any) -> list[Any]:
        return [ctypes.c_void_p(array.ctypes.data) for array in arrays]

    longs = [ctypes.c_long(n) for n in first.shape]
    if function is cases.recurrence:
        x, y, a, n = args
        given = [*pointers(x, y), kind(a), ctypes.c_long(n)]
        return lambda: (call(*given), x, y)  # keeps the arrays alive
    if function is cases.jacobi_ten:
        spare = np.empty_like(first)
        given = [*pointers(first, spare), *longs]
        return lambda: (call(*given), first, spare)
    if function is cases.wave_ten:
        given = [*pointers(*args[:2]), kind(args[2]), *longs]
        return lambda: (call(*given), args)

    def fresh() -> Any:
        """A call whose result is a new array, as NumPy's is."""
        shape = (len(first), len(first)) if function is cases.pairwise else first.shape
        out = np.empty(shape, first.dtype)
        call(*pointers(*args, out), *longs)
        return out

    return fresh


C_ROWS = {cases.recurrence, cases.jacobi_ten, cases.wave_ten, cases.pairwise, cases.state}
PEERS: dict[str, Callable[[Case, tuple[Any, ...]], Call]] = {
    "numpy": numpy_call,
    "pycompile": pycompile_call,
    "numba": numba_call,
    "jax": jax_call,
    "torch": torch_call,
    "numexpr": numexpr_call,
    "C": c_call,
}
