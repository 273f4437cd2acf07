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
import os
import signal
import subprocess
import sys
import types
from typing import Any

import fuzzing
import numpy as np
import pytest
import state_programs as programs
from differential import observe, positions

import pycompile

IN_CI = int(os.environ.get("PYCOMPILE_FUZZ", "250")) * 4 // 5
FIRST = (sys.version_info.minor - 11) * IN_CI  # each Python has programs of its own
BLOCK = 25  # programs a test
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


class Torn(Exception):
    """CPython lost track of an ordered dict: what follows is not defined."""


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

    def torn(self) -> bool:
        """Is there a key in the order that is not in the dict?  What ends while an item is stored may
        remove the key, to whose place OrderedDict then points."""
        ordered = [it for it in self.scope.values() if isinstance(it, collections.OrderedDict)]
        return any(set(it) != set(dict.keys(it)) for it in ordered)


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
                found.append(world.scope[f"change{k}"]())
            except Exception as error:
                found.append(repr(error))
            if world.torn():
                raise Torn
    finally:
        gc.enable()
        restore_builtins()
        signal.signal(signal.SIGUSR1, handler)
        sys.modules.pop(MODULE, None)
        sys.modules.pop("fuzz_other", None)
    return found


def difference(program: programs.Program, options: dict[str, Any], totals: Any = None) -> list[str]:
    """What differs, as lines."""
    try:
        plain = calls(program, lambda f: f)
    except Torn:
        return []
    made: list[Any] = []

    def compiled(function: Any) -> Any:
        made.append(pycompile.compile(function, **options))
        return made[0]

    ours = calls(program, compiled)
    if totals is not None:
        totals.update(made[0].stats())
    for k, (a, b) in enumerate(zip(plain, ours, strict=True)):
        if a != b:
            return [f"call {k // 3}:", *unlike(a, b)]
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
    totals: collections.Counter[str] = collections.Counter()
    seeds = range(first, first + BLOCK)
    failures = [line for seed in seeds for line in run_program(seed, totals=totals)]
    assert not failures, "\n  ".join(failures)
    assert totals["plan_runs"] >= BLOCK, "most programs run no plan: nothing was compared"


def ends_plain(seed: int, command: list[str]) -> bool:
    """Does the program end CPython itself?  Some do: what ends changes the class that is just changed."""
    alone = [sys.executable, *command, "--plain", str(seed)]
    try:
        return subprocess.run(alone, capture_output=True, timeout=60).returncode != 0
    except subprocess.TimeoutExpired:
        return False


def main() -> int:
    parser = fuzzing.arguments(__doc__)
    parser.add_argument("--kinds", default=",".join(sorted(programs.KINDS)), help="features, comma")
    parser.add_argument("--plain", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
    kinds = frozenset(filter(None, options.kinds.split(",")))
    if options.here:
        fuzzing.run_here(
            range(*options.here), lambda seed, totals: run_program(seed, kinds, totals)
        )
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
    command = [__file__, "--kinds", options.kinds]
    return fuzzing.run_many(options, command, lambda seed: ends_plain(seed, command))


if __name__ == "__main__":
    sys.exit(main())
