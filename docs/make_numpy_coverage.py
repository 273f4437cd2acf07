"""Writes docs/numpy-coverage.md: what becomes of each public name of NumPy in a compiled function.

python docs/make_numpy_coverage.py           writes the page
python docs/make_numpy_coverage.py --check   exit status 1 when the page is not up to date

Each call of tests/numpy_calls.py is compiled and run, and the report says what was made of it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "numpy-coverage.md"
os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy_calls  # noqa: E402

import pycompile  # noqa: E402
from pycompile import _C, decompositions  # noqa: E402

HEAD = """\
# What of NumPy is compiled

<!-- Made by `python docs/make_numpy_coverage.py` from tests/numpy_calls.py: do not edit. -->

One small call of each public function, attribute and method, compiled and run. The same calls are a test against plain
NumPy (tests/test_numpy_calls.py). The names are those that all supported versions of NumPy have.

- **fused**: operations of the graph, done in kernels, as views, or while compiling;
- **decomposition**: a short function in terms of fused operations, followed in its place;
- **step**: NumPy's own function, called by the plan in its place; what comes before and after is fused;
- **break**: left to CPython, with the code of docs/graph-breaks.md and the reason; the graph goes on behind it.

"""


def outcome(name: str, call: str) -> tuple[str, str]:
    """What becomes of the call, and why it is a break."""
    pycompile.reset()
    compiled = pycompile.compile(numpy_calls.function(call))
    _C.report_begin()
    try:
        compiled(*numpy_calls.arguments().values())
    finally:
        records = _C.report_end()
    breaks = [item for record in records for item in record.get("breaks") or ()]
    if breaks:
        return "break", f"{breaks[0]['code']}: {breaks[0]['text']}"
    if any("extern(" in (record.get("graph") or "") for record in records):
        return "step", ""
    return ("decomposition" if _object(name) in decompositions.TABLE else "fused"), ""


def _object(name: str) -> Any:
    import numpy as np

    at: Any = np
    for part in name.split("."):
        at = getattr(at, part, None)
    try:
        hash(at)
    except TypeError:
        return None
    return at


def page() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            section: {
                name: outcome(name, call)
                for name, call in calls.items()
                if numpy_calls.exists(name) and name not in numpy_calls.NOT_EVERYWHERE
            }
            for section, calls in numpy_calls.SECTIONS.items()
        }
    kinds = ("fused", "decomposition", "step", "break")
    lines = [HEAD, "| | " + " | ".join(kinds) + " | not a break |\n|---|" + "---:|" * 5 + "\n"]
    total = dict.fromkeys(kinds, 0)
    for section, rows in [*found.items(), ("all", None)]:
        count = dict.fromkeys(kinds, 0) if rows is not None else total
        for kind, _ in (rows or {}).values():
            count[kind] += 1
            total[kind] += 1
        share = 100 * (1 - count["break"] / sum(count.values()))
        numbers = " | ".join(str(count[kind]) for kind in kinds)
        lines.append(f"| {section} | {numbers} | {share:.1f} % |\n")
    for section, rows in found.items():
        lines.append(f"\n## {section}\n\n| name | how | call |\n|---|---|---|\n")
        for name, (kind, why) in sorted(rows.items(), key=lambda row: row[0].lower()):
            call = numpy_calls.SECTIONS[section][name].replace("|", "\\|")
            how = f"break, {why}".replace("|", "\\|") if why else kind
            lines.append(f"| {name} | {how} | `{call}` |\n")
    lines.append("\n## Left out\n\nWhat is no array computation.\n\n| why | names |\n|---|---|\n")
    for why, names in numpy_calls.NATURE.items():
        listed = " ".join(name for name in names.split() if name not in numpy_calls.NOT_EVERYWHERE)
        lines.append(f"| {why} | {listed} |\n".replace("*", "\\*"))
    return "".join(lines)


def main() -> int:
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("PYCOMPILE_CACHE_DIR", cache)
        text = page()
    if sys.argv[1:] == ["--check"]:
        return int(not PAGE.exists() or PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
