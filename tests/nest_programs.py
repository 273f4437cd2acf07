"""Random nests of two loops, plain enough that nearly each is kept: branches and clamps on the loops' variables, also
near the ends of their ranges and of int64, ranges in both directions and with steps, sums of neighbours, minima that
go on from element to element, numbers that are carried through what the loops are split into."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

PARAMETERS = "t, u, w, x, n, k"


def arguments(seed: int) -> list[Any]:
    """t and u of ints or floats with two axes, w of ints, x of floats, n and k."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 12, 2)
    t, u = rng.integers(-9, 9, (2, rows, columns))
    w = rng.integers(-2, columns + 2, 14)
    x = rng.standard_normal(14).round(2)
    if rng.random() < 0.25:
        t, u = t * 0.5, u * 0.5
    elif rng.random() < 0.3:
        large = rng.choice([2**62, 2**62 - 1, -(2**62) - 1, 2**63 - 1, -(2**63), 2**55])
        rng.choice([t, u])[rng.integers(rows), rng.integers(columns)] = large
    if rng.random() < 0.1:
        w[rng.integers(14)] = rng.choice([2**63 - 1, -(2**63), 2**62])
    if rng.random() < 0.1:
        t = t.T.copy().T
    if rng.random() < 0.1:
        u = t
    return [t, u, w, x, int(min(rows, columns)), int(rng.integers(-2, 6))]


class Nest:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers: list[str] = []
        self.lines: list[str] = []
        self.only_ints = self.random.random() < 0.5
        self.depth = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def column(self) -> str:
        """An index that goes along rows."""
        return self.pick(
            "j", "j", "j", "j", "j - 1", "j + 1", "j - 2", "j + 2", "max(j - 1, 0)", "min(j + 1, n - 1)",
            "j - w[i]", "j + k", "k - j", "j - k", "0", "-1", "i",
        )  # fmt: skip

    def row(self) -> str:
        return self.pick("i", "i", "i", "i", "i - 1", "i + 1", "0", "k")

    def element(self) -> str:
        kind = self.random.random()
        if kind < 0.15:
            return f"w[{self.pick('i', 'j', 'j', 'j - 1', 'k')}]"
        if kind < 0.25 and not self.only_ints:
            return f"x[{self.pick('i', 'j', 'j', 'j + 1', 'k')}]"
        return f"{self.pick('t', 't', 'u')}[{self.row()}, {self.column()}]"

    def value(self, depth: int = 0) -> str:
        kind = self.random.random()
        if depth > 1 or kind < 0.3:
            numbers = ["i", "j", "k", "1", "2", "n", *self.numbers]
            return self.pick(self.element(), self.element(), self.pick(*numbers))
        if kind < 0.65:
            return (
                f"({self.value(depth + 1)} {self.pick('+', '+', '-', '*')} {self.value(depth + 1)})"
            )
        if kind < 0.75:
            return f"({self.element()} + {self.element()} - {self.element()})"
        if kind < 0.88:
            return f"{self.pick('min', 'max')}({self.value(depth + 1)}, {self.value(depth + 1)})"
        if kind < 0.95:
            return f"({self.value(depth + 1)} if {self.condition()} else {self.value(depth + 1)})"
        return f"({self.value(depth + 1)} {self.pick('/ 2.0', '// 3', '% 7', '& 15')})"

    def number(self) -> str:
        return self.pick(
            "0", "1", "2", "3", "k", "n - 1", "n", "i", "i", "i + 1", "i - k", "w[i]", "w[0]", "w[k]", "n // 2",
            "-1", "2 * i", "len(w)", "2**63 - 1", "-(2**63)",
        )  # fmt: skip

    def condition(self) -> str:
        if self.random.random() < 0.2:
            return f"{self.value(2)} {self.pick('<', '>', '==', '!=', '>=')} {self.value(2)}"
        if self.random.random() < 0.2:  # the same in all iterations of the inner loop
            left = self.pick("i", "i", "k", "w[i]", "w[0]", "n", "x[i]", "t[0, 0]", "u[i, 0]")
            right = self.pick("0", "1", "2", "n - 1", "k", "n // 2", "w[k]")
            return f"{left} {self.pick('<', '>', '==', '!=', '>=')} {right}"
        left = self.pick("j", "j", "j", "j + 1", "j - 1", "j - 2", "j + i")
        right = self.number()
        if self.random.random() < 0.4:
            left, right = right, left
        test = f"{left} {self.pick('<', '>', '<=', '>=', '==', '!=')} {right}"
        if self.random.random() < 0.15:
            test = f"not ({test})"
        if self.random.random() < 0.15:
            test += f" {self.pick('and', 'or')} {self.condition()}"
        return test

    def statement(self, indent: str, depth: int = 0) -> None:
        kind = self.random.random()
        if kind < 0.4 and depth < 2:
            self.lines.append(f"{indent}if {self.condition()}:")
            self.block(indent + "    ", depth + 1)
            if self.random.random() < 0.5:
                self.lines.append(f"{indent}{self.pick('else', 'elif ' + self.condition())}:")
                self.block(indent + "    ", depth + 1)
        elif kind < 0.6 and self.numbers:
            name = self.pick(*self.numbers)
            sign = self.pick("+=", "+=", "-=", "=")
            self.lines.append(f"{indent}{name} {sign} {self.value(1)}")
        elif kind < 0.65 and depth > 0:
            self.lines.append(f"{indent}{self.pick('continue', 'continue', 'break')}")
        else:
            target = (
                f"{self.pick('t', 't', 'u')}[{self.pick('i', 'i', 'i', 'i - 1')}, {self.column()}]"
            )
            self.lines.append(f"{indent}{target} {self.pick('=', '=', '+=', '-=')} {self.value()}")

    def block(self, indent: str, depth: int) -> None:
        for _ in range(self.pick(1, 1, 2)):
            self.statement(indent, depth)

    def span(self, outer: bool) -> str:
        size = f"t.shape[{0 if outer else 1}]"
        return self.pick(
            size, size, size, f"1, {size}", f"1, {size} - 1", f"{size} - 1, -1, -1", "n", "n - 1, 0, -1",
            f"0, {size}, 2", f"2, {size}", *([] if outer else ["i", f"i, {size}", "i + 1", f"{size} - 1, i, -1"]),
        )  # fmt: skip

    def text(self) -> str:
        self.lines.append(f"def f({PARAMETERS}):")
        for name in ("s", "p"):
            if self.random.random() < 0.5:
                self.lines.append(f"    {name} = {self.pick('0', '0.0', '1', 't[0, 0]')}")
                self.numbers.append(name)
        for _ in range(self.pick(1, 1, 2)):
            inner = "        "
            if self.random.random() < 0.8:
                self.lines.append(f"    for i in range({self.span(True)}):")
            else:
                self.lines.append("    i = k")
                inner = "    "
            if self.random.random() < 0.3:
                self.lines.append(f"{inner}c = {self.pick('0', '0.0', 'w[i]', 'i')}")
                self.numbers.append("c")
            self.lines.append(f"{inner}for j in range({self.span(False)}):")
            for _ in range(self.pick(1, 2, 3)):
                self.statement(inner + "    ")
            self.numbers = [name for name in self.numbers if name != "c"]
        self.lines.append(f"    return {', '.join(self.numbers) or 'k'}")
        return "\n".join(self.lines) + "\n"


def program(seed: int) -> str:
    return Nest(seed).text()
