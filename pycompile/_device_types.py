"""What some of CuPy's functions give, by rule.

A trial of such a function starts what CuPy needs for it: cuBLAS takes 200 ms for a first product, and
the first scan of a process compiles kernels.  The functions here become kernels and products of
pycompile's, so that a process may never need CuPy's own.  A rule takes what it is sure of; the rest is
tried.  tests/gpu/test_device_types.py compares the rules with CuPy.
"""

from __future__ import annotations

import math
import operator
import sys

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pycompile._C import StepValue

_SUMMED = "efdlq"  # dtypes that sums have, too


def _bind(asked, names):
    """The templates of the arguments by name; None: there are others."""
    if len(asked.args) > len(names):
        return None
    given = dict(zip(names, asked.args))
    if given.keys() & asked.kwargs.keys() or asked.kwargs.keys() - {*names}:
        return None
    return given | asked.kwargs


def _arrays(asked, given, *names):
    """What is known of the arrays that have these names; None: they are not all of the call's."""
    numbers = [getattr(given.get(name), "number", None) for name in names]
    arrays = asked.values
    if numbers != [*range(len(arrays))] or any(v.form != StepValue.DEVICE for v in arrays):
        return None
    return arrays if all(0 not in v.shape and v.shape for v in arrays) else None


def _strides(shape, itemsize):
    strides = []
    for length in reversed(shape):
        strides.append(itemsize)
        itemsize *= length
    return tuple(reversed(strides))


def _is_contiguous(array):
    """In C order; an axis of one element has any stride."""
    dense = _strides(array.shape, array.dtype.itemsize)
    return all(
        length == 1 or stride == wanted
        for length, stride, wanted in zip(array.shape, array.strides, dense)
    )


def _product(asked):
    given = _bind(asked, ("a", "b"))
    arrays = given and _arrays(asked, given, "a", "b")
    if not arrays:
        return None
    a, b = arrays
    shapes = a.shape[:-2], b.shape[:-2]
    if min(len(a.shape), len(b.shape)) < 2 or a.dtype != b.dtype or a.dtype.char not in "efd":
        return None
    if a.shape[-1] != b.shape[-2]:
        return None
    try:
        return a.dtype, (*np.broadcast_shapes(*shapes), a.shape[-2], b.shape[-1])
    except ValueError:  # which CuPy's own trial raises
        return None


def _dot(asked):
    flat = all(len(getattr(value, "shape", None) or ()) == 2 for value in asked.values)
    return _product(asked) if flat else None


def _cumulative(asked):
    given = _bind(asked, ("a", "axis"))
    arrays = given and _arrays(asked, given, "a")
    if not arrays or arrays[0].dtype.char not in _SUMMED or not _is_contiguous(arrays[0]):
        return None
    (a,) = arrays
    axis = given.get("axis")
    if axis is None:
        return a.dtype, (math.prod(a.shape),)
    last = len(a.shape) - 1  # along others CuPy's result has that axis' elements side by side
    return (a.dtype, a.shape) if type(axis) is int and axis in (last, -1) else None


def _take(asked):
    given = _bind(asked, ("a", "indices", "axis"))
    arrays = given and _arrays(asked, given, "a", "indices")
    if not arrays or arrays[1].dtype.kind not in "iu" or arrays[0].dtype.kind == "V":
        return None
    a, indices = arrays
    axis = given.get("axis")
    if axis is None:
        return a.dtype, indices.shape
    if type(axis) is not int or not -len(a.shape) <= axis < len(a.shape):
        return None
    axis %= len(a.shape)
    return a.dtype, (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :])


def _astype(asked):
    given = _bind(asked, ("a", "dtype"))
    arrays = given and _arrays(asked, given, "a")
    dtype = given and given.get("dtype")
    if not arrays or not isinstance(dtype, np.dtype) or not _is_contiguous(arrays[0]):
        return None
    known = dtype.isnative and dtype.kind in "biuf" and arrays[0].dtype.kind in "biuf"
    return (dtype, arrays[0].shape) if known else None


def _reshape(asked):
    """To a shape that no strides give, so that CuPy copies."""
    if asked.kwargs:
        return None
    arrays = _arrays(asked, {"a": asked.args[0]}, "a")
    shape = tuple(asked.args[1:])
    if len(shape) == 1 and type(shape[0]) is tuple:
        (shape,) = shape
    if not arrays or any(type(n) is not int or n < 1 for n in shape):
        return None
    (a,) = arrays
    if math.prod(shape) != math.prod(a.shape) or a.dtype.kind not in "biuf":
        return None
    like = as_strided(np.empty(1, a.dtype), a.shape, a.strides)
    try:
        like.reshape(shape, copy=False)
    except ValueError:
        return a.dtype, shape
    except TypeError:  # NumPy before 2.1
        pass
    return None


def _rules():
    cupy = sys.modules["cupy"]
    ndarray = cupy.ndarray
    return (
        ((operator.matmul, cupy.matmul), _product),
        ((cupy.dot, ndarray.dot), _dot),
        ((cupy.cumsum, cupy.cumprod, ndarray.cumsum, ndarray.cumprod), _cumulative),
        ((cupy.take, ndarray.take), _take),
        ((ndarray.astype,), _astype),
        ((ndarray.reshape,), _reshape),
    )


def by_rule(asked):
    """The StepValue of the fresh array, in C order, that the call gives; None: that has to be tried."""
    if not asked.values or asked.values[0].form != StepValue.DEVICE or asked.changed:
        return None
    for functions, rule in _rules():
        if any(asked.function is function for function in functions):
            found = rule(asked)
            return found and _of_type(*found)
    return None


def _of_type(dtype, shape):
    fields = {
        "dtype": dtype,
        "shape": shape,
        "strides": _strides(shape, dtype.itemsize),
        "aligned": True,
    }
    return StepValue((StepValue.DEVICE, *map(fields.get, StepValue.__match_args__[1:])))
