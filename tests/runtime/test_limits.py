"""The limit of plans at one place: what plans gain decides, by counters, not by the clock."""

import re
import threading
import warnings

import numpy as np
import pytest
from differential import copied, differences, observe

import pycompile
from pycompile import _C

OPTIONS = {"plan_always": False, "dynamic": False}


class Pair:
    """A function plain and compiled, called alike and compared each time."""

    def __init__(self, function, **options):
        pycompile.reset()
        self.function = function
        self.compiled = pycompile.compile(function, options={**OPTIONS, **options})
        self.told = []

    def __call__(self, *args):
        plain = observe(self.function, copied(args, {}), {})
        mine = observe(self.compiled, copied(args, {}), {})
        ours = [w for w in mine.warned if w[0] is pycompile.PycompileWarning]
        self.told += [text for _, text, *_ in ours]
        mine.warned = [w for w in mine.warned if w not in ours]
        assert not differences(plain, mine)
        return mine

    def counts(self, calls):
        """What the counters say of some more calls, each with the arguments of one item."""
        before = self.compiled.stats()
        for args in calls:
            self(*args)
        after = self.compiled.stats()
        return {name: after[name] - before[name] for name in after}


def curve(x):
    return np.exp(x) * 2 + x


def numbers(n):
    return np.linspace(-1, 1, n)


# ---- sizes ----


@pytest.mark.parametrize("count", [8, 198])
def test_small_calls_leave_large_ones_their_chance(count):
    f = Pair(curve)
    small = f.counts([(numbers(3 + i),) for i in range(count)])
    assert small["compiles"] <= 16
    large = f.counts([(numbers(1_000_000),)] * 3)
    assert large["plan_runs"] == 3 and large["compiles"] == 1
    assert f.told == []


@pytest.mark.slow
def test_sizes_that_grow_for_ever_cost_a_bounded_number_of_plans():
    f = Pair(curve)
    counts = f.counts([(numbers(n),) for n in range(3, 2000)])
    assert counts["compiles"] <= 24 and counts["given_up"] == 1
    assert f.told == []  # nothing was lost


@pytest.mark.slow
def test_sizes_that_recur_get_plans_after_many_that_did_not():
    f = Pair(curve)
    rng = np.random.default_rng(1)
    f.counts([(numbers(int(n)),) for n in rng.integers(20_000, 40_000, 100)])
    recurring = [(numbers(50_001 + 1000 * i),) for i in range(10)]
    f.counts(recurring * 16)
    found = f.counts(recurring * 4)
    assert found["compiles"] == 0 and found["plan_runs"] == 40


@pytest.mark.slow
def test_sizes_that_come_twice_and_never_again_cost_a_bounded_number_of_plans():
    f = Pair(curve)
    f.counts([(numbers(30_000 + i // 2),) for i in range(60)])
    assert f.counts([(numbers(40_000 + i // 2),) for i in range(400)])["compiles"] <= 12


def test_small_calls_that_are_no_plan_leave_large_ones_their_chance():
    def product(x, w):
        return np.maximum(x @ w, 0)

    f = Pair(product)
    f.counts([(np.ones((n, 2)), np.ones((2, n))) for n in range(2, 60)])
    assert f.counts([(np.ones((300, 2)), np.ones((2, 300)))] * 2)["plan_runs"] == 2


def test_masks_of_changing_counts():
    x = np.random.default_rng(0).standard_normal(20000)

    def bounded(x, y):
        return x.mean() + np.exp(y).sum() * 2

    f, rng = Pair(bounded), np.random.default_rng(1)
    counts = f.counts([(x, x[rng.random(20000) < 0.5]) for _ in range(150)])
    assert counts["compiles"] <= 14 and counts["given_up"] == 1


def test_the_same_shapes_again_after_others_were_given_up():
    """A second chance: many calls of one shape earn it a plan."""
    f = Pair(curve, recompile_limit=2)
    f.counts([(numbers(20000 + i),) for i in range(20)])
    assert f.compiled.stats()["given_up"] == 1
    f.counts([(numbers(30000),)] * 400)
    assert f.counts([(numbers(30000),)] * 5)["plan_runs"] == 5


@pytest.mark.slow
def test_alternating_shapes_that_pay_may_be_more_than_the_limit():
    f = Pair(curve, recompile_limit=4)
    rounds = [(numbers(100_000 + i),) for i in range(10)]
    f.counts(rounds * 20)
    assert f.counts(rounds) == {
        **dict.fromkeys(f.compiled.stats(), 0),
        "plan_runs": 10,
    }


def test_alternating_shapes_that_do_not_pay_keep_the_plans_that_there_are():
    f = Pair(curve, recompile_limit=4)
    rounds = [(numbers(2000 + i),) for i in range(10)]
    f.counts(rounds * 4)
    counts = f.counts(rounds * 4)
    assert counts["compiles"] <= 2 and counts["plan_runs"] >= 8


@pytest.mark.slow
def test_old_plans_make_room():
    f = Pair(curve, recompile_limit=4)
    for n in range(12):
        f.counts([(numbers(50_000 + n),)] * 60)
    assert f.counts([(numbers(50_011),)] * 3)["plan_runs"] == 3
    assert f.compiled.stats()["plans"] <= 12


@pytest.mark.slow
def test_a_limit_of_one_still_gives_way_to_large_calls():
    f = Pair(curve, recompile_limit=1)
    f.counts([(numbers(4 + n),) for n in range(6)])
    assert f.counts([(numbers(2_000_000),)] * 2)["plan_runs"] == 2


# ---- plans that are of use stay ----


def stacked(x, y):
    """By the model, a plan of it saves next to nothing."""
    return np.concatenate([x, y]).reshape(2, -1).T


def pair(n):
    return numbers(n), numbers(n) * 2


def often(f, args, calls):
    """That many calls; how many of them ran a plan."""
    before = f.compiled.stats()["plan_runs"]
    for _ in range(calls):
        f.compiled(*args)
    return f.compiled.stats()["plan_runs"] - before


def test_plans_that_are_called_often_have_paid_however_little_the_model_says():
    f = Pair(stacked)
    for n in range(10, 19):
        often(f, pair(n), 5000)
    for n in [*range(10, 19)] * 2:
        assert often(f, pair(n), 100) == 100
    assert f.compiled.stats()["given_up"] == 0


def test_plans_in_use_stay_where_a_place_is_given_up():
    f = Pair(stacked, recompile_limit=3)
    for n in (10, 11, 12):
        often(f, pair(n), 2000)
    often(f, pair(13), 200)
    assert f.compiled.stats()["given_up"] == 1 and f.compiled.stats()["plans"] == 3
    for n in (10, 11, 12):
        assert often(f, pair(n), 100) >= 90  # they are looked at again within a few calls
    assert f.compiled.stats()["compiles"] == 3


def test_plans_in_use_stay_where_another_is_earned():
    f = Pair(stacked, recompile_limit=3)
    for n in (10, 11, 12):
        often(f, pair(n), 2000)
    assert often(f, pair(13), 8000) >= 2000
    for n in (10, 11, 12, 13):
        assert often(f, pair(n), 100) >= 90
    assert f.compiled.stats()["compiles"] == 4


def test_a_plan_that_was_dropped_is_made_again_for_a_shape_that_stays():
    f = Pair(stacked, recompile_limit=3)
    for n in range(3, 60):
        often(f, pair(n), 20)
    assert f.compiled.stats()["plans"] == 0 and f.compiled.stats()["given_up"] == 1
    often(f, pair(3), 20000)
    assert often(f, pair(3), 100) == 100


# ---- values ----


def update(P, G, lr):
    for i, (p, g) in enumerate(zip(P, G)):
        p -= lr * g / (np.sqrt((g * g).mean()) + 1e-8)
        if i % 50 == 0:
            id(p)
    return P


@pytest.mark.slow
def test_enumerate_over_many_parameters():
    f = Pair(update)
    P, G = [np.ones(50) * k for k in range(200)], [numbers(50) + k for k in range(200)]
    assert f.counts([(P, G, 0.1)])["compiles"] <= 12
    again = f.counts([(P, G, 0.1)] * 2)
    assert again["compiles"] == 0 and again["plan_runs"] >= 300
    assert f.compiled.stats()["given_up"] == 0


def test_an_index_into_a_list():
    def momentum(P, G, M, lr):
        for i, (p, g) in enumerate(zip(P, G)):
            M[i] = 0.9 * M[i] + g
            p -= lr * M[i]
        return P, M

    f = Pair(momentum)
    P, G = [np.ones(50) * k for k in range(200)], [numbers(50) + k for k in range(200)]
    counts = f.counts([(P, G, [np.zeros(50)] * 200, 0.1)] * 3)
    assert counts["compiles"] <= 16 and f.compiled.stats()["given_up"] == 0


def test_an_int_that_only_reckons_is_symbolic_from_the_second_value_on():
    def decay(x, step):
        if step == 0:
            x = x + 1
        return np.exp(x) * (step % 7) - step

    f = Pair(decay)
    counts = f.counts([(numbers(5000), step) for step in range(40)])
    assert counts["compiles"] <= 4 and counts["plan_runs"] == 40
    assert f.counts([(numbers(5000), step) for step in (0, 3, 0, -(2**40))])["compiles"] == 0
    f(numbers(5000), True)
    f(numbers(5000), 2**70)
    f(numbers(5000), 0)


def test_an_int_that_is_true_or_not():
    def shifted(x, step):
        if step:
            return np.exp(x) + step
        return np.exp(x) * 3

    f = Pair(shifted)
    counts = f.counts([(numbers(5000), step) for step in (1, 2, 3, 0, 4, 0, 5, 6)])
    assert counts["compiles"] <= 4 and counts["plan_runs"] == 8


def test_an_int_that_shapes_the_graph_is_guarded_by_value_again():
    def folded(x, n):
        return np.exp(x.reshape(n, -1)) * n

    f = Pair(folded)
    counts = f.counts([(numbers(6000), n) for n in (2, 3, 2, 3, 3, 2)])
    assert counts["compiles"] == 2 and counts["plan_runs"] == 6 and counts["breaks"] == 0


def test_text_that_is_only_compared():
    def layer(x, mode, name):
        if mode == "train":
            x = np.exp(x) * 2
        elif "test" != mode:
            x = x + 1
        return np.sqrt(x * x + 1)

    f = Pair(layer)
    modes = [f"m{i}" for i in range(20)] + ["train", "test", "m3", "", "Train"] * 2
    counts = f.counts([(numbers(5000), mode, "n") for mode in modes])
    assert counts["compiles"] <= 5 and counts["plan_runs"] == len(modes)

    class Text(str):
        def __eq__(self, other):
            return other == "train"

        __hash__ = str.__hash__

    for odd in (Text("x"), None, 3, b"train", Text("train")):
        f(numbers(5000), odd, "n")
    assert f.counts([(numbers(5000), "m4", "n")])["compiles"] == 0


def test_text_that_is_used_otherwise_is_guarded_by_value():
    def named(x, mode):
        if mode == "train":
            x = x * 2
        return np.exp(x) + 1, mode.upper(), f"{mode}!"

    f = Pair(named)
    for mode in ("a", "b", "c", "train", "a", "b", "d"):
        f(numbers(5000), mode)


def test_text_beside_a_graph_break():
    def kept(x, mode):
        if mode == "train":
            x = x * 2
        y = np.exp(x) + 1
        id(y)
        return np.sqrt(y) * y, mode is None

    def shown(x, mode):
        if mode == "train":
            x = x * 2
        y = np.exp(x) + 1
        id(y)
        if mode != "test":
            y = y * y
        return np.sqrt(y) - y

    for function in (kept, shown):
        f = Pair(function)
        for mode in ["a", "b", "c", "train", "test", "d", "b"]:
            f(numbers(5000), mode)


# ---- what lies behind a place that is given up ----


def nearest(X, C):
    return ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)


def clusters(X, k, turns):
    C, sizes = X[:k].copy(), []
    for _ in range(turns):
        labels = nearest(X, C)
        new = C.copy()
        for j in range(k):
            members = X[labels == j]
            if len(members) > 0:
                new[j] = members.mean(axis=0)
                sizes.append(len(members))
        if np.sqrt(((new - C) ** 2).sum()) < 1e-9:
            break
        C = new
    return C, labels


@pytest.mark.slow
def test_a_place_that_is_given_up_is_that_place_alone():
    f = Pair(clusters)
    X = np.random.default_rng(0).standard_normal((4000, 6))
    f(X, 6, 8)
    f(X, 6, 8)
    counts = f.counts([(X, 6, 8)])
    assert f.compiled.stats()["given_up"] >= 1
    assert counts["plan_runs"] >= 8 and counts["compiles"] == 0  # each turn's `nearest`


def heavy(x):
    for k in range(3):
        x = np.exp(-x) * x + np.sqrt(x * x + k)
    return x


@pytest.mark.slow
def test_functions_that_it_calls_have_their_plans():
    def outer(x, big):
        y = x * 2 + 1
        z = heavy(big)
        return z[0] + y.sum()

    f = Pair(outer)
    inner = pycompile.compile(heavy, options=OPTIONS)
    f.counts([(numbers(3 + i), numbers(20000)) for i in range(12)])
    before = inner.stats()["plan_runs"]
    f.counts([(numbers(40 + i), numbers(20000)) for i in range(20)])
    assert f.compiled.stats()["given_up"] >= 1
    assert inner.stats()["plan_runs"] - before >= 15


def diffused(u, dt, n):
    for _ in range(n):
        lap = np.zeros_like(u)
        lap[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u += dt * lap
        u[0] = u[1]
        u[:, -1] = u[:, -2]
    return u, u.max()


ODD = [
    (np.ones(shape, dtype), 0.1, n)
    for shape in [(3, 3), (5, 7), (40, 40), (2, 2)]
    for dtype in ("f4", "f8", "c16")
    for n in (0, 2)
]


@pytest.mark.slow
def test_large_calls_after_many_small_ones_that_came_to_nothing():
    """Looking behind a place that is given up paid nothing, as long as calls were small."""
    f = Pair(diffused)
    f.counts(ODD * 4)
    assert f.compiled.stats()["given_up"] >= 1
    large = (np.random.default_rng(0).standard_normal((300, 300)), 0.1, 3)
    f.counts([large] * 20)
    assert f.counts([large] * 5)["plan_runs"] >= 5


@pytest.mark.slow
def test_frequent_calls_after_large_ones_of_other_kinds():
    """What such calls would have saved counts, though few of them are looked at."""
    f = Pair(diffused)
    rows = [np.ones((300, 200), dtype) for dtype in ("f4", "f8", "c16")]
    f.counts((ODD + [(row, 0.1, n) for row in rows for n in (0, 2)]) * 4)
    large = (np.random.default_rng(0).standard_normal((300, 300)), 0.1, 3)
    for _ in range(1500):
        f.compiled(large[0].copy(), 0.1, 3)
    assert f.counts([large] * 5)["plan_runs"] >= 5


@pytest.mark.slow
def test_frequent_calls_after_many_that_came_to_nothing():
    """The same where no call is larger than those that came to nothing."""
    f = Pair(diffused)
    f.counts(ODD * 4)
    f.counts([(np.ones((100, 100)), 0.1, 0)] * 6)
    usual = (np.random.default_rng(0).standard_normal((100, 100)), 0.1, 3)
    for _ in range(1500):  # what they would have saved by then: the C compiler's run
        f.compiled(usual[0].copy(), 0.1, 3)
    assert f.counts([usual] * 5)["plan_runs"] >= 5


def test_what_raises_behind_it():
    def failing(x, table):
        y = np.exp(x) * 2
        id(y)
        z = y[: len(x) // 2] + x[0]
        id(z)
        return np.sqrt(z) * table[len(x)]

    f = Pair(failing, recompile_limit=2)
    table = dict.fromkeys(range(0, 4000, 2), 2.0)
    for n in range(1000, 1040):
        f(numbers(n) + 2, table)


def test_a_scalar_loop_behind_it_is_left():
    def mixed(x, n):
        y = np.exp(x) * 2 + x
        total = 0
        for i in range(n):
            total += i * i % 7
        return y.sum() + total

    f = Pair(mixed)
    f.counts([(numbers(100 + i), 3000) for i in range(40)])
    counts = f.counts([(numbers(200 + i), 3000) for i in range(10)])
    assert counts["compiles"] <= 1 and counts["plan_runs"] <= 1


# ---- what is said ----


def test_the_warning_says_what_to_change():
    f = Pair(curve, recompile_limit=3)
    f.counts([(numbers(20000 + i),) for i in range(6)])
    assert len(f.told) == 1
    (text,) = f.told
    assert "curve" in text and "was compiled 3 times" in text
    assert "because x.shape[0] == 20002, 20001, 20000, now 20003 (" in text
    assert "pad arrays" in text and "raise the option recompile_limit" in text


def test_advice_is_given_once():
    """Two places of one function that the same argument keeps from having a plan."""

    def labels(x, name):
        y = np.exp(x) * 2 + x
        upper = name.upper()
        threading.get_ident()
        return upper, np.exp(y) + len(name), {name: y.sum()}

    f = Pair(labels, recompile_limit=3)
    f.counts([(numbers(20000), f"n{i}") for i in range(9)])
    advice = "use fewer texts, or do what depends on the text outside"
    assert len(f.told) == 2 and advice in f.told[0] and advice not in f.told[1]
    assert "name == " in f.told[1] and "as said of another place of this function" in f.told[1]
    first = re.search(r"test_limits\.py:(\d+)\)", f.told[0])[1]
    assert f"as said of another place of this function, line {first}" in f.told[1], f.told


def test_nothing_is_said_where_nothing_is_lost():
    f = Pair(curve)
    f.counts([(numbers(3 + i),) for i in range(100)])
    assert f.told == [] and f.compiled.stats()["given_up"] == 1


def test_a_reset_forgets_what_was_given_up():
    f = Pair(curve, recompile_limit=2)
    f.counts([(numbers(20000 + i),) for i in range(6)])
    assert f.compiled.stats()["given_up"] == 1
    pycompile.reset()
    assert f.compiled.stats()["given_up"] == 0
    assert f.counts([(numbers(20100),)] * 2)["plan_runs"] == 2


def test_counts_do_not_depend_on_the_clock():
    def count():
        f = Pair(curve)
        return f.counts([(numbers(3 + i * i % 977),) for i in range(300)])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count()  # the code object has its entry from the first time on
        assert count() == count()


def test_a_limit_of_nothing_makes_no_plans():
    f = Pair(curve, recompile_limit=0)
    assert f.counts([(numbers(1_000_000),)] * 4)["compiles"] == 0
    assert f.told == []


def spiral(m, out):
    while m.size:
        out.append(m[0] + 0)
        m = m[1:].T[::-1]
    return out


@pytest.mark.parametrize("n", [60, 150])
def test_a_shape_of_its_own_in_each_turn(n):
    """What the first call costs does not grow with the number of shapes."""
    m = np.arange(n * n).reshape(n, n)
    compiled = pycompile.compile(spiral, options={"plan_always": False})
    before, kernels = _C.compile_counts(), _C.cache_info()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        made = compiled(m, [])
    assert all(np.array_equal(a, b) for a, b in zip(made, spiral(m, []), strict=True))
    after, used = _C.compile_counts(), _C.cache_info()
    assert after["captures"] - before["captures"] <= 40
    assert after["instructions"] - before["instructions"] < 10 * 4096
    assert sum(used[k] - kernels[k] for k in ("hits", "misses")) <= 10
