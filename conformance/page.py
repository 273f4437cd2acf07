"""docs/conformance.md out of the results that are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.suites import exception_for

HEAD = """\
# Packages' own tests under pycompile

Made by `python -m conformance.packages --table` of the runs of `make conformance-numpy` that are kept; do
not edit. For each suite: how many tests pass plain, and how many of those pass under
`pycompile run --at-once -m pytest` (normal) and the same without the cost model (always:
`PYCOMPILE_PLAN_ALWAYS=1`, a plan for every graph); -: not run. Tests that NumPy marks as slow are left
out. What differs stands below, with the reason where it may. CPython's own tests:
[conformance-python.md](conformance-python.md).

| package | version | suite | tests | plain | normal | always |
|---|---|---|--:|--:|--:|--:|
"""


def _row(record: dict[str, Any]) -> str:
    cells = [record["package"], record["version"], record["suite"]]
    cells += [str(record["tests"]), str(record["passed"])]
    for mode in ("normal", "always"):
        cells.append(str(record["modes"][mode]["passed"]) if mode in record["modes"] else "-")
    return f"| {' | '.join(cells)} |\n"


def _sums(records: list[dict[str, Any]]) -> str:
    """What differs, in all: a sentence for each mode."""
    text = ""
    for mode in ("normal", "always"):
        runs = [record for record in records if mode in record["modes"]]
        plain = sum(record["passed"] for record in runs)
        differ = sum(len(record["modes"][mode]["differ"]) for record in runs)
        text += f"\nIn the mode {mode}, {len(runs)} suites: {plain} tests pass plain, {differ} differ.\n"
    return text


def write_page(folder: Path, path: Path) -> None:
    records = [json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))]
    records = [record for record in records if record["tests"]]
    text = HEAD + "".join(map(_row, records)) + _sums(records)
    differ = [
        f"| {record['suite']} | `{name}` | {mode} | {one['outcome']} | "
        f"{exception_for(mode, name) or '**open**'} |\n"
        for record in records
        for mode, run in record["modes"].items()
        for name, one in run["differ"].items()
    ]
    if differ:
        text += "\n| suite | test | mode | outcome | reason |\n|---|---|---|---|---|\n"
    path.write_text(text + "".join(differ))
