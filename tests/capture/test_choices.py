"""One of two objects, chosen when the plan ends: branches that pass on what there was before."""

import numpy as np
import pytest
from differential import check

import pycompile

X = np.linspace(-2.0, 3.0, 6)
Y = X[::-1].copy()
WHOLE = {"fullgraph": True, "options": {"plan_always": True}}


def clipped(g, most):
    n = np.sqrt((g * g).sum())
    if n > most:
        g = g * (most / n)
    return g


def clipped_by_a_number(g, most):
    scale = 1.0
    n = np.sqrt((g * g).sum())
    if n > most:
        scale = most / n
    return g * scale, scale


def clipped_by_a_float(g, most):
    scale = 1.0
    n = float(np.sqrt((g * g).sum()))
    if n > most:
        scale = most / n
    return g * scale, scale


def clipped_and_used(g, most):
    n = np.sqrt((g * g).sum())
    if n > most:
        g = g * (most / n)
    return X - 0.1 * g, g


def clamped(g, most):
    top = g.max()
    if top > most:
        top = most
    return g / top, top


@pytest.mark.parametrize(
    "function",
    [clipped, clipped_by_a_number, clipped_by_a_float, clipped_and_used, clamped],
)
def test_clipping(function):
    for most in (2.0, 100.0):
        check(function, X, most, whole=True, options=WHOLE)
        if function is not clipped_by_a_number:  # whose result is f4 or f8, as it is taken or not
            check(function, X.astype("f4"), most, whole=True, options=WHOLE)


def test_clipping_of_another_dtype_in_each_side():
    for most in (2.0, 100.0):
        check(clipped_by_a_number, X.astype("f4"), most)


def clip_all(gradients, most):
    total = np.sqrt(sum((g * g).sum() for g in gradients))
    if total > most:
        gradients = [g * (most / total) for g in gradients]
    return gradients


def clip_each(gradients, most):
    out = []
    for g in gradients:
        n = np.sqrt((g * g).sum())
        out.append(g * (most / n) if n > most else g)
    return out


@pytest.mark.parametrize("function", [clip_all, clip_each])
def test_clipping_of_lists(function):
    for most in (2.0, 5.0, 100.0):
        check(function, [X, Y[:3], np.ones((2, 2))], most, whole=True, options=WHOLE)


def converged(x, y, tolerance):
    new = x - 0.1 * y
    if np.abs(new - x).max() < tolerance:
        return x
    return new


def converged_and_told(x, y, tolerance):
    new = x - 0.1 * y
    done = np.abs(new - x).max() < tolerance
    if done:
        new = x
    return new, done, new.sum()


def backtracked(x, y, tolerance):
    step = y * tolerance
    new = x - step
    if (new * new).sum() > (x * x).sum():
        step = step / 2
        new = x - step
        if (new * new).sum() > (x * x).sum():
            new = x
    return new, step


def pivoted(x, y, tolerance):
    if abs(x[0]) > abs(y[0]) * tolerance:
        p, q = x, y
    else:
        p, q = y, x
    return p, q, p * 2 - q


def pivoted_rows(x, y, tolerance):
    A = np.stack([x, y])
    if abs(A[1, 0]) > abs(A[0, 0]) * tolerance:
        p, q = A[1], A[0]
    else:
        p, q = A[0], A[1]
    return p, q - p * (q[0] / p[0]), q[1:]


def either(x, y, tolerance):
    return x if x.sum() > y.sum() * tolerance else y


def of_many(x, y, tolerance):
    s = x.sum() * tolerance
    if s > 5:
        r = x
    elif s > 0:
        r = y
    elif s > -5:
        r = x * y
    else:
        r = None
    return r, [r], {"r": r, "x": x}, (x, (r,))


def in_sequence(x, y, tolerance):
    g = x
    if x.max() > tolerance:
        g = g / x.max()
    if y.min() < -tolerance:
        g = y
    return g, g.mean()


def within(x, y, tolerance):
    z = y
    if x.sum() > tolerance:
        if y[0] > 0:
            z = x * y
        else:
            z = x
    return z, z + 1


def views_of_it(x, y, tolerance):
    g = x if x.sum() > tolerance else y * 2
    return g[1:], g[::-1], g[::2] + 1, g, g.reshape(2, 3).T


def chosen_views(x, y, tolerance):
    g = x[1:] if x.sum() > tolerance else y[:-1]
    return g, g.sum(), g[1:], x


def made_views(x, y, tolerance):
    a = x * 2
    if x.sum() > tolerance:
        g, h = a[1:], a
    else:
        b = y + 1
        g, h = b[1:], b
    return g, h, a


def two_names(x, y, tolerance):
    if x.sum() > tolerance:
        a = b = x * 2
    else:
        a, b = x, y
    return a, b, a + b


def other_shapes(x, y, tolerance):
    return x if x.sum() > tolerance else y[None]


def array_or_number(x, y, tolerance):
    r = x * 2 if x.sum() > tolerance else 0.0
    return r, y + 1


def tuples(x, y, tolerance):
    if x.sum() > tolerance:
        t = (x, 1)
    else:
        t = (y * 2,)
    return t


def lists_from_before(x, y, tolerance):
    a, b = [x], [y, y * 2]
    c = a if x.sum() > tolerance else b
    a.append(x + 1)
    return c, a, b


def texts_and_arrays(x, y, tolerance):
    if x.sum() > tolerance:
        name, r = "large", x
    else:
        name, r = "small", y * 2
    return name, r


def numbers(x, y, tolerance):
    k = 1000.5 if x.sum() > tolerance else x[0] * 2
    return k, x * k


def held_numbers(x, y, tolerance):
    k = tolerance
    if x.sum() > 2:
        k = tolerance * 2
    return k, x * k


def multiplied(x, y, tolerance):
    a, b = x.reshape(2, 3), y.reshape(2, 3)
    c = a if x.sum() > tolerance else b
    return c @ a.T, a @ c.T, c.T @ c, np.dot(c, b.T), np.inner(a, c)


def library(x, y, tolerance):
    c = x if x.sum() > tolerance else y
    return np.sort(c), np.cumsum(c), c


def constant(x, y, tolerance):
    if x.sum() > tolerance:
        return X
    return x


def made_by_calls(x, y, tolerance):
    c = np.sort(x) if x.sum() > tolerance else y
    return c, c * 2


def helper(x, y, limit):
    if (x * y).sum() > limit:
        return x
    return y


def through_calls(x, y, tolerance):
    a = helper(x, y, tolerance)
    b = helper(a, x, tolerance)
    return a, b, a - b


def loops_within(x, y, tolerance):
    total, k = 0.0, 1
    if x.sum() > tolerance:
        for i, v in enumerate((x, y)):
            total = total + v.sum() * i
        k = [v * 2 for v in (x, y)]
    return total, k


def iterator_from_before(x, y, tolerance):
    items = iter([x, y, x + 1])
    r = next(items)
    if x.sum() > tolerance:
        r = next(items)
    return r, list(items)


def iterator_ended(x, y, tolerance):
    items = iter([x])
    r = next(items)
    if x.sum() > tolerance:
        r = next(items, y)
    return r, list(items)


FUNCTIONS = [
    converged,
    converged_and_told,
    backtracked,
    pivoted,
    pivoted_rows,
    either,
    of_many,
    in_sequence,
    within,
    views_of_it,
    chosen_views,
    made_views,
    two_names,
    other_shapes,
    array_or_number,
    tuples,
    lists_from_before,
    texts_and_arrays,
    numbers,
    held_numbers,
    multiplied,
    library,
    constant,
    made_by_calls,
    through_calls,
    loops_within,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_choices(function):
    calls = [(s * X, t * Y, k) for s in (1, -1, 3) for t in (1, -2) for k in (0.0, 0.5, 2.0)]
    check(function, *calls[0], whole=True, also=tuple(calls[1:]), options=WHOLE)


@pytest.mark.parametrize("function", [iterator_from_before, iterator_ended])
def test_iterators_from_before_are_apart(function):
    for s in (1, -1):
        check(function, s * X, Y, 0.0)


@pytest.mark.slow
def test_choices_of_one_array():
    """Both arguments are the same object, or views of one memory."""
    for function in FUNCTIONS:
        for k in (0.0, 100.0):
            check(function, X, X, k, options=WHOLE)
            z = np.arange(8.0)
            check(function, z[1:-1], z[2:], k, options=WHOLE)


def test_a_chosen_array_is_not_copied():
    @pycompile.compile(**WHOLE)
    def f(x, most):
        if x.max() > most:
            x = x / x.max()
        return x, x[1:], x.sum()

    x = X.copy()
    for _ in range(2):
        y, part, _ = f(x, 100.0)
        assert y is x and part.base is x
        y, part, _ = f(x, 1.0)
        assert y is not x and part.base is y and y.base is None


# ---- what the sides do ----


class Best:
    def __init__(self):
        self.loss, self.best, self.seen = 1.0, None, np.zeros(6)


def keep(self, x):
    loss = (x * x).sum()
    if loss > 20:
        self.best = x
    return loss * 2, x + 1


def keep_and_use(self, x):
    loss = float((x * x).sum())
    if loss > self.loss:
        self.loss = loss
        self.seen = x
    return self.seen * 2 + loss, self.loss


def either_attribute(self, x):
    if (x * x).sum() > 15:
        self.seen = x * 2
    else:
        self.loss = 2.5
    return self.seen, self.loss, x * 3


def again(self, x):
    self.best = x
    if x.sum() > 1:
        self.best = x * 2
    if x[0] > 0:
        self.best = None
    self.loss = self.best is self.seen
    return x * 2


def after(self, x):
    if x.sum() > 1:
        self.seen = x
    self.seen = self.seen + 1
    return self.seen


def printed(self, x):
    loss = (x * x).sum()
    if loss > 15:
        print("large", loss, f"{loss:.3f}", x * 2)
        self.seen = x * 3
    else:
        print("small")
        if loss > 1:
            print("but not tiny", {"loss": loss})
    print("done")
    return self.seen * 2


@pytest.mark.parametrize("function", [keep, keep_and_use, either_attribute, again, after, printed])
def test_what_the_sides_do(function):
    whole = {} if function is again else {"fullgraph": True}
    options = {**whole, "options": {"plan_always": True}}
    for x in (X, -X, X / 10, 2 * X):
        check(function, Best(), x, options=options)


class New:
    pass


def test_an_attribute_that_only_one_side_makes():
    def f(self, x):
        if x.sum() > 0:
            self.new = x
        return hasattr(self, "new"), x * 2

    for x in (X, -X):
        check(f, New(), x)


def test_what_a_side_does_may_raise():
    class Closed:
        def write(self, text):
            raise OSError("closed")

    def f(x, stream):
        if x.sum() > 0:
            print("large", file=stream)
        return x * 2

    for x in (X, -X):
        check(f, x, Closed())


# ---- where the branch ends the graph, and why ----


def written_later(x, y):
    g = x if x.sum() > 0 else y * 2
    g *= 0.5
    return g


def one_of_them_written_later(x, y):
    g = x if x.sum() > 0 else y * 2
    x[0] = 5
    return g


def asked_which(x, y):
    g = x if x.sum() > 0 else y * 2
    return (g is x), g + 1


def used_though_different(x, y):
    g = x if x.sum() > 0 else y[1:]
    return g + 1


def asked_for_its_base(x, y):
    g = x if x.sum() > 0 else y * 2
    return g.base is None, g + 1


@pytest.mark.parametrize(
    "function, why",
    [
        (written_later, "one of the arrays that it leaves is written later"),
        (one_of_them_written_later, "one of the arrays that it leaves is written later"),
        (asked_which, "which of two objects it leaves is asked for"),
        (used_though_different, "one of two objects of different types, which is used"),
        (asked_for_its_base, "the base of one of the arrays that it leaves is asked for"),
    ],
)
def test_why_a_branch_ends_the_graph(function, why):
    for x in (X, -X):
        check(function, x, Y)
    line = function.__code__.co_firstlineno + 1
    with pytest.raises(pycompile.GraphBreakError, match=f"PC0006.*{why}") as caught:
        pycompile.compile(function, **WHOLE)(X, Y)
    assert caught.value.line == line


def test_sides_that_are_alike_in_kind_alone():
    def centres(x, old, label):
        return np.array([x[label == 0].mean(0) if (label == 0).any() else old[0], old[1]])

    x, label = np.linspace(0.0, 1.0, 12).reshape(4, 3), np.array([0, 1, 1, 0])
    with pytest.raises(pycompile.GraphBreakError) as caught:
        pycompile.compile(centres, fullgraph=True)(x, x[:3] * 2, label)
    wanted = "is an array on both sides, but not the same one, or not of one dtype and shape"
    assert wanted in str(caught.value)
    check(centres, x, x[:3] * 2, label, captured=False)


def test_containers_whose_items_do_not_merge():
    def f(x, c):
        s, t = 1.0, 2.0
        if c[2] > 0:
            t = 3.0
        else:
            if c[0] > 0:
                s = x.sum() * 0.1
        return s, t

    def g(x, c):
        s, t = [1.0], {"t": 2.0}
        if c[2] > 0:
            t, s = {"t": 3.0}, [2.0]
        else:
            if c[0] > 0:
                s = [x.sum() * 0.1, 4]
        return (s, t), s, t

    for a in (1.0, -1.0):
        for b in (1.0, -1.0):
            check(f, X, np.array([a, 0, b]), options={"options": {"plan_always": True}})
            check(g, X, np.array([a, 0, b]), options={"options": {"plan_always": True}})
