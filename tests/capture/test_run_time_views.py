"""Views whose bounds only the run tells, and writes to what they are views of."""

import numpy as np
import pytest
from numpy_cases import function

import pycompile

BOUNDS = "i, j = int(x[0]), int(x[1])"
VIEWS = ["y[i:j]", "y[i:j:2]", "y[i:]", "y[:j]", "y.T[i:j]", "y[1:][i:j]", "y[::-1][i:j]"]
FLAT = [*VIEWS, "y[i:j].reshape(-1)", "y[y.argmax() - 1:y.argmax() + 1]"]
SQUARE = [*VIEWS, "y[i:j, 0]", "y[0, i:j]", "y[:, i:j]", "y[..., i:j]", "y[None, i:j]"]
CHANGES = [
    ("y *= 2", "z += 10"),
    ("z += 10", "y *= 2"),
    ("y *= 2", "z[...] = 7", "y += 1"),
    ("y *= 2", "np.add(z, 1, out=z)"),
    ("w = y[1:]", "w *= 2", "z *= 3"),
    ("y[0] = 5", "y *= 2"),
]


def same(case, *makers):
    compiled = pycompile.compile(case, options={"plan_always": True})
    for bounds in ((1.0, 3.0), (1.0, 3.0), (0.0, 2.0), (2.0, 2.0)):
        mine, yours = ((np.array(bounds), *(make() for make in makers)) for _ in range(2))
        plain, seen = case(*mine), compiled(*yours)
        for a, b in zip((*plain, *mine), (*seen, *yours), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("view", FLAT)
def test_of_one_axis(view, changes):
    same(function(BOUNDS, f"z = {view}", *changes, "y", "z + 1"), lambda: np.arange(6.0))


@pytest.mark.parametrize("changes", CHANGES[:3])
@pytest.mark.parametrize("view", SQUARE)
def test_of_two_axes(view, changes):
    same(
        function(BOUNDS, f"z = {view}", *changes, "y", "z + 1"),
        lambda: np.arange(16.0).reshape(4, 4),
    )


@pytest.mark.parametrize("changes", CHANGES[:3])
def test_of_what_was_made_here(changes):
    same(
        function(BOUNDS, "y = y + 1", "z = y[i:j]", *changes, "y", "z + 1"), lambda: np.arange(6.0)
    )
