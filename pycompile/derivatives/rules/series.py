"""Of convolutions, interpolation, polynomials and phases."""

import numpy as np

from pycompile.derivatives._pieces import unspread
from pycompile.derivatives.rules._table import rule


@rule(np.convolve, "a")
def convolve_a(g, o, a, v, mode="full"):
    return _convolve_back(g, a, v, mode, 0)


@rule(np.convolve, "v")
def convolve_v(g, o, a, v, mode="full"):
    return _convolve_back(g, a, v, mode, 1)


def _convolve_back(g, a, v, mode, which):
    shape = np.shape(v if which else a)
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    n, m = a.shape[0], v.shape[0]
    full = n + m - 1
    # Where the result begins in the full one.
    start = {"full": 0, "same": (min(n, m) - 1) // 2, "valid": min(n, m) - 1}[mode]
    wide = np.concatenate(
        (np.zeros(start, g.dtype), g, np.zeros(full - start - g.shape[0], g.dtype))
    )
    return np.convolve(wide, (v if which == 0 else a)[::-1], "valid").reshape(shape)


@rule(np.correlate, "a")
def correlate_a(g, o, a, v, mode="valid"):
    return _convolve_back(g, a, np.conjugate(np.flip(v)), mode, 0)


@rule(np.correlate, "v")
def correlate_v(g, o, a, v, mode="valid"):
    return np.conjugate(np.flip(_convolve_back(g, a, v, mode, 1)))


def _segments(x, xp, period):
    """Of each x the points around it, by number, their distance, where it lies between them, and whether
    it does."""
    order = np.arange(xp.shape[0])
    if period is not None:  # as NumPy does it
        x, xp = x % period, xp % period
        order = np.argsort(xp)
        xp = xp[order]
        xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
        order = np.concatenate((order[-1:], order, order[:1]))
    if xp.shape[0] == 1:  # as though it came twice
        xp = np.concatenate((xp, xp + 1.0))
        order = np.concatenate((order, order))
    at = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, xp.shape[0] - 2)
    width = xp[at + 1] - xp[at]
    part = np.clip((x - xp[at]) / width, 0.0, 1.0)
    return order[at], order[at + 1], width, part, (x >= xp[0]) & (x <= xp[-1])


@rule(np.interp, "x")
def interp_x(g, o, x, xp, fp, left=None, right=None, period=None):
    low, high, width, _, inside = _segments(x, xp, period)
    return np.where(inside, g * (fp[high] - fp[low]) / width, 0.0)


@rule(np.interp, "fp")
def interp_fp(g, o, x, xp, fp, left=None, right=None, period=None):
    low, high, _, part, _ = _segments(x, xp, period)
    if left is not None and period is None:
        g = np.where(x < xp[0], 0.0, g)
    if right is not None and period is None:
        g = np.where(x > xp[-1], 0.0, g)
    back = np.zeros(fp.shape, np.result_type(g))
    np.add.at(back, low, g * (1.0 - part))
    np.add.at(back, high, g * part)
    return back


@rule(np.interp, "xp")
def interp_xp(g, o, x, xp, fp, left=None, right=None, period=None):
    low, high, width, part, inside = _segments(x, xp, period)
    slope = np.where(inside, g * (fp[high] - fp[low]) / width, 0.0)
    back = np.zeros(xp.shape, np.result_type(slope))
    np.add.at(back, low, -slope * (1.0 - part))
    np.add.at(back, high, -slope * part)
    return back


@rule(np.polyval, "p")
def polyval_p(g, o, p, x):
    n = p.shape[0]
    powers = x ** np.arange(n - 1, -1, -1).reshape((n,) + (1,) * np.ndim(x))
    return (g * powers).sum(axis=tuple(range(1, powers.ndim)))


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
    if not np.iscomplexobj(z):
        return 0.0 * g
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


@rule(np.arange, "start")
def arange_start(g, o, start, stop=None, step=None, dtype=None, *, device=None, like=None):
    return 0.0 if stop is None else g.sum()  # np.arange(stop)


@rule(np.arange, "stop")
def arange_stop(g, o, start, stop=None, step=None, dtype=None, *, device=None, like=None):
    return 0.0


@rule(np.arange, "step")
def arange_step(g, o, start, stop=None, step=None, dtype=None, *, device=None, like=None):
    return (g * np.arange(g.shape[0])).sum()


@rule(np.modf, "x")
def modf_x(g, o, x):
    return np.zeros_like(x) if g[0] is None else g[0]


@rule(np.frexp, "x")
def frexp_x(g, o, x):
    return np.ldexp(g[0], -o[1])


@rule(np.divmod, "x")
def divmod_x(g, o, x, y):
    return np.zeros_like(x) if g[1] is None else unspread(g[1], np.shape(x))


@rule(np.divmod, "y")
def divmod_y(g, o, x, y):
    return np.zeros_like(y) if g[1] is None else unspread(-g[1] * o[0], np.shape(y))
