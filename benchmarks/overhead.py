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


def three_arguments(a, b, c):
    return a * b + c


def warm_call() -> float:
    """Nanoseconds of a whole call with three 8-element arrays, a call of an empty function aside."""
    import pycompile

    compiled = pycompile.compile(three_arguments)
    a, b, c = np.random.default_rng(0).standard_normal((3, 8))
    out = np.empty(8)
    calls = {
        "compiled": lambda: compiled(a, b, c),
        "nothing": lambda: None,
        "result": lambda: out.copy(),  # a result must be allocated by whoever computes it
    }
    found = interleaved(calls, 15, 0.01)
    return (found["compiled"] - found["nothing"]) * 1e9


def child(*arguments: str, **variables: str) -> str:
    """Standard output of a fresh interpreter."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def import_time() -> float:
    """Seconds of `import pycompile` after `import numpy`."""
    code = "import numpy, time; t = time.perf_counter(); import pycompile; print(time.perf_counter() - t)"
    return statistics.median(float(child("-c", code)) for _ in range(7))


def first_calls() -> tuple[dict[str, Any], dict[str, Any]]:
    """The examples' functions called first with an empty disk cache, then with the cache so filled."""
    with tempfile.TemporaryDirectory(prefix="pycompile-bench-") as folder:
        script = str(ROOT / "benchmarks" / "cold.py")
        runs = [json.loads(child(script, PYCOMPILE_CACHE_DIR=folder)) for _ in range(2)]
    return runs[0], runs[1]


def run() -> list[dict[str, Any]]:
    """Rows of (what, value, budget, unit)."""
    cold, warm = first_calls()
    instructions = sum(f["instructions"] for f in cold.values())
    capture = sum(f["capture"] for f in cold.values())
    rows = [
        ("warm call, three array arguments, kernel and result included", warm_call(), 250, "ns"),
        ("import, beyond NumPy's own", import_time() * 1e3, 30, "ms"),
        (
            "first call cold, median of the examples' functions",
            statistics.median(f["seconds"] for f in cold.values()) * 1e3,
            80,
            "ms",
        ),
        (
            "first call with a warm disk cache, median of the same",
            statistics.median(f["seconds"] for f in warm.values()) * 1e3,
            5,
            "ms",
        ),
    ]
    if instructions and capture:
        rows.append(("capture, per instruction", capture / instructions * 1e6, 2, "us"))
    found = [dict(zip(("what", "value", "budget", "unit"), row)) for row in rows]
    found.append({"what": "cold, by function", "each": cold})
    found.append({"what": "warm disk cache, by function", "each": warm})
    return found
