"""np.errstate inside captured code: events are reported under the state that held where they arose."""

import numpy as np
import pytest
from differential import check

X = np.array([1.0, 0.0, -4.0, 1e300])


def ignored(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = 1 / x
    return y + 1


def reported_outside(x):
    with np.errstate(all="ignore"):
        y = np.sqrt(x)
    z = 1 / x
    return y + z


def reported_inside_only(x):
    with np.errstate(all="ignore"):
        y = np.sqrt(x)
        with np.errstate(divide="warn"):
            z = 1 / x
        w = x * x
    return y + z + w


def raised_inside(x):
    y = x + 1
    with np.errstate(divide="raise"):
        y = y + 1 / x
    return y


def raised_and_caught(x):
    try:
        with np.errstate(divide="raise"):
            y = 1 / x
    except FloatingPointError:
        y = x * 2
    return y


def of_the_caller(x):
    with np.errstate(over="ignore"):
        y = x * x
    return y / 0


def same_expression_twice(x):
    with np.errstate(all="ignore"):
        y = 1 / x
    z = 1 / x
    return y + z


def scalars(x):
    total = x.sum() - x.sum()
    with np.errstate(all="ignore"):
        ratio = 1.0 / total
    return x * ratio + 1.0


def scalars_outside(x):
    total = x.sum() - x.sum()
    ratio = 1.0 / total
    with np.errstate(all="ignore"):
        y = x * ratio + 1.0
    return y


def library_call(x):
    with np.errstate(all="ignore"):
        y = np.cumsum(x * 1e300)
    return y + 1


def library_call_reported(x):
    y = np.cumsum(x * 1e100)
    with np.errstate(over="warn"):
        y = np.cumprod(x * 1e300)
    return y + 1


def printed_inside(x):
    y = x + 1
    with np.errstate(all="ignore"):
        y = y / 0
        print("inside", np.geterr())
        y = y * 2
    return y / 0


def returns_inside(x):
    def inner(y):
        with np.errstate(all="ignore"):
            return 1 / y

    return inner(x) + 1


def exception_inside(x):
    y = x * 2
    try:
        with np.errstate(all="ignore"):
            y = 1 / x
            y = y + {}["none"]
    except KeyError:
        y = y + 1
    return y


def uncaught_inside(x):
    y = x * 2
    with np.errstate(all="ignore"):
        y = 1 / x
        raise ValueError("inside")


def branch_inside(x):
    with np.errstate(all="ignore"):
        y = 1 / x
        y = y * 2 if y[0] > 0 else y - 1
    return y + 1


def manager_kept(x):
    state = np.errstate(all="ignore")
    with state:
        y = 1 / x
    return y + 1


def manager_twice(x):
    state = np.errstate(all="ignore")
    with state:
        y = 1 / x
    with state:
        y = y + 1 / x
    return y


def wrong_mode(x):
    y = x + 1
    with np.errstate(divide="nothing"):
        y = 1 / x
    return y


def set_for_good(x):
    y = x + 1
    old = np.seterr(divide="ignore")
    y = 1 / x
    np.seterr(**old)
    return y


@np.errstate(divide="ignore")
def decorated(x):
    return 1 / x


def calls_decorated(x):
    return decorated(x) + x / 0


def in_a_loop(x):
    for i in range(3):
        with np.errstate(all="ignore"):
            x = x / i
    return x + 1


FUNCTIONS = [value for value in list(globals().values()) if getattr(value, "__code__", None)]
FUNCTIONS = [f for f in FUNCTIONS if f.__module__ == __name__]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "state", [{}, {"all": "ignore"}, {"all": "raise"}, {"invalid": "raise"}], ids=str
)
def test_errstate(function, state):
    with np.errstate(**state):
        check(function, X.copy(), calls=2, also=((np.ones(4),), (X * 3,)), captured=False)


def test_handler_of_the_caller():
    seen = []
    with np.errstate(all="call", call=lambda kind, flag: seen.append(kind)):
        check(ignored, X.copy(), captured=False)
        assert not seen
        check(reported_outside, X.copy(), captured=False)
        assert seen


@pytest.mark.parametrize("function", [ignored, reported_inside_only, calls_decorated])
def test_captured_whole(function):
    check(function, np.ones(4), whole=True)
