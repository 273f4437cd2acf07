"""Small whole programs in which compiling has to pay for itself: how much longer they take than plain,
first calls included.

    python -m benchmarks.account [--calls 10] [row ...]

Each row is run plain and compiled in this process, with CPU time of the calling thread; a program draws
its numbers anew in each call.  `first` is the first compiled call, `ratio` all calls together over as
many plain ones at their best.
"""

from __future__ import annotations

import argparse
import heapq
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pycompile

# ---- a store under a condition, behind what is not followed ----


def drawn(out, n):
    for i in range(n):
        u = random.random()
        if u > 0.5:
            out[i] = u


def iterated(out, n):
    numbers = iter([i * 0.37 % 1 for i in range(n)])
    for i in range(n):
        u = next(numbers)
        if u > 0.5:
            out[i] = u


def counted(out, n):
    seen = {}
    for i in range(n):
        seen[i % 7] = i
        u = i * 0.37 % 1
        if u > 0.5:
            out[i] = u


def queued(out, n):
    queue: list[int] = []
    for i in range(n):
        heapq.heappush(queue, -i)
        u = i * 0.37 % 1
        if u > 0.5:
            out[i] = u


def popped(out, n):
    numbers = [i * 0.37 % 1 for i in range(n)]
    for i in range(n):
        u = numbers.pop()
        if u > 0.5:
            out[i] = u


def read_behind(out, n):
    total = 0.0
    for i in range(1, n):
        u = random.random()
        if u > 0.5:
            out[i] = u
        total += out[i - 1]
    return total


def stored_twice(out, n):
    for i in range(n - 1):
        u = random.random()
        if u > 0.5:
            out[i] = u
        if u > 0.7:
            out[i + 1] = u * 2
        else:
            out[i] += u


def stored_rows(out, n):
    rows, row = out.reshape(-1, 10), np.arange(10.0)
    for i in range(n // 10):
        u = random.random()
        if u > 0.5:
            rows[i] = row
        else:
            rows[i, 3] = u


def stored_slices(out, n):
    for i in range(0, n - 10, 10):
        u = random.random()
        if u > 0.5:
            out[i : i + 10] = u


# ---- a short kept loop in each turn ----

CUM = np.linspace(0.1, 1.0, 8)


def searched(out, n):
    found = []
    for _ in range(n):
        u = random.random()
        j = 0
        while CUM[j] < u:
            j += 1
        found.append(j)
    return found


def grouped(out, n):
    groups: dict[int, list[int]] = {}
    for i in range(n):
        u = i * 0.37 % 1
        group = groups.setdefault(i % 13, [])
        j = 0
        while CUM[j] < u:
            j += 1
        group.append(j)
    return groups


def broken(out, n):
    total = 0
    for _ in range(n):
        u = random.random()
        for j in range(len(CUM)):
            if CUM[j] >= u:
                break
        total += j
    return total


SIZES = (25_000, 200_000)
ROWS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "a store behind a draw": (drawn, SIZES),
    "a store behind next()": (iterated, SIZES),
    "a store behind a dict's": (counted, SIZES),
    "a store behind a heap": (queued, SIZES),
    "a store behind list.pop": (popped, SIZES),
    "a store, then a read": (read_behind, SIZES),
    "two stores": (stored_twice, SIZES),
    "rows and elements": (stored_rows, SIZES),
    "slices": (stored_slices, SIZES),
    "a short loop behind a draw": (searched, SIZES),
    "a short loop behind setdefault": (grouped, SIZES),
    "a short loop with a break": (broken, SIZES),
}


def took(function: Callable[..., Any], n: int) -> float:
    out = np.linspace(0.0, 1.0, n)
    random.seed(n)
    began = time.thread_time()
    function(out, n)
    return time.thread_time() - began


def row(name: str, calls: int) -> None:
    function, sizes = ROWS[name]
    for n in sizes:
        pycompile.reset()
        compiled = pycompile.compile(function)
        plain = min(took(function, n) for _ in range(3))
        times = [took(compiled, n) for _ in range(calls)]
        print(
            f"{name:32} n = {n:7}  plain {plain * 1e3:8.2f} ms  first {times[0] * 1e3:9.2f} ms"
            f"  last {times[-1] * 1e3:9.2f} ms  ratio {sum(times) / calls / plain:7.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="row", help="part of a row's name")
    parser.add_argument("--calls", type=int, default=10)
    options = parser.parse_args()
    for name in ROWS:
        if not options.rows or any(part in name for part in options.rows):
            row(name, options.calls)


if __name__ == "__main__":
    main()
