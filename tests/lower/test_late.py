"""Values that cross from one kernel to the next: computed where their readers are."""

import numpy as np
import pytest
from differential import check
from passes.rewritten import graph

import pycompile
from pycompile import _C

BELOW = "f64[60,70]{-560,8}+33040"


def stores(*lines, outputs):
    """Arrays that kernels store, outputs included."""
    inputs = ["f64[60,70] = input(0)", "f64[60,70] = input(1)"]
    return _C.lower_graph(graph(*inputs, *lines, outputs=outputs))[0].count("= store")


def test_a_value_waits_for_its_readers():
    lines = [
        "f64[60,70] = add(%0, %1)",
        "f64[60,70] = multiply(%2, %2)",  # in memory anyway, so this and %5 …
        f"{BELOW} = as_strided(%3)",
        "f64[60,70] = negative(%3)",
        "f64[60,70] = subtract(%5, %0)",  # … need none
        "f64[60,70] = multiply(%4, %6)",
    ]
    assert stores(*lines, outputs="%7") == 2
    assert stores(*lines, outputs="%7, %6") == 3


def test_a_value_waits_on_a_device():
    pytest.importorskip("cupy")
    array = "f32@cuda[60,70]"
    text = graph(
        f"{array} = input(0)",
        f"{array} = exp(%0)",
        f"{array} = multiply(%1, %1)",
        "f32@cuda[70] = sum(%1, axes=[0])",
        f"{array} = multiply(%2, %3)",
        outputs="%1, %4",
    )
    assert _C.lower_graph(text)[0].count("= store") == 3  # not %2


def test_a_value_stays_with_its_other_readers():
    lines = [
        "f64[60,70] = add(%0, %1)",
        f"{BELOW} = as_strided(%2)",
        "f64[60,70] = sqrt(%0)",
        "f64[60,70] = add(%4, %1)",  # %4 is not in memory
        "f64[60,70] = add(%5, %2)",
        "f64[60,70] = add(%6, %3)",
        "f64[60,70] = multiply(%4, %5)",
    ]
    assert stores(*lines, outputs="%7, %8") == 4


def test_memory_that_is_written_in_between():
    lines = [
        "f64[60,70] = add(%0, %1)",
        "f64[20,70] = as_strided(%0)",
        "f64[20,70]+5600 = as_strided(%1)",
        "f64[60,70] = scatter(%2, %3, view=[20,70])",
        "f64[60,70] = negative(%5)",  # must not wait: the next line writes what it reads
        "f64[60,70] = scatter(%5, %4, view=[20,70]+5600)",
        f"{BELOW} = as_strided(%7)",
        "f64[60,70] = multiply(%6, %8)",
    ]
    made = (np.arange(4200.0).reshape(60, 70), np.ones((60, 70)))
    text = graph("f64[60,70] = input(0)", "f64[60,70] = input(1)", *lines, outputs="%9")
    got = _C._run_graph(text, made, False)[0]
    a, b = made
    old = a + b
    old[:20] = a[:20]
    new = old.copy()
    new[10:30] = b[10:30]
    assert np.array_equal(got, -old * new[::-1])


def waves(u, before, speed, steps):
    for _ in range(steps):
        bend = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        before[1:-1, 1:-1] = 2 * u[1:-1, 1:-1] - before[1:-1, 1:-1] + speed * bend
        u, before = before, u


def shifted(x, y):
    """A chain of values behind each of which all readers need a neighbour."""
    for _ in range(5):
        a = x + y
        b, c = a * 2, a - y
        x = a[::-1] + b * c
        y = c + np.abs(x)[:, ::-1] * y.mean(axis=0)
    return x, y


def rows(x, y):
    """Readers beside a reduction, per row and per column."""
    z = x * y
    low = z - 1
    scaled = low / z.sum(axis=1, keepdims=True) + low * z.sum(axis=0)
    return scaled.max(axis=1), z


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4, 5), (40, 50), (300, 200)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_programs(shape, dtype):
    x, y = np.random.default_rng(0).uniform(1, 2, (2, *shape)).astype(dtype)
    check(waves, x, y, x.dtype.type(0.1), 7)
    check(shifted, x / 8, y / 8)
    check(rows, x, y)


def test_a_wave_needs_little_memory():
    """Each step stores one array: the arena holds three."""
    u, before = np.random.default_rng(0).uniform(1, 2, (2, 128, 128))
    _C.report_begin()
    pycompile.compile(waves)(u, before, 0.1, 10)
    assert max(plan.get("bytes_arena", 0) for plan in _C.report_end()) <= 3 * u.nbytes
