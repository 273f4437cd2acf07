"""Arguments that NumPy refuses, or takes in another way, of functions that are followed by rules."""

import numpy as np
import pytest
from differential import check
from numpy_cases import function

X = np.arange(6.0)
CALLS = [
    "np.diff(x, axis=1)",
    "np.diff(y, axis=2)",
    "np.diff(y, axis=-3)",
    "np.diff(np.array(2.5))",
    "np.diff(np.float64(2))",
    "np.diff(y, axis=1.0)",
    "np.diff(y, True, 0)",
    "np.roll(x, 1, axis=-2)",
    "np.roll(y, 1, axis=-3)",
    "np.roll(y, 1, axis=2)",
    "np.roll(y, 1.5, axis=1)",
    "np.roll(y, 1, axis=True)",
    "np.meshgrid(x, x, indexing='xz')",
    "np.split(x, 0)",
    "np.split(x, 4)",
    "np.split(y, 2, axis=3)",
]


@pytest.mark.parametrize("text", CALLS)
def test_as_numpy_takes_them(text):
    check(function(text, "x, y"), X, X.reshape(2, 3), captured=False)
