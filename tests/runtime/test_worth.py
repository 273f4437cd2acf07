"""What would not pay is left to CPython, and stays there: by counters, not by the clock."""

import contextlib
import warnings

import numpy as np
import pytest

import pycompile


def same(a, b):
    return repr(a) == repr(b)


@contextlib.contextmanager
def untold():
    """No PycompileWarning; under an error filter it would be dropped."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield
    assert [str(w.message) for w in seen if w.category is pycompile.PycompileWarning] == []


def left(function, *args, calls=12):
    """Calls until nothing new is found out; the counters of the last call."""
    compiled = pycompile.compile(function, options={"plan_always": False})
    with untold():
        for _ in range(calls):
            assert same(compiled(*args), function(*args))
        before = compiled.stats()
        compiled(*args)
    after = compiled.stats()
    return after, {name: after[name] - before[name] for name in after}


def count_positive(x):
    total, count = 0.0, 0
    for v in x.tolist():
        if v > 0:
            total += v
            count += 1
    return total, count


def ordered(x):
    if x[0] <= x[1]:
        return 1
    return 2


def library(x):
    m = x[:4].reshape(2, 2)
    return np.linalg.inv(m @ m + np.eye(2))


@pytest.mark.parametrize("function", [count_positive, ordered, library])
def test_small_work_has_no_plan(function):
    stats, last = left(function, np.random.default_rng(0).normal(size=50) / 4)
    assert stats["plans"] == 0
    assert not any(last.values())


MASK = np.arange(5000) % 7 == 0


VALUES = np.linspace(0, 1, MASK.sum())
WHOLE = np.arange(5000) % 9 - 4


def masked_store(x):
    x[MASK] = VALUES
    return x[3]


def largest_out(x):
    while (m := x.max()) > 0.1:
        x[x.argmax()] = 0
    return m


def positions(x):
    return np.nonzero(x > 0)


def first_positions(x):
    return np.where(x == 0)[0][:5]


def counts(x):
    return np.bincount(np.abs(WHOLE))


LIBRARY = [masked_store, positions, first_positions, counts]


@pytest.mark.parametrize("function", LIBRARY)
def test_library_calls_outweigh_a_small_kernel(function):
    x = np.random.default_rng(0).normal(size=5000) / 4
    compiled = pycompile.compile(function, options={"plan_always": False})
    for _ in range(6):
        mine, plain = x.copy(), x.copy()
        assert same(compiled(mine), function(plain))
        assert mine.tobytes() == plain.tobytes()
    assert compiled.stats()["plans"] == 0


def best_path(step, seen):
    """A table by three loops within each other, then a way back through it: a library call a turn."""
    n, states = seen.shape
    best = np.zeros((n, states))
    back = np.zeros((n, states), int)
    for t in range(1, n):
        for j in range(states):
            most, at = -np.inf, 0
            for i in range(states):
                v = best[t - 1, i] + step[i, j]
                if v > most:
                    most, at = v, i
            best[t, j] = most + seen[t, j]
            back[t, j] = at
    path = [int(np.argmax(best[-1]))]
    for t in range(n - 1, 0, -1):
        path.append(int(back[t, path[-1]]))
    return path


def test_loops_within_loops_outweigh_library_calls():
    random = np.random.default_rng(0)
    after, last = left(best_path, random.random((6, 6)), random.random((120, 6)))
    assert after["plans"] == 1 and last["plan_runs"] == 1


def looked_up(table, state, steps):
    """Rows that are made by a library call, each of it alone, not of what the rows before hold."""
    rows = np.empty((steps + 1, len(state)), np.uint8)
    rows[0] = state
    for t in range(steps):
        s = rows[t]
        rows[t + 1] = table[4 * np.roll(s, 1) + 2 * s + np.roll(s, -1)]
    return rows


def test_storing_a_result_costs_no_copy_of_the_array():
    state = np.random.default_rng(0).integers(0, 2, 200).astype(np.uint8)
    table = np.array([0, 1, 1, 1, 0, 1, 1, 0], np.uint8)
    after, last = left(looked_up, table, state, 40)
    assert after["plans"] == 1 and last["plan_runs"] == 1


def borders(u, v):
    """Parts of an array of the caller's: of the whole, a plan makes a copy."""
    u[0] = u[1] * 2
    u[-1] = v[-1] * 2
    u[:, 0] = v[:, 1] + 1
    return u


def row(u, v):
    u[3] = 0
    return v


@pytest.mark.parametrize(("function", "shape"), [(borders, (80, 5000)), (row, (30000, 3))])
def test_writing_parts_of_a_large_array_is_left(function, shape):
    x = np.ones(shape)
    compiled = pycompile.compile(function, options={"plan_always": False})
    for _ in range(6):
        mine, plain = x.copy(), x.copy()
        assert same(compiled(mine, x), function(plain, x)) and mine.tobytes() == plain.tobytes()
    assert compiled.stats()["plans"] == 0


def test_writing_a_part_of_a_small_array_or_most_of_a_large_one_is_not():
    def inner(u, v):
        u[1:-1] = np.sqrt(np.abs(v[1:-1] * 2 + u[1:-1])) * 3 - v[2:] / 3 + u[:-2] * v[:-2]
        u[0] = u[1] * 2
        u[-1] = u[-2] * 2
        return u

    for shape in [(80, 5000), (8, 50)]:
        compiled = pycompile.compile(inner, options={"plan_always": False})
        for _ in range(3):
            mine, plain = np.ones(shape), np.ones(shape)
            assert same(compiled(mine, plain * 2), inner(plain, plain * 2))
            assert mine.tobytes() == plain.tobytes()
        assert compiled.stats()["plans"] >= 1
        pycompile.reset()


def test_a_loop_of_library_calls_is_left():
    compiled = pycompile.compile(largest_out, options={"plan_always": False})
    for _ in range(6):
        before = compiled.stats()
        mine, plain = np.random.default_rng(1).random((2, 30)).repeat(2, 0)[1:3]
        plain[:] = mine
        assert same(compiled(mine), largest_out(plain))
        assert mine.tobytes() == plain.tobytes()
    after = compiled.stats()
    assert after["compiles"] == before["compiles"]
    assert after["plan_runs"] - before["plan_runs"] <= 1  # what comes before the loop


def rolled(x):
    return np.dot(np.roll(x, 1), x)


def differences(x):
    return np.dot(np.diff(x), np.diff(x))


def turned(x):
    return np.dot(np.rot90(x.reshape(2, -1))[0] + 1, x[:2])


def columns_first(x):
    return np.dot(np.asfortranarray(np.roll(x.reshape(2, -1), 1, axis=0)), x[: len(x) // 2])


@pytest.mark.parametrize("function", [rolled, differences, turned, columns_first])
def test_python_code_of_the_library_that_a_plan_stands_for_counts(function):
    """It takes ten times as long as the array work itself, which a call of BLAS outweighs."""
    assert left(function, np.linspace(0, 1, 10))[0]["plans"] == 1


def test_python_code_of_the_library_that_a_plan_calls_does_not_count():
    def f(x):
        return np.nansum(x) + np.median(x), np.linalg.norm(x)

    assert left(f, np.linspace(0, 1, 10))[0]["plans"] == 0


def test_the_reason_does_not_name_array_work_where_there_is_none():
    def made(x):
        return np.array([x[0], x[1], 1.0, x[2]])

    def compared(x):
        return 1 if x[0] <= x[1] else 2

    def mixed(x):
        return np.dot(x + 1, x)

    options, x = {"plan_always": False}, np.linspace(0, 1, 9)
    reasons = [
        pycompile.explain(f, options=options)(x).records[0]["why"] for f in (made, compared, mixed)
    ]
    assert reasons[0].startswith("its array work is calls of library functions")
    assert reasons[1] == "its work on single numbers takes less time than a plan would"
    assert reasons[2].startswith("apart from calls of library functions (dot), its array work")


def test_the_reason_names_the_functions_that_are_called():
    def three(x):
        y = np.linalg.inv(x)
        return np.linalg.solve(x, y) @ y * np.linalg.det(x) + np.linalg.inv(y)

    def many(x):
        return np.linalg.inv(x), np.linalg.det(x), np.linalg.cholesky(x), np.linalg.eigvalsh(x)

    x = np.eye(2) + 0.25
    reasons = [
        pycompile.explain(f, options={"plan_always": False})(x).records[0]["why"]
        for f in (three, many)
    ]
    assert "library functions (inv, solve, matmul, ...), its" in " ".join(reasons[0].split()), (
        reasons
    )
    assert "(inv, det, cholesky, ...)" in reasons[1], reasons


def test_a_kernel_before_a_library_call_pays_when_it_is_large():
    def f(x):
        return np.sort(np.sqrt(x * x + 1) - x / 3 + x * 0.5)

    assert left(f, np.linspace(0, 1, 20000))[0]["plans"] == 1


def unfit(x):
    x += 1.5
    return x


def unfit_shape(x):
    x[1:] = np.ones(5)
    return x


def missing(x, d):
    return d["b"] + x


@pytest.mark.parametrize("function", [unfit, unfit_shape, missing])
def test_calls_that_raise_are_left(function):
    compiled = pycompile.compile(function, options={"plan_always": False})
    args = (np.arange(4), {"a": 1})[: function.__code__.co_argcount]
    texts = set()
    for f in [function] + [compiled] * 6:
        before = compiled.stats()
        with pytest.raises(Exception) as caught:
            f(*args)
        texts.add((caught.type, str(caught.value), caught.traceback[-1].lineno))
    assert len(texts) == 1
    assert compiled.stats() == before and before["plan_runs"] == 0


def test_a_list_that_grows_is_not_opened_for_ever():
    def step(x, log):
        log.append((x * 2 + 1).sum())
        return np.mean(log), sum(log) / len(log)

    compiled, mine, plain = pycompile.compile(step), [], []
    x = np.linspace(0, 1, 3000)
    with untold():
        for k in range(20):
            if k == 8:
                before = compiled.stats()["compiles"]
            assert same(compiled(x, mine), step(x, plain)) and same(mine, plain)
    assert compiled.stats()["compiles"] == before and compiled.stats()["given_up"] == 0


@pytest.mark.slow
def test_a_dict_that_grows_is_not_opened_for_ever():
    class Memo:
        def __init__(self):
            self.kept = {}

    def step(x, memo, k):
        memo.kept[str(k)] = y = np.exp(x) * 2 + x
        return y.sum() + len(memo.kept)

    compiled, mine, plain = pycompile.compile(step), Memo(), Memo()
    x = np.linspace(0, 1, 3000)
    with untold():
        for k in range(20):
            assert same(compiled(x, mine, k), step(x, plain, k))
            assert same(mine.kept, plain.kept)
    assert compiled.stats()["given_up"] == 0


def test_lists_of_other_lengths_beside_one_that_grows():
    def step(x, weights, log):
        for w in weights:
            x = np.tanh(x * w + 1)
        log.append(x.sum())
        return x * len(log)

    compiled, mine, plain = pycompile.compile(step), [], []
    x = np.linspace(0, 1, 3000)
    with untold():
        for _ in range(12):
            for n in (2, 3):
                assert same(compiled(x, [1.5] * n, mine), step(x, [1.5] * n, plain))
                assert same(mine, plain)
    assert compiled.stats()["given_up"] == 0


def test_small_work_by_keyword():
    compiled = pycompile.compile(ordered, options={"plan_always": False})
    for _ in range(8):
        assert compiled(x=np.arange(3.0)) == 1
    before = compiled.stats()
    compiled(x=np.arange(3.0))
    assert compiled.stats() == before and before["plans"] == 0


def test_work_behind_a_branch_is_found():
    def f(x):
        if x[0] > x[1]:
            y = x * 2
        else:
            y = x * 3
        return (y * x - y + 1) / (x + 2)

    stats, last = left(f, np.linspace(0, 1, 20000))
    assert stats["plans"] == 1 and last["plan_runs"] == 1 and last["compiles"] == 0


def test_work_in_a_function_behind_a_branch_is_found():
    class Nowhere:
        def write(self, text):
            pass

    nowhere = Nowhere()  # printing to it is a break, whatever stdout is

    def inner(x):
        y = np.exp(x) * x - x + 1
        print(end="", file=nowhere)
        return y * y

    def f(x):
        if x[0] > x[1]:
            return 0
        return inner(x)

    x, options = np.linspace(0, 1, 20000), {"plan_always": False}
    compiled = pycompile.compile(f, options=options)
    counters = pycompile.compile(inner, options=options).stats  # of the code, whoever calls it
    for _ in range(8):
        assert same(compiled(x), f(x))
    before = counters()["plan_runs"]
    compiled(x)
    assert counters()["plan_runs"] > before


def test_size_decides():
    def f(x, w):
        return np.maximum(np.einsum("ij,jk->ik", x, w), 0)

    small = left(f, np.ones((2, 2)), np.ones((2, 2)))[0]
    large = left(f, np.ones((300, 2)), np.ones((2, 300)))[0]
    assert small["plans"] == 0 and large["plans"] == 1


def test_many_small_shapes_do_not_spoil_a_large_one():
    def f(x, w):
        return np.maximum(np.einsum("ij,jk->ik", x, w), 0)

    compiled = pycompile.compile(f, options={"plan_always": False})
    for n in range(2, 14):
        compiled(np.ones((n, 2)), np.ones((2, n)))
    compiled(np.ones((300, 2)), np.ones((2, 300)))
    assert compiled.stats()["plans"] == 1


def test_a_loop_variable_is_not_guarded_for_ever():
    def sieve(n):
        s = np.ones(n + 1, dtype=bool)
        s[:2] = False
        for i in range(2, int(n**0.5) + 1):
            if s[i]:
                s[i * i :: i] = False
        return np.nonzero(s)[0]

    for always in (False, True):
        compiled = pycompile.compile(sieve, options={"plan_always": always})
        with untold():
            for _ in range(6):
                assert same(compiled(2000), sieve(2000))
            before = compiled.stats()["compiles"]
            compiled(2000)
        assert compiled.stats()["compiles"] == before
        assert compiled.stats()["given_up"] == 0


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_plans_past_the_limit_are_dropped_when_they_hardly_hold():
    @pycompile.compile(options={"recompile_limit": 2, "plan_always": False})
    def f(x):
        return x + 1

    with untold():  # small work
        for n in range(1, 120):  # 32 elements are far more than 2: a third plan
            assert f(np.ones(n)).shape == (n,)
    assert f.stats()["plans"] == 0 and f.stats()["given_up"] == 1


def test_plans_past_the_limit_that_hold_are_kept():
    @pycompile.compile(options={"recompile_limit": 2, "plan_always": False})
    def f(x):
        return x + 1

    for n in range(1, 100):
        f(np.ones(n))
        f(np.ones(2))
    assert f.stats()["plans"] == 2


def test_the_warning_names_the_guard():
    @pycompile.compile(options={"recompile_limit": 1, "plan_always": False})
    def f(x):
        return np.exp(x) + 1

    f(np.ones(20000))
    with pytest.warns(pycompile.PycompileWarning, match=r"x.shape\[0\] == 20000, now 30000"):
        f(np.ones(30000))
