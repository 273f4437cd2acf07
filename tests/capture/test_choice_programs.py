"""Random programs whose branches pass arrays on: names for one array, views, writes, attributes."""

import linecache
import random

import numpy as np
import pytest
from differential import check

X = np.linspace(-2.0, 3.0, 6).copy()
Y = X[::-1].copy()


class Holder:
    def __init__(self):
        self.u = np.arange(6.0) - 2


class Program:
    """`text`: a function of (self, x, y, k) with branches on what is in the arrays."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.lines = [
            "def f(self, x, y, k):",
            "    a, b, c, d = x, y, x * y, y - x",
            "    t = m = None",
        ]
        for _ in range(self.draw.randint(3, 9)):
            self.statement(0)
        self.lines.append("    return a, b, c, d, t, k, m, self.u, a[1:], (b, [c])")
        self.text = "\n".join(self.lines) + "\n"

    def array(self):
        return self.draw.choice("abcd")

    def condition(self):
        a, b = self.array(), self.array()
        limit = self.draw.choice([0, 1, 5])
        return self.draw.choice(
            [f"{a}.sum() > {limit}", f"{a}[0] > k", "k < x.max()", f"abs({a}[1]) > abs({b}[0])"]
        )

    def block(self, depth):
        for _ in range(self.draw.randint(1, 3)):
            self.statement(depth + 1)

    def statement(self, depth):
        space = "    " * (depth + 1)
        if depth < 3 and self.draw.random() < 0.28:
            self.lines.append(f"{space}if {self.condition()}:")
            self.block(depth)
            if self.draw.random() < 0.5:
                self.lines.append(f"{space}else:")
                self.block(depth)
            return
        self.lines.append(space + self.simple(depth))

    def simple(self, depth):
        a, b, c, d = (self.array() for _ in range(4))
        number = self.draw.choice(["k", "1.0"])
        statements = {
            f"{a} = {b}": 8,
            f"{a}, {b} = {c}, {d}": 3,
            f"{a} = {b} * {self.draw.choice(['2', '0.5', c])}": 6,
            f"{a} = {b}[::-1]": 2,
            f"{a} = {b} if {self.condition()} else {c} + 1": 2,
            f"t = [{a}, {b}]": 2,
            f"t = ({a}[1:], k)": 2,
            f"self.u = {a}": 2,
            f"{a} = self.u": 2,
            f"k = {self.draw.choice(['k * 2', '1.5', f'float({b}[2])', f'{b}.max()'])}": 2,
            f"print('at', {self.draw.choice(['k', f'{b}[0]', '1'])})": 2,
            f"{a}[{self.draw.choice(['0', ':2'])}] = {number}": 1,
            f"{a} *= 0.5": 1,
            f"m = {a} is {b}": 1,
            f"{a} = np.sort({b})": 1,
            f"{a} = {b}.reshape(2, 3).T.reshape(6)": 1,
            f"return {a}, k" if depth > 0 else f"{a} = {b} - 1": 1,
        }
        return self.draw.choices(list(statements), list(statements.values()))[0]


def run(seed, backend):
    text, file = Program(seed).text, f"<choices {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"np": np}
    exec(compile(text, file, "exec"), names)
    calls = [(X, Y, 0.5), (-X, Y, 0.5), (X, X, 1.0), (3 * X, -Y, 2.0), (Y, X, -1.0)]
    first, *others = [(Holder(), *call) for call in calls]
    options = {"backend": backend, "options": {"plan_always": True}}
    check(names["f"], *first, also=tuple(others), captured=False, options=options)


@pytest.mark.parametrize("block", range(8))
def test_programs(block):
    for seed in range(block * 15, (block + 1) * 15):
        run(seed, "eager")


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_programs_in_native_code(seed):
    run(seed, "c")
