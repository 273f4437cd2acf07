"""np.linalg.norm and np.median, which are followed (pycompile/decompositions/measures.py), and reductions of
parts whose lengths change from turn to turn."""

import numpy as np
import pytest
from differential import check

RNG = np.random.default_rng(5)
ALWAYS = {"options": {"plan_always": True}}


def norms(x):
    y = x * 2
    return np.linalg.norm(y), np.linalg.norm(y, axis=-1), np.linalg.norm(x[::2])


def other_norms(x):
    y = x * 2
    return np.linalg.norm(y, 1, 0), np.linalg.norm(y, keepdims=True), np.linalg.norm(y, axis=(0, 1))


def medians(x):
    y = x * 2
    return np.median(y), np.median(y[1:]), np.median(y[::-2]), np.median(y, axis=0)


ARRAYS = {
    "f64": RNG.random((6, 5)),
    "f32": RNG.random((5, 4)).astype(np.float32),
    "f16": RNG.random((3, 4)).astype(np.float16),
    "c128": RNG.random((3, 4)) + 1j,
    "i64": np.arange(12).reshape(4, 3),
    "fortran": np.asfortranarray(RNG.random((6, 5))),
    "empty": np.zeros((0, 3)),
    "one": np.ones((1, 1)),
    "inf": np.array([[np.inf, 1.0], [2.0, -np.inf]]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_norms(name):
    check(norms, ARRAYS[name], captured=False, options=ALWAYS)
    check(other_norms, ARRAYS[name], captured=False, options=ALWAYS)


@pytest.mark.parametrize("name", ARRAYS)
def test_medians(name):
    x = ARRAYS[name].ravel()
    y = np.where(np.arange(x.size) == 1, np.nan, x).astype(x.dtype) if x.dtype.kind == "f" else x
    check(medians, x, also=[(y,)], captured=False, options=ALWAYS, one_nan=True)


def parts(x, out):
    for k in range(1, len(x)):
        part = x[:k]
        out[k, 0] = part.std() + part.var()
        out[k, 1] = np.ptp(part)
        out[k, 2] = np.cumsum(part)[-1] + np.cumprod(part)[-1]
        out[k, 3] = np.count_nonzero(part > 0.5) + part.prod()
        out[k, 4] = np.linalg.norm(part) + part.ravel()[0]
    return out


def spread(x, out):
    for k in range(len(x)):
        out[k] = x[k:].std(ddof=2)
    return out


def test_parts_of_changing_lengths():
    options = {"options": {"plan_always": True, "unroll": 24}}
    x = RNG.random(20)
    check(parts, x, np.zeros((20, 5)), whole=True, options=options)
    check(parts, x[:1], np.zeros((20, 5)), captured=False, options=options)
    check(parts, x, np.zeros((9, 5)), captured=False, options=options)  # IndexError
    x[7] = np.nan
    check(parts, x, np.zeros((20, 5)), captured=False, options=options)
    check(spread, x, np.zeros(20), captured=False, options=options)  # a warning where two are left
