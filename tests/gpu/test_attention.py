"""Attention written plainly, on the device: the error against float64 is at most that of CuPy's own."""

import numpy as np
import pytest

import pycompile
from pycompile import _C

cp = pytest.importorskip("cupy")
ml_dtypes = pytest.importorskip("ml_dtypes")

try:
    cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device", allow_module_level=True)


def plain(q, k, v):
    s = q @ k.swapaxes(-1, -2) * 0.125
    e = cp.exp(s - s.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(v.dtype) @ v


def divided_last(q, k, v):
    s = q @ k.swapaxes(-1, -2) * 0.125
    e = cp.exp(s - s.max(axis=-1, keepdims=True))
    return (e.astype(v.dtype) @ v) / e.sum(axis=-1, keepdims=True)


def causal(q, k, v):
    s = q @ k.swapaxes(-1, -2) * 0.125
    i, j = cp.arange(s.shape[-2]), cp.arange(s.shape[-1])
    s = cp.where(i[:, None] >= j, s, -cp.inf)
    e = cp.exp(s - s.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(v.dtype) @ v


def capped(q, k, v):
    s = 5 * cp.tanh(q @ k.swapaxes(-1, -2) * 0.125 / 5)
    e = cp.exp(s - s.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(v.dtype) @ v


SHAPES = [((2, 3), 1024, 1024), ((), 2, 2), ((5,), 129, 65), ((1, 2), 1000, 999)]


def values(shape, dtype, seed):
    x = np.random.default_rng(seed).standard_normal(shape).astype("f4")
    return cp.asarray(x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype))


def check(function, q, k, v):
    compiled = pycompile.compile(function, fullgraph=True)
    before = compiled.stats()["plan_runs"]
    compiled(q, k, v)
    made = compiled(q, k, v).astype("f8").get()
    assert compiled.stats()["plan_runs"] == before + 2
    exact = function(*(x.astype("f8") for x in (q, k, v))).get()
    theirs = np.abs(function(q, k, v).astype("f8").get() - exact).max()
    assert np.abs(made - exact).max() <= max(1.05 * theirs, 1e-3)


def inputs(batch, queries, keys, dtype):
    return [values((*batch, n, 64), dtype, n + k) for k, n in enumerate((queries, keys, keys))]


@pytest.mark.parametrize("function", [plain, divided_last, causal, capped])
@pytest.mark.parametrize("batch, queries, keys", SHAPES)
def test_attention(function, batch, queries, keys):
    check(function, *inputs(batch, queries, keys, "float16"))


def test_bfloat16_is_refused_where_cupy_has_no_such_product():
    args = inputs((2, 3), 64, 64, "bfloat16")
    try:
        plain(*args)
    except TypeError as error:
        for _ in range(2):
            with pytest.raises(TypeError, match=str(error)):
                pycompile.compile(plain)(*args)
    else:
        check(plain, *args)


def windowed(q, k, v):
    """A mask of which rows in the middle hide whole tiles on both sides, and a bias of arrays."""
    s = q @ k.swapaxes(-1, -2) * 0.125
    i, j = cp.arange(s.shape[-2])[:, None], cp.arange(s.shape[-1])[None, :]
    s = s - abs(i - j).astype("f4") * 0.01
    s = cp.where((j > i + 100) | (i - j >= 200), -cp.inf, s)
    e = cp.exp(s - s.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(v.dtype) @ v


@pytest.mark.parametrize("function", [plain, causal, windowed])
@pytest.mark.parametrize("head", [32, 64, 128])
@pytest.mark.parametrize("batch, queries, keys", [((2, 3), 700, 700), ((7,), 640, 641)])
def test_heads(function, head, batch, queries, keys):
    """On a device that has no kernel for other heads than of 64 they stay calls."""
    args = [
        values((*batch, n, head), "float16", n + k) for k, n in enumerate((queries, keys, keys))
    ]
    check(function, *args)


def test_arrays_that_move_and_graphs():
    """Tensor maps follow their arrays, in a graph's nodes and in single launches."""
    compiled = pycompile.compile(causal, fullgraph=True)
    try:
        for way in (1, -1, 0):
            _C.test_cuda_graphs(way)
            for seed in range(6):
                args = [values((2, 300, 64), "float16", 3 * seed + k) for k in range(3)]
                made = compiled(*args).astype("f8").get()
                exact = causal(*(x.astype("f8") for x in args)).get()
                np.testing.assert_allclose(made, exact, rtol=2e-3, atol=2e-3)
    finally:
        _C.test_cuda_graphs(0)


def test_several_attentions_in_a_plan():
    def function(q, k, v):
        for _ in range(3):
            q = causal(q, k, v)
        return q

    args = inputs((2, 4), 256, 256, "float16")
    compiled = pycompile.compile(function)
    compiled(*args)
    made = compiled(*args).astype("f8").get()
    exact = function(*(x.astype("f8") for x in args)).get()
    np.testing.assert_allclose(made, exact, rtol=4e-3, atol=4e-3)


def test_rows_that_the_copy_engine_cannot_take():
    """Backwards, and with four axes of matrices."""
    q, k, v = inputs((2, 3), 130, 130, "float16")
    check(plain, q[::-1], k, v)
    check(plain, *inputs((2, 2, 2, 2), 70, 70, "float16"))


@pytest.mark.parametrize("function", [plain, causal])
def test_packed_heads(function):
    packed = values((2, 300, 3, 4, 64), "float16", 1)
    check(function, *(packed[:, :, part].transpose(0, 2, 1, 3) for part in range(3)))
