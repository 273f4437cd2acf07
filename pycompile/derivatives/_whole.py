"""A derivative as one function of NumPy text, for libraries (_export.py).

The function is captured, and nothing runs: values that stand for the graph's outputs tell by which of
them the result is made.  Forward and backward text of the graph follow one another in a function of
the same arguments.  Texts have lengths as numbers: for lengths with names they are written for several
choices of them, and a number that follows the lengths becomes an expression of them.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pycompile import _C, _eager
from pycompile._api import _compile, _settings
from pycompile._errors import DerivativeError
from pycompile._precompile import Array
from pycompile._shapes import Dim
from pycompile.derivatives import _pieces, _plan, _run, _trees
from pycompile.derivatives._text import Names, Node, Text
from pycompile.derivatives._writer import Writer, dtype_text

# Of lengths, in the order of their names.
CHOICES = ((5, 7, 3, 11), (101, 67, 83, 71), (4, 9, 25, 6))


class Asked(NamedTuple):
    """What a function of `grad` or `value_and_grad` gives."""

    function: Callable[..., Any]
    argnums: int | Sequence[int]
    has_aux: bool
    has_value: bool

    @property
    def is_single(self) -> bool:
        return isinstance(self.argnums, int)

    @property
    def numbers(self) -> tuple[int, ...]:
        return (self.argnums,) if isinstance(self.argnums, int) else tuple(self.argnums)


class Recording:
    """A graph's callable that computes nothing."""

    unseen_writes = effects = 0  # the runtime sets these three: see compile_backend.c
    fixed_values: Sequence[tuple[Any, int, int]] = ()

    def __init__(self, graph: _C.Graph) -> None:
        self.graph = graph
        self.inputs: Sequence[Any] = ()
        self.outputs: list[Any] = []

    def __call__(self, *inputs: Any) -> list[Any]:
        self.inputs = inputs
        writer = Writer(Names(), {}, Text())
        self.outputs = [_stand_in(writer, i, node) for i, node in enumerate(self.graph.outputs)]
        return self.outputs


def _stand_in(writer: Writer, number: int, node: Node) -> Any:
    """A value of the node's kind that is no other object."""
    if node.form == "array":
        return _eager._empty(node.dtype, writer.shape(node), writer.strides(node))
    made = np.array(number + 10**6).astype(node.dtype)
    return made[()] if node.form == "scalar" else made.item()


def whole(asked: Asked, args: tuple[Any, ...]) -> types.FunctionType:
    """The function of NumPy text.  Raises DerivativeError, GraphBreakError and DimensionError."""
    function = asked.function
    if not isinstance(function, types.FunctionType):
        raise DerivativeError(f"{function!r} is no function of Python")
    names, lengths = Names(), _lengths(function, args)
    chosen = [
        {
            dim.name: _fit(dim, number)
            for (dim, _), number in zip(lengths.values(), choice, strict=False)
        }
        for choice in CHOICES[: len(CHOICES) if lengths else 1]
    ]
    if len(lengths) > len(CHOICES[0]) or any(
        len({each[name] for each in chosen}) < len(chosen) for name in lengths
    ):
        raise DerivativeError(_DECIDES)
    texts = [_Whole(asked, function, args, each, names).lines(lengths) for each in chosen]
    if any(len(text) != len(texts[0]) for text in texts):
        raise DerivativeError(_DECIDES)
    named = [{f"length{i}": n for i, n in enumerate(each.values())} for each in chosen]
    lines = [_general([line for line, _ in each], named) for each in zip(*texts)]
    return _with_lines(lines, [node for _, node in texts[0]], function, names.objects)


def _lengths(function: Any, args: tuple[Any, ...]) -> dict[str, tuple[Dim, str]]:
    """The lengths that have names, each with an expression that is it."""
    found = {}
    for said, name in zip(args, inspect.signature(function).parameters):
        for axis, length in enumerate(said.shape if isinstance(said, Array) else ()):
            if not isinstance(length, int):
                dim = length if isinstance(length, Dim) else Dim(length)
                found[dim.name] = dim, f"{name}.shape[{axis}]"
    return found


def _fit(dim: Dim, number: int) -> int:
    """A length that the name may stand for."""
    length = -(-(dim.min - 1 + number) // dim.divisor) * dim.divisor
    return length if dim.max is None else min(length, dim.max // dim.divisor * dim.divisor)


class _Whole:
    """The text for lengths that are `chosen`, by name."""

    def __init__(
        self,
        asked: Asked,
        function: types.FunctionType,
        args: tuple[Any, ...],
        chosen: dict[str, int],
        names: Names,
    ) -> None:
        if any(said is int or said is bool for said in args):
            raise DerivativeError("a derivative is exported for an int's value: give it")
        self.asked, self.function, self.args, self.names = asked, function, args, names
        self.params = list(inspect.signature(function).parameters)[: len(args)]
        self.numbers = [number % len(args) for number in asked.numbers]
        self.floats = {  # no graph may take their values for granted
            i: ".item()" for i in self.numbers if args[i] is float or args[i] is complex
        }
        self.values = [_value(said, chosen) for said in args]
        for i in self.floats:
            self.values[i] = np.array(self.values[i])
        for i in self.numbers:
            _trees.check_leaf(self.values[i], "", f"argument {i}{{}} of {function.__name__}")
        self.record()

    def record(self) -> None:
        called = _run.of_arrays(self.function, len(self.args), self.floats)
        made: list[Recording] = []

        def backend(graph: _C.Graph, _: Any) -> Recording:
            made.append(Recording(graph))
            return made[-1]

        settings = _settings(backend, False, True, mode="wait", options=_run.OPTIONS)
        self.out = _compile(called, settings)(*self.values)
        if len(made) != 1:
            raise DerivativeError("it comes to no graph of arrays and numbers")
        self.recording = recording = made.pop()
        if recording.effects or recording.unseen_writes:
            raise DerivativeError("it writes an argument or changes an object: let it make a copy")
        if any(value is v for value, _, _ in recording.fixed_values for v in self.values):
            raise DerivativeError(
                "a number's value decides what is computed: give the value itself"
            )

    def value(self) -> int:
        """Which of the graph's outputs is differentiated."""
        value = self.out
        if self.asked.has_aux:
            if not isinstance(value, tuple) or len(value) != 2:
                raise DerivativeError("with has_aux=True it returns a pair")
            value = value[0]
        at = [i for i, each in enumerate(self.recording.outputs) if each is value]
        if not at or np.shape(value) != () or np.asarray(value).dtype.kind != "f":
            raise DerivativeError("a gradient is of a function that returns one real number")
        return at[0]

    def lines(self, lengths: dict[str, tuple[Dim, str]]) -> list[tuple[str, Node | None]]:
        """The text: its lines, each with the node that it is of."""
        recording, at = self.recording, self.value()
        wanted = {id(self.values[number]) for number in self.numbers}
        active = tuple(id(x) in wanted for x in recording.inputs)
        case = _plan.Case(recording.graph, active, {}, self.names)
        by_id = {id(value): name for value, name in zip(self.values, self.params)}
        given = [by_id.get(id(x)) or self.names.bind(x, "constant") for x in recording.inputs]
        texts = [case.forward]
        more = "".join(f", length{i}" for i in range(len(lengths)))
        body = [f"length{i} = {of}" for i, (_, of) in enumerate(lengths.values())]
        body += [f"{self.params[i]} = np.array({self.params[i]})" for i in self.floats]
        body.append(f"outs, kept = forward({', '.join(given)}{more})")
        cts: dict[int, str] = {}
        if at in case.outputs:
            back = case.write_back((at,))
            texts.append(case.backward((at,)))
            found = [x for x, is_it in zip(recording.inputs, active) if is_it]
            cts = {
                id(x): f"cts[{i}]"
                for i, (x, node) in enumerate(zip(found, case.inputs))
                if node.id in back.ct
            }
            one = dtype_text(recording.graph.outputs[at].dtype)
            body.append(f"cts = backward(*kept, {one}(1){more})")
        gradients = [self.gradient(i, cts.get(id(self.values[i]))) for i in self.numbers]
        gradient = gradients[0] if self.asked.is_single else f"({', '.join(gradients)},)"
        if self.asked.has_value:
            body.append(f"return {self.result(self.out, by_id)}, {gradient}")
        elif self.asked.has_aux:
            body.append(f"return {gradient}, {self.result(self.out[1], by_id)}")
        else:
            body.append(f"return {gradient}")
        lines: list[tuple[str, Node | None]] = []
        for text in texts:
            for number, line in enumerate(text.source.splitlines(), 1):
                line = line.split("  # ")[0].rstrip()
                lines.append(
                    (
                        line.replace("):", more + "):") if number == 1 else line,
                        text.places.get(number),
                    )
                )
        lines.append((f"def derivative({', '.join(self.params)}):", None))
        return lines + [("    " + line, None) for line in body]

    def gradient(self, number: int, ct: str | None) -> str:
        value, name = self.values[number], self.params[number]
        if number in self.floats:
            return f"{self.args[number].__name__}({ct or 0.0})"
        kind = dtype_text(value.dtype.name)
        if not isinstance(value, np.ndarray):
            return f"{kind}({ct or 0.0})"
        return f"np.array({ct}, {kind})" if ct is not None else f"np.zeros_like({name})"

    def result(self, tree: Any, by_id: dict[int, str]) -> str:
        """The text of what the function returns."""
        for i, each in enumerate(self.recording.outputs):
            if each is tree:
                return f"outs[{i}]"
        if id(tree) in by_id:
            return by_id[id(tree)]
        if type(tree) in (tuple, list):
            items = "".join(f"{self.result(x, by_id)}, " for x in tree)
            return f"({items})" if type(tree) is tuple else f"[{items}]"
        return self.names.literal(tree)


def _value(said: Any, chosen: dict[str, int]) -> Any:
    """An argument of the call that is captured."""
    if isinstance(said, Array):
        return said.make(dict(chosen))[...]  # another object: its lengths have no names
    if isinstance(said, type) and issubclass(said, (np.generic, float, complex)):
        return said(1.5)
    return said.copy("K") if isinstance(said, np.ndarray) else said


_DECIDES = "its derivative has no text for lengths with names: give the lengths"
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.0)?)(?![\w.])")


def _general(lines: Sequence[str], named: list[dict[str, int]]) -> str:
    """A line that is each of these for its lengths."""
    parts = [_NUMBER.split(line) for line in lines]
    if any(each[::2] != parts[0][::2] for each in parts):
        raise DerivativeError(_DECIDES)
    return "".join(
        texts[0] if len(set(texts)) == 1 else _expression(texts, named) for texts in zip(*parts)
    )


def _expression(texts: Sequence[str], named: list[dict[str, int]]) -> str:
    """An expression of the lengths for these numbers: a multiple of a product of some, and a number."""
    values = [int(text.removesuffix(".0")) for text in texts]
    kind = "float" if texts[0].endswith(".0") else ""
    names = list(named[0])
    products = [(a,) for a in names] + [(a, b) for i, a in enumerate(names) for b in names[i:]]
    for product in products:
        x = [math.prod(each[name] for name in product) for each in named]
        if x[0] == x[1] or (values[0] - values[1]) % (x[0] - x[1]):
            continue
        times = (values[0] - values[1]) // (x[0] - x[1])
        more = values[0] - times * x[0]
        if all(times * each + more == value for each, value in zip(x, values)):
            text = " * ".join((*product, str(times)) if times != 1 else product)
            return f"{kind}({text} + {more})" if more else f"{kind}({text})"
    raise DerivativeError(_DECIDES)


def _with_lines(
    lines: list[str], nodes: list[Node | None], of: types.FunctionType, names: dict[str, Any]
) -> types.FunctionType:
    """The text as code whose lines are those of the program."""
    code = of.__code__
    tree = ast.parse("\n".join(lines))
    for each in ast.walk(tree):
        if hasattr(each, "lineno"):
            node = nodes[each.lineno - 1]
            known = node is not None and node.file == code.co_filename and node.line
            line = node.line if known else code.co_firstlineno
            vars(each).update(lineno=line, end_lineno=line)
    namespace = {"np": np, "math": math, **vars(_pieces), **names, "__name__": of.__module__}
    exec(compile(tree, code.co_filename, "exec"), namespace)
    return namespace["derivative"]  # type: ignore[no-any-return]
