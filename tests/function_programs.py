"""Random Python functions over arrays, for test_function_fuzz.py: control flow, containers, closures,
generators, classes, exceptions and mutation.

A program is the text of a module with a function `f`.  Unlike stress_programs.py, whose programs
mostly find out what raises, these are typed: each name is known to hold an array, a number, a list
of arrays and so on, so that a program runs through most of its text.  What raises does so on purpose.
Everything is a function of a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from function_world import PREAMBLE

# ---- the programs ----


class Writer:
    """Writes one program.  `names` holds, by kind, the names that are bound at this point."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.indent = 1
        self.count = 0
        self.loops = 0
        self.pure = 0  # inside what must not return or break out
        self.names: dict[str, list[str]] = {
            "vec": ["x", "y"],
            "mat": ["m"],
            "int": ["n"],
            "num": ["k"],
            "list": ["items"],
            "box": ["box"],
            "str": [],
            "dict": [],
            "fun": [],
            "set": [],
            "log": ["log"],
            "pair": [],
        }

    # ---- pieces ----

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def put(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def bind(self, kind: str, text: str) -> str:
        """Assigns to a new name or, a third of the time, to one that is bound."""
        mine = self.names[kind]
        if mine and self.chance(0.35):
            name = self.rng.choice(mine)
        else:
            name = self.fresh(kind[0])
        self.put(f"{name} = {text}")
        self.know(kind, name)
        return name

    def know(self, kind: str, name: str) -> None:
        if name not in self.names[kind]:
            self.names[kind].append(name)

    def block(self, size: int = 2, **bound: str) -> None:
        """Statements one level deeper; what they bind is forgotten, since they may not run."""
        kept = {kind: list(names) for kind, names in self.names.items()}
        for name, kind in bound.items():
            self.know(kind, name)
        self.indent += 1
        for _ in range(self.rng.randint(1, size)):
            self.statement()
        self.indent -= 1
        self.names = kept

    # ---- expressions, by kind ----

    def vec(self, depth: int = 0) -> str:
        name = self.rng.choice(self.names["vec"])
        if depth > 2 or self.chance(0.25):
            return name
        deeper = depth + 1
        a, b = self.vec(deeper), self.vec(deeper)
        forms: list[Callable[[], str]] = [
            lambda: f"({a} {self.pick('+', '-', '*')} {b})",
            lambda: f"({a} {self.pick('+', '-', '*')} {self.num()})",
            lambda: f"np.{self.pick('tanh', 'sin', 'abs', 'square', 'exp2')}({a})",
            lambda: f"np.{self.pick('maximum', 'minimum', 'hypot')}({a}, {b})",
            lambda: f"{a}[::-1]",
            lambda: f"np.where({a} > {self.num()}, {a}, {b})",
            lambda: f"{self.rng.choice(self.names['mat'])}[{self.pick('0', '1', '-1')}]",
            lambda: f"{self.rng.choice(self.names['mat'])}.sum(axis=0)",
            lambda: f"helper({a}, {self.num()})",
            lambda: f"helper({a}, *({self.num()}, 1, 2), z={self.num()}, w=0)",
            lambda: f"{self.rng.choice(self.names['box'])}.apply({a})",
            lambda: f"{self.rng.choice(self.names['box'])}({a}, 1, k={self.num()})",
            lambda: f"sum([{a}, {b}])",
            lambda: f"sum(v * i for i, v in enumerate([{a}, {b}]))",
            lambda: f"functools.reduce(operator.add, [{a}, {b}, {a}])",
            lambda: f"fold(lambda p, q: p + q, parts({a}, 2), {b})",
            lambda: f"({a} if {self.known()} else {b})",
            lambda: f"({a} if {self.data()} else {b})",
            lambda: f"{self.rng.choice(self.names['list'])}[0]",
            lambda: f"next(parts({a}, 2))",
            lambda: f"({a} / ({b} * {b} + 1.0))",
            lambda: f"{a}.copy()",
            lambda: f"np.concatenate([{a}[:2], {b}[2:]])",
            lambda: f"min([{a}, {b}], key=lambda v: v.shape[0])",
            lambda: f"halve({a}, {self.rng.choice(self.names['int'])})",
            lambda: f"twice(helper)({a}, y={self.num()})",
            lambda: f"list(itertools.accumulate([{a}, {b}], operator.sub))[-1]",
            lambda: f"(Bag({a}, {b}) @ {self.num()})",
            lambda: f"Point({a}, {b})._replace(a={b}).a",
            lambda: f"getattr({self.rng.choice(self.names['box'])}, 'absent', {a})",
            lambda: f"[lambda v, i=i: v * i for i in range(3)][{self.pick('1', 'n % 3')}]({a})",
            lambda: f"operator.methodcaller('copy')({a})",
            lambda: f"np.add({a}, {b}, out=np.empty_like({a}))",
        ]
        if self.names["fun"]:
            forms += [lambda: f"{self.rng.choice(self.names['fun'])}({a})"] * 3
        if self.names["dict"]:
            forms += [lambda: f"{self.rng.choice(self.names['dict'])}.get('zz', {a})"]
            forms += [lambda: f"{self.rng.choice(self.names['dict'])}['a']"]
        if self.names["pair"]:
            forms += [lambda: f"({self.rng.choice(self.names['pair'])}.a + {a})"]
        return self.rng.choice(forms)()

    def num(self) -> str:
        forms: list[Callable[[], str]] = [
            lambda: self.pick("2", "0.5", "-1", "3.0", "True"),
            lambda: self.rng.choice(self.names["num"]),
            lambda: self.rng.choice(self.names["int"]),
            lambda: self.pick("G", "TABLE['k']", "Box.scale", "math.pi", "len(STATE)"),
            lambda: f"len({self.rng.choice(self.names['list'])})",
            lambda: f"{self.rng.choice(self.names['vec'])}.shape[0]",
            lambda: f"{self.rng.choice(self.names['box'])}.w",
        ]
        return self.rng.choice(forms)()

    def scalar(self) -> str:
        """A number that comes out of an array."""
        a = self.rng.choice(self.names["vec"])
        return str(
            self.pick(
                f"float({a}.sum())",
                f"{a}.max()",
                f"{a}[0]",
                f"{a}[-1].item()",
                f"float(np.mean({a}))",
                f"math.fabs({a}[1])",
                f"round(float({a}[0]), 2)",
                f"math.atan2({a}[0], 2.0)",
                f"int({a}.sum())",
                f"np.dot({a}, {a})",
                f"max(float({a}[0]), 0.0)",
                f"abs({a}[2]) // 1",
            )
        )

    def known(self) -> str:
        """A condition that does not depend on what is in an array."""
        n, k = self.rng.choice(self.names["int"]), self.rng.choice(self.names["num"])
        forms = [
            f"{n} > {self.pick(0, 1, 2)}",
            f"{k} < {self.pick('0', '1.0')}",
            f"0 <= {n} < 3",
            f"{n} % 2 == 0",
            f"isinstance({self.rng.choice(self.names['vec'])}, np.ndarray)",
            f"len({self.rng.choice(self.names['list'])}) > 3",
            f"{n} in (1, 2, 5)",
            f"not {n}",
            f"{n} and {k} != 1.5",
            f"hasattr({self.rng.choice(self.names['box'])}, 'more')",
            f"isinstance({self.rng.choice(self.names['box'])}, Child)",
            f"any(i == {n} for i in range(3))",
            f"all(v.ndim == 1 for v in {self.rng.choice(self.names['list'])})",
        ]
        if self.names["str"]:
            forms.append(f"{self.rng.choice(self.names['str'])}.startswith('a')")
        if self.names["dict"]:
            forms.append(f"'a' in {self.rng.choice(self.names['dict'])}")
        if self.names["set"]:
            forms.append(f"{n} in {self.rng.choice(self.names['set'])}")
        return str(self.rng.choice(forms))

    def data(self) -> str:
        a = self.rng.choice(self.names["vec"])
        return str(
            self.pick(
                f"{a}.sum() > 0",
                f"{a}[0] < {self.num()}",
                f"({a} > 0).any()",
                f"np.all({a} < 2)",
                f"float({a}.max()) >= 0.5 and {self.known()}",
            )
        )

    def condition(self) -> str:
        return self.data() if self.chance(0.35) else self.known()

    # ---- statements ----

    def statement(self) -> None:
        deep = self.indent > 4
        simple: list[Callable[[], None]] = [self.assign] * 5 + [
            self.number,
            self.number,
            self.inplace,
            self.store,
            self.lists,
            self.dicts,
            self.boxes,
            self.world,
            self.unpack,
            self.text,
            self.sets,
            self.pairs,
            self.leave,
            self.opaque,
            self.aliases,
            self.integers,
            self.protocols,
            self.protocols,
            self.chosen,
            self.chosen,
        ]
        blocks = [
            self.if_,
            self.if_,
            self.for_,
            self.for_,
            self.while_,
            self.try_,
            self.try_,
            self.with_,
            self.closure,
            self.generator,
            self.match,
            self.comprehension,
        ]
        if not deep and self.chance(0.36):
            self.rng.choice(blocks)()
        else:
            self.rng.choice(simple)()

    def assign(self) -> None:
        if self.chance(0.1):
            self.bind("mat", f"{self.rng.choice(self.names['mat'])} * {self.num()}")
        else:
            self.bind("vec", self.vec())

    def number(self) -> None:
        n = self.rng.choice(self.names["int"])
        if self.chance(0.4):
            self.bind("num", self.scalar())
        elif self.chance(0.5):
            self.bind("int", f"({n} {self.pick('+', '*')} {self.pick(1, 2, 3)}) % 7")
        else:
            a, b = self.num(), self.pick("2", "0.5", "3", "4.0")
            self.bind("num", f"{a} {self.pick('+', '-', '*', '/', '//', '%')} {b}")

    def inplace(self) -> None:
        name = self.rng.choice(self.names["vec"])
        self.put(f"{name} {self.pick('+', '*', '-')}= {self.pick(self.vec(1), self.num())}")

    def store(self) -> None:
        name = self.rng.choice(self.names["vec"])
        index = self.pick("0", "-1", "1:3", "::2", f"{name} < 0", "...", "[0, 2]")
        self.put(f"{name}[{index}] {self.pick('=', '=', '+=', '*=')} {self.num()}")

    def lists(self) -> None:
        name = self.rng.choice(self.names["list"])
        self.put(
            self.pick(
                f"{name}.append({self.vec()})",
                f"{name}[{self.pick('0', '-1')}] = {self.vec()}",
                f"{name} += [{self.vec()}]",
                f"{name}.insert(1, {self.vec()})",
                f"{name}.reverse()",
                f"{name} = {name}[:2] + [{self.vec()}]",
                f"{name} = list({name})",
                f"{name}[1:] = [{self.vec()}]",
                f"{name}.extend(parts({self.vec(2)}, 2))",
                f"if len({name}) > 2: {name}.pop()",
                f"{name} = sorted({name}, key=len)",
            )
        )

    def dicts(self) -> None:
        if not self.names["dict"] or self.chance(0.4):
            a, b = self.vec(1), self.vec(1)
            made = self.pick(
                f"{{'a': {a}, 'b': {b}}}",
                f"dict(a={a}, b={self.num()})",
                f"{{name: {a} * i for i, name in enumerate('abc')}}",
                f"collections.OrderedDict(a={a})",
                f"collections.defaultdict(list, a={a})",
                f"{{**{{'a': {a}}}, 'z': 1}}",
            )
            self.bind("dict", str(made))
            return
        name = self.rng.choice(self.names["dict"])
        self.put(
            self.pick(
                f"{name}['a'] = {self.vec(1)}",
                f"{name}['c{self.pick(1, 2)}'] = {self.num()}",
                f"{name}.pop('b', None)",
                f"{name}.setdefault('d', {self.num()})",
                f"{name}.update(e={self.num()})",
                f"{name}.update({{'a': {self.vec(1)}}})",
                f"log.append(list({name}))",
                f"log.append('b' in {name})",
            )
        )

    def boxes(self) -> None:
        name = self.rng.choice(self.names["box"])
        which = self.rng.randrange(8)
        if which == 0:
            self.put(f"{name}.w = {self.num()}")
        elif which == 1:
            self.put(f"{name}.half = {self.num()}")
        elif which == 2:
            self.bind("box", f"{self.pick('Box', 'Child')}({self.num()})")
        elif which == 3:
            self.bind("box", f"{name} + {self.num()}")
        elif which == 4:
            self.put(f"{name}.log.append('{self.fresh('t')}')")
        elif which == 5:
            self.put(f"{name}.{self.pick('extra', 'w')} = {self.vec(1)}.sum()")
        elif which == 6:
            self.bind("num", self.pick(f"{name}.half", f"{name}[1]", f"len({name})"))
        else:
            self.bind("box", f"{self.pick('Box', 'Child')}.of({self.num()})")

    def world(self) -> None:
        self.put(
            self.pick(
                f"STATE.append({self.num()})",
                f"TABLE['k'] = {self.num()}",
                f"TABLE['{self.fresh('w')}'] = 1",
                f"bump({self.num()})",
                f"log.append({self.num()})",
                f"log.append({self.scalar()})",
                f"print('at', {self.num()})",
                f"print({self.scalar()})",
            )
        )

    def aliases(self) -> None:
        """Writes through one name that another sees."""
        v, w = self.rng.choice(self.names["vec"]), self.fresh("w")
        which = self.rng.randrange(6)
        if which == 0:
            self.put(f"{w} = {v}[{self.pick('1:', '::-1', '::2', '1:3')}]")
            self.put(f"{w} {self.pick('*', '+')}= {self.num()}")
            self.put(f"log.append({w})")
        elif which == 1:
            self.put(f"np.{self.pick('add', 'multiply')}({v}, {self.vec(1)}, out={v})")
        elif which == 2:
            self.put(f"{v}[1:] = {v}[:-1]")
        elif which == 3:
            a, b = (self.rng.choice(self.names["vec"]) for _ in range(2))
            self.put(f"{a}, {b} = {b}, {a}")
        elif which == 4:
            m = self.rng.choice(self.names["mat"])
            self.put(
                f"{m}[{self.pick('0', '-1', ':', '1:')}] {self.pick('+', '*', '')}= {self.num()}"
            )
        else:
            self.put(f"{w} = {self.vec(2)}")
            self.put(f"log.append({w} is {v})")
            self.put(f"del {w}")

    def integers(self) -> None:
        n = self.rng.choice(self.names["int"])
        self.put(
            self.pick(
                f"log.append({n} << 70)",
                f"log.append(divmod({n}, 3))",
                f"log.append(({n} + 1) ** 40 % 1000007)",
                f"log.append(({n} & 6 | 1) ^ {n}.bit_length())",
                f"log.append(cached({n}))",
                f"log.append(-{n} // 2 - (-{n} % 3))",
                f"log.append(int('{self.pick(12, 7)}') * 10 ** 20 + {n})",
                f"log.append(round({n} / 3, 3))",
            )
        )

    def protocols(self) -> None:
        """Objects that answer to syntax, and what gives them up half-way."""
        b, a = self.fresh("b"), self.vec(1)
        box = self.rng.choice(self.names["box"])
        which = self.rng.randrange(10)
        if which == 0:
            self.put(f"{b} = Bag({a}, {self.num()})")
            self.put(f"{b} += {self.vec(1)}")
            self.put(f"{b}[1] = {self.vec(1)}")
            self.put(f"log.append([{b}.other, x in {b}, bool({b}), *{b}])")
        elif which == 1:
            self.put(f"{b} = both({a}, {self.vec(1)}, log)")
            self.put(f"log.append(next({b}))")
            self.put(f"log.append({b}.send({self.pick('None', '2', 'k')}))")
            self.put(self.pick(f"{b}.close()", f"log.append(list({b}))"))
        elif which == 2:
            self.put(f"setattr({box}, {self.pick(repr('w'), repr('seen'))}, {self.num()})")
        elif which == 3:
            self.put(f"if hasattr({box}, 'extra'): del {box}.extra")
        elif which == 4:
            self.put(f"{b} = collections.deque([{a}, x], maxlen=2)")
            self.put(f"{b}.append{self.pick('left', '')}({self.vec(1)})")
            self.put(f"log.append(list({b}))")
        elif which == 5:
            self.put(f"{b} = Point({a}, b={self.num()})")
            self.put(f"log.append([{b}.a, {b}[1], {b}._fields, *{b}])")
        elif which == 6:
            self.put(f"{b} = {{**TABLE, 'n': n}} | {{'m': {self.num()}}}")
            self.put(f"{b} |= {{name: i for i, (name, _) in enumerate(sorted({b}.items()))}}")
            self.put(f"del {b}['n']")
            self.put(f"log.append({b})")
        elif which == 7:
            self.put(f"{b} = collections.Counter(str(i % 2) for i in range(n))")
            self.put(f"{b}['1'] += 2")
            self.put(f"log.append({b}.most_common(1))")
        elif which == 8:
            self.put(f"{b} = [*zip(range(n), [{a}, x], strict={self.pick('False', 'n == 2')})]")
            self.put(f"log.append({b}[-1:])")
        else:
            self.put(f"assert {self.known()}, ('asserted', n)")

    def chosen(self) -> None:
        """What a test of an array's values picks or makes, and which object that is."""
        a, b = (self.rng.choice(self.names["vec"]) for _ in range(2))
        c, d, other = self.fresh("c"), self.fresh("d"), self.fresh("e")
        test, s, t = self.data(), self.scalar(), self.scalar()
        forms: list[list[str]] = [
            [
                f"{c}, {d} = {s}, {t}",
                f"{other} = {c} if {test} else {d}",
                f"log.append(({other} is {c}, {other} is {d}, {other} in [{c}], {other}))",
            ],
            [
                f"{c} = Plain({s} if {test} else {t})",
                f"log.append((x, {c}.v, vars({c})))",
            ],
            [
                f"{c} = Plain(None)",
                f"if {test}: {c}.w = {s}",
                f"else: {c}.{self.pick('w', 'w', 'z')} = {t}",
                f"log.append(({c}, sorted(vars({c}))))",
            ],
            [
                f"{c} = ValueError({s}) if {test} else {self.pick('KeyError', 'ValueError')}('b')",
                f"log.append((repr({c}), {c}.args))",
            ],
            [
                f"{c}, {d} = {a}, {self.pick(b, a + '[1:]', a + '[::-1]', a + ' * 1.0')}",
                f"{other} = {c} if {test} else {d}",
                f"{self.pick(c, d, other)} {self.pick('+=', '*=')} {self.pick('2', '0.5')}",
                f"log.append(({c}.copy(), {d}.copy(), {other}.copy(), {other} is {c}))",
            ],
            [
                f"{c}, {d} = int(abs({a}[0])) % 3, int(abs({a}[1])) % 5",
                f"{other} = {b}[{self.pick(f'{c}:', f':{d}', f'{c}:{d}', f'{c}:{d}:2')}]",
                f"{b} {self.pick('+=', '*=')} 2",
                f"{other} {self.pick('+=', '*=')} 3",
                f"log.append(({other}.copy(), {b}.copy(), [0] * {c}, (1, 2) * np.int64({d})))",
            ],
            [
                f"{c} = [{s}, {t}, {self.scalar()}]",
                f"{d} = {self.pick(f'max({c})', f'min({c})', f'sorted({c})[1]')}",
                f"log.append(([v is {d} for v in {c}], {d} * 2j))",
            ],
            [
                f"{c} = {d} = ({a}[0],) if {test} else ({b}[1], 2)",
                f"if {self.data()}: {d} = ({a}[1],)",
                f"log.append(({c} is {d}, {c}, {d}))",
            ],
        ]
        for line in self.rng.choice(forms):
            self.put(line)

    def opaque(self) -> None:
        """Something that is a break."""
        self.put(
            self.pick(
                "log.append(id(log) == id(log))",
                "log.append(sorted(globals())[:1])",
                f"pycompile_break({self.num()})",
            )
        )

    def unpack(self) -> None:
        a, b, c = self.vec(1), self.vec(1), self.vec(1)
        p, q = self.fresh("v"), self.fresh("v")
        which = self.rng.randrange(4)
        if which == 0:
            self.put(f"{p}, {q} = {a}, {b}")
        elif which == 1:
            self.put(f"{p}, *rest, {q} = [{a}, {b}, {c}]")
        elif which == 2:
            self.put(f"({p}, _), {q} = ({a}, 1), {b}")
        else:
            self.put(f"{p} = {q} = {a}")
        self.know("vec", p)
        self.know("vec", q)

    def text(self) -> None:
        n = self.rng.choice(self.names["int"])
        if self.names["str"] and self.chance(0.4):
            s = self.rng.choice(self.names["str"])
            other = self.pick(f"{s}.upper()", f"{s} + 'b'", f"{s}.replace('a', 'bc')", f"{s}[::-1]")
            self.bind("str", str(other))
        else:
            made = self.pick(
                f"f'a{{{n}}}'",
                f'f"{{{self.num()}:.2f}}|{{{n}!r}}"',
                f"','.join(str(i) for i in range({n}))",
                f"'a%s' % {n}",
                f"'{{}}-{{}}'.format({n}, {self.num()})",
                f'f"{{{self.scalar()}:.3e}}"',
            )
            name = self.bind("str", str(made))
            if "e}" in made:  # out of an array: for looking only
                self.names["str"].remove(name)

    def sets(self) -> None:
        n = self.rng.choice(self.names["int"])
        self.bind(
            "set", self.pick(f"{{1, {n}}}", f"set(range({n}))", f"{{i % 2 for i in ({n}, 3)}}")
        )

    def pairs(self) -> None:
        name = self.bind("pair", f"Pair({self.vec(1)}, {self.num()})")
        if self.chance(0.5):
            self.put(f"{name}.{self.pick('a', 'c')} = {self.vec(1)}")
        if self.chance(0.5):
            self.bind("vec", f"{name}.total()")

    def leave(self) -> None:
        if self.chance(0.5):
            self.put(f"assert {self.known()} or {self.known()}, 'no'")
        elif self.chance(0.3):
            self.put(
                f"if {self.known()}: raise {self.pick('ValueError(1)', 'Stop(n)', 'KeyError')}"
            )
        elif self.loops and not self.pure:
            self.put(f"if {self.condition()}: {self.pick('break', 'continue')}")
        elif self.chance(0.15) and not self.pure:
            self.put(f"if {self.condition()}: return log, {self.vec(1)}")
        else:
            self.put(self.pick("log.append(n // (n - 2))", f"checked(x, {self.num()})", "pass"))

    # ---- blocks ----

    def if_(self) -> None:
        if self.chance(0.2):
            name = self.fresh("w")
            self.put(f"if ({name} := {self.num()}) > 1:")
            self.block()
            self.know("num", name)
            return
        self.put(f"if {self.condition()}:")
        shared = self.fresh("v") if self.chance(0.5) else None
        for arm in range(2):
            self.block()
            if shared:
                self.indent += 1
                self.put(f"{shared} = {self.vec(1)}")
                self.indent -= 1
            if arm == 0:
                if not shared and self.chance(0.4):
                    return
                self.put("else:")
        if shared:
            self.know("vec", shared)

    def for_(self) -> None:
        i, v = self.fresh("i"), self.fresh("v")
        items = self.rng.choice(self.names["list"])
        bound = {i: "int"}
        which = self.rng.randrange(9)
        if which == 0:
            self.put(f"for {i} in range({self.pick('2', '3', 'n', '1, 4', '3, 0, -1')}):")
        elif which == 1:
            self.put(f"for {v} in list({items}):")
            bound = {v: "vec"}
        elif which == 2:
            self.put(f"for {i}, {v} in enumerate({items}[:2]):")
            bound = {i: "int", v: "vec"}
        elif which == 3:
            self.put(f"for {i}, {v} in zip(range(5), {items}[:3]):")
            bound = {i: "int", v: "vec"}
        elif which == 4:
            self.put(f"for {v} in parts({self.vec(1)}, 3):")
            bound = {v: "vec"}
        elif which == 5:
            self.put(f"for {v} in {self.rng.choice(self.names['mat'])}:")
            bound = {v: "vec"}
        elif which == 6:
            self.put(f"for {i}, {v} in {{1: {self.vec(1)}, 2: {self.vec(1)}}}.items():")
            bound = {i: "int", v: "vec"}
        elif which == 7:
            call = self.pick("itertools.chain", "itertools.product", "reversed")
            if call == "itertools.chain":
                self.put(f"for {v} in itertools.chain({items}[:1], [{self.vec(1)}]):")
                bound = {v: "vec"}
            elif call == "reversed":
                self.put(f"for {v} in reversed({items}[:2]):")
                bound = {v: "vec"}
            else:
                self.put(f"for {i}, _ in itertools.product(range(2), 'ab'):")
        else:
            self.put(f"for {i} in range(len({self.rng.choice(self.names['vec'])})):")
        self.loops, pure = self.loops + 1, self.pure
        self.pure = 0
        self.block(**bound)
        self.loops, self.pure = self.loops - 1, pure
        if self.chance(0.15):
            self.put("else:")
            self.block(1)

    def while_(self) -> None:
        name = self.fresh("c")
        self.put(f"{name} = 0")
        self.put(f"while {name} < {self.pick('2', '3', 'n')}:")
        self.indent += 1
        self.put(f"{name} += 1")
        self.indent -= 1
        self.loops, pure = self.loops + 1, self.pure
        self.pure = 0
        self.block()  # which does not know the counter, and so leaves it alone
        self.loops, self.pure = self.loops - 1, pure

    def try_(self) -> None:
        self.put("try:")
        self.block()
        if self.chance(0.6):
            self.indent += 1
            self.put(
                self.pick(
                    f"if {self.known()}: raise Stop({self.num()})",
                    f"checked(x, {self.pick(4, 'n')})",
                    "raise ValueError('bad', n)",
                    "log.append({}['missing'])",
                    "log.append([][n])",
                    "log.append(1 // (n - n))",
                    "raise Stop(n) from KeyError(1)",
                    "int('x')",
                    "log.append(box.missing)",
                    "x + np.ones(17)",
                )
            )
            self.indent -= 1
        finish = self.chance(0.25)
        if not finish or self.chance(0.8):
            caught = self.pick("Stop", "(ValueError, KeyError)", "Exception", "ArithmeticError")
            self.put(f"except {caught} as error:")
            self.indent += 1
            self.put(
                self.pick(
                    "log.append(str(error))",
                    "log.append(type(error).__name__)",
                    "log.append(error.args)",
                    "pass",
                    "raise RuntimeError('again') from error",
                    "log.append(getattr(error, 'value', None))",
                )
                if not self.chance(0.05)
                else "raise"
            )
            self.indent -= 1
            if self.chance(0.3):
                self.block(1)
            if not finish and self.chance(0.3):
                self.put("else:")
                self.block(1)
        if finish:
            self.put("finally:")
            self.pure += 1
            self.block(1)
            self.pure -= 1

    def with_(self) -> None:
        self.put(
            self.pick(
                "with Manager(log):",
                "with Manager(log, True) as manager:",
                "with np.errstate(all='ignore'):",
                "with Manager(log), Manager(log, suppress=True):",
                "with scope(log, 'in') as size:",
                "with contextlib.suppress(Stop, ValueError):",
            )
        )
        self.block()
        if self.chance(0.3):
            self.indent += 1
            self.put(f"if {self.known()}: raise {self.pick('Stop(1)', 'ValueError')}")
            self.indent -= 1

    def closure(self) -> None:
        name, count = self.fresh("g"), self.fresh("q")
        kept = {kind: list(names) for kind, names in self.names.items()}
        which = self.rng.randrange(5)
        if which == 4:
            self.put("@twice")
        if which == 0:
            self.put(f"{name} = lambda v, s={self.num()}: v * s + {self.num()}")
        elif which == 1:
            self.put(f"{name} = functools.partial(helper, z={self.num()})")
        else:
            if which == 2:
                self.put(f"{count} = 0")
            self.put(f"def {name}(v, s={self.num()}):")
            self.indent += 1
            if which == 2:
                self.put(f"nonlocal {count}")
                self.put(f"{count} += 1")
            self.know("vec", "v")
            self.names["fun"] = []
            outside = self.loops, self.names
            self.loops, self.pure = 0, self.pure + 1
            self.names["vec"] = ["v"] + [v for v in self.names["vec"] if v in ("x", "y")]
            self.names["vec"] = ["v"]
            self.put(f"return {self.vec(1)} * s" + (f" + {count}" if which == 2 else ""))
            self.loops, self.pure = outside[0], self.pure - 1
            self.indent -= 1
        self.names = kept
        self.know("fun", name)
        if which == 2:
            self.know("num", count)

    def generator(self) -> None:
        a, n = self.vec(1), self.pick("2", "n")
        self.bind(
            "list",
            str(
                self.pick(
                    f"[x] + list(parts({a}, {n}))",
                    f"[x, *parts({a}, 2)]",
                    f"[x] + [v for v in parts({a}, 3) if {self.known()}]",
                    f"[x, {a}] + list(map(lambda v: v + 1, parts({a}, {n})))",
                    f"[x] + list(itertools.islice(parts({a}, 9), 2))",
                    f"[x, *(v * 2 for v in {self.rng.choice(self.names['list'])})]",
                )
            ),
        )

    def match(self) -> None:
        n = self.rng.choice(self.names["int"])
        which = self.rng.randrange(3)
        if which == 0:
            self.put(f"match {n}:")
            cases = ["case 0:", f"case 1 | 2 if {self.known()}:", "case _:"]
        elif which == 1:
            self.put(f"match ({n}, {self.vec(1)}, 'a'):")
            cases = ["case (0, _, 'b'):", "case (int(i0), *rest) if i0 > 1:", "case _:"]
        else:
            self.put(f"match Pair({n}, {{'k': {self.num()}}}):")
            cases = ["case Pair(a=0):", "case Pair(b={'k': i0}):", "case _:"]
        self.indent += 1
        for case in cases:
            self.put(case)
            self.block(1)
        self.indent -= 1

    def comprehension(self) -> None:
        items = self.rng.choice(self.names["list"])
        self.bind(
            "list",
            str(
                self.pick(
                    f"[v * i for i, v in enumerate({items})] + [x]",
                    f"[x] + [v for v in {items} if v.ndim == 1 and {self.known()}]",
                    f"[x] + [a + b for a in {items}[:2] for b in {items}[:2]]",
                    f"[x] + list({{i: v for i, v in enumerate({items})}}.values())",
                    f"[*{items}, {self.vec(1)}]",
                    f"[x] + [v for v in [w + 1 for w in {items}[:2]]]",
                )
            ),
        )


def program(seed: int) -> str:
    """The text of the program `seed`."""
    writer = Writer(random.Random(seed))
    for _ in range(writer.rng.randint(5, 14)):
        writer.statement()
    names = [name for names in writer.names.values() for name in names]
    body = "\n".join(writer.lines)
    return (
        f"{PREAMBLE}def bump(value):\n    global G\n    G = G + value\n\n\n"
        f"def f(x, y, m, n, k, items, box):\n    log = []\n{body}\n    return {', '.join(names)}\n"
    )
