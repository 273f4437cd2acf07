"""Of NumPy's functions that have no rule and are Python code: it is differentiated like the program's."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from pycompile import _api
from pycompile._errors import DerivativeError
from pycompile.derivatives.rules._table import NoRule

_copies: dict[types.FunctionType, types.FunctionType] = {}


def _is_of_numpy(thing: Any) -> bool:
    return (
        isinstance(thing, types.FunctionType) and str(thing.__module__).partition(".")[0] == "numpy"
    )


def _copied(function: types.FunctionType) -> types.FunctionType:
    """The function, as one that is captured, and those that it calls: what says that it is of NumPy
    is called."""
    if function in _copies:
        return _copies[function]
    scope = {**function.__globals__, "__name__": f"code_of_{function.__module__}"}
    out = _copies[function] = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    out.__kwdefaults__ = function.__kwdefaults__
    for name in function.__code__.co_names:
        if _is_of_numpy(scope.get(name)):
            scope[name] = _copied(scope[name])
    return out


def own_code(function: Any) -> types.FunctionType | None:
    """The Python code of a function of NumPy's."""
    inner = getattr(function, "_implementation", function)
    return _copied(inner) if _is_of_numpy(inner) else None


def code_back(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The pullback, by the first `count` arguments, of such a function called."""

    def back(g: Any, *args: Any) -> Any:
        from pycompile.derivatives import _api as api

        rest = args[count:]
        try:
            out, pullback = api.vjp(lambda *active: function(*active, *rest), *args[:count])
        except DerivativeError as error:
            raise NoRule(f"numpy.{function.__name__}, within which there is {error}") from None
        if isinstance(out, str):
            raise NoRule(f"numpy.{function.__name__}, which makes a text of a number")
        if isinstance(g, tuple):
            g = tuple(
                np.zeros_like(value) if ct is None else ct for value, ct in zip(out, g, strict=True)
            )
        return pullback(g)

    back.is_derivative = True  # calls nothing but what is captured
    return _api.disable(back)
