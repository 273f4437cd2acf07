"""Linear algebra and Fourier transforms."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check

rng = np.random.default_rng(1)
X = rng.random((4, 5)) + 0.1
V = np.sort(rng.random(6)) + 0.2
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def complexes(x, v):
    z = np.fft.fft(v * np.exp(1j * v))
    return np.abs(z) ** 2, np.angle(z[1:3]), z.real, z.imag, z * np.conj(z)


@program
def fftconv(x, v):
    return (
        np.fft.irfft(np.fft.rfft(v, 16) * np.fft.rfft(x[0], 16), 16),
        np.fft.ifft(np.fft.fft(v, 4)).real,
        np.fft.irfft(np.fft.rfft(v)),
    )


@program
def linalg(x, v):
    a = x[:, :4] + 3 * np.eye(4)
    s = a @ a.T
    w, u = np.linalg.eigh(s)
    q, r = np.linalg.qr(x.T)
    L = np.linalg.cholesky(s)
    return (
        w,
        u @ np.diag(w**0.5) @ u.T,
        np.abs(q) @ np.abs(r),
        r * r,
        L,
        np.linalg.inv(a),
        np.linalg.det(a),
        np.linalg.slogdet(s),
        np.linalg.solve(a, x),
        np.linalg.solve(a, v[:4]),
        np.linalg.pinv(x),
        np.linalg.matrix_power(a, 3),
        np.linalg.matrix_power(a, -2),
    )


@program
def svds(x, v):
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    return s, (u * s**2) @ vt, np.linalg.svd(x, compute_uv=False)


@program
def norms(x, v):
    n = np.linalg.norm
    return (
        n(v),
        n(v, 1),
        n(v, 3),
        n(v, np.inf),
        n(x),
        n(x, "nuc"),
        n(x, 2),
        n(x, 1),
        n(x, np.inf),
        n(x, axis=0),
        n(x, 1, axis=1),
    )


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_library(f):
    check(f, X.copy(), V.copy(), h=0.01)


def test_stacks_of_matrices():
    a = rng.random((2, 3, 3)) + 3 * np.eye(3)

    def f(a):
        s = a @ np.swapaxes(a, -1, -2)
        return (
            np.linalg.inv(a),
            np.linalg.det(a),
            np.linalg.slogdet(s)[1],
            np.linalg.cholesky(s),
            np.linalg.solve(a, a[:1]),
            np.linalg.eigvalsh(s),
            np.linalg.svd(a, compute_uv=False),
        )

    check(f, a, h=0.01)
