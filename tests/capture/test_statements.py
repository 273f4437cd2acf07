"""Statements and values as the symbolic interpreter follows them: compiled against plain.

Each case is a function and what makes its arguments, called with r = 0, 1, 2: shapes, values and kinds
that change between calls make plans be guarded, chosen and made again.
"""

import numpy as np
import pytest
from differential import check

CASES = []


def case(make, whole=True, breaks=None):
    """Registers a function; `make(r)` gives its arguments."""

    def register(function):
        CASES.append(pytest.param(function, make, whole, breaks, id=function.__name__))
        return function

    return register


def vector(r):
    return (np.arange(6.0) + r,)


def two_vectors(r):
    return np.arange(6.0) + r, np.linspace(0, 1, 6) * (r + 1)


# ---- operators, containers, unpacking ----


@case(two_vectors)
def operators(x, y):
    return x * 2 + y, -x, x**2 / (y + 1), x < y


@case(lambda r: (np.arange(6.0), 2 + r))
def containers(x, a):
    pair = [x, a]
    table = {"a": x + a, "b": (x, 1.5)}
    return table, pair, len(table), "a" in table, pair[0]


@case(vector)
def aliasing(x):
    a = [x]
    b = a
    b.append(x + 1)
    return a, b, a is b, a[0] is x


@case(two_vectors)
def unpacking(x, y):
    a, *b = [x, y, x + y]
    (c, d), e = (a, b), 3
    x, y = y, x
    return a, b, c, e, x, y


@case(lambda r: ((np.arange(6.0), [np.ones(6), 2 + r]),))
def nested_arguments(t):
    a, (b, c) = t
    return a * b + c


@case(lambda r: (np.arange(6.0), 5 + r))
def python_ints(x, n):
    return n**2, n // 2, n % 3, -n, n / 2, n << 1, n & 3, x * n**2, 2.0**n, n * 1.5


@case(vector)
def logic(x):
    return (
        (x.shape and x.ndim) or 3,
        not x.ndim,
        x.ndim in (1, 2),
        x is x,
        x is None,
        0 < x.ndim < 3,
        x + 1,
    )


@case(lambda r: (np.arange(6.0), 0.5 + r))
def formatted(x, a):
    return f"{a:.2f} {x.ndim} {a!r}", x + a


@case(two_vectors)
def slices_of_lists(x, y):
    items = [x, y, 1, 2]
    return items[::2], items[-1], (x, y) + (3,), [1] * 3, x * len(items)


# ---- control flow ----


@case(lambda r: (np.arange(6.0), 3 + r))
def unrolled(x, n):
    for i in range(n):
        x = x * 1.1 + i
    return x


@case(vector)
def iterators(x):
    out = []
    for i, (a, b) in enumerate(zip([1, 2, 3], (4.0, 5.0, 6.0), strict=True)):
        out.append(x * a + b * i)
    for k, v in {"p": 1, "q": 2}.items():
        out.append((k, x * v))
    for row in reversed(out[:2]):
        x = x + row
    return out, x


@case(vector)
def while_loop(x):
    i = 0
    while i < 3:
        x = x + i
        i += 1
        if i == 2:
            continue
        x = x * 2
    else:
        x = x - 1
    return x


@case(vector)
def comprehensions(x):
    return [x * i for i in range(4)], {k: x + i for i, k in enumerate("abc") if k != "b"}


@case(lambda r: (np.arange(6.0), "sum" if r < 2 else "max"))
def mode(x, how):
    if how == "sum":
        return x.sum()
    return getattr(x, how)()


@case(lambda r: (np.arange(6.0), None if r < 1 else np.ones(6)))
def optional(x, b=None):
    y = x * 2
    if b is not None:
        y = y + b
    return y


@case(lambda r: (np.arange(6.0) - 10 * r,), whole=False)
def branch_on_array(x):
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y - 1


@case(vector, whole=False)
def loop_on_array(x):
    while x.sum() < 100:
        x = x * 2
    return x


@case(vector, whole=False)
def print_inside_loop(x):
    for i in range(4):
        x = x * 1.5
        print(i)
        x = x + i
    return x


@case(vector, whole=False)
def handler(x):
    try:
        y = x + 1
        return y[100]
    except IndexError as error:
        return str(error), x * 2


@case(vector, whole=False)
def with_block(x):
    with np.errstate(divide="ignore"):
        y = 1 / x
    return y + 1


# ---- functions ----


def helper(x, k=3, *, scale=2.0):
    return x * k + scale


@case(vector)
def inlined(x):
    return np.sum(helper(helper(x, scale=1.0)))


@case(two_vectors)
def star_arguments(x, y):
    def f(*a, **k):
        return a[0] * k["s"] + len(a)

    return f(x, y, s=2), f(*[x, y], s=3)


@case(vector)
def closures(x):
    count = 0

    def inner(y):
        nonlocal count
        count += 1
        return y * count

    return inner(x), inner(x), count, [inner(x) for _ in range(2)]


@case(vector)
def lambdas(x):
    return [f(x) for f in [lambda y, i=i: y * i for i in range(3)]]


@case(vector)
def recursion(x):
    def f(n, x):
        return x if n == 0 else f(n - 1, x * 2)

    return f(3, x)


def prints(x):
    print(x.shape)
    return x + 1


@case(vector, whole=False)
def break_in_a_callee(x):
    return prints(x * 2) * 3


# ---- effects ----


class Model:
    rate = 3

    def __init__(self, weights):
        self.weights = weights
        self.steps = 0

    def step(self, gradient):
        self.weights = self.weights - gradient * self.rate
        self.steps += 1
        return self

    @property
    def norm(self):
        return np.sqrt((self.weights * self.weights).sum())

    def __call__(self, x):
        return x * self.weights


@case(lambda r: (Model(np.arange(6.0) + r), np.ones(6)))
def instance_outside(model, gradient):
    model.step(gradient)
    model.step(gradient * 2)
    return model.norm, model(gradient)


@case(vector)
def instance_inside(x):
    model = Model(x)
    model.step(1.0)
    return model


@case(lambda r: (np.arange(6.0), [1.0, 2.0] + [3] * r))
def list_outside(x, items):
    items.append(x.sum())
    items[0] = x
    items.insert(1, 3)
    last = items.pop()
    items += [x]
    return last, len(items)


@case(lambda r: (np.arange(6.0), {"a": 1 + r}))
def dict_outside(x, table):
    table["b"] = x * 2
    table["a"] += 1
    del table["a"]
    table.update(c=3)
    return table.get("z", 5), list(table.keys())


counter = 10


@case(vector)
def global_store(x):
    global counter
    counter = 5
    counter = counter + 1
    return x + counter


@case(two_vectors)
def written_in_place(x, y):
    x[1:] = y[:-1]
    x += 1
    return x.sum()


@case(two_vectors)
def views_of_what_is_written(x, y):
    v = x[1:4]
    v[0] = 99
    w = x[::-1]
    x[2] = -1
    return v, w, x.T


@case(vector)
def written_fresh(x):
    y = np.zeros(6)
    z = y
    z[2:] = x[2:]
    y[0] = 7
    return y, z, y is z


# ---- loops kept as loops ----


@case(lambda r: (np.arange(5.0 + r), np.zeros(5 + r), 0.5, 5 + r))
def recurrence(x, y, a, n):
    for i in range(1, n):
        y[i] = a * y[i - 1] + x[i]
    return y


@case(lambda r: (np.arange(5.0 + r), 5 + r))
def running_sum(x, n):
    total = 0.0
    for i in range(n):
        total += x[i] * 2
    return total


@case(lambda r: (np.arange(5.0 + r),))
def left_over(x):
    total = 0
    first = x[0]
    for i in range(len(x)):
        d = x[i] - first
        total = total + d * d
    return total, i, d


@case(lambda r: (np.arange(5.0), 0), whole=False)
def no_iterations(x, n):
    total = 1.5
    for i in range(n):
        total = total + x[i]
    return total, x + 1


@case(lambda r: (np.arange(5), [1.5, 2.5, 3.5]))
def not_a_loop(x, w):
    y = np.zeros(5)
    for i in range(3):
        y = y + w[i] * x
    return y


@pytest.mark.parametrize("function, make, whole, breaks", CASES)
def test_case(function, make, whole, breaks):
    check(function, *make(0), whole=whole, breaks=breaks, also=(make(1), make(2)))


def test_index_out_of_range_in_a_loop():
    def double(x, n):
        for i in range(n):
            x[i] = x[i] * 2
        return x

    check(double, np.arange(5.0), 5, also=((np.arange(5.0), 7),))


def test_many_arrays_written_in_place():
    def step(arrays, steps):
        for a, s in zip(arrays, steps, strict=True):
            a -= s * 0.5
        return arrays[0]

    def make(shared):
        whole = np.arange(40.0)
        arrays = [whole[4 * i : 4 * i + 4] for i in range(10)]
        if shared:
            arrays[3] = whole[10:14]
        return arrays, [np.ones(4) * i for i in range(10)]

    check(step, *make(False), whole=True, also=(make(False), make(True)))
