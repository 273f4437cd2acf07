"""Each function of the rule table, over dtypes, layouts and shapes, empty ones and those of no axis among
them: what NumPy does without an error or a warning has a derivative that differences confirm."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from differences import check

from pycompile import DerivativeError, grad
from pycompile.derivatives import rules
from pycompile.derivatives.rules.methods import ACCUMULATE, REDUCE

# By the function's name: what is computed of a vector v, a matrix x, a square one s, a number f.
EXAMPLES = {
    "fft.fft": "np.fft.fft(x, axis={axis})",
    "fft.ifft": "np.fft.ifft(x, 5)",
    "fft.fft2": "np.fft.fft2(x)",
    "fft.ifft2": "np.fft.ifft2(x)",
    "fft.fftn": "np.fft.fftn(x, norm='ortho')",
    "fft.ifftn": "np.fft.ifftn(x)",
    "fft.rfft": "np.fft.rfft(x, axis={axis})",
    "fft.irfft": "np.fft.irfft(x)",
    "fft.rfft2": "np.fft.rfft2(x)",
    "fft.irfft2": "np.fft.irfft2(x)",
    "fft.rfftn": "np.fft.rfftn(x)",
    "fft.irfftn": "np.fft.irfftn(x)",
    "fft.fftshift": "np.fft.fftshift(x)",
    "fft.ifftshift": "np.fft.ifftshift(x, 0)",
    "linalg.inv": "np.linalg.inv(s)",
    "linalg.solve": "np.linalg.solve(s, s[:, 0]) + np.linalg.solve(s, s + 1)[0]",
    "linalg.det": "np.linalg.det(s)",
    "linalg.slogdet": "np.linalg.slogdet(s)[1]",
    "linalg.cholesky": "np.linalg.cholesky(s @ s.T.conj())",
    "linalg.eigh": "np.linalg.eigh(s + s.T.conj())[0]",
    "linalg.eigvalsh": "np.linalg.eigvalsh(s + s.T.conj())",
    "linalg.eig": "np.linalg.eig(s)[0].sum()",
    "linalg.eigvals": "np.linalg.eigvals(s).sum()",
    "linalg.svd": "np.linalg.svd(s, compute_uv=False)",
    "linalg.qr": "np.abs(np.linalg.qr(s)[1]).sum() + np.abs(np.linalg.qr(s[:2])[0] @ s[:2]).sum()",
    "linalg.pinv": "np.linalg.pinv(s)",
    "linalg.lstsq": "np.linalg.lstsq(s, s[0], rcond=None)[0]",
    "linalg.matrix_power": "np.linalg.matrix_power(s, 3) + np.linalg.matrix_power(s, -1)",
    "linalg.norm": "np.linalg.norm(x) + np.linalg.norm(x, axis={axis}).sum()",
    "linalg.cond": "np.linalg.cond(s)",
    "astype": "x.astype('c16') * 1j",
    "trace": "np.trace(x)",
    "sort": "np.sort(x, axis={axis})",
    "partition": "np.sort(np.partition(v, 1))",
    "real_if_close": "np.real_if_close(x.real + 0j)",
    "broadcast_to": "np.broadcast_to(x, (2, *x.shape))",
    "split": "np.split(x, 1)[0]",
    "array_split": "np.array_split(x, 2)[1]",
    "vsplit": "np.vsplit(x, 1)[0]",
    "hsplit": "np.hsplit(x, 1)[0]",
    "dsplit": "np.dsplit(x[:, :, None], 1)[0]",
    "take": "np.take(x, [0, -1, 0])",
    "take_along_axis": "np.take_along_axis(x, np.argsort(x.real, 1), 1)",
    "getitem": "x[x.real > 0.4] * 2",
    "repeat": "np.repeat(x, 2, axis={axis})",
    "tile": "np.tile(x, (2, 1))",
    "pad": "np.pad(x, 1, mode='wrap')",
    "diag": "np.diag(v) + np.diag(s).sum()",
    "diagflat": "np.diagflat(v, 1)",
    "tril": "np.tril(x)",
    "triu": "np.triu(x, 1)",
    "roll": "np.roll(x, 1, axis={axis})",
    "rot90": "np.rot90(x)",
    "nan_to_num": "np.nan_to_num(x)",
    "clip": "np.clip(x, min=0.3, max=f) + np.clip(x[x > 0.2], f - 2.2, None).sum()",
    "flat_get": "x.flat[[0, -1]]",
    "bincount": "np.bincount(np.arange(v.size) % 2, weights=v)",
    "tensordot": "np.tensordot(x, x, 2) + np.tensordot(x, x.T, 1).sum()",
    "dot": "np.dot(x, x.T) + np.dot(v, v)",
    "inner": "np.inner(x, x)",
    "vdot": "np.vdot(v, v * f)",
    "vecdot": "np.vecdot(x, x * f, axis=0)",
    "kron": "np.kron(x, v)",
    "cross": "np.cross(s, s + 1)",
    "convolve": "np.convolve(v, v[:2], 'same')",
    "correlate": "np.correlate(v, v[:2], 'full')",
    "interp": "np.interp(np.array([0.3, 1.2]), np.arange(v.size), v)",
    "polyval": "np.polyval(v, x)",
    "sinc": "np.sinc(x)",
    "angle": "np.angle(x * (1 + 2j))",
    "unwrap": "np.unwrap(v)",
    "vander": "np.vander(v, 3)",
    "sum": "np.sum(x, where=x.real > 0.3)",
    "mean": "np.mean(x, axis={axis}, where=x.real > 0.0)",
    "var": "np.var(x, axis={axis}, ddof=1)",
    "std": "np.std(np.stack([x, x * x + 1]), axis=0)",
    "linspace": "np.linspace(f, f * 2, 4)",
    "nansum": "np.nansum(x, axis={axis})",
    "nanmean": "np.nanmean(x)",
    "average": "np.average(x, axis={axis}, weights=x)",
    "cumsum": "np.cumsum(x, axis={axis})",
    "cumprod": "np.cumprod(x, axis={axis})",
    "prod": "np.prod(x, axis={axis})",
    "max": "np.max(x, axis={axis})",
    "min": "np.min(x, axis={axis})",
    "trapezoid": "np.trapezoid(x[0], np.cumsum(x[0].real))",
    "diff": "np.diff(x, 2, axis={axis})",
    "gradient": "np.gradient(v)",
    "cov": "np.cov(x)",
    "median": "np.median(x, axis={axis})",
    "quantile": "np.quantile(x, 0.3, axis={axis})",
    "percentile": "np.percentile(x, 20, axis=0)",
    "arange": "np.arange(1 + 1e-3 * x[0, 0].real, 3.5, 1 + 1e-3 * v[0].real)",
    "modf": "np.modf(x * 3)[0]",
    "frexp": "np.frexp(x)[0]",
    "divmod": "np.divmod(x, 0.3)[1]",
}
LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "reversed": lambda a: a[::-1].copy()[::-1] if a.ndim else a,
    "windows": lambda a: np.lib.stride_tricks.as_strided(
        a, a.shape, a.itemsize * np.sign(a.strides)
    ),
    "empty": lambda a: a[:0].copy() if a.ndim else a,
    "no rows, some columns": lambda a: a[..., :0].copy() if a.ndim else a,
    "one": lambda a: a[(slice(1),) * a.ndim].copy(),
    "no axis": lambda a: a.reshape(-1)[0:1].reshape(()).copy(),
}
DTYPES = {"f8": (1e-8, 0.01), "f4": (6e-3, 0.03), "c16": (1e-7, 0.01)}
rng = np.random.default_rng(11)
X, V = rng.random((3, 4)) + 0.1, np.array([0.3, 0.9, 0.5, 1.4])
S = rng.random((3, 3)) + np.diag([2.0, 3.5, 5.0])


def name_of(function: object) -> str:
    module = getattr(function, "__module__", "").removeprefix("numpy").strip(".")
    part = module.removesuffix("._linalg").removesuffix("._pocketfft")
    return f"{part}.{function.__name__}" if part in ("fft", "linalg") else function.__name__


def test_each_function_has_an_example():
    names = {name_of(function) for function in rules.RULES}
    assert names == set(EXAMPLES) if hasattr(np, "vecdot") else names | {"vecdot"} == set(EXAMPLES)


def runs(f, args) -> bool:
    """Does NumPy do it without an error or a warning?"""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        try:
            out = f(*args)
        except Exception:
            return False
    return bool(np.isfinite(out).all()) and np.asarray(out).dtype.kind in "fc"


@pytest.mark.parametrize("name", EXAMPLES)
def test_function(name):
    tested = 0
    for axis in ("0", "1") if "{axis}" in EXAMPLES[name] else ("",):
        f = function_of(EXAMPLES[name].format(axis=axis))
        tested += sum(variant(f, dtype, layout) for dtype in DTYPES for layout in LAYOUTS)
    assert tested


def function_of(expression):
    scope = {"np": np}
    exec(f"def f(x, v, s, f):\n    return {expression}\n", scope)
    return scope["f"]


def variant(f, dtype: str, layout: str) -> int:
    if dtype != "f8" and layout not in ("C", "one"):
        return 0
    turned = np.exp(0.3j * np.arange(4.0)) if dtype == "c16" else 1.0
    arrays = [X * turned, V * turned, S * (turned[:3] if dtype == "c16" else 1.0)]
    args = [LAYOUTS[layout](np.asarray(a, dtype)) for a in arrays]
    args.append(np.asarray(2.5, dtype)[()])
    if not runs(f, args):
        return 0
    tolerance, h = DTYPES[dtype]
    of = (
        (lambda *args: f(*args) * 1) if layout == "windows" else f
    )  # views of such are not returned
    try:
        check(of, *args, tolerance=tolerance, h=h)
    except DerivativeError as error:
        is_lost = layout == "windows" and "no derivative of the view" in str(error)
        if dtype != "c16" and not is_lost:  # some have rules of real numbers alone
            raise
    return 1


METHODS = [(u, "reduce") for u in REDUCE] + [(u, "accumulate") for u in ACCUMULATE]


@pytest.mark.parametrize(("ufunc", "method"), METHODS)
def test_method(ufunc, method):
    for axis in (0, 1):
        f = function_of(f"np.{ufunc.__name__}.{method}(x, axis={axis})")
        assert sum(variant(f, "f8", layout) for layout in LAYOUTS)


def test_logaddexp_accumulate_from_negative_infinity():
    x = np.array([-np.inf, 0.5, 2.0])
    items = grad(lambda x: np.logaddexp(np.logaddexp(x[0], x[1]), x[2]))(x)
    np.testing.assert_allclose(grad(lambda x: np.logaddexp.accumulate(x)[2])(x), items)
    for x, expected in (([-np.inf, -np.inf, 2.0], [0, 0, 1]), ([np.inf, 1.0, 2.0], [1, 0, 0])):
        gradient = grad(lambda x: np.logaddexp.accumulate(x)[2])(np.array(x))
        assert gradient.tolist() == expected


def test_what_a_value_decides_raises():
    with pytest.raises(DerivativeError, match="decided by a value"):
        check(lambda x: np.arange(x[0], 9.0, x[1]).sum(), np.array([0.5, 1.5]))
