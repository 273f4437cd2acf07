"""Random programs with loops over whole arrays that end by a value of one; see test_loop_fuzz.py.

Carried arrays are swapped, kept in two variables, chosen by branches, written in place and
returned, in loops that make no turn, one, or many; a few print, raise or carry views.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

ARRAYS = ("x", "y", "a", "b")
CARRIED = ("x", "y", "z")


class Writer:
    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.lines: list[str] = []

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def array(self, depth: int = 0) -> str:
        """An expression of one array's shape."""
        if depth == 2 or self.chance(0.35):
            return self.one(*ARRAYS, *ARRAYS, "x", "z")
        kind = self.random.randrange(9)
        if kind < 4:
            left, right = self.array(depth + 1), self.array(depth + 1)
            return f"({left} {self.one('+', '-', '*', '+')} {right})"
        if kind < 6:
            return f"({self.array(depth + 1)} * {self.one('0.5', '0.9', '-0.25', 't', 's')})"
        if kind == 6:
            return f"np.{self.one('abs', 'sqrt', 'cos', 'negative')}({self.array(depth + 1)})"
        if kind == 7:
            return f"({self.array(depth + 1)} / {self.one('2', 'b', '1.5', 'n')})"
        return (
            f"np.where({self.array(2)} > {self.one('t', '0.3')}, {self.array(2)}, {self.array(2)})"
        )

    def number(self) -> str:
        """A number out of an array."""
        of = self.one("x", "y", "z", "x - y", "x * a", self.array(1))
        if self.chance(0.15):
            return f"{self.one('x', 'y', 'a')}[{self.one('0', '-1', '1')}].sum()"
        if self.chance(0.1):
            return "np.dot(x.ravel(), y.ravel())"
        return f"{self.one('', 'np.abs')}({of}).{self.one('max', 'sum', 'min', 'mean')}()"

    def test(self) -> str:
        compared = f"{self.number()} {self.one('<', '>', '<=', '>')} {self.one('t', '0.1', 's', '2.5', 't * n')}"
        if self.chance(0.1):
            return f"{compared} {self.one('and', 'or')} {self.number()} < 1"
        return f"not {compared}" if self.chance(0.1) else compared

    def statement(self, depth: int) -> None:
        kind = self.random.randrange(22)
        name = self.one(*CARRIED)
        if kind < 9:
            self.put(depth, f"{name} = {self.array()}")
        elif kind == 9:
            self.put(depth, self.one("x, y = y, x", "z, x = x, y", "x, y = y * 0.5, x"))
        elif kind == 10:
            self.put(depth, f"{name} = {self.one(*CARRIED, 'a')}")
        elif kind < 13:
            self.put(depth, f"s = {self.number()}")
        elif kind == 13:
            self.put(depth, f"t = {self.one('t * 0.5', 't + 0.25', 's', 'float(s)')}")
        elif kind == 14:
            self.put(depth, "k += 1")
        elif kind < 17:
            self.put(depth, f"if {self.test()}:")
            self.put(depth + 1, f"{name} = {self.array()}")
            if self.chance(0.3):
                self.put(depth, "else:")
                self.put(
                    depth + 1,
                    f"{self.one('s', name)} = {self.one(*CARRIED)}{'.sum()' if self.chance(0) else ''}",
                )
        elif kind == 17:
            self.put(depth, f"{name} = {name} * 0.5")
            self.put(depth, f"{name}[{self.one('0', '1:', '...')}] = {self.one('1', 't', 'a[0]')}")
        elif kind == 18 and self.chance(0.5):
            self.put(depth, f"{name} {self.one('*=', '+=')} {self.one('0.5', 'a')}")
        elif kind == 19 and self.chance(0.4):
            self.put(depth, self.one("print(k)", "x = x[::-1]", "y = x[:]", "kept.append(x)"))
        elif kind == 20 and self.chance(0.4):
            self.put(depth, f"if {self.test()}:")
            self.put(depth + 1, self.one("continue", "raise ValueError(k)", "return x, y, k"))
        else:
            self.put(depth, f"z = {self.array()}")

    def leaves(self, depth: int) -> None:
        self.put(depth, f"if {self.test()}:")
        if self.chance(0.2):
            self.put(depth + 1, f"{self.one(*CARRIED)} = {self.array()}")
        self.put(depth + 1, self.one("break", "break", "break", "return x, y, s, k", "return z, i"))

    def loop(self, depth: int) -> None:
        kind, i = self.random.randrange(4), "ij"[depth - 1]
        if kind == 0:
            self.put(depth, f"{i} = 0")
            self.put(depth, f"while {self.test()}:")
            self.put(depth + 1, f"{i} += 1")
            self.put(depth + 1, f"if {i} > 9:")
            self.put(depth + 2, "break")
        elif kind == 1:
            self.put(depth, f"{i} = 0")
            self.put(depth, f"while {i} < 7:")
            self.put(depth + 1, f"{i} += 1")
        else:
            self.put(depth, f"for {i} in range({self.one('m', 'm', '8', '1', '5, 0, -1')}):")
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth + 1)
        if depth == 1 and self.chance(0.1):
            self.loop(2)
        self.leaves(depth + 1)
        for _ in range(self.random.randrange(3)):
            self.statement(depth + 1)
        if kind > 1 and self.chance(0.2):
            self.put(depth, "else:")
            self.put(depth + 1, "k = -1")

    def behind(self) -> None:
        kind = self.random.randrange(12)
        if kind == 0:
            self.put(1, f"{self.one('x', 'y', 'a')}[0] = 3")
        elif kind == 1:
            self.put(1, f"y = {self.array()}")
        elif kind == 2:
            self.put(1, "same = x is y or x is a")
        elif kind == 3:
            self.put(1, "z = x.copy()")
            self.put(1, "z[0] = 4")
        elif kind == 4:
            self.loop(1)


def program(number: int) -> str:
    w = Writer(number)
    w.put(0, "def f(a, b, t, n, m):")
    w.put(1, f"x = {w.one('a', 'a', 'a * 1', 'np.zeros_like(a)', 'b')}")
    w.put(1, f"y = {w.one('a', 'b', 'b', 'x', 'x + 1')}")
    w.put(1, f"z = {w.one('x', 'y', 'b * 2', 'a')}")
    w.put(
        1, f"s, k, i, same, kept = {w.one('0.0', 'np.float64(0)', 'a.max()', 't')}, 0, 0, None, []"
    )
    w.loop(1)
    w.behind()
    w.put(
        1,
        f"return {w.one('x, y, z, s, t, k, i, same, kept', 'x, k', 'x', 'x, y, i', 'z, s, kept', 'x + y')}",
    )
    return "\n".join(w.lines) + "\n"


def arguments(number: int) -> list[Any]:
    r = np.random.default_rng(number)
    shape = [(5,), (40,), (6, 7), (12, 3)][r.integers(4)]
    dtype = ["f8", "f8", "f8", "f4", "i8"][r.integers(5)]
    a, b = ((r.random(shape) * 3).astype(dtype) for _ in range(2))
    if r.random() < 0.1 and dtype != "i8":
        a.flat[r.integers(a.size)] = r.choice([np.nan, np.inf, -1.0])
    t = [0.01, 0.5, 3.0, 1e9, -1.0, float("nan")][r.integers(6)]
    return [a, a if r.random() < 0.1 else b, t, int(r.integers(1, 5)), int(r.integers(0, 12))]
