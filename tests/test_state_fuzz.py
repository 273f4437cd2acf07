"""Random programs about state against plain Python; see state_programs.py.

python tests/test_state_fuzz.py --programs 20000 --jobs 2     # many; prints the programs that differ, made small
python tests/test_state_fuzz.py --seed 7                      # one
python tests/test_state_fuzz.py --programs 2000 --kinds ""    # without lifetimes, namespaces, finalizers
"""

from __future__ import annotations

import argparse
import builtins
import collections
import gc
import json
import os
import signal
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import state_programs as programs
from differential import observe, positions

import pycompile

IN_CI = int(os.environ.get("PYCOMPILE_FUZZ", "1000")) // 5
FIRST = (sys.version_info.minor - 11) * IN_CI  # each Python has programs of its own
BLOCK = 25  # programs a test
CHUNK = 250  # programs a process
NATIVE = 16  # one program in so many goes through the C compiler, the others through `eager`
MODULE = "fuzzed_state"
ABS = builtins.abs


def picture(value: Any) -> Any:
    """The value as it is now, as text."""
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(picture, value)]
    if isinstance(value, np.ndarray):
        return f"array({value.tolist()}, {value.dtype})"
    plain = isinstance(value, (int, float, str, np.generic, type(None)))
    return f"{type(value).__name__} {value!r}" if plain else type(value).__name__


class World:
    """A module of the program's text, run in its own place of sys.modules."""

    def __init__(self, program: programs.Program) -> None:
        self.reads = [compile(read, "reads", "eval") for read in program.reads()]
        self.module = types.ModuleType(MODULE)
        self.scope = vars(self.module)

    def seen(self) -> list[Any]:
        """What the places hold, what has ended and what has not."""
        found = []
        for read in self.reads:
            try:
                found.append(picture(eval(read, self.scope, {"n": 1})))
            except Exception as error:
                found.append(f"{type(error).__name__} {error}")
        ended = [ref() is None for ref in self.scope["WATCHED"]]
        return [found, picture(self.scope["EVENTS"]), ended, len(self.scope["HELD"])]


def restore_builtins() -> None:
    """What ends, here or in the world of an earlier program, may put others there again."""
    gc.collect()
    while builtins.abs is not ABS or "fuzz_b" in vars(builtins):
        builtins.abs = ABS
        vars(builtins).pop("fuzz_b", None)


def calls(program: programs.Program, compiled: Any) -> list[Any]:
    """What each call lets us see.  `compiled` makes of `f` what is called."""
    found = []
    handler = signal.getsignal(signal.SIGUSR1)
    restore_builtins()
    world = World(program)
    sys.modules[MODULE] = world.module
    gc.disable()  # what is a cycle ends when a program says so
    try:
        exec(compile(program.text(), "state.py", "exec"), world.scope)
        signal.signal(signal.SIGUSR1, world.scope["on_signal"])
        function = compiled(world.scope["f"])
        for k in range(len(program.changes)):
            x = np.linspace(0.0, 1.0, 4) + k % 2
            seen = observe(function, (x, (2, 1, 2, 0, 3, 1)[k]), {})
            raised, at = seen.raised, []
            if raised is not None:
                at = [type(raised).__name__, str(raised), positions(raised)]
                raised.__traceback__ = seen.raised = raised.__context__ = None
                del raised
            found.append([picture(seen.result), at, seen.printed, world.seen()])
            seen.result = None
            found.append(world.seen())
            try:
                world.scope[f"change{k}"]()
            except Exception as error:
                found.append(repr(error))
    finally:
        gc.enable()
        restore_builtins()
        signal.signal(signal.SIGUSR1, handler)
        sys.modules.pop(MODULE, None)
        sys.modules.pop("fuzz_other", None)
    return found


def difference(program: programs.Program, options: dict[str, Any], totals: Any = None) -> list[str]:
    """What differs, as lines."""
    plain = calls(program, lambda f: f)
    made: list[Any] = []

    def compiled(function: Any) -> Any:
        made.append(pycompile.compile(function, **options))
        return made[0]

    ours = calls(program, compiled)
    if totals is not None:
        totals.update(made[0].stats())
    for k, (a, b) in enumerate(zip(plain, ours)):
        if a != b:
            return [f"call {k // 2}:", *unlike(a, b)]
    return []


def unlike(a: Any, b: Any, path: str = "") -> list[str]:
    """Where two pictures differ."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [line for i, (x, y) in enumerate(zip(a, b)) for line in unlike(x, y, f"{path}.{i}")]
    return [f"  {path}: plain {a!r}, compiled {b!r}"] if a != b else []


def smaller(program: programs.Program, options: dict[str, Any]) -> programs.Program:
    """The program without what does not matter to its difference."""
    for _ in range(200):
        for less in program.without():
            pycompile.reset()
            try:
                differs = difference(less, options)
            except Exception:
                continue
            if differs and "SyntaxError" not in str(differs):
                program = less
                break
        else:
            break
    return program


def run_program(seed: int, kinds: frozenset[str] = programs.KINDS, totals: Any = None) -> list[str]:
    """What differs, as lines; nothing: the program cannot be told from plain."""
    options = {} if seed % NATIVE == 0 else {"backend": "eager"}
    program = programs.program(seed, kinds)
    first = difference(program, options, totals)
    if not first:
        return []
    program = smaller(program, options)
    pycompile.reset()
    lines = difference(program, options) or ["not the same again; first", *first]
    return [f"seed {seed}", *lines[:6], *program.small().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FIRST, FIRST + IN_CI, BLOCK))
def test_state_cannot_be_told_from_plain(first):
    pycompile.reset()
    seeds = range(first, first + BLOCK)
    failures = [line for seed in seeds for line in run_program(seed, programs.SETTLED)]
    assert not failures, "\n  ".join(failures)


# ---- many programs: in processes of their own, which a crash may end ----


def run_here(seeds: range, kinds: frozenset[str]) -> None:
    """Prints "at SEED" before each program, and afterwards what differs."""
    totals: collections.Counter[str] = collections.Counter()
    gc.freeze()  # or four fifths of the time go into collections of what is there now
    for seed in seeds:
        print("at", seed, flush=True)
        try:
            lines = run_program(seed, kinds, totals)
        except Exception as error:
            lines = [f"seed {seed}: the harness itself: {error!r}"]
        if lines:
            print("\n  ".join(lines), flush=True)
    print("totals", json.dumps(totals))


def ends_plain(seed: int, command: list[str]) -> bool:
    """Does the program end CPython itself?  Some do: what ends changes the class that is just changed."""
    done = subprocess.run([*command, "--plain", str(seed)], capture_output=True, timeout=60)
    return done.returncode != 0


def run_apart(seeds: range, kinds: str) -> tuple[list[str], collections.Counter[str]]:
    """The same in a process, going on behind a program that ends it."""
    lines: list[str] = []
    totals: collections.Counter[str] = collections.Counter()
    alone = [sys.executable, "-P", __file__, "--kinds", kinds]
    while seeds:
        command = [*alone, "--here", str(seeds.start), str(seeds.stop)]
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
        if status == -1 or not ends_plain(at, alone):
            lines.append(f"seed {at}: the process ended with {status}")
        seeds = range(at + 1, seeds.stop)
    return lines, totals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the text of the program")
    parser.add_argument("--kinds", default=",".join(sorted(programs.KINDS)), help="features, comma")
    parser.add_argument("--here", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--plain", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
    kinds = frozenset(filter(None, options.kinds.split(",")))
    if options.here:
        run_here(range(*options.here), kinds)
        return 0
    if options.plain is not None:
        calls(programs.program(options.plain, kinds), lambda f: f)
        return 0
    if options.programs == 1:
        if options.show:
            print(programs.program(options.seed, kinds).small())
        lines = run_program(options.seed, kinds)
        print("\n  ".join(lines) or "no difference")
        return bool(lines)
    end = options.seed + options.programs
    chunks = [range(at, min(at + CHUNK, end)) for at in range(options.seed, end, CHUNK)]
    totals: collections.Counter[str] = collections.Counter()
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for done, (lines, more) in enumerate(
            pool.map(run_apart, chunks, [options.kinds] * len(chunks)), 1
        ):
            totals.update(more)
            failed += sum(line.startswith("seed ") for line in lines)
            if lines:
                print("\n  ".join(lines), flush=True)
            if sys.stdout.isatty():
                print(f"{done * CHUNK} programs, {failed} differ", end="\r", flush=True)
    print(f"{options.programs} programs, {failed} differ; {dict(totals)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
