"""Arguments as programs have them: lists, numbers, lengths of 1 that are broadcast, arrays whose elements
share memory, orders of elements in memory."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check

import pycompile
from pycompile import DerivativeError, grad, vjp

NUMBERS = np.linspace(0.3, 1.3, 24)

# Of a (4,), b (1,), m (3, 4), c (3, 1).
EXPRESSIONS = (
    "np.convolve(a, [1.0, 2.0, 3.0]), np.convolve([1.0, 2.0], a, 'same'), np.convolve(a, 2.0)",
    "np.convolve(a, b[0]), np.convolve(a[0], m[0], 'valid')",
    "np.correlate(a, [1.0, 2.0]), np.correlate([1.0, 2.0], a, 'full')",
    "np.einsum('i,i->', a, np.ones(1)), np.einsum('i,i->i', a, b), np.einsum('i,i->', b, a)",
    "np.einsum('ij,ij->j', m, c), np.einsum('ij,jk->ik', m, b[:, None]), np.einsum('i,i,i', a, b, a)",
    "np.einsum('ij,j->i', m, [1.0, 2.0, 3.0, 4.0]), np.einsum(',ij->ij', a[0], m)",
    "np.interp(a, [0.0, 0.7, 2.0], [1.0, 3.0, 2.0]), np.interp([0.4, 0.6], [0.0, 1.0], a[:2])",
    "np.interp(a, [0.5], b), np.interp([0.4, 0.6], b, b * 2), np.interp(0.4, a[:1], a[1:2])",
    "np.interp(a * 3, np.arange(5.0), [1.0, 3.0, 2.0, 5.0, 4.0], period=2.5)",
    "np.interp([0.4, 5.2], [0.0, 1.0, 2.4], m[0, :3], period=3.1)",
    "np.interp([0.6, 5.2], [b[0], 1.7, 2.4], m[0, :3], period=3.0)",
    "np.interp([-1.0, 0.4, 5.2], [0.0, 1.0, 2.4, 3.0], a, left=7.0)",
    "np.interp([-1.0, 0.4, 5.2], [0.0, 1.0, 2.4, 3.0], a, right=7.0)",
    "np.kron(a, [1.0, 2.0]), np.kron(2.0, m), np.kron(a[0], m), np.kron(b, a)",
    "np.cross(m[:, :3], [1.0, 2.0, 3.0]), np.cross([1.0, 2.0, 3.0], a[:3]), np.cross(m[:1, :3], m[:, 1:])",
    "np.polyval([0.2, 0.1, 0.3], a), np.polyval(a, [0.1, 0.2]), np.polyval(b, a), np.polyval(a, 0.3)",
    "np.dot([1.0, 2.0, 3.0], m), np.dot(m, [1.0, 2.0, 3.0, 4.0]), np.dot(2.0, m), np.inner(a, b[0])",
    "np.tensordot(m, [1.0, 2.0, 3.0, 4.0], 1), np.vdot(a, [1.0, 2.0, 3.0, 4.0]), m @ [1.0, 2.0, 3.0, 4.0]",
    "np.average(m, axis=0, weights=[1.0, 2.0, 0.5]), np.average([1.0, 2.0, 3.0, 4.0], weights=a)",
    "np.trapezoid(m, [0.0, 1.0, 3.0], axis=0), np.trapezoid([1.0, 2.0, 3.0, 4.0], a)",
    "np.gradient(a, [0.0, 1.0, 3.0, 4.0]), np.linspace(c[:, 0], [2.0, 3.0, 4.0], 4), np.linspace(a, b, 3)",
    "np.clip(m, [0.4, 0.5, 0.6, 0.7], None), np.clip(a, c, 0.9), np.clip(c, None, a)",
    "np.linalg.solve(m[:, :3] + np.eye(3), [1.0, 2.0, 3.0])",
    "np.linalg.solve([[2.0, 1.0], [1.0, 3.0]], a[:2])",
    "np.add([[0.1], [0.2]], a), np.hypot(a, [1.0, 2.0, 3.0, 4.0]), np.power(c, a), np.logaddexp(b, m)",
    "np.bincount([0, 1, 1, 3], a), np.where([True, False, True, False], m, [1.0, 2.0, 3.0, 4.0])",
)
LAYOUTS = {
    "C": ((32, 8), (8,)),
    "Fortran": ((8, 24), (8,)),
    "rows alike": ((0, 8), (8,)),
    "columns alike": ((8, 0), (0,)),
    "windows": ((8, 8), (8,)),
}


def laid(shape, strides):
    return np.lib.stride_tricks.as_strided(NUMBERS.copy(), shape, strides)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_lists_and_ones(expression):
    f = eval(f"lambda a, b, m, c: ({expression},)", {"np": np})
    for of_matrix, of_vector in LAYOUTS.values():
        args = (
            laid((4,), of_vector),
            laid((1,), (8,)),
            laid((3, 4), of_matrix),
            laid((3, 1), of_matrix),
        )
        check(f, *args, h=0.01, tolerance=1e-7)


VIEWS = (
    "w[1:], w[1:] * w[:-1], w[::-1], w[::-1][1:], w[1], w[:, 1], w[2, 1] * 1.0, w[..., 1]",
    "w.T[1:3], w.T[:, 1:] * 2, w @ w.T, np.swapaxes(w, 0, 1)[1], w[:, None].squeeze()[1]",
    "np.flip(w, 0)[:2], np.flip(w)[1], np.fliplr(w)[1:], np.diagonal(w, 1) * 1, np.trace(w)",
    "w.reshape(2, 6)[1], w.ravel()[3:9], w.ravel('F')[2:7], w.reshape(2, 6, order='F')[1]",
    "np.expand_dims(w, 1)[2], np.broadcast_to(w, (2, 3, 4))[:, 1], np.split(w, 3)[1], w[len(w) // 2 :]",
    "w[[1, 2]], w[w > 0.1], np.take(w, [1, 3], 1), np.cumsum(w, 0), np.roll(w, 1, 0)[1:], np.array(w)[1]",
    "sum(i * row for i, row in enumerate(w)), sum(w[i, j] * w[i - 1, j] for i in range(3) for j in range(4))",
)


@pytest.mark.parametrize("expression", VIEWS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_views_of_elements_that_share_memory(expression, layout):
    f = eval(f"lambda w: tuple(1.5 * x for x in ({expression},))", {"np": np})
    check(f, laid((3, 4), LAYOUTS[layout][0]), tolerance=1e-7)


def test_such_arrays_of_several_lengths():
    gradient = grad(lambda w: (w[1:] * np.arange(1.0, len(w))[:, None]).sum())
    for n in (3, 5, 4):
        found = gradient(np.broadcast_to(np.ones(2), (n, 2)))
        np.testing.assert_array_equal(found, np.repeat(np.arange(n + 0.0), 2).reshape(n, 2))


def test_what_shares_their_memory_raises_where_its_elements_are_not_known():
    w = np.broadcast_to(np.ones(2), (3, 2))

    def returned(w):
        return w[1:]

    def broken(w):
        y = w[1:]
        eval("1")
        return y * 2

    for f in (returned, broken):
        with pytest.raises(DerivativeError, match="which of its elements"):
            vjp(f, w)


def test_one_graph_knows_their_elements_too():
    @pycompile.compile(fullgraph=True)
    def step(w):
        return pycompile.grad(lambda w: (w[1:] * w[:-1]).sum())(w)

    w = laid((3, 4), (0, 8))
    expected = np.stack([w[1], w[0] + w[2], w[1]])
    np.testing.assert_array_equal(step(w), expected)


ORDERS = (
    "x.ravel('K')",
    "x.ravel('A')",
    "x.flatten('K')",
    "x.flatten('A')",
    "x.flatten('F')",
    "np.ravel(x, order='K')",
    "x.reshape(4, 6, order='A')",
    "x.reshape(4, 6, order='F')",
    "x[:, 1].ravel('K')",
    "x[:, :, 1:].ravel('K')",
    "x.transpose(1, 2, 0).ravel('K')",
    "(np.zeros_like(x) + x).ravel('K')",
    "x.copy('K').ravel('K')",
    "np.stack([x, x]).ravel('K')",
)
AXES = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "mixed": lambda x: x.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "turned": lambda x: x.transpose(2, 0, 1).copy().transpose(1, 2, 0),
    "reversed": lambda x: np.asfortranarray(x)[::-1, ::-1],
    "strided": lambda x: np.repeat(np.asfortranarray(x), 2, 0)[::2],
    "mixed, strided": lambda x: (
        np.repeat(x, 2, 2).transpose(1, 0, 2).copy().transpose(1, 0, 2)[..., ::2]
    ),
}


@pytest.mark.parametrize("expression", ORDERS)
def test_orders(expression):
    """The function is linear: row i of its matrix is the cotangent of result i."""
    f = eval(f"lambda x: {expression}", {"np": np})
    for lay in AXES.values():
        x = lay(np.zeros((2, 3, 4)))
        x[...] = np.arange(24.0).reshape(2, 3, 4)
        weights = np.cos(np.arange(f(x).size)).reshape(f(x).shape)
        out, pullback = vjp(f, x)
        np.testing.assert_array_equal(out, f(x))
        expected = np.zeros(24)
        np.add.at(expected, f(x).astype(int), weights)
        np.testing.assert_allclose(pullback(weights)[0], expected.reshape(2, 3, 4))


def test_a_mirrored_pad_has_no_rule():
    with pytest.raises(DerivativeError, match="of odd type"):
        grad(lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd").sum())(np.ones(4))


class Unread(list):
    """Its methods are the program's: whoever looks for constants must not call them."""

    def __iter__(self):
        raise AssertionError("not the program's call")

    __radd__ = pop = extend = __iter__


class UnreadDict(dict):
    values = Unread.__iter__


def test_what_a_function_reaches_is_found_without_its_methods():
    weights = np.array([2.0, 3.0])
    held, named = Unread([weights]), UnreadDict(w=weights)
    f = lambda x: (x * held[0] * named["w"]).sum()  # noqa: E731
    assert pycompile.grad(f)(np.ones(2)).tolist() == [4, 9]
