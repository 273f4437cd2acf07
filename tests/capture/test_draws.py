"""np.random inside plans: the same stream always, also where a plan deopts."""

import threading
import time

import numpy as np
import pytest
from differential import check

import pycompile

X = np.arange(4.0)


def rng(seed=5):
    return np.random.default_rng(seed)


def test_draws_in_order():
    def draws(g, x):
        a = g.normal(size=4)
        g.random()
        b = g.integers(0, 9, 4)
        return a * x + b, g.permutation(x) + 1

    check(draws, rng(), X, whole=True)


@pytest.mark.parametrize("make", [rng, np.random.RandomState])
def test_a_deopt_draws_once(make):
    def divides(g, x):
        a = g.normal(size=4)
        b = g.uniform(1.0, 2.0, 4)
        return a * b / x  # the first element reports a division by zero

    check(divides, make(5), X, captured=False)
    check(divides, make(5), X + 1, also=((make(6), X),), whole=True)


def test_a_deopt_of_the_draw_itself():
    def gives_other_shapes(g, x):
        a = g.standard_normal(3)
        return a + 1, g.normal(0.0, x + 1), g.poisson(x)

    check(gives_other_shapes, rng(), X, also=((rng(), X[:2]), (rng(), -X)), whole=True)


def test_two_generators_over_one_stream():
    def both(g, h, x):
        return g.random(3) + x, h.random(3) * 2, g.random(3)

    for kind in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64):
        bits = kind(4)
        g, h = np.random.Generator(bits), np.random.Generator(bits)
        other = kind(4)
        plain = both(g, h, 1.0)

        compiled = pycompile.compile(both)
        got = compiled(np.random.Generator(other), np.random.Generator(other), 1.0)
        assert all((a == b).all() for a, b in zip(plain, got))


def test_shuffle():
    def shuffles(g, x):
        y = x * 2
        g.shuffle(y)
        g.shuffle(x)
        return x + y

    check(shuffles, rng(), X, whole=True)
    check(shuffles, np.random.RandomState(1), X, whole=True)


def test_a_generator_made_inside():
    def makes(seed, x):
        g = np.random.default_rng(seed)
        legacy = np.random.RandomState(seed)
        return g.normal(size=4) + x, g, legacy.rand(4) * 2, legacy

    check(makes, 7, X, whole=True)


def test_the_module_s_own_generator():
    def seeded(x):
        np.random.seed(3)
        a = np.random.rand(4) + x
        np.random.shuffle(a)
        return a, np.random.normal(size=2), np.random.ranf(2) + 1, np.random.sample(2)

    check(seeded, X, whole=True)


def test_an_error_of_a_draw():
    def wrong(g, x):
        a = g.normal(size=4) + x
        return a, g.normal(0.0, -x)

    check(wrong, rng(), X, captured=False)


def test_a_draw_in_a_branch():
    def branches(g, x, flag):
        if flag:
            x = x + g.normal(size=4)
        if x.sum() > 3:
            return g.random(2) + 1
        return g.normal(size=2) * 2

    check(branches, rng(), X, True, also=((rng(), X, False), (rng(), -X, True)))


def test_a_bit_generator_of_its_own_kind():
    class Mine(np.random.PCG64):
        pass

    def draws(g, x):
        return g.normal(size=4) + x

    generator = np.random.Generator(Mine(3))
    other = np.random.Generator(np.random.PCG64(3))

    compiled = pycompile.compile(draws)
    for _ in range(3):
        assert (compiled(generator, X) == draws(other, X)).all()


def test_bound_methods():
    def bound(draw, x):
        return draw(4) + x, draw(4) * 2

    g, h = rng(), rng()

    compiled = pycompile.compile(bound)
    for _ in range(3):
        for a, b in zip(compiled(g.random, X), bound(h.random, X)):
            assert (a == b).all()


def test_a_state_that_is_set():
    """It is tried with an array of zeros, out of which MT19937 would draw for ever."""

    def f(x):
        made = np.random.RandomState(1234)
        state = made.get_state()
        first = made.standard_normal(size=3)
        made.set_state(state)
        again = made.standard_normal(size=3)
        return x * 2.0, first, again

    def g(x, made):
        state = made.get_state()
        first = made.standard_normal(size=3)
        made.set_state(state)
        return x * 2.0, first, made.standard_normal(size=3), made.set_state(state)

    check(f, np.arange(3.0))
    made = np.random.RandomState(7)
    state, compiled = made.get_state(), pycompile.compile(g)
    for _ in range(3):
        made.set_state(state)
        plain = g(np.arange(3.0), made)
        made.set_state(state)
        seen = compiled(np.arange(3.0), made)
        assert all(np.array_equal(a, b) for a, b in zip(plain[:3], seen[:3]))


class Meanwhile:
    """Two threads draw from one generator; the other one while a plan of this one is running."""

    def __init__(self, generator):
        self.generator, self.drawn = generator, []
        self.wanted, self.ended = threading.Event(), False

    def draw(self):
        while not self.ended:
            if self.wanted.wait(0.001):
                self.drawn.append(self.generator.random(3))
                time.sleep(0.0005)

    def __enter__(self):
        self.thread = threading.Thread(target=self.draw)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("make", [rng, np.random.RandomState])
def test_a_deopt_gives_out_no_number_twice(make):
    def divides(g, x, y):
        a = g.random(4)
        z = np.sort(x)  # without the GIL
        b = g.random(4)
        z = np.sort(z[::-1] + x)
        return a, b, (z[:4] + 1.0) / y

    x = np.random.default_rng(1).random(2_000_000)
    compiled = pycompile.compile(divides)
    compiled(make(1), x, X + 1)
    generator, found = make(5), []
    with Meanwhile(generator) as other:
        other.wanted.set()
        with np.errstate(divide="warn"), pytest.warns(RuntimeWarning):
            found += compiled(generator, x, X)[:2]
    assert compiled.stats()["deopts"] == 1 and len(other.drawn) > 1
    numbers = np.concatenate([*found, *other.drawn])
    assert len(np.unique(numbers)) == len(numbers)


@pytest.mark.parametrize("make", [rng, np.random.RandomState])
def test_another_thread_with_its_own_generator_changes_nothing(make):
    def divides(g, x):
        a = g.normal(size=4)
        b = g.uniform(1.0, 2.0, 4)
        return a * b / x

    with Meanwhile(make(7)) as other:
        other.wanted.set()
        check(divides, make(5), X, captured=False)
        check(divides, make(5), X + 1, also=((make(6), X),), whole=True)
