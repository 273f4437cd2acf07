"""Exceptions have the type, text, traceback and context that they have in plain Python.

Each function does array work first, so that a plan has run before the exception (or was given up for
it: a deopt).  GOOD arguments, where a case has them, warm the function up with a call that succeeds.
"""

import warnings

import numpy as np
import pytest
from differential import check

X = np.linspace(0.5, 2.0, 12).reshape(3, 4)
COUNTS = np.arange(12).reshape(3, 4)


def value_error(x):
    y = x * 2 + 1
    raise ValueError(f"sum is {y.shape}")


def custom_exception(x):
    y = x * 2 + 1
    raise Odd(y.ndim, "odd")


class Odd(Exception):
    def __init__(self, number, text):
        super().__init__(number, text)
        self.number = number


def raise_from(x):
    y = x + 1
    try:
        return y[100]
    except IndexError as error:
        raise KeyError("gone") from error


def raise_in_handler(x):
    y = x + 1
    try:
        return y[100]
    except IndexError:
        return {}["missing"]


def raise_from_none(x):
    y = x + 1
    try:
        raise KeyError(1)
    except KeyError:
        raise RuntimeError(str(y.dtype)) from None


def shape_mismatch(x, y):
    z = x * 2 + 1
    return z + y


def matmul_mismatch(x, y):
    z = x - 0.5
    return z @ y


def index_out_of_range(x, i):
    y = x + x
    return y[i]


def index_too_many(x):
    y = x + x
    return y[0, 0, 0]


def index_by_float(x):
    y = x * 3
    return y[1.5]


def axis_out_of_range(x):
    y = x * 3
    return y.sum(axis=2)


def bad_reshape(x):
    y = x * 3
    return y.reshape(5, 5)


def bad_broadcast_write(x, y):
    x += 1
    x[:2] = y
    return x


def read_only(x):
    y = x * 2
    x[0] = y[1]
    return y


def writes_before_error(x, y):
    x *= 2
    x[0] = 7
    y["n"] = 1
    raise ValueError("after the writes")


def unknown_attribute(x):
    y = x + 1
    return y.no_such_attribute


def unknown_global(x):
    y = x + 1
    return y * no_such_name  # noqa: F821


def unbound_local(x, flag):
    y = x + 1
    if flag:
        z = 1
    return y + z


def unknown_numpy_function(x):
    y = x + 1
    return np.no_such_function(y)


def unknown_keyword(x):
    y = x + 1
    return y.sum(axes=1)


def wrong_argument_count(x):
    def helper(a, b):
        return a + b

    y = x + 1
    return helper(y)


def call_of_none(x, f):
    y = x + 1
    return f(y)


def truth_of_array(x):
    y = x + 1
    if y > 1:
        return 1
    return 2


def truth_of_empty(x):
    y = x * 2
    if y:
        return 1
    return 2


def float_of_array(x):
    y = x + 1
    return float(y)


def int_of_nan(x):
    y = x * np.nan
    return int(y.sum())


def zero_division(x, n):
    y = x + 1
    return y, 1 // n


def float_division(x, d):
    y = x + 1
    return y * (1.0 / d)


def int_overflow(x, n):
    y = x.astype(np.int8) + 1
    return y + n


def huge_int(x, n):
    y = x * 2
    return y + n


def in_place_casting(x, y):
    z = y + 0.5
    x += z
    return x


def bitwise_on_float(x):
    y = x + 1
    return y & 1


def not_a_ufunc_type(x):
    y = x + 1
    return y + "text"


def failed_assert(x):
    y = x + 1
    assert y.ndim == 3, "three axes"
    return y


def unpack_too_many(x):
    y = x + 1
    a, b = y
    return a + b


def unpack_not_iterable(x, n):
    y = x + 1
    a, b = n
    return y + a + b


def missing_key(x, d):
    y = x + 1
    return y * d["scale"]


def list_index(x, items):
    y = x + 1
    return y * items[9]


def slice_step_zero(x):
    y = x + 1
    return y[::0]


def floating_point_raise(x):
    with np.errstate(divide="raise"):
        y = x - x
        return 1 / y


def floating_point_raise_outside(x):
    y = x - x
    return 1 / y


def warning_as_error(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = x - x
        return 1 / y


def linalg_error(x):
    y = x * 0
    return np.linalg.inv(y)


def concatenate_mismatch(x):
    y = x + 1
    return np.concatenate([y, y.T])


def inner_function(x):
    def inner(y):
        z = y * 2
        return z[10]

    w = x + 1
    return inner(w)


def two_levels(x):
    return level_one(x + 1) * 2


def level_one(y):
    return level_two(y * 2)


def level_two(z):
    w = z - 1
    raise LookupError("two down", w.shape)


def loop_third_time(x, items):
    total = x * 0
    for item in items:
        total = total + x * item
    return total


def loop_index(x, y, n):
    for i in range(1, n):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def finally_runs(x, log):
    y = x + 1
    try:
        return y[100]
    finally:
        log.append(y.shape)


def swallowed(x, log):
    y = x + 1
    try:
        y[100]
    except IndexError as error:
        log.append(str(error))
    return y * 2


def else_and_finally(x, log):
    y = x + 1
    try:
        z = y[1]
    except IndexError:
        log.append("no")
    else:
        log.append(z.shape)
        raise StopIteration("done")
    finally:
        log.append("finally")


def system_exit(x):
    y = x + 1
    raise SystemExit(int(y.size))


def with_note(x):
    y = x + 1
    error = ValueError("noted")
    error.add_note(f"shape {y.shape}")
    raise error


def exception_group(x):
    y = x + 1
    raise ExceptionGroup("two", [ValueError(y.ndim), KeyError("k")])


def getattr_raises(x, box):
    y = x + 1
    return y * box.value


class Box:
    @property
    def value(self):
        raise PermissionError("not this one")


def sequence_to_array(x):
    y = x + 1
    return y + np.array([[1, 2], [3]])


def readonly(x):
    x = x.copy()
    x.flags.writeable = False
    return x


V = np.linspace(1.0, 2.0, 5)

# (function, arguments, further arguments that succeed or fail otherwise)
CASES = [
    (value_error, (X,), ()),
    (custom_exception, (X,), ()),
    (raise_from, (X,), ()),
    (raise_in_handler, (X,), ()),
    (raise_from_none, (X,), ()),
    (shape_mismatch, (X, X), ((X, X.T), (X, V))),
    (matmul_mismatch, (X, X.T), ((X, X), (X, V))),
    (index_out_of_range, (X, 1), ((X, 7), (X, -9))),
    (index_too_many, (X,), ()),
    (index_by_float, (X,), ()),
    (axis_out_of_range, (X,), ()),
    (bad_reshape, (X,), ()),
    (bad_broadcast_write, (X, X[0]), ((X, V),)),
    (read_only, (X,), ((readonly(X),),)),
    (writes_before_error, (X, {}), ()),
    (unknown_attribute, (X,), ()),
    (unknown_global, (X,), ()),
    (unbound_local, (X, True), ((X, False),)),
    (unknown_numpy_function, (X,), ()),
    (unknown_keyword, (X,), ()),
    (wrong_argument_count, (X,), ()),
    (call_of_none, (X, np.sum), ((X, None),)),
    (truth_of_array, (X,), ()),
    (truth_of_empty, (np.zeros((0, 3)),), ()),
    (float_of_array, (X,), ()),
    (int_of_nan, (X,), ()),
    (zero_division, (X, 2), ((X, 0),)),
    (float_division, (X, 2.0), ((X, 0.0),)),
    (int_overflow, (X, 2), ((X, 300),)),
    (huge_int, (COUNTS, 3), ((COUNTS, 2**80), (X, 2**80))),
    (in_place_casting, (COUNTS, X), ()),
    (bitwise_on_float, (X,), ()),
    (not_a_ufunc_type, (X,), ()),
    (failed_assert, (X,), ()),
    (unpack_too_many, (X,), ()),
    (unpack_not_iterable, (X, (1, 2)), ((X, 3),)),
    (missing_key, (X, {"scale": 2.0}), ((X, {}),)),
    (list_index, (X, [1]), ()),
    (slice_step_zero, (X,), ()),
    (floating_point_raise, (X,), ()),
    (floating_point_raise_outside, (X,), ()),
    (warning_as_error, (X,), ()),
    (linalg_error, (np.eye(3),), ()),
    (concatenate_mismatch, (X,), ()),
    (inner_function, (X,), ()),
    (two_levels, (X,), ()),
    (loop_third_time, (X, [1, 2.5, X]), ((X, [1, 2.5, V]), (X, [1, "a"]))),
    (loop_index, (V, V * 0, 5), ((V, V * 0, 9), (V, V * 0, 6))),
    (finally_runs, (X, []), ()),
    (swallowed, (X, []), ()),
    (else_and_finally, (X, []), ()),
    (system_exit, (X,), ()),
    (with_note, (X,), ()),
    (exception_group, (X,), ()),
    (getattr_raises, (X, Box()), ()),
    (sequence_to_array, (X,), ()),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_exception(case):
    function, args, also = case
    check(function, *args, also=also, captured=False)


@pytest.mark.slow
def test_plans_run_before_exceptions():
    """The cases above prove something: plans were made for nearly all of them."""
    from differential import compiled_calls

    import pycompile

    ran = []
    for function, args, _ in CASES:
        pycompile.reset()
        compiled = pycompile.compile(function)
        for _ in range(2):
            try:
                compiled(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])
            except BaseException:
                pass
        if compiled_calls(compiled):
            ran.append(function.__name__)
    assert len(ran) >= 30, ran


def test_floating_point_raise_set_by_the_caller():
    with np.errstate(all="raise"):
        check(floating_point_raise_outside, X, captured=False)


def test_keyboard_interrupt_comes_through():
    import pycompile

    @pycompile.compile
    def f(x):
        y = x + 1
        raise KeyboardInterrupt(y.shape)

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            f(X)


def test_traceback_holds_no_frame_of_ours():
    import traceback

    import pycompile

    f = pycompile.compile(two_levels)
    for _ in range(3):
        try:
            f(X)
        except LookupError as error:
            names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        assert names == [
            "test_traceback_holds_no_frame_of_ours",
            "two_levels",
            "level_one",
            "level_two",
        ]


def test_arguments_that_do_not_fit():
    def f(a, b=2, *, c):
        return a + b + c

    for args, kwargs in [
        ((), {}),
        ((1, 2, 3), {}),
        ((X,), {}),
        ((X,), {"c": 1, "d": 2}),
        ((X,), {"a": 1, "c": 1}),
    ]:
        check(f, *args, captured=False, **kwargs)
