"""Floating-point events in every mode of np.errstate, wherever they arise and wherever the mode is set.

Each case is a small function called several times, plain and compiled, with values that raise no event
and values that do, under one mode after another.  Compared after each call: result, arguments, the
exception with its line, warnings with their lines, what the handler of np.seterrcall got, what went to
the C level's stderr, and np.geterr() afterwards.
"""

import contextlib
import os
import sys
import tempfile
import threading
import warnings

import numpy as np
import pytest
from differential import Seen, check, copied, differences

import pycompile

MODES = ("ignore", "warn", "raise", "call", "print", "log")

QUIET = np.array([1.0, 2.0, 3.0, 4.0])
#: Values that raise the event when they meet themselves in the functions below.
VALUES = {
    "divide": np.array([1.0, 0.0, 2.0, -0.0]),
    "over": np.array([1e200, 2.0, -1e300, 1.0]),
    "under": np.array([1e-200, 1.0, 1e-300, 2.0]),
    "invalid": np.array([1.0, -4.0, np.inf, 2.0]),
}
QUIET32 = QUIET.astype("f")


class Handler:
    """For np.seterrcall: both a function and a log."""

    def __init__(self):
        self.got = []

    def __call__(self, text, flag):
        self.got.append((text, flag))

    def write(self, text):
        self.got.append(text)


HANDLER = Handler()


@contextlib.contextmanager
def stderr_kept(found):
    """What C code writes to file descriptor 2, appended to `found`."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            found.append(file.read().decode())


def observe(function, args, caught):
    """One call; warnings go to the list `caught`."""
    args = copied(args, {})
    seen = Seen(args=(args, {}))
    HANDLER.got.clear()
    caught.clear()
    printed = []
    with stderr_kept(printed):
        try:
            seen.result = function(*args)
        except Exception as error:
            seen.raised = error
    seen.warned = [(w.category, str(w.message), w.filename, w.lineno) for w in caught]
    seen.warned += HANDLER.got
    seen.printed = printed[0]
    seen.errstate = np.geterr()
    return seen


def same(function, calls, action="always", plans=True):
    """`calls`: (keywords of np.errstate, arguments) each, all of one compiled function."""
    pycompile.reset()
    compiled = pycompile.compile(function, options={"plan_always": True})
    sides = []
    for side in (function, compiled):
        globals().pop("__warningregistry__", None)
        found = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            for state, args in calls:
                with np.errstate(**{"call": HANDLER, **state}):
                    found.append(observe(side, args, caught))
        sides.append(found)
    for i, (plain, ours) in enumerate(zip(*sides, strict=True)):
        lines = differences(plain, ours)
        assert not lines, f"call {i} under {calls[i][0]}:\n" + "\n".join(lines)
    if plans:
        assert compiled.stats()["plan_runs"] > 0, compiled.stats()
    return sides[0]


def every_mode(function, quiet, loud, **more):
    """Under each mode: nothing happens, something does, nothing does."""
    calls = [({}, quiet)]
    for mode in MODES:
        calls += [({"all": mode}, args) for args in (quiet, loud, quiet)]
    seen = same(function, calls, **more)
    told = [s for s in seen if s.warned or s.raised is not None or s.printed]
    assert len(told) == 5, "the values raise no event"


# ---- where events arise: by kind, of a kernel, reduction, library step, write ----


def divide_kernel(x):
    y = x + 1
    y = y - x / x[::-1]
    return y * 2


def divide_inplace(x):
    y = x + 1
    y /= x
    return y * 2


def divide_written(x):
    x[1:] = 1 / x[1:]
    x += 1


def divide_out(x):
    y = x * 2
    np.divide(1, x, out=y)
    return y + 1


def divide_where(x):
    y = x * 2
    np.divide(1, x, out=y, where=x < 3)
    return y + 1


def divide_reduced(x):
    y = (x * 2 + x) * 0.5 + x
    total = np.divide.reduce(y)
    return y * 3 + total - x


def divide_step(x):
    y = (x * 2 + x) * 0.5 + x
    z = np.divide.accumulate(y)
    return y * 3 + z - x


def divide_outer(x):
    y = x * 1.0
    z = np.divide.outer(y, y)
    return z + y


def divide_log(x):
    y = x * x
    y = np.log(y)
    return y + x


def divide_scalar(x):
    y = x * 2
    z = x[0] / x[1]
    return y + z


def divide_item(x):
    y = x * 2
    for i in range(4):
        y[i] = 1 / x[i]
    return y


def divide_floor(x):
    y = x * 2
    return y // x + 1


def divide_inlined(x):
    def inner(z):
        return 1 / z

    return inner(x + 0.0) + inner(x * 2)


def divide_two_lines(x):
    y = 1 / x
    z = 2 / x
    return y + z


def divide_expression(x):
    return (
        x + 1 / x + x * 2  # the event is the line's above
    )


def over_kernel(x):
    y = x + 1
    y = y * y + x
    return y - 1


def over_inplace(x):
    y = x + 1
    y *= x
    y *= y
    return y


def over_reduced(x):
    y = x * 1.0
    return y + np.prod(y)


def over_method(x):
    y = (x + 0.0) * 1e8
    total = (y * np.sign(y)).sum(), y.prod()
    return y / 2, total


def over_step(x):
    y = x * 1.0
    return np.cumprod(y) + 1


def over_exp(x):
    y = np.exp(x * 1e-2) * 1.0
    return y + x


def over_scalar(x):
    y = x * 2
    z = x[2] * x[0]
    return y + z


def over_cast(x):
    y = x * 2
    z = y.astype(np.float32)
    return z + 1


def over_dot(x):
    y = x * 1.0
    return y + y @ y


def over_power(x):
    y = x * 1.0
    return y**2 + y**3


def under_kernel(x):
    y = x + 0.0
    y = y * y
    return y + x


def under_inplace(x):
    y = x + 0.0
    y *= x
    return y


def under_reduced(x):
    y = x * 1.0
    return y + np.prod(y)


def under_step(x):
    y = x * 1.0
    return np.cumprod(y) + 1


def under_cast(x):
    y = x + 0.0
    return y.astype(np.float32) + 1


def under_scalar(x):
    y = x * 2
    return y + x[0] * x[2]


def invalid_kernel(x):
    y = x + 0.0
    y = np.sqrt(y) + y
    return y - 1


def invalid_inplace(x):
    y = x + 0.0
    y -= x
    np.sqrt(x, out=y)
    return y


def invalid_reduced(x):
    y = x * np.array([1.0, -1.0, 1.0, 1.0])
    y = np.concatenate([y, -y])
    return y + y.sum()


def invalid_mean(x):
    y = x - x
    return y + 1, y.mean()


def invalid_step(x):
    y = x * 1.0
    return np.cumsum(np.concatenate([y, -y])) + 1


def invalid_scalar(x):
    y = x * 2
    return y + (x[2] - x[2])


def invalid_cast(x):
    y = x * 2
    return y.astype(np.int32) + 1


def invalid_remainder(x):
    y = x + 0.0
    return np.fmod(y, x) + y % x


def invalid_compare(x):
    y = np.arcsin(x / 4) * 1.0
    return y > 0, np.maximum(y, 0)


def invalid_matmul(x):
    y = np.outer(x, x)
    return y @ np.ones((4, 4)) + np.ones(4)  # inf - inf in every order of adding


def divide_dead(x):
    1 / x
    y = x * 2
    return y + 1


def divide_replaced(x):
    y = 1 / x
    y = x * 2
    return y + 1


def divide_branch(x):
    y = x * 2
    if x[1] == 0:
        y = 1 / x
    else:
        y = y + 1
    return y * 2


def divide_merge(x):
    y = x * 2
    z = 1 / x if y.sum() < 100 else x
    return y + z


def divide_loop(x):
    y = x * 2
    for i in range(len(x)):
        y[i] = y[i] / x[i]
    return y


def divide_logarithms(x):
    y = x * x
    return np.log2(y) + np.log10(y) + np.log1p(y - 1.0)


def divide_reciprocal(x):
    return np.reciprocal(x) + np.float_power(x, -1)


def divide_slice(x):
    y = x * 2
    y[1:3] /= x[1:3]
    return y


def divide_mask(x):
    y = x * 2
    y[x < 3] = 1 / x[x < 3]
    return y


def divide_broadcast(x):
    return (x[:, None] + 1) / x[None, :] + x


def divide_strided(x):
    y = x[::2] + 1
    return y / x[::-2] + y


def over_sum(x):
    y = np.concatenate([x, x]) * -1e8
    return y + 1, y.sum()


def over_moments(x):
    y = np.abs(x) * 1e8
    return y + 1, y.mean(), y.var()


def over_norm(x):
    y = x * 1.0
    return y + np.linalg.norm(y)


def over_complex(x):
    y = x + 1j * x
    return y * y


def over_where_out(x):
    y = x * 1.0
    return np.multiply(y, y, where=x > 0, out=np.zeros(4)) + y


def under_divide(x):
    y = x + 0.0
    return y / 1e300 + y


def invalid_log(x):
    return np.log(x) + x


def invalid_product(x):
    y = x * np.array([1, 1, 0, 1.0])
    return y + 1


def invalid_casts(x):
    y = x * 2
    return y.astype(np.int64), y.astype(np.uint8), y.astype(bool), y + 1


def invalid_assigned(x):
    y = x * 2
    z = np.zeros(4, int)
    z[:] = y
    return z + 1


def invalid_power(x):
    y = x * 1.0
    return y**0.5 + y**1.5


def invalid_half(x):
    y = x.astype("e")
    return np.sqrt(y) * y


CASES = [f for name, f in sorted(globals().items()) if name.partition("_")[0] in VALUES]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_every_mode(function):
    every_mode(function, (QUIET,), (VALUES[function.__name__.partition("_")[0]],))


@pytest.mark.parametrize("dtype", ["e", "f", "F", "D"])
@pytest.mark.parametrize("name", ["divide_kernel", "over_kernel", "invalid_kernel", "over_scalar"])
def test_other_types(name, dtype):
    loud = VALUES[name.partition("_")[0]]
    largest = float(np.finfo(dtype).max)
    with np.errstate(all="ignore"):
        loud = np.clip(loud, -largest, largest) if "over" in name else loud
        loud = loud.astype(dtype)
    calls = [({}, (QUIET.astype(dtype),))]
    for mode in MODES:
        calls += [({"all": mode}, (QUIET.astype(dtype),)), ({"all": mode}, (loud,))]
    same(globals()[name], calls)


def integers(x, y):
    z = x + 1
    z = z // y
    return z % y


def integer_scalar(x, y):
    z = x + 1
    return z + x[0] * x[1]


def integer_power(x, y):
    z = x + 1
    return z / y


@pytest.mark.parametrize("dtype", ["b", "H", "i", "l"])
@pytest.mark.parametrize("function", [integers, integer_scalar, integer_power])
def test_integers(function, dtype):
    large = np.iinfo(dtype).max
    quiet = np.array([1, 2, 3], dtype)
    loud = np.array([large, large - 1, 5], dtype), np.array([3, 0, 2], dtype)
    calls = [({}, (quiet, quiet))]
    for mode in MODES:
        calls += [({"all": mode}, (quiet, quiet)), ({"all": mode}, loud)]
    same(function, calls)


# ---- choices: events of what is not chosen ----


def chosen_quotient(x):
    y = x * 2
    return np.where(x != 0, 1 / x, 0.0) + y


def chosen_root(x):
    y = x * 2
    return np.where(x > 0, np.sqrt(x), y) + y


def chosen_square(x):
    y = x * 2
    return np.where(x < 1e30, x * x, y)


def chosen_cast(x):
    return np.where(x < 1e3, (x * 1).astype("f"), np.float32(0)) + 1


def chosen_comparison(x):
    y = x + 1
    return np.where(x > 0, np.sqrt(x) > 1, y > 2)


def chosen_twice(x):
    return np.where(x > 0, np.where(x < 9, -(1 / x), 2.0), 0.0) * x


def chosen_then_maximum(x):
    return np.maximum(np.where(x != 0, 1 / x, 0.0), x)


def chosen_then_summed(x):
    """Sums have eight lanes: more than one register of doubles on most machines."""
    y = x * x
    return (np.where(x < 1e30, y, x + 1) + y).sum()


def chosen_scalar(x):
    """One number, cast for all of the elements, none of which takes it."""
    y = x.astype("u8").cumprod()
    y[y != y] = x.max()
    return y


CHOICES = [f for name, f in sorted(globals().items()) if name.startswith("chosen_")]


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("function", CHOICES, ids=lambda f: f.__name__)
def test_what_is_not_chosen_is_computed(function, dtype):
    calls = []
    for size in (1, 3, 8, 9, 16, 33):
        calls.append(({}, (np.ones(size, dtype),)))
        for value in (0.0, -1.0, 1e300 if dtype == "d" else 1e30, np.inf):
            for at in {0, size // 2, size - 1}:
                x = np.ones(size, dtype)
                x[at] = value
                calls.append(({}, (x,)))
    same(function, calls)


# ---- what a C compiler knows without the operands ----


def ignored_operand(x):
    y = x * x
    return y < y, (y > 3) & ~(y > 3)


def ignored_condition(x):
    return np.where(x * x < 3, x, x)


def ignored_number(x):
    y = (x * x > 2).astype(int)
    return y - y, y * 0, y & 0, y | -1


def ignored_bound(x):
    y = x * x
    return y < 0, np.abs(x + y) < 0, y > np.inf


def ignored_in_loop(x):
    out = np.zeros(len(x), bool)
    for i in range(len(x)):
        y = x[i] * x[i]
        out[i] = y < y
    return out


def ignored_start(x):
    s = np.sqrt(4 - x[1])
    for _ in range(len(x)):
        s = x[0]
    return s


IGNORED = [f for name, f in sorted(globals().items()) if name.startswith("ignored_")]


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("function", IGNORED, ids=lambda f: f.__name__)
def test_what_decides_nothing_is_computed(function, dtype):
    calls = []
    for size in (2, 3, 16, 33):
        for value in (1.0, 1e300 if dtype == "d" else 1e30):
            x = np.ones(size, dtype)
            x[[1, size // 2]] = value
            calls.append(({}, (x,)))
    same(function, calls)


# ---- one kind only, mixtures ----


def all_kinds(x):
    y = 1 / x
    z = x * x
    w = np.sqrt(x)
    return y + z - w


@pytest.mark.parametrize("kind", VALUES)
def test_a_mode_of_one_kind(kind):
    calls = [({}, (QUIET,))]
    for mode in MODES:
        for loud in VALUES:
            calls.append(({"all": "ignore", kind: mode}, (VALUES[loud],)))
    same(all_kinds, calls)


def test_two_kinds_at_once():
    def f(x, y):
        return (x * x) / y + 1

    big = np.array([1e200, 1.0, 3.0])
    calls = [({}, (QUIET[:3], QUIET[:3]))]
    for over in MODES:
        for divide in MODES:
            calls.append(({"over": over, "divide": divide}, (big, np.array([1.0, 0.0, 2.0]))))
    same(f, calls)


# ---- the program sets the modes: inside ----


def seterr_first(x, mode):
    old = np.seterr(all=mode)
    y = 1 / x
    z = y + x
    np.seterr(**old)
    return z


def seterr_between(x, mode):
    y = 1 / x
    z = y * 2
    old = np.seterr(divide=mode)
    w = 1 / x
    w = w + z
    np.seterr(**old)
    return w


def seterr_after(x, mode):
    y = x * 2
    z = 1 / x + y
    np.seterr(divide=mode)
    return z


def seterr_finally(x, mode):
    y = x + 1
    old = np.seterr(all=mode)
    try:
        y = y / x
        y = y * y
    finally:
        np.seterr(**old)
    return y + 1 / x


def errstate_given(x, mode):
    y = x + 1
    with np.errstate(divide=mode):
        y = y / x
    return y * 2


def errstate_nested(x, mode):
    with np.errstate(all="ignore"):
        y = 1 / x
        with np.errstate(divide=mode):
            z = 2 / x
        w = 3 / x
    return y + z + w


def errstate_caught(x, mode):
    y = x + 1
    try:
        with np.errstate(all=mode):
            y = y / x
    except FloatingPointError as error:
        return y * 2, str(error), np.geterr()
    return y


def errstate_call(x, mode):
    got = []
    with np.errstate(all=mode, call=lambda text, flag: got.append((text, flag))):
        y = x + 1
        y = y / x if mode != "log" else y
    return y * 2, got


def errstate_decorator(x, mode):
    @np.errstate(divide=mode)
    def inner(z):
        return 1 / z

    return inner(x) + 1 / (x + 1)


def seterrcall_inside(x, mode):
    got = Handler()
    old = np.seterrcall(got)
    with np.errstate(all=mode):
        y = x + 1
        y = y / x
    np.seterrcall(old)
    return y * 2, got.got


def geterr_inside(x, mode):
    y = x * 2
    before = np.geterr()
    with np.errstate(divide=mode):
        inside = np.geterr()
        z = 1 / x
    return y + z, before, inside, np.geterr()


def geterrcall_inside(x, mode):
    y = x * 2
    before = np.geterrcall()
    with np.errstate(divide=mode, call=None):
        inside = np.geterrcall()
        z = x / 2
    return y + z, before is HANDLER, inside, np.geterrcall() is HANDLER


def handler_changes(x, mode):
    """The handler is the program's code: what it changes is seen behind it."""
    state = [1.0]

    def handler(text, flag):
        state[0] += 1

    with np.errstate(divide=mode, call=handler):
        y = 1 / x if mode != "log" else x
        y = y + state[0]
    return y


def handler_raises(x, mode):
    def handler(text, flag):
        raise ValueError(text)

    y = x * 2
    with np.errstate(divide=mode, call=handler):
        z = 1 / x if mode != "log" else x
    return y + z


INSIDE = [
    seterr_first, seterr_between, seterr_after, seterr_finally, errstate_given, errstate_nested,
    errstate_caught, errstate_call, errstate_decorator, seterrcall_inside, geterr_inside,
    geterrcall_inside, handler_changes, handler_raises,
]  # fmt: skip


@pytest.mark.parametrize("function", INSIDE, ids=lambda f: f.__name__)
def test_modes_set_inside(function):
    calls = []
    for mode in MODES:
        calls += [({}, (QUIET, mode)), ({}, (VALUES["divide"], mode)), ({}, (QUIET, mode))]
    calls += [({"all": "raise"}, (VALUES["divide"], mode)) for mode in MODES]
    calls += [({"all": "ignore"}, (VALUES["divide"], mode)) for mode in MODES]
    same(function, calls, plans=False)


# ---- the program sets the modes: between calls ----


def test_the_state_of_the_process_changes_between_calls():
    def f(x):
        y = 1 / x
        return y + x

    before = np.geterr()
    compiled = pycompile.compile(f)
    sides = []
    for side in (f, compiled):
        found = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                for mode in MODES + MODES[::-1]:
                    np.seterr(divide=mode)
                    np.seterrcall(HANDLER)
                    found += [observe(side, (x,), caught) for x in (QUIET, VALUES["divide"])]
            finally:
                np.seterr(**before)
                np.seterrcall(None)
        sides.append(found)
    for plain, ours in zip(*sides, strict=True):
        assert differences(plain, ours) == []
    assert compiled.stats()["plan_runs"] > 0


def test_a_thread_has_a_state_of_its_own():
    def f(x):
        y = 1 / x
        return y + x

    compiled = pycompile.compile(f)
    x = VALUES["divide"]
    with np.errstate(all="ignore"):
        compiled(x)
        compiled(x)
        raised = []

        def other():
            with np.errstate(all="raise"):
                try:
                    compiled(x)
                except FloatingPointError as error:
                    raised.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert np.isinf(compiled(x)[1])
    assert raised == ["divide by zero encountered in divide"]


# ---- warnings: once per place, as the filter says ----


def two_places(x):
    y = 1 / x
    z = 1 / x
    return y + z


def in_a_loop(x):
    y = x * 0
    for _ in range(3):
        y = y + 1 / x
    return y


def inlined_twice(x):
    def inner(z):
        return 1 / z

    y = inner(x)
    return y + inner(x)


@pytest.mark.parametrize("action", ["default", "always", "once", "module", "ignore", "error"])
@pytest.mark.parametrize("function", [two_places, in_a_loop, inlined_twice, all_kinds])
def test_filters(function, action):
    loud = (VALUES["divide"],)
    calls = [({}, args) for args in ((QUIET,), loud, (QUIET,), loud, loud, (QUIET,), loud)]
    seen = same(function, calls, action=action)
    if action == "default":
        assert [bool(s.warned) for s in seen] == [False, True] + [False] * 5


def test_warnings_have_the_category_text_and_line_of_numpy():
    seen = same(two_places, [({}, (QUIET,)), ({}, (VALUES["divide"],))], action="default")
    first = two_places.__code__.co_firstlineno
    told = "divide by zero encountered in divide"
    assert seen[1].warned == [
        (RuntimeWarning, told, __file__, first + 1),
        (RuntimeWarning, told, __file__, first + 2),
    ]


CONSTANTS = {
    "f64 to i64": "np.float64(1e39).astype('i8')",
    "f64 to i32": "np.float64(1e10).astype('i4')",
    "a NaN to i32": "np.float64(np.nan).astype('i4')",
    "f32 to i64": "np.float32(-1e30).astype('i8')",
    "f64 to f32": "np.float64(1e39).astype('f4')",
    "c128 to c64": "np.complex128(1e39).astype('c8')",
}


@pytest.mark.parametrize("constant", CONSTANTS.values(), ids=CONSTANTS)
def test_casts_of_constants(constant):
    """The C compiler, which knows the number, neither warns nor has the machine's bits."""
    names = {"np": np}
    exec(f"def cast(x):\n    return np.where(x > 1, x + 1, {constant}) + x", names)
    check(names["cast"], np.arange(4), calls=2, captured=False)


CLEARING = ["np.clip(a, -1, 2.5)", "np.maximum(a, 1)", "a > 1", "np.isnan(a)", "np.sign(a)"]


@pytest.mark.parametrize("after", CLEARING)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_ufunc_that_clears_flags_clears_no_others(after, dtype):
    names = {"np": np}
    exec(f"def twice(x):\n    a = (x - 1) * 2\n    return a, {after}, a + 1", names)
    large = np.array([np.finfo(dtype).max, 1, 2, 3], dtype)
    check(names["twice"], large, calls=3)
