"""vmap: one run of a function for many items.

The function is called with the first item while a `Batch` is the running tape.  Each plan of the call
computes its outputs for all items at once (_batched.py); the function gets the first item's, and the
batch knows, by identity, what each value is for the others.  So it is with the texts of derivatives
that the call runs, and batches and tapes nest in any order.

No code is interpreted meanwhile that no graph follows: the function is captured whole, or the batch
is not begun.  Where a plan has effects or a node no batched form, the plan runs for the first item
alone, the batch is `broken`, and the other items are gone through one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycompile import _eager
from pycompile._errors import GraphBreakError
from pycompile.derivatives import _run, _tape, _trees, _views
from pycompile.derivatives._batched import Batched, NotBatched
from pycompile.derivatives._plan import Plan, root, tell, written_input
from pycompile.derivatives._text import Function, Names, Node, Text


class Batch(_tape.Tape):
    """What the values of the first item are for all of them."""

    is_batch = True

    def __init__(self, count: int, function: Any) -> None:
        super().__init__()
        self.count, self.function = count, function
        self.there: dict[int, Any] | None = None  # what the function can reach
        self.columns: dict[int, Any] = {}

    def put(self, value: Any, column: Any) -> None:
        self.columns[self.know(value)] = column

    def column(self, value: Any) -> Any:
        """The value for all items, None if it is the same for all."""
        slot = self.find(value)[1]
        return None if slot is None else self.columns[slot]

    def knows(self, tree: Any) -> bool:
        return all(self.find(value)[0] for _, value in _trees.leaves(tree))

    def as_view(self, value: np.ndarray[Any, Any]) -> int | None:
        base, slot = _tape.memory_of(self.known, value)
        if base is None:
            return None
        if self.there is None:
            reached = _run.Reached()
            reached.seen[id(_tape._running)] = _tape._running  # has what is made meanwhile
            reached.walk(self.function)
            self.there = reached.seen
        if id(value) in self.there:  # it was there before, and is the same for all
            self.broken = True
            return None
        return self.view_of(base, slot, value)

    def view_of(self, base: Any, slot: Any, value: Any) -> int | None:
        view = _views.find(_tape.place(base), _tape.place(value))
        if view is None:
            self.broken = True
            return None
        mine = self.know(value)
        self.columns[mine] = view.along(self.count).apply(self.columns[slot])
        return mine

    def run(self, plan: Plan, inputs: Sequence[Any]) -> list[Any]:
        """A plan's outputs for the first item."""
        if not self.broken:
            try:
                return self.run_all(plan, inputs)
            except Exception:  # whatever it is, the items tell it one by one
                self.broken = True
        return self.run_first(plan, inputs)

    def run_first(self, plan: Plan, inputs: Sequence[Any]) -> list[Any]:
        """The plan for the first item alone, on the tapes around this one."""
        before = _tape._running.tapes
        around = before[: before.index(self)]
        if not around:
            return self.run_plain(plan, inputs)
        outer = around[-1]
        was_text, outer.is_text = outer.is_text, self.is_text
        _tape._running.tapes = around
        try:
            return plan(*inputs)
        finally:
            _tape._running.tapes, outer.is_text = before, was_text

    def run_plain(self, plan: Plan, inputs: Sequence[Any]) -> list[Any]:
        """On a tape that nobody reads: a plan that the runtime had to run itself, again and again, would be
        given up, also for the derivatives that need it."""
        before, tape = _tape._running.tapes, _tape.Tape()
        tape.filters, tape.is_text = self.filters, self.is_text
        tape.constants = {id(value): value for value in inputs}
        _tape._running.tapes = [tape]
        try:
            return plan(*inputs)
        finally:
            _tape._running.tapes = before
            self.warnings += tape.warnings

    def run_all(self, plan: Plan, inputs: Sequence[Any]) -> list[Any]:
        graph = plan.graph
        if (
            plan.effects
            or plan.unseen_writes
            or plan.own_errors
            or any(map(written_input, graph.outputs))
        ):
            raise NotBatched
        columns = [self.column(value) for value in inputs]
        sizes = plan.sizes(inputs)
        flags = tuple(column is not None for column in columns)
        key = (self.count, flags, tuple(sizes.values()))
        if key not in plan.batches:
            spread = [node for node, is_it in zip(graph.inputs, flags, strict=True) if is_it]
            plan.batches[key] = Form(plan, sizes, spread, self.count)
        form = plan.batches[key]
        given = [
            value if column is None else column
            for value, column in zip(inputs, columns, strict=True)
        ]
        outputs = self.compute(form.text, given)
        return [
            self.first(form, node, value) if is_spread else self.same(value)
            for node, value, is_spread in zip(graph.outputs, outputs, form.spread, strict=True)
        ]

    def same(self, value: Any) -> Any:
        self.know_constant(value)
        return value

    def first(self, form: Form, node: Node, column: Any) -> Any:
        """The first item's output, laid out as the graph promises."""
        kinds = "biu" if node.form == "python" else "b"
        if node.form != "array" and np.dtype(node.dtype).kind in kinds:
            raise NotBatched  # such a number is no object of its own
        stack, pick = self.around([column]), _FIRST[node.form]
        item = _tape._on(stack, pick, [column]) if stack else pick.plain(column)
        is_fresh = node.form == "array" and node.kind != "view" and node.op != "input"
        strides = form.writer.strides(node) if node.form == "array" else ()
        if node.kind == "view" and item.strides != strides and root(node).op != "input":
            is_fresh = True  # of what a text for many items lays otherwise
        if is_fresh:
            laid_out = _eager._empty(column.dtype, column.shape[1:], strides)
            laid_out[...] = item
            _tape.alias(item, laid_out)
            item = laid_out
        self.put(item, column)
        return item

    def compute(self, function: Function, args: Sequence[Any]) -> Any:
        """Runs a text, with the tapes around this one knowing of it."""
        stack = self.around(args)
        if stack:
            return _tape._on(stack, function, args)
        with np.errstate(**_tape.raised()):
            return function.compiled(*args)


def _item_text(item: str) -> Function:
    text = Text()
    text.put(f"return {item}")
    return Function("first", ["x"], text, {})


_FIRST = {
    "array": _item_text("x[0, ...]"),
    "scalar": _item_text("x[0]"),
    "object": _item_text("x[0]"),
    "python": _item_text("x[0].item()"),
}


class Form:
    """The text of a plan for many items."""

    def __init__(
        self, plan: Plan, sizes: dict[str, int], spread: Sequence[Node], count: int
    ) -> None:
        names, graph = Names(), plan.graph
        self.writer = writer = Batched(names, sizes, graph, spread, count)
        writer.run(graph.nodes)
        self.spread = [writer.has_axis(node) for node in graph.outputs]
        writer.text.put(f"return [{', '.join(map(writer.ref, graph.outputs))}]")
        params = [f"v{node.id}" for node in graph.inputs]
        self.text = Function("batched", params, writer.text, names.objects)


def attempt(
    call: Callable[..., Any],
    items: Sequence[Any],
    leaves: Sequence[tuple[Any, Any]],
    count: int,
    function: Any = None,
) -> tuple[Any, Batch | None] | None:
    """The function's result for the first item, and the batch, None if the others are not known;
    None where the function was not called at all.  `leaves`: numbers and arrays of the items, each
    with its column, None if it is the same for all; `function`: the program's, if the items lie in
    memory of the program's."""
    batch = Batch(count, function)
    for item, column in leaves:
        if column is None:
            batch.known[id(item)] = (item, None)
        else:
            batch.put(item, column)
    _tape.tapes().append(batch)
    try:
        out = call(*items)
    except GraphBreakError:
        return None
    finally:
        _tape.tapes().remove(batch)
    tell(batch)
    return out, None if batch.broken else batch


def joined(batch: Batch, value: Any, axis: int) -> Any:
    """A leaf of the result, for all items along an axis."""
    column = batch.column(value)
    if column is None:
        column = np.broadcast_to(np.asarray(value), (batch.count, *np.shape(value)))
    if axis not in _MOVES:
        text = Text()
        text.put(f"return np.moveaxis(x, 0, {axis}).copy()")
        _MOVES[axis] = Function("joined", ["x"], text, {})
    stack = batch.around([column])
    return _tape._on(stack, _MOVES[axis], [column]) if stack else _MOVES[axis].plain(column)


_MOVES: dict[int, Function] = {}
