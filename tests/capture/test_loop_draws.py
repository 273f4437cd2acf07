"""Kept loops that draw random numbers: the same numbers, and the same state behind."""

import random
import signal
import sys
import threading

import numpy as np
import pytest

import pycompile
from pycompile import _C
from tests.differential import check

N = 40
X = np.random.default_rng(5).standard_normal(N).round(2)
BITS = [np.random.PCG64, np.random.PCG64DXSM, np.random.SFC64, np.random.MT19937]


def rng(seed=5, bits=np.random.PCG64):
    return np.random.Generator(bits(seed))


def of_generator(g, n):
    out = np.zeros((n, 9))
    for i in range(n):
        out[i, 0] = g.random()
        out[i, 1] = g.normal()
        out[i, 2] = g.integers(10)
        out[i, 3] = g.normal(1.5, 0.5)
        out[i, 4] = g.uniform(-1, 2.5)
        out[i, 5] = g.exponential(2.0)
        out[i, 6] = g.standard_normal()
        out[i, 7] = g.integers(-5, 2**40)
        out[i, 8] = g.standard_exponential()
    return out, g.random()


def of_state(g, n):
    out = np.zeros((n, 9))
    for i in range(n):
        out[i, 0] = g.random_sample()
        out[i, 1] = g.normal()
        out[i, 2] = g.randint(10)
        out[i, 3] = g.normal(1.5, 0.5)
        out[i, 4] = g.uniform(-1, 2.5)
        out[i, 5] = g.exponential(2.0)
        out[i, 6] = g.standard_normal()
        out[i, 7] = g.randint(-5, 2**40)
        out[i, 8] = g.standard_exponential()
    return out, g.random_sample(), g.rand(), g.randn()


@pytest.mark.parametrize("bits", BITS)
def test_methods_of_a_generator(bits):
    check(of_generator, rng(3, bits), N, also=((rng(4, bits), 3), (rng(4, bits), 0)), whole=True)


@pytest.mark.parametrize("bits", [None, *BITS])
def test_methods_of_a_random_state(bits):
    states = [np.random.RandomState(seed if bits is None else bits(seed)) for seed in (1, 2, 3)]
    states[2].standard_normal()  # one is left of a pair
    check(of_state, states[0], N, also=((states[1], 3), (states[2], 7), (states[2], 0)), whole=True)


def test_other_distributions():
    def draws(g, n):
        out = np.zeros((n, 9))
        for i in range(n):
            out[i, 0] = g.lognormal(0.5, 0.25)
            out[i, 1] = g.gamma(2.5)
            out[i, 2] = g.gamma(shape=0.5, scale=3.0)
            out[i, 3] = g.laplace(1)
            out[i, 4] = g.logistic(scale=0.5)
            out[i, 5] = g.gumbel()
            out[i, 6] = g.rayleigh(2.0)
            out[i, 7] = g.weibull(1.5)
            out[i, 8] = g.poisson(3.5) + g.poisson(40) + g.standard_gamma(0.7)
        return out

    check(draws, rng(), N, whole=True)


def test_classes_of_what_is_drawn():
    def draws(g, h, n):
        a = b = c = d = e = f = 0
        for _ in range(n):
            a, b, c = g.random(), g.integers(9), g.poisson(2.0)
            d, e, f = h.random_sample(), h.randint(9), h.normal()
        return a, b, c, d, e, f

    def of_numpy(g, n):
        total = np.int64(0)
        for _ in range(n):
            total += g.integers(9)
        return total

    check(draws, rng(), np.random.RandomState(1), N)
    check(of_numpy, rng(), N, whole=True)


def test_arguments_of_the_loop():
    def draws(g, x, n):
        out = np.zeros(n)
        for i in range(1, n):
            out[i] = g.normal(x[i], abs(x[i - 1])) + g.integers(i) + g.integers(low=i, high=i + 3)
            out[i] += g.uniform(x[i], x[i] + i) + g.exponential(scale=i)
        return out

    check(draws, rng(), X, N, also=((rng(), X.astype("f4"), N),), whole=True)


def test_draws_in_branches_and_inner_loops():
    def metropolis(g, n, m):
        x, energy, accepted, path = 0.0, 0.0, 0, np.zeros(n)
        for i in range(n):
            for _ in range(m):
                y = x + g.uniform(-1.0, 1.0)
                if y * y <= energy or g.random() < np.exp(energy - y * y):
                    x, energy = y, y * y
                    accepted += 1
            path[i] = x
        return path, accepted

    check(metropolis, rng(), N, 5, also=((rng(), N, 0), (rng(), 0, 3)), whole=True)


def test_a_while_by_what_is_drawn():
    def walk(g, limit):
        s, steps = 0.0, 0
        while abs(s) < limit:
            s += g.normal()
            steps += 1
        return s, steps

    check(walk, rng(), 20.0, also=((rng(), 0.0),), whole=True)


def test_ways_out_of_the_loop():
    def leaves(g, x, n, last):
        s = 0.0
        for i in range(n):
            s += x[i] * g.random()
            if g.random() < 0.02:
                break
            if i == last:
                return s, i
        else:
            s += 100
        return s, g.random()

    check(leaves, rng(1), X, N, -1, also=((rng(2), X, N, 3), (rng(3), X, 0, 0), (rng(4), X, 5, 9)))


def raises(g, x, n):
    s = 0.0
    for i in range(n):
        s += g.random() * x[i] + g.normal()
    return s


@pytest.mark.parametrize("make", [rng, np.random.RandomState])
def test_an_index_out_of_bounds_in_the_middle(make):
    check(raises, make(1), X, N, also=((make(2), X, N + 3), (make(3), X[:0], 1)))


def test_arguments_that_are_refused():
    def scales(g, x, n):
        s = 0.0
        for i in range(n):
            s += g.normal(0.0, x[i])
        return s

    def bounds(g, h, n):
        s = 0
        for i in range(n):
            s += int(g.integers(h[i], 3))
        return s

    check(scales, rng(), np.abs(X), N, also=((rng(), X, N), (rng(), np.abs(X) * np.nan, N)))
    check(scales, rng(), np.abs(X), N, also=((rng(), X * 0.0, N), (rng(), -X * 0.0, N)))
    h = np.arange(N) % 3
    check(bounds, rng(), h, N, also=((rng(), h + 1, N), (rng(), h - 2**62, N)))


def test_side_exits():
    def prints(g, n):
        s, seen = 0.0, {}
        for i in range(n):
            u = g.random()
            if u < 0.02:
                print(i, u, g.random())
                seen[i] = g.bit_generator.state["state"]
            s += u
        return s, seen

    check(prints, rng(), 300)


def test_two_generators():
    def draws(g, h, n):
        out = np.zeros(n)
        for i in range(n):
            out[i] = g.random() - h.random() * g.random()
        return out

    def by_two_names(g, n):
        h, out = g, np.zeros(n)
        for i in range(n):
            out[i] = g.random() - h.random() * g.random()
        return out

    one, other = rng(1), rng(2)
    check(draws, one, other, N, also=((rng(7), rng(8), 5),), whole=True)
    check(draws, one, one, N, also=((one, other, N), (other, one, N), (other, other, N)))
    check(draws, one, other, N, also=((one, one, N),))
    check(by_two_names, rng(), N, whole=True)


@pytest.mark.parametrize("bits", BITS)
def test_generators_over_one_stream(bits):
    def draws(g, h, n):
        out = np.zeros(n)
        for i in range(n):
            out[i] = g.random() - h.random() * g.random()
        return out

    shared = bits(1)
    g, h = np.random.Generator(shared), np.random.Generator(shared)
    check(draws, g, h, N, captured=False)
    check(draws, rng(1, bits), rng(2, bits), N, also=((g, h, N),))


def test_loops_and_draws_outside():
    def draws(g, x, n):
        a = g.normal(size=3)
        s = 0.0
        for _ in range(n):
            s += g.random()
        b = g.random(2) + x[:2]
        for _ in range(n):
            s -= g.normal()
        return a, b, s, g.integers(9)

    check(draws, rng(), X, N, whole=True)


def test_a_warning_behind_the_loop_undoes_its_draws():
    def draws(g, x, n):
        s = 0.0
        for _ in range(n):
            s += g.random()
        return np.log(x) + s

    check(draws, rng(), np.abs(X), N, also=((rng(), -np.abs(X), N), (rng(), X * 0, N)))


def test_a_generator_made_inside():
    def makes(seed, n):
        g, out = np.random.default_rng(seed), np.zeros(n)
        for i in range(n):
            out[i] = g.random()
        return out, g

    check(makes, 7, N, whole=True)


def test_the_module_s_own_generator():
    def seeded(n):
        np.random.seed(3)
        out = np.zeros((n, 3))
        for i in range(n):
            out[i, 0] = np.random.random()
            out[i, 1] = np.random.randn()
            out[i, 2] = np.random.randint(0, 7)
        return out, np.random.normal(size=2), np.random.rand()

    check(seeded, N, also=((1,), (0,)), whole=True)


def test_choice():
    def draws(g, x, n):
        s = 0.0
        for _ in range(n):
            s += g.choice(x) * g.choice(n)
        return s

    check(draws, rng(), X, N, also=((rng(), X[:1], 3), (rng(), X[:0], 3)))
    check(draws, np.random.RandomState(1), X, N)


def test_in_a_called_function():
    def step(g, s):
        return s + (g.random() if g.random() < 0.5 else -g.normal())

    def walk(g, n):
        s = 0.0
        for _ in range(n):
            s = step(g, s)
        return s

    class Walker:
        def __init__(self, seed):
            self.rng = rng(seed)

        def walk(self, n):
            out = np.zeros(n)
            for i in range(1, n):
                out[i] = out[i - 1] + self.rng.normal()
            return out

    def walks(walker, n):
        return walker.walk(n)

    check(walk, rng(), 5000)
    check(walks, Walker(2), N, whole=True)


class Loaded(np.random.Generator):
    def random(self):
        return 0.25


def test_a_class_of_the_program_s():
    def draws(g, n):
        out = np.zeros(n)
        for i in range(n):
            out[i] = g.random()
        return out

    check(draws, rng(), N, also=((np.random.RandomState(2), N), (rng(3, np.random.Philox), N)))
    compiled = pycompile.compile(draws)
    assert compiled(rng(), 3).tolist() == draws(rng(), 3).tolist()
    assert compiled(Loaded(np.random.PCG64(1)), 3).tolist() == [0.25] * 3


# ---- Python's ----


def of_python(r, n):
    out = np.zeros((n, 9))
    for i in range(n):
        out[i, 0] = r.random()
        out[i, 1] = r.uniform(-1, 2.5)
        out[i, 2] = r.gauss(0.5, 2.0)
        out[i, 3] = r.randrange(17)
        out[i, 4] = r.randrange(-(2**40), 5)
        out[i, 5] = r.randint(1, 6)
        out[i, 6] = r.normalvariate(1.0, 0.5)
        out[i, 7] = r.expovariate(1.5)
        out[i, 8] = r.gauss(1, 2)
    return out, r.getstate()


def with_state(function):
    def seen(seed, *args):
        r = random.Random(seed)
        if seed % 2:
            r.gauss(0, 1)  # one is left of a pair
        return function(r, *args), r.getstate()

    seen.__name__ = function.__name__
    return seen


def equal(compiled, plain, r, *args):
    """The same of both, and the same state behind."""
    state = r.getstate()
    outcomes = []
    for function in (plain, compiled):
        r.setstate(state)
        try:
            got = function(r, *args)
        except Exception as error:
            got = (type(error), str(error))
        outcomes.append((repr(got), r.getstate()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("seed", [1, 2])
def test_methods_of_python_s(seed):
    compiled = pycompile.compile(of_python)
    with np.printoptions(threshold=10**6, floatmode="unique"):
        for n in (N, N, 3, 0, 300):
            r = random.Random(seed)
            r.gauss(0, 1)
            equal(compiled, of_python, r, n)
    assert compiled.stats()["plan_runs"] > 0


def of_module(n):
    out, kinds = np.zeros((n, 8)), 0
    for i in range(n):
        out[i, 0] = random.random()
        out[i, 1] = random.uniform(i, n)
        out[i, 2] = random.gauss(0.0, 1.0)
        out[i, 3] = random.randrange(i + 1)
        out[i, 4] = random.randint(-i, i)
        out[i, 5] = random.getrandbits(20) + random.getrandbits(45)
        out[i, 6] = random.choice(X)
        out[i, 7] = random.gauss()
    return out, random.random(), random.getstate()


def test_the_module_random():
    def seeded(n):
        random.seed(n)
        return of_module(n)

    check(seeded, N, also=((3,), (0,)), captured=False)  # its plans are of_module's
    compiled = pycompile.compile(of_module)
    for n in (N, N, 0, 5):
        random.seed(2)
        plain = of_module(n)
        random.seed(2)
        got = compiled(n)
        assert (got[0] == plain[0]).all() and got[1:] == plain[1:]
    assert compiled.stats()["plan_runs"] > 0


def test_exits_of_python_s():
    def leaves(r, x, n):
        s = 0.0
        for i in range(n):
            s += x[i] * r.random() + r.gauss(0.0, 1.0)
            if r.random() < 0.01:
                break
        return s

    def bounds(r, h, n):
        s = 0
        for i in range(n):
            s += r.randrange(int(h[i])) + r.randint(0, int(h[i]))
        return s

    for function, array in ((leaves, X), (bounds, np.arange(N) + 1), (bounds, 9 - np.arange(N))):
        compiled = pycompile.compile(function)
        for seed, n in ((1, N), (2, N), (3, N + 5), (4, 0), (5, 12)):
            equal(compiled, function, random.Random(seed), array, n)


class Dice(random.Random):
    def random(self):
        return 0.5


def test_methods_that_the_program_replaces():
    def draws(r, n):
        out = np.zeros(n)
        for i in range(n):
            out[i] = r.random() + r.uniform(0, 1) + r.gauss(0.0, 1.0)
        return out.tolist()

    compiled = pycompile.compile(draws)
    equal(compiled, draws, random.Random(1), N)
    equal(compiled, draws, Dice(1), N)
    own = random.Random(1)
    own.random = lambda: 0.25
    equal(compiled, draws, own, N)
    equal(compiled, draws, random.Random(1), N)
    try:
        random.Random.random = lambda self: 0.75
        equal(compiled, draws, random.Random(1), N)
    finally:
        del random.Random.random
    equal(compiled, draws, random.Random(1), N)
    old = random.Random.gauss
    try:
        random.Random.gauss = lambda self, mu, sigma: 3.0
        equal(compiled, draws, random.Random(1), N)
    finally:
        random.Random.gauss = old
    equal(compiled, draws, random.Random(1), N)


def test_seeds_in_between():
    def draws(n):
        random.seed(1)
        out = np.zeros(n)
        for i in range(n):
            out[i] = random.random()
        random.seed(7)
        for i in range(n):
            out[i] -= random.random()
        return out, random.getstate()

    check(draws, N)


# ---- what undoes a loop ----


@pytest.mark.parametrize("variants", [1, 2, 3])
def test_each_variant_of_the_loop(variants):
    _C.test_variants(variants)
    try:
        check(of_generator, rng(3), N, captured=False)
        check(of_state, np.random.RandomState(3), N, captured=False)
        compiled = pycompile.compile(of_python)
        with np.printoptions(threshold=10**6, floatmode="unique"):
            for seed in (1, 2):
                equal(compiled, of_python, random.Random(seed), N)
    finally:
        _C.test_variants(0)


def test_a_signal():
    def draws(g, n):
        s = 0.0
        for _ in range(n):
            s += g.random()
        return s

    compiled = pycompile.compile(draws)
    compiled(rng(), 1000)
    told = []
    old = signal.signal(signal.SIGALRM, lambda *_: told.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        g, n = rng(), 3_000_000
        got = compiled(g, n)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    h = rng()
    assert told and got == draws(h, n) and g.bit_generator.state == h.bit_generator.state


def test_another_thread_draws():
    """Each number is drawn once."""

    def draws(r, out):
        for i in range(len(out)):
            out[i] = r.random()

    compiled = pycompile.compile(draws)
    for make in (lambda: random.Random(1), lambda: rng(1)):
        compiled(make(), np.zeros(100))
        r, outs = make(), [np.zeros(200_000) for _ in range(2)]
        threads = [threading.Thread(target=compiled, args=(r, out)) for out in outs]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        all_of_both = np.sort(np.concatenate(outs))
        one = make()
        assert all_of_both.tolist() == sorted(one.random() for _ in range(400_000))


def test_what_stays_out():
    def sized(g, n):
        s = 0.0
        for _ in range(n):
            s += g.normal(size=2).sum()
        return s

    def shuffled(g, x, n):
        for _ in range(n):
            g.shuffle(x)
        return x

    check(sized, rng(), 3, captured=False)
    check(shuffled, rng(), X, 3, captured=False)
