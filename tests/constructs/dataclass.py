"""Dataclasses, named tuples and enumerations."""

import dataclasses
import enum
import math
from dataclasses import dataclass, field

import numpy as np

from constructs import X, Y, construct


@dataclass
class State:
    x: np.ndarray
    v: np.ndarray
    t: float = 0.0
    log: list = field(default_factory=list)

    def step(self, dt):
        return State(self.x + dt * self.v, self.v * 0.9, self.t + dt, [*self.log, self.t])


@construct("dataclass with defaults and default_factory", X, Y)
def plain(x, y):
    s = State(x, y)
    for _ in range(3):
        s = s.step(0.1)
    return s.x, s


@construct("dataclass from outside", State(X, Y), 0.5)
def outside(s, dt):
    s.t += dt
    return s.step(dt).x


@dataclass(frozen=True)
class Params:
    scale: float
    shift: float = 1.0
    name: str = "p"

    def apply(self, x):
        return x * self.scale + self.shift


@construct("frozen dataclass", X)
def frozen(x):
    return Params(2.0).apply(x), Params(1.5, shift=0.0)


@construct("frozen dataclass, assignment refused and caught", X)
def frozen_refuses(x):
    p = Params(2.0)
    try:
        p.scale = 3.0
    except dataclasses.FrozenInstanceError:
        return p.apply(x)
    return x


@construct("dataclasses.replace", X)
def replace(x):
    p = dataclasses.replace(Params(2.0), shift=-1.0)
    return p.apply(x), p


@construct("dataclasses.fields", X)
def fields(x):
    return [f.name for f in dataclasses.fields(Params)], x + 1


@construct("dataclasses.is_dataclass", X)
def is_dataclass(x):
    return dataclasses.is_dataclass(Params), dataclasses.is_dataclass(Params(1.0)), x + 1


@construct("equality of dataclasses", X)
def equal(x):
    a, b = Params(2.0), Params(2.0)
    return a == b, a != b, a == Params(3.0), a == 1, x + 1


@construct("repr of a dataclass", X)
def representation(x):
    return repr(Params(2.0)), f"{Params(1.0)}", x + 1


@dataclass(order=True)
class Priority:
    rank: int
    item: object = field(compare=False, default=None)


@construct("ordered dataclass", X)
def ordered(x):
    a, b = Priority(1, x), Priority(2, x + 1)
    return a < b, a >= b, max(a, b).item


@dataclass(slots=True)
class Cell:
    value: float
    weight: float = 1.0


@construct("dataclass with slots", X)
def with_slots(x):
    c = Cell(2.0)
    c.weight = 3.0
    return x * c.value * c.weight


@dataclass(kw_only=True)
class Options:
    width: int = 2
    depth: int


@construct("keyword-only dataclass", X)
def keyword_only(x):
    o = Options(depth=3)
    return x * o.depth + o.width


@dataclass
class Derived:
    x: np.ndarray
    n: int = field(init=False)
    total: dataclasses.InitVar[float] = 1.0

    def __post_init__(self, total):
        self.n = len(self.x)
        self.x = self.x * total


@construct("__post_init__ and InitVar", X)
def post_init(x):
    d = Derived(x, 3.0)
    return d.x, d.n


@dataclass
class Sub(State):
    mass: float = 2.0

    def energy(self):
        return 0.5 * self.mass * (self.v**2).sum()


@construct("dataclass derived from another", X, Y)
def derived(x, y):
    s = Sub(x, y)
    return s.x * s.energy()


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 4

    @property
    def half(self):
        return self.value / 2

    def paint(self, x):
        return x * self.value


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Perm(enum.Flag):
    R = enum.auto()
    W = enum.auto()
    X = enum.auto()


@construct("enum members, identity, value and name", X, Colour.RED)
def members(x, colour):
    if colour is Colour.RED:
        return x * colour.value, colour.name, colour == Colour.BLUE, colour
    return x


@construct("enum by value and by name", X)
def lookup(x):
    return Colour(2), Colour["BLUE"], x * Colour(4).value


@construct("iteration over an enum", X)
def iterate(x):
    total = x
    for colour in Colour:
        total = total + colour.value
    return total, len(Colour), [c.name for c in Colour]


@construct("methods and properties of an enum", X)
def enum_methods(x):
    return Colour.GREEN.paint(x), Colour.BLUE.half


@construct("IntEnum as a number", X)
def int_enum(x):
    return x * (Level.HIGH + 1), Level.LOW < Level.HIGH, Level.HIGH == 10, x[Level.LOW]


@construct("Flag operations", X)
def flags(x):
    both = Perm.R | Perm.W
    return both, Perm.R in both, bool(both & Perm.X), x + (1 if both & Perm.W else 2)


@construct("enum member as a dict key", X)
def enum_key(x):
    table = {Colour.RED: 2.0, Colour.BLUE: 3.0}
    return x * table[Colour.BLUE], Colour.GREEN in table


@construct("match on enum members", X, Colour.GREEN)
def match_enum(x, colour):
    match colour:
        case Colour.RED:
            return x
        case Colour.GREEN:
            return x * 2
    return -x


@construct("str and repr of an enum member", X)
def enum_text(x):
    return str(Colour.RED), repr(Colour.RED), f"{Colour.RED}", f"{Level.HIGH}", x + 1


@construct("isinstance of an enum", X, Colour.RED)
def enum_isinstance(x, colour):
    return isinstance(colour, Colour), isinstance(colour, enum.Enum), x + math.pi
