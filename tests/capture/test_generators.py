"""Generators as capture follows them: what breaks, what is left behind, aliasing, exhaustion."""

import itertools

import numpy as np
import pytest
from differential import check

X = np.linspace(-1.0, 2.0, 6)


def doubled(x, n):
    for i in range(n):
        yield x * i


def test_a_generator_that_is_returned():
    def f(x):
        return doubled(x + 1, 2)

    import pycompile

    assert [list(v) for v in pycompile.compile(f)(X)] == [list(v) for v in f(X)]


def test_a_generator_half_consumed_and_returned():
    def f(x):
        g = doubled(x + 1, 3)
        y = next(g) + next(g)
        return y * 2, [g]

    import pycompile

    y, [g] = pycompile.compile(f)(X)
    z, [h] = f(X)
    assert np.array_equal(y, z) and [list(v) for v in g] == [list(v) for v in h]


def test_a_break_inside_a_generator():
    def noisy(x):
        yield x + 1
        print("inside")
        yield x + 2

    def f(x):
        total = x * 0
        for v in noisy(x * 2):
            total = total + v * v - 1
        return total

    check(f, X)


def test_a_branch_inside_a_generator():
    def choose(x):
        if x.sum() > 0:
            yield x
        else:
            yield -x

    def f(x):
        y = x * 2 + 1
        return sum(choose(y)) * 3

    check(f, X, also=[(-X,)])


def test_a_finally_of_a_generator_left_behind():
    log = []

    def guarded(x):
        try:
            yield x
            yield x + 1
        finally:
            log.append("closed")

    def f(x):
        log.append("begin")
        for v in guarded(x * 2):
            y = v * v + 1
            break
        log.append("end")
        return y + 1, list(log)

    def g(x):
        it = guarded(x * 2)
        y = next(it) + 1
        del it
        log.append("end")
        return y * 2, list(log)

    for function in (f, g):
        log.clear()
        plain = function(X)
        log.clear()
        import pycompile

        compiled = pycompile.compile(function)
        assert compiled(X)[1] == plain[1]
        log.clear()
        assert compiled(X)[1] == plain[1]


@pytest.mark.parametrize("calls", [1, 2, 3, 5])
def test_stop_iteration_out_of_next(calls):
    def f(x, n):
        g = doubled(x, 2)
        for _ in range(n):
            x = x + next(g)
        return x

    check(f, X, calls, captured=False)


def test_two_names_for_one_generator():
    def f(x):
        g = doubled(x + 1, 6)
        h = g
        a = next(g)
        b = next(h)
        return a, b, [v for _, v in zip(range(2), g)], list(h)

    check(f, X, whole=True)


def test_zip_of_one_generator_with_itself():
    def f(x):
        g = doubled(x + 1, 6)
        return [a - b for a, b in zip(g, g)], list(g)

    check(f, X, whole=True)


def test_zip_stops_after_taking_from_the_first():
    def f(x):
        g, h = doubled(x + 1, 6), doubled(x, 2)
        return list(zip(g, h)), list(g), list(h)

    check(f, X, whole=True)


def test_a_generator_called_while_it_runs():
    def f(x):
        def g():
            yield next(me)

        me = g()
        return x + 1 + next(me)

    check(f, X, captured=False)


def test_send_to_a_generator_that_has_not_started():
    def f(x):
        return x + 1 + doubled(x, 2).send(3)

    check(f, X, captured=False)


def test_next_in_a_loop_that_could_stay_one():
    def f(x):
        it = iter([1.0, 2.0, 3.0, 4.0])
        g = (2.0 * i for i in range(4))
        total = 0.0
        for i in range(4):
            total += x[i] * next(it) + x[i] * next(g)
        return total

    check(f, X, captured=False)


def test_a_generator_that_writes_to_its_argument():
    def scaled(x):
        for i in range(3):
            x[i] = x[i] * 10
            yield x[i]

    def f(x):
        total = x * 1
        for v in scaled(x):
            total = total + v
            x += 1
        return total

    check(f, X)


def test_a_generator_function_compiled_itself():
    check(lambda x: list(doubled(x, 3)), X, captured=False)

    import pycompile

    compiled = pycompile.compile(doubled)
    assert [list(v) for v in compiled(X, 3)] == [list(v) for v in doubled(X, 3)]


def test_an_iterator_of_the_library_is_no_generator():
    def f(x):
        count, chain = itertools.count(1), itertools.chain([1], [2])
        return (
            x * 2,
            type(count),
            isinstance(chain, itertools.chain),
            hasattr(map(abs, [1]), "send"),
        )

    check(f, X, captured=False)


def test_an_endless_generator_collected_is_left_to_cpython_within_its_budget():
    def f(x, n):
        def g():
            i = 0
            while i < n:
                yield i
                i += 1

        return x * 2 + len(list(g()))

    check(f, X, 20_000, captured=False)


def two():
    yield 1.0
    yield 2.0


def waiting():
    try:
        yield 1.0
        yield 2.0
    except ValueError:
        yield 3.0


def around():
    yield from two()


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("make", [two, waiting, around])
def test_a_generator_closed_on_one_side_of_a_branch(make, started):
    def f(x):
        g = make()
        if started:
            next(g)
        if x.sum() > 0:
            g.close()
        return x * 2, list(g)

    def otherwise(x):
        g = make()
        if started:
            next(g)
        if x.sum() > 0:
            y = x + 1
        else:
            y = x - 1
            g.close()
        return y * 2, list(g)

    check(f, X, also=((-X,), (X,)), captured=False)
    check(f, -X, also=((X,), (-X,)), captured=False)
    check(otherwise, X, also=((-X,), (X,)), captured=False)


@pytest.mark.parametrize("make", [two, waiting, around])
def test_a_generator_thrown_into_on_one_side_of_a_branch(make):
    def f(x):
        g = make()
        next(g)
        if x.sum() > 0:
            try:
                g.throw(ValueError)
            except ValueError:
                pass
        return x * 2, list(g)

    check(f, X, also=((-X,), (X,)), captured=False)
    check(f, -X, also=((X,), (-X,)), captured=False)


@pytest.mark.parametrize("how", ["close", "throw", "next", "delegate"])
@pytest.mark.parametrize("make", [two, waiting, around])
def test_a_generator_that_a_loop_ends(make, how):
    def close(x, n):
        g = make()
        for i in range(n):
            x[i] = x[i] * 2
            g.close()
        return x, list(g)

    def throw(x, n):
        g = make()
        for i in range(n):
            x[i] = x[i] * 2
            try:
                g.throw(ValueError)
            except ValueError:
                pass
        return x, list(g)

    def take(x, n):
        g = make()
        for i in range(n):
            x[i] = x[i] * 2
            next(g, None)
        return x, list(g)

    def delegate(x, n):
        inner = make()

        def outer():
            yield from inner

        g = outer()
        next(g)
        for i in range(n):
            x[i] = x[i] * 2
            g.close()
        return x, list(inner)

    f = {"close": close, "throw": throw, "next": take, "delegate": delegate}[how]
    check(f, X, 3, also=tuple((X, n) for n in (3, 4, 5, 0, 1, 0)), captured=False)


def test_a_generator_that_was_over_is_closed_in_a_loop():
    def f(x, n):
        g = two()
        g.close()
        for i in range(n):
            x[i] = x[i] * 2
            g.close()
        return x, list(g)

    check(f, X, 3, also=((X, 4), (X, 5), (X, 0)))
