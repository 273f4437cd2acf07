"""NumPy's operators write into large operands that nothing but the interpreter's stack holds: the result
is laid out like that operand, and commutative operators take it first (temp_elide.c)."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np
import pytest
from differential import check

RNG = np.random.default_rng(11)
A, B = RNG.standard_normal((2, 300, 300))
LARGE = RNG.random((600, 600)) < 0.5
Z, W = RNG.standard_normal((2, 20000)) + 1j * RNG.standard_normal((2, 20000))


class Holder:
    def __init__(self, value):
        self.value = value


def turned(b):
    return b.T + 1


def kept_in_local(b):
    y = b.T + 1
    return y


def takes_keywords(a, **kept):
    return a * kept.pop("x")


def takes_all(a, *rest):
    return a * rest[0]


def replaced_local(x, a):
    return a * x + (x := a)


def dropped_local(x, a):
    return x * (x := a)


def one_yielded(b):
    y = b.T + 1
    yield y


def two_places(b):
    kept = [b.T + 1]
    return kept[0], kept


# Each gives arrays whose layouts tell which operand was written into.
PROGRAMS = {
    "right": lambda a, b: a * (b.T + 1),
    "left": lambda a, b: (b.T + 1) * a,
    "sum over it": lambda a, b: (a * (b.T + 1)).sum(),
    "sum over an axis": lambda a, b: (a * (b.T + 1)).sum(axis=0),
    "chains": lambda a, b: ((b.T + 1) * a * a, a * a * (b.T + 1), a + (b.T + 1) + a),
    "no commuting": lambda a, b: (a - (b.T + 1), (b.T + 1) - a, a / (b.T + 1), (b.T + 1) / a),
    "floor and remainder": lambda a, b: (
        (b.T + 3) // a,
        a // (b.T + 3),
        (b.T + 1) % a,
        (b.T * b.T + 1) ** a,
    ),
    "unary": lambda a, b: a * -(b.T + 1) + abs(b.T - a) + (b.T + 1) ** 2,
    "bools": lambda a, b: ((b.T > 0) & (a > 0), (b.T > 0).T | (a > 0)),
    "functions of operator": lambda a, b: (
        operator.mul(a, b.T + 1),
        operator.sub(b.T + 1, a),
        operator.mul(b.T, a),
    ),
    "ufuncs never": lambda a, b: (np.multiply(a, b.T + 1), np.add(b.T + 1, a)),
    "methods never": lambda a, b: (b.T + 1).__mul__(a),
    "in place never": lambda a, b: operator.imul(b.T + 1, a),
    "a local": lambda a, b: (y := b.T + 1) * a + y,
    "returned": lambda a, b: (turned(b) * a, kept_in_local(b) * a),
    "an argument": lambda a, b: takes_all(a, b.T + 1),
    "a keyword that is taken out": lambda a, b: takes_keywords(a, x=b.T + 1),
    "an argument that is replaced": lambda a, b: (
        replaced_local(b.T + 1, a),
        dropped_local(b.T + 1, a),
        dropped_local(x=b.T + 1, a=a),
        dropped_local(*(b.T + 1, a)),
        dropped_local(*[b.T + 1, a]),
    ),
    "containers that go": lambda a, b: (
        [b.T + 1][0] * a,
        (b.T + 1, 2)[0] * a,
        {"x": b.T + 1}["x"] * a,
        [b.T + 1].pop() * a,
        {"x": b.T + 1}.pop("x") * a,
    ),
    "containers that stay": lambda a, b: (two_places(b)[0] * a, two_places(b)),
    "attributes": lambda a, b: (Holder(b.T + 1).value * a, vars(Holder(b.T + 1)).pop("value") * a),
    "comprehensions": lambda a, b: (
        [x * a for x in [b.T + 1]],
        [(b.T + 1) * x for x in [a]],
    ),
    "a choice": lambda a, b: (b.T + 1 if a.shape[0] > 3 else a) * a,
    "a view holds it": lambda a, b: (lambda kept: (kept[0][1:], kept.pop(0) * a))([b.T + 1]),
    "views own nothing": lambda a, b: ((b.T + 1)[:] * a, (b + 1).T * a, a * (b.T + 1).real),
    "copies own": lambda a, b: (a * b.T.copy("K"), a * np.array(b.T), a * b.T.astype("f8")),
    "functions of NumPy": lambda a, b: (a * np.sin(b.T), a * np.where(b.T > 0, b.T, 1)),
    "steps": lambda a, b: (a * np.asfortranarray(b), a * np.linalg.inv(b).T, a * np.sort(b).T),
    "sum of arrays": lambda a, b: (
        sum([b.T, a]),
        sum([a], b.T + 0),
        sum([a], start=b.T + 0),
        sum((x + 0 for x in [b.T]), a),
        sum([b.T + 0], a),
        sum(x + 1 for x in (b.T, a)),
    ),
    "reduce": lambda a, b: (
        functools.reduce(operator.add, [b.T, b.T, a]),
        functools.reduce(operator.add, (x + 0 for x in [a, b.T])),
        functools.reduce(lambda x, y: x + y, [b.T, b.T, a]),
    ),
    "accumulate": lambda a, b: (
        list(itertools.accumulate(x + 0 for x in [a, b.T])),
        list(itertools.accumulate([b.T, b.T, a])),
        list(itertools.accumulate((x + 0 for x in [a, b.T]), operator.mul)),
    ),
    "map": lambda a, b: (list(map(operator.mul, [b.T + 1], [a])), list(map(turned, [b]))),
    "generators": lambda a, b: ([x * a for x in one_yielded(b)], next(one_yielded(b)) * a),
    "numbers": lambda a, b: a * (2 * (b.T + 1)) + a * ((b.T + 1) / np.float32(3)) + a * (b.T * 1.5),
    "rows": lambda a, b: ((b.T + 1) * a[0], a[0] * (b.T + 1), (a[0] + 1) * b.T),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_layouts(name):
    check(PROGRAMS[name], A, B)


def test_order_of_complex_products():
    check(lambda z, w: z * w.conj(), Z, W)
    check(lambda z, w: (z * (w + 1), (w + 1) * z, (z + 1) * (w + 1), z + w.conj() * z), Z, W)


def test_both_sides_of_the_size():
    def f(a, b):
        return a * (b.T + 1), (a * (b.T + 1)).sum(), a + b.T - a

    sizes = [RNG.standard_normal((2, n, n)) for n in (181, 182, 180, 183)]
    check(f, *sizes[0], also=tuple(tuple(pair) for pair in sizes[1:]))


def test_rows_of_exactly_the_size():
    wide, narrow = RNG.standard_normal((2, 16384)), RNG.standard_normal((2, 16383))
    check(lambda a: (np.ascontiguousarray(a.T) + 1) * 2 + (a.T + 1), wide, also=((narrow,),))


def test_dtypes_that_do_not_go_back():
    single = A.astype("f4")
    check(lambda a, b: (b.T + 1) * a, A, single)
    check(lambda a, b: (b.T + 1) * a, single, A)
    check(lambda a, b: a * (b.T + 1), single.astype("c8"), RNG.standard_normal((300, 300)))
    check(lambda a, b: (b.T + 1) * np.float64(2) - a, single, single)
    check(lambda a, b: (b.T * 3) * a, np.arange(90000).reshape(300, 300), single)


BOOLS = {
    "square": lambda a: (a | a) ** 2,
    "quotient": lambda a: (a & a) // True,
    "shift": lambda a: (a ^ a.T) << a,
    "right operand": lambda a: a << (a | a),
    "product": lambda a: a * (a.T | a),
    "caught": lambda a: squared_or_none(a),
}


def squared_or_none(a):
    try:
        return (a | a) ** 2
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("name", BOOLS)
def test_bools_that_numpy_cannot_write_back(name):
    """int8 does not go into a bool: an error, from that size on."""
    check(BOOLS[name], LARGE, captured=False)
    check(BOOLS[name], LARGE[:20, :20], captured=False)


def test_arguments_in_a_tuple():
    """Functions of C are given a tuple's items: NumPy writes into them, and the tuple shows it."""

    def f(a, b):
        pair = (b.T + 1, a)
        return operator.mul(*pair), pair

    def g(a, b):
        made = functools.partial(operator.mul, b.T + 1)
        return made(a), made.args

    check(f, A, B, captured=False)
    check(g, A, B, captured=False)


@pytest.mark.slow
def test_results_of_steps_that_own_nothing():
    def f(a, b):
        x = np.tensordot(a, b, axes=([0], [0]))
        return np.tensordot(b, a, axes=([0], [0])).T * a, np.kron(a[:2], b[:, :2])[:300] * 2 + x[
            0, 0
        ]

    check(f, A, B)


def test_temporaries_left_on_the_stack_by_a_break():
    def f(a, b, held):
        first = (b.T + 1) * (held.append(0) or id(held) and a)
        second = (held.append(b.T + 2) or held[-1]) * (id(held) and a)
        return first, second, len(held)

    check(f, A, B, [], captured=False)


def test_large_arrays_in_steps():
    def f(a, b, held):
        total = sum([b.T + 0, a], start=id(held) * 0)
        return total, functools.reduce(operator.add, [b.T, b.T, a * (id(held) > 0)])

    check(f, A, B, [], captured=False)


def test_temporaries_of_unknown_shape():
    big = RNG.standard_normal((300, 300))

    def f(z, w, a):
        m = w.real > -9
        rows = a[:, 0] > -9
        return z * w[m].conj(), w[m] * (z + 1), a * (a[rows].T + 1), z[m] - (z + 1)

    check(f, Z, W, big)
    check(f, Z[:100], W[:100], big[:10, :10])


def test_temporaries_behind_a_break():
    def f(a, b, log):
        x = a * np.sort(b.T, axis=0, kind="stable")
        y = (b.T + 1) * (log.append(len(log)) or id(log) and a)
        return x, y, a * (b.T + id(log) * 0)

    check(f, A, B, [], captured=False)


# An axis of one element shows whether an operator of one operand wrote into it: the stride of that
# axis, which NumPy orders as it likes, is the temporary's.
UNARY = {
    "negative": lambda a, b: (-np.multiply(a, b), -(z := np.multiply(a, b)), z),
    "positive": lambda a, b: (+np.multiply(a, b), +(z := np.multiply(a, b)), z),
    "absolute": lambda a, b: (abs(np.multiply(a, b)), np.absolute(np.multiply(a, b))),
    "square": lambda a, b: (np.multiply(a, b) ** 2, (z := np.multiply(a, b)) ** 2, z),
    "cube": lambda a, b: np.multiply(a, b) ** 3,
    "root": lambda a, b: (np.multiply(a, b) ** 0.5, (z := np.multiply(a, b)) ** 0.5, z),
    "reciprocal": lambda a, b: (
        np.multiply(a, b) ** -1.0 if a.dtype.kind in "iu" else np.multiply(a, b) ** -1
    ),
    "chain": lambda a, b: (abs(-(np.multiply(a, b) ** 2)), -np.multiply(a, b) + 1),
    "of an argument": lambda a, b: (-a, abs(b), a**2),
}


@pytest.mark.parametrize("dtype", ["i8", "u1", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("name", UNARY)
def test_axes_of_one_element(name, dtype):
    x = (np.arange(1024 * 512).reshape(512, 1024) % 7 + 1).astype(dtype)
    small = x[:16, :16].copy()
    check(UNARY[name], x[..., None].T, x.T, also=((small[..., None].T, small.T),), captured=False)


def test_inverted_bools_with_an_axis_of_one_element():
    x = np.arange(1024 * 512).reshape(512, 1024) % 3 > 0
    check(
        lambda a, b: (~np.logical_and(a, b), ~(z := np.logical_and(a, b)), z), x[..., None].T, x.T
    )
