"""Arguments that NumPy refuses, or takes in another way, of functions that are followed by rules."""

import numpy as np
import pytest
from differential import check
from numpy_cases import function

X = np.arange(6.0)
CALLS = [
    "np.diff(x, axis=1)",
    "np.diff(y, axis=2)",
    "np.diff(y, axis=-3)",
    "np.diff(np.array(2.5))",
    "np.diff(np.float64(2))",
    "np.diff(y, axis=1.0)",
    "np.diff(y, True, 0)",
    "np.roll(x, 1, axis=-2)",
    "np.roll(y, 1, axis=-3)",
    "np.roll(y, 1, axis=2)",
    "np.roll(y, 1.5, axis=1)",
    "np.roll(y, 1, axis=True)",
    "np.meshgrid(x, x, indexing='xz')",
    "np.split(x, 0)",
    "np.split(x, 4)",
    "np.split(y, 2, axis=3)",
]


@pytest.mark.parametrize("text", CALLS)
def test_as_numpy_takes_them(text):
    check(function(text, "x, y"), X, X.reshape(2, 3), captured=False)


SQUARE = np.arange(9.0).reshape(3, 3)
BY_ARRAYS = [
    "np.flip(x, y)",
    "np.transpose(x, y)",
    "x.swapaxes(y, 0)",
    "np.moveaxis(x, y, 0)",
    "np.moveaxis(x, 0, y)",
    "np.rollaxis(x, y)",
    "np.expand_dims(x, y)",
    "np.squeeze(x[:, :1], y)",
    "np.diagonal(x, y)",
    "np.rot90(x, y)",
    "np.split(x, y, axis=1)",
    "np.unstack(x, axis=y)",
    "np.broadcast_to(x[0], y)",
    "np.sum(x, axis=y)",
    "x.sum(keepdims=y)",
    "np.array(x, copy=y)",
    "x.astype(float, copy=y)",
    "np.broadcast_arrays(x[0, :1], y)",
]


@pytest.mark.parametrize("text", BY_ARRAYS)
@pytest.mark.parametrize(
    "y", [np.array(1), np.array([1]), np.array([1, 0]), np.array([True]), np.array(-1)], ids=repr
)
@pytest.mark.filterwarnings("ignore:future versions will not create a writeable array")
def test_an_array_where_a_number_is_usual(text, y):
    check(function(text, "x + 1"), SQUARE, y, captured=False)


def test_refused_by_the_values_of_an_array():
    def turned(x, order):
        try:
            return np.transpose(x, order), x + 1
        except ValueError:
            return x - 1

    for order in ([1, 0], [0, 0], [0, 2]):
        check(turned, SQUARE, np.array(order), captured=False)


@pytest.mark.parametrize("flag", [[0.0], [1.0], [0], [1], [False], [True]], ids=repr)
def test_whether_it_copies_is_read_from_an_array(flag):
    def copies(x, y):
        a, b = np.array(x, copy=y[0]), x.astype(float, copy=y[0])
        a[0] = 7
        b[1] = 8
        return a, b, x + 1

    check(copies, SQUARE, np.array(flag), captured=False)


VALUES = [
    None,
    True,
    0,
    1,
    -1,
    2,
    1.5,
    1j,
    np.int64(1),
    np.True_,
    np.array(1),
    np.array([1]),
    (0, 1),
    (1,),
    (True,),
    [0],
    2**70,
    -(2**63),
    "x",
    "C",
    "same_kind",
]
BY_ARGUMENT = [
    "np.flip(x, y)",
    "np.argmax(x + 1, axis=y)",
    "(x + 1).argmin(axis=y, keepdims=True)",
    "x.sum(keepdims=y)",
    "x.min(axis=0, keepdims=y)",
    "np.any(x, keepdims=y)",
    "np.argmax(x, keepdims=y)",
    "x.sum(where=y)",
    "x.mean(where=y)",
    "x.max(initial=y)",
    "x.var(axis=0, ddof=y)",
    "np.var(x, correction=y)",
    "np.zeros(y)",
    "np.full(y, 1.5)",
    "np.ndarray(y).shape",
    "np.ndarray((2, 3), y).dtype",
    "np.ndarray((2, 3), order=y).strides",
    "np.ndarray((2, 3), float, None, y).shape",
    "np.ones((2, y))",
    "x.reshape(y)",
    "x.reshape(2, y)",
    "np.broadcast_to(x[0], y)",
    "x.astype('f4', casting=y)",
    "x.astype('f4', order=y)",
    "x.astype('f4', subok=y)",
    "x.astype(y)",
    "x.astype(float, copy=y) is x",
    "np.asarray(x, copy=y) is x",
    "np.array(x, ndmin=y)",
    "np.array(x, subok=y)",
    "np.concatenate((x, x), casting=y)",
    "np.add(x, x, casting=y)",
    "np.add(x, x, subok=y)",
    "np.clip(x, 0, 1, casting=y)",
    "x.round(y)",
    "round(x[0, 0], y)",
    "round(x[0, 0].astype('c16'), y)",
    "round(x[0, 0] > 0, y)",
    "x.item(0, y)",
    "x[:, :1].item(y)",
    "x[:, :1].item((y,))",
    "np.flip(y)",
]


@pytest.mark.parametrize("text", BY_ARGUMENT)
def test_any_value_as_an_argument(text):
    for dtype in ("f8", "i4"):
        for value in VALUES:
            array = np.arange(1, 7).reshape(2, 3).astype(dtype)
            check(function(text, "x + 1"), array, value, captured=False)


def test_a_cast_that_the_named_rule_forbids():
    for casting in ("same_kind", "safe", "unsafe", "no"):
        check(function("x.astype('i4', casting=y)", "x + 1"), X, casting, captured=False)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_a_scalar_type_called_on_an_array_of_its_dtype(dtype):
    def added(x, y):
        b = np.float64(x)
        c = np.float64(y)
        b += 1
        c += 1
        return x, b, b is x, y, c

    check(added, X.astype(dtype), X[::-1].astype(dtype))


LAYOUTS = {
    "rows": np.arange(6.0).reshape(2, 3),
    "columns": np.arange(6.0).reshape(3, 2).T,
    "backwards": np.arange(6.0).reshape(2, 3)[:, ::-1],
    "turned": np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
    "empty": np.empty((4, 0, 3)).T,
    "thin": np.arange(3.0).reshape(1, 3).T,
}


@pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS)
def test_roll_is_laid_out_as_its_argument_is(x):
    for axis in (0, 1, -1):
        check(function("np.roll(x + 1, 1, axis=y)", "np.roll(x, -1, y)"), x, axis, captured=False)


def test_no_initial_value():
    for name in ("sum", "prod", "max"):
        for array in (X, X[:0]):
            check(function(f"x.{name}(initial=None)", "x + 1"), array, 0, captured=False)


CAUGHT = [
    "np.meshgrid(x[0], y)",
    "np.atleast_2d(y, x)",
    "np.atleast_1d(x, y)",
    "np.roll(x, y)",
    "np.roll(x, y, 0)",
    "np.split(x, y)",
    "np.diff(x, axis=y)",
    "np.zeros(y)",
    "x.reshape(y)",
    "x.transpose(y)",
    "x.item(0, y)",
    "x.any(dtype=y)",
    "np.concatenate((x, x), dtype=y)",
]


@pytest.mark.parametrize("text", CAUGHT)
def test_what_is_raised_is_told_to_a_handler(text):
    namespace = {"np": np}
    exec(
        "def caught(x, y):\n"
        "    try:\n"
        f"        r = {text}\n"
        "    except Exception as error:\n"
        "        r = type(error).__name__, str(error)\n"
        "    return r, x + 1\n",
        namespace,
    )
    for value in VALUES:
        check(namespace["caught"], X.reshape(2, 3), value, captured=False)
