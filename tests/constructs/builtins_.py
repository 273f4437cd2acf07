"""Builtin functions and types."""

import cmath
import math
import operator
import os
from typing import cast

import numpy as np

from constructs import X, Y, construct

os.environ.setdefault("PYCOMPILE_TEST_CONSTRUCT", "3")


@construct("abs, divmod, pow, round", X, 7, -2.5)
def arithmetic(x, n, a):
    return abs(a), divmod(7, -2), pow(3, 5, 7), pow(2, -1), round(2.567, 1), round(a), x + n


@construct("min and max with key and default", X)
def extremes(x):
    return max("aa", "b", key=len), min([], default=3), max([3, -5], key=abs), x + 1


@construct("min and max of arguments", X, 2, 5)
def extremes_arguments(x, a, b):
    return min(a, b), max(a, b, 3), x * max(a, b)


@construct("sum, any, all", X, [1, 2, 3])
def folds(x, items):
    return sum(items), sum(items, 10), any([0, 1]), all([]), sum([x, x]), x + 1


@construct("len of containers", X, [1], {"a": 1})
def lengths(x, items, table):
    return len(items), len(table), len("abc"), len(range(5)), len({1, 2}), len(x), x + 1


@construct("zip, map and filter", X)
def iterators(x):
    odd = list(filter(lambda n: n % 2, range(5)))
    return list(zip("ab", odd)), list(map(pow, [2, 3], [2, 2])), list(filter(None, [0, 1])), x + 1


@construct("iter with a sentinel", X)
def sentinel(x):
    items = [1, 2, 0, 4]
    return list(iter(lambda: items.pop(0), 0)), items, x + 1


@construct("next with a default", X)
def next_default(x):
    it = iter([1])
    return next(it), next(it, "end"), x + 1


@construct("isinstance of unions and tuples", X, 3)
def instances(x, n):
    return isinstance(n, int | str), isinstance(x, (list, np.ndarray)), isinstance(None, str), x + n


@construct("type and class tests", X, 2.5)
def types(x, a):
    return type(a) is float, type(x) is np.ndarray, type([]) == list, issubclass(bool, int), x * a  # noqa: E721


@construct("callable, getattr and hasattr", X)
def attributes(x):
    return callable(len), getattr(x, "ndim"), hasattr(x, "nope"), getattr(3, "zz", 1), x + 1  # noqa: B009


@construct("range", X, 4)
def ranges(x, n):
    r = range(1, n * 2, 2)
    return list(r), r[1], 3 in r, len(r), r[::-1], range(3) == range(0, 3), x + 1


@construct("conversions between containers", X, [3, 1])
def conversions(x, items):
    return tuple(items), list((1, 2)), set(items) == {1, 3}, dict([(1, 2)]), tuple("ab"), x + 1


@construct("bool, int, float, complex", X, 2)
def scalars(x, n):
    return bool([]), int(3.9), float(n), complex(1, 2), int(True), float("inf"), x * float(n)


@construct("big integers", X, 3)
def big(x, n):
    return (10**30) * 3, 2**100 % 7, -(2**70) // 3, (1 << 80) >> 70, x * n


@construct("signs of // and %", X, 7)
def signs(x, n):
    return 7 // -2, -7 % 3, n // -2, -n % 3, -7.5 // 2, 7.5 % -2, x + n


@construct("division by zero handled", X)
def zero(x):
    try:
        1 // 0
    except ZeroDivisionError as error:
        return str(error), x + 1


@construct("complex arithmetic", X)
def complexes(x):
    z = 3 + 4j
    return abs(z), z.conjugate(), z * 1j, z.real, cmath.sqrt(-1), x * z.imag


@construct("math on constants", X)
def maths(x):
    return (
        math.sqrt(2.0),
        math.gcd(12, 18),
        math.comb(5, 2),
        math.inf,
        math.hypot(3, 4),
        x * math.pi,
    )


@construct("operator functions on constants", X)
def operators(x):
    return (
        operator.add(1, 2),
        operator.getitem([4, 5], 1),
        operator.lt(1, 2),
        operator.contains("ab", "a"),
        operator.neg(3),
        x + 1,
    )


@construct("object() as a sentinel", X)
def sentinels(x):
    missing = object()
    return missing is missing, missing is object(), {}.get("a", missing) is missing, x + 1


@construct("globals() read", X)
def module_names(x):
    return globals()["np"].sum(x), x + 1


@construct("os.environ read", X)
def environment(x):
    return x * int(os.environ["PYCOMPILE_TEST_CONSTRUCT"]), os.environ.get(
        "PYCOMPILE_TEST_NOT_THERE", "no"
    )


@construct("typing.cast", X, Y)
def casts(x, y):
    return cast("np.ndarray", x) + cast(np.ndarray, y)


@construct("unbound methods of builtin types", X, [1])
def unbound(x, items):
    list.append(items, x + 1)
    return str.join("-", ["a", "b"]), dict.get({"a": 1}, "a"), len(items)


@construct("hash of constants", X)
def hashes(x):
    return hash(1), hash("a") == hash("a"), hash((1, None)) == hash((1, None)), x + 1


@construct("__debug__ and assert", X, 2)
def debug(x, n):
    assert n > 0, "positive"
    return __debug__, x * n
