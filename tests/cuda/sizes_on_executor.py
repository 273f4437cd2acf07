"""Lengths of CuPy's arrays that vary: one plan serves them, on the executor.  test_cuda.py runs this file as
it does on_executor.py."""

import calls_on_executor  # noqa: F401  NumPy's functions stand in for CuPy's
import numpy as np
import pytest
from deviceless import cp, device, host, values

import pycompile
from pycompile import Dim

OPTIONS = {"plan_always": True, "recompile_limit": 20}
SIZES = [(2, 3), (7, 2), (64, 65), (3, 2049), (700, 5), (2, 2)]


def agrees(function, compiled, shapes, exact=True):
    """The compiled function gives what the plain one does, for arrays of these shapes."""
    for i, each in enumerate(shapes):
        given = [values(shape, "f8", seed=i + 1) for shape in each]
        made, wanted = compiled(cp, *map(device, given)), function(np, *given)
        for ours, plain in zip(made, wanted, strict=True):
            ours, plain = (
                (host(ours), np.asarray(plain)) if type(ours) is cp.ndarray else (ours, plain)
            )
            np.testing.assert_allclose(ours, plain, rtol=0 if exact else 1e-12, strict=exact)


def steady(function, shapes, exact=True):
    """After a call with other lengths than the first ones no other plan is made."""
    compiled = pycompile.compile(function, fullgraph=True, options=OPTIONS)
    agrees(function, compiled, shapes[:2], exact)
    with pycompile.set_stance("fail_on_recompile"):
        agrees(function, compiled, shapes[2:] + shapes, exact)
    assert compiled.stats()["plans"] == 2 and compiled.stats()["deopts"] == 0


def both(n, m):
    return (n, m), (m,)


def elementwise(xp, x, b):
    y = x * 2 + b
    return y, xp.where(y > 0, y, -y), y.T + 1, (y[:, None] + b).reshape(-1)


def views(xp, x, b):
    return x[1:] - x[:-1], x[::-1], x.reshape(x.shape[1], -1) * 2, x.ravel() + 1, x.shape[0] * b


def reduced(xp, x, b):
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True), x.mean(axis=0), x.std(axis=1, ddof=1), (b * b).sum()


@pytest.mark.parametrize("function, exact", [(elementwise, True), (views, True), (reduced, False)])
def test_one_plan_for_all_lengths(function, exact):
    steady(function, [both(n + 2, m + 2) for n, m in SIZES], exact)


def test_writes():
    def function(x, y, b):
        x += b
        y[1:] = x * 2
        return x

    compiled = pycompile.compile(function, dynamic=True, fullgraph=True, options=OPTIONS)
    for n, m in SIZES:
        x, y, b = values((n, m)), values((n + 1, m), seed=2), values((m,), seed=3)
        given = [device(x.copy()), device(y.copy())]
        assert compiled(*given, device(b)) is given[0]
        function(x, y, b)
        np.testing.assert_array_equal(host(given[0]), x)
        np.testing.assert_array_equal(host(given[1]), y)
    assert compiled.stats()["plans"] == 1


def test_calls():
    """The results of calls have lengths that follow from those of the arguments, and from ints."""

    def function(xp, x, y):
        both = xp.concatenate([x, y.T]) + xp.zeros((2 * len(x) + 1, x.shape[1]))
        return xp.matmul(x, y) + 1, both * 2

    steady(function, [((n + 2, m), (m, n + 3)) for n, m in SIZES], exact=False)


def test_lengths_that_have_to_be_equal_are_guarded():
    def function(xp, x, y):
        return (x + y,)

    compiled = pycompile.compile(function, dynamic=True, fullgraph=True, options=OPTIONS)
    agrees(function, compiled, [((n,), (n,)) for n in (5, 9, 100)])
    assert compiled.stats()["plans"] == 1
    agrees(function, compiled, [((5,), (1,))])
    assert compiled.stats()["plans"] == 2


def test_declared_lengths():
    def function(xp, x):
        return (x.sum(axis=1) if len(x) > 50 else x,)

    length = Dim("m", max=3000)
    declared = pycompile.compile(
        elementwise, dynamic={"x": {1: length}, "b": {0: length}}, options=OPTIONS
    )
    agrees(elementwise, declared, [both(7, m) for _, m in SIZES])
    assert declared.stats()["plans"] == 1
    refused = pycompile.compile(function, dynamic={"x": {0: "batch"}}, options=OPTIONS)
    with pytest.raises(pycompile.DimensionError, match="the length 'batch' .* decides a branch"):
        refused(cp, device(values((60, 2))))


def test_indices_of_32_bits_are_not_used_beyond_them():
    def function(x, y):
        return cp.multiply(x[:, None], y)

    compiled = pycompile.compile(function, dynamic=True, fullgraph=True, options=OPTIONS)
    x = np.ones(50_000, "i1")
    np.testing.assert_array_equal(host(compiled(device(x[:9]), device(x[:7]))), np.ones((9, 7)))
    with pytest.raises(RuntimeError):  # CuPy does it, for which there is no device
        compiled(device(x), device(x))
    assert compiled.stats()["deopts"] == 1
