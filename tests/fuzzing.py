"""Many random programs, in processes of their own, which a crash may end: for the fuzzers of functions and of
state.

A fuzzer's module runs one program with `run_program(seed, totals)`, which returns what differs as lines.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

CHUNK = 250  # programs a process
ENDED = "the process ended with"

RunProgram = Callable[[int, Counter[str]], list[str]]


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """What the command lines of both have."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the text of the program")
    parser.add_argument("--here", type=int, nargs=2, help=argparse.SUPPRESS)
    return parser


def run_here(seeds: range, run_program: RunProgram) -> None:
    """Prints "at SEED" before each program, and afterwards what differs."""
    totals: Counter[str] = Counter()
    gc.freeze()  # or four fifths of the time go into collections of what is there now
    for seed in seeds:
        print("at", seed, flush=True)
        try:
            lines = run_program(seed, totals)
        except Exception as error:
            lines = [f"seed {seed}: the harness itself: {error!r}"]
        if lines:
            print("\n  ".join(lines), flush=True)
    print("totals", json.dumps(totals))


def run_apart(
    seeds: range, command: Sequence[str], ends_plain: Callable[[int], bool]
) -> tuple[list[str], Counter[str]]:
    """The same in a process, going on behind a program that ends it."""
    lines: list[str] = []
    totals: Counter[str] = Counter()
    while seeds:
        here = [sys.executable, *command, "--here", str(seeds.start), str(seeds.stop)]
        try:
            done = subprocess.run(here, capture_output=True, text=True, timeout=5 * len(seeds) + 60)
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
        if status == -1 or not ends_plain(at):
            lines.append(f"seed {at}: {ENDED} {status}")
        seeds = range(at + 1, seeds.stop)
    return lines, totals


def run_many(
    options: argparse.Namespace,
    command: Sequence[str],
    ends_plain: Callable[[int], bool] = lambda seed: False,
) -> bool:
    """Prints the programs that differ, and how many.  `command` runs the fuzzer; `ends_plain` tells of a
    program whether it ends CPython itself."""
    end = options.seed + options.programs
    chunks = [range(at, min(at + CHUNK, end)) for at in range(options.seed, end, CHUNK)]
    totals: Counter[str] = Counter()
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        found = pool.map(lambda seeds: run_apart(seeds, command, ends_plain), chunks)
        for done, (lines, more) in enumerate(found, 1):
            totals.update(more)
            failed += sum(line.startswith("seed ") for line in lines)
            if lines:
                print("\n  ".join(lines), flush=True)
            if sys.stdout.isatty():
                print(f"{done * CHUNK} programs, {failed} differ", end="\r", flush=True)
    print(f"{options.programs} programs, {failed} differ; {dict(totals)}")
    return failed > 0
