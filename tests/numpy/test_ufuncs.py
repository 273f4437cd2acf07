"""Every ufunc of NumPy over every dtype and layout, with values at the edges.

Generated: many calls in one function, so that few kernels are compiled.  PYCOMPILE_TEST_ALL=1 runs all
pairs of dtype and layout; otherwise each dtype meets some of the layouts, each layout some dtypes.
"""

import os
import warnings

import numpy as np
import op_cases
import pytest
from differential import check
from numpy_cases import function

#: All layouts of every dtype, not some of each.
ALL = os.environ.get("PYCOMPILE_TEST_ALL", "0") not in ("", "0")


def _layouts(dtypes, some):
    names = list(op_cases.LAYOUTS)
    return [
        (dtype, name)
        for i, dtype in enumerate(dtypes)
        for k, name in enumerate(names)
        if ALL or (k + 3 * i) % len(names) < some
    ]


def _compare(lines, layout, dtype, other=None, size=30):
    x, y = op_cases.operands(dtype, layout, other)
    captured = layout != "unaligned"
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", op_cases.ComplexWarning)
        for batch in op_cases.batches(op_cases.fits(lines, x, y), size):
            check(function(*batch), x, y, calls=1, captured=captured, whole=captured)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "layout"), _layouts(op_cases.DTYPES, 4))
def test_ufuncs(dtype, layout):
    _compare(op_cases.calls(dtype), layout, dtype)


MIXED = ["?b", "bB", "hf", "iI", "lQ", "qf", "ef", "fd", "fD", "Bd", "Qi", "dF", "?e", "Hh"]


@pytest.mark.parametrize(("pair", "layout"), _layouts(MIXED, 2))
def test_ufuncs_of_two_dtypes(pair, layout):
    lines = [line for line in op_cases.calls(*pair) if "y" in line.rpartition("(")[2]]
    _compare(lines, layout, *pair)


TARGETS = {
    "forward": "np.zeros(x.shape, '{0}')",
    "strided": "np.zeros((*x.shape[:-1], 2 * x.shape[-1]), '{0}')[..., ::2]",
    "Fortran order": "np.zeros(x.shape, '{0}', 'F')",
    "backwards": "np.zeros(x.shape, '{0}')[::-1]",
    "larger": "np.zeros((2, *x.shape), '{0}')",
    "wider": "np.zeros((*x.shape, 1), '{0}')[..., 0] if x.shape[-1] > 1 else np.zeros((*x.shape[:-1], 5), '{0}')",
}
BACKWARDS = {
    "one axis": lambda a: a[::-1],
    "two axes": lambda a: a.reshape(6, 12)[::-1, ::-1],
    "one column": lambda a: a[::-1].reshape(72, 1),
    "one element": lambda a: a[5:4:-1],
    "every other": lambda a: a[::2],
}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", BACKWARDS)
def test_targets_beside_operands_that_run_backwards(layout, target):
    """Loops of NumPy's have other bits for other strides, which a target at hand changes."""
    rng = np.random.default_rng(7)
    for first, second, made in ("fff", "eff", "fdd", "ddd", "DdD", "fdD", "DDD"):
        both = rng.normal(size=(2, 72)) * 3
        x, y = (
            (v + v[::-1] * 1j if k == "D" else v).astype(k) for v, k in zip(both, (first, second))
        )
        x, y = BACKWARDS[layout](x), BACKWARDS[layout](y)
        lines = []
        for name in "arctan2 power hypot exp exp2 log1p tanh sqrt cbrt square absolute".split():
            args = "x, y" if getattr(np, name).nin == 2 else "x"
            lines += [f"t = {TARGETS[target].format(made)}; np.{name}({args}, out=t)", "t"]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(function(*op_cases.fits_together(lines, x, y, 2)), x, y, calls=1, captured=False)


@pytest.mark.parametrize(
    "target", ["(4, 36), 'f'", "(1, 36), 'f'", "(4, 36), 'd'", "(4, 36), 'f', 'F'"]
)
def test_zeros_by_position_in_the_target(target):
    """Which of two zeros comes out depends on the position in NumPy's loop, which runs over the target."""
    lines = []
    for name in ("fmax", "fmin"):
        for args in ("x, y", "y, x", "x[:, :1], y", "x[0], y", "x[0], y[0]", "np.asarray(0), x"):
            lines += [f"t = np.zeros({target}); np.{name}({args}, out=t)", "t"]
    x, y = np.zeros((1, 36), "f"), np.full((1, 36), -0.0, "f")
    x[0, ::3], y[0, ::3] = -0.0, 0.0
    for other in (y, y.astype("d")):
        good = op_cases.fits_together(lines, x, other, 2)
        check(function(*good), x, other, calls=2, captured=False)


KEYWORDS = [
    "np.{0}(x, y, out=z)",
    "np.{0}(x, y, out=(z,))",
    "np.{0}(x, y, z[::-1])",
    "np.{0}(x, y, where=x == y, out=z)",
    "np.{0}(x, y, dtype='d')",
    "np.{0}(x, y, dtype='F', casting='unsafe')",
    "np.{0}(x, y, order='F')",
    "np.{0}(x, y, casting='no', subok=False)",
    "np.{0}.reduce(x)",
    "np.{0}.reduce(x, axis=None)",
    "np.{0}.reduce(x, -1, keepdims=True)",
    "np.{0}.reduce(x, axis=0, dtype='d')",
    "np.{0}.reduce(x, axis=0, initial=1, where=x == x)",
    "np.{0}.accumulate(x)",
    "np.{0}.reduceat(x, [0, 1])",
    "np.{0}.outer(x, y[:2])",
    "np.{0}.at(z, 0, 1)",
    "np.{0}(x, y, out=x)",
    "np.{0}(y, x, out=y[...])",
]
NAMES = "add subtract multiply divide maximum fmin logical_or bitwise_and hypot".split()


@pytest.mark.parametrize(("dtype", "layout"), _layouts("i Q e f d D ?".split(), 2))
def test_keywords_and_methods_of_ufuncs(dtype, layout):
    some = NAMES if ALL else [name for i, name in enumerate(NAMES) if (i + len(layout)) % 3 == 0]
    for name in some:
        lines = []
        for i, line in enumerate(KEYWORDS):
            lines += [f"z = x.copy() if {i} % 2 else np.zeros_like(x, order='F')"]
            lines += [line.format(name), "z"]
        x, y = op_cases.operands(dtype, layout)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            good = op_cases.fits_together(lines, x, y, 3)
            check(function(*good, "x", "y"), x, y, calls=1, captured=False)


REDUCTIONS = """x.sum({0}) x.prod({0}) x.max({0}) x.min({0}) x.mean({0}) x.var({0}) x.std({0}) x.any({0})
x.all({0}) np.ptp(x,{0}) np.median(x,{0}) np.count_nonzero(x,{0}) np.nansum(x,{0}) np.nanmax(x,{0})
np.nanmean(x,{0}) np.nanstd(x,{0}) np.average(x,{0})""".split()
ONE_AXIS = """x.argmax({0}) x.argmin({0}) x.cumsum({0}) x.cumprod({0}) np.sort(x,{0}) np.argsort(x,{0})
np.nancumsum(x,{0}) np.diff(x,axis={0}) np.gradient(x,axis={0}) np.trapezoid(x,axis={0})
np.percentile(x,30,axis={0}) np.quantile(x,[.1,.5],axis={0},method='hazen') np.nanargmax(x,{0})
np.cumulative_sum(x,axis={0},include_initial=True) np.roll(x,1,{0}) np.flip(x,{0})+0""".split()


@pytest.mark.parametrize(("dtype", "layout"), _layouts(op_cases.DTYPES, 3))
def test_reductions_and_scans(dtype, layout):
    x, y = op_cases.operands(dtype, layout)
    axes = ["None", "0", "-1"] + (["(0, -1)", "None, keepdims=True"] if x.ndim > 1 else [])
    lines = [line.format(axis) for line in REDUCTIONS for axis in axes]
    lines += [line.format(axis) for line in ONE_AXIS for axis in ("0", "-1")]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with np.errstate(all="ignore"):
            lines = op_cases.fits(lines, x, y)
    _compare(lines, layout, dtype, size=40)


@pytest.mark.parametrize("layout", op_cases.LAYOUTS)
def test_warnings_of_floating_point_events(layout):
    """With NumPy's usual error state: each call by itself, as the first event ends a plan."""
    x, y = op_cases.operands("d", layout)
    for line in ("np.divide(x, y)", "np.exp(x)", "np.multiply(x, x)", "np.log(x)", "x.sum()"):
        check(function("y * 0 == 0", line), x, y, calls=1, captured=False)
