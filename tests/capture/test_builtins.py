"""Builtins called with arguments that they do not take raise what CPython raises."""

import numpy as np
import pytest
from differential import check

X = np.array([-0.75, -2.0, 2.5])

CALLS = """
len(x, x) | len(x, obj=1) | len() | sum([1.0], foo=2) | sum([1.0], 1, start=2) | sum() | any([1], [2]) | all()
enumerate([1], foo=2) | enumerate([1], 1, start=2) | enumerate() | abs(x, x) | abs(n=1) | callable() | callable(x, 1)
sorted() | sorted([1], [2]) | sorted([1], foo=1) | range(1, 2, 3, 4) | range() | range(stop=3) | isinstance(x)
isinstance(x, int, 3) | issubclass(int) | getattr(x) | getattr(x, 'a', 1, 2) | setattr(x, 'a') | delattr(x)
hasattr(x) | vars(1) | next() | next(iter([]), 1, 2) | iter() | iter([], 1, 2) | list([1], [2]) | list(a=1)
tuple([1], [2]) | dict([], []) | zip([1], foo=1) | zip(1) | reversed([1], [2]) | reversed() | filter(None)
filter(None, [1], [2]) | slice() | slice(1, 2, 3, 4) | min() | max(foo=1) | round() | round(1.5, 1, 2) | float(1, 2)
float(x=1) | bool(1, 2) | bool(x=1) | int(1, 2, 3) | type() | print(1, foo=2) | frozenset([1], [2]) | set(a=1)
repr() | repr(1, 2) | hash() | divmod(1) | format() | globals(1) | super(1, 2, 3) | str(1, 2, 3, 4) | complex(1, 2, 3)
"""


@pytest.mark.parametrize(
    "call", [one.strip() for one in CALLS.replace("\n", "|").split("|") if one.strip()]
)
def test_wrong_arguments(call):
    function = eval(f"lambda x: (x * 2.0 + 1.0, {call})")
    assert isinstance(check(function, X, captured=False).raised, TypeError)


@pytest.mark.parametrize(
    "call", ["len", "hash", "repr", "abs", "round", "float", "int", "bool", "str"]
)
def test_wrong_arguments_of_an_object(call):
    class Number:
        def method(self, *rest):
            return 1

        __len__ = __hash__ = __abs__ = __round__ = __int__ = method

        def __float__(self):
            return 1.0

    function = eval(f"lambda x, Number: (x * 2.0, {call}(Number(), 1, 2, 3))")
    assert isinstance(check(function, X, Number, captured=False).raised, TypeError)


SUMS = """
[1.0, x[0], x[1]] | [x[0], 1.0, x[1], 1e16] | [1, 2.0, float(x[0]), x[1], 0.1] | [0.1] * 9 + [x[0], 0.1, 1e-17]
[1e16, 1.0, x[0], 1.0] | [True, x[0], 1j, x[1]] | [float(x[0]), 1e16, 1.0, x[1]] | [0.1, x, 0.2]
"""


@pytest.mark.parametrize(
    "items", [one.strip() for one in SUMS.replace("\n", "|").split("|") if one.strip()]
)
@pytest.mark.parametrize("start", ["", ", 0.5", ", x[2]", ", 2"])
def test_sums_of_numbers_of_two_kinds(items, start):
    """The compensation of Python's sum ends where NumPy's numbers begin."""
    check(eval(f"lambda x: (sum({items}{start}), x + 1)", {"np": np}), X)
