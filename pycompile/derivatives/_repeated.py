"""Derivatives that are asked for again and again, of arrays of the same sizes: one graph with the pullback
takes the tape's place, which costs more than many a small function.

The tape comes first.  A graph is tried when the calls that were one plan, whose text was there, have taken
several times as long as the one that wrote the text, since the graph and its kernels take about as long to
make.  Where there is none, or graph after graph is made for other sizes, the tape does the calls, and the
next try is twice as far off.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycompile import _api, _told
from pycompile._C import DisabledFunction
from pycompile._errors import GraphBreakError
from pycompile.derivatives import _followed, _run, _tape


class _Calls(threading.local):
    """Is a graph being called, and did the tape have to do it?"""

    running = False
    missed = False


_calls = _Calls()


class Repeated:
    """The calls of pycompile's function `kind` of these arguments."""

    times = 4  # as much as the first call took

    def __init__(self, kind: str, f: Any, rest: tuple[Any, ...]) -> None:
        self.asked = kind, f, rest
        self.cost = math.inf  # seconds of the tape before the next try
        self.spent = 0.0
        self.is_graph = False
        self.compiled: Callable[..., Any] | None = None

    def is_ready(self) -> bool:
        if _calls.running:
            _calls.missed = True
            return False
        return self.spent > self.cost and not _tape.tapes() and not _told.is_asked()

    def note(self, seconds: float, has_text: bool, is_one_plan: bool) -> None:
        """The tape did a call, for which a text was there or was written."""
        if not has_text:
            least = self.cost if self.cost < math.inf else 0.0
            self.cost, self.spent = max(least, self.times * seconds), 0.0
        elif is_one_plan:
            self.spent += seconds

    def call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self.compiled is None:
            self.compiled = self.made()
        texts = _followed.written.texts
        _calls.running, _calls.missed = True, False
        try:
            return self.run(args, kwargs)
        finally:
            _calls.running = False
            is_made_again = self.is_graph and _followed.written.texts > texts
            self.is_graph = not _calls.missed and not is_made_again
            if not self.is_graph:
                self.cost, self.spent = 2 * self.cost, 0.0

    def made(self) -> Any:
        return in_one_graph(*self.asked, False, "wait", _run.OPTIONS)

    def run(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        assert self.compiled is not None
        return self.compiled(*args, **kwargs)


class Whole(Repeated):
    """Of what is one graph or is left to the tape, which takes many times as long.  The tape does a batch
    from the start where NumPy would warn of an item, or one raises: a batch in a graph has no effects."""

    times = 1

    def made(self) -> Any:
        kind, f, rest = self.asked
        follow = _run.caller(_followed.derivative(kind, f, rest), _ANY, _ANY, f)
        options = _run.OPTIONS
        return _api.compile(follow, dynamic=False, fullgraph=True, mode="wait", options=options)

    def run(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        assert self.compiled is not None
        is_batch, raising = self.asked[0] == "vmap", _followed.raising
        try:
            if not is_batch:
                return self.compiled(*args, **kwargs)
            raising.is_on = True
            with np.errstate(**_tape.raised()):
                return self.compiled(*args, **kwargs)
        except Exception as error:
            if not is_batch and not isinstance(error, GraphBreakError):
                raise
            _calls.missed = True
            return MISSED
        finally:
            raising.is_on = False

    def do(self, by_tape: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """One call, by the graph or by the tape."""
        if self.is_ready():
            out = self.call(args, kwargs)
            if out is not MISSED:
                return out
        if _tape.tapes() or _calls.running:
            return by_tape(*args, **kwargs)
        began = time.perf_counter()
        out = by_tape(*args, **kwargs)
        self.note(time.perf_counter() - began, self.cost < math.inf, True)
        return out


MISSED = object()
_ANY = "*args, **kwargs"


def in_one_graph(
    kind: str, f: Any, rest: tuple[Any, ...], fullgraph: bool, mode: str, options: dict[str, Any]
) -> Any:
    """A function whose graph is a gradient."""
    made = _run.caller(_followed.derivative(kind, f, rest), _ANY, _ANY, f)
    return _api.compile(made, fullgraph=fullgraph, mode=mode, options=options)


_kept: dict[Any, tuple[Any, Any]] = {}
_asked: dict[int, weakref.ref[Any]] = {}


def _is_asked_again(function: Any) -> bool:
    """One that is made anew in each turn is not kept alive."""
    number = id(function)
    known = _asked.get(number)
    if known is not None and known() is function:
        return True
    try:
        _asked[number] = weakref.ref(function, lambda _: _asked.pop(number, None))
    except TypeError:
        return True
    return False


def of_function(function: Any, rest: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What was made for the same function before."""
    key = (id(function), *rest)
    if key in _kept and _kept[key][0] is function:
        return _kept[key][1]
    made = make()
    if _is_asked_again(function):
        if len(_kept) > 256:
            _kept.clear()
        _kept[key] = function, made
    return made


def whole(kind: str, f: Any, rest: tuple[Any, ...]) -> Whole:
    """That of the same function of pycompile of the same function, which may be a derivative made anew."""
    base: Any = f
    names = [kind, repr(rest)]
    while isinstance(base, DisabledFunction):
        made = getattr(base, "derivative_of", None)  # not of one of pycompile.disable
        if made is None:
            break
        base = made[1]
        names += [made[0], repr(made[2])]
    return of_function(base, tuple(names), lambda: Whole(kind, f, rest))  # type: ignore[no-any-return]
