"""Products of small arrays, which no array objects are made for (lower/bare.c), outside of loops."""

import numpy as np
import pytest
from differential import check

import pycompile

RNG = np.random.default_rng(8)


def step(w, h, b):
    return np.tanh(w @ h + b) @ w


def form(w, h):
    return h @ (w @ h)


def both(w, h):
    y = w @ h
    return y, y @ y if y.ndim == 1 else y @ y.T


def test_no_call_is_left():
    told = pycompile.explain(form)(RNG.normal(size=(5, 5)), RNG.normal(size=5))
    assert len(told.graphs) == 1 and not told.breaks
    assert "2 kernels" in str(told) and "extern" not in told.verbose()


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8", "?", "f2"])
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (0, 0), (33, 33)])
def test_dtypes(dtype, shape):
    w, h = (RNG.normal(size=shape) * 3).astype(dtype), (RNG.normal(size=shape[1]) * 3).astype(dtype)
    check(both, w, h, captured=False)
    check(both, w, w, captured=False)


@pytest.mark.parametrize("number", range(6))
def test_layouts(number):
    wide, long = RNG.normal(size=(12, 14)), RNG.normal(size=14)
    w = [wide, wide[:, ::-1], wide[::2], wide[::-1, ::2], np.asfortranarray(wide), wide.T][number]
    for h in (
        long[: w.shape[1]],
        long[::-1][: w.shape[1]],
        np.repeat(long, 2)[: 2 * w.shape[1] : 2],
    ):
        check(both, w, h)
        check(both, w, np.stack((h, h), axis=1))
    check(both, w, np.broadcast_to(2.0, w.shape[1:]))


def test_what_numpy_warns_of_and_raises():
    w, h = RNG.normal(size=(4, 4)), RNG.normal(size=4)
    for bad in (np.full(4, 1e308), np.full(4, np.inf), np.full(4, np.nan)):
        check(form, w, h, also=((w, bad),))
    check(form, w, h, also=((w, h[:3]), (w, h[:, None])), captured=False)


def test_a_result_into_its_own_operand():
    def into(w, h):
        h[:] = w @ h
        np.matmul(w, w.T, out=w)
        return h @ h

    check(into, RNG.normal(size=(5, 5)), RNG.normal(size=5))


def test_lengths_that_vary():
    compiled = pycompile.compile(step, dynamic=True, mode="wait")
    for n in (3, 8, 40, 90, 0, 1):
        w, h, b = RNG.normal(size=(n, n)), RNG.normal(size=n), RNG.normal(size=n)
        assert compiled(w, h, b).tobytes() == step(w, h, b).tobytes()
