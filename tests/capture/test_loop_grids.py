"""Statements over slices of both axes in loops."""

import numpy as np
import pytest

import pycompile
from pycompile import _C, _explain_text
from tests.differential import MANY, check

RNG = np.random.default_rng(47)
A = RNG.random((9, 9)) + 9 * np.eye(9)
B = RNG.random((9, 9))
X, Y = RNG.random(9) - 0.5, RNG.random(9)


def lu(a):
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def blocks(a, b):
    for k in range(1, len(a)):
        a[:k, k:] = b[:k, k:] * 2.0 - b[:k, k:] * b[k, k:]
        a[k:, :k] += b[k:, :k] / b[0, :k]
    return a


def shifted(a, b):
    for k in range(1, len(a)):
        a[k:, k:] = b[:-k, :-k] + b[k:, k:] * X[k]
        a[:k, :k] *= 0.5
        a[:k, k:] = 1.0
    return a


def downwards(a, x, y):
    for k in range(len(x) - 2, 0, -1):
        a[:k, :k] -= np.outer(x[:k], y[:k])
        a[: k + 1 : 2, k:] += np.outer(x[: k + 1 : 2], a[k + 1, k:])
    return a


def gauss_jordan(a):
    for k in range(len(a)):
        a[k, k + 1 :] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        a[:k, k + 1 :] -= np.outer(a[:k, k], a[k, k + 1 :])
    return a


SINGLE = A.astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("variants", [0, 2])
@pytest.mark.parametrize(
    ("function", "arguments", "also"),
    [
        (lu, (A,), [(A[:1, :1],), (SINGLE,), (A.T,), (A[::-1, ::-1],), (A[:0, :0],)]),
        (blocks, (A, B), [(SINGLE, B.astype(np.float32)), (A, A)]),
        (shifted, (A, B), [(A.T, B.T)]),
        (downwards, (A, X, Y), [(SINGLE, X, Y)]),
    ],
)
def test_the_program_cannot_tell(function, arguments, also, variants):
    _C.test_variants(variants)
    try:
        check(function, *arguments, also=also, whole=True, exits=["return"], options=MANY)
    finally:
        _C.test_variants(0)


@pytest.mark.slow
def test_one_c_function_has_the_loop():
    for function, *arguments in ((lu, A), (blocks, A, B), (shifted, A, B)):
        told = _explain_text.verbose(pycompile.explain(function)(*(a.copy() for a in arguments)))
        assert "unrolled" not in told and "drive of steps" in told, told


def own_rows(a):
    for k in range(1, 5):
        a[k:, k:] += a[:-k, :-k]
    return a


def rows_among_them(a):
    for k in range(1, 8):
        a[k:, k:] -= np.outer(a[k:, k], a[k, k:])
    return a


def columns_among_them(a):
    for k in range(1, 8):
        a[k:, k:] -= np.outer(X[k:], a[k:, k])
    return a


def sizes_differ(a, b):
    for k in range(1, 8):
        a[k:, k:] += b[k:, :3]
    return a


def one_for_many(a, x):
    for k in range(1, 8):
        a[k:, k:] += np.outer(x[:1], x[k:])
    return a


def written_between(a, b):
    for k in range(1, 8):
        t = b[k:, k:] * 2.0
        b[k, k] = 1.0
        a[k:, k:] = t
    return a


def used_twice(a, b):
    for k in range(1, 8):
        t = b[k:, k:] * 2.0
        a[k:, k:] = t + t
        b[:k, :k] -= a[:k, :k]
        a[0, 0] = k
    return a


def doubled(times, part):
    """A part of an array that is added to itself again and again: 2 ** times reads."""
    lines = [f"t = a[{part}] * b[{part}]", *["t = t + t"] * times, f"a[{part}] = t * 1e-9"]
    names: dict = {}
    exec("\n        ".join(["def f(a, b):\n    for k in range(9):", *lines]), names)
    return names["f"]


def divides(a, b):
    for k in range(1, 8):
        a[k:, k:] /= b[k, k:]
    return a


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (gauss_jordan, (A,)),
        (own_rows, (A,)),
        (rows_among_them, (A,)),
        (columns_among_them, (A,)),
        (sizes_differ, (A, B)),
        (one_for_many, (A, X)),
        (written_between, (A, B)),
        (used_twice, (A, B)),
        (divides, (A, B * (B > 0.3))),
        (doubled(40, "k:, k:"), (A, B)),
        (doubled(40, "k, k:"), (A, B)),
    ],
)
def test_other_uses(function, arguments):
    check(function, *arguments, captured=False, options=MANY)
