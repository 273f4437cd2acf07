"""Arrays that must not be written as they are, and what is made of other arrays after them."""

import numpy as np
import pytest
from differential import check, compiled_calls

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
