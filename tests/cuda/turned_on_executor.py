"""Kernels that read some arrays along another axis than their rows', through tiles, against NumPy.

test_cuda.py runs this file in a process of its own, in the folder where it has built the executor."""

import numpy as np
import pytest
from deviceless import check, cp, device, host, once, values

SHAPES = [(64, 64), (128, 192), (100, 70), (33, 65), (32, 32), (200, 32), (90, 130)]


def laid_out(array, axes):
    """The same elements with the axes in this order of memory."""
    return np.ascontiguousarray(array.transpose(axes)).transpose(np.argsort(axes))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "?", "u2", "i8"])
def test_transposed(shape, dtype):
    def function(xp, x, y):
        return xp.maximum(x.T, y), x.T == y, xp.where(y == x.T, y, x.T)

    check(function, values(shape[::-1], dtype), values(shape, dtype, 2))


@pytest.mark.parametrize("n", [64, 97, 1000])
def test_with_itself(n):
    def function(xp, x):
        y = x + x.T
        return y, y * 2 - x.T

    check(function, values((n, n)))


@pytest.mark.parametrize("axes", [(0, 2, 1), (2, 1, 0), (1, 0, 2), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("shape", [(3, 40, 64), (36, 5, 33), (64, 32, 96), (2, 3, 4)])
def test_any_two_axes(shape, axes):
    def function(xp, x, y, row, column):
        return x * 2 + y, y - row * column, x + column

    x = values(shape)
    y = laid_out(values(shape, seed=2), axes)
    check(function, x, y, values(shape[-1:], seed=3), values((*shape[:-1], 1), seed=4))


def test_several_and_of_several_sizes():
    def function(xp, x, a, b, c, d):
        return a.T + x, b.T * x, xp.where(c.T, x, d.T + b.T)

    shape = (70, 90)
    turned = [
        values(shape[::-1], dtype, seed) for seed, dtype in enumerate(("f8", "f4", "?", "i1"))
    ]
    check(function, values(shape), *turned)


def test_parts_of_arrays():
    """Rows at other distances, and places that are no multiples of 16 bytes."""

    def function(xp, x, y):
        return x[1:, 1:].T + y[:-1, :-1], x[::2, ::-1].T * y[:, ::2], x[:64, 3:67].T - y[3:67, :64]

    check(function, values((130, 130)), values((130, 130), seed=2))


def test_long_bodies_have_small_tiles_or_none():
    for count in (10, 60, 150):

        def function(xp, x, y, count=count):
            z = x.T
            for _ in range(count):
                z = xp.sqrt(xp.absolute(z * 0.5 + y))
            return z

        check(function, values((96, 64)), values((64, 96), seed=2), exact=False)


def test_with_elements_by_integers():
    def function(xp, x, y, at):
        return x.T + y[at]

    check(function, values((64, 50)), values((9, 64), seed=2), np.arange(50) % 9)


def test_stored_in_place():
    def function(xp, x, y):
        y += x.T

    x, y = values((90, 70)), values((70, 90), seed=2)
    given = device(x), device(y.copy())
    once(lambda x, y: function(cp, x, y))(*given)
    np.testing.assert_array_equal(host(given[1]), y + x.T)
    np.testing.assert_array_equal(host(given[0]), x)
