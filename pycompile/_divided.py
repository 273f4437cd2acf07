"""NumPy's functions whose work gufuncs do, with the gufuncs' rows divided among pycompile's threads.

Such a function (the trait DIVIDED of csrc/capture/numpy/numpy_traits.def) is Python code of NumPy's.  A plan
calls the same code in a namespace of its own, in which each gufunc is one of `_Gufunc`: what is done before
and behind the gufuncs is NumPy's, whatever its version, and NumPy's own modules stay as they are.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from pycompile import _C
from pycompile._C import NumpyFunction
from pycompile._calls import Call


class _Gufunc:
    """Stands for a gufunc."""

    __slots__ = ("gufunc",)

    def __init__(self, gufunc):
        self.gufunc = gufunc

    def __call__(self, *args, **kwargs):
        return _C.gufunc_call(self.gufunc, args, kwargs)

    def __getattr__(self, name):
        return getattr(self.gufunc, name)


_twins: dict[int, dict[str, Any]] = {}  # id of a module's namespace -> its twin
_divided: dict[Any, Any] = {}  # function of NumPy's -> the twin's, or None


def _over_threads(value):
    """A module of gufuncs, with those that threads divide; anything else is itself."""
    if not isinstance(value, types.ModuleType):
        return value
    gufuncs = {
        name: _Gufunc(item)
        for name, item in vars(value).items()
        if isinstance(item, np.ufunc) and item.signature is not None
    }
    return types.SimpleNamespace(**{**vars(value), **gufuncs}) if gufuncs else value


def _implementation(function):
    """The Python code of a function that NumPy dispatches; None where there is none."""
    found = getattr(function, "_implementation", function)
    return found if type(found) is types.FunctionType else None


def _twin_of(namespace):
    """The namespace again, its functions and gufuncs replaced."""
    twin = _twins.get(id(namespace))
    if twin is not None:
        return twin
    twin = _twins[id(namespace)] = {name: _over_threads(value) for name, value in namespace.items()}
    for name, value in namespace.items():
        code = _implementation(value)
        if code is not None and code.__globals__ is namespace:
            twin[name] = _clone(code, twin)
    return twin


def _clone(code, namespace):
    made = types.FunctionType(
        code.__code__, namespace, code.__name__, code.__defaults__, code.__closure__
    )
    made.__kwdefaults__ = code.__kwdefaults__
    return made


def _by_name():
    """The functions that have the trait, where NumPy's modules are loaded."""
    for row in _C.numpy_functions():
        if row.traits & NumpyFunction.DIVIDED:
            found = np
            for part in row.name.split("."):
                found = vars(found).get(part)
                if found is None:
                    break
            else:
                yield found


def divided(function):
    """What a plan calls instead of `function`: the function itself, unless gufuncs do its work."""
    if not _divided:
        for found in _by_name():
            code = _implementation(found)
            if code is not None:
                _divided[found] = _clone(code, _twin_of(code.__globals__))
    try:
        return _divided.get(function, function)
    except TypeError:  # it has no hash
        return function


def divided_step(step):
    """The same of what a plan's step calls: a function, or a `Call` of one."""
    return step.calling(divided(step.function)) if type(step) is Call else divided(step)
