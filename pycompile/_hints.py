"""The log perf_hints: at exit, the functions that lost time to breaks, recompiles and deopts.

The most costly come first.  What runs that were undone cost is measured.  The rest is reckoned: by the
counts of csrc/runtime/hints.c and the weights below.
"""

from __future__ import annotations

import atexit
from typing import Any

from pycompile import _C

MOST = 20  # functions that are told of
BREAK, DEOPT, RECOMPILE, GIVEN_UP = 0.5e-6, 0.5e-6, 10e-3, 20e-3  # seconds; DEOPT: none was timed


def wanted() -> bool:
    said = _C.log_spec().replace(",", " ").split()
    return "perf_hints" in said or "all" in said


def cost(record: dict[str, Any]) -> float:
    """Seconds, roughly."""
    found: float = (
        record["breaks"] * BREAK
        + (record["undone_seconds"] or record["deopts"] * DEOPT)
        + record["recompiles"] * RECOMPILE
        + record["given_up"] * GIVEN_UP
    )
    return found


def describe(record: dict[str, Any]) -> str:
    counts = ", ".join(
        f"{record[key]} {one if record[key] == 1 else more}"
        for key, one, more in (
            ("breaks", "run left a graph", "runs left a graph"),
            ("deopts", "deopt", "deopts"),
            ("recompiles", "recompile", "recompiles"),
            ("given_up", "place given up", "places given up"),
        )
        if record[key]
    )
    where = f"{record['function']} ({record['file']}:{record['line']})"
    lines = [f"{where}: about {cost(record) * 1e3:.3g} ms lost: {counts}"]
    said = set()  # hints, each of which is given once
    places = sorted(record["places"], key=lambda place: -place[1])
    for line, count, code, text, hint, detail in places[:5]:
        times = f"{count} {'time' if count == 1 else 'times'} " if count else ""
        lines.append(f"  {times}at line {line}: {code} {text}{': ' if detail else ''}{detail}")
        if hint and hint not in said:
            lines.append(f"    hint: {hint}")
        said.add(hint)
    for name, place, count, values, more, remedy in sorted(
        record["varied"], key=lambda varied: -varied[2]
    )[:5]:
        times = f"{count} {'time' if count == 1 else 'times'}"
        if values:
            seen = ", ".join(values) + (", ..." if more else "")
            lines.append(f"  {times} no plan held because {name} varied: {seen}{place}")
        else:
            lines.append(f"  {times} no plan held because {name}{place}")
        if remedy and remedy not in said:
            lines.append(f"    hint: {remedy}")
        said.add(remedy)
    return "\n".join(lines)


def tell() -> None:
    """To the log, the most costly first."""
    if not wanted():
        return
    records = sorted((r for r in _C.hints() if cost(r) > 0), key=cost, reverse=True)
    for record in records[:MOST]:
        _C.hints_tell(describe(record))


def tell_at_exit() -> None:
    atexit.register(tell)
