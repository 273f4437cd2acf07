"""Writes docs/numpy-coverage.md: what becomes of each public name of NumPy in a compiled function.

python docs/make_numpy_coverage.py           writes the page
python docs/make_numpy_coverage.py --check   exit status 1 when the page is not up to date

Each call of tests/numpy_calls.py is compiled and run, and the report says what was made of it.  The
column of differences is measured when the page is written: from these calls, for ufuncs over every dtype
and layout of tests/op_cases.py too (a minute).  The check leaves it as it is: that the bits are NumPy's
is what the tests of the same calls compare.
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

import numpy as np  # noqa: E402
import numpy_calls  # noqa: E402
import op_cases  # noqa: E402
from numpy_cases import function  # noqa: E402

import pycompile  # noqa: E402
from pycompile import _C  # noqa: E402

HEAD = """\
# What of NumPy is compiled

<!-- Made by `python docs/make_numpy_coverage.py` from tests/numpy_calls.py: do not edit. -->

One small call of each public function, attribute and method, compiled and run. The same calls are a test against plain
NumPy (tests/test_numpy_calls.py). The names are those that all supported versions of NumPy have.

- **fused**: operations of the graph, done in kernels, as views, or while compiling; or, for a few (argmax, matmul),
  NumPy called by the operation's step;
- **decomposition**: a short function in terms of fused operations, followed in its place;
- **step**: NumPy's own function, called by the plan in its place; what comes before and after is fused;
- **break**: left to CPython, with the code of docs/graph-breaks.md and the reason; the graph goes on behind it.

The largest difference from plain NumPy is in ulps (units in the last place) of floating-point results: of the call shown,
and of ufuncs over {dtypes} dtypes in {layouts} layouts with NaNs, infinities, zeros of both signs, subnormals and extremes.

"""


def ulps(got: Any, wanted: Any) -> int:
    """The largest distance between floating-point numbers of two results, in ulps."""
    if isinstance(wanted, (tuple, list)):
        return max(map(ulps, got, wanted), default=0)
    if not isinstance(wanted, (np.ndarray, np.inexact, float, complex)):
        return 0
    got, wanted = np.ascontiguousarray(got), np.ascontiguousarray(wanted)
    if wanted.dtype.kind not in "fc" or not wanted.size:
        return 0
    real = wanted.real.dtype
    signed = np.dtype(f"i{real.itemsize}")
    places = []
    for values in (got, wanted):
        bits = values.reshape(-1).view(real).view(signed).astype(object)
        low = int(np.iinfo(signed).min)
        places.append(np.array([low - bit if bit < 0 else bit for bit in bits], object))
    numbers = ~(np.isnan(got.reshape(-1).view(real)) & np.isnan(wanted.reshape(-1).view(real)))
    return int(max(np.abs(places[0] - places[1])[numbers], default=0))


DECOMPOSED = {row.name for row in _C.numpy_functions() if row.way == "decomposed"}


def outcome(name: str, call: str) -> tuple[str, str, int]:
    """What becomes of the call, why it is a break, and how far from NumPy's its result is."""
    pycompile.reset()
    plain = numpy_calls.function(call)
    compiled = pycompile.compile(plain)
    _C.report_begin()
    try:
        got = compiled(*numpy_calls.arguments().values())
    finally:
        records = _C.report_end()
    far = ulps(got, plain(*numpy_calls.arguments().values()))
    breaks = [item for record in records for item in record.get("breaks") or ()]
    if breaks:
        return "break", f"{breaks[0]['code']}: {breaks[0]['text']}", far
    if any("extern(" in (record.get("graph") or "") for record in records):
        return "step", "", far
    return ("decomposition" if name in DECOMPOSED else "fused"), "", far


def ufunc_differences() -> dict[str, int]:
    """For each ufunc the largest difference over all dtypes and layouts."""
    found: dict[str, int] = {}
    for dtype in op_cases.DTYPES:
        for layout in op_cases.LAYOUTS:
            x, y = op_cases.operands(dtype, layout)
            for lines in op_cases.batches(op_cases.fits(op_cases.calls(dtype), x, y), 30):
                pycompile.reset()
                plain = function(*lines)
                for line, got, wanted in zip(lines, pycompile.compile(plain)(x, y), plain(x, y)):
                    name = line.removeprefix("np.").partition("(")[0]
                    found[name] = max(found.get(name, 0), ulps(got, wanted))
    return found


def written_differences() -> dict[tuple[str, str], str]:
    """The column of differences as the page has it, by section and name."""
    found = {}
    section = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = line.split(" | ")
        if line.startswith("| ") and len(cells) >= 4:
            found[section, cells[0][2:]] = cells[2]
    return found


def page(measure: bool) -> str:
    """The page's text; `measure`: with differences measured now, not those that the page has."""
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
        far = ufunc_differences() if measure else {}
    seen = {} if measure else written_differences()
    kinds = ("fused", "decomposition", "step", "break")
    counts = {"dtypes": len(op_cases.DTYPES), "layouts": len(op_cases.LAYOUTS)}
    lines = [
        HEAD.format(**counts),
        "| | " + " | ".join(kinds) + " | not a break |\n|---|" + "---:|" * 5 + "\n",
    ]
    total = dict.fromkeys(kinds, 0)
    for section, rows in [*found.items(), ("all", None)]:
        count = dict.fromkeys(kinds, 0) if rows is not None else total
        for kind, *_ in (rows or {}).values():
            count[kind] += 1
            total[kind] += 1
        share = 100 * (1 - count["break"] / sum(count.values()))
        numbers = " | ".join(str(count[kind]) for kind in kinds)
        lines.append(f"| {section} | {numbers} | {share:.1f} % |\n")
    for section, rows in found.items():
        lines.append(f"\n## {section}\n\n| name | how | ulps | call |\n|---|---|---:|---|\n")
        for name, (kind, why, apart) in sorted(rows.items(), key=lambda row: row[0].lower()):
            ulp = seen.get((section, name)) or str(max(apart, far.get(name, 0)))
            call = numpy_calls.SECTIONS[section][name].replace("|", "\\|")
            how = f"break, {why}".replace("|", "\\|") if why else kind
            lines.append(f"| {name} | {how} | {ulp} | `{call}` |\n")
    lines.append("\n## Left out\n\nWhat is no array computation.\n\n| why | names |\n|---|---|\n")
    for why, names in numpy_calls.NATURE.items():
        listed = " ".join(name for name in names.split() if name not in numpy_calls.NOT_EVERYWHERE)
        lines.append(f"| {why} | {listed} |\n".replace("*", "\\*"))
    return "".join(lines)


def main() -> int:
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("PYCOMPILE_CACHE_DIR", cache)
        checking = sys.argv[1:] == ["--check"]
        text = page(measure=not checking)
    if checking:
        return int(not PAGE.exists() or PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
