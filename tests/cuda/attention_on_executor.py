"""Attention: what is written with products and a softmax is one kernel, executed on the CPU (executor.cpp).

test_cuda.py runs this file as it does on_executor.py.  Functions that stay calls are NumPy's."""

import ctypes
import math
import os

import ml_dtypes
import numpy as np
import pytest
from calls_on_executor import CALLS, by_numpy
from deviceless import cp, device, header, host, once

import pycompile

BF16 = np.dtype(ml_dtypes.bfloat16)
cp.arange = by_numpy("arange", np.arange)
cp.tri = by_numpy("tri", np.tri)
HOPPER = os.environ["EXECUTOR_CAPABILITY"] == "90"
MAPS = ctypes.c_int.in_dll(ctypes.CDLL("libcuda.so.1"), "executor_maps")


def like(p, v):
    return p if p.itemsize == v.itemsize else p.astype(v.dtype)


def softmax(xp, s):
    e = xp.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def plain(xp, q, k, v):
    p = softmax(xp, q @ k.swapaxes(-1, -2) * 0.125)
    return like(p, v) @ v


def divided_last(xp, q, k, v):
    s = q @ k.swapaxes(-1, -2) * 0.125
    e = xp.exp(s - xp.amax(s, axis=-1)[..., None])
    return (like(e, v) @ v) / e.sum(axis=-1)[..., None]


def causal(xp, q, k, v):
    s = q @ k.swapaxes(-1, -2) * 0.125
    i, j = xp.arange(s.shape[-2]), xp.arange(s.shape[-1])
    s = xp.where(i[:, None] >= j, s, -xp.inf)
    return like(softmax(xp, s), v) @ v


def window(xp, q, k, v):
    """Masks of several conditions, the other way round, on sums of indices."""
    s = q @ k.swapaxes(-1, -2) * 0.125
    i, j = xp.arange(7, 7 + s.shape[-2])[:, None], xp.arange(s.shape[-1])[None, :]
    s = xp.where((j > i) | (i - j >= 40), -xp.inf, s)
    s = xp.where(j + 3 < s.shape[-1], s, -xp.inf)
    return like(softmax(xp, s), v) @ v


def capped(xp, q, k, v):
    """A soft cap, a bias by distance, a scale from the host."""
    s = 5 * xp.tanh(q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1])) / 5)
    i, j = xp.arange(s.shape[-2])[:, None], xp.arange(s.shape[-1])[None, :]
    s = s - abs(i - j).astype("f4") * 0.01
    return like(softmax(xp, s), v) @ v


def wanted(function, *args):
    """By NumPy in float64."""
    with np.errstate(all="ignore"):
        return function(np, *[a.astype("f8") if a.dtype.itemsize == 2 else a for a in args])


def values(shape, dtype, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def run(function, *args, calls=()):
    """The result in float64; `calls` are those that the plan makes."""
    compiled = once(function)
    compiled(cp, *args)
    CALLS.clear()
    made = compiled(cp, *args)
    assert list(calls) == CALLS
    assert compiled.stats()["deopts"] == 0
    return host(made).astype("f8")


def check(function, *args, given=None, calls=(), hopper=HOPPER):
    """`hopper`: is it the kernel with tensor maps?"""
    before = MAPS.value
    made = run(function, *(given or map(device, args)), calls=calls)
    assert (MAPS.value > before) == hopper
    agrees(function, made, *args)


def agrees(function, made, *args):
    error = 2.0 ** (-8 if args[0].dtype == BF16 else -11)
    right = wanted(function, *args)
    np.testing.assert_allclose(made, right, rtol=2 * error, atol=3 * error, strict=True)


@pytest.mark.parametrize("dtype", ["f2", BF16], ids=str)
@pytest.mark.parametrize("function", [plain, divided_last, causal, window, capped])
def test_attention(function, dtype):
    check(function, *(values((2, 130, 64), dtype, k) for k in range(3)))


@pytest.mark.parametrize(
    "queries, keys", [(2, 2), (1000, 3), (3, 200), (128, 64), (129, 65), (127, 129)]
)
def test_lengths(queries, keys):
    q = values((queries, 64), "f2", 1)
    check(plain, q, *(values((keys, 64), "f2", k) for k in (2, 3)))


@pytest.mark.parametrize("function", [plain, causal, window])
def test_lengths_that_vary(function):
    """They have a plan, whose tensor maps are made again for other lengths at the same place."""
    compiled = pycompile.compile(function, options={"plan_always": True})
    room = [device(values((200, 64), "f2", 9)) for _ in range(3)]
    for i, (queries, keys) in enumerate(((70, 90), (3, 200), (129, 65), (127, 129))):
        given = [each[:n] for each, n in zip(room, (queries, keys, keys), strict=True)]
        made = host(compiled(cp, *given)).astype("f8")
        agrees(function, made, *map(host, given))
        assert i < 2 or CALLS == []
        CALLS.clear()
    assert compiled.stats()["plans"] == 2 and compiled.stats()["deopts"] == 0


@pytest.mark.skipif(not HOPPER, reason="other devices have heads of 64")
@pytest.mark.parametrize("head", [32, 128])
@pytest.mark.parametrize("function", [plain, causal, window])
@pytest.mark.parametrize("queries, keys", [(130, 260), (257, 70)])
def test_heads(function, head, queries, keys):
    q = values((2, queries, head), "f2", 1) * np.float16((64 / head) ** 0.5)
    check(function, q, *(values((2, keys, head), "f2", k) for k in (2, 3)))


@pytest.mark.skipif(HOPPER, reason="has heads of 32 and 128")
@pytest.mark.parametrize("head", [32, 128])
def test_other_heads_stay_calls(head):
    args = [values((70, head), "f2", k) for k in range(3)]
    made = run(plain, *map(device, args), calls=["@", "@"])
    np.testing.assert_allclose(made, wanted(plain, *args), rtol=2e-2, atol=2e-2)


def test_many_tiles_and_arrays_that_move():
    """More tiles than are under way at once; other arrays, later results elsewhere."""
    compiled = once(causal)
    for seed in range(2):
        args = [values((580, 64), "f2", 3 * seed + k) for k in range(3)]
        made = host(compiled(cp, *map(device, args))).astype("f8")
        np.testing.assert_allclose(made, wanted(causal, *args), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("batch", [(2, 1, 3), (2, 2, 2), (2, 2, 2, 2)])
def test_batch_axes(batch):
    """Of four of them the copy engine has not the dimensions."""
    args = [values((*batch, 70, 64), "f2", k) for k in range(3)]
    check(plain, *args, hopper=HOPPER and len(batch) < 4)


def test_keys_of_several_heads():
    """An axis along which nothing moves, and one that goes backwards."""
    q, k, v = (values((2, 3, n, 64), "f2", n) for n in (70, 90, 91))
    k, v = k[:, :1], v[0, 0, 1:]
    given = [device(q)]
    for x in (device(k), device(v)):
        given.append(cp.broadcast_to(x, (2, 3, 90, 64)))
    check(plain, q, k, v, given=given)
    check(plain, q[::-1], q, q, given=[given[0][::-1], given[0], given[0]], hopper=False)


def test_views_are_read_where_they_lie():
    """A packed array of queries, keys and values; heads between rows and columns."""
    packed = values((2, 70, 3, 2, 64), "f2", 1)
    whole = device(packed)

    def heads(qkv):
        return [qkv[:, :, part].transpose(0, 2, 1, 3) for part in range(3)]

    check(causal, *heads(packed), given=heads(whole))


def test_masks_and_biases_in_memory():
    def program(xp, q, k, v, mask, bias, slope):
        s = q @ k.swapaxes(-1, -2) * 0.125 + bias
        s = xp.where(mask[:, None, None, :], s * slope[:, None, None], -xp.inf)
        return like(softmax(xp, s), v) @ v

    q, k, v = (values((2, 3, 70, 64), "f2", k) for k in range(3))
    mask = np.random.default_rng(1).random((2, 70)) < 0.7
    check(program, q, k, v, mask, values((70, 70), "f4", 4), np.array([1, 0.5, 0.25], "f4"))


def test_rows_without_keys_and_special_scores():
    def program(xp, q, k, v, mask):
        s = xp.where(mask, q @ k.swapaxes(-1, -2), -xp.inf)
        return like(softmax(xp, s), v) @ v

    q, k, v = (values((140, 64), "f2", k) for k in range(3))
    q[3, 0], q[5, 0], k[100, 1], v[77, 5] = np.nan, np.inf, np.nan, np.nan
    mask = np.random.default_rng(1).random((140, 140)) < 0.5
    mask[7] = mask[139] = False  # a row without keys
    mask[9, :80] = False  # … and one whose first tile has none
    mask[20:, 100] = False
    made = run(program, *map(device, (q, k, v, mask)))
    right = wanted(program, q, k, v, mask)
    assert np.isnan(right).any(axis=1).sum() > 20
    np.testing.assert_array_equal(np.isnan(made), np.isnan(right))
    np.testing.assert_allclose(made, right, rtol=2e-2, atol=2e-2)


def test_two_attentions_and_what_is_between_them():
    def program(xp, q, k, v):
        x = like(softmax(xp, q @ k.swapaxes(-1, -2) * 0.125), v) @ v
        s = abs((x * 2) @ k.swapaxes(-1, -2)) * 0.125
        return like(softmax(xp, s), v) @ v + 1

    check(program, *(values((2, 66, 64), "f2", k) for k in range(3)))


def merged(xp, x, heads=3):
    """Packed queries, keys and values; the heads side by side in the result."""
    rows, length = x.shape[:2]
    parts = x.reshape(rows, length, 3, heads, 64)
    q, k, v = (parts[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
    return plain(xp, q, k, v).transpose(0, 2, 1, 3).reshape(rows * length, heads * 64)


def test_a_result_is_stored_with_its_axes_in_another_order():
    def scaled(xp, x):
        return merged(xp, x) * 2 + 1

    for program in (merged, scaled):
        check(program, values((2, 130, 9 * 64), "f2", 1))
    made = once(merged)(cp, device(values((2, 130, 9 * 64), "f2", 1)))
    assert made.base is None
    assert header(made) == header(cp.ndarray((260, 192), "f2"))


def test_a_result_that_is_read_in_both_orders_is_copied():
    def both(xp, q, k, v):
        x = plain(xp, q, k, v)
        return x.transpose(1, 0, 2).reshape(q.shape[1], -1) + x.sum()

    check(both, *(values((2, 130, 64), "f2", k) for k in range(3)))


def test_a_result_whose_rows_are_not_kept_is_copied():
    def turned(xp, q, k, v):
        return plain(xp, q, k, v).swapaxes(-1, -2).reshape(-1)

    check(turned, *(values((2, 130, 64), "f2", k) for k in range(3)))


def test_a_function_of_the_program_has_the_attention():
    """Also where that has called another one before its second product."""

    def layer(xp, x, k, v):
        return plain(xp, x * 2, k, v) + 1

    check(layer, *(values((2, 66, 64), "f2", k) for k in range(3)))


def other_head(xp, q, k, v):
    s = q[..., :32] @ k[..., :32].swapaxes(-1, -2)
    return like(softmax(xp, s), v) @ v


def not_the_maximum(xp, q, k, v):
    s = q @ k.swapaxes(-1, -2)
    e = xp.exp(s - s.max(axis=-2, keepdims=True))
    return like(e / e.sum(axis=-1, keepdims=True), v) @ v


def other_sum(xp, q, k, v):
    s = q @ k.swapaxes(-1, -2)
    e = xp.exp(s - s.max(axis=-1, keepdims=True))
    return like(e / (e * 2).sum(axis=-1, keepdims=True), v) @ v


def returned(xp, q, k, v):
    p = softmax(xp, q @ k.swapaxes(-1, -2) * 0.125)
    return like(p, v) @ v + p.sum()


@pytest.mark.parametrize("function", [other_head, not_the_maximum, other_sum, returned])
def test_what_does_not_fit_stays_calls(function):
    args = [values((70, 64), "f4", k).astype("f2") for k in range(3)]
    compiled = once(function)
    compiled(cp, *map(device, args))
    CALLS.clear()
    made = host(compiled(cp, *map(device, args))).astype("f8")
    assert CALLS.count("@") == 2
    with np.errstate(all="ignore"):
        right = function(np, *args).astype("f8")
    np.testing.assert_allclose(made, right, rtol=2e-2, atol=2e-2)


def test_rows_that_are_not_aligned():
    q, k, v = (values((70, 68), "f2", k) for k in range(3))
    given = [device(x)[:, 4:] for x in (q, k, v)]
    made = run(plain, *given, calls=["@", "@"])
    right = wanted(plain, *(x[:, 4:] for x in (q, k, v)))
    np.testing.assert_allclose(made, right, rtol=1e-2, atol=1e-2)
