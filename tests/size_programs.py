"""Random programs with loops of few statements over arrays that the program makes: nearly each loop is
kept, and the lengths are symbols where other programs have a plan for each; see test_loop_fuzz.py.

`x` and `y` are of n, `a` of n by m; indices are in bounds mostly, slices may be empty."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

BEFORE = (
    "z = x * 2", "z = x.copy()", "z = np.zeros(n)", "z = x[::-1] + y", "z = np.concatenate([x[:1], y[1:]])",
    "z = np.arange(n) * 0.5", "z = a.sum(axis=1)", "z = np.empty(n); z[:] = y", "z = x + 0; y = y * 2",
    "z = x", "z = np.where(x > y, x, 0)", "z = np.full(x.shape, 0.5)", "z = np.ones(len(y)); x = x + y",
    "z = a[:, 0] + x",
)  # fmt: skip
SPANS = (
    "n", "n", "len(z)", "1, n", "n - 1", "n - 1, -1, -1", "0, n, 2", "n // 2", "n // 2, n", "m", "z.shape[0]",
    "n, 0, -1", "x.size", "a.shape[1]", "3",
)  # fmt: skip


class Writer:
    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.lines: list[str] = []

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def place(self) -> str:
        return self.one(
            "i", "i", "i", "-i", "i - 1", "n - 1 - i", "-1", "0", "i // 2", "len(z) - 1", "-i - 1"
        )

    def bounds(self) -> str:
        return self.one(
            "i:", ":i", "i:", "-i:", ":-i", "i + 1:", ":i + 1", "i:i + 2", "i - 1:i + 2", "1:-1", "i // 2:i",
            "::2", "i::2", "::-1", "i::-1", "n - i:", ":n - i", "i:n - 1", "i::i + 1", "i * i::i + 1", ":",
            "2:", ":len(x) // 2", "i:len(z) - 1", "-3:", "i:-1:2",
        )  # fmt: skip

    def vector(self, bounds: str, depth: int = 0) -> str:
        """As long as z[bounds]."""
        kind = self.random.random()
        if depth > 1 or kind < 0.5:
            column = f"a[{bounds}, {self.one('0', 'i % m', '-1')}]"
            return self.one(*(f"{name}[{bounds}]" for name in "xyzz"), column)
        left, right = self.vector(bounds, depth + 1), self.vector(bounds, depth + 1)
        if kind < 0.8:
            other = self.one(right, right, "0.5", "i", "n", "s", f"y[{self.place()}]")
            return f"({left} {self.one('+', '-', '*')} {other})"
        if kind < 0.9:
            return f"np.{self.one('maximum', 'minimum')}({left}, {right})"
        return f"np.where({left} > {self.one('0.5', right)}, {right}, {self.one('0', left)})"

    def number(self) -> str:
        kind, bounds = self.random.random(), self.bounds()
        if kind < 0.35:
            return f"{self.one('x', 'y', 'z')}[{self.place()}]"
        if kind < 0.5:
            return f"a[{self.place()}, {self.one('0', '-1', 'i % m')}]"
        if kind < 0.75:
            return f"{self.vector(bounds)}.{self.one('sum', 'sum', 'mean')}()"
        if kind < 0.85:  # never of nothing
            return f"z[{self.one(':i + 1', '-i - 1:', 'i // 2:i + 1', ':')}].{self.one('max', 'min')}()"
        return self.one(
            f"np.dot({self.vector(bounds, 2)}, {self.vector(bounds, 2)})",
            "a[i % n].sum()",
            f"len(z[{bounds}])",
        )

    def statement(self, indent: str) -> None:
        kind, bounds, target = (
            self.random.random(),
            self.bounds(),
            self.one("z", "z", "z", "x", "y"),
        )
        sign = self.one("=", "+=", "-=", "*=", "+=")
        if kind < 0.4:
            text = (
                f"{target}[{bounds}] {sign} {self.one(self.vector(bounds), '0.5', self.number())}"
            )
        elif kind < 0.6:
            text = f"{target}[{self.place()}] {sign} {self.number()}"
        elif kind < 0.7:
            text = f"s {self.one('+=', '=', '-=')} {self.number()}"
        elif kind < 0.8:
            text = f"a[{self.place()}, {self.one('0', 'i % m', ':', '1:')}] {sign} {self.number()}"
        elif kind < 0.85:
            text = f"a[{bounds}, {self.one('0', '-1')}] {sign} {self.vector(bounds)}"
        elif kind < 0.93:
            self.lines.append(
                f"{indent}if {self.number()} > {self.one('0.5', 'i', 'n // 2', self.number())}:"
            )
            text = f"    {self.one('z', 'y')}[{self.place()}] {sign} {self.one('1', self.number())}"
        else:
            text = f"z = {self.one('z * 0.5', 'z + y', 'np.abs(z)', 'z + x[i % n]')}"
        self.lines.append(indent + text)

    def loop(self) -> None:
        kind = self.random.random()
        if kind < 0.75:
            self.lines.append(f"    for i in range({self.one(*SPANS)}):")
        elif kind < 0.9:
            self.lines.append(f"    for i, v in enumerate({self.one('x', 'y', 'a[:, 0]')}):")
            self.lines.append(f"        {self.one('s += v', 'z[i] = v * 2', 's = v')}")
        else:
            self.lines += ["    i = 0", f"    while i < {self.one('n', 'n - 1', 'len(z)')}:"]
        for _ in range(self.random.randrange(1, 4)):
            self.statement("        ")
        if kind >= 0.9:
            self.lines.append("        i += 1")


def program(number: int) -> str:
    w = Writer(number)
    before = [f"    {line}" for line in w.one(*BEFORE).split("; ")]
    w.lines = ["def f(x, y, a, n, m):", *before, "    s = 0.0"]
    for _ in range(w.random.randrange(1, 3)):
        w.loop()
    after = w.one("", "", "[1:] + z[:-1]", " * 2 + x", ".sum()", "[::-1]", "[n // 2:]")
    w.lines.append(f"    return x, y, a, z{after}, s")
    return "\n".join(w.lines) + "\n"


def arguments(number: int) -> list[Any]:
    r = np.random.default_rng(number)
    n, m = int(r.integers(2, 9)), int(r.integers(2, 5))
    dtype = ["f8", "f8", "f8", "f8", "f4", "i8"][r.integers(6)]
    return [*((r.random(shape) * 3).astype(dtype) for shape in ((n,), (n,), (n, m))), n, m]
