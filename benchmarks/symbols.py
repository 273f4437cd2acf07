"""Plans whose lengths are symbols beside those whose lengths are known, over the programs of docs/speed.md:
python -m benchmarks.symbols [--only NAME] [--call].

Three plans take turns, on fresh copies of the arguments where the program writes into them: one for known
lengths, one whose lengths are symbols (`dynamic=True`), and that with its twin (docs/shapes.md).  The
shortest call of each counts.  Of the last two, how many times as long as the first they take.  With --call,
what symbols cost in a call of a small function, beyond its kernel."""

from __future__ import annotations

import functools
import math
import os
import statistics
import sys
import tempfile
import time
import types
import warnings
from typing import Any

os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
os.environ.setdefault("PYCOMPILE_WAIT", "1")
os.environ.setdefault("PYCOMPILE_SAMPLE", "0")

import numpy as np

import pycompile
from benchmarks.measure import interleaved
from benchmarks.table import GROUPS, LEAST, Program, Timer, amount, options, writes

MOST = 1.10  # of the static plan's time
WAIT = 10.0  # seconds for a twin
CONTENDERS: tuple[tuple[bool, int], ...] = ((False, 0), (True, 0), (True, 1))  # dynamic, twin_after
Times = tuple[float, ...]


def copy_of(function: Any) -> Any:
    """The same function, with plans of its own."""
    code = function.__code__.replace()
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def compiled_of(function: Any, dynamic: bool, twin_after: int) -> Any:
    options = {"twin_after": twin_after}
    return pycompile.compile(copy_of(function), dynamic=dynamic, options=options)


def warm(timer: Timer, twins: bool) -> None:
    began = time.perf_counter()
    calls = 0
    while calls < 6 or (twins and not timer.function.stats()["twins"]):
        timer()
        calls += 1
        if calls > 200 and time.perf_counter() - began > WAIT:
            break


def contenders(program: Program) -> list[Timer] | None:
    """Warm; None: the program is too short, or cannot be called twice."""
    try:
        fresh = writes(program)
        plain = Timer(program.function, program, fresh)
        if min(plain() for _ in range(3)) < LEAST:
            return None
        found = [Timer(compiled_of(program.function, *how), program, fresh) for how in CONTENDERS]
        for timer in found[:2]:
            warm(timer, False)
        warm(found[2], bool(found[1].function.stats()["plans"]))
    except (TypeError, ValueError, RecursionError):
        return None
    return found


def measure(program: Program, seconds: float) -> Times | None:
    timers = contenders(program)
    if timers is None:
        return None
    turns: list[list[float]] = []
    began = time.perf_counter()
    while len(turns) < 7 or (time.perf_counter() - began < seconds and len(turns) < 500):
        turns.append([timer() for timer in timers])
    return tuple(min(times) for times in zip(*turns))


def over(times: Times) -> float:
    return times[2] / times[0]


def three_arguments(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def rows(a: Any, b: Any, c: Any) -> Any:
    return (a * b).sum(axis=1) + c


def parts(a: Any, b: Any, c: Any) -> Any:
    return (a[1:] * b[1:]).sum(axis=1) + c[1:]


def call_cost() -> None:
    rng = np.random.default_rng(0)
    matrices = (rng.random((5, 4)), rng.random((5, 4)), rng.random(5))
    for function, args in (
        (three_arguments, tuple(rng.random((3, 8)))),
        (rows, matrices),
        (parts, matrices),
    ):
        calls = {
            name: functools.partial(compiled_of(function, *how), *args)
            for name, how in zip(("static", "symbols", "twin"), CONTENDERS)
        }
        for _ in range(2000):
            calls["twin"]()
        time.sleep(1.0)
        found = interleaved(calls, 40, 0.005, min)
        cells = "".join(f"{name:>10}{found[name] * 1e9:6.0f} ns" for name in found)
        more = (found["symbols"] - found["static"]) * 1e9
        print(f"{function.__name__:<18}{cells}   symbols cost {more:.0f} ns", flush=True)


def summary(rows: dict[str, Times]) -> list[str]:
    lines = []
    for number, name in ((1, "symbols"), (2, "with a twin")):
        ratios = {program: times[number] / times[0] for program, times in rows.items()}
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        slow = sorted((r, p) for p, r in ratios.items() if r > MOST)
        worst = ", ".join(f"{p} {r:.2f}" for r, p in reversed(slow[-6:]))
        lines.append(
            f"{name}: {len(ratios)} programs, geometric mean {mean:.3f}; {len(slow)} over {MOST:.2f}"
            + (f": {worst}" if worst else "")
        )
    return lines


def main() -> int:
    parser = options("symbols", __doc__, 0.3)
    parser.add_argument("--call", action="store_true", help="what a call costs")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.call:
        call_cost()
        return 0
    found: dict[str, Times] = {}
    for programs in GROUPS.values():
        for program in programs():
            times = measure(program, chosen.seconds) if chosen.only in program.name else None
            if times is None:
                continue
            if over(times) > MOST:  # noise does not come twice
                times = min(times, measure(program, 2 * chosen.seconds) or times, key=over)
            found[program.name] = times
            cells = "".join(f"{amount(seconds):>10}" for seconds in times)
            print(
                f"{program.name:<44}{cells}{times[1] / times[0]:>8.2f}{over(times):>8.2f}"
                f"{'   *' if over(times) > MOST else ''}",
                flush=True,
            )
    if found:
        print("\n".join(summary(found)))
    return any(over(times) > MOST for times in found.values())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="pycompile-bench-") as folder:
        os.environ.setdefault("PYCOMPILE_CACHE_DIR", folder)
        sys.exit(main())
