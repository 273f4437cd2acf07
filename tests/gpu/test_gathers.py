"""Elements by arrays of integers, and stores by masks, against CuPy on the device."""

import numpy as np
import pytest

import pycompile

cp = pytest.importorskip("cupy")

try:
    cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device", allow_module_level=True)


def check(function, *args):
    compiled = pycompile.compile(function, fullgraph=True)
    for _ in range(3):
        ours, theirs = (
            [a.copy() if isinstance(a, cp.ndarray) else a for a in args] for _ in range(2)
        )
        made, wanted = compiled(*ours), function(*theirs)
        if wanted is not None:
            assert (made.dtype, made.shape, made.strides) == (
                wanted.dtype,
                wanted.shape,
                wanted.strides,
            )
            cp.testing.assert_array_equal(made, wanted)
        for a, b in zip(ours, theirs, strict=True):
            cp.testing.assert_array_equal(a, b)
    assert compiled.stats()["deopts"] == 0


def floats(shape, dtype="f4", seed=1):
    return cp.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def integers(shape, low, high, dtype="i8", seed=2):
    return cp.asarray(np.random.default_rng(seed).integers(low, high, shape).astype(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "?", "u1"])
@pytest.mark.parametrize("index", ["i8", "i4", "i2"])
def test_elements(dtype, index):
    x, i = floats((300,), "f4").astype(dtype), integers((1000,), -900, 900, index)
    check(lambda x, i: x[i], x, i)
    check(lambda x, i: x.take(i), x, i)


def test_axes_and_layouts():
    x, i = floats((40, 50, 60)), integers((7, 9), -100, 100)
    check(lambda x, i: x[i] * 2, x, i)
    check(lambda x, i: x[:, i] * 2, x, i)
    check(lambda x, i: x[:, :, i] + 1, x, i)
    check(lambda x, i: cp.take(x, i, axis=-1) + 1, x, i)
    check(lambda x, i: cp.take(x, i) + 1, x, i)
    check(lambda x, i: x.T[i] * 2, x, i)
    check(lambda x, i: x[::-1, ::2][:, i] * 2, x, i)


def test_neighbours_are_in_the_kernel():
    w, i, p = floats((1000, 256)), integers((8, 128), 0, 1000), floats((128, 256), seed=3)
    check(lambda w, i, p: cp.sqrt(abs(w[(i * 3 + 1) % 1000])) + p, w, i, p)
    check(lambda w, i, p: (w * 2)[i].max(axis=-1), w, i, p)


def stores(x, y):
    x[y > 0] = 0.5
    x[x < -1] = -1


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8"])
def test_stores_by_masks(dtype):
    check(stores, floats((300, 70), dtype), floats((300, 70), dtype, 4))
    check(
        lambda x, y: stores(x[::2, 1:], y[::2, 1:]),
        floats((300, 70), dtype),
        floats((300, 70), dtype, 4),
    )


def put(x, i, v):
    x[i] = v


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "?", "u1"])
@pytest.mark.parametrize("index", ["i8", "i4", "u1"])
def test_stores_by_integers(dtype, index):
    """Of distinct integers, as CuPy; of several for one place the last, as NumPy."""
    i = cp.asarray(np.random.default_rng(1).permutation(200)[:150].astype(index))
    check(put, floats((200,), "f4").astype(dtype), i, floats((150,), "f4", 3).astype(dtype))
    check(put, floats((200, 64)).astype(dtype), i, floats((150, 64), "f4", 3).astype(dtype))
    check(put, floats((200, 33)).astype(dtype), i, floats((33,), "f4", 3).astype(dtype))


@pytest.mark.parametrize("columns", [1, 3, 256, 1030, 4096])
def test_the_last_value_stays(columns):
    x, v = floats((500, columns)), floats((100_000 // columns, columns), seed=3)
    i = integers((v.shape[0],), -500, 500)
    wanted = x.get()
    wanted[i.get()] = v.get()
    compiled = pycompile.compile(put, fullgraph=True, options={"plan_always": True})
    for _ in range(4):
        given = x.copy()
        compiled(given, i, v)
        np.testing.assert_array_equal(given.get(), wanted)
    assert compiled.stats()["deopts"] == 0


def test_rows_are_updated():
    def step(w, i, g):
        w[i] = w[i] - g * 0.1

    i = cp.asarray(np.random.default_rng(1).permutation(1000)[:300])
    check(step, floats((1000, 128)), i, floats((300, 128), seed=3))
