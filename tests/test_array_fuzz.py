"""Random whole array programs against plain NumPy; see array_programs.py.

python tests/test_array_fuzz.py --examples 20000 --jobs 8     # many; a failing program is printed
"""

from __future__ import annotations

import argparse
import linecache
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import array_programs as programs
import numpy as np
import pytest
from differential import differences, observe
from hypothesis import HealthCheck, Phase, given, seed, settings

import pycompile

IN_CI = int(os.environ.get("PYCOMPILE_FUZZ", "1000"))
FIRST = (sys.version_info.minor - 11) * IN_CI  # each Python has programs of its own
CHUNK = 100
OTHER_ARGUMENTS: list[int] = []  # what is added to the seeds of a program's arguments


def argument_sets(recipes: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
    """The program's arguments twice; as a script also others of the same types, which take other
    branches and may raise an error, and the first again: one plan has to be right for all of them."""
    others = [
        [(shape, dtype, number + step, how) for shape, dtype, number, how in recipes]
        for step in OTHER_ARGUMENTS
    ]
    return [recipes, *others, recipes]


def differ(text: str, recipes: list[tuple[Any, ...]]) -> list[str]:
    """What differs, as lines."""
    file = "array-program.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), scope)
    compiled = pycompile.compile(scope["f"])
    for inputs in argument_sets(recipes):
        plain = observe(scope["f"], programs.arguments(inputs), {})
        ours = observe(compiled, programs.arguments(inputs), {})
        lines = differences(plain, ours, one_nan=True)
        if lines:
            return lines
    return []


def smaller(text: str, recipes: list[tuple[Any, ...]]) -> str:
    """The program with no statement that can go; faster than drawing programs again."""
    lines = text.splitlines()
    for at in range(len(lines) - 2, 0, -1):
        fewer = lines[:at] + lines[at + 1 :]
        name, bound, _ = lines[at].strip().partition(" = ")
        if bound and name.isidentifier():
            names = [n for n in fewer[-1].split("return ")[1].split(", ") if n != name]
            fewer[-1] = f"    return {', '.join(names)}"
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = differ("\n".join(fewer) + "\n", recipes)
        if found and not found[0].startswith("exception"):
            lines = fewer
    return "\n".join(lines) + "\n"


def compare(made: tuple[str, list[tuple[Any, ...]]]) -> None:
    """Raises AssertionError with the program's text where compiled differs from plain."""
    text, recipes = made
    if differ(text, recipes):
        text = smaller(text, recipes)
        told = "\n  ".join(line[:300] for line in differ(text, recipes)[:12])
        raise AssertionError(f"with {recipes}:\n{text}\n  {told}")


def fuzz(examples: int, number: int) -> None:
    """`examples` programs that are a function of `number`."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs.array_programs())
    def run(made):
        compare(made)

    run()
    pycompile.reset()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FIRST, FIRST + IN_CI, CHUNK))
def test_programs_cannot_be_told_from_numpy(number):
    fuzz(min(CHUNK, FIRST + IN_CI - number), number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=CHUNK)
    parser.add_argument("--first", type=int, default=0, help="the first seed, one for 100 examples")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
    if options.here:
        OTHER_ARGUMENTS.extend((1, 2, 3))
        fuzz(options.examples, options.first)
        return 0

    def apart(number: int) -> tuple[int, str]:
        command = [sys.executable, __file__, "--here", "--first", str(number)]
        command += ["--examples", str(CHUNK)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
        except subprocess.TimeoutExpired:
            return -1, "it took too long"
        return done.returncode, done.stdout[-3000:] + done.stderr[-6000:]

    failed = 0
    numbers = range(options.first, options.first + options.examples, CHUNK)
    with ThreadPoolExecutor(options.jobs) as pool:
        for number, (status, told) in zip(numbers, pool.map(apart, numbers)):
            failed += status != 0
            if status != 0:
                print(f"---- seed {number} ended with {status}\n{told}", flush=True)
    print(f"{options.examples} examples, {failed} of {len(numbers)} seeds with a difference")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
