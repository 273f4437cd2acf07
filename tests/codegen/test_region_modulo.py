"""Python's ints of which only the lowest bits matter: csrc/lower/region_modulo.c."""

import numpy as np
import pytest

from tests.codegen.test_carried_ints import kernel_text
from tests.differential import check


def generator(out, state, last):
    for i in range(len(out)):
        state = (state * 1103515245 + 12345) % 2147483648
        out[i] = state + last
    return state


def factor_first(out, state, last):
    for i in range(len(out)):
        old = state
        state = (7 - 6364136223846793005 * (state + 11)) & 0x7FFFFFFFFFFFFFFF
        out[i] = (state >> 33) - (old >> 40) + last
    return state


def hashed(out, h, last):
    for i in range(len(out)):
        h = ((h ^ int(out[i])) * 1099511628211) & 0x7FFFFFFFFFFF
        h = ((h | 12) * h - (-h)) % 4294967296
        out[i] = last
    return h


def no_power(out, h, last):
    for i in range(len(out)):
        h = (h * 2147483647 + 5) & 0xFFFFFFFF0
        out[i] = h
    return h


def product_is_used(out, h, last):
    for i in range(len(out)):
        p = h * 1103515245
        h = p % 1048576
        out[i] = p
    return h


def in_loops(out, state, last):
    for i in range(len(out)):
        for _ in range(i % 4):
            state = (state * 69069 + 1) % 4294967296
        out[i] = state
    return state


def left(out, state, last):
    for i in range(len(out)):
        state = (state * 5 + 3) % 65536
        out[i] = state
        if state == last:
            break
    return state, i


STATES = [0, 1, 42, -5, 2**31 - 1, 2**31, 2**40, -(2**62), 2**63 - 1, -(2**63)]
WRAPPING = [generator, factor_first, hashed, no_power, in_loops, left]


@pytest.mark.parametrize("function", [*WRAPPING, product_is_used])
def test_ints_beyond_64_bits(function):
    for state in STATES:
        for n in (0, 1, 2, 40, 300):
            out = np.arange(n) * 3**30
            check(function, out, state, 3, captured=False)


@pytest.mark.parametrize("function", WRAPPING)
def test_nothing_is_checked_for_overflow(function):
    text = kernel_text(function, np.arange(300), 42, -1)
    assert "if (py_mul" not in text


def test_a_product_that_is_used_is_checked():
    assert "if (py_mul" in kernel_text(product_is_used, np.arange(300), 42, 0)


def test_numpys_numbers_warn():
    def scalars(x, out):
        for i in range(len(x)):
            out[i] = (x[i] * x[i]) & 0xFFFF

    with np.errstate(over="warn"):
        check(scalars, np.full(40, 2**40), np.zeros(40, int), captured=False)


def test_numbers_of_either_class():
    def either(x, m, out):
        for i in range(len(out)):
            s = 1 << 40
            for j in range(i % m):
                s = s + x[j]
            out[i] = (s * s) & 0xFFFF

    for m in (1, 2, 3):
        check(either, np.full(40, 2**40), m, np.zeros(40, int), captured=False)
