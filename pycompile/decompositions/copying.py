"""copy.copy and copy.deepcopy without id(): what was copied is found again by `is`."""

from __future__ import annotations

import copy
import copyreg
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import numpy as np

from pycompile._api import graph_break

_ATOMIC = (
    type(None),
    type(...),
    type(NotImplemented),
    int,
    float,
    bool,
    complex,
    bytes,
    str,
    range,
    types.FunctionType,
    types.BuiltinFunctionType,
    type,
    property,
    *[np.dtype(code).type for code in "?bhilqBHILQefdFD"],
)
_CHANGING = (list, dict, set, np.ndarray)
#: What their instances hold is copied too.
_HOLDING = (list, dict, tuple, set, frozenset, str, bytes, int, float, complex, deque)
_HOOKS = ("__getnewargs__", "__getnewargs_ex__", "__setstate__")
_OURS = "pycompile"  # where the memo that an object's own method is given holds what was copied


def _is_named(cls):
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _check_plain(cls):
    """Breaks where instances are not copied as object.__reduce_ex__ has it: class and __dict__."""
    if issubclass(cls, _HOLDING):
        graph_break()
    if cls.__reduce_ex__ is not object.__reduce_ex__ or cls.__reduce__ is not object.__reduce__:
        graph_break()
    if cls.__getstate__ is not object.__getstate__:
        graph_break()
    for name in _HOOKS:
        if hasattr(cls, name):
            graph_break()
    for base in cls.__mro__:
        if getattr(base, "__slots__", ()):
            graph_break()
    if cls in copyreg.dispatch_table:
        graph_break()


def copy_(x):
    """copy.copy"""
    cls = type(x)
    if cls in _ATOMIC or cls is tuple or cls is frozenset or cls is slice:
        return x
    if cls in (list, dict, set):
        return x.copy()
    if cls is np.ndarray:
        return x.copy("K")
    if cls in (defaultdict, Counter, OrderedDict, deque):
        return x.copy()
    if issubclass(cls, type):
        return x
    hook = getattr(cls, "__copy__", None)
    if hook is not None:
        return hook(x)
    if _is_named(cls):
        return cls.__new__(cls, *x)
    _check_plain(cls)
    made = cls.__new__(cls)
    made.__dict__.update(x.__dict__)
    return made


def _is_fixed(x):
    """A deep copy of it is it."""
    cls = type(x)
    if cls is tuple:
        for item in x:
            if not _is_fixed(item):
                return False
        return True
    return cls in _ATOMIC or issubclass(cls, type)


def _is_same(a, b):
    """a is b, where two tuples that hold different objects are known to be different ones."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        if len(a) != len(b):
            return False
        for item, other in zip(a, b):
            if type(item) is not type(other):
                return False
            if type(item) in _CHANGING and item is not other:
                return False
            if type(item) is tuple and not _is_fixed(item) and not _is_same(item, other):
                return False
    return a is b


def _deep(x, memo):
    cls = type(x)
    if cls in _ATOMIC or issubclass(cls, type):
        return x
    copied = memo[_OURS]
    for old, new in copied:
        if _is_same(old, x):
            return new
    made: Any
    if cls is list:
        made = []
        copied.append((x, made))
        for item in x:
            made.append(_deep(item, memo))
        return made
    if cls is dict:
        made = {}
        copied.append((x, made))
        for key, item in x.items():
            made[_deep(key, memo)] = _deep(item, memo)
        return made
    if cls is tuple:
        if _is_fixed(x):
            return x
        made = tuple([_deep(item, memo) for item in x])
    elif cls is np.ndarray:
        made = x.copy("K")
    elif cls is set:
        made = set([_deep(item, memo) for item in x])  # noqa: C403 - laid out as set(list)
    elif cls is deque:
        made = deque([], x.maxlen)
        copied.append((x, made))
        for item in x:
            made.append(_deep(item, memo))
        return made
    elif cls is defaultdict or cls is OrderedDict or cls is Counter:
        made = defaultdict(_deep(x.default_factory, memo)) if cls is defaultdict else cls()
        copied.append((x, made))
        for key, item in x.items():
            made[_deep(key, memo)] = _deep(item, memo)
        return made
    elif getattr(cls, "__deepcopy__", None) is not None:
        made = cls.__deepcopy__(x, memo)
        if made is x:
            return made
    elif _is_named(cls):
        made = cls.__new__(cls, *[_deep(item, memo) for item in x])
    else:
        _check_plain(cls)
        made = cls.__new__(cls)
        copied.append((x, made))
        attributes = made.__dict__
        for name, item in x.__dict__.items():
            attributes[name] = _deep(item, memo)
        return made
    copied.append((x, made))
    return made


def deepcopy(x, memo=None, _nil=()):
    """copy.deepcopy"""
    if memo is None:
        memo = {_OURS: []}
    elif type(memo) is not dict or _OURS not in memo:
        graph_break()
    return _deep(x, memo)


TABLE: dict[Any, Any] = {copy.copy: copy_, copy.deepcopy: deepcopy}
