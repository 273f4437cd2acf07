"""The adjoints of a graph's nodes: what they stand on.

Each region (the graph itself, an arm of a branch, the body of a loop) is a scope.  What a scope's
adjoint reads of its own nodes is written in front of it, once: kept by the forward text, computed
again, or, in loops over elements, read from the stacks that a second run of the loop fills
(`pull_loop` in _backward.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pycompile.derivatives._activity import Activity, free_nodes
from pycompile.derivatives._text import Names, Node, Text, no_rule
from pycompile.derivatives._writer import CHEAP, MOST_AGAIN, Writer, dtype_text


class Scope:
    """A region whose adjoint is being written."""

    def __init__(self, nodes: Sequence[Node], kind: str, outer: Scope | None, loop: Any) -> None:
        self.ids = {node.id for node in nodes}
        # "graph", "again" (all is computed again), "turns" (of a loop over elements), "sum" (of a row)
        self.kind = kind
        self.outer, self.loop = outer, loop
        self.have: set[int] = set()
        self.front = Text()


class Turns:
    """A loop over elements in a nest: what the second run saves in each turn, on stacks `s_NAME`."""

    def __init__(self, node: Node, path: tuple[Node, ...] | None) -> None:
        """`path`: it and the loops around it, where each goes by 1 or -1 from a constant to what is there
        before the nest: their variables tell the turn.  None: `p` counts the turns."""
        self.node, self.path = node, path
        self.saved: dict[str, str] = {}  # name: dtype
        self.at = ", ".join(map(turn_of, path)) if path else f"p{node.id}"

    @property
    def length(self) -> str:
        """Of its stacks."""
        return ", ".join(f"n{loop.id}" for loop in self.path) if self.path else f"T{self.node.id}"


def turn_of(loop: Node) -> str:
    """By its variable, from 0 on."""
    start, _, step = loop.args[:3]
    name = f"v{loop.regions[0].params[0].id}"
    if step.object == -1:
        return f"{start.object} - {name}"
    return name if start.object == 0 else f"{name} - {start.object}"


class Adjoint(Writer):
    """What all adjoints stand on: values of the forward pass, sums of cotangents."""

    def __init__(
        self, names: Names, sizes: dict[str, int], active: Activity, kept: dict[int, Node]
    ) -> None:
        super().__init__(names, sizes, Text())
        self.active = active
        self.kept = dict(kept)  # what is kept for more cotangents is there for fewer
        self.ct: dict[int, str] = {}  # node: the name of its cotangent
        self.owned: set[str] = set()  # cotangents that may be written in place
        self.multi: dict[int, dict[int, str]] = {}
        self.top = self.scope = Scope((), "graph", None, None)
        self.roots: dict[int, int] = {}  # versions of an array in a loop: the first
        self.again: dict[int, int] = {}  # what computing a node again costs
        self.unique = 0
        self.recomputed: list[Node] = []
        self.saves: dict[str, Turns] = {}
        self.turns: dict[int, Turns] = {}
        self.loops: list[Node] = []
        self.region_roots: dict[tuple[int, int], int] = {}
        self.finals: dict[
            int, Node
        ] = {}  # of the nest: loads, which this array still has: _finals.py
        self.is_free = False  # of the nest: no stack is needed
        # Of the nest, by root: arrays of which rows are read, which the reverse run leaves as they were.
        self.undone: dict[int, str] = {}

    # ---- values of the forward pass ----

    def home(self, node: Node) -> Scope:
        scope: Scope | None = self.scope
        while scope is not None and node.id not in scope.ids:
            scope = scope.outer
        return scope if scope is not None else self.top

    def ref(self, node: Node) -> str:
        text = super().ref(node)
        if node.op == "const":
            return text
        scope = self.home(node)
        if node.id in scope.have:
            return text
        if scope.kind == "graph":
            if not self.is_cheap(node):
                scope.have.add(node.id)
                self.kept[node.id] = node
                return text
        elif scope.kind == "turns" and not self.is_again(node):
            scope.have.add(node.id)
            self.save(node, text, scope)
            return text
        scope.have.add(node.id)
        self.write_in_front(node, scope)
        return text

    def write_in_front(self, node: Node, scope: Scope) -> None:
        self.recomputed.append(node)
        text, inside, self.text = self.text, self.scope, scope.front
        self.scope = scope
        self.nest += scope.kind in ("turns", "sum")
        if node.op == "result" and node.args[0].regions:
            self.again_region(node.args[0], scope)
        else:
            self.write(node)
        self.nest -= scope.kind in ("turns", "sum")
        self.text, self.scope = text, inside

    def again_region(self, node: Node, scope: Scope) -> None:
        key = -1 - node.id
        if key in scope.have:
            return
        scope.have.add(key)
        for arg in node.args:
            self.ref(arg)
        for free in free_nodes(node):
            self.ref(free)
        Writer(self.names, self.sizes, self.text).write(node)

    def is_cheap(self, node: Node) -> bool:
        """Is a value of the graph computed again, from what is kept anyway?"""
        return self.cost(node) <= MOST_AGAIN

    def cost(self, node: Node, most: int = MOST_AGAIN) -> int:
        """What computing it again costs, or more than `most`: chains are long."""
        if node.id in self.kept or node.op == "const":
            return 0
        if node.op == "input":
            return 2 * MOST_AGAIN
        if node.id in self.again:
            return self.again[node.id]
        cost = 2 * MOST_AGAIN
        if node.kind == "view" or (node.op == "copy" and node.form != "array"):
            # A view is never kept: its array is.
            cost = 0 if node.kind == "view" else self.leaf(node.args[0], most)
        elif (node.op in CHEAP and node.form != "object") or node.op == "full":
            cost = 1
            for arg in node.args:
                if cost <= most:
                    cost += self.leaf(arg, most - cost)
        if cost <= most or most == MOST_AGAIN:
            self.again[node.id] = cost
        return cost

    def leaf(self, node: Node, most: int) -> int:
        """An input costs nothing: it is there anyway."""
        while node.kind == "view":
            node = node.args[0]
        return 0 if node.op == "input" else self.cost(node, most)

    def is_again(self, node: Node) -> bool:
        """Is a value of a turn computed again from others of the turn?  What exp and its like give is
        not, where there are stacks: a number on one is cheaper."""
        if node.op == "element_load":
            return node.args[0].id not in self.roots or node.id in self.finals
        if node.op in ("result", "element_dot", "element_store", "choose") or node.regions:
            return False
        return node.kind in ("pointwise", "python") or (node.kind == "ufunc" and self.is_free)

    def op_element_load(self, node: Node) -> str:
        array = self.finals.get(node.id, node.args[0])
        name = self.array(array) if self.scope.kind == "sum" else self.ref(array)
        return f"{name}[{', '.join(map(self.ref, node.args[1:]))}]"

    def array(self, node: Node) -> str:
        """An array as it was when the turn, which is being gone through in reverse, had come here."""
        return self.undone.get(self.root(node)) or self.ref(node)

    def save(self, node: Node, text: str, scope: Scope) -> None:
        """Reads a value of a turn from the stack that the second run of the loop fills."""
        if node.form not in ("scalar", "python"):
            raise no_rule(node, f"{node.op} in a loop over elements")
        loop: Turns = scope.loop
        loop.saved[text] = node.dtype if node.dtype != "bool" else "bool"
        scope.front.put(f"{text} = s_{text}[{loop.at}]")
        self.saves[text] = loop

    # ---- cotangents ----

    def zero(self, node: Node) -> str:
        if node.form == "object":
            return f"np.zeros_like({self.ref(node)})"
        if node.form == "array":
            return f"np.zeros({self.shape(node)!r}, {dtype_text(node.dtype)})"
        return f"{dtype_text(node.dtype)}(0.0)"

    def root(self, node: Node) -> int:
        key = node.id
        while key in self.roots and self.roots[key] != key:
            key = self.roots[key]
        return key

    def add(self, node: Node, expr: str, of: Node | None = None) -> None:
        """Adds to a node's cotangent."""
        if node not in self.active:
            return
        key = self.root(node)
        name = f"g{key}"
        if key not in self.ct and expr.isidentifier():
            self.ct[key] = expr  # another node's, which nobody changes any more
            self.owned.discard(expr)
            return
        self.owned.discard(name)
        if key in self.ct:
            self.text.put(f"{name} = {self.ct[key]} + {expr}", of)
            if node.form == "array" and node.shape:
                self.owned.add(name)
        else:
            self.text.put(f"{name} = {expr}", of)
        self.ct[key] = name

    def give(self, node: Node, name: str, of: Node | None = None) -> None:
        """Adds an array that nobody else has."""
        key = self.root(node)
        if key in self.ct or node not in self.active:
            self.add(node, name, of)
            return
        self.ct[key] = name
        self.owned.add(name)

    def taken(self, g: str) -> str:
        """The cotangent of a node that is done, as an array that may be written."""
        return g if g in self.owned else self.local(f"np.array({g})")

    def own(self, node: Node, of: Node | None = None) -> str:
        """The node's cotangent, as an array that may be written."""
        key = self.root(node)
        name = f"g{key}"
        if key not in self.ct:
            self.text.put(f"{name} = {self.zero(node)}", of)
        elif self.ct[key] in self.owned:
            return self.ct[key]
        else:
            self.text.put(f"{name} = np.array({self.ct[key]})", of)
        self.ct[key] = name
        self.owned.add(name)
        return name

    def defined(self, node: Node) -> None:
        """Sees to it that there is a cotangent to add to, before a scope inside."""
        if node not in self.active:
            return
        key = self.root(node)
        name = f"g{key}"
        if node.form == "array":
            self.own(node)
            self.owned.add(name)
        if self.ct.get(key) != name:
            self.text.put(f"{name} = {self.ct.get(key, self.zero(node))}")
            self.ct[key] = name

    def local(self, expr: str) -> str:
        self.unique += 1
        self.text.put(f"t{self.unique} = {expr}")
        return f"t{self.unique}"

    def shaped(self, expr: str, of: Node | tuple[int, ...], to: Node) -> str:
        """A cotangent of the shape of `of` as one of `to`, which was broadcast to it."""
        if to.form == "object" or (not isinstance(of, tuple) and of.form == "object"):
            return self.unspread(expr, to)
        wide, thin = of if isinstance(of, tuple) else self.shape(of), self.shape(to)
        if wide == thin:
            return expr
        extra = len(wide) - len(thin)
        if extra == len(wide):
            return f"({expr}).sum()"
        if not extra:
            ones = tuple(i for i, n in enumerate(thin) if n == 1 and wide[i] != 1)
            if any(n not in (1, wide[i]) for i, n in enumerate(thin)):
                return self.unspread(expr, to)  # the run tells
            return f"({expr}).sum(axis={ones!r}, keepdims=True)"
        if 1 in thin:
            return self.unspread(expr, to)
        return f"({expr}).sum(axis={tuple(range(extra))!r})"

    def unspread(self, expr: str, to: Node) -> str:
        """As `shaped`, where only the run tells the shapes."""
        if to.form == "object":
            return f"unspread({expr}, np.shape({self.ref(to)}))"
        return f"unspread({expr}, {self.shape(to)!r})" if to.form == "array" else f"np.sum({expr})"

    def typed(self, expr: str, to: Node, of: Node | None = None) -> str:
        """An expression as a cotangent of `to`, whose dtype may be another than that of `of`."""
        if to.form == "object":
            return expr
        dtype = np.dtype(to.dtype)
        if of is not None and of.form == "object":  # only the run tells its dtype
            cast = f"as_dtype({expr}, {dtype_text(to.dtype)})"
            return cast if to.form == "array" else f"{cast}[()]"
        was = np.dtype(of.dtype) if of is not None else dtype
        if was == dtype and dtype in (np.float64, np.complex128):
            return expr
        real = ".real" if dtype.kind == "f" and was.kind == "c" else ""
        if to.form == "array":
            as_it_is = ", copy=False" if was == dtype else ""
            return f"({expr}){real}.astype({dtype_text(to.dtype)}{as_it_is})"
        return f"{dtype_text(to.dtype)}(({expr}){real})"
