"""Functions that give one number for many."""

from __future__ import annotations

import numpy as np

# NumPy's own functions: a graph break, with NumPy's answer or error.
_original_norm = np.linalg.norm._implementation
_original_median = np.median._implementation


def _is_of_floats(a):
    return type(a) is np.ndarray and a.ndim > 0 and a.dtype.char in "fd"


def norm(x, ord=None, axis=None, keepdims=False):
    """np.linalg.norm: of all elements, or along an axis"""
    if not _is_of_floats(x) or ord is not None or keepdims is not False:
        return _original_norm(x, ord, axis, keepdims)
    if axis is None:
        flat = x.ravel("K")
        return np.sqrt(flat.dot(flat))
    if type(axis) is not int:
        return _original_norm(x, ord, axis, keepdims)
    return np.sqrt(np.add.reduce(x * x, axis))


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """np.median of a vector"""
    plain = axis is None and out is None and overwrite_input is False and keepdims is False
    if not plain or not _is_of_floats(a) or a.ndim != 1 or a.shape[0] == 0:
        return _original_median(a, axis, out, overwrite_input, keepdims)
    low, high = (a.shape[0] - 1) // 2, a.shape[0] // 2 + 1
    part = np.partition(a, np.concatenate((np.arange(low, high), [-1])))
    last = part[-1]
    return last if np.isnan(last) else part[low:high].mean()
