"""What is decided by lengths, and calls of NumPy's that take lengths: one plan serves them all, where
they decide alike."""

from __future__ import annotations

import numpy as np
import pytest
from differential import differences, observe

import pycompile

RNG = np.random.default_rng(11)
PLANS = {"options": {"plan_always": True}}
LENGTHS = (9, 2, 3, 5, 8, 13, 16, 31, 32, 64, 97)


def agree(function, compiled, calls):
    for args in calls:
        assert differences(observe(function, args, {}), observe(compiled, args, {})) == [], args


def vectors(*lengths):
    return [(RNG.standard_normal(n),) for n in lengths]


def filled(x):
    if not len(x) or len(x) == 1:
        return x
    if len(x) != 4 and x.size % 3 != 7 and len(x) // 2 <= len(x):
        return np.abs(np.fft.fft(x)), np.delete(x, 0), x[[0, -1]], np.average(x)
    return x * 2


def rearranged(x):
    first, last = np.split(x[: len(x) // 2 * 2], 2)
    square = np.outer(x[:3], x) if len(x) > 4 else np.outer(x, x)
    return np.median(x), np.roll(x, 3), np.roll(x, len(x) // 2), first + last, np.rot90(square)


def of_length(x):
    n = len(x)
    return (
        np.linspace(0, 1, n) * x, np.eye(n)[0] * x, np.hanning(n), np.arange(0, n, 2), np.arange(0.0, n),
        np.arange(n, 3 * n), np.arange(-n, n, 3), np.arange(n, 0, -2), np.convolve(x, x[:2], "valid"),
    )  # fmt: skip


@pytest.mark.parametrize(("function", "most"), [(filled, 1), (rearranged, 2), (of_length, 1)])
def test_lengths_stay_symbols(function, most):
    pycompile.reset()
    compiled = pycompile.compile(function, dynamic=True, **PLANS)
    agree(function, compiled, vectors(*LENGTHS[:1], *LENGTHS[3:]))
    assert compiled.stats()["plans"] <= most
    agree(function, compiled, vectors(*LENGTHS[1:3], 4, 1, 0, 9))


def counted(x, n):
    return np.tile(x, n), np.repeat(x, n), np.pad(x, n), np.roll(x, n), np.partition(x, n)[n:]


def test_ints_that_steps_take_are_lengths():
    for dynamic, plans in ((True, 1), (None, 2)):
        pycompile.reset()
        compiled = pycompile.compile(counted, dynamic=dynamic, **PLANS)
        agree(counted, compiled, [(RNG.standard_normal(3 * n + 9), n) for n in LENGTHS[1:]])
        assert compiled.stats()["plans"] == plans
    agree(counted, compiled, [(np.ones(4), n) for n in (0, -1, 7, True)])


def test_a_length_that_is_twice_in_a_product_may_not_fit():
    def f(x):
        return x[:1] + 1 if x.size * x.shape[1] * x.shape[1] <= 10**6 else x[:1, :3] * 2

    compiled = pycompile.compile(f, dynamic=True, **PLANS)
    agree(f, compiled, [(np.ones((2, n), "i1"),) for n in (3, 5, 1 << 22, 7)])
    assert compiled.stats()["deopts"] == 0


def test_conditions_over_ints_are_python_s():
    """Also where they do not fit 64 bits, and where they raise an error."""

    def chosen(x, n, k):
        y = x[n % k : len(x)] if n % k == 1 else np.zeros(min(n, 5))
        return (y, 3 * n < 2 * k) if n * n > 100 or n * 4 - k < 0 else (x, n)

    compiled = pycompile.compile(chosen, dynamic=True, **PLANS)
    numbers = (7, 9, 3, 60, 0, -1, 2**31, 2**33, 2**61, 2**62, 2**63, 2**70, True)
    x = np.arange(5.0)
    agree(chosen, compiled, [(x, n, k) for n in numbers for k in (2, 3, 7, 0)])


def test_orders_that_flags_tell():
    def told(x):
        return x.flags.c_contiguous, x.T.flags.c_contiguous, x.flags.forc, x * 2

    compiled = pycompile.compile(told, dynamic=True, **PLANS)
    agree(told, compiled, [(np.ones(shape),) for shape in ((3, 4), (5, 7), (1, 4), (4, 1), (0, 3))])
    agree(told, compiled, [(np.ones((4, 3)).T,), (np.ones((4, 6))[:, ::2],)])


@pytest.mark.parametrize(
    "flag", [".C_CONTIGUOUS", ".forC", "['c_contiguous']", "['WriteAble']", r"['\ud800']"]
)
def test_flags_that_are_spelt_in_another_way(flag):
    """Attributes have small letters, keys have capitals."""
    space = {}
    exec(f"def asked(x):\n    return x * 2, x.flags{flag}", space)
    asked = space["asked"]
    agree(asked, pycompile.compile(asked, **PLANS), [(np.ones((3, 4)),)] * 3)


def test_a_frame_with_nothing_in_it_gets_no_plan_behind_the_first():
    def turned(x):
        return np.rot90(x) * 2

    compiled = pycompile.compile(turned, dynamic=True, **PLANS)
    agree(
        turned, compiled, [(np.ones(shape),) for shape in ((3, 4), (0, 4), (4, 0), (0, 0), (5, 3))]
    )
    assert compiled.stats()["plans"] == 1
