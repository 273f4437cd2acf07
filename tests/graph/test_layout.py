"""Strides of fresh results: type.c against NumPy itself."""

import itertools
import random

import numpy as np
import pytest

from pycompile._C import graph_layout

SHAPES = [
    (3,),
    (1,),
    (0,),
    (3, 4),
    (1, 4),
    (4, 1),
    (1, 1),
    (2, 0, 3),
    (2, 3, 4),
    (2, 1, 4),
    (1, 3, 1, 2),
]


def described(arrays):
    return [(a.shape, a.strides) for a in arrays]


def variants(shape, rng):
    """Arrays of this shape with all kinds of strides."""
    n = len(shape)
    yield np.ones(shape)
    yield np.ones(shape, order="F")
    for _ in range(4):
        order = rng.sample(range(n), n)
        yield np.ones([shape[i] for i in order]).transpose(np.argsort(order))
        steps = [rng.choice([1, 2, -1, -2]) for _ in range(n)]
        big = np.ones([shape[i] * abs(steps[i]) for i in order]).transpose(np.argsort(order))
        yield big[tuple(slice(None, None, step) for step in steps)]
    yield np.broadcast_to(np.ones(()), shape)


def broadcastable(shape, rng):
    """A shape that broadcasts with this one."""
    lead = rng.randrange(len(shape) + 1)
    return tuple(1 if rng.random() < 0.3 else n for n in shape[lead:])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_unary_results(shape):
    rng = random.Random(str(shape))
    for x in variants(shape, rng):
        assert graph_layout("broadcast", "f64", described([x])) == np.negative(x).strides, (
            described([x])
        )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_binary_and_ternary_results(shape):
    rng = random.Random(str(shape))
    for _ in range(150):
        arrays = [rng.choice(list(variants(shape, rng)))]
        for _ in range(rng.choice([1, 1, 2])):
            other = broadcastable(shape, rng)
            arrays.append(rng.choice(list(variants(other, rng))) if other else np.ones(()))
        rng.shuffle(arrays)
        ufunc = np.add if len(arrays) == 2 else np._core.umath.clip
        expected = ufunc(*arrays).strides if ufunc(*arrays).ndim else ()
        assert graph_layout("broadcast", "f64", described(arrays)) == expected, described(arrays)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_where(shape):
    rng = random.Random(str(shape))
    for _ in range(100):
        x, y = (rng.choice(list(variants(shape, rng))) for _ in range(2))
        condition = np.ones(shape, order=rng.choice("CF")) > 0
        expected = np.where(condition, x, y).strides
        assert graph_layout("iterated", "f64", described([condition, x, y])) == expected


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_like(shape):
    rng = random.Random(str(shape))
    for x in itertools.chain(*(variants(shape, rng) for _ in range(5))):
        assert graph_layout("like", "f64", described([x])) == np.empty_like(x).strides, described(
            [x]
        )
        assert graph_layout("like", "f64", described([x])) == x.copy(order="K").strides


def test_shapes_that_do_not_broadcast():
    assert graph_layout("broadcast", "f64", described([np.ones((3, 4)), np.ones((4, 3))])) is None
    assert graph_layout("broadcast", "f64", described([np.ones(3), np.ones(2)])) is None
