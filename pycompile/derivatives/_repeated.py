"""Gradients that are asked for again and again, of arrays of the same sizes: one graph with its pullback
takes the tape's place, which costs more than many a small function.

The tape comes first.  A graph is tried when the calls that were one plan, whose text was there, have taken
several times as long as the one that wrote the text, since the graph and its kernels take about as long to
make.  Where there is none, or graph after graph is made for other sizes, the tape does the calls, and the
next try is twice as far off.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pycompile import _api, _told
from pycompile.derivatives import _followed, _run, _tape

TIMES = 4


class _Calls(threading.local):
    """Is a graph being called, and did the tape have to do it?"""

    running = False
    missed = False


_calls = _Calls()


class Repeated:
    """The calls of one function of `value_and_grad`."""

    def __init__(self, asked: Any) -> None:
        self.asked = asked
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
            self.cost, self.spent = max(least, TIMES * seconds), 0.0
        elif is_one_plan:
            self.spent += seconds

    def call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self.compiled is None:
            self.compiled = in_one_graph(self.asked, False, "wait", _run.OPTIONS)
        texts = _followed.written.texts
        _calls.running, _calls.missed = True, False
        try:
            return self.compiled(*args, **kwargs)
        finally:
            _calls.running = False
            is_made_again = self.is_graph and _followed.written.texts > texts
            self.is_graph = not _calls.missed and not is_made_again
            if not self.is_graph:
                self.cost, self.spent = 2 * self.cost, 0.0


def in_one_graph(asked: Any, fullgraph: bool, mode: str, options: dict[str, Any]) -> Any:
    """A function whose graph is a gradient."""
    rest = "*args, **kwargs"
    made = _run.caller(_followed.derivative(*asked), rest, rest, asked.function)
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
