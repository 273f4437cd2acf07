"""Ranges that a function is given: their ends are read like attributes, and may vary."""

import numpy as np
import pytest
from differential import check


def total(a, r):
    s = 0.0
    for i in r:
        s += a[i]
    return s, r, len(r), 3 in r


def ends(a, r):
    return a[r.start : r.stop].sum(), r[1:], r is r, r == range(r.start, r.stop, r.step)


@pytest.mark.parametrize("function", [total, ends])
@pytest.mark.parametrize("r", [range(50), range(3, 40, 4), range(60, 2, -3)], ids=str)
def test_range_is_given(function, r):
    check(function, np.arange(100.0), r)
