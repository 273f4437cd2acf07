"""Random loops with stores of elements, under conditions and behind calls that are not followed, into
arrays of up to a million elements: programs for test_loop_fuzz.py that touch few elements of them, so
that a plan that makes more memory than MOST copies an array.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

SIZES = (40, 100_000, 1_000_000)
SMALL = 1000  # arrays that may be copied
MOST = 90_000  # bytes: the smallest of the large arrays has more

# How a turn gets its number `u`, and what is called in it that is not followed.
CALLS = (
    "u = next(numbers)",
    "u = next(numbers)",
    "d[i % 7] = i; u = i * 0.37 % 1",
    "f.n = i; u = i * 0.37 % 1",
    "held.append(i); u = held.pop() * 0.61 % 1",
    "u = d.setdefault(i % 5, i * 0.37 % 1)",
)
PLACES = ("i", "-i", "k", "i - 1", "(i * 7) % n", "3")
ROWS = ("i", "-i", "k", "0")
TESTS = ("u > 0.5", "i % 3 == 0", "a[i] < u", "u > 0.5 and b[i] < 5", "c[k] > u")


def place(r: random.Random) -> str:
    return r.choice(PLACES)


def number(r: random.Random) -> str:
    """A float."""
    return r.choice(("u", "-u", "1.5", f"a[{place(r)}]", f"u * a[{place(r)}]", "float(b[i])", "s"))


def store(r: random.Random) -> str:
    p, row = place(r), r.choice(ROWS)
    return r.choice(
        (
            f"a[{p}] = {number(r)}",
            f"a[{p}] = {number(r)}",
            f"a[{p}] {r.choice('+-*')}= {number(r)}",
            f"a[{p}], a[i] = a[i], a[{p}]",
            f"a[i : i + 4] = {r.choice(('u', 'q', 'q * u', 'a[k : k + 4]'))}",
            f"b[{p}] = {r.choice(('i', 'k', 'True', f'b[{place(r)}]'))}",
            f"b[{p}] += {r.choice(('1', 'i'))}",
            f"c[{p}] = {number(r)}",
            f"t[{p}] = {r.choice(('True', 'u > 0.3', f't[{place(r)}]'))}",
            f"m[{row}, {r.randrange(4)}] = {number(r)}",
            f"m[{row}] = {r.choice(('q', 'q + u', 'u', 'm[0]'))}",
            f"m[{row}] += q",
            f"m[{row}][q > u] = 0.0",
            f"s += a[{p}]",
            f"held.append(a[{p}])",
        )
    )


def block(r: random.Random, depth: int) -> list[str]:
    lines = []
    for _ in range(r.randint(1, 3)):
        if depth == 0 or r.random() < 0.5:
            lines.append(store(r))
            continue
        lines += [f"if {r.choice(TESTS)}:", *("    " + line for line in block(r, depth - 1))]
        if r.random() < 0.4:
            lines += ["else:", *("    " + line for line in block(r, depth - 1))]
    return lines


def program(number: int) -> str:
    r = random.Random(number)
    lines = [r.choice(CALLS), f"k = (i * {r.randint(3, 11)}) % {r.choice(('n', '30'))}"]
    lines += block(r, 2)
    return (
        "def f(a, b, c, t, m, q, n, turns):\n"
        "    numbers, d, held, s = iter([0.9, 0.1, 0.6] * turns), {}, [], 0.0\n"
        "    for i in range(1, turns):\n"
        + "".join(f"        {line}\n" for line in lines)
        + "    return s, held, sorted(d.items())\n"
    )


def size(number: int) -> int:
    return SIZES[number % len(SIZES)]


def arguments(number: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(number)
    n = size(number)
    a, c = (np.full(n, 0.25, dtype) for dtype in ("f8", "f4"))
    a[:40], c[:40] = rng.random((2, 40))
    b, m = np.full(n, 3), np.full((n // 4, 4), 0.5)
    return a, b, c, np.zeros(n, "?"), m, rng.random(4), n, 12 if n == 40 else 38
