"""What `explain` tells of derivatives: each graph's forward and backward text, what the first keeps for
the second, and what that computes again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Record = dict[str, Any]

_records: list[list[Record]] = []  # of the calls of `explain` that are running


def begin() -> None:
    _records.append([])


def end() -> list[Record]:
    return _records.pop()


def forward(case: Any, kept: Sequence[Any]) -> None:
    """A plan ran under a derivative that is active in some of its inputs."""
    if not _records or not case.inputs:
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
    _records[-1].append(
        {
            "case": id(case),
            "places": list(dict.fromkeys(places)),
            "forward": case.forward.source,
            "backward": [],
            "kept": values,
            "again": [],
        }
    )


def backward(case: Any, text: Any, nodes: Sequence[Any]) -> None:
    """Its pullback ran."""
    for record in _records[-1] if _records else ():
        if record["case"] == id(case) and text.source not in record["backward"]:
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
