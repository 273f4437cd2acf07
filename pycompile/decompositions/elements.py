"""What walks through elements in NumPy."""

from __future__ import annotations

import itertools

import numpy as np

from pycompile._api import graph_break


def _enumerate(array):
    for index in itertools.product(*map(range, array.shape)):
        yield index, array[index]


def ndenumerate(arr):
    """np.ndenumerate"""
    return _enumerate(np.asarray(arr))


def fromiter(iter, dtype, count=-1, *, like=None):
    """np.fromiter of numbers"""
    if like is not None or type(count) is not int or count != -1:
        graph_break()
    items = list(iter)
    for item in items:
        if not isinstance(item, (int, float, complex, np.generic)):
            graph_break()
    if not items:  # its strides are those of room for more
        graph_break()
    return np.array(items, dtype)
