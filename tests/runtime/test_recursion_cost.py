"""A function that calls itself twice, with branches and loops: what its capture costs is bounded,
however large its array is.  By counts of captures and of what they followed."""

import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _C


def merge_sort(a):
    if len(a) < 2:
        return a
    m = len(a) // 2
    left = merge_sort(a[:m])
    right = merge_sort(a[m:])
    out = np.empty(len(a), a.dtype)
    i = j = k = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
        k += 1
    while i < len(left):
        out[k] = left[i]
        i += 1
        k += 1
    while j < len(right):
        out[k] = right[j]
        j += 1
        k += 1
    return out


def counted(function, *args):
    before = _C.compile_counts()
    result = function(*args)
    after = _C.compile_counts()
    numbers = [name for name, count in after.items() if not isinstance(count, dict)]
    return result, {name: after[name] - before[name] for name in numbers}


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 230])
def test_a_merge_sort(n, monkeypatch):
    """It names itself by a global, so that the plain function sorts for the one to compare with."""
    x = np.random.default_rng(0).random(n)
    plain = merge_sort(x)
    pycompile.reset()
    monkeypatch.setitem(
        globals(),
        "merge_sort",
        pycompile.compile(merge_sort, options={"plan_always": False}),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        made, first = counted(merge_sort, x)
        for _ in range(3):
            again, last = counted(merge_sort, x)
    assert made.tobytes() == again.tobytes() == plain.tobytes()
    assert first["captures"] <= 80 and first["instructions"] <= 5000
    assert last["captures"] <= 4


def transform(x):
    n = len(x)
    if n == 1:
        return x
    even, odd = transform(x[::2]), transform(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + turned, even - turned])


def test_a_recursion_without_branches_on_values_is_one_graph():
    x = np.arange(32) + 0j
    compiled = pycompile.compile(transform, options={"plan_always": False})
    made, first = counted(compiled, x)
    assert made.tobytes() == transform(x).tobytes()
    assert first["captures"] == 1 and compiled.stats()["plans"] == 1
