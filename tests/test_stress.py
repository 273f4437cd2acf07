"""Random programs and arguments against plain Python; see stress_programs.py.

python tests/test_stress.py --seed 7 --programs 500     # longer; a seed stands for one program
python tests/test_stress.py --seed 7 --show             # its text and what differs
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import stress_programs as programs
from differential import differences, observe

import pycompile

CALLS = 7  # of each program, with changes in between
totals: collections.Counter[str] = collections.Counter()


def namespace(text: str, file: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "stressed"}
    exec(compile(text, file, "exec"), scope)
    return scope


def world(scope: dict[str, Any]) -> dict[str, Any]:
    """What a program can change of its module."""
    thing = scope["THING"]
    return {name: scope.get(name) for name in ("G", "A", "LIST", "DICT")} | {"THING": vars(thing)}


def run_program(seed: int, options: dict[str, Any] | None = None) -> list[str]:
    """What differs, as lines; nothing: the program cannot be told from plain."""
    text = programs.program(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        plain, ours = (namespace(text, f"stress-{seed}.py") for _ in range(2))
    compiled = pycompile.compile(ours["f"], **(options or {}))
    plan = programs.shared_plan(seed)
    try:
        for number in range(CALLS):
            which = seed * 100 + number
            if number >= 3 and which % 3:
                change = programs.mutation(which)
                for scope in (plain, ours):
                    change(scope)
            errors = np.geterr()
            call = which - which % 2  # each twice: cold and warm
            args, keywords = programs.arguments(call, plan)
            before = observe(plain["f"], tuple(args), keywords)
            np.seterr(**errors)
            args, keywords = programs.arguments(call, plan)
            after = observe(compiled, tuple(args), keywords)
            np.seterr(**errors)
            before.args, after.args = (before.args, world(plain)), (after.args, world(ours))
            after.warned = [
                item
                for item in after.warned
                if "CPython runs what no plan holds for" not in item[1]
            ]
            lines = differences(before, after)
            if lines:
                args, keywords = programs.arguments(call, plan)
                return [f"seed {seed}, call {number} with {args}, {keywords}", *lines]
    finally:
        programs.restore_world()
        totals.update(compiled.stats())
    return []


FOUND = (4, 52, 143, 197, 295, 2505, 2513, 2887, 4365, 6493, 6507, 6631, 8049)  # differed once


@pytest.mark.slow
def test_programs_that_once_differed():
    failures = [line for seed in FOUND for line in run_program(seed)]
    assert not failures, "\n  ".join(failures)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_programs_cannot_be_told_from_plain(first):
    pycompile.reset()
    failures = [line for seed in range(first, first + 10) for line in run_program(seed)]
    assert not failures, "\n  ".join(failures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--backend", default="c")
    options = parser.parse_args()
    os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
    os.environ.setdefault("PYCOMPILE_WAIT", "1")
    failed = 0
    for seed in range(options.seed, options.seed + options.programs):
        if options.show:
            print(programs.program(seed).removeprefix(programs.PREAMBLE))
        else:
            print(seed, end="\r", flush=True)
        lines = run_program(seed, {"backend": options.backend})
        failed += bool(lines)
        if lines:
            print("\n  ".join(lines), flush=True)
        if seed % 50 == 0:
            pycompile.reset()
    print(f"{options.programs} programs, {failed} differ; {dict(totals)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
