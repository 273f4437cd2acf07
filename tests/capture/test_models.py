"""Methods of the library's containers, made inside, that leave the graph: those of the real object."""

import collections
import os

import numpy as np
import pytest
from differential import check


def kind_of(method):
    return type(method).__name__, method.__self__


def ordered(x):
    made = collections.OrderedDict(a=x * 2)
    return made.setdefault


def deque_after_a_break(x):
    made = collections.deque([x + 1], 3)
    append = made.append
    os.getpid()
    append(5)
    made.extend("ab")
    return made


def raises_inside(x):
    made = collections.OrderedDict(a=x + 1)
    try:
        made.pop("b")
    except KeyError as error:
        text = repr(error)
    os.getpid()
    return text, made.setdefault("k", default=3), made


def counted(x):
    made = collections.Counter("abca")
    made.update({"a": int(x.size)})
    most = made.most_common
    os.getpid()
    return most(2), type(most), type(made.pop)


def missing(x):
    made = collections.defaultdict(list)
    made["a"].append(x + 1)
    find = made.__missing__
    os.getpid()
    return find("zz"), made


@pytest.mark.parametrize("function", [deque_after_a_break, raises_inside, counted, missing])
def test_method_leaves(function):
    check(function, np.arange(4.0), captured=False)


def test_method_is_the_result():
    check(lambda x: kind_of(ordered(x)), np.arange(4.0), captured=False)
    import pycompile

    method = pycompile.compile(ordered)(np.arange(4.0))
    assert kind_of(method)[0] == "builtin_function_or_method"
    assert type(method.__self__) is collections.OrderedDict
    assert method("b", 2) == 2 and list(method.__self__) == ["a", "b"]
