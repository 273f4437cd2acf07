"""Functions of NumPy on numbers and rows in kept loops, by the loops of their ufuncs."""

import numpy as np
import pytest

from pycompile import _C
from tests.codegen.test_carried_ints import kernel_text
from tests.differential import MANY, check, check_whole
from tests.reports import keeps_loop, turns_in_place

RNG = np.random.default_rng(44)
X, Y = RNG.standard_normal((2, 50))
SINGLE = X.astype("f4")
INTS = RNG.integers(-9, 9, 50)


ROWS = RNG.standard_normal((7, 300))


def softmax(a, out):
    for i in range(a.shape[0]):
        out[i] = np.exp(a[i] - a[i].max())
        out[i] /= out[i].sum()
    return out


def entropies(a, out):
    for i in range(a.shape[0]):
        out[i, 0] = np.log(1.0 + np.exp(-np.abs(a[i]))).sum() + np.sin(a[i, : 40 * i]).sum()
        out[i, 1] = np.cos(a[i, i:]).max() - np.tanh(a[: i + 1, i]).mean()
    return out


def nested_functions(a, out):
    for i in range(1, a.shape[0]):
        out[i] = np.hypot(a[i], a[i - 1]) * np.arctan2(a[i], 2.0) + np.tanh(np.cos(out[i - 1]))
        out[i, 1:] = np.exp(out[i, 1:] * 0.25) - np.arctan2(i, a[i, :-1])
    return out


def columns(a, out):
    for i in range(a.shape[1]):
        out[:, i] = np.sin(a[:, i]) + np.exp(a[::1, i])
        out[::2, i] -= np.log1p(np.abs(a[::2, i]))
    return out


def from_own(a):
    for i in range(a.shape[0]):
        a[i, 1:] = np.sin(a[i, :-1])
        a[i, :-1] += np.cos(a[i, 1:])
        a[i] = np.exp(-np.abs(a[i]))
    return a


def backwards(a, out):
    for i in range(a.shape[0]):
        out[i] = np.sin(a[i, ::-1]) + np.exp(a[i])
    return out


def warns(a, out):
    for i in range(a.shape[0]):
        out[i] = np.log(a[i]) + np.exp(300 * a[i])
    return out


def waves(x, y):
    for i in range(len(x)):
        y[i] = np.sin(x[i]) * np.exp(-x[i] * x[i]) + np.cos(y[i])
    return y


def of_two(x, y):
    for i in range(len(x)):
        y[i] = np.arctan2(x[i], y[i]) + np.hypot(x[i], 0.5) - np.fmod(y[i], x[i])
    return y


def of_python(x, y):
    t = 0.0
    for i in range(len(x)):
        t += 0.01
        y[i] = np.cos(t) + np.sin(i) + np.tanh(i * t)
    return y


def remainders(x, y):
    for i in range(len(x)):
        y[i] = x[i] % 0.3 + x[i] // 0.7 - (-x[i]) % y[i]
    return y


def sigmoid(v):
    return 1.0 / (1.0 + np.exp(-v))


def called(x, y):
    for i in range(len(x)):
        y[i] = sigmoid(x[i]) if x[i] > 0 else sigmoid(y[i])
    return y


def summed(x, y):
    s = 0.0
    for i in range(len(x)):
        for j in range(i, len(y)):
            s += np.exp(-((x[i] - y[j]) ** 2))
    return s


def of_either(x, y):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s += x[i]
        y[i] = np.sin(s)
    return y, s


def logged(x, y):
    s = 0.0
    for i in range(len(x)):
        s += np.log(x[i])
        y[i] = s
    return y


def indexed(x, y):
    for i in range(len(x)):
        y[int(np.fmod(i * 7.0, 50.0))] += x[i]
    return y


def divisors(w, y):
    for i in range(len(w)):
        y[i] = np.gcd(w[i], 12) + np.gcd(i, 30)
    return y


@pytest.mark.slow
def test_functions_are_called_in_a_kept_loop():
    for function in (waves, of_two, of_python, remainders, called, summed, of_either, indexed):
        check_whole(function, X.copy(), Y.copy())
    for function in (waves, of_two, summed, called):
        assert keeps_loop(function, X.copy(), Y.copy())
    check_whole(divisors, INTS, np.zeros(50, int))


@pytest.mark.slow
def test_functions_of_rows():
    for dtype in ("f8", "f4"):
        a = ROWS.astype(dtype)
        for function in (softmax, entropies, nested_functions):
            check_whole(
                function, a, np.zeros_like(a), also=[(a[:, :5].copy(), np.zeros((7, 5), dtype))]
            )
            check_whole(function, a[:, ::2], np.zeros_like(a)[:, ::2])
        check_whole(columns, a[:, :6].copy(), np.zeros((7, 6), dtype))
        check_whole(from_own, a.copy())
        check_whole(softmax, a.T.copy().T, np.zeros_like(a))
    for function in (softmax, entropies):
        assert turns_in_place(function, ROWS, np.zeros_like(ROWS))
    check(backwards, ROWS, np.zeros_like(ROWS), captured=False)
    odd = ROWS.copy()
    odd[2, 7], odd[3, 4], odd[4, 4], odd[5, 5] = np.nan, -0.0, np.inf, -np.inf
    check(softmax, odd, np.zeros_like(odd), captured=False)
    check(warns, ROWS, np.zeros_like(ROWS), captured=False)
    with np.errstate(all="ignore"):
        check_whole(warns, ROWS, np.zeros_like(ROWS))


@pytest.mark.slow
def test_small_floats_are_computed_as_such():
    for function in (waves, of_two, of_python, called):
        check_whole(function, SINGLE.copy(), SINGLE[::-1].copy())
    check(of_either, SINGLE.copy(), SINGLE[::-1].copy(), options=MANY)


def test_what_warns_is_left_to_numpy():
    check(logged, X.copy(), Y.copy(), whole=False)
    check_whole(logged, np.abs(X), Y.copy())
    with np.errstate(all="ignore"):
        check_whole(logged, X.copy(), Y.copy())


def test_flags_that_a_loop_clears_are_raised_again():
    def program(x, y):
        for i in range(len(x)):
            y[i] = x[i] / (x[i] - x[i])
            y[i] = np.fmax(y[i], 1.0) + np.spacing(1.0)
        return y

    check(program, X.copy(), Y.copy(), whole=False)


def test_other_peoples_ufuncs_are_not_called_in_a_kept_loop():
    twice = np.frompyfunc(lambda v: v * 2, 1, 1)

    def program(x, y):
        for i in range(len(x)):
            y[i] = twice(x[i])
        return y

    check(program, X[:5].copy(), Y[:5].copy(), whole=False)


@pytest.mark.slow
@pytest.mark.parametrize("variants", [1, 2])
def test_each_variant_of_the_loop(variants):
    _C.test_variants(variants)
    try:
        for function in (waves, of_two, of_python, summed, of_either):
            check_whole(function, X.copy(), Y.copy())
        test_functions_of_rows()
    finally:
        _C.test_variants(0)


# ---- functions of elements, in registers ----

ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 710.0, -746.0, 5e-324, 1e-300, 88.73])


def kernel_sums(x, y, out):
    for i in range(len(x)):
        s = 0.0
        for j in range(len(y)):
            s += np.exp(-0.5 * (x[i] - y[j]) * (x[i] - y[j])) + np.log(np.abs(y[j]))
        out[i] = s
    return out


def chosen(x, y, out):
    for i in range(len(x)):
        if x[i] > 0:
            out[i] = np.tanh(x[i]) + np.sin(y[i % len(y)])
        else:
            out[i] = np.exp(x[i])
    return out


@pytest.mark.parametrize("function", [kernel_sums, chosen])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_functions_of_elements(function, dtype):
    """Alone and some rows together, whose numbers share a vector; what is odd, and what warns."""
    x, odd = np.concatenate([X, Y]).astype(dtype), ODD.astype(dtype)
    also = [(x[:n], y, np.zeros(n, dtype)) for n in (0, 1, 3, 8, 21) for y in (x[:1], x[5:])]
    with np.errstate(all="ignore"):
        also += [(odd, odd, np.zeros(len(odd), dtype)), (x[:20:2], odd[5:], np.zeros(10, dtype))]
        check(function, x[:12], x, np.zeros(12, dtype), also=also, captured=False, one_nan=True)
    for wrong in (0.0, np.nan, 800.0, -800.0):
        y = x[:30].copy()
        y[-3] = wrong
        check(function, x[:11], y, np.zeros(11, dtype), captured=False, one_nan=True)
        check(function, y, x[:11], np.zeros(30, dtype), captured=False, one_nan=True)


def test_elements_of_some_rows_share_a_vector():
    known = _C.function_pointer("exp", np.exp, "f64") is not None
    text = kernel_text(kernel_sums, X[:9].copy(), Y, np.zeros(9))
    assert known == ("side" in text)


# ---- calls with * and ** ----


def weighted(a, b, c=1.0, d=2.0):
    return a * b + c * d


def with_args(x, f, args):
    s = 0.0
    for i in range(len(x)):
        s = f(x[i], s, *args)
    return s


def with_args_first(x, f, args):
    s = 0.0
    for i in range(len(x)):
        s = f(*args, x[i], s)
    return s


def with_args_alone(x, args):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * weighted(*args)
    return s


def with_keywords(x, f, args, keywords):
    s = 0.0
    for i in range(len(x)):
        s = f(x[i], *args, d=s, **keywords)
    return s


def with_a_tuple_of_the_turn(x):
    s = 0.0
    for i in range(len(x)):
        pair = (x[i], s)
        s = weighted(*pair, *(0.5, x[i]))
    return s


def with_its_own(x, *args, **keywords):
    s = 0.0
    for i in range(len(x)):
        s = weighted(x[i], s, *args, **keywords)
    return s


def displays(x, args):
    out = np.zeros((len(x), 2))
    for i in range(len(x)):
        row = [*args, x[i]]
        first, second, third = (*row, x[i])
        out[i, 0] = first + row[1] * third
        out[i, 1] = second
    return out


def with_too_many(x, args):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            s = weighted(x[i], *args)
    return s


def with_a_name_twice(x, keywords):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            s = weighted(x[i], a=s, **keywords)
    return s


STARRED = np.linspace(-0.5, 0.4, 3000)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (with_args, (weighted, (0.5, 0.25))),
        (with_args, (weighted, ())),
        (with_args_first, (weighted, (0.5,))),
        (with_args_first, (weighted, [0.5, 0.25])),
        (with_args_alone, ((0.5, 0.25, np.float64(3.0)),)),
        (with_keywords, (weighted, (0.25,), {"c": 0.5})),
        (with_keywords, (weighted, (), {"b": 0.5})),
        (with_a_tuple_of_the_turn, ()),
        (with_its_own, (0.5,)),
        (displays, ((1.0,),)),
    ],
)
def test_calls_with_stars_are_followed_in_loops(function, args):
    check(function, STARRED, *args, whole=True, also=((STARRED[:40], *args), (STARRED[:0], *args)))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (with_args, (weighted, (1, 2, 3))),
        (with_args, (weighted, 3)),
        (with_too_many, ((1, 2, 3, 4),)),
        (with_a_name_twice, ({"b": 1},)),
        (with_a_name_twice, ({"a": 1},)),
        (with_keywords, (weighted, (0.25,), {"d": 0.5})),
        (with_keywords, (weighted, (0.25,), {1: 0.5})),
    ],
)
def test_calls_with_stars_that_fail_raise_in_loops(function, args):
    """Behind the turns before, where only some turns come to the call."""
    check(function, STARRED, *args, captured=False)
    check(function, STARRED + 0.2, *args, captured=False)
