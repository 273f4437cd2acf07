"""Branches whose arms are one graph, and numbers out of arrays, where things go wrong."""

import contextlib
import io
import math
import random
import sys
import warnings

import numpy as np
import pytest
from differential import check

import pycompile

X = np.linspace(-2.0, 3.0, 6)


def run(f, *calls, **kwargs):
    """Compiled calls against plain ones; what the compiled function counted."""
    compiled = pycompile.compile(f, options={"plan_always": True})
    for args in calls:
        try:
            expected = f(*args)
        except Exception as error:
            with pytest.raises(type(error), match=None) as caught:
                compiled(*args)
            assert str(caught.value) == str(error)
        else:
            np.testing.assert_array_equal(compiled(*args), expected)
    return compiled.stats()


def test_an_arm_that_raises_is_a_deopt():
    def f(x):
        if x.min() < 0:
            raise ValueError(f"negative: {x.min()}")
        return np.sqrt(x) * 2

    stats = run(f, (X + 2,), (X,), (X + 3,), (X,))
    assert stats["deopts"] == 2 and stats["plans"] == 1
    check(f, X)


def test_floating_point_events_count_in_the_arm_taken_only():
    def f(x, y):
        if x.sum() > 0:
            return 1 / y
        return y * 2

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stats = run(f, (-X, np.zeros(3)), (X, np.ones(3)), (-X, np.zeros(3)))
    assert stats["deopts"] == 0 and stats["plans"] == 1
    assert check(f, X, np.zeros(3)).warned


def test_what_was_computed_before_the_branch_fails_before_it():
    def f(x, n):
        t = 1 // int(x[0])
        return x * t if n.sum() > 0 else x + 1

    stats = run(f, (X, -X), (X * 0, -X), (X, X))
    assert stats["deopts"] == 1
    check(f, X * 0, -X)


def test_an_arm_that_writes_an_argument():
    def f(x):
        if x.sum() > 0:
            x[0] = 5
        return x * 2

    for x in (X, -X):
        check(f, x)


def test_an_arm_that_changes_an_object_is_apart():
    def f(x, seen):
        if x.sum() > 0:
            seen.append(1)
        return x * 2

    check(f, X, [])
    check(f, -X, [])


def test_identity_of_what_an_arm_passes_on():
    def f(x):
        y = x / 2 if x.sum() > 100 else x
        return y

    compiled = pycompile.compile(f, options={"plan_always": True})
    assert compiled(X) is X and compiled(X) is X
    assert compiled(X * 100) is not X


def test_memory_of_what_an_arm_passes_on():
    def f(x):
        y = x * 2
        z = y if x.sum() > 0 else y + 1
        z[0] = 100
        return y, z

    for x in (X, -X):
        check(f, x)

    def g(x):
        y = x * 2
        z = y if x.sum() > 0 else y + 1
        y[0] = 100
        return z * 2

    for x in (X, -X):
        check(g, x)


def written(x, y):
    z = y if x.sum() > 0 else x
    y += x
    return z + 1


def written_before(x, y):
    y *= 2
    z = y if x.sum() > 0 else x
    y += x
    return z + 1


def other_written_before(x, y):
    x[:2] -= 1
    y *= 2
    z = y if x.sum() > 0 else x
    x *= 2
    return z + 1


def view_written_before(x, y):
    y *= 2
    z = y[1:] if x.sum() > 0 else x[1:]
    y[2:] += 1
    return z + 1


def result_written_before(x, y):
    r = y * 3
    r[1:] = x[1:]
    z = r if x.sum() > 0 else x
    r += 1
    return z + r


ALIASING = [
    written,
    written_before,
    other_written_before,
    view_written_before,
    result_written_before,
]


@pytest.mark.parametrize("function", ALIASING)
def test_writes_after_the_branch_are_seen_through_what_it_chose(function):
    compiled = pycompile.compile(function, options={"plan_always": True})
    for sign in (1, 1, 1, -1, -1, 1, -1):
        (x, y), (u, v) = ((sign * (X + 4), X.copy()) for _ in range(2))
        np.testing.assert_array_equal(compiled(u, v), function(x, y))
        np.testing.assert_array_equal(u, x)
        np.testing.assert_array_equal(v, y)


def test_shapes_that_differ_are_apart():
    def f(x):
        return x[1:] * 2 if x.sum() > 0 else x * 2

    for x in (X, -X):
        check(f, x)


def test_types_that_differ_are_apart():
    def f(x):
        n = 1 if x.sum() > 0 else 0.5
        return x * n, n

    for x in (X, -X):
        check(f, x)


def test_a_branch_in_a_loop_of_the_same_branch():
    def f(x):
        n = 0
        while np.abs(x).max() > 1:
            x = x / 2
            n += 1
        return x, n

    check(f, X)


def test_a_local_of_one_arm_after_a_break():
    def f(x):
        if x.sum() > 0:
            t = x * 2
            y = t + 1
        else:
            y = x - 1
        z = y * 3
        names = sorted(sys._getframe().f_locals)
        return z, names

    for x in (X, -X):
        check(f, x, captured=False)


def test_unbound_after_the_branch():
    def f(x):
        if x.sum() > 0:
            t = x * 2
        return t + 1

    check(f, X, captured=False)
    check(f, -X, captured=False)


def test_numbers_that_leave_their_range():
    def f(x):
        n = int(x[0])
        return x[1:] * 2, n * n * n * n, math.factorial(n % 30)

    for n in (3.0, 1e6, 2.0**40):
        check(f, np.array([n, 1.0, 2.0]), captured=n == 3.0)


def test_what_math_raises():
    def f(x):
        return x * math.sqrt(x[0]) + math.exp(x[1]) + math.log(x[2])

    for values in ([1, 1, 1], [-1, 1, 1], [1, 1000, 1], [1, 1, 0], [np.nan, np.inf, np.inf]):
        check(f, np.array(values, float))


def test_negative_shifts_and_division_by_zero():
    def f(x, n):
        return x * 2, 5 << int(n[0]), 7 % int(n[1]), divmod(9, int(n[1]))

    for n in ([1, 2], [-1, 2], [1, 0], [70, -3]):
        check(f, X, np.array(n), captured=n == [1, 2])


def test_print_when_stdout_is_of_the_program():
    class Stream(io.StringIO):
        def write(self, text):
            self.lines = sys._getframe(1).f_lineno
            return super().write(text)

    def f(x):
        y = x * 2
        print("sum", float(y.sum()))
        return y + 1

    compiled = pycompile.compile(f, options={"plan_always": True})
    for stream in (io.StringIO(), Stream(), io.StringIO(), Stream()):
        with contextlib.redirect_stdout(stream):
            compiled(X)
        assert stream.getvalue() == "sum 6.0\n"
        if isinstance(stream, Stream):
            assert stream.lines == f.__code__.co_firstlineno + 2


def test_print_that_fails():
    def f(x):
        y = x * 2
        print("first")
        return y + 1

    stream = io.StringIO()
    stream.close()
    compiled = pycompile.compile(f, options={"plan_always": True})
    with contextlib.redirect_stdout(io.StringIO()):
        compiled(X)
    with contextlib.redirect_stdout(stream), pytest.raises(ValueError) as caught:
        compiled(X)
    lines = [entry.lineno for entry in caught.traceback]
    assert lines[-1] == f.__code__.co_firstlineno + 1  # counted from 0


def test_print_before_an_exception():
    def f(x):
        print("before", float(x.sum()))
        y = x * 2
        raise KeyError(float(y.sum()))

    check(f, X, captured=False)


ARMS = [
    "y = y * 2",
    "y = y + x",
    "y = np.sin(y)",
    "n = n + 1",
    "n = n * 2",
    "y = y - y.mean()",
    "t = y.sum(); y = y * float(t)",
    "z = [y, n]; y = z[0]",
    "pass",
    "y = np.sort(y)",
    "s = s + float(y[0])",
    "y = y.copy(); y[1] = n",
    "return y, n",
    "y = y[::-1]",
    "s = max(s, float(y.max()))",
]
TESTS = ["y.sum() > 0", "y[0] < y[1]", "y.max() > 1 and n < 3", "not y.any() or s > 0", "s < 2"]


def program(rng, depth=0):
    lines = []
    for _ in range(rng.randint(1, 3)):
        if depth < 3 and rng.random() < 0.5:
            lines.append(f"if {rng.choice(TESTS)}:")
            lines += ["    " + line for line in program(rng, depth + 1)]
            if rng.random() < 0.7:
                lines.append("else:")
                lines += ["    " + line for line in program(rng, depth + 1)]
        else:
            lines.append(rng.choice(ARMS))
    return lines


@pytest.mark.parametrize("seed", range(25))
def test_random_branches(seed):
    rng = random.Random(seed)
    body = "\n    ".join(["y = x * 1.5", "n = 1", "s = 0.0", *program(rng), "return y, n, s"])
    space = {"np": np}
    exec(compile(f"def f(x):\n    {body}\n", f"branches_{seed}.py", "exec"), space)
    for x in (X, -X, X / 10):
        check(space["f"], x, captured=False)


def test_an_inner_branch_that_may_give_an_argument():
    def f(x, y):
        z = (y if np.all(y < 2) else np.hypot(x, y)) if np.all(x < 2) else np.sin(x)
        return z, z is y

    y = np.arange(4.0)
    check(f, y - 9, y - 9)
    check(f, y - 9, y)


def shares(z, y):
    return np.shares_memory(z, y), np.may_share_memory(z, y)


TELLING = {
    "shares_memory": lambda z, y: np.shares_memory(z, y),
    "may_share_memory": lambda z, y: np.may_share_memory(y, z),
    "map": lambda z, y: list(map(np.shares_memory, [z], [y])),
    "views": lambda z, y: np.shares_memory(z[1:], y[:2]),
    "byte_bounds": lambda z, y: (
        np.lib.array_utils.byte_bounds(z) == np.lib.array_utils.byte_bounds(y)
    ),
}


@pytest.mark.parametrize("name", TELLING)
def test_where_the_array_lies_that_a_branch_chose(name):
    tell = TELLING[name]

    def f(x, y):
        z = y if x.sum() > 0 else x
        return tell(z, y), tell(z, x), z + 1

    def made(x, y):
        a = x * 2
        z = a if x.sum() > 0 else y
        return tell(a, z), tell(y, z), z + 1

    for function in (f, made):
        options = {"options": {"plan_always": True}}
        also = ((-X, X), (X, -X))
        check(function, X, X + 1, also=also, captured=False, options=options)


def test_where_arrays_lie():
    def f(x, y):
        a, b = x * 2, x * 2
        c = a[1:]
        a += 1
        return (
            [shares(p, q) for p in (a, b, c, x, y) for q in (a, b, c, x, y)],
            [shares(p, x) for p in (x.copy(), x * 1, x + 0.0, +x, x.reshape(2, 3).T.ravel())],
            shares(np.zeros(3), np.zeros(3)),
            a,
        )

    options = {"options": {"plan_always": True}}
    both = X.copy()
    for args in ((X, X + 1), (both, both), (both, both[::-1]), (both, both[2:4])):
        check(f, *args, captured=False, options=options)
