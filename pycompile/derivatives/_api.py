"""The functions that users call: JAX's names and conventions."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycompile import _C, _api
from pycompile._errors import DerivativeError, GraphBreakError
from pycompile.derivatives import _batch, _followed, _repeated, _run, _tape, _trees
from pycompile.derivatives._tape import Tape
from pycompile.derivatives._text import Function, Text
from pycompile.derivatives._whole import Asked

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "jvp", "value_and_grad", "vjp"]


# Of a function that has been one plan, arrays of more bytes are not looked at for writes outside of it.
WATCHED = 1 << 20


class Pass:
    """A forward pass that was run: its result, and what the pullback needs."""

    def __init__(
        self,
        derived: _run.Derived,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Sequence[int],
        has_aux: bool,
        keeps: bool,
        has_wholes: bool = False,
    ) -> None:
        """`has_wholes`: there may be ints among the leaves, which no derivative is by."""
        self.tape = tape = Tape()
        name = getattr(derived.function, "__name__", "the function")
        args = list(args)
        self.trees = []
        for number in argnums:
            if not -len(args) <= number < len(args):
                raise TypeError(
                    f"argnums has {number}, and {name} was called with {len(args)} positional arguments"
                )
            self.trees.append(_trees.copied(args[number]))  # the function may change its containers
        positions = [number % len(args) for number in argnums]
        if len({*positions}) < len(positions):
            raise TypeError(f"argnums has an argument of {name} twice: {tuple(argnums)!r}")
        self.leaves: list[Any] = []
        arrays: list[Any] = []
        texts = [f"rest[{i}]" for i in range(len(args))]
        others = _run.Reached()
        others.walk([arg for i, arg in enumerate(args) if i not in positions])
        others.walk(kwargs)
        others.walk(derived.function)
        seen = set(others.found)
        has_floats = False
        for number in positions:
            for path, value in _trees.leaves(args[number]):
                if not (has_wholes and _trees.is_whole(value)):
                    _trees.check_leaf(value, path, f"argument {number}{{}} of {name}")
            text = _run.float_text(args[number], texts[number], arrays, self.leaves)
            if text is not None:
                texts[number], has_floats = text, True
                # The function gets others in their place.
                others.found |= {
                    id(x): x for _, x in _trees.leaves(args[number]) if _tape.is_fixed(x)
                }
                continue
            args[number] = self.fresh(args[number], seen)
            self.leaves += [value for _, value in _trees.leaves(args[number])]
        tape.constants = others.found
        tape.watch_constants(WATCHED if derived.is_one_plan else sys.maxsize)
        self.slots = [tape.know_given(value) for value in self.leaves]
        given = [value for tree in self.trees for _, value in _trees.leaves(tree)]
        for old, new in zip(given, self.leaves, strict=True):
            _tape.alias(old, new)
        if has_floats:
            out = derived.call_floats(tape, args, kwargs, texts, arrays)
        else:
            out = derived.call(tape, args, kwargs)
        tape.finish()
        derived.is_one_plan = len(tape.plans) == 1
        self.aux = None
        if has_aux:
            if not isinstance(out, tuple) or len(out) != 2:
                raise TypeError(
                    f"with has_aux=True {name} returns a pair, not {type(out).__name__}"
                )
            out, self.aux = out
        self.out = out
        self.outs: list[tuple[Any, int | None]] = []
        for path, value in _trees.leaves(out):
            if not _tape.is_number(value):
                self.outs.append((value, None))
                continue
            is_known, slot = tape.find(value)
            if not is_known and id(value) not in others.found:
                raise DerivativeError(
                    f"the result{path} of {name} was computed where no graph follows it: its derivative is "
                    f"not known.  pycompile.explain(f) tells at which line the graph ends{tape.hint(value)}"
                )
            if is_known:
                tape.require_unchanged(value, f"{name} returned it")
            self.outs.append((value, slot))
        for _, value in [*_trees.leaves(out), *_trees.leaves(self.aux)]:
            if _tape.is_number(value) and tape.find(value)[0]:
                _tape.handed_out(value)
        tape.require_kept(name)
        if keeps:
            tape.own_kept()

    def fresh(self, tree: Any, seen: set[int]) -> Any:
        """The container, in which no array stands twice, nor one that is known as a constant."""
        found = [value for _, value in _trees.leaves(tree)]
        numbers = [id(value) for value in found if not _trees.is_whole(value)]
        twice = len({*numbers} | seen) < len(numbers) + len(seen)
        seen.update(numbers)
        if not twice:
            return tree
        return _trees.rebuild(tree, iter([_trees.other(value) for value in found]).__next__)

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the leaves."""
        given: dict[int, Any] = {}
        for (_, slot), ct in zip(self.outs, cotangents, strict=True):
            if slot is None or ct is None:
                continue
            given[slot] = ct if slot not in given else _tape.added(self.tape, given[slot], ct)
        cts = self.tape.pull(given)
        found = [None if slot is None else cts.get(slot) for slot in self.slots]
        return [
            self.as_leaf(value, ct, any(ct is each for each in [*cotangents, *found[:i]]))
            for i, (value, ct) in enumerate(zip(self.leaves, found, strict=True))
        ]

    def as_leaf(self, value: Any, ct: Any, is_given: bool) -> Any:
        """A cotangent, as an array that is nobody else's."""
        if _trees.is_whole(value):
            return np.zeros(np.shape(value), _trees.FLOAT0)
        if ct is None:
            return _tape.handed_out(
                np.zeros(np.shape(value), value.dtype)
                if isinstance(value, np.ndarray)
                else type(value)(0),
                constant=True,
            )
        if isinstance(value, np.ndarray) and not (
            isinstance(ct, np.ndarray) and ct.flags.writeable and ct.base is None and not is_given
        ):
            new = np.array(ct, value.dtype, order="K")
            _tape.alias(ct, new)
            return new
        return ct

    def gradients(self, leaves: list[Any]) -> list[Any]:
        """In the containers of the arguments."""
        give = iter(leaves)
        out = []
        for tree in self.trees:
            found = [value for _, value in _trees.leaves(tree)]
            values = [_tape.handed_out(_number(next(give), was)) for was in found]
            out.append(_trees.rebuild(tree, iter(values).__next__))
        return out


def _number(ct: Any, was: Any) -> Any:
    """A gradient as a number of its kind where the argument was one."""
    if _trees.is_whole(was):
        return ct
    if isinstance(was, np.generic) and isinstance(ct, np.ndarray):
        out = ct[()]
        _tape.alias(ct, out)
        return out
    if type(was) in (float, complex):
        out = type(was)(ct)
        _tape.alias(ct, out)
        return out
    return ct


def _numbers(argnums: int | Sequence[int]) -> tuple[tuple[int, ...], bool]:
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        return (argnums,), True
    if isinstance(argnums, (tuple, list)) and argnums and all(type(n) is int for n in argnums):
        if len({*argnums}) < len(argnums):
            raise TypeError(f"argnums has an argument twice: {argnums!r}")
        return tuple(argnums), False
    raise TypeError(f"argnums is an int or a tuple of ints, not {argnums!r}")


def _one(value: Any) -> Any:
    """The cotangent 1 of a result."""
    if isinstance(value, np.ndarray):
        return np.ones(value.shape, value.dtype)
    return np.asarray(1, np.asarray(value).dtype)[()]


def _wraps(
    function: Any,
    made: Any,
    name: str,
    rest: tuple[Any, ...] | None = None,
    asked: Asked | None = None,
) -> Any:
    """`rest`: of pycompile's function of that name, the arguments behind the first."""
    for attribute in ("__module__", "__qualname__", "__doc__"):
        if isinstance(getattr(function, attribute, None), str):
            setattr(made, attribute, getattr(function, attribute))
    made.is_derivative = name != "checkpoint"  # calls nothing but what is captured
    made.__name__ = f"{name}_of_{getattr(function, '__name__', 'function')}"
    made.asked = asked
    made.derivative_of = None if rest is None else (name, function, rest)
    followed = None if rest is None else _followed.derivative(name, _unwrapped(function), rest)
    return _C.DisabledFunction(made, followed)


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives f's value and its gradient.

    f returns one real number (or, with has_aux, a pair of it and whatever else). The value has the
    bits of f's own. The gradient is in the containers of the argument, and a tuple of such where
    `argnums` is one.
    """
    numbers, single = _numbers(argnums)
    derived = _run.Derived(_unwrapped(f))

    def made(*args: Any, **kwargs: Any) -> Any:
        if _on_device(args):
            return _in_one_graph(asked, args, kwargs)
        if repeated.is_ready():
            return repeated.call(args, kwargs)
        began = time.perf_counter()
        ran = Pass(derived, args, kwargs, numbers, has_aux, False)
        _require_number(ran.out, f)
        out = ran.gradients(ran.pull([_one(ran.outs[0][0])]))
        took = time.perf_counter() - began
        repeated.note(took, not ran.tape.has_new_text, derived.is_one_plan)
        value = (ran.out, ran.aux) if has_aux else ran.out
        return value, out[0] if single else tuple(out)

    asked = Asked(derived.function, numbers[0] if single else numbers, has_aux, True)
    rest = (asked.argnums, has_aux)
    repeated = _repeated.of_function(
        asked.function,
        (asked.argnums, has_aux),
        lambda: _repeated.Repeated("value_and_grad", asked.function, rest),
    )
    return _wraps(f, made, "value_and_grad", rest, asked)  # type: ignore[no-any-return]


def _on_device(args: Sequence[Any]) -> bool:
    if "cupy" not in sys.modules:
        return False
    return any(_trees.is_on_device(value) for arg in args for _, value in _trees.leaves(arg))


_here = threading.local()
_UNLIMITED = {"recompile_limit": 1 << 20, "accumulated_recompile_limit": 1 << 20}


def _in_one_graph(asked: Asked, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Of arrays on a device no tape tells views and writes: the gradient is part of a graph."""
    compiled = _repeated.of_function(
        asked.function,
        ("device", asked.argnums, asked.has_aux),
        lambda: _repeated.in_one_graph(
            "value_and_grad",
            asked.function,
            (asked.argnums, asked.has_aux),
            True,
            "wait",
            _UNLIMITED,
        ),
    )
    if getattr(_here, "is_in_one_graph", False):  # what was compiled runs as plain Python
        raise DerivativeError(
            "a gradient of CuPy's arrays is left to Python: no plan was made for it"
        )
    _here.is_in_one_graph = True
    try:
        return compiled(*args, **kwargs)
    except GraphBreakError as error:
        raise DerivativeError(f"a gradient of CuPy's arrays has to be one graph: {error}") from None
    finally:
        _here.is_in_one_graph = False


def grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives f's gradient; with has_aux a pair of it and what f returns besides."""
    both = value_and_grad(f, argnums, has_aux)

    def made(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    asked = both.asked._replace(has_value=False)  # type: ignore[attr-defined]
    return _wraps(f, made, "grad", (asked.argnums, has_aux), asked)  # type: ignore[no-any-return]


def _require_number(out: Any, f: Any) -> None:
    name = getattr(f, "__name__", "the function")
    if not _tape.is_number(out):
        raise TypeError(
            f"a gradient is of a function that returns a real number, and {name} returned {type(out).__name__}: see vjp"
        )
    if np.shape(out) != ():
        raise TypeError(
            f"a gradient is of a function that returns a real number, and {name} returned an array of shape {np.shape(out)}: see vjp and jacrev"
        )
    if np.asarray(out).dtype.kind == "c":
        raise TypeError(
            f"a gradient is of a function that returns a real number, and {name} returned a complex one: see vjp"
        )


def _unwrapped(f: Any) -> Any:
    from pycompile import _C

    return f.__wrapped__ if isinstance(f, _C.CompiledFunction) else f


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """f's result, and the pullback: a function of a cotangent, in the containers of the result, that
    gives the cotangents of all arguments as a tuple.

    The pullback may be called again and again; writing into the arguments meanwhile does not change
    what it gives."""
    if not primals:
        raise TypeError("vjp needs at least one argument of the function")
    ran = Pass(_derived(f), primals, {}, tuple(range(len(primals))), has_aux, True, True)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        return tuple(ran.gradients(ran.pull(_cotangents(ran, cotangent))))

    pullback = _api.disable(pullback)
    return (ran.out, pullback, ran.aux) if has_aux else (ran.out, pullback)


def _cotangents(ran: Pass, cotangent: Any) -> list[Any]:
    out: list[Any] = []
    given = list(_trees.leaves(cotangent)) if not _trees.is_leaf(cotangent) else [("", cotangent)]
    if len(given) != len(ran.outs):
        raise TypeError(f"the result has {len(ran.outs)} leaves, and the cotangent {len(given)}")
    for (value, slot), (path, ct) in zip(ran.outs, given, strict=True):
        if slot is None:
            out.append(None)
            continue
        if np.shape(ct) != np.shape(value):
            raise TypeError(
                f"the cotangent{path} has shape {np.shape(ct)}, and the result {np.shape(value)}"
            )
        dtype = np.asarray(value).dtype
        if np.asarray(ct).dtype != dtype:
            ct = _typed(ct, dtype)
        out.append(ct)
    return out


def _derived(f: Any) -> _run.Derived:
    """Made anew at each call: that is cheap, and what is kept would keep what is in the function's cells."""
    return _run.Derived(_unwrapped(f))


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """f's result, and its derivative in the direction of `tangents`: the pullback's own transpose, so
    that what has a rule for gradients has this, too."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("primals and tangents are tuples, of an item for each argument")
    if len(primals) != len(tangents):
        raise TypeError(f"{len(primals)} primals and {len(tangents)} tangents")
    repeated = _repeated.whole("jvp", _unwrapped(f), ())
    return repeated.do(functools.partial(_jvp, f), (primals, tangents), {})


def _jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    ran = Pass(_derived(f), primals, {}, tuple(range(len(primals))), False, False, True)
    return ran.out, _transposed(ran, tangents)


def _typed(value: Any, dtype: np.dtype[Any]) -> Any:
    """A cotangent or tangent, as an array, in the dtype of what it is of."""
    if isinstance(value, np.ndarray) and value.dtype == dtype:
        return value
    new = np.asarray(value).astype(dtype)
    _tape.alias(value, new)
    return new


def _transposed(ran: Pass, tangents: Sequence[Any]) -> Any:
    given = [value for _, value in _trees.leaves(list(tangents))]
    if len(given) != len(ran.leaves):
        raise TypeError(f"the primals have {len(ran.leaves)} leaves, and the tangents {len(given)}")
    for value, tangent in zip(ran.leaves, given, strict=True):
        if np.shape(value) != np.shape(tangent):
            raise TypeError(
                f"a tangent has shape {np.shape(tangent)}, and its primal {np.shape(value)}"
            )
        if _trees.is_whole(value) and not _is_zero_tangent(tangent):
            raise TypeError(f"the tangent of an integer is 0, or of JAX's float0, not {tangent!r}")
    tape = Tape()
    # Any cotangents would do; of zeros a write that no graph follows would not be seen.
    seeds = [
        None if slot is None else np.full(np.shape(value), 0.7, np.asarray(value).dtype)
        for value, slot in ran.outs
    ]
    slots = [None if seed is None else tape.know(seed) for seed in seeds]
    _tape.tapes().append(tape)
    try:
        cts = ran.pull(seeds)
    finally:
        _tape.tapes().remove(tape)
    back: dict[int, Any] = {}
    for ct, tangent in zip(cts, given, strict=True):
        slot = tape.find(ct)[1]
        if slot is not None:
            tangent = _typed(tangent, np.asarray(ct).dtype)
            back[slot] = tangent if slot not in back else _tape.added(tape, back[slot], tangent)
    out = tape.pull(back)
    values = []
    for (value, _), slot in zip(ran.outs, slots, strict=True):
        ct = out.get(slot) if slot is not None else None
        if ct is None:
            ct = np.zeros(np.shape(value), np.asarray(value).dtype)
        values.append(_tape.handed_out(ct if isinstance(value, np.ndarray) else _scalar(ct, value)))
    return _trees.rebuild(ran.out, iter(values).__next__)


def _is_zero_tangent(tangent: Any) -> bool:
    """Is it a tangent that an integer can have?"""
    return np.asarray(tangent).dtype == _trees.FLOAT0 or (
        _trees.is_whole(tangent) and not np.any(tangent)
    )


def _scalar(ct: Any, value: Any) -> Any:
    out = ct[()] if isinstance(ct, np.ndarray) else ct
    if type(value) in (float, complex):
        out = type(value)(out)
    _tape.alias(ct, out)
    return out


_UNITS_BYTES = 1 << 26  # of the unit vectors that are there at once


def _for_units(call: Callable[[Any], Any], value: Any, axis: int) -> list[Any]:
    """What `call` gives for each of the unit vectors of a value: for each leaf an array of all, along
    an axis."""
    dtype, n = np.asarray(value).dtype, np.size(value)
    at_once = max(1, _UNITS_BYTES // (n * dtype.itemsize))
    parts = [
        _for_some(call, value, axis, range(first, min(first + at_once, n)))
        for first in range(0, n, at_once)
    ]
    if len(parts) == 1:
        return parts[0]
    return [_joined("concatenate", list(part), axis) for part in zip(*parts, strict=True)]


def _for_some(call: Callable[[Any], Any], value: Any, axis: int, places: range) -> list[Any]:
    """By one call for all units where their batch is known (_batch.py)."""
    dtype, shape, count = np.asarray(value).dtype, np.shape(value), len(places)
    units = np.zeros((count, np.size(value)), dtype)
    units[np.arange(count), places] = 1
    units = units.reshape((count, *shape))
    each = [unit if isinstance(value, np.ndarray) else unit[()] for unit in units]
    for tape in _tape.tapes():
        tape.know_constant(each[0])
    rows = []
    if count > 1:
        tried = _batch.attempt(lambda: call(each[0]), [], [(each[0], units)], count)
        out, batch = tried if tried is not None else (None, None)
        if batch is not None and batch.knows(out):
            return [_batch.joined(batch, leaf, axis) for _, leaf in _trees.leaves(out)]
        rows = [] if tried is None else [tried[0]]
    rows += [call(unit) for unit in each[len(rows) :]]
    columns = [[leaf for _, leaf in _trees.leaves(row)] for row in rows]
    return [_joined("stack", list(column), axis) for column in zip(*columns, strict=True)]


def _joined(name: str, rows: list[Any], axis: int) -> Any:
    """np.stack or np.concatenate of them, with its derivative."""
    if (name, axis) not in _JOINED:
        text = Text()
        text.put(f"return np.{name}(rows, axis={axis})")
        _JOINED[name, axis] = Function(name, ["*rows"], text, {})
    return Tape().call(_JOINED[name, axis], rows, False)


_JOINED: dict[tuple[str, int], Function] = {}


def jacrev(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that gives f's Jacobian, a pullback for each element of the result: for each leaf
    of the result an array of its shape followed by the argument's."""
    numbers, single = _numbers(argnums)
    derived = _run.Derived(_unwrapped(f))
    rest = (numbers[0] if single else numbers,)
    repeated = _repeated.whole("jacrev", derived.function, rest)

    def by_tape(*args: Any, **kwargs: Any) -> Any:
        ran = Pass(derived, args, kwargs, numbers, False, False)
        blocks = []
        for i, (value, _) in enumerate(ran.outs):

            def pulled(unit: Any, i: int = i) -> Any:
                return ran.pull([unit if k == i else None for k in range(len(ran.outs))])

            none = [np.zeros((0, *np.shape(x)), np.asarray(x).dtype) for x in ran.leaves]
            rows = _for_units(pulled, value, 0) if np.size(value) else none
            parts = [
                _block(row, np.shape(value) + np.shape(leaf))
                for row, leaf in zip(rows, ran.leaves, strict=True)
            ]
            out = _in_trees(ran.trees, parts)
            blocks.append(out[0] if single else tuple(out))
        return _trees.rebuild(ran.out, iter(blocks).__next__)

    def made(*args: Any, **kwargs: Any) -> Any:
        return repeated.do(by_tape, args, kwargs)

    return _wraps(f, made, "jacrev", rest)  # type: ignore[no-any-return]


def _block(rows: Any, shape: tuple[int, ...]) -> Any:
    """A block of a Jacobian: a constant to the derivatives around that do not know its rows."""
    return _tape.part(_tape.handed_out(rows), np.reshape(rows, shape))


def _in_trees(trees: Sequence[Any], parts: Sequence[Any]) -> list[Any]:
    give = iter(parts).__next__
    return [_trees.rebuild(tree, give) for tree in trees]


def jacfwd(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """As jacrev, a derivative in a direction for each element of the arguments."""
    numbers, single = _numbers(argnums)
    derived = _run.Derived(_unwrapped(f))
    rest = (numbers[0] if single else numbers,)
    repeated = _repeated.whole("jacfwd", derived.function, rest)

    def by_tape(*args: Any, **kwargs: Any) -> Any:
        ran = Pass(derived, args, kwargs, numbers, False, False)
        outs = [value for value, _ in ran.outs]
        columns = []  # by leaf of the arguments: tangents of the results
        for i, leaf in enumerate(ran.leaves):

            def pushed(unit: Any, i: int = i) -> Any:
                zeros = [np.zeros(np.shape(x), np.asarray(x).dtype) for x in ran.leaves]
                return _transposed(ran, [*zeros[:i], unit, *zeros[i + 1 :]])

            none = [np.zeros((*np.shape(x), 0), np.asarray(x).dtype) for x in outs]
            columns.append(_for_units(pushed, leaf, -1) if np.size(leaf) else none)
        blocks = []
        for i, value in enumerate(outs):
            parts = [
                _block(column[i], np.shape(value) + np.shape(leaf))
                for leaf, column in zip(ran.leaves, columns, strict=True)
            ]
            out = _in_trees(ran.trees, parts)
            blocks.append(out[0] if single else tuple(out))
        return _trees.rebuild(ran.out, iter(blocks).__next__)

    def made(*args: Any, **kwargs: Any) -> Any:
        return repeated.do(by_tape, args, kwargs)

    return _wraps(f, made, "jacfwd", rest)  # type: ignore[no-any-return]


def hessian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that gives f's second derivatives: jacfwd of jacrev."""
    return jacfwd(jacrev(f, argnums), argnums)
