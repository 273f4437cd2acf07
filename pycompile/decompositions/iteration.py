"""Builtins and itertools as generators: the equivalents that Python's documentation gives.

What the originals do when they are called (they call iter() on their arguments, check numbers) is done
by plain functions, what they do lazily by generators that these return.
"""

from __future__ import annotations

from typing import Any


def _filter(function, iterator):
    for item in iterator:
        if function(item):
            yield item


def _filter_true(iterator):
    for item in iterator:
        if item:
            yield item


def filter_(function, iterable, /):
    """filter"""
    iterator = iter(iterable)
    if function is None or function is bool:
        return _filter_true(iterator)
    return _filter(function, iterator)


TABLE: dict[Any, Any] = {filter: filter_}
