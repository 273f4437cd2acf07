"""Gradients of attention: kernels that make its weights again, executed on the CPU (executor.cpp), against
those of NumPy in float64.  test_cuda.py runs this file as it does on_executor.py."""

import ml_dtypes
import numpy as np
import pytest
from attention_on_executor import capped, causal, plain, window
from calls_on_executor import CALLS, by_numpy
from deviceless import cp, device, host, once

from pycompile import value_and_grad

BF16 = np.dtype(ml_dtypes.bfloat16)
# Of bfloat16 NumPy's is float32.
cp.ndarray.__matmul__ = by_numpy("@", lambda x, y: np.matmul(x, y).astype(x.dtype))


def values(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def masked(xp, q, k, v, mask):
    """Matrices backwards, which the copy engine cannot take: the kernel for all devices leaves its sums."""
    s = xp.where(mask, q[::-1] @ k.swapaxes(-1, -2) * 0.125, -xp.inf)
    e = xp.exp(s - s.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(v.dtype) @ v


def of_one(xp, x):
    """Queries, keys and values lie beside one another, as a layer's product has them."""
    batch, length, _ = x.shape
    each = x.reshape(batch, length, 3, 2, 64)
    q, k, v = (each[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
    return plain(xp, q, k, v).transpose(0, 2, 1, 3).reshape(batch, length, 128)


def check(function, args, others=(), dtype="f2"):
    weights = values(function(np, *args, *others).shape, 9)
    numbers = tuple(range(len(args)))

    def loss(xp, weights, *args):
        return (function(xp, *args).astype("f4") * weights).sum()

    def gradients(*args):
        return value_and_grad(lambda *args: loss(cp, rest[0], *args, *rest[1:]), numbers)(*args)

    rest = [device(weights), *map(device, others)]
    rounded = [x.astype(dtype) for x in args]
    _, wanted = value_and_grad(lambda *args: loss(np, weights, *args, *others), numbers)(
        *(x.astype("f8") for x in rounded)
    )
    compiled = once(gradients)
    for _ in range(2):
        compiled(*map(device, rounded))
    CALLS.clear()
    _, made = compiled(*map(device, rounded))
    assert CALLS == [], CALLS  # the products are kernels
    for ours, theirs in zip(made, wanted, strict=True):
        assert ours.dtype == dtype
        distance = abs(host(ours).astype("f8") - theirs).max() / abs(theirs).max()
        assert distance < (2**-9 if dtype == "f2" else 2**-6)


@pytest.mark.parametrize(
    "function, dtype", [(plain, BF16), (causal, "f2"), (window, "f2"), (capped, "f2")]
)
def test_gradient(function, dtype):
    check(function, [values((70, 64), seed) for seed in range(3)], dtype=dtype)


@pytest.mark.parametrize("queries, keys", [(2, 130), (129, 2)])
def test_lengths(queries, keys):
    check(plain, (values((queries, 64), 1), values((keys, 64), 2), values((keys, 64), 3)))


def test_a_mask_that_is_read():
    q, k, v = (values((2, 40, 64), seed) for seed in range(3))
    check(masked, (q, k, v), [np.random.default_rng(4).random((40, 40)) < 0.7])


def test_beside_one_another():
    check(of_one, (values((2, 40, 384), 1),))
