"""What a program's length costs: milliseconds between capture and the C compiler.

Functions of 100 to 10,000 statements, of kinds that each had something quadratic to them once: the time
that the passes, lowering and code generation take for each is to be linear in the number of statements.
The C compiler is kept out of it: each process is told that there is none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

SIZES = (100, 300, 1000, 3000, 10000)
STAGES = ("passes", "guards", "lower", "codegen")
BUDGET = 150  # ms, of 10,000 statements
ELEMENTS = 30000
REPEATS = 5


def body(lines: list[str], result: str) -> str:
    return "\n    ".join(["def f(x):", *lines, f"return {result}"])


def many_outputs(n: int) -> str:
    return body([], "[" + ", ".join(f"x * {k}.5" for k in range(n)) + "]")


def slice_writes(n: int) -> str:
    return body([f"x[{2 * k}:{2 * k + 2}] = {k}.0" for k in range(n)], "None")


def long_chain(n: int) -> str:
    return body(["y = x", *["y = y * x", "y = y + x"] * (n // 2)], "y")


def many_constants(n: int) -> str:
    return body(["y = x", *(f"y = y + {k}.25" for k in range(n))], "y")


def small_reductions(n: int) -> str:
    return body([f"s{k} = x[{k}:{k + 3}].sum()" for k in range(n)], f"[s0, s{n - 1}]")


def kept_reductions(n: int) -> str:
    return body([], "[" + ", ".join(f"x[{k}:{k + 3}].sum()" for k in range(n)) + "]")


def stores_through_views(n: int) -> str:
    lines = ["y = x.copy()"]
    for k in range(n // 2):
        lines += [f"v = y[{k}:{k + 8}]", "v += 1.0"]
    return body(lines, "y")


def in_place_steps(n: int) -> str:
    return body(["y = x.copy()", *["y[1:-1] = y[:-2]"] * n], "y")


KINDS: dict[str, Callable[[int], str]] = {
    "many outputs": many_outputs,
    "slice writes": slice_writes,
    "one long chain": long_chain,
    "many constants": many_constants,
    "small reductions, two of them kept": small_reductions,
    "small reductions, all kept": kept_reductions,
    "stores through views": stores_through_views,
    "in-place steps of a stencil": in_place_steps,
}


def measure(kind: str, size: int) -> dict[str, float]:
    """Milliseconds by stage, of several compiles the one that took least.

    A plan is made even of what gains nothing by one, as the short kinds do not.
    """
    import numpy as np

    from pycompile import _C, compile

    least: dict[str, float] = {}
    for _ in range(REPEATS):
        namespace: dict[str, Any] = {}
        exec(KINDS[kind](size), namespace)
        _C.report_begin()
        compile(namespace["f"], options={"plan_always": True})(np.zeros(ELEMENTS))
        for record in _C.report_end():
            seconds = record.get("seconds", {})
            if "codegen" not in seconds:
                continue
            found = {stage: seconds.get(stage, 0.0) * 1e3 for stage in ("capture", *STAGES)}
            if not least or total(found) < total(least):
                least = found
    return least


def total(stages: dict[str, float]) -> float:
    return sum(stages[stage] for stage in STAGES)


def in_process(kind: str) -> dict[str, dict[str, float]]:
    """Of a fresh interpreter that finds no C compiler: by size, milliseconds by stage."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONWARNINGS": "ignore",
        "PATH": os.devnull,
        "CC": os.devnull,
    }
    command = [sys.executable, "-m", "benchmarks.growth", kind]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def run() -> list[dict[str, Any]]:
    """Prints the table, and returns its rows."""
    columns = "".join(f"{size:>9,}" for size in SIZES)
    print(f"{'ms from capture to the C compiler':<38}{columns}   of the longest")
    rows = []
    for kind in KINDS:
        found = in_process(kind)
        cells = "".join(f"{total(found[str(size)]):>9.1f}" for size in SIZES)
        last = found[str(SIZES[-1])]
        parts = ", ".join(f"{stage} {last[stage]:.0f}" for stage in STAGES if last[stage] >= 0.5)
        over = "  over" if total(last) > BUDGET else ""
        print(f"{kind:<38}{cells}   {parts}{over}", flush=True)
        rows.append({"kind": kind, "budget": BUDGET, "milliseconds": found})
    return rows


if __name__ == "__main__":
    print(json.dumps({str(size): measure(sys.argv[1], size) for size in SIZES}))
