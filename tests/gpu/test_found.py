"""Arg-reductions and scans by kernels, against CuPy on the device: places are the same, sums of integers too, and
those of floats have at most CuPy's error, in the same bits each time."""

import numpy as np
import pytest

import pycompile

cp = pytest.importorskip("cupy")

try:
    cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device", allow_module_level=True)

SHAPES = [
    ((1,), 0),
    ((1000,), None),
    ((3_000_001,), 0),
    ((64, 1000), 1),
    ((1000, 64), 0),
    ((300, 77), None),
    ((5, 1 << 18), 1),
    ((20_000, 130), 0),
    ((3, 400, 70), 1),
    ((7, 33, 50), -1),
    ((7, 33, 50), 0),
]


def values(shape, dtype, seed=1):
    x = np.random.default_rng(seed).standard_normal(shape, dtype="f4")
    return cp.asarray((x * (1 if dtype == "f2" else 9)).astype(dtype))


def layout(array):
    return array.dtype, array.shape, array.strides


def runs(function, *args):
    compiled = pycompile.compile(function, fullgraph=True, options={"plan_always": True})
    results = [compiled(*args) for _ in range(4)]
    assert compiled.stats()["deopts"] == 0
    assert compiled.stats()["plan_runs"] >= 3
    for result in results:
        cp.testing.assert_array_equal(result, results[0])
    return results[-1]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1", "?"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_places(shape, axis, name, dtype):
    x = values(shape, dtype)
    made, wanted = runs(lambda x: getattr(x, name)(axis=axis), x), getattr(x, name)(axis=axis)
    assert layout(made) == layout(wanted)
    assert made.dtype.char == wanted.dtype.char
    cp.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_the_first_that_is_no_number(shape, axis, name):
    x = values(shape, "f4")
    x.ravel()[np.random.default_rng(1).integers(0, x.size, 5)] = cp.nan
    made = runs(lambda x: getattr(cp, name)(x, axis=axis) + 0, x)
    np.testing.assert_array_equal(made.get(), getattr(np, name)(x.get(), axis=axis))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1", "?"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_scans(shape, axis, name, dtype):
    x = values(shape, dtype)
    if name == "cumprod":
        x = x % 3 if cp.dtype(dtype).kind in "iu" else x
        x = cp.exp(x / 3000) if cp.dtype(dtype).kind == "f" and dtype != "f2" else x
    made, wanted = runs(lambda x: getattr(x, name)(axis=axis), x), getattr(x, name)(axis=axis)
    assert layout(made) == layout(wanted)
    if wanted.dtype.kind in "iu":
        cp.testing.assert_array_equal(made, wanted)
        return
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.get().astype(np.longdouble), axis=axis)
        ours, theirs = (np.abs(a.get().astype(np.longdouble) - exact).max() for a in (made, wanted))
        # each element that is multiplied rounds once, whatever the order is
        roundings = 8 if name == "cumsum" else 8 + 4 * x.size**0.5
        bound = roundings * np.finfo(wanted.dtype).eps * np.abs(exact).max()
    assert not ours > max(2 * theirs, bound)


def test_scans_in_any_layout():
    x = values((60, 40, 50), "f4")
    for view in (x.T, x[::-1], x[:, ::-2], x.transpose(1, 0, 2), x[:, :, 3]):
        for axis in (None, 0, 1):
            pycompile.reset()
            made = runs(lambda x: (x * 2).cumsum(axis=axis), view)  # noqa: B023
            wanted = (view * 2).cumsum(axis=axis)
            assert layout(made) == layout(wanted)
            cp.testing.assert_allclose(
                made, wanted, rtol=1e-4, atol=1e-6 * float(abs(wanted).max())
            )


def test_a_choice_keeps_the_bits_of_a_nan():
    """The limits are numbers in the kernel, of which ptxas would make a minimum."""
    bits = np.array([0x7FC00000, 0xFFC00000, 0x7FC00001, 0xFFC12345, 0x3F000000, 0xC0400000], "u4")
    x = cp.asarray(bits.view("f4"))
    for function in (lambda x: cp.clip(x, -1, 1), lambda x: cp.where(x > 1, 1, x)):
        made, wanted = runs(function, x), function(x)
        cp.testing.assert_array_equal(made.view(cp.uint32), wanted.view(cp.uint32))
