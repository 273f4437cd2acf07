"""Random nests of loops over elements, and loops over whole arrays, against plain Python; see
loop_programs.py, nest_programs.py, repeat_programs.py, turn_programs.py and size_programs.py.

python tests/test_loop_fuzz.py --programs 5000 --jobs 2     # many; prints the programs that differ
python tests/test_loop_fuzz.py --first 7 --show             # a program's text and what differs
python tests/test_loop_fuzz.py --variants careful           # one variant of each loop alone
python tests/test_loop_fuzz.py --programs 20000 --quick     # three times as fast, see QUICKLY
python tests/test_loop_fuzz.py --programs 5000 --sizes      # called with arrays of other lengths
"""

from __future__ import annotations

import argparse
import heapq
import linecache
import math
import os
import random
import subprocess
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import loop_programs
import nest_programs
import numpy as np
import pytest
import repeat_programs
import size_programs
import store_programs
import turn_programs
from differential import differences, observe, refused

import pycompile
from pycompile import _C

IN_CI = int(os.environ.get("PYCOMPILE_FUZZ", "150"))
FIRST = (sys.version_info.minor - 11) * IN_CI  # each Python has programs of its own
BLOCK = 50  # programs a test
# With --quick, of each eight blocks seven are compiled without optimisation, and only what is worth
# a plan is made one: nine tenths of the time goes to the C compiler.
QUICKLY = 8
# What is done with each loop: usually the careful variant runs only where the quick one has failed.
SIZES = False  # programs are called with arrays of other lengths
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 23, 32)
CALLS = 6  # of other lengths, after one of the program's own
VARIANTS = {"usual": 0, "both": 1, "careful": 2, "none": 3}


def of(number: int) -> Any:
    """The module that writes the program: two in six are of whole arrays, two are plain nests, or made
    for other lengths."""
    others = (size_programs, size_programs) if SIZES else (loop_programs, nest_programs)
    kinds = (loop_programs, nest_programs, *others)
    return (*kinds, repeat_programs, turn_programs)[number % 6]


@pycompile.disable
def note(*values: Any) -> float:
    """What is opaque to capture."""
    print("note", *values)
    return 0.5 * len(values)


def program(number: int) -> str:
    """Called with other lengths, most work on arrays of their own, whose lengths are symbols in front of
    the loops."""
    text = of(number).program(number)
    rng = random.Random(number)
    if not SIZES or of(number) is size_programs or rng.random() < 0.3:
        return text
    head, start, body = text.partition("def f(")
    signature, end, body = body.partition("):\n")
    names = [name for name in signature.split(", ") if name in "xyhwabcdetu" and name != "t"]
    names += ["t"] * ("u" in names)
    own = [name for name in names if rng.random() < 0.6]
    made = "".join(f"    {name} = {name}{rng.choice(('.copy()', ' + 0'))}\n" for name in own)
    return head + start + signature + end + made + body


def of_lengths(args: list[Any], names: tuple[str, ...], rng: random.Random) -> list[Any]:
    """The same arguments with other lengths, which are equal, and in the order, that they were in; `n` and
    `m` follow them, so that what was in bounds is so mostly."""
    known = sorted({n for arg in args if isinstance(arg, np.ndarray) for n in arg.shape})
    chosen = [rng.choice(LENGTHS) for _ in known]
    if rng.random() < 0.7:
        chosen = [max(n, 2) for n in chosen]
    lengths = dict(zip(known, sorted(chosen)))
    made: dict[int, Any] = {}

    def other(arg: Any, name: str) -> Any:
        if isinstance(arg, np.ndarray):
            array = resized(arg, tuple(lengths[n] for n in arg.shape))
            return made.setdefault(id(arg), repeated(array, rng) if rng.random() < 0.03 else array)
        if name not in ("n", "m"):
            return arg
        near = min((n for n in known if n >= arg), default=known[-1])
        return max(lengths[near] - near + arg, 0)

    return [other(arg, name) for arg, name in zip(args, names)]


def resized(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Of its elements again and again, and laid out like it."""
    values = np.resize(array, shape)
    if array.flags.c_contiguous:
        return values
    if array.flags.f_contiguous:
        return np.asfortranarray(values)
    return np.repeat(values, 2, axis=-1)[..., ::2]


def repeated(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Its elements share memory, along an axis or more."""
    strides = [rng.choice((0, array.itemsize)) for _ in array.shape]
    return np.lib.stride_tricks.as_strided(array, strides=strides)


def calls(number: int, function: Any) -> list[list[Any]]:
    """The arguments of each call, made anew."""
    arguments = of(number).arguments
    if not SIZES:
        return [arguments(3 * number + turn) for turn in range(3)]
    rng, names = random.Random(number), function.__code__.co_varnames
    others = [of_lengths(arguments(3 * number), names, rng) for _ in range(CALLS)]
    return [*others[: number % 2], arguments(3 * number), *others[number % 2 :]]


def modes(number: int, function: Any) -> Any:
    """What is told the compiler of lengths: mostly nothing, or that all vary."""
    if not SIZES:
        return None
    declared = {"a" if "a" in function.__code__.co_varnames else "t": {0: "length"}}
    return random.Random(-number).choice((None, None, None, True, True, True, False, declared))


def differ(number: int) -> list[str]:
    """What differs for program `number`, as lines."""
    text = program(number)
    file = f"loop-program-{number}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"np": np, "math": math, "heapq": heapq, "deque": deque, "note": note}
    exec(compile(text, file, "exec"), scope)
    options = {"recompile_limit": 1000, **getattr(of(number), "OPTIONS", {})}
    dynamic = modes(number, scope["f"])
    compiled = pycompile.compile(scope["f"], dynamic=dynamic, options=options)
    for args, same in zip(calls(number, scope["f"]), calls(number, scope["f"])):
        plain = observe(scope["f"], tuple(args), {})
        _C.report_begin()
        try:
            ours = observe(compiled, tuple(same), {})
        finally:
            records = _C.report_end()
        if isinstance(ours.raised, pycompile.DimensionError):
            return []  # what was declared of a length is decided by the program
        lines = differences(plain, ours, one_nan=True)
        # A build with assertions says here which graph is broken: in another one it may run.
        lines += [why for why in refused(records) if why.startswith("SystemError")]
        if lines:
            shapes = [arg.shape for arg in args if isinstance(arg, np.ndarray)]
            return [f"dynamic={dynamic}, shapes {shapes}", *lines]
    return []


def kept_loops(number: int) -> bool:
    """Did the program run as a plan with a kept loop?"""
    scope: dict[str, Any] = {"np": np, "math": math, "heapq": heapq, "deque": deque, "note": note}
    exec(of(number).program(number), scope)
    compiled = pycompile.compile(scope["f"])
    observe(compiled, tuple(of(number).arguments(3 * number)), {})
    return compiled.stats()["plan_runs"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FIRST, FIRST + IN_CI, BLOCK))
def test_loops_cannot_be_told_from_python(first, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SIZES", first // BLOCK % 3 == 2)
    for number in range(first, min(first + BLOCK, FIRST + IN_CI)):
        lines = differ(number)
        assert not lines, f"program {number}:\n{program(number)}" + "\n".join(lines[:12])
    pycompile.reset()


def copies(number: int) -> list[str]:
    """What differs for program `number` of store_programs.py, and plans that copy whole arrays."""
    text = store_programs.program(number)
    scope: dict[str, Any] = {"np": np}
    exec(text, scope)
    compiled = pycompile.compile(scope["f"], options={"plan_always": False})
    for turn in range(2):
        plain = observe(scope["f"], store_programs.arguments(number + turn), {})
        _C.report_begin()
        try:
            ours = observe(compiled, store_programs.arguments(number + turn), {})
        finally:
            made = [record.get("bytes_made", 0) for record in _C.report_end()]
        lines = differences(plain, ours, one_nan=True)
        if store_programs.size(number + turn) > store_programs.SMALL:
            lines += [f"a plan makes {size} bytes" for size in made if size > store_programs.MOST]
        if lines:
            return [text, *lines]
    return []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FIRST, FIRST + max(IN_CI // 50, 4), 4))
def test_stores_copy_no_array(first):
    for number in range(first, first + 4):
        assert not (lines := copies(number)), f"program {number}:\n" + "\n".join(lines)


@pytest.mark.slow
@pytest.mark.optimised
@pytest.mark.parametrize("variants", list(VARIANTS)[1:])
def test_each_variant_of_a_loop_leaves_the_same(variants):
    """Of the first programs, whose kernels there are."""
    _C.test_variants(VARIANTS[variants])
    try:
        for number in range(FIRST, FIRST + 40):
            lines = differ(number)
            assert not lines, f"program {number}:\n{program(number)}" + "\n".join(lines)
    finally:
        _C.test_variants(0)


@pytest.mark.slow
def test_most_programs_run_as_plans():
    assert sum(kept_loops(number) for number in range(FIRST, FIRST + 40)) >= 15


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=BLOCK)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--variants", choices=list(VARIANTS), default="usual")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", action="store_true", help="call with other lengths, too")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.quick:
        os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
        os.environ.setdefault("PYCOMPILE_WAIT", "1")
    _C.test_variants(VARIANTS[options.variants])
    global SIZES
    SIZES = options.sizes
    if options.show:
        print(program(options.first), *differ(options.first), sep="\n")
        return 0
    if options.here:
        failed = 0
        for number in range(options.first, options.first + options.programs):
            lines = differ(number)
            failed += bool(lines)
            if lines:
                print(f"---- program {number}", *lines[:6], sep="\n", flush=True)
        return failed > 0

    def apart(first: int) -> tuple[int, str]:
        command = [sys.executable, __file__, "--here", "--first", str(first)]
        command += [
            "--programs",
            str(BLOCK),
            "--variants",
            options.variants,
            *["--sizes"] * options.sizes,
        ]
        environment = dict(os.environ)
        if options.quick and first // BLOCK % QUICKLY != 0:
            command += ["--quick"]
            environment["CC"] = str(Path(__file__).parent / "quick_cc.sh")
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=1800, env=environment
        )
        return done.returncode, done.stdout[-3000:] + done.stderr[-3000:]

    failed = 0
    blocks = range(options.first, options.first + options.programs, BLOCK)
    with ThreadPoolExecutor(options.jobs) as pool:
        for first, (status, told) in zip(blocks, pool.map(apart, blocks)):
            failed += status != 0
            if status != 0:
                print(f"==== programs from {first}: {status}\n{told}", flush=True)
    print(f"{options.programs} programs, {failed} of {len(blocks)} blocks with a difference")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
