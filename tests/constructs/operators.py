"""Operators of the program's own classes."""

import functools

import numpy as np

from constructs import X, Y, construct


class Vec:
    __array_ufunc__ = None

    def __init__(self, data):
        self.data = data

    def _of(self, other):
        return other.data if isinstance(other, Vec) else other

    def __add__(self, other):
        return Vec(self.data + self._of(other))

    def __radd__(self, other):
        return Vec(other + self.data)

    def __sub__(self, other):
        return Vec(self.data - self._of(other))

    def __rsub__(self, other):
        return Vec(other - self.data)

    def __mul__(self, other):
        return Vec(self.data * self._of(other))

    __rmul__ = __mul__

    def __matmul__(self, other):
        return (self.data * self._of(other)).sum()

    def __truediv__(self, other):
        return Vec(self.data / self._of(other))

    def __pow__(self, n):
        return Vec(self.data**n)

    def __neg__(self):
        return Vec(-self.data)

    def __pos__(self):
        return self

    def __invert__(self):
        return Vec(1 / self.data)

    def __abs__(self):
        return Vec(np.abs(self.data))

    def __iadd__(self, other):
        self.data = self.data + self._of(other)
        return self

    def __getitem__(self, key):
        return self.data[key]

    def __setitem__(self, key, value):
        self.data = self.data.copy()
        self.data[key] = value

    def __delitem__(self, key):
        self.data = np.delete(self.data, key)

    def __len__(self):
        return len(self.data)

    def __contains__(self, item):
        return item in (1, 2, 3)

    def __eq__(self, other):
        if not isinstance(other, Vec):
            return NotImplemented
        return self.data.shape == other.data.shape

    def __lt__(self, other):
        return len(self) < len(other)

    def __hash__(self):
        return hash(self.data.shape)

    def __bool__(self):
        return len(self.data) > 0

    def __repr__(self):
        return f"Vec of {len(self.data)}"

    def __format__(self, spec):
        return f"<{spec}:{len(self)}>"


@construct("binary operators", X, Y)
def binary(x, y):
    a, b = Vec(x), Vec(y)
    return (a + b * 2 - 1).data, (a / b).data, (a**2).data, a @ b


@construct("reflected operators", X)
def reflected(x):
    a = Vec(x)
    return (2 + a).data, (3 - a).data, (0.5 * a).data


@construct("array on the left of an object", X, Y)
def array_on_the_left(x, y):
    a = Vec(x)
    return (y + a).data, (y - a).data, (y * a).data


@construct("unary operators", X)
def unary(x):
    a = Vec(x + 9)
    return (-a).data, (+a) is a, (~a).data, abs(a).data


@construct("in-place operator that changes the object", X)
def in_place(x):
    a = b = Vec(x)
    a += 1
    return a is b, b.data


@construct("in-place operator that falls back", X)
def in_place_fallback(x):
    a = b = Vec(x)
    a *= 3
    return a is b, a.data


@construct("item access", X)
def items(x):
    a = Vec(x)
    a[0] = 9.0
    return a[1:], a[0], len(a), a


@construct("membership and truth", X)
def membership(x):
    a = Vec(x)
    return 2 in a, 5 not in a, bool(a), not a, (x if a else -x) + 1


@construct("equality and inequality", X, Y)
def equality(x, y):
    a, b = Vec(x + 1), Vec(y)
    return a == b, a != b, a == 3, a != 3, 3 == a, a.data


@construct("order, reflected", X)
def order(x):
    a, b = Vec(x + 1), Vec(x[:2])
    return b < a, a > b, a.data


@construct("hash, repr, str and format", X)
def texts(x):
    a = Vec(x + 1)
    return repr(a), str(a), f"{a}", f"{a:wide}", f"{a!r}", format(a, "f"), hash(a), a.data


@functools.total_ordering
class Version:
    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts


@construct("functools.total_ordering", X)
def total_ordering(x):
    a, b = Version(1, 2), Version(1, 3)
    return a < b, a <= b, a > b, a >= b, a == b, x + 1


class Metre:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __index__(self):
        return int(self.value)

    def __round__(self, n=0):
        return Metre(round(self.value, n))

    def __divmod__(self, other):
        return Metre(self.value // other), Metre(self.value % other)

    def __complex__(self):
        return complex(self.value, 1)


@construct("conversions", X)
def conversions(x):
    m = Metre(2.75)
    return x * float(m), int(m), complex(m), round(m, 1).value, [d.value for d in divmod(m, 2)]


class Quiet:
    def __add__(self, other):
        return NotImplemented


class Loud:
    def __init__(self, x):
        self.x = x

    def __radd__(self, other):
        return self.x + 1


@construct("NotImplemented gives the other side its turn", X)
def not_implemented(x):
    return Quiet() + Loud(x)


class Parent:
    def __add__(self, other):
        return "parent"

    def __radd__(self, other):
        return "parent, reflected"


class Child(Parent):
    def __radd__(self, other):
        return "child, reflected"


class Heir(Parent):
    pass


@construct("a derived class on the right goes first", X)
def derived_first(x):
    return Parent() + Child(), Child() + Parent(), Parent() + Heir(), x + 1


class Identity:
    pass


@construct("default equality is identity", X)
def default_equality(x):
    a, b = Identity(), Identity()
    return a == a, a == b, a != b, a == 1, x + 1


class Grid:
    def __init__(self, values):
        self.values = values

    def __getitem__(self, key):
        if isinstance(key, tuple):
            i, j = key
            return self.values[i, j]
        return self.values[key]

    def __setitem__(self, key, value):
        self.values[key] = value


@construct("tuple and slice keys", np.arange(12.0).reshape(3, 4))
def keys(m):
    g = Grid(m)
    g[0] = m[1] * 2
    return g[1, 2], g[1:, :2], g[0]


@construct("operators of an object from outside", Vec(X), Y)
def outside(a, y):
    a += 1
    b = y + a
    a[0] = 5.0
    return b.data, a.data
