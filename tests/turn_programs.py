"""Random programs with loops over statements of arrays, whose places and lengths change from turn to
turn; see test_loop_fuzz.py.

`a` and `b` are of n by m, `c` and `e` of n, `d` of n by n, all of one dtype; indices may be negative
or out of bounds, slices empty, masks may select nothing, gathers reach out of bounds, and errors come in the middle.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

# Each loop is unrolled in part only, so that it is tried as one loop.
OPTIONS = {"unroll": 24}


class Writer:
    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.lines: list[str] = []
        self.counts: list[bool] = []  # per open loop: it is no `while`, which counts at its end

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def index(self, k: str) -> str:
        """Of an axis of n: mostly in bounds."""
        usual = (k, k, k, f"-{k} - 1", "0", "-1", "n // 2")
        return self.one(
            *usual, f"{k} - 1", f"n - 1 - {k}", *([f"{k} + 1"] if self.chance(0.2) else [])
        )

    def bounds(self, k: str) -> str:
        """A slice of an axis of n."""
        return self.one(
            f"{k}:", f":{k}", f"{k} + 1:", f":{k} + 1", f":-{k}", f"-{k}:", f"{k}:{k} + 3", ":", "1:-1",
            f"{k} - 2:{k} + 2", f"{k}::2", "::-1", f"{k}::-1", f"2 * {k}:", f"n - {k}:", f"{k} // 2:{k}",
        )  # fmt: skip

    def vector(self, k: str, bounds: str, depth: int = 0) -> str:
        """Of the length of c[bounds]."""
        kind = self.random.randrange(12)
        if depth > 1 or kind < 4:
            of = self.one("c", "e", f"d[{self.index(k)}]", "c", "e")
            column = f"d[{bounds}, {self.index(k)}]"
            return self.one(f"{of}[{bounds}]", f"{of}[{bounds}]", column)
        if kind < 8:
            left, right = self.vector(k, bounds, depth + 1), self.vector(k, bounds, depth + 1)
            return f"({left} {self.one('+', '-', '*')} {right})"
        if kind == 8:
            return f"({self.vector(k, bounds, depth + 1)} * {self.one('t', 's', '0.5', f'c[{self.index(k)}]')})"
        if kind == 9:
            return f"np.{self.one('abs', 'sqrt', 'negative', 'cos')}({self.vector(k, bounds, depth + 1)})"
        if kind == 10:
            left, right = self.vector(k, bounds, 2), self.vector(k, bounds, 2)
            return f"np.{self.one('minimum', 'maximum')}({left}, {right})"
        return f"np.where({self.vector(k, bounds, 2)} > {self.one('t', '0.4')}, {self.vector(k, bounds, 2)}, {self.one('0', 't')})"

    def number(self, k: str) -> str:
        kind = self.random.randrange(9)
        bounds = self.bounds(k)
        if kind < 3:
            return f"{self.vector(k, bounds)}.{self.one('sum', 'sum', 'max', 'min', 'mean')}()"
        if kind == 3:
            return f"np.dot({self.vector(k, bounds, 2)}, {self.vector(k, bounds, 2)})"
        if kind == 4:
            return f"np.dot(np.flip(c[{bounds}]), e[{bounds}])"
        if kind == 5:
            return f"d[{bounds}, {bounds}].{self.one('sum', 'max')}()"
        if kind == 6:
            return f"c[c > {self.one('t', '0.5', '5')}].{self.one('sum', 'sum', 'mean', 'max')}()"
        return self.one(f"c[{self.index(k)}]", f"d[{self.index(k)}, {self.index(k)}]", "s * 0.5")

    def statement(self, depth: int, k: str) -> None:
        kind, bounds, i = self.random.randrange(36), self.bounds(k), self.index(k)
        op = self.one("=", "=", "+=", "-=", "*=")
        if kind < 5:
            self.put(depth, f"{self.one('c', 'e', 'x')}[{bounds}] {op} {self.vector(k, bounds)}")
        elif kind < 7:
            place = self.one(f"d[{i}, {bounds}]", f"d[{bounds}, {i}]", f"d[{i}][{bounds}]")
            self.put(depth, f"{place} {op} {self.vector(k, bounds)}")
        elif kind < 9:
            self.put(depth, f"{self.one('c', 'e', 'x')}[{i}] {op} {self.number(k)}")
        elif kind == 9:
            self.put(depth, f"d[{i}, {self.index(k)}] {op} {self.number(k)}")
        elif kind < 12:
            other = self.bounds(k)
            outer = self.one("np.outer({}, {})", "np.add.outer({}, {})", "({})[:, None] * ({})")
            made = outer.format(self.vector(k, bounds), self.vector(k, other))
            self.put(depth, f"d[{bounds}, {other}] {op} {self.one('', '2 * ')}{made}")
        elif kind == 12:
            self.put(depth, f"v = {self.vector(k, bounds)}.copy()")
            self.put(depth, f"d[{bounds}, {bounds}] -= np.outer(v, v @ d[{bounds}, {bounds}])")
        elif kind == 13:
            self.put(
                depth,
                f"{self.one('a', 'b')}[{i}] {op} {self.one('a', 'b')}[{self.index(k)}] * {self.one('t', 's')}",
            )
        elif kind == 14:
            self.put(depth, f"w = {self.one('c', 'e')} > {self.one('t', '0.5', 's', '9')}")
            self.put(
                depth,
                f"{self.one('c[w] = k', 'c[w] = c[w] * 0.5 + e[w]', 'e[w] = 0', 's += c[w].sum()')}",
            )
        elif kind == 15:
            self.put(depth, f"s = {self.number(k)}")
        elif kind == 16:
            self.put(depth, f"s += {self.number(k)}")
        elif kind == 17:
            self.put(depth, f"d[:] = np.minimum(d, np.add.outer(d[:, {i}], d[{i}]))")
        elif kind == 18:
            self.put(depth, f"p, q = q, {self.one('p + q', 'np.zeros(n)', 'p * 0.5', 'c.copy()')}")
        elif kind == 19:
            self.put(depth, f"y = c[{bounds}]")
            self.put(depth, f"y {self.one('*=', '+=')} {self.one('0.5', 't')}")
        elif kind == 20:
            self.put(depth, f"if {self.number(k)} > {self.one('t', '0.5')}:")
            self.put(
                depth + 1,
                self.one(
                    f"c[{i}] = 0",
                    "s = s * 0.5",
                    f"e[{bounds}] *= 0.5",
                    "break",
                    *(["continue"] if self.counts[-1] else []),
                ),
            )
        elif kind == 21:
            self.put(
                depth,
                f"a[{bounds}, {self.one('0', '-1', '1:', ':2')}] {op} {self.one('t', 's', '1')}",
            )
        elif kind == 22:
            self.put(depth, f"u = np.array([c[{i}], s, {self.one('t', 'k', '1.5')}])")
            self.put(depth, "s = (u * u).sum()")
        elif kind == 23:
            self.put(depth, f"l = len(c[{bounds}]) + d[{bounds}].shape[0]")
        elif kind < 26:
            self.put(depth, f"s = {self.one('s * 0.5', 's + 1', f's - {k}')}")
        elif kind < 28:
            name, value = self.one("p", "q", "x"), self.one("0.5", "e", "t", "p", "c")
            self.put(depth, f"{name} {self.one('+=', '*=', '-=')} {value}")
        elif kind == 28:
            self.put(depth, f"{self.one('p', 'q')}[{bounds}] = {self.vector(k, bounds)}")
            self.put(depth, self.one("p, q = q, p", "p, q = q, p", "p, q, x = q, x, p"))
        elif kind == 29:
            self.put(depth, self.one("y = p", "p = x", "p, q = q, p", "q = p * 1.0", "o, h = h, o"))
            self.put(depth, self.one("e += o", "s += (o * h).sum()", "h += o", "p = o - h"))
            self.put(
                depth, self.one(f"o = d[{i}]", f"o, h = h, d[{i}]", "o = h", f"h = d[::-1][{i}]")
            )
        elif kind == 30:
            of = self.one("np.median", "np.linalg.norm", "np.std", "np.ptp", "np.max", "np.min")
            part = self.one(f"c[{bounds}]", f"d[{bounds}]", f"d[{bounds}, 1:]")
            self.put(depth, f"s = {of}({part}) + np.cumsum(e[{bounds}])[-1]")
        elif kind == 31:
            self.put(
                depth,
                self.one(
                    f"{self.one('c', 'e', 'x')}[:] {op} {self.one('c', 'e', 'x')}[g]",
                    f"d[:] {op} d[g]",
                    f"d[{i}] = d[g][{i}]",
                    f"d[{i}] {op} d[{self.index(k)}][g]",
                    f"e {op} d[g].{self.one('sum', 'max')}(axis={self.one('0', '1')})",
                ),
            )
        elif kind == 32:
            self.put(depth, f"v = {self.one('c', 'e')}[g[{bounds}]]")
            self.put(
                depth, self.one("s += v.sum()", "s = v @ v", f"s = v @ e[{bounds}]", "l = len(v)")
            )
        elif kind == 33:
            self.put(depth, f"v = c[{self.one('c > t', 'e <= 1', 'c == e', 'g == k')}]")
            self.put(
                depth,
                self.one(
                    f"e[{i}] = v.mean() if len(v) > 0 else {self.one('0.0', '-1', 't')}",
                    "s += v.sum() * len(v)",
                    f"if len(v) > 1: c[{i}] = v.max()",
                    "l = len(v)",
                ),
            )
        elif kind == 34:
            self.put(depth, f"l = np.{self.one('argmax', 'argmin')}({self.one('c', 'e')})")
            low, high = (
                self.one("max(l - 1, 0)", f"max({k}, l)", "l"),
                self.one("l + 2", "min(l + 1, n)"),
            )
            self.put(
                depth, f"{self.one('c', 'e')}[{low} : {high}] {op} {self.one('t', '0.5', 'k')}"
            )
        else:
            self.row(depth, k)

    def row(self, depth: int, k: str) -> None:
        """Of a loop over the rows of `d`, or of what it has left in the variable."""
        self.put(
            depth,
            self.one(
                "s += r.sum()", "r *= 0.5", "p = 0.5 * p + r", "p += r", f"c[{k}] = r.max()", "s = r[0] * t",
                f"d[{self.index(k)}] = r", "s += np.median(r)", "s = np.linalg.norm(r) + r @ e", "y = r",
            ),
        )  # fmt: skip

    def loop(self, depth: int, around: str) -> None:
        k = "kj"[depth - 1]
        kind = self.random.randrange(8)
        if kind > 5:
            over = "d", "d", "reversed(d)", "d[1:]", "d.T"
            pairs = (
                f"{k}, (r, s) in enumerate(zip({self.one(*over)}, {self.one('c', 'e', 'd[0]')}))"
            )
            rows = f"{k}, r in enumerate({self.one(*over)}{self.one('', '', ', -1')})"
            self.put(depth, f"for {self.one(pairs, rows, rows)}:")
            self.row(depth + 1, k)
        elif kind == 0:
            self.put(depth, f"{k} = 0")
            self.put(depth, f"while {k} < {self.one('n', 'n - 1', '4')}:")
        else:
            bounds = ["n", "n", "1, n", "n - 1", "n - 1, -1, -1", "0", "1", "n + 1", "0, n, 2", "m"]
            if around:
                bounds = [f"{around}, n", f"{around}", f"{around} + 1, n", "2", "n"]
            self.put(depth, f"for {k} in range({self.one(*bounds)}):")
        self.counts.append(kind != 0)
        for _ in range(self.random.randrange(1, 5)):
            self.statement(depth + 1, k)
        if depth == 1 and self.chance(0.25):
            self.loop(2, k)
            if self.chance(0.5):
                self.statement(depth + 1, k)
        self.counts.pop()
        if kind == 0:
            self.put(depth + 1, f"{k} += 1")

    def behind(self) -> None:
        if self.chance(0.2):
            self.put(1, self.one("c[0] = 3", "x = c + 1", "p = p * 2", "d[0] = d[-1]"))


def program(number: int) -> str:
    w = Writer(number)
    w.put(0, "def f(a, b, c, d, e, t, n, m):")
    w.put(1, f"x = {w.one('np.zeros(n)', 'c.copy()', 'np.empty(n); x[:] = 1', 'c', 'e')}")
    w.put(1, f"p, q = {w.one('c * 1.0, e * 1.0', 'np.ones(n), np.zeros(n)', 'c + e, x + 1')}")
    w.put(1, "r, o, h = e, d[0], d[-1]")
    w.put(1, f"g = {w.one('np.arange(n)[::-1] * 1', 'np.argsort(c)', 'np.arange(n) * 2 - n')}")
    w.put(1, f"s, k, y, l = {w.one('0.0', 'np.float64(0)', 'c.max()', 't')}, 0, None, 0")
    w.loop(1, "")
    w.behind()
    w.put(1, f"return {w.one('a, b, c, d, e, x, p, q, s, k, l', 'c, s', 'd', 'x, p, q, y', 's')}")
    return "\n".join(w.lines) + "\n"


def arguments(number: int) -> list[Any]:
    r = np.random.default_rng(number)
    n, m = int(r.integers(1, 9)) if r.random() < 0.9 else 12, int(r.integers(2, 5))
    dtype = ["f8", "f8", "f8", "f4", "i8"][r.integers(5)]
    shapes = [(n, m), (n, m), (n,), (n, n), (n,)]
    arrays = [(r.random(shape) * 3).astype(dtype) for shape in shapes]
    if r.random() < 0.2:
        arrays[3] = np.asfortranarray(arrays[3])
    if r.random() < 0.1:
        arrays[2] = (r.random(2 * n) * 3).astype(dtype)[::2]
    if r.random() < 0.1 and dtype != "i8":
        arrays[2][r.integers(n)] = r.choice([np.nan, np.inf, -1.0])
    t = [0.01, 0.5, 3.0, 1e9, -1.0, float("nan")][r.integers(6)]
    return [*arrays, t, n, m]
