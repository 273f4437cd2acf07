"""`explain(function)(*args)`: runs a function and tells what pycompile made of it.

The runtime adds a record (a dict) for each attempt to make a plan while reports are collected:
csrc/runtime/compile.c.  An Explanation is those records as text, as a dict and as HTML.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

from pycompile import _C
from pycompile._api import (
    _SUSPENDS,
    _compile,
    _require_function,
    _settings,
    _switched_off,
)

Record = dict[str, Any]


class Explanation:
    """What happened in one call: `print` it, take `to_dict()`, or let a notebook show it."""

    def __init__(
        self,
        name: str,
        records: list[Record],
        error: BaseException | None,
        aside: str | None = None,
    ) -> None:
        self.name = name
        self.records = records
        self.error = error
        self.aside = aside  # why the function is not compiled at all

    @property
    def graphs(self) -> list[_C.Graph]:
        """The graphs, after the passes, in order."""
        return [record["graph_object"] for record in self.records if record.get("graph_object")]

    @property
    def breaks(self) -> list[Record]:
        """The graph breaks, in order: code, text, detail, hint, file, line, stack."""
        return [item for record in self.records for item in record.get("breaks") or ()]

    @property
    def guards(self) -> list[str]:
        """The guards' texts, those of every plan."""
        return [text for record in self.records for text in record.get("guards") or ()]

    @property
    def kernels(self) -> int:
        """How many kernels were made."""
        return sum(_kernel_count(record) for record in self.records)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain dicts, lists and strings."""
        return {
            "function": self.name,
            "graphs": len(self.graphs),
            "breaks": self.breaks,
            "kernels": self.kernels,
            "bytes_moved": _bytes_moved(self.records),
            "error": None if self.error is None else f"{type(self.error).__name__}: {self.error}",
            "records": [
                {key: value for key, value in record.items() if key != "graph_object"}
                for record in self.records
            ],
        }

    def __str__(self) -> str:
        lines = [_summary(self)]
        for number, record in enumerate(self.records, 1):
            lines.append("")
            lines.extend(_describe(number, record))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [f"<p>{html.escape(_summary(self))}</p>"]
        for number, record in enumerate(self.records, 1):
            head, *rest = _describe(number, record)
            body = html.escape("\n".join(rest))
            parts.append(
                f"<details><summary>{html.escape(head)}</summary><pre>{body}</pre></details>"
            )
        return "".join(parts)


def explain(
    function: Callable[..., Any],
    /,
    *,
    backend: str | Callable[..., Any] = "c",
    dynamic: None = None,
    fullgraph: bool = False,
    mode: str | None = None,
    numerics: str = "numpy",
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Explanation]:
    """`explain(f)(*args)` compiles `f` afresh, calls it once with the arguments and tells of it.

    The keywords are those of `compile`. The call is real: what it prints and writes, it prints and
    writes. An exception of the function is kept in the Explanation's `error`.
    """
    _require_function(function, "explain")
    settings = _settings(backend, dynamic, fullgraph, mode, numerics, options)

    def run(*args: Any, **kwargs: Any) -> Explanation:
        _C.reset()
        compiled = _compile(function, settings)
        name = getattr(function, "__qualname__", None) or repr(function)
        error: BaseException | None = None
        _C.report_begin()
        try:
            compiled(*args, **kwargs)
        except Exception as raised:
            error = raised
        finally:
            records = _C.report_end()
        aside = _why_aside(function) if compiled is function or _switched_off() else None
        return Explanation(name, records, error, aside)

    return run


def _why_aside(function: Any) -> str:
    """Why `compile` returned the function as it is."""
    if _switched_off():
        return "PYCOMPILE_DISABLE is set"
    if isinstance(function, _C.DisabledFunction):
        return "marked with pycompile.disable"
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & _SUSPENDS:
        return "a generator or coroutine function"
    return "no Python function with bytecode to follow"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _summary(explanation: Explanation) -> str:
    parts = [
        _plural(len(explanation.graphs), "graph"),
        _plural(len(explanation.breaks), "break"),
        _plural(explanation.kernels, "kernel"),
        _plural(len(explanation.guards), "guard"),
    ]
    moved = _bytes_moved(explanation.records)
    if moved:
        parts.append(f"{_size(moved)} moved")
    text = f"{explanation.name}: {', '.join(parts)}"
    if explanation.aside is not None:
        text += f"; left to CPython: {explanation.aside}"
    if explanation.error is not None:
        text += f"; raised {type(explanation.error).__name__}: {explanation.error}"
    return text


def _describe(number: int, record: Record) -> list[str]:
    """The lines about one record; the first is its heading."""
    where = f"{record.get('file', '?')}:{record.get('line', '?')}"
    outcome = {
        "plan": "a plan",
        "none": "left to CPython: no array work worth a plan at this size",
        "failed": f"left to CPython: {record.get('why') or 'not lowered or not compiled'}",
    }.get(record.get("kind", "plan"), str(record.get("kind")))
    lines = [f"[{number}] {record.get('function', '?')} ({where}): {outcome}"]
    if record.get("recompile"):
        lines.append(f"  recompiled because {record['recompile']}")
    if record.get("exit"):
        lines.append(
            f"  leaves by {record['exit']} after {record.get('instructions', '?')} instructions"
        )
    for item in record.get("breaks") or ():
        lines.extend("  " + line for line in _describe_break(item))
    lines.extend(_section("graph", record.get("graph")))
    lines.extend(_section("guards", record.get("guards")))
    kernels = _kernel_count(record)
    if kernels:
        read, written = record.get("bytes_read") or 0, record.get("bytes_written") or 0
        moved = f", {_size(read)} read, {_size(written)} written" if read or written else ""
        lines.append(f"  {_plural(kernels, 'kernel')}{moved}")
    lines.extend(_section("schedule", record.get("schedule")))
    seconds = record.get("seconds")
    if seconds:
        times = ", ".join(f"{name} {value * 1e3:.2f} ms" for name, value in seconds.items())
        lines.append(f"  time: {times}")
    return lines


def _describe_break(item: Record) -> list[str]:
    lines = [f"break {item['code']}: {item['text']} at {item.get('file')}:{item.get('line')}"]
    if item.get("detail"):
        lines.append(f"  {item['detail']}")
    lines.extend(f"  in {line}" for line in (item.get("stack") or "").splitlines())
    if item.get("hint"):
        lines.append(f"  hint: {item['hint']}")
    return lines


def _section(title: str, content: Any) -> list[str]:
    if not content:
        return []
    lines = content.splitlines() if isinstance(content, str) else list(content)
    return [f"  {title}:", *("    " + line for line in lines)]


def _kernel_count(record: Record) -> int:
    kernels = record.get("kernels") or 0
    return kernels if isinstance(kernels, int) else len(kernels)


def _bytes_moved(records: list[Record]) -> int:
    return sum((r.get("bytes_read") or 0) + (r.get("bytes_written") or 0) for r in records)


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
