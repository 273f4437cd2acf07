"""A value that a write has stored is read from there: stored once."""

import numpy as np
import pytest
from differential import check
from passes.rewritten import graph

from pycompile import _C
from pycompile._C import graph_pass

VERSION = [
    "f64[60,70] = input(0)",
    "f64[60,70] = add(%0, %0)",
    "f64[60,70] = empty()",
    "f64[60,70] = scatter(%2, %1, view=[60,70])",
    "f64[60,70]{-560,8}+33040 = as_strided(%3)",
    "f64[60,70] = multiply(%4, %1)",  # reads the version elsewhere: another kernel
]


def stores(*lines, outputs):
    """How many arrays the first kernel stores."""
    prepared = str(graph_pass(graph(*VERSION, *lines, outputs=outputs), "writes"))
    return _C.lower_graph(prepared)[0].split("\nkernel ")[1].count("= store")


def test_a_value_is_stored_once():
    assert stores(outputs="%5") == 1


def test_a_value_is_stored_twice_where_it_has_to_be():
    assert stores(outputs="%5, %1") == 2  # it leaves
    view = ["f64[60,70]{-560,8}+33040 = as_strided(%1)", "f64[60,70] = multiply(%4, %6)"]
    assert stores(*view, outputs="%5, %7") == 2  # a view of it is read
    overwritten = [
        "f64[59,70] = as_strided(%5)",
        "f64[60,70] = scatter(%3, %6, view=[59,70])",
        "f64[60,70]{-560,8}+33040 = as_strided(%7)",
        "f64[60,70] = multiply(%8, %1)",
    ]
    assert stores(*overwritten, outputs="%9") == 2  # something else is written over it first


def value_and_version(a, x):
    """The product is read in its array's next kernel, and as itself."""
    a[1:-1] = x[1:-1] * 3.0
    a[0] = a[5]
    return np.cumsum(a, axis=0), a[:-2] + a[1:-1]


def overwritten(a, x):
    """What is read later is no longer where it was stored."""
    t = x[1:-1] * 3.0
    a[1:-1] = t
    s = a[::-1].sum()
    a[1:-1] += 1.0
    return s, a[2:] + t, a


def other_order(a, x):
    t = x * 3.0
    a[...] = t.T[::-1].T
    b = a[1:] + a[:-1]
    return b, t.sum(axis=0), t + b.sum()


def cast(a, x):
    t = x * 3.0
    y = a.astype(np.float32)
    y[...] = t
    return y[1:] - y[:-1], t[1:] + y[1:]


def returned(a, x):
    t = x * 3.0
    a[...] = t
    b = a[1:] * a[:-1]
    return t, b


def written_by_a_loop(a):
    """Of what the loop makes of the array, nothing is read; of what it was before, its value is."""
    t = a * 2.0
    x = np.empty_like(a)
    x[...] = t
    s = 0.0
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * 0.5 + x[i]
        s = s + x[i]
    return s, t + s


@pytest.mark.parametrize("length", [10, 300, 20000])
def test_a_loop_writes_over_it(length):
    check(written_by_a_loop, np.arange(length) / 8.0, calls=3)


@pytest.mark.parametrize("shape", [(300, 40), (70, 70), (5, 4)])
@pytest.mark.parametrize("function", [value_and_version, overwritten, other_order, cast, returned])
def test_same_bits(function, shape):
    a, x = np.random.default_rng(2).standard_normal((2, *shape))
    check(function, a, x, calls=3)
