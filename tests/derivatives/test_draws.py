"""Random numbers that a differentiated function draws: drawn once, in the forward pass, and constants."""

from __future__ import annotations

import random

import numpy as np
import pytest

import pycompile
from pycompile import checkpoint, grad, value_and_grad, vmap

X = np.array([0.3, -0.2, 0.5, 0.1])


def dropout(x, rng):
    kept = rng.random(x.shape) > 0.3
    return np.sum(np.where(kept, x, 0) ** 2 * 1.5)


def sampled(x, rng):
    mean, spread = x[:2], np.exp(x[2:])
    return ((mean + spread * rng.standard_normal(2)) ** 2).sum()


def in_a_loop(x, rng):
    state = x.copy()
    for _ in range(3):
        state = np.tanh(state * rng.normal(0.0, 1.0, 4) + x)
    return state.sum()


def until_it_ends(x, rng):
    total = 0.0
    while (u := rng.random()) > 0.4:
        total = total + u * (x**2).sum()
    return total + rng.choice(np.array([1.0, 2.0])) * x[rng.integers(0, 4)]


def of_python(x, rng):
    total = 0.0
    for draw in (rng.random, rng.random, lambda: rng.gauss(0, 1), lambda: rng.gauss(0, 1)):
        total = total + draw() * x[1]
    return total + rng.uniform(-1, 1) * x[0]


def of_an_older_kind(x, rng):
    return (x * rng.random_sample(4)).sum() + rng.rand() * x[0]


def unpacked(x, rng):
    given, named = (0.0, 1.0, 4), {"size": 4}
    return (x * rng.normal(*given)).sum() + (x * rng.random(**named)).sum()


def difference(function, x, at, make):
    """Central, with the numbers of the same stream."""
    step = np.zeros_like(x)
    step[at] = 1e-6
    return (function(x + step, make(3)) - function(x - step, make(3))) / 2e-6


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (dropout, np.random.default_rng),
        (sampled, np.random.default_rng),
        (in_a_loop, np.random.default_rng),
        (unpacked, np.random.default_rng),
        (until_it_ends, np.random.default_rng),
        (of_an_older_kind, np.random.RandomState),
        (of_python, random.Random),
    ],
)
def test_draws_of_a_stream(function, make):
    found = grad(function)(X, make(3))
    expected = [difference(function, X, i, make) for i in range(4)]
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-8)
    mine, yours = make(5), make(5)
    compiled = pycompile.compile(value_and_grad(function))
    for each in (value_and_grad(function), compiled) * 3:
        assert each(X, mine)[0] == function(X, yours)
    draws = [getattr(each, "random_sample", each.random)() for each in (mine, yours)]
    assert draws[0] == draws[1]


def test_a_batch_draws_for_each_item():
    rng, other = np.random.default_rng(1), np.random.default_rng(1)
    got = vmap(grad(lambda x: (x * rng.random(4)).sum()))(np.ones((3, 4)))
    assert np.array_equal(got, other.random((3, 4)))


def shuffled(x, rng):
    y = x * 2
    rng.shuffle(y)
    return (y * X).sum()


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x, rng: rng.normal(x.sum(), 1.0, 3).sum(), r"mu \+ rng.normal\(\)"),
        (lambda x, rng: (rng.permutation(x) * X).sum(), "no graph follows"),
        (shuffled, "was written where no graph follows"),
        (checkpoint(lambda x, rng: (x * rng.random(4)).sum()), "would draw others"),
    ],
)
def test_draws_that_are_no_constants(function, why):
    with pytest.raises(pycompile.DerivativeError, match=why):
        grad(function)(X, np.random.default_rng(0))
