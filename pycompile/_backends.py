"""Backends by name.  A backend is a callable that takes a Graph and example inputs and returns a
callable that computes the graph's outputs from such inputs; "c" is built into the runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycompile._errors import BackendError

Backend = Callable[..., Any]

_BUILT_IN = ("c", "eager")


class _Unsaid(str):
    """The default: another object than any "c" that a program gives."""


NATIVE = _Unsaid("c")
_registered: dict[str, Backend] = {}


def register_backend(name: str, backend: Backend) -> None:
    """Makes `backend` known as `compile(backend=name)`."""
    if not isinstance(name, str) or not name:
        raise TypeError("the name of a backend is a non-empty str")
    if name in _BUILT_IN:
        raise ValueError(f"backend {name!r} is built in")
    if not callable(backend):
        raise TypeError(f"backend {name!r} is not callable")
    _registered[name] = backend


def list_backends() -> list[str]:
    """The names that `compile(backend=...)` accepts, built-in ones first."""
    return [*_BUILT_IN, *sorted(_registered)]


def resolve_backend(backend: str | Backend) -> str | Backend:
    """What the runtime takes: "c" or a callable.  BackendError for an unknown name."""
    if callable(backend):
        return backend
    if backend == "c":
        return "c"
    if backend == "eager":
        from pycompile import _eager  # brings in more than a plain import should

        return _eager.backend
    try:
        return _registered[backend]
    except (KeyError, TypeError):
        known = ", ".join(list_backends())
        if not isinstance(backend, str):
            kind = type(backend).__name__
            text = f"a backend is a name ({known}) or a callable, not {kind!r}"
            raise BackendError(text) from None
        raise BackendError(f"unknown backend {backend!r}; known: {known}") from None
