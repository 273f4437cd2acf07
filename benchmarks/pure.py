"""Programs without arrays, plain and under `pycompile run`: python -m benchmarks.pure [--numpy].

The programs are pyperformance's own, out of its package: each benchmark's script is loaded with a
stand-in for pyperf that keeps the function it would time.  Plain and run take turns, each in a process of
its own.  What counts is processor time, which other programs on a shared machine disturb least, and of all
rounds of all processes the least.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Pure Python, no packages but the library's.
PROGRAMS = """
nbody fannkuch richards deltablue raytrace chaos go hexiom pidigits spectral_norm float pyflate mdp
deepcopy json_dumps regex_compile nqueens scimark telco unpack_sequence logging generators
""".split()
ROUND = 0.2  # seconds that a round is made to last
ROUNDS = 5


class Runner:
    """What a script sees as pyperf.Runner: the functions that it wants timed."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.metadata: dict[str, Any] = {}
        self.argparser = argparse.ArgumentParser()
        self.args: Any = None

    def parse_args(self, args: Any = None) -> Any:
        self.args = self.argparser.parse_args([])
        return self.args

    def bench_func(self, name: str, function: Callable[..., Any], *args: Any, **_: Any) -> None:
        def times(loops: int) -> float:
            began = time.process_time()
            for _ in range(loops):
                function(*args)
            return time.process_time() - began

        wanted.append(times)

    def bench_time_func(
        self, name: str, function: Callable[..., Any], *args: Any, **_: Any
    ) -> None:
        wanted.append(lambda loops: function(loops, *args))


wanted: list[Callable[[int], float]] = []


def stand_in() -> None:
    pyperf: Any = types.ModuleType("pyperf")
    pyperf.Runner = Runner
    pyperf.perf_counter = time.process_time
    sys.modules["pyperf"] = pyperf


def folder_of_programs() -> Path | None:
    found = importlib.util.find_spec("pyperformance")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "data-files" / "benchmarks"


def script_of(name: str) -> Path:
    folder = folder_of_programs()
    assert folder is not None
    return folder / f"bm_{name}" / "run_benchmark.py"


def child(name: str, with_numpy: bool) -> None:
    """Runs one program and prints the least seconds a loop took."""
    if with_numpy:
        import numpy  # noqa: F401 (that it is there is the point)
    stand_in()
    script = script_of(name)
    sys.argv = [str(script)]
    sys.path.insert(0, str(script.parent))
    exec(
        compile(script.read_text(), str(script), "exec"),
        {"__name__": "__main__", "__file__": str(script)},
    )
    times = wanted[0]
    loops = 1
    while (seconds := times(loops)) < ROUND / 2 and loops < 1 << 20:
        loops = max(loops * 2, int(loops * ROUND / max(seconds, 1e-6) / 2))
    print(json.dumps(min(times(loops) / loops for _ in range(ROUNDS))))


def seconds_of(name: str, run: bool, with_numpy: bool) -> float:
    before = ["-m", "pycompile", "run"] if run else []
    words = [sys.executable, *before, __file__, "--child", name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        words + (["--numpy"] if with_numpy else []),
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])


def measure(names: list[str], processes: int, with_numpy: bool) -> list[tuple[str, float, float]]:
    """(name, plain seconds, seconds under run)."""
    rows = []
    for name in names:
        plain, run = [], []
        try:
            for _ in range(processes):
                plain.append(seconds_of(name, False, with_numpy))
                run.append(seconds_of(name, True, with_numpy))
        except (subprocess.CalledProcessError, IndexError):
            print(f"{name:<20} does not run here", flush=True)
            continue
        # The machine only ever adds: the least is what the program takes.
        rows.append((name, min(plain), min(run)))
        ratio = rows[-1][2] / rows[-1][1]
        print(
            f"{name:<20}{rows[-1][1] * 1e3:>10.3f} ms{rows[-1][2] * 1e3:>10.3f} ms{ratio:>8.3f}",
            flush=True,
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pure", description=__doc__)
    parser.add_argument("--numpy", action="store_true", help="NumPy is imported first")
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--child")
    chosen = parser.parse_args()
    if chosen.child:
        child(chosen.child, chosen.numpy)
        return 0
    if folder_of_programs() is None:
        print("needs pyperformance: pip install pyperformance")
        return 1
    print(f"{'program':<20}{'plain':>13}{'run':>13}{'ratio':>8}")
    rows = measure(chosen.only.split(","), chosen.processes, chosen.numpy)
    ratios = {name: run / plain for name, plain, run in rows}
    worst = max(ratios, key=lambda name: ratios[name])
    mean = statistics.geometric_mean(ratios.values())
    print(f"{len(rows)} programs: geometric mean {mean:.3f}, worst {ratios[worst]:.3f} ({worst})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
