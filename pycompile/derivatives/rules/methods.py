"""Of ufuncs' methods, of arrays built from nested lists, and of stores.

Which rule it is is known when the text is written: graphs compare no ufuncs.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pycompile import _steps
from pycompile.derivatives._pieces import cumprod_back, cumsum_back, most_back, prod_back


def _along(g, o, array, axis):
    """The cotangent, the result, and the axes that are left, in the array's rank."""
    over = tuple(range(array.ndim)) if axis is None else axis
    over = (over,) if isinstance(over, int) else over
    over = tuple(i % array.ndim for i in over) if array.ndim else ()  # axis 0 is taken, too
    shape = tuple(1 if i in over else n for i, n in enumerate(array.shape))
    return np.reshape(g, shape), np.reshape(o, shape), over


def _sum(g, o, array, axis):
    return np.broadcast_to(_along(g, o, array, axis)[0], array.shape)


def _product(g, o, array, axis):
    return prod_back(g, array, _along(g, o, array, axis)[2])


def _most(g, o, array, axis):
    g, o, over = _along(g, o, array, axis)
    return most_back(g, array, o, over)


def _logaddexp(g, o, array, axis):
    g, o, _ = _along(g, o, array, axis)
    return g * np.exp(array - o)


def _logaddexp2(g, o, array, axis):
    g, o, _ = _along(g, o, array, axis)
    return g * np.exp2(array - o)


def _hypot(g, o, array, axis):
    g, o, _ = _along(g, o, array, axis)
    return g * (array / o)


def _running_sum(g, o, array, axis):
    return cumsum_back(g, axis)


def _running_product(g, o, array, axis):
    return cumprod_back(g, array, axis)


def _running_logaddexp(g, o, array, axis):
    """Each result takes of the one before and of its item, exp(item - result) of it of the item."""
    x, o = np.moveaxis(array, axis, 0), np.moveaxis(o, axis, 0)
    g = np.array(np.moveaxis(g, axis, 0))
    stays = _share(o[:-1], x[1:], o[1:])
    for i in range(x.shape[0] - 2, -1, -1):
        g[i] += g[i + 1] * stays[i]
    g[1:] *= _share(x[1:], o[:-1], o[1:])
    return np.moveaxis(g, 0, axis)


def _share(one, other, o):
    """Of logaddexp(one, other), which is o, that of `one`; of two that are equally infinite, half."""
    return np.where(one == other, 0.5, np.where(one == o, 1.0, np.exp(one - o)))


def _running_most(g, o, array, axis):
    """Each goes to where the largest (smallest) so far came from: of ties, the last."""
    x, top = np.moveaxis(array, axis, 0), np.moveaxis(o, axis, 0)
    places = np.arange(x.shape[0]).reshape((-1,) + (1,) * (x.ndim - 1))
    from_ = np.maximum.accumulate(np.where(x == top, places, 0), axis=0)
    back = np.zeros(x.shape, x.dtype)
    lengths = tuple(enumerate(x.shape))[1:]
    others = [np.arange(n).reshape((-1,) + (1,) * (x.ndim - 1 - i)) for i, n in lengths]
    np.add.at(back, (from_, *others), np.moveaxis(g, axis, 0))
    return np.moveaxis(back, 0, axis)


Rule = Callable[[Any, Any, Any, Any], Any]
REDUCE: dict[np.ufunc, Rule] = {
    np.add: _sum,
    np.multiply: _product,
    np.maximum: _most,
    np.minimum: _most,
    np.fmax: _most,
    np.fmin: _most,
    np.logaddexp: _logaddexp,
    np.logaddexp2: _logaddexp2,
    np.hypot: _hypot,
}
ACCUMULATE: dict[np.ufunc, Rule] = {
    np.add: _running_sum,
    np.multiply: _running_product,
    np.maximum: _running_most,
    np.minimum: _running_most,
    np.logaddexp: _running_logaddexp,
}


def holes_of(template: Any, at: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Where an array built from nested lists takes numbers from, in order."""
    if template is _steps.HOLE:
        yield at
    elif isinstance(template, list):
        for i, inner in enumerate(template):
            yield from holes_of(inner, (*at, i))


def last_writes(g, key):
    """g[key], with zeros where a later item of the key stores at the same place."""
    part = g[key]
    order = np.arange(1, part.size + 1).reshape(np.shape(part))
    stamp = np.zeros(g.shape, order.dtype)
    stamp[key] = order
    return np.where(stamp[key] == order, part, 0.0)
