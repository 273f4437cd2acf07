"""typing, os.path and text of the library."""

# ruff: noqa: UP006, UP007, UP035, UP045

import collections.abc
import os.path
import re
import typing
from typing import Any, Callable, Dict, List, Optional, Union

import numpy as np

from constructs import X, construct

NUMBER = re.compile(r"(\d+)x(\d+)")


@construct("os.path.join, basename, splitext and dirname", X)
def paths(x):
    name = os.path.join("a", "b", "c.npy")
    return name, os.path.basename(name), os.path.splitext(name), os.path.dirname("/a/b"), x * 2


@construct("os.path functions of an argument", X, "data/run1")
def paths_of_argument(x, path):
    parts = os.path.split(path), os.path.isabs(path), os.path.normpath(path + "/../z"), os.sep
    return os.path.join(path, "x.npy"), parts, x * 2


@construct("Union, Optional and Dict with parameters at run time", X)
def aliases(x):
    number, maybe, table = Union[int, float], Optional[np.ndarray], Dict[str, int]
    return number, maybe, table, List[Optional[int]], Callable[[int], float], x * 2


@construct("list[int], tuple[int, ...] and a union at run time", X)
def builtin_aliases(x):
    return list[int], tuple[int, ...], int | None, dict[str, Any], x * 2


class Abstract(collections.abc.Sized):
    pass


class Meta(type):
    def __or__(cls, other):
        return [other]


class Owned(metaclass=Meta):
    pass


@construct("unions of abstract classes", X)
def unions_of_classes(x):
    kinds = isinstance(x, Abstract | collections.abc.Sized | None), isinstance([], float | Abstract)
    return kinds, Abstract | int, int | Abstract | typing.Sized, x * 2


@construct(
    "a metaclass with an operator of its own",
    X,
    breaks="PC0018",
    why="what such an operator does is the metaclass's code",
)
def operator_of_a_metaclass(x):
    return Owned | int, x * 2


@construct("isinstance with classes of typing", X)
def isinstance_typing(x):
    kinds = isinstance([x], typing.List), isinstance({}, typing.Dict)
    more = isinstance(x, typing.Sequence), isinstance(len, typing.Callable)
    return kinds, more, isinstance(x, typing.Iterable), x * 2


@construct("a method of a compiled pattern", X, "3x4")
def pattern_method(x, text):
    rows, columns = map(int, NUMBER.match(text).groups())
    return np.zeros((rows, columns)) + x[0], NUMBER.sub("n", "1x2 3x4")
