"""Differences that NumPy's own tests found, made small."""

import numpy as np
from differential import check

import pycompile

X = np.array([-0.75, -2.0, 2.5])


def test_builtins_of_another_frame():
    """eval(text, {"__builtins__": {}}, mapping) calls a Python method in a frame without builtins."""

    class Names:
        def __getitem__(self, name):
            return X[: len(name)] * 2.0 + abs(-1) + sum([1, 2])

    names = Names()

    def f(x):
        return eval("abc", {"__builtins__": {}}, names) + x

    compiled = pycompile.compile(Names.__getitem__)
    Names.__getitem__ = compiled
    for _ in range(2):
        assert np.array_equal(f(1.0), X * 2.0 + 5.0)


def test_numpy_bools_are_one_object_each():
    def f(x):
        yes, no = x[0] < x[1], x[1] < x[0]
        return (yes | no) is yes, (yes & no) is np.False_, no is yes, yes is True, x * 2

    check(f, np.arange(4.0))


def test_clip_with_one_bound_raises():
    def f(x, way):
        y = x + 1.0
        if way == 0:
            return np.clip(y, 2)
        if way == 1:
            return np.clip(y, 1, 2, max=3)
        if way == 2:
            return np.clip(y, None, 2)
        return np.clip(y, min=2)

    for way in range(4):
        check(f, np.arange(4.0), way)


def test_calls_of_constants_warn_every_time():
    def f(x):
        return np.isnan(np.mean([])), np.std([]), np.log([-1.0, 0.0]), x * 2.0

    check(f, np.arange(4.0), captured=False)


def test_errors_of_a_foreign_ufunc_s_loop():
    from numpy._core import _umath_tests

    def f(x):
        return _umath_tests.always_error(x + 1.0, x) * 2.0

    def unary(x):
        return _umath_tests.always_error_unary(x + 1.0) * 2.0

    for function in (f, unary):
        check(function, np.arange(3.0), captured=False)
        check(function, np.arange(300000.0), captured=False)
