"""Products by cuBLASLt on the device: the error against float64 is at most that of CuPy's own, and what is
not a number stays so."""

import numpy as np
import pytest

import pycompile
from pycompile import _C

cp = pytest.importorskip("cupy")

try:
    cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device", allow_module_level=True)
pytestmark = pytest.mark.skipif(not _C.cublaslt_info()[0], reason="no cuBLASLt")


def values(shape, dtype, seed, scale=1.0):
    x = np.random.default_rng(seed).standard_normal(shape) * scale
    return cp.asarray(x.astype(dtype))


def gelu(x):
    return 0.5 * x * (1 + cp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


PROGRAMS = {
    "product": lambda x, w, b, r: (x @ w) * 2,
    "row": lambda x, w, b, r: x @ w + b,
    "matrix": lambda x, w, b, r: r + x @ w,
    "both": lambda x, w, b, r: r + x @ w + b,
    "relu": lambda x, w, b, r: cp.maximum(x @ w + b, 0),
    "gelu": lambda x, w, b, r: gelu(x @ w),
    "all": lambda x, w, b, r: gelu(r + (x @ w + b)),
}


def arguments(dtype, rows=200, inner=96, columns=160, batch=()):
    return (
        values((*batch, rows, inner), dtype, 1, inner**-0.5),
        values((*batch, inner, columns), dtype, 2),
        values((columns,), dtype, 3),
        values((*batch, rows, columns), dtype, 4),
    )


def check(program, *args, fused=True):
    """Ten calls, so that graphs are among them, on arrays that move."""
    compiled = pycompile.compile(program, fullgraph=True)
    exact = program(*(a.astype("f8") for a in args))
    theirs = float(abs(program(*args).astype("f8") - exact).max())
    kept = []
    for _ in range(10):
        made = compiled(*args)
        kept.append(made)
        assert made.dtype == args[0].dtype
        assert float(abs(made.astype("f8") - exact).max()) <= 1.5 * theirs + 1e-6
        args = tuple(a.copy() for a in args)
    for made in kept:
        cp.testing.assert_array_equal(made, kept[0])
    assert compiled.stats()["deopts"] == 0


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_epilogues(name, dtype):
    check(PROGRAMS[name], *arguments(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("name", ["product", "all"])
def test_batches(name, dtype):
    x, w, b, r = arguments(dtype, batch=(2, 3))
    check(PROGRAMS[name], x, w, b, r)
    check(PROGRAMS[name], x, w[0, 0], b, r)
    check(PROGRAMS[name], x.swapaxes(-1, -2).copy().swapaxes(-1, -2), w, b, r)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_layouts_and_odd_sizes(dtype):
    x, w, b, r = arguments(dtype, 77, 33, 55)
    check(PROGRAMS["product"], x, w, b, r)
    check(PROGRAMS["matrix"], x, w, b, r)
    x, w, b, r = arguments(dtype)
    check(PROGRAMS["both"], x, w.T.copy().T, b, r)
    wide = cp.hstack([x, x])
    check(PROGRAMS["both"], wide[:, : x.shape[1]], w, b, r)
    check(PROGRAMS["product"], wide[:, 1 : 1 + x.shape[1]], w, b, r)
    check(PROGRAMS["product"], x[:1], w, b, r)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_large_products_are_not_cupys(dtype, monkeypatch):
    """Their algorithms need memory, which some have cleared."""
    x, w, b, r = arguments(dtype, 4096, 1024, 2048)
    called, product = [], cp.ndarray.__matmul__
    compiled = pycompile.compile(PROGRAMS["both"], fullgraph=True)
    monkeypatch.setattr(cp.ndarray, "__matmul__", lambda a, b: called.append(a) or product(a, b))
    for _ in range(3):
        compiled(x, w, b, r)
    assert called == []


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("name", ["both", "relu", "all"])
def test_special_values(name, dtype):
    x, w, b, r = arguments(dtype)
    x[3, 4], b[7] = cp.nan, cp.nan
    with np.errstate(all="ignore"):
        wanted = PROGRAMS[name](x, w, b, r)
        compiled = pycompile.compile(PROGRAMS[name], fullgraph=True)
        compiled(x, w, b, r)
        cp.testing.assert_array_equal(cp.isnan(compiled(x, w, b, r)), cp.isnan(wanted))


def test_layers_are_one_launch_with_their_kernels():
    x, w, b, r = arguments("f2")

    def layers(x, w, b, r):
        h = gelu((x - x.mean(axis=-1, keepdims=True)) @ w + b)
        return (r + h @ w.T.copy() @ w) * 2 - 1

    check(layers, x, w, b, r)


@pytest.fixture
def multiplies():
    """Says how CuPy multiplies float32, until the test has ended."""
    linalg = cp._core._routines_linalg
    before = linalg.get_compute_type(np.dtype("f4"))
    yield lambda kind: linalg.set_compute_type(
        np.dtype("f4"), getattr(linalg, "COMPUTE_TYPE_" + kind)
    )
    linalg.set_compute_type(np.dtype("f4"), before)


def test_tf32_is_cupys_setting(multiplies):
    x, w, b, _ = arguments("f4", 256, 256, 256)
    compiled = pycompile.compile(lambda x, w, b: x @ w + b)
    exact = x.astype("f8") @ w.astype("f8") + b
    errors = []
    for kind in ("DEFAULT", "TF32"):
        multiplies(kind)
        for _ in range(3):
            made = compiled(x, w, b)
        errors.append(float(abs(made - exact).max()))
    assert errors[0] < 2e-5
    assert errors[1] > 10 * errors[0]


def test_weights_that_hopper_takes_transposed(multiplies):
    multiplies("TF32")
    args = arguments("f4", 16384, 1024, 1024)
    check(PROGRAMS["relu"], *args)
    check(lambda x, w, b, r: (x @ w) @ w.T @ w, *args)
