"""The functions that users call.  The work is in the extension module `_C`."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

# _elision and _filters: C imports them in nearly every first call, which need not wait for that.
from pycompile import _C, _elision, _filters  # noqa: F401
from pycompile._backends import NATIVE, list_backends, register_backend, resolve_backend
from pycompile._errors import GraphBreakError, PycompileWarning
from pycompile._hints import tell_at_exit

__all__ = [
    "cache_info",
    "compile",
    "disable",
    "graph_break",
    "is_compiling",
    "list_backends",
    "register_backend",
    "reset",
]

tell_at_exit()
atexit.register(_C.prices_keep)
if os.environ.get("PYCOMPILE_TRACE"):
    from pycompile import _trace

    _trace.begin(os.environ["PYCOMPILE_TRACE"])

F = TypeVar("F", bound=Callable[..., Any])

# Code flags of generators, coroutines and asynchronous generators: see inspect.CO_GENERATOR etc.
_SUSPENDS = 0x20 | 0x80 | 0x100 | 0x200


@overload
def compile(
    function: F,
    /,
    *,
    backend: str | Callable[..., Any] = ...,
    dynamic: bool | Mapping[str, Any] | None = ...,
    fullgraph: bool = ...,
    mode: str | None = ...,
    numerics: str = ...,
    options: Mapping[str, Any] | None = ...,
) -> F: ...
@overload
def compile(
    function: None = ...,
    /,
    *,
    backend: str | Callable[..., Any] = ...,
    dynamic: bool | Mapping[str, Any] | None = ...,
    fullgraph: bool = ...,
    mode: str | None = ...,
    numerics: str = ...,
    options: Mapping[str, Any] | None = ...,
) -> Callable[[F], F]: ...
def compile(
    function: Any = None,
    /,
    *,
    backend: str | Callable[..., Any] = NATIVE,
    dynamic: bool | Mapping[str, Any] | None = None,
    fullgraph: bool = False,
    mode: str | None = None,
    numerics: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Compiles a function when it is first called, and again when what it relied on changed.

    Used as `@pycompile.compile`, as `@pycompile.compile(fullgraph=True)` or as a function. Takes
    functions, methods, class methods, static methods, partials and objects with `__call__`.
    What has no bytecode of its own to follow (C functions, generators, coroutines) comes back as
    it is, and so does what `disable` gave.

    The result has the function's attributes, `__wrapped__` (the function itself) and `stats()`; it
    is copied as functions are and pickled as they are: by name where its name leads to it, by
    cloudpickle and its kin wherever they send functions. With PYCOMPILE_DISABLE=1 it has all this
    too, and calls the function.

    backend    "c" (fused native kernels), "eager" (the graph, run by NumPy calls), a name given to
               `register_backend`, or a callable that takes a graph and example inputs.
    dynamic    Whether a plan serves arrays of other lengths: see docs/shapes.md.  None: on the axes
               whose lengths have varied; True: on all axes, from the first plan on; False: on
               none; {"x": {0: "batch"}}: on these axes of arguments, by name, for all lengths.
               Whatever it is, loops which stay loops take arrays of any length.
    fullgraph  True: raise GraphBreakError, with the line, where a call would not be one graph: at a
               graph break, at a graph that the backend cannot lower, at more plans than
               `options["recompile_limit"]`, and for code that cannot be followed at all. No error,
               and plain Python: graphs that are not worth a plan; calls that end in an exception
               of the program's own, which is what is raised; calls in which NumPy would warn or
               raise, or that meet what the plan did not foresee; functions marked with
               `disable`; threads that are traced, profiled or monitored; and after a
               PycompileWarning, where there is no working C compiler or the backend fails.
    mode       None or "default": calls run in Python until compiling has paid for itself, the C
               compiler runs beside the program, and plans take over when it has ended; "wait": the
               first call compiles and waits; "background": the first call starts to compile, and
               none waits; or "max-autotune": on a device, algorithms for matrix products are timed
               when a plan is made, and the fastest is kept. By effort: "O0" is "background", "O1"
               has the C compiler do less, "O2" is "default", "O3" is "max-autotune".
    numerics   "numpy": the same bits as NumPy. "fast": products and sums may be contracted,
               elementary functions come from the vector math library, and floating-point
               warnings may be missing: see docs/numerics.md. None: as the option of that name
               says, by default "numpy".
    options    more settings by name: see docs/settings.md or `python -m pycompile info`.

    Raises TypeError for what is no function and for options of another type, ValueError for unknown
    names and values, BackendError for a backend that is not registered, and GraphBreakError for
    generators and coroutines under fullgraph.
    """
    asked = fullgraph is not False or options is not None or numerics is not None
    if backend is NATIVE and mode is None and dynamic is None and not asked:
        compiled = _C.compiled_by_default(function, _DEFAULTS)
        if compiled is not None:
            return compiled
    settings = _settings(backend, dynamic, fullgraph, mode, numerics, options)
    if function is None:
        return lambda function: _compile(function, settings)
    return _compile(function, settings)


_DYNAMIC = {False: 0, True: 2}  # None: as PYCOMPILE_DYNAMIC says
# The options that they set.
_MODES = {
    "default": None,
    "wait": "wait",
    "background": "background",
    "max-autotune": "autotune",
    "O0": "background",
    "O1": "quick_code",
    "O2": None,
    "O3": "autotune",
}


def _settings(
    backend: str | Callable[..., Any] = NATIVE,
    dynamic: bool | Mapping[str, Any] | None = None,
    fullgraph: bool = False,
    mode: str | None = None,
    numerics: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The options as one dict by the names of config.def.  Raises for unknown names and values."""
    if mode is not None and not (isinstance(mode, str) and mode in _MODES):
        modes = ", ".join(map(repr, _MODES))
        raise ValueError(f"mode must be None or one of {modes}, not {mode!r}")
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options must be a mapping of names to values, not {options!r}")
    settings: dict[str, Any] = dict(options or {})
    asked = (
        ("backend", backend, backend is not NATIVE),
        ("fullgraph", fullgraph, fullgraph),
        ("numerics", numerics, numerics is not None),
        ("dynamic", dynamic, dynamic is not None),
    )
    for name, given, said in asked:
        if name in settings and said and settings[name] != given:
            raise ValueError(
                f"{name} is given twice: {given!r}, and {settings[name]!r} in options: remove one"
            )
    dynamic = settings.pop("dynamic", dynamic)
    if isinstance(dynamic, Mapping):
        from pycompile._shapes import declared

        settings["dynamic"] = declared(dynamic)
    elif dynamic is not None:
        if not isinstance(dynamic, bool):
            raise ValueError(f"dynamic must be None, True, False or a mapping, not {dynamic!r}")
        settings["dynamic"] = _DYNAMIC[dynamic]
    known = {row[0] for row in _C.config_describe()}
    for name in settings:
        if name not in known:
            raise ValueError(f"unknown option {name!r}{_nearest(name, known)}")
    option = _MODES[mode or "default"]
    if option is not None and settings.setdefault(option, True) is False:
        raise ValueError(f"mode {mode!r} is given, and {option}=False in options: remove one")
    if settings.get("wait") is True and settings.get("background") is True:
        raise ValueError(f"wait and background are both asked for, mode={mode!r}: remove one")
    settings["backend"] = resolve_backend(settings.get("backend", backend))
    settings.setdefault("fullgraph", fullgraph)
    if numerics is not None:
        settings["numerics"] = numerics
    if not isinstance(settings["fullgraph"], bool):
        raise TypeError(f"fullgraph must be True or False, not {settings['fullgraph']!r}")
    return settings


_DEFAULTS = _settings()  # of functions for which nothing was asked; nobody changes them


def _nearest(name: Any, known: set[str]) -> str:
    """What else the name of an option may have been meant to be."""
    import difflib  # of no use to programs without mistakes

    near = difflib.get_close_matches(str(name), known, 1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f"; {meant}known: {', '.join(sorted(known))}"


_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")
_warned: set[str] = set()  # values of PYCOMPILE_DISABLE


def _levels_to_caller() -> int:
    """The stacklevel, for the function that asks, of the first frame outside this module."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals is globals():
        level, frame = level + 1, frame.f_back
    return level


def _switched_off() -> bool:
    """Whether PYCOMPILE_DISABLE asks for plain Python."""
    said = os.environ.get("PYCOMPILE_DISABLE", "").strip()
    if said.lower() not in ("", *_ON, *_OFF) and said not in _warned:
        _warned.add(said)
        warnings.warn(
            f"PYCOMPILE_DISABLE={said} is neither 1 ({', '.join(_ON[1:])}) nor 0 "
            f"({', '.join(_OFF[1:])}): ignored",
            PycompileWarning,
            stacklevel=_levels_to_caller(),
        )
    return said.lower() in _ON


def _require_function(function: Any, asked: str) -> None:
    if isinstance(function, type):
        raise TypeError(
            f"pycompile.{asked} takes a function, not the class {function.__qualname__!r}; "
            "decorate its methods"
        )
    if not callable(function) and not isinstance(function, (classmethod, staticmethod)):
        raise TypeError(
            f"pycompile.{asked} takes a callable, not {type(function).__name__!r}"
            f"{_instead(function, asked)}"
        )


def _instead(function: Any, asked: str) -> str:
    """What to do about a descriptor with a function in it."""
    if isinstance(function, property):
        return "; put @property above it"
    if isinstance(function, functools.partialmethod):
        return f": give it a function, functools.partialmethod(pycompile.{asked}(f), ...)"
    if isinstance(function, (functools.cached_property, functools.singledispatchmethod)):
        return f"; put @functools.{type(function).__name__} above it"
    return ""


def _compile(function: Any, settings: dict[str, Any]) -> Any:
    _require_function(function, "compile")
    return _wrap(function, lambda inner: _compile_function(inner, settings))


def _wrap(function: Any, make: Callable[[types.FunctionType], Any]) -> Any:
    """A thing of the same kind as `function`, with what `make` makes of the Python function in it.

    What has none comes back as it is.
    """
    if isinstance(function, _C.CompiledFunction):
        function = function.__wrapped__
    if isinstance(function, types.FunctionType):
        return make(function)
    if isinstance(function, types.MethodType):
        return types.MethodType(_wrap(function.__func__, make), function.__self__)
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(_wrap(function.__func__, make))
    if type(function) is functools.partial:
        inner = _wrap(function.func, make)
        return functools.partial(inner, *function.args, **function.keywords)
    if isinstance(function, _C.DisabledFunction):
        return function
    call = getattr(type(function), "__call__", None)  # noqa: B004 (it is looked at, not called)
    if isinstance(call, (types.FunctionType, _C.CompiledFunction, _C.DisabledFunction)):
        return types.MethodType(_wrap(call, make), function)
    return function


def _compile_function(function: types.FunctionType, settings: dict[str, Any]) -> Any:
    code = function.__code__
    plain = _switched_off()
    if isinstance(settings.get("dynamic"), dict):
        from pycompile._shapes import require_arguments

        require_arguments(settings["dynamic"], function)
    if not code.co_flags & _SUSPENDS:
        return _C.CompiledFunction(function, settings, plain)
    if settings["fullgraph"] and not plain:
        raise GraphBreakError(
            f"PC0020: {function.__qualname__!r} is a generator or coroutine function "
            f"({code.co_filename}:{code.co_firstlineno})",
            "PC0020",
            code.co_filename,
            code.co_firstlineno,
        )
    return function


def disable(function: F) -> F:
    """Leaves a function to CPython: what comes back is neither compiled nor inlined into what is.

    Takes functions, methods, class methods, static methods, partials and objects with `__call__`,
    as `compile` does, mostly as the decorator `@pycompile.disable`. The result is the function to
    all who use it: its name, signature, attributes and pickling, no frame more in a traceback. A
    graph ends where one is called, whatever it is called by (PC0004); what it calls in its turn may
    be compiled again.

    The function that was given stays as it is, in `__wrapped__`: `compile` compiles it when asked
    to, while `compile` of what is disabled, or what has been decorated with both, stays disabled.
    """
    _require_function(function, "disable")
    disabled = _wrap(function, _C.DisabledFunction)
    if disabled is function and not isinstance(function, _C.DisabledFunction):
        raise TypeError(
            "pycompile.disable takes a function of Python code, "
            f"not {type(function).__name__!r}: nothing in it is compiled"
        )
    return disabled  # type: ignore[no-any-return]


def graph_break() -> None:
    """Ends the graph here (PC0005).  Does nothing in plain Python."""


def is_compiling() -> bool:
    """True where the call is followed by pycompile, False in plain Python."""
    return False


def reset() -> None:
    """Forgets every plan and what `stats()` has counted, and gives back the memory kept for results.

    The disk cache stays: see `python -m pycompile cache clear`.
    """
    _C.reset()
    trials = sys.modules.get("pycompile._trials")  # imported by the first trial
    if trials is not None:
        trials.forget()


def cache_info() -> dict[str, Any]:
    """Where compiled code is kept, how much of it there is; hits, misses and compiles of this process."""
    compiler = _C.toolchain_info()
    counts = {name: compiler[name] for name in ("compiled", "failed", "seconds")}
    return {**_C.cache_info(), **counts}
