"""Sums of ints that are not looked at, since what they are made of is: csrc/lower/region_small.c."""

import numpy as np
import pytest

from benchmarks import loop_programs as loops
from tests.codegen.test_carried_ints import kernel_text
from tests.differential import check

RNG = np.random.default_rng(6)
MANY = {"options": {"options": {"recompile_limit": 1000}}}


def small(*shape):
    return RNG.integers(-99, 99, shape)


def neighbours(x, out, k):
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            s = x[i - 1, j - 1] + x[i - 1, j] + x[i - 1, j + 1]
            out[i, j] = s + x[i, j - 1] - x[i, j + 1] + x[i + 1, j]


def backwards(x, out, k):
    for i in range(x.shape[0]):
        for j in range(x.shape[1] - 3, 1, -1):
            out[i, j] = x[i, j + 2] - x[i, j] + x[i, j - 2] + k


def products(x, out, k):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = 3 * x[i, j] - 5 * (x[i, j] & 255) + k * 2


def chosen(x, out, k):
    for i in range(x.shape[0]):
        for j in range(x.shape[1] - 1):
            more = x[i, j] + x[i, j + 1] + k
            less = x[i, j] - x[i, j + 1] - k
            out[i, j] = more - less if x[i, j] > k else less + 1


FUNCTIONS = [neighbours, backwards, products, chosen]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_numbers_of_any_size(function):
    """Each element in turn as large as may be, where the sums overflow and where they do not."""
    also = [(small(n, m), small(n, m), 3) for n, m in ((3, 3), (4, 5), (3, 20), (1, 9), (9, 1))]
    for number in (2**55, 2**60, 2**61, 2**62 - 1, 2**62, 2**63 - 1, -(2**62) - 1, -(2**63)):
        for at in range(0, 35, 3):
            x = small(5, 7)
            x.flat[at] = number
            also.append((x, small(5, 7), 3))
        also.append((small(5, 7), small(5, 7), number))
        also.append((np.full((5, 7), number), small(5, 7), 0))
    check(function, small(12, 12), small(12, 12), 2, also=also, **MANY)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_which_are_looked_at(function):
    text = kernel_text(function, small(9, 40), small(9, 40), 3)
    assert "wide1 |=" in text
    assert "over1 |=" not in text


def test_one_element_of_a_row():
    """Life looks at three of the eight elements around one."""
    text = kernel_text(loops.life, abs(small(9, 40)) % 2, small(9, 40))
    assert text.split("#pragma GCC ivdep")[1].count("wide1 |=") == 3
