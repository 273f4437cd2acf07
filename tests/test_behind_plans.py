"""What a program changes behind a plan: run, change, run again, and see what plain Python sees.

Each row makes a small world of globals, a function of an array that also asks that world something,
and a change.  The function runs compiled and plain before the change and after it, twice over: what
is watched must be watched again.  In every row a plan has to run first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differential import differences, observe
from plan_changes import CHANGES
from plan_changes.arguments import ALIAS_WORLD, ALIASES
from plan_changes.change import Change
from plan_changes.places import BROKEN, CLASSES, KINDS, PLACES, VALUES

import pycompile

IMPORTS = """
import abc, array, builtins, collections, contextvars, copy, dataclasses, enum, functools, logging, math
import operator, os, re, sys, threading, types, typing, weakref
import numpy as np
"""
X = np.arange(6.0)


def function_of(world: dict[str, Any], asked: str, given: str) -> Any:
    source = f"def f({', '.join(['x', *given.split()])}):\n    return np.exp(x) * 2 + x, {asked}\n"
    exec(compile(source, "<function>", "exec"), world)
    return world["f"]


def compare(function: Any, compiled: Any, args: tuple[Any, ...], when: str) -> None:
    for _ in range(3):
        lines = differences(observe(function, args, {}), observe(compiled, args, {}))
        assert not lines, when + "\n  " + "\n  ".join(lines)


def check(row: Change) -> None:
    world: dict[str, Any] = {"__name__": __name__}
    exec(IMPORTS, world)
    exec(row.world, world)
    function = function_of(world, row.asked, row.given)
    compiled = pycompile.compile(function)
    args = (X, *(world[name] for name in row.given.split()))
    compare(function, compiled, args, "before the change")
    stats = compiled.stats()
    assert stats["plan_runs"] > 0
    assert stats["breaks"] == 0 or not row.whole, f"graph breaks: {stats}"
    exec(row.change, world)
    compare(function, compiled, args, "after the change")
    exec(row.change, world)
    compare(function, compiled, args, "after the change was made again")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_object_changes_at_a_place(kind, place):
    make, asked, change = KINDS[kind]
    put, path, _ = PLACES[place]
    world = CLASSES + f"OBJECT = {make}\n{put}\n"
    check(
        Change(
            "",
            world,
            asked.format(o=path),
            change,
            "o" if place == "argument" else "",
            whole=kind not in BROKEN,
        )
    )


@pytest.mark.parametrize("place", [place for place in PLACES if place != "argument"])
@pytest.mark.parametrize("value", VALUES)
def test_another_object_at_a_place(value, place):
    old, new = VALUES[value]
    put, path, change = PLACES[place]
    world = CLASSES + f"OBJECT = {old}\nNEW = {new}\n{put}\n"
    check(Change("", world, path, change))


@pytest.fixture
def unchanged():
    """What rows change outside their world."""
    errors, printing = np.geterr(), np.get_printoptions()
    yield
    np.seterr(**errors)
    np.set_printoptions(**printing)


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: row.name)
def test_change(row, unchanged):
    check(row)


@pytest.mark.parametrize("name", ALIASES)
def test_arguments_become_one_object(name):
    asked, apart, one = ALIASES[name]
    world: dict[str, Any] = {"__name__": __name__}
    exec(IMPORTS + ALIAS_WORLD, world)
    function = function_of(world, asked, "a b")
    compiled = pycompile.compile(function)
    for when, arguments in (("apart", apart), ("one", one), ("apart again", apart)):
        for _ in range(3):
            seen = []
            for f in (function, compiled):
                world["G"] = world["Made"].n = world["M"].v = 1.0
                seen.append(observe(f, (X.copy(), *eval(arguments, world)), {}))
            lines = differences(*seen)
            assert not lines, when + "\n  " + "\n  ".join(lines)
    assert compiled.stats()["plan_runs"] > 0
