"""What the programs of function_programs.py find in their world: classes, functions, arguments.

The classes are in this module and not in the programs', so that objects of the plain and of the
compiled run are of one type.
"""

from __future__ import annotations

import collections
import random
from dataclasses import dataclass
from typing import Any

import numpy as np


class Stop(Exception):
    """An exception of the program's own."""

    def __init__(self, value: Any, text: str = "stop") -> None:
        super().__init__(text)
        self.value = value


class Box:
    """An object to read, change and compute with."""

    scale = 2.0

    def __init__(self, w: Any, tag: str = "box") -> None:
        self.w = w
        self.tag = tag
        self.log: list[str] = []

    def apply(self, x: Any) -> Any:
        return x * self.scale + self.w

    @property
    def half(self) -> Any:
        return self.w / 2

    @half.setter
    def half(self, value: Any) -> None:
        self.w = value * 2

    @classmethod
    def of(cls, w: Any) -> Any:
        return cls(w, tag=cls.__name__)

    def __call__(self, x: Any, *more: Any, k: float = 1.0) -> Any:
        return x * k + len(more)

    def __add__(self, other: Any) -> Any:
        return type(self)(self.w + (other.w if isinstance(other, Box) else other), self.tag)

    def __getitem__(self, index: int) -> Any:
        return self.w * (index + 1)

    def __len__(self) -> int:
        return 3

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.tag == other.tag

    __hash__ = None  # type: ignore[assignment]


class Child(Box):
    """The same with `super()`."""

    scale = 0.5

    def __init__(self, w: Any, tag: str = "child") -> None:
        super().__init__(w, tag)
        self.more = {"n": 1}

    def apply(self, x: Any) -> Any:
        return super().apply(x) - 1


@dataclass
class Pair:
    """A dataclass."""

    a: Any
    b: Any = 1.0

    def total(self) -> Any:
        return self.a + self.b


Point = collections.namedtuple("Point", "a b")


class Bag:
    """A container by protocol, with slots and an attribute for each name that it has not."""

    __slots__ = ("held",)

    def __init__(self, *held: Any) -> None:
        self.held = list(held)

    def __iter__(self) -> Any:
        yield from self.held

    def __iadd__(self, other: Any) -> Any:
        self.held.append(other)
        return self

    def __contains__(self, item: Any) -> bool:
        return any(item is held for held in self.held)

    def __setitem__(self, index: int, value: Any) -> None:
        self.held[index] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return len(name)

    def __matmul__(self, other: Any) -> Any:
        return sum(item * other for item in self)

    def __bool__(self) -> bool:
        return len(self.held) > 1


class Plain:
    """An object whose first attribute a test may give it."""

    def __init__(self, v: Any) -> None:
        if v is not None and v > 0:
            self.v = v
        else:
            self.v = self.w = 1.0


class Manager:
    """A context manager that keeps a log and may suppress."""

    def __init__(self, log: list[str], suppress: bool = False) -> None:
        self.log = log
        self.suppress = suppress

    def __enter__(self) -> Manager:
        self.log.append("enter")
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self.log.append("exit" if kind is None else kind.__name__)
        return self.suppress and kind is not None and issubclass(kind, (Stop, ValueError))


PREAMBLE = """\
import collections
import contextlib
import functools
import itertools
import math
import operator
import numpy as np
from function_world import Bag, Box, Child, Manager, Pair, Plain, Point, Stop
G = 2.0
STATE = []
TABLE = {"k": 1.5}

def helper(x, y=2.0, *rest, z=1.0, **more):
    return x * y + z + len(rest) + len(more)

def parts(x, n):
    for i in range(n):
        yield x + i

def checked(x, limit):
    if limit > 3:
        raise Stop(limit)
    return x * limit

def fold(function, items, start):
    for item in items:
        start = function(start, item)
    return start

def halve(x, n):
    return x if n <= 0 else halve(x * 0.5, n - 1) + n

def twice(function):
    @functools.wraps(function)
    def inner(*args, **more):
        return function(function(*args, **more), **more)
    return inner

def both(x, y, log):
    try:
        got = yield x
        yield y if got is None else got * x
        yield from parts(x, 2)
    finally:
        log.append("both")

@contextlib.contextmanager
def scope(log, name):
    log.append(name)
    try:
        yield len(log)
    except Stop:
        log.append("stopped")
    finally:
        log.append("/" + name)

@functools.lru_cache(maxsize=None)
def cached(n):
    return n * 2 + 1

"""


LENGTHS = (4, 4, 4, 5)
OTHER_LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 64)
COUNTS = (0, 1, 2, 3, 5)
OTHER_COUNTS = (-2, -1, 0, 1, 2, 3, 4, 5, 7, 8)


def arguments(seed: int, sizes: bool = False) -> tuple[Any, ...]:
    """x, y: vectors; m: matrix; n: int; k: float; items: list of vectors; box: Box.  `sizes`: of any
    length."""
    rng = random.Random(seed)
    values = np.random.default_rng(seed)
    length = rng.choice(OTHER_LENGTHS if sizes else LENGTHS)
    x, y = values.normal(size=length), values.normal(size=length)
    m = values.normal(size=(3, length))
    if rng.random() < 0.1:
        x = x.astype(np.float32)
    if rng.random() < 0.1:
        y = m[1]  # shares memory
    n, k = rng.choice(OTHER_COUNTS if sizes else COUNTS), rng.choice((0.5, 1.5, -2.0, 0.0))
    box = rng.choice((Box, Box, Child))(rng.choice((1.0, 2.0, -0.5)))
    count = rng.randrange(6) if sizes else 3
    return x, y, m, n, k, [values.normal(size=length) for _ in range(count)], box
