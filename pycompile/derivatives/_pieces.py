"""What the texts of derivatives call: NumPy code, which is compiled with them."""

from __future__ import annotations

import math

import numpy as np

from pycompile._errors import DerivativeError


def order_of(numbers):
    """np.argsort of a tuple of numbers that differ, as a tuple."""
    return tuple([numbers.index(i) for i in sorted(numbers)])


def clamp_x(g, x, low, high):
    """np.minimum(np.maximum(x, low), high), of x."""
    most = np.maximum(x, low)
    g = np.where(most < high, g, np.where(most == high, 0.5 * g, 0.0))
    return np.where(x > low, g, np.where(x == low, 0.5 * g, 0.0))


def clamp_low(g, x, low, high):
    most = np.maximum(x, low)
    g = np.where(most < high, g, np.where(most == high, 0.5 * g, 0.0))
    return np.where(low > x, g, np.where(x == low, 0.5 * g, 0.0))


def clamp_high(g, x, low, high):
    most = np.maximum(x, low)
    return np.where(high < most, g, np.where(most == high, 0.5 * g, 0.0))


def power_base(x, y):
    """Of Python's numbers, that of x ** y, which may be infinite."""
    return y * np.float_power(x, y - 1) if y != 0 else 0.0


def power_exponent(x, y, result):
    return math.log(x) * result if x > 0 else 0.0


def prod_back(g, x, axes):
    """Of the product over `axes`: what is left of each factor times what is right of it."""
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    turned = x.transpose(rest + axes)
    shape = tuple(x.shape[i] for i in rest)
    count = 1
    for i in axes:
        count = count * x.shape[i]
    flat = turned.reshape((*shape, count))
    ones = np.ones((*shape, 1), x.dtype)
    left = np.concatenate((ones, np.cumprod(flat, axis=-1)), axis=-1)[..., :-1]
    right = np.concatenate((ones, np.cumprod(flat[..., ::-1], axis=-1)), axis=-1)[..., :-1]
    each = (left * right[..., ::-1] * np.reshape(g, (*shape, 1))).reshape(turned.shape)
    return each.transpose(order_of(rest + axes))


def most_back(g, x, result, axes):
    """Of the largest or smallest over `axes`: ties share."""
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    is_it = x == np.reshape(result, shape)
    count = is_it.sum(axis=axes, keepdims=True)
    share = np.reshape(g, shape) / count.astype(x.dtype)
    return np.where(is_it, share, 0.0)


def cumsum_back(g, axis):
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


def cumprod_back(g, x, axis):
    """Exact where factors are zero, too: the products before each factor times a recurrence."""
    x, g = np.moveaxis(x, axis, 0), np.moveaxis(g, axis, 0)
    before = np.concatenate((np.ones((1, *x.shape[1:]), x.dtype), np.cumprod(x, axis=0)[:-1]))
    behind = np.zeros_like(x)
    if x.shape[0]:
        behind[-1] = g[-1]
    for i in range(x.shape[0] - 2, -1, -1):
        behind[i] = g[i] + x[i + 1] * behind[i + 1]
    return np.moveaxis(before * behind, 0, axis)


def as_dtype(g, dtype):
    """A cotangent of any dtype; of a real number's it is the real part."""
    if np.iscomplexobj(g) and np.dtype(dtype).kind != "c":
        g = g.real
    return np.asarray(g).astype(dtype)


def imag_back(g, x):
    """Of x.imag, where only the run tells whether x is complex."""
    return -1j * g if np.iscomplexobj(x) else np.zeros_like(g)


def of_shape(array, shape, place):
    if isinstance(array, np.ndarray) and array.shape != shape:  # or else it is several results
        raise DerivativeError(
            f"the shape of an array is decided by a value ({place}): compute with an array of that "
            "shape that does not depend on what is differentiated, np.arange(n) say"
        )
    return array


def unspread(g, shape):
    """The sum of g over the axes along which an array of that shape was broadcast."""
    extra = np.ndim(g) - len(shape)
    if extra:
        g = g.sum(axis=tuple(range(extra)))
    ones = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=ones, keepdims=True) if ones else g


def matmul_left(g, x, y):
    """Of x @ y, that of x."""
    if np.ndim(x) == 1 and np.ndim(y) == 1:
        return g * y
    if np.ndim(y) == 1:
        return np.expand_dims(g, -1) * y
    if np.ndim(x) == 1:
        return unspread((y @ np.expand_dims(g, -1))[..., 0], x.shape)
    back = g @ np.swapaxes(y, -1, -2)
    return back if np.ndim(back) == 2 else unspread(back, x.shape)


def matmul_right(g, x, y):
    """Of x @ y, that of y."""
    if np.ndim(x) == 1 and np.ndim(y) == 1:
        return g * x
    if np.ndim(x) == 1:
        return unspread(np.expand_dims(x, -1) * np.expand_dims(g, -2), y.shape)
    if np.ndim(y) == 1:
        return x.reshape((-1, x.shape[-1])).T @ g.reshape(-1)
    if np.ndim(y) == 2 and np.ndim(x) > 2:
        return x.reshape((-1, x.shape[-1])).T @ g.reshape((-1, g.shape[-1]))
    back = np.swapaxes(x, -1, -2) @ g
    return back if np.ndim(back) == 2 else unspread(back, y.shape)


def matmul_right_turned(g, x, y):
    """As matmul_right, of the transpose of matrices: the gradient lies as y does."""
    if np.ndim(x) == 1 or np.ndim(y) != np.ndim(x):
        return matmul_right(g, x, y)
    back = np.swapaxes(np.swapaxes(g, -1, -2) @ x, -1, -2)
    return back if np.ndim(back) == 2 else unspread(back, y.shape)


def add_at(array, key, value):
    """np.add.at, giving the array."""
    np.add.at(array, key, value)
    return array


def arange(start, step, n, dtype):
    """As NumPy fills np.arange: from the first two elements."""
    first = dtype(start)
    delta = dtype(start + step) - first
    return first + np.arange(n).astype(dtype) * delta
