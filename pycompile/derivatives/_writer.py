"""A graph's nodes as statements of NumPy text.  A write is a new version of its array; where nobody reads
the old version any more, the text writes in place."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pycompile import _calls, _eager, _steps
from pycompile.derivatives import _lengths, _views
from pycompile.derivatives._called import Called, called, holes_in, plain_results
from pycompile.derivatives._text import UFUNCS, Names, Node, Text, is_float, no_rule

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


class Writer:
    """Writes nodes as statements.  `sizes` gives what a symbol in a size is."""

    def __init__(self, names: Names, sizes: dict[str, int], text: Text) -> None:
        self.names, self.sizes, self.text = names, sizes, text
        self.alias: dict[Any, str] = {}  # nodes, and results of regions, that go by another name
        self.nest = 0  # loops over elements around what is written
        self.stored: set[int] = set()  # versions of an array that a loop writes in place

    def size(self, size: int | str) -> Any:
        return size if isinstance(size, int) else eval(size, _lengths.NAMES, self.sizes)

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
            raise no_rule(node, view_told(node))
        return view

    def places(self, node: Node) -> Any:
        """Of a view that no expression gives: which element of its array each of its elements is."""
        array = node.args[0]
        base, part = self.place(array), self.place(node)
        if is_given(array) and _views.is_crowded(base):
            places = _views.picked(node.op, node.ints, base, part)
        elif _views.find(base, part) is not None:
            return None
        else:
            places = _views.places(base, part)
        if places is None:
            raise no_rule(node, view_told(node))
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
            and is_float(node.dtype)
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
            return self.chosen(node, args)
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

    def chosen(self, node: Node, args: Sequence[str]) -> str:
        """np.where; of numbers in a loop over elements as Python does it: np.where would make arrays."""
        alike = all(x.form == "scalar" and x.dtype == node.dtype for x in node.args[1:])
        if self.nest and alike and all(x.op != "const" for x in node.args[1:]):
            return f"{args[1]} if {self.ref(node.args[0])} else {args[2]}"
        return f"np.where({', '.join(args)})" + ("[()]" if node.form == "scalar" else "")

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
        return self.reduced(node, x, axes)

    def reduced(self, node: Node, x: str, axes: tuple[int, ...]) -> str:
        """By a ufunc."""
        keep = ", keepdims=True" if node.keepdims else ""
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
        if places is not None and node.op in ("reshape", "expand_dims", "squeeze"):
            return f"{self.ref(node.args[0])}.reshape({self.shape(node)!r})"
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
        if strides != _views.packed(shape, node.dtype, "C"):
            order = "F" if strides == _views.packed(shape, node.dtype, "F") else "K"
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
        return self.filled(node, self.ref(node.args[0]))

    def op_empty(self, node: Node) -> str:
        return self.filled(node, "0")

    def filled(self, node: Node, value: str) -> str:
        """A fresh array, laid as the graph says."""
        shape, strides = self.shape(node), self.strides(node)
        axes = tuple(range(len(shape)))
        if strides != _views.packed(shape, node.dtype, "C"):
            axes = tuple(sorted(axes, key=lambda i: -strides[i]))
        turned = tuple(shape[i] for i in axes)
        fill = f"np.zeros({turned!r}, " if value == "0" else f"np.full({turned!r}, {value}, "
        back = tuple(axes.index(i) for i in range(len(axes)))
        text = f"{fill}{self.dtype(node)})"
        return text if axes == tuple(range(len(axes))) else f"{text}.transpose({back!r})"

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
    op_take = op_extern
    op_pick = op_extern

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
        x, y = (vector.text(self.ref) for vector in vectors_of(node))
        return f"np.dot({x}, {y})" if node.ints[4] else f"{x} @ {y}"

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

    def count_of(self, node: Node) -> str:
        """The turns of a loop over a range."""
        start, stop, step = node.args[:3]
        if all(bound.op == "const" for bound in node.args[:3]):
            return str(len(range(*(int(bound.object) for bound in node.args[:3]))))
        if step.op == "const" and step.object == 1:
            return f"max({self.ref(stop)} - {self.ref(start)}, 0)"
        return f"len(range({self.bounds(node)}))"

    def before_loop(self, node: Node) -> None:
        """For what counts turns."""

    def start_of_turn(self, node: Node) -> None:
        pass

    def end_of_turn(self, node: Node) -> None:
        pass

    def op_loop_sum(self, node: Node) -> None:
        (body,) = node.regions
        out = f"v{node.id}"
        row = self.row(node, body.results[0])
        if row is not None:
            self.text.put(f"{out}_0 = ({row}).sum()", node)
            return
        self.text.put(
            f"{out}_each = np.zeros({self.count_of(node)}, {dtype_text(body.results[0].dtype)})",
            node,
        )
        self.text.put(f"{out}_at = 0")
        self.text.put(f"for v{body.params[0].id} in range({self.bounds(node)}):", node)
        self.text.depth += 1
        self.nodes(body.nodes)
        self.text.put(f"{out}_each[{out}_at] = {self.ref(body.results[0])}")
        self.text.put(f"{out}_at += 1")
        self.text.depth -= 1
        self.text.put(f"{out}_0 = np.add.reduce({out}_each)")

    def row(self, loop: Node, node: Node) -> str | None:
        """What a node of a loop_sum is in all turns, as an expression of slices; None: it is no such."""
        at, (start, stop, step) = loop.regions[0].params[0], loop.args
        if node is at or node.form == "python" or step.op != "const" or step.object != 1:
            return None
        if not any(node is each for each in loop.regions[0].nodes):
            return self.ref(node)
        if node.op == "element_load":
            array, *index = node.args
            if sum(each is at for each in index) != 1:
                return None
            slice_ = f"{self.ref(start)}:{self.ref(stop)}"
            keys = [slice_ if each is at else self.ref(each) for each in index]
            return f"{self.ref(array)}[{', '.join(keys)}]"
        args = [self.row(loop, each) for each in node.args]
        if node.kind != "pointwise" or None in args or node.dtype[0] != "f":
            return None
        if node.op in PREFIX:
            return f"({PREFIX[node.op]}{args[0]})"
        return f"({args[0]} {INFIX[node.op]} {args[1]})" if node.op in INFIX else None


def view_told(node: Node) -> str:
    """What a view is called that has no rule."""
    if node.dtype != node.args[0].dtype:
        return f"a view of an array of {np.dtype(node.args[0].dtype).name} as one of {np.dtype(node.dtype).name}"
    return f"the view {node.text}"


def is_given(node: Node) -> bool:
    """Is it an input, or a view of one?"""
    while node.kind == "view":
        node = node.args[0]
    return node.op == "input"


class Vector(NamedTuple):
    """An operand of an element_dot."""

    array: Node
    first: list[Node]  # the index of its first element
    axis: int
    step: int
    length: Node

    def key(self, ref: Callable[[Node], str]) -> str:
        """As a subscript; where the step is negative, of the elements from the last to the first."""
        index, length, step = list(map(ref, self.first)), ref(self.length), abs(self.step)
        first = index[self.axis]
        ahead = f"{step} * ({length} - 1)"
        if self.step < 0:
            slice_ = f"{first} - {ahead}:{first} + 1"
        else:
            slice_ = f"{first}:{first} + " + (length if step == 1 else f"{ahead} + 1")
        index[self.axis] = slice_ + f":{step}" * (step > 1)
        return ", ".join(index)

    def text(self, ref: Callable[[Node], str]) -> str:
        return self.turned(f"{ref(self.array)}[{self.key(ref)}]")

    def turned(self, text: str) -> str:
        return text if self.step > 0 else f"{text}[::-1]"


def vectors_of(node: Node) -> list[Vector]:
    args, out = list(node.args), []
    length = args.pop()
    for axis, step in zip(node.ints[0:4:2], node.ints[1:4:2], strict=True):
        rank = len(args[0].shape)
        out.append(Vector(args[0], args[1 : 1 + rank], axis, step, length))
        args = args[1 + rank :]
    return out


def dtype_text(dtype: str) -> str:
    name = np.dtype(dtype).name
    if name == "bfloat16":  # no name of NumPy's
        return f'np.dtype("{name}").type'
    return "np.bool_" if name == "bool" else f"np.{name}"


def store_text(array: str, view: _views.View) -> str:
    """What stands left of an assignment to the view."""
    if view.reshape:
        return f"{view.text(array)}[...]"
    text = view.text(array)
    return text if text.endswith("]") else f"{text}[...]"
