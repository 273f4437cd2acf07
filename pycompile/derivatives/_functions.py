"""The derivatives of NumPy's functions that graphs call as they are.

A rule gives what a cotangent `g` of the result adds to one argument's: its parameters behind `g` and
the result `o` are those of NumPy's function, by their names.  Of a function with several results `g`
and `o` are tuples, and a cotangent may be None.  Rules are NumPy code, which is compiled with the
text that calls them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pycompile import _steps
from pycompile.derivatives._pieces import (
    cumprod_back,
    cumsum_back,
    most_back,
    order_of,
    prod_back,
    unspread,
)


class NoRule(Exception):
    """A function that has a rule was called in a way for which there is none: _plan.py says where."""


RULES: dict[Any, dict[str, Callable[..., Any]]] = {}

# What only moves elements: where to is found by moving numbers, zeros being new elements.
MOVES: set[Any] = {
    np.stack,
    np.vstack,
    np.hstack,
    np.dstack,
    np.column_stack,
    np.concatenate,
    np.append,
    np.block,
    np.insert,
    np.delete,
    np.compress,
    np.extract,
    np.resize,
    np.choose,
    np.flip,
    np.fliplr,
    np.flipud,
    np.ravel,
    np.reshape,
    np.transpose,
    np.swapaxes,
    np.moveaxis,
    np.rollaxis,
    np.squeeze,
    np.expand_dims,
    np.broadcast_to,
    np.atleast_1d,
    np.atleast_2d,
    np.atleast_3d,
    np.diagonal,
    np.copy,
    np.asarray,
    np.array,
    np.ascontiguousarray,
    np.asfortranarray,
    _steps.concatenate,
}

# What is no function of its arguments' values, or has no derivative but zero by definition.
ZERO: set[Any] = {
    np.argsort,
    np.argmax,
    np.argmin,
    np.argwhere,
    np.nonzero,
    np.flatnonzero,
    np.count_nonzero,
    np.searchsorted,
    np.digitize,
    np.eye,
    np.identity,
    np.zeros,
    np.ones,
    np.empty,
    np.zeros_like,
    np.ones_like,
    np.empty_like,
    np.floor,
    np.round,
    np.around,
    np.fix,
    np.isclose,
    np.allclose,
    np.array_equal,
    np.any,
    np.all,
    np.lexsort,
    np.bincount,
    np.isin,
    np.linalg.matrix_rank,
    np.arange,
    np.indices,
    np.shape,
    np.sign,
    np.rint,
    np.ceil,
    np.trunc,
}


def rule(function: Any, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The rule of `function` for the arguments of these names."""

    def add(back: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES.setdefault(function, {})[name] = back
        return back

    return add


# ---- products ----


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
    over, others = _axes(a, b, axes)
    return _contract_left(g, a, b, over, others)


@rule(np.tensordot, "b")
def tensordot_b(g, o, a, b, axes=2):
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
def cross_a(g, o, a, b):
    return unspread(np.cross(b, g), a.shape)


@rule(np.cross, "b")
def cross_b(g, o, a, b):
    return unspread(np.cross(g, a), b.shape)


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
    part = np.einsum(f"{terms}->{here}", g, *(x for _, x in others))
    lengths = dict(zip(mine, array.shape, strict=True))
    part = part.reshape(tuple(lengths[c] if c in known else 1 for c in unique))
    part = np.broadcast_to(part, tuple(lengths[c] for c in unique))
    if unique == mine:
        return part
    back = np.zeros(array.shape, part.dtype)
    np.einsum(f"{mine}->{unique}", back)[...] = part
    return back


# ---- linear algebra ----


def _t(a):
    return np.swapaxes(a, -1, -2)


def _column(b, a):
    """NumPy 2 takes a b of one axis as a vector."""
    return b.ndim == 1


@rule(np.linalg.inv, "a")
def inv_a(g, o, a):
    return -(_t(o) @ g @ _t(o))


@rule(np.linalg.solve, "a")
def solve_a(g, o, a, b):
    if b.ndim == 1:
        back = np.linalg.solve(_t(a), g)
        return unspread(-(np.expand_dims(back, -1) * np.expand_dims(o, -2)), a.shape)
    back = np.linalg.solve(_t(a), g)
    return unspread(-(back @ _t(o)), a.shape)


@rule(np.linalg.solve, "b")
def solve_b(g, o, a, b):
    return unspread(np.linalg.solve(_t(a), g), b.shape)


@rule(np.linalg.det, "a")
def det_a(g, o, a):
    return np.reshape(g * o, (*np.shape(o), 1, 1)) * _t(np.linalg.inv(a))


@rule(np.linalg.slogdet, "a")
def slogdet_a(g, o, a):
    return np.reshape(g[1], (*np.shape(g[1]), 1, 1)) * _t(np.linalg.inv(a))


def _lower_half(x):
    """The lower triangle, of the diagonal half."""
    n = x.shape[-1]
    return np.tril(x) * (1.0 - 0.5 * np.eye(n, dtype=x.dtype))


@rule(np.linalg.cholesky, "a")
def cholesky_a(g, o, a, *, upper=False):
    low, g = (_t(o), _t(g)) if upper else (o, g)
    middle = _lower_half(_t(low) @ np.tril(g))
    inverse = np.linalg.inv(low)
    back = _t(inverse) @ middle @ inverse
    return (back + _t(back)) * 0.5


def _gaps(w):
    """1 / (w[j] - w[i]), 0 on the diagonal."""
    gaps = np.expand_dims(w, -2) - np.expand_dims(w, -1)
    same = np.eye(w.shape[-1], dtype=bool)
    return np.where(same, 0.0, 1.0 / np.where(same, 1.0, gaps))


@rule(np.linalg.eigh, "a")
def eigh_a(g, o, a, UPLO="L"):
    w, v = o[0], o[1]
    middle = np.zeros(a.shape, a.dtype)
    if g[0] is not None:
        middle = middle + np.expand_dims(g[0], -2) * np.eye(w.shape[-1], dtype=w.dtype)
    if g[1] is not None:
        middle = middle + _gaps(w) * (_t(v) @ g[1])
    back = v @ middle @ _t(v)
    return (back + _t(back)) * 0.5


@rule(np.linalg.eigvalsh, "a")
def eigvalsh_a(g, o, a, UPLO="L"):
    v = np.linalg.eigh(a, UPLO)[1]
    back = (v * np.expand_dims(g, -2)) @ _t(v)
    return (back + _t(back)) * 0.5


@rule(np.linalg.svd, "a")
def svd_a(g, o, a, full_matrices=True, compute_uv=True, hermitian=False):
    if not compute_uv:
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        return (u * np.expand_dims(g, -2)) @ vt
    k = min(a.shape[-2:])
    u, s, vt = o[0][..., :k], o[1], o[2][..., :k, :]
    v = _t(vt)
    back = np.zeros(a.shape, a.dtype)
    if g[1] is not None:
        back = back + (u * np.expand_dims(g[1], -2)) @ vt
    gaps = _gaps(s * s)
    wide = np.expand_dims(s, -2)
    if g[0] is not None:
        gu = g[0][..., :k]
        inner = gaps * (_t(u) @ gu)
        back = back + u @ ((inner + _t(inner)) * wide) @ vt
        if a.shape[-2] > k:
            rest = gu / wide
            back = back + (rest - u @ (_t(u) @ rest)) @ vt
    if g[2] is not None:
        gv = _t(g[2][..., :k, :])
        inner = gaps * (_t(v) @ gv)
        back = back + u @ (np.expand_dims(s, -1) * (inner + _t(inner))) @ vt
        if a.shape[-1] > k:
            rest = gv / wide
            back = back + u @ _t(rest - v @ (_t(v) @ rest))
    return back


@rule(np.linalg.qr, "a")
def qr_a(g, o, a, mode="reduced"):
    q, r = o[0], o[1]
    gq = g[0] if g[0] is not None else np.zeros(q.shape, q.dtype)
    gr = np.triu(g[1]) if g[1] is not None else np.zeros(r.shape, r.dtype)
    middle = r @ _t(gr) - _t(gq) @ q
    low = np.tril(middle, -1)
    middle = low + _t(low) + np.eye(r.shape[-1], dtype=r.dtype) * middle
    return _t(np.linalg.solve(r, _t(gq + q @ middle)))


@rule(np.linalg.pinv, "a")
def pinv_a(g, o, a, rcond=None, hermitian=False):
    g, p = _t(g), o
    m, n = a.shape[-2:]
    left = np.eye(m, dtype=a.dtype) - a @ p
    right = np.eye(n, dtype=a.dtype) - p @ a
    back = -(p @ _t(_t(g)) @ p)
    gt = _t(g)
    back = -(_t(p) @ gt @ _t(p))
    return back + left @ _t(gt) @ p @ _t(p) + _t(p) @ p @ _t(gt) @ right


@rule(np.linalg.matrix_power, "a")
def matrix_power_a(g, o, a, n):
    if n == 0:
        return np.zeros(a.shape, a.dtype)
    back = np.zeros(a.shape, a.dtype)
    if n < 0:
        base = np.linalg.inv(a)
        for i in range(-n):
            inner = _t(np.linalg.matrix_power(base, i)) @ g
            back = back + inner @ _t(np.linalg.matrix_power(base, -n - 1 - i))
        return -(_t(base) @ back @ _t(base))
    for i in range(n):
        back = back + _t(np.linalg.matrix_power(a, i)) @ g @ _t(
            np.linalg.matrix_power(a, n - 1 - i)
        )
    return back


@rule(np.linalg.norm, "x")
def norm_x(g, o, x, ord=None, axis=None, keepdims=False):
    if axis is None and ord is not None and x.ndim == 2:
        axis = (0, 1)
    over = tuple(range(x.ndim)) if axis is None else axis
    over = (over,) if isinstance(over, int) else tuple(i % x.ndim for i in over)
    over = tuple(i % x.ndim for i in over)
    shape = tuple(1 if i in over else n for i, n in enumerate(x.shape))
    g, o = np.reshape(g, shape), np.reshape(o, shape)
    if ord is None or ord == "fro" or (len(over) == 1 and ord == 2):
        return g * (x / o)
    if len(over) == 1:
        if ord == np.inf:
            return most_back(g, np.abs(x), o, over) * np.sign(x)
        if ord == -np.inf:
            return most_back(g, np.abs(x), o, over) * np.sign(x)
        if ord == 1:
            return g * np.sign(x)
        if ord == 0:
            return np.zeros(x.shape, x.dtype)
        return g * (x * np.abs(x) ** (ord - 2.0) / o ** (ord - 1.0))
    if x.ndim != 2:
        raise NoRule("np.linalg.norm of matrices in an array of more axes")
    if ord in (1, -1, np.inf, -np.inf):
        other = 1 - over[0] if ord in (1, -1) else over[0]
        along = over[0] if ord in (1, -1) else over[1]
        sums = np.abs(x).sum(axis=along, keepdims=True)
        return most_back(g, sums, o, (0, 1)) * np.sign(x) + 0.0 * other
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    if ord == "nuc":
        return g * (u @ vt)
    i = 0 if ord == 2 else -1
    return g * (u[:, i, None] * vt[i])


@rule(np.trace, "a")
def trace_a(g, o, a, offset=0, axis1=0, axis2=1):
    eye = np.eye(a.shape[axis1], a.shape[axis2], offset, dtype=a.dtype)
    rest = np.reshape(g, (*np.shape(g), 1, 1)) * eye
    return np.moveaxis(rest, (-2, -1), (axis1, axis2))


# ---- Fourier transforms: linear, of complex numbers; the cotangents are not conjugated ----


@rule(np.fft.fft, "a")
def fft_a(g, o, a, n=None, axis=-1, norm=None):
    return _of_length(np.fft.fft(g, axis=axis, norm=norm), a, axis)


@rule(np.fft.ifft, "a")
def ifft_a(g, o, a, n=None, axis=-1, norm=None):
    return _of_length(np.fft.ifft(g, axis=axis, norm=norm), a, axis)


def _of_length(x, a, axis):
    """x cut or filled with zeros to the length of a, for a transform that has done so to a."""
    length, there = a.shape[axis], x.shape[axis]
    x = np.moveaxis(x, axis, -1)
    if there > length:
        x = x[..., :length]
    if there < length:
        x = np.concatenate((x, np.zeros((*x.shape[:-1], length - there), x.dtype)), axis=-1)
    return np.moveaxis(x, -1, axis)


@rule(np.fft.rfft, "a")
def rfft_a(g, o, a, n=None, axis=-1, norm=None):
    """The real part of the transform of the cotangent, filled with zeros."""
    length = a.shape[axis] if n is None else n
    g = np.moveaxis(g, axis, -1)
    full = np.concatenate((g, np.zeros((*g.shape[:-1], length - g.shape[-1]), g.dtype)), axis=-1)
    return _of_length(np.moveaxis(np.fft.fft(full, norm=norm).real, -1, axis), a, axis)


@rule(np.fft.irfft, "a")
def irfft_a(g, o, a, n=None, axis=-1, norm=None):
    length = o.shape[axis]
    g = np.moveaxis(g, axis, -1)
    half = np.conjugate(np.fft.rfft(g, norm=norm))
    swap = {None: 1.0 / length, "backward": 1.0 / length, "ortho": 1.0, "forward": float(length)}[
        norm
    ]
    twice = np.full(half.shape[-1], 2.0)
    twice[0] = 1.0
    if length % 2 == 0:
        twice[-1] = 1.0
    return _of_length(np.moveaxis(half * twice * swap, -1, axis), a, axis)


@rule(np.fft.fft2, "a")
def fft2_a(g, o, a, s=None, axes=(-2, -1), norm=None):
    if s is not None:
        raise NoRule("np.fft.fft2 with s")
    return np.fft.fft2(g, axes=axes, norm=norm)


@rule(np.fft.ifft2, "a")
def ifft2_a(g, o, a, s=None, axes=(-2, -1), norm=None):
    if s is not None:
        raise NoRule("np.fft.ifft2 with s")
    return np.fft.ifft2(g, axes=axes, norm=norm)


@rule(np.fft.fftn, "a")
def fftn_a(g, o, a, s=None, axes=None, norm=None):
    if s is not None:
        raise NoRule("np.fft.fftn with s")
    return np.fft.fftn(g, axes=axes, norm=norm)


@rule(np.fft.ifftn, "a")
def ifftn_a(g, o, a, s=None, axes=None, norm=None):
    if s is not None:
        raise NoRule("np.fft.ifftn with s")
    return np.fft.ifftn(g, axes=axes, norm=norm)


@rule(np.fft.fftshift, "x")
def fftshift_x(g, o, x, axes=None):
    return np.fft.ifftshift(g, axes)


@rule(np.fft.ifftshift, "x")
def ifftshift_x(g, o, x, axes=None):
    return np.fft.fftshift(g, axes)


# ---- order and places ----


@rule(np.sort, "a")
def sort_a(g, o, a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        back = np.argsort(np.argsort(a, axis=None, kind="stable"), kind="stable")
        return g[back].reshape(a.shape)
    back = np.argsort(np.argsort(a, axis=axis, kind="stable"), axis=axis, kind="stable")
    return np.take_along_axis(g, back, axis)


@rule(np.partition, "a")
def partition_a(g, o, a, kth, axis=-1, kind="introselect", order=None):
    back = np.argsort(np.argpartition(a, kth, axis, kind, order), axis=axis, kind="stable")
    return np.take_along_axis(g, back, axis)


@rule(np.take, "a")
def take_a(g, o, a, indices, axis=None, out=None, mode="raise"):
    if mode == "clip":
        length = a.size if axis is None else a.shape[axis]
        indices = np.clip(indices, 0, length - 1)
    if mode == "wrap":
        indices = np.mod(indices, a.size if axis is None else a.shape[axis])
    if axis is None:
        back = np.zeros(a.size, np.result_type(g))
        np.add.at(back, indices, g)
        return back.reshape(a.shape)
    back = np.zeros(a.shape, np.result_type(g))
    key = (slice(None),) * (axis % a.ndim) + (indices,)
    np.add.at(back, key, g)
    return back


@rule(np.take_along_axis, "arr")
def take_along_axis_arr(g, o, arr, indices, axis=-1):
    if axis is None:
        back = np.zeros(arr.size, g.dtype)
        np.add.at(back, indices, g)
        return back.reshape(arr.shape)
    axis = axis % arr.ndim
    back = np.zeros(arr.shape, g.dtype)
    key = tuple(
        indices
        if i == axis
        else np.arange(g.shape[i]).reshape(tuple(-1 if j == i else 1 for j in range(arr.ndim)))
        for i in range(arr.ndim)
    )
    np.add.at(back, key, g)
    return back


@rule(operator.getitem, "a")
def getitem_a(g, o, a, b):
    back = np.zeros(a.shape, np.result_type(g))
    np.add.at(back, b, g)
    return back


@rule(np.repeat, "a")
def repeat_a(g, o, a, repeats, axis=None):
    flat = a.reshape(-1) if axis is None else a
    along = 0 if axis is None else axis
    where = np.repeat(np.arange(flat.shape[along]), repeats)
    back = np.zeros(flat.shape, g.dtype)
    np.add.at(np.moveaxis(back, along, 0), where, np.moveaxis(g, along, 0))
    return back.reshape(a.shape)


@rule(np.tile, "A")
def tile_A(g, o, A, reps):
    reps = (reps,) if isinstance(reps, int) else tuple(reps)
    rank = max(A.ndim, len(reps))
    reps = (1,) * (rank - len(reps)) + reps
    shape = (1,) * (rank - A.ndim) + A.shape
    pairs = tuple(n for i in range(rank) for n in (reps[i], shape[i]))
    return g.reshape(pairs).sum(axis=tuple(range(0, 2 * rank, 2))).reshape(A.shape)


@rule(np.pad, "array")
def pad_array(g, o, array, pad_width, mode="constant", **kwargs):
    where = np.pad(
        np.arange(1, array.size + 1).reshape(array.shape),
        pad_width,
        mode if mode != "empty" else "constant",
        **({} if mode in ("constant", "empty") else kwargs),
    )
    if mode not in ("constant", "empty", "edge", "reflect", "symmetric", "wrap"):
        raise NoRule(f"np.pad with mode {mode!r}")
    back = np.zeros(array.size + 1, g.dtype)
    np.add.at(back, where, g)
    return back[1:].reshape(array.shape)


@rule(np.diag, "v")
def diag_v(g, o, v, k=0):
    return np.diag(g, k) if v.ndim == 1 else _diagonal_back(g, v, k)


def _diagonal_back(g, v, k):
    back = np.zeros(v.shape, g.dtype)
    first, second = max(0, -k), max(0, k)
    n = np.arange(g.shape[0])
    back[n + first, n + second] = g
    return back


@rule(np.diagflat, "v")
def diagflat_v(g, o, v, k=0):
    return np.diag(g, k).reshape(np.shape(v))


@rule(np.tril, "m")
def tril_m(g, o, m, k=0):
    return unspread(np.tril(g, k), m.shape)


@rule(np.triu, "m")
def triu_m(g, o, m, k=0):
    return unspread(np.triu(g, k), m.shape)


@rule(np.roll, "a")
def roll_a(g, o, a, shift, axis=None):
    return np.roll(g, -np.asarray(shift), axis)


@rule(np.rot90, "m")
def rot90_m(g, o, m, k=1, axes=(0, 1)):
    return np.rot90(g, -k, axes)


@rule(np.nan_to_num, "x")
def nan_to_num_x(g, o, x, copy=True, nan=0.0, posinf=None, neginf=None):
    return np.where(np.isfinite(x), g, 0.0)


@rule(np.clip, "a")
def clip_a(g, o, a, a_min=None, a_max=None, out=None, **kwargs):
    if a_max is not None:
        most = np.maximum(a, a_min) if a_min is not None else a
        g = np.where(most < a_max, g, np.where(most == a_max, 0.5 * g, 0.0))
    if a_min is not None:
        g = np.where(a > a_min, g, np.where(a == a_min, 0.5 * g, 0.0))
    return unspread(g, np.shape(a))


# ---- sums ----


def _spread(g, a, axis):
    over = tuple(range(a.ndim)) if axis is None else axis
    over = (over,) if isinstance(over, int) else over
    over = tuple(i % a.ndim for i in over)
    return np.reshape(g, tuple(1 if i in over else n for i, n in enumerate(a.shape))), over


@rule(np.sum, "a")
def sum_a(g, o, a, axis=None, dtype=None, out=None, keepdims=False, initial=0, where=True):
    return np.where(where, np.broadcast_to(_spread(g, a, axis)[0], a.shape), 0.0)


@rule(np.mean, "a")
def mean_a(g, o, a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    wide, over = _spread(g, a, axis)
    count = np.broadcast_to(where, a.shape).sum(axis=over, keepdims=True)
    return np.where(where, np.broadcast_to(wide / count, a.shape), 0.0)


@rule(np.nansum, "a")
def nansum_a(g, o, a, axis=None, dtype=None, out=None, keepdims=False):
    return np.where(np.isnan(a), 0.0, np.broadcast_to(_spread(g, a, axis)[0], a.shape))


@rule(np.nanmean, "a")
def nanmean_a(g, o, a, axis=None, dtype=None, out=None, keepdims=False):
    wide, over = _spread(g, a, axis)
    count = (~np.isnan(a)).sum(axis=over, keepdims=True)
    return np.where(np.isnan(a), 0.0, np.broadcast_to(wide / count, a.shape))


@rule(np.average, "a")
def average_a(g, o, a, axis=None, weights=None, returned=False, *, keepdims=False):
    wide, over = _spread(g, a, axis)
    if weights is None:
        return np.broadcast_to(wide / np.prod([a.shape[i] for i in over]), a.shape)
    if weights.shape != a.shape:
        weights = weights.reshape(tuple(n if i in over else 1 for i, n in enumerate(a.shape)))
    return wide * weights / np.broadcast_to(weights, a.shape).sum(axis=over, keepdims=True)


@rule(np.average, "weights")
def average_weights(g, o, a, axis=None, weights=None, returned=False, *, keepdims=False):
    wide, over = _spread(g, a, axis)
    mean = np.reshape(o, wide.shape)
    full = weights
    if weights.shape != a.shape:
        full = weights.reshape(tuple(n if i in over else 1 for i, n in enumerate(a.shape)))
    total = np.broadcast_to(full, a.shape).sum(axis=over, keepdims=True)
    back = wide * (a - mean) / total
    return back if weights.shape == a.shape else unspread(back, full.shape).reshape(weights.shape)


@rule(np.cumsum, "a")
def cumsum_a(g, o, a, axis=None, dtype=None, out=None):
    return cumsum_back(g.reshape(-1), 0).reshape(a.shape) if axis is None else cumsum_back(g, axis)


@rule(np.cumprod, "a")
def cumprod_a(g, o, a, axis=None, dtype=None, out=None):
    if axis is None:
        return cumprod_back(g.reshape(-1), a.reshape(-1), 0).reshape(a.shape)
    return cumprod_back(g, a, axis)


@rule(np.prod, "a")
def prod_a(g, o, a, axis=None, dtype=None, out=None, keepdims=False):
    over = tuple(range(a.ndim)) if axis is None else axis
    over = (over,) if isinstance(over, int) else over
    return prod_back(g, a, tuple(i % a.ndim for i in over))


@rule(np.trapezoid, "y")
def trapezoid_y(g, o, y, x=None, dx=1.0, axis=-1):
    n = y.shape[axis]
    steps = np.full(n - 1, dx) if x is None else np.diff(x)
    if steps.ndim != 1:
        raise NoRule("np.trapezoid with an x of more than one axis")
    weights = np.concatenate((steps, np.zeros(1))) + np.concatenate((np.zeros(1), steps))
    return np.moveaxis(np.expand_dims(g, -1) * (0.5 * weights), -1, axis)


@rule(np.trapezoid, "x")
def trapezoid_x(g, o, y, x=None, dx=1.0, axis=-1):
    if y.ndim != 1 or x.ndim != 1:
        raise NoRule("np.trapezoid by an x, of more than one axis")
    means = 0.5 * g * (y[1:] + y[:-1])
    return np.concatenate((np.zeros(1), means)) - np.concatenate((means, np.zeros(1)))


@rule(np.diff, "a")
def diff_a(g, o, a, n=1, axis=-1):
    for _ in range(n):
        zero = np.zeros_like(np.take(g, [0], axis))
        g = np.concatenate((zero, g), axis) - np.concatenate((g, zero), axis)
    return g


@rule(np.gradient, "f")
def gradient_f(g, o, f, *varargs, axis=None, edge_order=1):
    if f.ndim != 1 or edge_order != 1 or len(varargs) > 1:
        raise NoRule("np.gradient of more than one axis, or with edge_order=2")
    h = varargs[0] if varargs else 1.0
    n = f.shape[0]
    d = h if np.ndim(h) == 0 else np.diff(h)
    steps = np.full(n - 1, d) if np.ndim(d) == 0 else d
    left, right = steps[:-1], steps[1:]
    inner = g[1:-1]
    back = np.zeros(n, g.dtype)
    back[:-2] -= inner * right / (left * (left + right))
    back[1:-1] += inner * (right - left) / (left * right)
    back[2:] += inner * left / (right * (left + right))
    back[0] -= g[0] / steps[0]
    back[1] += g[0] / steps[0]
    back[-2] -= g[-1] / steps[-1]
    back[-1] += g[-1] / steps[-1]
    return back


@rule(np.cov, "m")
def cov_m(
    g, o, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None
):
    if y is not None or fweights is not None or aweights is not None:
        raise NoRule("np.cov with y or weights")
    rows = np.atleast_2d(m) if rowvar or m.ndim == 1 else m.T
    centred = rows - rows.mean(axis=1, keepdims=True)
    count = rows.shape[1] - (ddof if ddof is not None else (0 if bias else 1))
    g = np.reshape(g, (rows.shape[0], rows.shape[0]))
    back = (g + g.T) @ centred / count
    back = back - back.mean(axis=1, keepdims=True)
    return (back if rowvar or m.ndim == 1 else back.T).reshape(m.shape)


def _at_quantile(g, o, a, q, axis, keepdims):
    """Of linear interpolation between the two elements around the place q * (n - 1)."""
    flat = a.reshape(-1) if axis is None else np.moveaxis(a, axis, -1)
    n = flat.shape[-1]
    q = np.asarray(q, float)
    if q.ndim:
        raise NoRule("several quantiles at once")
    place = float(q) * (n - 1)
    low = int(place)
    high, part = min(low + 1, n - 1), place - low
    order = np.argsort(flat, axis=-1, kind="stable")
    g = np.reshape(g, flat.shape[:-1])
    in_order = np.zeros(flat.shape, flat.dtype)
    in_order[..., low] += g * (1 - part)
    in_order[..., high] += g * part
    back = np.take_along_axis(in_order, np.argsort(order, axis=-1, kind="stable"), -1)
    return back.reshape(a.shape) if axis is None else np.moveaxis(back, -1, axis)


@rule(np.median, "a")
def median_a(g, o, a, axis=None, out=None, overwrite_input=False, keepdims=False):
    if axis is not None and not isinstance(axis, int):
        raise NoRule("np.median over several axes")
    return _at_quantile(g, o, a, 0.5, axis, keepdims)


@rule(np.quantile, "a")
def quantile_a(
    g, o, a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False
):
    if method != "linear" or (axis is not None and not isinstance(axis, int)):
        raise NoRule("np.quantile by another method, or over several axes")
    return _at_quantile(g, o, a, q, axis, keepdims)


@rule(np.percentile, "a")
def percentile_a(
    g, o, a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False
):
    if method != "linear" or (axis is not None and not isinstance(axis, int)):
        raise NoRule("np.percentile by another method, or over several axes")
    return _at_quantile(g, o, a, np.asarray(q) / 100, axis, keepdims)


# ---- series ----


@rule(np.convolve, "a")
def convolve_a(g, o, a, v, mode="full"):
    return _convolve_back(g, a, v, mode, 0)


@rule(np.convolve, "v")
def convolve_v(g, o, a, v, mode="full"):
    return _convolve_back(g, a, v, mode, 1)


def _convolve_back(g, a, v, mode, which):
    n, m = a.shape[0], v.shape[0]
    full = n + m - 1
    # Where the result begins in the full one.
    start = {"full": 0, "same": (min(n, m) - 1) // 2, "valid": min(n, m) - 1}[mode]
    wide = np.concatenate(
        (np.zeros(start, g.dtype), g, np.zeros(full - start - g.shape[0], g.dtype))
    )
    return np.convolve(wide, (v if which == 0 else a)[::-1], "valid")


@rule(np.correlate, "a")
def correlate_a(g, o, a, v, mode="valid"):
    return _convolve_back(g, a, v[::-1], mode, 0)


@rule(np.correlate, "v")
def correlate_v(g, o, a, v, mode="valid"):
    return _convolve_back(g, a, v[::-1], mode, 1)[::-1]


def _segments(x, xp):
    """Of each x the segment between which xp it lies, where it lies in there, and whether it does."""
    at = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, xp.shape[0] - 2)
    width = xp[at + 1] - xp[at]
    part = np.clip((x - xp[at]) / width, 0.0, 1.0)
    return at, width, part, (x >= xp[0]) & (x <= xp[-1])


@rule(np.interp, "x")
def interp_x(g, o, x, xp, fp, left=None, right=None, period=None):
    at, width, part, inside = _segments(x, xp)
    return np.where(inside, g * (fp[at + 1] - fp[at]) / width, 0.0)


@rule(np.interp, "fp")
def interp_fp(g, o, x, xp, fp, left=None, right=None, period=None):
    if left is not None or right is not None or period is not None:
        raise NoRule("np.interp with left, right or period, by fp")
    at, width, part, inside = _segments(x, xp)
    back = np.zeros(fp.shape, np.result_type(g))
    np.add.at(back, at, g * (1.0 - part))
    np.add.at(back, at + 1, g * part)
    return back


@rule(np.interp, "xp")
def interp_xp(g, o, x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        raise NoRule("np.interp with period, by xp")
    at, width, part, inside = _segments(x, xp)
    slope = np.where(inside, g * (fp[at + 1] - fp[at]) / width, 0.0)
    back = np.zeros(xp.shape, np.result_type(slope))
    np.add.at(back, at, -slope * (1.0 - part))
    np.add.at(back, at + 1, -slope * part)
    return back


@rule(np.polyval, "p")
def polyval_p(g, o, p, x):
    n = p.shape[0]
    powers = x ** np.arange(n - 1, -1, -1).reshape((n,) + (1,) * np.ndim(x))
    return (g * powers).reshape((n, -1)).sum(axis=1)


@rule(np.polyval, "x")
def polyval_x(g, o, p, x):
    n = p.shape[0]
    return g * np.polyval(p[:-1] * np.arange(n - 1, 0, -1), x) if n > 1 else 0.0 * g


@rule(np.sinc, "x")
def sinc_x(g, o, x):
    t = np.where(x == 0.0, 1.0, x * np.pi)
    return g * np.where(x == 0.0, 0.0, np.pi * (np.cos(t) * t - np.sin(t)) / (t * t))


@rule(np.angle, "z")
def angle_z(g, o, z, deg=False):
    return -1j * g * (180 / np.pi if deg else 1.0) / z


@rule(np.unwrap, "p")
def unwrap_p(g, o, p, discont=None, axis=-1, *, period=2 * np.pi):
    return g


@rule(np.vander, "x")
def vander_x(g, o, x, N=None, increasing=False):
    n = o.shape[1]
    powers = np.arange(n) if increasing else np.arange(n - 1, -1, -1)
    lower = np.where(powers == 0, 0.0, powers * x[:, None] ** np.where(powers == 0, 0, powers - 1))
    return (g * lower).sum(axis=1)


def reduce_rule(ufunc, g, o, array, axis):
    """Of ufunc.reduce, where it has one."""
    over = tuple(range(array.ndim)) if axis is None else axis
    over = (over,) if isinstance(over, int) else over
    over = tuple(i % array.ndim for i in over)
    shape = tuple(1 if i in over else n for i, n in enumerate(array.shape))
    g, o = np.reshape(g, shape), np.reshape(o, shape)
    if ufunc is np.logaddexp:
        return g * np.exp(array - o)
    if ufunc is np.logaddexp2:
        return g * np.exp2(array - o)
    if ufunc is np.hypot:
        return g * (array / o)
    if ufunc is np.add:
        return np.broadcast_to(g, array.shape)
    if ufunc is np.multiply:
        return prod_back(g, array, over)
    if ufunc is np.maximum or ufunc is np.minimum:
        return most_back(g, array, o, over)
    raise NoRule(f"np.{ufunc.__name__}.reduce")


def accumulate_rule(ufunc, g, o, array, axis):
    """Of ufunc.accumulate along one axis."""
    if ufunc is np.add:
        return cumsum_back(g, axis)
    if ufunc is np.multiply:
        return cumprod_back(g, array, axis)
    if ufunc is np.maximum or ufunc is np.minimum:
        x, top = np.moveaxis(array, axis, 0), np.moveaxis(o, axis, 0)
        places = np.arange(x.shape[0]).reshape((-1,) + (1,) * (x.ndim - 1))
        from_ = np.maximum.accumulate(np.where(x == top, places, 0), axis=0)
        back = np.zeros(x.shape, x.dtype)
        others = tuple(np.indices(x.shape)[1:])
        np.add.at(back, (from_, *others), np.moveaxis(g, axis, 0))
        return np.moveaxis(back, 0, axis)
    raise NoRule(f"np.{ufunc.__name__}.accumulate")


def build_back(g, template, number):
    """Of an array built from nested lists, that of hole `number`: the sum where it stands."""
    places: list[Any] = []

    def walk(item, at):
        if item is _steps.HOLE:
            places.append(at)
        elif isinstance(item, list):
            for i, inner in enumerate(item):
                walk(inner, (*at, i))

    walk(template, ())
    return g[places[number]]


class _Functions:
    """A set of functions that may be asked about what has no hash."""

    def __init__(self, functions: set[Any]) -> None:
        self.functions = functions

    def __contains__(self, function: Any) -> bool:
        try:
            return function in self.functions
        except TypeError:
            return False


ZERO_SET, MOVES_SET = _Functions(ZERO), _Functions(MOVES)


def last_writes(g, key):
    """g[key], with zeros where a later item of the key stores at the same place."""
    part = g[key]
    order = np.arange(1, part.size + 1).reshape(np.shape(part))
    stamp = np.zeros(g.shape, order.dtype)
    stamp[key] = order
    return np.where(stamp[key] == order, part, 0.0)
