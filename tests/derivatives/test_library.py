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


def C(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def F(*shape):
    return rng.normal(size=shape)


# Rules of functions of complex numbers, and of calls with other arguments than the usual ones.
CALLS = {
    "eigh reads one triangle": (lambda a: np.linalg.eigh(a, "U")[0], F(4, 4)),
    "eigh": (lambda a: np.abs(np.linalg.eigh(a)[1]), C(4, 4)),
    "eigvalsh": (lambda a: np.linalg.eigvalsh(a), C(4, 4)),
    "cholesky": (
        lambda a: (np.linalg.cholesky(a), np.linalg.cholesky(a, upper=True)),
        (lambda m: m @ m.conj().T + 4 * np.eye(4))(C(4, 4)),
    ),
    "eig": (lambda a: (np.linalg.eig(a)[0], np.abs(np.linalg.eig(a)[1])), C(3, 3)),
    "svd": (lambda a: [np.abs(x) for x in np.linalg.svd(a, full_matrices=False)], C(3, 5)),
    "norms": (
        lambda a: (
            np.linalg.norm(a),
            np.linalg.norm(a, 3, axis=0),
            np.linalg.norm(a, "nuc", axis=(0, 1)),
            np.linalg.norm(a, 1, axis=(2, 0), keepdims=True),
        ),
        C(4, 3, 2),
    ),
    "matrices": (lambda a: (np.linalg.inv(a), np.linalg.det(a), np.linalg.pinv(a[1:])), C(4, 4)),
    "lstsq": (lambda a: np.linalg.lstsq(a, a[:, 0] ** 2, rcond=None)[0], F(5, 3)),
    "operators": (lambda z: (abs(z.item(0) * (1 + 2j) / 3), np.sign(z), np.angle(z)), C(3)),
    "spread": (lambda a: (np.var(a, axis=1, ddof=1), np.std(a, ddof=1, keepdims=True)), F(4, 5)),
    "linspace": (lambda a: (np.linspace(a[0], a[1], 5), np.linspace(a, 2.0, 3, axis=-1)), F(2, 3)),
    "gradient": (
        lambda a: np.gradient(a, np.array([0.0, 1, 1.5, 2, 4]), 0.5, edge_order=2),
        F(5, 6),
    ),
    "lists": (lambda a: (np.mean([a[0], a[1] * 2]), np.linalg.norm([a, a * a])), F(3)),
    "einsum": (lambda a: np.einsum(a, [0, 1], a, [1, 2], [0, 2]), F(3, 3)),
    "splits": (lambda a: (np.split(a, 3), np.array_split(a, 4), np.hsplit(a, 2)), F(6, 2)),
    "cross": (lambda a: np.cross(a, np.ones((3, 4)), axisa=0, axisb=0), F(3, 4)),
    "joined": (
        lambda a: (np.append(a, 3), np.insert(a, 1, 2), np.block([a, 1.0]), np.r_[0:2, a, 4.0]),
        F(3),
    ),
    "largest": (lambda a: np.max(a, axis=1, keepdims=True), F(3, 4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f, x = CALLS[name]
    check(f, x, h=0.005, tolerance=1e-8)


@pytest.mark.parametrize("name", ["fft", "irfft", "rfft", "ifft"])
def test_transforms_of_other_lengths_and_axes(name):
    x = F(3, 6) if name == "rfft" else C(3, 6)
    one, two, several = (getattr(np.fft, name + end) for end in ("", "2", "n"))
    check(
        lambda a: (one(a, 4, axis=0, norm="ortho"), two(a, (4, 7)), several(a, (5, 3), (1, 0))),
        x,
        h=0.01,
    )
