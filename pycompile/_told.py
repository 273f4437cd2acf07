"""What `explain` tells of derivatives: each graph's forward and backward text, what the first keeps for
the second, and what that computes again.  In a graph that has both, nothing is kept: what the backward
text reads of the forward pass."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

Record = dict[str, Any]


class _Calls(threading.local):
    """The calls of `explain` that are running, each with its records and their cases."""

    def __init__(self) -> None:
        self.open: list[list[tuple[Any, Record]]] = []


_calls = _Calls()


def begin() -> None:
    _calls.open.append([])


def end() -> list[Record]:
    return [record for _, record in _calls.open.pop()]


def is_asked() -> bool:
    return bool(_calls.open)


def forward(case: Any, kept: Sequence[Any]) -> None:
    """A plan ran under a derivative that is active in some of its inputs."""
    if not _calls.open or not case.inputs:
        return
    values = [
        _value(node, value.dtype, value.shape)
        for node, value in zip(case.kept.values(), kept, strict=True)
        if isinstance(value, (np.ndarray, np.generic))
    ]
    record = _record(case.graph, values) | {"forward": case.forward.source}
    _calls.open[-1].append((case, record))


def followed(graph: Any, kept: Sequence[tuple[Any, Sequence[int]]], backward: str) -> None:
    """A graph gets its pullback, which reads these nodes of it, of these shapes."""
    if not _calls.open or any(record["backward"] == [backward] for _, record in _calls.open[-1]):
        return  # of another attempt to capture it
    values = [_value(node, np.dtype(node.dtype), shape) for node, shape in kept]
    _calls.open[-1].append((None, _record(graph, values) | {"backward": [backward]}))


def _record(graph: Any, kept: list[Record]) -> Record:
    places = [(x.file, x.line) for x in graph.nodes if x.line and x.op != "input"]
    empty: Record = {"forward": None, "backward": [], "again": []}
    return empty | {"places": list(dict.fromkeys(places)), "kept": kept}


def _value(node: Any, dtype: np.dtype[Any], shape: Sequence[int]) -> Record:
    return {
        "what": _name(node),
        "type": f"{dtype}{list(shape)}",
        "bytes": math.prod(shape) * dtype.itemsize,
        "place": (node.file, node.line),
        "argument": node.op == "input",
    }


def backward(case: Any, text: Any, nodes: Sequence[Any]) -> None:
    """Its pullback ran."""
    for of, record in _calls.open[-1] if _calls.open else ():
        if of is case and text.source not in record["backward"]:
            record["backward"].append(text.source)
            record["again"] += [
                {"what": _name(node), "place": (node.file, node.line)}
                for node in nodes
                if node.kind != "view"
            ]


def _name(node: Any) -> str:
    is_call = node.op in ("extern", "ufunc")
    thing = getattr(node.object, "function", node.object) if is_call else None
    return str(getattr(thing, "__name__", None) or {"input": "argument"}.get(node.op, node.op))
