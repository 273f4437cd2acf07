"""Functions that a plan calls: subscripts with index arrays (the index is a template with holes),
objects built from a template, concatenation."""

from __future__ import annotations

import math

import numpy as np

from pycompile import _C

# ---- subscripts ----


class _Hole:
    """Stands in a template for the next index array."""

    def __repr__(self) -> str:
        return "_"


HOLE = _Hole()


def _fill(template, indices):
    arrays = iter(indices)
    key = tuple(next(arrays) if item is HOLE else item for item in template)
    return key[0] if len(key) == 1 else key


def take(template, array, *indices):
    """array[index]"""
    return _C.array_select(array, _fill(template, indices))


def put(template, array, value, *indices):
    """A copy of the array after array[index] = value."""
    result = np.array(array, order="K", copy=True, subok=False)
    _C.array_store(result, _fill(template, indices), value)
    return result


def fits(array, key, shape):
    """Can a value of that shape be stored at array[key]?"""
    there = array[key].shape
    try:
        return np.broadcast_shapes(shape, there) == there
    except ValueError:
        return False


def _nested(item, rest):
    """Nested lists with their holes filled in order."""
    if item is HOLE:
        return next(rest)
    return [_nested(x, rest) for x in item] if isinstance(item, list) else item


def build(template, dtype, *holes):
    """np.array of nested lists whose holes are filled in order; dtype None: NumPy's choice."""
    # (A function in here that calls itself would be a cycle, in which the holes live until gc.)
    return np.array(_nested(template, iter(holes)), dtype)


def concatenate(axis, *arrays):
    """np.concatenate of its arguments."""
    return np.concatenate(arrays, axis)


# ---- functions over several numbers ----


def sum_of(*values):
    """sum(values[:-1], values[-1])"""
    return sum(values[:-1], values[-1])


def exact_sum_of(*values):
    return math.fsum(values)


def product_of(*values):
    return math.prod(values)


def max_of(*values):
    return max(values)


def min_of(*values):
    return min(values)


def sorted_up(*values):
    return tuple(sorted(values))


def sorted_down(*values):
    return tuple(sorted(values, reverse=True))


for _function, _name in (
    (sum_of, "sum"),
    (exact_sum_of, "math.fsum"),
    (product_of, "math.prod"),
    (max_of, "max"),
    (min_of, "min"),
    (sorted_up, "sorted"),
    (sorted_down, "sorted"),
):
    _function.__qualname__ = _name  # what messages call it: the program's own call
