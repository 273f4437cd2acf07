"""Python's complex on the left of NumPy's numbers: np.float64 is a float, and so taken by it."""

import numpy as np
import pytest
from differential import check
from numpy_cases import function

X = np.array([1.5, 2, -0.0, np.nan, np.inf])
CALLS = [
    "y * x.max()",
    "y + x[0]",
    "y - x.sum()",
    "y / x[0]",
    "y / x[2]",
    "y ** x[0]",
    "pow(y, x[1])",
    "y % x[0]",
    "y // x[0]",
    "y < x[0]",
    "y == x[0]",
    "y != x[3]",
    "y * x[0] + x * y",
    "x[0] * y",
    "x[0] == y",
    "y * x[:1]",
    "y * x[0].astype('f4')",
    "y * x[1].astype('i8')",
    "y * x[0].astype('c16')",
    "y * np.float64(3)",
    "sum((v for v in x), 0j)",
    "complex(x[0], x[1]) * x[0]",
]


@pytest.mark.parametrize("text", CALLS)
@pytest.mark.parametrize("left", [2j, 1.5 + 0j, np.complex128(1.5)], ids=repr)
def test_binary(text, left):
    check(function(text, "x + 1"), X, left, captured=False)


def test_added_up():
    def total(a):
        z = 0j
        for v in range(len(a)):
            z += a[v]
        return z, a + 1

    check(total, X, captured=False)
