"""Inputs that are written without a copy: checked first, then computed into their memory.  What is
seen is what NumPy does, also where the check finds what NumPy tells of, or a later write fails."""

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C


def scale_by_squares(params, grads, squares, rate):
    """Two of the written arrays in one loop, of which one reads what was written into the other."""
    for p, g, v in zip(params, grads, squares):
        v *= 0.9
        v += 0.1 * g * g
        p -= rate * g / np.sqrt(v)


def descend(params, grads, rate):
    for p, g in zip(params, grads):
        p -= rate * g


def lists(count, shape, dtype, n, seed=1):
    random = np.random.default_rng(seed)
    made = [[random.standard_normal(shape).astype(dtype) for _ in range(count)] for _ in range(n)]
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("count", "shape"), [(1, (40000,)), (7, (300, 100)), (40, (70, 50)), (3, (5,))]
)
def test_optimisers(count, shape, dtype):
    p, g, v = lists(count, shape, dtype, 3)
    check(scale_by_squares, p, g, [abs(x) for x in v], 1e-3, calls=3)
    check(descend, p, g, 1e-3, calls=3)


def test_events_that_numpy_tells():
    """The last array overflows: the check finds it, and NumPy warns where it stands."""
    p, g = lists(40, (50, 50), np.float64, 2)
    g[-1][-1, -1], p[-1][-1, -1] = -1.7e308, 1.7e308
    check(descend, p, g, 1.0)
    g[3][0, 0] = np.inf
    p[3][0, 0] = np.inf
    check(descend, p, g, 1.0)


def raising(params, grads, rate):
    with np.errstate(all="raise"):
        for p, g in zip(params, grads):
            p -= rate * g


def ignoring(params, grads, rate):
    with np.errstate(all="ignore"):
        for p, g in zip(params, grads):
            p -= rate * g


def test_error_states():
    p, g = lists(12, (100, 60), np.float64, 2)
    for function in (raising, ignoring):
        check(function, p, g, 0.5)
    g[7][50, 3] = -1.7e308
    p[7][50, 3] = 1.7e308
    for function in (raising, ignoring):
        check(function, p, g, 1.0)


def exchange(x, y):
    x[:], y[:] = y * 1.0, x * 1.0


def exchange_plain(x, y):
    x[:], y[:] = y.copy(), x.copy()


def rotate(x, y, z):
    a, b, c = x + 1, y + 2, z + 3
    x[...] = b
    y[...] = c
    z[...] = a


def crossed(x, y):
    """Each is written, and read by the other's kernel, in another order of elements."""
    a = x[::-1] + 1.0
    b = y[::-1] * 2.0
    y[:] = a
    x[:] = b


def one_reads_other(x, y, z):
    x += 1.0
    y *= 2.0
    z[:] = (x[1:] - x[:-1])[: z.size] + y[0]


def first_element(x, y):
    y -= x[0]
    x -= y[1]


def first_of_itself(x):
    x -= x[0]
    x *= x[1]


def shifted(x):
    x[1:] = x[:-1] * 0.5 + 1


def jacobi(u):
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def transposed(x):
    x += x.T


def twice(x):
    x += 1.0
    y = x * 2.0
    x *= y
    return y


def returns(x, y):
    old = x * 1.0
    x += y
    return old, x, x[1:], x.sum()


def normalise(x, y):
    x -= x.mean()
    y /= np.sqrt((y * y).sum())


def sliced(x, y):
    x[10:-10] *= y[10:-10]
    y[::2] += 1.0


def copied(x, y):
    x[:] = y
    y[:] = 0.0


def sorted_first(x, y):
    s = np.sort(x)
    x += 1.0
    y[:] = s + x


def scalar_power(x, n):
    x *= 0.5**n
    x += n


PROGRAMS = [
    exchange,
    exchange_plain,
    crossed,
    first_element,
    returns,
    normalise,
    sliced,
    copied,
    sorted_first,
]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("size", [40, 3000, 70000])
def test_programs(size, dtype):
    random = np.random.default_rng(2)
    make = lambda: (random.standard_normal(size) + 3).astype(dtype)
    x, y, z = make(), make(), make()
    for function in PROGRAMS:
        check(function, x, y)
        if dtype != np.complex128:
            check(function, x[::-1], y)
    check(rotate, x, y, z)
    check(one_reads_other, x, y, z[: size - 1])
    for function in (first_of_itself, shifted, twice):
        check(function, x)
    check(scalar_power, x, 3)


@pytest.mark.parametrize("size", [7, 300])
def test_matrices(size):
    random = np.random.default_rng(3)
    x = random.standard_normal((size, size))
    for array in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
        check(jacobi, array)
        check(transposed, array)
        check(twice, array)
    check(exchange, x, x.T.copy())
    check(exchange, x, np.asfortranarray(x))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_integers(dtype):
    """No events: nothing to check first."""
    x = np.arange(100000).astype(dtype)

    def step(x, y):
        x += y
        y ^= x

    check(step, x, x[::-1].copy())


def test_one_array_twice():
    p, g = lists(2, (100, 300), np.float64, 2)
    check(descend, [p[0], p[1], p[0]], [g[0], g[1], g[0]], 0.1)
    check(descend, [p[0], g[0]], [g[0], p[0]], 0.1)
    base = p[0].ravel()
    check(descend, [base[:20000], base[10000:]], [base[10000:], base[:20000]], 0.1)


class Model:
    def __init__(self, weights):
        self.weights, self.steps = weights, 0

    def step(self, grads):
        self.steps += 1
        for w, g in zip(self.weights, grads):
            w -= 0.1 * g
        self.last = grads


def step_model(weights, grads):
    model = Model(weights)
    model.step(grads)
    return model.steps, model.last[0].sum()


def talks(x, y):
    x += 1.0
    print("between", x.size)
    y += 1.0
    print("behind")


def fails_behind(x, y):
    x += 1.0
    y -= x
    {}["missing"]


def under_a_condition(x, y):
    if x.sum() > 0:
        y += 1.0
    x *= 2.0


def test_what_happens_between_writes():
    p, g = lists(6, (90, 100), np.float64, 2)
    check(step_model, p, g)
    check(talks, p[0], g[0])
    check(fails_behind, p[1], g[1])
    for array in (p[0], -np.abs(p[0]), np.abs(p[0])):
        check(under_a_condition, array, g[0])


def schedule_of(function, *args):
    """The text of the schedule of a function that has no plan yet."""
    _C.report_begin()
    pycompile.compile(function)(*args)
    return next(record["schedule"] for record in _C.report_end() if "schedule" in record)


def test_values_rest_nowhere():
    """The plan's own memory has no room for them; where it must, they are copied as ever."""

    def step(x, y):
        x -= 0.5 * y

    def shift(x, y):
        x[1:] = x[:-1] - 0.5 * y[1:]

    x = np.ones(200000)
    text = schedule_of(step, x, x * 1)
    assert "at commit:" in text
    assert "check" in text
    assert "arena 0 bytes" in text
    assert "at commit:" not in schedule_of(shift, x, x * 1)


def writes_what_was_read(a, x):
    c = x.copy()
    c[0] = 5.0
    a += c * 2  # reads what the next statement overwrites
    c[1:] = 7.0
    return c


def writes_what_was_read_twice(a, x):
    c = x * 3
    c[1:-1] *= 0.5
    a *= c + 1
    c[::2] += 2
    a -= c
    c[:] = 1
    return c


@pytest.mark.parametrize("function", [writes_what_was_read, writes_what_was_read_twice])
@pytest.mark.parametrize("count", [100, 100_000])
def test_memory_that_is_written_behind_the_value(function, count):
    """The value cannot be computed again at commit."""
    a, x = np.random.default_rng(3).standard_normal((2, count))
    check(function, a, x, calls=3)


def number_by_mask(a, x):
    a[3][a[3] < 0.2] = np.sqrt(x[0])


def number_of_a_number(a, x):
    a *= np.sqrt(np.sqrt(x[0]) - 1)


def number_under_errstate(a, x):
    with np.errstate(invalid="ignore"):
        a[1:] = np.where(a[1:] > 0, np.sqrt(x[0]), a[1:])


@pytest.mark.parametrize("function", [number_by_mask, number_of_a_number, number_under_errstate])
def test_numbers_that_warn_do_so(function):
    """A number that kernels compute where they need it may be all that they report."""
    a, x = np.linspace(-1.0, 1.0, 16).reshape(4, 4), np.full(3, -2.0)
    check(
        function, a, x, also=((a, -x),), captured=False, options={"options": {"plan_always": True}}
    )
