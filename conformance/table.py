"""docs/conformance-python.md out of the results that are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEAD = """\
# CPython's own tests under pycompile

Made by `make conformance`; do not edit. For each module of the `test` package: its tests, how many pass
plain, how many of those pass under `pycompile run` (normal) and with `--capture-all` (all), and of the calls
of Python functions made with `--capture-all` the share that plans did whole, in the module's own file and
in all files (the library's included). The bodies of modules and classes are no calls of functions and
are not counted; a generator's call counts as left. Tests that may differ are listed with their reasons in
`conformance/exceptions.txt`.
"""


def _share(frames: dict[str, list[int]], part: str) -> str:
    sums = [sum(each) for each in zip(*(v for k, v in frames.items() if part in k))] or [0, 0, 0]
    return f"{sums[0] / sum(sums):.0%} of {sum(sums):,}" if sum(sums) else "-"


def _cell(record: dict[str, Any], mode: str) -> str:
    if mode not in record:
        return "-"
    plain = record["plain"]["tests"]
    good = [name for name, outcome in plain.items() if outcome in ("pass", "skip", "expected")]
    open_ones = [name for name, one in record["differ"][mode].items() if not one["accepted"]]
    accepted = len(record["differ"][mode]) - len(open_ones)
    extra = f" ({accepted} may differ)" if accepted else ""
    return f"{len(good) - len(open_ones) - accepted}{extra}"


def _row(record: dict[str, Any]) -> str:
    plain = record["plain"]
    good = sum(outcome in ("pass", "skip", "expected") for outcome in plain["tests"].values())
    frames = record.get("all", {}).get("frames", {})
    own = f"/test/{record['module']}"
    cells = [
        record["module"],
        str(len(plain["tests"])),
        str(good),
        _cell(record, "normal"),
        _cell(record, "all"),
        _share(frames, own),
        _share(frames, ""),
    ]
    return f"| {' | '.join(cells)} |"


def write_table(folder: Path, path: Path) -> None:
    parts = [HEAD]
    for version in sorted(folder.iterdir(), key=lambda p: [int(n) for n in p.name.split(".")]):
        records = [json.loads(p.read_text()) for p in sorted(version.glob("*.json"))]
        parts.append(f"\n## Python {version.name}\n")
        parts.append(
            "| module | tests | plain | normal | all | whole, own | whole, all files |\n"
            "|---|--:|--:|--:|--:|--:|--:|"
        )
        parts += [_row(record) for record in records if record["plain"]["tests"]]
        differ = [
            f"| {record['module']} | `{name}` | {mode} | {one['outcome']} | {one['accepted'] or '**open**'} |"
            for record in records
            for mode in ("normal", "all")
            for name, one in record["differ"].get(mode, {}).items()
        ]
        if differ:
            parts.append("\n| module | test | mode | outcome | reason |\n|---|---|---|---|---|")
            parts += differ
    path.write_text("\n".join(parts) + "\n")
