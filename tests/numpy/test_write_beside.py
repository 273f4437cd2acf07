"""Writes in place by NumPy's own loops, whose bits depend on where their operands' memory lies.

NumPy's vector loops give way to scalar ones, of other bits, where the memory of an operand reaches
into that of the output, though they may have no element in common.
"""

import numpy as np
import pytest
from differential import check

import pycompile

RNG = np.random.default_rng(5)


def planes(x):
    x[1:] *= x[0]
    return x


def columns(x):
    x[:, :, 1] *= x[:, :, 0]
    return x


def power_between(x):
    np.power(x[..., 0], 2.5, out=x[..., 1])
    return x


def exp_between(x):
    np.exp(x[..., 0], out=x[..., 1])
    return x


def ahead(x):
    np.exp(x[:-1], out=x[1:])
    return x


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64, np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("function", [planes, columns, power_between, exp_between, ahead])
def test_views_of_one_array(function, order, dtype):
    x = RNG.uniform(0.1, 2.0, (4, 30, 6))
    x = x * (1 + 0.3j) if np.dtype(dtype).kind == "c" else x
    check(function, np.array(x.astype(dtype), order=order))


def zeros_into(a, b, out):
    np.fmax(a, b, out=out)
    return out


def test_reversed_target():
    """Which of two zeros fmax takes depends on the position in NumPy's loop."""
    for length in (4, 9, 33):
        a, b = np.zeros((1, length)), -np.zeros((1, length))
        for first, second in ((a, b), (b, a)):
            for out in (
                np.ones((1, length))[:, ::-1],
                np.ones((1, length)),
                np.ones((length, 1)).T,
            ):
                check(zeros_into, first, second, out)


def multiply(a, b):
    a *= b
    return a


def exp_into(a, b):
    np.exp(b, out=a)
    return a


@pytest.mark.parametrize("dtype", [np.complex128, np.float64, np.float32])
@pytest.mark.parametrize("function", [multiply, exp_into])
def test_two_arguments(function, dtype):
    """Interleaved first and apart then, and the other way round, with one compiled function."""

    def arguments(interleaved):
        z = RNG.uniform(0.1, 2.0, (300, 2))
        z = (z * (1 + 0.3j) if np.dtype(dtype).kind == "c" else z).astype(dtype)
        return (z[:, 0], z[:, 1]) if interleaved else (z[:, 0], z.copy()[:, 1])

    for kinds in ([True, False, True], [False, True, False]):
        compiled = pycompile.compile(function)
        for interleaved in kinds:
            a, b = arguments(interleaved)
            memory = a.base.copy()
            expected = function(memory[:, 0], memory[:, 1] if interleaved else b)
            assert compiled(a, b).tobytes() == expected.tobytes()


def often(a, b):
    for _ in range(10):
        a *= b
        a += b
    return a


def test_two_arguments_have_one_guard():
    a, b = RNG.uniform(0.9, 1.1, (2, 30)) * (1 + 0.1j)
    report = pycompile.explain(pycompile.compile(often))(a, b)
    guards = [str(guard) for guard in report.guards]
    assert sum("lies apart" in guard for guard in guards) == 1, guards


def overlapping_halves(x):
    """Complex elements that begin inside each other."""
    a, b = x[:-1].view("c16"), x[1:].view("c16")
    a[:1] *= b[:1]
    return x


def test_views_that_begin_within_an_element():
    check(overlapping_halves, RNG.uniform(0.1, 2.0, 9))


def scaled_by_itself(x):
    x[...] *= np.expand_dims(x, 0).max()
    return x


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_one_complex_number(dtype):
    for _ in range(20):
        number = complex(*RNG.standard_normal(2))
        check(scaled_by_itself, np.array(number, dtype))
        check(scaled_by_itself, np.array([number], dtype))


CROSSING = [
    "d[-k - 1] = d[:, k]",
    "d[::-1, k] = d[-k - 1, ::-1]",
    "x[k:k + 6:2] = x[k:k + 3]",
    "d[int(x.argmax())] = d[:, int(x.argmin())]",  # places that only the run tells
    "d[int(x.argmax())] = d[:, 2]",
]
BESIDE = [
    "d[k + 1] = d[:, k]",  # from the last element on
    "d[k, k + 1:] = d[k + 1:, k]",
    "d[k, ::-1] = d[:, k + 1]",
    "x[k:k + 3] = x[k:k + 6:2]",
    "d[int(x.argmax())] = d[int(x.argmin())]",
]


def each_turn(statement):
    scope = {}
    exec(f"def f(d, x, n):\n    for k in range(n - 1):\n        {statement}\n", scope)
    return scope["f"]


@pytest.mark.parametrize("statement", CROSSING)
def test_copy_to_a_view_that_crosses(statement):
    """NumPy reads what it has written."""
    check(each_turn(statement), RNG.random((6, 6)), RNG.random(12), 6, captured=False)


@pytest.mark.parametrize("statement", BESIDE)
def test_copy_to_a_view_whose_elements_are_read_first(statement):
    check(each_turn(statement), RNG.random((6, 6)), RNG.random(12), 6, whole=True)
