"""Complex numbers in kept loops: Python's, and NumPy's complex128."""

import numpy as np
import pytest

import pycompile
from pycompile import _C
from tests.differential import MANY, check, check_whole, differences, observe
from tests.reports import keeps_loop

RNG = np.random.default_rng(45)
C = RNG.standard_normal(40) + 1j * RNG.standard_normal(40)
D = RNG.standard_normal(40) - 1j * RNG.standard_normal(40)
RE, IM = np.linspace(-2, 1, 12), np.linspace(-1.5, 1.5, 12)
ODD = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e200, 1e-200, 5e-324]
EDGES = np.array([complex(a, b) for a in ODD for b in ODD])


def escape_pythons(out, most):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            c = complex(-2 + 3 * i / out.shape[0], -1.5 + 3 * j / out.shape[1])
            z = 0j
            n = 0
            while abs(z) <= 2 and n < most:
                z = z * z + c
                n += 1
            out[i, j] = n
    return out


def escape_from_int(c, out, most):
    for i in range(len(c)):
        z = 0
        for n in range(most):  # noqa: B007
            if abs(z) > 2:
                break
            z = z * z + c[i]
        out[i] = n
    return out


def escape_of_axes(re, im, out, most):
    for i in range(len(re)):
        for j in range(len(im)):
            c = re[i] + 1j * im[j]
            z = 0.0
            for n in range(most):  # noqa: B007
                z = z**2 + c
                if z.real * z.real + z.imag * z.imag > 4.0:
                    break
            out[i, j] = n
    return out


def julia(c, out, most):
    for i in range(len(c)):
        z = c[i]
        n = 0
        while n < most and abs(z) < 2:
            z = z**2 + (-0.4 + 0.6j)
            n += 1
        out[i] = n
    return out


def transform(x, out):
    for k in range(len(out)):
        s = 0j
        for t in range(len(x)):
            s += x[t] * np.exp(-2j * np.pi * k * t / len(out))
        out[k] = s
    return out


def operators(x, y, out):
    for i in range(len(x)):
        a, b = x[i], y[i]
        out[i, 0] = a + b
        out[i, 1] = a - b
        out[i, 2] = a * b
        out[i, 3] = a / b
        out[i, 4] = -a
        out[i, 5] = abs(a)
        out[i, 6] = a.conjugate() * b.real + b.imag
        out[i, 7] = a**2
        out[i, 8] = a * 2.5 - 1
        out[i, 9] = (a == b) + (a != 1) + np.abs(b)
    return out


def operators_of_python(x, y, out):
    for i in range(len(x)):
        a, b = complex(x[i].real, x[i].imag), complex(y[i].real, y[i].imag)
        out[i, 0] = a + b
        out[i, 1] = a - b
        out[i, 2] = a * b
        out[i, 3] = x[i].real * b
        out[i, 4] = -a
        out[i, 5] = b * x[i].real
        out[i, 6] = a.conjugate() * b.real + b.imag
        out[i, 7] = a * 2 - 1.5
        out[i, 8] = x[i].real + b
        out[i, 9] = (a == b) + (a != 1)
    return out


def of_one(x, out, operation):
    for i in range(len(x)):
        z = complex(x[i].real, x[i].imag)
        if operation == 0:
            out[i] = abs(z)
        elif operation == 1:
            out[i] = z**2
        elif operation == 2:
            out[i] = z**7
        elif operation == 3:
            out[i] = 1 / z
        else:
            out[i] = x[i] / z
    return out


def running(x, y):
    s = 0.0
    for i in range(len(x)):
        s = s * x[i] + y[i]
    return s


def sometimes(x, y):
    s = 0
    for i in range(len(x)):
        if x[i].real > 0:
            s = s * s + y[i]
        y[i] = s
    return s


def last_index(c, out):
    for i in range(len(c)):
        for k in range(i + 1):
            if abs(c[k]) > 2:
                break
        out[i] = k
    return out


def last_of_none(c, out):
    k = 0
    for i in range(len(c)):
        for k in range(i):
            if abs(c[k]) > 2:
                break
        out[i] = k
    return out


def unbound(c, out):
    for i in range(len(c)):
        for k in range(i):
            if abs(c[k]) > 2:
                break
        out[i] = k
    return out


@pytest.mark.slow
def test_escape_times():
    check_whole(escape_pythons, np.zeros((9, 9), int), 30)
    check_whole(escape_from_int, C, np.zeros(40, int), 30, also=[(C, np.zeros(40, int), 1)])
    check_whole(escape_of_axes, RE, IM, np.zeros((12, 12), int), 30)
    check_whole(julia, C, np.zeros(40, int), 30)
    assert keeps_loop(escape_from_int, C, np.zeros(40, int), 30)
    assert keeps_loop(escape_of_axes, RE, IM, np.zeros((12, 12), int), 30)


@pytest.mark.slow
def test_sums_and_transforms():
    check_whole(transform, RNG.standard_normal(16), np.zeros(16, complex))
    check_whole(transform, C[:16], np.zeros(16, complex))
    check_whole(running, C, D)
    check_whole(sometimes, C, D.copy())


def test_operators_have_the_bits_of_scalars():
    with np.errstate(all="ignore"):
        for function in (operators, operators_of_python):
            check_whole(function, C, D, np.zeros((40, 10), complex))
            compiled = pycompile.compile(function, **MANY)
            for turn in range(0, 100, 7):
                calls = []
                for called in (function, compiled):
                    out = np.zeros((100, 10), complex)
                    calls.append(observe(called, (EDGES, np.roll(EDGES, turn), out), {}))
                assert differences(*calls, one_nan=True) == []
            assert compiled.stats()["plan_runs"] > 0


@pytest.mark.slow
def test_what_warns_or_raises_is_left_to_python():
    check(operators, EDGES, EDGES[::-1].copy(), np.zeros((100, 10), complex), whole=False)
    for operation in range(5):
        check_whole(of_one, C, np.zeros(40, complex), operation)
        check(of_one, EDGES, np.zeros(100, complex), operation, captured=False)
        for edge in EDGES[::3]:
            check(of_one, np.array([edge]), np.zeros(1, complex), operation, captured=False)


def total(a, s):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j]
    return s


def total_from_0j(a):
    s = 0j
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j]
    return s


def test_sums_of_nested_loops():
    """Python's number where there was no turn, NumPy's else."""
    a = (np.arange(600.0) + 1j).reshape(30, 20)
    empty = a[:0], a[:, :0], a[:1, :1]
    for start in (0j, 1 + 2j, np.complex128(0)):
        check(total, a, start, also=tuple((e, start) for e in empty))
    check(total_from_0j, a, also=tuple((e,) for e in empty))


def test_a_variable_of_an_inner_loop_is_read_behind_it():
    check_whole(last_index, C, np.zeros(40, int))
    check(last_of_none, C, np.zeros(40, int), whole=False)
    check(unbound, C, np.zeros(40, int), whole=False)


def test_single_complex_numbers_are_left_to_numpy():
    check(operators, C.astype("c8"), D.astype("c8"), np.zeros((40, 10), "c8"), whole=False)


@pytest.mark.slow
@pytest.mark.parametrize("variants", [1, 2])
def test_each_variant_of_the_loop(variants):
    _C.test_variants(variants)
    try:
        test_escape_times()
        test_sums_and_transforms()
    finally:
        _C.test_variants(0)
