"""Random functions against plain Python; see function_programs.py.

python tests/test_function_fuzz.py --programs 20000 --jobs 2     # many; prints the seeds that differ
python tests/test_function_fuzz.py --programs 2000 --sizes       # called with arrays of other lengths
python tests/test_function_fuzz.py --seed 7 --show               # a program's text and what differs
"""

from __future__ import annotations

import collections
import linecache
import os
import sys
import warnings
from typing import Any

import function_programs as programs
import function_world
import fuzzing
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


def run_program(
    seed: int, options: dict[str, Any] | None = None, totals: Any = None, sizes: bool = False
) -> list[str]:
    """What differs, as lines; nothing: the program cannot be told from plain.  `sizes`: with arrays and
    lists of other lengths, and other ints; a backend of one's own is given no symbols."""
    if options is None:
        options = {} if seed % NATIVE == 0 or sizes else {"backend": "eager"}
    if sizes:
        options = {**options, "dynamic": True if seed % 2 else None}
    text, file = programs.program(seed), f"function-{seed}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        plain, ours = (namespace(text, file) for _ in range(2))
    compiled = pycompile.compile(ours["f"], **options)
    for call in (0, 1, 2, 3, 4, 5, 0) if sizes else (0, 0, 1, 2, 0):
        before = observe(plain["f"], function_world.arguments(seed * 10 + call, sizes), {})
        after = observe(compiled, function_world.arguments(seed * 10 + call, sizes), {})
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
    totals: collections.Counter[str] = collections.Counter()
    seeds = range(first, first + BLOCK)
    failures = [
        line
        for seed in seeds
        for line in run_program(seed, totals=totals, sizes=seed % (2 * NATIVE) == 0)
    ]
    assert not failures, "\n  ".join(failures)
    assert totals["plan_runs"] >= BLOCK, "most programs run no plan: nothing was compared"


def main() -> int:
    parser = fuzzing.arguments(__doc__)
    parser.add_argument("--backend", choices=("c", "eager"), help="instead of one in eight in C")
    parser.add_argument("--sizes", action="store_true", help="call with other lengths, too")
    options = parser.parse_args()
    os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
    os.environ.setdefault("PYCOMPILE_WAIT", "1")
    chosen = {"backend": options.backend} if options.backend else None
    if options.here:
        fuzzing.run_here(
            range(*options.here),
            lambda seed, totals: run_program(seed, chosen, totals, options.sizes),
        )
        return 0
    if options.programs == 1:
        if options.show:
            print(programs.program(options.seed).removeprefix(function_world.PREAMBLE))
        lines = run_program(options.seed, chosen, sizes=options.sizes)
        print("\n  ".join(lines) or "no difference")
        return bool(lines)
    backend = ["--backend", options.backend] if options.backend else []
    sizes = ["--sizes"] * options.sizes
    return fuzzing.run_many(options, [__file__, *backend, *sizes])


if __name__ == "__main__":
    sys.exit(main())
