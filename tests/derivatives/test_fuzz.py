"""Random differentiable functions against differences; see derivative_programs.py, and
generated_derivatives.py for those of the array and loop fuzzers: three in four.  The same programs as
batches: see generated_batches.py.

python tests/derivatives/test_fuzz.py FIRST COUNT [batches]  # 0 10000: many; prints the programs that fail
"""

from __future__ import annotations

import linecache
import math
import os
import sys
from collections import Counter
from typing import Any

import generated_batches as batches
import generated_derivatives as generated
import numpy as np
import pytest
from derivative_programs import Program, arguments
from differences import check

import pycompile

IN_CI = int(os.environ.get("PYCOMPILE_FUZZ", "250")) // 10
CHUNK = 5


def function(text: str, name: str) -> Any:
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    scope: dict[str, Any] = {"np": np, "math": math}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


def run(seed: int) -> str:
    """What came of it; what is wrong raises."""
    text, given = generated.program(seed) if seed % 4 else (Program(seed).text, arguments(seed))
    f = function(text, f"derivative program {seed}")
    in_single = function(generated.narrow(text), f"derivative program {seed} in float32")
    try:
        told = generated.differ(f, given, seed) if seed % 4 else differ(f, given, seed)
        for each in (told, generated.narrow_differ(in_single, f, given, seed)):
            assert each in ("", "refused", "unknown"), each
        assert generated.repeated_differ(f, given) in ("", "unknown")
    except Exception as error:
        error.add_note(text)
        raise
    return told


def differ(f: Any, given: list[Any], seed: int) -> str:
    """Of a program that is smooth at its arguments."""
    try:
        check(f, *given, tolerance=1e-7, seed=seed, h=0.004)
    except pycompile.DerivativeError as error:
        known = ("write into a copy", "no graph follows it", "give the function copies")
        if not any(text in str(error) for text in known):
            raise
        return "refused"
    return ""


@pytest.mark.parametrize("first", range(0, IN_CI, CHUNK))
def test_programs(first: int) -> None:
    for seed in range(first, first + CHUNK):
        run(seed)


def run_batches(seed: int) -> str:
    text, given = batches.program(seed)
    f = function(text, f"batch program {seed}")
    for told in (batches.differ(f, given, seed), batches.jacobians_differ(f, given)):
        assert told in ("", "unknown"), f"{text}\n{told}"
    return told


@pytest.mark.parametrize("first", range(0, IN_CI // 5, CHUNK))
def test_batches(first: int) -> None:
    for seed in range(first, first + CHUNK):
        run_batches(seed)


if __name__ == "__main__":
    os.environ.setdefault("PYCOMPILE_WAIT", "1")
    start, count = map(int, sys.argv[1:3])
    one = run_batches if sys.argv[3:] == ["batches"] else run
    told: Counter[str] = Counter()
    for number in range(start, start + count):
        pycompile.reset()
        try:
            told[one(number)] += 1
        except Exception as error:
            told["failed"] += 1
            notes = getattr(error, "__notes__", ())
            print(number, type(error).__name__, error, *notes, sep="\n", flush=True)
    print(
        f"{count} programs: {told['failed']} failed, {told['']} compared, {told['refused']} refused"
    )
