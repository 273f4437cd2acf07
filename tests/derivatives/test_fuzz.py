"""Random differentiable functions against differences; see derivative_programs.py.

python tests/derivatives/test_fuzz.py FIRST COUNT
"""

from __future__ import annotations

import linecache
import os
import sys
from typing import Any

import numpy as np
import pytest
from derivative_programs import Program, arguments
from differences import check

import pycompile

IN_CI = int(os.environ.get("PYCOMPILE_FUZZ", "250")) // 10
CHUNK = 5


def run(seed: int) -> None:
    text = Program(seed).text
    file = f"<derivative program {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), scope)
    try:
        check(scope["f"], *arguments(seed), tolerance=1e-7, seed=seed, h=0.004)
    except pycompile.DerivativeError as error:
        if "write into a copy" not in str(error) and "no graph follows it" not in str(error):
            error.add_note(text)
            raise
    except Exception as error:
        error.add_note(text)
        raise


@pytest.mark.parametrize("first", range(0, IN_CI, CHUNK))
def test_programs(first: int) -> None:
    for seed in range(first, first + CHUNK):
        run(seed)


if __name__ == "__main__":
    os.environ.setdefault("PYCOMPILE_WAIT", "1")
    start, count = map(int, sys.argv[1:])
    failed = 0
    for number in range(start, start + count):
        pycompile.reset()
        try:
            run(number)
        except Exception as error:
            failed += 1
            print(number, type(error).__name__, error, *error.__notes__, sep="\n", flush=True)
    print(f"{failed} of {count} failed")
