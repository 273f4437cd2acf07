"""Arg-reductions and scans of arrays on a device, executed on the CPU (executor.cpp); test_cuda.py runs this file
as it does on_executor.py."""

import numpy as np
import pytest
from calls_on_executor import CALLS, by_numpy
from deviceless import check, cp, device, header, host, once, values

SCAN = [np.cumsum]
cp.cumsum = by_numpy("cumsum", lambda x, axis=None: SCAN[0](x, axis))
cp.cumprod = by_numpy("cumprod", np.cumprod)
cp.ndarray.cumprod = by_numpy(".cumprod", np.ndarray.cumprod)

SHAPES = [
    ((1,), None),
    ((7,), 0),
    ((1000,), None),
    ((100_000,), None),
    ((5, 300), 1),
    ((300, 5), 0),
    ((64, 33), None),
    ((3, 40, 7), 1),
    ((3, 40, 7), -1),
    ((2000, 130), 0),
    ((1, 70_000), 1),
]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1", "?"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places(name, dtype):
    for shape, axis in SHAPES:
        x = (values(shape, "f4", 3) * 4).astype(dtype)  # many of a value
        check(lambda xp, x, axis=axis: getattr(x, name)(axis=axis), x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_what_is_no_number_comes_first(name):
    for shape, axis in SHAPES:
        x = values(shape, "f4", 5)
        for count in (1, 3):
            x.reshape(-1)[np.random.default_rng(count).integers(0, x.size, count)] = np.nan
            check(lambda xp, x, axis=axis: getattr(xp, name)(x, axis), x)
        check(lambda xp, x, axis=axis: getattr(xp, name)(x, axis), np.full_like(x, np.nan))
        check(lambda xp, x, axis=axis: getattr(xp, name)(x, axis), np.full_like(x, -np.inf))


def test_places_in_what_was_written_are_of_the_array():
    """Which `long` they are depends on the array's layout, not on that of the value it was given."""

    def written(x):
        x += 1
        return x.argmax()

    for x in (values((5, 6)), np.asfortranarray(values((5, 6))), values((5, 12))[:, ::2]):
        chars = {once(f)(device(x)).dtype.char for f in (written, lambda x: x.argmax())}
        assert len(chars) == 1


def test_places_are_of_long_long():
    """As CuPy's are: NumPy's `long` has the same bits and another name."""
    x = device(values((6, 8)))
    for function, char in (
        (lambda x: x.argmax(axis=1), "q"),
        (lambda x: cp.argmin(x), "l"),  # by CUB
        (lambda x: cp.argmin(x[:, ::2]), "q"),
        (lambda x: x.argmax(axis=1)[2:], "q"),
        (lambda x: x.argmax(axis=1) + 1, "l"),
    ):
        compiled = once(function)
        assert [compiled(x).dtype.char for _ in range(3)] == [char] * 3


def test_places_in_any_layout():
    x = values((30, 40, 5), "f4")
    for axis in (None, 0, 1, 2):
        for view in (x, x.T, x[::-1], x[:, ::-2], x.transpose(1, 0, 2), x[:, :, 2], x[::-1, ::-1]):
            fortran = view.flags.f_contiguous and axis == 0  # CuPy's result may be so, too
            if axis is None or (axis < view.ndim and not fortran):
                check(lambda xp, x, axis=axis: xp.argmax(x, axis=axis), view)


def test_places_beside_other_reductions():
    def function(xp, x, y):
        z = x * 2 - y
        return xp.argmax(z, axis=1), z.max(axis=1), xp.argmin(z, axis=1), z + 1

    check(function, values((50, 300)), values((300,), seed=2))
    check(lambda xp, x: (x.argmax(axis=0, keepdims=True), x.max(axis=0)), values((1000, 40)))
    check(lambda xp, x: x - x.argmax(axis=1, keepdims=True), values((50, 30)))


def scanned(function, *args):
    """function(xp, …), which calls nothing, against NumPy in a wider float; twice the same bits."""
    compiled = once(lambda *args: function(cp, *args))
    given = [device(a) for a in args]
    compiled(*given)
    CALLS.clear()
    made, again = compiled(*given), compiled(*given)
    assert CALLS == []
    assert compiled.stats()["deopts"] == 0
    wanted = function(np, *args)
    assert header(made) == header(cp.ndarray(wanted.shape, wanted.dtype))
    np.testing.assert_array_equal(host(made), host(again))
    if wanted.dtype.kind in "iu":
        np.testing.assert_array_equal(host(made), wanted)
        return
    wanted = function(np, *(a.astype(np.longdouble) for a in args))
    error = 32 * np.finfo(made.dtype).eps * (1 + np.abs(wanted).max())
    assert np.abs(host(made).astype(np.longdouble) - wanted).max() <= error


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1", "?"])
def test_sums(dtype):
    for shape, axis in SHAPES:
        x = (values(shape, "f4", 3) * (1 if dtype == "f2" else 4)).astype(dtype)
        scanned(lambda xp, x, axis=axis: xp.cumsum(x, axis=axis), x)


def test_products():
    for shape, axis in SHAPES:
        x = np.exp(values(shape, "f8", 3) / 300)
        scanned(lambda xp, x, axis=axis: xp.cumprod(x, axis), x)
        scanned(lambda xp, x, axis=axis: x.cumprod(axis=axis), x.astype("f4").astype("i2"))


def test_scans_in_any_layout():
    x = values((30, 40, 5), "f4")
    for view in (
        x,
        x.T,
        x[::-1],
        x[:, ::-2],
        x.transpose(1, 0, 2),
        x[:, :, 2],
        x[:1],
        x[:, :1, ::2],
    ):
        scanned(lambda xp, x: x.cumsum(), view)
        for axis in range(view.ndim):
            scanned(lambda xp, x, axis=axis: x.cumsum(axis), view)
            scanned(lambda xp, x, axis=axis: (x * 2).cumsum(axis=axis) - 1, view)


def test_the_first_sum_is_the_first_element():
    x = np.array([-0.0, -0.0, 0.0, -0.0], "f4")
    made = once(lambda x: cp.cumsum(x))(device(x))
    np.testing.assert_array_equal(np.signbit(host(made)), np.signbit(np.cumsum(x)))
    y = np.tile(np.float32(-0.0), (3, 5))
    made = once(lambda x: cp.cumsum(x, axis=0))(device(y))
    assert np.signbit(host(made)).all()


def test_scans_whose_axis_is_the_last_in_memory():
    """CuPy may give such ones, whatever the axis is."""

    def turned(x, axis=None):
        last = np.ascontiguousarray(np.moveaxis(x, axis, -1))
        return np.moveaxis(np.cumsum(last, axis=-1), -1, axis)

    SCAN[0] = turned
    try:
        for shape, axis in (((50, 30), 0), ((7, 2000), 0), ((6, 9, 5), 1), ((2000, 3), 0)):
            x = values(shape)
            compiled = once(lambda x, axis=axis: cp.cumsum(x, axis=axis))
            for _ in range(3):
                made = compiled(device(x))
                assert made.strides == turned(x, axis).strides
                np.testing.assert_allclose(host(made), np.cumsum(x, axis), rtol=1e-4, atol=1e-4)
            CALLS.clear()
            compiled(device(x))
            assert CALLS == []
    finally:
        SCAN[0] = np.cumsum
