"""What pycompile itself costs, beside the design's budgets."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import interleaved

ROOT = Path(__file__).resolve().parent.parent
BYTECODE = tempfile.TemporaryDirectory(prefix="pycompile-bench-bytecode-")


def three_arguments(a, b, c):
    return a * b + c


def warm_call() -> float:
    """Nanoseconds of a call with three 8-element arrays, the way into a call aside: the least of many
    rounds.  The kernel (a few ns) and the result, which anybody must allocate, are in it."""
    import pycompile

    compiled = pycompile.compile(three_arguments)
    a, b, c = np.random.default_rng(0).standard_normal((3, 8))
    calls = {"compiled": lambda: compiled(a, b, c), "nothing": lambda: None}
    found = interleaved(calls, 40, 0.005, min)
    return (found["compiled"] - found["nothing"]) * 1e9


def ten_breaks_source() -> str:
    """A function whose arrays meet ten things that only CPython does, and the same thing alone."""
    lines = ["def breaks(x, unknown):"]
    for _ in range(10):
        lines += ["    x = x + 1.0", "    unknown()"]
    return "\n".join([*lines, "    return x"])


def ten_breaks() -> float:
    """Microseconds a call beyond plain Python, of a function with ten graph breaks, over 10,000 calls."""
    import pycompile

    namespace: dict[str, Any] = {}
    exec(ten_breaks_source(), namespace)
    plain, x = namespace["breaks"], np.zeros(8)
    compiled = pycompile.compile(plain)
    unknown = [].clear
    calls = {"compiled": lambda: compiled(x, unknown), "plain": lambda: plain(x, unknown)}
    found = interleaved(calls, 20, 0.02, min)
    return (found["compiled"] - found["plain"]) * 1e6


def rare_exits(x, seen):
    """Kept loops, left a thousand times for what only CPython does."""
    i, s = 0, 0.0
    while i < len(x):
        while i < len(x) and x[i] <= 3.0:
            s += x[i] * 0.5
            i += 1
        if i < len(x):
            seen[str(i)] = s
            i += 1
    return s


def rare_exit() -> float:
    """Microseconds for each of a thousand exits, the same loop without any aside."""
    import pycompile

    compiled = pycompile.compile(rare_exits)
    never = np.random.default_rng(0).random(1_000_000)
    often = never.copy()
    often[500::1000] = 4.0
    calls = {"often": lambda: compiled(often, {}), "never": lambda: compiled(never, {})}
    found = interleaved(calls, 20, 0.02, min)
    return (found["often"] - found["never"]) * 1e6 / 1000


def capture_of_1000() -> float:
    """Milliseconds that capture of about 1,000 instructions takes: the least of several functions."""
    from pycompile import _C, compile

    least = float("inf")
    for number in range(7):
        lines = [f"def f(x, y):\n    z = x + {number}.5"]
        lines += ["    z = z * y + x"] * 160  # six instructions each
        namespace: dict[str, Any] = {}
        exec("\n".join([*lines, "    return z"]), namespace)
        _C.report_begin()
        compile(namespace["f"])(np.zeros(8), np.ones(8))
        for record in _C.report_end():
            count = record.get("instructions", 0)
            if count > 500:
                least = min(least, record["seconds"]["capture"] * 1e3 * 1000 / count)
    return least


def child(*arguments: str, **variables: str) -> str:
    """Standard output of a fresh interpreter, which keeps bytecode as an installed package has it,
    whatever this process was told."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    environment["PYTHONPYCACHEPREFIX"] = BYTECODE.name
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def import_time() -> float:
    """Seconds of `import pycompile` after `import numpy`."""
    code = "import numpy, time; t = time.perf_counter(); import pycompile; print(time.perf_counter() - t)"
    return statistics.median(float(child("-c", code)) for _ in range(7))


def quickest(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each function the process in which its first call took least: what else runs only adds."""
    return {name: min((run[name] for run in runs), key=lambda f: f["seconds"]) for name in runs[0]}


def first_calls(rounds: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The examples' functions called first with an empty disk cache, then with the cache so filled,
    then each in a process of its own, whose first call it is."""
    cold, warm, alone = [], [], []
    script = str(ROOT / "benchmarks" / "cold.py")
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="pycompile-bench-") as folder:
            runs = [json.loads(child(script, PYCOMPILE_CACHE_DIR=folder)) for _ in range(3)]
            each = [json.loads(child(script, n, PYCOMPILE_CACHE_DIR=folder)) for n in runs[0]]
        cold.append(runs[0])
        warm += runs[1:]
        alone.append({name: found for one in each for name, found in one.items()})
    return quickest(cold), quickest(warm), quickest(alone)


def capture_of_each(rounds: int) -> float:
    """Microseconds that capture of the examples' functions takes for an instruction: the least of the
    rounds, summed."""
    script = str(ROOT / "benchmarks" / "cold.py")
    with tempfile.TemporaryDirectory(prefix="pycompile-bench-") as folder:
        runs = [
            json.loads(child(script, "--records", PYCOMPILE_CACHE_DIR=folder))
            for _ in range(rounds)
        ]
    instructions = sum(found["instructions"] for found in runs[0].values())
    seconds = sum(min(run[name]["capture"] for run in runs) for name in runs[0])
    return seconds / instructions * 1e6


def run(quick: bool) -> list[dict[str, Any]]:
    """Rows of (what, value, budget, unit)."""
    cold, warm, alone = first_calls(1 if quick else 3)
    rows = [
        ("warm call, three array arguments, kernel and result included", warm_call(), 250, "ns"),
        ("import, beyond NumPy's own", import_time() * 1e3, 30, "ms"),
        (
            "first call cold, median of the examples' functions",
            statistics.median(f["seconds"] for f in cold.values()) * 1e3,
            60,
            "ms",
        ),
        (
            "first call with a warm disk cache, median of the same",
            statistics.median(f["seconds"] for f in warm.values()) * 1e3,
            5,
            "ms",
        ),
        (
            "first call with a warm disk cache, each in a new process",
            statistics.median(f["seconds"] for f in alone.values()) * 1e3,
            5,
            "ms",
        ),
    ]
    rows.append(("ten breaks, beyond plain Python, a call", ten_breaks(), 2, "us"))
    rows.append(("a rare exit from kept loops, of 1,000 in a call", rare_exit(), 20, "us"))
    rows.append(("capture of 1,000 instructions", capture_of_1000(), 2, "ms"))
    rows.append(("capture, per instruction", capture_of_each(1 if quick else 3), 2, "us"))
    found = [dict(zip(("what", "value", "budget", "unit"), row)) for row in rows]
    found.append({"what": "cold, by function", "each": cold})
    found.append({"what": "warm disk cache, by function", "each": warm})
    found.append({"what": "warm disk cache, each in a new process", "each": alone})
    return found
