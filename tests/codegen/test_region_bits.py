"""Loops that count bits, and do no more: csrc/lower/region_bits.c."""

import numpy as np
import pytest

from tests.codegen.test_carried_ints import EDGES, kernel_text
from tests.differential import check


def numbers(n=30):
    x = np.random.default_rng(5).integers(0, 2**63 - 1, n)
    x[: min(n, 5)] = [0, 1, 2**63 - 1, 2**62, 6][: min(n, 5)]
    return x


def bits(x, out, n):
    for i in range(len(x)):
        v = int(x[i])
        while v:
            v &= v - 1
            n += 1
        out[i] = n


def several(x, out, n):
    for i in range(len(x)):
        v, m, k = int(x[i]), n, 5
        while v != 0:
            m = m - 3
            k += 1048575
            v = (v - 1) & v
        out[i] = m + k + v


def differences(x, out, n):
    last = 0
    for i in range(len(x)):
        v, k = last ^ int(x[i]), 0
        while v:
            k += 1
            v = v & (v - 1)
        out[i] = k
        last = int(x[i])


def from_the_largest(x, out, n):
    for i in range(len(x)):
        v, k, m = int(x[i]), 9223372036854775800, -9223372036854775800
        while v:
            v &= v - 1
            k += 1
            m -= 1
        out[i] = 1 if k > 9223372036854775807 else 2 if m < -9223372036854775807 else 3
    return k, m


def from_the_largest_of_numpy(x, out, n):
    for i in range(len(x)):
        v, k = int(x[i]), np.int64(9223372036854775800)
        while v:
            v &= v - 1
            k += np.int64(1)
        out[i] = k


# Others that look like them.


def divides(x, out, n):
    for i in range(len(x)):
        v, k = int(x[i]), 0
        while v:
            v &= v - 1
            _ = 1 // n
            k += 1
        out[i] = k


def takes_an_int(x, out, n):
    limit = np.float64("nan") if n == 0 else np.float64(n)
    for i in range(len(x)):
        v, k = int(x[i]), 0
        while v:
            v &= v - 1
            _ = int(limit)
            k += 1
        out[i] = k


def overflows(x, out, n):
    large = np.float64(1e300)
    for i in range(len(x)):
        v, k = int(x[i]), 0
        while v:
            v &= v - 1
            _ = large * large
            k += 1
        out[i] = k


def two_bits(x, out, n):
    for i in range(len(x)):
        v, k = int(x[i]), 0
        while v > 0:
            v &= v - 2
            k += 1
            if k > 70:
                break
        out[i] = k


def sum_of_rests(x, out, n):
    for i in range(len(x)):
        v, k = int(x[i]), 0
        while v:
            v &= v - 1
            k = k ^ v
        out[i] = k


def grows_faster(x, out, n):
    for i in range(len(x)):
        v, k, m = int(x[i]), 0, 1
        while v:
            v &= v - 1
            k += m
            m += 1
        out[i] = k


def of_another(x, out, n):
    for i in range(len(x)):
        v, w, k = int(x[i]), int(x[i]), 0
        while v:
            v &= w - 1
            w = v
            k += 1
        out[i] = k


COUNT = [bits, several, differences, from_the_largest, from_the_largest_of_numpy]
OTHERS = [divides, takes_an_int, overflows, two_bits, sum_of_rests, grows_faster, of_another]


@pytest.mark.parametrize("function", [*COUNT, *OTHERS])
def test_bits(function):
    also = [(numbers(n), np.zeros(n, int), 4) for n in (0, 1, 2, 7, 64)]
    also += [(numbers(64)[::2], np.zeros(64, int)[::2], 4)]
    also += [(numbers().astype(dtype), np.zeros(30, int), 1) for dtype in (np.uint8, np.int32)]
    also = [(np.abs(x), out, n) for x, out, n in also]
    also += [(numbers(9), np.zeros(9, int), n) for n in EDGES]
    check(function, numbers(), np.zeros(30, int), 0, also=also, captured=False)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("function", [*COUNT, *OTHERS])
def test_which_need_no_loop(function):
    text = kernel_text(function, numbers(), np.zeros(30, int), 1)
    assert ("__builtin_popcountll" in text) == (function in COUNT)


def test_a_negative_number_ends_what_is_done_at_once():
    """Python's loop over it does not end, so there is an error before it."""

    def until_the_end(x, out):
        for i in range(len(x)):
            v, k = int(x[i]), 0
            out[i + 1] = 0
            while v:
                v &= v - 1
                k += 1
            out[i + 1] += k

    x = numbers(6)
    x[5] = -1
    check(until_the_end, x, np.zeros(6, int), captured=False)
