"""Arg-reductions and scans of arrays on a device, executed on the CPU (executor.cpp); test_cuda.py runs this file
as it does on_executor.py."""

import numpy as np
import pytest
from deviceless import check, cp, device, host, once, values

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
