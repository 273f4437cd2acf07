"""Kernels that are their caller's alone, since a library call has just written what they read."""

import re

import numpy as np
import pytest
from differential import check

from pycompile import _C


def padded(x):
    p = np.pad(x, ((1, 1), (2, 0)), mode="edge")
    return p[1:-1] + p[2:]


def functions(x):
    p = np.pad(x, 1, mode="wrap")
    return np.sqrt(np.exp(p) + np.log(p * p + 1)) / (np.exp(-p) + np.log1p(p * p))


def twice(x):
    return x[1:] * 0.5 + x[:-1]


def sum_of_sorted(x):
    return (np.sort(x) + 1).sum()


def of_padded(x):
    p = np.pad(x, 8)
    return (p * 2).sum(), p.max(), (p > 1).any(), p.mean()


def of_cumulated(x):
    c = np.cumsum(x)
    return (c - x).max(), np.abs(c).sum()


@pytest.mark.parametrize("function", [sum_of_sorted, of_padded, of_cumulated])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("size", [36_000, 60_000, 100_000, 200_000])
def test_parts_are_put_together(function, dtype, size):
    check(function, (np.random.default_rng(7).random(size) * 5).astype(dtype))


def kernels(function, x):
    """Units and grain of each kernel."""
    _C.report_begin()
    check(function, x)
    text = next(record["schedule"] for record in _C.report_end() if "schedule" in record)
    return [tuple(map(int, found)) for found in re.findall(r"units (\d+), grain (\d+)", text)]


@pytest.mark.parametrize(
    "function, rows, alone",
    [
        (padded, 400, True),
        (padded, 2000, False),  # more than a core's cache
        (functions, 400, False),  # much work
        (twice, 400, False),  # nobody knows who has written it
    ],
)
def test_what_a_library_call_has_written(function, rows, alone):
    found = kernels(function, np.linspace(-2, 2, rows * 300, dtype=np.float32).reshape(rows, 300))
    assert found and all((units <= grain) == alone for units, grain in found)
