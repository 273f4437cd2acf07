"""How compiled and disabled functions are pickled: wherever the plain function could be.

By name where the name leads to the very object, as functions are; else as the plain function and
what was made of it, so that it depends on the pickler whether that works. Picklers that send
functions by value (cloudpickle, the one in joblib, dill) are to do so with ours: what has to be
found out is who is asking.
"""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

from pycompile._api import _compile_function, disable


def reduce(wrapper: Any, options: dict[str, Any] | None) -> str | tuple[Any, ...]:
    """What `wrapper.__reduce_ex__` gives; `options` are None for a disabled function."""
    function = wrapper.__wrapped__
    pickler = _pickler(sys._getframe(1))
    name: str = function.__qualname__
    if _is_named(wrapper, name) and not _goes_by_value(function, pickler):
        return name
    state = wrapper.__dict__ or None
    if options is None:
        return disable, (function,), state
    return _rebuild if state is None else _compile_function, (function, options), state


def _rebuild(function: types.FunctionType, options: dict[str, Any]) -> Any:
    from pycompile._arrived import arrive  # where one comes

    return arrive(function, options)


def _is_named(wrapper: Any, name: str) -> bool:
    """Whether module and qualified name lead to it."""
    found: Any = sys.modules.get(wrapper.__module__)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is wrapper


def _pickler(frame: types.FrameType | None) -> Any:
    """The pickler at work, where it is Python code; `pickle.dumps` and its like have none.

    A reduce method is not told. It is called from C, or from a method of the pickler's, so the
    innermost frame is the pickler's own.
    """
    found = frame.f_locals.get("self") if frame is not None else None
    return found if isinstance(found, (pickle.Pickler, pickle._Pickler)) else None


def _goes_by_value(function: types.FunctionType, pickler: Any) -> bool:
    """Whether this pickler would take a function of that module apart though its name leads to it."""
    in_main = function.__module__ == "__main__"
    override = getattr(pickler, "reducer_override", None)
    if override is not None and in_main:
        return override(function) is not NotImplemented
    if override is not None:
        chosen = getattr(override, "__globals__", {}).get("list_registry_pickle_by_value", set)
        return any(f"{function.__module__}.".startswith(f"{name}.") for name in chosen())
    own = getattr(pickler, "dispatch", {}).get(types.FunctionType)  # of picklers in Python: dill
    return in_main and own not in (None, pickle._Pickler.dispatch[types.FunctionType])
