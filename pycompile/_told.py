"""What `explain` tells of derivatives: each graph's forward and backward text, what the first keeps for
the second, and what that computes again."""

from __future__ import annotations

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


def forward(case: Any, kept: Sequence[Any]) -> None:
    """A plan ran under a derivative that is active in some of its inputs."""
    if not _calls.open or not case.inputs:
        return
    places = [(node.file, node.line) for node in case.graph.nodes if node.line]
    values = [
        {
            "what": _name(node),
            "type": f"{value.dtype}{list(value.shape)}",
            "bytes": value.nbytes,
            "place": (node.file, node.line),
            "argument": node.op == "input",
        }
        for node, value in zip(case.kept.values(), kept, strict=True)
        if isinstance(value, (np.ndarray, np.generic))
    ]
    record: Record = {
        "places": list(dict.fromkeys(places)),
        "forward": case.forward.source,
        "backward": [],
        "kept": values,
        "again": [],
    }
    _calls.open[-1].append((case, record))


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
