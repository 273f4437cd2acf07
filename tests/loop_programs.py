"""Random functions of nested loops that read and write elements: ranges with any step, also reversed, bounds out of
outer variables, arrays, their rows, short tuples, `enumerate`, `zip`, `while` loops, `break`, `else`, `return` from inside, branches, some of them on the loops' variables, conditional expressions, running sums of Python's and NumPy's numbers, statements over rows and slices, indices
that are negative, loaded or out of bounds, integers near overflow, NaN and division by zero.  In some
one side of branches does what is not followed: prints, calls what is opaque (`note`), counts in a dict, raises.  Some
have ints of 64 bits without a sign, ints of either class, and an object whose attributes they store.  Some
call functions that hold loops of the same kind, outside of theirs or made in them.  Some draw random numbers, from
generators of NumPy's and Python's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

FLOATS, INTS, FLAGS = ("x", "y"), ("h", "w"), ("m",)
GRIDS = ("a", "b")
SIZE, ROWS, COLUMNS = 9, 7, 6


def arguments(seed: int) -> list[Any]:
    """gen, two, old, py: generators; x, y of floats, h of indices, w of ints, m of bools, o of complex numbers, a and b of two
    axes, sometimes of ints or complex numbers, n, k, and a list q.  Some of x, h and w are lists."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, SIZE)).round(2)
    h = rng.integers(-2, ROWS, SIZE)
    w = rng.integers(-50, 50, SIZE).astype(rng.choice(["i8", "i8", "i4", "i2", "u1", "u8"]))
    a, b = rng.standard_normal((2, ROWS, COLUMNS)).astype(rng.choice(["f8", "f8", "f4"]))
    if seed % 5 == 0:  # from the numbers that other seeds have, too
        dtype = ("i8", "i4", "u1", "c16")[seed // 5 % 4]
        a, b = (np.abs(20 * part).astype(dtype) for part in (a, b))
    if rng.random() < 0.2:
        x[rng.integers(SIZE)] = rng.choice([np.nan, np.inf, 0.0])
    if rng.random() < 0.3:
        w[rng.integers(SIZE)] = np.iinfo(w.dtype).max
    if rng.random() < 0.15 and w.dtype == np.int64:
        w[rng.integers(SIZE)] = rng.choice([2**62, 2**62 - 1, -(2**62) - 1, 2**61, -(2**63)])
    if rng.random() < 0.3:
        a, x = a.T.copy().T, np.repeat(x, 2)[::2]
    if rng.random() < 0.1:  # one array for two, overlapping ones, elements that share memory
        base = rng.standard_normal(SIZE + 1).round(2)
        x, y = rng.choice([0, 1, 2]) and (base[1:], base[:-1]) or (y, y)
        b = (
            a
            if rng.random() < 0.5
            else np.lib.stride_tricks.as_strided(a, (5, 5), (min(a.strides),) * 2)
        )
    kinds = (np.random.PCG64, np.random.PCG64, np.random.MT19937, np.random.SFC64, np.random.Philox)
    one = np.random.Generator(kinds[seed % 5](seed))
    two = one if seed % 7 == 0 else np.random.Generator(kinds[seed % 3](seed + 1))
    old, py = np.random.RandomState(seed), random.Random(seed)
    if seed % 2:  # one is left of a pair
        old.standard_normal(), py.gauss(0.0, 1.0)
    return [
        one,
        two,
        old,
        py,
        x.tolist() if seed % 8 == 3 else x,
        y,
        h.tolist() if seed % 4 == 1 else h,
        w.tolist() if seed % 6 == 2 else w,
        rng.random(SIZE) < 0.5,
        np.array([1, 1j]) @ rng.standard_normal((2, SIZE)).round(2),
        a,
        b,
        int(rng.integers(0, 7)),
        int(rng.integers(-2, 4)),
        [1.5, 2][: rng.integers(0, 3)],
        Box(float(x[0]), k=seed % 3),
    ]


STACKS = (
    "heapq.heappush({0}, {1})",
    "heapq.heappush({0}, {1})",
    "if len({0}) > 4: heapq.heappop({0})",
    "if {0}: heapq.heapreplace({0}, {1})",
    "if len({0}) > 2 and {0}[-1] < {0}[0]: {0}.pop()",
    "if {0}: {0}[0] = {0}[-1]",
    "if len({0}) > 3: {0}[1], {0}[2] = {0}[2], {0}[1]",
    "if {1} != {1}: x[k] = 1.0",
)


class Box:
    """What a program changes the attributes of."""

    def __init__(self, z: float, k: int) -> None:
        self.z, self.n = z, k
        self.h = 2**64 - 7 + 3 * k  # of 64 bits, or beyond

    def step(self, x: float) -> float:
        y = 0.5 * x + self.z
        self.z = y - self.n * x
        return y

    def count(self) -> int:
        self.n += 1
        return self.n


PARAMETERS = "gen, two, old, py, x, y, h, w, m, o, a, b, n, k"


class Program:
    """Statements of one function, and of those that it calls."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables: list[str] = []  # of the loops around
        self.numbers: list[str] = []  # running sums
        self.rows: list[str] = []  # of `a` or `b`
        self.lists: dict[str, str] = {}  # to which the program appends, and what
        self.lines: list[str] = []
        self.helpers: list[
            str
        ] = []  # names of functions; "c…": made in `f`, whose variables it reads
        self.in_helper = False
        self.budget = 14
        self.parts = self.pick(0, 0, 0.3, 0.9)  # of the stores, those to slices
        self.complexes = self.pick(0, 0, 0, 0.3)  # of the statements, those on complex numbers
        self.tries = self.pick(0, 0, 0, 0.15)  # of the statements, `try`
        self.stacks = random.Random(f"lists {seed}")  # what else is done with these lists
        self.appends = self.pick(0, 0, 0.15, 0.3)  # of the statements, those that append
        self.odd = random.Random(-1 - seed)
        self.sides = self.odd.choice((0, 0, 0.2, 0.4))  # of the statements, sides not followed
        self.lots = random.Random(-1000 - seed)
        self.draws = self.lots.choice((0, 0, 0.15, 0.35))  # of the values, numbers that are drawn
        self.own = random.Random(-(10**9) - seed)
        self.states = self.own.choice(
            (0, 0, 0, 0.2, 0.4)
        )  # of the statements, those on ints and attributes

        self.change = random.Random(-2 * 10**9 - seed)
        self.changes = self.change.choice(
            (0, 0, 0, 0.3, 0.5)
        )  # of the statements, those that change lists
        self.queues = random.Random(f"queues {seed}")
        self.dicts = random.Random(f"dicts {seed}")
        self.keeps_dict = self.dicts.random() < 0.15
        self.of_dict = self.dicts.choice(("int", "float", "numpy", "either"))
        self.deques = "K" if self.queues.random() < 0.4 else ""  # of the lists, what is a deque

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def index(self) -> str:
        if self.random.random() < 0.06:
            return self.pick("n + 3", "k", "-1", f"h[{self.pick('0', 'k')}]")
        name = self.pick(*self.variables) if self.variables else "k"
        if self.random.random() < 0.1:
            return f"h[{name}]"
        if self.random.random() < 0.1:
            odd = ("{} // 2", "({} + 1) % n", "{} * k", "{} * {}", "{} + k", "k - {}", "{} * 2**61")
            return self.pick(*odd).format(name, self.pick(*self.variables, "n"))
        return self.pick(name, name, name, f"{name} - 1", f"{name} + 1", f"n - {name}", f"-{name}")

    def element(self) -> str:
        if self.rows and self.random.random() < 0.4:
            return f"{self.pick(*self.rows)}[{self.index()}]"
        if self.random.random() < 0.08:
            return f"{self.pick(*GRIDS)}[{self.index()}][{self.index()}]"
        if self.random.random() < 0.5:
            return f"{self.pick(*FLOATS, *FLOATS, *INTS)}[{self.index()}]"
        return f"{self.pick(*GRIDS)}[{self.index()}, {self.index()}]"

    def drawn(self) -> str:
        """A number that is drawn, by arguments that are refused now and then."""
        name = self.lots.choice([*self.variables, "n"])
        number = self.lots.choice([*self.numbers, "x[0]", "0.5", "2", f"y[{name}]"])
        scale = self.lots.choice(("0.5", "2", f"abs({number})", f"abs({number})", number))
        array = self.lots.choice(("x", "y", "w", "h"))
        many = self.lots.choice(("", "", "", ", size=2")) if self.lots.random() < 0.05 else ""
        return self.lots.choice(
            (
                f"{self.lots.choice(('gen', 'two'))}.random()",
                f"{self.lots.choice(('gen', 'two'))}.integers({self.lots.choice((f'{name} + 1', '7', name))})",
                f"gen.integers({self.lots.choice(('-3', 'k'))}, {name} + 3)",
                f"gen.normal({self.lots.choice(('', f'{number}, {scale}', f'scale={scale}'))}{many})".replace(
                    "(, ", "("
                ),
                f"gen.uniform({number}, {scale})",
                f"gen.exponential({scale})",
                f"{self.lots.choice(('gen', 'old'))}.standard_normal()",
                f"{self.lots.choice(('gen', 'old'))}.choice({array})",
                f"gen.poisson({scale})",
                f"gen.gamma({scale}, 2.0)",
                "old.random_sample()",
                f"old.randint({name} + 2)",
                f"old.normal({number}, {scale})",
                f"old.uniform({number}, {scale})",
                "old.standard_exponential()",
                "py.random()",
                f"py.uniform({number}, {scale})",
                f"py.gauss({number}, {scale})",
                f"py.normalvariate({number}, 1.5)",
                f"py.expovariate({scale})",
                f"py.randrange({name} + 1)",
                f"py.randint({self.lots.choice(('0', 'k'))}, {name} + 1)",
                f"py.choice({array})",
                "py.getrandbits(40)",
            )
        )

    def value(self, depth: int = 0) -> str:
        if self.draws and self.lots.random() < self.draws:
            return self.drawn()
        if depth > 2 or self.random.random() < 0.35:
            names = [
                *self.variables,
                *self.numbers,
                *(f"len({row})" for row in self.rows),
                "n",
                "0.1",
                "3",
                "2.0",
                "2**60 + 2**36 + 1",
            ]
            return self.pick(self.element(), self.element(), self.pick(*names))
        if self.helpers and self.random.random() < 0.12:
            return self.call()
        if self.parts and self.random.random() < 0.25:
            return self.reduction()
        left, right = self.value(depth + 1), self.value(depth + 1)
        kind = self.random.random()
        if kind < 0.05:  # ints alone, which may be small
            array, name = self.pick(*INTS), self.pick(*self.variables, "k")
            terms = [
                f"{array}[{name}{self.pick('', ' - 1', ' + 1', ' - 2', ' + 2')}]" for _ in range(3)
            ]
            return f"({terms[0]} {self.pick('+', '-')} {terms[1]} {self.pick('+', '-')} {terms[2]})"
        if kind < 0.65:
            return f"({left} {self.pick('+', '+', '-', '*', '/')} {right})"
        if kind < 0.7:
            whole = f"{self.pick(*INTS)}[{self.index()}]"
            return f"({whole} {self.pick('//', '%', '&', '^', '|')} {self.pick('3', 'n', left)})"
        if kind < 0.72:
            shifted = self.pick(*self.variables, "n", "k")
            return f"(({shifted} {self.pick('<<', '>>')} {self.pick('1', 'k', 'n')}) & {self.pick('3', '~n')})"
        if kind < 0.75:
            return f"({left} ** {self.pick('2', '2', '3', '0.5', 'k')})"
        if kind < 0.85:
            return f"{self.pick('min', 'max')}({left}, {right})"
        if kind < 0.93:
            return f"({left} if {self.condition()} else {right})"
        if self.random.random() < 0.3:
            return f"{self.pick('np.sin', 'np.exp', 'np.tanh', 'np.log1p')}({left})"
        if self.random.random() < 0.1:
            return (
                f"{self.pick('np.hypot', 'np.fmod', 'np.arctan2', 'math.atan2')}({left}, {right})"
            )
        if self.random.random() < 0.1:
            return f"{self.pick('math.log10', 'math.asinh', 'math.isnan', 'math.cosh')}({left})"
        return f"{self.pick('np.sqrt', 'abs', 'np.abs', '-')}({left})"

    def call(self) -> str:
        name = self.pick(*self.helpers)
        position = self.pick(*self.variables, self.index()) if self.variables else "k"
        if "2**61" in position or any(
            "range(2**63" in line and line.split()[1] in position for line in self.lines
        ):  # as a bound it would be one for ever
            position = "k"
        extra = self.pick("", "", f", {self.value(2)}", f", z={self.value(2)}")
        if name.startswith("c"):
            return f"{name}({position}{extra})"
        arrays = "gen, two, old, py, " + self.pick("x, y", "x, y", "y, x", "x, x")
        arrays += ", h, w, m, o, "
        arrays += self.pick("a, b", "a, b", "b, a")
        return f"{name}({arrays}, {self.pick('n', 'n', position)}, {position}{extra})"

    def helper(self, name: str) -> None:
        """A function that holds a loop and returns a number, or nothing."""
        indent = "    " if name.startswith("c") else ""
        outer = self.variables, self.numbers, self.rows, self.budget
        lists = self.lists
        self.lists = lists if indent else {}
        self.variables, self.numbers, self.rows, self.budget = [], ["z"], [], 4
        self.in_helper = True
        parameters = self.pick("k", "k=1") if indent else PARAMETERS
        self.lines.append(f"{indent}def {name}({parameters}, z={self.pick('0.5', '2')}):")
        for number in ("s", "t"):
            if self.random.random() < 0.5:
                self.lines.append(f"{indent}    {number} = {self.pick('0.0', '0', '1', 'x[0]')}")
                self.numbers.append(number)
        if self.random.random() < 0.2:
            self.lines.append(f"{indent}    if {self.condition()}:")
            self.lines.append(f"{indent}        return {self.value()}")
        self.loop(f"{indent}    ")
        if self.random.random() < 0.9:
            result = self.pick(*self.numbers, *self.numbers, "-1", self.value())
            self.lines.append(f"{indent}    return {result}")
        self.variables, self.numbers, self.rows, self.budget = outer
        self.in_helper = False
        self.lists = lists
        self.helpers.append(name)

    def bound_of_variable(self) -> str:
        """What a loop's variable is compared with: often the same in all iterations."""
        others = self.variables[:-1] or ["k"]
        other = self.pick(*others)
        if self.random.random() < 0.06:
            return self.pick("2**63 - 1", "-2**63", "2**62", "2**63 - 2")
        return self.pick(
            "0", "1", "2", "k", "n - 1", "n - 2", "n", "n // 2", "-1", other, other,
            f"{other} + 1", f"{other} - k", f"h[{other}]", f"w[{other}]", "h[0]", "h[k]", "len(x) - 1",
        )  # fmt: skip

    def condition_on_variable(self) -> str:
        """It says from which iteration on it holds: the loop may be split there."""
        name = self.variables[-1] if self.random.random() < 0.8 else self.pick(*self.variables)
        left = self.pick(name, name, name, f"{name} + 1", f"{name} - 1", f"{name} + k")
        right = self.bound_of_variable()
        if self.random.random() < 0.3:
            left, right = right, left
        return f"{left} {self.pick('<', '>', '<=', '>=', '==', '!=')} {right}"

    def condition(self) -> str:
        if self.variables and self.random.random() < 0.35:
            test = self.condition_on_variable()
            if self.random.random() < 0.3:
                test = f"{self.pick('', 'not ')}({test})"
            if self.random.random() < 0.2:
                test += f" {self.pick('and', 'or')} {self.condition_on_variable()}"
            return test
        if self.random.random() < 0.15:
            return self.pick(f"m[{self.index()}]", f"not m[{self.index()}]")
        test = f"{self.value(2)} {self.pick('<', '>', '<=', '>=', '==', '!=')} {self.value(2)}"
        if self.random.random() < 0.25:
            test += f" {self.pick('and', 'or')} {self.value(2)} < {self.value(2)}"
        return test

    def span(self) -> str:
        outer = self.pick(*self.variables) if self.variables else "1"
        return self.pick(
            "n", "n", "1, n", f"{outer}", f"{outer}, n", f"{outer} + 1, n", "n - 1, -1, -1", "3",
            "0, n, 2", "k, n", "-1, 2", "2", "n, 0, -2", "-n, n", "0, n, k", "1, n, 2**62",
            "2**63 - 3, 2**63 - 1", f"{outer} - 1, {outer} + 2", f"h[{outer}] % 8", f"0, n, {outer}",
        )  # fmt: skip

    def complex_value(self, depth: int = 0) -> str:
        if depth > 1 or self.random.random() < 0.3:
            parts = f"complex({self.value(2)}, {self.pick('0.5', self.value(2))})"
            return self.pick(f"o[{self.index()}]", f"o[{self.index()}]", "1j", parts)
        left, right = self.complex_value(depth + 1), self.complex_value(depth + 1)
        kind = self.random.random()
        if kind < 0.2:
            return f"({left}{self.pick(' ** 2', ' ** 3', '.conjugate()', ' * -1')})"
        if kind < 0.3:
            return self.pick(f"(-{left})", f"np.exp({left})", f"abs({left})", f"{left}.imag")
        if kind < 0.5:
            right = self.value(2)
        if kind < 0.4:
            left, right = right, left
        return f"({left} {self.pick('+', '-', '*', '*', '/')} {right})"

    def complex_statement(self, indent: str) -> None:
        if self.random.random() < 0.4:
            number, point = self.pick("0", "0.0", "0j", "o[0]"), self.complex_value(1)
            self.lines += [
                f"{indent}z = {number}",
                f"{indent}for d in range({self.pick('5', 'n', 'k')}):",
                f"{indent}    z = {self.pick('z * z', 'z ** 2', 'z')} {self.pick('+', '-')} {point}",
                f"{indent}    if abs(z) > {self.pick('2', '4.5')}:",
                f"{indent}        break",
                f"{indent}y[{self.index()}] {self.pick('=', '+=')} {self.pick('d', 'abs(z)', 'd')}",
            ]
            return
        sign = self.pick("=", "+=", "*=", "-=")
        self.lines.append(f"{indent}o[{self.index()}] {sign} {self.complex_value()}")

    def item(self, kind: str) -> str:
        """What goes into a list: mostly of one type."""
        if self.random.random() < 0.04:
            kind = self.pick("index", "float", "value", "text")
        index = self.pick(*self.variables, "k") if self.variables else "k"
        if kind == "index":
            return self.pick(index, f"{index} * 2", f"{index} + n")
        if kind == "element":
            return f"{self.pick(*FLOATS)}[{self.index()}]"
        if kind == "pair":
            return f"({index}, float({self.value(2)}))"
        return {
            "float": f"float({self.value(1)})",
            "complex": f"complex({self.value(2)}, 1.0)",
            "bool": f"bool({self.condition()})",
            "value": self.value(1),
            "text": "'text'",
        }[kind]

    def guarded(self, indent: str) -> None:
        """A `try`, in which seldom something is raised."""
        self.lines.append(f"{indent}try:")
        self.block(indent + "    ")
        if self.random.random() < 0.7:
            errors = self.pick("IndexError", "ZeroDivisionError", "(IndexError, ZeroDivisionError)")
            self.lines.append(f"{indent}except {errors}:")
            if self.random.random() < 0.5:
                self.lines.append(f"{indent}    {self.pick('pass', 'continue', 'break')}")
            else:
                self.block(indent + "    ")
            if self.random.random() < 0.2:
                self.lines.append(f"{indent}else:")
                self.block(indent + "    ")
        else:
            self.lines.append(f"{indent}finally:")
            self.lines.append(f"{indent}    x[k] = {self.value(1)}")

    def append(self, indent: str) -> None:
        name = self.pick(*self.lists)
        self.lines.append(f"{indent}{name}.append({self.item(self.lists[name])})")
        if self.random.random() < 0.03:
            odd = ("{}.pop()", "s = len({})", "{} = {}[:3]", "{}.extend([1, 2])", "{}.append(n)")
            self.lines.append(indent + self.pick(*odd).format(name, name))
        if self.stacks.random() < 0.4:
            self.random, kept = self.stacks, self.random
            item = self.item(self.lists[name])
            self.lines.append(indent + self.pick(*STACKS).format(name, item))
            self.random = kept

    def comprehension(self, indent: str) -> None:
        name = self.pick(*[v for v in "ijl" if v not in self.variables])
        self.variables.append(name)
        item = self.item(self.pick("index", "element", "float", "pair"))
        test = f" if {self.condition()}" if self.random.random() < 0.4 else ""
        self.variables.pop()
        self.lines.append(f"{indent}q += [{item} for {name} in range({self.span()}){test}]")

    def odd_statement(self, indent: str) -> str:
        name = self.odd.choice(self.variables)
        number = self.odd.choice([*self.numbers, "n"])
        return indent + self.odd.choice(
            (
                f"print({name}, {number})",
                f"note({name}, {number})",
                f"note(x.sum(), {name})",
                f"seen[{name}] = seen.get({name}, 0) + 1",
                f"seen[{self.element()}] = {number}",
                f"seen.setdefault('all', []).append(f'{{{name}}}: {{{number}}}')",
                f"x[k] = note({number})",
                f"note.last = {name}",
                f"{number} = note({name})" if number != "n" else "note(n)",
                *(
                    (
                        f"seen[{name}] = {self.drawn()}",
                        f"py.seed({name})",
                        "seen['states'] = gen.bit_generator.state, py.getstate()",
                    )
                    if self.draws
                    else ()
                ),
            )
        )

    def state_statement(self, indent: str) -> None:
        """Of H, an int of 64 bits without a sign; C, an int of either class; g, an object."""
        name, shift = self.own.choice(self.variables), self.own.randrange(1, 64)
        at = self.own.choice((name, name, f"{name} - 1", f"-{name}", "k", "H % 7", "H & 3", "C"))
        hashes = (
            f"H = ((H ^ int(w[{at}])) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF",
            f"H = (H * 6364136223846793005 + {name}) % 2**64",
            f"H ^= H >> {shift}",
            f"H = (H << {shift}) & (2**64 - 1) | H >> {64 - shift}",
            self.own.choice(
                ("H = ~H & (2**64 - 1)", "H = -H % 2**64", f"H = (H - {name}) & (2**64 - 1)")
            ),
            self.own.choice(
                ("H = H * 3 + 1", "H //= 3", "H = H % (n + 1) + 2**63", "H = H - 2**63")
            ),
            f"x[{at}] {self.own.choice(('=', '+='))} {self.own.choice(('H / 2**64', 'H', 'float(H)'))}",
            f"{self.own.choice('hwy')}[{name}] = {self.own.choice(('H % 7', 'H & 3', 'H >> 60', 'H'))}",
            f"H = {self.own.choice(('max', 'min'))}(H, {self.own.choice((name, '2**63', '-1', 'C'))})",
        )
        classes = (
            f"C = (C >> 1) ^ 140 if C & 1 else w[{at}]",
            f"C = {self.own.choice(('max', 'min'))}({self.own.choice(('0, ', ''))}C, w[{at}])",
            self.own.choice(
                ("C = C + 1", "C = abs(C) // 3", "C = -C", "C = C * C", "C = C ^ w[k]")
            ),
            f"{self.own.choice('hwyx')}[{name}] = C",
            f"C = {self.own.choice((name, 'H & 255', f'h[{at}]', f'C + w[{at}]'))}",
        )
        attributes = (
            f"g.z = {self.own.choice(('g.z + ', '', '0.5 * '))}x[{at}]",
            self.own.choice(("g.n += 1", f"g.n += {name}", "g.count()", f"g.n = w[{at}]")),
            f"y[{at}] = {self.own.choice((f'g.step(x[{name}])', 'g.z', 'g.count()', 'g.n'))}",
            "g.h = (g.h * 6364136223846793005 + 1) % 2**64",
            f"g.z = max(g.z, y[{at}])",
            self.own.choice(("del g.n", "g.t = 1", "g.z = 'text'", "g.n = 0", "g.z = g.n")),
        )
        kind = self.own.random()
        text = self.own.choice(hashes if kind < 0.5 else classes if kind < 0.75 else attributes)
        if self.own.random() < 0.2:
            test = (
                f"H > {self.own.choice(('2**63', name, '-1'))}",
                f"C > w[{name}]",
                "g.n > 3",
                "C",
            )
            self.lines.append(f"{indent}if {self.own.choice(test)}:")
            indent += "    "
            if self.own.random() < 0.1:
                self.lines.append(f"{indent}{text}")
                text = self.own.choice(("break", "continue", "return H, C"))
        self.lines.append(f"{indent}{text}")

    of_lists = "int"

    def list_item(self) -> str:
        """What is stored in a list: mostly an int or a float."""
        name = self.change.choice((*self.variables, "k"))
        if self.change.random() < 0.04:
            return self.change.choice(("'text'", "True", "2**70", "1j", "None", "(1, 2)"))
        items = {
            "int": (name, f"{name} * 2 + 1", f"int(w[{name}])", "2**62", f"{name} % 3"),
            "float": ("0.5", f"float({name})", f"float(x[{name}])", "s" if "s" in self.numbers else "2.5"),
            "numpy": (f"x[{name}]", f"y[{name}] + 1", f"y[{name}] * x[k]"),
            "either": (name, f"w[{name}]", f"h[{name}]", "0"),
            "pair": (f"({name}, 0.5)", f"({name} + 1, float(x[{name}]))"),
        }  # fmt: skip
        return self.change.choice(items[self.of_lists])

    def dict_statement(self, indent: str) -> None:
        """Counters, sums by key, what was seen last; now and then what a loop does not keep."""
        name = self.dicts.choice((*self.variables, "k"))
        keys = (name, f"int(w[{name}]) % 5", f"{name} % 3 - 1", f"h[{name}]", "k", "2**70", "True")
        weights = (5, 4, 4, 2, 2, 0.1, 0.1)
        key, other = self.dicts.choices(keys, weights, k=2)
        values = {
            "int": ("1", name, f"{name} * 2**40", f"int(w[{name}])"),
            "float": ("0.5", f"float(x[{name}])"),
            "numpy": (f"x[{name}]", f"y[{name}] * 2"),
            "either": ("0.5", f"x[{name}]", "1"),
        }[self.of_dict]
        value = self.dicts.choice(values)
        zero = "0" if self.of_dict == "int" else "0.0"
        tested = self.dicts.choice(("if", "if", "if not"))
        lines = self.dicts.choice(
            (
                [f"D[{key}] = D.get({key}, {zero}) + {value}"],
                [f"if {key} in D:", f"    D[{key}] += {value}", "else:", f"    D[{key}] = {value}"],
                [f"if {key} not in D:", f"    D[{key}] = {value}", "k = k + len(D) % 2"],
                [f"{tested} {other} in D:", f"    s = D.get({other}, {zero})"],
                [f"D[{key}] = {value}", "if D:", f"    D[{other}] = D[{key}]"],
                [f"s = D[{other}]" if self.dicts.random() < 0.2 else f"D[{other}] = {value}"],
                [f"del D[{key}]" if self.dicts.random() < 0.05 else f"D[{key}] = {value}"],
            )
        )
        self.lines += [indent + line for line in lines]

    def append_to(self, name: str) -> str:
        if self.queues.random() < 0.7:
            return "append("
        return "appendleft(" if name in self.deques else "insert(0, "

    def pop(self, name: str) -> str:
        if self.queues.random() < 0.5:
            return "pop()"
        return "popleft()" if name in self.deques else "pop(0)"

    def list_statement(self, indent: str) -> None:
        name, other = self.change.choice("TTKKq"), self.change.choice("TKq")
        inner = indent + "    "
        variable = self.change.choice(self.variables)
        places = (
            variable, variable, "-1", "0", f"{variable} - 1", f"-{variable}", "k", f"{variable} % 3",
            f"h[{variable}]", f"len({name}) // 2",
        )  # fmt: skip
        at, to = self.change.choice(places), self.change.choice(places)
        item = self.list_item()
        numbers = self.of_lists != "pair"
        kind = self.change.random()
        if kind < 0.2:
            self.lines.append(f"{indent}{name}.{self.append_to(name)}{item})")
        elif kind < 0.45:
            sign = self.change.choice(("=", "=", "+=" if numbers else "="))
            asks = self.change.random() < 0.7
            self.lines += [f"{indent}if {at} < len({name}):"] * asks
            self.lines.append(f"{inner if asks else indent}{name}[{at}] {sign} {item}")
        elif kind < 0.6:
            asks, popped = self.change.random() < 0.9, self.change.choice(("", "s = "))
            self.lines += [f"{indent}if {name}:"] * asks
            self.lines.append(f"{inner if asks else indent}{popped}{name}.{self.pop(name)}")
        elif kind < 0.7 and numbers:
            self.lines += [
                f"{indent}while {self.change.choice((name, f'len({name}) > 1'))} and {name}[-1] < {item}:",
                f"{inner}{name}.pop()",
                f"{indent}{name}.append({item})",
            ]
        else:
            first, second = (f"{name}[{place} % len({name})]" for place in (at, to))
            odd = (
                f"{first}, {second} = {second}, {first}",
                f"{name}.append({name}[-1])",
                f"{name}.append({other}[-1])",
                f"{name}[-1] = {'min' if numbers else 'max'}({name}[-1], {item})",
                f"s = len({name}) + len({other})",
                f"s = {name}[{at}]",
                f"x[k] = {name}[{at}]" if numbers else f"x[k] = {name}[{at}][1]",
                f"s = {variable} in {name}",
                self.change.choice((
                    f"{name} = {other}", f"{name}.extend([1])", f"s = {name}[1:]", f"del {name}[0]",
                    f"s = sum({name})", f"{name}.pop(0)",
                )),
            )  # fmt: skip
            self.lines.append(f"{indent}if {name} and {other}:")
            self.lines.append(inner + self.change.choice(odd))

    def side(self, indent: str) -> None:
        """A branch, one side of which is not followed."""
        kind = self.odd.random()
        inner = indent + "    "
        if kind < 0.25:
            self.lines.append(f"{indent}try:")
            self.lines.append(f"{inner}if {self.condition()}:")
            self.lines.append(f"{inner}    raise KeyError({self.odd.choice(self.variables)})")
            self.block(inner)
            self.lines.append(f"{indent}except KeyError as error:")
            self.lines.append(f"{inner}seen[error.args[0]] = {self.odd.choice(self.variables)}")
            if self.odd.random() < 0.3:
                self.lines.append(inner + self.odd.choice(("continue", "break", "return -1")))
            return
        self.lines.append(f"{indent}if {self.condition()}:")
        self.lines.append(self.odd_statement(inner))
        if kind < 0.4:
            self.block(inner)
        elif kind < 0.55:
            self.lines.append(
                inner + self.odd.choice(("continue", "continue", "break", "return n"))
            )
        elif kind < 0.6:
            self.lines.append(f"{inner}raise ValueError({self.odd.choice(self.variables)})")
        elif kind < 0.7:
            self.lines.append(f"{inner}for _ in range(2):")
            self.lines.append(self.odd_statement(inner + "    "))
        if kind > 0.8:
            self.lines.append(f"{indent}else:")
            self.block(inner)

    def statement(self, indent: str) -> None:
        self.budget -= 1
        if self.variables and not self.in_helper and self.keeps_dict and self.dicts.random() < 0.5:
            self.dict_statement(indent)
            return
        if self.variables and not self.in_helper and self.change.random() < self.changes:
            self.list_statement(indent)
            return
        if self.variables and not self.in_helper and self.own.random() < self.states:
            self.state_statement(indent)
            return
        if self.variables and not self.in_helper and self.odd.random() < self.sides:
            self.side(indent)
            return
        if self.lists and self.random.random() < self.appends and self.variables:
            self.append(indent)
            return
        if self.random.random() < self.complexes and self.variables:
            self.complex_statement(indent)
            return
        if self.variables and self.budget > 0 and self.random.random() < self.tries:
            self.guarded(indent)
            return
        kind = self.random.random()
        if kind < 0.3 and len(self.variables) < 3 and self.budget > 0:
            self.loop(indent)
        elif kind < 0.45 and self.budget > 0:
            self.lines.append(f"{indent}if {self.condition()}:")
            self.block(indent + "    ")
            if self.random.random() < 0.5:
                self.lines.append(f"{indent}else:")
                self.block(indent + "    ")
        elif kind < 0.65:
            name = self.pick("s", "t", "c")
            sign = self.pick("=", "+=", "+=", "-=")
            if name not in self.numbers:
                sign = "="
            self.lines.append(
                f"{indent}{name} {sign} {self.pick('0.0', '0', '0.1', 'True', self.value())}"
            )
            if name not in self.numbers:
                self.numbers.append(name)
        elif kind < 0.71 and self.variables:
            leave = self.pick("continue", "continue", "break", "break", "return")
            self.lines.append(f"{indent}if {self.condition()}:")
            if leave == "return" and self.in_helper:
                leave = f"return {self.value()}"
            elif leave == "return":
                names = [*self.numbers, *self.variables]
                leave = (
                    f"return {', '.join(self.random.sample(names, self.pick(0, 1, len(names))))}"
                )
            elif self.random.random() < 0.3:
                self.statement(indent + "    ")
            self.lines.append(f"{indent}    {leave}")
        elif kind < 0.75 and self.helpers:
            self.lines.append(indent + self.call())
        elif kind < 0.78 and self.variables:
            row = self.pick("u", "v")
            self.lines.append(f"{indent}{row} = {self.pick(*GRIDS)}[{self.index()}]")
            self.rows += [row] * (row not in self.rows)
        elif kind < 0.78 + 0.22 * self.parts:
            self.array_statement(indent)
        else:
            target = self.element()
            self.lines.append(f"{indent}{target} {self.pick('=', '=', '+=', '*=')} {self.value()}")

    def bound(self) -> str:
        if self.random.random() < 0.3:
            return self.pick("", "", "1", "2", "-1", "-2", "n", "k", "12")
        name = self.pick(*self.variables) if self.variables else "k"
        return self.pick(name, name, f"{name} + 1", f"{name} - 1", f"n - {name}", f"-{name}")

    def slice(self) -> str:
        step = self.pick(
            "", "", "", "", "", ":", ":1", ":2", ":-1", f":{self.pick('k', '-2', '3')}"
        )
        return f"{self.bound()}:{self.bound()}{step}"

    def section(self) -> str:
        """A part of an array with one axis."""
        kind = self.random.random()
        if self.rows and kind < 0.2:
            row = self.pick(*self.rows)
            return self.pick(row, f"{row}[{self.slice()}]")
        if kind < 0.5:
            return f"{self.pick(*FLOATS, *FLOATS, *INTS, *FLAGS)}[{self.slice()}]"
        grid, cut = self.pick(*GRIDS), self.pick(":", self.slice())
        return self.pick(
            f"{grid}[{self.index()}]",
            f"{grid}[{self.index()}, {cut}]",
            f"{grid}[{cut}, {self.index()}]",
        )

    def alike(self, section: str) -> str:
        """One that is often as long."""
        grid, name = self.pick(*GRIDS), self.index()
        cut = section[section.find("[") + 1 : -1]
        if ":" in cut and "," not in cut and self.random.random() < 0.8:
            ints = section[0] in INTS and self.random.random() < 0.5
            return self.pick(
                f"{self.pick(*INTS) if ints else 'x'}[{cut}]", f"y[{cut}]", f"{grid}[{name}, {cut}]"
            )
        if "," in cut and self.random.random() < 0.8:
            first, last = (part.strip() for part in cut.split(",", 1))
            kept = f"{name}, {last}" if ":" in last else f"{first}, {name}"
            return f"{grid}[{kept}]"
        return self.pick(section, f"{grid}[{name}]", self.section())

    def reduction(self) -> str:
        """A number made of the elements of a part."""
        section = self.section()
        other = self.alike(section)
        if self.random.random() < 0.4:
            product = self.pick(f"{section} @ {other}", f"np.dot({section}, {other})")
            return f"({product})"
        if self.random.random() < 0.4:
            section = f"({section} {self.pick('*', '*', '-', '+')} {self.pick(other, '2.0')})"
        if section.endswith(")") and self.random.random() < 0.3:
            section = self.pick("np.abs", "np.sqrt", "abs", "np.exp", "np.cos") + section
        name = self.pick("sum", "sum", "max", "min", "mean")
        return self.pick(f"{section}.{name}()", f"np.{name}({section})")

    def sections(self, target: str, depth: int = 0) -> str:
        if depth > 1 or self.random.random() < 0.3:
            return self.alike(target) if self.random.random() < 0.95 else self.section()
        left, right = self.sections(target, depth + 1), self.sections(target, depth + 1)
        if self.random.random() < 0.5:
            right = self.value(2)
        if self.random.random() < 0.2:
            left, right = right, left
        if self.random.random() < 0.07:
            return f"(-{left})"
        if self.odd.random() < 0.07:  # of floats it raises
            return f"({left} {self.odd.choice('&|^')} {right})"
        if self.random.random() < 0.1:
            odd = (
                "np.sqrt({0})",
                "np.abs({0})",
                "({0}) ** 2",
                "np.maximum({0}, {1})",
                "np.minimum({0}, {1})",
                "np.exp({0})",
                "np.sin({0})",
                "np.tanh({0})",
                "np.hypot({0}, {1})",
                "np.arctan2({0}, {1})",
            )
            return self.pick(*odd).format(left, right)
        return f"({left} {self.pick('+', '+', '-', '*', '*', '/')} {right})"

    def grid_statement(self, indent: str) -> None:
        """A statement over slices of both axes."""
        name = self.pick(*self.variables) if self.variables else "k"
        down = self.pick(f"{name} + 1:", f"{name}:", f":{name}", f"1:{name}", self.slice())
        along = self.pick(f"{name} + 1:", f"{name}:", f":{name}", self.slice())
        target = f"{self.pick(*GRIDS)}[{down}, {along}]"
        vectors = (
            self.pick(f"x[{down}]", f"{self.pick(*GRIDS)}[{down}, {name}]"),
            self.pick(f"y[{along}]", f"{self.pick(*GRIDS)}[{name}, {along}]"),
        )
        other = self.pick(target, f"{self.pick(*GRIDS)}[{down}, {along}]", vectors[1])
        value = self.pick(
            f"np.outer({vectors[0]}, {vectors[1]})",
            f"{other} * {self.value(2)}",
            f"{other} {self.pick('+', '-', '*')} {target}",
            self.value(2),
        )
        if self.random.random() < 0.1:
            self.lines.append(f"{indent}e = {value}")
            value = "e"
        self.lines.append(f"{indent}{target} {self.pick('=', '+=', '-=', '*=')} {value}")

    def pick_rows(self, indent: str) -> None:
        """Rows or elements at a list of ints."""
        first, second = self.pick(*self.variables, "k"), self.pick("k", "0", *self.variables)
        left, right = f"[{first}, {second}]", f"[{second}, {first}]"
        if self.random.random() < 0.2:
            left = right = f"[{first}, {second}, {self.index()}]"
        if self.random.random() < 0.1:
            right = self.pick(f"[{first}]", left, f"[h[{first}], {second}]")
        array = self.pick(*GRIDS, *GRIDS, *FLOATS, *INTS)
        other = array if self.random.random() < 0.8 else self.pick(*GRIDS, *FLOATS)
        self.lines.append(f"{indent}{array}[{left}] = {other}[{right}]")

    def select(self, indent: str) -> None:
        """What a mask selects of a part, or a row of ints."""
        target = self.section()
        other, name = self.alike(target), self.pick(*GRIDS)
        mask = f"{other} {self.pick('<', '>', '>=', '!=')} {self.pick(target, self.value(2))}"
        if self.random.random() < 0.3:
            mask = f"({mask}) {self.pick('&', '|', '^')} ({other} < {self.value(2)})"
        kind = self.random.random()
        if kind < 0.3:
            row = f"{name}[{self.index()}]"
            mask = mask.replace(other, row).replace(target, row)
            self.lines.append(f"{indent}{row}[{mask}] = {self.value(1)}")
        elif kind < 0.6:
            gathered = f"{self.pick('x', 'y', row := f'{name}[{self.index()}]')}[h[{self.slice()}]]"
            value = self.pick(f"({gathered}).sum()", f"({gathered} * 2.0).max()")
            self.lines.append(f"{indent}{self.element()} = {value}")
        else:
            value = f"np.where({mask}, {self.pick(other, self.value(2))}, {self.alike(target)})"
            target = target if target.endswith("]") else f"{target}[:]"
            self.lines.append(f"{indent}{target} {self.pick('=', '+=')} {value}")

    def array_statement(self, indent: str) -> None:
        if self.random.random() < 0.15:
            self.select(indent)
            return
        if self.variables and self.random.random() < 0.15:
            self.pick_rows(indent)
            return
        if self.random.random() < 0.25:
            self.grid_statement(indent)
            return
        target = self.section()
        value = self.sections(target) if self.random.random() < 0.85 else self.value(1)
        kind = self.random.random()
        if kind < 0.15:
            self.lines.append(f"{indent}e = {value}")
            value = self.pick("e", "e * 2.0")
        if kind > 0.92 and self.rows:
            self.lines.append(f"{indent}{self.pick(*self.rows)} += {value}")
            return
        target = target if target.endswith("]") else f"{target}[:]"
        self.lines.append(f"{indent}{target} {self.pick('=', '=', '+=', '-=', '*=')} {value}")

    def block(self, indent: str) -> None:
        known, rows = list(self.numbers), list(self.rows)
        for _ in range(self.pick(1, 1, 2, 3)):
            self.statement(indent)
        if self.random.random() < 0.9:  # else it may be unbound behind the block
            self.numbers = [name for name in self.numbers if name in known]
            self.rows = [row for row in self.rows if row in rows]

    def array(self) -> str:
        return self.pick("x", "x", "y", "h", "w", "m")

    def walked(self) -> str:
        array = self.array()
        return f"reversed({array})" if self.random.random() < 0.25 else array

    def items(self, name: str) -> tuple[str, str, list[str]]:
        """What a loop assigns and what it goes over, and the numbers that it makes."""
        p, q = self.random.sample("pqr", 2)
        start = self.pick("", "", ", 1", ", -3")
        pair = f"zip({self.walked()}, {self.pick('range(n)', 'range(k)', self.walked(), self.walked())})"
        return self.pick(
            (p, self.walked(), [p]),
            (f"{name}, {p}", f"enumerate({self.walked()}{start})", [p]),
            (f"{p}, {q}", pair, [p, q]),
            (f"{name}, ({p}, {q})", f"enumerate({pair})", [p, q]),
            (p, self.pick(*self.rows, f"a[{self.index()}]"), [p]),
            (name, self.pick("(0, 1, 2)", "[k, 1]", "(-1, k, 0)"), []),
            (f"{name}, {p}", self.pick("((0, 0.5), (1, 2), (k, n))", "zip((0, 1), x)"), [p]),
            (f"{name}, {p}", "enumerate((0.5, x[0], 2))", [p]),
            (f"{name}, u", f"enumerate({self.pick(*GRIDS)})", []),
        )

    def loop(self, indent: str) -> None:
        name = self.pick(*[v for v in "ijl" if v not in self.variables])
        kind = self.random.random()
        before, rows = list(self.numbers), list(self.rows)
        counts = True
        if kind < 0.25:
            targets, over, made = self.items(name)
            self.rows += ["u"] * (targets.endswith(", u") and "u" not in self.rows)
            counts = name in targets
            self.lines.append(f"{indent}for {targets} in {over}:")
            self.numbers += [number for number in made if number not in self.numbers]
        elif kind < 0.7:
            span = f"range({self.span()})"
            if self.random.random() < 0.1:
                span = f"reversed({span})"
            self.lines.append(f"{indent}for {name} in {span}:")
        else:  # the variable is stepped first, so that `continue` does not stop it
            self.lines.append(f"{indent}{name} = {self.pick('-1', '-1', '0', 'k')}")
            if kind < 0.9:
                test = f"{name} < {self.pick('n', 'n - 1', '4')}"
                if self.random.random() < 0.4:
                    test = f"{self.pick('', 'not ')}{self.condition()} {self.pick('and', 'and', 'or')} {test}"
                    test = f"({test}) and {name} < 9"
                self.lines.append(f"{indent}while {test}:")
            else:
                self.lines.append(f"{indent}while True:")
            self.lines.append(f"{indent}    {name} += 1")
            if kind >= 0.9:
                self.lines.append(
                    f"{indent}    if {name} > n{self.pick('', ' or ' + self.condition())}:"
                )
                self.lines.append(
                    f"{indent}        {self.pick('break', 'break', 'return ' + name)}"
                )
        self.variables += [name] * counts
        self.block(indent + "    ")
        self.variables = self.variables[: len(self.variables) - counts]
        if self.random.random() < 0.9:
            self.numbers = [number for number in self.numbers if number in before]
            self.rows = [row for row in self.rows if row in rows]
        if self.random.random() < 0.15 and kind < 0.9:
            self.lines.append(f"{indent}else:")
            self.block(indent + "    ")

    def text(self) -> str:
        count = self.pick(0, 0, 1, 2)
        made = self.random.random() < 0.5
        for number in range(0 if made else count):
            self.helper(f"g{number}")
        self.lines.append(f"def f({PARAMETERS}, q, g):")
        if self.states:
            start = self.own.choice(("0", "1", "0xCBF29CE484222325", "n", "2**63", "k", "g.h"))
            self.lines.append(f"    H, C = {start}, {self.own.choice(('0', '0', 'w[0]', '7'))}")
        if self.sides:
            self.lines.append("    seen = {}")
        if self.keeps_dict:
            start = self.dicts.choice(("{}", "{}", "{}", "{1: 2}", "{3: 0.5, n: 1.5}", "{'a': 1}"))
            self.lines.append(f"    D = {start}")
        if self.changes:
            self.of_lists = self.change.choice(("int", "int", "float", "numpy", "either", "pair"))
            first = self.list_item()
            first = first.replace("[k]", "[0]") if self.change.random() < 0.9 else "2**40"
            starts = (
                "[]",
                f"[{first}]",
                f"[{first}] * (n + 1)",
                f"[{first}, {first}, {first}]",
                "q",
                "q[:]",
            )
            table, other = self.change.choice(starts), self.change.choice(starts)
            self.lines.append(f"    T, K = {table}, {f'deque({other})' if self.deques else other}")
        if self.appends:
            kinds = ("index", "element", "float", "pair", "complex", "bool", "value")
            self.lists = {
                name: self.pick(*kinds) for name in ("q", "e0", "e1")[: self.pick(1, 2, 3)]
            }
            for name in self.lists:
                if name != "q":
                    self.lines.append(f"    {name} = {self.pick('[]', '[]', '[0.5, n]')}")
        for number in range(count if made else 0):
            self.helper(f"c{number}")
        for name in ("s", "t"):
            if self.random.random() < 0.5:
                self.lines.append(f"    {name} = {self.pick('0.0', '0', 'True', 'x[0]')}")
                self.numbers.append(name)
        while self.budget > 0:
            self.loop("    ")
            if self.appends and self.random.random() < 0.1:
                self.comprehension("    ")
        results = [*self.numbers, *(name for name in self.lists if name != "q")]
        results += ["T", "K"] * (self.changes > 0) + ["D"] * self.keeps_dict
        results += ["seen"] * (self.sides > 0) + ["H", "C"] * (self.states > 0)
        self.lines.append(f"    return {', '.join(results) or 'n'}")
        return "\n".join(self.lines) + "\n"


def program(seed: int) -> str:
    return Program(seed).text()
