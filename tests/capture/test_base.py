"""What an array that leaves the graph says it is a view of."""

import numpy as np
import pytest
from differential import check
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import pycompile


def of_an_argument(x):
    w = sliding_window_view(x, 3)
    return w, w.mean(1), w * 2


def of_what_is_made(x):
    y = x * 2 + 1
    return sliding_window_view(y, 3), y


def of_what_is_written(x):
    y = x * 2
    w = sliding_window_view(y, 3)
    y += 1
    return w, y, w.sum()


def of_a_view(x):
    y = x[::-1]
    return sliding_window_view(y, 2), y, x + 1


def written_through(x):
    y = x * 2
    w = as_strided(y, (3, 2), (8, 8))
    w[1] = 7
    return w, y, w + 1


def views_of_it(x):
    w = sliding_window_view(x * 2, 3)
    return w, w[1:] * 2, w.T.sum(), w[0] + 1


def kept_twice(x):
    w = sliding_window_view(x + 1, 4)
    return [w, (w, w)], w.max()


def after_a_break(x):
    w = sliding_window_view(x + 1, 4)
    pycompile.graph_break()
    return w * 2, w


def chain(array):
    found = []
    while array is not None:
        found.append(type(array).__name__)
        array = getattr(array, "base", None)
    return found


def chains(result):
    if isinstance(result, (list, tuple)):
        return [chains(item) for item in result]
    return chain(result) if isinstance(result, np.ndarray) else None


@pytest.mark.parametrize(
    "function",
    [
        of_an_argument,
        of_what_is_made,
        of_what_is_written,
        of_a_view,
        written_through,
        views_of_it,
        kept_twice,
        after_a_break,
    ],
)
def test_windows(function):
    check(function, np.arange(10.0))
    compiled = pycompile.compile(function)
    x = np.arange(10.0)
    for _ in range(2):
        assert chains(compiled(x.copy())) == chains(function(x.copy()))
