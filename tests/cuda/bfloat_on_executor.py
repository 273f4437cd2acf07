"""bfloat16 on CuPy arrays: kernels executed on the CPU (executor.cpp), against ml_dtypes' own arithmetic.

test_cuda.py runs this file as it does on_executor.py."""

import ml_dtypes
import numpy as np
import pytest
from deviceless import breaks, check, cp, device, host, once, values

import pycompile

BFLOAT = np.dtype(ml_dtypes.bfloat16)


def every():
    """All finite numbers, and infinities.  Subnormal ones are zeros to CuPy."""
    x = np.arange(1 << 16, dtype="u2").view(BFLOAT)
    small = np.abs(x.astype("f4")) < np.finfo("f4").tiny
    return x[~(np.isnan(x) | (small & (x != 0)))]


def moderate():
    x = np.abs(every())
    return np.resize(x[(x > 1e-3) & (x < 9)], 9001)


def run(function, *args):
    compiled = once(lambda *args: function(cp, *args))
    given = [device(a) if isinstance(a, np.ndarray) else a for a in args]
    compiled(*given)
    return compiled(*given)


def test_arithmetic():
    """Each operation is done in float32 and rounded, also within a chain."""

    def function(xp, x, y):
        z = x * y + 3
        return (z, (x + y) - y, x / 3, -x, abs(x), x * x, xp.maximum(x, y), abs(x) > y, x == y)

    x = every()
    x = x[(np.abs(x) < 1e18) & ((np.abs(x) > 1e-18) | (x == 0))]
    y = np.random.default_rng(1).permutation(x)
    with np.errstate(all="ignore"):
        check(function, x, y)
        check(lambda xp, x: (x * 2, x + 1), x[:1001])
        check(lambda xp, x: x + 1, x[1:])
        check(lambda xp, x, y: x[:, None] * y[1:], x[:33], y[:65])


@pytest.mark.parametrize(
    "name", "exp log1p sin tanh sqrt rint square reciprocal sign exp2 cbrt".split()
)
def test_functions(name):
    x = moderate()
    made = run(lambda xp, x: getattr(xp, name)(x), x)
    assert made.dtype == BFLOAT
    wanted = getattr(np, name)(x.astype("f4"))
    np.testing.assert_allclose(host(made).astype("f4"), wanted, rtol=2**-8)


@pytest.mark.parametrize("name", "arctan2 hypot fmod fmax fmin power minimum".split())
def test_functions_of_two(name):
    x, y = moderate(), moderate()[::-1].copy()
    made = run(lambda xp, x, y: getattr(xp, name)(x, y), x, y)
    assert made.dtype == BFLOAT
    wanted = getattr(np, name)(x.astype("f4"), y.astype("f4"))
    np.testing.assert_allclose(host(made).astype("f4"), wanted, rtol=2**-8)


def test_both_are_nonzero():
    """On a device a subnormal second operand counts as one: CuPy's test of it is one of its bits."""
    x = np.resize(every()[::7], 5000)
    y = np.where(np.arange(5000) % 3 == 0, 0, x[::-1]).astype(BFLOAT)
    check(lambda xp, x, y: xp.logical_and(x, y), x, y)
    made = run(
        lambda xp, x, y: xp.logical_and(x, y), x[x != 0], np.full((x != 0).sum(), 1e-39, BFLOAT)
    )
    assert host(made).all()


def test_quotients_are_rounded_as_in_cupy():
    x, y = moderate(), moderate()[::-1].copy()
    wide, by = x.astype("f4"), y.astype("f4")
    quotient = np.floor(wide / by).astype(BFLOAT)
    made = run(lambda xp, x, y: (x // y, x % y), x, y)
    np.testing.assert_array_equal(host(made[0]), quotient)
    exact = wide.astype("f8") - quotient.astype("f8") * by.astype("f8")
    np.testing.assert_array_equal(host(made[1]), exact.astype("f4").astype(BFLOAT))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u2", "i8", "?"])
def test_conversions(dtype):
    wide = values((5000,), dtype)
    if dtype in ("f4", "f8"):
        wide *= np.geomspace(1e-9, 1e6, 5000).astype(dtype)
    made = run(lambda xp, x: x.astype(BFLOAT), wide)
    assert made.dtype == BFLOAT
    np.testing.assert_array_equal(host(made), wide.astype("f4").astype(BFLOAT))
    x = np.resize(np.abs(every()), 5000).clip(0, 100).astype(BFLOAT)
    check(lambda xp, x: x.astype(dtype), x)


def test_dtypes_are_those_of_cupy():
    """CuPy has other loops than NumPy with ml_dtypes: Python's floats, and `where`, give float32."""

    def function(xp, x, f4, f2, i1, i4, truth):
        return (
            x * 2,
            x * 2.5,
            x + f4,
            x + f2,
            x + i1,
            x + i4,
            x + truth,
            xp.where(truth, x, x),
            xp.clip(x, 0, 1),
            xp.floor(x),
            xp.logical_not(x),
            xp.exp(x),
        )

    x = moderate()[:500]
    others = [values((500,), dtype) for dtype in ("f4", "f2", "i1", "i4", "?")]
    made = run(function, x, *others)
    names = [str(part.dtype) for part in made]
    assert (
        names
        == (
            "bfloat16 float32 float32 float32 bfloat16 float64 bfloat16 float32 float32 bfloat16 bool "
            "bfloat16"
        ).split()
    )
    np.testing.assert_array_equal(host(made[1]), x.astype("f4") * np.float32(2.5))
    np.testing.assert_array_equal(host(made[7]), x.astype("f4"))


@pytest.mark.parametrize(
    "shape, axis", [((5000,), None), ((40, 333), 1), ((333, 40), 0), ((4000, 8), 0), ((16, 64), 1)]
)
def test_reductions(shape, axis):
    def function(xp, x):
        return x.sum(axis=axis), x.max(axis=axis), x.min(axis=axis), (x > 1).any(axis=axis)

    x = values(shape, "f4").astype(BFLOAT)
    for a, b in zip(run(function, x), function(np, x.astype("f4")), strict=True):
        wanted = b if b.dtype == bool else b.astype(BFLOAT)
        assert a.dtype == wanted.dtype
        np.testing.assert_allclose(
            host(a).astype("f4"), wanted.astype("f4"), rtol=2**-8, atol=2**-9
        )


def softmax(xp, x):
    e = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_softmax():
    x = values((33, 200), "f4").astype(BFLOAT)
    made = run(softmax, x)
    assert made.dtype == BFLOAT
    wanted = softmax(np, x.astype("f8"))
    np.testing.assert_allclose(host(made).astype("f8"), wanted, rtol=0.03)


def test_writes():
    def whole(x, y):
        x += y * 2

    def part(x, y):
        x[1:3] = y[1:3] * 2

    def number(x, y):
        x *= 3

    def fill(x, y):
        x.fill(7)

    x, y = (values((8, 40), "f4", seed).astype(BFLOAT) for seed in (1, 2))
    for written in (whole, part, number, fill):
        compiled = once(written)
        for _ in range(2):
            given, plain = device(x.copy()), x.copy()
            compiled(given, device(y))
            written(plain, y)
            np.testing.assert_array_equal(host(given), plain)
        assert compiled.stats()["plan_runs"] == 2


def test_a_number_of_the_host():
    compiled = pycompile.compile(lambda x, a: x * a + a, fullgraph=True)
    x = moderate()[:300]
    for a in (3, 4, 5, 6):
        np.testing.assert_array_equal(host(compiled(device(x), a)), x * a + a)


@pytest.mark.parametrize("part", [slice(None), slice(None, None, 2)])
@pytest.mark.parametrize("number", [0.5, 3, True])
def test_numbers_that_are_stored(number, part):
    """Known ones, and those of each call: by the kernel, CuPy itself could store nothing."""

    def store(x, a):
        x[:2] = a

    def fixed(x, a):
        x[:2] = number

    def fill(x, a):
        x.fill(a)

    for function in (store, fixed, fill):
        wanted = np.ones((7, 4), BFLOAT)[part]
        x = np.ones((7, 4), BFLOAT)[part]
        function(wanted, number)
        once(function)(device(x), number)
        np.testing.assert_array_equal(x, wanted)


def test_attributes():
    compiled = pycompile.compile(lambda x: (x + 1 if x.dtype == BFLOAT else x, x.dtype, x.itemsize))
    made, dtype, size = compiled(device(moderate()[:40]))
    assert (made.dtype, dtype, size) == (BFLOAT, BFLOAT, 2)


def test_guards_tell_halves_apart():
    compiled = pycompile.compile(lambda x: x * 2)
    x = values((64,), "f4")
    for dtype in (BFLOAT, "f2", BFLOAT, "f2"):
        given = x.astype(dtype)
        made = compiled(device(given))
        assert made.dtype == given.dtype
        np.testing.assert_array_equal(host(made), given * 2)


def test_the_host_has_none():
    x = moderate()[:40]
    told = breaks(lambda x: x + 1, x)
    assert "PC0" in told
    with pytest.raises(pycompile.GraphBreakError):
        pycompile.compile(lambda x: x.astype(BFLOAT), fullgraph=True)(x.astype("f4"))
    assert (pycompile.compile(lambda x: x + 1)(x) == x + 1).all()
