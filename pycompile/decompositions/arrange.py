"""Functions that cut arrays up and put them together again."""

from __future__ import annotations

import numpy as np

_MISSING = np._NoValue

# NumPy's own functions: a graph break, with NumPy's answer or error.
_original_diff = np.diff._implementation
_original_meshgrid = np.meshgrid._implementation
_original_roll = np.roll._implementation
_original_rot90 = np.rot90._implementation
_original_split = np.split._implementation
_original_array_split = np.array_split._implementation
_original_hsplit = np.hsplit._implementation
_original_vsplit = np.vsplit._implementation
_original_dsplit = np.dsplit._implementation
_original_diag = np.diag._implementation
_original_fftfreq = np.fft.fftfreq
_original_rfftfreq = np.fft.rfftfreq


def _is_axis(axis, rank):
    return type(axis) is int and -rank <= axis < rank


def outer(a, b, out=None):
    """np.outer"""
    a = a if type(a) is np.ndarray and a.ndim == 1 else np.asarray(a).ravel()
    b = b if type(b) is np.ndarray and b.ndim == 1 else np.asarray(b).ravel()
    return np.multiply(a[:, None], b[None, :], out)


def diff(a, n=1, axis=-1, prepend=_MISSING, append=_MISSING):
    """np.diff, without prepend and append"""
    if prepend is not _MISSING or append is not _MISSING or n < 0:
        return _original_diff(a, n, axis, prepend, append)
    if n == 0:
        return a
    a = np.asarray(a)
    rank = a.ndim
    if not _is_axis(axis, rank):
        return _original_diff(a, n, axis)
    if axis < 0:
        axis = axis + rank
    later = tuple([slice(1, None) if i == axis else slice(None) for i in range(rank)])
    sooner = tuple([slice(None, -1) if i == axis else slice(None) for i in range(rank)])
    for _ in range(n):
        if a.dtype.kind == "b":
            a = np.not_equal(a[later], a[sooner])
        else:
            a = np.subtract(a[later], a[sooner])
    return a


def _roll_one(a, shift, axis):
    length = a.shape[axis]
    if length == 0:
        return a.copy("K")
    shift = shift % length
    if a.ndim > 1 and shift == 0:  # laid out as the argument is; a vector's length decides nothing
        return a.copy("K")
    head = tuple([slice(length - shift, None) if i == axis else slice(None) for i in range(a.ndim)])
    tail = tuple([slice(None, length - shift) if i == axis else slice(None) for i in range(a.ndim)])
    return np.concatenate((a[head], a[tail]), axis=axis)


def roll(a, shift, axis=None):
    """np.roll by one shift"""
    a = np.asarray(a)
    if axis is None:
        return _roll_one(a.ravel(), shift, 0).reshape(a.shape)
    if not _is_axis(axis, a.ndim) or not a.flags.c_contiguous:
        return _original_roll(
            a, shift, axis
        )  # laid out as the argument is, a join as its parts are
    if axis < 0:
        axis = axis + a.ndim
    return _roll_one(a, shift, axis)


def rot90(m, k=1, axes=(0, 1)):
    """np.rot90 of the first two axes"""
    if type(k) is not int or axes != (0, 1) or m.ndim < 2:
        return _original_rot90(m, k, axes)
    k = k % 4
    if k == 0:
        return m[:]
    if k == 2:
        return m[::-1, ::-1]
    return m.swapaxes(0, 1)[::-1] if k == 1 else m[::-1].swapaxes(0, 1)


def _parts(a, ends, axis):
    before = tuple([slice(None) for _ in range(axis)])
    return [a[(*before, slice(start, stop))] for start, stop in zip((0, *ends[:-1]), ends)]


def _cut(a, ends, axis):
    """Parts between places, which may be anywhere."""
    before = tuple([slice(None) for _ in range(axis)])
    starts, stops = [0, *ends], [*ends, a.shape[axis]]
    return [a[(*before, slice(start, stop))] for start, stop in zip(starts, stops)]


def _are_places(ends):
    return type(ends) in (list, tuple) and all(type(end) is int for end in ends)


def split(ary, indices_or_sections, axis=0):
    """np.split in parts of one length, or at places"""
    a, n = ary, indices_or_sections
    if _are_places(n) and type(axis) is int and 0 <= axis < a.ndim:
        return _cut(a, n, axis)
    if type(n) is not int or n < 1 or type(axis) is not int or not 0 <= axis < a.ndim:
        return _original_split(ary, indices_or_sections, axis)
    length = a.shape[axis]
    if length % n != 0:
        return _original_split(ary, indices_or_sections, axis)
    return _parts(a, [(i + 1) * (length // n) for i in range(n)], axis)


def array_split(ary, indices_or_sections, axis=0):
    """np.array_split in a number of parts, or at places"""
    a, n = ary, indices_or_sections
    if _are_places(n) and type(axis) is int and 0 <= axis < a.ndim:
        return _cut(a, n, axis)
    if type(n) is not int or n < 1 or type(axis) is not int or not 0 <= axis < a.ndim:
        return _original_array_split(ary, indices_or_sections, axis)
    length = a.shape[axis]
    each, longer = length // n, length % n
    return _parts(a, [(i + 1) * each + min(i + 1, longer) for i in range(n)], axis)


def diag(v, k=0):
    """np.diag of a vector, or of a matrix"""
    if v.ndim == 1:
        return np.diagflat(v, k)
    return np.diagonal(v, k) if v.ndim == 2 else _original_diag(v, k)


def hsplit(ary, indices_or_sections):
    """np.hsplit in parts of one length"""
    if ary.ndim == 0:
        return _original_hsplit(ary, indices_or_sections)
    return np.split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary, indices_or_sections):
    """np.vsplit in parts of one length"""
    if ary.ndim < 2:
        return _original_vsplit(ary, indices_or_sections)
    return np.split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    """np.dsplit in parts of one length"""
    if ary.ndim < 3:
        return _original_dsplit(ary, indices_or_sections)
    return np.split(ary, indices_or_sections, 2)


def atleast_1d(*arys):
    """np.atleast_1d of one array"""
    (a,) = arys
    a = np.asanyarray(a)
    return a.reshape(1) if a.ndim == 0 else a


def atleast_2d(*arys):
    """np.atleast_2d of one array"""
    (a,) = arys
    a = np.asanyarray(a)
    if a.ndim == 0:
        return a.reshape(1, 1)
    return a[None, :] if a.ndim == 1 else a


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """np.meshgrid of two vectors, in full"""
    if sparse or not copy or indexing not in ("xy", "ij"):
        return _original_meshgrid(*xi, copy=copy, sparse=sparse, indexing=indexing)
    x, y = xi
    if indexing == "xy":
        shape = (y.size, x.size)
        return (
            np.broadcast_to(x.reshape(1, -1), shape).copy(),
            np.broadcast_to(y.reshape(-1, 1), shape).copy(),
        )
    shape = (x.size, y.size)
    return (
        np.broadcast_to(x.reshape(-1, 1), shape).copy(),
        np.broadcast_to(y.reshape(1, -1), shape).copy(),
    )


def fftfreq(n, d=1.0, device=None):
    """np.fft.fftfreq"""
    if type(n) is not int or device is not None:
        return _original_fftfreq(n, d, device)
    val = 1.0 / (n * d)
    results = np.empty(n, int)
    half = (n - 1) // 2 + 1
    results[:half] = np.arange(0, half, dtype=int)
    results[half:] = np.arange(-(n // 2), 0, dtype=int)
    return results * val


def rfftfreq(n, d=1.0, device=None):
    """np.fft.rfftfreq"""
    if type(n) is not int or device is not None:
        return _original_rfftfreq(n, d, device)
    return np.arange(0, n // 2 + 1, dtype=int) * (1.0 / (n * d))
