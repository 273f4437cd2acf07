"""Of ufuncs' methods, of arrays built from nested lists, and of stores."""

from typing import Any

import numpy as np

from pycompile import _steps
from pycompile.derivatives._pieces import cumprod_back, cumsum_back, most_back, prod_back
from pycompile.derivatives.rules._table import NoRule


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


def last_writes(g, key):
    """g[key], with zeros where a later item of the key stores at the same place."""
    part = g[key]
    order = np.arange(1, part.size + 1).reshape(np.shape(part))
    stamp = np.zeros(g.shape, order.dtype)
    stamp[key] = order
    return np.where(stamp[key] == order, part, 0.0)
