"""One run of one program: python -m benchmarks.programs._child NAME STATE SEED CALLS CLOCK.

STATE is `compiled` where the functions are to be decorated, anything else where not.  CALLS is a
number, or xN: N times as many as the program says; CLOCK is a function of `time`.  Prints JSON: the
seconds that had been spent
after each call, a digest of each result, and what pycompile did.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import pickle
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import benchmarks.programs as programs


def sizes_of(program: Any, seed: int, count: int) -> list[int]:
    rng = np.random.default_rng(seed)
    if hasattr(program, "sizes"):
        return list(program.sizes(rng, count))
    low, high = map(math.log, program.SIZES)
    return [round(math.exp(x)) for x in rng.uniform(low, high, count)]


def calls_of(program: Any, wanted: str) -> int:
    if wanted.startswith("x"):
        return int(wanted[1:]) * getattr(program, "CALLS", programs.CALLS)
    return int(wanted)


def digest(result: Any) -> str:
    return hashlib.blake2b(pickle.dumps(result, 5), digest_size=8).hexdigest()


def calls(
    program: Any, seed: int, count: int, clock: Callable[[], float]
) -> tuple[list[float], list[str]]:
    elapsed, digests, total = [], [], 0.0
    for i, size in enumerate(sizes_of(program, seed, count)):
        rng = np.random.default_rng([seed, i])
        began = clock()
        result = program.main(rng, size)
        total += clock() - began
        elapsed.append(total)
        digests.append(digest(result))
    return elapsed, digests


def counts() -> dict[str, Any]:
    """Of this process; nothing in a plain one, which has not imported pycompile."""
    if "pycompile" not in sys.modules:
        return {}
    from pycompile import _C

    return {**_C.compile_counts(), "stored": _C.cache_info()["stored"]}


def main() -> None:
    name, state, seed, wanted, clock = sys.argv[1:]
    if state == "compiled":
        import pycompile

        programs.decorator = pycompile.compile
    try:
        program = importlib.import_module(f"benchmarks.programs.{name}")
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": error.name}))
        return
    elapsed, digests = calls(program, int(seed), calls_of(program, wanted), getattr(time, clock))
    print(json.dumps({"elapsed": elapsed, "digests": digests, "counts": counts()}))


if __name__ == "__main__":
    main()
