"""Random small programs over arrays, for test_stress.py: source text, arguments, and what changes
between calls.  Everything is a function of a seed, so that each side gets its own equal copy.

A program is a module with one function `f` made by `make`; its text may raise anywhere: exceptions
are compared like results.  Numbers that multiply are small, or so large that nothing is allocated.
"""

from __future__ import annotations

import random
import types
from typing import Any

import numpy as np

BIG = (2**40, 2**62, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30)


class Sub(np.ndarray):
    """A subclass that changes nothing."""


class Whole(int):
    """An int by another name."""


class Real(float):
    """A float by another name."""


class Thing:
    """What methods and attributes are looked up on."""

    k: Any = 1.5

    def __init__(self, w: Any) -> None:
        self.w = w

    def m(self, x: Any) -> Any:
        return x * self.k + self.w

    @property
    def p(self) -> Any:
        return self.w


PREAMBLE = """\
import math
import numpy as np
from stress_programs import Thing, Sub
G = 2.0
A = np.arange(3.0)
LIST = [1.0, 2.0]
DICT = {"k": 2.0, "a": A}
THING = Thing(3.0)

def helper(x, y=2):
    return x * y

def other(x, y=3):
    z = x - y
    return z + 1

def noisy(x):
    print("noisy", np.shape(x))
    return x + G

def writer(x, value):
    x[0] = value
    return x

def unknown(x):
    return [part for part in str(np.shape(x)).split()]
"""

UNARY = ("np.sin", "np.exp", "np.sqrt", "np.abs", "np.negative", "np.floor", "np.isnan", "np.sign")
UNARY += ("np.log", "np.tanh", "np.square", "np.conj", "np.logical_not", "np.rint", "abs", "-", "+")
BINARY = (
    "np.add",
    "np.multiply",
    "np.maximum",
    "np.minimum",
    "np.arctan2",
    "np.hypot",
    "np.divide",
)
BINARY += ("np.floor_divide", "np.power", "np.less", "np.equal", "np.logical_and", "np.copysign")
REDUCE = ("sum", "mean", "max", "min", "prod", "any", "all", "argmax", "cumsum", "std")
OPERATORS = ("+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">", "&", "|", "^", "@")
INDEXES = (
    "0",
    "-1",
    "1:",
    ":-1",
    "::2",
    "::-1",
    "...",
    "None",
    "1",
    "5",
    ":, 0",
    "0, 0",
    "..., -1",
)
INDEXES += ("1:, None", "-2:", "2:1", ":, ::-1", "s", "s:", "t > 0", "[0, 1]", "np.array([1, 0])")


class Maker:
    """Writes one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.depth = 2
        self.arrays = ["x", "y"]
        self.scalars = ["s", "c"]
        self.others = ["v"]
        self.count = 0

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def put(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self, kind: list[str], text: str) -> str:
        """Assigns to a name, new or (a third) one that exists."""
        if self.rng.random() < 0.3:
            name = self.rng.choice(kind)
        else:
            self.count += 1
            name = f"{kind[0][0]}{self.count}"
        self.put(f"{name} = {text}")
        if name not in kind:
            kind.append(name)
        return name

    def array(self) -> str:
        if self.rng.random() < 0.06:
            return self.pick("A", "DICT['a']", "np.ones(3)", "np.zeros((2, 3))", "G")
        return self.rng.choice(self.arrays)

    def scalar(self) -> str:
        if self.rng.random() < 0.5:
            return self.pick("2", "1.5", "0", "-1", "True", "1j", "G", "0.0", "np.float32(2)", "3")
        return self.rng.choice(self.scalars)

    def operand(self) -> str:
        return self.array() if self.rng.random() < 0.7 else self.scalar()

    def anything(self) -> str:
        return self.rng.choice(self.arrays + self.scalars + self.others)

    def index(self) -> str:
        index = self.rng.choice(INDEXES)
        return index.replace("t", self.array()) if "t >" in index else index

    def expression(self) -> str:
        a, b = self.operand(), self.operand()
        which = self.rng.randrange(16)
        if which < 4:
            return f"{a} {self.rng.choice(OPERATORS)} {b}"
        if which == 4:
            return f"{self.rng.choice(UNARY)}({a})"
        if which == 5:
            return f"{self.rng.choice(BINARY)}({a}, {b})"
        if which == 6:
            return f"{self.array()}[{self.index()}]"
        if which == 7:
            axis = self.pick("", "axis=0", "axis=-1", "0", "axis=1, keepdims=True", "axis=s")
            return f"{self.array()}.{self.rng.choice(REDUCE)}({axis})"
        if which == 8:
            return f"np.where({self.array()} > {self.scalar()}, {a}, {b})"
        if which == 9:
            method = self.pick(
                "T", "copy()", "ravel()", "reshape(-1)", "astype(np.float32)", "real"
            )
            more = self.pick("flatten()", "transpose()", "reshape(3, -1)", "astype(int)", "view()")
            return f"{self.array()}.{self.pick(method, more)}"
        if which == 10:
            return f"{a} {self.pick('+', '*', '-')} {b} {self.pick('+', '*', '<')} {self.scalar()}"
        if which == 11:
            made = self.pick("zeros_like", "ones_like", "full_like")
            fill = f", {self.scalar()}" if made == "full_like" else ""
            return f"np.{made}({self.array()}{fill})"
        if which == 12:
            call = self.pick(f"helper({a})", f"helper({a}, y={b})", f"THING.m({a})", f"noisy({a})")
            return str(self.pick(call, f"other({a}, {b})", f"helper(*[{a}, {b}])", f"part({a})"))
        if which == 13:
            return f"{a} if {self.condition()} else {b}"
        if which == 14:
            joined = self.pick("concatenate", "stack", "vstack", "hstack")
            return f"np.{joined}([{self.array()}, {self.array()}])"
        power = self.pick("2", "3", "0.5", "-1", "2.0")
        return f"{a} ** {power}"

    def condition(self) -> str:
        a = self.array()
        which = self.pick(
            f"{self.scalar()} > {self.scalar()}",
            f"{a}.sum() > 0",
            f"{self.anything()} is None",
            f"{a}.shape[0] > 2",
            f"{a}.ndim == 1 and {a}.size",
            f"isinstance({self.anything()}, np.ndarray)",
            f"{a}.any()",
            f"0 < {self.scalar()} <= 2",
            f"len({a}) > 2",
            f"{a}.dtype == np.float64",
            f"not {self.anything()} is {self.anything()}",
        )
        return str(which)

    def statement(self) -> None:
        simple = (self.assign, self.assign, self.assign, self.inplace, self.store, self.view)
        simple += (self.number, self.container, self.call, self.break_, self.change, self.out)
        block = (self.if_, self.for_, self.try_, self.while_, self.with_, self.closure)
        if self.depth < 5 and self.rng.random() < 0.22:
            self.rng.choice(block)()
        else:
            self.rng.choice(simple)()

    def body(self, count: int) -> None:
        self.depth += 1
        for _ in range(count):
            self.statement()
        self.depth -= 1

    # ---- statements ----

    def assign(self) -> None:
        self.new(self.arrays, self.expression())

    def inplace(self) -> None:
        operator = self.pick("+", "-", "*", "/", "//", "+", "*", "&")
        self.put(f"{self.rng.choice(self.arrays)} {operator}= {self.operand()}")

    def store(self) -> None:
        operator = self.pick("=", "=", "=", "+=", "*=", "-=")
        value = self.pick(self.operand(), self.scalar(), self.expression())
        self.put(f"{self.array()}[{self.index()}] {operator} {value}")

    def view(self) -> None:
        name = self.new(self.arrays, f"{self.array()}[{self.index()}]")
        if self.rng.random() < 0.6:
            self.put(f"{name}{self.pick('[...]', '[0]', '[::-1]', '[1:]')} = {self.operand()}")
        else:
            self.put(f"{name} {self.pick('+', '*')}= {self.scalar()}")

    def number(self) -> None:
        a = self.array()
        text = self.pick(
            f"float({a}.sum())",
            f"{a}.shape[0]",
            f"len({a})",
            f"{a}.ndim",
            f"int({a}.max())",
            f"{self.scalar()} {self.pick('+', '-', '*', '/', '//', '%')} {self.scalar()}",
            f"{a}[0]",
            f"{a}.item()",
            f"bool({a}.any())",
            f"abs({self.scalar()})",
            f"min({self.scalar()}, {self.scalar()})",
            f"math.sqrt({self.scalar()})",
            f"round({self.scalar()})",
            f"{a}.size // 2",
            f"-{self.scalar()}",
            f"sum({a}.shape)",
            "THING.p",
            "Thing.k",
            "LIST[0]",
            "DICT['k']",
        )
        self.new(self.scalars, str(text))

    def container(self) -> None:
        a, b = self.anything(), self.anything()
        which = self.rng.randrange(8)
        if which == 0:
            name = self.new(self.others, f"[{a}, {b}]")
            self.put(f"{name}.append({self.anything()})")
        elif which == 1:
            name = self.new(self.others, f"{{'a': {a}, 'b': {b}}}")
            self.put(f"{name}['a'] = {self.anything()}")
        elif which == 2:
            self.put(f"{self.rng.choice(self.arrays)}, {self.rng.choice(self.others)} = {a}, {b}")
        elif which == 3:
            self.new(self.others, f"[{self.pick('i * 2', 'i', 'x')} for i in {self.array()}]")
        elif which == 4:
            self.new(self.others, f"({a}, ({b}, {self.scalar()}))")
        elif which == 5:
            self.new(self.arrays, f"{self.rng.choice(self.others)}[{self.pick('0', '-1', '1')}]")
        elif which == 6:
            self.new(self.others, f"f'{{{self.scalar()}}} {{np.shape({self.array()})}}'")
        else:
            self.put(f"{self.rng.choice(self.others)}[0] = {b}")

    def call(self) -> None:
        a = self.array()
        text = self.pick(
            f"writer({a}, {self.scalar()})",
            f"noisy({a})",
            f"THING.m({a})",
            f"(lambda q: q * 2 + c)({a})",
            f"list(map(helper, [{a}, {self.scalar()}]))[0]",
            f"np.dot({a}, {self.array()})",
            f"np.sort({a})",
            f"np.clip({a}, {self.scalar()}, 2)",
            f"np.asarray({a})",
            f"np.roll({a}, 1)",
        )
        self.new(self.arrays, str(text))

    def break_(self) -> None:
        self.put(
            self.pick(
                f"print('at', np.shape({self.array()}))",
                f"unknown({self.array()})",
                f"str({self.scalar()})",
                f"hash({self.scalar()})",
                "np.random.default_rng(0).random(3)",
                f"print({self.scalar()}, end='')",
            )
        )

    def change(self) -> None:
        a = self.anything()
        self.put(
            self.pick(
                f"THING.w = {self.scalar()}",
                f"LIST[0] = {self.scalar()}",
                f"LIST.append({a})",
                f"DICT['k'] = {self.scalar()}",
                f"DICT['n'] = {a}",
                f"v = {a}",
                f"globals()['G'] = {self.scalar()}",
                f"set_g({self.scalar()})",
                f"THING.new = {a}",
                f"A[{self.pick('0', '1:', '...')}] = {self.scalar()}",
                f"assert {self.condition()}, 'no'",
                f"raise ValueError({self.scalar()})" if self.rng.random() < 0.2 else "pass",
                f"del {self.rng.choice(self.arrays)}" if self.rng.random() < 0.2 else "pass",
                f"return {a}" if self.rng.random() < 0.2 else "pass",
            )
        )

    def out(self) -> None:
        target = self.array()
        call = self.pick("np.add", "np.multiply", "np.subtract", "np.maximum", "np.true_divide")
        self.put(f"{call}({self.operand()}, {self.operand()}, out={target})")

    def if_(self) -> None:
        self.put(f"if {self.condition()}:")
        self.body(self.rng.randint(1, 2))
        if self.rng.random() < 0.6:
            self.put("else:")
            self.body(self.rng.randint(1, 2))

    def for_(self) -> None:
        which = self.rng.randrange(6)
        name = f"i{self.depth}"
        if which == 0:
            self.put(f"for {name} in range({self.pick('2', '3', '1, 3')}):")
            self.scalars.append(name)
        elif which == 1:
            self.put(f"for {name} in [{self.operand()}, {self.operand()}]:")
            self.arrays.append(name)
        elif which == 2:
            self.put(f"for {name}, {name}b in zip({self.array()}, [1, 2.5]):")
            self.arrays += [name]
            self.scalars += [name + "b"]
        elif which == 3:
            self.put(f"for {name}, {name}b in enumerate([{self.array()}, {self.array()}]):")
            self.scalars += [name]
            self.arrays += [name + "b"]
        elif which == 4:
            self.put(f"for {name} in {self.array()}:")
            self.scalars.append(name)
        else:
            a, b = self.array(), self.array()
            self.put(f"for {name} in range(1, len({a})):")
            self.depth += 1
            self.put(f"{a}[{name}] = {self.scalar()} * {a}[{name} - 1] + {b}[{name}]")
            self.depth -= 1
            return
        self.body(self.rng.randint(1, 2))
        if self.rng.random() < 0.2:
            self.depth += 1
            self.put(self.pick("break", "continue", f"if {self.condition()}: break"))
            self.depth -= 1

    def while_(self) -> None:
        name = f"w{self.depth}"
        self.put(f"{name} = 0")
        self.put(f"while {name} < 3:")
        self.depth += 1
        self.put(f"{name} += 1")
        self.depth -= 1
        self.body(1)

    def try_(self) -> None:
        self.put("try:")
        self.body(self.rng.randint(1, 2))
        caught = self.pick(
            "Exception", "(TypeError, ValueError)", "IndexError", "ZeroDivisionError"
        )
        self.put(f"except {caught} as error:")
        self.depth += 1
        self.put(self.pick("v = str(error)", "v = type(error)", "raise", "pass", "v = error.args"))
        if self.rng.random() < 0.1:
            self.put("raise RuntimeError('again') from error")
        self.depth -= 1
        if self.rng.random() < 0.3:
            self.put("finally:")
            self.body(1)

    def with_(self) -> None:
        state = self.pick("all='ignore'", "divide='raise'", "all='warn'", "over='raise'")
        self.put(f"with np.errstate({state}):")
        self.body(1)

    def closure(self) -> None:
        name = f"q{self.depth}"
        a, b = self.rng.choice(self.arrays), self.scalar()
        self.put(f"def {name}(z, w={b}):")
        self.put(f"    return z + {a} * w")
        self.new(self.arrays, f"{name}({self.array()})")

    # ---- the whole ----

    def source(self) -> str:
        for _ in range(self.rng.randint(3, 8)):
            self.statement()
        names = self.rng.sample(self.arrays + self.scalars + self.others, 2)
        result = self.pick(names[0], f"({', '.join(names)})", f"[{names[0]}, x]", "x", "x, y, v")
        star = self.pick("", "", "", ", *rest", ", *, key=1")
        head = [
            "def make(c):",
            "    def set_g(value):",
            "        global G",
            "        G = value",
            "",
            "    def set_c(value):",
            "        nonlocal c",
            "        c = value",
            "",
            "    def part(x):",
            "        return x + c",
            "",
            f"    def f(x, y, s=2, v=None{star}):",
        ]
        tail = [f"        return {result}", "", "    return f, set_c", "", "f, set_c = make(1.5)"]
        return PREAMBLE + "\n" + "\n".join(head + self.lines + tail) + "\n"


def program(seed: int) -> str:
    """The text of one module."""
    return Maker(random.Random(seed)).source()


# ---- arguments ----

SHAPES = ((3,), (2, 3), (3, 3), (4,), (0,), (), (1,), (3, 1), (0, 3), (2, 3, 2), (200,))
DTYPES = ("f8", "f4", "i8", "i4", "u1", "b1", "c16", "f2", "u8", "c8", "i1", "u4", "i2")
ODD_DTYPES = (">f8", "O", "M8[D]", "U3", "m8[s]", [("a", "f8"), ("b", "i4")])
LAYOUTS = ("C", "F", "step", "negative", "transposed", "readonly", "misaligned", "stretched")
KINDS = ("subclass", "matrix", "masked", "list", "tuple", "none", "scalar")


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Small numbers, with zeros, and sometimes what floats have besides numbers."""
    numbers = rng.integers(-3, 5, shape) * (1 if rng.random() < 0.5 else 0.75)
    if rng.random() < 0.15 and numbers.size:
        numbers = np.asarray(numbers, float)
        numbers.flat[0] = rng.choice([np.nan, np.inf, -0.0, 1e300, 1e-310])
    kind = np.dtype(dtype).kind
    with np.errstate(all="ignore"):
        if kind in "biufc" and np.dtype(dtype) != object:
            if kind == "u":
                numbers = np.abs(numbers)
            if kind in "biu":
                numbers = np.nan_to_num(numbers, nan=0, posinf=9, neginf=0).clip(-100, 100)
            return np.asarray(numbers).astype(dtype)
        if kind == "O":
            return np.asarray(np.asarray(numbers).astype(object))
        if kind == "V":
            return np.zeros(shape, dtype)
        return np.nan_to_num(np.asarray(numbers)).clip(-9, 9).astype("i8").astype(dtype)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same values in another layout."""
    shape = array.shape
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "step" and array.ndim:
        wide = np.repeat(array, 2, axis=-1)
        return wide[..., ::2]
    if layout == "negative" and array.ndim:
        return np.ascontiguousarray(array[::-1])[::-1]
    if layout == "transposed":
        return np.ascontiguousarray(array.T).T
    if layout == "readonly":
        array.flags.writeable = False
    if layout == "misaligned" and not array.dtype.hasobject and array.dtype.itemsize > 1:
        raw = np.zeros(array.nbytes + 1, np.uint8)
        moved = np.ndarray(shape, array.dtype, raw, 1)
        moved[...] = array
        return moved
    if layout == "stretched" and array.ndim and array.size:
        return np.broadcast_to(array[:1], shape)
    return array


def scalar_argument(rng: random.Random) -> Any:
    if rng.random() < 0.5:
        return rng.choice((0, 1, 2, -1, 3, 1.5, 0.5, -2.0))
    big = rng.choice(BIG)
    odd = (True, False, np.float32(1.5), np.float64(2.5), np.int64(2), np.int32(-1), np.bool_(True))
    odd += (
        np.uint8(200),
        1j,
        None,
        Whole(2),
        Real(1.5),
        big,
        -big,
        float("nan"),
        float("inf"),
        -0.0,
    )
    odd += (np.complex64(1 + 2j), np.float16(0.5), 1e308, 255, 300, -129, 70000, 2**31)
    return rng.choice(odd)


def array_argument(rng: random.Random, numbers: np.random.Generator, plan: dict[str, Any]) -> Any:
    odd = rng.random()
    shape = plan["shape"] if rng.random() < 0.85 else rng.choice(SHAPES)
    dtype = plan["dtype"] if rng.random() < 0.85 else rng.choice(DTYPES)
    if odd < 0.04:
        dtype = rng.choice(ODD_DTYPES)
    layout = plan["layout"] if rng.random() < 0.85 else rng.choice(LAYOUTS)
    array = laid_out(values(numbers, shape, dtype), layout)
    kind = rng.choice(KINDS) if rng.random() < 0.07 else plan["kind"]
    if kind == "subclass":
        return array.view(Sub)
    if kind == "matrix" and array.ndim <= 2 and array.dtype.kind in "fi":
        return array.view(np.matrix)
    if kind == "masked" and array.dtype.kind in "fi":
        return np.ma.masked_array(array, mask=np.zeros(array.shape, bool))
    if kind in ("list", "tuple") and array.size < 20:
        return array.tolist() if kind == "list" else tuple(np.atleast_1d(array).tolist())
    if kind == "none":
        return None
    if kind == "scalar":
        return scalar_argument(rng)
    return array


def arguments(seed: int, plan: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Equal arguments each time for one seed; `plan` is what most calls of a program share."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    x = array_argument(rng, numbers, plan)
    y = array_argument(rng, numbers, plan)
    alias = rng.random()
    if isinstance(x, np.ndarray) and alias < 0.2 and type(x) is np.ndarray:
        if alias < 0.06:
            y = x
        elif alias < 0.1:
            y = x[::-1] if x.ndim else x[...]
        elif alias < 0.15 and x.ndim == 1:
            x, y = x[1:], x[:-1]
        else:
            y = x.T
    args = [x, y]
    if rng.random() < 0.8:
        args.append(plan["s"] if rng.random() < 0.6 else scalar_argument(rng))
    keywords: dict[str, Any] = {}
    if rng.random() < 0.3:
        keywords["v"] = rng.choice(([1, 2.0], (x, 1), {"a": y}, None, x, "text", [x, y]))
    wrong = rng.random()
    if wrong < 0.02:
        args.pop()
    elif wrong < 0.04:
        args.append(7)
    elif wrong < 0.05:
        keywords["nothing"] = 1
    elif wrong < 0.06:
        keywords["s"] = 1
    return args, keywords


def shared_plan(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    common = rng.random() < 0.6
    return {
        "shape": rng.choice(SHAPES[:4] if common else SHAPES),
        "dtype": rng.choice(DTYPES[:3] if common else DTYPES),
        "layout": "C" if rng.random() < 0.7 else rng.choice(LAYOUTS),
        "kind": "array",
        "s": scalar_argument(rng),
    }


# ---- between calls ----


def set_code(ns: dict[str, Any]) -> None:
    ns["helper"].__code__ = ns["other"].__code__


def rebind_function(ns: dict[str, Any]) -> None:
    ns["helper"] = ns["other"]


def _alternative(self: Any, x: Any) -> Any:
    return x - self.w


def mutation(seed: int) -> Any:
    """A change of the world: a function of the module's namespace, the same for equal seeds."""
    rng = random.Random(seed)
    value = rng.choice((3, 2.5, True, np.float32(2), 2**63, None, 1j, "text", -1, 0))
    choice = rng.randrange(20)
    table = {
        0: lambda ns: ns.update(G=value),
        1: lambda ns: ns.update(G=np.arange(3)),
        2: rebind_function,
        3: set_code,
        4: lambda ns: setattr(ns["helper"], "__defaults__", (value,)),
        5: lambda ns: setattr(Thing, "k", value),
        6: lambda ns: setattr(Thing, "m", _alternative),
        7: lambda ns: setattr(ns["THING"], "w", value),
        8: lambda ns: setattr(np, "sin", np.cos),
        9: lambda ns: ns.update(len=lambda x: 2),
        10: lambda ns: ns.pop("G", None),
        11: lambda ns: ns["set_c"](value),
        12: lambda ns: ns["LIST"].insert(0, value),
        13: lambda ns: ns["DICT"].update(k=value),
        14: lambda ns: setattr(ns["f"], "__defaults__", (value, value)),
        15: lambda ns: ns.update(np=types.SimpleNamespace(**vars(np))),
        16: lambda ns: ns.update(THING=Thing(value)),
        17: lambda ns: np.seterr(all=rng.choice(("raise", "ignore", "warn"))),
        18: lambda ns: ns["THING"].__dict__.update(m=ns["other"]),
        19: lambda ns: ns.update(A=np.arange(3, dtype="f4")),
    }
    return table[choice]


def restore_world(sin: Any = np.sin, method: Any = Thing.m) -> None:
    """Undoes what mutations do to what both sides share."""
    np.sin = sin
    np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
    Thing.k = 1.5
    Thing.m = method  # type: ignore[method-assign]
