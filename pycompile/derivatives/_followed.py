"""Gradients in a function that is compiled: what is followed in place of `grad` and `value_and_grad`,
so that forward pass, pullback and what comes after them are one graph.

The function runs on leaves of its own: values of the graph that it cannot reach another way. `mark`,
`leaf`, `returned`, `pullback` and `refused` are csrc/capture/control/derivative.c's. Where a graph does not
have it all, the call is no part of one, and a tape (_tape.py) does it.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pycompile import _told, derivatives
from pycompile._C import DisabledFunction, Graph
from pycompile._errors import DerivativeError
from pycompile.derivatives import _lengths, _pieces, _trees
from pycompile.derivatives._activity import Activity
from pycompile.derivatives._backward import Backward
from pycompile.derivatives._text import Function, Names, Node
from pycompile.derivatives._writer import Writer, dtype_text
from pycompile.derivatives.rules import NoRule


def mark(leaves: list[Any]) -> Any:
    """Where the program is now."""


def returned(since: Any, leaves: list[Any]) -> Any:
    """The function has returned: the graph ends where it did what a tape has to look at."""


def leaf(value: Any) -> Any:
    """The array or number as a value of its own."""


def pullback(since: Any, leaves: list[Any], out: Any, one: Any) -> Any:
    """The cotangents of the leaves, None for 0, when that of `out` is `one`."""


def refused(why: str) -> Any:
    """No graph has the gradient."""


def derivative(
    f: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, has_value: bool
) -> Callable[..., Any]:
    """What is followed in place of what an Asked (_whole.py) of these gives."""

    def made(*args: Any, **kwargs: Any) -> Any:
        value, gradient = by_tape(f, argnums, has_aux, args, kwargs)
        if has_value:
            return value, gradient
        return (gradient, value[1]) if has_aux else gradient

    return made


def left(argnums: Any, f: Any, has_aux: bool, has_value: bool) -> Any:
    """What a function that `derivative` made stands for, of its cells, where it leaves the graph."""
    return (derivatives.value_and_grad if has_value else derivatives.grad)(f, argnums, has_aux)


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    return derivative(f, argnums, has_aux, True)


def grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    return derivative(f, argnums, has_aux, False)


def both(f: Any, argnums: Any, has_aux: bool, given: Any, kwargs: Any) -> Any:
    """Value and gradient, as those of a tape."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    args = list(given)
    trees, copies, leaves = [], [], []
    for number in numbers:
        if not -len(args) <= number < len(args):
            refused("argnums names an argument that is not there")
        own = [leaf(value) for _, value in _trees.leaves(args[number])]
        trees.append(args[number])
        args[number] = _trees.with_leaves(args[number], own)
        copies.append(args[number])
        leaves += own
    since = mark(leaves)
    out = f(*args, **kwargs)
    returned(since, leaves)
    mine = iter(leaves)
    for tree, copy in zip(trees, copies, strict=True):
        if not is_same(tree, copy, mine):
            refused("the function changes a container of its arguments")
    value = out
    if has_aux:
        if not isinstance(out, tuple) or len(out) != 2:
            refused("the function returns no pair")
        value = out[0]
    with np.errstate(all="ignore"):
        cts = iter(pullback(since, leaves, value, one_of(value)))
        gradients = []
        for tree in trees:
            found = [gradient(next(cts), was) for _, was in _trees.leaves(tree)]
            gradients.append(_trees.with_leaves(tree, found))
    return out, gradients[0] if isinstance(argnums, int) else tuple(gradients)


def _by_tape(f: Any, argnums: Any, has_aux: bool, given: Any, kwargs: Any) -> Any:
    return derivatives.value_and_grad(f, argnums, has_aux)(*given, **kwargs)


by_tape = DisabledFunction(_by_tape, both)


def is_same(tree: Any, copy: Any, leaves: Iterator[Any]) -> bool:
    """Is the copy of the container what it was made as?"""
    if tree is None:
        return copy is None
    if _trees.is_leaf(tree):
        return copy is next(leaves)
    if isinstance(tree, (list, tuple)):
        if len(tree) != len(copy):
            return False
        for i in range(len(tree)):  # followed for each of many: generators and zip are longer
            if not is_same(tree[i], copy[i], leaves):
                return False
        return True
    if isinstance(tree, dict):
        return list(tree) == list(copy) and all(is_same(tree[k], copy[k], leaves) for k in tree)
    was, now = vars(tree), vars(copy)
    return list(was) == list(now) and all(
        is_same(was[name], now[name], leaves)
        if _trees.holds_numbers(was[name])
        else was[name] is now[name]
        for name in was
    )


def one_of(value: Any) -> Any:
    """The cotangent 1 of the function's result."""
    if isinstance(value, float) and not isinstance(value, np.generic):
        return 1.0
    if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0 and value.dtype.kind == "f":
        return np.ones((), value.dtype) if isinstance(value, np.ndarray) else value.dtype.type(1)
    if _trees.is_on_device(value) and value.ndim == 0 and value.dtype.kind in "fV":  # V: bfloat16
        return 1.0  # the text makes it an array there
    return refused("the function returns no real number")


def gradient(ct: Any, was: Any) -> Any:
    """A cotangent as the gradient of what it is of."""
    if isinstance(was, np.ndarray):
        return np.zeros(was.shape, was.dtype) if ct is None else np.array(ct, was.dtype)
    if _trees.is_on_device(was):
        return ct if ct.dtype == was.dtype else ct.astype(was.dtype)
    if ct is None:
        return type(was)(0)
    if isinstance(was, np.generic):
        return ct[()]
    return type(was)(ct)


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


def text(graph: Graph, leaves: Sequence[int], most: int) -> Any:
    """The pullback from the graph's output to the leaves, as a function, the nodes that it takes, and the
    symbols of sizes, before the cotangent; a text tells why there is none."""
    written.texts += 1
    inputs = {node.id: node for node in graph.inputs}
    given = [inputs[number] for number in leaves]
    (out,) = graph.outputs
    if any("@cuda:" in node.type for node in graph.nodes):
        return "arrays of several devices"
    names = Names()
    try:
        activity = Activity(graph.nodes, given)
    except DerivativeError as error:
        return str(error)
    back = _Whole(names, _lengths.symbols(_lengths.named(graph.text, graph.symbols)), activity, {})
    back.most = most
    try:
        back.run(graph.nodes, {out.id: "one"} if out in activity else {})
    except (DerivativeError, NoRule) as error:
        return str(error)
    results = [
        _on_device(back, node) if is_on_device(node) else back.ct.get(node.id, "None")
        for node in given
    ]
    back.text.put(f"return [{', '.join(results)}]")
    sizes = _lengths.named("".join(back.text.lines), back.sizes, "size_")
    params = [Writer.ref(back, node) for node in back.kept.values()]
    params += [*(f"size_{name}" for name in sizes), "one"]
    objects = names.objects
    if any(map(is_on_device, graph.nodes)):
        objects = of_device(objects | {"np": np} | vars(_pieces))
        if is_on_device(out):
            back.text.lines.insert(0, f"    one = np.full((), one, {dtype_text(out.dtype)})\n")
            back.text.places.insert(0, None)
    function = Function("backward", params, back.text, objects)
    _told.followed(graph, list(back.kept.values()), function.source)
    return function.plain, tuple(back.kept), tuple(sizes)
