"""Of sums, means, products, differences and quantiles."""

import numpy as np

from pycompile.derivatives._pieces import cumprod_back, cumsum_back, most_back, prod_back, unspread
from pycompile.derivatives.rules._table import NoRule, rule


def _spread(g, a, axis):
    over = tuple(range(np.ndim(a))) if axis is None else axis
    over = (over,) if isinstance(over, int) else over
    over = tuple(i % a.ndim for i in over) if np.ndim(a) else ()  # axis 0 is taken, too
    return np.reshape(g, tuple(1 if i in over else n for i, n in enumerate(np.shape(a)))), over


def _where(where, x, rest):
    return x if where is True else np.where(where, x, rest)


@rule(np.sum, "a")
def sum_a(g, o, a, axis=None, dtype=None, out=None, keepdims=False, initial=0, where=True):
    return _where(where, np.broadcast_to(_spread(g, a, axis)[0], a.shape), 0.0)


@rule(np.mean, "a")
def mean_a(g, o, a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    wide, over = _spread(g, a, axis)
    count = np.broadcast_to(where, a.shape).sum(axis=over, keepdims=True)
    return _where(where, np.broadcast_to(wide / count, a.shape), 0.0)


@rule(np.var, "a")
def var_a(
    g, o, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, **kwargs
):
    wide, over = _spread(g, a, axis)
    ddof = kwargs.get("correction", ddof)
    count = np.broadcast_to(where, a.shape).sum(axis=over, keepdims=True)
    rest = np.conjugate(a - a.mean(axis=over, keepdims=True, where=where))
    return _where(where, wide * (2.0 / (count - ddof)) * rest, 0.0)


@rule(np.std, "a")
def std_a(
    g, o, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, **kwargs
):
    g = 0.5 * g / o
    return var_a(g, None, a, axis, None, None, ddof, False, where=where, **kwargs)


@rule(np.linspace, "start")
def linspace_start(g, o, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    part = _part_of_line(g, num, endpoint, retstep, axis)
    return unspread(np.asarray((g * (1.0 - part)).sum(axis=axis)), np.shape(start))


@rule(np.linspace, "stop")
def linspace_stop(g, o, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    part = _part_of_line(g, num, endpoint, retstep, axis)
    return unspread(np.asarray((g * part).sum(axis=axis)), np.shape(stop))


def _part_of_line(g, num, endpoint, retstep, axis):
    """How far each number is on the way from start to stop."""
    if retstep:
        raise NoRule("np.linspace with retstep")
    steps = num - 1 if endpoint else num
    part = np.arange(num) / max(steps, 1)
    return part.reshape(tuple(num if i == axis % g.ndim else 1 for i in range(g.ndim)))


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
    if axis is None or a.ndim == 0:
        return cumsum_back(g.reshape(-1), 0).reshape(a.shape)
    return cumsum_back(g, axis)


@rule(np.cumprod, "a")
def cumprod_a(g, o, a, axis=None, dtype=None, out=None):
    if axis is None or a.ndim == 0:
        return cumprod_back(g.reshape(-1), a.reshape(-1), 0).reshape(a.shape)
    return cumprod_back(g, a, axis)


@rule(np.prod, "a")
def prod_a(g, o, a, axis=None, dtype=None, out=None, keepdims=False, initial=1, where=True):
    over = tuple(range(a.ndim)) if axis is None else axis
    over = (over,) if isinstance(over, int) else over
    over = tuple(i % a.ndim for i in over) if a.ndim else ()
    return _where(where, prod_back(g * initial, _where(where, a, 1), over), 0.0)


@rule(np.max, "a")
@rule(np.min, "a")
def most_a(g, o, a, axis=None, out=None, keepdims=False, initial=None, where=True):
    if initial is not None:
        raise NoRule("a maximum or minimum with initial")
    g, over = _spread(g, a, axis)
    return most_back(g, _where(where, a, np.nan), np.reshape(o, g.shape), over)


@rule(np.trapezoid, "y")
def trapezoid_y(g, o, y, x=None, dx=1.0, axis=-1):
    n = y.shape[axis]
    if not n:
        return np.zeros(y.shape, y.dtype)
    steps = np.full(n - 1, dx) if x is None else np.diff(x)
    if steps.ndim != 1:
        raise NoRule("np.trapezoid with an x of more than one axis")
    weights = np.concatenate((steps, np.zeros(1))) + np.concatenate((np.zeros(1), steps))
    return np.moveaxis(np.expand_dims(g, -1) * (0.5 * weights), -1, axis)


@rule(np.trapezoid, "x")
def trapezoid_x(g, o, y, x=None, dx=1.0, axis=-1):
    if y.ndim != 1 or x.ndim != 1:
        raise NoRule("np.trapezoid by an x, of more than one axis")
    if not x.size:
        return np.zeros(0, x.dtype)
    means = 0.5 * g * (y[1:] + y[:-1])
    return np.concatenate((np.zeros(1), means)) - np.concatenate((means, np.zeros(1)))


def _diff_back(g, a, n, axis, prepend, append):
    """Of the three arrays that np.diff joins; None stands for those that are not there."""
    for _ in range(n):
        zero = np.zeros(
            tuple(1 if i == axis % a.ndim else k for i, k in enumerate(g.shape)), g.dtype
        )
        g = np.concatenate((zero, g), axis) - np.concatenate((g, zero), axis)
    g = np.moveaxis(g, axis, 0)
    ends = [0 if x is None else 1 if np.ndim(x) == 0 else x.shape[axis] for x in (prepend, append)]
    cuts = (0, ends[0], g.shape[0] - ends[1], g.shape[0])
    return [np.moveaxis(g[i:j], 0, axis) for i, j in zip(cuts, cuts[1:])]


def _end_back(g, end):
    return g.sum() if np.ndim(end) == 0 else g


@rule(np.diff, "a")
def diff_a(g, o, a, n=1, axis=-1, prepend=None, append=None):
    return _diff_back(g, a, n, axis, prepend, append)[1]


@rule(np.diff, "prepend")
def diff_prepend(g, o, a, n=1, axis=-1, prepend=None, append=None):
    return _end_back(_diff_back(g, a, n, axis, prepend, append)[0], prepend)


@rule(np.diff, "append")
def diff_append(g, o, a, n=1, axis=-1, prepend=None, append=None):
    return _end_back(_diff_back(g, a, n, axis, prepend, append)[2], append)


@rule(np.gradient, "f")
def gradient_f(g, o, f, *varargs, axis=None, edge_order=1):
    axes = tuple(range(f.ndim)) if axis is None else axis
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    parts = g if isinstance(g, tuple) else (g,)
    spaces = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    back = np.zeros(f.shape, f.dtype)
    for part, space, along in zip(parts, spaces, axes, strict=True):
        if part is not None:
            moved = _gradient_back(np.moveaxis(part, along, 0), space, edge_order)
            back = back + np.moveaxis(moved, 0, along)
    return back


def _gradient_back(g, space, edge_order):
    """Along the first axis."""
    n = g.shape[0]
    steps = np.full(n - 1, space) if np.ndim(space) == 0 else np.diff(space)
    steps = steps.reshape((n - 1,) + (1,) * (g.ndim - 1))
    left, right = steps[:-1], steps[1:]
    inner = g[1:-1]
    back = np.zeros(g.shape, g.dtype)
    back[:-2] -= inner * right / (left * (left + right))
    back[1:-1] += inner * (right - left) / (left * right)
    back[2:] += inner * left / (right * (left + right))
    if edge_order == 1:
        back[0] -= g[0] / steps[0]
        back[1] += g[0] / steps[0]
        back[-2] -= g[-1] / steps[-1]
        back[-1] += g[-1] / steps[-1]
        return back
    a, b = steps[0], steps[1]
    back[0] -= g[0] * (2.0 * a + b) / (a * (a + b))
    back[1] += g[0] * (a + b) / (a * b)
    back[2] -= g[0] * a / (b * (a + b))
    a, b = steps[-2], steps[-1]
    back[-3] += g[-1] * b / (a * (a + b))
    back[-2] -= g[-1] * (a + b) / (a * b)
    back[-1] += g[-1] * (2.0 * b + a) / (b * (a + b))
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
    back = (g @ np.conjugate(centred) + np.conjugate(g.T @ centred)) / count
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
    places = np.arange(n)
    shares = np.where(places == low, 1 - part, 0.0) + np.where(places == high, part, 0.0)
    in_order = (g[..., None] * shares).astype(flat.dtype)
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
