"""vmap, and the axes of containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycompile import _api
from pycompile._errors import DerivativeError
from pycompile.derivatives import _api as api
from pycompile.derivatives import _batch, _repeated, _run, _tape, _trees
from pycompile.derivatives._axes import axes_of

# A function that was no batch so often is called for each item at once.
TRIES = 2


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """A function that gives f's results for each item of its arguments along `in_axes` (None: the
    argument is the same for all), along `out_axes`.

    Axes are an int for all, or a tuple with one for each argument (result), which may be a container
    of axes for a container.  A function that is one graph, without side effects, of operations that
    have a batched form runs once, for all items; another one is called for each."""
    failures = 0
    repeated = _repeated.whole("vmap", f, (in_axes, out_axes))

    def by_tape(*args: Any) -> Any:
        nonlocal failures
        axes = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
        if len(axes) != len(args):
            raise TypeError(f"in_axes has {len(axes)} items, and there are {len(args)} arguments")
        each = [axes_of(arg, axis, "in_axes") for arg, axis in zip(args, axes, strict=True)]
        count = _count(args, each)
        rows: list[Any] = []
        if count > 1 and failures < TRIES:
            items = [_item(arg, axis, 0) for arg, axis in zip(args, each, strict=True)]
            columns = _columns(args, each, items)
            tried = _batch.attempt(_target(f, True), items, columns, count, f)
            if tried is not None and tried[1] is not None and tried[1].knows(tried[0]):
                return _joined_batch(tried[0], tried[1], out_axes)
            failures += 1
            rows += [] if tried is None else [tried[0]]
        call = _target(f, False)
        rows += [
            call(*(_item(arg, axis, i) for arg, axis in zip(args, each, strict=True)))
            for i in range(len(rows), count)
        ]
        if _tape.tapes():
            _run.check(_tape.tapes()[-1])
            _require_known(_tape.tapes()[-1], rows)
        return _joined(rows, out_axes)

    def made(*args: Any) -> Any:
        return repeated.do(by_tape, args, {})

    return api._wraps(f, made, "vmap", (in_axes, out_axes))  # type: ignore[no-any-return]


def _count(args: Sequence[Any], each: Sequence[Sequence[int | None]]) -> int:
    lengths = set()
    for arg, axes in zip(args, each, strict=True):
        for (_, value), axis in zip(_trees.leaves(arg), axes, strict=True):
            if axis is None:
                continue
            if not isinstance(value, np.ndarray) or not -value.ndim <= axis < value.ndim:
                raise ValueError(
                    f"vmap along axis {axis} of {type(value).__name__} of shape {np.shape(value)}"
                )
            lengths.add(value.shape[axis])
    if len(lengths) != 1:
        raise ValueError(f"vmap needs arguments of one length along in_axes, not {sorted(lengths)}")
    return int(lengths.pop())


def _item(arg: Any, axes: Sequence[int | None], i: int) -> Any:
    if all(axis is None for axis in axes):
        return arg
    items = [
        value
        if axis is None
        else _tape.part(value, value[(slice(None),) * (axis % value.ndim) + (i, ...)])
        for (_, value), axis in zip(_trees.leaves(arg), axes, strict=True)
    ]
    return _trees.rebuild(arg, iter(items).__next__)


def _columns(
    args: Sequence[Any], each: Sequence[Sequence[int | None]], items: Sequence[Any]
) -> list[tuple[Any, Any]]:
    """The leaves of the first item, each with those of all, None where it is the same for all."""
    out = []
    for arg, axes, item in zip(args, each, items, strict=True):
        leaves = zip(_trees.leaves(arg), _trees.leaves(item), axes, strict=True)
        for (_, value), (_, first), axis in leaves:
            moved = None if axis is None else _tape.part(value, np.moveaxis(value, axis, 0))
            out.append((first, moved))
    return out


def _target(f: Any, is_batch: bool) -> Callable[..., Any]:
    if getattr(f, "is_derivative", False):
        return f  # type: ignore[no-any-return]
    if is_batch:
        return lambda *items: api._derived(f).target()(*items)  # chosen while the batch is running
    return api._derived(f).target() if _tape.tapes() else _compiled(f)  # type: ignore[no-any-return]


_plain: dict[int, tuple[Any, Any]] = {}


def _compiled(f: Any) -> Any:
    if id(f) not in _plain:
        if len(_plain) > 256:
            _plain.clear()
        _plain[id(f)] = (f, _api.compile(api._unwrapped(f)) if not isinstance(f, np.ufunc) else f)
    return _plain[id(f)][1]


def _joined_batch(out: Any, batch: _batch.Batch, out_axes: Any) -> Any:
    axes = axes_of(out, out_axes, "out_axes")
    leaves = zip(_trees.leaves(out), axes, strict=True)
    joined = [_batch.joined(batch, value, _axis(axis)) for (_, value), axis in leaves]
    return _trees.rebuild(out, iter(joined).__next__)


def _joined(rows: list[Any], out_axes: Any) -> Any:
    if not rows:
        raise ValueError("vmap over no items: the shape of the result is not known")
    columns = zip(*[[value for _, value in _trees.leaves(row)] for row in rows], strict=True)
    axes = axes_of(rows[0], out_axes, "out_axes")
    joined = [_stack(column, _axis(axis)) for column, axis in zip(columns, axes, strict=True)]
    return _trees.rebuild(rows[0], iter(joined).__next__)


def _require_known(tape: _tape.Tape, rows: list[Any]) -> None:
    """Nothing that was computed where no graph follows it goes for a constant."""
    for _, value in _trees.leaves(rows):
        if not _tape.is_number(value) or tape.find(value)[0]:
            continue
        if not tape.is_batch:
            raise DerivativeError(
                "what a function under vmap gives for an item was computed where no graph follows it: its "
                "derivative is not known.  pycompile.explain(f) tells at which line the graph ends"
            )
        tape.broken = True


def _axis(axis: int | None) -> int:
    if axis is None:
        raise TypeError("out_axes names an axis for each result")
    return axis


_STACKS: dict[int, Any] = {}


def _stack(column: Sequence[Any], axis: int) -> Any:
    from pycompile.derivatives._text import Function, Text

    if axis not in _STACKS:
        text = Text()
        text.put(f"return np.stack(rows, axis={axis})")
        _STACKS[axis] = Function("stack", ["*rows"], text, {})
    tapes = _tape.tapes()
    return (
        _tape.Tape().call(_STACKS[axis], list(column), False) if tapes else np.stack(column, axis)
    )
