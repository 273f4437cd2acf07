"""What a node calls that is no operation of the graph's own."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pycompile import _C, _calls, _elision, _steps
from pycompile.derivatives import rules
from pycompile.derivatives._elementwise import DISCRETE
from pycompile.derivatives._text import Node


class Called:
    """A call with templates, whose holes are nodes."""

    def __init__(self, function: Any, args: Any, kwargs: Any, nodes: Sequence[Node]) -> None:
        self.function, self.args, self.kwargs, self.nodes = function, args, kwargs, nodes
        self.changed: tuple[int, ...] = ()


def has_numbers_apart(function: Any, third: Any) -> bool:
    """Is it a method that takes a tuple's items one by one, which NumPy's functions do not?"""
    if function in (np.ndarray.reshape, np.ndarray.transpose):
        return True
    name = getattr(function, "__name__", "")
    is_order = isinstance(third, str)
    return name in ("reshape", "transpose") and is_cupys(function) and not is_order


def called(node: Node) -> Called:
    """What the node calls, the same for all ways in which plans call functions."""
    thing, nodes = node.object, node.args
    holes = [_calls.Hole(i) for i in range(len(nodes))]
    names = node.kwnames or ()
    split = len(holes) - len(names)
    args: Any = tuple(holes[:split])
    kwargs: Any = dict(zip(names, holes[split:], strict=True))
    changed: tuple[int, ...] = ()
    if thing is _steps.take:
        template = iter(holes[2:])
        key = tuple(next(template) if x is _steps.HOLE else x for x in nodes[0].object)
        return Called(operator.getitem, (holes[1], key[0] if len(key) == 1 else key), {}, nodes)
    if thing is _steps.put:
        template = iter(holes[3:])
        key = tuple(next(template) if x is _steps.HOLE else x for x in nodes[0].object)
        out = Called(
            operator.setitem, (holes[1], key[0] if len(key) == 1 else key, holes[2]), {}, nodes
        )
        out.changed = (1,)
        return out
    if thing is _C.array_select:
        return Called(operator.getitem, args, {}, nodes)
    if isinstance(thing, _calls.Call):
        args, kwargs, changed, thing = (
            thing.args,
            thing.kwargs,
            tuple(thing.changed),
            thing.function,
        )
    while True:
        if isinstance(thing, _calls.Keywords):
            kwargs, thing = {**thing.keywords, **kwargs}, thing.function
        elif type(thing) is functools.partial:
            args, kwargs, thing = (*thing.args, *args), {**thing.keywords, **kwargs}, thing.func
        else:
            break
    if len(args) > 2:
        third = nodes[args[2].number].object if type(args[2]) is _calls.Hole else args[2]
        if has_numbers_apart(thing, third):
            args = (args[0], tuple(args[1:]))
    out = Called(thing, args, kwargs, nodes)
    out.changed = changed
    return out


def function_of(call: Called) -> Any:
    """What is called; of a method, NumPy's function that does the same, and of an operator that
    says where its result lies, the operator."""
    function = call.function
    if isinstance(function, _elision.Operator):
        return function.function
    if isinstance(function, _elision.Into):
        return function.ufunc
    if function is np.ndarray.flatten:
        return np.ravel
    if getattr(function, "__objclass__", None) in (np.ndarray, np.generic):
        return getattr(np, function.__name__, function)
    return of_numpy(function) if is_cupys(function) else function


def is_cupys(function: Any) -> bool:
    """Is it a function of CuPy's, or a method of its arrays?"""
    owner = getattr(function, "__objclass__", function)
    return str(getattr(owner, "__module__", "")).partition(".")[0] == "cupy"


def of_numpy(function: Any) -> Any:
    """Of a function of CuPy's, or a method of its arrays, NumPy's of that name."""
    name = getattr(function, "__name__", "")
    found = (getattr(module, name, None) for module in (np, np.linalg, np.fft, np.ndarray))
    return next((each for each in found if each is not None), function)


def is_flat(node: Node) -> bool:
    """Is it a call of what has no derivative but zero, by definition?"""
    function = function_of(called(node))
    if isinstance(function, np.ufunc):
        return function.__name__ in DISCRETE
    return function in rules.ZERO_SET


def is_ratio(node: Node) -> bool:
    """Does it give a number as two integers?"""
    return getattr(called(node).function, "__name__", "") == "as_integer_ratio"


def holes_in(template: Any) -> Iterable[int]:
    if type(template) is _calls.Hole:
        yield template.number
    elif type(template) in (tuple, list):
        for item in template:
            yield from holes_in(item)
    elif type(template) is dict:
        for item in template.values():
            yield from holes_in(item)
    elif type(template) is slice:
        yield from holes_in((template.start, template.stop, template.step))


def plain_results(call: _calls.Call) -> bool:
    """Does the graph take the call's results by the numbers that they have in what it returns?"""
    items = call.check.items
    return items is None or (len(items) > 1 and not call.changed and not has_others(call))


def has_others(call: _calls.Call) -> bool:
    """Is among the call's results what is none of the graph's: a view of an argument, say?"""
    leaves = (*_calls.PROMISED, _C.StepValue.OPAQUE, _C.StepValue.OBJECT)
    return any(item.form not in leaves for item in call.check.items or ())
