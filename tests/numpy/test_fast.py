"""numerics="fast": within the bounds that docs/numerics.md gives, and nothing else differs."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _C

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "make_numerics.py"
_spec = importlib.util.spec_from_file_location("make_numerics", PAGE)
numerics = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(numerics)

pytestmark = pytest.mark.optimised  # what is not, is not fast
RNG = np.random.default_rng(0)
ULPS = 4  # libmvec's own bound
CPU = pathlib.Path("/proc/cpuinfo").read_text()


def fast(function, **options):
    return pycompile.compile(
        function, numerics="fast", fullgraph=True, options={"plan_always": True, **options}
    )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", numerics.FUNCTIONS)
def test_errors_are_bounded(name, dtype):
    args = numerics.arguments(name, dtype, 10_003)  # not a whole number of vectors
    made = numerics.fast(name)(*args)
    assert made.dtype == dtype and made.shape == (10_003,)
    assert numerics.error(name, made, args) <= ULPS


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(300, 7), (300, 100), (31, 1003), (3, 20_011), (1, 300_007)])
@pytest.mark.parametrize("name", numerics.REDUCTIONS)
def test_errors_of_sums_are_bounded(name, shape, dtype):
    x = numerics.rows_of(shape, dtype)
    made = numerics.fast_reduction(name)(x)
    assert made.dtype == dtype and made.shape == shape[:-1]
    assert numerics.error_of_rows(name, made, x) <= 4


def test_sums_are_in_another_order():
    """Else the bounds above are NumPy's own."""
    x = numerics.rows_of((100, 1000), "f4")
    differ = [
        (numerics.fast_reduction(name)(x) != numerics.REDUCTIONS[name](x)).any()
        for name in numerics.REDUCTIONS
    ]
    assert all(differ)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), (1, 2), 2])
def test_sums_and_products_over_any_axes(axis):
    def function(x):
        return x.sum(axis=axis), (x * 0.1 + 1).prod(axis=axis), x.std(axis=axis), x.max(axis=axis)

    for dtype in ("f4", "f8"):
        x = RNG.standard_normal((6, 50, 37)).astype(dtype)
        for made, wanted in zip(fast(function)(x), function(x.astype("g"))):
            assert made.dtype == dtype
            np.testing.assert_allclose(
                made, wanted.astype(dtype), rtol=3e-4 if dtype == "f4" else 1e-12, atol=1e-5
            )


def test_odd_sums():
    """Infinities and NaNs come through, whatever the order; nothing is not 0 times something."""

    def function(x):
        return x.sum(axis=1), x.prod(axis=1), x.mean(axis=1)

    x = np.ones((5, 100), "f4")
    x[0, 3], x[1, 99], x[2, 50], x[2, 51], x[3] = np.inf, np.nan, np.inf, -np.inf, -0.0
    with np.errstate(all="ignore"):
        for made, wanted in zip(fast(function)(x), function(x)):
            np.testing.assert_array_equal(made, wanted)


SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    5e-324,
    1e-40,
    1e300,
    -1e300,
    710.0,
    -750.0,
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", [n for n, b in numerics.FUNCTIONS.items() if len(b) == 1])
def test_special_values(name, dtype):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL * 5).astype(dtype)
        made, wanted = numerics.fast(name)(x), getattr(np, name)(x) * 1.0
    assert (np.isnan(made) == np.isnan(wanted)).all()
    assert (np.isinf(made) == np.isinf(wanted)).all()
    finite = np.isfinite(wanted)
    assert (np.signbit(made) == np.signbit(wanted))[~np.isnan(wanted)].all()
    spacing = np.spacing(np.abs(wanted[finite])) * 2 * ULPS
    assert (np.abs(made[finite].astype("f8") - wanted[finite]) <= spacing).all()


def mixed(x, n, y):
    z = np.exp(x) * np.sin(y) + n
    return np.where(z > 1, np.log(z + 2), np.tanh(x)), z.sum(), np.sqrt(y) + np.power(x, 3)


def test_other_results_are_alike():
    x, y = RNG.standard_normal((2, 5, 1003))
    args = x.astype("f4"), np.arange(1003), y**2
    for made, wanted in zip(fast(mixed)(*args), mixed(*args), strict=True):
        assert type(made) is type(wanted) and made.dtype == wanted.dtype
        assert made.shape == wanted.shape and made.strides == wanted.strides
        assert np.allclose(made, wanted, rtol=1e-5, atol=1e-6)


def chain(x, y, z):
    return x * y + z


def test_contraction():
    """a * b - c where c is the rounded product: 0, or what rounding has dropped."""
    x, y = RNG.uniform(1, 2, (2, 1000))
    z = -(x * y)
    made = fast(chain)(x, y, z)
    exact = (x.astype(np.longdouble) * y + z).astype("f8")
    assert (chain(x, y, z) == 0).all()
    assert (pycompile.compile(chain)(x, y, z) == 0).all()
    if "fma" in CPU:
        assert np.abs(made - exact).max() <= 2.0**-62  # of the wider type's own rounding
    else:
        assert not made.any()


def test_no_warnings_from_kernels():
    def quotient(x):
        return np.log(x) / x + np.exp(x * 1000)

    x = np.array([0.0, 1.0, -1.0, 2.0] * 9)
    with np.errstate(all="ignore"):
        wanted = quotient(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = fast(quotient)
        for _ in range(3):
            made = compiled(x)
    assert compiled.stats()["deopts"] == 0
    assert np.array_equal(np.isnan(made), np.isnan(wanted))
    assert np.array_equal(np.isinf(made), np.isinf(wanted))


def test_integers_warn_as_ever():
    def total(x):
        return np.int32(2**31 - 1) * np.int32(x.shape[0]) + (x * 2).sum()

    with pytest.warns(RuntimeWarning, match="overflow"):
        fast(total)(np.ones(3))


def test_both_in_one_process():
    def both(x):
        return np.sin(x) * x + 1.0

    x = RNG.uniform(-30, 30, 5000)
    exact, quick = pycompile.compile(both), fast(both)
    for _ in range(2):
        assert exact(x).tobytes() == both(x).tobytes()
        assert np.allclose(quick(x), both(x), rtol=1e-14)
    assert quick(x).tobytes() != both(x).tobytes()  # else the test shows nothing


def test_the_graph_says_so():
    text = """
    %0: f64[100] = input(0)
    %1: f64[100] = multiply(%0, %0)
    numerics fast
    outputs %1
    """
    assert "numerics fast\noutputs" in str(pycompile.Graph.parse(text))
    assert "fp-contract=fast" in _C.lower_graph(text)[1]
    assert "fp-contract=fast" not in _C.lower_graph(text.replace("numerics fast", ""))[1]
    x = np.ones(100)
    graphs = pycompile.explain(chain, numerics="fast")(x, x, x).graphs
    assert ["numerics fast" in str(graph) for graph in graphs] == [True]


def test_wrong_values():
    for value in ("quick", 3, True):
        with pytest.raises((ValueError, TypeError), match="numerics"):
            pycompile.compile(chain, numerics=value)
    with pytest.raises(ValueError, match="given twice"):
        pycompile.compile(chain, numerics="fast", options={"numerics": "numpy"})
    assert pycompile.compile(chain, options={"numerics": "fast"})(2.0, 3.0, 1.0) == 7.0


@pytest.mark.parametrize(
    ("said", "same", "warns"), [("fast", False, ""), ("quick", True, "ignored")]
)
def test_the_variable(said, same, warns):
    code = """
import numpy as np, pycompile
def f(x): return np.sin(x) * x + 1.0
x = np.random.default_rng(0).uniform(-30, 30, 50000)
print(pycompile.compile(f)(x).tobytes() == f(x).tobytes())
print(pycompile.compile(f, numerics="numpy")(x).tobytes() == f(x).tobytes())
"""
    child = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYCOMPILE_NUMERICS": said},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert child.stdout.split() == [str(same), "True"], child.stderr
    assert warns in child.stderr


@pytest.mark.parametrize("name", ["cbrt", "expm1", "log1p", "exp2"])
def test_ufuncs_of_other_libraries_are_theirs(name):
    special = pytest.importorskip("scipy.special")
    ufunc = getattr(special, name)
    assert ufunc is not getattr(np, name) and ufunc.__name__ == name
    x = RNG.uniform(0.1, 20, 3001)
    made = fast(lambda x: ufunc(x) * 1.0)(x)
    assert made.tobytes() == ufunc(x).tobytes()
