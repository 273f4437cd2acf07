"""Of Fourier transforms: linear, of complex numbers; the cotangents are not conjugated."""

import numpy as np

from pycompile.derivatives.rules._table import NoRule, rule


@rule(np.fft.fft, "a")
def fft_a(g, o, a, n=None, axis=-1, norm=None):
    return _of_length(np.fft.fft(g, axis=axis, norm=norm), a, axis)


@rule(np.fft.ifft, "a")
def ifft_a(g, o, a, n=None, axis=-1, norm=None):
    return _of_length(np.fft.ifft(g, axis=axis, norm=norm), a, axis)


def _of_length(x, a, axis):
    """x cut or filled with zeros to the length of a, for a transform that has done so to a."""
    length, there = a.shape[axis], x.shape[axis]
    x = np.moveaxis(x, axis, -1)
    if there > length:
        x = x[..., :length]
    if there < length:
        x = np.concatenate((x, np.zeros((*x.shape[:-1], length - there), x.dtype)), axis=-1)
    return np.moveaxis(x, -1, axis)


@rule(np.fft.rfft, "a")
def rfft_a(g, o, a, n=None, axis=-1, norm=None):
    """The real part of the transform of the cotangent, filled with zeros."""
    length = a.shape[axis] if n is None else n
    g = np.moveaxis(g, axis, -1)
    full = np.concatenate((g, np.zeros((*g.shape[:-1], length - g.shape[-1]), g.dtype)), axis=-1)
    return _of_length(np.moveaxis(np.fft.fft(full, norm=norm).real, -1, axis), a, axis)


@rule(np.fft.irfft, "a")
def irfft_a(g, o, a, n=None, axis=-1, norm=None):
    length = o.shape[axis]
    g = np.moveaxis(g, axis, -1)
    half = np.conjugate(np.fft.rfft(g, norm=norm))
    swap = {None: 1.0 / length, "backward": 1.0 / length, "ortho": 1.0, "forward": float(length)}[
        norm
    ]
    twice = np.full(half.shape[-1], 2.0)
    twice[0] = 1.0
    if length % 2 == 0:
        twice[-1] = 1.0
    return _of_length(np.moveaxis(half * twice * swap, -1, axis), a, axis)


@rule(np.fft.fft2, "a")
def fft2_a(g, o, a, s=None, axes=(-2, -1), norm=None):
    if s is not None:
        raise NoRule("np.fft.fft2 with s")
    return np.fft.fft2(g, axes=axes, norm=norm)


@rule(np.fft.ifft2, "a")
def ifft2_a(g, o, a, s=None, axes=(-2, -1), norm=None):
    if s is not None:
        raise NoRule("np.fft.ifft2 with s")
    return np.fft.ifft2(g, axes=axes, norm=norm)


@rule(np.fft.fftn, "a")
def fftn_a(g, o, a, s=None, axes=None, norm=None):
    if s is not None:
        raise NoRule("np.fft.fftn with s")
    return np.fft.fftn(g, axes=axes, norm=norm)


@rule(np.fft.ifftn, "a")
def ifftn_a(g, o, a, s=None, axes=None, norm=None):
    if s is not None:
        raise NoRule("np.fft.ifftn with s")
    return np.fft.ifftn(g, axes=axes, norm=norm)


@rule(np.fft.fftshift, "x")
def fftshift_x(g, o, x, axes=None):
    return np.fft.ifftshift(g, axes)


@rule(np.fft.ifftshift, "x")
def ifftshift_x(g, o, x, axes=None):
    return np.fft.fftshift(g, axes)
