"""docs/conformance-python.md out of the results that are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.lists import exception_for
from conformance.modes import GOOD

HEAD = """\
# CPython's own tests under pycompile

Made by `make conformance` on each version and `make conformance-table`; do not edit. For each module of
the `test` package: its tests, how many pass plain, how many of those
pass under `pycompile run` from the start (normal) and with `--capture-all` (all).
Then, of the calls of Python functions made with `--capture-all` in all files, the library's included, the
shares that plans did whole, in part and not at all, and the tests all of whose calls were done whole
(unittest's own calls apart). The bodies of modules and classes are no calls of functions and are not
counted; a generator's call counts as left. For orientation: PyTorch's port of such files passes without a
break 37 of 81 tests in `test_copy`, 50 of 135 in `test_str`, 15 of 78 in `test_calendar` and 0 of 57 in
`test_listcomps`. Modules without tests here (other systems, resources that CPython's own runner leaves
out) are not listed. -: not run that way. A test that differs is either listed with its reason, in
`conformance/exceptions.txt`, or open. A test differs that passes plain and fails in two runs under
pycompile, with a plain run between them that passes.
"""
COLUMNS = "| module | tests | plain | normal | all | whole | part | left | tests whole |"


class _Row:
    """The numbers of one module, or of all."""

    def __init__(self) -> None:
        self.tests = self.plain = self.whole = 0
        self.passed: dict[str, int] = {}
        self.frames = [0, 0, 0]
        self.counted = 0  # tests, where it is known which were done whole

    def add(self, other: _Row) -> None:
        self.tests += other.tests
        self.plain += other.plain
        self.whole += other.whole
        self.counted += other.counted
        self.frames = [a + b for a, b in zip(self.frames, other.frames)]
        for mode, count in other.passed.items():
            self.passed[mode] = self.passed.get(mode, 0) + count

    def cells(self) -> list[str]:
        total = sum(self.frames)
        shares = [f"{part / total:.1%}" if total else "-" for part in self.frames]
        whole = f"{self.whole} of {self.counted}" if self.counted else "-"
        modes = [str(self.passed.get(mode, "-")) for mode in ("normal", "all")]
        return [str(self.tests), str(self.plain), *modes, *shares, whole]


def _row(record: dict[str, Any]) -> _Row:
    row = _Row()
    outcomes = record["plain"]["tests"]
    row.tests = len(outcomes)
    row.plain = sum(outcome in GOOD for outcome in outcomes.values())
    for mode in ("normal", "all"):
        if mode in record:
            row.passed[mode] = row.plain - len(record["differ"][mode])
    for counts in record.get("all", {}).get("frames", {}).values():
        row.frames = [a + b for a, b in zip(row.frames, counts)]
    if "whole" in record.get("all", {}):
        row.whole, row.counted = len(record["all"]["whole"]), row.tests
    return row


def _differences(records: list[dict[str, Any]], version: str) -> list[str]:
    """Rows of those with a reason, then of those without."""
    rows: list[tuple[bool, str]] = []
    for record in records:
        for mode, found in record["differ"].items():
            for name, one in found.items():
                reason = exception_for(mode, record["module"], name, version)
                short = name.removeprefix(f"test.{record['module']}.")
                cells = [record["module"], f"`{short}`", mode, one["outcome"], reason or "**open**"]
                rows.append((not reason, f"| {' | '.join(cells)} |"))
    return [row for _, row in sorted(rows)]


def _summary(records: list[dict[str, Any]], version: str) -> list[str]:
    """For each mode: how many modules were run, at which commits, and in how many nothing is open."""
    lines = []
    for mode in ("normal", "all"):
        ran = [record for record in records if mode in record]
        opened = [
            sum(not exception_for(mode, record["module"], name, version) for name in found)
            for record in ran
            for found in [record["differ"][mode]]
        ]
        made: dict[str, int] = {}
        for record in ran:
            text = record.get("made", {}).get(mode, "an older state")
            made[text] = made.get(text, 0) + 1
        states = ", ".join(f"{count} at {text}" for text, count in sorted(made.items()))
        lines.append(
            f"- {mode}: {len(ran)} modules run ({states}); {sum(not n for n in opened)} without an open "
            f"difference, {sum(opened)} tests open in the others"
        )
    return lines


def write_table(folder: Path, path: Path) -> None:
    parts = [HEAD]
    versions = [p for p in folder.iterdir() if p.is_dir()]
    for version in sorted(versions, key=lambda p: [int(n) for n in p.name.split(".")]):
        records = [json.loads(p.read_text()) for p in sorted(version.glob("*.json"))]
        records = [record for record in records if record["plain"]["tests"]]
        rows = {record["module"]: _row(record) for record in records}
        total = _Row()
        for row in rows.values():
            total.add(row)
        parts.append(f"\n## Python {version.name}\n")
        parts += _summary(records, version.name)
        parts.append(f"\n{COLUMNS}\n|---|{'--:|' * 8}")
        parts += [f"| {name} | {' | '.join(row.cells())} |" for name, row in rows.items()]
        parts.append(f"| {len(rows)} modules | {' | '.join(total.cells())} |")
        differ = _differences(records, version.name)
        if differ:
            parts.append("\n| module | test | mode | outcome | reason |\n|---|---|---|---|---|")
            parts += differ
    path.write_text("\n".join(parts) + "\n")
