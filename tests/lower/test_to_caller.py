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
