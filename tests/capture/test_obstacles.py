"""Arrays that must not be written as they are, and what is made of other arrays after them."""

import numpy as np
import pytest
from differential import check, compiled_calls
from numpy.lib.stride_tricks import as_strided

import pycompile


def whole(x, y):
    x += y * 2
    x[1:-1] = x[:-2] * 0.5 + np.exp(-x[1:-1]) + x[2:]
    x *= 1.5
    return (x * y + np.sin(x)).sum()


def loop(x, y):
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * 0.5 + y[i]
    return x


def of_parts(pair, y):
    u = y * 2.0 + np.sqrt(y)
    pair[0][:] = pair[0] + u
    pair[0][1:] = np.sin(pair[0][:-1]) * u[1:] + pair[1][1:]
    return pair[0].sum()


def read_only():
    x = np.linspace(1.0, 2.0, 5000)
    x.flags.writeable = False
    return x, np.ones(5000)


def overlapping():
    memory = np.linspace(1.0, 2.0, 10000)
    return memory[:5000], memory[2500:7500]


def good():
    return np.linspace(1.0, 2.0, 5000), np.ones(5000)


@pytest.mark.parametrize("bad", [read_only, overlapping])
@pytest.mark.parametrize("function", [whole, loop, of_parts])
def test_a_bad_first_call_does_not_decide_for_good_arrays(function, bad):
    """What is made for arrays with an obstacle says so, and other arrays are captured again."""

    def args(arrays):
        return ((arrays[0], arrays[1]), arrays[1] * 3) if function is of_parts else arrays

    compiled = pycompile.compile(function)
    for _ in range(3):
        try:
            compiled(*args(bad()))
        except ValueError:
            assert bad is read_only
    report = pycompile.explain(compiled)(*args(good()))
    assert not report.breaks, str(report)
    before = compiled_calls(compiled)
    assert compiled(*args(good())) is not None
    assert compiled_calls(compiled) == before + 1
    check(function, *args(good()), whole=True)
    if bad is overlapping:
        check(function, *args(bad()), captured=False)


PAIRS = {
    "interleaved": lambda z: (z[::2], z[1::2]),
    "columns": lambda z: (z.reshape(-1, 2)[:, 0], z.reshape(-1, 2)[:, 1]),
    "blocks": lambda z: (z.reshape(50, -1)[:, :60], z.reshape(50, -1)[:, 60:120]),
}


@pytest.mark.parametrize("views", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize("function", [whole, loop])
def test_interleaved_arrays_are_written(function, views):
    if function is whole:
        check(function, *views(np.linspace(1.0, 2.0, 10000)), whole=True)
    else:
        x, y = views(np.linspace(1.0, 2.0, 10000))
        check(function, x[..., 0] if x.ndim > 1 else x, y[..., 0] if y.ndim > 1 else y, whole=True)


def sections(x, y, n):
    y = y * 2
    i = 0
    while i < n:
        x[i : i + 3] = x[i + 1 : i + 4] * 0.5 + y[i : i + 3]
        i += 1
    return x


def parts_of_rows(x, y, n):
    for i in range(n):
        for k in range(2):
            x[i, k : k + 2] += x[i + 1, k : k + 2] * 0.5 + y[k : k + 2]
    return x


REPEATING = {
    "one axis": (sections, (12,), [(8,), (16,), (-8,)], [(0,)]),
    "two axes": (
        parts_of_rows,
        (6, 3),
        [(24, 8), (-8, 48), (64, -16)],
        [(24, 0), (8, 8), (16, -24)],
    ),
}


@pytest.mark.parametrize("function, shape, strides, repeating", REPEATING.values(), ids=REPEATING)
def test_a_loop_of_any_strides_refuses_elements_that_share_memory(
    function, shape, strides, repeating
):
    x, y = np.arange(200.0), np.ones(12)
    layouts = [(as_strided(x[100:], shape, s), y, 5) for s in (*strides, *repeating, strides[0])]
    check(function, *layouts[0], also=tuple(layouts[1:]), whole=True)


def test_after_elements_that_share_memory_others_have_one_plan():
    compiled, y = pycompile.compile(sections), np.ones(12)
    compiled(as_strided(np.ones(1), y.shape, (0,)), y, 9)
    for run in range(2):
        before = compiled_calls(compiled)
        compiled(np.arange(12.0), y, 9)
        assert run == 0 or compiled_calls(compiled) == before + 1
