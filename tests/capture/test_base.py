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


def parts_of_an_argument(x):
    w = sliding_window_view(x, 3)
    v = w[::2]
    return v, w.T, v[1:], w[None], np.broadcast_to(w, (2, *w.shape)), v.sum()


def parts_of_what_is_made(x):
    y = x * 2 + 1
    w = as_strided(y, (4, 3), (8, 8))
    return w[1:], w.T, y, w.reshape(2, 2, 3), w.view(np.int64)


def part_of_what_is_written(x):
    y = x * 2
    w = as_strided(y, y.shape, y.strides)
    v = w[::2]
    y += 1
    return v[1:], w[1:], y, v + 1


def windows_of_a_part(x):
    w = sliding_window_view(x, 3)
    return sliding_window_view(w[::2], 2, axis=0)[1:], w, x + 1


def part_written_through(x):
    w = sliding_window_view(x * 2, 3, writeable=True)
    v = w[1:]
    v[0] = 7.0
    return v, v + 1


def part_chosen(x):
    w = sliding_window_view(x * 2, 3)
    v = w[1:] if x[0] > 1 else w[2:]
    return v, x + 1


def asks_for_the_base(x):
    w = sliding_window_view(x, 3)
    v = w[::2]
    return v.base is x, v.base is w, w.base is x, v[1:].base is w, x * 2


def part_after_a_break(x):
    w = sliding_window_view(x + 1, 4)
    v = w[1:]
    pycompile.graph_break()
    return w * 2, v, v[1:]


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
        parts_of_an_argument,
        parts_of_what_is_made,
        part_of_what_is_written,
        windows_of_a_part,
        part_written_through,
        part_chosen,
        asks_for_the_base,
        part_after_a_break,
    ],
)
def test_windows(function):
    check(function, np.arange(10.0))
    compiled = pycompile.compile(function)
    x = np.arange(10.0)
    for _ in range(2):
        assert chains(compiled(x.copy())) == chains(function(x.copy()))


def owners(v, w, x):
    """Which of the arrays each one's base is."""
    return [[a.base is b for b in (v, w, x)] for a in (v, w)]


@pytest.mark.parametrize("view", [lambda x: sliding_window_view(x, 3), lambda x: x[1:], np.flip])
@pytest.mark.parametrize("part", [lambda w: w[::2], lambda w: w.T, lambda w: w[None]])
def test_the_base_of_a_view_of_a_view(view, part):
    def both(x):
        w = view(x)
        return part(w), w, part(w).sum()

    compiled = pycompile.compile(both)
    for _ in range(2):
        x = np.arange(10.0)
        assert owners(*compiled(x)[:2], x) == owners(*both(x)[:2], x)
    assert compiled.stats()["plan_runs"] == 2
