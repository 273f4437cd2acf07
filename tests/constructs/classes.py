"""Classes and instances."""

import abc
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from constructs import M, X, Y, construct

T = TypeVar("T")


class Point:
    dimensions = 2

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def norm(self):
        return np.sqrt(self.x * self.x + self.y * self.y)

    def __repr__(self):
        return f"Point({self.x.shape}, {self.y.shape})"


@construct("instance made, used and returned", X, Y)
def made(x, y):
    p = Point(x + 1, y)
    return p.norm(), p


@construct("instance in a list, twice", X)
def twice(x):
    p = Point(x, x * 2)
    return [p, p], {"p": p}


@construct("cycle of instances", X)
def cycle(x):
    p = Point(x + 1, None)
    q = Point(p, x)
    p.y = q
    return p


@construct("class attribute through the class and an instance", X)
def class_attribute(x):
    p = Point(x, x)
    return x * Point.dimensions + p.dimensions


@construct("attribute shadowing a class attribute", X)
def shadow(x):
    p = Point(x, x)
    p.dimensions = 5
    return x * p.dimensions + Point.dimensions, p


@construct("attribute deleted", X)
def deleted(x):
    p = Point(x + 1, x)
    del p.y
    return p, hasattr(p, "y")


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@construct("slots", X)
def slots(x):
    s = Slotted(x + 1)
    s.b = s.a * 2
    return s.a + s.b


@construct("slot that is not set", X)
def slot_unset(x):
    s = Slotted(x + 1)
    if hasattr(s, "b"):
        return x
    return s.a * 2


class Mixed(Slotted):
    def __init__(self, a):
        super().__init__(a)
        self.extra = a * 2


@construct("slots and a dict", X)
def slots_and_dict(x):
    m = Mixed(x + 1)
    return m.a + m.extra, sorted(vars(m)), m


class Once:
    made: Any = None

    def __new__(cls, value):
        self = super().__new__(cls)
        self.made_by = cls.__name__
        return self

    def __init__(self, value):
        self.value = value


@construct("__new__ in Python", X)
def new_in_python(x):
    o = Once(x * 2)
    return o.value + 1, o.made_by, o


class Other:
    def __new__(cls, value):
        return value * 3


@construct("__new__ that gives another object", X)
def new_gives_another(x):
    return Other(x) + 1


class Affine:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, x, *, times=1):
        for _ in range(times):
            x = self.a * x + self.b
        return x


AFFINE = Affine(2.0, 1.0)


@construct("callable instance made here", X)
def callable_here(x):
    f = Affine(2, 1)
    return f(x), f(x, times=2), callable(f)


@construct("callable instance from outside", X)
def callable_outside(x):
    return AFFINE(x, times=3)


class Base:
    def scale(self):
        return 2.0

    def apply(self, x):
        return x * self.scale()

    @classmethod
    def make(cls, *args):
        return cls(*args)

    @staticmethod
    def half(x):
        return x / 2


class Derived(Base):
    def __init__(self, by=3.0):
        self.by = by

    def scale(self):
        return super().scale() + self.by

    @classmethod
    def make(cls, *args):
        return super().make(*args)


class Left(Base):
    def scale(self):
        return super().scale() * 10


class Right(Base):
    def scale(self):
        return super(Right, self).scale() + 1


class Diamond(Left, Right):
    def scale(self):
        return super().scale() + 0.5


@construct("inheritance and super()", X)
def inheritance(x):
    return Derived().apply(x), Derived(1.0).apply(x)


@construct("super() along a diamond", X)
def diamond(x):
    return Diamond().apply(x)


@construct("classmethod and staticmethod", X)
def class_and_static(x):
    d = Derived.make(4.0)
    return d.apply(x), Base.half(x), d.half(x), type(d) is Derived


class Temperature:
    def __init__(self, degrees):
        self._degrees = degrees

    @property
    def degrees(self):
        return self._degrees

    @degrees.setter
    def degrees(self, value):
        self._degrees = value + 1

    @degrees.deleter
    def degrees(self):
        self._degrees = None


@construct("property read and set", X)
def property_set(x):
    t = Temperature(x)
    t.degrees = x * 2
    return t.degrees, t


@construct("property augmented", X)
def property_augmented(x):
    t = Temperature(x)
    t.degrees += 2
    return t.degrees


@construct("property deleted", X)
def property_deleted(x):
    t = Temperature(x)
    del t.degrees
    return x + 1, t.degrees


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        if instance is None:
            return self
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, np.abs(value))


class Lazy:
    def __init__(self, function):
        self.function = function
        self.name = function.__name__

    def __get__(self, instance, owner):
        if instance is None:
            return self
        value = self.function(instance)
        instance.__dict__[self.name] = value
        return value


class Described:
    size = Positive()

    def __init__(self, size):
        self.size = size

    @Lazy
    def double(self):
        return self.size * 2


@construct("data descriptor", X)
def data_descriptor(x):
    d = Described(x)
    return d.size, d


@construct("non-data descriptor that caches", X)
def lazy_descriptor(x):
    d = Described(x)
    first = d.double
    return first + 1, d.double is first, sorted(vars(d))


class Dynamic:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        if name.startswith("times"):
            return self.x * int(name[5:])
        raise AttributeError(name)


@construct("__getattr__", X)
def getattr_fallback(x):
    d = Dynamic(x)
    return d.times3 + d.x


@construct("__getattr__ that raises, under hasattr and getattr", X)
def getattr_raises(x):
    d = Dynamic(x)
    return hasattr(d, "other"), getattr(d, "other", 1.0) * x, hasattr(d, "times2")


class Recorded:
    def __init__(self):
        object.__setattr__(self, "names", [])

    def __setattr__(self, name, value):
        self.names.append(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self.names.append("-" + name)
        object.__delattr__(self, name)


@construct("__setattr__ and __delattr__", X)
def setattr_hook(x):
    r = Recorded()
    r.a = x + 1
    r.b = 2
    del r.b
    return r.names, r


class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.by_meta = True
        return made

    def describe(cls):
        return cls.__name__

    @property
    def width(cls):
        return cls.columns * 2


class WithMeta(metaclass=Meta):
    columns = 3

    def __init__(self, x):
        self.x = x


@construct("metaclass with __call__, method and property", X)
def metaclass(x):
    w = WithMeta(x + 1)
    return w.x * WithMeta.width, w.by_meta, WithMeta.describe(), w


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

    @property
    @abc.abstractmethod
    def name(self): ...

    def describe(self, x):
        return x * self.area(), self.name


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2

    @property
    def name(self):
        return "square"


@construct("abstract base class", X)
def abstract(x):
    return Square(3.0).describe(x), isinstance(Square(1), Shape), issubclass(Square, Shape)


class Box(Generic[T]):
    def __init__(self, item: T):
        self.item = item

    def map(self, function):
        return Box(function(self.item))


@construct("generic class", X)
def generic(x):
    return Box(x).map(lambda v: v + 1).map(np.tanh).item


@runtime_checkable
class HasArea(Protocol):
    def area(self): ...


@construct("isinstance of a protocol", X)
def protocol(x):
    if isinstance(Square(2.0), HasArea):
        return x * Square(2.0).area()
    return x


@construct("typing.cast", X)
def typing_cast(x):
    return cast(np.ndarray, x) + 1


@construct("isinstance, type and __class__", X)
def class_tests(x):
    d = Derived()
    return (
        isinstance(d, (int, Base)),
        isinstance(d, int | Base),
        type(d) is Derived,
        d.__class__ is type(d),
        type(d).__mro__[1] is Base,
        type(d).__name__,
        issubclass(Derived, Base),
        x + 1,
    )


@construct("calling type(self)", X)
def call_own_type(x):
    class_ = type(Derived(1.0))
    return class_(5.0).apply(x)


@construct("getattr, setattr, hasattr and delattr by name", X)
def by_name(x):
    p = Point(x, x)
    for i, name in enumerate(("x", "y", "z")):
        setattr(p, name, x * i)
    delattr(p, "y")
    name = "z"
    return getattr(p, name), getattr(p, "y", None), hasattr(p, "x"), p


@construct("vars() and __dict__", X)
def instance_dict(x):
    p = Point(x + 1, x)
    vars(p)["z"] = x * 3
    p.w = 4
    return p.z, list(p.__dict__), p, vars(p)


@construct("__dict__.update with keywords", X)
def dict_update(x):
    def make(**fields):
        p = Point(0, 0)
        p.__dict__.update(fields)
        return p

    p = make(x=x, y=x + 1)
    return p.x * p.y


@construct("__class__ assigned", X)
def class_assigned(x):
    b = Left()
    b.__class__ = Right
    return b.apply(x), type(b) is Right


@construct("methods stored and called", X)
def bound_methods(x):
    d = Derived(1.0)
    methods = [d.apply, Base().apply]
    return [m(x) for m in methods], methods[0].__self__ is d


@construct("method through the class", X)
def unbound(x):
    d = Derived(1.0)
    return Base.apply(d, x), Derived.scale(d), Base.scale(d)


@construct("a fluent interface", X)
def fluent(x):
    class_ = Builder
    return class_(x).add(1).times(2).value


class Builder:
    def __init__(self, value):
        self.value = value

    def add(self, y):
        self.value = self.value + y
        return self

    def times(self, y):
        self.value = self.value * y
        return self


class Layer:
    def __init__(self, n, m):
        self.weight = np.ones(n) / n
        self.bias = np.zeros(n) + m
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return np.tanh(x * self.weight + self.bias)


class Network:
    def __init__(self, *sizes):
        self.layers = [Layer(a, b) for a, b in zip(sizes, sizes[1:])]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@construct("a network of layers from outside", Network(4, 4, 4), M)
def network(net, x):
    return net(x), [layer.calls for layer in net.layers]


@construct("attributes of an object from outside changed", Point(X, Y), X)
def outside_changed(p, x):
    p.x = p.x + x
    p.new = p.x * 2
    p.y += 1
    return p.new


@construct("attribute of an object from outside deleted and set again", Point(X, Y), X)
def outside_deleted(p, x):
    old = p.x
    del p.x
    gone = hasattr(p, "x")
    p.x = old + x
    return gone, p


@construct("vars() of an object from outside", Point(X, Y))
def outside_vars(p):
    fields = vars(p)
    fields["z"] = fields["x"] + 1
    p.w = fields["y"] * 2
    return list(fields), p.z + p.w


class Counter:
    count = 0

    def __init__(self):
        type(self).count += 1


@construct("class attribute counted up", X)
def class_counter(x):
    before = Counter.count
    Counter.count += 1
    Counter()
    return x + (Counter.count - before)


class Doubles:
    def __init__(self, x):
        self.x = x

    def __getattribute__(self, name):
        if name.startswith("double_"):
            return object.__getattribute__(self, name[7:]) * 2
        return super().__getattribute__(name)


class Default(Doubles):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name


@construct("__getattribute__, of an instance made inside", X)
def getattribute_inside(x):
    made = Doubles(x)
    return made.double_x + made.x


@construct("__getattribute__, of an instance from outside", Doubles(X))
def getattribute_outside(made):
    return made.double_x + made.x


@construct("__getattribute__ with __getattr__", Default(X))
def getattribute_fallback(made):
    return made.double_x + made.x, made.double_none, hasattr(made, "__y"), made.x + 1


@construct("__getattribute__ that raises", Doubles(X))
def getattribute_raises(made):
    try:
        made.double_y
    except AttributeError as error:
        return str(error), made.x * 2, hasattr(made, "z"), getattr(made, "z", 3)
