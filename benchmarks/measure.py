"""Times by interleaved repeats: all contenders of a case take turns, medians count."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.peers import PEERS, Unsupported
from pycompile import _C

Call = Callable[[], Any]


def same_bits(a: Any, b: Any) -> bool:
    """Equal types, dtypes, shapes and bits, through tuples and lists."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)


def first_calls(case: Case, args: tuple[Any, ...]) -> tuple[bool, int, int]:
    """Whether pycompile's results and written arguments are NumPy's, cold and warm; the bytes of the
    largest arena of its plans, and of the inputs and outputs of that plan."""
    mine, yours = copy.deepcopy(args), copy.deepcopy(args)
    plain, compiled = PEERS["numpy"](case, mine), PEERS["pycompile"](case, yours)
    _C.report_begin()
    same = all(same_bits((plain(), mine), (compiled(), yours)) for _ in range(2))
    plans = [record for record in _C.report_end() if "bytes_arena" in record]
    if not plans:
        return same, 0, 0
    largest = max(plans, key=lambda plan: plan["bytes_arena"])
    return same, largest["bytes_arena"], largest["bytes_read"] + largest["bytes_written"]


def inner_count(call: Call, at_least: float) -> int:
    """How many calls take about `at_least` seconds."""
    count = 1
    while True:
        began = time.perf_counter()
        for _ in range(count):
            call()
        took = time.perf_counter() - began
        if took >= at_least / 2:
            return max(1, round(count * at_least / took))
        count *= 4


WARM_CALLS = 3


def interleaved(
    calls: dict[str, Call],
    rounds: int,
    at_least: float,
    of_rounds: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Seconds per call: the median of the rounds, or what `of_rounds` makes of them."""
    for call in calls.values():
        for _ in range(WARM_CALLS):  # compiles are not what the rounds are as long as
            call()
    counts = {name: inner_count(call, at_least) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            for _ in range(counts[name]):
                call()
            times[name].append((time.perf_counter() - began) / counts[name])
    return {name: of_rounds(values) for name, values in times.items()}


GAP = 200e-6  # seconds between calls: the pool is asleep again


def with_gaps(calls: dict[str, Call], rounds: int) -> dict[str, float]:
    """Seconds per call where something else is done between calls, as programs do: medians."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            until = time.perf_counter() + GAP
            while time.perf_counter() < until:
                pass
            began = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def run_case(case: Case, dtype: type, peers: list[str], quick: bool) -> dict[str, Any]:
    """One row: seconds by contender, why others are missing, whether the bits agree."""
    args = case.arguments(np.random.default_rng(0), dtype, quick)
    row: dict[str, Any] = {"case": case.name, "dtype": np.dtype(dtype).name, "missing": {}}
    row["bits"], row["arena"], row["arrays"] = first_calls(case, args)
    calls: dict[str, Call] = {}
    for name in ["numpy", "pycompile", *(p for p in peers if p != "numpy"), "C"]:
        try:
            call = PEERS[name](case, copy.deepcopy(args))
            call()
            call()
        except Unsupported as why:
            row["missing"][name] = str(why)
        except Exception as why:  # a peer that cannot run a case is a result, not a failure
            if name in ("numpy", "pycompile"):
                raise
            row["missing"][name] = (
                f"{type(why).__name__}: {str(why).splitlines()[0] if str(why) else ''}"
            )
        else:
            calls[name] = call
    rounds, at_least = (5, 0.002) if quick else (11, 0.01)
    row["seconds"] = interleaved(calls, rounds, at_least)
    pair = {name: calls[name] for name in ("numpy", "pycompile")}
    brief = row["seconds"]["numpy"] < 50 * GAP  # in what takes longer a gap is lost
    row["gaps"] = with_gaps(pair, 20 * rounds) if brief else None
    return row
