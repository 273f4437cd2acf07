"""Each rule against differences: NumPy's functions and operators, over dtypes, layouts and shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from differences import check

from pycompile import grad

rng = np.random.default_rng(1)
X = rng.random((4, 5)) + 0.1
V = np.sort(rng.random(6)) + 0.2
SQUARE = rng.random((3, 3)) + 2 * np.eye(3)
IDX = np.array([0, 2, 1])

# Of x (4, 3), v (3,), f a number of Python's; y (4, 5) and w (6,).
EXPRESSIONS = [
    "x[idx]",
    "x[:, [0,2]]",
    "x[x>0.5]",
    "np.take(x, idx, axis=0)",
    "x[np.array([-1, 0, -1, 3], np.int8)]",
    "x[np.array([3, 0, 3], np.uint8), np.array([[1], [-2]])]",
    "np.take(x, np.array([[1, -1], [-1, 2]]), axis=1)",
    "np.take_along_axis(x, np.array([[0, -1, -1]]), 1)",
    "x.mean(axis=0)",
    "x.std()",
    "np.var(x, axis=1, ddof=1)",
    "np.linalg.norm(x)",
    "np.linalg.norm(v)",
    "np.einsum('ij,ij->i', x, x)",
    "np.einsum('ij,jk->ik', x, x.T)",
    "x @ v",
    "np.dot(x, v)",
    "np.dot(v, v)",
    "np.outer(v, v)",
    "np.inner(x, x)",
    *(["np.vecdot(v, x[:3], axis=0)", "np.vecdot(x, v)"] if hasattr(np, "vecdot") else []),
    "np.tensordot(x, x, axes=([0],[0]))",
    "np.cumsum(x)",
    "np.cumsum(x, axis=1)",
    "np.cumprod(v)",
    "np.stack([v, v])",
    "np.concatenate([v, v*2])",
    "np.vstack([x, v])",
    "np.roll(x, 1)",
    "np.pad(x, 1)",
    "np.repeat(v, 2)",
    "np.tile(v, 2)",
    "np.diff(v)",
    "np.trapezoid(v)",
    "np.clip(x, 0.2, 0.8)",
    "np.clip(x, None, 0.8)",
    "np.maximum(x, 0.5)",
    "np.sort(x, axis=0)",
    "np.median(x)",
    "np.linalg.inv(x[:3]+np.eye(3))",
    "np.linalg.det(x[:3])",
    "np.linalg.slogdet(x[:3]+np.eye(3))[1]",
    "np.linalg.cholesky(np.eye(3)*2)",
    "np.linalg.eigh(x[:3]+x[:3].T)[0]",
    "np.linalg.svd(x)[1]",
    "np.fft.fft(v)",
    "np.fft.rfft(v).real",
    "np.convolve(v, v)",
    "np.interp(v, v, v)",
    "np.trace(x)",
    "np.diag(v)",
    "np.tril(x)",
    "np.kron(v, v)",
    "np.cross(v, v+1)",
    "np.where(x > 0.5, x, x*x)",
    "x ** 3",
    "x ** f",
    "f ** x",
    "x / f",
    "np.power(x, x)",
    "np.log(x)",
    "x.T.reshape(-1)",
    "x.astype(np.float32)",
    "(x * 1j).real",
    "np.logaddexp(v, 1.0)",
    "np.prod(x, axis=0)",
    "np.max(x, axis=1)",
    "x.ravel()",
    "x.flatten()",
    "np.split(v, 3)[1]",
    "np.meshgrid(v, v)[0]",
    "np.linspace(0, 1, 4) * x[:,0]",
    "np.exp(math.sin(f)) * v",
    "np.array([f, f*2, 1.0])",
    "np.array([v[0], v[1]*2])",
    "np.full((2,), f)",
    "np.nan_to_num(x)",
    "np.select([x>0.5, x>0.2],[x, 2*x], 0.0)",
    "np.sum(x, where=x>0.5)",
    "np.multiply.outer(v, v)",
    "np.add.reduce(x)",
    "np.ptp(x)",
    "np.average(v, weights=v)",
    "np.cov(x)",
    "np.quantile(x, 0.3)",
    "np.flip(x)",
    "np.moveaxis(x, 0, 1)",
    "np.gradient(v)",
    "np.polyval(v, v)",
    "np.linalg.solve(x[:3]+np.eye(3), v)",
    "np.sinc(x)",
    "np.cbrt(x)",
    "np.linalg.qr(x)[1]",
    "np.logaddexp.reduce(x, axis=0)",
    "np.fft.hfft(v[:4])",
    "np.fft.ihfft(v).imag",
    "np.einsum('i,i', [v[0], v[1]], [1.0, 2.0])",
    "np.nanvar(x, axis=0)",
    "float(v[1]) * 2 + f",
    "np.maximum.accumulate(v[::-1])",
    "np.add.accumulate(x,axis=1)",
    "np.maximum.reduce(x)",
    "np.multiply.reduce(x,axis=1)",
    "np.logaddexp.reduce(v)",
    "np.multiply.outer(v,v*2)",
    "np.subtract.outer(v,x[0])",
    "np.prod(x)",
    "np.rot90(x)",
    "np.partition(v,2)",
    "np.percentile(v,30)",
    "np.nanmean(v)",
    "np.correlate(v,x[0],'same')",
    "np.convolve(v,x[0],'valid')",
    "np.convolve(v[:3], v, 'same')",
    "np.einsum('ij,kj->ik',x,x)",
    "np.einsum('ij->j',x)",
    "np.einsum('ii->i',x[:,:4])",
    "np.einsum('...j,j->...',x,x[0])",
    "np.einsum('i,j,k->kij',v[:2],v[:3],x[0])",
    "np.tensordot(x,x,2)",
    "np.tensordot(x,x.T,1)",
    "np.kron(x,x[:2])",
    "np.vdot(v,v)",
    "np.inner(x,x[1:])",
    "np.dot(x,x.T)",
    "np.matmul(x[None],x.T[None])",
    "np.pad(x,((1,2),(0,1)),'reflect')",
    "np.pad(v,2,'edge')",
    "np.repeat(x,[1,2,0,1],axis=0)",
    "np.tile(x,(2,1))",
    "np.diff(x,2,axis=1)",
    "np.roll(x,1,axis=1)",
    "np.average(x,axis=1,weights=x)",
    "np.take(x,[1,0],axis=1)",
    "np.select([v>.5],[v*2],v**2)",
]


def function_of(expression: str, params: str) -> object:
    names = {"np": np, "math": math, "idx": IDX}
    exec(f"def fn({params}):\n    return {expression}\n", names)
    return names["fn"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str) -> None:
    if expression in LATER:
        f = function_of(expression, "x, v")
        check(f, X.copy(), V.copy(), h=0.01)
        return
    f = function_of(expression, "x, v, f")
    check(
        f, X[:, :3].copy(), V[:3].copy(), 2.5, tolerance=1e-4 if "float32" in expression else 1e-9
    )


LATER = {
    "np.maximum.accumulate(v[::-1])",
    "np.add.accumulate(x,axis=1)",
    "np.maximum.reduce(x)",
    "np.multiply.reduce(x,axis=1)",
    "np.logaddexp.reduce(v)",
    "np.multiply.outer(v,v*2)",
    "np.subtract.outer(v,x[0])",
    "np.cumprod(v)",
    "np.prod(x)",
    "np.tril(x)",
    "np.rot90(x)",
    "np.partition(v,2)",
    "np.percentile(v,30)",
    "np.nanmean(v)",
    "np.correlate(v,x[0],'same')",
    "np.convolve(v,x[0],'valid')",
    "np.convolve(v[:3], v, 'same')",
    "np.einsum('ij,kj->ik',x,x)",
    "np.einsum('ij->j',x)",
    "np.einsum('ii->i',x[:,:4])",
    "np.einsum('...j,j->...',x,x[0])",
    "np.einsum('i,j,k->kij',v[:2],v[:3],x[0])",
    "np.tensordot(x,x,2)",
    "np.tensordot(x,x.T,1)",
    "np.kron(x,x[:2])",
    "np.vdot(v,v)",
    "np.inner(x,x[1:])",
    "np.dot(x,x.T)",
    "np.matmul(x[None],x.T[None])",
    "np.pad(x,((1,2),(0,1)),'reflect')",
    "np.pad(v,2,'edge')",
    "np.repeat(x,[1,2,0,1],axis=0)",
    "np.tile(x,(2,1))",
    "np.cov(x)",
    "np.gradient(v)",
    "np.diff(x,2,axis=1)",
    "np.roll(x,1,axis=1)",
    "np.average(x,axis=1,weights=x)",
    "np.take(x,[1,0],axis=1)",
    "np.select([v>.5],[v*2],v**2)",
}

UNARY = (
    "negative positive absolute fabs square sqrt cbrt reciprocal sin cos tan arcsin arccos arctan sinh "
    "cosh tanh arcsinh arctanh exp exp2 expm1 log log2 log10 log1p degrees radians deg2rad rad2deg "
    "conjugate sinc floor ceil rint trunc sign"
).split()
BINARY = (
    "add subtract multiply divide power hypot arctan2 maximum minimum fmax fmin logaddexp logaddexp2 "
    "copysign fmod remainder floor_divide float_power"
).split()
LAYOUTS = {
    "C": lambda a: a.copy(),
    "F": lambda a: np.asfortranarray(a),
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "empty": lambda a: a[:0].copy(),
    "none": lambda a: np.array(a[0, 0]),
    "one": lambda a: a[:1, :1].copy(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, layout: str) -> None:
    f = function_of(f"np.{name}(x)", "x")
    for dtype, tolerance in (("f8", 1e-9), ("f4", 2e-3)):
        x = LAYOUTS[layout](0.15 + 0.1 * np.arange(6.0).reshape(2, 3)).astype(dtype, order="K")
        check(f, x, tolerance=tolerance, h=0.02)


@pytest.mark.parametrize("layout", ("C", "F", "strided", "none", "empty"))
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, layout: str) -> None:
    f = function_of(f"np.{name}(x, y)", "x, y")
    x = LAYOUTS[layout](0.15 + 0.1 * np.arange(6.0).reshape(2, 3))
    for y in (np.array([[0.7, 0.31, 0.52]]), np.array(0.37), 0.43):
        if layout == "none" and np.ndim(y):
            continue
        check(f, x, y, h=0.02)


@pytest.mark.parametrize("axis", (None, 0, 1, (0, 1), -1))
@pytest.mark.parametrize("keepdims", (False, True))
@pytest.mark.parametrize("name", ("sum", "prod", "max", "min", "mean", "std", "var"))
def test_reduction(name: str, keepdims: bool, axis: object) -> None:
    f = function_of(f"np.{name}(x, axis={axis}, keepdims={keepdims})", "x")
    x = np.random.default_rng(3).random((3, 4)) + 0.2
    check(f, x, h=0.01)
    check(f, np.asfortranarray(x), h=0.01)
    check(f, x.astype("f4"), tolerance=3e-3, h=0.02)


@pytest.mark.parametrize("shape", ((0,), (0, 3), (3, 0)))
def test_sums_of_nothing(shape: tuple[int, ...]) -> None:
    for expression in (
        "x.sum()",
        "x.sum(axis=0)",
        "(x * x).sum(axis=-1)",
        "np.prod(x)",
        "np.cumsum(x, axis=0)",
    ):
        check(function_of(expression, "x"), np.zeros(shape))


def test_products_with_zeros() -> None:
    check(lambda x: np.prod(x), np.array([0.5, 0.0, 2.0]), h=0.01)
    check(lambda x: np.prod(x, axis=1), np.array([[0.0, 0.0, 2.0], [1.0, 0.0, 3.0]]), h=0.01)
    check(lambda x: np.cumprod(x), np.array([0.5, 0.0, 2.0, 0.0, 3.0]), h=0.01)


@pytest.mark.parametrize(
    "shapes",
    (
        ((3, 4), (4, 2)),
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 2)),
        ((2, 3, 4), (4, 2)),
        ((2, 3, 4), (2, 4, 2)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((4,), (2, 4, 3)),
        ((2, 3, 4), (4,)),
    ),
)
def test_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (np.random.default_rng(5).random(shape) for shape in shapes)
    check(lambda a, b: a @ b, a, b)
    if max(map(len, shapes)) < 4:
        check(lambda a, b: np.dot(a, b), a, b)


def written_in_a_row(x: Any) -> Any:
    a = np.ones(3)
    a[:2] = [x[0], 2.0 * x[2]]
    return a**2


def written_at_places(x: Any) -> Any:
    a = np.ones(3)
    a[[0, 2]] = (x[0], 2.0 * x[2])
    return a**2


@pytest.mark.parametrize(
    "f",
    (
        lambda x: np.exp([x[0], x[1]]),
        lambda x: np.exp([x, 2 * x]),
        lambda x: np.multiply([[x[0], 0], [0, x[1]]], (x[1], 2.0)),
        lambda x: np.power([2.0, 3.0, 4.0], [x[0], 1.0, x[2]]),
        lambda x: x * [x[0], 1.0, 2.0] - tuple(x),
        lambda x: np.where([True, False], [x[0], x[1]], [[x[1]], [x[2]]]),
        lambda x: np.select([x > 1, x > 0], [[x[0], x[1], 1.0], x], [x[1], 0.0, x[0]]),
        lambda x: np.add.reduce([x, x * x]) + np.multiply.accumulate([x[0], x[1], x[2]]),
        lambda x: (
            np.multiply.outer([x[0], 1.0], [x[1], 3.0]) + np.multiply.outer(x[:2], [1.0, 2.0])
        ),
        lambda x: np.outer(x, x) @ [x[0], x[1], 1.0],
        lambda x: np.einsum("i,i", [x[0], 2.0, x[1]], x),
        lambda x: np.average([1.0, 2.0, 4.0], weights=[x[0], x[1], 1.0]),
        lambda x: np.interp([0.4, x[1]], [0.0, 1.0], [x[0], 2.0]),
        written_in_a_row,
        written_at_places,
    ),
)
def test_lists_that_become_arrays(f: Callable[[Any], Any]) -> None:
    check(f, np.array([1.5, 0.5, 0.75]), h=0.01)


def test_a_list_that_becomes_an_array_as_the_argument() -> None:
    weights = np.array([1.0, 3.0])
    assert grad(lambda p: (weights * p).sum())([0.0, 1.0]) == [1.0, 3.0]
    assert grad(lambda p: (weights - p).sum())((0.0, 1.0)) == (-1.0, -1.0)


def test_a_list_of_constants_among_operands() -> None:
    g = grad(lambda x: np.power([0.0, 2.0], x).sum())(np.ones(2))
    assert np.allclose(g, [0.0, 2.0 * np.log(2.0)], rtol=1e-14)


def test_complex_numbers() -> None:
    z = np.random.default_rng(7).random(4) + 1j * np.random.default_rng(8).random(4)
    for expression in (
        "z * z",
        "z / (1 + z)",
        "np.exp(z)",
        "abs(z)",
        "z.real * z.imag",
        "np.conj(z) * z",
        "z ** 2",
        "np.fft.fft(z)",
        "np.sqrt(z)",
        "np.sin(z)",
        "np.array([1.0, 2, 3, 4]) * z",
        "z.sum()",
        "z @ z",
    ):
        f = function_of(expression, "z")
        for weigh in (np.real, np.imag):
            check(lambda z, f=f, weigh=weigh: weigh(f(z)), z, h=0.01, complex_steps=True)


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_complex_numbers_made_real() -> None:
    check(lambda z: (z.astype(float) * z.imag).sum(), np.array([0.5 + 1j, 0.7 - 2j]))


def test_float32_stays() -> None:
    x = np.array([0.5, 1.5, 2.5], np.float32)
    for expression in (
        "x * 2",
        "x ** 3",
        "x ** 1.5",
        "np.tanh(x) / x",
        "np.maximum(x, 1)",
        "np.clip(x, 1, 2)",
        "np.where(x > 1, x, 0.5 * x)",
        "x.mean()",
        "np.linalg.norm(x)",
        "x[::2]",
        "np.sort(x)",
    ):
        check(function_of(expression, "x"), x, tolerance=3e-3, h=0.02)


def test_products_with_their_own_transpose():
    a, b = rng.normal(size=(4, 4)), rng.normal(size=(3, 3))
    x = rng.normal(size=(4, 3))
    check(lambda x: (a * (x @ x.T)).sum(), x)
    check(lambda x: (b * (x.T @ x)).sum() + x.sum(), x)
    check(lambda x: (b * (x.T @ x)).sum(), x + 1j * x[::-1])
