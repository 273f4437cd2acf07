"""array_copy_strided against NumPy's assignment."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycompile import _C


@st.composite
def two_views(draw):
    """A buffer and two index expressions of one shape into it, which may overlap."""
    rank = draw(st.integers(0, 3))
    shape = [draw(st.integers(0, 4)) for _ in range(rank)]
    steps = [[draw(st.sampled_from([-2, -1, 1, 2])) for _ in range(rank)] for _ in range(2)]
    order = draw(st.permutations(range(rank)))
    starts = [[draw(st.integers(0, 2)) for _ in range(rank)] for _ in range(2)]
    return shape, steps, order, starts


def take(a, shape, steps, starts):
    index = []
    for n, step, start in zip(shape, steps, starts, strict=True):
        low, high = start, start + (n - 1) * abs(step)
        if n == 0:
            index.append(slice(0, 0))
        elif step > 0:
            index.append(slice(low, high + 1, step))
        else:
            index.append(slice(high, low - 1 if low else None, step))
    return a[(*index, ...)]


@pytest.mark.slow
@given(two_views(), st.sampled_from(["u1", "i2", "f4", "f8", "c16"]))
@settings(max_examples=200, deadline=None)
def test_equals_assignment(views, dtype):
    shape, steps, order, starts = views
    size = (12,) * len(shape)
    a = np.arange(np.prod(size, dtype=int)).astype(dtype).reshape(size).transpose(order)
    b = a.copy()
    expected = take(b, shape, steps[0], starts[0])
    expected[...] = take(b, shape, steps[1], starts[1]).copy()
    _C.test_array_copy(take(a, shape, steps[0], starts[0]), take(a, shape, steps[1], starts[1]))
    assert np.array_equal(a, b)


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_between_layouts(n):
    src = np.arange(n * 5.0).reshape(n, 5)
    dst = np.zeros((5, n)).T
    _C.test_array_copy(dst, src)
    assert np.array_equal(dst, src)


def test_broadcast_source():
    dst = np.zeros((3, 4))
    _C.test_array_copy(dst, np.broadcast_to(np.arange(4.0), (3, 4)))
    assert np.array_equal(dst, [[0, 1, 2, 3]] * 3)


LARGE = {
    "dense": lambda a: a,
    "rows apart": lambda a: a[:, 1:-2],
    "columns": lambda a: a.T,
    "turned": lambda a: a[::-1, ::-1],
    "every other row": lambda a: a[::2],
    "every other element": lambda a: a[:, ::2],
}


# In parts from 256 KiB on, past the caches from 24 MiB on.
@pytest.mark.parametrize("size", [(301, 257), pytest.param((2053, 2051), marks=pytest.mark.slow)])
@pytest.mark.parametrize("source", LARGE)
@pytest.mark.parametrize("target", LARGE)
def test_large(size, source, target):
    rng = np.random.default_rng(0)
    a, b = rng.random((2, *size))
    to, of = LARGE[target](a), LARGE[source](b)
    shape = tuple(map(min, to.shape, of.shape))
    to, of = to[tuple(map(slice, shape))], of[tuple(map(slice, shape))]
    wanted = a.copy()
    LARGE[target](wanted)[tuple(map(slice, shape))] = of
    _C.test_array_copy(to, of)
    assert np.array_equal(a, wanted)


@pytest.mark.parametrize("shift", [-1, 1])
def test_large_onto_itself(shift):
    a = np.arange(301.0 * 257).reshape(301, 257)
    wanted = np.roll(a, shift, 0)
    to, of = (a[1:], a[:-1]) if shift > 0 else (a[:-1], a[1:])
    _C.test_array_copy(to, of)
    rows = slice(1, None) if shift > 0 else slice(None, -1)
    assert np.array_equal(a[rows], wanted[rows])
