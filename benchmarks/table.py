"""Every program of the examples, the benchmark and the tests that runs longer than 100 us, compiled
against plain NumPy: python -m benchmarks.table [--only NAME] [--write FILE].

Both take turns, on fresh copies of the arguments where the program writes into them, and the median
counts.  pycompile has its default options, so that a plan that turned out slower has been dropped.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import math
import os
import platform
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pycompile
from benchmarks import loop_programs
from benchmarks.cases import CASES

ROOT = Path(__file__).resolve().parent.parent
LEAST = 100e-6  # seconds: what is shorter is not in the table
SLOWEST = 0.95  # of plain NumPy
WARM_CALLS = 12  # at least: a plan is made, and compared with plain code
SHAPE = (200, 300)  # of the arrays that programs of the tests get
DTYPES = ("float32", "uint8", "complex64")

Function = Callable[..., Any]


class Program(NamedTuple):
    name: str
    function: Function
    arguments: Callable[[], tuple[Any, ...]]
    keywords: dict[str, Any] = {}


class Row(NamedTuple):
    name: str
    plain: float
    compiled: float

    @property
    def ratio(self) -> float:
        return self.plain / self.compiled


# ---- the programs ----


def of_examples() -> Iterator[Program]:
    sys.path.insert(0, str(ROOT / "examples"))
    for module in ("photo", "terrain", "options", "network"):
        for name, (function, arguments) in importlib.import_module(module).FUNCTIONS.items():
            yield Program(f"{module}: {name}", function.__wrapped__, arguments)


def of_benchmark() -> Iterator[Program]:
    for case in CASES:
        for dtype in (np.float32, np.float64):

            def arguments(case: Any = case, dtype: type = dtype) -> tuple[Any, ...]:
                made: tuple[Any, ...] = case.arguments(np.random.default_rng(0), dtype, False)
                return made

            yield Program(f"{case.name}, {dtype.__name__}", case.function, arguments)


def of_loops() -> Iterator[Program]:
    for function, made in loop_programs.arguments().items():
        yield Program(f"loop: {function.__name__}", function, lambda made=made: made)


def some_arrays(dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 7, SHAPE).astype(dtype) for _ in range(2))
    if dtype == "complex64":
        x.imag = rng.integers(-3, 4, SHAPE)
    return x, y


def of_tests() -> Iterator[Program]:
    """Programs of calls from all of NumPy's sections, on larger arrays than in the tests."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "numpy")]
    for name, function in importlib.import_module("test_programs").PROGRAMS.items():
        for dtype in DTYPES:
            yield Program(f"{name}, {dtype}", function, lambda dtype=dtype: some_arrays(dtype))


GROUPS = {
    "Examples": of_examples,
    "Benchmark": of_benchmark,
    "Loops over elements": of_loops,
    "Programs of the tests": of_tests,
}

# ---- measuring ----


class Timer:
    """Calls of one contender, each on arguments as they were at first."""

    def __init__(self, function: Function, program: Program, fresh: bool) -> None:
        self.function, self.program, self.fresh = function, program, fresh
        self.args = copy.deepcopy(program.arguments())

    def __call__(self) -> float:
        args = copy.deepcopy(self.args) if self.fresh else self.args
        began = time.perf_counter()
        try:
            self.function(*args, **self.program.keywords)
        except Exception:  # what a program raises, it raises in both ways
            pass
        return time.perf_counter() - began


def text(value: Any) -> str:
    """What tells whether arguments were written."""
    if isinstance(value, np.ndarray):
        return str(hash(value.tobytes()))
    if isinstance(value, (list, tuple)):
        return str([text(item) for item in value])
    return ""


def writes(program: Program) -> bool:
    args = copy.deepcopy(program.arguments())
    before = text(args)
    try:
        program.function(*args, **program.keywords)
    except Exception:
        pass
    return text(args) != before


def measure(program: Program, seconds: float) -> Row | None:
    """None: the program is too short, or cannot be called twice."""
    try:
        fresh = writes(program)
        plain = Timer(program.function, program, fresh)
        if min(plain() for _ in range(5)) < LEAST:
            return None
        compiled = Timer(pycompile.compile(program.function), program, fresh)
    except (TypeError, ValueError, RecursionError):
        return None
    began = time.perf_counter()
    for call in range(200):
        compiled()
        if call >= WARM_CALLS and time.perf_counter() - began > seconds / 2:
            break
    pairs = []
    began = time.perf_counter()
    while len(pairs) < 5 or (time.perf_counter() - began < seconds and len(pairs) < 500):
        pairs.append((plain(), compiled()))
    return Row(program.name, *(statistics.median(times) for times in zip(*pairs)))


def amount(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


# ---- the table ----


def mean(rows: list[Row]) -> float:
    return math.exp(statistics.fmean(math.log(row.ratio) for row in rows))


def markdown(groups: dict[str, list[Row]]) -> str:
    rows = [row for group in groups.values() for row in group]
    slow = [row for row in rows if row.ratio < SLOWEST]
    lines = [
        "# Speed",
        "",
        f"Every program of the examples, the benchmark and the tests that runs longer than {LEAST * 1e6:.0f} us,",
        "compiled against plain NumPy: medians of calls in turn.  Written by `make bench-table`.",
        "",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {len(os.sched_getaffinity(0))} CPUs.  "
        f"{len(rows)} programs, geometric mean {mean(rows):.2f}, slowest {min(r.ratio for r in rows):.2f}; "
        f"slower than {SLOWEST}: {len(slow) or 'none'}.",
    ]
    for name, found in groups.items():
        if not found:
            continue
        lines += [
            "",
            f"## {name}",
            "",
            "| program | plain | pycompile | speedup |",
            "|---|--:|--:|--:|",
        ]
        for row in found:
            lines.append(
                f"| {row.name} | {amount(row.plain)} | {amount(row.compiled)} | {row.ratio:.2f} |"
            )
    return "\n".join(lines) + "\n"


def options(module: str, doc: str | None, seconds: float) -> argparse.ArgumentParser:
    """What the command line says of programs."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=doc)
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    parser.add_argument("--seconds", type=float, default=seconds, help="for a program, about")
    return parser


def main() -> int:
    parser = options("table", __doc__, 0.5)
    parser.add_argument("--write", metavar="FILE", help="the table as Markdown")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    groups: dict[str, list[Row]] = {}
    for group, programs in GROUPS.items():
        groups[group] = []
        for program in programs():
            if chosen.only not in program.name:
                continue
            row = measure(program, chosen.seconds)
            if row is not None and row.ratio < 1:  # noise does not come twice
                row = max(row, measure(program, 2 * chosen.seconds) or row, key=lambda r: r.ratio)
            if row is None:
                continue
            groups[group].append(row)
            mark = "   slower" if row.ratio < SLOWEST else ""
            print(
                f"{row.name:<44}{amount(row.plain):>10}{amount(row.compiled):>10}{row.ratio:>9.2f}{mark}",
                flush=True,
            )
    found = [row for rows in groups.values() for row in rows]
    if found:
        print(f"{len(found)} programs, geometric mean {mean(found):.2f}")
    if chosen.write and found:
        Path(chosen.write).write_text(markdown(groups))
    return any(row.ratio < SLOWEST for row in found)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="pycompile-bench-") as folder:
        os.environ.setdefault("PYCOMPILE_CACHE_DIR", folder)
        sys.exit(main())
