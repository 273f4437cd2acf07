"""Elements by arrays of integers, in kernels on the executor.  test_cuda.py runs this file as it does
on_executor.py.  CuPy's own `take` is NumPy's here (calls_on_executor.py), which a plan calls only where a
test says so; as CuPy's, it takes an index modulo the length."""

import numpy as np
import pytest
from calls_on_executor import CALLS, by_numpy
from deviceless import cp, device, header, host, once, values


def take(a, indices, axis=None):
    return np.take(a, indices, axis, mode="wrap")


cp.take = by_numpy("take", take)
cp.ndarray.take = by_numpy(".take", take)


class Plain:
    """NumPy with that `take`."""

    take = staticmethod(take)
    sqrt, where, arange = np.sqrt, np.where, np.arange


def check(function, *args, calls=()):
    given = [device(a) if isinstance(a, np.ndarray) else a for a in args]
    compiled = once(lambda *args: function(cp, *args))
    compiled(*given)
    CALLS.clear()
    made, wanted = compiled(*given), np.asarray(function(Plain, *args))
    assert list(calls) == CALLS
    assert compiled.stats()["deopts"] == 0
    assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
    assert header(made) == header(cp.ndarray(wanted.shape, wanted.dtype))
    np.testing.assert_array_equal(host(made), wanted)


def indices(shape, length, dtype="i8", seed=1):
    return np.random.default_rng(seed).integers(0, length, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "?", "u1", "f2"])
@pytest.mark.parametrize("index", ["i8", "i4", "i1", "u4"])
def test_elements(dtype, index):
    check(lambda xp, x, i: x[i], values((50,), dtype), indices((70,), 50, index))


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_axes(shape, axis):
    x, i = values((5, 6, 8)), indices(shape, 5)
    check(lambda xp, x, i: xp.take(x, i, axis) * 2, x, i)
    check(lambda xp, x, i: x.take(i) + 1, x, i)


def test_subscripts():
    x = values((5, 6, 8))
    check(lambda xp, x, i: x[i] * 2, x, indices((4, 3), 5))
    check(lambda xp, x, i: x[:, i] * 2, x, indices((4, 3), 6))
    check(lambda xp, x, i: x[:, :, i] + x[:, :, i], x, indices((9,), 8))
    check(lambda xp, x, i: x[i, :, :] - 1, x, indices((9,), 5))


@pytest.mark.parametrize("layout", ["transposed", "backwards", "strided", "offset"])
def test_layouts(layout):
    x, i = values((6, 7)), indices((5, 2), 6)
    change = {
        "transposed": lambda x: x.T,
        "backwards": lambda x: x[::-1, ::-1],
        "strided": lambda x: x[::2, 1:],
        "offset": lambda x: x[1:, 3:],
    }[layout]
    check(lambda xp, x, i: change(x)[i] * 2, x, i % 3)
    check(lambda xp, x, i: change(x)[:, i] * 2, x, i % 4)


def test_indices_beyond_the_axis_are_taken_modulo_its_length():
    def wrapped(xp, x, i):
        return xp.take(x, i + 13, 0)

    x = values((7, 4))
    check(wrapped, x, np.arange(-30, 30))


def test_indices_and_elements_are_computed_in_the_kernel():
    def program(xp, x, i, y):
        return xp.sqrt(abs(xp.take(x, (i * 3 + 1) % 50, 0))) + y

    x, i, y = values((50,)), indices((70,), 50), values((70,), seed=2)
    check(program, x, i, y)


def test_what_is_indexed_may_be_computed():
    """By a kernel of its own: the other reads all of its elements."""
    check(lambda xp, x, i: (x * 2)[i] + 1, values((50,)), indices((1000,), 50))
    check(lambda xp, x, i: (x.sum(axis=1) - 1)[i], values((50, 8), "i4"), indices((90,), 50))
    check(lambda xp, x, i: (x + i)[i] + x, values((40,), "i8"), indices((40,), 40))


def test_rows_are_reduced():
    x, i = values((50, 33), "i4"), indices((20,), 50)
    check(lambda xp, x, i: x[i].sum(axis=1), x, i)
    check(lambda xp, x, i: x[i].sum(axis=0), x, i)
    check(lambda xp, x, i: x[:, i].max(axis=0), x, i % 33)
    check(lambda xp, x, i: x[i].sum(), x, i)
    check(lambda xp, x, i: x[i] - x[i].max(axis=1)[:, None], x, i)


def test_embeddings():
    """Many rows of packs."""
    check(lambda xp, w, i: w[i] * 2, values((100, 64)), indices((4, 32), 100))
    check(lambda xp, w, i, p: w[i] + p, values((100, 64)), indices((4, 32), 100), values((32, 64)))


def test_indices_of_indices():
    check(lambda xp, x, i: x[i[i]], values((50,)), indices((50,), 50))
    check(lambda xp, x, i: x[i][i] * 2, values((50,)), indices((50,), 50))


def test_what_stays_a_call():
    x, i = values((50,)), indices((20,), 50)
    check(lambda xp, x, i: x[i[:1]] * 2, x, i, calls=["take"])
    check(lambda xp, x, i: xp.take(x, i.astype("u8"), 0) * 2, x, i, calls=["take"])


def test_an_array_that_is_written_stays_a_call():
    def step(x, i):
        y = x[i] * 2
        x += 1
        return y

    x, i = values((50,)), indices((20,), 50)
    compiled = once(step)
    compiled(device(x.copy()), device(i))
    CALLS.clear()
    given = device(x.copy())
    np.testing.assert_array_equal(host(compiled(given, device(i))), x[i] * 2)
    np.testing.assert_array_equal(host(given), x + 1)
    assert CALLS == ["take"]
