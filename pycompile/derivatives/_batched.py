"""A graph's nodes for many items at once: the text of each value has an axis in front.

What depends on no batched input is as in the forward text.  What has no batched form raises
`NotBatched`, and the items are gone through one by one.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pycompile import _C, _calls, _steps
from pycompile.derivatives import _views
from pycompile.derivatives._adjoint_calls import explicit, subscripts_of
from pycompile.derivatives._called import Called, called, function_of, holes_in
from pycompile.derivatives._plan import Forward
from pycompile.derivatives._text import UFUNCS, Names, Node
from pycompile.derivatives._writer import dtype_text


class NotBatched(Exception):
    """A node that has no batched form."""


# What a branch may have that is computed for all items, whichever side they take.
_PURE = ("pointwise", "reduction", "view", "copy", "fill", "scan", "scatter")
_PYTHON = {f"py_{name}" for name in "add sub mul div neg lt le eq ne".split()}

# Functions that NumPy itself applies to each of a stack of matrices.
_STACKED = {
    np.linalg.inv,
    np.linalg.det,
    np.linalg.cholesky,
    np.linalg.eigh,
    np.linalg.eigvalsh,
    np.linalg.svd,
    np.linalg.qr,
    np.linalg.slogdet,
    np.linalg.pinv,
    np.linalg.matrix_power,
}
# Along one axis, the last if none is named: the place of `axis` among the arguments.
_ALONG = {
    np.sort: 1,
    np.argsort: 1,
    np.fft.fft: 2,
    np.fft.ifft: 2,
    np.fft.rfft: 2,
    np.fft.irfft: 2,
}


class Batched(Forward):
    """The text for `count` items; `spread` are the inputs that have the axis."""

    def __init__(
        self,
        names: Names,
        sizes: dict[str, int],
        graph: _C.Graph,
        spread: Sequence[Node],
        count: int,
    ) -> None:
        super().__init__(names, sizes, graph, {})
        self.count = count
        self.spread = {node.id for node in spread}
        self.results: set[tuple[int, int]] = set()  # (region node, number) of those that have it

    def has_axis(self, node: Node) -> bool:
        return node.id in self.spread

    def wide(self, node: Node) -> tuple[int, ...]:
        return (self.count, *self.shape(node))

    def write(self, node: Node) -> None:
        if node.op == "result" and node.args[0].regions:
            if (node.args[0].id, node.index) in self.results:
                self.spread.add(node.id)
            return
        if node.regions and node.op != "cond":
            self.batch_loop(node)
            return
        if not any(map(self.has_axis, node.args)):
            if node.regions:
                raise NotBatched(node.op)
            super().write(node)
            return
        special = getattr(self, "batch_" + node.op, None) or getattr(
            self, "batch_kind_" + node.kind, None
        )
        if special is None:
            raise NotBatched(node.op)
        out = special(node)
        self.spread.add(node.id)
        if out is not None:
            self.text.put(f"v{node.id} = {out}", node)

    def full(self, node: Node) -> str:
        """The node's array for all items, to be read."""
        if self.has_axis(node):
            return self.ref(node)
        return f"np.broadcast_to({self.ref(node)}, {self.wide(node)!r})"

    def aligned(self, node: Node, rank: int, text: str) -> str:
        """An operand of an operation whose result has that many axes beside the batch's."""
        missing = rank - len(node.shape) if self.has_axis(node) else 0
        return f"{text}[:{', None' * missing}]" if missing > 0 else text

    # ---- elementwise ----

    def operand(self, node: Node, among: Sequence[Node]) -> str:
        rank = max(len(arg.shape) for arg in among)
        return self.aligned(node, rank, super().operand(node, among))

    def cast(self, node: Node, arg: str) -> str:
        if self.has_axis(node.args[0]):
            return f"{arg}.astype({dtype_text(node.dtype)})"
        return super().cast(node, arg)

    def batch_kind_pointwise(self, node: Node) -> str:
        if node.op in ("real", "imag"):
            return f"np.array({self.ref(node.args[0])}.{node.op})"
        if node.op == "where":
            return f"np.where({', '.join(self.operand(arg, node.args) for arg in node.args)})"
        return self.kind_pointwise(node)

    def batch_kind_ufunc(self, node: Node) -> str:
        args = [self.operand(arg, node.args) for arg in node.args]
        return f"{self.function(node.object)}({', '.join(args)})"

    def batch_kind_python(self, node: Node) -> str:
        """Those operations on Python's numbers that have NumPy's bits, and raise where it warns."""
        if node.op in _PYTHON:
            return self.kind_python(node)
        if node.op == "py_sqrt":
            return f"np.sqrt({self.ref(node.args[0])})"
        if node.op == "py_pow" and node.args[1].op == "const" and node.args[1].object == 2:
            return f"np.square({self.ref(node.args[0])})"
        if node.op == "py_bool":
            return f"{self.ref(node.args[0])}.astype(np.bool_)"
        if node.op in ("py_float", "py_item") and node.args[0].form != "array":
            return f"{self.ref(node.args[0])}.astype({dtype_text(node.dtype)})"
        raise NotBatched(node.op)

    # ---- along axes ----

    def batch_kind_reduction(self, node: Node) -> str:
        x, axes = self.ref(node.args[0]), tuple(i + 1 for i in node.ints)
        keep = ", keepdims=True" if node.keepdims else ""
        if node.op in ("argmax", "argmin"):
            if len(axes) != 1:
                if node.keepdims:
                    raise NotBatched
                return f"np.{node.op}({x}.reshape(({self.count}, -1)), axis=1)"
            return f"np.{node.op}({x}, axis={axes[0]}{keep})"
        return self.reduced(node, x, axes)

    def batch_kind_scan(self, node: Node) -> str:
        x, axis = self.ref(node.args[0]), node.index + 1
        return f"np.{UFUNCS[node.op]}.accumulate({x}, axis={axis}, dtype={self.dtype(node)})"

    def batch_concatenate(self, node: Node) -> str:
        parts = ", ".join(map(self.full, node.args))
        return f"np.concatenate(({parts},), axis={node.index + 1})"

    # ---- views and copies ----

    def batch_kind_view(self, node: Node) -> str:
        if self.places(node) is not None:
            raise NotBatched
        return self.view(node).along(self.count).text(self.ref(node.args[0]))

    def batch_copy(self, node: Node) -> str:
        return f"{self.ref(node.args[0])}.copy()"

    def batch_full(self, node: Node) -> str:
        value = self.aligned(node.args[0], len(node.shape), self.ref(node.args[0]))
        return f"np.full({self.wide(node)!r}, {value}, {self.dtype(node)})"

    def batch_scatter(self, node: Node) -> None:
        old, value = node.args
        view = _views.find(self.place(node), self.written_place(node))
        if view is None or view.spread or view.part or view.reshape:
            raise NotBatched
        out = f"v{node.id}"
        if not self.has_axis(old):
            self.text.put(f"{out} = {self.full(old)}.copy()", node)
        elif self.may_overwrite(node):
            self.text.put(f"{out} = {self.ref(old)}", node)
        else:
            self.text.put(f"{out} = {self.ref(old)}.copy()", node)
        place = view.along(self.count).text(out)
        place = place if place.endswith("]") else f"{place}[...]"
        self.text.put(f"{place} = {self.aligned(value, len(view.shape), self.ref(value))}", node)

    # ---- products ----

    def batch_matmul(self, node: Node) -> str:
        x, y = node.args
        nx, ny = len(x.shape), len(y.shape)
        if nx <= 2 and ny == 2 and not self.has_axis(y):
            return f"{self.ref(x)} @ {self.ref(y)}"
        if nx == 2 and ny == 1 and not self.has_axis(x):
            return f"{self.ref(y)} @ {self.ref(x)}.T"
        left = self.ref(x) + ("[..., None, :]" if nx == 1 else "")
        right = self.ref(y) + ("[..., None]" if ny == 1 else "")
        lead = max(nx, ny, 2) - 2
        for is_left, arg, rank in ((True, x, nx), (False, y, ny)):
            missing = lead - max(rank - 2, 0)
            if self.has_axis(arg) and missing:
                text = f"[:{', None' * missing}]"
                left, right = (left + text, right) if is_left else (left, right + text)
        ends = ("0" if nx == 1 else "") + (", " if nx == 1 and ny == 1 else "")
        ends += "0" if ny == 1 else ", :" if nx == 1 else ""
        return f"({left} @ {right})" + (f"[..., {ends}]" if nx == 1 or ny == 1 else "")

    # ---- branches ----

    def batch_cond(self, node: Node) -> None:
        """Both sides are computed, and chosen from; neither can raise, since warnings are raised and
        make the items be gone through one by one."""
        condition = node.args[0]
        results: list[list[Node]] = []
        for region in node.regions:
            for param, arg in zip(region.params, node.args[1:], strict=True):
                self.alias[param.id] = self.ref(arg)
                if self.has_axis(arg):
                    self.spread.add(param.id)
            for inner in region.nodes:
                if inner.kind not in _PURE and inner.op not in ("const", "matmul"):
                    raise NotBatched(inner.op)
            self.nodes(region.nodes)
            results.append(list(region.results))
        for i, (one, other) in enumerate(zip(*results, strict=True)):
            if not self.has_axis(condition):
                raise NotBatched
            rank = max(len(one.shape), len(other.shape))
            test = self.aligned(condition, rank, self.ref(condition))
            a, b = (self.aligned(each, rank, self.ref(each)) for each in (one, other))
            self.text.put(f"v{node.id}_{i} = np.where({test}, {a}, {b})", node)
            self.results.add((node.id, i))
        self.spread.add(node.id)

    def batch_choose(self, node: Node) -> str:
        rank = max(len(arg.shape) for arg in node.args)
        texts = [self.aligned(arg, rank, self.ref(arg)) for arg in node.args]
        return f"np.where({', '.join(texts)})"

    def batch_result(self, node: Node) -> str:
        return f"v{node.args[0].id}[{node.index}]"

    # ---- loops ----

    def grow(self, nodes: Sequence[Node]) -> None:
        """Finds which nodes of a loop's body have the axis, before they are written."""
        for node in nodes:
            for region in node.regions:
                if node.op == "cond":
                    for param, arg in zip(region.params, node.args[1:], strict=True):
                        if self.has_axis(arg):
                            self.spread.add(param.id)
                else:
                    self.settle(node)
                self.grow(region.nodes)
                for i, result in enumerate(region.results):
                    if self.has_axis(result) or (node.op == "cond" and self.has_axis(node.args[0])):
                        self.results.add((node.id, i))
            if node.op == "result" and node.args[0].regions:
                if (node.args[0].id, node.index) in self.results:
                    self.spread.add(node.id)
            elif any(map(self.has_axis, node.args)):
                self.spread.add(node.id)

    def settle(self, node: Node) -> list[bool]:
        """Which of a loop's carried values have the axis."""
        (body,) = node.regions
        params = body.params[1:]
        flags = [self.has_axis(arg) for arg in node.args[3:]]
        while True:
            self.spread.update(p.id for p, flag in zip(params, flags, strict=True) if flag)
            self.grow(body.nodes)
            now = [flag or self.has_axis(r) for flag, r in zip(flags, body.results, strict=True)]
            if now == flags:
                return flags
            flags = now

    def batch_loop(self, node: Node) -> None:
        """A loop of as many turns for all items."""
        if node.op not in ("loop", "repeat") or node.ints or any(map(self.has_axis, node.args[:3])):
            raise NotBatched(node.op)
        (body,) = node.regions
        flags = self.settle(node)
        names = self.region_results(node)
        for i, (param, arg) in enumerate(zip(body.params[1:], node.args[3:], strict=True)):
            text = self.full(arg) if flags[i] else self.ref(arg)
            copy = ".copy()" if flags[i] or arg.form == "array" else ""
            self.text.put(f"{names[i]} = {text}{copy}")
            self.alias[param.id] = self.alias[node.id, i] = names[i]
            if flags[i]:
                self.results.add((node.id, i))
        self.text.put(f"for v{body.params[0].id} in range({self.bounds(node)}):", node)
        self.text.depth += 1
        self.nest += 1
        self.nodes(body.nodes)
        self.nest -= 1
        pairs = [
            (name, self.full(result) if flag else self.ref(result))
            for name, result, flag in zip(names, body.results, flags, strict=True)
            if self.ref(result) != name
        ]
        if pairs:
            targets, values = (", ".join(part) for part in zip(*pairs, strict=True))
            self.text.put(f"{targets} = {values}")
        self.text.depth -= 1

    def batch_element_load(self, node: Node) -> str:
        array, *index = node.args
        if any(map(self.has_axis, index)):
            raise NotBatched
        # A copy: what was read stays as it is when the loop writes there.
        return f"{self.ref(array)}[:, {', '.join(map(self.ref, index))}].copy()"

    def batch_element_store(self, node: Node) -> None:
        array, *index, value = node.args
        if any(map(self.has_axis, index)) or not self.has_axis(array):
            raise NotBatched
        place = f"{self.ref(array)}[:, {', '.join(map(self.ref, index))}]"
        self.text.put(f"{place} = {self.ref(value)}", node)
        self.alias[node.id] = self.ref(array)

    # ---- calls ----

    def batch_extern(self, node: Node) -> str | None:
        call = called(node)
        function = function_of(call)
        if function is operator.setitem or getattr(function, "__name__", "") == "at":
            self.store(node, call)
            return None
        if call.changed:
            raise NotBatched(function)
        if function is operator.getitem:
            return self.gather(node, call)
        plain = all(type(arg) is _calls.Hole for arg in call.args) and not call.kwargs
        if isinstance(function, np.ufunc) and plain and len(call.args) == len(node.args):
            return self.by_operands(call)
        if function in (pow, operator.pow) and plain and len(call.args) == 2:
            return f"np.power({', '.join(self.operand(arg, call.nodes) for arg in call.nodes)})"
        try:
            is_stacked, along = function in _STACKED, _ALONG.get(function)
        except TypeError:
            raise NotBatched from None
        if function is _steps.build:
            return self.built(node, call)
        if function is np.stack:
            return self.stacked(call)
        if function is np.linalg.solve:
            return self.solve(call)
        if function is np.einsum:
            return self.einsum(call)
        first = call.args[0] if call.args else None
        if type(first) is not _calls.Hole or not self.has_axis(call.nodes[first.number]):
            raise NotBatched(function)
        if any(self.has_axis(arg) for arg in node.args[1:]):
            raise NotBatched(function)
        if function is np.broadcast_to:
            x = call.nodes[first.number]
            text = self.aligned(x, len(node.shape), self.ref(x))
            return f"np.broadcast_to({text}, {self.wide(node)!r})"
        if is_stacked:
            return self.call(call)
        if along is not None:
            given = dict(enumerate(call.args))
            axis = given.get(along, call.kwargs.get("axis", -1))
            if type(axis) is _calls.Hole:
                axis = call.nodes[axis.number].object
            if isinstance(axis, int) and len(call.args) <= along + 1:
                call.args = call.args[:along]
                call.kwargs = {**call.kwargs, "axis": axis + (axis >= 0)}
                return self.call(call)
        raise NotBatched(function)

    batch_take = batch_extern

    def by_operands(self, call: Called) -> str:
        args = [self.operand(arg, call.nodes) for arg in call.nodes]
        return f"{self.function(call.function)}({', '.join(args)})"

    def named(self, text: str) -> str:
        self.text.put(f"b{len(self.text.lines)} = {text}")
        return f"b{len(self.text.lines) - 1}"

    def built(self, node: Node, call: Called) -> str:
        """np.array of nested lists of numbers, some of which are the items' own."""
        template, _, *holes = call.nodes
        if node.form != "array" or any(hole.shape for hole in holes):
            raise NotBatched(np.array)
        out = self.named(f"np.empty({self.wide(node)!r}, {self.dtype(node)})")
        rest = iter(holes)
        for place in np.ndindex(*self.shape(node)):
            item = functools.reduce(operator.getitem, place, template.object)
            value = self.ref(next(rest)) if item is _steps.HOLE else self.names.literal(item)
            self.text.put(f"{out}[:, {', '.join(map(str, place))}] = {value}", node)
        return out

    def stacked(self, call: Called) -> str:
        items: Any = call.args[0] if len(call.args) == 1 else None
        axis = call.kwargs.get("axis", 0)
        if type(axis) is _calls.Hole:
            axis = call.nodes[axis.number].object
        if type(axis) is not int or {*call.kwargs} - {"axis"} or type(items) not in (list, tuple):
            raise NotBatched(np.stack)
        if any(type(item) is not _calls.Hole for item in items):
            raise NotBatched(np.stack)
        parts = ", ".join(self.full(call.nodes[item.number]) for item in items)
        return f"np.stack(({parts},), axis={axis + (axis >= 0)})"

    def einsum(self, call: Called) -> str:
        spec, holes = subscripts_of(call)
        operands = [call.nodes[hole.number] for hole in holes]
        if call.kwargs or "..." in spec:
            raise NotBatched(np.einsum)
        left, _, out = explicit(spec, [len(x.shape) for x in operands]).partition("->")
        letter = next(c for c in "zyxwvutsrqponmlkjihgfedcba" if c not in left)
        terms = [
            (letter if self.has_axis(x) else "") + term
            for x, term in zip(operands, left.split(","), strict=True)
        ]
        return (
            f"np.einsum('{','.join(terms)}->{letter}{out}', {', '.join(map(self.ref, operands))})"
        )

    def solve(self, call: Called) -> str:
        a, b = call.nodes
        if len(a.shape) != 2 or len(b.shape) > 2:
            raise NotBatched
        if len(b.shape) == 2:
            return f"np.linalg.solve({self.ref(a)}, {self.ref(b)})"
        return f"np.linalg.solve({self.ref(a)}, {self.ref(b)}[..., None])[..., 0]"

    def gather(self, node: Node, call: Called) -> str:
        """array[key]"""
        array, key = call.args
        base = call.nodes[array.number]
        (first, *rest), _ = self.places_of(base, key, call)
        if self.has_axis(base) or first == ":":
            return f"{self.full(base)}[{', '.join([first, *rest])}]"
        return f"{self.ref(base)}[{', '.join(rest)}]"

    def store(self, node: Node, call: Called) -> None:
        """A copy of an array after array[key] = value, or ufunc.at(array, key, value)."""
        if call.changed != (0,) or len(call.args) != 3 or node.form != "array":
            raise NotBatched(call.function)
        array, key, value = call.args
        if isinstance(value, (list, tuple)) and [*holes_in(value)]:
            raise NotBatched(call.function)
        base = call.nodes[array.number]
        places, rank = self.places_of(base, key, call)
        text = self.template(value, list(map(self.ref, call.nodes)))
        if type(value) is _calls.Hole:
            given = call.nodes[value.number]
            if len(given.shape) > rank:
                raise NotBatched(call.function)
            text = self.aligned(given, rank, text)
        out = f"v{node.id}"
        self.text.put(f"{out} = {self.full(base)}.copy()", node)
        if call.function is operator.setitem:
            self.text.put(f"{out}[{', '.join(places)}] = {text}", node)
        else:
            at = ", ".join("slice(None)" if place == ":" else place for place in places)
            self.text.put(f"{self.callee(call.function)}({out}, ({at}), {text})", node)

    def places_of(self, base: Node, key: Any, call: Called) -> tuple[list[str], int]:
        """The parts of the key for all items, and the rank of what it takes of one of them.  The axes that arrays
        index have to stand beside each other, and no int among them."""
        parts = key if isinstance(key, tuple) else (key,)
        at = [i for i, x in enumerate(parts) if isinstance(x, (_calls.Hole, list, np.ndarray))]
        if any(isinstance(x, (list, tuple)) and [*holes_in(x)] for x in parts):
            raise NotBatched(operator.getitem)
        is_apart = at != list(range(len(parts)))[at[0] : at[-1] + 1] if at else False
        if is_apart or (at and any(isinstance(part, int) for part in parts)):
            raise NotBatched(operator.getitem)
        nodes = [call.nodes[x.number] for x in parts if type(x) is _calls.Hole]
        fixed = [np.asarray(x) for x in parts if isinstance(x, (list, np.ndarray))]
        if any(x.form == "python" or x.dtype == "bool" for x in nodes):
            raise NotBatched(operator.getitem)
        if any(x.dtype == np.bool_ for x in fixed):
            raise NotBatched(operator.getitem)
        deep = max([len(x.shape) for x in nodes] + [x.ndim for x in fixed], default=0)
        taken = sum(x is not None and x is not Ellipsis and not isinstance(x, slice) for x in parts)
        rank = len(base.shape) - taken + deep + sum(x is None for x in parts)
        texts = [self.ref(x) for x in call.nodes]
        is_spread = any(map(self.has_axis, nodes))
        if is_spread and len(at) != len(parts):
            raise NotBatched(operator.getitem)
        for part in parts:
            if type(part) is _calls.Hole:
                texts[part.number] = self.aligned(call.nodes[part.number], deep, texts[part.number])
        first = f"np.arange({self.count})[:{', None' * deep}]" if is_spread else ":"
        return [first, *(self.template(part, texts) for part in parts)], rank
