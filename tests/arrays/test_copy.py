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
