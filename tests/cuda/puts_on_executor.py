"""Stores by arrays of integers, executed on the CPU (executor.cpp); test_cuda.py runs this file as it does
on_executor.py.  Of several values for one place the last stays, as in NumPy."""

import numpy as np
import pytest
from calls_on_executor import CALLS
from deviceless import breaks, cp, device, host, once, values


def check(function, *args):
    """function(xp, …) writes its first argument; three times, on arrays that move.  CuPy stores nothing itself."""
    stored = []
    before = cp.ndarray.__setitem__
    compiled = once(lambda *args: function(cp, *args))
    cp.ndarray.__setitem__ = lambda *args: stored.append(args)
    try:
        for number in range(3):
            given = [device(a.copy()) for a in args]
            wanted = [a.copy() for a in args]
            CALLS.clear()
            result, right = compiled(*given), function(np, *wanted)
            assert number == 0 or CALLS == []  # the first call is a trial, too
            assert stored == []
            assert compiled.stats()["deopts"] == 0
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(host(a), b)
            if right is not None:
                np.testing.assert_array_equal(host(result), right)
    finally:
        cp.ndarray.__setitem__ = before


def integers(shape, low, high, dtype="i8", seed=2):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def put(xp, x, i, v):
    x[i] = v


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "?", "u1"])
@pytest.mark.parametrize("index", ["i8", "i4", "i2", "u1"])
def test_elements(dtype, index):
    i = integers((500,), 0 if index == "u1" else -90, 90, index)
    check(put, values((90,), dtype), i, values((500,), dtype, 3))


@pytest.mark.parametrize(
    "shape, index, given",
    [
        ((40, 8), (100,), (100, 8)),
        ((40, 8), (100,), (8,)),
        ((40, 8), (100,), (1,)),
        ((40, 8), (100,), ()),
        ((40, 5, 3), (7, 9), (7, 9, 5, 3)),
        ((40, 5, 3), (7, 9), (5, 3)),
        ((7, 1030), (5,), (5, 1030)),
        ((7, 1032), (5,), (5, 1032)),
        ((7, 1032), (5,), (1032,)),
        ((3, 1), (5,), (5, 1)),
        ((3,), (1,), (1,)),
    ],
)
def test_shapes(shape, index, given):
    i = integers(index, -shape[0], shape[0])
    check(put, values(shape), i, values(given, seed=5))


def test_values_are_computed_and_converted():
    def function(xp, x, i, v):
        y = v * 2 + x[:1]
        x[(i * 3) % 40] = y
        return y

    check(function, values((40, 6)), integers((9,), 0, 90), values((9, 6), seed=3))
    check(put, values((40, 6), "f4"), integers((9,), 0, 40), values((9, 6), "f8", 3))
    check(put, values((40, 6), "i4"), integers((9,), 0, 40), values((9, 6), "i8", 3))
    check(put, values((40, 6)), integers((9,), 0, 40), values((6, 9), seed=3).T)
    check(put, values((40, 6)), integers((3, 9), 0, 40).T, values((9, 3, 6), seed=3))


def test_the_rows_that_are_changed_are_read_before():
    def function(xp, x, i, v):
        x[i] = x[i] - v * 0.1

    check(function, values((40, 6)), integers((30,), 0, 40), values((30, 6), seed=3))


def test_what_is_left_to_cupy():
    x, i, v = device(values((6,))), device(integers((3,), 0, 6)), device(values((3,)))

    def twice(x, i, v):
        x[i] = v
        x[:2] = v[:2]

    def read(x, i, v):
        x[i] = v
        return x + 1

    def behind(x, i, v):
        x += 1
        x[i] = v

    assert "behind a store by integers" in breaks(twice, x, i, v)
    assert "behind a store by integers" in breaks(read, x, i, v)
    assert "beside other writes" in breaks(behind, x, i, v)
