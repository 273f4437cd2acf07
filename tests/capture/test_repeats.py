"""Loops over whole arrays that end by a value of an array are one plan: control/repeat.c."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from differential import check

import pycompile

RNG = np.random.default_rng(0)
U, F = RNG.random(100), RNG.random(100)


def relax(u, f, tol, most):
    for i in range(most):  # noqa: B007
        new = 0.5 * (u + f)
        if np.abs(new - u).max() < tol:
            break
        u = new
    return u, i


def relax_else(u, f, tol, most):
    for _ in range(most):
        new = 0.5 * (u + f)
        if np.abs(new - u).max() < tol:
            break
        u = new
    else:
        return u, "not yet"
    return u, "done"


def line_search(x, d, fx, slope):
    t = 1.0
    while ((x + t * d) ** 2).sum() > fx + 1e-4 * t * slope:
        t *= 0.5
    return x + t * d, t


def jacobi(off, d, b, x, tol):
    for _ in range(500):
        new = (b - off @ x) / d
        if np.abs(new - x).max() < tol:
            return new
        x = new
    return x


def newton(z, most, eps):
    for i in range(most):  # noqa: B007
        step = (z * z * z - 1) / (3 * z * z)
        z = z - step
        if np.abs(step).max() < eps:
            break
    return z, i


def power(A, v):
    l, old = np.float64(0.0), np.float64(1.0)
    while abs(l - old) > 1e-10:
        old = l
        w = A @ v
        l = np.sqrt((w * w).sum())
        v = w / l
    return l, v


def until(x):
    while x.max() > 1e-3:
        x = x / 2
    return x


def wave(u, before, tol):
    for i in range(200):  # noqa: B007
        after = 2 * u - before - 0.1 * u
        before, u = u, after
        if np.abs(u).sum() < tol:
            break
    return u, before, i


def swap(a, b, tol):
    n = 0
    while (a * a).sum() < tol:
        a, b = b * 1.5, a
        n += 1
    return a, b, n


def swap_only(a, b, tol):
    s = 0.0
    for i in range(10):
        a, b = b, a
        s = (a * b).sum() + i
        if s > tol:
            break
    return a, b, s


def stencil(u, tol):
    for i in range(300):  # noqa: B007
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        if np.abs(new - u).max() < tol:
            break
        u = new
    return u, i


def accepts(x, tol):
    best = (x * x).sum()
    for _ in range(60):
        y = x * 0.9 - 0.01
        f = (y * y).sum()
        if f < best:
            x = y
            best = f
        if best < tol:
            break
    return x, best


@pytest.mark.parametrize("tol", [10.0, 0.3, 1e-3, 1e-9, -1.0, float("nan")])
@pytest.mark.parametrize("most", [1, 2, 40])
def test_turns(tol, most):
    check(relax, U, F, tol, most, whole=True)


@pytest.mark.parametrize("most", [0, 1, 2, 30])
def test_no_turn_leaves_the_array_itself(most):
    seen = check(relax_else, U, F, 1e-3, most, captured=most > 0)
    assert seen.result[1] == ("done" if most == 30 else "not yet")


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2"])
def test_dtypes(dtype):
    check(until, (np.arange(1, 60) * 3).astype(dtype).copy())


@pytest.mark.slow
def test_programs():
    n = 40
    A = RNG.random((n, n)) + n * np.eye(n)
    d = np.diag(A).copy()
    check(jacobi, A - np.diag(d), d, RNG.random(n), np.zeros(n), 1e-9, whole=True)
    check(line_search, U, -40 * U, (U * U).sum(), -80 * (U * U).sum(), whole=True)
    check(newton, RNG.random((30, 30)) + 1j * RNG.random((30, 30)) + 0.5, 50, 1e-8)
    check(newton, RNG.random((30, 30)) + 0.5, 50, 1e-8, whole=True)
    check(power, A @ A.T, np.ones(n))
    check(until, U, whole=True)
    check(stencil, RNG.random((20, 30)), 1e-3, whole=True)
    check(accepts, U, 0.1)


@pytest.mark.parametrize("tol", [1e30, 200.0, 0.0])
def test_two_arrays_take_turns(tol):
    check(wave, U, F, tol, whole=True)
    check(wave, U, U, tol)
    check(swap, U * 0.1, F * 0.1, min(tol, 500.0), whole=True)
    check(swap_only, U, F, tol, whole=True)


def one_of_both(x, y, tol):
    keep = x
    for _ in range(5):
        z = x + y
        if z.sum() > tol:
            break
        keep = x
        x = z
    return x, keep, x is keep


def test_the_same_array_in_two_variables():
    for tol in (-1.0, 150.0, 1e9):
        check(one_of_both, U, F, tol)


def swapping(turns, inside):
    """Branches that swap two arrays, each choosing among what the one before it has chosen."""
    loop = ["while x.sum() + y.sum() > tol:", "    x, y = x * 0.5, y * 0.6"]
    swaps = [line for i in range(turns) for line in (f"if f[{i}] > 0.5:", "    x, y = y, x")]
    lines = [*loop, *(f"    {line}" for line in swaps)] if inside else [*swaps, *loop]
    names: dict = {}
    exec("\n    ".join(["def f(x, y, f, tol):", *lines, "return x - y"]), names)
    return names["f"]


@pytest.mark.parametrize("inside", [False, True])
def test_many_swaps_are_followed_once_each(inside):
    check(swapping(40, inside), U, F, RNG.random(40), 3.0, whole=True)


def writes_behind(x, tol):
    for _ in range(9):
        y = x * 0.5
        if y.max() < tol:
            break
        x = y
    x[0] = 7.0
    return x


def writes_the_first(x, tol):
    first = x
    for _ in range(9):
        y = x * 0.5
        if y.max() < tol:
            break
        x = y
    first[0] = 7.0
    return x + 1


def is_it(x, tol):
    first = x
    for _ in range(9):
        y = x * 0.5
        if y.max() < tol:
            break
        x = y
    return x is first


def copied_behind(x, tol):
    for _ in range(9):
        y = x * 0.5
        if y.max() < tol:
            break
        x = y
    z = x.copy()
    z[0] = 7.0
    return z


@pytest.mark.parametrize("function", [writes_behind, writes_the_first, is_it, copied_behind])
@pytest.mark.parametrize("tol", [10.0, 0.3, 0.0])
def test_what_leaves_may_be_an_input(function, tol):
    check(function, U, tol)


def in_place(x, tol):
    for _ in range(20):
        x *= 0.5
        if x.max() < tol:
            break
    return x


def writes_inside(x, out, tol):
    for i in range(20):
        x = x * 0.5
        out[i] = x.max()
        if x.max() < tol:
            break
    return x


def made_then_written(x, tol):
    for _ in range(20):
        y = x * 0.5
        y[0] = 1.0
        if y[1:].max() < tol:
            break
        x = y
    return x


def carried_is_written(x, tol):
    y = x * 1.0
    for _ in range(20):
        y[0] = 1.0
        y = y * 0.5
        if y.max() < tol:
            break
    return y


@pytest.mark.parametrize("function", [in_place, made_then_written, carried_is_written])
def test_writes(function):
    for tol in (10.0, 0.2, 1e-3):
        check(function, U, tol)


def test_writes_to_another_array():
    check(writes_inside, U, np.zeros(20), 0.1)


def logs(x, tol):
    for _ in range(60):
        x = np.log(x)
        if x.min() < tol:
            break
    return x


def divides(x, tol):
    while not x.max() < tol:
        x = 1 / (x - 1)
        if x.min() < -3:
            return None
    return x


def test_warnings():
    check(logs, np.full(50, 1000.0), -5.0)
    check(divides, np.array([2.0, 3.0, 1.0, 5.0] * 10), 0.1)
    check(relax, np.where(U > 0.5, np.nan, U), F, 1e-3, 20, whole=True)


def raises(x, most):
    for i in range(most):
        x = x * 0.5
        if x.max() < 1e-3:
            raise ValueError(f"small after {i}")
        if x.sum() < 1e-4:
            break
    return x


def bad_index(x, tol):
    for i in range(200):
        x = x * 0.99
        if x[i] < tol:
            break
    return x


def left_by_an_error_alone(x, n):
    i = 0
    while True:
        k = int(x[i] * 0) + i
        x[k:] += 1.0
        i += 1
        if i > n:
            raise ValueError(x.sum())


def test_errors():
    check(left_by_an_error_alone, np.ones(300), 200, captured=False)
    check(raises, U, 50, captured=False)
    check(raises, U, 3)
    check(bad_index, U, -1.0, captured=False)
    check(bad_index, U, 0.2, captured=False)


def changes_shape(x, tol):
    while x.max() > tol:
        x = x[1:] * 0.9
    return x


def changes_dtype(x, tol):
    for _ in range(40):
        x = x * 0.5
        if x.max() < tol:
            break
    return x


def changes_layout(x, tol):
    for _ in range(40):
        x = x.T * 0.5
        if x.max() < tol:
            break
    return x


def view_is_carried(x, tol):
    for _ in range(40):
        x = (x * 0.5)[::-1]
        if x.max() < tol:
            break
    return x


@pytest.mark.slow
def test_what_is_not_carried():
    check(changes_shape, U[:5], 0.3, captured=False)
    check(changes_dtype, np.arange(50), 0.1)
    check(changes_layout, RNG.random((6, 9)), 0.1)
    check(view_is_carried, U, 0.1)
    check(until, np.zeros(0) + 1, captured=False)


def scalars_leave(x, tol):
    s = np.float64(0.0)
    n = 0
    for _ in range(40):
        x = x * 0.5
        s = x.sum()
        n += 1
        if s < tol:
            break
    return s, n, type(s).__name__


def test_numbers_leave_as_what_they_are():
    check(scalars_leave, U, 1e-3)
    check(scalars_leave, U.astype("f4"), 1e-3)


def large(x, tol):
    for _ in range(9):
        y = x * 0.5 + 0.1
        if y.max() < tol:
            break
        x = y
    return x + 1


def test_large():
    check(large, RNG.random(200_000), 0.3)
    check(large, RNG.random(200_000), 10.0)


def nested(x, tol):
    for _ in range(4):
        for _ in range(30):
            y = np.sqrt(x)
            if np.abs(y - x).max() < tol:
                break
            x = y
        x = x * 3
    return x


def nested_by_value(x, tol):
    while x.max() > 1e-3:
        while x.sum() > 1:
            x = x * 0.9
        x = x * 0.1
    return x


@pytest.mark.slow
def test_nested():
    check(nested, U, 1e-3)
    check(nested_by_value, U, 1e-3)


def inside(x, tol):
    return until(relax(x, x * 0.5, tol, 30)[0])


def test_called():
    check(inside, U, 1e-3)


def with_function(x, step, tol):
    for _ in range(30):
        y = step(x)
        if np.abs(y - x).max() < tol:
            break
        x = y
    return x


def test_functions_in_turns():
    check(with_function, U, lambda x: np.cos(x), 1e-3, whole=True)
    check(with_function, U, np.cos, 1e-3)
    check(with_function, U, np.sort, 1e-3)
    check(with_function, RNG.random((8, 8)), np.linalg.inv, 1e-3)


def keeps(x, tol):
    seen = []
    for _ in range(30):
        y = np.cos(x)
        seen.append(y)
        if np.abs(y - x).max() < tol:
            break
        x = y
    return x, seen


def prints(x, tol):
    for i in range(30):
        y = np.cos(x)
        if np.abs(y - x).max() < tol:
            break
        print(i)
        x = y
    return x


def test_effects():
    check(keeps, U, 1e-1)
    check(prints, U, 1e-1)


def whole_view_is_carried(x, tol):
    for _ in range(40):
        y = x * 0.5
        if y.max() < tol:
            break
        x = y[:]
    return x, x.base is None


def test_a_view_is_another_object():
    check(whole_view_is_carried, U, 0.1)
    check(whole_view_is_carried, U, 10.0)


@pytest.mark.slow
def test_many_loops_in_one_function():
    loop = "    while np.abs(x).max() > {}:\n        x = x * 0.5\n"
    text = "def many(x):\n" + "".join(loop.format(2.0**-k) for k in range(60)) + "    return x\n"
    names = {"np": np}
    exec(text, names)
    check(names["many"], np.linspace(0.1, 9.0, 2000), captured=False)


class Woken(Exception):
    pass


def test_a_signal_is_seen_between_turns():
    def forever(x, tol):
        while x.sum() > tol:
            x = x * 1.0
        return x

    def wake(*_):
        raise Woken

    compiled = pycompile.compile(forever)
    compiled(U, 1e9)
    before = signal.signal(signal.SIGALRM, wake)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Woken):
            compiled(U, -1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def newton_for_systems(A, b, x, tol):
    r = 1.0
    while r > tol:
        f = A @ x + x**3 - b
        J = A + np.diag(3 * x**2)
        dx = np.linalg.solve(J, f)
        x = x - dx
        r = np.sqrt((dx * dx).sum())
    return x, r


def from_an_int(x, tol):
    r, turns = 10, 0
    while r > tol and turns < 40:
        x = x * 0.5
        r = np.abs(x).max()
        turns += 1
    else:
        turns = -turns
    return x, r, turns


def from_a_plain_int(x, tol):
    r = 10
    while r > tol:
        x = x * 0.5
        r = np.abs(x).max()
    return x, r


def from_a_numpy_number(x, tol):
    r = np.float64(1.0)
    while r > tol:
        x = x * 0.5
        r = np.abs(x).max()
    return x, r


def changes_each_turn(x, tol):
    r = 1.0
    while r > tol:
        x = x * 0.5
        r = float(np.abs(x).max()) if r > 0.5 else np.abs(x).max()
    return x, r


@pytest.mark.slow
@pytest.mark.parametrize("tol", [1e-10, 0.5, 0.9, 2.0, 20.0])
def test_numbers_of_another_class_behind_the_first_turn(tol):
    A, b, y = RNG.random((5, 5)) + 4 * np.eye(5), RNG.random(5), np.ones(5)
    check(
        newton_for_systems, A, b, y, tol, captured=tol < 1, also=((A, y, y, 1e-3), (A, b, b, 3.0))
    )
    x = RNG.random(50) * 8
    for function in (from_an_int, from_a_plain_int, from_a_numpy_number, changes_each_turn):
        check(function, x, tol, captured=False, also=((x * 3, tol), (x, 0.1)))


def test_the_first_turn_is_followed_by_itself():
    A, b = RNG.random((5, 5)) + 4 * np.eye(5), RNG.random(5)
    check(newton_for_systems, A, b, np.ones(5), 1e-10, whole=True)
    check(from_a_plain_int, RNG.random(50) * 8, 1e-3, whole=True)


def lowest_of_rows(a, out):
    for i in range(a.shape[0]):
        out[i] = np.argmin(a[i])
    return out


def best_values(gain, value, steps):
    for _ in range(steps):
        value = np.max(gain + 0.9 * value, axis=1)
    return value


def test_loops_that_would_be_plans_of_many_steps():
    a, out = RNG.random((70, 6)), np.zeros(70, int)
    odd = a.copy()
    odd[40] = np.nan
    explained = pycompile.explain(lowest_of_rows)(a, out)
    assert " = repeat(" in str(explained.graphs[0])
    check(lowest_of_rows, a, out, whole=True, also=((odd, out), (a[:1], out), (a[:0], out)))
    check(lowest_of_rows, a, out[:50], captured=False, also=((a[:, :0], out),))
    gain, value = RNG.random((9, 9)), np.zeros(9)
    explained = pycompile.explain(best_values)(gain, value, 70)
    assert " = repeat(" in str(explained.graphs[0])
    check(best_values, gain, value, 70, whole=True, also=((gain, value, 1), (gain, value, 0)))
