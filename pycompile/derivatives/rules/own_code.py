"""Of NumPy's functions that have no rule and are Python code: it is differentiated like the program's."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from pycompile import _api
from pycompile._errors import DerivativeError
from pycompile.derivatives.rules._table import NoRule


@functools.cache
def _copied(function: types.FunctionType) -> types.FunctionType:
    """The function, as one that is captured: what says that it is of NumPy is called."""
    scope = {**function.__globals__, "__name__": f"code_of_{function.__module__}"}
    out = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    out.__kwdefaults__ = function.__kwdefaults__
    return out


def own_code(function: Any) -> types.FunctionType | None:
    """The Python code of a function of NumPy's."""
    inner = getattr(function, "_implementation", function)
    if not isinstance(inner, types.FunctionType):
        return None
    return _copied(inner) if inner.__module__.partition(".")[0] == "numpy" else None


def code_back(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The pullback, by the first `count` arguments, of such a function called."""

    def back(g: Any, *args: Any) -> Any:
        from pycompile.derivatives import _api as api

        rest = args[count:]
        try:
            out, pullback = api.vjp(lambda *active: function(*active, *rest), *args[:count])
        except DerivativeError as error:
            raise NoRule(f"numpy.{function.__name__}, within which there is {error}") from None
        if isinstance(g, tuple):
            g = tuple(
                np.zeros_like(value) if ct is None else ct
                for value, ct in zip(out, g, strict=True)
            )
        return pullback(g)

    back.is_derivative = True  # type: ignore[attr-defined]  # calls nothing but what is captured
    return _api.disable(back)
