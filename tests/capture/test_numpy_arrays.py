"""Shapes, views, indexing, writes and joins over memory layouts."""

import numpy as np
import pytest
from differential import check
from numpy_cases import array, function

SHAPE = (2, 3, 4)
LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "reversed": lambda a: a[::-1, :, ::-1],
    "stepped": lambda a: np.repeat(a, 2, axis=2)[:, :, ::2],
    "mixed": lambda a: a.transpose(1, 0, 2).copy().transpose(1, 0, 2),
}

# each with x + 1, so that there is something to compile
READS = [
    ("x.sum(axis=0)", "x.sum(axis=1)", "x.mean(axis=2)"),
    ("x.sum(axis=(0, 2))", "x.mean(axis=(0, 1), keepdims=True)"),
    ("(x > 2).any(axis=0)", "x.var(axis=0)", "x.std(axis=-1)"),
    ("x.max(axis=1)", "x.argmax(axis=1)", "x.cumsum(axis=1)"),
    (
        "x.copy()",
        "x.copy(order='F')",
        "np.copy(x)",
        "x.astype(np.float32)",
        "x.astype('f4', order='C')",
    ),
    ("np.zeros_like(x)", "np.ones_like(x, dtype=int)", "np.full_like(x, 3)"),
    ("x.T", "x.mT", "x.swapaxes(0, 2)", "np.moveaxis(x, 0, -1)", "x.transpose(1, 0, 2)"),
    ("x.reshape(6, 4)", "x.reshape(2, -1)", "x.reshape(-1)", "x.reshape((4, 6), order='F')"),
    ("x.ravel()", "x.ravel(order='F')", "x.flatten()", "x.flatten('F')"),
    (
        "np.expand_dims(x, (0, -1))",
        "x[:, None]",
        "x[..., None]",
        "x[None, :, ::2]",
        "np.squeeze(x[:1])",
    ),
    ("x[1, :, ::-1]", "x[0, 1:]", "x[..., 1]", "x[-1, -1]", "x[:, 5:]", "x[::-1, ::-1, ::-1]"),
    ("x[0, 1, 2]", "x[0][1][2] + 1", "x[0, 0, 0].item()", "x[1, 2, 3] * x[0, 0, 0]"),
    ("x[np.array([1, 0, 1])]", "x[:, np.array([1, 0])]", "x[np.array([0, 1]), np.array([2, 0])]"),
    (
        "x[1, np.array([0, 2])]",
        "np.take(x, [0, 2], axis=1)",
        "x[np.array([0, 1]), :, np.array([2, 0])]",
    ),
    ("np.flip(x, 1)", "np.flip(x, (0, 2))", "np.broadcast_to(x, (2, 2, 3, 4)) * 1"),
    (
        "np.broadcast_to(x[0, 0, 0], (3, 2))",
        "np.reshape(x.sum(), (1, 1))",
        "x[0, 0, 1].reshape(1)",
        "np.reshape(x[0, 0, 2], ())",
        "np.broadcast_to(x[0, 0, 0] + 1, 4).flags.writeable",
    ),
    ("x @ np.swapaxes(y, 1, 2)", "x[0] @ y[0].T", "x[0] @ y[0, 0]", "x[0, 0] @ y[0, 0]"),
    ("np.dot(x[0], y[0].T)", "np.einsum('ijk,ijk->i', x, y)", "np.outer(x[0, 0], y[1, 1])"),
    ("np.diff(x, axis=1)", "np.sort(x, axis=1)", "np.argsort(x, axis=0)", "np.median(x, axis=1)"),
    (
        "np.asarray(x)",
        "np.ascontiguousarray(x)",
        "np.asarray(x, dtype='f4')",
        "np.array(x, order='F')",
    ),
    ("x + y[0]", "x + y[:, :1]", "x[0, 0] + y", "np.clip(x, y - 1, y + 1)"),
    ("x.shape", "x.strides", "x.nbytes + x.itemsize", "np.ndim(x)", "x.dtype", "x.real"),
    ("x * np.ndim(2.0)", "np.shape(x[0, 0, 0])", "np.size(float(x.sum()))", "np.ndim(x.sum())"),
    ("np.repeat(x, 2, axis=0)", "np.tile(x, (1, 2, 1))", "np.triu(x[0])", "np.fft.fft(x, axis=1)"),
    ("np.split(x, [1, 2], axis=2)", "np.meshgrid(x[0, 0], y[0, :, 0])", "np.linspace(0, 1, 7)"),
    ("np.arange(10, 2, -3)", "np.arange(3.0)", "np.array([[1.5, 2], [3, 4]])", "np.eye(3)"),
    ("np.divmod(x, y)", "np.modf(x)", "np.count_nonzero(x > 0, axis=1)", "np.allclose(x, x)"),
]

WRITES = [
    ("x += y", "x"),
    ("x -= 1", "y *= x", "y"),
    ("x *= y[0]", "x.sum(axis=0)"),
    ("x[0] = 5", "x"),
    ("x[0] = y[1]", "x"),
    ("x[1:] = x[:-1]", "x"),
    ("x[:, 0] += y[:, 1]", "x"),
    ("x[:, :, 1:3] = 0", "x * 2"),
    ("x[x > 2] = 0", "x"),
    ("x[np.array([1, 0])] = y", "x"),
    ("z = x[1:]", "x[1] = 3", "z.sum()"),
    ("z = x[1:]", "z += 1", "z", "x"),
    ("z = x.T", "z[0] = 1", "x"),
    ("z = x.reshape(-1)", "z[0] = 9", "z"),
    ("z = x.copy()", "z[0] = 1", "z", "x"),
    ("z = np.add(x, y, out=x)", "z is x"),
    ("z = np.sqrt(x, out=y)", "z * 2"),
    ("z = x.fill(2)", "x"),
    ("z = x.sort(axis=0)", "x"),
    ("x[0, 0, 0] = y[1, 1, 1]", "x"),
    ("z = np.empty((2, 3))", "z[:] = x[:, :, 0]", "z"),
    ("z = np.ones(5)", "z[1:] -= z[:-1]", "z"),
    ("z = np.zeros(4, dtype=int)", "z[1] = 2.7", "z += 3", "z"),
    ("z = np.zeros(4)", "z[1:3] = np.arange(2)", "v = z[1:]", "v *= 3", "z", "v"),
]


@pytest.mark.slow
@pytest.mark.parametrize("expressions", READS, ids=lambda e: e[0])
def test_reads_over_layouts(expressions):
    case = function(*expressions, "x + 1")
    for layout in LAYOUTS.values():
        check(case, layout(array("f8", SHAPE)), layout(array("f8", SHAPE, 1)), whole=True)


@pytest.mark.parametrize("statements", WRITES, ids=lambda s: s[0] + ", " + s[1])
def test_writes_over_layouts(statements):
    case = function(*statements)
    for name, layout in LAYOUTS.items():
        whole = name != "reversed"
        x, y = layout(array("f8", SHAPE)), layout(array("f8", SHAPE, 1))
        check(case, x, y, whole=whole, captured=whole)


@pytest.mark.parametrize("statements", [WRITES[2], WRITES[0], ("x * y", "(x * y).sum(axis=0)")])
def test_arguments_of_different_layouts(statements):
    case = function(*statements)
    x, y = array("f8", SHAPE), array("f8", SHAPE, 1)
    for layout in LAYOUTS.values():
        check(case, x, layout(y), whole=True)


def test_overlapping_arguments_are_written_in_order():
    memory = np.arange(10.0)
    check(function("x += y", "x"), memory[1:], memory[:-1], captured=False)


def test_read_only_arrays_are_left_to_numpy():
    x = np.arange(4.0)
    x.flags.writeable = False
    check(function("x += y", "x"), x, np.ones(4), captured=False)


def test_joins_and_rolls():
    x, y = array("f8"), array("f8", seed=1)
    check(
        function("np.concatenate([x, y])", "np.concatenate((x, y), axis=1)", "x * 2"),
        x,
        y,
        whole=True,
    )
    check(
        function("np.stack([x, y])", "np.stack([x, y], axis=-1)", "np.vstack([x[0], y[0]])"),
        x,
        y,
        whole=True,
    )
    check(function("np.hstack([x, y])", "np.roll(x, 1)", "np.roll(x, 2, axis=1)"), x, y, whole=True)
