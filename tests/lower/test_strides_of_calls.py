"""NumPy's loops take other ways (vector or scalar, with other bits) when memory runs backwards, when
half floats do not lie dense, when an exponent is one number: compiled calls take the same ones."""

import numpy as np
import pytest
from numpy_cases import function

import pycompile

N = 203
UNARY = ["exp", "log", "sin", "cos", "tanh", "arctan", "expm1", "log10", "cbrt", "sinh"]
LAYOUTS = {
    "x": lambda a: a,
    "x[::2]": lambda a: np.repeat(a, 2)[::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "columns reversed": lambda a: a.reshape(7, 29)[:, ::-1].copy()[:, ::-1],
    "turned": lambda a: a.reshape(7, 29).T.copy().T,
    "both reversed": lambda a: a.reshape(7, 29)[::-1, ::-1],
}


def values(dtype, seed=0):
    return np.random.default_rng(seed).uniform(0.01, 5, N).astype(dtype)


def same_bits(case, *args):
    """Each call on copies that keep their layout."""
    compiled = pycompile.compile(case)
    for _ in range(2):
        own = [keep_layout(a) for a in args], [keep_layout(a) for a in args]
        plain, actual = case(*own[0]), compiled(*own[1])
        for a, b in zip((*plain, *own[0]), (*actual, *own[1]), strict=True):
            assert np.shape(a) == np.shape(b)
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def keep_layout(array):
    if not isinstance(array, np.ndarray) or array.flags.owndata:
        return array.copy() if isinstance(array, np.ndarray) else array
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    offset = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, whole.copy(), offset, array.strides)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "D"])
def test_unary(dtype, layout):
    x = LAYOUTS[layout](values(dtype))
    names = UNARY[:5] if dtype == "D" else UNARY
    same_bits(function(*(f"np.{name}(x) + 1" for name in names), "np.abs(x)"), x, None)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_binary(dtype, layout):
    x, y = (LAYOUTS[layout](values(dtype, seed)) for seed in (0, 1))
    case = function("x ** y", "np.arctan2(x, y) * 2", "np.hypot(x, x[:1])", "np.power(x, y[:1])")
    same_bits(case, x, y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_written_backwards(dtype):
    x = values(dtype)
    same_bits(function("y[::-1] = np.exp(x)", "np.log(y[::-1])", "y"), x, values(dtype, 1))
    same_bits(function("np.exp(x, out=y[::-1])", "y"), x, values(dtype, 1))
    same_bits(function("x[::-1] **= 2.5", "x"), x, None)


def test_exponents_that_are_one_number_or_an_array_of_it():
    x = np.array([-0.0, 0.0, 2.0, 3.7, np.inf] * 40)
    lines = [f"np.power(x, np.full({n}, {p}))" for n in (200,) for p in (0.5, 2.0, 2.5)]
    same_bits(function(*lines, "np.power(x, 0.5)", "np.power(x, y)"), x, np.full(200, 0.5))


@pytest.mark.slow
def test_blocks_and_tails():
    for n in (1, 7, 2047, 2048, 2049, 6001):
        x = np.random.default_rng(n).uniform(0.01, 5, n)
        case = function(*(f"np.{name}(x * 1.25)" for name in UNARY), "x ** 1.7")
        same_bits(case, x, None)
        same_bits(case, x.astype("f4"), None)


REVERSED = {
    "x[::-1]": lambda: np.arange(12.0)[::-1],
    "rows": lambda: np.arange(12.0).reshape(3, 4)[::-1],
    "both, by 2": lambda: np.arange(48.0).reshape(6, 8)[::-2, ::-2],
}


@pytest.mark.parametrize("array", REVERSED.values(), ids=REVERSED)
def test_writes_to_reversed_arrays_that_are_read_too(array):
    same_bits(function("x[::-1] += x", "x.sum()", "x * 2"), array(), None)
    same_bits(function("x[1:] += x[:-1]", "x + 1", "x[::-1] * 2"), array(), None)
    same_bits(function("x[0] = 5", "x[-1] = x[0]", "x.max()", "np.exp(x)"), array(), None)
    same_bits(function("x *= 2", "x[:1] -= 1", "x.T.copy()", "x @ x.T"), array(), None)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "D"])
@pytest.mark.parametrize("copy", ["x.copy()", "x.copy(order='F')", "np.flip(x).ravel()"])
def test_a_copy_of_what_runs_backwards(dtype, copy):
    names = UNARY[:5] if dtype == "D" else UNARY
    case = function(*(f"np.{name}({copy})" for name in names), copy)
    for layout in ("reversed", "columns reversed", "both reversed", "turned"):
        same_bits(case, LAYOUTS[layout](values(dtype)), LAYOUTS[layout](values(dtype)))


@pytest.mark.parametrize("dtype", ["F", "D", "f2"])
@pytest.mark.parametrize("shape", [(1,), (1, 1), (2,)])
def test_products_of_one_element(dtype, shape):
    case = function("x * y", "(x ** y) * x", "x.copy() * x", "np.square(x)", "x / y", "x * 2")
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, y = (
            (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
            if dtype != "f2"
            else rng.uniform(0.5, 2, shape).astype(dtype)
            for _ in range(2)
        )
        same_bits(case, x, y)
