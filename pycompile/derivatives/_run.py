"""One run of a function with a tape."""

from __future__ import annotations

import functools
import sys
import sysconfig
import types
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pycompile._api import _compile, _settings
from pycompile._errors import DerivativeError
from pycompile.derivatives import _plan, _tape, _trees
from pycompile.derivatives._tape import Tape

OPTIONS = {
    "capture_all": True,
    "plan_always": True,
    "unroll": 1 << 20,
    "recompile_limit": 1 << 20,
    "accumulated_recompile_limit": 1 << 20,
}


def compiled(function: Any, fullgraph: bool = False, is_crowded: bool = False) -> Any:
    """The function with its graphs put on the running tape.  Of arrays that are crowded (_views.py) views
    are told apart where lengths are numbers."""
    dynamic = False if is_crowded else None
    settings = _settings(_plan.backend, dynamic, fullgraph, mode="wait", options=OPTIONS)
    out = _compile(function, settings)
    if out is function:

        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        out = _compile(call, settings)
    return out


def of_arrays(function: Any, count: int, numbers: dict[int, str]) -> Any:
    """The function of `count` arguments, some of which, numbers, arrays of no axis hold."""
    if not numbers:
        return function
    params = [f"a{i}" for i in range(count)]
    given = [name + numbers.get(i, "") for i, name in enumerate(params)]
    return caller(function, ", ".join(params), ", ".join(given))


def caller(function: Any, params: str, given: str, like: Any = None) -> Any:
    """A function of `params` that calls the function with `given`.  Those that call the same function, or
    one that was made anew of the same code, with the same code in its cells and other data perhaps, have
    one code, and so the plans of one; `like`: the function that counts there."""
    of = _identity(function if like is None else like)
    return _maker(of, params, given)(function)


def _identity(thing: Any, depth: int = 3) -> Any:
    """Equal for what plans are likely to be the same for."""
    if isinstance(thing, types.FunctionType) and depth:
        return thing.__code__, *(_identity(each, depth - 1) for each in _contents(thing))
    return id(thing) if callable(thing) or isinstance(thing, types.ModuleType) else type(thing)


def _contents(function: types.FunctionType) -> Iterator[Any]:
    """What is in the cells of its closure."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            pass


@functools.lru_cache(maxsize=1024)
def _maker(of: Any, params: str, given: str) -> Any:
    namespace: dict[str, Any] = {"with_leaves": _trees.with_leaves}
    text = f"def make(function):\n    def call({params}):\n        return function({given})\n    return call\n"
    exec(text, namespace)
    return namespace["make"]


def check(tape: Tape) -> None:
    """Raises what a plan found to be wrong."""
    if tape.error is not None:
        error, tape.error = tape.error, None
        if isinstance(error, DerivativeError):
            raise error
        raise DerivativeError(
            f"the function caught an exception ({type(error).__name__}: {error}), and what it did then is "
            "followed by no graph: let it ask before, in place of catching"
        ) from error


SITE = tuple(map(sysconfig.get_path, ("purelib", "platlib")))
STDLIB = sysconfig.get_path("stdlib")


def _is_installed(scope: dict[str, Any]) -> bool:
    """Is it the namespace of a module that is none of the program's own?"""
    return str(scope.get("__file__")).startswith((*SITE, STDLIB))


def _is_library(scope: dict[str, Any]) -> bool:
    """Of one that holds no array of the program's?"""
    if str(scope.get("__name__")).partition(".")[0] in ("numpy", "pycompile"):
        return True
    file = str(scope.get("__file__"))
    return file.startswith(STDLIB) and not file.startswith(SITE)


HEAP_TYPE = 1 << 9  # of a class that Python code, not C, has made (Py_TPFLAGS_HEAPTYPE)


CONTAINERS = (list, tuple, set, frozenset, dict)


def _held(container: Any) -> Iterator[Any]:
    """What it holds; no method of a subclass is called, which would be the program's code."""
    base = next(base for base in CONTAINERS if isinstance(container, base))
    return iter(dict.values(container)) if base is dict else base.__iter__(container)


class Reached:
    """Whatever arrays and numbers are there before a call: constants, if a plan reads them."""

    def __init__(self, most: int = 20_000) -> None:
        self.found: dict[int, Any] = {}
        self.seen: dict[int, Any] = {}
        self.modules: list[types.ModuleType] = []
        self.names: set[str] = set()  # that the program's functions read
        self.most = most

    def walk(self, thing: Any) -> None:
        stack = [thing]
        while len(self.seen) < self.most:
            if not stack:
                stack = [each for each in self.of_modules() if id(each) not in self.seen]
                if not stack:
                    break
            item = stack.pop()
            if id(item) in self.seen:
                continue
            self.seen[id(item)] = item
            if _tape.is_number(item):
                self.found[id(item)] = item
            elif isinstance(item, CONTAINERS):
                stack.extend(_held(item))
            elif isinstance(item, types.FunctionType):
                stack += self.of_function(item)
            elif isinstance(item, types.MethodType):
                stack += [item.__self__, item.__func__]
            elif isinstance(item, functools.partial):
                stack += [item.func, item.args, item.keywords]
            elif isinstance(item, types.CodeType):
                stack += item.co_consts
            elif isinstance(item, (str, bytes, int)) or item is None:
                continue
            elif isinstance(item, types.ModuleType):
                if not _is_library(vars(item)):
                    self.modules.append(item)
            elif isinstance(item, types.BuiltinFunctionType):
                stack.append(item.__self__)
            elif not isinstance(item, type) or item.__flags__ & HEAP_TYPE:
                stack += vars(item).values() if hasattr(item, "__dict__") else ()
                wrapped = getattr(item, "__wrapped__", None)
                if wrapped is not None:
                    stack.append(wrapped)
                if not isinstance(item, type):
                    stack.append(type(item))

    def of_function(self, function: types.FunctionType) -> Iterator[Any]:
        code = function.__code__
        yield code
        yield function.__defaults__
        yield function.__kwdefaults__
        yield from _contents(function)
        if _is_library(function.__globals__):
            return
        names = list(code.co_names)
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                names += const.co_names
        if not _is_installed(function.__globals__):
            self.names.update(names)
            yield from (sys.modules[name] for name in names if name in sys.modules)  # imports in it
        for name in names:
            if name in function.__globals__:
                yield function.__globals__[name]

    def of_modules(self) -> list[Any]:
        """What the program's functions may read of the modules, some of which are in others."""
        spaces = [vars(module) for module in self.modules]
        return [space[name] for space in spaces for name in self.names if name in space]


_one_plan: weakref.WeakSet[types.CodeType] = weakref.WeakSet()


class Derived:
    """A function made ready for derivatives, with the wrappers that Python's floats need."""

    def __init__(self, function: Any, fullgraph: bool = False) -> None:
        if not callable(function):
            raise TypeError(f"a derivative is of a function, not of {type(function).__name__!r}")
        self.function = function
        self.fullgraph = fullgraph
        self.compiled: dict[tuple[bool, bool], Any] = {}  # by `kind`
        self.wrappers: dict[Any, Any] = {}

    @property
    def is_one_plan(self) -> bool:
        """Was it, or another function of its code, when that last ran?"""
        return getattr(self.function, "__code__", None) in _one_plan

    @is_one_plan.setter
    def is_one_plan(self, is_it: bool) -> None:
        code = getattr(self.function, "__code__", None)
        if code is not None:
            (_one_plan.add if is_it else _one_plan.discard)(code)

    def target(self) -> Any:
        kind = self.kind()
        if kind not in self.compiled:
            self.compiled[kind] = compiled(self.function, *kind)
        return self.compiled[kind]

    def kind(self) -> tuple[bool, bool]:
        """Whole graphs only?  Arguments that are crowded?"""
        return self.is_whole(), any(tape.crowded for tape in _tape.tapes())

    def is_whole(self) -> bool:
        if getattr(self.function, "is_derivative", False):
            return False
        return self.fullgraph or any(tape.is_batch for tape in _tape.tapes())

    def call(self, tape: Tape, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Calls the function under the tape."""
        _tape.tapes().append(tape)
        try:
            out = self.target()(*args, **kwargs)
        finally:
            _tape.tapes().remove(tape)
        check(tape)
        _plan.tell(tape)
        return out

    def call_floats(
        self,
        tape: Tape,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        texts: list[str],
        arrays: list[Any],
    ) -> Any:
        """Calls it with numbers that arrays of no axis hold, so that no plan takes their values for
        granted: `texts` say how the arguments are made of `arrays`."""
        _tape.tapes().append(tape)
        try:
            kind = self.kind()
            key = (*kind, *texts)
            if key not in self.wrappers:
                params = ", ".join(["rest", *(f"a{i}" for i in range(len(arrays))), "**kwargs"])
                call = caller(self.function, params, ", ".join([*texts, "**kwargs"]))
                self.wrappers[key] = compiled(call, *kind)
            out = self.wrappers[key](tuple(args), *arrays, **kwargs)
        finally:
            _tape.tapes().remove(tape)
        check(tape)
        _plan.tell(tape)
        return out


def float_text(tree: Any, name: str, arrays: list[Any], leaves: list[Any]) -> str | None:
    """How a container with Python floats in it, which goes by a name, is made of arrays; None where there
    are none."""
    found = [value for _, value in _trees.leaves(tree)]
    if not any(map(_tape.is_fixed, found)):
        return None

    def leaf(item: Any) -> str:
        is_number = _tape.is_fixed(item)
        array = np.array(item) if is_number else _trees.other(item)
        arrays.append(array)
        leaves.append(array)
        return f"a{len(arrays) - 1}" + (_tape.number_text(item) if is_number else "")

    def is_plain(item: Any) -> bool:
        if item is None or _trees.is_leaf(item):
            return True
        inner = item.values() if type(item) is dict else item
        return type(item) in (tuple, list, dict) and all(map(is_plain, inner))

    def text(item: Any) -> str:
        if item is None:
            return "None"
        if _trees.is_leaf(item):
            return leaf(item)
        if type(item) is tuple:
            return f"({''.join(text(x) + ', ' for x in item)})"
        if type(item) is list:
            return f"[{', '.join(map(text, item))}]"
        return "{" + ", ".join(f"{k!r}: {text(x)}" for k, x in item.items()) + "}"

    return text(tree) if is_plain(tree) else f"with_leaves({name}, [{', '.join(map(leaf, found))}])"
