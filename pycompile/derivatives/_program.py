"""A graph as two functions of NumPy text: what it computes, and its pullback.

In comes a graph and which of its inputs are active, that is, depend on what is differentiated.  Out
come
- forward(inputs) -> (outputs, kept): the graph's nodes one by one, so that the outputs have the bits
  that the graph promises, and the values that the pullback reads;
- backward(kept, cotangents of the active outputs) -> cotangents of the active inputs: the adjoint of
  each node in reverse order, in terms of rules (_elementwise.py, rules).

Cheap values that follow from kept ones are computed again in the pullback (`Backward.ref`), so that
what is kept is mostly what was expensive.  A write is a new version of its array; where nobody reads
the old version any more, the text writes in place.  Loops: see _backward.py.
"""

from __future__ import annotations

import functools
import linecache
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pycompile import _C, _calls, _eager, _elision, _steps
from pycompile._errors import DerivativeError
from pycompile.derivatives import _pieces, _views, rules
from pycompile.derivatives._elementwise import DISCRETE

Node = _C.Node
UFUNCS = _C.op_ufuncs()

INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "true_divide": "/",
    "py_add": "+",
    "py_sub": "-",
    "py_mul": "*",
    "py_div": "/",
    "py_floordiv": "//",
    "py_mod": "%",
    "py_pow": "**",
    "py_lshift": "<<",
    "py_rshift": ">>",
    "py_eq": "==",
    "py_ne": "!=",
    "py_lt": "<",
    "py_le": "<=",
    "wrap_add": "+",
    "wrap_subtract": "-",
    "wrap_multiply": "*",
}
PREFIX = {"negative": "-", "py_neg": "-", "wrap_negative": "-"}
# Recomputed in the pullback rather than kept.
CHEAP = frozenset(
    "add subtract multiply negative positive square where maximum minimum absolute cast "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not "
    "py_add py_sub py_mul py_neg py_float py_item py_int py_bool py_lt py_le py_eq py_ne".split()
)
# What a chain of these may cost before its value is kept after all.
MOST_AGAIN = 12


def where(node: Node) -> str:
    return f"{node.file}:{node.line}"


def no_rule(node: Node, what: str) -> DerivativeError:
    return DerivativeError(
        f"no derivative of {what} ({where(node)}): write its rule with pycompile.custom_vjp, or keep "
        "the value out of the derivative with pycompile.stop_gradient"
    )


# ---- functions of text ----

_count = 0


class Function:
    """Lines of Python as a function, for tracebacks and warnings with the program's own lines."""

    def __init__(self, name: str, params: Sequence[str], text: Text, names: dict[str, Any]) -> None:
        global _count
        _count += 1
        self.source = f"def {name}({', '.join(params)}):\n" + "".join(text.lines)
        self.places = {i + 2: place for i, place in enumerate(text.places)}
        self.file = file = f"<derivative {_count}: {name}>"
        code = compile(self.source, file, "exec")
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(True), file)
        namespace = {"np": np, "math": math, **vars(_pieces), **names}
        exec(code, namespace)
        self.plain: Callable[..., Any] = namespace[name]
        self.derived: dict[
            Any, Any
        ] = {}  # compiled for derivatives of it, by active Python numbers

    def node_of(self, error: BaseException) -> Node | None:
        """The node at whose line the error came, or passed."""
        step = error.__traceback__
        while step is not None and step.tb_frame.f_code.co_filename != self.file:
            step = step.tb_next
        return self.places.get(step.tb_lineno) if step is not None else None

    @functools.cached_property
    def compiled(self) -> Callable[..., Any]:
        import pycompile

        return pycompile.compile(self.plain, mode="background")


class Text:
    """Indented lines, each with the node that it is of."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[Node | None] = []
        self.depth = 1

    def put(self, line: str, node: Node | None = None) -> None:
        note = f"  # {where(node)}" if node is not None and node.line else ""
        self.lines.append("    " * self.depth + line + note + "\n")
        self.places.append(node)


class Names:
    """Objects that texts refer to by name."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.by_id: dict[int, str] = {}

    def bind(self, thing: Any, hint: str = "object") -> str:
        if id(thing) not in self.by_id:
            hint = "".join(c if c.isalnum() else "_" for c in hint) or "object"
            self.by_id[id(thing)] = f"{hint}_{len(self.objects)}"
            self.objects[self.by_id[id(thing)]] = thing
        return self.by_id[id(thing)]

    def literal(self, value: Any) -> str:
        """A constant that is no array."""
        kind = type(value)
        if value is None or kind in (bool, int, str, bytes) or value is Ellipsis:
            return repr(value)
        if kind is float:
            if math.isfinite(value):
                return repr(value)
            return "math.nan" if value != value else ("math.inf" if value > 0 else "-math.inf")
        if kind is tuple:
            inner = ", ".join(map(self.literal, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if kind is list:
            return f"[{', '.join(map(self.literal, value))}]"
        if kind is slice:
            return f"slice({', '.join(map(self.literal, (value.start, value.stop, value.step)))})"
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            item = value.item()
            if isinstance(item, float) and math.isnan(item):
                return f"np.{value.dtype.name}(np.nan)"
            return f"np.{value.dtype.name if value.dtype.kind != 'b' else 'bool_'}({self.literal(item)})"
        return self.bind(value, getattr(value, "__name__", kind.__name__))


# ---- what an extern calls ----


class Called:
    """A call with templates, whose holes are nodes."""

    def __init__(self, function: Any, args: Any, kwargs: Any, nodes: Sequence[Node]) -> None:
        self.function, self.args, self.kwargs, self.nodes = function, args, kwargs, nodes
        self.changed: tuple[int, ...] = ()


def called(node: Node) -> Called:
    """What the node calls, the same for all ways in which plans call functions."""
    thing, nodes = node.object, node.args
    holes = [_calls.Hole(i) for i in range(len(nodes))]
    names = node.kwnames or ()
    split = len(holes) - len(names)
    args: Any = tuple(holes[:split])
    kwargs: Any = dict(zip(names, holes[split:], strict=True))
    changed: tuple[int, ...] = ()
    if thing is _steps.take:
        template = iter(holes[2:])
        key = tuple(next(template) if x is _steps.HOLE else x for x in nodes[0].object)
        return Called(operator.getitem, (holes[1], key[0] if len(key) == 1 else key), {}, nodes)
    if thing is _steps.put:
        template = iter(holes[3:])
        key = tuple(next(template) if x is _steps.HOLE else x for x in nodes[0].object)
        out = Called(
            operator.setitem, (holes[1], key[0] if len(key) == 1 else key, holes[2]), {}, nodes
        )
        out.changed = (1,)
        return out
    if thing is _C.array_select:
        return Called(operator.getitem, args, {}, nodes)
    if isinstance(thing, _calls.Call):
        args, kwargs, changed, thing = (
            thing.args,
            thing.kwargs,
            tuple(thing.changed),
            thing.function,
        )
    while True:
        if isinstance(thing, _calls.Keywords):
            kwargs, thing = {**thing.keywords, **kwargs}, thing.function
        elif type(thing) is functools.partial:
            args, kwargs, thing = (*thing.args, *args), {**thing.keywords, **kwargs}, thing.func
        else:
            break
    out = Called(thing, args, kwargs, nodes)
    out.changed = changed
    return out


def function_of(call: Called) -> Any:
    """What is called; of a method, NumPy's function that does the same, and of an operator that
    says where its result lies, the operator."""
    function = call.function
    if isinstance(function, _elision.Operator):
        return function.function
    if isinstance(function, _elision.Into):
        return function.ufunc
    if getattr(function, "__objclass__", None) in (np.ndarray, np.generic):
        return getattr(np, function.__name__, function)
    return function


def is_flat(node: Node) -> bool:
    """Is it a call of what has no derivative but zero, by definition?"""
    function = function_of(called(node))
    if isinstance(function, np.ufunc):
        return function.__name__ in DISCRETE
    return function in rules.ZERO_SET


def holes_in(template: Any) -> Iterable[int]:
    if type(template) is _calls.Hole:
        yield template.number
    elif type(template) in (tuple, list):
        for item in template:
            yield from holes_in(item)
    elif type(template) is dict:
        for item in template.values():
            yield from holes_in(item)
    elif type(template) is slice:
        yield from holes_in((template.start, template.stop, template.step))


def is_real_valued(node: Node) -> bool:
    return node.form != "object" and np.dtype(node.dtype).kind in "fc"


# ---- which nodes are active ----


class Activity:
    """Which nodes depend on active inputs by what has a derivative."""

    def __init__(self, nodes: Sequence[Node], inputs: Iterable[Node], frozen: Any = ()) -> None:
        self.ids = {node.id for node in inputs}
        self.walk(nodes)

    def __contains__(self, node: Node) -> bool:
        return node.id in self.ids

    def walk(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if self.is_active(node):
                self.ids.add(node.id)

    def is_active(self, node: Node) -> bool:
        if node.regions:
            return self.region(node)
        if node.op in ("input", "const") or node.op in DISCRETE:
            return False
        if node.op == "result":
            return (is_real_valued(node) or node.form == "object") and (
                (node.args[0].id, node.index) in self.results
                if node.args[0].regions
                else node.args[0].id in self.ids
            )
        if node.op == "extern" and is_flat(node):
            return False
        if node.form != "object" and not is_real_valued(node):
            return False
        args = node.args
        if node.op in ("choose",):
            args = args[1:]
        if node.op in ("element_load", "element_store"):
            args = (args[0], args[-1]) if node.op == "element_store" else args[:1]
        return any(arg.id in self.ids for arg in args)

    @functools.cached_property
    def results(self) -> set[tuple[int, int]]:
        """(region node, number of result) of those that are active."""
        return set()

    def region(self, node: Node) -> bool:
        if node.op == "cond":
            for region in node.regions:
                for param, arg in zip(region.params, node.args[1:], strict=False):
                    if arg.id in self.ids:
                        self.ids.add(param.id)
                self.walk(region.nodes)
                for i, result in enumerate(region.results):
                    if result.id in self.ids:
                        self.results.add((node.id, i))
        else:
            (body,) = node.regions
            carried = list(zip(body.params[1:], node.args[3:], strict=False))
            for param, arg in carried:
                if arg.id in self.ids and is_real_valued(param):
                    self.ids.add(param.id)
            while True:
                before = len(self.ids), len(self.results)
                self.walk(body.nodes)
                for i, result in enumerate(body.results):
                    if result.id in self.ids or (i < len(carried) and carried[i][0].id in self.ids):
                        self.results.add((node.id, i))
                        if i < len(carried) and is_real_valued(carried[i][0]):
                            self.ids.add(carried[i][0].id)
                if (len(self.ids), len(self.results)) == before:
                    break
        return any(number == node.id for number, _ in self.results)


# ---- the forward text ----


class Writer:
    """Writes nodes as statements.  `sizes` gives what a symbol in a size is."""

    def __init__(self, names: Names, sizes: dict[str, int], text: Text) -> None:
        self.names, self.sizes, self.text = names, sizes, text
        self.alias: dict[Any, str] = {}  # nodes, and results of regions, that go by another name
        self.nest = 0  # loops over elements around what is written
        self.stored: set[int] = set()  # versions of an array that a loop writes in place

    def size(self, size: int | str) -> int:
        return size if isinstance(size, int) else eval(size, {"__builtins__": {}}, self.sizes)

    def shape(self, node: Node) -> tuple[int, ...]:
        return tuple(map(self.size, node.shape))

    def strides(self, node: Node) -> tuple[int, ...]:
        return tuple(map(self.size, node.strides))

    def place(self, node: Node) -> _views.Place:
        shape, strides = self.shape(node), self.strides(node)
        return _views.Place(np.dtype(node.dtype), shape, strides, self.size(node.offset))

    def written_shape(self, node: Node) -> tuple[int, ...]:
        assert node.view is not None
        return tuple(map(self.size, node.view[0]))

    def written_place(self, node: Node) -> _views.Place:
        """The part of an array that a scatter or commit writes."""
        assert node.view is not None
        strides = tuple(map(self.size, node.view[1]))
        offset = self.size(node.view[2])
        return _views.Place(np.dtype(node.dtype), self.written_shape(node), strides, offset)

    def view(self, node: Node) -> _views.View:
        view = _views.find(self.place(node.args[0]), self.place(node))
        if view is None:
            raise no_rule(node, f"the view {node.text}")
        return view

    def places(self, node: Node) -> Any:
        """Of a view that no expression gives: which element of its array each of its elements is."""
        base, part = self.place(node.args[0]), self.place(node)
        if _views.find(base, part) is not None:
            return None
        places = _views.places(base, part)
        if places is None:
            raise no_rule(node, f"the view {node.text}")
        return places

    def const(self, node: Node) -> str:
        value = node.object
        if node.form == "object":
            return self.names.literal(value)
        if node.form == "python":
            return self.names.literal(np.dtype(node.dtype).type(value).item())
        if node.form == "scalar":
            value = np.asarray(value).astype(node.dtype)[()]
            return self.names.literal(value)
        array = np.asarray(value).astype(node.dtype, copy=False)
        return self.names.bind(array, "array")

    def ref(self, node: Node) -> str:
        if node.op == "const":
            text = self.const(node)
            return f"({text})" if text.startswith("-") else text
        if node.op == "result" and node.args[0].regions:
            key = (node.args[0].id, node.index)
            return self.alias.get(key, f"v{key[0]}_{key[1]}")
        return self.alias.get(node.id, f"v{node.id}")

    def operand(self, node: Node, among: Sequence[Node]) -> str:
        """An argument of an elementwise operation: constants as Python's where that is the same."""
        if (
            node.op == "const"
            and node.form == "scalar"
            and np.dtype(node.dtype).kind == "f"
            and any(
                arg.op != "const" and arg.form != "python" and arg.dtype == node.dtype
                for arg in among
            )
        ):
            text = self.names.literal(float(np.asarray(node.object).astype(node.dtype)[()]))
            return f"({text})" if text.startswith("-") else text
        if node.form == "python" and node.op != "const" and any(a.form != "python" for a in among):
            return f"np.{np.dtype(node.dtype).name if node.dtype != 'bool' else 'bool_'}({self.ref(node)})"
        return self.ref(node)

    def dtype(self, node: Node) -> str:
        return dtype_text(node.dtype)

    def write(self, node: Node) -> None:
        if node.op in ("input", "const"):
            return
        special = getattr(self, "op_" + node.op, None) or getattr(self, "kind_" + node.kind, None)
        if special is None:
            raise no_rule(node, node.op)
        out = special(node)
        if node.kind == "pointwise" and node.form == "python" and node.op != "cast":
            out = self.cast(node, out)
        if out is not None:
            self.text.put(f"v{node.id} = {out}", node)

    def kind_pointwise(self, node: Node) -> str:
        op, args = node.op, [self.operand(arg, node.args) for arg in node.args]
        if op == "cast":
            return self.cast(node, args[0])
        if op == "where":
            return f"np.where({', '.join(args)})" + ("[()]" if node.form == "scalar" else "")
        if op in ("real", "imag"):
            return f"np.array({args[0]}.{op})" if node.form == "array" else f"{args[0]}.{op}"
        if op == "clamp":
            return f"np.clip({', '.join(args)})"
        # Of Python's numbers alone the operator would give one of Python's.
        is_operator = node.form == "python" or any(arg.form != "python" for arg in node.args)
        if op in INFIX and is_operator:
            return f"{args[0]} {INFIX[op]} {args[1]}"
        if op in PREFIX and is_operator:
            return f"{PREFIX[op]}{args[0]}"
        return f"np.{UFUNCS[op]}({', '.join(args)})"

    def cast(self, node: Node, arg: str) -> str:
        if node.form == "array":
            return f"{arg}.astype({self.dtype(node)})"
        if node.form == "python":
            return f"{ {'b': 'bool', 'i': 'int', 'f': 'float', 'c': 'complex'}[np.dtype(node.dtype).kind] }({arg})"
        return f"{self.dtype(node)}({arg})"

    def kind_ufunc(self, node: Node) -> str:
        args = [self.operand(arg, node.args) for arg in node.args]
        if node.form == "scalar" and node.object is np.multiply:
            return f"{args[0]} * {args[1]}"
        return f"{self.function(node.object)}({', '.join(args)})"

    def function(self, thing: Any) -> str:
        """The name of a callable: NumPy's own where it is found there."""
        name = getattr(thing, "__name__", "function")
        for module, prefix in ((np, "np"), (np.linalg, "np.linalg"), (np.fft, "np.fft")):
            if isinstance(name, str) and vars(module).get(name) is thing:
                return f"{prefix}.{name}"
        return self.names.bind(thing, str(name))

    def kind_reduction(self, node: Node) -> str:
        x, axes = self.ref(node.args[0]), tuple(node.ints)
        keep = ", keepdims=True" if node.keepdims else ""
        if node.op in ("argmax", "argmin"):
            axis = axes[0] if len(axes) == 1 else None
            return f"np.{node.op}({x}, axis={axis}{keep})"
        as_ = ""
        if node.op in ("sum", "prod") and node.args[0].dtype != node.dtype:
            as_ = f", dtype={self.dtype(node)}"
        return f"np.{UFUNCS[node.op]}.reduce({x}, axis={axes!r}{as_}{keep})"

    def kind_scan(self, node: Node) -> str:
        x = self.ref(node.args[0])
        return f"np.{UFUNCS[node.op]}.accumulate({x}, axis={node.index}, dtype={self.dtype(node)})"

    def kind_view(self, node: Node) -> str:
        places = self.places(node)
        if places is not None and not places.size:
            return f"np.zeros({self.shape(node)!r}, {self.dtype(node)})"
        if places is not None:
            first = np.unravel_index(int(places.reshape(-1)[0]), self.shape(node.args[0]))
            start = ", ".join(f"{int(i)}:" for i in first)
            base = self.ref(node.args[0]) + (f"[{start}]" if any(first) else "")
            strided = f"np.lib.stride_tricks.as_strided({base}, {self.shape(node)!r}, "
            return f"{strided}{self.strides(node)!r})"
        return self.view(node).text(self.ref(node.args[0]))

    def op_copy(self, node: Node) -> str:
        x = self.ref(node.args[0])
        if node.form != "array":
            return f"{x}[()]" if node.args[0].form != "python" else self.cast(node, x)
        if node.args[0].form != "array":
            return f"np.array({x})"
        shape, strides = self.shape(node), self.strides(node)
        order = "C"
        if strides != packed(shape, node.dtype, "C"):
            order = "F" if strides == packed(shape, node.dtype, "F") else "K"
        return f"{x}.copy(order={order!r})"

    def op_concatenate(self, node: Node) -> str:
        parts = ", ".join(map(self.ref, node.args))
        return f"np.concatenate(({parts},), axis={node.index})"

    def may_overwrite(self, node: Node) -> bool:
        """May the text write into the array that is the node's first argument?"""
        return False

    def op_scatter(self, node: Node) -> None:
        old, value = node.args
        if 0 in self.written_shape(node):
            self.text.put(f"v{node.id} = {self.ref(old)}.copy(order='K')", node)
            return
        view = _views.find(self.place(node), self.written_place(node))
        if view is None or view.spread or view.part:
            raise no_rule(node, "a write to a part of an array that is no slice of it")
        x, v = self.ref(old), self.ref(value)
        if not node.shape:  # NumPy's operations make numbers of such arrays
            flat = ".reshape(())" if value.form == "array" and value.shape else ""
            self.text.put(f"v{node.id} = np.array({v}, {self.dtype(node)}){flat}", node)
            return
        whole = not view.index and view.axes == tuple(range(len(view.axes))) and not view.new
        alike = value.form == "array" and self.shape(value) == self.shape(node)
        if whole and alike and self.strides(value) == self.strides(node):
            if self.is_fresh(value):
                self.text.put(f"v{node.id} = {v}", node)
            else:
                self.text.put(f"v{node.id} = {v}.copy(order='K')", node)
            return
        if self.may_overwrite(node):
            self.text.put(f"v{node.id} = {x}", node)
        else:
            self.text.put(f"v{node.id} = {x}.copy(order='K')", node)
        self.text.put(f"{store_text(f'v{node.id}', view)} = {v}", node)

    def is_fresh(self, node: Node) -> bool:
        return False

    def op_commit(self, node: Node) -> str:
        shape = self.written_shape(node)
        value = node.args[1]
        text = self.ref(value)
        if value.form != "array" or self.shape(value) != shape:
            return f"np.full({shape!r}, {text}, {self.dtype(node)})"
        return f"{text}.astype({self.dtype(node)})"

    def op_choose(self, node: Node) -> str:
        c, a, b = map(self.ref, node.args)
        return f"{a} if {c} else {b}"

    def op_full(self, node: Node) -> str:
        return f"np.full({self.shape(node)!r}, {self.ref(node.args[0])}, {self.dtype(node)})"

    def op_empty(self, node: Node) -> str:
        return f"np.zeros({self.shape(node)!r}, {self.dtype(node)})"

    def op_arange(self, node: Node) -> str:
        start, step = map(self.ref, node.args)
        (n,) = self.shape(node)
        return f"arange({start}, {step}, {n}, {self.dtype(node)})"

    def op_matmul(self, node: Node) -> str:
        return " @ ".join(map(self.ref, node.args))

    def op_extern(self, node: Node) -> str | None:
        call = called(node)
        if isinstance(node.object, _calls.Call) and not plain_results(node.object):
            return self.as_it_is(node)
        if node.object is _steps.build or call.function is _steps.build:
            return self.build(node)
        if call.changed:
            return self.changing(node, call)
        return self.call(call)

    def as_it_is(self, node: Node) -> str:
        args = list(map(self.ref, node.args))
        names = node.kwnames or ()
        split = len(args) - len(names)
        args[split:] = [f"{n}={a}" for n, a in zip(names, args[split:], strict=True)]
        return f"{self.function(node.object)}({', '.join(args)})"

    def build(self, node: Node) -> str:
        template, dtype = node.args[0].object, node.args[1].object
        rest = iter(node.args[2:])

        def text(item: Any) -> str:
            if item is _steps.HOLE:
                return self.ref(next(rest))
            if isinstance(item, list):
                return f"[{', '.join(map(text, item))}]"
            return self.names.literal(item)

        return f"np.array({text(template)}, {self.names.literal(dtype)})"

    def changing(self, node: Node, call: Called) -> str | None:
        if len(call.changed) != 1:
            return self.as_it_is(node)
        number = call.changed[0]
        out = f"v{node.id}"
        self.text.put(f"{out} = {self.ref(call.nodes[number])}.copy(order='K')", node)
        inner = dict(enumerate(map(self.ref, call.nodes)))
        inner[number] = out
        if call.function is operator.setitem:
            key = self.template(call.args[1], inner, top=True)
            self.text.put(f"{out}[{key}] = {self.template(call.args[2], inner)}", node)
            return None
        self.text.put(self.call(call, inner), node)
        return None

    def template(self, item: Any, texts: Any, top: bool = False) -> str:
        kind = type(item)
        if kind is _calls.Hole:
            return str(texts[item.number])
        if not any(True for _ in holes_in(item)):
            if top and kind is tuple:
                return ", ".join(self.key_part(x) for x in item) or "()"
            return self.key_part(item) if top else self.names.literal(item)
        if kind is tuple:
            inner = ", ".join(
                self.key_part(x, texts) if top else self.template(x, texts) for x in item
            )
            return (
                inner
                if top and len(item) > 1
                else f"({inner},)"
                if len(item) == 1
                else f"({inner})"
            )
        if kind is list:
            return f"[{', '.join(self.template(x, texts) for x in item)}]"
        if kind is dict:
            return (
                "{" + ", ".join(f"{k!r}: {self.template(x, texts)}" for k, x in item.items()) + "}"
            )
        parts = (item.start, item.stop, item.step)
        return f"slice({', '.join(self.template(x, texts) for x in parts)})"

    def key_part(self, item: Any, texts: Any = None) -> str:
        if type(item) is slice and not any(True for _ in holes_in(item)):
            return _views.index_text((item,))
        return self.template(item, texts) if texts is not None else self.names.literal(item)

    def call(self, call: Called, texts: Any = None) -> str:
        texts = texts if texts is not None else list(map(self.ref, call.nodes))
        if call.function is operator.getitem:
            return (
                f"{self.template(call.args[0], texts)}[{self.template(call.args[1], texts, True)}]"
            )
        args = [self.template(arg, texts) for arg in call.args]
        args += [f"{name}={self.template(arg, texts)}" for name, arg in call.kwargs.items()]
        return f"{self.callee(call.function)}({', '.join(args)})"

    def callee(self, function: Any) -> str:
        owner = getattr(function, "__self__", None)
        if isinstance(owner, np.ufunc):
            return f"{self.function(owner)}.{function.__name__}"
        if function is operator.pow:
            return "pow"
        return self.function(function)

    op_compress = op_extern
    op_store = op_extern

    def op_result(self, node: Node) -> str | None:
        (arg,) = node.args
        if arg.regions:
            name = self.alias.get((arg.id, node.index))
            if self.nest and name is not None and node.form == "array":
                self.stored.add(node.id)
                self.alias[node.id] = name
            return None
        return f"v{arg.id}[{node.index}]"

    def kind_python(self, node: Node) -> str:
        args = list(map(self.ref, node.args))
        op = node.op
        if op in INFIX:
            return f"{args[0]} {INFIX[op]} {args[1]}"
        if op in PREFIX:
            return f"{PREFIX[op]}{args[0]}"
        if op in ("py_abs", "py_bool", "py_int", "py_float", "py_complex"):
            return f"{op[3:]}({', '.join(args)})"
        if op in ("py_real", "py_imag"):
            return f"{args[0]}.{op[3:]}"
        if op == "py_item":
            return f"{args[0]}.item()"
        function = _eager.PYTHON[op]
        if getattr(math, function.__name__, None) is function:
            return f"math.{function.__name__}({', '.join(args)})"
        return f"{self.names.bind(function, function.__name__)}({', '.join(args)})"

    # ---- elements and regions ----

    def op_element_load(self, node: Node) -> str:
        array, *index = map(self.ref, node.args)
        return f"{array}[{', '.join(index)}]"

    def op_element_dot(self, node: Node) -> str:
        slices = dot_slices(node, self.ref)
        return f"np.dot({slices[0]}, {slices[1]})" if node.ints[4] else f"{slices[0]} @ {slices[1]}"

    def op_element_store(self, node: Node) -> None:
        array, *index, value = map(self.ref, node.args)
        self.text.put(f"{array}[{', '.join(index)}] = {value}", node)
        self.alias[node.id] = array
        self.stored.add(node.id)

    def nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self.write(node)

    def op_cond(self, node: Node) -> None:
        results = self.region_results(node)
        for i, region in enumerate(node.regions):
            self.text.put(f"if {self.ref(node.args[0])}:" if i == 0 else "else:", node)
            self.text.depth += 1
            for param, arg in zip(region.params, node.args[1:], strict=True):
                self.text.put(f"v{param.id} = {self.ref(arg)}")
            self.nodes(region.nodes)
            empty = not region.nodes
            for k, (name, value) in enumerate(zip(results, region.results, strict=True)):
                if value.id in self.stored:  # the arms' versions of an array share its memory
                    self.alias[node.id, k] = self.alias[value.id]
                    continue
                self.text.put(f"{name} = {self.ref(value)}")
                empty = False
            if empty:
                self.text.put("pass")
            self.text.depth -= 1

    def region_results(self, node: Node) -> list[str]:
        return [f"v{node.id}_{i}" for i in range(len(node.regions[0].results))]

    def op_loop(self, node: Node) -> None:
        """Arrays that a loop over elements carries are written in place, by one name."""
        (body,) = node.regions
        params, names = body.params[1:], self.region_results(node)
        for i, (param, arg) in enumerate(zip(params, node.args[3:], strict=True)):
            is_stored = param.form == "array" and node.op == "loop"
            if is_stored and self.nest and arg.id in self.stored:
                names[i] = self.alias[arg.id]
            else:
                copy = ".copy(order='K')" if is_stored and not self.is_fresh(arg) else ""
                self.text.put(f"{names[i]} = {self.ref(arg)}{copy}")
            if is_stored:
                self.stored.add(param.id)
            self.alias[param.id] = self.alias[node.id, i] = names[i]
        self.before_loop(node)
        self.text.put(f"for v{body.params[0].id} in range({self.bounds(node)}):", node)
        self.text.depth += 1
        self.nest += node.op == "loop"
        self.start_of_turn(node)
        self.nodes(body.nodes)
        self.nest -= node.op == "loop"
        pairs = [
            (name, self.ref(value))
            for name, value in zip(names, body.results, strict=True)
            if value.id not in self.stored and self.ref(value) != name
        ]
        if pairs:
            targets, values = (", ".join(part) for part in zip(*pairs, strict=True))
            self.text.put(f"{targets} = {values}")
        self.end_of_turn(node)
        if node.ints:
            self.text.put(f"if {names[node.ints[0]]} != 0:")
            self.text.depth += 1
            self.text.put("break")
            self.text.depth -= 1
        elif not body.nodes and not pairs:
            self.text.put("pass")
        self.text.depth -= 1

    op_repeat = op_loop

    def bounds(self, node: Node) -> str:
        return ", ".join(map(self.ref, node.args[:3]))

    def before_loop(self, node: Node) -> None:
        """For what counts turns."""

    def start_of_turn(self, node: Node) -> None:
        pass

    def end_of_turn(self, node: Node) -> None:
        pass

    def fold(self, node: Node, ufunc: str) -> None:
        (body,) = node.regions
        out = f"v{node.id}"
        self.text.put(
            f"{out}_each = np.zeros(len(range({self.bounds(node)})), {dtype_text(body.results[0].dtype)})",
            node,
        )
        self.text.put(f"{out}_at = 0")
        self.text.put(f"for v{body.params[0].id} in range({self.bounds(node)}):", node)
        self.text.depth += 1
        self.nodes(body.nodes)
        self.text.put(f"{out}_each[{out}_at] = {self.ref(body.results[0])}")
        self.text.put(f"{out}_at += 1")
        self.text.depth -= 1
        self.text.put(f"{out}_0 = np.{ufunc}.reduce({out}_each)")

    def op_loop_sum(self, node: Node) -> None:
        self.fold(node, "add")

    def op_loop_max(self, node: Node) -> None:
        self.fold(node, "maximum")

    def op_loop_min(self, node: Node) -> None:
        self.fold(node, "minimum")


def dot_slices(node: Node, ref: Callable[[Node], str]) -> list[str]:
    """The two vectors of an element_dot."""
    args = list(node.args)
    length = ref(args.pop())
    out = []
    for axis, step in zip(node.ints[0:4:2], node.ints[1:4:2], strict=True):
        array, rank = args[0], len(args[0].shape)
        index = list(map(ref, args[1 : 1 + rank]))
        args = args[1 + rank :]
        start = index[axis]
        if step == 1:
            index[axis] = f"{start}:{start} + {length}"
        else:
            index[axis] = f"stretch({start}, {step}, {length})"
        out.append(f"{ref(array)}[{', '.join(index)}]")
    return out


def plain_results(call: _calls.Call) -> bool:
    """Does the graph take the call's results by the numbers that they have in what it returns?"""
    items = call.check.items
    return items is None or (len(items) > 1 and not call.changed and not has_others(call))


def has_others(call: _calls.Call) -> bool:
    """Is among the call's results what is none of the graph's: a view of an argument, say?"""
    leaves = (*_calls.PROMISED, _C.StepValue.OPAQUE, _C.StepValue.OBJECT)
    return any(item.form not in leaves for item in call.check.items or ())


def packed(shape: tuple[int, ...], dtype: str, order: str) -> tuple[int, ...]:
    """The strides of a fresh array."""
    step, out = np.dtype(dtype).itemsize, []
    for n in reversed(shape) if order == "C" else shape:
        out.append(step)
        step *= n
    return tuple(reversed(out)) if order == "C" else tuple(out)


def dtype_text(dtype: str) -> str:
    name = np.dtype(dtype).name
    return "np.bool_" if name == "bool" else f"np.{name}"


def store_text(array: str, view: _views.View) -> str:
    """What stands left of an assignment to the view."""
    if view.reshape:
        return f"{view.text(array)}[...]"
    text = view.text(array)
    return text if text.endswith("]") else f"{text}[...]"


def free_nodes(node: Node) -> list[Node]:
    """What the regions of a node read from outside of them."""
    inside: set[int] = set()
    out: dict[int, Node] = {}

    def walk(region: Any) -> None:
        inside.update(param.id for param in region.params)
        inside.update(each.id for each in region.nodes)
        for each in region.nodes:
            for inner in each.regions:
                walk(inner)
        for each in region.nodes:
            out.update((arg.id, arg) for arg in each.args)
        out.update((result.id, result) for result in region.results)

    for region in node.regions:
        walk(region)
    return [each for key, each in out.items() if key not in inside]
