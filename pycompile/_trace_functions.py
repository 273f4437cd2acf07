"""What a trace says of each function: over all processes, its attempts to compile, its runs, what got
in the way, and the bytes that its kernels moved.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

from pycompile import _explain_text as text
from pycompile._html import Kernel, kernels
from pycompile._trace_read import Process, Sources, Trace

Record = dict[str, Any]


@dataclasses.dataclass
class Function:
    """Over all processes."""

    name: str
    file: str
    line: int
    attempts: list[Record] = dataclasses.field(default_factory=list)
    runs: int = 0
    undone: int = 0
    seconds: float = 0.0
    windows: list[tuple[Process, Record]] = dataclasses.field(default_factory=list)
    whys: list[str] = dataclasses.field(default_factory=list)
    given_up: list[Record] = dataclasses.field(default_factory=list)
    left: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)

    @property
    def made(self) -> list[Record]:
        """The attempts that were not put off."""
        return [record for record in self.attempts if record["kind"] != "postponed"]

    @property
    def plans(self) -> list[Record]:
        """Those that gave native code: what the page calls compiled."""
        return [record for record in self.made if record["kind"] == "plan"]

    @property
    def again(self) -> list[Record]:
        return [record for record in self.plans if record.get("recompile")]

    @property
    def compiling(self) -> float:
        return sum(map(spent, self.attempts))


def spent(record: Record) -> float:
    """Seconds of an attempt."""
    return sum(value for value in record["seconds"].values() if isinstance(value, (int, float)))


def functions(trace: Trace) -> list[Function]:
    """The user's first, the most costly first."""
    rows: dict[tuple[str, str, int], Function] = {}

    def key(event: Record) -> tuple[str, str, int]:
        first = "first_line" if "first_line" in event else "line"
        return event["file"], event["function"], event[first]

    def row(event: Record) -> Function:
        file, name, line = key(event)
        return rows.setdefault((file, name, line), Function(name, file, line))

    for process in trace.processes:
        for event in process.events:
            kind = event["event"]
            if kind == "compile":
                row(event).attempts.append(event)
            elif kind == "runs":
                made = process.plan(event["plan"])
                if made is not None:
                    this = row(made)
                    this.runs += event["runs"]
                    this.undone += event["undone"]
                    this.seconds += event["seconds"]
                    this.windows.append((process, event))
            elif kind == "undone":
                row(event).whys.append(event["why"])
            elif kind == "given_up":
                row(event).given_up.append(event)
            elif kind == "function" and key(event) in rows:
                this = row(event)
                for found in event.get("places") or ():
                    if len(found) > 1 and [*map(type, found[:2])] == [int, int]:
                        this.left[found[0]] += found[1]
    return sorted(
        rows.values(), key=lambda f: (text.is_library(f.file), -f.compiling - f.seconds, f.name)
    )


def breaks(function: Function) -> list[Record]:
    """Those of the function, and of what it calls: as explain tells them."""
    return text.breaks_of(function.made, function.name)


def times_left(function: Function, item: Record) -> int:
    """How often native code was left at the line of the function itself that leads to the break."""
    frames = item["frames"]
    return function.left.get(frames[-1][1] if frames else item["line"], 0)


def windows(function: Function) -> dict[int, list[Record]]:
    """Those of each plan, by the id of the record of its compile."""
    found: dict[int, list[Record]] = {}
    for process, window in function.windows:
        found.setdefault(id(process.plan(window["plan"])), []).append(window)
    return found


def lengths_met(inside: list[Record]) -> dict[str, tuple[int, int]]:
    """The least and the most of each symbol, over windows of one plan."""
    found: dict[str, tuple[int, int]] = {}
    for window in inside:
        for name, (least, most, _) in (window.get("lengths") or {}).items():
            before = found.get(name, (least, most))
            found[name] = min(least, before[0]), max(most, before[1])
    return found


def serves_all(record: Record, guard: str) -> bool:
    """Is what the guard compared a length for which the record's code serves every value?"""
    return any(guard in symbol["of"] for symbol in record.get("symbols") or ())


def causes(function: Function) -> list[tuple[str, list[Record]]]:
    """The attempts that a failed guard made necessary, by the guard and the line that asks for it."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in function.again:
        cause = record.get("cause") or {}
        guard = cause.get("guard") or record["recompile"]
        found.setdefault((guard, str(cause.get("place"))), []).append(record)
    return [(guard, records) for (guard, _), records in found.items()]


def where(record: Record, sources: Sources) -> tuple[str, int]:
    """File and line of the guard that failed."""
    told = (record.get("cause") or {}).get("place")
    if isinstance(told, str) and told:
        return sources.file_of(told, record["file"])
    return record["file"], record["line"]


def values(records: list[Record]) -> list[str]:
    """The values that a guard has met, in order."""
    found = []
    for record in records:
        cause = record.get("cause") or {}
        found += [value for value in (cause.get("old"), cause.get("new")) if value]
    return list(dict.fromkeys(found))


# ---- bytes ----


@dataclasses.dataclass
class Mover:
    """A kernel, in all plans that have it."""

    function: str
    item: Kernel
    runs: int = 0
    bytes: int = 0
    plan_bytes: int = 0  # what the plans have moved with all of their kernels …
    seconds: float = 0.0  # … in so much time

    @property
    def speed(self) -> float:
        return self.plan_bytes / self.seconds if self.seconds else 0.0


def movers(rows: list[Function]) -> list[Mover]:
    """The kernels that have run, those that moved most bytes first."""
    found: dict[Any, Mover] = {}
    for row in rows:
        of_plan = windows(row)
        for record in row.plans:
            for window in of_plan.get(id(record), ()):
                _add_window(found, row, record, window)
    return sorted(found.values(), key=lambda mover: -mover.bytes)


def _add_window(found: dict[Any, Mover], row: Function, record: Record, window: Record) -> None:
    runs = window["runs"] - window["undone"]
    means = {name: mean for name, (_, _, mean) in (window.get("lengths") or {}).items()}
    inside = kernels(record, means)
    for item in inside if runs else ():
        key = row.file, row.name, item.name, item.text, item.lines
        this = found.setdefault(key, Mover(row.name, item))
        this.runs += runs
        this.bytes += runs * item.moved
        this.plan_bytes += runs * sum(other.moved for other in inside)
        this.seconds += window["seconds"]
