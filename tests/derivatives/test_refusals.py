"""Calls of functions that have a rule, in ways for which there is none: the line is told."""

import numpy as np
import pytest

import pycompile

X = np.linspace(0.1, 1.0, 9)


def quantiles(x):
    return np.percentile(x, [10, 50]).sum()


def ramps(x):
    return np.pad(x, 2, mode="linear_ramp").sum()


@pytest.mark.parametrize("function", [quantiles, ramps])
def test_the_line_and_what_to_do_are_told(function):
    with pytest.raises(pycompile.DerivativeError, match="no derivative of .*custom_vjp") as told:
        pycompile.grad(function)(X)
    assert f"{__file__}:{function.__code__.co_firstlineno + 1}" in str(told.value)


SHARED = np.ones(9)
PART = SHARED[1:3]


def test_an_array_from_before_that_python_wrote():
    def f(x):
        SHARED[:] = x  # overlaps PART: no plan does it
        return (PART * 2).sum()

    with pytest.raises(pycompile.DerivativeError, match="written where no graph follows"):
        pycompile.grad(f)(X)
