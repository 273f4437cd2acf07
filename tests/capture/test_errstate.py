"""np.errstate inside captured code: events are reported under the state that held where they arose."""

import warnings

import numpy as np
import pytest
from differential import check

import pycompile

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


def generates(s, out):
    with np.errstate(over="ignore"):
        for i in range(len(out)):
            s = s * np.uint64(6364136223846793005) + np.uint64(1)
            out[i] = s
    return s


def hashes(x):
    h = np.uint32(2166136261)
    with np.errstate(all="ignore"):
        for i in range(len(x)):
            h = (h ^ x[i]) * np.uint32(16777619)
    return h


def of_each_width(a, out):
    with np.errstate(over="ignore"):
        for i in range(len(a)):
            x = a[i]
            out[i] = ((x * x - x) + x) * x - (x + x)
    return out


def indexes_what_wraps(table, s, n):
    t = table[0] - table[0]
    with np.errstate(over="ignore"):
        for _ in range(n):
            s = s * np.int32(1103515245) + np.int32(12345)
            t += table[int(s) % len(table)]
    return t


def wraps_in_both_states(s, out):
    with np.errstate(over="ignore"):
        for i in range(len(out)):
            s = s * np.uint32(1664525) + np.uint32(1013904223)
            out[i] = s
    for i in range(len(out)):
        out[i] = out[i] * np.uint32(2)
    return s


def wraps_under_the_state_of_the_caller(s, out):
    for i in range(len(out)):
        s = s * np.uint32(1664525) + np.uint32(1013904223)
        out[i] = s
    return s


def wraps_by_64_bits(s, out):
    with np.errstate(over="ignore"):
        for i in range(len(out)):
            s = s * np.int64(6364136223846793005) + np.int64(1)
            out[i] = s
    return s


KINDS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
EXTREMES = [
    np.resize(np.array([np.iinfo(k).min, np.iinfo(k).max, 3, 1, np.iinfo(k).max // 2], k), 500)
    for k in KINDS
]
WRAP = [
    (generates, (np.uint64(42), np.zeros(500, np.uint64))),
    (hashes, (np.arange(500, dtype=np.uint32),)),
    (indexes_what_wraps, (np.arange(7.0), np.int32(7), 500)),
    *((of_each_width, (a, np.zeros_like(a))) for a in EXTREMES if a.dtype != np.int64),
]
TOLD = [
    (wraps_in_both_states, (np.uint32(4294967295), np.zeros(500, np.uint32))),
    (wraps_under_the_state_of_the_caller, (np.uint32(1), np.zeros(500, np.uint32))),
    (wraps_by_64_bits, (np.int64(1), np.zeros(500, np.int64))),
    (of_each_width, (EXTREMES[KINDS.index("i8")], np.zeros(500, np.int64))),
]
OWN = {function for function, _ in WRAP + TOLD}


@pytest.mark.parametrize(("function", "args"), WRAP + TOLD)
@pytest.mark.parametrize("state", [{}, {"all": "ignore"}, {"over": "raise"}], ids=str)
def test_integers_that_wrap_round(function, args, state):
    with np.errstate(**state):
        check(function, *args, calls=3, captured=False)


@pytest.mark.parametrize(("function", "args"), WRAP)
def test_what_is_ignored_gives_no_run_back(function, args):
    pycompile.reset()
    compiled = pycompile.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            compiled(*args)
    seen = compiled.stats()
    assert seen["deopts"] == 0 and seen["plan_runs"] == 3 and seen["breaks"] == 0, seen


@pytest.mark.parametrize(("function", "args"), TOLD)
def test_integers_that_may_not_wrap_round_are_told(function, args):
    pycompile.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = " ".join(str(pycompile.explain(function)(*args)).split())
    assert "an integer of NumPy's that wraps round" in text, text


FUNCTIONS = [value for value in list(globals().values()) if getattr(value, "__code__", None)]
FUNCTIONS = [
    f for f in FUNCTIONS if f.__module__ == __name__ and f not in OWN and "test" not in f.__name__
]


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
