"""Of Fourier transforms: linear, of complex numbers; the cotangents are not conjugated."""

import numpy as np

from pycompile.derivatives.rules._table import rule


def _of_length(x, length, axis):
    """x cut or filled with zeros to a length, for a transform that has done so to its argument."""
    there = x.shape[axis]
    x = np.moveaxis(x, axis, -1)
    if there > length:
        x = x[..., :length]
    if there < length:
        x = np.concatenate((x, np.zeros((*x.shape[:-1], length - there), x.dtype)), axis=-1)
    return np.moveaxis(x, -1, axis)


def _real_back(g, n, length, axis, norm):
    """Of rfft: the real part of the transform of the cotangent, filled with zeros."""
    full = np.fft.fft(_of_length(g, n, axis), axis=axis, norm=norm).real
    return _of_length(full, length, axis)


def _back_of_real(g, length, axis, norm):
    """Of irfft: all but the first and, of an even count, the last number stand for two."""
    n = g.shape[axis]
    g = np.moveaxis(g, axis, -1)
    half = np.conjugate(np.fft.rfft(g, norm=norm))
    scale = {"ortho": 1.0, "forward": float(n)}.get(norm, 1.0 / n)
    twice = np.full(half.shape[-1], 2.0 * scale)
    twice[0] = scale
    if n % 2 == 0:
        twice[-1] = scale
    return _of_length(np.moveaxis(half * twice, -1, axis), length, axis)


def _axes_of(a, s, axes):
    """The axes that are transformed, as NumPy chooses them."""
    if axes is None:
        return tuple(range(a.ndim - (a.ndim if s is None else len(s)), a.ndim))
    return tuple(axes)


def _fftn_back(g, a, axes, norm):
    for axis in axes:
        g = _of_length(np.fft.fft(g, axis=axis, norm=norm), a.shape[axis], axis)
    return g


def _ifftn_back(g, a, axes, norm):
    for axis in axes:
        g = _of_length(np.fft.ifft(g, axis=axis, norm=norm), a.shape[axis], axis)
    return g


@rule(np.fft.fft, "a")
def fft_a(g, o, a, n=None, axis=-1, norm=None):
    return _fftn_back(g, a, (axis,), norm)


@rule(np.fft.ifft, "a")
def ifft_a(g, o, a, n=None, axis=-1, norm=None):
    return _ifftn_back(g, a, (axis,), norm)


@rule(np.fft.fft2, "a")
def fft2_a(g, o, a, s=None, axes=(-2, -1), norm=None):
    return _fftn_back(g, a, _axes_of(a, s, axes), norm)


@rule(np.fft.ifft2, "a")
def ifft2_a(g, o, a, s=None, axes=(-2, -1), norm=None):
    return _ifftn_back(g, a, _axes_of(a, s, axes), norm)


@rule(np.fft.fftn, "a")
def fftn_a(g, o, a, s=None, axes=None, norm=None):
    return _fftn_back(g, a, _axes_of(a, s, axes), norm)


@rule(np.fft.ifftn, "a")
def ifftn_a(g, o, a, s=None, axes=None, norm=None):
    return _ifftn_back(g, a, _axes_of(a, s, axes), norm)


@rule(np.fft.rfft, "a")
def rfft_a(g, o, a, n=None, axis=-1, norm=None):
    length = a.shape[axis]
    return _real_back(g, length if n is None else n, length, axis, norm)


@rule(np.fft.irfft, "a")
def irfft_a(g, o, a, n=None, axis=-1, norm=None):
    return _kind_of(a, _back_of_real(g, a.shape[axis], axis, norm))


def _kind_of(a, back):
    """What has complex results may be called with real numbers."""
    return back if np.iscomplexobj(a) else back.real.copy()


def _rfftn_back(g, a, s, axes, norm):
    length = a.shape[axes[-1]]
    n = length if s is None or s[-1] is None else s[-1]
    return _real_back(_fftn_back(g, a, axes[:-1], norm), n, length, axes[-1], norm)


def _irfftn_back(g, a, axes, norm):
    g = _back_of_real(g, a.shape[axes[-1]], axes[-1], norm)
    return _ifftn_back(g, a, axes[:-1], norm)


@rule(np.fft.rfft2, "a")
def rfft2_a(g, o, a, s=None, axes=(-2, -1), norm=None):
    return _rfftn_back(g, a, s, _axes_of(a, s, axes), norm)


@rule(np.fft.irfft2, "a")
def irfft2_a(g, o, a, s=None, axes=(-2, -1), norm=None):
    return _kind_of(a, _irfftn_back(g, a, _axes_of(a, s, axes), norm))


@rule(np.fft.rfftn, "a")
def rfftn_a(g, o, a, s=None, axes=None, norm=None):
    return _rfftn_back(g, a, s, _axes_of(a, s, axes), norm)


@rule(np.fft.irfftn, "a")
def irfftn_a(g, o, a, s=None, axes=None, norm=None):
    return _kind_of(a, _irfftn_back(g, a, _axes_of(a, s, axes), norm))


@rule(np.fft.fftshift, "x")
def fftshift_x(g, o, x, axes=None):
    return np.fft.ifftshift(g, axes)


@rule(np.fft.ifftshift, "x")
def ifftshift_x(g, o, x, axes=None):
    return np.fft.fftshift(g, axes)
