"""Arrays that a plan holds: made when a step needs them, let go behind the last that does."""

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _steps

LARGE = 1 << 16  # elements: 512 KiB of float64
X = np.random.default_rng(3).standard_normal(LARGE)
ORDER = np.random.default_rng(4).permutation(LARGE)


@pytest.fixture
def looking(monkeypatch):
    """Steps `array[order]` that call what is appended to the list with their array and result."""
    lookers = []
    plain = _steps.take

    def take(template, array, *indices):
        result = plain(template, array, *indices)
        for look in lookers:
            look(array, result)
        return result

    monkeypatch.setattr(_steps, "take", take)
    return lookers


def chain(x, order):
    for _ in range(5):
        x = x[order] * 2.0 + 1.0
    return x


def compiled_chain():
    compiled = pycompile.compile(chain)
    assert compiled(X, ORDER).tobytes() == chain(X, ORDER).tobytes()
    return compiled


def test_a_later_step_finds_what_earlier_ones_gave_and_took_dead(looking):
    compiled = compiled_chain()
    results, arguments, alive = [], [], []

    def look(array, result):
        alive.append(sum(seen() is not None for seen in results + arguments))
        results.append(weakref.ref(result))
        if array is not X:
            arguments.append(weakref.ref(array))

    looking.append(look)
    compiled(X, ORDER)
    assert alive == [0] * 5
    assert not any(seen() is not None for seen in results + arguments)


def test_what_tells_of_its_end_lives_until_the_plan_ends(looking):
    compiled = compiled_chain()
    events = []

    def look(array, result):
        events.append("step")
        kept.append(weakref.ref(result, lambda _: events.append("end")))

    kept = []
    looking.append(look)
    compiled(X, ORDER)
    assert events == ["step"] * 5 + ["end"] * 5


def test_an_array_over_memory_of_the_programs_lives_until_the_plan_ends(monkeypatch):
    """Its owner has a destructor of the program's."""
    events = []

    class Owner:
        def __init__(self, array):
            self.memory = array
            self.__array_interface__ = array.__array_interface__

        def __del__(self):
            events.append("end")

    def take(template, array, *indices):
        events.append("step")
        return np.asarray(Owner(array[indices[0]]))

    monkeypatch.setattr(_steps, "take", take)
    compiled = compiled_chain()
    events.clear()
    compiled(X, ORDER)
    assert events == ["step"] * 5 + ["end"] * 5


def test_a_deopt_lets_all_go(looking):
    compiled = compiled_chain()
    seen = []

    def look(array, result):
        seen.append(weakref.ref(result))
        if len(seen) == 3:
            raise ValueError("CPython does it again")

    looking.append(look)
    assert compiled(X, ORDER).tobytes() == chain(X, ORDER).tobytes()
    assert len(seen) == 3 and not any(one() is not None for one in seen)


def test_arrays_that_a_step_makes_and_resizes(looking):
    """Small and large ones, whose memory is the pool's while the step runs."""
    compiled = compiled_chain()

    def look(array, result):
        grown = np.fromiter(range(1 << 17), dtype=np.int64)  # NumPy resizes as it goes
        assert (grown == np.arange(1 << 17)).all()
        for elements in (0, 3, 500, 4096, 1 << 17, 1 << 18, 700, 1):
            before = grown.copy()
            grown.resize(elements, refcheck=False)
            same = min(elements, before.size)
            assert (grown[:same] == before[:same]).all() and not grown[same:].any()
        kept.append((grown, np.zeros(1 << 17), np.ones(5)))

    kept = []
    looking.append(look)
    compiled(X, ORDER)
    assert len(kept) == 5
    for grown, zeros, ones in kept:
        assert grown.size == 1 and not zeros.any() and (ones == 1).all()


def test_nested_lists_of_arrays_leave_no_cycle():
    parts = [np.ones(3) for _ in range(4)]
    seen = [weakref.ref(part) for part in parts]
    gc.disable()
    try:
        made = _steps.build([[_steps.HOLE, _steps.HOLE]] * 2, None, *parts)
        del parts[:]
        assert not any(one() is not None for one in seen)
    finally:
        gc.enable()
    assert made.shape == (2, 2, 3)


def spectral(u, k):
    for _ in range(6):
        v = np.fft.fft(u) * np.exp(-k * 0.01)
        u = np.fft.ifft(v).real
        u = u + 0.01 * (u - u**3)
    return u


def parts(u, k):
    return np.array([u * i for i in range(8)])


def products(a, b):
    for _ in range(6):
        a = np.tanh(a @ b) + 1
    return a


def peak(function, *args):
    gc.collect()
    tracemalloc.start()
    try:
        function(*args)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = function(*args)
        most = tracemalloc.get_traced_memory()[1] - before
        del result
        return most
    finally:
        tracemalloc.stop()


SQUARE = X.reshape(256, 256) / 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "args"),
    [(spectral, (X, X * X)), (parts, (X, X)), (products, (SQUARE, SQUARE + 1))],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_peak_of_memory_is_no_higher_than_plain_pythons(function, args):
    compiled = pycompile.compile(function)
    assert compiled(*args).tobytes() == function(*args).tobytes()
    # 2 * 8 bytes: one complex array more, for what a kernel reads and writes at once
    assert peak(compiled, *args) <= peak(function, *args) + LARGE * 16


# ---- what must stay ----


def views_leave(x, y):
    z = np.sort(x * 2)
    w = z[::-1]
    v = np.sort(z[5:] + y[5:])
    return w, v[::2], v.sum()


def results_are_arguments(x, y):
    a = np.sort(x)
    b = np.cumsum(a)
    c = np.sort(b - a)
    return np.interp(y, a, c) + b


def one_of_two(x, y):
    if x[0] > 0:
        z = np.sort(x + y)
        w = np.cumsum(z) * 2
    else:
        w = np.cumsum(np.sort(x - y)) + 1
    return w * y, np.sort(w)


def splits(x, y):
    a, b = np.divmod(np.sort(x + 3), y)
    p, q = np.array_split(np.sort(a * b), 2)
    return p[1:] + 1, np.sort(q * 2), np.frexp(b * 1.5)


def written_results(x, y):
    z = np.sort(x + 1)
    w = z[3:9]
    z[4] = 7
    u = np.sort(z)
    u[:2] += w[:2]
    return u, w * 2, np.sort(u + y)


def same_twice(x, y):
    z = x * 2 + y
    return np.where(np.sort(z) > 0, z, 0), np.interp(z, np.sort(z), z), np.array([z, z])


def masks(x, y):
    z = x[x > 0]
    w = np.sort(z * 2)
    v = w[w > 1]
    return v + 1, v.size, np.cumsum(v)[-1], w[1:]


def commits(x, y):
    z = np.sort(x + y)
    x[:] = np.cumsum(z) - z
    y[1:] = x[:-1]
    return z


PROGRAMS = [
    views_leave,
    results_are_arguments,
    one_of_two,
    splits,
    written_results,
    same_twice,
    masks,
    commits,
]


@pytest.mark.parametrize("elements", [64, LARGE])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(function, elements):
    x, y = X[:elements] * 1.0, X[:elements] + 2.5
    check(function, x, y, also=((-x, y), (x[::-1].copy(), y * 2)))


def test_references_of_arguments_stay_what_they_were():
    compiled = pycompile.compile(results_are_arguments)
    x, y = X.copy(), X + 1
    compiled(x, y)
    before = sys.getrefcount(x), sys.getrefcount(y)
    for _ in range(3):
        compiled(x, y)
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before
