"""Random whole array programs against plain NumPy; see array_programs.py.

python tests/test_array_fuzz.py --examples 20000 --jobs 8     # many; a failing program is printed
python tests/test_array_fuzz.py --examples 20000 --sizes      # called with other lengths, too
python tests/test_array_fuzz.py --examples 500 --sizes --twins  # until there are plans for them
"""

from __future__ import annotations

import argparse
import contextlib
import linecache
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import array_programs as programs
import numpy as np
import pytest
from differential import differences, observe
from hypothesis import HealthCheck, Phase, given, seed, settings

import pycompile
from pycompile import _C

IN_CI = int(os.environ.get("PYCOMPILE_FUZZ", "150"))
FIRST = (sys.version_info.minor - 11) * IN_CI  # each Python has programs of its own
CHUNK = 50
SIZES = False  # programs are called with arrays of other lengths
TWINS = False  # … until plans whose lengths are symbols have twins for these
TWIN_CALLS = 12
OTHER_ARGUMENTS = (1, 2, 3)  # what is added to the seeds of a program's arguments
OTHER_LENGTHS = (0, 1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 31)


def other_lengths(recipes: list[tuple[Any, ...]], rng: random.Random) -> list[tuple[Any, ...]]:
    """The same arguments with other lengths, which are equal where they were."""
    lengths = {n: rng.choice(OTHER_LENGTHS) for n in range(2, 6)}
    if rng.random() < 0.5:
        lengths[rng.choice(list(lengths))] = rng.choice((0, 1, 2))
    return [
        (tuple(lengths.get(n, n) for n in shape), dtype, number, how)
        for shape, dtype, number, how in recipes
    ]


def argument_sets(recipes: list[tuple[Any, ...]], seed: str = "") -> list[list[tuple[Any, ...]]]:
    """The program's arguments, others of the same types, which take other branches and may raise an
    error, and the first again: one plan has to be right for all of them.  With a seed, others of
    other lengths as well."""
    if seed:
        rng = random.Random(seed)
        if rng.random() < 0.75:  # what has lengths that are symbols
            recipes = [(shape, dtype, number, "C") for shape, dtype, number, _ in recipes]
        sets = [recipes, *(other_lengths(recipes, rng) for _ in range(8)), recipes]
        return sets[rng.randrange(2) :]
    others = [
        [(shape, dtype, number + step, how) for shape, dtype, number, how in recipes]
        for step in OTHER_ARGUMENTS
    ]
    return [recipes, *others, recipes]


# ---- what NumPy leaves undefined ----

NEGATIVE_POWER = "Integers to negative integer powers"


class Filled:
    """NumPy, but that a `power` of integers which raises an error leaves `number` in its output
    where NumPy leaves what happened to be in its buffers (of a cast) or in its copy of the output
    (where that shares memory with an operand)."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def power(self, x: Any, y: Any, out: Any = None) -> Any:
        try:
            return np.power(x, y, out=out)
        except ValueError as error:
            if out is not None and str(error).startswith(NEGATIVE_POWER):
                types = [
                    a.dtype if isinstance(a, (np.ndarray, np.generic)) else type(a) for a in (x, y)
                ]
                own = np.power.resolve_dtypes((*types, None))[-1] == out.dtype
                shares = np.may_share_memory(out, x) or np.may_share_memory(out, y)
                if not own or not out.flags.aligned or shares:
                    out[...] = self.number
            raise


def undefined(file: str, text: str, inputs: list[tuple[Any, ...]]) -> list[np.ndarray]:
    """For each argument, which elements differ between two runs that differ in nothing but that."""
    made = []
    for number in (0, 1):
        scope: dict[str, Any] = {"np": Filled(number)}
        exec(compile(text, file, "exec"), scope)
        arrays = programs.arguments(inputs)
        with contextlib.suppress(ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scope["f"](*arrays)
        made.append(arrays)
    return [(octets(a) != octets(b)).any(axis=-1) for a, b in zip(*made)]


def octets(array: np.ndarray) -> np.ndarray:
    """The bytes of each element, along another axis: NaNs are equal to themselves."""
    return array.copy()[..., None].view(np.uint8)


def forget(arguments: tuple[np.ndarray, ...], where: list[np.ndarray]) -> None:
    for array, mask in zip(arguments, where):
        if array.flags.writeable:
            array[mask] = 0


def differ(text: str, recipes: list[tuple[Any, ...]]) -> list[str]:
    """What differs, as lines."""
    if not SIZES:
        return differ_with(text, argument_sets(recipes), None)
    sets = argument_sets(recipes, text)
    return differ_with(text, sets, True) or differ_with(text, sets, None)


def with_twins(compiled: Any, sets: list[list[tuple[Any, ...]]]) -> Iterator[list[tuple[Any, ...]]]:
    """Each set of arguments a few times: at the second call its lengths want a twin, which is there
    once the C compiler has ended."""
    for inputs in sets:
        before = compiled.stats()["twins"]
        for call in range(TWIN_CALLS):
            yield inputs
            stats = compiled.stats()
            if stats["twins"] > before or stats["plans"] == 0:
                break
            time.sleep(0.1 if call > 1 else 0.0)
        yield inputs


def differ_with(text: str, sets: list[list[tuple[Any, ...]]], dynamic: bool | None) -> list[str]:
    file = "array-program.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), scope)
    limits = {"recompile_limit": 100} if SIZES else None
    compiled = pycompile.compile(scope["f"], dynamic=dynamic, options=limits)
    for inputs in with_twins(compiled, sets) if TWINS else sets:
        plain = observe(scope["f"], programs.arguments(inputs), {})
        ours = observe(compiled, programs.arguments(inputs), {})
        lines = differences(plain, ours, one_nan=True)
        if lines and NEGATIVE_POWER in str(plain.raised):
            where = undefined(file, text, inputs)
            forget(plain.args[0], where)
            forget(ours.args[0], where)
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


def fuzz(examples: int, number: int, sizes: bool = False) -> None:
    """`examples` programs that are a function of `number`; `sizes`: called with other lengths."""
    global SIZES

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

    if TWINS:
        _C.test_sample(3 * 10**9, 9 * 10**9)  # runs take that long, it is pretended
    if number // CHUNK % 2:  # kernels over small arrays run as waves, too
        _C.test_wave_sizes(64, 2048)
    SIZES = sizes
    try:
        run()
    finally:
        SIZES = False
        _C.test_wave_sizes(0, 0)
        _C.test_sample(0, 0)
        pycompile.reset()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FIRST, FIRST + IN_CI, CHUNK))
def test_programs_cannot_be_told_from_numpy(number):
    fuzz(min(CHUNK, FIRST + IN_CI - number), number, sizes=number // CHUNK % 3 == 2)


WITHOUT_ELISION = """
import functools, sys
sys.path.insert(0, {folder!r})
import pycompile
pycompile.compile = functools.partial(pycompile.compile, backend="eager")
from pycompile import _elision
_elision.elision_bytes = lambda: 0
import test_array_fuzz
test_array_fuzz.smaller = lambda text, recipes: text  # nobody reads it
test_array_fuzz.fuzz(100, 0)
"""


@pytest.mark.slow
def test_programs_find_operators_that_write_into_temporaries():
    """Enough of the programs have arrays of the size from which NumPy's do."""
    code = WITHOUT_ELISION.format(folder=os.path.dirname(__file__))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "AssertionError: with [" in done.stderr, done.stderr[-3000:]


POWER = """def f(x0, x1, x2):
    x2 += 1
    np.power(x0, x1, out=x2[::2])
    return x2
"""


@pytest.mark.parametrize(("dtype", "undefined_ones"), [("f8", 200), ("i4", 200), ("i8", 0)])
def test_what_numpy_leaves_undefined(dtype, undefined_ones):
    """A power of integers that raises an error: `out` of another dtype is copied from a buffer of
    which elements were never set."""
    shape = (200,)
    inputs = [(shape, "i8", 1, "C"), (shape, "i8", 0, "C"), ((400,), dtype, 1, "C")]
    x0, x1, x2 = programs.arguments(inputs)
    assert (x1 < 0).any()
    where = undefined("power.py", POWER, inputs)
    assert [int(mask.sum()) for mask in where] == [0, 0, undefined_ones]
    assert not where[2][1::2].any()
    assert differ(POWER, inputs) == []
    forget((x0, x1, x2), where)
    assert not x2[where[2]].any() and (x2 != 0).any()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=CHUNK)
    parser.add_argument("--first", type=int, default=0, help="the first seed, one for 100 examples")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sizes", action="store_true", help="call with other lengths, too")
    parser.add_argument("--twins", action="store_true", help="with --sizes: until there are twins")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
    os.environ.setdefault("PYCOMPILE_WAIT", "1")
    if options.here:
        global TWINS
        TWINS = options.twins
        fuzz(options.examples, options.first, options.sizes)
        return 0

    def apart(number: int) -> tuple[int, str]:
        command = [sys.executable, __file__, "--here", "--first", str(number)]
        command += ["--examples", str(CHUNK), *["--sizes"] * options.sizes]
        command += ["--twins"] * options.twins
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
