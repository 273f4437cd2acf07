"""Attention written plainly, on the device: the error against float64 is at most that of CuPy's own."""

import numpy as np
import pytest

import pycompile

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
    compiled(q, k, v)
    made = compiled(q, k, v).astype("f8").get()
    assert compiled.stats()["plan_runs"] == 2
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


@pytest.mark.parametrize("function", [plain, causal])
def test_packed_heads(function):
    packed = values((2, 300, 3, 4, 64), "float16", 1)
    check(function, *(packed[:, :, part].transpose(0, 2, 1, 3) for part in range(3)))
