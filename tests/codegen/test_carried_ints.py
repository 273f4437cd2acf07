"""Ints that loops carry and that need no check of each sum: csrc/lower/region_carried.c."""

import logging

import numpy as np
import pytest

import pycompile
from tests.differential import MANY, check


def kernel_text(function, *args):
    """The C of the kernel that is compiled for the call."""
    texts = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())
    logger = logging.getLogger("pycompile.output_code")
    logger.addHandler(handler)
    try:
        with pycompile.set_logs("output_code"):
            pycompile.compile(function)(*args)
    finally:
        logger.removeHandler(handler)
    return "\n".join(texts)


EDGES = [
    0,
    1,
    2**61 - 1,
    2**61,
    2**61 + 1,
    2**62,
    2**63 - 3,
    2**63 - 1,
    -(2**61),
    -(2**61) - 1,
    -(2**63),
]


def counted(x, k, j):
    for i in range(len(x)):
        if x[i] > 0:
            k += 1
        elif x[i] < -1:
            k -= 3
            j += 2
        j = j - 1
    return k, j


def counted_in_a_while(x, k, j):
    i = 0
    while x[i] < 9:
        if x[i] > 0:
            k = k + 1048576
        i += 1
        j -= 1
    return i, k, j


def counted_in_two(x, k, j):
    for i in range(4):
        for _ in range(i):
            k += 1
        j = k + 5
        k -= 2
        x[i] = 1.0
    return k, j


def counted_through_loops(x, k, j):
    i = 0
    while i < len(x) - 1:
        k += 1
        while i < len(x) - 1 and x[i] > 0:
            i += 1
            k += 2
            j -= 1048576
        for _ in range(3):
            k -= 1
        while j > k and i < len(x) - 1:
            j -= 7
            i += 1
        i += 1
    return i, k, j


def swapped_counters(x, k, j):
    i = 0
    while x[i] < 9:
        m = j
        while x[i] > 0.5 and x[i] < 9:
            k += 1
            i += 1
            m += 1
        k, j = m, k
        j += 1
        if x[i] < 9:
            i += 1
    return i, k, j


def numbers():
    x = np.random.default_rng(3).standard_normal(30) * 2
    x[-1] = 9
    return x


@pytest.mark.parametrize(
    "function",
    [counted, counted_in_a_while, counted_in_two, counted_through_loops, swapped_counters],
)
def test_counters_near_the_ends(function):
    also = [(numbers(), k, j) for k in EDGES for j in (0, -k, 2**61)]
    check(function, numbers(), 3, 4, also=also, captured=False, options=MANY)


def bits(x, out):
    for i in range(len(x)):
        n, v = 0, int(x[i])
        while v:
            v &= v - 1
            n += 1
        out[i] = n


def halvings(x, out):
    for i in range(len(x)):
        n, v = -1, int(x[i])
        while v > 0:
            if v & 1:
                n += 2
            v >>= 1
        out[i] = n


def digits(x, out):
    for i in range(len(x)):
        n, v, last = 0, int(x[i]), 0
        while v != 0:
            last = v - 7
            v = v // 10
            n += 1
            if n > 15:
                break
        out[i] = n + last


def until_a_bit(x, out):
    for i in range(len(x)):
        n, v = 0, int(x[i])
        while 3 < v:
            if v & 64:
                break
            v //= 2
            n += 1
        else:
            n = -n
        out[i] = n


@pytest.mark.parametrize("function", [bits, halvings, digits, until_a_bit])
def test_ints_that_shrink(function):
    x = np.random.default_rng(4).integers(0, 2**62, 30)
    x[:8] = 0, 1, 2, 3, 2**62, 2**63 - 1, 64, 10**18
    also = [(x[:k], np.zeros(k, int)) for k in (0, 1, 5)]
    if function in (halvings, until_a_bit):  # the others do not end
        also += [(-x, np.zeros(30, int)), (np.array([5, -(2**63), 7]), np.zeros(3, int))]
    check(function, x, np.zeros(30, int), also=also, captured=False)


def beside_an_index(x, at, out):
    """What has been an index is small, where it has been one."""
    for i in range(len(at)):
        k = at[i]
        if k > -9:
            out[i] = x[k] + (k + 1)
        else:
            out[i] = k - 1
        out[i] += k + 1


@pytest.mark.parametrize("wrong", [None, 2**63 - 1, -(2**63), -3, 30])
def test_what_has_been_an_index(wrong):
    at = np.arange(20)
    at[7] = at[7] if wrong is None else wrong
    check(beside_an_index, np.arange(30), at, np.zeros(20, int), captured=False)


def test_what_is_emitted_for_them():
    """No check of a sum in the loops; without it gcc counts bits by an instruction."""
    text = kernel_text(bits, np.arange(9), np.zeros(9, int))
    assert "_overflow" not in text.split("log->more(log)")[1]
    text = kernel_text(counted, numbers(), 3, 4)
    assert "_overflow" not in text.split("log->more(log)")[1]


def up_or_down(x, out, up, down):
    s = 0.0
    for i in range(1, len(x)):
        if x[i] > 0.2:
            out[i] = out[i - 1] + 1
        else:
            out[i] = out[i - 1] - 1
        if x[i] * x[i] > 0.2:
            s = s + up
        else:
            s = s - down
    return s


def nan_in_one_arm(x, out):
    for i in range(1, len(x)):
        if x[i] > 0.2:
            out[i] = out[i - 1] + 1.5
        else:
            out[i] = out[i - 1] - np.nan


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_both_arms_add_to_one_number(dtype):
    x = np.random.default_rng(5).standard_normal(40).astype(dtype)
    odd = x.copy()
    odd[[3, 9, 20]] = np.nan, np.inf, -np.inf
    out = lambda first: np.full(40, first, dtype)
    also = [(odd, out(v), 0.1, w) for v in (0.0, -0.0, np.inf, np.nan) for w in (0.1, -0.0, 2.0)]
    check(up_or_down, x, out(0), 0.5, 0.25, also=also, captured=False)
    check(nan_in_one_arm, x, out(0.0), also=((odd, out(-np.nan)),), captured=False)


def searched(x, y, out):
    n = 0
    for k in range(len(y)):
        i = 0
        while x[i] < y[k]:
            i += 1
        out[k] = i
        n += i
    return n


def test_a_branch_that_leaves_is_a_jump():
    x = np.arange(40.0)
    args = (x, np.array([3.5, 0.0, 38.0, 39.0]), np.zeros(4, int))
    check(searched, *args, also=((x, np.array([3.5, 99.0]), np.zeros(2, int)),), captured=False)
    assert "? s" not in kernel_text(searched, *args)
