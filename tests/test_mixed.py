"""One function with everything in it behaves as plain Python: array code, print, an unknown C function,
a branch on data, a loop with a break in it, in-place writes, an exception."""

import statistics

import numpy as np
import pytest
from differential import check

LOG = []


def mixed(x, weights, scale, log):
    y = np.tanh(x * scale) + weights
    print("rows", y.shape[0], "first", float(y[0, 0]))
    middle = statistics.fmean([1.0, 2.0, scale])  # C code that nobody told us about
    z = y * middle - x
    if z.sum() > 0:
        z = np.sqrt(np.abs(z)) + 1
        log.append("positive")
    else:
        z = z * z
        log.append("negative")
    total = np.zeros_like(z)
    for step in range(6):
        total += z / (step + 1)
        if step == 3:
            print("leaving at", step)
            break
        log.append(total.max())
    x *= 0.5
    x[0] = total[1]
    weights[...] = total.mean(axis=0)
    if scale > 2:
        raise ValueError(f"scale {scale} after {len(log)} notes")
    return total, x, {"weights": weights, "norm": np.sqrt((total * total).sum())}


def arguments(seed, scale):
    random = np.random.default_rng(seed)
    return random.standard_normal((5, 7)), random.standard_normal(7), scale, []


@pytest.mark.slow
def test_mixed_function():
    check(
        mixed,
        *arguments(0, 1.5),
        calls=3,
        also=(
            arguments(1, 1.5),
            arguments(2, -3.0),
            arguments(3, 2.5),  # raises, after the writes
            arguments(4, 1.5),
            arguments(3, 7),
        ),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128])
def test_mixed_function_other_dtypes(dtype):
    x, weights, scale, log = arguments(5, 1.25)
    if dtype is np.complex128:  # `z.sum() > 0` is lexicographic for complex in plain Python too
        check(mixed, x.astype(dtype), weights.astype(dtype), scale, log, captured=False)
    else:
        check(mixed, x.astype(dtype), weights.astype(dtype), scale, log, captured=False)


def test_mixed_function_with_shared_memory():
    x, _, scale, log = arguments(6, 1.5)
    check(mixed, x, x[2], scale, log, captured=False)


@pytest.mark.slow
def test_mixed_function_with_strided_arguments():
    x = np.random.default_rng(7).standard_normal((10, 14))
    check(mixed, x[::2, ::2], x[1, ::2].copy(), 1.5, [], calls=2)
    check(mixed, np.asfortranarray(x[:5, :7]), x[1, ::2].copy(), 1.5, [], calls=2)
