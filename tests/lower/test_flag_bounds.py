"""Kernels that look for floating-point flags by bounds of what they read (lower/flag_bounds.c): what is seen
is what NumPy does, wherever the one element is that raises a flag, and whatever surrounds it."""

import itertools

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C


def adam(p, g, m, v, rate, step):
    one, two = 1 - 0.9**step, 1 - 0.999**step
    m *= 0.9
    m += 0.1 * g
    v *= 0.999
    v += 0.001 * g * g
    p -= rate * (m / one) / (np.sqrt(v / two) + 1e-8)


def divide(p, g, m, v, rate, step):
    p /= m * m + v + step
    g -= np.reciprocal(np.square(m) + 1)


def choose(p, g, m, v, rate, step):
    p += np.where(m > 0, np.maximum(g, 0.5) / np.abs(v), np.minimum(m, rate))
    g[:] = np.clip(-g, -2.0, 2.0) * np.sqrt(np.absolute(m))


def products(p, g, m, v, rate, step):
    p[:] = np.sqrt(g * m * g * m) + np.sqrt(rate * v * p * p)
    m -= np.sqrt(-(-2.0 * g * g))


def mixed(p, g, m, v, rate, step):
    """Bounds cross from float64 to float32 and back."""
    p += (g.astype(np.float64) * m.astype(np.float64)).astype(p.dtype)
    v[:] = (v.astype(np.float32) * np.float32(3)).astype(v.dtype)


def under_warns(p, g, m, v, rate, step):
    with np.errstate(under="warn"):
        adam(p, g, m, v, rate, step)


def all_raise(p, g, m, v, rate, step):
    with np.errstate(all="raise"):
        adam(p, g, m, v, rate, step)


PROGRAMS = [adam, divide, choose, products, mixed, under_warns, all_raise]
BY_BOUNDS = [adam, divide, choose, products, mixed]


def arrays(shape, dtype, seed=4):
    random = np.random.default_rng(seed)
    p, g, m, v = (random.standard_normal(shape).astype(dtype) for _ in range(4))
    return p, g, m, np.abs(v) + dtype(0.1)


def schedule_of(function, *args):
    _C.report_begin()
    pycompile.compile(function)(*args)
    return next(record["schedule"] for record in _C.report_end() if "schedule" in record)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [9_000, 40_007])
def test_no_place_is_overlooked(size, dtype):
    """An infinity raises a flag wherever it is: arrays are read from several places in turn."""
    compiled = pycompile.compile(adam)
    places = {size - 1, size - 2, *range(0, size, 211), *range(0, 200, 3)}
    given = arrays(size, dtype)
    for _ in range(2):
        compiled(*arrays(size, dtype), 1e-3, 10)
    undone = compiled.stats()["deopts"]
    _C.report_begin()  # for which a plan runs that pauses
    for at in sorted(places):
        p, g, m, v = (a.copy() for a in given)
        g[at] = np.inf
        with pytest.warns(RuntimeWarning, match="invalid value"):
            compiled(p, g, m, v, 1e-3, 10)
        assert np.isnan(p[at]) and np.isnan(p).sum() == 1, at
    _C.report_end()
    assert compiled.stats()["deopts"] == undone + len(places)


@pytest.mark.parametrize("function", BY_BOUNDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_are_asked(function, dtype):
    assert "flags by bounds" in schedule_of(function, *arrays(100_000, dtype), 1e-3, 10)


def test_other_operations_have_none():
    def powers(p, g, m, v, rate, step):
        p -= np.floor(g / v)

    assert "flags by bounds" not in schedule_of(powers, *arrays(100_000, np.float64), 1e-3, 10)
    text = schedule_of(under_warns, *arrays(100_000, np.float64), 1e-3, 10)
    assert "flags by bounds" not in text


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [2, 15, 16, 63, 1000, 50_003])
def test_sizes(function, dtype, size):
    check(function, *arrays(size, dtype), 1e-3, 10, calls=2)


def odd_values(dtype):
    info = np.finfo(dtype)
    return [
        np.nan, np.inf, -np.inf, info.max, -info.max, info.tiny, -info.tiny,
        info.smallest_subnormal, 0.0, -0.0, -1.0, np.sqrt(info.max), 1 / np.sqrt(info.tiny),
    ]  # fmt: skip


def signalling_nan(dtype):
    return np.frombuffer((0x7FA00000).to_bytes(4, "little") if dtype == np.float32 else
                         (0x7FF4000000000000).to_bytes(8, "little"), dtype)[0]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("where", [0, 1, 2, 3])
def test_one_odd_element(function, dtype, where):
    size = 40_007
    for value, at in itertools.product([*odd_values(dtype), None], [0, size - 4]):
        given = arrays(size, dtype)
        given[where][at] = signalling_nan(dtype) if value is None else value
        check(function, *given, 1e-3, 10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, -0.0])
def test_all_zeros(dtype, value):
    """Moments as an optimiser begins: only the small number is below the fraction."""
    p, g, _, _ = arrays(5000, dtype)
    for grads in (g, g * 0, np.abs(g)):
        m, v = np.full(5000, value, dtype), np.full(5000, value, dtype)
        check(adam, p, grads, m, v, 1e-3, 1, calls=2)
        check(divide, p, grads, m, v, 1e-3, 0)


@pytest.mark.parametrize("state", [{"all": "warn"}, {"under": "warn"}, {"all": "raise"},
                                   {"under": "raise"}, {"all": "ignore"}])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_states_of_the_caller(state, dtype):
    within = (
        np.sqrt(np.finfo(dtype).tiny) / 100
    )  # its square underflows, those of the bounds do not
    for value in (None, within, np.finfo(dtype).tiny, np.finfo(dtype).max, np.nan, -4.0):
        p, g, m, v = arrays(20_001, dtype)
        if value is not None:
            v[-3], g[-2] = value, value
        with np.errstate(**state):
            check(adam, p, g, m, v, 1e-3, 10)


@pytest.mark.parametrize("rate", [np.nan, np.inf, 1e300, -0.0, 5e-324])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_odd_numbers(rate, dtype):
    for step in (0, 1, 10):
        check(adam, *arrays(3000, dtype), rate, step)
        with np.errstate(over="ignore"):
            number = dtype(rate)
        check(adam, *arrays(3000, dtype), number, step)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts(dtype):
    wide = arrays((60, 130), dtype)
    for part in (np.s_[:, 3:], np.s_[::2, ::3], np.s_[::-1], np.s_[:, :5], np.s_[7]):
        for value in (1.0, np.inf, -2.0):
            given = [a.copy() for a in wide]
            given[3][part][..., -1] = value
            views = [a[part] for a in given]
            check(adam, *views, 1e-3, 10)
            check(divide, views[0], views[1].T.copy().T, *views[2:], 1e-3, 10)
    rows = [a[:, :1] for a in wide]
    check(adam, wide[0], rows[1] + wide[1], wide[2], wide[3], rows[0], 10)
    check(choose, wide[0], wide[1], wide[2], wide[3], 0.5, 1)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_arrays(dtype):
    """The last of many is what NumPy tells of: none is changed before."""

    def step(params, grads, means, squares, rate, number):
        for p, g, m, v in zip(params, grads, means, squares):
            adam(p, g, m, v, rate, number)

    for shape in ((30, 20), (128, 160)):
        made = [arrays(shape, dtype, seed) for seed in range(12)]
        lists = [[a[i] for a in made] for i in range(4)]
        check(step, *lists, 1e-3, 10, calls=2)
        lists[3][-1][-1, -1] = -3.0
        check(step, *lists, 1e-3, 10)
        with np.errstate(all="raise"):
            check(step, *lists, 1e-3, 10)
