"""Floats to integers: values, and no floating-point flag that NumPy does not raise."""

import numpy as np
import pytest
from numpy_cases import function

import pycompile

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
EDGES = [0.0, 1.5, -1.5, 2.0**7, 2.0**16 - 0.5, 2.0**31, 2.0**32, 2.0**33 + 4096, 2.0**63]
EDGES += [1.5 * 2.0**63, -(2.0**31), -(2.0**31) - 4096, -(2.0**63), np.inf, np.nan]


@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_that_fit_raise_no_flag(dtype, integer):
    info = np.iinfo(integer)
    top = float(info.max) * 0.9
    x = np.array([0, 1.5, 100, top, top / 2, top * 0.7, max(-0.9, info.min)] * 11, dtype)
    case = function(f"x.astype({integer!r})", "x + 1")
    compiled = pycompile.compile(case)
    with np.errstate(all="raise", under="ignore"):
        for _ in range(3):
            assert compiled(x, None)[0].tobytes() == case(x, None)[0].tobytes()
    stats = compiled.stats()
    assert stats["plan_runs"] >= 3
    assert stats["deopts"] == 0


@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_that_do_not_fit_give_what_numpy_gives(dtype, integer):
    case = function(f"x.astype({integer!r})", "x + 1")
    compiled = pycompile.compile(case)
    with np.errstate(all="ignore"):
        for n in (1, 64, 67):
            for value in EDGES:
                x = np.full(n, value, dtype)
                assert compiled(x, None)[0].tobytes() == case(x, None)[0].tobytes(), (n, value)
