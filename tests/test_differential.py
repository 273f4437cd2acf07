"""The comparison itself: it must see each kind of difference."""

import array
import collections
import functools
import itertools
import threading
import types
import warnings

import numpy as np
import pytest
from differential import Comparison, copied, differences, observe


def seen(function, *args):
    return observe(function, *copied((args, {}), {}))


def lines(first, second, *args):
    return "\n".join(differences(seen(first, *args), seen(second, *args)))


def test_equal_functions_do_not_differ():
    def f(x, box):
        box.append(x[1:])
        return x.T, box, float(x.sum()), {"a": x}

    assert lines(f, f, np.arange(6.0).reshape(2, 3), [1]) == ""


def test_nan_payloads_and_signed_zeros_are_seen():
    other = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert "bits" in lines(lambda: np.array([np.nan]), lambda: other)
    assert "bits" in lines(lambda: 0.0, lambda: -0.0)


def test_layout_is_seen():
    x = np.ones((4, 4))
    assert "strides" in lines(lambda x: x + 1, lambda x: (x + 1).T.copy().T, x)
    assert "OWNDATA" in lines(lambda x: x.copy(), lambda x: x.copy()[:], x)
    assert "dtype" in lines(lambda x: x, lambda x: x.astype(np.float32), x)


def test_aliasing_is_seen():
    x = np.ones(4)
    assert "identity" in lines(lambda x: x, lambda x: x.copy(), x)
    assert "memory shared" in lines(lambda x: x[:3], lambda x: x[1:], x)


def test_mutation_and_order_of_keys_are_seen():
    def plus(x):
        x += 1

    assert "arguments" in lines(plus, lambda x: None, np.ones(3))
    assert "keys" in lines(lambda: {"a": 1, "b": 2}, lambda: {"b": 2, "a": 1})


def test_exceptions_are_seen_with_their_lines():
    def early(x):
        raise ValueError("no")

    def late(x):
        x += 1
        raise ValueError("no")

    found = lines(early, late, 1)
    assert "traceback" in found and "text" not in found


def test_warnings_and_output_are_seen():
    def loud():
        warnings.warn("w", stacklevel=1)
        print("p")

    found = lines(loud, lambda: None)
    assert "warnings" in found and "stdout" in found


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(24).reshape(2, 3, 4)[:, ::-1, 1:3],
        lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        lambda: np.frombuffer(b"abcdefgh", np.int32),
        lambda: np.zeros((0, 3)),
        lambda: np.array(3.0),
        lambda: np.zeros(33, np.uint8)[1:].view(np.float64),
        lambda: np.broadcast_to(np.arange(3), (4, 3)),
    ],
)
def test_copies_keep_the_layout(make):
    x = make()
    y, z = copied((x, x), {})
    assert y is z and y is not x
    assert y.strides == x.strides and y.dtype == x.dtype
    assert y.flags.writeable == x.flags.writeable and y.flags.aligned == x.flags.aligned
    assert y.tobytes() == x.tobytes() and not np.shares_memory(x, y)


def test_copies_keep_who_shares_what():
    x = np.arange(10.0)
    y, z = copied((x[1:], x[:-1]), {})
    assert np.shares_memory(y, z)
    y[0] = 100.0
    assert z[1] == 100.0 and x[1] == 1.0


class Slotted:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


class Derived(Slotted):
    pass


class Listed(list):
    pass


def with_attribute(made, v):
    made.v = v
    return made


def closure(v):
    return lambda: v


def keyword(v):
    def take(*, v=v):
        return v

    return take


def generator(*values):
    made = (v for v in values)
    next(made)
    return made


PAIRS = {
    "slots": lambda v: Slotted(v),
    "slots of a base": lambda v: Derived(v),
    "attributes of a list": lambda v: with_attribute(Listed(), v),
    "attributes of a function": lambda v: with_attribute(closure(0), v),
    "closure": lambda v: closure(v),
    "keyword default": lambda v: keyword(v),
    "code": lambda v: (lambda: 1) if v == 1 else (lambda: 2),
    "partial": lambda v: functools.partial(max, v),
    "function of a partial": lambda v: functools.partial((max, min)[v == 1], 1),
    "method": lambda v: Slotted(v).__init__,
    "method of C": lambda v: [v].append,
    "deque": lambda v: collections.deque([v]),
    "room of a deque": lambda v: collections.deque([], v),
    "default factory": lambda v: collections.defaultdict((int, float)[v == 1]),
    "list iterator": lambda v: iter([v]),
    "where an iterator is": lambda v: itertools.islice(iter([1, 2, 3]), v),
    "zip": lambda v: zip([v], [1]),
    "map": lambda v: map(abs, [v]),
    "enumerate": lambda v: enumerate([v]),
    "chain": lambda v: itertools.chain([v], [1]),
    "generator": lambda v: generator(0, v),
    "keys": lambda v: {v: 1}.keys(),
    "values": lambda v: {1: v}.values(),
    "items": lambda v: {1: v}.items(),
    "mapping proxy": lambda v: types.MappingProxyType({1: v}),
    "memory": lambda v: memoryview(bytes([v])),
    "bytearray": lambda v: bytearray([v]),
    "array": lambda v: array.array("d", [v]),
    "cell": lambda v: closure(v).__closure__[0],
    "property": lambda v: property(closure(v)),
    "static method": lambda v: staticmethod(closure(v)),
    "set": lambda v: {v},
    "order of a set": lambda v: {8, 0} if v == 1 else {0, 8},
    "types in a set": lambda v: {1} if v == 1 else {1.0},
    "exception": lambda v: ValueError(v),
    "flat": lambda v: np.full(2, v).flat,
    "namespace": lambda v: types.SimpleNamespace(v=v),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_in_objects_is_seen(name):
    make = PAIRS[name]
    for other, differ in ((1, False), (2, True)):
        walk = Comparison()
        walk.compare("result", make(1), make(other))
        assert bool(walk.lines) == differ, walk.lines


def test_what_cannot_be_compared_is_not_taken_for_equal():
    with pytest.raises(TypeError, match="cannot compare"):
        Comparison().compare("result", threading.Lock(), threading.Lock())
