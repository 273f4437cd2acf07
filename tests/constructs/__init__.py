"""What Python people write in array code, one small function each.

A module here is a section of docs/python-coverage.md; the first line of its docstring is the title.
A construct is a function with arguments for it:

    @construct("tuple unpacking with a star", X, [1, 2, 3])
    def star(x, items):
        first, *rest = items
        return x * first, rest

tests/test_constructs.py calls each compiled and plain, compares all that can be seen, and demands one
plan that covers the whole call, or the break that the construct is registered with.  Modules whose
name ends in `_312` or `_313` need the grammar of that Python.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Arguments that serve most constructs; each call gets copies.
X = np.linspace(-2.0, 3.0, 6)
Y = np.arange(6.0) + 0.5
M = np.arange(12.0).reshape(3, 4)
I = np.arange(-3, 3)


@dataclass(frozen=True)
class Construct:
    """A function, arguments, and what is to become of it."""

    name: str
    section: str  # name of the module
    function: Callable[..., Any]
    args: tuple[Any, ...]
    breaks: str | None  # the code it breaks with; None: captured whole
    why: str  # for a break: the reason, for the page
    kwargs: dict[str, Any] = field(default_factory=dict)


_registered: list[Construct] = []


def construct(
    name: str, *args: Any, breaks: str | None = None, why: str = "", **kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function with arguments; `breaks` and `why` for what is a break for good."""
    if breaks is not None and not why:
        raise ValueError(f"{name}: a break needs a reason")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        section = function.__module__.rpartition(".")[2]
        made = Construct(name, section, function, args, breaks, why, kwargs)
        _registered.append(made)
        return function

    return register


def _modules() -> Iterator[str]:
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        suffix = info.name.rpartition("_")[2]
        needs = (int(suffix[0]), int(suffix[1:])) if suffix.isdigit() else (3, 11)
        if sys.version_info >= needs:
            yield info.name


def sections() -> dict[str, str]:
    """Title by module name, of all modules that this Python can read."""
    titles = {}
    for name in _modules():
        module = importlib.import_module(f"{__name__}.{name}")
        titles[name] = (module.__doc__ or name).strip().splitlines()[0].rstrip(".")
    return titles


def constructs() -> list[Construct]:
    """All that this Python can read, by section, in the order of the files."""
    order = list(sections())
    names = [(made.section, made.name) for made in _registered]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"registered twice: {sorted(twice)}")
    return sorted(_registered, key=lambda made: order.index(made.section))
