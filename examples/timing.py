"""How the examples measure: plain against compiled, first call and steady, and whether bits agree."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def plain_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it was before the decorator."""
    return getattr(function, "__wrapped__", function)


def same_bits(a: Any, b: Any) -> bool:
    """Equal types, dtypes, shapes and bits, through tuples, lists and dicts."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(same_bits, a.values(), b.values()))
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return a == b or (a != a and b != b)


def seconds(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    began = time.perf_counter()
    function(*args)
    return time.perf_counter() - began


def warm(
    plain: Callable[..., Any],
    mine: tuple[Any, ...],
    function: Callable[..., Any],
    yours: tuple[Any, ...],
) -> None:
    """Calls both until compiled code runs: the C compiler works beside the program."""
    began = time.perf_counter()
    while function.stats()["plan_runs"] == 0 and time.perf_counter() - began < 5:
        plain(*mine)
        function(*yours)


def measure(name: str, function: Callable[..., Any], *args: Any, repeats: int = 15) -> bool:
    """Prints one line: plain, first and steady times, the ratio, whether bits agree.

    Each side has its own copy of the arguments, so that functions may write to them. The repeats of
    the two sides alternate: a machine that slows down slows both.
    """
    plain = plain_of(function)
    mine, yours = copy.deepcopy(args), copy.deepcopy(args)
    wanted = plain(*mine)
    began = time.perf_counter()
    got = function(*yours)
    first = time.perf_counter() - began
    warm(plain, mine, function, yours)
    agree = same_bits((wanted, mine), (got, yours))
    pairs = [(seconds(plain, mine), seconds(function, yours)) for _ in range(repeats)]
    agree = agree and same_bits(mine, yours)
    before = statistics.median(pair[0] for pair in pairs)
    after = statistics.median(pair[1] for pair in pairs)
    print(
        f"{name:<34} plain {before * 1e3:8.2f} ms   first {first * 1e3:8.2f} ms   "
        f"steady {after * 1e3:8.2f} ms   {before / after:5.1f}x   "
        f"bits {'agree' if agree else 'DIFFER'}"
    )
    return agree
