"""What pycompile/_device_types.py says that CuPy's functions give, against what they give."""

import operator

import numpy as np
import pytest

from pycompile import _C, _device_types

cp = pytest.importorskip("cupy")

try:
    cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device", allow_module_level=True)


class Hole:
    def __init__(self, number):
        self.number = number


class Asked:
    """What by_rule reads of a trial."""

    def __init__(self, function, args, kwargs, values):
        self.function, self.args, self.kwargs, self.changed = function, args, kwargs, ()
        rest = [None] * (len(_C.StepValue.__match_args__) - 4)
        self.values = [
            _C.StepValue((_C.StepValue.DEVICE, v.dtype, v.shape, v.strides, *rest)) for v in values
        ]


def rule(function, *args, **kwargs):
    """What by_rule says; arrays come first."""
    arrays = [a for a in args if isinstance(a, cp.ndarray)]
    templates = [*map(Hole, range(len(arrays))), *args[len(arrays) :]]
    return _device_types.by_rule(Asked(function, templates, kwargs, arrays))


def check(function, *args, known=True, **kwargs):
    found = rule(function, *args, **kwargs)
    assert (found is not None) == known
    if known:
        made = function(*args, **kwargs)
        fields = dict(zip(_C.StepValue.__match_args__, found, strict=True))
        assert (made.dtype, made.shape, made.strides) == (
            fields["dtype"],
            fields["shape"],
            fields["strides"],
        )
        assert all(not cp.shares_memory(made, a) for a in args if isinstance(a, cp.ndarray))


def layouts(*shape, dtype="f4"):
    """The same shape in C order, in Fortran order and in part of another array."""
    x = cp.ones(shape, dtype)
    wider = cp.ones([2 * n for n in shape], dtype)
    return x, cp.asfortranarray(x), wider[tuple(slice(None, None, 2) for _ in shape)]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_products(dtype):
    for a in layouts(3, 4, dtype=dtype):
        for b in layouts(4, 5, dtype=dtype):
            for function in (operator.matmul, cp.matmul, cp.dot, cp.ndarray.dot):
                check(function, a, b)
        check(operator.matmul, a, cp.ones((4, 1), dtype))
        check(operator.matmul, a, cp.ones((2, 1, 4, 5), dtype))
        check(operator.matmul, a, cp.ones(4, dtype), known=False)
    for a in layouts(2, 3, 4, dtype=dtype):
        for b in layouts(2, 4, 3, dtype=dtype):
            check(operator.matmul, a, b)
        check(cp.dot, a, cp.ones((4, 3), dtype), known=False)


def test_products_of_other_dtypes():
    check(operator.matmul, cp.ones((3, 4), "i4"), cp.ones((4, 5), "i4"), known=False)
    check(operator.matmul, cp.ones((3, 4), "f4"), cp.ones((4, 5), "f8"), known=False)


@pytest.mark.parametrize("function", [cp.cumsum, cp.cumprod, cp.ndarray.cumsum, cp.ndarray.cumprod])
def test_cumulative(function):
    for dtype in ("f2", "f4", "f8", "i8"):
        x = cp.ones((3, 4, 5), dtype)
        for axis in (2, -1):
            check(function, x, axis)
            check(function, x, axis=axis)
        check(function, x)
        check(function, x, 0, known=False)
        check(function, x, 3, known=False)
    check(function, cp.ones((3, 4), "i4"), 0, known=False)
    check(function, cp.ones((3, 4)).T, 0, known=False)


@pytest.mark.parametrize("function", [cp.take, cp.ndarray.take])
@pytest.mark.parametrize("dtype", ["f4", "i2", "?"])
def test_take(function, dtype):
    for x in layouts(3, 4, 5, dtype=dtype):
        for i in (cp.zeros(2, "i8"), cp.zeros((2, 3), "u1"), cp.zeros((2, 3), "i4").T):
            check(function, x, i)
            for axis in (0, 1, 2, -1, -3):
                check(function, x, i, axis)
                check(function, x, i, axis=axis)
            check(function, x, i, 3, known=False)


def test_astype():
    for source in ("f2", "f4", "f8", "i4", "?"):
        x = cp.ones((3, 4), source)
        for dtype in ("f2", "f4", "f8", "i8", "u1", "?"):
            check(cp.ndarray.astype, x, np.dtype(dtype))
        check(cp.ndarray.astype, x.T, np.dtype("f4"), known=False)


def test_reshape():
    for x in layouts(3, 4, 5)[1:]:
        check(cp.ndarray.reshape, x, (12, 5))
        check(cp.ndarray.reshape, x, 3, 2, 10)
        check(cp.ndarray.reshape, x, 60)
        check(cp.ndarray.reshape, x, (3, 4, 1, 5), known=False)
    check(cp.ndarray.reshape, cp.ones((3, 4, 5)), (12, 5), known=False)
