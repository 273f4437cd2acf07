"""Loads in a nest of loops that find in the array, when the nest is done, what they found there in their
turn: of elements that no turn after theirs writes.  So y[i - 1] where each turn writes y[i], and all that
a table's cell reads of cells before it.  The reverse run reads them there, and no stack is filled.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pycompile.derivatives._text import Node


class _Place(NamedTuple):
    """An index: a loop's variable, or none, and a number."""

    loop: int
    offset: int


class _Access(NamedTuple):
    node: Node
    path: tuple[Node, ...]  # the loops around it, the outermost first
    places: tuple[_Place | None, ...]


def final_loads(nest: Node, roots: dict[int, int]) -> dict[int, int]:
    """Loads by their number, with the root of their array."""
    found = _Accesses(nest, roots)
    out: dict[int, int] = {}
    if any(store.node.id not in roots for store in found.stores):
        return out
    for load in found.loads:
        root = roots.get(load.node.args[0].id)
        if root is None or root in found.unknown:
            continue
        stores = [each for each in found.stores if roots.get(each.node.id) == root]
        if all(_is_before(store, load) for store in stores):
            out[load.node.id] = root
    return out


def is_free(nest: Node, roots: dict[int, int], final: Collection[int]) -> bool:
    """Can a turn compute all its numbers again, of arrays alone?"""
    (body,) = nest.regions
    for node in body.nodes:
        if node.op == "loop":
            if not is_free(node, roots, final):
                return False
        elif node.op == "element_load":
            if node.args[0].id in roots and node.id not in final:
                return False
        elif node.op not in ("element_store", "result", "const") and (
            node.regions or node.kind not in ("pointwise", "python", "ufunc")
        ):
            return False
    return not nest.ints and all(param.form == "array" for param in body.params[1:])


class _Accesses:
    """Of a nest, to arrays that it carries."""

    def __init__(self, nest: Node, roots: dict[int, int]) -> None:
        self.roots = roots
        self.loads: list[_Access] = []
        self.stores: list[_Access] = []
        self.unknown: set[int] = set()  # arrays that something else has to do with
        self.variables: dict[int, Node] = {}
        self.walk((nest,), ())

    def walk(self, nodes: Sequence[Node], path: tuple[Node, ...]) -> None:
        for node in nodes:
            if node.op == "element_load":
                self.loads.append(self.access(node, path, node.args[1:]))
            elif node.op == "element_store":
                self.stores.append(self.access(node, path, node.args[1:-1]))
            elif node.op not in ("loop", "cond", "result"):
                self.unknown |= {self.roots[x.id] for x in (node, *node.args) if x.id in self.roots}
            inside = (*path, node) if node.op == "loop" else path
            for region in node.regions:
                if node.op == "loop":
                    self.variables[region.params[0].id] = node
                self.walk(region.nodes, inside)

    def access(self, node: Node, path: tuple[Node, ...], index: Sequence[Node]) -> _Access:
        return _Access(node, path, tuple(map(self.place, index)))

    def place(self, index: Node) -> _Place | None:
        """None: of another form, or it may count from the array's end."""
        form = self.form(index)
        if form is None:
            return None
        least = form.offset
        if form.loop:
            start, stop, step = self.variables[form.loop].args[:3]
            if step.op != "const" or step.object not in (1, -1):
                return None
            bound = start if step.object == 1 else stop
            if bound.op != "const":
                return None
            least += bound.object + (step.object == -1)
        return form if least >= 0 else None

    def form(self, index: Node) -> _Place | None:
        if index.op == "const":
            return _Place(0, int(index.object))
        if index.id in self.variables:
            return _Place(index.id, 0)
        if index.op not in ("py_add", "py_sub"):
            return None
        one, other = map(self.form, index.args)
        if one is None or other is None or (other.loop and (one.loop or index.op == "py_sub")):
            return None
        sign = 1 if index.op == "py_add" else -1
        return _Place(one.loop or other.loop, one.offset + sign * other.offset)


def _is_before(store: _Access, load: _Access) -> bool:
    """Is the element of a load written by a turn before the load's, or by none?"""
    pairs = list(zip(store.places, load.places, strict=True))
    for one, other in pairs:
        if one and other and not one.loop and not other.loop and one.offset != other.offset:
            return True
    for loop, same in zip(store.path, load.path):
        if loop is not same:
            return False
        variable, step = loop.regions[0].params[0].id, loop.args[2]
        apart = [
            (other.offset - one.offset) * step.object
            for one, other in pairs
            if one and other and one.loop == other.loop == variable
        ]
        if not apart or max(apart) > 0:
            return False
        if min(apart) < 0:
            return True
    return False
