"""Of products of vectors, matrices and tensors."""

import numpy as np

from pycompile.derivatives._pieces import order_of, unspread
from pycompile.derivatives.rules._table import rule


def _axes(x, y, axes):
    """The axes that tensordot sums over, of each."""
    if isinstance(axes, int):
        return tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    one, other = axes
    one = (one,) if isinstance(one, int) else tuple(one)
    other = (other,) if isinstance(other, int) else tuple(other)
    return tuple(i % x.ndim for i in one), tuple(i % y.ndim for i in other)


def _contract_left(g, x, y, over, others):
    """Of the product of x over its axes `over` with y over its axes `others`, that of x."""
    rest = tuple(i for i in range(y.ndim) if i not in others)
    free = tuple(i for i in range(x.ndim) if i not in over)
    split = len(free)
    out = np.tensordot(g, y, (tuple(range(split, split + len(rest))), rest))
    order = free + tuple(over[i] for i in order_of(others))
    return out.transpose(order_of(order))


def _contract_right(g, x, y, over, others):
    rest = tuple(i for i in range(y.ndim) if i not in others)
    free = tuple(i for i in range(x.ndim) if i not in over)
    out = np.tensordot(x, g, (free, tuple(range(len(free)))))
    order = tuple(others[i] for i in order_of(over)) + rest
    return out.transpose(order_of(order))


@rule(np.tensordot, "a")
def tensordot_a(g, o, a, b, axes=2):
    a, b = np.asarray(a), np.asarray(b)
    over, others = _axes(a, b, axes)
    return _contract_left(g, a, b, over, others)


@rule(np.tensordot, "b")
def tensordot_b(g, o, a, b, axes=2):
    a, b = np.asarray(a), np.asarray(b)
    over, others = _axes(a, b, axes)
    return _contract_right(g, a, b, over, others)


@rule(np.dot, "a")
def dot_a(g, o, a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unspread(g * b, np.shape(a))
    if b.ndim == 1:
        return np.expand_dims(g, -1) * b
    if a.ndim == 2 and b.ndim == 2:
        return g @ b.T
    return _contract_left(g, a, b, (a.ndim - 1,), (b.ndim - 2,))


@rule(np.dot, "b")
def dot_b(g, o, a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unspread(g * a, np.shape(b))
    if a.ndim == 2 and b.ndim <= 2:
        return a.T @ g
    if b.ndim == 1:
        return np.tensordot(g, a, g.ndim) if np.ndim(g) else g * a
    return _contract_right(g, a, b, (a.ndim - 1,), (b.ndim - 2,))


@rule(np.inner, "a")
def inner_a(g, o, a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unspread(g * b, np.shape(a))
    return _contract_left(g, a, b, (a.ndim - 1,), (b.ndim - 1,))


@rule(np.inner, "b")
def inner_b(g, o, a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unspread(g * a, np.shape(b))
    return _contract_right(g, a, b, (a.ndim - 1,), (b.ndim - 1,))


@rule(np.vdot, "a")
def vdot_a(g, o, a, b):
    return np.conjugate(g * b).reshape(a.shape) if a.dtype.kind == "c" else (g * b).reshape(a.shape)


@rule(np.vdot, "b")
def vdot_b(g, o, a, b):
    return (g * np.conjugate(a)).reshape(b.shape)


@rule(np.kron, "a")
def kron_a(g, o, a, b):
    return _kron(g, a, b)[0]


@rule(np.kron, "b")
def kron_b(g, o, a, b):
    return _kron(g, a, b)[1]


def _kron(g, a, b):
    rank = max(a.ndim, b.ndim)
    one, other = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - b.ndim) + b.shape
    pairs = tuple(n for pair in zip(one, other, strict=True) for n in pair)
    parts = g.reshape(pairs)
    wide = tuple(n for i in range(rank) for n in (one[i], 1))
    thin = tuple(n for i in range(rank) for n in (1, other[i]))
    of_a = (parts * b.reshape(thin)).sum(axis=tuple(range(1, 2 * rank, 2))).reshape(a.shape)
    of_b = (parts * a.reshape(wide)).sum(axis=tuple(range(0, 2 * rank, 2))).reshape(b.shape)
    return of_a, of_b


@rule(np.cross, "a")
def cross_a(g, o, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    g, a, b, axis = _vectors(g, a, b, axisa, axisb, axisc, axis)
    return np.moveaxis(
        unspread(_pairing(g, b, a, False), a.shape), -1, axisa if axis is None else axis
    )


@rule(np.cross, "b")
def cross_b(g, o, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    g, a, b, axis = _vectors(g, a, b, axisa, axisb, axisc, axis)
    return np.moveaxis(
        unspread(_pairing(g, a, b, True), b.shape), -1, axisb if axis is None else axis
    )


def _vectors(g, a, b, axisa, axisb, axisc, axis):
    """All with the vectors' axis last."""
    if axis is not None:
        axisa, axisb, axisc = axis, axis, axis
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        g = np.expand_dims(g, -1) * np.array([0.0, 0.0, 1.0])
    else:
        g = np.moveaxis(g, axisc, -1)
    return g, a, b, axis


def _pairing(g, other, mine, is_right):
    """other x g, or g x other, in the length of mine."""
    if other.shape[-1] == 2:
        other = np.concatenate((other, np.zeros((*other.shape[:-1], 1), other.dtype)), axis=-1)
    out = np.cross(g, other) if is_right else np.cross(other, g)
    return out[..., : mine.shape[-1]]


def einsum_back(g, o, subscripts, operands, which):
    """Of np.einsum(subscripts, *operands), that of operand number `which`; no ellipsis."""
    left, out = subscripts.split("->")
    names = left.split(",")
    mine, array = names[which], operands[which]
    unique = "".join(dict.fromkeys(mine))
    others = [(names[i], x) for i, x in enumerate(operands) if i != which]
    known = set(out).union(*(set(name) for name, _ in others)) if others else set(out)
    here = "".join(c for c in unique if c in known)
    terms = ",".join([out, *(name for name, _ in others)])
    part = g if terms == here else np.einsum(f"{terms}->{here}", g, *(x for _, x in others))
    lengths = dict(zip(mine, array.shape, strict=True))
    found = dict(zip(here, part.shape, strict=True))  # or 1: NumPy broadcasts letters
    part = part.reshape(tuple(found.get(c, 1) for c in unique))
    part = unspread(part, tuple(lengths[c] if found.get(c, 1) != 1 else 1 for c in unique))
    part = np.broadcast_to(part, tuple(lengths[c] for c in unique))
    if unique == mine:
        return part
    back = np.zeros(array.shape, part.dtype)
    np.einsum(f"{mine}->{unique}", back)[...] = part
    return back


def _vecdot_x1(g, o, x1, x2, *, axis=-1, **kwargs):
    mine, other = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    back = unspread(np.conjugate(np.expand_dims(g, -1) * other), mine.shape)
    return np.moveaxis(back, -1, axis)


def _vecdot_x2(g, o, x1, x2, *, axis=-1, **kwargs):
    other, mine = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    back = unspread(np.expand_dims(g, -1) * np.conjugate(other), mine.shape)
    return np.moveaxis(back, -1, axis)


if hasattr(np, "vecdot"):  # NumPy 2.0 on
    rule(np.vecdot, "x1")(_vecdot_x1)
    rule(np.vecdot, "x2")(_vecdot_x2)
