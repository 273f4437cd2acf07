"""Comparisons and the larger of two, in vectors of each width that the machine has: NumPy's bits for
NaNs and zeros of both signs, and no flag for a quiet NaN."""

import ctypes
import itertools
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

import pycompile
from pycompile import _C


def clamped(x, low, high):
    """NumPy's clip between numbers, of which there is a pair for each element here."""
    return np.array([np.clip(x[i : i + 1], low[i], high[i])[0] for i in range(len(x))])


GRAPH = """\
%0: {dtype}[{size}] = input(0)
%1: {dtype}[{size}] = input(1)
%2: {dtype}[{size}] = input(2)
%3: {result}[{size}] = {operation}
outputs %3
"""
OPERATIONS = {
    "maximum(%0, %1)": lambda x, y, z: np.maximum(x, y),
    "minimum(%0, %1)": lambda x, y, z: np.minimum(x, y),
    "clip(%0, %1, %2)": lambda x, y, z: np.clip(x, y, z),
    "clamp(%0, %1, %2)": clamped,
    "less(%0, %1)": lambda x, y, z: x < y,
    "less_equal(%0, %1)": lambda x, y, z: x <= y,
    "greater(%0, %1)": lambda x, y, z: x > y,
}
EDGES = [math.nan, -math.nan, 0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, 5e-324, 1e-45]
FE_INVALID = 1
ABI = """
typedef struct { char *const *ptr; const long *size; const void *loop; char *scratch; } KernelArgs;
int k0(const KernelArgs *args, long begin, long end);
int feclearexcept(int), fetestexcept(int);

/* -1: the kernel failed; else the flags that it raised, of `which` */
int run(char **arrays, long *sizes, long n, int which)
{
    const KernelArgs args = {arrays, sizes, 0, 0};
    feclearexcept(which);
    return k0(&args, 0, n) ? -1 : fetestexcept(which);
}
"""


def widths():
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    avx512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= set(flags)
    return [16, *[32] * ("avx2" in flags), *[64] * avx512]


def compiled(folder, source):
    (folder / "k.c").write_text(source)
    (folder / "run.c").write_text(ABI)
    subprocess.run(
        "cc -w -O2 -march=native -ffp-contract=off -fno-math-errno -fno-strict-aliasing -shared -fPIC "
        "-o k.so k.c run.c -lm".split(),
        cwd=folder,
        check=True,
    )
    return ctypes.CDLL(str(folder / "k.so")).run


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", widths())
def test_edges(operation, dtype, width, tmp_path):
    with np.errstate(all="ignore"):
        x, y, z = np.array(list(itertools.product(EDGES, repeat=3)), dtype).T.copy()
    wanted = OPERATIONS[operation](x, y, z)
    name = {np.float32: "f32", np.float64: "f64"}[dtype]
    graph = GRAPH.format(
        dtype=name,
        size=len(x),
        operation=operation,
        result="bool" if wanted.dtype == bool else name,
    )
    _, source = _C.lower_graph(graph, [], False, width)
    assert f"{name}x{width // x.itemsize}" in source
    out = np.empty_like(wanted)
    arrays = [a for a, used in ((x, "%0"), (y, "%1"), (z, "%2")) if used in operation] + [out]
    pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    sizes = (ctypes.c_long * 4)(*[len(x)] * 4)
    run = compiled(tmp_path, source)
    assert run(pointers, sizes, ctypes.c_long(len(x)), FE_INVALID) == 0
    assert out.tobytes() == wanted.tobytes()


def chosen(x, y, n):
    """Ints of 64 bits beside floats of 32, whose vectors are half as wide as the machine's then."""
    low, large = x <= y, x > y
    n = np.where(low, n + 1, n)
    return (
        np.where(large, n + 5, n),
        np.where(low, x, y),
        np.where(large, x, 1),
        np.where(x < y, y, x),
        np.maximum(x, y),
        np.minimum(x, y),
        np.sqrt(abs(x)),
        np.floor(x),
        np.ceil(x),
        np.trunc(x),
        np.rint(y),
    )


@pytest.mark.parametrize("ints", ["i4", "i8"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_choices_beside_ints(dtype, ints):
    pairs = np.array(list(itertools.product([*EDGES, 2.5, -2.5, 3.0], repeat=2)), dtype)
    x, y = np.ascontiguousarray(pairs.T)
    n = np.arange(len(x), dtype=ints)
    compiled = pycompile.compile(chosen, fullgraph=True)
    with np.errstate(all="ignore"):
        wanted = chosen(x, y, n)
        for _ in range(2):
            for made, want in zip(compiled(x, y, n), wanted):
                assert made.dtype == want.dtype
                assert made.tobytes() == want.tobytes()
