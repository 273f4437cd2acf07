"""A graph that is differentiated: the backend of `grad` and its kin.

`backend` gives the runtime a callable.  Called with the graph's inputs, it finds out which are active
on the running tape, computes the outputs by the forward text of that case, and puts the pullback on
the tape.
"""

from __future__ import annotations

import functools
import sys
import warnings
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from pycompile import _C, _eager, _told
from pycompile._errors import DerivativeError
from pycompile.derivatives import _lengths, _tape, _views
from pycompile.derivatives._activity import Activity, free_nodes, is_real_valued
from pycompile.derivatives._backward import Backward, is_long
from pycompile.derivatives._text import Function, Names, Node, Text, no_rule, where
from pycompile.derivatives._writer import Writer
from pycompile.derivatives.rules import NoRule


class Forward(Writer):
    """The graph's nodes in order.  `last` says where each array is read for the last time."""

    def __init__(
        self, names: Names, sizes: dict[str, int], graph: _C.Graph, kept: dict[int, Node]
    ) -> None:
        super().__init__(names, sizes, Text())
        self.last: dict[int, int] = {}
        self.now = 0
        self.inside = 0  # regions around what is written: when their values are read is not known
        held = {self.base(node) for node in (*graph.outputs, *kept.values())}
        for i, node in enumerate(graph.nodes):
            for arg in (*node.args, *_frees(node)):
                self.last[self.base(arg)] = i
        self.held = held

    def base(self, node: Node) -> int:
        while node.kind == "view":
            node = node.args[0]
        return node.id

    def run(self, nodes: Sequence[Node]) -> None:
        for i, node in enumerate(nodes):
            self.now = i
            self.write(node)

    def op_extern(self, node: Node) -> str | None:
        """What a value decides may be another than the graph takes for granted."""
        out = super().op_extern(node)
        if out is None or node.form != "array":
            return out
        return f"of_shape({out}, {self.shape(node)!r}, {where(node)!r})"

    def nodes(self, nodes: Sequence[Node]) -> None:
        self.inside += 1
        super().nodes(nodes)
        self.inside -= 1

    def is_fresh(self, node: Node) -> bool:
        if self.inside:
            return False
        fresh = node.kind in ("pointwise", "ufunc", "copy", "fill", "matmul", "scatter")
        fresh = fresh or (node.op == "result" and node.args[0].op == "loop")
        return (
            fresh
            and node.form == "array"
            and node.id not in self.held
            and self.last.get(node.id, -1) <= self.now
        )

    def may_overwrite(self, node: Node) -> bool:
        return self.is_fresh(node.args[0])


def _frees(node: Node) -> list[Node]:
    return free_nodes(node) if node.regions else []


def root(node: Node) -> Node:
    """The array of which the node is a version or a view."""
    while True:
        if node.op in ("scatter", "element_store", "commit") or node.kind == "view":
            node = node.args[0]
        elif node.op == "choose":
            node = node.args[2]
        elif node.op == "result" and node.args[0].op == "loop" and node.form == "array":
            node = node.args[0].args[3 + node.index]
        elif node.op == "result" and node.args[0].op == "cond" and node.form == "array":
            cond = node.args[0]
            inner = root(cond.regions[0].results[node.index])
            params = [param.id for param in cond.regions[0].params]
            if inner.id in params:
                inner = cond.args[1 + params.index(inner.id)]
            elif any(inner is each for each in cond.regions[0].nodes):
                return node
            node = inner
        else:
            return node


def written_input(node: Node) -> Node | None:
    """The input that an output is written to."""
    base = root(node)
    is_version = node.kind != "view" and node is not base
    return base if is_version and base.op == "input" and node.form == "array" else None


class Case:
    """One set of active inputs: the texts, for sizes that are numbers or lengths."""

    def __init__(
        self,
        graph: _C.Graph,
        active: tuple[bool, ...],
        sizes: dict[str, Any],
        names: Names | None = None,
    ) -> None:
        self.graph, self.sizes = graph, sizes
        self.open = [name for name, size in sizes.items() if not isinstance(size, int)]
        self.inputs = [node for node, is_it in zip(graph.inputs, active, strict=True) if is_it]
        self.activity = Activity(graph.nodes, self.inputs)
        self.names = names or Names()
        self.outputs = [i for i, node in enumerate(graph.outputs) if node in self.activity]
        self.kept: dict[int, Node] = {}
        self.kept = self.write_back(tuple(self.outputs)).kept
        self.backs: dict[tuple[int, ...], Function] = {}
        self.again: dict[tuple[int, ...], list[Node]] = {}  # what each of them computes again
        self.is_long = is_long(graph.nodes)
        forward = Forward(self.names, sizes, graph, self.kept)
        forward.run(graph.nodes)
        bases = [written_input(node) for node in graph.outputs]
        written = {base.id for base in bases if base is not None}
        outs = ", ".join(map(forward.ref, graph.outputs))
        kept = ", ".join(
            f"v{node.id}.copy(order='K')"
            if node.id in written and node.op == "input"
            else forward.ref(node)
            for node in self.kept.values()
        )
        forward.text.put(f"return [{outs}], ({kept}{',' if kept else ''})")
        params = [f"v{node.id}" for node in graph.inputs] + self.lengths
        self.forward = Function("forward", params, forward.text, self.names.objects, self.is_long)

    @property
    def lengths(self) -> list[str]:
        """What the texts call those that only the run tells."""
        return [f"size_{name}" for name in self.open]

    def laid_out(self, sizes: dict[str, int], node: Node, value: Any) -> Any:
        """An output in the layout that the graph promises."""
        if node.form != "array" or node.kind == "view" or not isinstance(value, np.ndarray):
            return value
        writer = Writer(self.names, sizes, Text())
        shape, strides = writer.shape(node), writer.strides(node)
        if value.shape != shape or all(
            n == 1 or a == b for n, a, b in zip(shape, value.strides, strides, strict=True)
        ):
            return value
        fresh = _eager._empty(value.dtype, shape, strides)
        fresh[...] = value
        _tape.alias(value, fresh)
        return fresh

    def write_back(self, mask: tuple[int, ...]) -> Backward:
        back = Backward(self.names, self.sizes, self.activity, self.kept)
        if mask and self.inputs:
            outputs: dict[int, str] = {}
            for i in mask:
                node = self.graph.outputs[i]
                if node.id in outputs:
                    outputs[node.id] += f" + ct{i}"
                else:
                    outputs[node.id] = f"ct{i}"
            outputs = {
                key: text if "+" not in text else f"({text})" for key, text in outputs.items()
            }
            back.run(self.graph.nodes, outputs)
        return back

    def backward(self, mask: tuple[int, ...]) -> Function:
        """The pullback of cotangents of these outputs."""
        if mask not in self.backs:
            back = self.write_back(mask)
            results = ", ".join(back.ct.get(node.id, "None") for node in self.inputs)
            back.text.put(f"return ({results}{',' if self.inputs else ''})")
            names = (Writer.ref(back, node) for node in self.kept.values())
            params = [*names, *self.lengths, *(f"ct{i}" for i in mask)]
            self.backs[mask] = Function(
                "backward", params, back.text, self.names.objects, self.is_long
            )
            self.again[mask] = back.recomputed
        return self.backs[mask]


# As often another plan is asked for in one run because of values at one path.
MOST_ASKED = 100


class Plan:
    """What the runtime calls."""

    def __init__(self, graph: _C.Graph) -> None:
        self.graph = graph
        self.cases: dict[
            Any, Any
        ] = {}  # by active inputs; by sizes, too, where these have to be numbers
        self.batches: dict[Any, Any] = {}  # for many items: _batch.py
        self.symbols = _lengths.named(graph.text, graph.symbols)
        self.unseen_writes = 0  # the runtime tells these five: see compile_backend.c
        self.effects = 0
        self.fixed_values: list[tuple[Any, int, int]] = []
        self.constants: list[Any] = []
        self.stored: tuple[int, int] | None = None
        self.own_errors = own_errors(graph.nodes)
        # Does code that no graph follows run behind it?  None: not known yet.
        self.followed: bool | None = None

    def sizes(self, inputs: Sequence[Any]) -> dict[str, int]:
        values = {node.id: value for node, value in zip(self.graph.inputs, inputs, strict=True)}
        out = {}
        for name in self.symbols:
            node, axis = map(int, name[1:].split("_"))
            value = values[node]  # which may be the length
            lengths = getattr(value, "shape" if name[0] == "d" else "strides", (value,))
            out[name] = int(lengths[axis])
        return out

    def __call__(self, *inputs: Any) -> list[Any]:
        tape = _tape.running()
        if tape.is_batch:
            return tape.run(self, inputs)  # type: ignore[attr-defined,no-any-return]
        if tape.error is not None:
            raise FloatingPointError  # the rest of the call runs without plans, and then fails
        try:
            return self.run(tape, inputs)
        except FloatingPointError:
            raise
        except ArithmeticError as error:  # what the graph asserts is not so
            place = self.place()
            tape.error = DerivativeError(
                f"the graph around {place} does not hold for these values: an index in a loop that is "
                "negative in some of its turns, say"
            )
            raise FloatingPointError from error
        except Exception as error:
            tape.error = error
            raise FloatingPointError from error

    def place(self) -> str:
        """About where it is in the program."""
        nodes = self.graph.nodes or self.graph.inputs
        return where(nodes[-1]) if nodes else "the call"

    def run(self, tape: _tape.Tape, inputs: Sequence[Any]) -> list[Any]:
        slots = [
            tape.slot(value, node) if is_real_valued(node) else None
            for node, value in zip(self.graph.inputs, inputs, strict=True)
        ]
        active = tuple(slot is not None for slot in slots)
        if self.fixed_values:
            place = self.place()
            fixed = [
                each
                for each in self.fixed_values
                if isinstance(each[0], str) or _tape.is_number(each[0])
            ]
            given = [(x, None if i < 0 else inputs[i]) for x, i, _ in fixed]
            tape.require_followed([x for x, _ in given], place)
            for each in _tape.tapes():
                if not tape.is_text:
                    self.require_constants(tape, each, given, [path for _, _, path in fixed], place)
        for constant in self.constants:
            tape.know_constant(constant)
        if self.unseen_writes and any(active):
            raise DerivativeError(
                "an array from before the graph is written at rows that an index array gives, or under a "
                f"condition, in the code around {self.place()}: let the function write into a copy of it"
            )
        sizes = self.sizes(inputs)
        texts = len(self.cases)
        case = self.case(active, sizes)
        tape.has_new_text = tape.has_new_text or len(self.cases) > texts
        lengths = [sizes[name] for name in case.open]
        outputs, kept = self.forward(tape, case, [*inputs, *lengths])
        outputs = [
            case.laid_out(sizes, node, out)
            for node, out in zip(self.graph.outputs, outputs, strict=True)
        ]
        if self.followed is not False:
            kept = owned(kept, [x for x in inputs if id(x) not in tape.known])
        _told.forward(case, kept)
        self.record(tape, case, sizes, inputs, slots, outputs, (*kept, *lengths))
        tape.plans.append(self)
        if self.followed is not False:
            tape.watch([*inputs, *outputs], [inputs[i] for _, _, i in self.writes])
            tape.prints.update(self.after)
            self.note_store(tape, inputs, outputs)
        return list(outputs)

    def require_constants(
        self,
        tape: _tape.Tape,
        other: _tape.Tape,
        given: Sequence[tuple[Any, Any]],
        all_paths: Sequence[int],
        place: str,
    ) -> None:
        """Else another plan is asked for, which does not take the values for granted."""
        try:
            other.require_constants(given, place)
        except DerivativeError:
            paths = []
            for pair, path in zip(given, all_paths, strict=True):
                try:
                    other.require_constants([pair], place)
                except DerivativeError:
                    paths.append(path)
                    tape.asked[path] = tape.asked.get(path, 0) + 1
            if any(isinstance(x, str) for x, _ in given) or max(tape.asked.values()) > MOST_ASKED:
                raise
            _C.values_vary(tuple(paths))
            raise FloatingPointError from None

    def forward(self, tape: _tape.Tape, case: Case, inputs: Sequence[Any]) -> Any:
        """What the program may handle is raised by CPython, where smaller plans lead to."""
        try:
            return tape.call(case.forward, inputs, True, self.own_errors)
        except (DerivativeError, FloatingPointError):
            raise
        except Exception as error:
            node = case.forward.node_of(error)
            if node is None or type(error) is ArithmeticError:  # what the graph asserts is not so
                raise
            _C.raised_at((node.file, node.line))
            raise FloatingPointError from error

    def case(self, active: tuple[bool, ...], sizes: dict[str, int]) -> Case:
        """For all sizes where there is such a text, or else for these."""
        if active not in self.cases:
            try:
                self.cases[active] = Case(self.graph, active, _lengths.symbols(self.symbols))
            except (DerivativeError, NoRule):
                self.cases[active] = None
        key = (active, tuple(sizes.values()))
        if self.cases[active] is None and key not in self.cases:
            self.cases[key] = Case(self.graph, active, sizes)
        case: Case = self.cases[active] or self.cases[key]
        return case

    def note_store(self, tape: _tape.Tape, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Behind the plan comes container[key] = value: what was there may have been the same numbers."""
        if self.stored is None or self.stored[1] == -1:
            return
        value, container = (
            None if i == -1 else outputs[i] if i >= 0 else inputs[-2 - i] for i in self.stored
        )
        is_part = isinstance(value, np.ndarray) and np.may_share_memory(value, container)
        if isinstance(container, np.ndarray) and not is_part:  # as x[i:j] += y stores x's own part
            tape.note_written(container)

    def record(
        self,
        tape: _tape.Tape,
        case: Case,
        sizes: dict[str, int],
        inputs: Sequence[Any],
        slots: Sequence[int | None],
        outputs: Sequence[Any],
        kept: Sequence[Any],
    ) -> None:
        ins = [slot for slot in slots if slot is not None]
        by_id = {node.id: i for i, node in enumerate(self.graph.inputs)}
        self.after: dict[int, int] = {}  # what will be in arrays that this run writes
        self.contents: dict[int, Any] = {}
        outs: list[int | None] = []
        writes: list[tuple[int, Node, int]] = []
        for i, (node, value) in enumerate(zip(self.graph.outputs, outputs, strict=True)):
            base = written_input(node)
            if base is not None:
                outs.append(tape.new_slot())
                writes.append((i, node, by_id[base.id]))
            elif node.op == "input" or (node.kind == "view" and root(node).op == "input"):
                outs.append(None)  # found by its memory, after the writes
            elif i in case.outputs:
                outs.append(tape.know(value))
            else:
                outs.append(None)
                tape.know_constant(value)
        mine = [i for i in case.outputs if outs[i] is not None]
        if mine:
            tape.entries.append(
                _tape.Entry(
                    ins, [outs[i] for i in mine], functools.partial(_pull, case, mine), kept
                )
            )
        self.writes = writes
        for i, node, storage in writes:
            target = inputs[storage]
            view = None
            if node.op == "commit":
                writer = Writer(case.names, sizes, Text())
                base = self.graph.inputs[storage]
                view = _views.find(writer.place(base), writer.written_place(node))
            tape.write(target, outs[i] if i in case.outputs else None, view)
            if self.followed is not False:
                self.note(target, outputs[i], view)
        for node, value in zip(self.graph.outputs, outputs, strict=True):
            base = root(node) if node.kind == "view" else node
            if base is not node and base.op == "input":
                tape.know_view_of_constant(inputs[by_id[base.id]], value)

    def note(self, target: Any, value: Any, view: _views.View | None) -> None:
        """What will be in an array when the runtime has written into it."""
        content = np.array(target)
        if id(target) in self.contents:
            content = self.contents[id(target)]
        if view is None:
            content[...] = value
        else:
            view.apply(content)[...] = value
        self.contents[id(target)] = content
        self.after[id(target)] = zlib.crc32(np.ascontiguousarray(content))


def owned(kept: Sequence[Any], inputs: Sequence[Any]) -> tuple[Any, ...]:
    """What is kept, with copies of inputs that the tape does not look at (arrays of ints, constants), since
    code that no graph follows may write them before the pullback."""
    arrays = [x for x in inputs if isinstance(x, np.ndarray) and _tape.is_writeable(x)]
    return tuple(
        _tape.copied(x)
        if isinstance(x, np.ndarray) and any(np.may_share_memory(x, each) for each in arrays)
        else x
        for x in kept
    )


def _pull(case: Case, mine: Sequence[int], tape: _tape.Tape, kept: Any, cts: Sequence[Any]) -> Any:
    mask = tuple(i for i, ct in zip(mine, cts, strict=True) if ct is not None)
    given = [ct for ct in cts if ct is not None]
    back = case.backward(mask)
    _told.backward(case, back, case.again[mask])
    try:
        return tape.call(back, [*kept, *given], False)
    except NoRule as error:
        node = back.node_of(error)
        if node is None:
            raise DerivativeError(f"no derivative of {error}") from None
        raise no_rule(node, str(error)) from None


def backend(graph: _C.Graph, example_inputs: Sequence[Any]) -> Any:
    return Plan(graph)


def is_open(number: Any) -> bool:
    """Does it depend on what is differentiated, so that no plan may take its value for granted?"""
    return any(tape.find(number)[1] is not None for tape in _tape.tapes())


backend.takes_lengths = True  # type: ignore[attr-defined]
backend.notes_draws = True  # type: ignore[attr-defined]
backend.takes_errors = True  # type: ignore[attr-defined]
backend.is_open = is_open  # type: ignore[attr-defined]


_EVENTS = {"divide by zero": 1, "overflow": 2, "underflow": 4, "invalid value": 8}
_KINDS = {"divide": 1, "over": 2, "under": 4, "invalid": 8}


def own_errors(nodes: Sequence[Node]) -> int:
    """The events that the function itself, by np.errstate, does not ignore."""
    out = 0
    for node in nodes:
        out |= node.errors >> 4 & node.errors
        for region in node.regions:
            out |= own_errors(region.nodes)
    return out


def with_warnings(function: Function, inputs: Sequence[Any], tape: _tape.Tape, own: int = 0) -> Any:
    """Runs a forward text in which NumPy would warn, and collects the warnings that it would give,
    at the program's lines.  What happens where the function itself has set that it is told (`own`) is
    CPython's."""
    said: list[tuple[str, Any]] = []
    state: dict[str, Any] = {**np.geterr()}
    told = sum(_KINDS[name] for name in state if state[name] != "ignore")
    is_left = (
        any(mode not in ("ignore", "warn") for mode in state.values()) or tape.are_filters_changed()
    )
    if is_left:
        raise FloatingPointError

    def note(kind: str, flag: int) -> None:
        nonlocal is_left
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code is not function.plain.__code__:
            frame = frame.f_back
        place = function.places.get(frame.f_lineno) if frame is not None else None
        errors = place.errors if place is not None else 0
        if errors >> 4 & _EVENTS[kind]:
            is_left = is_left or bool(errors & _EVENTS[kind])
        elif told & _EVENTS[kind]:
            said.append((kind, place))

    calls: dict[str, Any] = {name: "call" for name, event in _KINDS.items() if (told | own) & event}
    with warnings.catch_warnings(record=True) as others, np.errstate(call=note, **calls):
        warnings.simplefilter("always")
        out = function.plain(*inputs)
    if is_left:
        raise FloatingPointError
    tape.warnings += said
    tape.warnings += [(each.message, function.places.get(each.lineno)) for each in others]
    return out


def tell(tape: _tape.Tape) -> None:
    """Gives the warnings of the forward pass."""
    said, tape.warnings = tape.warnings, []
    for kind, node in said:
        if isinstance(kind, Warning):
            file, line = (node.file, node.line) if node is not None else ("derivative", 0)
            warnings.warn_explicit(kind, None, file, line)
            continue
        name = "a function"
        if node is not None:
            name = getattr(node.object, "__name__", None) or _C.op_ufuncs().get(node.op) or node.op
            name = {"sum": "reduce", "prod": "reduce"}.get(node.op, name)
        text = f"{kind} encountered in {name}"
        if node is None:
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        else:
            warnings.warn_explicit(text, RuntimeWarning, node.file, node.line)
