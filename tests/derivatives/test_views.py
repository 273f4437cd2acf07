"""Views as expressions: what find gives is the very view, of bases and parts of any strides."""

from __future__ import annotations

import random

import numpy as np
from differences import check

from pycompile.derivatives import _views


def place(array: np.ndarray) -> _views.Place:
    address = array.__array_interface__["data"][0]
    return _views.Place(array.dtype, array.shape, array.strides, address)


def some_view(rng: random.Random, x: np.ndarray) -> np.ndarray:
    for _ in range(rng.randint(1, 3)):
        if not x.ndim:
            return x
        key = rng.choice(
            (
                "x[1:]",
                "x[::-1]",
                "x[::2]",
                "x.T",
                "x[None]",
                "x[..., None]",
                "x[-1, ...]",
                "x[..., 0]",
            )
        )
        if "0]" in key or "-1, ..." in key or x.ndim < 4:
            x = eval(key) if 0 not in x.shape else x
    return x


def test_views_of_views():
    rng = random.Random(0)
    found = 0
    for _ in range(2000):
        whole = np.arange(120.0).reshape(rng.choice(((4, 30), (2, 3, 20), (120,), (5, 4, 6))))
        base = some_view(rng, whole)
        part = some_view(rng, base)
        view = _views.find(place(base), place(part))
        if not part.size:
            continue
        assert view is not None, (base.shape, base.strides, part.shape, part.strides)
        again = view.apply(base)
        assert again.shape == part.shape and np.array_equal(again, part)
        assert np.may_share_memory(again, part)
        found += 1
    assert found > 1000


def test_parts_of_complex_numbers():
    z = np.arange(6) * (1 + 2j)
    for part in (z.real, z.imag, z[::-2].imag, z[1:].real):
        view = _views.find(place(z), place(part))
        assert view is not None and np.array_equal(view.apply(z), part)


def test_windows():
    windows = np.lib.stride_tricks.sliding_window_view
    check(lambda x: np.tanh(windows(x, 3)).sum(axis=1), np.linspace(0.1, 1, 7))
    check(lambda x: windows(x[::-1], 2), np.linspace(0.1, 1, 7))


def test_writes_through_views_of_turned_arrays():
    def f(m, q):
        a = m[:, ::-1]
        a[1:, 2] *= q[1]
        a.T[0] += q[:3]
        return m * m, a

    m = np.linspace(0.1, 1, 12).reshape(3, 4)
    for x in (m, np.asfortranarray(m), m[::-1].copy()[::-1], m.T.copy().T[:, ::-1]):
        check(f, x, np.array([0.5, 1.5, 2.0, 1.0]))
