"""Plans whose lengths are symbols beside those whose lengths are known, over the programs of docs/speed.md:
python -m benchmarks.symbols [--only NAME] [--call].

Both take turns, on fresh copies of the arguments where the program writes into them, and the median
counts.  `of static` is how many times as long a call with symbols takes.  With --call, what symbols cost
in a call of a small function, beyond its kernel, and what capture takes by instruction."""

from __future__ import annotations

import argparse
import copy
import math
import os
import statistics
import sys
import tempfile
import time
import warnings
from typing import Any

os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
os.environ.setdefault("PYCOMPILE_WAIT", "1")
os.environ.setdefault("PYCOMPILE_SAMPLE", "0")

import numpy as np

import pycompile
from benchmarks.measure import interleaved
from benchmarks.table import GROUPS, LEAST, Program, Timer, amount, writes

MOST = 1.10  # of the static plan's time


def pair(program: Program, calls: int) -> tuple[Timer, Timer] | None:
    """Its static and its symbolic plan, warm; None: the program is too short, or raises."""
    try:
        fresh = writes(program)
        plain = Timer(program.function, program, fresh)
        if min(plain() for _ in range(3)) < LEAST:
            return None
        found = []
        for dynamic in (False, True):
            compiled = pycompile.compile(program.function, dynamic=dynamic)
            found.append(Timer(compiled, program, fresh))
        for timer in found * calls:
            timer()
    except (TypeError, ValueError, RecursionError):
        return None
    return found[0], found[1]


def measure(program: Program, seconds: float, calls: int) -> tuple[float, float] | None:
    timers = pair(program, calls)
    if timers is None:
        return None
    turns: list[list[float]] = []
    began = time.perf_counter()
    while len(turns) < 7 or (time.perf_counter() - began < seconds and len(turns) < 500):
        turns.append([timer() for timer in timers])
    static, symbolic = (statistics.median(times) for times in zip(*turns))
    return static, symbolic


def three_arguments(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def two_axes(a: Any, b: Any, c: Any) -> Any:
    return (a[1:] * b[1:]).sum(axis=1) + c


def call_cost() -> None:
    rng = np.random.default_rng(0)
    cases = {
        three_arguments: tuple(rng.random((3, 8))),
        two_axes: (rng.random((5, 4)), rng.random((5, 4)), rng.random(4)),
    }
    for function, args in cases.items():
        modes = {d: pycompile.compile(copy.copy(function), dynamic=d) for d in (False, True)}
        calls = {str(d): lambda f=f: f(*args) for d, f in modes.items()}
        found = interleaved(calls, 40, 0.005, min)
        static, symbolic = found["False"] * 1e9, found["True"] * 1e9
        print(
            f"{function.__name__:<20}{static:8.0f} ns{symbolic:8.0f} ns{symbolic - static:8.0f} more"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.symbols", description=__doc__)
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    parser.add_argument("--seconds", type=float, default=0.3, help="for a program, about")
    parser.add_argument("--calls", type=int, default=6, help="before those that count")
    parser.add_argument("--call", action="store_true", help="what a call costs")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.call:
        call_cost()
        return 0
    ratios: dict[str, float] = {}
    for programs in GROUPS.values():
        for program in programs():
            found = None
            if chosen.only in program.name:
                found = measure(program, chosen.seconds, chosen.calls)
            if found is None:
                continue
            if found[1] > MOST * found[0]:  # noise does not come twice
                again = measure(program, 2 * chosen.seconds, chosen.calls)
                found = min(found, again or found, key=lambda pair: pair[1] / pair[0])
            static, symbolic = found
            ratios[program.name] = symbolic / static
            print(
                f"{program.name:<44}{amount(static):>10}{amount(symbolic):>10}"
                f"{symbolic / static:>9.2f}{'   *' if symbolic > MOST * static else ''}",
                flush=True,
            )
    over = [name for name, ratio in ratios.items() if ratio > MOST]
    mean = math.exp(statistics.fmean(map(math.log, ratios.values()))) if ratios else 1.0
    print(f"{len(ratios)} programs, geometric mean {mean:.3f}; {len(over)} over {MOST:.2f}")
    return bool(over)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="pycompile-bench-") as folder:
        os.environ.setdefault("PYCOMPILE_CACHE_DIR", folder)
        sys.exit(main())
