"""Branches on what is in arrays."""

import numpy as np

from constructs import I, M, X, Y, construct


@construct("if and else that set a local", X)
@construct("if and else that set a local, the other arm", -X)
def if_else(x):
    if x.sum() < 0:
        y = x * 2
    else:
        y = x + 1
    return y


@construct("if and else that return", X)
@construct("if and else that return, the other arm", -X)
def both_return(x):
    if x.sum() < 0:
        return np.abs(x) * 2
    else:
        return x + 1


@construct("early return", X)
@construct("early return taken", -X)
def early_return(x):
    if x.mean() < 0:
        return -x
    y = x * 3
    return y + 1


@construct("elif chain, first", X * 4)
@construct("elif chain, second", X)
@construct("elif chain, third", X - 1)
@construct("elif chain, else", X - 9)
def elif_chain(x):
    m = x.mean()
    if m > 1:
        y, k = x - m, 1
    elif m > 0:
        y, k = x + m, 2
    elif m > -1:
        y, k = x * m, 3
    else:
        y, k = np.sqrt(np.abs(x)), 4
    return y * k


@construct("conditional expression of numbers", X)
def conditional_numbers(x):
    sign = 1.0 if x.sum() > 0 else -1.0
    return x * sign


@construct("conditional expression of arrays", X)
def conditional_arrays(x):
    return (x * 2 if x[0] > 0 else x * 3) + 1


@construct("and on array values", X)
@construct("and on array values, short", -X)
def and_(x):
    if x.sum() > 0 and x.min() < 0:
        return x * 2
    return x * 3


@construct("or on array values", X)
@construct("or on array values, second", -X)
def or_(x):
    if x.sum() > 5 or x.min() < -2:
        return x * 2
    return x * 3


@construct("not on an array value", X)
def not_(x):
    if not x.any():
        return x + 1
    return x - 1


@construct("value of and", X)
def and_value(x):
    positive = x.sum() > 0 and x.max() > 0
    return np.where(positive, x, -x)


@construct("value of or", -X)
def or_value(x):
    s = x.max() or x.min()
    return x * s


@construct("chained comparison of array values", X)
def chained(x):
    if -3 < x.min() < x.max() < 9:
        return x / 2
    return x / 3


@construct("if without else", X)
@construct("if without else, not taken", X / 100)
def if_alone(x):
    norm = np.sqrt((x * x).sum())
    if norm > 1:
        x = x / norm
    return x + 1


@construct("raise when the data are bad", X)
def validation(x):
    if not np.isfinite(x).all():
        raise ValueError("not finite")
    return x * 2


@construct("assert on data", X)
def assertion(x):
    assert x.max() > 0, "nothing positive"
    return x / x.max()


@construct("branches within branches", X)
@construct("branches within branches, inner", X + 3)
@construct("branches within branches, other", -X)
def nested(x):
    s = x.sum()
    if s > 0:
        if x.min() > 0:
            y = np.log(x)
        else:
            y = x * 2
        y = y + s
    else:
        y = x - s
    return y


def _clipped(v, top):
    if v.max() > top:
        return v / v.max()
    return v * 1.0


@construct("branch in a called function", X, Y)
def in_callee(x, y):
    return _clipped(x, 1.0) + _clipped(y, 100.0)


@construct("branch in a comprehension's function", [X, Y, -X])
def in_comprehension(xs):
    return [_clipped(x, 2.0) for x in xs]


@construct("branch in an unrolled loop", M)
def in_loop(m):
    total = 0.0
    for row in m:
        s = float(row.sum())
        if s > 10:
            total += s
        else:
            total -= 1.0
    return total * m


@construct("several locals", X)
def several(x):
    if x[0] < 0:
        a, b = x * 2, x + 3
    else:
        b, a = x * 4, x + 5
    return a - b, b


@construct("a tuple from each arm", X)
def tuples(x):
    if x[0] < 0:
        pair = (x * 2, 1)
    else:
        pair = (x * 3, 2)
    return pair[0] * pair[1]


@construct("a list that both arms append to", X)
def appended(x):
    out = [x]
    if x[0] < 0:
        out.append(x * 2)
    else:
        out.append(x * 3)
    return out


@construct("a dict entry from each arm", X)
def dict_entry(x):
    out = {"x": x}
    if x.max() > 2:
        out["scale"] = x / 2
    else:
        out["scale"] = x / 3
    return out


@construct("a temporary in one arm", X)
def temporary(x):
    if x.sum() > 0:
        t = x - x.mean()
        y = t * t
    else:
        y = x * 2
    return y


@construct("reductions in the arms", X)
def reductions(x):
    if x[0] < 0:
        s = (x * x).sum()
    else:
        s = x.sum()
    return x / s


@construct("rows in the arms", M)
def rows(m):
    if m.sum() > 3:
        e = np.exp(m - m.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    return m * 2


@construct("a matrix product in an arm", M)
def product(m):
    if m.sum() > 3:
        g = m @ m.T
    else:
        g = np.zeros((3, 3))
    return g + 1


@construct("a library call in an arm", X)
def library(x):
    if x[0] < 0:
        y = np.sort(x)
    else:
        y = x * 2
    return y + 1


@construct("a fresh array written in an arm", X)
def written(x):
    if x[0] < 0:
        y = x * 2
        y[1:3] = 0
    else:
        y = x + 1
    return y


@construct("division only where it is right", np.zeros(4))
def guarded_division(x):
    s = x.sum()
    if s != 0:
        return x / s
    return x + 1


@construct("floating-point events of the arm not taken", np.array([0.0, 1.0]))
def no_flags(x):
    if x.min() > 0:
        y = 1 / x
    else:
        y = x * 2
    return y


@construct("integers", I)
def integers(x):
    if x.sum() % 2 == 0:
        n = 1
    else:
        n = 3
    return x * n


@construct("a bool of an array value", X)
def flag(x):
    up = bool(x[0] < x[1])
    return x * 2 if up else x * 3


@construct("truth of a number out of an array", X)
def truth(x):
    if x[2]:
        return x + 1
    return x - 1


@construct("truth of an array of one element", np.array([0.5]))
def truth_of_array(x):
    if x:
        return x * 2
    return x * 3


@construct("sign by two tests", X)
def sign(x):
    s = x.sum()
    direction = 1 if s > 0 else -1 if s < 0 else 0
    return x * direction


@construct("min and max of numbers from arrays", X, Y)
def extremes(x, y):
    low = min(float(x.min()), float(y.min()))
    high = max(float(x.max()), float(y.max()))
    return (x - low) / (high - low)


@construct("a branch on a comparison of two arrays", X, Y)
def equal(x, y):
    if np.array_equal(x, y):
        return x * 2
    return x + y


@construct("the data's own shift", X)
def walrus(x):
    if (m := x.mean()) > 0:
        x = x - m
    return x * 2


@construct("steps of a converging loop, unrolled", X)
def converging(x):
    y = x
    for _ in range(3):
        step = y / 2
        if np.abs(step).max() > 1:
            y = step
        else:
            y = step + 1
    return y * 2


class Scale:
    def __init__(self, factor):
        self.factor = factor


@construct("an instance from each arm", X)
def instances(x):
    if x[0] < 0:
        scale = Scale(2.0)
    else:
        scale = Scale(3.0)
    return x * scale.factor


@construct("a match on a number from an array", I)
def matched(x):
    match int(x[0]):
        case 0:
            y = x
        case -3:
            y = x * 2
        case _:
            y = x * 3
    return y + 1


@construct("a state carried through branches", X)
def carried(x):
    state = {"n": 0, "s": 0.0}
    for i in range(4):
        if x[i] > 0:
            state["n"] += 1
            state["s"] += float(x[i])
    return x * state["s"], state["n"]
