"""Loops over elements as people write them, plain, compiled, by Numba and in C: python -m benchmarks.loops.

The programs are in loop_programs.py, turn_programs.py and part_programs.py.  Each row is a median of
alternating calls on fresh copies of the arguments; the times of copying are taken off.  Half of the
calls of compiled code come right after the plain one, which leaves the processor's caches cold, and half
after other compiled code.  `first` is the first compiled call beyond the ones after it, with an empty
disk cache.  Numba's column has what it compiles with the same bits (its integers wrap, its indices are
not checked); `C`, the same program written by hand (loops.c).  `of C` is how many times as long
pycompile takes."""

from __future__ import annotations

import argparse
import copy
import ctypes
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import pycompile
from benchmarks import loop_programs, loops_c, part_programs, turn_programs

try:
    import numba
except ImportError:
    numba = None

ROUNDS = 8


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        a.copy()
        if isinstance(a, (np.ndarray, dict))
        else copy.deepcopy(a)
        if isinstance(a, np.random.Generator)
        else a
        for a in args
    )


# What makes a call of a contender on given arguments.
Bind = Callable[..., Callable[[], Any]]


def timed(bind: Bind, args: tuple[Any, ...]) -> tuple[float, Any]:
    """Seconds of a call, and what it gave and left in its arguments."""
    mine = copies(args)
    call = bind(*mine)
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, (result, mine)


def bits(seen: Any) -> list[Any]:
    result, args = seen
    parts = list(result) if isinstance(result, tuple) else [result]
    parts = [
        part.bit_generator.state if isinstance(part, np.random.Generator) else part
        for part in (*parts, *args)
    ]
    texts = [repr(part) if isinstance(part, dict) else part for part in parts]
    return [np.asarray(part).tobytes() for part in texts]


def contenders_of(function: Callable[..., Any], library: ctypes.CDLL) -> dict[str, Bind]:
    contenders: dict[str, Bind] = {
        "plain": partial(partial, function),
        "pycompile": partial(partial, pycompile.compile(function)),
    }
    if numba is not None:
        contenders["numba"] = partial(partial, numba.njit(function))
    in_c = loops_c.c_program(library, function.__name__)
    if in_c is not None:
        contenders["C"] = in_c
    return contenders


def measure(contenders: dict[str, Bind], args: tuple[Any, ...]) -> dict[str, Any]:
    _, wanted = timed(contenders["plain"], args)
    first: dict[str, float] = {}
    same: dict[str, bool] = {}
    for name in list(contenders):
        try:
            first[name], seen = timed(contenders[name], args)
            timed(contenders[name], args)
        except Exception as error:
            if name != "numba":
                raise
            print(f"Numba: {type(error).__name__} in the program below", file=sys.stderr)
            del contenders[name]
            continue
        same[name] = bits(seen) == bits(wanted)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(ROUNDS):
        compiled = [name for name in contenders if name != "plain"]
        for name in ["plain", *(compiled if number % 2 else reversed(compiled))]:
            seconds[name].append(timed(contenders[name], args)[0])
    found: dict[str, Any] = {name: statistics.median(times) for name, times in seconds.items()}
    found["first"] = first["pycompile"] - found["pycompile"]
    found["same"] = same
    return found


def stays_loop(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """A graph has it as a loop, and no other loop of it was unrolled until the graph ended."""
    explanation = pycompile.explain(pycompile.compile(function))(*copies(args))
    loops = any(f" = {op}(" in str(g) for g in explanation.graphs for op in ("loop", "repeat"))
    return loops and not any("did not stay a loop" in str(b) for b in explanation.breaks)


def mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def ratio(row: dict[str, Any], over: str, under: str) -> float | None:
    """None where one of the two is not there or has other bits than plain Python."""
    if not (row["same"].get(over) and row["same"].get(under)):
        return None
    return float(row[over] / row[under])


def text(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def print_row(name: str, row: dict[str, Any], ratios: dict[str, float | None]) -> None:
    thousandths = {n: row[n] * 1e3 for n in row if n not in ("same", "stays")}
    differ = [n for n, same in row["same"].items() if not same and n != "numba"]
    print(
        f"{name:<18}{text(thousandths['plain'], 3):>10}{text(thousandths['pycompile'], 4):>11}"
        f"{text(thousandths.get('numba'), 4):>9}{text(thousandths.get('C'), 4):>9}"
        f"{text(thousandths['first'], 1):>10}{text(ratios['plain'], 1):>9}"
        f"{text(ratios['numba'], 2):>9}{text(ratios['C'], 2):>7}"
        f"{'' if row['stays'] else '  no loop'}{'  DIFFERS: ' + ', '.join(differ) if differ else ''}",
        flush=True,
    )


def print_means(rows: dict[str, dict[str, float | None]]) -> None:
    found: dict[str, dict[str, float]] = {name: {} for name in ("plain", "numba", "C")}
    for program, ratios in rows.items():
        for name, value in ratios.items():
            if value is not None:
                found[name][program] = value
    if found["plain"]:
        print(f"geometric mean over plain {mean(list(found['plain'].values())):.1f}", end="")
        print(f", over Numba {mean(list(found['numba'].values())):.2f}" if found["numba"] else "")
    slow = [name for name, ratio in found["numba"].items() if ratio < 0.5]
    print(f"slower than two of Numba's: {', '.join(slow) or 'none'}")
    if found["C"]:
        worst = max(found["C"], key=lambda program: found["C"][program])
        print(
            f"of C: {len(found['C'])} programs, geometric mean "
            f"{mean(list(found['C'].values())):.2f}, worst {found['C'][worst]:.2f} ({worst})"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loops", description=__doc__)
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    chosen = parser.parse_args()
    library = loops_c.compiled()
    print(
        f"{'program':<18}{'plain ms':>10}{'pycompile':>11}{'numba':>9}{'C':>9}{'first ms':>10}"
        f"{'x plain':>9}{'x numba':>9}{'of C':>7}"
    )
    rows: dict[str, dict[str, float | None]] = {}
    all_same, stay = True, 0
    modules = (loop_programs, turn_programs, part_programs)
    programs = {f: args for module in modules for f, args in module.arguments().items()}
    for function, args in programs.items():
        name = function.__name__
        if chosen.only not in name:
            continue
        row = measure(contenders_of(function, library), args)
        row["stays"] = stays_loop(function, args)
        stay += row["stays"]
        rows[name] = {
            "plain": ratio(row, "plain", "pycompile"),
            "numba": ratio(row, "numba", "pycompile"),
            "C": ratio(row, "pycompile", "C"),
        }
        print_row(name, row, rows[name])
        all_same = all_same and row["same"]["pycompile"] and row["same"].get("C", True)
    print(f"{stay} of {len(rows)} stay loops")
    print_means(rows)
    return not all_same


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="pycompile-bench-") as folder:
        os.environ.setdefault("PYCOMPILE_CACHE_DIR", folder)
        sys.exit(main())
