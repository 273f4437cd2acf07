"""The adjoints of operations: rows of _elementwise.py, views, writes, reductions, products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pycompile.derivatives import _views
from pycompile.derivatives._adjoint import Adjoint
from pycompile.derivatives._elementwise import (
    COMPLEX_ROWS,
    DISCRETE,
    DIVISOR,
    DIVISOR_IN_TURNS,
    ROWS,
)
from pycompile.derivatives._text import UFUNCS, Node, is_float, no_rule
from pycompile.derivatives._writer import dtype_text, store_text


class Ops(Adjoint):
    """Of operations on arrays and numbers."""

    def pull_row(
        self,
        node: Node,
        g: str,
        row: Sequence[str | None],
        args: Sequence[Node | str],
        test: str = "",
    ) -> None:
        """`test`: where the operation was done."""
        for text, arg in zip(row, args, strict=False):
            if isinstance(arg, str) or arg not in self.active or text is None:
                continue
            names = _Lazy(self, node, g, args)
            if self.scope.kind in ("turns", "sum") and text == DIVISOR:
                text = DIVISOR_IN_TURNS
            if len(args) > 1 and ("**" in text or "power_base" in text):
                text = self.const_power(node, text, args[1])
            is_array = arg.form == "array" and arg.shape  # its sum is negated, not each number
            sign = "-" if text == "-{g}" and is_array and not test else ""
            expr = text[len(sign) :].format_map(names)
            expr = self.shaped(f"np.where({test}, {expr}, 0.0)" if test else expr, node, arg)
            expr = sign + expr
            self.add(arg, self.typed(expr, arg, node), node)

    def const_power(self, node: Node, text: str, exponent: Node | str) -> str:
        if isinstance(exponent, str) or exponent.op != "const" or node.dtype[0:1] == "c":
            return text
        y = float(np.asarray(exponent.object))
        if y == 2.0:
            return "{g} * (2.0 * {x})"
        if y == 3.0:
            return "{g} * (3.0 * ({x} * {x}))"
        if y == 0.0:
            return "0.0 * {g}"
        if y == 1.5:
            return "{g} * (1.5 * np.sqrt({x}))"
        if y == 0.5:
            return "{g} * (0.5 / np.sqrt({x}))"
        if "power_base" in text:
            return f"{{g}} * ({y!r} * np.float_power({{x}}, {y - 1.0!r}))"
        return f"{{g}} * ({y!r} * {{x}} ** ({y - 1.0!r}))"

    def pull_kind_pointwise(self, node: Node, g: str) -> None:
        name = node.op
        if name == "cast":
            (arg,) = node.args
            if arg in self.active:
                expr = self.typed(self.shaped(g, node, arg), arg, node)
                self.add(arg, expr, node)
            return
        if name in ("real", "imag"):
            self.pull_part(node, name, g)
            return
        if name == "divide" and (found := softmax_of(node)) is not None:
            self.pull_softmax(node, g, *found)
            return
        row = None
        if np.dtype(node.args[0].dtype).kind in "cO":
            row = COMPLEX_ROWS.get(name)
        row = row or ROWS.get(name)
        if row is None:
            raise no_rule(node, f"np.{UFUNCS.get(name, name)}")
        self.pull_row(node, g, row, node.args)

    def pull_where(self, node: Node, g: str) -> None:
        """Numbers in a loop over elements are chosen as Python does it: np.where would make arrays."""
        if self.scope.kind not in ("turns", "sum") or node.form == "array":
            self.pull_kind_pointwise(node, g)
            return
        test, zero = self.ref(node.args[0]), self.zero(node)
        for arg, text in zip(
            node.args[1:], ("{g} if {c} else {z}", "{z} if {c} else {g}"), strict=True
        ):
            if arg in self.active:
                expr = f"({text.format(g=g, c=test, z=zero)})"
                self.add(arg, self.typed(expr, arg, node), node)

    def pull_part(self, node: Node, part: str, g: str) -> None:
        """Of x.real and x.imag."""
        (arg,) = node.args
        if part == "real":
            self.add(arg, self.typed(g, arg, node), node)
        elif arg.form == "object":
            self.add(arg, f"imag_back({g}, {self.ref(arg)})", node)
        elif np.dtype(arg.dtype).kind == "c":
            self.add(arg, self.typed(f"-1j * {g}", arg, node), node)

    def pull_kind_python(self, node: Node, g: str) -> None:
        if node.op == "py_complex":
            self.add(node.args[0], f"{g}.real", node)
            self.add(node.args[1], f"-{g}.imag", node)
            return
        if node.op in ("py_real", "py_imag"):
            self.add(node.args[0], g if node.op == "py_real" else f"-1j * {g}", node)
            return
        row = ROWS.get(node.op)
        if row is None:
            raise no_rule(node, node.op[3:])
        self.pull_row(node, g, row, node.args)

    def pull_kind_ufunc(self, node: Node, g: str) -> None:
        self.pull_ufunc_of(node, node.object, g, node.args)

    def pull_ufunc_of(
        self, node: Node, ufunc: Any, g: str, args: Sequence[Node | str], test: str = ""
    ) -> None:
        name, first = ufunc.__name__, args[0]
        is_complex = isinstance(first, str) or np.dtype(first.dtype).kind in "cO"
        row = COMPLEX_ROWS.get(name) if is_complex else None
        row = row or ROWS.get(name)
        if row is None:
            if name in DISCRETE:
                return
            raise no_rule(node, f"np.{name}")
        self.pull_row(node, g, row, args, test)

    def pull_kind_reduction(self, node: Node, g: str) -> None:
        (x,) = node.args
        axes = tuple(node.ints)
        shape = self.shape(x)
        if node.op == "sum":
            if not node.keepdims and node.form == "array":
                thin = tuple(1 if i in axes else n for i, n in enumerate(shape))
                g = f"{g}.reshape({thin!r})"
            if self.root(x) not in self.ct:  # or else the sum is of its shape
                g = f"np.broadcast_to({g}, {shape!r})"
            self.add(x, self.typed(g, x, node), node)
            return
        if node.op == "prod":
            self.add(x, f"prod_back({g}, {self.ref(x)}, {axes!r})", node)
            return
        if node.op in ("max", "min"):
            text = f"most_back({g}, {self.ref(x)}, {self.ref(node)}, {axes!r})"
            self.add(x, self.typed(text, x), node)
            return
        raise no_rule(node, node.op)

    def pull_softmax(self, node: Node, g: str, x: Node, axes: tuple[int, ...]) -> None:
        """Of exp(x) / sum(exp(x)): what is taken off x has no part in it."""
        p = self.ref(node)
        g = self.local(g)
        expr = f"{p} * ({g} - np.sum({g} * {p}, axis={axes!r}, keepdims=True))"
        self.add(x, self.typed(expr, x, node), node)

    def pull_cumsum(self, node: Node, g: str) -> None:
        self.add(
            node.args[0], self.typed(f"cumsum_back({g}, {node.index})", node.args[0], node), node
        )

    def pull_cumprod(self, node: Node, g: str) -> None:
        x = node.args[0]
        self.add(x, self.typed(f"cumprod_back({g}, {self.ref(x)}, {node.index})", x, node), node)

    def kind_view(self, node: Node) -> str:
        places = self.places(node)
        if places is None:
            return super().kind_view(node)
        # What is computed again need not lie as it did.
        return f"{self.ref(node.args[0])}.reshape(-1)[{self.names.bind(places, 'places')}]"

    def pull_kind_view(self, node: Node, g: str) -> None:
        (x,) = node.args
        if x not in self.active:
            return
        places = self.places(node)
        if places is not None:
            back = self.local(f"np.zeros({int(np.prod(self.shape(x)))}, {dtype_text(x.dtype)})")
            self.text.put(f"np.add.at({back}, {self.names.bind(places, 'places')}, {g})", node)
            self.add(x, f"{back}.reshape({self.shape(x)!r})", node)
            return
        view = self.view(node)
        if view.part:
            g = self.local(f"({g} + 0j)" if view.part == "real" else f"(-1j * {g})")
            view = _views.View("", *list(vars(view).values())[1:])
        if view.reshape:
            self.add(x, f"{g}.reshape({self.shape(x)!r})", node)
        elif not view.index:
            self.add(x, view.back(g), node)
        else:
            name = self.own(x, node)
            self.text.put(f"{name}[{_views.index_text(view.index)}] += {view.back(g)}", node)

    def pull_copy(self, node: Node, g: str) -> None:
        self.add(node.args[0], g, node)

    def pull_concatenate(self, node: Node, g: str) -> None:
        start = 0
        for arg in node.args:
            length = self.shape(arg)[node.index]
            key = ":, " * node.index + f"{start}:{start + length}"
            self.add(arg, f"{g}[{key}]", node)
            start += length

    def pull_full(self, node: Node, g: str) -> None:
        self.add(node.args[0], self.typed(f"{g}.sum()", node.args[0]), node)

    def pull_arange(self, node: Node, g: str) -> None:
        start, step = node.args
        self.add(start, f"{g}.sum()", node)
        (n,) = self.shape(node)
        self.add(step, f"({g} * np.arange({n})).sum()", node)

    def written(self, node: Node) -> _views.View:
        view = _views.find(self.place(node), self.written_place(node))
        if view is None:
            raise no_rule(node, "a write to a part of an array that is no slice of it")
        return view

    def pull_scatter(self, node: Node, g: str) -> None:
        old, value = node.args
        if 0 in self.written_shape(node):
            if old in self.active:
                self.add(old, g, node)
            return
        view = self.written(node)
        is_whole = not view.spread and math.prod(view.shape) == math.prod(self.shape(node))
        if is_whole and view.text(g) == g and self.shape(value) == view.shape:
            if g in self.owned and value.dtype == node.dtype and value.form == "array":
                self.give(value, g, node)
            else:
                self.add(value, self.typed(g, value, node), node)
            return
        if value in self.active:
            part = self.local(f"{view.text(g)}.copy()")
            expr = self.shaped(part, view.shape, value)
            self.add(value, self.typed(expr, value, node), node)
        if old in self.active and node.shape and not is_whole:
            name = self.taken(g)
            self.text.put(f"{store_text(name, view)} = 0.0", node)
            self.give(old, name, node)

    def pull_commit(self, node: Node, g: str) -> None:
        value = node.args[1]
        shape = self.written_shape(node)
        self.add(value, self.typed(self.shaped(g, shape, value), value, node), node)

    def pull_choose(self, node: Node, g: str) -> None:
        c, a, b = node.args
        self.add(a, f"np.where({self.ref(c)}, {g}, 0.0)", node)
        self.add(b, f"np.where({self.ref(c)}, 0.0, {g})", node)

    def pull_matmul(self, node: Node, g: str, args: Sequence[Node | str] = ()) -> None:
        x, y = args or node.args
        if isinstance(x, Node) and is_turned(y, x):
            self.add(x, self.typed(f"({g} + {g}.T) @ {self.text_of(x)}", x, node), node)
            return
        if isinstance(y, Node) and is_turned(x, y):
            self.add(y, self.typed(f"{self.text_of(y)} @ ({g} + {g}.T)", y, node), node)
            return
        two = all(not isinstance(each, str) and len(self.shape(each)) == 2 for each in (x, y))
        if not isinstance(x, str) and x in self.active:
            left = f"{g} @ {self.text_of(y)}.T" if two else self.product("left", g, x, y)
            self.add(x, self.typed(left, x, node), node)
        if not isinstance(y, str) and y in self.active:
            right = f"{self.text_of(x)}.T @ {g}" if two else self.product("right", g, x, y)
            if two and swaps_last(y):  # its gradient lies as it does
                right = f"({g}.T @ {self.text_of(x)}).T"
            self.add(y, self.typed(right, y, node), node)

    def product(self, side: str, g: str, x: Node | str, y: Node | str) -> str:
        turned = "_turned" if side == "right" and not isinstance(y, str) and swaps_last(y) else ""
        return f"matmul_{side}{turned}({g}, {self.text_of(x)}, {self.text_of(y)})"

    def text_of(self, arg: Node | str) -> str:
        return arg if isinstance(arg, str) else self.ref(arg)


def unrounded(node: Node) -> Node:
    """The value behind casts between floats."""
    while node.op == "cast" and is_float(node.dtype) and is_float(node.args[0].dtype):
        node = node.args[0]
    return node


def softmax_of(node: Node) -> tuple[Node, tuple[int, ...]] | None:
    """Of a quotient that is a softmax: what it is of, and over which axes."""
    e, total = node.args[0], unrounded(node.args[1])
    if node.form != "array" or not is_float(node.dtype) or e.op != "exp" or e.shape != node.shape:
        return None
    if total.op != "sum" or not total.keepdims or unrounded(total.args[0]).id != e.id:
        return None
    axes = tuple(total.ints)
    x = e.args[0]
    if x.op == "subtract":
        most, less = unrounded(x.args[1]), unrounded(x.args[0])
        is_most = most.op == "max" and most.keepdims and tuple(most.ints) == axes
        if is_most and unrounded(most.args[0]).id == less.id and less.shape == x.shape:
            x = x.args[0]
    return x, axes


def swaps_last(node: Node) -> bool:
    """Is it another array with its last two axes swapped?"""
    if node.op != "transpose":
        return False
    *batch, before, last = node.ints
    return batch == sorted(batch) and before > last


def is_turned(one: Node | str, other: Node | str) -> bool:
    """Is it the other's transpose, of two axes?"""
    if isinstance(one, str) or isinstance(other, str) or one.op != "transpose":
        return False
    return one.args[0].id == other.id and tuple(one.ints) == (1, 0)


class _Lazy(dict[str, str]):
    """{x} {y} {z} {o} {g} of a row: only what the text names is read."""

    def __init__(self, adjoint: Adjoint, node: Node, g: str, args: Sequence[Node | str]) -> None:
        super().__init__(g=g)
        self.adjoint, self.node, self.args = adjoint, node, args

    def __missing__(self, name: str) -> str:
        if name == "o":
            return self.adjoint.ref(self.node)
        arg = self.args["xyz".index(name)]
        if isinstance(arg, str):
            return f"({arg})"
        return self.adjoint.operand(arg, [each for each in self.args if not isinstance(each, str)])
