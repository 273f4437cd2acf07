"""The picture of the README: how many times as fast as NumPy some programs are with each compiler.

python -m benchmarks.picture --write docs/bench.svg     measures, draws, and tells README.md the times
python -m benchmarks.picture --quick                    small arrays, few rounds: does it run

Each contender gets the NumPy function as it stands, on arrays of float32.  All of a program's contenders
take turns in one process, and the shortest round of each counts.  First calls are not in the picture.
"""

from __future__ import annotations

import argparse
import copy
import importlib.metadata
import math
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from benchmarks.cases import CASES
from benchmarks.measure import Call, interleaved
from benchmarks.peers import PEERS, Unsupported

README = Path(__file__).resolve().parent.parent / "README.md"

#: What the bars are named, their packages and colours, in the order of the picture.
CONTENDERS = {
    "numpy": ("NumPy", "numpy", "#9a9a9a"),
    "numba": ("Numba", "numba", "#4c9f70"),
    "jax": ("JAX", "jax", "#8e6bbf"),
    "torch": ("torch.compile", "torch", "#e08a3c"),
    "pycompile": ("pycompile", "pycompile", "#2f6fb7"),
}
#: The programs, by their names in benchmarks/cases.py.  The first is the one that README.md shows.
PROGRAMS = {
    "chain 4096x4096": "gelu, 4096 x 4096",
    "softmax 4096x1024": "softmax, 4096 x 1024",
    "layernorm 4096x1024": "layernorm, 4096 x 1024",
    "pairwise 1000x1000x16": "distances, 1000 x 1000 x 16",
    "Jacobi, ten steps": "Jacobi, ten steps, 2048 x 2048",
    "recurrence 1e6": "recurrence in a for loop, 1e6",
}
BEGIN, END = "<!-- measured -->", "<!-- end -->"


def version(package: str) -> str:
    if package == "pycompile":
        import pycompile

        return str(pycompile.__version__)
    return importlib.metadata.version(package).split("+")[0]


# ---- measuring ----


def measure(name: str, chosen: list[str], quick: bool) -> tuple[dict[str, float], dict[str, str]]:
    """Seconds of a call by contender, and why others have none."""
    (case,) = [case for case in CASES if case.name == name]
    args = case.arguments(np.random.default_rng(0), np.float32, quick)
    calls: dict[str, Call] = {}
    missing = {}
    for contender in chosen:
        try:
            call = PEERS[contender](case, copy.deepcopy(args))
            call()
        except Unsupported as why:
            missing[contender] = str(why)
        except Exception as why:  # a peer that cannot run a program is a result, not a failure
            if contender in ("numpy", "pycompile"):
                raise
            missing[contender] = type(why).__name__
        else:
            calls[contender] = call
    rounds, at_least = (2, 0.001) if quick else (20, 0.02)
    return interleaved(calls, rounds, at_least, min), missing


# ---- drawing ----

WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 760, 210, 24, 13, 14, 44
TEXT = 'font-family="system-ui, sans-serif" font-size="12"'


def label(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {TEXT} fill="#333" {more}>{escape(text)}</text>'


def position(times: float, most: float) -> float:
    """Where a bar of so many times as fast as NumPy ends: the axis is logarithmic, from a half."""
    share = math.log(max(times, 0.5) / 0.5) / math.log(most / 0.5)
    return LEFT + share * (WIDTH - LEFT - RIGHT - 40)


def axis(most: float, bottom: float) -> list[str]:
    lines = []
    for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500):
        if tick <= most:
            x = position(tick, most)
            shade = "#888" if tick == 1 else "#e4e4e4"
            lines.append(f'<path d="M{x:.1f} {TOP - 6}V{bottom:.1f}" stroke="{shade}"/>')
            lines.append(label(x, bottom + 14, f"{tick:g}x", 'text-anchor="middle"'))
    return lines


def legend(chosen: list[str]) -> list[str]:
    lines, x = [], 12.0
    for contender in chosen:
        name, package, colour = CONTENDERS[contender]
        shown = f"{name} {version(package)}"
        lines.append(f'<rect x="{x:.1f}" y="12" width="12" height="12" fill="{colour}"/>')
        lines.append(label(x + 17, 22, shown))
        x += 32 + 6.6 * len(shown)
    return lines


def amount(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def bars(row: dict[str, Any], chosen: list[str], y: float, most: float) -> list[str]:
    lines = [label(LEFT - 10, y + BAR * len(chosen) / 2 + 4, row["name"], 'text-anchor="end"')]
    for contender in chosen:
        seconds = row["seconds"].get(contender)
        if seconds is None:
            shown = f"{CONTENDERS[contender][0]}: {row['missing'][contender]}"
            lines.append(label(LEFT + 4, y + BAR - 3, shown, 'font-style="italic"'))
        else:
            times = row["seconds"]["numpy"] / seconds
            end = position(times, most)
            lines.append(
                f'<rect x="{LEFT}" y="{y:.1f}" width="{max(end - LEFT, 1):.1f}" height="{BAR - 2}" '
                f'fill="{CONTENDERS[contender][2]}"/>'
            )
            shown = amount(seconds) if contender == "numpy" else f"{times:.3g}x"
            lines.append(label(end + 5, y + BAR - 3, shown))
        y += BAR
    return lines


def drawn(rows: list[dict[str, Any]], chosen: list[str], machine: str) -> str:
    """The picture, as SVG."""
    fastest = max(row["seconds"]["numpy"] / s for row in rows for s in row["seconds"].values())
    most = fastest * 1.15
    step = BAR * len(chosen) + GAP
    bottom = TOP + step * len(rows)
    parts = [*legend(chosen), *axis(most, bottom)]
    for place, row in enumerate(rows):
        parts += bars(row, chosen, TOP + step * place, most)
    note = "times as fast as NumPy, logarithmic; no bar: cannot run the function as it stands"
    parts += [label(12, bottom + 34, note), label(12, bottom + 50, machine)]
    size = f'width="{WIDTH}" height="{bottom + 60}" viewBox="0 0 {WIDTH} {bottom + 60}"'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return "\n".join([head, f"<title>Times as fast as NumPy</title>{ground}", *parts, "</svg>", ""])


def told(seconds: dict[str, float]) -> str:
    """What README.md says below its example."""
    numpy, mine = seconds["numpy"], seconds["pycompile"]
    return (
        f"NumPy takes {amount(numpy)}, pycompile {amount(mine)}: {numpy / mine:.3g} times as fast."
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.picture", description=__doc__)
    parser.add_argument("--write", metavar="FILE", help="the picture; README.md gets its times too")
    parser.add_argument("--quick", action="store_true", help="small arrays: does it run")
    parser.add_argument("--peers", default=",".join(CONTENDERS), help="what is compared")
    options = parser.parse_args()
    asked = set(options.peers.split(",")) | {"numpy", "pycompile"}
    chosen = [name for name in CONTENDERS if name in asked]
    cores = len(os.sched_getaffinity(0))
    machine = f"Python {platform.python_version()}, {cores} cores, float32, one run"
    print(machine)
    rows = []
    for name, shown in PROGRAMS.items():
        seconds, missing = measure(name, chosen, options.quick)
        rows.append({"name": shown, "seconds": seconds, "missing": missing})
        found = [f"{c} {amount(s)}" for c, s in seconds.items()]
        print(f"{shown}: {', '.join([*found, *(f'{c}: {w}' for c, w in missing.items())])}")
    picture = drawn(rows, chosen, machine)
    if options.write:
        Path(options.write).write_text(picture)
        text = README.read_text()
        line = f"{BEGIN}{told(rows[0]['seconds'])}{END}"
        README.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: line, text, flags=re.S))
    return 0


if __name__ == "__main__":
    sys.exit(main())
