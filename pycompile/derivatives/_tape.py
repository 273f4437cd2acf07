"""The tape of one derivative that is running: which arrays and numbers depend on what is
differentiated, and the pullbacks in the order of the plans.

Values are known by identity.  An array that nobody knows but that lies in the memory of one that is
known is a view of it.  Any other unknown number or array of real numbers was made where no graph
follows what is done: an error, unless it was there before the call (`Tape.constants`).

Tapes nest (a derivative of a function that takes derivatives): what an inner one runs is put on the
outer one, whose inputs it reads, as the run of a function (`Tape.call`).
"""

from __future__ import annotations

import threading
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pycompile._errors import DerivativeError, GraphBreakError
from pycompile._filters import FILTERS, warnings_as
from pycompile.derivatives import _trees, _views


class _Running(threading.local):
    def __init__(self) -> None:
        self.tapes: list[Tape] = []


_running = _Running()


def running() -> Tape:
    if not _running.tapes:
        raise DerivativeError("a plan of a derivative was called outside of one")
    return _running.tapes[-1]


def tapes() -> list[Tape]:
    return _running.tapes


def alias(old: Any, new: Any) -> None:
    """A copy of a value is that value to the derivatives that are running."""
    if new is old:
        return
    for tape in _running.tapes:
        is_known, slot = tape.find(old)
        if is_known:
            tape.known[id(new)] = (new, slot)


def part(whole: Any, value: Any) -> Any:
    """A view of an array: of this one, to the derivatives that are running, not of another one that lies
    in the same memory."""
    for tape in _running.tapes:
        if value.size:
            tape.know_part(whole, value)
    return value


def handed_out(value: Any, constant: bool = False) -> Any:
    """A result of a derivative, of which those around it that do not know it need not know more: it
    depends on nothing that they differentiate.  For a batch that is sure of a `constant` alone: where
    no graph follows a result it may be another for each item."""
    for tape in _running.tapes:
        if is_number(value) and not tape.find(value)[0]:
            tape.broken |= tape.is_batch and not constant
            tape.know_constant(value)
    return value


@dataclass
class Entry:
    """Pullback: (tape, kept, cotangents of `outs`, None for those that have none) -> those of `ins`."""

    ins: list[int]
    outs: list[int | None]
    pull: Callable[..., Any]
    kept: Any


def is_number(value: Any) -> bool:
    """Is it a number or array with a derivative?"""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "fc"
    return isinstance(value, (float, complex))


def is_fixed(value: Any) -> bool:
    """Is it a number whose value graphs take for granted?"""
    return type(value) in (float, complex) or isinstance(value, np.inexact)


def is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other or (one != one and other != other))


def number_text(value: Any) -> str:
    """How such a number comes out of an array of no axis."""
    return "[()]" if isinstance(value, np.generic) else ".item()"


WRITTEN = -1  # no array's print


class Tape:
    is_batch = False  # or else it is of a derivative
    broken = False  # of a batch: the other items are gone through one by one

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, int | None]] = {}
        self.constants: dict[int, Any] = {}
        self.entries: list[Entry] = []
        self.slots = 0
        self.written: list[Any] = []
        self.lost: dict[int, Any] = {}  # arrays whose memory was written through others, in part
        self.filters = _filters()
        self.warnings: list[Any] = []
        self.error: Exception | None = None
        self.prints: dict[int, int] = {}
        self.plans: list[Any] = []  # those that have run, in order
        self.is_text = False  # is what runs one of our texts?
        self.has_new_text = False  # was one written for this run?
        # How often other plans were asked for, by the path of a value that they took for granted.
        self.asked: dict[int, int] = {}
        self.crowded: set[int] = set()  # arguments that _views.py calls so

    # ---- what is known ----

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def know(self, value: Any) -> int:
        slot = self.new_slot()
        self.known[id(value)] = (value, slot)
        return slot

    def know_given(self, value: Any) -> int | None:
        """An argument of what is differentiated; one of integers is a constant."""
        if not is_number(value):
            if isinstance(value, np.ndarray):
                self.known[id(value)] = (value, None)
            return None
        if isinstance(value, np.ndarray) and _views.is_crowded(place(value)):
            self.crowded.add(id(value))
        return self.know(value)

    def know_constant(self, value: Any) -> None:
        if is_number(value) and id(value) not in self.known:
            self.known[id(value)] = (value, None)

    def find(self, value: Any) -> tuple[bool, int | None]:
        """Whether the value is known, and its slot, if it is active."""
        entry = self.known.get(id(value))
        if entry is not None:
            return True, entry[1]
        if id(value) in self.constants and not self.was_written(value):
            return True, None
        if isinstance(value, np.ndarray):
            if not value.size:
                return True, None  # it has no elements that could depend on anything
            if id(value) in self.lost:
                raise DerivativeError(
                    "an array shares memory with one that was written in between: "
                    "give the function copies that share none"
                )
            found = self.as_view(value)
            if found is not None:
                return True, found
        return False, None

    def was_written(self, value: Any) -> bool:
        return isinstance(value, np.ndarray) and any(
            np.may_share_memory(value, target) for target in self.written
        )

    def as_view(self, value: np.ndarray[Any, Any]) -> int | None:
        """The slot of a view of an array that is known: an entry takes it out of there."""
        base, slot = memory_of(self.known, value)
        return None if base is None else self.view_of(base, slot, value)

    def view_of(self, base: Any, slot: Any, value: Any) -> int | None:
        self.require_unchanged(base, "a view of it was used")
        view = places = None
        if id(base) not in self.crowded:
            view = _views.find(place(base), place(value))
            places = _views.places(place(base), place(value)) if view is None else None
        if view is None and places is None:
            raise DerivativeError(
                "an array shares memory with one that the derivative depends on, and which of its elements "
                "it has is not known: give the function a copy"
            )
        back = _ViewBack(view, base) if view is not None else _PlacesBack(places, base)
        mine = self.know(value)
        self.entries.append(Entry([slot], [mine], back, ()))
        return mine

    def know_part(self, whole: Any, value: Any) -> None:
        is_known, slot = self.find(whole)
        if slot is not None:
            self.view_of(whole, slot, value)
        elif is_known:
            self.known[id(value)] = (value, None)

    def know_view_of_constant(self, base: Any, value: Any) -> None:
        """A view of what depends on nothing: no memory that is active tells of it."""
        if self.find(base) == (True, None) and not self.was_written(base):
            self.know_constant(value)

    def slot(self, value: Any, node: Any) -> int | None:
        """The slot of an input of a plan."""
        is_known, slot = self.find(value)
        if is_known:
            self.require_unchanged(value, f"{node.file}:{node.line}")
            return slot
        if id(value) in self.constants or not is_number(value):
            return None
        raise DerivativeError(
            f"a value was computed where no graph follows it, and is used in {node.file}:{node.line}: "
            "its derivative is not known.  pycompile.explain(f) tells at which line the graph ends; "
            "pycompile.stop_gradient(value) takes the value as a constant; a random number whose parameters "
            "depend on what is differentiated can be made of one that has none: mu + rng.normal()"
            f"{self.hint(value)}"
        )

    def hint(self, value: Any) -> str:
        """What to do where it may be an element that Python's loop took out of an array, or where it, or an
        array that the function gets, is of a class at which graphs end."""
        given = [value for value, _ in self.known.values()]
        for each in (value, *self.constants.values(), *given):
            if isinstance(each, np.ndarray) and type(each) is not np.ndarray:
                return f"; graphs end at a {type(each).__name__}: make it an array by np.asarray"
        if isinstance(value, np.generic):
            return "; a loop over an array's numbers can go through list(array)"
        return ""

    def watch(self, values: Sequence[Any], targets: Sequence[Any]) -> None:
        """Notes what is in the arrays, before code runs that no graph follows; not of those that share
        memory with what the plan is about to write."""
        for value in values:
            if not isinstance(value, np.ndarray) or id(value) not in self.known:
                continue
            if not any(np.may_share_memory(value, target) for target in targets):
                self.prints[id(value)] = _print_of(value)

    def note_written(self, target: Any) -> None:
        """The array will have been written, whatever is in it then."""
        for value, _ in list(self.known.values()):
            if isinstance(value, np.ndarray) and np.may_share_memory(value, target):
                self.prints[id(value)] = WRITTEN

    def watch_constants(self, most: int) -> None:
        """Notes what is in the arrays that were there before, those of at most so many bytes."""
        for value in self.constants.values():
            if isinstance(value, np.ndarray) and value.nbytes <= most and is_writeable(value):
                self.prints[id(value)] = _print_of(value)

    def require_unchanged(self, value: Any, place: str) -> None:
        seen = self.prints.get(id(value))
        if seen is not None and seen != _print_of(value):
            raise DerivativeError(
                f"an array was written where no graph follows it, before {place}: its derivative is not "
                "known.  pycompile.explain(f) tells at which line the graph ends"
            )

    def require_constants(self, given: Sequence[tuple[Any, Any]], place: str) -> None:
        """None of the numbers and texts whose values a plan takes for granted depends on what is
        differentiated.  Each comes with the plan's own input, where it is one: a constant that is known
        may be equal to another number."""
        texts = [each for each, _ in given if isinstance(each, str)]
        numbers = [
            each
            for each, own in given
            if not isinstance(each, str) and self.find(own) != (True, None)
        ]
        for value, slot in list(self.known.values()):
            if slot is None or not is_fixed(value):
                continue
            is_given = any(value == x or (value != value and x != x) for x in numbers)
            if is_given or any(str(value) in text for text in texts):
                raise DerivativeError(
                    f"the number {value!r} depends on what is differentiated, and the graph around {place} "
                    "takes its value for granted: keep it an array, np.asarray(x), until there"
                )

    def require_followed(self, given: Sequence[Any], place: str) -> None:
        """Of a complex number that a plan takes for granted no graph tells where it comes from."""
        constants = [x for x, slot in self.known.values() if slot is None]
        constants += [x for x in self.constants.values() if isinstance(x, complex)]
        for number in given:
            if isinstance(number, complex) and not any(is_same(number, x) for x in constants):
                raise DerivativeError(
                    f"the graph around {place} takes the value of the complex number {number!r} for granted, "
                    "which was computed where no graph follows it: keep it an array, np.asarray(z)"
                )

    def kept(self) -> list[Any]:
        return [x for entry in self.entries for x in entry.kept if isinstance(x, np.ndarray)]

    def require_kept(self, name: str) -> None:
        """No array that a pullback reads was written where no graph follows it."""
        kept = self.kept()
        for value, _ in list(self.known.values()):
            if id(value) in self.prints and any(np.may_share_memory(value, x) for x in kept):
                self.require_unchanged(value, f"{name} returned")

    def own_kept(self) -> None:
        """Makes copies of what is kept and the program has, too: it may write it before the pullback."""
        seen = [value for value, _ in self.known.values() if isinstance(value, np.ndarray)]
        for entry in self.entries:
            entry.kept = tuple(
                copied(x)
                if isinstance(x, np.ndarray) and any(np.may_share_memory(x, y) for y in seen)
                else x
                for x in entry.kept
            )

    def finish(self) -> None:
        """Notes which plans nothing came after: their results need not be watched."""
        for plan in self.plans[:-1]:
            plan.followed = True
        if self.plans and self.plans[-1].followed is None:
            self.plans[-1].followed = False

    def write(self, target: Any, slot: int | None, view: _views.View | None) -> None:
        """The array is being written: it gets the slot of what is written, in the part `view`."""
        old = self.known.get(id(target), (target, None))[1]
        self.written.append(target)
        self.prints.pop(id(target), None)
        for entry in self.entries:
            entry.kept = tuple(_own(each, target) for each in entry.kept)
        if view is not None and (old is not None or slot is not None):
            new = self.new_slot()
            ins = [number for number in (old, slot) if number is not None]
            back = _WriteBack(view, target, old is not None, slot is not None)
            self.entries.append(Entry(ins, [new], back, ()))
            slot = new
        elif view is not None:
            slot = None
        self.known[id(target)] = (target, slot)
        for other, number in list(self.known.values()):
            if other is target or not isinstance(other, np.ndarray):
                continue
            if not np.may_share_memory(other, target):
                continue
            self.prints.pop(id(other), None)
            part = _views.find(place(other), place(target))
            if part is not None and not part.spread:
                self.write_around(other, number, slot, part)
                continue
            del self.known[id(other)]
            if _views.find(place(target), place(other)) is None:
                self.lost[id(other)] = other

    def write_around(
        self, other: Any, old: int | None, slot: int | None, part: _views.View
    ) -> None:
        """An array of which a view was written."""
        if old is None and slot is None:
            return
        new = self.new_slot()
        ins = [number for number in (old, slot) if number is not None]
        back = _WriteBack(part, other, old is not None, slot is not None)
        self.entries.append(Entry(ins, [new], back, ()))
        self.known[id(other)] = (other, new)

    # ---- runs ----

    def are_filters_changed(self) -> bool:
        """Does the function look at warnings itself?"""
        return self.filters != _filters()

    def call(
        self, function: Any, args: Sequence[Any], is_forward: bool, own_errors: int = 0
    ) -> Any:
        """Runs a text; on a tape outside of this one, if that knows one of the arguments."""
        from pycompile.derivatives import _plan

        stack = self.around(args)
        if stack:
            return _on(stack, function, args)
        if not is_forward:
            with np.errstate(all="ignore"):
                return function.compiled(*args)
        try:
            if not own_errors:
                with np.errstate(**raised()):
                    return function.compiled(*args)
        except (FloatingPointError, Warning):
            pass
        return _plan.with_warnings(function, args, self, own_errors)

    def around(self, args: Sequence[Any]) -> list[Tape]:
        """The tapes around this one, up to the innermost that knows one of the arguments."""
        below = _running.tapes
        if self in below:
            below = below[: below.index(self)]
        for i in range(len(below) - 1, -1, -1):
            is_batch = below[i].is_batch
            if any(below[i].find(v)[1] is not None for v in args if is_batch or is_number(v)):
                return below[: i + 1]
        return []

    def pull(self, cotangents: dict[int, Any]) -> dict[int, Any]:
        """All pullbacks in reverse, of cotangents by slot."""
        cts = dict(cotangents)
        for entry in reversed(self.entries):
            given = [cts.get(slot) if slot is not None else None for slot in entry.outs]
            if all(ct is None for ct in given):
                continue
            for slot in entry.outs:
                cts.pop(slot, None)  # type: ignore[arg-type]
            for slot, ct in zip(entry.ins, entry.pull(self, entry.kept, given), strict=True):
                if ct is None:
                    continue
                cts[slot] = ct if slot not in cts else added(self, cts[slot], ct)
        return cts


def _filters() -> tuple[Any, ...]:
    """What becomes of warnings."""
    shown = getattr(warnings, "_showwarnmsg_impl", None)
    return warnings.showwarning, shown, [each for each in warnings.filters if each not in FILTERS]


def raised() -> Any:
    """The floating-point events that the program does not ignore, as errors."""
    return {name: "raise" for name, state in np.geterr().items() if state != "ignore"}


def _on(stack: list[Tape], function: Any, args: Sequence[Any]) -> Any:
    """Runs a text as a function that the last of these tapes differentiates."""
    from pycompile.derivatives import _run

    before, _running.tapes = _running.tapes, list(stack)
    tape = stack[-1]
    outer, tape.is_text = tape.is_text, True
    try:
        out = _derived_run(tape, function, args)
        _run.check(tape)
        _require_known(tape, function, out)
        return out
    except GraphBreakError:  # in a batch: the text has to be one graph
        tape.broken = True
    finally:
        _running.tapes, tape.is_text = before, outer
    around = tape.around(args)
    return _on(around, function, args) if around else function.plain(*args)


def _derived_run(tape: Tape, function: Any, args: Sequence[Any]) -> Any:
    from pycompile.derivatives import _run

    kept = [value for arg in args for value in (arg if isinstance(arg, tuple) else (arg,))]
    for value in (*kept, *function.plain.__globals__.values()):
        if is_number(value) and not tape.find(value)[0]:
            tape.constants[id(value)] = value
    # No plan shall take the value of a number for granted that depends on what is differentiated.
    fragile = [
        i
        for i, value in enumerate(args)
        if is_fixed(value) and any(each.find(value)[1] is not None for each in tapes())
    ]
    args = list(args)
    # In graphs complex numbers of NumPy's are values, and those of Python's are not.
    kinds = {i: ".item()" if type(args[i]) is float else "[()]" for i in fragile}
    for i in fragile:
        args[i], number = np.array(args[i]), args[i]
        alias(number, args[i])
    key = (tape.is_batch, bool(tape.crowded), *kinds.items())
    if key not in function.derived:
        text = _run.of_arrays(function.plain, len(args), kinds)
        function.derived[key] = _run.compiled(text, tape.is_batch, bool(tape.crowded))
    with np.errstate(all="ignore"), warnings_as(1):
        return function.derived[key](*args)


def _require_known(tape: Tape, function: Any, out: Any) -> None:
    """What a text gives depends on what is differentiated as graphs tell, or is there before it runs."""
    numbers = [x for _, x in _trees.leaves(out) if is_number(x)]
    for value in numbers:
        tape.require_unchanged(value, function.file)
    lost = [x for x in numbers if not tape.find(x)[0]]
    if not lost:
        return
    there = [*tape.constants.values(), *(x for x, _ in tape.known.values())]
    known = [x for x in there if isinstance(x, np.ndarray)]
    # A view of what is known and depends on nothing is no value of its own.
    lost = [x for x in lost if not any(np.may_share_memory(x, each) for each in known)]
    if not lost:
        return
    from pycompile.derivatives import _run

    before = _run.Reached()
    before.walk(function.plain)
    if all(id(x) in before.found for x in lost):
        return
    if tape.is_batch:
        tape.broken = True
        return
    raise DerivativeError(
        f"a derivative's own code, {function.file}, ends a graph: derivatives of it are not known.  Let the "
        "function compute with arrays, or write the rule of its step with pycompile.custom_vjp"
    )


class _ViewBack:
    def __init__(self, view: _views.View, base: np.ndarray[Any, Any]) -> None:
        self.text = _view_text("view_back", view, base)

    def __call__(self, tape: Tape, kept: Any, cts: Sequence[Any]) -> Any:
        return tape.call(self.text, [cts[0]], False)


class _PlacesBack:
    """Of a view that no expression gives."""

    def __init__(self, places: Any, base: np.ndarray[Any, Any]) -> None:
        from pycompile.derivatives._text import Function, Text

        text = Text()
        text.put(f"g = np.zeros({base.size}, np.{base.dtype.name})")
        text.put("np.add.at(g, places, ct)")
        text.put(f"return (g.reshape({base.shape!r}),)")
        self.text = Function("view_back", ["ct", "places"], text, {})
        self.places = places

    def __call__(self, tape: Tape, kept: Any, cts: Sequence[Any]) -> Any:
        return tape.call(self.text, [cts[0], self.places], False)


_view_texts: dict[Any, Any] = {}


def _view_text(kind: str, view: _views.View, base: np.ndarray[Any, Any]) -> Any:
    from pycompile.derivatives._text import Function, Text
    from pycompile.derivatives._writer import store_text

    key = (kind, view.text("x"), base.shape, base.dtype)
    if key in _view_texts:
        return _view_texts[key]
    text = Text()
    if kind == "view_back":
        text.put(f"g = np.zeros({base.shape!r}, np.{base.dtype.name})")
        part = {"": "ct", "real": "ct + 0j", "imag": "-1j * ct"}[view.part]
        plain = _views.View("", *list(vars(view).values())[1:])
        text.put(f"t = {part}")
        if plain.reshape:
            text.put(f"g = t.reshape({base.shape!r})")
        elif plain.index:
            text.put(f"g[{_views.index_text(plain.index)}] += {plain.back('t')}")
        else:
            text.put(f"g = {plain.back('t')}")
        text.put("return (g,)")
    elif kind == "old":
        text.put("g = ct.copy()")
        text.put(f"{store_text('g', view)} = 0.0")
        text.put("return g")
    else:
        text.put(f"return {view.text('ct')}.copy()")
    _view_texts[key] = Function(kind, ["ct"], text, {})
    return _view_texts[key]


class _WriteBack:
    """Of a write into a part of an array: of the array before, and of what was written."""

    def __init__(self, view: _views.View, base: Any, old: bool, new: bool) -> None:
        self.old = _view_text("old", view, base) if old else None
        self.new = _view_text("new", view, base) if new else None

    def __call__(self, tape: Tape, kept: Any, cts: Sequence[Any]) -> Any:
        return [
            tape.call(text, [cts[0]], False) for text in (self.old, self.new) if text is not None
        ]


def memory_of(
    known: dict[int, tuple[Any, int | None]], value: np.ndarray[Any, Any]
) -> tuple[Any, Any]:
    """The active array that shares memory with `value`, with its slot; (None, None): none does."""
    for base, slot in list(known.values()):
        if slot is None or not isinstance(base, np.ndarray) or not base.size or not value.size:
            continue
        if np.may_share_memory(base, value):
            return base, slot
    return None, None


def place(array: np.ndarray[Any, Any]) -> _views.Place:
    address = array.__array_interface__["data"][0]
    return _views.Place(array.dtype, array.shape, array.strides, address)


def _print_of(value: np.ndarray[Any, Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(value))


def _own(value: Any, target: Any) -> Any:
    """A kept value that is about to be written over: a copy of it."""
    if isinstance(value, np.ndarray) and np.may_share_memory(value, target):
        return copied(value)
    return value


def is_writeable(value: np.ndarray[Any, Any]) -> bool:
    """As its flag says: asked by name, NumPy warns of arrays that np.broadcast_arrays gives."""
    return bool(value.flags.num & 0x400)


def copied(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    new = value.copy(order="K")
    alias(value, new)
    return new


_ADD: list[Any] = []


def added(tape: Tape, one: Any, other: Any) -> Any:
    if not _running.tapes:
        return one + other
    from pycompile.derivatives._text import Function, Text

    if not _ADD:
        text = Text()
        text.put("return a + b")
        _ADD.append(Function("add", ["a", "b"], text, {}))
    return tape.call(_ADD[0], [one, other], False)
