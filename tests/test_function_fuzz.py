"""Random functions against plain Python; see function_programs.py.

python tests/test_function_fuzz.py --programs 20000 --jobs 2     # many; prints the seeds that differ
python tests/test_function_fuzz.py --seed 7 --show               # a program's text and what differs
"""

from __future__ import annotations

import argparse
import collections
import json
import linecache
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import function_programs as programs
import function_world
import pytest
from differential import differences, observe

import pycompile

IN_CI = int(os.environ.get("PYCOMPILE_FUZZ", "250"))
FIRST = (sys.version_info.minor - 11) * IN_CI  # each Python has programs of its own
BLOCK = 50  # programs a test
NATIVE = 8  # one program in so many goes through the C compiler, the others through `eager`


def namespace(text: str, file: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "fuzzed", "pycompile_break": print}
    exec(compile(text, file, "exec"), scope)
    return scope


def world(scope: dict[str, Any]) -> dict[str, Any]:
    """What a program can change of its module."""
    return {name: scope[name] for name in ("G", "STATE", "TABLE")}


def run_program(seed: int, options: dict[str, Any] | None = None, totals: Any = None) -> list[str]:
    """What differs, as lines; nothing: the program cannot be told from plain."""
    if options is None:
        options = {} if seed % NATIVE == 0 else {"backend": "eager"}
    text, file = programs.program(seed), f"function-{seed}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        plain, ours = (namespace(text, file) for _ in range(2))
    compiled = pycompile.compile(ours["f"], **options)
    for call in (0, 0, 1, 2, 0):
        before = observe(plain["f"], function_world.arguments(seed * 10 + call), {})
        after = observe(compiled, function_world.arguments(seed * 10 + call), {})
        before.args, after.args = (before.args, world(plain)), (after.args, world(ours))
        after.warned = [
            item for item in after.warned if "CPython runs what no plan holds for" not in item[1]
        ]
        lines = differences(before, after)
        if lines:
            return [f"seed {seed}, arguments {call}", *lines]
    if totals is not None:
        totals.update(compiled.stats())
    return []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FIRST, FIRST + IN_CI, BLOCK))
def test_functions_cannot_be_told_from_plain(first):
    pycompile.reset()
    failures = [line for seed in range(first, first + BLOCK) for line in run_program(seed)]
    assert not failures, "\n  ".join(failures)


# ---- many programs: in processes of their own, which a crash may end ----


def run_here(seeds: range) -> None:
    """Prints "at SEED" before each program, and afterwards what differs."""
    totals: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        print("at", seed, flush=True)
        try:
            lines = run_program(seed, totals=totals)
        except Exception as error:
            lines = [f"seed {seed}: the harness itself: {error!r}"]
        if lines:
            print("\n  ".join(lines), flush=True)
    print("totals", json.dumps(totals))


def run_apart(seeds: range) -> tuple[list[str], collections.Counter[str]]:
    """The same in a process, going on behind a program that ends it."""
    lines: list[str] = []
    totals: collections.Counter[str] = collections.Counter()
    while seeds:
        command = [sys.executable, __file__, "--here", str(seeds.start), str(seeds.stop)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=5 * len(seeds) + 60
            )
            status, told = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            status, told = -1, (error.stdout or b"").decode()
        at = seeds.start
        for line in told.splitlines():
            if line.startswith("at "):
                at = int(line[3:])
            elif line.startswith("totals "):
                totals.update(json.loads(line[7:]))
            else:
                lines.append(line)
        if status == 0:
            break
        lines.append(f"seed {at}: the process ended with {status}")
        seeds = range(at + 1, seeds.stop)
    return lines, totals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the text of the program")
    parser.add_argument("--backend", choices=("c", "eager"), help="instead of one in eight in C")
    parser.add_argument("--here", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
    os.environ.setdefault("PYCOMPILE_WAIT", "1")
    if options.here:
        run_here(range(*options.here))
        return 0
    if options.programs == 1:
        if options.show:
            print(programs.program(options.seed).removeprefix(function_world.PREAMBLE))
        lines = run_program(options.seed, options.backend and {"backend": options.backend})
        print("\n  ".join(lines) or "no difference")
        return bool(lines)
    end = options.seed + options.programs
    chunks = [range(at, min(at + BLOCK, end)) for at in range(options.seed, end, BLOCK)]
    totals: collections.Counter[str] = collections.Counter()
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for done, (lines, more) in enumerate(pool.map(run_apart, chunks), 1):
            totals.update(more)
            failed += sum(line.startswith("seed ") for line in lines)
            if lines:
                print("\n  ".join(lines), flush=True)
            if sys.stdout.isatty():
                print(f"{done * BLOCK} programs, {failed} differ", end="\r", flush=True)
    print(f"{options.programs} programs, {failed} differ; {dict(totals)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
