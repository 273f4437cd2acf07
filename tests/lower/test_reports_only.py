"""Values that nobody reads are computed for NumPy's warnings alone, and need no memory."""

import numpy as np
import pytest
from differential import check
from passes.rewritten import graph

from pycompile import _C


def stores(*lines, outputs):
    return _C.lower_graph(graph("f64[60,70] = input(0)", *lines, outputs=outputs))[0].count(
        "= store"
    )


def test_nothing_is_stored():
    exp = "f64[60,70] = ufunc(%1, object=numpy.exp)"  # as captured: `exp` is for known code alone
    unread = ["f64[60,70] = sqrt(%0)", exp, "f64[60,70] = add(%2, %0)"]
    assert stores(*unread, "f64[60,70] = negative(%0)", outputs="%4") == 1
    assert stores(*unread, "f64[60,70] = negative(%2)", outputs="%4") == 1


def dropped(x):
    y = np.sqrt(x) + x
    y = y * 2 < np.exp(x)
    return x - 1


def dropped_rows(x):
    """Per row, and behind a reduction."""
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True))
    scaled = np.log(scaled.max(axis=-1)) + scaled.sum(axis=0)[0]
    return centred * 0.5


def dropped_columns(x):
    total = x.sum(axis=0)
    low = 1 / total + np.log(total)
    low = x / total
    return total


def dropped_places(x):
    y = x / x.T
    y = x[:, ::2] ** -1.0
    return x + x.T


@pytest.mark.parametrize("columns", [3, 64, 130])
@pytest.mark.parametrize("function", [dropped, dropped_rows, dropped_columns])
@pytest.mark.parametrize("value", [2.0, 0.0, -1.0, 1e300, np.inf, np.nan])
def test_the_program_is_told(function, columns, value):
    x = np.random.default_rng(0).uniform(1, 2, (130, columns))
    x[77, columns // 2] = value
    check(function, x)


@pytest.mark.parametrize("value", [2.0, 0.0])
def test_the_program_is_told_of_squares(value):
    x = np.random.default_rng(0).uniform(1, 2, (130, 130))
    x[77, 66] = value
    check(dropped_places, x)


def test_numbers_beside_no_elements_report():
    def added(x, b):
        return x[3:2] + np.sqrt(b[0])

    def dropped(x, b):
        x[3:2] + np.sqrt(b[0] * 2) * 3

    for function in (added, dropped):
        for dtype in ("f4", "f8"):  # the first is cast
            check(function, np.ones(4), np.full(2, -1.0, dtype))
