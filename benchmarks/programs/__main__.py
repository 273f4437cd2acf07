"""Programs, plain and compiled, call by call: python -m benchmarks.programs [--only NAME].

Each program runs in fresh processes, one for each state, with the same calls in each:

    plain    without pycompile
    cold     its functions decorated, the disk cache empty
    warm     the same, with the cache that the run before has filled
    run      plain, under `pycompile run`, the disk cache empty
    explain  plain, under `pycompile explain`: only where --states asks for it

The processes take turns, of the same few calls each, so that what else the machine does slows all of them alike; warm
comes behind the others, beside a plain one of its own.  After each call the time so far is compared: it
may be 1.10 times plain's and 30 ms (under explain 3 times).  The median over the rounds decides, call by
call.  Results must have the same bits.

What decides is the time that the process, all of its threads, had a processor: on a machine that does other
things nothing else tells two programs apart.  The C compiler, another process, is not in it, and has time
while the others have their turns.  `--clock elapsed` judges by the clock on the wall, for a machine that
does nothing else.  Both are shown.

Columns: the time in ms after so many calls; the largest part of the bound that was used, and after
which call; the same by the other clock; how many times as fast as plain all calls were, and the last
third of them; captures, plans, kernels compiled, and the ms that all this took, as pycompile itself counts
them; and how many ms longer than plain the whole process ran, its imports included.

Exits with 1 where a program is beyond its bound, has another result, or fails.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

STATES = ("cold", "warm", "run")
FACTOR = {"cold": 1.10, "warm": 1.10, "run": 1.10, "explain": 3.0}
GRACE = 0.030  # seconds, once
HANGS = 600
OURS = (
    "WAIT",
    "PLAN_ALWAYS",
    "SAMPLE",
    "BACKGROUND",
    "DISABLE",
    "LOGS",
)  # of the tests and of benchmarks
PREFIX = {"run": ["-m", "pycompile", "run"], "explain": ["-m", "pycompile", "explain"]}


def names() -> list[str]:
    folder = Path(__file__).parent
    return sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


# ---- running ----


def environment(cache: str) -> dict[str, str]:
    ours = {f"PYCOMPILE_{word}" for word in OURS}
    ours.add("PYTHONDONTWRITEBYTECODE")  # installed modules are compiled
    kept = {k: v for k, v in os.environ.items() if k not in ours}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONHASHSEED": "0",
        "PYCOMPILE_WAIT": "0",  # benchmarks/__init__.py would set it
        "PYCOMPILE_CACHE_DIR": cache,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


class Child:
    """A process of a program, of which each turn makes some calls."""

    def __init__(self, name: str, state: str, seed: int, calls: str, cache: str) -> None:
        inner = "compiled" if state in ("cold", "warm") else "plain"
        words = [*PREFIX.get(state, []), "-m", "benchmarks.programs._child"]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, *words, name, inner, str(seed), calls],
            env=environment(cache),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.last = ""

    def turn(self, wanted: int) -> int:
        """How many calls it has made; 0: it has ended.  `wanted`: 0: as many as it likes."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(f"{wanted}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has said all
        self.last = self.process.stdout.readline()
        return int(self.last) if self.last.strip().isdigit() else 0

    def said(self) -> dict[str, Any]:
        self.process.communicate()
        if self.process.returncode == 0 and self.last.startswith("{"):
            return json.loads(self.last)
        self.errors.seek(0)
        error = self.errors.read().strip()[-400:]
        return {"failed": f"exit code {self.process.returncode}: {error}"}


def together(name: str, states: list[str], seed: int, calls: str, folder: str) -> list[dict]:
    """What the processes of these states said, which have taken turns."""
    kept = {"warm": "cold", "plain": "none"}  # warm finds what cold has left
    children = [
        Child(name, state, seed, calls, str(Path(folder) / kept.get(state, state)))
        for state in states
    ]
    timer = threading.Timer(HANGS, lambda: [child.process.kill() for child in children])
    timer.daemon = True
    timer.start()
    made = 1
    while made > 0:
        made = children[0].turn(0)
        for child in children[1:]:
            child.turn(made)
    said = [child.said() for child in children]
    timer.cancel()
    return said


def rounds(name: str, states: list[str], count: int, calls: str) -> dict[str, list[dict]]:
    """For each state what its processes said, in `count` rounds, and what plain ones beside warm did."""
    first = ["plain", *(state for state in states if state != "warm")]
    second = ["beside warm", "warm"] if "warm" in states else []
    found: dict[str, list[dict]] = {state: [] for state in [*first, *second]}
    for seed in range(count):
        with tempfile.TemporaryDirectory() as folder:
            for group in filter(None, (first, second)):
                for state, said in zip(group, together(name, group, seed, calls, folder)):
                    found[state].append(said)
                if "missing" in found["plain"][0]:
                    return found
    return found


# ---- judging ----


def at(runs: list[dict], call: int, clock: str) -> float:
    return statistics.median(run[clock][call] for run in runs)


def to_bound(plain: list[dict], runs: list[dict], state: str, clock: str) -> list[float]:
    """The time after each call, of what it may be: the median over the rounds."""
    return [
        statistics.median(c / (FACTOR[state] * p + GRACE) for p, c in zip(ps, cs))
        for ps, cs in zip(zip(*(p[clock] for p in plain)), zip(*(c[clock] for c in runs)))
    ]


def differs(plain: list[dict], runs: list[dict]) -> str:
    for seed, (p, c) in enumerate(zip(plain, runs)):
        for call, (wanted, got) in enumerate(zip(p["digests"], c["digests"])):
            if wanted != got:
                return f"another result: seed {seed}, call {call}"
    return ""


def judge(found: dict[str, list[dict]], state: str, clock: str) -> dict[str, Any]:
    """One row: the worst prefix, how much faster all calls and the last third were, and what was spent."""
    plain, runs = found["beside warm" if state == "warm" else "plain"], found[state]
    for run in [*plain, *runs]:
        if "failed" in run:
            return {"fault": run["failed"]}
    last = len(plain[0][clock]) - 1
    ratios = to_bound(plain, runs, state, clock)
    worst = max(range(last + 1), key=ratios.__getitem__)
    late = 2 * last // 3
    p_last, c_last, p_late, c_late = (
        at(some, call, clock) for call in (last, late) for some in (plain, runs)
    )
    later = [c["process"] - p["process"] for p, c in zip(plain, runs)]
    count = {key: statistics.median(run["counts"].get(key, 0) for run in runs) for key in COUNTED}
    fault = differs(plain, runs) or ("over the bound" if ratios[worst] > 1 else "")
    return {
        "worst": ratios[worst],
        "worst_call": worst + 1,
        "other": max(to_bound(plain, runs, state, OTHER[clock])),
        "speed": p_last / c_last,
        "late_speed": (p_last - p_late) / (c_last - c_late) if last else 1.0,
        "process": statistics.median(later),
        "fault": fault,
        **count,
    }


COUNTED = ("captures", "plans", "stored", "seconds")
OTHER = {"ran": "elapsed", "elapsed": "ran"}


# ---- printing ----


def cells(runs: list[dict], counts: list[int], clock: str) -> str:
    """The time so far, in ms, after so many calls, and after all."""
    made = len(runs[0][clock])
    shown = [f"{1e3 * at(runs, count - 1, clock):.1f}" if count < made else "" for count in counts]
    return "".join(f"{text:>10}" for text in [*shown, f"{1e3 * at(runs, made - 1, clock):.1f}"])


def title(counts: list[int], clock: str) -> str:
    left = "".join(f"{count:>10}" for count in [*counts, "all"])
    right = f"{'worst':>8}{'at call':>8}{OTHER[clock]:>8}{'speed':>8}{'late':>8}{'captures':>9}{'plans':>6}"
    return f"{f'ms {clock} after so many calls':<34}{left}{right}{'stored':>7}{'spent':>8}{'process':>8}"


def line(state: str, times: str, row: dict[str, Any]) -> str:
    if "worst" not in row:
        return f"{'':<26}{state:<8}{row['fault']}"
    return (
        f"{'':<26}{state:<8}{times}{row['worst']:>8.2f}{row['worst_call']:>8}"
        f"{row['other']:>8.2f}{row['speed']:>8.2f}{row['late_speed']:>8.2f}{row['captures']:>9.0f}{row['plans']:>6.0f}"
        f"{row['stored']:>7.0f}{1e3 * row['seconds']:>8.1f}{1e3 * row['process']:>8.0f}  {row['fault']}"
    )


def show(
    name: str, found: dict[str, list[dict]], counts: list[int], clock: str
) -> list[dict[str, Any]]:
    if "missing" in found["plain"][0]:
        print(f"{name:<26}{found['plain'][0]['missing']} is not installed", flush=True)
        return []
    states = [state for state in found if state in FACTOR]
    rows = [{"program": name, "state": state, **judge(found, state, clock)} for state in states]
    if not any("failed" in run for run in found["plain"]):
        print(f"{name:<26}{'plain':<8}{cells(found['plain'], counts, clock)}")
    for row in rows:
        times = cells(found[row["state"]], counts, clock) if "worst" in row else ""
        print(line(row["state"], times, row), flush=True)
    return rows


def mean(rows: list[dict[str, Any]], state: str, key: str) -> float:
    speeds = [row[key] for row in rows if row["state"] == state and key in row]
    return math.exp(statistics.mean(map(math.log, speeds))) if speeds else math.nan


def summary(rows: list[dict[str, Any]], states: list[str]) -> None:
    print("\ngeometric mean of plain / compiled: all calls, the last third of them")
    for state in states:
        print(
            f"    {state:<8}{mean(rows, state, 'speed'):>6.2f}{mean(rows, state, 'late_speed'):>8.2f}"
        )
    faults = [row for row in rows if row["fault"]]
    print(f"{len(faults)} of {len(rows)} rows have a fault" if faults else "all within the bound")
    for row in faults:
        print(
            f"    {row['program']:<26}{row['state']:<8}{row.get('worst', math.nan):>6.2f}  {row['fault']}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.programs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="programs whose name has one of these in it")
    parser.add_argument("--counts", default="1,3,10,100", help="calls after which times are shown")
    parser.add_argument(
        "--calls",
        type=int,
        default=0,
        help="how many each run makes; 0: as many as the program says",
    )
    parser.add_argument(
        "--times", type=int, default=1, help="so many times as many calls: long runs"
    )
    parser.add_argument("--rounds", type=int, default=3, help="processes of each state")
    parser.add_argument("--clock", choices=tuple(OTHER), default="ran", help="which one decides")
    parser.add_argument("--states", default=",".join(STATES))
    parser.add_argument("--json", metavar="FILE", help="keeps the times after each call, too")
    chosen = parser.parse_args()
    counts = [int(word) for word in chosen.counts.split(",")]
    states = chosen.states.split(",")
    calls = str(chosen.calls or f"x{chosen.times}")
    print(title(counts, chosen.clock))
    rows, kept = [], {}
    for name in names():
        if any(word in name for word in chosen.only.split(",")):
            found = kept[name] = rounds(name, states, chosen.rounds, calls)
            rows += show(name, found, counts, chosen.clock)
    summary(rows, states)
    if chosen.json:
        Path(chosen.json).write_text(json.dumps({"rows": rows, "runs": kept}))
    return 1 if any(row["fault"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
