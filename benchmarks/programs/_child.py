"""One run of one program: python -m benchmarks.programs._child NAME STATE SEED CALLS.

STATE is `compiled` where the functions are to be decorated, anything else where not.  CALLS is a
number, or xN: N times as many as the program says.  A line of input asks for so many calls, 0: for as many
as take TURN seconds; their number is the answer.  The last line is JSON: the seconds that had gone by (`elapsed`), and that the process had run on a
processor (`ran`), after each call; a digest of each result; and what pycompile did.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import pickle
import sys
import time
from typing import Any

import numpy as np

import benchmarks.programs as programs

TURN = 0.02


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


def calls(program: Any, seed: int, count: int) -> dict[str, Any]:
    elapsed, ran, digests = [0.0], [0.0], []
    said, sys.stdout = sys.stdout, sys.stderr  # for what the program prints
    wanted = made = 0
    sizes = sizes_of(program, seed, count)
    for i, size in enumerate(sizes):
        if made == 0:
            wanted, turn = int(sys.stdin.readline()), ran[-1]
        rng = np.random.default_rng([seed, i])
        began, began_ran = time.perf_counter(), time.process_time()
        result = program.main(rng, size)
        ran.append(ran[-1] + time.process_time() - began_ran)
        elapsed.append(elapsed[-1] + time.perf_counter() - began)
        digests.append(digest(result))
        made += 1
        if made == wanted or i == len(sizes) - 1 or (wanted == 0 and ran[-1] - turn > TURN):
            print(made, file=said, flush=True)
            made = 0
    sys.stdout = said
    return {"elapsed": elapsed[1:], "ran": ran[1:], "digests": digests}


def counts() -> dict[str, Any]:
    """Of this process; nothing in a plain one, which has not imported pycompile."""
    if "pycompile" not in sys.modules:
        return {}
    from pycompile import _C

    return {**_C.compile_counts(), "stored": _C.cache_info()["stored"]}


def main() -> None:
    name, state, seed, wanted = sys.argv[1:]
    if state == "compiled":
        import pycompile

        programs.decorator = pycompile.compile
    try:
        program = importlib.import_module(f"benchmarks.programs.{name}")
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": error.name}))
        return
    found = calls(program, int(seed), calls_of(program, wanted))
    print(json.dumps({**found, "counts": counts(), "process": time.process_time()}))


if __name__ == "__main__":
    main()
