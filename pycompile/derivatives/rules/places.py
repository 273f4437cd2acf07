"""Of functions that order, pick or move elements."""

import operator

import numpy as np

from pycompile import _calls
from pycompile.derivatives._pieces import clamp_high, clamp_low, clamp_x, unspread
from pycompile.derivatives.rules._table import NoRule, rule


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


@rule(np.real_if_close, "a")
def real_if_close_a(g, o, a, tol=100):
    return g


@rule(
    getattr(np, "astype", np.ndarray.astype), "x"
)  # of complex numbers to real ones, with a warning
def astype_x(g, o, x, dtype, *args, **kwargs):
    return g


@rule(np.broadcast_to, "array")
def broadcast_to_array(g, o, array, shape, subok=False):
    return unspread(g, np.shape(array))


def _joined(g, o, axis):
    """Of a split: its parts' cotangents, one behind the other."""
    if not isinstance(g, tuple):  # of one part
        g, o = (g,), (o,)
    parts = [np.zeros_like(part) if ct is None else ct for ct, part in zip(g, o, strict=True)]
    return np.concatenate(parts, axis=axis)


@rule(np.split, "ary")
@rule(np.array_split, "ary")
def split_ary(g, o, ary, indices_or_sections, axis=0):
    return _joined(g, o, axis)


@rule(np.vsplit, "ary")
def vsplit_ary(g, o, ary, indices_or_sections):
    return _joined(g, o, 0)


@rule(np.hsplit, "ary")
def hsplit_ary(g, o, ary, indices_or_sections):
    return _joined(g, o, 0 if ary.ndim == 1 else 1)


@rule(np.dsplit, "ary")
def dsplit_ary(g, o, ary, indices_or_sections):
    return _joined(g, o, 2)


def _added(shape, key, g):
    """np.add.at of zeros of that shape.  Where only arrays of integers pick, elements have one number
    each: of several indices, or of rows, np.add.at takes ten times as long."""
    arrays = key if isinstance(key, tuple) else (key,)
    for each in arrays:
        if not isinstance(each, np.ndarray) or each.dtype.kind not in "iu":
            back = np.zeros(shape, np.result_type(g))
            np.add.at(back, key, g)
            return back
    places = 0
    for each, length in zip(arrays, shape):
        each = each.astype(np.intp)
        places = places * length + np.where(each < 0, each + length, each)
    size = width = 1
    for length in shape[len(arrays) :]:
        width = width * length
    for length in shape:
        size = size * length
    if len(arrays) < len(shape):
        places = np.expand_dims(places, -1) * width + np.arange(width)
    back = np.zeros(size, np.result_type(g))
    np.add.at(back, places.reshape(-1), g.reshape(-1))
    return back.reshape(shape)


@rule(np.take, "a")
def take_a(g, o, a, indices, axis=None, out=None, mode="raise"):
    if mode == "clip":
        length = a.size if axis is None else a.shape[axis]
        indices = np.clip(indices, 0, length - 1)
    if mode == "wrap":
        indices = np.mod(indices, a.size if axis is None else a.shape[axis])
    if axis is None:
        return _added((a.size,), indices, g).reshape(a.shape)
    axis = axis % a.ndim
    return _added(a.shape, (slice(None),) * axis + (indices,) if axis else indices, g)


@rule(np.take_along_axis, "arr")
def take_along_axis_arr(g, o, arr, indices, axis=-1):
    if axis is None:
        return _added((arr.size,), indices, g).reshape(arr.shape)
    axis = axis % arr.ndim
    key = tuple(
        indices
        if i == axis
        else np.arange(g.shape[i]).reshape(tuple(-1 if j == i else 1 for j in range(arr.ndim)))
        for i in range(arr.ndim)
    )
    return _added(arr.shape, key, g)


@rule(operator.getitem, "a")
def getitem_a(g, o, a, b):
    if not isinstance(a, (np.ndarray, np.generic)):
        raise NoRule(f"an item of a {type(a).__name__}")
    if isinstance(b, np.ndarray) and b.dtype == bool and b.ndim and b.shape == a.shape[: b.ndim]:
        return unmasked(g, a, b)  # NumPy takes an empty mask of any array, too
    return _added(a.shape, b, g)


def unmasked(g, a, mask):
    """What was selected, at its places: a gather, which plans do whatever its length."""
    among = mask.reshape(-1)
    rows = np.concatenate((np.zeros((1, *a.shape[mask.ndim :]), np.result_type(g)), g))
    return rows[np.where(among, np.cumsum(among), 0)].reshape(a.shape)


@rule(np.repeat, "a")
def repeat_a(g, o, a, repeats, axis=None):
    whole = axis is None or a.ndim == 0
    flat, along = (a.reshape(-1), 0) if whole else (a, axis)
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
    moves = mode in ("constant", "empty", "edge", "reflect", "symmetric", "wrap")
    if not moves or kwargs.get("reflect_type") == "odd":
        raise NoRule(f"np.pad with mode {mode!r}" + (" of odd type" if moves else ""))
    where = np.pad(
        np.arange(1, array.size + 1).reshape(array.shape),
        pad_width,
        mode if mode != "empty" else "constant",
        **({} if mode in ("constant", "empty") else kwargs),
    )
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
    if not isinstance(axis, tuple) or not isinstance(shift, (int, tuple)):
        return np.roll(g, -np.asarray(shift), axis)
    shifts = (shift,) * len(axis) if isinstance(shift, int) else shift
    for n, along in zip(shifts, axis, strict=True):
        g = np.roll(g, -n, along)
    return g


@rule(np.rot90, "m")
def rot90_m(g, o, m, k=1, axes=(0, 1)):
    return np.rot90(g, -k, axes)


@rule(np.nan_to_num, "x")
def nan_to_num_x(g, o, x, copy=True, nan=0.0, posinf=None, neginf=None):
    return np.where(np.isfinite(x), g, 0.0)


def _limits(a_min, a_max, kwargs):
    """The limits, which NumPy has two names for, as numbers."""
    low, high = kwargs.get("min", a_min), kwargs.get("max", a_max)
    return -np.inf if low is None else low, np.inf if high is None else high


@rule(np.clip, "a")
def clip_a(g, o, a, a_min=None, a_max=None, out=None, **kwargs):
    low, high = kwargs.get("min", a_min), kwargs.get("max", a_max)
    if high is None:  # no limit is not an infinite one: at infinity that shares the derivative
        back = g if low is None else np.where(a > low, g, np.where(a == low, 0.5 * g, 0.0))
    elif low is None:
        back = np.where(a < high, g, np.where(a == high, 0.5 * g, 0.0))
    else:
        back = clamp_x(g, a, low, high)
    return unspread(back, np.shape(a))


@rule(np.clip, "a_min", "min")
def clip_a_min(g, o, a, a_min=None, a_max=None, out=None, **kwargs):
    low, high = _limits(a_min, a_max, kwargs)
    return unspread(clamp_low(g, a, low, high), np.shape(low))


@rule(np.clip, "a_max", "max")
def clip_a_max(g, o, a, a_min=None, a_max=None, out=None, **kwargs):
    low, high = _limits(a_min, a_max, kwargs)
    return unspread(clamp_high(g, a, low, high), np.shape(high))


@rule(_calls.flat_get, "array")
def flat_get_array(g, o, array, key):
    back = np.zeros(array.size, np.result_type(g))
    np.add.at(back, key, g)
    return back.reshape(array.shape)


@rule(np.bincount, "weights")
def bincount_weights(g, o, x, weights=None, minlength=0):
    return g[x]
