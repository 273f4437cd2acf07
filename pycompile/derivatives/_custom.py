"""Functions with rules of the program's own, and what is left out of a derivative or computed again
in it.  All of them are breaks in a graph: what they give is put on the running tape here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycompile import _api
from pycompile._errors import DerivativeError
from pycompile.derivatives import _api as api
from pycompile.derivatives import _draws, _run, _tape, _trees


def _active(args: Any) -> list[tuple[Any, int]]:
    """The leaves that the running tape knows to be active, with their slots."""
    tapes = _tape.tapes()
    out = []
    for _, value in _trees.leaves(args) if tapes else ():
        if _tape.is_number(value):
            slot = tapes[-1].find(value)[1]
            if slot is not None:
                out.append((value, slot))
    return out


def _below(function: Any, args: Sequence[Any]) -> Any:
    """Calls a function outside of the running tape, on those around it."""
    before = _tape.tapes()
    leaves = [v for _, v in _trees.leaves(list(args)) if _tape.is_number(v)]
    rest = before[:-1]
    while rest and not any(rest[-1].find(value)[1] is not None for value in leaves):
        rest = rest[:-1]
    _tape._running.tapes = rest
    try:
        if not rest:
            return function(*args)
        rest[-1].constants.update((id(v), v) for v in leaves if not rest[-1].find(v)[0])
        out = api._derived(function).target()(*args)
        _run.check(rest[-1])
        return out
    finally:
        _tape._running.tapes = before


def _no_closure(function: Any, what: str) -> None:
    """Arrays that depend on what is differentiated have to be arguments: else they would count as
    constants."""
    tape = _tape.tapes()[-1]
    reached = _run.Reached()
    reached.walk(function)
    for value in reached.found.values():
        if tape.find(value)[1] is not None:
            name = getattr(function, "__name__", "the function")
            raise DerivativeError(
                f"{what}: {name} reads a value that depends on what is differentiated, and that is "
                "no argument of its: make it one"
            )


def _record(
    active: list[tuple[Any, int]],
    out: Any,
    kept: Sequence[Any],
    pull: Callable[[Sequence[Any], list[Any]], Sequence[Any]],
) -> Any:
    """Puts what was computed on the running tape: `pull` gives the cotangents of the active leaves, of
    what is kept and those of the result's leaves."""
    tape = _tape.tapes()[-1]
    fresh = []
    for _, value in _trees.leaves(out):
        if tape.find(value)[0] or type(value) in (float, complex):
            value = _other(value)
        fresh.append(value)
    out = _trees.rebuild(out, iter(fresh).__next__)
    numbers = [value for value in fresh if _tape.is_number(value)]
    slots: list[int | None] = [tape.know(value) for value in numbers]

    def back(tape: Any, kept: Any, cts: Sequence[Any]) -> Any:
        given = [
            np.zeros(np.shape(value), np.asarray(value).dtype)[()] if ct is None else ct
            for value, ct in zip(numbers, cts, strict=True)
        ]
        return pull(kept, given)

    tape.entries.append(_tape.Entry([slot for _, slot in active], slots, back, tuple(kept)))
    return out


def _other(value: Any) -> Any:
    """An object of its own with the same value."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, np.generic):
        return np.array(value)[()]
    if type(value) is complex:
        return complex(value.real, value.imag)
    return value * 1.0 if isinstance(value, float) else value


def _stop_gradient(x: Any) -> Any:
    """x, as a constant to derivatives that are being taken: arrays in it are copied.  Elsewhere x
    itself."""
    tapes = _tape.tapes()
    if not tapes:
        return x
    values = [_other(value) for _, value in _trees.leaves(x)]
    for value in values:
        for tape in tapes:
            tape.know_constant(value)
    return _trees.rebuild(x, iter(values).__next__)


_stop_gradient.__name__ = _stop_gradient.__qualname__ = "stop_gradient"
stop_gradient = _api.disable(_stop_gradient)


def _leaves_of(
    args: Sequence[Any], cts: Any, active: list[tuple[Any, int]], name: str
) -> list[Any]:
    """Of cotangents by argument, those of the active leaves; None is zero."""
    if not isinstance(cts, (tuple, list)) or len(cts) != len(args):
        raise TypeError(f"the rule of {name} gives a tuple with a cotangent for each argument")
    by_id: dict[int, Any] = {}
    for arg, ct in zip(args, cts, strict=True):
        mine = list(_trees.leaves(arg))
        given = [None] * len(mine) if ct is None else [v for _, v in _trees.leaves(ct)]
        if len(given) != len(mine):
            raise TypeError(
                f"the rule of {name} gives a cotangent with {len(given)} leaves for {len(mine)}"
            )
        for (_, value), each in zip(mine, given, strict=True):
            if each is None:
                continue
            if np.shape(each) != np.shape(value):
                raise TypeError(
                    f"the rule of {name} gives a cotangent of shape {np.shape(each)} for an argument of {np.shape(value)}"
                )
            by_id[id(value)] = each
    return [by_id.get(id(value)) for value, _ in active]


class _Custom:
    """A function with a rule of the program's own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(self, attribute, getattr(function, attribute, None))

    __name__: str

    def __call__(self, *args: Any) -> Any:
        active = _active(list(args))
        if active:
            return self.record(args, active)
        tapes = _tape.tapes()
        known = [x for _, x in _trees.leaves(list(args)) if _tape.is_number(x)]
        if not tapes or tapes[-1].is_batch or not all(tapes[-1].find(x)[0] for x in known):
            return self.__wrapped__(*args)
        # Of arguments that depend on nothing: in its own rule, say.
        _no_closure(self.__wrapped__, type(self).__name__)
        out = _below(self, args)
        for _, value in _trees.leaves(out):
            tapes[-1].know_constant(value)
        return out

    __call__ = _api.disable(__call__)

    def record(self, args: Sequence[Any], active: list[tuple[Any, int]]) -> Any:
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        import types

        return self if instance is None else types.MethodType(self, instance)


class custom_vjp(_Custom):  # a decorator, named like JAX's
    """A function whose pullback the program gives: `f.defvjp(fwd, bwd)`, where `fwd(*args)` returns the
    result and what bwd needs, and `bwd(that, cotangent)` a tuple with a cotangent for each argument
    (None: zero)."""

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        self.fwd, self.bwd = fwd, bwd

    def record(self, args: Sequence[Any], active: list[tuple[Any, int]]) -> Any:
        if self.fwd is None or self.bwd is None:
            raise DerivativeError(
                f"{self.__name__} has no rule yet: {self.__name__}.defvjp(fwd, bwd)"
            )
        _no_closure(self.fwd, "custom_vjp")
        out, residual = _pair(_below(self.fwd, args), f"fwd of {self.__name__}")
        shape = out

        def pull(kept: Sequence[Any], cts: list[Any]) -> Sequence[Any]:
            give = iter(cts)
            values = [next(give) if _tape.is_number(v) else v for _, v in _trees.leaves(shape)]
            ct = _trees.rebuild(shape, iter(values).__next__)
            saved = _trees.rebuild(residual, iter(kept).__next__)
            return _leaves_of(args, _pulled(self.bwd, (saved, ct)), active, self.__name__)

        return _record(active, out, [v for _, v in _trees.leaves(residual)], pull)


def _pair(given: Any, what: str) -> Any:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(f"{what} gives a pair, not {type(given).__name__}")
    return given


def _pulled(function: Any, args: Sequence[Any]) -> Any:
    """A pullback of the program's: on the tapes that are running, if they know its arguments."""
    tapes = _tape.tapes()
    if not tapes:
        return function(*args)
    tapes.append(_tape.Tape())
    try:
        return _below(function, args)
    finally:
        tapes.pop()


class custom_jvp(_Custom):
    """A function whose derivative in a direction the program gives: `f.defjvp(rule)`, where
    `rule(primals, tangents)` returns the result and its tangent, which is linear in the tangents.
    Gradients are got from it, too."""

    rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        self.rule = rule
        return rule

    def record(self, args: Sequence[Any], active: list[tuple[Any, int]]) -> Any:
        if self.rule is None:
            raise DerivativeError(f"{self.__name__} has no rule yet: {self.__name__}.defjvp(rule)")
        _no_closure(self.rule, "custom_jvp")
        rule, name = self.rule, f"the rule of {self.__name__}"
        zeros = [
            np.zeros(np.shape(value), np.asarray(value).dtype)
            for _, value in _trees.leaves(list(args))
        ]
        for tape in _tape.tapes():
            for zero in zeros:
                tape.know_constant(zero)
        tangents = tuple(_trees.rebuild(list(args), iter(zeros).__next__))
        out = _below(lambda *primals: _pair(rule(primals, tangents), name)[0], args)
        shape = out

        def pull(kept: Sequence[Any], cts: list[Any]) -> Sequence[Any]:
            primals = tuple(_trees.rebuild(list(args), iter(kept).__next__))
            pullback = api.vjp(lambda *ts: rule(primals, ts)[1], *tangents)[1]
            ct = _trees.rebuild(shape, iter(cts).__next__)
            return _leaves_of(args, pullback(ct), active, self.__name__)

        return _record(active, out, [v for _, v in _trees.leaves(list(args))], pull)


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, of which a derivative keeps the arguments only: the pullback runs f again.

    For functions of their arguments alone, without side effects."""

    def made(*args: Any) -> Any:
        active = _active(list(args))
        if not active:
            return f(*args)
        _no_closure(f, "checkpoint")
        out = _below(f, args)
        shape = out

        def pull(kept: Sequence[Any], cts: list[Any]) -> Sequence[Any]:
            primals = _trees.rebuild(list(args), iter(kept).__next__)
            numbers = [i for i, arg in enumerate(args) if _active_in(arg, active)]
            _draws.again.count += 1
            try:
                ran = api.Pass(api._derived(f), primals, {}, numbers, False, False)
            finally:
                _draws.again.count -= 1
            give = iter(cts)
            given = [next(give) if _tape.is_number(v) else None for _, v in _trees.leaves(shape)]
            gradients = ran.gradients(ran.pull(given))
            by_argument: list[Any] = [None] * len(args)
            for i, gradient in zip(numbers, gradients, strict=True):
                by_argument[i] = gradient
            return _leaves_of(args, by_argument, active, getattr(f, "__name__", "the function"))

        return _record(active, out, [v for _, v in _trees.leaves(list(args))], pull)

    return api._wraps(f, made, "checkpoint")  # type: ignore[no-any-return]


def _active_in(arg: Any, active: list[tuple[Any, int]]) -> bool:
    ids = {id(value) for value, _ in active}
    return any(id(value) in ids for _, value in _trees.leaves(arg))
