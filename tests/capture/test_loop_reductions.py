"""Reductions, products and ufuncs of rows and slices in kept loops."""

import ctypes
import signal

import numpy as np
import pytest

import pycompile
from pycompile import _C, _explain_text
from tests.differential import MANY, check, check_whole
from tests.reports import turns_in_place

RNG = np.random.default_rng(43)
A = RNG.random((9, 9)) + 9 * np.eye(9)
S = A @ A.T
X, Y = RNG.random(9) - 0.5, RNG.random(9)
LONG = RNG.random((3, 3000)) - 0.5


def kept(function, *args):
    told = _explain_text.verbose(pycompile.explain(function)(*args))
    return "unrolled" not in told and " 1 kernel" in told


def cholesky(a):
    for j in range(a.shape[0]):
        a[j, j] = np.sqrt(a[j, j] - (a[j, :j] * a[j, :j]).sum())
        for i in range(j + 1, a.shape[0]):
            a[i, j] = (a[i, j] - (a[i, :j] * a[j, :j]).sum()) / a[j, j]
    return a


def cholesky_of_products(a):
    for j in range(a.shape[0]):
        a[j, j] = np.sqrt(a[j, j] - a[j, :j] @ a[j, :j])
        for i in range(j + 1, a.shape[0]):
            a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j])) / a[j, j]
    return a


def substitution(a, b, x):
    for i in range(len(b)):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def rows_times(a, x, y):
    for i in range(a.shape[0]):
        y[i] = a[i] @ x + a[i].dot(x) - np.dot(x, a[:, i]) + np.matmul(x, a[i])
    return y


def extremes(a, y):
    for i in range(len(y)):
        y[i] = a[i, i:].max() - np.min(a[: i + 1, i]) + np.amax(a[i]) - a[i].min()
    return y


def sums(a, y):
    for i in range(len(y)):
        y[i] = a[i].sum() + np.sum(a[: i + 1, i]) + a[i, i:].sum() - (a[i] - 0.5).sum()
    return y


def gram_schmidt(q):
    for j in range(q.shape[1]):
        for i in range(j):
            q[:, j] -= (q[:, i] @ q[:, j]) * q[:, i]
        q[:, j] /= np.sqrt(q[:, j] @ q[:, j])
    return q


def householder(a, d):
    for k in range(a.shape[1]):
        s = np.sqrt(a[k:, k] @ a[k:, k])
        if a[k, k] > 0:
            s = -s
        d[k] = s
        a[k, k] -= s
        b = s * a[k, k]
        for j in range(k + 1, a.shape[1]):
            f = a[k:, k] @ a[k:, j] / b
            a[k:, j] += f * a[k:, k]
    return a


def norms(a, y):
    for i in range(len(y)):
        y[i] = np.sqrt((a[i, i:] ** 2).sum()) + abs(a[i]).max() + np.abs(a[i] - 1.0).sum()
    return y


def ufuncs(a, x):
    for i in range(1, len(x)):
        a[i, i:] = np.sqrt(abs(x[i:])) + np.maximum(a[i - 1, i:], 0.25)
        a[i, :i] = np.minimum(x[:i], a[0, :i]) ** 2 - np.floor(a[i, :i] * 4.0)
    return a


SINGLE = [S.astype(np.float32), X.astype(np.float32), Y.astype(np.float32)]


@pytest.mark.slow
@pytest.mark.parametrize("variants", [0, 2])
@pytest.mark.parametrize(
    ("function", "arguments", "also"),
    [
        (cholesky, (S,), [(S[:1, :1],), (SINGLE[0],), (S[::2, ::2],), (S.T,)]),
        (cholesky_of_products, (S,), [(S[:2, :2],), (SINGLE[0],), (S[::-1, ::-1],), (S.T,)]),
        (substitution, (A, Y, X), [(A[:1, :1], Y[:1], X[:1]), (A[:0], Y[:0], X[:0])]),
        (rows_times, (A, X, Y), [(A[:1, :1], X[:1], Y[:1]), (A.T, X, Y), (*SINGLE,)]),
        (extremes, (A, Y), [(SINGLE[0], SINGLE[2]), (A[::-1, ::-1], Y)]),
        (sums, (A, Y), [(SINGLE[0], SINGLE[2]), (A[::-1, ::-1], Y)]),
        (gram_schmidt, (A,), [(A.T,), (SINGLE[0],)]),
        (householder, (A, X), [(A[:5, :2], X)]),
        (norms, (A, Y), [(SINGLE[0], SINGLE[2])]),
        (ufuncs, (A, X), [(SINGLE[0], SINGLE[1])]),
    ],
)
def test_the_program_cannot_tell(function, arguments, also, variants):
    _C.test_variants(variants)
    try:
        check_whole(function, *arguments, also=also)
    finally:
        _C.test_variants(0)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (cholesky, (S,)),
        (cholesky_of_products, (S,)),
        (substitution, (A, Y, X)),
        (rows_times, (A, X, Y)),
        (gram_schmidt, (A,)),
        (householder, (A, X)),
    ],
)
def test_loops_stay_loops(function, arguments):
    assert kept(function, *(argument.copy() for argument in arguments))


def test_loops_with_functions_of_rows_are_repeats():
    for function in (norms, ufuncs, centred):
        assert turns_in_place(function, RNG.random((200, 200)), RNG.random(200)), function


def long_sums(a, out):
    for i in range(a.shape[0]):
        for k in range(len(out)):
            n = 17 * k * k // 2
            out[k] = out[k] + a[i, :n].sum() + (a[i, :n] * a[0, :n]).sum() + a[0, :n] @ a[i, :n]
    return out


@pytest.mark.slow
def test_sums_are_numpys_at_any_length():
    for dtype in (np.float64, np.float32):
        out = np.zeros(19, dtype)
        a = (LONG * 1e3).astype(dtype)
        check_whole(long_sums, a, out, also=[(a[:, ::2], out), (a[::-1], out)])


def of_ints(a, y):
    for i in range(a.shape[0]):
        y[i] = a[i].sum() + a[i, i:].max() - a[:, i].min() + a[i] @ a[i]
    return y


@pytest.mark.slow
def test_ints_wrap_round():
    for dtype in (np.int64, np.int32, np.uint8, np.int8):
        numbers = RNG.integers(0, 127, (9, 9)).astype(dtype)
        check(of_ints, numbers, np.zeros(9, np.int64), captured=False, options=MANY)
    large = np.full((9, 9), 2**62, np.int64)
    check(of_ints, large, np.zeros(9, np.int64), options=MANY)


def of_flags(a, y):
    for i in range(a.shape[0]):
        y[i] = a[i].sum()
    return y


def test_how_many_are_true():
    check_whole(of_flags, A > 0.5, np.zeros(9, np.int64))


def largest(a, y):
    for i in range(a.shape[0]):
        y[i] = a[i].max() - a[i, 1:].min()
    return y


@pytest.mark.slow
def test_nan_and_zeros():
    odd = A.copy()
    odd[2, 3] = np.nan
    zeros = np.zeros((9, 9))
    signed = np.where(A > 0.5, 0.0, -0.0)
    infinite = A.copy()
    infinite[3, 1:3] = np.inf, -np.inf
    for a in (odd, zeros, -zeros, signed, infinite):
        check(largest, a, Y, captured=False, options=MANY)
        check(sums, a, Y, options=MANY)
        check(rows_times, a, X, Y, options=MANY)


def test_vectors_that_go_backwards():
    check(rows_times, A, X[::-1], Y, captured=False, also=[(A[::-1, ::-1], X, Y)], options=MANY)
    check_whole(substitution, A[::-1, ::-1], Y, X)


def minus_zero(a, y):
    for i in range(len(y)):
        y[i] = a[i, :1] @ a[0, :1]
        y[i] = y[i] + np.dot(a[i, :1], a[0, :1]) + a[i, :2].dot(a[0, :2]) + a[i, :0].sum()
        a[i, 0] = np.dot(a[i, :1], a[0, :1])
    return a


def test_products_of_one_number():
    a = A.copy()
    a[1, :] = -0.0
    check_whole(minus_zero, a, Y)


def empty_extreme(a, y):
    for i in range(len(y)):
        y[i] = a[i, i + 1 :].max()
    return y


def lengths_differ(a, x, y):
    for i in range(len(y)):
        y[i] = a[i, i:] @ x[:5]
    return y


def overflows(a, y):
    for i in range(len(y)):
        y[i] = a[i] @ a[i] + (a[i] * a[i]).sum()
    return y


def of_a_product(a, y):
    for i in range(len(y)):
        y[i] = np.dot(a[i], a[i])
    return y


def roots(a, y):
    for i in range(len(y)):
        y[i] = np.sqrt(a[i]).sum()
    return y


@pytest.mark.slow
def test_what_raises_and_warns():
    check(empty_extreme, A, Y, options=MANY)
    check(lengths_differ, A, X, Y, options=MANY)
    for function in (overflows, of_a_product, roots):
        large = A.copy()
        large[4] = -1e200
        check(function, large, Y, also=[(A, Y)], options=MANY)


def sum_unread(a, y):
    for i in range(a.shape[0]):
        s = a[i].sum()  # noqa: F841
        y[i] = 1.0
    return y


def compared_sum_unread(a, y):
    for i in range(a.shape[0]):
        s = (a[i] * 2.0).sum() > 0  # noqa: F841
        y[i] = 1.0
    return y


def roots_unread(a, y):
    for i in range(a.shape[0]):
        s = np.sqrt(a[i]).sum()  # noqa: F841
        y[i] = 1.0
    return y


def product_unread(a, y):
    for i in range(a.shape[0]):
        s = a[i] @ a[i]  # noqa: F841
        y[i] = 1.0
    return y


@pytest.mark.slow
def test_what_nobody_reads_raises_and_warns():
    large = np.full((9, 9), 1e308)
    for function in (sum_unread, compared_sum_unread, roots_unread, product_unread):
        check(function, A, Y, also=[(large, Y), (-large, Y)], options=MANY)

        def strict(a, y, function=function):
            with np.errstate(all="raise"):
                return function(a, y)

        check(strict, large, Y, captured=False, options=MANY)


def product_of_own_rows(w, c):
    for j in range(w.shape[1]):
        for i in range(1, c.shape[0]):
            c[i, j] += c[i - 1, :] @ w[:, j]
    return c


def product_of_another_array(a, w, c):
    for j in range(w.shape[1]):
        for i in range(1, c.shape[0]):
            c[i, j] += a[i - 1, :] @ w[:, j]
    return c


def test_products_in_two_loops():
    w, c = RNG.random((20, 20)), RNG.random((30, 20))
    check_whole(product_of_own_rows, w, c)
    check_whole(product_of_another_array, c, w, c)


class Woken(Exception):
    pass


def test_a_signal_is_seen_between_products():
    def products(a, x, y):
        for i in range(1_000_000_000):
            y[i % 8] = a[i % 8] @ x
        return y

    def wake(*_):
        raise Woken

    a, x = RNG.random((8, 100_000)), RNG.random(100_000)
    compiled = pycompile.compile(products)
    before = signal.signal(signal.SIGALRM, wake)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(Woken):
            compiled(a, x, np.zeros(8))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


TWICE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object)(lambda _, x: 2 * x)
METHOD = MethodDef(b"abs", ctypes.cast(TWICE, ctypes.c_void_p), 8, None)  # METH_O
make_function = ctypes.pythonapi.PyCFunction_NewEx
make_function.restype = ctypes.py_object
make_function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
foreign = make_function(ctypes.addressof(METHOD), None, None)


def test_another_function_named_abs():
    def doubled(a, y):
        for i in range(a.shape[0]):
            y[i, :] = foreign(a[i, :])
        return y

    assert foreign.__name__ == "abs"
    check(doubled, -A, A, captured=False, options=MANY)


def written_between(x, y):
    for k in range(1, len(x)):
        t = x[k:] * y[k:]
        y[k] = x[k:].sum()
        x[k] = t.sum()
    return x


def used_twice(x, y):
    for k in range(1, len(x)):
        t = x[k:] * 2.0
        y[k] = t.sum() / t.max()
        y[k:] = t
    return y


def computed_product(x, y):
    for k in range(1, len(x)):
        y[k] = (x[k:] + 1.0) @ x[k:]
    return y


def until_small(x, y):
    n = 0
    while (x * x).sum() > 1e-3 and n < 30:
        x[1:] *= 0.5
        x[0] *= 0.25
        n += 1
    return n


@pytest.mark.slow
def test_other_uses():
    for function in (written_between, used_twice, computed_product, until_small):
        check(function, X, Y, captured=False, options=MANY)


def backwards(x, y, a):
    for k in range(1, len(x)):
        y[:k] = x[k - 1 :: -1] * 2.0 + a[k, :k]
        a[k, ::-1] += x
        a[k - 1, k::-2] -= a[k, k::-2]
    return y


def backwards_again(x, y, a):
    for k in range(1, len(x)):
        y[k] = (x[:k] * y[k - 1 :: -1]).sum() + a[k, ::-1] @ a[0] + x[-1 : -k - 1 : -1].sum()
        a[k, -2:k:-1] = 0.5
        a[k - 1, 3:k:-1] *= x[3:k:-1]
        a[0, k:] = y[: k - 1 : -1]
    return a


def palindromes(x, y):
    for k in range(1, len(x)):
        x[:k] = x[k - 1 :: -1] + y[k]
    return x


@pytest.mark.slow
def test_slices_that_go_backwards():
    for variants in (0, 2):
        _C.test_variants(variants)
        try:
            check_whole(backwards, X, Y, A, also=[(X[:1], Y[:1], A[:1, :1]), (X[::-1], Y, A.T)])
            check_whole(
                backwards_again, X, Y, A, also=[(X[:2], Y[:2], A[:2, :2]), (X, Y[::-1], A.T)]
            )
        finally:
            _C.test_variants(0)
    check(palindromes, X, Y, captured=False, options=MANY)
    assert kept(backwards, X.copy(), Y.copy(), A.copy())
    assert kept(backwards_again, X.copy(), Y.copy(), A.copy())


def centred(a, y):
    for i in range(len(y)):
        m = a[i, i:].mean()
        y[i] = ((a[i, i:] - m) ** 2).mean() + np.mean(a[:, i])
        a[i] -= m
    return y


def of_nothing(a, y):
    for i in range(len(y)):
        y[i] = a[i, i + 1 :].mean()
    return y


@pytest.mark.slow
def test_means():
    check_whole(centred, A, Y, also=[(A[::-1, ::-1], Y)])
    check(of_nothing, A, Y, captured=False, options=MANY)
    check(centred, *SINGLE[::2], captured=False, options=MANY)
    integers = (A * 10).astype(int)
    check(of_nothing, integers, Y, captured=False, options=MANY)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (cholesky, (S,)),
        (cholesky_of_products, (S,)),
        (substitution, (A, Y, X)),
        (extremes, (A, Y)),
        (backwards_again, (X, Y, A)),
        (empty_extreme, (A, Y)),
    ],
)
def test_the_eager_backend_agrees(function, arguments):
    check(function, *arguments, options={"backend": "eager"})
