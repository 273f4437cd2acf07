"""Warnings of kept loops, by the backend "eager" as by the native one: those of plain Python."""

import warnings

import numpy as np
import pytest
from differential import check

FLOATS = np.array([3e38, 1, 0, -1, np.inf, np.nan, -np.inf, 1e-38] * 20, np.float32)
EXPRESSIONS = [
    *("x[i] + x[i]", "x[i] - x[0]", "x[i] * x[i]", "-x[i]", "abs(x[i])", "x[i] ** 2", "x[i] << 3"),
    *("1 - x[i]", "x[i] * 2", "x[i] // x[4]", "x[i] % x[4]", "x[i] / x[4]", "np.add(x[i], x[i])"),
    *("np.exp(x[i])", "np.log(x[i])", "np.int8(x[i])", "x[i:].sum()", "(x[i:] * x[i:]).sum()"),
]


def each(expression):
    source = f"""
def each(x, out):
    for i in range(len(x)):
        out[i] = {expression}
    return out
"""
    names = {"np": np}
    exec(source, names)
    return names["each"]


def extremes(dtype):
    info = np.iinfo(dtype)
    return np.array([info.max, 1, 2, info.min, 0] * 20, dtype)


@pytest.mark.parametrize("backend", ["eager", "c"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_each_turn_warns_as_plain_python(expression, backend):
    function, options = each(expression), {"backend": backend, "options": {"plan_always": True}}
    arrays = [extremes(dtype) for dtype in (np.int16, np.int64, np.uint8)]
    if "<<" not in expression:
        arrays += [FLOATS, FLOATS.astype(np.float64)]
    for x in arrays:
        for dtype in (x.dtype, np.int32):
            check(function, x, np.zeros(len(x), dtype), captured=False, options=options)


def carried(x):
    total, largest = np.int16(0), np.int16(0)
    for i in range(len(x)):
        total += x[i]
        if total > largest:
            largest = total
    return total, largest


@pytest.mark.parametrize("backend", ["eager", "c"])
def test_a_sum_that_is_carried(backend):
    x = np.full(200, 1000, np.int16)
    with warnings.catch_warnings(record=True) as plain:
        warnings.simplefilter("always")
        carried(x)
    assert {str(w.message) for w in plain} == {"overflow encountered in scalar add"}
    check(carried, x, also=((x // 1000,),), captured=False, options={"backend": backend})
