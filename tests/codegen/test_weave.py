"""Long chains of operations, of which several vectors take turns."""

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C


def source(function, *args):
    _C.report_begin()
    pycompile.compile(function)(*args)
    return "\n".join(record.get("source", "") for record in _C.report_end())


def vector(n, dtype=np.float64, number=0):
    return np.random.default_rng(number).uniform(0.5, 1.5, n).astype(dtype)


def rows(n, dtype, number):
    """Rows of `n` elements, apart from one another."""
    return vector(60 * (n + 1), dtype, number).reshape(60, n + 1)[:, :n]


def integers(n, number):
    memory = np.random.default_rng(number).integers(-(1 << 30), 1 << 30, (60, n + 1), np.int32)
    return memory[:, :n]


def chain(x, a, b, c):
    for _ in range(20):
        x = np.maximum(x * a + b, c)
    return x


def several(x, a, b, c):
    """Results on the way, and one that is written in place."""
    y = x * a
    for _ in range(12):
        y = y * a - b
        y = np.where(y > c, y * 0.5, y)
    z = y
    for _ in range(20):
        z = z * 0.75 + a
    x += z
    return y, z > 1, x.sum()


def whole(x, a, b, c):
    for _ in range(15):
        x = (x * a ^ b) + c
        x = x | 1
    return x


SIZES = (1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 130, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("function", [chain, several])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_around_the_vectors(function, dtype):
    for n in SIZES:
        check(function, *(rows(n, dtype, k) for k in range(4)))


def test_integers():
    for n in SIZES:
        check(whole, *(integers(n, k) for k in range(4)))


def test_strides():
    check(chain, *(vector(3000, number=k)[:: k + 1][:700] for k in range(4)))
    check(chain, *(vector(900, number=k).reshape(30, 30)[:, 2:] for k in range(4)))


@pytest.mark.parametrize("at", [0, 9, 17, 40, 999])
def test_flags(at):
    """In any of the vectors: NumPy's warning is NumPy's."""
    x, a, b, c = (vector(1000, number=k) for k in range(4))
    x[at] = 1e300
    a[at] = 1e10
    check(chain, x, a, b, c)
    with np.errstate(all="raise"):
        check(chain, x, a, b, c)
    x[at] = np.nan
    check(chain, x, a, b, c)


def test_vectors_take_turns():
    text = source(chain, *(vector(1000, number=k) for k in range(4)))
    assert "v2b = " in text and "v2 = " in text


def test_short_bodies_do_not():
    assert "v2b = " not in source(lambda x, a: x * a + a - x * 2, vector(100_000), vector(100_000))
