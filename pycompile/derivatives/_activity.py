"""Which nodes of a graph depend on what is differentiated."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pycompile.derivatives._called import is_flat, is_ratio
from pycompile.derivatives._elementwise import DISCRETE
from pycompile.derivatives._text import Node, is_float, no_rule


def is_real_valued(node: Node) -> bool:
    if node.form == "object":
        return False
    return is_float(node.dtype) or np.dtype(node.dtype).kind == "c"


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
        if node.op == "extern" and is_ratio(node) and any(x.id in self.ids for x in node.args):
            raise no_rule(node, "as_integer_ratio, whose integers are all of the number")
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
