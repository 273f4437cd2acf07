"""Derivatives in a function that is compiled: what is followed in place of `grad` and its kin, so that
forward pass, pullback and what comes after them are one graph.

The function runs on leaves of its own: values of the graph that it cannot reach another way.  See
_in_graph.py.  Where a graph does not have it all, the call is no part of one, and a tape (_tape.py) does it.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycompile import _told, derivatives
from pycompile._C import DisabledFunction, Graph
from pycompile._errors import DerivativeError
from pycompile.derivatives import _jacobians, _lengths, _pieces, _trees
from pycompile.derivatives._activity import Activity
from pycompile.derivatives._backward import Backward
from pycompile.derivatives._batched import Batched, NotBatched
from pycompile.derivatives._in_graph import gradient, on_leaves, one_of, pullback, refused
from pycompile.derivatives._text import Function, Names, Node
from pycompile.derivatives._writer import Writer, dtype_text
from pycompile.derivatives.rules import NoRule


def derivative(kind: str, f: Callable[..., Any], rest: tuple[Any, ...]) -> Callable[..., Any]:
    """What is followed in place of pycompile's function `kind` of these arguments."""

    def made(*args: Any, **kwargs: Any) -> Any:
        return by_tape(kind, f, rest, args, kwargs)

    return made


def left(f: Any, kind: str, rest: tuple[Any, ...]) -> Any:
    """What a function that `derivative` made stands for, of its cells, where it leaves the graph."""
    return getattr(derivatives, kind)(f, *rest)


def value_and_grad(f: Any, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Any:
    return derivative("value_and_grad", f, (argnums, has_aux))


def grad(f: Any, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Any:
    return derivative("grad", f, (argnums, has_aux))


def jacrev(f: Any, argnums: int | Sequence[int] = 0) -> Any:
    return derivative("jacrev", f, (argnums,))


def jacfwd(f: Any, argnums: int | Sequence[int] = 0) -> Any:
    return derivative("jacfwd", f, (argnums,))


def hessian(f: Any, argnums: int | Sequence[int] = 0) -> Any:
    return derivative("jacfwd", derivative("jacrev", f, (argnums,)), (argnums,))


def vmap(f: Any, in_axes: Any = 0, out_axes: Any = 0) -> Any:
    return derivative("vmap", f, (in_axes, out_axes))


def jvp(f: Any, primals: Any, tangents: Any) -> Any:
    return by_tape("jvp", f, (), (primals, tangents), {})


def followed(kind: str, f: Any, rest: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
    if kind == "value_and_grad":
        return with_gradient(f, rest[0], rest[1], args, kwargs)
    if kind == "grad":
        value, gradient = with_gradient(f, rest[0], rest[1], args, kwargs)
        return (gradient, value[1]) if rest[1] else gradient
    if kind == "jacrev":
        return _jacobians.by_rows(f, rest[0], args, kwargs)
    if kind == "jacfwd":
        return _jacobians.by_columns(f, rest[0], args, kwargs)
    if kind == "jvp":
        return _jacobians.in_direction(f, args[0], args[1])
    return _jacobians.of_items(f, rest[0], rest[1], args)


def _by_tape(kind: str, f: Any, rest: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
    if kind == "jvp":
        return derivatives.jvp(f, *args)
    return getattr(derivatives, kind)(f, *rest)(*args, **kwargs)


by_tape = DisabledFunction(_by_tape, followed)


def with_gradient(f: Any, argnums: Any, has_aux: bool, given: Any, kwargs: Any) -> Any:
    """Value and gradient, as those of a tape."""
    since, trees, leaves, out = on_leaves(f, argnums, given, kwargs)
    value = out
    if has_aux:
        if not isinstance(out, tuple) or len(out) != 2:
            refused("the function returns no pair")
        value = out[0]
    with np.errstate(all="ignore"):
        cts = iter(pullback(since, leaves, [value], [one_of(value)]))
        gradients = []
        for tree in trees:
            found = [gradient(next(cts), was) for _, was in _trees.leaves(tree)]
            gradients.append(_trees.with_leaves(tree, found))
    return out, gradients[0] if isinstance(argnums, int) else tuple(gradients)


class _Whole(Backward):
    """The pullback in a graph that has the nodes of the forward pass, those of numbers below `most`."""

    most: int

    def is_cheap(self, node: Node) -> bool:
        return node.id >= self.most

    def typed(self, expr: str, to: Node, of: Node | None = None) -> str:
        """On a device numbers of Python's leave an array's dtype what it is, and casts to it are copies."""
        if is_on_device(to) and (of is None or of.dtype == to.dtype):
            return expr
        return super().typed(expr, to, of)


def is_on_device(node: Node) -> bool:
    return "@" in node.type


def _on_device(back: Backward, node: Node) -> str:
    """The gradient with respect to an array on a device, which is nobody else's."""
    return f"+{back.ct[node.id]}" if node.id in back.ct else back.zero(node)


def filled(shape: Any, value: Any, dtype: Any) -> Any:
    """An array on a device."""


def zeros(shape: Any, dtype: Any = np.float64) -> Any:
    return filled(shape, 0.0, dtype)


def _in_place_of_numpy() -> types.ModuleType:
    import cupy

    def array(thing: Any, *args: Any) -> Any:
        is_copied = _trees.is_on_device(thing) and not args
        return +thing if is_copied else cupy.array(thing, *args)

    out = types.ModuleType("cupy")
    out.__dict__.update(vars(cupy) | {"zeros": zeros, "full": filled, "array": array})
    return out


def of_device(names: dict[str, Any]) -> dict[str, Any]:
    """The names that a text refers to, with CuPy in NumPy's place; so, too, in functions of its own."""
    library = _in_place_of_numpy()
    scopes: dict[int, dict[str, Any]] = {}

    def moved(thing: Any) -> Any:
        if thing is np:
            return library
        if not isinstance(thing, types.FunctionType) or not thing.__module__.startswith(OWN):
            return thing
        scope = thing.__globals__
        if id(scope) not in scopes:
            scopes[id(scope)] = own = dict(scope)
            own.update({name: moved(x) for name, x in scope.items()})
        return types.FunctionType(
            thing.__code__, scopes[id(scope)], thing.__name__, thing.__defaults__, thing.__closure__
        )

    return {name: moved(thing) for name, thing in names.items()}


OWN = ("pycompile.derivatives._pieces", "pycompile.derivatives.rules")


class _Written(threading.local):
    """How many pullbacks were written for graphs that this thread captured."""

    texts = 0


written = _Written()


def text(graph: Graph, leaves: Sequence[int], most: int, how: None = None) -> Any:
    """The pullback from the graph's outputs to the leaves, as a function, the nodes that it takes, and the
    symbols of sizes, before the cotangents; a text tells why there is none."""
    written.texts += 1
    inputs = {node.id: node for node in graph.inputs}
    given = [inputs[number] for number in leaves]
    if any("@cuda:" in node.type for node in graph.nodes):
        return "arrays of several devices"
    names = Names()
    try:
        activity = Activity(graph.nodes, given)
    except DerivativeError as error:
        return str(error)
    back = _Whole(names, _lengths.symbols(_lengths.named(graph.text, graph.symbols)), activity, {})
    back.most = most
    ones: dict[int, str] = {}
    for i, out in enumerate(graph.outputs):
        if out in activity:
            ones[out.id] = f"({ones[out.id]} + one{i})" if out.id in ones else f"one{i}"
    try:
        back.run(graph.nodes, ones)
    except (DerivativeError, NoRule) as error:
        return str(error)
    results = [
        _on_device(back, node) if is_on_device(node) else back.ct.get(node.id, "None")
        for node in given
    ]
    back.text.put(f"return [{', '.join(results)}]")
    sizes = _lengths.named("".join(back.text.lines), back.sizes, "size_")
    params = [Writer.ref(back, node) for node in back.kept.values()]
    params += [*(f"size_{name}" for name in sizes), *(f"one{i}" for i in range(len(graph.outputs)))]
    objects = names.objects
    if any(map(is_on_device, graph.nodes)):
        objects = of_device(objects | {"np": np} | vars(_pieces))
        for i, out in enumerate(graph.outputs):
            if is_on_device(out):
                line = f"    one{i} = np.full((), one{i}, {dtype_text(out.dtype)})\n"
                back.text.lines.insert(0, line)
                back.text.places.insert(0, None)
    function = Function("backward", params, back.text, objects)
    kept = [
        (node, [_lengths.seen(size, graph.symbols) for size in node.shape])
        for node in back.kept.values()
        if node.dtype != "object"
    ]
    _told.followed(graph, kept, function.source)
    return function.plain, tuple(back.kept), tuple(sizes)


class _Items(Batched):
    """The text for many items in a graph that has the nodes for one, of numbers below `most`: what is the
    same for all is taken from there."""

    most: int

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.taken: dict[int, Node] = {}

    def write(self, node: Node) -> None:
        if node.op == "input":
            return
        is_there = node.id < self.most and not self.inside and not node.regions
        if (
            is_there
            and node.op not in ("const", "result")
            and not any(map(self.has_axis, node.args))
        ):
            self.taken[node.id] = node
        else:
            super().write(node)

    def is_fresh(self, node: Node) -> bool:
        return node.id not in self.taken and super().is_fresh(node)


def text_for_items(graph: Graph, leaves: Sequence[int], most: int, how: tuple[int, bool]) -> Any:
    """What the graph's outputs are for many items: a function of what it takes of the graph for one, and of
    what is in the leaves' place.  `how`: how many items, and whether NumPy's warnings matter, which
    are given item by item: only where they are raised."""
    written.texts += 1
    count, is_warned = how
    if is_warned and not raising.is_on:
        return "vmap in a compiled function"
    if _lengths.named(graph.text, graph.symbols):
        return "a batch of lengths that vary"
    inputs = {node.id: node for node in graph.inputs}
    given = [inputs[number] for number in leaves]
    names = Names()
    items = _Items(names, {}, graph, given, count)
    items.most = most
    items.taken = {number: node for number, node in inputs.items() if number not in leaves}
    try:
        items.run(graph.nodes)
    except (DerivativeError, NoRule, NotBatched) as error:
        return f"no text for many items: {error}"
    results = []
    for node in graph.outputs:
        if node.form != "array" and np.dtype(node.dtype).kind in (
            "biu" if node.form == "python" else "b"
        ):
            return "a number of Python's that differs from item to item"
        results.append(items.full(node))
    items.text.put(f"return [{', '.join(results)}]")
    lines = "".join(items.text.lines)
    taken = _lengths.named(lines, {items.ref(node): node for node in items.taken.values()})
    params = [*taken, *(items.ref(node) for node in given)]
    function = Function("batched", params, items.text, names.objects)
    return function.plain, tuple(node.id for node in taken.values()), ()


class _Raising(threading.local):
    """Does what this thread captures run with NumPy's warnings raised?"""

    is_on = False


raising = _Raising()
