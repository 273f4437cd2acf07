"""Functions, closures and calls."""

import functools

import numpy as np

from constructs import X, Y, construct


@construct("lambda", X)
def lambdas(x):
    f = lambda v, k=2: v * k  # noqa: E731
    return f(x) + f(x, 3) + (lambda: x)()


@construct("closure over a local", X)
def closure(x):
    scale = 3.0

    def inner(v):
        return v * scale + x

    return inner(x)


@construct("nonlocal", X)
def with_nonlocal(x):
    count = 0

    def add(v):
        nonlocal count, x
        count += 1
        x = x + v

    add(1)
    add(2)
    return x, count


@construct("a cell shared by two closures", X)
def shared_cell(x):
    value = x

    def put(v):
        nonlocal value
        value = v

    def get():
        return value

    put(x + 1)
    put(get() * 2)
    return get(), value


def _accumulator():
    total = 0.0

    def add(x):
        nonlocal total
        total = total + x.sum()
        return x * 2

    def get():
        return total

    return add, get


ADD, GET = _accumulator()


@construct("closures from outside that share a cell", X)
def outside_cells(x):
    y = ADD(x)
    return y, ADD(y)


@construct("closure returned", X, Y)
def returned(x, y):
    z = x + 1

    def inner(v):
        return v + z

    return inner, inner(y)


@construct("closures that share a cell, returned", X)
def returned_shared(x):
    n = 0

    def up():
        nonlocal n
        n += 1
        return n

    def get():
        return n

    up()
    return up, get, x + n


@construct("closure over itself, returned", X)
def recursive_closure(x):
    def fact(n):
        return 1 if n < 2 else n * fact(n - 1)

    return x * fact(5), fact


@construct("recursion", X)
def recursion(x):
    return power(x, 5)


def power(x, n):
    return x if n == 1 else x * power(x, n - 1)


@construct("mutual recursion", X)
def mutual(x):
    return even(x, 4)


def even(x, n):
    return x if n == 0 else odd(x + 1, n - 1)


def odd(x, n):
    return -x if n == 0 else even(x * 2, n - 1)


def all_kinds(a, b=2, /, c=3, *rest, d, e=5, **more):
    return a + b + c + sum(rest) + d + e + sum(more.values())


@construct("every kind of parameter", X)
def parameters(x):
    return (
        all_kinds(x, d=1),
        all_kinds(x, 1, 2, 3, 4, d=1, f=2, g=3),
        all_kinds(x, c=9, d=1, e=0),
        all_kinds(x, 1, d=2, a=3, b=4),
    )


@construct("star arguments", X)
def star_arguments(x):
    args, more = [1, 2], {"d": 4, "z": 1}
    return all_kinds(x, *args, *(5, 6), **more), all_kinds(*[x, 1], **{"d": 0}, e=2)


def bare_star(x, *, scale=1.0, shift=0.0):
    return x * scale + shift


@construct("keyword-only parameters", X)
def keyword_only(x):
    return bare_star(x, shift=1.0) + bare_star(x, scale=2.0)


@construct("mutable default", X)
def mutable_default(x):
    def collect(v, into=[]):  # noqa: B006
        into.append(v)
        return into

    collect(x)
    return collect(x + 1)


def scaled(by):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return by * function(*args, **kwargs)

        return wrapper

    return decorate


@scaled(2.0)
def decorated_shift(x, by=1.0):
    """Adds."""
    return x + by


@construct("decorated function from outside", X)
def decorated(x):
    return decorated_shift(x, by=3.0), decorated_shift.__name__


@construct("decorator applied inside", X)
def decorator_inside(x):
    def twice(function):
        def wrapper(v):
            return function(function(v))

        return wrapper

    @twice
    def shift(v):
        return v + 1

    return shift(x)


@construct("function attributes", X)
def attributes(x):
    def f(v):
        return v + f.by

    f.by = 2.0
    f.calls = 0
    f.calls += 1
    return f(x), f.calls, f.__name__, hasattr(f, "other"), f


def counted(x):
    counted.calls += 1
    return x * counted.calls


counted.calls = 0


@construct("attribute of a global function, counted", X)
def counted_calls(x):
    before = counted.calls
    counted(x)
    return x + (counted.calls - before)


@construct("functions in a dict", X)
def dispatch(x):
    table = {"sin": np.sin, "double": lambda v: v * 2, "power": power}
    return table["sin"](x) + table["double"](x) + table["power"](x, 2)


@construct("functions composed", X)
def compose(x):
    def chain(*functions):
        def run(v):
            for function in functions:
                v = function(v)
            return v

        return run

    return chain(np.tanh, lambda v: v + 1, np.exp)(x)


@construct("unbound methods of C types", X)
def c_methods(x):
    items = []
    list.append(items, x + 1)
    return items, str.upper("abc"), dict.get({"a": 1}, "b", 2), int.__add__(2, 3)


@construct("map with a method", X)
def map_method(x):
    return [v * 2 for v in map(x.__class__.sum, [x, x + 1])], list(map(str.upper, "ab"))


@construct("default evaluated where the function is made", X)
def late_binding(x):
    functions = [lambda v, i=i: v * i for i in range(3)]
    late = [lambda v: v * i for i in range(3)]
    return [f(x) for f in functions], [f(x) for f in late]


@construct("star-unpacked call of a class", X, Y)
def star_class(x, y):
    parts = (x, y)
    return Pair(*parts).total(), Pair(**{"a": x, "b": x}).total()


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def total(self):
        return self.a + self.b


@construct("a variable deleted from a closure", X)
def deleted_cell(x):
    y = x + 1

    def f():
        return y * 2  # noqa: F821

    z = f()
    del y
    return z


@construct("callback passed down", X)
def callback(x):
    log = []

    def solve(f, v, done=None):
        for i in range(3):
            v = f(v)
            if done is not None:
                done(i, v)
        return v

    solve(lambda v: v * 0.5, x, done=lambda i, v: log.append((i, v)))
    return log


@construct("functools.partial with positional and keyword arguments", X)
def partial_inside(x):
    scaled = functools.partial(np.multiply, x)
    shifted = functools.partial(lambda a, b, c=1: a * b + c, x, c=3)
    return scaled(2.0) + shifted(0.5) + shifted(0.5, c=x)


@construct("functools.partial of a partial, and its parts", X)
def partial_of_partial(x):
    def power(base, exponent, scale):
        return base**exponent * scale

    square = functools.partial(power, exponent=2)
    both = functools.partial(square, x, scale=3.0)
    return both(), both.func is power, len(both.args), both.keywords["scale"]


@construct("functools.partial that is returned", X)
def partial_returned(x):
    return functools.partial(np.add, x * 2), functools.partial(np.sum, x, axis=None)


_halved = functools.partial(np.multiply, 0.5)


def _affine(x, slope, shift):
    return x * slope + shift


_line = functools.partial(_affine, slope=2.0, shift=1.0)


@construct("functools.partial made outside", X)
def partial_outside(x):
    return _halved(x) + _line(x) + _line(x, shift=3.0)


@construct("functools.partial as an argument", functools.partial(_affine, shift=-1.0), X)
def partial_argument(function, x):
    return function(x, 3.0), function(x, slope=x)


@construct("map over a partial", X)
def partial_mapped(x):
    return list(map(functools.partial(_affine, x, shift=0.0), [1.0, 2.0]))


@construct("decorator with functools.wraps applied inside", X)
def wraps_inside(x):
    def twice(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs) * 2

        return inner

    @twice
    def shifted(x):
        """adds one"""
        return x + 1

    return shifted(x), shifted.__name__, shifted.__doc__, shifted.__wrapped__(x)
